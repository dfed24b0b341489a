"""The outcome of a search is told in full: tables, frames, a settings file."""

import json
import re
import tomllib
from dataclasses import replace

import numpy as np
import pytest

import corml
from corml.errors import UsageError
from corml.experiments.tuning.analysis import importance
from corml.experiments.tuning.settings_text import section
from corml.experiments.tuning.tuned import Trial, Tuned


@pytest.fixture(scope="module")
def tuned(split):
    return corml.tune("ease", split, trials=12)


def a_search(points, scores, searched):
    rows = enumerate(zip(points, scores, strict=True))
    trials = tuple(
        Trial(number=n, settings=point, point=point, score=score, state="complete", seconds=2, processor_seconds=3)
        for n, (point, score) in rows
    )
    return Tuned(model="ease", metric="ndcg@10", trials=trials, searched=searched, scored_on="the validation set")


def test_the_best_is_the_first_of_the_best_trials():
    found = a_search([{"l2": 1.0}, {"l2": 2.0}, {"l2": 3.0}, {"l2": 4.0}], [0.1, 0.3, 0.2, 0.3], ("l2",))
    assert (found.best, found.score, found.default_score, found.best_trial.number) == ({"l2": 2.0}, 0.3, 0.1, 1)
    assert (found.seconds, found.processor_seconds) == (8, 12)


def with_gain(found, gain):
    trials = (found.trials[0], replace(found.trials[1], gain=gain), *found.trials[2:])
    return replace(found, trials=trials)


def test_a_gain_whose_interval_includes_0_is_called_noise():
    found = a_search([{"l2": 1.0}, {"l2": 2.0}], [0.25, 0.26], ("l2",))
    noise, real = with_gain(found, (-0.001, 0.02)), with_gain(found, (0.001, 0.02))
    assert (noise.within_noise, real.within_noise, found.within_noise) == (True, False, False)
    assert "+4.0 %, difference -0.0010 to +0.0200, within noise: keep the defaults)" in str(noise)
    assert "+4.0 %, difference +0.0010 to +0.0200)" in str(real)
    assert noise.record()["gain"] == {"low": -0.001, "high": 0.02}
    assert noise.record()["within noise"] is True


def test_the_settings_that_are_advised_are_the_defaults_where_the_gain_is_noise():
    found = a_search([{"l2": 1.0}, {"l2": 2.0}], [0.25, 0.26], ("l2",))
    found = replace(found, trials=(replace(found.trials[0], settings={}), found.trials[1]))
    noise, real = with_gain(found, (-0.001, 0.02)), with_gain(found, (0.001, 0.02))
    assert (noise.best, noise.advised, real.advised) == ({"l2": 2.0}, {}, {"l2": 2.0})
    assert tomllib.loads(noise.toml())["model"] == {"name": "ease"}


def test_a_value_derived_from_the_data_is_left_to_the_model_unless_the_search_moved_it():
    points = [{"ridge": 25.4, "rank": 128, "mix": 0.7}, {"ridge": 25.4, "rank": 128, "mix": 0.9}]
    found = replace(a_search(points, [0.1, 0.3], ("ridge", "rank", "mix")), model="corml")
    assert found.best == {"rank": 128, "mix": 0.9}
    moved = [points[0], {**points[1], "ridge": 30.0}]
    assert replace(a_search(moved, [0.1, 0.3], ("ridge", "rank", "mix")), model="corml").best["ridge"] == 30.0


def test_in_brief_only_settings_that_differ_from_the_defaults_are_shown():
    points = [{"l2": 1.0, "rank": 8}, {"l2": 2.0, "rank": 8}, {"l2": 3.0, "rank": 9}]
    lines = a_search(points, [0.1, 0.3, 0.2], ("l2", "rank")).brief().splitlines()
    assert [line.split() for line in lines[2:]] == [["default", "best"], ["──", "───────", "────"], ["l2", "1", "2"]]
    best = a_search(points, [0.4, 0.3, 0.2], ("l2", "rank"))  # the defaults are
    assert len(best.brief().splitlines()) == 1
    assert "(defaults 0.4000: keep them)" in str(best)
    assert (best.gain, best.within_noise) == (None, False)


def test_the_history_has_the_best_so_far_and_what_was_spent():
    found = a_search([{"l2": float(n)} for n in range(4)], [0.1, 0.3, 0.2, 0.4], ("l2",)).history()
    assert found["best"].to_list() == [0.1, 0.3, 0.3, 0.4]
    assert found["seconds"].to_list() == [2, 4, 6, 8]
    assert found["processor_seconds"].to_list() == [3, 6, 9, 12]


def test_the_frames_have_a_row_for_each_trial_and_setting(tuned):
    assert tuned.slices().columns == ["setting", "trial", "value", "score"]
    assert len(tuned.slices()) == len(tuned.searched) * len(tuned.trials)
    frame = tuned.to_frame()
    assert frame["trial"].to_list() == list(range(12))
    assert frame["score"].to_list() == [trial.score for trial in tuned.trials]
    assert set(tuned.searched) < set(frame.columns)


def test_a_setting_that_decides_is_important_and_one_that_does_not_is_not():
    rng = np.random.default_rng(0)
    points = [{"a": float(rng.random()), "b": float(rng.random()), "c": int(rng.integers(3))} for _ in range(200)]
    scores = [-((point["a"] - 0.5) ** 2) + 0.1 * (point["c"] == 1) for point in points]
    found = importance({name: [point[name] for point in points] for name in "abc"}, scores)
    assert found["a"] > 0.3
    assert found["c"] > 0.15
    assert found["b"] < 0.03
    assert all(0 <= value <= 1 for value in found.values())


