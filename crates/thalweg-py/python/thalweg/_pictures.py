"""Pictures: arrays of pixels, and PNG files."""

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
    """Draws a terrain in perspective, with the water that its layers hold.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        The terrain.
    path : path, optional
        Write the picture there as PNG.
    size : (rows, columns), pixels, 16 to 16384
        The picture's size.
    azimuth : float, degrees clockwise from north
        Where the camera stands.
    elevation : float, 5 to 90 degrees
        How high it stands.
    zoom : float, 0.1 to 20
        1 frames the whole block.
    exaggeration : float, optional
        Factor on heights; chosen if not said.
    ramp : str, optional
        Colours of the ground.
    sun : (azimuth, altitude), degrees, optional
        Where the sun stands.
    title : str, optional
        A line above the picture.
    cell_size, nodata
        Of an array.

    Returns
    -------
    array of uint8, (rows, columns, 3)
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
    """Draws a terrain as a shaded map, north up, with the water that its layers hold.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        The terrain.
    path : path, optional
        Write the picture there as PNG.
    max_size : int, optional, pixels
        Longer side at most; a pixel a cell if not said.
    exaggeration : float, optional
        Factor on heights for the light; chosen if not said.
    ramp : str, optional
        Colours of the ground.
    sun : (azimuth, altitude), degrees, optional
        Where the sun stands.
    scale_bar, legend : bool
        Drawn below.
    cell_size, nodata
        Of an array.

    Returns
    -------
    array of uint8, (rows, columns, 3)
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
