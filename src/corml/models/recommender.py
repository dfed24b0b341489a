"""The one small interface of every model: fit, recommend, similar, explain, save."""

import copy
import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, Unpack

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from corml._runtime.console_progress import shown
from corml._runtime.finite import check_finite, check_learned
from corml._runtime.log import timed
from corml._runtime.progress import Asked
from corml._runtime.settings import Search, build, check, values_of
from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.data.requested_ids import required, row_of
from corml.data.strength import of_mean_square_one
from corml.errors import UsageError
from corml.models import new_items, updating
from corml.models.cited import cite
from corml.models.fit_call import FitCall, check_is_data, check_is_new
from corml.models.fitted import Fitted, Outcome, Plan
from corml.models.fitted_model import FittedModel
from corml.models.learned_from import cap_of, counted, learned_from, planned, told
from corml.recommend import neighbours, query
from corml.recommend.explanation import Explanation
from corml.recommend.neighbours import SimilarUsers
from corml.recommend.options import ListOptions, with_options
from corml.recommend.pipeline import recommended
from corml.recommend.result import Recommendations, SimilarItems
from corml.recommend.score import Lists, block_of

if TYPE_CHECKING:
    from corml.evaluation.result import Result
    from corml.linalg.closeness import Closeness
    from corml.recommend.why_not import WhyNot

__all__ = ["FitCall", "Recommender", "check_is_data"]

Labels = Sequence[Hashable]


