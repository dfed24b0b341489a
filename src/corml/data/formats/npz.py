"""NPZ archives of arrays `user`, `item` and perhaps `rating`, `time`, `weight`; others are ignored.

The header of an array is read first: it may claim any length, so the archive must have as many bytes as it needs.
"""

import io
import math
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.lib import format as npy

from corml.data._options import Notes, Options
from corml.data.formats._files import File, check_methods
from corml.data.formats._frames import FrameTable
from corml.errors import CormlError, DataError, ascii_line

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Npz"]

Array = np.ndarray[Any, np.dtype[Any]]

ARRAYS = ("user", "item", "rating", "time", "weight")
PER_OBJECT = 64  # bytes of a text as a Python object, besides its own
WIDER = 5  # bytes for each of a text in bytes: it is read, and written again with four for a character


class Npz(FrameTable):
    """The arrays of an archive, if they grow to what they may."""

    SUFFIXES: ClassVar[tuple[str, ...]] = ("npz",)
    peekable = False

    def __init__(self, file: File, options: Options, notes: Notes) -> None:
        with _damage(file.where):
            arrays = _arrays(file)
        missing = [name for name in ARRAYS[:2] if name not in arrays]
        if missing:
            raise DataError(f"{file.where} has no array {ascii_line(missing[0])}: `user` and `item` are needed.")
        shapes = {array.shape for array in arrays.values()}
        if len(shapes) > 1 or len(next(iter(shapes))) != 1:
            raise DataError(f"{file.where} needs arrays of one dimension and equal length; it has {sorted(shapes)}.")
        columns = list(arrays.values())

        def get(at: int, rows: slice, look: bool) -> "pl.Series":
            from corml._runtime.lazy_polars import polars as pl

            with _damage(file.where):
                return pl.Series(columns[at][rows])

        super().__init__(list(arrays), get, file.where, len(columns[0]))

    @classmethod
    def starts(cls, start: bytes) -> bool:
        """Whether bytes begin an archive of arrays."""
        return start.startswith(b"PK\x03\x04") and b"user.npy" in start


def _arrays(file: File) -> dict[str, Array]:
    if not zipfile.is_zipfile(io.BytesIO(file.data)):
        raise ValueError("it is no archive")
    with zipfile.ZipFile(io.BytesIO(file.data)) as archive:
        check_methods(archive.infolist(), file.where)
        file.budget.check(sum(info.file_size for info in archive.infolist()))
        files = {name: archive.getinfo(f"{name}.npy") for name in ARRAYS if f"{name}.npy" in archive.namelist()}
        size = sum(_size(archive, info) for info in files.values())
        file.budget.check(size)
        file.budget.require(size)
        return {name: _plain(_array(archive, info)) for name, info in files.items()}


def _size(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> int:
    """Bytes an array takes, by its own header; it must be as long as that says."""
    with archive.open(info) as file:
        version = npy.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"an array has the version {version}")
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, kind = read_header(file)
    values = math.prod(shape)
    if not kind.itemsize or values * kind.itemsize > info.file_size:
        raise ValueError("an array is shorter than it says")
    objects = 0 if kind.kind in "biufmM" else PER_OBJECT
    return values * (kind.itemsize * (WIDER if kind.kind == "S" else 1) + objects)


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Array:
    with archive.open(info) as file:
        return npy.read_array(file, allow_pickle=False)


def _plain(array: Array) -> Array:
    """Text as Python's own (polars knows no strings of fixed width); byte strings count as UTF-8."""
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8")
    if array.dtype.kind in "mM" and array.dtype != "M8[D]":
        if np.datetime_data(array.dtype)[0] not in ("ms", "us", "ns"):
            array = array.astype(f"{array.dtype.kind}8[ms]")  # polars knows no seconds, hours or years
    if array.dtype.kind != "U":
        return array
    codes = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    if codes.size and codes.reshape(-1).view(np.uint32).max() > sys.maxunicode:  # neither NumPy nor Python checks
        raise ValueError("a text has a number that is no character")
    return codes.astype(object)


@contextmanager
def _damage(where: str) -> Iterator[None]:
    """Turn what zipfile, zlib, numpy and polars say about hostile bytes, in a dozen ways, into an error of ours."""
    try:
        yield
    except (CormlError, UnicodeEncodeError):  # half of a character has an error of its own
        raise
    except Exception as fault:
        reason = ascii_line(str(fault).partition("\n")[0], 200)
        raise DataError(f"{where} is not an NPZ archive of plain arrays ({reason}): write it again.") from fault
