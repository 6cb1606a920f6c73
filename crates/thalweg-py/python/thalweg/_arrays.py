"""Maps as arrays: what a map means, how it is laid out, and which arrays the core reads.

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
    """Turns arrays of the user's layout into the core's, and wraps results in the kind of object that the user gave.

    ``orient`` turns an array either way: it is its own inverse. ``kind`` is "numpy", "terrain", "array" (a DataArray)
    or "dataset".
    """

    def __init__(self, wrap: Callable[[Array, Label], Any], orient: Callable[[Array], Array], kind: str) -> None:
        self.wrap = wrap
        self.orient = orient
        self.kind = kind

    @property
    def is_xarray(self) -> bool:
        """Returns True if results are DataArrays or Datasets."""
        return self.kind in ("array", "dataset")


class Input:
    """A terrain that the user gave: the core's terrain, its layout, and whether its heights were float32."""

    def __init__(self, core: _core.Terrain, layout: Layout, narrow: bool) -> None:
        self.core = core
        self.layout = layout
        self.narrow = narrow

    def wrap(self, values: Array, label: Label) -> Any:
        """Wraps values of the cells in the kind of object that was given."""
        return self.layout.wrap(values, label)


def _unwrapped(values: Array, _: Label) -> Array:
    return values


def _unturned(values: Array) -> Array:
    return values


NUMPY = Layout(_unwrapped, _unturned, "numpy")
TERRAIN = Layout(_unwrapped, _unturned, "terrain")


def as_numbers(values: Any, what: str) -> Array:
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


def warn_caller(message: str) -> None:
    """Issues a warning that points at the line that called the package."""
    here = os.path.dirname(__file__)
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(here):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level)
