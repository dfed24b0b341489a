"""The page: one file, safe, self-contained, accessible, the same every time."""

import os
import re
from html.parser import HTMLParser
from importlib.resources import files as resources
from pathlib import Path

import pytest

import corml
from corml.errors import DataError
from corml.report import Page, build_page, render, write_report
from corml.report.page import Card, Part, Past, Pick, Section

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
def page(subject):
    return build_page(subject)


@pytest.fixture(scope="module")
def text(page):
    return render(page)


@pytest.fixture(scope="module")
def read(text):
    return Reader(text)


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
        assert not [value for name, value in attrs.items() if "//" in (value or "") and name != "xmlns"]
        assert not re.search(r"url\((?!#)|@import|expression", attrs.get("style") or "")
    assert "default-src 'none'" in read.all("meta")[1]["content"]


def test_the_page_is_whole_light_and_always_the_same(read, subject, text):
    assert read.open == []
    ids = [attrs["id"] for _, attrs in read.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert render(build_page(subject)) == text
    assert len(text.encode()) < 500_000
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    assert not re.search(r"url\(|@import|https?:", style)
    assert style.count("prefers-color-scheme: dark") == 2  # of charts and of the page
    assert "@media print" in style
    assert "@media (max-width: 640px)" in style
    assert read.all("td")
    assert all(cell["data-label"] for cell in read.all("td"))  # for screens where tables stack


def test_people_with_a_screen_reader_or_a_phone_can_read_it(read):
    assert read.all("html")[0]["lang"] == "en"
    assert any(meta.get("name") == "viewport" for meta in read.all("meta"))
    assert all("scope" in head for head in read.all("th"))
    assert all(svg["role"] == "img" and svg["viewbox"] for svg in read.all("svg"))
    assert len(read.all("svg")) == len(read.all("figcaption")) == len(read.all("desc")) == 12
    assert len(read.all("h1")) == len(read.all("main")) == 1


def test_the_page_says_how_it_came_about(read, subject, parts):
    words = "".join(read.words)
    prints = (subject.data.fingerprint[:16], parts.fingerprint[:16])
    assert all(text in words for text in (*prints, "ratio", "1.2.3", "--data", "6.2 s", "ridge"))


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


def test_no_file_of_the_package_needs_matplotlib():
    sources = Path(corml.__file__).parent.rglob("*.py")
    assert not [path for path in sources if "matplotlib" in path.read_text(encoding="utf-8")]


def test_a_section_without_parts_is_its_heading_and_intro():
    reader = Reader(render(Page("t", sections=(Section("a", "Heading", "intro"), Section("b", "Empty")))))
    assert {"Heading", "intro", "Empty"} <= set(reader.words)


def test_every_kind_of_part_has_a_macro(page):
    kinds = {part.kind for section in page.sections for part in section.parts}
    macros = resources("corml.report").joinpath("templates", "parts.html").read_text("utf-8")
    assert kinds >= {"numbers", "table", "figures", "cards", "groups", "facts", "findings", "command", "note"}
    assert all(f"macro {kind}(" in macros for kind in kinds)


def test_a_card_shows_shares_marks_and_notes():
    picks = (Pick("Heat", 0.5, (("Ronin", 0.321), ("Casino", 0.2)), held_out=True), Pick("Up", 0.1))
    past = (Past("Ronin", cited=True), Past("Alien"))
    card = Card("u<1>", past, 3, picks, note="most popular items: no history")
    text = render(Page("t", sections=(Section("s", "s", parts=(Part("cards", (card,)),)),)))
    words = "".join(Reader(text).words)
    expected = ("u<1>", "because of Ronin\xa032\xa0%, Casino\xa020\xa0%", "History", "Recommended", "and 3 more")
    assert all(text in words for text in (*expected, "✓ chosen", "0.500", "no history"))
    assert '<li class="cited"><bdi>Ronin</bdi>' in text
    assert "<li><bdi>Alien</bdi>" in text


def test_what_looks_like_a_template_is_text():
    page = Page(
        "{{ 7 * 7 }}", sentence="{% raise %}", sections=(Section("s", "{# no #}", parts=(Part("numbers", ()),)),)
    )
    words = "".join(Reader(render(page)).words)
    assert "{{ 7 * 7 }}" in words
    assert "{% raise %}" in words
    assert "{# no #}" in words
    assert "49" not in words.partition("<main>")[0]
