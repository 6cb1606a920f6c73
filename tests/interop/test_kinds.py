"""Elevation models of every kind that GDAL writes: what the command reads of them against GDAL's masked array.

Each kind is made from random terrains by GDAL (rasterio). A file is read as a whole by `info` and `crop`, and in
windows by `drain` into a store.
"""

import json

import numpy as np
import pyogrio
import pytest
import rasterio
import rasterio.shutil
import rasterio.windows
import zarr
from helpers import refused, run_thalweg, thalweg
from rasterio.transform import Affine

CRS = "EPSG:32632"
PLACE = Affine(10, 0, 500_000, 0, -10, 5_100_000)
#: A projected system that has no code.
LCC = "+proj=lcc +lat_1=45 +lat_2=49 +lat_0=47 +lon_0=11 +x_0=500000 +datum=WGS84"
#: A height in fixed point is off by half a step at most.
STEP = 0.5 / 65_536


def land(seed, shape=(45, 60), dtype="float32"):
    """Hills between 400 and 1600 m, which no integer type rounds to another height."""
    random = np.random.default_rng(seed)
    i, j = np.mgrid[: shape[0], : shape[1]]
    hills = 1000 + 500 * np.sin(i / 9 + random.random()) * np.cos(j / 7) + random.normal(0, 30, shape)
    return np.round(hills.clip(400, 1600)).astype(dtype)


def write(path, *bands, crs=CRS, transform=PLACE, **profile):
    rows, cols = bands[0].shape
    options = {"dtype": bands[0].dtype, "crs": crs, "transform": transform, "count": len(bands)} | profile
    with rasterio.open(path, "w", driver="GTiff", width=cols, height=rows, **options) as file:
        for k, band in enumerate(bands):
            file.write(band, k + 1)
    return path


def masked(path):
    """The heights as GDAL reads them, in metres and with row 0 in the north, and where there are none."""
    with rasterio.open(path) as file:
        values = file.read(1, masked=True)
        metres = values.astype(float) * file.scales[0] + file.offsets[0]
        if file.transform.e > 0:
            metres = metres[::-1]
        return metres


def read_windows(path, folder, *words):
    """The heights that a store of the same file holds."""
    thalweg("drain", path, "-o", folder / "store.zarr", "--quiet", *words)
    heights = zarr.open(folder / "store.zarr", mode="r")["height"][:]
    none = np.iinfo(heights.dtype).min
    return np.ma.masked_equal(heights, none) / 65_536.0


def info(path, *words):
    return json.loads(thalweg("info", path, "--json", *words))


def same_as_gdal(path, folder, *words):
    """Compares the heights and the cells without any; returns the warnings of the command."""
    expected = masked(path)
    mask = np.ma.getmaskarray(expected)
    found = info(path, *words)
    assert "problem" not in found, found
    assert found["nodata_cells"] == mask.sum()
    assert found["lowest_m"] == pytest.approx(expected.min(), abs=STEP)
    assert found["highest_m"] == pytest.approx(expected.max(), abs=STEP)
    assert found["mean_m"] == pytest.approx(expected.mean(), abs=1e-3)
    crop, transform, crs, _ = crop_all(path, folder, *words)
    np.testing.assert_array_equal(np.ma.getmaskarray(crop), mask)
    np.testing.assert_allclose(crop.compressed(), expected.compressed(), rtol=0, atol=STEP)
    with rasterio.open(path) as file:
        assert crs == file.crs
        west, north = file.bounds.left, max(file.bounds.top, file.bounds.bottom)
        assert (transform.c, transform.f) == pytest.approx((west, north), abs=0.1)
        assert transform.e == -abs(file.transform.e)
    windows = read_windows(path, folder, *words)
    np.testing.assert_array_equal(np.ma.getmaskarray(windows), mask)
    np.testing.assert_allclose(windows.compressed(), expected.compressed(), rtol=0, atol=STEP)
    return found["warnings"]


def crop_all(path, folder, *words):
    """All cells as the command writes them with `crop`, as 64-bit floats."""
    with rasterio.open(path) as file:
        window = f"0,0,{file.width},{file.height}"
    done = run_thalweg("crop", path, "--window", window, "--type", "f64", "-o", folder / "crop.tif", "--quiet", *words)
    assert done.returncode == 0, done.stderr
    with rasterio.open(folder / "crop.tif") as file:
        return file.read(1, masked=True), file.transform, file.crs, done.stderr


