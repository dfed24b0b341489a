"""Make one part: the lists of some users as a Parquet file."""

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from corml.outofcore.lists.people import Whose

if TYPE_CHECKING:
    from corml.models.recommender import Recommender

__all__ = ["Maker"]


@dataclass(frozen=True, eq=False)
class Maker:
    """Makes parts: some users are ranked at a time."""

    model: "Recommender"
    people: Whose
    k: int
    options: Mapping[str, Any]
    piece: int

    def part(self, first: int, last: int, ranked: Callable[[int], None]) -> tuple[bytes, dict[str, int]]:
        """A Parquet file with the lists of users first to last, and what to count of it."""
        from corml._runtime.lazy_polars import polars

        frames, with_reason = [], 0
        for at in range(first, last, self.piece):
            some = self.people.asked(at, min(at + self.piece, last))
            lists = self.model.recommend(**some, k=self.k, **{"unknown": "fallback", **self.options})
            frames.append(lists.to_frame())
            with_reason += sum(reason is not None for reason in lists.reasons)
            ranked(len(lists))
        frame, buffer = polars.concat(frames), io.BytesIO()
        frame.write_parquet(buffer)
        return buffer.getvalue(), {"users": last - first, "rows": len(frame), "with_reason": with_reason}
