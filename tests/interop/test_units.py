"""Units, scales and masks of files that GDAL wrote: metres are metres, and all else is refused or left out.

What a file means is told by GDAL itself.
"""

import json
import math
import pathlib
import re
import sqlite3

import numpy as np
import pytest
import rasterio
from helpers import ROOT, long_or, refused, run_thalweg, thalweg
from rasterio.transform import from_origin

TABLE = ROOT / "crates/thalweg-io/src/units/epsg.tsv"
UTM = "EPSG:32611"
LONG = long_or(False, True)


def info(path, *words):
    return json.loads(thalweg("info", path, "--json", *words))


def ground(rows=20, cols=30, dtype="float32"):
    i, j = np.mgrid[0:rows, 0:cols]
    return (100 + 3 * i + 2 * j).astype(dtype)


def stored(path, heights, crs=UTM, cell=10.0, corner=(500000.0, 4000000.0), tags=None, scale=None, unit=None, mask=None,
           beside=False, **profile):
    rows, cols = heights.shape
    options = {"GDAL_TIFF_INTERNAL_MASK": not beside}
    with rasterio.Env(**options), rasterio.open(
        path, "w", driver="GTiff", width=cols, height=rows, count=1, dtype=heights.dtype, crs=crs,
        transform=from_origin(*corner, cell, cell), **profile,
    ) as file:
        file.write(heights, 1)
        if scale:
            file.scales, file.offsets = [scale[0]], [scale[1]]
        if unit:
            file.units = [unit]
        if mask is not None:
            file.write_mask(mask)
    return path


