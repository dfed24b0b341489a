"""corml data: known sets, a doctor, conversion and splits."""

import os

import pytest

import corml
from corml import data as datasets


def test_known_sets_are_listed_with_their_terms(run, here, monkeypatch):
    monkeypatch.setenv("CORML_DATA", str(here / "kept"))
    listed = run("data", "list", "--json").json
    assert [row["name"] for row in listed] == list(datasets.known())
    assert all(row["licence"] and row["address"] for row in listed)
    shown = run("data", "list").out
    assert all(row["name"] in shown and row["licence"] in shown for row in listed)
    assert str(here / "kept") in shown


def test_checks_are_shown_as_text_and_as_json(run, here):
    (here / "a.csv").write_text("user,item\nu1,i1\nu1,i1\nu2,i1\nu2, i1\nu3,i2\n")
    shown = run("data", "info", "a.csv").out
    assert "note: 1 row repeats a pair" in shown
    assert "→ nothing to do" in shown
    report = run("data", "info", "a.csv", "--json").json
    assert report["facts"]["interactions"] == 4
    assert any("blank" in finding["what"] for finding in report["findings"])


def test_the_doctor_has_nothing_to_say_about_sound_data(run, here):
    (here / "a.csv").write_text("user,item\n" + "".join(f"u{n % 20},i{n % 7}\n" for n in range(140)))
    assert "No problems found." in run("data", "info", "a.csv").out


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "inter", "npz"])
def test_data_survive_a_conversion(run, here, shop, ending):
    outcome = run("data", "convert", shop / "ratings.csv", f"b.{ending}", "--at-least", "3", "--json").json
    before = corml.load(shop / "ratings.csv", at_least=3)
    assert outcome == {"file": f"b.{ending}", "users": 40, "items": 25, "interactions": len(before)}
    assert corml.load(f"b.{ending}").fingerprint == before.fingerprint
    assert run("data", "convert", shop / "ratings.csv", f"c.{ending}").out.startswith(f"wrote c.{ending}: ")


def test_conversions_that_cannot_be_meant_are_refused_at_once(run, here):
    (here / "a.csv").write_text("user,item\na,x\n")
    assert "is the file to read" in run("data", "convert", "a.csv", "./a.csv").err
    assert "must end in" in run("data", "convert", "a.csv", "b.xls").err
    assert os.listdir(here) == ["a.csv"]


def test_a_split_is_kept_and_can_be_read(run, here, shop):
    source = shop / "ratings.csv"
    result = run("data", "split", source, "a.split", "--split", "k-fold", "--split-set", "fold=3", "--json").json
    assert corml.read_split("a.split").fingerprint == result["fingerprint"]
    assert result["procedure"]["fold"] == 3
    assert result["counts"]["test"]["pairs"] > 0


def test_a_split_is_shown_as_a_table_with_what_it_leaves_out(run, here):
    (here / "a.csv").write_text("user,item\na,x\na,y\nb,x\nb,z\nc,x\n")
    shown = run("data", "split", "a.csv", "a.split", "--split-set", "seed=3").out
    assert [line.split()[0] for line in shown.splitlines()[2:5]] == ["train", "valid", "test"]
    assert "1 users without test rows" in shown


@pytest.fixture
def fetched(here, monkeypatch):
    """A data set that would come from far away, and the calls to fetch it."""
    calls = []

    def fetch(name, *, progress, notify):
        calls.append(name)
        notify(f"downloading {name}")
        progress(1, None)
        return [here / "ml-100k.zip"]

    monkeypatch.setenv("CORML_DATA", str(here))
    monkeypatch.setattr(datasets, "fetch", fetch)
    return calls


def test_fetch_says_where_the_files_are(run, here, fetched):
    outcome = run("data", "fetch", "ml-100k")
    assert outcome.out == f"{here / 'ml-100k.zip'}\n"
    assert "note: downloading ml-100k" in outcome.err
    assert run("data", "fetch", "ml-100k", "--json").json == {"name": "ml-100k", "files": [str(here / "ml-100k.zip")]}


def test_a_known_name_is_fetched_before_it_is_loaded(run, fetched, monkeypatch):
    monkeypatch.setattr(corml, "load", lambda *_, **__: corml.Interactions.from_pairs("ab", "xy"), raising=False)
    assert run("data", "info", "ml_100k").code == 0
    assert fetched == ["ml-100k"]
