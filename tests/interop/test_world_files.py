"""World files: maps lie where GDAL lays the land that they show, to a hundredth of a pixel."""

import json
import shutil

import numpy as np
import pytest
import rasterio
from helpers import JACKSBORO, thalweg


def lies_over(picture, land, pixels=None):
    """Whether the part of a picture that shows the land (its first pixels) has the land's corners."""
    with rasterio.open(picture) as one, rasterio.open(land) as other:
        rows, cols = one.shape if pixels is None else pixels
        near = pytest.approx(0.0, abs=0.01 * max(abs(one.transform.a), abs(one.transform.e)))
        for corner, end in [((0, 0), (0, 0)), ((cols, 0), (other.width, 0)), ((cols, rows), (other.width, other.height))]:
            here, there = one.transform * corner, other.transform * end
            assert here[0] - there[0] == near and here[1] - there[1] == near, (picture, corner, here, there)


@pytest.fixture(scope="module")
def land(tmp_path_factory):
    """A real model with a coordinate system, and a made one without."""
    folder = tmp_path_factory.mktemp("maps")
    thalweg("crop", JACKSBORO, "-o", "real.tif", "--window", "30,20,200,130", cwd=folder)
    thalweg("generate", "gradient_noise", "-o", "made.tif", "--cells", "157x90", "--cell-size", "12.5", cwd=folder)
    return folder


@pytest.mark.parametrize("name", ["real.tif", "made.tif"])
@pytest.mark.parametrize("most", [None, 64, 33])
def test_shaded_maps(land, name, most):
    with rasterio.open(land / name) as file:
        size = np.array(file.shape)
    if most:
        size = np.maximum(np.floor(size * most / size.max() + 0.5).astype(int), 1)
    options = ["--max-size", most] if most else []
    thalweg("render", "map", name, "-o", "plain.png", *options, cwd=land)
    lies_over(land / "plain.png", land / name, size)
    # A legend stands below the map, and moves nothing.
    thalweg("render", "map", name, "-o", "legend.png", "--legend", "--scale", *options, cwd=land)
    assert (land / "legend.pgw").read_text() == (land / "plain.pgw").read_text()
    thalweg("crop", name, "-o", "store.zarr", "--window", "0,0,100,80", cwd=land)
    thalweg("crop", name, "-o", "part.tif", "--window", "0,0,100,80", cwd=land)
    thalweg("render", "map", "store.zarr", "-o", "rows.png", *options, cwd=land)
    thalweg("render", "map", "part.tif", "-o", "part.png", *options, cwd=land)
    assert (land / "rows.pgw").read_text() == (land / "part.pgw").read_text()
    shutil.rmtree(land / "store.zarr")


def test_maps_of_folders(land):
    thalweg("drain", "real.tif", "-o", "drained", cwd=land)
    lies_over(land / "drained/map.png", land / "real.tif")
    thalweg("rivers", "real.tif", "-o", "net", "--quiet", cwd=land)
    # Its samples go from the middle of the first cell to the middle of the last one.
    with rasterio.open(land / "net/rivers.png") as one, rasterio.open(land / "real.tif") as other:
        first, last = one.transform * (0.5, 0.5), one.transform * (one.width - 0.5, one.height - 0.5)
        for here, there in [(first, (0.5, 0.5)), (last, (other.width - 0.5, other.height - 0.5))]:
            assert np.allclose(here, other.transform * there, atol=0.01 * one.transform.a)
    thalweg("build", "hills", "--cells", "96", "--out", "w", "--crs", "EPSG:32632", "--origin", "400000,5200000", cwd=land)
    lies_over(land / "w/shaded.png", land / "w/height.tif")
    with rasterio.open(land / "w/shaded.png") as file:
        assert file.transform.c == 400000 and file.transform.f == 5200000


def test_river_maps_show_the_rivers_where_they_are(land):
    """A river's pixels, which are bluer than the land's, lie at its vertices."""
    thalweg("rivers", "real.tif", "-o", "net2", "--quiet", cwd=land)
    lines = json.loads((land / "net2/rivers.geojson").read_text(encoding="utf-8"))["features"]
    with rasterio.open(land / "net2/rivers.png") as file:
        red, _, blue = file.read([1, 2, 3]).astype(int)
        back = ~file.transform
        blueness = blue - red
        seen = []
        for line in lines:
            for x, y, *_ in line["geometry"]["coordinates"][2:-2:3]:
                col, row = back * (x, y)
                i, j = int(row), int(col)
                if 2 < i < file.height - 3 and 2 < j < file.width - 3:
                    seen.append(blueness[i - 1:i + 2, j - 1:j + 2].max())
    seen = np.array(seen)
    assert len(seen) > 50 and np.mean(seen > np.median(blueness) + 25) > 0.9, np.mean(seen > np.median(blueness) + 25)
