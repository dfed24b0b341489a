"""Under `ulimit -v` a command does its work or says in one sentence that it cannot: no hang, no panic, no traceback."""

import os
import resource
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from corml._runtime import address_space, memory
from corml.cli import _main
from corml.data import _cost, load
from corml.errors import ResourceError

MIB = 1 << 20
THREADS = 2
FLOOR = address_space.ALONE + THREADS * address_space.A_THREAD  # bytes in which every small piece of work can be done
COMMANDS = {
    "fit a CSV": ("fit", "a.csv", "--out", "new.corml"),
    "fit a Parquet": ("fit", "a.parquet", "--out", "new.corml"),
    "fit another model": ("fit", "a.csv", "--model", "ease", "--out", "new.corml"),
    "plan": ("fit", "a.csv", "--plan"),
    "data info": ("data", "info", "a.csv"),
    "data store": ("data", "store", "a.csv", "a.store"),
    "recommend": ("recommend", "a.corml", "--user", "u1"),
    "recommend to all": ("recommend", "a.corml", "--all", "--out", "lists.parquet"),
    "evaluate": ("evaluate", "a.corml", "a.csv", "--split", "ratio"),
    "evaluate on a Parquet": ("evaluate", "a.corml", "a.parquet", "--split", "ratio"),
    "inspect": ("inspect", "a.corml"),
    "compare": ("compare", "a.csv", "--models", "ease,popularity", "--split", "ratio", "--out", "study"),
    "tune": ("tune", "a.csv", "--split", "ratio", "--trials", "2", "--out", "tuned.toml"),
    "similar users": ("similar", "a.corml", "--user", "u1"),
    "export": ("export", "a.corml", "--to", "sqlite", "--out", "a.sqlite"),
}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="addresses are limited on Linux")


