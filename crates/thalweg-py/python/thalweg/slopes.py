"""Slope, gradient and aspect of a terrain, by central differences between the four adjacent cells.

Differences are one-sided at the edges of the map and next to no-data cells.

Examples
--------
>>> steep = tw.slopes.slope(dem, degrees=True) > 30.0
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from ._arrays import Label
from ._inputs import read_terrain
from ._keywords import named

__all__ = ["aspect", "gradient", "slope"]


@named
def slope(dem: Any, *, degrees: bool = False, cell_size: float | None = None, nodata: float | None = None) -> Any:
    """Compute the slope of each cell.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    degrees : bool, default False
        If True, return the angle of the slope in degrees; if False, its tangent, the rise per metre.
    cell_size : float, metres, optional
        Side of a square cell; required for an array. By default, that of ``dem``.
    nodata : float, optional
        Value that marks no-data cells, in addition to NaN.

    Returns
    -------
    array or DataArray of float64
        Slope of each cell, 0 or more, in m/m or degrees; NaN in no-data cells.

    Raises
    ------
    ValueError
        If a height is out of range, or an array is passed without a cell size.

    Examples
    --------
    >>> rising_east = np.array([[0.0, 10.0, 20.0], [0.0, 10.0, 20.0]])
    >>> tw.slopes.slope(rising_east, cell_size=10.0)
    array([[1., 1., 1.],
           [1., 1., 1.]])
    """
    given = read_terrain(dem, cell_size=cell_size, nodata=nodata)
    values = _core.slope_of(given.core)
    if degrees:
        return given.wrap(np.degrees(np.arctan(values)), Label("slope", "degree", "Angle of the steepest descent."))
    return given.wrap(values, Label("slope", "1", "Rise per metre along the steepest descent."))


@named
def gradient(dem: Any, *, cell_size: float | None = None, nodata: float | None = None) -> tuple[Any, Any]:
    """Compute the eastward and northward components of the gradient.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    cell_size : float, metres, optional
        Side of a square cell; required for an array. By default, that of ``dem``.
    nodata : float, optional
        Value that marks no-data cells, in addition to NaN.

    Returns
    -------
    east, north : array or DataArray of float64
        Rise per metre eastward and per metre northward, in m/m; NaN in no-data cells.

    Raises
    ------
    ValueError
        If a height is out of range, or an array is passed without a cell size.

    Examples
    --------
    >>> east, north = tw.slopes.gradient(dem)
    """
    given = read_terrain(dem, cell_size=cell_size, nodata=nodata)
    east, north = _core.gradient(given.core)
    return (
        given.wrap(east, Label("east", "1", "Rise per metre eastward.")),
        given.wrap(north, Label("north", "1", "Rise per metre northward.")),
    )


@named
def aspect(dem: Any, *, cell_size: float | None = None, nodata: float | None = None) -> Any:
    """Compute the aspect of each cell: the azimuth of the direction in which it slopes down.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    cell_size : float, metres, optional
        Side of a square cell; required for an array. By default, that of ``dem``.
    nodata : float, optional
        Value that marks no-data cells, in addition to NaN.

    Returns
    -------
    array or DataArray of float64
        Degrees clockwise from north, 0 to 360; NaN where the terrain is level and in no-data cells.

    Raises
    ------
    ValueError
        If a height is out of range, or an array is passed without a cell size.

    Examples
    --------
    >>> rising_east = np.array([[0.0, 10.0, 20.0], [0.0, 10.0, 20.0]])
    >>> tw.slopes.aspect(rising_east, cell_size=10.0)
    array([[270., 270., 270.],
           [270., 270., 270.]])
    """
    given = read_terrain(dem, cell_size=cell_size, nodata=nodata)
    east, north = _core.gradient(given.core)
    facing = np.degrees(np.arctan2(-east, -north)) % 360.0
    level = (east == 0.0) & (north == 0.0)
    return given.wrap(np.where(level, np.nan, facing), Label("aspect", "degree", "Direction in which the terrain slopes down."))
