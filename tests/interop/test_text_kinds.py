"""Elevation models that are not TIFF, in the dialects of other programs: read by thalweg, and by GDAL or NumPy.

Every file is made from a random terrain. Values agree within half a step of thalweg's heights, 1/65 536 m.
"""

import gzip
import json
import random
import zipfile

import numpy as np
import pytest
import rasterio
from helpers import refused, run_thalweg, thalweg

NODATA = -9999.0
#: Half a step of heights, and the rounding of the numbers themselves.
HALF_STEP = 0.5 / 65536 + 1e-9
WEST, SOUTH, CELL = 500_000.0, 4_000_000.0, 30.0


@pytest.fixture
def draw():
    seed = random.getrandbits(48)
    print("seed", seed)
    return np.random.default_rng(seed)


def terrain(draw, rows=None, cols=None, missing=True):
    """Heights with two decimals, some of them missing (NaN)."""
    size = rows or draw.integers(5, 30), cols or draw.integers(5, 30)
    heights = np.round(np.cumsum(draw.normal(0, 5, size), axis=1) + 700, 2)
    if missing:
        heights[draw.random(size) < 0.1] = np.nan
        heights[0, 0], heights[-1, -1], heights[0, -1] = 701.25, 699.5, 700.25
    return heights


def about(path, *options):
    """What `info` finds, as JSON."""
    return json.loads(thalweg("info", path, "--json", *options))


def read(path, *options):
    """The heights as thalweg reads them; NaN where there is no data."""
    size = about(path, *options)
    out = path.parent / "read.tif"
    thalweg("crop", path, "-o", out, "--window", f"0,0,{size['columns']},{size['rows']}", "--type", "f64", "--quiet", *options)
    with rasterio.open(out) as file:
        return file.read(1, masked=True).filled(np.nan)


def check(path, heights, *options):
    found = read(path, *options)
    assert found.shape == heights.shape
    np.testing.assert_array_equal(np.isnan(found), np.isnan(heights))
    np.testing.assert_allclose(found, heights, rtol=0, atol=HALF_STEP)


def by_gdal(path):
    """The values, the transform and the value for no data that GDAL reads."""
    with rasterio.open(path) as file:
        return file.read(1, masked=True).astype(float).filled(np.nan), list(file.transform.to_gdal()), file.nodata


def check_place(path, transform, *options):
    np.testing.assert_allclose(about(path, *options)["transform"], transform, rtol=1e-12)


# ESRI ASCII grids


def ascii_grid(heights, nodata="-9999", word="-9999", corner="corner", decimal=".", end="\n", header=None):
    rows, cols = heights.shape
    shift = CELL / 2 if corner == "center" else 0
    lines = [f"ncols {cols}", f"nrows {rows}", f"xll{corner} {WEST + shift:.2f}", f"yll{corner} {SOUTH + shift:.2f}", f"cellsize {CELL:.2f}"]
    lines += [f"NODATA_value {nodata}"] if nodata is not None else []
    lines = header(lines) if header else lines
    lines += [" ".join(word if np.isnan(height) else f"{height:.2f}" for height in row) for row in heights]
    return (end.join(lines) + end).replace(".", decimal) if decimal != "." else end.join(lines) + end


