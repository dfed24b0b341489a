"""Files as streams of bytes: plain, gzip or zip. Damaged, endless and unfinished files are refused."""

import gzip
import io
import os
import re
import stat
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, cast

from corml._runtime import memory
from corml.data.formats._guard import Budget
from corml.errors import CormlError, DataError, UsageError, ascii_line, quoted

CHUNK = 1 << 20
LAYERS = 4  # of compression
EXPECTED_RATIO = 8  # of text to its compressed bytes
ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/{1,2}[^/\\]")
STDIN = "Standard input"
FIRST_CHOICE = (  # among the tables of an archive, by suffix
    ("inter",),
    ("csv", "tsv", "parquet", "pq", "npz", "jsonl", "ndjson", "xlsx"),
    ("txt", "dat", "data", "json"),
)
MAIN_TABLES = ("ratings", "interactions", "events", "reviews")  # else by name
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # other methods unpack a megabyte at once, whatever it grows to
DAMAGE = (  # what decompressors raise for damaged bytes
    *(EOFError, gzip.BadGzipFile, zipfile.BadZipFile, zlib.error),
    *(ValueError, LookupError, OverflowError, OSError, struct.error),
)


def shown(path: str | os.PathLike[str]) -> str:
    """Write a path as messages show it."""
    return ascii_line(os.fspath(path), 200)


def kind_of(name: str) -> str:
    """Suffix of a file name, without the dot and without compression."""
    return PurePosixPath(name.lower().removesuffix(".gz")).suffix.removeprefix(".")


def refuse_foreign(source: object) -> None:
    """Refuse addresses and model files."""
    if not isinstance(source, str | os.PathLike):
        return
    name = os.fspath(source)
    if ADDRESS.match(name):
        raise UsageError(f"{shown(name)} is an address, and corml reads files: download it first, then load the file.")
    if name.endswith(".corml"):
        raise UsageError(
            f"{shown(name)} is a model file, not a table: read it with corml.read_model, on the command line with "
            "corml recommend, evaluate or inspect."
        )


Recogniser = Callable[[bytes], str]  # from the first bytes to a suffix


class File:
    """The bytes of one table, its kind (the suffix inside all compression), and its name in messages."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        allow_expansion: bool | None = False,
        members: Sequence[str] = (),
        in_slices: bool = False,
        given: tuple[bytes, Recogniser] | None = None,
    ) -> None:
        self.disk, self.in_slices, self._given = Path(path), in_slices, given
        self.where = shown(path) if given is None else STDIN
        with self._faults(), self._opened_raw() as raw:
            self._found = os.fstat(raw.fileno()) if given is None else None
            self.packed = len(given[0]) if given is not None else os.fstat(raw.fileno()).st_size
        self.budget = Budget(self.packed, allow_expansion, self.where)
        self.layers: list[Callable[[ExitStack, IO[bytes]], IO[bytes]]] = []
        self.size = self.packed  # unpacked, as far as the compression says
        self.name = self._peeled(self.disk.name, members)
        self.kind = PurePosixPath(self.name.lower()).suffix.removeprefix(".")

    @property
    def plain(self) -> bool:
        """Whether the table is on disk as it is."""
        return not self.layers and self._given is None

    @property
    def scannable(self) -> Path | io.BytesIO:
        """The file for a reader that seeks: by its path where it is read in slices, else in memory."""
        return self.disk if self.in_slices and self.plain else io.BytesIO(self.data)

    @cached_property
    def start(self) -> bytes:
        """The first bytes."""
        return next(self.chunks(), b"")

    @cached_property
    def data(self) -> bytes:
        """All bytes, if they fit into memory."""
        self.require_whole()
        self.budget.require(self.packed)
        data, doing = bytearray(), "Unpacking" if self.layers else "Reading"
        for piece in self.chunks():
            data += piece
            self.budget.grow(len(data), len(piece), doing)
        return bytes(data)

    def require_whole(self) -> None:
        """Refuse a format that is held in memory where the table is to be read in slices."""
        if self.in_slices:
            raise UsageError(
                f"{self.where} cannot be read in slices, as a store needs: make it Parquet with corml data convert."
            )

    def chunks(self, size: int = CHUNK) -> Iterator[bytes]:
        """The unpacked bytes, piece by piece; an error if the file changes meanwhile."""
        taken, size = 0, size if self.layers else min(size, self.size + 1)
        with self._faults(), ExitStack() as stack:
            raw = stack.enter_context(self._opened_raw())
            try:
                stream = self._unpacked(stack, raw)
                while piece := stream.read(size):
                    taken += len(piece)
                    self.budget.check(taken if self.layers else 0)
                    yield piece
            except DAMAGE:  # as a file is that is still being written
                self._check_unchanged(raw)
                raise
            self._check_unchanged(raw)

    def _check_unchanged(self, raw: BinaryIO) -> None:
        for now in () if self._found is None else (os.fstat(raw.fileno()), os.stat(self.disk)):
            if any(getattr(self._found, name) != getattr(now, name) for name in ("st_size", "st_mtime_ns", "st_ino")):
                raise DataError(f"{self.where} changed while it was being read: wait until it is complete.")

    def _unpacked(self, stack: ExitStack, stream: IO[bytes]) -> IO[bytes]:
        for layer in self.layers:
            stream = layer(stack, stream)
        return stream

    def _opened_raw(self) -> BinaryIO:
        return _regular(self.disk) if self._given is None else io.BytesIO(self._given[0])

    def _peeled(self, name: str, members: Sequence[str]) -> str:
        """Add the layers of compression that a name has; give the name inside them."""
        if self._given is not None and "." not in name:
            name = f"{name}.{self._given[1](next(self.chunks(), b''))}"
        kind = PurePosixPath(name).suffix.lower().removeprefix(".")
        if kind in ("zst", "bz2", "xz", "7z", "rar"):
            raise DataError(f"{self.where} is compressed as .{kind}, which corml does not read: unpack it, or use .gz.")
        if kind not in ("gz", "zip"):
            return name
        if len(self.layers) == LAYERS:
            raise DataError(
                f"{self.where} is compressed more than {LAYERS} times over: unpack it by other means first."
            )
        if kind == "gz":
            self.layers.append(_gunzipped)
            self.size *= EXPECTED_RATIO
            return self._peeled(name[:-3], members)
        self.require_whole()
        with self._faults(), ExitStack() as stack:
            stream = self._unpacked(stack, stack.enter_context(self._opened_raw()))
            member = _member(self._archive(stack, stream), self.where, members)
        check_methods([member], self.where)
        self.size = member.file_size
        self.layers.append(lambda stack, stream: self._archive(stack, stream).open(member))
        return self._peeled(PurePosixPath(member.filename).name, ())

    def _archive(self, stack: ExitStack, stream: IO[bytes]) -> zipfile.ZipFile:
        """An archive; one that is compressed itself is unpacked into memory first."""
        if isinstance(stream, gzip.GzipFile | zipfile.ZipExtFile):
            data = bytearray()
            while piece := stream.read(CHUNK):
                data += piece
                self.budget.grow(len(data), len(piece), "Unpacking")
            stream = io.BytesIO(bytes(data))
        return stack.enter_context(zipfile.ZipFile(stream))

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Turn what the system or a decompressor says about a broken file into an error of ours."""
        try:
            yield
        except CormlError:
            raise
        except DAMAGE as fault:
            if isinstance(fault, OSError) and fault.errno is not None:
                raise DataError(f"Could not read {self.where}: {fault.strerror or fault}.") from fault
            kind = "zip" if ".zip" in self.disk.name.lower() else "gzip"
            raise DataError(
                f"{self.where} is not a whole {kind} file ({ascii_line(fault)}): fetch or compress it again."
            ) from fault
        except RuntimeError as fault:  # a password, or a compression this Python cannot undo
            raise DataError(
                f"{self.where} cannot be unpacked ({ascii_line(fault)}): unpack it by other means first."
            ) from fault


