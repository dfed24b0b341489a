"""The bytes of a file: mapped, so that they are read when they are needed and are no memory of this process, or read.

A mapped file may be replaced by renaming, as `corml.persistence.atomic` does: the one that was opened stays as it was
until it is closed. It must not be changed in place: what was checked would no longer hold, and where it was cut off,
the system ends the process (SIGBUS). So a file is mapped of itself only if it is large enough to be worth it and lies
on a disk of this machine, where a rename by another machine cannot take it away; who cannot rely on that reads it.

A map is copy-on-write: writing to an array changes no file. (Numba compiles everything once more for one that must not
be written to.)
"""

import mmap
import os
from io import FileIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORTH_IT = 1 << 24  # bytes
MOUNTS = "/proc/self/mountinfo"  # where Linux tells what lies where
ELSEWHERE = ("nfs", "cifs", "smb", "9p", "afs", "ceph", "lustre", "gluster", "gpfs", "beegfs", "fuse", "virtiofs")


def is_mapped_by_default(file: FileIO) -> bool:
    """Whether a file is mapped by default."""
    return os.name == "posix" and os.fstat(file.fileno()).st_size >= WORTH_IT and not _is_elsewhere(file.fileno())


def content(file: FileIO, size: int, *, mapped: bool) -> NDArray[np.uint8]:
    """The first bytes of a file that has so many; fewer if it was cut off meanwhile."""
    if mapped:
        return np.frombuffer(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY), dtype=np.uint8)
    data, filled = np.empty(size, dtype=np.uint8), 0
    while filled < size and (count := file.readinto(data[filled:].data)):
        filled += count
    return data[:filled]


def give_back(array: NDArray[Any]) -> None:
    """Give back the memory of an array of a mapped file that was read, and not written to; it can be read again."""
    base: Any = array
    while not isinstance(base, mmap.mmap | None):
        base = base.obj if isinstance(base, memoryview) else getattr(base, "base", None)
    if base is not None and len(array) and hasattr(base, "madvise"):
        start = _address(array) - _address(np.frombuffer(base, dtype=np.uint8))
        first = start - start % mmap.PAGESIZE
        base.madvise(mmap.MADV_DONTNEED, first, start + array.nbytes - first)


def _address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


def _is_elsewhere(handle: int) -> bool:
    """Whether a file lies on another machine, as far as the system tells."""
    device = os.fstat(handle).st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    try:
        with open(MOUNTS, encoding="utf-8", errors="replace") as lines:
            mounts = [line.split() for line in lines]
    except OSError:
        return False
    return any(one[2] == wanted and one[one.index("-") + 1].startswith(ELSEWHERE) for one in mounts if "-" in one)
