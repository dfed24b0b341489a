"""Interactions have strength: where it comes from, which models learn from it, and that all ones change nothing."""

from dataclasses import replace

import numpy as np
import polars
import pytest

import corml
from corml import Interactions, models
from corml.data.strength import of_mean_square_one
from corml.errors import DataError, DataWarning, ModelFileError, UsageError, WeightsWarning
from corml.models.corml import estimator
from support import forge, random_interactions

LEARN = ["corml", "corml-dial", "ease", "item-knn", "slim", "admm-slim", "gf-cf"]
CANNOT = ["popularity"]
DAY = 86_400


def weighted(seed=2, **size):
    data = random_interactions(seed, **size)
    rng = np.random.default_rng(seed)
    return replace(data, weights=rng.choice([0.5, 1.0, 4.0], len(data)).astype(np.float32))


def made(name):
    return models.make(name, {"of": {"rank": 4}} if name == "corml-dial" else {"rank": 4} if name == "corml" else {})


# --- models ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LEARN)
def test_all_ones_give_the_same_file_to_the_last_byte(name, tmp_path):
    data = random_interactions(2)
    labels = data.users.labels[data.user], data.items.labels[data.item]
    plain, ones = Interactions.from_pairs(*labels), Interactions.from_pairs(*labels, weights=np.ones(len(data)))
    assert ones.weights is None
    made(name).fit(plain).save(tmp_path / "plain.corml")
    made(name).fit(ones).save(tmp_path / "ones.corml")
    assert (tmp_path / "plain.corml").read_bytes() == (tmp_path / "ones.corml").read_bytes()


@pytest.mark.parametrize("name", LEARN)
def test_weights_change_what_is_learned_and_how_histories_are_scored(name, tmp_path):
    data = weighted()
    model, plain = made(name).fit(data), made(name).fit(replace(data, weights=None))
    some = data.users.labels[:5].tolist()
    assert not np.allclose(model.recommend(some, k=5).scores, plain.recommend(some, k=5).scores, equal_nan=True)
    model.save(tmp_path / "m.corml")
    read = corml.read_model(tmp_path / "m.corml")
    np.testing.assert_array_equal(read.fitted_.weights, data.weighted.data)
    np.testing.assert_array_equal(read.recommend(some, k=5).items, model.recommend(some, k=5).items)


@pytest.mark.parametrize("name", LEARN)
def test_explanations_of_a_known_user_still_add_up(name):
    data = weighted()
    model = made(name).fit(data)
    lists = model.recommend(["u3"], k=3)
    for item, score in zip(lists.items[0], lists.scores[0], strict=True):
        assert model.explain("u3", item).score == pytest.approx(score, rel=1e-4)


@pytest.mark.parametrize("name", LEARN)
def test_known_users_are_scored_as_their_weighted_history_is(name):
    data = weighted()
    model = made(name).fit(data)
    known, given = model.recommend(data.users.labels, k=5), model.recommend(history=data, k=5)
    np.testing.assert_array_equal(known.items, given.items)


@pytest.mark.parametrize("name", CANNOT)
def test_a_model_that_cannot_says_so_and_counts_every_interaction_alike(name):
    data = weighted()
    with pytest.warns(WeightsWarning, match=f"^{name} cannot learn from weights: every interaction counts alike.$"):
        model = models.make(name).fit(data)
    plain = models.make(name).fit(replace(data, weights=None))
    users = data.users.labels.tolist()
    np.testing.assert_array_equal(model.recommend(users, k=5).items, plain.recommend(users, k=5).items)
    assert model.fitted_.weights is None


def test_ease_solves_the_weighted_regression():
    data = weighted(users=80)
    R = data.weighted.toarray() / np.sqrt(np.mean(data.weights.astype(np.float64) ** 2))
    P = np.linalg.inv(R.T @ R + 7.0 * np.eye(R.shape[1]))
    W = -P / np.diag(P)
    np.fill_diagonal(W, 0)
    np.testing.assert_allclose(models.make("ease", {"l2": 7.0}).fit(data).weights_, W, atol=1e-4)


def test_item_knn_is_the_cosine_of_weighted_columns():
    data = weighted(users=80)
    R = data.weighted.toarray() / np.sqrt(np.mean(data.weights.astype(np.float64) ** 2))
    lengths = np.maximum(np.linalg.norm(R, axis=0), 1e-12)
    W = R.T @ R / (np.outer(lengths, lengths) + 3)
    np.fill_diagonal(W, 0)
    model = models.make("item-knn", {"shrink": 3, "neighbours": 1000}).fit(data)
    np.testing.assert_allclose(model.weights_.toarray(), W, atol=1e-5)


