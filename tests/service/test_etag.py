"""Answers that may be kept: named by what they are made of, and sent once for each version."""

import re

import pytest

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
    assert re.fullmatch('"[0-9a-f]{32}"', name)
    for known in (name, f"W/{name}", f'"other", {name}', "*"):
        again = ask(mapped, path, known)
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", name)
    for known in ('"other"', name.strip('"'), ""):
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


def test_a_map_that_is_being_made_is_not_kept(mapped, monkeypatch):
    name = ask(mapped, "/v1/map").headers["etag"]
    monkeypatch.setattr(type(atlas), "state", lambda self, served: ("making", None))
    answer = ask(mapped, "/v1/map", name)
    assert (answer.status_code, answer.json()["state"]) == (200, "making")
    assert answer.headers["cache-control"] == "no-store"
    assert "etag" not in answer.headers


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
