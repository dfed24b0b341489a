"""A surface whose cases end in every way there is: to see that the arena notes each."""

import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from attack.arena import Unsound
from corml.errors import DataError

SECONDS = 2.0


def prepare(folder: Path) -> list[str]:
    """Nothing is needed."""
    return ["answer", "refuse", "crash", "hang", "fail", "fill", "unsound"]


def case(valid: list[str], rng: np.random.Generator, folder: Path) -> int:
    """The way that belongs to the number of the case, which is in the name of its folder."""
    getattr(_Ways, valid[int(folder.name.partition("-")[2])])()
    return 0


class _Ways:
    @staticmethod
    def answer() -> None:
        pass

    @staticmethod
    def refuse() -> None:
        raise DataError("no")

    @staticmethod
    def crash() -> None:
        os._exit(139)

    @staticmethod
    def hang() -> None:
        time.sleep(60)

    @staticmethod
    def fail() -> Any:
        return 1 / 0

    @staticmethod
    def fill() -> None:
        np.ones(100 << 17).sum()

    @staticmethod
    def unsound() -> None:
        raise Unsound("an answer that must not be given")