LAYOUTS = {
    "strips": {},
    "tiles": {"tiled": True, "blockxsize": 16, "blockysize": 32, "compress": "deflate"},
    "planes": {"interleave": "band", "compress": "lzw", "predictor": 2},
    "big": {"BIGTIFF": "YES", "ENDIANNESS": "BIG"},
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["uint16", "uint8"])
def test_alpha_bands_are_masks(tmp_path, layout, dtype):
    """Outside a circle alpha and heights are 0; somewhere alpha is small, which is data all the same."""
    heights = land(1, dtype="uint16") if dtype == "uint16" else (land(1) / 8).astype("uint8")
    i, j = np.mgrid[: heights.shape[0], : heights.shape[1]]
    outside = (i - 22) ** 2 + (j - 30) ** 2 > 400
    alpha = np.where(outside, 0, np.iinfo(dtype).max).astype(dtype)
    alpha[20:24, 20:30] = np.iinfo(dtype).max // 2
    path = write(
        tmp_path / "alpha.tif", np.where(outside, 0, heights).astype(dtype), alpha, ALPHA="YES", **LAYOUTS[layout]
    )
    with rasterio.open(path, "r+") as file:
        file.scales, file.offsets = [1.0, 1.0], [100.0, 0.0]
    warnings = same_as_gdal(path, tmp_path)
    assert any(f"mask that excludes {outside.sum()} cells" in warning for warning in warnings), warnings


def test_alpha_of_floats_is_a_mask_too(tmp_path):
    """GDAL's dataset mask looks at the alpha band whatever its type is."""
    heights, alpha = land(2), np.ones((45, 60), "float32")
    alpha[:9] = 0
    path = write(tmp_path / "alpha.tif", heights, alpha, ALPHA="YES", compress="deflate")
    with rasterio.open(path) as file:
        holes = file.dataset_mask() == 0
    crop, *_ = crop_all(path, tmp_path)
    np.testing.assert_array_equal(np.ma.getmaskarray(crop), alpha == 0)
    assert holes.sum() in (0, (alpha == 0).sum())


def test_alpha_of_a_cloud_optimised_file(tmp_path):
    """With overviews and tiles; the band in between is not read."""
    heights = land(3, (600, 700), "uint16")
    alpha = np.full(heights.shape, 65_535, "uint16")
    alpha[100:400, 200:300] = 0
    write(tmp_path / "a.tif", heights, alpha, ALPHA="YES")
    rasterio.shutil.copy(tmp_path / "a.tif", tmp_path / "cog.tif", driver="COG", blocksize=256, overviews="AUTO")
    with rasterio.open(tmp_path / "cog.tif", "r+", IGNORE_COG_LAYOUT_BREAK="YES") as file:
        file.scales, file.offsets = [2.0, 1.0], [0.0, 0.0]
    same_as_gdal(tmp_path / "cog.tif", tmp_path)


@pytest.mark.parametrize("nodata", [None, -9999.0])
@pytest.mark.parametrize("layout", [{}, {"compress": "deflate"}, {"tiled": True, "blockxsize": 16, "blockysize": 16}])
def test_absent_blocks(tmp_path, nodata, layout):
    """Only some windows are written, so that the other blocks are absent."""
    path = tmp_path / "sparse.tif"
    heights = land(4, (300, 260))
    more = {"blockysize": 8} if "tiled" not in layout else {}
    with rasterio.open(
        path,
        "w",
        driver="GTiff",
        width=260,
        height=300,
        count=1,
        dtype="float32",
        crs=CRS,
        transform=PLACE,
        nodata=nodata,
        SPARSE_OK=True,
        **layout,
        **more,
    ) as file:
        window = (
            rasterio.windows.Window(0, 32, 260, 64)
            if "tiled" not in layout
            else rasterio.windows.Window(32, 32, 64, 64)
        )
        file.write(heights[32:96, : window.width], 1, window=window)
    assert path.stat().st_size < heights.nbytes / 2
    same_as_gdal(path, tmp_path)


