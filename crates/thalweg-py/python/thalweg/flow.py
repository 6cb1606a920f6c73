"""Single functions for the flow of water.

A function that computes one map has the name of the quantity or of the method; the others begin with a verb. The
results are bit-identical for any number of threads. Flow directions are ESRI codes: 1 east, 2 south-east, 4 south … 128
north-east; 0 where water leaves or stays, 255 in no-data cells. :func:`thalweg.drain` computes the whole drainage at
once.

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
    """Fill each depression to its spill level, with the result of priority-flood (Barnes et al. 2014).

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    outlets : sequence of (row, column), optional
        Cells at which water leaves the map, in addition to open edges, the sea and no-data cells.
    cell_size : float, metres, optional
        Side of a cell; it does not affect the result and need not be passed for an array.
    nodata : float, optional
        A value besides NaN that means no data.
    sea_level : float, metres, optional
        Elevation of the sea surface.
    edges : str or dict, optional
        ``"open"``, ``"closed"`` or ``"looped"``, for all sides or by side.

    Returns
    -------
    array or DataArray
        Filled heights in metres; a DataArray if ``dem`` is a DataArray or a Dataset.

    Raises
    ------
    ValueError
        If an outlet is not a cell with data, or a value is out of range.
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
        Heights; a DataArray for a DataArray or a Dataset.
    breached : int
        Number of pits that were breached.
    kept : int
        Number of pits that the limits left unbreached.
    volume : float, m³
        Incised volume.
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
    """Carve a channel from every pit to lower terrain, within limits.

    The method is least-cost breaching (Lindsay & Dhun 2015; Lindsay 2016).

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    depth : float, metres, default inf
        Greatest depth of a channel.
    length : float, metres, default inf
        Greatest straight-line distance of a channel from its pit.
    outlets, nodata, sea_level, edges : optional
        See :func:`fill_depressions`.
    cell_size : float, metres, optional
        Side of a cell; required for an array.

    Returns
    -------
    Breached
        Heights, numbers of pits, and the incised volume.
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
    """Compute D8 flow directions, those of the steepest descent (O'Callaghan & Mark 1984).

    Ties are broken by a hash of the cell.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    filled : bool, default True
        If True, route water over the filled surface and its flats; if False, over the unfilled elevation, where water
        stays in pits.
    outlets, cell_size, nodata, sea_level, edges : optional
        See :func:`fill_depressions`.

    Returns
    -------
    array or DataArray of uint8
        ESRI codes; 0 where water leaves or stays, 255 in no-data cells.
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

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    outlets, cell_size, nodata, sea_level, edges : optional
        See :func:`fill_depressions`.

    Returns
    -------
    array or DataArray of float32
        Radians counter-clockwise from east; -1 where water flows to no neighbour.
    """
    given = read_terrain(dem, cell_size=_size(dem, cell_size), nodata=nodata, sea_level=sea_level, edges=edges)
    label = Label("flow_angle", "rad", "D∞ flow direction, counter-clockwise from east; -1 where water flows to no neighbour.")
    return given.wrap(_core.dinf(given.core, _cells(outlets)), label)


@named
def accumulate_flow(flow_direction: Sheet, weights: Any = None, *, edges: Edges | None = None) -> Sheet:
    """Accumulate cells or weights along flow directions; the sum of a cell includes the cell itself.

    Parameters
    ----------
    flow_direction : array or DataArray of uint8
        Flow directions as ESRI codes, as :func:`d8` returns them.
    weights : array or DataArray, optional
        Amount that each cell contributes, in any unit. By default, cells are counted.
    edges : str or dict, optional
        The edges of the map; needed if some are looped, because water then continues at the opposite side.

    Returns
    -------
    array or DataArray
        Number of cells or sum of weights that drain through each cell. Sums of weights are f64 and exact to 2⁻⁶¹ of
        the total, independent of the order of summation.
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
        Amount that each cell contributes, in any unit. By default, cells are counted.
    outlets, cell_size, nodata, sea_level, edges : optional
        See :func:`fill_depressions`.

    Returns
    -------
    array or DataArray of float64
        Number of cells or sum of weights that drain through each cell; see :func:`accumulate_flow`.
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
    """Accumulate cells or weights along multiple flow directions on the filled surface.

    Each cell drains to all lower neighbours, in proportion to a power of the slope (Freeman 1991; with an exponent
    of 1, Quinn et al. 1991).

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    weights : array or DataArray, optional
        Amount that each cell contributes, in any unit. By default, cells are counted.
    exponent : float, default 1.1
        Exponent of the slope.
    outlets, cell_size, nodata, sea_level, edges : optional
        See :func:`fill_depressions`.

    Returns
    -------
    array or DataArray of float64
        Number of cells or sum of weights that drain through each cell; see :func:`accumulate_flow`.
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
    """Label each cell with the number of its drainage basin.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    flow_direction : array or DataArray of uint8, optional
        Flow directions as ESRI codes; by default those of :func:`d8`.
    cell_size, nodata, sea_level, edges : optional
        See :func:`fill_depressions`.

    Returns
    -------
    array or DataArray of uint32
        Number of the basin, from 1; 0 in the sea and in no-data cells.
    """
    given = read_terrain(dem, cell_size=_size(dem, cell_size), nodata=nodata, sea_level=sea_level, edges=edges)
    if flow_direction is None:
        codes = _core.d8(given.core, [], True)
    else:
        codes = as_flow_codes(read_map_like(flow_direction, given.layout, "flow_direction"))
    return given.wrap(_core.basins(given.core, codes), Label("basin", "1", "Number of the drainage basin; 0 in the sea and without data."))


@named
def stream_order(flow_direction: Sheet, streams: Any, *, shreve: bool = False, edges: Edges | None = None) -> Sheet:
    """Compute stream orders by Strahler (1957), or stream magnitudes by Shreve (1966).

    Parameters
    ----------
    flow_direction : array or DataArray of uint8
        Flow directions as ESRI codes, as :func:`d8` returns them.
    streams : array or DataArray of bool
        Mask of the stream cells, for example ``accumulate_flow(flow_direction) >= 500``.
    shreve : bool, default False
        If True, return Shreve magnitudes instead of Strahler orders.
    edges : str or dict, optional
        The edges of the map; needed if some are looped, because water then continues at the opposite side.

    Returns
    -------
    array or DataArray of uint32
        Order or magnitude; 0 where there is no stream.
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
        Flow directions as ESRI codes, as :func:`d8` returns them.
    cell_size : float, metres, optional
        Side of a cell; required for an array.
    edges : str or dict, optional
        The edges of the map; needed if some are looped, because water then continues at the opposite side.

    Returns
    -------
    array or DataArray of float64
        Lengths in metres.
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
        Flow directions as ESRI codes, as :func:`d8` returns them.
    cell_size : float, metres, optional
        Side of a cell; required for an array.
    edges : str or dict, optional
        The edges of the map; needed if some are looped, because water then continues at the opposite side.

    Returns
    -------
    array or DataArray of float64
        Lengths in metres.
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
    """Compute χ, the integral of (A₀/A)^θ along the flow path upstream of the outlet (Perron & Royden 2013).

    The integral is computed by the trapezoidal rule between cell centres.

    Parameters
    ----------
    flow_direction : array or DataArray of uint8
        Flow directions as ESRI codes, as :func:`d8` returns them.
    drainage_area : array or DataArray, m², optional
        Drainage area A; by default that of the flow directions.
    theta : float, default 0.45
        Reference concavity θ, 0 to 2.
    reference_area : float, m², default 1.0
        Reference drainage area A₀. With 1 m², the slope of height over χ is ksn.
    cell_size : float, metres, optional
        Side of a cell; required for an array.
    edges : str or dict, optional
        The edges of the map; needed if some are looped, because water then continues at the opposite side.

    Returns
    -------
    array or DataArray of float64
        χ in metres.
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
    """Compute the channel steepness S·A^θ of each cell.

    S is the slope down to the cell into which a cell drains, on the filled surface, and A the drainage area in m².

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    theta : float, default 0.45
        Reference concavity θ.
    cell_size : float, metres, optional
        Side of a cell; required for an array.
    nodata : float, optional
        A value besides NaN that means no data.
    sea_level : float, metres, optional
        Elevation of the sea surface.
    edges : str or dict, optional
        ``"open"``, ``"closed"`` or ``"looped"``, for all sides or by side.

    Returns
    -------
    array or DataArray of float64
        Steepness in m^(2θ); 0 at outlets, NaN in no-data cells.
    """
    given = read_terrain(dem, cell_size=cell_size, nodata=nodata, sea_level=sea_level, edges=edges)
    return given.wrap(_core.ksn(given.core, theta), Label("ksn", f"m^{2 * theta:g}", "Steepness of the channel."))


class HackLaw(NamedTuple):
    """Hack's law: L = factor · A^exponent, with A in km² and L in km.

    Attributes
    ----------
    exponent, factor : float
        The parameters of the law; NaN if the drainage basins do not differ enough in size.
    points : array of float64, (bins, 2)
        Drainage areas in km² and lengths of main stems in km, as means of bins.
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
    """Fit Hack's law (1957) to the main stems of drainage basins, as :func:`thalweg.measure` does.

    Only basins that lie completely on the map are used.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    channel_area : float, km², optional
        Drainage area from which a cell belongs to a channel. By default, 0.1 km², but at least 100 cells.
    cell_size : float, metres, optional
        Side of a cell; required for an array.
    nodata : float, optional
        A value besides NaN that means no data.
    sea_level : float, metres, optional
        Elevation of the sea surface.

    Returns
    -------
    HackLaw
        Exponent, factor and the points to which they were fitted.
    """
    found = measure(dem, channel_area=channel_area, cell_size=cell_size, nodata=nodata, sea_level=sea_level)
    curve: Mapping[str, Any] = found.curves.get("hack", {"points": []})
    points = np.asarray(curve["points"], dtype=np.float64).reshape(-1, 2)
    return HackLaw(found["hack_exponent"], found["hack_factor"], points)


@dataclass(frozen=True, eq=False)
class DepressionHierarchy:
    """All depressions of a terrain, as a forest of binary trees.

    Depressions are numbered from 0: leaves come first, and a parent comes after its children. −1 means none.

    Attributes
    ----------
    leaf : array or DataArray of int64, (rows, columns)
        For each cell, the leaf to whose pit its water flows.
    pit : array of int64, (depressions, 2)
        Row and column of the lowest cell.
    floor : array of float64, (depressions,), metres
        Height of the lowest cell.
    parent : array of int64, (depressions,)
        The depression into which it merges.
    children : array of int64, (depressions, 2)
        The two depressions that merged into it, the one with the deeper floor first.
    spill_cell : array of int64, (depressions, 2)
        Row and column of the sill, the cell over which it spills; those of its pit if it never spills.
    spill_level : array of float64, (depressions,), metres
        Height of the sill; NaN if it never spills.
    spills_into : array of int64, (depressions,)
        The leaf into which it spills.
    cells : array of int64, (depressions,)
        Number of cells below the spill level.
    volume : array of float64, (depressions,), m³
        Capacity up to the spill level; infinite if it never spills.
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
    """Compute the hierarchy of nested depressions, their sills and their volumes (Barnes, Callaghan & Wickert 2020).

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    outlets, nodata, sea_level, edges : optional
        See :func:`fill_depressions`.
    cell_size : float, metres, optional
        Side of a cell; required for an array.

    Returns
    -------
    DepressionHierarchy
        The depressions with their sills and volumes, and the leaf of each cell.
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
