"""Fetch the files of a known data set: resumable, checked, and either whole or not there."""

import http.client
import os
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import corml.data.catalog._checksum as _checksum
import corml.data.catalog._known as _known
from corml._runtime import memory
from corml.data.catalog._known import Known, Remote
from corml.data.formats._files import shown
from corml.errors import DataError, UsageError, ascii_line, printable

Progress = Callable[[int, int | None], object]  # bytes here so far, bytes in all (None where the server does not say)

CHUNK = 1 << 18
TIMEOUT = 30.0  # seconds without a byte
LARGEST = 1 << 33  # bytes; the largest known set has a fifth of a gigabyte
LENGTH = re.compile("[0-9]{1,15}")
LOOPBACK = ("127.0.0.1", "localhost", "::1")
ATTEMPTS = 3  # connections that may break before we give up; what came is kept


def fetch(
    entry: Known | str,
    *,
    folder: str | os.PathLike[str] | None = None,
    address: str | None = None,
    progress: Progress | None = None,
    notify: Callable[[str], object] | None = None,
) -> list[Path]:
    """Make sure the files of a data set are in the data folder, fetching what is missing; returns their paths.

    A broken download continues where it stopped. `address` replaces the original one: a mirror's file, or, ending
    in a slash, a mirror's folder.
    """
    entry = _known.get(entry) if isinstance(entry, str) else entry
    root = Path(folder) if folder is not None else _known.folder()
    paths = _known.present(entry, root)
    if paths:
        return paths
    for file in entry.files:
        if not (root / file.name).is_file():
            _fetch_one(_moved(file, address), root / file.name, progress, notify or _silent)
    return _known.present(entry, root)


def _silent(line: str) -> None:
    pass


def _moved(file: Remote, address: str | None) -> Remote:
    if address is None:
        return file
    return replace(file, address=address + Path(file.name).name if address.endswith("/") else address)


