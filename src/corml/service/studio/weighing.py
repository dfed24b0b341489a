"""How strong each kind of event was when data were read, and what may be asked for instead when they are read again."""

from typing import Any

from msgspec import UNSET

from corml._runtime import durations
from corml.data.interactions import Interactions
from corml.errors import UsageError
from corml.service.problems import Refusal
from corml.service.studio import schema

__all__ = ["read_anew", "weighing_of"]


def weighing_of(data: Interactions) -> schema.Weighing | None:
    """The weight of each kind in the data, and the half-life; None where there are no kinds."""
    if data.kinds is None:
        return None
    options = data.source.get("options", {})
    given = options.get("weights") or {}
    return schema.Weighing(
        weights={kind: float(given.get(kind, 1)) for kind in data.kinds.names},
        negative=[kind for kind in data.kinds.names if kind in (options.get("negative") or ())],
        half_life=options.get("half_life"),
        times=data.times is not None,
    )


def read_anew(request: schema.StartFit, first: schema.Weighing | None) -> dict[str, Any]:
    """Options of reading that differ from those of the first time; nothing where the data can stay as they are."""
    anew: dict[str, Any] = {}
    if request.weights is not UNSET:
        anew["weights"] = _weights(request.weights, first)
    if request.half_life is not UNSET:
        anew["half_life"] = _half_life(request.half_life, first)
    return {name: value for name, value in anew.items() if value != getattr(first, name, None)}


def _invalid(detail: str) -> Refusal:
    return Refusal(422, detail, title="Invalid weights")


def _weights(asked: dict[str, float], first: schema.Weighing | None) -> dict[str, float]:
    if first is None:
        raise _invalid("The data have no kinds of events to weigh: start corml studio with --event.")
    if asked.keys() != first.weights.keys():
        raise _invalid(f"Give each kind of event a weight, and no other: {', '.join(first.weights)}.")
    if not any(weight > 0 for kind, weight in asked.items() if kind not in first.negative):
        raise _invalid("Nothing would be left to learn from: give a kind that does not say no a weight above 0.")
    return asked


def _half_life(asked: str | None, first: schema.Weighing | None) -> str | None:
    if asked is None:
        return None
    if first is None or not first.times:
        raise _invalid("A half-life needs kinds of events and the time of each: start corml studio with --event.")
    try:
        durations.seconds(asked, "The half-life")
    except UsageError as fault:
        raise _invalid(str(fault)) from None
    return asked.strip()
