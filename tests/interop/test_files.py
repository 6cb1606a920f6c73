"""Files read and written by independent programs: GDAL (rasterio), NumPy and Pillow against thalweg.

The counterpart is crates/thalweg/examples/interop.rs.
"""

import json
import pathlib

import numpy as np
import OpenEXR
import pytest
import rasterio
from helpers import JACKSBORO, read_band, run_example, run_thalweg
from PIL import Image

NODATA = -9999.0


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("interop")
    run_example("INTEROP", "interop", "write", folder, JACKSBORO)
    expected = json.loads((folder / "expected.json").read_text())
    size = expected["rows"], expected["columns"]
    metres = np.array(expected["metres"]).reshape(size)
    nodata = np.array(expected["nodata"]).reshape(size)
    return folder, metres, nodata


def sidecar(path):
    return json.loads(pathlib.Path(f"{path}.json").read_text())


def decoded(codes, about):
    """Metres from codes, by the sidecar's rule."""
    full = np.iinfo(codes.dtype).max
    return about["minimum"] + codes.astype(float) / full * (about["maximum"] - about["minimum"])


@pytest.mark.parametrize("name, dtype", [("f32.tif", "float32"), ("f64.tif", "float64")])
def test_geotiff_in_gdal(written, name, dtype):
    folder, metres, nodata = written
    with rasterio.open(folder / name) as file, rasterio.open(JACKSBORO) as real:
        assert file.dtypes == (dtype,)
        assert file.crs.to_epsg() == 32616 and file.crs == real.crs
        assert file.transform == real.transform
        assert file.nodata == NODATA
        assert file.tags()["AREA_OR_POINT"] == real.tags()["AREA_OR_POINT"] == "Area"
        expected = np.where(nodata, NODATA, metres).astype(dtype)
        np.testing.assert_array_equal(file.read(1), expected)
        np.testing.assert_array_equal(file.read_masks(1) == 0, nodata)


def test_geotiff_without_crs_keeps_its_cells(written):
    folder, metres, _ = written
    with rasterio.open(folder / "local_f64.tif") as file:
        assert file.crs is None
        assert file.transform == rasterio.Affine(2.5, 0, 0, 0, -2.5, 0)
        assert file.nodata is None
        np.testing.assert_array_equal(file.read(1), metres)


@pytest.mark.parametrize("name", ["u16.tif", "u16.png", "u8.png", "u16.r16"])
@pytest.mark.parametrize("prefix", ["", "local_"])
def test_codes_decode_by_the_sidecar(written, prefix, name):
    folder, metres, nodata = written
    path = folder / (prefix + name)
    about = sidecar(path)
    rows, columns = metres.shape
    assert (about["rows"], about["columns"]) == (rows, columns)
    assert about["cell_size"] == (2.5 if prefix else 90.0)
    if name.endswith("r16"):
        codes = np.fromfile(path, "<u2").reshape(rows, columns)
    elif name.endswith("png"):
        image = Image.open(path)
        assert image.mode == ("L" if name.startswith("u8") else "I;16")
        codes = np.array(image)
    else:
        codes = rasterio.open(path).read(1)
    assert codes.dtype == name.split(".")[0].replace("u", "uint")
    valid = np.ones_like(nodata) if prefix else ~nodata
    if prefix:
        assert "nodata" not in about
    else:
        np.testing.assert_array_equal(codes == about["nodata"], nodata)
    assert codes.max() == np.iinfo(codes.dtype).max
    step = (about["maximum"] - about["minimum"]) / np.iinfo(codes.dtype).max
    # half a code, and the rounding of the numbers themselves
    assert np.abs(decoded(codes, about) - metres)[valid].max() <= 0.5 * step + 1e-9


