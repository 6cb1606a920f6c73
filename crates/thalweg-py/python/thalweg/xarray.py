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
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from . import _core
from ._arrays import (
    HEIGHT,
    Input,
    Label,
    Layout,
    as_flow_codes,
    as_map,
    as_numbers,
    as_stream_mask,
    core_terrain,
    warn_caller,
    warn_computed,
)
from ._methods import METHODS
from ._place import column_coordinates, row_coordinates, transform_of

# Results have the accessor `.rio` if rioxarray is installed.
with contextlib.suppress(ImportError):
    importlib.import_module("rioxarray")

Array = NDArray[Any]

ROWS = ("y", "lat", "latitude", "northing", "row", "rows")
COLUMNS = ("x", "lon", "longitude", "easting", "col", "column", "columns")
ANGULAR = ("lat", "latitude", "lon", "longitude")
STAND_INS = ("_FillValue", "missing_value", "nodata", "nodatavals")

#: The names of a metre, and the attributes of a coordinate with a coordinate reference system.
METRES = ("m", "metre", "meter", "metres", "meters")
SYSTEM = ("crs_wkt", "spatial_ref", "grid_mapping_name")

#: The variables of a drainage from which its reaches are traced.
DRAINAGE = ("filled", "flow_direction", "stream_order")


def _dims(da: xr.DataArray, what: str) -> tuple[str, str]:
    """Return the names of the dimensions of rows and columns."""
    names = [str(name) for name in da.dims]
    if len(names) < 2:
        raise ValueError(f"{what} has the dimensions {names}; it must have two, rows and columns")

    def find(known: Sequence[str], axis: str, standard: Sequence[str]) -> str | None:
        named = [name for name in names if name.lower() in known]
        for name in (name for name in names if name in da.coords):
            attrs = da.coords[name].attrs
            if attrs.get("axis") == axis or attrs.get("standard_name") in standard:
                named.append(name)
        return named[0] if named else None

    y = find(ROWS, "Y", ("projection_y_coordinate", "latitude"))
    x = find(COLUMNS, "X", ("projection_x_coordinate", "longitude"))
    # If only one dimension is known, the other one is the last of those that are left.
    rest = [name for name in names if name not in (y, x)]
    if y is None and x is None:
        return names[-2], names[-1]
    return y or rest[-1], x or rest[-1]


def _flat(da: xr.DataArray, what: str) -> tuple[xr.DataArray, str, str]:
    """Return the map with two dimensions, rows first; others must have length 1, as in rasters of one band."""
    y, x = _dims(da, what)
    others = [name for name in da.dims if name not in (y, x)]
    many = [name for name in others if da.sizes[name] != 1]
    if many:
        raise ValueError(f"{what} has the dimensions {dict(da.sizes)}; it must have two, so select one map with .isel({many[0]}=0)")
    return da.squeeze(others, drop=False).transpose(y, x), y, x


def _computed(da: xr.DataArray, what: str | None) -> Any:
    """Return the values of a map, which may be masked. If it is backed by dask, warn about the map ``what``."""
    if da.chunks is None:
        return da.data
    if what is not None:
        warn_computed(what, da.size)
    return da.compute().data


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


def _grid_mapping(da: xr.DataArray) -> str | None:
    """Return the name of the coordinate that a map declares to contain its coordinate reference system."""
    name = da.encoding.get("grid_mapping") or da.attrs.get("grid_mapping")
    # CF allows `crs: x y` as well.
    return None if name is None else re.split(r"[:\s]", str(name).strip())[0]


def _with_system(dataset: xr.Dataset, name: str) -> xr.DataArray:
    """Return a variable with the coordinate reference system that it declares.

    xarray opens a NetCDF file with the system as a variable, which a DataArray of the Dataset does not have.
    """
    da = dataset[name]
    mapping = _grid_mapping(da)
    if mapping is None or mapping in da.coords or mapping not in dataset.variables:
        return da
    return da.assign_coords({mapping: dataset.variables[mapping]})


