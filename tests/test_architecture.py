"""The house stays a house: rooms import only what lies below them, and the front door stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import corml

SOURCE = Path(corml.__file__).parent

# A room may import the rooms of lower rows, and itself; rooms of one row never import each other.
ROWS = [
    {"cli"},
    {"report"},
    {"evaluation"},
    {"models"},
    {"method", "baselines", "splits", "datasets"},
    {"neural"},
    {"metrics"},
    {"recommender"},
    {"requests"},
    {"topn"},
    {"recommendations", "explanation"},
    {"fitted"},
    {"storage"},
    {"linalg"},
    {"interactions"},
    {"memory", "parallel", "progress", "compiled"},
    {"plugins"},
    {"settings"},
    {"errors"},
]
FLOOR = {room: len(ROWS) - row for row, rooms in enumerate(ROWS) for room in rooms}
FILES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def room_of(path):
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


def imports(path):
    """Rooms of ours that a file imports when it runs (hints for type checkers do not count)."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    hints = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in hints:
            continue
        if isinstance(node, ast.ImportFrom) and node.module == "corml":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("corml."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith("corml."))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_data_flows_one_way(path):
    room = room_of(path)
    for other in imports(path):
        assert other == room or FLOOR[other] < FLOOR[room], f"{room} imports {other}"


def test_every_room_has_its_place():
    assert {room_of(path) for path in FILES} == set(FLOOR)


def test_every_public_name_can_be_had():
    assert set(corml.__all__) <= set(dir(corml))
    assert all(getattr(corml, name) is not None for name in corml.__all__)
    with pytest.raises(AttributeError, match="no attribute 'CoRLM'"):
        corml.CoRLM  # noqa: B018


def test_importing_corml_is_light():
    heavy = {"numba", "polars", "matplotlib", "pandas", "typer", "rich", "scipy.linalg", "torch"}
    code = "import sys, corml; print(*(m for m in sys.modules))"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not loaded & heavy


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_file_fits_one_sitting(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
