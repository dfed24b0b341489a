"""What is compared: models by name with hyperparameters, model objects, and recommendation lists of other programs.

"ease"                    a model with its defaults
"ease:l2=500"             with hyperparameters; several are joined by colons, "item-knn:neighbours=50:shrink=10"
"theirs=run.parquet"      lists of another program, from a file
corml.CoRML(rank=64)      a model; a copy of it is fitted
"""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from corml import models
from corml._runtime.settings import check, declared, values_of
from corml.errors import DataError, UsageError, ascii_line
from corml.evaluation.external_lists import by_user
from corml.models.recommender import Recommender

if TYPE_CHECKING:
    from corml.evaluation.external_lists import ExternalLists

Given: TypeAlias = str | Recommender


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidate:
    """A label for the table and either a model, a copy of which is fitted, or lists."""

    label: str
    model: Recommender | None = None
    lists: "ExternalLists | None" = None
    digest: str = ""  # of the lists

    @property
    def name(self) -> str:
        """The name of the model; lists have none."""
        return "" if self.model is None else self.model.NAME

    @property
    def settings(self) -> dict[str, object]:
        """All hyperparameters of the model, as they would be fitted."""
        return {} if self.model is None else values_of(self.model)

    @property
    def changed(self) -> dict[str, object]:
        """The hyperparameters that differ from the defaults: a search leaves them alone."""
        return {} if self.model is None else changed(self.model)

    @property
    def seeded(self) -> bool:
        """Whether the fit is random, so that several seeds differ."""
        return "seed" in self.settings

    def build(self, values: Mapping[str, object]) -> Recommender:
        """An unfitted model with these hyperparameters over its own."""
        assert self.model is not None
        model = type(self.model)(**{**self.settings, **values})
        check(model)
        return model


def changed(model: Recommender) -> dict[str, object]:
    """The hyperparameters of a model that differ from its defaults."""
    specs = declared(type(model))
    return {name: value for name, value in values_of(model).items() if value != specs[name].default}


def candidates(
    given: Given | Iterable[Given] | Mapping[str, Given], lists: "Mapping[str, ExternalLists] | None" = None
) -> tuple[Candidate, ...]:
    """Everything that is compared, in the order given; every label once."""
    if isinstance(given, Mapping):
        models = [replace(_candidate(one), label=label) for label, one in given.items()]
    else:
        models = [_candidate(one) for one in ([given] if isinstance(given, str | Recommender) else given)]
    compared = (*models, *(_lists(label, one) for label, one in (lists or {}).items()))
    labels = [one.label for one in compared]
    for label in labels:
        if labels.count(label) > 1:
            raise UsageError(f"Two models are called {ascii_line(label)}: give each a label of its own.")
    if not compared:
        raise UsageError("There is nothing to compare: name at least one model, such as corml.")
    return compared


def _candidate(given: object) -> Candidate:
    if isinstance(given, Recommender):
        check(given)
        texts = [given.NAME, *(f"{name}={value}" for name, value in changed(given).items())]
        return Candidate(label=":".join(texts), model=given)
    if not isinstance(given, str):
        raise UsageError(
            f"compare takes names of models, models, or LABEL=FILE for lists; got a {type(given).__name__}."
        )
    head, equals, rest = given.partition("=")
    if equals and ":" not in head:
        if not head.strip() or not rest.strip():
            raise UsageError(f"{ascii_line(given)} is not LABEL=FILE: write, for example, theirs=run.parquet.")
        return _lists(head.strip(), rest.strip())
    name, *texts = given.strip().split(":")
    return Candidate(label=given.strip(), model=models.make(name, dict(_pair(text, given) for text in texts)))


def _pair(text: str, given: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"{ascii_line(given)} is not MODEL:NAME=VALUE: write, for example, ease:l2=500.")
    return name.strip().replace("-", "_"), value.strip()


def _lists(label: str, lists: "ExternalLists") -> Candidate:
    if isinstance(lists, str | os.PathLike):
        try:
            content = Path(lists).read_bytes()
        except OSError as fault:
            raise DataError(f"Cannot read the lists {ascii_line(lists, 200)}: {fault.strerror or fault}.") from None
    else:
        content = json.dumps(by_user(lists)).encode()
    return Candidate(label=label, lists=lists, digest=hashlib.sha256(content).hexdigest())
