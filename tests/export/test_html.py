"""The page as a file: what is in it, what is not, what is refused. How it runs is tested in tests/studio."""

import base64
import hashlib
import json
import re

import pytest

import corml
from corml import Interactions, models
from corml.errors import UsageError
from corml.service.bundle import bundle
from corml.service.export import export_model, html
from support import random_interactions


def block(page, name):
    """The text of a block that no browser runs."""
    return re.search(rf'<script type="[^"]+" id="{name}"[^>]*>(.*?)</script>', page, re.S)[1]


@pytest.fixture(scope="module")
def page(small, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "shop.html"
    export_model(small("corml-dial"), "html", path, digest="ab" * 32, name="my shop")
    return path.read_text("utf-8")


def test_the_page_names_nothing_outside_itself(page):
    text = page.replace(block(page, "licences"), "")
    assert not re.findall(r"(?:src|href)=(?!\"data:|\$|\"#main\"|\"docs\")[^ >]+", text)
    assert set(re.findall(r"https?://[^\s\"'`)]+", text)) == {"http://www.w3.org/2000/svg"}  # a name, no address


def test_the_policy_allows_the_code_of_the_page_and_nothing_else(page):
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert "unsafe" not in policy
    for rule, tag, count in (("script-src", "script", 2), ("style-src", "style", 1)):
        inline = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.S)
        hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in inline]
        assert {f"'sha256-{one}'" for one in hashes} == set(rules[rule].split())
        assert len(hashes) == count


def test_the_page_says_what_it_is_of(page, small):
    contents = json.loads(block(page, "contents"))
    model = small("corml-dial")
    assert "<title>my shop · corml studio</title>" in page
    assert contents["model"] | {"name": "my shop", "kind": "corml-dial", "version": "ab" * 8} == contents["model"]
    assert contents["ids"] == model.items_.labels.tolist()
    assert sorted(contents["map"]["people"]) == sorted(model.counts_.tolist())
    assert (contents["export"]["contents"], contents["export"]["model_digest"]) == ("model", "ab" * 32)
    assert contents["export"]["data_fingerprint"] == model.fitted_.fingerprint
    assert "Jason Miller" in block(page, "licences")


def test_no_person_is_in_the_page_not_even_where_the_doctor_quotes_one(tmp_path):
    data = random_interactions(3, 60, 30)
    users = [f" canary-{data.users[u]}" for u in data.user]  # a blank in front: the doctor names such ids
    model = models.make("corml", {"rank": 4, "adapt": False}).fit(
        Interactions.from_pairs(users, [data.items[i] for i in data.item])
    )
    assert any("canary" in finding.what for finding in corml.data.examine(_learned(model)).findings)
    export_model(model, "html", tmp_path / "p.html")
    assert "canary" not in (tmp_path / "p.html").read_text("utf-8")


def _learned(model):
    pairs = model.train_.tocoo()
    return Interactions(model.users_, model.items_, pairs.row.astype("int64"), pairs.col.astype("int64"))


def test_a_model_file_without_people_is_exported_as_well(small, tmp_path):
    small("corml").save(tmp_path / "m.corml", history=False)
    done = export_model(corml.read_model(tmp_path / "m.corml"), "html", tmp_path / "bare.html")
    contents = json.loads(block(done.path.read_text("utf-8"), "contents"))
    assert sorted(contents["map"]["people"]) == sorted(small("corml").counts_.tolist())
    assert contents["model"]["name"] == "bare"


# --- refusals --------------------------------------------------------------------------------------------------------


def test_a_catalogue_that_is_too_large_is_refused(small, tmp_path, monkeypatch):
    assert html.MOST_ITEMS == 5_000
    monkeypatch.setattr(html, "MOST_ITEMS", 29)
    with pytest.raises(
        UsageError,
        match=r"up to 29 items, and this one has 30: .* or fit on fewer items, with a higher --k-core",
    ):
        export_model(small("corml"), "html", tmp_path / "no.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("asked", [{"lists": True}, {"pairs": 7}])
def test_a_page_has_neither_pairs_nor_lists(small, tmp_path, asked):
    with pytest.raises(UsageError, match=r"has the whole model: leave lists \(--lists\) and pairs \(--pairs\) out"):
        export_model(small("corml"), "html", tmp_path / "no.html", **asked)


def test_ids_and_titles_that_do_not_print_are_escaped_in_the_page_and_read_back(tmp_path):
    odd = ["a\x1b[2J", "b\x9b2J", "c\u202egnp.exe", "d\u2028e", "caf\xe9", "\U0001f600", "\U000e0001"]
    model = models.make("item-knn").fit(Interactions.from_pairs(["u"] * len(odd), odd))
    export_model(model, "html", tmp_path / "p.html")
    told = block((tmp_path / "p.html").read_text("utf-8"), "contents")
    assert told.isprintable()
    assert "caf\xe9" in told
    assert sorted(json.loads(told)["ids"]) == sorted(odd)


# --- modules as one script -------------------------------------------------------------------------------------------


def test_modules_become_functions_in_the_order_in_which_they_need_each_other():
    modules = {
        "app.js": 'import * as b from "./b.js";\nimport { one, two as zwei } from "./lib/c.js"; // both\nb.go(zwei);',
        "b.js": 'import * as c from "./lib/c.js";\nexport const go = 1;\nexport function f() {}\nexport class K {}',
        "lib/c.js": "var a=1,b=2;export{a as one,b as two};",
    }
    script = bundle("app.js", modules.__getitem__)
    assert [script.index(f'modules["{name}"] = ') for name in ("lib/c.js", "b.js", "app.js")] == sorted(
        script.index(f'modules["{name}"] = ') for name in modules
    )
    assert "return { one: a, two: b };" in script
    assert "return { go: go, f: f, K: K };" in script
    assert 'const { one, two: zwei } = modules["lib/c.js"]; // both' in script
    assert 'const b = modules["b.js"];' in script


@pytest.mark.parametrize(
    ("modules", "complaint"),
    [
        ({"a.js": "export default 1;"}, "cannot be bundled: export default 1;"),
        ({"a.js": 'import x from "./b.js";'}, "cannot be bundled: import x from"),
        (
            {"a.js": 'import { b } from "./b.js";', "b.js": 'import { a } from "./a.js";'},
            "in a circle: a.js -> b.js -> a.js",
        ),
        ({"a.js": 'const x = "</SCRIPT>";'}, "the end of a script"),
    ],
)
def test_what_cannot_be_bundled_is_noticed(modules, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)):
        bundle("a.js", modules.__getitem__)
