"""Gowalla, whole: the filter of the paper alone, every metric at 5, 10 and 20 in one pass."""

import os
import time
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from corml import CoRML, Interactions, Split, evaluate
from corml._runtime.memory import GIB
from corml.evaluation import metrics
from corml.models.corml.problem import singular_vectors
from corml.models.fitted import Outcome

pytestmark = pytest.mark.large


@pytest.fixture(scope="module")
def gowalla():
    with np.load(Path(os.environ["CORML_DATA"]) / "splits" / "gowalla-seed2026.npz") as saved:
        data, part = Interactions.from_pairs(saved["user"], saved["item"]), saved["split"]
    train, valid, test = (data.where(part == number) for number in range(3))
    return Split(train=train, valid=valid, test=test)


@pytest.fixture(scope="module")
def vectors(gowalla):
    return singular_vectors(gowalla.train.matrix, 256)


def peak_memory(*, reset=False):
    """Most memory this process ever held, in bytes; or since the last reset, where the system can forget."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


def filter_alone(train, vectors, kind, monkeypatch):
    """CoRML with an empty H; fitting H is not what is tested here."""
    model = CoRML(filter=kind, rank=256)
    empty = csr_array((len(train.items),) * 2, dtype=np.float32)
    arrays = {"V": vectors, "H": empty, "degrees": np.maximum(train.item_degrees, 1).astype(float)}
    monkeypatch.setattr(CoRML, "_fit", lambda self, call, **how: Outcome(arrays=arrays, plan=self.plan(train)))
    return model.fit(train)


@pytest.mark.parametrize("kind", ["factored", "elementwise"])
def test_all_metrics_of_all_users_in_one_bounded_pass(gowalla, vectors, kind, monkeypatch):
    model = filter_alone(gowalla.train, vectors, kind, monkeypatch)
    model.recommend(history=[[gowalla.train.items.labels[0]]], k=1)  # compile before the clock starts
    before, start = peak_memory(reset=True), time.perf_counter()

    result = evaluate(model, gowalla, [f"{name}@{k}" for name in metrics.names() for k in (5, 10, 20)])

    print(f"{kind}: {time.perf_counter() - start:.1f} s, {(peak_memory() - before) / GIB:.2f} GiB")
    assert len(result.users) == 29_858
    assert result["ndcg@10"] == pytest.approx(0.1205, abs=3e-4)
    assert result["mrr@10"] == pytest.approx(0.2223, abs=1e-3)
    assert peak_memory() - before < 2 * GIB
