"""`corml serve` as a process: reload under load, overload, slow and huge requests, killed workers, the end."""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

import corml
from corml.client import Client, ServiceError
from serving import ADMIN, TOKEN, Program, wait_for

POST = b"POST /v1/recommend HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
HISTORY = ["i1", "i5", "canary-9c1d"]


class Users:
    """People who ask all the time, each on a connection of their own."""

    def __init__(self, address, count, token=None, histories=(HISTORY,)):
        self.address, self.token, self.histories = address, token, histories
        self.answers, self.faults, self.ended = [], [], threading.Event()
        self.threads = [threading.Thread(target=self._ask, args=(n,), daemon=True) for n in range(count)]
        for thread in self.threads:
            thread.start()

    def _ask(self, number):
        with Client(self.address, token=self.token, retries=0) as client:
            while not self.ended.is_set():
                history = self.histories[(number + len(self.answers)) % len(self.histories)]
                try:
                    answer = client.recommend(history, k=5)
                except httpx.ConnectError:
                    if self.stops_when_refused:
                        return
                    raise
                except (httpx.HTTPError, ServiceError) as fault:
                    self.faults.append((time.monotonic(), repr(fault)))
                    continue
                self.answers.append((time.monotonic(), history, answer))

    stops_when_refused = False

    def end(self):
        self.ended.set()
        for thread in self.threads:
            thread.join(20)
        return self.answers


@pytest.fixture(scope="module")
def own(folder, tmp_path_factory):
    """A copy of the models that tests may change."""
    copy = tmp_path_factory.mktemp("own") / "models"
    shutil.copytree(folder, copy)
    return copy


@pytest.fixture(scope="module")
def running(own):
    """A program whose model is replaced, spoiled and deleted, and which ends in the last test."""
    program = Program(own.parent / "log", own / "dial.corml", CORML_TOKEN=TOKEN)
    yield program
    program.stop()


def replace_file(source, target):
    """As a careful writer does it."""
    shutil.copy(source, f"{target}.new")
    os.replace(f"{target}.new", target)


def expected_lists(folder):
    """What each version answers, by its version."""
    versions = {}
    for name in ("dial", "dial-2"):
        model = corml.read_model(folder / f"{name}.corml")
        answer = model.recommend(history=[["i1", "i5"]], k=5)
        versions[name] = (answer.items[0].tolist(), answer.scores[0])
    return versions


# --- one program for many claims -------------------------------------------------------------------------------------


def test_several_models_answer_side_by_side_under_their_names(shared):
    with shared.client(token=TOKEN) as client:
        assert {one.name: one.kind for one in client.models()} == {"dial": "corml-dial", "other": "corml"}
        assert client.recommend(["i1"], k=2, model="other").model == "other"
    with shared.client(token=TOKEN, model="other") as client:
        assert client.recommend(["i1"], k=2).model == "other"
        assert client.search("pulp").items[0].item == "i3"
    with pytest.raises(ServiceError, match="401"), shared.client() as client:
        client.models()


def test_blas_has_as_many_threads_as_were_asked_for(shared):
    (pid,) = shared.workers()
    environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    assert {b"OPENBLAS_NUM_THREADS=1", b"OMP_NUM_THREADS=1", b"CORML_THREADS=1"} <= set(environment)
    everything = Path(f"/proc/{pid}/cmdline").read_bytes() + b"".join(environment)
    everything += Path(f"/proc/{shared.process.pid}/cmdline").read_bytes()
    assert TOKEN.encode() not in everything


def test_the_program_allows_the_origins_of_its_options(shared):
    with httpx.Client(base_url=shared.address, headers={"Authorization": f"Bearer {TOKEN}"}) as http:
        for origin in ("https://shop.example", "https://b.example", "https://evil.example"):
            answer = http.post("/v1/recommend", json={}, headers={"Origin": origin})
            allowed = "evil" not in origin
            assert answer.status_code == (200 if allowed else 403)
            assert answer.headers.get("access-control-allow-origin") == (origin if allowed else None)


def connect(program):
    return socket.create_connection(("127.0.0.1", program.port), timeout=20)


