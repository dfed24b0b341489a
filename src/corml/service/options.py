"""How a service runs: checked once, before anything listens."""

import ipaddress
import math
import os
import re
import stat
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from corml._runtime.parallel import threads
from corml.errors import DataError, UsageError, ascii_line

__all__ = ["NAME", "Options", "is_loopback", "named_files", "origins", "read_token"]

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"  # of a model, and of a file that the admin may name: never a path
HOST = r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]"  # in the header Host, without a port
ORIGIN = rf"https?://({HOST})(:\d{{1,5}})?"
SHORTEST_TOKEN = 32  # characters
LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, kw_only=True)
class Options:
    """What can be chosen; secrets are not shown when it is printed."""

    models: dict[str, str]  # name: path of its file; the first is the default
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    threads: int = 1  # of each worker
    token: str | None = field(default=None, repr=False)
    admin_token: str | None = field(default=None, repr=False)
    hosts: tuple[str, ...] = ()  # names in the header Host that are answered; none: all
    cors: tuple[str, ...] = ()  # origins, as a browser names them, whose pages may call
    log: str = "plain"
    docs: bool = True
    in_flight: int = 64  # requests that are worked on or wait for it, of each worker; twice as many before a refusal
    rate: float | None = None  # requests per second of one address
    timeout: float = 5.0  # seconds of a request, and for its headers and body to arrive
    keep_alive: float = 5.0
    drain: float = 1.0  # seconds between «not ready» and the end of listening
    stop: float = 8.0  # seconds that requests have to finish afterwards
    connections: int = 1000  # open at a time, of each worker
    body: int = 64 << 10  # bytes
    batch_body: int = 1 << 20

    def __post_init__(self) -> None:
        if not self.models:
            raise UsageError("Name at least one model file: corml serve MODEL.")
        self._check_address()
        for name in ("timeout", "keep_alive", "in_flight", "connections", "body", "batch_body", "stop"):
            if not 0 < getattr(self, name) < math.inf:
                raise UsageError(f"{name} (--{name.replace('_', '-')}) must be above 0, and finite.")
        if self.rate is not None and not 0 < self.rate < math.inf:
            raise UsageError("rate (--rate) must be above 0 and finite, or left out.")
        if self.log not in ("plain", "json"):
            raise UsageError(f"log (--log) must be plain or json; got {ascii_line(self.log)}.")

    def _check_address(self) -> None:
        if not 0 <= self.port <= 65535:
            raise UsageError(f"port (--port) must be from 0 to 65535; got {self.port}.")
        for host in self.hosts:
            if not re.fullmatch(HOST, host):
                raise UsageError(
                    f"No caller can name {ascii_line(host)} (--allow-host): write a name or an address without its "
                    "port, as shop.example or [::1]."
                )
        for origin in self.cors:
            if not re.fullmatch(ORIGIN, origin):
                raise UsageError(
                    f"Invalid origin {ascii_line(origin)} (--cors): write each one in full and without a path, as "
                    "https://shop.example or http://localhost:3000. There is no wildcard."
                )
        if not is_loopback(self.host) and self.token is None:
            raise UsageError(
                f"Anyone could call {ascii_line(self.host)}: give --token-file FILE or set CORML_TOKEN, or leave "
                "--host out to serve this machine alone."
            )

    def check_processors(self) -> None:
        """Refuse more threads than there are processors; not for a worker, which may use its share alone."""
        if self.workers < 1 or self.threads < 1:
            raise UsageError("workers (--workers) and threads (--threads) must be 1 or more.")
        if self.workers * self.threads > threads():
            raise UsageError(
                f"{self.workers} workers with {self.threads} threads need more than the {threads()} processors there "
                "are, and would wait for each other: lower workers (--workers) or threads (--threads)."
            )

    @property
    def answered_hosts(self) -> frozenset[str]:
        """Names that are answered; this machine's own where nothing else was said and only it can call."""
        if self.hosts or not is_loopback(self.host):
            return frozenset(host.lower() for host in self.hosts)
        return frozenset((*LOCAL_HOSTS, self.host.lower(), f"[{self.host.lower()}]"))

    def plain(self) -> dict[str, Any]:
        """As JSON has it, for a worker."""
        return asdict(self)

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Self:
        """Back from JSON."""
        known = {spec.name for spec in fields(cls)}
        listed = {name: tuple(plain[name]) for name in ("hosts", "cors")}
        return cls(**{name: value for name, value in plain.items() if name in known} | listed)


def is_loopback(host: str) -> bool:
    """Whether only this machine can call an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def named_files(given: list[str]) -> dict[str, str]:
    """Files by name: `movies.corml`, `shop=old/model.corml`, or a folder with all its .corml files."""
    named: dict[str, str] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not (equals and re.fullmatch(NAME, name)):
            name, path = "", text
        if os.path.isdir(path):
            found = sorted(Path(path).glob("*.corml"), key=lambda one: one.stem)
            if name or not found:
                raise UsageError(f"{ascii_line(path, 200)} is a folder {'with a name' if name else 'without models'}.")
            pairs = [(one.stem, str(one)) for one in found]
        else:
            pairs = [(name or Path(path).stem, path)]
        for key, file in pairs:
            _add(named, key, file)
    return named


def _add(named: dict[str, str], name: str, path: str) -> None:
    if not re.fullmatch(NAME, name):
        raise UsageError(f"{ascii_line(name)} cannot be the name of a model in an API: write NAME={ascii_line(path)}.")
    if name in named:
        raise UsageError(f"Two models have the name {name}: write NAME=FILE to tell them apart.")
    named[name] = os.path.abspath(path)


def origins(given: list[str]) -> tuple[str, ...]:
    """Origins of a command line, some maybe separated by commas, as browsers write them."""
    named = (one.strip().lower() for text in given for one in text.split(","))
    return tuple(re.sub("^(http://.*):80$|^(https://.*):443$", r"\1\2", one) for one in named)


def read_token(path: str | None, variable: str) -> str | None:
    """A secret from a file or else the environment, never from the command line, which others can see."""
    if path is None:
        token = os.environ.get(variable, "")
    else:
        try:
            with open(path, encoding="utf-8") as file:
                if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o022:
                    raise UsageError(f"Others may write to {ascii_line(path, 200)}: chmod 600 it.")
                token = file.read().strip()
        except (OSError, UnicodeDecodeError) as fault:
            reason = getattr(fault, "strerror", None) or "it is not text"
            raise DataError(f"Cannot read the token in {ascii_line(path, 200)}: {reason}.") from None
    if not token and path is None:
        return None
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError(
            f"A token has {SHORTEST_TOKEN} or more printable ASCII characters and no space: make one with "
            'python -c "import secrets; print(secrets.token_urlsafe(32))".'
        )
    return token
