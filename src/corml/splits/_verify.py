"""Whether a split is what its record says."""

from typing import Any

from corml import plugins
from corml.errors import DataError, UsageError, ascii_line
from corml.interactions import Interactions
from corml.splits._dispatch import options_of, split
from corml.splits._split import PARTS, Split

__all__ = ["verify_split"]


def verify_split(made: Split, data: Interactions) -> None:
    """Make a split again from its record and these data; an error says whether data, procedure or parts differ."""
    recorded = made.procedure
    name = recorded.get("name")
    if recorded.get("data") is None:
        raise DataError(
            f"The procedure of this split ({ascii_line(name)}) cannot be run again: its parts were made elsewhere."
        )
    if recorded["data"] != data.fingerprint:
        short = f"{ascii_line(str(recorded['data'])[:12])} is recorded, {ascii_line(data.fingerprint[:12])} is given"
        raise DataError(
            f"The data are not those the split was made from ({short}): load the same file with the same filters."
        )
    again = _made_again(recorded, data)
    _compare_records(recorded, again.procedure)
    if again.fingerprint != made.fingerprint:
        raise DataError(
            f"The parts {_different(made, again)} are not what the recorded procedure makes of these data: split again."
        )


def _made_again(recorded: Any, data: Interactions) -> Split:
    try:
        known = options_of(plugins.get("corml.splits", str(recorded.get("name"))))
        return split(data, recorded["name"], **{key: recorded[key] for key in known if key in recorded})
    except UsageError as fault:
        raise DataError(f"The recorded procedure cannot be run: {fault}") from fault


def _compare_records(recorded: Any, again: Any) -> None:
    differing = sorted(key for key in {*recorded, *again} if recorded.get(key) != again.get(key))
    if differing == ["rows"]:
        raise DataError(
            "The procedure depends on the order of rows, and these data have another: load the same file unsorted."
        )
    if differing:
        raise DataError(
            f"The procedure differs from its record in {', '.join(map(ascii_line, differing))}: split again."
        )


def _different(one: Split, other: Split) -> str:
    prints = [{name: part.fingerprint for name, part in split.parts().items()} for split in (one, other)]
    return ", ".join(name for name in PARTS if prints[0].get(name) != prints[1].get(name))