def test_a_gigabyte_in_pieces_is_not_read(shared):
    (pid,) = shared.workers()
    before = shared.memory(pid)
    with connect(shared) as line:
        line.sendall(POST + b"Transfer-Encoding: chunked\r\n\r\n")
        piece, sent, peak = b"10000\r\n" + b" " * 0x10000 + b"\r\n", 0, before
        try:
            while sent < 1 << 30:
                line.sendall(piece)
                sent += 0x10000
                peak = max(peak, shared.memory(pid))
        except OSError:
            pass
        try:
            answer = line.recv(4096)
        except OSError:
            answer = b""
    assert sent < 64 << 20  # the rest was never taken
    assert answer[:12] in (b"HTTP/1.1 413", b"")  # or the line was cut while we were sending
    assert peak - before < 8 << 20


CHUNKED = POST + b"Authorization: Bearer " + TOKEN.encode() + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
BODY = b'{"history": ["i1"]}'
ENDLESS = {
    "headers": (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n", b"X: yyyyyyyyyyyyyyyyyy\r\n"),
    "trailers": (CHUNKED + b"2\r\n{}\r\n0\r\n", b"X: yyyyyyyyyyyyyyyyyy\r\n"),
    "one trailer": (CHUNKED + b"2\r\n{}\r\n0\r\nX: ", b"y" * 64),
    "a size of a piece": (CHUNKED + b"2;", b"y" * 64),
    "empty lines": (b"", b"\r\n" * 32),
}


@pytest.mark.parametrize("what", ENDLESS)
def test_what_surrounds_a_request_has_an_end_also_after_its_body(shared, what):
    (pid,) = shared.workers()
    before = peak = shared.memory(pid)
    start, again = ENDLESS[what]
    with connect(shared) as line:
        line.sendall(start)
        sent = 0
        with contextlib.suppress(OSError):
            while sent < 64 << 20:
                line.sendall(again * 1000)
                sent += 1000 * len(again)
                peak = max(peak, shared.memory(pid))
        with contextlib.suppress(OSError):
            assert line.recv(4096)[:12] == b"HTTP/1.1 413"
    assert sent < 16 << 20  # what the system had taken before the line was cut
    assert peak - before < 8 << 20


def test_many_small_headers_in_one_piece_are_as_long_as_one_large_one(shared):
    with connect(shared) as line:
        line.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 6000 + b"\r\n")
        assert line.recv(4096).startswith(b"HTTP/1.1 413")


def test_a_large_request_and_the_beginning_of_the_next_are_not_one_long_head(shared):
    body = BODY[:-1] + b" " * 40_000 + b"}"
    head = POST + b"Authorization: Bearer " + TOKEN.encode() + b"\r\nContent-Length: %d\r\n\r\n" % len(body)
    with connect(shared) as line:
        line.sendall(head + body + b"GET /healthz HTTP/1.1")
        received = line.recv(4096)
        line.sendall(b"\r\nHost: localhost\r\n\r\n")
        while received.count(b"HTTP/1.1 200") < 2:  # an answer comes in pieces
            piece = line.recv(4096)
            assert piece, received
            received += piece


@pytest.mark.parametrize(
    ("host", "token", "trailers", "code"),
    [
        ("localhost", TOKEN, "X: y", b"200"),
        ("localhost", "wrong", f"Authorization: Bearer {TOKEN}", b"401"),
        ("evil.example", TOKEN, "Host: localhost", b"421"),
    ],
)
def test_what_follows_a_body_is_no_header(shared, host, token, trailers, code):
    head = f"POST /v1/recommend HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n"
    more = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    with connect(shared) as line:
        line.sendall((head + more).encode() + b"%x\r\n%s\r\n0\r\n%s\r\n\r\n" % (len(BODY), BODY, trailers.encode()))
        assert line.recv(4096)[9:12] == code


@pytest.mark.parametrize("twice", ["Host: evil.example", "Host: localhost", f"Authorization: Bearer {TOKEN}"])
def test_a_name_or_a_token_that_is_given_twice_is_refused(shared, twice):
    head = f"GET /v1/models HTTP/1.1\r\n{twice}\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    with connect(shared) as line:
        line.sendall(head.encode())
        assert line.recv(4096).startswith(b"HTTP/1.1 400")


