"""A finished fit is never lost because its file cannot be written: the command keeps it elsewhere and says where."""

import errno
import os
import re
import resource
import shutil
import stat
import subprocess
import sys

import pytest

import corml
from corml.cli import fit as fit_command
from corml.errors import DataError, ResourceError
from corml.models.saved import model_file
from corml.persistence import atomic, unfinished
from support import random_interactions

KEPT = re.compile(r"The fit is not lost: it is kept in '(.+?)'\. When there is room, move it: mv \S+ \S+$")


@pytest.fixture
def elsewhere(here, monkeypatch):
    """A temporary folder and a home of the test's own."""
    for name in ("TMPDIR", "HOME"):
        (here / name).mkdir()
        monkeypatch.setenv(name, str(here / name))
    monkeypatch.setattr("tempfile.tempdir", None)
    return here


@pytest.fixture
def table(elsewhere):
    data = random_interactions(0, 60, 40, 8)
    lines = [f"u{user},i{item}" for user, item in zip(data.user, data.item, strict=True)]
    (elsewhere / "a.csv").write_text("\n".join(["user,item", *lines]))
    (elsewhere / "models").mkdir()
    return elsewhere


def full_disk(monkeypatch, folder):
    """Have files in a folder, and those beneath it, fail as on a full disk; others are written."""
    fill = atomic._fill

    def fails_there(handle, parts):
        if os.readlink(f"/proc/self/fd/{handle}").startswith(str(folder)):
            os.write(handle, b"some of it")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fill(handle, parts)

    monkeypatch.setattr(atomic, "_fill", fails_there)


def test_a_disk_that_is_full_after_the_fit_costs_no_fit(run, table, monkeypatch):
    full_disk(monkeypatch, table / "models")
    made = run("fit", "a.csv", "--model", "item-knn", "--out", "models/a.corml")
    assert made.code == 3
    assert "Could not write 'models/a.corml': No space left on device." in made.err
    kept = KEPT.search(made.err.strip())[1]
    assert kept.startswith(str(table / "TMPDIR"))
    assert corml.read_model(kept).recommend(["u1"], k=3).items.shape == (1, 3)
    assert os.listdir(table / "models") == []


def test_a_kept_model_is_for_its_user_alone(run, table, monkeypatch):
    full_disk(monkeypatch, table / "models")
    kept = KEPT.search(run("fit", "a.csv", "--model", "item-knn", "--out", "models/a.corml").err.strip())[1]
    assert stat.S_IMODE(os.stat(os.path.dirname(kept)).st_mode) == 0o700


@pytest.mark.parametrize("fault", [ResourceError("Scores need 9 GiB."), MemoryError(), OSError(errno.ENOMEM, "no")])
@pytest.mark.parametrize("step", ["corml.evaluate", "corml.cli.fit.refit"])
def test_memory_that_runs_out_after_the_fit_costs_no_fit(run, table, monkeypatch, step, fault):
    def fails(*args, **more):
        raise fault

    monkeypatch.setattr(step, fails)
    made = run("fit", "a.csv", "--split", "ratio", "--model", "item-knn", "--out", "models/a.corml")
    assert made.code == 4
    assert ("Scores need 9 GiB." if isinstance(fault, ResourceError) else "There was not enough memory.") in made.err
    kept = corml.read_model(KEPT.search(made.err.strip())[1])
    assert kept.recommend(["u1"], k=3).items.shape == (1, 3)
    assert ("metrics" in kept.fitted_.evaluation) == (step != "corml.evaluate")
    assert not os.path.exists("models/a.corml")


def test_a_mistake_after_the_fit_is_no_shortage(run, table, monkeypatch):
    monkeypatch.setattr("corml.evaluate", lambda *args, **more: 1 / 0)
    made = run("fit", "a.csv", "--split", "ratio", "--model", "item-knn", "--out", "models/a.corml")
    assert (made.code, "kept" in made.err) == (1, False)


def test_the_advised_command_moves_the_kept_model(run, table, monkeypatch):
    with monkeypatch.context() as full:
        full_disk(full, table / "models")
        said = run("fit", "a.csv", "--model", "item-knn", "--out", "models/a.corml").err
    subprocess.run(said.strip().partition("move it: ")[2], shell=True, check=True)
    assert corml.read_model("models/a.corml").NAME == "item-knn"


def test_a_folder_that_went_during_the_fit_costs_no_fit(run, table, monkeypatch):
    learn = fit_command._fit

    def learn_and_lose_the_folder(*given, **options):
        made = learn(*given, **options)
        shutil.rmtree("models")
        return made

    monkeypatch.setattr(fit_command, "_fit", learn_and_lose_the_folder)
    made = run("fit", "a.csv", "--model", "item-knn", "--out", "models/a.corml")
    assert made.code == 3
    assert "The folder 'models' does not exist" in made.err
    assert corml.read_model(KEPT.search(made.err.strip())[1]).NAME == "item-knn"


