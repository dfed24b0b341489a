"""The manners of the API: problems without echo, limits, tokens, names, headers, and what is in logs and metrics."""

import json
import re
import time

import msgspec
import pytest

from corml.client import ServiceError
from corml.service import access, gate
from corml.service.app import PAGES
from corml.service.metrics import Meter
from corml.service.openapi import description
from corml.service.operations import ADMIN as FOR_ADMIN
from corml.service.operations import PUBLIC, TABLE
from serving import ADMIN, TOKEN
from traversals import TRAVERSALS

CANARY = "canary-9c1d"


def body_of(operation):
    """A request that an operation answers."""
    return {
        "batch": {"queries": [{"history": ["i1"]}]},
        "why_not": {"history": ["i1"], "item": "i2"},
        "explain": {"history": ["i1"], "item": "i2"},
        "similar": {"item": "i2"},
        "distance": {"history": ["i1"], "item": "i2"},
        "items": {"items": ["i1"]},
        "reload": {},
        "fit": {},
    }.get(operation.name, {"history": ["i1"]})


def call(inside, operation, **headers):
    if operation.method == "GET":
        query = {"q": "thing"} if operation.name == "search" else {}
        return inside.http.get(operation.path, params=query, headers=headers)
    return inside.post(operation.path, body_of(operation), **headers)


# --- requests --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "operation", [one for one in TABLE if one.name not in ("reload", "fit")], ids=lambda one: one.name
)
def test_every_operation_answers(inside, operation):
    response = call(inside, operation)
    assert response.status_code == 200, response.text
    if operation.answer is not str:
        msgspec.json.decode(response.content, type=operation.answer)
    kept = "etag" in response.headers
    assert response.headers["cache-control"] == ("private, no-cache" if kept else "no-store")
    assert not kept or operation.name in ("map", "personas", "models")


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (b"", 400, "not JSON"),
        (b"{", 400, "not JSON"),
        (b'{"history": ["\xff"]}', 400, "not JSON"),
        (b'{"k": NaN}', 400, "not JSON"),
        (b"[" * 100_000, 413, "at most"),
        (b"[" * 60_000, (400, 422), ""),
        (b"[" * 30_000 + b"]" * 30_000, 422, "deep"),
        (b'{"history":' + b"[" * 5000 + b"]" * 5000 + b"}", 422, "deep"),
        (b'{"history": [' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"]}", 422, "deep"),
        (b'{"history": [[[[[[[[[[1]]]]]]]]]]}', 422, "$.history[0]"),
        ({"k": 0}, 422, "$.k"),
        ({"k": 201}, 422, "$.k"),
        ({"k": 2.5}, 422, "$.k"),
        ({"k": "5"}, 422, "$.k"),
        ({"k": True}, 422, "$.k"),
        ({"k": 1e300}, 422, "$.k"),
        ({"novelty": 1.01}, 422, "$.novelty"),
        ({"novelty": None}, 422, "got `null` at $.novelty. Leave it out instead."),
        (b'{"k": 1, "k": 2}', 422, "A name is given twice"),
        (b'{"k": 1, "\\u006b": 1}', 422, "A name is given twice"),
        (b'{"boost": {"i1": 2, "i1": 3}}', 422, "A name is given twice"),
        ({"history": "i1"}, 422, "$.history"),
        ({"history": [""]}, 422, "$.history[0]"),
        ({"history": ["x" * 2049]}, 422, "$.history[0]"),
        ({"history": ["i1"] * 1001}, 422, "$.history"),
        ({"model": "../x"}, 422, "$.model"),
        ({"seen": CANARY}, 422, "Invalid value at $.seen; there is: allow, exclude, only."),
        ({"history": [[CANARY]]}, 422, "$.history[0]"),
        ({"model": CANARY}, 404, "model"),
        ([], 422, "object"),
        ("text", 422, "object"),
        (None, 422, "object"),
    ],
)
def test_what_is_wrong_is_said_in_a_problem_that_repeats_nothing(inside, body, status, says):
    response = inside.post("/v1/recommend", body)
    assert response.status_code in (status if isinstance(status, tuple) else (status,)), response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert problem["status"] == response.status_code
    assert says.lower() in problem["detail"].lower()
    assert CANARY not in response.text
    assert len(response.content) < 300


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        ("recommend", {"history": ["i1"], "novlety": 1}, "Unknown field `novlety` at $; did you mean 'novelty'?"),
        ("recommend", {"only": {"price": {"frm": 1}}}, "Unknown field `frm` at $.only[...]; did you mean 'from'?"),
        ("recommend/batch", {"querys": []}, "Unknown field `querys` at $; did you mean 'queries'?"),
        (
            "recommend/batch",
            {"queries": [{"k": 1}, {"histroy": ["i1"]}]},
            "Unknown field `histroy` at $.queries[1]; did you mean 'history'?",
        ),
        ("similar", {"item": "i1", "zzz": 1}, "Unknown field `zzz` at $; there is: item, k, model, novelty."),
    ],
)
def test_an_unknown_field_is_named_with_its_place_and_the_nearest_known_one(inside, path, body, says):
    response = inside.post(f"/v1/{path}", body)
    assert (response.status_code, response.json()["detail"]) == (422, says)


