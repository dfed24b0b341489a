"""The table of README.md with equal budgets of tuning."""

from typing import Any

from _record import read
from _tables import TITLES, markdown, short, small

DATA = ("movielens-small", "pinterest", "gowalla", "yelp2018")
METRIC = "ndcg@10"


def equal_budget() -> str:
    """NDCG@10 of every model with its defaults and tuned, with what the search took; the best of each set is bold."""
    records = {data: record for data in DATA if (record := read(f"compare/{data}")) is not None}
    if not records:
        return "Not measured yet."
    names = list(dict.fromkeys(entry["model"] for record in records.values() for entry in record["entries"]))
    rows = [["NDCG@10, default → tuned", *(TITLES[data] for data in records)]]
    rows += [[f"`{name}`", *(_cell(record, name) for record in records.values())] for name in names]
    absent = [TITLES[data] for data in DATA if data not in records]
    note = "In brackets: trials and CPU seconds of the search. Bold: the best of all rows by NDCG@10."
    if absent:
        note += f" Not run: {', '.join(absent)}."
    return "\n".join([*markdown(rows), "", small(note)])


def _cell(record: dict[str, Any], name: str) -> str:
    entries = {entry["tuned"]: entry for entry in record["entries"] if entry["model"] == name}
    best = max(entry["means"][METRIC] for entry in record["entries"] if entry["means"])
    figures = [_figure(entries[tuned], best) for tuned in (False, True) if tuned in entries]
    cost = entries[True]["cost"] if True in entries else {}
    spent = f" ({cost['trials']}; {cost['tuning_processor']:,.0f} s)" if cost.get("trials") else ""
    return " → ".join(figures) + spent


def _figure(entry: dict[str, Any], best: float) -> str:
    if entry["error"]:
        return "failed"
    value = entry["means"][METRIC]
    return f"**{short(value)}**" if value == best else short(value)
