"""corml data: known data sets, checks of files, conversion and splits."""

import os
import tempfile
from pathlib import Path

import typer

import corml
from corml import data as datasets
from corml.cli._console import STDOUT, in_flags, progress, say, show_json, show_table, tell, wrote
from corml.cli._files import ending, put, target, text_target
from corml.cli._judged import judged_in, tell_judged
from corml.cli._options import Given, with_loading, with_splitting
from corml.cli._work import check_split, load, make_split, note, split_file
from corml.cli._work import fetch as fetch_files
from corml.data.interactions import Interactions
from corml.data.store import is_store
from corml.errors import ResourceError, UsageError, ascii_line
from corml.persistence import unfinished
from corml.persistence.atomic import writable_folder
from corml.splits import Split, StoreSplit

__all__ = ["data"]

SOURCE = "A file, folder or pattern of files with interactions, - for standard input, or a known data set."
FORMATS = (".csv", ".tsv", ".parquet", ".inter", ".npz")

data = typer.Typer()


@data.callback(invoke_without_command=True)
def overview(ctx: typer.Context) -> None:
    """Get, check, convert and split interactions.

    \b
    Examples:
      corml data list
      corml data info ratings.csv
    """
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


@data.command("list")
def list_known(as_json: bool = typer.Option(False, "--json", help="Print JSON.")) -> None:
    """List the data sets known by name.

    Their sources, their licences, and the folder they are stored in.

    \b
    Examples:
      corml data list
      corml data list --json
    """
    rows = [_about(name) for name in datasets.known()]
    if as_json:
        show_json([dict(zip(("name", "title", "licence", "address"), row, strict=True)) for row in rows])
        return
    for name, title, licence, address in rows:
        say(f"{name:<16} {title}\n{'':16} {address}\n{'':16} {licence}\n")
    say(f"stored in {datasets.folder()} (CORML_DATA chooses another folder)")


def _about(name: str) -> list[str]:
    """Name, title, licence and address; of a data set that another package adds and that cannot be loaded, why."""
    try:
        entry = datasets.get(name)
    except UsageError as fault:
        return [name, str(fault), "", ""]
    return [entry.name, entry.title, entry.licence, entry.address or "inside the package"]


