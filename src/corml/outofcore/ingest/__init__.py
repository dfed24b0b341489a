"""Make a store (`corml.data.store`) of any number of files: piece by piece, each a file that is whole or not there.

plan.py    cuts the work into pieces
encode.py  reads, numbers and merges the rows, a bucket of users (`bucket.py`) at a time
parts.py   the files of the store
build.py   `build_store`: all of it in order
"""

from corml.outofcore.ingest.build import build_store

__all__ = ["build_store"]
