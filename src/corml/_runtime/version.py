"""The version, where every package and the build can read it."""

__all__ = ["VERSION"]

VERSION = "0.1.0"
