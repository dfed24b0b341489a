"""H is symmetric to the last bit whatever a fit is asked for, so that every fitted model can be saved and read."""

from contextlib import ExitStack
from itertools import combinations, product

import numpy as np
import polars
import pytest
from scipy.sparse import csr_array

import corml
from corml.linalg.co_occurrence import strongest_pairs
from corml.linalg.pairs import Support
from corml.linalg.sparse import is_symmetric
from corml.models.corml.estimator import Dial
from corml.models.corml.problem import UserWeights
from corml.models.corml.sparse import reuse as reorder
from corml.models.corml.sparse.pairs import on_support
from corml.outofcore.fit import files as cuts

DAY = 86_400
SOLVERS = {
    "dense": {"solver": "admm"},
    "dense blocks, pruned": {"solver": "admm", "partition_ratio": 0.6, "budget": 3},
    "pairs": {"solver": "sparse"},
    "pairs, pruned": {"solver": "sparse", "budget": 3},
    "column generation": {"solver": "sparse", "candidates": 9, "pair_tol": 1e-4},
    "ranking weights": {"solver": "sparse", "user_norm": 0.5, "candidates": 20},
    "clipped filter": {"solver": "sparse", "filter": "elementwise"},
}
CHOICES = (
    tuple(SOLVERS),
    (None, "events", "quantities"),
    (None, "negative"),
    (None, "half-life"),
    ("adapt", None),
    (None, "dial"),
    ("memory", "store", "dask"),
    (None, "refit", "warm start"),
)


def goes_together(solver, weights, negative, half_life, adapt, dial, where, then):
    """Whether a fit can be asked for all of this: a store has no event types and no ages; Dask has one solver here."""
    if where == "memory":
        return True
    on_store = solver in ("pairs", "pairs, pruned", "column generation", "ranking weights")
    asked = negative or half_life or dial or weights == "events"
    return on_store and not asked and (where == "store" or solver == "column generation")


def pairs_of(case):
    return set(combinations(enumerate(case), 2))


def covering():
    """Few cases in which every two choices that can go together do: each one has most of what is still missing."""
    possible = [case for case in product(*CHOICES) if goes_together(*case)]
    missing, cases = set().union(*map(pairs_of, possible)), []
    rng = np.random.default_rng(0)
    while missing:
        some = [possible[at] for at in rng.choice(len(possible), 300, replace=False)]
        cases.append(max(some, key=lambda case: len(pairs_of(case) & missing)))
        missing -= pairs_of(cases[-1])
    return cases


def name(case):
    return "-".join(part for part in case if part)


def marks(case):
    """Workers and stores take seconds each: the normal run has the plainest of them."""
    *_, where, then = case
    return pytest.mark.slow if where == "dask" or (where == "store" and then) else ()


def events(seed=0, users=260, items=70):
    """Rows of what users did, how many times, and when."""
    rng, rows = np.random.default_rng(seed), []
    popular = rng.permutation(1 / np.arange(1, items + 1) ** 0.7)
    for user in range(users):
        for item in rng.choice(items, 4 + rng.poisson(5), replace=False, p=popular / popular.sum()):
            event = rng.choice(["view", "cart", "purchase", "return"], p=[0.6, 0.2, 0.15, 0.05])
            quantity, day = float(rng.lognormal()), int(rng.integers(0, 90))
            rows.append((f"u{user}", f"i{item}", event, quantity, 1.7e9 + DAY * day))
    return polars.DataFrame(rows, schema=["user", "item", "event", "quantity", "time"], orient="row")


def options(weights, negative, half_life):
    """Options of loading."""
    chosen = {"event": "event"} if weights == "events" or negative else {}
    chosen |= {"weight": "quantity"} if weights == "quantities" else {}
    if weights == "events":
        chosen["weights"] = {"view": 1, "cart": 3, "purchase": 10, "return": 2}
    chosen |= {"negative": {"return"}} if negative else {}
    return chosen | ({"half_life": "20d"} if half_life else {})


def matrices(model):
    return [array for name, array in model.fitted_.arrays.items() if name.startswith("H")]


