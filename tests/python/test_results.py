"""Results of xarray are written, merged, copied and sent like any Dataset, and reaches are traced from what is kept."""

import pickle
import warnings

import numpy as np
import pytest
from helpers import JACKSBORO

xr = pytest.importorskip("xarray")

import thalweg as tw  # noqa: E402


def world_with_tables():
    return tw.build("hills", cells=64, seed=3, xarray=True)


RESULTS = {
    "drain": lambda dem: tw.drain(dem, breach=(5.0, 500.0)),
    "thermal": lambda dem: tw.thermal(dem, full=True),
    "rivers": lambda dem: tw.rivers(dem, catchment=2e6),
    "build": lambda _: world_with_tables(),
    "tile": lambda _: tw.World("hills", cells=64, tile=32).tile(1, 500.0, 700.0),
    "evolve": lambda dem: tw.evolve(
        dem, {"stage": [{"model": "stream_power", "years": 1e5, "step": 2e4}]}, save_every=5e4
    ),
    "textures": lambda dem: tw.textures(dem).to_xarray(),
    "heights": lambda dem: tw.flow.fill_depressions(dem).to_dataset(name="filled"),
}


@pytest.fixture(scope="module")
def dem():
    return tw.read(JACKSBORO, xarray=True)[:120, :150]


@pytest.fixture(scope="module", params=RESULTS)
def result(request, dem):
    return RESULTS[request.param](dem)


def is_plain(value):
    if isinstance(value, (str, int, float, np.number)):
        return True
    return isinstance(value, (list, tuple, np.ndarray)) and all(is_plain(one) for one in value)


def test_attributes_are_numbers_and_text(result):
    for name, variable in {"": result, **result.variables}.items():
        wrong = {key: value for key, value in variable.attrs.items() if not is_plain(value) or isinstance(value, bool)}
        assert not wrong, name


def test_results_are_copied_and_sent(result):
    for other in (
        result.copy(deep=True),
        pickle.loads(pickle.dumps(result)),
        pickle.loads(pickle.dumps(result.copy(deep=True))),
    ):
        xr.testing.assert_identical(other, result)


def test_results_are_merged_and_concatenated(result):
    merged = xr.merge([result, xr.Dataset({"further": 1.0})], compat="override", combine_attrs="no_conflicts")
    assert set(result.variables) <= set(merged.variables) and merged.attrs == result.attrs
    both = xr.concat([result, result], dim="run", data_vars="all", coords="minimal", compat="override", join="override")
    xr.testing.assert_equal(both.isel(run=1)[list(result.data_vars)], result[list(result.data_vars)])


def test_results_are_written_and_read_again(result, tmp_path):
    pytest.importorskip("netCDF4")
    pytest.importorskip("zarr")
    result.to_netcdf(tmp_path / "result.nc")
    with warnings.catch_warnings():
        # Warnings of zarr about its own format.
        warnings.simplefilter("ignore")
        result.to_zarr(tmp_path / "result.zarr", consolidated=False)
    with xr.open_dataset(tmp_path / "result.nc", decode_coords="all") as file:
        xr.testing.assert_equal(file.load(), result)
        assert set(file.attrs) == set(result.attrs)
    stored = xr.open_zarr(tmp_path / "result.zarr", consolidated=False, decode_coords="all").load()
    xr.testing.assert_equal(stored, result)
    assert stored.attrs == result.attrs


def test_two_drainages_with_other_reaches_are_concatenated(dem):
    both = [tw.drain(dem, threshold=threshold) for threshold in (4e5, 4e6)]
    assert len(tw.reaches(both[0])) > len(tw.reaches(both[1])) > 0
    keywords = {"data_vars": "all", "coords": "minimal", "compat": "override", "join": "exact"}
    joined = xr.concat(both, dim="threshold", combine_attrs="drop_conflicts", **keywords)
    for k, one in enumerate(both):
        again = tw.reaches(joined.isel(threshold=k).assign_attrs(one.attrs))
        assert len(again) == len(tw.reaches(one))


def test_work_is_delayed_by_dask(dem):
    dask = pytest.importorskip("dask")
    wanted = tw.drain(dem)
    for scheduler in ("threads", "processes"):
        found = dask.delayed(tw.drain)(dem).compute(scheduler=scheduler)
        xr.testing.assert_identical(found, wanted)
    lengths = dask.delayed(lambda found: tw.reaches(found)["length"].sum())(dask.delayed(tw.drain)(dem))
    wanted = sum(reach.length for reach in tw.drain(dem.values, cell_size=90.0).reaches)
    assert lengths.compute(scheduler="threads") == pytest.approx(wanted, rel=1e-12)


FACTS = ("id", "order", "magnitude", "length", "drop", "slope", "drainage_area", "downstream")


def facts(reaches):
    """The properties of reaches, of a GeoDataFrame or of a list."""
    if isinstance(reaches, list):
        return [tuple(getattr(reach, name) for name in FACTS) for reach in reaches]
    rows = zip(*(reaches[name] for name in FACTS), strict=True)
    return [(*row[:-1], None if row[-1] is None or row[-1] != row[-1] else int(row[-1])) for row in rows]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"threshold": 3e5, "method": "mfd"},
        {"breach": (20.0, 900.0)},
        {"edges": {"north": "looped", "south": "looped", "east": "open", "west": "open"}},
        {"edges": "closed", "outlets": [(40, 60)]},
        {"sea_level": 400.0},
    ],
)
def test_reaches_are_those_of_the_array(dem, options, tmp_path):
    pytest.importorskip("geopandas")
    holed = dem.where((dem < 500.0) | (dem > 520.0))
    wanted = facts(tw.drain(holed.values, cell_size=90.0, **options).reaches)
    assert len(wanted) > 3
    for turned in (holed, holed[::-1], holed[:, ::-1], holed.transpose("x", "y")):
        found = tw.drain(turned, **options)
        assert facts(tw.reaches(found)) == wanted
    found = tw.drain(holed, **options)
    lines = tw.reaches(found)
    assert lines.geometry.length.sum() == pytest.approx(sum(one[3] for one in wanted), rel=1e-9) or "edges" in options
    found.to_netcdf(tmp_path / "drained.nc")
    for decode in (True, "all"):
        with xr.open_dataset(tmp_path / "drained.nc", decode_coords=decode) as file:
            again = tw.reaches(file.load())
        assert facts(again) == wanted and again.crs == lines.crs and again.geometry.equals(lines.geometry)
    # Without coordinates there are no lines.
    bare = tw.reaches(tw.drain(xr.DataArray(holed.values, dims=("y", "x")), cell_size=90.0, **options))
    assert isinstance(bare, list) and facts(bare) == wanted


def test_reaches_of_other_results_are_refused(dem):
    drained = tw.drain(dem.values, cell_size=90.0)
    assert tw.reaches(drained) is drained.reaches
    with pytest.raises(TypeError, match="drainage is of type DataArray; it must be a result of drain"):
        tw.reaches(dem)
    with pytest.raises(ValueError, match="drainage has no variable stream_order"):
        tw.reaches(tw.drain(dem).drop_vars("stream_order"))
    circle = tw.drain(dem)
    circle.flow_direction[50, 50:52] = [1, 16]
    with pytest.raises(ValueError, match="direction at row 50, column 50 = 1"):
        tw.reaches(circle)
