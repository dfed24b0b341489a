"""Draw the README's picture: accuracy and novelty of the bundled sample as `item_norm` is turned.

Run it from the repository with `.venv/bin/python docs/images/novelty_dial.py`; it takes a few minutes, prints the
numbers and writes the drawing beside itself.
"""

from pathlib import Path

import corml
from corml.report import plots

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
    drawing = plots.accuracy_against_novelty(points, accuracy="NDCG@10", novelty="Novelty@10")
    (Path(__file__).parent / "novelty-dial.svg").write_text(drawing, encoding="utf-8")


if __name__ == "__main__":
    main()
