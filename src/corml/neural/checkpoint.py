"""A place in training as a file: written after each epoch, atomically, and checked before it is believed."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from corml.errors import ModelFileError, UsageError, ascii_line
from corml.neural.training import Place
from corml.storage import atomic, container

__all__ = ["UNFINISHED", "Checkpoint"]

UNFINISHED = " (unfinished)"  # after the name of a model: no model is called so, and no file with it is taken for one
PARTS = ("kept", "now")
LAYOUT = 1  # of what a place is made of; another is not understood


@dataclass(frozen=True)
class Checkpoint:
    """A file that belongs to one model, with these settings, on these data."""

    path: str | os.PathLike[str]
    model: str
    settings: Mapping[str, Any]
    data: Mapping[str, str]

    def read(self) -> Place:
        """Where training was, or its beginning if there is no file yet."""
        if not os.path.exists(atomic.target(self.path)):
            return Place()
        try:
            found = container.read(self.path)
        except ModelFileError as fault:
            raise ModelFileError(f"No checkpoint to go on from: {fault} Choose another file, or delete it.") from None
        self._check(found)
        try:
            kept, now = ({name: found.arrays[f"{part}:{name}"] for name in found.meta["notes"][part]} for part in PARTS)
            facts = dict(found.meta["notes"]["place"])
            facts["best"] = -np.inf if facts["best"] is None else facts["best"]
            return Place(**facts, kept=kept, now=now)
        except (KeyError, TypeError) as fault:
            raise ModelFileError(f"{found.name} does not hold a place in training ({fault}): delete it.") from None

    def write(self, place: Place) -> None:
        """Replace the file by the place of now."""
        facts = {name: getattr(place, name) for name in ("epoch", "seconds", "cpu", "best", "best_epoch", "curve")}
        facts["best"] = None if place.best == -np.inf else place.best
        meta = {
            "model": self.model + UNFINISHED,
            "settings": dict(self.settings),
            "shape": [],
            "data": dict(self.data),
            "notes": {"place": facts} | {part: sorted(getattr(place, part)) for part in PARTS},
            "evaluation": {},
            "made_with": {"layout": LAYOUT},
        }
        arrays = {f"{part}:{name}": array for part in PARTS for name, array in getattr(place, part).items()}
        atomic.replace(self.path, *container.pieces(arrays, meta))

    def _check(self, found: container.Contents) -> None:
        """Refuse a place in the training of something else."""
        other = found.meta["model"]
        if other != self.model + UNFINISHED:
            kind = "a checkpoint of" if other.endswith(UNFINISHED) else "a finished model,"
            name = ascii_line(other.removesuffix(UNFINISHED))
            raise UsageError(f"{found.name} is no checkpoint of {self.model} but {kind} {name}: choose another file.")
        if found.meta["made_with"].get("layout") != LAYOUT:
            raise UsageError(f"{found.name} is a checkpoint of another version of corml: choose another file.")
        for name, value in self.settings.items():
            if found.meta["settings"].get(name) != value:
                raise UsageError(
                    f"{found.name} was trained with {name} {found.meta['settings'].get(name)}, not {value}: "
                    "set it back, or choose another file."
                )
        if found.meta["data"] != dict(self.data):
            raise UsageError(
                f"{found.name} was trained on other data, or on these in another order: choose another file."
            )
