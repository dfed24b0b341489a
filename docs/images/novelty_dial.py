"""Draw the README's picture: accuracy and novelty on the bundled sample as `item_norm` is turned.

Run it from the repository with `.venv/bin/python docs/images/novelty_dial.py`; it prints the numbers and
writes the drawing beside itself.
"""

from pathlib import Path

import corml
from corml.evaluation import charts

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
    curve = charts.Line("", list(dial.values()), colour=0)
    turns = [charts.Line(turn, [point], colour=0) for turn, point in dial.items()]
    charts.lines(
        [curve, *turns],
        x=charts.Axis("Novelty@10: rarer items →"),
        y=charts.Axis("NDCG@10: more accurate ↑"),
        title="The dial item_norm, from -0.4 (novel) to 0.4 (popular)",
        named=True,
    ).save(path)


if __name__ == "__main__":
    main()
