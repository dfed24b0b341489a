"""Public data sets that `load` knows by name, and their download."""
