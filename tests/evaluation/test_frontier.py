"""The dial as a curve: every position evaluated, from popular to novel."""

import numpy as np
import pytest

from corml.data.interactions import Interactions
from corml.errors import UsageError
from corml.evaluation import evaluate, frontier
from corml.models.corml.estimator import CoRML
from corml.splits import split


@pytest.fixture(scope="module")
def parts():
    rng = np.random.default_rng(3)
    rows = [
        (f"u{user}", f"i{item}")
        for user in range(60)
        for item in rng.choice(30, size=8, replace=False, p=np.arange(30, 0, -1) / 465)
    ]
    return split(Interactions.from_pairs(*zip(*rows, strict=True)), "ratio", seed=1)


@pytest.fixture(scope="module")
def dial(parts):
    return CoRML.dial(parts.train, (-0.2, 0.0, 0.2))


def test_each_position_is_evaluated_from_popular_to_novel(parts, dial):
    curve = frontier(dial, parts)
    assert curve.novelty == (0.0, 0.5, 1.0)
    for at, result in zip(curve.novelty, curve.results, strict=True):
        assert dict(result.means) == dict(evaluate(dial.at(at), parts, ["ndcg@10", "novelty@10"]).means)
    assert curve.points() == [(r["novelty@10"], r["ndcg@10"]) for r in curve.results]


def test_a_curve_is_a_frame_a_table_and_a_chart(parts, dial):
    curve = frontier(dial, parts, ["mrr@5", "novelty@5"])
    assert curve.to_frame().columns == ["position", "mrr@5", "novelty@5"]
    assert curve.to_frame().height == len(curve) == 3
    assert "mrr@5" in curve._repr_html_()
    chart = curve.plot(x="novelty@5", y="mrr@5")
    assert "popular" in chart.body
    assert chart.body.count("<polyline") == 1
    assert "3 positions" in repr(curve)


def test_a_model_without_positions_is_refused(parts):
    with pytest.raises(UsageError, match="CoRML has no positions"):
        frontier(CoRML().fit(parts.train), parts)
