"""How fast lists are made and evaluated (run: python benchmarks/serving.py [DATA]).

Side by side in one run: CoRML() with everything at its default, the ALS of `implicit` with as many factors, and a plain
NumPy loop over users (_plain.py) with CoRML's arrays. Lists hold 10 items, none of them seen. The loop is measured on a
sample of users and extrapolated. Writes results/speed/serving-DATA.json, docs/images/serving-DATA.svg and the
table in docs/speed.md.
"""

import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from _drawing import BLUE, GREY, RED, panels, save
from _machine import load_split
from _packages import need
from _plain import CUTS, NAMES, Plain
from _record import begin, write
from pages import write_tables
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_limits

import corml
from corml._runtime.parallel import threads

SINGLE, SAMPLE, TIMES = 500, 300, 3
COLOURS = {"corml": BLUE, "implicit": RED, "plain loop": GREY}
METRICS = [f"{name}@{k}" for name in NAMES for k in CUTS]


def seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def percentiles(calls: Iterable[Callable[[], object]]) -> dict[str, float]:
    """Milliseconds of single calls, the first twenty left out."""
    took = [1000 * seconds(call) for call in calls][20:]
    return {"p50 ms": round(float(np.percentile(took, 50)), 2), "p95 ms": round(float(np.percentile(took, 95)), 2)}


def fitted_als(train: csr_matrix, rank: int) -> Any:
    from implicit.als import AlternatingLeastSquares

    with threadpool_limits(1, user_api="blas"):
        model = AlternatingLeastSquares(factors=rank, num_threads=threads(), random_state=0)
        model.fit(train, show_progress=False)
    return model


def faster(measure: Callable[[], dict[str, float]], key: str) -> dict[str, float]:
    """Measure with one thread of BLAS and with all of them; which is better depends on the machine and its load."""
    timings = []
    for count in sorted({1, threads()}):
        with threadpool_limits(count, user_api="blas"):
            timings.append({**measure(), "BLAS threads": count})
    return min(timings, key=lambda one: one[key])


def one_at_a_time(model: corml.CoRML, als: Any, plain: Plain, users: list[int]) -> dict[str, dict[str, float]]:
    """For corml the ids of a history; for implicit the number of a known user, or the items of one to fold in."""
    rows = [csr_matrix(model.train_[[user]]) for user in users]
    histories = [model.items_.labels[row.indices].tolist() for row in rows]

    def asked(fold_in: bool) -> dict[str, float]:
        known = zip(users, rows, strict=True)
        return percentiles(lambda u=u, r=r: als.recommend(u, r, N=10, recalculate_user=fold_in) for u, r in known)

    return {
        "corml": percentiles(lambda h=h: model.recommend(history=[h]) for h in histories),
        "implicit": faster(lambda: asked(False), "p50 ms"),
        "implicit, user folded in": faster(lambda: asked(True), "p50 ms"),
        "plain loop": faster(
            lambda: percentiles(lambda u=u: plain.ranked(u, plain.train)[:10] for u in users), "p50 ms"
        ),
    }


def everyone(model: corml.CoRML, als: Any, plain: Plain, users: list[int]) -> dict[str, dict[str, Any]]:
    """The best of several times, taken in turns; the loop from a sample."""
    ids, numbers, rows = list(model.users_.labels), np.arange(len(model.users_)), csr_matrix(model.train_)
    more = len(ids) / len(users)

    def theirs() -> dict[str, float]:
        return {"seconds": seconds(lambda: als.recommend(numbers, rows, N=10))}

    def loop() -> dict[str, float]:
        took = seconds(lambda: [plain.ranked(user, plain.train)[:10] for user in users])
        return {"seconds": more * took, "extrapolated from users": len(users)}

    turns = [
        {
            "corml": {"seconds": seconds(lambda: model.recommend(ids))},
            "implicit": faster(theirs, "seconds"),
            "plain loop": faster(loop, "seconds"),
        }
        for _ in range(TIMES)
    ]
    best = {name: min((turn[name] for turn in turns), key=lambda one: one["seconds"]) for name in turns[0]}
    return {
        name: {**one, "seconds": round(one["seconds"], 2), "users a second": round(len(ids) / one["seconds"])}
        for name, one in best.items()
    }


