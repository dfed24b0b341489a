"""Results that lie beside a model file: shown if they are about its data, left out with a note if not."""

import json
import os

import pytest

import corml
from corml.service.served import Shelf, load
from corml.service.studio import schema
from corml.service.studio.about_data import about_data
from corml.service.studio.results import LARGEST
from corml.service.worker import _load_open_file
from support import random_interactions


@pytest.fixture(scope="module")
def split(data):
    return corml.split(data, "ratio", seed=7)


@pytest.fixture(scope="module")
def study(split):
    return corml.compare(["ease", "item-knn", "popularity"], split, metrics=["ndcg@10", "recall@10"])


@pytest.fixture
def place(data, tmp_path):
    """A folder with a model that learned from all the data."""
    corml.models.make("ease").fit(data).save(tmp_path / "shop.corml")
    return tmp_path


def about(place, name="shop"):
    shelf = Shelf(name)
    shelf.put(load(name, str(place / f"{name}.corml")))
    return about_data(shelf, schema.OfModel())


def test_a_study_beside_the_model_is_shown_with_its_figures(place, study):
    (place / "study").mkdir()
    study.save(place / "study" / "results.json")
    answer = about(place)
    (table,) = answer.studies
    assert (table.file, table.primary, table.users, table.best) == (
        "study/results.json",
        "ndcg@10",
        len(study.users),
        study.best.label,
    )
    assert [row.label for row in table.rows] == [entry.label for entry in study.ranking]
    for row in table.rows:
        entry = study[row.label]
        assert row.mean == pytest.approx(entry.means["ndcg@10"])
        assert row.interval == pytest.approx(entry.intervals["ndcg@10"])
        one = study.comparisons.get(row.label, {}).get("ndcg@10")
        assert (row.difference is None) == (one is None)
        if one is not None:
            assert row.p == pytest.approx(one.holm.t)
            assert row.chance is (not one.significant)
    assert table.verdict.startswith(f"{study.best.label} is best by ndcg@10")
    assert answer.ignored == []


@pytest.mark.parametrize(
    ("p", "reference", "sentence"),
    [
        ([0.001, 0.01], "ease", "Its lead over all others is more than chance (corrected p < 0.05)."),
        ([0.001, 0.3], "ease", "Its lead over item-knn could be chance (corrected p ≥ 0.05)."),
        ([0.2, 0.2], "popularity", "Its lead over popularity could be chance (corrected p 0.2000)."),
        ([0.00001, 0.2], "popularity", "Its lead over popularity is more than chance (corrected p < 0.0001)."),
    ],
)
def test_the_verdict_says_who_wins_and_whether_that_could_be_chance(place, split, p, reference, sentence):
    tested = ["popularity", "item-knn"] if reference == "ease" else ["ease", "item-knn"]
    compared = {label: {"ndcg@10": {"difference": 0.1, "holm_t": one}} for label, one in zip(tested, p, strict=True)}
    means = {"ease": 0.3, "item-knn": 0.2, "popularity": 0.1}
    content = {
        "primary": "ndcg@10",
        "metrics": ["ndcg@10"],
        "users": 9,
        "best": "ease",
        "reference": reference,
        "splits": [{"fingerprint": split.fingerprint, "procedure": dict(split.procedure)}],
        "models": [
            {"label": label, "means": {"ndcg@10": mean}, "comparisons": compared.get(label, {})}
            for label, mean in means.items()
        ],
    }
    (place / "results.json").write_text(json.dumps(content))
    (table,) = about(place).studies
    assert table.verdict == f"ease is best by ndcg@10: 0.3000. {sentence}"


def test_an_evaluation_beside_the_model_says_whether_it_flatters(place, split):
    record = corml.evaluate(corml.models.make("ease").fit(split.train), split, ["ndcg@10"]).record()
    (place / "shop.evaluation.json").write_text(json.dumps(record))
    (one,) = about(place).evaluations
    assert (one.file, one.flatters) == ("shop.evaluation.json", True)  # this file learned from everything
    assert one.evaluation["metrics"] == record["metrics"]
    honest = corml.models.make("ease").fit(split.train)
    honest.save(place / "shop.corml", evaluation=record)
    (one,) = about(place).evaluations
    assert one.flatters is False


def test_what_is_no_result_or_about_other_data_is_left_out_with_a_note(place, study):
    for name in ("broken", "foreign", "other", "pipe", "deep", "huge", "nothing"):
        (place / name).mkdir()
    (place / "broken" / "results.json").write_bytes(b"{\xff")
    (place / "foreign" / "results.json").write_text('{"name": "canary", "models": 3}')
    other = corml.split(random_interactions(8, 90, 40, 6), "ratio", seed=1)
    corml.compare(["popularity"], other, metrics=["ndcg@10"]).save(place / "other" / "results.json")
    os.mkfifo(place / "pipe" / "results.json")
    (place / "deep" / "results.json").write_text("[" * 100_000)
    (place / "huge" / "results.json").write_text(study.to_json() + " " * LARGEST)
    (place / "shop.evaluation.json").write_text("[]")
    answer = about(place)
    assert answer.studies == answer.evaluations == []
    assert answer.ignored == [
        "broken/results.json is no study of corml",
        "deep/results.json is no study of corml",
        "foreign/results.json is no study of corml",
        "huge/results.json cannot be read",
        "other/results.json is about other data than this model's",
        "pipe/results.json cannot be read",
        "shop.evaluation.json is no evaluation of corml",
    ]


@pytest.mark.parametrize(
    "change",
    [{"primary": "beauty@10"}, {"models": []}, {"users": "many"}, {"models": [{"label": 3}]}, {"splits": None}],
)
def test_a_study_with_other_content_than_ours_is_no_study(place, study, change):
    (place / "results.json").write_text(json.dumps({**study.record(), **change}, default=str))
    answer = about(place)
    assert answer.studies == []
    assert answer.ignored == ["results.json is no study of corml"]


def test_a_worker_that_gets_an_open_file_still_knows_where_it_lies(place, study):
    study.save(place / "results.json")
    file = os.open(place / "shop.corml", os.O_RDONLY)
    shelf = Shelf("shop")
    shelf.put(_load_open_file("shop", file, str(place / "shop.corml")))
    assert [table.file for table in about_data(shelf, schema.OfModel()).studies] == ["results.json"]