def limited(limit, *words, where):
    """Run the program with so many bytes of addresses; gives its exit code and what it said."""
    done = subprocess.run(
        [sys.executable, "-m", "corml", *words],
        capture_output=True,
        text=True,
        cwd=where,
        timeout=120,  # a hang was one of twenty minutes
        env={**os.environ, "CORML_THREADS": str(THREADS)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    return done.returncode, done.stderr


def is_polite(code, said):
    """Whether it worked, or said in one sentence what it lacks; a slow run also tells how far it is."""
    lines = said.splitlines()
    if any(word in said for word in ("Traceback", "panicked", "jemalloc", "OpenBLAS", "ABORT")):
        return False
    errors = [line for line in lines if line.startswith("error[")]
    return errors == [] if code == 0 else code == 4 and len(errors) == 1 and errors[0].startswith("error[memory]: ")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    import polars

    import corml
    from support import random_interactions

    where = tmp_path_factory.mktemp("limited")
    data = random_interactions(0, 60, 40, 8)
    pairs = {"user": [f"u{user}" for user in data.user], "item": [f"i{item}" for item in data.item]}
    polars.DataFrame(pairs).write_csv(where / "a.csv")
    polars.DataFrame(pairs).write_parquet(where / "a.parquet")
    corml.CoRML(rank=4).fit(load(where / "a.csv")).save(where / "a.corml")
    return where


@pytest.fixture(scope="module")
def many_rows(tmp_path_factory):
    import numpy as np
    import polars

    import corml

    where, rng = tmp_path_factory.mktemp("many"), np.random.default_rng(0)
    pairs = {"user": rng.integers(0, 300_000, 1_500_000), "item": rng.integers(0, 300, 1_500_000)}
    frame = polars.DataFrame(pairs).select(polars.format("u{}", "user").alias("user"), polars.format("i{}", "item"))
    frame.columns = ["user", "item"]
    frame.write_csv(where / "a.csv")
    frame.write_parquet(where / "a.parquet")
    corml.models.make("item-knn", {}).fit(load(where / "a.parquet")).save(where / "a.corml")
    return where


@pytest.mark.parametrize("limit", [100, 250, 400, 600, 800, FLOOR // MIB - 1], ids=lambda limit: f"{limit} MiB")
def test_with_too_few_addresses_for_its_libraries_a_csv_is_refused_at_once_and_no_read_hangs(folder, limit):
    begun = time.perf_counter()
    code, said = limited(limit * MIB, "fit", "a.csv", "--out", "none.corml", where=folder)
    assert time.perf_counter() - begun < 10
    assert code == 4
    assert said.startswith("error[memory]: corml needs")
    assert said.endswith("raise it (ulimit -v), or set CORML_THREADS=1.\n")
    assert len(said.splitlines()) == 1
    assert not (folder / "none.corml").exists()


def test_with_as_many_addresses_as_are_asked_for_a_fit_works(folder):
    assert limited(FLOOR, *COMMANDS["fit a CSV"], where=folder)[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("limit", [40, 250, 400, 800, 900, FLOOR // MIB, 1000, 1500, 4000], ids=lambda at: f"{at} MiB")
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_works_or_says_so_under_any_limit_on_addresses(folder, command, limit, tmp_path):
    for name in ("a.csv", "a.parquet", "a.corml"):
        (tmp_path / name).symlink_to(folder / name)
    code, said = limited(limit * MIB, *COMMANDS[command], where=tmp_path)
    assert is_polite(code, said), (code, said[-2000:])
    assert (code == 0) == (limit * MIB >= FLOOR)


def test_all_libraries_are_loaded_before_data_take_the_addresses_they_need(folder):
    """OpenBLAS, loaded when none were left, waited without end, and no signal was heard."""
    check = (
        "import sys; from corml._runtime import address_space as a; "
        "a.prepare(''); print({*a.LIBRARIES} - {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", check],
        capture_output=True,
        text=True,
        env={**os.environ, "CORML_THREADS": str(THREADS)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (FLOOR, FLOOR)),
    )
    assert (done.stdout, done.stderr) == ("set()\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("limit", range(1050, 1801, 50), ids=lambda limit: f"{limit} MiB")
@pytest.mark.parametrize(
    "command", ["fit a CSV", "fit a Parquet", "data info", "evaluate", "evaluate on a Parquet", "recommend to all"]
)
def test_many_rows_are_worked_on_or_refused_under_any_limit_on_addresses(many_rows, command, limit, tmp_path):
    for name in ("a.csv", "a.parquet", "a.corml"):
        (tmp_path / name).symlink_to(many_rows / name)
    words = (*COMMANDS[command], *(("--model", "item-knn") if "fit" in command else ()))
    code, said = limited(limit * MIB, *words, where=tmp_path)
    assert is_polite(code, said), (code, said[-2000:])


def test_reading_asks_for_what_polars_keeps_where_addresses_are_limited(folder, monkeypatch):
    asked, table = [], SimpleNamespace(rows=1000, where="it", extra=lambda columns: 0)
    monkeypatch.setattr(memory, "require", lambda needed, **words: asked.append(needed))
    monkeypatch.setenv("_RJEM_MALLOC_CONF", "dirty_decay_ms:0,muzzy_decay_ms:0")
    for limit in (None, 1 << 40):
        monkeypatch.setattr(memory, "address_limit", lambda limit=limit: limit)
        _cost.require_for_reading(table, 2)
    assert asked == [_cost.PER_ROW * 1000, int(_cost.KEPT * _cost.PER_ROW * 1000)]


def test_data_are_not_read_in_python_either_where_there_are_too_few_addresses(folder, monkeypatch):
    monkeypatch.setattr(memory, "address_limit", lambda: memory.addresses() + address_space.SPARE - 1)
    with pytest.raises(ResourceError, match=r"^Reading data needs .* of addresses .* raise it \(ulimit -v\)"):
        load(folder / "a.csv")


def test_where_addresses_are_limited_some_are_left_for_threads_and_compiled_code(monkeypatch):
    monkeypatch.setattr(memory, "address_limit", lambda: 1000 * MIB)
    monkeypatch.setattr(memory, "addresses", lambda: 500 * MIB)
    assert memory.budget() == int(memory.SHARE * (500 * MIB - memory.UNFILLED))


class PanicException(BaseException):
    """As libraries in Rust raise it: no Exception."""


@pytest.mark.parametrize(
    "fault",
    [
        RuntimeError("can't start new thread"),
        PanicException('ThreadPoolBuildError { kind: IOError(Os { message: "Resource temporarily unavailable" }) }'),
        OSError(12, "Cannot allocate memory"),
        ImportError("libopenblas.so: failed to map segment from shared object"),
        MemoryError(),
    ],
    ids=lambda fault: type(fault).__name__,
)
def test_whatever_a_library_calls_it_a_shortage_is_a_sentence_and_exit_4(monkeypatch, capsys, fault):
    def fails(words):
        raise fault

    monkeypatch.setattr(_main, "_dispatch", fails)
    with pytest.raises(SystemExit) as left:
        _main.main(["inspect", "a.corml"])
    assert left.value.code == 4
    assert capsys.readouterr().err == (
        "error[memory]: There was not enough memory. Free some, or give it a smaller piece of work.\n"
    )


def test_another_panic_is_a_mistake_and_not_a_shortage(monkeypatch, capsys):
    def fails(words):
        raise PanicException("index out of bounds")

    monkeypatch.setattr(_main, "_dispatch", fails)
    with pytest.raises(SystemExit) as left:
        _main.main(["inspect", "a.corml"])
    assert left.value.code == 1
    assert "This is a bug in corml" in capsys.readouterr().err