def without_key(path, *keys):
    """Takes keys out of the GeoKeyDirectory: the code alone stays."""
    data = bytearray(path.read_bytes())
    assert data[:4] == b"II*\0"
    start = int.from_bytes(data[4:8], "little")
    for n in range(int.from_bytes(data[start:start + 2], "little")):
        at = start + 2 + 12 * n
        tag, count, place = (int.from_bytes(data[at + a:at + b], "little") for a, b in ((0, 2), (4, 8), (8, 12)))
        if tag == 34735:
            found = np.frombuffer(data, "<u2", count, place).reshape(-1, 4)
            kept = np.array([row for row in found[1:] if row[0] not in keys], "<u2")
            head = np.array([[*found[0][:3], len(kept)]], "<u2")
            new = np.concatenate([head, kept]).tobytes()
            data[place:place + len(new)] = new
            data[at + 4:at + 8] = (len(new) // 2).to_bytes(4, "little")
    path.write_bytes(data)
    return path


NAMED = (1026, 3073, 4097, 3076, 3077, 4099, 34737)


@pytest.mark.parametrize("code, factor, words", [
    (2227, 1200 / 3937, "US survey foot"), (2263, 1200 / 3937, "US survey foot"), (2222, 0.3048, "foot"),
    (2314, 0.3047972654, "Clarke's foot"), (3857, None, "Pseudo-Mercator"), (3991, 1200 / 3937, "US survey foot"),
])
@pytest.mark.parametrize("bare", [False, True])
def test_horizontal_codes_are_refused_with_factor_and_remedy(tmp_path, code, factor, words, bare):
    path = stored(tmp_path / "a.tif", ground(), crs=f"EPSG:{code}", cell=30.0, corner=(2e6, 3e6))
    if bare:
        without_key(path, *NAMED)
    said = refused("apply", "thermal", path, "-o", "out.tif", cwd=tmp_path)
    assert not (tmp_path / "out.tif").exists()
    name = rasterio.crs.CRS.from_epsg(code).wkt.split('"')[1]
    for word in (words, f"EPSG:{code} {name}", "gdalwarp", "--unit metre"):
        assert word in said, said
    if factor:
        assert math.isclose(float(re.search(r"([0-9.]+) m\)", said)[1]), factor, rel_tol=1e-12)
    # A cell size says nothing of the heights, which where coordinates are feet are feet as a rule.
    assert "--unit metre" in refused("apply", "thermal", path, "-o", "out.tif", "--cell-size", 9, cwd=tmp_path)
    report = tmp_path / "report.json"
    done = run_thalweg("apply", "thermal", path, "-o", "out.tif", "--unit", "metre", "--report", report, cwd=tmp_path)
    assert done.returncode == 0 and "as requested" in done.stderr, done.stderr
    found = json.loads(report.read_text())
    assert found["cell_size"] == 30.0 and f"EPSG:{code}" in found["units_overridden"][0], found["units_overridden"]


@pytest.mark.parametrize("code, factor", [
    (5702, 1200 / 3937), (6360, 1200 / 3937), (6358, 1200 / 3937), (6359, 1200 / 3937), (8050, 0.3048), (8051, 0.3048),
    (8052, 1200 / 3937), (8053, 1200 / 3937), (5754, 0.3048007491), (5614, 0.3048), (8228, 0.3048),
])
@pytest.mark.parametrize("bare", [False, True])
def test_vertical_codes_are_refused_with_factor_and_remedy(tmp_path, code, factor, bare):
    path = stored(tmp_path / "a.tif", ground(), crs=f"EPSG:32611+{code}")
    if bare:
        without_key(path, *NAMED)
    for more in ([], ["--cell-size", "10"]):
        said = refused("drain", path, "-o", "out", *more, cwd=tmp_path)
        assert not (tmp_path / "out").exists()
        for word in ("heights in", str(factor)[:9], "gdal_calc", "--unit metre"):
            assert word in said, (word, said)
        assert f"EPSG:{code}" in said or not bare, said
    thalweg("drain", path, "-o", "out", "--unit", "metre", "--quiet", cwd=tmp_path)
    assert "heights in" in json.loads((tmp_path / "out/drain.json").read_text())["units_overridden"][0]


def test_metres_pass_and_degrees_stay_degrees(tmp_path):
    for crs in ("EPSG:32611", "EPSG:2056", "EPSG:27700", "EPSG:32611+5703", "EPSG:26911+3855", None):
        found = info(stored(tmp_path / "a.tif", ground(), crs=crs))
        assert "problem" not in found and found["warnings"] == [], (crs, found)
    path = stored(tmp_path / "a.tif", ground(), crs="EPSG:4326", cell=0.001, corner=(10, 45))
    for more in ([], ["--unit", "metre"]):
        assert "degrees" in info(path, *more)["problem"]
    assert "degrees" in info(path, "--cell-size", "90")["warnings"][0]


def test_the_table_agrees_with_the_database():
    """Each line of the table is what the PROJ database says; each code of the database is in the table, where both know it."""
    rows = [line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines()]
    db = sqlite3.connect(pathlib.Path(rasterio.__file__).parent / "proj_data/proj.db")
    units = {int(row[1]): float(row[2]) for row in rows if row[0] == "u"}
    for code, metres in db.execute("select code, conv_factor from unit_of_measure where auth_name = 'EPSG'"):
        assert units.get(int(code), metres) == metres
    systems = {int(row[1]): row for row in rows if row[0] == "c"}
    assert len(systems) > 1000
    seen = 0
    for table, place in (("projected_crs", 2), ("vertical_crs", 3)):
        query = f"""select crs.code, axis.uom_code from {table} crs join axis on
            axis.coordinate_system_code = crs.coordinate_system_code and axis.coordinate_system_auth_name = 'EPSG'
            and axis.coordinate_system_order = 1 where crs.auth_name = 'EPSG' and crs.coordinate_system_auth_name = 'EPSG'"""
        for code, unit in db.execute(query):
            if int(code) in systems and systems[int(code)][place] not in "-~":
                assert systems[int(code)][place] == str(unit), code
                seen += 1
    assert seen > 900


def test_codes_of_the_table_are_refused(tmp_path):
    """Files that GDAL wrote with codes drawn from its own database, with all their keys and with the code alone."""
    db = sqlite3.connect(pathlib.Path(rasterio.__file__).parent / "proj_data/proj.db")
    query = """select crs.code, unit.conv_factor from projected_crs crs
        join axis on axis.coordinate_system_code = crs.coordinate_system_code and axis.coordinate_system_auth_name = 'EPSG'
        join unit_of_measure unit on unit.auth_name = axis.uom_auth_name and unit.code = axis.uom_code
        where crs.auth_name = 'EPSG' and crs.deprecated = 0 and axis.coordinate_system_order = 1 and length(crs.code) < 6"""
    codes = sorted((int(code), factor) for code, factor in db.execute(query) if int(code) < 32767)
    feet = [pair for pair in codes if pair[1] != 1]
    metres = [pair for pair in codes if pair[1] == 1 and pair[0] not in (3395, 3857)]
    seed = np.random.default_rng(20)
    count = 400 if LONG else 12
    for code, factor in [feet[k] for k in seed.choice(len(feet), min(count, len(feet)), False)]:
        path = stored(tmp_path / "a.tif", ground(), crs=f"EPSG:{code}", corner=(5e5, 4e5))
        for _ in range(2):
            problem = info(path)["problem"]
            assert f"EPSG:{code} " in problem and f"{factor}"[:10] in problem, (code, problem)
            without_key(path, *NAMED)
    for code, _ in [metres[k] for k in seed.choice(len(metres), count, False)]:
        path = stored(tmp_path / "a.tif", ground(), crs=f"EPSG:{code}", corner=(5e5, 4e5))
        assert "problem" not in info(path), (code, info(path))


def test_codes_with_a_scale_or_a_unit_are_scaled(tmp_path):
    codes = ground(dtype="uint16")
    for case, expected in (
        ({"scale": (0.5, -10.0)}, codes * 0.5 - 10), ({"unit": "m"}, codes), ({"scale": (1.0, 100.0)}, codes + 100.0),
        ({"scale": (0.25, 0.0), "unit": "metre"}, codes * 0.25),
    ):
        path = stored(tmp_path / "a.tif", codes, **case)
        found = info(path)
        assert (found["lowest_m"], found["highest_m"]) == (expected.min(), expected.max()), (case, found)
        assert found["warnings"] == []
        thalweg("crop", path, "-o", "b.tif", "--window", "0,0,30,20", "--type", "f64", cwd=tmp_path)
        with rasterio.open(tmp_path / "b.tif") as file:
            np.testing.assert_array_equal(file.read(1), expected)
    assert "ft" in info(stored(tmp_path / "a.tif", codes, unit="ft"))["problem"]
    assert any("does not state its heights" in said for said in info(stored(tmp_path / "a.tif", codes))["warnings"])


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("options", [
    {}, {"compress": "deflate"}, {"compress": "lzw", "tiled": True, "blockxsize": 16, "blockysize": 16},
    {"compress": "packbits"}, {"bigtiff": "YES"}, {"endianness": "BIG"}, {"nodata": -1.0},
])
@pytest.mark.parametrize("dtype", ["float32", "uint16", "int16"])
def test_masks_become_nodata(tmp_path, beside, options, dtype):
    """GDAL's mask, in the file or beside it, over sizes that are no multiples of eight."""
    seed = np.random.default_rng(len(str(options)) + beside)
    sizes = ((20, 30), (17, 33), (1, 9), (40, 64), (300, 259)) if LONG else ((17, 33),)
    for rows, cols in sizes:
        valid = seed.random((rows, cols)) < 0.8
        valid[0, 0] = True
        path = tmp_path / "a.tif"
        for old in tmp_path.glob("a.tif*"):
            old.unlink()
        if dtype == "uint16" and "nodata" in options:
            continue
        stored(path, ground(rows, cols, dtype), mask=valid, beside=beside, unit="m", **options)
        assert (tmp_path / "a.tif.msk").exists() == beside
        with rasterio.open(path) as file:
            np.testing.assert_array_equal(file.read_masks(1) != 0, valid)
        found = info(path)
        assert found["nodata_cells"] == (~valid).sum(), found
        assert any(f"mask that excludes {(~valid).sum()} cells" in said for said in found["warnings"]) or valid.all()
        thalweg("resample", path, "-o", "b.tif", "--cells", f"{cols}x{rows}", cwd=tmp_path)
        with rasterio.open(tmp_path / "b.tif") as file:
            np.testing.assert_array_equal(file.read_masks(1) != 0, valid)


def test_what_a_mask_leaves_out_may_be_anything(tmp_path):
    heights = ground()
    heights[3, 4], heights[5, 6], heights[7, 8] = np.nan, np.inf, 1e30
    valid = np.isfinite(heights) & (heights < 1e20)
    found = info(stored(tmp_path / "a.tif", heights, mask=valid, compress="deflate"))
    assert (found["nodata_cells"], found["highest_m"]) == (3, float(heights[valid].max()))
    path = stored(tmp_path / "c.tif", ground(), mask=np.zeros((20, 30), bool))
    assert "has no data" in info(path)["problem"]


def test_a_mask_of_another_file_is_refused(tmp_path):
    stored(tmp_path / "a.tif", ground(), mask=np.ones((20, 30), bool), beside=True)
    other = stored(tmp_path / "b.tif", ground(10, 10))
    (tmp_path / "b.tif.msk").write_bytes((tmp_path / "a.tif.msk").read_bytes())
    said = refused("info", other)
    assert "b.tif.msk" in said and "30 × 20" in said, said
    (tmp_path / "b.tif.msk").write_bytes(b"no mask")
    refused("info", other)


def test_overviews_are_not_masks(tmp_path):
    path = stored(tmp_path / "a.tif", ground(64, 64), mask=np.arange(4096).reshape(64, 64) % 3 > 0)
    with rasterio.open(path, "r+") as file:
        file.build_overviews([2, 4])
    assert info(path)["nodata_cells"] == 1366
