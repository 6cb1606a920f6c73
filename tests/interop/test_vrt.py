"""Virtual rasters: what we read of them against what GDAL (rasterio) reads, and against the same cells in one file."""

import json

import numpy as np
import pytest
import rasterio
import rasterio.shutil
from helpers import program, refused, run, run_example, run_thalweg, thalweg, write_raster

CRS = "EPSG:32632"


def read(path):
    found = json.loads(run_example("INTEROP", "interop", "read", path))
    values = np.array([np.nan if x is None else x for x in found["values"]], float)
    return values, found


def place(row, col, cell=10.0):
    return rasterio.Affine(cell, 0, 5e5 + col * cell, 0, -cell, 5.1e6 - row * cell)


def write(path, values, row=0, col=0, **more):
    write_raster(path, values, place(row, col), **({"crs": CRS} | more))


def source(name, rect_from, rect_to, nodata=None):
    kind = "SimpleSource" if nodata is None else "ComplexSource"
    rect = lambda tag, r: f'<{tag} xOff="{r[1]}" yOff="{r[0]}" xSize="{r[3]}" ySize="{r[2]}"/>'
    hole = "" if nodata is None else f"<NODATA>{nodata}</NODATA>"
    return (f'<{kind}><SourceFilename relativeToVRT="1">{name}</SourceFilename><SourceBand>1</SourceBand>'
            f'{rect("SrcRect", rect_from)}{rect("DstRect", rect_to)}{hole}</{kind}>')


def mosaic(path, shape, sources, dtype="Float32", nodata=None, more="", crs=CRS):
    wkt = rasterio.CRS.from_string(crs).to_wkt().replace('"', "&quot;")
    t = place(0, 0).to_gdal()
    value = "" if nodata is None else f"<NoDataValue>{nodata}</NoDataValue>"
    path.write_text(f'''<VRTDataset rasterXSize="{shape[1]}" rasterYSize="{shape[0]}"><SRS>{wkt}</SRS><GeoTransform>{", ".join(map(str, t))}</GeoTransform>{more}
<VRTRasterBand dataType="{dtype}" band="1">{value}{"".join(sources)}</VRTRasterBand></VRTDataset>''')


def same_as_gdal(path):
    values, found = read(path)
    with rasterio.open(path) as file:
        expected = file.read(1).astype(float)
        assert found["nodata"] == file.nodata or (found["nodata"] is None and file.nodata is None)
        assert found["transform"] == list(file.transform.to_gdal())
    np.testing.assert_array_equal(values, expected.ravel())
    return expected


@pytest.mark.parametrize("seed", range(6))
def test_tiles_laid_anyhow(tmp_path, seed):
    """Overlaps, holes in files, files over the edge, gaps, tiles and strips, files of several methods."""
    random = np.random.default_rng(seed)
    shape = tuple(random.integers(150, 400, 2))
    nodata = [None, -9999][seed % 2]
    sources = []
    for k in range(9):
        size = random.integers(30, 220, 2)
        values = random.normal(500, 200, size).astype("float32")
        hole = -9999 if random.random() < 0.5 else None
        if hole is not None:
            values[random.random(size) < 0.3] = hole
        layout = [dict(), dict(tiled=True, blockxsize=64, blockysize=32, compress="zstd"), dict(compress="lerc")][k % 3]
        write(tmp_path / f"{k}.tif", values, nodata=hole, **layout)
        first = random.integers(0, size // 2)
        cut = [random.integers(1, n + 1) for n in size - first]
        to = [random.integers(-20, n) for n in shape]
        sources.append(source(f"{k}.tif", (*first, *cut), (*to, *cut), hole))
    mosaic(tmp_path / "a.vrt", shape, sources, nodata=nodata)
    same_as_gdal(tmp_path / "a.vrt")


def test_gdals_own(tmp_path):
    """As GDAL itself writes one of a file."""
    values = np.random.default_rng(1).integers(-50, 3000, (300, 260)).astype("int16")
    write(tmp_path / "a.tif", values, nodata=-32768)
    rasterio.shutil.copy(tmp_path / "a.tif", tmp_path / "a.vrt", driver="VRT")
    np.testing.assert_array_equal(same_as_gdal(tmp_path / "a.vrt"), values)


def test_other_formats_and_types(tmp_path):
    """SRTM's tiles, which are read whole, and bytes in a raster of floats."""
    step = 1 / 1200
    hgt = np.random.default_rng(3).integers(0, 3000, (1201, 1201)).astype(">i2")
    (tmp_path / "N45E007.hgt").write_bytes(hgt.tobytes())
    small = np.random.default_rng(4).integers(0, 255, (40, 50)).astype("uint8")
    write(tmp_path / "b.tif", small, crs="EPSG:4326")
    mosaic(tmp_path / "a.vrt", (1300, 1300), [source("N45E007.hgt", (0, 0, 1201, 1201), (0, 0, 1201, 1201), -32768), source("b.tif", (0, 0, 40, 50), (1240, 20, 40, 50))], nodata=-9999, crs="EPSG:4326")
    same_as_gdal(tmp_path / "a.vrt")
    done = run_thalweg("info", tmp_path / "a.vrt")
    assert "EPSG:4326" in done.stdout + done.stderr, done
    mosaic(tmp_path / "a.vrt", (40, 50), [source("c.tif", (0, 0, 40, 50), (0, 0, 40, 50))], dtype="Byte")
    write(tmp_path / "c.tif", small.astype("float32") + 0.5)
    done = run([program("INTEROP", "examples/interop"), "read", tmp_path / "a.vrt"])
    assert done.returncode == 1 and "which u8, the type" in done.stderr, done.stderr


def test_masks_of_files_are_heeded(tmp_path):
    values = np.random.default_rng(5).normal(100, 10, (60, 60)).astype("float32")
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True):
        with rasterio.open(tmp_path / "a.tif", "w", driver="GTiff", width=60, height=60, count=1, dtype="float32", crs=CRS, transform=place(0, 0)) as file:
            file.write(values, 1)
            file.write_mask(np.where(np.arange(3600).reshape(60, 60) % 7 == 0, 0, 255).astype("uint8"))
    rasterio.shutil.copy(tmp_path / "a.tif", tmp_path / "a.vrt", driver="VRT")
    assert "MaskBand" in (tmp_path / "a.vrt").read_text()
    with rasterio.open(tmp_path / "a.vrt") as file:
        holes = int((file.read_masks(1) == 0).sum())
    assert holes > 500 and json.loads(thalweg("info", "--json", tmp_path / "a.vrt"))["nodata_cells"] == holes


