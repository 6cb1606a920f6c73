"""World: a world of any size, computed tile by tile."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._keywords import named
from ._progress import CallProgress, core_reporting
from ._recipe import Recipe
from ._results import new_terrain


class FlowPath(NamedTuple):
    """The flow path of a point: the result of :meth:`World.trace_flow_path`.

    Attributes
    ----------
    points : array of float64, (cells, 3), metres
        Centres of the cells in downstream order: x (eastward) and y (southward) from the world's origin, and height.
    end : {"sea", "rim", "inland"} or None
        Place at which the path ends: the sea, the open edge of the world, or an inland outlet; None if the path was
        cut off before its end.
    """

    points: NDArray[np.float64]
    end: str | None


class WorldRiver(NamedTuple):
    """The part of a river inside a rectangle: a result of :meth:`World.rivers`.

    Attributes
    ----------
    id : int
        Number of the river, which is the same in all rectangles and on all levels on which it is a river.
    downstream : int or None
        Number of the larger river that it joins; None if it joins none inside the rectangle.
    vertices : array of float64, (vertices, 5)
        Vertices of the river's line in downstream order: x (eastward) and y (southward) from the world's origin and
        height, in metres; drainage area in m²; mean discharge in m³/s. The height is that of the bed or, in a lake, of
        the water surface.
    """

    id: int
    downstream: int | None
    vertices: NDArray[np.float64]


class World:
    """A world of any size with all its levels, whose tiles are computed on demand.

    Level 0 has the widest cells, and the cells of each further level are half as wide. Coordinates x (eastward) and y
    (southward) are metres from the world's origin. Results are bit-identical for any order of requests.

    Parameters
    ----------
    recipe : Recipe, str, path or dict
        The recipe, or any source that :class:`Recipe` accepts. The world of the preset ``"endless"`` is unbounded.
    tile : int, default 512
        Side of a tile in cells, 16 to 4096.
    cells : int, optional
        Number of cells of the recipe on the longer side; see :class:`Recipe`.
    seed : int, optional
        Seed of the world; by default that of the recipe.

    Raises
    ------
    ValueError
        If the recipe is not valid or cannot be refined tile by tile, or a value is out of range.

    Examples
    --------
    >>> world = tw.World("endless")
    >>> tile = world.tile(2, 1000.0, 1000.0)
    """

    @named
    def __init__(self, recipe: Any, *, tile: int = 512, cells: int | None = None, seed: int | None = None) -> None:
        self._core = _core.World(Recipe(recipe, cells=cells, seed=seed)._core, tile)

    @named
    def tile(
        self, level: int, x: float, y: float, *, xarray: bool | None = None, progress: CallProgress = None
    ) -> Any:
        """Compute the tile of a level that contains a point.

        Parameters
        ----------
        level : int
            The level; 0 is the coarsest.
        x, y : float, metres
            Coordinates of the point, eastward and southward from the world's origin.
        xarray : bool, optional
            If True, return a Dataset; if False, a :class:`Terrain`. By default, return a Dataset if xarray is
            installed.
        progress : bool or callable, optional
            If True, show a tqdm progress bar. A callable is called with a :class:`Progress` while level 0 is solved.

        Returns
        -------
        xarray.Dataset or Terrain
            ``height`` (m), ``discharge`` (m³/s), ``flow_direction`` (ESRI codes), ``drainage_area`` (m²) and further
            layers. The coordinate ``y`` of a Dataset increases northward, as on all maps: it is the negative of the
            argument ``y``.

        Raises
        ------
        ValueError
            If the world has no such level, or the point is outside the world.
        KeyboardInterrupt
            On Ctrl-C.

        Examples
        --------
        >>> land = tw.World("endless").tile(2, 1000.0, 1000.0)
        """
        with core_reporting(progress, "level 0") as receiver:
            made = self._core.tile(level, x, y, receiver)
        return new_terrain(made, xarray)

    @named
    def window(
        self,
        level: int,
        row: int,
        column: int,
        rows: int,
        columns: int,
        *,
        xarray: bool | None = None,
        progress: CallProgress = None,
    ) -> Any:
        """Compute a rectangle of a level's cells, with the same content as :meth:`tile`.

        Parameters
        ----------
        level : int
            The level; 0 is the coarsest.
        row, column : int
            North-western cell of the rectangle. Rows and columns are counted from the world's origin and may be
            negative in an endless world.
        rows, columns : int
            Numbers of rows and columns of the rectangle.
        xarray, progress : optional
            As for :meth:`tile`.

        Returns
        -------
        xarray.Dataset or Terrain
            As for :meth:`tile`.

        Raises
        ------
        ValueError
            If the world has no such level, or the rectangle is not inside the world.
        KeyboardInterrupt
            On Ctrl-C.
        """
        with core_reporting(progress, "level 0") as receiver:
            made = self._core.window(level, (row, column), (rows, columns), receiver)
        return new_terrain(made, xarray)

    def cell_size(self, level: int) -> float:
        """Return the side of the cells of a level, in metres.

        Parameters
        ----------
        level : int
            The level; 0 is the coarsest.

        Raises
        ------
        ValueError
            If the world has no such level.
        """
        return self._core.width(level)

    def bounds(self, level: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the range of the rows and columns of a level.

        Parameters
        ----------
        level : int
            The level; 0 is the coarsest.

        Returns
        -------
        ((int, int), (int, int))
            The first row and column, and the row and column after the last.

        Raises
        ------
        ValueError
            If the world has no such level.
        """
        (top, left), (bottom, right) = self._core.bounds(level)
        return (top, left), (bottom, right)

    def height_at(self, level: int, x: float, y: float) -> float:
        """Return the elevation at a point on a level, in metres.

        Parameters
        ----------
        level : int
            The level; 0 is the coarsest.
        x, y : float, metres
            Coordinates of the point, eastward and southward from the world's origin.

        Raises
        ------
        ValueError
            If the world has no such level, or the point is outside the world.
        """
        return self._core.height_at(x, y, level)

    @named
    def trace_flow_path(self, level: int, x: float, y: float, *, max_cells: int = 1_000_000) -> FlowPath:
        """Compute the flow path from a point down to the sea, the edge of the world or an inland outlet.

        Parameters
        ----------
        level : int
            The level; 0 is the coarsest.
        x, y : float, metres
            Coordinates of the point, eastward and southward from the world's origin.
        max_cells : int, default 1_000_000
            Maximum number of cells of the path; a longer path is cut off.

        Returns
        -------
        FlowPath
            The cells of the path, and the place at which it ends.

        Raises
        ------
        ValueError
            If the world has no such level, or the point is outside the world.

        Examples
        --------
        >>> path = tw.World("endless").trace_flow_path(1, 1000.0, 1000.0)
        >>> path.points[:, 2]  # heights
        """
        return FlowPath(*self._core.follow(level, x, y, max_cells))

    @named
    def rivers(
        self, level: int, row: int, column: int, rows: int, columns: int, *, min_drainage_area: float
    ) -> list[WorldRiver]:
        """Compute the rivers in a rectangle of a level's cells, clipped to the rectangle.

        Parameters
        ----------
        level, row, column, rows, columns : int
            The rectangle, as for :meth:`window`.
        min_drainage_area : float, m²
            Smallest drainage area of a river.

        Returns
        -------
        list of WorldRiver
            The rivers, each with its vertices inside the rectangle.

        Raises
        ------
        ValueError
            If the world has no such level, the rectangle is not inside the world, or a value is out of range.
        """
        found = self._core.rivers(level, (row, column), (rows, columns), min_drainage_area)
        return [WorldRiver(id, downstream, np.asarray(vertices, dtype=np.float64)) for id, downstream, vertices in found]

    @property
    def recipe(self) -> Recipe:
        """The recipe of the world."""
        return Recipe._of(self._core.recipe)

    def __repr__(self) -> str:
        return f"<thalweg.World of {self._core.recipe.name!r}, tiles of {self._core.tile_side} cells>"

    def __reduce__(self) -> Any:
        return (_opened, (self.recipe, self._core.tile_side))


def _opened(recipe: Recipe, tile: int) -> World:
    return World(recipe, tile=tile)