class _System(NamedTuple):
    """The statements of a map about its coordinates.

    Attributes
    ----------
    epsg : int or None
        The EPSG code of its coordinate reference system.
    geographic : bool or None
        True if the coordinates are degrees; None if nothing states it.
    units : list of str
        The units of the coordinates by their attributes and by the system, without degrees.
    has_crs : bool
        True if it has a coordinate reference system.
    lost : str or None
        The name of a coordinate that it declares to contain the system, but does not have.
    """

    epsg: int | None
    geographic: bool | None
    units: list[str]
    has_crs: bool
    lost: str | None

    def place(self, transform: tuple[float, ...] | None) -> dict[str, Any]:
        """Return the georeference of the map in the form that the core expects."""
        return {"transform": transform, "epsg": self.epsg, "geographic": self.geographic, "words": " ".join(self.units)}


def _system_name(da: xr.DataArray) -> str | None:
    """Return the name of the coordinate with the coordinate reference system of a map; None if it has none."""
    declared = _grid_mapping(da)
    if declared in da.coords:
        return declared
    # Arithmetic keeps scalar coordinates, but not the attribute that names one of them.
    scalars = [str(name) for name, coordinate in da.coords.items() if coordinate.ndim == 0]
    return next((name for name in scalars if any(key in da.coords[name].attrs for key in SYSTEM)), None)


def _system_attrs(da: xr.DataArray) -> Mapping[Any, Any]:
    """Return the attributes of the coordinate with the coordinate reference system; without one, nothing."""
    name = _system_name(da)
    return {} if name is None else da.coords[name].attrs


def _as_wkt(system: str) -> str:
    """Return the coordinate reference system in WKT if pyproj is installed, otherwise as it is."""
    if not system or "[" in system:
        return system
    try:
        from pyproj import CRS

        return str(CRS.from_user_input(system).to_wkt())
    except (ImportError, ValueError, RuntimeError):
        return system


def _system(da: xr.DataArray, dims: Sequence[str]) -> _System:
    """Return the statements of a map about its coordinates."""
    attrs = _system_attrs(da)
    text = str(attrs.get("crs_wkt") or attrs.get("spatial_ref") or da.attrs.get("crs") or "")
    text = text.strip().removeprefix("+init=")
    wkt = _as_wkt(text)
    # The code of the whole system is the last item of its text; other codes are those of its parts.
    codes = re.findall(r"(?:ID|AUTHORITY)\[\s*\"EPSG\"\s*,\s*\"?(\d+)\"?\s*\]\s*\]\s*$", wkt)
    codes += re.findall(r"(?i)^epsg:(\d+)$", text)
    epsg = int(codes[0]) if codes and int(codes[0]) < 65536 else None
    geographic: bool | None = None
    if "[" in wkt:
        projected = re.search(r"\b(?:PROJCS|PROJCRS|PROJECTEDCRS|DERIVEDPROJCRS)\[", wkt)
        degrees = re.search(r"\b(?:GEOGCS|GEOGCRS|GEODCRS|GEODETICCRS|GEOGRAPHICCRS)\[", wkt)
        geographic = degrees is not None and projected is None
    elif wkt:
        # Without pyproj; EPSG numbers most geographic systems from 4001 to 4999.
        geographic = "longlat" in wkt or (epsg is not None and 4000 < epsg < 5000)
    if attrs.get("grid_mapping_name") == "latitude_longitude":
        geographic = True
    # The last unit of a length is that of the axes, except in a vertical system or the target of a transformation.
    horizontal = re.split(r"\b(?:VERT_CS|VERTCRS|VERTICALCRS|TARGETCRS)\[", wkt)[0]
    units = [] if geographic else re.findall(r"\b(?:LENGTHUNIT|UNIT)\[\s*\"([^\"]*)\"", horizontal)[-1:]
    units += [str(da.coords[dim].attrs.get("units", "")) for dim in dims if dim in da.coords]
    if any(dim.lower() in ANGULAR for dim in dims) or any(unit.startswith("degree") for unit in units):
        geographic = True
    units = [unit for unit in units if unit.lower() not in ("", "1", "unknown") and not unit.startswith("degree")]
    declared = _grid_mapping(da)
    return _System(
        epsg=epsg,
        geographic=geographic,
        units=units,
        has_crs=any(key in attrs for key in SYSTEM) or "crs" in da.attrs,
        lost=declared if declared not in da.coords else None,
    )


