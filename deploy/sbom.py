"""Write what corml is made of (make sbom): deploy/sbom.json in the CycloneDX format, and docs/licences.md.

Versions, hashes and who needs a package come from requirements.lock; licences and direct dependencies are read from
the installed packages, so it runs in the environment of `make test`. Equal locks give equal files: no date, no random
number.
"""

import importlib.metadata as installed
import json
import re
from pathlib import Path

from lock import PROJECT, ROOT, Locked, canonical, read

from corml import __version__

USERS = ("corml", "serve", "client", "cluster", "tune", "excel", "duckdb", "neural")  # what users install
PACKAGES = {
    name: Locked(one.version, one.hashes, [group for group in USERS if group in one.needed_by])
    for name, one in read().items()
    if set(one.needed_by) & set(USERS)
}
NOT_INSTALLED = {"colorama": "BSD-3-Clause"}  # needed on Windows only
NEVER = re.compile(r"""extra ==|python_version < ['"]3\.(\d|10|11)['"]""")  # no installation of corml meets this
COPYLEFT = re.compile(r"\b[AL]?GPL|\bMPL|\bEPL|\bEUPL|\bCDDL")
BUNDLED = [  # one file, src/corml/service/page/vendor/preact-htm.js
    {"name": "htm", "version": "3.1.1", "licence": "Apache-2.0"},
    {"name": "preact", "version": "10", "licence": "MIT"},
]

HEAD = """# Licences

corml is under the [MIT License](../LICENSE). The packages that it runs with have licences of their own, listed here as
the packages state them. [sbom.json](../deploy/sbom.json) is the same list for programs (CycloneDX), with hashes and
dependencies. Both are written by `make sbom` for the versions of `requirements.lock`; other versions may have other
licences.

| package | version | licence | needed by |
|---|---|---|---|
"""
TAIL = """
The package itself contains htm {htm} (Apache-2.0) and Preact {preact} (MIT), one file for the pages of the service;
their texts are in [LICENSES.txt](../src/corml/service/page/vendor/LICENSES.txt). The MovieLens sample has the
[conditions of GroupLens](../src/corml/data/catalog/_movielens_small/README.md).

## Copyleft

{copyleft}. The MPL requires that changes to its own files are published; it does not extend to programs that use them.

The wheels of NumPy and SciPy contain two run-time libraries of GNU Fortran: libgfortran, under the GPL with the
exception that leaves programs linked with it free, and libquadmath, under the LGPL. PyTorch for NVIDIA graphics cards
installs libraries under NVIDIA's own terms, which are not free software and not in the lock.
"""


def needs(name: str) -> set[str]:
    """The packages of the list that one needs, on some machine."""
    try:
        wanted = installed.requires(name) or []
    except installed.PackageNotFoundError:
        return set()
    return {canonical(line) for line in wanted if not NEVER.search(line)} & set(PACKAGES)


def licence(name: str) -> str:
    """The licence as the package states it: an expression, else a short text, else a classifier."""
    try:
        about = installed.metadata(name)
    except installed.PackageNotFoundError:
        return NOT_INSTALLED[name]
    stated = about.get("License") or ""  # some put the whole text there
    if about.get("License-Expression") or (stated and len(stated) <= 80 and "\n" not in stated):
        return str(about.get("License-Expression") or stated)
    classes = [line for line in about.get_all("Classifier") or [] if line.startswith("License :: ")]
    return " and ".join(line.rpartition(" :: ")[2] for line in classes)


def component(
    name: str, version: str, stated: str, *, index: str = "pypi", scope: str = "required"
) -> dict[str, object]:
    """What CycloneDX says of any package."""
    purl = f"pkg:{index}/{name}@{version}"
    facts = {"type": "library", "bom-ref": purl, "name": name, "version": version, "scope": scope}
    return {**facts, "licenses": [{"license": {"name": stated}}], "purl": purl}


def package(name: str, one: Locked) -> dict[str, object]:
    """A package of the lock, with the hashes of its files."""
    files = {"type": "distribution", "url": f"https://pypi.org/project/{name}/{one.version}/#files"}
    digests = [{"alg": "SHA-256", "content": digest.removeprefix("sha256:")} for digest in one.hashes]
    scope = "required" if one.needed_by == ["corml"] else "optional"
    reference = {**files, **({"hashes": digests} if digests else {})}
    return {**component(name, one.version, licence(name), scope=scope), "externalReferences": [reference]}


def bill() -> dict[str, object]:
    """The whole bill of materials."""
    ours = f"pkg:pypi/corml@{__version__}"
    itself = {"type": "library", "bom-ref": ours, "name": "corml", "version": __version__, "purl": ours}
    refs = {name: f"pkg:pypi/{name}@{one.version}" for name, one in PACKAGES.items()}
    tree = {ours: set(map(canonical, PROJECT["dependencies"])), **{refs[name]: needs(name) for name in PACKAGES}}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**itself, "licenses": [{"license": {"id": PROJECT["license"]}}]}},
        "components": [
            *(package(name, one) for name, one in PACKAGES.items()),
            *(component(one["name"], one["version"], one["licence"], index="npm") for one in BUNDLED),
        ],
        "dependencies": [{"ref": ref, "dependsOn": sorted(refs[one] for one in below)} for ref, below in tree.items()],
    }


def page() -> str:
    """The page docs/licences.md."""
    rows = [f"| {n} | {one.version} | {licence(n)} | {', '.join(one.needed_by)} |\n" for n, one in PACKAGES.items()]
    copyleft = " and ".join(f"{name} ({licence(name)})" for name in PACKAGES if COPYLEFT.search(licence(name)))
    bundled = {one["name"]: one["version"] for one in BUNDLED}
    return HEAD + "".join(rows) + TAIL.format(copyleft=copyleft or "None", **bundled)


if __name__ == "__main__":
    Path(ROOT, "deploy", "sbom.json").write_text(json.dumps(bill(), indent=1) + "\n", encoding="utf-8")
    Path(ROOT, "docs", "licences.md").write_text(page(), encoding="utf-8")
