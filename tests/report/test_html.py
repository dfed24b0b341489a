"""The page: one file, safe, self-contained, accessible, the same every time."""

import builtins
import os
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from corml.errors import DataError
from corml.report import Page, build_page, render, write_report
from corml.report.page import Card, Facts, Pick, Samples, Section

VOID = {"meta"}


class Reader(HTMLParser):
    """Collects tags and text, and notices what is not closed."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.open = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


@pytest.fixture(scope="module")
def page(study):
    return build_page(study)


@pytest.fixture(scope="module")
def text(page):
    return render(page)


@pytest.fixture(scope="module")
def read(text):
    return Reader(text)


def test_every_element_is_closed(read):
    assert read.open == []


def test_text_from_data_shows_as_text(read):
    shown = "<script>alert('x')</script> & \"friends\"�"
    assert not read.all("script")
    assert sum(shown in word for word in read.words) >= 5  # title, heading, finding, source, a card
    assert "a<b" in "".join(read.words)


def test_nothing_is_fetched_and_nothing_runs(read):
    assert not {tag for tag, _ in read.tags} & {"script", "link", "img", "iframe", "object", "embed", "form", "base"}
    for _, attrs in read.tags:
        assert not [name for name in attrs if name.startswith("on") or name == "src"]
        assert attrs.get("href", "#").startswith("#")
        assert not re.search(r"url\((?!#)|@import|expression", attrs.get("style") or "")
    assert "default-src 'none'" in read.all("meta")[1]["content"]


def test_the_style_fetches_nothing(text):
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    assert not re.search(r"url\(|@import|https?:", style)


def test_ids_are_unique(read):
    ids = [attrs["id"] for _, attrs in read.tags if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_people_with_a_screen_reader_or_a_phone_can_read_it(read):
    assert read.all("html")[0]["lang"] == "en"
    assert any(meta.get("name") == "viewport" for meta in read.all("meta"))
    assert all("scope" in head for head in read.all("th"))
    assert all(svg["role"] == "img" and len(svg["aria-label"]) > 40 for svg in read.all("svg"))
    assert len(read.all("svg")) == len(read.all("figcaption")) == 6
    assert len(read.all("h1")) == len(read.all("main")) == 1


def test_the_same_study_gives_the_same_bytes(study, text):
    assert render(build_page(study)) == text


def test_the_page_is_light(text):
    assert len(text.encode()) < 500_000


def test_the_page_says_how_it_came_about(read, study, parts):
    words = "".join(read.words)
    for expected in (study.data.fingerprint[:16], parts.fingerprint[:16], "ratio", "1.2.3", "--data", "6.2 s", "ridge"):
        assert expected in words


def test_a_file_is_written_whole(tmp_path, page, text):
    write_report(tmp_path / "report.html", page)
    assert (tmp_path / "report.html").read_bytes() == text.encode()


def test_the_old_file_stays_if_writing_fails(tmp_path, page, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(DataError, match="No space left"):
        write_report(path, page)
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]
    assert path.read_text() == "old"


def test_without_matplotlib_the_page_says_how_to_get_the_figures(study, monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name.partition(".")[0] == "matplotlib":
            raise ImportError("No module named 'matplotlib'")
        return real(name, *rest, **more)

    monkeypatch.delitem(sys.modules, "corml.report.plots", raising=False)
    monkeypatch.delattr("corml.report.plots", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    reader = Reader(render(build_page(study)))
    assert not reader.all("svg")
    assert "pip install 'corml[plots]'" in "".join(reader.words)
    assert reader.all("table")


def test_importing_the_room_does_not_import_matplotlib():
    code = "import sys, corml.report; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_section_of_an_unknown_kind_is_its_heading_and_intro():
    reader = Reader(render(Page("t", sections=(Section("Heading", "intro"), Facts("Empty")))))
    assert {"Heading", "intro", "Empty"} <= set(reader.words)


def test_a_card_shows_shares_marks_and_notes():
    picks = (Pick("Heat", 0.5, (("Ronin", 0.321), ("Casino", 0.2)), held_out=True), Pick("Up", 0.1))
    card = Card("u<1>", ("Ronin",), 3, picks, note="most popular items: no history")
    words = "".join(Reader(render(Page("t", sections=(Samples("s", cards=(card,)),)))).words)
    for expected in (
        "u<1>",
        "because of: Ronin\xa032\xa0%, Casino\xa020\xa0%",
        "History",
        "Recommended",
        "and 3 more",
        "✓",
        "0.500",
        "no history",
    ):
        assert expected in words
