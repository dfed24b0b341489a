"""Tasks on files: finished work is found again, damaged artefacts are rebuilt, and none is incomplete."""

import json
import os

import numpy as np
import pytest

from corml.errors import DataError, UsageError
from corml.outofcore.tasks import Artefacts, Damaged, Serial, Task, key_of
from corml.outofcore.tasks.executor import working_in
from support import flip_last_bit

HERE = "corml.kernels_for_tests"


@pytest.fixture(autouse=True)
def _kernels(monkeypatch):
    import sys

    from tasks import kernels_for_tests

    monkeypatch.setitem(sys.modules, HERE, kernels_for_tests)


@pytest.fixture
def artefacts(tmp_path):
    made = Artefacts(tmp_path / "work")
    made.prepare()
    return made


def squares(start, stop, **more):
    return Task(f"{HERE}:squares", params={"start": start, "stop": stop}, **more)


def test_facts_come_in_the_order_of_the_tasks_and_arrays_are_mapped(artefacts):
    tasks = [squares(a, a + 5) for a in (0, 5, 10)]
    seen = []
    facts = Serial(artefacts).run(tasks, lambda done, total: seen.append((done, total)))
    assert facts == [{"count": 5}] * 3
    assert seen == [(1, 3), (2, 3), (3, 3)]
    found = artefacts.open(tasks[1].key)
    assert found["squares"].tolist() == [25, 36, 49, 64, 81]
    assert isinstance(found["squares"], np.memmap)
    assert found.get("cubes") is None


def test_kernels_with_one_thread_run_at_once(artefacts, monkeypatch):
    monkeypatch.setenv("CORML_THREADS", "2")
    tasks = [Task(f"{HERE}:meets", params={"number": number}, one_thread=True) for number in range(4)]
    assert [fact["number"] for fact in Serial(artefacts).run(tasks)] == [0, 1, 2, 3]


def test_the_key_of_a_task_depends_on_its_inputs_and_not_on_places(artefacts):
    assert squares(0, 5).key == squares(0, 5).key
    assert squares(0, 5).key == squares(0, 5, places={"path": "elsewhere"}).key
    others = [squares(0, 6), squares(0, 5, inputs={"numbers": "abc"}), Task(f"{HERE}:fills", params={"start": 0})]
    assert len({squares(0, 5).key, *(task.key for task in others)}) == 4
    assert key_of("a", 1) != key_of("a", 2)


def test_finished_work_is_not_repeated(artefacts, monkeypatch):
    task = squares(0, 5)
    Serial(artefacts).run([task])
    monkeypatch.setattr(Task, "function", lambda self: pytest.fail("it was made again"))
    assert Serial(Artefacts(artefacts.folder)).run([task]) == [{"count": 5}]


def rewrite(**changes):
    """A damage to the description of an artefact."""
    return lambda folder: (folder / "about.json").write_text(
        json.dumps(json.loads((folder / "about.json").read_text()) | changes)
    )


