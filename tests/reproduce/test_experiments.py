"""The experiments on small data: figures, verdicts, stars, what is missing, and going on after a stop."""

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
    only_valid = Split(train=parts.train, test=parts.valid, procedure={**parts.procedure, "part": "valid"})
    for name, experiment in EXPERIMENTS.items():
        if name not in ("leaderboard", "strong"):
            given = only_valid if name == "ablation" else parts
            monkeypatch.setitem(
                EXPERIMENTS,
                name,
                replace(
                    experiment,
                    split=lambda published, data, given=given: given,
                    missing=lambda published, data: "" if data != "ml-20m" else "ML-20M: fetch it.",
                ),
            )
    return parts


@pytest.fixture
def fits(monkeypatch):
    """Labels of everything that is fitted."""
    seen = []
    run = Runner.run

    def counted(self, planned):
        seen.append(planned.label)
        return run(self, planned)

    monkeypatch.setattr(Runner, "run", counted)
    return seen


# --- table -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("paper", "ours", "said"),
    [
        (0.1, 0.102, "agrees"),
        (0.1, 0.098, "agrees"),
        (0.1, 0.1021, "higher"),
        (0.1, 0.0979, "lower"),
        (None, 0.1, "not published"),
        (0.1, None, "failed"),
    ],
)
def test_a_verdict_is_about_two_per_cent(paper, ours, said):
    assert table.verdict(paper, ours, 0.02 + 1e-12) == said


def test_the_table_has_the_paper_beside_ours(small):
    outcome = reproduce("table", data=["gowalla", "ml-20m"], models=["ease", "corml-untouched"])
    rows = {(row["model"], row["metric"]): row for row in outcome.rows}
    assert {row["data"] for row in outcome.rows} == {"gowalla"}
    one = rows["ease", "ndcg@10"]
    assert one["paper"] == 0.1268
    model = corml.models.make("ease", {"route": "local", "l2": 30.0}).fit(small.train)
    assert one["ours"] == pytest.approx(corml.evaluate(model, small, ["ndcg@10"])["ndcg@10"])
    assert one["difference"] == pytest.approx(one["ours"] / 0.1268 - 1)
    assert rows["corml-untouched", "mrr@20"]["paper"] == 0.2558
    assert outcome.missing == ["ML-20M: fetch it."]
    assert "Not available: ML-20M: fetch it." in outcome.to_text()
    assert outcome.data["gowalla"] == {"train": small.train.fingerprint, "split": small.fingerprint}


def test_corml_stands_in_the_table_with_the_papers_settings_untouched_and_tuned(small, monkeypatch):
    outcome = reproduce("table", data=["gowalla"], models=["corml"])
    assert list(dict.fromkeys(row["model"] for row in outcome.rows)) == [
        "corml-fixed-steps",
        "corml-paper",
        "corml-untouched",
        "corml-tuned",
    ]
    used = {row["model"]: row["settings"] for row in outcome.rows}
    assert (used["corml-fixed-steps"]["tol"], used["corml-fixed-steps"]["max_steps"]) == (0.0, 50)
    assert (used["corml-paper"]["mix"], used["corml-paper"]["ridge"]) == (0.8, 0.0)
    assert used["corml-tuned"]["user_balance"] == 0.15
    everything = replace(EXPERIMENTS["table"], missing=lambda published, name: "")  # a set that nobody searched on
    monkeypatch.setitem(EXPERIMENTS, "table", everything)
    no_search = reproduce("table", data=["ml-20m"], models=["corml-tuned", "popularity"])
    assert {row["model"] for row in no_search.rows} == {"popularity"}


def test_the_star_is_the_paired_test_against_the_best_other_model(small):
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


def test_a_star_needs_to_be_ahead(small, monkeypatch):
    monkeypatch.setattr(table, "paired_t_test", lambda difference: 0.0)
    outcome = reproduce("table", data=["gowalla"], models=["corml-untouched", "item-knn"])
    for row in outcome.rows:
        if row["model"] == "corml-untouched":
            other = next(o for o in outcome.rows if o["model"] == "item-knn" and o["metric"] == row["metric"])
            assert row["star"] == (row["ours"] > other["ours"])