def test_engines_decode_to_metres(written):
    """The engines' own rules, as their manuals give them, on the codes."""
    folder, metres, _ = written
    path = folder / "local_u16.r16"
    about = sidecar(path)
    codes = np.fromfile(path, "<u2").reshape(metres.shape).astype(float)
    allowed = (about["maximum"] - about["minimum"]) / 65535  # a code
    unreal, unity, godot = (about["engines"][name] for name in ("unreal", "unity", "godot"))
    z = ((codes - 32768) / 128 * unreal["scale_z"] + unreal["location_z"]) / 100
    assert np.abs(z - metres).max() <= allowed
    assert unreal["scale_xy"] == 250.0
    assert np.abs(codes / 65536 * unity["terrain_height"] + unity["position_y"] - metres).max() <= allowed
    assert unity["terrain_width"] == 2.5 * (metres.shape[1] - 1)
    assert godot["size"] == [metres.shape[1], metres.shape[0]]


def test_floats_elsewhere(written):
    folder, metres, nodata = written
    expected = np.where(nodata, NODATA, metres)
    np.testing.assert_array_equal(np.load(folder / "f64.npy"), expected)
    np.testing.assert_array_equal(np.load(folder / "f32.npy"), expected.astype("f4"))
    np.testing.assert_array_equal(np.fromfile(folder / "f32.r32", "<f4").reshape(metres.shape), expected.astype("f4"))
    with rasterio.open(folder / "f64.asc") as file, rasterio.open(JACKSBORO) as real:
        assert file.nodata == NODATA
        assert np.allclose(file.transform, real.transform, rtol=1e-12)
        # GDAL reads the grid as f32 unless told otherwise
        np.testing.assert_allclose(file.read(1), expected, rtol=1e-6)
    text = np.loadtxt(folder / "f64.asc", skiprows=6)
    np.testing.assert_array_equal(text, expected)


LAYOUTS = [
    dict(),
    dict(tiled=True, blockxsize=16, blockysize=32),
    dict(BIGTIFF="YES", ENDIANNESS="BIG"),
    dict(ENDIANNESS="BIG", tiled=True, blockxsize=64, blockysize=16),
    dict(blockysize=3),
    dict(blockysize=1000),
]


@pytest.mark.parametrize("compress", [None, "deflate", "lzw", "packbits", "zstd", "lerc", "lerc_deflate", "lerc_zstd"])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "float64"])
def test_gdals_geotiffs_are_read(tmp_path, compress, dtype):
    path = tmp_path / "a.tif"
    random = np.random.default_rng(1)
    info = np.iinfo(dtype) if np.issubdtype(dtype, np.integer) else None
    smooth = np.add.outer(np.arange(70) * 2, np.arange(45))
    noise = random.integers(info.min, info.max, (70, 45), endpoint=True) if info else random.normal(0, 1e3, (70, 45))
    predictors = [1] if compress not in ("deflate", "lzw", "zstd") else [1, 2] if info else [1, 2, 3]
    for predictor in predictors:
        for layout in LAYOUTS:
            for bands, interleave in [(1, "band"), (2, "pixel"), (2, "band")]:
                for values in (smooth % 128, noise):
                    values = values.astype(dtype)
                    options = dict(layout, interleave=interleave, photometric="MINISBLACK")
                    if compress:
                        options["compress"] = compress
                    if predictor > 1:
                        options["predictor"] = predictor
                    transform = rasterio.Affine(5, 0, 1000.5, 0, -5, 2000.25)
                    with rasterio.open(path, "w", driver="GTiff", width=45, height=70, count=bands, dtype=dtype,
                                       crs="EPSG:32616", transform=transform, nodata=7, **options) as file:
                        for band in range(bands):
                            file.write(values if band == 0 else values * 0, band + 1)
                    found = json.loads(run_example("INTEROP", "interop", "read", path))
                    # GDAL loses a float in a thousand of a big-endian LERC file: one that, its bytes swapped, is no number.
                    kept = read_band(path)
                    assert (kept == values).mean() > 0.99 and (str(compress).startswith("lerc") or (kept == values).all())
                    np.testing.assert_array_equal(np.array(found["values"]).reshape(70, 45), kept.astype(float))
                    assert found["transform"] == [1000.5, 5, 0, 2000.25, 0, -5]
                    assert found["nodata"] == 7


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_lerc_with_holes_and_losses(tmp_path, dtype):
    path = tmp_path / "a.tif"
    values = np.random.default_rng(2).normal(500, 100, (90, 130)).astype(dtype)
    values[20:40, 50:90] = np.nan
    values[60:] = np.linspace(0, 1, 130)
    for options in (dict(compress="lerc"), dict(compress="lerc_zstd", max_z_error=0.25), dict(compress="lerc_deflate", tiled=True, blockxsize=64, blockysize=64)):
        with rasterio.open(path, "w", driver="GTiff", width=130, height=90, count=1, dtype=dtype, nodata=np.nan, crs="EPSG:32616",
                           transform=rasterio.Affine(5, 0, 1000.5, 0, -5, 2000.25), **options) as file:
            file.write(values, 1)
        expected = read_band(path)
        found = np.array([np.nan if x is None else x for x in json.loads(run_example("INTEROP", "interop", "read", path))["values"]]).reshape(90, 130)
        np.testing.assert_array_equal(found, expected.astype(float))
        assert abs(np.nan_to_num(found - values)).max() <= options.get("max_z_error", 0)