@pytest.mark.parametrize("name", ["corml", "item-knn"])
def test_twice_the_weight_everywhere_changes_no_list(name):
    data = weighted()
    settings = {"shrink": 0} if name == "item-knn" else {"rank": 4}
    one, two = (
        models.make(name, settings).fit(replace(data, weights=data.weights * factor))
        for factor in (np.float32(1), np.float32(2))
    )
    users = data.users.labels.tolist()
    np.testing.assert_array_equal(one.recommend(users, k=3).items, two.recommend(users, k=3).items)


def test_both_routes_of_ease_solve_the_weighted_regression():
    data = weighted(users=300, items=12)  # all pairs share a user
    dense, local = (models.make("ease", {"l2": 7.0, "route": route}).fit(data).weights_ for route in ("dense", "local"))
    np.testing.assert_allclose(local.toarray(), dense, atol=1e-4)


@pytest.mark.parametrize("filter", ["factored", "elementwise"])
def test_both_solvers_of_corml_solve_the_weighted_problem(filter):
    data = weighted(users=300, items=80, mean=8)
    how = {"rank": 8, "filter": filter, "adapt": False, "ridge": 3.0, "max_steps": 5000}
    dense, sparse = (
        corml.CoRML(solver=solver, tol=tol, **how).fit(data) for solver, tol in (("admm", 1e-6), ("sparse", 1e-6))
    )
    assert sparse.fitted_.certificates[0].complete
    assert np.abs((dense.H_ - sparse.H_).toarray()).max() <= 1e-3 * dense.H_.data.max()


def test_a_workspace_of_weighted_data_serves_weighted_fits():
    data = weighted(users=300, items=80, mean=8)
    how = {"solver": "sparse", "rank": 8, "adapt": False}
    alone, work = corml.CoRML(**how).fit(data), corml.Workspace(data)
    shared = corml.CoRML(**how).fit(data, workspace=work)
    np.testing.assert_array_equal(shared.H_.toarray(), alone.H_.toarray())
    with pytest.raises(UsageError, match="made for other interactions"):
        corml.CoRML(**how).fit(replace(data, weights=None), workspace=work)


def test_the_filter_is_chosen_on_weighted_histories(monkeypatch):
    data, learned_from = weighted(users=300, items=80, mean=8), []
    plain = estimator.select_filter
    spy = lambda R, *given, **how: learned_from.append(R) or plain(R, *given, **how)  # noqa: E731
    monkeypatch.setattr(estimator, "select_filter", spy)
    corml.CoRML().fit(data)
    np.testing.assert_allclose(learned_from[0].toarray(), of_mean_square_one(data.weighted).toarray())


def test_evaluation_scores_weighted_histories():
    data = weighted(users=120, mean=10)
    split = corml.split(data, "ratio")
    model = models.make("ease", {"l2": 5.0}).fit(split.train)
    lists = model.recommend(history=split.train, k=25)
    own = corml.evaluate(model, split, ["ndcg@5"], part="valid")
    from corml.evaluation import evaluate_lists

    assert evaluate_lists(lists, split, ["ndcg@5"], part="valid")["ndcg@5"] == pytest.approx(own["ndcg@5"])


# --- data ------------------------------------------------------------------------------------------------------------


def test_weights_go_with_their_pairs_and_into_the_fingerprint(tmp_path):
    data = weighted()
    some = data.where(data.user < 9).compact()
    np.testing.assert_array_equal(some.weights, data.weights[data.user < 9])
    assert data.fingerprint != replace(data, weights=None).fingerprint
    split = corml.split(data, "ratio")
    split.save(tmp_path / "a.split")
    read = corml.read_split(tmp_path / "a.split")
    assert read.fingerprint == split.fingerprint
    np.testing.assert_array_equal(read.test.weights_by_row, split.test.weights_by_row)


def test_weights_of_repeated_pairs_add_up():
    data = Interactions.from_pairs(list("aab"), list("xxy"), weights=[1, 2, 5])
    assert data.weighted.toarray().tolist() == [[3, 0], [0, 5]]


