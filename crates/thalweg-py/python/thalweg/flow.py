"""Single functions for the flow of water.

Each function is exact, and its result is bit-identical for any number of threads. Flow directions are ESRI codes:
1 east, 2 south-east, 4 south … 128 north-east; 0 where water leaves or stays, 255 in no-data cells.
:func:`thalweg.drain` computes the whole drainage at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._arrays import HEIGHT, Label, Outlets
from ._inputs import CoreHolder, read_map, read_map_like, read_terrain, xarray_kind
from ._keywords import named
from ._measure import measure

if TYPE_CHECKING:
    from ._inputs import Edges, Sheet
    from ._terrain import Dem

Array = NDArray[Any]

__all__ = [
    "Breached",
    "Depressions",
    "Hack",
    "accumulate",
    "basins",
    "breach",
    "chi",
    "d8",
    "dinf",
    "dinf_accumulate",
    "fill",
    "hack",
    "hierarchy",
    "ksn",
    "mfd_accumulate",
    "orders",
    "outlet_distance",
    "upstream_length",
]


def _cells(outlets: Outlets) -> list[tuple[int, int]]:
    return [(int(row), int(column)) for row, column in outlets]


@named
def fill(
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


class Breached(NamedTuple):
    """Heights with breached depressions, the numbers of pits, and the incised volume."""

    #: Heights in metres: an array, or a DataArray for a DataArray or a Dataset.
    height: Any
    #: Number of pits that were breached.
    breached: int
    #: Number of pits that the limits left unbreached.
    kept: int
    #: Incised volume in m³.
    volume: float


@named
def breach(
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
        See :func:`fill`.
    cell_size : float, metres, optional
        Side of a cell; required for an array.

    Returns
    -------
    Breached
        Heights, numbers of pits, and the incised volume.
    """
    given = read_terrain(dem, cell_size=cell_size, nodata=nodata, sea_level=sea_level, edges=edges)
    height, breached, kept, volume = _core.breach(given.core, _cells(outlets), depth, length, given.narrow)
    return Breached(given.wrap(height, HEIGHT), breached, kept, volume)


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
        See :func:`fill`.

    Returns
    -------
    array or DataArray of uint8
        ESRI codes; 0 where water leaves or stays, 255 in no-data cells.
    """
    given = read_terrain(dem, cell_size=_size(dem, cell_size), nodata=nodata, sea_level=sea_level, edges=edges)
    label = Label("direction", "1", "Neighbour to which the cell drains, as ESRI code; 0 at outlets, 255 for no data.")
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
        See :func:`fill`.

    Returns
    -------
    array or DataArray of float32
        Radians counter-clockwise from east; -1 where water flows to no neighbour.
    """
    given = read_terrain(dem, cell_size=_size(dem, cell_size), nodata=nodata, sea_level=sea_level, edges=edges)
    label = Label("angle", "rad", "Direction of steepest descent, counter-clockwise from east; -1 for no neighbour.")
    return given.wrap(_core.dinf(given.core, _cells(outlets)), label)


@named
def accumulate(direction: Sheet, weights: Any = None, *, edges: Edges | None = None) -> Sheet:
    """Accumulate cells or weights along flow directions; the sum of a cell includes the cell itself.

    Parameters
    ----------
    direction : array or DataArray of uint8
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
    codes, layout = read_map(direction, "direction")
    given = None if weights is None else read_map_like(weights, layout, "weights")
    label = Label("accumulation", "1", "Upstream cells or weights that drain through the cell.")
    return layout.wrap(_core.accumulate(_codes(codes), _looped(edges), given), label)  # type: ignore[no-any-return]


def _codes(array: Array) -> Array:
    if array.dtype != np.uint8:
        whole = array.astype(np.uint8)
        if not np.array_equal(whole, array):
            raise ValueError("direction contains values that are not ESRI codes; they must be 0, 1, 2, 4, 8, 16, 32, 64, 128 or 255")
        return whole
    return array


@named
def dinf_accumulate(
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
        See :func:`fill`.

    Returns
    -------
    array or DataArray of float64
        Number of cells or sum of weights that drain through each cell; see :func:`accumulate`.
    """
    return _spread(dem, weights, None, outlets, cell_size, nodata, sea_level, edges)


