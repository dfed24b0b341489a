"""A fitted model as one file: ids, settings, arrays, where the data came from and how good it was."""

import importlib.metadata
import os
import platform
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from corml.errors import ModelFileError, quoted
from corml.interactions import Ids
from corml.parallel import threads
from corml.settings import declared
from corml.storage import atomic
from corml.storage.container import Contents, decode_ids, decode_sparse, encode_ids, encode_sparse, pieces

if TYPE_CHECKING:
    from corml.recommender import Recommender

__all__ = ["environment", "restore", "save_model"]

PACKAGES = ("corml", "numpy", "scipy", "numba")
MOST_USERS = 2**31 - 1  # of a file without histories, where only a number says how many there were

Arrays = Mapping[str, NDArray[Any]]


def save_model(
    model: "Recommender", path: str | os.PathLike[str], *, history: bool, evaluation: Mapping[str, Any] | None
) -> None:
    """Write a fitted model with its ids, settings, provenance and, if wanted and known, its users' histories.

    A model that could not be read back is refused before the file that is there is touched.
    """
    atomic.target(path)
    model.check_state()
    arrays = encode_ids("items", model.items_.labels) | {"counts": model.counts_}
    if history and len(model.users_):
        arrays |= encode_ids("users", model.users_.labels) | encode_sparse("train", model.train_, values=False)
    if model.titles_:
        arrays |= encode_ids("titles", [model.titles_.get(label, "") for label in model.items_.labels])
    for name, dims in model.state().items():
        if "users" in dims and "users.bytes" not in arrays:  # who left no history leaves nothing else either
            continue
        value = getattr(model, name + "_")
        arrays |= encode_sparse(name, value) if issparse(value) else {name: value}
    meta = {
        "model": model.NAME,
        "settings": {name: getattr(model, name) for name in declared(type(model))},
        "shape": list(model.train_.shape),
        "data": model.data_,
        "notes": model.notes_,
        "evaluation": dict(evaluation or {}),
        "made_with": environment(),
    }
    atomic.replace(path, *pieces(arrays, meta))


def environment() -> dict[str, Any]:
    """Versions and threads: with equal data and settings, what decides whether two files are equal."""
    versions = {name: _version(name) for name in PACKAGES}
    return {**versions, "python": platform.python_version(), "machine": platform.machine(), "threads": threads()}


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:  # run from its source folder
        return "unknown"


def restore(model: "Recommender", contents: Contents) -> "Recommender":
    """Fill an unfitted model with what a file holds, checking that all parts fit together."""
    try:
        _fill(model, contents.arrays, contents.meta)
        model.check_state()
    except ModelFileError as fault:
        raise ModelFileError(f"{contents.name} cannot be trusted: {fault}. Fit again.") from None
    return model


def _fill(model: "Recommender", arrays: Arrays, meta: Mapping[str, Any]) -> None:
    model.data_, model.notes_, model.evaluation_ = meta["data"], meta["notes"], meta["evaluation"]
    n_users, n_items = _shape(meta["shape"])
    labels = decode_ids(arrays, "items")
    if len(labels) != n_items:
        raise ModelFileError(f"it names {len(labels):,} items and says {n_items:,}")
    model.items_, model.titles_ = _ids(labels, "item"), _titles(arrays, labels)
    used = {"items.bytes", "items.offsets", "titles.bytes", "titles.offsets"}
    used |= _restore_history(model, arrays, n_users)
    sizes = {"users": n_users, "items": n_items, None: None}
    for name, dims in {"counts": ("items",), **model.state()}.items():
        if "users" in dims and "users.bytes" not in used:
            continue
        found, parts = _state(arrays, name, [sizes[dim] for dim in dims], kind="i" if name == "counts" else "f")
        setattr(model, name + "_", found)
        used |= parts
    _check_counts(model, n_users, history="users.bytes" in used)
    if set(arrays) - used:
        raise ModelFileError(f"it holds arrays that no {model.NAME} model has: {quoted(sorted(set(arrays) - used))}")


def _shape(shape: list[Any]) -> tuple[int, int]:
    if len(shape) != 2 or not all(type(length) is int and 0 < length <= MOST_USERS for length in shape):
        raise ModelFileError(f"its shape {quoted(shape)} is not a number of users and one of items")
    return shape[0], shape[1]


def _ids(labels: list[str], kind: str) -> Ids:
    if len(set(labels)) != len(labels):
        raise ModelFileError(f"{len(labels) - len(set(labels)):,} of its {kind} ids occur twice")
    return Ids(labels, kind=kind)


def _titles(arrays: Arrays, labels: list[str]) -> dict[str, str]:
    if not {"titles.bytes", "titles.offsets"} & set(arrays):
        return {}
    titles = decode_ids(arrays, "titles")
    if len(titles) != len(labels):
        raise ModelFileError(f"it has {len(titles):,} titles for {len(labels):,} items")
    return {label: title for label, title in zip(labels, titles, strict=True) if title}


def _restore_history(model: "Recommender", arrays: Arrays, n_users: int) -> set[str]:
    """Users and what they met, if the file has them; the names of the arrays they were in."""
    n_items = len(model.items_)
    if "users.bytes" in arrays:
        model.users_ = _ids(decode_ids(arrays, "users"), "user")
        if len(model.users_) != n_users:
            raise ModelFileError(f"it names {len(model.users_):,} users and says {n_users:,}")
        model.train_ = decode_sparse(arrays, "train", (n_users, n_items), values=False)
        return {"users.bytes", "users.offsets", "train.indptr", "train.indices"}
    model.users_ = Ids([], kind="user")
    nothing, starts = np.zeros(0, dtype=np.int32), np.broadcast_to(np.int32(0), n_users + 1)  # one zero, seen as many
    model.train_ = csr_array((nothing.astype(np.float32), nothing, starts), shape=(n_users, n_items))
    return set()


def _state(arrays: Arrays, name: str, shape: list[int | None], *, kind: str) -> tuple[Any, set[str]]:
    """One array or matrix of a model, and the names of the arrays it was in."""
    if f"{name}.indptr" in arrays and len(shape) == 2:
        found = decode_sparse(arrays, name, (int(shape[0] or 0), int(shape[1] or 0)))
        return found, {f"{name}.{part}" for part in ("indptr", "indices", "data")}
    if name not in arrays:
        raise ModelFileError(f"its array {name} is missing")
    found = arrays[name]
    if found.ndim != len(shape) or any(want not in (None, got) for want, got in zip(shape, found.shape, strict=True)):
        raise ModelFileError(f"its array {name} has the wrong shape {found.shape}")
    if found.dtype.kind != kind:
        raise ModelFileError(f"its array {name} has the wrong type {found.dtype}")
    return found, {name}


def _check_counts(model: "Recommender", n_users: int, *, history: bool) -> None:
    counts = model.counts_
    if counts.min() < 0 or counts.max() > n_users:
        raise ModelFileError("its counts are not numbers of users")
    if history and not np.array_equal(counts, np.bincount(model.train_.indices, minlength=len(counts))):
        raise ModelFileError("its counts are not those of its histories")
