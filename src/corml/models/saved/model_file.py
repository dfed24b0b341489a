"""A fitted model as one file: ids, settings, arrays, where the data came from and how good it was."""

import hashlib
import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from corml._runtime.finite import LARGEST, check_learned, is_moderate
from corml._runtime.parallel import threads
from corml._runtime.settings import values_of
from corml.data.ids import Ids
from corml.data.interactions import Interactions
from corml.data.saved.added import decode_added, encode_added, facts_of_added
from corml.data.saved.attributes import arrays_of, facts_of, read_attributes
from corml.data.saved.pairs import (
    decode_beside,
    decode_ids,
    decode_known,
    decode_labels,
    encode_beside,
    encode_ids,
    encode_known,
)
from corml.data.titles import Titles, texts_of
from corml.errors import DataError, ModelFileError, ResourceError, ascii_line, quoted
from corml.linalg.sparse import Array, empty
from corml.models.fitted import Certificate, Fitted, LearnedArray, Plan, Settings, Training
from corml.models.new_items import check_link
from corml.persistence import atomic
from corml.persistence.container import Arrays, Contents, decode_sparse, encode_sparse, pieces
from corml.persistence.facts import from_plain, to_plain

if TYPE_CHECKING:
    from corml.models.recommender import Recommender

PACKAGES = ("corml", "numpy", "scipy", "numba")
SLICE = 1 << 20  # numbers that are gone through at a time
TIMES = ("seconds", "cpu_seconds")  # of a fit: equal fits have equal files
STILL_HERE = " The model is still in memory and can be saved in another place."
MAX_USERS = 2**31 - 1  # of a file without histories, where only a number says how many there were
COUNTS = LearnedArray(np.ndarray, ("items",), optional=False)
FORMS: dict[str, type] = {  # of facts that commands rely on, where a file has them; the outer ones first
    "data.fingerprint": str,
    "data.source": dict,
    "data.source.options": dict,
    "evaluation.metrics": dict,
    "evaluation.intervals": dict,
    "evaluation.procedure": dict,
    "evaluation.refit": dict,
    "evaluation.split": str,
    "evaluation.part": str,
    "notes.certificates": list,
    "now": dict,
    "now.updates": list,
}

MISSING = object()
NAMES: dict[type, str] = {dict: "mapping", str: "text", list: "list"}

T = TypeVar("T")


# --- writing ---------------------------------------------------------------------------------------------------------


def save_model(
    model: "Recommender", path: str | os.PathLike[str], *, history: bool, evaluation: Mapping[str, Any]
) -> None:
    """Write a fitted model with its ids, settings, provenance and, if it has and may keep them, its users' histories.

    A model that could not be read back is refused before the file that is there is touched. Arrays are written from
    where they are: in addition to the model it takes a few MiB, and four to eight bytes for each pair that has a time.
    """
    model._check_fitted()
    try:
        atomic.target(path)
        atomic.replace(path, *_parts(model, history=history, evaluation=evaluation))
    except DataError as fault:
        raise DataError(f"{fault}{STILL_HERE}") from None
    except MemoryError:
        name = ascii_line(path, 200)
        raise ResourceError(f"There is not enough memory to write {name}, which is as it was.{STILL_HERE}") from None


def _parts(model: "Recommender", *, history: bool, evaluation: Mapping[str, Any]) -> tuple[bytes | memoryview, ...]:
    """What a file consists of, once the model is checked to be one that can be read back."""
    model._check_state()
    state: Fitted = model.fitted_
    check_learned(state.arrays, model.NAME)
    history = history and len(state.users) > 0
    facts = {
        "model": model.NAME,
        "settings": dict(state.settings),
        "shape": list(state.train.shape),
        "data": {"fingerprint": state.fingerprint, "source": dict(state.source)},
        **({} if state.added is None or not history else {"now": facts_of_added(state.added, state.items)}),
        "notes": _notes(state),
        "evaluation": dict(evaluation),
        "made_with": environment(),
        **facts_of(state.attributes),
    }
    return pieces(_arrays(model, state, history=history), facts)


