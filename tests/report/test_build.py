"""From a subject to a page: which sections, in which words, and that they agree with the numbers."""

import copy
from dataclasses import replace

import numpy as np
import pytest

from corml.data.interactions import Interactions
from corml.evaluation import evaluate
from corml.evaluation.significance import holm, paired_t_test
from corml.models.corml.estimator import CoRML
from corml.models.fitted import Certificate, Epoch, Training
from corml.models.linear.ease import EASE
from corml.report import METRICS, Cost, Subject, build_page
from corml.report.accuracy import verdict
from corml.report.groups import popularity_shares, views_of
from corml.report.page import Part
from corml.report.subject import main_names, paired
from corml.splits import split

KEYS = "winner novelty popularity groups cost examples data users metrics solver provenance".split()


def evaluated(outcome, values, **more):
    return outcome(
        {"ndcg@10": float(np.mean(values))}, per_user={"ndcg@10": np.asarray(values)}, users=range(len(values)), **more
    )


def of(models, **more):
    """A subject of results alone."""
    return Subject(name="x", data=None, models={name: (None, result) for name, result in models.items()}, **more)


def section(subject, key):
    (found,) = [one for one in build_page(subject).sections if one.key == key]
    return found


def parts_of(subject, key, kind):
    return [part for part in section(subject, key).parts if part.kind == kind]


def figures(subject, key):
    return {figure.title: figure for part in parts_of(subject, key, "figures") for figure in part.content}


# --- which sections ----------------------------------------------------------------------------------------------


def test_sections_in_reading_order(subject):
    page = build_page(subject)
    assert [one.key for one in page.sections] == KEYS
    assert [one.key for one in page.sections if one.appendix] == KEYS[KEYS.index("data") :]


@pytest.mark.parametrize("make", [CoRML(), EASE(), None], ids=["plain", "baseline", "dial"])
def test_every_section_is_there_for_any_model(subject, parts, make):
    fitted = CoRML.dial(parts.train, (-0.1, 0.1)) if make is None else make.fit(parts.train)
    alone = {"it": (fitted, evaluate(fitted, parts, METRICS, resamples=20))}
    page = build_page(replace(subject, models=alone, costs={"it": Cost(list_seconds=0.1)}))
    assert [one.key for one in page.sections] == KEYS
    assert all(one.parts for one in page.sections)
    assert len(page.numbers) == 3


def test_the_smallest_possible_subject():
    page = build_page(Subject(name="x", data=Interactions.from_pairs(["a"], ["b"]), models={}))
    assert [one.key for one in page.sections] == ["data", "provenance"]
    assert page.subtitle == "1 interaction"
    assert (page.sentence, page.numbers) == ("", ())


def test_results_without_models_and_data_are_enough(outcome):
    page = build_page(of({"Theirs": outcome({"ndcg@20": 0.3, "gini@20": 0.2}, users=["u1"])}))
    assert [one.key for one in page.sections] == ["winner", "popularity", "metrics", "provenance"]
    assert page.sentence == "Theirs reaches NDCG@20 0.300."
    (table,) = [part for part in page.sections[0].parts if part.kind == "table"]
    assert table.content.rows[0][1].text == "0.3000"
    assert "±" not in table.note


# --- the top -----------------------------------------------------------------------------------------------------


def test_the_sentence_on_top_agrees_with_the_numbers(subject):
    page, results = build_page(subject), subject.results
    best, other = sorted(results, key=lambda name: -results[name]["ndcg@10"])
    hits = [f"{100 * results[name]['hit_rate@10']:.0f}" for name in (best, other)]
    values = [f"{results[name]['ndcg@10']:.3f}" for name in (best, other)]
    assert page.sentence == (
        f"{best} is the more accurate of two models, with NDCG@10 {values[0]} against {values[1]} for {other}. "
        f"With {best}, for {hits[0]} of 100 users the first ten recommendations hold at least one item that the user "
        "chose and that was hidden from the model."
    )
    first, lead, coverage = page.numbers
    assert first.value == f"{hits[0]} %"
    assert first.note == f"{other}: {hits[1]} %"
    assert lead.value == f"+{100 * (results[best]['ndcg@10'] / results[other]['ndcg@10'] - 1):.0f} %"
    assert coverage.value == f"{100 * results[best]['coverage@10']:.0f} %"


