"""EXPERIMENTS: comparisons of models, searches for hyperparameters, and the paper's experiments.

candidates   what is compared: models, and recommendation lists of other programs
plan         what is decided beforehand: metrics, seeds, budget, and which runs that needs
run          compare: make the runs that are not finished, and put the study together
record       one run on file
store        where finished runs are kept, for comparisons, searches and the paper's experiments alike
analysis     from runs to means, intervals and paired tests
study, tables, grid   the outcome, and how it is shown
tuning/      searches for hyperparameters
reproduce/   the paper's table and figures
"""

from corml.experiments.run import compare, read_study
from corml.experiments.study import ModelResult, Study

__all__ = ["ModelResult", "Study", "compare", "read_study"]
