"""corml verify: does a model file still mean what it says?"""

from typing import Any

import typer

import corml
from corml.cli._console import progress, say, show_json, show_table
from corml.cli._options import with_loading
from corml.cli._work import recorded_split
from corml.errors import ModelFileError, UsageError

__all__ = ["verify"]

TOLERANCE = 1e-6  # figures are means of float32 rankings: on the same machine they are equal


@with_loading
def verify(
    model: str = typer.Argument(..., help="A model file that was fitted with --split."),
    source: str = typer.Argument(None, help="The data (default: as recorded in the model file)."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    loading: dict[str, Any] = {},
) -> None:
    """Judge a model again on the data and split it recorded, and compare: hashes first, then every figure.

    \b
    corml verify movies.corml
    """
    loaded = corml.read_model(model)
    recorded = loaded.evaluation_
    if not recorded.get("metrics"):
        raise UsageError(f"{model} holds no figures to verify: it was fitted without --split.")
    split = recorded_split(loaded, source, loading, {})
    checks = [
        ("data", loaded.data_["fingerprint"], split.train.fingerprint),
        ("split", recorded.get("split"), split.fingerprint),
    ]
    with progress() as show:
        again = corml.evaluate(loaded, split, metrics=list(recorded["metrics"]), progress=show, intervals=False)
    rows = [(name, value, again[name], abs(value - again[name])) for name, value in recorded["metrics"].items()]
    failed = [name for name, was, now in checks if was != now] + [name for name, *_, gap in rows if gap > TOLERANCE]
    if as_json:
        show_json({"same": not failed, "differs": failed, "metrics": {name: now for name, _, now, _ in rows}})
    else:
        show_table(["check", "recorded", "now", "same"], ((n, a[:16], b[:16], a == b) for n, a, b in checks))
        show_table(["metric", "recorded", "now", "difference"], rows)
    if failed:
        raise ModelFileError(f"{model} does not verify: {', '.join(failed)} differ from what it recorded.")
    say("verified: the data, the split and every figure are the same" if not as_json else "")