def test_the_page_has_every_metric_the_screen_only_the_first(small):
    outcome = reproduce("table", data=["gowalla"], models=FAST)
    heads = [f"paper {metric}" for metric in ("ndcg@5", "ndcg@10", "ndcg@20", "mrr@5", "mrr@10", "mrr@20")]
    assert [head for head in heads if head in outcome.to_markdown()] == heads
    assert [head for head in heads if head in outcome.to_text()] == ["paper ndcg@10"]


def test_another_file_of_published_figures_may_be_given(small, tmp_path):
    text = (Path(table.__file__).parent / "published.toml").read_text("utf-8")
    changed = text.replace("ease = [0.1211, 0.1268,", "ease = [0.1211, 0.9999,")
    assert changed != text
    (tmp_path / "mine.toml").write_text(changed, "utf-8")
    outcome = reproduce("table", data=["gowalla"], models=["ease"], published=tmp_path / "mine.toml")
    assert [row["paper"] for row in outcome.rows if row["metric"] == "ndcg@10"] == [0.9999]


def test_a_model_that_fails_is_named_and_the_others_finish(small, monkeypatch):
    def broken(self, *given, **more):
        raise RuntimeError("boom")

    monkeypatch.setattr(corml.Popularity, "fit", broken)
    outcome = reproduce("table", data=["gowalla"], models=FAST)
    assert outcome.failed == ["gowalla, popularity: RuntimeError: 'boom'"]
    verdicts = {row["model"]: row["verdict"] for row in outcome.rows}
    assert verdicts == {"popularity": "failed", "item-knn": "not published"}


def test_gradient_models_are_left_out_without_pytorch_and_named(small, fits, monkeypatch):
    monkeypatch.setattr(request_file, "find_spec", lambda name: None)
    outcome = reproduce("speed", data=["gowalla"])
    assert {"simgcl", "recvae", "dpcml"} & set(fits) == set()
    assert {"slim", "ease", "gf-cf", "corml-untouched"} <= set(fits)
    assert outcome.failed == []
    assert "Not run without PyTorch (pip install 'corml[neural]'): dpcml, recvae, simgcl." in outcome.notes
    beside = reproduce("novelty", data=["gowalla"])
    assert {row["model"] for row in beside.rows} == {"corml-paper", "corml-unadapted", "gf-cf"}
    assert beside.notes == ["Not run without PyTorch (pip install 'corml[neural]'): recvae, simgcl."]


# --- going on --------------------------------------------------------------------------------------------------------


def test_what_is_finished_is_not_run_again(small, fits, tmp_path):
    reproduce("table", data=["gowalla"], models=["popularity"], folder=tmp_path)
    first = reproduce("table", data=["gowalla"], models=FAST, folder=tmp_path)
    assert fits == FAST
    again = reproduce("table", data=["gowalla"], models=FAST, folder=tmp_path)
    assert fits == FAST
    assert again.rows == first.rows


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
    continued = reproduce("novelty", data=["gowalla"], models=["corml-untouched"], folder=tmp_path)
    assert len(fits) == 2 * number  # four before the stop, the rest after it
    assert continued.rows == whole.rows
    assert continued.checks == whole.checks


def test_times_are_those_of_the_fits_of_the_table(small, fits, tmp_path):
    reproduce("table", data=["gowalla"], models=["gf-cf", "corml-untouched"], folder=tmp_path)
    outcome = reproduce("speed", data=["gowalla"], models=["gf-cf", "corml-untouched"], folder=tmp_path)
    assert len(fits) == 2
    rows = {row["model"]: row for row in outcome.rows}
    assert rows["gf-cf"]["paper, ML-20M"] == "a few tens of seconds"
    assert all(row["processor seconds"] > 0 for row in rows.values())
    assert 'class="bar' in outcome.charts["speed-gowalla"].body or outcome.charts


# --- figures ---------------------------------------------------------------------------------------------------------


