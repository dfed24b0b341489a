"""Who takes part: models by name with settings, model objects, and anyone's recommendation lists.

"ease"                    a model with its defaults
"ease:l2=500"             with settings; more are joined by colons, "item-knn:neighbours=50:shrink=10"
"theirs=run.parquet"      lists of another program, from a file
corml.CoRML(rank=64)      a model; it is fitted anew
"""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corml import models
from corml._runtime.settings import check, declared, values_of
from corml.errors import DataError, UsageError, ascii_line
from corml.evaluation.external_lists import by_user
from corml.models.recommender import Recommender

if TYPE_CHECKING:
    from corml.evaluation.external_lists import ExternalLists

__all__ = ["Contestant", "contestants"]

Given = str | Recommender


@dataclass(frozen=True, kw_only=True, eq=False)
class Contestant:
    """A label for the table and either a model, as a pattern for those that are fitted, or lists."""

    label: str
    model: Recommender | None = None
    lists: "ExternalLists | None" = None
    digest: str = ""  # of the lists

    @property
    def name(self) -> str:
        """The name of the model; lists have none."""
        return "" if self.model is None else self.model.NAME

    @property
    def settings(self) -> dict[str, Any]:
        """All settings of the model, as they would be fitted."""
        return {} if self.model is None else values_of(self.model)

    @property
    def changed(self) -> dict[str, Any]:
        """The settings that are not the defaults: a search leaves them alone."""
        if self.model is None:
            return {}
        specs = declared(type(self.model))
        return {name: value for name, value in self.settings.items() if value != specs[name].default}

    @property
    def seeded(self) -> bool:
        """Whether chance has a part in the fit, so that several seeds say something."""
        return self.model is not None and "seed" in declared(type(self.model))

    def build(self, changed: Mapping[str, Any]) -> Recommender:
        """An unfitted model with these settings over its own."""
        assert self.model is not None
        model = type(self.model)(**{**self.settings, **changed})
        check(model)
        return model


def contestants(
    given: Given | Iterable[Given] | Mapping[str, Given], lists: "Mapping[str, ExternalLists] | None" = None
) -> tuple[Contestant, ...]:
    """All who take part, in the order given; every label once."""
    if isinstance(given, Mapping):
        named = [_with_label(_contestant(one), label) for label, one in given.items()]
    else:
        named = [_contestant(one) for one in ([given] if isinstance(given, str | Recommender) else given)]
    everyone = (*named, *(_lists(label, one) for label, one in (lists or {}).items()))
    labels = [one.label for one in everyone]
    for label in labels:
        if labels.count(label) > 1:
            raise UsageError(f"Two contestants are called {ascii_line(label)}: give each a label of its own.")
    if not everyone:
        raise UsageError("Nobody takes part: name at least one model, such as corml.")
    return everyone


def _with_label(one: Contestant, label: str) -> Contestant:
    return Contestant(label=label, model=one.model, lists=one.lists, digest=one.digest)


def _contestant(given: object) -> Contestant:
    if isinstance(given, Recommender):
        return _from_model(given)
    if not isinstance(given, str):
        raise UsageError(
            f"A contestant is the name of a model, a model, or LABEL=FILE of lists; got a {type(given).__name__}."
        )
    head, equals, rest = given.partition("=")
    if equals and ":" not in head:
        if not head.strip() or not rest.strip():
            raise UsageError(f"{ascii_line(given)} is not LABEL=FILE: write, for example, theirs=run.parquet.")
        return _lists(head.strip(), rest.strip())
    name, *texts = given.strip().split(":")
    return Contestant(label=given.strip(), model=models.make(name, dict(_pair(text, given) for text in texts)))


def _pair(text: str, given: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"{ascii_line(given)} is not MODEL:NAME=VALUE: write, for example, ease:l2=500.")
    return name.strip().replace("-", "_"), value.strip()


def _from_model(model: Recommender) -> Contestant:
    """Labelled by its name and the settings that are not the defaults."""
    check(model)
    changed = Contestant(label="", model=model).changed
    return Contestant(
        label=":".join([model.NAME, *(f"{name}={value}" for name, value in changed.items())]), model=model
    )


def _lists(label: str, lists: "ExternalLists") -> Contestant:
    if isinstance(lists, str | os.PathLike):
        try:
            content = Path(lists).read_bytes()
        except OSError as fault:
            raise DataError(f"Cannot read the lists {ascii_line(lists, 200)}: {fault.strerror or fault}.") from None
    else:
        content = json.dumps(by_user(lists)).encode()
    return Contestant(label=label, lists=lists, digest=hashlib.sha256(content).hexdigest())
