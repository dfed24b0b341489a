"""Which users are evaluated, what the model scores, and what it may not recommend."""

import numpy as np
import pytest

from corml import Interactions, Popularity, Split, evaluate
from corml.data.ids import Ids
from corml.errors import DataError, NotFittedError, UsageError


@pytest.fixture
def split_of(pairs):
    """A split of sets written as 'ann:ab bob:c', on the users and items of all of them."""

    def build(everything, **sets):
        whole = pairs(everything)
        return Split(**{name: pairs(text, like=whole) for name, text in sets.items()})

    return build


@pytest.fixture
def small(split_of):
    """Ann and Bob have test items, Cid has none."""
    sets = {"train": "ann:ab bob:ae cid:ae", "valid": "ann:c bob:b", "test": "ann:d bob:cd"}
    return split_of("ann:abcd bob:abcde cid:ae", **sets)


def test_worked_out_by_hand(small, fixed):
    model = fixed(worth=dict(zip("abcde", (5, 4, 3, 2, 1), strict=True))).fit(small.train)
    result = evaluate(model, small, ["mrr@1", "mrr@2", "recall@1", "coverage@1", "popularity@1"])
    # Ann has seen a, b, c and gets d (hit), then e; Bob has seen a, b, e and gets c (hit), then d (hit)
    assert list(result.users) == ["ann", "bob"]
    assert result["mrr@1"] == 1
    assert list(result.per_user["recall@1"]) == [1, 0.5]
    assert result["coverage@1"] == 2 / 5
    assert list(result.per_user["popularity@1"]) == [0, 0]  # no training pair of c or d
    assert result.notes == {"users without targets": 1}


def test_on_valid_only_the_history_is_masked(small, fixed):
    model = fixed(worth=dict(zip("abcde", (5, 4, 3, 2, 1), strict=True))).fit(small.train)
    result = evaluate(model, small, "mrr@3", part="valid")
    assert dict(zip(result.users, result.per_user["mrr@3"], strict=True)) == {"ann": 1, "bob": 1}


def test_the_model_scores_the_history_and_nothing_else(small, fixed, monkeypatch):
    model, scored = fixed().fit(small.train), []
    score = model.score_block
    monkeypatch.setattr(model, "score_block", lambda X, columns: scored.append(X.toarray()) or score(X, columns))
    evaluate(model, small, "ndcg@3")
    np.testing.assert_array_equal(scored[0], small.train.matrix.toarray()[:2])


def test_degrees_come_from_the_training_part_and_so_does_the_number_of_users(small, fixed):
    model = fixed(worth={"e": 1}).fit(small.train)
    assert evaluate(model, small, "popularity@1").per_user["popularity@1"][0] == pytest.approx(2 / 3)  # e: Bob, Cid


def test_users_the_model_knows_are_scored_as_such_and_others_as_new(small, fixed, monkeypatch):
    without_ann = small.train.on(Ids(["bob", "cid"], kind="user"), small.train.items)
    model, scored = fixed().fit(without_ann), []
    plain = model._represent
    monkeypatch.setattr(model, "_represent", lambda X, users: scored.extend(users) or plain(X, users))
    assert list(evaluate(model, small, "ndcg@3", part="valid").users) == ["ann", "bob"]
    assert scored == [-1, model.users_.rows(["bob"])[0]]


def test_rarity_counts_users_with_a_training_pair_only(split_of, fixed):
    """Of seven users four have training pairs: an item that one of them has is as rare as can be."""
    sets = {"train": "ann:b bob:a cid:a dan:a", "test": "bob:b cid:c eve:b fay:c gil:c"}
    split = split_of("ann:ab bob:a cid:a dan:ac eve:b fay:c gil:bc", **sets)
    metrics = ["novelty@1", "self_information@1", "popularity@1"]
    result = evaluate(fixed(worth={"b": 1}).fit(split.train), split, metrics)
    assert list(result.users) == ["bob", "cid"]
    assert result.means == {"novelty@1": 1, "self_information@1": 2, "popularity@1": 0.25}


def test_a_model_with_other_ids_in_another_order_gives_the_same(split):
    model = Popularity().fit(split.train)
    rng = np.random.default_rng(0)
    users = Ids(rng.permutation(split.train.users.labels), kind="user")
    items = Ids(rng.permutation(split.train.items.labels))
    other = Popularity().fit(split.train.on(users, items))
    names = ["recall@30", "precision@30", "coverage@30"]  # whole lists: ties may fall otherwise
    assert evaluate(other, split, names).means == pytest.approx(evaluate(model, split, names).means)


