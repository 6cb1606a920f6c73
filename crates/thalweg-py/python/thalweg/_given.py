"""What a user gives, as the core takes it; and what the core gives, in the kind that the user gave.

Arrays come from NumPy, with their rows from north to south; DataArrays and Datasets lie as their coordinates say, and :mod:`thalweg.xarray`
reads those. Nothing here knows what is done with a map.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._terrain import Terrain

if TYPE_CHECKING:
    import xarray

    Dem = TypeVar("Dem", NDArray[Any], xarray.DataArray, xarray.Dataset, Terrain)
    Sheet = TypeVar("Sheet", NDArray[Any], xarray.DataArray)
    Edges = str | Mapping[str, str]

Array = NDArray[Any]
Outlets = Sequence[Sequence[int]]


class Label(NamedTuple):
    """What a result is, for whoever keeps such things."""

    name: str
    units: str
    long_name: str


HEIGHT = Label("height", "m", "Elevation of the surface.")


class Sheets:
    """How arrays are brought to rows from north to south and columns from west to east, and how results are given back."""

    def __init__(self, wrap: Callable[[Array, Label], Any], orient: Callable[[Array], Array], kind: str) -> None:
        self.wrap = wrap
        self.orient = orient
        self.kind = kind


class Given:
    """A terrain that somebody gave."""

    def __init__(self, core: _core.Terrain, sheets: Sheets, narrow: bool) -> None:
        self.core = core
        self.sheets = sheets
        self.narrow = narrow

    def sheet(self, values: Array, label: Label) -> Any:
        """Values of the cells, in the kind that was given."""
        return self.sheets.wrap(values, label)

    def heights(self, core: _core.Terrain) -> Any:
        """The heights of a terrain of the same cells; of one that was given whole all of it."""
        if self.sheets.kind in ("terrain", "dataset"):
            return self.whole(core)
        return self.sheet(core.height(self.narrow), HEIGHT)

    def whole(self, core: _core.Terrain, report: Mapping[str, Any] | None = None) -> Any:
        """All of a terrain of the same cells: a Dataset for xarray's, a Terrain for others."""
        terrain = Terrain._of(core, report)
        if self.sheets.kind in ("array", "dataset"):
            from . import xarray as ours

            return ours.dataset(terrain, self.sheets)
        return terrain


def xarray_kind(value: Any) -> str | None:
    """Whether a value is one of xarray's, without loading it."""
    module = sys.modules.get("xarray")
    if module is None:
        return None
    if isinstance(value, module.DataArray):
        return "array"
    return "dataset" if isinstance(value, module.Dataset) else None


def numbers(values: Any, what: str) -> Array:
    """A two-dimensional array that the core can read where it lies, or a copy."""
    array = np.asarray(values)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{what} has dtype {array.dtype}: allowed are numbers, whole or real")
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{what} has shape {array.shape}: allowed are two dimensions (rows, columns) of one cell or more")
    if array.dtype.itemsize > 4 and array.dtype.kind in "iu":
        array = array.astype(np.float64)
    elif array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        array = array.astype(np.float32 if array.dtype.itemsize < 4 else np.float64)
    elif not (array.dtype.isnative and array.flags.aligned):
        array = array.astype(array.dtype.newbyteorder("="))
    return array


def warn(message: str) -> None:
    """Warns whoever called the package."""
    here = os.path.dirname(__file__)
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(here):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level)


def _plain(values: Array, _: Label) -> Array:
    return values


def _as_is(values: Array) -> Array:
    return values


PLAIN = Sheets(_plain, _as_is, "numpy")


def read(
    dem: Any,
    *,
    what: str = "dem",
    cell_size: float | None = None,
    nodata: float | None = None,
    unit: str | None = None,
    sea_level: float | None = None,
    edges: Edges | None = None,
    layers: Mapping[str, Any] | None = None,
) -> Given:
    """A terrain from an array, a DataArray, a Dataset or a Terrain."""
    kind = xarray_kind(dem)
    if kind is not None:
        from . import xarray as ours

        return ours.read(
            dem, what=what, cell_size=cell_size, nodata=nodata, unit=unit, sea_level=sea_level, edges=edges, layers=layers
        )
    if isinstance(dem, Terrain):
        own = dem._core
        if layers is None and sea_level is None and edges is None and cell_size is None:
            core = own
        else:
            more = {name: numbers(values, f"layer {name}") for name, values in (layers or {}).items()}
            core = _core.Terrain(
                own.height(),
                own.cell_size if cell_size is None else cell_size,
                sea_level=own.sea_level if sea_level is None else sea_level,
                edges=own.edges if edges is None else edges,
                georeference=own.georeference,
                layers={name: own.layer(name) for name in own.layers} | more,
                origin=own.origin,
            )
        return Given(core, Sheets(_plain, _as_is, "terrain"), False)
    array = numbers(dem, what)
    if cell_size is None:
        raise ValueError(f"{what} is an array, which has no cell size: give cell_size, the side of a cell in metres")
    core = _core.Terrain(
        array,
        cell_size,
        nodata=nodata,
        sea_level=sea_level,
        edges=edges,
        layers={name: numbers(values, f"layer {name}") for name, values in (layers or {}).items()},
    )
    return Given(core, PLAIN, np.asarray(dem).dtype == np.float32)


def sheet(values: Any, what: str) -> tuple[Array, Sheets]:
    """A map of numbers that are no heights, and how results are given back."""
    if xarray_kind(values) == "array":
        from . import xarray as ours

        return ours.sheet(values, what)
    return numbers(values, what), PLAIN


def like(values: Any, sheets: Sheets, what: str) -> Array:
    """A further map of the same cells, which lies as the first."""
    if xarray_kind(values) == "array":
        from . import xarray as ours

        return ours.sheet(values, what)[0]
    array = np.asarray(values)
    if array.dtype.kind == "b":
        array = array.astype(np.uint8)
    return numbers(sheets.orient(array), what)


def wants_xarray(asked: bool | None) -> bool:
    """Whether results that nobody's kind decides are xarray's: as asked, else where that is installed."""
    if asked is not None:
        return asked
    try:
        import xarray  # noqa: F401
    except ImportError:
        return False
    return True


def result(core: _core.Terrain, asked: bool | None, report: Mapping[str, Any] | None = None) -> Any:
    """A terrain that nobody gave: a Dataset where xarray is installed, else a Terrain."""
    terrain = Terrain._of(core, report)
    return terrain.to_xarray() if wants_xarray(asked) else terrain