def _gunzipped(stack: ExitStack, stream: IO[bytes]) -> IO[bytes]:
    return cast("IO[bytes]", stack.enter_context(gzip.GzipFile(fileobj=stream, mode="rb")))


def standard_input(recognise: Recogniser, *, allow_expansion: bool = False) -> File:
    """The table on standard input; its first bytes say which format and compression it has."""
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
    return File(STDIN, allow_expansion=allow_expansion, given=(bytes(data), recognise))


def magic(path: Path) -> bytes:
    """Read the first bytes of a regular file; none of anything else."""
    try:
        if not os.path.isfile(path):
            return b""
        with _regular(path) as file:
            return file.read(16)
    except OSError:
        return b""


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


def check_methods(members: Iterable[zipfile.ZipInfo], where: str) -> None:
    """Refuse members of an archive that cannot be unpacked piece by piece."""
    for member in members:
        if member.compress_type not in METHODS:
            raise DataError(
                f"{where} has {ascii_line(member.filename, 200)} packed by another method than the usual one, Deflate, "
                "and cannot be unpacked piece by piece: pack it again as a plain .zip."
            )


def _member(archive: zipfile.ZipFile, where: str, members: Sequence[str]) -> zipfile.ZipInfo:
    files = [info for info in archive.infolist() if not info.is_dir() and not _hidden(info.filename)]
    for member in members:
        for info in files:
            if info.filename == member or info.filename.endswith("/" + member):
                return info
    for kinds in FIRST_CHOICE:
        tables = [info for info in files if kind_of(info.filename) in kinds]
        named = [info for info in tables if PurePosixPath(info.filename).name.split(".")[0].lower() in MAIN_TABLES]
        if len(tables) == 1 or len(named) == 1:
            return (tables if len(tables) == 1 else named)[0]
        if tables:
            break
    listed = quoted([info.filename for info in files], 8) or "nothing"
    raise DataError(
        f"{where} holds no single table; it holds {listed}: unpack it and give one file, or one file for each "
        "event type: view=views.csv,cart=carts.csv."
    )


def _hidden(name: str) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in PurePosixPath(name).parts)