@pytest.mark.parametrize("weights", [[1, 0], [1, -1], [1, np.nan], [1, np.inf]])
def test_weights_must_be_above_zero(weights):
    with pytest.raises(DataError, match="Weights must be finite numbers above 0"):
        Interactions.from_pairs(list("ab"), list("xy"), weights=weights)
    with pytest.raises(DataError, match="There must be one weight for each pair: got 1 weights for 2 pairs"):
        Interactions.from_pairs(list("ab"), list("xy"), weights=[1])


def test_a_file_with_odd_weights_is_refused(tmp_path):
    models.make("item-knn").fit(weighted()).save(tmp_path / "m.corml")
    forge(tmp_path / "m.corml", {"train.weights": np.negative})
    with pytest.raises(ModelFileError, match="weights of train are not one positive number for each pair"):
        corml.read_model(tmp_path / "m.corml")


# --- loading ---------------------------------------------------------------------------------------------------------

FUNNEL = """user,item,type,quantity,time
a,x,view,1,2024-01-01
a,x,buy,2,2024-01-31
a,y,view,1,2024-01-31
b,x,buy,1,2024-01-31
b,x,return,1,2024-02-01
b,y,cart,3,2024-03-01
c,z,return,1,2024-01-01
c,z,buy,1,2024-01-31
c,y,view,1,2024-01-31
"""


@pytest.fixture
def funnel(tmp_path):
    (tmp_path / "events.csv").write_text(FUNNEL)
    return tmp_path / "events.csv"


def strengths(data):
    values = np.ones(len(data)) if data.weights is None else data.weights
    names = zip(data.users.labels[data.user], data.items.labels[data.item], strict=True)
    return {
        f"{user}{item}": pytest.approx(float(value), rel=1e-6)
        for (user, item), value in zip(names, values, strict=True)
    }


def seen(data):
    known = data.seen
    return (
        set()
        if known is None
        else set(map("".join, zip(known.users.labels[known.user], known.items.labels[known.item], strict=True)))
    )


def test_the_note_on_weights_names_the_median_not_a_share_below_it(tmp_path):
    rows = ["a,x,view", "a,y,view", "b,x,view", *["b,y,view"] * 500]
    (tmp_path / "events.csv").write_text("\n".join(["user,item,event", *rows]))
    notes = corml.load(tmp_path / "events.csv", event="event", weights={"view": 1}).source["notes"]
    assert "weights of pairs: median 1, minimum 1, maximum 500 (repeated rows add up)" in notes


def test_events_have_the_weight_of_their_kind_and_the_last_negative_one_decides(funnel):
    kinds = {"view": 1, "cart": 3, "buy": 10}
    data = corml.load(funnel, event="type", weights=kinds, negative={"return"})
    assert strengths(data) == {"ax": 11, "ay": 1, "by": 3, "cz": 10, "cy": 1}
    assert seen(data) == {"bx"}
    notes = data.source["notes"]
    assert (
        "events: 1 pairs that weigh nothing or end with a negative event: not used for training, never recommended"
        in notes
    )
    assert "weights of pairs: median 3, minimum 1, maximum 11 (repeated rows add up)" in notes
    without = corml.load(funnel, event="type", weights=kinds, negative=["return"], time=False)
    assert "cz" not in strengths(without)


def test_a_kind_that_weighs_nothing_is_only_seen(funnel):
    data = corml.load(funnel, event="type", weights={"view": 0, "cart": 1, "buy": 1, "return": 0})
    assert strengths(data) == {"ax": 1, "bx": 1, "by": 1, "cz": 1}
    assert seen(data) == {"ay", "cy"}


def test_quantities_add_up_and_are_transformed(funnel):
    data = corml.load(funnel, weight="quantity", transform="log1p")
    assert strengths(data)["ax"] == np.log1p(3)
    assert strengths(data)["by"] == np.log1p(3)
    kinds = {"view": 1, "cart": 1, "buy": 2, "return": 0}
    both = corml.load(funnel, weight="quantity", event="type", weights=kinds, transform="sqrt")
    assert strengths(both)["ax"] == np.sqrt(5)


def test_old_rows_count_less(funnel):
    data = corml.load(funnel, half_life="30d", rating=False)  # the latest is of 1 March: 30 days after 31 January
    assert strengths(data) == {"ax": 0.5, "ay": 0.5, "bx": 2 ** (-29 / 30), "by": 1, "cz": 0.5, "cy": 0.5}
    added = corml.load(funnel, half_life="30d", weight="quantity")
    assert strengths(added)["ax"] == 2 * 0.5 + 0.25


