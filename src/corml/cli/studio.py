"""corml studio: a page to play with a model, from a file of interactions or a model file."""

import os
import re
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import typer

import corml
from corml import data as datasets
from corml import models
from corml._runtime.progress import Progress
from corml.cli._console import in_flags
from corml.cli._files import refuse_to_replace, target
from corml.cli._options import Given, pairs, with_loading
from corml.cli._work import fetch
from corml.cli.serve import check_packages, say_now
from corml.data.interactions import Interactions
from corml.errors import UsageError
from corml.persistence import container, unfinished

__all__ = ["studio"]

SAMPLE = "movielens-small"
SAMPLE_LOADING = {"at_least": 4, "k_core": 5}


@with_loading
def studio(
    sources: list[str] = typer.Argument(
        None, metavar="[FILE]…", help="A file of interactions, a known data set, or model files to compare."
    ),
    model: str = typer.Option("corml-dial", "--model", metavar="NAME", help="The model to fit."),
    values: list[str] = typer.Option(
        [], "--set", metavar="NAME=VALUE", help="A setting of the model, e.g. mix=0.8; may be repeated."
    ),
    out: str = typer.Option(None, "--out", "-o", metavar="FILE", help="Keep the fitted model in this file."),
    port: int = typer.Option(0, "--port", "-p", metavar="N", help="Port to listen at (default: a free one)."),
    no_browser: bool = typer.Option(False, "--no-browser", help="Only print the address."),
    loading: Given = {},
) -> None:
    """Try a model in the browser: lists, their reasons, a map.

    Reads and checks the data, fits a model while the page shows how far it is, and then opens it: lists with exact
    reasons, a dial from popular to novel, why not, a map, and two models or settings side by side. A model file opens
    at once; without a file, the bundled sample. Only this machine can open the page, and nothing leaves it.

    \b
    Examples:
      corml studio
      corml studio ratings.csv --at-least 4
      corml studio movies.corml
      corml studio ratings.csv --model corml --out shop.corml --no-browser
    """
    check_packages("studio")
    from corml.service.studio.process import Studio

    given = [source for source in sources or [] if source]
    if not given:
        given, loading = [SAMPLE], {**SAMPLE_LOADING, **loading}
    files = [source for source in given if is_model_file(source)]
    if len(files) < len(given) and len(given) > 1:
        raise UsageError("Name one file of interactions, or model files alone.")
    with tempfile.TemporaryDirectory(prefix="corml-studio-") as folder, unfinished.listed(Path(folder)):
        page = Studio(Path(folder), port, name_of(given[0]), announce=say_now)
        if files:
            if loading or values or out:
                raise UsageError("A model file opens as it is: leave out options of reading and fitting.")
            for file in files:
                page.open_model(name_of(file), file)
        else:
            _check(given[0], model, values, out)
            page.open_data(_reader(given[0], loading), model, pairs(values), Path(out) if out else None)
        page.run(_opener(no_browser))


def is_model_file(source: str) -> bool:
    """Whether a file is a model, by its first bytes; one with a model's name counts too, and gets an error message."""
    return source.endswith(".corml") or (os.path.isfile(source) and container.peek(source) is not None)


def name_of(source: str) -> str:
    """A name for the address and the page, of letters that both can have."""
    stem = Path(source.rstrip("/")).name.partition(".")[0]
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._")[:60] or "data"


def _check(source: str, model: str, values: list[str], out: str | None) -> None:
    """What is wrong with the words of the command is said before anything opens."""
    models.make(model, pairs(values))
    if out:
        target(out, source)
        refuse_to_replace(out, force=False)
    known = source.replace("_", "-") in datasets.known()
    if not known and not any(sign in source for sign in "*?[") and not os.path.exists(source):
        corml.load(source)  # its sentence says what is missing, and what was meant perhaps


def _reader(source: str, loading: Given) -> Callable[..., Interactions]:
    def read(note: Callable[[str], None], progress: Progress, changed: Mapping[str, Any]) -> Interactions:
        name = source.replace("_", "-")
        if name in datasets.known() and not os.path.exists(source) and not datasets.get(name).bundled:
            fetch(name)
        return corml.load(source, **{**loading, **changed}, notify=lambda text: note(in_flags(text)))

    return read


def _opener(no_browser: bool) -> Callable[[str], None]:
    def opened(address: str) -> None:
        say_now(f"corml studio: {address}  (Ctrl-C ends it)")
        if not no_browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    return opened
