"""Metrics of lists of recommendations.

    ranking.py           ndcg, mrr, recall, capped_recall, precision, hit_rate, map
    beyond_accuracy.py   novelty (the paper's), self_information, popularity, diversity, coverage, gini

Each file registers the functions in its `__all__`. A metric is a function of `Lists` and a length K that returns one
number per user, or a single one where it is about all lists together. The number of a user depends on that user's list
alone, because users are measured in blocks. The docstring says what it measures, then its formula, then which way is
better; `describe()` and the command line show it.
"""

from corml.evaluation.metrics._lists import Lists
from corml.evaluation.metrics._registry import Asked, Described, Metric, describe, direction, names, parse, parse_all

__all__ = ["Asked", "Described", "Lists", "Metric", "describe", "direction", "names", "parse", "parse_all"]
