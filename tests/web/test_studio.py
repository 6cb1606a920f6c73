"""Tests the studio's page in Chromium (one in Firefox) with software rendering: drawing, input, exports, failures."""

import base64
import io
import json
import os
import time
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from helpers import PRESETS, ROOT, thalweg
from PIL import Image

from chromium import Browser, Server
from firefox import Firefox

DIST = Path(os.environ.get("DIST", ROOT / "dist"))

SMALL = """name = "small"
extent = [4000.0, 4000.0]
cells = 96
seed = 7

[[stage]]
model = "gradient_noise"
amplitude = 500.0
wavelength = 2500.0

[[stage]]
model = "droplets"
count = 20000
"""


def link_of(text):
    """Returns the link of a recipe's text, as described in docs/web_studio.md: a byte 1, deflate, base64url."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    return base64.urlsafe_b64encode(b"\1" + deflate.compress(text.encode()) + deflate.flush()).decode().rstrip("=")


def text_of(link):
    data = base64.urlsafe_b64decode(link + "=" * (-len(link) % 4))
    assert data[0] == 1
    return zlib.decompress(data[1:], -15).decode()


def built(folder, text, name="world"):
    """Builds a recipe with the command; returns the folder of the world and its report."""
    (folder / f"{name}.toml").write_text(text)
    thalweg("build", f"{name}.toml", "--out", name, cwd=folder)
    return folder / name, json.loads((folder / name / "report.json").read_text())


@pytest.fixture(scope="module")
def server():
    server = Server(DIST)
    yield server
    server.close()


@pytest.fixture(scope="module")
def phone(tmp_path_factory):
    # An emulated scale factor would not apply to the pixel size that a canvas reports.
    browser = Browser(tmp_path_factory.mktemp("phone"), "--force-device-scale-factor=3")
    yield browser
    browser.close()


@pytest.fixture
def page(browser, server):
    page = browser.page(server.address + "#" + link_of(SMALL))
    yield page
    page.close()


def done(page):
    return page.until("the world is done and visible", lambda s: s["done"] and s["painted"] and s["settled"] and s["fingerprint"])


def view(picture):
    """Returns the middle of a screenshot, which shows the terrain."""
    rows, columns, _ = picture.shape
    return picture[rows // 4 : -rows // 4, columns * 2 // 5 : -columns // 4]


def test_it_opens_from_a_sub_path_and_draws_land(browser, server, tmp_path):
    page = browser.page(None)
    start = time.time()
    page.go(server.address)
    page.until("the terrain is visible", lambda s: s["painted"] and s["turn"] > 0)
    print(f"first land after {time.time() - start:.2f} s")
    page.send("Runtime.evaluate", expression="1")
    time.sleep(0.5)
    seen = view(page.picture(tmp_path / "seen.png"))
    # A terrain has many colours; a blank canvas has one.
    assert len(np.unique(seen.reshape(-1, 3), axis=0)) > 500 and seen.std() > 15
    # There are no requests to other servers, and no violations of the page's content security policy.
    assert page.asked and all(address.startswith((server.address, "blob:", "data:")) for address in page.asked), page.asked
    assert page.troubles == [], page.troubles
    page.close()


def test_a_link_opens_the_commands_world_to_the_bit(page, tmp_path):
    folder, report = built(tmp_path, SMALL)
    state = done(page)
    assert state["fingerprint"] == report["fingerprints"]["ground"]
    # The address contains the same recipe.
    link = page.run("location.hash.slice(1)")
    _, again = built(tmp_path, text_of(link), "again")
    assert again["fingerprints"] == report["fingerprints"]
    page.downloads(tmp_path)
    # The downloaded heights are the command's, byte for byte.
    page.run("window.thalweg.export('heights')")
    file = waited(tmp_path, "small-7.tif")
    assert file.read_bytes() == (folder / "height.tif").read_bytes()


def waited(folder, name, seconds=30):
    end = time.time() + seconds
    while not (folder / name).exists():
        assert time.time() < end, f"{name} was not downloaded: {sorted(path.name for path in folder.iterdir())}"
        time.sleep(0.05)
    return folder / name


PROGRAMS = ["unreal", "unity", "terrain3d", "hterrain", "blender", "bevy", "worldpainter", "gis", "web"]


@pytest.mark.parametrize("preset", sorted(path.stem for path in PRESETS.glob("*.toml")))
def test_a_world_is_taken_home_whole(browser, server, tmp_path, preset):
    page = browser.page(server.address + "#" + preset)
    page.downloads(tmp_path)
    recipe = done(page)["recipe"]
    # A preset's elevation model has another path in the page than in the command, and the recipe's hash depends on it.
    given = "\nfrom = " in recipe
    (tmp_path / "world.toml").write_text(recipe)
    thalweg("build", preset if given else "world.toml", "--out", "world", cwd=tmp_path)
    there = {path.name: path.read_bytes() for path in (tmp_path / "world").iterdir() if path.name != ".lock"}
    # The writer of FlatGeobuf needs a disk; the GeoJSON file has the same content.
    there = {name: data for name, data in there.items() if not name.endswith(".fgb")}
    page.run("window.thalweg.export('world')")
    with zipfile.ZipFile(waited_one(tmp_path, "*.zip")) as world:
        assert world.testzip() is None
        assert set(world.namelist()) == set(there)
        # Only the report contains times and paths of the machine.
        other = {"report.json", "height.png.json"} if given else {"report.json"}
        assert [name for name in there if name not in other and world.read(name) != there[name]] == []
        here, report = json.loads(world.read("report.json")), json.loads(there["report.json"])
        assert here["fingerprints"] == report["fingerprints"]
        # The list of files is the command's, which omits sidecars.
        assert here["files"] == [name for name in report["files"] if not name.endswith(".fgb")]
    page.close()


def waited_one(folder, pattern, seconds=60):
    end = time.time() + seconds
    while not (found := list(folder.glob(pattern))):
        assert time.time() < end, f"{pattern} was not downloaded"
        time.sleep(0.05)
    return found[0]


def test_a_world_is_taken_home_as_programs_take_it(page, tmp_path):
    folder, _ = built(tmp_path, SMALL)
    done(page)
    page.downloads(tmp_path)
    for program in PROGRAMS:
        page.run(f"window.thalweg.export('{program}')")
        with zipfile.ZipFile(waited(tmp_path, f"small-7-{program}.zip")) as taken:
            assert taken.testzip() is None
            manifest = json.loads(taken.read("manifest.json"))
            names = {file["file"] for file in manifest["files"]} | {"manifest.json"}
            assert set(taken.namelist()) == names
            thalweg("export", folder, "--for", program, "--name", "small", "-o", tmp_path / program)
            own = json.loads((tmp_path / program / "manifest.json").read_text())
            # Heights from a file are rounded to its samples; those in memory are not.
            for key in ["target", "samples", "tiles", "spacing_m", "zooms", "sample", "first_row"]:
                assert own.get(key) == manifest.get(key), (program, key)
            assert abs(own["minimum"] - manifest["minimum"]) < 1e-3 and abs(own["maximum"] - manifest["maximum"]) < 1e-3
            # The page also exports the layers that the program supports.
            assert {file["file"] for file in own["files"]} <= names
    refused = page.run("(() => { try { window.thalweg.export('untiy') } catch (problem) { return String(problem) } })()")
    assert "did you mean `unity`" in refused


def test_the_view_is_that_of_the_reference(page):
    done(page)
    # The camera was placed for the terrain that was visible first; place it for this one.
    page.key("Home", "Home")
    # Wait until the droplets and the scale, which follows the terrain, stop moving.
    time.sleep(2)
    assert is_like_the_reference(page.picture(), os.environ.get("THALWEG_BLESS"))


def is_like_the_reference(picture, bless=False):
    """Returns true if a picture of the small world is like tests/web/small.png; with ``bless``, replaces that file."""
    seen = Image.fromarray(view(picture).astype("uint8"))
    seen = seen.resize((seen.width // 2, seen.height // 2), Image.Resampling.BOX)
    path = ROOT / "tests/web/small.png"
    if bless:
        seen.save(path)
    reference = Image.open(path).convert("RGB")
    apart = np.abs(np.asarray(seen).astype(float) - np.asarray(reference).astype(float))
    # Software renderers differ at edges and in rounding: on average by a hundredth of the range, and few pixels by more
    # than a tenth.
    return apart.mean() < 4 and (apart.max(axis=2) > 25).mean() < 0.02


def test_it_draws_by_webgpu_where_there_is_that(server, tmp_path):
    words = ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan", "--use-vulkan=swiftshader"]
    browser = Browser(tmp_path, *words)
    try:
        page = browser.page(server.address + "#" + link_of(SMALL))
        done(page)
        assert page.run("navigator.gpu.requestAdapter().then(Boolean)")
        # A canvas keeps the kind of its first context.
        assert page.run("document.getElementById('land').getContext('webgl2') === null && document.getElementById('land').getContext('webgpu') !== null")
        page.key("Home", "Home")
        time.sleep(2)
        assert is_like_the_reference(page.picture())
    finally:
        browser.close()


def test_firefox_shows_the_same(server, tmp_path):
    _, report = built(tmp_path, SMALL)
    (tmp_path / "profile").mkdir()
    firefox = Firefox(tmp_path / "profile", (1280, 800))
    try:
        firefox.go(server.address + "#" + link_of(SMALL))
        assert done(firefox)["fingerprint"] == report["fingerprints"]["ground"]
        time.sleep(2)
        seen = np.asarray(Image.open(io.BytesIO(firefox.picture())).convert("RGB")).astype(int)
        assert len(np.unique(view(seen).reshape(-1, 3), axis=0)) > 500
    finally:
        firefox.close()


def test_an_isolated_page_works_on_several_threads(browser, tmp_path):
    _, report = built(tmp_path, SMALL)
    server = Server(DIST, isolated=True)
    page = browser.page(server.address + "#" + link_of(SMALL))
    state = done(page)
    assert page.run("crossOriginIsolated && window.thalweg.threads() === navigator.hardwareConcurrency")
    assert state["fingerprint"] == report["fingerprints"]["ground"]
    assert page.troubles == [], page.troubles
    page.close()
    server.close()


def test_a_page_that_is_not_isolated_has_one_thread(page):
    done(page)
    assert page.run("!crossOriginIsolated && window.thalweg.threads() === 1")
    assert "one thread" in page.run("document.getElementById('wait').textContent")


def test_the_mouse_turns_the_land_and_sliders_act(page):
    before = done(page)
    page.drag((640, 400), (740, 400))
    turned = page.until("the camera has turned", lambda s: abs(s["camera"]["azimuth"] - before["camera"]["azimuth"]) > 5)
    page.mouse("Wheel", 640, 400, deltaX=0, deltaY=-300)
    page.until("the camera is nearer", lambda s: s["camera"]["distance"] < 0.9 * turned["camera"]["distance"])
    # The keys are those of the desktop window: P plays and pauses, M shows the map.
    page.key("m", "M")
    page.until("the map is shown", lambda s: s["camera"]["map"])
    page.key("m", "M")
    # The slider `Age` is in the row at the top. At its right end, the age is tenfold.
    x, y = slider(page)
    page.drag((x, y), (x + 60, y))
    aged = page.until("the recipe has changed", lambda s: s["recipe"] != before["recipe"])
    assert "count = 20000\n" not in aged["recipe"]
    page.until("the address has changed", lambda s: link_of(SMALL) != page.run("location.hash.slice(1)"))


def slider(page):
    """Returns the position of the handle of the slider `Age`: at the value 1, the middle of its 90 points."""
    left, top, _, height = page.state()["places"]["Age"]
    return left + 45, top + height / 2


def test_files_are_dropped_and_refused(page, tmp_path, server):
    done(page)
    rng = np.random.default_rng(3)
    i, j = np.mgrid[0:80, 0:100]
    heights = (600 + 200 * np.sin(i / 13) * np.cos(j / 17) + rng.normal(0, 2, i.shape)).astype("float32")
    import rasterio
    from rasterio.transform import from_origin

    path = tmp_path / "own.tif"
    with rasterio.open(path, "w", driver="GTiff", height=80, width=100, count=1, dtype="float32", crs="EPSG:32632",
                       transform=from_origin(500000, 5200000, 25, 25)) as file:
        file.write(heights, 1)
    drop(page, {"own.tif": path.read_bytes()})
    state = page.until("the file is open", lambda s: s["cells"] == [80, 100])
    assert "own.tif" in state["recipe"]
    png = tmp_path / "own.png"
    Image.fromarray((heights * 50).astype("uint16")).save(png)
    drop(page, {"own.png": png.read_bytes()})
    page.until("the picture is open", lambda s: "own.png" in s["recipe"])
    drop(page, {"other.toml": SMALL.replace("small", "other").encode()})
    page.until("the recipe is open", lambda s: 'name = "other"' in s["recipe"])
    recipe = f'name = "upon"\nfrom = "own.tif"\n\n[[stage]]\nmodel = "thermal"\n'
    drop(page, {"own.tif": path.read_bytes(), "upon.toml": recipe.encode()})
    page.until("recipe and file are open", lambda s: 'name = "upon"' in s["recipe"] and s["cells"] == [80, 100])
    # A file that cannot be opened gets a message and leaves the world unchanged.
    for name, data in {"broken.tif": b"II*\0 and no more", "broken.toml": b"[[stage]]\nmodel = \"nothing\"\n", "broken.doc": b"x"}.items():
        drop(page, {name: data})
        state = page.until(f"{name} is refused", lambda s: s["said"] and ("broken" in s["said"] or "nothing" in s["said"]))
        assert 'name = "upon"' in page.until("the world is back", lambda s: 'name = "upon"' in s["recipe"])["recipe"]
    # A file of two gigabytes is refused without reading it.
    page.run("""window.thalweg.open([Object.defineProperty(new File(["x"], "large.tif"), "size", { value: 2e9 })])""")
    assert "2.0 GB" in page.words()


def drop(page, files):
    coded = json.dumps({name: base64.b64encode(data).decode() for name, data in files.items()})
    page.run(f"""{{
        const transfer = new DataTransfer();
        for (const [name, data] of Object.entries({coded}))
            transfer.items.add(new File([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))], name));
        document.getElementById("land").dispatchEvent(new DragEvent("drop", {{ dataTransfer: transfer, bubbles: true, cancelable: true }}));
    }}""")


@pytest.mark.parametrize("link, word", [
    ("hello%20world", "characters"), (link_of(SMALL)[:60], "truncated"), ("Ag" + link_of(SMALL)[2:], "version"),
    (link_of('[[stage]]\nmodel = "of_tomorrow"\n'), "of_tomorrow"),
])
def test_a_broken_link_is_one_clear_sentence(browser, server, link, word):
    page = browser.page(server.address + "#" + link)
    page.until("another world is shown", lambda s: s["painted"])
    assert word in page.words() and page.words().count("\n") == 0
    page.close()


def test_a_hidden_tab_works_on_and_is_seen_again(browser, server):
    page = browser.page(server.address + "#" + link_of(SMALL.replace("count = 20000", "count = 400000")))
    before = page.until("it runs", lambda s: s["turn"] == 1 and s["painted"])
    other = browser.send("Target.createTarget", url="about:blank", browserContextId=page.context)["targetId"]
    browser.send("Target.activateTarget", targetId=other)
    time.sleep(2)
    browser.send("Target.activateTarget", targetId=page.target)
    # The run continued while the tab was hidden, and its steps are shown.
    page.until("it is visible again", lambda s: s["frames"] > before["frames"] and s["step"] > before["step"] + 25)
    page.close()


def test_lost_graphics_come_back_with_the_recipe(page):
    done(page)
    loaded = page.loaded
    page.run("""setTimeout(() => document.getElementById("land").getContext("webgl2").getExtension("WEBGL_lose_context").loseContext(), 50); 0""")
    end = time.time() + 30
    while page.loaded == loaded:
        assert time.time() < end, page.words()
        time.sleep(0.1)
    assert done(page)["recipe"].startswith('name = "small"')


@pytest.mark.parametrize("act", ["breakDown", "kill"])
def test_a_dead_worker_is_replaced_and_the_recipe_kept(page, act):
    before = done(page)
    page.run(f"window.thalweg.{act}()")
    told = page.until("the message is shown", lambda s: s["said"] and "stopped because of an internal error" in s["said"])
    assert told["recipe"] == before["recipe"]
    assert done(page)["fingerprint"] == before["fingerprint"]
    # The new worker receives recipes and runs them.
    page.run(f"window.thalweg.recipe({json.dumps(SMALL.replace('seed = 7', 'seed = 8'))})")
    page.until("the other world is done", lambda s: "seed = 8" in s["recipe"] and s["fingerprint"] not in [None, before["fingerprint"]])


def test_a_hundred_clicks_in_a_second_are_taken(page):
    done(page)
    start = time.time()
    page.click(640, 420, times=100)
    assert time.time() - start < 20
    page.until("the droplets have moved", lambda s: s["particles"] > 20000 and s["settled"])
    assert page.run("new Promise((seen) => requestAnimationFrame(() => seen(true)))")
    assert page.troubles == [], page.troubles


def test_memory_is_steady(page):
    done(page)
    def used():
        page.send("HeapProfiler.collectGarbage")
        return page.run("window.thalweg.memory()") + page.run("performance.memory.usedJSHeapSize")
    def round():
        page.run("window.thalweg.recipe(window.thalweg.state().recipe)")
        time.sleep(0.3)
        done(page)
    end = time.time() + float(os.environ.get("THALWEG_STEADY", 30))
    round(), round()
    first = used()
    while time.time() < end:
        round()
    # The browser's own caches vary by some megabytes.
    assert used() - first < 16e6


def test_a_phone_begins_with_worlds_and_is_turned_by_fingers(phone, server):
    page = phone.page(server.address, size=(390, 844), scale=0, mobile=True)
    end = time.time() + 30
    while not page.run("document.querySelectorAll('#list:not([hidden]) button img').length"):
        assert time.time() < end
        time.sleep(0.1)
    listed = page.run("[...document.querySelectorAll('#list span')].map((e) => e.textContent.replaceAll(' ', '_'))")
    x, y = page.run("(({ left, top, width, height }) => [left + width / 2, top + height / 2])(document.querySelector('#list button').getBoundingClientRect())")
    page.send("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
    page.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    before = page.until("the terrain is visible", lambda s: s["painted"])["camera"]
    assert listed == page.run("window.thalweg.presets()")
    page.touch(((195, 420), (275, 420)))
    turned = page.until("one finger turns the view", lambda s: abs(s["camera"]["azimuth"] - before["azimuth"]) > 5)["camera"]
    page.touch(((170, 420), (100, 420)), ((220, 420), (290, 420)))
    near = page.until("two fingers zoom", lambda s: s["camera"]["distance"] < 0.8 * turned["distance"])["camera"]
    assert abs(near["azimuth"] - turned["azimuth"]) < 10
    time.sleep(0.5)
    page.touch(((170, 420), (170, 520)), ((220, 420), (220, 520)))
    page.until("two fingers move the view", lambda s: np.hypot(*(np.subtract(s["camera"]["target"], near["target"])[:2])) > 1)
    page.close()


def test_much_memory_is_asked_for(page):
    done(page)
    page.answer = False
    large = SMALL.replace("cells = 96", "cells = 8000")
    page.run(f"window.thalweg.recipe({json.dumps(large)})")
    time.sleep(1)
    assert any("GiB" in text for text in page.dialogs)
    assert "cells = 96" in page.state()["recipe"]
    page.run(f"window.thalweg.recipe({json.dumps(SMALL.replace('cells = 96', 'cells = 30000'))})")
    page.until("more memory than there is is refused", lambda s: s["said"] and "fewer cells" in s["said"])


def test_it_opens_without_a_net(browser, server):
    page = browser.page(server.address + "#" + link_of(SMALL))
    seen = done(page)["fingerprint"]
    # The files are cached after some seconds. Wait until the service worker controls this page, too.
    kept = """(async () => {
        const names = await caches.keys();
        const files = await Promise.all(names.map(async (name) => (await (await caches.open(name)).keys()).map((file) => file.url)));
        return [navigator.serviceWorker.controller !== null, files.flat()];
    })()"""
    end = time.time() + 60
    while not (state := page.run(kept))[0]:
        assert time.time() < end, state
        time.sleep(0.2)
    assert any(address.startswith(server.address + "thalweg_studio_bg.wasm?") for address in state[1]), state
    stopped = len(server.served)
    server.silent = True
    try:
        loaded = page.loaded
        page.send("Page.reload", ignoreCache=False)
        while page.loaded == loaded:
            time.sleep(0.05)
        assert done(page)["fingerprint"] == seen
        assert page.troubles == [], page.troubles
    finally:
        server.silent = False
    assert len(server.served) == stopped
    page.close()


def test_it_works_where_nothing_can_be_kept(browser, server):
    page = browser.page(None)
    page.send("Storage.overrideQuotaForOrigin", origin=server.origin, quotaSize=1)
    page.go(server.address + "#" + link_of(SMALL))
    before = done(page)
    time.sleep(6)
    page.run(f"window.thalweg.recipe({json.dumps(SMALL.replace('seed = 7', 'seed = 8'))})")
    page.until("the other world is done", lambda s: "seed = 8" in s["recipe"] and s["fingerprint"] not in [None, before["fingerprint"]])
    assert page.words() == ""
    page.close()


def test_colours_are_those_that_the_system_asks_for(browser, server):
    light = {}
    for dark in [True, False]:
        page = browser.page(server.address + "#" + link_of(SMALL), dark=dark)
        done(page)
        # The background of the row at the top.
        light[dark] = np.median(page.picture()[2:20, :, :])
        page.close()
    assert light[True] < 90 and light[False] > 200, light


def test_without_webgl_there_is_a_word_and_a_picture(browser, server):
    page = browser.page(None)
    page.send("Page.addScriptToEvaluateOnNewDocument", source="HTMLCanvasElement.prototype.getContext = () => null; delete Navigator.prototype.gpu;")
    page.go(server.address)
    end = time.time() + 30
    while "WebGL" not in (page.words() or ""):
        assert time.time() < end
        time.sleep(0.1)
    assert page.run("document.querySelector('#still img').decode().then(() => true)")
    page.close()
