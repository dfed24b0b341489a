"""The version, where every package and the build can read it."""

VERSION = "0.1.0"
