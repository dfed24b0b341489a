"""Settings files and split files: every command that learns or measures takes them, with every option of loading."""

import inspect
import os
import random
import re
import tomllib
import typing

import pytest

import corml
from cli.test_keep import full_disk
from corml import models
from corml.cli._inputs import read_settings
from corml.cli._options import LOADING, with_loading
from corml.data import LoadOptions, load
from corml.errors import SettingError
from corml.experiments.tuning import space_of
from corml.experiments.tuning.settings_text import section

TEXT = 'a "quoted" \\ text with ünïcode,\ttabs and \x7f'
OPTIONS = {"source": str, **typing.get_type_hints(LoadOptions)}


def examples(name, kind):
    """Values of every type that an option may have in a settings file."""
    choices = typing.get_args(kind) if typing.get_origin(kind) is not typing.Literal else [kind]
    for one in choices or [kind]:
        origin = typing.get_origin(one) or one
        if origin is bool:
            yield from (True, False)
        elif origin is int:
            yield from (0, 7)
        elif origin is float:
            yield from (0.1, 1e-9, 5)
        elif origin is typing.Literal:
            yield from typing.get_args(one)
        elif origin in (str, object):
            yield TEXT
        elif name in ("titles", "items"):
            continue  # a table in memory has no place in a file
        elif origin.__name__ == "Mapping":
            yield {"view": 1.0, "add to cart": 2.5, 'a "b"': 0, "größe": 3}
        elif origin.__name__ == "Iterable":
            yield ["return", TEXT]


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_of_load_is_read_from_a_settings_file_as_it_was_written(tmp_path, name):
    values = list(examples(name, OPTIONS[name]))
    assert values, f"say in examples() how {name}= of load is written in a settings file: {OPTIONS[name]}"
    for value in values:
        (tmp_path / "s.toml").write_text(section("data", {name: value}), "utf-8")
        read = read_settings(str(tmp_path / "s.toml"))["data"][name]
        assert (read, type(read)) == (value, type(value))


def test_the_options_are_those_of_load():
    """So that an option without a type, and hence without an example, is missed here."""
    assert set(OPTIONS) == set(inspect.signature(load).parameters) - {"notify", "as_update"}


@with_loading
def gathered(loading=None):
    return loading


FLAGS = {
    "weights": "view=1,add to cart=2.5",
    "negative": "return,thumbs down",
    "no_header": True,
    "user": "0",
    "max_bad_rows": "5%",
}
NOT_TOGETHER = {"rating": "no_rating", "time": "no_time"}


def test_every_flag_of_loading_is_an_option_of_load_and_comes_back_from_a_settings_file(tmp_path):
    for left_out in (NOT_TOGETHER.keys(), NOT_TOGETHER.values()):
        given = {}
        for name, (kind, _) in LOADING.items():
            plain = next(one for one in (*typing.get_args(kind), kind) if one is not type(None))
            example = {bool: True, int: 3, float: 0.5, str: TEXT}.get(plain)
            given[f"loading_{name}"] = FLAGS.get(name, example) if name not in left_out else None
        loading = gathered(**given)
        assert set(OPTIONS) - {"source"} == set(loading), "an option of load has no flag, or a flag no option"
        (tmp_path / "s.toml").write_text(section("data", loading), "utf-8")
        assert read_settings(str(tmp_path / "s.toml"))["data"] == loading


@pytest.fixture
def events(here):
    """Events of all kinds with ratings and times."""
    rng = random.Random(1)
    lines = ["who;what;stars;when;happened;amount"]
    for user in range(60):
        for item in rng.sample(range(30), 12):
            kind, day = rng.choice(["view", "add to cart", "buy", "return"]), rng.randint(1, 28)
            lines.append(f"u{user};i{item};{rng.randint(1, 5)},5;{day:02}.03.2024;{kind};{rng.randint(1, 3)}")
    lines.append("u1;;4,5;01.03.2024;buy;1")
    (here / "e.csv").write_text("\n".join(lines))
    (here / "t.csv").write_text("item,title\n" + "".join(f"i{n},Thing {n}\n" for n in range(30)))
    (here / "i.csv").write_text("item,genre\n" + "".join(f"i{n},{'ab'[n % 2]}\n" for n in range(30)))
    return here


ALL = [
    *("--user", "who", "--item", "what", "--rating", "stars", "--time", "when", "--event", "happened"),
    *("--weight", "amount", "--weights", "view=1,add to cart=3,buy=10", "--negative", "return", "--half-life", "20d"),
    *("--at-least", "2", "--rating-strength", "--low-ratings", "negative", "--transform", "log1p", "--k-core", "2"),
    *("--separator", ";", "--decimal", ",", "--time-format", "%d.%m.%Y", "--skip-bad-rows", "--null-ids", "drop"),
    *("--titles", "t.csv", "--items", "i.csv", "--encoding", "utf-8", "--trim"),
]