def short_at_first(monkeypatch, place, name):
    """Have memory run out the first time that something is called."""
    work, calls = getattr(place, name), []

    def short(*given):
        calls.append(1)
        if len(calls) == 1:
            raise MemoryError
        return work(*given)

    monkeypatch.setattr(place, name, short)


@pytest.mark.parametrize(("place", "name"), [(model_file, "pieces"), (model_file, "check_learned")])
def test_memory_that_runs_out_during_a_save_costs_no_fit(run, table, monkeypatch, place, name):
    short_at_first(monkeypatch, place, name)
    made = run("fit", "a.csv", "--model", "item-knn", "--out", "models/a.corml")
    assert made.code == 4
    assert "There is not enough memory to write 'models/a.corml'" in made.err
    assert corml.read_model(KEPT.search(made.err.strip())[1]).NAME == "item-knn"


def test_an_update_with_a_new_fit_is_kept_too_and_the_old_file_stays(run, table, monkeypatch):
    assert run("fit", "a.csv", "--model", "item-knn", "--out", "models/a.corml").code == 0
    before = (table / "models" / "a.corml").read_bytes()
    full_disk(monkeypatch, table / "models")
    made = run("update", "models/a.corml", "--refit")
    assert made.code == 3
    assert corml.read_model(KEPT.search(made.err.strip())[1]).NAME == "item-knn"
    assert (table / "models" / "a.corml").read_bytes() == before


def with_limit_on_files(limit, where):
    words = ["fit", "a.csv", "--model", "popularity", "--out", "models/a.corml"]
    return subprocess.run(
        [sys.executable, "-m", "corml", *words],
        capture_output=True,
        text=True,
        cwd=where,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )


def test_where_there_is_room_only_without_histories_those_are_left_out_and_that_is_said(table):
    model = corml.Popularity().fit(corml.load(table / "a.csv"))
    sizes = []
    for history in (True, False):
        model.save(table / "size.corml", history=history)
        sizes.append((table / "size.corml").stat().st_size)
    made = with_limit_on_files(sum(sizes) // 2, table)
    assert made.returncode == 3
    kept = re.search(r"it is kept, without the users and their histories, .* in '(.+?)'\.", made.stderr)[1]
    assert len(corml.read_model(kept).users_) == 0


def test_where_nothing_can_be_written_that_is_said_and_nothing_is_left(table):
    made = with_limit_on_files(100, table)
    assert made.returncode == 3
    assert made.stderr.splitlines()[-1].endswith("No other place could be written either: make room and run it again.")
    left = [name for folder in ("models", "TMPDIR", "HOME", ".") for name in os.listdir(table / folder)]
    assert not [name for name in left if "kept" in name or name.endswith((".tmp", ".corml"))]


def test_in_python_the_model_is_as_it_was_after_a_failed_save_and_the_error_says_so(tmp_path, monkeypatch):
    model = corml.Popularity().fit(random_interactions(0, 60, 40, 8))
    full_disk(monkeypatch, tmp_path)
    with pytest.raises(DataError, match=r"No space left .* still in memory and can be saved in another place"):
        model.save(tmp_path / "a.corml")
    monkeypatch.undo()
    model.save(tmp_path / "a.corml")
    with monkeypatch.context() as short:
        short.setattr(model_file, "pieces", lambda *given: (_ for _ in ()).throw(MemoryError()))
        with pytest.raises(ResourceError, match=r"not enough memory to write .* still in memory"):
            model.save(tmp_path / "a.corml")
    with pytest.raises(DataError, match=r"does not exist: create it first.* still in memory"):
        model.save(tmp_path / "none" / "a.corml")


@pytest.fixture
def studio(table):
    """Fits in a studio that keeps models nobody named in a folder of its own; gives what the job said at the end."""
    pytest.importorskip("msgspec")
    from corml.service.studio.jobs import Job
    from corml.service.studio.process import Studio

    def fit(out=None):
        with unfinished.listed(table / "models"):
            page, job = Studio(table / "models", 0, "a", announce=lambda text: None), Job(1, "a", "item-knn")
            page.open_data(lambda *given: corml.load(table / "a.csv"), "item-knn", {}, None)
            page._work(job, out or table / "models" / "a.corml", {})
        return job.last

    return fit


@pytest.mark.parametrize("named", [True, False], ids=["a file that was named", "a file of the studio"])
def test_a_fit_of_the_studio_is_kept_too(studio, table, monkeypatch, named):
    (table / "named").mkdir()
    full_disk(monkeypatch, table / ("named" if named else "models"))
    last = studio(table / "named" / "a.corml" if named else None)
    assert last.state == "failed"
    assert corml.read_model(KEPT.search(last.text)[1]).NAME == "item-knn"


def test_what_the_studio_keeps_is_not_in_the_folder_that_goes_with_it(studio, table, monkeypatch):
    short_at_first(monkeypatch, model_file, "pieces")
    kept = KEPT.search(studio().text)[1]
    assert not kept.startswith(str(table / "models"))
    assert corml.read_model(kept).NAME == "item-knn"
