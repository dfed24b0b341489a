"""Popularity: how well known the recommended items are."""

from corml.evaluation.metrics._lists import Lists, Values

__all__ = ["popularity"]


def popularity(lists: Lists, k: int) -> Values:
    """Share of training users who interacted with a recommended item, on average.

    Formula: mean over the list of d_i / |U|,  d_i = training users of item i
    Better: lower, 0 to 1

    A share, not a count, so that data sets can be compared. A list shorter than K is averaged over the items it has;
    an empty one has 0.
    """
    return lists.average(lists.degrees / max(lists.n_users, 1), k)