@pytest.fixture(scope="module")
def quartered(tmp_path_factory):
    """Land in four files that overlap, and in one."""
    folder = tmp_path_factory.mktemp("quartered")
    i, j = np.mgrid[0:400, 0:360]
    land = (300 + 0.5 * i + 40 * np.sin(i / 31) * np.cos(j / 23) + np.random.default_rng(8).normal(0, 2, (400, 360))).astype("float32")
    land[100:130, 300:] = -9999
    write(folder / "whole.tif", land, nodata=-9999)
    sources = []
    for k, (row, col) in enumerate([(0, 0), (0, 170), (190, 0), (190, 170)]):
        part = land[row:row + 210, col:col + 190]
        write(folder / f"{k}.tif", part, row, col, nodata=-9999, compress="zstd")
        sources.append(source(f"{k}.tif", (0, 0, *part.shape), (row, col, *part.shape), -9999))
    mosaic(folder / "parts.vrt", land.shape, sources, nodata=-9999)
    return folder


def test_drained_as_one_file(quartered, tmp_path):
    """In memory and tile by tile."""
    for kind, ending in [("m", ""), ("t", ".zarr")]:
        for name in ("whole.tif", "parts.vrt"):
            thalweg("drain", quartered / name, "-o", tmp_path / f"{kind}-{name[:5]}{ending}")
    for layer in ("filled", "flow_direction", "drainage_area"):
        with rasterio.open(tmp_path / f"m-whole/{layer}.tif") as a, rasterio.open(tmp_path / f"m-parts/{layer}.tif") as b:
            np.testing.assert_array_equal(a.read(1), b.read(1))
            assert a.crs == b.crs and a.transform == b.transform
    import zarr
    for layer in ("height", "drainage_area"):
        np.testing.assert_array_equal(*[zarr.open(tmp_path / f"t-{name}.zarr")[layer][:] for name in ("whole", "parts")])


def test_cut_by_windows_and_exported(quartered, tmp_path):
    for name in ("whole.tif", "parts.vrt"):
        for verb in (["crop", quartered / name, "--window", "20,30,200,300", "-o", tmp_path / f"{name[:5]}.tif"],
                     ["export", quartered / name, "--for", "gis", "-o", tmp_path / name[:5]]):
            thalweg(*verb)
    for pair in ([tmp_path / f"{name}.tif" for name in ("whole", "parts")], [next((tmp_path / name).glob("*.tif")) for name in ("whole", "parts")]):
        with rasterio.open(pair[0]) as a, rasterio.open(pair[1]) as b:
            np.testing.assert_array_equal(a.read(1), b.read(1))


@pytest.mark.parametrize("old, new, words", [
    ("0.tif", "gone.tif", "gone.tif"),
    ("<VRTDataset ", '<VRTDataset subClass="VRTWarpedDataset" ', "VRTWarpedDataset"),
    ("EPSG&quot;,&quot;32632", "EPSG&quot;,&quot;32633", "EPSG:32633"),
    ('xSize="190" ySize="210"/>', 'xSize="95" ySize="210"/>', "between cells"),
    ("</VRTDataset>", "", "XML"),
    ('<DstRect xOff="0"', '<DstRect xOff="0" yOff="0" xSize="9" ySize="9"/><Other xOff="0"', "between cells"),
])
def test_what_is_wrong_is_named(quartered, tmp_path, old, new, words):
    text = (quartered / "parts.vrt").read_text()
    assert old in text
    path = quartered / "wrong.vrt"
    path.write_text(text.replace(old, new, 1) if "EPSG" not in old else text.replace(old, new))
    said = refused("drain", path, "-o", tmp_path / "out", statuses=(1, 2))
    assert words in said and "wrong.vrt" in said, said
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").iterdir())
