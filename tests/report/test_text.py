"""Text from data is safe to show, numbers are short."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corml._runtime.html import clean, escaped
from corml.report.text import duration, percent, plain


@given(st.text())
def test_cleaned_text_is_one_line_that_can_be_written(text):
    line = clean(text)
    assert line.encode("utf-8").decode() == line
    assert len(line.splitlines()) <= 1
    assert clean(line) == line


@given(st.text())
def test_escaped_text_holds_no_markup(text):
    assert not set("<>\"'") & set(escaped(text))


def test_lone_surrogates_and_controls_become_a_visible_sign():
    assert clean("a\ud800b\x1bc") == "a�b�c"


def test_text_that_turns_lines_around_is_dropped():
    assert clean("abc\u202efed") == "abcfed"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.0851, "85 ms"), (6.24, "6.2 s"), (41.4, "41 s"), (200, "3 min 20 s"), (3900, "1 h 5 min"), (59.7, "1 min 0 s")],
)
def test_durations(seconds, shown):
    assert duration(seconds) == shown


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0.4312, "43 %"), (0.0996, "10 %"), (0.0994, "9.9 %"), (0.031, "3.1 %"), (0.00996, "1.0 %"),
        (0.00994, "0.99 %"), (0.0012, "0.12 %"), (0, "0 %"),
    ],
)  # fmt: skip
def test_shares(share, shown):
    assert percent(share) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "automatic"), (True, "yes"), (False, "no"), (12345, "12,345"), (50.0, "50"), (0.1, "0.1"),
        (float("nan"), "–"), ([0.6, 2], "0.6, 2"), ("two words", "two words"),
    ],
)  # fmt: skip
def test_values_are_short(value, shown):
    assert plain(value) == shown
