"""A bookshop's ratings, saved by a German spreadsheet: semicolons, latin-1, decimal commas, days before months."""

import numpy as np
import polars as pl
import pytest

from journeys.facts import assert_explained, assert_lists, known_pairs, same_figures
from journeys.program import Shell

READING = [
    *("--user", "Käufer", "--item", "Artikel", "--rating", "Bewertung", "--time", "Datum"),
    *("--encoding", "latin-1", "--decimal", ",", "--at-least", 3.5, "--time-format", "%d.%m.%Y %H:%M"),
    *("--low-ratings", "negative", "--rating-strength", "--half-life", "180d", "--min-user", 3, "--min-item", 3),
    *("--titles", "Titel.csv", "--skip-bad-rows", "--trim"),
]
SKIPPED = ["bad rows skipped: 1, "]
COLUMNS = "Käufer;Artikel;Bewertung;Datum"


@pytest.fixture
def ratings(shop):
    """A rating of half stars for each thing that anybody looked at: what was bought is liked better."""
    events = shop.events.drop_nulls(["customer_id", "sku"])
    last = events.group_by("customer_id", "sku", maintain_order=True).agg(pl.col("time").max(), pl.col("event"))
    rng, n = np.random.default_rng(3), len(last)
    liked = last["event"].list.contains("purchase").to_numpy() & ~last["event"].list.contains("return").to_numpy()
    stars = np.clip(np.round(2 * rng.normal(np.where(liked, 4.5, 3.6), 0.7, n)) / 2, 0.5, 5)
    return last.sort("time").select(
        user="Mü-" + pl.col("customer_id").cast(pl.String),  # letters that latin-1 and UTF-8 write differently
        item="Nº " + pl.col("sku"),
        stars=pl.Series(stars),
        time="time",
    )


def export(table, path):
    """As the spreadsheet writes it; blanks stand before some ids."""
    rows = table.select(
        pl.when(pl.int_range(pl.len()) % 50 == 0).then(" " + pl.col("user")).otherwise("user"),
        "item",
        pl.col("stars").cast(pl.String).str.replace(".", ",", literal=True),
        pl.col("time").dt.strftime("%d.%m.%Y %H:%M"),
    )
    lines = [COLUMNS, *(";".join(row) for row in rows.iter_rows())]
    path.write_bytes("\r\n".join(lines).encode("latin-1"))


def test_a_ratings_file_with_semicolons_latin_1_and_decimal_commas_is_read_to_the_last_letter(shop, ratings, tmp_path):
    shell, month = Shell(tmp_path), shop.weeks_before_the_end(4)
    old, new = ratings.filter(pl.col("time") < month), ratings.filter(pl.col("time") >= month)
    export(old, shell / "Bewertungen.csv")
    with open(shell / "Bewertungen.csv", "ab") as file:
        file.write("\r\nMü-1;Nº 000001;sehr gut;01.02.2024 10:00".encode("latin-1"))
    titles = shop.items.select(pl.concat_str(pl.lit("Nº "), "sku").alias("item"), "title")
    (shell / "Titel.csv").write_bytes(titles.write_csv(separator=";").encode("latin-1"))
    had = known_pairs(old, user="user", item="item")

    # read: without the encoding and the comma the error names what to give
    shell.corml("data", "info", "Bewertungen.csv", code=3, error="encoding")
    words = ["--user", "Käufer", "--item", "Artikel", "--rating", "Bewertung", "--encoding", "latin-1"]
    words += ["--no-time"]
    shell.corml("data", "info", "Bewertungen.csv", *words, code=3, error="--decimal ,")
    facts = shell.corml("data", "info", "Bewertungen.csv", *READING, "--json", warns=SKIPPED).json["facts"]
    assert facts["rows read"] == len(old) + 1
    assert facts["bad rows skipped"] == 1

    # convert: what is written is what was read, and reads back as the same
    every = [*READING[: READING.index("--low-ratings")], "--skip-bad-rows", "--trim"]
    left_out = ["holds only the pairs to learn from. Left out: "]
    shell.corml("data", "convert", "Bewertungen.csv", "liked.parquet", *every, warns=SKIPPED + left_out)
    liked = pl.read_parquet(shell / "liked.parquet")
    minutes = old.filter(pl.col("stars") >= 3.5).with_columns(pl.col("time").dt.truncate("1m").dt.epoch("s"))
    assert set(liked.select("user", "item", "time").iter_rows()) == set(
        minutes.select("user", "item", "time").iter_rows()
    )
    shell.corml("data", "convert", "liked.parquet", "liked.csv")
    shell.corml("data", "convert", "liked.csv", "again.parquet")
    columns = ["user", "item", "time"]
    assert pl.read_parquet(shell / "again.parquet")[columns].equals(liked[columns])

    # learn, measure, recommend
    words = [*READING, "--split", "leave-last", "--out", "m.corml", "--json"]
    made = shell.corml("fit", "Bewertungen.csv", *words, warns=SKIPPED).json
    words = ["-m", "ndcg@10,mrr@10", "--json"]
    measured = shell.corml("evaluate", "m.corml", *words, warns=SKIPPED).json["metrics"]
    same_figures(measured, {name: made["metrics"][name] for name in measured})
    shell.corml("recommend", "m.corml", "--all", "-k", 5, "--out", "lists.csv")
    lists = pl.read_csv(shell / "lists.csv", schema_overrides={"item": pl.String, "user": pl.String})
    assert_lists(lists, had, 5)
    names = dict(titles.iter_rows())
    assert all(names[item] == title for item, title in lists.select("item", "title").iter_rows())

    # a low rating pushes down what is like it, and the explanation says so
    user = old.filter(pl.col("stars") < 3.5)["user"].mode().sort()[0]
    (one,) = shell.corml("recommend", "m.corml", "--user", user, "--json").json
    why = shell.corml("explain", "m.corml", one["items"][0]["item"], "--user", user, "--json").json
    assert_explained(why, one["items"][0]["score"])
    stars = dict(old.filter(pl.col("user") == user).select("item", "stars").iter_rows())
    assert {part["strength"] < 0 for part in why["contributions"]} == {True, False}
    for part in why["contributions"]:
        assert (part["strength"] < 0) == (stars[part["item"]] < 3.5)

    # the next month, in the same form
    export(new, shell / "Neu.csv")
    update = shell.corml("update", "m.corml", "Neu.csv", "--json").json["update"]
    assert update["rows"] == len(new)
    shell.corml("recommend", "m.corml", "--all", "-k", 5, "--out", "next.parquet")
    assert_lists(pl.read_parquet(shell / "next.parquet"), known_pairs(ratings, user="user", item="item"), 5)
