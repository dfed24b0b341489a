"""Loading on the command line: flags for what files are like, standard input, and errors that speak of flags."""

import io
import re
import sqlite3
import sys

import pytest

MESSY = "Kunde;StockCode;Quantity;InvoiceDate\n"
MESSY += "".join(f"Zoë{n % 9};A{n % 7};{n % 4},5;{n % 28 + 1}.01.2024 10:00\n" for n in range(60))
MESSY += ";A1;1,5;31.01.2024 10:00\nZoë1;A2;-1,0;31.01.2024 10:00\nshort\n"


def test_one_command_reads_a_messy_export(run, here):
    (here / "export.csv").write_bytes(MESSY.encode("cp1252"))
    flags = ["--user", "Kunde", "--encoding", "cp1252", "--decimal", ",", "--rating", "Quantity", "--at-least", "1"]
    flags += ["--null-ids", "drop", "--max-bad-rows", "0.05", "--time", "InvoiceDate"]
    done = run("data", "info", "export.csv", *flags, "--json")
    assert done.code == 0
    assert done.json["facts"]["users"] == 9
    assert done.json["facts"]["last time"] == "2024-01-28T10:00:00+00:00"
    for said in (
        "warning: null ids: 1 of 62 rows without a user or an item left out",
        "warning: bad rows skipped: 1, the first: 'export.csv', line 64: there are 1 fields where 4 are expected",
        "warning: negative ratings: 1 rows (returns, corrections) left out",
    ):
        assert said in done.err


def test_a_model_is_fitted_from_a_pipe(run, here, monkeypatch):
    text = "user,item\n" + "".join(f"u{n % 12},i{n * 7 % 11}\n" for n in range(90))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert run("fit", "-", "--model", "popularity", "--split", "ratio", "--out", "m.corml").code == 0
    again = run("verify", "m.corml")
    assert again.code == 3
    assert "The data '-' recorded in 'm.corml' are not here: name the file after the model." in again.err
    (here / "same.csv").write_text(text)
    assert run("verify", "m.corml", "same.csv").code == 0


def test_a_model_fitted_from_a_pattern_or_a_query_is_verified_from_it(run, here):
    for part in range(3):
        rows = "".join(f"u{n % 12},i{(n * 7 + part) % 11}\n" for n in range(30))
        (here / f"part-{part}.csv").write_text("user,item\n" + rows)
    assert run("fit", "part-*.csv", "--model", "popularity", "--split", "ratio", "--out", "a.corml").code == 0
    assert run("verify", "a.corml").code == 0
    with sqlite3.connect(here / "shop.db") as shop:
        shop.execute("CREATE TABLE sold (who, what)")
        shop.execute("CREATE TABLE other (x)")
        shop.executemany("INSERT INTO sold VALUES (?, ?)", [(n % 12, n * 7 % 11) for n in range(90)])
    shop.close()
    query = "SELECT who AS customer, what AS sku FROM sold"
    flags = ["--query", query, "--model", "popularity", "--split", "ratio"]
    assert run("fit", "shop.db", *flags, "--out", "b.corml").code == 0
    assert run("verify", "b.corml").code == 0


@pytest.mark.parametrize(
    ("content", "flags", "says"),
    [
        (
            "alpha,beta,c\na,x,1\n",
            [],
            "name one of 'alpha', 'beta', 'c' as --user; if these are data, not names: --no-header.",
        ),
        ("user,beta,c\na,x,1\n", [], "as --item;"),
        ("1,2,3\n4,5,6\n", [], "Read it with --no-header;"),
        ("user,item\na,x\n", ["--at-least", "3"], "--at-least needs a rating column"),
        ("user,item\na,x\n", ["--at-least", "3"], "name one of 'user', 'item' as --rating."),
        ("user,item,rating\na,x,1\n", ["--at-least", "3"], "lower --at-least."),
        (
            "user,item,rating\na,x,1\n",
            ["--at-least", "3", "--no-rating"],
            "--at-least needs ratings: leave --no-rating out.",
        ),
        (
            "user,item,rating\na,x,bad\n",
            [],
            "; --no-rating ignores column 'rating': correct it, or pass --skip-bad-rows.",
        ),
        ("user;item;rating\na;x;4,5\n", [], "is not a finite number; --decimal , reads it"),
        ("user,item,rating\na,x,-1\n", [], "is negative; --at-least leaves out what is below it"),
        ("user,item\n,x\n", [], "the user is an empty id; --null-ids drop leaves such rows out"),
        ("user,item,time\na,x,1.2.2024\n", ["--time", "time"], "month first: give --time-format, such as %d.%m.%Y"),
        ("user,item\na,x\n", ["--k-core", "2"], "No interactions remain with --k-core 2 of the 1 before it"),
        ("user,item\nshort\na,x\n", ["--skip-bad-rows"], "or allow a larger share with --max-bad-rows."),
        ("one\ntwo\n", [], "give --separator."),
        ("user,item\na,x\n", ["--query", "SELECT 1"], "--query is for SQLite and DuckDB files"),
        ("user,item\na,x\n", ["--null-ids", "no"], "--null-ids must be 'drop' or 'keep'; got 'no'"),
        ("user,item\na,x\n", ["--encoding", "no"], "--encoding 'no' is not known"),
        ("user,item\na,x\n", ["--max-bad-rows", "7"], "--max-bad-rows must be a share from 0 to 1; got '7.0'"),
    ],
)
def test_errors_speak_of_flags_and_not_of_python(run, here, content, flags, says):
    (here / "a.csv").write_text(content)
    done = run("data", "info", "a.csv", *flags)
    assert done.code in (2, 3)
    error = done.err[done.err.index("error[") :]
    assert says in error
    assert not re.search(r"\b(user|item|rating|time|header|at_least|k_core|null_ids|decimal|query)=", error)


def test_advice_of_the_doctor_speaks_of_flags(run, here):
    (here / "a.csv").write_text("user,item\na ,x\nb,x\nnull,x\n")
    shown = run("data", "info", "a.csv").out
    assert "→ --trim takes the blanks off" in shown
    assert "→ if they do, --null-ids drop leaves such rows out" in shown
