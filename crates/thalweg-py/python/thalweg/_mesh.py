"""mesh: writes a terrain as a mesh for game engines and 3-D programs."""

from __future__ import annotations

from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from . import _core
from ._arrays import warn_caller
from ._inputs import read_terrain
from ._operations import declared

if TYPE_CHECKING:
    from typing import Unpack

    from ._options import MeshOptions


@declared("mesh")
def mesh(
    dem: Any,
    path: str | PathLike[str],
    *,
    cell_size: float | None = None,
    nodata: float | None = None,
    **options: Unpack[MeshOptions],
) -> list[str]:
    """{page}

    The water and the trees are those in the layers and tables of the terrain.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        The terrain, with heights in metres.
    path : path
        The file to write; its extension is ``.glb``, ``.obj`` (an ``.mtl`` file is also written), ``.ply`` or ``.stl``.
    cell_size : float, metres, optional
        Side of a square cell; required for an array. By default, that of ``dem``.
    nodata : float, optional
        Value that marks no-data cells, in addition to NaN.
    {options}

    Returns
    -------
    list of str
        Paths of the files that were written, that of the mesh first.

    Raises
    ------
    ValueError
        If the format cannot store what is requested, or a value is out of range.
    OSError
        If a file cannot be written.

    Warns
    -----
    UserWarning
        If information is lost or changed in the files.

    Examples
    --------
    >>> files = tw.mesh(dem, "terrain.glb", error=1.0)
    """
    given = read_terrain(dem, cell_size=cell_size, nodata=nodata)
    files, said = _core.mesh(given.core, fspath(path), dict(options))
    for message in said:
        warn_caller(message)
    return files
