"""corml export: what it prints, what it refuses, and that its query recommends."""

import json
import sqlite3
from contextlib import closing

import corml
from corml.persistence import container
from corml.service.export import targets


def test_the_printed_query_recommends(run, shop, here):
    done = run("export", shop / "all.corml", "--to", "sqlite", "--pairs", "all", "-v")
    assert done.code == 0
    first, _, query = done.out.partition("\n")
    assert first.startswith("wrote all.sqlite: 25 items, ")
    model = corml.read_model(shop / "all.corml")
    with closing(sqlite3.connect("all.sqlite")) as database:
        rows = database.execute(query, {"history": json.dumps(["i1", "i2"]), "k": 5}).fetchall()
        (digest,) = database.execute("SELECT value FROM metadata WHERE name = 'model_digest'").fetchone()
    assert [row[1] for row in rows] == model.recommend(history=[["i1", "i2"]], k=5).items[0].tolist()
    assert rows[0][2] == model.titles_[rows[0][1]]
    assert digest == container.read(shop / "all.corml").digest


def test_what_was_dropped_is_said(run, shop, here):
    done = run("export", shop / "all.corml", "--to", "sqlite", "--pairs", "2")
    assert "smaller pairs were dropped" in done.err
    assert "of their items with the model's (40 users)" in done.err
    assert "dropped" not in run("export", shop / "all.corml", "--to", "sqlite", "--pairs", "all", "--force").err


def test_facts_as_json(run, shop, here):
    facts = run("export", shop / "all.corml", "--to", "parquet", "--lists", "-k", "3", "--json").json
    assert (facts["file"], facts["contents"], facts["lists"], facts["rows"]) == ("all.parquet", "lists", 40, 120)
    files = [file for file in (here / "all.parquet").rglob("*") if file.is_file()]
    assert facts["bytes"] == sum(file.stat().st_size for file in files)


def test_help_names_every_target(run):
    assert all(name in run("export", "--help").out for name in targets())


def test_the_query_is_printed_only_with_verbose_and_else_it_is_said_where_it_is(run, shop, here):
    done = run("export", shop / "all.corml", "--to", "sqlite")
    assert len(done.out.splitlines()) == 1
    assert "in the table metadata, under the name query" in done.err
    done = run("export", shop / "all.corml", "--to", "parquet")
    assert "the query that recommends is in all.parquet/query.sql" in done.err
    assert (here / "all.parquet" / "query.sql").exists()
    done = run("export", shop / "all.corml", "--to", "sqlite", "--force", "-q", "-v")
    assert done.out.startswith("WITH known AS (")
    assert done.err == ""


def test_a_position_of_a_dial_is_chosen(run, shop, here):
    corml.CoRML.dial(corml.load(shop / "ratings.csv"), (-0.2, 0.2), rank=4, adapt=False).save("dial.corml")
    for novelty, norm in ((0, 0.2), (1, -0.2)):
        words = ("export", "dial.corml", "--to", "sqlite", "--novelty", novelty, "--force", "--json")
        assert run(*words).json["settings"]["item_norm"] == norm


def test_a_page_is_named_as_the_model_file_and_needs_no_query(run, shop, here, monkeypatch):
    done = run("export", shop / "all.corml", "--to", "html")
    assert done.code == 0
    assert done.out.startswith("wrote all.html: 25 items, the whole model, ")
    assert "needs no server and no network, and has no users in it" in done.err
    text = (here / "all.html").read_text("utf-8")
    assert "<title>all · corml studio</title>" in text
    assert container.read(shop / "all.corml").digest in text
    facts = run("export", shop / "all.corml", "--to", "html", "--force", "--json").json
    assert (facts["contents"], facts["bytes"]) == ("model", (here / "all.html").stat().st_size)
    monkeypatch.setattr("corml.cli.export.SLOW_PAGE", 1000)
    assert "takes seconds to open" in run("export", shop / "all.corml", "--to", "html", "--force").err


def test_bad_requests_are_refused_in_one_sentence(run, shop, here):
    model = shop / "all.corml"
    for words, code, sentence in [
        (("--to", "sqllite"), 2, "did you mean 'sqlite'"),
        (("--to", "sqlite", "--pairs", "0"), 2, "--pairs must be a whole number from 1, or all"),
        (("--to", "sqlite", "-k", "0"), 2, "k must be a whole number"),
        (("--to", "html", "--lists"), 2, "An export to html has the whole model: leave --lists and --pairs out."),
        (("--to", "sqlite", "--out", model), 2, "exists and is not an export"),
        (("--to", "sqlite", "--novelty", "1"), 2, "needs a model with several operating points"),
        (("--to", "sqlite", "--out", "-"), 2, "not text for standard output"),
        (("--to", "sqlite", "--out", "no/such/place"), 3, "does not exist: create it first"),
    ]:
        done = run("export", model, *words)
        assert done.code == code, done
        assert sentence in done.err
    run("fit", shop / "ratings.csv", "--model", "popularity", "-o", "popular.corml")
    assert "not sums over the history" in run("export", "popular.corml", "--to", "sqlite").err
    assert "cannot run in a page" in run("export", "popular.corml", "--to", "html").err
    assert sorted(path.name for path in here.iterdir()) == ["popular.corml"]
