"""The tables of docs/ablation.md: every change on every data set, and what filter selection gains elsewhere."""

from typing import Any

from _record import read
from _tables import TITLES, markdown, small

ORDER = ("movielens-small", "movietweetings", "pinterest", "amazon-book", "gowalla", "yelp2018")
NAMES = TITLES | {"movietweetings": "MovieTweetings", "amazon-book": "Amazon-Book"}


def tables() -> dict[str, str]:
    """Gains of NDCG@20 and of Recall@20, with standard errors."""
    records = {data: read(f"corml/ablation-{data}") for data in ORDER}
    there = {data: record for data, record in records.items() if record is not None}
    note = small(
        f"Not run: {', '.join(NAMES[data] for data in ORDER if data not in there) or 'nothing'}. Written by "
        "`benchmarks/ablation.py`; means, settings, seeds and fingerprints are in `results/corml/ablation-*.json`."
    )
    return {
        "ndcg": f"{_table(there, 'ndcg@20')}\n\n{note}",
        "recall": _table(there, "recall@20"),
        "related": _table(there, "related ndcg@20"),
        "chosen": _chosen(there),
        "shapes": _shapes(),
    }


def _table(records: dict[str, dict[str, Any]], metric: str) -> str:
    changes = dict.fromkeys(row["change"] for record in records.values() for row in record["changes"])
    rows = [["change", *(NAMES[data] for data in records)]]
    for change in changes:
        cells = [
            next((row for row in record["changes"] if row["change"] == change), None) for record in records.values()
        ]
        rows.append([change, *("–" if metric not in (cell or {}) else _cell(cell[metric], change) for cell in cells)])
    return "\n".join(markdown(rows))


def _cell(figures: dict[str, float], change: str) -> str:
    if change == "fixed defaults":
        return f"{figures['mean']:.4f}"
    gain, error = figures["gain %"], figures["standard error %"]
    text = f"{gain:+.1f} ± {error:.1f}"
    return f"**{text}**" if abs(gain) > 2 * error else text


def _chosen(records: dict[str, dict[str, Any]]) -> str:
    head = [
        "data",
        "rank",
        "learn_rank",
        "filter_power",
        "filter_weight",
        "CPU s, adapt=False",
        "CPU s, adapt=True",
    ]
    rows = [head]
    for data, record in records.items():
        chosen, fits = record["chosen"], record["fits"]
        facts = [str(chosen.get(name, "–")) for name in ("rank", "learn rank", "filter power", "filter weight")]
        rows.append([NAMES[data], *facts, *(f"{fits[label]['cpu seconds']:.1f}" for label in ("fixed", "adapt"))])
    return "\n".join(markdown(rows))


def _shapes() -> str:
    """What filter selection gained on data of other shapes."""
    record = read("corml/shapes")
    assert record is not None
    rows = [["data", "users", "items", "pairs", "NDCG@20, adapt=False", "gain, NDCG@20", "gain, Recall@20", "chosen"]]
    for row in record["rows"]:
        sizes = [f"{row[name]:,}" for name in ("users", "items", "pairs")]
        gains = [_cell(row[metric], "") for metric in ("ndcg@20", "recall@20")]
        chosen = ", ".join(f"{value:g}" for value in row["chosen"].values())
        rows.append([row["data"], *sizes, f"{row['ndcg@20']['fixed']:.4f}", *gains, chosen])
    note = small("Written by `benchmarks/shapes.py` to `results/corml/shapes.json`. Chosen: rank, power, weight.")
    return "\n".join(markdown(rows)) + f"\n\n{note}"
