"""Lists of another program are measured by the same code."""

import pandas
import polars
import pytest

from corml import Popularity, Split, evaluate
from corml.errors import DataError, UnknownIdError, UsageError
from corml.evaluation import evaluate_lists


@pytest.fixture
def small(pairs):
    everything = pairs("ann:abcd bob:abcde cid:ae")
    parts = {"train": "ann:ab bob:ae cid:ae", "test": "ann:d bob:cd"}
    return Split(**{name: pairs(text, like=everything) for name, text in parts.items()})


def test_a_mapping_worked_out_by_hand(small):
    result = evaluate_lists({"ann": ["c", "d"], "bob": ["d"]}, small, ["mrr@5", "precision@2"], name="mine")
    assert dict(zip(result.users, result.per_user["mrr@5"], strict=True)) == {"ann": 0.5, "bob": 1}
    assert list(result.per_user["precision@2"]) == [0.5, 0.5]
    assert result.record()["model"] == "mine"


def test_a_models_own_lists_give_what_evaluating_it_gives(split):
    model = Popularity().fit(split.train)
    seen = split.part("test")[1]
    exclude = [list(split.train.items.labels[seen.item[seen.user == row]]) for row in range(len(split.train.users))]
    lists = model.recommend(list(split.train.users.labels), k=20, exclude=exclude)
    direct, ours = evaluate(model, split), evaluate_lists(lists, split)
    assert ours.means == pytest.approx(direct.means)
    assert ours.intervals == direct.intervals
    assert list(ours.users) == list(direct.users)
    for frame in (lists.to_frame(), lists.to_frame().sample(fraction=1, shuffle=True, seed=1)):
        assert evaluate_lists(frame, split).means == ours.means


@pytest.mark.parametrize("library", [polars, pandas])
def test_a_frame_without_ranks_is_read_in_its_order(small, library):
    frame = library.DataFrame({"user": ["ann", "bob", "ann"], "item": ["c", "d", "d"]})
    assert list(evaluate_lists(frame, small, "mrr@5").per_user["mrr@5"]) == [0.5, 1]


def test_a_user_without_a_list_counts_as_zero_and_is_counted(small):
    result = evaluate_lists({"ann": ["d"], "dora": ["a"]}, small, ["mrr@5", "novelty@5"])
    assert list(result.per_user["mrr@5"]) == [1, 0]
    assert list(result.per_user["novelty@5"] == 0) == [False, True]
    assert result.notes == {
        "users without targets": 1,
        "users without a list, counted as 0": 1,
        "lists of users who do not count": 1,
    }


def test_items_already_seen_are_misses_and_counted(small):
    result = evaluate_lists({"ann": ["a", "d"], "bob": ["c"]}, small, "mrr@5")
    assert list(result.per_user["mrr@5"]) == [0.5, 1]
    assert result.notes["recommended items already seen"] == 1


@pytest.mark.parametrize(
    ("lists", "error", "message"),
    [
        ({"ann": ["d", "d"]}, DataError, "names an item twice"),
        ({"ann": ["zzz"]}, UnknownIdError, "'zzz'"),
        ({"ann": "abc"}, UsageError, "list of item ids"),
        ({1: ["d"], "1": ["d"]}, DataError, "two lists for user '1'"),
        ([["d"]], UsageError, "mapping"),
        (polars.DataFrame({"user": ["ann"], "rank": [1]}), DataError, "no column item"),
    ],
)
def test_lists_that_make_no_sense_are_refused(small, lists, error, message):
    with pytest.raises(error, match=message):
        evaluate_lists(lists, small, "ndcg@5")
