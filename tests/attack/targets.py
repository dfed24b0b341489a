"""What coverage-guided fuzzing calls, a million times over: three ways in, each on bytes in memory.

A target takes any bytes. It ends with an answer or with a sentence; any other exception is a finding.
"""

import hashlib
import json
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from attack.arena import Unsound
from corml import models
from corml.data._options import Notes, Options
from corml.data.cleaning import _rows
from corml.data.cleaning._pairs import merge
from corml.data.formats import open_table
from corml.data.formats._files import STDIN, File
from corml.errors import CormlError
from corml.persistence import container
from corml.service.endpoint import _encode
from corml.service.operations import TABLE
from corml.service.parsing import from_json, from_query
from corml.service.problems import Refusal
from corml.service.served import Shelf, load

CORPUS = Path(__file__).parent / "corpus"
KINDS = ("csv", "tsv", "inter", "dat", "txt", "jsonl", "json", "npz", "xlsx", "parquet", "csv.gz", "zip", "")
OPTIONS: tuple[dict[str, Any], ...] = (
    {}, {"at_least": 3.0}, {"skip_bad_rows": True}, {"header": False}, {"separator": ";"}, {"weight": "rating"},
    {"null_ids": "drop"}, {"null_ids": "keep", "trim": True}, {"encoding": "latin-1"}, {"item_lists": True},
    {"decimal": ","}, {"event": "rating", "weights": {"3": 2.0}}, {"max_bad_rows": 0.5, "rating": False},
    {"time_format": "%d.%m.%Y"}, {"encoding": "utf-16"},
)  # fmt: skip


def data_reader(data: bytes) -> None:
    """A table: two bytes say of which kind and with which options, the rest is the file."""
    if len(data) < 2:
        return
    kind, given = KINDS[data[0] % len(KINDS)], OPTIONS[data[1] % len(OPTIONS)]
    options, notes = Options(**given), Notes(warner=_check_line)
    try:
        options.require_events()
        file = File(STDIN, given=(data[2:], lambda start: kind), allow_expansion=options.allow_expansion)
        rows = _rows.gather(open_table(file, options, notes), options, notes)
        pairs = merge(rows, len(rows.items), options)
    except CormlError as refusal:
        _check_sentence(refusal)
        return
    if pairs.weights is not None:
        _check_finite(pairs.weights)


def model_loader(data: bytes) -> None:
    """A model file, whose digest is put right, and one list of the model."""
    try:
        model = models.from_contents(container.unpack(rehashed(data)))
        labels = list(model.items_.labels[:2])
        scores = np.asarray(model.scores([labels, []]))
    except CormlError as refusal:
        _check_sentence(refusal)
        return
    _check_finite(scores)


def request_decoder(data: bytes) -> None:
    """A request: a byte says of which operation, the rest is its body or the query of its address.

    From some number on the byte also has the request answered, by a small model with attributes.
    """
    if not data:
        return
    operation = OPERATIONS[data[0] % len(OPERATIONS)]
    try:
        if operation.method == "POST":
            request = from_json(data[1:], _decoder(operation.request))
        else:
            request = from_query(data[1:], operation.request)
        if operation.work is not None and data[0] >= ANSWERED:
            msgspec.json.decode(_encode(operation.work(_shelf(), request)))
    except Refusal as refusal:
        refusal.answer()[0].decode()


TARGETS: dict[str, Callable[[bytes], None]] = {
    "data_reader": data_reader,
    "model_loader": model_loader,
    "request_decoder": request_decoder,
}
ANSWERED = 128
OPERATIONS = [one for one in TABLE if one.request is not None]


@cache
def _shelf() -> Shelf:
    """A model that was kept as a file, as the service has it."""
    shelf = Shelf("m")
    with tempfile.NamedTemporaryFile(suffix=".corml") as file:
        file.write(corpus("model_loader")["seed-attributes"])
        file.flush()
        shelf.put(load("m", file.name))
    return shelf


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def corpus(target: str) -> dict[str, bytes]:
    """The inputs that cover most, by name: the regression tests of a target, and what its fuzzing begins with."""
    with zipfile.ZipFile(CORPUS / f"{target}.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def keep(target: str, inputs: dict[str, bytes]) -> None:
    """Replace the corpus of a target."""
    with zipfile.ZipFile(CORPUS / f"{target}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(inputs):
            archive.writestr(zipfile.ZipInfo(name), inputs[name], zipfile.ZIP_DEFLATED)  # the same bytes each time


def rehashed(data: bytes) -> bytes:
    """The same bytes with the right digest."""
    return data[: -container.SIZE] + hashlib.sha256(data[: -container.SIZE]).digest()


def _check_sentence(refusal: CormlError) -> None:
    _check_line(str(refusal))


def _check_line(line: str) -> None:
    if not line.isprintable() or len(line) > 2000:
        raise Unsound(f"a refusal or a warning cannot be printed: {json.dumps(line)[:300]}")


def _check_finite(numbers: Any) -> None:
    if not np.isfinite(np.asarray(numbers, dtype=np.float64)).all():
        raise Unsound(f"an answer is not finite: {np.asarray(numbers).reshape(-1)[:10]}")
