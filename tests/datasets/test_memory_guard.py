"""What `load` asks for before it reads is about what it then takes."""

import gzip
import json
import sqlite3
import subprocess
import sys
from contextlib import closing

import numpy as np
import polars as pl
import pytest

import corml
from corml.data import load
from corml.errors import ResourceError

ROWS = 1_500_000
WATCH = """
import os, re, sys
for name in sys.argv[2].split(","):
    __import__(name)
import corml
import polars as pl
from corml._runtime import memory

def status(key):
    return 1024 * int(re.search(key + r":\\s+(\\d+)", open("/proc/self/status").read())[1])

corml.load(pl.DataFrame({"user": [1, 2], "item": [1, 2]}))  # so that what is imported does not count
asked, require = [], memory.require
memory.require = lambda needed, **words: asked.append(needed + status("VmRSS") - before) or require(needed, **words)
before = status("VmRSS")
open("/proc/self/clear_refs", "w").write("5")  # the peak starts anew
corml.load(sys.argv[1])
print(max(asked) / (status("VmHWM") - before))
"""


def table():
    rng = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "user": rng.integers(0, ROWS // 40, ROWS),
            "item": (rng.pareto(1.0, ROWS) * 50).astype(np.int64) % (ROWS // 200),
            "rating": rng.integers(1, 11, ROWS) / 2,
            "time": rng.integers(1_000_000_000, 1_700_000_000, ROWS),
        }
    )


KINDS = {
    "whole.parquet": lambda frame, path: frame.write_parquet(path),
    "pairs.parquet": lambda frame, path: frame.select("user", "item").write_parquet(path),
    "new-users.parquet": lambda frame, path: frame.with_columns(user=pl.arange(ROWS).cast(pl.String)).write_parquet(
        path
    ),
    "plain.csv": lambda frame, path: frame.write_csv(path),
    "quoted.csv": lambda frame, path: frame.write_csv(path, quote_style="always"),
}


CASES = [("plain.csv", "corml,polars")]
CASES += [
    pytest.param(name, imported, marks=pytest.mark.slow)
    for name in KINDS
    for imported in ("corml,polars", "polars,corml")
    if (name, imported) not in CASES
]


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="peaks are read from /proc")
@pytest.mark.parametrize(("name", "imported"), CASES)
def test_the_memory_asked_for_is_the_memory_taken(tmp_path, monkeypatch, name, imported):
    """Which is imported first decides whether the allocator of Polars gives back at once what is freed.

    If Polars is first, it gives back after a while: on a busy machine the peak is lower, and too much is asked for.
    """
    monkeypatch.delenv("_RJEM_MALLOC_CONF", raising=False)
    KINDS[name](table(), tmp_path / name)
    command = [sys.executable, "-c", WATCH, tmp_path / name, imported]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 0.8 < float(done.stdout) < (1.25 if imported.startswith("corml") else 1.6)


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "folder"])
def test_a_table_that_would_not_fit_is_refused_before_its_columns_are_read(tmp_path, monkeypatch, kind):
    frame = pl.DataFrame({"user": np.arange(5000) % 70, "item": np.arange(5000) % 90})
    path = tmp_path / ("parts" if kind == "folder" else f"a.{kind}")
    if kind == "folder":
        path.mkdir()
        for at in range(5):
            frame.slice(1000 * at, 1000).write_parquet(path / f"{at}.parquet")
    else:
        {"csv": frame.write_csv, "parquet": frame.write_parquet, "jsonl": frame.write_ndjson}[kind](path)
    monkeypatch.setattr("corml._runtime.memory.budget", lambda: 5000 * 50)
    with pytest.raises(
        ResourceError, match=rf"Reading .*{path.name}' needs .* the budget is 244\.1 KiB; load it in parts"
    ):
        load(path)


def test_each_file_of_a_folder_is_asked_for_as_the_first_is(tmp_path, monkeypatch):
    """By its packed bytes the second looks no larger than the first."""
    (tmp_path / "a.csv").write_text("user,item\nu,i\n")
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b"user,item\n" + b"u,i\n" * 10_000))
    monkeypatch.setattr("corml._runtime.memory.budget", lambda: 800_000)
    with pytest.raises(ResourceError, match=r"Reading .*b\.csv\.gz' needs"):
        load(tmp_path)


