"""Writing: whole files, by suffix, that read back as the same interactions."""

import io

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corml.data import load, write
from corml.data.ids import fault_of
from corml.data.interactions import Interactions
from corml.errors import DataError, UsageError

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)
labels = words.filter(lambda word: fault_of(word) is None)
moments = st.none() | st.floats(-1e12, 1e12)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".inter", ".parquet", ".npz"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(pairs=st.lists(st.tuples(labels, labels), min_size=1, max_size=8), moment=moments)
def test_what_is_written_is_what_is_read(tmp_path, suffix, pairs, moment):
    times = None if moment is None else [moment + n for n in range(len(pairs))]
    data = Interactions.from_pairs([u for u, _ in pairs], [i for _, i in pairs], times=times)
    write(data, tmp_path / f"a{suffix}")
    back = load(tmp_path / f"a{suffix}")
    assert back.users == data.users
    assert back.items == data.items
    assert back.fingerprint == data.fingerprint


@given(rows=st.lists(st.lists(labels.filter(lambda w: not set(w) & set(',"\r\n')), min_size=2, max_size=2), min_size=1))
def test_the_fast_reader_and_the_careful_reader_agree(rows):
    from corml.data._options import Notes, Options
    from corml.data.formats._files import STDIN, File
    from corml.data.formats.text import Text

    text = ("user,item\n" + "\n".join(",".join(row) for row in rows)).encode()
    plain = Text(File(STDIN, given=(text, lambda start: "csv")), Options(), Notes())
    fast, careful = plain._fast(text, 0, [0, 1]), plain._slow(text, 0, [0, 1])
    assert fast is not None
    assert [s.to_list() for s in fast.series] == [s.to_list() for s in careful.series]
    assert [fast.fault(n, "").number for n in range(len(rows))] == careful.places[0].lines.tolist()


def test_whole_numbers_are_stored_as_such_in_npz_and_others_as_text(tmp_path):
    write(Interactions.from_pairs(["1", "2"], ["007", "8"]), tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as arrays:
        assert arrays["user"].dtype == np.int64
        assert arrays["item"].dtype.kind == "U"


def test_text_headers_are_the_usual_ones(tmp_path):
    data = Interactions.from_pairs(["a"], ["x"], times=[5])
    for suffix, text in ((".csv", "user,item,time\na,x,5\n"), (".tsv", "user\titem\ttime\na\tx\t5\n")):
        write(data, tmp_path / f"a{suffix}")
        assert (tmp_path / f"a{suffix}").read_text() == text
    write(data, tmp_path / "a.inter")
    assert (tmp_path / "a.inter").read_text().startswith("user_id:token\titem_id:token\ttimestamp:float\n")


def test_what_text_cannot_hold_is_refused_and_the_old_file_stays(tmp_path):
    write(Interactions.from_pairs(["a"], ["x"]), tmp_path / "a.csv")
    before = (tmp_path / "a.csv").read_bytes()
    for label, reason in (("nul\0", "NUL character"), ("\ud800", "UTF-8")):
        with pytest.raises(DataError, match=reason):
            write(Interactions.from_pairs([label], ["x"]), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_bytes() == before
    write(Interactions.from_pairs(["nul\0"], ["x"]), tmp_path / "a.parquet")
    assert load(tmp_path / "a.parquet").users.labels.tolist() == ["nul\0"]


def test_parquet_can_be_read_by_others(tmp_path):
    write(Interactions.from_pairs(["a", "b"], ["x", "y"], times=[1, 2]), tmp_path / "a.parquet")
    frame = pl.read_parquet(io.BytesIO((tmp_path / "a.parquet").read_bytes()))
    assert frame.rows() == [("a", "x", 1.0), ("b", "y", 2.0)]


def test_an_unknown_suffix_or_folder_is_refused(tmp_path):
    data = Interactions.from_pairs(["a"], ["x"])
    with pytest.raises(UsageError, match=r"use \.csv, \.tsv"):
        write(data, tmp_path / "a.xlsx")
    with pytest.raises(DataError, match="does not exist"):
        write(data, tmp_path / "none" / "a.csv")
