"""Pages: few files, compressed, named by content; a second load transfers nothing but «still the same»."""

import re

import pytest

from corml.service.app import FILES, PAGES


def linked(html):
    return ["/" + to.lstrip("/") for to in re.findall(r'(?:src|href)="(/?page/[^"]+)"', html)]


@pytest.mark.parametrize(("page", "most"), [("/", 4), ("/docs", 2)])
def test_a_page_is_a_few_files_that_may_be_kept_for_ever(inside, page, most):
    html = inside.http.get(page)
    assert html.headers["cache-control"] == "no-cache"
    files = linked(html.text)
    assert 0 < len(files) <= most
    for file in files:
        answer = inside.http.get(file)
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"


@pytest.mark.parametrize("path", ["/", "/docs", "/openapi.json", "/page/app.js"])
def test_a_page_that_did_not_change_is_not_sent_again(inside, path):
    first = inside.http.get(path)
    again = inside.http.get(path, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    assert again.headers["cache-control"] == "no-cache"
    assert inside.http.get(path, headers={"If-None-Match": '"other"'}).content == first.content


def test_another_version_in_the_address_is_not_kept(inside):
    """A page of the old version may ask a service of the new one, whose file must not be kept under the old name."""
    answer = inside.http.get("/page/app.js?v=0000000000000000")
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-cache")


def test_the_first_load_of_the_studio_is_small(inside):
    pages = [inside.http.get(path) for path in ("/", *linked(inside.http.get("/").text), "/openapi.json")]
    assert all(page.headers["content-encoding"] == "gzip" for page in pages if len(page.content) > 1000)
    assert sum(int(page.headers["content-length"]) for page in pages) < 70_000


def test_every_file_of_the_pages_is_sent_or_bundled(inside):
    script = inside.http.get("/page/app.js").text
    for file in PAGES.rglob("*.*"):
        name = str(file.relative_to(PAGES))
        if file.suffix == ".html" or name in FILES:
            continue
        assert f'modules["{name}"]' in script
        assert inside.http.get(f"/page/{name}").status_code == 404
    for name in FILES:
        assert inside.http.get(f"/page/{name}").status_code == 200


def test_the_head_of_a_page_has_no_body(inside):
    answer = inside.http.head("/")
    assert (answer.status_code, answer.content) == (200, b"")
    assert int(answer.headers["content-length"]) > 0
