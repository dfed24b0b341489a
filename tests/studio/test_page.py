"""The studio page as a visitor plays with it, in a real browser: every story, both themes, three widths."""

import csv
import io
import json
import shutil

import pytest

import corml

LIKED = ["2571", "541", "608"]  # The Matrix, Blade Runner, Fargo
HISTORY = "h=" + ",".join(LIKED)


def asked(api, **query):
    answer = api.post("v1/recommend", json={"k": 10, "explain": True, "model": "dial", **query})
    assert answer.status_code == 200, answer.text
    return answer.json()


def titles(answer):
    return [item["title"] for item in answer["items"]]


def search(page, text, then="Enter"):
    page.fill("#search", text)
    page.wait_for_selector("[role=option]")
    page.locator("#search").press(then)


# --- lists and their reasons -----------------------------------------------------------------------------------------


def test_without_a_history_there_are_popular_items_and_six_sample_profiles(web, api):
    page = web.open(wait=".persona")
    assert page.locator(".persona").count() == 6
    assert "the same for all users" in page.locator(".fallback").inner_text()
    assert web.titles() == api.get("v1/map", params={"model": "dial"}).json()["titles"][:10]
    web.keep("empty")
    page.locator(".persona").nth(2).click()
    page.wait_for_selector(".chip")
    wanted = api.get("v1/personas").json()["personas"][2]
    web.settled()
    assert page.locator(".chip .name").all_inner_texts() == titles(wanted)
    assert web.titles() == titles(asked(api, history=[item["item"] for item in wanted["items"]], novelty=0.5))


def test_bars_are_the_exact_contributions_in_the_colours_of_the_history(web, api):
    def sums(item):
        return [sum(values) for values in zip(*item["parts"].values(), strict=True)]

    page = web.open(HISTORY)
    web.settled()
    answer = asked(api, history=LIKED, novelty=0.5)
    colours = page.locator(".chip .dot").evaluate_all("all => all.map(one => getComputedStyle(one).backgroundColor)")
    longest = max(sum(max(0, v) for v in sums(item)) for item in answer["items"])
    for number, item in enumerate(answer["items"][:5]):
        row = page.locator(".row").nth(number)
        drawn = row.locator(".segment").evaluate_all(
            "all => all.map(one => [getComputedStyle(one).backgroundColor, parseFloat(one.style.width)])"
        )
        by_item = dict(zip(answer["history"], sums(item), strict=True))
        wanted = [(colours[at], 100 * by_item[one] / longest) for at, one in enumerate(LIKED) if by_item[one] > 0]
        assert [colour for colour, _ in drawn] == [colour for colour, _ in wanted]
        assert [share for _, share in drawn] == pytest.approx([share for _, share in wanted], abs=0.05)
        assert row.locator(".bar").evaluate("bar => bar.clientWidth") > 100
    web.keep("list")


def test_an_open_row_adds_up_and_pointing_at_a_title_fades_the_others(web):
    page = web.open(HISTORY)
    page.locator("[data-row]").nth(1).click()
    page.wait_for_selector(".reasons")
    figures = [float(text) for text in page.locator(".reasons .parts .figure").all_inner_texts()]
    assert len(figures) == len(LIKED)
    assert sum(figures) == pytest.approx(float(page.locator(".reasons .sum b").inner_text()), abs=2e-4)
    web.keep("reasons")
    page.locator(".chip").nth(1).hover()
    page.wait_for_selector(".segment.faded")
    kept = page.locator(".row .segment:not(.faded)").evaluate_all("all => all.map(one => one.style.background)")
    assert set(kept) == {"var(--c1)"}
    page.mouse.move(700, 890)
    page.wait_for_function("() => !document.querySelector('.segment.faded')")


def test_the_dial_and_the_slider_for_diversity_move_the_list_and_badges_show_how(web, api):
    page = web.open(HISTORY, wait="#diversity")
    web.settled()
    before = web.titles()
    page.locator("#dial").focus()
    page.keyboard.press("ArrowRight")
    web.settled()
    after = web.titles()
    assert after == titles(asked(api, history=LIKED, novelty=1)) != before
    assert page.locator(".badge.new").count() == len([title for title in after if title not in before])
    assert "novel" in page.locator(".dial .end").first.inner_text()
    page.locator("#diversity").fill("0.8")
    web.settled()
    assert web.titles() == titles(asked(api, history=LIKED, novelty=1, diversity=0.8)) != after
    assert "d=0.8" in page.url


