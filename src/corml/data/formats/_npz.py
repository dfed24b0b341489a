"""NPZ archives of arrays `user`, `item` and perhaps `rating`, `time`, `weight`; others are ignored.

What an array says of itself is read first: its length is anybody's word, until there are as many bytes as it needs.
"""

import io
import math
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy

from corml._runtime import memory
from corml.data.formats._frames import FrameTable
from corml.data.formats._packed import Content, check_methods
from corml.errors import CormlError, DataError, ascii_line

if TYPE_CHECKING:
    import polars as pl

__all__ = ["from_npz"]

Array = np.ndarray[Any, Any]

ARRAYS = ("user", "item", "rating", "time", "weight")
PER_OBJECT = 64  # bytes of what is an object of Python for a while, as texts are, beside its own
WIDER = 5  # bytes for each of a text in bytes: it is read, and written again with four for a character


def from_npz(content: Content, *, allow_expansion: bool = False) -> FrameTable:
    """Read the arrays, if they grow to what they may."""
    with _damage(content.where):
        arrays = _arrays(content, allow_expansion)
    missing = [name for name in ARRAYS[:2] if name not in arrays]
    if missing:
        raise DataError(f"{content.where} has no array {ascii_line(missing[0])}: `user` and `item` are needed.")
    shapes = {array.shape for array in arrays.values()}
    if len(shapes) > 1 or len(next(iter(shapes))) != 1:
        raise DataError(f"{content.where} needs arrays of one dimension and equal length; it has {sorted(shapes)}.")
    columns = list(arrays.values())
    return FrameTable(list(arrays), lambda at: _series(columns[at], content.where), content.where, len(columns[0]))


def _arrays(content: Content, allow_expansion: bool) -> dict[str, Array]:
    if not zipfile.is_zipfile(io.BytesIO(content.data)):
        raise ValueError("it is no archive")
    with zipfile.ZipFile(io.BytesIO(content.data)) as archive:
        check_methods(archive.infolist(), content.where)
        limit = content.expansion(allowed=allow_expansion)
        limit.check(sum(info.file_size for info in archive.infolist()))
        files = {name: archive.getinfo(f"{name}.npy") for name in ARRAYS if f"{name}.npy" in archive.namelist()}
        size = sum(_size(archive, info) for info in files.values())
        limit.check(size)
        memory.require(size, what=f"Reading {content.where}", instead="read it in parts, or add memory.")
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
    if (
        array.dtype.kind in "mM"
        and array.dtype != "M8[D]"
        and np.datetime_data(array.dtype)[0] not in ("ms", "us", "ns")
    ):
        array = array.astype(f"{array.dtype.kind}8[ms]")  # polars knows no seconds, hours or years
    return _text(array) if array.dtype.kind == "U" else array


def _text(array: Array) -> Array:
    """Texts as objects, if they are of characters: neither NumPy nor Python looks, and polars writes what it gets."""
    codes = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    if codes.size and codes.reshape(-1).view(np.uint32).max() > sys.maxunicode:
        raise ValueError("a text has a number that is no character")
    return codes.astype(object)


def _series(array: Array, where: str) -> "pl.Series":
    from corml._runtime.lazy_polars import polars as pl

    with _damage(where):
        return pl.Series(array)


@contextmanager
def _damage(where: str) -> Iterator[None]:
    """Turn what zipfile, zlib, numpy and polars say about hostile bytes, in a dozen ways, into a sentence."""
    try:
        yield
    except (CormlError, UnicodeEncodeError):  # half of a character has a sentence of its own
        raise
    except Exception as fault:
        reason = ascii_line(str(fault).partition("\n")[0], 200)
        raise DataError(f"{where} is not an NPZ archive of plain arrays ({reason}): write it again.") from fault
