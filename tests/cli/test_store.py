"""corml data store: made by a command, and taken by the others as data."""

import polars as pl
import pytest

import corml


@pytest.fixture
def rows(here):
    lines = [f"u{user},i{(user * user + step * 7) % 23},{step % 5 + 1}" for user in range(40) for step in range(9)]
    for part in range(3):
        (here / f"part-{part}.csv").write_text("user,item,rating\n" + "\n".join(lines[part::3]) + "\n")
    return here


def test_a_store_is_made_and_taken_by_other_commands(run, rows):
    made = run("data", "store", "part-0.csv", "part-[12].csv", "shop.store", "--at-least", 3, "--json").json
    loaded = corml.load(str(rows / "part-*.csv"), at_least=3)
    assert made["interactions"] == len(loaded)
    assert made["fingerprint"] == corml.Store("shop.store").fingerprint
    facts = run("data", "info", "shop.store/", "--json").json["facts"]
    assert (facts["users"], facts["items"], facts["interactions"]) == (*loaded.shape, len(loaded))
    run("fit", "shop.store", "--out", "m.corml", "--model", "popularity", "--split", "ratio")
    assert "40 users of the test part" in run("evaluate", "m.corml").out
    assert "wrote shop.store" in run("data", "store", "part-0.csv", "part-[12].csv", "shop.store", "--at-least", 3).out


def test_other_options_in_the_same_folder_are_refused(run, rows):
    run("data", "store", "part-0.csv", "shop.store")
    refused = run("data", "store", "part-0.csv", "shop.store", "--no-rating")
    assert refused.code == 2
    assert "has a store of other files, options or another budget" in refused.err
    alone = run("data", "store", "part-0.csv")
    assert alone.code == 2
    assert "corml data store DATA... FOLDER" in alone.err
    again = run("data", "store", "shop.store", "other.store")
    assert again.code == 2
    assert "is a store already" in again.err
    small = run("data", "store", "part-0.csv", "s", "--memory", "1KB")
    assert small.code == 2
    assert "at least 1 MiB" in small.err


def test_a_store_that_does_not_fit_still_tells_what_it_holds(run, rows, monkeypatch):
    run("data", "store", "part-*.csv", "shop.store")
    monkeypatch.setattr("corml._runtime.memory.budget", lambda: 1000)
    told = run("data", "info", "shop.store", "--json")
    assert told.json["users"] == 40
    assert told.json["rows"] == 360
    assert "Holding all of" in told.err
    assert "interactions" in run("data", "info", "shop.store").out
    assert run("fit", "shop.store", "--out", "m.corml").code == 4


def test_an_update_of_a_model_that_was_fitted_on_a_store_reads_rows_as_the_store_did(run, rows):
    (rows / "low.csv").write_text("user,item,rating\nnewbie,i0,1\nnewbie,i1,1\n")
    run("data", "store", "part-0.csv", "part-[12].csv", "shop.store", "--at-least", 3)
    run("fit", "shop.store", "--out", "m.corml", "--model", "popularity", "--split", "ratio")
    run("verify", "m.corml")
    record = run("update", "m.corml", "low.csv", "--json").json["update"]
    assert (record["interactions"], record["only_seen"]) == (0, 2)


def test_a_store_is_split_fitted_and_measured_by_its_parts(run, rows):
    run("data", "store", "part-*.csv", "shop.store", "--at-least", 3)
    made = run("data", "split", "shop.store", "parts/", "--split-set", "seed=7", "--json").json
    expected = corml.split(corml.load("shop.store"), "ratio", seed=7)
    assert made["counts"] == expected.counts()
    assert made["folder"] == "parts/"
    assert "wrote parts: split" in run("data", "split", "shop.store", "parts", "--split-set", "seed=7").out
    run("fit", "parts/train", "--out", "m.corml", "--model", "popularity")
    measured = run("evaluate", "m.corml", "parts/", "-m", "ndcg@10,coverage@10", "--json").json
    result = corml.evaluate(corml.Popularity().fit(expected.train), expected, ["ndcg@10", "coverage@10"])
    assert measured["metrics"] == pytest.approx(result.means, rel=1e-12)
    run("evaluate", "m.corml", "parts", "-m", "ndcg@10", "--per-user", "values.csv")
    assert (rows / "values.csv").read_text().startswith("user,ndcg@10\n")


def test_options_that_a_store_or_its_split_cannot_take_are_refused(run, rows):
    run("data", "store", "part-*.csv", "shop.store")
    run("data", "split", "shop.store", "parts/")
    run("fit", "parts/train", "--out", "m.corml", "--model", "popularity")
    refused = {
        ("data", "split", "part-0.csv", "other/"): "A split in a folder is one of a store",
        ("data", "split", "shop.store", "other/", "--at-least", 3): "leave out --at-least, or make the store with it",
        ("data", "split", "shop.store", "other/", "--split", "authors"): "needs all pairs in memory",
        ("data", "split", "shop.store", "parts/", "--split-set", "seed=8"): "has a split of another store or by other",
        ("evaluate", "m.corml", "parts/", "--split", "ratio"): "was loaded and split before: leave out --split",
        ("evaluate", "m.corml", "parts/", "--k-core", 2): "leave out --k-core",
        ("fit", "shop.store", "--split", "parts/", "--out", "n.corml"): "fit on its folder train",
        ("recommend", "m.corml", "--store", "shop.store", "--all"): "--store requires --all and --out FOLDER/",
        (
            "recommend",
            "m.corml",
            "--store",
            "shop.store",
            "--user",
            "u1",
            "--out",
            "l/",
        ): "--store requires --all and --out FOLDER/",
    }
    for words, sentence in refused.items():
        answer = run(*words)
        assert answer.code == 2, words
        assert sentence in answer.err
    assert not (rows / "other").exists()
    assert "name a part of it" in run("data", "info", "parts").err


def test_everybody_in_a_store_has_a_list(run, rows):
    run("data", "store", "part-*.csv", "shop.store", "--at-least", 3)
    run("fit", "shop.store", "--out", "m.corml", "--model", "popularity")
    made = run("recommend", "m.corml", "--store", "shop.store", "--all", "-k", 3, "--out", "lists/")
    assert "wrote lists/: 40 lists in 1 shard\n" in made.out
    again = run("recommend", "m.corml", "--store", "shop.store", "--all", "-k", 3, "--out", "lists/")
    assert "1 of the 1 shard had been written by an earlier run" in again.err
    run("recommend", "m.corml", "--all", "-k", 3, "--out", "own.parquet")
    assert pl.read_parquet("lists/*.parquet").equals(pl.read_parquet("own.parquet"))


def test_a_store_that_cannot_be_made_leaves_no_folder(run, rows):
    failed = run("data", "store", "part-0.csv", "shop.store", "--at-least", 9)
    assert failed.code == 3
    assert not (rows / "shop.store").exists()
    run("data", "store", "part-0.csv", "shop.store", "--at-least", 3)
    assert corml.Store("shop.store").users
