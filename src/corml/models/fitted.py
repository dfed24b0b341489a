"""The state of a fitted model: one frozen, typed object without anything of the call that made it.

    Fitted                 ids, training matrix, what else was seen, counts, titles, attributes, source, settings:
      settings: Settings     as they were when `fit` was called
      arrays                 as the model declares them with `learned(…)`
      plan: Plan             choices and predictions from before the fit
      certificates           how near each solver came to the optimum
      training: Training     the curve of a model that learns in epochs

A model scores and saves with these, so that a setting changed afterwards counts for the next fit only.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime import html, memory
from corml.data.attributes import Attributes
from corml.data.histories import Added, Histories
from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.data.kinds import Kinds
from corml.data.strength import Rows, with_values
from corml.data.titles import Titles, texts_of
from corml.errors import UsageError
from corml.linalg.sparse import Values, Vector, rows_of

if TYPE_CHECKING:
    from corml.linalg import admm
    from corml.linalg.closeness import Closeness

Shape = tuple[str | int | None, ...]  # "users", "items", another name for a width that arrays share, None for any
T = TypeVar("T")


class Settings(Mapping[str, Any]):
    """Settings of a model by name, frozen: `settings.rank` is `settings["rank"]`."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        object.__setattr__(self, "_values", dict(values))

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pickle looks for methods before there are values
            raise AttributeError(name)
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(f"there is no setting {name!r}") from None

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("the settings of a fit do not change: set them on the model, and fit again")

    def __reduce__(self) -> tuple[Any, ...]:
        return Settings, (self._values,)

    def __repr__(self) -> str:
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in self.items())})"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a model chooses and predicts before a fit; a field with the name of a setting is its resolved value."""

    predicted_bytes: int = 0  # in addition to what the process has
    long_histories: int = 0  # of which only a part is learned from, see `corml.data.long_histories`
    left_out: int = 0  # interactions of them that are not
    weight_cap: float | None = None  # the largest weight in the fit, where some pairs weigh more: see `strength.Cap`
    capped: int = 0  # pairs that weigh more

    def resolved(self, settings: Mapping[str, Any]) -> Settings:
        """The settings with what was left to the data filled in."""
        chosen = {spec.name: getattr(self, spec.name) for spec in fields(self) if spec.name in settings}
        return Settings({**settings, **chosen})

    def report(self) -> dict[str, Any]:
        """Plain facts for a table; bytes are the peak of the whole process."""
        own = [spec.name for spec in fields(self) if spec.name not in _SHARED]
        facts = {name.replace("_", " "): getattr(self, name) for name in own}
        if self.predicted_bytes:  # else nothing was predicted
            facts = {"predicted bytes": memory.resident() + self.predicted_bytes, **facts}
        return facts | self.report_of_data()

    def report_of_data(self) -> dict[str, Any]:
        """Parts of the data that are not learned from as they are: long histories and outlying weights."""
        long = {"long histories": self.long_histories, "left out of them": self.left_out} if self.left_out else {}
        return long | ({"weight cap": self.weight_cap, "pairs above it": self.capped} if self.capped else {})

    def _repr_html_(self) -> str:
        facts = self.report().items()
        return html.table(["Plan", ""], [[name, _shown(name, value)] for name, value in facts])


_SHARED = ("predicted_bytes", "long_histories", "left_out", "weight_cap", "capped")  # of all plans


def _shown(name: str, value: Any) -> Any:
    """A fact of a plan as a notebook shows it."""
    if name.endswith("bytes"):
        return memory.size(value)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


