"""Stores of thalweg-store in xarray and zarr-python, arrays of zarr-python's making in thalweg-store, and COGs in GDAL.

The counterpart is crates/thalweg-store/examples/stores.rs.
"""

import json
import random
import warnings

import numpy as np
import pytest
import rasterio
from helpers import run_example

xr = pytest.importorskip("xarray")
zarr = pytest.importorskip("zarr", minversion="3")

SIZE = (203, 331)
LAYERS = {
    # type, and what stands for no data
    "height": ("<i4", -(2**31)),
    "drainage_area": ("<f8", 0.0),
    "angle": ("<f4", np.nan),
    "flow_direction": ("u1", 255),
    "basin": ("<u4", 0),
    "change": ("<i2", -32768),
    "count": ("<u2", 65535),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores")
    seed = random.getrandbits(48)
    print("seed", seed)
    run_example("STORES", "stores", "write", folder, seed)
    return folder


def raw(folder, name):
    return np.fromfile(folder / f"{name}.bin", LAYERS[name][0]).reshape(SIZE)


@pytest.mark.parametrize("name", ["utm", "local"])
@pytest.mark.parametrize("consolidated", [False, True])
def test_xarray_reads_every_value(written, name, consolidated):
    folder = written / name
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of what lies beside the arrays, too
        stored = xr.open_zarr(folder / "store.zarr", consolidated=consolidated, mask_and_scale=False, chunks=None)
        decoded = xr.open_zarr(folder / "store.zarr", consolidated=consolidated, chunks=None)
    assert set(stored.data_vars) == set(LAYERS) and decoded.attrs["title"] == "a store of a test"
    for layer, (_, fill) in LAYERS.items():
        expected = raw(folder, layer)
        assert stored[layer].values.tobytes() == expected.tobytes(), layer
        bare = np.isnan(expected) if np.isnan(fill) else expected == fill
        assert 0 < bare.sum() < expected.size
        assert (np.isnan(decoded[layer].values) == bare).all(), layer
        scale = 1 / 65536 if layer == "height" else 1
        assert (decoded[layer].values[~bare] == expected[~bare].astype(float) * scale).all(), layer
    assert decoded["height"].dtype == np.float64 and decoded["height"].attrs["units"] == "m"
    assert decoded["height"].attrs["standard_name"] == "surface_altitude"
    west, north = (432_100.0, 5_678_900.0) if name == "utm" else (0.0, 0.0)
    assert (decoded.x.values == west + 30 * (np.arange(SIZE[1]) + 0.5)).all()
    assert (decoded.y.values == north - 30 * (np.arange(SIZE[0]) + 0.5)).all()
    assert decoded.x.attrs["units"] == decoded.y.attrs["units"] == "m"


def test_rioxarray_finds_the_place(written):
    pytest.importorskip("rioxarray")
    height = xr.open_zarr(written / "utm/store.zarr", chunks=None)["height"]
    assert height.rio.crs.to_epsg() == 32633
    assert tuple(height.rio.transform())[:6] == (30.0, 0.0, 432_100.0, 0.0, -30.0, 5_678_900.0)
    assert xr.open_zarr(written / "local/store.zarr", chunks=None)["height"].rio.crs is None


def test_shards_are_tiles(written):
    for name, side, inner in [("utm", 64, 64), ("local", 384, 128)]:
        array = zarr.open_array(written / name / "store.zarr/height", mode="r")
        assert array.shards == (side, side) and array.chunks == (inner, inner)


@pytest.mark.parametrize("endian", ["little", "big"])
@pytest.mark.parametrize("way", ["plain", "zstd", "gzip", "shards", "sparse"])
def test_arrays_of_others_are_read(tmp_path, way, endian):
    values = np.random.default_rng().integers(-9000, 9000, (57, 91)).astype("i2")
    options = {
        "plain": {"compressors": None},
        "zstd": {"compressors": [zarr.codecs.ZstdCodec(level=1), zarr.codecs.Crc32cCodec()]},
        "gzip": {"compressors": zarr.codecs.GzipCodec()},
        "shards": {"shards": (40, 60)},
        "sparse": {"compressors": None},
    }[way]
    serializer = zarr.codecs.BytesCodec(endian=endian)
    array = zarr.create_array(
        tmp_path / "a.zarr", shape=values.shape, chunks=(20, 30), dtype="i2", fill_value=-5, serializer=serializer, **options)
    if way == "sparse":
        values[20:, 30:] = -5
        array[:20, :] = values[:20, :]
        array[:, :30] = values[:, :30]
    else:
        array[:] = values
    about = json.loads(run_example("STORES", "stores", "read", tmp_path / "a.zarr", tmp_path / "a.bin"))
    assert about == {"rows": 57, "columns": 91, "kind": "i16"}
    assert (np.fromfile(tmp_path / "a.bin", "<i2").reshape(57, 91) == values).all()


def halved(values, nodata, means):
    """Cells of twice the width: means, or the first, of those of four that have data."""
    rows, columns = values.shape
    padded = np.full((rows + rows % 2, columns + columns % 2), nodata, values.dtype)
    padded[:rows, :columns] = values
    four = np.stack([padded[a::2, b::2] for a in (0, 1) for b in (0, 1)])
    good = four != nodata
    if means:
        count = good.sum(0)
        mean = np.where(good, four, 0).astype(float).sum(0) / np.maximum(count, 1)
        return np.where(count > 0, mean, nodata).astype(values.dtype)
    first = np.take_along_axis(four, good.argmax(0)[None], 0)[0]
    return np.where(good.any(0), first, nodata).astype(values.dtype)


@pytest.mark.parametrize("name, dtype, nodata", [("means", "<f4", -9999.0), ("classes", "u1", 255)])
def test_cogs_in_gdal(tmp_path, name, dtype, nodata):
    run_example("STORES", "stores", "cog", tmp_path, random.getrandbits(48))
    path = tmp_path / f"{name}.tif"
    values = np.fromfile(tmp_path / f"{name}.bin", dtype).reshape(1301, 2051)
    with rasterio.open(path) as file:
        assert file.overviews(1) == [2, 4, 8] and file.block_shapes == [(512, 512)] and file.nodata == nodata
        assert file.crs.to_epsg() == 32633 and tuple(file.transform)[:3] == (30.0, 0.0, 432_100.0)
        assert (file.read(1) == values).all()
        ifds, data = [int(file.get_tag_item("IFD_OFFSET", "TIFF", bidx=1))], [int(file.get_tag_item("BLOCK_OFFSET_0_0", "TIFF", bidx=1))]
        for k in range(3):
            ifds.append(int(file.get_tag_item("IFD_OFFSET", "TIFF", bidx=1, ovr=k)))
            data.append(int(file.get_tag_item("BLOCK_OFFSET_0_0", "TIFF", bidx=1, ovr=k)))
        # Directories from fine to coarse, then tiles from coarse to fine.
        assert ifds[0] == 8 and [*ifds, *reversed(data)] == sorted([*ifds, *data])
    for k in range(3):
        values = halved(values, nodata, name == "means")
        with rasterio.open(path, overview_level=k) as file:
            assert (file.read(1) == values).all()
    validate = pytest.importorskip("rio_cogeo", reason="rio-cogeo is not among the requirements").cog_validate
    assert validate(path, strict=True, quiet=True) == (True, [], [])
