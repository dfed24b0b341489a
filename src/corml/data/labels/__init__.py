"""Many texts as bytes, without an object of Python for each: kept, hashed, numbered, and found again.

`Labels` alone needs no compiled code, and importing this room imports none; the other files do.
"""

from corml.data.labels._texts import AT_ONCE, Labels, are_few, concatenated, of_series

__all__ = ["AT_ONCE", "Labels", "are_few", "concatenated", "of_series"]