def test_an_unknown_part_of_a_query_is_named_too(inside):
    assert inside.http.get("/v1/items?q=a&limt=3").json()["detail"] == (
        "Unknown field `limt` at $; did you mean 'limit'?"
    )


@pytest.mark.parametrize("name", ["x" * 9000, "\x00\x1b[2J", "a` - at `$.k", "é\u2028"])
def test_the_name_of_an_unknown_field_is_short_and_harmless(inside, name):
    detail = inside.post("/v1/recommend", {name: 1}).json()["detail"]
    assert detail.startswith("Unknown field `")
    assert detail.isprintable()
    assert len(detail) < 250


def test_null_is_taken_where_it_is_documented_alone(inside):
    for field in ("k", "novelty", "user", "history", "only", "model"):
        assert inside.post("/v1/recommend", {field: None}).status_code == 422
    assert (
        inside.post("/v1/jobs", {"half_life": None}).status_code == 403
    )  # understood; a service has no data to fit on


def problem_of(response):
    assert response.headers["content-type"] == "application/problem+json"
    return response.status_code, response.json()["title"]


def test_a_title_says_what_happened(guarded, monkeypatch):
    right = {"Authorization": f"Bearer {TOKEN}"}

    def asked(body, path="/v1/recommend", **headers):
        return problem_of(guarded.post(path, body, **right, **headers))

    assert asked(b"{") == (400, "Not JSON")
    assert asked({"kk": 1}) == (422, "Invalid request")
    assert asked({"user": "u1", "history": ["i1"]}) == (422, "Cannot be answered")
    assert asked({"model": "none"}) == (404, "Not found")
    assert asked({}, **{"Content-Encoding": "gzip"}) == (415, "Not plain JSON")
    assert asked({}, Host="evil.example") == (421, "Wrong host")
    assert asked({}, Origin="https://evil.example") == (403, "Origin not allowed")
    assert asked({}, path="/v1/jobs") == (403, "No data to fit on")
    admin = {"Authorization": f"Bearer {ADMIN}"}
    bad = guarded.post("/v1/admin/reload", {"file": "bad.corml"}, **admin)
    assert problem_of(bad) == (422, "Model file refused")
    refused = [problem_of(guarded.http.get("/v1/models")) for _ in range(11)]
    assert refused[0] == (401, "Token missing or wrong")
    assert refused[-1] == (429, "Too many wrong tokens")
    guarded.service.load.draining = True
    assert problem_of(guarded.http.get("/readyz")) == (503, "Stopping")
    guarded.service.load.draining = False
    monkeypatch.setattr(guarded.service.shelf, "_models", {})
    assert problem_of(guarded.http.get("/readyz")) == (503, "Not ready")
    assert asked({}) == (503, "Not ready")
    guarded.service.load.admitted = 1000
    assert asked({}) == (503, "Busy")


