"""Data larger than memory: files become a store, and two processes do all of the work, to the same bytes as one."""

import gzip
import json

import polars as pl
import pytest

import corml
from journeys.facts import assert_lists, known_pairs, same_figures
from journeys.program import Shell
from journeys.shop import write_csv

METRICS = "ndcg@10,recall@10,coverage@10"
BY_TWO = ["--workers", 2]


def test_files_become_a_store_that_two_workers_fit_evaluate_and_recommend_from(shop, tmp_path):
    pytest.importorskip("distributed")
    shell, events = Shell(tmp_path), shop.events.filter(pl.col("event") == "view")
    pairs = events.drop_nulls(["customer_id", "sku"])
    had = known_pairs(pairs)

    # a year in monthly files of two kinds, and a late one
    (shell / "2024").mkdir()
    for month in range(1, 12):
        part = events.filter(pl.col("time").dt.month() == month)
        part.write_parquet(shell / f"2024/{month:02}.parquet")
    write_csv(events.filter(pl.col("time").dt.month() == 12), shell / "late.csv")
    (shell / "late.csv.gz").write_bytes(gzip.compress((shell / "late.csv").read_bytes()))
    reading = ["--no-rating", "--null-ids", "drop"]
    shell.corml(
        "data",
        "store",
        "2024/*.parquet",
        "late.csv.gz",
        "shop.store",
        *reading,
        "--memory",
        "16MB",
        warns=["rows without a user or an item left out: "],
    )
    facts = shell.corml("data", "info", "shop.store", "--json").json["facts"]
    assert (facts["users"], facts["items"]) == (pairs["customer_id"].n_unique(), pairs["sku"].n_unique())
    assert facts["interactions"] == len(pairs.unique(["customer_id", "sku"]))
    store = corml.Store(shell / "shop.store")
    events.with_columns(pl.col("time").dt.epoch("s")).write_parquet(shell / "whole.parquet")
    with pytest.warns(corml.errors.DataWarning, match="null ids"):
        whole = corml.load(shell / "whole.parquet", rating=False, null_ids="drop")
    assert store.interactions().fingerprint == whole.fingerprint

    # what it will take, and the fit: the same file by one process and by two
    plan = shell.corml("fit", "shop.store", "--plan", "--json").json
    assert plan
    cut = [
        "-q",
        "--set",
        "candidates=50",
        "--set",
        "rank=32",
        "--set",
        "adapt=false",
    ]  # quiet: the plan of a fit in files is a long table
    shell.corml("fit", "shop.store", *cut, "--out", "alone.corml")
    shell.corml("fit", "shop.store", *cut, *BY_TWO, "--out", "shared.corml")
    assert (shell / "alone.corml").read_bytes() == (shell / "shared.corml").read_bytes()
    assert not (shell / "shop.store/fit").exists()

    # split and measured in pieces: the figures are those of the same split in memory
    shell.corml("data", "split", "shop.store", "parts/", "--split", "ratio", "--split-set", "seed=3")
    shell.corml("fit", "parts/train", *cut, "--out", "past.corml")
    alone = shell.corml("evaluate", "past.corml", "parts/", "-m", METRICS, "--json").json
    shared = shell.corml("evaluate", "past.corml", "parts/", "-m", METRICS, *BY_TWO, "--json").json
    same_figures(shared["metrics"], alone["metrics"])
    split = corml.split(store.interactions(), "ratio", seed=3)
    same_figures(corml.evaluate(corml.read_model(shell / "past.corml"), split, METRICS).means, alone["metrics"])
    assert alone["metrics"]["ndcg@10"] > 0.05

    # lists for everybody in shards: the same bytes again, and nothing that anybody has seen
    everyone = ["recommend", "past.corml", "--store", "shop.store", "--all", "-k", 10]
    shell.corml(*everyone, "--out", "alone/")
    shell.corml(*everyone, "--out", "shared/", *BY_TWO)
    manifest = json.loads((shell / "shared/manifest.json").read_text())
    assert manifest["complete"]
    for part in manifest["parts"]:
        assert (shell / "shared" / part["file"]).read_bytes() == (shell / "alone" / part["file"]).read_bytes()
    lists = pl.read_parquet(shell / "shared/*.parquet")
    assert_lists(lists, had, 10)
    assert set(lists["user"]) == set(had)

    # stopped in the middle: what is missing is made again, to the same bytes
    lost = shell / "shared" / manifest["parts"][-1]["file"]
    whole = lost.read_bytes()
    lost.unlink()
    shell.corml(*everyone, "--out", "shared/")
    assert lost.read_bytes() == whole
