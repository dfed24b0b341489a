"""The tables of an export: items, then pairs or lists, and at the end the facts about them, which are known by then."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np
from scipy.sparse import csc_array, csr_array

from corml._runtime.progress import Progress
from corml.linalg.products import add_sparse_product
from corml.linalg.sparse import rows_of
from corml.linalg.topk import TopK
from corml.models.recommender import Recommender
from corml.recommend.rank import top_k
from corml.service.export._tables import Part, Table
from corml.service.export._weights import bands

USERS = 500  # whose lists are compared
SCORES = 1 << 25  # of all these users, held at once
SEED = 2026
PIECE = 5_000  # users whose lists are made at a time

Facts = dict[str, object]


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


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str, sort_keys=True, ensure_ascii=False)


# --- how much of the lists is kept ------------------------------------------------------------------------------------


class Overlap:
    """Lists of a sample of users: the model's own, and those of the kept weights, which are summed as they pass."""

    def __init__(self, model: Recommender, histories: csr_array, k: int) -> None:
        self.k = min(k, len(model.items_))
        self.histories = histories
        self.columns = csc_array(histories)
        self.exact, _ = top_k(model, histories, self.k, seen=histories)
        self.scores = np.zeros(histories.shape, dtype=np.float32)

    @classmethod
    def of(cls, model: Recommender, k: int) -> Self | None:
        """Of users drawn at random who have a history; None if the model file has none."""
        if not len(model.fitted_.users):  # how many there were is then only a number of the file
            return None
        train = model.train_
        known = np.flatnonzero(np.diff(train.indptr))
        size = min(USERS, len(known), max(1, SCORES // train.shape[1]))
        if not size:
            return None
        rows = np.sort(np.random.default_rng(SEED).choice(known, size=size, replace=False))
        histories = csr_array(train[rows])
        histories.sort_indices()
        return cls(model, histories, k)

    def add(self, first: int, kept: csr_array) -> None:
        """Add the weights of some items, those from `first` on, to the scores of histories that have them."""
        part = csr_array(self.columns[:, first : first + kept.shape[0]])
        add_sparse_product(part, kept, self.scores)

    def facts(self) -> Facts:
        """The mean share of a list that is the same, and the share of lists that are, in whatever order."""
        best = TopK(len(self.exact), self.k, self.histories)
        best.add(self.scores, 0)
        shares = [
            len(np.intersect1d(mine[mine >= 0], theirs[theirs >= 0])) / max(1, int((theirs >= 0).sum()))
            for mine, theirs in zip(best.columns, self.exact, strict=True)
        ]
        return {
            "overlap": round(float(np.mean(shares)), 4),
            "overlap_same_lists": round(float(np.mean(np.array(shares) == 1)), 4),
            "overlap_k": self.k,
            "overlap_users": len(shares),
        }
