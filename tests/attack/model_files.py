"""Model files that are not what a save writes, with correct digests: arrays, facts, header, or bytes."""

import contextlib
import json
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import corml
from attack import mutate, program
from attack.arena import Unsound
from attack.targets import rehashed
from attack.variants import fitted_models
from corml import models
from corml.persistence import container
from support import random_interactions

FULL, SHORT = 5_000, 25
SPLIT = "split.corml"


def prepare(folder: Path) -> dict[str, Any]:
    """A valid file of every model, and of a few that hold more than most."""
    data = random_interactions(3, users=30, items=16)
    split = corml.split(data, "ratio", seed=1)
    split.save(folder / SPLIT)
    path, files = folder / "valid.corml", {}
    for name, model in fitted_models(split.train).items():
        evaluation = {}
        if name in models.names():
            result = corml.evaluate(model, split, ["ndcg@5", "coverage@5"])
            evaluation = {"metrics": result.means, "split": split.fingerprint, "part": "test"}
        model.save(path, evaluation=evaluation)
        files[name] = path.read_bytes()
        if name not in ("gf-cf", "updated neural"):  # the one needs its histories; the other is as without updates
            model.save(path, history=False)
            files[f"{name}, no history"] = path.read_bytes()
    data.to_frame().write_csv(folder / "pairs.csv")
    words = ["fit", str(folder / "pairs.csv"), "--split", "ratio", "--set", "rank=4", "--out", str(path), "--force"]
    assert program.corml(*words) == 0
    files["fitted by a command"] = path.read_bytes()  # with what `verify` relies on
    return {"files": files, "names": sorted(files), "split": folder / SPLIT, "pairs": folder / "pairs.csv"}


def warm(valid: dict[str, Any], folder: Path) -> None:
    """Compile what answers take: a case is timed."""
    for name in [*valid["names"], "fitted by a command"]:
        path = folder / "warm.corml"
        path.write_bytes(valid["files"][name])
        for seed in range(12):
            with contextlib.suppress(corml.CormlError):  # not every model answers everything
                ask(path, valid, np.random.default_rng(seed))

    for words in _commands(path, valid):  # the last file, which has all that they rely on
        code = program.corml(*words)
        assert code == 0, words


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
    arrays, meta = dict(ours.arrays), dict(ours.meta)
    kind = int(rng.integers(10))
    if kind == 0:
        return mutate.raw(rng, good)  # and a digest that is wrong
    for _ in range(int(rng.integers(1, 4))):
        if kind == 1:
            meta = _other_setting(rng, meta)
        elif kind <= 3:
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


def _other_setting(rng: np.random.Generator, meta: dict[str, Any]) -> dict[str, Any]:
    """A setting, a number of the plan or of users that a fit could have written, but for its size."""
    numbers = [1e-300, 1e-12, 1e12, 1e300, 0, 1, 2, 10_000, 2**29, 2**31 - 1]
    place = mutate.choose(rng, ["settings", "plan", "shape"])
    if place == "shape" and isinstance(meta.get("shape"), list) and len(meta["shape"]) == 2:
        return {**meta, "shape": [mutate.choose(rng, numbers[4:]), meta["shape"][1]]}
    notes = meta.get("notes") if isinstance(meta.get("notes"), dict) else {}
    facts = meta.get("settings") if place == "settings" else notes.get("plan")
    if not isinstance(facts, dict) or not facts:
        return meta
    facts = {**facts, mutate.choose(rng, facts): mutate.choose(rng, numbers)}
    return {**meta, "settings": facts} if place == "settings" else {**meta, "notes": {**notes, "plan": facts}}


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
        arrays[mutate.choose(rng, ["x", "H.data", "train.seen.indptr", "users.bytes", "link.data", "titles.bytes"])] = (
            arrays[at]
        )


def packed(arrays: dict[str, Any], meta: Any) -> bytes:
    """Bytes of a file that nobody has checked, with arrays of types that no save writes."""
    text = json.dumps(meta, sort_keys=True)
    with mock.patch.dict(container.CODES, OTHER_CODES):
        return b"".join(container.sealed(arrays, f'{{"format": {container.FORMAT}, "facts": {text}}}'))


OTHER_CODES = {"int8": "I8", "int16": "I16", "uint64": "U64", "float16": "F16", "bool": "BOOL", "complex64": "C64"}


def _header(rng: np.random.Generator, data: bytes) -> bytes:
    length = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    facts = header.pop("__metadata__")
    header = mutate.facts(rng, header)
    text = json.dumps({"__metadata__": facts, **(header if isinstance(header, dict) else {})}, separators=(",", ":"))
    padded = text.encode() + b" " * (-len(text.encode()) % 8)  # or its arrays begin at odd places, and no more is seen
    return len(padded).to_bytes(8, "little") + padded + body


# --- questions -------------------------------------------------------------------------------------------------------


