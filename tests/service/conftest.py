"""Small models as files, the application inside the test, and the program as a process of its own."""

import asyncio
import json
from dataclasses import replace

import httpx
import numpy as np
import pytest

import corml
from corml.client import Client
from corml.data.attributes import Attributes, Numbers, indicators
from corml.service.app import application
from corml.service.endpoint import Service
from corml.service.logs import Log
from corml.service.options import Options
from corml.service.problems import Refusal
from corml.service.served import Shelf, load
from serving import ADMIN, TOKEN, Program
from support import random_interactions

TITLES = {f"i{n}": f"Thing number {n}" for n in range(60)} | {"i3": "Pulp Fiction (1994)", "i4": "Le Café <b>noir</b>"}


@pytest.fixture(scope="session")
def data():
    plain = random_interactions(5, 150, 60, 9)
    numbers = [int(label[1:]) for label in plain.items]
    columns = {
        "genre": indicators([["even", "odd"][number % 2]] for number in numbers),
        "price": Numbers(np.array(numbers, dtype=float)),
    }
    return replace(plain, titles=TITLES, attributes=Attributes(plain.items, columns))


@pytest.fixture(scope="session")
def folder(data, tmp_path_factory):
    """dial.corml and dial-2.corml, two versions; plain.corml; popularity.corml, which has nothing to explain."""
    folder = tmp_path_factory.mktemp("models")
    corml.CoRML.dial(data, item_norms=(-0.2, 0.0, 0.2), rank=6).save(folder / "dial.corml")
    corml.CoRML.dial(data, item_norms=(-0.2, 0.0, 0.2), rank=6, mix=0.4).save(folder / "dial-2.corml")
    corml.CoRML(rank=6).fit(data).save(folder / "plain.corml")
    corml.CoRML(rank=6).fit(data).save(folder / "no-users.corml", history=False)
    corml.Popularity().fit(data).save(folder / "popularity.corml")
    return folder


@pytest.fixture(scope="session")
def shelf(folder):
    shelf = Shelf("dial")
    for name in ("dial", "plain", "no-users", "popularity"):
        shelf.put(load(name, str(folder / f"{name}.corml")))
    return shelf


class Transport(httpx.BaseTransport):
    """Requests of an ordinary client, answered by an application in this process."""

    def __init__(self, app):
        self.inner, self.runner = httpx.ASGITransport(app, raise_app_exceptions=False), asyncio.Runner()

    def handle_request(self, request):
        return self.runner.run(self._answer(request))

    async def _answer(self, request):
        response = await self.inner.handle_async_request(request)
        stream = httpx.ByteStream(b"".join([piece async for piece in response.stream]))  # as sent: maybe compressed
        return httpx.Response(response.status_code, headers=response.headers, stream=stream)

    def close(self):
        self.runner.close()


class Inside:
    """The whole application without a socket."""

    def __init__(self, shelf, **options):
        self.options = Options(models={name: "" for name in shelf.all()}, hosts=("testserver",), **options)
        self.reloads = []
        self.service = Service(self.options, shelf, Log("json"), self.reload)
        self.transport = Transport(application(self.service))
        self.http = httpx.Client(base_url="http://testserver", transport=self.transport)
        token = self.options.token
        self.client = Client("http://testserver", token=token, transport=self.transport, retries=0)

    async def reload(self, name, file):
        self.reloads.append((name, file))
        if file == "bad.corml":
            raise Refusal(422, "The old version stays in use: bad", title="Model file refused")
        return True

    def close(self):
        self.transport.close()
        self.service.pool.shutdown()

    def post(self, path, body, **headers):
        content = body if isinstance(body, bytes) else json.dumps(body)
        return self.http.post(path, content=content, headers={"Content-Type": "application/json", **headers})


@pytest.fixture
def make_inside(shelf):
    """The application with options; closed with the test."""
    made = []

    def make(other=None, **options):
        made.append(Inside(other or shelf, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def inside(make_inside):
    return make_inside()


@pytest.fixture
def guarded(make_inside):
    return make_inside(token=TOKEN, admin_token=ADMIN)


# --- the program -----------------------------------------------------------------------------------------------------


@pytest.fixture
def program(tmp_path):
    """Start programs; all are ended with the test."""
    started = []

    def start(*words, **environment):
        started.append(Program(tmp_path / f"log-{len(started)}", *words, **environment))
        return started[-1]

    yield start
    for one in started:
        one.stop()


@pytest.fixture(scope="module")
def shared(folder, tmp_path_factory):
    """One program with two models, tokens and small limits."""
    place = tmp_path_factory.mktemp("shared")
    for name, token in (("token", TOKEN), ("admin", ADMIN)):
        (place / name).write_text(token)
        (place / name).chmod(0o600)
    program = Program(
        place / "log",
        *(folder / "dial.corml", f"other={folder / 'plain.corml'}", "--timeout", "1", "--in-flight", "4"),
        *("--cors", "https://shop.example,http://localhost:3000", "--cors", "https://b.example"),
        *("--token-file", place / "token", "--admin-token-file", place / "admin"),
    )
    yield program
    program.stop()
