"""Nothing from data moves a cursor, colours a screen or forges a line: in Python, on the console, in JSON."""

import io
import json
import sys

import pytest

import corml
from corml._runtime.html import clean
from corml._runtime.values import json_text
from corml.cli._console import say, show_json
from corml.cli.inspect import _dates as dates

EVIL = "a\x1b[31mred\x9b2J\u202eno\nerror[data]: forged"
SHOWN = "a\\x1b[31mred\\x9b2J\\u202eno\\nerror[data]: forged"


@pytest.fixture(scope="module")
def model():
    data = corml.Interactions.from_pairs(["u1", "u1", "u2", "u2", EVIL], [EVIL, "i1", "i1", "i2", EVIL])
    return corml.CoRML(rank=2).fit(data)


def test_printed_lists_are_escaped(model):
    lists = model.recommend([EVIL, "u2"], k=2)
    assert str(lists).splitlines()[0] == SHOWN
    assert any(line.endswith(SHOWN) for line in str(lists).splitlines()[1:])
    assert str(model.similar([EVIL], k=1)).startswith(SHOWN)
    assert EVIL in lists  # the ids themselves are as they were


def test_printed_explanations_are_escaped(model):
    assert SHOWN in str(model.explain(EVIL, "i1"))
    assert str(model.explain("u2", EVIL)).startswith(f"{SHOWN}: score")
    assert str(model.explain(["i1", "\x1b[0m"], "i2")).endswith("\\x1b[0m")


def test_printed_similar_users_are_escaped(model):
    assert str(model.similar_users([EVIL], k=1)).startswith(SHOWN)
    assert SHOWN in "\n".join(str(model.similar_users([user], k=2)) for user in ("u1", "u2"))


UNPRINTED = [
    "\x7f",
    "\x9b",
    "\xa0",
    "\xad",
    "\u2028",
    "\u202e",
    "\u2066",
    "\u061c",
    "\ud800",
    "\U000e0001",
    "\U000f0000",
]


@pytest.mark.parametrize("character", UNPRINTED, ids=ascii)
def test_json_has_no_control_that_a_terminal_obeys_and_reads_back_the_same(monkeypatch, character):
    value = {"id": f"a{character}b é 🙂"}
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="utf-8"))
    show_json(value)
    sys.stdout.flush()
    for text in (raw.getvalue().decode(), json_text(value)):
        assert character not in text
        assert json.loads(text) == value
        assert "é 🙂" in text


@pytest.fixture(scope="module")
def study():
    data = corml.Interactions.from_pairs([f"u{n % 9}" for n in range(90)], [f"i{n * 5 % 13}" for n in range(90)])
    return corml.compare({"a\xa0\x9b\u202e": corml.Popularity(), "other": corml.Popularity()}, data)


def test_a_study_is_shown_escaped_and_its_json_reads_back_the_same(study, capsys):
    say(study.to_json().rstrip())
    printed = capsys.readouterr().out
    assert not raw(printed + "".join(map(repr, [study, *study])) + str(study))
    assert json.loads(printed)["models"][0]["label"] == "a\xa0\x9b\u202e"


def test_an_error_has_no_control_in_a_traceback_of_python(tmp_path):
    (tmp_path / "r.csv").write_text("user,item\na,b\n")
    with pytest.raises(corml.CormlError) as refused:
        corml.load(tmp_path / "r.csv", encoding=EVIL)
    assert not raw(str(refused.value))
    assert str(corml.CormlError(EVIL)) == SHOWN.replace("\\n", " ")


def test_a_page_and_a_notebook_have_no_mark_that_turns_text_around():
    assert clean("a\u061c\u200f\u202e\u2067b") == "ab"


@pytest.mark.parametrize("name", ["ndcg", "ndcg@", "@10", "ndcg@1e3", "ndcg@10\x1b[31m", EVIL])
def test_odd_metrics_of_a_file_are_shown_escaped(model, run, tmp_path, name):
    path = tmp_path / "odd.corml"
    model.save(path, evaluation={"metrics": {name: 0.5, "ndcg@10": 0.25}, "part": "test"})
    outcome = run("inspect", "-v", str(path))
    assert outcome.code == 0
    assert "0.2500" in outcome.out
    assert "0.5" in outcome.out
    assert not set("\x1b\x9b\u202e") & set(outcome.out + outcome.err)