def test_a_user_nobody_knows_gets_what_is_popular_and_the_answer_repeats_nothing(inside):
    response = inside.post("/v1/recommend", {"user": CANARY})
    answer = response.json()
    assert response.status_code == 200
    assert (answer["source"], len(answer["items"])) == ("fallback", 10)
    assert answer["reason"] == "most popular items: the model does not know this user"
    assert CANARY not in response.text


@pytest.mark.parametrize("path", ["/v1/recommend", "/v1/recommend/batch", "/v1/why-not"])
def test_a_share_of_all_lists_is_refused_in_a_sentence(inside, path):
    query = {"history": ["i1"], "max_share": 0.1}
    body = {"queries": [query]} if path.endswith("batch") else query | ({"item": "i2"} if "why" in path else {})
    answer = inside.post(path, body)
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("max_share is about the lists of all users at once")


def test_whole_numbers_may_be_written_with_a_point(inside):
    plain = inside.post("/v1/recommend", b'{"history": ["i1", 183], "k": 3}').json()
    assert inside.post("/v1/recommend", b'{"history": ["i1", 183.0], "k": 3.0}').json() == plain
    assert plain["unknown"] == ["183"]
    many = b'{"queries": [{"history": ["i1"], "k": 3.0, "novelty": 1}]}'
    assert len(inside.post("/v1/recommend/batch", many).json()["lists"][0]["items"]) == 3


def test_huge_numbers_are_ids_like_others(inside):
    answer = inside.post("/v1/recommend", b'{"history": [' + b"9" * 300 + b', -1, "i1"]}').json()
    assert answer["unknown"] == ["9" * 300, "-1"]


@pytest.mark.parametrize(
    "headers",
    [{"Content-Type": "text/plain"}, {"Content-Type": ""}, {"Content-Encoding": "gzip"}, {"Content-Encoding": "br"}],
)
def test_only_plain_json_is_taken(inside, headers):
    assert inside.post("/v1/recommend", {"history": ["i1"]}, **headers).status_code == 415
    fine = {"Content-Type": "application/JSON; charset=utf-8", "Content-Encoding": "identity"}
    assert inside.post("/v1/recommend", {"history": ["i1"]}, **fine).status_code == 200


def test_a_body_that_is_too_large_is_refused_before_the_token_is_looked_at(guarded):
    for path, size in (("/v1/recommend", 64 << 10), ("/v1/recommend/batch", 1 << 20)):
        over = guarded.post(path, b" " * (size + 1))
        assert (over.status_code, over.headers["connection"]) == (413, "close")
        assert guarded.post(path, b" " * size).status_code == 401


def test_a_batch_has_at_most_256_queries(inside):
    query = {"history": ["i1"], "k": 1}
    assert len(inside.client.batch([query] * 256).lists) == 256
    for count in (0, 257):
        with pytest.raises(ServiceError, match="422"):
            inside.client.batch([query] * count)


@pytest.mark.parametrize("query", ["", "q=", "q=a&q=b", "q=a&limit=0", "q=a&limit=x", "q=a&other=1", "limit=3"])
def test_a_search_is_checked_too(inside, query):
    assert inside.http.get(f"/v1/items?{query}").status_code == 422


def test_search_finds_by_words_beginnings_ids_and_typing_errors(inside):
    assert [item.item for item in inside.client.search("pulp fic").items] == ["i3"]
    assert inside.client.search("i3").items[0].item == "i3"
    assert inside.client.search("cafe").items[0].title == "Le Café <b>noir</b>"
    typo = inside.client.search("plup fiction")
    assert (typo.fuzzy, typo.items[0].item) == (True, "i3")
    assert inside.client.search("zzzzzz").items == []
    many = inside.client.search("thing", limit=5)
    shares = [item.popularity for item in many.items]
    assert (many.fuzzy, len(shares), shares) == (False, 5, sorted(shares, reverse=True))


