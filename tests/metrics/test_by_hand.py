"""Values worked out with pencil and paper on three users and four items."""

from math import log2, sqrt

import pytest


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("ndcg@3", [(1 / log2(3) + 1 / 2) / (1 + 1 / log2(3)), 1, 0]),
        ("ndcg@2", [(1 / log2(3)) / (1 + 1 / log2(3)), 1, 0]),
        ("ndcg@1", [0, 1, 0]),
        ("mrr@3", [1 / 2, 1, 0]),
        ("mrr@1", [0, 1, 0]),
        ("recall@3", [1, 1, 0]),
        ("recall@2", [1 / 2, 1, 0]),
        ("capped_recall@3", [1, 1, 0]),
        ("capped_recall@1", [0, 1, 0]),
        ("precision@3", [2 / 3, 1 / 3, 0]),
        ("hit_rate@1", [0, 1, 0]),
        ("hit_rate@3", [1, 1, 0]),
        ("map@3", [(1 / 2 + 2 / 3) / 2, 1, 0]),
        ("map@1", [0, 1, 0]),
        # −log₂(d/4): a 0, b 1, c 2, d (no user, counts as one user) 2
        ("self_information@3", [1, 1, 5 / 3]),
        ("self_information@1", [0, 2, 1]),
        ("novelty@3", [1 / 2, 1 / 2, 5 / 6]),
        ("popularity@3", [7 / 12, 1 / 2, 1 / 4]),
        # cosine of users: a b 2/√8, a c 1/√4, b c 1/√2; d has none
        ("diversity@3", [1 - (2 / sqrt(8) + 1 / 2 + 1 / sqrt(2)) / 3, 1, 1 - 1 / sqrt(2) / 3]),
        ("diversity@2", [1 - 2 / sqrt(8), 1, 1 - 1 / sqrt(2)]),
        ("diversity@1", [0, 0, 0]),
    ],
)
def test_each_user_has_the_value_worked_out_by_hand(by_hand, value, metric, expected):
    assert value(metric, by_hand) == pytest.approx(expected)


def test_coverage_and_gini_are_one_number_each(by_hand, value):
    assert value("coverage@1", by_hand) == 3 / 4  # a, d, b
    assert value("coverage@3", by_hand) == 1
    assert value("gini@3", by_hand) == pytest.approx(0)  # each of the four items stands in two lists
    # c 0, a b d 1: Σ (2j − 5) c_j = −1 + 1 + 3 over 4 · 3
    assert value("gini@1", by_hand) == pytest.approx(3 / 12)


def test_lists_shorter_than_k_miss_in_precision_only(by_hand, value):
    assert value("precision@10", by_hand) == pytest.approx([0.2, 0.1, 0])
    assert value("ndcg@10", by_hand) == pytest.approx(value("ndcg@3", by_hand))
    assert value("novelty@10", by_hand) == pytest.approx(value("novelty@3", by_hand))