def test_the_sentence_names_what_there_is(outcome):
    page = build_page(of({"a": outcome({"ndcg@10": 0.3, "hit_rate@10": 0.5}, {"ndcg@10": (0.25, 0.35)})}))
    assert page.sentence.startswith("With a, for 50 of 100 users the first ten recommendations hold")
    assert [(n.value, n.note) for n in page.numbers] == [("50 %", ""), ("0.300", "between 0.250 and 0.350")]
    page = build_page(of({name: outcome({"mrr@10": value}) for name, value in (("a", 0.2), ("b", 0.3), ("c", 0.1))}))
    assert page.sentence == "b is the most accurate of 3 models, with MRR@10 0.300 against 0.200 for a."
    assert build_page(of({"a": outcome({"gini@10": 0.3})})).sentence == ""
    assert build_page(of({"a": outcome({"mrr@10": 0.3}), "b": outcome({"mrr@10": 0.0})})).numbers[0].value == "0.300"


def test_no_winner_is_named_where_the_difference_may_be_chance(outcome):
    results = {name: evaluated(outcome, values) for name, values in (("a", [0.1, 0.5, 0.2]), ("b", [0.2, 0.3, 0.2]))}
    page = build_page(of(results))
    assert page.sentence == "No clear difference between a and b: NDCG@10 0.267 and 0.233."
    assert page.numbers[0].label == "above b, no clear difference"
    three = build_page(of({**results, "c": evaluated(outcome, [0.1, 0.1, 0.1])}))
    assert three.sentence.startswith("No clear difference between a and b, the best of 3 models:")


def test_the_sentence_names_the_event_types_that_were_judged(subject):
    judged = replace(subject.split, procedure={**subject.split.procedure, "targets": ["transaction"]})
    page = build_page(replace(subject, split=judged))
    assert page.sentence.endswith("recommendations hold at least one item with a hidden event of type transaction.")
    examples = next(section for section in page.sections if section.key == "examples")
    assert "marks items that were hidden from the model and for which the user has an event of type" in examples.intro


def test_default_and_tuned_versions_of_a_model_do_not_compete(outcome):
    values = {"a, tuned": 0.4, "a": 0.35, "b": 0.3}
    subject = of({n: outcome({"ndcg@10": v}) for n, v in values.items()}, bases={"a, tuned": "a", "a": "a"})
    assert build_page(subject).sentence == (
        "a, tuned is the more accurate of two models, with NDCG@10 0.400 against 0.300 for b."
    )


def test_the_metric_named_beforehand_decides(outcome):
    results = {"a": outcome({"ndcg@10": 0.4, "mrr@20": 0.1}), "b": outcome({"ndcg@10": 0.3, "mrr@20": 0.2})}
    assert build_page(of(results)).sentence.startswith("a is the more accurate")
    assert build_page(of(results, primary="mrr@20")).sentence == (
        "b is the more accurate of two models, with MRR@20 0.200 against 0.100 for a."
    )


@pytest.mark.parametrize(
    ("names", "shown"), [("a", "a on"), ("abc", "a, b and c compared on"), ("abcdefg", "7 models compared on")]
)
def test_the_subtitle_names_a_few_models_and_counts_many(subject, outcome, names, shown):
    models = {name: (None, outcome({"ndcg@10": 0.3}, users=["u1"])) for name in names}
    assert build_page(replace(subject, models=models)).subtitle.startswith(shown)


def test_a_date_is_shown_only_if_given(subject):
    dated = build_page(replace(subject, when="1 May 2030"))
    assert dated.subtitle.endswith(" · 1 May 2030")
    assert any(part.kind == "note" and "1 May 2030" in part.content for part in dated.sections[-1].parts)


# --- who wins ----------------------------------------------------------------------------------------------------


