"""Write the locked files anew (make lock): every package that is installed, with the hashes of its files.

The versions are those of constraints.txt. PyTorch is left out, but not what it needs: it has a build for each kind of
machine, so its version alone is pinned. uv resolves for every system and version of Python that corml runs on.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DEMO = ("test", "serve", "client")  # extras that `make demo` installs
TESTS = (*DEMO, "cluster", "browser")  # and `make test`
OF_TORCH = "filelock\nfsspec\njinja2\nnetworkx\nsetuptools\nsympy\ntyping-extensions\n"

HEADS = {
    "locked.txt": "# What `make demo` installs, with the hashes of its files. Made by `make lock`.",
    "locked-tests.txt": "# What `make test` installs beside locked.txt, with the hashes of its files. PyTorch is not\n"
    "# here: it has a build for each kind of machine, and constraints.txt pins its version. Made by `make lock`.",
    "deploy/locked-serve.txt": "# What `corml serve` runs with, with the hashes of its files. Made by `make lock`.",
    "deploy/locked-build.txt": "# What builds the wheel, with the hashes of its files. Made by `make lock`.",
}


def entries(wanted: str = "", *, extras: tuple[str, ...] | None = None) -> dict[str, str]:
    """The lines of each package that is wanted by name, or by corml with these extras, and of all they need."""
    sources = ["-"] if extras is None else ["pyproject.toml", "-"]
    command = ["uv", "pip", "compile", *sources, *(word for extra in extras or () for word in ("--extra", extra))]
    command += ["--universal", "--python-version", "3.11", "--generate-hashes", "--constraint", "constraints.txt"]
    command += ["--no-header", "--no-annotate", "--quiet"]
    made = subprocess.run(command, cwd=ROOT, input=wanted, text=True, capture_output=True)
    if made.returncode:
        sys.exit(made.stderr)
    parts = re.split(r"^(?=[a-z0-9])", made.stdout, flags=re.MULTILINE)
    return {part.partition("==")[0]: part for part in parts if "==" in part}


def main() -> None:
    """Write all of them."""
    demo = entries(extras=DEMO)
    found = {
        "locked.txt": demo,
        "locked-tests.txt": {k: v for k, v in entries(OF_TORCH, extras=TESTS).items() if k not in demo},
        "deploy/locked-serve.txt": entries(extras=("serve",)),
        "deploy/locked-build.txt": entries("hatchling\n"),
    }
    for name, packages in found.items():
        (ROOT / name).write_text(HEADS[name] + "\n" + "".join(packages.values()), encoding="utf-8")


if __name__ == "__main__":
    main()
