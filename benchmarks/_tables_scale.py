"""The tables of docs/scale.md about fits larger than memory, workers and lists in parts."""

from typing import Any

import _tables_plan
from _tables import gib, markdown, must

from corml.outofcore.fit.estimate import words

SIZES = {10**6: "10⁶", 10**7: "10⁷", 2 * 10**7: "2·10⁷", 10**8: "10⁸"}


def tables() -> dict[str, str]:
    """Each table, by the name it has in the page."""
    return {
        **_tables_plan.tables(),
        "memory": "\n".join(markdown(beside_memory(must("speed/store_and_memory-gowalla")))),
        "larger": "\n".join(markdown(larger(must("speed/larger_than_memory")["rows"]))),
        "workers": "\n".join(markdown(workers())),
        "parts": "\n".join(markdown(in_parts(must("speed/lists-in-parts")))),
    }


def beside_memory(record: dict[str, Any]) -> list[list[str]]:
    """A fit in files beside one in memory."""
    files, memory = record["files"], record["memory"]
    return [
        ["", "in memory", "in files"],
        ["CPU seconds", *(f"{one['cpu seconds']:.1f}" for one in (memory, files))],
        ["NDCG@10", *(f"{one['ndcg@10']:.6f}" for one in (memory, files))],
        ["largest difference of an entry of H", "", f"{record['largest difference of H']:.0e}"],
        ["lists of 20 that are equal", "", f"{record['equal lists']:,} of {record['lists']:,}"],
    ]


def larger(sizes: list[dict[str, Any]]) -> list[list[str]]:
    """A column for each size."""
    rows = [["", *(SIZES[one["interactions"]] for one in sizes)]]

    def row(name: str, of: Any) -> None:
        rows.append([name, *(of(one) for one in sizes)])

    row("users", lambda one: f"{one['users']:,}")
    row("items", lambda one: f"{one['items']:,}")
    row("Parquet / store on disk", lambda one: f"{gib(one['bytes of Parquet'], 2)} / {gib(_on_disk(one), 2)}")
    row("making the store", lambda one: words(one["store"]["seconds"]))
    row("… CPU time of a row", lambda one: f"{1e6 * one['store']['cpu seconds'] / one['interactions']:.2f} µs")
    row("… anonymous memory", lambda one: gib(one["store"]["peak anonymous bytes"]))
    row("the fit", lambda one: words(one["fit"]["seconds"]))
    row("… estimated before", lambda one: words(one["estimated"]["fit seconds"]))
    row("… anonymous memory", lambda one: gib(one["fit"]["peak anonymous bytes"]))
    row("… predicted", lambda one: gib(one["fit"]["predicted driver bytes"]))
    row("**from Parquet to the model file**", lambda one: f"**{words(one['seconds from Parquet to model'])}**")
    return rows


def _on_disk(one: dict[str, Any]) -> int:
    return int(one["store"]["bytes on disk"])


def workers() -> list[list[str]]:
    """A row for each number of workers, on both data."""
    found = [must(f"speed/workers-{name}")["runs"] for name in ("1e7", "gowalla")]
    rows = [["", "10⁷ interactions", "over one process", "Gowalla", "over one process"]]
    for name in found[0]:
        cells = [
            cell
            for runs in found
            for cell in (f"{runs[name]['cpu seconds']:.0f} s", f"{runs[name]['over serial']:.2f}")
        ]
        rows.append([{"serial": "one process", "1 workers": "1 worker"}.get(name, name), *cells])
    return rows


def in_parts(record: dict[str, Any]) -> list[list[str]]:
    """Lists for a million people, beside implicit."""
    ours, theirs, again = record["lists"], record["implicit"], record["written again"]
    return [
        ["", "corml, in parts", "implicit, in memory"],
        ["people", f"{ours['users ranked']:,}", f"{theirs['users']:,}"],
        ["lists a second", f"{ours['users a second']:,}", f"{theirs['users a second']:,}"],
        ["time", words(ours["seconds"]), words(theirs["seconds"])],
        ["anonymous memory at the peak", *(gib(one["peak anonymous bytes"], 2) for one in (ours, theirs))],
        ["parts of the same bytes after a stop", f"{again['parts of the same bytes']} of {again['parts']}", ""],
    ]
