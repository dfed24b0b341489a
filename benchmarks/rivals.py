"""NDCG@10 against the seconds of a fit, for CoRML and others (run: python benchmarks/rivals.py [DATA …]).

CoRML() has everything at its default. The others (_rivals.py) get the best of a few settings by NDCG@10 on the valid
part; then that fit is measured, each in a process of its own, and evaluated on the test part. What is not installed or
would not fit is left out, and the reason is written down. Writes results/speed/rivals-DATA.json after each model, and
from all such files docs/images/rivals.svg and the tables in docs/speed.md.
"""

import json
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import _rivals
import numpy as np
from _drawing import BLUE, GREEN, GREY, PINK, RED, YELLOW, panels, save
from _machine import alone, load_split, measured
from _packages import missing
from _record import RESULTS, begin, write
from pages import write_tables

import corml

DENSE = 20_000  # items, the most for a dense inverse or an exact sparse factor
PATIENCE = 1000  # processor seconds to try all settings of SLIM
SAMPLE = 100  # items
PACKAGES = ("implicit", "scikit-learn", "sansa", "scikit-sparse")
CURVE = "curve: seconds, cpu seconds, ndcg@10"


def grid(**choices: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]


@dataclass(frozen=True)
class Rival:
    """A model: how it is fitted, drawn, what settings are tried, and what it needs."""

    fit: Callable[..., Iterator[Any]]
    colour: str
    marker: str
    settings: list[dict[str, Any]] = field(default_factory=lambda: [{}])
    package: str | None = None
    warm: bool = False


RIVALS = {
    "CoRML": Rival(_rivals.corml_, BLUE, "o", warm=True),
    "ALS": Rival(_rivals.als, RED, "s", grid(factors=(64, 256), alpha=(1, 10), regularization=(1.0, 10.0)), "implicit"),
    "EASE": Rival(_rivals.ease, GREEN, "^", grid(l2=(30.0, 100.0, 300.0, 1000.0))),
    "SANSA": Rival(
        _rivals.sansa,
        PINK,
        "D",
        grid(l2=(10.0, 100.0, 300.0), density=(0.01,), factorizer=("icf", "cholmod")),
        "sansa",
        warm=True,
    ),
    "SLIM": Rival(_rivals.slim, YELLOW, "v", grid(strength=(30.0, 100.0, 300.0)), "scikit-learn"),
    "popularity": Rival(_rivals.popularity, GREY, ""),
}


# --- in a process of its own -----------------------------------------------------------------------------------------


def choose(name: str, data: str) -> list[dict[str, Any]]:
    """The settings tried and their NDCG@10 on the valid part, the best first."""
    rival, split = ready(name), load_split(data)
    tried = []
    for setting in rival.settings:
        if setting.get("factorizer") == "cholmod" and len(split.train.items) > DENSE:
            continue
        *_, model = rival.fit(split.train, **setting)
        tried.append({**setting, "ndcg@10 on valid": _rivals.ndcg(model, split, "valid")})
        print(data, name, tried[-1], flush=True)
    return sorted(tried, key=lambda one: -one["ndcg@10 on valid"])


def measure(name: str, data: str, setting: dict[str, Any]) -> dict[str, Any]:
    """Cost and quality of a fit; of each stage, where it has several."""
    rival, split = ready(name), load_split(data)
    fit, spent, stages = rival.fit(split.train, **setting), np.zeros(2), []
    record: dict[str, Any] = {"setting": setting}
    while True:
        with measured(record):
            model = next(fit, None)
        if model is None:
            break
        spent += record["seconds"], record["cpu seconds"]
        stages.append([*spent.round(3).tolist(), _rivals.ndcg(model, split, "test")])
        peak = record["peak bytes"]
    record["seconds"], record["cpu seconds"], record["ndcg@10"] = stages[-1]
    return {**record, "peak bytes": peak, CURVE: stages}


