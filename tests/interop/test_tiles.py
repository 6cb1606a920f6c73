"""What `tile` and `serve` give, read by rasterio, NumPy and urllib."""

import concurrent.futures
import contextlib
import io
import json
import signal
import subprocess
import urllib.error
import urllib.request

import numpy as np
import pytest
import rasterio
from helpers import ESRI, NEIGHBOURS, ROOT, long_or, program, read_band, refused, run_thalweg, thalweg
from PIL import Image


RECIPE = """
name = "isles"
extent = [48000.0, 48000.0]
cells = 48
sea_level = 0.0
seed = 7
continents = { spacing = 60000.0, depth = 900.0, empty = 0.3 }

[[stage]]
model = "plates"
spacing = 12000.0
warp = 8000.0
warp_wavelength = 11000.0
rough_wavelength = 13000.0
depth = 900.0

[[stage]]
model = "climate"
stride = 4000.0
reach = 40000.0

[[stage]]
model = "stream_power"
years = 4e5
step = 4e4
rain = 4.0
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiles")
    (folder / "isles.toml").write_text(RECIPE)
    return folder


def receivers(codes):
    """Returns the row and column that each cell drains to, those of the cell itself where it drains nowhere."""
    assert set(np.unique(codes)) <= {0, *ESRI}
    i, j = np.indices(codes.shape)
    to = np.array([ESRI.get(code, (0, 0)) for code in range(256)])[codes]
    return i + to[..., 0], j + to[..., 1]


def test_a_tile_says_where_it_lies_and_where_its_water_goes(place):
    for level, size in [(0, 40), (3, 96), (6, 64)]:
        thalweg("tile", "isles.toml", "--level", level, "--at", "-3000,2000", "--side", size, "-o", f"t{level}", "-q", cwd=place)
        folder = place / f"t{level}"
        report = json.loads((folder / "report.json").read_text())
        width = 1000.0 / 2**level
        assert (report["level"], report["cell_m"], report["rows"], report["columns"]) == (level, width, size, size)
        with rasterio.open(folder / "height.tif") as file:
            z, transform, dtype = file.read(1), file.transform, file.dtypes[0]
        assert z.shape == (size, size) and dtype == "float64"
        # Eastward and northward, of a lattice from the origin on; the place lies within (rows count southward).
        assert (transform.a, transform.e) == (width, -width)
        row, col = (-2000.0 - transform.f) / -width, (-3000.0 - transform.c) / width
        assert 0 <= row < size and 0 <= col < size
        assert transform.c % (size * width) == 0 and transform.f % (size * width) == 0
        assert (transform.c, transform.f) == (report["west_m"], report["north_m"])
        codes, area = read_band(folder / "flow_direction.tif"), read_band(folder / "drainage_area.tif")
        assert codes.dtype == np.uint8 and np.all(area > 0)
        i, j = receivers(codes)
        inside = (0 <= i) & (i < size) & (0 <= j) & (j < size) & (codes > 0)
        down, at = z[i[inside], j[inside]], z[inside]
        assert np.all(down <= at)
        land = z[i[inside], j[inside]] > 0
        assert np.all(area[i[inside], j[inside]][land] >= area[inside][land])
        # Land without a way on is at no place of the world but its sea.
        assert np.all(z[codes == 0] <= 0)
        lines = json.loads((folder / "rivers.geojson").read_text())["features"]
        assert len(lines) == report["rivers"]
        for line in lines:
            points = np.array(line["geometry"]["coordinates"])
            assert np.all(np.diff(points[:, 2]) <= 0), "downhill"
            assert np.all(np.diff(line["properties"]["drainage_areas_m2"]) >= 0)
            assert line["properties"]["drainage_area_m2"] == line["properties"]["drainage_areas_m2"][-1]
        with Image.open(folder / "shaded.png") as picture:
            assert picture.size == (size, size)
        assert sorted(report["files"]) == sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="module")
def quarters(place):
    """A folder with a tile, `whole`, and with the four tiles that it consists of, `part00` to `part11`."""
    args = ("tile", "isles.toml", "--level", 4, "-q")
    # Tiles of 80 cells of 62.5 m are 5 km wide, and four of them one of 160.
    thalweg(*args, "--at", "500,500", "--side", 160, "-o", "whole", cwd=place)
    for i in range(2):
        for j in range(2):
            thalweg(*args, "--at", f"{500 + 5000 * j},{500 + 5000 * i}", "--side", 80, "-o", f"part{i}{j}", cwd=place)
    return place


def test_neighbouring_tiles_join_bit_for_bit(quarters):
    for layer in ["height", "flow_direction", "drainage_area"]:
        sheets = [[read_band(quarters / f"part{i}{j}/{layer}.tif") for j in range(2)] for i in range(2)]
        assert np.array_equal(np.block(sheets), read_band(quarters / f"whole/{layer}.tif")), layer


def units(path):
    """Heights as whole numbers of 1/65 536 m, which doubles hold exactly."""
    z = read_band(path) * 65536.0
    assert np.array_equal(z, np.rint(z))
    return z.astype(np.int64)


def test_the_mass_balance_of_a_tile_is_that_of_its_file(quarters):
    books = {name: json.loads((quarters / name / "report.json").read_text())["mass_balance"]
             for name in ["whole", "part00", "part01", "part10", "part11"]}
    for name, book in books.items():
        assert book["after"] == units(quarters / name / "height.tif").sum(), name
        assert book["after"] == book["before"] + book["added"] - book["carried_out"], name
        assert book["carried_out"] == book["eroded"] - book["deposited"] != 0, name
        assert book["after"] - book["before"] == sum(given - taken for given, taken in book["operators"].values()), name
        assert min(min(pair) for pair in book["operators"].values()) >= 0, name
    for key in ["before", "added", "eroded", "deposited", "carried_out", "after"]:
        assert books["whole"][key] == sum(book[key] for name, book in books.items() if name != "whole"), key
    # The level before, 80 cells of 125 m, lies under the whole.
    thalweg("tile", "isles.toml", "--level", 3, "--at", "500,500", "--side", 80, "-o", "coarse", "-q", cwd=quarters)
    assert 4 * units(quarters / "coarse" / "height.tif").sum() == books["whole"]["before"]
    thalweg("tile", "isles.toml", "--level", 0, "--at", "500,500", "--side", 32, "-o", "first", "-q", cwd=quarters)
    assert json.loads((quarters / "first" / "report.json").read_text())["mass_balance"] is None


@pytest.mark.parametrize("preset, place_at", [("lakes", "10036,2065"), ("desert", "2500,2500")])
def test_all_water_of_a_tile_arrives_under_lakes_and_through_dry_hollows(place, preset, place_at):
    """By the written files alone: surfaces fall along receivers, and no cell but of a lake, or of the rim, lies under all beside it."""
    thalweg("tile", preset, "--level", 1, "--at", place_at, "--side", 512, "-o", preset, "-q", cwd=place)
    folder = place / preset
    z, codes = read_band(folder / "height.tif"), read_band(folder / "flow_direction.tif")
    assert (folder / "pool.tif").exists() == (folder / "lake.tif").exists() == (preset == "lakes")
    depth = read_band(folder / ("pool.tif" if preset == "lakes" else "hollow.tif"))
    assert depth.min() == 0.0 and depth.max() > 1.0
    if preset == "lakes":
        lake = read_band(folder / "lake.tif")
        assert np.all(depth[lake == 0] == 0.0)
        for number in np.unique(lake[lake > 0]):
            assert np.ptp((z + depth)[lake == number]) == 0.0, "a lake is level"
    else:
        assert json.loads((folder / "report.json").read_text())["rivers"] == 0
    surface = z + depth
    i, j = receivers(codes)
    inside = (0 <= i) & (i < 512) & (0 <= j) & (j < 512)
    assert np.all(surface[i[inside], j[inside]] <= surface[inside])
    core = surface[1:-1, 1:-1]
    around = [surface[1 + di:511 + di, 1 + dj:511 + dj] for di, dj in NEIGHBOURS]
    pits = np.all([core < other for other in around], axis=0)
    assert not pits.any(), f"{pits.sum()} pits"


WOOD = """
name = "wood"
extent = [2560.0, 2560.0]
cells = 64
seed = 4
edges = "open"