def test_items_by_id_keep_any_characters_out_of_paths(inside):
    answer = inside.client.items(["i3", "a/b", "i3", "i4"])
    assert [item.title for item in answer.items] == ["Pulp Fiction (1994)", "Le Café <b>noir</b>"]
    assert answer.unknown == ["a/b"]


# --- who may call ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", TABLE, ids=lambda one: one.name)
def test_every_route_but_the_public_ones_wants_the_token(guarded, operation):
    public = {"/healthz", "/readyz"}
    assert (operation.access == PUBLIC) == (operation.path in public)
    answers = [
        call(guarded, operation, **headers)
        for headers in (
            {},
            {"Authorization": "Bearer wrong"},
            {"Authorization": f"Basic {TOKEN}"},
            {"Authorization": f"Bearer {TOKEN[:-1]}"},
        )
    ]
    if operation.access == PUBLIC:
        assert {response.status_code for response in answers} == {200}
        return
    assert {response.status_code for response in answers} == {401}
    assert len({response.content for response in answers}) == 1  # absent and wrong look alike
    assert answers[0].headers["www-authenticate"] == "Bearer"
    right = ADMIN if operation.access == FOR_ADMIN else TOKEN
    answered = 403 if operation.name == "fit" else 200  # a plain service has no data to fit on
    assert call(guarded, operation, Authorization=f"Bearer {right}").status_code == answered
    if operation.access == FOR_ADMIN:
        assert call(guarded, operation, Authorization=f"Bearer {TOKEN}").status_code == 401


def test_routes_and_their_description_are_the_same(inside):
    described = inside.http.get("/openapi.json").json()
    assert described == json.loads(json.dumps(description()))
    rows = {(path, method.upper()) for path, methods in described["paths"].items() for method in methods}
    assert rows == {(one.path, one.method) for one in TABLE}
    names = [one.name for one in TABLE]
    assert len(set(names)) == len(names)


def test_an_admin_without_any_token_is_refused_and_one_token_serves_both(make_inside):
    assert make_inside().post("/v1/admin/reload", {}).status_code == 403
    one = make_inside(token=TOKEN)
    assert one.client.reload(file="dial-2.corml").changed
    assert one.reloads == [("dial", "dial-2.corml")]
    with pytest.raises(ServiceError, match="422: The old version stays"):
        one.client.reload(file="bad.corml")


def test_two_hundred_names_that_lead_elsewhere_are_no_names(guarded):
    assert len(set(TRAVERSALS)) >= 200
    for name in TRAVERSALS:
        for body in ({"file": name}, {"model": name}):
            response = guarded.post("/v1/admin/reload", body, Authorization=f"Bearer {ADMIN}")
            assert response.status_code in (404, 422), (name, response.text)
        response = guarded.post("/v1/recommend", {"history": ["i1"], "model": name}, Authorization=f"Bearer {TOKEN}")
        assert response.status_code in (404, 422), name
        if name.isascii() and name.isprintable() and name.strip("./ \\~"):
            page = guarded.http.get("/page/" + name.lstrip("/"))
            assert page.status_code in (404, 405), name
    assert guarded.reloads == []


def test_many_failures_are_told_to_wait_and_the_right_token_still_works(guarded):
    codes = [guarded.http.get("/v1/models").status_code for _ in range(12)]
    assert codes == [401] * 10 + [429] * 2
    assert guarded.client.models()


def test_an_address_that_calls_too_often_is_told_to_wait(make_inside):
    inside = make_inside(rate=3)
    codes = [inside.http.get("/v1/models").status_code for _ in range(5)]
    assert codes[:3] == [200] * 3
    assert 429 in codes
    assert inside.http.get("/healthz").status_code == 200


