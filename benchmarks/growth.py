"""How the cost of a fit grows with the data (run: python benchmarks/growth.py [fixed] [DEGREE ITEMS …]).

Generated data (_powerlaw.py) at two fixed mean degrees of an item, from 5,000 items to 200,000, with 20 items in a mean
history. Each fit, everything left at its default, has a process of its own. Written after each size:
results/speed/growth.json, with the exponents of processor time and memory in the number of interactions, and
docs/images/growth.svg. With a degree and numbers of items only these are measured; the others stay as they were. With
`fixed` fits are measured with adapt=False, as a series of their own.
"""

import sys
import tempfile
from dataclasses import asdict
from typing import Any

import numpy as np
from _drawing import panels, save
from _machine import alone
from _one_fit import fit
from _powerlaw import Habits, degrees, draw, power_law
from _record import begin, read, write
from pages import write_tables

ITEMS = (5_000, 10_000, 20_000, 50_000, 100_000, 200_000)
DEGREES = (20, 100)  # of an item, in the mean: the largest data have 200,000 items and 20 million interactions
FIXED = ", adapt=False"  # in the name of a series
HISTORY = 20  # items of a mean user, about as many as of Gowalla


def generate(items: int, degree: int, path: str) -> None:
    total = items * degree
    popularity = degrees(power_law(items, 0.45), total, min_degree=1)
    activity = degrees(power_law(total // HISTORY, 0.25), total, min_degree=5)
    np.savez(path, **draw(popularity, activity, Habits(), min_degree=1))


def about() -> dict[str, Any]:
    """Where the figures come from."""
    how = {
        "by": "benchmarks/growth.py, generate(items, degree)",
        "mean history": HISTORY,
        **asdict(Habits()),
        "seed": 0,
    }
    return begin(generated=how, seed=0)


def measure(items: int, degree: int, settings: dict[str, Any]) -> dict[str, Any]:
    begun = about()
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/data.npz"
        alone(generate, items, degree, path)
        row = {key: begun[key] for key in ("commit", "date", "machine")}
        return {"items": items, "interactions": items * degree} | row | alone(fit, path, settings)


def exponents(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Slopes of log cost against log interactions; memory is what a fit takes on top of the bare interpreter."""
    size = np.log([row["interactions"] for row in rows])
    costs = {
        "cpu seconds": [row["cpu seconds"] for row in rows],
        "bytes": [row["peak bytes"] - row["bytes before"] for row in rows],
    }
    return {name: round(float(np.polyfit(size, np.log(cost), 1)[0]), 3) for name, cost in costs.items()}


def picture(series: dict[str, Any]) -> None:
    figure, (time, memory) = panels(2, height=3.2)
    for color, (degree, one) in zip(("#0072B2", "#D55E00", "#CC79A7"), series.items(), strict=False):
        rows, exponent = one["rows"], one.get("exponents", {})
        size = [row["interactions"] for row in rows]
        look = {"color": color, "marker": "o", "markersize": 3}
        label = f"degree {degree}, exponent {{}}"
        time.loglog(size, [row["cpu seconds"] for row in rows], label=label.format(exponent.get("cpu seconds")), **look)
        memory.loglog(
            size, [row["peak bytes"] / 2**30 for row in rows], label=label.format(exponent.get("bytes")), **look
        )
        memory.loglog(size, [row["predicted bytes"] / 2**30 for row in rows], ":", color=color)
    time.set(xlabel="interactions", ylabel="processor seconds")
    memory.set(xlabel="interactions", ylabel="GiB at the peak (dotted: predicted)")
    for axes in (time, memory):
        axes.legend(frameon=False, fontsize=8)
    save(figure, "growth")


def main(arguments: list[int], *, fixed: bool) -> None:
    begun, settings = about(), {"adapt": False} if fixed else {}
    series: dict[str, Any] = {str(degree): {"rows": []} for degree in DEGREES}
    if (arguments or fixed) and (before := read("speed/growth")):
        series |= before["series"]
    chosen = [(items, arguments[0]) for items in arguments[1:]]
    for items, degree in chosen or [(items, degree) for items in ITEMS for degree in DEGREES]:
        one = series.setdefault(f"{degree}{FIXED if fixed else ''}", {"rows": []})
        kept_rows = [row for row in one["rows"] if row["items"] != items]
        one["rows"] = sorted([*kept_rows, measure(items, degree, settings)], key=lambda row: row["items"])
        if len(one["rows"]) > 1:
            one["exponents"] = exponents(one["rows"])
        print(write("speed/growth", begun, {"series": series}), items, degree, one.get("exponents"), flush=True)
        picture(series)
    write_tables()


if __name__ == "__main__":
    given = sys.argv[1:]
    main([int(argument) for argument in given if argument != "fixed"], fixed="fixed" in given)