def test_absent_blocks_of_a_mask(tmp_path):
    heights = land(5, (300, 260))
    with (
        rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True),
        rasterio.open(
            tmp_path / "a.tif",
            "w",
            driver="GTiff",
            width=260,
            height=300,
            count=1,
            dtype="float32",
            crs=CRS,
            transform=PLACE,
            tiled=True,
            blockxsize=64,
            blockysize=64,
            SPARSE_OK=True,
        ) as file,
    ):
        file.write(heights, 1)
        mask = np.zeros(heights.shape, "uint8")
        mask[:100, :100] = 255
        file.write_mask(mask)
    same_as_gdal(tmp_path / "a.tif", tmp_path)


@pytest.mark.parametrize(
    "dtype, low", [("int8", -100), ("int64", -3000), ("uint64", 0), ("int32", -3000), ("float64", -3000)]
)
@pytest.mark.parametrize("layout", [{}, {"compress": "deflate", "predictor": 2}, {"ENDIANNESS": "BIG"}])
def test_sample_types(tmp_path, dtype, low, layout):
    if dtype == "float64" and "predictor" in layout:
        layout = layout | {"predictor": 3}
    values = np.random.default_rng(6).integers(low, 100 if dtype == "int8" else 8000, (45, 60)).astype(dtype)
    values[3, 4] = low
    path = write(tmp_path / "a.tif", values, nodata=low, **layout)
    same_as_gdal(path, tmp_path)


@pytest.mark.parametrize(
    "layout", [{}, {"compress": "deflate", "predictor": 3}, {"tiled": True, "compress": "lzw", "ENDIANNESS": "BIG"}]
)
def test_half_floats(tmp_path, layout):
    path = write(tmp_path / "a.tif", land(7) / 3, NBITS=16, **layout)
    with rasterio.open(path) as file:
        assert (file.read(1) != land(7) / 3).any(), "the file holds half floats"
    same_as_gdal(path, tmp_path)


def test_values_that_are_no_heights_are_refused_with_their_cell(tmp_path):
    values = land(8, dtype="int64")
    values[7, 9] = 40_000
    said = refused("crop", write(tmp_path / "a.tif", values), "--window", "0,0,9,9", "-o", tmp_path / "b.tif")
    assert "40000 m at row 7, column 9" in said, said


@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_rows_from_south_to_north(tmp_path, dtype):
    heights = land(9, (130, 90), dtype)
    heights[:11, 5:50] = -9999
    path = write(tmp_path / "a.tif", heights, transform=Affine(10, 0, 500_000, 0, 10, 5_000_000), nodata=-9999)
    same_as_gdal(path, tmp_path)


def test_a_negative_height_of_pixels_is_honoured(tmp_path):
    """GDAL does so with an option only, and otherwise takes the first row as the northernmost."""
    heights = land(9)
    path = write(tmp_path / "a.tif", heights)
    data, scale = path.read_bytes(), np.array([10, 10, 0], "<f8").tobytes()
    assert data.count(scale) == 1
    path.write_bytes(data.replace(scale, np.array([10, -10, 0], "<f8").tobytes()))
    with rasterio.Env(GTIFF_HONOUR_NEGATIVE_SCALEY="YES"):
        same_as_gdal(path, tmp_path)
    assert any("GTIFF_HONOUR_NEGATIVE_SCALEY" in warning for warning in info(path)["warnings"])


def test_a_tiny_skew_is_none(tmp_path):
    heights = land(10)
    for skew, reads in [(1e-15, True), (1e-3, True), (0.003, False)]:
        path = write(tmp_path / "a.tif", heights, transform=Affine(10, skew, 500_000, skew, -10, 5_100_000))
        if reads:
            crop, transform, *_ = crop_all(path, tmp_path)
            np.testing.assert_allclose(crop, heights, atol=STEP)
            assert (transform.b, transform.d) == (0, 0)
        else:
            assert "rotated" in info(path)["problem"]


