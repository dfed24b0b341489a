"""corml evaluate: how accurate a model is on held-out interactions."""

from typing import Any, cast

import typer

import corml
from corml.cli._cluster import client_of, with_cluster
from corml.cli._console import STDOUT, progress, say, show_json, tell
from corml.cli._files import ending, put, table_bytes, text_target
from corml.cli._inputs import inputs_of
from corml.cli._judged import tell_judged
from corml.cli._list_options import chosen, with_list_options
from corml.cli._options import Given, with_loading, with_splitting
from corml.cli._refit import measurable
from corml.cli._work import joined_split, judging, recorded_data_and_split, turned
from corml.data.store import is_split
from corml.errors import UsageError, ascii_line
from corml.evaluation.metrics import parse_all
from corml.evaluation.run import DEFAULT_METRICS, judged
from corml.persistence.atomic import writable_folder
from corml.recommend.options import ListRules, Rules
from corml.splits import Split, StoreSplit

__all__ = ["evaluate"]


@with_loading
@with_splitting
@with_list_options(Rules)
@with_cluster
def evaluate(
    model: str = typer.Argument(..., metavar="MODEL", help="A model file."),
    source: str = typer.Argument(
        None,
        metavar="DATA",
        help="The data to split (default: as recorded), a split file, or the folder of a split of a store.",
    ),
    train: str = typer.Option(None, "--train", metavar="FILE", help="Train set of a precomputed split."),
    valid: str = typer.Option(None, "--valid", metavar="FILE", help="Validation set of a precomputed split."),
    test: str = typer.Option(None, "--test", metavar="FILE", help="Test set of a precomputed split."),
    metrics: str = typer.Option(
        None, "--metrics", "-m", metavar="NAMES", help="Metrics to compute, such as ndcg@10,mrr@10."
    ),
    part: str = typer.Option("test", metavar="PART", help="Set to evaluate on: test or valid."),
    novelty: float = typer.Option(
        None, metavar="NUMBER", help="Operating point of a corml-dial model: from 0 (popular) to 1 (novel)."
    ),
    per_user: str = typer.Option(
        None,
        "--per-user",
        metavar="FILE",
        help="Write each user's values: .parquet, .csv or .tsv; - prints them alone, as CSV.",
    ),
    settings: str = typer.Option(
        None, "--settings", metavar="FILE", help="A TOML file with [data] and [split]; options given here override it."
    ),
    work: str = typer.Option(
        None,
        "--work",
        metavar="DIR",
        help="Folder for finished work, with --workers or --cluster.",
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    loading: Given = {},
    splitting: Given = {},
    listing: dict[str, Any] = {},
    cluster: Given = {},
) -> None:
    """Evaluate a model on held-out interactions.

    With confidence intervals over users. Data, loading options, split and target event types are as recorded in the
    model file unless given; --targets all counts every event type. A model that was fitted on all data after it was
    measured is first fitted on the train set again, because it has seen the held-out pairs. corml metrics explains the
    metrics. Re-ranking options, such as --diversity, apply to the lists that are measured.

    \b
    Examples:
      corml evaluate movies.corml
      corml evaluate movies.corml moved/ratings.csv -m ndcg@10,novelty@10
      corml evaluate shop.corml --train a.csv --test b.csv --per-user values.parquet
      corml evaluate shop.corml shop.split
      corml evaluate shop.corml --settings fit.toml
      corml evaluate shop.corml parts/ --workers 4
      corml evaluate dial.corml --split ratio --novelty 0.8
      corml evaluate movies.corml --diversity 0.3 -m ndcg@10,diversity@10
    """
    suffix = ending(per_user, (".parquet", ".csv", ".tsv")) if per_user else ""
    if per_user:
        text_target(per_user, model, source, train, valid, test, settings)
    names = [name.strip() for name in metrics.split(",")] if metrics else DEFAULT_METRICS
    parse_all(names)
    if part not in ("test", "valid"):
        raise UsageError(f"--part must be test or valid; got {ascii_line(part)}.")
    if work is not None and not cluster:
        raise UsageError("--work requires --workers or --cluster.")
    in_store = is_split(source)
    if in_store:
        _refuse_options(source, loading, splitting, settings)
        if "targets" in splitting:
            judged(corml.read_split(source), splitting["targets"])
    elif cluster:
        raise UsageError("Workers evaluate on the split of a store: make one with corml data split STORE FOLDER/.")
    given = inputs_of(source, settings, loading, splitting)
    if (train or valid or test) and (given.source or given.splitting.keys() - {"targets"}):
        raise UsageError("Give either a precomputed split (--train, --test) or data to split, not both.")
    if work is not None:
        writable_folder(work)
    loaded = corml.read_model(model)
    turned(loaded, novelty)  # a model without a trade-off is refused before anything is fitted
    list_rules = ListRules(**cast(Rules, chosen(listing, loaded)))
    split: Split | StoreSplit
    if in_store:
        split = corml.read_split(source)
    elif train or valid or test:
        split = judging(joined_split(train, valid, test, given.loading), given.splitting)
    else:
        _, split = recorded_data_and_split(loaded, model, given.source, given.loading, given.splitting)
        if split.targets and "targets" not in given.splitting:
            tell("note: only the event types recorded with the split count as targets; --targets all counts all")
    with client_of(cluster) as client, progress() as show:
        measured = measurable(loaded, split, show) if isinstance(split, Split) else loaded
        if measured is not loaded:
            measured = measured.with_items(loaded.attributes_)  # which rules may use
        how: dict[str, Any] = {"cluster": client, "work": work} if cluster else {}
        result = corml.evaluate(
            turned(measured, novelty), split, names, part=part, rules=list_rules, progress=show, **how
        )
    tell_judged(len(result.users), part, result.procedure.get("targets", ()))
    if per_user != STDOUT:
        show_json(result.record()) if as_json else say(result.table())
    if per_user:
        put(per_user, table_bytes(result.to_frame(), suffix))
        if per_user != STDOUT:
            tell(f"wrote {per_user}: {len(result.users):,} users")


def _refuse_options(source: str, loading: Given, splitting: Given, settings: str | None) -> None:
    given = ["--" + name.replace("_", "-") for name in loading]
    given += [flag for flag, value in (("--split", splitting), ("--settings", settings)) if value]
    if given:
        name = ascii_line(source, 200)
        raise UsageError(f"{name} was loaded and split before: leave out {given[0]}.")
