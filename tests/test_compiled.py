"""Compiled code is kept where that can be done; where it cannot, answers are the same and one note says so."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

KERNEL = """
    from corml._runtime.compiled import njit

    @njit(cache=True, nogil=True)
    def double(x):
        return 2 * x
"""
RUN = "import kernel; print(kernel.double(21)); print(sum(kernel.double.stats.cache_hits.values()))"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "kernel.py").write_text(textwrap.dedent(KERNEL))
    return tmp_path


def run(folder, before="", **environment):
    variables = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    done = subprocess.run(
        [sys.executable, "-c", before + RUN], cwd=folder, env=variables, capture_output=True, text=True, check=True
    )
    answer, hits = done.stdout.split()
    assert answer == "42"
    return int(hits), done.stderr


def cached(folder):
    return sorted((folder / "__pycache__").glob("kernel*.nb*"))


def test_the_second_run_finds_what_the_first_has_compiled(folder):
    assert run(folder) == (0, "")
    assert run(folder) == (1, "")


LISTENING = """
import sys
from corml._runtime.compiled import compilation
listening = compilation(lambda done, begun: print(done, "of", begun, file=sys.stderr))
listening.__enter__()
"""


def test_compilation_is_reported_when_it_starts_and_ends(folder):
    assert run(folder, LISTENING + "listening.__exit__(None, None, None)\n", NUMBA_CACHE_DIR=str(folder / "a")) == (
        0,
        "",
    )
    assert run(folder, LISTENING) == (0, "0 of 1\n1 of 1\n")
    assert run(folder, LISTENING) == (1, "")


OTHER_DAMAGE = ((".nbi", b""), (".nbc", b""), (".nbc", b"damaged"))


def test_parts_of_kernels_are_kept_in_them(folder):
    (folder / "kernel.py").write_text(
        textwrap.dedent("""
            from corml._runtime.compiled import inner, njit

            @inner()
            def twice(x):
                return 2 * x

            @njit(cache=True, nogil=True)
            def double(x):
                return twice(x)
        """)
    )
    assert run(folder) == (0, "")
    assert run(folder, LISTENING) == (1, "")
    assert all("twice" not in path.name for path in cached(folder))


@pytest.mark.parametrize(
    ("kind", "damage"),
    [(".nbi", b"damaged"), *(pytest.param(*one, marks=pytest.mark.slow) for one in OTHER_DAMAGE)],
)
def test_damaged_cache_files_are_recompiled(folder, kind, damage):
    run(folder)
    for path in cached(folder):
        if path.suffix == kind:
            path.write_bytes(damage)
    hits, note = run(folder)
    assert hits == 0
    assert note.count("RuntimeWarning: ") == 1
    assert "cannot be read" in note
    assert run(folder) == (1, "")


FULL = """
import errno, numba.core.caching as caching
def full(*given):
    raise OSError(errno.ENOSPC, "No space left on device")
caching.IndexDataCacheFile.save = full
"""


def test_a_full_disk_warns_once(folder):
    hits, note = run(folder, FULL)
    assert hits == 0
    assert note.count("RuntimeWarning: compiled code cannot be kept (No space left on device)") == 1


NOWHERE = """
import numba.core.caching as caching
def nowhere(self):
    raise OSError("read-only")
for name in ("InTreeCacheLocator", "UserWideCacheLocator"):
    locator = getattr(caching, name, None) or getattr(caching, "_" + name)  # as older versions of Numba call it
    locator.ensure_cache_path = nowhere
"""


def test_a_private_temporary_folder_replaces_an_unwritable_cache(folder, tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    assert run(folder, NOWHERE, TMPDIR=str(temporary)) == (0, "")
    (private,) = temporary.iterdir()
    assert private.stat().st_mode & 0o077 == 0
    assert run(folder, NOWHERE, TMPDIR=str(temporary)) == (1, "")


NOBODY = """
import os, pwd
os.environ.pop("HOME", None), os.environ.pop("XDG_CACHE_HOME", None)
def unknown(number):
    raise KeyError(number)
pwd.getpwuid = unknown
"""


def test_without_a_home_the_cache_is_in_the_temporary_folder(folder, tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    assert run(folder, NOBODY, TMPDIR=str(temporary)) == (0, "")
    assert sorted(path.name for path in folder.iterdir()) == ["kernel.py", "temporary"]
    assert run(folder, NOBODY, TMPDIR=str(temporary)) == (1, "")


def test_without_a_writable_folder_one_warning_is_shown(folder):
    nowhere = NOWHERE + "import tempfile; tempfile.tempdir = '/nowhere'\n"
    words = ["recommend", "movies.corml", "--history", "318", "-k", "1"]
    fit = f"""
{nowhere}
import corml, contextlib
data = corml.load("movielens-small", at_least=4, k_core=20)
corml.Popularity().fit(data).save("movies.corml")
from corml.cli import main
with contextlib.suppress(SystemExit):
    main(["--version"])
main({words!r})
"""
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "HOME": "/nowhere"}
    done = subprocess.run([sys.executable, "-c", fit], cwd=folder, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("corml ")
    notes = [line for line in done.stderr.splitlines() if "compiled code" in line and "warn" in line.lower()]
    assert len(notes) == 1
    assert "compiled code cannot be kept in any folder; every run takes some seconds longer" in notes[0]


def test_a_temporary_folder_that_others_can_write_is_not_trusted(folder, tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    shared = temporary / f"corml-compiled-{os.getuid()}"
    shared.mkdir()
    shared.chmod(0o777)
    hits, note = run(folder, NOWHERE, TMPDIR=str(temporary))
    assert hits == 0
    assert note.count("RuntimeWarning: compiled code cannot be kept in any folder") == 1
    assert not any(shared.iterdir())


def test_kernels_use_the_cached_decorator():
    import corml

    for path in Path(corml.__file__).parent.rglob("*.py"):
        if path.name != "compiled.py":
            assert "from numba import njit" not in path.read_text(encoding="utf-8"), path


def test_several_functions_share_one_warning(folder):
    (folder / "kernel.py").write_text(textwrap.dedent(KERNEL) + textwrap.dedent(KERNEL).replace("double", "again"))
    _, note = run(folder, FULL + "import kernel; kernel.again(1)\n")
    assert note.count("RuntimeWarning: ") == 1
