"""Every reader takes time in proportion to what it reads, whatever its shape: eight times as much, about eight times.

A square would take sixty-four times as long. Files that are refused count too: it is the time until then.
"""

import contextlib
import gzip
import io
import json
import time
import zipfile

import numpy as np
import openpyxl
import polars as pl
import pytest

import corml
from corml.cli._inputs import read_settings
from corml.data import load, load_item_lists
from corml.errors import CormlError

MORE = 8
SHAPES = {}


def shape(size, name="a.csv", read=load):
    """Register what is written at a size and at eight times that, as which file, and how it is read."""

    def keep(write):
        SHAPES[write.__name__.replace("_", " ")] = write, size, name, read
        return write

    return keep


def rows(count):
    return "".join(f"u{n % 500},i{n % 4000}\n" for n in range(count))


@shape(30_000)
def plain_rows(n):
    return "user,item\n" + rows(n)


@shape(20_000)
def comment_lines_above(n):
    return "# about\n" * n + "user,item\n" + rows(1000)


@shape(20_000)
def comment_lines_between(n):
    return "user,item\n" + "u1,i1\n# about\n" * n


@shape(20_000)
def blank_lines_above(n):
    return "\n" * n + "user,item\n" + rows(1000)


@shape(30_000)
def blank_lines_between(n):
    return "user,item\n" + "u1,i1\n\n" * n


@shape(5_000)
def columns(n):
    return ",".join(["user", "item", *(f"c{k}" for k in range(n))]) + "\n" + "u,i" + ",1" * n + "\n"


@shape(5_000)
def columns_the_last_repeated(n):
    return ",".join(["user", "item", *(f"c{k}" for k in range(n)), f"c{n - 1}"]) + "\n"


@shape(5_000)
def columns_all_of_one_name(n):
    return ",".join(["user", "item", *["c"] * n]) + "\n"


@shape(5_000)
def more_fields_than_the_header_has(n):
    return "user,item\n" + "u,i" + ",1" * n + "\n"


@shape(500_000)
def one_long_line(n):
    return "user,item\nu," + "i" * n + "\n"


@shape(500_000)
def one_long_header(n):
    return "user,item," + "c" * n + "\nu,i,1\n"


@shape(100_000)
def a_quote_that_never_ends(n):
    return 'user,item\nu,"' + "i\n" * n


@shape(30_000)
def quotes_in_every_field(n):
    return "user,item\n" + "".join(f'"u""{k % 500}","i""{k % 400}"\n' for k in range(n))


@shape(150_000)
def nothing_but_quotes(n):
    return "user,item\n" + '"' * n


@shape(30_000)
def bad_rows(n):
    return "user,item\n" + "u1\n" * n


@shape(30_000)
def bytes_of_no_encoding(n):
    return b"user,item\n" + b"u\xff,i\n" * n


@shape(30_000)
def carriage_returns(n):
    return "user,item\r" + rows(n).replace("\n", "\r")


@shape(10_000)
def times_in_words(n):
    return "user,item,time\n" + "".join(f"u{k % 500},i{k},2024-01-{1 + k % 28:02} 10:00:00\n" for k in range(n))


@shape(10_000)
def conflicting_ratings(n):
    return "user,item,rating\n" + "".join(f"u{k % 50},i{k % 40},{k % 5}\n" for k in range(n))


@shape(1_000, "a.csv.gz")
def members_of_gzip(n):
    return gzip.compress(b"user,item\n") + gzip.compress(b"u1,i1\n") * n


@shape(250, "a.zip")
def members_of_zip(n):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number in range(n):
            archive.writestr(f"{number}.bin", b"")
        archive.writestr("ratings.csv", "user,item\nu,i\n")
    return out.getvalue()


@shape(15_000, "a.jsonl")
def json_lines(n):
    return "".join(json.dumps({"user": f"u{k % 500}", "item": f"i{k}"}) + "\n" for k in range(n))


@shape(1_500, "a.jsonl")
def json_lines_each_with_other_names(n):
    return "".join(json.dumps({"user": "u", "item": "i", f"c{k}": 1}) + "\n" for k in range(n))


