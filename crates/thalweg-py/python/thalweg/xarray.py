"""Conversion from and to DataArrays and Datasets, and the accessor ``.tw``.

The accessor ``.tw`` is registered when this module is imported. ``import thalweg`` imports it if xarray has been
imported before; every function that returns a Dataset also imports it.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from . import _core
from ._arrays import HEIGHT, Input, Label, Layout, as_numbers, warn_caller
from ._methods import METHODS
from ._place import column_coordinates, row_coordinates, transform_of

# Results have the accessor `.rio` if rioxarray is installed.
with contextlib.suppress(ImportError):
    importlib.import_module("rioxarray")

Array = NDArray[Any]

ROWS = ("y", "lat", "latitude", "northing", "row", "rows")
COLUMNS = ("x", "lon", "longitude", "easting", "col", "column", "columns")
ANGULAR = ("lat", "latitude", "lon", "longitude")
STAND_INS = ("_FillValue", "missing_value", "nodata")


def _dims(da: xr.DataArray, what: str) -> tuple[str, str]:
    """Return the names of the dimensions of rows and columns."""
    names = [str(name) for name in da.dims]
    y = next((name for name in names if name.lower() in ROWS), None)
    x = next((name for name in names if name.lower() in COLUMNS), None)
    if y is not None and x is not None:
        return y, x
    if len(names) < 2:
        raise ValueError(f"{what} has the dimensions {names}; it must have two, rows and columns")
    return names[-2], names[-1]


def _flat(da: xr.DataArray, what: str) -> tuple[xr.DataArray, str, str]:
    """Return the map with two dimensions, rows first; others must have length 1, as in rasters of one band."""
    y, x = _dims(da, what)
    others = [name for name in da.dims if name not in (y, x)]
    many = [name for name in others if da.sizes[name] != 1]
    if many:
        raise ValueError(f"{what} has the dimensions {dict(da.sizes)}; it must have two, so select one map with .isel({many[0]}=0)")
    return da.squeeze(others, drop=False).transpose(y, x), y, x


def _computed(da: xr.DataArray, what: str) -> Array:
    if da.chunks is not None:
        warn_caller(
            f"{what} is backed by dask and is computed whole: its {da.size} cells are loaded into memory, because "
            "water may flow from any cell to any other. If a map does not fit into memory, process one drainage basin at a time "
            "(.isel), or compute the world by tiles (thalweg.World)"
        )
    return np.asarray(da.data if da.chunks is None else da.compute().data)


def _step(da: xr.DataArray, dim: str, what: str) -> tuple[float, float] | None:
    """Return the first coordinate along a dimension and the distance to the next one; None if there are none."""
    if dim not in da.coords or da.sizes[dim] < 2:
        return None
    values = np.asarray(da.coords[dim].values)
    if values.dtype.kind not in "iuf":
        raise ValueError(f"{what} has coordinates {dim} of dtype {values.dtype}; they must be numbers")
    values = values.astype(np.float64)
    step = (values[-1] - values[0]) / (len(values) - 1)
    steps = np.diff(values)
    if step == 0.0 or not np.all(np.abs(steps - step) <= 1e-3 * abs(step)):
        low, high = steps.min(), steps.max()
        raise ValueError(f"{what} has coordinates {dim} in steps of {low:g} to {high:g}; the steps must be equal, so resample the map")
    return float(values[0]), float(step)


def _system(da: xr.DataArray, dims: Sequence[str]) -> dict[str, Any]:
    """Return the coordinate reference system of a map, in the form that the core expects."""
    name = da.encoding.get("grid_mapping") or da.attrs.get("grid_mapping") or "spatial_ref"
    attrs = da.coords[name].attrs if name in da.coords else {}
    wkt = str(attrs.get("crs_wkt") or attrs.get("spatial_ref") or da.attrs.get("crs") or "")
    codes = re.findall(r"EPSG[\"']?\s*[,:]\s*[\"']?(\d+)", wkt)
    geographic: bool | None = None
    if wkt:
        geographic = "PROJ" not in wkt.upper() and "[" in wkt
    if attrs.get("grid_mapping_name") == "latitude_longitude":
        geographic = True
    units = [str(da.coords[dim].attrs.get("units", "")) for dim in dims if dim in da.coords]
    if any(dim.lower() in ANGULAR for dim in dims) or any(unit.startswith("degree") for unit in units):
        geographic = True
    odd = [unit for unit in units if unit and not unit.startswith("degree") and unit not in ("m", "metre", "meter", "metres", "meters", "1")]
    words = " ".join(re.findall(r"(?:LENGTHUNIT|UNIT)\[\s*\"([^\"]*)\"", wkt.split("VERT")[0])[-1:] + odd)
    epsg = int(codes[-1]) if codes and int(codes[-1]) < 65536 else None
    return {"epsg": epsg, "geographic": geographic, "words": words}


def _laid(da: xr.DataArray, y: str, x: str, what: str) -> tuple[tuple[float, ...] | None, bool, bool]:
    """Return the affine transform from the north-western corner, and True for rows or columns to reverse for it."""
    down, right = _step(da, y, what), _step(da, x, what)
    if down is None or right is None:
        return None, False, False
    (first_y, step_y), (first_x, step_x) = down, right
    last_y, last_x = first_y + step_y * (da.sizes[y] - 1), first_x + step_x * (da.sizes[x] - 1)
    west, north = min(first_x, last_x), max(first_y, last_y)
    width, height = abs(step_x), abs(step_y)
    return (west - width / 2, width, 0.0, north + height / 2, 0.0, -height), step_y > 0.0, step_x < 0.0


def _layout(template: xr.DataArray, turned: tuple[bool, bool], kind: str) -> Layout:
    def orient(values: Array) -> Array:
        values = values[::-1] if turned[0] else values
        return values[:, ::-1] if turned[1] else values

    def wrap(values: Array, label: Label) -> xr.DataArray:
        keeps = label is HEIGHT
        attrs = {key: value for key, value in template.attrs.items() if keeps and key not in STAND_INS}
        attrs = {"units": label.units, "long_name": label.long_name} | attrs
        made = xr.DataArray(orient(values), coords=template.coords, dims=template.dims, attrs=attrs)
        made.name = (template.name or label.name) if keeps else label.name
        mapping = template.encoding.get("grid_mapping")
        if mapping is not None:
            made.encoding["grid_mapping"] = mapping
        return made

    return Layout(wrap, orient, kind)


def _check_scale(da: xr.DataArray, what: str) -> None:
    """Raise a ValueError for values that are not yet metres.

    xarray leaves scale and offset in the attributes if it was asked not to apply them.
    """
    for name, none in (("scale_factor", 1.0), ("add_offset", 0.0)):
        value = float(da.attrs.get(name, none))
        if value != none:
            raise ValueError(f"{what} has the attribute {name} = {value:g}, so its values are not scaled yet; open it with mask_and_scale=True")


def _nodata(da: xr.DataArray) -> float | None:
    for name in STAND_INS:
        value = da.attrs.get(name, da.encoding.get(name))
        if value is not None and np.ndim(value) == 0 and not np.isnan(float(value)):
            return float(value)
    return None


def read_terrain(
    dem: xr.DataArray | xr.Dataset,
    *,
    what: str,
    cell_size: float | None,
    nodata: float | None,
    unit: str | None,
    sea_level: float | None,
    edges: Any,
    layers: Mapping[str, Any] | None,
) -> Input:
    """Read a terrain from a DataArray, or from a Dataset with a variable ``height`` and layers as further variables."""
    kind = "array" if isinstance(dem, xr.DataArray) else "dataset"
    own: dict[str, xr.DataArray] = {}
    if isinstance(dem, xr.Dataset):
        if "height" not in dem:
            names = ", ".join(map(str, dem.data_vars))
            raise ValueError(f"{what} is a Dataset without a variable height (it has {names}); rename one to height, or pass it as a DataArray")
        da = dem["height"]
        own = {str(name): other for name, other in dem.data_vars.items() if name != "height" and other.dims == da.dims}
        sea_level = dem.attrs.get("sea_level") if sea_level is None else sea_level
    else:
        da = dem
    flat, y, x = _flat(da, what)
    _check_scale(flat, what)
    transform, *turned = _laid(flat, y, x, what)
    place = {"transform": transform, **_system(flat, (y, x))}
    units = flat.attrs.get("units")
    if transform is None and cell_size is None:
        raise ValueError(f"{what} has no coordinates, so its cell size is unknown; give cell_size, the side of a cell in metres")
    cell, said = _core.cell_of(what, place, None if units is None else str(units), cell_size, unit)
    for message in said:
        warn_caller(f"{what} {message}")
    layout = _layout(flat, (turned[0], turned[1]), kind)
    values = _computed(flat, what)
    heights = as_numbers(layout.orient(values), what)
    known = _known_layers()
    laid = {name: as_numbers(layout.orient(np.asarray(_flat(other, name)[0].data)), f"layer {name}") for name, other in own.items() if name in known}
    for name, other in (layers or {}).items():
        oriented = read_map(other, f"layer {name}")[0] if isinstance(other, xr.DataArray) else as_numbers(layout.orient(np.asarray(other)), f"layer {name}")
        laid[name] = oriented
    stand_in = _nodata(flat) if nodata is None else nodata
    core = _core.Terrain(heights, cell, nodata=stand_in, sea_level=sea_level, edges=edges, place=place, layers=laid)
    return Input(core, layout, values.dtype == np.float32)


def _known_layers() -> set[str]:
    """Return the names of the layers that models read and write."""
    return {name for page in _core.models() for spec in ("needs", "uses", "writes") for name, _, _ in page[spec]} | {"sediment"}


def read_map(values: xr.DataArray, what: str) -> tuple[Array, Layout]:
    """Return a map of values other than heights as an array with rows from north to south, and its layout."""
    flat, y, x = _flat(values, what)
    _, *turned = _laid(flat, y, x, what)
    layout = _layout(flat, (turned[0], turned[1]), "array")
    array = _computed(flat, what)
    if array.dtype.kind == "b":
        array = array.astype(np.uint8)
    return as_numbers(layout.orient(array), what), layout


def cell_of(values: xr.DataArray) -> float:
    """Return the side of a map's cells in metres."""
    flat, y, x = _flat(values, "flow_direction")
    transform, *_ = _laid(flat, y, x, "flow_direction")
    place = {"transform": transform, **_system(flat, (y, x))}
    return _core.cell_of("flow_direction", place, None, None, None)[0]


