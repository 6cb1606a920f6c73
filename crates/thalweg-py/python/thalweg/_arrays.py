"""Maps as arrays: labels of results, layouts of maps, and conversion to arrays that the core can read.

The core's maps have rows from north to south and columns from west to east.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _core

Array = NDArray[Any]
Outlets = Sequence[Sequence[int]]


class Label(NamedTuple):
    """The name, the unit and the meaning of a result."""

    name: str
    units: str
    long_name: str


HEIGHT = Label("height", "m", "Elevation of the surface.")


class Layout:
    """The layout of the user's maps: converts arrays to the core's layout, and results to arrays or DataArrays.

    Parameters
    ----------
    wrap : callable
        Converts an array and its label to the type of result for the user's object.
    orient : callable
        Converts an array from the user's layout to the core's, and back: the function is its own inverse.
    kind : "numpy", "terrain", "array" or "dataset"
        The type of the user's object; "array" is a DataArray.
    """

    def __init__(self, wrap: Callable[[Array, Label], Any], orient: Callable[[Array], Array], kind: str) -> None:
        self.wrap = wrap
        self.orient = orient
        self.kind = kind

    @property
    def is_xarray(self) -> bool:
        """True if results are DataArrays or Datasets."""
        return self.kind in ("array", "dataset")


class Input:
    """A terrain that the user passed: the core's terrain, its layout, and ``narrow``, True if heights were float32."""

    def __init__(self, core: _core.Terrain, layout: Layout, narrow: bool) -> None:
        self.core = core
        self.layout = layout
        self.narrow = narrow

    def wrap(self, values: Array, label: Label) -> Any:
        """Convert values of the cells to an array or, for xarray input, to a DataArray."""
        return self.layout.wrap(values, label)


def _unwrapped(values: Array, _: Label) -> Array:
    return values


def _unturned(values: Array) -> Array:
    return values


NUMPY = Layout(_unwrapped, _unturned, "numpy")
TERRAIN = Layout(_unwrapped, _unturned, "terrain")


def dtype_of(values: Any) -> np.dtype[Any]:
    """Return the dtype of an array or of what NumPy makes of the values."""
    dtype = getattr(values, "dtype", None)
    return dtype if isinstance(dtype, np.dtype) else np.asarray(values).dtype


def as_map(values: Any, what: str, kinds: str = "biuf") -> Array:
    """Return the values as an array of two dimensions without a mask.

    Masked numbers become NaN, and masked booleans False. An axis of length one is dropped from three dimensions, as in
    the rasters of one band that rasterio reads. A dask array is computed, with a warning.

    Parameters
    ----------
    values : array_like
        The values of the cells.
    what : str
        Name of the array in error messages.
    kinds : str
        The kinds of dtypes that are allowed, as NumPy abbreviates them.

    Raises
    ------
    TypeError
        If the dtype is of another kind.
    ValueError
        If the array is empty or does not have two dimensions.
    """
    if hasattr(values, "dask") and hasattr(values, "compute"):
        warn_computed(what, values.size)
        values = values.compute()
    # `numpy.asarray` drops the mask of a masked array and keeps the numbers below it.
    mask: Any = values.mask if isinstance(values, np.ma.MaskedArray) else np.ma.nomask
    array: Array = np.asarray(values)
    if array.dtype.kind not in kinds:
        allowed = "an integer, floating-point or bool" if "b" in kinds else "an integer or floating-point"
        raise TypeError(f"{what} has dtype {array.dtype}; it must have {allowed} dtype")
    axis = array.shape.index(1) if array.ndim == 3 and 1 in array.shape else None
    if axis is not None:
        array = array.squeeze(axis)
    if array.ndim != 2 or 0 in array.shape:
        allowed = "two dimensions (rows, columns) of one cell or more"
        raise ValueError(f"{what} has shape {array.shape}; it must have {allowed}")
    if mask is np.ma.nomask or not mask.any():
        return array
    if axis is not None:
        mask = mask.squeeze(axis)
    filled: Array
    if array.dtype.kind == "b":
        filled = array & ~mask
        return filled
    # Integers do not represent NaN, and 16-bit floats are read as 32-bit ones in any case.
    filled = array.astype(np.float32 if array.dtype.kind == "f" and array.dtype.itemsize <= 4 else np.float64)
    filled[mask] = np.nan
    return filled


