"""``evolve(store=)``: what zarr-python and xarray read of the store is what evolve holds without one."""

import builtins

import numpy as np
import pytest
import thalweg as tw

xr = pytest.importorskip("xarray")
zarr = pytest.importorskip("zarr", minversion="3")
dask_array = pytest.importorskip("dask.array")

RECIPE = {"stage": [{"model": "stream_power", "years": 100_000.0, "step": 20_000.0}]}


def ground(rows, columns, seed, dtype="f8"):
    heights = np.random.default_rng(seed).random((rows, columns)) * 300 + np.arange(columns) * 2
    heights[rows // 3 : rows // 3 + 4, 5:9] = np.nan
    return heights.astype(dtype)


@pytest.mark.parametrize("rows, columns", [(40, 50), (257, 90), (30, 1050)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_store_holds_what_evolve_holds(tmp_path, rows, columns, dtype):
    dem = ground(rows, columns, rows, dtype)
    kept = tw.evolve(dem, RECIPE, save_every=40_000, cell_size=60.0)
    found = tw.evolve(dem, RECIPE, save_every=40_000, cell_size=60.0, store=tmp_path / "a.zarr")
    assert kept.time.tolist() == found.time.values.tolist() == [0.0, 40_000.0, 80_000.0]
    # By zarr-python alone, bit for bit.
    array = zarr.open_array(tmp_path / "a.zarr/elevation", mode="r")
    assert array.dtype == kept.elevation.dtype == np.dtype(dtype) and array[:].tobytes() == kept.elevation.tobytes()
    assert zarr.open_array(tmp_path / "a.zarr/time", mode="r")[:].tolist() == kept.time.tolist()
    # A chunk of dask's is a shard, which is a tile of one time.
    assert isinstance(found.elevation.data, dask_array.Array)
    assert array.chunks == (1, 256, 256) and array.shards == (1, *(min(1024, -(-n // 256) * 256) for n in (rows, columns)))
    assert found.elevation.data.chunksize == (1, min(rows, 1024), min(columns, 1024))
    assert np.array_equal(found.elevation.values, kept.elevation, equal_nan=True)
    assert [path.name for path in tmp_path.iterdir()] == ["a.zarr"]


@pytest.mark.parametrize("northward", [False, True])
def test_the_place_is_kept(tmp_path, northward):
    y, x = 5_000_000.0 - 30 * np.arange(40), 400_000.0 + 30 * np.arange(60)
    system = xr.DataArray(0, attrs={"spatial_ref": "EPSG:32633", "crs_wkt": "EPSG:32633"})
    dem = xr.DataArray(ground(40, 60, 3), coords={"y": y, "x": x, "spatial_ref": system}, dims=("y", "x"), name="dem", attrs={"units": "m"})
    dem.encoding = {"grid_mapping": "spatial_ref", "chunksizes": (7, 9), "zlib": True}
    if northward:
        dem = dem.isel(y=slice(None, None, -1))
    dem.x.encoding["chunksizes"] = (5,)
    kept = tw.evolve(dem, RECIPE, save_every=50_000)
    found = tw.evolve(dem, RECIPE, save_every=50_000, store=tmp_path / "a.zarr")
    xr.testing.assert_identical(found.compute(), kept)
    # Heights are kept to 1/65 536 m.
    assert np.nanmax(np.abs(found.elevation[0].values - dem.values)) <= 0.5 / 65536
    again = xr.open_zarr(tmp_path / "a.zarr", consolidated=False, decode_coords="all")
    assert again.elevation.encoding["grid_mapping"] == "spatial_ref" and again.spatial_ref.attrs["crs_wkt"] == "EPSG:32633"


def test_a_recipes_own_ground_on_its_last_level(tmp_path):
    noise = {"model": "gradient_noise", "amplitude": 300.0}
    recipe = {"extent": [6000.0, 6000.0], "cells": 64, "coarsest": 16, "stage": [noise, *RECIPE["stage"]]}
    kept, found = tw.evolve(None, recipe, save_every=20_000), tw.evolve(None, recipe, save_every=20_000, store=tmp_path / "a.zarr")
    xr.testing.assert_identical(found.compute(), kept)


def test_what_is_refused_leaves_nothing(tmp_path, monkeypatch):
    dem = ground(20, 20, 1)
    for options, words in [
        ({"store": tmp_path / "a.tif"}, r"ends in \.zarr"),
        ({"store": tmp_path / "no/a.zarr"}, "an existing folder"),
        ({"store": tmp_path / "a.zarr", "folder": tmp_path / "f"}, "one of them"),
    ]:
        with pytest.raises(ValueError, match=words):
            tw.evolve(dem, RECIPE, save_every=50_000, cell_size=60.0, **options)
    with pytest.raises(ValueError, match="no stage simulates time"):
        tw.evolve(dem, {"stage": [{"model": "planation"}]}, save_every=1.0, cell_size=60.0, store=tmp_path / "a.zarr")
    with pytest.raises(RuntimeError, match="mine"):
        tw.evolve(dem, RECIPE, save_every=1.0, cell_size=60.0, store=tmp_path / "a.zarr", between=stopped)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "a.zarr").mkdir()
    with pytest.raises(ValueError, match="already exists"):
        tw.evolve(dem, RECIPE, save_every=50_000, cell_size=60.0, store=tmp_path / "a.zarr")
    importing = builtins.__import__

    def without(name, *rest, **more):
        if name.split(".")[0] == "dask":
            raise ImportError("not here", name="dask")
        return importing(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"needs dask, which is missing; install it with pip install 'thalweg\[dask\]'"):
        tw.evolve(dem, RECIPE, save_every=50_000, cell_size=60.0, store=tmp_path / "b.zarr")


def stopped(run):
    if run.years and run.years > 50_000:
        raise RuntimeError("mine")
