"""The bill of materials and the page of licences list what users install, as the lock has it."""

import importlib.metadata
import json
from pathlib import Path

import pytest
from lock import EXTRAS, PROJECT, canonical, read

import corml

ROOT = Path(__file__).resolve().parents[2]

BILL = json.loads((ROOT / "deploy" / "sbom.json").read_text("utf-8"))
COMPONENTS = {one["name"]: one for one in BILL["components"]}
PACKAGES = {name: one for name, one in COMPONENTS.items() if one["purl"].startswith("pkg:pypi/")}
LOCKED = read()
PAGE = (ROOT / "docs" / "licences.md").read_text("utf-8")


def licence(name):
    (stated,) = COMPONENTS[name]["licenses"]
    return stated["license"]["name"]


def test_the_bill_names_its_format_and_this_version():
    assert (BILL["bomFormat"], BILL["specVersion"]) == ("CycloneDX", "1.6")
    about = BILL["metadata"]["component"]
    assert (about["name"], about["version"]) == ("corml", corml.__version__)
    assert "timestamp" not in BILL["metadata"]  # equal locks give equal files
    assert "serialNumber" not in BILL


def test_every_component_has_its_locked_version_and_hashes_and_a_licence():
    for name, one in PACKAGES.items():
        assert one["version"] == LOCKED[name].version
        assert one["purl"] == one["bom-ref"] == f"pkg:pypi/{name}@{one['version']}"
        (files,) = one["externalReferences"]
        assert ["sha256:" + part["content"] for part in files.get("hashes", [])] == LOCKED[name].hashes
        assert licence(name)


def test_the_bill_lists_all_that_users_install():
    extras = ("serve", "client", "cluster", "tune", "excel", "duckdb", "neural")
    wanted = [*PROJECT["dependencies"], *(one for extra in extras for one in EXTRAS[extra])]
    assert set(map(canonical, wanted)) <= set(PACKAGES)
    assert not {"pytest", "ruff", "django"} & set(PACKAGES)
    required = {name for name, one in PACKAGES.items() if one["scope"] == "required"}
    assert set(map(canonical, PROJECT["dependencies"])) <= required
    assert not {"starlette", "torch", "distributed"} & required


def test_every_dependency_of_a_component_is_listed():
    refs = {one["bom-ref"] for one in BILL["components"]} | {BILL["metadata"]["component"]["bom-ref"]}
    rows = {row["ref"]: row["dependsOn"] for row in BILL["dependencies"]}
    assert set(rows) <= refs
    assert all(set(below) <= refs for below in rows.values())
    assert PACKAGES["llvmlite"]["purl"] in rows[PACKAGES["numba"]["purl"]]


def test_libraries_of_the_pages_are_listed_with_their_licences():
    texts = (ROOT / "src/corml/service/page/vendor/LICENSES.txt").read_text("utf-8")
    assert f"htm {COMPONENTS['htm']['version']}" in texts
    assert f"Preact {COMPONENTS['preact']['version']} " in texts
    assert (licence("htm"), licence("preact")) == ("Apache-2.0", "MIT")
    (file,) = (ROOT / "src/corml/service/page/vendor").glob("*.js")  # another one needs a line in the bill
    assert file.name in texts


def test_the_page_lists_every_package_and_names_copyleft():
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
