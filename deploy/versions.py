"""Constraints for a run of the tests with other versions (run: python deploy/versions.py lowest|latest).

`lowest` are the lower bounds of pyproject.toml of everything users install; tools of the tests, and what packages need
themselves, are as new as that allows. `latest` has no bounds: pip then takes the newest there is. PyTorch, which has a
build for each kind of machine, is the pinned one in both.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("serve", "client", "cluster", "tune", "excel", "duckdb")  # what users install


def lowest() -> dict[str, str]:
    """The oldest version that is allowed of each package."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(one for extra in EXTRAS for one in project["optional-dependencies"][extra])]
    return dict(sorted(bound(one) for one in wanted))


def bound(requirement: str) -> tuple[str, str]:
    """Name and lower bound of a requirement; one without a bound is a mistake."""
    found = re.match(r"([\w-]+)>=([\w.]+)", requirement)
    if found is None:
        sys.exit(f"{requirement} has no lower bound.")
    return found[1], found[2]


def pinned(name: str) -> str:
    """The version that constraints.txt has of a package."""
    pins = (line.split("==") for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").split() if "==" in line)
    return dict(pins)[name]


if __name__ == "__main__":
    bounds = (lowest() if sys.argv[1] == "lowest" else {}) | {"torch": pinned("torch")}
    print("\n".join(f"{name}=={version}" for name, version in bounds.items()))
