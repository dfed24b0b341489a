"""How interactions are written into files."""
