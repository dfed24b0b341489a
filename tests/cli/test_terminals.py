"""Nothing from data moves a cursor, colours a screen or forges a line: in Python, on the console, in JSON."""

import json

import pytest

import corml
from corml.cli._console import as_json_text

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


@pytest.mark.parametrize("character", ["\x7f", "\x9b", "\u2028", "\u202e", "\u2066", "\u061c"])
def test_json_has_no_control_that_a_terminal_obeys_and_reads_back_the_same(character):
    text = as_json_text({"id": f"a{character}b é 🙂"})
    assert character not in text
    assert json.loads(text) == {"id": f"a{character}b é 🙂"}
    assert "é 🙂" in text


@pytest.mark.parametrize("name", ["ndcg", "ndcg@", "@10", "ndcg@1e3", "ndcg@10\x1b[31m", EVIL])
def test_odd_metrics_of_a_file_are_shown_escaped(model, run, tmp_path, name):
    path = tmp_path / "odd.corml"
    model.save(path, evaluation={"metrics": {name: 0.5, "ndcg@10": 0.25}, "part": "test"})
    outcome = run("inspect", str(path))
    assert outcome.code == 0
    assert "0.2500" in outcome.out
    assert "0.5" in outcome.out
    assert not set("\x1b\x9b\u202e") & set(outcome.out + outcome.err)