def _cell_of(
    what: str,
    system: _System,
    transform: tuple[float, ...] | None,
    heights: Any,
    cell_size: float | None,
    unit: str | None,
) -> float:
    """Return the side of a map's cells in metres, with warnings about what is assumed; ``heights`` is their unit.

    Raises
    ------
    ValueError
        If the map has no coordinates, or if they are not metres or have lost their unit.
    """
    if transform is None and cell_size is None:
        advice = "give cell_size, the side of a cell in metres"
        raise ValueError(f"{what} has no coordinates, so its cell size is unknown; {advice}")
    asked = cell_size is not None or unit is not None
    restore = "restore it with .rio.write_crs(\"EPSG:CODE\")"
    if system.lost is not None and not system.has_crs:
        lost = (
            f"{what} has lost its coordinate reference system: it declares it in the coordinate `{system.lost}` "
            f"(grid_mapping), which it does not have; open its file with decode_coords=\"all\", or {restore}"
        )
        if not asked and not system.units and not system.geographic:
            raise ValueError(f"{lost}. If its coordinates are metres, give unit=\"metre\", or cell_size")
        warn_caller(lost)
    stated = None if heights is None else str(heights)
    cell, said = _core.cell_of(what, system.place(transform), stated, cell_size, unit)
    for message in said:
        warn_caller(f"{what} {message}")
    if asked or system.geographic:
        return cell
    if others := [name for name in system.units if name.lower() not in METRES]:
        raise ValueError(
            f"{what} has coordinates in `{others[0]}`; convert them to metres, or give cell_size, the side of a cell in "
            "metres, or unit=\"metre\" if they are metres in fact"
        )
    if not system.has_crs and not system.units:
        warn_caller(
            f"{what} has no coordinate reference system, so its coordinates are read as metres; if it has lost its "
            f"system, {restore}. Otherwise set the attribute units = \"m\" of its coordinates, or give unit=\"metre\" or "
            "cell_size"
        )
    return cell


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
        mapping = _system_name(template)
        # xarray refuses to write a map that has it in both places.
        if mapping is not None and "grid_mapping" not in attrs:
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
        if value is not None and np.size(value) == 1 and not np.isnan(float(np.ravel(value)[0])):
            return float(np.ravel(value)[0])
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
        da = _with_system(dem, "height")
        own = {str(name): other for name, other in dem.data_vars.items() if name != "height" and other.dims == da.dims}
        sea_level = dem.attrs.get("sea_level") if sea_level is None else sea_level
    else:
        da = dem
    flat, y, x = _flat(da, what)
    _check_scale(flat, what)
    transform, *turned = _laid(flat, y, x, what)
    system = _system(flat, (y, x))
    cell = _cell_of(what, system, transform, flat.attrs.get("units"), cell_size, unit)
    layout = _layout(flat, (turned[0], turned[1]), kind)
    heights = as_numbers(layout.orient(_computed(flat, what)), what)
    known = _known_layers()
    laid: dict[str, Array] = {}
    for name, other in own.items():
        if name in known:
            laid[name] = as_numbers(layout.orient(_computed(_flat(other, name)[0], None)), f"layer {name}")
    for name, other in (layers or {}).items():
        if isinstance(other, xr.DataArray):
            laid[name] = read_map(other, f"layer {name}")[0]
        else:
            laid[name] = as_numbers(layout.orient(np.asanyarray(other)), f"layer {name}")
    core = core_terrain(
        heights,
        cell,
        what=what,
        nodata=_nodata(flat) if nodata is None else nodata,
        dtype=flat.dtype,
        sea_level=sea_level,
        edges=edges,
        place=system.place(transform),
        layers=laid,
    )
    return Input(core, layout, flat.dtype == np.float32)


