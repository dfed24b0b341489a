"""Write locked.txt and locked-tests.txt anew (make lock): every package that is installed, with the hashes of its files.

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
    "locked.txt": "# What `make demo` installs, with the hashes of its files. Made by `make lock` from constraints.txt.",
    "locked-tests.txt": "# What `make test` installs beside locked.txt, with the hashes of its files, but for PyTorch, which has\n"
    "# a build for each kind of machine: constraints.txt pins its version. Made by `make lock`.",
}


def entries(extras: tuple[str, ...], more: str = "") -> dict[str, str]:
    """The lines of each package, by name."""
    wanted = [word for extra in extras for word in ("--extra", extra)]
    command = ["uv", "pip", "compile", "pyproject.toml", "-", *wanted, "--universal", "--python-version", "3.11"]
    command += ["--generate-hashes", "--constraint", "constraints.txt", "--no-header", "--no-annotate", "--quiet"]
    made = subprocess.run(command, cwd=ROOT, input=more, text=True, capture_output=True)
    if made.returncode:
        sys.exit(made.stderr)
    parts = re.split(r"^(?=[a-z0-9])", made.stdout, flags=re.MULTILINE)
    return {part.partition("==")[0]: part for part in parts if "==" in part}


def main() -> None:
    """Write both files."""
    demo = entries(DEMO)
    tests = {name: lines for name, lines in entries(TESTS, OF_TORCH).items() if name not in demo}
    for name, found in (("locked.txt", demo), ("locked-tests.txt", tests)):
        (ROOT / name).write_text(HEADS[name] + "\n" + "".join(found.values()), encoding="utf-8")


if __name__ == "__main__":
    main()
