"""What `drain` writes, read by GDAL (rasterio, pyogrio) and followed by NumPy."""

import json
import struct

import numpy as np
import pyogrio
import pytest
import rasterio
from helpers import ESRI, JACKSBORO, read_band, thalweg, validate_report
from PIL import Image



@pytest.fixture(scope="module")
def drained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drain")
    thalweg("drain", JACKSBORO, "-o", "out", cwd=folder)
    return folder / "out"


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
    types = dict(filled="float32", lake_depth="float32", flow_direction="uint8", drainage_area="float64", basins="uint32",
                 streams="uint8", angles="float32")
    with rasterio.open(JACKSBORO) as real:
        for name, dtype in types.items():
            with rasterio.open(drained / f"{name}.tif") as file:
                assert file.crs == real.crs and file.transform == real.transform and file.shape == real.shape, name
                assert file.dtypes == (dtype,)


def test_filled_ground_drains(drained):
    ground, filled, codes = read_band(JACKSBORO), read_band(drained / "filled.tif"), read_band(drained / "flow_direction.tif")
    assert (filled >= ground).all()
    np.testing.assert_array_equal(read_band(drained / "lake_depth.tif"), filled - ground)
    assert set(np.unique(codes)) <= {0, *ESRI}
    edge = np.ones_like(codes, bool)
    edge[1:-1, 1:-1] = False
    assert edge[codes == 0].all()  # inside the file no water stays
    for code, (down, across) in ESRI.items():
        i, j = np.nonzero(codes == code)
        assert (filled[i + down, j + across] <= filled[i, j]).all()


def test_following_the_codes_gives_the_catchments(drained):
    codes, area = read_band(drained / "flow_direction.tif"), read_band(drained / "drainage_area.tif")
    basins = read_band(drained / "basins.tif")
    rows, cols = codes.shape
    target = np.full(codes.size, -1)
    for code, (down, across) in ESRI.items():
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
    report = validate_report(json.loads((drained / "drain.json").read_text()), "drain")
    order, area = read_band(drained / "streams.tif"), read_band(drained / "drainage_area.tif")
    np.testing.assert_array_equal(order > 0, area >= report["threshold_m2"])
    found = {ending: lines(drained / f"streams.{ending}") for ending in ["fgb", "geojson"]}
    with rasterio.open(JACKSBORO) as real:
        bounds, transform = real.bounds, real.transform
    for crs, columns, points in found.values():
        assert crs == "EPSG:32616"
        assert len(points) == report["streams"]["reaches"] > 100
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
    thalweg("generate", "gradient_noise", "-o", "a.tif", "--cells", "60x50", "--cell-size", "10", cwd=tmp_path)
    out = thalweg("drain", "a.tif", "-o", "none", "--threshold", "99km2", "--json", cwd=tmp_path)
    events = [validate_report(json.loads(line), "event") for line in out.splitlines()]
    assert [event["event"] for event in events] == ["progress"] * 5 + ["result"]
    for ending in ["fgb", "geojson"]:
        # A count of 0 in FlatGeobuf's header means "not known": let GDAL count.
        about = pyogrio.read_info(tmp_path / f"none/streams.{ending}", force_feature_count=True)
        assert about["features"] == 0
    thalweg("drain", "a.tif", "-o", "some", "--threshold", "2000", "--quiet", cwd=tmp_path)
    for ending in ["fgb", "geojson"]:
        crs, _, points = lines(tmp_path / f"some/streams.{ending}")
        every = np.concatenate(points)
        # RFC 7946 has no word for "nowhere": what says nothing is WGS 84 to its readers.
        assert not crs or ending == "geojson"
        assert (every > (0, -500)).all() and (every < (600, 0)).all()
