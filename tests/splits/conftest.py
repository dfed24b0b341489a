from collections.abc import Callable

import numpy as np
import pytest

from corml.data.interactions import Interactions
from corml.splits import Split

Pairs = set[tuple[str, str]]


def labels(part: Interactions) -> Pairs:
    return set(zip(part.users.labels[part.user], part.items.labels[part.item], strict=True))


@pytest.fixture(scope="session")
def pairs() -> Callable[[Interactions], Pairs]:
    """The (user, item) labels of a part."""
    return labels


@pytest.fixture(scope="session")
def contents() -> Callable[[Split], dict[str, Pairs]]:
    """The (user, item) labels of every part of a split."""
    return lambda split: {name: labels(part) for name, part in split.parts().items()}


@pytest.fixture(scope="session")
def sample() -> Interactions:
    """Forty users with 1 to 20 of 30 items, with times that never tie."""
    rng = np.random.default_rng(7)
    rows = [
        (f"u{user}", f"i{item}") for user in range(40) for item in rng.choice(30, size=1 + user % 20, replace=False)
    ]
    users, items = zip(*rows, strict=True)
    titles = {"i1": "A title, with «quotes» and\nmore"}
    return Interactions.from_pairs(users, items, times=rng.permutation(len(rows)), titles=titles, source={"file": "x"})
