"""The studio as one file: opened without a server it lists what the service lists, and calls nobody."""

import csv
import itertools
import json
from dataclasses import replace

import numpy as np
import pytest

import corml
from corml.persistence import container
from corml.service.export import export_model
from serving import wait_for
from support import random_interactions

LIKED = ["2571", "541", "608"]  # The Matrix, Blade Runner, Fargo
HISTORY = "h=" + ",".join(LIKED)
HISTORIES = [LIKED, ["1", "2", "34", "588", "364", "595", "480"], ["no-such-item", "858"], ["no-such-item"], []]


@pytest.fixture(scope="module")
def page_of(tmp_path_factory):
    """Exports a model and gives the address of its page."""
    folder = tmp_path_factory.mktemp("pages")
    numbers = itertools.count()

    def address(model, **how):
        path = folder / f"page {next(numbers)}.html"
        export_model(model, "html", path, **how)
        return path.as_uri()

    return address


@pytest.fixture(scope="module")
def dial(models, page_of):
    """The page of dial.corml, which the service serves too."""
    contents = container.read(models / "dial.corml")
    return page_of(corml.models.from_contents(contents), digest=contents.digest, name="dial")


@pytest.fixture
def alone(new_page, dial):
    return new_page(dial)


def ask(page, call, *given):
    """An answer of the page as a service would send it: fields that are undefined are left out."""
    return json.loads(
        page.evaluate("async ([call, given]) => JSON.stringify(await corml[call](...given))", [call, given])
    )


def same(mine, theirs, where=""):
    """Equal up to rounding; names in the same order, and nothing left out."""
    if isinstance(theirs, dict):
        assert mine.keys() == theirs.keys(), where
        for name in theirs:
            same(mine[name], theirs[name], f"{where}.{name}")
    elif isinstance(theirs, list) and theirs and not isinstance(theirs[0], float):
        assert len(mine) == len(theirs), where
        for at, (one, other) in enumerate(zip(mine, theirs, strict=True)):
            same(one, other, f"{where}[{at}]")
    elif isinstance(theirs, float | list):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-7, err_msg=where)
    else:
        assert mine == theirs, where


# --- the same answers ------------------------------------------------------------------------------------------------


def test_lists_and_their_reasons_are_those_of_the_service(alone, api):
    page = alone.open()
    ways = [{"novelty": novelty} for novelty in (0, 0.25, 1)] + [{"k": 1}, {"exclude": ["260", "296"], "k": 50}]
    for history, way in itertools.product(HISTORIES, ways):
        query = {"history": history, "k": 10, "explain": way.get("k") != 50, "model": "dial", **way}
        answer = api.post("v1/recommend", json=query)
        assert answer.status_code == 200, answer.text
        theirs = answer.json()
        theirs.pop("reason", None)  # the page explains a fallback in its own words
        theirs.pop("unknown", None)
        same(ask(page, "recommend", query), theirs, str(query))


def test_everything_else_the_page_answers_is_that_of_the_service(alone, api):
    page = alone.open()
    mine = ask(page, "similar", {"item": "2571", "k": 8, "novelty": 1})
    theirs = api.post("v1/similar", json={"item": "2571", "k": 8, "novelty": 1, "model": "dial"}).json()
    same({name: mine[name] for name in theirs}, theirs)
    for text in ("star wars", "godf", "2571", "amelie", "of the"):
        theirs = api.get("v1/items", params={"q": text, "limit": 8, "model": "dial"}).json()
        same(ask(page, "search", text), theirs, text)
    assert ask(page, "search", "?!")["items"] == []
    same(ask(page, "items", ["1", "no"]), api.post("v1/items", json={"items": ["1", "no"], "model": "dial"}).json())
    assert wait_for(lambda: api.get("v1/map", params={"model": "dial"}).json()["state"] == "ready")
    for call in ("map", "personas", "data"):
        theirs = api.get(f"v1/{call}", params={"model": "dial"}).json()
        if call == "data":  # the service finds results in the folder of the file
            theirs |= {"studies": [], "evaluations": [], "ignored": []}
        same(ask(page, call), theirs, call)
    (mine,), theirs = ask(page, "models")["models"], api.get("v1/models").json()["models"][0]
    assert mine == {name: theirs[name] for name in mine}
    assert theirs.keys() - mine.keys() == {"loaded"}


