"""Recommending is a JOIN: the query of an export gives what the model gives."""

import itertools

import numpy as np
import pytest
from asking import TABLES, ask, asking, stored_facts

from corml import Interactions, models
from corml.errors import UsageError
from corml.service.export import export_model, target

LINEAR = [
    ("corml", {}),
    ("corml", {"filter": "elementwise"}),
    ("corml", {"mix": 1.0}),
    ("corml-dial", {}),
    ("ease", {}),
    ("slim", {"l1": 0.1}),
    ("admm-slim", {}),
    ("item-knn", {}),
    ("gf-cf", {}),
]
IDS = [" ".join([name, *map(str, settings.values())]) for name, settings in LINEAR]


def histories(model, count=12):
    """Of one item up to nearly all, with a repeated and an unknown id; of unknown ids alone; of none; of all."""
    rng, labels = np.random.default_rng(5), model.items_.labels
    drawn = [rng.choice(labels, size=size, replace=False).tolist() for size in (1, 1, 2, 3, 5, 8, 13, 21, 28)]
    return [*drawn, [*drawn[3], drawn[3][0], "nobody knows"], ["nobody knows"], [], labels.tolist()][-count - 1 :]


def agree(rows, model, history, k, tolerance=1e-5):
    """The list of a query is the model's; items whose scores differ by rounding alone may change places."""
    expected = model.recommend(history=[history], k=k)
    items = expected.values()[0]
    scores = expected.scores[0][: len(items)]
    assert [row["rank"] for row in rows] == list(range(1, len(items) + 1))
    np.testing.assert_allclose([row["score"] for row in rows], scores, atol=tolerance)
    of_model = dict(zip(items, scores, strict=True))
    for row, item in zip(rows, items, strict=True):
        if row["item"] != item:
            here = of_model.get(row["item"], scores[-1])
            assert abs(here - row["score"]) <= tolerance
    assert len({row["item"] for row in rows}) == len(rows)
    assert not {row["item"] for row in rows} & set(history)
    assert {row["source"] for row in rows} <= {expected.sources[0]}


@pytest.mark.parametrize("to", TABLES)
@pytest.mark.parametrize(("name", "settings"), LINEAR, ids=IDS)
def test_with_all_pairs_the_query_gives_the_models_lists_and_scores(small, tmp_path, to, name, settings):
    model = small(name, **settings)
    done = export_model(model, to, tmp_path / "all", pairs=None)
    with asking(to, tmp_path / "all") as rows_of:
        for history, k in itertools.product(histories(model), (3, 40)):
            agree(rows_of(done.query, history=history, k=k), model, history, k)
    assert done.facts["overlap"] == done.facts["overlap_same_lists"] == done.facts["weight_kept"] == 1
    assert done.facts["pairs_dropped"] == 0


@pytest.mark.parametrize("to", TABLES)
def test_ids_may_be_any_text_and_stay_what_they_are(tmp_path, to):
    odd = [
        "007",
        "7",
        "7.0",
        "NA",
        "null",
        "it's",
        'say "hi"',
        "a,b",
        "line\nbreak",
        "tab\t",
        "日本",
        "%_",
        "[1]",
        "-- x",
    ]
    rng = np.random.default_rng(1)
    pairs = [(f"u'{user}", item) for user in range(40) for item in rng.choice(odd, size=4, replace=False)]
    data = Interactions.from_pairs(*zip(*pairs, strict=True))
    model = models.make("ease", l2=1.0).fit(data)
    done = export_model(model, to, tmp_path / "odd", pairs=None)
    with asking(to, tmp_path / "odd") as rows_of:
        for item in odd:
            agree(rows_of(done.query, history=[item], k=20), model, [item], 20)
        rows = rows_of(f"SELECT id FROM {table(to, 'items')} ORDER BY number")
    assert [row["id"] for row in rows] == model.items_.labels.tolist()


def table(to, name):
    return f"read_parquet('{name}/*.parquet')" if to == "parquet" else name


@pytest.mark.parametrize("to", TABLES)
@pytest.mark.parametrize("keep", [1, 8])
def test_the_pairs_of_an_item_are_its_largest_in_size_negative_ones_too(small, tmp_path, to, keep):
    model = small("ease", l2=1.0)
    W = model.scores([[label] for label in model.items_.labels])
    export_model(model, to, tmp_path / "few", pairs=keep)
    rows = ask(to, tmp_path / "few", f"SELECT source, target, weight FROM {table(to, 'pairs')} ORDER BY source, target")
    expected = []
    for source, weights in enumerate(W):
        largest = np.sort(np.argsort(-np.abs(weights), kind="stable")[:keep])
        expected += [(source, int(at), weights[at]) for at in largest]
    assert [(row["source"], row["target"]) for row in rows] == [(a, b) for a, b, _ in expected]
    np.testing.assert_allclose([row["weight"] for row in rows], [w for _, _, w in expected], rtol=1e-6)
    assert any(row["weight"] < 0 for row in rows)