DAMAGES = {
    "bit": lambda folder: flip_last_bit(folder / "squares.npy"),
    "short": lambda folder: os.truncate(folder / "squares.npy", 100),
    "gone": lambda folder: (folder / "squares.npy").unlink(),
    "about": lambda folder: (folder / "about.json").write_text("{"),
    "nonsense": lambda folder: (folder / "about.json").write_text(json.dumps({"files": {}})),
    "a fact": rewrite(facts={"count": 4}),
    "a list": rewrite(files=[1]),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_artefact_is_detected_and_rebuilt(artefacts, damage):
    task = squares(0, 5)
    Serial(artefacts).run([task])
    DAMAGES[damage](artefacts.path(task.key, durable=True))
    again = Artefacts(artefacts.folder)  # as another process: this one believes what it wrote
    with pytest.raises(Damaged, match=task.key):
        again.open(task.key)
    assert Serial(again).run([task]) == [{"count": 5}]
    assert again.open(task.key)["squares"].tolist() == [0, 1, 4, 9, 16]


def test_a_damaged_input_is_rebuilt_by_its_task(artefacts):
    first = Task(f"{HERE}:fills", params={"size": 20})
    second = Task(f"{HERE}:squares", {"numbers": first.key}, {"start": 2, "stop": 4})
    executor = Serial(artefacts)
    executor.run([first])
    flip_last_bit(artefacts.path(first.key, durable=True) / "filled.npy")
    artefacts._whole.clear()
    with pytest.raises(KeyError):  # it was repaired, and has no array «numbers»
        executor.run([second])
    assert artefacts.open(first.key)["filled"].tolist() == list(range(20))


def test_damaged_arrays_of_the_driver_are_an_error_once(artefacts):
    key = artefacts.keep(numbers=np.arange(9))
    flip_last_bit(artefacts.path(key, durable=True) / "numbers.npy")
    artefacts._whole.clear()
    with pytest.raises(Damaged):
        Serial(artefacts).run([squares(0, 3, inputs={"numbers": key})])
    assert artefacts.find(key) is None  # so that the next run writes it
    assert artefacts.keep(numbers=np.arange(9)) == key
    assert Serial(artefacts).run([squares(0, 3, inputs={"numbers": key})]) == [{"count": 3}]


def test_a_kernel_that_fails_leaves_nothing(artefacts):
    task = Task(f"{HERE}:fails")
    with pytest.raises(ZeroDivisionError):
        Serial(artefacts).run([task])
    assert artefacts.find(task.key) is None
    assert [path for path in artefacts.folder.rglob("*") if path.is_file()] == []


def test_arrays_are_named_by_their_contents(artefacts):
    one, same = artefacts.keep(a=np.arange(3), b=np.zeros(2)), artefacts.keep(b=np.zeros(2), a=np.arange(3))
    assert one == same
    for other in ({"a": np.arange(4)}, {"a": np.arange(3)}, {"c": np.arange(3), "b": np.zeros(2)},
                  {"a": np.arange(3, dtype=np.int32), "b": np.zeros(2)}):  # fmt: skip
        assert artefacts.keep(**other) != one


def test_empty_arrays_can_be_kept_and_created(artefacts):
    key = artefacts.keep(nothing=np.zeros(0, dtype=np.int32))
    assert artefacts.open(key)["nothing"].tolist() == []
    task = Task(f"{HERE}:fills", params={"size": 0})
    Serial(artefacts).run([task])
    assert artefacts.open(task.key)["filled"].shape == (0,)


def test_scratch_does_not_outlive_a_run_and_durable_work_does(artefacts):
    tasks = squares(0, 5), squares(5, 9, durable=False)
    Serial(artefacts).run(tasks)
    assert artefacts.open(tasks[1].key)["squares"].tolist() == [25, 36, 49, 64]
    again = Artefacts(artefacts.folder)
    again.prepare()
    assert again.find(tasks[0].key) is not None
    assert again.find(tasks[1].key) is None


@pytest.mark.parametrize(
    "kernel", ["os:system", "corml:_hidden", "corml.outofcore.tasks", "corml.outofcore.tasks:a b", "kernels:squares"]
)
def test_only_kernels_of_corml_are_called(kernel):
    with pytest.raises(UsageError, match="not a kernel of corml"):
        Task(kernel).function()


def no_space(*_, **__):
    raise OSError(28, "No space left on device")


def test_a_full_disk_is_an_error_with_a_remedy_also_for_mapped_files(artefacts, monkeypatch):
    with monkeypatch.context() as full:
        full.setattr(os, "posix_fallocate", no_space)
        with pytest.raises(DataError, match="No space left"):
            Serial(artefacts).run([Task(f"{HERE}:fills", params={"size": 20})])
        full.setattr(np, "save", no_space)
        with pytest.raises(DataError, match=r"No space left.*What is finished stays"):
            artefacts.keep(a=np.arange(3))
    assert artefacts.open(artefacts.keep(a=np.arange(3)))["a"].tolist() == [0, 1, 2]


def test_finished_work_leaves_no_folder(tmp_path):
    with working_in(tmp_path / "work", "a test") as artefacts:
        Serial(artefacts).run([squares(0, 5), squares(5, 10, durable=False)])
    assert not list(tmp_path.iterdir())
