"""Answers that may be kept: named by what they are made of, and sent once for each version."""

import re

import pytest

from corml.service.caching import accepts_gzip, pack
from corml.service.served import Shelf, load
from corml.service.studio.atlas import atlas
from serving import TOKEN


@pytest.fixture
def mapped(guarded):
    """The application with the map of its default model made; answers need the token."""
    atlas.of(guarded.service.shelf["dial"]).result(60)
    return guarded


def ask(inside, path, known=None, method="GET", token=TOKEN):
    headers = {} if known is None else {"If-None-Match": known}
    return inside.http.request(method, path, headers={**headers, "Authorization": f"Bearer {token}"})


@pytest.mark.parametrize("path", ["/v1/map", "/v1/personas", "/v1/models"])
def test_an_answer_of_one_version_is_sent_once(mapped, path):
    first = ask(mapped, path)
    assert first.headers["cache-control"] == "private, no-cache"
    name = first.headers["etag"]
    assert re.fullmatch('W/"[0-9a-f]{32}"', name)
    for known in (name, name.removeprefix("W/"), f'"other", {name}', "*"):
        again = ask(mapped, path, known)
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", name)
    for known in ('"other"', name.strip('W/"'), ""):
        assert ask(mapped, path, known).content == first.content
    assert ask(mapped, path, name, "HEAD").status_code == 304
    assert ask(mapped, path, name, token="wrong-" + TOKEN).status_code == 401


def test_another_model_or_version_has_another_name(mapped, folder):
    atlas.of(mapped.service.shelf["plain"]).result(60)
    paths = ["/v1/map", "/v1/map?model=plain", "/v1/models"]
    before = [ask(mapped, path).headers["etag"] for path in paths]
    assert len(set(before)) == 3
    shelf = mapped.service.shelf = Shelf("dial")
    shelf.put(load("dial", str(folder / "dial-2.corml")))
    atlas.of(shelf["dial"]).result(60)
    assert ask(mapped, "/v1/map", before[0]).status_code == 200
    assert ask(mapped, "/v1/models", before[2]).status_code == 200


def test_a_map_that_is_being_made_has_a_name_of_its_own(mapped, monkeypatch):
    """So whoever waits for it and asks again gets 304, and the map as soon as it is there."""
    name = ask(mapped, "/v1/map").headers["etag"]
    monkeypatch.setattr(type(atlas), "state", lambda self, served: ("making", None))
    answer = ask(mapped, "/v1/map", name)
    assert (answer.status_code, answer.json()["state"]) == (200, "making")
    assert ask(mapped, "/v1/map", answer.headers["etag"]).status_code == 304
    monkeypatch.undo()
    ready = ask(mapped, "/v1/map", answer.headers["etag"])
    assert (ready.status_code, ready.json()["state"], ready.headers["etag"]) == (200, "ready", name)


def test_an_answer_that_a_reload_overtook_has_no_name(mapped, folder, monkeypatch):
    """Or the new version's map would be kept under the old one's name."""
    old, new = mapped.service.shelf["plain"], load("plain", str(folder / "dial-2.corml"))
    shelf = mapped.service.shelf = Shelf("plain")
    shelf.put(old)
    atlas.of(old).result(60)
    atlas.of(new).result(60)
    state = atlas.state
    monkeypatch.setattr(atlas, "state", lambda served: (state(served), shelf.put(new))[0])
    answer = ask(mapped, "/v1/map")
    assert answer.json()["model_version"] == new.version
    assert "etag" not in answer.headers


def test_a_kept_answer_is_made_and_compressed_once(mapped, monkeypatch):
    packed = []
    monkeypatch.setattr("corml.service.endpoint.pack", lambda *given: packed.append(given) or pack(*given))
    plain = mapped.http.get("/v1/map", headers={"Authorization": f"Bearer {TOKEN}", "Accept-Encoding": "identity"})
    for _ in range(3):
        zipped = ask(mapped, "/v1/map")
        assert zipped.headers["content-encoding"] == "gzip"
        assert zipped.headers["vary"] == plain.headers["vary"] == "accept-encoding"
        assert zipped.headers["etag"] == plain.headers["etag"]
        assert zipped.content == plain.content
        assert int(zipped.headers["content-length"]) < int(plain.headers["content-length"])
    assert "content-encoding" not in plain.headers
    assert len(packed) == 1


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        (b"gzip", True),
        (b"deflate, GZIP;q=0.5", True),
        (b"*", True),
        (b"br, *;q=0.1", True),
        (b"gzip;q=0, *", False),
        (b"gzip; q=0.000", False),
        (b"gzip;q=0.001", True),
        (b"identity", False),
        (b"br", False),
        (b"", False),
        (None, False),
    ],
)
def test_only_who_accepts_gzip_gets_it(header, accepted):
    assert accepts_gzip(header) is accepted


def test_what_gains_nothing_is_not_compressed():
    assert pack(b"{}").chosen(b"gzip") == (b"{}", [(b"content-length", b"2")])