[[stage]]
model = "gradient_noise"
amplitude = 150.0
offset = 200.0
wavelength = 900.0
octaves = 5

[[stage]]
model = "drainage"
runoff = 0.8

[[stage]]
model = "trees"
years = 200
stream = 0.01
tree_line = 400.0
"""


def plants(folder):
    lines = (folder / "trees.csv").read_text().splitlines()
    rows = [line.split(",") for line in lines[1:]]
    return {row[0]: (float(row[1]), float(row[2]), row[4]) for row in rows}


def test_a_place_has_the_same_plants_in_all_tiles(place):
    (place / "wood.toml").write_text(WOOD)
    tile = ("tile", "wood.toml", "-q", "--level")
    thalweg(*tile, 3, "--at", "700,700", "--side", 128, "-o", "wood", cwd=place)
    joined = {}
    for i in range(2):
        for j in range(2):
            thalweg(*tile, 3, "--at", f"{650 + 320 * j},{650 + 320 * i}", "--side", 64, "-o", f"wood{i}{j}", cwd=place)
            own = plants(place / f"wood{i}{j}")
            assert own and not own.keys() & joined.keys(), "none stands twice"
            joined |= own
    whole = plants(place / "wood")
    assert whole == joined and len(whole) > 300
    assert json.loads((place / "wood" / "trees.geojson").read_text())["features"].__len__() == len(whole)
    # None in streams: 0.01 m3/s of 0.8 m a year are 39 hectares.
    with rasterio.open(place / "wood" / "drainage_area.tif") as file:
        area, transform = file.read(1), file.transform
    for x, y, _ in whole.values():
        assert area[int((y - transform.f) / transform.e), int((x - transform.c) / transform.a)] < 3.95e5
    # Nine in ten stand where they stand on cells half as wide.
    thalweg(*tile, 4, "--at", "700,700", "--side", 256, "-o", "wood4", cwd=place)
    finer = plants(place / "wood4")
    assert len(whole.keys() & finer.keys()) > 0.8 * len(whole)


def tiles(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.tif")}


def test_a_folder_of_tiles_is_whole_goes_on_and_is_of_one_world(place):
    recipe = RECIPE.replace("continents", "# continents").replace("cells = 48", "cells = 48\nedges = \"open\"")
    (place / "one.toml").write_text(recipe)
    level = long_or(4, 5)
    make = ("tile", "one.toml", "-o", "dir", "--level", level, "-q")
    thalweg(*make, cwd=place)
    folder = place / "dir"
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["recipe"] == "isles" and len(manifest["recipe_hash"]) == 16
    count = sum(max(1, -(-48 * 2**k // 512)) ** 2 for k in range(level + 1))
    first = tiles(folder)
    assert len(first) == 3 * count
    # Each level's tiles lie side by side: as wide as the world, and a mean of four is near the coarser cell.
    def sheet(of, layer=""):
        n = max(1, -(-48 * 2**of // 512))
        rows = [[read_band(folder / str(of) / str(c) / f"{r}{layer}.tif") for c in range(n)] for r in range(n)]
        return np.block(rows)
    fine, coarse = sheet(level), sheet(level - 1)
    assert fine.shape == (48 * 2**level,) * 2
    means = fine.reshape(coarse.shape[0], 2, coarse.shape[1], 2).mean((1, 3))
    assert np.corrcoef(means.ravel(), coarse.ravel())[0, 1] > 0.999
    i, j = receivers(sheet(level, ".flow_direction"))
    assert np.all(fine[i.clip(0, len(fine) - 1), j.clip(0, len(fine) - 1)] <= fine)
    # What is missing is made anew, the same; what is there is left alone.
    gone = [f"{level}/0/0.tif", f"{level - 1}/0/0.tif"]
    [(folder / name).unlink() for name in gone]
    kept = "0/0/0.flow_direction.tif"
    (folder / kept).write_bytes(b"kept as it is")
    thalweg(*make, cwd=place)
    assert (folder / kept).read_bytes() == b"kept as it is"
    after = tiles(folder)
    assert {k: v for k, v in after.items() if k != kept} == {k: v for k, v in first.items() if k != kept}
    # Another seed is another world.
    other = refused(*make, "--seed", "8", cwd=place)
    assert "another folder" in other and other.count("\n") == 1
    assert tiles(folder) == after
    # A part of an endless world; all of it is refused.
    thalweg("tile", "isles.toml", "-o", "part", "--within", "-4000,-4000,4000,4000", "--level", 2, "-q", cwd=place)
    assert len(tiles(place / "part")) == 3 * 4 * 3
    assert "at most 16777216" in refused("tile", "isles.toml", "-o", "all", cwd=place)


def test_what_cannot_be_is_refused_in_a_line(place):
    for words, said in [
        (["--level", 40, "--at", "0,0"], "level"),
        (["--level", 2, "--at", "1e15,0"], "--at = 1000000000000000 m, 0 m"),
        (["--level", 2, "--at", "nan,0"], "--at"),
        (["--level", 2, "--at", "0,0", "--side", 0], "16 to 4096"),
        (["--level", 2, "--at", "0,0", "--side", 1000000], "16 to 4096"),
    ]:
        run = run_thalweg("tile", "isles.toml", *words, "-o", "bad", "-q", cwd=place)
        assert run.returncode in (1, 2) and said in run.stderr, run.stderr
        assert run.returncode == 2 or run.stderr.count("\n") == 1, run.stderr
        assert not (place / "bad").exists()
    assert "nowhere" in refused("tile", "nowhere", "--at", "0,0", "-o", "bad", cwd=place)
    empty = place / "empty"
    empty.mkdir()
    assert "recipe.toml" in refused("serve", "empty", "--port", 0, cwd=place)
    # A world's own report is no tile's.
    (empty / "report.json").write_text("{}")
    assert "another folder" in refused("tile", "isles.toml", "--at", "0,0", "--side", 16, "-o", "empty", cwd=place)
    assert [path.name for path in empty.iterdir()] == ["report.json"]
    assert "--bind" in refused("serve", "isles.toml", "--bind", "not an address", cwd=place)


@contextlib.contextmanager
def serving(place, world):
    words = [program("THALWEG", "thalweg"), "serve", world, "--port", "0", "--json"]
    process = subprocess.Popen(words, cwd=place, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    line = json.loads(process.stdout.readline())
    assert line["event"] == "serving" and line["address"].startswith("127.0.0.1:")
    try:
        yield line
    finally:
        process.send_signal(signal.SIGINT)
        ended = process.wait(30)
    assert ended == 0


@pytest.fixture(scope="module")
def server(place):
    with serving(place, "isles.toml") as line:
        yield line


def get(server, path, method="GET"):
    request = urllib.request.Request(f"http://{server['address']}{path}", method=method)
    with urllib.request.urlopen(request, timeout=120) as answer:
        return answer.headers, answer.read()


def test_served_tiles_are_the_worlds_heights(server, place):
    headers, body = get(server, "/tiles.json")
    about = json.loads(body)
    assert headers["Access-Control-Allow-Origin"] == "*" and about["encoding"] == "mapbox"
    assert "invented" in about["attribution"] and about["tiles"][0].startswith(f"http://{server['address']}/")
    zoom = about["minzoom"] + 2
    middle = 2**zoom // 2
    rows = []
    for y in (middle - 1, middle):
        row = []
        for x in (middle - 1, middle):
            headers, raw = get(server, f"/{zoom}/{x}/{y}.f32")
            assert headers["Access-Control-Allow-Origin"] == "*" and len(raw) == 4 * 256**2
            heights = np.frombuffer(raw, "<f4").reshape(256, 256)
            headers, png = get(server, f"/{zoom}/{x}/{y}.png")
            assert headers["Content-Type"] == "image/png"
            rgb = np.asarray(Image.open(io.BytesIO(png))).astype(int)
            decoded = -10000 + (rgb[..., 0] * 65536 + rgb[..., 1] * 256 + rgb[..., 2]) * 0.1
            assert np.abs(decoded - heights).max() <= 0.0501
            row.append(heights)
        rows.append(row)
    served = np.block(rows)
    # The same heights as a tile's, at the pixels' places: bilinear between cells as wide as they, or half as wide.
    pixel = 2 * np.pi * 6378137 / 256 / 2**zoom
    level = max(0, int(np.ceil(np.log2(1000 / pixel))))
    width = 1000 / 2**level
    size = int(np.ceil(256 * pixel / width)) + 8
    for name, x, y in [("nw", -1, -1), ("ne", 1, -1), ("sw", -1, 1), ("se", 1, 1)]:
        thalweg("tile", "isles.toml", "--level", level, "--at", f"{x},{y}", "--side", size, "-o", name, "-q", cwd=place)
    z = np.block([[read_band(place / name / "height.tif") for name in row] for row in (("nw", "ne"), ("sw", "se"))])
    west, north = -size * width, size * width
    parts = int(np.ceil(pixel / width))
    places = ((np.arange(512 * parts) + 0.5) / parts - 256) * pixel
    v, u = (places + north) / width - 0.5, (places - west) / width - 0.5
    i, j = np.floor(v).astype(int), np.floor(u).astype(int)
    v, u = (v - i)[:, None], (u - j)[None]
    corner = lambda di, dj: z[np.ix_(i + di, j + dj)]
    expected = (corner(0, 0) * (1 - v) + corner(1, 0) * v) * (1 - u) + (corner(0, 1) * (1 - v) + corner(1, 1) * v) * u
    expected = expected.reshape(512, parts, 512, parts).mean((1, 3))
    assert np.abs(served - expected).max() < 1e-3
    assert served.max() > 0 > served.min()


@pytest.mark.parametrize("path", ["/index", "/tiles", "/terrarium/3/1/1.f32", "/hillshades/3/1/1.png", "/a/terrarium/3/1/1.png", "/a/b/c.png", "/3/1/1.jpg", "/3/1/1", "/99/0/0.png", "/9/512/0.png",
                                  "/9/-1/0.png", "/9/99999999999999999999/0.f32", "/../../etc/passwd", "/9/1/1.png/..",
                                  "/%2e%2e/1/1.png", "/9/+1/1.png"])
def test_other_paths_are_not_found(server, path):
    with pytest.raises(urllib.error.HTTPError) as error:
        get(server, path)
    assert error.value.code == 404 and error.value.headers["Access-Control-Allow-Origin"] == "*"


def test_the_exports_layers_and_its_page_are_served(server, place):
    about = json.loads(get(server, "/tiles.json")[1])
    zoom = about["minzoom"] + 2
    y = 2**zoom // 2
    path = f"{zoom}/{y}/{y}"
    raw = np.frombuffer(get(server, f"/raw/{path}.f32")[1], "<f4").reshape(256, 256)
    assert get(server, f"/{path}.f32")[1] == raw.tobytes() and get(server, f"/terrain-rgb/{path}.png")[1] == get(server, f"/{path}.png")[1]
    for name, url in about["layers"].items():
        assert get(server, url.split(server["address"])[1].replace("{z}/{x}/{y}", path))[1], name
    rgb = np.asarray(Image.open(io.BytesIO(get(server, f"/terrarium/{path}.png")[1]))).astype(float)
    assert np.abs(rgb[..., 0] * 256 + rgb[..., 1] + rgb[..., 2] / 256 - 32768 - raw).max() <= 1 / 512 + 1e-3
    light = np.asarray(Image.open(io.BytesIO(get(server, f"/hillshade/{path}.png")[1])))
    # Horn (1981): nowhere is a degree of latitude shorter here, for the world lies on the plane.
    pixel, z = 2 * np.pi * 6378137 / 256 / 2**zoom, raw.astype(float)
    a = lambda di, dj: z[1 + di : 255 + di, 1 + dj : 255 + dj]
    east = (a(-1, 1) + 2 * a(0, 1) + a(1, 1) - a(-1, -1) - 2 * a(0, -1) - a(1, -1)) / (8 * pixel)
    north = (a(-1, -1) + 2 * a(-1, 0) + a(-1, 1) - a(1, -1) - 2 * a(1, 0) - a(1, 1)) / (8 * pixel)
    lit = np.maximum(0, (0.5 * east - 0.5 * north + np.sqrt(0.5)) / np.sqrt(east**2 + north**2 + 1)) * 255
    assert (light[..., 1] == 255).all() and np.abs(light[1:-1, 1:-1, 0] - lit).max() < 0.6
    page = ROOT / "crates/thalweg-render/src/web/page"
    for path, name in (("/", "index.html"), ("/viewer.js", "viewer.js"), ("/viewer.css", "viewer.css")):
        headers, body = get(server, path)
        assert body == (page / name).read_bytes() and headers["Content-Type"].split("/")[0] == "text"


def test_nothing_is_taken_but_get(server):
    with pytest.raises(urllib.error.HTTPError) as error:
        get(server, "/tiles.json", "POST")
    assert error.value.code == 405
    assert get(server, "/tiles.json", "HEAD")[1] == b""


def test_many_may_ask_at_once(server):
    about = json.loads(get(server, "/tiles.json")[1])
    zoom = about["minzoom"] + 3
    middle = 2**zoom // 2
    paths = [f"/{zoom}/{middle + x}/{middle + y}.f32" for x in range(-2, 2) for y in range(-2, 2)] * 2
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda path: get(server, path)[1], paths))
    assert all(len(answer) == 4 * 256**2 for answer in answers) and answers[:16] == answers[16:]


def test_a_folder_of_tiles_is_served_as_the_world_it_is_of(place, server):
    thalweg("tile", "isles.toml", "-o", "kept", "--within", "-2000,-2000,2000,2000", "--level", 1, "-q", cwd=place)
    before = tiles(place / "kept")
    zoom = json.loads(get(server, "/tiles.json")[1])["minzoom"] + 2
    middle = 2**zoom // 2
    with serving(place, "kept") as other:
        assert json.loads(get(other, "/tiles.json")[1])["minzoom"] + 2 == zoom
        for path in (f"/{zoom}/{middle}/{middle}.f32", f"/{zoom + 3}/{8 * middle - 1}/{8 * middle}.png"):
            # Beyond the levels and the part that lie there, too.
            assert get(other, path)[1] == get(server, path)[1]
    assert tiles(place / "kept") == before
    # The world is that of the folder's own recipe: another one is another world.
    recipe = place / "kept/recipe.toml"
    recipe.write_text(recipe.read_text().replace("seed = 7", "seed = 8"))
    with serving(place, "kept") as other:
        path = f"/{zoom}/{middle}/{middle}.f32"
        assert get(other, path)[1] != get(server, path)[1]
