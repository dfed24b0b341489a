"""Workers of a cluster make the lists, and measure them, to the bytes and figures of one process."""

import json
import os
import shutil
from datetime import timedelta

import numpy as np
import polars as pl
import pytest

import corml
from corml.errors import UsageError
from corml.evaluation import sharded
from corml.outofcore.lists import sizes

pytest.importorskip("distributed")

from corml.outofcore.tasks.cluster import Dask, local_workers

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask warns of ports and forks as it closes

METRICS = ["ndcg@10", "mrr@5", "novelty@10", "diversity@5", "coverage@10", "gini@10", "coverage@20"]


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    monkeypatch.setattr(sizes, "PIECE", 50)
    monkeypatch.setattr(sizes, "PIECES", 2)
    monkeypatch.setattr(sharded, "AT_ONCE", 60)
    monkeypatch.setattr(sharded, "A_TASK", 100)


@pytest.fixture(scope="module")
def two():
    with local_workers(2) as client:
        yield client


@pytest.fixture(scope="module")
def model(in_memory):
    items = in_memory.items.labels
    kinds = ["even" if number % 2 == 0 else "odd" for number in range(len(items))]
    table = pl.DataFrame({"item": list(items), "price": [number % 9 for number in range(len(items))], "kind": kinds})
    return corml.CoRML(rank=8, max_steps=20).fit(in_memory).with_items(table)


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


OPTIONS = [
    {},
    {"seen": "allow", "exclude_recent": "1000s"},
    {"exclude": ["i1", "i2"], "diversity": 0.3, "boost": {"i3": 2.0}},
    {"only": ("i1", "i2", "i3", "i4")},
    {"only": {"price": (2, 6)}},
    {"exclude": {"kind": ["even"]}},
    {"exclude": pl.Series(["i1", "i2", "i3"])},
    {"exclude": dict.fromkeys(["i1", "i2", "i3"]).keys()},
    {"seen": "allow", "exclude_recent": timedelta(seconds=1000)},
]


CASES = [(options, of_store) for options in OPTIONS for of_store in (False, True)]
REPRESENTATIVE = [(OPTIONS[0], False), (OPTIONS[2], True), (OPTIONS[4], True)]


@pytest.mark.parametrize(
    ("options", "of_store"),
    [pytest.param(*case, marks=() if case in REPRESENTATIVE else pytest.mark.slow) for case in CASES[:12]]
    + [pytest.param(*case, marks=pytest.mark.slow) for case in CASES[12:]],
    ids=[f"{'-'.join(options) or 'none'}-{'store' if of_store else 'users'}" for options, of_store in CASES],
)
def test_lists_have_the_bytes_of_one_process(model, shop, two, tmp_path, options, of_store):
    data = shop if of_store else None
    alone = corml.recommend_to(model, tmp_path / "alone", data=data, k=6, **options)
    made = corml.recommend_to(model, tmp_path / "two", data=data, k=6, cluster=two, **options)
    assert made.parts > 3
    assert files_of(tmp_path / "two") == files_of(tmp_path / "alone")
    assert (made.lists, made.rows, made.with_reason, made.found) == (
        alone.lists, alone.rows, alone.with_reason, 0,
    )  # fmt: skip


def test_parts_that_are_there_are_not_made_again(model, shop, two, tmp_path):
    corml.recommend_to(model, tmp_path / "alone", data=shop, k=6)
    shutil.copytree(tmp_path / "alone", tmp_path / "two")
    os.unlink(tmp_path / "two" / "part-00001.parquet")
    made = corml.recommend_to(model, tmp_path / "two", data=shop, k=6, cluster=two)
    assert made.found == made.parts - 1
    assert files_of(tmp_path / "two") == files_of(tmp_path / "alone")


def test_progress_counts_the_users_of_finished_parts(model, shop, two, tmp_path):
    told = []
    corml.recommend_to(model, tmp_path / "two", data=shop, k=6, cluster=two, progress=lambda *step: told.append(step))
    parts = json.loads((tmp_path / "two" / "manifest.json").read_text())["parts"]
    finished = np.cumsum([0, *(part["users"] for part in parts)]).tolist()
    counted = [done for _, done, _ in told]
    assert {total for _, _, total in told} == {finished[-1]}
    assert (counted[0], counted[-1]) == (0, finished[-1])
    assert counted == sorted(counted)
    assert set(counted) <= set(finished)  # whole parts, each once


