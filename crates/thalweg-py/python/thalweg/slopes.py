"""Slopes of the ground: central differences, one-sided beside a rim or missing data; NaN where there is no data."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from ._arrays import Label
from ._inputs import read_terrain
from ._keywords import named

__all__ = ["aspect", "gradient", "slope"]


@named
def slope(dem: Any, *, degrees: bool = False, cell_size: float | None = None, nodata: float | None = None) -> Any:
    """Steepness of each cell: rise per metre, or degrees."""
    given = read_terrain(dem, cell_size=cell_size, nodata=nodata)
    values = _core.slope_of(given.core)
    if degrees:
        return given.wrap(np.degrees(np.arctan(values)), Label("slope", "degree", "Angle of the steepest descent."))
    return given.wrap(values, Label("slope", "1", "Rise per metre along the steepest way."))


@named
def gradient(dem: Any, *, cell_size: float | None = None, nodata: float | None = None) -> tuple[Any, Any]:
    """Rise per metre eastward, and northward."""
    given = read_terrain(dem, cell_size=cell_size, nodata=nodata)
    east, north = _core.gradient(given.core)
    return (
        given.wrap(east, Label("east", "1", "Rise per metre eastward.")),
        given.wrap(north, Label("north", "1", "Rise per metre northward.")),
    )


@named
def aspect(dem: Any, *, cell_size: float | None = None, nodata: float | None = None) -> Any:
    """The way that the ground faces: degrees clockwise from north, 0 to 360; NaN on level ground."""
    given = read_terrain(dem, cell_size=cell_size, nodata=nodata)
    east, north = _core.gradient(given.core)
    facing = np.degrees(np.arctan2(-east, -north)) % 360.0
    level = (east == 0.0) & (north == 0.0)
    return given.wrap(np.where(level, np.nan, facing), Label("aspect", "degree", "Direction that the ground faces."))
