"""From what people give `load` to a table: a path, a known name or a frame."""

import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import corml.data._titles as _titles
import corml.data.catalog._checksum as _checksum
import corml.data.catalog._download as _download
import corml.data.catalog._known as _known
from corml._runtime.values import nearest
from corml.data._options import Notes, Options
from corml.data.catalog._known import Known
from corml.data.cleaning._columns import Table
from corml.data.formats._by_kind import TablesByKind, files_by_kind, in_words, options_by_kind
from corml.data.formats._databases import from_database, kind_of_database
from corml.data.formats._excel import ExcelTable
from corml.data.formats._folders import FolderTable, files_in, files_like, is_pattern
from corml.data.formats._frames import from_frame, from_pieces
from corml.data.formats._json import JsonLists, JsonTable
from corml.data.formats._lists import ListTable, looks_like_lists
from corml.data.formats._npz import from_npz
from corml.data.formats._packed import Content, content, refuse_foreign, shown, standard_input
from corml.data.formats._parquet import ParquetTable
from corml.data.formats._text import TextTable
from corml.errors import DataError, UsageError, ascii_line

__all__ = ["Source", "find", "given_as", "own_table", "second_table", "titles"]


@dataclass(frozen=True)
class Source:
    """A table, what to call it, and the options that hold for it (a known data set adds its own)."""

    table: Table
    name: str
    options: Options
    entry: Known | None = None
    path: Path | None = None


def find(source: Any, options: Options, notes: Notes) -> Source:
    """Open what was given: an existing file before a known name before a frame; or several, each of one kind."""
    by_kind = files_by_kind(source)
    if by_kind is not None:
        return _by_kind(by_kind, options, notes)
    refuse_foreign(source)
    if not isinstance(source, str | os.PathLike):
        _refuse_query(options, "a frame")
        return Source(from_frame(source, notes), "frame", options)
    path = Path(source)
    if source == "-":
        _refuse_query(options, "standard input")
        return Source(table(standard_input(allow_expansion=options.allow_expansion), options, notes), "-", options)
    if is_pattern(os.fspath(source)) and not os.path.exists(source):
        return _several(files_like(os.fspath(source)), os.fspath(source), options, notes)
    if isinstance(source, str) and not os.path.exists(source):
        if source.replace("_", "-") in _known.known():
            return _known_set(_known.get(source), options, notes)
        if path.suffix == "" and path.parent == Path():  # no suffix, no folder: a name was meant
            raise DataError(f"There is no file or data set {ascii_line(source)}{nearest(source, _known.known())}")
    if os.path.isdir(path):
        return _several(files_in(path), os.fspath(source), options, notes)
    database = kind_of_database(path)
    if database is not None:
        answer = from_database(path, database, options.query, allow_expansion=options.allow_expansion)
        return Source(answer, os.fspath(source), options, path=path)
    _refuse_query(options, shown(path))
    read = content(path, allow_expansion=options.allow_expansion)
    return Source(table(read, options, notes), os.fspath(source), options, path=path)


def _by_kind(files: Mapping[str, Any], options: Options, notes: Notes) -> Source:
    opened = {kind: find(one, replace(options, titles=None), notes) for kind, one in files.items()}
    table = TablesByKind({kind: one.table for kind, one in opened.items()}, options, notes)
    names = {kind: one.name for kind, one in opened.items()}
    name = "frame" if "frame" in names.values() else in_words(names)
    return Source(table, name, replace(options_by_kind(options), **table.options))


def _several(paths: Sequence[Path], name: str, options: Options, notes: Notes) -> Source:
    def opener(path: Path, notes: Notes) -> Table:
        return table(content(path, allow_expansion=options.allow_expansion), options, notes)

    _refuse_query(options, shown(name))
    return Source(FolderTable(paths, shown(name), opener, notes), name, options)


def _refuse_query(options: Options, what: str) -> None:
    if options.query is not None:
        raise UsageError(f"query= (--query) is for SQLite and DuckDB files, and {what} is none: leave it out.")


