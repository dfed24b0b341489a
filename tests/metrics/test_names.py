"""What people type for a metric."""

import pytest

from corml.errors import UsageError
from corml.evaluation.metrics import parse, parse_all


@pytest.mark.parametrize("text", ["ndcg@10", "NDCG@10", " ndcg@10 ", "ndcg@010"])
def test_spelling_does_not_matter(text):
    assert parse(text).label == "ndcg@10"


def test_a_hyphen_is_an_underscore():
    assert parse("hit-rate@5").label == "hit_rate@5"


@pytest.mark.parametrize(("text", "meant"), [("ndgc@10", "ndcg"), ("recal@5", "recall"), ("hitrate@5", "hit-rate")])
def test_an_unknown_metric_suggests_the_one_meant(text, meant):
    with pytest.raises(UsageError, match=f"did you mean '{meant}'"):
        parse(text)


@pytest.mark.parametrize("text", ["", "@", "@5", "_lists@3", "__init__@3", "os@1", "ndcg.py@1", "ndcg\n@1"])
def test_what_is_no_metric_is_refused(text):
    with pytest.raises(UsageError, match="There is no metric"):
        parse(text)


@pytest.mark.parametrize("length", ["", "0", "-1", "1.5", "x", "10001", "9" * 50, "１０", "1e3", "10@5"])
def test_a_bad_length_is_refused_with_an_example(length):
    with pytest.raises(UsageError, match=r"from 1 to 10,000 .* write ndcg@10"):
        parse(f"ndcg@{length}")


def test_the_longest_list_is_a_length_too():
    assert [parse(text).k for text in ("ndcg@1", "ndcg@10000")] == [1, 10_000]


def test_a_missing_length_is_refused():
    with pytest.raises(UsageError, match="none was given"):
        parse("ndcg")


def test_several_keep_their_order_and_repeats_count_once():
    assert [metric.label for metric in parse_all(["mrr@5", "ndcg@10", "MRR@5"])] == ["mrr@5", "ndcg@10"]
    assert [metric.label for metric in parse_all("mrr@5")] == ["mrr@5"]


def test_asking_for_nothing_is_refused():
    with pytest.raises(UsageError, match="at least one"):
        parse_all([])