@dataclass(frozen=True, kw_only=True)
class ExcludedPairs:
    """Co-occurring pairs that were not variables of the problem, and how far they violate its KKT conditions."""

    pairs: int
    violating: int  # estimated from some 250 items
    worst: float  # the largest violation of a single pair, in the solver's scaled variables


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """How near a solver came to the optimum, and of which problem; fields that a solver does not have are None."""

    steps: int
    converged: bool
    residual: float
    primal: float | None = None  # residuals of ADMM, relative
    dual: float | None = None
    rho: float | None = None
    objective: float | None = None
    pairs: int | None = None  # pairs of items the problem was solved on
    complete: bool | None = None  # whether these are all co-occurring pairs, so that it is the whole problem
    linear_norm: float | None = None  # of the linear term in scaled variables: residuals are relative to it
    linear_max: float | None = None  # its largest entry: KKT violations are relative to it
    column_generation: int | None = None  # how often the problem was solved, each time on more pairs
    excluded: ExcludedPairs | None = None
    pruned: int | None = None  # pairs removed to stay within a budget
    unfinished_items: int | None = None  # where each item is a problem of its own
    trace: tuple[tuple[float, ...], ...] = field(default=(), repr=False)  # residuals step by step; not in files

    @classmethod
    def of_admm(cls, solution: "admm.Solution") -> Self:
        """The certificate of a dense ADMM solution."""
        return cls(
            steps=solution.steps,
            converged=solution.converged,
            residual=solution.residual,
            primal=solution.primal,
            dual=solution.dual,
            rho=solution.rho,
            trace=solution.trace,
        )

    def report(self) -> dict[str, Any]:
        """Plain facts for a table."""
        facts = {spec.name.replace("_", " "): getattr(self, spec.name) for spec in fields(self) if spec.name != "trace"}
        if self.excluded is not None:
            outside = self.excluded
            facts["excluded"] = {"pairs": outside.pairs, "violating": outside.violating, "worst": outside.worst}
        return {name: value for name, value in facts.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Epoch:
    """One point of a training curve: the mean loss, seconds so far and, if it was measured, the validation metric.

    A model file does not keep the seconds.
    """

    epoch: int
    loss: float
    seconds: float | None = None
    valid: float | None = None


@dataclass(frozen=True, kw_only=True)
class Training:
    """How a model learned in epochs; PyTorch and the device decide its numbers as the seed does.

    A model file does not keep the seconds, so that equal fits have equal files.
    """

    epochs: int
    seconds: float | None = None
    cpu_seconds: float | None = None
    stopped: str
    curve: tuple[Epoch, ...] = field(repr=False)
    best_epoch: int | None = None
    metric: str | None = None
    torch: str = ""
    device: str = ""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What `_fit` returns: arrays by name, and how they were learned."""

    arrays: Mapping[str, Any]
    plan: Plan | None = None
    certificates: tuple[Certificate, ...] = ()
    training: Training | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted:
    """Everything a fitted model knows."""

    users: Ids
    items: Ids
    train: csr_array
    counts: NDArray[np.int64]  # users of each item
    titles: Mapping[str, str]
    fingerprint: str
    source: Mapping[str, Any]
    settings: Settings
    arrays: Mapping[str, Any] = field(default_factory=dict, repr=False)
    plan: Plan | None = None
    certificates: tuple[Certificate, ...] = ()
    training: Training | None = None
    evaluation: Mapping[str, Any] = field(default_factory=dict)
    times: Vector | None = None  # of the pairs learned from, in the order of train
    weights: Values | None = None  # of the pairs learned from, in the order of train
    kinds: Kinds | None = None  # event types of the pairs learned from, in the order of train
    seen: Rows | None = None  # pairs that are only excluded from lists
    negative: Rows | None = None  # the disliked ones of `seen`: subtracted from histories
    attributes: Attributes | None = None  # of the items, row by row
    others: Interactions | None = None  # users excluded from training, on the same items
    elsewhere: Interactions | None = None  # interactions with items outside the catalogue
    added: Added | None = None  # interactions added after the fit: nothing was learned from them

    @classmethod
    def on(cls, train: Interactions, settings: Mapping[str, Any]) -> Self:
        """The state of a model that is about to learn from these interactions."""
        return cls(
            users=train.users,
            items=train.items,
            train=train.matrix,
            counts=train.item_degrees,
            titles=Titles(train.items, texts_of(train.titles, train.items)) if train.titles else {},
            fingerprint=train.fingerprint,
            source=dict(train.source),
            settings=Settings(settings),
            times=train.times_by_row,
            weights=train.weights_by_row,
            kinds=train.kinds_by_row,
            seen=None if train.seen is None else train.seen.rows,
            negative=None if train.negative is None else train.negative.rows,
            attributes=None if train.attributes is None else train.attributes.on(train.items),
            others=train.others,
            elsewhere=train.elsewhere,
        )

    @property
    def rows(self) -> Rows:
        """The training pairs with their times, event types and weights."""
        return Rows(self.train, self.times, self.kinds, self.weights)

    @property
    def weighted(self) -> csr_array:
        """The training matrix with the weights of its pairs."""
        return with_values(self.train, self.weights)

    @cached_property
    def histories(self) -> Histories:
        """Histories of users, with what was added since the fit."""
        if self.added is not None:
            return self.added.histories(self.items, learned=len(self.users))
        learned = Histories(
            users=self.users, learned=len(self.users), pairs=self.rows, seen=self.seen, negative=self.negative
        )
        return learned.followed_by(self.others)

    @cached_property
    def closeness_by_users(self) -> "Closeness":
        """Cosine of the training users of two items: how close they are, for models without a metric."""
        from corml.linalg.closeness import Closeness

        if not self.train.nnz:
            raise UsageError(
                "A model without a metric makes lists diverse by the users of items, and this model file was saved "
                "without them: save it with its history, or leave diversity out."
            )
        return Closeness.by_users(self.train)

    @property
    def elsewhere_now(self) -> Interactions | None:
        """Interactions with items outside the catalogue, with those added since the fit."""
        since = None if self.added is None else self.added.data.elsewhere
        if since is None:
            return self.elsewhere
        nothing = since.on(Ids([], kind="user"), self.items)
        return replace(nothing, elsewhere=self.elsewhere).with_elsewhere(since).elsewhere

    @property
    def resolved(self) -> Settings:
        """The settings with what was left to the data filled in, as the plan did it."""
        return self.settings if self.plan is None else self.plan.resolved(self.settings)

    def report(self) -> dict[str, Any]:
        """How the fit went, as plain facts for a table or a script."""
        facts: dict[str, Any] = {}
        if self.plan is not None:
            facts["plan"] = self.plan.report()
        if self.certificates:
            facts["certificates"] = [certificate.report() for certificate in self.certificates]
        if self.training is not None:
            facts["training"] = asdict(self.training)
        return facts


def present(state: Fitted) -> Interactions:
    """The histories of a fitted model as interactions: to fit again, or to inspect."""
    if state.added is not None:
        return state.added.data
    if not len(state.users):
        raise UsageError(
            "This model was saved without the histories of its users, so nothing can be added to them: fit again, and "
            "save it with them (without --no-history)."
        )
    about: dict[str, Any] = {"titles": state.titles, "source": state.source, "attributes": state.attributes}
    about |= {"others": state.others, "elsewhere": state.elsewhere}
    return Interactions.of_rows(state.users, state.items, state.rows, state.seen, state.negative, **about)


# --- arrays ----------------------------------------------------------------------------------------------------------


class LearnedArray(Generic[T]):
    """An array of a fitted model, declared with its shape; it is read from the fitted state and cannot be set."""

    def __init__(self, kind: type[T], shape: Shape, *, optional: bool) -> None:
        self.kind, self.shape, self.optional = kind, shape, optional

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name.strip("_")

    @overload
    def __get__(self, model: None, owner: type) -> Self: ...
    @overload
    def __get__(self, model: Any, owner: type) -> T: ...
    def __get__(self, model: Any, owner: type) -> Any:
        if model is None:
            return self
        model._check_fitted()
        return model.fitted_.arrays.get(self.name)

    def __set__(self, model: object, value: object) -> None:
        raise AttributeError(f"{self.name}_ is what a fit learned: it cannot be set")


def learned(kind: type[T], *shape: str | int | None, optional: bool = False) -> LearnedArray[T]:
    """Declare an array that is read from the fitted state and kept in the model file: a type and the shape."""
    return LearnedArray(kind, shape, optional=optional)


def on_items(W: csr_array, old: Ids, new: Ids) -> csr_array:
    """Items × items weights of an earlier fit where the items of new data have their rows; unknown items have none."""
    position = new.find(old)
    rows = position[rows_of(W)]
    columns = position[W.indices]
    there = (rows >= 0) & (columns >= 0)
    moved = csr_array((W.data[there], (rows[there], columns[there])), shape=(len(new), len(new)))
    moved.sort_indices()
    return moved
