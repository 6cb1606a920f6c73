"""Writing terrains to files."""

from __future__ import annotations

from os import PathLike, fspath
from typing import Any

from ._arrays import warn_caller
from ._inputs import read_terrain
from ._keywords import named


@named
def write(
    dem: Any,
    path: str | PathLike[str],
    *,
    layer: str | None = None,
    type: str | None = None,
    cell_size: float | None = None,
    nodata: float | None = None,
) -> None:
    """Write the heights or a layer of a terrain to a file.

    The file appears under its name only when it is complete.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        The terrain, with heights in metres.
    path : path
        The file. Its extension determines the format: ``.tif`` (GeoTIFF, with the coordinate reference system),
        ``.png``, ``.npy``, ``.asc`` (ESRI ASCII grid), ``.exr``, ``.r16`` or ``.r32``.
    layer : str, optional
        Name of the layer to write instead of the heights.
    type : {"f64", "f32", "u16", "u8"}, optional
        Number format in which heights are stored: floating-point numbers or unsigned integers of that many bits. "f64"
        is exact. By default, it is that of the file format.
    cell_size : float, metres, optional
        Side of a square cell; required for an array. By default, that of ``dem``.
    nodata : float, optional
        Value that marks no-data cells, in addition to NaN.

    Raises
    ------
    ValueError
        If the extension is not known, the format cannot store the values, or the terrain has no such layer.
    OSError
        If the file cannot be written.

    Warns
    -----
    UserWarning
        If information is lost or changed in the file.

    Examples
    --------
    >>> tw.write(dem, "dem.tif", type="f64")
    """
    given = read_terrain(dem, cell_size=cell_size, nodata=nodata)
    if layer is not None:
        given.core.save_layer(fspath(path), layer)
        return
    for message in given.core.save(fspath(path), type):
        warn_caller(f"{fspath(path)} {message}")