DIALECTS = {
    "plain": {},
    "mac": {"end": "\r"},
    "windows": {"end": "\r\n"},
    "centre": {"corner": "center"},
    "null": {"nodata": "null", "word": "null"},
    "nan": {"nodata": "nan", "word": "nan"},
    "word": {"nodata": "NA", "word": "NA"},
    "unnamed": {"nodata": None},
    "empty": {"nodata": ""},
    "windows nan": {"word": "1.#QNAN"},
    "indefinite": {"word": "-1.#IND00"},
    "minus nan": {"word": "-nan"},
    "comma": {"decimal": ","},
    "upper": {"header": lambda lines: [line.upper() for line in lines[::-1]]},
    "tabs": {"header": lambda lines: [line.replace(" ", "\t") for line in lines]},
    "dx": {"header": lambda lines: [*lines[:4], f"dx {CELL}", f"dy {CELL}", *lines[5:]]},
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_dialects_of_ascii_grids(tmp_path, draw, dialect):
    heights = terrain(draw)
    (tmp_path / "plain.asc").write_text(ascii_grid(heights), newline="")
    values, transform, nodata = by_gdal(tmp_path / "plain.asc")
    np.testing.assert_allclose(values, heights, rtol=1e-6)  # GDAL reads 32-bit floats
    assert nodata == NODATA
    path = tmp_path / "dem.asc"
    path.write_text(ascii_grid(heights, **DIALECTS[dialect]), newline="")
    check(path, heights)
    check_place(path, transform)


def test_marks_lines_and_exponents(tmp_path, draw):
    heights = terrain(draw)
    path = tmp_path / "dem.asc"
    path.write_bytes(b"\xef\xbb\xbf" + ascii_grid(heights).encode())
    check(path, heights)
    # Values broken over lines, in scientific notation.
    header = ascii_grid(heights).splitlines()[:6]
    words = [f"{NODATA if np.isnan(height) else height:.8e}" for height in heights.ravel()]
    broken = [" ".join(words[k : k + 7]) for k in range(0, len(words), 7)]
    path.write_text("\n".join([*header, *broken]))
    check(path, heights)
    for change, counts in ((words[:-1], f"{heights.size - 1} of {heights.size}"), (words + words[:2], f"{heights.size + 2} numbers")):
        path.write_text("\n".join([*header, *change]))
        assert counts in refused("info", path)


def test_commas_that_may_be_thousands_are_refused(tmp_path):
    path = tmp_path / "dem.asc"
    path.write_text("ncols 2\nnrows 1\ncellsize 10\n1,250 2,500\n")
    assert "`1,250`" in refused("info", path)
    path.write_text("ncols 2\nnrows 1\ncellsize 10.5\n1,25 2,5\n")
    assert "`10.5`" in refused("info", path)


def test_oblong_cells_keep_both_sides(tmp_path, draw):
    heights = terrain(draw, missing=False)
    path = tmp_path / "dem.asc"
    path.write_text(ascii_grid(heights, header=lambda lines: [*lines[:4], "dx 30", "dy 20"]))
    check_place(path, by_gdal(path)[1])


@pytest.mark.parametrize("cell", [1 / 12, 0.25, 0.5, 1.0, 0.001])
def test_degrees_without_a_system(tmp_path, draw, cell):
    heights = terrain(draw, 9, 8)
    path = tmp_path / "dem.asc"
    text = ascii_grid(heights).splitlines()
    path.write_text("\n".join([*text[:2], "xllcorner 10", "yllcorner 45", f"cellsize {cell}", *text[5:]]))
    said = about(path)
    assert "degrees" in said.get("problem", "") + " ".join(said.get("warnings", []))
    assert said.get("crs") == "EPSG:4326"
    # As metres, if they are meant.
    if cell >= 0.02:
        assert about(path, "--unit", "metre").get("crs") is None
        check(path, heights, "--unit", "metre")
    # A .prj beside the file decides.
    (tmp_path / "dem.prj").write_text(rasterio.crs.CRS.from_epsg(32632).to_wkt(version="WKT1_ESRI"))
    assert about(path).get("crs") == "EPSG:32632"


@pytest.mark.parametrize("epsg", [32632, 26911, 25832, 2056, 4326, 4258])
@pytest.mark.parametrize("version", ["WKT1_GDAL", "WKT1_ESRI", "WKT2_2019"])
def test_the_prj_beside_a_grid(tmp_path, draw, epsg, version):
    path = tmp_path / "dem.asc"
    path.write_text(ascii_grid(terrain(draw)))
    (tmp_path / "dem.prj").write_text(rasterio.crs.CRS.from_epsg(epsg).to_wkt(version=version))
    # ESRI's spelling has no codes; only the names of the usual systems are known.
    assert about(path).get("crs") == (None if version == "WKT1_ESRI" and epsg == 2056 else f"EPSG:{epsg}")


def test_the_keywords_of_old_programs(tmp_path, draw):
    path = tmp_path / "dem.asc"
    path.write_text(ascii_grid(terrain(draw)))
    (tmp_path / "dem.prj").write_text("Projection    UTM\nDatum         NAD83\nZone          11\nUnits         METERS\n")
    assert about(path).get("crs") == "EPSG:26911"


# Points


def points(heights, draw, order="rows"):
    """The points of a grid: x, y, z; those that are missing are left out."""
    rows, cols = np.indices(heights.shape)
    x, y = WEST + CELL * cols, SOUTH + CELL * (heights.shape[0] - 1 - rows)
    table = np.column_stack([x.ravel(), y.ravel(), heights.ravel()])
    table = table[~np.isnan(table[:, 2])]
    return {"rows": table, "columns": table[np.lexsort((table[:, 1], table[:, 0]))], "random": draw.permutation(table)}[order]


@pytest.mark.parametrize("order", ["rows", "columns", "random"])
@pytest.mark.parametrize("separator", [" ", "\t", ",", ";", ", "])
@pytest.mark.parametrize("head", ["", "x{0}y{0}z\n", "# made by a program\n\nLon{0}Lat{0}Elevation\n", '"X"{0}"Y"{0}"Height"\n'])
@pytest.mark.parametrize("ending", ["xyz", "txt", "csv"])
def test_points_of_a_grid(tmp_path, draw, order, separator, head, ending):
    heights = terrain(draw)
    path = tmp_path / f"dem.{ending}"
    lines = [separator.join([f"{x:.1f}", f"{y:.1f}", f"{z:.2f}"]) for x, y, z in points(heights, draw, order)]
    path.write_text(head.format(separator) + "\n".join(lines) + "\n")
    check(path, heights)
    (tmp_path / "plain.xyz").write_text("".join(f"{x} {y} {z}\n" for x, y, z in points(np.where(np.isnan(heights), NODATA, heights), draw)))
    values, transform, _ = by_gdal(tmp_path / "plain.xyz")
    np.testing.assert_allclose(np.where(values == NODATA, np.nan, values), heights, rtol=1e-6)
    check_place(path, transform)


def test_columns_by_their_names(tmp_path, draw):
    heights = terrain(draw)
    path = tmp_path / "dem.csv"
    path.write_text("id;Elevation;Northing;class;Easting\n" + "".join(f"{k};{z};{y};2;{x}\n" for k, (x, y, z) in enumerate(points(heights, draw, "random"))))
    check(path, heights)
    # Decimal commas between semicolons or spaces.
    path.write_text("".join(f"{x:.1f};{y:.1f};{z:.2f}\n".replace(".", ",") for x, y, z in points(heights, draw)))
    check(path, heights)
    path.write_text(ascii_grid(heights))  # as ArcGIS exports it
    (tmp_path / "dem.txt").write_text(ascii_grid(heights))
    check(tmp_path / "dem.txt", heights)


def test_points_off_a_grid_are_named(tmp_path, draw):
    path = tmp_path / "dem.xyz"
    table = points(terrain(draw, missing=False), draw)
    text = "".join(f"{x} {y} {z}\n" for x, y, z in table)
    path.write_text(text + f"{table[0][0]} {table[0][1]} 5\n")
    assert f"line {len(table) + 1}" in refused("info", path)
    path.write_text(text + f"{table[0][0] + 7} {table[0][1]} 5\n")
    message = refused("info", path)
    assert f"line {len(table) + 1}" in message and "gdal_grid" in message
    path.write_text("".join(f"{x} {y} 1\n" for x, y in draw.random((500, 2))))
    assert "gdal_grid" in refused("info", path)
    path.write_text("0 0 1\n1 1 1\n1e8 1e8 1\n")
    assert "gdal_grid" in refused("info", path)


# SRTM


def test_thin_tiles_have_oblong_cells(tmp_path, draw):
    for rows, cols, name in [(3601, 1801, "N61E010.hgt"), (1201, 1201, "s33w070.hgt"), (3601, 3601, "N00E006.hgt")]:
        path = tmp_path / name
        np.zeros((rows, cols), ">i2").tofile(path)
        _, transform, nodata = by_gdal(path)
        assert nodata == -32768
        check_place(path, transform, "--cell-size", "30")
        path.unlink()
    heights = np.round(terrain(draw, 49, 25))
    tile = np.where(np.isnan(heights), -32768, heights).astype(">i2").tobytes()
    with zipfile.ZipFile(tmp_path / "n61e010.hgt.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("N61E010.hgt", tile)
    (tmp_path / "N61E010.hgt.gz").write_bytes(gzip.compress(tile))
    (tmp_path / "NASADEM_HGT_n61e010.hgt").write_bytes(tile)
    for path in sorted(tmp_path.glob("*61*")):
        check(path, heights, "--cell-size", "30")
        check_place(path, [10 - 1 / 48, 1 / 24, 0, 62 + 1 / 96, 0, -1 / 48], "--cell-size", "30")


# Binary


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("ending, dtype", [("r16", "u2"), ("raw", "u2"), ("r32", "f4"), ("f32", "f4")])
def test_headerless_files_of_any_shape(tmp_path, draw, order, ending, dtype):
    heights = terrain(draw, 32, 64, missing=False).astype(order + dtype)
    path = tmp_path / f"dem.{ending}"
    heights.tofile(path)
    message = refused("info", path)
    for word in ("--raw-cells", "--byte-order", '"rows"', '"byte_order"', "2048"):
        assert word in message
    options = ["--raw-cells", "64x32", "--byte-order", "big" if order == ">" else "little", "--cell-size", "10"]
    check(path, heights.astype(float), *options, *(["--height", "0,65535"] if dtype == "u2" else []))
    assert "64 × 31" in refused("info", path, "--raw-cells", "64x31")


def test_sizes_only_apply_to_headerless_files(tmp_path, draw):
    path = tmp_path / "dem.asc"
    path.write_text(ascii_grid(terrain(draw)))
    assert "--raw-cells" in refused("info", path, "--raw-cells", "5x5")


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int16", "uint32", "int32", "float32"])
def test_grids_with_a_header_of_esri(tmp_path, draw, dtype):
    heights = np.round(terrain(draw))
    nodata = 0 if dtype.startswith("u") else -9999
    data = np.where(np.isnan(heights), nodata, heights - (600 if dtype == "uint8" else 0)).astype(dtype)
    path = tmp_path / "dem.bil"
    rows, cols = data.shape
    transform = rasterio.transform.from_origin(WEST, SOUTH, CELL, CELL)
    with rasterio.open(path, "w", driver="EHdr", width=cols, height=rows, count=1, dtype=dtype, crs="EPSG:32632", transform=transform, nodata=nodata) as file:
        file.write(data, 1)
    values, place, _ = by_gdal(path)
    check(path, values)
    check_place(path, place)
    assert about(path).get("crs") == "EPSG:32632"


@pytest.mark.parametrize("layout", ["BIL", "BIP", "BSQ"])
@pytest.mark.parametrize("order", ["I", "M"])
def test_layouts_of_several_bands(tmp_path, draw, layout, order):
    bands = np.round(np.stack([terrain(draw, 9, 7, missing=False) + 100 * band for band in range(3)]))
    moved = {"BIL": (1, 0, 2), "BIP": (1, 2, 0), "BSQ": (0, 1, 2)}[layout]
    path = tmp_path / "dem.bil"
    path.write_bytes(b"skip" + bands.transpose(moved).astype("<i2" if order == "I" else ">i2").tobytes())
    (tmp_path / "dem.hdr").write_text(
        f"BYTEORDER {order}\nLAYOUT {layout}\nNROWS 9\nNCOLS 7\nNBANDS 3\nNBITS 16\nPIXELTYPE SIGNEDINT\nSKIPBYTES 4\n"
        f"ULXMAP {WEST}\nULYMAP {SOUTH}\nXDIM {CELL}\nYDIM {CELL}\n"
    )
    values, transform, _ = by_gdal(path)
    np.testing.assert_array_equal(values, bands[0])
    check(path, values)
    check_place(path, transform)


def test_float_grids_of_arcgis(tmp_path, draw):
    heights = terrain(draw)
    path = tmp_path / "dem.flt"
    np.where(np.isnan(heights), NODATA, heights).astype("<f4").tofile(path)
    header = ascii_grid(heights).splitlines()[:6]
    (tmp_path / "dem.hdr").write_text("\n".join([*header, "byteorder LSBFIRST"]))
    values, transform, _ = by_gdal(path)
    check(path, values)
    check_place(path, transform)
    (tmp_path / "dem.hdr").unlink()
    assert "dem.hdr" in refused("info", path)


@pytest.mark.parametrize("dtype", ["<i8", ">i8", "<u8", "<f2", ">f2", "i1", "u1", ">i4", "<u4", ">f8"])
@pytest.mark.parametrize("fortran", [False, True])
def test_arrays_of_numpy(tmp_path, draw, dtype, fortran):
    heights = np.round(terrain(draw, missing=False))
    if dtype in ("i1", "u1"):
        heights = heights % 100
    data = heights.astype(dtype)
    path = tmp_path / "dem.npy"
    np.save(path, np.asfortranarray(data) if fortran else data)
    scale = ["--height", "0,255"] if dtype == "u1" else []
    check(path, data.astype(float), "--cell-size", "10", *scale)


def test_arrays_that_are_refused(tmp_path, draw):
    heights = terrain(draw, missing=False)
    np.save(tmp_path / "mask.npy", heights > 700)
    assert "bool" in refused("info", tmp_path / "mask.npy")
    np.savez(tmp_path / "dem.npz", heights=heights)
    message = refused("info", tmp_path / "dem.npz")
    # The line of the message converts the file.
    code = message.split('python -c "')[1].split('"`')[0]
    exec(code, {})
    np.testing.assert_array_equal(np.load(tmp_path / "dem.npy"), heights)


# Zarr


def stored(tmp_path, draw, name="dem.zarr", dims=("y", "x"), dtype="f4", version=3, **options):
    """Writes a group with an array and its coordinates; returns its path and the heights."""
    zarr = pytest.importorskip("zarr", minversion="3")
    heights = np.round(terrain(draw, missing=False)) % (100 if dtype == "i1" else 10_000)
    rows, cols = heights.shape
    axes = {"y": SOUTH - CELL * np.arange(rows), "x": WEST + CELL * np.arange(cols)}
    order = [0 if dim == "y" else 1 for dim in dims if dim in "yx"]
    data = heights.astype(dtype).transpose(order).reshape([{"y": rows, "x": cols}.get(dim, 1) for dim in dims])
    group = zarr.open_group(tmp_path / name, mode="w", zarr_format=version)
    for label, values, names in [("height", data, dims), *((axis, axes[axis], (axis,)) for axis in "yx")]:
        more = options if label == "height" else {}
        more = {"chunks": tuple(max(1, n // 2) for n in values.shape), **more}
        if version == 3:
            more["dimension_names"] = names
        array = group.create_array(label, shape=values.shape, dtype=values.dtype, **more)
        array[...] = values
        if version == 2:
            array.attrs["_ARRAY_DIMENSIONS"] = list(names)
    return tmp_path / name, heights


def check_stored(path, heights):
    check(path, heights)
    check_place(path, [WEST - CELL / 2, CELL, 0, SOUTH + CELL / 2, 0, -CELL])


@pytest.mark.parametrize("dims", [("y", "x"), ("x", "y"), ("time", "y", "x"), ("y", "band", "x"), ("x", "y", "band"), ("band", "time", "x", "y")])
@pytest.mark.parametrize("version", [2, 3])
def test_axes_of_zarr_arrays(tmp_path, draw, dims, version):
    check_stored(*stored(tmp_path, draw, dims=dims, version=version))


@pytest.mark.parametrize("dtype", ["i1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", ">i2", ">f4"])
@pytest.mark.parametrize("version", [2, 3])
def test_types_of_zarr_arrays(tmp_path, draw, dtype, version):
    if version == 3 and dtype.startswith(">"):
        pytest.skip("version 3 has the byte order in a codec")
    path, heights = stored(tmp_path, draw, dtype=dtype, version=version, fill_value=-1 if dtype[-2] in "if" else 1)
    if dtype == "u2":
        heights = heights / 65535 * 1000  # codes without a scale
    check(path, heights)


@pytest.mark.parametrize("compressor", ["none", "zlib", "gzip", "zstd", "lz4", *(f"blosc-{name}-{n}" for name in ("lz4", "lz4hc", "blosclz", "zlib", "zstd") for n in range(3))])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shuffle", [False, True])
def test_codecs_of_version_2(tmp_path, draw, compressor, order, shuffle):
    numcodecs = pytest.importorskip("numcodecs")
    kind, *details = compressor.split("-")
    codec = {
        "none": lambda: None,
        "zlib": lambda: numcodecs.Zlib(5),
        "gzip": lambda: numcodecs.GZip(5),
        "zstd": lambda: numcodecs.Zstd(3),
        "lz4": numcodecs.LZ4,
        "blosc": lambda: numcodecs.Blosc(details[0], 5, int(details[1])),
    }[kind]()
    filters = [numcodecs.Shuffle(4)] if shuffle else None
    path, heights = stored(tmp_path, draw, version=2, order=order, compressors=codec, filters=filters)
    check_stored(path, heights)


@pytest.mark.parametrize("codec", ["blosc", "zstd", "gzip", "none"])
@pytest.mark.parametrize("shards", [False, True])
@pytest.mark.parametrize("dims", [("y", "x"), ("time", "x", "y")])
def test_codecs_of_version_3(tmp_path, draw, codec, shards, dims):
    zarr = pytest.importorskip("zarr", minversion="3")
    compressors = {"blosc": zarr.codecs.BloscCodec(), "zstd": zarr.codecs.ZstdCodec(), "gzip": zarr.codecs.GzipCodec(), "none": None}[codec]
    chunks = tuple(3 if dim in "yx" else 1 for dim in dims)
    sharding = {"shards": tuple(6 if dim in "yx" else 1 for dim in dims)} if shards else {}
    path, heights = stored(tmp_path, draw, dims=dims, compressors=compressors, chunks=chunks, **sharding)
    check_stored(path, heights)


def test_fill_values_of_version_2_are_no_data(tmp_path, draw):
    path, heights = stored(tmp_path, draw, version=2, fill_value=-9999, chunks=(5, 5))
    (path / "height/0.0").unlink()
    heights[:5, :5] = np.nan
    check_stored(path, heights)


def test_codecs_and_axes_that_are_refused(tmp_path, draw):
    numcodecs = pytest.importorskip("numcodecs")
    path, _ = stored(tmp_path, draw, version=2, compressors=numcodecs.BZ2())
    assert "`bz2`" in refused("info", path)
    zarr = pytest.importorskip("zarr", minversion="3")
    many = zarr.open_array(tmp_path / "many.zarr", mode="w", shape=(2, 5, 6), dtype="f4", zarr_format=3)
    many[...] = 1
    assert "[2, 5, 6]" in refused("info", tmp_path / "many.zarr")


# Formats that are not read


@pytest.mark.parametrize("name", ["dem.nc", "dem.h5", "dem.grib2", "dem.img", "dem.gpkg", "dem.dem", "a b.jp2"])
def test_other_formats_name_the_command(tmp_path, name):
    (tmp_path / name).write_bytes(b"any bytes")
    message = refused("info", name, cwd=tmp_path)
    quoted = f"'{name}'" if " " in name else name
    assert f"gdal_translate {quoted} " in message and ".tif" in message


def test_contents_count_more_than_endings(tmp_path, draw):
    for driver, ending in [("netCDF", "nc"), ("HFA", "img"), ("GPKG", "gpkg")]:
        try:
            with rasterio.open(tmp_path / f"dem.{ending}", "w", driver=driver, width=5, height=5, count=1, dtype="uint8") as file:
                file.write(np.ones((5, 5), "uint8"), 1)
        except rasterio.errors.RasterioError:
            continue  # this GDAL does not write it
        (tmp_path / "dem.asc").write_bytes((tmp_path / f"dem.{ending}").read_bytes())
        assert "gdal_translate" in refused("info", tmp_path / "dem.asc")


def test_hostile_bytes_are_answered(tmp_path, draw):
    """Any bytes in any ending are read or refused, without a panic."""
    plain = ascii_grid(terrain(draw)).encode()
    for ending in ("asc", "xyz", "csv", "hgt", "hgt.gz", "hgt.zip", "bil", "npy", "r16"):
        (tmp_path / "dem.hdr").write_bytes(draw.bytes(100))
        for data in (b"", draw.bytes(300), plain[: draw.integers(len(plain))], plain.replace(b"1", b",")):
            path = tmp_path / f"dem.{ending}"
            path.write_bytes(data)
            done = run_thalweg("info", path)
            assert done.returncode in (0, 1) and "panicked" not in done.stderr
