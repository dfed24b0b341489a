"""Hit rate: whether there was anything right in the list."""

from corml.evaluation.metrics._lists import Lists, Values

__all__ = ["hit_rate"]


def hit_rate(lists: Lists, k: int) -> Values:
    """Share of users who find at least one of their items in the list.

    Formula: 1 if Σ_{r ≤ K} hit_r > 0,  else 0
    Better: higher, 0 to 1
    """
    return lists.hits[:, :k].any(axis=1).astype("float64")
