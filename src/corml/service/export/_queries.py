"""The ready queries: recommending is a JOIN of a history with the pairs, or a look into the lists.

They give what the model gives: items of the history are left out; equal scores stand in the order of the catalogue;
items without a pair have score 0, above those with a negative one; a history without a known item gets what is popular.
"""

from collections.abc import Mapping

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
