"""Top-N recommendation from implicit feedback with CoRML, Collaborative Residual Metric Learning."""
