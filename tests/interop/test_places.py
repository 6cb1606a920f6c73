"""Where maps of other programs lie that have coordinates and no transform: what xarray and zarr-python write, read by the command."""

import json

import numpy as np
import pytest
import rasterio
from helpers import refused, thalweg

xr = pytest.importorskip("xarray")
zarr = pytest.importorskip("zarr", minversion="3")

SIZE = (23, 31)
WEST, NORTH, CELL = 432_100.0, 5_678_900.0, 30.0


@pytest.fixture
def heights():
    return (np.random.default_rng().random(SIZE) * 900).round(2)


def centres(dtype="f8", cell=CELL):
    y = NORTH - cell * (np.arange(SIZE[0]) + 0.5)
    x = WEST + cell * (np.arange(SIZE[1]) + 0.5)
    return y.astype(dtype), x.astype(dtype)


def check(path, heights, tmp_path, crs=None):
    """The command finds the place, and what it writes has each height where it was."""
    told = json.loads(thalweg("info", path, "--json"))
    assert "problem" not in told, told
    assert told["cell_size_m"] == CELL and (told["rows"], told["columns"]) == SIZE
    assert told["lowest_m"] == pytest.approx(heights.min(), abs=1e-5) and told["nodata_cells"] == 0
    out = tmp_path / "out.tif"
    thalweg("crop", path, "-o", out, "--window", f"0,0,{SIZE[1]},{SIZE[0]}", "--type", "f64")
    with rasterio.open(out) as file:
        assert tuple(file.transform)[:6] == (CELL, 0.0, WEST, 0.0, -CELL, NORTH)
        assert (file.crs and file.crs.to_epsg()) == crs
        # Heights are kept to 1/65 536 m.
        assert np.abs(file.read(1) - heights).max() <= 0.5 / 65536


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4"])
@pytest.mark.parametrize("ascending", [False, True])
def test_coordinates_of_xarrays(tmp_path, heights, dtype, ascending):
    y, x = centres(dtype)
    da = xr.DataArray(heights, coords={"y": y, "x": x}, dims=("y", "x"), name="dem")
    if ascending:
        da = da.isel(y=slice(None, None, -1))
    da.to_dataset().to_zarr(tmp_path / "a.zarr", zarr_format=3, encoding={"dem": {"chunks": (10, 12)}})
    check(tmp_path / "a.zarr", heights, tmp_path)
    check(tmp_path / "a.zarr/dem", heights, tmp_path)


@pytest.mark.parametrize("ascending", [False, True])
def test_a_reference_system_beside_coordinates(tmp_path, heights, ascending):
    y, x = centres()
    da = xr.DataArray(heights, coords={"northing": y, "easting": x}, dims=("northing", "easting"), name="dem")
    da = da.assign_coords(spatial_ref=xr.DataArray(0, attrs={"crs_wkt": rasterio.crs.CRS.from_epsg(32633).to_wkt()}))
    da.encoding["grid_mapping"] = "spatial_ref"
    if ascending:
        da = da.isel(northing=slice(None, None, -1))
    da.to_dataset().to_zarr(tmp_path / "a.zarr", zarr_format=3)
    check(tmp_path / "a.zarr", heights, tmp_path, crs=32633)


def test_coordinates_of_zarrs(tmp_path, heights):
    group = zarr.open_group(tmp_path / "a.zarr", mode="w")
    y, x = centres("i8")
    for name, line in (("y", y), ("x", x)):
        group.create_array(name, data=line, chunks=(7,), dimension_names=(name,))
    group.create_array("dem", data=heights, chunks=(10, 12), dimension_names=("y", "x"))
    check(tmp_path / "a.zarr", heights, tmp_path)


