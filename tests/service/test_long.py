"""What only shows after a while: memory over fifty reloads, an hour's worth of fuzz, and a soak under load."""

import contextlib
import os
import random
import shutil
import socket
import time
from pathlib import Path

import pytest

from corml.client import Client, ServiceError
from serving import TOKEN

MINUTES = float(os.environ.get("CORML_SOAK_MINUTES", "30"))
FUZZ = int(os.environ.get("CORML_FUZZ", "20000"))


def files_open(pid):
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


@pytest.mark.slow
def test_memory_and_files_stay_flat_over_fifty_reloads(folder, tmp_path, program):
    shutil.copy(folder / "dial.corml", tmp_path / "dial.corml")
    running = program(tmp_path / "dial.corml", CORML_TOKEN=TOKEN)
    (pid,) = running.workers()
    with running.client(token=TOKEN, timeout=60) as client:
        sizes, files = [], []
        for turn in range(60):
            source = ("dial-2", "dial")[turn % 2]
            shutil.copy(folder / f"{source}.corml", tmp_path / "new")
            os.replace(tmp_path / "new", tmp_path / "dial.corml")
            assert client.reload().changed
            client.recommend(["i1"], k=3)
            sizes.append(running.memory(pid))
            files.append(files_open(pid))
    warm = max(sizes[:10])
    assert max(sizes[10:]) < 1.1 * warm
    assert max(files[10:]) <= max(files[:10])
    assert files_open(running.process.pid) < 30


@pytest.mark.slow
def test_thousands_of_broken_requests_leave_the_service_as_it_was(shared):
    rng = random.Random(1)
    (pid,) = shared.workers()
    bodies = [b"{}", b'{"history":["i1"]}', b"[" * 500, b'{"k":1e999}', b"\xff\xfe", b'{"history":["\\ud800"]}']
    paths = [b"/v1/recommend", b"/v1/items?q=%ff", b"/%00", b"//", b"/v1/../etc", b"*", b"/v1/recommend/batch"]
    methods = [b"GET", b"POST", b"PUT", b"TRACE", b"CONNECT", b"PRI", b"OPTIONS", b"get"]
    before = shared.memory(pid)
    for _ in range(FUZZ):
        body = rng.choice(bodies)
        length = rng.choice([len(body), len(body) + 5, 0, -1, 10**30])
        lines = [
            rng.choice(methods) + b" " + rng.choice(paths) + rng.choice([b" HTTP/1.1", b" HTTP/1.0", b" HTTP/3", b""]),
            rng.choice([b"Host: localhost", b"Host: x", b"Host:", b""]),
            b"Content-Length: " + str(length).encode() if rng.random() < 0.8 else b"Transfer-Encoding: chunked",
            rng.choice([b"Content-Type: application/json", b"Expect: 100-continue", b"Upgrade: websocket", b"A: \x00"]),
        ]
        data = b"\r\n".join(lines) + b"\r\n\r\n" + body
        for _ in range(rng.choice([0, 0, 1, 5])):
            at = rng.randrange(len(data))
            data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", shared.port), timeout=5) as line:
            line.settimeout(0.02)
            cut = rng.randrange(len(data))
            line.sendall(data[:cut])
            line.sendall(data[cut:])
            answer = line.recv(1024)
            assert not answer.startswith((b"HTTP/1.1 500", b"HTTP/1.1 504")), data
    with shared.client(token=TOKEN) as client:
        assert len(client.recommend(["i1"], k=3).items) == 3
    assert shared.workers() == [pid]
    assert shared.memory(pid) < before + (20 << 20)
    assert not shared.events("failure")


@pytest.mark.slow
def test_a_soak_with_a_reload_a_minute_leaks_nothing(folder, tmp_path, program):
    """At some 60 % of what it can: RSS rises by at most 5 MiB an hour after a warm-up, and files stay flat."""
    shutil.copy(folder / "dial.corml", tmp_path / "dial.corml")
    running = program(tmp_path / "dial.corml", CORML_TOKEN=TOKEN)
    (pid,) = running.workers()
    end, minute, turn, sizes, files = time.monotonic() + 60 * MINUTES, 0.0, 0, [], []
    with Client(running.address, token=TOKEN, retries=3, timeout=60) as client:
        while time.monotonic() < end:
            begun = time.monotonic()
            client.recommend([f"i{turn % 60}", "i5"], k=10)
            turn += 1
            time.sleep((time.monotonic() - begun) * 0.67)
            if begun - minute > 60:
                minute = begun
                shutil.copy(folder / f"{('dial', 'dial-2')[len(sizes) % 2]}.corml", tmp_path / "new")
                os.replace(tmp_path / "new", tmp_path / "dial.corml")
                with contextlib.suppress(ServiceError):
                    client.reload()
                sizes.append((begun, running.memory(pid)))
                files.append(files_open(pid))
    settled = sizes[len(sizes) // 3 :]
    hours = (settled[-1][0] - settled[0][0]) / 3600
    assert settled[-1][1] - settled[0][1] <= 5 * (1 << 20) * max(hours, 1.0)
    assert max(files) - min(files) <= 2
