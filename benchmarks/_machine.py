"""Facts about the machine a figure was measured on, and JSON files to keep figures in."""

import json
import os
import platform
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import corml
from corml.parallel import threads

RESULTS = Path(__file__).parent / "results"


def facts() -> dict[str, Any]:
    """What decides how fast this machine is, and whether it was busy."""
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
    return {
        "corml": corml.__version__,
        "python": platform.python_version(),
        "processor": model or platform.processor(),
        "cores": os.cpu_count(),
        "threads": threads(),
        "load before": round(os.getloadavg()[0], 2),
    }


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


def alone(work: Callable[..., Any], *arguments: Any) -> Any:
    """Run in a process of its own, so that its peak of memory is its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def keep(name: str, record: dict[str, Any]) -> Path:
    """Write a record as JSON beside the others."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return path


def load_split(name: str) -> corml.Split:
    """A data set of the folder CORML_DATA, split as in the paper; the bundled sample as `corml demo` does it."""
    if name == "movielens-small":
        return corml.split(corml.load(name, at_least=4, k_core=5), "ratio", seed=2026)
    return corml.split(corml.load(name), "authors", seed=2026)
