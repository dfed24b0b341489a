"""Which items a list may have, whatever their scores: the options of `recommend` that are about that, as one value."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from corml.recommend import filters, requests
from corml.recommend.requests import Limits, Request
from corml.recommend.seen import SeenRule

if TYPE_CHECKING:
    from corml.models.recommender import Recommender

__all__ = ["Candidates"]


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """`exclude`, `only` and `now` are about items; all other options about what is known of the user."""

    exclude: Any = None
    only: Any = None
    now: Any = None
    seen: str = "exclude"
    hide_events: Any = None
    exclude_recent: Any = None

    def __post_init__(self) -> None:
        self.rule  # noqa: B018 - refuses what cannot be meant, before any work

    @property
    def rule(self) -> SeenRule:
        """What becomes of known items."""
        return SeenRule(self.seen, self.exclude_recent, self.hide_events)

    def request(
        self, model: "Recommender", users: Sequence[Hashable] | str | None, history: Any, unknown: str | None = None
    ) -> Request:
        """Whose lists, with what these options need to know of everybody."""
        how = {"weighted": model.LEARNS_WEIGHTS, "folds_in": model._folds_in}
        return requests.resolve(model.fitted_, users, history, rule=self.rule, unknown=unknown, **how)

    def limits(self, model: "Recommender", request: Request) -> Limits:
        """The items that each list may have."""
        chosen = filters.choice(model.attributes_, self.only, self.exclude, self.now)
        return requests.limits(model.items_, request, chosen.exclude, chosen.only, self.rule, chosen.mask)
