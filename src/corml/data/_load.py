"""`load`: interactions from a file, a frame or a known name."""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

import corml.data._sources as _sources
import corml.data.cleaning._filters as _filters
from corml._runtime import address_space
from corml._runtime.values import counted
from corml.data._items import attributes_of, own_items, table_of_items, titles_of
from corml.data._options import LoadOptions, Notes, Options, shows_options
from corml.data._sources import Source
from corml.data.attributes import Attributes
from corml.data.cleaning._pairs import Pairs, merge
from corml.data.cleaning._rows import Rows, gather
from corml.data.formats._frames import FrameTable
from corml.data.formats._several import files_by_kind, options_by_kind
from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.data.store import Store, is_store
from corml.data.strength import faded
from corml.errors import DataError, UsageError, ascii_line

EXCLUDE_ONLY = "not used for training, never recommended"
LONGER = "Give a longer half_life= (--half-life) if older interactions should count"
MATCHING = 0.01  # of a table about items, or of the items if these are fewer: less is hardly the same kind of id
SWAPPED = 50  # with this many times more items than users, the columns may be the wrong way round


@shows_options
def load(
    source: object,
    *,
    as_update: bool = False,
    notify: Callable[[str], object] | None = None,
    **options: Unpack[LoadOptions],
) -> Interactions:
    """Read who interacted with what from a file, a data frame, or a known data set.

    A file is CSV, TSV, Parquet, JSON Lines, Excel, NPZ, RecBole `.inter` or lines `user item item …`, also inside `.gz`
    or `.zip`, or a SQLite or DuckDB database. Ids are text and stay as they are. Any row that cannot be understood is
    an error that names its line.

    Rows that repeat a pair are merged: the latest of differing ratings counts, without times the highest.
    A known name brings its own rules (ml-20m: ratings from 4, 5-core, as in the paper); options given here win.

    Parameters
    ----------
    source
        A path, a folder or a pattern of files (`events/**/*.parquet`), a store, "-" for standard input, a data frame
        (pandas, polars, pyarrow), or a name such as "movielens-small" or "gowalla". Or several of these, each of one
        event type: {"view": "views.parquet", "buy": "orders.csv"}, as text "view=views.parquet,buy=orders.csv".
    user, item, rating, time
        Columns by name or, counted from 0, by position; None finds them by their usual names, False (for rating and
        time) does without.
    at_least
        Ratings from here on count as an interaction, and negative quantities are left out and counted. Without it
        every row counts, except ratings of 0. Pairs rated lower are exclude-only: not used for training, and never
        recommended.
    k_core
        Keep the largest part in which every user and every item has this many interactions.
    min_user, min_item
        Keep users (then items) with this many interactions; one pass each, before `k_core`.
    titles
        What to call items: a file or frame with an item and a title column, or a mapping.
    separator, header
        How a text file is laid out, where looking at it is not enough. Without header columns are 0, 1, 2 …
    trim
        Take blanks off both ends of ids; otherwise " 7" and "7" differ.
    skip_bad_rows
        Leave out rows that cannot be understood, as long as they are no more than 1 % (`max_bad_rows`).
    allow_expansion
        Accept a compressed file that expands more than 200-fold, as harmful files do.
    encoding
        Of text files that are not UTF-8, such as "cp1252" or "utf-16".
    decimal
        "," for numbers such as 4,5 and 1.234,5.
    time_format
        How times are written, as in strptime, where that is not plain: "%d.%m.%Y %H:%M".
    null_ids
        What rows without a user or item mean: "drop" leaves them out (and ids such as `null` or `NaN`), "keep" makes
        them one id, `null`. Without it they are bad rows.
    max_bad_rows
        The share of bad rows to leave out at most, from 0 to 1; implies `skip_bad_rows`.
    item_lists
        Each line is a user and then all their items. Files of whole numbers are recognised.
    sheet
        Of an Excel workbook; else the first.
    query
        What to read from a SQLite or DuckDB file; needless if it has a single table.
    weight, transform
        A column of quantities: how strong an interaction is. `transform` is applied to the sum of the rows of a pair:
        "none", "log1p" or "sqrt".
    event, weights, negative
        A column of event types, the weight of each, such as {"view": 1, "buy": 10}, and those that are negative,
        such as {"return"}: a pair whose last event is one of these is excluded from training and lists, and pushes down
        what is like it, as strongly as its kind weighs (1 without a weight).
    half_life
        Such as "90d": a row that is so much older than the latest one counts half.
    rating_strength, low_ratings
        With `at_least`: a pair weighs its rating − at_least + 1; and pairs rated lower are exclude-only, or with
        low_ratings="negative" push down what is like them, by at_least − rating.
    items
        What is known of items: a file or frame with an item column and others, such as genres, price, available_from
        and title; `data.attributes`, see `load_items`.
    now
        The latest moment that a time can be meant of, with a day to spare: a date, or seconds since 1970. Later times
        are bad rows. Without it, now.
    as_update
        For `model.update`: users and items stay even if there is nothing to learn of them, for what was seen, and
        `k_core`, `min_user` and `min_item` are refused.
    notify
        Called with each note, such as the columns that were chosen; `source["notes"]` of the result keeps them.

    """
    given = Options.of(options)
    (given if files_by_kind(source) is None else options_by_kind(given)).require_events()
    if as_update and any((given.k_core, given.min_user, given.min_item)):
        raise UsageError(
            "k_core, min_user and min_item (--k-core, --min-user, --min-item) choose what a first fit learns from: "
            "leave them out of an update."
        )
    address_space.prepare("Reading data")
    notes = Notes(notify)
    if is_store(source):
        return _stored(source, given, notes, as_update=as_update)
    origin = _sources.find(source, given, notes)
    rows = gather(origin.table, origin.options, notes)
    pairs = merge(rows, len(rows.items), origin.options)
    _explain(rows, pairs, origin, notes, may_be_none=as_update and len(rows.user) > 0)
    data = _interactions(rows, pairs)
    _compare(data, origin, given, notes)
    if as_update:
        data = data.compact(seen=True)  # no id of a row that was left out
    else:
        everyone, data = data, _filters.thin(data.compact(), origin.options, notes).compact()
        _suspect(data, notes)
        data = data if len(data.users) == len(everyone.users) else data.with_others(everyone)
        data = data if len(data.items) == len(everyone.items) else data.with_elsewhere(everyone)
    data = _with_items(data, origin, notes, new_items=as_update)
    return replace(data, source=_provenance(origin, given, rows, pairs, notes))


