"""An estimate of a fit on a store grows with the data, and predicts the tasks and bytes of a real fit."""

import math
import shutil
from collections import defaultdict
from typing import ClassVar

import pytest

import corml
from corml._runtime import memory
from corml.errors import DataError, ResourceError, SettingError, UsageError
from corml.linalg import svd
from corml.linalg.sparse import normalised
from corml.outofcore import Shape
from corml.outofcore.fit import estimate as estimating
from corml.outofcore.fit import files as cuts
from corml.outofcore.fit.estimate import RATES, StorePlan, measure_rates, words
from corml.outofcore.fit.stages import LISTS, STORE
from corml.outofcore.tasks import Serial, cluster
from support import flip_last_bit, random_interactions

NANO = dict.fromkeys(RATES, 1e-9)  # a nanosecond for everything
SHAPE = {"interactions": 10**8, "users": 10**7, "items": 250_000}


@pytest.fixture(autouse=True)
def _large_tasks(monkeypatch):
    """Tasks of their real size, unless a test says otherwise."""
    monkeypatch.setattr(cuts, "PAIRS", 1 << 24)
    monkeypatch.setattr(cuts, "VISITS", 1 << 28)
    monkeypatch.setattr(cuts, "GATHERS", 1 << 30)


def estimated(model=None, *, nodes=1, cores=4, rates=NANO, **shape):
    return corml.estimate(model or corml.CoRML(), Shape(**{**SHAPE, **shape}), nodes=nodes, cores=cores, rates=rates)


def by_name(found):
    return {cost.stage.name: cost for cost in found.stages}


# --- growth --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", ["interactions", "users", "items"])
def test_more_data_take_more_time_and_memory(size):
    less, more = estimated(), estimated(**{size: 2 * SHAPE[size]})
    assert more.seconds > less.seconds
    assert by_name(more)[LISTS].core_seconds >= by_name(less)[LISTS].core_seconds
    if size != "interactions":
        assert more.driver_bytes > less.driver_bytes


def test_more_nodes_take_less_time_but_no_less_work():
    one, eight = estimated(nodes=1), estimated(nodes=8)
    assert eight.seconds < one.seconds / 4
    assert [a.core_seconds for a in eight.stages] == [a.core_seconds for a in one.stages]
    assert by_name(eight)[STORE].task_seconds == by_name(one)[STORE].task_seconds  # made by one process


def test_more_cores_take_less_time_and_more_memory_of_a_worker():
    one, eight = estimated(cores=1), estimated(cores=8)
    assert eight.seconds < one.seconds / 3
    assert eight.worker_bytes > one.worker_bytes


def test_nodes_without_a_task_do_not_help():
    few, many = (by_name(estimated(nodes=nodes)) for nodes in (10, 1000))
    assert few["candidates"].stage.tasks < 10
    assert many["candidates"].task_seconds == few["candidates"].task_seconds


def test_seconds_are_work_times_rates():
    slower = estimated(cores=1, rates=NANO | {"price": 3e-9})
    before, after = by_name(estimated(cores=1))["pricing"], by_name(slower)["pricing"]
    assert after.core_seconds - before.core_seconds == pytest.approx(2e-9 * before.stage.work["price"])


def test_filter_selection_is_a_second_rough_fit():
    names = [cost.stage.name for cost in estimated().stages]
    without = [cost.stage.name for cost in estimated(corml.CoRML(adapt=False)).stages]
    assert without == [name for name in names if not name.startswith("filter selection")]
    assert "filter selection: solve" in names


def test_the_assumptions_of_a_shape_follow_from_its_counts():
    found = estimated(user_skew=3, distinct=0.25)
    assert found.counts.unevenness == pytest.approx({"user_skew": 3, "distinct": 0.25})
    assert found.counts.visits == pytest.approx(3 * 10**8 * 10)


def test_the_solver_multiplies_by_rows_where_items_have_many_users():
    assert by_name(estimated(items=20_000))["solve"].stage.kernel == "product_by_rows"
    assert by_name(estimated(interactions=5 * 10**6, users=250_000))["solve"].stage.kernel == "product_by_users"


# --- against a real fit ----------------------------------------------------------------------------------------------


class Counting(Serial):
    rounds: ClassVar = defaultdict(list)  # of each kernel: the number of tasks
    written: ClassVar = defaultdict(int)  # bytes of arrays

    def run(self, tasks, progress=None):
        facts = super().run(tasks, progress)
        kernel = tasks[0].kernel.partition(":")[2]
        self.rounds[kernel].append(len(tasks))
        for task in tasks:
            opened = self.artefacts.open(task.key)
            self.written[kernel] += sum(opened[name].nbytes for name in opened.names)
        return facts