def test_stopped_between_parts_the_work_of_the_workers_is_taken_up(model, shop, two, tmp_path, monkeypatch):
    """A kill after all tasks were done, while the first files were being given their names."""
    from corml.outofcore.lists.manifest import Manifest

    corml.recommend_to(model, tmp_path / "alone", data=shop, k=6)
    whole, moved = Manifest.add, []

    def add(self, part):
        moved.append(part)
        if len(moved) == 2:
            raise KeyboardInterrupt
        whole(self, part)

    monkeypatch.setattr(Manifest, "add", add)
    with pytest.raises(KeyboardInterrupt):
        corml.recommend_to(model, tmp_path / "two", data=shop, k=6, cluster=two)
    monkeypatch.setattr(Manifest, "add", whole)
    submitted = []
    send = Dask._submit
    monkeypatch.setattr(Dask, "_submit", lambda self, task: (submitted.append(task), send(self, task))[1])
    made = corml.recommend_to(model, tmp_path / "two", data=shop, k=6, cluster=two)
    assert made.found == 1
    assert len(submitted) == 1  # the part whose file had been moved, and was in no manifest
    assert files_of(tmp_path / "two") == files_of(tmp_path / "alone")


def test_who_goes_on_without_workers_leaves_nothing_of_theirs(model, two, tmp_path, monkeypatch):
    from corml.outofcore.lists.manifest import Manifest

    corml.recommend_to(model, tmp_path / "alone", k=6)
    with monkeypatch.context() as stopped:
        stopped.setattr(Manifest, "add", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            corml.recommend_to(model, tmp_path / "two", k=6, cluster=two)
    assert (tmp_path / "two" / ".work").is_dir()
    corml.recommend_to(model, tmp_path / "two", k=6)
    assert files_of(tmp_path / "two") == files_of(tmp_path / "alone")


def test_another_store_under_the_same_path_is_refused_by_the_worker(model, shop, tmp_path):
    from corml.outofcore import workers
    from corml.outofcore.lists.on_cluster import keep_model
    from corml.outofcore.tasks import Artefacts, Serial, Task

    artefacts = Artefacts(tmp_path)
    artefacts.prepare()
    request = {"users": {"count": 3, "store": "another"}}
    params = {"first": 0, "last": 3, "k": 5, "piece": 3, "request": request, "now": None}
    places = {"options": {}, "store": str(shop.path)}
    task = Task("corml.outofcore.workers:lists", {"model": keep_model(artefacts, model, "one")}, params, places)
    with pytest.raises(UsageError, match="is another store on a worker"):
        Serial(artefacts).run([task])
    assert not workers._users.cache_info().currsize
    workers._read.cache_clear()


def test_a_store_that_was_made_anew_is_opened_anew_by_a_worker_that_lives(model, two, tmp_path):
    """The same path, other people: a worker must not answer with those it knew."""
    for number, users in enumerate((["a", "b"], ["a", "c", "d"])):
        shutil.rmtree(tmp_path / "shop.store", ignore_errors=True)
        pairs = pl.DataFrame({"user": users, "item": [f"i{at + 1}" for at in range(len(users))]})
        pairs.write_parquet(tmp_path / "pairs.parquet")
        store = corml.build_store(tmp_path / "pairs.parquet", tmp_path / "shop.store")
        made = corml.recommend_to(model, tmp_path / f"lists-{number}", data=store, k=3, cluster=two)
        assert made.lists == len(users)
        assert set(pl.read_parquet(tmp_path / f"lists-{number}" / "*.parquet")["user"]) == set(users)


def test_a_token_that_a_kill_left_does_no_harm(model, two, tmp_path):
    """A kill while workers are asked whether they reach the folder."""
    from corml.outofcore.tasks import working_in

    for _ in range(2):
        with working_in(tmp_path / "work", "lists"):
            (tmp_path / "work" / ".token-abc").write_text("x")
    with working_in(tmp_path / "work", "lists"):
        assert not (tmp_path / "work" / ".token-abc").exists()
    assert not (tmp_path / "work").exists()


def test_work_is_a_word_for_workers(parts_of):
    split = parts_of("ratio")
    with pytest.raises(UsageError, match="give cluster with it"):
        corml.evaluate(corml.Popularity().fit(split.train.interactions()), split, work="somewhere")


def test_what_workers_cannot_know_is_refused_before_anything_is_written(model, two, tmp_path):
    with pytest.raises(UsageError, match="for all users of the model"):
        corml.recommend_to(model, tmp_path / "lists", ["u1"], cluster=two)
    assert not (tmp_path / "lists").exists()


@pytest.mark.parametrize("rules", [None, corml.ListRules(diversity=0.5, boost={"i3": 2.0})], ids=["plain", "rules"])
@pytest.mark.parametrize("how", ["ratio", pytest.param("new-users", marks=pytest.mark.slow)])
def test_figures_are_those_of_one_process(parts_of, two, how, rules, monkeypatch):
    split = parts_of(how)
    fitted = corml.CoRML(rank=8, max_steps=20).fit(split.train.interactions())
    tasks = []
    send = Dask._submit
    monkeypatch.setattr(Dask, "_submit", lambda self, task: (tasks.append(task), send(self, task))[1])
    monkeypatch.setattr(type(fitted), "_block_shape", lambda self, X: (20, X.shape[1]))
    made = corml.evaluate(fitted, split, METRICS, rules=rules, cluster=two)
    alone = corml.evaluate(fitted, split, METRICS, rules=rules)
    assert made.means == alone.means
    assert made.intervals == alone.intervals
    assert made.users.tolist() == alone.users.tolist()
    for label, values in alone.per_user.items():
        np.testing.assert_array_equal(made.per_user[label], values)
    assert len(tasks) > (1 if rules is None else 0)  # by rules all of these users are one block
    assert not (split.path / "evaluation").exists()


def test_only_the_split_of_a_store_is_evaluated_by_workers(parts_of, two):
    split = parts_of("ratio").interactions()
    with pytest.raises(UsageError, match="split of a store"):
        corml.evaluate(corml.Popularity().fit(split.train), split, cluster=two)


def test_pieces_of_a_split_do_not_depend_on_how_the_store_is_cut(parts_of, monkeypatch):
    from corml.splits import _store

    split = parts_of("ratio")
    fitted = corml.Popularity().fit(split.train.interactions())
    whole = corml.evaluate(fitted, split, METRICS)
    monkeypatch.setattr(_store, "PIECE", 37)
    assert split.n_pieces > 5
    pieces = corml.evaluate(fitted, split, METRICS)
    assert pieces.means == whole.means
    assert pieces.users.tolist() == whole.users.tolist()
    assert json.dumps(pieces.record()) == json.dumps(whole.record())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["recommend", "m.corml", "--user", "u1", "--workers", "2"],
            "require --all and --out FOLDER/",
        ),
        (["recommend", "m.corml", "--all", "--out", "l.csv", "--workers", "2"], "require --all and --out FOLDER/"),
        (["recommend", "m.corml", "--all", "--out", "l/", "--workers", "0"], "at least 1; got 0"),
        (["evaluate", "m.corml", "data.csv", "--workers", "2"], "Workers evaluate on the split of a store"),
        (["evaluate", "m.corml", "data.csv", "--work", "w"], "--work requires --workers or --cluster."),
        (["evaluate", "m.corml", "p/", "--cluster", "tcp://127.0.0.1:1", "--workers", "1"], "give one of them"),
        (["evaluate", "m.corml", "p/", "--insecure-cluster"], "requires --cluster ADDRESS"),
    ],
)
def test_options_that_would_be_ignored_are_refused(words, says, capsys):
    from corml.cli._main import main

    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 2
    assert says in capsys.readouterr().err.replace("\n", " ")


def test_the_program_shares_the_work(model, parts_of, tmp_path, capsys):
    from corml.cli._main import main

    def told(*words):
        with pytest.raises(SystemExit) as left:
            main([words[0], str(tmp_path / "m.corml"), *words[1:]])
        assert left.value.code == 0
        return capsys.readouterr().out

    model.save(tmp_path / "m.corml")
    told("recommend", "--all", "--out", f"{tmp_path}/alone/")
    told("recommend", "--all", "--out", f"{tmp_path}/shared/", "--workers", "1")
    assert files_of(tmp_path / "alone") == files_of(tmp_path / "shared")
    parts = str(parts_of("ratio").path)
    assert told("evaluate", parts, "--json") == told("evaluate", parts, "--json", "--workers", "1")
