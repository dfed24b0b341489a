"""Small files that grow: layers of packing, constant pages, far cells, views without an end.

The size below which a file may grow as it likes, and the memory that is free, are made small here, so that a case takes
a moment. What a reader takes is then in proportion to them, whatever the file would come to.
"""

import gzip
import io
import json
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import corml
from attack import mutate
from corml._runtime import memory
from corml.data.formats import _guard

FULL, SHORT = 600, 15
HARMLESS = 8 << 20  # bytes that any file may grow to
FREE = 1 << 27  # bytes of memory: what is unpacked may take as much, and so may what is made of it
STORE = 1 << 28  # bytes that a store is made within
Rng = np.random.Generator


def prepare(folder: Path) -> None:
    _guard.BOMB_SIZE = HARMLESS
    memory.budget = lambda: FREE


def warm(valid: None, folder: Path) -> None:
    for number, kind in enumerate(KINDS):
        path = folder / f"warm-{number}.{kind.partition(' ')[0]}"
        KINDS[kind](path, np.random.default_rng(0), 50)
        for use in USES:
            try:
                use(path, folder / f"warm-{number}.store")
            except corml.CormlError:
                pass


def make(valid: None, rng: Rng, folder: Path) -> Path:
    """A table of any number of rows, packed as well as its format can."""
    kind = mutate.choose(rng, KINDS)
    path = folder / f"b.{kind.partition(' ')[0]}"
    KINDS[kind](path, rng, int(10 ** rng.uniform(2, 6.3)))
    while kind in TEXTS and rng.random() < 0.6:
        path = _written(Path(f"{path}.gz"), gzip.compress(path.read_bytes()))
    return path


def case(path: Path, rng: Rng, folder: Path) -> int:
    """Read it in any way."""
    at = int(rng.integers(len(USES)))
    allowed = STORE if at == len(USES) - 1 else 2 * FREE
    try:
        USES[at](path, folder / "out.store")
    except corml.CormlError as refusal:
        refusal.allowed = allowed  # type: ignore[attr-defined]
        raise
    return allowed


# --- what is done with them ------------------------------------------------------------------------------------------


USES: list[Callable[[Path, Path], Any]] = [
    lambda path, store: corml.load(path),
    lambda path, store: corml.load(path, skip_bad_rows=True, at_least=3),
    lambda path, store: corml.load_items(path),
    lambda path, store: corml.load(pl.DataFrame({"user": ["u"], "item": ["i"]}), titles=path),
    lambda path, store: corml.build_store(path, store, memory=STORE),
]


# --- how they grow ---------------------------------------------------------------------------------------------------