def test_an_address_may_call_again_at_the_agreed_rate(make_inside, monkeypatch):
    inside, now = make_inside(rate=2), [100.0]
    monkeypatch.setattr(access.time, "monotonic", lambda: now[0])
    codes = []
    for moment in (100, 100, 100, 100.4, 100.5, 100.6, 101.0):
        now[0] = moment
        codes.append(inside.http.get("/v1/models").status_code)
    assert codes == [200, 200, 429, 429, 200, 429, 200]


@pytest.mark.parametrize("host", ["evil.example", "", "testserver.evil.example", "127.0.0.1.evil.example:80"])
def test_other_names_are_not_answered(inside, host):
    assert inside.http.get("/v1/models", headers={"Host": host}).status_code == 421
    assert inside.http.get("/v1/models", headers={"Host": "TestServer:8000"}).status_code == 200


def test_a_refusal_that_is_raised_again_and_again_keeps_nothing_of_the_requests(inside):
    inside.http.get("/v1/models", headers={"Host": "evil.example"})
    assert gate._HOST.__traceback__ is None


# --- overload and errors ---------------------------------------------------------------------------------------------


def test_a_full_service_refuses_at_once_and_its_health_is_spared(inside):
    inside.service.load.admitted = 2 * inside.options.in_flight
    refused = inside.http.get("/v1/models")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert [inside.http.get(path).status_code for path in ("/healthz", "/readyz", "/metrics")] == [200] * 3
    inside.service.load.receiving = 1  # one of them only waits for its body
    assert inside.http.get("/v1/models").status_code == 200


def test_work_that_takes_too_long_is_given_up(make_inside, monkeypatch):
    inside = make_inside(timeout=0.05)
    operation = next(one for one in TABLE if one.name == "search")
    monkeypatch.setattr(type(inside.service.shelf["dial"].lookup), "find", lambda *_: time.sleep(0.3))
    response = call(inside, operation)
    assert response.status_code == 504
    assert response.headers["content-type"] == "application/problem+json"


def test_an_error_in_the_service_shows_nothing(inside, monkeypatch, capfd):
    def broken(*_):
        raise RuntimeError(f"secret {CANARY}")

    monkeypatch.setattr(type(inside.service.shelf), "all", broken)
    response = inside.http.get("/v1/models")
    assert response.status_code == 500
    log = capfd.readouterr().err
    assert CANARY not in response.text + log
    failure = next(line for line in map(json.loads, log.splitlines()) if line["event"] == "failure")
    assert failure["kind"] == "RuntimeError"
    assert failure["place"].startswith("test_http.py:")


def test_a_service_that_is_about_to_stop_is_not_ready_and_lets_connections_go(inside):
    inside.service.load.draining = True
    assert inside.http.get("/readyz").status_code == 503
    answer = inside.http.get("/v1/models")
    assert (answer.status_code, answer.headers["connection"]) == (200, "close")


def test_paths_and_methods_that_are_not_there(inside):
    assert inside.http.get("/v2/recommend").status_code == 404
    wrong = inside.http.put("/v1/items")
    assert (wrong.status_code, set(wrong.headers["allow"].split(", "))) == (405, {"GET", "HEAD", "POST"})
    assert inside.http.get("/v1/recommend").status_code == 405
    assert inside.http.head("/v1/models").content == b""


# --- pages, logs and metrics -----------------------------------------------------------------------------------------


def test_pages_load_nothing_from_elsewhere_and_run_nothing_inline(inside):
    page = inside.http.get("/docs")
    assert page.status_code == 200
    assert "default-src 'self'" in page.headers["content-security-policy"]
    assert page.headers["x-content-type-options"] == "nosniff"
    for file in (one for one in PAGES.iterdir() if one.name.startswith("api.")):
        text = file.read_text("utf-8")
        assert not re.findall(r"(?:https?:)?//[\w.-]+\.\w+", text), file.name
    html = page.text
    assert not re.search(r"<script(?![^>]*\bsrc=)", html)
    assert not re.search(r"\son\w+=|\sstyle=|<style", html)
    linked = re.findall(r'(?:src|href)="([^"#]+)"', html)
    assert linked
    assert all(inside.http.get(to if to.startswith("/") else f"/{to}").status_code == 200 for to in linked)


