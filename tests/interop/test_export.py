"""`thalweg export`, read back by decoders written from the programs' own documentation (docs/export.md names it), and by GDAL.

Each decoder takes the files and the numbers that are to be typed, and gives heights in metres, rows from the north.
"""

import json
import re
import shutil
import zlib

import numpy as np
import OpenEXR
import pytest
import rasterio
from helpers import JACKSBORO, long_or, refused, run_thalweg, thalweg, write_raster
from PIL import Image
from rio_cogeo import cog_validate


def export(folder, *words):
    out = thalweg("export", *words, cwd=folder)
    folder = folder / words[words.index("-o") + 1]
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["import"] in re.sub(r"\s+", " ", out) or manifest["import"] in out
    for file in manifest["files"]:
        data = (folder / file["file"]).read_bytes()
        assert len(data) == file["bytes"] and f"{zlib.crc32(data):08x}" == file["crc32"]
    return folder, manifest


@pytest.fixture(scope="module")
def world(built_world, tmp_path_factory):
    """A folder with a world, `alpine`, to which tests add their exports."""
    folder = tmp_path_factory.mktemp("export")
    shutil.copytree(built_world("alpine", "--cells", long_or(600, 1024)), folder / "alpine")
    return folder


def codes(path, manifest):
    """The numbers of a file, as its format has them: PNG, headerless and least byte first, or one channel of EXR."""
    if path.suffix == ".exr":
        with OpenEXR.File(str(path)) as file:
            return file.channels()["Y"].pixels.astype(float)
    if path.suffix == ".png":
        with Image.open(path) as picture:
            assert picture.mode in ("I;16", "I;16B", "I")
            return np.asarray(picture).astype(float)
    columns, rows = manifest["tile_samples"]
    return np.fromfile(path, "<u2").reshape(rows, columns).astype(float)


def unreal(v, n):
    # Landscape Technical Guide: (sample − 32768) / 128 · Z scale in cm, above the actor.
    return ((v - 32768) / 128 * n["scale_z"] + n["location_z"]) / 100


def unity(v, n):
    # The Terrain's RAW import divides by 2^16; row 0 is z = 0, the south.
    return (v / 65536 * n["terrain_height"] + n["minimum"])[::-1]


def ranged(v, n):
    # Terrain3D's R16 range, HTerrain's minimum and maximum, any program of one's own; an EXR holds metres.
    if n["sample"] == "f32":
        return v
    low = n["minimum"]
    return low + v / 65535 * (n.get("maximum", low + n.get("relief", 0)) - low)


def blender(v, n):
    # Displace Modifier: strength · (texture − midlevel). A pixel of N is where u·N falls, v counts from below, nothing is interpolated.
    rows, columns = v.shape
    u = np.linspace(0, 1, columns) * n["uv_scale_x"] + n["uv_shift_x"]
    w = np.linspace(0, 1, rows) * n["uv_scale_y"] + n["uv_shift_y"]
    j, i = np.floor(u * columns).astype(int), np.floor((1 - w) * rows).astype(int)
    # Vertices go from the south to the north.
    full = 1 if n["sample"] == "f32" else 65535
    return (n["strength"] * v[i][:, j] / full + n["z"])[::-1]


def worldpainter(v, n):
    # Levels are linear in the image's values; a level stands for so many metres.
    level = n["block_low"] + v / 65535 * (n["block_high"] - n["block_low"])
    return level, n["block"]


DECODERS = {"unreal": unreal, "unity": unity, "terrain3d": ranged, "hterrain": ranged, "blender": blender, "bevy": ranged}


def decoded(folder, manifest, file):
    v = codes(folder / file["file"], manifest)
    # Text that is typed has what the sentence has, and the range stands in the manifest.
    return DECODERS[manifest["target"]](v, {**{key: manifest[key] for key in ("minimum", "maximum", "sample")}, **manifest["numbers"]})


def heights_of(folder, columns, rows=None):
    """The world with as many samples, as `resample` makes it."""
    name = f"{columns}x{rows or columns}"
    path = folder / f"alpine-{name}.tif"
    if not path.exists():
        thalweg("resample", "alpine/height.tif", "-o", path.name, "--cells", name, "--type", "f64", cwd=folder)
    with rasterio.open(path) as file:
        return file.read(1)


