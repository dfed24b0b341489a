"""At home in a shell: quiet, pipes, completion, files that are not models, split files, ids with commas."""

import importlib.metadata
import os
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import polars
import pytest

import corml
from corml.cli._commands import ORDER
from corml.models.neural.training.checkpoint import UNFINISHED
from corml.persistence import container

ROOT = Path(__file__).resolve().parents[2]
MODULE = [sys.executable, "-m", "corml"]


@pytest.fixture
def csv(shop):
    return shop / "ratings.csv"


# --- the program -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "completions"),
    [
        (["rec"], ["recommend"]),
        (["data", "inf"], ["info"]),
        (["fit", "--checkp"], ["--checkpoint"]),
        (["fit", "--model", "popu"], ["popularity"]),
    ],
)
def test_the_shell_completes_commands_options_and_models(run, monkeypatch, words, completions):
    for name, value in {"COMPLETE": "complete_bash", "WORDS": " ".join(["corml", *words]), "CWORD": len(words)}.items():
        monkeypatch.setenv(f"_CORML_{name}" if name == "COMPLETE" else f"COMP_{name}", str(value))
    outcome = run()
    assert (outcome.out.split(), outcome.err) == (completions, "")


def test_commands_are_completed_without_importing_them():
    code = "import sys; from corml.cli import main\ntry: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    environment = {**os.environ, "_CORML_COMPLETE": "complete_bash", "COMP_WORDS": "corml ", "COMP_CWORD": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == list(ORDER)
    assert not set(done.stderr.split()) & {"numpy", "numba", "polars", "corml.cli.fit", "corml.cli.recommend"}


def test_the_program_prints_a_completion_script():
    asked = f"{shlex.join([*MODULE, '--show-completion', 'bash'])}; exit $?"
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
    assert "complete -o default -F _corml_completion corml" in done.stdout


def test_the_package_says_who_made_it_and_where_it_runs():
    about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert importlib.metadata.version("corml") == corml.__version__
    assert about["license"] == "MIT"
    (author,) = about["authors"]
    assert author["name"] in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert f"name: {author['name']}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    versions = [line.rpartition(" ")[2] for line in about["classifiers"] if line.startswith("Programming Language")]
    lowest = about["requires-python"].removeprefix(">=")
    assert lowest == min((one for one in versions if "." in one), key=lambda one: int(one.partition(".")[2]))


# --- quiet -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["-q", "fit"], ["fit", "--quiet"]])
def test_a_quiet_fit_prints_nothing_and_writes_its_file(run, here, csv, words):
    outcome = run(*words, csv, "-o", "m.corml")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    assert corml.read_model("m.corml").NAME == "corml"


def test_a_quiet_program_still_prints_results_and_errors(run, here, shop):
    outcome = run("recommend", shop / "all.corml", "--history", "i1", "-k", 1, "-q")
    assert outcome.out.split()[:2] == ["user", "rank"]
    assert outcome.err == ""
    assert run("-q", "recommend", shop / "all.corml").err.startswith("error[usage]: Say for whom")


def test_the_next_command_is_not_quiet(run, here, csv):
    run("fit", csv, "-o", "m.corml", "-q")
    assert run("fit", csv, "-o", "m.corml").out.startswith("wrote m.corml")


def test_after_two_dashes_words_are_words(run):
    assert "No such command '-q'" in run("--", "-q").err


# --- standard output -------------------------------------------------------------------------------------------------


def test_lists_go_to_standard_output_as_csv(run, here, shop):
    outcome = run("recommend", shop / "all.corml", "--all", "-k", 2, "--out", "-")
    run("recommend", shop / "all.corml", "--all", "-k", 2, "--out", "lists.csv")
    assert outcome.out == (here / "lists.csv").read_text()
    assert outcome.out.startswith("user,rank,item,score,title,source,reason\n")
    assert os.listdir(here) == ["lists.csv"]


def test_lists_go_to_a_pipe_byte_by_byte(shop):
    words = ["recommend", str(shop / "all.corml"), "--user", "u1", "-k", "1", "--out", "-"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*MODULE, *words], capture_output=True, check=True, env=environment)
    assert done.stdout.startswith(b"user,rank,item,score,title,source,reason\nu1,1,")
    assert done.stdout.endswith(b"\n")


