"""Tasks on files: what is made once is found again, what is damaged is made again, and nothing is half there."""

import json
import os

import numpy as np
import pytest

from corml.errors import DataError, UsageError
from corml.outofcore.tasks import Artefacts, Damaged, Serial, Task, key_of

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


def flip(artefacts, key, name):
    path = artefacts.path(key, durable=True) / f"{name}.npy"
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1
    path.write_bytes(damaged)


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


def test_kernels_with_one_thread_run_beside_each_other(artefacts, monkeypatch):
    monkeypatch.setenv("CORML_THREADS", "2")
    tasks = [Task(f"{HERE}:meets", params={"number": number}, one_thread=True) for number in range(4)]
    assert [fact["number"] for fact in Serial(artefacts).run(tasks)] == [0, 1, 2, 3]


def test_what_a_task_depends_on_is_its_name_and_where_things_are_is_not(artefacts):
    assert squares(0, 5).key == squares(0, 5).key
    assert squares(0, 5).key == squares(0, 5, places={"path": "elsewhere"}).key
    others = [squares(0, 6), squares(0, 5, inputs={"numbers": "abc"}), Task(f"{HERE}:fills", params={"start": 0})]
    assert len({squares(0, 5).key, *(task.key for task in others)}) == 4
    assert key_of("a", 1) != key_of("a", 2)


def test_what_is_there_is_not_made_again(artefacts, monkeypatch):
    task = squares(0, 5)
    Serial(artefacts).run([task])
    monkeypatch.setattr(Task, "function", lambda self: pytest.fail("it was made again"))
    assert Serial(Artefacts(artefacts.folder)).run([task]) == [{"count": 5}]


@pytest.mark.parametrize("damage", ["bit", "short", "gone", "about", "nonsense", "a fact", "a list"])
def test_a_damaged_artefact_is_noticed_and_made_again(artefacts, damage):
    task = squares(0, 5)
    Serial(artefacts).run([task])
    folder = artefacts.path(task.key, durable=True)
    if damage == "bit":
        flip(artefacts, task.key, "squares")
    elif damage == "short":
        os.truncate(folder / "squares.npy", 100)
    elif damage == "gone":
        (folder / "squares.npy").unlink()
    elif damage == "about":
        (folder / "about.json").write_text("{")
    elif damage == "nonsense":
        (folder / "about.json").write_text(json.dumps({"files": {}}))
    else:
        about = json.loads((folder / "about.json").read_text())
        about |= {"facts": {"count": 4}} if damage == "a fact" else {"files": [1]}
        (folder / "about.json").write_text(json.dumps(about))
    again = Artefacts(artefacts.folder)  # as another process: this one believes what it wrote
    with pytest.raises(Damaged, match=task.key):
        again.open(task.key)
    assert Serial(again).run([task]) == [{"count": 5}]
    assert again.open(task.key)["squares"].tolist() == [0, 1, 4, 9, 16]


def test_a_damaged_input_is_made_again_by_the_task_that_made_it(artefacts):
    first = Task(f"{HERE}:fills", params={"size": 20})
    second = Task(f"{HERE}:squares", {"numbers": first.key}, {"start": 2, "stop": 4})
    executor = Serial(artefacts)
    executor.run([first])
    flip(artefacts, first.key, "filled")
    artefacts._whole.clear()
    with pytest.raises(KeyError):  # it was repaired, and has no array «numbers»
        executor.run([second])
    assert artefacts.open(first.key)["filled"].tolist() == list(range(20))


def test_what_the_driver_kept_cannot_be_repaired_and_says_so(artefacts):
    key = artefacts.keep(numbers=np.arange(9))
    flip(artefacts, key, "numbers")
    artefacts._whole.clear()
    with pytest.raises(Damaged):
        Serial(artefacts).run([squares(0, 3, inputs={"numbers": key})])
    assert artefacts.find(key) is None  # so that the next run makes it anew
    assert artefacts.keep(numbers=np.arange(9)) == key
    assert Serial(artefacts).run([squares(0, 3, inputs={"numbers": key})]) == [{"count": 3}]


def test_a_kernel_that_fails_leaves_nothing(artefacts):
    task = Task(f"{HERE}:fails")
    with pytest.raises(ZeroDivisionError):
        Serial(artefacts).run([task])
    assert artefacts.find(task.key) is None
    assert [path for path in artefacts.folder.rglob("*") if path.is_file()] == []


def test_arrays_are_kept_by_what_they_hold(artefacts):
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
def test_only_kernels_of_ours_are_called(kernel):
    with pytest.raises(UsageError, match="no kernel of corml"):
        Task(kernel).function()


def test_the_room_of_a_mapped_file_is_taken_before_it_is_filled(artefacts, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    task = Task(f"{HERE}:fills", params={"size": 20})
    with pytest.raises(DataError, match="No space left"):
        Serial(artefacts).run([task])
    monkeypatch.undo()


def test_a_full_disk_is_an_error_that_says_what_to_do(artefacts, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(DataError, match=r"No space left.*What is finished stays"):
        artefacts.keep(a=np.arange(3))
    monkeypatch.undo()
    assert artefacts.open(artefacts.keep(a=np.arange(3)))["a"].tolist() == [0, 1, 2]
