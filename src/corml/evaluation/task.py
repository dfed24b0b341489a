"""An evaluation task: which users of a split, and for each a history, a mask and targets.

    history     what the model scores: the history of the part (train, unless the split says otherwise), with weights,
                and with negative entries for negative feedback
    mask        known items, which are not recommended: for "test" those of train and valid
    targets     the held-out pairs of the part; where the split judges some event types, those with such an event

Users with targets are evaluated. Excluded, and counted in `notes`, are: targets outside the catalogue; targets in the
mask; users with nothing left to recommend; users without a remaining target; and users without an item the model knows.
Items without a training pair stay: a model is free to rank them, at its own risk.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.values import counted_note
from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.data.strength import only_positive, with_values
from corml.errors import DataError
from corml.linalg.sparse import filled
from corml.splits import Split

if TYPE_CHECKING:
    from corml.linalg.closeness import Closeness
    from corml.models.recommender import Recommender


@dataclass(frozen=True, eq=False)
class Training:
    """What metrics know of the training data; the matrix is a function where it is needed rarely."""

    matrix: csr_array | Callable[[], csr_array]
    degrees: NDArray[np.int64]
    n_users: int
    shared: dict[str, "Closeness"] = field(default_factory=dict)  # what metrics compute once: see `Lists`

    @classmethod
    def of(cls, train: Interactions, items: Ids) -> Self:
        """The training interactions of a split on a catalogue."""
        pairs = on_items(train, items)
        return cls(pairs.matrix, pairs.item_degrees, int((train.user_degrees > 0).sum()))


@dataclass(frozen=True, eq=False)
class Task:
    """The evaluated users of a split on a catalogue, with history, mask and targets; `notes` counts exclusions."""

    users: NDArray[np.object_]
    history: csr_array
    mask: csr_array
    targets: csr_array
    notes: Mapping[str, int]

    @classmethod
    def of(cls, split: Split, part: str, items: Ids) -> Self:
        """A part of a split on a catalogue; users and items are matched by id."""
        sets = split.part(part)
        history, mask, targets = (on_items(data, items) for data in sets)
        held_out = sets[2]
        judged = split.judged(targets)
        possible = judged.where(~filled(mask.matrix, judged.user, judged.item))
        reasons = {
            "users without targets": held_out.user_degrees == 0,
            "users without a target of these event types": split.judged(held_out).user_degrees == 0,
            "users with nothing left to recommend": mask.user_degrees == len(items),
            "users whose targets are all left out": possible.user_degrees == 0,
            "users without a known history": history.user_degrees == 0,
        }
        notes = {
            "targets left out by the split": sum(split.dropped.get(part, {}).values()),
            "targets not in the catalogue": len(held_out) - len(targets),
            "held-out pairs of other event types, not counted as targets": len(targets) - len(judged),
            "targets already seen": len(judged) - len(possible),
        }
        evaluated = np.ones(len(held_out.users), dtype=bool)
        for reason, excluded in reasons.items():  # users are counted by their first reason
            notes[reason] = int((evaluated & excluded).sum())
            evaluated &= ~excluded
        rows = np.flatnonzero(evaluated)
        scored, seen, wanted = (one[rows] for one in (history.histories, mask.matrix, possible.matrix))
        for matrix in (scored, seen, wanted):
            matrix.sort_indices()
        return cls(held_out.users.labels[rows], scored, seen, wanted, notes)

    def __len__(self) -> int:
        return len(self.users)

    def __getitem__(self, rows: slice) -> Self:
        """Some of the users."""
        matrices = {name: getattr(self, name)[rows] for name in ("history", "mask", "targets")}
        return replace(self, users=self.users[rows], **matrices)

    def checked(self, part: str) -> Self:
        """The task with the reasons that occur; a task without a user is refused."""
        check_some(len(self), part, self.notes)
        return replace(self, notes={what: count for what, count in self.notes.items() if count})


def check_some(users: int, part: str, notes: Mapping[str, int]) -> None:
    """Refuse a part without a user to evaluate."""
    if not users:
        listed = ", ".join(counted_note(count, what) for what, count in notes.items() if count)
        raise DataError(
            f"No user can be evaluated on the {part} part: {listed or 'it has no users'}. "
            f"Check that the {part} part is not empty and that model and split come from the same data."
        )


def scored(history: csr_array, model: "Recommender") -> csr_array:
    """Histories as a model scores them: without weights and negative entries if it only counts."""
    if model.LEARNS_WEIGHTS:
        return history
    history = only_positive(history)
    return with_values(history, np.ones(history.nnz, dtype=np.float32))


def on_items(data: Interactions, items: Ids) -> Interactions:
    """The same pairs on a catalogue."""
    return data if data.items == items else data.on(data.users, items)


def early_stopping(model: "Recommender", split: Split) -> dict[str, Interactions]:
    """What to give to `fit` besides the train part: the valid part, unless the model can score none of its users."""
    from corml.models.neural.training.gradient_model import GradientModel  # with kernels that evaluation does without

    history = split.valid_history if isinstance(model, GradientModel) and model._folds_in else None
    scored_on = split.train if history is None else history
    if not (scored_on.user_degrees[split.valid.user] > 0).any():
        return {}
    return {"valid": split.valid} | ({} if history is None else {"valid_history": history})
