"""Ignored columns, and what they look like: ratings under another name would be taken for likes."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from corml.data._options import Notes, Options
from corml.data.cleaning._columns import numbers
from corml.data.cleaning._times import times
from corml.data.clock import Clock
from corml.data.formats._sniff import Roles
from corml.data.formats._table import Table
from corml.errors import CormlError, ascii_line, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

MOST = 20  # columns that are examined
FIRST_EPOCH = 946_684_800  # the year 2000: smaller whole numbers are rather counts than seconds since 1970
ALL_STRENGTHS, EVENT_COLUMNS, NOTHING_MORE = range(3)  # which columns that weigh interactions are looked for
NAMED = 3  # columns in one warning
ENOUGH = 5  # values to tell a scale by
FEW = 21  # different values of a scale
SCALE = 10.0  # no scale that is known by its values goes beyond

RATINGS = re.compile(r"rating|score|stars?$|grade|bewert|^note$|punkt|puntu|calific|avalia|voto|ocena|^like|dislike")
QUANTITIES = re.compile(
    r"^weight$|quantity|qty|anzahl|menge|cantidad|plays$|listens$|(play|listen|click|view|buy|order)count$"
)
EVENTS = re.compile(r"^(event|action|interaction|behaviou?r|activity)(type|name|kind)?$")
ACTS = (
    "view pageview detail impression click cart addtocart removefromcart checkout purchase buy order transaction "
    "return refund like dislike play skip share save wishlist"
).split()
NO_SCALE = re.compile(
    r"(id|code|key|nr|no|num|number|index|rank|position|page|step|level|year|month|week|weekday|day|dow|hour|minute|age"
    r"|agegroup|sex|gender|occupation|price|cost|discount|size|length|width|weight|count|latitude|longitude|lat|lon|lng"
    r"|cluster|segment|group|bucket|version|fold|split|label)$|^(is|has|was|num|n)"
)
NO_TIME = re.compile(
    r"birth|release|publish|available|valid|expir|from$|until$|to$|signup|regist|updat|modif|deliver|due"
)


def remark_on_ignored(table: Table, chosen: Roles, options: Options, notes: Notes) -> None:
    """Say which columns are ignored, and warn of those that look like ratings, events, quantities or times."""
    ignored = [at for at in range(len(table.names)) if at not in chosen.positions()]
    if not ignored:
        return
    weighs = (chosen.rating, chosen.weight, chosen.event) != (None, None, None) or options.rating is False
    by_name = chosen.rating is not None and options.rating is None and (chosen.weight, chosen.event) == (None, None)
    timed = chosen.time is not None or options.time is False
    strengths = EVENT_COLUMNS if by_name else NOTHING_MORE if weighs else ALL_STRENGTHS
    found = list(islice(_found(table, ignored[:MOST], options, strengths, timed=timed), NAMED))
    left = [table.names[at] for at in ignored if at not in {at for at, _, _ in found}]
    if left:
        notes.add(f"columns ignored: {quoted(left, 6)}")
    if found:
        listed = "; ".join(f"{ascii_line(table.names[at])} ({what})" for at, what, _ in found)
        refused = {role: f"{role}=False (--no-{role})" for _, _, role in found}
        if by_name and chosen.rating is not None and "rating" in refused:  # the ratings are to stay
            name = ascii_line(table.names[chosen.rating])
            refused["rating"] = f"rating={name} (--rating {name})"
        without = " and ".join(refused.values())
        alike = "Without it all events count alike. " if any("event=" in what for _, what, _ in found) else ""
        notes.warn(f"columns ignored: {listed}. {alike}If that is right, say {without}")


def _found(
    table: Table, columns: "Sequence[int]", options: Options, strengths: int, *, timed: bool
) -> Iterator[tuple[int, str, str]]:
    """Columns that look like something, with what that is, and the role that would have to be refused."""
    if strengths == NOTHING_MORE and timed:
        return
    from corml._runtime.lazy_polars import polars as pl

    for at, series in table.head(columns).items():
        name, known = re.sub(r"[^a-z0-9]", "", table.names[at].lower()), series.drop_nulls()
        if known.dtype in (pl.Categorical, pl.Enum):
            known = known.cast(pl.String)
        what = None
        if strengths == ALL_STRENGTHS:
            what = _strength(name, known, options.decimal)
        elif strengths == EVENT_COLUMNS and EVENTS.search(name):
            what = _event_types(name, known)
        if what:
            yield at, what, "rating"
        elif not timed and (what := _time(name, known, options)):
            yield at, what, "time"


def _event_types(name: str, series: "pl.Series") -> str | None:
    """The event types of a column of text, if that is what its name or its values show."""
    from corml._runtime.lazy_polars import polars as pl

    if series.dtype != pl.String:
        return None
    words = series.str.to_lowercase().str.replace_all(r"[^a-z0-9]", "").unique(maintain_order=True)
    if len(words) > 1 and len(words) <= FEW and (EVENTS.search(name) or sum(words.is_in(ACTS)) > 1):
        return f"with {quoted(series.unique(maintain_order=True).to_list())}: events? use event= (--event)"
    return None


def _strength(name: str, series: "pl.Series", decimal: str) -> str | None:
    """What a column says of how strong an interaction is, if it says that."""
    from corml._runtime.lazy_polars import polars as pl

    if what := _event_types(name, series):
        return what
    if series.dtype != pl.String and not series.dtype.is_numeric():
        return None
    values = np.unique(numbers(series, decimal))
    if len(values) < 2 or not np.isfinite(values).all():
        return None
    extent = f"{values[0]:g} to {values[-1]:g}"
    if QUANTITIES.search(name):
        return f"{extent}: quantities? use weight= (--weight)"
    scale = (
        len(series) >= ENOUGH and len(values) <= FEW and np.abs(values).max() <= SCALE and (values * 2 % 1 == 0).all()
    )
    if RATINGS.search(name) or (scale and not NO_SCALE.search(name)):
        return f"{extent}: ratings? use rating= (--rating)"
    return None


def _time(name: str, series: "pl.Series", options: Options) -> str | None:
    """The same of when it was."""
    from corml._runtime.lazy_polars import polars as pl

    if NO_TIME.search(name) or not len(series):
        return None
    if series.dtype.is_numeric() or (series.dtype == pl.String and series.str.contains(r"^\d+$").all()):
        return None if NO_SCALE.search(name) else _epoch(numbers(series, options.decimal))
    if series.dtype != pl.String and not series.dtype.is_temporal():
        return None
    try:
        read = times(series, "", None, options.decimal)
    except CormlError:
        return None
    if not read.dates or read.check.bad.any():
        return None
    return f"from {read.clock.shown(read.values.min())[:10]}: times? use time= (--time)"


def _epoch(values: "NDArray[np.float64]") -> str | None:
    """The same of whole numbers that are all moments of the last decades, in seconds or a finer unit."""
    if len(np.unique(values)) < 2 or not np.isfinite(values).all() or (values % 1).any():
        return None
    clock = Clock.of(values)
    moments = clock.seconds(values)
    if clock.per_second is None or moments.min() < FIRST_EPOCH or clock.read.late(moments).any():
        return None
    return f"from {clock.read.shown(moments.min())[:10]}: times? use time= (--time)"
