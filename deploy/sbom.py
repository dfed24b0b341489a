"""Write what corml is made of (make sbom): deploy/sbom.json in the form CycloneDX, and docs/licences.md.

Versions and hashes are those that are pinned; licences and what needs what are read from the installed packages, so it
runs in the environment of the tests. Both files are the same for the same pins: they have no date and no random number.
"""

import importlib.metadata as installed
import json
import re
import tomllib
from collections.abc import Iterable

from packaging.requirements import Requirement
from pins import LOCKS, ROOT, canonical, locked, versions

EXTRAS = ("serve", "client", "cluster", "tune", "excel", "duckdb", "neural")  # what users install
MACHINES = [
    {"python_version": python, "python_full_version": python + ".0", "sys_platform": system, "platform_system": name}
    for python in ("3.11", "3.12", "3.13", "3.14")
    for system, name in (("linux", "Linux"), ("darwin", "Darwin"), ("win32", "Windows"))
]
ELSEWHERE = {"colorama": "BSD-3-Clause"}  # needed on Windows alone, so that it may not be installed here
COPYLEFT = re.compile(r"\b[AL]?GPL|\bMPL|\bEPL|\bEUPL|\bCDDL")
BUNDLED = [
    {"name": "htm", "version": "3.1.1", "licence": "Apache-2.0"},
    {"name": "preact", "version": "10", "licence": "MIT"},
]  # one file, src/corml/service/page/vendor/preact-htm.js

HEAD = """# Licences

corml is under the [MIT License](../LICENSE). What it runs with has licences of its own, listed here as the packages
state them; [sbom.json](../deploy/sbom.json) has the same for programs (CycloneDX), with hashes and what needs what.
Made by `make sbom`; other versions than these may have other licences.

| package | version | licence | needed by |
|---|---|---|---|
"""
TAIL = """
In the package itself are htm {htm} (Apache-2.0) and Preact {preact} (MIT), one file for the pages of the service; their
texts are [beside it](../src/corml/service/page/vendor/LICENSES.txt). The sample of MovieLens has the
[conditions of GroupLens](../src/corml/datasets/_movielens_small/README.md).

## Copyleft

{copyleft}. The MPL asks for changes of its own files to be published, and nothing of programs that use them.

The wheels of NumPy and SciPy bring two run-time libraries of GNU Fortran: libgfortran, under the GPL with the exception
that leaves programs linked with it free, and libquadmath, under the LGPL. PyTorch for NVIDIA's cards brings libraries
under NVIDIA's own terms, which are not free software and not pinned here.
"""


def needs(name: str, extra: str = "") -> set[str]:
    """The packages that one needs, on some machine."""
    try:
        wanted = installed.requires(name) or []
    except installed.PackageNotFoundError:
        return set()
    parsed = [Requirement(line) for line in wanted]
    return {canonical(one.name) for one in parsed if one.marker is None or _holds(one, extra)}


def _holds(one: Requirement, extra: str) -> bool:
    assert one.marker is not None
    return any(one.marker.evaluate({**machine, "extra": extra}) for machine in MACHINES)


def with_all_they_need(names: Iterable[str], pinned: dict[str, str]) -> set[str]:
    """The packages and what they need, and what that needs, as far as it is pinned."""
    found: set[str] = set()
    waiting = set(names) & set(pinned)
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= (needs(name) & set(pinned)) - found
    return found


def users_of() -> dict[str, list[str]]:
    """Of every package that users get, by whom it is needed: corml itself, or which extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pinned = versions()
    groups = {"corml": project["dependencies"], **{name: project["optional-dependencies"][name] for name in EXTRAS}}
    whose: dict[str, list[str]] = {}
    for group, wanted in groups.items():
        direct = {canonical(Requirement(line).name) for line in wanted}
        for name in with_all_they_need(direct, pinned):
            whose.setdefault(name, []).append(group)
    return {name: ["corml"] if "corml" in groups else groups for name, groups in sorted(whose.items())}


def licence(name: str) -> str:
    """The licence as the package states it: an expression, else a short text, else a classifier."""
    try:
        about = installed.metadata(name)
    except installed.PackageNotFoundError:
        return ELSEWHERE[name]
    stated = about.get("License") or ""  # some put the whole text there
    if about.get("License-Expression") or (stated and len(stated) <= 80 and "\n" not in stated):
        return str(about.get("License-Expression") or stated)
    classes = [line for line in about.get_all("Classifier") or [] if line.startswith("License :: ")]
    return " and ".join(line.rpartition(" :: ")[2] for line in classes)


def component(name: str, version: str, groups: list[str], hashes: list[str]) -> dict[str, object]:
    """One package, as CycloneDX describes it."""
    files = {"type": "distribution", "url": f"https://pypi.org/project/{name}/{version}/#files"}
    digests = [{"alg": "SHA-256", "content": one.removeprefix("sha256:")} for one in hashes]
    return {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name}@{version}",
        "name": name,
        "version": version,
        "scope": "required" if groups == ["corml"] else "optional",
        "licenses": [{"license": {"name": licence(name)}}],
        "purl": f"pkg:pypi/{name}@{version}",
        "externalReferences": [{**files, **({"hashes": digests} if digests else {})}],
    }


def bundled(about: dict[str, str]) -> dict[str, object]:
    """One library of the pages."""
    purl = f"pkg:npm/{about['name']}@{about['version']}"
    facts = {
        "type": "library",
        "bom-ref": purl,
        "name": about["name"],
        "version": about["version"],
        "scope": "required",
    }
    return {**facts, "licenses": [{"license": {"name": about["licence"]}}], "purl": purl}


def bill() -> dict[str, object]:
    """The whole bill of materials."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pinned, whose = versions(), users_of()
    hashes = {name: found for file in LOCKS for name, (_, found) in locked(file).items()}
    ours = f"pkg:pypi/corml@{project['version']}"
    itself = {"type": "library", "bom-ref": ours, "name": "corml", "version": project["version"], "purl": ours}
    refs = {name: f"pkg:pypi/{name}@{pinned[name]}" for name in whose}
    direct = {canonical(Requirement(line).name) for line in project["dependencies"]}
    tree = [(ours, direct), *((refs[name], needs(name)) for name in whose)]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**itself, "licenses": [{"license": {"id": project["license"]}}]}},
        "components": [
            *(component(name, pinned[name], groups, hashes.get(name, [])) for name, groups in whose.items()),
            *map(bundled, BUNDLED),
        ],
        "dependencies": [
            {"ref": ref, "dependsOn": sorted(refs[one] for one in below & set(refs))} for ref, below in tree
        ],
    }


def page() -> str:
    """docs/licences.md."""
    pinned, whose = versions(), users_of()
    rows = [f"| {name} | {pinned[name]} | {licence(name)} | {', '.join(who)} |\n" for name, who in whose.items()]
    copyleft = " and ".join(f"{name} ({licence(name)})" for name in whose if COPYLEFT.search(licence(name)))
    pages = {about["name"]: about["version"] for about in BUNDLED}
    return HEAD + "".join(rows) + TAIL.format(copyleft=copyleft or "None", **pages)


if __name__ == "__main__":
    (ROOT / "deploy" / "sbom.json").write_text(json.dumps(bill(), indent=1) + "\n", encoding="utf-8")
    (ROOT / "docs" / "licences.md").write_text(page(), encoding="utf-8")
