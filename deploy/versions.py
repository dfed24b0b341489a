"""Constraints for a run of the tests with other versions (run: python deploy/versions.py lowest|latest).

`lowest` are the lower bounds of pyproject.toml, `latest` is nothing but PyTorch: pip then takes the newest there is.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("serve", "client", "cluster")  # what users install; tools of the tests stay as they are pinned


def lowest() -> list[str]:
    """The oldest version that is allowed of everything corml runs with, and the pinned ones of the rest."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(one for extra in EXTRAS for one in project["optional-dependencies"][extra])]
    bounds = dict(re.match(r"([\w-]+)>=([\w.]+)", one).groups() for one in wanted)
    return [f"{name}=={bound}" for name, bound in sorted(bounds.items())]


if __name__ == "__main__":
    print("\n".join(lowest() if sys.argv[1] == "lowest" else []))
