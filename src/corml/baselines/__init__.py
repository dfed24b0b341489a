"""Models to compare with, one file each; the file is the registration."""