def test_of_equal_weights_no_more_are_kept_than_asked_for(tmp_path):
    """Every user has all items: all weights of the model are equal."""
    data = Interactions.from_pairs([u for u in range(6) for _ in range(5)], list(range(5)) * 6)
    model = models.make("item-knn", shrink=0.0).fit(data)
    export_model(model, "sqlite", tmp_path / "equal", pairs=2)
    counts = ask("sqlite", tmp_path / "equal", "SELECT source, COUNT(*) AS kept FROM pairs GROUP BY source")
    assert [row["kept"] for row in counts] == [2] * 5


@pytest.mark.parametrize("to", TABLES)
def test_the_written_overlap_is_what_the_query_gives(small, tmp_path, to):
    """Sixty users are all in the sample: asking for each of them must give the share that the export says."""
    model = small("corml")
    done = export_model(model, to, tmp_path / "some", pairs=3, k=5)
    shares = []
    with asking(to, tmp_path / "some") as rows_of:
        for user in model.users_.labels:
            history = model.items_.labels[model._known_history(user)[0]].tolist()
            mine = {row["item"] for row in rows_of(done.query, history=history, k=5)}
            theirs = model.recommend(history=[history], k=5).values()[0]
            shares.append(len(mine & set(theirs)) / len(theirs))
    facts = stored_facts(to, tmp_path / "some")
    assert float(facts["overlap"]) == pytest.approx(np.mean(shares), abs=1e-3)
    assert 0.3 < float(facts["overlap"]) < 1
    assert int(facts["overlap_users"]) == 60


@pytest.mark.parametrize("to", TABLES)
def test_an_export_says_what_it_is_of_and_what_is_not_in_it(small, tmp_path, to):
    model = small("ease")
    done = export_model(model, to, tmp_path / "facts", pairs=4, digest="ab" * 32)
    facts = stored_facts(to, tmp_path / "facts")
    assert facts["query"] == done.query == target(to).queries["pairs"]
    assert (facts["model"], facts["model_digest"], facts["contents"]) == ("ease", "ab" * 32, "pairs")
    assert facts["data_fingerprint"] == model.fitted_.fingerprint
    assert f'"l2": {model.settings_["l2"]}' in facts["settings"]
    W = model.scores([[label] for label in model.items_.labels])
    np.fill_diagonal(W, 0)
    kept = ask(to, tmp_path / "facts", f"SELECT COUNT(*) AS n, SUM(ABS(weight)) AS s FROM {table(to, 'pairs')}")[0]
    assert kept["n"] == int(facts["pairs"]) == 4 * 30
    assert int(facts["pairs_dropped"]) == np.count_nonzero(W) - kept["n"]
    assert float(facts["weight_kept"]) == pytest.approx(kept["s"] / np.abs(W).sum(), abs=1e-3)


@pytest.mark.parametrize("to", TABLES)
def test_items_have_titles_and_popularity(small, tmp_path, to):
    model = small("ease")
    export_model(model, to, tmp_path / "items", pairs=1)
    rows = ask(to, tmp_path / "items", f"SELECT * FROM {table(to, 'items')} ORDER BY number")
    assert [row["users"] for row in rows] == model.counts_.tolist()
    np.testing.assert_allclose([row["popularity"] for row in rows], model._popularity, rtol=1e-6)
    assert all(row["title"] is None for row in rows)  # these data have none


def test_a_model_without_users_is_exported_and_says_that_nothing_was_measured(small, tmp_path):
    small("ease").save(tmp_path / "m.corml", history=False)
    import corml

    done = export_model(corml.read_model(tmp_path / "m.corml"), "sqlite", tmp_path / "bare", pairs=None)
    assert "overlap" not in done.facts
    agree(ask("sqlite", tmp_path / "bare", done.query, history=["i1", "i2"], k=5), small("ease"), ["i1", "i2"], 5)


@pytest.mark.parametrize("keep", [0, -1, 2.5, True])
def test_a_number_of_pairs_that_cannot_be_meant_is_refused(small, tmp_path, keep):
    with pytest.raises(UsageError, match=r"pairs \(--pairs\) must be a whole number from 1"):
        export_model(small("ease"), "sqlite", tmp_path / "no.sqlite", pairs=keep)


def test_bands_of_items_do_not_change_what_is_written(small, tmp_path, monkeypatch):
    from corml.service.export import _weights

    model = small("corml")
    export_model(model, "sqlite", tmp_path / "one", pairs=5)
    monkeypatch.setattr(_weights, "band_of", lambda rows, columns: (7, columns))
    export_model(model, "sqlite", tmp_path / "many", pairs=5)
    query = "SELECT * FROM pairs"
    one, many = (ask("sqlite", tmp_path / name, query) for name in ("one", "many"))
    assert [(row["source"], row["target"]) for row in one] == [(row["source"], row["target"]) for row in many]
    np.testing.assert_allclose([row["weight"] for row in one], [row["weight"] for row in many], atol=1e-7)