def _reference(epsg: int | None, transform: Sequence[float]) -> xr.DataArray:
    """Return the coordinate with the georeference of a map, in the form that rioxarray and GDAL read."""
    attrs: dict[str, Any] = {"GeoTransform": " ".join(repr(float(number)) for number in transform)}
    if epsg is not None:
        try:
            from pyproj import CRS

            attrs = CRS.from_epsg(epsg).to_cf() | attrs
            attrs["spatial_ref"] = attrs.get("crs_wkt", f"EPSG:{epsg}")
        except ImportError:
            attrs["spatial_ref"] = f"EPSG:{epsg}"
    return xr.DataArray(0, attrs=attrs)


def as_dataset(core: _core.Terrain, report: Mapping[str, Any] | None, layout: Layout | None) -> xr.Dataset:
    """Return a Dataset of heights, layers and tables with the coordinates of a layout, by default the terrain's."""
    wrap: Callable[[Array, Label], xr.DataArray]
    if layout is None:
        coords: dict[str, Any] = {
            "y": ("y", row_coordinates(core), {"units": "m", "standard_name": "projection_y_coordinate", "axis": "Y"}),
            "x": ("x", column_coordinates(core), {"units": "m", "standard_name": "projection_x_coordinate", "axis": "X"}),
            "spatial_ref": _reference(core.place[1], transform_of(core)),
        }
        template = xr.DataArray(np.empty((0, 0)), dims=("y", "x"))

        def placed(values: Array, label: Label) -> xr.DataArray:
            attrs = {"units": label.units, "long_name": label.long_name}
            made = xr.DataArray(values, coords=coords, dims=template.dims, attrs=attrs, name=label.name)
            made.encoding["grid_mapping"] = "spatial_ref"
            return made

        wrap = placed
    else:
        wrap = layout.wrap
    maps = {"height": wrap(core.height(), Label(*HEIGHT)).rename("height")}
    for name in core.layers:
        unit, meaning = core.about(name)
        maps[name] = wrap(core.layer(name), Label(name, unit, meaning))
    for table, columns in core.tables().items():
        for column, (unit, values) in columns.items():
            maps[f"{table}.{column}"] = xr.DataArray(values, dims=(table,), attrs={"units": unit})
    made = xr.Dataset(maps)
    if core.sea_level is not None:
        made.attrs["sea_level"] = core.sea_level
    if report is not None:
        made.attrs["recipe"] = report["recipe"]
        made.attrs["recipe_hash"] = report["recipe_hash"]
        made.attrs["seed"] = report["seed"]
        made.attrs["thalweg"] = report["thalweg"]
    return made