def test_importance_is_that_of_an_analysis_of_variance_of_ranks():
    """By hand: the groups have ranks 1, 2, 5 and 3, 4, 6, whose squares about their mean, 3.5, add up to 17.5."""
    scores = [0.1, 0.2, 0.5, 0.3, 0.4, 0.6]
    between = 3 * (8 / 3 - 3.5) ** 2 + 3 * (13 / 3 - 3.5) ** 2
    within = (17.5 - between) / 4
    assert importance({"a": "xxxyyy"}, scores)["a"] == pytest.approx((between - within) / (17.5 + within))


@pytest.mark.parametrize("scores", [[0.5], [0.5, 0.5, 0.5], [0.1, 0.2]])
def test_too_little_to_tell_is_no_importance(scores):
    assert importance({"a": [float(n) for n in range(len(scores))]}, scores) == {"a": 0.0}


def test_the_settings_file_has_the_settings_that_are_advised(tuned, tmp_path):
    tuned.save(tmp_path / "best.toml")
    assert tomllib.loads((tmp_path / "best.toml").read_text()) == {
        "model": {"name": "ease", **{name: "none" if value is None else value for name, value in tuned.advised.items()}}
    }


def test_every_kind_of_value_survives_a_settings_file():
    values = {"a": True, "b": 3, "c": 1e-7, "d": 'a "b" \\ \n \x7f é', "e": (0.5, 1), "f": 0.1 + 0.2}
    assert tomllib.loads(section("model", values)) == {"model": {**values, "e": [0.5, 1]}}
    assert tomllib.loads(section("model", {"a": None})) == {"model": {"a": "none"}}


def test_the_table_shows_the_defaults_beside_the_best(tuned):
    lines = str(tuned).splitlines()
    assert f"ndcg@10 {tuned.score:.4f} on the validation set (defaults {tuned.default_score:.4f}" in lines[0]
    assert lines[2].split() == ["defaults", "best", "2nd", "3rd"]
    assert lines[5].split()[:3] == ["ndcg@10", f"{tuned.default_score:.4f}", f"{tuned.score:.4f}"]
    assert len({len(line) for line in lines[2:]}) == 1
    assert f"<td>{tuned.score:.4f}</td>" in tuned._repr_html_()


def test_the_record_is_json(tuned):
    record = json.loads(json.dumps(tuned.record()))
    assert record["best"] == tuned.best
    assert [trial["score"] for trial in record["trials"]] == [trial.score for trial in tuned.trials]


# --- charts ----------------------------------------------------------------------------------------------------------

POINTS = [{"l2": 10.0**n, "route": "dense" if n % 2 else "sparse"} for n in range(4)]


@pytest.fixture
def drawn():
    return a_search(POINTS, [0.1, 0.3, 0.2, 0.4], ("l2", "route"))


def test_the_history_is_drawn_with_the_best_so_far_in_steps_and_the_defaults(drawn):
    chart = drawn.plot()
    assert chart.title == "ease: ndcg@10 of 4 trials"
    assert "a trial: (1, 0.1), (2, 0.3), (3, 0.2), (4, 0.4)" in chart.description
    assert "best so far: from (1, 0.1) to (4, 0.4)" in chart.description
    assert "the defaults" in chart.body


def test_the_importance_is_drawn_with_the_most_important_setting_first(tuned):
    chart = tuned.plot("importance")
    first = tuned.importance()["setting"][0]
    assert chart.description.split(". ")[1].startswith(f"{first}: importance ")


def test_slices_are_drawn_with_a_panel_for_each_setting(drawn):
    chart = drawn.plot("slices")
    assert "the best: (1000, 0.4)" in chart.description
    assert "10²" in chart.body  # four decades are drawn on a logarithmic scale
    assert "dense: route 0.4 (0.3 to 0.4)" in chart.description
    assert "sparse: route 0.2 (0.1 to 0.2)" in chart.description
    assert drawn.plot("slices").body.count("<polyline") == 0  # trials are points, and not joined
    assert drawn.plot("history").body.count("<polyline") == 1


@pytest.mark.parametrize(("values", "linear"), [((1000, 1300, 1100, 1200), True), ((1000, 20_000, 3000, 9000), False)])
def test_a_narrow_range_of_large_values_is_drawn_on_a_linear_scale(values, linear):
    chart = a_search([{"l2": float(value)} for value in values], [0.1, 0.3, 0.2, 0.4], ("l2",)).plot("slices")
    places = {float(x) for x in re.findall(r'<path d="M([\d.]+) [^"]*" class="edge f\d"><title>', chart.body)}
    shares = sorted((x - min(places)) / (max(places) - min(places)) for x in places)
    evenly = sorted((value - min(values)) / (max(values) - min(values)) for value in values)
    assert (shares == pytest.approx(evenly, abs=0.01)) == linear


def test_failed_trials_are_not_drawn():
    found = a_search([{"l2": 1.0}, {"l2": 2.0}], [0.1, 0.3], ("l2",))
    failed = Trial(number=2, settings={}, state="failed", reason="it broke")
    again = Tuned(
        model="ease", metric="ndcg@10", trials=(*found.trials, failed), searched=("l2",), scored_on="the validation set"
    )
    assert "a trial: (1, 0.1), (2, 0.3)." in again.plot().description


@pytest.mark.parametrize(
    ("kind", "searched", "sentence"),
    [
        ("slice", ("l2",), "There is no chart 'slice' of a search; did you mean 'slices'?"),
        ("slices", (), "No setting of ease was searched, so there is only the chart 'history'."),
    ],
)
def test_a_chart_that_is_not_there_is_one_sentence(kind, searched, sentence):
    with pytest.raises(UsageError, match=re.escape(sentence)):
        a_search([{"l2": 1.0}], [0.1], searched).plot(kind)
