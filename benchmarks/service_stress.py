"""What the service does under stress (run: python benchmarks/service_stress.py [DATA] [SECONDS]).

In one run, one worker, with a token, logs and limits on, lists of 10 items from histories of 20:

    reloads     16 connections as fast as they can, steady and then with 20 reloads a minute between two models
    overload    64 connections as fast as they can, and then four times as many as the service has places, while
                somebody asks whether the service is alive. Who is refused asks again after the second that Retry-After
                names; and once more, by people who wait no longer than 50 ms

Writes results/speed/stress-DATA.json.
"""

import asyncio
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _machine import load_split
from _record import begin, write

import corml
from service import HISTORY, K, wait_for

PORT = 8733
PLACES = 128  # 64 worked on, and as many that wait
STEADY, PEAK, OVERLOAD = 16, 64, 4 * PLACES
EVERY = 3.0  # seconds between reloads: 20 a minute
PATIENCE = {"overload": 1.0, "overload, impatient": 0.05}  # seconds until somebody who was refused asks again

Answer = tuple[float, int, bytes]  # seconds, status, body


def requests_of(model: Any, token: str) -> list[bytes]:
    """Whole requests as they go over the wire: items drawn as often as they are used."""
    rng = np.random.default_rng(0)
    chance = model.counts_ / model.counts_.sum()
    head = f"POST /v1/recommend HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
    made = []
    for _ in range(200):
        rows = rng.choice(len(model.items_), HISTORY, replace=False, p=chance)
        body = json.dumps({"history": model.items_.labels[rows].tolist(), "k": K})
        made.append(f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
    return made


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> Answer:
    """Send a request on an open connection, and read the whole answer."""
    begun = time.perf_counter()
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    body = await reader.readexactly(length)
    return time.perf_counter() - begun, int(head[9:12]), body


async def one_person(number: int, requests: Sequence[bytes], end: float, wait: float, into: list[Answer]) -> None:
    """Ask again and again, on one connection for as long as it stays open."""
    stream, turn = None, number
    while time.perf_counter() < end:
        if stream is None:
            stream = await asyncio.open_connection("127.0.0.1", PORT)
        turn += 1
        try:
            into.append(await ask(*stream, requests[turn % len(requests)]))
        except (asyncio.IncompleteReadError, ConnectionError):
            into.append((0.0, 0, b""))
            stream = None
            continue
        if into[-1][1] != 200:
            await asyncio.sleep(wait)
    if stream is not None:
        stream[1].close()


async def load(connections: int, requests: Sequence[bytes], seconds: float, wait: float = 1.0) -> list[Answer]:
    """Everything that was answered to so many people."""
    answers: list[Answer] = []
    end = time.perf_counter() + seconds
    await asyncio.gather(*(one_person(number * 7, requests, end, wait, answers) for number in range(connections)))
    return answers


async def alive(seconds: float) -> list[Answer]:
    answers: list[Answer] = []
    end = time.perf_counter() + seconds
    stream = await asyncio.open_connection("127.0.0.1", PORT)
    while time.perf_counter() < end:
        answers.append(await ask(*stream, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"))
        await asyncio.sleep(0.1)
    stream[1].close()
    return answers


async def reloads(files: tuple[Path, Path], target: Path, token: str, seconds: float) -> list[float]:
    """Put one file and then the other in the place of the model, and ask for it."""
    times, end, turn = [], time.perf_counter() + seconds, 0
    head = f"POST /v1/admin/reload HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
    request = f"{head}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}".encode()
    while time.perf_counter() + EVERY < end:
        turn += 1
        shutil.copy(files[turn % 2], target.with_suffix(".new"))
        os.replace(target.with_suffix(".new"), target)
        stream = await asyncio.open_connection("127.0.0.1", PORT)
        taken, status, body = await ask(*stream, request)
        stream[1].close()
        assert status == 200, body
        times.append(taken)
        await asyncio.sleep(max(0.0, EVERY - taken))
    return times


def figures(answers: Sequence[Answer], seconds: float) -> dict[str, Any]:
    """Answers a second, how long they took, and what else came."""
    good = np.array([taken for taken, status, _ in answers if status == 200])
    refused = np.array([taken for taken, status, _ in answers if status == 503])
    facts: dict[str, Any] = {"answers a second": round(len(good) / seconds, 1)}
    facts |= {f"p{q} ms": round(1e3 * float(np.quantile(good, q / 100)), 2) for q in (50, 99)}
    if len(refused):
        facts["refusals a second"] = round(len(refused) / seconds, 1)
        facts |= {f"p{q} ms of a refusal": round(1e3 * float(np.quantile(refused, q / 100)), 2) for q in (50, 99)}
    return facts | {"failures": sum(status not in (200, 503) for _, status, _ in answers)}


def versions(answers: Sequence[Answer]) -> dict[str, int]:
    """How many answers named each version."""
    named = [json.loads(body)["model_version"] for _, status, body in answers if status == 200]
    return {name: named.count(name) for name in sorted(set(named))}


async def stress(files: tuple[Path, Path], target: Path, token: str, model: Any, seconds: float) -> dict[str, Any]:
    requests = requests_of(model, token)
    await load(STEADY, requests, 3)  # warm
    steady = figures(await load(STEADY, requests, seconds), seconds)
    print("steady", steady, flush=True)
    answers, times = await asyncio.gather(load(STEADY, requests, seconds), reloads(files, target, token, seconds))
    reloading = figures(answers, seconds) | {"reloads": len(times), "seconds of a reload": round(max(times), 3)}
    reloading["answers by version"] = versions(answers)
    print("reloading", reloading, flush=True)
    peak = figures(await load(PEAK, requests, seconds), seconds)
    print("peak", peak, flush=True)
    overload = {}
    for name, wait in PATIENCE.items():
        answers, health = await asyncio.gather(load(OVERLOAD, requests, seconds, wait), alive(seconds))
        facts = figures(answers, seconds) | {"p99 ms of health": figures(health, seconds)["p99 ms"]}
        facts["share of the peak"] = round(facts["answers a second"] / peak["answers a second"], 3)
        print(name, facts, flush=True)
        overload[name] = facts
    return {
        "steady": steady,
        "with reloads": reloading,
        "p99 with reloads, times steady": round(reloading["p99 ms"] / steady["p99 ms"], 2),
        "peak": peak,
        **overload,
    }


def main(name: str, seconds: float) -> None:
    begun, split = begin(name, packages=("starlette", "uvicorn", "msgspec")), load_split(name)
    with tempfile.TemporaryDirectory() as folder:
        place, token = Path(folder), secrets.token_urlsafe(32)
        model = corml.CoRML(adapt=False).fit(split.train)
        files = place / "a.corml", place / "b.corml"
        model.save(files[0], history=False)
        corml.CoRML(adapt=False, mix=0.7).fit(split.train).save(files[1], history=False)
        shutil.copy(files[0], target := place / "model.corml")
        serve = [sys.executable, "-m", "corml", "serve", str(target), "--port", str(PORT), "--log", "json"]
        with open(place / "log", "wb") as log:
            ours = subprocess.Popen(serve, stdout=log, stderr=log, env={**os.environ, "CORML_TOKEN": token})
            try:
                wait_for(f"http://127.0.0.1:{PORT}/readyz")
                found = asyncio.run(stress(files, target, token, model, seconds))
                urllib.request.urlopen(f"http://127.0.0.1:{PORT}/readyz", timeout=5)
            finally:
                ours.terminate()
                ours.wait()
    shape = {"connections": STEADY, "of the peak": PEAK, "of the overload": OVERLOAD, "places": PLACES}
    print(
        write(
            f"speed/stress-{name}",
            begun,
            {"data": name, "items": len(model.items_), "seconds": seconds, **shape, **found},
        )
    )


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "movielens-small", float(sys.argv[2]) if len(sys.argv) > 2 else 30.0)
