"""Results: conversion of the core's terrains to Terrains, DataArrays and Datasets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import _core
from ._arrays import HEIGHT, Input
from ._terrain import Terrain


def wrap_heights(core: _core.Terrain, given: Input) -> Any:
    """Convert the heights of a terrain to the type of the input; for a Terrain or a Dataset, convert the layers too."""
    if given.layout.kind in ("terrain", "dataset"):
        return wrap_terrain(core, given)
    return given.wrap(core.height(given.narrow), HEIGHT)


def wrap_terrain(core: _core.Terrain, given: Input, report: Mapping[str, Any] | None = None) -> Any:
    """Convert a terrain with its layers: to a Dataset if the input is a DataArray or a Dataset, otherwise a Terrain."""
    if given.layout.is_xarray:
        from .xarray import as_dataset

        return as_dataset(core, report, given.layout)
    return Terrain._of(core, report)


def wrap_new_cells(core: _core.Terrain, given: Input) -> Any:
    """Convert a terrain whose cells are not those of the input to the type of the input, with its own coordinates."""
    if given.layout.kind == "terrain":
        return Terrain._of(core)
    if not given.layout.is_xarray:
        return core.height(given.narrow)
    from .xarray import as_dataset

    made = as_dataset(core, None, None)
    return made["height"].copy(data=core.height(given.narrow)) if given.layout.kind == "array" else made


def wants_xarray(requested: bool | None) -> bool:
    """Return True if a result without an input is a Dataset: as requested, by default if xarray is installed."""
    if requested is not None:
        return requested
    try:
        import xarray  # noqa: F401
    except ImportError:
        return False
    return True


def new_terrain(core: _core.Terrain, requested: bool | None, report: Mapping[str, Any] | None = None) -> Any:
    """Convert a terrain that has no input: to a Dataset if :func:`wants_xarray` returns True, otherwise a Terrain."""
    terrain = Terrain._of(core, report)
    return terrain.to_xarray() if wants_xarray(requested) else terrain
