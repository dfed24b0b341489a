"""The command line: thin shells over library calls, one file per command; the file is the registration."""

from corml.cli._main import main

__all__ = ["main"]
