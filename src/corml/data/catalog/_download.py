"""Fetch the files of a known data set: resumable, checked, and either whole or not there.

A file is compared with its published checksum, else with the one noted beside it when it was first fetched. No library
fits: pooch, for example, neither resumes a download nor limits its size or redirects.
"""

import hashlib
import http.client
import os
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import corml.data.catalog._known as _known
from corml._runtime import memory
from corml.data.catalog._known import Known, Remote
from corml.errors import DataError, UsageError, ascii_line, printable
from corml.persistence.names import shown

Progress = Callable[[int, int | None], object]  # bytes here so far, bytes in all (None where the server does not say)
Notify = Callable[[str], object]

CHUNK = 1 << 18
TIMEOUT = 30.0  # seconds without a byte
LARGEST = 1 << 33  # bytes; the largest known set has a fifth of a gigabyte
LENGTH = re.compile("[0-9]{1,15}")
LOOPBACK = ("127.0.0.1", "localhost", "::1")
ATTEMPTS = 3  # connections that may break before we give up; what came is kept
PUBLISHED = "published"
NOTE = re.compile(r"([0-9a-f]{64}) [ *].*\n?")  # as sha256sum writes it, so that `sha256sum -c` reads ours


def fetch(
    entry: Known | str,
    *,
    folder: str | os.PathLike[str] | None = None,
    address: str | None = None,
    progress: Progress | None = None,
    notify: Notify | None = None,
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
            if address is not None:
                mirror = address + Path(file.name).name if address.endswith("/") else address
                file = replace(file, address=mirror)
            _Download(file, root / file.name, progress or (lambda *_: None)).run(notify or (lambda _: None))
    return _known.present(entry, root)


# --- checksums -------------------------------------------------------------------------------------------------------


class Checksum(NamedTuple):
    """A digest, how it was made, and where it comes from."""

    algorithm: str
    value: str
    origin: str

    def fits(self, path: Path) -> bool:
        """Whether the file has this digest."""
        return digest(path, self.algorithm) == self.value


def digest(path: Path, algorithm: str = "sha256") -> str:
    """Compute the digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.new(algorithm, usedforsecurity=False)).hexdigest()


def expected(file: Remote, target: Path) -> Checksum | None:
    """What the file must have: the strongest checksum that is published, else the one noted beside it; or nothing.

    An md5 shows damage and a wrong file. Somebody who makes two files at once can give them the same md5, so it shows
    tampering less well than a sha256.
    """
    for algorithm, value in (("sha256", file.sha256), ("md5", file.md5)):
        if value is not None:
            return Checksum(algorithm, value, PUBLISHED)
    note = _beside(target, ".sha256")
    try:
        noted = NOTE.fullmatch(note.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return None
    return Checksum("sha256", noted[1], f"noted in {shown(note)} when it first came") if noted else None


# --- one file --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Download:
    file: Remote
    target: Path
    progress: Progress

    @property
    def part(self) -> Path:
        return _beside(self.target, ".part")

    @property
    def tag(self) -> Path:
        """Where the version of the file that a part belongs to is noted."""
        return _beside(self.target, ".part.tag")

    def run(self, notify: Notify) -> None:
        if not _is_safe(self.file.address):
            raise UsageError(
                f"{ascii_line(self.file.address, 200)} is not a safe web address: it must start with https:// (or be "
                "on this machine), and be in plain letters."
            )
        try:
            self.target.parent.mkdir(parents=True, exist_ok=True)
            notify(f"downloading {self.file.address} to {self.target}")
            self._persist()
            self._verify(notify)
            os.replace(self.part, self.target)
            self.tag.unlink(missing_ok=True)
        except OSError as fault:
            raise self._failed(f"Could not write {shown(self.target)}: {fault.strerror or fault}") from fault

    def _failed(self, words: str) -> DataError:
        hint = f"Try again (it resumes where it stopped), or put the file there by hand as {shown(self.target)}."
        return DataError(f"{words}. {hint}")

    def _discard(self) -> None:
        self.part.unlink(missing_ok=True)
        self.tag.unlink(missing_ok=True)

    def _persist(self) -> None:
        """Resume after a broken connection, a few times."""
        address = self.file.address
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._transfer()
            except urllib.error.HTTPError as fault:
                fault.close()
                if fault.code == 416 and self.part.exists():  # what we have is longer than what there is: begin again
                    self.part.unlink()
                    continue
                answer = printable(f"{fault.code} {fault.reason}"[:200])
                raise self._failed(f"{address} answers {answer}") from fault
            except DataError:
                raise
            except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError, ValueError) as e:
                if attempt == ATTEMPTS:
                    reason = printable(str(getattr(e, "reason", e))[:200])
                    raise self._failed(f"Could not fetch {address} ({reason})") from e
        raise self._failed(f"Could not fetch {address} whole")

    def _transfer(self) -> None:
        """One connection: the missing bytes if the server can give them, else all."""
        version = self._noted_version()
        have = self.part.stat().st_size if self.part.exists() and version else 0
        headers = {"User-Agent": "corml", "Accept-Encoding": "identity"}
        if have:
            headers |= {"Range": f"bytes={have}-", "If-Range": version}
        with _OPENER.open(urllib.request.Request(self.file.address, headers=headers), timeout=TIMEOUT) as answer:
            resumed = answer.status == 206 and answer.headers.get("Content-Range", "").startswith(f"bytes {have}-")
            if answer.status == 206 and not resumed:  # another piece than we asked for: ask for the whole next time
                self.part.unlink(missing_ok=True)
                raise urllib.error.URLError("the server sent the wrong piece")
            done = have if resumed else 0
            length = answer.headers.get("Content-Length") or ""
            total = done + int(length) if LENGTH.fullmatch(length) else None
            self._check_size(max(done, total or 0))
            self._note_version(answer.headers.get("ETag") or answer.headers.get("Last-Modified"))
            with self.part.open("ab" if resumed else "wb") as out:
                while piece := _piece(answer):
                    out.write(piece)
                    done += len(piece)
                    self._check_size(done)
                    self.progress(done, total)
                out.flush()
                os.fsync(out.fileno())
        if total is not None and done < total:
            raise http.client.IncompleteRead(b"", total - done)

    def _check_size(self, size: int) -> None:
        """Refuse what is too large, and keep nothing of it."""
        if size > LARGEST:
            self._discard()
            limit = memory.size(LARGEST)
            raise DataError(f"{self.file.address} is larger than {limit}, as no known data set is: not fetched.")

    def _noted_version(self) -> str:
        """The version that was noted; nothing where there is no note, or one that no server would have given."""
        try:
            text = self.tag.read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError):
            return ""
        return text if text.isprintable() and len(text) <= 200 else ""

    def _note_version(self, version: str | None) -> None:
        """Without a version there is no safe way to resume, so there is no note. Weak ETags do not count."""
        if version is None or version.startswith("W/"):
            self.tag.unlink(missing_ok=True)
        else:
            self.tag.write_text(version, encoding="ascii", errors="replace")

    def _verify(self, notify: Notify) -> None:
        """Compare what came with its checksum; what differs is not kept."""
        wanted = expected(self.file, self.target)
        if wanted is None:
            actual = digest(self.part)
            _beside(self.target, ".sha256").write_text(f"{actual}  {self.target.name}\n", encoding="utf-8")
            words = "nothing is published to compare it with; noted beside the file"
            notify(f"sha256 of {self.file.name}: {actual} ({words})")
        elif not wanted.fits(self.part):
            actual = digest(self.part, wanted.algorithm)
            self._discard()
            raise DataError(
                f"{self.file.address} is not the file it should be: {wanted.algorithm} {actual} instead of "
                f"{wanted.value}, {wanted.origin}. It was removed; try again or another mirror, or put a file you "
                f"trust there by hand as {shown(self.target)}."
            )


def _beside(target: Path, ending: str) -> Path:
    return target.with_name(target.name + ending)


def _is_safe(address: str) -> bool:
    """Whether nobody on the way can change what is fetched: https, or this machine, in plain letters."""
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
