"""REPRODUCE: the paper's table and figures, an ablation and public leaderboards, from one declarative file.

published.toml  every published number with its source, every setting that is run
published       that file, read
rows            which models take part, with their settings
data            the data that are at hand, split as each experiment needs them
bench           fits and evaluations, kept as cells of a study
request         what was asked for
table, figure, speed, ablation, board   the experiments
checks          what the paper says, held against curves
outcome         figures, tables and curves of an experiment
run             an experiment by its name
"""

from corml.experiments.reproduce.outcome import Outcome
from corml.experiments.reproduce.run import EXPERIMENTS, reproduce

__all__ = ["EXPERIMENTS", "Outcome", "reproduce"]