def test_rows_that_run_northward_are_drained_where_they_lie(tmp_path, heights):
    y, x = centres()
    da = xr.DataArray(heights, coords={"y": y, "x": x}, dims=("y", "x"), name="dem")
    da.to_dataset().to_zarr(tmp_path / "down.zarr", zarr_format=3)
    da.isel(y=slice(None, None, -1)).to_dataset().to_zarr(tmp_path / "up.zarr", zarr_format=3)
    for name in ("down", "up"):
        thalweg("drain", tmp_path / f"{name}.zarr", "-o", tmp_path / f"{name}_drained.zarr")
    down, up = (xr.open_zarr(tmp_path / f"{name}_drained.zarr", chunks=None).load() for name in ("down", "up"))
    assert set(down.data_vars) == set(up.data_vars)
    for name in down.data_vars:
        assert np.array_equal(down[name], up[name], equal_nan=down[name].dtype.kind == "f"), name
    assert np.array_equal(down.y, up.y)


@pytest.mark.parametrize("axis", ["y", "x"])
def test_uneven_coordinates_are_refused(tmp_path, heights, axis):
    lines = dict(zip(("y", "x"), centres(), strict=True))
    lines[axis][7] += 4.0
    xr.DataArray(heights, coords=lines, dims=("y", "x"), name="dem").to_dataset().to_zarr(tmp_path / "a.zarr", zarr_format=3)
    said = refused("crop", tmp_path / "a.zarr", "-o", tmp_path / "out.tif", "--window", "0,0,5,5")
    assert f"coordinate `{axis}`" in said and "steps must be equal" in said
    assert not (tmp_path / "out.tif").exists()


def test_coordinates_in_other_units_are_refused(tmp_path, heights):
    y, x = centres()
    da = xr.DataArray(heights, coords={"y": y / 1000, "x": x / 1000}, dims=("y", "x"), name="dem")
    da.y.attrs["units"] = da.x.attrs["units"] = "km"
    da.to_dataset().to_zarr(tmp_path / "a.zarr", zarr_format=3)
    said = refused("crop", tmp_path / "a.zarr", "-o", tmp_path / "out.tif", "--window", "0,0,5,5")
    assert "`km`" in said and "metres" in said


def test_degrees_are_refused(tmp_path, heights):
    y, x = 46.0 - 0.001 * np.arange(SIZE[0]), 8.0 + 0.001 * np.arange(SIZE[1])
    da = xr.DataArray(heights, coords={"lat": y, "lon": x}, dims=("lat", "lon"), name="dem")
    da.lat.attrs["units"], da.lon.attrs["units"] = "degrees_north", "degrees_east"
    da.to_dataset().to_zarr(tmp_path / "a.zarr", zarr_format=3)
    assert "degrees" in refused("crop", tmp_path / "a.zarr", "-o", tmp_path / "out.tif", "--window", "0,0,5,5")


def test_windows_of_rows_that_run_northward(tmp_path):
    rows, columns = 700, 40
    heights = (np.random.default_rng().random((rows, columns)) * 900).round(2)
    y, x = NORTH - CELL * (np.arange(rows) + 0.5), WEST + CELL * (np.arange(columns) + 0.5)
    da = xr.DataArray(heights, coords={"y": y, "x": x}, dims=("y", "x"), name="dem").isel(y=slice(None, None, -1))
    da.to_dataset().to_zarr(tmp_path / "a.zarr", zarr_format=3, encoding={"dem": {"chunks": (90, 17)}})
    for column, row, width, height in [(5, 100, 20, 300), (0, 0, 40, 700), (3, 690, 30, 10)]:
        out = tmp_path / "out.tif"
        thalweg("crop", tmp_path / "a.zarr", "-o", out, "--window", f"{column},{row},{width},{height}", "--type", "f64")
        with rasterio.open(out) as file:
            assert tuple(file.transform)[:6] == (CELL, 0.0, WEST + CELL * column, 0.0, -CELL, NORTH - CELL * row)
            assert np.abs(file.read(1) - heights[row : row + height, column : column + width]).max() <= 0.5 / 65536
