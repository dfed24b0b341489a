"""The client: every operation, its errors, and patience with a busy service."""

import httpx
import pytest

from corml import client as module
from corml.client import Client, ServiceError


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