def evaluation(model: corml.CoRML, split: corml.Split, plain: Plain, users: list[int]) -> dict[str, Any]:
    """Every metric at three cuts: of corml for everyone and with intervals, of the loop for a sample without."""
    outcomes: list[Any] = []

    def ours() -> dict[str, float]:
        return {"seconds": seconds(lambda: outcomes.append(corml.evaluate(model, split, METRICS)))}

    def loop() -> dict[str, float]:
        return {"seconds": seconds(lambda: outcomes.append(plain.evaluate(users)))}

    turns = [(ours(), faster(loop, "seconds")) for _ in range(TIMES)]
    corml_, plain_ = (min(times, key=lambda one: one["seconds"]) for times in zip(*turns, strict=True))
    result, values = outcomes[0], outcomes[1]
    agree(result, values, [split.train.users.labels[user] for user in users])
    whole = plain_["seconds"] / len(users) * len(result.users)
    return {
        "users": len(result.users),
        "metrics": len(METRICS),
        "ndcg@10": result["ndcg@10"],
        "corml": {"seconds": round(corml_["seconds"], 2)},
        "plain loop": {**plain_, "seconds": round(whole, 1), "extrapolated from users": len(users)},
        "times faster": round(whole / corml_["seconds"], 1),
    }


def agree(result: corml.Result, values: dict[str, list[float]], users: list[str]) -> None:
    """The loop must find what corml finds, or it would be no comparison."""
    position = {user: row for row, user in enumerate(result.users)}
    rows = [position[user] for user in users]
    assert set(values) == set(METRICS)
    for metric, per_user in result.per_user.items():
        np.testing.assert_allclose(np.mean(values[metric]), per_user[rows].mean(), rtol=1e-3, err_msg=metric)


def draw(record: dict[str, Any]) -> None:
    figure, axes = panels(3, height=2.1)
    quantities = (
        ("one list, median ms", record["single"], "p50 ms"),
        ("everyone, lists a second", record["batch"], "users a second"),
        ("evaluation, seconds", record["evaluate"], "seconds"),
    )
    for ax, (title, values, key) in zip(axes, quantities, strict=True):
        heights = {name: height for height, name in enumerate(COLOURS) if name in values}
        numbers = [values[name][key] for name in heights]
        bars = ax.barh(list(heights.values()), numbers, color=[COLOURS[name] for name in heights], height=0.65)
        ax.bar_label(bars, [f"{number:,.0f}" if number >= 20 else f"{number:.1f}" for number in numbers], padding=3)
        ax.set_yticks(list(heights.values()), list(heights))
        ax.set(xlim=(0, 1.35 * max(numbers)), ylim=(len(COLOURS) - 0.5, -0.5), xticks=[])
        ax.set_title(title, fontsize=10, loc="left")
        ax.spines["bottom"].set_visible(False)
    save(figure, f"serving-{record['data']}")


def main(name: str) -> None:
    need("implicit")
    begun, split = begin(name, packages=("implicit",)), load_split(name)
    model = corml.CoRML().fit(split.train)
    als, plain = fitted_als(csr_matrix(split.train.matrix), model.V_.shape[1]), Plain(model, split)
    counted = np.flatnonzero(split.test.user_degrees > 0)
    users = np.random.default_rng(0).choice(counted, min(SINGLE, len(counted)), replace=False).tolist()
    record: dict[str, Any] = {
        "data": name,
        "users": len(split.train.users),
        "items": len(split.train.items),
        "rank": model.V_.shape[1],
        "single": one_at_a_time(model, als, plain, users),
        "batch": everyone(model, als, plain, users[:SAMPLE]),
        "evaluate": evaluation(model, split, plain, users[:SAMPLE]),
    }
    print(write(f"speed/serving-{name}", begun, record))
    for part in ("single", "batch", "evaluate"):
        print(part, record[part])
    draw(record)
    write_tables()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "gowalla")