def _known_layers() -> set[str]:
    """Return the names of the layers that models read and write."""
    return {name for page in _core.models() for spec in ("needs", "uses", "writes") for name, _, _ in page[spec]} | {"sediment"}


def read_map(values: xr.DataArray, what: str) -> tuple[Array, Layout]:
    """Return a map of values other than heights as an array with rows from north to south, and its layout."""
    flat, y, x = _flat(values, what)
    _, *turned = _laid(flat, y, x, what)
    layout = _layout(flat, (turned[0], turned[1]), "array")
    array = as_map(layout.orient(_computed(flat, what)), what)
    if array.dtype.kind == "b":
        array = array.astype(np.uint8)
    return as_numbers(array, what), layout


def cell_of(values: xr.DataArray) -> float:
    """Return the side of a map's cells in metres."""
    flat, y, x = _flat(values, "flow_direction")
    transform, *_ = _laid(flat, y, x, "flow_direction")
    return _cell_of("flow_direction", _system(flat, (y, x)), transform, None, None, None)


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


def drainage_dataset(found: Any, given: Input, labels: Mapping[str, Label]) -> xr.Dataset:
    """Return a Dataset of a drainage.

    Its attributes are numbers and text, so that it can be written and merged. They are what :func:`read_drainage` needs
    to trace the reaches.
    """
    values = {name: getattr(found, name) for name in labels}
    maps = {name: given.layout.wrap(values[name], label) for name, label in labels.items() if values[name] is not None}
    made = xr.Dataset(maps)
    made.attrs["threshold_m2"] = found.summary["threshold_m2"]
    made.attrs["cell_size_m"] = found.cell_size
    made.attrs["edges"] = ", ".join(f"{side}={edge}" for side, edge in given.core.edges.items())
    return made


def read_drainage(
    found: xr.Dataset, cell_size: float | None, unit: str | None, edges: Any
) -> tuple[Input, NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the filled surface of a drainage, its flow directions and its stream cells."""
    if cell_size is None and unit is None:
        cell_size = found.attrs.get("cell_size_m")
    if edges is None and "edges" in found.attrs:
        edges = dict(side.split("=") for side in str(found.attrs["edges"]).split(", "))
    filled = _with_system(found, "filled")
    given = read_terrain(
        filled, what="filled", cell_size=cell_size, nodata=np.nan, unit=unit, sea_level=None, edges=edges, layers=None
    )
    codes = as_flow_codes(read_map(found["flow_direction"], "flow_direction")[0])
    return given, codes, as_stream_mask(read_map(found["stream_order"], "stream_order")[0])


def reach_lines(reaches: Sequence[Any], found: xr.Dataset) -> Any:
    """Return the reaches of a drainage as a GeoDataFrame in the coordinates of its map.

    If geopandas is not installed or the map has no coordinates, return the reaches as a list.
    """
    like = _with_system(found, "filled")
    y, x = _dims(like, "filled")
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
    epsg, attrs = _system(like, (y, x)).epsg, _system_attrs(like)
    # A system without a code is given by its text.
    system = attrs.get("crs_wkt") or attrs.get("spatial_ref") if epsg is None else f"EPSG:{epsg}"
    return geopandas.GeoDataFrame(table, geometry=lines, crs=system)


def _former_reaches(dataset: xr.Dataset) -> Any:
    """Return the reaches of a drainage: the attribute ``reaches`` of its Dataset in former versions."""
    is_drainage = all(name in dataset.variables for name in DRAINAGE)
    if not is_drainage or "reaches" in dataset.variables or "reaches" in dataset.attrs:
        # Python then looks the name up as for any other Dataset.
        raise AttributeError("reaches")
    words = "the attribute reaches of a drainage will be removed; call thalweg.reaches(dataset)"
    warn_caller(words, DeprecationWarning)
    return METHODS["reaches"](dataset)


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
    # For one version.
    xr.Dataset.reaches = property(_former_reaches)  # type: ignore[attr-defined]

__all__ = ["Accessor"]