def sample(name: str, data: str) -> dict[str, Any]:
    """Of SLIM: what all items would take, from some of them."""
    rival, train = ready(name), load_split(data).train
    chosen = np.random.default_rng(0).choice(len(train.items), min(SAMPLE, len(train.items)), replace=False)
    record: dict[str, Any] = {"setting": rival.settings[1]}
    with measured(record):
        list(rival.fit(train, **rival.settings[1], items=chosen))
    more = len(train.items) / len(chosen)
    return {
        "setting": rival.settings[1],
        "extrapolated from items": len(chosen),
        "seconds": round(more * record["seconds"], 1),
        "cpu seconds": round(more * record["cpu seconds"], 1),
        "peak bytes": record["peak bytes"],
        "reason": f"to try {len(rival.settings)} settings on all items would take more than {PATIENCE} s",
    }


def ready(name: str) -> Rival:
    """The rival, with what it compiles already compiled."""
    warnings.simplefilter("ignore")  # what other programs say while they work
    logging.disable(logging.WARNING)
    rival = RIVALS[name]
    if rival.warm:
        tiny = corml.split(corml.load("movielens-small", at_least=4, k_core=20), "ratio", seed=2026).train
        list(rival.fit(tiny, **rival.settings[0]))
        corml.CoRML(candidates=50).fit(tiny)  # as on large data
    return rival


# --- the race --------------------------------------------------------------------------------------------------------


def compare(name: str, data: str, items: int) -> dict[str, Any]:
    rival = RIVALS[name]
    if rival.package and (reason := alone(missing, rival.package)):
        return {"skipped": reason}
    if name == "EASE" and items > DENSE:
        size = 4 * items**2 / 2**30
        return {"skipped": f"dense, {size:.1f} GiB for {items:,} × {items:,} numbers; not run above {DENSE:,} items"}
    if name == "SLIM":
        guess = alone(sample, name, data)
        if guess["cpu seconds"] * len(rival.settings) > PATIENCE:
            return guess
    tried = alone(choose, name, data) if len(rival.settings) > 1 else []
    best = {key: value for key, value in tried[0].items() if not key.startswith("ndcg")} if tried else {}
    return {**alone(measure, name, data, best), "tried": tried}


def size_of(data: str) -> tuple[int, int, int]:
    train = load_split(data).train
    return len(train.users), len(train.items), len(train)


def draw() -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    records = [json.loads(path.read_text("utf-8")) for path in sorted((RESULTS / "speed").glob("rivals-*.json"))]
    records.sort(key=lambda record: record["items"])
    figure, axes = panels(len(records), width=2.9 * len(records), height=3.3)
    for ax, record in zip(axes, records, strict=True):
        for name, rival in RIVALS.items():
            result = record["rivals"].get(name, {})
            if "ndcg@10" not in result:
                continue
            seconds, _, quality = zip(*result[CURVE], strict=True)
            if name == "popularity":
                ax.axhline(quality[-1], color=rival.colour, linestyle="dotted", label=name)
            else:
                look = {"color": rival.colour, "marker": rival.marker, "linewidth": 1, "markersize": 6}
                ax.semilogx(seconds, quality, label=name, **look)
        ax.set_title(record["data"], fontsize=10, loc="left")
        ax.set_xlabel("seconds of a fit")
        ax.margins(x=0.15)
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
        ax.xaxis.set_major_formatter(lambda seconds, _: f"{seconds:g}")
        ax.xaxis.set_minor_formatter(NullFormatter())
    axes[0].set_ylabel("NDCG@10")
    shown = {label: line for ax in axes for line, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=6, frameon=False, fontsize=9)
    save(figure, "rivals")


def main(names: list[str]) -> None:
    for data in names:
        users, items, pairs = alone(size_of, data)
        begun = begin(data, packages=PACKAGES)
        record: dict[str, Any] = {"data": data, "users": users, "items": items, "train": pairs, "rivals": {}}
        for name in RIVALS:
            record["rivals"][name] = result = compare(name, data, items)
            write(f"speed/rivals-{data}", begun, record)
            summary = result.get("skipped") or {key: result.get(key) for key in ("seconds", "cpu seconds", "ndcg@10")}
            print(data, name, summary, flush=True)
    draw()
    write_tables()


if __name__ == "__main__":
    main(sys.argv[1:] or ["movielens-small", "pinterest", "gowalla"])
