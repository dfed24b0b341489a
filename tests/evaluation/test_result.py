"""Results as text, frames and records."""

import json

import numpy as np
import pytest

from corml.evaluation import Result


@pytest.fixture
def result():
    return Result(
        means={"ndcg@5": 0.25, "coverage@5": 0.5, "ndcg@10": 0.375},
        per_user={"ndcg@5": np.array([0.0, 0.5]), "ndcg@10": np.array([0.25, 0.5])},
        users=np.array(["007", "NA"], dtype=object),
        intervals={"ndcg@5": (0.0, 0.5), "ndcg@10": (0.25, 0.5)},
        model="corml",
        split="abc",
        procedure={"name": "ratio", "seed": 7},
        notes={"users without targets": 1200},
    )


def test_table(result):
    assert result.table().splitlines() == [
        "          @5                       @10",
        "ndcg      0.2500 [0.0000, 0.5000]  0.3750 [0.2500, 0.5000]",
        "coverage  0.5000",
        "",
        "2 users of the test part; [low, high]: 95% interval over users",
        "1,200 users without targets",
    ]
    assert str(result) == result.table()


def test_frame_has_a_row_per_user_and_a_column_per_metric(result):
    frame = result.to_frame()
    assert frame.columns == ["user", "ndcg@5", "ndcg@10"]
    assert frame["user"].to_list() == ["007", "NA"]
    assert frame["ndcg@10"].to_list() == [0.25, 0.5]


def test_summary_has_a_record_per_metric(result):
    assert result.summary()[0] == {"metric": "ndcg", "k": 5, "mean": 0.25, "low": 0.0, "high": 0.5}
    assert result.summary()[1] == {"metric": "coverage", "k": 5, "mean": 0.5, "low": None, "high": None}


def test_record_survives_json(result):
    record = result.record()
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert record["metrics"] == result.means
    assert record["users"] == 2
    assert record["split"] == "abc"
    assert record["procedure"] == {"name": "ratio", "seed": 7}


def test_repr_is_short(result):
    assert repr(result) == "Result(2 users, test: ndcg@5 0.2500, coverage@5 0.5000, ndcg@10 0.3750)"


def test_length_and_iteration_are_over_metrics(result):
    assert len(result) == 3
    assert list(result) == ["ndcg@5", "coverage@5", "ndcg@10"]
