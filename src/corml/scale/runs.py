"""Files in runs: small ones are read together, or each would cost a piece of its own, flushed to the disk."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from corml.datasets import Batch

__all__ = ["COUNTS", "VALUES", "joined", "runs"]

VALUES, COUNTS = ("rating", "time", "quantity"), ("read", "bad", "without_id")


def runs(rows: Sequence[int], most: int) -> list[range]:
    """Consecutive files of about so many rows: as many together as have no more than `most`, and at least one."""
    starts, held = [0], 0
    for file, count in enumerate(rows):
        if held and held + count > most:
            starts.append(file)
            held = 0
        held += count
    return [range(start, end) for start, end in zip(starts, [*starts[1:], len(rows)], strict=True)]


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
    from corml.lazy_polars import polars as pl

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
