"""What a file of a known data set is compared with: a published checksum, else the one it had when it first came."""

import hashlib
import re
from pathlib import Path
from typing import NamedTuple

from corml.data.catalog._known import Remote
from corml.data.formats._files import shown

PUBLISHED = "published"
NOTE = re.compile(r"([0-9a-f]{64}) [ *].*\n?")  # as sha256sum writes it, so that `sha256sum -c` reads ours


class Checksum(NamedTuple):
    """A digest, how it was made, and whose word it is."""

    algorithm: str
    value: str
    origin: str

    def fits(self, path: Path) -> bool:
        """Whether the file has this digest."""
        return digest(path, self.algorithm) == self.value


def digest(path: Path, algorithm: str = "sha256") -> str:
    """Compute the digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.new(algorithm, usedforsecurity=False)).hexdigest()


def expected(file: Remote, target: Path) -> Checksum | None:
    """What the file must have: the strongest checksum that is published, else the one noted beside it; or nothing.

    An md5 tells damage and a wrong file. Somebody who makes two files at once can give them the same md5, so it says
    less about tampering than a sha256.
    """
    if file.sha256 is not None:
        return Checksum("sha256", file.sha256, PUBLISHED)
    if file.md5 is not None:
        return Checksum("md5", file.md5, PUBLISHED)
    noted = _noted(target)
    return Checksum("sha256", noted, f"noted in {shown(first_seen(target))} when it first came") if noted else None


def first_seen(target: Path) -> Path:
    """Where the digest of a file without a published checksum is noted."""
    return target.with_name(target.name + ".sha256")


def remember(target: Path, value: str) -> None:
    """Note the digest of a file that just came for the first time."""
    first_seen(target).write_text(f"{value}  {target.name}\n", encoding="utf-8")


def _noted(target: Path) -> str:
    try:
        found = NOTE.fullmatch(first_seen(target).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return ""
    return found[1] if found else ""
