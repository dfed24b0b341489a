"""Self-information: novelty in bits."""

from corml.evaluation.metrics._lists import Lists, Values

__all__ = ["self_information"]


def self_information(lists: Lists, k: int) -> Values:
    """How rare the recommended items are, in bits: one more for each halving of their users.

    Formula: mean over the list of −log₂(d_i / |U|),  d_i = training users of item i (at least 1)
    Better: higher, 0 to log₂|U|

    Also called mean inverse user frequency (MIUF). A list shorter than K is averaged over the items it has; an empty
    one has 0.
    """
    return lists.average(lists.rarity(), k)
