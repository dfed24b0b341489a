"""Names of files to write: where a symbolic link leads, for the link stays a link, and names beside another."""

import hashlib
import os
import stat
from pathlib import Path

from corml.errors import DataError, ascii_line

LONGEST = 200  # bytes of a name beside which there is room for another with some more; systems allow 255
LONGEST_CHAIN = 40  # links, as in Linux
PROCESSES = "/proc"  # links there are open files of processes, whatever name they show

Name = str | os.PathLike[str]


def followed(path: Path) -> Path:
    """The end of a chain of links: a file, a folder, or a name where nothing is yet; what is no link stays as it is."""
    end = path
    for _ in range(LONGEST_CHAIN):
        if not os.path.islink(end):
            return end
        try:
            _check_link(end, path)
            end = end.parent / os.readlink(end)
        except OSError as fault:
            raise DataError(f"Cannot write {shown(path)}: {reason(fault)}.") from fault
    raise DataError(f"Cannot write {shown(path)}: its symbolic links lead in a circle. Choose another name.")


def _check_link(link: Path, given: Path) -> None:
    if Path(os.path.realpath(link.parent)).is_relative_to(PROCESSES):
        raise DataError(
            f"{shown(given)} is an open stream of a process, not a file: give the name of a file, or - where the "
            "command can print what it writes."
        )
    about, folder = os.lstat(link), os.stat(link.parent)
    shared = folder.st_mode & stat.S_ISVTX and folder.st_mode & stat.S_IWOTH
    if shared and hasattr(os, "geteuid") and about.st_uid not in (os.geteuid(), folder.st_uid):
        raise DataError(  # anybody can make a link in such a folder, to have a file of ours overwritten
            f"{shown(given)} is a symbolic link of another user in a folder that all can write to: choose another name."
        )


def stem(path: Path) -> str:
    """What hidden names beside a file begin with: its name or, where theirs would be too long, a hash of it."""
    name = os.fsencode(path.name)
    return path.name if len(name) <= LONGEST else hashlib.sha256(name).hexdigest()


def shown(path: Name) -> str:
    """A path as messages show it."""
    return ascii_line(path, 200)


def reason(fault: OSError | ValueError) -> object:
    """What the system says about a fault."""
    return getattr(fault, "strerror", None) or fault
