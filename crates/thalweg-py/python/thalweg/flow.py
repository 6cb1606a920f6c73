"""Functions for single steps of the analysis of drainage: depressions, flow directions, accumulation, basins, channels.

A function that computes one map has the name of the quantity or of the method; the others begin with a verb. Results
are bit-identical for any number of threads. D8 flow directions are ESRI codes: 1 east, 2 south-east, 4 south,
8 south-west, 16 west, 32 north-west, 64 north, 128 north-east; 0 where water leaves the map or stays, 255 in no-data
cells. :func:`thalweg.drain` takes all steps at once.

Examples
--------
>>> direction = tw.flow.d8(dem)
>>> cells = tw.flow.accumulate_flow(direction)
>>> order = tw.flow.stream_order(direction, cells >= 500)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _core, _moved
from ._arrays import HEIGHT, Label, Outlets, as_flow_codes, as_stream_mask
from ._inputs import CoreHolder, read_map, read_map_like, read_terrain, xarray_kind
from ._keywords import named
from ._measure import measure

if TYPE_CHECKING:
    from ._inputs import Edges, Sheet
    from ._terrain import Dem

Array = NDArray[Any]

__all__ = [
    "Breached",
    "DepressionHierarchy",
    "HackLaw",
    "accumulate_flow",
    "accumulate_flow_dinf",
    "accumulate_flow_mfd",
    "breach_depressions",
    "chi",
    "d8",
    "depression_hierarchy",
    "dinf",
    "fill_depressions",
    "fit_hack_law",
    "ksn",
    "label_basins",
    "outlet_distance",
    "stream_order",
    "upstream_length",
]

if not TYPE_CHECKING:
    # A type checker would take every name for one of the module's.

    def __getattr__(name: str) -> object:
        _moved.refuse(__name__, name)


def _cells(outlets: Outlets) -> list[tuple[int, int]]:
    return [(int(row), int(column)) for row, column in outlets]


@named
def fill_depressions(
    dem: Dem,
    *,
    outlets: Outlets = (),
    cell_size: float | None = None,
    nodata: float | None = None,
    sea_level: float | None = None,
    edges: Edges | None = None,
) -> Dem:
    """Fill each depression to its spill level.

    The result is that of priority-flood (Barnes, Lehman & Mulla 2014): the lowest surface from which every cell has a
    path out of the map that never rises.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    outlets : sequence of (row, column), optional
        Cells at which water leaves the map, in addition to open edges, the sea and no-data cells. Rows and columns are
        counted from 0; for a DataArray, from its north-western cell.
    cell_size : float, metres, optional
        Side of a square cell. It does not affect the result, and need not be passed for an array.
    nodata : float, optional
        Value that marks no-data cells, in addition to NaN.
    sea_level : float, metres, optional
        Elevation of the sea surface; cells at or below it are sea. By default, that of ``dem`` if it is a Terrain or a
        Dataset; otherwise there is no sea.
    edges : str or dict, optional
        Boundary condition of all sides, or of each side (north, east, south, west): ``"open"`` (water leaves the map),
        ``"closed"`` (it does not) or ``"looped"`` (it continues at the opposite side). By default, that of ``dem`` if
        it is a Terrain, otherwise open.

    Returns
    -------
    array or DataArray
        Filled heights in metres, NaN in no-data cells; a DataArray if ``dem`` is a DataArray or a Dataset. They are
        float32 if ``dem`` is float32, otherwise float64.

    Raises
    ------
    ValueError
        If an outlet is not a cell with data, or a value is out of range.

    References
    ----------
    Barnes, Lehman & Mulla (2014), doi:10.1016/j.cageo.2013.04.024.

    Examples
    --------
    >>> tw.flow.fill_depressions(np.array([[9.0, 9.0, 9.0], [9.0, 1.0, 9.0], [9.0, 9.0, 8.0]]))
    array([[9., 9., 9.],
           [9., 8., 9.],
           [9., 9., 8.]])
    """
    given = read_terrain(dem, cell_size=_size(dem, cell_size), nodata=nodata, sea_level=sea_level, edges=edges)
    return given.wrap(_core.fill(given.core, _cells(outlets), given.narrow), HEIGHT)  # type: ignore[no-any-return]


def _size(dem: Any, cell_size: float | None) -> float | None:
    """Return the cell size, or 1 for an array without one, where the cell size does not affect the result."""
    has_own = xarray_kind(dem) is not None or isinstance(dem, CoreHolder)
    return 1.0 if cell_size is None and not has_own else cell_size


def _looped(edges: Edges | None) -> list[bool]:
    return [False, False] if edges is None else _core.looped(edges)


@dataclass(frozen=True, eq=False)
class Breached:
    """A terrain with breached depressions: the result of :func:`breach_depressions`.

    Attributes
    ----------
    height : array or DataArray, metres
        Heights with the channels, nowhere above the original ones; a DataArray for a DataArray or a Dataset.
    breached : int
        Number of pits that were drained, by their own channel or by another one.
    kept : int
        Number of pits that could not be drained within the limits.
    volume : float, m³
        Volume of the removed material.
    """

    height: Any
    breached: int
    kept: int
    volume: float


@named
def breach_depressions(
    dem: Any,
    *,
    depth: float = float("inf"),
    length: float = float("inf"),
    outlets: Outlets = (),
    cell_size: float | None = None,
    nodata: float | None = None,
    sea_level: float | None = None,
    edges: Edges | None = None,
) -> Breached:
    """Carve a channel from every pit to lower terrain or out of the map, within limits.

    The method is least-cost breaching (Lindsay & Dhun 2015; Lindsay 2016): of all paths from a pit, the channel follows
    the one that removes the least material. It is level, at the height of the pit. Without limits, no depression
    remains; with limits, use :func:`fill_depressions` for those that remain.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    depth : float, metres, default inf
        Maximum depth of a channel below the original heights, 0 or more.
    length : float, metres, default inf
        Maximum straight-line distance between the ends of a channel, 0 or more.
    outlets, nodata, sea_level, edges : optional
        See :func:`fill_depressions`.
    cell_size : float, metres, optional
        Side of a square cell; required for an array. By default, that of ``dem``.

    Returns
    -------
    Breached
        Heights, numbers of pits, and the removed volume.

    Raises
    ------
    ValueError
        If a limit is negative, an outlet is not a cell with data, or a value is out of range.

    References
    ----------
    Lindsay & Dhun (2015), doi:10.1080/13658816.2014.975715; Lindsay (2016), doi:10.1002/hyp.10648.

    Examples
    --------
    >>> closed = {"north": "closed", "south": "closed", "west": "closed"}
    >>> found = tw.flow.breach_depressions(np.array([[5.0, 2.0, 4.0, 3.0, 1.0]]), cell_size=10.0, edges=closed)
    >>> found.height
    array([[5., 2., 2., 2., 1.]])
    >>> found.volume
    300.0
    """
    given = read_terrain(dem, cell_size=cell_size, nodata=nodata, sea_level=sea_level, edges=edges)
    height, breached, kept, volume = _core.breach(given.core, _cells(outlets), depth, length, given.narrow)
    return Breached(height=given.wrap(height, HEIGHT), breached=breached, kept=kept, volume=volume)


@named
def d8(
    dem: Any,
    *,
    filled: bool = True,
    outlets: Outlets = (),
    cell_size: float | None = None,
    nodata: float | None = None,
    sea_level: float | None = None,
    edges: Edges | None = None,
) -> Any:
    """Compute D8 flow directions: each cell drains to the neighbour of steepest descent (O'Callaghan & Mark 1984).

    Ties are broken by a hash of the cell's position, so that no direction is preferred.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    filled : bool, default True
        If True, route water over the filled surface, and across its flats away from higher and towards lower terrain;
        if False, over the unfilled heights, where water stays in pits.
    outlets, cell_size, nodata, sea_level, edges : optional
        See :func:`fill_depressions`.

    Returns
    -------
    array or DataArray of uint8
        ESRI codes: 1 east, 2 south-east, 4 south, 8 south-west, 16 west, 32 north-west, 64 north, 128 north-east; 0
        where water leaves the map or stays, 255 in no-data cells.

    Raises
    ------
    ValueError
        If an outlet is not a cell with data, or a value is out of range.

    References
    ----------
    O'Callaghan & Mark (1984), doi:10.1016/S0734-189X(84)80011-0; for flats, Barnes, Lehman & Mulla (2014),
    doi:10.1016/j.cageo.2013.01.009.

    Examples
    --------
    >>> tw.flow.d8(np.array([[3.0, 2.0, 1.0]]))
    array([[1, 1, 0]], dtype=uint8)
    """
    given = read_terrain(dem, cell_size=_size(dem, cell_size), nodata=nodata, sea_level=sea_level, edges=edges)
    label = Label("flow_direction", "1", "D8 flow direction as ESRI code; 0 where water leaves or stays, 255 no data.")
    return given.wrap(_core.d8(given.core, _cells(outlets), filled), label)


@named
def dinf(
    dem: Any,
    *,
    outlets: Outlets = (),
    cell_size: float | None = None,
    nodata: float | None = None,
    sea_level: float | None = None,
    edges: Edges | None = None,
) -> Any:
    """Compute D∞ flow directions (Tarboton 1997) on the filled surface.

    The direction is that of the steepest of the eight triangular facets around a cell. Where no facet descends, as on
    flats, it is the D8 direction.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    outlets, cell_size, nodata, sea_level, edges : optional
        See :func:`fill_depressions`.

    Returns
    -------
    array or DataArray of float32
        Radians counter-clockwise from east, 0 to 2π; −1 where water flows to no neighbour and in no-data cells.

    Raises
    ------
    ValueError
        If an outlet is not a cell with data, or a value is out of range.

    References
    ----------
    Tarboton (1997), doi:10.1029/96WR03137.

    Examples
    --------
    >>> row, column = np.mgrid[0:3, 0:3]
    >>> angle = tw.flow.dinf(20.0 + row - 2.0 * column)  # a plane that falls by 2 to the east and by 1 to the north
    >>> round(float(np.degrees(angle[1, 1])), 1)
    26.6
    """
    given = read_terrain(dem, cell_size=_size(dem, cell_size), nodata=nodata, sea_level=sea_level, edges=edges)
    label = Label("flow_angle", "rad", "D∞ flow direction, counter-clockwise from east; -1 where water flows to no neighbour.")
    return given.wrap(_core.dinf(given.core, _cells(outlets)), label)


@named
def accumulate_flow(flow_direction: Sheet, weights: Any = None, *, edges: Edges | None = None) -> Sheet:
    """Accumulate cells or weights along D8 flow directions; the sum of a cell includes the cell itself.

    Parameters
    ----------
    flow_direction : array or DataArray of uint8
        D8 flow directions as ESRI codes, as :func:`d8` returns them.
    weights : array or DataArray, optional
        Amount that each cell contributes, in any unit, of the same shape. By default, cells are counted.
    edges : str or dict, optional
        Boundary condition of all sides, or of each side (north, east, south, west). It only matters if sides are
        ``"looped"``, where water continues at the opposite side.

    Returns
    -------
    array or DataArray
        Number of cells (uint32) or sum of weights (float64) that drain through each cell; 0 in no-data cells. Weights
        are summed as integers in units of about 2⁻⁶¹ of their total, so the result does not depend on the order of
        summation.

    Raises
    ------
    ValueError
        If a flow direction is not an ESRI code, a weight is not finite, or shapes differ.

    Examples
    --------
    >>> direction = np.array([[1, 1, 0]], dtype=np.uint8)
    >>> tw.flow.accumulate_flow(direction)
    array([[1, 2, 3]], dtype=uint32)
    >>> area = tw.flow.accumulate_flow(direction) * 30.0**2  # drainage area in m² for cells of 30 m
    """
    codes, layout = read_map(flow_direction, "flow_direction")
    given = None if weights is None else read_map_like(weights, layout, "weights")
    label = Label("accumulation", "1", "Upstream cells or weights that drain through the cell.")
    sums = _core.accumulate(as_flow_codes(codes), _looped(edges), given)
    return layout.wrap(sums, label)  # type: ignore[no-any-return]


@named
def accumulate_flow_dinf(
    dem: Any,
    weights: Any = None,
    *,
    outlets: Outlets = (),
    cell_size: float | None = None,
    nodata: float | None = None,
    sea_level: float | None = None,
    edges: Edges | None = None,
) -> Any:
    """Accumulate cells or weights along D∞ flow directions (Tarboton 1997) on the filled surface.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    weights : array or DataArray, optional
        Amount that each cell contributes, in any unit, of the same shape. By default, cells are counted.
    outlets, cell_size, nodata, sea_level, edges : optional
        See :func:`fill_depressions`.

    Returns
    -------
    array or DataArray of float64
        Number of cells or sum of weights that drain through each cell, including the cell itself; see
        :func:`accumulate_flow`.

    Raises
    ------
    ValueError
        If a weight is not finite, shapes differ, an outlet is not a cell with data, or a value is out of range.

    References
    ----------
    Tarboton (1997), doi:10.1029/96WR03137.

    Examples
    --------
    >>> area = tw.flow.accumulate_flow_dinf(dem) * 30.0**2  # drainage area in m² for cells of 30 m
    """
    return _spread(dem, weights, None, outlets, cell_size, nodata, sea_level, edges)


@named
def accumulate_flow_mfd(
    dem: Any,
    weights: Any = None,
    *,
    exponent: float = 1.1,
    outlets: Outlets = (),
    cell_size: float | None = None,
    nodata: float | None = None,
    sea_level: float | None = None,
    edges: Edges | None = None,
) -> Any:
    """Accumulate cells or weights by multiple flow directions on the filled surface.

    Each cell drains to all lower neighbours, in proportion to a power of the slope (Freeman 1991; with an exponent
    of 1, Quinn et al. 1991). Across flats, all flow follows the D8 direction.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    weights : array or DataArray, optional
        Amount that each cell contributes, in any unit, of the same shape. By default, cells are counted.
    exponent : float, default 1.1
        Exponent of the slope, 0.5 to 10: the larger it is, the more of the flow follows the steepest slope.
    outlets, cell_size, nodata, sea_level, edges : optional
        See :func:`fill_depressions`.

    Returns
    -------
    array or DataArray of float64
        Number of cells or sum of weights that drain through each cell, including the cell itself; see
        :func:`accumulate_flow`.

    Raises
    ------
    ValueError
        If a weight is negative or not finite, shapes differ, an outlet is not a cell with data, or a value is out of
        range.

    References
    ----------
    Freeman (1991), doi:10.1016/0098-3004(91)90048-I; Quinn et al. (1991), doi:10.1002/hyp.3360050106.

    Examples
    --------
    >>> tw.flow.accumulate_flow_mfd(np.array([[1.0, 2.0, 1.0]]))
    array([[1.5, 1. , 1.5]])
    """
    return _spread(dem, weights, exponent, outlets, cell_size, nodata, sea_level, edges)


def _spread(
    dem: Any, weights: Any, exponent: float | None, outlets: Outlets, cell_size: Any, nodata: Any, sea_level: Any, edges: Any
) -> Any:
    given = read_terrain(dem, cell_size=_size(dem, cell_size), nodata=nodata, sea_level=sea_level, edges=edges)
    laid = None if weights is None else read_map_like(weights, given.layout, "weights")
    label = Label("accumulation", "1", "Upstream cells or weights that drain through the cell.")
    return given.wrap(_core.multiple(given.core, _cells(outlets), exponent, laid), label)


@named
def label_basins(
    dem: Any,
    flow_direction: Any = None,
    *,
    cell_size: float | None = None,
    nodata: float | None = None,
    sea_level: float | None = None,
    edges: Edges | None = None,
) -> Any:
    """Label each cell with the number of its drainage basin: all cells that drain to the same outlet.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    flow_direction : array or DataArray of uint8, optional
        D8 flow directions as ESRI codes; by default, those that :func:`d8` computes.
    cell_size, nodata, sea_level, edges : optional
        See :func:`fill_depressions`.

    Returns
    -------
    array or DataArray of uint32
        Number of the basin, from 1 in the row-major order of the basins' first cells; 0 in the sea and in no-data
        cells.

    Raises
    ------
    ValueError
        If a flow direction is not an ESRI code, shapes differ, or a value is out of range.

    Examples
    --------
    >>> tw.flow.label_basins(np.array([[1.0, 3.0, 2.0, 0.0]]))
    array([[1, 1, 2, 2]], dtype=uint32)
    """
    given = read_terrain(dem, cell_size=_size(dem, cell_size), nodata=nodata, sea_level=sea_level, edges=edges)
    if flow_direction is None:
        codes = _core.d8(given.core, [], True)
    else:
        codes = as_flow_codes(read_map_like(flow_direction, given.layout, "flow_direction"))
    return given.wrap(_core.basins(given.core, codes), Label("basin", "1", "Number of the drainage basin; 0 in the sea and without data."))


@named
def stream_order(flow_direction: Sheet, streams: Any, *, shreve: bool = False, edges: Edges | None = None) -> Sheet:
    """Compute the Strahler order of streams, or their Shreve magnitude.

    Strahler's order (1957) is 1 at a source and increases by 1 where two streams of the highest order meet. Shreve's
    magnitude (1966) is the number of sources upstream.

    Parameters
    ----------
    flow_direction : array or DataArray of uint8
        D8 flow directions as ESRI codes, as :func:`d8` returns them.
    streams : array or DataArray of bool
        Mask of the stream cells, for example ``accumulate_flow(flow_direction) >= 500``.
    shreve : bool, default False
        If True, return Shreve magnitudes instead of Strahler orders.
    edges : str or dict, optional
        Boundary condition of all sides, or of each side (north, east, south, west). It only matters if sides are
        ``"looped"``, where water continues at the opposite side.

    Returns
    -------
    array or DataArray of uint32
        Order or magnitude, from 1; 0 where there is no stream.

    Raises
    ------
    ValueError
        If a flow direction is not an ESRI code, or shapes differ.

    References
    ----------
    Strahler (1957), doi:10.1029/TR038i006p00913; Shreve (1966), doi:10.1086/627137.

    Examples
    --------
    >>> direction = np.array([[2, 255, 8], [255, 4, 255], [1, 0, 255]], dtype=np.uint8)
    >>> tw.flow.stream_order(direction, direction != 255)
    array([[1, 0, 1],
           [0, 2, 0],
           [1, 2, 0]], dtype=uint32)
    """
    codes, layout = read_map(flow_direction, "flow_direction")
    mask = read_map_like(streams, layout, "streams")
    label = Label("stream_order", "1", "Order or magnitude of the stream; 0 where there is none.")
    orders = _core.orders(as_flow_codes(codes), _looped(edges), as_stream_mask(mask), shreve)
    return layout.wrap(orders, label)  # type: ignore[no-any-return]


def _cell_of(values: Any, cell_size: float | None) -> float:
    if cell_size is not None:
        return cell_size
    if xarray_kind(values) == "array":
        from .xarray import cell_of

        return cell_of(values)
    raise ValueError("flow_direction is an array, which has no cell size; give cell_size, the side of a cell in metres")


@named
def upstream_length(flow_direction: Sheet, *, cell_size: float | None = None, edges: Edges | None = None) -> Sheet:
    """Compute the length of the longest flow path from a divide down to each cell.

    Parameters
    ----------
    flow_direction : array or DataArray of uint8
        D8 flow directions as ESRI codes, as :func:`d8` returns them.
    cell_size : float, metres, optional
        Side of a square cell; required for an array. By default, that of ``dem``.
    edges : str or dict, optional
        Boundary condition of all sides, or of each side (north, east, south, west). It only matters if sides are
        ``"looped"``, where water continues at the opposite side.

    Returns
    -------
    array or DataArray of float64
        Length in metres, between centres of cells; 0 on divides and in no-data cells.

    Raises
    ------
    ValueError
        If a flow direction is not an ESRI code, or an array is passed without a cell size.

    Examples
    --------
    >>> direction = np.array([[1, 0, 16, 16]], dtype=np.uint8)
    >>> tw.flow.upstream_length(direction, cell_size=10.0)
    array([[ 0., 20., 10.,  0.]])
    """
    codes, layout = read_map(flow_direction, "flow_direction")
    lengths = _core.upstream_length(as_flow_codes(codes), _looped(edges), _cell_of(flow_direction, cell_size))
    return layout.wrap(lengths, Label("upstream_length", "m", "Length of the longest flow path from a divide."))  # type: ignore[no-any-return]


@named
def outlet_distance(flow_direction: Sheet, *, cell_size: float | None = None, edges: Edges | None = None) -> Sheet:
    """Compute the length of the flow path from each cell down to its outlet.

    Parameters
    ----------
    flow_direction : array or DataArray of uint8
        D8 flow directions as ESRI codes, as :func:`d8` returns them.
    cell_size : float, metres, optional
        Side of a square cell; required for an array. By default, that of ``dem``.
    edges : str or dict, optional
        Boundary condition of all sides, or of each side (north, east, south, west). It only matters if sides are
        ``"looped"``, where water continues at the opposite side.

    Returns
    -------
    array or DataArray of float64
        Length in metres, between centres of cells; 0 at outlets and in no-data cells.

    Raises
    ------
    ValueError
        If a flow direction is not an ESRI code, or an array is passed without a cell size.

    Examples
    --------
    >>> direction = np.array([[1, 0, 16, 16]], dtype=np.uint8)
    >>> tw.flow.outlet_distance(direction, cell_size=10.0)
    array([[10.,  0., 10., 20.]])
    """
    codes, layout = read_map(flow_direction, "flow_direction")
    lengths = _core.outlet_distance(as_flow_codes(codes), _looped(edges), _cell_of(flow_direction, cell_size))
    return layout.wrap(lengths, Label("outlet_distance", "m", "Length of the flow path to the outlet."))  # type: ignore[no-any-return]


@named
def chi(
    flow_direction: Sheet,
    drainage_area: Any = None,
    *,
    theta: float = 0.45,
    reference_area: float = 1.0,
    cell_size: float | None = None,
    edges: Edges | None = None,
) -> Sheet:
    """Compute χ, the integral of (A₀/A)^θ along the flow path from the outlet up to each cell (Perron & Royden 2013).

    The integral is computed by the trapezoidal rule between cell centres. In a steady-state channel with uniform uplift
    and rock, elevation is a linear function of χ.

    Parameters
    ----------
    flow_direction : array or DataArray of uint8
        D8 flow directions as ESRI codes, as :func:`d8` returns them.
    drainage_area : array or DataArray, m², optional
        Drainage area A; by default, that of the flow directions.
    theta : float, default 0.45
        Reference concavity θ, 0 to 2.
    reference_area : float, m², default 1.0
        Reference drainage area A₀, above 0. With 1 m², the slope of elevation over χ is the channel steepness ksn.
    cell_size : float, metres, optional
        Side of a square cell; required for an array. By default, that of ``dem``.
    edges : str or dict, optional
        Boundary condition of all sides, or of each side (north, east, south, west). It only matters if sides are
        ``"looped"``, where water continues at the opposite side.

    Returns
    -------
    array or DataArray of float64
        χ in metres; 0 at outlets and in no-data cells.

    Raises
    ------
    ValueError
        If a flow direction is not an ESRI code, shapes differ, a value is out of range, or an array is passed without a
        cell size.

    References
    ----------
    Perron & Royden (2013), doi:10.1002/esp.3302.

    Examples
    --------
    >>> direction = np.array([[1, 1, 0]], dtype=np.uint8)
    >>> area = np.array([[100.0, 100.0, 400.0]])
    >>> tw.flow.chi(direction, area, theta=0.5, reference_area=400.0, cell_size=10.0)
    array([[35., 15.,  0.]])
    """
    codes, layout = read_map(flow_direction, "flow_direction")
    codes = as_flow_codes(codes)
    size = _cell_of(flow_direction, cell_size)
    around = _looped(edges)
    if drainage_area is None:
        laid = _core.accumulate(codes, around) * (size * size)
    else:
        laid = read_map_like(drainage_area, layout, "drainage_area")
    values = _core.chi(codes, around, np.asarray(laid, dtype=np.float64), size, theta, reference_area)
    return layout.wrap(values, Label("chi", "m", "Integral of (A0/A)^theta upstream of the outlet."))  # type: ignore[no-any-return]


@named
def ksn(
    dem: Any,
    *,
    theta: float = 0.45,
    cell_size: float | None = None,
    nodata: float | None = None,
    sea_level: float | None = None,
    edges: Edges | None = None,
) -> Any:
    """Compute the normalised channel steepness ksn = S·A^θ of each cell (Wobus et al. 2006).

    S is the slope from the cell down to the neighbour into which it drains, on the filled surface, and A is its
    drainage area in m² by D8.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    theta : float, default 0.45
        Reference concavity θ, dimensionless.
    cell_size : float, metres, optional
        Side of a square cell; required for an array. By default, that of ``dem``.
    nodata : float, optional
        Value that marks no-data cells, in addition to NaN.
    sea_level : float, metres, optional
        Elevation of the sea surface; cells at or below it are sea. By default, that of ``dem`` if it is a Terrain or a
        Dataset; otherwise there is no sea.
    edges : str or dict, optional
        Boundary condition of all sides, or of each side (north, east, south, west): ``"open"`` (water leaves the map),
        ``"closed"`` (it does not) or ``"looped"`` (it continues at the opposite side). By default, that of ``dem`` if
        it is a Terrain, otherwise open.

    Returns
    -------
    array or DataArray of float64
        Steepness in m^(2θ); 0 at outlets and where the filled surface is level, NaN in no-data cells.

    Raises
    ------
    ValueError
        If a value is out of range, or an array is passed without a cell size.

    References
    ----------
    Wobus et al. (2006), doi:10.1130/2006.2398(04).

    Examples
    --------
    >>> steepness = tw.flow.ksn(dem, theta=0.45)
    """
    given = read_terrain(dem, cell_size=cell_size, nodata=nodata, sea_level=sea_level, edges=edges)
    return given.wrap(_core.ksn(given.core, theta), Label("ksn", f"m^{2 * theta:g}", "Steepness of the channel."))


class HackLaw(NamedTuple):
    """Hack's law L = factor · A^exponent, where A is a drainage area in km² and L the length of its main stem in km.

    Attributes
    ----------
    exponent : float
        Exponent of the drainage area; NaN if the basins do not differ enough in size.
    factor : float
        Length in km of the main stem of a basin of 1 km²; NaN if the basins do not differ enough in size.
    points : array of float64, (bins, 2)
        The points to which the law was fitted: drainage area in km² and geometric mean of the lengths in km, for each
        bin of drainage areas.
    """

    exponent: float
    factor: float
    points: NDArray[np.float64]


@named
def fit_hack_law(
    dem: Any,
    *,
    channel_area: float | None = None,
    cell_size: float | None = None,
    nodata: float | None = None,
    sea_level: float | None = None,
) -> HackLaw:
    """Fit Hack's law (1957), the power law of main stem length over drainage area.

    The samples are the lower ends of channel reaches whose drainage basins are completely on the map. The values are
    the measures ``hack_exponent`` and ``hack_factor`` of :func:`thalweg.measure`.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    channel_area : float, km², optional
        Smallest drainage area of a channel, 1e-9 to 1e6. By default, it is 0.1 km², but at least 100 cells.
    cell_size : float, metres, optional
        Side of a square cell; required for an array. By default, that of ``dem``.
    nodata : float, optional
        Value that marks no-data cells, in addition to NaN.
    sea_level : float, metres, optional
        Elevation of the sea surface; cells at or below it are sea. By default, that of ``dem`` if it is a Terrain or a
        Dataset; otherwise there is no sea.

    Returns
    -------
    HackLaw
        Exponent, factor and the points to which they were fitted.

    Raises
    ------
    ValueError
        If a value is out of range, or an array is passed without a cell size.

    Examples
    --------
    >>> law = tw.flow.fit_hack_law(dem)
    >>> length = law.factor * 25.0**law.exponent  # of the main stem of a basin of 25 km², in km
    """
    found = measure(dem, channel_area=channel_area, cell_size=cell_size, nodata=nodata, sea_level=sea_level)
    curve: Mapping[str, Any] = found.curves.get("hack", {"points": []})
    points = np.asarray(curve["points"], dtype=np.float64).reshape(-1, 2)
    return HackLaw(found["hack_exponent"], found["hack_factor"], points)


@dataclass(frozen=True, eq=False)
class DepressionHierarchy:
    """The nested depressions of a terrain, as a forest of binary trees: the result of :func:`depression_hierarchy`.

    Depressions are numbered from 0; the arrays contain one row or value for each. The leaves, which contain one pit
    each, come first, and a parent comes after its children. A number of −1 means none. Rows and columns are counted
    from the north-western cell.

    Attributes
    ----------
    leaf : array or DataArray of int64, (rows, columns)
        For each cell, the leaf to whose pit its water flows; −1 if it flows out of the map, and in no-data cells.
    pit : array of int64, (depressions, 2)
        Row and column of the pit, the lowest cell.
    floor : array of float64, (depressions,), metres
        Height of the pit.
    parent : array of int64, (depressions,)
        The depression that it forms with its neighbour when both are full.
    children : array of int64, (depressions, 2)
        The two depressions of which it consists, the one with the lower floor first.
    spill_cell : array of int64, (depressions, 2)
        Row and column of the sill, the lowest cell over which it overflows; those of its pit if it never overflows.
    spill_level : array of float64, (depressions,), metres
        Height of the sill; NaN if it never overflows.
    spills_into : array of int64, (depressions,)
        The leaf into which it overflows; −1 if the water leaves the map or it never overflows.
    cells : array of int64, (depressions,)
        Number of its cells below the spill level; of all its cells if it never overflows.
    volume : array of float64, (depressions,), m³
        Volume below the spill level; infinite if it never overflows.
    """

    leaf: Any
    pit: NDArray[np.int64]
    floor: NDArray[np.float64]
    parent: NDArray[np.int64]
    children: NDArray[np.int64]
    spill_cell: NDArray[np.int64]
    spill_level: NDArray[np.float64]
    spills_into: NDArray[np.int64]
    cells: NDArray[np.int64]
    volume: NDArray[np.float64]


@named
def depression_hierarchy(
    dem: Any,
    *,
    outlets: Outlets = (),
    cell_size: float | None = None,
    nodata: float | None = None,
    sea_level: float | None = None,
    edges: Edges | None = None,
) -> DepressionHierarchy:
    """Compute the hierarchy of nested depressions, with their sills and volumes (Barnes, Callaghan & Wickert 2020).

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    outlets, nodata, sea_level, edges : optional
        See :func:`fill_depressions`.
    cell_size : float, metres, optional
        Side of a square cell; required for an array. By default, that of ``dem``.

    Returns
    -------
    DepressionHierarchy
        The depressions with their sills and volumes, and the leaf of each cell.

    Raises
    ------
    ValueError
        If an outlet is not a cell with data, a value is out of range, or an array is passed without a cell size.

    References
    ----------
    Barnes, Callaghan & Wickert (2020), doi:10.5194/esurf-8-431-2020.

    Examples
    --------
    >>> found = tw.flow.depression_hierarchy(dem)
    >>> outermost = found.volume[found.parent == -1]
    """
    given = read_terrain(dem, cell_size=cell_size, nodata=nodata, sea_level=sea_level, edges=edges)
    leaf, pit, floor, parent, children, spill, level, to, cells, volume = _core.hierarchy(given.core, _cells(outlets))
    pairs = np.asarray([(-1, -1) if two is None else two for two in children], dtype=np.int64).reshape(-1, 2)
    return DepressionHierarchy(
        leaf=given.wrap(leaf, Label("leaf", "1", "Number of the depression to which the cell drains; -1 outside.")),
        pit=pit,
        floor=floor,
        parent=parent,
        children=pairs,
        spill_cell=spill,
        spill_level=level,
        spills_into=to,
        cells=cells,
        volume=volume,
    )
