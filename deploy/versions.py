"""Constraints for a run of the tests with other versions (run: python deploy/versions.py lowest|latest).

`lowest` prints the lower bounds that pyproject.toml has for the packages of users; tools of the tests, and what
packages need themselves, are as new as that allows. `latest` prints no bounds, so pip takes the newest. PyTorch, which
has a build for each kind of machine, has the version of requirements.lock in both.
"""

import re
import sys

from lock import EXTRAS, PROJECT, read

USERS = ("serve", "client", "cluster", "tune", "excel", "duckdb")  # extras that users install


def lowest() -> dict[str, str]:
    """The oldest version that is allowed of each package."""
    wanted = [*PROJECT["dependencies"], *(one for extra in USERS for one in EXTRAS[extra])]
    return dict(sorted(bound(one) for one in wanted))


def bound(requirement: str) -> tuple[str, str]:
    """Name and lower bound of a requirement; one without a bound is a mistake."""
    found = re.match(r"([\w-]+)>=([\w.]+)", requirement)
    if found is None:
        sys.exit(f"{requirement!r} in pyproject.toml has no lower bound: add one.")
    return found[1], found[2]


if __name__ == "__main__":
    bounds = lowest() if sys.argv[1] == "lowest" else {}
    print("\n".join(f"{name}=={version}" for name, version in {**bounds, "torch": read()["torch"].version}.items()))
