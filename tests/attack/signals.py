"""SIGTERM and SIGINT at any moment of a command: it ends within two seconds, with a code of its own."""

import signal
from pathlib import Path
from typing import Any

import numpy as np

from attack import commands, mutate
from attack.arena import CPU_MARGIN, Unsound

FULL, SHORT = 200, 2
SECONDS = 60.0
SOON = 2.0  # seconds until it has ended
STARTED = 0.3  # share of its time after which it is not Python that starts, which has no code of ours

prepare = commands.prepare


def case(valid: dict[str, Any], rng: np.random.Generator, folder: Path) -> int:
    """One signal."""
    number = mutate.choose(rng, [signal.SIGTERM, signal.SIGINT])
    stop = commands.interrupted(rng, valid, folder, number)
    told = f"corml {' '.join(stop.words)} after {number!r}"
    if stop.took > SOON * CPU_MARGIN:
        raise Unsound(f"{told} took {stop.took:.1f} s to end")
    pythons = stop.after <= STARTED
    if stop.code not in (0, 75) and not (pythons and stop.code == -number):
        raise Unsound(f"{told} ended with {stop.code}: {stop.said[-600:]}")
    if "Traceback" in stop.said and not pythons:
        raise Unsound(f"{told} shows a traceback: {stop.said[-1500:]}")
    commands.whole_or_nothing(valid, stop)
    return commands.OWN