def test_a_search_on_weighted_data_is_written_and_read_by_every_command(run, events):
    pytest.importorskip("optuna")
    tuned = run("tune", "e.csv", *ALL, "--split", "ratio", "--model", "item-knn", "--trials", 2, "--out", "best.toml")
    assert tuned.code == 0, tuned
    assert tomllib.loads((events / "best.toml").read_text("utf-8"))["data"]["weights"]["add to cart"] == 3
    assert run("fit", "--settings", "best.toml", "--out", "a.corml").code == 0
    assert run("fit", "e.csv", *ALL, "--model", "item-knn", "--out", "b.corml").code == 0
    a, b = (corml.read_model(events / f"{name}.corml") for name in "ab")
    assert a.fitted_.fingerprint == b.fitted_.fingerprint
    assert a.fitted_.source["options"] == b.fitted_.source["options"]
    compared = run("compare", "--settings", "best.toml", "--models", "popularity", "-m", "ndcg@10", "--json").json
    label = compared["models"][-1]["label"]
    assert label.startswith("item-knn")
    evaluated = run("evaluate", "a.corml", "--settings", "best.toml", "-m", "ndcg@10", "--json").json
    assert evaluated["split"] == compared["splits"][0]["fingerprint"]
    means = {entry["label"]: entry["means"]["ndcg@10"] for entry in compared["models"]}
    assert evaluated["metrics"]["ndcg@10"] == means[label]
    again = run("tune", "--settings", "best.toml", "--search", "neighbours", "--trials", 2, "--json")
    assert again.json["model"] == "item-knn"


def test_the_model_of_a_settings_file_takes_part_once(run, events):
    (events / "s.toml").write_text('[data]\nsource = "e.csv"\n[model]\nname = "ease"\nl2 = 9.0\n')
    (events / "same.toml").write_text('[data]\nsource = "e.csv"\n[model]\nname = "popularity"\n')
    data = [*ALL[:10], "--separator", ";", "--decimal", ",", "--time-format", "%d.%m.%Y", "--null-ids", "drop"]
    words = ["compare", "e.csv", *data, "--models", "popularity", "-m", "ndcg@10", "--json", "--settings"]
    assert [entry["label"] for entry in run(*words, "s.toml").json["models"]] == ["popularity", "ease:l2=9.0"]
    assert [entry["label"] for entry in run(*words, "same.toml").json["models"]] == ["popularity"]


def test_settings_of_the_model_are_fixed_in_a_search_unless_they_are_searched(run, shop, here):
    pytest.importorskip("optuna")
    ease = models.get("ease")
    fixed = {name: getattr(ease(), name) for name in space_of(ease)}
    data, model = section("data", {"source": shop / "ratings.csv"}), section("model", {"name": "ease", **fixed})
    (here / "s.toml").write_text(data + model)
    nothing = run("tune", "--settings", "s.toml", "--trials", 1)
    assert nothing.code == 2
    assert "All settings of ease are fixed: name those to search with --search NAME." in nothing.err
    searched = run("tune", "--settings", "s.toml", "--trials", 2, "--search", "l2", "--json")
    defaults, best = (trial["settings"] for trial in searched.json["trials"])
    assert defaults.keys() | {"l2"} == best.keys() == fixed.keys()
    other = run("tune", "--settings", "s.toml", "--trials", 1, "--model", "item-knn", "--set", "shrink=3", "--json")
    assert other.json["best"] == {"shrink": 3.0}


# --- what cannot be written is refused before the work, and finished work is kept ------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[data]\nsheet = 2024-01-01", "'sheet': write dates and times in quotes"),
        ("[data]\nweights = {view = [2024-01-01]}", "'weights': write dates and times in quotes"),
        ("[data]\nat_least = nan", "'at_least' must be a finite number"),
        ("[model]\nmix = inf", "'mix' must be a finite number"),
        ("[data]\nas_update = true", "there is no option 'as_update'"),
    ],
)
@pytest.mark.parametrize("command", ["fit", "compare", "tune", "evaluate"])
def test_values_that_no_option_has_are_refused_by_every_command(run, here, shop, command, text, said):
    (here / "s.toml").write_text(text)
    words = {"fit": ["--out", "m"], "evaluate": [shop / "split.corml"]}.get(command, [])
    outcome = run(command, *words, "--settings", "s.toml")
    assert (outcome.code, said in outcome.err) == (2, True), outcome


def test_a_file_name_that_no_settings_file_can_hold_is_refused_before_the_search(run, here, shop, monkeypatch):
    pytest.importorskip("optuna")
    name = os.fsdecode(b"r\xff.csv")
    (here / name).write_bytes((shop / "ratings.csv").read_bytes())
    monkeypatch.setattr("corml.tune", lambda *_, **__: pytest.fail("the search began"))
    outcome = run("tune", name, "--model", "ease", "--trials", 1, "--out", "best.toml")
    assert outcome.code == 2
    assert "cannot be written in a settings file, because it is not UTF-8" in outcome.err


def test_what_toml_cannot_hold_is_an_error():
    for value in (b"x", {1}, object()):
        with pytest.raises(SettingError, match="cannot be written in a settings file"):
            section("data", {"x": value})


