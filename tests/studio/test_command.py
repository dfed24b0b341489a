"""`corml studio` from a file to a page: fits while it is watched, fits another, and leaves nothing behind."""

import glob
import json
import tempfile
import time

import httpx
import pytest

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
        wrong = api.post("v1/jobs", json={"kind": "ease", "settings": {"no_such": 1}})
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
