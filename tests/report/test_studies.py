"""The page of a study: its tests, its budget, its failures; nothing is fitted again."""

import pytest

import corml
from corml.errors import NumericalError
from corml.experiments import read_study
from corml.report import build_page, of_study, render
from corml.report.page import Part

METRICS = "ndcg@10,hit_rate@10,novelty@10,coverage@10"


@pytest.fixture(scope="module")
def folder(parts, tmp_path_factory):
    path = tmp_path_factory.mktemp("study")
    corml.compare(["corml", "popularity", "ease:l2=5"], parts, metrics=METRICS, folder=path, command="corml compare x")
    return path


@pytest.fixture(scope="module")
def study(folder):
    return read_study(folder)


def words_of(page):
    return {section.key: section for section in page.sections}


def test_the_rows_of_a_study_are_the_models_of_its_page(study):
    subject = of_study(study, "x")
    assert list(subject.models) == [row.label for row in study.ranking]
    assert subject.ranking[0] == study.best.label
    assert subject.runner_up == study.runner_up.label
    assert subject.metric == study.design.primary


def test_p_values_are_those_of_the_study(study):
    subject = of_study(study, "x")
    assert subject.corrected == {label: compared["ndcg@10"].p for label, compared in study.comparisons.items()}
    assert subject.family == study.family == 6
    assert f"corrected for {study.family} tests" in words_of(build_page(subject))["winner"].intro


def test_against_a_baseline_the_page_makes_its_own_tests_of_the_best(parts):
    study = corml.compare(["corml", "popularity", "ease"], parts, metrics=METRICS, baseline="popularity")
    subject = of_study(study, "x")
    assert subject.corrected == {}
    assert "corrected for 2 tests" in words_of(build_page(subject))["winner"].intro


def test_without_the_data_the_page_has_what_the_folder_holds(study):
    keys = list(words_of(build_page(of_study(study, "x"))))
    assert keys == ["winner", "novelty", "popularity", "cost", "users", "metrics", "provenance"]


def test_with_the_split_there_are_groups_and_data(study, parts):
    subject = of_study(study, "x", data=parts.whole(), split=parts)
    assert {"groups", "data"} <= set(words_of(build_page(subject)))


def test_a_model_that_failed_is_named_with_its_reason(parts, monkeypatch):
    def fail(*given, **more):
        raise NumericalError("It does not fit.")

    monkeypatch.setattr("corml.models.linear.ease.EASE._fit", fail)
    subject = of_study(corml.compare(["popularity", "ease"], parts, metrics=METRICS), "x")
    assert list(subject.models) == ["popularity"]
    (remark,) = subject.remarks
    assert remark.startswith("ease has no figures: ")
    assert "It does not fit." in remark
    assert Part("note", remark) in words_of(build_page(subject))["winner"].parts


def test_where_everybody_failed_the_page_says_why(parts, monkeypatch):
    monkeypatch.setattr("corml.models.linear.ease.EASE._fit", None)
    page = build_page(of_study(corml.compare(["ease"], parts, metrics=METRICS), "x"))
    assert page.sections[0].heading == "No model has figures"
    assert page.sections[0].parts[0].content.startswith("ease has no figures: ")


def test_the_spread_over_seeds_is_shown_apart_from_the_users(parts):
    splits = [corml.split(parts.whole(), "ratio", seed=seed) for seed in (1, 2)]
    study = corml.compare(["popularity", "ease"], splits, metrics=METRICS)
    (remark,) = of_study(study, "x").remarks
    assert f"ease {study['ease'].run_deviation['ndcg@10']:.4f}" in remark
    assert "apart from users" in remark


def test_settings_command_and_design_are_in_the_appendix(study):
    text = render(build_page(of_study(study, "x")))
    expected = ("corml compare x", "Settings of ease", "primary metric", "ndcg@10", study.splits[0].fingerprint[:16])
    assert all(one in text for one in expected)


def test_a_study_can_be_drawn_and_gives_the_same_page_again(folder, study):
    chart = study.plot()
    assert all(entry.label in chart.description for entry in study.ranking)
    assert "novelty@10" in study.plot("novelty@10").title
    assert render(build_page(of_study(read_study(folder), "x"))) == render(build_page(of_study(study, "x")))
