"""Worlds as GIS takes them: cloud-optimised, placed, in metres; by GDAL, rio-cogeo and xarray's reader of Zarr."""

import shutil
import sqlite3
import warnings
from xml.etree import ElementTree

import geopandas
import numpy as np
import pyogrio
import pytest
import rasterio
import zarr
from helpers import refused, thalweg
from rio_cogeo import cog_validate

CORNER = [400_000.0, 5_200_000.0]
PLACE = ["--crs", "EPSG:32632", "--origin", "400000,5200000"]


@pytest.fixture(scope="module")
def worlds(built_world, tmp_path_factory):
    """A folder with a world, `nowhere`; the same with a coordinate reference system, `laid`; and the drainage of that."""
    folder = tmp_path_factory.mktemp("maps")
    # Levels, a margin that is cut away, and local levels on top.
    shutil.copytree(built_world("alpine", "--cells", 600), folder / "nowhere")
    thalweg("build", "alpine", "--cells", 600, "--out", "laid", "--quiet", *PLACE, cwd=folder)
    thalweg("drain", "laid/height.tif", "-o", "drained", "--quiet", cwd=folder)
    return folder


def test_every_raster_is_cloud_optimised(worlds):
    files = sorted((worlds / "laid").glob("*.tif"))
    assert len(files) > 3
    for path in files:
        valid, errors, notes = cog_validate(path, quiet=True)
        assert valid and not errors and not notes, (path, errors, notes)
        with rasterio.open(path) as file:
            assert file.overviews(1) == [2] and file.block_shapes == [(512, 512)] and file.descriptions[0], path
    with rasterio.open(worlds / "laid/height.tif") as file:
        heights = file.read(1)
        half = file.read(1, out_shape=(heights.shape[0] // 2, heights.shape[1] // 2))
        assert file.units == ("m",) and file.descriptions == ("height",)
    means = heights.reshape(half.shape[0], 2, half.shape[1], 2).astype(float).mean((1, 3))
    assert np.abs(half - means).max() < 1e-3


def test_classes_keep_their_values_in_overviews(worlds):
    with rasterio.open(worlds / "drained/flow_direction.tif") as file:
        codes = file.read(1)
        half = file.read(1, out_shape=(codes.shape[0] // 2, codes.shape[1] // 2))
    assert file.dtypes == ("uint8",) and np.array_equal(half, codes[::2, ::2])


def test_a_made_world_lies_where_it_is_laid(worlds):
    with rasterio.open(worlds / "laid/height.tif") as laid, rasterio.open(worlds / "nowhere/height.tif") as nowhere:
        assert laid.crs.to_epsg() == 32632 and nowhere.crs is None
        cell = nowhere.transform.a
        assert list(laid.transform)[:6] == [cell, 0.0, CORNER[0], 0.0, -cell, CORNER[1]]
        assert np.array_equal(laid.read(1), nowhere.read(1))
        bounds = laid.bounds
    for ending in ("geojson", "fgb"):
        for name in ("rivers", "lakes"):
            here, there = (worlds / world / f"{name}.{ending}" for world in ("laid", "nowhere"))
            if not here.exists():
                continue
            info, features = pyogrio.read_info(here), geopandas.read_file(here)
            assert info["crs"] == "EPSG:32632", here
            if len(features) == 0:
                assert name != "rivers"
                continue
            west, south, east, north = features.total_bounds
            assert bounds.left <= west <= east <= bounds.right and bounds.bottom <= south <= north <= bounds.top
            moved = geopandas.read_file(there).total_bounds + [*CORNER, *CORNER]
            assert np.allclose(moved, features.total_bounds, atol=1e-6)


def test_no_reader_takes_metres_for_degrees(worlds):
    found = [worlds / f"nowhere/{name}.geojson" for name in ("rivers", "lakes")]
    found = [path for path in found if path.exists()]
    assert found
    for path in found:
        crs = pyogrio.read_info(path)["crs"]
        assert crs.startswith("LOCAL_CS") and 'UNIT["metre",1' in crs and "nowhere on Earth" in crs


def test_a_store_lies_there_too(worlds):
    thalweg("build", "alpine", "--cells", 600, "--out", "laid.zarr", "--quiet", *PLACE, cwd=worlds)
    thalweg("build", "alpine", "--cells", 600, "--out", "part.zarr", "--level", 1, "--rect=1000,2000,3000,5000", "--quiet", *PLACE, cwd=worlds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        store = zarr.open_group(worlds / "laid.zarr", mode="r")
    with rasterio.open(worlds / "laid/height.tif") as file:
        x, y = np.array(store["x"]), np.array(store["y"])
        assert np.allclose(x[[0, -1]], [file.xy(0, 0)[0], file.xy(0, file.width - 1)[0]])
        assert np.allclose(y[[0, -1]], [file.xy(0, 0)[1], file.xy(file.height - 1, 0)[1]])
        assert "32632" in str(dict(store["spatial_ref"].attrs))
    part = zarr.open_group(worlds / "part.zarr", mode="r")
    x, y = np.array(part["x"]), np.array(part["y"])
    cell = x[1] - x[0]
    assert 0 <= 401_000 - (x[0] - cell / 2) < cell and 0 <= (y[0] + cell / 2) - 5_198_000 < cell


@pytest.mark.parametrize("words, said", [
    (["--crs", "EPSG:4326", "--origin", "7,46"], "projected system in metres"),
    (["--crs", "EPSG:3857", "--origin", "0,0"], "not metres on the ground"),
    (["--crs", "EPSG:2276", "--origin", "0,0"], "foot"),
    (["--crs", "EPSG:32632"], "--origin"),
    (["--crs", "EPSG:32632", "--origin", "0,inf"], "inf"),
    (["--crs", "EPSG:32632", "--origin", "0,1e9"], "100000000"),
])
def test_places_that_are_none_are_refused(tmp_path, words, said):
    err = refused("build", "hills", "--cells", 64, "--out", "a", *words, cwd=tmp_path, statuses=(1, 2))
    assert said in err and not (tmp_path / "a").exists(), err


@pytest.mark.parametrize("world, crs", [("laid", "EPSG:32632"), ("nowhere", None)])
def test_lines_and_areas_lie_in_one_geopackage(worlds, world, crs):
    thalweg("export", world, "--for", "gis", "-o", f"gis-{world}", "--quiet", cwd=worlds)
    path = worlds / f"gis-{world}/{world}.gpkg"
    names = sorted(file.stem for file in (worlds / world).glob("*.geojson"))
    assert sorted(pyogrio.list_layers(path)[:, 0]) == names and "rivers" in names
    for name in names:
        packed, text = (geopandas.read_file(file, layer=layer) for file, layer in ((path, name), (worlds / world / f"{name}.geojson", None)))
        assert (packed.crs.to_string() if crs else packed.crs) == crs or "Undefined" in str(packed.crs)
        assert len(packed) == len(text) and packed.is_valid.all()
        if len(text) == 0:
            assert name != "rivers"
            continue
        assert sorted(packed.columns) == sorted(text.columns)
        # Areas are several in the one, one in the other.
        assert all(a.equals(b) for a, b in zip(packed.geometry, text.geometry))
        for column in set(text.columns) - {"geometry"}:
            assert [x for x in packed[column]] == pytest.approx([x for x in text[column]], nan_ok=True) if text[column].dtype.kind in "if" else list(packed[column]) == list(text[column]), column
    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("PRAGMA application_id").fetchone() == (0x47504B47,)


def test_every_map_has_a_style(worlds):
    thalweg("export", "laid", "--for", "gis", "-o", "styled", "--layers", worlds / "drained/flow_direction.tif", "--quiet", cwd=worlds)
    for path in (worlds / "styled").glob("*.tif"):
        style = ElementTree.parse(path.with_suffix(".qml"))
        with rasterio.open(path) as file:
            values = file.read(1, masked=True).compressed()
        kind = style.find("pipe/rasterrenderer").get("type")
        if values.dtype.kind == "f":
            stops = [float(item.get("value")) for item in style.iter("item")]
            assert kind == "singlebandpseudocolor" and stops == sorted(stops)
            assert stops[0] == pytest.approx(values.min()) and stops[-1] == pytest.approx(values.max())
        else:
            entries = {int(entry.get("value")) for entry in style.iter("paletteEntry")}
            assert kind == "paletted" and entries == set(np.unique(values).tolist())
