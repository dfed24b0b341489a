"""Draws docs/images/studio.png: the studio with the bundled sample, in Debian's chromium, made smaller by pngquant.

Run from the root of the repository: `python docs/images/studio.py`.
"""

import re
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

HISTORY = "2571,541,4973,4226,608"  # The Matrix, Blade Runner, Amélie, Memento, Fargo
PICTURE = Path(__file__).with_name("studio.png")

running = subprocess.Popen([sys.executable, "-m", "corml", "studio", "--no-browser"], stdout=subprocess.PIPE, text=True)
try:
    assert running.stdout
    address = re.search(r"http://\S+/", running.stdout.readline())
    assert address
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1372, "height": 880})
        page.goto(address[0])
        page.wait_for_selector(".persona", timeout=300_000)  # fitted, and the map is drawn
        page.goto(f"{address[0]}#h={HISTORY}")
        page.wait_for_selector(".chip")
        page.locator("[data-row]").nth(1).click()
        page.wait_for_selector(".plane .had")
        page.mouse.move(650, 60)
        page.wait_for_timeout(500)
        page.screenshot(path=PICTURE)
        browser.close()
finally:
    running.terminate()
    running.wait()
subprocess.run(["pngquant", "--quality", "70-95", "--force", "--output", PICTURE, PICTURE], check=True)
print(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes")
