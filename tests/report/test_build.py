"""From a study to a page: which sections, in which words."""

import copy
from dataclasses import replace

import numpy as np
import pytest

from corml.evaluation.significance import verdict
from corml.fitted import Certificate
from corml.interactions import Interactions
from corml.report import Study, build_page
from corml.report._results import main_names, significantly_different
from corml.report.build import headline
from corml.report.figures import TENTHS, popularity_shares
from corml.report.page import Comparison, Details, Facts, Findings, Gallery, Samples


def evaluated(outcome, values, **more):
    return outcome(
        {"ndcg@10": float(np.mean(values))}, per_user={"ndcg@10": np.asarray(values)}, users=range(len(values)), **more
    )


def test_sections_in_reading_order(study):
    kinds = [type(section) for section in build_page(study).sections]
    assert kinds == [Facts, Findings, Comparison, Gallery, Samples, Details]


def test_the_smallest_possible_study():
    page = build_page(Study(name="x", data=Interactions.from_pairs(["a"], ["b"]), models={}))
    assert [type(section) for section in page.sections] == [Facts, Gallery, Details]
    assert page.subtitle == "1 interaction"


def test_a_result_without_a_model_is_enough(study, outcome):
    result = outcome({"ndcg@20": 0.3, "gini@20": 0.2}, users=["u1"])
    page = build_page(replace(study, models={"Theirs": (None, result)}, split=None, doctor=None, samples=()))
    (compared,) = (section for section in page.sections if isinstance(section, Comparison))
    assert compared.table.rows[0][1].text == "0.3000"
    assert compared.intro == "Theirs reaches NDCG@20 0.300."
    assert "±" not in compared.note


def test_facts_are_easy_to_read(study):
    facts = build_page(study).sections[0]
    assert facts.tiles[0].value == "80"
    assert facts.more == (("share of the top", "40 %"), ("per user", "1 to 9, median 2"))


def test_moments_are_shown_as_days(study):
    doctor = replace(study.doctor, facts=[("first time", "1995-01-09T11:46:49+00:00"), ("kinds", {"a": 1})])
    assert build_page(replace(study, doctor=doctor)).sections[0].more == (
        ("first time", "1995-01-09"),
        ("kinds", "a 1"),
    )


def test_data_without_findings_have_no_problems(study):
    page = build_page(replace(study, doctor=replace(study.doctor, findings=[])))
    assert page.sections[1].intro == "No problems found."


def test_the_headline_names_winner_and_margin(outcome):
    results = {"b": evaluated(outcome, [0.2, 0.21] * 20), "a": evaluated(outcome, [0.4, 0.42] * 20)}
    assert headline(results) == (
        "a is the most accurate, with NDCG@10 0.410, 100 % above b (0.205). " + verdict(significant=True)
    )


def test_the_headline_says_when_a_difference_may_be_chance(outcome):
    rng = np.random.default_rng(0)
    results = {"a": evaluated(outcome, rng.random(30)), "b": evaluated(outcome, rng.random(30))}
    assert headline(results).endswith(verdict(significant=False))


def test_no_accuracy_no_headline(outcome):
    assert headline({"a": outcome({"gini@10": 0.3})}) == ""
    assert headline({"a": outcome({"mrr@10": 0.3}), "b": outcome({"mrr@10": 0.0})}).endswith("MRR@10 0.300.")


@pytest.mark.parametrize("other", [[0.1], [0.1, 0.2, 0.3]])
def test_different_users_cannot_be_compared_one_by_one(outcome, other):
    assert significantly_different(evaluated(outcome, [0.5, 0.6]), evaluated(outcome, other), "ndcg@10") is None
    assert significantly_different(evaluated(outcome, [0.5]), evaluated(outcome, [0.1]), "ndcg@10") is None


def test_the_page_compares_at_ten_or_else_at_the_first_length():
    assert main_names(["ndcg@5", "ndcg@10", "mrr@10"]) == ["ndcg@10", "mrr@10"]
    assert main_names(["ndcg@5", "mrr@5", "mrr@20"]) == ["ndcg@5", "mrr@5"]
    assert main_names([]) == []


def test_lists_like_the_data_have_even_shares(parts):
    train = parts.train
    shares, sizes = popularity_shares(train, train.items.labels[train.item])
    assert shares.sum() == pytest.approx(1)
    assert sum(sizes) == len(train.items)
    assert len(shares) == len(sizes) == TENTHS
    assert np.abs(np.cumsum(shares) - np.arange(1, 11) / 10).max() <= train.item_degrees.max() / len(train)


