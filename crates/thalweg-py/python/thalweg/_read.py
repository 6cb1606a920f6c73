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
    """Read an elevation model from a file, or a world from a folder that ``thalweg build`` has written.

    Files are GeoTIFF, PNG, NPY, ESRI ASCII grid, R16, R32 or SRTM (HGT). Cells must be square, and coordinates in
    metres.

    Parameters
    ----------
    path : path
        The file or the folder.
    edges : str or dict, optional
        Boundary condition of all sides, or of each side (north, east, south, west): ``"open"`` (water leaves the map),
        ``"closed"`` (it does not) or ``"looped"`` (it continues at the opposite side). By default, that of the world,
        otherwise open. A DataArray or a Dataset does not keep it.
    sea_level : float, metres, optional
        Elevation of the sea surface; cells at or below it are sea. By default, that of the world; for a file, there is
        no sea. A DataArray does not keep it.
    xarray : bool, optional
        If True, return objects of xarray; if False, a :class:`Terrain`. By default, return objects of xarray if it is
        installed.
    {options}

    Returns
    -------
    xarray.DataArray, xarray.Dataset or Terrain
        For a file, a DataArray of heights in metres; for a folder, a Dataset of heights and layers; without xarray, a
        :class:`Terrain`.

    Raises
    ------
    ValueError
        If the file is not an elevation model, an option is out of range, coordinates are in degrees or feet, or cells
        are not square.
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
