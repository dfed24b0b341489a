"""Streams of UTF-8 text in pieces of whole lines; anything else is named, with the byte where it begins."""

import codecs
from collections.abc import Iterator

from corml._runtime.memory import size
from corml.data.formats._files import File
from corml.errors import DataError

LONGEST_LINE = 1 << 20
_WIDE_MARKS = (  # the longer ones first: the mark of UTF-32 begins with that of UTF-16
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


def text_pieces(file: File, encoding: str | None = None, about: int = 1 << 25) -> Iterator[bytes]:
    """UTF-8 text without byte-order mark, in pieces of whole lines of about so many bytes."""
    held, before = b"", 0
    for chunk in _utf8(file, encoding, about):
        held = held + chunk if held else chunk
        end = max(held.rfind(b"\n"), held.rfind(b"\r", 0, -1)) + 1
        piece = held[:end] if end else held
        if (long := _long_line(piece)) is not None:
            line = _line_at(_utf8(file, encoding, about), before + long)
            raise DataError(
                f"{file.where}, line {line:,} is longer than {size(LONGEST_LINE)}: is a line end or quote missing?"
            )
        if end:
            held = held[end:]
            before += end
            yield piece
    if held:
        yield held


def whole_text(file: File, encoding: str | None = None) -> str:
    """All the text of a file, if it fits into memory."""
    file.budget.require(file.size)
    taken, pieces = 0, []
    for piece in text_pieces(file, encoding, 1 << 20):
        taken += len(piece)
        file.budget.grow(taken, len(piece))
        pieces.append(piece)
    return b"".join(pieces).decode()


def unix_lines(data: bytes) -> bytes:
    """End every line with a line feed alone."""
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def _utf8(file: File, encoding: str | None, about: int) -> Iterator[bytes]:
    """The bytes of a file, checked to be UTF-8 text; text of another encoding becomes UTF-8."""
    decoder = codecs.getincrementaldecoder(encoding or "utf-8")()
    taken = 0
    for number, chunk in enumerate(_and_end(file.chunks(about))):
        if not number:
            _check_start(chunk, file.where, encoding)
        pending = len(decoder.getstate()[0])  # the first bytes of a character that began in the last chunk
        if encoding is None and not pending and chunk.isascii():
            text = chunk
        else:
            try:
                decoded = decoder.decode(chunk, final=not chunk)
            except UnicodeError as fault:
                _refuse(fault, taken - pending, file.where, encoding)
            text = decoded.encode("utf-8", "strict" if encoding is None else "surrogatepass")
        zero = text.find(b"\0")
        if zero >= 0:
            raise DataError(f"{file.where} has a NUL byte at byte offset {taken + zero:,}: it is damaged, or not text.")
        taken += len(chunk)
        yield text.removeprefix(codecs.BOM_UTF8) if not number else text


def _and_end(chunks: Iterator[bytes]) -> Iterator[bytes]:
    yield from chunks
    yield b""


def _check_start(start: bytes, where: str, encoding: str | None) -> None:
    for magic, kind in _MAGIC.items():
        if start.startswith(magic):
            raise DataError(f"{where} is not text but a {kind} file: give it the suffix of its kind.")
    wide = _wide(start) if encoding is None else None
    if wide is not None:
        raise DataError(
            f"{where} is {wide[:6].upper()} (byte offset 0), not UTF-8: save it as UTF-8, "
            f"or pass encoding='{wide}' (--encoding {wide})."
        )


def _wide(data: bytes) -> str | None:
    """The encoding of text with two or four bytes for each character: by its mark, else by where zeros stand."""
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


def _refuse(fault: UnicodeError, before: int, where: str, encoding: str | None) -> None:
    at = before + fault.start if isinstance(fault, UnicodeDecodeError) else 0
    if encoding is not None:
        offset = f" at byte offset {at:,}" if isinstance(fault, UnicodeDecodeError) else ""
        raise DataError(f"{where} is not {encoding}{offset}: give the encoding it has.") from fault
    assert isinstance(fault, UnicodeDecodeError)
    byte = fault.object[fault.start]
    guess, codec = ("Windows-1252", "cp1252") if 0x80 <= byte < 0xA0 else ("Latin-1 (ISO-8859-1)", "latin-1")
    raise DataError(
        f"{where} is not UTF-8: byte 0x{byte:02X} at byte offset {at:,}, probably {guess}; save it as UTF-8, "
        f"or pass encoding='{codec}' (--encoding {codec})."
    ) from fault


def _long_line(data: bytes) -> int | None:
    """Where a line begins that is too long: hop from line end to line end, as far as the limit allows each time."""
    start = 0
    while len(data) - start > LONGEST_LINE:
        stop = start + LONGEST_LINE + 1
        end = max(data.rfind(b"\n", start, stop), data.rfind(b"\r", start, stop))
        if end < 0:
            return start
        start = end + 1
    return None


def _line_at(chunks: Iterator[bytes], offset: int) -> int:
    """The number of the line at a byte of the text."""
    line = 1
    for chunk in chunks:
        line += chunk.count(b"\n", 0, offset)
        offset -= len(chunk)
        if offset <= 0:
            break
    return line
