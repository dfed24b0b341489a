"""A file is the old one or the new one; nothing is left beside it."""

import errno
import fcntl
import os
import socket
import stat
import threading

import pytest

from corml.errors import DataError
from corml.persistence import atomic, locks

STRAY = ".m.corml.0123456789abcdef.tmp"


@pytest.fixture
def path(tmp_path):
    made = tmp_path / "m.corml"
    made.write_bytes(b"old")
    return made


def names(path):
    return sorted(os.listdir(path.parent))


def test_a_save_makes_the_file_and_nothing_else(tmp_path, monkeypatch):
    atomic.replace(tmp_path / "new", b"one, ", memoryview(b"two, "), b"", memoryview(b"three   ").cast("i"))
    assert (tmp_path / "new").read_bytes() == b"one, two, three   "
    monkeypatch.setattr(atomic, "CHUNK", 7)  # more than a chunk is written whole
    atomic.replace(tmp_path / "new", bytes(range(256)))
    assert (tmp_path / "new").read_bytes() == bytes(range(256))
    assert os.listdir(tmp_path) == ["new"]


def test_a_save_replaces_the_file_and_does_not_write_into_it(path):
    with path.open("rb") as reader:
        atomic.replace(path, b"new")
        assert reader.read() == b"old"
    assert path.read_bytes() == b"new"


# --- permissions -----------------------------------------------------------------------------------------------------


def test_a_new_file_follows_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        atomic.replace(tmp_path / "new", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_a_private_file_stays_private(path, mode):
    path.chmod(mode)
    atomic.replace(path, b"new")
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_private_file_is_never_readable_to_others_while_it_is_written(path, monkeypatch):
    path.chmod(0o600)
    seen = []
    monkeypatch.setattr(atomic, "_fill", lambda handle, parts: seen.append(stat.S_IMODE(os.fstat(handle).st_mode)))
    atomic.replace(path, b"new")
    assert seen == [0o600]


# --- symbolic links --------------------------------------------------------------------------------------------------


def link(path, leads):
    path.symlink_to(leads)
    return path


def test_a_link_stays_and_the_file_it_leads_to_is_replaced(path):
    path.chmod(0o640)
    given = link(path.with_name("link"), path)
    atomic.replace(given, b"new")
    assert (path.read_bytes(), given.is_symlink(), path.is_symlink()) == (b"new", True, False)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_chain_of_links_is_followed_to_its_end_in_another_folder(path):
    (path.parent / "deep").mkdir()
    link(path.parent / "deep" / "one", "../m.corml")
    given = link(path.with_name("two"), "deep/one")
    atomic.replace(given, b"new")
    assert path.read_bytes() == b"new"
    assert os.readlink(given) == "deep/one"
    assert os.listdir(path.parent / "deep") == ["one"]


def test_where_a_link_leads_to_no_file_yet_the_file_is_made(tmp_path):
    given = link(tmp_path / "link", tmp_path / "later")
    assert atomic.writable(given) == tmp_path / "later"
    atomic.replace(given, b"new")
    assert (tmp_path / "later").read_bytes() == b"new"
    assert given.is_symlink()


@pytest.mark.parametrize(
    ("leads", "said"),
    [
        ("null", "is a device, a pipe or a socket"),
        ("folder", "is a folder"),
        ("odd", "its symbolic links lead in a circle"),
        ("none/file", "'.*none' does not exist: create it first"),
        ("/proc/self/fd/1", "an open stream of a process, not a file"),
    ],
)
def test_a_link_to_what_is_no_file_is_refused_and_stays(tmp_path, leads, said):
    (tmp_path / "folder").mkdir()
    link(tmp_path / "null", os.devnull)
    given = link(tmp_path / "odd", leads if leads.startswith("/") else tmp_path / leads)
    if leads.startswith("/proc") and not os.path.isdir("/proc/self"):
        pytest.skip("a system without /proc")
    for write in (atomic.writable, lambda path: atomic.replace(path, b"new")):
        with pytest.raises(DataError, match=said):
            write(given)
    assert os.readlink(given) == (leads if leads.startswith("/") else str(tmp_path / leads))


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="a system without /proc")
def test_standard_output_into_a_file_is_an_open_stream_and_no_name_to_replace(tmp_path, monkeypatch):
    """As /dev/stdout is, which leads to /proc/self/fd/1, and by that to the file."""
    with open(tmp_path / "output", "w") as file:
        given = link(tmp_path / "stdout", f"/proc/self/fd/{file.fileno()}")
        with pytest.raises(DataError, match="an open stream of a process"):
            atomic.replace(given, b"new")
    assert (tmp_path / "output").read_bytes() == b""
    assert given.is_symlink()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="folders that are shared as those of POSIX systems")
