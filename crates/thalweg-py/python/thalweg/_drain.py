"""drain: computes the whole drainage of an elevation model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._arrays import HEIGHT, Label
from ._inputs import read_terrain, xarray_kind
from ._keywords import named
from ._operations import declared
from ._progress import CallProgress, core_reporting

if TYPE_CHECKING:
    from typing import Unpack

    from ._options import DrainOptions

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class ChannelReach:
    """A channel reach: the part of a stream from a source or a junction down to the next junction or the outlet.

    Attributes
    ----------
    id : int
        Number of the reach, from 0; its index in :attr:`Drainage.reaches`.
    order : int
        Strahler order, from 1.
    magnitude : int
        Shreve magnitude: the number of sources upstream, from 1.
    cells : array of int64, (cells, 2)
        Row and column of each cell, counted from the north-western cell, in downstream order. The last one is the
        outlet or the junction, which is also the first cell of the reach downstream.
    length : float, metres
        Length along the centres of the cells.
    drop : float, metres
        Fall of the filled surface from the first cell to the last, 0 or more.
    slope : float, m/m
        Drop divided by length.
    drainage_area : float, m²
        Drainage area at the lower end, without the other reaches that join there.
    downstream : int or None
        Number of the reach into which this one flows; None at an outlet.
    """

    id: int
    order: int
    magnitude: int
    cells: NDArray[np.int64]
    length: float
    drop: float
    slope: float
    drainage_area: float
    downstream: int | None


@dataclass(frozen=True, eq=False)
class Drainage:
    """The drainage of an array or a Terrain: the result of :func:`thalweg.drain`.

    All arrays have the shape (rows, columns) of the terrain. Heights and depths are float32 if the input was float32,
    otherwise float64.

    Attributes
    ----------
    filled : array, metres
        Heights with depressions filled; NaN in no-data cells.
    lake_depth : array, metres
        Depth of the filled depressions, 0 elsewhere; NaN in no-data cells.
    flow_direction : array of uint8
        D8 flow direction as ESRI code: 1 east, 2 south-east, 4 south, 8 south-west, 16 west, 32 north-west, 64 north,
        128 north-east; 0 where water leaves, 255 in no-data cells.
    flow_angle : array of float32, radians
        D∞ flow direction, counter-clockwise from east, 0 to 2π; −1 where water flows to no neighbour and in no-data
        cells.
    drainage_area : array of float64, m²
        Drainage area of each cell, including the cell itself, by the chosen method; 0 in no-data cells.
    basin : array of uint32
        Number of the drainage basin, from 1; 0 in the sea and in no-data cells.
    stream_order : array of uint32
        Strahler order of the stream, from 1; 0 where there is none.
    reaches : list of ChannelReach
        The channel reaches of the streams.
    summary : dict
        Summary figures, such as the numbers of lakes and basins and the drainage density; units are in the names. They
        are those that ``thalweg drain`` writes to ``drain.json``.
    cell_size : float, metres
        Side of a cell.
    cut : array, metres, or None
        Depth of the channels that were carved to breach depressions, 0 elsewhere; None without ``breach``.
    """

    filled: Array
    lake_depth: Array
    flow_direction: NDArray[np.uint8]
    flow_angle: NDArray[np.float32]
    drainage_area: NDArray[np.float64]
    basin: NDArray[np.uint32]
    stream_order: NDArray[np.uint32]
    reaches: list[ChannelReach]
    summary: Mapping[str, Any]
    cell_size: float
    cut: Array | None


LABELS = {
    "filled": HEIGHT._replace(name="filled", long_name="Elevation with depressions filled."),
    "lake_depth": Label("lake_depth", "m", "Depth of the filled depressions."),
    "flow_direction": Label("flow_direction", "1", "D8 flow direction as ESRI code; 0 where water leaves, 255 no data."),
    "flow_angle": Label("flow_angle", "rad", "D∞ flow direction, counter-clockwise from east; -1 where water flows to no neighbour."),
    "drainage_area": Label("drainage_area", "m2", "Drainage area of the cell."),
    "basin": Label("basin", "1", "Number of the drainage basin; 0 in the sea and without data."),
    "stream_order": Label("stream_order", "1", "Strahler order of the stream; 0 where there is none."),
    "cut": Label("cut", "m", "Depth of the carved channels."),
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
    progress: CallProgress = None,
    **options: Unpack[DrainOptions],
) -> Any:
    """{page}

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres within ±16 000; they are rounded to 1/65 536 m.
    cell_size : float, metres, optional
        Side of a square cell; required for an array. By default, that of ``dem``.
    nodata : float, optional
        Value that marks no-data cells, in addition to NaN.
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
    progress : bool or callable, optional
        If True, show a tqdm progress bar. A callable is called with a :class:`Progress` for each task.
    {options}

    Returns
    -------
    xarray.Dataset or Drainage
        A Dataset for a DataArray or a Dataset, otherwise a :class:`Drainage`. The variables of the Dataset are the
        arrays of :class:`Drainage`, and its attribute ``threshold_m2`` is the drainage area at which streams begin.
        :func:`thalweg.reaches` returns its reaches.

    Raises
    ------
    ValueError
        If a value is out of range, an outlet is not a cell with data, or options exclude one another.
    MemoryError
        If the work does not fit into memory.
    KeyboardInterrupt
        On Ctrl-C, before the next task.

    See Also
    --------
    thalweg.flow : Functions for the single steps.
    thalweg.dask.drain : The same for elevation models larger than memory.

    Examples
    --------
    >>> found = tw.drain(dem, threshold=1e6)
    >>> streams = found.stream_order > 0
    """
    given = read_terrain(dem, cell_size=cell_size, nodata=nodata, unit=unit, sea_level=sea_level, edges=edges)
    with core_reporting(progress, "drain") as receiver:
        filled, lakes, cut, direction, angle, area, basins, orders, reaches, summary = _core.drain(
            given.core, dict(options), given.narrow, receiver
        )
    found = Drainage(
        filled=filled,
        lake_depth=lakes,
        flow_direction=direction,
        flow_angle=angle,
        drainage_area=area,
        basin=basins,
        stream_order=orders,
        reaches=[ChannelReach(*reach) for reach in reaches],
        summary=json.loads(summary),
        cell_size=given.core.cell_size,
        cut=cut,
    )
    if given.layout.is_xarray:
        from .xarray import drainage_dataset

        return drainage_dataset(found, given, LABELS)
    return found


@named
def reaches(
    drainage: Any,
    *,
    cell_size: float | None = None,
    unit: str | None = None,
    edges: str | Mapping[str, str] | None = None,
) -> Any:
    """Return the channel reaches of a drainage.

    The reaches of a Dataset are traced along its variables ``flow_direction`` and ``stream_order`` over ``filled``, so
    the Dataset may be a part of a drainage, or one that was written to a file and read again.

    Parameters
    ----------
    drainage : xarray.Dataset or Drainage
        The result of :func:`thalweg.drain`.
    cell_size : float, metres, optional
        Side of a cell; by default the one that :func:`thalweg.drain` used.
    unit : "metre", optional
        Treat coordinates as metres, even if the map declares another unit.
    edges : str or dict, optional
        The edges of the map; by default those that :func:`thalweg.drain` used.

    Returns
    -------
    geopandas.GeoDataFrame or list of ChannelReach
        For a Dataset, lines in the coordinates of the map with the columns ``id``, ``order``, ``magnitude``,
        ``length``, ``drop``, ``slope``, ``drainage_area`` and ``downstream``, which :class:`ChannelReach` explains. A
        list if geopandas is not installed, if the map has no coordinates, or for a :class:`Drainage`.

    Raises
    ------
    ValueError
        If a variable is missing, or the flow directions have a circle.

    Examples
    --------
    >>> lines = tw.reaches(tw.drain(dem, threshold=1e6))
    >>> lines.to_file("reaches.gpkg")
    """
    if isinstance(drainage, Drainage):
        return drainage.reaches
    if xarray_kind(drainage) != "dataset":
        kind = type(drainage).__name__
        raise TypeError(f"drainage is of type {kind}; it must be a result of drain: a Dataset or a Drainage")
    from .xarray import DRAINAGE, read_drainage, reach_lines

    if lacking := [name for name in DRAINAGE if name not in drainage]:
        needed = ", ".join(DRAINAGE)
        raise ValueError(f"drainage has no variable {lacking[0]}; it must be a result of drain, with {needed}")
    given, codes, streams = read_drainage(drainage, cell_size, unit, edges)
    found = [ChannelReach(*reach) for reach in _core.reaches(given.core, codes, streams)]
    return reach_lines(found, drainage)