@pytest.mark.parametrize("target, ending", [
    ("unreal", "png"), ("unreal", "r16"), ("unity", "raw"), ("terrain3d", "exr"), ("terrain3d", "r16"), ("hterrain", "raw"),
    ("blender", "exr"), ("blender", "png"), ("bevy", "r16"), ("bevy", "png"),
])
def test_heights_come_back_within_half_a_step(world, target, ending):
    folder, manifest = export(world, "alpine", "--for", target, "-o", f"{target}-{ending}", "--format", ending)
    heights = decoded(folder, manifest, manifest["files"][0])
    step = (manifest["maximum"] - manifest["minimum"]) / 65535
    wanted = heights_of(world, heights.shape[1])
    assert step < 0.1 and heights.shape == wanted.shape
    # Numbers are typed to nine places: 256 steps of Unreal's scale are then 1e-9 m, and heights are kept to 1/65536 m.
    assert np.abs(heights - wanted).max() <= 0.5 * step + 2e-5
    # Unlike heights are unlike in rows and columns: a file turned round would be far off.
    for wrong in (heights[::-1], heights[:, ::-1], heights.T):
        assert np.abs(wrong - wanted).max() > 100 * step
    assert [manifest["minimum"], manifest["maximum"]] == pytest.approx([wanted.min(), wanted.max()], abs=2e-5)


def test_levels_of_blocks_keep_the_land_in_proportion(world):
    folder, manifest = export(world, "alpine", "--for", "worldpainter", "-o", "blocks")
    n = manifest["numbers"]
    level, block = worldpainter(codes(folder / "alpine.png", manifest), n)
    assert level.min() == n["block_low"] >= -64 and level.max() == n["block_high"] <= 319
    metres = heights_of(world, level.shape[1])
    # Levels are whole at both ends: off by at most half a block at one of them.
    assert np.abs((metres - metres.min()) / block - (level - n["block_low"])).max() <= 0.51
    assert block >= n["spacing"]


def plane(folder, rows, columns, cell=7.5):
    """Slanting land: exact between samples, however many there are."""
    i, j = np.mgrid[0:rows, 0:columns]
    land = (100 + 0.37 * cell * i - 0.22 * cell * j).astype("float64")
    transform = rasterio.Affine(cell, 0, 500_000, 0, -cell, 4_000_000)
    write_raster(folder / "plane.tif", land, transform, "EPSG:32616")
    return lambda y, x: 100 + 0.37 * y - 0.22 * x


@pytest.mark.parametrize("target", [*DECODERS, "worldpainter"])
@pytest.mark.parametrize("shape", [(600, 600), (300, 700)])
def test_scale_and_place_are_those_of_the_land(tmp_path, target, shape):
    height = plane(tmp_path, *shape)
    folder, manifest = export(tmp_path, "plane.tif", "--for", target, "-o", "out")
    columns, rows = manifest["samples"]
    across, down = manifest["spacing_m"]
    assert [across * (columns - 1), down * (rows - 1)] == pytest.approx([7.5 * (shape[1] - 1), 7.5 * (shape[0] - 1)])
    assert manifest["first_sample"] == [500_003.75, 3_999_996.25] and manifest["crs"] == "EPSG:32616"
    n = manifest["numbers"]
    typed = {
        "unreal": lambda: (n["scale_x"] / 100, n["scale_y"] / 100),
        "unity": lambda: (n["tile_width"] / (columns - 1), n["tile_length"] / (rows - 1)),
        "terrain3d": lambda: (n["spacing"],) * 2,
        "hterrain": lambda: (n["spacing_x"], n["spacing_y"]),
        "blender": lambda: (n["tile_width"] / n["quads_x"], n["tile_length"] / n["quads_y"]),
        "bevy": lambda: (n["spacing_x"], n["spacing_y"]),
        "worldpainter": lambda: (n["spacing"],) * 2,
    }[target]()
    assert typed == pytest.approx((across, down), rel=1e-8)
    if target in DECODERS:
        heights = decoded(folder, manifest, manifest["files"][0])
        y, x = np.mgrid[0:rows, 0:columns]
        step = (manifest["maximum"] - manifest["minimum"]) / 65535
        assert np.abs(heights - height(y * down, x * across)).max() <= 0.5 * step + 2e-5