def test_a_link_of_another_user_in_a_shared_folder_is_not_followed_by_anybody(tmp_path, monkeypatch):
    (tmp_path / "shared").mkdir()
    (tmp_path / "ours").write_bytes(b"old")
    given = link(tmp_path / "shared" / "link", tmp_path / "ours")
    (tmp_path / "shared").chmod(0o1777)
    about, folder = os.lstat(given), os.stat(tmp_path / "shared")
    atomic.writable(given)
    other = os.stat_result([*about[:4], about.st_uid + 1, *about[5:]])
    lstat = os.lstat
    monkeypatch.setattr("corml.persistence.names.os.lstat", lambda path: other if path == given else lstat(path))
    with pytest.raises(DataError, match="a symbolic link of another user"):
        atomic.replace(given, b"new")
    assert (tmp_path / "ours").read_bytes() == b"old"
    assert folder.st_uid == about.st_uid


# --- places where no file can be written -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ("", "is a folder: give the name"),
        ("nowhere/m.corml", r"'.*nowhere' does not exist: create it first"),
        ("m.corml/deeper", r"m\.corml' is not a folder"),
        (os.devnull, "a device"),
    ],
)
def test_what_is_no_place_for_a_file_is_refused(path, given, fault):
    for write in (atomic.target, lambda path: atomic.replace(path, b"")):
        with pytest.raises(DataError, match=fault):
            write(path.parent / given)
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize("kind", ["pipe", "socket", "link to a pipe"])
def test_pipes_and_sockets_are_neither_waited_for_nor_replaced(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)  # the name of a socket is short
    if kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("odd")
    else:
        os.mkfifo("pipe")
        os.rename("pipe", "odd") if kind == "pipe" else os.symlink("pipe", "odd")
    before = os.lstat("odd")
    with pytest.raises(DataError, match="a device, a pipe or a socket"):
        atomic.replace("odd", b"")
    assert os.lstat("odd").st_ino == before.st_ino


def test_a_folder_without_permission_is_refused_before_any_work(path, monkeypatch):
    if os.getuid() == 0:  # root may write anywhere: let the system answer as it would to others
        monkeypatch.setattr(atomic.os, "access", lambda *_: False)
    path.parent.chmod(0o555)
    try:
        with pytest.raises(DataError, match="No permission to write"):
            atomic.target(path)
    finally:
        path.parent.chmod(0o755)
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize(("name", "sentence"), [("a\0b", "contains a NUL"), ("n" * 300, "File name too long")])
@pytest.mark.parametrize("check", [atomic.writable, lambda path: atomic.replace(path, b"")], ids=["before", "writing"])
def test_names_the_system_refuses_are_one_sentence(tmp_path, name, sentence, check):
    with pytest.raises(DataError, match=sentence):
        check(tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_the_longest_name_a_file_can_have_is_written_and_its_strays_are_known(tmp_path):
    path = tmp_path / ("é" * 127 + "n")  # 255 bytes: no other name fits beside it that begins with this one
    assert atomic.writable(path) == path
    path.with_name(f".{atomic.stem(path)}.0123456789abcdef.tmp").write_bytes(b"half")
    atomic.replace(path, b"new")
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="folders that are shared as those of POSIX systems")
def test_a_file_of_another_user_in_a_shared_folder_is_refused(tmp_path, monkeypatch):
    (tmp_path / "theirs").write_bytes(b"old")
    tmp_path.chmod(0o1777)
    atomic.writable(tmp_path / "theirs")
    monkeypatch.setattr(atomic.os, "geteuid", lambda: 4321)
    with pytest.raises(DataError, match="belongs to another user, who alone may replace it"):
        atomic.writable(tmp_path / "theirs")
    atomic.writable(tmp_path / "ours")


