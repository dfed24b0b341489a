"""The studio as one file: opened without a server it answers as the service does, and calls nobody."""

import csv
import io
import itertools
import json
import time
from dataclasses import replace
from importlib import resources

import numpy as np
import pytest

import corml
from corml.persistence import container
from corml.service.export import export_model

LIKED = ["2571", "541", "608"]  # The Matrix, Blade Runner, Fargo
HISTORY = "h=" + ",".join(LIKED)
HISTORIES = [
    LIKED,
    ["318"],
    ["1", "2", "34", "588", "364", "595", "480"],
    ["no-such-item", "858"],
    ["no-such-item"],
    [],
]


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
    """An answer as a service would send it: what is not defined is not there."""
    return json.loads(
        page.evaluate("async ([call, given]) => JSON.stringify(await corml[call](...given))", [call, given])
    )


def same(mine, theirs, where=""):
    """Equal but for rounding; names in the same order, and nothing left out."""
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


@pytest.mark.parametrize("history", HISTORIES, ids=str)
def test_lists_are_those_of_the_service(alone, api, history):
    page = alone.open()
    ways = [{"novelty": novelty} for novelty in (0, 0.25, 0.5, 1)]
    ways += [{"diversity": diversity, "novelty": 0.5} for diversity in (0.1, 0.5, 1)]
    ways += [{"seen": seen, "exclude": ["260", "296"]} for seen in ("exclude", "allow", "only")]
    ways += [{"only": ["260", "296", *LIKED, "1"], "seen": seen} for seen in ("exclude", "only")]
    ways += [{"k": 1}, {"k": 50, "diversity": 0.3, "exclude": ["318", "nobody-knows-this"]}]
    for way in ways:
        query = {"history": history, "k": 10, "explain": True, "model": "dial", **way}
        answer = api.post("v1/recommend", json=query)
        assert answer.status_code == 200, answer.text
        same(ask(page, "recommend", query), answer.json(), str(way))


def test_why_not_is_that_of_the_service(alone, api):
    page, verdicts = alone.open(), set()
    listed = api.post("v1/recommend", json={"history": LIKED, "k": 10, "model": "dial"}).json()["items"]
    ways = ({}, {"novelty": 1, "k": 3}, {"exclude": ["260"]}, {"diversity": 0.9}, {"diversity": 0.3, "k": 5})
    items = ("3578", "260", LIKED[0], listed[3]["item"], listed[9]["item"])
    for history, item, way in itertools.product((LIKED, [], ["no-such-item"]), items, ways):
        query = {"history": history, "item": item, "lifts": 4, "model": "dial", **way}
        theirs = api.post("v1/why-not", json=query).json()
        mine = ask(page, "whyNot", query)
        verdicts.add(theirs["verdict"])
        theirs.pop("unknown", None)
        theirs.pop("reason")  # the service puts the verdict into a sentence, the page has words of its own
        for lift in mine["lifts"]:
            lift.pop("popularity")
        for one in mine["contributions"]:
            one.pop("popularity")
        same(mine, theirs, str(query))
    assert verdicts == {"listed", "below", "seen", "excluded", "rules"}


def test_everything_else_the_studio_asks_for_is_that_of_the_service(alone, api):
    page = alone.open()
    theirs = api.post("v1/similar", json={"item": "2571", "k": 8, "novelty": 1, "model": "dial"}).json()
    mine = ask(page, "similar", {"item": "2571", "k": 8, "novelty": 1})
    mine.pop("popularity")
    same(mine, theirs)
    for text in ("star wars", "godf", "2571", "amelie", "of the", "gladiater", "matrx", "?!", "qqqq"):
        theirs = api.get("v1/items", params={"q": text, "limit": 8, "model": "dial"}).json()
        same(ask(page, "search", text), theirs, text)
    same(ask(page, "items", ["1", "no"]), api.post("v1/items", json={"items": ["1", "no"], "model": "dial"}).json())
    for _ in range(200):  # the service draws its map in the background
        if api.get("v1/map", params={"model": "dial"}).json()["state"] == "ready":
            break
        time.sleep(0.1)
    for call in ("map", "personas", "data"):
        same(ask(page, call), api.get(f"v1/{call}", params={"model": "dial"}).json(), call)
    (mine,), theirs = ask(page, "models")["models"], api.get("v1/models").json()["models"][0]
    assert mine == {name: theirs[name] for name in mine}


