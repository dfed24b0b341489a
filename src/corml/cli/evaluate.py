"""corml evaluate: how good the lists of a model are."""

import io
from typing import Any

import typer

import corml
from corml import files
from corml.cli._console import progress, say, show_json
from corml.cli._options import with_loading, with_splitting
from corml.cli._work import load, recorded_split
from corml.errors import UsageError
from corml.evaluation.run import DEFAULT
from corml.splits import Split, ready_made

__all__ = ["evaluate"]


@with_loading
@with_splitting
def evaluate(
    model: str = typer.Argument(..., help="A model file."),
    source: str = typer.Argument(None, help="The data to split (default: as recorded in the model file)."),
    train: str = typer.Option(None, "--train", help="A ready-made train file, instead of splitting."),
    valid: str = typer.Option(None, "--valid", help="A ready-made valid file."),
    test: str = typer.Option(None, "--test", help="A ready-made test file."),
    metrics: str = typer.Option(None, "--metrics", "-m", help="Such as ndcg@10,mrr@10 (see: corml metrics)."),
    part: str = typer.Option("test", help="Which part to judge on: test or valid."),
    per_user: str = typer.Option(
        None, "--per-user", metavar="FILE", help="Write each user's values (.parquet or .csv)."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    loading: dict[str, Any] = {},
    splitting: dict[str, Any] = {},
) -> None:
    """Judge a model on held-out interactions, with confidence intervals.

    \b
    corml evaluate movies.corml
    corml evaluate movies.corml ratings.csv --split ratio --split-set seed=7 -m ndcg@10,novelty@10
    corml evaluate movies.corml --train a.csv --test b.csv --per-user values.parquet
    """
    if per_user and not per_user.endswith((".parquet", ".csv")):
        raise UsageError(f"'{per_user}' must end in .parquet or .csv.")
    loaded = corml.read_model(model)
    split = _files(train, valid, test, loading) if train or test else recorded_split(loaded, source, loading, splitting)
    wanted = [name.strip() for name in metrics.split(",")] if metrics else DEFAULT
    with progress() as show:
        result = corml.evaluate(loaded, split, wanted, part=part, progress=show)
    if per_user:
        _write(per_user, result.to_frame())
    if as_json:
        show_json(result.record())
    else:
        say(result.table())


def _files(train: str | None, valid: str | None, test: str | None, loading: dict[str, Any]) -> Split:
    if not train or not test:
        raise UsageError("A ready-made split needs at least --train and --test.")
    return ready_made(load(train, loading), load(valid, loading) if valid else None, load(test, loading))


def _write(path: str, frame: Any) -> None:
    if path.endswith(".csv"):
        files.replace(path, frame.write_csv().encode())
        return
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    files.replace(path, buffer.getvalue())
