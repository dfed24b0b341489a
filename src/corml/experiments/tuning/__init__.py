"""TUNE: the best hyperparameters of a model for some data, within a budget of trials and time.

space        where to search: as the hyperparameters declare it, narrowed or widened by the caller
objective    one trial: fit, and score on held-out pairs; the test set is never opened
proposal     the next point: a function of the seed, the number of the trial and the trials before it
run          the loop, which resumes from the trials on file and shares them with other processes
tuned, analysis, drawing   the outcome, what the trials say, and its charts
"""

from corml.experiments.tuning.drawing import PLOTS
from corml.experiments.tuning.run import tune
from corml.experiments.tuning.space import space_of
from corml.experiments.tuning.tuned import Trial, Tuned

__all__ = ["PLOTS", "Trial", "Tuned", "space_of", "tune"]
