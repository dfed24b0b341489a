"""Tables: aligned, honest about the best, and never markup by accident."""

import math

import pytest

from corml.errors import UsageError
from corml.evaluation.metrics import Described
from corml.experiments.grid import Grid, Value
from corml.report import Page, comparison, render, tables
from corml.report.page import Part, Section
from corml.report.subject import Measure, measure


def html_of(table):
    return render(Page("t", sections=(Section("s", "s", parts=(Part("table", table, label="a table"),)),)))


@pytest.fixture
def results(outcome):
    return {
        "CoRML": outcome(
            {"ndcg@10": 0.3456, "novelty@10": 0.5, "gini@10": 0.9},
            {"ndcg@10": (0.3306, 0.3606), "novelty@10": (0.49, 0.51)},
        ),
        "EASE": outcome(
            {"ndcg@10": 0.3311, "novelty@10": 0.4, "gini@10": 0.8},
            {"ndcg@10": (0.3171, 0.3451), "novelty@10": (0.39, 0.41)},
        ),
    }


def test_numbers_of_a_column_stand_under_each_other(results):
    head, rule, first, second = comparison(results).text().splitlines()
    assert first.index("0.346") == second.index("0.331")
    assert head.index("NDCG@10") + len("NDCG@10") == first.index("*") == len(second[: first.index("*")].rstrip())
    assert {len(line) for line in (rule, first, second)} == {len(rule)}


def test_the_best_is_marked_where_a_metric_has_a_better_direction(results):
    table = comparison(results)
    text, markdown, page = table.text(), table.markdown(), html_of(table)
    assert text.count("*") == 1
    assert "0.346 ±0.015*" in text
    assert "**0.346** ±0.015" in markdown
    assert markdown.count("**") == 2
    assert page.count("<strong>") == 1


def test_lower_can_be_better(results, monkeypatch):
    monkeypatch.setattr(tables, "measure", lambda name: Measure(name, "Loss", "", -1))
    assert "**0.331" in comparison(results, ["ndcg@10"]).markdown()


@pytest.mark.parametrize("name", ["novelty@10", "popularity@5", "gini@20", "coverage@10", "self_information@10"])
def test_what_random_lists_would_win_has_no_best(name):
    assert measure(name).better == 0


def test_metrics_come_with_a_name_and_a_meaning_of_their_own():
    assert measure("hit_rate@5").label == "Hit rate@5"
    assert measure("ndcg@10").meaning
    assert measure("ndcg@10").better == 1
    assert measure("of_my_own@3") == Measure("of_my_own@3", "Of my own@3", "", 0)


def test_equal_as_shown_is_equally_good(outcome):
    results = {"a": outcome({"mrr@10": 0.30001}), "b": outcome({"mrr@10": 0.30002}), "c": outcome({"mrr@10": 0.1})}
    assert comparison(results).markdown().count("**0.3000**") == 2


def test_one_model_alone_is_not_marked_as_best(results):
    assert "*" not in comparison({"CoRML": results["CoRML"]}).text()


def test_a_value_that_is_no_number_is_a_dash_and_never_best(outcome):
    text = comparison({"a": outcome({"mrr@10": math.nan}), "b": outcome({"mrr@10": 0.2})}).text()
    assert "–" in text
    assert "0.2000*" in text


@pytest.mark.parametrize(
    ("style", "shown"), [("plus-minus", "0.346 ±0.015"), ("range", "0.346 [0.331, 0.361]"), ("none", "0.346")]
)
def test_intervals_in_three_styles(results, style, shown):
    row = comparison(results, ["ndcg@10"], intervals=style).rows[0][1]
    assert f"{row.text} {row.extra}".strip() == shown


def test_an_unknown_style_of_intervals_is_an_error(results):
    with pytest.raises(UsageError, match="plus-minus, range, none"):
        comparison(results, intervals="bars")


@pytest.mark.parametrize(("half", "shown"), [(0.2, "0.35"), (0.012, "0.346"), (0.0012, "0.3457"), (0.0, "0.3457")])
def test_digits_follow_the_uncertainty(outcome, half, shown):
    results = {"a": outcome({"mrr@10": 0.34567}, {"mrr@10": (0.34567 - half, 0.34567 + half)})}
    assert comparison(results, intervals="none").rows[0][1].text == shown


def test_only_metrics_that_all_have_are_compared(results, outcome):
    both = results | {"third": outcome({"ndcg@10": 0.1, "recall@5": 0.3})}
    assert comparison(both).heads == ("Model", "NDCG@10")


def test_nothing_to_compare_is_an_empty_table():
    assert comparison({}).rows == ()
    assert comparison({}).text().splitlines()[0] == "Model"


def test_names_and_meanings_are_text_on_a_page():
    table = Grid(("Model",), ((Value("a|b <i>x</i> *y*\nz"),),), meanings=('says "hi"',))
    assert "a|b &lt;i&gt;x&lt;/i&gt; *y* z" in html_of(table)
    assert 'title="says &#34;hi&#34;"' in html_of(table)


def test_of_an_uneven_interval_the_longer_side_is_shown(outcome):
    results = {
        "a": outcome({"mrr@10": 0.35}, {"mrr@10": (0.33, 0.36)}),
        "b": outcome({"mrr@10": 0.3}, {"mrr@10": (0.29, 0.32)}),
    }
    assert [row[1].extra for row in comparison(results).rows] == ["±0.020", "±0.020"]


def test_a_metric_that_is_better_when_lower_says_so_itself(monkeypatch):
    own = Described("loss", "How far off", "", "lower, 0 to 1")
    monkeypatch.setattr("corml.report.subject.describe", lambda: [own])
    assert measure("loss@5") == Measure("loss@5", "Loss@5", "How far off", -1)
