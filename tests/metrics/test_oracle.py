"""The same numbers as trec_eval, through ir-measures, user by user."""

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

TWINS = {
    "ndcg": ir_measures.nDCG,
    "mrr": ir_measures.RR,
    "recall": ir_measures.R,
    "precision": ir_measures.P,
    "hit_rate": ir_measures.Success,
}


def oracle(measure, lists, targets):
    """Value of each user; trec_eval leaves out users without a list, who have 0."""
    qrels = [ir_measures.Qrel(str(u), str(i), 1) for u, held_out in enumerate(targets) for i in held_out]
    run = [
        ir_measures.ScoredDoc(str(user), str(item), float(-rank))
        for user, row in enumerate(lists.items)
        for rank, item in enumerate(row[row >= 0])
    ]
    values = np.zeros(len(targets))
    for measured in ir_measures.iter_calc([measure], qrels, run) if run else ():
        values[int(measured.query_id)] = measured.value
    return values


@pytest.mark.parametrize("name", TWINS)
@given(seed=st.integers(0, 2**32), k=st.integers(1, 25), short=st.booleans())
def test_agrees_with_trec_eval_for_every_user(random_lists, value, name, seed, k, short):
    lists, targets = random_lists(seed, users=6, short=short)
    np.testing.assert_allclose(value(f"{name}@{k}", lists), oracle(TWINS[name] @ k, lists, targets), rtol=0, atol=1e-9)


@given(seed=st.integers(0, 2**32), k=st.integers(1, 25), short=st.booleans())
def test_map_is_trec_evals_but_for_the_divisor_it_documents(random_lists, value, seed, k, short):
    lists, targets = random_lists(seed, users=6, short=short)
    ours = value(f"map@{k}", lists) * np.minimum(k, lists.relevant) / lists.relevant
    np.testing.assert_allclose(ours, oracle(ir_measures.AP @ k, lists, targets), rtol=0, atol=1e-9)


def test_agrees_with_trec_eval_on_more_users(random_lists, value):
    lists, targets = random_lists(7, users=300, items=500, longest=50, most_relevant=200)
    for name, twin in TWINS.items():
        for k in (1, 10, 50):
            np.testing.assert_allclose(value(f"{name}@{k}", lists), oracle(twin @ k, lists, targets), rtol=0, atol=1e-9)
