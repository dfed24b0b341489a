"""The authors' split, against what their program recorded.

`tests/golden/split.npz` was recorded from the authors' program (RecBole, seed 2026) on MovieLens ratings of 4 or more,
thinned until every user and item has five: `user`, `item` (rows of `user_id`, `item_id`) in the order of ratings.csv,
and `split` (0 train, 1 valid, 2 test).
"""

import collections
import csv
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from corml.data.interactions import Interactions
from corml.errors import DataError
from corml.splits import authors as module
from corml.splits import split
from corml.splits.authors import _counts, torch_permutation

GOLDEN = Path(__file__).parents[1] / "golden" / "split.npz"


@pytest.fixture(scope="module")
def golden():
    with np.load(GOLDEN) as arrays:
        return dict(arrays)


@pytest.fixture
def folder():
    if not os.environ.get("CORML_DATA"):
        pytest.skip("needs the large data sets: set CORML_DATA to their folder")
    return Path(os.environ["CORML_DATA"])


def part_numbers(data, parts):
    """0, 1 or 2 for every row of the data, and proof that each row is somewhere once."""
    numbers = np.full(data.shape, -1, dtype=np.int8)
    for number, part in enumerate((parts.train, parts.valid, parts.test)):
        assert (numbers[part.user, part.item] == -1).all()
        numbers[part.user, part.item] = number
    return numbers[data.user, data.item]


def test_the_recorded_split_is_made_pair_for_pair(golden):
    users, items = golden["user_id"].astype(str)[golden["user"]], golden["item_id"].astype(str)[golden["item"]]
    data = Interactions.from_pairs(users, items)
    assert data.shape == (659, 2078)
    assert np.array_equal(part_numbers(data, split(data, "authors")), golden["split"])


def test_another_published_seed_is_another_split(golden):
    data = Interactions.from_pairs(golden["user"], golden["item"])
    assert (part_numbers(data, split(data, "authors", seed=2022)) != golden["split"]).any()


def test_the_permutation_is_torchs():
    # recorded from torch 2.13.0: torch.manual_seed(seed); torch.randperm(10)
    assert torch_permutation(10, 2026).tolist() == [5, 1, 4, 8, 7, 2, 0, 3, 6, 9]
    assert torch_permutation(10, 0).tolist() == [4, 1, 7, 5, 3, 9, 0, 8, 6, 2]
    assert torch_permutation(0, 1).tolist() == []
    assert torch_permutation(1, 1).tolist() == [0]


@pytest.mark.parametrize("count", [2, 3, 17, 1000])
def test_a_permutation_has_everything_once(count):
    assert sorted(torch_permutation(count, 5).tolist()) == list(range(count))


@pytest.mark.parametrize(
    ("total", "counts"),
    [(0, (0, 0, 0)), (1, (1, 0, 0)), (2, (1, 0, 1)), (3, (1, 1, 1)), (4, (2, 1, 1)), (5, (3, 1, 1)), (9, (7, 1, 1))],
)
def test_small_users_give_test_then_valid_a_pair_while_train_keeps_one(total, counts):
    assert _counts(total, (0.6, 0.2, 0.2)) == counts


def test_the_order_of_rows_is_part_of_the_record(golden):
    data = Interactions.from_pairs(golden["user"], golden["item"])
    reversed_rows = Interactions.from_pairs(golden["user"][::-1], golden["item"][::-1])
    parts = split(data, "authors")
    parts.verify(data)
    assert data.fingerprint == reversed_rows.fingerprint
    with pytest.raises(DataError, match="depends on the order of rows"):
        parts.verify(reversed_rows)


def test_more_rows_than_32_bit_numbers_serve_are_refused(sample, monkeypatch):
    monkeypatch.setattr(module, "MAX_ROWS", len(sample))
    with pytest.raises(DataError, match="use 'ratio'"):
        split(sample, "authors")


@pytest.mark.large
@pytest.mark.parametrize("name", ["gowalla", "yelp2018", "pinterest"])
def test_the_published_data_are_split_as_published(name, folder):
    with zipfile.ZipFile(folder / f"{name}.zip") as archive:
        (inside,) = (entry for entry in archive.namelist() if entry.endswith(".inter"))
        words = archive.read(inside).decode().split()[2:]
    data = Interactions.from_pairs(words[0::2], words[1::2])
    with np.load(folder / "splits" / f"{name}-seed2026.npz") as recorded:
        user, item, numbers = recorded["user"], recorded["item"], recorded["split"]
    assert user.astype(str).tolist() == words[0::2]
    assert item.astype(str).tolist() == words[1::2]
    parts = split(data, "authors")
    assert np.array_equal(_sorted_numbers(data, parts), numbers)


def _sorted_numbers(data, parts):
    """Part of each row without a dense users × items table."""
    keys = [part.user.astype(np.int64) * len(data.items) + part.item for part in (parts.train, parts.valid, parts.test)]
    numbers = np.repeat([0, 1, 2], [len(key) for key in keys])
    joined = np.concatenate(keys)
    order = np.argsort(joined)
    cells = data.user.astype(np.int64) * len(data.items) + data.item
    at = np.searchsorted(joined[order], cells)
    assert np.array_equal(joined[order][at], cells)
    return numbers[order][at]


@pytest.mark.large
def test_the_golden_rows_are_the_thinned_movielens_ratings(folder, golden):
    with (folder / "movielens-small" / "ratings.csv").open(newline="") as lines:
        rows = [(row["userId"], row["movieId"]) for row in csv.DictReader(lines) if float(row["rating"]) >= 4]
    while rows != (thinned := _thinned(rows)):
        rows = thinned
    users, items = golden["user_id"].astype(str)[golden["user"]], golden["item_id"].astype(str)[golden["item"]]
    assert rows == list(zip(users.tolist(), items.tolist(), strict=True))


def _thinned(rows):
    users, items = (collections.Counter(column) for column in zip(*rows, strict=True))
    return [(user, item) for user, item in rows if users[user] >= 5 and items[item] >= 5]
