"""resample and crop: give a terrain other cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core
from ._inputs import read_terrain
from ._operations import declared
from ._results import wrap_new_cells

if TYPE_CHECKING:
    from typing import Unpack

    from ._options import CropOptions, ResampleOptions


@declared("resample")
def resample(
    dem: Any,
    *,
    cell_size: float | None = None,
    nodata: float | None = None,
    unit: str | None = None,
    **options: Unpack[ResampleOptions],
) -> Any:
    """{page}

    The first and the last cell of each side keep their centres. More cells are interpolated, heights by bicubic and
    layers by linear interpolation; fewer cells are low-pass filtered. Tables are dropped.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    cell_size : float, metres, optional
        Side of a cell; required for an array.
    nodata : float, optional
        A value besides NaN that means no data.
    unit : "metre", optional
        Treat coordinates as metres, even if the map declares another unit.
    {options}

    Returns
    -------
    array, DataArray, Dataset or Terrain
        The type of ``dem``. A DataArray or a Dataset has the dimensions ``y``, from north to south, and ``x``.

    Raises
    ------
    ValueError
        If the number of cells is missing, or the cells would not be square.

    Examples
    --------
    >>> coarse = tw.resample(dem, cells=200)
    """
    given = read_terrain(dem, cell_size=cell_size, nodata=nodata, unit=unit)
    return wrap_new_cells(_core.resample(given.core, dict(options)), given)


@declared("crop")
def crop(
    dem: Any,
    *,
    cell_size: float | None = None,
    nodata: float | None = None,
    unit: str | None = None,
    **options: Unpack[CropOptions],
) -> Any:
    """{page}

    The layers of a Terrain or a Dataset are cropped with the heights. Rows are counted from the north.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    cell_size : float, metres, optional
        Side of a cell; required for an array.
    nodata : float, optional
        A value besides NaN that means no data.
    unit : "metre", optional
        Treat coordinates as metres, even if the map declares another unit.
    {options}

    Returns
    -------
    array, DataArray, Dataset or Terrain
        The type of ``dem``. A DataArray or a Dataset has the dimensions ``y``, from north to south, and ``x``.

    Raises
    ------
    ValueError
        If the window is missing, empty, or not inside the terrain.

    Examples
    --------
    >>> part = tw.crop(dem, window=(100, 150, 200, 200))
    """
    given = read_terrain(dem, cell_size=cell_size, nodata=nodata, unit=unit)
    return wrap_new_cells(_core.crop(given.core, dict(options)), given)
