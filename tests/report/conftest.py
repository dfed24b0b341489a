from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from corml.data.interactions import Interactions
from corml.evaluation import Result, evaluate, frontier
from corml.models.corml.estimator import CoRML
from corml.models.linear.popularity import Popularity
from corml.report import METRICS, Cost, Subject, sample_users, samples
from corml.splits import Split, split

HOSTILE = "<script>alert('x')</script> & \"friends\"\u202e\x07"


class Finding(NamedTuple):
    severity: str
    what: str
    advice: str


@dataclass
class Quality:
    facts: list[tuple[str, Any]]
    findings: list[Finding]


@pytest.fixture(scope="session")
def outcome():
    """A result with these means, intervals, values of users, and users."""

    def result(means, intervals=None, per_user=None, users=()):
        return Result(means=means, intervals=intervals or {}, per_user=per_user or {}, users=np.asarray(users))

    return result


@pytest.fixture(scope="session")
def parts() -> Split:
    """Eighty users in two camps of fifteen items each; one item has a title that tries to be markup."""
    rng = np.random.default_rng(3)
    rows = [
        (f"u{user}", f"i{item + 15 * (user % 2)}")
        for user in range(80)
        for item in rng.choice(15, size=6 + user % 5, replace=False, p=np.arange(15, 0, -1) / 120)
    ]
    users, items = zip(*rows, strict=True)
    titles = {f"i{n}": f"Title {n}" for n in range(30)} | {"i0": HOSTILE, "i15": HOSTILE}
    return split(
        Interactions.from_pairs(users, items, titles=titles, source={"from": HOSTILE, "rows": 9}), "ratio", seed=1
    )


@pytest.fixture(scope="session")
def subject(parts: Split) -> Subject:
    models = {"CoRML": CoRML(), "Popularity <b>": Popularity()}
    evaluated = {
        name: (model.fit(parts.train), evaluate(model, parts, METRICS, resamples=50)) for name, model in models.items()
    }
    return Subject(
        name=f"data {HOSTILE}",
        data=parts.train,
        split=parts,
        models=evaluated,
        quality=Quality(
            [("users", 80), ("share of the top", 0.4), ("per user", {"min": 1, "median": 2.0, "max": 9})],
            [Finding("warning", f"odd {HOSTILE}", "fix it"), Finding("note", "a remark", "")],
        ),
        samples=samples(
            evaluated["CoRML"][0], sample_users(parts.train, parts.test), train=parts.train, held_out=parts.test
        ),
        dial=frontier(CoRML.dial(parts.train, (-0.1, 0.1)), parts, METRICS),
        costs={"CoRML": Cost(fit_seconds=6.234, file_bytes=12_300)},
        versions={"corml": "1.2.3"},
        command="corml demo --data 'a<b'",
    )
