"""HTML: one page with the model inside, and the studio to play with it. No server, no network; opens from a file.

The page is the studio of `corml serve` with another file of calls: `page/calls.js` answers what the service would.
"""

import base64
import hashlib
import json
import zlib
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Template

import numpy as np
from numpy.typing import NDArray

from corml._runtime.html import escaped
from corml.errors import UsageError, printable_json
from corml.models.recommender import Recommender
from corml.service.bundle import bundle
from corml.service.export._tables import Job, Target
from corml.service.export._weights import adds_up

__all__ = ["html"]

MOST_ITEMS = 5_000
OURS = b'<meta name="generator" content="corml export">'
OWN = files("corml.service.export") / "page"
STUDIO = files("corml") / "service" / "page"  # named by its folder: nothing of the service is needed to read it
KINDS = {"<u2": "u2", "<u4": "u4", "<f4": "f4", "<f8": "f8"}


def write(job: Job, path: Path) -> None:
    """Write the page; a model that cannot run in one is refused first."""
    from corml.service.export._model_page import arrays_and_scoring, contents  # with what a service needs

    _check(job.model)
    arrays, scoring = arrays_and_scoring(job.model)
    digest = str(job.facts["model_digest"] or "")
    page_contents = {**contents(job.model, job.name, digest), "scoring": scoring, "export": dict(job.facts)}
    style, theme, script = _read("style.css"), _read("theme.js"), _script()
    page = Template(_read("index.html")).substitute(
        policy=_policy(style, theme, script),
        title=escaped(f"{job.name} · corml studio"),
        icon=base64.b64encode(_read("icon.svg").encode()).decode(),
        style=style,
        theme=theme,
        licences=_read("vendor/LICENSES.txt"),
        contents=_json(page_contents),
        arrays="\n".join(_block(name, values) for name, values in arrays.items()),
        script=script,
    )
    path.write_bytes(page.encode("utf-8"))


def _check(model: Recommender) -> None:
    if len(model.items_) > MOST_ITEMS:
        raise UsageError(
            f"A page can hold a model of up to {MOST_ITEMS:,} items, and this one has {len(model.items_):,}: show it "
            "with corml studio or corml serve instead, or fit on fewer items, with a higher --k-core."
        )
    if not adds_up(model):
        raise UsageError(
            f"This {model.NAME} model cannot run in a page, because its scores are not sums over the history: show it "
            "with corml studio or corml serve instead."
        )


def is_ours(path: Path) -> bool:
    """Whether a file is such a page."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return OURS in file.read(1000)


# --- parts of the page -----------------------------------------------------------------------------------------------


def _read(name: str) -> str:
    """A file of the page: our own, or else the studio's."""
    own = OWN / name
    return (own if own.is_file() else STUDIO / name).read_text(encoding="utf-8").replace("\r\n", "\n")


@cache
def _script() -> str:
    return bundle("app.js", _read)


def _policy(style: str, *scripts: str) -> str:
    """Nothing but what stands in the page: no other code, no style, no address."""
    allowed = " ".join(map(_hash, scripts))
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _json(value: object) -> str:
    """As JSON that no title can leave: a script ends at «</script», wherever that stands."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    text.encode("utf-8")  # half of a character is refused, which an escape would hide
    return printable_json(text).replace("<", "\\u003c")


def _block(name: str, values: NDArray[np.generic]) -> str:
    """Numbers as text: their first bytes, then their second ones, …, deflated."""
    plain = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    planes = plain.view(np.uint8).reshape(-1, plain.itemsize).T.tobytes()
    text = base64.b64encode(zlib.compress(planes, 9)).decode()
    return f'    <script type="text/plain" id="array-{name}" data-kind="{KINDS[plain.dtype.str]}">{text}</script>'


html = Target(ending=".html", queries={}, write=write, is_ours=is_ours, package="msgspec", extra="serve", whole=True)
