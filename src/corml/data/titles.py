"""What to call items, kept as bytes: a mapping from ids to titles, which become objects when they are asked for."""

from collections.abc import ItemsView, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.data.ids import Ids
from corml.data.labels import Labels


class Titles(Mapping[str, str]):
    """The titles of items, one text for each; an item whose text is empty has none."""

    def __init__(self, catalogue: Ids, texts: Labels) -> None:
        assert len(catalogue) == len(texts)
        self.catalogue, self.texts = catalogue, texts

    def __getitem__(self, label: str) -> str:
        row = self.catalogue.numbers([label])[0] if isinstance(label, str) else -1
        text = self.texts[row] if row >= 0 else ""
        if not text:
            raise KeyError(label)
        return text

    def __iter__(self) -> Iterator[str]:
        return (label for label, _ in self.items())

    def items(self) -> ItemsView[str, str]:
        """Ids and titles; to go through all of them no id is looked for."""
        return _Pairs(self)

    def __len__(self) -> int:
        return self._count

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Titles) and self.catalogue == other.catalogue:
            return self.texts == other.texts
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Titles({len(self):,} of {len(self.catalogue):,} items)"

    def __reduce__(self) -> tuple[Any, ...]:
        return Titles, (self.catalogue, self.texts)

    @cached_property
    def _count(self) -> int:
        return int(np.count_nonzero(self.texts.lengths))


class _Pairs(ItemsView[str, str]):
    _mapping: Titles

    def __iter__(self) -> Iterator[tuple[str, str]]:
        pairs = zip(self._mapping.catalogue, self._mapping.texts, strict=True)
        return ((label, text) for label, text in pairs if text)


def texts_of(titles: Mapping[str, str], items: Ids) -> Labels:
    """The title of each item; "" where there is none."""
    if not isinstance(titles, Titles):
        return Labels.of(titles.get(label, "") for label in items)
    if titles.catalogue is items:
        return titles.texts
    return titles.texts.take(titles.catalogue.find(items))


def merged(items: Ids, old: Mapping[str, str], new: Mapping[str, str]) -> Mapping[str, str]:
    """The titles of items; where both have one, the new one."""
    if not (old and new):
        return Titles(items, texts_of(old or new, items)) if old or new else {}
    both = zip(texts_of(old, items), texts_of(new, items), strict=True)
    return Titles(items, Labels.of(later or earlier for earlier, later in both))


def texts_at(titles: Mapping[str, str], items: Ids, rows: NDArray[np.int64]) -> list[str]:
    """The titles of some items by their rows, all at once; "" where there is none."""
    if isinstance(titles, Titles) and titles.catalogue is items:
        return list(titles.texts[rows])
    return [titles.get(label, "") for label in items.labels[rows]]
