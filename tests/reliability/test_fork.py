"""A fork of a process that used Polars: what needs no Polars works there, what does says so, and nothing hangs."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import corml
from corml._runtime import lazy_polars

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

SOURCE, HERE = Path(corml.__file__).parent, Path(__file__).parent

# A process of its own, because this one may have used Polars or not. Every piece of work gets a fork and some seconds.
PROGRAM = """
import json, os, signal, sys, threading, time
import numpy as np
import corml
from corml import models
from corml.data import write
from corml.evaluation.list_files import read_lists
from support import random_interactions

SECONDS = 30

def in_a_fork(work):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)  # whatever hangs is ended by the system
        try:
            work()
            said = "works"
        except Exception as fault:
            said = f"{type(fault).__name__}: {fault}"
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return said or "hangs"

def held_by_a_thread(lock):
    begun, end = threading.Event(), threading.Event()
    def hold():
        with lock:
            begun.set()
            end.wait()
    threading.Thread(target=hold, daemon=True).start()
    begun.wait()
    return end

data = random_interactions(3, users=60, items=40)
users, items = list(data.users.labels), list(data.items.labels)
model = corml.CoRML(rank=4).fit(data)
model.save("m.corml")
split = corml.split(data, "ratio", seed=1)
split.save("s.split")
lists = model.recommend(users[:2])
A = np.ones((1200, 1200)) + 1200 * np.eye(1200)
A @ A
answers = {"before": in_a_fork(lambda: (data.to_frame().write_csv("early.csv"), corml.load("early.csv")))}

frame = data.to_frame()
frame.write_csv("pairs.csv")  # Polars works in this process from here on
corml.build_store("pairs.csv", "s.store")
for name, work in {
    "load": lambda: corml.load("pairs.csv"),
    "load a frame": lambda: corml.load(frame),
    "load items": lambda: corml.load_items("pairs.csv"),
    "load a store": lambda: corml.load("s.store"),
    "write": lambda: write(data, "again.parquet"),
    "make a store": lambda: corml.build_store("pairs.csv", "t.store"),
    "fit on a store": lambda: corml.fit_store(corml.CoRML(rank=4), corml.Store("s.store")),
    "lists in parts": lambda: corml.recommend_to(model, "lists", k=3),
    "lists as a frame": lambda: lists.to_frame(),
    "read lists": lambda: read_lists("pairs.csv"),
    "export": lambda: corml.export.export_model(model, "parquet", "shop", lists=True, k=3),
    "recommend": lambda: model.recommend(users, k=3),
    "similar": lambda: model.similar(items[:2], k=3),
    "explain": lambda: model.explain(users[0], items[0]),
    "fit": lambda: corml.CoRML(rank=4).fit(data),
    "fit densely": lambda: models.make("ease", {}).fit(data),
    "evaluate": lambda: corml.evaluate(corml.CoRML(rank=4).fit(split.train), split),
    "save and read": lambda: (model.save("n.corml"), corml.read_model("n.corml").recommend(users[:1])),
    "read a split": lambda: corml.read_split("s.split"),
    "multiply": lambda: np.linalg.cholesky(A @ A),
    "fork again": lambda: open("again", "w").write(in_a_fork(lambda: corml.load("pairs.csv"))),
}.items():
    answers[name] = in_a_fork(work)
answers["left behind"] = [name for name in ("lists", "shop", "again.parquet", "t.store") if os.path.exists(name)]
from corml.models import fitted_model; from corml._runtime import parallel
locks = [held_by_a_thread(fitted_model._making), held_by_a_thread(parallel._held().lock)]
answers["while a thread works"] = in_a_fork(
    lambda: (corml.read_model("m.corml").recommend(users), models.make("ease", {}).fit(data))
)
for one in locks:
    one.set()
answers["fork again"] += " " + open("again").read().partition(":")[0]
answers["here"] = len(corml.load("pairs.csv"))
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    paths = os.pathsep.join([str(SOURCE.parent), str(HERE.parent)])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM], cwd=tmp_path_factory.mktemp("fork"), check=True, timeout=300,
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "work",
    [
        *("load", "load a frame", "load items", "load a store", "write", "make a store", "fit on a store"),
        *("lists in parts", "lists as a frame", "read lists", "export"),
    ],
)
def test_work_of_polars_in_a_fork_is_refused_and_does_not_hang(answers, work):
    assert answers[work] == (
        "ForkedError: This process was forked from one that used Polars, whose threads do not survive that: data can "
        "be neither read nor written here. Start processes with multiprocessing.get_context('spawn') or 'forkserver'."
    )


def test_what_is_refused_in_a_fork_is_refused_before_any_work(answers):
    assert answers["left behind"] == []


@pytest.mark.parametrize(
    "work",
    [
        *("recommend", "similar", "explain", "fit", "fit densely", "evaluate", "save and read", "read a split"),
        *("multiply", "while a thread works"),
    ],
)
def test_what_needs_no_polars_works_in_a_fork(answers, work):
    assert answers[work] == "works"


def test_a_fork_of_a_process_that_has_not_used_polars_may_use_it(answers):
    assert answers["before"] == "works"


def test_a_fork_of_a_fork_is_refused_as_well_and_the_first_process_is_not(answers):
    assert answers["fork again"] == "works ForkedError"
    assert answers["here"] > 0


def test_where_threads_cannot_be_listed_polars_may_have_used_some(monkeypatch, tmp_path):
    monkeypatch.setattr(lazy_polars, "TASKS", str(tmp_path / "nothing"))
    assert lazy_polars._threads_run()


def test_polars_is_imported_in_one_place_which_looks_for_a_fork():
    """`from corml._runtime.lazy_polars import polars`, inside the function that needs it; type hints do not run."""
    found = [line for path in sorted(SOURCE.rglob("*.py")) for line in imports_of_polars(path)]
    assert [path.name for path, _ in found] == ["lazy_polars.py"], found


def imports_of_polars(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    blocks = [node for node in ast.walk(tree) if isinstance(node, ast.If)]
    hints = [node for node in blocks if getattr(node.test, "id", "") == "TYPE_CHECKING"]
    unread = {id(inner) for node in hints for inner in ast.walk(node)}
    for node in (node for node in ast.walk(tree) if id(node) not in unread):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        yield from ((path, node.lineno) for name in names if name.split(".")[0] == "polars")
