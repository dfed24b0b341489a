"""corml recommend: lists for known users, for everyone, or for any history."""

import io
import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

import corml
from corml import files
from corml.cli._console import progress, say, show_json, show_table, tell
from corml.cli._work import ids
from corml.errors import UsageError
from corml.recommendations import Recommendations

if TYPE_CHECKING:
    import polars

__all__ = ["recommend"]

Writer = Callable[["polars.DataFrame"], bytes]


def recommend(
    model: str = typer.Argument(..., help="A model file."),
    user: list[str] = typer.Option([], "--user", "-u", help="A known user; may be given several times."),
    everyone: bool = typer.Option(False, "--all", help="All users of the model file."),
    users: str = typer.Option(None, "--users", metavar="FILE", help="A file with one user id per line."),
    history: list[str] = typer.Option([], "--history", help="Items of anyone: id,id,… or @FILE; may be repeated."),
    k: int = typer.Option(10, "-k", help="How many items."),
    exclude: str = typer.Option(None, help="Items never to list: id,id,… or @FILE."),
    only: str = typer.Option(None, help="The only items to choose from: id,id,… or @FILE."),
    out: str = typer.Option(None, "--out", "-o", help="Write .parquet, .csv, .tsv or .json instead of printing."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Recommend items, best first; items a person already met are left out.

    \b
    corml recommend shop.corml --user u1 --user u2
    corml recommend shop.corml --history i1,i7 -k 5
    corml recommend shop.corml --all --out lists.parquet
    """
    write = _writer(out) if out else None
    loaded = corml.read_model(model)
    wanted = [*user, *(ids("@" + users) or [] if users else []), *(loaded.users_.labels if everyone else [])]
    if bool(wanted) == bool(history):
        raise UsageError("Say for whom: --user, --users FILE or --all; or --history with someone's items.")
    limits = {"exclude": ids(exclude), "only": ids(only)}
    if history:
        found = loaded.recommend(history=[ids(text) or [] for text in history], k=k, **limits)
    else:
        found = loaded.recommend(wanted, k=k, **limits)
    if write and out:
        with progress():
            files.replace(out, write(found.to_frame()))
        say(f"wrote {out}: {len(found):,} lists")
    elif as_json:
        show_json(_as_json(found))
    else:
        _print(found)
    for name, reason in zip(found.users, found.reasons, strict=True):
        if reason and len(found) <= 20:
            tell(f"note: {name}: {reason}")


def _as_json(found: Recommendations) -> list[dict[str, object]]:
    rows = found.rows()
    return [
        {
            "user": name,
            "source": found.sources[at],
            "reason": found.reasons[at],
            "unknown": list(found.unknown[at]),
            "items": [{k: v for k, v in row.items() if k != "user"} for row in rows if row["user"] == name],
        }
        for at, name in enumerate(found.users)
    ]


def _print(found: Recommendations) -> None:
    columns = ["user", "rank", "item", "score", *(["title"] if found.titles else [])]
    show_table(columns, ([row.get(column) for column in columns] for row in found.rows()))


def _writer(out: str) -> Writer:
    """Check the file's ending before any work is done."""
    files.target(out)
    writers: dict[str, Writer] = {".parquet": _parquet, ".csv": _csv, ".tsv": _tsv, ".json": _json}
    for ending, writer in writers.items():
        if out.endswith(ending):
            return writer
    raise UsageError(f"'{out}' must end in one of {', '.join(writers)}.")


def _parquet(frame: "polars.DataFrame") -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def _csv(frame: "polars.DataFrame", separator: str = ",") -> bytes:
    return frame.write_csv(separator=separator).encode()


def _tsv(frame: "polars.DataFrame") -> bytes:
    return _csv(frame, "\t")


def _json(frame: "polars.DataFrame") -> bytes:
    return json.dumps(frame.to_dicts(), ensure_ascii=False).encode()