def test_with_json_standard_output_is_json(run, shop):
    words = ["recommend", shop / "all.corml", "--user", "u1", "--json"]
    assert run(*words, "--out", "-").json == run(*words).json


def test_converted_data_go_to_standard_output(run, here, csv):
    outcome = run("data", "convert", csv, "-")
    run("data", "convert", csv, "copy.csv")
    assert outcome.out == (here / "copy.csv").read_text()


def test_values_of_users_go_to_standard_output_alone(run, here, shop, monkeypatch):
    outcome = run("evaluate", shop / "split.corml", "-m", "ndcg@5", "--per-user", "-")
    assert outcome.out.splitlines()[0] == "user,ndcg@5"
    assert all(line.count(",") == 1 for line in outcome.out.splitlines())


def test_a_page_goes_to_standard_output(run, here, shop):
    outcome = run("report", shop / "split.corml", "--out", "-")
    assert outcome.out.startswith("<!doctype html>")
    assert os.listdir(here) == []


@pytest.mark.parametrize("words", [["fit", "{csv}", "-o", "-"], ["data", "split", "{csv}", "-"]])
def test_what_is_no_text_needs_a_file(run, here, csv, words):
    outcome = run(*(str(csv) if word == "{csv}" else word for word in words))
    assert outcome.code == 2
    assert "is a file, not text for standard output: give it a name." in outcome.err


# --- ids with commas -------------------------------------------------------------------------------------------------


@pytest.fixture
def groceries(run, here):
    pairs = [(f"u{n % 7}", item) for n in range(30) for item in ("Salt, coarse", "Pepper", f"p{n % 5}")]
    polars.DataFrame(pairs, schema=["user", "item"], orient="row").write_csv("g.csv")
    assert run("fit", "g.csv", "-o", "g.corml").code == 0
    return "g.corml"


def test_items_with_commas_are_given_one_by_one(run, groceries):
    listed = run("recommend", groceries, "--item", "Salt, coarse", "--item", "p1", "--json").json
    assert len(listed) == 1
    assert listed[0]["unknown"] == []
    assert "Salt, coarse" not in {item["item"] for item in listed[0]["items"]}
    assert run("recommend", groceries, "--history", "Salt, coarse", "--json").json[0]["unknown"] == ["Salt", "coarse"]


def test_items_make_one_history_beside_others(run, groceries):
    listed = run("recommend", groceries, "--history", "p1,p2", "--item", "Pepper", "--item", "p3", "--json").json
    assert len(listed) == 2


def test_an_explanation_takes_items_with_commas(run, groceries):
    explained = run("explain", groceries, "Pepper", "--item", "Salt, coarse", "--history", "p1", "--json").json
    assert {row["item"] for row in explained["contributions"]} == {"p1", "Salt, coarse"}
    assert "Say whose history: either --user, or --history or --item." in run("explain", groceries, "Pepper").err


# --- files that are not models ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["notes.txt", "other.csv", "my.split"])
def test_fit_does_not_replace_what_is_not_a_model(run, here, csv, kind):
    if kind == "my.split":
        run("data", "split", csv, kind)
    else:
        (here / kind).write_text("precious")
    before = (here / kind).read_bytes()
    outcome = run("fit", csv, "-o", kind)
    assert outcome.code == 2
    sentence = f"'{kind}' exists and is not a model file: choose another name, or replace it with --force."
    assert outcome.err == f"error[usage]: {sentence}\n"
    assert (here / kind).read_bytes() == before
    assert run("fit", csv, "-o", kind, "--force").code == 0
    assert corml.read_model(kind).NAME == "corml"


def test_fit_replaces_a_model_and_an_empty_file(run, here, csv):
    (here / "m.corml").touch()  # as mktemp leaves it
    assert run("fit", csv, "-o", "m.corml", "--model", "popularity").code == 0
    assert run("fit", csv, "-o", "m.corml").code == 0
    assert corml.read_model("m.corml").NAME == "corml"


