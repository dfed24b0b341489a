"""How many users a measurement is about, told before or beside its figures."""

from collections.abc import Sequence

from corml.cli._console import tell
from corml.errors import quoted, warn
from corml.evaluation.task import Task
from corml.splits import Split

FEW = 100  # users, below which a mean is mostly chance


def judged_in(split: Split, part: str) -> dict[str, int]:
    """How many targets a part has, and how many users have one."""
    task = Task.of(split, part, split.train.items)
    return {"targets": int(task.targets.nnz), "users": len(task)}


def judged_by(users: int, part: str, targets: Sequence[str]) -> str:
    """How many users are judged, and by which events, in words."""
    only = f", by events of type {quoted(targets)} alone" if targets else ""
    return f"{users:,} user{'' if users == 1 else 's'} of the {part} part {'is' if users == 1 else 'are'} judged{only}"


def tell_judged(users: int, part: str, targets: Sequence[str]) -> None:
    """Warn where there are too few users; where only some events count, say so."""
    about = judged_by(users, part, targets)
    if users < FEW:
        warn(
            f"Only {about}. Means over fewer than {FEW} users are mostly chance: hold out more, or judge more "
            "event types."
        )
    elif targets:
        tell(f"note: {about}")