def test_gdals_band_scale_unit_and_points_are_read(tmp_path):
    path = tmp_path / "a.tif"
    transform = rasterio.Affine(5, 0, 1000, 0, -5, 2000)
    with rasterio.open(path, "w", driver="GTiff", width=2, height=1, count=1, dtype="int16", crs="EPSG:32616",
                       transform=transform) as file:
        file.write(np.array([[[1, 2]]], "int16"))
        file.scales, file.offsets, file.units = [0.1], [-5.0], ["ft"]
        file.update_tags(AREA_OR_POINT="Point")
    found = json.loads(run_example("INTEROP", "interop", "read", path))
    assert (found["scale"], found["unit"]) == ([0.1, -5.0], "ft")
    assert found["transform"] == [1000, 5, 0, 2000, 0, -5]


@pytest.mark.parametrize("mode, values", [("L", [[0, 7], [128, 255]]), ("I;16", [[0, 300], [40000, 65535]])])
def test_pillows_pngs_and_numpys_arrays_are_read(tmp_path, mode, values):
    array = np.array(values, "uint8" if mode == "L" else "uint16")
    Image.fromarray(array).save(tmp_path / "a.png")
    Image.fromarray(array.astype("uint8")).convert("RGBA").save(tmp_path / "rgba.png")
    assert json.loads(run_example("INTEROP", "interop", "read", tmp_path / "a.png"))["values"] == array.ravel().tolist()
    assert json.loads(run_example("INTEROP", "interop", "read", tmp_path / "rgba.png"))["values"] == array.astype("uint8").ravel().tolist()
    for dtype in ["u1", "<u2", ">u2", "<i2", ">i4", "<f4", ">f8"]:
        for order in "CF":
            stored = np.array(array % 100, dtype=dtype, order=order)
            np.save(tmp_path / "a.npy", stored)
            assert json.loads(run_example("INTEROP", "interop", "read", tmp_path / "a.npy"))["values"] == stored.ravel().tolist()


EXR_TILES = OpenEXR.TileDescription()
EXR_TILES.xSize, EXR_TILES.ySize = 16, 8
EXR_SIZE = 37, 53


def exr_heights(dtype):
    """Heights that every compression keeps: multiples of 4, which have no more than 8 bits that differ."""
    i, j = np.mgrid[0:37, 0:53]
    return (100 + 8 * i + 4 * j).astype(dtype)


def read_by_us(path):
    found = json.loads(run_example("INTEROP", "interop", "read", path))
    return np.array(found["values"]).reshape(found["rows"], found["columns"])


