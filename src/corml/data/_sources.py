"""From what `load` is given to a table: a path, a known name, a frame, or several of these."""

import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import corml.data.catalog._download as _download
import corml.data.catalog._known as _known
from corml._runtime.values import nearest
from corml.data._options import Notes, Options
from corml.data.catalog._known import Known
from corml.data.formats import open_table, recognised
from corml.data.formats._files import File, refuse_foreign, shown, standard_input
from corml.data.formats._frames import FrameTable, from_frame
from corml.data.formats._several import (
    files_by_kind,
    files_in,
    files_like,
    in_words,
    is_pattern,
    several_by_kind,
    several_files,
)
from corml.data.formats._table import Table
from corml.data.formats.text import Unquoted
from corml.errors import DataError, UsageError, ascii_line


@dataclass(frozen=True)
class Source:
    """A table, what to call it, and the options that hold for it (a known data set adds its own)."""

    table: Table
    name: str
    options: Options
    entry: Known | None = None
    path: Path | None = None


def find(source: object, options: Options, notes: Notes) -> Source:
    """Open a source: an existing file before a known name before a frame; or several, each of one event type."""
    by_kind = files_by_kind(source)
    if by_kind is not None:
        return _by_kind(by_kind, options, notes)
    refuse_foreign(source)
    if not isinstance(source, str | os.PathLike):
        _refuse_query(options, "a frame")
        return Source(from_frame(source, notes), "frame", options)
    name = os.fspath(source)
    if name == "-":
        _refuse_query(options, "standard input")
        file = standard_input(recognised, allow_expansion=options.allow_expansion)
        return Source(open_table(file, options, notes), "-", options)
    if is_pattern(name):
        return _several(files_like(name), name, options, notes)
    path = Path(source)
    if isinstance(source, str) and not os.path.exists(source):
        if source.replace("_", "-") in _known.known():
            return _known_set(_known.get(source), options, notes)
        if path.suffix == "" and path.parent == Path():  # no suffix, no folder: a name was meant
            raise DataError(f"There is no file or data set {ascii_line(source)}{nearest(source, _known.known())}")
    if os.path.isdir(path):
        return _several(files_in(path), name, options, notes)
    file = File(path, allow_expansion=options.allow_expansion)
    return Source(open_table(file, options, notes), name, options, path=path)


def _by_kind(files: Mapping[str, object], options: Options, notes: Notes) -> Source:
    opened = {kind: find(one, replace(options, titles=None), notes) for kind, one in files.items()}
    table, options = several_by_kind({kind: one.table for kind, one in opened.items()}, options, notes)
    names = {kind: one.name for kind, one in opened.items()}
    return Source(table, "frame" if "frame" in names.values() else in_words(names), options)


def _several(paths: Sequence[Path], name: str, options: Options, notes: Notes) -> Source:
    def opener(path: Path, notes: Notes) -> Table:
        return open_table(File(path, allow_expansion=options.allow_expansion), options, notes)

    _refuse_query(options, shown(name))
    table = several_files(paths, shown(name), opener, notes)
    notes.add(f"files: {len(paths):,}, from {shown(paths[0])} to {shown(paths[-1])}")
    return Source(table, name, options)


def _refuse_query(options: Options, what: str) -> None:
    if options.query is not None:
        raise UsageError(f"query= (--query) is for SQLite and DuckDB files, and {what} is none: leave it out.")


@contextmanager
def given_as(option: str) -> Iterator[None]:
    """Name the option in an error: there are up to three tables."""
    try:
        yield
    except (DataError, UsageError) as fault:
        kind = DataError if isinstance(fault, DataError) else UsageError
        raise kind(f"{option}= (--{option}): {fault}") from fault


def second_table(source: object, options: Options, notes: Notes) -> Table:
    """Open a table about items."""
    if not isinstance(source, str | os.PathLike):
        return from_frame(source, notes)
    file = File(source, allow_expansion=options.allow_expansion)
    return open_table(file, Options(encoding=options.encoding), notes, about_items=True)


def _known_set(entry: Known, options: Options, notes: Notes) -> Source:
    paths = _known.present(entry) or _download.fetch(entry, notify=notes.add)
    _compare(entry, paths, notes)
    defaults = Options()
    rules = {name: value for name, value in entry.rules.items() if getattr(options, name) == getattr(defaults, name)}
    if rules:
        notes.add(f"{entry.name}: " + ", ".join(f"{name}={value}" for name, value in rules.items()))
    options = replace(options, **rules)
    original = paths[0].name == Path(entry.files[0].name).name if entry.files else True
    if original and entry.reader != "table":
        files = [File(path, allow_expansion=options.allow_expansion) for path in paths]
        return Source(_published(files, entry.reader), entry.name, options, entry, paths[0])
    file = File(paths[0], allow_expansion=options.allow_expansion, members=[entry.member] if entry.member else [])
    if file.name == Path(entry.member).name:
        options = replace(options, **{k: v for k, v in entry.layout.items() if getattr(options, k) is None})
    return Source(open_table(file, options, notes), entry.name, options, entry, paths[0])


def _published(files: Sequence[File], reader: str) -> Table:
    """The pairs of all files as numbers in order: a split by seed must not depend on how they were cut into files."""
    from corml._runtime.lazy_polars import polars as pl

    options = {"adjacency": Options(item_lists=True), "pairs": Options(separator="\t", header=False)}[reader]
    frames = []
    for file in files:
        user, item = open_table(file, options, Notes()).read([0, 1]).series
        try:
            frames.append(pl.DataFrame({"user": user, "item": item}).cast(pl.Int64))
        except pl.exceptions.PolarsError as fault:
            reason = str(fault).partition("\n")[0]
            raise DataError(
                f"{file.where} is not the {reader} file it should be ({reason}): fetch it again."
            ) from fault
    frame = pl.concat(frames).unique().sort("user", "item")
    return FrameTable(frame.columns, lambda at, rows, _: frame.to_series(at)[rows], files[0].where, len(frame))


def _compare(entry: Known, paths: list[Path], notes: Notes) -> None:
    """Note a file in the folder that is not the published one; it may still be the right one."""
    for file, path in zip(entry.files, paths, strict=False):
        wanted = _download.expected(file, path) if path.name == Path(file.name).name else None
        if wanted is not None and not wanted.fits(path):
            which = "published file" if wanted.origin == _download.PUBLISHED else "file that first came"
            notes.add(f"{shown(path)} is not the {which}: its {wanted.algorithm} differs")


def own_table(origin: Source) -> Table | None:
    """The table about items that comes with a known data set, if it is here."""
    entry, path = origin.entry, origin.path
    if entry is None or path is None or not entry.titles:
        return None
    sibling = path.parent / Path(entry.titles).name
    if path.suffix == ".zip" and _has(path, entry.titles):
        file = File(path, members=[entry.titles])
    elif sibling.is_file():
        file = File(sibling)
    else:
        return None
    options = Options(**entry.titles_layout)
    if options.encoding is not None:  # old files, with quotes that mean nothing
        return Unquoted(file, options, Notes(), about_items=True)
    return open_table(file, options, Notes(), about_items=True)


def _has(path: Path, member: str) -> bool:
    with zipfile.ZipFile(path) as archive:
        return any(name == member or name.endswith("/" + member) for name in archive.namelist())