def test_seen_items_are_added_and_hidden_items_come_back_when_asked_for(web):
    page = web.open(HISTORY)
    first, second = web.titles()[:2]
    page.locator("[data-row]").first.click()
    page.get_by_role("button", name="Never show").click()
    web.settled()
    assert first not in web.titles()
    assert "x=" in page.url
    page.get_by_role("button", name=f"Show {first} again").click()
    web.settled()
    assert web.titles()[0] == first
    page.locator("[data-row]").nth(1).click()
    page.get_by_role("button", name="Seen it: add").click()
    web.settled()
    assert page.locator(".chip .name").all_inner_texts()[-1] == second
    assert second not in web.titles()


# --- search, why not, similar ----------------------------------------------------------------------------------------


def test_titles_are_found_added_and_asked_about_and_lifted_to_the_promised_rank(web, api):
    page = web.open(HISTORY)
    page.keyboard.press("/")
    page.keyboard.type("silence of the la")
    page.wait_for_selector("[role=option]")
    page.keyboard.press("Enter")
    web.settled()
    assert page.locator(".chip").count() == 4
    search(page, "gladiator", "Shift+Enter")
    page.wait_for_selector(".lifts")
    wanted = api.post("v1/why-not", json={"history": [*LIKED, "593"], "item": "3578", "novelty": 0.5, "model": "dial"})
    assert f"number {wanted.json()['rank']}" in page.locator(".panel h3").inner_text()
    web.keep("why-not")
    promised = page.locator(".lifts .then").first.inner_text().removeprefix("→ ")
    page.locator(".lifts button").first.click()
    page.wait_for_function(
        "rank => document.querySelector('.panel h3 span')?.textContent.includes(rank + ' ')", arg=promised
    )
    assert page.locator(".chip").count() == 5


def test_a_title_that_only_diversity_keeps_out_is_reported_as_such(web, api):
    plain, diverse = asked(api, history=LIKED), asked(api, history=LIKED, diversity=0.9)
    out = next(item for item in plain["items"] if item["item"] not in [one["item"] for one in diverse["items"]])
    page = web.open(f"{HISTORY}&d=0.9")
    search(page, out["title"], "Shift+Enter")
    heading = page.locator(".panel h3")
    heading.get_by_text("is kept out by diversity").wait_for()
    assert f"by score it is number {out['rank']}" in heading.inner_text()


def test_search_results_cover_the_page_and_forgive_typing_errors(web):
    page = web.open(HISTORY)
    page.fill("#search", "star")
    page.wait_for_selector(".found li")
    covered = page.evaluate(
        """() => {
          const found = document.querySelector(".found"), box = found.getBoundingClientRect();
          return [...document.querySelectorAll(".bar")].map((bar) => bar.getBoundingClientRect())
            .filter((bar) => bar.left < box.right && bar.top > box.top && bar.bottom < box.bottom)
            .map((bar) => found.contains(document.elementFromPoint(bar.left + 4, bar.top + 4)));
        }"""
    )
    assert covered
    assert all(covered)
    page.fill("#search", "gladiater")
    page.get_by_text("Written alike").wait_for()
    page.fill("#search", "qqqqq zzzz")
    page.get_by_text("Nothing is written like that.").wait_for()


def test_similar_titles_and_the_medians_of_popularity_are_those_of_the_service(web, api):
    page = web.open(HISTORY, wait=".known p b")
    web.settled()
    users = api.get("v1/models").json()["models"][0]["users"]
    counts = sorted(round(item["popularity"] * users) for item in asked(api, history=LIKED, novelty=0.5)["items"])
    shown = page.locator(".known p b").all_inner_texts()
    assert float(shown[1]) == pytest.approx((counts[4] + counts[5]) / 2, abs=0.51)
    page.locator(".chip .name").first.click()
    page.wait_for_selector(".panel .lifts li")
    wanted = api.post("v1/similar", json={"item": LIKED[0], "k": 8, "novelty": 0.5, "model": "dial"}).json()
    assert page.locator(".panel .lifts .name").all_inner_texts() == titles(wanted)


# --- map -------------------------------------------------------------------------------------------------------------


