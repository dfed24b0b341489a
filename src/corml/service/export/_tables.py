"""What an export consists of: tables in parts, so that no table is ever whole in memory; and what writes them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corml.models.recommender import Recommender

Values = Sequence[object] | NDArray[np.generic]
Part = Mapping[str, Values]  # values of the columns by name, equally many; numbers as arrays, texts as lists


@dataclass(frozen=True)
class Table:
    """Columns by name, each "integer", "real" or "text", and their rows in parts."""

    name: str
    columns: Mapping[str, str]
    parts: Iterable[Part]
    key: tuple[str, ...] = ()  # what is different in each row; rows come in its order
    indices: tuple[tuple[str, ...], ...] = ()  # what rows are looked up by, where that is not the key


@dataclass(frozen=True)
class Job:
    """What to write. Tables are made as they are asked for, and each must be used up before the next."""

    model: Recommender
    tables: Iterator[Table]
    name: str  # of the model, as shown
    facts: Mapping[str, object]  # about the export, as far as they are known before it is made


@dataclass(frozen=True)
class Target:
    """One way to write an export: a file of this room contributes one.

    `queries` are ready queries by what is exported, "pairs" or "lists", where there are any. `write` makes a file, or a
    folder, at a path where there is nothing. `is_ours` tells whether what stands at a path is such an export, which may
    be replaced. One that writes the `whole` model has neither pairs nor lists.
    """

    ending: str
    queries: Mapping[str, str]
    write: Callable[[Job, Path], None]
    is_ours: Callable[[Path], bool]
    package: str = ""  # that has to be installed for it
    extra: str = ""  # of corml, which brings the package; named as the package if left out
    whole: bool = False


# --- the ready queries: a JOIN of a history with the pairs, or a look into the lists --------------------------------

# They give what the model gives: items of the history are left out; equal scores stand in the order of the catalogue;
# items without a pair have score 0, above those with a negative one; a history without a known item gets popular items.
PAIRS = """\
WITH known AS (
  SELECT DISTINCT items.number
  FROM {given}
  JOIN {items} AS items ON items.id = {id}
),
summed AS (
  SELECT pairs.target AS number, SUM(pairs.weight) AS score
  FROM known
  JOIN {pairs} AS pairs ON pairs.source = known.number
  WHERE pairs.target NOT IN (SELECT number FROM known)
  GROUP BY pairs.target
),
-- Items without a pair come in only where fewer than k have a score above 0.
others AS (
  SELECT number, 0.0 AS score
  FROM {items} AS items
  WHERE EXISTS (SELECT 1 FROM known)
    AND (SELECT COUNT(*) FROM summed WHERE score > 0) < {k}
    AND number NOT IN (SELECT number FROM known)
    AND number NOT IN (SELECT number FROM summed)
  ORDER BY number
  LIMIT {k}
),
popular AS (
  SELECT number, popularity AS score
  FROM {items} AS items
  WHERE NOT EXISTS (SELECT 1 FROM known)
  ORDER BY popularity DESC, number
  LIMIT {k}
),
best AS (
  SELECT number, score, 'personal' AS source FROM summed
  UNION ALL SELECT number, score, 'personal' FROM others
  UNION ALL SELECT number, score, 'fallback' FROM popular
  ORDER BY score DESC, number
  LIMIT {k}
)
SELECT ROW_NUMBER() OVER (ORDER BY best.score DESC, best.number) AS rank,
  items.id AS item, items.title, best.score, items.users, best.source
FROM best
JOIN {items} AS items ON items.number = best.number
ORDER BY rank"""

LISTS = """\
SELECT lists.rank, lists.item, items.title, lists.score, items.users, lists.source
FROM {lists} AS lists
JOIN {items} AS items ON items.id = lists.item
WHERE lists.user_id = {user} AND lists.rank <= {k}
ORDER BY lists.rank"""


def queries(*, given: str, id: str, k: str, user: str, place: str = "{name}") -> Mapping[str, str]:
    """Both queries in the words of a database.

    `given` is the history as a table and `id` its column of ids; `k` and `user` are parameters; `place` says where the
    table of a name is.
    """
    tables = {name: place.format(name=name) for name in ("items", "pairs", "lists")}
    words = {"given": given, "id": id, "k": k, "user": user, **tables}
    return {"pairs": PAIRS.format(**words), "lists": LISTS.format(**words)}
