"""The experiments on small data: figures, verdicts, stars, what is missing, and resuming after a stop."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars
import pytest
from scipy import stats

import corml
from corml._runtime.settings import values_of
from corml.errors import DataError, UsageError
from corml.experiments.reproduce import EXPERIMENTS, reproduce, table
from corml.experiments.reproduce import request as request_file
from corml.experiments.reproduce.data import shares
from corml.experiments.reproduce.published import read_published
from corml.experiments.run import Runner
from corml.splits import Split
from support import random_interactions

FAST = ["popularity", "item-knn"]


@pytest.fixture
def small(monkeypatch):
    """Every experiment of the paper's data runs on a small split."""
    parts = corml.split(random_interactions(3, 60, 30, 9), "ratio", seed=1)
    valid = Split(train=parts.train, test=parts.valid, procedure={**parts.procedure, "part": "valid"})
    for name in ("table", "novelty", "mix", "weights", "speed", "ablation"):
        changed = replace(
            EXPERIMENTS[name],
            split=lambda published, data, given=valid if name == "ablation" else parts: given,
            missing=lambda published, data: "ML-20M: fetch it." if data == "ml-20m" else "",
        )
        monkeypatch.setitem(EXPERIMENTS, name, changed)
    return parts


@pytest.fixture
def fits(monkeypatch):
    """Labels of everything that is fitted."""
    seen, run = [], Runner.run
    monkeypatch.setattr(Runner, "run", lambda self, planned: seen.append(planned.label) or run(self, planned))
    return seen


def score(model, split, metric="ndcg@10", **how):
    return corml.evaluate(model.fit(split.train), split, [metric], **how)[metric]


# --- table -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("paper", "ours", "expected"),
    [
        (0.1, 0.102, "agrees"), (0.1, 0.098, "agrees"), (0.1, 0.1021, "higher"), (0.1, 0.0979, "lower"),
        (None, 0.1, "not published"), (0.1, None, "failed"),
    ],
)  # fmt: skip
def test_a_figure_agrees_within_two_per_cent(paper, ours, expected):
    assert table.verdict(paper, ours, 0.02 + 1e-12) == expected


def test_the_table_shows_the_paper_next_to_ours(small, tmp_path):
    outcome = reproduce("table", data=["gowalla", "ml-20m"], models=["ease", "corml-untouched"])
    rows = {(row["model"], row["metric"]): row for row in outcome.rows}
    assert {row["data"] for row in outcome.rows} == {"gowalla"}
    one = rows["ease", "ndcg@10"]
    assert one["paper"] == 0.1268
    assert one["ours"] == pytest.approx(score(corml.models.make("ease", {"route": "local", "l2": 30.0}), small))
    assert one["difference"] == pytest.approx(one["ours"] / 0.1268 - 1)
    assert rows["corml-untouched", "mrr@20"]["paper"] == 0.2558
    assert outcome.missing == ["ML-20M: fetch it."]
    assert "Not available: ML-20M: fetch it." in outcome.to_text()
    assert outcome.data["gowalla"] == {"train": small.train.fingerprint, "split": small.fingerprint}
    heads = [f"paper {metric}" for metric in ("ndcg@5", "ndcg@10", "ndcg@20", "mrr@5", "mrr@10", "mrr@20")]
    assert all(head in outcome.to_markdown() for head in heads)
    assert [head for head in heads if head in outcome.to_text()] == ["paper ndcg@10"]
    text = (Path(table.__file__).parent / "published.toml").read_text("utf-8")
    (tmp_path / "mine.toml").write_text(text.replace("ease = [0.1211, 0.1268,", "ease = [0.1211, 0.9999,"), "utf-8")
    outcome = reproduce("table", data=["gowalla"], models=["ease"], published=tmp_path / "mine.toml")
    assert [row["paper"] for row in outcome.rows if row["metric"] == "ndcg@10"] == [0.9999]


