"""The tables of docs/scale.md about plans: estimates beside fits, and the walk to 10⁹ interactions."""

from typing import Any

from _tables import gib, markdown, must

from corml.outofcore.fit.estimate import words

KERNELS = {  # what they are called in the page
    "product": "V and factors of the cross term",
    "strongest": "candidates",
    "dots": "cross term, pairs",
    "product_by_users": "products of the solver",
    "prices": "pricing",
}
SIZES = {"1e6": "10⁶", "1e7": "10⁷", "1e8": "10⁸", "1e9": "10⁹", "1e9, 32 nodes": "10⁹"}


def tables() -> dict[str, str]:
    """Each table, by the name it has in the page."""
    return {
        "plan": "\n".join(markdown(compared(must("speed/plan")["runs"]))),
        "walk": "\n".join(markdown(walk(must("speed/plan_walk")["estimates"]))),
    }


def compared(runs: dict[str, Any]) -> list[list[str]]:
    """Processor seconds, measured and estimated, of each size."""
    rows = [["CPU seconds, measured / estimated", *runs]]

    def row(name: str, *keys: str) -> None:
        rows.append([name, *(" / ".join(f"{_at(one[kind], keys):.1f}" for kind in KINDS) for one in runs.values())])

    row("making the store", "store")
    for kernel, name in KERNELS.items():
        measured = next(iter(runs.values()))["measured"]["kernels"]
        row(name, "kernels", kernel if kernel in measured else f"normal_{kernel}", "cpu seconds")  # as it was called
    row("the driver", "driver")
    row("**the fit in all**", "fit")
    rows.append(["estimated over measured", *(f"{one['estimated / measured']:.2f}" for one in runs.values())])
    row("lists of 20 for everybody", "lists")
    return rows


KINDS = ("measured", "estimated")


def _at(record: Any, keys: tuple[str, ...]) -> float:
    for key in keys:
        record = record[key]
    return float(record)


def walk(estimates: dict[str, Any]) -> list[list[str]]:
    """One row for each size."""
    head = ["interactions", "users", "items", "machines", "store", "fit", "lists for everybody", "driver", "worker"]
    rows = [head]
    for name, one in estimates.items():
        counts = one["counts"]
        where = f"{one['nodes']} × {one['cores']} cores"
        times = [words(one[f"{part} seconds"]) for part in ("store", "fit", "lists")]
        peaks = [gib(one["driver bytes"]), gib(one["worker bytes"])]
        rows.append([SIZES[name], f"{counts['users']:,}", f"{counts['items']:,}", where, *times, *peaks])
    return rows
