"""corml report: a page for anybody's model file or study."""

import re

import pytest


def page(path):
    return path.read_text(encoding="utf-8")


def keys(text):
    return re.findall(r'<section id="(\w+)"', text)


def test_a_page_is_made_from_a_model_file_alone(run, here, shop):
    outcome = run("report", shop / "split.corml")
    assert outcome.code == 0
    assert "wrote report.html" in outcome.err
    text = page(here / "report.html")
    assert keys(text)[0] == "winner"
    assert {"novelty", "popularity", "cost", "examples", "data", "solver", "provenance"} <= set(keys(text))
    assert "Recommendations for ratings.csv" in text
    assert f"corml report {shop / 'split.corml'}" in text
    assert re.search(r"Made on \d+ \w+ \d{4} with this command", text)


def test_the_page_has_the_figures_that_evaluate_prints(run, here, shop):
    run("report", shop / "split.corml", "-o", "page.html")
    measured = run("evaluate", shop / "split.corml", "-m", "ndcg@10,hit_rate@10", "--json").json["metrics"]
    text = page(here / "page.html")
    assert f"{measured['ndcg@10']:.3f}" in text
    assert f"{100 * measured['hit_rate@10']:.0f} %" in text


def test_popularity_is_always_compared_with_but_once(run, here, shop):
    assert run("fit", shop / "ratings.csv", "--model", "popularity", "--split", "ratio", "-o", "pop.corml").code == 0
    run("report", "pop.corml", shop / "ratings.csv", "-o", "alone.html")
    assert "There is no other model to compare it with" in page(here / "alone.html")
    run("report", shop / "split.corml", "--against", "pop.corml", "-o", "both.html")
    assert "corml and popularity compared" in page(here / "both.html")


def test_models_of_one_kind_are_told_apart_by_their_files(run, here, shop):
    for name, rank in (("a", 2), ("b", 3)):
        run("fit", shop / "ratings.csv", "--split", "ratio", "--set", f"rank={rank}", "-o", f"{name}.corml")
    assert run("report", "a.corml", "--against", "b.corml").code == 0
    assert "corml (a.corml), corml (b.corml) and popularity compared" in page(here / "report.html")
    outcome = run("report", "a.corml", "--against", "a.corml")
    assert outcome.code == 2
    assert "given twice" in outcome.err


def test_a_dial_is_drawn_as_a_curve(run, here, shop):
    made = ("fit", shop / "ratings.csv", "--split", "ratio")
    run(*made, "--model", "corml-dial", "-o", "dial.corml")
    run(*made, "--model", "ease", "-o", "ease.corml")
    run("report", "dial.corml", "-o", "dial.html")
    run("report", shop / "split.corml", "-o", "plain.html")
    run("report", shop / "split.corml", "--dial", "-o", "fitted.html")
    drawn = {name: "novelty dial</text>" in page(here / f"{name}.html") for name in ("dial", "plain", "fitted")}
    assert drawn == {"dial": True, "plain": False, "fitted": True}
    outcome = run("report", "ease.corml", "--dial")
    assert outcome.code == 2
    assert "--dial fits CoRML" in outcome.err


def test_a_file_without_histories_gets_its_lists_by_history(run, here, shop):
    run("fit", shop / "ratings.csv", "--split", "ratio", "--no-history", "-o", "m.corml")
    outcome = run("report", "m.corml")
    assert outcome.code == 0
    assert {"examples", "popularity"} <= set(keys(page(here / "report.html")))
    assert "because of" in page(here / "report.html")


def test_ready_made_parts_are_taken(run, here, shop):
    lines = (shop / "ratings.csv").read_text().splitlines()
    for name, rows in (("a.csv", lines[1::2]), ("b.csv", lines[2::2])):
        (here / name).write_text("\n".join([lines[0], *rows]) + "\n")
    run("fit", "a.csv", "-o", "m.corml")
    assert run("report", "m.corml", "--train", "a.csv", "--test", "b.csv", "--name", "Our <shop>").code == 0
    assert "Recommendations for Our &lt;shop&gt;" in page(here / "report.html")


def test_leakage_is_warned_of(run, here, shop):
    outcome = run("report", shop / "all.corml", "--split", "ratio")
    assert "flatter" in outcome.err


def test_a_study_has_a_page_and_nothing_is_fitted_again(run, here, shop, monkeypatch):
    data = shop / "ratings.csv"
    assert run("compare", data, "--models", "ease,popularity", "--out", "study").code == 0
    monkeypatch.setattr("corml.models.linear.ease.EASE.fit", None)
    assert run("report", "study", "-o", "study.html").code == 0
    text = page(here / "study.html")
    assert {"winner", "novelty", "groups", "cost", "data"} <= set(keys(text))
    assert f"corml compare {data}" in text


def test_a_study_whose_data_are_gone_has_a_page_without_them(run, here, shop):
    (here / "r.csv").write_text((shop / "ratings.csv").read_text())
    assert run("compare", "r.csv", "--models", "ease,popularity", "--out", "study").code == 0
    (here / "r.csv").rename(here / "moved.csv")
    outcome = run("report", "study", "-o", "study.html")
    assert outcome.code == 0
    assert "no section about the data" in outcome.err
    assert not {"groups", "data"} & set(keys(page(here / "study.html")))
    assert run("report", "study", "moved.csv", "-o", "again.html").code == 0
    assert {"groups", "data"} <= set(keys(page(here / "again.html")))
    (here / "moved.csv").write_text("\n".join((here / "moved.csv").read_text().splitlines()[:-30]) + "\n")
    assert "not those of the study any more" in run("report", "study", "moved.csv").err


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["split.corml", "--part", "train"], "--part must be test or valid"),
        (["split.corml", "ratings.csv", "--train", "a.csv", "--test", "b.csv"], "not both"),
        (["split.corml", "-o", "split.corml"], "is the file to read"),
        (["all.corml"], "without a split"),
        ([".", "--dial"], "For a study folder only DATA, --out and --name are accepted"),
        (["."], "is not the folder of a study"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(run, shop, monkeypatch, tmp_path, given, sentence):
    for name in ("split.corml", "all.corml", "ratings.csv"):
        (tmp_path / name).write_bytes((shop / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    outcome = run("report", *given)
    assert outcome.code in (2, 3)
    assert sentence in outcome.err
