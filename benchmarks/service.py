"""How many requests a second the service answers (run: python benchmarks/service.py [DATA] [SECONDS]).

In one run, in turns: a bare FastAPI ping, and `corml serve` with a token, logs and limits on, asked for lists of 10
items from histories of 20. Both are one process; `wrk` asks on eight connections of loopback. Needs FastAPI and wrk.
Writes results/speed/service-DATA.json with the load of the machine: figures of a busy one are of little worth.
"""

import os
import re
import secrets
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
from _machine import load_split
from _packages import need
from _record import begin, write

import corml

CONNECTIONS, HISTORY, K, TURNS = 8, 20, 10, 3
PING = """
import fastapi, uvicorn
app = fastapi.FastAPI()
@app.get("/ping")
async def ping():
    return {"status": "alive"}
uvicorn.run(app, port=PORT, access_log=False, log_level="error", loop="uvloop", http="httptools")
"""
LUA = """
local bodies = {BODIES}
local at = 0
request = function()
  at = at % #bodies + 1
  return wrk.format("POST", "/v1/recommend", {["Content-Type"] = "application/json",
    ["Authorization"] = "Bearer TOKEN"}, bodies[at])
end
done = function(summary, latency, requests)
  io.write(string.format("errors %d\\n", summary.errors.status + summary.errors.connect + summary.errors.read
    + summary.errors.write + summary.errors.timeout))
end
"""


def bodies(model: Any) -> str:
    """Histories as Lua strings: items drawn as often as they are used."""
    rng = np.random.default_rng(0)
    chance = model.counts_ / model.counts_.sum()
    drawn = (rng.choice(len(model.items_), HISTORY, replace=False, p=chance) for _ in range(200))
    quoted = ([f'"{item}"' for item in model.items_.labels[rows]] for rows in drawn)
    return ",\n".join(f'[[{{"history":[{",".join(items)}],"k":{K}}}]]' for items in quoted)


def asked(address: str, seconds: int, script: Path | None = None) -> dict[str, float]:
    """What wrk measures."""
    how = ["-s", str(script)] if script else []
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency", *how, address]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rate = re.search(r"Requests/sec:\s+([\d.]+)", text)
    late = re.search(r"99%\s+([\d.]+)(us|ms|s)", text)
    assert rate
    assert late
    errors = re.search(r"errors (\d+)", text)
    unit = {"us": 1e-3, "ms": 1.0, "s": 1e3}[late[2]]
    return {
        "requests a second": float(rate[1]),
        "p99 ms": round(float(late[1]) * unit, 2),
        "errors": int(errors[1]) if errors else 0,
    }


def wait_for(address: str) -> None:
    for _ in range(600):
        try:
            urllib.request.urlopen(address, timeout=1)
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(f"nothing answers at {address}")


def main(name: str, seconds: int) -> None:
    need("fastapi")
    begun, split = begin(name, packages=("fastapi", "starlette", "uvicorn", "msgspec")), load_split(name)
    with tempfile.TemporaryDirectory() as folder:
        place, token = Path(folder), secrets.token_urlsafe(32)
        model = corml.CoRML().fit(split.train)
        model.save(place / "model.corml", history=False)
        script = place / "ask.lua"
        script.write_text(LUA.replace("BODIES", bodies(model)).replace("TOKEN", token))
        serve = [sys.executable, "-m", "corml", "serve", str(place / "model.corml"), "--port", "8731", "--log", "json"]
        with open(place / "log", "wb") as log:
            ours = subprocess.Popen(serve, stdout=log, stderr=log, env={**os.environ, "CORML_TOKEN": token})
            ping = subprocess.Popen([sys.executable, "-c", PING.replace("PORT", "8732")])
            try:
                wait_for("http://127.0.0.1:8731/readyz")
                wait_for("http://127.0.0.1:8732/ping")
                turns = [
                    (
                        asked("http://127.0.0.1:8732/ping", seconds),
                        asked("http://127.0.0.1:8731/v1/recommend", seconds, script),
                    )
                    for _ in range(TURNS)
                ]
            finally:
                for process in (ours, ping):
                    process.terminate()
                    process.wait()
    ratios = sorted(one["requests a second"] / other["requests a second"] for other, one in turns)
    record = {
        "data": name,
        "items": len(model.items_),
        "connections": CONNECTIONS,
        "seconds": seconds,
        "ping": [other for other, _ in turns],
        "recommend": [one for _, one in turns],
        "times the ping": round(ratios[len(ratios) // 2], 3),
        "load after": round(os.getloadavg()[0], 2),
    }
    print(write(f"speed/service-{name}", begun, record))
    print(record)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "movielens-small", int(sys.argv[2]) if len(sys.argv) > 2 else 20)
