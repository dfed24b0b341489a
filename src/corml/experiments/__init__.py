"""EXPERIMENTS: several models on the same split, with the same masks and the same budget, and who is better.

contestants  who takes part: models, and anyone's lists
design       what is decided beforehand: metrics, the primary one, seeds, budget
plan         rows and cells, each with a key that says what decides its numbers
run_cell     one fit and its evaluation
store        finished cells, in memory or in a folder
analysis     from cells to means, intervals and paired tests
study        the outcome
"""

from corml.experiments.run import compare, read_study
from corml.experiments.study import Entry, Study

__all__ = ["Entry", "Study", "compare", "read_study"]
