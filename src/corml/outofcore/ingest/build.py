"""`build_store`: from merged pairs to a store, and the whole way there.

Killed at any moment, the same call resumes: a file of the work or of the store is whole or not there, the manifest is
written last, and nothing depends on when, where or how often it was interrupted.
"""

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Unpack

from corml._runtime import address_space
from corml._runtime import memory as _memory
from corml._runtime.console_progress import shown
from corml._runtime.progress import Asked, Progress
from corml.data import LoadOptions, Notes, Reader
from corml.data.store import ITEMS, MANIFEST, PLAN, WORK, Manifest, Store, digest
from corml.data.store.folder import held
from corml.data.store.turning import write_item_blocks
from corml.data.store.writing import FOLDERS, hashed
from corml.errors import DataError, UsageError, ascii_line
from corml.outofcore.ingest.encode import merge_buckets, number_items, split_files
from corml.outofcore.ingest.parts import Catalogue, write_items, write_user_parts
from corml.outofcore.ingest.pieces import Work
from corml.outofcore.ingest.plan import Plan, cut_for
from corml.persistence import atomic

__all__ = ["build_store"]

OTHER = "other files, options or another budget"  # than those a store in the folder was made with


def build_store(
    sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    memory: str | int = "1GB",
    progress: Asked = None,
    notify: Callable[[str], object] | None = None,
    **options: Unpack[LoadOptions],
) -> Store:
    """Make a store of files that together may be larger than memory.

    Parameters
    ----------
    sources
        Files, folders or patterns of files: Parquet, CSV, TSV or JSON Lines, the text also as .gz, in this order.
    out
        The folder to write. If it has an unfinished store of the same files and options, that is finished.
    memory
        About how much memory the data may take, besides the program; the smaller, the more parts it has.
    progress
        True shows bars, a function is called with (stage, done, total).
    notify
        Called with each remark, such as the columns that were chosen.
    options
        Of `load`: which columns, `at_least`, `weight` and others; those that it cannot be made with are refused.

    """
    given = [sources] if isinstance(sources, str | os.PathLike) else list(sources)
    address_space.prepare("Making a store")
    budget = _memory.read_size(memory) if isinstance(memory, str) else int(memory)
    notes, folder = Notes(notify), Path(out)
    reader = Reader(given, options, cut_for(budget), notes)
    plan = Plan.of(reader, budget)
    _refuse_inside(plan, folder)
    if (folder / MANIFEST).is_file():
        return _finished(folder, plan)
    plan.require_memory(sum(reader.about_rows))
    made = [*FOLDERS, ITEMS]
    with held(folder, PLAN, plan.facts(), a="a store", other=OTHER, made=made), shown(progress) as show:
        _build(reader, plan, folder, show, notes)
    shutil.rmtree(folder / WORK)
    return Store(folder)


def _build(reader: Reader, plan: Plan, folder: Path, progress: Progress, notes: Notes) -> None:
    work = Work(folder / WORK)
    work.prepare()
    split_files(reader, plan, work, progress)
    read = [one for run in work.sources() for one in run["files"]]
    counts = {name: sum(one[name] for one in read) for name in ("read", "bad", "without_id")}
    reader.refuse_too_many(counts["bad"], counts["read"])
    if counts["read"] == counts["bad"] + counts["without_id"]:
        raise DataError("The files have no interactions: they have no rows.")
    for name, what in (("bad", "bad rows skipped"), ("without_id", "rows without a user or an item left out")):
        if counts[name]:
            notes.warn(f"{what}: {counts[name]:,} of {counts['read']:,}")
    number_items(work, progress)
    merge_buckets(reader, plan, work, progress)
    catalogue = Catalogue.of(work, plan.buckets)
    if not catalogue.interactions:
        raise DataError("There are 0 positives after the threshold of ratings: lower at_least= (--at-least).")
    for inner in FOLDERS:
        (folder / inner).mkdir(exist_ok=True)
    write_items(folder, work, catalogue)
    seen, others = write_user_parts(folder, work, catalogue, progress)
    item_starts = write_item_blocks(folder, catalogue.turned, plan.memory, progress)
    manifest = Manifest(
        options=plan.options,
        columns=reader.columns,
        memory=plan.memory,
        sources=[_source(file, known) for file, known in zip(plan.files, read, strict=True)],
        users=catalogue.users,
        items=catalogue.items,
        interactions=catalogue.interactions,
        weighted=catalogue.weighted,
        timed=catalogue.timed,
        user_starts=catalogue.user_starts,
        item_starts=item_starts,
        seen=seen,
        others=others,
        counts={
            "rows": counts["read"],
            "bad_rows": counts["bad"],
            "without_id": counts["without_id"],
            **catalogue.counts,
        },
        files=hashed(folder, progress),
    )
    atomic.replace(folder / MANIFEST, manifest.text().encode())


def _source(file: tuple[str, int, int], known: dict[str, Any]) -> dict[str, Any]:
    return {"name": file[0], "size": file[1], "sha256": known["sha256"], "rows": known["read"]}


# --- the folder ------------------------------------------------------------------------------------------------------


def _refuse_inside(plan: Plan, folder: Path) -> None:
    inside = folder.resolve()
    for name, _, _ in plan.files:
        if Path(name).resolve().is_relative_to(inside):
            raise UsageError(f"{ascii_line(name, 200)} lies in the folder to write: choose another folder.")


def _finished(folder: Path, plan: Plan) -> Store:
    """The store that is there, if it was made of the same; what a kill left of its work is removed."""
    store = Store(folder)
    known = store.manifest
    same = known.options == plan.options and known.memory == plan.memory and len(known.sources) == len(plan.files)
    written = (folder / MANIFEST).stat().st_mtime_ns
    for source, (name, size, moment) in zip(known.sources, plan.files, strict=False):
        same = same and (source["name"], source["size"]) == (name, size)
        same = same and (moment < written or digest(Path(name)) == source["sha256"])
    if not same:
        raise UsageError(f"{ascii_line(folder, 200)} has a store of {OTHER}: choose another folder, or delete it.")
    shutil.rmtree(folder / WORK, ignore_errors=True)
    return store