def _compare(data: Interactions, origin: Source, given: Options, notes: Notes) -> None:
    """Note if a known data set, read with its own rules, has unexpected pairs; its files may be in another form."""
    entry = origin.entry
    if entry is not None and entry.fingerprint and not given.given() and data.fingerprint != entry.fingerprint:
        notes.add(f"{entry.name} has other pairs here than it is known with: fetch its files again")


def _stored(source: Any, given: Options, notes: Notes, *, as_update: bool) -> Interactions:
    """Everything in a store, thinned and named as asked; what its rows meant was settled when it was made."""
    store = Store(source)
    settled = dict(store.manifest.options)  # given again, it changes nothing
    later = {name: value for name, value in given.given().items() if name not in settled or value != settled[name]}
    others = sorted(later.keys() - {"k_core", "min_user", "min_item", "titles", "items"})
    if others or as_update:
        what = f"{others[0]}= (--{others[0].replace('_', '-')})" if others else "as_update"
        raise UsageError(
            f"{ascii_line(source, 200)} is a store, of which rows cannot be read again: leave {what} out, "
            "or give it when the store is made."
        )
    data = store.interactions()
    facts = {**data.source, "options": {**settled, **later}}
    if max(given.min_user, given.min_item, given.k_core) > 1:
        users = data.users if data.others is None else data.users.followed_by(data.others.users)
        everyone = data.on(users, data.items)
        data = _filters.thin(everyone.compact(), given, notes).compact()
        data = data.with_others(everyone).with_elsewhere(everyone)
    table = FrameTable(["item"], lambda *_: store.item_labels(), "The store", store.items)
    data = _with_items(data, Source(table, os.fspath(source), given), notes)
    return replace(data, source={**facts, "notes": list(notes.lines)})


def _with_items(data: Interactions, origin: Source, notes: Notes, *, new_items: bool = False) -> Interactions:
    """The same with what is known of its items: attributes and titles; those of an update may all be of new items."""
    about = _attributes(origin, notes)
    names = titles_of(origin, notes)
    if not new_items:
        if about is not None and origin.options.items is not None:
            _check_ids_match("items", about.items, data, notes)
        if names and origin.options.titles is not None:
            _check_ids_match("titles", list(names), data, notes)
    if about is not None and origin.options.titles is None:
        names = {**names, **dict(about.titles.items())}
    titles = {label: names[label] for label in data.items.labels if label in names} if names else {}
    return replace(data, titles=titles, attributes=about)


def _check_ids_match(option: str, described: Ids | list[str], data: Interactions, notes: Notes) -> None:
    """Warn of a table with ids that are hardly ever those of the data, such as 7.0 for 7."""
    items = data.items if data.elsewhere is None else data.items.union(data.elsewhere.items)
    matches = int(np.count_nonzero(items.find(described) >= 0))
    if matches < MATCHING * min(len(described), len(items)):
        notes.warn(
            f"{option}= (--{option}): {matches:,} of {len(described):,} rows describe an item of the data: the table "
            f"has ids such as {ascii_line(described[0])}, the data {ascii_line(items[0])}. Write the ids "
            "alike, or name the column of ids item."
        )


