"""Arrays in every form of NumPy and dask: right or refused, as by the command with the same values in a file."""

import os
import warnings

import numpy as np
import pytest
from helpers import run_thalweg

import thalweg as tw

RNG = np.random.default_rng(5)
SHAPE = (60, 90)
ROWS, COLUMNS = np.mgrid[0 : SHAPE[0], 0 : SHAPE[1]]
# Whole numbers that every type represents exactly, int8 and float16 among them.
LAND = np.clip(np.round(RNG.normal(70.0, 4.0, SHAPE) - 0.4 * ROWS + 0.2 * COLUMNS), 10, 120)
HOLE = (ROWS - 20) ** 2 + (COLUMNS - 40) ** 2 < 60
HOLED = np.where(HOLE, np.nan, LAND)
#: The types of NPY files whose numbers are metres to the command; the values of others are written as 64-bit floats.
METRES = ("i2", "i4", "f4", "f8")

needs_command = pytest.mark.skipif("THALWEG" not in os.environ, reason="needs the built command")


def stood_in(value, kind="f8"):
    return np.where(HOLE, value, LAND).astype(kind)


def spread(array):
    """The same values with strides of two rows and two columns."""
    wide = np.zeros((2 * array.shape[0], 2 * array.shape[1]), array.dtype)
    wide[::2, ::2] = array
    return wide[::2, ::2]


def fixed(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def misaligned(array):
    padded = np.zeros(array.shape, dtype=[("skip", "u1"), ("height", array.dtype)])
    padded["height"] = array
    return padded["height"]


def masked(kind, below, **options):
    """The land with a masked hole, below whose mask is another number."""
    return np.ma.MaskedArray(stood_in(below, kind), mask=HOLE, **options)


def hard(array):
    array.harden_mask()
    return array


KINDS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "g"]

#: Arrays, and the same values as a file has them.
FORMS = {
    **{kind: (LAND.astype(kind), LAND) for kind in KINDS},
    **{f">{kind}": (LAND.astype(f">{kind}"), LAND) for kind in ("i2", "u2", "i4", "i8", "f2", "f4", "f8")},
    **{f"{kind} with NaN": (HOLED.astype(kind), HOLED) for kind in ("f2", "f4", "f8", "g", ">f4")},
    "reversed": (LAND[::-1, ::-1].copy()[::-1, ::-1], LAND),
    "Fortran": (np.asfortranarray(HOLED), HOLED),
    "spread": (spread(HOLED), HOLED),
    "fixed": (fixed(HOLED), HOLED),
    "misaligned": (misaligned(HOLED), HOLED),
    "one band": (HOLED[None], HOLED),
    "one band at the end": (LAND[..., None], LAND),
    "list": (LAND.tolist(), LAND),
    "masked": (masked("f8", 1000.0), HOLED),
    "masked f4": (masked("f4", 0.0), HOLED),
    "masked f2": (masked("f2", 0.0), HOLED),
    "masked over NaN": (masked("f8", np.nan), HOLED),
    "masked over infinity": (masked("f8", np.inf), HOLED),
    "masked over a height out of range": (masked("i4", 10**9), HOLED),
    "masked i2": (masked("i2", -9999), HOLED),
    "masked u1": (masked("u1", 255, fill_value=70), HOLED),
    "masked i8": (masked("i8", -(2**63)), HOLED),
    "masked >i2": (masked(">i2", -32768), HOLED),
    "masked band": (masked("i2", 0)[None], HOLED),
    "masked, reversed": (masked("i2", 0)[::-1].copy()[::-1], HOLED),
    "hard mask": (hard(masked("i2", 0)), HOLED),
    "no mask": (np.ma.MaskedArray(HOLED, mask=np.ma.nomask), HOLED),
    "mask of nothing": (np.ma.MaskedArray(LAND, mask=np.zeros(SHAPE, bool)), LAND),
    "fixed masked array": (fixed(masked("f8", 5.0)), HOLED),
    "mask and NaN": (np.ma.masked_where(HOLE & (COLUMNS < 40), HOLED), HOLED),
}

#: Numbers that stand for no data without being declared, and the types that represent them.
STAND_INS = [
    *[(value, kind) for value in (-9999, -32768, -32767) for kind in ("i2", "i4", "i8", "f4", "f8", ">i2", ">f4")],
    *[(value, kind) for value in (-3.4028234663852886e38, 3.4028234663852886e38) for kind in ("f4", "f8", ">f4")],
    (-32768, "f2"),
]