def two_groups():
    """Items of one group have nothing to do with the other: what rounding leaves of their scores must not count."""
    rng = np.random.default_rng(5)
    pairs = [(f"{g}{u}", f"{g}{i}") for g in "ab" for u in range(40) for i in rng.choice(12, 5, replace=False)]
    model = corml.CoRML(rank=6, adapt=False).fit(corml.Interactions.from_pairs(*zip(*pairs, strict=True)))
    noise = rng.normal(0, 1e-9, model.V_.shape).astype(np.float32)  # as iterations leave it in larger catalogues
    model.fitted_ = replace(model.fitted_, arrays={**model.fitted_.arrays, "V": model.V_ + noise})
    return model


def fitted(name):
    if name == "two groups":
        return two_groups()
    data = corml.load("movielens-small", at_least=4, k_core=20)
    if name == "four positions":
        return corml.CoRML.dial(data, item_norms=(-0.3, -0.1, 0.1, 0.3), rank=8, adapt=False)
    if name == "entries clipped":
        return corml.CoRML(filter="elementwise", rank=16, adapt=False).fit(data)
    if name == "no filter":
        return corml.CoRML(filter_weight=0.0, rank=16, adapt=False).fit(data)
    return corml.models.make(name).fit(data)


@pytest.mark.parametrize(
    "name", ["four positions", "two groups", "entries clipped", "no filter", "ease", "item-knn", "gf-cf"]
)
def test_lists_of_other_models_are_those_of_the_library(new_page, page_of, name):
    model = fitted(name)
    page = new_page(page_of(model)).open()
    is_dial = hasattr(model, "at")
    rng = np.random.default_rng(1)
    liked = [item for item in model.items_.labels if not item.startswith("b")]
    for novelty in (0, 1 / 6, 0.5, 0.83, 1) if is_dial else (None,):  # 1/6: half-way between two of four positions
        how = {"novelty": novelty} if is_dial else {}
        for size, seen in itertools.product((1, 4, 20), ("exclude", "allow", "only")):
            history = rng.choice(liked, min(size, len(liked) // 2), replace=False).tolist()
            wanted = model.recommend(history=[history], k=20, seen=seen, **how)
            answer = ask(page, "recommend", {"history": history, "k": 20, "seen": seen, "explain": True, **how})
            items = [item for item in wanted.items[0] if item is not None]
            assert [one["item"] for one in answer["items"]] == items
            scores = [one["score"] for one in answer["items"]]
            np.testing.assert_allclose(scores, wanted.scores[0][: len(items)], rtol=1e-4, atol=1e-7)
            if name != "gf-cf":  # whose filters bring an item back to itself
                sums = [sum(map(sum, one["parts"].values())) for one in answer["items"]]
                np.testing.assert_allclose(sums, scores, rtol=1e-4, atol=1e-6)


def test_a_model_without_a_metric_has_no_slider_for_diversity_and_nothing_to_compare(new_page, page_of):
    web = new_page(page_of(fitted("ease")))
    page = web.open(HISTORY, wait=".row .segment")
    assert page.locator("input[type=range]").count() == 0
    assert page.get_by_role("button", name="Compare").count() == 0
    page.keyboard.press("c")
    assert page.locator(".two").count() == 0
    refused = "only models with a metric make diverse lists"
    told = page.evaluate("() => corml.recommend({ diversity: 0.5 }).catch((fault) => fault.message)")
    assert refused in told


# --- as somebody plays with it ---------------------------------------------------------------------------------------


def test_a_page_is_played_with_by_keys_and_nothing_is_asked_of_anybody(alone, api):
    sent = []
    alone.page.on("request", lambda request: sent.append(request.url))
    page = alone.open(wait=".persona")
    page.keyboard.press("/")
    page.keyboard.type("blade run")
    page.wait_for_selector("[role=option]")
    page.keyboard.press("Enter")
    alone.settled()
    page.keyboard.type("gladiator")
    page.wait_for_selector("[role=option]")
    page.keyboard.press("Shift+Enter")
    page.wait_for_selector(".panel .lifts")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press("n")
    page.keyboard.press("n")
    alone.settled()
    page.wait_for_function("() => document.querySelector('.dial .end').textContent.includes('novel')")
    theirs = api.post("v1/recommend", json={"history": ["541"], "novelty": 1, "model": "dial"}).json()
    assert alone.titles() == [item["title"] for item in theirs["items"]]
    assert page.locator(".plane circle.had").count() == 1
    assert [url.partition("#")[0] for url in sent] == ["about:blank", alone.address] or sent == [alone.address]


def test_two_positions_of_the_dial_stand_side_by_side(alone, api):
    page = alone.open(HISTORY, wait=".row .segment")
    page.get_by_role("button", name="Compare").click()
    page.wait_for_selector(".two ol >> nth=1")
    alone.settled()
    for number, novelty in enumerate((0.5, 1)):
        theirs = api.post("v1/recommend", json={"history": LIKED, "novelty": novelty, "model": "dial"}).json()
        assert alone.titles(number) == [item["title"] for item in theirs["items"]]
    alone.keep("alone-compare")


def test_a_link_opens_the_same_state(alone, new_page, dial):
    page = alone.open(f"n=1&{HISTORY}&x=2959&d=0.3", wait=".row .segment")
    alone.settled()
    other = new_page(dial)
    other.open(page.url.partition("#")[2], wait=".never li")
    other.settled()
    assert other.titles() == alone.titles()
    page.get_by_role("button", name="Clear").click()
    alone.settled()
    assert "h=" not in page.url
    page.get_by_role("button", name="Copy link").click()
    page.wait_for_selector(".toast.on")
    assert "service" not in page.locator(".toast").inner_text()


def test_the_list_is_saved_as_csv_and_json(alone):
    page = alone.open(HISTORY, wait=".row .segment")
    saved = {}
    for words in ("CSV", "JSON"):
        page.locator(".menu summary").click()
        with page.expect_download() as file:
            page.get_by_role("button", name=words).click()
        with open(file.value.path(), encoding="utf-8") as text:
            saved[words] = text.read()
    rows = list(csv.DictReader(io.StringIO(saved["CSV"])))
    assert [row["title"] for row in rows] == alone.titles()
    assert [item["title"] for item in json.loads(saved["JSON"])["list"]["items"]] == alone.titles()


def test_what_needs_a_service_is_not_there(alone):
    page = alone.open(HISTORY)
    assert page.get_by_role("button", name="Refit").count() == 0
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    assert page.locator("dialog a").count() == 0
    assert "The model is inside this page" in page.locator("dialog").inner_text()


def test_data_and_quality_are_in_the_page(alone, api):
    page = alone.open("v=quality", wait=".measured")
    metrics = api.get("v1/models").json()["models"][0]["metrics"]
    shown = page.locator(".measured tbody td b").all_inner_texts()
    assert shown == [f"{metrics[name]:.3f}" for name in ("ndcg@10", "recall@10")]
    page.get_by_role("button", name="Data").click()
    page.wait_for_selector(".figures b")
    facts = api.get("v1/data", params={"model": "dial"}).json()["facts"]
    assert page.locator(".figures b").first.inner_text() == f"{facts['users']:,}"


def test_a_browser_that_is_too_old_is_told_so(alone):
    alone.page.add_init_script("delete globalThis.DecompressionStream")
    page = alone.open(wait="[role=alert]")
    assert "too old for this page" in page.locator(".job").inner_text()


# --- titles that would be code ---------------------------------------------------------------------------------------

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
    alone_title = page.locator(".chip .name").inner_text()
    assert alone_title in HOSTILE
    link = page.url.partition("#")[2]
    web.open(link, wait=".chip")
    assert web.page.locator(".chip .name").inner_text() == alone_title
    assert not alerts


def test_code_that_is_not_of_the_page_does_not_run(alone):
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


# --- for everybody ---------------------------------------------------------------------------------------------------

VIEWS = {"empty": "", "list": HISTORY, "compare": f"{HISTORY}&b=dial~1~0", "data": "v=data", "quality": "v=quality"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1372, 1024, 390])
def test_nothing_is_wider_than_the_screen(new_page, dial, width, scheme):
    web = new_page(dial, width=width, height=844, color_scheme=scheme)
    for name, fragment in VIEWS.items():
        page = web.open(fragment, wait=".list .row, .wide .card")
        web.settled()
        if name == "list":
            page.locator("[data-row]").first.click()
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width, name
        web.keep(f"alone-{name}-{width}-{scheme}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_either_theme(new_page, dial, scheme):
    package = pytest.importorskip("axe_playwright_python", reason="needs: pip install corml[browser]")
    axe = (resources.files(package) / "axe.min.js").read_text(encoding="utf-8")
    web = new_page(dial, color_scheme=scheme, reduced_motion="reduce")
    for name, fragment in VIEWS.items():
        page = web.open(fragment, wait=".list .row, .wide .card")
        web.settled()
        page.evaluate(axe)
        found = page.evaluate("() => axe.run({resultTypes: ['violations']})")["violations"]
        assert not [(name, one["id"], one["nodes"][0]["html"]) for one in found]


def test_measured_figures_are_in_sight_on_a_phone(new_page, dial):
    web = new_page(dial, width=390, height=844)
    page = web.open("v=quality", wait=".measured")
    for box in page.locator(".measured td b").evaluate_all("all => all.map(one => one.getBoundingClientRect().right)"):
        assert box <= 390
