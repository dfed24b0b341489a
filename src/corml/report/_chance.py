"""Whether the lead of the best model could be chance: paired tests over the same users."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from corml.evaluation.significance import holm, paired_t_test
from corml.report._results import paired
from corml.report.subject import Subject

__all__ = ["differing", "tests"]


def tests(subject: Subject) -> Mapping[str, float]:
    """Corrected p of the best model against each other one whose users are the same."""
    if subject.corrected:
        return subject.corrected
    return holm({name: paired_t_test(values) for name, values in differing(subject).items()})


def differing(subject: Subject) -> dict[str, NDArray[np.float64]]:
    """The best model minus each other one, user by user, where the users are the same."""
    if subject.metric is None:
        return {}
    first, *others = subject.ranking
    found = {name: paired(subject.results[first], subject.results[name], subject.metric) for name in others}
    return {name: values for name, values in found.items() if values is not None}