@data.command()
def fetch(
    name: str = typer.Argument(..., metavar="NAME", help="A known data set."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Download a known data set into the data folder.

    An interrupted download continues where it stopped.

    \b
    Examples:
      corml data fetch ml-latest-small
    """
    paths = [str(path) for path in fetch_files(name)]
    if as_json:
        show_json({"name": name, "files": paths})
        return
    for path in paths:
        say(path)


@data.command()
@with_loading
def info(
    source: str = typer.Argument(..., metavar="DATA", help=SOURCE),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    loading: Given = {},
) -> None:
    """Check interactions for problems, and suggest remedies.

    Sizes, popularity skew, duplicates and ids that look like mistakes.

    \b
    Examples:
      corml data info ratings.csv
      corml data info movielens-small --at-least 4
    """
    try:
        report = datasets.examine(load(source, loading))
    except ResourceError as fault:
        if not is_store(source):
            raise
        tell(f"note: {fault}")
        _show_manifest(source, as_json=as_json)
        return
    if as_json:
        show_json(report.to_dict())
        return
    show_table(["fact", "value"], report.written())
    say(in_flags(report.advice()))


@data.command()
@with_loading
def convert(
    source: str = typer.Argument(..., metavar="DATA", help=SOURCE),
    out: str = typer.Argument(
        ..., metavar="FILE", help="The file to write: .csv, .tsv, .parquet, .inter or .npz; - prints CSV."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    loading: Given = {},
) -> None:
    """Write interactions in another format, filtered by the options.

    The pairs to learn from are written, with times and weights; read the weights with --weight weight. What the file
    does not keep, such as event types, is a warning. Ids are written unchanged: a spreadsheet may read one that begins
    with = as a formula.

    \b
    Examples:
      corml data convert ratings.csv clean.parquet --at-least 4 --k-core 5
    """
    kind = ending(out, FORMATS)
    text_target(out, source, loading.get("titles"), loading.get("items"))
    loaded = load(source, loading)
    if out == STDOUT:
        _print_as(kind, loaded)
        return
    datasets.write(loaded, out)
    if as_json:
        users, items = loaded.shape
        show_json({"file": out, "users": users, "items": items, "interactions": len(loaded)})
        return
    wrote(out, f"{len(loaded):,} interactions")


@data.command()
@with_loading
@with_splitting
def split(
    source: str = typer.Argument(..., metavar="DATA", help=SOURCE),
    out: str = typer.Argument(..., metavar="FILE", help="The split file to write; of a store a folder, parts/."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    loading: Given = {},
    splitting: Given = {},
) -> None:
    """Split interactions and save the split as one file.

    The file holds hashes of the data and the procedure of the split; read_split in Python verifies and reads it. A
    store is divided into a folder piece by piece: its parts are stores again, and if it is stopped, the same command
    resumes.

    \b
    Examples:
      corml data split ratings.csv shop.split
      corml data split gowalla gowalla.split --split authors --split-set seed=2026
      corml data split shop.store parts/ --split temporal
    """
    splitting = {"how": "ratio", **splitting}
    check_split(splitting)
    in_folder = out.endswith(("/", os.sep)) or os.path.isdir(out)
    if in_folder:
        made: Split | StoreSplit = _split_of_store(source, out, loading, splitting)
    else:
        target(out, source, loading.get("titles"), loading.get("items"))
        made = make_split(load(source, loading), splitting)
        made.save(out)
    _show_split(made, out, as_json=as_json, where="folder" if in_folder else "file")


def _split_of_store(source: str, out: str, loading: Given, splitting: Given) -> StoreSplit:
    if not is_store(source):
        raise UsageError(
            "A split in a folder is one of a store: make one with corml data store, or name a file instead of "
            f"{ascii_line(out, 200)}."
        )
    if loading:
        option = "--" + next(iter(loading)).replace("_", "-")
        raise UsageError(f"The rows of a store were read before: leave out {option}, or make the store with it.")
    if "targets" in splitting:
        raise UsageError("A store has no event types: leave --targets out.")
    if split_file(splitting):
        raise UsageError("A split file has its pairs already: name a kind of split, such as --split ratio.")
    writable_folder(out)
    with progress() as show:
        return corml.split(corml.Store(source), splitting.pop("how"), out=out, progress=show, **splitting)


def _show_split(result: Split | StoreSplit, out: str, *, as_json: bool, where: str) -> None:
    counts = result.counts()
    judged = {}
    if isinstance(result, Split):
        judged = {name: judged_in(result, name) for name in ("valid", "test") if len(result.parts()[name])}
    if as_json:
        facts = {
            "fingerprint": result.fingerprint,
            "procedure": dict(result.procedure),
            "counts": counts,
            "judged": judged,
        }
        show_json({where: out, **facts})
        return
    parts = {name: value for name, value in counts.items() if isinstance(value, dict)}
    show_table(["part", "users", "items", "pairs"], ([name, *part.values()] for name, part in parts.items()))
    for name, value in counts.items():
        if name not in parts and value:
            say(f"{value:,} {name}")
    for name, about in judged.items():
        say(f"{about['targets']:,} targets in {name}, of {about['users']:,} users who are judged")
    if "test" in judged and isinstance(result, Split):
        tell_judged(judged["test"]["users"], "test", result.targets)
    wrote(out, f"split {result.fingerprint[:16]}…")


@data.command()
@with_loading
def store(
    sources: list[str] = typer.Argument(
        ..., metavar="DATA... FOLDER", help="Files, folders or patterns with interactions, and the folder to write."
    ),
    memory: str = typer.Option("1GB", "--memory", metavar="SIZE", help="About how much the data may take on the way."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    loading: Given = {},
) -> None:
    """Make a store of files that are larger than memory.

    Parquet, CSV and TSV files are read piece by piece, never whole. If it is stopped, the same command resumes. A store
    is a folder; every command that reads interactions takes it.

    \b
    Examples:
      corml data store events/*.parquet shop.store
      corml data store ratings.csv shop.store --at-least 4 --memory 256MB
    """
    *names, out = sources
    if not names:
        raise UsageError("Name the data first and then the folder to write: corml data store DATA... FOLDER.")
    if not os.path.isfile(out):  # of which the maker says more
        writable_folder(out)
    with progress() as show:
        made = corml.build_store(names, out, memory=memory, progress=show, notify=note, **loading)
    users, items = made.shape
    if as_json:
        show_json(
            {"folder": out, "users": users, "items": items, "interactions": len(made), "fingerprint": made.fingerprint}
        )
        return
    wrote(out, f"{len(made):,} interactions of {users:,} users with {items:,} items")


def _show_manifest(source: str, *, as_json: bool) -> None:
    """What a store says of itself, where it is too large to be examined."""
    known = corml.Store(source).manifest
    facts = {"users": known.users, "items": known.items, "interactions": known.interactions}
    facts |= {"parts": len(known.user_starts) - 1, "seen": known.seen, "others": known.others, **known.counts}
    if as_json:
        show_json(facts)
        return
    show_table(["fact", "value"], ([name.replace("_", " "), f"{value:,}"] for name, value in facts.items()))


def _print_as(kind: str, data: Interactions) -> None:
    """The file on standard output; it is written first, so that nothing half-made is printed."""
    with tempfile.TemporaryDirectory() as folder, unfinished.listed(Path(folder)):
        path = Path(folder) / f"data{kind}"
        datasets.write(data, path)
        put(STDOUT, path.read_bytes())