def ask(path: Path, valid: dict[str, Any], rng: np.random.Generator) -> None:
    """Read a file and have some of its answers checked."""
    if rng.random() < 0.3:
        _command(path, valid, rng)
        return
    model = corml.read_model(path, mapped=bool(rng.random() < 0.5))
    labels, users = list(model.items_.labels[:3]), list(model.users_.labels[:3])
    check_lists(model.recommend(history=[labels, []], k=5))
    if users:
        seen = mutate.choose(rng, ["exclude", "allow", "only"])
        check_lists(model.recommend([*users, model.users_.labels[-1]], k=5, seen=seen))
    QUESTIONS[int(rng.integers(len(QUESTIONS)))](model, labels, users, path, valid)


def _command(path: Path, valid: dict[str, Any], rng: np.random.Generator) -> None:
    """A command line on the file."""
    program.corml(*mutate.choose(rng, _commands(path, valid)))


def _commands(path: Path, valid: dict[str, Any]) -> list[list[str]]:
    """Commands that read the file, each with a place of its own for what it writes."""
    out = "OUT"
    commands = [
        ["inspect", str(path)], ["inspect", str(path), "--json"], ["verify", str(path)],
        ["evaluate", str(path), "--split", str(valid["split"])], ["export", str(path), "--to", "sqlite", "--out", out],
        ["export", str(path), "--to", "html", "--out", out], ["export", str(path), "--to", "duckdb", "--out", out],
        ["export", str(path), "--to", "parquet", "--lists", "--out", out],
        ["report", str(path), "--split", str(valid["split"]), "--out", out],
        ["recommend", str(path), "--all", "--out", out + "/"],
        ["recommend", str(path), "--history", "i0,i1", "-k", "3"], ["similar", str(path), "i1"],
        ["explain", str(path), "i2", "--history", "i0,i1"], ["update", str(path), str(valid["pairs"]), "--out", out],
    ]  # fmt: skip
    place = str(path.with_name("out"))
    return [[word.replace(out, f"{place}-{at}") for word in words] for at, words in enumerate(commands)]


def _diverse(model: Any, labels: Any, users: Any, path: Path, valid: Any) -> None:
    check_lists(model.recommend(history=[labels], k=5, diversity=0.3, boost={labels[0]: 2.0}))
    if len(model.attributes_.columns):
        check_lists(model.recommend(history=[labels], k=5, only={"genre": ["a"]}, max_per={"genre": 2}, now="now"))


def _again(model: Any, labels: Any, users: Any, path: Path, valid: Any) -> None:
    model.save(path.with_name("again.corml"))
    corml.read_model(path.with_name("again.corml"))
    print(model, model.fitted_.report(), dict(model.settings_))


def _explained(model: Any, labels: Any, users: Any, path: Path, valid: Any) -> None:
    _check(model.scores([labels, labels[:1], []]))
    explanation = model.explain(users[0] if users else labels[:2], labels[-1])
    _check(np.array([explanation.score]))
    print(explanation)


def _far(model: Any, labels: Any, users: Any, path: Path, valid: Any) -> None:
    if hasattr(model, "distance"):
        _check(np.array([model.distance(labels[:2], labels[-1], part=part) for part in ("h", "g")]))
    if hasattr(model, "at"):
        check_lists(model.at(0.7).recommend(history=[labels], k=3))
        check_lists(model.recommend(history=[labels], k=3, novelty=1.0))
    check_lists(model.similar(labels, k=4))


def _alike(model: Any, labels: Any, users: Any, path: Path, valid: Any) -> None:
    found = model.similar_users(users, k=3) if users else model.similar_users(history=[labels], k=3)
    there = np.array([[user is not None for user in row] for row in found.users], dtype=bool)
    _check(found.similarities[there])


def _measured(model: Any, labels: Any, users: Any, path: Path, valid: Any) -> None:
    result = corml.evaluate(model, corml.read_split(valid["split"]), ["ndcg@5"])
    _check(np.array(list(result.means.values())))


def _updated(model: Any, labels: Any, users: Any, path: Path, valid: Any) -> None:
    grown = model.update(random_interactions(8, users=33, items=18, mean=3))
    check_lists(grown.recommend(["u0", "u32"], k=5))
    grown.save(path.with_name("grown.corml"))
    corml.read_model(path.with_name("grown.corml"))


QUESTIONS = (_diverse, _again, _explained, _far, _alike, _measured, _updated)


def check_lists(lists: Any) -> None:
    """Refuse a list with a score that is no number."""
    there = np.array([[item is not None for item in row] for row in lists.items], dtype=bool)
    _check(np.asarray(lists.scores)[there])
    print(lists)


def _check(numbers: Any) -> None:
    if not np.isfinite(np.asarray(numbers, dtype=np.float64)).all():
        raise Unsound(f"an answer is not finite: {np.asarray(numbers).reshape(-1)[:10]}")
