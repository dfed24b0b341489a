"""CoRML, one file per idea of the paper."""
