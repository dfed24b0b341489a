"""SIGTERM, SIGINT and SIGHUP at any moment: the command ends within two seconds with a code of its own."""

import signal
from pathlib import Path
from typing import Any

import numpy as np

from attack import commands, mutate
from attack.arena import CPU_MARGIN, Unsound

FULL, SHORT = 200, 2
SECONDS = 60.0
SOON = 2.0  # seconds until it has ended

prepare = commands.prepare


def case(valid: dict[str, Any], rng: np.random.Generator, folder: Path) -> int:
    """One signal."""
    _, words, out = commands.chosen(rng, valid, folder)
    number = mutate.choose(rng, [signal.SIGTERM, signal.SIGINT])
    code, said, took = commands.interrupted(rng, words, number)
    if took > SOON * CPU_MARGIN:
        raise Unsound(f"corml {' '.join(words)} took {took:.1f} s to end after {number!r}")
    if code not in (0, 75, -number):
        raise Unsound(f"corml {' '.join(words)} ended with {code} after {number!r}: {said[-600:]}")
    if "Traceback" in said:
        raise Unsound(f"corml {' '.join(words)} shows a traceback after {number!r}: {said[-1500:]}")
    commands.whole_or_nothing(words, out)
    return commands.OWN
