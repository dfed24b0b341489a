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
    {"__main__"},
    {"cli", "client"},
    {"export"},
    {"report", "service"},
    {"experiments"},
    {"tuning"},
    {"evaluation"},
    {"workers"},
    {"models"},
    {"scale"},
    {"method", "baselines", "splits", "datasets"},
    {"store"},
    {"neural"},
    {"metrics"},
    {"recommender"},
    {"cited", "neighbours", "parts"},
    {"rerank"},
    {"requests"},
    {"topn"},
    {"seen", "rules", "quota"},
    {"recommendations", "explanation"},
    {"charts", "tasks"},
    {"storage"},
    {"fitted_model", "fit_call", "new_items", "updating"},
    {"fitted"},
    {"histories"},
    {"content"},
    {"linalg"},
    {"filters", "long_histories"},
    {"attributes"},
    {"interactions"},
    {"titles"},
    {"ids", "strength"},
    {"labels"},
    {"console_progress"},
    {"address_space"},
    {"memory", "parallel", "progress", "compiled"},
    {"plugins"},
    {"settings"},
    {"durations", "lazy_polars"},
    {"finite"},
    {"errors", "html", "log", "numerals"},
]
FLOOR = {room: len(ROWS) - row for row, rooms in enumerate(ROWS) for room in rooms}
FILES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def room_of(path):
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


def modules(path, *, hints=False):
    """Modules of ours that a file imports, also inside functions; hints for type checkers only if asked for."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_checkers = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in for_checkers and not hints:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "corml":
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if is_module(inner) else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("corml."))


def is_module(name):
    path = SOURCE.joinpath(*name.split(".")[1:])
    return path.is_dir() or path.with_suffix(".py").is_file()


def name_of(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(["corml", *(part for part in parts if part != "__init__")])


def imports(path):
    """Rooms of ours that a file imports when it runs."""
    yield from (module.split(".")[1] for module in modules(path) if "." in module)


def test_no_files_import_each_other_in_a_circle():
    """Neither at the top nor inside a function: whoever reads one file need not have read the other before."""
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


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_private_files_belong_to_their_room(path):
    for module in modules(path, hints=True):
        private = [part for part in module.split(".") if part.startswith("_")]
        assert not private or module.split(".")[1] == room_of(path), f"{name_of(path)} reaches into {module}"


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
    heavy = {"numba", "polars", "matplotlib", "pandas", "typer", "rich", "scipy.linalg", "torch", "optuna"}
    code = "import sys, corml; print(*(m for m in sys.modules))"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not loaded & heavy


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_file_fits_one_sitting(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


def imported_files(path):
    """Dotted names of our files that a file imports, wherever in it; hints for type checkers count as well."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("corml."))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "corml":
            inner = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (
                name if (SOURCE.parent / f"{name.replace('.', '/')}.py").exists() else node.module for name in inner
            )


def dotted(path):
    return ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_room_reaches_into_the_private_files_of_another(path):
    for name in imported_files(path):
        private = any(part.startswith("_") for part in name.split(".")[1:])
        assert not private or name.split(".")[1] == room_of(path), f"{dotted(path)} imports {name}"


@pytest.mark.parametrize("room", ["splits", "datasets", "linalg", "metrics", "scale", "store", "labels"])
def test_files_of_a_room_import_each_other_in_one_direction(room):
    below = {dotted(path): set(imported_files(path)) for path in FILES if room_of(path) == room}
    while below:
        free = {name for name, needed in below.items() if not needed & below.keys()}
        assert free, f"imports go in a circle: {sorted(below)}"
        below = {name: needed for name, needed in below.items() if name not in free}
