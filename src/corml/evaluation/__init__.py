"""EVALUATE: one ranking per user, every metric at every length, and how sure the averages are."""

from corml.evaluation.result import Result
from corml.evaluation.run import evaluate, evaluate_lists

__all__ = ["Result", "evaluate", "evaluate_lists"]
