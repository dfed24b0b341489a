"""corml recommend: lists for known users, for all users, or for any history."""

import os
from collections.abc import Iterator, Sequence
from typing import Any

import typer

import corml
from corml._runtime import memory
from corml._runtime.values import counted, json_text
from corml.cli._cluster import client_of, with_cluster
from corml.cli._console import STDOUT, progress, show_json, show_table, tell, wrote
from corml.cli._files import ending, put, table_bytes, text_target
from corml.cli._list_options import check_once, chosen, with_list_options
from corml.cli._options import Given
from corml.cli._work import tell_unknown
from corml.data.requested_ids import separated
from corml.errors import UsageError, ascii_line, quoted
from corml.models.recommender import Recommender
from corml.outofcore.lists import ListParts, check_folder, users_at_a_time
from corml.recommend.options import list_length
from corml.recommend.query import are_items
from corml.recommend.result import Recommendations
from corml.recommend.text import ids

__all__ = ["recommend"]

FOLDER = "a folder"  # kind of output: Parquet files in shards
PER_ITEM_IN_TABLE, PER_ITEM_AS_TEXT = 230, 1500  # bytes of a listed item
FEW_ITEMS = 1 << 17  # listed items for which free memory is not checked
MOST_PRINTED = 1000  # users whose lists are printed as a table
FEW = 20  # lists whose reasons are printed one by one


