"""From files to merged pairs, in three stages of small tasks; each task leaves one file, and is done if that is there.

split      a batch of rows: ids numbered within the batch, rows ordered by the bucket of their user
number     items numbered over all batches, in order of first appearance: the one stage that needs their order
merge      a bucket: users numbered, rows merged into pairs by the rules of `load`
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml._runtime.progress import Progress
from corml.data import Pairs, Reader, Rows, together, values_of
from corml.data.labels import Labels
from corml.data.labels.numbering import Numbering, buckets_of, hashes
from corml.data.store import digest
from corml.errors import DataError, ascii_line
from corml.outofcore.ingest.bucket import Gathered, by_pair
from corml.outofcore.ingest.pieces import Array, Piece, Work, put_json, put_piece
from corml.outofcore.ingest.plan import Plan, cut_for, runs

Counted = tuple[Rows, "Counter[str]"]

VALUES, COUNTS = ("rating", "time", "quantity"), ("read", "bad", "without_id")
TOGETHER = 8  # of a batch: an eighth is what files that are read together may have in rows, as far as sizes tell


# --- split -----------------------------------------------------------------------------------------------------------


def split_files(reader: Reader, plan: Plan, work: Work, progress: Progress) -> None:
    """Read every file to its end: a large one from where it was left, small ones together."""
    total = sum(size for _, size, _ in plan.files)
    rows = cut_for(plan.memory).rows
    for run, files in enumerate(runs(reader.about_rows, rows // TOGETHER)):
        if work.source(run).exists():
            continue
        piece, done = _resumed(work, run) if len(files) == 1 else (0, Counter())
        known: list[dict[str, int | str]] = []
        batches = _read(reader, plan, files, done, known)
        for batch, counts in joined(batches, rows if len(files) > 1 else 1):
            put_piece(work.split(run, piece), _divided(batch, plan.buckets), **counts)
            piece += 1
            done += counts
            at = min(files.start + len(known), files[-1])  # the file that is being read
            progress("read", min(reader.bytes_before(at, done["read"]), total), total)
        put_json(work.source(run), {"pieces": piece, "files": known})
    progress("read", total, total)


def _read(
    reader: Reader, plan: Plan, files: range, before: "Counter[str]", known: list[dict[str, int | str]]
) -> Iterator[Counted]:
    """The rows of a run of files, the first without what was read before; `known` grows by each."""
    counts = Counter(before)
    for file in files:
        _check_unchanged(plan, file)
        for rows in reader.slices(file, counts["slices"]):
            counted = Counter(read=rows.read, bad=rows.bad, without_id=rows.without_id, slices=1)
            counts += counted
            yield rows, counted
        hashed = digest(Path(plan.files[file][0]))
        _check_unchanged(plan, file)
        known.append({"sha256": hashed, **{name: counts[name] for name in COUNTS}})
        counts = Counter()


def joined(batches: Iterable[Counted], rows: int) -> Iterator[Counted]:
    """Batches put together until they have so many rows."""
    held: list[Rows] = []
    counts: Counter[str] = Counter()
    for batch, counted in batches:
        held.append(batch)
        counts += counted
        if sum(len(one.user) for one in held) >= rows:
            yield together(held), counts
            held, counts = [], Counter()
    if held:
        yield together(held), counts


def _check_unchanged(plan: Plan, file: int) -> None:
    if not plan.unchanged(file):
        name = ascii_line(plan.files[file][0], 200)
        raise DataError(f"{name} changed while the store was being made: delete the store and make it again.")


def _resumed(work: Work, run: int) -> tuple[int, "Counter[str]"]:
    """How many batches of a file are there, and what was counted in them."""
    piece, counts = 0, Counter[str]()
    while work.split(run, piece).exists():
        with Piece(work.split(run, piece)) as known:
            counts += Counter(known.facts)
        piece += 1
    return piece, counts


def _divided(batch: Rows, buckets: int) -> dict[str, Array]:
    """The rows of a batch by bucket, in their order; users numbered within their bucket, items within the batch."""
    users, user = _numbered(batch.users, batch.user)
    items, item = _numbered(batch.items, batch.item)
    bucket = buckets_of(hashes(users.labels), buckets).astype(np.uint16)
    by_bucket = np.argsort(bucket, kind="stable")
    starts = _starts(bucket, buckets)
    place = np.empty(len(users), dtype=np.int32)
    place[by_bucket] = np.arange(len(users)) - starts[bucket[by_bucket]]
    of_row = bucket[user]
    order = np.argsort(of_row, kind="stable")
    names = users.labels.take(by_bucket)
    arrays: dict[str, Array] = {
        **{"users": names.data, "user_starts": names.starts, "user_buckets": starts, "user": place[user[order]]},
        **{"items": items.labels.data, "item_starts": items.labels.starts, "item": item[order]},
        "row_buckets": _starts(of_row, buckets),
    }
    return arrays | {name: column[order] for name, column in values_of(batch).items() if column is not None}


def _numbered(labels: Labels, codes: NDArray[np.int64]) -> tuple[Numbering, NDArray[np.int32]]:
    """The labels of some rows, without those that only bad rows have, and their numbers in the rows."""
    ids = Numbering()
    used = np.bincount(codes, minlength=len(labels)) > 0
    if used.all():
        return ids, ids.add(labels)[codes]
    return ids, ids.add(labels.take(used))[(np.cumsum(used) - 1)[codes]]


def _starts(codes: Array, count: int) -> NDArray[np.int64]:
    """Where each group begins among codes in order, and the end."""
    starts = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(codes, minlength=count), out=starts[1:])
    return starts


# --- number ----------------------------------------------------------------------------------------------------------


def number_items(work: Work, progress: Progress) -> None:
    """Number items in order of first appearance in the rows, and write those of each row."""
    if work.catalogue.exists():
        return
    known, pieces = Numbering(), list(work.pieces())
    for done, (run, piece) in enumerate(pieces, start=1):
        with Piece(work.split(run, piece)) as rows:
            codes = known.add(Labels(rows["items"], rows["item_starts"]))
            if not work.number(run, piece).exists():
                put_piece(work.number(run, piece), {"item": codes[rows["item"]]})
        progress("number items", done, len(pieces))
    put_piece(work.catalogue, {"items": known.labels.data, "item_starts": known.labels.starts})


# --- merge -----------------------------------------------------------------------------------------------------------


def merge_buckets(reader: Reader, plan: Plan, work: Work, progress: Progress) -> None:
    """Make pairs of the rows of each bucket."""
    with Piece(work.catalogue) as catalogue:
        items = len(catalogue["item_starts"]) - 1
    pieces = list(work.pieces())
    for bucket in range(plan.buckets):
        if not work.merged(bucket).exists():
            put_piece(work.merged(bucket), **_merged(reader, plan, work, pieces, bucket, items))
        progress("merge", bucket + 1, plan.buckets)


def _merged(
    reader: Reader, plan: Plan, work: Work, pieces: list[tuple[int, int]], bucket: int, items: int
) -> dict[str, Any]:
    gathered = _gathered(plan, work, pieces, bucket)
    users, columns = gathered.users, gathered.columns
    order = by_pair(columns["user"], columns["item"], len(users))  # rows of a pair stay as they were: the last is last
    values = {name: columns[name][order] if name in columns else None for name in VALUES}
    codes = columns["user"][order].astype(np.int64), columns["item"][order].astype(np.int64)
    pairs = reader.merge(*codes, items, values)
    arrays = {"users": users.labels.data, "user_starts": users.labels.starts, **as_csr(pairs, len(users), items)}
    if pairs.seen is not None:
        arrays |= {f"seen_{name}": array for name, array in as_csr(pairs.seen, len(users), items).items()}
    counts = {name: int(getattr(pairs, name)) for name in ("duplicates", "conflicts", "filtered")}
    counts["duplicates"] += gathered.left_out
    return {"arrays": arrays, **counts}


def _gathered(plan: Plan, work: Work, pieces: list[tuple[int, int]], bucket: int) -> Gathered:
    """The users of a bucket and its rows, batch after batch."""
    gathered = Gathered(plan.memory, plan.bucket_rows)
    for run, piece in pieces:
        with Piece(work.split(run, piece)) as rows, Piece(work.number(run, piece)) as numbered:
            first, last = rows["user_buckets"][bucket : bucket + 2]
            start, end = rows["row_buckets"][bucket : bucket + 2]
            ends = rows.between("user_starts", first, last + 1)
            labels = Labels(rows.between("users", ends[0], ends[-1]), ends - ends[0])
            columns = {name: rows.between(name, start, end) for name in rows.names & {"user", *VALUES}}
            gathered.add(labels, columns | {"item": numbered.between("item", start, end)})
    return gathered


def as_csr(pairs: Pairs, users: int, items: int) -> dict[str, Array]:
    """Pairs as rows of users with sorted items."""
    order = np.argsort(pairs.user.astype(np.int64) * items + pairs.item, kind="stable")
    arrays: dict[str, Array] = {
        "indptr": _starts(pairs.user, users),
        "indices": pairs.item[order].astype(np.int32),
    }
    if pairs.time is not None:
        arrays["times"] = pairs.time[order]
    if pairs.weights is not None:
        arrays["weights"] = pairs.weights[order]
    return arrays