@pytest.mark.parametrize(
    "values", [[-32768, -9999], [-99999.0, 1e20], [-3.4028234663852886e38, 32767, -9999], [65535, 2147483647]]
)
def test_undeclared_stand_ins_are_all_found(tmp_path, values):
    heights = land(11)
    random = np.random.default_rng(12)
    places = random.permutation(heights.size)
    counts = {}
    for k, value in enumerate(values):
        heights.flat[places[: 3 + k]] = value
        counts[value], places = 3 + k, places[3 + k :]
    path = write(tmp_path / "a.tif", heights)
    found = info(path)
    assert found["nodata_cells"] == sum(counts.values()) and found["lowest_m"] >= 400, found
    for value, count in counts.items():
        word = f"{np.float32(value):.0f}" if abs(value) < 1e15 else f"e{int(np.log10(abs(value)))}"
        assert any(
            word in warning and f"in {count} cells" in warning and "--only-declared-nodata" in warning
            for warning in found["warnings"]
        ), (value, found["warnings"])
    windows = read_windows(path, tmp_path)
    assert np.ma.getmaskarray(windows).sum() == sum(counts.values())
    assert "heights must be" in info(path, "--only-declared-nodata")["problem"]


def test_real_heights_are_not_taken_away(tmp_path):
    """A trench whose deepest cell happens to have −9999 m."""
    heights = land(13)
    heights[20] = np.linspace(-10_500, -500, 60)
    heights[20, 30] = -9999
    found = info(write(tmp_path / "a.tif", heights))
    assert found["nodata_cells"] == 0 and found["warnings"] == [] and found["lowest_m"] == -10_500
    found = info(tmp_path / "a.tif", "--nodata", "-9999")
    assert found["nodata_cells"] == 1


def test_given_values_are_no_data(tmp_path):
    heights = land(14)
    heights[2:4], heights[9, :7], heights[30] = 0, -1, -9999
    path = write(tmp_path / "a.tif", heights, nodata=-9999)
    for words in (["--nodata", "0,-1"], ["--nodata", "0", "--nodata", "-1"]):
        assert info(path, *words)["nodata_cells"] == 120 + 7 + 60
    for verb in (
        ["drain", path, "-o", tmp_path / "d"],
        ["export", path, "--for", "gis", "-o", tmp_path / "e"],
        ["apply", "thermal", path, "-o", tmp_path / "t.tif"],
        ["measure", path],
        ["mesh", path, "-o", tmp_path / "m.glb"],
    ):
        thalweg(*verb, "--nodata", "0,-1", "--quiet")
    with rasterio.open(tmp_path / "t.tif") as file:
        assert np.ma.getmaskarray(file.read(1, masked=True)).sum() == 187


@pytest.mark.parametrize("text", ["0", "0,1", "nan", "inf", "metres"])
@pytest.mark.parametrize("item", ["scale", "offset"])
def test_scales_without_sense_are_refused(tmp_path, text, item):
    if (item, text) == ("offset", "0"):
        pytest.skip("an offset of 0 is usual")
    path = write(tmp_path / "a.tif", land(15, dtype="int16"))
    band = f'<PAMRasterBand band="1"><{item.title()}>{text}</{item.title()}></PAMRasterBand>'
    (tmp_path / "a.tif.aux.xml").write_text(f"<PAMDataset>{band}</PAMDataset>")
    said = refused("drain", path, "-o", tmp_path / "out")
    assert f"the {item} `{text}`" in said and "a.tif.aux.xml" in said, said


def test_sensible_scales_are_applied(tmp_path):
    path = write(tmp_path / "a.tif", land(16, dtype="int16"))
    with rasterio.open(path, "r+") as file:
        file.scales, file.offsets = [0.25], [-30.0]
    same_as_gdal(path, tmp_path)


@pytest.mark.parametrize("ending", ["tif", "npy", "asc"])
def test_floats_from_0_to_1_are_doubted(tmp_path, ending):
    shares = (land(17) - 400) / 1200
    path = tmp_path / f"a.{ending}"
    if ending == "tif":
        write(path, shares)
    elif ending == "npy":
        np.save(path, shares)
    else:
        rows = "\n".join(" ".join(map(str, row)) for row in shares)
        path.write_text(f"ncols 60\nnrows 45\nxllcorner 0\nyllcorner 0\ncellsize 10\n{rows}\n")
    assert any("--height MIN,MAX" in warning for warning in info(path)["warnings"])
    found = info(path, "--height", "400,1600")
    assert not any("--height" in warning for warning in found["warnings"]) and found["highest_m"] > 1000


WORLD = "10\n0\n0\n-10\n500005\n5099995\n"


