"""Results: terrains of the core as Terrains, DataArrays and Datasets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import _core
from ._arrays import HEIGHT, Input
from ._terrain import Terrain


def wrap_heights(core: _core.Terrain, given: Input) -> Any:
    """Wraps the heights of a terrain in the kind of object that was given; wraps all of it for a Terrain or a Dataset."""
    if given.layout.kind in ("terrain", "dataset"):
        return wrap_terrain(core, given)
    return given.wrap(core.height(given.narrow), HEIGHT)


def wrap_terrain(core: _core.Terrain, given: Input, report: Mapping[str, Any] | None = None) -> Any:
    """Wraps a terrain with its layers: in a Dataset if a DataArray or a Dataset was given, else in a Terrain."""
    if given.layout.is_xarray:
        from .xarray import as_dataset

        return as_dataset(core, report, given.layout)
    return Terrain._of(core, report)


def wants_xarray(requested: bool | None) -> bool:
    """Returns True if a result without an input is a Dataset: as requested, else if xarray is installed."""
    if requested is not None:
        return requested
    try:
        import xarray  # noqa: F401
    except ImportError:
        return False
    return True


def new_terrain(core: _core.Terrain, requested: bool | None, report: Mapping[str, Any] | None = None) -> Any:
    """Wraps a terrain that was made without an input: in a Dataset if :func:`wants_xarray`, else in a Terrain."""
    terrain = Terrain._of(core, report)
    return terrain.to_xarray() if wants_xarray(requested) else terrain
