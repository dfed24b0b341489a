"""Which separator, is there a header, and which column is which: guessed from the contents, and reported."""

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from corml.data._options import Column, Options
from corml.errors import DataError, UsageError, ascii_line, quoted

__all__ = ["Roles", "bare", "find", "pick_separator", "roles", "without_header"]

NATURAL = {"csv": ",", "tsv": "\t", "inter": "\t"}  # by suffix
SEPARATORS = ("\t", ",", ";", "|", "::", " ")
NAMES = {
    "user": "user userid uid username useridx customer customerid client clientid member memberid visitor visitorid "
    "account accountid reviewer reviewerid author authorid person personid shopper shopperid "
    "buyer buyerid purchaser subscriber subscriberid guest guestid household householdid "
    "householdkey custid custno customerno customernumber customerkey customercode customeruuid "
    "userno usernumber useruuid kundennr kundennummer clientnumber session sessionid playlist playlistid "
    "basket basketid u",
    "item": "item itemid iid itemidx movie movieid product productid productcode asin parentasin sku article articleid "
    "stockcode skuid skucode productsku itemsku itemcode itemno itemnumber articleno articlenumber articlecode "
    "productno productnumber productkey productuuid variant variantid goods goodsid offer offerid listing listingid "
    "ean gtin upc artikelnr artikelnummer "
    "track trackid song songid artist artistid album albumid book bookid isbn business businessid venue venueid place "
    "placeid poi poiid location locationid game gameid appid content contentid news newsid document documentid docid "
    "video videoid recipe recipeid anime animeid hotel hotelid beer beerid i",
    "rating": "rating ratings score stars star overall grade rate preference",
    "time": "timestamp time ts date datetime unixreviewtime reviewtime createdat eventtime ratedat when eventtimestamp "
    "eventdate invoicedate invoicetime orderdate ordertime orderedat orderpurchasetimestamp purchasedate purchasetime "
    "purchasedat transactiondate transactiontime createdon creationdate",
    "title": "title name itemname itemtitle movietitle producttitle productname label description",
}
_OF_ITEMS = [word + end for word in NAMES["item"].split() for end in ("title", "name")]  # such as "Game Name"
_RECBOLE = re.compile(r":(token|float|token_seq|float_seq)$")


@dataclass(frozen=True)
class Roles:
    """Positions of the columns that matter."""

    user: int
    item: int
    rating: int | None = None
    time: int | None = None
    weight: int | None = None
    event: int | None = None

    def by_role(self) -> dict[str, int]:
        """All positions in use, users first."""
        return {role: at for role, at in vars(self).items() if at is not None}

    def positions(self) -> list[int]:
        """The same without the roles."""
        return list(self.by_role().values())

    def shown(self, names: Sequence[str]) -> str:
        """The names of the columns as a note shows them."""
        return ", ".join(f"{role}={ascii_line(names[at])[1:-1]}" for role, at in self.by_role().items())


def bare(name: str) -> str:
    """Strip a column name of blanks around it and of the type RecBole appends to it."""
    return _RECBOLE.sub("", name.strip())


def find(role: str, names: Sequence[str]) -> int | None:
    """Position of the column whose name is the most usual one for a role."""
    plain = [re.sub(r"[^a-z0-9]", "", bare(name).lower()) for name in names]
    usual = [*NAMES[role].split(), *(_OF_ITEMS if role == "title" else ())]
    return next((plain.index(name) for name in usual if name in plain), None)


def pick_separator(lines: Sequence[str], kind: str) -> str | None:
    """Choose what divides all lines alike, else what occurs in the first; a blank only for want of others."""
    natural = NATURAL.get(kind)
    order = sorted(SEPARATORS, key=lambda s: (s == " ", s != natural))
    counts = {s: [line.count(s) for line in lines] for s in order}
    even = [s for s in order if s != " " and min(counts[s]) > 0 and len(set(counts[s])) == 1]
    present = [s for s in order if counts[s][0] > 0]
    return next(iter(even + present), None)


