"""The tables of an export: items, then pairs or lists, and at the end the facts about them, which are known by then."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from corml._runtime.progress import Progress
from corml.linalg.sparse import rows_of
from corml.models.recommender import Recommender
from corml.service.export._overlap import Overlap
from corml.service.export._tables import Part, Table
from corml.service.export._weights import bands

PIECE = 5_000  # users whose lists are made at a time

Facts = dict[str, Any]


def items(model: Recommender) -> Table:
    """Every item with its number, id, title and popularity."""
    count, labels, titles = len(model.items_), model.items_.labels.tolist(), model.titles_
    values: Part = {
        "number": np.arange(count, dtype=np.int32),
        "id": labels,
        "title": [titles.get(label) for label in labels],
        "users": model.counts_.astype(np.int64),
        "popularity": model._popularity,
    }
    columns = {"number": "integer", "id": "text", "title": "text", "users": "integer", "popularity": "real"}
    return Table("items", columns, [values], key=("number",), indices=(("id",), ("popularity",)))


def pairs(model: Recommender, keep: int | None, k: int, facts: Facts, progress: Progress) -> Table:
    """What an item of a history (source) adds to the score of another (target); numbers are those of the items."""
    columns = {"source": "integer", "target": "integer", "weight": "real"}
    return Table("pairs", columns, _pair_parts(model, keep, k, facts, progress), key=("source", "target"))


def _pair_parts(model: Recommender, keep: int | None, k: int, facts: Facts, progress: Progress) -> Iterator[Part]:
    overlap = Overlap.of(model, k)
    kept, not_zero, size, total = 0, 0, 0.0, 0.0
    for band in bands(model, keep):
        rows = band.kept
        if overlap is not None:
            overlap.add(band.first, rows)
        yield {
            "source": (band.first + rows_of(rows)).astype(np.int32),
            "target": rows.indices.astype(np.int32),
            "weight": rows.data,
        }
        kept, not_zero = kept + rows.nnz, not_zero + band.not_zero
        size, total = size + float(np.abs(rows.data).sum(dtype=np.float64)), total + band.total
        progress("pairs", band.first + rows.shape[0], len(model.items_))
    facts |= {"pairs": kept, "pairs_dropped": not_zero - kept, "weight_kept": round(size / total, 4) if total else 1.0}
    facts |= {} if overlap is None else overlap.facts()


def lists(model: Recommender, k: int, known: Mapping[str, Any], facts: Facts, progress: Progress) -> Table:
    """The k best items of every user, as `recommend` gives them with these options about known items."""
    columns = {"user_id": "text", "rank": "integer", "item": "text", "score": "real", "source": "text"}
    return Table("lists", columns, _list_parts(model, k, known, facts, progress), indices=(("user_id", "rank"),))


def _list_parts(
    model: Recommender, k: int, known: Mapping[str, Any], facts: Facts, progress: Progress
) -> Iterator[Part]:
    users, rows, short = model.users_.labels, 0, 0
    for at in range(0, len(users), PIECE):
        some = model.recommend(users[at : at + PIECE].tolist(), k=k, **known)
        there = some.items != np.array(None)
        row, place = np.nonzero(there)
        yield {
            "user_id": np.array(some.users, dtype=object)[row].tolist(),
            "rank": (place + 1).astype(np.int32),
            "item": some.items[there].tolist(),
            "score": some.scores[there],
            "source": np.array(some.sources, dtype=object)[row].tolist(),
        }
        rows, short = rows + len(row), short + int((there.sum(axis=1) < k).sum())
        progress("lists", min(at + PIECE, len(users)), len(users))
    facts |= {"lists": len(users), "rows": rows, "lists_shorter_than_k": short}


def metadata(facts: Facts) -> Table:
    """What the export is of and what is not in it, as names and texts; values that are no text are JSON."""
    return Table("metadata", {"name": "text", "value": "text"}, _facts(facts), key=("name",))


def _facts(facts: Facts) -> Iterator[Part]:
    names = sorted(facts)
    yield {"name": names, "value": [_text(facts[name]) for name in names]}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str, sort_keys=True, ensure_ascii=False)
