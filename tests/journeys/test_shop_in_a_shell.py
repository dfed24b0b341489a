"""A shop in a shell: from an export of its events to a service, with all options of loading and of lists together."""

import csv
import json
import re
import sqlite3
from contextlib import closing
from datetime import timedelta

import numpy as np
import polars as pl
import pytest

from journeys.facts import assert_explained, assert_lists, known_pairs, same_figures
from journeys.program import Shell, wait_for
from journeys.shop import BAD_ROWS, CATEGORY_BETWEEN, LAST, NEGATIVE, WEIGHTS, write_csv, write_items

LOADING = [
    *("--event", "event", "--weights", ",".join(f"{kind}={weight}" for kind, weight in WEIGHTS.items())),
    *("--negative", NEGATIVE, "--weight", "quantity", "--transform", "log1p", "--half-life", "90d"),
    *("--rating", "rating", "--at-least", 3, "--rating-strength", "--low-ratings", "negative"),
    *("--time", "time", "--null-ids", "drop", "--skip-bad-rows", "--k-core", 3, "--items", "items.csv"),
]
RULES = [
    *("--diversity", 0.3, "--max-per", "category=3", "--boost", "category:Toys=1.2", "--lift", 1.5),
    *("--new-items", "arrivals.csv", "--only-where", "price<=60", "--exclude-where", "brand=Brand 7"),
    *("--now", f"{LAST:%Y-%m-%d}"),
]
METRICS = "ndcg@10,recall@10,coverage@10"
LEFT_OUT = ("null ids: ", f"bad rows skipped: {len(BAD_ROWS)}, ")  # what loading the first export warns of
UNWEIGHTED = (
    "popularity cannot learn from weights: every interaction counts alike.",
    "popularity cannot push down what is like a disliked item: it only leaves out the item itself.",
)


@pytest.fixture
def year(shop, tmp_path):
    """Three exports: a year, and twice two weeks; with COALESCE(rating, 3), because every row needs a rating."""
    shell, rated = Shell(tmp_path), pl.col("rating").fill_null(3)
    moments = [shop.weeks_before_the_end(weeks) for weeks in (4, 2)]
    parts = shop.before(moments[0]), shop.between(*moments), shop.since(moments[1])
    known, first, second = (part.with_columns(rated) for part in parts)
    write_csv(known, shell / "events.csv", bad=tuple(BAD_ROWS))
    write_csv(first, shell / "first.csv")
    write_csv(second, shell / "second.csv")
    write_items(shop.items, shell / "items.csv")
    write_items(shop.arrivals, shell / "arrivals.csv")
    return shell, known, first, second


def test_a_shop_goes_from_an_export_to_a_service_in_a_shell(shop, year):
    shell, known, first, second = year
    the_data_are_what_was_exported(shell, known)
    best = the_best_settings_are_found(shell)
    measured = a_model_is_fitted_and_measured(shell, best)
    reports_show_the_same_figures(shell, measured)
    user = lists_are_made(shell, shop, known)
    reasons_are_given(shell, known, user)
    new_events_count(shell, known, first, second)
    exports_answer_as_the_model(shell)
    the_service_answers_as_the_program(shell, known_pairs(known, first, second), user)


def the_data_are_what_was_exported(shell, known):
    info = shell.corml("data", "info", "events.csv", *LOADING, "--json", warns=LEFT_OUT).json
    facts = info["facts"]
    without_id = known.filter(pl.col("customer_id").is_null() | pl.col("sku").is_null())
    assert facts["rows read"] == len(known) + len(BAD_ROWS)
    assert facts["bad rows skipped"] == len(BAD_ROWS)  # also a time that cannot be read, and times far off
    assert facts["rows without a user or item"] == len(without_id)
    assert facts["last time"] <= f"{known['time'].max():%Y-%m-%dT%H:%M:%S+00:00}"  # of the 3-core
    assert facts["interactions per user"]["min"] >= 3  # the 3-core
    assert set(facts["pairs by their last event"]) == set(WEIGHTS)
    assert facts["pairs with negative feedback"] > 0
    found = " ".join(finding["what"] for finding in info["findings"])
    assert f"{len(BAD_ROWS)} rows could not be read" in found
    assert "lists leave out all known items of a user" in found

    words = ["events.csv", "shop.split", "--split", "temporal", *LOADING, "--json"]
    counts = shell.corml("data", "split", *words, warns=LEFT_OUT).json["counts"]
    assert sum(counts[part]["pairs"] for part in ("train", "valid", "test")) == facts["interactions"]


