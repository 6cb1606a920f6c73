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

    The centres of the outermost cells keep their positions. If there are more cells, heights are interpolated
    bicubically and layers linearly; if there are fewer, both are low-pass filtered first. Tables are dropped.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    cell_size : float, metres, optional
        Side of a square cell; required for an array. By default, that of ``dem``.
    nodata : float, optional
        Value that marks no-data cells, in addition to NaN.
    unit : "metre", optional
        Reads coordinates and heights as metres, even if the map declares another unit. Coordinates in degrees are
        refused in any case; project the map first.
    {options}

    Returns
    -------
    array, DataArray, Dataset or Terrain
        The new terrain, of the type of ``dem``. A DataArray or a Dataset has the dimensions ``y``, from north to south,
        and ``x``.

    Raises
    ------
    ValueError
        If the number of cells is missing, or the cells would not be square.

    Examples
    --------
    >>> coarse = tw.resample(dem, cells=200)  # 200 columns
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

    The layers of a Terrain or a Dataset are cropped with the heights.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    cell_size : float, metres, optional
        Side of a square cell; required for an array. By default, that of ``dem``.
    nodata : float, optional
        Value that marks no-data cells, in addition to NaN.
    unit : "metre", optional
        Reads coordinates and heights as metres, even if the map declares another unit. Coordinates in degrees are
        refused in any case; project the map first.
    {options}

    Returns
    -------
    array, DataArray, Dataset or Terrain
        The new terrain, of the type of ``dem``. A DataArray or a Dataset has the dimensions ``y``, from north to south,
        and ``x``.

    Raises
    ------
    ValueError
        If the window is missing, empty, or not inside the terrain.

    Examples
    --------
    >>> part = tw.crop(dem, window=(100, 150, 200, 300))  # rows 100 to 299, columns 150 to 449
    """
    given = read_terrain(dem, cell_size=cell_size, nodata=nodata, unit=unit)
    return wrap_new_cells(_core.crop(given.core, dict(options)), given)
