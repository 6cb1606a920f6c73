"""Input conversion: terrains and maps from arrays, DataArrays, Datasets and Terrains.

Arrays must have rows from north to south; DataArrays and Datasets are oriented by their coordinates, which
:mod:`thalweg.xarray` reads.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._arrays import NUMPY, TERRAIN, Array, Input, Layout, as_map, as_numbers, core_terrain, dtype_of
from ._core import Terrain as CoreTerrain

if TYPE_CHECKING:
    import xarray

    Sheet = TypeVar("Sheet", NDArray[Any], xarray.DataArray)
    Edges = str | Mapping[str, str]


class CoreHolder:
    """Base class of :class:`thalweg.Terrain`: an object that holds a terrain of the core."""

    _core: CoreTerrain


def xarray_kind(value: Any) -> str | None:
    """Return "array" for a DataArray, "dataset" for a Dataset, otherwise None; does not import xarray."""
    module = sys.modules.get("xarray")
    if module is None:
        return None
    if isinstance(value, module.DataArray):
        return "array"
    return "dataset" if isinstance(value, module.Dataset) else None


def read_terrain(
    dem: Any,
    *,
    what: str = "dem",
    cell_size: float | None = None,
    nodata: float | None = None,
    unit: str | None = None,
    sea_level: float | None = None,
    edges: Edges | None = None,
    layers: Mapping[str, Any] | None = None,
) -> Input:
    """Read a terrain from an array, a DataArray, a Dataset or a Terrain.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    what : str, default "dem"
        Name of the input in error messages.
    cell_size : float, metres, optional
        Side of a square cell; required for an array. By default, that of ``dem``.
    nodata : float, optional
        Value that marks no-data cells, in addition to NaN. If it is NaN, undeclared values for no data are not looked
        for.
    unit : "metre", optional
        Reads coordinates and heights as metres, even if the map declares another unit. Coordinates in degrees are
        refused in any case; project the map first.
    sea_level : float, metres, optional
        Elevation of the sea surface; cells at or below it are sea. By default, that of ``dem`` if it is a Terrain or a
        Dataset; otherwise there is no sea.
    edges : str or dict, optional
        Boundary condition of all sides, or of each side (north, east, south, west): ``"open"`` (water leaves the map),
        ``"closed"`` (it does not) or ``"looped"`` (it continues at the opposite side). By default, that of ``dem`` if
        it is a Terrain, otherwise open.
    layers : dict of arrays, optional
        Further layers by name.

    Raises
    ------
    ValueError
        If an array is passed without a cell size, or values are out of range.
    """
    kind = xarray_kind(dem)
    if kind is not None:
        from .xarray import read_terrain as read_xarray

        return read_xarray(
            dem, what=what, cell_size=cell_size, nodata=nodata, unit=unit, sea_level=sea_level, edges=edges, layers=layers
        )
    if isinstance(dem, CoreHolder):
        own = dem._core
        if layers is None and sea_level is None and edges is None and cell_size is None:
            core = own
        else:
            more = {name: as_numbers(values, f"layer {name}") for name, values in (layers or {}).items()}
            core = _core.Terrain(
                own.height(),
                own.cell_size if cell_size is None else cell_size,
                sea_level=own.sea_level if sea_level is None else sea_level,
                edges=own.edges if edges is None else edges,
                georeference=own.georeference,
                layers={name: own.layer(name) for name in own.layers} | more,
                origin=own.origin,
            )
        return Input(core, TERRAIN, False)
    dtype = dtype_of(dem)
    array = as_numbers(dem, what)
    if cell_size is None:
        raise ValueError(f"{what} is an array, which has no cell size; give cell_size, the side of a cell in metres")
    core = core_terrain(
        array,
        cell_size,
        what=what,
        nodata=nodata,
        dtype=dtype,
        sea_level=sea_level,
        edges=edges,
        layers={name: as_numbers(values, f"layer {name}") for name, values in (layers or {}).items()},
    )
    return Input(core, NUMPY, dtype == np.float32)


def read_map(values: Any, what: str) -> tuple[Array, Layout]:
    """Read a map of numbers other than heights, and return it with its layout."""
    if xarray_kind(values) == "array":
        from .xarray import read_map as read_xarray

        return read_xarray(values, what)
    return as_numbers(values, what), NUMPY


def read_map_like(values: Any, layout: Layout, what: str) -> Array:
    """Read another map of the same cells, which has the layout of the first one unless it is a DataArray."""
    if xarray_kind(values) == "array":
        return read_map(values, what)[0]
    array = as_map(values, what)
    if array.dtype.kind == "b":
        array = array.astype(np.uint8)
    return as_numbers(layout.orient(array), what)
