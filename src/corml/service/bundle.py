"""The studio's modules as one script: a page that is opened as a file may not load others.

The page has no build step, and needs none here: every module becomes a function that returns what it exports, in the
order in which they need each other. What the modules are written in is a small part of the language, and anything else
is refused, so that a new way to import or export is noticed at once.
"""

import re
from collections.abc import Callable

_IMPORT = re.compile(r'^import (?:\{(?P<names>[^}]+)\}|\* as (?P<whole>\w+)) from "\./(?P<file>[\w./-]+)";', re.M)
_EXPORT = re.compile(r"^export (?=(?:async function|function|const|class) (?P<name>\w+))", re.M)
_LAST = re.compile(r"\bexport\s*\{(?P<names>[^}]+)\};?\s*\Z")  # of a module that its authors have built
_LEFT = re.compile(r"^\s*(?:import|export)\b.*", re.M)


def bundle(first: str, read: Callable[[str], str]) -> str:
    """The module `first` and all that it needs as one script; `read` gives the text of a module by its name."""
    done: dict[str, str] = {}
    _add(first, read, done, ())
    script = "\n".join(["(() => {", '"use strict";', "const modules = {};", *done.values(), "})();", ""])
    if re.search(r"</script|<!--", script, re.I):
        raise ValueError("A script inside a page cannot have the end of a script in it, nor the begin of a comment.")
    return script


def _add(name: str, read: Callable[[str], str], done: dict[str, str], trail: tuple[str, ...]) -> None:
    if name in done:
        return
    if name in trail:
        raise ValueError(f"Modules import each other in a circle: {' -> '.join([*trail, name])}")
    text = read(name)
    for found in _IMPORT.finditer(text):
        _add(found["file"], read, done, (*trail, name))
    done[name] = _function(name, text)


def _function(name: str, text: str) -> str:
    exports = {found["name"]: found["name"] for found in _EXPORT.finditer(text)}
    body = _EXPORT.sub("", _IMPORT.sub(_taken, text))
    last = _LAST.search(body)
    if last:
        exports |= {outside: inside for inside, outside in _pairs(last["names"])}
        body = body[: last.start()]
    left = _LEFT.search(body)
    if left:
        raise ValueError(f"This import or export in {name} cannot be bundled: {left[0].strip()}")
    given = ", ".join(f"{outside}: {inside}" for outside, inside in exports.items())
    return f'modules["{name}"] = (() => {{\n{body.rstrip()}\nreturn {{ {given} }};\n}})();'


def _taken(found: re.Match[str]) -> str:
    module = f'modules["{found["file"]}"]'
    if found["whole"]:
        return f"const {found['whole']} = {module};"
    names = ", ".join(outside if outside == inside else f"{outside}: {inside}" for outside, inside in _pairs(found[1]))
    return f"const {{ {names} }} = {module};"


def _pairs(names: str) -> list[tuple[str, str]]:
    """Names before and behind «as»; one without it stands for both."""
    parts = (part.strip().partition(" as ") for part in names.split(",") if part.strip())
    return [(before.strip(), (behind or before).strip()) for before, _, behind in parts]