def fingerprint(model: "Recommender") -> str:
    """Hash of everything that decides a list: ids, histories, settings and arrays; the same before and after a save."""
    state: Fitted = model.fitted_
    facts = {"model": model.NAME, "settings": dict(state.resolved), **facts_of(state.attributes)}
    digest = hashlib.sha256(json.dumps(facts, default=str, sort_keys=True).encode())
    for name, array in sorted(_arrays(model, state, history=len(state.users) > 0).items()):
        digest.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _arrays(model: "Recommender", state: Fitted, *, history: bool) -> dict[str, Array]:
    arrays = encode_ids("items", state.items) | {"counts": state.counts}
    if history:
        arrays |= encode_ids("users", state.users) | encode_known("train", state.rows, state.seen, state.negative)
        arrays |= encode_beside(state.others, state.elsewhere_now)
        arrays |= {} if state.added is None else encode_added(state.added, state.users, state.items)
    if state.titles:
        arrays |= encode_ids("titles", texts_of(state.titles, state.items))
    arrays |= arrays_of(state.attributes)
    for name, array in model._declared_arrays().items():
        value = state.arrays.get(name)
        if value is None or ("users" in array.shape and not history):  # no histories, no vectors of users either
            continue
        arrays |= encode_sparse(name, value) if issparse(value) else {name: value}
    return arrays


def _notes(state: Fitted) -> dict[str, Any]:
    notes = {"plan": state.plan, "certificates": state.certificates or None, "training": state.training}
    return {name: to_plain(value, skip=("trace", *TIMES)) for name, value in notes.items() if value is not None}


def environment() -> dict[str, Any]:
    """Versions and threads: with equal data and settings, what decides whether two files are equal."""
    versions = {name: _version(name) for name in PACKAGES}
    return {**versions, "python": platform.python_version(), "machine": platform.machine(), "threads": threads()}


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:  # run from its source folder
        return "unknown"


# --- reading ---------------------------------------------------------------------------------------------------------


def restore(model: "Recommender", contents: Contents) -> "Recommender":
    """Fill an unfitted model with what a file holds, checking that all parts fit together."""
    try:
        check_recorded(contents.meta)
        model.fitted_ = _read(model, contents.arrays, contents.meta)
        model._check_state()
    except ModelFileError as fault:
        raise ModelFileError(f"{contents.name} cannot be trusted: {fault}. Fit again.") from None
    return model


def _read(model: "Recommender", arrays: Arrays, meta: Mapping[str, Any]) -> Fitted:
    n_users, n_items = _shape(meta["shape"])
    labels = decode_labels(arrays, "items")
    if len(labels) != n_items:
        raise ModelFileError(f"it names {len(labels):,} items and says {n_items:,}")
    items = decode_ids(arrays, "items", "item")
    histories = _histories(arrays, n_users, n_items)
    users, train = histories["users"], histories["train"]
    sizes: dict[str | int | None, int | None] = {"users": n_users, "items": n_items, None: None}
    learned: dict[str, Any] = {}
    for name, array in {"counts": COUNTS, **model._declared_arrays()}.items():
        if "users" in array.shape and not len(users):
            continue
        value = _array(arrays, name, array, [dim if type(dim) is int else sizes.get(dim) for dim in array.shape])
        if value is not None:
            learned[name] = value
            sizes = {**dict(zip(array.shape, value.shape, strict=True)), **sizes}  # a width that arrays share
    about: dict[str, Any] = {
        "titles": _titles(arrays, items),
        "attributes": read_attributes(arrays, meta.get("attributes"), items),
        **decode_beside(arrays, users, items),
    }
    nothing = np.zeros(0, dtype=np.int32)
    added = decode_added(arrays, Interactions(users, items, nothing, nothing, **about), meta.get("now"))
    if arrays.unread:
        raise ModelFileError(f"it holds arrays that no {model.NAME} model has: {quoted(arrays.unread)}")
    counts = learned.pop("counts")
    if "link" in learned:
        check_link(learned["link"], counts)
    _check_counts(counts, train, n_users, history=len(users) > 0)
    notes, data = meta["notes"], meta["data"]
    return Fitted(
        items=items,
        counts=counts,
        fingerprint=str(data.get("fingerprint", "")),
        source=data.get("source", {}),
        settings=Settings(values_of(model)),
        arrays=learned,
        plan=_plan(model, notes.get("plan")),
        certificates=tuple(from_plain(Certificate, one) for one in notes.get("certificates", [])),
        training=_optional(Training, notes.get("training")),
        evaluation=meta["evaluation"],
        added=added,
        **about,
        **histories,
    )


def check_recorded(meta: Mapping[str, Any]) -> None:
    """Refuse facts of another form than a save writes; missing ones are allowed."""
    if meta["shape"]:  # a checkpoint has none
        _shape(meta["shape"])
    for path, form in FORMS.items():
        fact = _fact(meta, path)
        if fact is not MISSING and not isinstance(fact, form):
            raise ModelFileError(f"its {path} is not a {NAMES[form]}")
    evaluation = meta["evaluation"]
    for name, value in evaluation.get("metrics", {}).items():
        if not _is_number(value):
            raise ModelFileError(f"its figure {name[:40]!a} is not a number")
    for name, ends in evaluation.get("intervals", {}).items():
        if not (isinstance(ends, list) and len(ends) == 2 and all(map(_is_number, ends))):
            raise ModelFileError(f"its interval of {name[:40]!a} is not made of two numbers")
    for update in meta.get("now", {}).get("updates", []):
        counts = [update.get(name, 0) for name in ("interactions", "new_users")] if isinstance(update, dict) else [None]
        if any(type(count) is not int for count in counts):
            raise ModelFileError("its record of an update has no counts")


