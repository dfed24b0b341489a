"""Data files that an exporter, a disk or somebody has damaged: text, packed text, Parquet, JSON, NPZ, Excel, SQLite."""

import bz2
import gzip
import io
import json
import lzma
import sqlite3
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

import corml
from attack import mutate, program
from attack.arena import Unsound

FULL, SHORT = 3_000, 150
PACKED = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
ARCHIVES = ("npz", "xlsx", "zip")  # whose members have checksums
OPTIONS: list[dict[str, Any]] = [
    {}, {}, {}, {"at_least": 3}, {"skip_bad_rows": True}, {"k_core": 2}, {"time": False}, {"header": False},
    {"separator": ";"}, {"rating_strength": True}, {"weight": "rating"}, {"transform": "log1p", "weight": "rating"},
    {"half_life": "30d"}, {"trim": True}, {"allow_expansion": True}, {"encoding": "latin-1"}, {"item_lists": True},
    {"low_ratings": "negative", "at_least": 3}, {"event": "rating", "weights": {"3": 2.0}},
]  # fmt: skip


def prepare(folder: Path) -> dict[str, bytes]:
    """Every format with the same small table."""
    import polars as pl

    rng = np.random.default_rng(0)
    rows = [
        (f"u{rng.integers(12)}", f"i{rng.integers(9)}", int(rng.integers(1, 6)), 1_600_000_000 + 1000 * at)
        for at in range(60)
    ]
    frame = pl.DataFrame(rows, schema=["user", "item", "rating", "time"], orient="row")
    lines = ["user,item,rating,time", *(",".join(map(str, row)) for row in rows)]
    text = "\n".join(lines).encode() + b"\n"
    files = {
        "csv": text,
        "tsv": text.replace(b",", b"\t"),
        "inter": b"user_id:token\titem_id:token\trating:float\ttimestamp:float\n"
        + b"\n".join(b"\t".join(str(value).encode() for value in row) for row in rows),
        "dat": "\n".join("::".join(map(str, row)) for row in rows).encode(),
        "txt": b"\n".join(
            b" ".join([b"%d" % user, *(b"%d" % item for item in range(user % 5 + 1))]) for user in range(9)
        ),
        "jsonl": "\n".join(json.dumps(dict(zip(frame.columns, row, strict=True))) for row in rows).encode(),
        "json": json.dumps([dict(zip(frame.columns, row, strict=True)) for row in rows]).encode(),
    }
    for name, write in (("parquet", frame.write_parquet), ("xlsx", frame.write_excel if _has("xlsxwriter") else None)):
        if write is not None:
            buffer = io.BytesIO()
            write(buffer)
            files[name] = buffer.getvalue()
    buffer = io.BytesIO()
    np.savez(
        buffer, user=np.array([row[0] for row in rows]), item=np.array([row[1] for row in rows]),
        time=np.array([row[3] for row in rows]).astype("datetime64[s]"),
    )  # fmt: skip
    files["npz"] = buffer.getvalue()
    path = folder / "valid.db"
    with sqlite3.connect(path) as base:
        base.execute("create table ratings (user text, item text, rating real, time integer)")
        base.executemany("insert into ratings values (?, ?, ?, ?)", rows)
    base.close()
    files["db"] = path.read_bytes()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ratings.csv", text)
    files["zip"] = buffer.getvalue()
    return files


def _has(package: str) -> bool:
    import importlib.util

    return importlib.util.find_spec(package) is not None


def warm(valid: dict[str, bytes], folder: Path) -> None:
    for ending, data in valid.items():
        (folder / f"warm.{ending}").write_bytes(data)
        for options in OPTIONS:
            try:
                corml.load(folder / f"warm.{ending}", **options)
            except corml.CormlError:
                pass

    for number, kind in enumerate(range(4)):
        place = folder / f"warm-{number}"
        place.mkdir()
        _use(folder / "warm.csv", place, kind, np.random.default_rng(0))


def case(valid: dict[str, bytes], rng: np.random.Generator, folder: Path) -> int:
    """One damaged file, loaded, checked, or made a store of."""
    ending = mutate.choose(rng, valid)
    data, name = valid[ending], f"d.{ending}"
    if rng.random() < 0.9:
        data = _member(rng, data) if ending in ARCHIVES and rng.random() < 0.6 else mutate.raw(rng, data, most=3)
    while ending not in ("parquet", "xlsx", "npz", "db", "zip") and rng.random() < 0.3:
        packing = mutate.choose(rng, PACKED)
        data, name = PACKED[packing](data), name + packing
        if rng.random() < 0.3:
            data = mutate.raw(rng, data, most=2)
    if rng.random() < 0.1:
        name = f"d.{mutate.choose(rng, valid)}"
    path = folder / name
    path.write_bytes(data)
    _use(path, folder, int(rng.integers(10)), rng)
    return 0


def _member(rng: np.random.Generator, data: bytes) -> bytes:
    """An archive with one of its members damaged, and its right checksum; of an array, numbers or type."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        members = {name: archive.read(name) for name in archive.namelist()}
        chosen = mutate.choose(rng, members)
        if chosen.endswith(".npy") and rng.random() < 0.7:
            changed = io.BytesIO()
            np.save(changed, mutate.array(rng, np.load(io.BytesIO(members[chosen]))))
            members[chosen] = changed.getvalue()
        else:
            members[chosen] = mutate.raw(rng, members[chosen], most=2)
        for name, content in members.items():
            packed.writestr(name, content)
    return out.getvalue()


def _use(path: Path, folder: Path, kind: int, rng: np.random.Generator) -> None:
    if kind == 0:
        program.corml("data", "check", str(path))
    elif kind == 1:
        corml.build_store(path, folder / "out.store")
        corml.Store(folder / "out.store", verify=True)
    elif kind == 2:
        corml.load_items(path)
    elif kind == 3:
        program.corml("data", "convert", str(path), str(folder / "out.parquet"))
    else:
        found = corml.load(path, **mutate.choose(rng, OPTIONS))
        found.fingerprint  # noqa: B018
        if found.weights is not None and not np.isfinite(found.weights).all():
            raise Unsound("a weight is not finite")
        if kind == 4 and len(found):
            corml.Popularity().fit(found).recommend(list(found.users)[:2], k=3)