def candidates(line: str) -> str:
    """List the usual separators that occur in a line, for a message."""
    listed = [f"{ascii_line(s)} ({line.count(s)}x)" for s in SEPARATORS if s in line]
    return ", ".join(listed) or "none of the usual separators"


def looks_like_header(fields: Sequence[str]) -> bool:
    """Whether a first row names at least a user or an item column."""
    return find("user", fields) is not None or find("item", fields) is not None


def looks_like_data(fields: Iterable[str]) -> bool:
    """Whether a first row has numbers where names should be."""
    return any(re.fullmatch(r"[+-]?\d+(\.\d+)?", field.strip()) for field in fields)


def without_header(where: str, first: Sequence[str], more: str = "", *, about_items: bool = False) -> DataError:
    """What to say of a first row that holds data; a table about items needs one."""
    advice = "Put a line with the names of its columns above, such as item and title."
    if not about_items:
        advice = f"Read it with header=False (--no-header); users and items are then columns 0 and 1.{more}"
    return DataError(f"{where} seems to have no header: its first row is {listed(first)}. {advice}")


def roles(names: Sequence[str], named: bool, options: Options, where: str) -> Roles:
    """Decide which columns are which: as given, else by name, else (without names) by position."""
    if options.at_least is not None and options.rating is False:
        raise UsageError("at_least= (--at-least) needs ratings: leave rating=False (--no-rating) out.")
    user = _needed("user", options.user, names, where) if named or options.user is not None else 0
    item = _needed("item", options.item, names, where) if named or options.item is not None else 1
    rating = _optional("rating", options.rating, names, where, named)
    time = _optional("time", options.time, names, where, named)
    weight, event = (
        None if given is None else position(role, given, names, where)
        for role, given in (("weight", options.weight), ("event", options.event))
    )
    if options.rating is None and rating in (weight, event):  # found by its name, and meant for something else
        rating = None
    chosen = Roles(user, item, rating, time, weight, event)
    if max(chosen.positions()) >= len(names):  # without names, users and items are the first two columns
        raise DataError(f"{where} has one column only, {listed(names)}: users and items need one each.")
    if len(set(chosen.positions())) < len(chosen.positions()):
        raise UsageError(
            f"{where} has one column for two roles: name a column for each; its columns are {listed(names)}."
        )
    if options.at_least is not None and rating is None:
        raise DataError(
            f"at_least= (--at-least) needs a rating column and {where} has none: "
            f"name one of {listed(names)} as rating= (--rating)."
        )
    return chosen


def listed(names: Sequence[str]) -> str:
    """Column names for a message."""
    return quoted(names, 12)


def _needed(role: str, given: Column, names: Sequence[str], where: str) -> int:
    if given is not None:
        return position(role, given, names, where)
    at = find(role, names)
    other = find("item" if role == "user" else "user", names)
    if at is None and other is not None and len(names) == 2:
        rest = [names[1 - other]]
        at = 1 - other if find("rating", rest) is None and find("time", rest) is None else None
    if at is None:
        raise DataError(
            f"Cannot tell which column of {where} holds the {role}s: "
            f"name one of {listed(names)} as {role}= (--{role}); "
            "if these are data, not names: header=False (--no-header)."
        )
    return at


def _optional(role: str, given: Column, names: Sequence[str], where: str, named: bool) -> int | None:
    if given is None:
        return find(role, names) if named else None
    return None if given is False else position(role, given, names, where)


def position(role: str, given: str | int, names: Sequence[str], where: str) -> int:
    """Position of a column given by name or number."""
    if isinstance(given, int):
        if not 0 <= given < len(names):
            raise DataError(f"{where} has no column number {given} for {role}: it has {len(names)}, counted from 0.")
        return given
    for name in (given, bare(given)):
        if name in names:
            return names.index(name)
    close = difflib.get_close_matches(given, names, n=1)
    hint = f" (did you mean {ascii_line(close[0])}?)" if close else ""
    raise DataError(f"{where} has no column {ascii_line(given)} for {role}{hint}; its columns are {listed(names)}.")