def table(read: Content, options: Options, notes: Notes, *, quotes: bool = True, beside: bool = False) -> Table:
    """Read the table in some bytes, by their kind.

    One `beside` the interactions is about items: options about layout are not its, and a field of JSON may hold a list.
    """
    if read.kind in ("parquet", "pq"):
        return ParquetTable(read, allow_expansion=options.allow_expansion)
    if read.kind == "npz":
        return from_npz(read, allow_expansion=options.allow_expansion)
    if read.kind in ("jsonl", "ndjson", "json"):
        if options.item_lists and not beside:
            notes.add("lists: each record has a user and all their items")
            return JsonLists(read, options.encoding, options.item)
        return JsonTable(read, options.encoding, nested=beside)
    if read.kind in ("xlsx", "xlsm"):
        return ExcelTable(read, options, notes, beside=beside)
    if read.kind in ("xls", "ods"):
        raise DataError(f"{read.where} is a spreadsheet of a kind corml does not read: save it as .xlsx or CSV.")
    if not beside and (options.item_lists or looks_like_lists(read, options)):
        notes.add("lists: each line is a user and then all their items")
        return ListTable(read, options.encoding)
    return TextTable(read, options, notes, quotes=quotes, beside=beside)


def titles(origin: Source, notes: Notes) -> dict[str, str]:
    """Find the titles that were asked for, else those that come with a known data set."""
    given, options = origin.options.titles, origin.options
    if isinstance(given, Mapping):
        return _titles.from_mapping(given)
    if given is None:
        return _own_titles(origin)
    item = options.item if isinstance(options.item, str) else ""
    with given_as("titles"):
        is_file = isinstance(given, str | os.PathLike)
        second = second_table(given, options, Notes()) if is_file else from_frame(given, notes)
        return _titles.from_table(second, item, trim=options.trim, notes=notes)


@contextmanager
def given_as(option: str) -> Iterator[None]:
    """Say in an error of which option it is: there are up to three tables."""
    try:
        yield
    except (DataError, UsageError) as fault:
        kind = DataError if isinstance(fault, DataError) else UsageError
        raise kind(f"{option}= (--{option}): {fault}") from fault


def second_table(path: str | os.PathLike[str], options: Options, notes: Notes) -> Table:
    """Open a table about items that stands beside the interactions."""
    database = kind_of_database(Path(path)) if os.path.exists(path) else None
    if database is not None:
        return from_database(Path(path), database, None, allow_expansion=options.allow_expansion)
    read = content(Path(path), allow_expansion=options.allow_expansion)
    return table(read, Options(encoding=options.encoding), notes, beside=True)


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
        pieces = [content(path, allow_expansion=options.allow_expansion) for path in paths]
        return Source(from_pieces(pieces, entry.reader), entry.name, options, entry, paths[0])
    read = content(paths[0], allow_expansion=options.allow_expansion, members=[entry.member] if entry.member else [])
    if read.name == Path(entry.member).name:
        options = replace(options, **{k: v for k, v in entry.layout.items() if getattr(options, k) is None})
    return Source(table(read, options, notes), entry.name, options, entry, paths[0])


def _compare(entry: Known, paths: list[Path], notes: Notes) -> None:
    """Say so if a file in the folder is not the published one; it may still be the right one."""
    for file, path in zip(entry.files, paths, strict=False):
        wanted = _checksum.expected(file, path) if path.name == Path(file.name).name else None
        if wanted is not None and not wanted.fits(path):
            which = "published file" if wanted.origin == _checksum.PUBLISHED else "file that first came"
            notes.add(f"{shown(path)} is not the {which}: its {wanted.algorithm} differs")


def _own_titles(origin: Source) -> dict[str, str]:
    second = own_table(origin)
    return {} if second is None else _titles.from_table(second, "", trim=origin.options.trim, notes=Notes())


def own_table(origin: Source) -> Table | None:
    """The table about items that comes with a known data set, if it is here."""
    entry, path = origin.entry, origin.path
    if entry is None or path is None or not entry.titles:
        return None
    beside = path.parent / Path(entry.titles).name
    if path.suffix == ".zip" and _has(path, entry.titles):
        read = content(path, members=[entry.titles])
    elif beside.is_file():
        read = content(beside)
    else:
        return None
    layout = dict(entry.titles_layout)
    encoding = layout.pop("encoding", "utf-8")
    read = replace(read, data=read.data.decode(encoding).encode())
    return table(read, Options(**layout), Notes(), quotes="encoding" not in entry.titles_layout)


def _has(path: Path, member: str) -> bool:
    with zipfile.ZipFile(path) as archive:
        return any(name == member or name.endswith("/" + member) for name in archive.namelist())
