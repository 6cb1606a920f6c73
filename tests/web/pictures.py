"""Draws docs/web/*.png: screenshots of the pages on a desktop and on a phone.

Run `python tests/web/pictures.py [FOLDER]` after `cargo xtask web`.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image

from chromium import Browser, Server

ROOT = Path(__file__).resolve().parents[2]
OUT = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs/web"


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    server = Server(Path(os.environ.get("DIST", ROOT / "dist")))
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(folder)
        page = browser.page(server.address, size=(1360, 860))
        page.until("most steps are done", lambda s: s["painted"] and s["all"][0] > 0.6 * s["all"][1], 300)
        kept(page, "desktop.png", colours=256)
        page.close()
        page = browser.page(None, size=(1000, 640))
        page.go(server.address + "examples/maplibre/index.html")
        waited(page, "document.body?.dataset.idle")
        page.run("document.body.dataset.idle = ''; map.jumpTo({ center: [0.14, -0.61], zoom: 11.5, pitch: 60, bearing: 20 }); 0")
        waited(page, "document.body?.dataset.idle")
        kept(page, "maplibre.png", colours=128)
        page.close()
        browser.close()
    with tempfile.TemporaryDirectory() as folder:
        # An emulated scale factor would not apply to the pixel size that a canvas reports.
        browser = Browser(folder, "--force-device-scale-factor=2")
        page = browser.page(server.address, size=(390, 844), scale=0, mobile=True)
        waited(page, "document.querySelectorAll('#list:not([hidden]) button img').length")
        kept(page, "phone_list.png", colours=96)
        page.run("document.querySelectorAll('#list button')[8].click()")
        page.until("all steps are done", lambda s: s["done"] and s["painted"] and s["settled"], 300)
        kept(page, "phone.png", colours=256)
        page.close()
        browser.close()
    server.close()


def waited(page, script, seconds=120):
    end = time.time() + seconds
    while not page.run(script):
        assert time.time() < end, script
        time.sleep(0.2)


def kept(page, name, colours):
    time.sleep(1)
    page.picture(OUT / name)
    picture = Image.open(OUT / name).convert("RGB").quantize(colours, dither=Image.Dither.NONE)
    picture.save(OUT / name, optimize=True)
    print(name, picture.size, (OUT / name).stat().st_size)


main()
