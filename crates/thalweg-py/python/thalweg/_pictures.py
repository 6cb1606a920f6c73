"""Pictures of terrains: arrays of pixels, and PNG files."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._inputs import read_terrain
from ._keywords import named

Pixels = NDArray[np.uint8]


def _pair(values: Sequence[Any] | None) -> tuple[Any, Any] | None:
    return None if values is None else (values[0], values[1])


@named
def view(
    dem: Any,
    path: str | PathLike[str] | None = None,
    *,
    size: tuple[int, int] = (720, 1080),
    azimuth: float | None = None,
    elevation: float | None = None,
    zoom: float | None = None,
    exaggeration: float | None = None,
    ramp: str | None = None,
    sun: tuple[float, float] | None = None,
    title: str | None = None,
    cell_size: float | None = None,
    nodata: float | None = None,
) -> Pixels:
    """Draw a terrain in perspective, with the water in its layers.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        The terrain.
    path : path, optional
        Write the picture to this file as PNG.
    size : (rows, columns), pixels, default (720, 1080)
        Size of the picture, 16 to 16384 on each side.
    azimuth : float, degrees, optional
        Direction in which the camera is seen from the terrain, clockwise from north, -360 to 360; by default 205.
    elevation : float, degrees, optional
        Angle of the camera above the horizon, 5 to 90; by default 34.
    zoom : float, optional
        Factor on the picture's scale, 0.1 to 20; 1, the default, frames the whole block.
    exaggeration : float, optional
        Factor on heights. By default, it is chosen from relief and extent.
    ramp : str, optional
        Name of the colour ramp of the ground; by default "land".
    sun : (azimuth, altitude), degrees, optional
        Position of the sun; by default (315, 45).
    title : str, optional
        A line of text at the top of the picture.
    cell_size : float, metres, optional
        Side of a cell; required for an array.
    nodata : float, optional
        A value besides NaN that means no data.

    Returns
    -------
    array of uint8, (rows, columns, 3)
        Red, green and blue of each pixel.
    """
    given = read_terrain(dem, cell_size=cell_size, nodata=nodata)
    return _core.view(
        given.core,
        None if path is None else fspath(path),
        size=_pair(size),
        azimuth=azimuth,
        elevation=elevation,
        zoom=zoom,
        exaggeration=exaggeration,
        ramp=ramp,
        sun=_pair(sun),
        title=title,
    )


@named
def shade(
    dem: Any,
    path: str | PathLike[str] | None = None,
    *,
    max_size: int | None = None,
    exaggeration: float | None = None,
    ramp: str | None = None,
    sun: tuple[float, float] | None = None,
    scale_bar: bool = False,
    legend: bool = False,
    cell_size: float | None = None,
    nodata: float | None = None,
) -> Pixels:
    """Draw a terrain as a shaded map with north up, with the water in its layers.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        The terrain.
    path : path, optional
        Write the picture to this file as PNG.
    max_size : int, pixels, optional
        Greatest length of the longer side. By default, the map has one pixel per cell.
    exaggeration : float, optional
        Factor on heights for the shading. By default, it is chosen from the relief.
    ramp : str, optional
        Name of the colour ramp of the ground; by default "land".
    sun : (azimuth, altitude), degrees, optional
        Position of the sun; by default (315, 45).
    scale_bar, legend : bool, default False
        If True, draw a scale bar or the ramp with its heights below the map.
    cell_size : float, metres, optional
        Side of a cell; required for an array.
    nodata : float, optional
        A value besides NaN that means no data.

    Returns
    -------
    array of uint8, (rows, columns, 3)
        Red, green and blue of each pixel.
    """
    given = read_terrain(dem, cell_size=cell_size, nodata=nodata)
    return _core.shade(
        given.core,
        None if path is None else fspath(path),
        max_size=max_size,
        exaggeration=exaggeration,
        ramp=ramp,
        sun=_pair(sun),
        scale_bar=scale_bar,
        legend=legend,
    )
