"""The client: every operation, its errors, and patience with a busy service."""

import httpx
import pytest

from corml import client as module
from corml.client import Client, ServiceError
from corml.errors import CormlError, UsageError


def test_the_client_knows_every_operation(inside):
    client = inside.client
    assert client.explain("i2", ["i1"]).contributions[0].item == "i1"
    assert client.explain("i2", user="u1").score == pytest.approx(client.why_not("i2", user="u1").score, abs=1e-6)
    assert len(client.similar("i2", k=3).items) == 3
    assert client.distance("i2", ["i1"], part="g").distance > 0
    assert client.is_ready()
    assert [one.name for one in client.models()] == ["dial", "no-users", "plain", "popularity"]
    with Client("http://testserver", transport=inside.transport, model="plain") as other:
        assert other.recommend(["i1"]).model == other.search("thing").model == other.items(["i1"]).model == "plain"


@pytest.mark.parametrize(
    "address",
    [
        *("http://h\x1b[2J", "http://127.0.0.1/\x1b", "http://h:port", "http://\u202ea", "http://h\ud800"),
        *("", "shop.example", "127.0.0.1:8000", "ftp://shop.example", "http://"),
    ],
)
def test_an_address_that_is_none_is_refused_in_a_sentence(address):
    with pytest.raises(CormlError, match=r"Invalid address .*: write one like http://127\.0\.0\.1:8000") as fault:
        Client(address)
    assert str(fault.value).isprintable()


@pytest.mark.parametrize("token", ["", "a b", "a\r\nb", "a\x1bb", "ä" * 32, "\ud800"])
def test_a_token_that_no_header_holds_is_refused_in_a_sentence(token):
    with pytest.raises(UsageError, match="Invalid token: use printable ASCII"):
        Client(token=token)


class Answers(httpx.BaseTransport):
    """A service that answers from a list."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), 0

    def handle_request(self, request):
        self.asked += 1
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def busy(after):
    return httpx.Response(503, headers={"Retry-After": after}, json={"detail": "busy"})


def test_a_busy_service_is_asked_again_after_the_time_it_names(monkeypatch):
    waited = []
    monkeypatch.setattr(module.time, "sleep", waited.append)
    service = Answers(busy("2"), busy("soon"), httpx.Response(200, json={"models": []}))
    assert Client(transport=service, retries=2).models() == []
    assert (service.asked, waited) == (3, [2.0, 1.0])
    service = Answers(busy("3600"), busy("1"))
    with pytest.raises(ServiceError, match="503: busy"):
        Client(transport=service, retries=1).models()
    assert waited[2:] == [10.0]


def test_what_a_proxy_says_is_an_error_too():
    with pytest.raises(ServiceError, match="502: Bad Gateway") as fault:
        Client(transport=Answers(httpx.Response(502, text="<html>")), retries=0).models()
    assert fault.value.status == 502
    assert not Client(transport=Answers(httpx.ConnectError("no"))).is_ready()


GOOD = {"models": []}


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, content=b"<html>"),
        httpx.Response(200, content=b"\xff\xfe"),
        httpx.Response(200, json={"models": 3}),
        httpx.Response(200, content=b"[" * 100_000),
        httpx.Response(200, content=b'{"models": [' + b'{"name": 1e999}' + b"]}"),
        httpx.Response(204),
    ],
    ids=["html", "bytes", "form", "deep", "infinite", "nothing"],
)
def test_an_answer_that_no_service_of_ours_gave_is_a_sentence(answer):
    with pytest.raises(ServiceError, match="is not an answer of corml serve: check the address"):
        Client(transport=Answers(answer), retries=0).models()


def test_what_a_stranger_says_cannot_move_the_cursor_nor_go_on_for_ever():
    answer = httpx.Response(404, json={"detail": "\x1b[31m" + "x" * 10_000})
    with pytest.raises(ServiceError) as fault:
        Client(transport=Answers(answer), retries=0).models()
    assert str(fault.value).isprintable()
    assert len(str(fault.value)) < 600


def test_an_answer_without_end_is_not_read_to_its_end(monkeypatch):
    monkeypatch.setattr(module, "LONGEST_ANSWER", 10_000)
    sent = []

    def drip():
        while True:
            sent.append(1)
            yield b"x" * 1000

    with pytest.raises(ServiceError, match="more than 10,000 bytes"):
        Client(transport=Answers(httpx.Response(200, content=drip())), retries=0).models()
    assert len(sent) < 20


def test_a_packed_answer_is_not_unpacked():
    answer = httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=httpx.ByteStream(b"\x1f\x8b"))
    with pytest.raises(ServiceError, match="the answer is compressed"):
        Client(transport=Answers(answer), retries=0).models()


def test_a_wait_written_in_odd_digits_is_no_number(monkeypatch):
    waited = []
    monkeypatch.setattr(module.time, "sleep", waited.append)
    after = httpx.Headers([(b"retry-after", "²".encode("latin-1"))])
    odd = httpx.Response(503, headers=after, json={"detail": "busy"})
    assert Client(transport=Answers(odd, httpx.Response(200, json=GOOD)), retries=1).models() == []
    assert waited == [1.0]
