"""corml similar: the items most associated with an item, or the users most like a user."""

import typer

import corml
from corml.cli._console import show_json, show_table, tell
from corml.cli._list_options import check_once
from corml.cli._work import tell_unknown
from corml.data.requested_ids import separated
from corml.errors import UsageError
from corml.models.recommender import Recommender
from corml.recommend.neighbours import SimilarUsers
from corml.recommend.text import ids

__all__ = ["similar"]


def similar(
    model: str = typer.Argument(..., metavar="MODEL", help="A model file."),
    items: list[str] = typer.Argument(None, metavar="ID", help="One or more item ids."),
    user: list[str] = typer.Option(
        [],
        "--user",
        "-u",
        metavar="ID",
        help="List the users most like this one instead (or id,id,…); may be repeated.",
    ),
    history: list[str] = typer.Option(
        [], "--history", metavar="IDS", help="The users most like anyone with these items: id,id,… or @FILE."
    ),
    k: int = typer.Option(10, "-k", metavar="N", help="Number of items or users per list."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """List items associated with an item, or users like a user.

    The most associated first. Users are compared as the model sees them, and the items that link them are named.

    \b
    Examples:
      corml similar movies.corml 318
      corml similar movies.corml 318 858 -k 5 --json
      corml similar movies.corml --user 15 -k 5
    """
    check_once(user=bool(user), history=bool(history))
    if sum(map(bool, (items, user, history))) != 1:
        raise UsageError("Say similar to what: item ids; or --user with a user id; or --history with items.")
    loaded = corml.read_model(model)
    if not items:
        user = separated(loaded.users_, user)
        _show_users(_of_histories(loaded, history, k) if history else loaded.similar_users(user, k=k), as_json)
        return
    lists = loaded.similar(items, k=k)
    rows = lists.rows()
    if as_json:
        show_json(rows)
        return
    columns = ["item", "rank", "similar", "score", *(["title"] if lists.titles else [])]
    show_table(columns, ([row[column] for column in columns] for row in rows))


def _of_histories(loaded: Recommender, texts: list[str], k: int) -> SimilarUsers:
    histories = [ids(text) or [] for text in texts]
    tell_unknown((item for one in histories for item in one if item not in loaded.items_), "--history")
    return loaded.similar_users(history=histories, k=k)


def _show_users(found: SimilarUsers, as_json: bool) -> None:
    rows = found.rows()
    if as_json:
        show_json(rows)
        return
    columns = ("user", "rank", "similar", "similarity")
    because = [", ".join(found.titles.get(item, item) for item in row["links"]) for row in rows]
    cells = ([*(row[column] for column in columns), why] for row, why in zip(rows, because, strict=True))
    show_table([*columns, "because of"], cells)
    for name in dict.fromkeys(found.names):
        if name not in {row["user"] for row in rows}:
            tell(f"note: {name}: nobody has anything in common")
