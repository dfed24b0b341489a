"""Names for answers that stay the same as long as a model file does (ETag), so that nobody loads one of them twice.

An answer is named by what it is made of, not by its bytes: whoever has it is told so before any work is done. So the
names are weak (`W/`): compressed or not, it is the same answer.
"""

import hashlib

from corml._runtime.version import VERSION

__all__ = ["CACHED", "is_named", "named"]

CACHED = b"private, no-cache"  # kept by whoever asked, and asked for again each time: an address outlives versions


def named(*parts: str) -> str:
    """The name of what this version of the program makes of these parts; quoted, as a header has it."""
    made_of = "\n".join([VERSION, *parts])  # names and digests: no part has a line feed
    return f'W/"{hashlib.sha256(made_of.encode()).hexdigest()[:32]}"'


def is_named(header: bytes | None, name: str) -> bool:
    """Whether If-None-Match has this name, weak or not."""
    if header is None:
        return False
    given = [one.strip().removeprefix("W/") for one in header.decode("latin-1").split(",")]
    return name.removeprefix("W/") in given or given == ["*"]
