"""Terrains into files."""

from __future__ import annotations

from os import PathLike, fspath
from typing import Any

from ._arrays import warn_caller
from ._inputs import read_terrain
from ._keywords import named


@named
def save(
    dem: Any,
    path: str | PathLike[str],
    *,
    layer: str | None = None,
    type: str | None = None,
    cell_size: float | None = None,
    nodata: float | None = None,
) -> None:
    """Writes heights, or a layer, into a file whose ending picks the format. The file appears whole or not at all.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        The terrain.
    path : path
        ``.tif`` (GeoTIFF, with the reference system), ``.png``, ``.npy``, ``.asc``, ``.exr``, ``.r16``, ``.r32``.
    layer : str, optional
        The layer to write in place of the heights.
    type : str, optional
        How heights are stored: ``"f64"`` is exact.
    cell_size, nodata
        Of an array.
    """
    given = read_terrain(dem, cell_size=cell_size, nodata=nodata)
    if layer is not None:
        given.core.save_layer(fspath(path), layer)
        return
    for message in given.core.save(fspath(path), type):
        warn_caller(f"{fspath(path)} {message}")
