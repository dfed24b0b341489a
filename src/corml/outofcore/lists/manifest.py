"""The manifest of a folder of lists: what was requested of which model, and which shards are finished."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from corml.errors import UsageError, ascii_line
from corml.outofcore.lists.request import difference
from corml.persistence import atomic

NAME = "manifest.json"
FORMAT = 1
CONTENTS = "lists"
BLOCK = 1 << 22  # bytes of a shard that are hashed at a time


@dataclass(frozen=True)
class Part:
    """A finished shard: its file, and what identifies its contents."""

    file: str
    users: int
    rows: int
    with_reason: int  # lists that are short or not personal
    bytes: int
    sha256: str

    def is_whole(self, folder: Path) -> bool:
        """Whether the file is there as it was written."""
        try:
            with open(folder / self.file, "rb") as file:
                if os.fstat(file.fileno()).st_size != self.bytes:
                    return False
                digest = hashlib.sha256()
                while block := file.read(BLOCK):
                    digest.update(block)
        except OSError:
            return False
        return digest.hexdigest() == self.sha256


@dataclass(eq=False)
class Manifest:
    """What is in a folder. `now`, where the request says "now", is the moment at which the first run began."""

    folder: Path
    request: Mapping[str, Any]
    users_per_part: int
    now: str | None = None
    finished: dict[str, Part] = field(default_factory=dict)

    @property
    def files(self) -> list[str]:
        """Names of all shards, in the order of their users."""
        count = -(-int(self.request["users"]["count"]) // self.users_per_part)
        return [f"part-{number:05}.parquet" for number in range(count)]

    def missing(self) -> list[tuple[str, int, int]]:
        """Shards that are not finished: the file, and its users from the first to before the last."""
        size, users = self.users_per_part, int(self.request["users"]["count"])
        numbered = ((file, at * size, min((at + 1) * size, users)) for at, file in enumerate(self.files))
        return [one for one in numbered if one[0] not in self.finished]

    def resume(self) -> None:
        """Take over what an earlier run finished here; refuse a folder that has anything else in it."""
        name, there = ascii_line(self.folder, 200), _read(self.folder)
        others = {one for one in os.listdir(self.folder) if not one.startswith(".")} - {NAME}
        if there is None:
            if others:
                raise UsageError(f"{name} has other files and no {NAME} of lists: choose a new or an empty folder.")
            self.save()
            return
        if {key: there.get(key) for key in self._facts()} != self._facts():
            raise UsageError(
                f"{name} has lists {difference(there, self.request)}: choose another folder, or remove it."
            )
        foreign = {one for one in others if one.endswith(".parquet")} - set(self.files)
        if foreign:
            other = ascii_line(min(foreign), 200)
            raise UsageError(
                f"{other} in {name} is not a shard of these lists: move it away, or choose another folder."
            )
        try:
            self.now = there.get("now")
            self.finished = {one["file"]: Part(**one) for one in there["parts"] if one["file"] in self.files}
        except (KeyError, TypeError):
            raise UsageError(f"{NAME} in {name} cannot be read: choose another folder, or remove it.") from None

    def add(self, part: Part) -> None:
        """Record a finished shard."""
        self.finished[part.file] = part
        self.save()

    def save(self) -> None:
        """Write it, shards in their order: the same facts are the same bytes."""
        parts = [asdict(self.finished[file]) for file in self.files if file in self.finished]
        moment = {} if self.now is None else {"now": self.now}
        facts = {**self._facts(), **moment, "complete": len(parts) == len(self.files), "parts": parts}
        atomic.replace(self.folder / NAME, (json.dumps(facts, indent=1, ensure_ascii=False) + "\n").encode())

    def _facts(self) -> dict[str, Any]:
        return {"format": FORMAT, "contents": CONTENTS, **self.request, "users_per_part": self.users_per_part}


def _read(folder: Path) -> dict[str, Any] | None:
    """What a manifest says; None where there is none."""
    try:
        facts = json.loads((folder / NAME).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        facts = None
    known = isinstance(facts, dict) and facts.get("contents") == CONTENTS and isinstance(facts.get("parts"), list)
    if not known or facts.get("format") != FORMAT:
        raise UsageError(
            f"{ascii_line(folder, 200)} has a {NAME} that is not one of lists in shards: choose another folder."
        )
    return dict(facts)
