"""Bytes out of files: plain, gzip or zip, with a refusal for whatever is damaged, endless or still being written."""

import gzip
import io
import os
import re
import stat
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

from corml._runtime import memory
from corml.data.formats._expansion import Expansion
from corml.errors import CormlError, DataError, UsageError, ascii_line, quoted

__all__ = [
    "TABLES",
    "Content",
    "check_methods",
    "content",
    "kind_of",
    "magic",
    "refuse_foreign",
    "shown",
    "standard_input",
]

CHUNK = 1 << 20
ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/{1,2}[^/\\]")
MODEL = ".corml"
STDIN = "Standard input"  # as messages call it
TABLES = (
    "csv",
    "tsv",
    "inter",
    "parquet",
    "pq",
    "npz",
    "jsonl",
    "ndjson",
    "json",
    "xlsx",
    "xlsm",
    "txt",
    "dat",
    "data",
)
PREFERRED = (
    ("inter",),
    ("csv", "tsv", "parquet", "pq", "npz", "jsonl", "ndjson", "xlsx"),
    ("txt", "dat", "data", "json"),
)
DAMAGE = (  # what unpackers say of a file that is not whole; a place before its beginning is a ValueError
    *(EOFError, gzip.BadGzipFile, zipfile.BadZipFile, zlib.error),
    *(ValueError, LookupError, OverflowError, OSError, struct.error),
)
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others unpack a megabyte at once, to whatever it grows to
OBVIOUS = ("ratings", "interactions", "events", "reviews")  # among several tables in an archive, the one that is meant


@dataclass(frozen=True)
class Content:
    """The bytes of one table, its kind (the suffix without the compression), and what to call it."""

    data: bytes
    kind: str
    where: str
    name: str = ""  # of the file, or of the member of an archive
    packed: int = 0  # bytes of the file it is from; 0 if it is no file

    def expansion(self, *, allowed: bool | None) -> Expansion:
        """What its own compression, inside the table, may grow to."""
        return Expansion(self.packed or len(self.data), allowed, self.where)


def shown(path: str | os.PathLike[str]) -> str:
    """Write a path as messages show it."""
    return ascii_line(os.fspath(path), 200)


def refuse_foreign(source: object) -> None:
    """Refuse what is no table on this machine: an address, or a model."""
    if not isinstance(source, str | os.PathLike):
        return
    name = os.fspath(source)
    if ADDRESS.match(name):
        raise UsageError(f"{shown(name)} is an address, and corml reads files: download it first, then load the file.")
    if name.endswith(MODEL):
        raise UsageError(
            f"{shown(name)} is a model file, not a table: read it with corml.read_model, on the command line with "
            "corml recommend, evaluate or inspect."
        )


def content(path: Path, *, allow_expansion: bool | None = False, members: Sequence[str] = ()) -> Content:
    """Read one table from a file; of an archive, the first of `members` it has, else the obvious one."""
    try:
        with _regular(path) as file:
            before = os.fstat(file.fileno())
            memory.require(before.st_size, what=f"Reading {shown(path)}", instead="read it in parts, or add memory.")
            limit = Expansion(before.st_size, allow_expansion, shown(path))
            read = replace(_unpack(file, path.name, path, limit, members), packed=before.st_size)
            if _changed(before, os.fstat(file.fileno())) or _changed(before, os.stat(path)):
                raise DataError(f"{shown(path)} changed while it was being read: wait until it is complete.")
    except OSError as fault:
        raise DataError(f"Could not read {shown(path)}: {fault.strerror or fault}.") from fault
    return read


def magic(path: Path) -> bytes:
    """Read the first bytes of a regular file; none of anything else."""
    try:
        if not os.path.isfile(path):
            return b""
        with _regular(path) as file:
            return file.read(16)
    except OSError:
        return b""


def standard_input(*, allow_expansion: bool = False) -> Content:
    """Read a table from standard input; its first bytes say what it is."""
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise DataError("There is no standard input to read from: give the name of a file instead of '-'.")
    if stream.isatty():
        raise DataError(
            "Standard input is a terminal: pipe a table into it, or give the name of a file instead of '-'."
        )
    data = bytearray()
    while piece := stream.read(CHUNK):
        data += piece
        memory.require(2 * len(data), what="Reading standard input", instead="save it to a file, or add memory.")
    return replace(_named(bytes(data), Expansion(len(data), allow_expansion, STDIN)), packed=len(data))


def _named(data: bytes, limit: Expansion) -> Content:
    """Unpack bytes that have no file name, by their first bytes."""
    kind = _kind_by_magic(data)
    if kind == "gz":
        with _damage("gzip", Path(STDIN)), gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            return _named(_stream(packed, limit.inner()), limit.inner())
    if kind == "zip":
        return replace(_unzip(io.BytesIO(data), Path(STDIN), limit, ()), where=STDIN)
    return Content(data, kind, STDIN, STDIN)


