"""The table and the curves of docs/models.md, from what was recorded (run: python benchmarks/models_page.py).

Takes results/linear and results/neural as they are: a model that was not measured on some data has a dash there.
"""

import json
from typing import Any

from _drawing import BLUE, GREEN, GREY, PINK, RED, YELLOW, panels, save
from _page import HERE, markdown, put

RESULTS, PAGE = HERE.parent / "results", HERE.parent / "docs" / "models.md"
LINEAR = ("item-knn", "ease", "slim", "admm-slim", "gf-cf")
GRADIENT = ("bpr-mf", "lightgcn", "cml", "l-cml", "dpcml", "recvae", "ultragcn", "simgcl")
COLOURS = dict(zip(("cml", "l-cml", "dpcml", "recvae", "ultragcn", "simgcl"),
                   (BLUE, GREEN, PINK, GREY, YELLOW, RED), strict=True))  # fmt: skip
DATA = ("gowalla", "yelp2018", "pinterest")
DONE = "no better on the validation pairs"  # of a training that nothing else ended


def recorded(name: str, data: str) -> dict[str, Any] | None:
    room = "linear" if name in LINEAR else "neural"
    path = RESULTS / room / f"{name}-{data}.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def table() -> str:
    rows = [["model", *(f"{data}: NDCG@10 (paper), processor s" for data in DATA)]]
    for name in (*LINEAR, *GRADIENT):
        cells = [cell(recorded(name, data)) for data in DATA]
        if any(one != "–" for one in cells):
            rows.append([name, *cells])
    return "\n".join(markdown(rows))


def cell(record: dict[str, Any] | None) -> str:
    """How good, how good by the paper, and what it cost."""
    if record is None:
        return "–"
    paper = record.get("paper ndcg@10", record.get("paper's ndcg@10"))
    told = f" ({paper:.4f})".replace("0.", ".") if paper else ""
    seconds = record["training"]["cpu seconds"] if "training" in record else record["cpu seconds"]
    good = f"{record['test']['ndcg@10']:.4f}".replace("0.", ".")
    star = "\\*" if record.get("training", {}).get("stopped", DONE) != DONE else ""
    return f"{good}{star}{told}, {seconds:,.0f}"


def draw() -> None:
    figure, axes = panels(2)
    for axis, data in zip(axes, ("pinterest", "gowalla"), strict=True):
        for name, colour in COLOURS.items():
            if record := recorded(name, data):
                curve = [row for row in record["training"]["curve"] if "valid" in row]
                minutes, found = [row["seconds"] / 60 for row in curve], [row["valid"] for row in curve]
                axis.plot(minutes, found, color=colour, label=name, linewidth=1.4)
        axis.set(title=data, xlabel="minutes", ylim=(0, None), xscale="log")
        axis.set_xticks([0.1, 1, 10, 60], ["0.1", "1", "10", "60"])
        axis.legend(frameon=False, fontsize=7, loc="lower right")
    axes[0].set_ylabel("NDCG@10 of validation pairs")
    save(figure, "training")


def main() -> None:
    put(PAGE, {"models": table()})
    draw()


if __name__ == "__main__":
    main()