def test_a_figure_has_a_curve_over_the_papers_values(small):
    outcome = reproduce("novelty", data=["gowalla"], models=["corml-untouched", "gf-cf"])
    assert list(outcome.charts) == [f"novelty-gowalla-{metric}-10" for metric in ("ndcg", "mrr", "novelty")]
    curve = [row for row in outcome.rows if row["metric"] == "ndcg@10" and "item_norm" in row]
    assert [row["item_norm"] for row in curve] == [-0.2, -0.15, -0.1, -0.05, 0.0, 0.05, 0.1, 0.15, 0.2]
    model = corml.CoRML(item_norm=-0.2).fit(small.train)
    assert curve[0]["ours"] == pytest.approx(corml.evaluate(model, small, ["ndcg@10"])["ndcg@10"])
    drawn = [chart.description for chart in outcome.charts.values()]
    assert "GF-CF" in drawn[0]
    assert "CoRML in the paper" in outcome.charts["novelty-gowalla-ndcg-10"].body
    assert "CoRML in the paper" not in outcome.charts["novelty-gowalla-novelty-10"].body  # the table has none
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
    assert last["ours"] == pytest.approx(corml.evaluate(model.fit(small.train), small, ["ndcg@10"])["ndcg@10"])


# --- ablation --------------------------------------------------------------------------------------------------------


def test_the_ablation_opens_the_valid_part_alone(small):
    outcome = reproduce("ablation", data=["gowalla"])
    assert list(outcome.data) == ["gowalla, valid"]
    rows = {row["variant"]: row for row in outcome.rows}
    ours = corml.evaluate(corml.CoRML().fit(small.train), small, ["ndcg@10"], part="valid")["ndcg@10"]
    assert rows["corml-untouched"]["ndcg@10"] != corml.evaluate(corml.CoRML().fit(small.train), small)["ndcg@10"]
    assert rows["corml-untouched"]["ndcg@10"] == pytest.approx(ours)
    start = rows["corml-paper"]["ndcg@10"]
    assert rows["corml-untouched"]["gain %"] == pytest.approx(100 * (ours / start - 1))
    for change in ("plain ridge", "filter not clipped", "H not pruned"):
        assert rows[f"with {change}"]["compared with"] == "corml-paper"
        assert rows[f"without {change}"]["compared with"] == "corml-untouched"
    without = corml.CoRML(ridge=0.0).fit(small.train)
    found = corml.evaluate(without, small, ["ndcg@10"], part="valid")["ndcg@10"]
    assert rows["without plain ridge"]["ndcg@10"] == pytest.approx(found)


def test_fixed_steps_stand_beside_the_changes_unless_left_out(small):
    names = {models: {row["variant"] for row in reproduce("ablation", data=["gowalla"], models=models).rows}
             for models in (None, ("corml",), ("corml-untouched",))}  # fmt: skip
    assert "corml-fixed-steps" in names[None] & names["corml",]
    assert names["corml-untouched",] == names[None] - {"corml-fixed-steps"}


# --- boards ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def lightgcn(tmp_path, monkeypatch):
    """A folder of data with a split for the leaderboard."""
    data = corml.split(random_interactions(5, 50, 30, 8), "ratio", shares=(0.8, 0.2), seed=1)
    place = tmp_path / "lightgcn/gowalla"
    place.mkdir(parents=True)
    for part, pairs in (("train", data.train), ("test", data.test)):
        lines = [
            " ".join([user, *pairs.items.labels[pairs.item[pairs.user == at]]])
            for at, user in enumerate(pairs.users.labels)
        ]
        (place / f"{part}.txt").write_text("\n".join(lines) + "\n")
    monkeypatch.setenv("CORML_DATA", str(tmp_path))
    return data


