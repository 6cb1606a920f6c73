"""DTED that GDAL writes, against ours: voids, negative heights, every hemisphere, damage."""

import json

import numpy as np
import pytest
import rasterio
import rasterio.shutil
from helpers import run_example, run_thalweg
from rasterio.transform import from_origin


def write_cell(folder, lat, lon, cols=121, rows=121, name="a.dt0"):
    """A cell of one degree that GDAL writes; its heights."""
    heights = np.random.default_rng(abs(lat) + abs(lon)).integers(-430, 8850, (rows, cols)).astype("int16")
    heights[3:6, 10:20] = -32767
    heights[0, 0], heights[-1, -1], heights[-1, 0] = -1, 0, -12000
    x, y = 1 / (cols - 1), 1 / (rows - 1)
    profile = {"driver": "GTiff", "width": cols, "height": rows, "count": 1, "dtype": "int16", "crs": "EPSG:4326"}
    place = from_origin(lon - x / 2, lat + 1 + y / 2, x, y)
    with rasterio.open(folder / "source.tif", "w", transform=place, nodata=-32767, **profile) as file:
        file.write(heights, 1)
    rasterio.shutil.copy(folder / "source.tif", folder / name, driver="DTED")
    return heights


def read_by_us(path):
    found = json.loads(run_example("INTEROP", "interop", "read", path))
    return np.array(found["values"]).reshape(found["rows"], found["columns"]), found


CORNERS = [(45, 7), (-34, 18), (36, -112), (-34, -71), (0, -1), (-1, 0), (0, 179), (49, -180)]
LEVELS = [
    (45, 1201, 1201, "a.dt1"), (55, 601, 1201, "a.dt1"), (72, 41, 121, "a.dt0"), (80, 21, 121, "a.dt0"),
]


@pytest.mark.parametrize("lat, lon", CORNERS)
def test_cells_of_every_hemisphere(tmp_path, lat, lon):
    heights = write_cell(tmp_path, lat, lon)
    values, found = read_by_us(tmp_path / "a.dt0")
    with rasterio.open(tmp_path / "a.dt0") as file:
        np.testing.assert_array_equal(values, file.read(1))
        np.testing.assert_allclose(found["transform"], file.transform.to_gdal(), rtol=0, atol=1e-9)
        assert found["nodata"] == file.nodata == -32767 and found["unit"] == file.units[0] == "m"
    np.testing.assert_array_equal(values, heights)


@pytest.mark.parametrize("lat, cols, rows, name", LEVELS)
def test_levels_and_columns_that_are_farther_apart(tmp_path, lat, cols, rows, name):
    heights = write_cell(tmp_path, lat, 10, cols, rows, name)
    values, found = read_by_us(tmp_path / name)
    np.testing.assert_array_equal(values, heights)
    with rasterio.open(tmp_path / name) as file:
        np.testing.assert_allclose(found["transform"], file.transform.to_gdal(), rtol=0, atol=1e-9)


def test_damage_is_found_by_the_checksum(tmp_path):
    write_cell(tmp_path, 45, 7)
    data = bytearray((tmp_path / "a.dt0").read_bytes())
    record = 12 + 2 * 121
    data[3428 + 17 * record + 100] ^= 1
    (tmp_path / "a.dt0").write_bytes(data)
    done = run_thalweg("info", "a.dt0", cwd=tmp_path)
    assert done.returncode == 1 and "is damaged: the bytes of column 17" in done.stderr
    (tmp_path / "a.dt0").write_bytes(data[: 3428 + 5 * record - 7])
    done = run_thalweg("info", "a.dt0", cwd=tmp_path)
    assert done.returncode == 1 and "is truncated" in done.stderr


def test_a_partial_cell_lacks_columns(tmp_path):
    heights = write_cell(tmp_path, 45, 7)
    data = (tmp_path / "a.dt0").read_bytes()
    record = 12 + 2 * 121
    (tmp_path / "a.dt0").write_bytes(data[: 3428 + 40 * record])  # GDAL marks a cell with voids as partial
    values, _ = read_by_us(tmp_path / "a.dt0")
    np.testing.assert_array_equal(values[:, :40], heights[:, :40])
    assert (values[:, 40:] == -32767).all()