def _attributes(origin: Source, notes: Notes) -> Attributes | None:
    """The table of items that was given, else what comes with a known data set."""
    given, options = origin.options.items, origin.options
    if given is None:
        return own_items(origin)
    if isinstance(given, Attributes):
        return given
    with _sources.given_as("items"):
        table = table_of_items(given, options, notes)
        item = options.item if isinstance(options.item, str) and options.item in table.names else None
        return attributes_of(table, notes, item=item, trim=options.trim)


def _interactions(rows: Rows, pairs: Pairs) -> Interactions:
    """The pairs to learn from, with exclude-only pairs and negative feedback."""
    ids = Ids(rows.users, kind="user"), Ids(rows.items, kind="item")

    def made(some: Pairs, **related: Interactions | None) -> Interactions:
        about: dict[str, Any] = {"weights": some.weights, "kinds": some.kinds, **related}
        return Interactions(*ids, some.user, some.item, some.time, **about)

    seen, negative = (None if some is None else made(some) for some in (pairs.seen, pairs.negative))
    return made(pairs, seen=seen, negative=negative)


def _explain(rows: Rows, pairs: Pairs, origin: Source, notes: Notes, *, may_be_none: bool = False) -> None:
    """Say how rows became pairs, and refuse if none did, unless there may be none to learn from."""
    threshold = "0" if origin.options.at_least is None else f"{origin.options.at_least:g}"
    bound = "above" if origin.options.at_least is None else "at least"
    word = "above" if origin.options.at_least is None else "of at least"
    none = not len(pairs.user) and not may_be_none
    if none and pairs.filtered < len(pairs.seen.user if pairs.seen else ()):
        raise DataError(f"{origin.table.where} has no pair to learn from: all its events are negative or weigh 0.")
    if none:
        top = max(rows.rating.tolist(), default=0) if rows.rating is not None else 0
        raise DataError(
            f"{origin.table.where} has 0 positives after threshold: no rating is {bound} {threshold} "
            f"(the highest is {top:g}): lower at_least= (--at-least)."
        )
    if pairs.filtered:
        notes.add(f"ratings: {pairs.filtered:,} pairs without a rating {word} {threshold}: {EXCLUDE_ONLY}")
    negative = 0 if rows.rating is None else int((rows.rating < 0).sum())
    if negative and (origin.options.at_least or 0) >= 0:
        notes.warn(f"negative ratings: {negative:,} rows (returns, corrections) left out")
    rejected = (0 if pairs.seen is None else len(pairs.seen.user)) - pairs.filtered
    if rejected:
        notes.add(f"events: {rejected:,} pairs that weigh nothing or end with a negative event: {EXCLUDE_ONLY}")
    if pairs.negative is not None:
        notes.add(f"negative: {len(pairs.negative.user):,} of these pairs push down what is like them")
    if pairs.weights is not None:
        low, middle, high = (
            f"{value:,.0f}" if value >= 1000 else f"{value:.3g}" for value in np.quantile(pairs.weights, (0, 0.5, 1))
        )
        adds_up = rows.weights is not None and rows.weights.adds_up
        repeats = "repeated rows add up" if adds_up else "of repeated rows the latest counts"
        shown = f" ({repeats})" if pairs.duplicates and rows.weights is not None else ""
        notes.add(f"weights of pairs: median {middle}, minimum {low}, maximum {high}{shown}")
        if remark := faded(pairs.weights, origin.options.half_life):
            notes.warn(f"{remark}. {LONGER}.")
    if pairs.duplicates:
        rule = "latest" if rows.time is not None else "highest"
        about = f", {pairs.conflicts:,} with differing ratings (the {rule} counts)" if pairs.conflicts else ""
        repeat = "repeats" if pairs.duplicates == 1 else "repeat"
        notes.add(f"duplicates: {counted(pairs.duplicates, 'row')} {repeat} a pair{about}; merged")


def _suspect(data: Interactions, notes: Notes) -> None:
    users, items = data.shape
    if items > SWAPPED * users:
        notes.add(f"{items:,} items and only {users:,} users: are the user and item columns swapped?")


def _provenance(origin: Source, given: Options, rows: Rows, pairs: Pairs, notes: Notes) -> dict[str, Any]:
    """Where the data came from and what happened to it, ready for JSON."""
    facts: dict[str, Any] = {
        "from": origin.name,
        "options": given.given(),
        "notes": list(notes.lines),
        "rows": rows.read,
        "bad_rows": rows.bad,
        "without_id": rows.without_id,
        "filtered": pairs.filtered,
        "duplicates": pairs.duplicates,
        "conflicts": pairs.conflicts,
    }
    if pairs.exact:
        facts["exact_duplicates"] = pairs.exact
    if given.half_life is not None and rows.time is not None and len(rows.time):
        facts["latest"] = float(rows.time.max())  # the moment from which ages were counted
    if origin.entry is not None:
        facts |= {"licence": origin.entry.licence, "citation": origin.entry.citation}
    return facts