def test_the_map_shows_history_and_list_and_is_moved_and_clicked(web):
    page = web.open(HISTORY, wait=".plane svg .had")
    web.settled()
    assert page.locator(".plane circle.had").count() == len(LIKED)
    assert page.locator(".plane .listed").count() == 10
    assert 10 <= page.locator(".labels text").count() <= 27
    box = page.locator(".plane svg").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    places = "() => [...document.querySelectorAll('.plane circle.had')].map(one => one.cx.baseVal.value)"
    far = page.evaluate(places)
    page.get_by_role("button", name="Nearer").click()
    near = page.evaluate(places)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 30, y + 20, steps=4)
    page.mouse.up()
    assert far != near != page.evaluate(places)
    assert page.locator(".chip").count() == len(LIKED)
    page.get_by_role("button", name="Farther").click()
    assert page.evaluate(places) == far
    for step in range(0, 120, 6):  # until the pointer is near a title
        page.mouse.move(x + step, y)
        if page.locator(".tip").count():
            break
    title = page.locator(".tip text").first.inner_html()
    page.mouse.down()
    page.mouse.up()
    page.wait_for_function("n => document.querySelectorAll('.chip').length === n", arg=len(LIKED) + 1)
    assert page.locator(".chip .name").last.inner_text()[:10] == title.replace("&amp;", "&")[:10]


# --- compare, share, export ------------------------------------------------------------------------------------------


def test_two_models_stand_side_by_side_with_what_they_share(web, api):
    page = web.open(HISTORY)
    page.get_by_role("button", name="Compare").click()
    page.wait_for_selector(".two ol >> nth=1")
    web.settled()
    first = titles(asked(api, history=LIKED, novelty=0.5))
    second = titles(asked(api, history=LIKED, model="ease"))
    assert [web.titles(0), web.titles(1)] == [first, second]
    shared = set(first) & set(second)
    assert page.locator(".common b").inner_text() == str(len(shared))
    page.wait_for_function("n => document.querySelectorAll('.joins path').length === n", arg=len(shared))
    page.locator("select[aria-label='Model of list b']").select_option("dial")
    page.wait_for_selector("#dial-b")
    page.locator("#dial-b").fill("1")
    web.settled()
    assert web.titles(1) == titles(asked(api, history=LIKED, novelty=1))
    web.keep("compare")


def test_a_link_opens_the_same_state_elsewhere_and_is_not_sent_to_the_service(web, new_page):
    page = web.open(f"n=1&{HISTORY}&x=2959&b=ease~0.5~0", wait=".two ol >> nth=1")
    web.settled()
    sent = []
    other = new_page()
    other.page.on("request", lambda request: sent.append(request.url))
    other.open(page.url.partition("#")[2], wait=".two ol >> nth=1")
    other.settled()
    assert [other.titles(0), other.titles(1)] == [web.titles(0), web.titles(1)]
    assert other.page.locator(".never li").count() == 1
    assert not any("2571" in url for url in sent)
    page = web.open("n=7&k=x&h=2571,no-such-title,%E0%A4%A&m=nobody&b=", wait=".row")  # damaged: what can be read
    page = web.open("h=2571,no-such-title&n=9")
    assert page.locator(".chip").count() == 1
    assert "not in this catalogue" in page.locator(".toast").inner_text()


def test_the_list_is_exported_as_csv_and_json(web, api):
    page = web.open(HISTORY)
    web.settled()
    answer = asked(api, history=LIKED, novelty=0.5)
    files = {}
    for words in ("CSV", "JSON"):
        page.locator(".menu summary").click()
        with page.expect_download() as saved:
            page.get_by_role("button", name=words).click()
        with open(saved.value.path(), encoding="utf-8") as file:
            files[words] = file.read()
    rows = list(csv.DictReader(io.StringIO(files["CSV"])))
    assert [row["title"] for row in rows] == titles(answer)
    parts = [float(value) for name, value in rows[0].items() if name.startswith("from ")]
    assert sum(parts) == pytest.approx(answer["items"][0]["score"], rel=1e-4)
    exported = json.loads(files["JSON"])
    assert exported["asked"]["history"] == LIKED
    assert titles(exported["list"]) == titles(answer)


# --- when something is wrong -----------------------------------------------------------------------------------------


def test_an_error_keeps_the_last_list_and_can_be_tried_again(web):
    page = web.open(HISTORY)
    web.settled()
    before = web.titles()
    page.route("**/v1/recommend", lambda route: route.abort())
    page.keyboard.press("n")
    page.wait_for_selector(".fault")
    assert "The last list stays" in page.locator(".fault").inner_text()
    assert web.titles() == before
    page.unroute("**/v1/recommend")
    page.get_by_role("button", name="Try again").click()
    page.wait_for_function("() => !document.querySelector('.fault')")
    assert web.titles() != before
    web.complaints[:] = [text for text in web.complaints if "ERR_FAILED" not in text]  # of the request we cut


