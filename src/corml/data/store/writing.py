"""Write the files of a store: arrays that can be mapped, ids, links to what is the same elsewhere, and their hashes.

Each file is whole or not there. What a kill leaves behind has another name and is removed later.
"""

import io
import mmap
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml._runtime.progress import Progress
from corml.data.store._layout import ITEMS, array_name
from corml.data.store._manifest import digest
from corml.persistence import atomic

FOLDERS = ("users", "by_user", "by_item", "seen", "others")


def put_array(path: Path, array: NDArray[Any]) -> None:
    """Write an array as .npy, which can be mapped."""
    header = io.BytesIO()
    array = np.ascontiguousarray(array)
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    atomic.replace(path, header.getvalue(), array.view(np.uint8).data if array.size else b"")


def put_arrays(folder: Path, inner: str, part: int, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write the arrays of one part of a matrix, in this order."""
    for name, array in arrays.items():
        put_array(folder / array_name(inner, name, part), array)


def put_labels(path: Path, labels: list[str]) -> None:
    """Write ids as a Parquet file with the column `id`."""
    from corml._runtime.lazy_polars import polars as pl

    written = io.BytesIO()
    pl.DataFrame({"id": pl.Series(labels, dtype=pl.String)}).write_parquet(written)
    atomic.replace(path, written.getbuffer())


def put_copy(path: Path, original: Path) -> None:
    """Have the same file under a second name: a link where the file system knows them, else a copy."""
    try:
        os.link(original.resolve(), path)
    except FileExistsError:  # made before a kill
        return
    except OSError:  # another disk, or one without links
        with open(original, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
            with memoryview(whole) as view:
                atomic.replace(path, view)


def hashed(folder: Path, progress: Progress, known: Iterable[str] = ()) -> dict[str, dict[str, Any]]:
    """Size and hash of every file of a store but those that are `known`."""
    paths = [path for inner in FOLDERS for path in (folder / inner).iterdir() if not path.name.startswith(".")]
    paths += [folder / ITEMS]
    names = {path.relative_to(folder).as_posix(): path for path in sorted(paths)}
    left = {name: path for name, path in names.items() if name not in known}
    files = {}
    for done, (name, path) in enumerate(left.items(), start=1):
        files[name] = {"size": path.stat().st_size, "sha256": digest(path)}
        progress("hash", done, len(left))
    return files
