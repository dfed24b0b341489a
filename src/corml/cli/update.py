"""corml update: add new interactions to a model file, with or without a new fit."""

import os
import shlex
import time
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import typer

import corml
from corml import data as datasets
from corml._runtime.values import counted
from corml.cli._console import progress, show_json, tell, wrote
from corml.cli._files import refuse_to_replace, shared_target
from corml.cli._options import Given, with_loading
from corml.cli._work import fit_with_a_split, load
from corml.data.store import is_store
from corml.errors import UsageError, ascii_line
from corml.models.fitted import Fitted, present
from corml.models.neural.training.embedding_model import EmbeddingModel
from corml.models.recommender import Recommender
from corml.models.saved.keep import save_or_keep
from corml.persistence.locks import exclusive

__all__ = ["update"]

FIRST_LOAD_ONLY = ("k_core", "min_user", "min_item", "titles", "now")  # they selected the data of the first fit
LAYOUT = ("separator", "header", "encoding", "decimal", "time_format", "item_lists", "sheet", "query")


@with_loading
def update(
    model: str = typer.Argument(..., metavar="MODEL", help="A model file with the histories of its users."),
    source: str = typer.Argument(None, metavar="DATA", help="New interactions; with --refit they may be left out."),
    out: str = typer.Option(None, "--out", "-o", metavar="FILE", help="Write here (default: MODEL itself)."),
    refit: bool = typer.Option(False, "--refit", help="Fit again on all data, with the same settings."),
    force: bool = typer.Option(False, "--force", help="Write over a file that is not a model."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    loading: Given = {},
) -> None:
    """Add new interactions to a model file.

    They count at once, without a fit: histories grow, new users get personal lists, and items they already have are not
    recommended. Interactions with unknown items are kept for the next --refit, which fits on all data. Loading options
    that are not given are those of the first load. A model of one file per event type is updated in the same form:
    TYPE=FILE.

    \b
    Examples:
      corml update shop.corml today.csv
      corml update shop.corml today.csv --out tomorrow.corml
      corml update shop.corml cart=later_cart.tsv
      corml update shop.corml --refit
    """
    if not source and not refit:
        raise UsageError("Say what to add: a file of interactions; or --refit to fit on what was added before.")
    written = out or model
    shared_target(written, source, loading.get("titles"))
    refuse_to_replace(written, force=force)
    begun = time.perf_counter()
    with exclusive(model) if os.path.realpath(written) == os.path.realpath(model) else nullcontext():
        loaded = corml.read_model(model)
        present(loaded.fitted_)  # a file without histories is refused before the data are read
        new = loaded
        if source:
            _check_named_by_type(loaded.fitted_, model, source, loading)
            data = load(source, {**_as_before(loaded.fitted_, source), **loading, "as_update": True})
            new = loaded.update(data)
        records = new.fitted_.added.records[-1:] if source and new.fitted_.added else ()
        if refit:
            with progress() as show:
                new = new.refitted(progress=show)
        save_or_keep(new, written)
    record = dict(records[0]) if records else {}
    if as_json:
        shown = {"file": written, "refitted": refit, "seconds": round(time.perf_counter() - begun, 3)}
        show_json({**shown, "users": len(new.users_), "items": len(new.items_), "update": record})
        return
    _tell(new, record, refit)
    if refit and loaded.fitted_.evaluation:
        tell(
            "note: the metrics of the earlier fit do not apply to this one and are left out. To measure, fit all files "
            f"together with a split: {fit_with_a_split(new.fitted_.source)}"
        )
    wrote(written, _summary(new, record, refit, time.perf_counter() - begun))


def _as_before(state: Fitted, source: str) -> dict[str, Any]:
    """The options of the first load that suit another file; a layout only suits files of the same type."""
    recorded = state.source
    first = recorded.get("from")
    names = [str(name) for name in (first if isinstance(first, list) else [first])]
    known = datasets.get(names[0]).rules if names[0].replace("_", "-") in datasets.known() else {}
    options: Mapping[str, Any] = {**known, **recorded.get("options", {})}
    alike = any(_ending(name) == _ending(source) for name in names)
    left_out = FIRST_LOAD_ONLY if alike else (*FIRST_LOAD_ONLY, *LAYOUT)
    return {name: value for name, value in options.items() if name not in left_out}


def _check_named_by_type(state: Fitted, model: str, source: str, loading: Given) -> None:
    """Refuse a file without event types where the first data were several files, each of one event type."""
    first = str(state.source.get("from", ""))
    types = list(datasets.files_by_kind(first) or ())
    if not types or "event" in loading or is_store(source) or datasets.files_by_kind(source) is not None:
        return
    likely = next((name for name in types if name in os.path.basename(source)), types[-1])
    again = shlex.join(["corml", "update", model, f"{likely}={source}"])
    raise UsageError(
        f"The data of {ascii_line(model, 200)} were given as one file per event type ({', '.join(types)}): name the "
        f"type of the new file too, such as {again}; or its column of event types, with --event."
    )


def _ending(name: str) -> str:
    return os.path.splitext(name.lower().removesuffix(".gz"))[1]


def _tell(model: Recommender, record: Mapping[str, Any], refit: bool) -> None:
    repeated, withdrawn, unknown = (record.get(name, 0) for name in ("known_before", "withdrawn", "unknown_items"))
    if repeated:
        effect = "they count once" if model.fitted_.histories.pairs.weights is None else "their weights add up"
        tell(f"note: {repeated:,} pairs are already in the model; {effect}")
    if withdrawn:
        tell(f"note: {withdrawn:,} pairs no longer count: the new data withdraw them")
    if unknown and not refit:
        pairs = record["with_unknown_items"]
        within = counted(pairs, "interaction")
        tell(f"note: items the model does not know: {unknown:,}, in {within}; they are kept for --refit")
    if isinstance(model, EmbeddingModel) and not refit:
        new = "are scored by their histories" if model._folds_in else "get the most popular items"
        tell(
            f"note: the user embeddings of {model.NAME} do not change until --refit: added items are only excluded "
            f"from lists, and new users {new}"
        )


def _summary(model: Recommender, record: Mapping[str, Any], refit: bool, seconds: float) -> str:
    added = ""
    if record:
        added = f"{counted(record['interactions'], 'interaction')} of {counted(record['users'], 'user')} added"
    new = f", {record['new_users']:,} of them new" if record.get("new_users") else ""
    users, items = model.train_.shape
    fitted = f"{model.NAME} fitted again on {users:,} users x {items:,} items in {seconds:.1f} s"
    return "; ".join(filter(None, (added + new, fitted if refit else "")))
