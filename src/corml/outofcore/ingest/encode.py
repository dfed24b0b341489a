"""From files to merged pairs, in three stages of small tasks; each task leaves one file, and is done if that is there.

split      a batch of rows: ids numbered within the batch, rows ordered by the bucket of their user
number     items numbered over all batches, in order of first appearance: the one stage that needs their order
merge      a bucket: users numbered, rows merged into pairs by the rules of `load`
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml._runtime.progress import Progress
from corml.data import Batch, Pairs, Position, Stream
from corml.data.labels import Labels, of_series
from corml.data.labels.numbering import Numbering, buckets_of, hashes
from corml.data.store import digest
from corml.errors import DataError, ascii_line
from corml.outofcore.ingest.bucket import Gathered, by_pair
from corml.outofcore.ingest.pieces import Piece, Work, put_json, put_piece
from corml.outofcore.ingest.plan import Plan, cut_for, runs

__all__ = ["as_csr", "merge_buckets", "number_items", "split_files"]

VALUES, COUNTS = ("rating", "time", "quantity"), ("read", "bad", "without_id")
TOGETHER = 8  # of a batch: an eighth is what files that are read together may have in rows, as far as sizes tell


# --- split -----------------------------------------------------------------------------------------------------------


def split_files(stream: Stream, plan: Plan, work: Work, progress: Progress) -> None:
    """Read every file to its end: a large one from where it was left, small ones together."""
    total = sum(size for _, size, _ in plan.files)
    rows = cut_for(plan.memory).rows
    for run, files in enumerate(runs(stream.about_rows, rows // TOGETHER)):
        if work.source(run).exists():
            continue
        piece, position, counts = _resumed(work, run) if len(files) == 1 else (0, Position(), dict.fromkeys(COUNTS, 0))
        known: list[dict[str, Any]] = []
        for batch in joined(_read(stream, plan, files, position, counts, known), rows if len(files) > 1 else 1):
            facts = {name: getattr(batch, name) for name in COUNTS}
            put_piece(
                work.split(run, piece), _divided(batch, plan.buckets), **facts, at=batch.end.at, line=batch.end.line
            )
            piece += 1
            at = min(files.start + len(known), files[-1])  # the file that is being read
            progress("read", min(stream.bytes_before(at, batch.end), total), total)
        put_json(work.source(run), {"pieces": piece, "files": known})
    progress("read", total, total)


def _read(
    stream: Stream, plan: Plan, files: range, start: Position, counts: dict[str, int], known: list[dict[str, Any]]
) -> Iterator[Batch]:
    """The rows of a run of files, the first from a position before which so much was counted; `known` grows by each."""
    for file in files:
        _check_unchanged(plan, file)
        for batch in stream.batches(file, start):
            counts = {name: counts[name] + getattr(batch, name) for name in COUNTS}
            yield batch
        hashed = digest(Path(plan.files[file][0]))
        _check_unchanged(plan, file)
        known.append({"sha256": hashed, **counts})
        start, counts = Position(), dict.fromkeys(COUNTS, 0)


def joined(batches: Iterable[Batch], rows: int) -> Iterator[Batch]:
    """Batches put together until they have so many rows."""
    held: list[Batch] = []
    count = 0
    for batch in batches:
        held.append(batch)
        count += len(batch.user)
        if count >= rows:
            yield _one(held)
            held, count = [], 0
    if held:
        yield _one(held)


def _one(batches: list[Batch]) -> Batch:
    """One batch of several, with the end of the last."""
    from corml._runtime.lazy_polars import polars as pl

    if len(batches) == 1:
        return batches[0]
    whole: dict[str, Any] = {
        name: pl.concat([getattr(one, name) for one in batches], rechunk=True) for name in ("user", "item")
    }
    for name in VALUES:
        parts = [getattr(one, name) for one in batches]
        whole[name] = None if parts[0] is None else np.concatenate(parts)
    whole |= {name: sum(getattr(one, name) for one in batches) for name in COUNTS}
    return Batch(**whole, end=batches[-1].end)


def _check_unchanged(plan: Plan, file: int) -> None:
    if not plan.unchanged(file):
        name = ascii_line(plan.files[file][0], 200)
        raise DataError(f"{name} changed while the store was being made: delete the store and make it again.")


def _resumed(work: Work, run: int) -> tuple[int, Position, dict[str, int]]:
    """How many batches of a file are there, where the next begins, and what was counted."""
    piece, position, counts = 0, Position(), dict.fromkeys(COUNTS, 0)
    while work.split(run, piece).exists():
        with Piece(work.split(run, piece)) as known:
            facts = known.facts
        position = Position(facts["at"], facts["line"])
        counts = {key: counts[key] + facts[key] for key in counts}
        piece += 1
    return piece, position, counts


def _divided(batch: Batch, buckets: int) -> dict[str, NDArray[Any]]:
    """The rows of a batch by bucket, in their order; users numbered within their bucket, items within the batch."""
    users, items = Numbering(), Numbering()
    user, item = (ids.add(of_series(column)) for ids, column in ((users, batch.user), (items, batch.item)))
    bucket = buckets_of(hashes(users.labels), buckets).astype(np.uint16)
    by_bucket = np.argsort(bucket, kind="stable")
    starts = _starts(bucket, buckets)
    place = np.empty(len(users), dtype=np.int32)
    place[by_bucket] = np.arange(len(users)) - starts[bucket[by_bucket]]
    of_row = bucket[user]
    order = np.argsort(of_row, kind="stable")
    names = users.labels.take(by_bucket)
    arrays: dict[str, NDArray[Any]] = {
        **{"users": names.data, "user_starts": names.starts, "user_buckets": starts, "user": place[user[order]]},
        **{"items": items.labels.data, "item_starts": items.labels.starts, "item": item[order]},
        "row_buckets": _starts(of_row, buckets),
    }
    values = {name: getattr(batch, name) for name in VALUES}
    return arrays | {name: column[order] for name, column in values.items() if column is not None}


def _starts(codes: NDArray[Any], count: int) -> NDArray[np.int64]:
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


def merge_buckets(stream: Stream, plan: Plan, work: Work, progress: Progress) -> None:
    """Make pairs of the rows of each bucket."""
    with Piece(work.catalogue) as catalogue:
        items = len(catalogue["item_starts"]) - 1
    pieces = list(work.pieces())
    for bucket in range(plan.buckets):
        if not work.merged(bucket).exists():
            put_piece(work.merged(bucket), **_merged(stream, plan, work, pieces, bucket, items))
        progress("merge", bucket + 1, plan.buckets)


def _merged(
    stream: Stream, plan: Plan, work: Work, pieces: list[tuple[int, int]], bucket: int, items: int
) -> dict[str, Any]:
    gathered = _gathered(plan, work, pieces, bucket)
    users, columns = gathered.users, gathered.columns
    order = by_pair(columns["user"], columns["item"], len(users))  # rows of a pair stay as they were: the last is last
    values = {name: columns[name][order] if name in columns else None for name in VALUES}
    codes = columns["user"][order].astype(np.int64), columns["item"][order].astype(np.int64)
    pairs = stream.merge((len(users), items), codes, **values)
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


def as_csr(pairs: Pairs, users: int, items: int) -> dict[str, NDArray[Any]]:
    """Pairs as rows of users with sorted items."""
    order = np.argsort(pairs.user.astype(np.int64) * items + pairs.item, kind="stable")
    arrays: dict[str, NDArray[Any]] = {
        "indptr": _starts(pairs.user, users),
        "indices": pairs.item[order].astype(np.int32),
    }
    if pairs.time is not None:
        arrays["times"] = pairs.time[order]
    if pairs.weights is not None:
        arrays["weights"] = pairs.weights[order]
    return arrays
