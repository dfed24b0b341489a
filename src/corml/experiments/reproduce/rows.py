"""Which models take part, with the settings of the file: CoRML several times, every other model once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from corml import models
from corml._runtime.settings import values_of
from corml._runtime.values import no_such
from corml.errors import UsageError
from corml.experiments.reproduce.published import Published
from corml.models.recommender import Recommender

__all__ = ["OURS", "Row", "changed", "choose", "row"]

OURS = "corml"  # the paper's column; of --models, all its rows


@dataclass(frozen=True, kw_only=True, eq=False)
class Row:
    """A model with settings for one data set; `column` is what the paper's table calls it."""

    name: str
    title: str
    column: str
    model: Recommender
    differs: str = ""  # what is known to differ from the paper's run

    @property
    def ours(self) -> bool:
        """Whether it is CoRML."""
        return self.column == OURS


def choose(published: Published, asked: Sequence[str] | None, offered: Sequence[str]) -> list[str]:
    """The rows to run: those asked for, else all that are offered; `corml` stands for all rows of CoRML."""
    if asked is None:
        return list(offered)
    variants, every = published["corml"], (*published["corml"], *models.names())
    names: list[str] = []
    for name in (text.strip().replace("_", "-") for text in asked):
        if name not in every:
            raise no_such("model", name, every)
        names += [one for one in offered if one in variants] if name == OURS else [name]
    if not names:
        raise UsageError("No model was asked for: name at least one, such as corml.")
    return list(dict.fromkeys(names))


def row(published: Published, name: str, data: str, *, epochs: int | None = None) -> Row | None:
    """A row for a data set; None where it needs settings and the file has none. `epochs` shortens gradient models."""
    ours = name in published["corml"]
    entry = published["corml" if ours else "models"].get(name, {})
    settings = entry.get("settings", {})
    if entry.get("only") and data not in settings:
        return None
    values = {**entry.get("all", {}), **settings.get(data, {})}
    if epochs is not None and entry.get("gradient"):
        values = {"epochs": epochs}
    return Row(
        name=name,
        title=entry.get("title", name),
        column=OURS if ours else name,
        model=_corml(values, entry["problem"]) if ours else models.make(name, values),
        differs=entry.get("differs", ""),
    )


def changed(model: Recommender, settings: Mapping[str, Any]) -> Recommender:
    """The same model with other values of some settings."""
    return models.make(model.NAME, {**values_of(model), **settings})


def _corml(values: Mapping[str, Any], problem: str) -> Recommender:
    from corml.models.corml.estimator import CoRML

    start = CoRML.paper() if problem == "paper" else CoRML()
    return changed(start, values)