def test_a_page_asks_for_the_token_that_a_service_needs(web):
    web.page.route("**/v1/models", lambda route: route.fulfill(status=401, json={"detail": "Send the header"}))
    page = web.open(wait="input[type=password]")
    page.unroute("**/v1/models")
    page.fill("input[type=password]", "a-token-of-somebody")
    with page.expect_request(lambda request: request.url.endswith("v1/models")) as sent:
        page.get_by_role("button", name="Open").click()
    assert sent.value.headers["authorization"] == "Bearer a-token-of-somebody"
    page.wait_for_selector(".row")
    assert "token" not in page.url
    web.complaints[:] = [text for text in web.complaints if "401" not in text]


# --- data and quality ------------------------------------------------------------------------------------------------


def test_data_and_quality_have_the_figures_of_the_service(web, api):
    page = web.open(HISTORY)
    page.get_by_role("button", name="Data").click()
    page.wait_for_selector(".figures b")
    facts = api.get("v1/data").json()["facts"]
    wanted = [f"{facts[name]:,}" for name in ("users", "items", "interactions")]
    assert page.locator(".figures b").all_inner_texts()[:3] == wanted
    assert page.locator(".curve").count() == 1
    page.get_by_role("button", name="Explore").click()
    assert page.locator(".chip").count() == len(LIKED)
    page.get_by_role("button", name="Quality").click()
    page.wait_for_selector(".measured")
    metrics = api.get("v1/models").json()["models"][0]["metrics"]
    shown = page.locator(".measured tbody td b").all_inner_texts()
    assert shown == [f"{metrics[name]:.3f}" for name in ("ndcg@10", "recall@10")]
    page.locator("select[aria-label=Model]").select_option("ease")
    page.wait_for_selector(".unmeasured")
    assert "corml fit" in page.locator("pre").inner_text()


def test_a_study_in_the_folder_of_the_model_file_is_in_the_quality_view(new_page, start, models, tmp_path):
    data = corml.load("movielens-small", at_least=4, k_core=20)
    shutil.copy(models / "ease.corml", tmp_path / "shop.corml")
    study = corml.compare(["ease", "popularity"], corml.split(data, "ratio", seed=2026), metrics=["ndcg@10", "mrr@10"])
    study.save(tmp_path / "results.json")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "results.json").write_text("{}")
    web = new_page(start(tmp_path / "shop.corml").address)
    page = web.open("v=quality", wait=".study")
    assert page.locator(".verdict").inner_text().startswith("ease is best by ndcg@10")
    rows = page.locator(".study tbody tr")
    assert rows.locator("th").evaluate_all("all => all.map(one => one.firstChild.data)") == ["ease", "popularity"]
    assert f"{study['ease'].means['ndcg@10']:.4f}" in rows.first.inner_text()
    assert "more than chance" in rows.nth(1).inner_text()
    assert "notes/results.json is no study of corml" in page.locator("p.all").inner_text()
    web.keep("quality-study")


# --- for every user ---------------------------------------------------------------------------------------------------


def test_keys_do_what_the_help_promises(web):
    page = web.open(HISTORY)
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    page.keyboard.press("Escape")
    page.wait_for_function("() => !document.querySelector('dialog')")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_selector(".row.open")
    assert page.locator(".row.open .rank").inner_text() == "2"
    second = web.titles()[1]
    page.keyboard.press("x")
    web.settled()
    assert second not in web.titles()
    page.keyboard.press("Backspace")
    web.settled()
    assert page.locator(".chip").count() == len(LIKED) - 1
    page.keyboard.press("c")
    page.wait_for_selector(".two")
    before = page.evaluate("() => getComputedStyle(document.body).color")
    page.keyboard.press("t")
    assert page.evaluate("() => getComputedStyle(document.body).color") != before


@pytest.mark.parametrize(("width", "scheme"), [(1372, "light"), (1024, "dark"), (390, "dark")])
def test_the_page_fits_every_screen_and_axe_finds_nothing(new_page, axe, width, scheme):
    web = new_page(width=width, height=844, color_scheme=scheme, reduced_motion="reduce")

    def use(page):
        page.locator("[data-row]").nth(1).click()
        page.keyboard.press("/")
        page.keyboard.type("star")
        page.wait_for_selector("[role=option]")

    for view in ("", HISTORY, f"{HISTORY}&b=ease~0.5~0", "v=data", "v=quality"):
        axe(web, view, use if view == HISTORY else None)
        assert web.page.evaluate("() => document.documentElement.scrollWidth") <= width, view
        web.keep(f"{width}-{scheme}-{view[-6:]}")
    assert web.page.evaluate("() => document.getAnimations().length") == 0  # less motion was asked for


def test_the_page_runs_under_a_policy_without_inline_code(api):
    answer = api.get("/")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert "<style" not in answer.text
    assert answer.text.count("<script") == answer.text.count("<script ") == 2  # both with a source
