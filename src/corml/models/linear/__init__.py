"""Linear models: item-item weights and popularity, one file each; the file is the registration."""