def as_numbers(values: Any, what: str) -> Array:
    """Return a two-dimensional array that the core can read; the values are copied only if necessary.

    Parameters
    ----------
    values : array_like
        Integers or floating-point numbers. Masked cells become NaN.
    what : str
        Name of the array in error messages.

    Raises
    ------
    TypeError
        If the values are not integers or floating-point numbers.
    ValueError
        If the array is empty or does not have two dimensions.
    """
    array = as_map(values, what, "iuf")
    if array.dtype.itemsize > 4 and array.dtype.kind in "iu":
        array = array.astype(np.float64)
    elif array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        array = array.astype(np.float32 if array.dtype.itemsize < 4 else np.float64)
    elif not (array.dtype.isnative and array.flags.aligned):
        array = array.astype(array.dtype.newbyteorder("="))
    return array


def as_flow_codes(array: Array) -> NDArray[np.uint8]:
    """Return flow directions that :func:`as_numbers` has read as bytes."""
    if array.dtype == np.uint8:
        return array
    # Cells without data are NaN in a masked array, and where xarray has decoded a fill value.
    missing = np.isnan(array)
    with np.errstate(invalid="ignore"):
        codes: NDArray[np.uint8] = np.where(missing, 255, array).astype(np.uint8)
    if not np.array_equal(codes[~missing], array[~missing]):
        allowed = "0, 1, 2, 4, 8, 16, 32, 64, 128 or 255"
        raise ValueError(f"flow_direction contains values that are not ESRI codes; they must be {allowed}")
    return codes


def as_stream_mask(array: Array) -> NDArray[np.uint8]:
    """Return 1 in the stream cells of a map that :func:`as_numbers` has read: where it is neither 0 nor NaN."""
    mask: NDArray[np.uint8] = ((array != 0) & ~np.isnan(array)).astype(np.uint8)
    return mask


def core_terrain(
    heights: Array,
    cell_size: float,
    *,
    what: str,
    nodata: float | None,
    dtype: np.dtype[Any],
    **more: Any,
) -> _core.Terrain:
    """Create a terrain of the core from an array that :func:`as_numbers` has returned.

    Undeclared values for no data are found as in a file, with a warning, unless ``nodata`` is NaN.

    Parameters
    ----------
    heights : array
        Heights in metres.
    cell_size : float, metres
        Side of a cell.
    what : str
        Name of the array in warnings.
    nodata : float or None
        The value that means no data.
    dtype : numpy.dtype
        The dtype in which the user gave the heights.
    **more
        Further arguments of the core's terrain.
    """
    if nodata is not None and nodata != nodata:
        return _core.Terrain(heights, cell_size, **more)
    if nodata is not None and dtype.kind == "f" and dtype.itemsize < 4:
        # 16 bits represent no -9999; the value in the array is the nearest that they do.
        with np.errstate(over="ignore"):
            nodata = float(np.asarray(nodata, dtype=dtype))

    def warn(message: str) -> None:
        hint = "; pass nodata=VALUE to declare the value, or nodata=float('nan') to read all numbers as heights"
        warn_caller(f"{what} {message}{hint if 'no data' in message else ''}")

    return _core.Terrain(heights, cell_size, nodata=nodata, warn=warn, **more)


def warn_computed(what: str, cells: int) -> None:
    """Warn that a dask array is loaded into memory as a whole."""
    warn_caller(
        f"{what} is backed by dask and is computed whole: its {cells} cells are loaded into memory, because water may "
        "flow from any cell to any other. If a map does not fit into memory, process one drainage basin at a time "
        "(.isel), or compute the world by tiles (thalweg.World)"
    )


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that points at the line that called the package."""
    here = os.path.dirname(__file__)
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(here):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
