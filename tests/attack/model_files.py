"""Model files that are not what a save writes, with correct digests: arrays, facts, header, or bytes."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

import corml
from attack import mutate, program
from attack.arena import Unsound
from corml import models
from corml.settings import declared
from corml.storage import container, tensors
from support import random_interactions, with_weights

FULL, SHORT = 5_000, 120
SPLIT = "split.corml"


def prepare(folder: Path) -> dict[str, Any]:
    """A valid file of every model, and of a few that hold more than most."""
    data = random_interactions(3, users=30, items=16)
    split = corml.split(data, "ratio", seed=1)
    split.save(folder / SPLIT)
    table = {"item": [f"i{at}" for at in range(16)], "genre": ["a", "b"] * 8, "price": [1.0 * at for at in range(16)]}
    fitted: dict[str, Any] = {}
    for name in models.names():
        own = declared(models.get(name))
        settings = {key: value for key, value in {"epochs": 2, "rank": 4, "size": 4}.items() if key in own}
        fitted[name] = models.make(name, settings).fit(split.train)
    fitted["weights"] = corml.CoRML(rank=4).fit(with_weights(data))
    fitted["attributes"] = corml.CoRML(rank=4).fit(data).with_items(_frame(table))
    fitted["updated"] = corml.CoRML(rank=4).fit(data).update(random_interactions(5, users=35, items=16))
    fitted["dense"] = corml.CoRML(rank=4, solver="dense", filter="full").fit(data) if _dense() else fitted["corml"]
    files = {}
    for name, model in fitted.items():
        evaluation = {}
        if name in models.names():
            result = corml.evaluate(model, split, ["ndcg@5", "coverage@5"])
            evaluation = {"metrics": result.means, "split": split.fingerprint, "part": "test"}
        model.save(folder / "valid.corml", history=name != "popularity", evaluation=evaluation)
        files[name] = (folder / "valid.corml").read_bytes()
    return {"files": files, "names": sorted(files), "split": folder / SPLIT}


def _frame(table: dict[str, Any]) -> Any:
    import polars as pl

    return pl.DataFrame(table)


def _dense() -> bool:
    return "dense" in str(declared(corml.CoRML)["solver"].rule.words)


def warm(valid: dict[str, Any], folder: Path) -> None:
    """Compile what answers take: a case is timed."""
    for name in valid["names"]:
        path = folder / "warm.corml"
        path.write_bytes(valid["files"][name])
        for seed in range(8):
            ask(path, valid, np.random.default_rng(seed))


def case(valid: dict[str, Any], rng: np.random.Generator, folder: Path) -> int:
    """One damaged file, read and asked."""
    name = mutate.choose(rng, valid["names"])
    data = damaged(rng, valid["files"][name], valid["files"][mutate.choose(rng, valid["names"])])
    path = folder / "m.corml"
    path.write_bytes(data)
    try:
        ask(path, valid, rng)
    except corml.CormlError as refusal:
        refusal.allowed = 2 * len(data)  # type: ignore[attr-defined]
        raise
    return 2 * len(data)


# --- damage ----------------------------------------------------------------------------------------------------------


def damaged(rng: np.random.Generator, good: bytes, other: bytes) -> bytes:
    """A file with one to three faults, whose digest is right."""
    ours, theirs = (container.unpack(one) for one in (good, other))
    arrays, meta = dict(ours.arrays), {key: value for key, value in ours.meta.items() if key != "format"}
    kind = int(rng.integers(10))
    if kind == 0:
        return mutate.raw(rng, good)  # and a digest that is wrong
    for _ in range(int(rng.integers(1, 4))):
        if kind <= 3:
            meta = mutate.facts(rng, meta)
        elif kind <= 6 and arrays:
            at = mutate.choose(rng, arrays)
            arrays[at] = mutate.array(rng, arrays[at])
        elif kind == 7 and arrays:
            _elsewhere(rng, arrays, dict(theirs.arrays))
        elif kind == 8:
            meta["model"] = mutate.choose(rng, [*models.names(), theirs.meta["model"], "x"])
    data = packed(arrays, meta)
    return rehashed(_header(rng, data)) if kind == 9 else data


def _elsewhere(rng: np.random.Generator, arrays: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Leave one out, take one of another model, or swap two."""
    kind, at = int(rng.integers(4)), mutate.choose(rng, arrays)
    if kind == 0:
        del arrays[at]
    elif kind == 1:
        name = mutate.choose(rng, theirs)
        arrays[name] = theirs[name]
    elif kind == 2:
        other = mutate.choose(rng, arrays)
        arrays[at], arrays[other] = arrays[other], arrays[at]
    else:
        arrays[mutate.choose(rng, ["x", "H.data", "seen.indptr", "users.bytes", "link.data", "titles.bytes"])] = arrays[
            at
        ]


