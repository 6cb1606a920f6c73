"""`info` against GDAL's view of the same files: values, and the sources that it names for them."""

import json

import jsonschema
import numpy as np
import OpenEXR
import pytest
import rasterio
from helpers import JACKSBORO, run_thalweg, thalweg
from PIL import Image
from rasterio.transform import from_origin

COMPRESSIONS = {
    None: "none", "deflate": "Deflate", "lzw": "LZW", "packbits": "PackBits", "zstd": "Zstandard", "lerc": "LERC",
}
PREDICTORS = {1: "", 2: ", horizontal differences", 3: ", floating-point predictor"}


@pytest.fixture(scope="module")
def schema():
    schema = json.loads(thalweg("schema", "info"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


def info(schema, path, *words):
    facts = json.loads(thalweg("info", path, "--json", *words))
    jsonschema.validate(facts, schema)
    # A source belongs to a fact.
    assert set(facts["sources"]) <= set(facts), facts
    return facts


def came_from(facts, name):
    return facts["sources"][name]["from"], facts["sources"][name].get("detail")


@pytest.mark.parametrize("seed", range(24))
def test_random_geotiffs_are_understood_as_gdal_does(tmp_path, schema, seed):
    random = np.random.default_rng(seed)
    pick = lambda *words: words[random.integers(len(words))]
    rows, cols = (int(n) for n in random.integers(20, 200, 2))
    dtype = pick("int16", "int32", "uint16", "float32", "float64")
    compress = pick(*COMPRESSIONS)
    heights = random.integers(0, 900, (rows, cols)).astype(dtype)
    epsg, cell = int(pick(32632, 25832, 2154, 3035)), float(random.integers(1, 90))
    options = {"compress": compress} if compress else {}
    predictor = 1
    if compress in ("deflate", "lzw", "zstd"):
        predictor = int(pick(1, 2, 3) if dtype.startswith("float") else pick(1, 2))
        options["predictor"] = predictor
    tiled = bool(random.integers(2))
    options |= {"tiled": True, "blockxsize": 32, "blockysize": 64} if tiled else {}
    scaled, point, masked = (bool(n) for n in random.integers(0, 2, 3))
    nodata = None if masked else 7.0
    path = tmp_path / "a.tif"
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(
        path, "w", driver="GTiff", width=cols, height=rows, count=1, dtype=dtype, nodata=nodata, crs=f"EPSG:{epsg}",
        transform=from_origin(500000, 4000000, cell, cell), **options,
    ) as file:
        file.write(heights, 1)
        file.update_tags(AREA_OR_POINT="Point" if point else "Area")
        file.units = ["m"]
        if scaled:
            file.scales, file.offsets = [0.25], [-10.0]
        if masked:
            file.write_mask(heights % 5 > 0)
    facts = info(schema, path)
    assert "problem" not in facts, facts
    with rasterio.open(path) as file:
        assert (facts["rows"], facts["columns"]) == file.shape and facts["format"] == "TIFF"
        np.testing.assert_allclose(facts["transform"], file.transform.to_gdal(), rtol=0, atol=1e-9)
        assert facts["crs"] == f"EPSG:{file.crs.to_epsg()}"
        # GDAL's citation is the name of the system.
        assert facts["crs_name"].split("|")[0] in file.crs.to_wkt()
        assert facts["pixel"] == file.tags()["AREA_OR_POINT"].lower()
        assert facts.get("nodata") == file.nodata
        assert (facts.get("scale", 1.0), facts.get("offset", 0.0)) == (file.scales[0], file.offsets[0])
        assert facts["unit"] == file.units[0]
        bits = np.dtype(dtype).itemsize * 8
        kind = {"i": "signed integers", "u": "unsigned integers", "f": "floats"}[np.dtype(dtype).kind]
        assert facts["stored_samples"] == f"{kind} of {bits} bits"
        assert facts["samples"] == f"{np.dtype(dtype).kind}{bits}"
        assert facts["compression"] == COMPRESSIONS[compress] + PREDICTORS[predictor]
        block = file.block_shapes[0]
        kind = "tiles" if tiled else "strips"
        assert facts["layout"] == f"{kind} of {block[1]} × {block[0]} samples (columns × rows)"
        metres = file.read(1, masked=True).astype(float) * file.scales[0] + file.offsets[0]
    assert (facts["lowest_m"], facts["highest_m"]) == (metres.min(), metres.max())
    assert facts["mean_m"] == pytest.approx(metres.mean(), abs=1e-5)
    assert facts["nodata_cells"] == metres.mask.sum() and facts["nodata_share"] == pytest.approx(metres.mask.mean())
    assert ("mask" in facts) == masked and facts.get("masked_cells", 0) == (metres.mask.sum() if masked else 0)
    assert facts["cell_size_m"] == cell and facts["cell_size"] == [cell, cell] and facts["coordinate_unit"] == "metre"
    for name in ("transform", "crs", "pixel", "unit", "compression", "cell_size_m", "vertical_unit"):
        assert came_from(facts, name)[0] == "file", (name, facts["sources"])


def test_sources_of_what_a_picture_does_not_state(tmp_path, schema):
    Image.fromarray(np.arange(600, dtype="uint16").reshape(20, 30)).save(tmp_path / "a.png")
    facts = info(schema, tmp_path / "a.png")
    assert came_from(facts, "cell_size_m")[0] == came_from(facts, "height_scale")[0] == "default"
    facts = info(schema, tmp_path / "a.png", "--cell-size", "25", "--height", "0,65535")
    assert came_from(facts, "cell_size_m") == ("option", "cell_size") and facts["cell_size_m"] == 25
    assert came_from(facts, "height_scale") == ("option", "height") and facts["height_scale"] == [1, 0]
    about = {"minimum": 100, "maximum": 300, "cell_size": 5, "rows": 20, "columns": 30, "sample": "u16", "nodata": 599}
    (tmp_path / "a.png.json").write_text(json.dumps(about))
    facts = info(schema, tmp_path / "a.png")
    for name in ("cell_size_m", "height_scale", "nodata", "vertical_unit"):
        kind, file = came_from(facts, name)
        assert kind == "sidecar" and file.endswith("a.png.json"), (name, facts["sources"])
    assert facts["nodata"] == 599 and facts["nodata_cells"] == 1


def test_headerless_samples_and_names(tmp_path, schema):
    np.arange(400, dtype="<u2").tofile(tmp_path / "a.r16")
    facts = info(schema, tmp_path / "a.r16")
    assert came_from(facts, "rows") == ("guess", "the number of samples is a square")
    assert came_from(facts, "samples")[0] == came_from(facts, "format")[0] == "name"
    (np.arange(1201 * 1201).reshape(1201, 1201) % 900).astype(">i2").tofile(tmp_path / "S05W118.hgt")
    facts = info(schema, tmp_path / "S05W118.hgt")
    assert came_from(facts, "transform")[0] == "name" and facts["crs"] == "EPSG:4326" and facts["pixel"] == "point"


def test_guessed_nodata_has_its_count(tmp_path, schema):
    heights = np.full((30, 20), 500.0, "float32")
    heights[:3, :7] = -9999
    profile = {"driver": "GTiff", "width": 20, "height": 30, "count": 1, "dtype": "float32", "crs": "EPSG:32632"}
    with rasterio.open(tmp_path / "a.tif", "w", transform=from_origin(5e5, 4e6, 10, 10), **profile) as file:
        file.write(heights, 1)
    facts = info(schema, tmp_path / "a.tif")
    assert facts["nodata_guess"] == [{"value": -9999, "cells": 21}] and "nodata" not in facts
    assert came_from(facts, "nodata_guess")[0] == "guess"
    # A mask in a file of its own.
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=False), rasterio.open(tmp_path / "a.tif", "r+") as file:
        file.write_mask(heights > 0)
    facts = info(schema, tmp_path / "a.tif")
    kind, path = came_from(facts, "mask")
    assert kind == "sidecar" and path.endswith("a.tif.msk") and facts["masked_cells"] == 21


def test_files_next_to_a_raster_are_named(tmp_path, schema):
    Image.fromarray(np.arange(600, dtype="uint16").reshape(20, 30)).save(tmp_path / "a.png")
    (tmp_path / "a.pgw").write_text("10\n0\n0\n-10\n500005\n3999995\n")
    (tmp_path / "a.prj").write_text(rasterio.crs.CRS.from_epsg(32633).to_wkt())
    band = "<NoDataValue>17</NoDataValue><Scale>0.5</Scale><UnitType>m</UnitType>"
    auxiliary = f"<PAMDataset><PAMRasterBand band=\"1\">{band}</PAMRasterBand></PAMDataset>"
    (tmp_path / "a.png.aux.xml").write_text(auxiliary)
    facts = info(schema, tmp_path / "a.png")
    with rasterio.open(tmp_path / "a.png") as file:
        assert facts["transform"] == list(file.transform.to_gdal()) and facts["nodata"] == file.nodata == 17
        assert facts["scale"] == file.scales[0] == 0.5 and facts["unit"] == file.units[0]
    assert facts["crs"] == "EPSG:32633"
    for name, ending in (("transform", "a.pgw"), ("crs", "a.prj"), ("nodata", "a.png.aux.xml"), ("unit", "a.png.aux.xml")):
        kind, path = came_from(facts, name)
        assert kind == "sidecar" and path.endswith(ending), (name, path)
    assert came_from(facts, "cell_size_m") == came_from(facts, "transform")
    facts = info(schema, tmp_path / "a.png", "--nodata", "5")
    assert facts["nodata_given"] == [5] and came_from(facts, "nodata_given") == ("option", "nodata")
    assert facts["nodata_cells"] == 2


def test_exr_states_its_coding(tmp_path, schema):
    heights = np.arange(600, dtype="float16").reshape(20, 30)
    tiles = OpenEXR.TileDescription()
    tiles.xSize, tiles.ySize = 16, 8
    header = {"compression": OpenEXR.PIZ_COMPRESSION, "type": OpenEXR.tiledimage, "tiles": tiles}
    with OpenEXR.File(header, {"Y": heights, "A": heights}) as file:
        file.write(str(tmp_path / "a.exr"))
    facts = info(schema, tmp_path / "a.exr")
    assert (facts["compression"], facts["layout"]) == ("PIZ", "tiles of 16 × 8 samples (columns × rows)")
    assert (facts["stored_samples"], facts["samples"]) == ("floats of 16 bits", "f32")
    assert facts["channel"] == "Y of 2 channels" and came_from(facts, "channel") == ("guess", "its name")


def test_a_store_states_its_coding(tmp_path, schema):
    thalweg("crop", JACKSBORO, "-o", tmp_path / "a.zarr", "--window", "0,0,100,90")
    facts = info(schema, tmp_path / "a.zarr")
    about = json.loads((tmp_path / "a.zarr/height/zarr.json").read_text())
    rows, columns = about["chunk_grid"]["configuration"]["chunk_shape"]
    assert facts["format"] == "Zarr" and facts["layout"] == f"chunks of {columns} × {rows} samples (columns × rows)"
    assert facts["stored_samples"] == about["data_type"] and "zstd" in facts["compression"]


def test_the_table_has_every_fact_with_its_source(schema):
    facts = info(schema, JACKSBORO)
    table = thalweg("info", JACKSBORO).splitlines()
    for name in set(facts) - {"sources", "warnings"}:
        line = next((line for line in table if line.startswith(name.replace("_", " ") + " ")), None)
        assert line, name
        source = facts["sources"].get(name)
        if source and source["from"] == "file" and "detail" in source:
            assert line.endswith(source["detail"]), line


def test_an_unusable_file_is_described_all_the_same(tmp_path, schema):
    profile = {"driver": "GTiff", "width": 20, "height": 30, "count": 1, "dtype": "float32", "crs": "EPSG:2227"}
    with rasterio.open(tmp_path / "a.tif", "w", transform=from_origin(6e6, 2e6, 10, 10), **profile) as file:
        file.write(np.ones((30, 20), "float32"), 1)
    facts = info(schema, tmp_path / "a.tif")
    assert "foot" in facts["problem"] and facts["crs"] == "EPSG:2227" and facts["rows"] == 30
    facts = info(schema, tmp_path / "a.tif", "--unit", "metre")
    assert came_from(facts, "vertical_unit") == came_from(facts, "coordinate_unit") == ("option", "unit")
    assert any("foot" in words for words in facts["units_overridden"])
    assert run_thalweg("info", tmp_path / "none.tif").returncode == 1
