"""What lists of recommendations are worth; one function per file, and the file is the registration.

    accuracy     ndcg, mrr, recall, capped_recall, precision, hit_rate, map
    rarity       novelty (the paper's), self_information, popularity
    variety      diversity
    catalogue    coverage, gini

A metric is a function of `Lists` and a length K that gives one number per user, or a single one where it is about all
lists together. The number of a user comes from that user's list alone: users are measured some at a time. Its docstring
says in words what it measures, then its formula, then which way is better: that is what `describe()` gives and the
command line prints.
"""

from corml.evaluation.metrics._catalogue import Asked, Described, Metric, describe, direction, names, parse, parse_all
from corml.evaluation.metrics._lists import Lists

__all__ = ["Asked", "Described", "Lists", "Metric", "describe", "direction", "names", "parse", "parse_all"]