@dataclass(kw_only=True, eq=False)
class Recommender(FittedModel, ABC):
    """A model of which items users interact with.

    A subclass is a dataclass of settings with two methods: `_fit` learns arrays from the binary users × items matrix,
    and `score_block` scores users. It declares its arrays with `learned(…)`: name, type and shape. Users are the rows
    of their histories, unless `_represent` makes something else of them.

    `fit` sets one attribute, the frozen `fitted_`. Everything else is read from it, so the settings a model was fitted
    with are those it scores and saves with: one that is changed afterwards counts for the next fit.
    """

    NAME: ClassVar[str]
    CITATION: ClassVar[str] = ""
    PLAN: ClassVar[type[Plan]] = Plan
    LEARNS_WEIGHTS: ClassVar[bool] = False  # whether it fits `call.R`, and scores histories with their weights
    _HELD_IN_SEARCH: ClassVar[tuple[str, ...]] = ()  # settings that the first trial of a search may choose for all

    def fit(self, train: Interactions, *, valid: Interactions | None = None, progress: Asked = None) -> Self:
        """Learn from interactions; settings are checked first, the data are left alone.

        `valid` are held-out pairs, such as the .valid of a split: models that learn in epochs stop early by them. The
        others do not use them. `progress=True` shows bars; a function is called with stage, done and total.
        """
        return self._fit_and_keep(train, valid, progress)

    def _fit_and_keep(self, train: Interactions, valid: Interactions | None, progress: Asked, **how: Any) -> Self:
        """Fit and keep the state; an earlier one goes first, so that a failed fit leaves none."""
        check_is_data(train, "train")
        if valid is not None:
            check_is_data(valid, "valid")
        check(self)
        train = train if self.LEARNS_WEIGHTS else counted(train, self.NAME)
        self._forget()
        state = Fitted.on(train, values_of(self))
        cap = cap_of(train)
        whole, train = train, learned_from(train, state.settings.get("longest_history"))
        with shown(progress) as report, timed("fit %s on %s", self.NAME, repr(train)):
            outcome = self._fit(FitCall(train=train, fitted=state, valid=valid, progress=report), **how)
        check_learned(outcome.arrays, self.NAME)
        if train is not whole:
            left_out = whole.user_degrees - train.user_degrees
            outcome = replace(outcome, plan=told(outcome.plan or Plan(), left_out, cap))
        self.fitted_ = replace(state, **vars(outcome))
        return self

    def _forget(self) -> None:
        """Drop an earlier fit, and what was derived from it."""
        vars(self).pop("fitted_", None)
        vars(self).pop("_derived", None)

    def update(self, interactions: Interactions, *, refit: bool = False, progress: Asked = None) -> Self:
        """A model that knows these interactions too; this one stays as it is.

        Histories grow, new users are known, and nothing of it is recommended to them again, at once and without a fit:
        what was learned stays what it was. Items the model does not know are kept for the next fit. `refit=True` learns
        from everything, with the same settings; CoRML begins from what it has.
        """
        check_is_new(interactions)
        state = updating.updated(self._state(), interactions, weighted=self.LEARNS_WEIGHTS)
        model = copy.copy(self)
        model.fitted_ = state
        return model.refitted(progress=progress) if refit else model

    def refitted(self, *, progress: Asked = None) -> Self:
        """The same model with the same settings, fitted on everything that is known now."""
        model: Self = build(type(self), dict(self._state().settings))
        return model._fit_again(updating.to_learn(self._state()), self, progress)

    def _fit_again(self, data: Interactions, earlier: Self, progress: Asked) -> Self:
        """Fit on data that have grown since an earlier fit; a model may begin from that one."""
        return self.fit(data, progress=progress)

    def plan(self, train: Interactions) -> Plan:
        """What a fit would choose and how much memory it would take; refuses a fit that would not fit in memory."""
        check(self)
        check_is_data(train, "train")
        longest = values_of(self).get("longest_history")
        return planned(train, longest, lambda part: self._plan(of_mean_square_one(part.weighted)))

    def _plan(self, X: csr_array) -> Plan:
        """The plan for the weighted users × items matrix."""
        return Plan()

    @abstractmethod
    def _fit(self, call: FitCall) -> Outcome:
        """Learn the declared arrays."""

    def _represent(self, X: csr_array, users: NDArray[np.int64] | None) -> Any:
        """What stands for users when they are scored, one row each: here their histories, whether known or new.

        `users` are the row numbers of known users, −1 for a new (fold-in) user of whom only the history is known.
        """
        return X

    @abstractmethod
    def score_block(self, users: Any, columns: slice) -> NDArray[np.float32]:
        """Scores of users, as `_represent` gives them, for a range of items."""

    @property
    def _folds_in(self) -> bool:
        """Whether users it did not learn from are scored by their histories; most models do."""
        return True

    def _top_k(self, users: Any, k: int, seen: csr_array | None, allowed: csr_array | None) -> Lists | None:
        """Lists of users where a model can do without scoring every item; most cannot."""
        return None

    def _top_k_of_one(
        self, history: NDArray[np.int64], k: int, seen: NDArray[np.int64], allowed: NDArray[np.int64] | None
    ) -> Lists | None:
        """The list of one new user by item numbers, each once, where a model has a short way to it; most have none."""
        return None

    def _check_state(self) -> None:
        """Raise ModelFileError if the learned arrays cannot come from a fit: called before a save, after a load."""

    def _block_shape(self, X: csr_array) -> tuple[int, int]:
        """How many rows and columns of scores to make at a time."""
        return block_of(*X.shape)

    # --- search for settings -----------------------------------------------------------------------------------------

    @classmethod
    def _shared_by_fits(cls, train: Interactions, searched: Mapping[str, Search]) -> dict[str, Any]:
        """What fits of the same data can share while some settings are searched, as arguments of `fit`; most nothing.

        A fit with it must give the same model whatever was fitted before.
        """
        return {}

    def _held_in_search(self, searched: Collection[str]) -> dict[str, Any]:
        """Settings that keep what this fit chose for itself, so that no setting of a search changes another one."""
        return {}

    # --- more items --------------------------------------------------------------------------------------------------

    def with_items(self, table: Any) -> Self:
        """The same fitted model with another table of items: a file, a frame or what `corml.load_items` gave.

        Titles in it are used where there are some. Nothing is fitted again.
        """
        from corml.data import load_items  # which reads files

        state, about = self._state(), load_items(table).on(self.items_)
        changed = copy.copy(self)
        changed.fitted_ = replace(state, attributes=about, titles={**state.titles, **about.titles})
        return changed

    @property
    def new_items_(self) -> Ids:
        """The items that nobody had when the model was fitted and that are scored by what they are like."""
        link = self._link()
        return Ids([]) if link is None else self.items_.take(np.diff(link.indptr) > 0)

    def _link(self) -> csr_array | None:
        """What new items are like, where a model that can score them has some: it declares the array `link_`."""
        return self._state().arrays.get("link")

    def with_new_items(self, table: Any = None, *, lift: float = 1.0) -> Self:
        """The same fitted model with new items, scored by the known items that they are like by their attributes.

        The table, as `with_items` takes it, has the new items, and the known ones too unless the model was fitted with
        `items=`. Without a table the items of the catalogue that nobody has are meant. Nothing is fitted again.

        The score of a new item is the mean of what the items it is like would get, and a mean is rarely at the top of
        a list: `lift`, which scores of new items are multiplied by, shows them more often than that.
        """
        from corml.data import load_items  # which reads files

        lift = new_items.checked_lift(lift)
        state = new_items.widened(self._state(), None if table is None else load_items(table))
        link = new_items.link_of(state)
        changed = copy.copy(self)
        changed.fitted_ = replace(state, arrays={**self._linked(link, lift), "link": link})
        return changed

    def _linked(self, link: csr_array, lift: float) -> Mapping[str, Any]:
        """The learned arrays with new items; row j of the link has the weights of the known items that j is like."""
        raise UsageError(
            f"{self.NAME} cannot score items that nobody has: corml and the item-item models, such as ease, can."
        )

    # --- requests ----------------------------------------------------------------------------------------------------

    def _at(self, novelty: float | None) -> "Recommender":
        """The model that scores: this one, or where it has a popularity–novelty trade-off, one operating point."""
        self._check_fitted()
        if novelty is not None:
            raise UsageError(
                f"novelty (--novelty) needs a model with several operating points, and {self.NAME} has one: fit "
                "corml-dial, or leave it out."
            )
        return self

    def scores(self, history: Sequence[Labels] | Interactions) -> NDArray[np.float32]:
        """Scores of the whole catalogue for each history: a dense array, so for a few histories at a time."""
        X = query.histories(self.items_, history, weighted=self.LEARNS_WEIGHTS).matrix
        query.require_memory_of_scores(*X.shape)
        model = self._at(None)
        scores = model.score_block(model._represent(X, None), slice(0, len(self.items_)))
        check_finite(scores, "These scores")
        return scores

    @with_options()
    def recommend(
        self,
        users: Labels | str | None = None,
        *,
        history: Sequence[Labels] | Interactions | None = None,
        progress: Asked = None,
        **options: Unpack[ListOptions],
    ) -> Recommendations:
        """The k best items for known users, or for anyone from the items of their history.

        Users that the model does not know get the most popular items: `sources` says "fallback" and `reasons` why. So
        do users for whom the model scores all items alike: their list would be the first items of the catalogue.

        Known items of a user are never recommended, whether the model learned from them or not, unless `seen`,
        `hide_events` or `exclude_recent` lets them come back. What a user rejected never comes back. Every list has k
        items, or `reasons` says why not.

        Rules of lists count in this order: `boost`, then `diversity` and `max_per` item by item, then `max_share`: an
        item that is in too many lists stays in those that lose most without it, whatever the order of the users; the
        others are made again without the items that are full.
        """
        with shown(progress) as report:
            return recommended(self, users, history, dict(options), report)

    def _closeness(self) -> "Closeness":
        """How close two items are, for diverse lists: by their training users, unless the model has a metric."""
        return self._state().closeness_by_users

    def similar(self, items: Labels | str, k: int = 10) -> SimilarItems:
        """Items most associated with an item: the list of a user whose history is that item alone, for each item."""
        targets, _ = required(self.items_, items, "similar")
        return SimilarItems.of(self.recommend(history=[[item] for item in targets], k=k), targets)

    def similar_users(
        self,
        users: Labels | str | None = None,
        *,
        history: Sequence[Labels] | Interactions | None = None,
        k: int = 10,
    ) -> SimilarUsers:
        """The users most like known users, or like anyone with these histories: by cosine, as the model sees them.

        CoRML compares histories in its own metric, so that different items count which it associates; models with an
        embedding for each user compare these; the others compare histories by the items they share.
        """
        model = self._at(None)
        return neighbours.similar_users(model, users, history, k, once=lambda make: self._derive(make, "users"))

    def _user_rows(self, X: csr_array, users: NDArray[np.int64] | None) -> csr_array | NDArray[np.float32]:
        """What users are compared by, one row each: here their histories."""
        return X

    def _user_metric(self) -> csr_array | None:
        """How much two items count when histories are compared, positive semi-definite; None: only shared ones do."""
        return None

    def explain(self, history: Labels | str | int, item: Hashable) -> Explanation:
        """Why an item scores as it does: what each item of the history (or of a known user's) adds to it."""
        cited = cite(self._state(), history, weighted=self.LEARNS_WEIGHTS)
        target = row_of(self.items_, item)
        parts, labels = cited.multiplied(self._at(None)._contributions(cited.items, target)), self.items_.labels
        check_finite(sum(parts.values(), np.zeros(len(cited.items))).sum(), "An explanation")
        about = cited.strengths, cited.kinds, cited.ages, new_items.like(self._link(), target, labels)
        return Explanation(labels[target], tuple(labels[cited.items]), parts, cited.unknown, self.titles_, *about)

    @with_options()
    def why_not(
        self, history: Labels | str | int, item: Hashable, *, lifts: int = 5, **options: Unpack[ListOptions]
    ) -> "WhyNot":
        """Why an item is not in the list of a known user, or of a history, and which items would lift it (`lifts`).

        Give the options that the list was made with; `max_share`, which concerns all lists of a request, and `unknown`
        are not among them.
        """
        from corml.recommend.why_not import why_not  # with its own compiled kernels

        return why_not(self, history, item, lifts, dict(options))

    def _contributions(self, history: NDArray[np.int64], target: int) -> dict[str, NDArray[np.float64]]:
        """What each history item adds to the target's score, by part; for models that are linear in the history."""
        raise UsageError(
            f"{type(self).__name__} does not score item by item of a history, so there is nothing to explain."
        )

    def _known_history(self, history: Labels | str | int) -> tuple[NDArray[np.int64], tuple[str, ...]]:
        """Item numbers of a list of items (each once) or of a known user, and the ids the model does not know."""
        return query.history_of(self.items_, self._state().histories, history)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        history: bool = True,
        evaluation: "Result | Mapping[str, Any] | None" = None,
    ) -> None:
        """Write the model as one file, atomically; `history=False` leaves the training users out of it.

        `evaluation` is the measured quality that the file records: what `corml.evaluate` returned for this model, or
        its `record()`. Without it, the file keeps the evaluation that the model has, if there is one.
        """
        from corml.models.saved.model_file import save_model

        if evaluation is not None and not isinstance(evaluation, Mapping):
            if not hasattr(evaluation, "record"):
                raise UsageError(f"evaluation= takes what corml.evaluate returned; got a {type(evaluation).__name__}.")
            evaluation = evaluation.record()
        save_model(self, path, history=history, evaluation=evaluation or self._state().evaluation)
