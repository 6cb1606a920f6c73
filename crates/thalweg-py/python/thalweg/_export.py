"""export: writes a terrain as files for another program."""

from __future__ import annotations

import json
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from . import _core
from ._arrays import warn_caller
from ._inputs import read_terrain
from ._operations import declared

if TYPE_CHECKING:
    from typing import Unpack

    from ._options import ExportOptions


@declared("export")
def export(
    source: Any,
    target: str,
    path: str | PathLike[str],
    *,
    cell_size: float | None = None,
    nodata: float | None = None,
    **options: Unpack[ExportOptions],
) -> dict[str, Any]:
    """{page}

    Parameters
    ----------
    source : path, array, DataArray, Dataset or Terrain
        The terrain: the path of a file of heights or of a world's folder, or heights in memory.
    target : str
        The program, for example "unreal", "unity" or "gis"; ``thalweg export --help`` lists all.
    path : path
        The folder to write into.
    cell_size, nodata
        Properties of an array.
    {options}

    Returns
    -------
    dict
        The manifest: sizes, range, files, and under ``"import"`` the instructions for the program.

    Raises
    ------
    ValueError
        If the program does not accept a size, tiles, a name or a layer, or if the folder contains another export.
    OSError
        If a file cannot be read or written. Finished files stay, and the same call continues the export.
    """
    is_path = isinstance(source, (str, PathLike))
    given = fspath(source) if is_path else read_terrain(source, cell_size=cell_size, nodata=nodata).core
    manifest, warnings = _core.export(given, target, fspath(path), dict(options))
    for message in warnings:
        warn_caller(message)
    content: dict[str, Any] = json.loads(manifest)
    return content