def test_corml_is_run_with_the_papers_settings_untouched_and_tuned(small, monkeypatch):
    outcome = reproduce("table", data=["gowalla"], models=["corml"])
    used = {row["model"]: row["settings"] for row in outcome.rows}
    assert list(used) == ["corml-fixed-steps", "corml-paper", "corml-untouched", "corml-tuned"]
    assert (used["corml-fixed-steps"]["tol"], used["corml-fixed-steps"]["max_steps"]) == (0.0, 50)
    assert (used["corml-paper"]["mix"], used["corml-paper"]["ridge"]) == (0.8, 0.0)
    assert used["corml-tuned"]["user_balance"] == 0.15
    everything = replace(EXPERIMENTS["table"], missing=lambda published, name: "")  # a set without a search
    monkeypatch.setitem(EXPERIMENTS, "table", everything)
    no_search = reproduce("table", data=["ml-20m"], models=["corml-tuned", "popularity"])
    assert {row["model"] for row in no_search.rows} == {"popularity"}


def test_the_star_is_the_paired_test_against_the_best_other_model(small, monkeypatch):
    outcome = reproduce("table", data=["gowalla"], models=[*FAST, "corml-untouched"])
    values = {}
    for name in [*FAST, "corml-untouched"]:
        settings = {"shrink": 30.0, "neighbours": 1000} if name == "item-knn" else {}
        model = corml.models.make(name.removesuffix("-untouched"), settings).fit(small.train)
        values[name] = corml.evaluate(model, small, ["mrr@5"]).per_user["mrr@5"]
    best = max(FAST, key=lambda name: values[name].mean())
    (star,) = [row for row in outcome.rows if row["model"] == "corml-untouched" and row["metric"] == "mrr@5"]
    assert star["runner-up"] == best
    assert star["p"] == pytest.approx(stats.ttest_rel(values["corml-untouched"], values[best]).pvalue)
    assert star["star"] == (star["p"] < 0.01 and np.mean(values["corml-untouched"] - values[best]) > 0)
    assert star["paper's star"] is True
    assert not any(row["star"] for row in outcome.rows if row["model"] in FAST)
    monkeypatch.setattr(table, "paired_t_test", lambda difference: 0.0)
    rows = reproduce("table", data=["gowalla"], models=["corml-untouched", "item-knn"]).rows
    for row in (row for row in rows if row["model"] == "corml-untouched"):
        other = next(one for one in rows if one["model"] == "item-knn" and one["metric"] == row["metric"])
        assert row["star"] == (row["ours"] > other["ours"])


def test_a_model_that_fails_is_named_and_the_others_finish(small, monkeypatch):
    def broken(self, *given, **more):
        raise RuntimeError("boom")

    monkeypatch.setattr(corml.Popularity, "fit", broken)
    outcome = reproduce("table", data=["gowalla"], models=FAST)
    assert outcome.failed == ["gowalla, popularity: RuntimeError: 'boom'"]
    verdicts = {row["model"]: row["verdict"] for row in outcome.rows}
    assert verdicts == {"popularity": "failed", "item-knn": "not published"}


def test_gradient_models_are_skipped_without_pytorch_and_named(small, fits, monkeypatch):
    monkeypatch.setattr(request_file, "find_spec", lambda name: None)
    outcome = reproduce("speed", data=["gowalla"])
    assert {"simgcl", "recvae", "dpcml"} & set(fits) == set()
    assert {"slim", "ease", "gf-cf", "corml-untouched"} <= set(fits)
    assert outcome.failed == []
    assert "Not run without PyTorch (pip install 'corml[neural]'): dpcml, recvae, simgcl." in outcome.notes
    novelty = reproduce("novelty", data=["gowalla"])
    assert {row["model"] for row in novelty.rows} == {"corml-paper", "corml-unadapted", "gf-cf"}
    assert novelty.notes == ["Not run without PyTorch (pip install 'corml[neural]'): recvae, simgcl."]


# --- resuming --------------------------------------------------------------------------------------------------------


def test_what_is_finished_is_not_run_again_and_times_are_those_of_the_table(small, fits, tmp_path):
    models = ["gf-cf", "corml-untouched"]
    reproduce("table", data=["gowalla"], models=models[:1], folder=tmp_path)
    first = reproduce("table", data=["gowalla"], models=models, folder=tmp_path)
    assert reproduce("table", data=["gowalla"], models=models, folder=tmp_path).rows == first.rows
    outcome = reproduce("speed", data=["gowalla"], models=models, folder=tmp_path)
    assert fits == models
    rows = {row["model"]: row for row in outcome.rows}
    assert rows["gf-cf"]["paper, ML-20M"] == "a few tens of seconds"
    assert all(row["processor seconds"] > 0 for row in rows.values())
    assert "GF-CF" in outcome.charts["speed-gowalla"].description


