"""Damage to values, arrays and bytes, by a random number generator."""

import copy
import json
from contextlib import suppress
from typing import Any

import numpy as np

DEEP = json.loads("[" * 60 + "]" * 60)
VALUES: list[Any] = [
    None, True, False, -1, 0, 1, 2, 3.5, 2**31 - 1, 2**31, 2**63, 2**64, -(2**63), 1e308, -1e308, 1e-320, 10**40,
    float("nan"), float("inf"), "", "x", "x" * 5000, "\x1b[31m", "\x9b", "\ud800", "nan", "1e999", "../../x", "\0",
    [], {}, [1, 2], [[]], {"a": {}}, {"": None}, DEEP, [0] * 1000, {str(at): at for at in range(300)},
]  # fmt: skip
NUMBERS = [0.0, -1.0, 1.0, 1e30, -1e30, 3e38, -3e38, 1e-38, 1e-45, 0.5, 1e300, np.nan, np.inf, -np.inf]
WHOLE = [-1, 0, 1, 2, 2**31 - 1, -(2**31), 2**40, -(2**63), 2**63 - 1, 7, 1000]
TYPES = ["uint8", "int8", "int16", "int32", "int64", "uint64", "float16", "float32", "float64", "bool", "complex64"]


def choose(rng: np.random.Generator, options: Any) -> Any:
    options = list(options)
    return options[int(rng.integers(len(options)))]


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in plain facts, below the whole."""
    found: list[tuple[Any, ...]] = []
    inner = value.items() if isinstance(value, dict) else enumerate(value[:20]) if isinstance(value, list) else ()
    for key, one in inner:
        found += [(*path, key), *paths(one, (*path, key))]
    return found


def facts(rng: np.random.Generator, value: Any) -> Any:
    """Plain facts with one of them replaced, left out, moved or added."""
    value = copy.deepcopy(value)
    places = paths(value)
    if not places:
        return choose(rng, VALUES)
    path = choose(rng, places)
    holder = value
    for key in path[:-1]:
        holder = holder[key]
    kind = int(rng.integers(6))
    if kind <= 2:
        holder[path[-1]] = choose(rng, VALUES)
    elif kind == 3:
        del holder[path[-1]]
    elif kind == 4:
        other: Any = value
        for key in choose(rng, places):
            other = other[key]
        holder[path[-1]] = copy.deepcopy(other)
    elif isinstance(holder, dict):
        holder[choose(rng, ["x", "", "a" * 300, "indptr", "route", *map(str, holder)])] = choose(rng, VALUES)
    else:
        holder.append(choose(rng, VALUES))
    return value


def array(rng: np.random.Generator, given: np.ndarray) -> np.ndarray:
    """An array of another type, shape, length or content."""
    made = np.array(given)
    kind = int(rng.integers(9))
    with np.errstate(all="ignore"):
        if kind == 0:
            with suppress(ValueError):  # texts are no numbers
                return made.astype(choose(rng, TYPES))
        if kind == 1:
            return made.reshape(-1) if made.ndim > 1 else made[None]
        if kind == 2:
            return made[: int(rng.integers(len(made) + 1))] if made.ndim else made
        if kind == 3:
            return np.concatenate([made, made[:1]]) if made.ndim and len(made) else made
        if kind == 4:
            return made.T.copy() if made.ndim != 1 else made[::-1].copy()
        if kind == 5:
            return np.zeros_like(made)
        if kind == 6 and made.dtype.kind == "f" and rng.random() < 0.5:
            return np.full_like(made, choose(rng, [9e11, -9e11, 1e12, 1e9]))  # what is just about read
        if kind == 6 and made.dtype.kind == "f":
            return made * made.dtype.type(choose(rng, [1e20, -1.0, 1e38, 1e-40, 0.0]))
        if not made.size:
            return made
        flat = made.reshape(-1)
        for at in rng.integers(0, len(flat), 1 if kind < 8 else 5):
            if flat.dtype.kind == "f":
                flat[at] = choose(rng, NUMBERS)
            else:
                number = choose(rng, WHOLE)
                flat[at] = np.array(number).astype(flat.dtype)
    return made


def raw(rng: np.random.Generator, data: bytes, *, most: int = 8) -> bytes:
    """Bytes with some of them changed, removed, repeated, or with others put in."""
    made = bytearray(data)
    for _ in range(int(rng.integers(1, most + 1))):
        at, length = int(rng.integers(len(made) + 1)), int(rng.integers(1, 40))
        kind = int(rng.integers(6))
        if kind == 0 and at < len(made):
            made[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            del made[at : at + length]
        elif kind == 2:
            made[at:at] = rng.bytes(length)
        elif kind == 3:
            made[at:at] = made[at : at + length] * int(rng.integers(1, 5))
        elif kind == 4:
            made[at:at] = choose(rng, ODD)
        else:
            made[at : at + length] = bytes(min(length, max(len(made) - at, 0)))
    return bytes(made)


ODD = [
    b"\xef\xbb\xbf", b"\xff\xfe", b"\0", b"\x1b[31m", b"\xed\xa0\x80", b"\xc2\x9b", b'"', b"'", b",", b"\t", b"\r",
    b"\r\n", b"\n\n", b"#", b"nan", b"NULL", b"1e999", b"-1", b"9" * 400, b"{" * 50, b"[" * 50, b"\\u0000", b"::",
    b"=", b"a" * 3000, b"\xf0\x9f\x98\x80", b"\x80", b"PK\3\4", b"\x1f\x8b\x08", b"%PDF", b"<html>",
]  # fmt: skip
