"""Where water goes, function by function. Each is exact and gives the same bits for any number of threads.

Directions are ESRI's codes: 1 east, 2 south-east, 4 south … 128 north-east; 0 where water leaves or stays, 255 where there is no data.
:func:`thalweg.drain` works all of it out at once.
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
    """Fills each depression to its spill level: what priority-flood gives (Barnes et al. 2014).

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    outlets : list of (row, column)
        Cells where water leaves beside edges, sea and missing data.
    cell_size, nodata, sea_level, edges
        Of the map; how wide cells are changes nothing here.
    """
    given = read_terrain(dem, cell_size=_size(dem, cell_size), nodata=nodata, sea_level=sea_level, edges=edges)
    return given.wrap(_core.fill(given.core, _cells(outlets), given.narrow), HEIGHT)  # type: ignore[no-any-return]


def _size(dem: Any, cell_size: float | None) -> float | None:
    """The cell size where it changes nothing: an array need not say it."""
    has_own = xarray_kind(dem) is not None or isinstance(dem, CoreHolder)
    return 1.0 if cell_size is None and not has_own else cell_size


def _looped(edges: Edges | None) -> list[bool]:
    return [False, False] if edges is None else _core.looped(edges)


class Breached(NamedTuple):
    """Ground with channels cut, and what was done."""

    height: Any
    #: How many pits were given a way out.
    breached: int
    #: How many pits the limits left without a way.
    kept: int
    #: What was cut away in m³.
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
    """Cuts a channel from every pit to lower ground, where the limits allow: least-cost breaching (Lindsay & Dhun 2015; Lindsay 2016).

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    depth, length : float, metres
        The deepest cut, and how far from its pit a channel may reach.
    outlets, cell_size, nodata, sea_level, edges
        As for :func:`fill`; an array must be given its cell size.
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
    """Directions of steepest descent (O'Callaghan & Mark 1984) as ESRI's codes; equals are told apart by a hash of the cell.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    filled : bool
        On the filled surface, over its flats; or on the ground as it is, where pits hold their water.
    outlets, cell_size, nodata, sea_level, edges
        As for :func:`fill`.
    """
    given = read_terrain(dem, cell_size=_size(dem, cell_size), nodata=nodata, sea_level=sea_level, edges=edges)
    label = Label("direction", "1", "Neighbour that the cell drains to, as ESRI's code; 0 out, 255 no data.")
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
    """Directions at any angle (Tarboton 1997) on the filled surface: radians counter-clockwise from the east, −1 where water goes to no neighbour."""
    given = read_terrain(dem, cell_size=_size(dem, cell_size), nodata=nodata, sea_level=sea_level, edges=edges)
    label = Label("angle", "rad", "Direction of steepest descent, counter-clockwise from the east; -1 to no neighbour.")
    return given.wrap(_core.dinf(given.core, _cells(outlets)), label)


@named
def accumulate(direction: Sheet, weights: Any = None, *, edges: Edges | None = None) -> Sheet:
    """Sums what drains through each cell along directions, itself among it.

    Parameters
    ----------
    direction : array or DataArray of uint8
        ESRI's codes, as :func:`d8` gives them.
    weights : array or DataArray, optional
        What each cell yields, in any unit; sums are then f64, exact to 2⁻⁶¹ of the whole whatever the order. Without them cells are counted.
    edges : optional
        Those of the map, if some are looped: water goes on at the opposite side.
    """
    codes, layout = read_map(direction, "direction")
    given = None if weights is None else read_map_like(weights, layout, "weights")
    label = Label("accumulation", "1", "What drains through the cell.")
    return layout.wrap(_core.accumulate(_codes(codes), _looped(edges), given), label)  # type: ignore[no-any-return]


def _codes(array: Array) -> Array:
    if array.dtype != np.uint8:
        whole = array.astype(np.uint8)
        if not np.array_equal(whole, array):
            raise ValueError(f"direction has dtype {array.dtype} and other numbers than ESRI's codes")
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
    """Sums what drains through each cell along D∞ angles (Tarboton 1997); see :func:`accumulate`."""
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
    """Sums what drains through each cell, split over all lower neighbours by slope to a power (Freeman 1991; Quinn et al. 1991 with 1)."""
    return _spread(dem, weights, exponent, outlets, cell_size, nodata, sea_level, edges)


def _spread(
    dem: Any, weights: Any, exponent: float | None, outlets: Outlets, cell_size: Any, nodata: Any, sea_level: Any, edges: Any
) -> Any:
    given = read_terrain(dem, cell_size=_size(dem, cell_size), nodata=nodata, sea_level=sea_level, edges=edges)
    laid = None if weights is None else read_map_like(weights, given.layout, "weights")
    label = Label("accumulation", "1", "What drains through the cell.")
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
    """Numbers each cell by the basin that it lies in, from 1; 0 in the sea and where there is no data. Directions are D8's, or those given."""
    given = read_terrain(dem, cell_size=_size(dem, cell_size), nodata=nodata, sea_level=sea_level, edges=edges)
    codes = _core.d8(given.core, [], True) if direction is None else _codes(read_map_like(direction, given.layout, "direction"))
    return given.wrap(_core.basins(given.core, codes), Label("basins", "1", "Number of the basin; 0 outside."))


