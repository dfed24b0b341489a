"""Numbers as aligned text: metrics down, list lengths across."""

from collections.abc import Mapping

__all__ = ["lay_out"]


def lay_out(means: Mapping[str, float], intervals: Mapping[str, tuple[float, float]]) -> str:
    """One row for each metric, in the order they were requested, and one column for each length."""
    names = list(dict.fromkeys(label.partition("@")[0] for label in means))
    lengths = sorted({int(label.partition("@")[2]) for label in means})
    rows = [["", *(f"@{k}" for k in lengths)]]
    rows += [[name, *(_cell(f"{name}@{k}", means, intervals) for k in lengths)] for name in names]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(line.rstrip() for line in padded)


def _cell(label: str, means: Mapping[str, float], intervals: Mapping[str, tuple[float, float]]) -> str:
    if label not in means:
        return ""
    interval = "" if label not in intervals else " [{:.4f}, {:.4f}]".format(*intervals[label])
    return f"{means[label]:.4f}{interval}"
