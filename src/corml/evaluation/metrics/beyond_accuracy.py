"""Beyond accuracy: how rare, how varied and how evenly spread the recommended items are."""

import math

import numpy as np

from corml.evaluation.metrics._lists import Lists, Values, Whole

__all__ = ["coverage", "diversity", "gini", "novelty", "popularity", "self_information"]

PAIRS_AT_ONCE = 1 << 22


def novelty(lists: Lists, k: int) -> Values:
    """How rare the recommended items are: 0 if all training users have them, 1 if one does.

    Formula: mean over the list of −log₂(d_i / |U|) / log₂|U|,  d_i = training users of item i (at least 1)
    Better: higher, 0 to 1

    Others call this surprisal. A list shorter than K is averaged over the items it has; an empty one has 0.
    """
    scale = math.log2(lists.n_users) if lists.n_users > 1 else 1.0  # with one user nothing is rare: 0, not 0/0
    return lists.average(lists.rarity() / scale, k)


def self_information(lists: Lists, k: int) -> Values:
    """How rare the recommended items are, in bits: one more for each halving of their users.

    Formula: mean over the list of −log₂(d_i / |U|),  d_i = training users of item i (at least 1)
    Better: higher, 0 to log₂|U|

    Also called mean inverse user frequency (MIUF). A list shorter than K is averaged over the items it has; an empty
    one has 0.
    """
    return lists.average(lists.rarity(), k)


def popularity(lists: Lists, k: int) -> Values:
    """Share of training users who interacted with a recommended item, on average.

    Formula: mean over the list of d_i / |U|,  d_i = training users of item i
    Better: lower, 0 to 1

    A share, not a count, so that data sets can be compared. A list shorter than K is averaged over the items it has;
    an empty one has 0.
    """
    return lists.average(lists.degrees / max(lists.n_users, 1), k)


def diversity(lists: Lists, k: int) -> Values:
    """How different the items of a list are: 1 if no two have a training user in common, 0 if all have the same.

    Formula: mean over pairs i < j of the list of 1 − |U_i ∩ U_j| / √(|U_i| |U_j|),  U_i = training users of item i
    Better: higher, 0 to 1

    Also called intra-list diversity (ILD), by the cosine of the items' users: the same distance for every model. A
    list of fewer than two items has 0.
    """
    shown = lists.items[:, :k]
    at_once = max(1, PAIRS_AT_ONCE // max(k * (k - 1) // 2, 1))
    parts = [_mean_distance(lists, shown[at : at + at_once]) for at in range(0, len(shown), at_once)]
    return np.concatenate([np.zeros(0), *parts])


def _mean_distance(lists: Lists, shown: Whole) -> Values:
    """Mean distance of the pairs of each list; 0 where there is none."""
    one, other = np.triu_indices(shown.shape[1], 1)
    row, at = np.nonzero(shown[:, other] >= 0)  # a list is never short before an item
    left, right = shown[row, one[at]], shown[row, other[at]]
    code = np.minimum(left, right).astype(np.int64) * lists.n_items + np.maximum(left, right)
    pairs, back = np.unique(code, return_inverse=True)  # the same pairs are in many lists
    close = lists.closeness.between(pairs // max(lists.n_items, 1), pairs % max(lists.n_items, 1))
    count = np.bincount(row, minlength=len(shown))
    total = np.bincount(row, weights=1 - close[back], minlength=len(shown))
    return np.asarray(np.clip(total / np.maximum(count, 1), 0, 1), dtype=np.float64)


def coverage(lists: Lists, k: int) -> float:
    """Share of the catalogue that is in at least one list.

    Formula: |{i : i in anyone's first K}| / items
    Better: higher, 0 to 1

    About all lists together: it grows with their number, so compare it over the same users only.
    """
    return float(np.count_nonzero(lists.counts(k)) / max(lists.n_items, 1))


def gini(lists: Lists, k: int) -> float:
    """How unevenly positions in the lists are shared out: 0 if all items get as many, near 1 if few get all.

    Formula: Σ_j (2j − n − 1) c_j / (n Σ_j c_j),  c_1 ≤ … ≤ c_n = lists with each of the n items of the catalogue
    Better: lower, 0 to 1

    About all lists together; items in no list count with c = 0.
    """
    counts = np.sort(lists.counts(k)).astype(np.float64)
    n, shown = len(counts), counts.sum()
    if shown == 0:
        return 0.0
    return float(((2 * np.arange(1, n + 1) - n - 1) * counts).sum() / (n * shown))
