"""SCALE: work on data that are larger than memory, piece by piece, each piece a file that is whole or not there.

`build_store` makes a store (`corml.store`) of any number of files. In the order data take: `labels` numbers texts,
`plan` cuts the work into pieces, `encode` reads, numbers and merges them, `build` writes the store.
"""

from corml.scale.build import build_store

__all__ = ["build_store"]
