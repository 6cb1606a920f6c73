"""Terrains from files."""

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
    """Opens an elevation model (GeoTIFF, PNG, NPY, ESRI ASCII, R16, R32, SRTM), or the folder of a world that the command built.

    Parameters
    ----------
    path : path
        The file, or the folder.
    height : two floats, optional, metres
        Heights of the lowest and the highest code of a file whose codes are no metres.
    cell_size : float, optional, metres
        Side of a cell, in place of what the file says.
    unit : "metre", optional
        Takes coordinates and heights as metres whatever the file says; degrees stay refused.
    infinite_is_nodata : bool
        Takes ±infinity for no data.
    deterrace : bool
        Smooths away the terraces of heights stored in few steps.
    edges, sea_level
        What happens at the sides, and where the sea stands.
    xarray : bool, optional
        Whether xarray's objects are given back; if not said, where that is installed.

    Returns
    -------
    xarray.DataArray, xarray.Dataset or Terrain
        Of a file a DataArray of its heights, of a folder a Dataset; without xarray a :class:`Terrain`.

    Raises
    ------
    ValueError
        What is no terrain, degrees, feet, cells that are not square.
    OSError
        What cannot be read.
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
