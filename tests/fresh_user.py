"""What a new user does on the first day, with the exports that shops have; run by test_fresh_user.py.

    python fresh_user.py first     writes ten messy files, and takes each from a fit to lists and an update
    python fresh_user.py again     opens the models in another process and asks once more

It runs in an empty folder, with nothing but the installed package. Every step is a command as it would be typed. What
is `known` of people is written down while the exports are made.
"""

import gzip
import json
import os
import shlex
import sqlite3
import sys
from pathlib import Path

import numpy as np
import polars as pl

import corml
from corml.cli import main

K = 5
USERS, ITEMS = 50, 24


def shop(seed):
    """Who had what: (user, item, stars, day), each pair once; two tastes."""
    rng = np.random.default_rng(seed)
    rows = []
    for user in range(USERS):
        likes = 1 + 5.0 * (np.arange(ITEMS) % 2 == user % 2)
        for item in rng.choice(ITEMS, size=rng.integers(6, 11), replace=False, p=likes / likes.sum()):
            rows.append((f"k{user}", f"w{item:02}", int(rng.integers(1, 6)), int(rng.integers(1, 29))))
    return rows


def later(rows):
    """The next day: known and new customers, and an item that is new."""
    had = {(user, item) for user, item, *_ in rows}
    new = [
        (f"k{n}", next(f"w{i:02}" for i in range(ITEMS) if (f"k{n}", f"w{i:02}") not in had), 5, 30) for n in range(5)
    ]
    return [*new, ("neu", "w03", 5, 30), ("neu", "w04", 4, 30), ("k7", "novelty", 5, 30)]


# --- ten exports: each writes a file and says with which options it is read, and what it says of whom ----------------


def windows(name, rows):
    """An old program: Windows letters in ids and column names."""
    lines = ["Kunde,Artikel", *(f"Mül{user},Käse {item}" for user, item, *_ in rows)]
    Path(f"{name}.csv").write_bytes("\n".join(lines).encode("cp1252"))
    options = "--encoding cp1252 --user Kunde --item Artikel"
    return f"{name}.csv", options, {(f"Mül{user}", f"Käse {item}") for user, item, *_ in rows}


def german(name, rows):
    """A spreadsheet saved in Germany: semicolons, decimal commas, days before months."""
    lines = ["user_id;item_id;rating;date", *(f"{u};{i};{s},5;{d:02}.01.2024" for u, i, s, d in rows)]
    Path(f"{name}.csv").write_text("\n".join(lines))
    return f"{name}.csv", "--decimal , --at-least 2.5", {(u, i) for u, i, *_ in rows}


def json_lines(name, rows):
    """A log of events; what was sent back is known, and not learned from."""
    kinds = {1: "return", 2: "view", 3: "view", 4: "cart", 5: "buy"}
    with open(f"{name}.jsonl", "w") as out:
        for user, item, stars, day in rows:
            stamp = f"2024-01-{day:02}T12:00:00Z"
            print(json.dumps({"user": user, "item": item, "type": kinds[stars], "timestamp": stamp}), file=out)
    options = "--event type --weights view=1,cart=3,buy=10 --negative return --half-life 30d"
    return f"{name}.jsonl", options, {(u, i) for u, i, *_ in rows}


def excel(name, rows):
    """A workbook whose first sheet is a cover."""
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["Sales of the shop, confidential"])
    sheet = book.create_sheet("2024")
    sheet.append(["Customer ID", "SKU"])
    for user, item, *_ in rows:
        sheet.append([user, item])
    book.save(f"{name}.xlsx")
    return f"{name}.xlsx", "--sheet 2024", {(u, i) for u, i, *_ in rows}


def partitions(name, rows):
    """A folder of Parquet files with Hive partitions, and the marker of a cluster."""
    for half in (0, 1):
        folder = Path(name) / f"month=2024-0{half + 1}"
        folder.mkdir(parents=True)
        part = rows[half::2]
        pl.DataFrame({"customer_id": [r[0] for r in part], "product_id": [r[1] for r in part]}).write_parquet(
            folder / "part-0.parquet"
        )
    (Path(name) / "_SUCCESS").touch()
    return name, "--user customer_id --item product_id", {(u, i) for u, i, *_ in rows}


def database(name, rows):
    """A database with more than one table."""
    with sqlite3.connect(f"{name}.db") as base:
        base.execute("CREATE TABLE orders (customer TEXT, sku TEXT, sold_at TEXT, cancelled INT)")
        base.execute("CREATE TABLE staff (name TEXT)")
        values = [(u, i, f"2024-01-{d:02} 10:00:00+00", 0) for u, i, _, d in rows] + [("k1", "cancelled", "", 1)]
        base.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", values)
    base.close()
    query = "SELECT customer AS user, sku AS item, sold_at AS time FROM orders WHERE NOT cancelled"
    return f"{name}.db", f"--query {shlex.quote(query)}", {(u, i) for u, i, *_ in rows}


def numbered(rows):
    """The same with numbers for ids."""
    number = {"neu": 900, "novelty": 900}
    return [(str(number.get(u) or 100 + int(u[1:])), str(number.get(i) or int(i[1:]) + 1), s, d) for u, i, s, d in rows]


