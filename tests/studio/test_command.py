"""`corml studio` from a file to a page: fits while it is watched, fits another, and leaves nothing behind."""

import glob
import json
import re
import signal
import tempfile
import time

import httpx
import pytest

import corml
from corml.cli._main import main
from corml.cli.studio import is_model_file, name_of
from support import random_interactions


@pytest.fixture(scope="module")
def ratings(tmp_path_factory):
    data = random_interactions(3, 60, 30, 8)
    path = tmp_path_factory.mktemp("data") / "my ratings.csv"
    pairs = (f"{data.users[u]},{data.items[i]}" for u, i in zip(data.user, data.item, strict=True))
    path.write_text("user,item\n" + "\n".join(pairs) + "\n")
    return path


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """Views, purchases and returns, with times: users view a lot and buy a little of it."""
    data = random_interactions(4, 60, 30, 9)
    kinds = ["view", "view", "view", "buy", "view", "return"]
    rows = [
        f"{data.users[u]},{data.items[i]},{kinds[at % 6]},{1_700_000_000 + 3600 * at}"
        for at, (u, i) in enumerate(zip(data.user, data.item, strict=True))
    ]
    path = tmp_path_factory.mktemp("shop") / "shop.csv"
    path.write_text("user,item,kind,time\n" + "\n".join(rows) + "\n")
    return path


WEIGHED = ("--event", "kind", "--weights", "view=1,buy=5", "--negative", "return")
WEIGHED_IN_PYTHON = {"event": "kind", "weights": {"view": 1, "buy": 5}, "negative": ["return"]}


def events(address, number):
    """All events of a job, as the page hears them."""
    with httpx.stream("GET", f"{address}v1/jobs/{number}/events", timeout=60) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        return [json.loads(line.removeprefix("data: ")) for line in answer.iter_lines() if line.startswith("data: ")]


def test_a_file_is_read_examined_and_fitted_while_the_page_hears_of_it(start, ratings, tmp_path):
    out = tmp_path / "kept.corml"
    folders = set(glob.glob(f"{tempfile.gettempdir()}/corml-studio-*"))
    running = start(ratings, "--model", "corml", "--set", "rank=4", "--out", out)
    heard = events(running.address, 1)
    assert heard[-1]["state"] == "done", heard[-1]
    assert {event["step"] for event in heard} <= {"read", "examine", "fit", "test"}
    with httpx.Client(base_url=running.address) as api:
        (model,) = api.get("v1/models").json()["models"]
        assert (model["name"], model["kind"], model["users"]) == ("my-ratings", "corml", 60)
        assert out.exists()
        assert api.get("v1/data").json()["facts"]["rows read"] > 0
        begun = api.post("v1/jobs", json={"kind": "ease", "settings": {"l2": "20"}}).json()
        assert events(running.address, begun["id"])[-1]["state"] == "done"
        assert [one["name"] for one in api.get("v1/models").json()["models"]] == ["my-ratings", "ease-2"]
        for method in ("POST", "PUT", "DELETE"):
            foreign = api.request(method, "v1/jobs", json={"kind": "ease"}, headers={"Origin": "http://evil.example"})
            assert (foreign.status_code, foreign.json()["title"]) == (403, "Origin not allowed")
        assert len(api.get("v1/jobs").json()["jobs"]) == 2
        own = {"Origin": running.address.rstrip("/")}
        wrong = api.post("v1/jobs", json={"kind": "ease", "settings": {"no_such": 1}}, headers=own)
        assert (wrong.status_code, "no_such" in wrong.json()["detail"]) == (422, True)
    assert running.stop()[0] == 0
    assert set(glob.glob(f"{tempfile.gettempdir()}/corml-studio-*")) <= folders


def test_what_is_wrong_with_a_file_is_told_in_the_page(start, tmp_path):
    path = tmp_path / "empty.csv"
    path.write_text("user,item\n")
    running = start(path)
    last = events(running.address, 1)[-1]
    assert last["state"] == "failed"
    assert last["text"].endswith(".")
    with httpx.Client(base_url=running.address) as api:
        assert api.get("v1/models").json() == {"models": []}
        assert api.get("readyz").status_code == 503
        assert api.post("v1/jobs", json={}).status_code == 403
        assert api.get("v1/jobs/7/events").status_code == 404
    assert running.stop()[0] == 0