@pytest.mark.parametrize("name", ["a.tfw", "a.tifw", "a.wld", "a.TFW"])
def test_world_files(tmp_path, name):
    with pytest.warns(rasterio.errors.NotGeoreferencedWarning):
        path = write(tmp_path / "a.tif", land(18), crs=None, transform=Affine.identity())
    (tmp_path / name).write_text(WORLD)
    same_as_gdal(path, tmp_path)
    assert info(path)["transform"] == list(PLACE.to_gdal())
    # A projection next to it, which GDAL reads for other formats.
    for version in ("WKT1_GDAL", "WKT1_ESRI", "WKT2_2019"):
        (tmp_path / "a.prj").write_text(rasterio.CRS.from_string(CRS).to_wkt(version=version))
        assert info(path)["crs"] == CRS, version


def test_auxiliary_files_take_precedence(tmp_path):
    """Over the file's own system, position, nodata and scale, and over a world file."""
    heights = land(19, dtype="int16")
    heights[:5] = -7
    heights[5] = -5
    path = write(tmp_path / "a.tif", heights, nodata=-5)
    (tmp_path / "a.tfw").write_text("1\n0\n0\n-1\n0\n0\n")
    wkt = rasterio.CRS.from_epsg(25832).to_wkt().replace('"', "&quot;")
    (tmp_path / "a.tif.aux.xml").write_text(
        f"<PAMDataset><SRS>{wkt}</SRS><GeoTransform>600000, 20, 0, 5200000, 0, -20</GeoTransform>"
        '<PAMRasterBand band="1"><NoDataValue>-7</NoDataValue><Scale>0.5</Scale><Offset>3</Offset>'
        "<UnitType>m</UnitType></PAMRasterBand></PAMDataset>"
    )
    same_as_gdal(path, tmp_path)
    assert info(path)["crs"] == "EPSG:25832"


def test_sidecars_that_gdal_writes(tmp_path):
    """An `.aux.xml` and a world file of GDAL's own for a PNG, whose nodata value is transparent."""
    codes = land(20, dtype="uint16")
    with rasterio.open(
        tmp_path / "a.png",
        "w",
        driver="PNG",
        width=60,
        height=45,
        count=1,
        dtype="uint16",
        crs=CRS,
        transform=PLACE,
        nodata=700,
        WORLDFILE="YES",
    ) as file:
        codes[3] = 700
        file.write(codes, 1)
    with rasterio.open(tmp_path / "a.png") as file:
        expected = file.transform, file.crs, file.nodata
    found = info(tmp_path / "a.png", "--height", "0,65535")
    assert found["transform"] == list(expected[0].to_gdal()) and found["crs"] == CRS == expected[1].to_string()
    assert found["nodata_cells"] == (codes == 700).sum()


@pytest.mark.parametrize(
    "name, text, word",
    [
        ("a.tif.aux.xml", "<PAMDataset><SRS>PROJCS", "XML"),
        ("a.tif.aux.xml", "", "XML"),
        ("a.tif.aux.xml", '<!DOCTYPE a [<!ENTITY b "b">]><PAMDataset>&b;</PAMDataset>', "XML"),
        ("a.tif.aux.xml", "<PAMDataset><SRS>PROJCS[&quot;x&quot;,</SRS></PAMDataset>", "truncated"),
        ("a.tif.aux.xml", "<PAMDataset><GeoTransform>1, 2, 3</GeoTransform></PAMDataset>", "six numbers"),
        (
            "a.tif.aux.xml",
            '<PAMDataset><PAMRasterBand band="1"><NoDataValue>x</NoDataValue></PAMRasterBand></PAMDataset>',
            "`x`",
        ),
        ("a.tfw", "10\n0\n0\n", "3 words"),
        ("a.tfw", "10 0 0 -10 x 5", "`x`"),
        ("a.prj", 'PROJCS["x",GEOGCS[', "truncated"),
    ],
)
def test_broken_sidecars_are_named(tmp_path, name, text, word):
    with pytest.warns(rasterio.errors.NotGeoreferencedWarning):
        path = write(tmp_path / "a.tif", land(21), crs=None, transform=Affine.identity())
    (tmp_path / name).write_text(text)
    said = refused("drain", path, "-o", tmp_path / "out")
    assert name in said and word in said, said


