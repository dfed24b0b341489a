"""An export is the old one or the new one, whole; and nothing that is not an export is ever replaced."""

import hashlib
import os
import signal
import subprocess
import sys
from dataclasses import replace

import pytest
from asking import TABLES, ask, stored_facts

from corml import Interactions, models
from corml.errors import DataError, UsageError
from corml.service import export
from corml.service.export import export_model, targets
from corml.service.export._tables import Target

# Exports until it is killed; the second part of the pairs never comes.
SLOW = """
import sys, time
import corml
from corml.service.export import _contents, export_model

model, (to, path) = corml.read_model(sys.argv[1]), sys.argv[2:]
parts = _contents._pair_parts

def slow(*given):
    for part in parts(*given):
        yield part
        print("begun", flush=True)
        time.sleep(600)

_contents._pair_parts = slow
export_model(model, to, path, pairs=5, force=True)
"""


def digest(path):
    """Of a file, or of all files of a folder."""
    files = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
    return hashlib.sha256(b"".join(one.read_bytes() for one in files)).hexdigest()


@pytest.mark.parametrize("to", TABLES)
def test_a_killed_export_leaves_what_was_there_and_the_next_one_tidies_up(small, tmp_path, to):
    model, path = small("ease"), tmp_path / "shop"
    model.save(tmp_path / "m.corml")
    export_model(model, to, path, pairs=2)
    command = [sys.executable, "-c", SLOW, tmp_path / "m.corml", to, path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        there = set(os.listdir(tmp_path))
        export_model(model, to, path, pairs=4, force=True)
        assert set(os.listdir(tmp_path)) == there  # what a living process builds is left alone
        before = digest(path)
        process.send_signal(signal.SIGKILL)
    assert digest(path) == before
    assert len(os.listdir(tmp_path)) == 3  # m.corml, shop and what the killed one left
    export_model(model, to, path, pairs=3, force=True)
    assert sorted(os.listdir(tmp_path)) == ["m.corml", "shop"]
    assert stored_facts(to, path)["pairs_per_item"] == "3"


@pytest.mark.parametrize("to", TABLES)
def test_an_export_that_fails_leaves_what_was_there(small, tmp_path, to, monkeypatch):
    model, path = small("ease"), tmp_path / "shop"
    export_model(model, to, path, pairs=2)
    before = digest(path)

    def broken(*_):
        yield from ()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(export._contents, "_pair_parts", broken)
    with pytest.raises(DataError, match=r"No space left on device\. What was there before is unchanged"):
        export_model(model, to, path, pairs=2, force=True)
    assert digest(path) == before
    assert os.listdir(tmp_path) == ["shop"]


ALL = targets()


def few(to):
    """Options of a small export: a page has the whole model."""
    return {"name": "same"} if to == "html" else {"pairs": 2}


@pytest.mark.parametrize("to", ["parquet", "sqlite", "html"])
def test_equal_exports_are_byte_identical(small, tmp_path, to):
    for name in ("one", "two"):
        export_model(small("ease"), to, tmp_path / name, **few(to))
    assert digest(tmp_path / "one") == digest(tmp_path / "two")


@pytest.mark.parametrize("to", ALL)
def test_an_export_is_replaced_only_when_asked_for(small, tmp_path, to):
    export_model(small("ease"), to, tmp_path / "shop", **few(to))
    before = digest(tmp_path / "shop")
    with pytest.raises(UsageError, match=r"exists: choose another name, or replace it with force=True \(--force\)"):
        export_model(small("corml"), to, tmp_path / "shop", **few(to))
    assert digest(tmp_path / "shop") == before
    export_model(small("corml"), to, tmp_path / "shop", **few(to), force=True)
    assert digest(tmp_path / "shop") != before


@pytest.mark.parametrize("to", ALL)
def test_what_is_no_export_is_never_replaced(small, tmp_path, to):
    import sqlite3

    (tmp_path / "text").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine").write_text("mine")
    with sqlite3.connect(tmp_path / "database") as database:
        database.execute("CREATE TABLE orders (item)")
    database.close()
    for name in ("text", "folder", "database"):
        before = digest(tmp_path / name)
        with pytest.raises((UsageError, DataError)):
            export_model(small("ease"), to, tmp_path / name, **few(to), force=True)
        assert digest(tmp_path / name) == before
    assert sorted(os.listdir(tmp_path)) == ["database", "folder", "text"]


def test_a_file_that_is_replaced_keeps_its_permissions(small, tmp_path):
    path = tmp_path / "shop"
    export_model(small("ease"), "sqlite", path, pairs=2)
    path.chmod(0o640)
    export_model(small("ease"), "sqlite", path, pairs=2, force=True)
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_folder_that_is_not_there_is_named(small, tmp_path):
    with pytest.raises(DataError, match="does not exist: create it first"):
        export_model(small("ease"), "sqlite", tmp_path / "no" / "shop")


def test_targets_are_found_by_name_and_say_what_they_need(monkeypatch):
    assert targets() == ("duckdb", "html", "parquet", "sqlite")
    with pytest.raises(UsageError, match="Cannot export to 'sqllite'; did you mean 'sqlite'"):
        export.target("sqllite")
    missing = replace(export.target("duckdb"), package="no_such_package")
    monkeypatch.setattr(export.plugins, "get", lambda room, name: missing)
    with pytest.raises(UsageError, match=r"needs the package no_such_package: pip install 'corml\[no_such_package\]'"):
        export.target("duckdb")
    monkeypatch.setattr(export.plugins, "get", lambda room, name: replace(missing, extra="serve"))
    with pytest.raises(UsageError, match=r"needs the package no_such_package: pip install 'corml\[serve\]'"):
        export.target("duckdb")


def test_a_target_may_write_the_model_itself_and_have_no_query(small, tmp_path, monkeypatch):
    def write(job, path):
        path.write_text(f"{job.model.NAME}, {len(list(job.tables))} tables")

    page = Target(ending=".txt", queries={}, write=write, is_ours=lambda path: False)
    monkeypatch.setattr(export.plugins, "get", lambda room, name: page)
    done = export_model(small("ease"), "sqlite", tmp_path / "page.txt")
    assert done.query == done.facts["query"] == ""
    assert done.path.read_text() == "ease, 3 tables"


@pytest.mark.parametrize("to", ALL)
def test_ids_that_are_not_text_are_refused(tmp_path, to):
    model = models.make("item-knn").fit(Interactions.from_pairs(["a", "a", "b"], ["\ud800", "x", "x"]))
    with pytest.raises(DataError, match="not text that can be written"):
        export_model(model, to, tmp_path / "no")
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("to", ["sqlite", "html"])
@pytest.mark.parametrize(("name", "settings"), [("popularity", {}), ("corml", {"filter": "authors"})])
def test_a_model_whose_scores_are_not_sums_is_refused_before_anything_is_written(small, tmp_path, name, settings, to):
    with pytest.raises(
        UsageError, match=r"scores are not sums over the history: (export its lists|show it with corml)"
    ):
        export_model(small(name, **settings), to, tmp_path / "no")
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("titles", [{}, {"i2999": "The last one"}], ids=["no titles", "one title, at the end"])
@pytest.mark.parametrize("to", TABLES)
def test_items_without_titles_are_exported_however_many_they_are(tmp_path, to, titles):
    labels = [f"i{number}" for number in range(3000)]
    model = models.make("popularity").fit(Interactions.from_pairs(["u"] * 3000, labels, titles=titles))
    export_model(model, to, tmp_path / "shop", lists=True, k=2)
    items = "read_parquet('items/*.parquet')" if to == "parquet" else "items"
    written = ask(to, tmp_path / "shop", f"SELECT id, title FROM {items}")
    assert sorted((row["id"], row["title"]) for row in written) == sorted(
        (label, titles.get(label)) for label in labels
    )