def two_groups():
    """Items of one group have nothing to do with the other: what rounding leaves of their scores must not count."""
    rng = np.random.default_rng(5)
    pairs = [(f"{g}{u}", f"{g}{i}") for g in "ab" for u in range(40) for i in rng.choice(12, 5, replace=False)]
    model = corml.CoRML(rank=6, adapt=False).fit(corml.Interactions.from_pairs(*zip(*pairs, strict=True)))
    noise = rng.normal(0, 1e-9, model.V_.shape).astype(np.float32)  # as iterations leave it in larger catalogues
    model.fitted_ = replace(model.fitted_, arrays={**model.fitted_.arrays, "V": model.V_ + noise})
    return model


def fitted(name):
    data = random_interactions(5, 150, 60, 9)
    match name:
        case "two groups":
            return two_groups()
        case "four operating points":
            return corml.CoRML.dial(data, item_norms=(-0.3, -0.1, 0.1, 0.3), rank=8, adapt=False)
        case "entries clipped":
            return corml.CoRML(filter="elementwise", rank=16, adapt=False).fit(data)
        case "no filter":
            return corml.CoRML(filter_weight=0.0, rank=16, adapt=False).fit(data)
    return corml.models.make(name).fit(data)


@pytest.mark.parametrize(
    "name", ["four operating points", "two groups", "entries clipped", "no filter", "ease", "gf-cf"]
)
def test_lists_of_other_models_are_those_of_the_library(new_page, page_of, name):
    model = fitted(name)
    web = new_page(page_of(model))
    page = web.open(wait=".list")
    is_dial = hasattr(model, "at")
    assert page.get_by_role("button", name="Compare").count() == (1 if is_dial else 0)
    rng = np.random.default_rng(1)
    liked = [item for item in model.items_.labels if not item.startswith("b")]
    for novelty in (0, 1 / 6, 0.5, 0.83, 1) if is_dial else (None,):  # 1/6: half-way between two of four points
        how = {"novelty": novelty} if is_dial else {}
        for size in (1, 4, 20):
            history = rng.choice(liked, min(size, len(liked) // 2), replace=False).tolist()
            wanted = model.recommend(history=[history], k=20, **how)
            answer = ask(page, "recommend", {"history": history, "k": 20, "explain": True, **how})
            items = [item for item in wanted.items[0] if item is not None]
            assert [one["item"] for one in answer["items"]] == items
            scores = [one["score"] for one in answer["items"]]
            np.testing.assert_allclose(scores, wanted.scores[0][: len(items)], rtol=1e-4, atol=1e-7)
            if name != "gf-cf":  # whose filters bring an item back to itself
                sums = [sum(map(sum, one["parts"].values())) for one in answer["items"]]
                np.testing.assert_allclose(sums, scores, rtol=1e-4, atol=1e-6)


# --- as a visitor plays with it --------------------------------------------------------------------------------------


def test_a_page_is_played_with_by_keys_and_calls_nobody(alone, api):
    sent = []
    alone.page.on("request", lambda request: sent.append(request.url))
    page = alone.open(wait=".persona")
    page.keyboard.press("/")
    page.keyboard.type("blade run")
    page.wait_for_selector("[role=option]")
    assert "Shift" not in page.locator(".found").inner_text()
    page.keyboard.press("Shift+Enter")  # why not needs the service: here the title is added
    alone.settled()
    page.keyboard.press("Escape")
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press("n")
    page.keyboard.press("n")
    alone.settled()
    page.wait_for_function("() => document.querySelector('.dial .end').textContent.includes('novel')")
    theirs = api.post("v1/recommend", json={"history": ["541"], "novelty": 1, "model": "dial"}).json()
    assert alone.titles() == [item["title"] for item in theirs["items"]]
    assert page.locator(".plane circle.had").count() == 1
    assert page.locator("input[type=range]").count() == 1  # the dial, and no slider for diversity
    assert page.get_by_role("button", name="Refit").count() == 0
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    assert page.locator("dialog a").count() == 0
    assert "The model is inside this page" in page.locator("dialog").inner_text()
    assert [url.partition("#")[0] for url in sent] == ["about:blank", alone.address] or sent == [alone.address]


def test_two_operating_points_stand_side_by_side_and_a_link_opens_the_same_state(alone, new_page, dial, api):
    page = alone.open(f"{HISTORY}&x=2959", wait=".row .segment")
    page.get_by_role("button", name="Compare").click()
    page.wait_for_selector(".two ol >> nth=1")
    alone.settled()
    for number, novelty in enumerate((0.5, 1)):
        query = {"history": LIKED, "novelty": novelty, "exclude": ["2959"], "model": "dial"}
        theirs = api.post("v1/recommend", json=query).json()
        assert alone.titles(number) == [item["title"] for item in theirs["items"]]
    page.locator("[data-row]").first.click()  # similar titles: why not needs the service
    page.wait_for_selector(".panel .lifts li")
    other = new_page(dial)
    other.open(page.url.partition("#")[2], wait=".two ol >> nth=1")
    other.settled()
    assert [other.titles(0), other.titles(1)] == [alone.titles(0), alone.titles(1)]
    page.get_by_role("button", name="Copy link").click()
    page.wait_for_selector(".toast.on")
    assert "service" not in page.locator(".toast").inner_text()


def test_data_and_quality_are_in_the_page(alone, api):
    page = alone.open("v=quality", wait=".measured")
    metrics = api.get("v1/models").json()["models"][0]["metrics"]
    shown = page.locator(".measured tbody td b").all_inner_texts()
    assert shown == [f"{metrics[name]:.3f}" for name in ("ndcg@10", "recall@10")]
    page.get_by_role("button", name="Data").click()
    page.wait_for_selector(".figures b")
    facts = api.get("v1/data", params={"model": "dial"}).json()["facts"]
    assert page.locator(".figures b").first.inner_text() == f"{facts['users']:,}"


def test_a_browser_that_is_too_old_gets_a_message(alone):
    alone.page.add_init_script("delete globalThis.DecompressionStream")
    page = alone.open(wait="[role=alert]")
    assert "too old for this page" in page.locator(".job").inner_text()


HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    '"><img src=x onerror=alert(2)>',
    "&lt;b&gt; ' $title ${1} `",
]


def test_titles_and_ids_are_text_whatever_they_hold(new_page, page_of, tmp_path):
    ids = {at: f"{title},{at}" for at, title in enumerate(HOSTILE)}
    pairs = [(f"u{u}", ids.get(i, f"i{i}")) for u in range(40) for i in range(12) if (u * i + u + i) % 3]
    table = tmp_path / "items.csv"
    with table.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("item", "title"), *((ids[at], title) for at, title in enumerate(HOSTILE))])
    data = corml.Interactions.from_pairs(*zip(*pairs, strict=True))
    model = corml.CoRML(rank=4, adapt=False).fit(data).with_items(table)
    assert set(HOSTILE) <= set(model.titles_.values())
    web = new_page(page_of(model, name="</title><script>alert(3)</script>"))
    alerts = []
    web.page.on("dialog", lambda dialog: alerts.append(dialog.message) or dialog.dismiss())
    page = web.open(wait=".row")
    assert page.title() == "</title><script>alert(3)</script> · corml studio"
    assert set(HOSTILE) <= set(web.titles())
    page.locator("#search").fill("alert")
    page.wait_for_selector("[role=option]")
    page.keyboard.press("Enter")
    added = page.locator(".chip .name").inner_text()
    assert added in HOSTILE
    web.open(page.url.partition("#")[2], wait=".chip")
    assert web.page.locator(".chip .name").inner_text() == added
    assert not alerts