def the_best_settings_are_found(shell):
    """Models are compared, and the best is tuned, on the same split by time; both go on where they were."""
    study = ["compare", "shop.split", "--models", "corml,ease,item-knn,popularity", "-m", METRICS, "--out", "study"]
    table = shell.corml(*study).out
    results = json.loads((shell / "study/results.json").read_text())
    means = {entry["label"]: entry["means"] for entry in results["models"]}
    assert results["best"] == max(means, key=lambda label: means[label]["ndcg@10"]) != "popularity"
    for row in csv.DictReader((shell / "study/results.csv").read_text().splitlines()):
        assert float(row["mean"]) == means[row["model"]][row["metric"]]
    for label, values in means.items():
        (line,) = (line for line in table.splitlines() if line.startswith(f"{label} ") and "±" in line)
        assert f"{values['ndcg@10']:.4f}" in line
    again = shell.corml(*study, "--json").json
    assert [entry["means"] for entry in again["models"]] == [entry["means"] for entry in results["models"]]
    bought = shell.corml("compare", "shop.split", "--models", "corml", "--targets", "purchase", "--json").json
    assert 0 < bought["users"] < results["users"]

    search = ["tune", "events.csv", *LOADING, "--split", "temporal", "--journal", "tune.journal", "--json"]
    tuned = shell.corml(*search, "--trials", 3, warns=LEFT_OUT).json
    assert tuned["score"] == max(trial["score"] for trial in tuned["trials"]) >= tuned["default score"]
    words = ["--trials", 5, "--plots", "charts", "--out", "best.toml"]
    more = shell.corml(*search, *words, warns=LEFT_OUT).json
    assert [trial["score"] for trial in more["trials"]][:3] == [trial["score"] for trial in tuned["trials"]]
    assert all((shell / "charts").iterdir())
    return more["best"]


def a_model_is_fitted_and_measured(shell, best):
    """The settings file has all it takes: the model is measured on test, learns from everything, and proves it."""
    made = shell.corml("fit", "--settings", "best.toml", "--out", "shop.corml", "--json", warns=LEFT_OUT).json
    assert made["measured_on"].startswith("test set")
    measured, about = made["metrics"], shell.corml("inspect", "shop.corml", "--json").json
    same_figures(about["evaluation"]["metrics"], measured)
    assert best.items() <= about["settings"].items()
    evaluated = shell.corml("evaluate", "shop.corml", "shop.split", "-m", METRICS, "--json").json
    same_figures(evaluated["metrics"], {name: measured[name] for name in METRICS.split(",")})
    assert "verified" in shell.corml("verify", "shop.corml", warns=LEFT_OUT).out
    return measured


def reports_show_the_same_figures(shell, measured):
    """The page of a model has the figures that its fit printed, and that of the study those of its tables."""
    shell.corml("report", "shop.corml", "--name", "Our shop", "--out", "report.html", warns=LEFT_OUT + UNWEIGHTED)
    page = (shell / "report.html").read_text()
    assert "Our shop" in page
    assert f"NDCG@10. corml:  {measured['ndcg@10']:.4g} " in re.sub("<[^>]*>", " ", page)
    results = json.loads((shell / "study/results.json").read_text())
    shell.corml("report", "study", "--out", "study.html", warns=LEFT_OUT)
    page = (shell / "study.html").read_text()
    for entry in results["models"]:
        assert entry["label"] in page
        assert f"{entry['means']['ndcg@10']:.4g}" in page


