"""A studio with two models, and a page in Debian's chromium that must never complain nor call anybody else."""

import os
import re
import shutil
import signal
import subprocess
import sys
from importlib import resources
from pathlib import Path

import httpx
import pytest

import corml

SOURCE = Path(corml.__file__).parents[1]
SHOTS = os.environ.get("CORML_SHOTS")  # a folder where tests keep pictures of what they saw
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Process:
    """`corml studio` as a process of its own."""

    def __init__(self, *arguments):
        environment = {**os.environ, "PYTHONPATH": str(SOURCE), "CORML_THREADS": "1"}
        command = [sys.executable, "-m", "corml", "studio", *map(str, arguments), "--no-browser"]
        self.process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        line = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/", line)
        assert found, line + self.process.communicate(timeout=20)[0]
        self.address = found[0]

    def stop(self, number=signal.SIGINT):
        """End it as Ctrl-C does, or by another signal; what it printed since, and its exit code."""
        self.process.send_signal(number)
        rest, _ = self.process.communicate(timeout=20)
        return self.process.returncode, rest


@pytest.fixture(scope="package")
def start():
    """Starts studios; all are ended."""
    started = []

    def begin(*arguments):
        started.append(Process(*arguments))
        return started[-1]

    yield begin
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()


@pytest.fixture(scope="package")
def models(tmp_path_factory):
    """dial.corml, with figures of an evaluation, and ease.corml."""
    folder = tmp_path_factory.mktemp("studio")
    data = corml.load("movielens-small", at_least=4, k_core=20)
    split = corml.split(data, "ratio", seed=2026)
    dial = corml.CoRML.dial(split.train, item_norms=(-0.2, 0.0, 0.2), rank=16, adapt=False)
    dial.save(folder / "dial.corml", evaluation=corml.evaluate(dial, split, ["ndcg@10", "recall@10"]).record())
    corml.models.make("ease").fit(data).save(folder / "ease.corml")
    return folder


@pytest.fixture(scope="package")
def studio(start, models):
    return start(models / "dial.corml", models / "ease.corml").address


@pytest.fixture(scope="package")
def api(studio):
    """The service behind the page, asked directly."""
    with httpx.Client(base_url=studio, timeout=30) as client:
        yield client


@pytest.fixture(scope="package")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs: pip install corml[browser]")
    if "PYTEST_XDIST_WORKER" in os.environ:  # the driver's event loop would disturb the tests that come after
        pytest.skip("a browser has a process of its own: pytest tests/studio")
    if CHROMIUM is None:
        pytest.skip("there is no chromium here: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Page:
    """A page as somebody uses it."""

    def __init__(self, page, address):
        self.page, self.address = page, address
        self.complaints, self.strangers = [], []
        page.on("console", self._hear)
        page.on("pageerror", lambda fault: self.complaints.append(str(fault)))
        page.on("request", lambda request: self._look(request.url))

    def _hear(self, message):
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _look(self, url):
        if not url.startswith((self.address, "blob:")):
            self.strangers.append(url)

    def open(self, fragment="", wait=".list .row"):
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}{'#' if fragment else ''}{fragment}")
        self.page.wait_for_selector(wait)
        return self.page

    def titles(self, number=0):
        words = self.page.locator("ol.list").nth(number).locator(".words")
        return words.evaluate_all("all => all.map(one => one.title)")

    def settled(self):
        """Wait until the last wish is answered."""
        self.page.wait_for_selector("[aria-busy=false], .wide .card")
        return self

    def keep(self, name):
        if SHOTS:
            Path(SHOTS).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=Path(SHOTS) / f"{name}.png")


@pytest.fixture
def new_page(chromium, studio):
    """Makes pages; after the test none may have complained or called another host."""
    opened = []

    def make(address=None, *, width=1372, height=896, **more):
        context = chromium.new_context(viewport={"width": width, "height": height}, accept_downloads=True, **more)
        context.set_default_timeout(20_000)
        opened.append((context, Page(context.new_page(), address or studio)))
        return opened[-1][1]

    yield make
    for context, one in opened:
        strangers = [url for url in one.strangers if url != "about:blank"]
        context.close()
        assert not one.complaints
        assert not strangers


@pytest.fixture
def web(new_page):
    return new_page()


@pytest.fixture
def axe():
    """Opens a view, uses it, and asserts that axe finds nothing wrong with it."""
    package = pytest.importorskip("axe_playwright_python", reason="needs: pip install corml[browser]")
    script = (resources.files(package) / "axe.min.js").read_text(encoding="utf-8")

    def check(web, view, use=None):
        page = web.open(view, wait=".list .row, .wide .card")
        web.settled()
        if use:
            use(page)
        page.evaluate(script)
        found = page.evaluate("() => axe.run({resultTypes: ['violations']})")["violations"]
        assert not [(view, one["id"], one["nodes"][0]["html"], one["nodes"][0]["failureSummary"]) for one in found]

    return check
