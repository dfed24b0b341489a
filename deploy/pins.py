"""What is pinned: the versions of constraints.txt, and the hashes of the locked files."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCKS = ("locked.txt", "locked-tests.txt", "deploy/locked-serve.txt", "deploy/locked-build.txt")


def canonical(name: str) -> str:
    """The name of a package as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def versions() -> dict[str, str]:
    """The version of each package."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split("==") for line in lines if line and not line.startswith("#"))
    return {canonical(name): version for name, version in pairs}


def locked(file: str) -> dict[str, tuple[str, list[str]]]:
    """Version and hashes of each package in a locked file."""
    text = (ROOT / file).read_text(encoding="utf-8")
    parts = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)[1:]
    heads = (re.match(r"([\w.-]+)==(\S+)", part) for part in parts)
    found = zip(heads, parts, strict=True)
    return {canonical(head[1]): (head[2], re.findall(r"--hash=(\S+)", part)) for head, part in found if head}