@named
def orders(direction: Sheet, streams: Any, *, shreve: bool = False, edges: Edges | None = None) -> Sheet:
    """Orders of streams: Strahler's (1957), or Shreve's (1966) magnitudes; 0 where there is no stream.

    Parameters
    ----------
    direction : array or DataArray of uint8
        ESRI's codes.
    streams : array or DataArray of bool
        Where there is a stream, such as ``accumulate(direction) >= 500``.
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
    raise ValueError("direction is an array, which has no cell size: give cell_size, the side of a cell in metres")


@named
def upstream_length(direction: Sheet, *, cell_size: float | None = None, edges: Edges | None = None) -> Sheet:
    """Metres of the longest flow path from a divide down to each cell."""
    codes, layout = read_map(direction, "direction")
    lengths = _core.upstream_length(_codes(codes), _looped(edges), _cell_of(direction, cell_size))
    return layout.wrap(lengths, Label("upstream_length", "m", "Longest flow path from a divide."))  # type: ignore[no-any-return]


@named
def outlet_distance(direction: Sheet, *, cell_size: float | None = None, edges: Edges | None = None) -> Sheet:
    """Metres of flow path from each cell down to where its water leaves."""
    codes, layout = read_map(direction, "direction")
    lengths = _core.outlet_distance(_codes(codes), _looped(edges), _cell_of(direction, cell_size))
    return layout.wrap(lengths, Label("outlet_distance", "m", "Flow path to where water leaves."))  # type: ignore[no-any-return]


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
    """χ in metres: the integral of (A₀/A)^θ along the flow path from the outlet up (Perron & Royden 2013), by trapezia between centres.

    Parameters
    ----------
    direction : array or DataArray of uint8
        ESRI's codes.
    area : array or DataArray, optional, m²
        Catchments; D8's along the directions if not said.
    theta : float, 0 to 2
        The concavity that rivers are held to.
    reference_area : float, m²
        A₀. With 1 m² the slope of height over χ is ksn.
    cell_size : float, metres
        Of an array.
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
    """Steepness of each cell, S·A^θ, in m^(2θ): S the fall to the cell that it drains to over the distance, on the filled surface; 0 where water leaves."""
    given = read_terrain(dem, cell_size=cell_size, nodata=nodata, sea_level=sea_level, edges=edges)
    return given.wrap(_core.ksn(given.core, theta), Label("ksn", f"m^{2 * theta:g}", "Steepness of the channel."))


class Hack(NamedTuple):
    """Hack's law: L = factor · A^exponent, A in km² and L in km."""

    exponent: float
    factor: float
    #: Catchments in km² and lengths of main stems in km, means of bins.
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
    """Fits Hack's law (1957) to the main stems of whole catchments, as :func:`thalweg.measure` does; NaN where they span too few sizes."""
    found = measure(dem, channel_area=channel_area, cell_size=cell_size, nodata=nodata, sea_level=sea_level)
    curve: Mapping[str, Any] = found.curves.get("hack", {"points": []})
    points = np.asarray(curve["points"], dtype=np.float64).reshape(-1, 2)
    return Hack(found["hack_exponent"], found["hack_factor"], points)


class Depressions(NamedTuple):
    """All depressions of a terrain: a forest of binary trees. Leaves come first; a parent comes after its children. −1 stands for none."""

    #: For each cell the leaf whose pit its water runs down to.
    leaf: Any
    #: Row and column of each depression's lowest cell.
    pit: NDArray[np.int64]
    #: Height of that cell in metres.
    floor: NDArray[np.float64]
    #: The depression that it becomes part of.
    parent: NDArray[np.int64]
    #: The two that merged into it, the one with the deeper floor first.
    children: NDArray[np.int64]
    #: Row and column of the cell over which it spills; its pit's where it never does.
    spill: NDArray[np.int64]
    #: Height of that sill in metres; NaN where it never spills.
    level: NDArray[np.float64]
    #: The leaf that it spills into.
    to: NDArray[np.int64]
    #: Cells under the spill level.
    cells: NDArray[np.int64]
    #: What it holds in m³; infinite where it never spills.
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
    """Finds which hollows lie in which, where each spills, and how much it holds (Barnes, Callaghan & Wickert 2020)."""
    given = read_terrain(dem, cell_size=cell_size, nodata=nodata, sea_level=sea_level, edges=edges)
    leaf, pit, floor, parent, children, spill, level, to, cells, volume = _core.hierarchy(given.core, _cells(outlets))
    pairs = np.asarray([(-1, -1) if two is None else two for two in children], dtype=np.int64).reshape(-1, 2)
    laid = given.wrap(leaf, Label("leaf", "1", "Number of the depression that the cell drains to; -1 out."))
    return Depressions(laid, pit, floor, parent, pairs, spill, level, to, cells, volume)
