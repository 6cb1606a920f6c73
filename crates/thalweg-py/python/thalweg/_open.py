"""Reading terrains from files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import Any

from . import _core
from ._arrays import warn_caller
from ._keywords import named
from ._results import new_terrain


@named
def open(
    path: str | PathLike[str],
    *,
    height: Sequence[float] | None = None,
    cell_size: float | None = None,
    unit: str | None = None,
    infinite_is_nodata: bool = False,
    deterrace: bool = False,
    edges: str | Mapping[str, str] | None = None,
    sea_level: float | None = None,
    xarray: bool | None = None,
) -> Any:
    """Open an elevation model, or the folder of a world that the command has built.

    The formats are GeoTIFF, PNG, NPY, ESRI ASCII, R16, R32 and SRTM.

    Parameters
    ----------
    path : path
        The file or the folder.
    height : (lowest, highest), metres, optional
        Heights of the lowest and the highest code, for a file whose samples are codes instead of metres.
    cell_size : float, metres, optional
        Side of a cell; overrides the file.
    unit : "metre", optional
        Treat coordinates and heights as metres, whatever unit the file declares. Degrees are still refused.
    infinite_is_nodata : bool, default False
        If True, treat ±infinity as no data.
    deterrace : bool, default False
        If True, smooth the terraces of heights that are stored in coarse steps.
    edges : str or dict, optional
        ``"open"``, ``"closed"`` or ``"looped"``, for all sides or by side.
    sea_level : float, metres, optional
        Elevation of the sea surface.
    xarray : bool, optional
        If True, return objects of xarray; if False, a :class:`Terrain`. By default, return objects of xarray if it is
        installed.

    Returns
    -------
    xarray.DataArray, xarray.Dataset or Terrain
        For a file, a DataArray of its heights; for a folder, a Dataset; without xarray, a :class:`Terrain`.

    Raises
    ------
    ValueError
        If the content is not a terrain, is in degrees or feet, or has cells that are not square.
    OSError
        If the file cannot be read.
    """
    core, said = _core.load(
        fspath(path),
        height=None if height is None else (float(height[0]), float(height[1])),
        cell_size=cell_size,
        infinite_is_nodata=infinite_is_nodata,
        deterrace=deterrace,
        unit=unit,
        edges=edges,
        sea_level=sea_level,
    )
    for message in said:
        warn_caller(f"{fspath(path)} {message}")
    whole = new_terrain(core, xarray)
    if type(whole).__name__ == "Dataset" and not core.layers:
        return whole["height"]
    return whole
