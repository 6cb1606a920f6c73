"""Terrains as files for other programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from os import PathLike, fspath
from typing import Any

from . import _core
from ._arrays import warn_caller
from ._inputs import read_terrain
from ._keywords import named


@named
def export(
    source: Any,
    target: str,
    path: str | PathLike[str],
    *,
    tiles: int | str | tuple[int, int] | None = None,
    size: tuple[int, int] | None = None,
    edges: str | None = None,
    range: Sequence[float] | None = None,
    layers: Sequence[str] | None = None,
    name: str | None = None,
    format: str | None = None,
    fresh: bool = False,
    origin: tuple[float, float] | None = None,
    zoom: tuple[int, int] | None = None,
    cell_size: float | None = None,
    nodata: float | None = None,
) -> dict[str, Any]:
    """Writes a terrain as another program takes it: of a size that it reads, in tiles if wanted, with one range of heights.

    Parameters
    ----------
    source : path, array, DataArray, Dataset or Terrain
        The terrain: a file of heights, the folder of a world, or heights in memory.
    target : str
        The program: "unreal", "unity", "terrain3d", "hterrain", "blender", "bevy", "worldpainter", "gis", "web".
    path : path
        The folder to write into.
    tiles : int, (rows, columns) or str, optional
        Into how many tiles it is cut; "1009px" is a tile's side in samples.
    size : (rows, columns), optional
        Samples of a single file; what the program takes and lies nearest if not said.
    edges : "shared" or "adjacent", optional
        What neighbouring tiles hold of their common edge; what the program wants if not said.
    range : (lowest, highest), metres, optional
        Metres of the lowest and the highest code; those of the terrain if not said.
    layers : sequence of str, optional
        Layers that go along; beside a path also paths of rasters.
    name : str, optional
        What the names of files begin with.
    format : str, optional
        The ending of files of heights, where the program reads several.
    fresh : bool
        Takes away another export that the folder holds.
    origin : (longitude, latitude), degrees, optional
        Of a map of the globe: where the middle of a terrain lies that lies nowhere; (0, 0) if not said.
    zoom : (first, last), optional
        Of a map of the globe: its zooms; as fine as the terrain's cells if not said.
    cell_size, nodata
        Of an array.

    Returns
    -------
    dict
        The manifest: sizes, range, files, and under ``"import"`` what to click and type.

    Raises
    ------
    ValueError
        A size, tiles, a name or a layer that the program does not take, a folder that holds another export.
    OSError
        What cannot be read or written. What was written stays; the same call goes on.
    """
    if edges not in (None, "shared", "adjacent"):
        raise ValueError(f"edges = {edges}: allowed is shared, adjacent, or None for what the program wants")
    if isinstance(tiles, tuple):
        tiles = f"{tiles[1]}x{tiles[0]}"
    is_path = isinstance(source, (str, PathLike))
    given = fspath(source) if is_path else read_terrain(source, cell_size=cell_size, nodata=nodata).core
    manifest, said = _core.export(
        given,
        target,
        fspath(path),
        tiles=None if tiles is None else str(tiles),
        size=None if size is None else (int(size[0]), int(size[1])),
        shared=None if edges is None else edges == "shared",
        range=None if range is None else (float(range[0]), float(range[1])),
        layers=list(layers or ()),
        name=name,
        format=format,
        fresh=fresh,
        origin=None if origin is None else (float(origin[0]), float(origin[1])),
        zooms=None if zoom is None else (int(zoom[0]), int(zoom[1])),
    )
    for message in said:
        warn_caller(message)
    told: dict[str, Any] = json.loads(manifest)
    return told
