"""A finished fit is not lost because its file cannot be written: it is kept where it can, and one sentence says where.

A fit may take hours, and meanwhile a disk fills, a folder goes, or memory runs out for what follows. Then other places
are tried: beside the file, the temporary folder, where the command runs, the home folder. Each time it is a new folder
of this user alone, because a model knows who had what. Where there is no room for all of it, it is kept without the
histories.
"""

import contextlib
import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corml import memory
from corml.errors import CormlError, DataError, NumericalError, ResourceError, ascii_line
from corml.storage import unfinished
from corml.storage.model_file import STILL_HERE

if TYPE_CHECKING:
    from corml.recommender import Recommender

__all__ = ["kept_if_this_fails", "save_or_keep"]


def save_or_keep(
    model: "Recommender", out: str, *, history: bool = True, evaluation: Mapping[str, Any] | None = None
) -> None:
    """Save a model; if that fails, keep it elsewhere and raise an error of the same kind that says where."""
    try:
        model.save(out, history=history, evaluation=evaluation)
    except (DataError, ResourceError) as fault:
        raise _elsewhere(model, fault, out, history=history, evaluation=evaluation) from None


@contextlib.contextmanager
def kept_if_this_fails(
    model: "Recommender", out: str, *, history: bool = True, evaluation: Mapping[str, Any] | None = None
) -> Iterator[None]:
    """What follows a fit can fail as well, for want of memory: the model is kept, and the error says where."""
    try:
        yield
    except (DataError, ResourceError, NumericalError) as fault:
        raise _elsewhere(model, fault, out, history=history, evaluation=evaluation) from None
    except Exception as fault:
        if not memory.is_shortage(fault):
            raise
        raise _elsewhere(model, ResourceError(memory.SHORT), out, history=history, evaluation=evaluation) from None


def _elsewhere(model: "Recommender", fault: CormlError, out: str, *, history: bool, **how: Any) -> CormlError:
    """The same error, which now says where the model is kept."""
    memory.release()
    reason = str(fault).removesuffix(STILL_HERE)
    for place, whole in _ways(out, history):
        kept = _kept(model, place, out, history=whole, **how)
        if kept:
            return type(fault)(f"{reason} {_where(kept, out, left_out=history and not whole)}")
    return type(fault)(f"{reason} No other place could be written either: make room and fit again.")


def _ways(out: str, history: bool) -> Iterator[tuple[str, bool]]:
    """Where to keep it, and whether with the histories; without them only if there is room for it nowhere.

    A folder that goes with this process is no place.
    """
    places = (os.path.dirname(out) or ".", tempfile.gettempdir(), ".", os.path.expanduser("~"))
    absolute = dict.fromkeys(os.path.abspath(place) for place in places)
    distinct = [place for place in absolute if not unfinished.holds(Path(place))]
    for whole in (True, False) if history else (False,):
        yield from ((place, whole) for place in distinct)


def _kept(model: "Recommender", place: str, out: str, **how: Any) -> str | None:
    """The file it was kept in; None if that failed, and then nothing is left there."""
    folder = None
    try:
        folder = tempfile.mkdtemp(prefix="corml-kept-", dir=place)
        file = os.path.join(folder, os.path.basename(out))
        model.save(file, **how)
    except (CormlError, OSError, MemoryError):
        if folder is not None:
            with contextlib.suppress(OSError):
                os.rmdir(folder)
        return None
    return file


def _where(kept: str, out: str, *, left_out: bool) -> str:
    without = ", without the users and their histories, for which there was no room," if left_out else ""
    return (
        f"The fit is not lost: it is kept{without} in {ascii_line(kept, 1000)}. "
        f"When there is room, move it: mv {shlex.quote(kept)} {shlex.quote(out)}"
    )
