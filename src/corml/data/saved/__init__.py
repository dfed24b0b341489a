"""How interactions and attributes are written into files: arrays and facts out, checked arrays and facts back in."""
