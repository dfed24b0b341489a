"""Packages import only what lies below them, and `import corml` stays light."""

import ast
import importlib
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import corml

SOURCE = Path(corml.__file__).parent

# A package may import the packages of lower layers, and itself; packages of one layer never import each other.
# `errors` imports nothing of corml, and any file may import it. `plugins` imports the packages of a group by name.
LAYERS = [
    {"_runtime"},
    {"linalg", "persistence", "plugins"},
    {"data"},
    {"splits", "recommend"},
    {"models"},
    {"outofcore"},
    {"evaluation"},
    {"experiments"},
    {"report", "service"},
    {"cli", "client"},
]
FLOOR = {name: layer for layer, names in enumerate(LAYERS) for name in names} | {"errors": -1, "__main__": len(LAYERS)}
FILES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def package_of(path):
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


@cache
def import_statements(path):
    """The imports of a file, also inside functions, and whether each is a hint for type checkers only."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    for_checkers = {
        id(inner)
        for node in nodes
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    return [(node, id(node) in for_checkers) for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]


def modules(path, *, hints=False):
    """Modules of ours that a file imports, also inside functions; hints for type checkers only if asked for."""
    for node, is_hint in import_statements(path):
        if is_hint and not hints:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "corml":
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if is_module(inner) else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "corml")


def is_module(name):
    path = SOURCE.joinpath(*name.split(".")[1:])
    return path.is_dir() or path.with_suffix(".py").is_file()


def name_of(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(["corml", *(part for part in parts if part != "__init__")])


def test_no_files_import_each_other_in_a_cycle():
    """Neither at the top nor inside a function: one file can be read before the other."""
    graph = {name_of(path): set(modules(path)) - {name_of(path)} for path in FILES}
    done, trail = set(), []

    def visit(name):
        assert name not in trail, " -> ".join([*trail[trail.index(name) :], name])
        if name in done or name not in graph:
            return
        trail.append(name)
        for other in sorted(graph[name]):
            visit(other)
        trail.pop()
        done.add(name)

    for name in graph:
        visit(name)


def test_private_files_are_imported_by_their_own_package_alone():
    for path in FILES:
        for module in modules(path, hints=True):
            private = [part for part in module.split(".")[2:] if part.startswith("_")]
            assert not private or module.split(".")[1] == package_of(path), f"{name_of(path)} imports {module}"


def test_packages_import_only_from_lower_layers():
    """Imports inside functions count, and so does the package itself: `import corml` is for the top layer."""
    for path in FILES:
        package = package_of(path)
        for module in modules(path):
            if module == "corml":
                assert FLOOR[package] == len(LAYERS) - 1, f"{name_of(path)} imports corml"
            else:
                other = module.split(".")[1]
                assert other == package or FLOOR[other] < FLOOR[package], f"{name_of(path)} imports {module}"


def test_every_package_is_in_one_layer():
    assert {package_of(path) for path in FILES} == set(FLOOR)
    assert len([name for name in FLOOR if (SOURCE / name).is_dir()]) <= 13


def test_every_public_name_can_be_had():
    assert set(corml.__all__) <= set(dir(corml))
    assert all(getattr(corml, name) is not None for name in corml.__all__)
    with pytest.raises(AttributeError, match="no attribute 'CoRLM'"):
        corml.CoRLM  # noqa: B018


def test_importing_corml_is_light():
    heavy = {"numba", "polars", "matplotlib", "pandas", "typer", "rich", "scipy.linalg", "torch", "optuna"}
    code = "import sys, corml; print(*(m for m in sys.modules))"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not loaded & heavy


def test_no_file_is_longer_than_400_lines():
    long = [path.name for path in FILES if len(path.read_text(encoding="utf-8").splitlines()) > 400]
    assert not long


def test_the_drawings_of_the_packages_are_up_to_date(monkeypatch):
    images = SOURCE.parents[1] / "docs" / "images"
    monkeypatch.setitem(sys.modules, "test_architecture", sys.modules[__name__])  # files are parsed once
    monkeypatch.syspath_prepend(images)
    drawings = importlib.import_module("architecture").DRAWINGS
    for name, draw in drawings.items():
        assert draw() == (images / name).read_text("utf-8"), "run: .venv/bin/python docs/images/architecture.py"
