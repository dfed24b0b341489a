"""Users who are alike: by the model's own view of them, exactly, without a users × users matrix.

    similarity(u, v) = ⟨u, v⟩ / (‖u‖ ‖v‖)        ⟨u, v⟩ = x_u M x_vᵀ

x are histories (with their weights), and M says how much a pair of items counts: the identity where only shared items
do, the metric of the model where it has one. Where users have vectors it is the cosine of these. ⟨u, v⟩ is a sum over
the items of v, so what links two users can be read off: the contributions of these items add up to the similarity.

The product of x_u M with all histories takes one pass over them. The lengths ‖v‖ are made once for a fitted model.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime import html, memory
from corml._runtime.frames import Table
from corml.data.ids import Ids
from corml.data.requested_ids import required
from corml.errors import UsageError, as_utf8, printable
from corml.linalg.sparse import rows_of
from corml.recommend import query
from corml.recommend.options import complete
from corml.recommend.score import band_of

if TYPE_CHECKING:
    import polars

    from corml.models.recommender import Recommender

LINKS = 3  # items that are named for two users
A_PLACE, A_LIST = 100, 1200  # bytes: of a user in a list with the items that link them; and of a list
AT_ONCE = 16  # users whose similarities to all others are made at a time

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SimilarUsers(Table):
    """The users nearest to some: `users` is an n × k array of ids, best first, `None` where there are fewer.

    `similarities` are at most 1 and above 0: who has nothing in common is not listed. `links` names, for each of them,
    up to three items of that user that add most to the similarity: shared items, or items the model associates.
    """

    names: tuple[str, ...]
    users: NDArray[np.object_]
    similarities: Floats
    links: tuple[tuple[tuple[str, ...], ...], ...]
    titles: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"SimilarUsers({len(self):,} lists of {self.users.shape[1]})"

    def rows(self) -> list[dict[str, Any]]:
        """One record per listed user: the user, rank from 1, similar user, similarity, items that link them."""
        return [
            {
                "user": name,
                "rank": at + 1,
                "similar": user,
                "similarity": float(self.similarities[row, at]),
                "links": links,
            }
            for row, name in enumerate(self.names)
            for at, (user, links) in enumerate(zip(self.users[row], self.links[row], strict=False))
            if user is not None
        ]

    @as_utf8()
    def to_frame(self) -> "polars.DataFrame":
        """A polars frame with one row per listed user; `links` is a list of item ids."""
        from corml._runtime.lazy_polars import polars

        schema = {"user": polars.String, "rank": polars.Int32, "similar": polars.String, "similarity": polars.Float64}
        rows = [{**row, "links": list(row["links"])} for row in self.rows()]
        return polars.DataFrame(rows, schema={**schema, "links": polars.List(polars.String)})

    def __str__(self) -> str:
        lines: list[str] = []
        for one in self.rows():
            because = ", ".join(self.titles.get(item, item) for item in one["links"])
            lines += [one["user"]] if one["rank"] == 1 else []
            lines.append(
                f"{one['rank']:>4}  {one['similarity']:9.4f}  {one['similar']}  ({because})".removesuffix("  ()")
            )
        return "\n".join(map(printable, lines))

    def _repr_html_(self) -> str:
        named = ["user", "rank", "similar", "similarity"]
        rows = [[one[name] for name in named] + [", ".join(one["links"])] for one in self.rows()]
        return html.table([*named, "links"], rows)


def similar_users(
    model: "Recommender", users: Any, history: Any, k: int, *, once: Callable[[Callable[[], "Alike"]], "Alike"]
) -> SimilarUsers:
    """The k users most like known users, or like anyone with these histories; `once` keeps what it makes."""
    state = model.fitted_
    now = state.histories
    complete({"k": k})
    if not len(now.users):
        raise UsageError("This model file was saved without its users: there is nobody to compare with.")
    named, own = (None, None) if users is None else required(now.users, users, "users")
    whom = query.resolve(model, named, history, unknown="error")
    lists, width = len(whom.names), min(int(k), len(now.users))
    if lists * width > query.FEW:
        memory.require(
            (A_PLACE * width + A_LIST) * lists,
            what=f"{lists:,} lists of {width:,} similar users at once",
            instead="ask for some users at a time, or for a smaller k.",
        )

    def prepare() -> Alike:
        matrix, learned, _ = query.scored_by(model, np.arange(len(now.users)))
        rows = model._user_rows(matrix, learned)
        return Alike.of(now.users, state.items, state.titles, rows, model._user_metric())

    own = np.full(lists, -1) if own is None else own
    return once(prepare).nearest(whom.names, model._user_rows(whom.matrix, whom.users), own, int(k))


@dataclass(frozen=True, eq=False)
class Alike:
    """All users of a model, prepared to be compared: their histories and M, or their vectors; and their lengths."""

    users: Ids
    items: Ids
    titles: Mapping[str, str]
    rows: csr_array | NDArray[Any]
    metric: csr_array | None
    lengths: Floats

    @classmethod
    def of(cls, users: Ids, items: Ids, titles: Mapping[str, str], rows: Any, metric: csr_array | None) -> Self:
        """Compare rows: of a sparse matrix, histories; of a dense one, vectors."""
        if metric is not None:
            squares = _squares(rows, metric)
        else:
            squares = (rows.multiply(rows) if isinstance(rows, csr_array) else np.square(rows)).sum(axis=1)
        return cls(users, items, titles, rows, metric, np.sqrt(np.asarray(squares, dtype=np.float64)))

    def nearest(self, names: tuple[str, ...], rows: Any, numbers: NDArray[np.int64], k: int) -> SimilarUsers:
        """The k users most like each row; `numbers` are those of the rows themselves, who are not listed, or −1."""
        width = min(k, len(self.users))
        users, similarities = np.full((len(names), width), None, dtype=object), np.full((len(names), width), np.nan)
        links: list[tuple[tuple[str, ...], ...]] = []
        for start in range(0, len(names), AT_ONCE):
            scores, pulled = self._similarities(rows[start : start + AT_ONCE])
            own = numbers[start : start + AT_ONCE]
            scores[np.flatnonzero(own >= 0), own[own >= 0]] = 0
            for row, values in enumerate(scores):
                best = _best(values, width)
                users[start + row, : len(best)] = self.users.labels[best]
                similarities[start + row, : len(best)] = values[best]
                links.append(tuple(self._links(int(other), pulled[row]) for other in best))
        return SimilarUsers(names, users, similarities, tuple(links), self.titles)

    def _similarities(self, rows: Any) -> tuple[Floats, Floats]:
        """Of some users to all; and x M of each, divided by the length: what an item of another user adds."""
        product = rows if self.metric is None else rows.astype(np.float64) @ self.metric
        pulled = np.array(product.toarray() if isinstance(product, csr_array) else product, dtype=np.float64)
        own = np.asarray((rows.multiply(pulled) if isinstance(rows, csr_array) else rows * pulled).sum(axis=1))
        pulled /= np.sqrt(np.where(own > 0, own, np.inf))[:, None]
        products = np.asarray(self.rows @ pulled.T, dtype=np.float64)
        cosines = products / np.where(self.lengths > 0, self.lengths, np.inf)[:, None]
        return np.minimum(cosines, 1).T, pulled  # lengths are of single precision

    def _links(self, other: int, pulled: Floats) -> tuple[str, ...]:
        """Items of the other user that add most to the similarity; vectors do not say."""
        if not isinstance(self.rows, csr_array):
            return ()
        start, end = self.rows.indptr[other], self.rows.indptr[other + 1]
        theirs = self.rows.indices[start:end]
        added = pulled[theirs] * self.rows.data[start:end]
        order = np.argsort(-added, kind="stable")[:LINKS]
        return tuple(self.items.labels[theirs[order[added[order] > 0]]])


def _best(values: Floats, k: int) -> NDArray[np.int64]:
    """The k largest above 0, equal ones in their order."""
    there = np.flatnonzero(values > 0)
    if len(there) > k:
        bound = np.partition(values[there], len(there) - k)[len(there) - k]
        there = there[values[there] >= bound]
    return there[np.argsort(-values[there], kind="stable")][:k]


def _squares(histories: csr_array, metric: csr_array) -> Floats:
    """The products x M xᵀ of every history, a band of them at a time."""
    from corml.linalg.products import add_sparse_product  # compiled: only when it is needed

    single = csr_array((metric.data.astype(np.float32), metric.indices, metric.indptr), shape=metric.shape)
    height, width = band_of(*histories.shape)
    squares = np.zeros(histories.shape[0])
    for start in range(0, histories.shape[0], height):
        band = histories[start : start + height]
        product = np.zeros((band.shape[0], width), dtype=np.float32)
        add_sparse_product(band, single, product)
        row = rows_of(band)
        values = product[row, band.indices].astype(np.float64) * band.data
        squares[start : start + height] = np.bincount(row, weights=values, minlength=band.shape[0])
    return squares
