"""Answers that stay the same as long as a model file or a page does: compressed once, and named by an ETag.

An answer is named by what it is made from, not by its bytes, so a caller that has it is told so before any work is
done. Names are weak (`W/`): compressed or not, it is the same answer.
"""

import gzip
import hashlib
import re
from dataclasses import dataclass

from corml._runtime.version import VERSION
from corml.service.problems import Headers

_REFUSED = re.compile(r"q=0(\.0*)?")
_VARY = (b"vary", b"accept-encoding")


def named(*parts: str) -> str:
    """The ETag of what this version of the program makes from these parts."""
    made_of = "\n".join([VERSION, *parts])  # names and digests: no part has a line feed
    return f'W/"{hashlib.sha256(made_of.encode()).hexdigest()[:32]}"'


def is_named(header: bytes | None, name: str) -> bool:
    """Whether If-None-Match has this name, weak or not."""
    if header is None:
        return False
    given = [one.strip().removeprefix("W/") for one in header.decode("latin-1").split(",")]
    return name.removeprefix("W/") in given or given == ["*"]


@dataclass(frozen=True)
class Packed:
    """The bytes of an answer, and the same compressed where that is shorter."""

    plain: bytes
    zipped: bytes | None = None
    model_version: str | None = None

    def chosen(self, accepted: bytes | None) -> tuple[bytes, Headers]:
        """The bytes to send to a caller with this Accept-Encoding, and their headers."""
        if self.zipped is None:
            return self.plain, [_length(self.plain)]
        if not accepts_gzip(accepted):
            return self.plain, [_length(self.plain), _VARY]
        return self.zipped, [_length(self.zipped), _VARY, (b"content-encoding", b"gzip")]


def pack(content: bytes, model_version: str | None = None) -> Packed:
    """Compress, unless it gains nothing."""
    zipped = gzip.compress(content, mtime=0)
    return Packed(content, zipped if len(zipped) < len(content) else None, model_version)


def accepts_gzip(header: bytes | None) -> bool:
    """Whether Accept-Encoding allows gzip."""
    parts = (part.partition(";") for part in (header or b"").decode("latin-1").lower().split(","))
    qualities = {name.strip(): quality.replace(" ", "") for name, _, quality in parts}
    return not _REFUSED.fullmatch(qualities.get("gzip", qualities.get("*", "q=0")))


def _length(content: bytes) -> tuple[bytes, bytes]:
    return b"content-length", str(len(content)).encode()
