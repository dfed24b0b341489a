"""A score that is NaN or infinite is refused, by the same error, whatever a list is asked for."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array

import corml
from corml import Interactions
from corml.errors import NumericalError
from corml.linalg.closeness import Closeness
from corml.models.fitted import Outcome
from corml.models.recommender import Recommender
from corml.recommend.options import ListRules

OPTIONS = {
    "plain": {},
    "boost": {"boost": {"i1": 1.5}},
    "boost of the item": {"boost": {"i5": 3.0}},
    "diversity": {"diversity": 0.5},
    "max_per": {"max_per": {"genre": 2}},
    "max_share": {"max_share": 0.7},
    "only": {"only": ["i2", "i3", "i5"]},
    "exclude": {"exclude": ["i1"]},
    "seen": {"seen": "allow"},
    "all": {"boost": {"i1": 1.5}, "diversity": 0.5, "max_per": {"genre": 2}, "max_share": 0.7, "exclude": ["i1"]},
}


@dataclass(kw_only=True, eq=False)
class Odd(Recommender):
    """The same scores for everybody, one of which is odd."""

    NAME: ClassVar[str] = "odd"
    odd: float = 0.0

    def _fit(self, call):
        return Outcome(arrays={})

    def score_block(self, users, columns):
        scores = np.linspace(1, 2, len(self.items_), dtype=np.float32)
        scores[self.items_.rows(["i5"])] = self.odd
        return np.tile(scores[columns], (users.shape[0], 1))

    def _closeness(self):
        return Closeness(np.ones(len(self.items_), np.float32), csr_array((len(self.items_), len(self.items_))))


def fitted(odd, items):
    """A model of six users, each with the first item; the catalogue may be larger than what rules look at first."""
    data = Interactions.from_pairs([f"u{at % 6}" for at in range(items)], [f"i{at}" for at in range(items)])
    data = data.with_seen(Interactions.from_pairs([f"u{at}" for at in range(6)], ["i0"] * 6))
    table = pl.DataFrame({"item": [f"i{at}" for at in range(items)], "genre": ["abc"[at % 3] for at in range(items)]})
    return Odd(odd=odd).fit(data).with_items(table)


@pytest.mark.parametrize("items", [8, 400])
@pytest.mark.parametrize("odd", [np.nan, np.inf])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_score_that_is_no_number_or_infinite_is_refused_with_every_option(options, odd, items):
    model = fitted(odd, items)
    with pytest.raises(NumericalError, match=r"^A list cannot be given: numbers of the model"):
        model.recommend(["u1", "u2"], k=4, **options)


@pytest.mark.parametrize("items", [8, 400])
@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", [name for name in OPTIONS if name not in ("only", "exclude", "all")])
def test_a_score_of_an_item_that_may_not_be_listed_does_not_count(name, odd, items):
    lists = fitted(odd, items).recommend(["u1", "u2"], k=4, **OPTIONS[name], exclude=["i5"])
    assert "i5" not in lists.items


@pytest.mark.parametrize("items", [8, 400])
@pytest.mark.parametrize("name", OPTIONS)
def test_a_score_of_minus_infinity_keeps_an_item_out_of_every_list(name, items):
    lists = fitted(-np.inf, items).recommend(["u1", "u2"], k=items, **OPTIONS[name])
    assert "i5" not in lists.items
    assert np.isfinite(lists.scores[lists.items != np.array(None)]).all()


@pytest.mark.parametrize("rules", [None, ListRules(max_share=1), ListRules(diversity=0.5)])
def test_an_evaluation_refuses_such_a_score_too(rules):
    model = fitted(np.nan, 8)
    test = Interactions.from_pairs(["u1", "u2"], ["i3", "i4"]).on(model.users_, model.items_)
    split = corml.splits.ready_made(Interactions.from_pairs(["u1"], ["i1"]).on(model.users_, model.items_), None, test)
    with pytest.raises(NumericalError, match=r"^A list cannot be given"):
        corml.evaluate(model, split, "ndcg@5", rules=rules)
