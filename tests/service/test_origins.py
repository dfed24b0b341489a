"""Pages of other origins change nothing, and read nothing unless they were allowed by name."""

import pytest

from corml.errors import UsageError
from corml.service.operations import TABLE
from corml.service.options import Options, origins
from serving import ADMIN, TOKEN

SHOP = "https://shop.example"
POSTS = [one for one in TABLE if one.method == "POST"]
FOREIGN = ("https://evil.example", "http://testserver:81", "http://testserver.evil.example", "null", "", "testserver")


@pytest.mark.parametrize("operation", POSTS, ids=lambda one: one.name)
@pytest.mark.parametrize("token", [None, TOKEN, ADMIN], ids=["no token", "token", "admin"])
def test_no_page_of_another_origin_may_send_anything(guarded, operation, token):
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    for origin in FOREIGN:
        answer = guarded.post(operation.path, {}, Origin=origin, **headers)
        assert (answer.status_code, answer.json()["title"]) == (403, "Origin not allowed"), origin
        assert "access-control-allow-origin" not in answer.headers
    assert guarded.reloads == []


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH"])
def test_methods_that_change_something_are_refused_whatever_the_path(inside, method):
    for path in ("/v1/jobs", "/v1/nothing", "/healthz"):
        assert inside.http.request(method, path, headers={"Origin": "https://evil.example"}).status_code == 403
    assert inside.http.request(method, "/v1/jobs").status_code == 405


def test_the_page_of_the_service_itself_and_programs_may_call(inside):
    for headers in ({"Origin": "http://testserver"}, {"Origin": "https://testserver"}, {}):  # https: behind a proxy
        assert inside.post("/v1/recommend", {}, **headers).status_code == 200
    local = {"Host": "testserver:8000", "Origin": "http://testserver:8000"}
    assert inside.post("/v1/recommend", {}, **local).status_code == 200


def test_a_name_that_was_bound_to_this_machine_is_no_origin_of_ours(inside):
    """DNS rebinding: Origin and Host agree, and neither is a name of this service."""
    rebound = {"Host": "evil.example", "Origin": "http://evil.example"}
    assert inside.post("/v1/recommend", {}, **rebound).status_code == 421


def test_without_cors_no_answer_speaks_of_origins(inside):
    answer = inside.http.get("/v1/models", headers={"Origin": SHOP})
    assert answer.status_code == 200
    assert not [name for name in answer.headers if name.startswith("access-control")]
    asked = inside.http.options("/v1/recommend", headers={"Origin": SHOP, "Access-Control-Request-Method": "POST"})
    assert asked.status_code == 403


# --- allowed origins -------------------------------------------------------------------------------------------------


@pytest.fixture
def shared(make_inside):
    """A service whose pages may be those of two shops."""
    return make_inside(token=TOKEN, cors=(SHOP, "http://localhost:3000"))


def test_a_preflight_is_answered_without_a_token_and_outside_the_rate(make_inside):
    inside = make_inside(token=TOKEN, cors=(SHOP,), rate=1)
    asks = {"Origin": SHOP, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    for _ in range(5):
        answer = inside.http.options("/v1/recommend", headers=asks)
        assert (answer.status_code, answer.content) == (204, b"")
        assert answer.headers["access-control-allow-origin"] == SHOP
        assert "POST" in answer.headers["access-control-allow-methods"]
        allowed = answer.headers["access-control-allow-headers"]
        assert {"authorization", "content-type", "traceparent"} <= set(allowed.split(", "))
        assert answer.headers["vary"] == "origin"
    foreign = inside.http.options("/v1/recommend", headers={**asks, "Origin": "https://evil.example"})
    assert foreign.status_code == 403
    assert "access-control-allow-origin" not in foreign.headers
    assert make_inside(cors=(SHOP,)).http.options("/v1/recommend").status_code == 405  # nobody asked what is allowed


@pytest.mark.parametrize("origin", [SHOP, "http://localhost:3000"])
def test_pages_of_allowed_origins_read_answers_and_problems(shared, origin):
    right = {"Origin": origin, "Authorization": f"Bearer {TOKEN}"}
    answers = [
        shared.post("/v1/recommend", {"history": ["i1"]}, **right),
        shared.post("/v1/recommend", {"kk": 1}, **right),
        shared.post("/v1/recommend", {}, Origin=origin),
        shared.http.get("/v1/models", headers=right),
        shared.http.get("/nothing", headers=right),
    ]
    assert [answer.status_code for answer in answers] == [200, 422, 401, 200, 404]
    for answer in answers:
        assert answer.headers["access-control-allow-origin"] == origin
        assert "origin" in answer.headers["vary"]
        assert "x-request-id" in answer.headers["access-control-expose-headers"]
        assert "access-control-allow-credentials" not in answer.headers


@pytest.mark.parametrize(
    "origin", ["https://shop.example.evil.example", "http://shop.example", f"{SHOP}:444", "https://evilshop.example"]
)
def test_origins_are_compared_whole(shared, origin):
    right = {"Origin": origin, "Authorization": f"Bearer {TOKEN}"}
    assert shared.post("/v1/recommend", {}, **right).status_code == 403
    read = shared.http.get("/v1/models", headers=right)
    assert "access-control-allow-origin" not in read.headers
    assert "origin" in read.headers["vary"]  # so that no cache gives it to a page that may read it
    assert "origin" in shared.http.get("/v1/models").headers["vary"]


def test_origins_come_one_by_one_or_as_a_list_as_browsers_write_them():
    given = ["https://Shop.example:443, http://localhost:3000", "http://a.example:80"]
    assert origins(given) == (SHOP, "http://localhost:3000", "http://a.example")
    assert Options(models={"a": "a"}, cors=origins(given)).cors == origins(given)


@pytest.mark.parametrize(
    "origin", ["*", "null", "", "shop.example", "https://shop.example/", "https://*.example", "ftp://a", f"{SHOP}\n"]
)
def test_what_no_browser_sends_is_refused_with_an_example(origin):
    with pytest.raises(UsageError, match=r"Invalid origin .* \(--cors\).*https://shop.example"):
        Options(models={"a": "a"}, cors=(origin,))


# --- traces ----------------------------------------------------------------------------------------------------------

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def test_a_trace_is_passed_back_and_logged(inside, capfd):
    for body in ({}, {"kk": 1}):
        assert inside.post("/v1/recommend", body, traceparent=TRACE).headers["traceparent"] == TRACE
    log = capfd.readouterr().err
    assert log.count(f'"traceparent": "{TRACE}"') == 2


@pytest.mark.parametrize(
    "trace",
    ["", "x", TRACE + "0", TRACE.upper(), "ff" + TRACE[2:], f"00-{'0' * 32}-00f067aa0ba902b7-01", TRACE + "\n"],
)
def test_what_is_no_trace_is_forgotten(inside, capfd, trace):
    assert "traceparent" not in inside.post("/v1/recommend", {}, traceparent=trace).headers
    assert "traceparent" not in capfd.readouterr().err
