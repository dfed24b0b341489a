"""EVALUATE: one ranking per user, every metric at every list length, and confidence intervals of the means."""

from corml.evaluation.frontier import Frontier, frontier
from corml.evaluation.result import Result
from corml.evaluation.run import evaluate, evaluate_lists
from corml.evaluation.significance import Comparison

__all__ = ["Comparison", "Frontier", "Result", "evaluate", "evaluate_lists", "frontier"]