FADED = polars.DataFrame(
    {"user": list("aabbcc"), "item": list("xyyzzx"), "time": [DAY * 365 * year for year in (14, 14, 18, 30, 31, 32)]}
)


@pytest.mark.parametrize("options", [{}, {"weight": "share", "transform": "log1p"}])
@pytest.mark.parametrize("half_life", ["14d", "1h"])
def test_a_short_half_life_loses_no_interaction(half_life, options):
    with pytest.warns(DataWarning, match=f"83% of the pairs weigh less than a millionth .* half-life '{half_life}'"):
        data = corml.load(FADED.with_columns(share=0.25), half_life=half_life, **options)
    assert data.fingerprint != corml.load(FADED).fingerprint
    assert (len(data), data.shape, data.seen) == (6, (3, 3), None)
    assert (data.weights > 0).all()
    assert (data.weighted.toarray() > 0).sum() == 6
    np.testing.assert_allclose(data.histories.toarray()[0], [1, 1, 0])  # all faded alike: as a recent history


@pytest.mark.parametrize("name", LEARN)
@pytest.mark.filterwarnings("ignore:.*a millionth of the strongest:corml.errors.DataWarning")
def test_a_history_that_has_faded_altogether_is_ranked(name):
    model = made(name).fit(corml.load(FADED, half_life="1h"))
    lists = model.recommend(["a", "b"], k=1)
    assert lists["a"] == ["z"]
    assert lists["b"] == ["x"]


def test_an_old_dislike_is_still_a_dislike_under_a_short_half_life():
    kinds = FADED.with_columns(type=polars.Series(["buy", "return", *["buy"] * 4]))
    with pytest.warns(DataWarning, match="half-life '14d'"):
        data = corml.load(kinds, event="type", weights={"buy": 2}, negative=["return"], half_life="14d")
    assert len(data.negative) == 1


def test_a_half_life_that_fits_the_data_is_no_reason_to_warn():
    data = corml.load(FADED, half_life="1000d")
    assert not any("millionth" in note for note in data.source["notes"])
    assert not any("millionth" in one.what for one in corml.data.examine(data).findings)


@pytest.mark.filterwarnings("ignore:.*a millionth of the strongest:corml.errors.DataWarning")
def test_the_data_quality_report_names_a_half_life_that_leaves_next_to_nothing():
    (faded,) = [
        one for one in corml.data.examine(FADED, half_life="14d").findings if "with the half-life '14d'" in one.what
    ]
    assert faded.severity == "warning"
    assert "longer half_life= (--half-life)" in faded.advice


def test_with_a_half_life_alone_the_latest_of_repeated_rows_counts():
    twice = polars.DataFrame(
        {"user": list("aabb"), "item": list("xxyx"), "time": [DAY * at for at in (80, 90, 95, 99)]}
    )
    data = corml.load(twice, half_life="30d")
    assert data.source["notes"][-2].endswith("maximum 1 (of repeated rows the latest counts)")
    advice = [one.advice for one in corml.data.examine(data).findings if one.what.endswith("a pair")]
    assert advice == ["nothing to do: the latest row of each pair counts"]
    exact = corml.data.examine(polars.concat([twice, twice]), half_life="30d").findings
    assert [one.severity for one in exact if "rows equal another" in one.what] == ["note"]


def test_negative_quantities_take_away(tmp_path):
    (tmp_path / "a.csv").write_text("user,item,quantity\na,x,3\na,x,-1\na,y,1\na,y,-1\nb,x,1\n")
    data = corml.load(tmp_path / "a.csv", weight="quantity")
    assert strengths(data) == {"ax": 2, "bx": 1}
    assert corml.load(tmp_path / "a.csv", weight="quantity", k_core=1).seen is None  # nobody has y any more


def test_a_column_called_weight_may_be_the_weight(tmp_path):
    (tmp_path / "a.csv").write_text("user,item,weight\na,x,3\nb,x,1\n")
    assert strengths(corml.load(tmp_path / "a.csv", weight="weight")) == {"ax": 3, "bx": 1}