def lists_are_made(shell, shop, known):
    """For everybody, in one file and in parts; for one, for a new customer; by all rules; and what to buy again."""
    had, items = known_pairs(known), pl.concat([shop.items, shop.arrivals])
    shell.corml("recommend", "shop.corml", "--all", "-k", 20, "--out", "plain.parquet")
    plain = pl.read_parquet(shell / "plain.parquet")
    assert_lists(plain, had, 20)
    without = set(had) - set(plain["user"])  # customers of nothing but items that the 3-core leaves out
    assert len(without) < 0.005 * len(had)
    assert all(len(had[user]) <= 2 for user in without)
    for _ in range(2):  # the second time everything is there
        shell.corml("recommend", "shop.corml", "--all", "-k", 20, "--out", "lists/")
        assert pl.read_parquet(shell / "lists/*.parquet").equals(plain)

    user = plain.filter(pl.col("source") == "personal")["user"][0]
    (one,) = shell.corml("recommend", "shop.corml", "--user", user, "-k", 20, "--json").json
    mine = plain.filter(pl.col("user") == user)
    assert [item["item"] for item in one["items"]] == mine["item"].to_list()
    np.testing.assert_allclose([item["score"] for item in one["items"]], mine["score"], rtol=1e-6)

    cart = shop.items["sku"][:3].to_list()
    words = ["recommend", "shop.corml", "-k", 5, "--json"]
    unknown = ["the model does not know 'nothing' (history 1), and ignores it"]
    (new,) = shell.corml(*words, "--history", ",".join([*cart, "nothing"]), warns=unknown).json
    (same,) = shell.corml(*words, *(word for sku in cart for word in ("--item", sku))).json
    assert new["unknown"] == ["nothing"]
    assert new["items"] == same["items"]
    assert not set(cart) & {item["item"] for item in new["items"]}
    (stranger,) = shell.corml(*words, "--user", "nobody").json
    assert (stranger["source"], stranger["reason"]) == (
        "fallback",
        "most popular items: the model does not know this user",
    )
    shell.corml(*words, "--user", "nobody", "--unknown", "error", code=3, error="'nobody'")

    shell.corml("recommend", "shop.corml", "--all", *RULES, "--max-share", "5%", "--out", "ruled.parquet")
    ruled = pl.read_parquet(shell / "ruled.parquet")
    assert_lists(ruled, had, 10, ranked=False)
    assert ruled.group_by("item").len()["len"].max() <= 0.05 * len(had)
    listed = ruled.join(items, left_on="item", right_on="sku", how="left")
    assert listed["price"].max() <= 60
    assert "Brand 7" not in set(listed["brand"])
    assert (listed["available_from"].fill_null(LAST) <= LAST).all()
    assert (listed["available_until"].fill_null(LAST) >= LAST).all()
    of_category = listed.with_columns(pl.col("category").str.split(CATEGORY_BETWEEN)).explode("category")
    assert of_category.group_by("user", "category").len()["len"].max() == 3
    toys = pl.col("category").str.starts_with("Toys")
    assert listed.filter(toys)["boost"].unique().to_list() == [pytest.approx(1.2)]
    assert listed.filter(~toys)["boost"].unique().to_list() == [1]
    assert set(listed.filter("new")["item"]) <= set(shop.arrivals["sku"])
    assert listed["new"].any()

    again = ["--seen", "only", "--exclude-recent", "14d", "-k", 5]
    shell.corml("recommend", "shop.corml", "--all", *again, "--out", "again.csv")
    offered = pl.read_csv(shell / "again.csv", schema_overrides={"user": pl.String, "item": pl.String})
    last = known.drop_nulls(["customer_id", "sku"]).group_by(user=pl.col("customer_id").cast(pl.String), item="sku")
    ages = offered.join(last.agg(pl.col("time").max()), on=["user", "item"], how="left")
    assert ages["time"].null_count() == 0
    assert (known["time"].max() - ages["time"]).min().days >= 14
    what_was_merely_viewed_may_come_back(shell, known)
    return user


def what_was_merely_viewed_may_come_back(shell, known):
    """Lists without what was bought or put into a cart, and without what was viewed in the last days."""
    words = ["--hide-events", "purchase,cart", "--exclude-recent", "view=7d", "--out", "viewed.parquet"]
    shell.corml("recommend", "shop.corml", "--all", *words)
    lists = pl.read_parquet(shell / "viewed.parquet")
    recent = pl.col("time") > known["time"].max() - timedelta(days=7)
    hidden = known.filter(pl.col("event").is_in(["purchase", "cart", NEGATIVE]) | recent)
    assert_lists(lists, known_pairs(hidden), 10)
    had = known_pairs(known)
    back = sum(item in had[user] for user, item in lists.select("user", "item").iter_rows())
    assert back > 0.1 * len(lists)


