"""Answers that are compressed once and sent many times: pages, and what stays the same as long as a model file does."""

import gzip
import re
from dataclasses import dataclass

__all__ = ["Packed", "accepts_gzip", "pack"]

_REFUSED = re.compile(r"q=0(\.0*)?")
_VARY = (b"vary", b"accept-encoding")


@dataclass(frozen=True)
class Packed:
    """The bytes of an answer, and the same compressed where that is shorter."""

    plain: bytes
    zipped: bytes | None

    def chosen(self, accepted: bytes | None) -> tuple[bytes, list[tuple[bytes, bytes]]]:
        """The bytes to send to somebody with this Accept-Encoding, and their headers."""
        if self.zipped is None:
            return self.plain, [_length(self.plain)]
        if not accepts_gzip(accepted):
            return self.plain, [_length(self.plain), _VARY]
        return self.zipped, [_length(self.zipped), _VARY, (b"content-encoding", b"gzip")]


def pack(content: bytes) -> Packed:
    """Compress, unless it gains nothing."""
    zipped = gzip.compress(content, mtime=0)
    return Packed(content, zipped if len(zipped) < len(content) else None)


def accepts_gzip(header: bytes | None) -> bool:
    """Whether Accept-Encoding allows gzip."""
    parts = (part.partition(";") for part in (header or b"").decode("latin-1").lower().split(","))
    qualities = {name.strip(): quality.replace(" ", "") for name, _, quality in parts}
    return not _REFUSED.fullmatch(qualities.get("gzip", qualities.get("*", "q=0")))


def _length(content: bytes) -> tuple[bytes, bytes]:
    return b"content-length", str(len(content)).encode()
