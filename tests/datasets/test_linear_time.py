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
HEAD = "user,item\n"


def rows(count):
    return "".join(f"u{n % 500},i{n % 4000}\n" for n in range(count))


def numbered(n, line, head=HEAD):
    return head + "".join(map(line, range(n)))


def written(write, *arguments, **options):
    out = io.BytesIO()
    write(out, *arguments, **options)
    return out.getvalue()


def zip_of(n):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number in range(n):
            archive.writestr(f"{number}.bin", b"")
        archive.writestr("ratings.csv", "user,item\nu,i\n")
    return out.getvalue()


def workbook(n):
    book = openpyxl.Workbook()
    for row in [["user", "item"], *([f"u{k % 50}", f"i{k}"] for k in range(n))]:
        book.active.append(row)
    return written(book.save)


def names(n):
    return [f"c{k}" for k in range(n)]


FRAME = pl.DataFrame({"user": ["u"], "item": ["i1"]})
EVENTS = {"event": "event", "weights": {f"e{k}": 1 for k in range(20_000)}}

# what is written at a size and at eight times that, as which file, and how it is read
SHAPES = {
    "plain rows": (30_000, "a.csv", lambda n: HEAD + rows(n)),
    "quotes in every field": (30_000, "a.csv", lambda n: numbered(n, lambda k: f'"u""{k % 500}","i""{k % 400}"\n')),
    "columns": (5_000, "a.csv", lambda n: ",".join(["user", "item", *names(n)]) + "\nu,i" + ",1" * n + "\n"),
    "comment lines above": (20_000, "a.csv", lambda n: "# about\n" * n + HEAD + rows(1000)),
    "bad rows": (30_000, "a.csv", lambda n: HEAD + "u1\n" * n),
    "json lines": (15_000, "a.jsonl", lambda n: numbered(n, lambda k: f'{{"user":"u{k % 500}","item":"i{k}"}}\n', "")),
    "one json array": (10_000, "a.json", lambda n: json.dumps([{"user": k % 500, "item": k} for k in range(n)])),
    "row groups of parquet": (
        *(100, "a.parquet"),
        lambda n: written(
            pl.DataFrame({"user": [k % 50 for k in range(50 * n)], "item": range(50 * n)}).write_parquet,
            row_group_size=50,
        ),
    ),
}
MORE_SHAPES = {
    "comment lines between": (20_000, "a.csv", lambda n: HEAD + "u1,i1\n# about\n" * n),
    "blank lines above": (20_000, "a.csv", lambda n: "\n" * n + HEAD + rows(1000)),
    "blank lines between": (30_000, "a.csv", lambda n: HEAD + "u1,i1\n\n" * n),
    "the last column repeated": (5_000, "a.csv", lambda n: ",".join(["user", "item", *names(n), f"c{n - 1}"]) + "\n"),
    "columns of one name": (5_000, "a.csv", lambda n: ",".join(["user", "item", *["c"] * n]) + "\n"),
    "more fields than the header": (5_000, "a.csv", lambda n: HEAD + "u,i" + ",1" * n + "\n"),
    "one long line": (500_000, "a.csv", lambda n: HEAD + "u," + "i" * n + "\n"),
    "one long header": (500_000, "a.csv", lambda n: "user,item," + "c" * n + "\nu,i,1\n"),
    "a quote that never ends": (100_000, "a.csv", lambda n: HEAD + 'u,"' + "i\n" * n),
    "nothing but quotes": (150_000, "a.csv", lambda n: HEAD + '"' * n),
    "bytes of no encoding": (30_000, "a.csv", lambda n: HEAD.encode() + b"u\xff,i\n" * n),
    "carriage returns": (30_000, "a.csv", lambda n: (HEAD + rows(n)).replace("\n", "\r")),
    "times in words": (
        *(10_000, "a.csv"),
        lambda n: numbered(n, lambda k: f"u{k % 500},i{k},2024-01-{1 + k % 28:02} 10:00:00\n", "user,item,time\n"),
    ),
    "conflicting ratings": (
        *(10_000, "a.csv"),
        lambda n: numbered(n, lambda k: f"u{k % 50},i{k % 40},{k % 5}\n", "user,item,rating\n"),
    ),
    "members of gzip": (1_000, "a.csv.gz", lambda n: gzip.compress(b"user,item\n") + gzip.compress(b"u1,i1\n") * n),
    "members of zip": (250, "a.zip", zip_of),
    "json lines with other names each": (
        *(1_500, "a.jsonl"),
        lambda n: numbered(n, lambda k: json.dumps({"user": "u", "item": "i", f"c{k}": 1}) + "\n", ""),
    ),
    "deep json": (100_000, "a.json", lambda n: "[" * n + "]" * n),
    "deep json in a line": (100_000, "a.jsonl", lambda n: '{"user": ' + '{"a":' * n + "}" * n + "}\n"),
    "one long item list": (30_000, "a.txt", lambda n: "1 " + " ".join(map(str, range(n))) + "\n2 1 2 3\n"),
    "many item lists": (10_000, "a.txt", lambda n: numbered(n, lambda k: f"{k} 1 2 3\n", ""), load_item_lists),
    "npz": (50_000, "a.npz", lambda n: written(np.savez, user=np.arange(n) % 500, item=np.arange(n))),
    "arrays of npz": (
        *(250, "a.npz"),
        lambda n: written(np.savez, user=np.arange(3), item=np.arange(3), **dict.fromkeys(names(n), np.zeros(1))),
    ),
    "rows of excel": (1_500, "a.xlsx", workbook),
    "columns of parquet": (
        *(250, "a.parquet"),
        lambda n: written(pl.DataFrame({"user": ["u"], "item": ["i"], **{key: [1] for key in names(n)}}).write_parquet),
    ),
    "titles": (
        *(10_000, "a.csv", lambda n: numbered(n, lambda k: f"i{k},The {k}\n", "item,title\n")),
        lambda path: load(FRAME, titles=path),
    ),
    "items of many categories": (
        *(10_000, "a.csv", lambda n: numbered(n, lambda k: f"i{k},a|b|c{k}\n", "item,genre\n")),
        corml.load_items,
    ),
    "event types": (
        *(10_000, "a.csv", lambda n: numbered(n, lambda k: f"u{k % 50},i{k},e{k % 20_000}\n", "user,item,event\n")),
        lambda path: load(path, **EVENTS),
    ),
    "settings with many keys": (
        *(2_500, "a.toml", lambda n: numbered(n, lambda k: f"k{k} = 1\n", "[model]\n")),
        read_settings,
    ),
    "settings with many tables": (
        *(2_500, "a.toml", lambda n: numbered(n, lambda k: f"[t{k}]\na = 1\n", "")),
        read_settings,
    ),
    "settings that are deep": (50_000, "a.toml", lambda n: "a = " + "[" * n + "]" * n, read_settings),
    "split files": (50_000, "a.split", lambda n: b"CORMLSPLIT" + bytes(n), corml.read_split),
}


def spent(read, path):
    begun = time.process_time()
    with contextlib.suppress(CormlError):
        read(path)
    return time.process_time() - begun


@pytest.mark.parametrize(
    "about", [*SHAPES.values(), *(pytest.param(one, marks=pytest.mark.slow) for one in MORE_SHAPES.values())],
    ids=[*SHAPES, *MORE_SHAPES],
)  # fmt: skip
def test_every_reader_is_linear_in_what_it_reads(make, about):
    size, file, write, *read = about
    taken = []
    for n in (size, MORE * size):
        path = make(f"{n}/{file}", write(n))
        spent(*read or [load], path)
        taken.append(min(spent(*read or [load], path) for _ in range(2)))
    assert taken[1] < 3 * MORE * max(taken[0], 0.01), taken