def check(model, path):
    """H is its own transpose, and the file holds the same lists."""
    for H in matrices(model):
        assert H.nnz
        assert (H != csr_array(H.T)).nnz == 0
    model.save(path)
    users = model.users_.labels.tolist()
    before, after = (one.recommend(users, k=8) for one in (model, corml.read_model(path)))
    np.testing.assert_array_equal(before.items, after.items)
    np.testing.assert_array_equal(before.scores, after.scores)


@pytest.fixture
def _small(monkeypatch):
    monkeypatch.setattr(reorder, "FEW", 0)  # so that items are put in another order here as well
    for name, size in (("PAIRS", 600), ("VISITS", 8000), ("GATHERS", 60_000)):
        monkeypatch.setattr(cuts, name, size)


@pytest.mark.usefixtures("_small")
@pytest.mark.filterwarnings("ignore")  # Dask warns of ports and forks as it closes
@pytest.mark.parametrize("case", [pytest.param(case, id=name(case), marks=marks(case)) for case in covering()])
def test_every_fit_can_be_saved_and_read(case, tmp_path):
    solver, weights, negative, half_life, adapt, dial, where, then = case
    given, chosen = options(weights, negative, half_life), {**SOLVERS[solver], "adapt": bool(adapt), "rank": 8}
    frame = events()
    with ExitStack() as stack:
        how = {}
        if where == "dask":
            pytest.importorskip("distributed")
            from corml.outofcore.tasks.cluster import local_workers

            how["cluster"] = stack.enter_context(local_workers(1))
        model = Dial(item_norms=(-0.1, 0.1), of=chosen) if dial else corml.CoRML(**chosen)
        if where == "memory":
            model.fit(corml.load(frame, **given))
        else:
            frame.write_parquet(tmp_path / "events.parquet")
            store = corml.build_store(tmp_path / "events.parquet", tmp_path / "events.store", memory="1MB", **given)
            corml.fit_store(model, store, **how)
    check(model, tmp_path / "first.corml")
    grown = corml.load(events(seed=1, users=40), **given)
    if then == "refit":
        check(model.update(grown, refit=True), tmp_path / "second.corml")
    if then == "warm start":
        check(corml.CoRML(**chosen).fit(grown, warm_start=model.at(0.5) if dial else model), tmp_path / "second.corml")


@pytest.mark.parametrize("solver", ["admm", "sparse"])
def test_a_model_with_new_items_can_be_saved_and_read(solver, tmp_path):
    items = [f"i{item}" for item in range(80)]
    table = polars.DataFrame({"item": items, "genre": [["a", "b", "c"][at % 3] for at in range(80)]})
    data = corml.load(events(), weight="quantity")
    model = corml.CoRML(solver=solver, rank=8, adapt=False).fit(data).with_new_items(table, lift=1.3)
    assert len(model.new_items_)
    check(model, tmp_path / "wide.corml")


def real_matrix(seed=3, users=150, items=60):
    rng = np.random.default_rng(seed)
    R = rng.lognormal(size=(users, items)).astype(np.float32) * (rng.random((users, items)) < 0.2)
    return csr_array(R)


def test_weighted_co_occurrence_is_symmetric_to_the_last_bit():
    R = real_matrix()
    by_user = np.random.default_rng(0).random(R.shape[0])
    gram, complete = strongest_pairs(R, by_user, np.ones(R.shape[1], np.float32), None)
    assert complete
    assert is_symmetric(gram)
    users = UserWeights(by_user, np.sqrt(by_user))
    again = on_support(R, users, Support.of(gram))
    for values in (again.gram, again.weighted):
        assert is_symmetric(again.support.matrix(values))


def test_mirrored_values_are_those_above_the_diagonal():
    gram, _ = strongest_pairs(real_matrix(), np.ones(150), np.ones(60, np.float32), None)
    support, values = Support.of(gram), np.random.default_rng(1).random(gram.nnz).astype(np.float32)
    before = support.matrix(values.copy()).toarray()
    support.mirror(values)
    after = support.matrix(values).toarray()
    np.testing.assert_array_equal(np.triu(after), np.triu(before))
    np.testing.assert_array_equal(after, after.T)