def test_the_verdict_names_winner_and_margin(outcome):
    results = {"b": evaluated(outcome, [0.2, 0.21] * 20), "a": evaluated(outcome, [0.4, 0.42] * 20)}
    assert verdict(of(results)) == (
        "a is the most accurate, with NDCG@10 0.410, 100 % above b (0.205). "
        "The difference is unlikely to be chance (paired t-test over users, p < 0.001)."
    )


def test_tests_are_corrected_for_their_number(outcome):
    rng = np.random.default_rng(1)
    base = rng.random(60)
    results = {"a": evaluated(outcome, base)} | {
        name: evaluated(outcome, base - gap + 0.1 * rng.standard_normal(60)) for name, gap in (("b", 0.03), ("c", 0.04))
    }
    expected = holm({n: paired_t_test(base - results[n].per_user["ndcg@10"]) for n in "bc"})
    (tests,) = [part for part in parts_of(of(results), "winner", "table") if part.label == "Tests"]
    shown = {row[0].text.removeprefix("over "): row[4].text for row in tests.content.rows}
    assert shown == {name: f"{p:.3f}" if p >= 0.001 else "< 0.001" for name, p in expected.items()}
    assert "corrected by Holm for 2 tests" in tests.note
    assert all(sum(int(cell.text) for cell in row[-3:]) == 60 for row in tests.content.rows)


def test_p_values_of_a_study_are_shown_as_it_corrected_them(outcome):
    results = {"a": evaluated(outcome, [0.4, 0.42] * 20), "b": evaluated(outcome, [0.2, 0.21] * 20)}
    subject = of(results, corrected={"b": 0.25}, family=12)
    assert verdict(subject).endswith(
        "The difference may be chance (paired t-test over users, corrected for 12 tests, p = 0.250)."
    )


@pytest.mark.parametrize("other", [[0.1], [0.1, 0.2, 0.3]])
def test_different_users_cannot_be_compared_one_by_one(outcome, other):
    assert paired(evaluated(outcome, [0.5, 0.6]), evaluated(outcome, other), "ndcg@10") is None
    assert paired(evaluated(outcome, [0.5]), evaluated(outcome, [0.1]), "ndcg@10") is None


def test_the_page_compares_at_ten_or_else_at_the_first_length():
    assert main_names(["ndcg@5", "ndcg@10", "mrr@10"]) == ["ndcg@10", "mrr@10"]
    assert main_names(["ndcg@5", "mrr@5", "mrr@20"]) == ["ndcg@5", "mrr@5"]
    assert main_names([]) == []


# --- novelty, popularity, groups -----------------------------------------------------------------------------------


def test_the_dial_is_a_curve_and_models_are_points(subject):
    chart = figures(subject, "novelty")["Every model"].chart
    assert chart.body.count("<polyline") == 1
    points = subject.dial.points()
    assert f"novelty dial: ({points[0][0]:.4g}, {points[0][1]:.4g})" in chart.description
    assert chart.body.count("<path") == len(subject.models) + len(points)
    assert figures(replace(subject, dial=None), "novelty")["Every model"].chart.body.count("<polyline") == 0


def test_a_close_up_shows_the_dial_where_a_model_is_far_away(subject, outcome):
    far = {**subject.models, "far": (None, outcome({"ndcg@10": 0.0, "novelty@10": 0.0}))}
    assert "far" not in figures(replace(subject, models=far), "novelty")["Close up"].chart.body


def test_lists_like_the_data_have_even_shares(parts):
    train = parts.train
    shares, sizes = popularity_shares(train, train.items.labels[train.item])
    assert shares.sum() == pytest.approx(1)
    assert sum(sizes) == len(train.items)
    assert np.abs(np.cumsum(shares) - np.arange(1, 4) / 3).max() <= train.item_degrees.max() / len(train)


def test_lists_of_popular_items_are_all_hits(parts):
    popular = parts.train.items.labels[[int(parts.train.item_degrees.argmax())]]
    assert popularity_shares(parts.train, np.array([[*popular, None]], dtype=object))[0].tolist() == [1.0, 0.0, 0.0]


