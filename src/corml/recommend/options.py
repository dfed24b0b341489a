"""The options of a list, each declared once: name, type, default, help, check, and how JSON and a command line say it.

Keyword arguments of `recommend` (and their part of its docstring), flags, the schema of requests, the typed client and
lists in shards are all read from here. A new option is one entry below; what it does belongs to the step that it
changes: `allowed`, `score` or `rerank`.
"""

import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal, TypedDict, TypeVar, Unpack, cast, get_args, get_type_hints

from corml._runtime.values import nearest
from corml.data.attributes import Attributes
from corml.data.ids import LONGEST_ID, Ids
from corml.errors import UsageError, ascii_line, printable
from corml.recommend import text
from corml.recommend.conditions import Conditions, Filter
from corml.recommend.option import (
    LARGEST_BOOST,
    Flag,
    Option,
    Range,
    check_boosts,
    check_diversity,
    check_k,
    check_limits,
    check_novelty,
    check_share,
    one_of,
)
from corml.recommend.seen import SeenRule

DAY, HOUR = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])", r"([01]\d|2[0-3]):[0-5]\d"
MOMENT = rf"^(now|{DAY}([T ]{HOUR}(:[0-5]\d)?(Z|[+-]{HOUR})?)?)(?!\n)$"
AGE = r"^[1-9]\d{0,5}(\.\d{1,3})? ?(s|min|h|d|w|y)(?!\n)$"

Labels = Sequence[Hashable]
F = TypeVar("F", bound=Callable[..., Any])


# --- the options -----------------------------------------------------------------------------------------------------

Id = Annotated[str, Range(min_length=1, max_length=LONGEST_ID)] | int
Items = Annotated[list[Id], Range(max_length=10_000)] | Annotated[Conditions, Range(max_length=20)]
EventType = Annotated[str, Range(min_length=1, max_length=LONGEST_ID)]
Age = Annotated[str, Range(pattern=AGE)]
Factor = Annotated[float, Range(ge=1 / LARGEST_BOOST, le=LARGEST_BOOST)]
WHERE = "genre=Comedy,Drama or price<=20 or price=5..20"


class RulesOfOneList(TypedDict, total=False):
    """How a list is put together from scores."""

    diversity: Annotated[
        float,
        Option(
            default=0.0,
            help="from 0 (by score alone) to 1: prefer items that are far from those already in the list",
            check=check_diversity,
            flags=(Flag("--diversity", "SHARE"),),
            read=lambda given, catalogue: text.share(given["diversity"], "--diversity"),
            json=Annotated[float, Range(ge=0, le=1)],
            words=lambda value: f"diversity {value:g}",
        ),
    ]
    boost: Annotated[
        Mapping[str, Any] | None,
        Option(
            help='factors of scores, by item and by attribute and value: {"i1": 1.2, "genre": {"Comedy": 1.5}}',
            check=check_boosts,
            flags=(
                Flag(
                    "--boost",
                    "WHAT=FACTOR",
                    "Multiply scores: ID=1.2 of an item, genre:Comedy=1.2 of items with this attribute, or @FILE with "
                    "one per line; may be repeated.",
                    many=True,
                ),
            ),
            read=lambda given, catalogue: text.boosts(given["boost"], catalogue.items, catalogue.attributes),
            by_catalogue=True,
            json=Annotated[dict[str, Factor | dict[str, Factor]], Range(max_length=100)],
            words=lambda value: "boosted items",
        ),
    ]
    max_per: Annotated[
        Mapping[str, int] | None,
        Option(
            help='the most items of one value of an attribute in a list: {"genre": 2}',
            check=check_limits,
            flags=(
                Flag("--max-per", "NAME=N", "At most N items of a category in a list: genre=2; repeatable.", many=True),
            ),
            read=lambda given, catalogue: text.limits(given["max_per"]),
            json=Annotated[dict[str, Annotated[int, Range(ge=1)]], Range(max_length=20)],
            words=lambda value: ", ".join(f"at most {count} per {printable(name)}" for name, count in value.items()),
        ),
    ]


class RulesOfAllLists(TypedDict, total=False):
    """What concerns all lists of a request together."""

    max_share: Annotated[
        float | None,
        Option(
            help="the largest share of the lists of this request that an item may be in, such as 0.05",
            check=check_share,
            flags=(Flag("--max-share", "SHARE", "An item in at most this share of the lists: 5%."),),
            read=lambda given, catalogue: text.share(given["max_share"], "--max-share"),
            words=lambda value: f"an item in at most {value:.4g} of the lists",
        ),
    ]


class Rules(RulesOfOneList, RulesOfAllLists, total=False):
    """All rules of lists: what an evaluation may measure."""


