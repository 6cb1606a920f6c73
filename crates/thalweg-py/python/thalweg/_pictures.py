"""Pictures of terrains: arrays of pixels, and PNG files."""

from __future__ import annotations

from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._inputs import read_terrain
from ._operations import declared

if TYPE_CHECKING:
    from typing import Unpack

    from ._options import ShadeOptions, ViewOptions

Pixels = NDArray[np.uint8]


@declared("view")
def view(
    dem: Any,
    path: str | PathLike[str] | None = None,
    *,
    cell_size: float | None = None,
    nodata: float | None = None,
    **options: Unpack[ViewOptions],
) -> Pixels:
    """{page}

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        The terrain, with heights in metres.
    path : path, optional
        PNG file to which the picture is also written.
    cell_size : float, metres, optional
        Side of a square cell; required for an array. By default, that of ``dem``.
    nodata : float, optional
        Value that marks no-data cells, in addition to NaN.
    {options}

    Returns
    -------
    array of uint8, (rows, columns, 3)
        Red, green and blue of each pixel, sRGB.

    Raises
    ------
    ValueError
        If an option is out of range, or options exclude one another.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> pixels = tw.view(dem, "view.png", size=(360, 540))
    """
    given = read_terrain(dem, cell_size=cell_size, nodata=nodata)
    return _core.view(given.core, None if path is None else fspath(path), dict(options))


@declared("shade")
def shade(
    dem: Any,
    path: str | PathLike[str] | None = None,
    *,
    cell_size: float | None = None,
    nodata: float | None = None,
    **options: Unpack[ShadeOptions],
) -> Pixels:
    """{page}

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        The terrain, with heights in metres.
    path : path, optional
        PNG file to which the picture is also written.
    cell_size : float, metres, optional
        Side of a square cell; required for an array. By default, that of ``dem``.
    nodata : float, optional
        Value that marks no-data cells, in addition to NaN.
    {options}

    Returns
    -------
    array of uint8, (rows, columns, 3)
        Red, green and blue of each pixel, sRGB.

    Raises
    ------
    ValueError
        If an option is out of range, or options exclude one another.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> pixels = tw.shade(dem, "map.png", scale_bar=True)
    """
    given = read_terrain(dem, cell_size=cell_size, nodata=nodata)
    return _core.shade(given.core, None if path is None else fspath(path), dict(options))