@with_list_options()
@with_cluster
def recommend(
    model: str = typer.Argument(..., metavar="MODEL", help="A model file."),
    user: list[str] = typer.Option([], "--user", "-u", metavar="ID", help="Known users: id,id,…; may be repeated."),
    all_users: bool = typer.Option(False, "--all", help="All users of the model file."),
    store: str = typer.Option(
        None,
        "--store",
        metavar="STORE",
        help="All users in this store, with their histories there; requires --all and --out FOLDER/.",
    ),
    users: str = typer.Option(None, "--users", metavar="FILE", help="A file with one user id per line."),
    history: list[str] = typer.Option(
        [],
        "--history",
        metavar="IDS",
        help="A history of items, of a known or new user: id,id,… or @FILE with one per line; may be repeated.",
    ),
    item: list[str] = typer.Option(
        [], "--item", metavar="ID", help="An item of one history, as it is, commas and all; may be repeated."
    ),
    items: str = typer.Option(
        None, "--items", metavar="FILE", help="A table of items with attributes, in place of the model's own."
    ),
    new_items: str = typer.Option(
        None,
        "--new-items",
        metavar="FILE",
        help="A table of items that nobody has yet: they are scored by the known items that they are like.",
    ),
    lift: float = typer.Option(None, "--lift", metavar="NUMBER", help="What scores of --new-items are multiplied by."),
    out: str = typer.Option(
        None,
        "--out",
        "-o",
        metavar="FILE",
        help="Write .parquet, .csv, .tsv or .json; - prints CSV. A folder, lists/, gets Parquet files (shards) "
        "of some users each, and the same command resumes if it was stopped.",
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    listing: dict[str, Any] = {},
    cluster: Given = {},
) -> None:
    """Recommend items, best first.

    What a user is known to have is excluded: what was learned from, held out, or rated too low. --seen allow lets it
    come back, as in a grocery shop. Users the model does not know get the most popular items; source and reason say
    so. Ids are written unchanged: a spreadsheet may read one that begins with = as a formula.

    \b
    Examples:
      corml recommend shop.corml --user u1 --user u2
      corml recommend shop.corml --history i1,i7 -k 5
      corml recommend shop.corml --item "Salt, coarse" --item Pepper
      corml recommend shop.corml --user u1 --only-where "genre=Comedy" --only-where "price<=20"
      corml recommend shop.corml --user u1 --new-items arrivals.csv --only-where "genre=Comedy"
      corml recommend shop.corml --all --out lists.parquet
      corml recommend shop.corml --all -k 20 --out lists/
      corml recommend shop.corml --store shop.store --all --out lists/
      corml recommend shop.corml --all --out lists/ --workers 4
      corml recommend shop.corml --all --out - | gzip > lists.csv.gz
      corml recommend shop.corml --all --hide-events purchase,cart --out lists.csv
      corml recommend shop.corml --all --seen only --exclude-recent 2w --out again.csv
      corml recommend shop.corml --all --diversity .3 --max-per genre=2 --max-share 5% --out lists.parquet
    """
    kind = _kind_of(out) if out else ""
    if kind == FOLDER:
        check_folder(out)
    elif out:
        text_target(out, model, users, items, new_items)
    listed = [*user, *(ids("@" + users) or [] if users else [])]
    histories = [*(ids(text) or [] for text in history), *([item] if item else [])]
    named = {"user": user, "users": users, "all": all_users, "history": history, "item": item}
    check_once(**{name: bool(given) for name, given in named.items()})
    if not (listed or all_users or histories):
        raise UsageError("Say for whom: --user, --users FILE or --all; or --history or --item with item ids.")
    if store and (listed or histories or not all_users or kind != FOLDER):
        raise UsageError("--store requires --all and --out FOLDER/.")
    if cluster and (listed or not all_users or kind != FOLDER):
        raise UsageError("--workers and --cluster require --all and --out FOLDER/.")
    if histories and kind == FOLDER:
        raise UsageError("Lists in a folder are for known users: write lists of histories into one file.")
    loaded = corml.read_model(model)
    loaded = loaded.with_items(items) if items else loaded
    if lift is not None and not new_items:
        raise UsageError("--lift is for new items: give --new-items FILE with it.")
    if new_items:
        loaded = loaded.with_new_items(new_items, lift=1.0 if lift is None else lift)
        tell(f"note: {counted(len(loaded.new_items_), 'new item')}, scored by what they are like")
    listed = separated(loaded.users_, user) + listed[len(user) :]
    options: Given = {"k": 10, "unknown": "fallback", **chosen(listing, loaded)}
    if store and options["unknown"] == "fallback":  # histories in a store are never unknown
        del options["unknown"]
    if not histories and not store and not len(loaded.users_):
        raise UsageError(f"{ascii_line(model, 200)} was saved without its users: give --history with item ids.")
    if kind == FOLDER:
        whom = [*listed, *(loaded.users_.labels if all_users else [])] if listed else None
        data = corml.Store(store) if store else None
        with client_of(cluster) as client, progress() as show:
            made = corml.recommend_to(loaded, out, whom, data=data, cluster=client, progress=show, **options)
        _tell_shards(made, out, as_json)
        _tell_unknown_users(loaded, listed)
        return
    if histories:
        with progress():
            lists = [loaded.recommend(history=histories, **options)]
    else:
        if all_users and not out and not as_json and len(loaded.users_) > MOST_PRINTED:
            raise UsageError(
                f"--all are {len(loaded.users_):,} users: write their lists with --out lists.parquet (.csv, .tsv, "
                ".json), or print them as CSV with --out -."
            )
        requested = [*listed, *(loaded.users_.labels if all_users else [])]
        _require_memory(
            len(requested) * list_length(options["k"], loaded.items_), as_text=as_json or kind in ("", ".json")
        )
        lists = list(_for_users(loaded, requested, options))
    _deliver(lists, out, kind, as_json)
    _tell_reasons(lists)
    if not histories:
        _tell_unknown_users(loaded, requested)


def _require_memory(items: int, *, as_text: bool) -> None:
    """Refuse to make one file, or one text, of more lists than fit in memory; a folder is written in shards."""
    if items > FEW_ITEMS:
        memory.require(
            (PER_ITEM_AS_TEXT if as_text else PER_ITEM_IN_TABLE) * items,
            what=f"Lists with {items:,} items, all at once,",
            instead="write them into a folder, in the space of a few: --out lists/",
        )


def _kind_of(out: str) -> str:
    """What to write: by the ending of a file's name, or into a folder, which is there or is written with a slash."""
    if out.endswith(("/", os.sep)) or os.path.isdir(out):
        return FOLDER
    return ending(out, (".parquet", ".csv", ".tsv", ".json"))


def _tell_shards(made: ListParts, out: str, as_json: bool) -> None:
    if made.with_reason:
        are = "is" if made.with_reason == 1 else "are"
        tell(f"note: {counted(made.with_reason, 'list')} {are} short or not personal; the column reason says why")
    if made.found:
        tell(f"note: {made.found:,} of the {counted(made.parts, 'shard')} had been written by an earlier run")
    if as_json:
        counts = {name: value for name, value in vars(made).items() if name != "folder"}
        show_json({"folder": out, **counts})
    else:
        wrote(out, f"{counted(made.lists, 'list')} in {counted(made.parts, 'shard')}")


def _for_users(loaded: Recommender, requested: Sequence[str], options: Given) -> Iterator[Recommendations]:
    if options.get("unknown") == "error":
        loaded.users_.rows(requested)  # all unknown ones in one error, before any work
    with progress() as show:
        if "max_share" in options:  # a share is one of all lists
            yield loaded.recommend(requested, progress=show, **options)
            return
        piece = users_at_a_time(list_length(options["k"], loaded.items_))
        for at in range(0, len(requested), piece):
            yield loaded.recommend(requested[at : at + piece], **options)
            show("recommend", min(at + piece, len(requested)), len(requested))


def _deliver(lists: list[Recommendations], out: str | None, kind: str, as_json: bool) -> None:
    if not out or (out == STDOUT and as_json):
        _print(lists, as_json)
        return
    if kind == ".json":
        put(out, json_text(_as_json(lists)).encode())
    else:
        from corml._runtime.lazy_polars import polars

        put(out, table_bytes(polars.concat([piece.to_frame() for piece in lists]), kind))
    count = sum(map(len, lists))
    if as_json:
        show_json({"file": out, "lists": count})
    else:
        wrote(out, counted(count, "list"))


def _print(lists: list[Recommendations], as_json: bool) -> None:
    if as_json:
        show_json(_as_json(lists))
        return
    columns = ["user", "rank", "item", "score"]
    columns += ["boost"] if lists[0].boosts is not None else []
    columns += ["title"] if lists[0].titles else []
    columns += ["new"] if lists[0].new else []
    show_table(columns, ([row.get(column) for column in columns] for piece in lists for row in piece.rows()))


def _as_json(lists: list[Recommendations]) -> list[dict[str, Any]]:
    """One entry per list, in the order requested; two lists may have the same name."""
    return [
        {
            "user": piece.users[at],
            "source": piece.sources[at],
            "reason": piece.reasons[at],
            "unknown": list(piece.unknown[at]),
            "items": [{name: value for name, value in one.items() if name != "user"} for one in piece.records(at)],
        }
        for piece in lists
        for at in range(len(piece))
    ]


def _tell_reasons(lists: list[Recommendations]) -> None:
    """Say why lists are short or not personal, and what the model does not know."""
    reasons = [(name, why) for piece in lists for name, why in zip(piece.users, piece.reasons, strict=True) if why]
    if sum(map(len, lists)) <= FEW:
        for name, why in reasons:
            tell(f"note: {name}: {why}")
    elif reasons:
        tell(f"note: {len(reasons):,} lists are short or not personal; the column reason and --json say why")
    for piece in lists:
        for name, labels in zip(piece.users, piece.unknown, strict=True):
            tell_unknown(labels, name)


def _tell_unknown_users(loaded: Recommender, requested: Sequence[str]) -> None:
    """Count the users that the model does not know, and name a few, because an id may be misspelt."""
    users = dict.fromkeys(requested)
    unknown = [user for user in users if user not in loaded.users_]
    if unknown:
        some = f"{len(unknown):,} of the {len(users):,} users are not known"
        items = (
            " (these are item ids: --history takes them)"
            if are_items(list(users), loaded.users_, loaded.items_)
            else ""
        )
        how_many = some if len(unknown) < len(users) else "none of the users is known"
        tell(
            f"note: {how_many} to the model: {quoted(unknown)}{items}; they get the most popular items "
            "(--unknown error refuses them)"
        )
