"""SIGKILL at any moment of a command: the same command then ends well, and nothing strange is left behind."""

import signal
from pathlib import Path
from typing import Any

import numpy as np

from attack import commands

FULL, SHORT = 200, 2
SECONDS = 60.0  # a case starts two programs

prepare = commands.prepare


def case(valid: dict[str, Any], rng: np.random.Generator, folder: Path) -> int:
    """One kill."""
    commands.whole_or_nothing(valid, commands.interrupted(rng, valid, folder, signal.SIGKILL))
    return commands.OWN
