"""DataArrays and Datasets, in and out."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from helpers import JACKSBORO

xr = pytest.importorskip("xarray")

import thalweg as tw  # noqa: E402


@pytest.fixture
def dem():
    return tw.read(JACKSBORO)


def test_what_is_opened_lies_where_rioxarray_says(dem):
    rioxarray = pytest.importorskip("rioxarray")
    theirs = rioxarray.open_rasterio(JACKSBORO, masked=True).squeeze(drop=True)
    assert np.allclose(dem.x, theirs.x) and np.allclose(dem.y, theirs.y) and np.array_equal(dem, theirs)
    assert dem.rio.crs == theirs.rio.crs and dem.attrs["units"] == "m"
    assert dem.rio.transform().almost_equals(theirs.rio.transform(), 1e-6)


def test_what_is_given_comes_back_in_kind(dem):
    out = tw.thermal(dem)
    assert isinstance(out, xr.DataArray) and out.dims == dem.dims and out.attrs == dem.attrs and out.name == dem.name
    assert all(np.array_equal(out.coords[name], dem.coords[name]) for name in dem.coords)
    assert out.spatial_ref.attrs == dem.spatial_ref.attrs
    whole = tw.thermal(dem, full=True)
    assert isinstance(whole, xr.Dataset) and "sediment" in whole and np.array_equal(whole.height, out)
    assert isinstance(tw.thermal(whole), xr.Dataset)
    narrow = tw.thermal(dem.astype("f4"))
    assert narrow.dtype == np.float32 and np.array_equal(narrow, tw.thermal(dem.astype("f4").astype("f8")).astype("f4"))


def test_other_cells_have_their_own_coordinates(dem):
    part = tw.crop(dem.astype("f4"), window=(20, 30, 40, 50))
    wanted = dem.isel(y=slice(20, 60), x=slice(30, 80))
    assert part.dtype == np.float32 and np.array_equal(part, wanted)
    assert part.spatial_ref.attrs["spatial_ref"] == dem.spatial_ref.attrs["spatial_ref"]
    assert np.allclose(part.x, wanted.x, rtol=1e-11) and np.allclose(part.y, wanted.y, rtol=1e-11)
    # Rows are counted from the north, also on a map whose first row is in the south.
    assert np.array_equal(tw.crop(dem.isel(y=slice(None, None, -1)), window=(20, 30, 40, 50)), part)
    small = dem.isel(y=slice(0, 41), x=slice(0, 61)).tw.resample(cells=121)
    assert small.shape == (81, 121)
    assert np.allclose(small.x[::2], dem.x[:61], rtol=1e-11) and np.allclose(small.y[::2], dem.y[:41], rtol=1e-11)
    whole = tw.resample(tw.thermal(dem, full=True), cells=100)
    assert isinstance(whole, xr.Dataset) and whole.sediment.sizes["x"] == 100
    network = tw.rivers(wanted, catchment=4e5)
    assert isinstance(network, xr.Dataset) and np.array_equal(network.x, wanted.x) and network.river.max() > 0


def test_a_raster_of_one_band_is_a_map(dem):
    banded = dem.expand_dims(band=[1])
    assert np.array_equal(tw.flow.fill_depressions(banded), tw.flow.fill_depressions(dem))
    with pytest.raises(ValueError, match=r"select one map with .isel\(time=0\)"):
        tw.flow.fill_depressions(xr.concat([dem, dem], dim="time"))


@pytest.mark.parametrize("turn", [{"y": slice(None, None, -1)}, {"x": slice(None, None, -1)}, {"y": slice(None, None, -1), "x": slice(None, None, -1)}])
def test_rows_and_columns_may_run_either_way(dem, turn):
    wanted = tw.drain(dem, method="dinf")
    turned = tw.drain(dem.isel(turn), method="dinf")
    for name in wanted.data_vars:
        assert np.array_equal(turned[name].isel(turn), wanted[name], equal_nan=True), name
    assert np.array_equal(turned.y, dem.isel(turn).y)
    assert np.array_equal(tw.flow.fill_depressions(dem.transpose("x", "y")), tw.flow.fill_depressions(dem))
    codes = tw.flow.d8(dem.isel(turn))
    assert np.array_equal(tw.flow.accumulate_flow(codes).isel(turn), tw.flow.accumulate_flow(tw.flow.d8(dem)))
    if pytest.importorskip("geopandas"):
        assert tw.reaches(turned).geometry.geom_equals_exact(tw.reaches(wanted).geometry, 1e-6).all()


def test_fill_values_are_missing_data(dem):
    holes = dem.where(~((dem > 400) & (dem < 420)))
    stood_in = holes.fillna(-32768).round().astype("i2").assign_attrs(_FillValue=-32768)
    filled = tw.flow.fill_depressions(stood_in)
    assert np.array_equal(np.isnan(filled), np.isnan(holes)) and "_FillValue" not in filled.attrs
    assert np.array_equal(tw.flow.fill_depressions(holes.round()), filled, equal_nan=True)


def grid(y, x, dims=("y", "x"), **attrs):
    da = xr.DataArray(np.arange(16.0).reshape(4, 4), coords={dims[0]: y, dims[1]: x}, dims=dims)
    for dim in dims:
        da.coords[dim].attrs.update(attrs)
    return da


UP = [0.0, 10.0, 20.0, 30.0]
DEGREES = [45.0, 45.001, 45.002, 45.003]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (grid(UP, UP, ("lat", "lon")), "is in degrees .*reproject it to metres"),
        (grid(UP, UP, units="degrees_north"), "is in degrees"),
        (grid(DEGREES, DEGREES), "seems to be in degrees"),
        (grid(UP, [0.0, 20.0, 40.0, 60.0]), "cells of 20 × 10 that are not square"),
        (grid([0.0, 10.0, 20.0, 31.0], UP), "in steps of 10 to 11; the steps must be equal"),
        (grid(UP, UP, units="US survey foot"), "feet"),
        (grid(UP, UP).assign_attrs(units="ft"), "heights in `ft`"),
        (grid(UP, UP).assign_attrs(scale_factor=0.1), "mask_and_scale"),
        (xr.DataArray(np.zeros((4, 4)), dims=("y", "x")), "has no coordinates, so its cell size is unknown"),
        (xr.DataArray(np.zeros(4), dims=("y",)), "must have two, rows and columns"),
        (xr.Dataset({"z": (("y", "x"), np.zeros((4, 4)))}), "is a Dataset without a variable height"),
    ],
)
def test_maps_that_cannot_be_are_refused_with_advice(given, words):
    with pytest.raises(ValueError, match=words):
        tw.flow.fill_depressions(given)


def test_a_reference_system_in_degrees_or_feet_is_refused():
    CRS = pytest.importorskip("pyproj").CRS
    for code, words in [(4326, "is in degrees"), (2227, "US survey foot"), (3857, "Pseudo-Mercator")]:
        da = grid(UP, UP).assign_coords(spatial_ref=0)
        da.spatial_ref.attrs.update(CRS.from_epsg(code).to_cf())
        with pytest.raises(ValueError, match=words):
            tw.drain(da)
    da.attrs["units"] = "m"
    with pytest.warns(UserWarning, match="is read with square cells of 10 m, as requested"):
        tw.slopes.slope(da, cell_size=10.0)


def placed(code, step=10.0, **attrs):
    """A map with a reference system, as rioxarray makes it, and coordinates without units."""
    rioxarray = pytest.importorskip("rioxarray")
    assert rioxarray
    heights = np.random.default_rng(3).normal(0.0, 50.0, (30, 40))
    y, x = 5e6 - step * np.arange(30), 4e5 + step * np.arange(40)
    return xr.DataArray(heights, coords={"y": y, "x": x}, dims=("y", "x"), name="dem", attrs=attrs).rio.write_crs(code)


def reopened(dem, path, **options):
    """The map as xarray writes it and opens it again."""
    pytest.importorskip("netCDF4")
    dem.to_netcdf(path)
    with xr.open_dataset(path, **options) as file:
        found = file.load()
    for name in ("y", "x"):
        found[name].attrs.clear()
    return found


LOST = r"dem has lost its coordinate reference system: .*`spatial_ref` \(grid_mapping\).*decode_coords=\"all\".*\.rio\.write_crs"


@pytest.mark.parametrize("code", ["EPSG:32633", "EPSG:2227", "EPSG:4326"])
def test_a_map_that_has_lost_its_system_is_refused(code, tmp_path):
    dem = placed(code)
    lost = reopened(dem, tmp_path / "dem.nc").dem
    assert "spatial_ref" not in lost.coords
    for function in (tw.flow.fill_depressions, tw.drain, tw.slopes.slope, tw.thermal, tw.measure):
        with pytest.raises(ValueError, match=LOST):
            function(lost)
    with pytest.raises(ValueError, match=LOST):
        tw.drain(dem.drop_vars("spatial_ref"))
    with pytest.raises(ValueError, match="flow_direction has lost its coordinate reference system"):
        tw.flow.outlet_distance(xr.zeros_like(lost).astype("u1").assign_attrs(grid_mapping="spatial_ref"))
    with pytest.warns(UserWarning, match=LOST):
        found = tw.drain(lost, unit="metre")
    with pytest.warns(UserWarning, match=LOST):
        assert np.array_equal(tw.drain(lost, cell_size=10.0).drainage_area, found.drainage_area)


def test_a_system_that_is_kept_or_restored_is_that_of_the_results(tmp_path):
    dem = placed("EPSG:32633")
    wanted = tw.drain(dem)
    back = reopened(dem, tmp_path / "dem.nc")
    whole = reopened(dem, tmp_path / "whole.nc", decode_coords="all").dem
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for given in (back.dem.rio.write_crs("EPSG:32633"), whole, back.rename(dem="height"), (whole * 1.0).rename(None)):
            found = tw.drain(given)
            assert np.array_equal(found.flow_direction, wanted.flow_direction)
            for name in ("filled", "basin"):
                assert found[name].rio.crs == dem.rio.crs, name
            # A map is written with its system.
            assert found.basin.encoding["grid_mapping"] == "spatial_ref"
            found.to_netcdf(tmp_path / "found.nc")
    with pytest.raises(ValueError, match="feet|US survey foot"):
        tw.drain(back.dem.rio.write_crs("EPSG:2227"))


def test_a_map_without_a_system_is_read_as_metres_with_a_warning():
    dem = grid(UP, UP)
    words = r"dem has no coordinate reference system, so its coordinates are read as metres; .*\.rio\.write_crs"
    with pytest.warns(UserWarning, match=words) as said:
        wanted = tw.flow.fill_depressions(dem)
    assert len(said) == 1 and said[0].filename == __file__
    with pytest.warns(UserWarning, match=words):
        tw.drain(placed("EPSG:32633").drop_vars("spatial_ref").drop_encoding())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for given, options in [(grid(UP, UP, units="m"), {}), (grid(UP, UP, units="metre"), {}), (dem, {"cell_size": 10.0})]:
            assert np.array_equal(tw.flow.fill_depressions(given, **options), wanted)
        tw.drain(dem, unit="metre")
        # The package's own results state their unit.
        tw.drain(tw.crop(grid(UP, UP, units="m"), window=(0, 0, 3, 3)))


@pytest.mark.parametrize("unit", ["ft", "feet", "foot", "US survey foot", "km", "kilometre", "mile"])
def test_coordinates_in_other_units_are_refused(unit):
    with pytest.raises(ValueError, match=f"feet|coordinates in `{unit}`; convert them to metres"):
        tw.flow.fill_depressions(grid(UP, UP, units=unit))
    assert tw.drain(grid(UP, UP, units=unit), unit="metre").filled.shape == (4, 4)


@pytest.mark.parametrize(
    ("system", "epsg", "geographic", "units"),
    [
        ("EPSG:32633", 32633, False, ["metre"]),
        ("EPSG:2227", 2227, False, ["US survey foot"]),
        ("EPSG:4326", 4326, True, []),
        # A compound system, and one without a code: the codes of its parts are not its own.
        ("EPSG:32633+5703", None, False, ["metre"]),
        ("+proj=lcc +lat_1=40 +lat_2=50 +lon_0=10 +units=km", None, False, ["kilometre"]),
        ("+proj=lcc +lat_1=40 +lat_2=50 +lon_0=10 +datum=WGS84", None, False, ["metre"]),
    ],
)
@pytest.mark.parametrize("version", ["WKT1_GDAL", "WKT1_ESRI", "WKT2_2019"])
def test_systems_are_read_from_any_text(system, epsg, geographic, units, version):
    CRS = pytest.importorskip("pyproj").CRS
    from thalweg.xarray import _system

    try:
        text = CRS.from_user_input(system).to_wkt(version)
    except Exception:
        pytest.skip(f"{version} does not express {system}")
    da = grid(UP, UP).assign_coords(crs=xr.DataArray(0, attrs={"crs_wkt": text})).assign_attrs(grid_mapping="crs")
    found = _system(da, ("y", "x"))
    assert found.geographic == geographic and found.has_crs and found.lost is None
    if version != "WKT1_ESRI":  # which has no codes, and its own names of units
        assert found.epsg == epsg and found.units == units
    plain = grid(UP, UP).assign_attrs(crs=system)
    assert _system(plain, ("y", "x")).geographic == geographic


def test_dimensions_are_found_by_their_names_and_attributes(dem):
    wanted = tw.flow.fill_depressions(dem)
    for names in ({"y": "northing", "x": "easting"}, {"y": "row", "x": "col"}, {"y": "Y", "x": "X"}, {"y": "latitude_index", "x": "x"}):
        named = dem.rename(names)
        for given in (named, named.transpose(names["x"], names["y"])):
            assert np.array_equal(tw.flow.fill_depressions(given).transpose(*names.values()), wanted), names
    odd = dem.rename(y="j", x="i")
    odd.j.attrs["axis"], odd.i.attrs["standard_name"] = "Y", "projection_x_coordinate"
    assert np.array_equal(tw.flow.fill_depressions(odd.transpose("i", "j")).transpose("j", "i"), wanted)


def test_a_map_without_coordinates_takes_a_cell_size():
    da = xr.DataArray(np.random.default_rng(1).normal(0, 50, (30, 40)), dims=("y", "x"))
    found = tw.drain(da, cell_size=10.0)
    assert np.array_equal(found.drainage_area, tw.drain(da.values, cell_size=10.0).drainage_area)


def test_dask_is_computed_with_a_warning(dem):
    pytest.importorskip("dask")
    with pytest.warns(UserWarning, match="computed whole: its 112125 cells") as said:
        filled = tw.flow.fill_depressions(dem.chunk(100))
    assert np.array_equal(filled, tw.flow.fill_depressions(dem)) and filled.chunks is None
    assert said[0].filename == __file__, "the warning points at who called"


def test_the_reaches_of_a_drainage_are_lines(dem):
    geopandas = pytest.importorskip("geopandas")
    found = tw.drain(dem, method="dinf")
    reaches = tw.reaches(found)
    assert isinstance(reaches, geopandas.GeoDataFrame) and str(reaches.crs) == "EPSG:32616"
    reach = reaches.iloc[reaches["length"].argmax()]
    x, y = reach.geometry.coords[0]
    assert found.stream_order.sel(x=x, y=y, method="nearest") == reach.order
    assert reach.geometry.length == pytest.approx(reach["length"], rel=1e-9)
    assert found.drainage_area.attrs["units"] == "m2" and found.filled.attrs["units"] == "m"
    # The former access, for one version.
    with pytest.warns(DeprecationWarning, match=r"call thalweg.reaches\(dataset\)") as said:
        former = found.reaches
    assert former.equals(reaches) and found.tw.reaches().equals(reaches) and said[0].filename == __file__
    # Other Datasets have no such attribute, or their own.
    assert not hasattr(xr.Dataset(), "reaches") and xr.Dataset({"reaches": 3}).reaches == 3
    assert xr.Dataset(attrs={"reaches": 4}).reaches == 4


def test_build_gives_a_dataset_that_is_kept_and_read_again(tmp_path):
    world = tw.build("hills", cells=64, seed=3)
    assert isinstance(world, xr.Dataset) and world.height.attrs["units"] == "m" and world.discharge.attrs["units"] == "m³/s"
    assert world.attrs["seed"] == 3 and world.y[0] > world.y[-1]
    plain = tw.build("hills", cells=64, seed=3, xarray=False)
    assert np.array_equal(world.height, plain.height) and plain.to_xarray().identical(world)
    pytest.importorskip("netCDF4")
    world.to_netcdf(tmp_path / "world.nc")
    with xr.open_dataset(tmp_path / "world.nc") as back:
        assert np.array_equal(back.height, world.height)
        assert np.array_equal(tw.thermal(back.load()).height, tw.thermal(world).height)
    assert pickle.loads(pickle.dumps(world)).identical(world)


def test_the_accessor_has_the_functions(dem, tmp_path):
    assert np.array_equal(dem.tw.fill_depressions(), tw.flow.fill_depressions(dem)) and np.array_equal(dem.tw.slope(), tw.slopes.slope(dem))
    assert np.array_equal(dem.tw.droplets(density=50), tw.droplets(dem, density=50))
    assert dem.tw.measure()["relief"] == tw.measure(dem)["relief"] and "droplets" in dir(dem.tw)
    world = tw.build("hills", cells=64)
    assert world.tw.shade().shape == (64, 64, 3) and not np.array_equal(world.tw.shade(), world.height.tw.shade())
    world.tw.view(tmp_path / "view.png", size=(64, 96))
    dem.tw.write(tmp_path / "dem.tif", type="f64")
    again = tw.read(tmp_path / "dem.tif")
    assert np.array_equal(again, dem) and again.spatial_ref.attrs["crs_wkt"] == dem.spatial_ref.attrs["crs_wkt"]
    with pytest.raises(AttributeError):
        dem.tw.nothing


def test_the_accessor_comes_with_xarray():
    for program in (
        "import xarray, thalweg; assert hasattr(xarray.DataArray, 'tw')",
        "import thalweg, xarray; assert not hasattr(xarray.DataArray, 'tw'); import thalweg.xarray; assert hasattr(xarray.Dataset, 'tw')",
    ):
        subprocess.run([sys.executable, "-c", program], check=True)


def test_evolve_gives_maps_by_time(dem, tmp_path):
    recipe = {"stage": [{"model": "stream_power", "years": 100_000.0, "step": 20_000.0}]}
    kept = tw.evolve(dem, recipe, save_every=50_000)
    assert kept.elevation.dims == ("time", "y", "x") and kept.time.values.tolist() == [0.0, 60_000.0, 100_000.0]
    assert np.array_equal(kept.elevation[0], dem) and kept.time.attrs["units"] == "a"
    files = tw.evolve(dem, recipe, save_every=50_000, folder=tmp_path)
    assert np.array_equal(tw.read(str(files.files[-1].item())), kept.elevation[-1])


def test_layers_and_weights_lie_as_their_map(dem):
    turned = dem.isel(y=slice(None, None, -1))
    rain = xr.ones_like(dem) * np.linspace(0, 1, dem.sizes["x"])
    codes = tw.flow.d8(dem)
    wanted = tw.flow.accumulate_flow(codes, rain)
    assert np.array_equal(tw.flow.accumulate_flow(tw.flow.d8(turned), rain).isel(y=slice(None, None, -1)), wanted)
    hard = xr.zeros_like(dem) + (dem > 500)
    assert np.array_equal(
        tw.droplets(turned, density=50, layers={"hardness": hard}).isel(y=slice(None, None, -1)), tw.droplets(dem, density=50, layers={"hardness": hard})
    )


def test_a_tile_is_a_dataset():
    tile = tw.World("hills", cells=64, tile=32).tile(1, 500.0, 700.0)
    assert isinstance(tile, xr.Dataset) and {"height", "discharge", "flow_direction", "drainage_area"} <= set(tile)