def test_pages_can_be_left_out(make_inside):
    inside = make_inside(docs=False)
    assert [inside.http.get(path).status_code for path in ("/docs", "/openapi.json", "/page/api.js")] == [404] * 3


def test_logs_and_metrics_tell_what_happened_and_nothing_that_was_sent(guarded, capfd):
    meter = guarded.service.meter
    forged = {"X-Request-ID": 'a"}\n{"level":"info"', "User-Agent": CANARY, "Cookie": CANARY}
    right = {"Authorization": f"Bearer {TOKEN}"}
    for headers in (right, {}, {"Authorization": f"Bearer {CANARY}"}):
        guarded.post("/v1/recommend", {"history": ["i1", CANARY], "user": CANARY}, **headers, **forged)
        guarded.post("/v1/recommend", {"history": ["i1", f"{CANARY}\n\x1b[31m"]}, **headers)
        guarded.post("/v1/explain", {"user": CANARY, "item": CANARY}, **headers)
        guarded.http.get("/v1/items", params={"q": CANARY}, headers=headers)
        guarded.http.get(f"/{CANARY}?{CANARY}", headers=headers)
    fine = guarded.post("/v1/recommend", {"history": [CANARY]}, **right, **{"X-Request-ID": "mine-1"})
    assert fine.headers["x-request-id"] == "mine-1"
    log = capfd.readouterr().err
    text = guarded.http.get("/metrics", headers=right).text
    for secret in (CANARY, TOKEN, ADMIN):
        assert secret not in log
        assert secret not in text
        assert secret not in guarded.http.get("/openapi.json").text
        assert secret not in repr(guarded.options)
    lines = [json.loads(line) for line in log.splitlines()]
    assert len(lines) == 16
    assert {"ts", "level", "event", "request_id", "route", "code", "ms", "sent"} <= set(lines[1])
    assert (lines[1]["route"], lines[1]["code"], lines[1]["model"]) == ("recommend", 200, "dial")
    assert lines[1]["model_version"] == guarded.service.shelf["dial"].version
    assert lines[-1]["request_id"] == "mine-1"
    assert 'corml_requests_total{code="200",model="dial",route="recommend"} 2.0' in text
    assert "corml_unknown_ids_total 2.0" in text
    assert "corml_fallback_total 1.0" in text
    assert re.search(r'corml_model_info\{kind="corml-dial",model="dial",version="\w{16}"\} 1.0', text)
    assert "corml_nonfinite_total 0.0" in text
    assert len([line for line in text.splitlines() if not line.startswith("#")]) < 200
    assert isinstance(meter, Meter)


def test_a_score_that_is_no_number_never_leaves_the_service(inside, monkeypatch):
    from corml.service import lists

    plain = lists.ranked

    def spoiled(model, columns, scores):
        items = plain(model, columns, scores)
        items[0].score = float("nan")
        return items

    monkeypatch.setattr(lists, "ranked", spoiled)
    answer = inside.client.recommend(["i1"], k=3)
    assert [item.rank for item in answer.items] == [2, 3]
    assert "not finite" in answer.reason
    assert "corml_nonfinite_total 1.0" in inside.http.get("/metrics").text


def test_models_are_listed_with_what_they_explain_and_settings_as_json(inside):
    listed = inside.http.get("/v1/models").json()["models"]
    assert {one["name"]: one["explains"] for one in listed} == {
        **dict.fromkeys(("dial", "plain", "no-users"), True),
        "popularity": False,
    }
    settings = listed[0]["settings"]
    assert settings["item_norms"] == [-0.2, 0.0, 0.2]
    assert settings["of"]["rank"] == 6