@pytest.mark.parametrize("target, tiles, suffix", [
    ("unreal", "8", "_x{x}_y{y}"), ("unity", "2x3", "_{x}_{z}"), ("terrain3d", "4", "_{x:02}_{y:02}"),
    ("hterrain", "2", "_x{x}_y{y}"), ("blender", "3", "_x{x}_y{y}"), ("bevy", "2x1", "_x{x}_y{y}"),
])
def test_tiles_have_one_range_and_no_seams(world, target, tiles, suffix):
    folder, manifest = export(world, "alpine/height.tif", "--for", target, "-o", f"{target}-tiles", "--tiles", tiles, "--name", "land")
    columns, rows = manifest["tiles"]
    side_x, side_y = manifest["tile_samples"]
    once = manifest["edges"] == "shared"
    whole = np.full(manifest["samples"][::-1], np.nan)
    raw = whole.copy()
    assert len(manifest["files"]) == rows * columns and once == (target != "terrain3d")
    for file in manifest["files"]:
        x, y = file["tile"]
        assert file["file"].split(".")[0] == "land" + suffix.format(x=x, y=y, z=rows - 1 - y)
        i, j = y * (side_y - once), x * (side_x - once)
        assert file["offset_m"] == pytest.approx([j * manifest["spacing_m"][0], i * manifest["spacing_m"][1]])
        v = codes(folder / file["file"], manifest)
        v = v[::-1] if target == "unity" else v
        # What a neighbour has laid down already is the same to the bit.
        there = raw[i:i + side_y, j:j + side_x]
        known = ~np.isnan(there)
        assert np.array_equal(there[known], v[known])
        raw[i:i + side_y, j:j + side_x] = v
        whole[i:i + side_y, j:j + side_x] = decoded(folder, manifest, file)
    ends = (0, 65535) if manifest["sample"] == "u16" else pytest.approx((manifest["minimum"], manifest["maximum"]))
    assert not np.isnan(raw).any() and (raw.min(), raw.max()) == ends
    wanted = heights_of(world, whole.shape[1], whole.shape[0]) if whole.shape[0] == whole.shape[1] else None
    step = (manifest["maximum"] - manifest["minimum"]) / 65535
    if wanted is not None:
        assert np.abs(whole - wanted).max() <= 0.5 * step + 2e-5


