"""Numba kernels whose compiled code is kept between runs where possible.

Numba keeps compiled code beside the source or in a user folder. If neither can be written (a read-only image, another
user, no home), a private temporary folder is used; if that fails too, every run compiles again. A damaged or unwritable
cache costs time, never an answer, and one warning says so.
"""

import os
import stat
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from corml._runtime import environment


def _load_numba() -> Any:
    environment.check("NUMBA")  # before Numba reads it
    import numba as package

    numba: Any = package
    if numba.config.DISABLE_JIT:  # set in a file or by a program
        environment.refuse_uncompiled()
    return numba


numba = _load_numba()
_config = numba.config
_compile_later = numba.njit


def njit(*, cache: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit` with options, whose cache may fail; nothing but Python calls what it makes."""

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = _compile_later(no_cfunc_wrapper=True, **options)(function)
        if cache:
            _enable(dispatcher)
            dispatcher._cache = _Forgiving(dispatcher._cache)
        return dispatcher

    return decorate


def inner(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A part of kernels, which only they can call: compiled with each of them and kept in their code, not beside it.

    With `inline="always"` it is put into their text, so that a long part is compiled once, not alone and then again.
    """
    part: Callable[[Callable[..., Any]], Any]
    part = _compile_later(nogil=True, no_cfunc_wrapper=True, no_cpython_wrapper=True, **options)
    return part


@contextmanager
def compilation(report: Callable[[int, int], None]) -> Iterator[None]:
    """Have `report(done, begun)` called before and after a kernel is compiled; what was kept needs no compilation."""
    state = _Compilation(report)
    _listening.append(state)
    try:
        yield
    finally:
        _listening.remove(state)


class _Compilation:
    """Counts kernels that are or were compiled while it listens."""

    def __init__(self, report: Callable[[int, int], None]) -> None:
        self.report, self.done, self.begun = report, 0, 0

    def count(self, *, done: int = 0, begun: int = 0) -> None:
        self.done, self.begun = self.done + done, self.begun + begun
        self.report(self.done, self.begun)


_listening: list[_Compilation] = []


def _enable(dispatcher: Any) -> None:
    """Turn the cache on if there is a folder for it."""
    try:
        if not _config.CACHE_DIR and not _has_home():
            raise OSError("Numba would make a folder named ~ wherever it runs, and load code from it")
        dispatcher.enable_caching()
        return
    except (RuntimeError, OSError):  # no folder of Numba's choice can be written
        pass
    folder, before = _private_folder(), _config.CACHE_DIR
    try:
        if folder is None:
            raise OSError("no private folder")
        _config.CACHE_DIR = str(folder)
        dispatcher.enable_caching()
    except (RuntimeError, OSError):
        _warn_once("compiled code cannot be kept in any folder")
    finally:
        _config.CACHE_DIR = before


def _has_home() -> bool:
    """Whether there is a user folder; a process of an unknown user, without HOME, has none."""
    return os.path.isabs(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~"))


def _private_folder() -> Path | None:
    """A temporary folder of this user alone: code is loaded from it, so nobody else may write there."""
    try:
        user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "")
        folder = Path(tempfile.gettempdir()) / f"corml-compiled-{user}"
        folder.mkdir(mode=0o700, exist_ok=True)
        about = folder.lstat()
    except OSError:
        return None
    mine = not hasattr(os, "getuid") or (about.st_uid == os.getuid() and not about.st_mode & 0o077)
    return folder if mine and stat.S_ISDIR(about.st_mode) else None


class _Forgiving:
    """Numba's cache of one function, without its exceptions."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, *given: Any) -> Any:
        """Compiled code, or None if there is none that can be read: then it is compiled."""
        loaded = None
        try:
            loaded = self._cache.load_overload(*given)
        except Exception as fault:  # whatever a damaged file makes of unpickling
            _warn_once(f"kept compiled code cannot be read ({type(fault).__name__}): it is compiled again")
            with suppress(Exception):  # then the next run compiles again, too
                self._cache.flush()
        if loaded is None:
            for one in _listening:
                one.count(begun=1)
        return loaded

    def save_overload(self, *given: Any) -> None:
        """Keep what was compiled, if possible."""
        try:
            self._cache.save_overload(*given)
        except Exception as fault:
            _warn_once(f"compiled code cannot be kept ({getattr(fault, 'strerror', None) or type(fault).__name__})")
        for one in _listening:
            one.count(done=1)


_warned: list[str] = []


def _warn_once(text: str) -> None:
    """Warn once per run."""
    if not _warned:
        _warned.append(text)
        cost = "every run takes some seconds longer until that is fixed."
        warnings.warn(f"{text}; {cost}", RuntimeWarning, stacklevel=2)
