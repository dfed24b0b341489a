"""How a fit will go, decided before anything is allocated."""