def test_a_fit_stops_when_the_studio_is_ended(start):
    running = start()
    begun = time.monotonic()
    code, _ = running.stop()
    assert code == 0
    assert time.monotonic() - begun < 15


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_the_studio_leaves_no_file_behind(start, ratings, number, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    running = start(ratings, "--model", "corml", "--set", "rank=4")
    assert events(running.address, 1)[-1]["state"] == "done"
    assert list(tmp_path.glob("corml-studio-*"))
    code, printed = running.stop(number)
    assert (code, printed.count("Traceback")) == (0, 0)
    assert not list(tmp_path.glob("corml-studio-*"))


def test_a_studio_under_nohup_survives_the_end_of_its_terminal(start, ratings):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # what is started now ignores it too
    try:
        running = start(ratings, "--model", "popularity")
    finally:
        signal.signal(signal.SIGHUP, before)
    assert events(running.address, 1)[-1]["state"] == "done"
    running.process.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    assert httpx.get(f"{running.address}healthz").status_code == 200
    assert running.stop()[0] == 0


def test_the_page_follows_a_fit_and_opens_the_model_beside(new_page, start, ratings):
    running = start(ratings, "--model", "corml", "--set", "rank=4")
    web = new_page(running.address)
    page = web.open(wait=".job, .row")
    page.wait_for_selector(".row")
    page.wait_for_selector(".persona")
    page.locator(".persona").first.click()
    page.get_by_role("button", name="Refit").click()
    page.locator("dialog select").select_option("ease")
    page.fill("dialog textarea", "l2")
    page.locator("dialog .strong").click()
    page.get_by_text("is none.").wait_for()
    page.fill("dialog textarea", "l2=20")
    page.locator("dialog .strong").click()
    page.wait_for_selector(".two ol >> nth=1")
    assert page.locator("select[aria-label='Model of list b']").input_value() == "ease-2"


def test_a_refit_with_other_weights_reads_the_events_anew(start, shop, tmp_path):
    path = tmp_path / "shop.csv"
    path.write_text(shop.read_text())
    running = start(path, *WEIGHED, "--model", "ease")
    assert events(running.address, 1)[-1]["state"] == "done"
    with httpx.Client(base_url=running.address, timeout=60) as api:

        def refit(**more):
            begun = api.post("v1/jobs", json={"kind": "ease", **more})
            assert begun.status_code == 200, begun.text
            assert events(running.address, begun.json()["id"])[-1]["state"] == "done", api.get("v1/jobs").text
            return api.get("v1/jobs").json()["jobs"][-1]

        def read_with(model):
            return api.get("v1/data", params={"model": model}).json()["source"]["options"]

        (first,) = api.get("v1/jobs").json()["jobs"]
        weights = {"view": 1.0, "buy": 5.0, "return": 1.0}
        assert first["weighing"] == {"weights": weights, "negative": ["return"], "half_life": None, "times": True}
        other = {"view": 0.5, "buy": 20, "return": 3}
        second = refit(weights=other, half_life="10d")
        assert second["weighing"]["weights"] == other
        assert read_with(second["model"])["half_life"] == "10d"
        for options in (
            {"event": "kind", "weights": other, "negative": ["return"], "half_life": "10d"},
            WEIGHED_IN_PYTHON,
        ):
            model = corml.models.make("ease").fit(corml.load(path, **options))
            name = second["model"] if "half_life" in options else first["model"]
            listed = api.post("v1/recommend", json={"history": ["i1", "i2"], "model": name}).json()["items"]
            ours = model.recommend(history=[["i1", "i2"]], k=10)
            assert [one["item"] for one in listed] == ours.items[0].tolist()
            assert [one["score"] for one in listed] == pytest.approx(ours.scores[0].tolist(), rel=1e-4)
        same = refit(weights=weights, half_life=None)  # nothing else than at first: fitted on the data that are open
        versions = {one["name"]: one["version"] for one in api.get("v1/models").json()["models"]}
        assert versions[same["model"]] == versions[first["model"]] != versions[second["model"]]

        for wrong, sentence in (
            ({"weights": {"view": 1}}, "each event type"),
            ({"weights": {"view": 0, "buy": 0, "return": 1}}, "Nothing would be left"),
            ({"half_life": "soon"}, "half-life must be a length of time"),
        ):
            refused = api.post("v1/jobs", json={"kind": "ease", **wrong})
            assert (refused.status_code, sentence in refused.json()["detail"]) == (422, True), refused.text

        path.write_text(shop.read_text() + "u1,i1,buy,1750000000\n")
        changed = refit(weights={**weights, "buy": 7})
        found = api.get("v1/data", params={"model": changed["model"]}).json()["findings"]
        assert "the file has changed" in found[0]["what"]
    assert running.stop()[0] == 0


def test_the_form_has_a_weight_for_each_kind_and_shows_both_weighings_side_by_side(new_page, start, shop):
    running = start(shop, *WEIGHED, "--model", "ease", "--set", "l2=20")
    web = new_page(running.address)
    page = web.open(wait=".row")
    page.wait_for_selector(".persona")
    page.locator(".persona").first.click()
    page.get_by_role("button", name="Refit").click()
    form = page.locator("dialog")
    assert form.locator("select").input_value() == "ease"
    assert form.locator("textarea").input_value() == "l2=20"
    assert form.get_by_label("view").input_value() == "1"
    assert form.get_by_label("return negative feedback").input_value() == "1"
    form.get_by_label("buy").fill("")
    page.locator("dialog .strong").click()
    page.get_by_text("must be a number of 0 or more").wait_for()
    form.get_by_label("buy").fill("50")
    form.get_by_label("Half-life").fill("30d")
    web.keep("refit-weights")
    page.locator("dialog .strong").click()
    page.wait_for_selector(".two ol >> nth=1")
    assert page.locator(".weighed").all_inner_texts() == [
        "view 1 · buy 5 · return 1",
        "view 1 · buy 50 · return 1 · half-life 30d",
    ]
    web.keep("compare-weights")
    page.set_viewport_size({"width": 390, "height": 844})  # with one button more than a service has
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("button", name="Data").click()
    page.wait_for_selector(".findings")
    facts = dict(
        page.locator(".all tr").evaluate_all("all => all.map(row => [...row.cells].map(one => one.innerText))")
    )
    assert re.fullmatch(r"view \d+\.\d\d % · buy \d+\.\d\d %", facts["Share of the weight by last event"])


def test_data_without_kinds_have_no_weights_to_choose(new_page, start, ratings):
    running = start(ratings, "--model", "ease")
    page = new_page(running.address).open(wait=".row")
    page.get_by_role("button", name="Refit").click()
    page.wait_for_selector("dialog textarea")
    assert page.locator(".weights").count() == 0
    with httpx.Client(base_url=running.address) as api:
        for wrong in ({"weights": {"buy": 2}}, {"half_life": "3d"}):
            assert api.post("v1/jobs", json={"kind": "ease", **wrong}).status_code == 422
        assert api.post("v1/jobs", json={"kind": "ease", "half_life": None}).status_code == 200


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["no-such-file.csv"], "no-such-file.csv"),
        (["no-such.corml"], "no-such.corml"),
        (["a.corml", "b.csv"], "model files alone"),
        (["movielens-small", "--set", "rnak=4"], "rnak"),
        (["movielens-small", "--model", "nobody"], "nobody"),
    ],
)
def test_wrong_words_are_said_before_anything_opens(arguments, sentence, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        main(["studio", *arguments, "--no-browser"])
    assert end.value.code not in (0, None)
    assert sentence in capsys.readouterr().err


def test_models_are_known_by_their_bytes_and_named_for_an_address(models, tmp_path):
    renamed = tmp_path / "model.bin"
    renamed.write_bytes((models / "ease.corml").read_bytes())
    assert is_model_file(str(renamed))
    assert not is_model_file(__file__)
    named = [name_of(path) for path in ("a/my shop (2).csv.gz", "données.csv", "日本.csv")]
    assert named == ["my-shop-2", "donn-es", "data"]