def test_bars_are_of_the_few_most_accurate_models(subject, parts):
    model, result = subject.models["CoRML"]
    many = {f"m{n}": (model, result) for n in range(7)}
    figure = figures(replace(subject, models=many), "popularity")["Where the recommendations go"]
    assert "Shown are 5 of 7 models." in figure.caption
    assert "m4" in figure.chart.description
    assert "m5" not in figure.chart.description


def test_an_item_belongs_to_the_group_of_the_interactions_it_begins_in():
    """Of twenty interactions the first item has eleven, so it fills five tenths and a half from the first on."""
    counts = {"a": 11, "b": 4, "c": 2, "d": 1, "e": 1, "f": 1}
    items = [item for item, count in counts.items() for _ in range(count)]
    train = Interactions.from_pairs(list(range(20)), items)
    shares, sizes = popularity_shares(train, np.array([["a", "b", "f", None]], dtype=object), groups=10)
    assert sizes == [1, 0, 0, 0, 0, 1, 0, 1, 1, 2]  # they begin at 0, 11, 15, 17, 18 and 19 of 20
    assert shares.tolist() == [pytest.approx(1 / 3), 0, 0, 0, 0, pytest.approx(1 / 3), 0, 0, 0, pytest.approx(1 / 3)]


def test_groups_by_length_and_by_taste_hold_every_user_once(subject, parts):
    users = np.asarray(subject.results["CoRML"].users)
    views = {view.title: view.groups for view in views_of(parts, users)}
    for title in ("By length of history", "By taste"):
        assert (sum(group.users.astype(int) for group in views[title]) == 1).all()
    assert views["New users"] == []
    light, *_, heavy = views["By length of history"]
    lengths = parts.train.user_degrees[parts.train.users.rows(users)]
    assert lengths[light.users].max() < lengths[heavy.users].min()
    niche, *_, mainstream = views["By taste"]
    degrees = parts.train.item_degrees
    means = np.array([degrees[parts.train.matrix[[row]].indices].mean() for row in parts.train.users.rows(users)])
    assert means[niche.users].max() < means[mainstream.users].min()
    mean = subject.results["CoRML"].per_user["ndcg@10"][niche.users].mean()
    assert f"{niche.name}: CoRML {mean:.4g} (" in figures(subject, "groups")["By taste"].chart.description


def test_new_users_are_a_group_of_their_own_and_their_lists_go_by_their_history(parts):
    data = parts.whole()
    new = split(data, "new-users", seed=1)
    model = CoRML().fit(new.train)
    subject = Subject(name="x", data=data, split=new, models={"m": (model, evaluate(model, new, METRICS))})
    assert "New users" in figures(subject, "groups")
    chart = figures(subject, "popularity")["Where the recommendations go"].chart
    history, users = new.part("test")[0], subject.results["m"].users
    rows = [history.items.labels[history.matrix[[row]].indices].tolist() for row in history.users.rows(users)]
    shares, _ = popularity_shares(new.train, model.recommend(history=rows, k=10).items)
    assert (
        f"Hits: {popularity_shares(new.train, np.empty(0, object))[1][0]} items: m {100 * shares[0]:.0f} %"
        in chart.description
    )


# --- costs and appendix --------------------------------------------------------------------------------------------


def test_costs_that_nobody_knows_have_no_column(subject):
    (table,) = parts_of(subject, "cost", "table")
    assert list(table.content.heads) == ["Model", "Fit", "Model file"]
    assert [cell.text for row in table.content.rows for cell in row[1:]] == ["6.2 s", "12 kB", "–", "–"]
    assert "cost" not in [one.key for one in build_page(replace(subject, costs={})).sections]


def test_facts_are_easy_to_read(subject):
    (tiles,), (facts,) = parts_of(subject, "data", "numbers"), parts_of(subject, "data", "facts")
    assert tiles.content[0].value == "80"
    assert facts.content == (("share of the top", "40 %"), ("per user", "1 to 9, median 2"))
    quality = replace(subject.quality, facts=[("first time", "1995-01-09T11:46:49+00:00"), ("kinds", {"a": 1})])
    (facts,) = parts_of(replace(subject, quality=quality), "data", "facts")
    assert facts.content == (("first time", "1995-01-09"), ("kinds", "a 1"))