def _fetch_one(file: Remote, target: Path, progress: Progress | None, notify: Callable[[str], object]) -> None:
    if not _is_safe(file.address):
        raise UsageError(
            f"{ascii_line(file.address, 200)} is not a safe web address: it must start with https:// (or be on this "
            "machine), and be in plain letters."
        )
    part = target.with_name(target.name + ".part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        notify(f"downloading {file.address} to {target}")
        _persist(file, part, target, progress)
        _verify(file, part, target, notify)
        os.replace(part, target)
        _tag(part).unlink(missing_ok=True)
    except OSError as fault:
        raise DataError(
            f"Could not write {shown(target)}: {fault.strerror or fault}. {_by_hand(file, target)}"
        ) from fault


def _persist(file: Remote, part: Path, target: Path, progress: Progress | None) -> None:
    """Go on after a broken connection, a few times."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return _transfer(file, part, progress)
        except urllib.error.HTTPError as fault:
            fault.close()
            if fault.code == 416 and part.exists():  # what we have is longer than what there is: begin again
                part.unlink()
                continue
            said = printable(f"{fault.code} {fault.reason}"[:200])
            raise DataError(f"{file.address} answers {said}. {_by_hand(file, target)}") from fault
        except DataError:
            raise
        except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError, ValueError) as fault:
            if attempt == ATTEMPTS:
                reason = printable(str(getattr(fault, "reason", fault))[:200])
                raise DataError(f"Could not fetch {file.address} ({reason}). {_by_hand(file, target)}") from fault
    raise DataError(f"Could not fetch {file.address} whole. {_by_hand(file, target)}")


def _transfer(file: Remote, part: Path, progress: Progress | None) -> None:
    """One connection: the missing bytes if the server can give them, else all."""
    version = _remembered(part)
    have = part.stat().st_size if part.exists() and version else 0
    request = urllib.request.Request(file.address, headers={"User-Agent": "corml", "Accept-Encoding": "identity"})
    if have:
        request.add_header("Range", f"bytes={have}-")
        request.add_header("If-Range", version)
    with _OPENER.open(request, timeout=TIMEOUT) as answer:
        resumed = answer.status == 206 and answer.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        if answer.status == 206 and not resumed:  # another piece than we asked for: ask for the whole next time
            part.unlink(missing_ok=True)
            raise urllib.error.URLError("the server sent the wrong piece")
        done = have if resumed else 0
        length = answer.headers.get("Content-Length") or ""
        total = done + int(length) if LENGTH.fullmatch(length) else None
        _check_size(file, part, max(done, total or 0))
        _remember(part, answer.headers.get("ETag") or answer.headers.get("Last-Modified"))
        with part.open("ab" if resumed else "wb") as out:
            while piece := _piece(answer):
                out.write(piece)
                done += len(piece)
                _check_size(file, part, done)
                if progress is not None:
                    progress(done, total)
            out.flush()
            os.fsync(out.fileno())
    if total is not None and done < total:
        raise http.client.IncompleteRead(b"", total - done)


def _check_size(file: Remote, part: Path, size: int) -> None:
    """Refuse what is too large, and keep nothing of it."""
    if size > LARGEST:
        part.unlink(missing_ok=True)
        _tag(part).unlink(missing_ok=True)
        raise DataError(f"{file.address} is larger than {memory.size(LARGEST)}, as no known data set is: not fetched.")


def _is_safe(address: str) -> bool:
    """Whether nobody on the way can change what is fetched: https, or this machine. Other letters are no address."""
    try:
        parts = urlsplit(address)
        if not (address.isascii() and address.isprintable() and " " not in address):
            return False
        return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)
    except ValueError:
        return False


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to safe addresses only."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        if not _is_safe(newurl) or (req.type == "https" and urlsplit(newurl).scheme != "https"):
            raise DataError(f"{req.full_url} sends on to {ascii_line(newurl, 200)}, which is not https: not fetched.")
        return super().redirect_request(req, fp, code, msg, headers, newurl)

    def http_error_302(self, req: Any, fp: Any, code: int, msg: str, headers: Any) -> Any:
        try:
            return super().http_error_302(req, fp, code, msg, headers)
        except ValueError:  # a refusal of ours, or half an address: the connection is not left open
            fp.close()
            raise

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


_OPENER = urllib.request.build_opener(_SafeRedirects)


def _piece(answer: http.client.HTTPResponse) -> bytes:
    """Read on; what breaks here is the connection, not the disk."""
    try:
        return answer.read(CHUNK)
    except OSError as fault:
        raise urllib.error.URLError(fault) from fault


def _tag(part: Path) -> Path:
    """Where we note which version of the file a part belongs to."""
    return part.with_name(part.name + ".tag")


def _remembered(part: Path) -> str:
    """The version that was noted; nothing where there is no note, or one that no server would have given."""
    try:
        text = _tag(part).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return ""
    return text if text.isprintable() and len(text) <= 200 else ""


def _remember(part: Path, version: str | None) -> None:
    """Without a version there is no safe way to go on, so no note and no resuming. Weak ETags do not count."""
    if version is None or version.startswith("W/"):
        _tag(part).unlink(missing_ok=True)
    else:
        _tag(part).write_text(version, encoding="ascii", errors="replace")


def _verify(file: Remote, part: Path, target: Path, notify: Callable[[str], object]) -> None:
    """Compare what came with what is published, or with what came the first time; what differs is not kept."""
    wanted = _checksum.expected(file, target)
    if wanted is None:
        actual = _checksum.digest(part)
        _checksum.remember(target, actual)
        notify(f"sha256 of {file.name}: {actual} (nothing is published to compare it with; noted beside the file)")
    elif not wanted.fits(part):
        actual = _checksum.digest(part, wanted.algorithm)
        part.unlink()
        _tag(part).unlink(missing_ok=True)
        raise DataError(
            f"{file.address} is not the file it should be: {wanted.algorithm} {actual} instead of {wanted.value}, "
            f"{wanted.origin}. It was removed; try again or another mirror, or put a file you trust there by hand as "
            f"{shown(target)}."
        )


def _by_hand(file: Remote, target: Path) -> str:
    return f"Try again (it goes on where it stopped), or put the file there by hand as {shown(target)}."
