"""Judging one event type only: which held-out pairs count as targets, and what becomes of the others."""

import polars as pl
import pytest

import corml
from corml.errors import UsageError
from corml.evaluation import evaluate_lists
from corml.experiments.tuning.objective import validation_of

TRAIN = [("a", "x", "view"), ("b", "y", "purchase"), ("c", "z", "view"), ("d", "w", "view"), ("d", "v", "purchase")]
TEST = [
    ("a", "y", "view"),
    ("a", "y", "purchase"),  # bought as well: a target, whatever came last
    ("a", "z", "view"),
    ("b", "x", "view"),
    ("c", "w", "purchase"),
]


def load(rows):
    return corml.load(pl.DataFrame(rows, schema=["user", "item", "event"], orient="row"), event="event")


@pytest.fixture(scope="module")
def split():
    return corml.splits.ready_made(load(TRAIN), None, load(TEST))


def test_only_pairs_with_such_an_event_are_targets_and_users_without_one_are_left_out(split):
    lists = {"a": ["z", "y"], "b": ["x"], "c": ["w"]}
    every = evaluate_lists(lists, split, ["recall@1", "recall@2"])
    assert every.users.tolist() == ["a", "b", "c"]
    judged = evaluate_lists(lists, split, ["recall@1", "recall@2"], targets="purchase")
    assert judged.users.tolist() == ["a", "c"]
    assert judged.per_user["recall@1"].tolist() == [0, 1]  # z was only viewed: listed all the same, and no hit
    assert judged.per_user["recall@2"].tolist() == [1, 1]
    assert judged.notes["users without a target of these event types"] == 1
    assert judged.notes["held-out pairs of other event types, not counted as targets"] == 2
    assert judged.split != every.split


def test_evaluate_and_compare_judge_alike_and_name_the_targets(split):
    model = corml.Popularity().fit(split.train)
    result = corml.evaluate(model, split, ["ndcg@2"], targets=["purchase"])
    lists = model.recommend(split.train.users.labels, k=5, seen="learned")
    assert evaluate_lists(lists, split.judging("purchase"), ["ndcg@2"]).means == result.means
    assert result.record()["procedure"]["targets"] == ["purchase"]
    study = corml.compare(["popularity"], split, metrics=["ndcg@2"], primary="ndcg@2", targets="purchase")
    assert study["popularity"].means["ndcg@2"] == pytest.approx(result.means["ndcg@2"])
    assert study.splits[0].procedure["targets"] == ["purchase"]


def test_a_split_file_keeps_what_it_judges(split, tmp_path):
    judged = split.judging("purchase,view")
    judged.save(tmp_path / "a.split")
    read = corml.read_split(tmp_path / "a.split")
    assert read.targets == ("purchase", "view")
    assert read.fingerprint == judged.fingerprint != split.fingerprint
    made = corml.split(load(TRAIN + TEST), "ratio").judging("view")
    made.verify(load(TRAIN + TEST))


@pytest.mark.parametrize("targets", ["rent", ["purchase", "rent"], "", 3])
def test_event_types_that_nobody_has_are_refused(split, targets):
    with pytest.raises(UsageError, match=r"no event type 'rent'; there is: purchase, view|must name event types"):
        split.judging(targets)
    plain = corml.splits.ready_made(load(TRAIN), None, corml.Interactions.from_pairs(["a"], ["y"]))
    with pytest.raises(UsageError, match=r"targets needs the event type of each interaction|must name"):
        plain.judging(targets)


def test_tuning_on_the_valid_part_judges_the_same_and_folds_refuse(split):
    parts = corml.splits.ready_made(load(TRAIN), load(TEST), load([("b", "z", "purchase")])).judging("purchase")
    (one,) = validation_of(parts).splits
    assert one.targets == ("purchase",)
    with pytest.raises(UsageError, match="Folds count all held-out pairs"):
        validation_of(parts, 2)