def _fact(meta: Mapping[str, Any], path: str) -> Any:
    fact: Any = meta
    for name in path.split("."):
        fact = fact.get(name, MISSING) if isinstance(fact, Mapping) else MISSING
    return fact


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max  # no NaN


def _optional(kind: type[T], plain: object) -> T | None:
    return None if plain is None else from_plain(kind, plain)


def _plan(model: "Recommender", plain: object) -> Plan | None:
    """What a fit chose; scores are made with some of it, so it is as moderate as what was learned."""
    plan = _optional(model.PLAN, plain)
    for name, value in vars(plan).items() if plan else ():
        if isinstance(value, float) and abs(value) > LARGEST and name != "weight_cap":  # which is only told
            raise ModelFileError(f"its plan has a {name} of {value:g}, with which no score is sure to be finite")
    return plan


def _shape(shape: list[Any]) -> tuple[int, int]:
    if len(shape) != 2 or not all(type(length) is int and 0 < length <= MAX_USERS for length in shape):
        raise ModelFileError(f"its shape {quoted(shape)} is not a number of users and one of items")
    return shape[0], shape[1]


def _titles(arrays: Arrays, items: Ids) -> Mapping[str, str]:
    if not {"titles.bytes", "titles.offsets"} & set(arrays):
        return {}
    titles = decode_labels(arrays, "titles")
    if len(titles) != len(items):
        raise ModelFileError(f"it has {len(titles):,} titles for {len(items):,} items")
    return Titles(items, titles)


def _histories(arrays: Arrays, n_users: int, n_items: int) -> dict[str, Any]:
    """Users and their histories, if the file has them, as fields of the state."""
    if "users.bytes" in arrays:
        users = decode_ids(arrays, "users", "user")
        if len(users) != n_users:
            raise ModelFileError(f"it names {len(users):,} users and says {n_users:,}")
        pairs, seen, negative = decode_known(arrays, "train", (n_users, n_items))
        about = {"times": pairs.times, "weights": pairs.weights, "kinds": pairs.kinds}
        return {"users": users, "train": pairs.pattern, **about, "seen": seen, "negative": negative}
    return {"users": Ids([], kind="user"), "train": empty((n_users, n_items))}


def _array(arrays: Arrays, name: str, declared: LearnedArray[Any], shape: list[int | None]) -> Any:
    """One array or matrix of a model; None if it may be missing and is."""
    if f"{name}.indptr" in arrays and len(shape) == 2:
        matrix = decode_sparse(arrays, name, (int(shape[0] or 0), int(shape[1] or 0)))
        _check_size(matrix.data, name)
        return matrix
    if name not in arrays:
        if declared.optional:
            return None
        raise ModelFileError(f"its array {name} is missing")
    array = arrays[name]
    if array.ndim != len(shape) or any(want not in (None, got) for want, got in zip(shape, array.shape, strict=True)):
        raise ModelFileError(f"its array {name} has the wrong shape {array.shape}")
    if array.dtype.kind != ("i" if name == "counts" else "f"):
        raise ModelFileError(f"its array {name} has the wrong type {array.dtype}")
    if array.dtype.kind == "f":
        _check_size(array.reshape(-1), name)
    return array


def _check_size(numbers: Array, name: str) -> None:
    """Refuse numbers so large that a score made of them may not be finite."""
    if not is_moderate(numbers):
        raise ModelFileError(
            f"its array {name} has numbers beyond {LARGEST:g}, with which no score is sure to be finite"
        )


def _check_counts(counts: Array, train: csr_array, n_users: int, *, history: bool) -> None:
    if counts.min() < 0 or counts.max() > n_users:
        raise ModelFileError("its counts are not numbers of users")
    if history and not np.array_equal(counts, _counted(train.indices, len(counts))):
        raise ModelFileError("its counts are not those of its histories")


def _counted(columns: Array, count: int) -> NDArray[np.int64]:
    """How often each column occurs, some at a time: `bincount` makes a copy of what it counts."""
    counts = np.zeros(count, dtype=np.int64)
    for at in range(0, len(columns), SLICE):
        counts += np.bincount(columns[at : at + SLICE], minlength=count)
    return counts