def test_a_stopped_run_ends_with_the_same_figures(small, fits, tmp_path, monkeypatch):
    whole = reproduce("novelty", data=["gowalla"], models=["corml-untouched"])
    number, finish = len(fits), Runner.run

    def stopped(self, planned):
        if len(fits) == number + 4:
            raise KeyboardInterrupt
        return finish(self, planned)

    with monkeypatch.context() as patch:
        patch.setattr(Runner, "run", stopped)
        with pytest.raises(KeyboardInterrupt):
            reproduce("novelty", data=["gowalla"], models=["corml-untouched"], folder=tmp_path)
    resumed = reproduce("novelty", data=["gowalla"], models=["corml-untouched"], folder=tmp_path)
    assert len(fits) == 2 * number  # four before the stop, the rest after it
    assert (resumed.rows, resumed.checks) == (whole.rows, whole.checks)


# --- figures ---------------------------------------------------------------------------------------------------------


def test_a_figure_has_a_curve_over_the_papers_values(small):
    outcome = reproduce("novelty", data=["gowalla"], models=["corml-untouched", "gf-cf"])
    assert list(outcome.charts) == [f"novelty-gowalla-{metric}-10" for metric in ("ndcg", "mrr", "novelty")]
    curve = [row for row in outcome.rows if row["metric"] == "ndcg@10" and "item_norm" in row]
    assert [row["item_norm"] for row in curve] == [-0.2, -0.15, -0.1, -0.05, 0.0, 0.05, 0.1, 0.15, 0.2]
    assert curve[0]["ours"] == pytest.approx(score(corml.CoRML(item_norm=-0.2), small))
    ndcg, _, novelty = outcome.charts.values()
    assert "GF-CF" in ndcg.description
    assert "CoRML in the paper" in ndcg.body
    assert "CoRML in the paper" not in novelty.body  # the table has no novelty
    falls, peak, _ = outcome.checks
    assert "Nov@10 falls" in falls.says
    assert "t = 0.05" in peak.says


def test_weights_have_a_curve_for_each_exponent(small):
    outcome = reproduce("weights", data=["pinterest"])
    (chart, *_) = outcome.charts.values()
    assert all(f"t_u = {value}" in chart.description for value in ("0", "0.5", "1"))
    base = values_of(read_published().row("corml-paper", "pinterest").model)
    model = corml.models.make("corml", {**base, "scale": 10.0, "user_norm": 1.0})
    last = [row for row in outcome.rows if row["metric"] == "ndcg@10"][-1]
    assert (last["scale"], last["user_norm"]) == (10.0, 1.0)
    assert last["ours"] == pytest.approx(score(model, small))


# --- ablation --------------------------------------------------------------------------------------------------------


def test_the_ablation_opens_the_validation_set_alone(small):
    outcome = reproduce("ablation", data=["gowalla"])
    assert list(outcome.data) == ["gowalla, valid"]
    rows = {row["variant"]: row for row in outcome.rows}
    ours = score(corml.CoRML(), small, part="valid")
    assert rows["corml-untouched"]["ndcg@10"] == pytest.approx(ours) != score(corml.CoRML(), small)
    assert rows["corml-untouched"]["gain %"] == pytest.approx(100 * (ours / rows["corml-paper"]["ndcg@10"] - 1))
    for change in ("plain ridge", "filter not clipped", "H not pruned"):
        assert rows[f"with {change}"]["compared with"] == "corml-paper"
        assert rows[f"without {change}"]["compared with"] == "corml-untouched"
    without = score(corml.CoRML(ridge=0.0), small, part="valid")
    assert rows["without plain ridge"]["ndcg@10"] == pytest.approx(without)
    assert "corml-fixed-steps" in rows
    alone = {row["variant"] for row in reproduce("ablation", data=["gowalla"], models=("corml-untouched",)).rows}
    assert alone == set(rows) - {"corml-fixed-steps"}


# --- boards ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def lightgcn(tmp_path, monkeypatch):
    """A folder of data with a split for the leaderboard."""
    data = corml.split(random_interactions(5, 50, 30, 8), "ratio", shares=(0.8, 0.2), seed=1)
    folder = tmp_path / "lightgcn/gowalla"
    folder.mkdir(parents=True)
    for part, pairs in (("train", data.train), ("test", data.test)):
        users = enumerate(pairs.users.labels)
        lines = [" ".join([user, *pairs.items.labels[pairs.item[pairs.user == at]]]) for at, user in users]
        (folder / f"{part}.txt").write_text("\n".join(lines) + "\n")
    monkeypatch.setenv("CORML_DATA", str(tmp_path))
    return data


