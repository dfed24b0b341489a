"""A table of items: their ids, and every other column as an attribute of the kind that its values show.

A column of lists, or of texts with `|` between values, or of JSON lists, has several categories per item. Text that is
all numbers is a number, unless zeros lead it or its name ends like an id or a category; all dates, a time. Other text
is a category if it repeats or is short, and text if it reads like sentences or titles. A column without a value fits
any kind.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import corml.data._sources as _sources
import corml.data.cleaning._columns as _columns
from corml._runtime.values import nearest
from corml.data._cost import require_for_categories, require_for_items
from corml.data._options import Notes, Options
from corml.data.attributes import KINDS, Attributes, Categories, Column, Kind, Numbers, Texts, indicators
from corml.data.cleaning._times import times
from corml.data.formats._frames import from_frame
from corml.data.formats._sniff import bare, find, listed, position
from corml.data.formats._table import Table
from corml.data.ids import Ids, canonical
from corml.data.labels import Labels
from corml.errors import DataError, UsageError, ascii_line, printable

if TYPE_CHECKING:
    import polars as pl

SEPARATOR = "|"  # between the values of a text with several
DAT = ("item", "title", "genres")  # of MovieLens' movies.dat, which has no header
AVAILABLE = ("availablefrom", "availableuntil")  # moments even where they are numbers
LABELS = ("id", "code", "category")  # how columns end whose numbers are labels
WORDS = 3  # values with more words in the mean, most of them different, are text
EMPTY = ("", "null", "none", "nan", "na", "n/a", "<na>")


def load_items(
    source: object,
    *,
    item: str | None = None,
    kinds: Mapping[str, str] | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    allow_expansion: bool = False,
    notify: Callable[[str], object] | None = None,
) -> Attributes:
    """Read a table of items: an id and any number of attributes, such as genres, price and description.

    Parameters
    ----------
    source
        Any file that `load` reads (CSV, TSV, Parquet, JSON Lines, Excel …), a data frame, or a mapping of columns.
    item
        The column of ids; else it is found by its usual names, such as item, sku, movieId or id.
    kinds
        The kind of a column where its values mislead: {"zip": "category"}; category, number, time or text.
    separator
        Between the values of a text with several categories; `|` unless given.
    encoding
        Of text files that are not UTF-8.
    allow_expansion
        Read a compressed file even if it expands more than 200-fold, as harmful files do.
    notify
        Called with each remark, such as the kinds that were found.

    """
    if isinstance(source, Attributes):
        return source
    notes = Notes(notify)
    table = table_of_items(source, Options(encoding=encoding, allow_expansion=allow_expansion), notes)
    return attributes_of(table, notes, item=item, kinds=kinds or {}, separator=separator or SEPARATOR)


def table_of_items(source: object, options: Options, notes: Notes) -> Table:
    """Open what was given as a table of items."""
    if isinstance(source, Mapping):
        from corml._runtime.lazy_polars import polars as pl

        try:
            return from_frame(pl.DataFrame(dict(source), strict=False), notes)
        except (pl.exceptions.PolarsError, TypeError, ValueError) as fault:
            raise DataError(f"The columns do not make a table of items: {str(fault).splitlines()[0]}.") from None
    return _sources.second_table(source, options, notes)


def attributes_of(
    table: Table,
    notes: Notes,
    *,
    item: str | None = None,
    kinds: Mapping[str, str] | None = None,
    separator: str = SEPARATOR,
    only: Sequence[str] = (),
    trim: bool = False,
) -> Attributes:
    """The attributes in a table, of all columns or `only` some; an item that is described twice counts once."""
    from corml._runtime.lazy_polars import polars as pl

    names = _names(table)
    at, title = _ids_and_title(table, names, item)
    wanted = [one for one in range(len(names)) if one != at and (not only or names[one] in only or one == title)]
    given = _checked(kinds or {}, [names[one] for one in wanted], table.where)
    require_for_items(table, 1 + len(wanted))
    read = table.read([at, *wanted])
    coded = _columns.ids(read.series[0], "item", table.where, trim=trim)
    if coded.remark:
        notes.warn(f"{table.where}: {coded.remark}")
    rows = np.where(coded.check.bad, -1, coded.codes)
    if not (rows >= 0).any():
        raise DataError(f"{table.where} has no items: no row has an id in its column {ascii_line(names[at])}.")
    columns = {}
    for one, series in zip(wanted, read.series[1:], strict=True):
        name = names[one]
        series = series.cast(pl.String) if series.dtype == pl.Null else series  # no value in it
        kind = given.get(name) or ("text" if one == title else _kind(name, series, separator))
        columns[name] = _per_item(_column(series, kind, table.where, name, separator), rows, len(coded.labels))
    _say(table, columns, read.faulty + int((rows < 0).sum()), len(rows), len(coded.labels), notes)
    used = np.unique(rows[rows >= 0])
    items = Ids(coded.labels[row] for row in used)
    named = "" if title is None or columns[names[title]].kind != "text" else names[title]
    return Attributes(items, {name: column.taken(used) for name, column in columns.items()}, named)


def own_items(origin: _sources.Source) -> Attributes | None:
    """The attributes that come with a known data set, besides its titles."""
    table = _sources.own_table(origin)
    if table is None or origin.entry is None or not origin.entry.attributes:
        return None
    return attributes_of(table, Notes(), only=origin.entry.attributes, trim=origin.options.trim)


# --- columns ---------------------------------------------------------------------------------------------------------


def _names(table: Table) -> list[str]:
    if table.named:
        return list(table.names)
    count = len(table.names)
    return [*DAT[:count], *(f"column {at}" for at in range(len(DAT), count))]


def _ids_and_title(table: Table, names: Sequence[str], item: str | None) -> tuple[int, int | None]:
    """Where the ids are, and the titles, if there are any."""
    lower = [bare(name).lower() for name in names]
    at = position("item", item, list(names), table.where) if item else find("item", names)
    if at is None and "id" in lower:
        at = lower.index("id")
    if at is None:
        raise DataError(
            f"Cannot tell which column of {table.where} holds the ids of the items; its columns are {listed(names)}: "
            "rename one to item."
        )
    others = ["" if one == at else name for one, name in enumerate(names)]
    return at, find("title", others)


def _checked(kinds: Mapping[str, str], names: Sequence[str], where: str) -> dict[str, Kind]:
    for name, kind in kinds.items():
        if name not in names:
            raise UsageError(f"{where} has no column {ascii_line(name)} for kinds={nearest(name, names)}")
        if kind not in KINDS:
            raise UsageError(f"A kind of attribute is one of {', '.join(KINDS)}; got {ascii_line(kind)}.")
    return {name: kind for name, kind in kinds.items() if kind in KINDS}


def _kind(name: str, series: "pl.Series", separator: str) -> Kind:
    from corml._runtime.lazy_polars import polars as pl

    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    kind = series.dtype
    if kind.is_nested() or kind in (pl.Categorical, pl.Enum, pl.Boolean):
        return "category"
    if kind.is_temporal() or (plain in AVAILABLE and kind.is_numeric()):
        return "time"
    if kind.is_numeric():
        return "category" if plain.endswith(LABELS) else "number"
    return _kind_of_text(plain, _filled(series), separator)


def _kind_of_text(plain: str, text: "pl.Series", separator: str) -> Kind:
    if not len(text):
        return "time" if plain in AVAILABLE else "category"
    if text.str.contains(separator, literal=True).any() or _listed(text):
        return "category"
    numeric = np.isfinite(_columns.numbers(text)).all()
    if numeric and plain in AVAILABLE:
        return "time"
    if numeric and not plain.endswith(LABELS) and not text.str.contains(r"^[+-]?0\d").any():
        return "number"
    if not numeric and np.isfinite(times(text, "", None).values).all():
        return "time"
    words = float(np.mean(text.str.count_matches(r"\S+").to_numpy()))
    return "text" if words > WORDS and text.n_unique() > len(text) / 2 else "category"


def _filled(series: "pl.Series") -> "pl.Series":
    """The values of a column of text that say something."""
    from corml._runtime.lazy_polars import polars as pl

    text = series.cast(pl.String, strict=False).drop_nulls().str.strip_chars()
    return text.filter(~text.str.to_lowercase().is_in(EMPTY))


def _listed(text: "pl.Series") -> bool:
    return bool((text.str.starts_with("[") & text.str.ends_with("]")).all()) and _json_list(text[0]) is not None


def _json_list(text: str) -> list[str] | None:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return [str(value) for value in values if value is not None] if isinstance(values, list) else None


def _column(series: "pl.Series", kind: Kind, where: str, name: str, separator: str) -> Column:
    """A column of one row for each row of the table."""
    if kind == "category":
        require_for_categories(*_pieces(series, separator), where)
        return indicators(_labels(series, where, name, separator))
    if kind == "text":
        return Texts(Labels.of("" if text is None else text for text in _columns.texts(series, name, where)))
    if kind == "number":
        return Numbers(_known(series, _columns.numbers(series), where, name, "a number"))
    return Numbers(_known(series, times(series, where).values, where, name, "a number or a date"), "time")


def _known(series: "pl.Series", values: NDArray[np.float64], where: str, name: str, what: str) -> NDArray[np.float64]:
    """Numbers where there are values; a value that is none is an error."""
    from corml._runtime.lazy_polars import polars as pl

    empty = series.is_null().to_numpy()
    if series.dtype == pl.String:
        empty = empty | series.str.strip_chars().str.to_lowercase().is_in(EMPTY).fill_null(True).to_numpy()
    elif series.dtype.is_float():
        empty = empty | np.isnan(values)
    wrong = ~empty & ~np.isfinite(values)
    if wrong.any():
        value = _columns.printed(series)[int(np.argmax(wrong))]
        raise DataError(f"{where}: {ascii_line(value)} in the column {ascii_line(name)} is not {what}.")
    return np.where(empty, np.nan, values)


def _pieces(series: "pl.Series", separator: str) -> "tuple[pl.Series, int]":
    """About the labels that there are, each at least once, and how many there are with those that repeat."""
    from corml._runtime.lazy_polars import polars as pl

    if series.dtype in (pl.List, pl.Array):
        labels = series.drop_nulls().explode()
        return labels, len(labels)
    if series.dtype != pl.String:
        return series, len(series)
    divider = "," if len(_filled(series)) and _listed(_filled(series)) else separator
    entries = len(series) + int(series.str.count_matches(divider, literal=True).sum())
    return series.unique().str.split(divider).explode(), entries


def _labels(series: "pl.Series", where: str, name: str, separator: str) -> Iterable[list[str]]:
    from corml._runtime.lazy_polars import polars as pl

    if series.dtype in (pl.List, pl.Array):
        _columns.check_calendar(series.explode(), name, where)
        return (
            [_word(value) for value in values if value is not None] if values is not None else [] for values in series
        )
    if series.dtype == pl.Boolean:
        return ([] if value is None else [str(value).lower()] for value in series)
    texts = _columns.texts(series, name, where).str.strip_chars()
    as_lists = _listed(_filled(texts)) if len(_filled(texts)) else False
    return (_split(text, separator, as_list=as_lists) for text in texts)


def _split(text: str | None, separator: str, *, as_list: bool) -> list[str]:
    if text is None or text.lower() in EMPTY:
        return []
    values = _json_list(text) if as_list else None
    parts = text.split(separator) if values is None else values
    return [part.strip() for part in parts if part.strip()]


def _word(value: object) -> str:
    return str(value).strip()


def _per_item(column: Column, rows: NDArray[np.int64], items: int) -> Column:
    """A column of one row for each item: all the categories that its rows name, otherwise the first that says any."""
    if len(rows) == items and (rows == np.arange(items)).all():
        return column
    if isinstance(column, Categories):
        return column.gathered(rows, items)
    says = column.known & (rows >= 0)
    first = np.full(items, -1, dtype=np.int64)
    first[rows[says][::-1]] = np.flatnonzero(says)[::-1]
    return column.taken(first)


def _say(table: Table, columns: Mapping[str, Column], bad: int, rows: int, items: int, notes: Notes) -> None:
    kinds = ", ".join(f"{printable(name)} ({column.kind})" for name, column in columns.items())
    again = f", {rows - items:,} rows repeat an item" if rows - items > bad else ""
    notes.add(f"items: {table.where}: {kinds or 'no attributes'}{again}")
    if bad:
        notes.warn(f"items: {bad:,} rows of {table.where} without an id or a column left out")


# --- titles ----------------------------------------------------------------------------------------------------------


def titles_of(origin: _sources.Source, notes: Notes) -> dict[str, str]:
    """The given titles, else those that come with a known data set, by id."""
    given, options = origin.options.titles, origin.options
    if isinstance(given, Mapping):
        return {canonical(item): str(title) for item, title in given.items()}
    if given is None:
        table = _sources.own_table(origin)
        return {} if table is None else _titles_in(table, "", Notes(), trim=options.trim)
    with _sources.given_as("titles"):
        is_file = isinstance(given, str | os.PathLike)
        table = _sources.second_table(given, options, Notes() if is_file else notes)
        item = options.item if isinstance(options.item, str) else ""
        return _titles_in(table, item, notes, trim=options.trim)


def _titles_in(table: Table, item: str, notes: Notes, *, trim: bool) -> dict[str, str]:
    """Titles from two columns: the item column is named as in the interactions, or usually."""
    at, title = _title_columns(table, item)
    require_for_items(table, 2)
    columns = table.read([at, title])
    coded = _columns.ids(columns.series[0], "item", table.where, trim=trim)
    if coded.remark:
        notes.warn(f"{table.where}: {coded.remark}")
    names = _columns.texts(columns.series[1], "title", table.where).to_list()
    notes.add(f"titles: {table.where}")
    if columns.faulty:
        notes.warn(f"titles: {columns.faulty:,} rows of {table.where} without all columns left out")
    titles: dict[str, str] = {}
    for code, bad, name in zip(coded.codes.tolist(), coded.check.bad.tolist(), names, strict=True):
        if not bad and name:
            titles.setdefault(coded.labels[code], name)
    return titles


def _title_columns(table: Table, item: str) -> tuple[int, int]:
    if not table.named:
        return 0, 1
    names = list(table.names)
    lower = [name.lower() for name in names]
    at = names.index(item) if item in names else find("item", names)
    title = find("title", names)
    if title is None:  # any name will do, as there must be one
        title = next((one for one, name in enumerate(lower) if name.endswith(("name", "title"))), None)
    if at is None and "id" in lower:
        at = lower.index("id")
    if at is None or title is None or at == title:
        missing = "title" if title is None or at == title else "item"
        raise DataError(f"{table.where} has no {missing} column; its columns are {listed(names)}: rename one.")
    return at, title
