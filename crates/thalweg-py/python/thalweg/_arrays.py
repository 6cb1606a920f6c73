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


def as_numbers(values: Any, what: str) -> Array:
    """Return a two-dimensional array that the core can read; the values are copied only if necessary.

    Parameters
    ----------
    values : array_like
        Integers or floating-point numbers.
    what : str
        Name of the array in error messages.

    Raises
    ------
    TypeError
        If the values are not integers or floating-point numbers.
    ValueError
        If the array is empty or does not have two dimensions.
    """
    array = np.asarray(values)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{what} has dtype {array.dtype}; it must have an integer or floating-point dtype")
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{what} has shape {array.shape}; it must have two dimensions (rows, columns) of one cell or more")
    if array.dtype.itemsize > 4 and array.dtype.kind in "iu":
        array = array.astype(np.float64)
    elif array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        array = array.astype(np.float32 if array.dtype.itemsize < 4 else np.float64)
    elif not (array.dtype.isnative and array.flags.aligned):
        array = array.astype(array.dtype.newbyteorder("="))
    return array


def warn_caller(message: str) -> None:
    """Issue a warning that points at the line that called the package."""
    here = os.path.dirname(__file__)
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(here):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level)
