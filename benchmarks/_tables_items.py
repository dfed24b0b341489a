"""The tables of docs/items.md: new items alone, by way of scoring them, and among the others, by lift."""

import numpy as np
from _record import read

NAMES = {"movielens-small": "MovieLens sample", "movietweetings": "MovieTweetings"}


def tables() -> dict[str, str]:
    """Both tables of the page."""
    records = {title: found for name, title in NAMES.items() if (found := read(f"corml/new-items-{name}"))}
    return {"new_items": _alone(records), "mixed_lists": _mixed(records)}


def _alone(records: dict) -> str:
    first = next(iter(records.values()))
    lines = [f"| new items ranked by | {' | '.join(records)} |", "|---" * (1 + len(records)) + "|"]
    for way in sorted(first["test"], key=lambda way: -np.mean(first["test"][way])):
        cells = [_figure(record["test"][way]) for record in records.values()]
        lines.append(f"| {way} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _figure(values: list[float]) -> str:
    return f"{np.mean(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def _mixed(records: dict) -> str:
    header = [f"{title}: NDCG@20 | new in lists" for title in records]
    lines = [f"| lists | {' | '.join(header)} |", "|---" * (1 + 2 * len(records)) + "|"]
    for way in next(iter(records.values()))["mixed"][0]:
        cells = []
        for record in records.values():
            found = [one[way] for one in record["mixed"]]
            share = np.mean([one["new in lists"] for one in found])
            cells += [f"{np.mean([one['ndcg@20'] for one in found]):.4f}", f"{share:.1%}"]
        lines.append(f"| {way} | {' | '.join(cells)} |")
    return "\n".join(lines)