CASES = {  # all pairs, the sets of the split, what the model is fitted on, recall of those evaluated, notes
    "outside the catalogue, where Bob has seen all that the model knows": (
        "ann:abc bob:abd",
        {"train": "ann:a bob:ab", "test": "ann:bc bob:d"},
        "x:a y:b",
        {"ann": 1},  # of the one target that is in the catalogue
        {"targets not in the catalogue": 2, "users with nothing left to recommend": 1},
    ),
    "no target left": (
        "ann:abc bob:abd",
        {"train": "ann:a bob:a", "test": "ann:b bob:d"},
        "x:abc",
        {"ann": 1},
        {"targets not in the catalogue": 1, "users whose targets are all left out": 1},
    ),
    "already seen": ("ann:abc", {"train": "ann:a", "test": "ann:ab"}, None, {"ann": 1}, {"targets already seen": 1}),
    "nothing left to recommend": (
        "ann:ab bob:ab",
        {"train": "ann:ab bob:a", "test": "ann:b bob:b"},
        None,
        {"bob": 1},
        {"targets already seen": 1, "users with nothing left to recommend": 1},
    ),
    "no history": (
        "ann:ab bob:ab",
        {"train": "ann:a", "test": "ann:b bob:b"},
        None,
        {"ann": 1},
        {"users without a known history": 1},
    ),
    "items without training pairs stay": (
        "ann:c bob:ab",
        {"train": "ann:c bob:b", "test": "bob:a"},
        None,
        {"bob": 1},
        {"users without targets": 1},
    ),
    "a history of its own is scored and masked": (
        "ann:abc bob:abc new:abc",
        {"train": "ann:abc bob:ab", "history": "new:a", "test": "new:b"},
        None,
        {"new": 1},
        {"users without targets": 2},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_targets_and_users_that_cannot_be_evaluated_are_left_out_and_counted(split_of, pairs, fixed, case):
    everything, sets, fitted_on, recall, notes = CASES[case]
    split = split_of(everything, **sets)
    model = fixed(worth={"a": 2, "b": 1}).fit(split.train if fitted_on is None else pairs(fitted_on))
    result = evaluate(model, split, "recall@1")
    assert dict(zip(result.users, result.per_user["recall@1"], strict=True)) == recall
    assert result.notes == notes


def test_targets_left_out_by_the_split_are_counted(pairs, fixed):
    split = Split(train=pairs("ann:abc bob:ab"), test=pairs("bob:cz"))
    assert evaluate(fixed().fit(split.train), split, "recall@1").notes["targets left out by the split"] == 1


def test_no_user_to_evaluate_is_an_error_that_says_why(small, pairs, fixed):
    model = fixed().fit(small.train)
    with pytest.raises(DataError, match="3 users without targets"):
        evaluate(model, Split(train=small.train), "ndcg@5")
    unrelated = fixed().fit(pairs("x:yz"))
    with pytest.raises(DataError, match=r"3 targets not in the catalogue.*same data"):
        evaluate(unrelated, small, "ndcg@5")


def test_an_empty_split_says_so(fixed, small):
    none = np.zeros(0, dtype=np.int32)
    empty = Interactions(Ids([], kind="user"), small.train.items, none, none)
    with pytest.raises(DataError, match="it has no users"):
        evaluate(fixed().fit(small.train), Split(train=empty), "ndcg@5")


@pytest.mark.parametrize(
    ("metrics", "options", "message"),
    [
        (["ndgc@5"], {}, "did you mean 'ndcg'"),
        ("ndcg@5", {"part": "train"}, "'valid' or 'test'"),
        ("ndcg@5", {"confidence": 95}, "confidence"),
        ("ndcg@5", {"resamples": 0}, "resamples"),
    ],
)
def test_wrong_arguments_are_refused(small, fixed, metrics, options, message):
    with pytest.raises(UsageError, match=message):
        evaluate(fixed().fit(small.train), small, metrics, **options)
    with pytest.raises(NotFittedError):
        evaluate(fixed(), small)


def test_progress_is_reported_to_the_end(small, fixed):
    seen = []
    evaluate(fixed().fit(small.train), small, progress=lambda *step: seen.append(step))
    assert seen[-1] == ("rank", len(seen), len(seen))


def test_lists_longer_than_the_catalogue_are_all_right(small, fixed):
    result = evaluate(fixed().fit(small.train), small, ["recall@500", "precision@500"])
    assert result["recall@500"] == 1
    assert list(result.per_user["precision@500"]) == [1 / 500, 2 / 500]