def packed(arrays: dict[str, Any], meta: Any) -> bytes:
    """Bytes of a file that nobody has checked."""
    text = json.dumps(meta, sort_keys=True)
    text = f'{{"format": {container.FORMAT}, "digest": "{container.BLANK}", "facts": {text}}}'
    ordered = tensors.in_order(arrays)
    body = b"".join(array.tobytes() for array in ordered.values())
    return rehashed(tensors.header(ordered, {"corml": text}) + body)


def rehashed(data: bytes) -> bytes:
    """The same with the right digest, where there is a place for one."""
    beginning = container._BEGINNING.match(data)
    if beginning is None or not beginning["digest"]:
        return data
    start, stop = beginning.span("digest")
    blank = data[:start] + container.BLANK.encode() + data[stop:]
    return data[:start] + hashlib.sha256(blank).hexdigest().encode() + data[stop:]


def _header(rng: np.random.Generator, data: bytes) -> bytes:
    length = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    facts = header.pop("__metadata__")
    header = mutate.facts(rng, header)
    text = json.dumps({"__metadata__": facts, **(header if isinstance(header, dict) else {})}, separators=(",", ":"))
    return len(text.encode()).to_bytes(8, "little") + text.encode() + body


# --- questions -------------------------------------------------------------------------------------------------------


def ask(path: Path, valid: dict[str, Any], rng: np.random.Generator) -> None:
    """Read a file and have some of its answers checked."""
    kind = int(rng.integers(8))
    if kind == 0:
        program.corml("inspect", str(path), *(["--json"] if rng.random() < 0.5 else []))
        return
    if kind == 1:
        program.corml("verify", str(path), str(valid["split"]))
        return
    model = corml.read_model(path, mapped=bool(rng.random() < 0.5))
    labels, users = list(model.items.labels[:3]), list(model.users_.labels[:3])
    if kind == 2:
        result = corml.evaluate(model, corml.read_split(valid["split"]), ["ndcg@5"])
        _check(np.array(list(result.means.values())))
        return
    if kind == 3:
        _lists(model.recommend(history=[labels], k=5, diversity=0.3))
        model.save(path.with_name("again.corml"))
        corml.read_model(path.with_name("again.corml"))
        return
    if kind == 4:
        _check(model.scores([labels, labels[:1], []]))
        explanation = model.explain(labels[:2], labels[-1])
        _check(np.array([explanation.score]))
        print(explanation)
        return
    if kind == 5 and hasattr(model, "distance"):
        _check(np.array([model.distance(labels[:2], labels[-1], part=part) for part in ("h", "g")]))
    if kind == 6 and users:
        found = model.similar_users(users, k=3)
        _check(np.array([value for row in found.similarities for value in row if value is not None], dtype=float))
    _lists(model.recommend(history=[labels, []], k=5))
    _lists(model.similar(labels, k=4))
    if users:
        _lists(model.recommend(users, k=5, seen=mutate.choose(rng, ["exclude", "allow", "only"])))


def _lists(lists: Any) -> None:
    there = np.array([[item is not None for item in row] for row in lists.items], dtype=bool)
    _check(np.asarray(lists.scores)[there])
    print(lists)


def _check(numbers: Any) -> None:
    if not np.isfinite(np.asarray(numbers, dtype=np.float64)).all():
        raise Unsound(f"an answer is not finite: {np.asarray(numbers).reshape(-1)[:10]}")
