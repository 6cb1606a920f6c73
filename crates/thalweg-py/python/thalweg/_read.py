"""Reading terrains from files."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from . import _core
from ._arrays import warn_caller
from ._operations import declared
from ._results import new_terrain

if TYPE_CHECKING:
    from typing import Unpack

    from ._options import OpenOptions


@declared("open")
def read(
    path: str | PathLike[str],
    *,
    edges: str | Mapping[str, str] | None = None,
    sea_level: float | None = None,
    xarray: bool | None = None,
    **options: Unpack[OpenOptions],
) -> Any:
    """Read an elevation model, or the folder of a world that ``thalweg build`` has written.

    The formats of elevation models are GeoTIFF, PNG, NPY, ESRI ASCII, R16, R32 and SRTM.

    Parameters
    ----------
    path : path
        The file or the folder.
    edges : str or dict, optional
        ``"open"``, ``"closed"`` or ``"looped"``, for all sides or by side.
    sea_level : float, metres, optional
        Elevation of the sea surface.
    xarray : bool, optional
        If True, return objects of xarray; if False, a :class:`Terrain`. By default, return objects of xarray if it is
        installed.
    {options}

    Returns
    -------
    xarray.DataArray, xarray.Dataset or Terrain
        For a file, a DataArray of its heights; for a folder, a Dataset; without xarray, a :class:`Terrain`.

    Raises
    ------
    ValueError
        If the file is not a terrain, is in degrees or feet, or has cells that are not square.
    OSError
        If the file cannot be read.

    Warns
    -----
    UserWarning
        If values of the file were changed or ignored.

    Examples
    --------
    >>> dem = tw.read("dem.tif")
    """
    core, said = _core.load(fspath(path), dict(options), edges=edges, sea_level=sea_level)
    for message in said:
        warn_caller(f"{fspath(path)} {message}")
    whole = new_terrain(core, xarray)
    if type(whole).__name__ == "Dataset" and not core.layers:
        return whole["height"]
    return whole