def drained_by_command(values, folder):
    """The maps that the command writes for an array, NaN where there are no heights, and what it wrote on stderr."""
    rasterio = pytest.importorskip("rasterio")
    values = np.asarray(values)
    kind = values.dtype.newbyteorder("=").str[1:]
    np.save(folder / "land.npy", values if kind in METRES else values.astype("f8"))
    done = run_thalweg("drain", "land.npy", "-o", "out", "--cell-size", 10, "--threshold", 2000, "--quiet", cwd=folder)
    if done.returncode != 0:
        assert "panicked" not in done.stderr
        return None, done.stderr
    maps = {}
    for name in ("filled", "flow_direction", "drainage_area", "basins", "streams"):
        with rasterio.open(folder / f"out/{name}.tif") as file:
            maps[name] = file.read(1)
            if name == "filled" and file.nodata is not None:
                maps[name] = np.where(maps[name] == file.nodata, np.nan, maps[name])
    return maps, done.stderr


def assert_is_commands(found, maps):
    assert np.array_equal(np.asarray(found.filled, dtype="f4"), maps["filled"].astype("f4"), equal_nan=True)
    assert np.array_equal(found.flow_direction, maps["flow_direction"])
    assert np.array_equal(found.drainage_area, maps["drainage_area"])
    assert np.array_equal(found.basin, maps["basins"]) and np.array_equal(found.stream_order, maps["streams"])
    assert found.basin.max() > 20 and found.stream_order.max() > 1


def drain(array, **options):
    return tw.drain(array, threshold=2000, **{"cell_size": 10.0} | options)


@needs_command
@pytest.mark.parametrize("plain", [LAND, HOLED], ids=["land", "holed"])
def test_every_form_is_drained_as_by_the_command(plain, tmp_path):
    maps, _ = drained_by_command(plain, tmp_path)
    forms = {name: array for name, (array, same) in FORMS.items() if same is plain}
    assert len(forms) > 15
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, array in forms.items():
            found = drain(array)
            assert_is_commands(found, maps)
            assert found.filled.shape == SHAPE, name


@pytest.mark.parametrize("name", FORMS)
def test_every_form_is_read_as_its_values(name):
    array, plain = FORMS[name]
    before = np.ma.getdata(array).tobytes()
    terrain = tw.Terrain(array, 10.0)
    assert np.array_equal(terrain.height, plain, equal_nan=True)
    # A float32 array alone gives float32; the mask does not change the type.
    narrow = getattr(array, "dtype", None) == np.float32
    filled = tw.flow.fill_depressions(array)
    assert filled.dtype == (np.float32 if narrow else np.float64) and not isinstance(filled, np.ma.MaskedArray)
    assert np.array_equal(np.isnan(filled), np.isnan(plain))
    assert np.array_equal(
        tw.thermal(array, cell_size=10.0), tw.thermal(plain, cell_size=10.0).astype(filled.dtype), equal_nan=True
    )
    assert np.ma.getdata(array).tobytes() == before, "the array is not written"


@needs_command
@pytest.mark.parametrize(("value", "kind"), STAND_INS)
def test_stand_ins_are_found_as_by_the_command(value, kind, tmp_path):
    array = stood_in(value, kind)
    maps, said = drained_by_command(array, tmp_path)
    with pytest.warns(
        UserWarning, match=r"dem has the value .* in \d+ cells; they are read as no data; pass nodata="
    ) as warned:
        found = drain(array)
    assert_is_commands(found, maps)
    assert np.array_equal(np.isnan(found.filled), HOLE)
    message = str(warned[0].message)
    assert f"in {HOLE.sum()} cells" in message and message.removeprefix("dem ").split(";")[0] in said
    assert len(warned) == 1 and warned[0].filename == __file__, "the warning points at who called"


@needs_command
def test_several_stand_ins_are_those_of_the_command(tmp_path):
    array = stood_in(-9999, "i4")
    array[50:53, 5:9] = -32768
    maps, said = drained_by_command(array, tmp_path)
    with pytest.warns(UserWarning) as warned:
        found = drain(array)
    assert all(str(one.message).removeprefix("dem ").split("; they")[0] in said for one in warned)
    assert np.array_equal(found.flow_direction, maps["flow_direction"])


