"""One file per format of tables."""
