"""How long the studio takes from a wish to the paint (run: python benchmarks/studio.py [DATA]).

A dial of CoRML on Pinterest, 9,916 items, in `corml studio`, and a page in chromium of 1372 × 896: 40 times the dial is
moved, and 15 times a title of the list is added to the history. Time begins with the event and ends in the first frame
after the list has changed, with its bars. Needs Playwright and chromium. Writes results/speed/studio-DATA.json.
"""

import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from _machine import load_split
from _record import begin, write

import corml

DIALS, ADDED, HISTORY = 40, 15, 10
WATCH = """
async (act) => {
  const widths = (row) => [...row.querySelectorAll(".segment")].map((one) => one.style.width);
  const shown = () => [...document.querySelectorAll("ol.list .row")].map((row) => row.dataset.id + widths(row)).join();
  const before = shown(), begun = performance.now();
  eval(act);
  while (shown() === before && performance.now() - begun < 5000) await new Promise(requestAnimationFrame);
  const changed = shown() !== before;
  await new Promise(requestAnimationFrame);
  return changed ? performance.now() - begun : null;
}
"""
MOVE = """(() => {
  const dial = document.querySelector("#dial");
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(dial, VALUE);
  dial.dispatchEvent(new Event("input", { bubbles: true }));
})()"""
ADD = (
    """[...document.querySelectorAll(".actions button")].find((one) => one.textContent.startsWith("Seen it")).click()"""
)


def wishes(page: Any) -> dict[str, list[float]]:
    """Milliseconds of every wish whose list changed."""
    low, high, step = (float(page.get_attribute("#dial", name) or 1) for name in ("min", "max", "step"))
    places = [low + step * (at % round((high - low) / step)) for at in range(1, DIALS + 1)]
    moved = [page.evaluate(WATCH, MOVE.replace("VALUE", str(place))) for place in places]
    added = []
    for _ in range(ADDED):
        page.locator("[data-row]").nth(1).click()
        page.wait_for_selector(".actions button")
        added.append(page.evaluate(WATCH, ADD))
        page.wait_for_timeout(300)
    return {"dial": [one for one in moved if one is not None], "history": [one for one in added if one is not None]}


def main(name: str) -> None:
    from playwright.sync_api import sync_playwright

    begun, split = begin(name, packages=("playwright",)), load_split(name)
    with tempfile.TemporaryDirectory() as folder:
        model = corml.CoRML.dial(split.train, item_norms=(-0.2, 0.0, 0.2), adapt=False)
        model.save(file := Path(folder) / "dial.corml", history=False)
        popular = model.items_.labels[np.argsort(-model.counts_)[:HISTORY]]
        command = [sys.executable, "-m", "corml", "studio", str(file), "--no-browser"]
        studio = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            assert studio.stdout is not None
            found = re.search(r"http://127\.0\.0\.1:\d+/", studio.stdout.readline())
            assert found
            with sync_playwright() as driver:
                chromium = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
                page = chromium.new_page(viewport={"width": 1372, "height": 896})
                page.goto(f"{found[0]}#h={','.join(popular)}")
                page.wait_for_selector(".list .row .segment")
                page.wait_for_timeout(3000)  # the map is made beside
                times = wishes(page)
                chromium.close()
        finally:
            studio.send_signal(signal.SIGINT)
            studio.wait()
    record: dict[str, Any] = {"data": name, "items": len(model.items_)}
    for wish, taken in times.items():
        quantiles = {f"p{q} ms": round(float(np.quantile(taken, q / 100)), 1) for q in (50, 90, 99)}
        record[wish] = {"times": len(taken), **quantiles}
    print(write(f"speed/studio-{name}", begun, record), record)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "pinterest")
