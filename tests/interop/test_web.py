"""`thalweg export --for web`: tiles decoded from their documentation, heights held against rasterio's reprojection; the page."""

import contextlib
import functools
import http.server
import json
import re
import shutil
import subprocess
import threading
import time
import zlib

import numpy as np
import pytest
import rasterio
from helpers import ROOT, long_or, refused, run_thalweg, thalweg, write_raster
from PIL import Image
from rasterio.transform import from_origin
from rasterio.warp import Resampling, reproject, transform

PAGE = ROOT / "crates/thalweg-render/src/web/page"
R = 6378137.0
# The circumference of the sphere of EPSG:3857.
MAP = 2 * np.pi * R


def export(folder, source, out, *words):
    said = thalweg("export", source, "--for", "web", "-o", out, *words, cwd=folder)
    manifest = json.loads((folder / out / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["import"] in re.sub(r"\s+", " ", said) or manifest["import"] in said
    return folder / out, manifest


def mapbox(path):
    # Mapbox, Terrain-RGB: height = -10000 + ((R * 256 * 256 + G * 256 + B) * 0.1).
    rgb = np.asarray(Image.open(path).convert("RGB")).astype(float)
    return -10000 + (rgb[..., 0] * 65536 + rgb[..., 1] * 256 + rgb[..., 2]) * 0.1


def terrarium(path):
    # Terrarium: (red * 256 + green + blue / 256) - 32768.
    rgb = np.asarray(Image.open(path).convert("RGB")).astype(float)
    return rgb[..., 0] * 256 + rgb[..., 1] + rgb[..., 2] / 256 - 32768


def alpha(path):
    picture = Image.open(path)
    assert picture.mode == "LA"
    return np.asarray(picture)[..., 1]


def tiles(manifest, layer, zoom):
    return [file for file in manifest["files"] if file.get("layer") == layer and file["tile"][0] == zoom]


def place(tile):
    """The affine transform of a tile's pixels in EPSG:3857."""
    z, x, y = tile
    pixel = MAP / 256 / 2**z
    return from_origin(-MAP / 2 + x * 256 * pixel, MAP / 2 - y * 256 * pixel, pixel, pixel)


def land(rows, columns, seed):
    """Ground with waves of all lengths, some metres to some hundred."""
    rng = np.random.default_rng(seed)
    i, j = np.mgrid[0:rows, 0:columns]
    waves = [(200 / k * np.sin((i * np.cos(a) + j * np.sin(a)) * k / 60 + a)) for k, a in zip(range(1, 9), rng.uniform(0, 7, 8))]
    return (1200 + sum(waves)).astype("float32")


def written(path, heights, epsg, west, north, cell, nodata=None):
    write_raster(path, heights, from_origin(west, north, cell, cell), epsg, nodata=nodata)


@pytest.fixture(scope="module")
def folder(built_world, tmp_path_factory):
    """A folder with terrains that several tests export: rasters, and a world without a coordinate reference system."""
    folder = tmp_path_factory.mktemp("web")
    holed = land(256, 256, 7)
    holed[60:150, 40:200] = -9999
    written(folder / "holes.tif", holed, "EPSG:32616", 500000, 4000000, 25, nodata=-9999)
    written(folder / "rough.tif", land(300, 300, 9), "EPSG:32616", 400000, 4200000, 30)
    written(folder / "north.tif", land(400, 400, 5), "EPSG:32633", 480000, 6660000, 20)
    written(folder / "lambert.tif", land(40, 40, 1), "EPSG:2154", 700000, 6600000, 25)
    shutil.copytree(built_world("alpine", "--cells", long_or(128, 512)), folder / "alpine")
    return folder


@pytest.fixture(scope="module")
def holes(folder):
    """The folder and the manifest of the export of `holes.tif`."""
    return export(folder, "holes.tif", "holes")


def warped(path, tile, crs=None, shift=None):
    """What GDAL makes of a file on a tile's pixels: linear between cells."""
    out = np.full((256, 256), np.nan)
    with rasterio.open(path) as file:
        reproject(
            file.read(1).astype(float), out, src_transform=shift or file.transform, src_crs=crs or file.crs, src_nodata=file.nodata,
            dst_transform=place(tile), dst_crs="EPSG:3857", dst_nodata=np.nan, resampling=Resampling.bilinear, tolerance=0,
        )
    return out


def exact(path, tile, crs=None, shift=None):
    """The same with PROJ's places, and linear in NumPy: within the middles of the outermost cells."""
    with rasterio.open(path) as file:
        z, t, crs = file.read(1).astype(float), shift or file.transform, crs or file.crs
    p = place(tile)
    i, j = (k.ravel() for k in np.mgrid[0:256, 0:256])
    x, y = map(np.asarray, transform("EPSG:3857", crs, p.c + (j + 0.5) * p.a, p.f + (i + 0.5) * p.e))
    v, u = (t.f - y) / t.a - 0.5, (x - t.c) / t.a - 0.5
    out = np.full(256 * 256, np.nan)
    ok = (v > 0) & (v < z.shape[0] - 1) & (u > 0) & (u < z.shape[1] - 1)
    v, u = v[ok], u[ok]
    a, b = np.floor(v).astype(int), np.floor(u).astype(int)
    s, r = v - a, u - b
    out[ok] = (z[a, b] * (1 - r) + z[a, b + 1] * r) * (1 - s) + (z[a + 1, b] * (1 - r) + z[a + 1, b + 1] * r) * s
    return out.reshape(256, 256)


@pytest.mark.parametrize("seed, epsg, west, north, cell", [
    (1, 32616, 700000, 4050000, 30), (2, 32733, 250000, 6300000, 12.5), (3, 25832, 500000, 7600000, 90), (4, 26911, 380000, 3790000, 10),
    (5, 32660, 830000, 200000, 30),
])
def test_heights_are_those_of_projs_and_gdals_reprojection(folder, seed, epsg, west, north, cell):
    rng = np.random.default_rng(seed)
    source = folder / f"{epsg}.tif"
    written(source, land(int(rng.integers(90, 400)), int(rng.integers(90, 400)), seed), f"EPSG:{epsg}", west, north, cell)
    out, manifest = export(folder, source.name, f"out-{epsg}")
    first, last = manifest["zooms"]
    # The last zoom is the first with pixels no wider than cells.
    latitude = np.radians(np.mean(manifest["bounds"][1::2]))
    pixel = MAP / 256 / 2**last * np.cos(latitude)
    assert cell / 2 * 0.999 <= pixel <= cell * 1.001 and first < last
    seen = 0
    for file in tiles(manifest, "terrain-rgb", last):
        expected = warped(source, file["tile"])
        got, other = mapbox(out / file["file"]), terrarium(out / file["file"].replace("terrain-rgb", "terrarium"))
        light = alpha(out / file["file"].replace("terrain-rgb", "hillshade"))
        assert np.abs(got - other).max() <= 0.05 + 1 / 512 + 1e-6
        assert (got[light == 0] == 0).all()
        # At its rim GDAL goes on with what is there, we do too; which pixels lie within may differ by rounding.
        both = ~np.isnan(expected) & (light == 255)
        assert (np.isnan(expected) != (light == 0)).mean() < 0.005
        inner = both & np.roll(both, 3, 0) & np.roll(both, -3, 0) & np.roll(both, 3, 1) & np.roll(both, -3, 1)
        # GDAL's warper itself is off from PROJ's places: by up to 0.33 m on these slopes.
        assert np.abs(got - expected)[inner].max(initial=0) <= 0.5, file
        # Half a step of 1/256 m and of 0.1 m, and a tenth of a millimetre for places.
        known = exact(source, file["tile"])
        assert (light[~np.isnan(known)] == 255).all()
        assert np.nanmax(np.abs(other - known), initial=0) <= 1 / 512 + 2e-4
        assert np.nanmax(np.abs(got - known), initial=0) <= 0.05 + 2e-4
        seen += inner.sum()
    assert seen > 10000


def test_a_world_that_lies_nowhere_is_to_scale_where_it_is_laid(folder):
    done = run_thalweg("export", "alpine", "--for", "web", "-o", "africa", cwd=folder)
    assert done.returncode == 0 and "0° N 0° E" in done.stderr, done.stderr
    out, manifest = export(folder, "alpine", "laid", "--origin", "11.5,47.25")
    with rasterio.open(folder / "alpine/height.tif") as file:
        rows, columns = file.shape
        cell = file.transform.a
    crs = "+proj=tmerc +lat_0=47.25 +lon_0=11.5 +k=1 +x_0=0 +y_0=0 +ellps=WGS84 +units=m"
    shift = from_origin(-columns * cell / 2, rows * cell / 2, cell, cell)
    seen = 0
    for file in tiles(manifest, "terrain-rgb", manifest["zooms"][1]):
        known = exact(folder / "alpine/height.tif", file["tile"], crs, shift)
        assert np.nanmax(np.abs(mapbox(out / file["file"]) - known), initial=0) <= 0.05 + 1e-3
        seen += (~np.isnan(known)).sum()
    assert seen > 10000
    # The middle lies there; a kilometre is a kilometre.
    west, south, east, north = manifest["bounds"]
    assert abs((west + east) / 2 - 11.5) < 1e-3 and abs((south + north) / 2 - 47.25) < 1e-3
    assert (north - south) * 111180 == pytest.approx(rows * cell * 1.002, rel=2e-3)


def test_overviews_are_means_of_metres(folder):
    # On a plane means and samples are one: each zoom tells the plane's height at the middles of its pixels.
    rows, columns, cell, west, north = 300, 260, 30.0, 400000.0, 4200000.0
    i, j = np.mgrid[0:rows, 0:columns]
    plane = lambda x, y: 500 + 0.11 * (x - west) + 0.07 * (north - y)
    written(folder / "plane.tif", plane(west + (j + 0.5) * cell, north - (i + 0.5) * cell).astype("float32"), "EPSG:32616", west, north, cell)
    out, manifest = export(folder, "plane.tif", "plane", "--zoom", "7-14")
    assert manifest["zooms"] == [7, 14]
    for zoom in range(9, 14):
        for file in tiles(manifest, "terrain-rgb", zoom):
            got = mapbox(out / file["file"])
            light = alpha(out / file["file"].replace("terrain-rgb", "hillshade"))
            t = place(file["tile"])
            inner = np.argwhere(light == 255)
            x, y = t.c + (inner[:, 1] + 0.5) * t.a, t.f + (inner[:, 0] + 0.5) * t.e
            e, n = map(np.asarray, transform("EPSG:3857", "EPSG:32616", x, y))
            pixel = t.a * 0.8
            # What lies a pixel and a coarse cell from the rim is made of data on all sides.
            safe = 2 * pixel + 2 * cell
            within = (e > west + safe) & (e < west + columns * cell - safe) & (n < north - safe) & (n > north - rows * cell + safe)
            at = got[inner[:, 0], inner[:, 1]]
            # Half a step; a pixel is no square of the source, and bends by a part of a thousandth.
            assert np.abs(at - plane(e, n))[within].max(initial=0) <= 0.1, zoom
    # Rough ground: a pixel is near the mean of the four below it. Means of R, G and B would be off by hundreds of metres where R or G steps.
    out, manifest = export(folder, "rough.tif", "rough")
    zoom = manifest["zooms"][1]
    known = {tuple(file["tile"]): file["file"] for file in tiles(manifest, "terrain-rgb", zoom)}
    tried = 0
    for file in tiles(manifest, "terrain-rgb", zoom - 1):
        z, x, y = file["tile"]
        four = [[(zoom, 2 * x + b, 2 * y + a) for b in (0, 1)] for a in (0, 1)]
        if not all(tile in known for row in four for tile in row):
            continue
        read = lambda of, row: np.hstack([of(out / known[tile]) for tile in row])
        fine = np.vstack([read(mapbox, row) for row in four])
        lit = np.vstack([read(lambda path: alpha(str(path).replace("terrain-rgb", "hillshade")), row) for row in four])
        means, whole = fine.reshape(256, 2, 256, 2).mean((1, 3)), lit.reshape(256, 2, 256, 2).min((1, 3)) == 255
        assert np.abs(mapbox(out / file["file"]) - means)[whole].max() < 8
        tried += whole.sum()
    assert tried > 1000


def test_hillshade_is_horns_over_the_ground_not_the_map(folder):
    """At 60° N a pixel is half as wide on the ground as on the map: slopes are those of the ground, and tiles join."""
    out, manifest = export(folder, "north.tif", "north")
    zoom = manifest["zooms"][1]
    files = {tuple(file["tile"][1:]): file["file"] for file in tiles(manifest, "terrarium", zoom)}
    columns, rows = sorted({x for x, _ in files}), sorted({y for _, y in files})
    blank = np.zeros((256, 256))
    sheet = lambda of, layer: np.block([
        [of(out / files[x, y].replace("terrarium", layer)) if (x, y) in files else blank for x in columns] for y in rows])
    z, light = sheet(terrarium, "terrarium"), sheet(lambda path: np.asarray(Image.open(path))[..., 0].astype(float), "hillshade")
    there = sheet(alpha, "hillshade") == 255
    y = (rows[0] * 256 + np.arange(z.shape[0]) + 0.5) * MAP / 256 / 2**zoom
    latitude = np.arctan(np.sinh((MAP / 2 - y) / R))
    cell = (MAP / 256 / 2**zoom * np.cos(latitude))[1:-1, None]
    # Horn (1981), light from 315° at 45° (Lambert).
    a = lambda di, dj: z[1 + di : z.shape[0] - 1 + di, 1 + dj : z.shape[1] - 1 + dj]
    east = (a(-1, 1) + 2 * a(0, 1) + a(1, 1) - a(-1, -1) - 2 * a(0, -1) - a(1, -1)) / (8 * cell)
    north = (a(-1, -1) + 2 * a(-1, 0) + a(-1, 1) - a(1, -1) - 2 * a(1, 0) - a(1, 1)) / (8 * cell)
    sun = np.array([-0.5, 0.5, np.sqrt(0.5)])
    lit = np.maximum(0, (-east * sun[0] - north * sun[1] + sun[2]) / np.sqrt(east**2 + north**2 + 1)) * 255
    whole = there[1:-1, 1:-1] & np.all([there[1 + i : there.shape[0] - 1 + i, 1 + j : there.shape[1] - 1 + j] for i in (-1, 0, 1) for j in (-1, 0, 1)], axis=0)
    # Half a step of light, and of heights (1/512 m over 40 m of ground, eight of them).
    assert whole.sum() > 20000 and np.abs(lit - light[1:-1, 1:-1])[whole].max() < 0.8


def test_holes_are_zero_and_seen_through(folder, holes):
    out, manifest = holes
    assert manifest["nodata"] == 90 * 160
    lost = total = 0
    for file in tiles(manifest, "terrain-rgb", manifest["zooms"][1]):
        got, light = mapbox(out / file["file"]), alpha(out / file["file"].replace("terrain-rgb", "hillshade"))
        assert set(np.unique(light)) <= {0, 255} and (got[light == 0] == 0).all() and (got[light == 255] > 400).all()
        lost, total = lost + (light == 0).sum(), total + (light == 255).sum()
    assert total > 0 and lost > 0
    # A tile without any data is not written.
    empty = land(600, 600, 8)
    empty[:, 200:] = -9999
    written(folder / "half.tif", empty, "EPSG:32616", 500000, 4000000, 10, nodata=-9999)
    out, manifest = export(folder, "half.tif", "half", "--zoom", "15")
    for file in tiles(manifest, "hillshade", 15):
        assert (alpha(out / file["file"]) == 255).any()
    assert len(tiles(manifest, "hillshade", 15)) < len(tiles(export(folder, "rough.tif", "r15", "--zoom", "15")[1], "hillshade", 15))


def test_the_manifest_tells_each_file_and_tilejson_the_page(folder, holes):
    out, manifest = holes
    for file in manifest["files"]:
        data = (out / file["file"]).read_bytes()
        assert len(data) == file["bytes"] and f"{zlib.crc32(data):08x}" == file["crc32"]
    there = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    assert there == {file["file"] for file in manifest["files"]} | {"manifest.json"}
    told = json.loads((out / "tiles.json").read_text())
    assert told["tilejson"] == "3.0.0" and [told["minzoom"], told["maxzoom"]] == manifest["zooms"] and told["scheme"] == "xyz"
    assert set(told["layers"]) == {"terrain-rgb", "terrarium", "hillshade"} and told["bounds"] == manifest["bounds"]
    west, south, east, north = told["bounds"]
    with rasterio.open(folder / "holes.tif") as file:
        b = file.bounds
    x, y = transform("EPSG:32616", "EPSG:4326", [b.left, b.right, b.left, b.right], [b.top, b.top, b.bottom, b.bottom])
    assert west <= min(x) and east >= max(x) and south <= min(y) and north >= max(y)
    assert east - west < 1.02 * (max(x) - min(x))


def test_the_page_asks_nobody_else(holes):
    out, _ = holes
    for path in PAGE.iterdir():
        text = path.read_text(encoding="utf-8")
        assert (out / path.name).read_text(encoding="utf-8") == text
        assert not re.search(r"https?:|//[a-z0-9-]+\.[a-z]|eval\(|new Function|innerHTML", text), path.name
    page = (PAGE / "index.html").read_text(encoding="utf-8")
    assert "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'" in page
    assert not re.search(r"<script>|<style|style=|\son\w+=", page)
    for name in re.findall(r"(?:src|href)=\"([^\"]+)\"", page):
        assert name.startswith("data:,") or (PAGE / name).exists()


def test_a_second_run_goes_on_and_another_is_refused(folder):
    source = "holes.tif"
    out, manifest = export(folder, source, "again")
    some = [file["file"] for file in manifest["files"] if file.get("layer") == "terrarium"][:2]
    bytes_of = {name: (out / name).read_bytes() for name in some}
    kept = next(file["file"] for file in manifest["files"] if file.get("layer") == "hillshade")
    stamp = (out / kept).stat().st_mtime_ns
    for name in some:
        (out / name).unlink()
    (out / "manifest.json").rename(out / ".thalweg-export.json")
    out, again = export(folder, source, "again")
    assert again == manifest and all((out / name).read_bytes() == bytes_of[name] for name in some)
    assert {path.name for path in out.iterdir()} >= {"index.html", "viewer.js", "viewer.css", "tiles.json", "manifest.json"}
    err = refused("export", "rough.tif", "--for", "web", "-o", "again", cwd=folder)
    assert "another export, for web" in err
    err = refused("export", source, "--for", "bevy", "-o", "again", cwd=folder)
    assert "another export, for web" in err
    thalweg("export", "rough.tif", "--for", "web", "-o", "again", "--fresh", cwd=folder)
    new = json.loads((out / "manifest.json").read_text())
    there = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    assert there == {file["file"] for file in new["files"]} | {"manifest.json"}
    assert stamp


@pytest.mark.parametrize("threads", [1, 3])
def test_the_bits_do_not_depend_on_threads(folder, holes, threads):
    _, one = export(folder, "holes.tif", f"threads-{threads}", "--threads", threads)
    assert one["files"] == holes[1]["files"]


@pytest.mark.parametrize("words, said", [
    (["holes.tif", "--tiles", "2"], "tiles"), (["holes.tif", "--size", "512"], "--zoom"), (["holes.tif", "--range", "0,9"], "metres"),
    (["holes.tif", "--layers", "sediment"], "accepts only heights"), (["holes.tif", "--zoom", "9-7"], "rising"), (["holes.tif", "--zoom", "23"], "0 to 22"),
    (["holes.tif", "--zoom", "x"], "0-22"), (["north.tif", "--zoom", "22"], "at most"), (["holes.tif", "--origin", "1,2"], "EPSG:32616"),
    (["alpine", "--origin", "1,89"], "latitude"), (["lambert.tif"], "EPSG:2154"), (["lambert.tif"], "gdalwarp"),
])
def test_what_is_refused_is_named(folder, words, said):
    err = refused("export", words[0], "--for", "web", "-o", "refused", *words[1:], cwd=folder, statuses=(1, 2))
    assert said in err, err
    assert not (folder / "refused").exists() or not [path for path in (folder / "refused").iterdir() if path.is_file()]


def test_other_targets_have_no_place_on_the_globe(folder):
    err = refused("export", "holes.tif", "--for", "bevy", "-o", "refused", "--origin", "1,2", cwd=folder)
    assert "globe" in err


@contextlib.contextmanager
def served(folder):
    """A folder behind a server of plain files, below a path of its own; says which paths were asked for."""
    asked, last = [], [time.monotonic()]

    class Handler(http.server.SimpleHTTPRequestHandler):
        def do_GET(self):
            if self.path.endswith("/wait"):
                # The page is loaded once nothing was asked for a while: the browser then tells what stands in it.
                while time.monotonic() - last[0] < 4:
                    time.sleep(0.1)
                self.send_error(404)
                return
            asked.append(self.path)
            last[0] = time.monotonic()
            if self.path != "/a/b/":
                super().do_GET()
                return
            body = (folder / "index.html").read_bytes().replace(b"</body>", b'<img src="wait" alt=""></body>')
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def translate_path(self, path):
            return super().translate_path(path.removeprefix("/a/b"))

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/a/b/", asked
    server.shutdown()


def test_the_page_tells_heights(folder):
    """Its formula by NumPy, and in the long run in Chromium: 20 places, within 0.1 m of the source."""
    heights = land(260, 310, 21).astype(float)
    written(folder / "asked.tif", heights.astype("float32"), "EPSG:32616", 700000, 4050000, 30)
    out, manifest = export(folder, "asked.tif", "asked")
    rng = np.random.default_rng(3)
    i, j = rng.uniform(5, 254, 20), rng.uniform(5, 304, 20)
    lon, lat = map(np.asarray, transform("EPSG:32616", "EPSG:4326", 700000 + (j + 0.5) * 30, 4050000 - (i + 0.5) * 30))
    at = lambda z, v, u: (lambda a, b, s, r: (z(a, b) * (1 - r) + z(a, b + 1) * r) * (1 - s) + (z(a + 1, b) * (1 - r) + z(a + 1, b + 1) * r) * s)(
        np.floor(v).astype(int), np.floor(u).astype(int), v % 1, u % 1)
    source = at(lambda a, b: heights[a, b], i, j)
    zoom = manifest["zooms"][1]
    sheets = {tuple(file["tile"][1:]): mapbox(out / file["file"]) for file in tiles(manifest, "terrain-rgb", zoom)}
    pixel = np.vectorize(lambda row, column: sheets[column // 256, row // 256][row % 256, column % 256])
    everything = 256 * 2**zoom
    u = (lon / 360 + 0.5) * everything - 0.5
    v = (0.5 - np.arcsinh(np.tan(np.radians(lat))) / (2 * np.pi)) * everything - 0.5
    by_formula = at(pixel, v, u)
    # Twice linear: off from the source by the bend of the ground over a pixel, beside half a step.
    bend = 0.05 + np.abs(np.diff(heights, 2, axis=0)).max() / 8 + np.abs(np.diff(heights, 2, axis=1)).max() / 8
    assert np.abs(by_formula - source).max() < bend
    if not long_or(False, True):
        return
    # Where the ground is a plane between places there is no bend: 0.1 m is what the encoding leaves.
    flat = 800 + 0.9 * np.arange(260)[:, None] + 0.4 * np.arange(310)[None]
    written(folder / "flat.tif", flat.astype("float32"), "EPSG:32616", 700000, 4050000, 30)
    for name, values in (("asked", by_formula), ("flat", 800 + 0.9 * i + 0.4 * j)):
        if name == "flat":
            out, _ = export(folder, "flat.tif", "flat")
        places = ";".join(f"{x:.9f},{y:.9f}" for x, y in zip(lon, lat))
        with served(out) as (address, asked):
            words = ["chromium", "--headless", "--no-sandbox", "--disable-gpu-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
                     f"--user-data-dir={folder / 'chromium'}"]
            page = subprocess.run([*words, "--dump-dom", f"{address}#at={places}"], capture_output=True, text=True, timeout=180).stdout
        told = re.search(r'<p id="heights">([^<]*)</p>', page)
        assert told, page[-2000:]
        found = np.array([float(word) for word in told.group(1).split()])
        assert np.abs(found - values).max() <= (0.1 if name == "flat" else 0.002)
        assert "cannot be shown" not in page and all(path.startswith("/a/b/") for path in asked)
        assert any("hillshade" in path for path in asked)


def quantized(data):
    """Cesium, quantized-mesh-1.0, read by its specification."""
    header = np.frombuffer(data, "<f8", 3), np.frombuffer(data, "<f4", 2, 24), np.frombuffer(data, "<f8", 7, 32)
    at = 88
    count = int(np.frombuffer(data, "<u4", 1, at)[0])
    coded = np.frombuffer(data, "<u2", 3 * count, at + 4).astype(int).reshape(3, count)
    u, v, height = np.cumsum((coded >> 1) ^ -(coded & 1), axis=1)
    at += 4 + 6 * count
    triangles = int(np.frombuffer(data, "<u4", 1, at)[0])
    codes, at = np.frombuffer(data, "<u2", 3 * triangles, at + 4).astype(int), at + 4 + 6 * triangles
    indices, highest = [], 0
    for code in codes:
        indices.append(highest - code)
        highest += code == 0
    edges = []
    for _ in range(4):
        n = int(np.frombuffer(data, "<u4", 1, at)[0])
        edges.append(np.frombuffer(data, "<u2", n, at + 4).astype(int))
        at += 4 + 2 * n
    kind, length = data[at], int(np.frombuffer(data, "<u4", 1, at + 1)[0])
    normals = np.frombuffer(data, "u1", length, at + 5).reshape(-1, 2)
    assert kind == 1 and len(normals) == count and at + 5 + length == len(data)
    return header, u, v, height, np.array(indices).reshape(-1, 3), edges, normals


def decoded_normals(codes):
    x, y = (codes.T / 255 * 2 - 1)
    z = 1 - np.abs(x) - np.abs(y)
    fold = z < 0
    x, y = np.where(fold, (1 - np.abs(y)) * np.where(x < 0, -1, 1), x), np.where(fold, (1 - np.abs(x)) * np.where(y < 0, -1, 1), y)
    n = np.stack([x, y, z], axis=1)
    return n / np.linalg.norm(n, axis=1, keepdims=True)


def test_meshes_for_globes_are_the_land(folder):
    heights = land(300, 350, 11)
    written(folder / "globe.tif", heights, "EPSG:32632", 600000, 5200000, 30)
    out, manifest = export(folder, "globe.tif", "globe", "--format", "terrain")
    told = json.loads((out / "layer.json").read_text())
    assert told["format"] == "quantized-mesh-1.0" and told["scheme"] == "tms" and told["projection"] == "EPSG:4326"
    first, last = manifest["zooms"]
    assert first == 0 and len(told["available"]) == last + 1
    available = {(z, x, y) for z, runs in enumerate(told["available"]) for r in runs
                 for x in range(r["startX"], r["endX"] + 1) for y in range(r["startY"], r["endY"] + 1)}
    files = {tuple(file["tile"]): file["file"] for file in manifest["files"] if "tile" in file}
    assert set(files) == available and {(0, 0, 0), (0, 1, 0)} <= available
    # Each tile's parent is there.
    assert all((z - 1, x // 2, y // 2) in available for z, x, y in available if z)
    low, high = manifest["minimum"], manifest["maximum"]
    step = (high - low) / 32767
    edges_of, seen = {}, 0
    with rasterio.open(folder / "globe.tif") as file:
        t, rows, columns = file.transform, *file.shape
    for (z, x, y), name in files.items():
        header, u, v, codes, triangles, edges, normals = quantized((out / name).read_bytes())
        assert header[1] == pytest.approx([low, high], abs=1e-3)
        side = 180 / 2**z
        lon, lat = -180 + (x + u / 32767) * side, -90 + (y + v / 32767) * side
        metres = low + codes / 32767 * (high - low)
        west, south, east, north = edges
        assert (u[west] == 0).all() and (u[east] == 32767).all() and (v[south] == 0).all() and (v[north] == 32767).all()
        assert all(len(edge) == 65 for edge in edges)
        edges_of[z, x, y] = [list(zip(*(k[edge].tolist() for k in (v, codes)))) for edge in (west, east)] + [
            list(zip(*(k[edge].tolist() for k in (u, codes)))) for edge in (south, north)]
        # Counterclockwise from above, and each half cell once.
        a, b, c = (np.stack([u, v], axis=1)[triangles[:, k]] for k in range(3))
        area = (b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]
        assert (area > 0).all() and area.sum() == 2 * 32767**2
        if z != last:
            continue
        e, n = map(np.asarray, transform("EPSG:4326", "EPSG:32632", lon, lat))
        i, j = (t.f - n) / 30 - 0.5, (e - t.c) / 30 - 0.5
        safe = (i > 1) & (i < rows - 2) & (j > 1) & (j < columns - 2)
        if not safe.any():
            continue
        i0, j0 = np.floor(i[safe]).astype(int), np.floor(j[safe]).astype(int)
        s, r = i[safe] - i0, j[safe] - j0
        h = heights.astype(float)
        expected = (h[i0, j0] * (1 - r) + h[i0, j0 + 1] * r) * (1 - s) + (h[i0 + 1, j0] * (1 - r) + h[i0 + 1, j0 + 1] * r) * s
        # Half a step, and u and v are whole: off by half of 1/32767 of a tile, over slopes of up to about 3.
        assert np.abs(metres[safe] - expected).max() <= step / 2 + 3 * side / 65534 * 111320
        seen += safe.sum()
        # Places in space by pyproj's own ellipsoid, and normals by their cross products.
        geo = lambda lo, la, up: np.stack(transform("EPSG:4979", "EPSG:4978", lo, la, up), axis=1)
        points = geo(lon, lat, metres)
        centre, sphere = header[0], header[2]
        assert np.linalg.norm(points - sphere[:3], axis=1).max() <= sphere[3] * 1.0001 + 2
        assert np.linalg.norm(geo([-180 + (x + 0.5) * side], [-90 + (y + 0.5) * side], [np.median(metres)])[0] - centre) < high - low + 5
        faces = points[triangles]
        across = np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0])
        sums = np.zeros_like(points)
        for k in range(3):
            np.add.at(sums, triangles[:, k], across)
        inner = (u > 0) & (u < 32767) & (v > 0) & (v < 32767) & safe
        cosine = (sums / np.linalg.norm(sums, axis=1, keepdims=True) * decoded_normals(normals)).sum(axis=1)[inner]
        if not inner.any():
            continue
        # Two bytes of octahedra are a degree or so; sums over faces and differences over two cells another few where ground bends.
        assert np.degrees(np.arccos(np.clip(cosine, -1, 1))).max(initial=0) < 12 and (cosine > np.cos(np.radians(3))).mean() > 0.8
        # Below the horizon of the tile's point nothing of it shows: the point is no lower than any vertex along its direction.
        axes = np.array([6378137, 6378137, 6356752.314245])
        point, scaled = sphere[4:] , points / axes
        assert np.linalg.norm(point) >= 1 and (scaled @ (point / np.linalg.norm(point)) <= np.linalg.norm(point) + 1e-9).all()
    assert seen > 20000
    joined = 0
    for (z, x, y), (west, east, south, north) in edges_of.items():
        if (z, x + 1, y) in edges_of:
            assert east == edges_of[z, x + 1, y][0]
            joined += 1
        if (z, x, y + 1) in edges_of:
            assert north == edges_of[z, x, y + 1][2]
            joined += 1
    assert joined > 10
    err = refused("export", "globe.tif", "--for", "web", "--format", "terrain", "-o", "g2", "--zoom", "3-9", cwd=folder)
    assert "0-9" in err