def drainage_dataset(found: Any, layout: Layout, labels: Mapping[str, Label]) -> xr.Dataset:
    """Return a Dataset of a drainage, with its reaches in the attributes."""
    maps = {name: layout.wrap(getattr(found, name), label) for name, label in labels.items() if getattr(found, name) is not None}
    made = xr.Dataset(maps)
    made.attrs["threshold_m2"] = found.summary["threshold_m2"]
    made.attrs["reaches"] = _lines(found.reaches, maps["filled"])
    return made


def _lines(reaches: Sequence[Any], like: xr.DataArray) -> Any:
    """Return reaches as a GeoDataFrame in the coordinates of the map.

    If geopandas is not installed or the map has no coordinates, return the reaches as a list.
    """
    y, x = (str(name) for name in like.dims)
    if y not in like.coords or x not in like.coords:
        return list(reaches)
    try:
        import geopandas
        from shapely import LineString
    except ImportError:
        return list(reaches)
    rows = np.asarray(like.coords[y].values, dtype=np.float64)
    columns = np.asarray(like.coords[x].values, dtype=np.float64)
    rows = np.sort(rows)[::-1]
    columns = np.sort(columns)
    lines = [LineString(np.column_stack([columns[reach.cells[:, 1]], rows[reach.cells[:, 0]]])) for reach in reaches]
    names = ("id", "order", "magnitude", "length", "drop", "slope", "drainage_area", "downstream")
    table = {name: [getattr(reach, name) for reach in reaches] for name in names}
    system = _system(like, (y, x))["epsg"]
    return geopandas.GeoDataFrame(table, geometry=lines, crs=None if system is None else f"EPSG:{system}")