@pytest.fixture
def counting(monkeypatch):
    monkeypatch.setattr(cluster, "Serial", Counting)
    Counting.rounds.clear()
    Counting.written.clear()
    return Counting


@pytest.mark.parametrize("way", ["product_by_rows", "product_by_users"])
def test_tasks_and_bytes_are_those_of_a_real_fit(store, counting, monkeypatch, way):
    monkeypatch.setattr(cuts, "PAIRS", 3000)
    monkeypatch.setattr(cuts, "VISITS", 30_000)
    monkeypatch.setattr(cuts, "GATHERS", 700_000)
    for module in ("pair_work", "stages"):
        cost = 1e9 if way == "product_by_rows" else 1e-9
        monkeypatch.setattr(f"corml.outofcore.fit.{module}.A_USER_GATHER", cost)
    model = corml.CoRML(adapt=False, candidates=25, rank=32)
    stages = {stage.name: stage for stage in corml.plan_store(model, store).stages}
    pairs = 2 * corml.fit_store(model, store).fitted_.certificates[0].pairs
    for name in ("matrix", "V", "candidates", "cross term, pairs", "solve", "pricing"):
        stage = stages[name]
        assert set(counting.rounds[stage.kernel]) == {stage.tasks}, name
    assert stages["solve"].kernel == way
    assert len(counting.rounds["matrix"]) <= 1
    assert len(counting.rounds["strongest"]) == stages["candidates"].runs
    assert len(counting.rounds["prices"]) >= stages["pricing"].runs
    assert len(counting.rounds["product"]) == pytest.approx(
        stages["V"].runs + stages["cross term, factors"].runs, rel=0.6
    )
    assert len(counting.rounds[way]) == pytest.approx(stages["solve"].runs, rel=0.5)
    assert counting.written["join_parts"] == stages["matrix"].written
    assert counting.written["product"] / len(counting.rounds["product"]) == pytest.approx(
        stages["V"].written / stages["V"].runs, rel=0.1
    )
    whole = counting.written[way] / len(counting.rounds[way])
    assert whole == 4 * pairs * (1 if way == "product_by_rows" else stages["solve"].tasks)
    assert stages["solve"].written / stages["solve"].runs == pytest.approx(whole, rel=0.1)


def test_the_work_of_the_driver_on_v_is_in_proportion_to_that_of_real_iterations(store, monkeypatch):
    flops, blocks, rank = [], [], 64

    def counted(name, count):
        real = getattr(svd, name)

        def call(*args):
            flops.append(count(*args))
            return real(*args)

        monkeypatch.setattr(svd, name, call)

    counted("_take_off", lambda W, known, parts: 2 * W.size * known.shape[1])
    counted("taken_off", lambda W, known: 2 * W.size * known.shape[1])
    counted("_combined", lambda Q, S: 2 * Q.size * S.shape[1])
    counted("_orthonormal", lambda W: blocks.append(W) or 0)
    data = store.interactions()
    stage = {
        stage.name: stage
        for stage in corml.plan_store(corml.CoRML(adapt=False, solver="sparse", rank=rank), store).stages
    }["V"]
    svd.right_vectors(normalised(data.matrix, 0.4, 0.4), rank, svd.RESIDUAL)
    share = stage.driver["thin"] / stage.runs / (sum(flops) / len(blocks))
    assert 0.45 < share < 0.65  # of random data, which restart more often than data with some structure


@pytest.mark.parametrize("settings", [{}, {"candidates": 20}], ids=["all pairs", "some"])
def test_the_plan_of_a_store_equals_that_of_its_fit(any_store, counting, settings):
    model = corml.CoRML(adapt=False, rank=16, **settings)
    plan = corml.plan_store(model, any_store)
    assert isinstance(plan, StorePlan)
    real = corml.fit_store(model, any_store).fitted_.plan
    for name in ("solver", "rank", "ridge", "learn_rank", "candidates"):
        assert getattr(plan, name) == getattr(real, name), name
    for name in ("pairs", "max_pairs", "predicted_bytes", "predicted_seconds"):  # sums may be rounded differently
        assert getattr(plan, name) == pytest.approx(getattr(real, name), rel=0.01), name
    assert plan.report()["tasks"] == sum(stage.all_tasks for stage in plan.stages)
    matrix = next(stage for stage in plan.stages if stage.name == "matrix")
    assert counting.written["join_parts"] == matrix.written


def test_a_plan_holds_no_interactions(store, monkeypatch):
    def read(*_):
        raise AssertionError("all pairs were loaded")

    monkeypatch.setattr(corml.Store, "interactions", read)
    monkeypatch.setattr(corml.Store, "without_pairs", read)
    assert corml.plan_store(corml.CoRML(), store).pairs > 0


