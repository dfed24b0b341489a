"""Our CoRML with the authors' settings against recorded outputs of the authors' program (tests/golden/README.md)."""

import functools
import json
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

import corml
from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.linalg.sparse import column_degrees
from corml.models.corml.dense import dense_problem, partition, solve
from corml.models.corml.problem import Weights
from support import with_arrays

HERE = Path(__file__).parents[1] / "golden"
RUNS = ("defaults", "converging", "partitioned-novel")


@pytest.fixture(scope="module")
def split():
    """The recorded split, with users and items numbered as the program numbered them."""
    with np.load(HERE / "split.npz") as recorded:
        users, items = Ids(recorded["user_id"].astype(str), kind="user"), Ids(recorded["item_id"].astype(str))
        user, item, part = recorded["user"].astype(np.int32), recorded["item"].astype(np.int32), recorded["split"]
    parts = [Interactions(users, items, user[part == n], item[part == n]) for n in range(3)]
    return corml.Split(train=parts[0], valid=parts[1], test=parts[2])


def authors_rule(H, users, *, prune=True):
    """What the program keeps: nothing below 5e-4, then by a threshold that grows until H fits.

    It may have 64 numbers for each user and item, with one padding row for each.
    """
    H = only(H, H.data >= 5e-4)
    most, threshold = 64 * (users + 1 + H.shape[0] + 1), 1e-4
    while prune and H.nnz + H.shape[0] + 2 >= most:
        H = only(H, H.data >= threshold)
        threshold *= 1.25
    return H


def only(H, kept):
    pruned = H.copy()
    pruned.data[~kept] = 0
    pruned.eliminate_zeros()
    return pruned


def settings(params):
    return {
        "mix": params["lambda"],
        "item_norm": params["item_degree_norm"],
        "scale": 10 ** params["global_scaling"],
        "user_norm": params["user_scaling"],
        "l2": params["l2_regularization"],
        "ridge": 0.0,
    }


@pytest.fixture(scope="module")
def recorded():
    """The reduced recordings and their settings."""
    runs = {}
    for name in RUNS:
        with np.load(HERE / f"{name}.npz") as arrays:
            runs[name] = dict(arrays) | {"params": json.loads(str(arrays["params"]))}
    return runs


@pytest.fixture(scope="module")
def fitted(recorded, split):
    """Our model with the settings of a run and our own V, before pruning; each is fitted when it is first needed."""
    return functools.cache(lambda name: fit(recorded[name]["params"], split))


def fit(params, split):
    return corml.CoRML.paper(
        **settings(params),
        rank=params["eigenvectors"],
        filter="authors",
        rho=params["dual_step_length"],
        max_steps=50,
        tol=0,
        partition_ratio=params["partition_ratio"],
    ).fit(split.train)


def solved_with(V, params, split):
    """H of the program's problem with a given V."""
    R = split.train.matrix
    problem = dense_problem(R, column_degrees(R), V, Weights(**settings(params)), dtype=np.float32)
    return solve(problem, rho=params["dual_step_length"], max_steps=50, tol=0).H


def scored_with(V, H, params, split, users):
    """Scores of a fitted model whose arrays are given."""
    model = corml.CoRML.paper(**settings(params), rank=2, filter="authors", max_steps=1, tol=0).fit(split.train)
    model = with_arrays(model, V=V, H=H)
    return model.score_block(split.train.matrix[users], slice(0, len(model.items_)))


def unpacked(golden, n):
    return np.unpackbits(golden["pattern"])[: n * n].reshape(n, n).astype(bool)


def test_given_the_programs_v_h_pattern_and_scores_are_the_programs(recorded, split):
    golden = recorded["converging"]
    H = solved_with(golden["V"], golden["params"], split)
    assert np.abs(H[golden["row"], golden["column"]] - golden["value"]).max() <= 2e-5

    pruned = authors_rule(csr_array(H), split.train.shape[0])
    theirs = unpacked(golden, len(H))
    disputed = np.triu(pruned.toarray() > 0) != theirs
    assert theirs.sum() > 50_000
    assert np.abs(H[disputed] - H[theirs].min()).max(initial=0) <= 1e-6

    scores = scored_with(golden["V"], pruned, golden["params"], split, golden["score_users"])
    assert np.abs(scores - golden["scores"]).max() <= 2e-3 * np.abs(golden["scores"]).max()


def test_with_our_own_v_the_programs_defaults_give_its_h_pattern_and_scores(recorded, fitted, split):
    """Here both decompositions have converged, so no V needs to be lent."""
    golden, model = recorded["defaults"], fitted("defaults")
    H = model.H_.toarray()
    assert np.abs(H[golden["row"], golden["column"]] - golden["value"]).max() <= 2e-5

    pruned = authors_rule(model.H_, split.train.shape[0])
    theirs = unpacked(golden, len(H))
    disputed = np.triu(pruned.toarray() > 0) != theirs
    assert np.abs(H[disputed] - H[theirs].min()).max(initial=0) <= 1e-6

    scores = scored_with(model.V_, pruned, golden["params"], split, golden["score_users"])
    assert np.abs(scores - golden["scores"]).max() <= 2e-3 * np.abs(golden["scores"]).max()


@pytest.mark.parametrize("name", ["defaults", pytest.param("converging", marks=pytest.mark.slow), "partitioned-novel"])
def test_with_our_own_v_the_metrics_are_the_programs(name, recorded, fitted, split):
    golden, model = recorded[name], fitted(name)
    pruned = authors_rule(model.H_, split.train.shape[0], prune=golden["params"]["sparse_approx"])
    theirs = json.loads(str(golden["test"]))
    ours = corml.evaluate(with_arrays(model, H=pruned), split, metrics=list(theirs), intervals=False)
    assert {metric: ours[metric] for metric in theirs} == pytest.approx(theirs, abs=5e-4)


def test_the_blocks_are_the_programs(recorded, split):
    golden = recorded["partitioned-novel"]
    blocks = partition(split.train.matrix, golden["params"]["partition_ratio"])
    assert sorted(map(len, blocks)) == [393, 434, 446, 805]
    for block in blocks:  # an item without any weight is a block of its own in the recording
        _, counts = np.unique(golden["block"][block], return_counts=True)
        assert (counts > 1).sum() == 1


@pytest.mark.skipif(not os.environ.get("CORML_GOLDEN"), reason="needs the whole recordings: point CORML_GOLDEN at them")
@pytest.mark.parametrize("name", RUNS[:2])
def test_given_the_programs_v_its_whole_h_and_all_scores_follow(name, split):
    with np.load(Path(os.environ["CORML_GOLDEN"]) / f"{name}.npz") as arrays:
        golden = dict(arrays)
    params = json.loads(str(golden["params"]))
    ours = solved_with(golden["V"], params, split)
    theirs = csr_array((golden["H_data"], golden["H_indices"], golden["H_indptr"]), shape=ours.shape).toarray()
    assert np.abs(ours - theirs)[theirs > 0].max() <= 2e-5

    pruned = authors_rule(csr_array(ours), split.train.shape[0])
    disputed = (pruned.toarray() > 0) != (theirs > 0)
    assert np.abs(ours[disputed] - theirs[theirs > 0].min()).max(initial=0) <= 1e-6

    scores = scored_with(golden["V"], pruned, params, split, golden["score_users"])
    assert np.abs(scores - golden["scores"]).max() <= 2e-3 * np.abs(golden["scores"]).max()
