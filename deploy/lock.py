"""Write requirements.lock (make lock), or read it.

One line for each package: name, version, the hashes of its files, and after `#` what needs it: `corml` itself, extras
of pyproject.toml, `build` or `fuzz`. These words select lines with grep; pip then installs them without a resolver.
The lock is valid for every system and version of Python that corml runs on. PyTorch has a build for each kind of
machine, so it has a version without hashes, and the packages that only its builds for graphics cards need are left
out.

Needs uv. Versions stay as they are unless they no longer fit; options are passed on to uv, such as `--upgrade` or
`--upgrade-package numpy`.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "requirements.lock"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
TOOLS = {"build": ["hatchling", "editables"], "fuzz": ["atheris; sys_platform == 'linux'"]}
HEAD = "# The packages that corml is installed with. Written by `make lock`; deploy/lock.py explains the format.\n"
FOR_CARDS = re.compile("cuda|nvidia|triton")


@dataclass(frozen=True)
class Locked:
    """A package of the lock."""

    version: str
    hashes: list[str]
    needed_by: list[str]


def canonical(requirement: str) -> str:
    """The name in a requirement, as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", requirement)[0]).lower()


def read(text: str | None = None) -> dict[str, Locked]:
    """Every package of the lock by its name."""
    packages = {}
    for line in (FILE.read_text(encoding="utf-8") if text is None else text).splitlines():
        pin, _, needed_by = line.partition(" # ")
        if not line.startswith("#"):
            name, _, version = pin.split()[0].partition("==")
            packages[name] = Locked(version, re.findall(r"--hash=(\S+)", pin), needed_by.split())
    return packages


def resolve(requirements: list[str], pins: str, *options: str) -> dict[str, str]:
    """The packages that requirements come down to: name to version, marker and hashes, on one line."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "requirements.txt")
        out.write_text(pins, encoding="utf-8")  # uv prefers the versions that it finds there
        command = ["uv", "pip", "compile", "-", "--output-file", out, "--universal", "--python-version", "3.11"]
        command += ["--fork-strategy", "fewest", "--no-header", "--no-annotate", "--quiet", *options]
        if subprocess.run(command, input="\n".join(requirements), text=True, stdout=subprocess.DEVNULL).returncode:
            sys.exit("uv could not resolve these requirements; nothing was written.")
        lines = out.read_text(encoding="utf-8").replace(" \\\n    ", " ").splitlines()
    return {line.partition("==")[0]: line for line in lines if not FOR_CARDS.match(line)}


def main(*options: str) -> None:
    """Resolve everything at once, then see what each extra needs of it."""
    groups = {"corml": PROJECT["dependencies"], **EXTRAS, **TOOLS}
    old = "\n".join(f"{name}=={one.version}" for name, one in read().items())
    everything = [one for wanted in groups.values() for one in wanted]
    lines = resolve(everything, old, "--generate-hashes", *options)
    lines["torch"] = lines["torch"].split()[0]
    pins = "\n".join(line.partition(" --hash")[0] for line in lines.values())
    needs = {group: resolve(wanted, pins) for group, wanted in groups.items()}
    with FILE.open("w", encoding="utf-8") as lock:
        lock.write(HEAD)
        for name, line in lines.items():
            by = ["corml"] if name in needs["corml"] else [group for group in groups if name in needs[group]]
            lock.write(f"{line} # {' '.join(by)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
