"""How much memory there is, and a refusal in a sentence before asking for more."""

import contextlib
import ctypes
import errno
import os
from pathlib import Path

from corml.errors import ResourceError, UsageError, ascii_line

GIB = 1 << 30
SHARE = 0.8  # of what is free: the rest is for the system and for what we did not count
SHORT = "There was not enough memory. Free some, or give it a smaller piece of work."
SHORTAGE = ("can't start new thread", "could not spawn thread", "resource temporarily", "allocat", "failed to map")
UNFILLED = 64 << 20  # bytes of addresses, where those are limited: of threads, and of code that is compiled meanwhile


def budget() -> int:
    """Bytes a piece of work may take: 0.8 of the smallest of free memory, container limit and address-space limit."""
    limits = [_available(), _container(), _address_space()]
    return int(SHARE * min(limit for limit in limits if limit is not None))


def require(needed: int, *, what: str, instead: str, limit: int | None = None) -> None:
    """Refuse work that needs more than the budget, naming what would fit."""
    allowed = budget() if limit is None else limit
    if needed > allowed:
        raise ResourceError(f"{what} needs {size(needed)}, the budget is {size(allowed)}; {instead}")


def is_shortage(fault: BaseException) -> bool:
    """Whether memory, or addresses for threads, ran out; each library has its own words for it."""
    if isinstance(fault, MemoryError) or (isinstance(fault, OSError) and fault.errno == errno.ENOMEM):
        return True
    rust = type(fault).__name__ == "PanicException"  # how a library in Rust gives up
    worded = rust or isinstance(fault, RuntimeError | ImportError | OSError)
    return worded and any(word in str(fault).lower() for word in SHORTAGE)


def resident() -> int:
    """Bytes this process has in memory now; 0 where the system does not say."""
    return _pages(1)


def address_limit() -> int | None:
    """Bytes of addresses this process may have, filled or not: `ulimit -v`; None where there is no limit."""
    try:
        import resource
    except ImportError:
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def addresses() -> int:
    """Bytes of addresses this process has now; 0 where the system does not say."""
    return _pages(0)


def release() -> None:
    """Give freed memory back to the system, where the C library can; between stages, so that gaps do not add up."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def size(count: float) -> str:
    """Bytes in a readable unit: «46.2 GiB»."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def read_size(text: str) -> int:
    """Read «8GB», «512 MiB» or «1e9» as bytes."""
    units = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
    word = text.strip().lower().removesuffix("b").removesuffix("i")
    unit = word[-1:] if word[-1:] in units else ""
    try:
        return int(float(word.removesuffix(unit)) * units[unit])
    except (ValueError, OverflowError):  # no number, or none that a computer has bytes for
        raise UsageError(f"{ascii_line(text)} is not a size: write it like 8GB or 512MiB.") from None


def is_size(text: object) -> bool:
    """Whether `read_size` can read it as something."""
    try:
        return isinstance(text, str) and read_size(text) > 0
    except UsageError:
        return False


def _pages(field: int) -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[field]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _available() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 8 * GIB  # unknown: assume a small laptop


def _container() -> int | None:
    try:
        root = Path("/sys/fs/cgroup")
        limit = (root / "memory.max").read_text().strip()
        used = int((root / "memory.current").read_text())
    except (OSError, ValueError):
        return None
    return None if limit == "max" else max(int(limit) - used, 0)


def _address_space() -> int | None:
    limit = address_limit()
    return None if limit is None else max(limit - addresses() - UNFILLED, 0)
