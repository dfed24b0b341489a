"""What a notebook shows: small tables, escaped, without a style of their own, and charts."""

from html.parser import HTMLParser

import numpy as np
import pytest

import corml
from corml._runtime import html
from corml.data.interactions import Interactions

HOSTILE = "<script>alert('x')</script> & \"friends\"\u202e\x07"


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.open = [], "", []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data + " "


@pytest.fixture(scope="module")
def shown():
    rng = np.random.default_rng(0)
    users = [f"u{user}" for user in range(40) for _ in range(6)]
    items = [f"i{item}" for _ in range(40) for item in rng.choice(20, 6, replace=False)]
    titles = {f"i{n}": f"{HOSTILE} {n}" for n in range(20)}
    data = Interactions.from_pairs([HOSTILE, *users], ["i0", *items], titles=titles)
    split = corml.split(data, "ratio", seed=1)
    model, other = corml.CoRML(rank=4).fit(split.train), corml.Popularity().fit(split.train)
    result = corml.evaluate(model, split, ["ndcg@5", "coverage@5"], resamples=20)
    compared = result.compare(corml.evaluate(other, split, ["ndcg@5"], resamples=20), resamples=20)
    return {
        "data": data,
        "lists": model.recommend([HOSTILE, *(f"u{n}" for n in range(8))], k=3),
        "explanation": model.explain(["i1", "i2", HOSTILE], "i3"),
        "result": result,
        "comparison": compared["ndcg@5"],
        "plan": model.plan(split.train),
    }


KINDS = ["data", "lists", "explanation", "result", "comparison", "plan"]


@pytest.mark.parametrize("kind", KINDS)
def test_each_is_a_table_that_is_only_text(shown, kind):
    read = Tags(shown[kind]._repr_html_())
    assert read.open == []
    assert {tag for tag, _ in read.tags} <= set("table caption thead tbody tr th td bdi p small".split())
    assert all(set(attrs) <= {"scope", "style"} for _, attrs in read.tags)


@pytest.mark.parametrize("kind", ["data", "lists", "explanation"])
def test_hostile_ids_and_titles_show_as_text(shown, kind):
    assert "<script>alert('x')</script> & \"friends\"\N{REPLACEMENT CHARACTER}" in Tags(shown[kind]._repr_html_()).words


def test_numbers_the_first_lists_and_unknown_items_are_shown(shown):
    result, read = shown["result"], Tags(shown["result"]._repr_html_()).words
    low, high = result.intervals["ndcg@5"]
    assert f"ndcg@5 {result['ndcg@5']:.4f} {low:.4f} {high:.4f}" in read
    assert f"coverage@5 {result['coverage@5']:.4f}" in read
    assert f"score {shown['explanation'].score:.4f}" in Tags(shown["explanation"]._repr_html_()).words
    assert f"users {shown['data'].shape[0]} items 20" in Tags(shown["data"]._repr_html_()).words
    assert "solver" in Tags(shown["plan"]._repr_html_()).words
    read = Tags(shown["lists"]._repr_html_())
    assert [tag for tag, _ in read.tags].count("tr") == 1 + 5 * 3
    assert "the first 5 of 9 lists" in read.words
    assert "unknown items: <script>" in Tags(shown["explanation"]._repr_html_()).words


def test_results_and_comparisons_can_be_drawn(shown, tmp_path):
    result = shown["result"]
    assert f"ndcg@5: corml {result['ndcg@5']:.4g}" in result.plot().description
    assert "coverage" not in result.plot(["ndcg@5"]).body
    difference = shown["comparison"].plot()
    assert f"{shown['comparison'].difference:.4g}" in difference.description
    assert 'class="reference"' in difference.body
    difference.save(tmp_path / "d.svg")
    assert (tmp_path / "d.svg").stat().st_size > 500


def test_numbers_stand_to_the_right_and_missing_ones_are_a_dash():
    text = html.table(["a"], [[1234], [0.5], [float("nan")], ["x"], [True]])
    assert text.count('<td style="text-align: right">') == 3
    for expected in (">1,234<", ">0.5000<", ">–<", "<bdi>x</bdi>", "<bdi>True</bdi>"):
        assert expected in text
