"""Every dependency is pinned, and every file that is installed has a hash."""

import importlib.metadata
import re
import shutil
import subprocess
import sys
from pathlib import Path

import lock
import pytest
import versions

ROOT = Path(__file__).resolve().parents[2]
LINES = lock.FILE.read_text("utf-8").splitlines()[1:]
LOCKED = lock.read()
GROUPS = {"corml": lock.PROJECT["dependencies"], **lock.EXTRAS, **lock.TOOLS}
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


def selected(groups):
    """What grep selects for these groups, as the Makefile and the Dockerfile write it."""
    words = ["grep", "-E", f"hash=.* # (.* )?({groups})( |$)", lock.FILE]
    return set(lock.read(subprocess.run(words, capture_output=True, text=True, check=True).stdout))


def needed_by(*groups):
    return {name for name, one in LOCKED.items() if {"corml", *groups} & set(one.needed_by)}


def test_packages_are_sorted_exact_and_listed_once():
    assert all(re.match(r"[a-z0-9-]+==[\w.]+ (; .+? )?(--hash|#)", line) for line in LINES)
    assert len(LOCKED) == len(LINES)
    assert list(LOCKED) == sorted(LOCKED)


def test_every_package_has_hashes_except_pytorch():
    for name, one in LOCKED.items():
        assert bool(one.hashes) is (name != "torch"), name
        assert all(re.fullmatch("sha256:[0-9a-f]{64}", digest) for digest in one.hashes)
        assert len(set(one.hashes)) == len(one.hashes)


def test_every_package_says_what_needs_it():
    for group, wanted in GROUPS.items():
        for name in map(lock.canonical, wanted):
            assert {"corml", group} & set(LOCKED[name].needed_by), f"{name} is missing for {group}"
    assert {group for one in LOCKED.values() for group in one.needed_by} <= set(GROUPS)
    assert all(one.needed_by for one in LOCKED.values())


def test_lines_are_selected_by_what_needs_them():
    assert selected("corml|serve") == needed_by("serve")
    assert selected("corml|neural") == needed_by("neural") - {"torch"}
    assert selected("fuzz") == {"atheris"}
    assert {"starlette", "uvicorn", "numpy"} <= selected("corml|serve")
    assert not {"httpx", "pytest", "prometheus"} & selected("corml|serve")  # not because of prometheus-client


def test_make_installs_by_hash_and_nothing_else():
    ready, neural, fuzz = (
        re.search(rf"^{name}:.*\n((?:\t.*\n)+)", MAKEFILE, re.M)[1]
        for name in (r"\$\(READY\)", r"\$\(NEURAL\)", "fuzz")
    )
    assert re.findall(r"^\t(\$\((?:PIP\)|call).*)$", ready + neural + fuzz, re.M) == [
        "$(call locked,corml|serve|client|tune|excel|duckdb|build)",
        "$(PIP) --no-deps --no-build-isolation --editable .",
        "$(call locked,test|cluster|browser|neural)",
        "$(PIP) $$(grep -o '^torch==[^ ]*' requirements.lock)",
        "$(call locked,fuzz)",
    ]
    assert "pip install" not in ready + neural + fuzz


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not here")
def test_make_asks_pip_to_check_hashes():
    shown = subprocess.run(
        ["make", "--dry-run", "--always-make", "fuzz"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    (line,) = [line for line in shown.splitlines() if "(fuzz)" in line]
    assert line.startswith("grep -E 'hash=.* # (.* )?(fuzz)( |$)' requirements.lock | ")
    assert line.endswith(" --require-hashes --no-deps --requirement /dev/stdin")


@pytest.mark.skipif(not (Path(sys.prefix) / ".neural").exists(), reason="this environment was not made by make")
def test_what_is_installed_is_what_is_locked():
    here = {lock.canonical(one.name): one.version.partition("+")[0] for one in importlib.metadata.distributions()}
    left = {name: version for name, version in here.items() if name not in ("corml", "pip")}  # ours, and Python's own
    assert left == {name: LOCKED[name].version if name in LOCKED else None for name in left}


# --- other versions --------------------------------------------------------------------------------------------------


def test_every_requirement_of_users_has_a_lower_bound_that_is_tested():
    wanted = [*lock.PROJECT["dependencies"], *(one for extra in versions.USERS for one in lock.EXTRAS[extra])]
    assert set(versions.lowest()) == set(map(lock.canonical, wanted))
    assert set(lock.EXTRAS) - set(versions.USERS) == {"neural", "browser", "benchmarks", "test"}
    assert "test-lowest test-latest: test-%:" in MAKEFILE
    assert "$(PYTHON) deploy/versions.py $*" in MAKEFILE


@pytest.mark.parametrize(("run", "bounds"), [("lowest", True), ("latest", False)])
def test_runs_with_other_versions_take_the_locked_pytorch_and_the_bounds_or_none(run, bounds):
    command = [sys.executable, ROOT / "deploy/versions.py", run]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    lowest = versions.lowest() if bounds else {}
    assert printed == [*(f"{name}=={bound}" for name, bound in lowest.items()), f"torch=={LOCKED['torch'].version}"]


def test_locked_versions_are_within_the_bounds():
    for name, bound in versions.lowest().items():
        assert number(LOCKED[name].version) >= number(bound)


def number(version):
    return tuple(map(int, re.findall(r"\d+", version)))