def reasons_are_given(shell, known, user):
    """The items of the history add up to the score; each has the kind and the age of its last event."""
    (one,) = shell.corml("recommend", "shop.corml", "--user", user, "--json").json
    best = one["items"][0]
    why = shell.corml("explain", "shop.corml", best["item"], "--user", user, "--json").json
    assert_explained(why, best["score"])
    rows = known.filter(pl.col("customer_id").cast(pl.String) == user)
    last = {row["sku"]: row for row in rows.sort("time").iter_rows(named=True)}
    for part in why["contributions"]:
        event = last[part["item"]]
        assert part["kind"] == event["event"]
        age = known["time"].max() - event["time"]
        assert part["age_days"] == pytest.approx(age.total_seconds() / 86_400)
        assert (part["strength"] < 0) == (event["event"] == NEGATIVE or event["rating"] < 3)
    table = shell.corml("explain", "shop.corml", best["item"], "--user", user, "--top", 3).out
    assert f"{best['score']:.4f}" in table
    assert shell.corml("similar", "shop.corml", best["item"], "-k", 3, "--json").json

    (long,) = shell.corml("recommend", "shop.corml", "--user", user, "-k", 30, "--json").json
    place = long["items"][-1]
    no = shell.corml("why-not", "shop.corml", place["item"], "--user", user, "--json").json
    assert (no["verdict"], no["rank"]) == ("below", 30)
    assert no["score"] == pytest.approx(place["score"], rel=1e-5)
    assert no["score"] < no["needed"] <= long["items"][9]["score"] * (1 + 1e-6)
    assert_explained(no, place["score"])
    own = why["contributions"][0]["item"]
    assert shell.corml("why-not", "shop.corml", own, "--user", user, "--json").json["verdict"] == "seen"
    shell.corml("why-not", "shop.corml", "no such thing", "--user", user, code=3, error="no such thing")


def new_events_count(shell, known, first, second):
    """Two weeks: the first counts at once, the second is learned from; nothing of either is recommended."""
    before, new_item = set(known_pairs(known)), next(iter(set(first["sku"].drop_nulls()) - set(known["sku"])))
    newcomers = set(known_pairs(first, second)) - before
    for name, new, words in (("first", first, []), ("second", second, ["--refit"])):
        words += ["--out", "shop.corml", "--json"]
        made = shell.corml("update", "shop.corml", f"{name}.csv", *words, warns=["null ids: "]).json
        assert made["update"]["rows"] == len(new)
        assert made["update"]["without_id"] == len(new) - len(new.drop_nulls(["customer_id", "sku"]))
        assert made["update"]["new_users"] == len(set(known_pairs(new)) - before)
        before |= set(known_pairs(new))
        shell.corml("recommend", "shop.corml", "--all", "--out", f"{name}.parquet")
        lists = pl.read_parquet(shell / f"{name}.parquet")
        assert_lists(lists, known_pairs(known, first, *([second] if new is second else [])), 10)
        unknown = [] if new is second else [f"the model does not know '{new_item}' (history 1), and ignores it"]
        (like,) = shell.corml("recommend", "shop.corml", "--item", new_item, "--json", warns=unknown).json
        assert like["unknown"] == ([] if new is second else [new_item])
    personal = set(lists.filter(pl.col("source") == "personal")["user"])
    assert len(newcomers & personal) > 0.8 * len(newcomers)


