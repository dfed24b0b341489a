"""corml compare: one command from a file to a table, that continues, and says who failed."""

import json

import polars as pl
import pytest

import corml

MODELS = ["--models", "ease,popularity", "-m", "ndcg@10,recall@5"]


def test_a_table_with_tests_is_printed_and_everything_is_written(run, here, shop):
    given = ["compare", shop / "ratings.csv", "--at-least", "2", *MODELS]
    outcome = run(*given, "--out", "study")
    assert outcome.code == 0
    assert outcome.out.startswith("model")
    assert "p (Wilcoxon)" not in outcome.out  # every test is on the page, and printed with -v
    assert "ndcg@10 decides; 40 users" in outcome.out
    assert len(outcome.out.splitlines()) < 12
    assert "p (Wilcoxon)" in run(*given, "--out", "study", "-v").out
    assert "1 of 2: ease: ndcg@10" in outcome.err
    assert "about" in outcome.err  # the time left
    for name in ("tables.txt", "tables.md", "tables.tex", "results.csv", "results.json", "report.html", "study.json"):
        assert (here / "study" / name).exists()
    record = json.loads((here / "study/results.json").read_text("utf-8"))
    assert record["provenance"]["command"].startswith("corml compare ")
    assert "--out study" in record["provenance"]["command"]
    again = run(*given, "--out", "study")
    assert again.out == outcome.out  # also the cost: nothing was run
    assert "of 2:" not in again.err


def test_the_figures_are_those_of_evaluate(run, here, shop):
    compared = run("compare", shop / "ratings.csv", "--models", "popularity", "-m", "ndcg@10", "--json").json
    run("fit", shop / "ratings.csv", "--model", "popularity", "--split", "ratio", "-o", "m.corml")
    evaluated = run("evaluate", "m.corml", "-m", "ndcg@10", "--json").json
    assert compared["models"][0]["means"] == evaluated["metrics"]
    assert compared["models"][0]["intervals"]["ndcg@10"] == pytest.approx(evaluated["intervals"]["ndcg@10"], rel=1e-12)
    assert compared["splits"][0]["fingerprint"] == evaluated["split"]


@pytest.mark.parametrize(
    ("shape", "start"),
    [("text", "model"), ("markdown", "| model"), ("latex", r"\begin{tabular}"), ("csv", "label,"), ("json", "{")],
)
def test_every_format_is_printed(run, here, shop, shape, start):
    assert run("compare", shop / "ratings.csv", *MODELS, "--format", shape).out.startswith(start)


def test_lists_of_another_program_take_part(run, here, shop):
    run("fit", shop / "ratings.csv", "--split", "ratio", "--no-refit", "--model", "ease", "-o", "m.corml")
    run("recommend", "m.corml", "--all", "--seen", "learned", "-k", "25", "--out", "lists.csv")
    outcome = run("compare", shop / "ratings.csv", *MODELS, "--lists", "theirs=lists.csv", "--json").json
    means = {entry["label"]: entry["means"] for entry in outcome["models"]}
    assert means["theirs"] == means["ease"]


def test_ready_made_parts_and_several_splits(run, here, shop):
    split = corml.split(corml.load(shop / "ratings.csv"), seed=3)
    for name, part in split.parts().items():
        frame = {"user": split.train.users.labels[part.user], "item": split.train.items.labels[part.item]}
        pl.DataFrame({key: list(values) for key, values in frame.items()}).write_csv(f"{name}.csv")
    files = ["--train", "train.csv", "--valid", "valid.csv", "--test", "test.csv"]
    parts = run("compare", *files, *MODELS, "--json").json
    seeds = run("compare", shop / "ratings.csv", *MODELS, "--split-set", "seed=3", "--json").json
    assert parts["models"][0]["means"] == pytest.approx(seeds["models"][0]["means"])
    several = run(
        "compare", shop / "ratings.csv", *MODELS, "--split-set", "seed=3", "--split-seeds", "2", "--json"
    ).json
    assert [one["procedure"]["seed"] for one in several["splits"]] == [3, 4]
    assert several["models"][0]["runs"][0]["means"] == seeds["models"][0]["means"]


def test_a_model_that_fails_is_named_with_exit_code_6_and_the_others_finish(run, here, shop, monkeypatch):
    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr("corml.models.linear.ease.EASE._fit", fail)
    outcome = run("compare", shop / "ratings.csv", *MODELS, "--out", "study")
    assert outcome.code == 6
    assert (
        "error[study]: 1 of 2 models failed, the others are finished; ease: There was not enough memory" in outcome.err
    )
    assert "popularity" in outcome.out
    monkeypatch.undo()
    monkeypatch.chdir(here)
    assert run("compare", shop / "ratings.csv", *MODELS, "--out", "study").code == 0


@pytest.mark.parametrize(
    ("words", "code", "fragment"),
    [
        (["--models", "corml,eese"], 2, "did you mean 'ease'"),
        (["--models", "ease:l3=1"], 2, "did you mean 'l2'"),
        (["--models", ","], 2, "There is nothing to compare"),
        (["-m", "ndgc@10"], 2, "did you mean 'ndcg'"),
        (["--primary", "gini@10"], 2, "cannot decide which model is best"),
        (["--format", "html"], 2, "no format 'html'"),
        (["--lists", "theirs=none.csv"], 3, "No such file"),
        (["--lists", "none.csv"], 2, "none.csv"),
        (["--seeds", "0"], 2, "seeds must be a whole number"),
        (["--split-seeds", "0"], 2, "--split-seeds must be 1 or more"),
        (["--split", "leave-last", "--split-seeds", "2"], 2, "has no seed"),
        (["--split", "rotio"], 2, "did you mean 'ratio'"),
        (["--train", "a.csv", "--test", "b.csv"], 2, "not both"),
    ],
)
def test_a_mistake_is_named_before_the_data_are_read(run, here, shop, monkeypatch, words, code, fragment):
    monkeypatch.setattr("corml.cli._work.corml.load", lambda *_, **__: pytest.fail("the data were read"))
    outcome = run("compare", shop / "ratings.csv", *words)
    assert outcome.code == code
    assert fragment in outcome.err


def test_there_must_be_data(run, here):
    assert "Say what to compare on" in run("compare").err
    assert "needs at least --train and --test" in run("compare", "--train", "a.csv").err
