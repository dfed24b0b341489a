"""Results that lie beside a model file: studies of `corml compare`, an evaluation of `corml evaluate --json`.

    results.json, FOLDER/results.json    a study, as `corml compare --out FOLDER` writes it
    NAME.evaluation.json                 an evaluation; NAME is that of the model file

They are read as files that anybody may have put there: regular ones of some size, decoded by type, and only shown if
they are about the data of the model. What is left out is said, without a word of its content.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct, field

from corml.errors import ascii_line
from corml.models.fitted import Fitted
from corml.service.studio import schema
from corml.service.studio.result_files import Evaluation, Study, table_of, texts

__all__ = ["Beside", "beside"]

LARGEST = 8 * 1024**2  # bytes of a file
FOLDERS = 100  # that are looked into

T = TypeVar("T", Study, Evaluation)


class Beside(Struct, kw_only=True):
    """What was found, and what was left out and why."""

    studies: list[schema.StudyTable] = field(default_factory=list)
    evaluations: list[schema.Evaluated] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)


def beside(path: str, fitted: Fitted) -> Beside:
    """Results beside a model file, if they are about its data."""
    found = Beside()
    if not path:
        return found
    folder, data = Path(path).parent, _data_of(fitted)
    for name in ["results.json", *(f"{inner}/results.json" for inner in _folders(folder))]:
        study = _read(folder / name, name, Study, data, found)
        if study is not None:
            found.studies.append(table_of(study, _shown(name)))
    name = f"{Path(path).stem}.evaluation.json"
    evaluation = _read(folder / name, name, Evaluation, data, found)
    if evaluation is not None:
        flatters = _flatters(evaluation, fitted)
        found.evaluations.append(schema.Evaluated(file=_shown(name), evaluation=evaluation.plain(), flatters=flatters))
    return found


def _flatters(evaluation: Evaluation, fitted: Fitted) -> bool:
    """Whether the model knew the held-out pairs; `corml evaluate` repeats the fit on train where the file has one."""
    learned_all = evaluation.procedure.get("data") == fitted.fingerprint
    repeated = bool(fitted.evaluation.get("refit")) and fitted.evaluation.get("split") == evaluation.split
    return learned_all and not repeated


def _data_of(fitted: Fitted) -> set[str]:
    """Fingerprints of the data a model was fitted on, and of the split it was measured with."""
    evaluation = fitted.evaluation
    return texts(fitted.fingerprint, evaluation.get("split"), dict(evaluation.get("procedure") or {}).get("data"))


def _folders(folder: Path) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            yield from sorted(one.name for one in entries if one.is_dir(follow_symlinks=False))[:FOLDERS]
    except OSError:
        return


def _read(place: Path, name: str, kind: type[T], data: set[str], found: Beside) -> T | None:
    """A file as a type; None if there is none, or, with a note, if it is something else or about other data."""
    try:
        content = msgspec.json.decode(_bytes(place), type=kind)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        found.ignored.append(f"{_shown(name)} cannot be read")
    except (msgspec.MsgspecError, ValueError, RecursionError):
        found.ignored.append(f"{_shown(name)} is no {kind.__name__.lower()} of corml")
    else:
        if not data.isdisjoint(content.about()):
            return content
        found.ignored.append(f"{_shown(name)} is about other data than this model's")
    return None


def _bytes(place: Path) -> bytes:
    """The content of a regular file. It is opened without waiting, or a pipe would keep whoever asks."""
    with open(os.open(place, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode) or about.st_size > LARGEST:
            raise OSError("no regular file, or too large")
        return file.read(LARGEST)


def _shown(name: str) -> str:
    return ascii_line(name, 120)[1:-1]