# --- what killed writers leave ---------------------------------------------------------------------------------------


def test_the_next_save_removes_what_killed_writers_left(path):
    for number in range(3):
        path.with_name(f".m.corml.{number:016x}.tmp").write_bytes(b"half")
    atomic.replace(path, b"new")
    assert names(path) == ["m.corml"]


def test_a_living_writer_keeps_its_file(path):
    stray = path.with_name(STRAY)
    with stray.open("wb") as writer:
        fcntl.flock(writer, fcntl.LOCK_EX)
        atomic.replace(path, b"new")
        assert stray.exists()
    atomic.replace(path, b"newer")
    assert not stray.exists()


@pytest.mark.parametrize(
    "name", [".other.corml.0123456789abcdef.tmp", "m.corml.tmp", ".m.corml.tmp", ".m.corml.xyz.tmp"]
)
def test_files_of_others_are_left_alone(path, name):
    path.with_name(name).write_bytes(b"mine")
    atomic.replace(path, b"new")
    assert path.with_name(name).read_bytes() == b"mine"


def test_a_stray_that_cannot_be_removed_does_not_stop_the_save_or_the_sweep(path):
    path.with_name(STRAY.replace("0", "1")).mkdir()
    path.with_name(STRAY.replace("0", "2")).symlink_to(path)
    path.with_name(STRAY.replace("0", "3")).write_bytes(b"half")
    atomic.replace(path, b"new")
    assert path.read_bytes() == b"new"
    assert len(names(path)) == 3  # the file, the folder and the link


def test_a_folder_that_cannot_be_listed_can_be_saved_to(path, monkeypatch):
    def refuse(folder):
        raise PermissionError(errno.EACCES, "no")

    monkeypatch.setattr(atomic.os, "listdir", refuse)
    atomic.replace(path, b"new")
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("swept", [True, False], ids=["swept away", "about to be swept"])
def test_a_file_that_another_writer_takes_before_it_is_locked_is_made_again(path, monkeypatch, swept):
    take, made = locks.take, []

    def sweep_first(handle):
        made.append([name for name in names(path) if name.endswith(".tmp")])
        if len(made) == 1 and swept:
            (path.parent / made[0][0]).unlink()
        return False if len(made) == 1 and not swept else take(handle)

    monkeypatch.setattr(locks, "take", sweep_first)
    atomic.replace(path, b"new")
    assert len(made) == 2
    assert path.read_bytes() == b"new"


def test_many_writers_of_one_file_do_not_disturb_each_other(path):
    faults = []

    def save(letter):
        try:
            for _ in range(25):
                atomic.replace(path, letter * 5000)
        except Exception as fault:
            faults.append(fault)

    writers = [threading.Thread(target=save, args=(bytes([65 + number]),)) for number in range(6)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert not faults
    assert len(set(path.read_bytes())) == 1
    assert names(path) == ["m.corml"]


# --- other systems ---------------------------------------------------------------------------------------------------


def test_systems_without_locks_or_open_folders_save_and_leave_strays(path, monkeypatch):
    monkeypatch.setattr(atomic, "POSIX", False)
    monkeypatch.setattr(locks, "fcntl", None)
    path.with_name(STRAY).write_bytes(b"perhaps being written")
    atomic.replace(path, b"new")
    assert path.read_bytes() == b"new"
    assert names(path) == [STRAY, "m.corml"]


def test_a_disk_that_cannot_flush_folders_is_no_fault(path, monkeypatch):
    flush = os.fsync

    def only_files(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "folders cannot be flushed")
        flush(handle)

    monkeypatch.setattr(atomic.os, "fsync", only_files)
    atomic.replace(path, b"new")
    assert path.read_bytes() == b"new"


def test_an_interrupt_leaves_the_old_file_and_no_other(path, monkeypatch):
    def interrupt(handle):
        raise KeyboardInterrupt

    monkeypatch.setattr(atomic.os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        atomic.replace(path, b"new")
    assert (path.read_bytes(), names(path)) == (b"old", ["m.corml"])
