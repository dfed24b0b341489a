"""Runs cases in a process of their own; one that dies, hangs, takes memory or fails but by a sentence is a finding.

A case may end with an answer or with a CormlError. Everything else is written down with the number of the case, which
is all that it takes to see it again: `python -m attack model_files --only 1234`.
"""

import importlib
import multiprocessing
import os
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

SURFACES = (
    "model_files", "checkpoints", "data_files", "bombs", "splits", "studies", "stores", "finished_work",
    "settings_files", "http_requests", "client_answers", "kills", "signals",
)  # fmt: skip
SECONDS = 5.0  # that a case may take, unless its surface says more
MEMORY = 64 << 20  # bytes that a case may take beside what its surface allows
CPU_MARGIN = 4  # wall seconds that a busy machine may need for one of the processor's


class Unsound(Exception):
    """An answer that must not be given."""


@dataclass
class Report:
    """What the cases of a surface came to."""

    surface: str
    outcomes: Counter[str] = field(default_factory=Counter)
    findings: dict[int, str] = field(default_factory=dict)
    seconds: float = 0.0
    most_bytes: int = 0
    slowest: float = 0.0

    @property
    def cases(self) -> int:
        return sum(self.outcomes.values()) + len(self.findings)

    def row(self) -> list[str]:
        parts = [f"{name} {count:,}" for name, count in sorted(self.outcomes.items())]
        return [
            self.surface, f"{self.cases:,}", ", ".join(parts), f"{len(self.findings):,}", f"{self.slowest:.1f} s",
            f"{self.most_bytes / 2**20:.0f} MiB", f"{self.seconds:.0f} s",
        ]  # fmt: skip


def run(surface: str, numbers: range | list[int]) -> Report:
    """Run cases one after the other; the process is started anew after one that it did not survive."""
    seconds = getattr(importlib.import_module(f"attack.{surface}"), "SECONDS", SECONDS)
    report, begun, left = Report(surface), time.monotonic(), list(numbers)
    while left:
        left = _some(surface, left, report, seconds)
    report.seconds = time.monotonic() - begun
    return report


def _some(surface: str, numbers: list[int], report: Report, seconds: float) -> list[int]:
    """Run cases until the process ends; those that are left."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    child = context.Process(target=_work, args=(surface, numbers, theirs), daemon=True)
    child.start()
    theirs.close()
    try:
        _await_ready(ours, child, surface)
        for at, number in enumerate(numbers):
            if not ours.poll(seconds * CPU_MARGIN):
                report.findings[number] = f"hang: no answer within {seconds * CPU_MARGIN:.0f} s"
                child.kill()
                return numbers[at + 1 :]
            _note(report, number, *ours.recv())
    except EOFError:
        child.join()
        report.findings[numbers[at]] = f"crash: the process ended with {child.exitcode}"
        return numbers[at + 1 :]
    finally:
        child.join(2)
        child.kill()
        ours.close()
    return []


def _await_ready(pipe: Any, child: Any, surface: str) -> None:
    """Wait until what is valid has been made; an attack that cannot begin is a mistake of its own."""
    try:
        words = pipe.recv()
    except EOFError:
        child.join()
        words = f"the process ended with {child.exitcode}"
    if words != "ready":
        raise RuntimeError(f"The attack on {surface} cannot begin: {words}")


def _note(report: Report, number: int, outcome: str, words: str, cpu: float, taken: int, allowed: int) -> None:
    report.slowest, report.most_bytes = max(report.slowest, cpu), max(report.most_bytes, taken)
    if outcome == "finding":
        report.findings[number] = words
    elif cpu > SECONDS:
        report.findings[number] = f"slow: {cpu:.1f} processor seconds ({outcome})"
    elif taken > allowed + MEMORY:
        report.findings[number] = (
            f"memory: {taken / 2**20:.0f} MiB ({outcome}), {(allowed + MEMORY) / 2**20:.0f} promised"
        )
    else:
        report.outcomes[outcome] += 1


# --- in the process --------------------------------------------------------------------------------------------------


def _work(surface: str, numbers: list[int], pipe: Any) -> None:
    os.environ["CORML_THREADS"] = "1"
    module = importlib.import_module(f"attack.{surface}")
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            with _quietly():
                valid = module.prepare(Path(folder))
                module.warm(valid, Path(folder)) if hasattr(module, "warm") else None
        except BaseException:
            pipe.send(traceback.format_exc())
            return
        pipe.send("ready")
        for number in numbers:
            place = Path(folder) / f"case-{number}"
            place.mkdir()
            pipe.send(_one(module, valid, number, place))
            _remove(place)


def _one(module: Any, valid: Any, number: int, place: Path) -> tuple[str, str, float, int, int]:
    from corml.errors import CormlError

    rng = np.random.default_rng([_seed(module.__name__), number])
    if hasattr(module, "make"):  # what is not measured
        valid = module.make(valid, rng, place)
    _forget_peak()
    before, begun = _status("VmRSS"), time.process_time()
    allowed = 0
    try:
        with _quietly():
            allowed = int(module.case(valid, rng, place) or 0)
        outcome, words = "answered", ""
    except CormlError as refusal:
        outcome, words = "refused", ""
        allowed = getattr(refusal, "allowed", 0)
        if not str(refusal).isprintable() or len(str(refusal)) > 2000:
            outcome, words = "finding", f"the refusal cannot be printed: {ascii(str(refusal))[:300]}"
    except BaseException:
        outcome, words = "finding", traceback.format_exc()
    return outcome, words, time.process_time() - begun, max(0, _status("VmHWM") - before), allowed


def _seed(name: str) -> int:
    return int.from_bytes(name.rpartition(".")[2].encode()[:8], "little")


def _quietly() -> Any:
    import warnings

    return warnings.catch_warnings(action="ignore")


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return 1024 * int(line.split()[1])
    return 0


def _remove(place: Path) -> None:
    import shutil

    shutil.rmtree(place, ignore_errors=True)