@pytest.mark.parametrize("tiles", [None, EXR_TILES], ids=["lines", "tiles"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "uint32"])
@pytest.mark.parametrize("compression", ["NO", "RLE", "ZIPS", "ZIP", "PIZ", "PXR24", "B44", "B44A"])
def test_exr_of_its_makers(tmp_path, compression, dtype, tiles):
    heights = exr_heights(dtype)
    header = {"compression": getattr(OpenEXR, f"{compression}_COMPRESSION")}
    header |= {"type": OpenEXR.tiledimage, "tiles": tiles} if tiles else {"type": OpenEXR.scanlineimage}
    # Channels before and after the heights, of other types.
    others = {"A": np.ones(EXR_SIZE, "float16"), "depth": np.zeros(EXR_SIZE, "float32")}
    with OpenEXR.File(header, {"Y": heights} | others) as file:
        file.write(str(tmp_path / "theirs.exr"))
    with OpenEXR.File(str(tmp_path / "theirs.exr")) as file:
        expected = file.channels()["Y"].pixels.astype(float)
    if not (compression.startswith("B44") and dtype == "float16"):  # B44 keeps six bits of each difference
        np.testing.assert_array_equal(expected, heights)
    np.testing.assert_array_equal(read_by_us(tmp_path / "theirs.exr"), expected)


@pytest.mark.parametrize("compression", ["DWAA", "DWAB", "HTJ2K256", "HTJ2K32"])
def test_exr_of_compressions_that_are_not_read(tmp_path, compression):
    header = {"compression": getattr(OpenEXR, f"{compression}_COMPRESSION"), "type": OpenEXR.scanlineimage}
    with OpenEXR.File(header, {"Y": exr_heights("float32")}) as file:
        file.write(str(tmp_path / "theirs.exr"))
    done = run_thalweg("measure", "theirs.exr", cwd=tmp_path)
    name = "HTJ2K" if compression.startswith("HTJ2K") else compression
    assert done.returncode == 1 and f"is compressed by {name}, which is not supported" in done.stderr
    assert "oiiotool in.exr --compression zip -o out.exr" in done.stderr


def test_exr_of_several_parts_and_of_a_window(tmp_path):
    heights = exr_heights("float32")
    colours = {"R": heights * 0, "G": heights * 0, "B": heights * 0}
    picture = OpenEXR.Part({"type": OpenEXR.scanlineimage, "compression": OpenEXR.ZIP_COMPRESSION}, colours, "picture")
    tiled = {"type": OpenEXR.tiledimage, "tiles": EXR_TILES, "compression": OpenEXR.PIZ_COMPRESSION}
    with OpenEXR.File([picture, OpenEXR.Part(tiled, {"height": heights}, "ground")]) as file:
        file.write(str(tmp_path / "parts.exr"))
    np.testing.assert_array_equal(read_by_us(tmp_path / "parts.exr"), heights)
    # A picture whose window does not begin at 0, with its rows stored from the south.
    corners = [np.array([-7, 5], "int32"), np.array([-7 + 52, 5 + 36], "int32")]
    header = {"type": OpenEXR.scanlineimage, "compression": OpenEXR.ZIP_COMPRESSION, "dataWindow": tuple(corners),
              "lineOrder": OpenEXR.DECREASING_Y}
    with OpenEXR.File(header, {"Y": heights}) as file:
        file.write(str(tmp_path / "window.exr"))
    np.testing.assert_array_equal(read_by_us(tmp_path / "window.exr"), heights)
    # Colours alone: red is read, with a warning.
    with OpenEXR.File(header, {"R": heights, "G": heights * 0, "B": heights * 0}) as file:
        file.write(str(tmp_path / "red.exr"))
    np.testing.assert_array_equal(read_by_us(tmp_path / "red.exr"), heights)
    said = run_thalweg("info", "red.exr", "--json", cwd=tmp_path)
    assert any("R is read" in warning for warning in json.loads(said.stdout)["warnings"])


def test_exr_of_ours_in_that_of_its_makers(tmp_path):
    heights = exr_heights("float32")
    np.save(tmp_path / "a.npy", heights)
    done = run_thalweg("resample", "a.npy", "-o", "ours.exr", "--cells", "53x37", "--cell-size", "5", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with OpenEXR.File(str(tmp_path / "ours.exr")) as file:
        back = file.channels()["Y"].pixels
        assert back.dtype == np.float32 and file.header()["compression"] == OpenEXR.ZIP_COMPRESSION
        np.testing.assert_array_equal(back, heights)
    assert sidecar(tmp_path / "ours.exr")["cell_size"] == 5
    np.testing.assert_array_equal(read_by_us(tmp_path / "ours.exr"), heights)