def exports_answer_as_the_model(shell):
    """A query in a database, on all pairs or on the lists, gives what the program gives."""
    lists = pl.read_parquet(shell / "second.parquet")
    history = lists["item"].unique(maintain_order=True)[:3].to_list()
    (one,) = shell.corml("recommend", "shop.corml", "--history", ",".join(history), "-k", 5, "--json").json
    expected = [(item["item"], pytest.approx(item["score"], rel=1e-4)) for item in one["items"]]

    shell.corml("export", "shop.corml", "--to", "sqlite", "--pairs", "all", "--out", "shop.sqlite")
    assert answers(shell / "shop.sqlite", history=json.dumps(history), k=5) == expected
    shell.corml("export", "shop.corml", "--to", "sqlite", "--lists", "-k", 10, "--out", "lists.sqlite")
    user = lists["user"][0]
    mine = lists.filter(pl.col("user") == user)
    assert answers(shell / "lists.sqlite", user=user, k=10) == list(mine.select("item", "score").iter_rows())

    shell.corml("export", "shop.corml", "--to", "parquet", "--pairs", 50, "--out", "pairs")
    pairs = pl.read_parquet(shell / "pairs/pairs/*.parquet")
    assert pairs.group_by("source").len()["len"].max() == 50
    facts = json.loads((shell / "pairs/metadata.json").read_text())
    assert int(facts["pairs"]) == len(pairs)
    shell.corml("export", "shop.corml", "--to", "html", "--out", "shop.html")
    assert not set(lists["user"]) & set(re.findall(r"\d{9}", (shell / "shop.html").read_text()))  # no customer is in it

    duckdb = pytest.importorskip("duckdb")
    shell.corml("export", "shop.corml", "--to", "duckdb", "--pairs", "all", "--out", "shop.duckdb")
    with duckdb.connect(str(shell / "shop.duckdb"), read_only=True) as database:
        (query,) = database.execute("SELECT value FROM metadata WHERE name = 'query'").fetchone()
        rows = database.execute(query, {"history": history, "k": 5}).fetchall()
    assert [(item, score) for _, item, _, score, *_ in rows] == expected


def answers(file, **asked):
    """Items and scores that the query in a database gives."""
    with closing(sqlite3.connect(file)) as database:
        (query,) = database.execute("SELECT value FROM metadata WHERE name = 'query'").fetchone()
        return [(item, score) for _, item, _, score, *_ in database.execute(query, asked)]


def the_service_answers_as_the_program(shell, had, user):
    """Lists, reasons and "why not" over HTTP; a new version answers after a signal."""
    client = pytest.importorskip("corml.client", reason="the extra client is not installed")
    words = ["recommend", "--user", user, "-k", 10, "--json"]
    rules = {"diversity": 0.3, "max_per": {"category": 2}, "boost": {"category": {"Toys": 1.2}}}
    flags = ["--diversity", 0.3, "--max-per", "category=2", "--boost", "category:Toys=1.2"]
    with shell.serving("shop.corml") as service, client.Client(service.address) as ask:
        for options, written in (({}, []), (rules, flags)):
            (expected,) = shell.corml(*words[:1], "shop.corml", *words[1:], *written).json
            answer = ask.recommend(user=user, k=10, **options)
            assert answer.source == "personal"
            assert [item.item for item in answer.items] == [item["item"] for item in expected["items"]]
            np.testing.assert_allclose(
                [item.score for item in answer.items], [item["score"] for item in expected["items"]], rtol=1e-5
            )
        best = ask.recommend(user=user, k=40).items
        why = ask.why_not(best[-1].item, user=user, k=10)
        assert (why.verdict, why.rank) == ("below", 40)
        assert why.score < why.needed <= best[9].score * (1 + 1e-6)
        assert ask.why_not(next(iter(had[user] & set(catalogue(shell)))), user=user, k=10).verdict == "seen"
        reasons = ask.explain(best[0].item, user=user)
        assert sum(part.contribution for part in reasons.contributions) == pytest.approx(best[0].score, rel=2e-4)

        before = ask.recommend(user=user).model_version
        shell.corml("fit", "shop.split", "--model", "ease", "--out", "shop.corml")
        service.signal("SIGHUP")
        wait_for(lambda: ask.recommend(user=user).model_version != before)
        (expected,) = shell.corml(*words[:1], "shop.corml", *words[1:]).json
        answer = ask.recommend(user=user, k=10)
        assert [item.item for item in answer.items] == [item["item"] for item in expected["items"]]
    assert user not in service.log.read_text()


def catalogue(shell):
    """Items of the exported model."""
    with closing(sqlite3.connect(shell / "shop.sqlite")) as database:
        return [item for (item,) in database.execute("SELECT id FROM items")]