class ItemOptions(TypedDict, total=False):
    """How long a list is, which items it may have, and by which model it is ranked."""

    k: Annotated[
        int,
        Option(
            default=10,
            help="items of a list",
            check=check_k,
            flags=(Flag("-k", "N", "Number of items per list.", kind=int),),
            json=Annotated[int, Range(ge=1, le=200)],
        ),
    ]
    exclude: Annotated[
        Labels | Sequence[Labels] | Filter | None,
        Option(
            help="items never listed: ids, a list of ids for each row, or conditions on attributes",
            flags=(
                Flag("--exclude", "IDS", "Items never to recommend: id,id,… or @FILE."),
                Flag(
                    "--exclude-where",
                    "CONDITION",
                    "Never recommend items with this attribute; may be repeated.",
                    many=True,
                ),
            ),
            read=lambda given, catalogue: text.excluded(
                given.get("exclude_where", ()), given.get("exclude"), catalogue.attributes
            ),
            by_catalogue=True,
            json=Items,
        ),
    ]
    only: Annotated[
        Labels | Sequence[Labels] | Filter | None,
        Option(
            help='the only items listed, as for exclude: {"genre": ["Comedy"], "price": (None, 20)}',
            flags=(
                Flag("--only", "IDS", "Candidates: recommend only these items: id,id,… or @FILE."),
                Flag(
                    "--only-where",
                    "CONDITION",
                    f"Recommend only items with this attribute: {WHERE}; may be repeated, all must hold.",
                    many=True,
                ),
            ),
            read=lambda given, catalogue: text.only_these(
                given.get("only_where", ()), given.get("only"), catalogue.attributes
            ),
            by_catalogue=True,
            json=Items,
        ),
    ]
    seen: Annotated[
        Literal["exclude", "allow", "only", "learned"],
        Option(
            default="exclude",
            help='known items of the user: "exclude", "allow" (they may come back), "only" (nothing else), or '
            '"learned" (exclude what the model learned from, for lists judged by held-out items)',
            check=one_of("seen", "exclude", "allow", "only", "learned"),
            flags=(
                Flag(
                    "--seen",
                    "RULE",
                    "Items a user is known to have: exclude; allow, they may come back; only, nothing else; learned, "
                    "exclude those of the fit alone, to judge lists by held-out items.",
                ),
            ),
            json=Literal["exclude", "allow", "only"],
        ),
    ]
    hide_events: Annotated[
        str | Sequence[str] | None,
        Option(
            help="exclude only known items with such an event: other known items may come back",
            flags=(
                Flag(
                    "--hide-events",
                    "TYPES",
                    "Exclude only items with such an event, purchase,cart: what a user merely viewed may come back.",
                ),
            ),
            json=Annotated[list[EventType], Range(max_length=100)],
        ),
    ]
    exclude_recent: Annotated[
        str | Mapping[str, str] | None,
        Option(
            help='exclude only items known from so recently: "30d", or by event type {"purchase": "90d", "view": "1h"}',
            flags=(
                Flag(
                    "--exclude-recent",
                    "TIME",
                    "Exclude items seen in the last 30d, or by event type: purchase=90d,view=1h. Others may come back.",
                ),
            ),
            json=Age | Annotated[dict[EventType, Age], Range(min_length=1, max_length=100)],
        ),
    ]
    now: Annotated[
        Any,
        Option(
            help='leave out items that are not available at this moment ("now", a date or seconds since 1970), by the '
            "columns available_from and available_until",
            flags=(
                Flag(
                    "--now",
                    "TIME",
                    "Leave out what is not available then, by the columns available_from and available_until: "
                    "2024-01-31, or now.",
                ),
            ),
            json=Annotated[str, Range(pattern=MOMENT)] | float,
        ),
    ]
    novelty: Annotated[
        float | None,
        Option(
            help="for models with a popularity–novelty trade-off: 0 is the most popular, 1 the most novel",
            check=check_novelty,
            flags=(Flag("--novelty", "NUMBER", "For a corml-dial model: from 0 (popular) to 1 (novel).", kind=float),),
            json=Annotated[float, Range(ge=0, le=1)],
        ),
    ]


class RequestOptions(ItemOptions, RulesOfOneList, total=False):
    """What a request for a list may say, in Python and over HTTP."""


class ListOptions(RequestOptions, RulesOfAllLists, total=False):
    """All options of `recommend`."""

    unknown: Annotated[
        Literal["fallback", "error"] | None,
        Option(
            help='users that are not known: "fallback" (popular items) or "error"; None falls back, and warns if it '
            "is all of them",
            check=one_of("unknown", None, "fallback", "error"),
            flags=(
                Flag(
                    "--unknown",
                    "RULE",
                    "Users the model does not know: fallback, they get the most popular items; or error.",
                ),
            ),
        ),
    ]


