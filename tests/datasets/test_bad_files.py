"""The bad-input matrix: what each unusable file is refused with."""

import gzip
import io
import os
import time
import zipfile

import numpy as np
import polars as pl
import pytest

import corml.data.formats._guard as _guard
from corml.data import load
from corml.errors import CormlError, DataError, DataWarning, ResourceError, UsageError

HEAD = "user,item,rating,time\n"


def parquet(**columns):
    out = io.BytesIO()
    pl.DataFrame(columns).write_parquet(out)
    return out.getvalue()


def npz(**arrays):
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def zipped(**members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in members.items():
            archive.writestr(name.replace("__", "."), text)
    return out.getvalue()


GOOD = b"user,item\n" + b"".join(b"u%d,i%d\n" % (n, n % 7) for n in range(400))
GZ = gzip.compress(GOOD)
PARQUET = parquet(user=["a", "b"], item=["x", "y"])

CSV = [  # what a CSV file holds, what the error says, and options
    (b"", "no interactions"),
    ("user,item\n", "no interactions"),
    ("\n \n# nothing\n\n", "no interactions"),
    ("user;item\na;x\n", "'user;item', which holds ';' (1x)", {"separator": ","}),
    ("word\nother\n", "one column only"),
    ("user,thing,c\na,x,1\n", "'user', 'thing', 'c' as item="),
    ("user,item\na,x\n", "did you mean 'user'", {"user": "usr"}),
    ("user,item\na,x\n", "no column number 5", {"user": 5}),
    ("user,item,user\na,x,b\n", "two columns named 'user'"),
    ("1,31,2.5\n1,29,3.0\n", "header=False (--no-header)"),
    ("user,item\na,x\n", "starts with a header", {"header": False}),
    ("user,item\na,x\nb\n", "line 3: there are 1 fields where 2"),
    ("user,item\na,x\nb,y,z\n", "line 3: there are 3 fields"),
    ('user,item\na,x\n"b,y\nc,z\n', "line 3: a quote opens"),
    ('user,item\na,x\n"b"c,y\n', "line 3: there is text after"),
    ('"user,item\na,x\n', "line 1"),
    ('user,item\n"' + "x,y\n" * 50_000, "line 2: a quote opens"),
    (HEAD + "a," + "x" * 2_000_000, "line 2 is longer than 1.0 MiB"),
    ("user,item\n,x\n", "line 2: the user is an empty id"),
    ("user,item\na,  \n", "line 2: the item is an empty id"),
    ("user,item\na,\u2003\n", "the item is an empty id"),
    (HEAD + "a,x,NaN,1\n", "line 2: the rating 'NaN' is not a finite"),
    (HEAD + "a,x,inf,1\n", "'inf' is not a finite number"),
    (HEAD + "a,x,1e400,1\n", "'1e400' is not a finite number"),
    (HEAD + "a,x,good,1\n", "'good' is not a finite number"),
    (HEAD + "a,x,,1\n", "line 2: the rating"),
    (HEAD + "a,x,-1,1\n", "'-1' is negative"),
    (HEAD + "a,x,1,soon\n", "time 'soon' is no number", {"time": "time"}),
    ("user,item\na," + "x" * 2049, "longer than 2048 bytes"),
    (b"user,item\na,caf\xe9\n", "0xE9 at byte offset 15, probably Latin-1"),
    (b"user,item\na,\x80\n", "probably Windows-1252"),
    ("user,item\na,x\n".encode("utf-16"), "UTF-16"),
    ("user,item\na,x\n".encode("utf-16-be"), "UTF-16"),
    (b"user,item\na,x\0\n", "NUL byte at byte offset 13"),
    (GZ, "not text but a gzip file"),
    (HEAD + "a,x,2,1\n", "0 positives after threshold", {"at_least": 4}),
    (HEAD + "a,x,0,1\n", "0 positives after threshold"),
    ("user,item\na,x\n", "needs a rating column", {"at_least": 4}),
    ("user,item\na,x\n", "No interactions remain with k_core=2", {"k_core": 2}),
]
OTHERS = [  # a file, what it holds, and what the error says
    ("a.parquet", parquet(user=[], item=[]), "no interactions"),
    ("a.csv.gz", GZ[:-20], "not a whole gzip file"),
    ("a.csv.gz", GZ + b"more", "not a whole gzip file"),
    ("a.csv.gz", GOOD, "not a whole gzip file"),
    ("a.csv.gz", GZ[:30] + b"\xff" * 20 + GZ[50:], "not a whole gzip file"),
    ("a.csv.zst", b"\x28\xb5\x2f\xfd", "compressed as .zst"),
    ("a.zip", b"PK\x03\x04 and no more", "not a whole zip file"),
    ("a.parquet", PARQUET[:-9], "not a readable Parquet file"),
    ("a.parquet", b"PAR1", "not a readable Parquet file"),
    ("a.npz", npz(user=[1], item=[2])[:-30], "not an NPZ archive"),
    ("a.npz", b"nothing", "not an NPZ archive"),
    ("a.npz", npz(user=np.array(["a", 1], dtype=object), item=[1, 2]), "plain"),
    ("a.npz", b"\x93NUMPY\x01\x00", "it is no archive"),
    ("a.npz", npz(item=[2]), "no array 'user'"),
    ("a.npz", npz(user=[1, 2], item=[2]), "equal length"),
    ("a.zip", zipped(a__csv="x", b__csv="y"), "holds 'a.csv', 'b.csv'"),
    ("a.zip", zipped(a__png="x"), "no single table"),
    ("a.parquet", parquet(user=["a", None], item=["x", "y"]), "row 2: the user"),
    ("a.parquet", parquet(user=[[1]], item=["x"]), "one plain value per row"),
    ("a.parquet", parquet(user=[b"\xff"], item=["x"]), "not UTF-8"),
]
OPTIONS = [  # options that cannot be meant of a good file
    ({"k_core": -1}, "k_core= (--k-core) must be a whole number"),
    ({"min_user": True}, "min_user= (--min-user) must be a whole number"),
    ({"at_least": float("nan")}, "at_least= (--at-least) must be"),
    ({"separator": '"'}, "separator= (--separator) must be"),
    ({"user": False}, "user and item are needed"),
    ({"user": "user", "item": "user"}, "two roles"),
    ({"rating": False, "at_least": 1}, "(--at-least) needs ratings"),
]
MATRIX = [
    *(("a.csv", content, fragment, *options, DataError) for content, fragment, *options in CSV),
    *((*about, DataError) for about in OTHERS),
    *(("a.csv", GOOD, fragment, options, UsageError) for options, fragment in OPTIONS),
]


@pytest.mark.parametrize("about", MATRIX, ids=lambda about: f"{about[0]}: {about[2]}")
def test_a_bad_file_is_refused_in_one_line(make, about):
    name, content, fragment, *options, error = about
    path = make(name, content)
    with pytest.raises(CormlError) as caught:
        load(path, **(options[0] if options else {}))
    message = str(caught.value)
    assert type(caught.value) is error
    assert fragment in message
    assert "\n" not in message
    assert error is UsageError or name in message or "k_core" in message


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_missing_file_a_folder_and_a_pipe_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    start = time.monotonic()
    for name, reason in (("none.csv", "no file"), (".", "is a folder"), ("pipe.csv", "a pipe or a device")):
        with pytest.raises(DataError, match=reason):
            load(tmp_path / name)
    assert time.monotonic() - start < 1


def test_a_file_without_permission_names_the_path(make, monkeypatch):
    path = make("secret.csv", GOOD)

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("corml.data.formats._files.os.open", refuse)
    with pytest.raises(DataError, match=r"secret\.csv'?: Permission denied"):
        load(path)


def test_a_name_no_file_can_have_is_refused():
    for name in ("x" * 5000, "x" * 5000 + ".csv", "a\0b.csv"):
        with pytest.raises(DataError):
            load(name)


def test_a_file_that_changes_while_it_is_read_is_refused(make, monkeypatch):
    path = make("growing.csv.gz", GZ)
    check = _guard.Budget.check

    def appended(budget, size):
        with path.open("ab") as file:
            file.write(b"more")
        check(budget, size)

    monkeypatch.setattr(_guard.Budget, "check", appended)
    with pytest.raises(DataError, match="changed while it was being read"):
        load(path)


@pytest.mark.parametrize("name", ["bomb.csv.gz", "bomb.zip", "bomb.npz"])
def test_a_decompression_bomb_is_refused_early_unless_expansion_is_allowed(make, monkeypatch, name):
    monkeypatch.setattr("corml.data.formats._guard.BOMB_SIZE", 100_000)
    monkeypatch.setattr("corml.data.formats._guard.BOMB_RATIO", 100)
    monkeypatch.setattr("corml.data.formats._files.CHUNK", 10_000)
    text = b"user,item\n" + b"u,i\n" * 1_000_000
    out = io.BytesIO()
    if name.endswith("gz"):
        out.write(gzip.compress(text))
    elif name.endswith("npz"):
        np.savez_compressed(out, user=np.zeros(1_000_000, dtype=int), item=np.zeros(1_000_000, dtype=int))
    else:
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("ratings.csv", text)
    path = make(name, out.getvalue())
    with pytest.raises(DataError, match="allow_expansion=True"):
        load(path)
    assert len(load(path, allow_expansion=True)) == 1


def test_layers_of_compression_have_one_budget(make, monkeypatch):
    """Each grows less than a hundredfold, and all together nine hundredfold."""
    monkeypatch.setattr("corml.data.formats._guard.BOMB_SIZE", 100_000)
    monkeypatch.setattr("corml.data.formats._guard.BOMB_RATIO", 150)
    text = b"user,item\n" + b"".join(b"u%d,i%d\n" % (n % 50, n % 40) for n in range(300_000))
    once = gzip.compress(text)
    twice = gzip.compress(once)
    path = make("twice.csv.gz.gz", twice)
    assert len(once) / len(twice) < 150 < len(text) / len(twice)
    with pytest.raises(DataError, match="expands more than 150-fold"):
        load(path)
    assert len(load(path, allow_expansion=True)) == 200


def test_compression_without_end_is_refused(make, monkeypatch):
    data, name = b"user,item\nu,i\n", "deep.csv"
    for _ in range(5):
        data, name = gzip.compress(data), name + ".gz"
    with pytest.raises(DataError, match="compressed more than 4 times over"):
        load(make(name, data))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    with pytest.raises(DataError, match="Standard input is compressed more than 4 times over"):
        load("-")


def test_unpacking_asks_for_memory_as_it_goes_whatever_is_allowed(make, monkeypatch):
    monkeypatch.setattr("corml.data.formats._guard.STEP", 100_000)
    monkeypatch.setattr("corml.data.formats._files.CHUNK", 10_000)
    path = make("large.csv.gz", gzip.compress(b"user,item\n" + b"u,i\n" * 100_000))
    monkeypatch.setattr("corml._runtime.memory.budget", lambda: 200_000)
    with pytest.raises(ResourceError, match=r"large.csv.gz' needs"):
        load(path, allow_expansion=True)


@pytest.mark.parametrize("unit", ["s", "m", "h", "D", "M", "Y", "ms", "us", "ns"])
def test_times_of_an_archive_have_any_unit(tmp_path, unit):
    times = np.array(["2001-01-01", "2003-01-01"]).astype("datetime64[D]").astype(f"datetime64[{unit}]")
    np.savez(tmp_path / "a.npz", user=np.array([1, 2]), item=np.array([3, 4]), time=times)
    assert load(tmp_path / "a.npz").times.tolist() == [978_307_200, 1_041_379_200]


@pytest.mark.parametrize(
    ("unit", "number"), [("s", 10**13), ("s", 2**40), ("ms", -(2**62)), ("h", 2**40), ("us", 2**62)]
)
@pytest.mark.parametrize("column", ["user", "item", "time"])
def test_moments_that_no_calendar_has_are_a_sentence(tmp_path, unit, number, column):
    moments = np.array([0, number]).astype(f"datetime64[{unit}]")
    table = {"user": np.array(["a", "b"]), "item": np.array(["i", "j"]), column: moments}
    np.savez(tmp_path / "a.npz", **table)
    if column == "time":
        with pytest.raises(DataError, match="row 1: the time '0' is on 1970-01-01, which programs write for a missing"):
            load(tmp_path / "a.npz")
    else:
        with pytest.raises(DataError, match=f"the '{column}' column holds a moment outside of the years 1 to 9999"):
            load(tmp_path / "a.npz")


def test_days_of_a_calendar_can_be_ids(tmp_path):
    days = np.array(["2001-01-01", "9999-12-31"]).astype("datetime64[s]")
    np.savez(tmp_path / "a.npz", user=days, item=np.array(["i", "j"]))
    assert [day[:10] for day in load(tmp_path / "a.npz").users] == ["2001-01-01", "9999-12-31"]


def test_a_mark_of_byte_order_inside_a_file_is_part_of_the_id(make):
    data = load(make("inside.csv", "user,item\n\ufeffa,x\nb,y\n".encode()))
    assert list(data.users) == ["\ufeffa", "b"]
    assert list(load(make("first.csv", b"\xef\xbb\xbfuser,item\na,x\n")).users) == ["a"]


def test_a_zip_with_a_password_is_refused(make):
    packed = bytearray(zipped(a__csv="user,item\na,x\n"))
    for at in (packed.find(b"PK\x03\x04") + 6, packed.find(b"PK\x01\x02") + 8):
        packed[at] |= 1  # the flag of an encrypted member
    with pytest.raises(DataError, match="cannot be unpacked"):
        load(make("locked.zip", bytes(packed)))


def test_bad_rows_can_be_skipped_and_are_counted(make):
    rows = [f"u{n},i{n % 5},3" for n in range(300)]
    rows[10], rows[200] = "short", "u200,,3"
    with pytest.warns(DataWarning, match="bad rows skipped: 2"):
        data = load(make("some.csv", "user,item,rating\n" + "\n".join(rows)), skip_bad_rows=True)
    assert len(data) == 298
    assert data.source["bad_rows"] == 2
    assert data.source["rows"] == 300
    assert any("line 12: there are 1 fields" in note for note in data.source["notes"])


def test_the_first_bad_row_is_named_and_the_others_are_counted(make):
    path = make("bad.csv", "user,item,rating\na,x,1\na,y,no\n,z,1\nshort\n")
    with pytest.raises(DataError, match=r"line 3: the rating 'no' .* \(2 more bad rows follow\)"):
        load(path)
    with pytest.raises(DataError, match=r"\(1 more bad row follows\)"):
        load(make("two.csv", "user,item\n,x\n,y\n"))


def test_an_interrupt_is_not_swallowed(make):
    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load(make("a.csv", GOOD), notify=stop)


def test_a_long_separator_needs_a_character_to_stand_in_for_it(make):
    with pytest.raises(DataError, match=r"U\+001F"):
        load(make("a.dat", "user::item\na\x1fb::x\n"), separator="::")


@pytest.mark.parametrize(("good", "refused"), [(99, False), (98, True)])
def test_one_bad_row_in_a_hundred_may_be_skipped_and_not_one_more(make, good, refused):
    path = make("some.csv", "user,item\n" + "\n".join(f"u{n},i{n % 9}" for n in range(good)) + "\nshort\n")
    if refused:
        with pytest.raises(DataError, match="1 of 99 rows are bad, more than 1%"):
            load(path, skip_bad_rows=True)
    else:
        with pytest.warns(DataWarning, match="bad rows skipped: 1"):
            assert len(load(path, skip_bad_rows=True)) == 99


def test_a_small_file_may_expand_as_much_as_it_likes(make, monkeypatch):
    monkeypatch.setattr("corml.data.formats._guard.BOMB_RATIO", 2)
    path = make("small.csv.gz", gzip.compress(b"user,item\n" + b"u,i\n" * 10_000))
    assert len(load(path)) == 1