def test_a_database_among_several_files_does_not_hide_the_rows_of_the_others(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("user,item\n" + "u,i\n" * 10_000)
    with closing(sqlite3.connect(tmp_path / "b.db")) as base:
        base.execute("create table orders (user, item)")
    monkeypatch.setattr("corml._runtime.memory.budget", lambda: 800_000)
    monkeypatch.setattr("corml.data.formats.text.Text.read", lambda *_: pytest.fail("it was read"))
    with pytest.raises(ResourceError, match=r"Reading The files needs"):
        load({"view": tmp_path / "a.csv", "buy": tmp_path / "b.db"})


def test_ids_that_would_not_fit_are_refused_before_they_are_numbered(tmp_path, monkeypatch):
    pl.DataFrame({"user": np.arange(50_000), "item": np.arange(50_000) % 90}).write_parquet(tmp_path / "a.parquet")
    monkeypatch.setattr("corml._runtime.memory.budget", lambda: 50_000 * 110)
    monkeypatch.setattr("corml._runtime.memory.resident", lambda: 0)
    with pytest.raises(ResourceError, match=r"Numbering the [45]\d,\d{3} ids of .*a\.parquet' needs"):
        load(tmp_path / "a.parquet")


@pytest.mark.parametrize(
    "read",
    [corml.load_items, lambda path: load(pl.DataFrame({"user": ["u"], "item": ["i"]}), titles=path)],
    ids=["items", "titles"],
)
def test_a_table_of_items_that_does_not_fit_is_refused_before_it_is_read(tmp_path, monkeypatch, read):
    """Three hundred kilobytes of short rows, packed, would have been sixteen gigabytes."""
    (tmp_path / "items.csv").write_text("item,title\n" + "i,t\n" * 10_000)
    monkeypatch.setattr("corml._runtime.memory.budget", lambda: 1_000_000)
    monkeypatch.setattr("corml.data.formats.text.Text.read", lambda *_: pytest.fail("it was read"))
    with pytest.raises(ResourceError, match=r"Reading the items of .*items\.csv' needs .* leave out rows or columns"):
        read(tmp_path / "items.csv")


def test_categories_that_do_not_fit_are_refused_before_they_are_told_apart(monkeypatch):
    monkeypatch.setattr("corml._runtime.memory.budget", lambda: 4_000_000)
    names = [f"name {at}" for at in range(10_000)]
    corml.load_items({"item": names, "genre": ["same"] * 10_000})
    monkeypatch.setattr("corml.data.attributes.indicators", lambda *_: pytest.fail("they were told apart"))
    monkeypatch.setattr("corml._runtime.memory.budget", lambda: 2_900_000)
    monkeypatch.setattr("corml.data._items.require_for_items", lambda *_: None)
    with pytest.raises(ResourceError, match=r"Telling the categories of .* needs .* leave out the column"):
        corml.load_items({"item": names, "genre": names})


@pytest.mark.parametrize(
    "tags",
    [
        "|".join(map(str, range(10_000))),
        json.dumps(list(map(str, range(10_000)))),
        list(map(str, range(10_000))),
    ],
    ids=["text", "a JSON list", "a list"],
)
def test_several_categories_of_an_item_are_counted_each(monkeypatch, tags):
    """Forty megabytes in sixty rows took 1.3 GB, and sixty categories were asked for."""
    monkeypatch.setattr("corml.data.attributes.indicators", lambda *_: pytest.fail("they were told apart"))
    monkeypatch.setattr("corml.data._items.indicators", lambda *_: pytest.fail("they were told apart"))
    monkeypatch.setattr("corml._runtime.memory.budget", lambda: 2_900_000)
    with pytest.raises(ResourceError, match=r"Telling the categories of .* needs .* leave out the column"):
        corml.load_items({"item": ["i"], "tags": [tags]})


WATCH_ITEMS = WATCH.replace(
    'corml.load(pl.DataFrame({"user": [1, 2], "item": [1, 2]}))', "corml.load_items(sys.argv[3])"
)
ITEMS = {
    "categories": lambda at: f"g{at % 9}|h{at % 7}",
    "numbers": str,
    "one": lambda at: "same",
    "names": lambda at: f"name {at}",
}


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux tells it")
@pytest.mark.parametrize("kind", ["names", *(pytest.param(kind, marks=pytest.mark.slow) for kind in list(ITEMS)[:-1])])
def test_what_is_asked_for_items_is_about_what_they_take(tmp_path, monkeypatch, kind):
    monkeypatch.delenv("_RJEM_MALLOC_CONF", raising=False)
    rows = 1_000_000
    value = ITEMS[kind]
    for name, count in (("small.csv", 10), ("items.csv", rows)):
        lines = (f"i{at},{value(at)}" for at in range(count))
        (tmp_path / name).write_text(f"item,{kind}\n" + "\n".join(lines) + "\n")
    code = WATCH_ITEMS.replace("corml.load(sys.argv[1])", "corml.load_items(sys.argv[1])")
    words = [sys.executable, "-c", code, tmp_path / "items.csv", "corml", tmp_path / "small.csv"]
    ratio = float(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    assert 1.0 <= ratio < 2.0, ratio