def test_a_leaderboard_has_published_rows_and_ours_the_best_first(lightgcn):
    outcome = reproduce("leaderboard", data=["gowalla", "yelp2018"], models=["gf-cf", "corml-untouched"])
    assert len(outcome.rows) == 11 + 2
    figures = [row["ndcg@20"] for row in outcome.rows]
    assert figures == sorted(figures, reverse=True)
    ours = {row["model"]: row for row in outcome.rows if row["from"] == "ours"}
    model = corml.CoRML().fit(lightgcn.train)
    assert ours["CoRML, untouched"]["recall@20"] == pytest.approx(
        corml.evaluate(model, lightgcn, ["recall@20"])["recall@20"]
    )
    assert ours["GF-CF"]["verdict"] in ("agrees", "higher", "lower")
    assert ours["CoRML, untouched"]["verdict"] == ""
    ahead = sum(
        row["recall@20"] > ours["CoRML, untouched"]["recall@20"] for row in outcome.rows if row["from"] != "ours"
    )
    assert f"rank {ahead + 1} by recall@20" in outcome.notes[0]
    assert outcome.missing == [
        "yelp2018: put train.txt and test.txt (or .gz) of LightGCN's split into lightgcn/yelp2018 below CORML_DATA.",
    ]


def test_new_users_are_held_out_whole(monkeypatch):
    data = random_interactions(5, 80, 30, 8)
    monkeypatch.setattr(corml.data, "load", lambda name, **options: data)
    monkeypatch.setattr(corml.data, "present", lambda entry: ["here"])
    outcome = reproduce("strong", data=["gowalla"], models=["item-knn"])
    split = corml.split(data, "new-users", shares=(0.8, 0.1, 0.1), given=0.8, seed=2026)
    settings = {"shrink": 30.0, "neighbours": 1000}
    result = corml.evaluate(corml.models.make("item-knn", settings).fit(split.train), split, ["capped_recall@20"])
    assert outcome.rows[0]["capped_recall@20"] == pytest.approx(result["capped_recall@20"])
    assert outcome.data["strong-gowalla"]["split"] == split.fingerprint


def test_as_many_users_are_held_out_as_the_papers_do():
    data = random_interactions(5, 80, 30, 8)
    train, valid_share, test_share = shares(data, 7)
    users = int((data.user_degrees >= 2).sum())
    assert valid_share == test_share == pytest.approx(7 / users)
    assert train == pytest.approx(1 - 14 / users)
    assert shares(data, 1000) == (0.8, 0.1, 0.1)


# --- bad input -------------------------------------------------------------------------------------------------------


def test_what_is_not_at_hand_is_named_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("CORML_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"None of the data are available. .*data fetch gowalla.*data fetch ml-20m"):
        reproduce("novelty")
    with pytest.raises(DataError, match=r"put netflix.parquet"):
        reproduce("strong", data=["netflix"])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"name": "tabel"}, "did you mean 'table'"),
        ({"name": "table", "data": ["gowala"]}, "did you mean 'gowalla'"),
        ({"name": "table", "data": ["movielens-small"], "models": ["eaze"]}, "did you mean 'ease'"),
        ({"name": "table", "data": ["gowalla"], "quick": True}, "leave out the data"),
    ],
)
def test_mistakes_are_named(given, says):
    with pytest.raises(UsageError, match=says):
        reproduce(**given)


# --- files -----------------------------------------------------------------------------------------------------------


def test_an_outcome_is_written_as_a_page_figures_and_drawings(small, tmp_path):
    outcome = reproduce("mix", data=["pinterest"], models=["corml-untouched"])
    names = {*outcome.write(tmp_path)}
    drawings = {"mix-pinterest-ndcg-10.svg", "mix-pinterest-mrr-10.svg"}
    assert names == {"mix.md", "mix.csv", "mix.json"} | drawings
    assert all("CoRML in the paper" in (tmp_path / name).read_text() for name in drawings)
    frame = polars.read_csv(tmp_path / "mix.csv")
    assert frame.shape[0] == len(outcome.rows) == 38
    assert frame["ours"].to_list() == pytest.approx([row["ours"] for row in outcome.rows])
    assert all(f"({name})" in (tmp_path / "mix.md").read_text() for name in drawings)


def test_every_experiment_has_a_section():
    assert list(EXPERIMENTS) == ["table", "novelty", "mix", "weights", "speed", "ablation", "leaderboard", "strong"]
