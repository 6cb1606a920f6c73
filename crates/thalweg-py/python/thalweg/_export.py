"""export: writes a terrain as files for another program."""

from __future__ import annotations

import json
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from . import _core
from ._arrays import warn_caller
from ._inputs import read_terrain
from ._operations import declared
from ._progress import CallProgress, core_reporting

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
    progress: CallProgress = None,
    **options: Unpack[ExportOptions],
) -> dict[str, Any]:
    """{page}

    Parameters
    ----------
    source : path, array, DataArray, Dataset or Terrain
        The terrain: the path of an elevation model or of a world's folder, or heights in memory in metres.
    target : str
        Name of the program. It is one of these:
        {targets}.
    path : path
        The folder to write into.
    cell_size : float, metres, optional
        Side of a square cell; required for an array. By default, that of ``source``.
    nodata : float, optional
        Value that marks no-data cells, in addition to NaN.
    progress : bool or callable, optional
        If True, show a tqdm progress bar. A callable is called with each :class:`Progress`.
    {options}

    Returns
    -------
    dict
        The manifest, as in the file ``manifest.json`` of the folder: sizes, range of heights and files, and under
        ``"import"`` the values to enter in the program.

    Raises
    ------
    ValueError
        If the program does not accept a size, tiles, a name or a layer, or if the folder contains another export.
    OSError
        If a file cannot be read or written. Finished files remain, and the same call continues the export.

    Warns
    -----
    UserWarning
        If information is lost or changed in the files.

    Examples
    --------
    >>> manifest = tw.export(world, "unity", "terrain_for_unity", size=(129, 129))
    """
    is_path = isinstance(source, (str, PathLike))
    given = fspath(source) if is_path else read_terrain(source, cell_size=cell_size, nodata=nodata).core
    with core_reporting(progress, "export") as receiver:
        manifest, warnings = _core.export(given, target, fspath(path), dict(options), receiver)
    for message in warnings:
        warn_caller(message)
    content: dict[str, Any] = json.loads(manifest)
    return content


if export.__doc__ is not None:
    # The interpreter drops docstrings if it is started with -OO.
    export.__doc__ = export.__doc__.replace("{targets}", ", ".join(_core.export_targets()))
