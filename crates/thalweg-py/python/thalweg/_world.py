"""World: tiles of worlds of any size."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._keywords import named
from ._recipe import Recipe
from ._results import new_terrain


class Course(NamedTuple):
    """The way of water."""

    #: Eastward and southward world metres, and the height, of each cell.
    points: NDArray[np.float64]
    #: "sea", "rim" or "inland"; None where it was not followed to its end.
    end: str | None


class WorldRiver(NamedTuple):
    """A river as far as it lies in the rectangle that was asked for."""

    #: Its number: the same in all tiles, and on all levels on which it is a river.
    id: int
    #: The larger river that it joins.
    into: int | None
    #: Of each vertex, downstream: eastward and southward world metres, height, catchment in m², discharge in m³/s.
    vertices: NDArray[np.float64]


class World:
    """A world at all its levels: any tile of any level is made as it is asked for, the same bits in any order.

    Parameters
    ----------
    recipe : Recipe, or what :class:`Recipe` takes
        What the world is made of; ``"endless"`` has continents without end.
    tile : int, 16 to 4096
        Cells of a tile's side.
    cells, seed
        As :class:`Recipe` has them.
    """

    @named
    def __init__(self, recipe: Any, *, tile: int = 512, cells: int | None = None, seed: int | None = None) -> None:
        self._core = _core.World(Recipe(recipe, cells=cells, seed=seed)._core, tile)

    @named
    def tile(self, level: int, x: float, y: float, *, xarray: bool | None = None) -> Any:
        """The tile of a level that holds a place, in world metres eastward (x) and southward (y).

        A Dataset where xarray is installed, else a :class:`Terrain`: ``height``; ``discharge``; ``rec``, the neighbour that a cell drains to; ``area``, its
        catchment. Coordinates are world metres; y counts northward, as on all maps, so that it is the negative of metres southward.
        """
        return new_terrain(self._core.tile(level, x, y), xarray)

    @named
    def window(
        self, level: int, row: int, column: int, rows: int, columns: int, *, xarray: bool | None = None
    ) -> Any:
        """A rectangle of a level's cells, as :meth:`tile` gives them."""
        return new_terrain(self._core.window(level, (row, column), (rows, columns)), xarray)

    def width(self, level: int) -> float:
        """Width of a level's cells in metres."""
        return self._core.width(level)

    def bounds(self, level: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """First row and column of a level, and those after the last."""
        (top, left), (bottom, right) = self._core.bounds(level)
        return (top, left), (bottom, right)

    def height_at(self, x: float, y: float, level: int) -> float:
        """Height of the ground at a place, in metres, on a level."""
        return self._core.height_at(x, y, level)

    def follow(self, level: int, x: float, y: float, most: int = 1_000_000) -> Course:
        """The way of water from a place to where it ends, at most so many cells."""
        return Course(*self._core.follow(level, x, y, most))

    def rivers(self, level: int, row: int, column: int, rows: int, columns: int, *, least: float) -> list[WorldRiver]:
        """Rivers of a rectangle of a level's cells with catchments of ``least`` m² and more, cut at its rim."""
        found = self._core.rivers(level, (row, column), (rows, columns), least)
        return [WorldRiver(id, into, np.asarray(vertices, dtype=np.float64)) for id, into, vertices in found]

    @property
    def recipe(self) -> Recipe:
        """What it is made of."""
        return Recipe._of(self._core.recipe)

    def __repr__(self) -> str:
        return f"<thalweg.World of {self._core.recipe.name!r}, tiles of {self._core.tile_side} cells>"

    def __reduce__(self) -> Any:
        return (_opened, (self.recipe, self._core.tile_side))


def _opened(recipe: Recipe, tile: int) -> World:
    return World(recipe, tile=tile)