@pytest.mark.parametrize(
    ("options", "kind", "sentence"),
    [
        (
            {"event": "type", "weights": {"view": 1}},
            DataError,
            "6 events of a type without a weight: 'buy', 'return', 'cart'",
        ),
        ({"weights": {"view": 1}}, UsageError, "weights and negative are about event types: name their column"),
        ({"negative": {"return"}}, UsageError, "weights and negative are about event types"),
        ({"transform": "log1p"}, UsageError, "transform is about weights"),
        (
            {"weight": "quantity", "transform": "log"},
            UsageError,
            "transform= .* must be one of none, log1p, sqrt; got 'log'",
        ),
        ({"half_life": "long"}, UsageError, "half_life must be a length of time such as '30d'"),
        ({"half_life": "3d", "time": False, "rating": False}, UsageError, "half_life needs the time of each row"),
        (
            {"event": "type", "weights": {"view": -1}},
            UsageError,
            "weights= .* must give each event type a number of 0 or",
        ),
        ({"weight": "type"}, DataError, "line 2: the weight 'view' is not a finite number"),
        ({"weight": "amount"}, DataError, "has no column 'amount' for weight"),
        (
            {"event": "type", "weights": dict.fromkeys(("view", "buy", "cart", "return"), 0)},
            DataError,
            "no pair to learn",
        ),
    ],
)
def test_what_cannot_be_meant_is_named(funnel, options, kind, sentence):
    with pytest.raises(kind, match=sentence):
        corml.load(funnel, **options)


def test_the_doctor_shows_what_the_weights_do(funnel):
    from corml.data import examine

    kinds = {"view": 1, "cart": 3, "buy": 10}
    report = examine(funnel, event="type", weights=kinds, negative={"return"})
    facts = dict(report.facts)
    assert facts["exclude-only pairs"] == 1
    assert facts["pairs of equal weight with the same information"] == round(26**2 / (11**2 + 1 + 9 + 100 + 1))
    assert 0.4 < facts["weight of the strongest 10 % of pairs"] < 0.45
    assert facts["weights"]
    (repeated,) = [finding for finding in report.findings if "repeat a pair" in finding.what]
    assert "their weights are added up" in repeated.advice
    assert "weights" not in dict(examine(funnel, rating=False).facts)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".inter", ".parquet", ".npz"])
@pytest.mark.parametrize("timed", [False, True])
def test_weights_are_written_and_read_again(suffix, timed, tmp_path):
    data = weighted()
    data = replace(data, times=np.arange(len(data)) + 0.5) if timed else data
    corml.data.write(data, tmp_path / f"a{suffix}")
    assert corml.load(tmp_path / f"a{suffix}", weight="weight").fingerprint == data.fingerprint


def test_frames_have_weight_and_kind(funnel):
    frame = corml.load(funnel, event="type", weights={"view": 1, "cart": 3, "buy": 10, "return": 0}).to_frame()
    assert frame.columns == ["user", "item", "time", "weight", "kind"]
    assert frame.filter(user="a", item="x").row(0)[3:] == (11.0, "buy")


def test_weights_of_repeated_pairs_add_up_at_the_place_of_the_first():
    data = corml.Interactions.from_pairs(list("zazbz"), list("yxyxx"), weights=[1, 5, 2, 7, 9])
    pairs = zip(data.users.labels[data.user], data.items.labels[data.item], data.weights.tolist(), strict=True)
    assert list(pairs) == [("z", "y", 3), ("a", "x", 5), ("b", "x", 7), ("z", "x", 9)]


def test_files_of_event_types_are_transformed_also_where_one_has_no_weight_column():
    bought = polars.DataFrame({"user": list("ab"), "item": list("xy")})
    played = polars.DataFrame({"user": list("ab"), "item": list("xz"), "hours": [7.0, 3.0]})
    kinds = {"purchase": 1, "play": 1}
    data = corml.load({"purchase": bought, "play": played}, weight="hours", weights=kinds, transform="log1p")
    pairs = zip(data.users.labels[data.user], data.items.labels[data.item], data.weights.tolist(), strict=True)
    expected = {("a", "x"): np.log1p(8), ("b", "y"): np.log1p(1), ("b", "z"): np.log1p(3)}
    assert {(user, item): pytest.approx(weight) for user, item, weight in pairs} == expected
    counted = corml.load({"purchase": bought, "play": bought}, weights={"purchase": 2, "play": 1}, transform="log1p")
    assert counted.weights.tolist() == pytest.approx([np.log1p(3)] * 2)
