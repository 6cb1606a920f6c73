"""Tests of the book's pages: every link has a target, and the figure of a model's page is the command's world."""

import html.parser
import os
import re
import time
from pathlib import Path

from helpers import ROOT, fingerprints, thalweg

from chromium import Server

DIST = Path(os.environ.get("DIST", ROOT / "dist"))
BOOK = DIST / "book"
# The greatest number of cells that the page's worker builds, as in live_worker.js.
CELLS = 224


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.places = [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.places.add(attributes.get("id"))
        self.links += [attributes[name] for name in ["href", "src", "data-recipe"] if name in attributes]


def test_every_link_leads_somewhere():
    pages = {path.resolve(): Page(path) for path in BOOK.rglob("*.html")}
    assert len(pages) > 50
    lost = []
    for path, page in pages.items():
        for link in page.links:
            if link.startswith(("https://", "http://", "data:")):
                continue
            file, _, place = link.partition("#")
            there = (path.parent / file).resolve() if file else path
            if not there.exists() or (place and there in pages and place not in pages[there].places):
                lost.append((str(path.relative_to(BOOK)), link))
    assert lost == []


def test_every_text_of_the_book_is_a_page_and_every_model_of_a_recipe_has_its_figure():
    texts = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    # SUMMARY.md is the table of contents, of which mdBook makes the side bar.
    for text in [text for text in texts if text.name != "SUMMARY.md"]:
        page = BOOK / text.with_suffix(".html")
        page = page.with_name("index.html") if text.name == "README.md" else page
        assert re.search(r"<h1 id=", page.read_text()), text
    figures = [path for path in (BOOK / "models").glob("*.html") if 'class="live"' in path.read_text()]
    assert len(figures) >= 25


def test_the_search_finds_pages_and_the_side_bar_has_every_part(browser):
    server = Server(DIST)
    page = browser.page(server.address + "book/models/thermal.html?search=repose")

    def wait_for(script, seconds=30):
        end = time.time() + seconds
        while not (found := page.run(script)):
            assert time.time() < end, script
            time.sleep(0.1)
        return found

    found = wait_for("[...document.querySelectorAll('#mdbook-searchresults a')].map((link) => link.href)")
    assert any("/book/models/thermal.html" in address for address in found), found
    parts = wait_for("[...document.querySelectorAll('#mdbook-sidebar .part-title')].map((part) => part.textContent)")
    written = re.findall(r"^# (.+)$", (ROOT / "docs/SUMMARY.md").read_text(), flags=re.M)
    assert parts == written[1:]
    assert all(address.startswith(server.address) for address in page.asked), page.asked
    assert page.troubles == [], page.troubles
    page.close()
    server.close()


def built(folder, recipe):
    (folder / "own.toml").write_text(recipe)
    thalweg("build", "own.toml", "--out", "own", "--quiet", cwd=folder)
    return fingerprints(folder / "own/report.json")["ground"]


def small(recipe):
    return re.sub(r"^cells = (\d+)", lambda found: f"cells = {min(int(found[1]), CELLS)}", recipe, flags=re.M)


def test_a_figure_builds_in_place_and_turns_a_parameter(browser, tmp_path):
    server = Server(DIST)
    page = browser.page(None)
    page.go(server.address + "book/models/thermal.html")

    def printed(before=None, seconds=60):
        end = time.time() + seconds
        while True:
            found = page.run("document.querySelector('.live')?.dataset.fingerprint ?? null")
            if found not in [None, before]:
                return found
            assert time.time() < end, page.run("document.querySelector('.live')?.innerText")
            time.sleep(0.1)

    recipe = small((ROOT / "recipes/models/thermal.toml").read_text())
    first = printed()
    assert first == built(tmp_path, recipe)
    colours = "new Set(new Uint32Array(document.querySelector('.live canvas').getContext('2d').getImageData(0, 0, 160, 160).data.buffer)).size"
    assert page.run(colours) > 500
    turn = """(() => {{
        const figure = document.querySelector('.live'), select = figure.querySelector('select');
        select.value = {name!r};
        select.onchange();
        figure.querySelector('input').value = {value!r};
        figure.querySelector('form').requestSubmit();
    }})()"""
    page.run(turn.format(name="talus", value="20"))
    second = printed(first)
    assert second == built(tmp_path, recipe.replace('model = "thermal"', 'model = "thermal"\ntalus = 20'))
    # A value outside its limits gets the command's message.
    page.run(turn.format(name="talus", value="100"))
    end = time.time() + 20
    while "0 to 89" not in page.run("document.querySelector('.live p').textContent"):
        assert time.time() < end
        time.sleep(0.1)
    assert all(address.startswith(server.address) for address in page.asked), page.asked
    assert page.troubles == [], page.troubles
    page.close()
    server.close()


def test_every_figure_draws(browser):
    server = Server(DIST)
    names = sorted(path.stem for path in (BOOK / "models").glob("*.html") if 'class="live"' in path.read_text())
    for name in names:
        page = browser.page(server.address + f"book/models/{name}.html")
        end = time.time() + 90
        while not page.run("document.querySelector('.live')?.dataset.fingerprint ?? null"):
            assert time.time() < end, (name, page.run("document.querySelector('.live')?.innerText"))
            time.sleep(0.1)
        # The model `manual` has no parameters.
        turned = page.run("document.querySelectorAll('.live form:not([hidden]) option').length")
        assert (turned > 0) == (name != "manual"), name
        page.close()
    server.close()
