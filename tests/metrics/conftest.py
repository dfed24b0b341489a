import numpy as np
import pytest
from scipy.sparse import csr_array

from corml.evaluation.metrics import Lists, parse


def ranked_lists(seed, users=30, items=40, longest=20, short=False, most_relevant=25):
    """Random lists without repeats, random targets (at least one each) and skewed item degrees."""
    rng = np.random.default_rng(seed)
    ranked = np.stack([rng.permutation(items)[:longest] for _ in range(users)])
    if short:
        lengths = rng.integers(0, longest + 1, size=users)
        ranked[np.arange(longest) >= lengths[:, None]] = -1
    targets = [rng.choice(items, size=rng.integers(1, most_relevant + 1), replace=False) for _ in range(users)]
    hits = np.stack([np.isin(row, held_out) for row, held_out in zip(ranked, targets, strict=True)])
    degrees = np.minimum(rng.geometric(0.2, size=items) - 1, users)
    train = np.stack([rng.permutation(users) < degree for degree in degrees], axis=1)
    return Lists(ranked, hits, np.array([len(t) for t in targets]), degrees, users, csr_array(train)), targets


@pytest.fixture(scope="session")
def random_lists():
    return ranked_lists


@pytest.fixture(scope="session")
def value():
    return lambda text, lists: parse(text)(lists)


@pytest.fixture(scope="session")
def by_hand():
    """Three users, four items (a b c d = 0 1 2 3), lists of three.

    user 0 is given a b c, targets b and c; user 1 is given d and a only, target d; user 2 is given b c d, target a.
    Four training users: all have a, two b, one of these c, none d.
    """
    return Lists(
        items=np.array([[0, 1, 2], [3, 0, -1], [1, 2, 3]]),
        hits=np.array([[False, True, True], [True, False, False], [False, False, False]]),
        relevant=np.array([2, 1, 1]),
        degrees=np.array([4, 2, 1, 0]),
        n_users=4,
        train=csr_array([[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]),
    )