def test_fit_does_not_replace_a_checkpoint(run, here, csv):
    (here / "c.ckpt").write_bytes(container.pack({"a": np.zeros(1)}, {"model": "bpr-mf" + UNFINISHED}))
    assert "'c.ckpt' exists and is not a model file" in run("fit", csv, "-o", "c.ckpt").err


# --- split files -----------------------------------------------------------------------------------------------------


@pytest.fixture
def split(run, here, csv):
    assert run("data", "split", csv, "my.split", "--split-set", "seed=3").code == 0
    return "my.split"


def test_a_model_is_fitted_on_a_split_file_alone(run, csv, split):
    assert run("fit", "--split", split, "-o", "a.corml").code == 0
    assert run("fit", csv, "--split", "ratio", "--split-set", "seed=3", "-o", "b.corml").code == 0
    a, b = corml.read_model("a.corml"), corml.read_model("b.corml")
    assert a.fitted_.evaluation["metrics"] == b.fitted_.evaluation["metrics"]
    assert a.fitted_.evaluation["split"] == corml.read_split(split).fingerprint
    assert run("verify", "a.corml").code == 0


def test_a_model_is_fitted_on_a_split_file_of_the_data_it_names(run, csv, split):
    assert run("fit", csv, "--split", split, "-o", "a.corml").code == 0
    outcome = run("fit", csv, "--at-least", 4, "--split", split, "-o", "a.corml")
    assert outcome.code == 3
    assert "The data are not those the split was made from" in outcome.err


def test_a_model_is_evaluated_on_a_split_file(run, csv, split):
    run("fit", csv, "--split", "ratio", "--split-set", "seed=3", "-o", "m.corml")
    recorded = run("evaluate", "m.corml", "-m", "ndcg@5", "--json").json
    assert run("evaluate", "m.corml", "-m", "ndcg@5", "--split", split, "--json").json["metrics"] == recorded["metrics"]
    assert run("evaluate", "m.corml", csv, "-m", "ndcg@5", "--split", split).code == 0


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["--split", "no.split"], 3, "Cannot read the split 'no.split': No such file or directory."),
        (["--split", "text.split"], 3, "'text.split' is not a corml split file"),
        (
            ["--split", "my.split", "--split-set", "seed=7"],
            2,
            "A split file has its pairs already: leave out --split-set",
        ),
        (
            ["--split", "my.split", "--at-least", 4],
            2,
            "were loaded before: leave out --at-least, or name the data too.",
        ),
        (["--split", "ratio"], 2, "Say what to learn from"),
    ],
)
def test_a_split_file_that_cannot_be_meant_is_one_sentence(run, here, split, words, code, sentence):
    (here / "text.split").write_text("a,b\n")
    outcome = run("fit", *words, "-o", "m.corml")
    assert outcome.code == code
    assert sentence in outcome.err
    assert not (here / "m.corml").exists()


def test_a_split_file_is_not_written_over_by_its_model(run, split):
    assert "is the file to read" in run("fit", "--split", split, "-o", split).err


# --- a dial ----------------------------------------------------------------------------------------------------------


def test_a_dial_is_evaluated_at_a_position(run, here, csv):
    words = ["--model", "corml-dial", "--set", "item_norms=-0.4,0,0.4", "--split", "ratio", "-o", "d.corml"]
    assert run("fit", csv, *words, "--no-refit").code == 0
    dial, split = corml.read_model("d.corml"), corml.split(corml.load(str(csv)), "ratio")
    for at in (0, 1):
        shown = run("evaluate", "d.corml", "-m", "novelty@5", "--novelty", at, "--json").json
        assert shown["metrics"]["novelty@5"] == corml.evaluate(dial.at(at), split, "novelty@5")["novelty@5"]
    assert corml.evaluate(dial.at(0), split, "novelty@5")["novelty@5"] != shown["metrics"]["novelty@5"]


def test_a_model_without_a_dial_says_so(run, shop):
    assert "needs a model with several operating points" in run("evaluate", shop / "split.corml", "--novelty", 1).err
