"""drain: all of where water goes, in one call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._arrays import HEIGHT, Label, Outlets
from ._inputs import read_terrain
from ._keywords import named

Array = NDArray[Any]


class River(NamedTuple):
    """A reach of a stream without tributaries."""

    #: Its number, from 0.
    id: int
    #: Strahler's order.
    order: int
    #: Shreve's magnitude: sources above its lower end.
    magnitude: int
    #: Rows and columns, downstream; to the next junction or the outlet.
    cells: NDArray[np.int64]
    #: Metres along the cells' centres.
    length: float
    #: Metres from the first cell down to the last.
    drop: float
    #: Drop over length.
    slope: float
    #: Square metres that drain through it.
    catchment: float
    #: Number of the reach that it runs into; None at an outlet.
    downstream: int | None


class Drainage(NamedTuple):
    """Where water goes on an array: what :func:`thalweg.drain` gives for one."""

    #: Heights with depressions filled, in metres.
    filled: Array
    #: Depth of the depressions, full to their brims, in metres.
    lake_depth: Array
    #: ESRI's codes: 1 east, 2 south-east, 4 south … 128 north-east; 0 where water leaves, 255 where there is no data.
    direction: Array
    #: D∞: radians counter-clockwise from the east; −1 where water goes to no neighbour.
    angle: Array
    #: Square metres that drain through each cell, by the method that was asked for.
    area: Array
    #: Number of the basin, from 1; 0 in the sea.
    basins: Array
    #: Strahler's order of the stream; 0 where there is none.
    orders: Array
    #: The streams.
    rivers: list[River]
    #: All in numbers.
    summary: Mapping[str, Any]
    #: Side of a cell in metres.
    cell_size: float
    #: How deep channels were cut, in metres; None if none were to be.
    cut: Array | None


METHODS = ("d8", "dinf", "mfd")

LABELS = {
    "filled": HEIGHT._replace(name="filled", long_name="Elevation with depressions filled."),
    "lake_depth": Label("lake_depth", "m", "Depth of the depressions, full to their brims."),
    "direction": Label("direction", "1", "Neighbour that the cell drains to, as ESRI's code; 0 out, 255 no data."),
    "angle": Label("angle", "rad", "Direction of steepest descent, counter-clockwise from the east; -1 to no neighbour."),
    "area": Label("area", "m2", "Area that drains through the cell."),
    "basins": Label("basins", "1", "Number of the basin; 0 in the sea and without data."),
    "orders": Label("orders", "1", "Strahler's order of the stream; 0 where there is none."),
    "cut": Label("cut", "m", "Depth of the channels that were cut."),
}


@named
def drain(
    dem: Any,
    *,
    method: str = "d8",
    threshold: float | None = None,
    outlets: Outlets = (),
    breach: bool | tuple[float, float] = False,
    exponent: float = 1.1,
    cell_size: float | None = None,
    nodata: float | None = None,
    unit: str | None = None,
    sea_level: float | None = None,
    edges: str | Mapping[str, str] | None = None,
) -> Any:
    """Works out where water goes: the figures are those of ``thalweg drain``.

    Depressions are filled (Barnes et al. 2014), water runs down the steepest of eight neighbours (O'Callaghan & Mark 1984) and over flats along
    both gradients (Barnes et al. 2014); streams begin where the catchment reaches ``threshold``.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres within ±16 000, rounded to 1/65 536 m on entering.
    method : "d8", "dinf" or "mfd"
        How ``area`` gathers: down the steepest neighbour; split between two along an angle (Tarboton 1997); over all lower ones (Freeman 1991).
        Directions, basins and streams are D8's.
    threshold : float, optional, m²
        Catchment from which on there is a stream; if not said 0.5 km², but at least 100 cells.
    outlets : list of (row, column)
        Cells where water leaves beside edges, sea and missing data.
    breach : bool or (depth, length) in metres
        Cuts channels out of depressions first, within these limits (Lindsay 2016).
    exponent : float, 0.5 to 10
        Of slopes, for "mfd".
    cell_size, nodata, unit, sea_level, edges
        Of the map: an array must be given its cell size.

    Returns
    -------
    xarray.Dataset or Drainage
        ``filled``, ``lake_depth``, ``direction``, ``angle``, ``area``, ``basins``, ``orders``, and ``rivers``: of a Dataset a GeoDataFrame among its
        attributes where geopandas is installed, else a list of :class:`River`.
    """
    if method not in METHODS:
        raise ValueError(f"method = {method!r}: allowed is one of {', '.join(METHODS)}")
    given = read_terrain(dem, cell_size=cell_size, nodata=nodata, unit=unit, sea_level=sea_level, edges=edges)
    limits = (float("inf"), float("inf")) if breach is True else breach or None
    filled, lakes, cut, direction, angle, cells, spread, basins, orders, reaches, summary = _core.drain(
        given.core,
        threshold=threshold,
        outlets=[(int(row), int(column)) for row, column in outlets],
        breach=limits,
        spreads=method != "d8",
        exponent=exponent if method == "mfd" else None,
        narrow=given.narrow,
    )
    size = given.core.cell_size
    rivers = [River(*reach) for reach in reaches]
    area = (cells if spread is None else spread) * np.float64(size * size)
    found = Drainage(filled, lakes, direction, angle, area, basins, orders, rivers, json.loads(summary), size, cut)
    if given.layout.is_xarray:
        from .xarray import drainage_dataset

        return drainage_dataset(found, given.layout, LABELS)
    return found
