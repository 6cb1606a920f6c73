"""Coordinates of a terrain's cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core


def transform_of(core: _core.Terrain) -> tuple[float, float, float, float, float, float]:
    """Return the affine transform of the cells' corners in GDAL's order: x = t0 + column·t1, y = t3 + row·t5."""
    known = core.place[0]
    if known is not None:
        a, b, c, d, e, f = known
        return (a, b, c, d, e, f)
    row, column = core.origin
    cell = core.cell_size
    return (column * cell, cell, 0.0, -row * cell, 0.0, -cell)


def column_coordinates(core: _core.Terrain) -> NDArray[Any]:
    """Return the eastward coordinates of the cells' centres."""
    first, step, *_ = transform_of(core)
    return first + (np.arange(core.shape[1]) + 0.5) * step


def row_coordinates(core: _core.Terrain) -> NDArray[Any]:
    """Return the northward coordinates of the cells' centres, from north to south."""
    *_, first, _, step = transform_of(core)
    return first + (np.arange(core.shape[0]) + 0.5) * step
