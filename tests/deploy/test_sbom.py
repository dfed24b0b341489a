"""The bill of materials and the page of licences have what users get, as it is pinned."""

import importlib.metadata
import json
import tomllib
from pathlib import Path

import pytest
from pins import LOCKS, canonical, locked, versions

ROOT = Path(__file__).resolve().parents[2]

BILL = json.loads((ROOT / "deploy" / "sbom.json").read_text("utf-8"))
COMPONENTS = {one["name"]: one for one in BILL["components"]}
PACKAGES = {name: one for name, one in COMPONENTS.items() if one["purl"].startswith("pkg:pypi/")}
HASHES = {name: found for file in LOCKS for name, (_, found) in locked(file).items()}
PAGE = (ROOT / "docs" / "licences.md").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def licence(name):
    (stated,) = COMPONENTS[name]["licenses"]
    return stated["license"]["name"]


def test_the_bill_is_of_this_version_and_says_what_it_is():
    assert (BILL["bomFormat"], BILL["specVersion"]) == ("CycloneDX", "1.6")
    about = BILL["metadata"]["component"]
    assert (about["name"], about["version"]) == ("corml", PROJECT["version"])
    assert "timestamp" not in BILL["metadata"]  # the same pins, the same bytes
    assert "serialNumber" not in BILL


@pytest.mark.parametrize("name", PACKAGES)
def test_a_component_has_the_pinned_version_the_locked_hashes_and_a_licence(name):
    one = PACKAGES[name]
    assert one["version"] == versions()[name]
    assert one["purl"] == one["bom-ref"] == f"pkg:pypi/{name}@{one['version']}"
    (files,) = one["externalReferences"]
    listed = ["sha256:" + part["content"] for part in files.get("hashes", [])]
    assert listed == HASHES.get(name, [])
    assert listed or name == "torch"  # a build for each kind of machine
    assert licence(name)


def test_the_bill_has_all_that_users_install():
    from packaging.requirements import Requirement

    extras = ("serve", "client", "cluster", "tune", "excel", "duckdb", "neural")
    wanted = [*PROJECT["dependencies"], *(one for extra in extras for one in PROJECT["optional-dependencies"][extra])]
    assert {canonical(Requirement(one).name) for one in wanted} <= set(PACKAGES)
    assert set(locked("deploy/locked-serve.txt")) <= set(PACKAGES)
    assert not {"pytest", "ruff", "django"} & set(PACKAGES)
    required = {name for name, one in PACKAGES.items() if one["scope"] == "required"}
    assert {canonical(Requirement(one).name) for one in PROJECT["dependencies"]} <= required
    assert not {"starlette", "torch", "distributed"} & required


def test_everything_that_something_needs_is_there():
    refs = {one["bom-ref"] for one in BILL["components"]} | {BILL["metadata"]["component"]["bom-ref"]}
    rows = {row["ref"]: row["dependsOn"] for row in BILL["dependencies"]}
    assert set(rows) <= refs
    assert all(set(below) <= refs for below in rows.values())
    assert f"pkg:pypi/llvmlite@{versions()['llvmlite']}" in rows[f"pkg:pypi/numba@{versions()['numba']}"]


def test_libraries_of_the_pages_are_there_with_their_licences():
    texts = (ROOT / "src/corml/service/page/vendor/LICENSES.txt").read_text("utf-8")
    assert f"htm {COMPONENTS['htm']['version']}" in texts
    assert f"Preact {COMPONENTS['preact']['version']} " in texts
    assert (licence("htm"), licence("preact")) == ("Apache-2.0", "MIT")
    (file,) = (ROOT / "src/corml/service/page/vendor").glob("*.js")  # another one needs a line in the bill
    assert file.name in texts


def test_the_page_of_licences_has_every_package_and_names_copyleft():
    rows = {row.split(" | ")[0][2:]: row for row in PAGE.splitlines() if row.startswith("| ")}
    assert set(rows) - {"package"} == set(PACKAGES)
    for name in PACKAGES:
        assert rows[name].startswith(f"| {name} | {PACKAGES[name]['version']} | {licence(name)} | ")
    named = PAGE.partition("## Copyleft")[2].partition(".\n")[0]
    for name in PACKAGES:
        assert (f"{name} (" in named) is ("MPL" in licence(name) or "GPL" in licence(name))


def test_licences_are_those_that_installed_packages_state():
    here = {canonical(one.name): one for one in importlib.metadata.distributions()}
    same = [name for name in PACKAGES if name in here and here[name].version == PACKAGES[name]["version"]]
    if not same:
        pytest.skip("other versions are installed")
    for name in same:
        stated = here[name].metadata.get("License-Expression")
        assert stated is None or stated == licence(name)
