"""What benchmarks share: the data as the paper splits them, and the cost of a piece of work."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from multiprocessing import get_context
from typing import Any

import corml
from corml.models.recommender import Recommender

SEED = 2026  # of every split


@contextmanager
def measured(into: dict[str, Any]) -> Iterator[None]:
    """Add wall seconds, processor seconds and the peak of memory so far to a record."""
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    into["seconds"] = round(time.perf_counter() - wall, 3)
    into["cpu seconds"] = round(time.process_time() - cpu, 3)
    into["peak bytes"] = peak()


def peak() -> int:
    """Most bytes this process ever held; what getrusage tells would begin at the size of the parent."""
    (line,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


def anonymous() -> int:
    """Bytes this process holds that are not mapped from a file."""
    (line,) = [line for line in open("/proc/self/status") if line.startswith("RssAnon")]
    return int(line.split()[1]) * 1024


@contextmanager
def watched_memory(into: dict[str, Any]) -> Iterator[None]:
    """Add anonymous memory, at the begin and at its peak, to a record."""
    into["bytes before"] = most = anonymous()
    done = threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.wait(0.005):
            most = max(most, anonymous())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
        into["peak anonymous bytes"] = max(most, anonymous())


def alone(work: Callable[..., Any], *arguments: Any) -> Any:
    """Run in a process of its own, so that its peak of memory is its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def notes(model: Recommender) -> dict[str, Any]:
    """How a fit went, as plain facts: the plan, the certificates of the solver, the training."""
    state = model.fitted_
    facts = {"plan": state.plan and state.plan.report(), "solver": [one.report() for one in state.certificates]}
    if state.training:
        facts["training"] = {name.replace("_", " "): value for name, value in asdict(state.training).items()}
    return {name: value for name, value in facts.items() if value}


def load_split(name: str) -> corml.Split:
    """A data set of the folder CORML_DATA, split as in the paper; the bundled sample as `corml demo` does it."""
    if name == "movielens-small":
        return corml.split(corml.load(name, at_least=4, k_core=5), "ratio", seed=SEED)
    return corml.split(corml.load(name), "authors", seed=SEED)
