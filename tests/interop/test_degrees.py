"""`drain` on maps whose cells are not squares: in degrees, and of rectangular cells in metres.

The reference knows nothing of thalweg's formulas: distances are those of geodesics and areas those of polygons, both by
PROJ's geodesic routines (`pyproj.Geod`), and the rest is NumPy.
"""

import json

import numpy as np
import pyogrio
import pytest
from affine import Affine
from helpers import ESRI, NEIGHBOURS, read_band, refused, thalweg, validate_report, write_raster
from pyproj import Geod

WGS_84 = Geod(ellps="WGS84")


def rough_ground(rows, cols, relief, seed):
    """A slope with noise of several wavelengths, in multiples of 1/64 m, which 32-bit floats hold exactly."""
    random = np.random.default_rng(seed)
    ground = np.add.outer(np.linspace(0.6, 0, rows), np.linspace(0.3, 0, cols))
    for k in (1, 2, 4, 8):
        coarse = random.random((rows // k + 2, cols // k + 2))
        ground = ground + 0.03 * k * np.kron(coarse, np.ones((k, k)))[:rows, :cols]
    return np.round(ground * relief * 64) / 64


class Degrees:
    """A map in degrees: the north-western corner, the size of a cell, and the number of cells."""

    crs = "EPSG:4326"

    def __init__(self, west, north, width, height, shape):
        self.west, self.north, self.width, self.height, self.shape = west, north, width, height, shape
        self.transform = Affine(width, 0, west, 0, -height, north)

    def center(self, i, j):
        return self.west + (j + 0.5) * self.width, self.north - (i + 0.5) * self.height

    def distances(self):
        """The distances to the eight neighbours, by rows."""
        found = np.empty((self.shape[0], 8))
        for i in range(self.shape[0]):
            for k, (down, across) in enumerate(NEIGHBOURS):
                found[i, k] = WGS_84.inv(*self.center(i, 0), *self.center(i + down, across))[2]
        return found

    def zone(self, first, last, columns, points):
        """The area of rows and columns. Sides along parallels have so many points, as polygons have geodesic sides."""
        east = np.linspace(self.west, self.west + columns * self.width, points)
        upper, lower = self.north - first * self.height, self.north - last * self.height
        lon = np.concatenate([east, east[::-1]])
        lat = np.concatenate([np.full(points, lower), np.full(points, upper)])
        return abs(WGS_84.polygon_area_perimeter(lon, lat)[0])

    def areas(self):
        """The area of a cell, by rows."""
        # The wider a cell, the more a geodesic deviates from its parallel.
        points = max(2, int(400 * self.width / 0.1))
        return np.array([self.zone(i, i + 1, 1, points) for i in range(self.shape[0])])

    def length(self, points):
        return WGS_84.line_length(points[:, 0], points[:, 1])


class Rectangles:
    """A projected map with rectangular cells."""

    crs = "EPSG:25832"

    def __init__(self, width, height, shape):
        self.width, self.height, self.shape = width, height, shape
        self.transform = Affine(width, 0, 500_000, 0, -height, 5_400_000)

    def distances(self):
        steps = np.array(NEIGHBOURS) * (self.height, self.width)
        return np.tile(np.hypot(*steps.T), (self.shape[0], 1))

    def areas(self):
        return np.full(self.shape[0], float(self.width * self.height))

    def length(self, points):
        return np.hypot(*np.diff(points, axis=0).T).sum()


MAPS = {
    # Three seconds from west to east by one from north to south, in Norway.
    "seconds": (Degrees(10.0, 61.0, 3 / 3600, 1 / 3600, (90, 110)), 60.0),
    "south": (Degrees(-71.3, -41.0, 0.002, 0.003, (80, 70)), 900.0),
    # A strip of 0.1° from 75° N across the equator: areas of cells differ by a factor of four.
    "strip": (Degrees(-5.0, 75.0, 0.1, 0.1, (900, 24)), 4000.0),
    "oblong": (Rectangles(20, 45, (90, 80)), 90.0),
    "upright": (Rectangles(50, 11.5, (70, 90)), 90.0),
}


@pytest.fixture(scope="module", params=MAPS)
def drained(request, tmp_path_factory):
    place, relief = MAPS[request.param]
    folder = tmp_path_factory.mktemp("degrees")
    ground = rough_ground(*place.shape, relief, seed=len(request.param))
    write_raster(folder / "in.tif", ground, place.transform, place.crs)
    threshold = 60 * float(np.median(place.areas()))
    thalweg("drain", "in.tif", "-o", "out", "--threshold", repr(threshold), cwd=folder)
    return place, folder / "out", threshold


def neighbour(values, step, fill):
    """The values of the neighbours in one direction."""
    down, across = step
    rows, cols = values.shape
    wide = np.full((rows + 2, cols + 2), fill, values.dtype)
    wide[1:-1, 1:-1] = values
    return wide[1 + down : 1 + down + rows, 1 + across : 1 + across + cols]


def falls(filled):
    """The falls to the eight neighbours, −∞ beyond the edge."""
    wide = filled.astype(np.float64)
    return np.stack([wide - neighbour(wide, step, np.inf) for step in NEIGHBOURS])


def accumulate(codes, areas):
    """Sums of areas along the codes, each cell after all that drain to it."""
    rows, cols = codes.shape
    target = np.full(codes.shape, -1)
    index = np.arange(codes.size).reshape(codes.shape)
    for code, (down, across) in ESRI.items():
        there = codes == code
        target[there] = index[there] + down * cols + across
    target = target.ravel()
    donors = np.bincount(target[target >= 0], minlength=codes.size)
    sums = np.repeat(areas, cols)
    ready = list(np.flatnonzero(donors == 0))
    done = 0
    while ready:
        k = ready.pop()
        done += 1
        if target[k] >= 0:
            sums[target[k]] += sums[k]
            donors[target[k]] -= 1
            if donors[target[k]] == 0:
                ready.append(target[k])
    assert done == codes.size  # no circle
    return sums.reshape(codes.shape)


def test_the_zone_is_the_sum_of_its_cells():
    for place, _ in MAPS.values():
        if isinstance(place, Degrees):
            rows, cols = place.shape
            zone = place.zone(0, rows, cols, 40_000)
            np.testing.assert_allclose(place.areas().sum() * cols, zone, rtol=1e-9)


def test_directions_are_steepest_by_true_distances(drained):
    place, out, _ = drained
    filled, codes = read_band(out / "filled.tif"), read_band(out / "flow_direction.tif")
    slopes = falls(filled) / place.distances().T[:, :, None]
    order = np.sort(slopes, axis=0)
    best, second = order[-1], order[-2]
    # Geodesics and parallels differ by less than 10⁻⁶ of the distance between two cells.
    clear = (best > 0) & (second < best * (1 - 1e-6))
    assert clear.mean() > 0.6, clear.mean()
    expected = 1 << slopes.argmax(axis=0)
    np.testing.assert_array_equal(codes[clear], expected[clear])
    # The true shape of cells matters: with squares, some directions would differ.
    squares = falls(filled) / np.tile([1, 2**0.5], 4)[:, None, None]
    assert (squares.argmax(axis=0) != slopes.argmax(axis=0))[clear].mean() > 0.005
    # A cell without a lower neighbour drains over level ground, or leaves at the edge.
    for code, step in ESRI.items():
        there = (codes == code) & (best <= 0)
        np.testing.assert_array_equal(neighbour(filled, step, np.inf)[there], filled[there])
    inside = np.zeros_like(codes, bool)
    inside[1:-1, 1:-1] = True
    assert (codes[inside] != 0).all()


def test_drainage_areas_are_true_areas(drained):
    place, out, _ = drained
    codes, area = read_band(out / "flow_direction.tif"), read_band(out / "drainage_area.tif")
    areas = place.areas()
    np.testing.assert_allclose(area, accumulate(codes, areas), rtol=1e-9)
    # The water of the whole zone leaves it.
    zone = areas.sum() * place.shape[1]
    np.testing.assert_allclose(area[codes == 0].sum(), zone, rtol=1e-9)
    report = validate_report(json.loads((out / "drain.json").read_text()), "drain")
    np.testing.assert_allclose(report["land_m2"], zone, rtol=1e-9)


def test_basins_and_lakes_have_true_sizes(drained):
    place, out, _ = drained
    report = json.loads((out / "drain.json").read_text())
    areas = np.broadcast_to(place.areas()[:, None], place.shape)
    basins, depth = read_band(out / "basins.tif"), read_band(out / "lake_depth.tif").astype(np.float64)
    sizes = np.bincount(basins.ravel(), weights=areas.ravel())
    assert report["basins"]["count"] == basins.max()
    np.testing.assert_allclose(report["basins"]["largest_m2"], sizes.max(), rtol=1e-9)
    assert depth.max() > 0
    np.testing.assert_allclose(report["lakes"]["volume_m3"], (depth * areas).sum(), rtol=1e-9)
    # Each basin has one outlet, whose drainage area is that of the basin.
    codes, area = read_band(out / "flow_direction.tif"), read_band(out / "drainage_area.tif")
    np.testing.assert_allclose(area[codes == 0], sizes[basins[codes == 0]], rtol=1e-9)


def test_streams_are_measured_on_the_ground(drained):
    place, out, threshold = drained
    area, orders = read_band(out / "drainage_area.tif"), read_band(out / "streams.tif")
    np.testing.assert_array_equal(orders > 0, area >= threshold)
    report = json.loads((out / "drain.json").read_text())
    features = json.loads((out / "streams.geojson").read_text())["features"]
    assert len(features) == report["streams"]["reaches"] > 0
    total = 0.0
    for feature in features:
        points, about = np.array(feature["geometry"]["coordinates"]), feature["properties"]
        length = place.length(points)
        # A diagonal step is the hypotenuse of a plane triangle, which is not quite the geodesic.
        np.testing.assert_allclose(about["length_m"], length, rtol=1e-5)
        np.testing.assert_allclose(about["slope"] * about["length_m"], about["drop_m"], rtol=1e-9, atol=1e-9)
        total += about["length_m"]
        # The line passes through centres of cells, in the coordinates of the file.
        cols = (points[:, 0] - place.transform.c) / place.transform.a
        rows = (points[:, 1] - place.transform.f) / place.transform.e
        np.testing.assert_allclose(np.stack([cols, rows]) % 1, 0.5, atol=1e-4)
        below = about["downstream"] is not None
        lowest = (int(rows[-1 - below]), int(cols[-1 - below]))
        if below:
            np.testing.assert_allclose(about["drainage_area_m2"], area[lowest], rtol=1e-12)
    np.testing.assert_allclose(report["streams"]["length_m"], total, rtol=1e-9)
    assert pyogrio.read_info(out / "streams.fgb")["crs"] == place.crs


def test_angles_are_those_on_the_ground(drained):
    place, out, _ = drained
    filled, angles = read_band(out / "filled.tif"), read_band(out / "angles.tif")
    fall, far = falls(filled), place.distances()
    best, best_angle, second = np.zeros(place.shape), np.zeros(place.shape), np.zeros(place.shape)
    # Each of the eight facets, between a straight neighbour and a diagonal one (Tarboton 1997).
    for straight in (0, 2, 4, 6):
        for turn in (1, -1):
            corner, side = (straight + turn) % 8, (straight + 2 * turn) % 8
            along, aside = far[:, straight, None], far[:, side, None]
            with np.errstate(invalid="ignore"):
                s1 = fall[straight] / along
                s2 = (fall[corner] - fall[straight]) / aside
            angle = np.clip(np.nan_to_num(np.arctan2(s2, s1)), 0, np.arctan2(aside, along))
            slope = np.cos(angle) * s1 + np.sin(angle) * np.where(np.isfinite(s2), s2, 0)
            slope = np.where(np.isfinite(slope), slope, -np.inf)
            # Codes turn clockwise, and angles counter-clockwise.
            angle = (-straight * np.pi / 4 - turn * angle) % (2 * np.pi)
            better = slope > best
            # The same direction seen from two facets is no second one.
            same = np.abs((angle - best_angle + np.pi) % (2 * np.pi) - np.pi) < 1e-6
            second = np.where(better & ~same, best, np.where(same, second, np.maximum(second, slope)))
            best, best_angle = np.where(better, slope, best), np.where(better, angle, best_angle)
    # Rounding makes slopes of some 1e-18 on level ground.
    clear = (best > 1e-9) & (second < best * (1 - 1e-4))
    clear[[0, -1]] = False
    clear[:, [0, -1]] = False
    assert clear.mean() > 0.5, clear.mean()
    apart = np.abs((angles - best_angle + np.pi) % (2 * np.pi) - np.pi)
    assert apart[clear].max() < 1e-3, apart[clear].max()


def divide(codes, sums, receivers, order):
    """Passes sums on to receivers, a list of (cell, share) for each cell, from the highest cell down."""
    for k in order:
        for n, share in receivers[k]:
            sums[n] += share * sums[k]
    return sums.reshape(codes.shape)


def upstream_order(target_lists):
    """The cells, each before all that it drains to."""
    donors = np.zeros(len(target_lists), int)
    for targets in target_lists:
        for n, _ in targets:
            donors[n] += 1
    ready, order = list(np.flatnonzero(donors == 0)), []
    while ready:
        k = ready.pop()
        order.append(k)
        for n, _ in target_lists[k]:
            donors[n] -= 1
            if donors[n] == 0:
                ready.append(n)
    assert len(order) == len(target_lists)
    return order


@pytest.mark.parametrize("method", ["dinf", "mfd"])
@pytest.mark.parametrize("name", ["seconds", "oblong"])
def test_divided_flow_uses_true_shapes(tmp_path, method, name):
    place, relief = MAPS[name]
    rows, cols = place.shape
    ground = rough_ground(*place.shape, relief, seed=3)
    write_raster(tmp_path / "in.tif", ground, place.transform, place.crs)
    thalweg("drain", "in.tif", "-o", "out", "--method", method, cwd=tmp_path)
    out = tmp_path / "out"
    filled, codes = read_band(out / "filled.tif").astype(float), read_band(out / "flow_direction.tif")
    angles, area = read_band(out / "angles.tif"), read_band(out / "drainage_area.tif")
    far, fall, areas = place.distances(), falls(filled), place.areas()
    number = {code: k for k, code in enumerate(ESRI)}
    receivers = []
    for k in range(rows * cols):
        i, j = divmod(k, cols)
        at = [k + down * cols + across for down, across in NEIGHBOURS]
        if codes[i, j] == 0:
            receivers.append([])
        elif method == "mfd":
            steepest = number[codes[i, j]]
            powers = (np.maximum(fall[:, i, j], 0) / far[i]) ** 1.1
            if fall[steepest, i, j] <= 0:
                # On level ground all water follows the D8 direction.
                powers = np.arange(8) == steepest
            receivers.append([(at[d], powers[d] / powers.sum()) for d in range(8) if powers[d] > 0])
        else:
            north, south, across = far[i, 6], far[i, 2], far[i, 0]
            upper, lower = np.arctan2(north, across), np.arctan2(south, across)
            edges = np.pi * np.array([0, 0, 0.5, 1, 1, 1, 1.5, 2, 2])
            edges[[1, 3, 5, 7]] += [upper, -upper, lower, -lower]
            # The file has 32-bit floats.
            edges = edges.astype(np.float32).astype(float)
            angle = float(angles[i, j])
            d = min(int(np.flatnonzero(edges <= angle + 1e-6)[-1]), 7)
            share = max(0.0, (angle - edges[d]) / (edges[d + 1] - edges[d]))
            share = 0.0 if share < 1e-5 else share
            receivers.append([(at[-(d + n) % 8], part) for n, part in enumerate((1 - share, share)) if part > 1e-5])
    sums = divide(codes, np.repeat(areas, cols), receivers, upstream_order(receivers))
    np.testing.assert_allclose(area, sums, rtol=1e-3)
    assert np.median(np.abs(area / sums - 1)) < 1e-6
    # Nothing is lost.
    np.testing.assert_allclose(area[codes == 0].sum(), areas.sum() * cols, rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--breach", "5,500"], "the option breach"),
        (["--runoff", "300"], "the option runoff"),
        (["--depressions"], "the option depressions"),
    ],
)
def test_what_needs_squares_is_refused(tmp_path, options, named):
    place, relief = MAPS["south"]
    write_raster(tmp_path / "in.tif", rough_ground(*place.shape, relief, seed=1), place.transform, place.crs)
    message = refused("drain", "in.tif", "-o", "out", *options, cwd=tmp_path, statuses=(1, 2))
    assert "in.tif" in message and f"{named} needs square cells in metres" in message, message
    assert "gdalwarp -t_srs EPSG:32719" in message, message


def test_stores_need_squares(tmp_path):
    place, relief = MAPS["seconds"]
    write_raster(tmp_path / "in.tif", rough_ground(*place.shape, relief, seed=1), place.transform, place.crs)
    message = refused("drain", "in.tif", "-o", "out.zarr", cwd=tmp_path, statuses=(1, 2))
    assert "by tiles needs square cells in metres" in message, message
