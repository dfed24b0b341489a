"""EVALUATE: one ranking per user, every metric at every length, and how sure the averages are."""

from corml.evaluation.result import Result
from corml.evaluation.run import evaluate, evaluate_lists
from corml.evaluation.significance import Comparison

__all__ = ["Comparison", "Result", "evaluate", "evaluate_lists"]
