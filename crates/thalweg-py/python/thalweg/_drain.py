"""drain: computes the whole drainage of an elevation model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._arrays import HEIGHT, Label
from ._inputs import read_terrain
from ._operations import declared

if TYPE_CHECKING:
    from typing import Unpack

    from ._options import DrainOptions

Array = NDArray[Any]


class River(NamedTuple):
    """A channel reach: the part of a stream between two junctions."""

    #: Number of the reach, from 0.
    id: int
    #: Strahler's order.
    order: int
    #: Shreve's magnitude: the number of sources upstream.
    magnitude: int
    #: Row and column of each cell, downstream, as far as the next junction or the outlet.
    cells: NDArray[np.int64]
    #: Length along the centres of the cells, in metres.
    length: float
    #: Height of the first cell above the last, in metres.
    drop: float
    #: Drop divided by length.
    slope: float
    #: Drainage area at the lower end, in square metres.
    catchment: float
    #: Number of the reach downstream; None at an outlet.
    downstream: int | None


class Drainage(NamedTuple):
    """The drainage of an array: the result of :func:`thalweg.drain`."""

    #: Heights with depressions filled, in metres.
    filled: Array
    #: Depth of the filled depressions, in metres.
    lake_depth: Array
    #: D8 flow direction as ESRI's code: 1 east, 2 south-east, 4 south … 128 north-east; 0 where water leaves, 255 in
    #: cells without data.
    direction: Array
    #: D∞ direction in radians counter-clockwise from the east; −1 where water flows to no neighbour.
    angle: Array
    #: Drainage area of each cell in square metres, by the chosen method.
    area: Array
    #: Number of the basin, from 1; 0 in the sea.
    basins: Array
    #: Strahler's order of the stream; 0 where there is none.
    orders: Array
    #: The streams.
    rivers: list[River]
    #: Summary figures, as in ``drain.json``.
    summary: Mapping[str, Any]
    #: Side of a cell in metres.
    cell_size: float
    #: Depth of carved channels, in metres; None without ``breach``.
    cut: Array | None


LABELS = {
    "filled": HEIGHT._replace(name="filled", long_name="Elevation with depressions filled."),
    "lake_depth": Label("lake_depth", "m", "Depth of the filled depressions."),
    "direction": Label("direction", "1", "D8 flow direction as ESRI's code; 0 where water leaves, 255 no data."),
    "angle": Label("angle", "rad", "Direction of steepest descent, counter-clockwise from the east; -1 where water flows to no neighbour."),
    "area": Label("area", "m2", "Drainage area of the cell."),
    "basins": Label("basins", "1", "Number of the basin; 0 in the sea and without data."),
    "orders": Label("orders", "1", "Strahler's order of the stream; 0 where there is none."),
    "cut": Label("cut", "m", "Depth of carved channels."),
}


@declared("drain")
def drain(
    dem: Any,
    *,
    cell_size: float | None = None,
    nodata: float | None = None,
    unit: str | None = None,
    sea_level: float | None = None,
    edges: str | Mapping[str, str] | None = None,
    **options: Unpack[DrainOptions],
) -> Any:
    """{page}

    The results are those of ``thalweg drain``.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres within ±16 000; they are rounded to 1/65 536 m.
    cell_size, nodata, unit, sea_level, edges
        Properties of the map. An array needs a cell size.
    {options}

    Returns
    -------
    xarray.Dataset or Drainage
        ``filled``, ``lake_depth``, ``direction``, ``angle``, ``area``, ``basins``, ``orders``, and ``rivers``: for a
        Dataset a GeoDataFrame among its attributes if geopandas is installed, otherwise a list of :class:`River`.
    """
    given = read_terrain(dem, cell_size=cell_size, nodata=nodata, unit=unit, sea_level=sea_level, edges=edges)
    filled, lakes, cut, direction, angle, area, basins, orders, reaches, summary = _core.drain(
        given.core, dict(options), given.narrow
    )
    rivers = [River(*reach) for reach in reaches]
    found = Drainage(
        filled, lakes, direction, angle, area, basins, orders, rivers, json.loads(summary), given.core.cell_size, cut
    )
    if given.layout.is_xarray:
        from .xarray import drainage_dataset

        return drainage_dataset(found, given.layout, LABELS)
    return found