@shape(10_000, "a.json")
def one_json_array(n):
    return json.dumps([{"user": f"u{k % 500}", "item": f"i{k}"} for k in range(n)])


@shape(100_000, "a.json")
def deep_json(n):
    return "[" * n + "]" * n


@shape(100_000, "a.jsonl")
def deep_json_in_a_line(n):
    return '{"user": ' + '{"a":' * n + "}" * n + "}\n"


@shape(30_000, "a.txt")
def one_long_item_list(n):
    return "1 " + " ".join(map(str, range(n))) + "\n2 1 2 3\n"


@shape(10_000, "a.txt", lambda path: load_item_lists(path))
def many_item_lists(n):
    return "".join(f"{k} 1 2 3\n" for k in range(n))


@shape(50_000, "a.npz")
def npz(n):
    out = io.BytesIO()
    np.savez(out, user=np.arange(n) % 500, item=np.arange(n))
    return out.getvalue()


@shape(250, "a.npz")
def arrays_of_npz(n):
    out = io.BytesIO()
    np.savez(out, user=np.arange(3), item=np.arange(3), **{f"c{k}": np.zeros(1) for k in range(n)})
    return out.getvalue()


@shape(1_500, "a.xlsx")
def rows_of_excel(n):
    book, out = openpyxl.Workbook(), io.BytesIO()
    for row in [["user", "item"], *([f"u{k % 50}", f"i{k}"] for k in range(n))]:
        book.active.append(row)
    book.save(out)
    return out.getvalue()


@shape(250, "a.parquet")
def columns_of_parquet(n):
    out = io.BytesIO()
    pl.DataFrame({"user": ["u"], "item": ["i"], **{f"c{k}": [1] for k in range(n)}}).write_parquet(out)
    return out.getvalue()


@shape(100, "a.parquet")
def row_groups_of_parquet(n):
    out = io.BytesIO()
    pl.DataFrame({"user": [f"u{k % 50}" for k in range(50 * n)], "item": list(range(50 * n))}).write_parquet(
        out, row_group_size=50
    )
    return out.getvalue()


@shape(10_000, "a.csv", lambda path: load(pl.DataFrame({"user": ["u"], "item": ["i1"]}), titles=path))
def titles(n):
    return "item,title\n" + "".join(f"i{k},The {k}\n" for k in range(n))


@shape(10_000, "a.csv", corml.load_items)
def items_of_many_categories(n):
    return "item,genre\n" + "".join(f"i{k},a|b|c{k}\n" for k in range(n))


@shape(10_000, "a.csv", lambda path: load(path, event="event", weights={f"e{k}": 1 for k in range(20_000)}))
def kinds_of_events(n):
    return "user,item,event\n" + "".join(f"u{k % 50},i{k},e{k % 20_000}\n" for k in range(n))


@shape(2_500, "a.toml", read_settings)
def settings_with_many_keys(n):
    return "[model]\n" + "".join(f"k{k} = 1\n" for k in range(n))


@shape(2_500, "a.toml", read_settings)
def settings_with_many_tables(n):
    return "".join(f"[t{k}]\na = 1\n" for k in range(n))


@shape(50_000, "a.toml", read_settings)
def settings_that_are_deep(n):
    return "a = " + "[" * n + "]" * n


@shape(50_000, "a.split", lambda path: corml.read_split(path))
def split_files(n):
    return b"CORMLSPLIT" + bytes(n)


def spent(read, path):
    begun = time.process_time()
    with contextlib.suppress(CormlError):
        read(path)
    return time.process_time() - begun


@pytest.mark.parametrize("name", list(SHAPES))
def test_every_reader_is_linear_in_what_it_reads(make, name):
    write, size, file, read = SHAPES[name]
    taken = []
    for n in (size, MORE * size):
        content = write(n)
        path = make(f"{n}/{file}", content)
        spent(read, path)
        taken.append(min(spent(read, path) for _ in range(2)))
    assert taken[1] < 3 * MORE * max(taken[0], 0.01), taken
