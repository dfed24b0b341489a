"""One data set, many files: all give the same interactions in the same order."""

import gzip
import io
import json
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pytest

from corml.data import load

USERS = [1, 1, 2, 3, 3, 3]
ITEMS = [10, 20, 20, 10, 30, 40]
RATINGS = [3.5, 4.0, 5.0, 1.0, 2.5, 4.5]
TIMES = [100, 50, 75, 80, 90, 95]
FRAME = pl.DataFrame({"user_id": USERS, "item_id": ITEMS, "rating": RATINGS, "timestamp": TIMES})
CSV = FRAME.write_csv().encode()
TSV = FRAME.write_csv(separator="\t").encode()
INTER = b"user_id:token\titem_id:token\trating:float\ttimestamp:float\n" + TSV.split(b"\n", 1)[1]


def packed(kind, data=CSV, name="data.csv"):
    out = io.BytesIO()
    if kind == "parquet":
        FRAME.write_parquet(out)
    elif kind == "npz":
        np.savez(out, user=np.array(USERS), item=np.array(ITEMS), rating=RATINGS, time=TIMES, split=np.zeros(6))
    elif kind == "npz of text":
        np.savez(out, user=np.array(USERS).astype(str), item=np.array(ITEMS).astype("S"), rating=RATINGS, time=TIMES)
    else:
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr("folder/", "")
            archive.writestr("__MACOSX/._" + name, "junk")
            archive.writestr("README.md", "about")
            archive.writestr("folder/" + name, data)
    return out.getvalue()


FILES = {
    "data.csv": CSV,
    "data.tsv": TSV,
    "data.txt": TSV,
    "data.inter": INTER,
    "dos.csv": CSV.replace(b"\n", b"\r\n"),
    "mac.csv": CSV.replace(b"\n", b"\r"),
    "mixed.csv": CSV.replace(b"\n", b"\r\n", 3),
    "unfinished.csv": CSV.rstrip(b"\n"),
    "blank.csv": b"\n# a comment\n\n" + CSV.replace(b"\n2", b"\n\n   \n2") + b"\n\n",
    "bom.csv": b"\xef\xbb\xbf" + CSV,
    "quoted.csv": b"\n".join(b",".join(b'"%s"' % f for f in line.split(b",")) for line in CSV.strip().split(b"\n")),
    "quoted-dos.csv": b'"user_id"' + CSV.replace(b"\n", b"\r\n").removeprefix(b"user_id"),
    "semicolon.csv": CSV.replace(b",", b";"),
    "colons.dat": CSV.replace(b",", b"::"),
    "pipe.txt": CSV.replace(b",", b"|"),
    "blanks.txt": CSV.replace(b",", b" "),
    "data.csv.gz": gzip.compress(CSV),
    "members.csv.gz": gzip.compress(CSV[:20]) + gzip.compress(CSV[20:]),
    "data.zip": packed("zip"),
    "inter.zip": packed("zip", INTER, "data.inter"),
    "gz.zip": packed("zip", gzip.compress(CSV), "data.csv.gz"),
    "data.parquet": packed("parquet"),
    "data.parquet.gz": gzip.compress(packed("parquet")),
    "data.npz": packed("npz"),
    "text.npz": packed("npz of text"),
}
ONE_COLUMN_FEWER = CSV.replace(b"user_id", b"who")


@pytest.fixture(scope="module")
def expected():
    return load(FRAME, at_least=2)


@pytest.mark.parametrize("name", FILES)
def test_every_file_format_gives_the_same_interactions(make, expected, name):
    data = load(make(name, FILES[name]), at_least=2)
    assert data.fingerprint == expected.fingerprint
    assert data.users == expected.users
    assert np.array_equal(data.item, expected.item)


@pytest.mark.parametrize("convert", [pl.DataFrame.to_pandas, pl.DataFrame.to_arrow, pl.DataFrame.clone])
def test_every_kind_of_frame_gives_the_same_interactions(expected, convert):
    assert load(convert(FRAME), at_least=2).fingerprint == expected.fingerprint


def test_rows_keep_the_order_of_the_file(make):
    text = "user,item\nb,y\na,x\nb,x\na,x\nc,y\n"
    data = load(make("order.csv", text))
    pairs = list(zip(data.users.labels[data.user], data.items.labels[data.item], strict=True))
    assert pairs == [("b", "y"), ("a", "x"), ("b", "x"), ("c", "y")]


def test_where_the_data_came_from_can_be_written_as_json(make):
    path = make("data.csv", CSV)
    data = load(path, at_least=2, titles={10: "ten"}, user="user_id")
    facts = json.loads(json.dumps(data.source))
    assert facts["from"] == str(path)
    assert facts["options"] == {"at_least": 2, "titles": "mapping", "user": "user_id"}
    assert (facts["rows"], facts["bad_rows"], facts["filtered"], facts["duplicates"]) == (6, 0, 1, 0)
    assert load(FRAME).source["from"] == "frame"


def test_remarks_are_passed_on_as_they_are_kept(make):
    heard = []
    data = load(make("data.csv", CSV), notify=heard.append)
    assert heard == data.source["notes"]
    assert heard[0] == "columns: user=user_id, item=item_id, rating=rating, time=timestamp"


def test_the_obvious_table_of_an_archive_is_taken(make):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("set/ratings.csv", CSV)
        archive.writestr("set/movies.csv", "movieId,title\n1,A\n")
    assert len(load(make("set.zip", out.getvalue()))) == 6


def test_a_frame_that_cannot_be_used_says_so():
    from corml.errors import DataError, UsageError

    twice = pd.DataFrame([[1, 2, 3]], columns=["user", "item", "item"])
    with pytest.raises(DataError, match="item"):
        load(twice)
    with pytest.raises(DataError, match="lists or records"):
        load(pd.DataFrame({"user": [[1], "b"], "item": [1, 2]}))
    for wrong in (42, FRAME.lazy(), None):
        with pytest.raises(UsageError, match="Cannot load from a"):
            load(wrong)


def test_columns_of_one_name_apart_from_its_type_are_refused(make):
    from corml.errors import DataError

    frame = pl.DataFrame({"item": [1], "item:token": [2], "user": [1]})
    with pytest.raises(DataError, match="two columns of one name"):
        load(frame)