@pytest.mark.parametrize("command", ["tune", "evaluate"])
def test_results_are_shown_and_kept_when_their_file_cannot_be_written(run, here, shop, monkeypatch, command):
    pytest.importorskip("optuna")
    (here / "full").mkdir()
    (here / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(here / "tmp"))
    words, shown = {
        "tune": (
            ["tune", shop / "ratings.csv", "--model", "ease", "--trials", 2, "--out", "full/x.toml"],
            "ease: ndcg",
        ),
        "evaluate": (["evaluate", shop / "split.corml", "--per-user", "full/x.csv"], "users of the test part"),
    }[command]
    full_disk(monkeypatch, here / "full")
    outcome = run(*words)
    assert outcome.code == 3
    assert shown in outcome.out
    kept = re.search(r"The result is not lost: it is kept in '(.+?)'", outcome.err)[1]
    assert os.path.getsize(kept)


@pytest.mark.parametrize(
    "words",
    [
        ["compare", "r.csv", "--models", "popularity", "--out", "out"],
        ["tune", "r.csv", "--model", "ease", "--trials", "1", "--plots", "out"],
        ["reproduce", "table", "--quick", "--models", "popularity", "--out", "out"],
    ],
    ids=lambda words: words[0],
)
def test_a_name_in_the_folder_that_cannot_be_written_at_the_end_is_refused_before_the_work(
    run, here, shop, monkeypatch, words
):
    (here / "r.csv").write_bytes((shop / "ratings.csv").read_bytes())
    for name in ("tables.md", "history.svg", "table.json"):
        (here / "out" / name).mkdir(parents=True)
    for name in ("corml.compare", "corml.tune", "corml.cli.reproduce.run_experiment"):
        monkeypatch.setattr(name, lambda *_, **__: pytest.fail("the work began"))
    outcome = run(*words)
    assert outcome.code == 3, outcome
    assert "is a folder: give the name of a file in it" in outcome.err


# --- split files -----------------------------------------------------------------------------------------------------


@pytest.fixture
def split_file(run, here, shop):
    words = ["data", "split", shop / "ratings.csv", "s.split", "--at-least", 2, "--split-set", "seed=5"]
    assert run(*words).code == 0
    return "s.split"


@pytest.mark.parametrize("words", [["s.split"], ["--split", "s.split"]], ids=["as DATA", "--split"])
def test_every_command_takes_a_split_file(run, here, split_file, words):
    pytest.importorskip("optuna")
    expected = corml.read_split(split_file).fingerprint
    assert run("fit", *words, "--model", "ease", "--out", "m.corml").code == 0
    evaluated = run("evaluate", "m.corml", *words, "-m", "ndcg@10", "--json").json
    compared = run("compare", *words, "--models", "ease", "-m", "ndcg@10", "--json").json
    assert evaluated["split"] == compared["splits"][0]["fingerprint"] == expected
    assert evaluated["metrics"]["ndcg@10"] == compared["models"][0]["means"]["ndcg@10"]
    tuned = run("tune", *words, "--model", "ease", "--trials", 2, "--out", "best.toml", "--json").json
    assert tuned["scored on"] == "the validation set"
    assert tomllib.loads((here / "best.toml").read_text())["split"] == {"how": "s.split"}
    assert run("fit", "--settings", "best.toml", "--out", "again.corml").code == 0


@pytest.mark.parametrize("command", ["fit", "compare", "tune", "evaluate"])
def test_what_a_split_file_has_decided_already_is_refused(run, here, shop, split_file, command):
    begin = [command, *([shop / "split.corml"] if command == "evaluate" else [])]
    more = ["--out", "m.corml"] if command == "fit" else []
    split = run(*begin, split_file, "--split", "ratio", *more)
    assert (split.code, "'s.split' is a split already: leave out --split." in split.err) == (2, True)
    loaded = run(*begin, split_file, "--at-least", "3", *more)
    assert (loaded.code, "leave out --at-least" in loaded.err) == (2, True)


def test_a_split_file_overrides_the_data_of_a_settings_file_and_can_be_its_source(run, here, split_file):
    (here / "s.toml").write_text('[data]\nsource = "none.csv"\nat_least = 4\n[split]\nhow = "leave-last"\n')
    assert run("compare", split_file, "--settings", "s.toml", "--models", "popularity", "-m", "ndcg@10").code == 0
    (here / "s.toml").write_text('[data]\nsource = "s.split"\n')
    assert run("compare", "--settings", "s.toml", "--models", "popularity", "-m", "ndcg@10").code == 0


def test_a_split_file_is_one_split_and_may_be_called_as_a_kind_of_split_is(run, here, split_file):
    several = run("compare", split_file, "--models", "popularity", "--split-seeds", 2)
    assert (several.code, "A split file is one split: leave out --split-seeds." in several.err) == (2, True)
    os.rename(split_file, "ratio")
    outcome = run("compare", "ratio", "--models", "popularity", "-m", "ndcg@10", "--json")
    assert outcome.json["splits"][0]["procedure"]["seed"] == 5