# --- what is made of the declarations --------------------------------------------------------------------------------


def list_length(k: object, items: Ids) -> int:
    """How many items lists of k have: no more than the catalogue."""
    check_k(k)
    return min(int(cast(int, k)), len(items))


@cache
def declared(of: type = ListOptions) -> dict[str, Option]:
    """The declarations of a group of options, by name."""
    hints = get_type_hints(of, include_extras=True)
    return {name: next(one for one in get_args(hint) if isinstance(one, Option)) for name, hint in hints.items()}


def complete(given: Mapping[str, Any], of: type = ListOptions, function: str = "recommend") -> ListOptions:
    """All options, those that were not given by their defaults; each is checked."""
    options = declared(of)
    for name in given:
        if name not in options:
            raise UsageError(f"{function} has no option {ascii_line(name)}{nearest(name, options)}")
    for name, value in given.items():
        options[name].check(value)
    return cast(ListOptions, {**defaults(of), **given})


@cache
def defaults(of: type = ListOptions) -> dict[str, Any]:
    """The default of each option."""
    return {name: option.default for name, option in declared(of).items()}


def with_options(of: type = ListOptions) -> Callable[[F], F]:
    """Show the options in the signature and docstring of a function that takes them as `**options`."""

    def shown(function: F) -> F:
        signature = inspect.signature(function)
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        hints, lines = get_type_hints(of), ["        Options", "        -------"]
        for name, option in declared(of).items():
            about: dict[str, Any] = {"default": option.default, "annotation": hints[name]}
            own.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, **about))
            lines.append(f"        {name}: {option.help} (default {option.default!r})")
        function.__signature__ = signature.replace(parameters=own)  # type: ignore[attr-defined]
        function.__doc__ = "\n".join([(function.__doc__ or "").rstrip(), "", *lines, ""])
        return function

    return shown


class Catalogue:
    """What texts of a command line may name: the items of a model and their attributes."""

    def __init__(self, items: Ids, attributes: Attributes) -> None:
        self.items, self.attributes = items, attributes


def texts_of(given: Mapping[str, Any], of: type = ListOptions) -> dict[str, dict[str, Any]]:
    """Sort the texts of a command line by option; what needs no model is checked at once."""
    texts: dict[str, dict[str, Any]] = {}
    read: dict[str, Any] = {}
    for name, option in declared(of).items():
        values = {key: given[key] for key in map(key_of, option.flags) if given.get(key) not in (None, [])}
        if values:
            texts[name] = values
            if not option.by_catalogue:
                read[name] = option.read(values, None)
                option.check(read[name])
    SeenRule(read.get("seen", "exclude"), read.get("exclude_recent"), read.get("hide_events"))
    return texts


def options_of(texts: Mapping[str, Mapping[str, Any]], catalogue: Catalogue) -> dict[str, Any]:
    """The options that texts of a command line mean for a model."""
    return {name: declared()[name].read(values, catalogue) for name, values in texts.items()}


def key_of(flag: Flag) -> str:
    """The name under which a command line keeps what a flag was given."""
    return flag.name.lstrip("-").replace("-", "_")


def in_words(options: Mapping[str, Any]) -> str:
    """The rules by which lists were made, in words; nothing where there are none."""
    given = chosen(options, Rules)
    spoken = ((option.words, name) for name, option in declared(Rules).items() if name in given)
    return ", ".join(words(given[name]) for words, name in spoken if words is not None)


def chosen(options: Mapping[str, Any], of: type) -> dict[str, Any]:
    """The options of a group that are not at their default; an empty mapping is one, too."""
    usual = defaults(of)
    return {name: value for name, value in options.items() if name in usual and value not in (None, usual[name], {})}


class ListRules:
    """Rules of lists for an evaluation: `diversity`, `boost`, `max_per` and `max_share`, as in `recommend`."""

    def __init__(self, **rules: Unpack[Rules]) -> None:
        self.options = complete(rules, Rules, "ListRules")

    @property
    def any(self) -> bool:
        """Whether there are any rules."""
        return bool(chosen(self.options, Rules))

    def __repr__(self) -> str:
        given = chosen(self.options, Rules)
        return f"ListRules({', '.join(f'{name}={value!r}' for name, value in given.items())})"

    def __str__(self) -> str:
        return in_words(self.options)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ListRules) and self.options == other.options

    def __hash__(self) -> int:
        return hash(repr(self))
