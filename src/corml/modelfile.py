"""A fitted model as one file: ids, settings, arrays, where the data came from and how good it was."""

import importlib.metadata
import os
import platform
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from corml import files
from corml.container import Contents, decode_ids, decode_sparse, encode_ids, encode_sparse, pack
from corml.errors import ModelFileError
from corml.interactions import Ids
from corml.parallel import threads
from corml.settings import declared

if TYPE_CHECKING:
    from corml.recommender import Recommender

__all__ = ["environment", "restore", "save_model"]

PACKAGES = ("corml", "numpy", "scipy", "numba")

Arrays = Mapping[str, NDArray[Any]]


def save_model(
    model: "Recommender", path: str | os.PathLike[str], *, history: bool, evaluation: Mapping[str, Any] | None
) -> None:
    """Write a fitted model with its ids, settings, provenance and, if wanted, its users' histories."""
    files.target(path)
    arrays = encode_ids("items", model.items_.labels) | {"counts": model.counts_}
    if history:
        arrays |= encode_ids("users", model.users_.labels) | encode_sparse("train", model.train_, values=False)
    if model.titles_:
        arrays |= encode_ids("titles", [model.titles_.get(label, "") for label in model.items_.labels])
    for name in model.STATE:
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
    files.replace(path, pack(arrays, meta))


def environment() -> dict[str, Any]:
    """Versions and threads: with equal data and settings, what decides whether two files are equal."""
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    return {**versions, "python": platform.python_version(), "machine": platform.machine(), "threads": threads()}


def restore(model: "Recommender", contents: Contents) -> "Recommender":
    """Fill an unfitted model with what a file holds, checking that all parts fit together."""
    arrays, meta = contents.arrays, contents.meta
    try:
        n_users, n_items = (int(length) for length in meta["shape"])
        model.data_, model.notes_ = dict(meta["data"]), dict(meta["notes"])
        model.evaluation_ = dict(meta["evaluation"])
    except (KeyError, TypeError, ValueError):
        raise ModelFileError("The model file's header lacks shape, data or notes. Fit again.") from None
    labels = decode_ids(arrays, "items")
    if len(labels) != n_items or len(set(labels)) != n_items:
        raise ModelFileError(f"The model file names {len(set(labels)):,} different items for {n_items:,}. Fit again.")
    model.items_ = Ids(labels)
    model.titles_ = {}
    if "titles.bytes" in arrays:
        titles = decode_ids(arrays, "titles")
        model.titles_ = {label: title for label, title in zip(labels, titles, strict=True) if title}
    _restore_history(model, arrays, n_users)
    sizes = {"users": n_users, "items": n_items}
    for name, dims in {"counts": ("items",), **model.STATE}.items():
        setattr(model, name + "_", _state(arrays, name, [sizes.get(str(dim)) for dim in dims]))
    return model


def _restore_history(model: "Recommender", arrays: Arrays, n_users: int) -> None:
    n_items = len(model.items_)
    if "users.bytes" in arrays:
        model.users_ = Ids(decode_ids(arrays, "users"), kind="user")
        if len(model.users_) != n_users:
            raise ModelFileError(f"The model file names {len(model.users_):,} users for {n_users:,}. Fit again.")
        model.train_ = decode_sparse(arrays, "train", (n_users, n_items))
        return
    model.users_ = Ids([], kind="user")
    model.train_ = csr_array((n_users, n_items), dtype=np.float32)


def _state(arrays: Arrays, name: str, shape: list[int | None]) -> Any:
    if f"{name}.indptr" in arrays:
        return decode_sparse(arrays, name, (int(shape[0] or 0), int(shape[1] or 0)))
    if name not in arrays:
        raise ModelFileError(f"The array {name} is missing from the model file. Fit again.")
    found = arrays[name]
    if found.ndim != len(shape) or any(want not in (None, got) for want, got in zip(shape, found.shape, strict=True)):
        raise ModelFileError(f"The array {name} of the model file has the wrong shape {found.shape}. Fit again.")
    return found
