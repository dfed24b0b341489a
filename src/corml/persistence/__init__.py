"""Files: written atomically, checked to the last bit, models among them."""
