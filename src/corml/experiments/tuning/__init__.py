"""TUNE: the best settings of a model for some data, within a budget of trials and time.

    space        where to look: as the settings declare it, narrowed or widened by the caller
    parts        what is fitted and what is scored: a held-out part, or the folds of a cross-validation
    objective    one trial: fit, score, and what the fits share
    proposal     the next point: a function of the seed, the number of the trial and the trials before it
    locks        who runs which trial; a killed process loses its locks, so its trial is run again
    journal      the trials on file, as Optuna writes them
    run          the loop
    tuned        the outcome: best settings, all trials, history, importance, slices
    drawing      its charts

The test part of a split is never opened.
"""

from corml.experiments.tuning.drawing import KINDS as PLOTS
from corml.experiments.tuning.run import tune
from corml.experiments.tuning.space import space_of
from corml.experiments.tuning.trial import Trial
from corml.experiments.tuning.tuned import Tuned

__all__ = ["PLOTS", "Trial", "Tuned", "space_of", "tune"]