def test_void_and_empty_rasters(tmp_path):
    path = write(tmp_path / "a.tif", np.full((5, 6), -9999, "float32"), nodata=-9999)
    assert "no data" in refused("drain", path, "-o", tmp_path / "out")
    (tmp_path / "b.tif").write_bytes(b"")
    assert "empty" in refused("drain", tmp_path / "b.tif", "-o", tmp_path / "out")
    alpha = write(tmp_path / "c.tif", land(22, dtype="uint16"), np.zeros((45, 60), "uint16"), ALPHA="YES")
    assert "no data" in refused("drain", alpha, "-o", tmp_path / "out")
    with rasterio.open(
        tmp_path / "d.tif",
        "w",
        driver="GTiff",
        width=60,
        height=45,
        count=1,
        dtype="float32",
        crs=CRS,
        transform=PLACE,
        nodata=0,
        SPARSE_OK=True,
    ):
        pass
    assert "no data" in refused("drain", tmp_path / "d.tif", "-o", tmp_path / "out")


SYSTEMS = [LCC + " +units=m", "+proj=eck4 +lon_0=10 +datum=WGS84 +units=m", "EPSG:7415", "ESRI:102014"]


@pytest.mark.parametrize("crs", SYSTEMS)
@pytest.mark.parametrize("place", ["inside", "aux.xml", "prj"])
def test_systems_without_a_code_are_kept(tmp_path, crs, place):
    """In every GeoTIFF that is written, wherever the system was read from."""
    crs = rasterio.CRS.from_string(crs)
    path = write(tmp_path / "a.tif", land(23), crs=crs if place == "inside" else None)
    if place == "aux.xml":
        wkt = crs.to_wkt().replace("&", "&amp;").replace("<", "&lt;")
        (tmp_path / "a.tif.aux.xml").write_text(f"<PAMDataset><SRS>{wkt}</SRS></PAMDataset>")
    elif place == "prj":
        (tmp_path / "a.prj").write_text(crs.to_wkt(version="WKT2_2019"))
    _, _, found, _ = crop_all(path, tmp_path)
    assert found == crs, (found.to_wkt(), crs.to_wkt())
    done = run_thalweg("drain", path, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    for file in (tmp_path / "out").glob("*.tif"):
        with rasterio.open(file) as raster:
            assert raster.crs == crs, file
    # Lines have no vertical system.
    kept = [crs, rasterio.CRS.from_epsg(28992)] if crs == rasterio.CRS.from_epsg(7415) else [crs]
    for file in (tmp_path / "out").glob("*.fgb"):
        found = rasterio.CRS.from_user_input(pyogrio.read_info(file)["crs"])
        assert found in kept, file
        assert file.name not in done.stderr
    thalweg("drain", path, "-o", tmp_path / "out.zarr", "--quiet")
    attributes = zarr.open(tmp_path / "out.zarr", mode="r")["spatial_ref"].attrs
    found = rasterio.CRS.from_user_input(attributes["spatial_ref"])
    assert found in kept
    # A file that cannot hold the system is named once.
    for file in (tmp_path / "out").glob("*.geojson"):
        assert done.stderr.count(f"{file.name} is written without a coordinate reference system") <= 1, done.stderr


@pytest.mark.parametrize("place", ["inside", "pe", "aux.xml", "prj"])
def test_feet_of_systems_without_a_code_are_found(tmp_path, place):
    crs = rasterio.CRS.from_string(LCC + " +units=us-ft")
    more = {"GEOTIFF_KEYS_FLAVOR": "ESRI_PE"} if place == "pe" else {}
    path = write(tmp_path / "a.tif", land(24), crs=crs if place in ("inside", "pe") else None, **more)
    if place == "aux.xml":
        wkt = crs.to_wkt(version="WKT2_2019").replace("&", "&amp;").replace("<", "&lt;")
        (tmp_path / "a.tif.aux.xml").write_text(f"<PAMDataset><SRS>{wkt}</SRS></PAMDataset>")
    elif place == "prj":
        (tmp_path / "a.prj").write_text(crs.to_wkt(version="WKT1_ESRI"))
    said = refused("drain", path, "-o", tmp_path / "out")
    assert "foot" in said.lower() and "--unit metre" in said, said