def raw(text):
    return set("\x1b\x9b\u202e\x07") & set(text)


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """Data, a split, a store and a model whose ids are controls, in a folder whose name is one."""
    from cli.conftest import call

    folder = tmp_path_factory.mktemp("odd") / "f\x1b[31m"
    folder.mkdir()
    rows = [f"u{n % 9}\x1b[31m,i{n * 5 % 13}\x9b2J,{n % 5 + 1}" for n in range(90)]
    (folder / "r.csv").write_text("user,item,rating\n" + "\n".join(rows) + "\n", encoding="utf-8")
    assert call("data", "store", folder / "r.csv", folder / "s.store").code == 0
    assert call("fit", folder / "r.csv", "--split", "ratio", "-o", folder / "m.corml").code == 0
    assert call("compare", folder / "r.csv", "--models", "popularity,item-knn", "--out", folder / "study").code == 0
    return folder


@pytest.mark.parametrize("as_json", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize(
    "words",
    [
        ["data", "info", "r.csv"],
        ["data", "info", "s.store"],
        ["inspect", "m.corml"],
        ["evaluate", "m.corml"],
        ["recommend", "m.corml", "--all", "-k", "2"],
        ["similar", "m.corml", "i0\x9b2J", "-k", "2"],
        ["explain", "m.corml", "i0\x9b2J", "--user", "u1\x1b[31m"],
        ["fit", "s.store", "--plan"],
        ["plan", "s.store"],
        ["compare", "r.csv", "--models", "popularity,item-knn", "--out", "study"],
        ["tune", "r.csv", "--model", "ease", "--trials", "2"],
        ["verify", "m.corml"],
        ["fit", "nothing\x1b[31m.csv", "-o", "n.corml"],
        ["recommend", "m.corml", "--user", "no\x1b[31m\x9bbody", "--unknown", "error"],
    ],
    ids=lambda words: " ".join(words[:2]).encode("unicode_escape").decode(),
)
def test_no_command_prints_a_control_of_its_data(run, odd, monkeypatch, words, as_json):
    monkeypatch.chdir(odd)
    outcome = run(*words, *as_json)
    assert not raw(outcome.out + outcome.err), words


def test_what_a_command_wrote_and_where_data_lie_are_shown_escaped(run, odd, tmp_path, monkeypatch):
    out = tmp_path / "n\x1b[31m\x9b.corml"
    told = run("fit", odd / "r.csv", "--model", "popularity", "-o", out)
    monkeypatch.setenv("CORML_DATA", f"{tmp_path}/d\x1b[31m\x9b")
    listed = run("data", "list")
    assert (told.code, listed.code) == (0, 0)
    for outcome in (told, listed):
        assert "\\x1b[31m\\x9b" in outcome.out + outcome.err
        assert not raw(outcome.out + outcome.err)


def test_names_of_columns_are_shown_escaped():
    remarks = []
    columns = {"item": ["i1", "i2"], "genre\x1b[31m\x9b": ["a", "b"]}
    items = corml.load_items(columns, notify=remarks.append)
    rules = corml.ListRules(max_per={"genre\x1b[31m\x9b": 2})
    with pytest.raises(corml.CormlError) as near:
        items.numbers("genre\x1b[31m")
    with pytest.raises(corml.CormlError) as far:
        items.numbers("zzzzzzzzzzzzz")
    for text in (*remarks, repr(items), str(rules), str(near.value), str(far.value)):
        assert "genre\\x1b[31m" in text
        assert not raw(text)


def test_a_line_of_the_service_log_has_no_control_of_its_data(capfd):
    from corml.service.logs import Log

    for form in ("plain", "json"):
        Log(form).event("warning", "reload", model=EVIL)
    said = capfd.readouterr().err
    assert not raw(said)
    assert said.count("\n") == 2


def test_odd_facts_of_a_file_do_not_stop_inspect():
    for odd in (10**400, float("inf"), True, "x", [17.0, None], 17.0):
        assert dates(odd) == odd
    assert dates(1441877589423.0).startswith("2015-09-10 09:33:09")
