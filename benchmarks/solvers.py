"""Four ways to solve problem H on co-occurring pairs, side by side (run: python benchmarks/solvers.py DATA).

Objective gap against seconds for the solver corml uses (projected conjugate gradients in scaled variables), for
projected Barzilai–Borwein steps, for accelerated projected gradients with a row-sum majoriser, and for conjugate
gradients on a moving face (MPRGP).
Writes results/corml/solvers-DATA.json and docs/images/solvers.svg.
"""

import sys
import time
from collections.abc import Callable

import numpy as np
from _machine import load_split
from _record import begin, write
from scipy.sparse import csr_array

import corml
from corml.linalg.pairs import Conjugate
from corml.models.corml.problem import Weights, singular_vectors
from corml.models.corml.sparse.column_generation import InMemory
from corml.models.corml.sparse.solver import PairProblem, advance

Watch = Callable[[np.ndarray], bool]


def build(R: csr_array, weights: Weights, rank: int, max_per_item: int) -> PairProblem:
    work = InMemory(R, singular_vectors(R, rank), weights)
    pairs = work.co_occurring(max_per_item)
    return work.problem(pairs, work.cross_term(pairs))


def conjugate(problem: PairProblem, watch: Watch) -> None:
    x = np.zeros_like(problem.linear)
    at = Conjugate(problem.support, problem.item_curvature(), x, -problem.linear)
    at.move(problem.linear, 0.0)
    while watch(x):
        advance(problem, at)


def barzilai_borwein(problem: PairProblem, watch: Watch) -> None:
    scaling = np.sqrt(problem.curvature())
    z, gradient, length, even = np.zeros_like(scaling), -problem.linear / scaling, np.float32(0.5), True
    while watch(z / scaling):
        even = not even
        s = np.maximum(z - length * gradient, 0) - z
        y = scaled_product(problem, s, scaling)
        bend = float(np.dot(s, y))
        if bend <= 0:  # there is no step left to take
            return
        share = np.float32(min(1.0, -float(np.dot(gradient, s)) / bend))
        z, gradient = z + share * s, gradient + share * y
        length = np.float32(bend / float(np.dot(y, y)) if even else float(np.dot(s, s)) / bend)


def scaled_product(problem: PairProblem, z: np.ndarray, scaling: np.ndarray) -> np.ndarray:
    """The Hessian in scaled variables times z."""
    return problem.product(z / scaling) / scaling


def accelerated(problem: PairProblem, watch: Watch) -> None:
    R, p, w = problem.normal.R, problem.normal.p, problem.normal.weights
    sums = problem.scale * p * (R.T @ (w * (R @ p))) + problem.ridge
    bound = problem.support.sum_of(sums)
    x = y = np.zeros_like(problem.linear)
    t = 1.0
    while watch(x):
        gradient = problem.product(y) - problem.linear
        new = np.maximum(y - gradient / bound, 0)
        t = 1.0 if float(np.dot(gradient, new - x)) > 0 else t
        t, before = (1 + np.sqrt(1 + 4 * t * t)) / 2, t
        y, x = np.maximum(new + np.float32((before - 1) / t) * (new - x), 0), new


def moving_face(problem: PairProblem, watch: Watch) -> None:
    scaling = np.sqrt(problem.curvature())
    v = np.random.default_rng(0).random(len(scaling)).astype(np.float32)
    for _ in range(4):
        v = scaled_product(problem, v / np.linalg.norm(v), scaling)
    fixed = np.float32(1.8 / np.linalg.norm(v))
    linear = problem.linear / scaling
    z, g = np.zeros_like(scaling), -linear
    p = np.where(z > 0, g, 0)
    while watch(z / scaling):
        face, chopped = np.where(z > 0, g, 0), np.where(z > 0, 0, np.minimum(g, 0))
        reduced = np.where(z > 0, np.minimum(z / fixed, face), 0)
        if float(np.dot(chopped, chopped)) > float(np.dot(reduced, face)):
            bent = scaled_product(problem, chopped, scaling)
            step = np.float32(np.dot(g, chopped) / np.dot(chopped, bent))
            z, g = np.maximum(z - step * chopped, 0), g - step * bent
            p = np.where(z > 0, g, 0)
            continue
        bent = scaled_product(problem, p, scaling)
        curve = float(np.dot(p, bent))
        step, down = np.float32(np.dot(g, p) / curve), p > 0
        limit = np.float32((z[down] / p[down]).min(initial=np.inf))
        if step <= limit:
            z, g = np.maximum(z - step * p, 0), g - step * bent
            face = np.where(z > 0, g, 0)
            p = face - np.float32(np.dot(face, bent) / curve) * p
        else:
            z, g = z - limit * p, g - limit * bent
            z = np.maximum(z - fixed * np.where(z > 0, g, 0), 0)
            g = scaled_product(problem, z, scaling) - linear
            p = np.where(z > 0, g, 0)


METHODS = {
    "projected conjugate gradients (corml)": conjugate,
    "projected Barzilai–Borwein": barzilai_borwein,
    "accelerated projected gradient": accelerated,
    "conjugate gradients on a moving face": moving_face,
}


def race(problem: PairProblem, method: Callable[[PairProblem, Watch], None], seconds: float) -> list[list[float]]:
    """Seconds (of the method alone) and objectives after each of its iterations."""
    seen: list[list[float]] = []
    spent, begun = 0.0, time.perf_counter()

    def watch(x: np.ndarray) -> bool:
        nonlocal spent, begun
        spent += time.perf_counter() - begun
        gradient = problem.product(x) - 2 * problem.linear
        seen.append([round(spent, 3), 0.25 * float(np.dot(x.astype(np.float64), gradient))])
        begun = time.perf_counter()
        return spent < seconds and len(seen) < 60

    method(problem, watch)
    return seen


def draw(curves: dict[str, list[list[float]]], name: str) -> None:
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams["svg.hashsalt"] = "corml"
    best = min(value for curve in curves.values() for _, value in curve)
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes = figure.subplots()
    for label, curve in curves.items():
        points = [(t, (value - best) / abs(best)) for t, value in curve if (value - best) / abs(best) > 1e-9]
        axes.semilogy(*zip(*points, strict=True), marker="o", markersize=3, label=label)
    axes.set(xlabel=f"seconds ({name})", ylabel="objective gap, relative", ylim=(1e-9, 2))
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig("docs/images/solvers.svg", metadata={"Date": None})


def main(name: str) -> None:
    begun, train, model = begin(name), load_split(name).train, corml.CoRML()
    weights = Weights.of(model.plan(train).resolved(model.get_params()))
    problem = build(train.matrix, weights, 64, max_per_item=200)
    problem.product(problem.linear)  # compile before timing
    curves = {label: race(problem, method, 60) for label, method in METHODS.items()}
    record = {"data": name, "pairs": len(problem.support) // 2, "curves": curves}
    print(write(f"corml/solvers-{name}", begun, record))
    draw(curves, name)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "pinterest")