def states_dataset(
    time: Sequence[float], maps: Sequence[Array], files: Sequence[str], core: _core.Terrain, layout: Layout
) -> xr.Dataset:
    """Return a Dataset of maps by time, or of the paths of the files that contain them."""
    years = xr.DataArray(np.asarray(time), dims=("time",), attrs={"units": "a", "long_name": "Simulated years."})
    if files:
        return xr.Dataset({"files": ("time", np.asarray(files))}, coords={"time": years})
    place = state_template(core, layout, maps[0])
    laid = [as_state(year, values, place, layout) for year, values in zip(time, maps, strict=True)]
    return xr.concat(laid, dim="time").to_dataset().assign_coords(time=years)


def state_template(core: _core.Terrain, layout: Layout, heights: Array) -> xr.DataArray:
    """Return the DataArray whose coordinates all maps of a run have: those of the layout or else the terrain's."""
    if layout.is_xarray:
        made: xr.DataArray = layout.wrap(heights, HEIGHT)
        return made
    return as_dataset(core, None, None)["height"]


def as_state(years: float, heights: Array, place: xr.DataArray, layout: Layout) -> xr.DataArray:
    """Return the heights at a time as a DataArray with the dimension ``time`` of length 1."""
    made = place.copy(data=layout.orient(heights)) if layout.is_xarray else place.copy(data=heights)
    made = made.rename("elevation").expand_dims(time=[float(years)])
    made.time.attrs.update(units="a", long_name="Simulated years.")
    if "grid_mapping" in place.encoding:
        made.encoding["grid_mapping"] = place.encoding["grid_mapping"]
    return made


class Accessor:
    """The accessor ``.tw`` of a DataArray of heights, or of a Dataset with a variable ``height``.

    Its methods are the functions of :mod:`thalweg.models`, :mod:`thalweg.flow` and :mod:`thalweg.slopes`, and
    ``crop``, ``drain``, ``measure``, ``mesh``, ``resample``, ``rivers``, ``shade``, ``view`` and ``write`` of
    :mod:`thalweg`, with the object as their first argument.

    Examples
    --------
    >>> import thalweg.xarray  # registers the accessor
    >>> found = dem.tw.drain(threshold=1e6)  # the same as thalweg.drain(dem, threshold=1e6)
    """

    def __init__(self, own: Any) -> None:
        self._own = own

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS:
            raise AttributeError(name)
        method = functools.partial(METHODS[name], self._own)
        method.__doc__ = METHODS[name].__doc__
        return method

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *METHODS]


if not hasattr(xr.DataArray, "tw"):
    xr.register_dataarray_accessor("tw")(Accessor)  # type: ignore[no-untyped-call]
    xr.register_dataset_accessor("tw")(Accessor)  # type: ignore[no-untyped-call]

__all__ = ["Accessor"]