def _kind_by_magic(data: bytes) -> str:
    if data.startswith(b"PK\x03\x04"):
        start = data[:CHUNK] + data[-CHUNK:]
        return "xlsx" if b"xl/workbook" in start else "npz" if b"user.npy" in start else "zip"
    starts = {b"\x1f\x8b": "gz", b"PAR1": "parquet"}
    known = next((kind for first, kind in starts.items() if data.startswith(first)), "")
    return known or ("jsonl" if data[:CHUNK].lstrip().startswith((b"{", b"[{")) else "")


def _regular(path: Path) -> BinaryIO:
    """Open a regular file; never wait for a pipe to be filled."""
    if not path.exists():
        raise DataError(f"There is no file {shown(path)}: check the path.")
    if path.is_dir():
        raise DataError(f"{shown(path)} is a folder: give the name of a file in it.")
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise DataError(f"{shown(path)} is a pipe or a device: save it to a regular file first.")
    return os.fdopen(handle, "rb")


def _changed(before: os.stat_result, after: os.stat_result) -> bool:
    return any(getattr(before, name) != getattr(after, name) for name in ("st_size", "st_mtime_ns", "st_ino"))


def _unpack(file: IO[bytes], name: str, path: Path, limit: Expansion, members: Sequence[str]) -> Content:
    kind = PurePosixPath(name).suffix.lower().removeprefix(".")
    if kind == "zip":
        return _unzip(file, path, limit, members)
    if kind == "gz":
        with _damage("gzip", path), gzip.GzipFile(fileobj=file) as packed:
            data = _stream(packed, limit.inner())
        return _unpack(io.BytesIO(data), name[:-3], path, limit.inner(), members)
    if kind in ("zst", "bz2", "xz", "7z", "rar"):
        raise DataError(f"{shown(path)} is compressed as .{kind}, which corml does not read: unpack it, or use .gz.")
    return Content(file.read(), kind, shown(path), name)


def _unzip(file: IO[bytes], path: Path, limit: Expansion, members: Sequence[str]) -> Content:
    with _damage("zip", path), zipfile.ZipFile(file) as archive:
        member = _member(archive, path, members)
        check_methods([member], shown(path))
        with archive.open(member) as packed:
            data = _stream(packed, limit.inner())
    return _unpack(io.BytesIO(data), PurePosixPath(member.filename).name, path, limit.inner(), ())


def check_methods(members: Iterable[zipfile.ZipInfo], where: str) -> None:
    """Refuse members of an archive that cannot be unpacked piece by piece."""
    for member in members:
        if member.compress_type not in METHODS:
            raise DataError(
                f"{where} has {ascii_line(member.filename, 200)} packed by another method than the usual one, Deflate, "
                "and cannot be unpacked piece by piece: pack it again as a plain .zip."
            )


def _member(archive: zipfile.ZipFile, path: Path, members: Sequence[str]) -> zipfile.ZipInfo:
    files = [info for info in archive.infolist() if not info.is_dir() and not _hidden(info.filename)]
    for member in members:
        for info in files:
            if info.filename == member or info.filename.endswith("/" + member):
                return info
    for kinds in PREFERRED:
        tables = [info for info in files if kind_of(info.filename) in kinds]
        named = [info for info in tables if PurePosixPath(info.filename).name.split(".")[0].lower() in OBVIOUS]
        if len(tables) == 1 or len(named) == 1:
            return (tables if len(tables) == 1 else named)[0]
        if tables:
            break
    listed = quoted([info.filename for info in files], 8) or "nothing"
    raise DataError(f"{shown(path)} holds no single table; it holds {listed}: unpack it and give one file.")


def _hidden(name: str) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in PurePosixPath(name).parts)


def kind_of(name: str) -> str:
    """Suffix of a file name, without the dot and without compression."""
    return PurePosixPath(name.lower().removesuffix(".gz")).suffix.removeprefix(".")


def _stream(packed: IO[bytes] | gzip.GzipFile, limit: Expansion) -> bytes:
    """Expand piece by piece, so that a decompression bomb is refused early."""
    data = bytearray()
    while piece := packed.read(CHUNK):
        data += piece
        limit.check_while_reading(len(data), len(piece))
    return bytes(data)


@contextmanager
def _damage(kind: str, path: Path) -> Iterator[None]:
    """Turn what a decompressor says about a broken file into a sentence."""
    try:
        yield
    except CormlError:
        raise
    except DAMAGE as fault:
        if isinstance(fault, OSError) and fault.errno is not None:  # of the disk, not of the bytes
            raise
        raise DataError(
            f"{shown(path)} is not a whole {kind} file ({ascii_line(fault)}): fetch or compress it again."
        ) from fault
    except RuntimeError as fault:  # a password, or a compression this Python cannot undo
        raise DataError(
            f"{shown(path)} cannot be unpacked ({ascii_line(fault)}): unpack it by other means first."
        ) from fault
