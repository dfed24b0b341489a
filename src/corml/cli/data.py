"""corml data: known data sets, a doctor for files, conversion and splits."""

from typing import Any

import typer

from corml import datasets, files
from corml.cli._console import say, show_json, show_table
from corml.cli._options import with_loading, with_splitting
from corml.cli._work import fetch as fetch_files
from corml.cli._work import load, make_split

__all__ = ["data"]

data = typer.Typer(help="Known data sets, a doctor for files, conversion and splits.", no_args_is_help=True)


@data.command("list")
def list_known(as_json: bool = typer.Option(False, "--json", help="Print JSON.")) -> None:
    """List the data sets known by name, where they come from and on what terms.

    \b
    corml data list
    """
    entries = [datasets.get(name) for name in datasets.known()]
    rows = [[e.name, e.title, e.licence, e.address or "inside the package"] for e in entries]
    if as_json:
        show_json([dict(zip(("name", "title", "licence", "address"), row, strict=True)) for row in rows])
        return
    for name, title, licence, address in rows:
        say(f"{name:<16} {title}\n{'':16} {address}\n{'':16} {licence}\n")
    say(f"kept in {datasets.folder()} (CORML_DATA chooses another folder)")


@data.command()
def fetch(name: str = typer.Argument(..., help="A known data set.")) -> None:
    """Download a known data set into the data folder; an interrupted download goes on where it stopped.

    \b
    corml data fetch ml-latest-small
    """
    for path in fetch_files(name):
        say(str(path))


@data.command()
@with_loading
def info(
    source: str = typer.Argument(..., help="A file of interactions, or the name of a known data set."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    loading: dict[str, Any] = {},
) -> None:
    """Examine interactions: sizes, skew, duplicates, odd ids, and what to do about each.

    \b
    corml data info ratings.csv
    corml data info movielens-small --at-least 4
    """
    report = datasets.examine(load(source, loading))
    if as_json:
        show_json(report.to_dict())
        return
    show_table(["fact", "value"], ((label, _fact(label, value)) for label, value in report.facts))
    for finding in report.findings:
        say(f"{finding.severity}: {finding.what}\n    → {finding.advice}")
    if not report.findings:
        say("nothing to complain about")


@data.command()
@with_loading
def convert(
    source: str = typer.Argument(..., help="A file of interactions, or the name of a known data set."),
    out: str = typer.Argument(..., help="What to write: .csv, .tsv, .parquet, .inter or .npz."),
    loading: dict[str, Any] = {},
) -> None:
    """Write interactions in another format, filtered as asked.

    \b
    corml data convert ratings.csv clean.parquet --at-least 4 --k-core 5
    """
    files.target(out)
    loaded = load(source, loading)
    datasets.write(loaded, out)
    say(f"wrote {out}: {len(loaded):,} interactions")


@data.command()
@with_loading
@with_splitting
def split(
    source: str = typer.Argument(..., help="A file of interactions, or the name of a known data set."),
    out: str = typer.Argument(..., help="The split file to write."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    loading: dict[str, Any] = {},
    splitting: dict[str, Any] = {},
) -> None:
    """Split interactions and keep the split in one file, with hashes of the data and how it was made.

    \b
    corml data split gowalla gowalla.split --split authors --split-set seed=2026
    """
    files.target(out)
    made = make_split(load(source, loading), splitting)
    made.save(out)
    counts = made.counts()
    if as_json:
        show_json({"file": out, "fingerprint": made.fingerprint, "procedure": dict(made.procedure), "counts": counts})
        return
    parts = {name: value for name, value in counts.items() if isinstance(value, dict)}
    show_table(["part", "users", "items", "pairs"], ([name, *part.values()] for name, part in parts.items()))
    for name, value in counts.items():
        if name not in parts and value:
            say(f"{value:,} {name}")
    say(f"wrote {out}: split {made.fingerprint[:16]}…")


def _fact(label: str, value: Any) -> Any:
    if isinstance(value, dict):
        return "  ".join(f"{name} {number:,.0f}" for name, number in value.items())
    if label == "density" or label.startswith("share"):
        return f"{value:.2%}"
    return f"{value:,}" if isinstance(value, int) else value
