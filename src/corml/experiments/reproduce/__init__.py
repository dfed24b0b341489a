"""REPRODUCE: the paper's table and figures, an ablation and public leaderboards, from one declarative file.

published.toml, published   every published number with its source, every model that is run; that file, read
request      what to run: one experiment on some data with some models, and where its runs are kept
data         the data that are available, split as each experiment needs them
table, figure, ablation, board   the experiments
outcome      figures, tables and charts of an experiment
run          an experiment by its name
"""

from corml.experiments.reproduce.outcome import Outcome
from corml.experiments.reproduce.run import EXPERIMENTS, reproduce

__all__ = ["EXPERIMENTS", "Outcome", "reproduce"]
