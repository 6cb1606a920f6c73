"""World: a world of any size, computed tile by tile."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._keywords import named
from ._recipe import Recipe
from ._results import new_terrain


class Course(NamedTuple):
    """A flow path."""

    #: The cells, downstream. Columns: world coordinates eastward and southward, and height, in metres.
    points: NDArray[np.float64]
    #: Where the path ends: "sea", "rim" (the open edge of the world) or "inland" (an inland outlet); None if it was cut
    #: off before it ended.
    end: str | None


class WorldRiver(NamedTuple):
    """The part of a river inside a rectangle."""

    #: Number of the river: the same in all tiles, and on all levels on which it is a river.
    id: int
    #: Number of the larger river that it joins; None if it joins none inside the rectangle.
    into: int | None
    #: The vertices, downstream. Columns: world coordinates eastward and southward and height in metres, drainage area
    #: in m², discharge in m³/s.
    vertices: NDArray[np.float64]


class World:
    """A world with all its levels, whose tiles are computed on demand.

    The result is bit-identical for any order of requests.

    Parameters
    ----------
    recipe : Recipe, str, path or dict
        The recipe, or any source that :class:`Recipe` accepts; the preset ``"endless"`` is unbounded.
    tile : int, default 512
        Side of a tile in cells, 16 to 4096.
    cells, seed : int, optional
        See :class:`Recipe`.
    """

    @named
    def __init__(self, recipe: Any, *, tile: int = 512, cells: int | None = None, seed: int | None = None) -> None:
        self._core = _core.World(Recipe(recipe, cells=cells, seed=seed)._core, tile)

    @named
    def tile(self, level: int, x: float, y: float, *, xarray: bool | None = None) -> Any:
        """Compute the tile of a level that contains a point.

        Parameters
        ----------
        level : int
            The level; 0 is the coarsest.
        x, y : float, metres
            World coordinates of the point, eastward and southward.
        xarray : bool, optional
            If True, return a Dataset; if False, a :class:`Terrain`. By default, return a Dataset if xarray is
            installed.

        Returns
        -------
        xarray.Dataset or Terrain
            ``height``; ``discharge``; ``rec``, the receiver: the neighbour to which a cell drains; ``area``, the
            drainage area.
            Coordinates are world metres; as on all maps, y increases northward and is therefore the negative of the
            metres southward.
        """
        return new_terrain(self._core.tile(level, x, y), xarray)

    @named
    def window(
        self, level: int, row: int, column: int, rows: int, columns: int, *, xarray: bool | None = None
    ) -> Any:
        """Compute a rectangle of a level's cells, with the same content as :meth:`tile`.

        Parameters
        ----------
        level : int
            The level; 0 is the coarsest.
        row, column : int
            The first cell of the rectangle.
        rows, columns : int
            Size of the rectangle in cells.
        xarray : bool, optional
            As for :meth:`tile`.
        """
        return new_terrain(self._core.window(level, (row, column), (rows, columns)), xarray)

    def width(self, level: int) -> float:
        """Return the width of a level's cells in metres."""
        return self._core.width(level)

    def bounds(self, level: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the first row and column of a level, and the row and column after its last."""
        (top, left), (bottom, right) = self._core.bounds(level)
        return (top, left), (bottom, right)

    def height_at(self, x: float, y: float, level: int) -> float:
        """Return the elevation in metres at a point on a level; ``x`` and ``y`` as for :meth:`tile`."""
        return self._core.height_at(x, y, level)

    def follow(self, level: int, x: float, y: float, most: int = 1_000_000) -> Course:
        """Compute the flow path from a point to its end.

        Parameters
        ----------
        level : int
            The level; 0 is the coarsest.
        x, y : float, metres
            World coordinates of the point, eastward and southward.
        most : int, default 1_000_000
            Maximum number of cells of the path; a longer path is cut off.
        """
        return Course(*self._core.follow(level, x, y, most))

    def rivers(self, level: int, row: int, column: int, rows: int, columns: int, *, least: float) -> list[WorldRiver]:
        """Compute the rivers in a rectangle of a level's cells, clipped to the rectangle.

        Parameters
        ----------
        level, row, column, rows, columns : int
            The rectangle, as for :meth:`window`.
        least : float, m²
            Smallest drainage area of a river.

        Returns
        -------
        list of WorldRiver
        """
        found = self._core.rivers(level, (row, column), (rows, columns), least)
        return [WorldRiver(id, into, np.asarray(vertices, dtype=np.float64)) for id, into, vertices in found]

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
