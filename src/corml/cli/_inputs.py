"""What a command works on: data, options of loading and a split, from the command line over a settings file."""

import os
from dataclasses import dataclass
from typing import Any

import typer

from corml.cli._settings_file import read_settings
from corml.cli._work import load, make_split, over, split_alone, split_file
from corml.data.interactions import Interactions
from corml.errors import UsageError, ascii_line
from corml.splits import Split, is_split_file

__all__ = ["DATA", "Inputs", "inputs_of"]


DATA = typer.Argument(None, metavar="DATA", help="A file of interactions, the name of a data set, or a split file.")


@dataclass(frozen=True)
class Inputs:
    """The name of the data, options of loading and of the split, and the model of a settings file; any may be none."""

    source: str | None
    loading: dict[str, Any]
    splitting: dict[str, Any]
    model: str | None
    settings: dict[str, Any]

    @property
    def files(self) -> tuple[Any, ...]:
        """All files that are read, which must not be written."""
        return self.source, self.loading.get("titles"), self.loading.get("items"), self.splitting.get("how")

    @property
    def is_one_split_file(self) -> bool:
        """Whether a split file is all there is, without the data it was made of."""
        return not self.source and split_file(self.splitting) is not None

    def data(self) -> Interactions:
        """All pairs."""
        return load(self.source, self.loading) if self.source else split_alone(self.splitting, self.loading).whole()

    def split(self) -> Split:
        """The split of the data, or the one in the file."""
        if self.is_one_split_file:
            return split_alone(self.splitting, self.loading)
        return make_split(self.data(), self.splitting)

    def data_or_split(self) -> Interactions | Split:
        """The split if one is asked for, else all pairs."""
        return self.split() if self.splitting else self.data()


def inputs_of(
    source: str | None, settings: str | None, loading: dict[str, Any], splitting: dict[str, Any], *, needed: str = ""
) -> Inputs:
    """Read the settings file, and put over it what the command line says; `needed` is the error if there are no data.

    A split file given as DATA is the split, and there are no other data.
    """
    sections = read_settings(settings)
    base = sections["data"]
    recorded = base.pop("source", None)
    if source and is_split_file(source):
        base, sections["split"] = {}, {}
    given = str(source or recorded or "")
    loading, splitting = {**base, **loading}, over(sections["split"], splitting)
    if given and is_split_file(given):
        if splitting.keys() - {"targets"}:
            raise UsageError(f"{ascii_line(given, 200)} is a split already: leave out --split.")
        splitting = {**splitting, "how": given}
        if not split_file(splitting):  # it has the name of a kind of split
            splitting["how"] = os.path.join(os.curdir, given)
        given = ""
    if needed and not given and not split_file(splitting):
        raise UsageError(needed)
    model = sections["model"]
    name = str(model.pop("name", "corml")) if model else None
    return Inputs(given or None, loading, splitting, name, model)
