"""Outlines of lakes that drainage by tiles writes, beside SciPy's labels, Shapely's areas and GDAL's reading."""

import json
import random

import numpy as np
import pyogrio
import pytest
import shapely
from helpers import long_or, read_band, thalweg, write_raster
from rasterio.transform import from_origin
from scipy import ndimage

WEST, NORTH, CELL = 432_000.5, 5_678_000.25, 12.5


def by_tiles(folder, name, side):
    """Drains `a.tif` into a store of that name, part by part."""
    thalweg("job", "plan", "a.tif", "-o", f"{name}.json", "--store", f"{name}.zarr", "--tile", side, "--quiet", cwd=folder)
    plan = json.loads((folder / f"{name}.json").read_text())
    for stage in plan["stages"]:
        for part in [*range(plan["tiles"]), "solve"]:
            thalweg("job", "run", f"{name}.json", stage["name"], part, "--quiet", cwd=folder)


def save(path, heights):
    write_raster(path, heights.astype("float32"), from_origin(WEST, NORTH, CELL, CELL), "EPSG:32633", nodata=-9999)


def ground(rng, kind):
    """Ground with lakes over many tiles and islands in them, and holes without data."""
    rows, cols = rng.integers(90, 200, 2)
    noise = rng.random((rows, cols))
    if kind == "isles":
        heights = np.where(noise < 0.3, 30.0, 10.0)
        heights[[0, -1]] = heights[:, [0, -1]] = 30
    elif kind == "rough":
        heights = np.round(12 * noise)
    else:
        smooth = ndimage.gaussian_filter(noise, 6)
        smooth = (smooth - smooth.min()) / np.ptp(smooth)
        heights = np.round(40 * smooth + 3 * rng.random((rows, cols)))
        heights[ndimage.gaussian_filter(rng.random((rows, cols)), 3) > 0.56] = -9999
    return heights


@pytest.mark.parametrize("kind", ["isles", "rough", "hills"])
def test_outlines_are_those_of_what_touches(tmp_path, kind):
    for _ in range(long_or(2, 20)):
        seed = random.getrandbits(40)
        print("seed", seed)
        rng = np.random.default_rng(seed)
        heights = ground(rng, kind)
        save(tmp_path / "a.tif", heights)
        name = f"a{seed}"
        by_tiles(tmp_path, name, int(rng.choice([49, 64, 97])))
        features = json.loads((tmp_path / f"{name}.lakes.geojson").read_text())["features"]
        table = (tmp_path / f"{name}.lakes.csv").read_text().splitlines()[1:]
        assert len(features) == len(table) > 0
        for layer in ("filled", "lake"):
            thalweg("layer", f"{name}.zarr", layer, "-o", f"{layer}.tif", cwd=tmp_path)
        filled = read_band(tmp_path / "filled.tif")
        numbers = read_band(tmp_path / "lake.tif")
        wet = (heights != -9999) & (filled > heights.astype("float32"))
        labels, count = ndimage.label(wet, np.ones((3, 3)))
        assert count == len(features)
        # A label and a number stand for the same cells.
        assert len(np.unique(np.stack([labels[wet], numbers[wet]]), axis=1).T) == count and (numbers[~wet] == 0).all()
        y, x = np.indices(heights.shape)
        x, y = WEST + (x + 0.5) * CELL, NORTH - (y + 0.5) * CELL
        within, spots = np.zeros(heights.shape, int), ndimage.find_objects(numbers.astype(int))
        for number, (feature, line) in enumerate(zip(features, table), 1):
            area = shapely.geometry.shape(feature["geometry"])
            assert feature["geometry"]["type"] == "Polygon" and shapely.is_valid(area)
            assert feature["properties"]["id"] == number == int(line.split(",")[0])
            # Islands: what is dry and touches by sides alone. Round each line, corners are cut by half a cell in all.
            spot = spots[number - 1]
            apart = np.pad((numbers[spot] == number), 1)
            islands = ndimage.label(~apart)[1] - 1
            assert len(area.interiors) == islands
            cells = apart.sum()
            assert area.area == pytest.approx((cells - 0.5 + 0.5 * islands) * CELL**2, rel=1e-9)
            assert float(line.split(",")[2]) == pytest.approx(cells * CELL**2, abs=0.06)
            assert area.exterior.is_ccw and not any(ring.is_ccw for ring in area.interiors)
            inside = shapely.contains_xy(area, x[spot], y[spot])
            within[spot][inside] = number
        assert (within == numbers).all()


def test_gdal_reads_the_outlines(tmp_path):
    save(tmp_path / "a.tif", ground(np.random.default_rng(3), "isles"))
    by_tiles(tmp_path, "a", 64)
    about = pyogrio.read_info(tmp_path / "a.lakes.geojson", force_feature_count=True)
    assert about["layer_name"] == "a.lakes" and about["crs"] == "EPSG:32633" and about["geometry_type"] == "Polygon"
    assert about["features"] == len((tmp_path / "a.lakes.csv").read_text().splitlines()) - 1
