"""Is this UTF-8 text with lines of a sane length? If not: what it is, and at which byte."""

import codecs

from corml._runtime.memory import size
from corml.errors import DataError

__all__ = ["as_text"]

LONGEST_LINE = 1 << 20
CHUNK = 1 << 24
_WIDE_MARKS = (  # the longer ones first: that of UTF-16 is how that of UTF-32 begins
    *((codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32")),
    *((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")),
)
_WIDE = ((4, 0, "utf-32-le"), (4, 3, "utf-32-be"), (2, 0, "utf-16-le"), (2, 1, "utf-16-be"))
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"PAR1": "Parquet",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"SQLite format 3": "SQLite",
}


def as_text(data: bytes, where: str, encoding: str | None = None) -> bytes:
    """Check bytes that should be text and take a byte-order mark off; text of another encoding becomes UTF-8."""
    for magic, kind in _MAGIC.items():
        if data.startswith(magic):
            raise DataError(f"{where} is not text but a {kind} file: give it the suffix of its kind.")
    data = data if encoding is None else _recoded(data, where, encoding)
    _check_encoding(data, where)
    data = data.removeprefix(codecs.BOM_UTF8)
    _check_lines(data, where)
    return data


def unix_lines(data: bytes) -> bytes:
    """End every line with a line feed alone."""
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def _check_encoding(data: bytes, where: str) -> None:
    wide = _wide(data)
    if wide is not None:
        raise DataError(
            f"{where} is {wide[:6].upper()} (byte offset 0), not UTF-8: save it as UTF-8, "
            f"or pass encoding='{wide}' (--encoding {wide})."
        )
    zero = data.find(b"\0")
    if zero >= 0:
        raise DataError(f"{where} has a NUL byte at byte offset {zero:,}: it is damaged, or not text.")
    if data.isascii():
        return
    bad = _first_not_utf8(data)
    if bad is not None:
        raise DataError(
            f"{where} is not UTF-8: byte 0x{data[bad]:02X} at byte offset {bad:,}, "
            f"probably {_guess(data[bad])}; save it as UTF-8, or pass {_codec(data[bad])}."
        )


def _wide(data: bytes) -> str | None:
    """The encoding of text with two or four bytes for each character: by its first bytes, else by where zeros stand."""
    for mark, encoding in _WIDE_MARKS:
        if data.startswith(mark):
            return encoding
    start = data[:200]
    if len(start) < 4:
        return None
    return next((name for width, at, name in _WIDE if _only_there(start, width, at)), None)


def _only_there(data: bytes, width: int, at: int) -> bool:
    """Whether of each so many bytes only one is not zero."""
    return all(not any(data[place::width]) for place in range(width) if place != at)


def _first_not_utf8(data: bytes) -> int | None:
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(data), CHUNK):
        pending = len(decoder.getstate()[0])  # the first bytes of a character that began in the last piece
        try:
            decoder.decode(data[start : start + CHUNK], final=start + CHUNK >= len(data))
        except UnicodeDecodeError as fault:
            return start - pending + fault.start
    return None


def _guess(byte: int) -> str:
    return "Windows-1252" if 0x80 <= byte < 0xA0 else "Latin-1 (ISO-8859-1)"


def _codec(byte: int) -> str:
    name = "cp1252" if 0x80 <= byte < 0xA0 else "latin-1"
    return f"encoding='{name}' (--encoding {name})"


def _recoded(data: bytes, where: str, encoding: str) -> bytes:
    try:
        return data.decode(encoding).encode()
    except UnicodeError as fault:
        at = f" at byte offset {fault.start:,}" if isinstance(fault, UnicodeDecodeError) else ""
        raise DataError(f"{where} is not {encoding}{at}: give the encoding it has.") from fault


def _check_lines(data: bytes, where: str) -> None:
    """Hop from line end to line end, as far as the cap allows each time."""
    start = 0
    while len(data) - start > LONGEST_LINE:
        stop = start + LONGEST_LINE + 1
        end = max(data.rfind(b"\n", start, stop), data.rfind(b"\r", start, stop))
        if end < 0:
            line = data.count(b"\n", 0, start) + 1
            raise DataError(
                f"{where}, line {line:,} is longer than {size(LONGEST_LINE)}: is a line end or quote missing?"
            )
        start = end + 1
