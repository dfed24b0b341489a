"""Downloads, against a server of our own that misbehaves on request."""

import hashlib
import threading
import urllib.request
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from corml.data import Known, Remote, fetch, get, load
from corml.data.catalog import _download, _known
from corml.errors import DataError, UsageError

BODY = b"user,item\n" + b"".join(b"u%d,i%d\n" % (n % 50, n) for n in range(5000))
SHA = hashlib.sha256(BODY).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves BODY under every path; its attributes say how badly."""

    daemon_threads = True
    body = BODY
    ranges = True
    tag: str | None = '"v1"'
    length = True
    break_after: list[int]
    status = 200
    wrong_piece = False
    moved_to = ""
    said_length = ""
    raw = b""  # sent as it is

    def handle_error(self, request, client_address):
        """Connections that break are the point."""


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        server.requested.append(self.headers.get("Range"))
        if server.raw:
            self.wfile.write(server.raw)
            self.close_connection = True
            return None
        if server.status != 200:
            return self.send_error(server.status)
        if server.moved_to and not self.path.endswith("elsewhere.csv"):
            self.send_response(302)
            self.send_header("Location", server.moved_to)
            self.end_headers()
            return None
        if server.wrong_piece and self.headers.get("Range"):
            self.send_response(206)
            self.send_header("Content-Range", f"bytes 0-{len(server.body) - 1}/{len(server.body)}")
            self.end_headers()
            return None
        start = 0
        range_header = self.headers.get("Range")
        if range_header and server.ranges and self.headers.get("If-Range") == server.tag:
            start = int(range_header.removeprefix("bytes=").removesuffix("-"))
            if start >= len(server.body):
                return self.send_error(416)
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(server.body) - 1}/{len(server.body)}")
        if server.length:
            self.send_header("Content-Length", server.said_length or str(len(server.body) - start))
        if server.tag:
            self.send_header("ETag", server.tag)
        self.end_headers()
        piece = server.body[start:]
        if server.break_after:
            piece = piece[: server.break_after.pop(0)]
        self.wfile.write(piece)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with Server(("127.0.0.1", 0), Handler) as started:
        started.requested, started.break_after = [], []
        started.address = f"http://127.0.0.1:{started.server_port}/data.csv"
        thread = threading.Thread(target=started.serve_forever, args=(0.02,))
        thread.start()
        yield started
        started.shutdown()
        thread.join()


def entry(server, sha=SHA):
    return Known("toy", "A toy", (Remote(server.address, "toy.csv", sha),), "none", "none")


def test_a_file_is_fetched_once_checked_and_reported(server, data_folder):
    seen, notes = [], []
    paths = fetch(entry(server, None), progress=lambda *step: seen.append(step), notify=notes.append)
    assert [path.read_bytes() for path in paths] == [BODY]
    assert seen[-1] == (len(BODY), len(BODY))
    assert any(SHA in note for note in notes)
    assert fetch(entry(server)) == paths
    assert server.requested == [None]
    assert {path.name for path in data_folder.iterdir()} == {"toy.csv", "toy.csv.sha256"}


def test_what_has_a_checksum_leaves_nothing_beside_it(server, data_folder):
    fetch(entry(server))
    assert [path.name for path in data_folder.iterdir()] == ["toy.csv"]


def test_an_md5_is_compared_where_nothing_stronger_is_published(server, data_folder):
    right = hashlib.md5(BODY, usedforsecurity=False).hexdigest()
    toy = entry(server, None)
    fetch(replace(toy, files=(replace(toy.files[0], md5=right),)))
    (data_folder / "toy.csv").unlink()
    with pytest.raises(DataError, match=f"not the file it should be: md5 {right} instead of 00, published"):
        fetch(replace(toy, files=(replace(toy.files[0], md5="00"),)))
    with pytest.raises(DataError, match=f"sha256 {SHA} instead of 00"):  # the stronger of two decides
        fetch(replace(toy, files=(replace(toy.files[0], sha256="00", md5=right),)))
    assert list(data_folder.iterdir()) == []


def test_without_a_published_checksum_the_first_download_is_the_measure(server, data_folder):
    (path,) = fetch(entry(server, None))
    note = data_folder / "toy.csv.sha256"
    assert note.read_text() == f"{SHA}  toy.csv\n"  # `sha256sum -c` reads it
    path.unlink()
    server.body, server.tag = BODY[::-1], '"v2"'
    with pytest.raises(
        DataError, match=rf"sha256 \w+ instead of {SHA}, noted in '.*toy\.csv\.sha256' when it first came"
    ):
        fetch(entry(server, None))
    assert [path.name for path in data_folder.iterdir()] == ["toy.csv.sha256"]
    note.write_text("what somebody wrote over it")
    fetch(entry(server, None))
    assert note.read_text() == f"{hashlib.sha256(BODY[::-1]).hexdigest()}  toy.csv\n"


def test_a_broken_connection_goes_on_where_it_stopped(server, data_folder):
    server.break_after = [10_000, 5_000]
    (path,) = fetch(entry(server))
    assert path.read_bytes() == BODY
    assert server.requested == [None, "bytes=10000-", "bytes=15000-"]


def test_a_later_call_goes_on_where_an_earlier_one_gave_up(server, data_folder):
    server.break_after = [10_000, 0, 0]
    with pytest.raises(DataError, match=r"Could not fetch .*resumes where it stopped.*toy\.csv"):
        fetch(entry(server))
    assert (data_folder / "toy.csv.part").stat().st_size == 10_000
    (path,) = fetch(entry(server))
    assert path.read_bytes() == BODY
    assert server.requested[-1] == "bytes=10000-"


@pytest.mark.parametrize("change", [{"ranges": False}, {"tag": None}, {"tag": 'W/"weak"'}])
def test_without_safe_ranges_the_whole_file_is_fetched_again(server, data_folder, change):
    for name, value in change.items():
        setattr(server, name, value)
    server.break_after = [10_000]
    (path,) = fetch(entry(server))
    assert path.read_bytes() == BODY


def test_a_file_that_changed_in_between_is_fetched_whole(server, data_folder):
    server.break_after = [10_000, 0, 0]
    with pytest.raises(DataError):
        fetch(entry(server))
    server.body, server.tag = BODY[::-1], '"v2"'
    (path,) = fetch(entry(server, None))
    assert path.read_bytes() == BODY[::-1]


def test_another_piece_than_the_missing_one_is_not_taken(server, data_folder):
    server.wrong_piece, server.break_after = True, [10_000]
    (path,) = fetch(entry(server))
    assert path.read_bytes() == BODY


def test_a_connection_that_breaks_while_reading_is_not_the_disk(server, data_folder, monkeypatch):
    import http.client

    def reset(*_):
        raise ConnectionResetError(104, "Connection reset by peer")

    monkeypatch.setattr(http.client.HTTPResponse, "read", reset)
    with pytest.raises(DataError, match="Could not fetch"):
        fetch(entry(server))


def test_a_server_that_never_agrees_on_the_length_is_given_up(server, data_folder, monkeypatch):
    monkeypatch.setattr(_download, "ATTEMPTS", 1)
    (data_folder / "toy.csv.part").write_bytes(BODY + b"more")
    (data_folder / "toy.csv.part.tag").write_text('"v1"')
    with pytest.raises(DataError, match=r"Could not fetch .* whole"):
        fetch(entry(server))


@pytest.fixture
def two_files(monkeypatch):
    """A set of two files, like yelp2018, whose published checksums are those of a line of ours."""
    line, real = b"0 1 2\n1 2\n", get("yelp2018")
    sums = {"sha256": hashlib.sha256(line).hexdigest(), "md5": None}
    mine = replace(real, files=tuple(replace(file, **sums) for file in real.files))
    monkeypatch.setattr(_known, "get", lambda name: mine if name == "yelp2018" else get(name))
    return line


def test_only_the_missing_file_of_several_is_fetched(server, data_folder, two_files):
    server.body = two_files
    (data_folder / "yelp2018").mkdir()
    (data_folder / "yelp2018" / "train.txt").write_text("1 2\n")
    fetch("yelp2018", address=server.address.rpartition("/")[0] + "/")
    assert server.requested == [None]
    assert load("yelp2018").shape == (2, 2)


def test_a_part_longer_than_the_file_is_thrown_away(server, data_folder):
    (data_folder / "toy.csv.part").write_bytes(BODY + b"more")
    (data_folder / "toy.csv.part.tag").write_text('"v1"')
    (path,) = fetch(entry(server))
    assert path.read_bytes() == BODY


def test_a_server_that_does_not_say_how_much_is_believed_to_the_end(server, data_folder):
    server.length = False
    seen = []
    (path,) = fetch(entry(server), progress=lambda *step: seen.append(step))
    assert path.read_bytes() == BODY
    assert seen[-1] == (len(BODY), None)


def test_a_wrong_checksum_removes_the_file(server, data_folder):
    with pytest.raises(DataError, match=rf"sha256 {SHA} instead of 0000, published.*by hand as '.*toy\.csv'"):
        fetch(entry(server, "0000"))
    assert list(data_folder.iterdir()) == []


def test_a_missing_page_names_the_address_and_the_path_for_the_file(server, data_folder):
    server.status = 404
    with pytest.raises(DataError, match=r"answers 404 .*by hand as '.*toy\.csv'"):
        fetch(entry(server))


def test_a_server_that_refuses_every_range_does_not_loop_for_ever(server, data_folder):
    server.status = 416
    with pytest.raises(DataError, match="answers 416"):
        fetch(entry(server))


def test_no_network_says_where_to_put_the_file(server, data_folder, monkeypatch):
    monkeypatch.setattr(_download, "TIMEOUT", 2.0)
    dead = Known("toy", "A toy", (Remote("http://127.0.0.1:9/toy.csv", "toy.csv"),), "none", "none")
    with pytest.raises(DataError, match=r"Could not fetch http://127\.0\.0\.1:9/toy\.csv .*by hand"):
        fetch(dead)


def test_a_folder_that_cannot_be_written_is_named(server, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataError, match="Could not write"):
        fetch(entry(server), folder=tmp_path / "file")


UNSAFE = ["file:///etc/passwd", "http://example.org/a.csv", "ftp://127.0.0.1/a", "https//a", "http://[x"]


@pytest.mark.parametrize("address", UNSAFE)
def test_only_safe_addresses_are_fetched(server, data_folder, address):
    with pytest.raises(UsageError, match="not a safe web address: it must start with https://"):
        fetch(entry(server), address=address)


@pytest.mark.parametrize("target", ["http://example.org/evil.csv", "ftp://127.0.0.1/evil.csv", "file:///etc/passwd"])
def test_redirects_are_followed_to_safe_addresses_only(server, data_folder, target):
    server.moved_to = target
    with pytest.raises(DataError, match=r"sends on to .*evil.csv|Redirection to url .*passwd. is not allowed"):
        fetch(entry(server))
    server.moved_to = server.address.replace("data.csv", "elsewhere.csv")
    assert fetch(entry(server))[0].read_bytes() == BODY


def test_what_was_asked_for_by_https_never_comes_by_http_not_even_from_this_machine():
    asked = urllib.request.Request("https://example.org/a.csv")
    follow = _download._SafeRedirects().redirect_request
    with pytest.raises(DataError, match=r"sends on to 'http://127.0.0.1/a.csv', which is not https"):
        follow(asked, None, 302, "Found", {}, "http://127.0.0.1/a.csv")
    assert follow(asked, None, 302, "Found", {}, "https://example.org/b.csv").full_url == "https://example.org/b.csv"


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
ODD = {
    "a redirect to half an address": b"HTTP/1.1 302 Found\r\nLocation: http://[::1\r\n\r\n",
    "a redirect to no letters": b"HTTP/1.1 302 Found\r\nLocation: https://\xff\xfe/\r\n\r\n",
    "a piece of less than nothing": CHUNKED + b"-5\r\n",
    "a piece of no size": CHUNKED + b"zz\r\n",
    "a reason with an escape": b"HTTP/1.1 404 \x1b[31m\x9b\r\n\r\n",
    "a status with an escape": b"HTTP/1.1 \x1b[2J\r\n\r\n",
    "a range of something else": b"HTTP/1.1 206 OK\r\nContent-Range: bytes 5-9/10\r\n\r\nabcde",
    "nothing": b"\r\n",
}


@pytest.mark.parametrize("what", ODD)
def test_whatever_a_server_answers_is_a_sentence_without_control_characters(server, data_folder, what):
    server.raw = ODD[what]
    with pytest.raises(DataError, match=r"^(Could not fetch|http)") as caught:
        fetch(entry(server))
    assert str(caught.value).isprintable()
    assert "No such file" not in str(caught.value)


@pytest.mark.parametrize("address", ["https://exämple.org/a", "https://example.org/\x1b", "https://example.org/a b"])
def test_an_address_is_written_in_plain_letters(data_folder, address):
    with pytest.raises(UsageError, match=r"is not a safe web address: it must start with https:// .* plain letters"):
        fetch("ml-100k", address=address)


def test_more_than_any_data_set_has_is_not_fetched(server, data_folder, monkeypatch):
    for length in (True, False):  # what the server says, and what it sends
        server.length = length
        monkeypatch.setattr(_download, "LARGEST", 10_000)
        with pytest.raises(DataError, match=r"is larger than 9.8 KiB, as no known data set is"):
            fetch(entry(server))
        assert not any(data_folder.iterdir())


def test_a_length_that_is_no_number_is_not_believed(server, data_folder):
    server.said_length = "9" * 30
    assert fetch(entry(server))[0].read_bytes() == BODY


def test_a_weak_tag_does_not_tell_versions_apart_so_a_download_begins_again(server, data_folder):
    server.tag, server.break_after = 'W/"v1"', [1000]
    assert fetch(entry(server))[0].read_bytes() == BODY
    assert server.requested == [None, None]


@pytest.mark.parametrize("tag", [b"a\r\nX-Evil: 1", b"\xff\xfe", b"x" * 5000, b""])
def test_a_note_of_the_version_that_somebody_changed_is_not_used(server, data_folder, tag):
    data_folder.mkdir(exist_ok=True)
    (data_folder / "toy.csv.part").write_bytes(BODY[:100])
    (data_folder / "toy.csv.part.tag").write_bytes(tag)
    assert fetch(entry(server))[0].read_bytes() == BODY
    assert server.requested == [None]


def test_a_mirror_has_to_have_the_same_file(server, data_folder):
    server.body = b"0 1 2\n1 2\n"
    with pytest.raises(DataError, match=r"data\.csv is not the file it should be: sha256 .* published"):
        fetch("ml-1m", address=server.address)
    assert list(data_folder.iterdir()) == []


def test_a_mirror_can_stand_in_for_the_original(server, data_folder, two_files):
    server.body = two_files
    paths = fetch("yelp2018", address=server.address.rpartition("/")[0] + "/mirror/")
    assert [path.name for path in paths] == ["train.txt", "test.txt"]
    assert load("yelp2018").shape == (2, 2)
    assert fetch(get("movielens-small"))[0].name == "ratings.csv.gz"


def test_loading_a_known_name_fetches_it(server, data_folder, monkeypatch):
    toy = Known("ml-latest-small", "A toy", (Remote(server.address, "toy.csv", SHA),), "none", "none", member="toy.csv")
    monkeypatch.setattr(_known, "get", lambda name: toy)
    data = load("ml-latest-small")
    assert len(data) == 5000
    assert any("downloading" in note for note in data.source["notes"])
