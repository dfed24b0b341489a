"""The file of published figures and settings: whole, consistent, and in step with what was run."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from corml import CoRML, models
from corml._runtime.settings import values_of
from corml.errors import DataError
from corml.evaluation import metrics
from corml.experiments.reproduce.published import changed, read_published

FILE = read_published()
RESULTS = Path(__file__).resolve().parents[2] / "results"
DATA = FILE["table"]["data"]
COLUMNS = ["cml", "l-cml", "dpcml", "slim", "ease", "recvae", "gf-cf", "ultragcn", "simgcl", "corml"]
RUNNER_UP = {"pinterest": ("gf-cf", 0.0785), "gowalla": ("simgcl", 0.1295), "yelp2018": ("simgcl", 0.0676),
             "ml-20m": ("recvae", 0.3033)}  # fmt: skip


def records(pattern):
    return [json.loads(path.read_text("utf-8")) for path in sorted(RESULTS.glob(pattern))]


@pytest.mark.parametrize("data", DATA)
def test_the_table_is_whole_with_corml_best_and_the_runner_up_that_the_paper_underlines(data):
    assert list(FILE["paper"][data]) == COLUMNS
    for column in COLUMNS:
        figures = FILE.paper(data, column)
        assert list(figures) == ["ndcg@5", "ndcg@10", "ndcg@20", "mrr@5", "mrr@10", "mrr@20"]
        assert all(0 < value < 1 for value in figures.values())
        assert all(a < b for a, b in pairwise(list(figures.values())[3:]))  # MRR grows with K
    for metric in FILE["table"]["metrics"]:
        assert max(COLUMNS, key=lambda column: FILE.paper(data, column)[metric]) == "corml"
    others = {column: FILE.paper(data, column)["ndcg@10"] for column in COLUMNS if column != "corml"}
    best = max(others, key=others.get)
    assert (best, others[best]) == RUNNER_UP[data]


def test_every_row_of_a_board_has_a_source_and_its_figures():
    for section in ("leaderboard", "strong"):
        for data, rows in FILE[section]["rows"].items():
            for board, raw in zip(FILE.board(section, data), rows, strict=True):
                assert board.source in FILE["sources"].values()
                assert len(board.figures) == len(FILE[section]["metrics"])
                assert 0 < len(raw["figures"]) <= len(board.figures)
    for data in FILE["leaderboard"]["data"]:
        assert len(FILE.board("leaderboard", data)) >= 10
        assert data in FILE["leaderboard"]["folders"]


@pytest.mark.parametrize("name", [*FILE["models"], *FILE["corml"]])
def test_settings_are_settings_of_the_model(name):
    kind = "corml" if name in FILE["corml"] else "models"
    for data in [*DATA, "movielens-small"]:
        built = FILE.row(name, data)
        if built is None:
            assert FILE[kind][name]["only"]
            continue
        assert built.model.NAME == ("corml" if kind == "corml" else name)
        given = FILE[kind][name].get("settings", {}).get(data, {})
        assert {key: values_of(built.model)[key] for key in given} == given
    assert set(FILE[kind][name].get("settings", {})) <= {*DATA, "movielens-small"}


def test_experiments_name_data_models_and_metrics_that_exist():
    for section in [*FILE["figures"].values(), FILE["table"], FILE["speed"]]:
        assert set(section["data"]) <= set(FILE["data"])
        assert set(section["models"]) <= {*FILE["models"], *FILE["corml"]}
        for label in section.get("metrics", []):
            metrics.parse(label)
        assert section["source"] in FILE["sources"]
    assert set(FILE["strong"]["data"]) <= set(FILE["strong"]["sets"])
    assert set(FILE["speed"]["published"]) <= {*models.names()}


@pytest.mark.parametrize("data", FILE["ablation"]["data"])
def test_all_changes_of_the_ablation_together_lead_to_the_defaults(data):
    together = {}
    for change in FILE["ablation"]["changes"]:
        assert not set(change["settings"]) & set(together), "a setting belongs to one change"
        together |= change["settings"]
    assert values_of(changed(FILE.row(FILE["ablation"]["from"], data).model, together)) == values_of(CoRML())


def test_models_run_with_the_settings_that_are_recorded():
    for record in records("linear/*-*.json"):
        entry = FILE["models"].get(record["model"])
        if entry is not None:
            assert entry.get("settings", {}).get(record["data"], {}) == record["settings"]
    for name in [name for name, entry in FILE["models"].items() if entry.get("gradient")]:
        own = [record for data in DATA for record in records(f"neural/{name}-{data}.json")]
        assert own, name
        for record in own:
            recorded = {{"start": "init_std"}.get(key, key): value for key, value in record["settings"].items()}
            recorded = {"longest_history": 5000, **recorded} if name == "ultragcn" else recorded  # none is longer
            assert values_of(FILE.row(name, record["data"]).model) == recorded
    for record in records("corml/tuning-*.json"):
        assert FILE["corml"]["corml-tuned"]["settings"][record["data"]] == record["best"]["settings"]


def test_a_damaged_file_is_refused(tmp_path):
    for text, message in (
        ("format = 2", "format '2', not 1"),
        ("format =", "Cannot read"),
        ("format = 1", "no section"),
    ):
        (tmp_path / "mine.toml").write_text(text)
        with pytest.raises(DataError, match=message):
            read_published(tmp_path / "mine.toml")["table"]
    with pytest.raises(DataError, match="Cannot read"):
        read_published(tmp_path / "absent.toml")
