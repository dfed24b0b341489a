"""Finished work is not lost because its file cannot be written: it is kept where it can be, and the error says where.

During a fit a disk may fill, a folder vanish, or memory run out for what follows. Then other folders are tried: that of
the file, the temporary folder, the working directory, the home folder. Each time it is a new folder that only
this user can read, because a model contains user histories. Where there is no space for these, they are left out.
"""

import contextlib
import os
import shlex
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corml._runtime import memory
from corml.errors import CormlError, DataError, NumericalError, ResourceError, ascii_line
from corml.models.saved.model_file import STILL_HERE
from corml.persistence import atomic, unfinished

if TYPE_CHECKING:
    from corml.models.recommender import Recommender

Save = Callable[[str, bool], None]  # to a file; false leaves the histories out


def put_or_keep(out: str, data: bytes) -> None:
    """Write a whole file; if that fails, keep it elsewhere and raise an error of the same kind that says where."""
    try:
        atomic.replace(out, data)
    except DataError as fault:
        raise _elsewhere("result", lambda file, _: atomic.replace(file, data), fault, out) from None


def save_or_keep(
    model: "Recommender", out: str, *, history: bool = True, evaluation: Mapping[str, Any] | None = None
) -> None:
    """The same for a model."""
    try:
        model.save(out, history=history, evaluation=evaluation)
    except (DataError, ResourceError) as fault:
        raise _fit_elsewhere(model, fault, out, history=history, evaluation=evaluation) from None


@contextlib.contextmanager
def kept_if_this_fails(
    model: "Recommender", out: str, *, history: bool = True, evaluation: Mapping[str, Any] | None = None
) -> Iterator[None]:
    """What follows a fit can fail as well, for want of memory: the model is kept, and the error says where."""
    try:
        yield
    except (DataError, ResourceError, NumericalError) as fault:
        raise _fit_elsewhere(model, fault, out, history=history, evaluation=evaluation) from None
    except Exception as fault:
        if not memory.is_shortage(fault):
            raise
        short = ResourceError(memory.SHORT)
        raise _fit_elsewhere(model, short, out, history=history, evaluation=evaluation) from None


def _fit_elsewhere(
    model: "Recommender", fault: CormlError, out: str, *, history: bool, evaluation: Mapping[str, Any] | None
) -> CormlError:
    def save(file: str, whole: bool) -> None:
        model.save(file, history=whole, evaluation=evaluation)

    return _elsewhere("fit", save, fault, out, history=history)


def _elsewhere(what: str, save: Save, fault: CormlError, out: str, *, history: bool = False) -> CormlError:
    """The same error, which now says where the file is kept."""
    memory.release()
    reason = str(fault).removesuffix(STILL_HERE)
    folders = (os.path.dirname(out) or ".", tempfile.gettempdir(), ".", os.path.expanduser("~"))
    distinct = [one for one in dict.fromkeys(map(os.path.abspath, folders)) if not unfinished.holds(Path(one))]
    for whole in (True, False) if history else (False,):
        for parent in distinct:  # not one that is removed with this process
            kept = _kept(save, parent, out, whole)
            if kept:
                return type(fault)(f"{reason} {_where(what, kept, out, left_out=history and not whole)}")
    return type(fault)(f"{reason} No other place could be written either: make room and run it again.")


def _kept(save: Save, parent: str, out: str, whole: bool) -> str | None:
    """The file it was kept in; None if that failed, and then nothing is left there."""
    folder = None
    try:
        folder = tempfile.mkdtemp(prefix="corml-kept-", dir=parent)
        file = os.path.join(folder, os.path.basename(out))
        save(file, whole)
    except (CormlError, OSError, MemoryError):
        if folder is not None:
            with contextlib.suppress(OSError):
                os.rmdir(folder)
        return None
    return file


def _where(what: str, kept: str, out: str, *, left_out: bool) -> str:
    without = ", without the users and their histories, for which there was no room," if left_out else ""
    return (
        f"The {what} is not lost: it is kept{without} in {ascii_line(kept, 1000)}. "
        f"When there is room, move it: mv {shlex.quote(kept)} {shlex.quote(out)}"
    )
