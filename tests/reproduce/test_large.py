"""The real data, where they are: splits are those behind recorded figures."""

import json
import os
from pathlib import Path

import pytest

from corml.experiments.reproduce.data import board_split, missing_board, paper_split, sizes
from corml.experiments.reproduce.published import read_published

RESULTS = Path(__file__).resolve().parents[2] / "results"
FILE = read_published()

pytestmark = [pytest.mark.large, pytest.mark.skipif("CORML_DATA" not in os.environ, reason="needs CORML_DATA")]


@pytest.mark.parametrize("name", ["gowalla", "yelp2018"])
def test_the_split_of_the_leaderboard_is_the_one_of_recorded_figures(name):
    if missing_board(FILE, name):
        pytest.skip("not at hand")
    split = board_split(FILE, name)
    recorded = json.loads((RESULTS / f"corml/leaderboard-{name}.json").read_text("utf-8"))["data fingerprint"]
    assert recorded[f"lightgcn/{name}"] == {"train": split.train.fingerprint, "split": split.fingerprint}


def test_data_have_the_sizes_of_the_papers_table():
    split = paper_split(FILE, "pinterest")
    assert sizes(FILE, "pinterest", split) == []
    assert "55,187 users (paper: 29,858)" in sizes(FILE, "gowalla", split)[0]