def test_a_leaderboard_has_published_rows_and_ours_the_best_first(lightgcn):
    outcome = reproduce("leaderboard", data=["gowalla", "yelp2018"], models=["gf-cf", "corml-untouched"])
    assert len(outcome.rows) == 11 + 2
    figures = [row["ndcg@20"] for row in outcome.rows]
    assert figures == sorted(figures, reverse=True)
    ours = {row["model"]: row for row in outcome.rows if row["from"] == "ours"}
    own = ours["CoRML, untouched"]
    assert own["recall@20"] == pytest.approx(score(corml.CoRML(), lightgcn, "recall@20"))
    assert ours["GF-CF"]["verdict"] in ("agrees", "higher", "lower")
    assert own["verdict"] == ""
    ahead = sum(row["recall@20"] > own["recall@20"] for row in outcome.rows if row["from"] != "ours")
    assert f"rank {ahead + 1} by recall@20" in outcome.notes[0]
    assert outcome.missing == [
        "yelp2018: put train.txt and test.txt (or .gz) of LightGCN's split into lightgcn/yelp2018 below CORML_DATA.",
    ]


def test_new_users_are_held_out_whole_and_as_many_as_the_papers_do(monkeypatch):
    data = random_interactions(5, 80, 30, 8)
    monkeypatch.setattr(corml.data, "load", lambda name, **options: data)
    monkeypatch.setattr(corml.data, "present", lambda entry: ["here"])
    outcome = reproduce("strong", data=["gowalla"], models=["item-knn"])
    split = corml.split(data, "new-users", shares=(0.8, 0.1, 0.1), given=0.8, seed=2026)
    model = corml.models.make("item-knn", {"shrink": 30.0, "neighbours": 1000})
    assert outcome.rows[0]["capped_recall@20"] == pytest.approx(score(model, split, "capped_recall@20"))
    assert outcome.data["strong-gowalla"]["split"] == split.fingerprint
    users = int((data.user_degrees >= 2).sum())
    assert shares(data, 7) == pytest.approx((1 - 14 / users, 7 / users, 7 / users))
    assert shares(data, 1000) == (0.8, 0.1, 0.1)


# --- bad input, and files --------------------------------------------------------------------------------------------


def test_data_that_are_not_available_are_named_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("CORML_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"None of the data are available. .*data fetch gowalla.*data fetch ml-20m"):
        reproduce("novelty")
    with pytest.raises(DataError, match=r"put netflix.parquet"):
        reproduce("strong", data=["netflix"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "tabel"}, "did you mean 'table'"),
        ({"name": "table", "data": ["gowala"]}, "did you mean 'gowalla'"),
        ({"name": "table", "data": ["movielens-small"], "models": ["eaze"]}, "did you mean 'ease'"),
        ({"name": "table", "data": ["gowalla"], "quick": True}, "leave out the data"),
    ],
)
def test_mistakes_are_named(given, message):
    with pytest.raises(UsageError, match=message):
        reproduce(**given)


def test_an_outcome_is_written_as_a_page_figures_and_charts(small, tmp_path):
    outcome = reproduce("mix", data=["pinterest"], models=["corml-untouched"])
    charts = {"mix-pinterest-ndcg-10.svg", "mix-pinterest-mrr-10.svg"}
    assert set(outcome.write(tmp_path)) == {"mix.md", "mix.csv", "mix.json"} | charts
    assert all("CoRML in the paper" in (tmp_path / name).read_text() for name in charts)
    frame = polars.read_csv(tmp_path / "mix.csv")
    assert frame.shape[0] == len(outcome.rows) == 38
    assert frame["ours"].to_list() == pytest.approx([row["ours"] for row in outcome.rows])
    assert all(f"({name})" in (tmp_path / "mix.md").read_text() for name in charts)


def test_every_experiment_has_a_section():
    assert list(EXPERIMENTS) == ["table", "novelty", "mix", "weights", "speed", "ablation", "leaderboard", "strong"]
    assert all(read_published().section(name) for name in EXPERIMENTS)
