"""Ids, other texts, and pairs of users and items as arrays of a file, which has finite numbers only.

NAME.bytes, NAME.offsets            texts
NAME.indptr, NAME.indices           pairs, row by row
NAME.times, NAME.weights            of each pair, where given
NAME.kinds, NAME.kinds.starts …     its event types
NAME.seen.…, NAME.negative.…        known pairs that are not learned from, and those of them that were disliked
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.data.kinds import Kinds, are_too_many
from corml.data.labels import Labels
from corml.data.strength import Floats, Rows
from corml.errors import DataError, ModelFileError, UsageError
from corml.persistence.container import Arrays, decode_sparse, encode_sparse, in_both
from corml.persistence.mapping import give_back

Encoded = dict[str, NDArray[Any]]

SLICE = 1 << 16  # times converted at once
NO_TIME = {"i": np.iinfo(np.int32).max, "f": np.finfo(np.float64).max}


# --- texts -----------------------------------------------------------------------------------------------------------


def encode_ids(name: str, labels: Iterable[str] | Labels | Ids) -> Encoded:
    """Texts as UTF-8 bytes and where each begins."""
    texts = labels.labels if isinstance(labels, Ids) else labels
    data, offsets = (texts if isinstance(texts, Labels) else Labels.of(map(str, texts))).packed()
    return {f"{name}.bytes": data, f"{name}.offsets": offsets}


def decode_labels(arrays: Arrays, name: str) -> Labels:
    """Texts from bytes and offsets, checked; the bytes are not copied."""
    try:
        data, offsets = arrays[f"{name}.bytes"], arrays[f"{name}.offsets"]
        sound = data.dtype == np.uint8 and offsets.dtype == np.int64 and offsets.ndim == data.ndim == 1
        if not sound or offsets[0] != 0 or offsets[-1] != len(data) or (offsets[1:] < offsets[:-1]).any():
            raise ModelFileError(f"its {name} do not add up")
    except (KeyError, IndexError):
        raise ModelFileError(f"its {name} are missing or unreadable") from None
    labels = Labels(data, offsets)
    if not labels.are_texts():
        raise ModelFileError(f"its {name} are missing or unreadable")
    return labels


def decode_ids(arrays: Arrays, name: str, kind: str) -> Ids:
    """Ids from a file, which must be distinct."""
    try:
        return Ids(decode_labels(arrays, name), kind=kind)
    except DataError:
        raise ModelFileError(f"some of its {kind} ids occur twice") from None


# --- pairs -----------------------------------------------------------------------------------------------------------


def encode_rows(name: str, rows: Rows | None) -> Encoded:
    """Pairs with their times, event types and weights; no arrays where there are no pairs."""
    if rows is None:
        return {}
    arrays = encode_sparse(name, rows.pattern, values=False) | _encode_kinds(name, rows.kinds)
    arrays |= {} if rows.times is None else {f"{name}.times": _encode_times(rows.times)}
    return arrays | ({} if rows.weights is None else {f"{name}.weights": rows.weights})


def decode_rows(arrays: Arrays, name: str, shape: tuple[int, int]) -> Rows | None:
    """Pairs with their times, event types and weights, checked; None where a file has no such pairs."""
    if f"{name}.indptr" not in arrays:
        return None
    pattern, weights = decode_sparse(arrays, name, shape, values=False), arrays.get(f"{name}.weights")
    if weights is not None and (weights.dtype != np.float32 or weights.shape != (pattern.nnz,) or (weights <= 0).any()):
        raise ModelFileError(f"its weights of {name} are not one positive number for each pair")
    return Rows(pattern, _decode_times(arrays, name, pattern.nnz), _decode_kinds(arrays, name, pattern.nnz), weights)


def encode_known(name: str, pairs: Rows, seen: Rows | None, negative: Rows | None) -> Encoded:
    """Pairs to score by, pairs that are only excluded from lists, and those of them that were disliked."""
    return encode_rows(name, pairs) | encode_rows(f"{name}.seen", seen) | encode_rows(f"{name}.negative", negative)


def decode_known(arrays: Arrays, name: str, shape: tuple[int, int]) -> tuple[Rows, Rows | None, Rows | None]:
    """What `encode_known` wrote, checked."""
    pairs, seen, negative = (decode_rows(arrays, one, shape) for one in (name, f"{name}.seen", f"{name}.negative"))
    if pairs is None:
        raise ModelFileError(f"its matrix {name} is incomplete")
    if seen is not None and in_both(seen.pattern, pairs.pattern):
        raise ModelFileError(f"pairs of its {name} are also among those that are only excluded")
    if negative is not None and (seen is None or in_both(seen.pattern, negative.pattern) < negative.pattern.nnz):
        raise ModelFileError(f"disliked pairs of its {name} are not among those that are excluded")
    return pairs, seen, negative


def encode_interactions(name: str, data: Interactions) -> Encoded:
    """Interactions without the ids of their users and items."""
    rest = (None if one is None else one.rows for one in (data.seen, data.negative))
    return encode_known(name, data.rows, *rest)


def decode_interactions(arrays: Arrays, name: str, users: Ids, items: Ids, **about: Any) -> Interactions:
    """Interactions from arrays, checked; `about` are titles and the like."""
    return Interactions.of_rows(users, items, *decode_known(arrays, name, (len(users), len(items))), **about)


def encode_beside(others: Interactions | None, elsewhere: Interactions | None) -> Encoded:
    """Users excluded from training and out-of-catalogue interactions, with their ids."""
    arrays: Encoded = {}
    if others is not None:
        arrays |= encode_ids("others.users", others.users) | encode_interactions("others", others)
    if elsewhere is not None:
        arrays |= encode_ids("elsewhere.users", elsewhere.users) | encode_ids("elsewhere.items", elsewhere.items)
        arrays |= encode_interactions("elsewhere", elsewhere)
    return arrays


def decode_beside(arrays: Arrays, users: Ids, items: Ids) -> dict[str, Interactions]:
    """What `encode_beside` wrote, as fields of Interactions: no such user is in the data, and no such item."""
    beside = {}
    if "others.indptr" in arrays:
        more = decode_ids(arrays, "others.users", "user")
        if not len(users) or (users.find(more) >= 0).any():
            raise ModelFileError("users excluded from training are also among its users")
        beside["others"] = decode_interactions(arrays, "others", more, items)
    if "elsewhere.indptr" in arrays:
        more, away = decode_ids(arrays, "elsewhere.users", "user"), decode_ids(arrays, "elsewhere.items", "item")
        if (items.find(away) >= 0).any():
            raise ModelFileError("items that are out of its catalogue are in it")
        beside["elsewhere"] = decode_interactions(arrays, "elsewhere", more, away)
    return beside


# --- times and event types -------------------------------------------------------------------------------------------


def _encode_times(times: Floats) -> NDArray[Any]:
    """Whole seconds take half the space; the largest number of the type stands for a missing time.

    They are converted in slices, so that a save needs little memory beside what it writes.
    """
    whole = all(_are_whole(times[part]) for part in _slices(times))
    encoded = np.empty(len(times), dtype=np.int32 if whole else np.float64)
    for part in _slices(times):
        encoded[part] = np.where(np.isnan(times[part]), NO_TIME[encoded.dtype.kind], times[part])
    return encoded


def _slices(times: NDArray[Any]) -> Iterator[slice]:
    return (slice(at, at + SLICE) for at in range(0, len(times), SLICE))


def _are_whole(times: Floats) -> bool:
    known = times[~np.isnan(times)]
    return bool(((known == np.rint(known)) & (np.abs(known) < NO_TIME["i"])).all())


def _decode_times(arrays: Arrays, name: str, count: int) -> Floats | None:
    times = arrays.get(f"{name}.times")
    if times is None:
        return None
    if times.dtype not in (np.int32, np.float64) or times.shape != (count,):
        raise ModelFileError(f"its times of {name} are not one number for each pair")
    decoded = np.empty(len(times), dtype=np.float64)
    for part in _slices(times):
        decoded[part] = times[part]
        decoded[part][times[part] == NO_TIME[times.dtype.kind]] = np.nan
        give_back(times[part])  # the decoded times are enough
    return decoded


def _encode_kinds(name: str, kinds: Kinds | None) -> Encoded:
    if kinds is None:
        return {}
    names = encode_ids(f"{name}.kind_names", kinds.names)
    if are_too_many(len(kinds.names), len(names[f"{name}.kind_names.bytes"])):
        raise UsageError(f"A file cannot hold {len(kinds.names):,} event types: group them first.")
    arrays = {f"{name}.kinds": kinds.codes, f"{name}.kinds.starts": kinds.starts, **names}
    return arrays | ({} if kinds.times is None else {f"{name}.kinds.times": _encode_times(kinds.times)})


def _decode_kinds(arrays: Arrays, name: str, count: int) -> Kinds | None:
    codes = arrays.get(f"{name}.kinds")
    if codes is None:
        return None
    labels, starts = decode_labels(arrays, f"{name}.kind_names"), arrays.get(f"{name}.kinds.starts")
    if are_too_many(len(labels), len(labels.data)):
        raise ModelFileError(f"its {name} has {len(labels):,} event types, more than there can be")
    if (
        starts is None
        or starts.dtype.kind != "i"
        or starts.shape != (count + 1,)
        or starts[0] != 0
        or (starts[1:] <= starts[:-1]).any()
        or codes.dtype != np.int32
        or codes.shape != (starts[-1],)
        or ((codes < 0) | (codes >= len(labels))).any()
    ):
        raise ModelFileError(f"its event types of {name} are not at least one for each pair")
    return Kinds(tuple(labels), starts, codes, _decode_times(arrays, f"{name}.kinds", len(codes)))