def test_a_value_that_is_given_is_no_data_and_nan_ends_the_search():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in ("i2", "i4", "i8", "f2", "f4", "f8", ">i2"):
            # float16 has no -9999; its nearest number is declared.
            assert np.array_equal(np.isnan(tw.Terrain(stood_in(-9999, kind), 10.0, nodata=-9999).height), HOLE), kind
            whole = stood_in(-9999, kind)
            assert np.array_equal(tw.Terrain(whole, 10.0, nodata=float("nan")).height, whole), kind
        assert np.array_equal(np.isnan(tw.Terrain(stood_in(0.1, "f4"), 10.0, nodata=0.1).height), HOLE)
        assert np.array_equal(np.isnan(tw.Terrain(stood_in(2.0**63, "u8"), 10.0, nodata=2**63).height), HOLE)
        assert np.array_equal(np.isnan(tw.Terrain(masked("i2", 0), 10.0, nodata=-9999).height), HOLE)
        # Near the other heights, a usual value is a height.
        low = np.where(HOLE, -9999.0, LAND - 9500.0)
        assert np.array_equal(tw.Terrain(low, 10.0).height, low)
    with pytest.warns(UserWarning, match="-32768"):
        terrain = tw.Terrain(np.where(COLUMNS == 3, -32768.0, stood_in(-1.0)), 10.0, nodata=-1.0)
    assert np.array_equal(np.isnan(terrain.height), HOLE | (COLUMNS == 3)), "as in a file that declares -1"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (np.inf, r"height at row 4, column 5 = inf m"),
        (-np.inf, r"height at row 4, column 5 = -inf m"),
        (16001.0, r"height at row 4, column 5 = 16001 m: must be -16000 to 16000 m"),
        (-16001.0, "row 4, column 5"),
    ],
)
@pytest.mark.parametrize("kind", ["f4", "f8", ">f8"])
def test_heights_that_cannot_be_are_refused_as_by_the_command(wrong, words, kind, tmp_path):
    array = HOLED.astype(kind)
    array[4, 5] = wrong
    with pytest.raises(ValueError, match=words):
        drain(array)
    if "THALWEG" in os.environ:
        maps, said = drained_by_command(array, tmp_path)
        assert maps is None and "row 4, column 5" in said


@pytest.mark.parametrize(
    "array",
    [np.full(SHAPE, np.nan), np.full(SHAPE, -9999.0), np.full(SHAPE, -32768, "i2"), np.ma.MaskedArray(LAND, mask=True)],
    ids=["NaN", "f8", "i2", "masked"],
)
def test_a_map_without_data_is_refused_as_by_the_command(array, tmp_path):
    with pytest.raises(ValueError, match="no data|at least one height"):
        drain(array)
    if "THALWEG" in os.environ:
        maps, said = drained_by_command(np.ma.filled(array, np.nan), tmp_path)
        assert maps is None and "no data" in said
    with pytest.raises(ValueError, match="at least one height"):
        drain(np.full((3, 3), 7.0), nodata=7.0)


@pytest.mark.parametrize(
    ("array", "error", "words"),
    [
        (np.float64(3.0), ValueError, r"dem has shape \(\)"),
        (np.ma.masked, ValueError, r"dem has shape \(\)"),
        (LAND[0], ValueError, r"dem has shape \(90,\); it must have two dimensions \(rows, columns\)"),
        (np.ma.MaskedArray(LAND[0], mask=True), ValueError, r"shape \(90,\)"),
        (np.stack([LAND, LAND]), ValueError, r"dem has shape \(2, 60, 90\)"),
        (LAND[None, None], ValueError, r"dem has shape \(1, 1, 60, 90\)"),
        (LAND[:0], ValueError, "one cell or more"),
        (LAND.astype(object), TypeError, "dem has dtype object; it must have an integer or floating-point dtype"),
        (LAND > 50, TypeError, "dem has dtype bool"),
        (np.ma.MaskedArray(LAND > 50, mask=HOLE), TypeError, "dem has dtype bool"),
        (LAND.astype("c8"), TypeError, "dem has dtype complex64"),
        (LAND.astype("c16"), TypeError, "dem has dtype complex128"),
        (LAND.astype("M8[s]"), TypeError, r"dem has dtype datetime64\[s\]"),
        (LAND.astype("U5"), TypeError, "dem has dtype <U"),
        (LAND.astype([("a", "f8")]), TypeError, "dem has dtype"),
    ],
)
def test_other_arrays_are_refused_by_name(array, error, words):
    with pytest.raises(error, match=words):
        drain(array)