def double_colons(name, rows):
    """Ratings as MovieLens wrote them."""
    rows = numbered(rows)
    Path(f"{name}.dat").write_text("\n".join(f"{u}::{i}::{s}::{d * 86_400}" for u, i, s, d in rows))
    return f"{name}.dat", "--at-least 3", {(u, i) for u, i, *_ in rows}


def item_lists(name, rows):
    """A user and then all their items, as LightGCN publishes its parts."""
    of = {}
    for user, item, *_ in numbered(rows):
        of.setdefault(user, []).append(item)
    Path(f"{name}.txt").write_text("\n".join(" ".join([user, *items]) for user, items in of.items()))
    return f"{name}.txt", "--item-lists", {(user, item) for user, items in of.items() for item in items}


def packed(name, rows):
    """A dump of Postgres, packed."""
    lines = ["user_id\titem_id\tcreated_at", *(f"{u}\t{i}\t2024-01-{d:02} 08:30:00.123+00" for u, i, _, d in rows)]
    with gzip.open(f"{name}.tsv.gz", "wt") as out:
        out.write("\n".join(lines))
    return f"{name}.tsv.gz", "--time created_at", {(u, i) for u, i, *_ in rows}


def retail(name, rows):
    """Invoices: returns as negative quantities, guests without a number, a line that broke."""
    lines = ["Invoice,StockCode,Quantity,InvoiceDate,Customer ID"]
    lines += [f"{n},{i},{s - 1},2024-01-{d:02} 09:{n % 60:02},{u}" for n, (u, i, s, d) in enumerate(rows)]
    lines += ["C9,w01,-3,2024-01-30 09:00,k999", "90,w02,1,2024-01-30 09:00,", "91,w05,broken"]
    Path(f"{name}.csv").write_text("\n".join(lines))
    options = "--rating Quantity --at-least 1 --null-ids drop --max-bad-rows 0.1"
    return f"{name}.csv", options, {(u, i) for u, i, *_ in rows}


EXPORTS = (windows, german, json_lines, excel, partitions, database, double_colons, item_lists, packed, retail)


# --- what the user does ----------------------------------------------------------------------------------------------


def corml_(command):
    """Run a command line; it must succeed."""
    print("$ corml", command, flush=True)
    code = None
    try:
        main(shlex.split(command))
    except SystemExit as end:
        code = end.code
    assert code == 0, f"corml {command}: exit code {code}"


def nothing_known(file, known):
    """The lists have rows, and none of what is known."""
    lists = pl.read_parquet(file)
    pairs = set(lists.select("user", "item").iter_rows())
    assert lists.height > 10 * K
    assert not pairs & known, f"{file}: {sorted(pairs & known)[:3]}"
    assert set(lists["source"]) <= {"personal", "fallback"}
    return lists


def first_day(export, seed):
    name, rows = export.__name__, shop(seed)
    source, options, known = export(name, rows)
    corml_(f"data info {source} {options}")
    corml_(f"fit {source} {options} --split ratio --out {name}.corml")
    corml_(f"recommend {name}.corml --all -k {K} --out {name}-lists.parquet")
    lists = nothing_known(f"{name}-lists.parquet", known)
    user, item = lists.row(0, named=True)["user"], lists.row(0, named=True)["item"]
    corml_(f"explain {name}.corml {shlex.quote(item)} --user {shlex.quote(user)} --top 3")
    corml_(f"evaluate {name}.corml -m ndcg@10")
    Path("next").mkdir(exist_ok=True)
    os.chdir("next")
    source, _, more = export(name, later(rows))
    os.chdir("..")
    corml_(f"update {name}.corml next/{source}")
    corml_(f"recommend {name}.corml --all -k {K} --out {name}-next.parquet")
    nothing_known(f"{name}-next.parquet", known | more)
    corml_(f"verify {name}.corml")
    Path(f"{name}-known.json").write_text(json.dumps(sorted(known | more)))


def another_day(export):
    name = export.__name__
    known = set(map(tuple, json.loads(Path(f"{name}-known.json").read_text())))
    model = corml.read_model(f"{name}.corml")
    before = nothing_known(f"{name}-next.parquet", known)
    again = model.recommend(list(model.users_), k=K).to_frame()
    assert again.drop("score").equals(before.drop("score")), name
    np.testing.assert_allclose(again["score"], before["score"], rtol=1e-5)
    stranger = model.recommend(["nobody we know"], k=K)
    assert stranger.sources == ("fallback",)


if __name__ == "__main__":
    print("corml from", corml.__file__)
    for seed, export in enumerate(EXPORTS):
        if sys.argv[1] == "first":
            first_day(export, seed)
        else:
            another_day(export)
    if sys.argv[1] == "again":
        corml_("update double_colons.corml --refit")
        known = set(map(tuple, json.loads(Path("double_colons-known.json").read_text())))
        corml_(f"recommend double_colons.corml --all -k {K} --out refitted.parquet")
        nothing_known("refitted.parquet", known)
        corml_("similar double_colons.corml --user 900 -k 3")
    print("all is well")
