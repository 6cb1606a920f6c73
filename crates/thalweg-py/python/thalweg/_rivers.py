"""rivers: adds rivers and lakes to a terrain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core
from ._inputs import read_terrain
from ._operations import declared
from ._progress import RunProgress
from ._results import wrap_terrain
from ._run import Run, drive

if TYPE_CHECKING:
    from typing import Unpack

    from ._options import RiversOptions


@declared("rivers")
def rivers(
    dem: Any,
    *,
    cell_size: float | None = None,
    nodata: float | None = None,
    unit: str | None = None,
    progress: RunProgress = None,
    **options: Unpack[RiversOptions],
) -> Any:
    """{page}

    The edges of the map, its sea level, and the layers ``rain``, ``hardness`` and ``protect`` are those of ``dem``; to
    choose them, pass a :class:`Terrain`.

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
    progress : bool or callable, optional
        If True, show a tqdm progress bar. A callable is called with each :class:`Step`.
    {options}

    Returns
    -------
    xarray.Dataset or Terrain
        A Dataset for a DataArray or a Dataset, otherwise a :class:`Terrain`. It contains the carved heights in metres,
        the layers ``river``, ``lake``, ``river_distance`` (m), ``water`` (depth in m) and ``discharge`` (m³/s), and the
        table ``rivers`` with a row for each point of a river.

    Raises
    ------
    ValueError
        If a value is out of range, a parameter does not exist, or a mouth, a spring or a pass is not a cell of the
        terrain.
    MemoryError
        If the work does not fit into memory.
    KeyboardInterrupt
        On Ctrl-C, after the current step.

    See Also
    --------
    thalweg.models.river_network : The model, with all its parameters.

    Examples
    --------
    >>> wet = tw.rivers(dem, catchment=5e5, springs=[(100, 120, 2.5)])
    """
    given = read_terrain(dem, cell_size=cell_size, nodata=nodata, unit=unit)
    run = Run._of(_core.Run.add_rivers(given.core, dict(options)))
    drive(run, progress)
    return wrap_terrain(run._core.terrain(), given, run.report())