def test_lists_of_popular_items_are_in_the_first_tenth(parts):
    popular = parts.train.items.labels[[int(parts.train.item_degrees.argmax())]]
    assert popularity_shares(parts.train, np.array([[*popular, None]], dtype=object))[0].tolist() == [1.0, *[0.0] * 9]


def test_settings_are_shown_as_typed(study):
    groups = dict(build_page(study).sections[-1].groups)
    settings = dict(groups["Settings of CoRML"])
    assert settings["mix (λ)"] == "0.75"
    assert settings["budget (γ)"] == "keep all of H"
    assert settings["converged"] == "yes"
    assert dict(groups["Split"])["seed"] == "1"
    assert "rows" not in dict(groups["Data"])


def test_a_date_is_shown_only_if_given(study):
    assert build_page(replace(study, when="1 May 2030")).subtitle.endswith(" · 1 May 2030")


def test_where_the_data_came_from_is_said_in_words(study):
    source = {"from": "shop.csv", "options": {"at_least": 4, "strict": True}, "notes": ["one", "two"], "rows": 12}
    page = build_page(replace(study, data=replace(study.data, source=source)))
    shown = dict(dict(page.sections[-1].groups)["Data"])
    assert shown["options"] == "at_least 4, strict yes"
    assert shown["notes"] == "one; two"


def test_without_timings_the_table_has_no_column_for_them(study):
    (compared,) = (s for s in build_page(replace(study, timings={})).sections if isinstance(s, Comparison))
    assert compared.table.columns[-1].label == "Coverage@10"


def test_nothing_to_draw_is_no_figure():
    nothing = Interactions.from_pairs(["a"], ["b"]).where(np.array([], dtype=int))
    (gallery,) = (s for s in build_page(Study(name="x", data=nothing, models={})).sections if isinstance(s, Gallery))
    assert gallery.figures == ()


@pytest.mark.parametrize(
    ("names", "shown"), [("a", "a on"), ("abc", "a, b and c compared on"), ("abcdefg", "7 models compared on")]
)
def test_the_subtitle_names_a_few_models_and_counts_many(study, outcome, names, shown):
    models = {name: (None, outcome({"ndcg@10": 0.3}, users=["u1"])) for name in names}
    assert build_page(replace(study, models=models)).subtitle.startswith(shown)


def test_an_item_belongs_to_the_tenth_of_the_interactions_it_begins_in():
    """Of twenty interactions the first item has eleven, so it fills five tenths and a half from the first on."""
    counts = {"a": 11, "b": 4, "c": 2, "d": 1, "e": 1, "f": 1}
    items = [item for item, count in counts.items() for _ in range(count)]
    train = Interactions.from_pairs(list(range(20)), items)
    shares, sizes = popularity_shares(train, np.array([["a", "b", "f", None]], dtype=object))
    assert sizes == [1, 0, 0, 0, 0, 1, 0, 1, 1, 2]  # they begin at 0, 11, 15, 17, 18 and 19 of 20
    assert shares.tolist() == [pytest.approx(1 / 3), 0, 0, 0, 0, pytest.approx(1 / 3), 0, 0, 0, pytest.approx(1 / 3)]


def of_blocks(study, *certificates):
    """The study with one model whose blocks of items were solved one after the other."""
    model, result = study.models["CoRML"]
    blocks = copy.copy(model)
    blocks.fitted_ = replace(model.fitted_, certificates=certificates)
    return replace(study, models={"CoRML": (blocks, result)})


def test_the_longest_of_several_solves_is_drawn(study, monkeypatch):
    drawn = []
    monkeypatch.setattr("corml.report.plots.convergence", lambda residuals, **how: drawn.append(residuals) or "<svg/>")
    short, long = (
        Certificate(steps=len(trace), converged=True, residual=0.1, trace=tuple((value,) for value in trace))
        for trace in ([0.5, 0.1], [0.9, 0.5, 0.1])
    )
    build_page(of_blocks(study, short, long, short))
    assert drawn == [{"residual": [0.9, 0.5, 0.1]}]


@pytest.mark.parametrize(("second", "said"), [(True, "yes"), (False, "no")])
def test_a_fit_has_converged_if_all_of_its_solves_have(study, second, said):
    solves = [Certificate(steps=7, converged=converged, residual=0.1) for converged in (True, second)]
    (details,) = (s for s in build_page(of_blocks(study, *solves)).sections if isinstance(s, Details))
    rows = dict(dict(details.groups)["Settings of CoRML"])
    assert (rows["solver steps"], rows["converged"]) == ("7, 7", said)