def test_other_maps_keep_their_mask():
    codes = tw.flow.d8(HOLED)
    hidden = np.ma.MaskedArray(np.where(HOLE, 1, codes).astype("u1"), mask=HOLE)
    cells = tw.flow.accumulate_flow(codes)
    assert np.array_equal(tw.flow.accumulate_flow(hidden), cells) and (cells[HOLE] == 0).all()
    assert np.array_equal(tw.flow.accumulate_flow(np.where(HOLE, np.nan, codes)), cells), (
        "as xarray decodes a fill value"
    )
    for streams in (np.ma.MaskedArray(cells > 20, mask=cells > 500), np.where(cells > 500, np.nan, cells > 20)):
        order = tw.flow.stream_order(codes, streams)
        assert np.array_equal(order > 0, (cells > 20) & (cells <= 500))
    weights = np.ma.MaskedArray(LAND, mask=(ROWS == 7) & (COLUMNS == 9))
    with pytest.raises(ValueError, match="weight at row 7, column 9"):
        tw.flow.accumulate_flow(codes, weights)
    layer = np.ma.MaskedArray(np.ones(SHAPE), mask=HOLE)
    terrain = tw.Terrain(HOLED, 10.0, layers={"hardness": layer})
    assert np.array_equal(terrain.layers["hardness"], ~HOLE), "0 where the terrain has no data"
    for wrong in (layer, np.where(HOLE, np.inf, 1.0)):
        row, column = np.argwhere(HOLE)[0]
        with pytest.raises(ValueError, match=f"hardness.*row {row}, column {column}; it must be a finite number"):
            tw.Terrain(LAND, 10.0, layers={"hardness": wrong})
    run = tw.Run({"stage": [{"model": "thermal"}]}, masked("i2", 0), cell_size=10.0)
    run["height"] = masked("f8", 3.0)
    assert np.array_equal(run["height"], HOLED, equal_nan=True)


def test_dask_arrays_are_computed_with_their_mask():
    array = pytest.importorskip("dask.array")
    for chunks in (SHAPE, (7, 90), (60, 11), (13, 17)):
        with pytest.warns(UserWarning, match="dem is backed by dask and is computed whole: its 5400 cells") as warned:
            found = tw.flow.fill_depressions(array.from_array(masked("i2", -9999), chunks=chunks))
        assert np.array_equal(found, tw.flow.fill_depressions(HOLED), equal_nan=True)
        assert len(warned) == 1 and warned[0].filename == __file__
    xr = pytest.importorskip("xarray")
    for given in (HOLED, masked("f4", 0.0)):
        dem = xr.DataArray(array.from_array(given, chunks=(13, 17)), dims=("y", "x"))
        with pytest.warns(UserWarning, match="computed whole"):
            found = tw.flow.fill_depressions(dem, cell_size=10.0)
        assert np.array_equal(found, tw.flow.fill_depressions(HOLED), equal_nan=True)


@pytest.mark.parametrize("kind", ["i2", "f2", "f4", "f8", ">i2", "i8"])
def test_data_arrays_are_read_as_their_arrays(kind):
    xr = pytest.importorskip("xarray")
    y, x = 5000.0 - 10 * np.arange(60), 300.0 + 10 * np.arange(90)
    place = {"y": ("y", y, {"units": "m"}), "x": ("x", x, {"units": "m"})}
    array = stood_in(-32768, kind)
    wanted = tw.drain(HOLED, cell_size=10.0, threshold=2000)
    plain = xr.DataArray(array, coords=place, dims=("y", "x"))
    turns = {
        "plain": plain,
        "northward": plain[::-1],
        "transposed": plain.T,
        "both": plain.T[::-1, ::-1],
        "band": plain.expand_dims(band=[1]),
    }
    for name, dem in turns.items():
        with pytest.warns(UserWarning, match=f"dem has the value -32768, .* in {HOLE.sum()} cells"):
            found = drain(dem, cell_size=None)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            declared = drain(dem.assign_attrs(_FillValue=-32768), cell_size=None)
            given = drain(dem, cell_size=None, nodata=-32768)
            listed = drain(dem.assign_attrs(nodatavals=(-32768.0,)), cell_size=None)
        for one in (found, declared, given, listed):
            one = one.transpose("y", "x").sortby("y", ascending=False).sortby("x")
            assert np.array_equal(one.flow_direction, wanted.flow_direction), name
            assert np.array_equal(one.filled, wanted.filled, equal_nan=True), name