@named
def mfd_accumulate(
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
        See :func:`fill`.

    Returns
    -------
    array or DataArray of float64
        Number of cells or sum of weights that drain through each cell; see :func:`accumulate`.
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
def basins(
    dem: Any,
    direction: Any = None,
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
    direction : array or DataArray of uint8, optional
        Flow directions as ESRI codes; by default those of :func:`d8`.
    cell_size, nodata, sea_level, edges : optional
        See :func:`fill`.

    Returns
    -------
    array or DataArray of uint32
        Number of the basin, from 1; 0 in the sea and in no-data cells.
    """
    given = read_terrain(dem, cell_size=_size(dem, cell_size), nodata=nodata, sea_level=sea_level, edges=edges)
    codes = _core.d8(given.core, [], True) if direction is None else _codes(read_map_like(direction, given.layout, "direction"))
    return given.wrap(_core.basins(given.core, codes), Label("basins", "1", "Number of the drainage basin; 0 outside."))


@named
def orders(direction: Sheet, streams: Any, *, shreve: bool = False, edges: Edges | None = None) -> Sheet:
    """Compute stream orders by Strahler (1957), or stream magnitudes by Shreve (1966).

    Parameters
    ----------
    direction : array or DataArray of uint8
        Flow directions as ESRI codes, as :func:`d8` returns them.
    streams : array or DataArray of bool
        Mask of the stream cells, for example ``accumulate(direction) >= 500``.
    shreve : bool, default False
        If True, return Shreve magnitudes instead of Strahler orders.
    edges : str or dict, optional
        The edges of the map; needed if some are looped, because water then continues at the opposite side.

    Returns
    -------
    array or DataArray of uint32
        Order or magnitude; 0 where there is no stream.
    """
    codes, layout = read_map(direction, "direction")
    mask = read_map_like(streams, layout, "streams")
    label = Label("orders", "1", "Order of the stream; 0 where there is none.")
    return layout.wrap(_core.orders(_codes(codes), _looped(edges), (mask != 0).astype(np.uint8), shreve), label)  # type: ignore[no-any-return]


def _cell_of(values: Any, cell_size: float | None) -> float:
    if cell_size is not None:
        return cell_size
    if xarray_kind(values) == "array":
        from .xarray import cell_of

        return cell_of(values)
    raise ValueError("direction is an array, which has no cell size; give cell_size, the side of a cell in metres")


@named
def upstream_length(direction: Sheet, *, cell_size: float | None = None, edges: Edges | None = None) -> Sheet:
    """Compute the length of the longest flow path from a divide down to each cell.

    Parameters
    ----------
    direction : array or DataArray of uint8
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
    codes, layout = read_map(direction, "direction")
    lengths = _core.upstream_length(_codes(codes), _looped(edges), _cell_of(direction, cell_size))
    return layout.wrap(lengths, Label("upstream_length", "m", "Length of the longest flow path from a divide."))  # type: ignore[no-any-return]


@named
def outlet_distance(direction: Sheet, *, cell_size: float | None = None, edges: Edges | None = None) -> Sheet:
    """Compute the length of the flow path from each cell down to its outlet.

    Parameters
    ----------
    direction : array or DataArray of uint8
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
    codes, layout = read_map(direction, "direction")
    lengths = _core.outlet_distance(_codes(codes), _looped(edges), _cell_of(direction, cell_size))
    return layout.wrap(lengths, Label("outlet_distance", "m", "Length of the flow path to the outlet."))  # type: ignore[no-any-return]


@named
def chi(
    direction: Sheet,
    area: Any = None,
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
    direction : array or DataArray of uint8
        Flow directions as ESRI codes, as :func:`d8` returns them.
    area : array or DataArray, m², optional
        Drainage area A; by default the D8 drainage area along ``direction``.
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
    codes, layout = read_map(direction, "direction")
    codes = _codes(codes)
    size = _cell_of(direction, cell_size)
    around = _looped(edges)
    laid = _core.accumulate(codes, around) * (size * size) if area is None else read_map_like(area, layout, "area")
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


class Hack(NamedTuple):
    """Hack's law: L = factor · A^exponent, with A in km² and L in km."""

    exponent: float
    factor: float
    #: Drainage areas in km² and lengths of main stems in km, as means of bins.
    points: NDArray[np.float64]


@named
def hack(
    dem: Any,
    *,
    channel_area: float | None = None,
    cell_size: float | None = None,
    nodata: float | None = None,
    sea_level: float | None = None,
) -> Hack:
    """Fit Hack's law (1957) to the main stems of complete catchments, as :func:`thalweg.measure` does.

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
    Hack
        Exponent and factor, NaN if the sizes of the catchments span too small a range.
    """
    found = measure(dem, channel_area=channel_area, cell_size=cell_size, nodata=nodata, sea_level=sea_level)
    curve: Mapping[str, Any] = found.curves.get("hack", {"points": []})
    points = np.asarray(curve["points"], dtype=np.float64).reshape(-1, 2)
    return Hack(found["hack_exponent"], found["hack_factor"], points)


class Depressions(NamedTuple):
    """All depressions of a terrain, as a forest of binary trees.

    Depressions are numbered from 0: leaves come first, and a parent comes after its children. -1 means none.
    """

    #: For each cell, the leaf to whose pit its water flows.
    leaf: Any
    #: Row and column of the lowest cell of each depression.
    pit: NDArray[np.int64]
    #: Height of that cell in metres.
    floor: NDArray[np.float64]
    #: The depression into which it merges.
    parent: NDArray[np.int64]
    #: The two depressions that merged into it, the one with the deeper floor first.
    children: NDArray[np.int64]
    #: Row and column of the sill, the cell over which it spills; those of its pit if it never spills.
    spill: NDArray[np.int64]
    #: Height of the sill in metres; NaN if it never spills.
    level: NDArray[np.float64]
    #: The leaf into which it spills.
    to: NDArray[np.int64]
    #: Number of cells below the spill level.
    cells: NDArray[np.int64]
    #: Capacity up to the spill level in m³; infinite if it never spills.
    volume: NDArray[np.float64]


@named
def hierarchy(
    dem: Any,
    *,
    outlets: Outlets = (),
    cell_size: float | None = None,
    nodata: float | None = None,
    sea_level: float | None = None,
    edges: Edges | None = None,
) -> Depressions:
    """Compute the hierarchy of nested depressions, their sills and their volumes (Barnes, Callaghan & Wickert 2020).

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    outlets, nodata, sea_level, edges : optional
        See :func:`fill`.
    cell_size : float, metres, optional
        Side of a cell; required for an array.

    Returns
    -------
    Depressions
    """
    given = read_terrain(dem, cell_size=cell_size, nodata=nodata, sea_level=sea_level, edges=edges)
    leaf, pit, floor, parent, children, spill, level, to, cells, volume = _core.hierarchy(given.core, _cells(outlets))
    pairs = np.asarray([(-1, -1) if two is None else two for two in children], dtype=np.int64).reshape(-1, 2)
    laid = given.wrap(leaf, Label("leaf", "1", "Number of the depression to which the cell drains; -1 outside."))
    return Depressions(laid, pit, floor, parent, pairs, spill, level, to, cells, volume)
