"""Draw the picture of docs/lists.md: accuracy and diversity on the bundled sample as `diversity` goes from 0 to 1.

Run it from the repository with `.venv/bin/python docs/images/diversity.py`; it prints the numbers and writes the
drawing beside itself.
"""

from pathlib import Path

import corml
from corml.evaluation import charts
from corml.recommend.options import ListRules

METRICS = ("ndcg@10", "diversity@10", "novelty@10", "coverage@10")
TURNS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
MODELS = ("corml", "ease")


def main() -> None:
    """Measure the lists of two models at each turn."""
    data = corml.load("movielens-small", at_least=4, k_core=5)
    split = corml.split(data, "ratio", seed=2026)
    print(f"{'':16}" + "".join(f"{name:>14}" for name in METRICS))
    points: dict[str, dict[str, tuple[float, float]]] = {}
    for name in MODELS:
        model = corml.models.make(name).fit(split.train)
        for turn in TURNS:
            rules = ListRules(diversity=turn)
            result = corml.evaluate(model, split, METRICS, rules=rules, intervals=False)
            print(f"{name:8}{turn:8g}" + "".join(f"{result[metric]:14.4f}" for metric in METRICS), flush=True)
            points.setdefault(name, {})[f"{turn:g}"] = (result["diversity@10"], result["ndcg@10"])
    draw(points, Path(__file__).parent / "diversity.svg")


def draw(points: dict[str, dict[str, tuple[float, float]]], path: Path) -> None:
    """A line for each model; the turns are named along the first."""
    curves = [charts.Line(name, list(turns.values()), colour=at) for at, (name, turns) in enumerate(points.items())]
    turns = [charts.Line(turn, [point], colour=0) for turn, point in points["corml"].items()]
    charts.lines(
        [*curves, *turns],
        x=charts.Axis("Diversity@10: items less alike →"),
        y=charts.Axis("NDCG@10: more accurate ↑"),
        title="diversity from 0 to 1: corml by its own metric, ease by the users of items",
        named=True,
    ).save(path)


if __name__ == "__main__":
    main()
