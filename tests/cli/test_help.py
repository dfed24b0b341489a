"""What a newcomer sees first."""

import re
import subprocess
import sys

import pytest

import corml
from corml import models, plugins, splits
from corml._runtime.settings import declared
from corml.cli._commands import ORDER, short_help
from corml.evaluation import metrics

NAMES = [name.replace("_", "-") for name in plugins.names("corml.cli")]
COMMANDS = [[name] for name in NAMES]
COMMANDS += [["data", name] for name in ("list", "fetch", "info", "convert", "split")]


def words(text):
    return " ".join(text.split())


def test_the_program_without_arguments_shows_its_help(run):
    assert run().out == run("--help").out == run("-h").out
    assert run("data").out == run("data", "--help").out


def test_the_version_is_that_of_the_package(run):
    assert run("--version").out == f"corml {corml.__version__}\n"


def test_help_lists_every_command_in_the_order_of_use_and_cuts_no_line(run):
    listed = re.findall(r"^  ([a-z-]+) {2,}(\S.*)$", run("--help").out.partition("Commands:")[2], re.MULTILINE)
    assert [name for name, _ in listed] == list(ORDER)
    assert set(ORDER) == set(NAMES)
    assert all(line.endswith(".") and not line.endswith("...") for _, line in listed)
    assert "..." not in run("data", "--help").out.partition("Commands:")[2]


@pytest.mark.parametrize("name", NAMES)
def test_the_short_help_of_a_command_is_the_first_line_of_its_help(run, name):
    listed = words(run("--help").out.partition("Commands:")[2])
    first = run(name, "--help").out.split("\n\n")[1]
    assert short_help(name) == words(first)
    assert f" {name} {short_help(name)}" in f" {listed}"


@pytest.mark.parametrize("given", [["--version"], ["--help"], []], ids=["version", "help", "nothing"])
def test_version_and_help_load_no_command_and_no_heavy_module(given):
    code = f"""
import sys
from corml.cli import main
try:
    main({given!r})
finally:
    print(*sys.modules, file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert done.stdout.startswith("corml " if given == ["--version"] else "Usage: corml ")
    assert not loaded & {"numpy", "scipy", "numba", "polars", "narwhals", "rich", "torch", "matplotlib", "pydantic"}
    assert not loaded & {f"corml.cli.{name}" for name in plugins.names("corml.cli")}


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_an_example_and_every_option_a_sentence(run, command):
    shown = run(*command, "--help").out
    assert f"corml {' '.join(command)}" in shown.partition("Examples:")[2].partition("Options:")[0]
    options = re.split(r"\n  (?=-)", shown.partition("\nOptions:")[2])[1:]
    for option in options:
        assert re.search(r" {2,}\S|\n {6,}\S", option), option


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_fits_a_narrow_terminal(run, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    before_examples, _, after = run(*command, "--help").out.partition("Examples:")
    described = before_examples + after.partition("Options:")[2]
    assert all(len(line) <= 60 for line in described.splitlines())


def test_help_on_splitting_names_every_split_and_every_option(run):
    shown = words(run("fit", "--help").out).replace("new- users", "new-users")
    for name in plugins.names("corml.splits"):
        assert name.replace("_", "-") in shown
        assert all(f"{option}=" in shown for option in splits.options(name))


def test_metrics_are_shown_with_a_formula(run):
    shown, listed = run("metrics", "-v").out, run("metrics", "--json").json
    assert [row["name"] for row in listed] == [name for name, *_ in metrics.describe()]
    assert all(row["formula"] and row["formula"] in shown for row in listed)
    assert len(run("metrics").out.splitlines()) == len(listed)


def test_models_are_shown_with_every_setting_and_their_papers(run):
    shown, listed = run("models", "-v").out, run("models", "--json").json
    assert len(run("models").out.splitlines()) == len(listed)
    assert list(listed) == list(models.names())
    for name, about in listed.items():
        model = models.get(name)
        line = model.__doc__.splitlines()[0]
        assert f"{name}: {line}\n" in shown
        assert about["about"] == line
        assert about["citation"] == model.CITATION
        assert model.CITATION in shown
        assert [row["setting"] for row in about["settings"]] == list(declared(model))
        assert all(f"\n    {setting} " in shown for setting in declared(model))
        assert about["extra"] == ("neural" if hasattr(model, "learning_rate") else None)
    assert list(run("models", "popularity", "--json").json) == ["popularity"]


def test_the_settings_of_a_model_are_one_aligned_table(run):
    rows = re.findall(r"^    (\w+ +.*)$", run("models", "bpr-mf").out, re.MULTILINE)
    assert len(rows) == len(declared(models.get("bpr-mf")))
    meanings = [spec.help for spec in declared(models.get("bpr-mf")).values()]
    assert len({row.index(meaning) for row, meaning in zip(rows, meanings, strict=True)}) == 1


def test_valid_values_of_settings_are_shown_for_a_single_model(run):
    assert run("models", "simgcl").out.count("must be ") == len(declared(models.get("simgcl")))
    assert "must be " not in run("models").out


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["ft"], "No such command 'ft'. Did you mean 'fit'? See: corml --help"),
        (["data", "inf"], "See: corml data --help"),
        (["fit", "x.csv"], "Say where to write the model: --out FILE"),
        (["fit", "x.csv", "-o", "m", "--rnk", "3"], "--rnk"),
        (["recommend"], "See: corml recommend --help"),
        (["models", "corlm"], "did you mean 'corml'"),
        (["data", "fetch", "ml-100"], "did you mean 'ml"),
    ],
)
def test_a_typing_mistake_gets_a_suggestion(run, given, sentence):
    outcome = run(*given)
    assert outcome.code == 2
    assert sentence in outcome.err
