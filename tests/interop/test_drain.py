"""What `drain` writes, read by GDAL (rasterio, pyogrio) and followed by NumPy."""

import json
import os
import pathlib
import struct
import subprocess

import numpy as np
import pyogrio
import pytest
import rasterio
from PIL import Image
from test_cli import checked

ROOT = pathlib.Path(__file__).resolve().parents[2]
REAL = ROOT / "crates/thalweg-sim/presets/jacksboro.tif"
# ESRI's codes: rows and columns to the neighbour.
STEPS = {1: (0, 1), 2: (1, 1), 4: (1, 0), 8: (1, -1), 16: (0, -1), 32: (-1, -1), 64: (-1, 0), 128: (-1, 1)}


def drain(folder, *words):
    command = [os.environ["THALWEG"], "drain", *map(str, words)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def drained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drain")
    drain(folder, REAL, "-o", "out")
    return folder / "out"


def band(path):
    with rasterio.open(path) as file:
        return file.read(1)


def lines(path):
    """CRS, properties by name, and each line's points."""
    about, _, shapes, columns = pyogrio.raw.read(path)
    points = []
    for wkb in shapes:
        order, kind, count = struct.unpack_from("<BII", wkb)
        assert (order, kind) == (1, 2)
        points.append(np.frombuffer(wkb, "<f8", 2 * count, 9).reshape(count, 2))
    return about["crs"], dict(zip(about["fields"], columns)), points


def test_rasters_keep_where_they_are(drained):
    types = dict(filled="float32", lake_depth="float32", directions="uint8", accumulation="float64", basins="uint32",
                 streams="uint8", angles="float32")
    with rasterio.open(REAL) as real:
        for name, dtype in types.items():
            with rasterio.open(drained / f"{name}.tif") as file:
                assert file.crs == real.crs and file.transform == real.transform and file.shape == real.shape, name
                assert file.dtypes == (dtype,)


def test_filled_ground_drains(drained):
    ground, filled, codes = band(REAL), band(drained / "filled.tif"), band(drained / "directions.tif")
    assert (filled >= ground).all()
    np.testing.assert_array_equal(band(drained / "lake_depth.tif"), filled - ground)
    assert set(np.unique(codes)) <= {0, *STEPS}
    edge = np.ones_like(codes, bool)
    edge[1:-1, 1:-1] = False
    assert edge[codes == 0].all()  # inside the file no water stays
    for code, (down, across) in STEPS.items():
        i, j = np.nonzero(codes == code)
        assert (filled[i + down, j + across] <= filled[i, j]).all()


def test_following_the_codes_gives_the_catchments(drained):
    codes, area = band(drained / "directions.tif"), band(drained / "accumulation.tif")
    basins = band(drained / "basins.tif")
    rows, cols = codes.shape
    target = np.full(codes.size, -1)
    for code, (down, across) in STEPS.items():
        i, j = np.nonzero(codes == code)
        target[i * cols + j] = (i + down) * cols + j + across
    # Every cell's unit goes one step further, all at once, until all have left.
    counts, moving = np.ones(codes.size), np.arange(codes.size)
    for _ in range(codes.size):
        moving = target[moving]
        moving = moving[moving >= 0]
        if moving.size == 0:
            break
        counts += np.bincount(moving, minlength=codes.size)
    assert moving.size == 0
    np.testing.assert_array_equal(area.ravel(), counts * 8100.0)
    goes = target >= 0
    np.testing.assert_array_equal(basins.ravel()[goes], basins.ravel()[target[goes]])
    assert basins.max() == (codes == 0).sum() and (np.unique(basins) == 1 + np.arange(basins.max())).all()


def test_lines_lie_on_the_streams(drained):
    report = checked(json.loads((drained / "drain.json").read_text()), "drain")
    order, area = band(drained / "streams.tif"), band(drained / "accumulation.tif")
    np.testing.assert_array_equal(order > 0, area >= report["threshold_m2"])
    found = {ending: lines(drained / f"streams.{ending}") for ending in ["fgb", "geojson"]}
    with rasterio.open(REAL) as real:
        bounds, transform = real.bounds, real.transform
    for crs, columns, points in found.values():
        assert crs == "EPSG:32616"
        assert len(points) == report["streams"]["links"] > 100
        every = np.concatenate(points)
        assert (every > bounds[:2]).all() and (every < bounds[2:]).all()
        by_id = {number: k for k, number in enumerate(columns["id"])}
        for k, line in enumerate(points):
            steps = np.hypot(*np.diff(line, axis=0).T)
            assert np.isclose(steps.sum(), columns["length_m"][k])
            cells = [rasterio.transform.rowcol(transform, x, y) for x, y in line[:-1]]
            assert all(order[i, j] == columns["order"][k] for i, j in cells)
            below = columns["downstream"][k]
            if not np.isnan(below):
                np.testing.assert_array_equal(points[by_id[int(below)]][0], line[-1])
    # Two writers, one truth; FlatGeobuf sorts by place.
    (_, left, _), (_, right, _) = found["fgb"], found["geojson"]
    for name in left:
        np.testing.assert_array_equal(left[name][np.argsort(left["id"])], right[name][np.argsort(right["id"])], name)


def test_the_map_is_a_picture(drained):
    with Image.open(drained / "map.png") as picture:
        assert picture.mode == "RGB" and picture.size == (325, 345)


def test_no_streams_no_crs_and_lines_of_json(tmp_path):
    made = [os.environ["THALWEG"], "generate", "gradient_noise", "-o", "a.tif", "--cells", "60x50", "--cell-size", "10"]
    subprocess.run(made, cwd=tmp_path, check=True, capture_output=True)
    out = drain(tmp_path, "a.tif", "-o", "none", "--threshold", "99km2", "--json")
    events = [checked(json.loads(line), "event") for line in out.splitlines()]
    assert [event["event"] for event in events] == ["progress"] * 5 + ["result"]
    for ending in ["fgb", "geojson"]:
        # A count of 0 in FlatGeobuf's header means "not known": let GDAL count.
        about = pyogrio.read_info(tmp_path / f"none/streams.{ending}", force_feature_count=True)
        assert about["features"] == 0
    drain(tmp_path, "a.tif", "-o", "some", "--threshold", "2000", "--quiet")
    for ending in ["fgb", "geojson"]:
        crs, _, points = lines(tmp_path / f"some/streams.{ending}")
        every = np.concatenate(points)
        # RFC 7946 has no word for "nowhere": what says nothing is WGS 84 to its readers.
        assert not crs or ending == "geojson"
        assert (every > (0, -500)).all() and (every < (600, 0)).all()
