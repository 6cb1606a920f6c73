"""What `rivers` writes, read by GDAL (rasterio, pyogrio) and followed by NumPy."""

import json
import struct

import numpy as np
import pyogrio
import pytest
import rasterio
from helpers import JACKSBORO, ROOT, long_or, read_band, thalweg, validate_report



@pytest.fixture(scope="module")
def network(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rivers")
    thalweg("rivers", JACKSBORO, "-o", "out", cwd=folder)
    return folder / "out"


def test_the_report_and_the_lines_of_json(network):
    report = validate_report(json.loads((network / "rivers.json").read_text()), "rivers")
    out = thalweg("rivers", JACKSBORO, "-o", "again", "--json", cwd=network.parent)
    events = [validate_report(json.loads(line), "event") for line in out.splitlines()]
    assert events[-1]["rivers"]["length_m"] == report["length_m"]
    out = thalweg("check-rivers", "again", "--json", cwd=network.parent)
    checks = validate_report(json.loads(out.splitlines()[-1]), "event")["checks"]
    assert len(checks) == 12 and all(check["percent"] >= check["least"] for check in checks)


def test_ground_is_cut_and_water_lies_on_it(network):
    before, after = read_band(JACKSBORO), read_band(network / "height.tif")
    assert (after <= before + 1e-5).all() and (after < before - 0.01).any()
    rivers, lakes = read_band(network / "rivers.tif"), read_band(network / "lakes.tif")
    bed, surface = read_band(network / "bed.tif"), read_band(network / "water_surface.tif")
    wet = (rivers > 0) | (lakes > 0)
    assert ((bed != -32768) == wet).all() and (bed[wet] == after[wet]).all() and (surface[wet] >= bed[wet]).all()
    for lake in np.unique(lakes[lakes > 0]):
        assert np.ptp(surface[lakes == lake]) == 0
    assert ((read_band(network / "distance.tif") == 0) == (rivers > 0)).all()
    # Rivers and catchments: the cells that a run's mouth drains are most of its own catchment.
    catchments = read_band(network / "catchments.tif")
    assert (catchments > 0).mean() > 0.6


def test_vectors_are_the_same_in_both_formats(network):
    for name, kinds in [("rivers", {"LineString Z"}), ("lakes", {"Polygon", "MultiPolygon"}), ("catchments", {"Polygon", "MultiPolygon"})]:
        flat, text = pyogrio.read_info(network / f"{name}.fgb"), pyogrio.read_info(network / f"{name}.geojson")
        assert flat["features"] == text["features"] > 0 and flat["crs"] == text["crs"] == "EPSG:32616"
        assert flat["geometry_type"] in kinds, flat["geometry_type"]
    properties = [feature["properties"] for feature in json.loads((network / "rivers.geojson").read_text())["features"]]
    by_id = {reach["id"]: reach for reach in properties}
    # What comes to a junction leaves it.
    came = {}
    for reach in properties:
        if reach["downstream"] is not None:
            came[reach["downstream"]] = came.get(reach["downstream"], 0) + reach["discharge_m3_s"]
    for number, flow in came.items():
        if by_id[number]["lake_from"] is None:
            assert flow == pytest.approx(by_id[number]["discharge_from_m3_s"], rel=1e-9)
    area = sum(lake["properties"]["area_m2"] for lake in json.loads((network / "lakes.geojson").read_text())["features"])
    assert area == (read_band(network / "lakes.tif") > 0).sum() * 90.0**2


# What follows knows nothing of thalweg but the files: it samples lines, rasters, the mesh and the ground, each against the others.

# A terrain and the words that `rivers` is given for it. The real model at three densities; presets; a sample model's recipe.
CASES = [("real", []), ("real", ["--catchment", "0.5km2"]), ("hills", []), ("alpine", ["--catchment", "0.1km2"]), ("models/gradient_noise", [])]
MORE = [("real", ["--catchment", "0.15km2"]), ("real", ["--set", "breach_depth=0"]), ("hills", ["--seed", "5"]), ("badlands", []),
        ("glacial", []), ("volcanic_island", []), ("models/cellular_noise", []), ("models/stream_power", [])]


def cells(points, shape):
    """Rows and columns of the cells that places (rows, columns) lie in; the border belongs to the last cell."""
    return np.clip(np.floor(points).astype(int), 0, np.array(shape) - 1).T


@pytest.fixture(scope="module", params=CASES + long_or([], MORE), ids=lambda case: " ".join([case[0], *case[1]]))
def survey(request, built_world, tmp_path_factory):
    terrain, words = request.param
    folder = tmp_path_factory.mktemp("survey")
    before = JACKSBORO
    if terrain != "real":
        side = "256" if terrain == "hills" else long_or("128", "256")
        recipe = ROOT / f"recipes/{terrain}.toml" if "/" in terrain else terrain
        before = built_world(recipe, "--cells", side) / "height.tif"
    thalweg("rivers", before, "-o", "out", *words, "--quiet", cwd=folder)
    out = folder / "out"
    files = {name: read_band(out / f"{name}.tif") for name in ("height", "rivers", "lakes", "bed", "water_surface", "wet")}
    with rasterio.open(out / "height.tif") as file:
        files["known"] = file.read_masks(1) > 0
        back = ~file.transform
        cell = file.transform.a
    lines = []
    for feature in json.loads((out / "rivers.geojson").read_text())["features"]:
        points = np.array([back @ tuple(point[:2]) for point in feature["geometry"]["coordinates"]])[:, ::-1]
        of = feature["properties"]
        levels = [np.array(of[name]) for name in ("surfaces_m", "beds_m", "widths_m")]
        lines.append((of, points, *levels))
    note = json.loads((out / "network.json").read_text())
    files["rest"] = files["lakes"] > 0
    if note["sea_level"] is not None:
        files["rest"] |= files["height"] <= note["sea_level"]
    return dict(files, before=read_band(before), lines=lines, cell=cell, folder=folder, report=json.loads((out / "rivers.json").read_text()))


def test_water_is_as_deep_in_the_rasters_as_along_the_lines(survey):
    depth = survey["water_surface"] - survey["bed"]
    assert (survey["bed"] == survey["height"])[survey["rivers"] > 0].all()
    for of, points, surface, bed, _ in survey["lines"]:
        i, j = cells(points, depth.shape)
        wet, known = survey["rivers"][i, j] > 0, survey["known"][i, j]
        assert (wet | survey["rest"][i, j] | ~known).all(), f"reach {of['id']} leaves the water"
        assert (np.abs(depth[i, j] - (surface - bed)) <= 0.1 * (surface - bed) + 1e-6)[wet].all(), of["id"]
        assert (survey["height"][i, j] <= surface + 1e-6)[known].all(), f"reach {of['id']} lies under the ground"
        assert (surface >= bed).all() and (np.diff(surface) <= 0).all() and (np.diff(bed) <= 0).all(), of["id"]


def test_the_ground_falls_along_every_line(survey):
    """Wherever a line is looked at, between its vertices too and into the river that it joins, the ground is no higher than above."""
    height = survey["height"]
    for of, points, *_ in survey["lines"]:
        share = (np.arange(40) + 0.5)[None, :, None] / 40
        dense = (points[:-1, None] + share * np.diff(points, axis=0)[:, None]).reshape(-1, 2)
        i, j = cells(np.vstack([dense, points[-1:]]), height.shape)
        ground = np.where(survey["rest"][i, j] | ~survey["known"][i, j], np.nan, height[i, j])
        rise = np.diff(ground)
        assert not (rise > 1e-9).any(), f"reach {of['id']} rises by {np.nanmax(rise)} m at row, column {points[int(np.nanargmax(rise)) // 40]}"


def test_water_stands_within_its_banks(survey):
    """Across a line, the first dry cell on either side is as high as the water."""
    rivers, height = survey["rivers"], survey["height"]
    low, count = 0, 0
    for of, points, surface, _, width in survey["lines"]:
        along = points[2:] - points[:-2]
        length = np.hypot(*along.T)
        for at in np.nonzero(length > 0)[0]:
            across = np.array([along[at, 1], -along[at, 0]]) / length[at]
            for side in (1, -1):
                far = width[at + 1] / 2 / survey["cell"] + np.arange(0, 3.01, 0.5)
                i, j = np.floor(points[at + 1] + side * far[:, None] * across).astype(int).T
                inside = (i >= 0) & (j >= 0) & (i < rivers.shape[0]) & (j < rivers.shape[1])
                i, j = i[: inside.argmin() if not inside.all() else None], j[: inside.argmin() if not inside.all() else None]
                own = rivers[i, j] == of["run"]
                if own.all():
                    continue
                bank = i[own.argmin()], j[own.argmin()]
                if rivers[bank] == 0 and not survey["rest"][bank] and survey["known"][bank]:
                    count, low = count + 1, low + (height[bank] < surface[at + 1] - 1e-6)
    assert count > 100 and low == 0, f"{low} of {count} banks"


def drawn(height, place):
    """The ground between the middles of cells, at places (rows, columns), as engines draw it: bilinear, and as triangles whose common
    edge in a square of four middles goes from south-west to north-east. Heights without data are NaN, and so is what they touch."""
    limit = np.array(height.shape) - 1
    place = np.clip(place - 0.5, 0, limit)
    i, j = low = np.minimum(np.floor(place).astype(int), limit - 1).T
    a, b = place.T - low
    nw, ne, sw, se = height[i, j], height[i, j + 1], height[i + 1, j], height[i + 1, j + 1]
    bilinear = (1 - a) * ((1 - b) * nw + b * ne) + a * ((1 - b) * sw + b * se)
    north = nw + b * (ne - nw) + a * (sw - nw)
    south = se + (1 - b) * (sw - se) + (1 - a) * (ne - se)
    return bilinear, np.where(a + b <= 1, north, south)


def mesh_of(survey):
    """Points and triangles of water.glb, and the rows and columns of the points."""
    data = (survey["folder"] / "out/water.glb").read_bytes()
    (length,) = struct.unpack_from("<I", data, 12)
    about = json.loads(data[20 : 20 + length])
    part = about["meshes"][0]["primitives"][0]

    def read(number, kind):
        accessor = about["accessors"][number]
        at = 28 + length + about["bufferViews"][accessor["bufferView"]].get("byteOffset", 0) + accessor.get("byteOffset", 0)
        return np.frombuffer(data, kind, accessor["count"] * {"VEC3": 3, "SCALAR": 1}[accessor["type"]], at)

    points = read(part["attributes"]["POSITION"], "<f4").reshape(-1, 3).astype(float)
    corners = read(part["indices"], "<u4" if about["accessors"][part["indices"]]["componentType"] == 5125 else "<u2").reshape(-1, 3)
    shape, cell = survey["height"].shape, survey["cell"]
    # Metres from the middle: x eastward, z southward, y up.
    return points, corners, points[:, [2, 0]] / cell + np.array(shape) / 2


def test_ribbons_show_in_the_ground_as_it_is_drawn(survey):
    """Of a thousand vertices of ribbons and of lines at most one lies under the drawn ground, and ribbons are about as wide as lines say."""
    height = np.where(survey["known"], survey["height"], np.nan)
    points, _, place = mesh_of(survey)
    # What holds a lake back stays as high as it is, whoever runs past it.
    lakes = np.pad(survey["lakes"] > 0, 1)
    rows, cols = height.shape
    shore = np.any([lakes[i : i + rows, j : j + cols] for i in range(3) for j in range(3)], axis=0) & (survey["rivers"] == 0) & (survey["lakes"] == 0)
    ribbon = len(points) - 4 * (survey["lakes"] > 0).sum()
    lines = np.vstack([of[1] for of in survey["lines"]])
    levels = np.concatenate([of[2] for of in survey["lines"]])
    for name, place, level in [("ribbons", place[:ribbon], points[:ribbon, 1]), ("lines", lines, levels)]:
        open_ground = ~survey["rest"][tuple(cells(place, height.shape))]
        for ground, of in zip(drawn(height, place), ["bilinear", "of triangles"]):
            asked = open_ground & ~np.isnan(ground) & ~(drawn(shore.astype(float), place)[0] > 0)
            under = (ground > level + 2e-3) & asked
            print(f"{name} under the ground {of}: {under.sum()} of {asked.sum()}")
            assert under.sum() <= 1e-3 * asked.sum(), f"{name} under the ground {of}: {under.sum()} of {asked.sum()}"
    # A reach's vertices are those of a run, in order; ends of reaches within a run come once in the mesh and twice in lines.
    width = np.hypot(*(points[:ribbon:2] - points[1:ribbon:2])[:, [0, 2]].T)
    runs = {}
    for of, _, _, _, widths in survey["lines"]:
        runs.setdefault(of["run"], []).append((of["id"], widths))
    said = [np.concatenate([part if n == 0 else part[1:] for n, (_, part) in enumerate(sorted(runs[run], key=lambda part: part[0]))])
            for run in sorted(runs)]
    said = np.concatenate(said)
    share = width / said
    print("widths drawn of widths said, percentiles 1, 5, 10, 25, 50:", np.percentile(share, [1, 5, 10, 25, 50]).round(3))
    # Places of the mesh are 32-bit floats: over 16 km a step of them is 1 or 2 mm on either axis.
    assert (width <= said + 6e-3).all() and np.percentile(share, 5) > 0.2 and np.median(share) > 0.95


def test_the_mesh_lies_on_the_ground_and_holds_as_much_water(survey):
    points, corners, place = mesh_of(survey)
    shape, cell = survey["height"].shape, survey["cell"]
    i, j = cells(place, shape)
    over = points[:, 1] - survey["height"][i, j]
    well = (over > -2e-3) | ~survey["known"][i, j]
    assert well.all(), f"{(~well).sum()} of {len(well)} vertices are under the ground"
    # Lakes' sheets are two triangles to a cell, after the ribbons.
    lakes = (survey["lakes"] > 0).sum()
    ribbon = corners[: len(corners) - 2 * lakes]
    a, b, c = (points[ribbon[:, k]][:, [0, 2]] for k in range(3))
    area = np.abs((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]) / 2
    middle = (place[ribbon[:, 0]] + place[ribbon[:, 1]] + place[ribbon[:, 2]]) / 3
    i, j = cells(middle, shape)
    depth = np.where(survey["rivers"] > 0, survey["water_surface"] - survey["bed"], 0)
    mesh = (area * depth[i, j]).sum()
    raster = (depth * survey["wet"]).sum() * cell**2
    assert abs(mesh / raster - 1) < 0.1, (mesh, raster)
    lake = np.where(survey["lakes"] > 0, survey["water_surface"] - survey["bed"], 0).sum() * cell**2
    assert survey["report"]["water_m3"] == pytest.approx(raster + lake, rel=1e-6)


def drains(height, known, rest):
    """By steps to the steepest strictly lower of eight neighbours, or across a flat of equal heights to a cell that has one: which
    cells come to the edge, missing data or a cell where water rests. Nothing is filled, nothing tolerated."""
    rows, cols = height.shape
    wide = np.pad(height.astype(np.float64), 1, constant_values=np.nan)
    wide[1:-1, 1:-1][~known] = np.nan
    number = np.pad(np.arange(rows * cols).reshape(rows, cols), 1, constant_values=-1)
    fall, down, level = np.zeros((rows, cols)), np.full((rows, cols), -1), []
    edge = np.zeros((rows, cols), bool)
    for di, dj in [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)]:
        there = wide[1 + di : 1 + di + rows, 1 + dj : 1 + dj + cols]
        to = number[1 + di : 1 + di + rows, 1 + dj : 1 + dj + cols]
        edge |= np.isnan(there)
        slope = (wide[1:-1, 1:-1] - there) / np.hypot(di, dj)
        better = slope > fall
        fall, down = np.where(better, slope, fall), np.where(better, to, down)
        level.append(np.where(slope == 0, to, -1))
    # Against the stream, from where water ends.
    well, known, down = (known & (rest | edge)).ravel().tolist(), known.ravel(), down.ravel()
    comes = np.argsort(down, kind="stable")
    first = np.searchsorted(down[comes], np.arange(rows * cols + 1))
    flat, level = (down < 0).tolist(), np.array([to.ravel() for to in level]).T.tolist()
    comes, first = comes.tolist(), first.tolist()
    stack = [k for k, here in enumerate(well) if here]
    while stack:
        k = stack.pop()
        for n in comes[first[k] : first[k + 1]] + [n for n in level[k] if n >= 0 and flat[n]]:
            if not well[n] and known[n]:
                well[n] = True
                stack.append(n)
    return np.array(well).reshape(rows, cols)


def test_the_land_drains_by_the_heights_as_written(survey):
    known, height = survey["known"], survey["height"].astype(np.float32)
    sea = survey["rest"] & (survey["lakes"] == 0)
    after = drains(height, known, survey["rest"])
    assert after[known].mean() >= 0.99
    assert after[(survey["rivers"] > 0) & known].all()
    before = drains(survey["before"].astype(np.float32), known, sea)
    print(f"{100 * before[known].mean():.2f} % drained before, {100 * after[known].mean():.2f} % do")
    assert survey["report"]["drains"] == pytest.approx(after[known].mean(), abs=2e-3)
    # A model that its rivers need not touch may drain as it is.
    assert after[known].mean() >= before[known].mean()
    assert survey["report"]["drains_before"] == pytest.approx(before[known].mean(), abs=2e-3)
    thalweg("check-rivers", "out", cwd=survey["folder"])
