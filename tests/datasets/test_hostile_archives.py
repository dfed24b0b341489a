"""Archives and tables that fuzzing found: each once ended in a traceback."""

import gzip
import io
import struct
import sys
import types
import zipfile

import numpy as np
import pytest

import corml
from corml.errors import DataError

ROWS = b"user,item\na,b\nc,d\n"


def archive(name="ratings.csv", how=zipfile.ZIP_STORED):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", how) as made:
        made.writestr(name, ROWS * 50)
    return data.getvalue()


def refused(path, data, because):
    path.write_bytes(data)
    with pytest.raises(DataError, match=because) as fault:
        corml.load(path)
    assert str(fault.value).isprintable()
    assert len(str(fault.value)) < 500


def test_a_zip_in_gz_that_begins_before_its_beginning_is_refused(tmp_path):
    shorter = archive()[100:]  # its directory still counts the bytes that are gone
    refused(tmp_path / "d.zip.gz", gzip.compress(shorter), "is not a whole zip file")


def test_a_zip_whose_member_has_no_name_is_refused(tmp_path):
    data = archive("r").replace(b"PK\x01\x02", b"PK\x01\x02", 1)
    directory = data.index(b"PK\x01\x02")
    nameless = bytearray(data)
    nameless[directory + 28 : directory + 30] = struct.pack("<H", 0)  # the length of the name
    nameless[directory + 30 : directory + 32] = struct.pack("<H", 1)  # its letter is called something else
    refused(tmp_path / "d.zip", bytes(nameless), r"is not a whole zip file|holds no single table")


def test_bz2_in_a_zip_is_refused_from_standard_input_too(monkeypatch):
    stdin = types.SimpleNamespace(buffer=io.BytesIO(archive(how=zipfile.ZIP_BZIP2)))
    stdin.buffer.isatty = lambda: False
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(DataError, match="packed by another method"):
        corml.load("-")


def test_what_numpy_says_of_an_npz_is_not_repeated_at_length(tmp_path):
    data = io.BytesIO()
    np.savez(data, user=np.array(["a"] * 500), item=np.array(["b"] * 500))
    local = bytearray(data.getvalue())
    local[26:28] = struct.pack("<H", 900)  # the name of the first member is now a piece of its array
    refused(tmp_path / "d.npz", bytes(local), "is not an NPZ archive of plain arrays")


def test_lines_of_blanks_that_only_unicode_knows_are_no_table(tmp_path):
    refused(tmp_path / "d.csv", "\N{NO-BREAK SPACE}\n".encode() * 30 + ROWS, "begins with blank lines")


def test_a_table_of_one_column_without_names_is_refused(tmp_path):
    path = tmp_path / "d.csv"
    path.write_bytes(b'"a,b"\n"c,d"\n')
    with pytest.raises(DataError, match="has one column only"):
        corml.load(path, header=False)