def test_tiles_that_are_pasted_share_nothing(world):
    # Unreal's import of several files lays each at its number times its size.
    folder, manifest = export(world, "alpine", "--for", "unreal", "-o", "pasted", "--tiles", "4", "--edges", "adjacent")
    side = manifest["tile_samples"][0]
    total = manifest["samples"][0]
    assert manifest["edges"] == "adjacent" and total == 4 * side
    sections = [q * s for q in (7, 15, 31, 63, 127, 255) for s in (1, 2)]
    assert any((total - 1) % s == 0 and (total - 1) // s <= 32 for s in sections)
    whole = np.zeros((total, total))
    for file in manifest["files"]:
        x, y = file["tile"]
        whole[y * side:(y + 1) * side, x * side:(x + 1) * side] = decoded(folder, manifest, file)
    step = (manifest["maximum"] - manifest["minimum"]) / 65535
    assert np.abs(whole - heights_of(world, total)).max() <= 0.5 * step + 2e-5


def test_maps_for_gis_are_the_land_itself(world, tmp_path):
    folder, manifest = export(world, "alpine", "--for", "gis", "-o", "gis", "--layers", "discharge")
    with rasterio.open(folder / "alpine.tif") as file, rasterio.open(world / "alpine/height.tif") as own:
        np.testing.assert_array_equal(file.read(1), own.read(1))
        assert file.transform == own.transform and file.units == ("m",)
    assert cog_validate(folder / "alpine.tif")[0]
    with rasterio.open(folder / "alpine_discharge.tif") as file:
        assert file.dtypes == ("float32",) and file.units[0] not in (None, "", "m")
    # A real model in tiles: each lies where it lay, and holes stay holes.
    with rasterio.open(JACKSBORO) as real:
        heights, holes = real.read(1), real.read_masks(1) == 0
        profile = real.profile
    holes[:50, :60] = True
    heights[holes] = -9999
    with rasterio.open(tmp_path / "real.tif", "w", **{**profile, "nodata": -9999}) as file:
        file.write(heights, 1)
    rows, columns = heights.shape
    per = [next(n for n in range(2, 99) if side % n == 0) for side in (columns, rows)]
    folder, manifest = export(tmp_path, "real.tif", "--for", "gis", "-o", "out", "--tiles", f"{per[0]}x{per[1]}")
    assert manifest["nodata"] == holes.sum() and manifest["crs"] == "EPSG:32616"
    for file in (file for file in manifest["files"] if "tile" in file):
        with rasterio.open(folder / file["file"]) as tile:
            x, y = tile.transform @ (0, 0)
            j, i = (round(k) for k in ~profile["transform"] @ (x, y))
            part = np.s_[i:i + tile.height, j:j + tile.width]
            assert tile.crs == profile["crs"]
            np.testing.assert_array_equal(tile.read(1)[~holes[part]], heights[part][~holes[part]])
            np.testing.assert_array_equal(tile.read_masks(1) == 0, holes[part])


def classes(folder, size=(300, 400)):
    """Classes in stripes and blobs, beside land of the same cells."""
    plane(folder, *size)
    i, j = np.mgrid[0:size[0], 0:size[1]]
    land = ((np.sin(i / 17) + np.cos(j / 23)) * 1.3 + 2.6).astype("uint8")
    with rasterio.open(folder / "plane.tif") as file:
        profile = {**file.profile, "dtype": "uint8"}
    with rasterio.open(folder / "cover.tif", "w", **profile) as file:
        file.write(land, 1)
    return land


def test_classes_stay_classes(tmp_path):
    land = classes(tmp_path)
    kinds = set(np.unique(land))
    folder, manifest = export(tmp_path, "plane.tif", "--for", "unreal", "-o", "unreal", "--layers", "cover.tif")
    masks = {layer["class"]: np.asarray(Image.open(folder / f"plane_cover_{layer['class']}.png")) for layer in manifest["layers"]}
    assert set(masks) == kinds and all(set(np.unique(mask)) <= {0, 255} for mask in masks.values())
    # One class to each sample, and the nearest: at half the distance either of two.
    assert (sum(mask.astype(int) for mask in masks.values()) == 255).all()
    columns, rows = manifest["samples"]
    i, j = (np.linspace(0, n - 1, m) for n, m in zip(land.shape, (rows, columns)))
    near = land[np.floor(i + 0.5).astype(int)][:, np.floor(j + 0.5).astype(int)]
    assert all(np.array_equal(mask == 255, near == kind) for kind, mask in masks.items())
    folder, manifest = export(tmp_path, "plane.tif", "--for", "bevy", "-o", "bevy", "--layers", "cover.tif", "--size", "150x113")
    assert set(np.unique(np.asarray(Image.open(folder / "plane_cover.png")))) <= kinds
    folder, _ = export(tmp_path, "plane.tif", "--for", "gis", "-o", "gis", "--layers", "cover.tif", "--tiles", "2")
    with rasterio.open(folder / "plane_cover_x1_y0.tif") as file:
        assert file.dtypes == ("uint8",)
        np.testing.assert_array_equal(file.read(1), land[:150, 200:])
    # Texels lie between samples: one fewer to a side.
    folder, manifest = export(tmp_path, "plane.tif", "--for", "unity", "-o", "unity", "--layers", "cover.tif", "--tiles", "2x1")
    assert Image.open(folder / "plane_cover_1_0_0.png").size == tuple(n - 1 for n in manifest["tile_samples"])
    # `resample` alone keeps them too.
    thalweg("resample", "cover.tif", "-o", "small.tif", "--cells", "131", cwd=tmp_path)
    with rasterio.open(tmp_path / "small.tif") as file:
        assert file.dtypes == ("uint8",) and set(np.unique(file.read(1))) <= kinds


def test_a_second_run_goes_on(tmp_path):
    plane(tmp_path, 300, 300)
    words = ["plane.tif", "--for", "unreal", "-o", "out", "--tiles", "3"]
    folder, first = export(tmp_path, *words)
    paths = [folder / file["file"] for file in first["files"]]
    times = [path.stat().st_mtime_ns for path in paths]
    paths[4].unlink()
    (folder / "manifest.json").rename(folder / ".thalweg-export.json")
    again = export(tmp_path, *words)[1]
    assert again == first
    assert [path.stat().st_mtime_ns == time for path, time in zip(paths, times)] == [k != 4 for k in range(9)]
    assert not (folder / ".thalweg-export.json").exists()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with rasters to export, and with folders that other files are in."""
    place = tmp_path_factory.mktemp("refused")
    classes(place)
    with rasterio.open(JACKSBORO) as real, rasterio.open(place / "other.tif", "w", **real.profile) as other:
        other.write(real.read(1), 1)
    export(place, "plane.tif", "--for", "unity", "-o", "taken")
    for folder, name in [("foreign", "manifest.json"), ("mine", "plane.png")]:
        (place / folder).mkdir()
        (place / folder / name).write_text("{}")
    return place


@pytest.mark.parametrize("words, message", [
    (["--for", "unreal", "--size", "1000x1009"], "the nearest is 993 × 1009"),
    (["--for", "unity", "--size", "512"], "the nearest is 513 × 513"),
    (["--for", "unity", "--size", "513x1025"], "513"),
    (["--for", "unreal", "--tiles", "500px"], "the nearest is 497px"),
    (["--for", "gis", "--tiles", "7"], "the nearest is "),
    (["--for", "gis", "--size", "99"], "gis does not resample"),
    (["--for", "unity", "--tiles", "2", "--edges", "adjacent"], "edges = adjacent"),
    (["--for", "terrain3d", "--tiles", "2", "--edges", "shared"], "edges = shared"),
    (["--for", "terrain3d", "--tiles", "3x1"], "numbers of tiles that keep the cells square"),
    (["--for", "unreal", "--name", "land_1009x1009"], "name = land_1009x1009"),
    (["--for", "unreal", "--name", "land_x0_y0"], "name = land_x0_y0"),
    (["--for", "unreal", "--name", "a/b"], "name = a/b"),
    (["--for", "terrain3d", "--layers", "cover.tif"], "accepts only heights"),
    (["--for", "unreal", "--layers", "none"], "layer `none`"),
    (["--for", "unreal", "--layers", "other.tif"], "cells (columns × rows)"),
    (["--for", "unreal", "--layers", "cover.tif,cover.tif"], "is listed twice"),
    (["--for", "unreal", "--range", "0,10"], "a range that contains all heights"),
    (["--for", "unreal", "--range", "10,0"], "in rising order"),
    (["--for", "unreal", "--format", "tif"], "format = tif: must be png, r16"),
    (["--for", "unreal", "-o", "taken"], "contains another export, for unity"),
    (["--for", "unreal", "-o", "foreign"], "not the manifest of a thalweg export"),
    (["--for", "unreal", "-o", "mine"], "no manifest lists it for this export"),
])
def test_what_cannot_be_is_refused_and_nothing_is_written(place, words, message):
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    done = run_thalweg("export", "plane.tif", *words, *([] if "-o" in words else ["-o", "out"]), cwd=place)
    assert done.returncode == 1 and not done.stdout
    assert message in done.stderr and done.stderr.count("error: ") == 1 and "panicked" not in done.stderr, done.stderr
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before


def test_land_without_data(tmp_path):
    plane(tmp_path, 200, 200)
    with rasterio.open(tmp_path / "plane.tif") as file:
        heights, profile = file.read(1), {**file.profile, "nodata": -9999}
    for name, hole in [("part", np.s_[:100, :100]), ("all", np.s_[:, :])]:
        holed = heights.copy()
        holed[hole] = -9999
        with rasterio.open(tmp_path / f"{name}.tif", "w", **profile) as file:
            file.write(holed, 1)
    # A tile that holds nothing is written, level, and named.
    done = run_thalweg("export", "part.tif", "--for", "bevy", "-o", "out", "--tiles", "4", "--name", "land", cwd=tmp_path)
    assert done.returncode == 0 and "these tiles contain no data: land_x0_y0.r16" in done.stderr, done.stderr
    assert not np.fromfile(tmp_path / "out/land_x0_y0.r16", "<u2").any()
    err = refused("export", "all.tif", "--for", "bevy", "-o", "none", cwd=tmp_path)
    assert "has no data" in err
