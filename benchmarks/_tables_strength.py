"""The tables of docs/weights.md: what ratings as strength bring, and what weights cost."""

from typing import Any

from _tables import TITLES, markdown, must, small

MODELS = ("corml", "ease", "item-knn")
COSTS = ("gowalla",)


def tables() -> dict[str, str]:
    """Gains on test, and seconds of fits."""
    return {"ratings": _ratings(must("corml/rating-strength-movietweetings")), "cost": _cost()}


def _ratings(record: dict[str, Any]) -> str:
    rows = [["model", "strength", "valid", "test", "gain on test"]]
    for name in MODELS:
        model = record[name]
        for way, figures in model["ways"].items():
            best = ", the best on valid" if way == model["best on valid"] else ""
            gain = "" if way == "alike" else f"{figures['gain']:+.4f} ± {figures['error']:.4f}".replace("-", "−")
            cells = [f"{figures['valid']:.4f}", f"{figures['test']:.4f}", gain]
            rows.append([f"`{name}`" if way == "alike" else "", f"{way}{best}", *cells])
    note = small("Written by `benchmarks/rating_strength.py`; `results/corml/rating-strength-movietweetings.json`.")
    return "\n".join(markdown(rows)) + f"\n\n{note}"


def _cost() -> str:
    rows = [["fit", "alike, s", "weighted, s", "ratio"]]
    for data in COSTS:
        record = must(f"corml/weighted-fit-{data}")
        for name, words in (("corml", "`corml`"), ("ease", "`ease`, local route")):
            if name in record:
                seconds, ratio = record[name]["median cpu seconds"], record[name]["weighted / alike"]
                cells = [f"{seconds['alike']:.1f}", f"{seconds['weighted']:.1f}", f"{ratio:.2f}"]
                rows.append([f"{words} on {TITLES[data]}", *cells])
    note = small("Processor seconds of one thread. Written by `benchmarks/weighted_fit.py`.")
    return "\n".join(markdown(rows)) + f"\n\n{note}"