def test_slow_senders_are_let_go_and_keep_nobody_waiting(shared):
    starts = (
        b"",
        b"GET /v1/models HTTP/1.1\r\nHost: loc",
        POST + b"Content-Length: 50\r\n\r\n{",
        b"\r\n\r\n",
    )
    with contextlib.ExitStack() as stack:
        lines = [stack.enter_context(connect(shared)) for _ in range(200)]
        for number, line in enumerate(lines):
            line.sendall(starts[number % len(starts)])
        begun = time.monotonic()
        with shared.client(token=TOKEN) as client:
            for _ in range(20):  # nobody else is refused meanwhile
                client.recommend(HISTORY, k=3)
        assert time.monotonic() - begun < 5
        time.sleep(1.5)
        for number, line in enumerate(lines):
            line.settimeout(5)
            with contextlib.suppress(ConnectionResetError):
                answer = line.recv(4096)
                if not answer.startswith(b"HTTP/1.1 503"):  # too many at the same moment
                    assert answer == b"" or answer.startswith(b"HTTP/1.1 408"), (number, answer)
                    assert answer == b"" or line.recv(4096) == b""


def test_what_is_no_http_is_refused_and_the_service_lives_on(shared):
    rng = random.Random(0)
    good = POST + b"Content-Length: 2\r\n\r\n{}"
    for number in range(150):
        data = bytearray(good)
        for _ in range(rng.randint(1, 12)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        with connect(shared) as line:
            line.settimeout(3)
            try:
                cut = rng.randrange(1, len(data))
                line.sendall(data[:cut])
                line.sendall(data[cut:] + b"\r\n\r\n")
                line.shutdown(socket.SHUT_WR)
                answer = line.recv(4096)
            except OSError:
                continue
            assert answer == b"" or answer.startswith(b"HTTP/1.1 "), number
            assert not answer.startswith(b"HTTP/1.1 5"), (bytes(data), answer)
    with shared.client(token=TOKEN) as client:
        assert len(client.recommend(HISTORY, k=3).items) == 3


def test_overload_is_refused_quickly_and_what_is_accepted_is_answered(shared):
    """Heavy questions from four times as many people as there are places: refusals are quick, and health answers."""
    codes, refusals, health = [], [], []
    ended = threading.Event()

    def ask(number):
        with httpx.Client(base_url=shared.address, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=30) as http:
            query = {"queries": [{"history": HISTORY, "k": 50, "exclude": [str(n)]} for n in range(100)]}
            while not ended.is_set():
                begun = time.monotonic()
                response = http.post("/v1/recommend/batch", json=query)
                codes.append(response.status_code)
                if response.status_code == 503:
                    refusals.append(time.monotonic() - begun)
                    assert response.headers["retry-after"] == "1"
                    time.sleep(0.05)

    with ThreadPoolExecutor(32) as pool:
        asking = [pool.submit(ask, n) for n in range(32)]
        with httpx.Client(base_url=shared.address) as http:
            for _ in range(20):
                begun = time.monotonic()
                assert http.get("/healthz").status_code == 200
                health.append(time.monotonic() - begun)
                time.sleep(0.1)
        ended.set()
        [one.result() for one in asking]
    assert set(codes) <= {200, 503, 504}
    assert codes.count(200) > 0
    assert codes.count(503) > 0
    assert sorted(refusals)[len(refusals) // 2] < 1
    assert sorted(health)[len(health) // 2] < 0.5


def test_logs_of_the_whole_program_hold_no_secret(shared):
    text = shared.log_text()
    for secret in (TOKEN, ADMIN, "canary-9c1d"):
        assert secret not in text
    lines = [json.loads(line) for line in text.splitlines()]
    assert {"worker ready", "request"} <= {line["event"] for line in lines}
    assert not [line for line in lines if line["event"] == "failure"]


# --- reloads ---------------------------------------------------------------------------------------------------------


def test_reloads_under_load_lose_nothing_and_every_answer_is_of_the_version_it_names(own, folder, running):
    client = running.client(token=TOKEN)
    first = client.models()[0].version
    users = Users(running.address, 4, TOKEN)
    versions = {first: "dial"}
    for turn in range(6):
        source = ("dial-2", "dial")[turn % 2]
        replace_file(folder / f"{source}.corml", own / "dial.corml")
        if turn < 4:
            answer = client.reload()
            assert answer.changed
            versions[answer.model_version] = source
        else:
            running.process.send_signal(signal.SIGHUP)
            wanted = next(version for version, name in versions.items() if name == source)
            assert wait_for(lambda wanted=wanted: client.models()[0].version == wanted)
    assert not client.reload().changed
    assert client.reload(file="dial-2.corml").changed  # another file of the folder, by its name
    answers = users.end()
    assert users.faults == []
    assert len(versions) == 2
    expected = expected_lists(folder)
    seen = set()
    for _, _, answer in answers:
        items, scores = expected[versions[answer.model_version]]
        seen.add(answer.model_version)
        assert [item.item for item in answer.items] == items
        assert [item.score for item in answer.items] == pytest.approx(scores.tolist(), abs=1e-6)
    assert seen == set(versions)
    client.close()


def test_a_bad_file_never_replaces_a_good_one(own, folder, running):
    client = running.client(token=TOKEN)
    good, bytes_ = client.models()[0].version, (folder / "dial.corml").read_bytes()
    other = (folder / "dial-2.corml").read_bytes()
    bad = {
        "cut": bytes_[: len(bytes_) // 2],
        "flipped": bytes_[:-100] + bytes([bytes_[-100] ^ 1]) + bytes_[-99:],
        "mixed": bytes_[: len(bytes_) // 2] + other[len(bytes_) // 2 :],
        "newer": re.sub(rb'(\\"format\\": )\d', rb"\g<1>9", bytes_, count=1),
        "empty": b"",
    }
    for name, content in bad.items():
        (own / "new").write_bytes(content)
        os.replace(own / "new", own / "dial.corml")
        with pytest.raises(ServiceError, match="422: The old version stays"):
            client.reload()
        assert client.models()[0].version == good, name
    (own / "dial.corml").unlink()
    with pytest.raises(ServiceError, match="cannot be opened"):
        client.reload()
    for name in ("nothing.corml", "link.corml"):
        if name == "link.corml":
            (own / name).symlink_to(folder / "dial-2.corml")
        with pytest.raises(ServiceError, match="cannot be opened"):
            client.reload(file=name)
    running.process.send_signal(signal.SIGHUP)
    (pid,) = running.workers()
    os.kill(pid, signal.SIGKILL)  # even a new worker has the version that was good: its file is still open
    assert wait_for(lambda: running.workers()[-1] != pid)
    assert wait_for(lambda: client.models()[0].version == good)
    assert len(client.recommend(["i1"], k=3).items) == 3
    client.close()


# --- workers, and the end --------------------------------------------------------------------------------------------


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="two workers need two processors")
def test_a_killed_worker_is_replaced_and_all_have_one_version(folder, tmp_path, program):
    path = tmp_path / "dial.corml"
    shutil.copy(folder / "dial.corml", path)
    running = program(path, "--workers", "2", CORML_TOKEN=TOKEN)
    first, _ = running.workers()
    users = Users(running.address, 4, TOKEN)
    os.kill(first, signal.SIGKILL)
    killed = time.monotonic()
    assert wait_for(lambda: len(running.workers()) == 3)
    assert time.monotonic() - killed < 15
    replace_file(folder / "dial-2.corml", path)
    with running.client(token=TOKEN) as client:
        version = client.reload().model_version
        assert wait_for(lambda: len(running.events("reload")) == 2)
        settled = time.monotonic()
        time.sleep(0.3)
        assert (
            "corml_requests_total"
            in httpx.get(f"{running.address}/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).text
        )
    answers = users.end()
    assert {answer.model_version for moment, _, answer in answers if moment > settled + 0.1} == {version}
    assert len(users.faults) <= 4  # those that were in flight with the one that was killed
    assert [line["code"] for line in running.events("worker ended")] == [-signal.SIGKILL]


def test_the_end_is_announced_and_no_request_is_lost(running):
    users = Users(running.address, 8, TOKEN)
    Users.stops_when_refused = True
    try:
        assert wait_for(lambda: len(users.answers) > 20)
        begun = time.monotonic()
        running.process.send_signal(signal.SIGTERM)
        assert wait_for(lambda: httpx.get(f"{running.address}/readyz").status_code == 503, 5)
        assert running.process.wait(12) == 0
        assert time.monotonic() - begun < 12
        answers = users.end()
    finally:
        Users.stops_when_refused = False
    assert users.faults == []
    assert max(moment for moment, _, _ in answers) > begun