def test_a_plan_of_a_store_that_lacks_a_file_names_it(store, tmp_path):
    shutil.copytree(store.path, tmp_path / "s")
    (tmp_path / "s" / "by_item" / "indices-00000.npy").unlink()
    with pytest.raises(DataError, match=r"by_item/indices-00000\.npy of the store .* cannot be read"):
        corml.plan_store(corml.CoRML(), corml.Store(tmp_path / "s"))


def test_a_plan_that_does_not_fit_is_refused_before_anything_is_made(store):
    with pytest.raises(ResourceError, match=r"the budget is 1\.0 MiB"):
        corml.plan_store(corml.CoRML(max_memory="1MB"), store)
    assert not (store.path / "fit").exists()


def test_an_estimate_of_a_store_has_its_own_counts(store):
    found = corml.estimate(corml.CoRML(), store, rates=NANO, cores=1)
    c = found.counts
    assert (c.users, c.items, c.interactions) == (*store.shape, len(store))
    assert not c.assumed
    assert found.report()["counts"]["visits"] == c.visits
    assert c.visits == sum(float((chunk.indptr[1:] - chunk.indptr[:-1]) @ (chunk.indptr[1:] - chunk.indptr[:-1]))
                           for chunk in store.chunks())  # fmt: skip


# --- rates -----------------------------------------------------------------------------------------------------------


def test_rates_are_measured_once_and_scale_with_the_machine(monkeypatch):
    """A faster machine is faster in everything but the documented rate of making a store."""
    timed, took = [], [1e-3]
    monkeypatch.setattr(estimating, "_seconds", lambda work: timed.append(work()) or took[0])
    estimating._measured.cache_clear()
    slow = measure_rates(3000)
    assert len(timed) == 2
    assert measure_rates(3000) is measure_rates(4000) is slow  # the nearest power of two is the same
    estimating._measured.cache_clear()
    took[0] = 0.5e-3
    fast = measure_rates(3000)
    estimating._measured.cache_clear()
    assert slow.keys() == RATES.keys()
    assert {slow[unit] / fast[unit] for unit in RATES if unit != "row_encoded"} == {2.0}
    assert slow["row_encoded"] == fast["row_encoded"] == 1.25e-6


# --- words and refusals ----------------------------------------------------------------------------------------------


def test_the_sentence_says_how_long_what_takes_most_and_what_the_driver_needs():
    found = estimated(nodes=2, cores=1)
    first = max(found.stages, key=lambda cost: cost.seconds)
    share = round(100 * first.seconds / found.seconds)
    said = found.sentence()
    assert said.startswith(f"About {words(found.seconds)} on 2 nodes of 1 core (estimated); ")
    assert f"{first.stage.name} are {share} % of it" in said
    assert said.endswith(f"the driver needs {memory.size(found.driver_bytes)}.")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (59, "59 s"), (121, "2 min"), (3600, "1 h"), (7800, "2 h 10 min"), (864_000, "10 days")],
)
def test_lengths_of_time_in_words(seconds, text):
    assert words(seconds) == text


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"items": 0}, "items .--items. must be 1 or more; got 0"),
        ({"interactions": 10**14}, "users have at most"),
        ({"nodes": 0}, "nodes .--nodes. must be a whole number from 1"),
        ({"cores": -1}, "cores .--cores. must be"),
        ({"user_skew": 0.5}, "user_skew .--user-skew. must be"),
        *(({"distinct": value}, "distinct .--distinct. must be") for value in (0.0, 1.5, math.nan)),
    ],
)
def test_impossible_numbers_and_assumptions_are_refused(how, message):
    with pytest.raises(UsageError, match=message):
        estimated(**how)


def test_settings_of_fits_in_memory_are_not_estimated():
    with pytest.raises(SettingError, match="filter=factored only"):
        estimated(corml.CoRML(filter="elementwise"))


def test_a_damaged_store_is_named_before_a_kernel_reads_it(tmp_path):
    random_interactions(0, 60, 30, 5).to_frame().write_parquet(tmp_path / "pairs.parquet")
    store = corml.build_store(tmp_path / "pairs.parquet", tmp_path / "pairs.store")
    flip_last_bit(store.path / "by_user" / "indices-00000.npy")  # an item far beyond the catalogue
    for function in (corml.plan_store, corml.fit_store):
        with pytest.raises(DataError, match=r"by_user/indices-00000\.npy .* is damaged"):
            function(corml.CoRML(), corml.Store(store.path))