def _written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def _text(path: Path, rng: Rng, rows: int) -> None:
    row = mutate.choose(
        rng, [b"u,i,5\n", b"u,i\n", b"\n", b"#\n", b",\n", b"u," + b"i" * 5000 + b",1\n", b'"', b"u,\0,1\n"]
    )
    _written(path, b"user,item,rating\n" + row * min(rows, (1 << 25) // len(row)))


def _json(path: Path, rng: Rng, rows: int) -> None:
    record = mutate.choose(rng, ["{}", '{"user":1,"item":2}', "[]", "0", '{"user":"' + "u" * 2000 + '","item":1}'])
    rows = min(rows, (1 << 25) // len(record))
    _written(path, ("[" + ",".join([record] * rows) + "]").encode())


def _json_lines(path: Path, rng: Rng, rows: int) -> None:
    record = mutate.choose(rng, ["{}", '{"user":1,"item":2}', "1", json.dumps({str(n): n for n in range(300)})])
    _written(path, (record + "\n").encode() * min(rows, (1 << 25) // len(record)))


def _parquet(path: Path, rng: Rng, rows: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    value = mutate.choose(rng, ["u", "u" * 3000, "", None])
    text = (value or "x") * 30
    repeats = min(rows, (1 << 28) // len(text))  # written as it is, where the dictionary is not kept
    shapes: list[Callable[[], Any]] = [
        lambda: pa.array([value] * min(rows, 100_000), pa.string()),
        lambda: pa.DictionaryArray.from_arrays(pa.array(np.zeros(repeats, np.int32)), pa.array([text])),
        lambda: pa.array(np.full(rows, 7)),
        lambda: pa.array([["i"] * 50] * min(rows, 20_000)),
        lambda: pa.array([{"a": "x" * 100}] * min(rows, 20_000)),
        lambda: pa.array(np.zeros(rows), pa.float64()),
    ]
    columns = {name: shapes[int(rng.integers(len(shapes)))]() for name in ("user", "item", "rating")}
    least = min(map(len, columns.values()))
    options: dict[str, Any] = mutate.choose(
        rng,
        [{}, {"use_dictionary": False}, {"use_dictionary": False, "column_encoding": {"user": "DELTA_BYTE_ARRAY"}},
         {"data_page_size": 1 << 24}, {"row_group_size": 1000}],
    )  # fmt: skip
    compression = mutate.choose(rng, ["zstd", "snappy", "gzip", "brotli", "none"])
    if compression in ("zstd", "gzip", "brotli"):
        options = {**options, "compression_level": 1}  # what is measured is how it is read
    table = pa.table({name: column[:least] for name, column in columns.items()})
    try:
        pq.write_table(table, path, compression=compression, **options)
    except (pa.ArrowException, OSError):  # an encoding that is not for such a column
        pq.write_table(table, path, compression=compression)


def _npz(path: Path, rng: Rng, rows: int) -> None:
    kind = mutate.choose(rng, ["<U0", "|S0", "<U1", "|S1", "<i8", "<U4000", "<M8[s]", "|b1", "<f2"])
    width = np.dtype(kind).itemsize
    told = rows * int(10 ** rng.uniform(0, 5)) if rng.random() < 0.5 else rows
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in ("user", "item"):
            head = io.BytesIO()
            np.lib.format.write_array_header_1_0(head, {"descr": kind, "fortran_order": False, "shape": (told,)})
            packed.writestr(f"{name}.npy", head.getvalue() + bytes(min(rows * width, 1 << 25)))


def _excel(path: Path, rng: Rng, rows: int) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["user", "item", "rating"])
    for _ in range(min(rows, 2000)):
        sheet.append(["u" * 1000, "i" * 1000, 1])
    if rng.random() < 0.5:
        sheet.cell(int(10 ** rng.uniform(1, 6)), int(10 ** rng.uniform(0, 4)), "far")
    book.save(path)


def _excel_of_one_text(path: Path, rng: Rng, rows: int) -> None:
    of_one_text(path, "i" * int(10 ** rng.uniform(0, 6)), min(rows, 20_000))


def of_one_text(path: Path, text: str, rows: int) -> Path:
    """A workbook that has a text once, and cells that refer to it."""
    import openpyxl

    plain = io.BytesIO()
    book = openpyxl.Workbook()
    book.active.append(["user", "item"])
    book.save(plain)
    kind = b"application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    part = b'<Override PartName="/xl/sharedStrings.xml" ContentType="' + kind + b'"/></Types>'
    cells = b"".join(
        b'<row r="%d"><c r="A%d"><v>1</v></c><c r="B%d" t="s"><v>0</v></c></row>' % (at, at, at)
        for at in range(2, rows + 2)
    )
    with zipfile.ZipFile(plain) as archive, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in archive.namelist():
            data = archive.read(name)
            if name == "[Content_Types].xml":
                data = data.replace(b"</Types>", part)
            packed.writestr(name, data.replace(b"</sheetData>", cells + b"</sheetData>"))
        space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
        packed.writestr("xl/sharedStrings.xml", f'<sst xmlns="{space}"><si><t>{text}</t></si></sst>')
    return path


def _sqlite(path: Path, rng: Rng, rows: int) -> None:
    item = mutate.choose(rng, ["1", "x", "zeroblob(3000)", "hex(zeroblob(3000))"])
    numbers = f"with recursive n(x) as (select 1 union all select x + 1 from n limit {rows})"
    with sqlite3.connect(path) as base:
        base.execute(f"create view ratings as {numbers} select x as user, {item} as item from n")
    base.close()


def _duckdb(path: Path, rng: Rng, rows: int) -> None:
    import duckdb

    item = mutate.choose(rng, ["1", "range", "repeat('i', 3000)"])
    with duckdb.connect(str(path)) as base:
        base.execute(f"create view ratings as select range as user, {item} as item from range({rows})")


def _zip(path: Path, rng: Rng, rows: int) -> None:
    with zipfile.ZipFile(
        path, "w", mutate.choose(rng, [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    ) as packed:
        inner = b"user,item\n" + b"u,i\n" * min(rows, 1 << 23)
        packed.writestr("ratings.csv", inner) if rng.random() < 0.5 else packed.writestr(
            "ratings.csv.gz", gzip.compress(inner)
        )


KINDS: dict[str, Callable[[Path, Rng, int], None]] = {
    "csv": _text, "json": _json, "jsonl": _json_lines, "parquet": _parquet, "parquet again": _parquet, "npz": _npz,
    "xlsx": _excel, "xlsx of one text": _excel_of_one_text, "sqlite": _sqlite, "duckdb": _duckdb, "zip": _zip,
}  # fmt: skip
TEXTS = ("csv", "json", "jsonl", "zip")
