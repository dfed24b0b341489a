"""Every package is pinned, and every file that is installed has a hash."""

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from pins import LOCKS, canonical, locked, versions

ROOT = Path(__file__).resolve().parents[2]

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
TESTS = {**locked("locked-tests.txt"), **locked("locked.txt")}

# What constraints.txt pins and no locked file has: it is installed by its version alone, and by whom.
BY_VERSION = {
    "make test": {"torch"},  # a build for each kind of machine
    "make fuzz": {"atheris"},  # for Linux alone
    "benchmarks": set(
        "implicit matplotlib contourpy cycler fonttools kiwisolver pillow pyparsing sansa scikit-sparse".split()
    ),
}


def names(requirements):
    return {canonical(re.match(r"[\w.-]+", one)[0]) for one in requirements}


@pytest.mark.parametrize("file", LOCKS)
def test_every_locked_package_has_the_pinned_version_and_hashes(file):
    found, pinned = locked(file), versions()
    assert found
    assert {name: version for name, (version, _) in found.items()} == {name: pinned.get(name) for name in found}
    for name, (_, hashes) in found.items():
        assert hashes, name
        assert all(re.fullmatch("sha256:[0-9a-f]{64}", one) for one in hashes)
        assert len(set(hashes)) == len(hashes)


def test_every_pinned_package_is_locked_or_has_its_reason():
    elsewhere = set().union(*BY_VERSION.values())
    assert set(versions()) - set(TESTS) == elsewhere


def test_pins_are_sorted_exact_and_stand_once():
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()[1:]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
    assert len(versions()) == len(lines)
    assert list(versions()) == sorted(versions())


def test_everything_that_the_project_asks_for_is_pinned():
    wanted = names(
        [*PROJECT["dependencies"], *(one for extra in PROJECT["optional-dependencies"].values() for one in extra)]
    )
    assert wanted <= set(versions())
    extras = ("test", "serve", "client", "cluster", "browser", "tune", "excel", "duckdb")
    by_hash = names([*PROJECT["dependencies"], *(one for e in extras for one in PROJECT["optional-dependencies"][e])])
    assert by_hash <= set(TESTS)
    assert names(PROJECT["dependencies"]) | names(PROJECT["optional-dependencies"]["serve"]) <= set(
        locked("deploy/locked-serve.txt")
    )


@pytest.mark.skipif(not (Path(sys.prefix) / ".neural").exists(), reason="this environment was not made by make")
def test_what_is_installed_is_what_is_pinned():
    here = {canonical(one.name): one.version.partition("+")[0] for one in importlib.metadata.distributions()}
    left = {name: version for name, version in here.items() if name not in ("corml", "pip")}  # ours, and Python's own
    pinned = versions()
    assert left == {name: pinned.get(name) for name in left}


def test_make_installs_by_hash_and_nothing_else():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert re.search(r"^LOCKED := \$\(PIP\) --require-hashes --no-deps --requirement$", makefile, re.M)
    ready, neural = (
        re.search(rf"^\$\({name}\):.*\n((?:\t.*\n|\t\t.*\n)+)", makefile, re.M)[1] for name in ("READY", "NEURAL")
    )
    installs = re.findall(r"^\t(\$\((?:PIP|LOCKED)\).*)$", ready + neural, re.M)
    assert installs == [
        "$(LOCKED) locked.txt",
        "$(PIP) --no-deps --no-build-isolation --editable .",
        "$(LOCKED) locked-tests.txt",
        "$(PIP) --constraint constraints.txt torch",
    ]
    assert "pip install" not in ready + neural


def test_every_requirement_of_users_has_a_lower_bound_that_is_tested(capsys):
    from versions import EXTRAS, lowest

    wanted = [*PROJECT["dependencies"], *(one for extra in EXTRAS for one in PROJECT["optional-dependencies"][extra])]
    assert set(map(canonical, lowest())) == names(wanted)
    assert set(PROJECT["optional-dependencies"]) - set(EXTRAS) == {"neural", "browser", "benchmarks", "test"}
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert "test-lowest test-latest: test-%:" in makefile
    assert "$(PYTHON) deploy/versions.py $*" in makefile


@pytest.mark.parametrize(("run", "bounds"), [("lowest", True), ("latest", False)])
def test_runs_with_other_versions_take_the_pinned_pytorch_and_the_bounds_or_none(run, bounds):
    from versions import lowest

    said = subprocess.run(
        [sys.executable, ROOT / "deploy/versions.py", run], capture_output=True, text=True, check=True
    ).stdout.split()
    torch = f"torch=={versions()['torch']}"
    assert said == [*(f"{name}=={bound}" for name, bound in (lowest() if bounds else {}).items()), torch]


def number(version):
    return tuple(map(int, re.findall(r"\d+", version)))


def test_pinned_versions_are_within_the_bounds():
    from versions import lowest

    pinned = versions()
    for name, bound in lowest().items():
        assert number(pinned[canonical(name)]) >= number(bound)
