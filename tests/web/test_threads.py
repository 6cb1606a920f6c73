"""Tests of the npm package in an isolated page in Chromium: with any number of threads, the bits are the command's."""

import json
import os
import re
import time
from pathlib import Path

import pytest
from helpers import PRESETS, ROOT, fingerprints, thalweg

from chromium import Browser, Server

DIST = Path(os.environ.get("DIST", ROOT / "dist"))

# A worker of the page: only in a worker may a thread wait for others.
WORKER = """
    import init, { initThreadPool, build, threads as count } from "%snpm/threads/thalweg.js";
    let pool = null;
    onmessage = async ({ data: { threads, recipe, options } }) => {
        try {
            pool ??= init().then(() => initThreadPool(threads));
            await pool;
            const start = performance.now();
            const land = build(recipe, options);
            const seconds = (performance.now() - start) / 1000;
            postMessage({ prints: land.fingerprints(), seconds, count: count() });
            land.free();
        } catch (problem) {
            postMessage({ problem: String(problem.message ?? problem) });
        }
    };
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    server = Server(DIST, isolated=True)
    browser = Browser(tmp_path_factory.mktemp("chromium"))
    page = browser.page(None)
    page.go(server.address + "npm/thalweg.d.ts")
    while not page.loaded:
        time.sleep(0.05)
    assert page.run("crossOriginIsolated")
    page.run(f"""
        window.code = URL.createObjectURL(new Blob([{json.dumps(WORKER % server.address)}], {{ type: "text/javascript" }}));
        window.workers = new Map();
        window.built = (threads, recipe, options) => new Promise((resolve) => {{
            if (!workers.has(threads)) workers.set(threads, new Worker(code, {{ type: "module" }}));
            const worker = workers.get(threads);
            worker.onmessage = ({{ data }}) => resolve(data);
            worker.onerror = (problem) => resolve({{ problem: problem.message }});
            worker.postMessage({{ threads, recipe, options }});
        }});
        0
    """)
    yield page
    page.close()
    browser.close()
    server.close()


def small(text):
    return re.sub(r"^cells = \d+", "cells = 64", text, flags=re.M)


def here(folder, words):
    thalweg("build", *words, "--out", "here", "--quiet", cwd=folder)
    return fingerprints(folder / "here/report.json")


# The recipe of the model `elevation` reads a file, and pages have no files.
MODELS = [path for path in sorted((ROOT / "recipes/models").glob("*.toml")) if path.stem != "elevation"]


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_a_model_has_the_commands_bits_on_four_threads(page, tmp_path, path):
    recipe = small(path.read_text())
    (tmp_path / "own.toml").write_text(recipe)
    wanted = here(tmp_path, ["own.toml"])
    for threads in [1, 4]:
        found = page.run(f"built({threads}, {json.dumps(recipe)}, {{}})")
        assert found.get("prints") == wanted and found["count"] == threads, (threads, found)


@pytest.mark.parametrize("path", sorted(PRESETS.glob("*.toml")), ids=lambda path: path.stem)
def test_a_preset_has_them_too(page, tmp_path, path):
    # The number of cells of a preset that begins with an elevation model is fixed.
    given = "\nfrom = " in path.read_text()
    wanted = here(tmp_path, [path.stem, *([] if given else ["--cells", "256"])])
    found = page.run(f"built(4, '{path.stem}', {'{}' if given else '{ cells: 256 }'})")
    assert found.get("prints") == wanted and found["count"] == 4, found


def test_two_threads_are_quicker(page):
    seconds = {threads: [] for threads in [1, 2]}
    # Alternate, so that other load on the machine affects both.
    for threads in [1, 2] * 3:
        seconds[threads].append(page.run(f"built({threads}, 'alpine', {{ cells: 512 }})")["seconds"])
    print(seconds)
    # The times are printed for the reader. The assertion is only that a second core gives any gain.
    assert os.cpu_count() == 1 or min(seconds[2]) < min(seconds[1])