def test_code_that_is_not_part_of_the_page_does_not_run(alone):
    page = alone.open()
    page.evaluate(
        "() => { const one = document.createElement('script'); one.textContent = 'globalThis.ran = true';"
        " document.body.append(one); }"
    )
    page.evaluate("() => fetch('https://example.invalid/').catch(() => {})")
    assert page.evaluate("() => globalThis.ran") is None
    refused = [text for text in alone.complaints if "Content Security Policy" in text]
    assert len(refused) >= 2
    alone.complaints[:] = [text for text in alone.complaints if text not in refused]
    alone.strangers.clear()


@pytest.mark.parametrize(("width", "scheme"), [(1372, "dark"), (390, "light")])
def test_the_page_fits_every_screen_and_axe_finds_nothing(new_page, dial, axe, width, scheme):
    web = new_page(dial, width=width, height=844, color_scheme=scheme, reduced_motion="reduce")
    for view in (HISTORY, f"{HISTORY}&b=dial~1~0", "v=quality"):
        axe(web, view)
        assert web.page.evaluate("() => document.documentElement.scrollWidth") <= width, view
        figures = web.page.locator(".measured td b")
        assert all(one <= width for one in figures.evaluate_all("all => all.map(n => n.getBoundingClientRect().right)"))
        web.keep(f"alone-{width}-{scheme}-{view[-6:]}")
