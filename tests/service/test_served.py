"""A model answers after it was tested, and a log never gets in the way."""

import os
import re
import sys

import numpy as np
import pytest

from corml.errors import ModelFileError
from corml.models.corml.estimator import CoRML
from corml.service.logs import Log
from corml.service.lookup import Lookup
from corml.service.problems import Refusal
from corml.service.served import Shelf, load


def test_a_model_whose_short_way_lies_is_not_served(folder, monkeypatch):
    honest = CoRML._top_k_of_one

    def swapped(model, history, k, seen, allowed):
        columns, scores = honest(model, history, k, seen, allowed)
        return np.roll(columns, 1), scores

    monkeypatch.setattr(CoRML, "_top_k_of_one", swapped)
    with pytest.raises(ModelFileError, match="not those of the items"):
        load("m", str(folder / "plain.corml"))

    def second_best(model, history, k, seen, allowed):
        columns, scores = honest(model, history, k + 1, seen, allowed)
        return columns[1:], scores[1:]

    monkeypatch.setattr(CoRML, "_top_k_of_one", second_best)
    with pytest.raises(ModelFileError, match="not made of the best items"):
        load("m", str(folder / "plain.corml"))


def test_an_empty_shelf_is_not_ready_and_a_version_is_replaced_at_once(folder):
    shelf = Shelf("a")
    with pytest.raises(Refusal) as refused:
        shelf["a"]
    assert refused.value.status == 503
    old, new = load("a", str(folder / "plain.corml")), load("a", str(folder / "dial.corml"))
    shelf.put(old)
    assert shelf["a"] is old
    shelf.put(new)
    assert shelf["a"] is shelf[None] is new


def test_titles_may_be_anything(tmp_path):
    titles = {"a": "Zero\0Byte", "b": "lone \ud800 surrogate", "c": 'quo"te * OR NEAR', "d": "日本語の本", "e": ""}
    lookup = Lookup(["a", "b", "c", "d", "e", "f"], titles, [5, 4, 3, 2, 1, 0])
    for text, item in (("zero", 0), ("lone", 1), ('quo"te', 2), ("quo te near", 2), ("日本語", 3), ("f", 5)):
        rows, fuzzy = lookup.find(text, 5)
        assert (rows[0], fuzzy) == (item, False), text
    assert lookup.find("日本の本", 5)[1]
    for text in ('"', "*", "NEAR(", "a AND", "\ud800", "\0", "x" * 200, "-", "^a"):
        lookup.find(text, 5)
    lookup.close()


def test_plain_lines_cannot_be_forged(capfd):
    log = Log("plain")
    log.event("info", "reload", reason="a\nFORGED \x1b[31m\u2028b")
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 1
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z INFO reload pid=\d+ reason=a\\nFORGED \\x1b", lines[0])


def test_lines_about_requests_may_wait_and_events_may_not(capfd):
    log = Log("json")
    log.later = True
    log.request(route="a")
    assert capfd.readouterr().err == ""
    log.event("info", "b")
    assert len(capfd.readouterr().err.splitlines()) == 2
    log.request(route="c")
    log.flush()
    assert len(capfd.readouterr().err.splitlines()) == 1
    quiet = Log("json", quiet=True)
    quiet.request(route="a")
    quiet.event("info", "b")
    assert capfd.readouterr().err == ""
    quiet.event("error", "c")
    assert "error" in capfd.readouterr().err


def test_a_log_that_nobody_reads_stops_nothing(monkeypatch):
    class Gone:
        def fileno(self):
            raise ValueError("closed")

    monkeypatch.setattr(sys, "stderr", Gone())
    Log().event("error", "x")
    assert os.getpid()
