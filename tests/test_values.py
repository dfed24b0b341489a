"""Numbers as somebody writes them, of any length and script, are a number or a sentence."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corml._runtime import memory
from corml._runtime.values import counted, counted_note, is_number, is_whole, json_text, whole_number
from corml.errors import UsageError, ascii_line
from corml.evaluation import metrics

MANY = "7" * 5_000  # digits: Python itself refuses to read so many
SIZES = ["1e400", "inf", "-inf", "nan", MANY, f"{MANY}GB", "1e400GiB"]


@given(st.integers(0, 10**18 - 1), st.integers(0, 30))
def test_a_number_of_up_to_eighteen_digits_is_read_whatever_zeros_stand_before_it(number, zeros):
    assert whole_number("0" * zeros + str(number)) == number
    assert whole_number(f" {number}\n") == number


@pytest.mark.parametrize("text", ["", "-1", "+1", "1.0", "1_000", "²", "٣", "１", "x", str(10**18), MANY])
def test_what_is_no_whole_number_or_too_long_is_none(text):
    assert whole_number(text) is None


@given(st.text())
def test_any_text_is_a_number_or_none(text):
    number = whole_number(text)
    assert number is None or number == int(text)


@pytest.mark.parametrize("text", SIZES, ids=lambda text: text[:8])
def test_a_size_that_no_computer_has_is_a_sentence(text):
    with pytest.raises(UsageError, match="is not a size: write it like 8GB") as refused:
        memory.read_size(text)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    "length", ["0", "², ", "1000001", "0" * 3_000 + "1000001", MANY, "1" + "0" * 3_000], ids=lambda t: t[:5]
)
def test_a_list_length_beyond_all_lists_is_a_sentence(length):
    with pytest.raises(UsageError, match="needs a list length from 1 to"):
        metrics.parse(f"ndcg@{length}")


def test_zeros_before_a_list_length_do_not_count():
    assert metrics.parse("ndcg@0000000010") == metrics.parse("ndcg@10")


def test_a_sentence_shows_numbers_of_any_length():
    assert ascii_line(10**6_000) == "'a int too long to print'"


@pytest.mark.parametrize("text", ["²", "0", "-1", "x", MANY])
def test_threads_that_are_no_number_are_those_there_are(text, monkeypatch):
    from corml._runtime.parallel import threads

    monkeypatch.delenv("CORML_THREADS", raising=False)
    ours = threads()
    monkeypatch.setenv("CORML_THREADS", text)
    assert threads() == ours


def test_numbers_are_finite_and_no_booleans_and_may_be_of_numpy():
    assert all(map(is_number, (0, -1.5, np.float32(2), np.int64(3))))
    assert not any(map(is_number, (True, np.bool_(True), float("nan"), float("-inf"), 10**400, "1", None)))
    assert is_whole(np.int64(3))
    assert not is_whole(True)
    assert not is_whole(3.0)


def test_json_has_null_for_numbers_that_are_not_finite_and_no_control_characters():
    text = json_text({"a": [float("nan"), 1], "b": "\x9b"})
    assert json.loads(text) == {"a": [None, 1], "b": "\x9b"}
    assert "\x9b" not in text


def test_counted_nouns_are_singular_for_one():
    assert (counted(1, "list"), counted(2000, "list")) == ("1 list", "2,000 lists")


@pytest.mark.parametrize(
    ("number", "words"),
    [(1, "1 user without targets"), (2, "2 users without targets"), (1000, "1,000 users without targets")],
)
def test_one_user_of_a_note_is_singular(number, words):
    assert counted_note(number, "users without targets") == words
