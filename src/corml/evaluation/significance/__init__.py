"""Whether a difference between two models is more than chance."""
