"""Draw the README's picture: accuracy and novelty on the bundled sample as `item_norm` is turned.

Run it from the repository with `.venv/bin/python docs/images/novelty_dial.py`; it prints the numbers and
writes the drawing beside itself.
"""

from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

import corml
from corml.report._look import COLOURS, STYLE

METRICS = ("ndcg@10", "mrr@10", "recall@10", "novelty@10", "coverage@10")
TURNS = (-0.4, -0.2, 0.0, 0.1, 0.2, 0.4)


def main() -> None:
    """Fit one model per turn of the dial, and popularity beside them."""
    data = corml.load("movielens-small", at_least=4, k_core=5)
    split = corml.split(data, "ratio", seed=2026)
    models = {f"item_norm {turn:g}": corml.CoRML(item_norm=turn) for turn in TURNS}
    models["popularity"] = corml.Popularity()
    print(f"{'':16}" + "".join(f"{name:>13}" for name in METRICS))
    points = {}
    for name, model in models.items():
        result = corml.evaluate(model.fit(split.train), split, METRICS, intervals=False)
        print(f"{name:16}" + "".join(f"{result[metric]:13.4f}" for metric in METRICS), flush=True)
        points[name] = (result["novelty@10"], result["ndcg@10"])
    draw(points, Path(__file__).parent / "novelty-dial.svg")


def draw(points: dict[str, tuple[float, float]], path: Path) -> None:
    """One line through the turns of the dial; popularity stands far below and is left to the caption."""
    dial = {name.removeprefix("item_norm "): at for name, at in points.items() if name != "popularity"}
    with matplotlib.rc_context({**STYLE, "savefig.transparent": False}):
        figure = Figure(figsize=(6.4, 3.4), facecolor="white", layout="constrained")
        ax = figure.subplots()
        ax.plot(*zip(*dial.values(), strict=True), "o-", color=COLOURS[0], markersize=9)
        for turn, (x, y) in dial.items():
            ax.annotate(
                turn, (x, y), xytext=(10, -10) if turn == "0.4" else (7, 7), textcoords="offset points", fontsize=12
            )
        ax.set(xlabel="Novelty@10  (rarer items →)", ylabel="NDCG@10  (more accurate →)")
        ax.set_title("The dial item_norm, from -0.4 (novel) to 0.4 (popular)", loc="left", fontsize=12)
        ax.margins(0.12, 0.18)
        figure.savefig(path, format="svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
