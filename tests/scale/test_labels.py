"""Texts are hashed and numbered exactly, and rows put in order as a stable sort does."""

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from corml.data.labels import concatenated, of_series
from corml.data.labels.numbering import Numbering, buckets_of, hashes
from corml.outofcore.ingest.bucket import by_pair

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=40)


def fnv_and_finish(text):
    """The hash, in plain words."""
    value, mask = 0xCBF29CE484222325, 2**64 - 1
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 & mask
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        value = (value ^ value >> 33) * factor & mask
    return value ^ value >> 33


@given(TEXTS)
def test_the_hash_is_the_one_that_is_promised(texts):
    labels = of_series(pl.Series(texts, dtype=pl.String))
    assert hashes(labels).tolist() == [fnv_and_finish(text) for text in texts]
    assert labels.tolist() == texts
    assert concatenated([labels, labels]).tolist() == texts + texts


def test_users_stand_in_the_same_bucket_for_ever():
    labels = of_series(pl.Series(["", "1", "user-17", "日本"]))
    assert [f"{value:016x}" for value in hashes(labels).tolist()] == [
        f"{fnv_and_finish(text):016x}" for text in ("", "1", "user-17", "日本")
    ]
    assert hashes(labels)[1] == 8950960187928269782
    assert 0 <= buckets_of(hashes(labels), 7).min() <= buckets_of(hashes(labels), 7).max() < 7


def test_buckets_are_even():
    labels = of_series(pl.Series(range(100_000)).cast(pl.String))
    counts = np.bincount(buckets_of(hashes(labels), 64), minlength=64)
    assert abs(counts - 100_000 / 64).max() < 6 * np.sqrt(100_000 / 64)


@given(st.lists(TEXTS, max_size=4))
def test_labels_are_numbered_in_order_of_first_appearance_over_all_batches(batches):
    known, numbering = {}, Numbering()
    for texts in batches:
        labels = of_series(pl.Series(texts, dtype=pl.String))
        expected = [known.setdefault(text, len(known)) for text in texts]
        assert numbering.add(labels).tolist() == expected
    assert numbering.labels.tolist() == list(known)


def test_labels_are_found_by_their_bytes_and_repeated_ones_by_the_first():
    numbering = Numbering(of_series(pl.Series([f"{number % 9000}" for number in range(10_000)])))
    assert numbering.find(of_series(pl.Series(["8999", "999", "x", "", "0999"]))).tolist() == [8999, 999, -1, -1, -1]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=60))
def test_rows_are_ordered_as_a_stable_sort_does(rows):
    user, item = np.array(rows, dtype=np.int32).reshape(-1, 2).T.copy()
    assert by_pair(user, item, 4).tolist() == sorted(range(len(rows)), key=lambda row: rows[row])
