"""Draw the two diagrams of docs/architecture.md from the imports (run: .venv/bin/python docs/images/architecture.py).

Layers and imports are those of tests/test_architecture.py, which also checks that the drawings are up to date.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests"))
from test_architecture import FILES, FLOOR, LAYERS, import_statements, modules, package_of  # noqa: E402

# Classes whose objects packages hand over, in the order of the work, and where each is defined.
OBJECTS = {
    **{"Interactions": "data", "Store": "data", "Split": "splits", "Recommendations": "recommend"},
    **{"Recommender": "models", "Result": "evaluation", "Study": "experiments"},
}
ROWS = [name for layer in LAYERS for name in sorted(layer, reverse=True)]
BOX, HEIGHT, STEP = 110, 30, 62  # of the packages, in pixels
ROW, COLUMN, LEFT = 36, 118, 100  # of the data flow

STYLE = """<style>
svg { --paper: #fff; --ink: #1f2328; --soft: #59636e; --box: #eef3f8; --line: #0072b2; font: 13px sans-serif; }
@media (prefers-color-scheme: dark) {
  svg { --paper: #14171a; --ink: #e8ebee; --soft: #a3acb6; --box: #22303d; --line: #4db2f0; }
}
text { fill: var(--ink); text-anchor: middle; }
.soft { fill: var(--soft); font-size: 12px; text-anchor: start; }
rect { fill: var(--box); stroke: var(--line); }
.paper { fill: var(--paper); stroke: none; }
path { fill: none; stroke: var(--line); stroke-width: 1.5; }
.row { stroke: var(--box); }
circle { fill: var(--line); stroke: none; }
.head { fill: var(--line); stroke: none; }
</style>"""


def imports() -> dict[str, set[str]]:
    """The packages that each package imports, lazily or at the top."""
    found: dict[str, set[str]] = {name: set() for name in FLOOR}
    for path in FILES:
        own = package_of(path)
        found[own] |= {name.split(".")[1] for name in modules(path) if "." in name} - {own}
    return found


def direct(graph: dict[str, set[str]]) -> set[tuple[str, str]]:
    """The imports that no longer way implies: (importer, imported)."""
    below: dict[str, set[str]] = {}
    for name in sorted(graph, key=FLOOR.__getitem__):  # what a package imports comes before it
        below[name] = graph[name].union(*(below[other] for other in graph[name]))
    return {
        (name, other)
        for name, others in graph.items()
        for other in others
        if not any(other in below[between] for between in others)
    }


def packages() -> str:
    """The packages in their layers, with an arrow to each package that they build on."""
    centre, parts, at = 300, [], {}
    for level, layer in enumerate(LAYERS):
        y = 30 + (len(LAYERS) - 1 - level) * STEP
        parts.append(f'<text class="soft" x="10" y="{y + 5}">layer {level + 1}</text>')
        for place, name in enumerate(sorted(layer)):
            at[name] = (centre + (2 * place - len(layer) + 1) * 75, y)
    parts += [arrow(*at[a], *at[b], centre) for a, b in sorted(direct(imports())) if a in at and b in at]
    for name, (x, y) in at.items():
        parts.append(f'<rect x="{x - BOX // 2}" y="{y - HEIGHT // 2}" width="{BOX}" height="{HEIGHT}" rx="6"/>')
        parts.append(f'<text x="{x}" y="{y + 5}">{name}</text>')
    return svg(560, len(LAYERS) * STEP, "Packages of corml in their layers", parts)


def arrow(x: int, y: int, u: int, v: int, centre: int) -> str:
    """From the box at x, y to the one at u, v below; around boxes in layers between them."""
    top, bottom, side = v - HEIGHT // 2, y + HEIGHT // 2, BOX // 2
    if v - y == STEP or x == u:
        return f'<path d="M{x} {bottom}L{u} {top - 6}"/>{head(u, top, "-4 -7h8")}'
    if abs(x - centre) > abs(u - centre):
        return f'<path d="M{x} {bottom}V{v - 18}Q{x} {v - 8} {u + side + 6} {v - 8}"/>{head(u + side, v - 8, "7 -4v8")}'
    return f'<path d="M{x + side} {y + 8}Q{u} {y + 8} {u} {y + 18}V{top - 6}"/>{head(u, top, "-4 -7h8")}'


def head(x: int, y: int, back: str) -> str:
    """The head of an arrow with its point at x, y."""
    return f'<path class="head" d="M{x} {y}l{back}z"/>'


def readers() -> dict[str, set[str]]:
    """For each object the packages above its home that import its class."""
    found: dict[str, set[str]] = {name: set() for name in OBJECTS}
    for path in FILES:
        for node, _ in import_statements(path):
            module = (getattr(node, "module", None) or "").split(".")
            for name in (alias.name for alias in node.names):
                home = OBJECTS.get(name)
                if module[:2] == ["corml", home] and FLOOR[package_of(path)] > FLOOR[home]:
                    found[name].add(package_of(path))
    return found


def data_flow() -> str:
    """A line for each object, from the package that defines it to those that read it."""
    flows = readers()
    shown = [row for row in ROWS if row in OBJECTS.values() or any(row in users for users in flows.values())]
    y = {row: 56 + at * ROW for at, row in enumerate(shown)}
    width = LEFT + COLUMN * len(OBJECTS)
    parts = [f'<path class="row" d="M10 {at + ROW // 2}H{width - 10}"/>' for at in y.values()]
    parts += [f'<text class="soft" x="12" y="{at + 5}">{row}</text>' for row, at in y.items()]
    for place, (name, home) in enumerate(OBJECTS.items()):
        x, reached = LEFT + COLUMN * place + COLUMN // 2, sorted(y[row] for row in flows[name])
        parts.append(f'<text x="{x}" y="24">{name}</text><circle cx="{x}" cy="{y[home]}" r="6"/>')
        parts.append(f'<path d="M{x} {y[home]}V{reached[-1]}"/>')
        parts += [f'<path d="M{x} {at}h-16"/>{head(x - 22, at, "7 -4v8")}' for at in reached]
    return svg(width, 56 + ROW * len(shown), "Which package defines an object, and which packages read it", parts)


def svg(width: int, height: int, title: str, parts: list[str]) -> str:
    """The whole drawing."""
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    paper = f'<rect class="paper" width="{width}" height="{height}"/>'
    start = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size}><title>{title}</title>'
    return "\n".join([start, STYLE, paper, *parts, "</svg>"]) + "\n"


DRAWINGS = {"packages.svg": packages, "data-flow.svg": data_flow}

if __name__ == "__main__":
    for name, draw in DRAWINGS.items():
        (HERE / name).write_text(draw(), encoding="utf-8")