def test_data_without_findings_have_no_problems(subject):
    clear = replace(subject, quality=replace(subject.quality, findings=[]))
    assert not parts_of(clear, "data", "findings")
    assert parts_of(clear, "data", "note") == [Part("note", "The checks of the data found no problems.")]
    nothing = Interactions.from_pairs(["a"], ["b"]).where(np.array([], dtype=int))
    assert not parts_of(Subject(name="x", data=nothing, models={}), "data", "figures")


def test_settings_and_the_source_are_shown_as_typed(subject):
    (shown,) = parts_of(subject, "provenance", "groups")
    groups = {name: dict(rows) for name, rows in shown.content}
    assert groups["Settings of CoRML"]["mix (λ)"] == "0.75"
    assert groups["Settings of CoRML"]["budget (γ)"] == "keep all of H"
    assert groups["Split"]["seed"] == "1"
    assert "rows" not in groups["Data"]
    source = {"from": "shop.csv", "options": {"at_least": 4, "strict": True}, "notes": ["one", "two"], "rows": 12}
    (shown,) = parts_of(replace(subject, data=replace(subject.data, source=source)), "provenance", "groups")
    rows = dict(dict(shown.content)["Data"])
    assert (rows["options"], rows["notes"]) == ("at_least 4, strict yes", "one; two")


def with_state(subject, **changes):
    """The subject with one model whose fitted state is changed."""
    model, result = subject.models["CoRML"]
    other = copy.copy(model)
    other.fitted_ = replace(model.fitted_, **changes)
    return replace(subject, models={"CoRML": (other, result)})


def test_the_longest_of_several_solves_is_drawn(subject):
    short, long = (
        Certificate(steps=len(trace), converged=True, residual=0.1, trace=tuple((value,) for value in trace))
        for trace in ([0.5, 0.1], [0.9, 0.5, 0.1])
    )
    (figure,) = figures(with_state(subject, certificates=(short, long, short)), "solver").values()
    assert "residual: (1, 0.9), (2, 0.5), (3, 0.1)" in figure.chart.description
    assert "tolerance" in figure.chart.body


@pytest.mark.parametrize(("second", "said"), [(True, "yes"), (False, "no")])
def test_a_fit_has_converged_if_all_of_its_solves_have(subject, second, said):
    solves = tuple(Certificate(steps=7, converged=converged, residual=0.1) for converged in (True, second))
    (shown,) = parts_of(with_state(subject, certificates=solves), "solver", "groups")
    rows = dict(dict(shown.content)["CoRML"])
    assert (rows["solver steps"], rows["converged"], rows["residual"]) == ("7, 7", said, "0.1")


def test_a_model_that_learns_in_epochs_shows_its_loss(subject):
    curve = tuple(Epoch(epoch=n, loss=1 / n, seconds=n) for n in (1, 2, 3))
    training = Training(epochs=3, seconds=3.0, cpu_seconds=3.0, stopped="patience", curve=curve)
    shown = figures(with_state(subject, certificates=(), training=training), "solver")
    assert "(1, 1), (2, 0.5)" in shown["Loss of CoRML"].chart.description


def test_a_model_computed_directly_says_so(subject):
    assert parts_of(subject, "solver", "note") == [
        Part("note", "Popularity <b>: computed directly, without steps that could stop too early.")
    ]


@pytest.mark.parametrize(("models", "metrics", "widths"), [(10, 5, [6]), (10, 8, [6, 6]), (3, 8, [4]), (6, 6, [6, 2])])
def test_the_table_of_all_metrics_is_never_wider_than_a_printed_page(outcome, models, metrics, widths):
    names = [f"ndcg@{k}" for k in range(1, metrics + 1)]
    about = of({f"m{n}": outcome({name: (n + 1) / 20 for name in names}) for n in range(models)})
    tables = [part.content for part in parts_of(about, "metrics", "table")]
    assert [len(table.heads) for table in tables] == widths
    cells = [cell for table in tables for row in table.rows for cell in row[1:]]
    assert len(cells) == models * metrics
    assert sum(bool(cell.mark) for cell in cells) == metrics  # the last model is the best by all of them
