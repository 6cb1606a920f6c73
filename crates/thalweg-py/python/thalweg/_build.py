"""Building worlds from recipes, and recording terrain through time."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._arrays import NUMPY
from ._keywords import named
from ._operations import declared
from ._progress import RunProgress
from ._recipe import Preset, Recipe
from ._results import new_terrain, wants_xarray
from ._run import Run, drive
from ._states import States

if TYPE_CHECKING:
    from typing import Unpack

    from ._options import BuildOptions


def presets() -> list[Preset]:
    """Return the presets, which are the recipes that come with the library.

    Returns
    -------
    list of Preset
        Name, description and extent of each recipe; :func:`build` accepts the names.

    Examples
    --------
    >>> names = [preset.name for preset in tw.presets()]
    """
    found = []
    for name in _core.preset_names():
        recipe = _core.Recipe.preset(name)
        extent = recipe.extent
        found.append(Preset(name, recipe.about, None if extent is None else (extent[0], extent[1])))
    return found


@declared("build")
def build(
    recipe: Any = "alpine",
    *,
    progress: RunProgress = None,
    between: Callable[[Run], object] | None = None,
    xarray: bool | None = None,
    **options: Unpack[BuildOptions],
) -> Any:
    """{page}

    The result is bit-identical to that of ``thalweg build``.

    Parameters
    ----------
    recipe : Recipe, str, path or dict, default "alpine"
        The recipe, or any source that :class:`Recipe` accepts: the name of a preset, a TOML file, a dict.
    progress : bool or callable, optional
        If True, show a tqdm progress bar. A callable is called with each :class:`Step`.
    between : callable, optional
        A function that is called with the :class:`Run` after each step and may read and replace heights and layers,
        as in ``run["height"]``. Each access copies an array. Changes are not part of any mass balance.
    xarray : bool, optional
        If True, return a Dataset; if False, a :class:`Terrain`. By default, return a Dataset if xarray is installed.
    {options}

    Returns
    -------
    xarray.Dataset or Terrain
        The heights, as ``height`` in metres, the layers that the stages wrote, and their tables.

    Raises
    ------
    ValueError
        If the recipe is not valid, a value is out of range, a stage or a parameter does not exist, or options exclude
        one another.
    OSError
        If a file cannot be read.
    KeyboardInterrupt
        On Ctrl-C, after the current step. The attribute ``run`` of the exception is the :class:`Run`, which can be
        continued.
    MemoryError
        If the run does not fit into memory.

    Examples
    --------
    >>> world = tw.build("hills", cells=128, seed=3, parameters={"uplift.uplift": 4e-4})
    """
    requested = wants_xarray(xarray)
    run = Run(Recipe(recipe, **options))
    drive(run, progress, between)
    return new_terrain(run._core.terrain(), requested, run.report())


@dataclass(frozen=True, eq=False)
class Evolution:
    """A terrain through time: the result of :func:`thalweg.evolve` without xarray.

    Attributes
    ----------
    time : array of float64, (maps,), years
        Simulated time of each map.
    elevation : array of float64 or float32, (maps, rows, columns), metres, or None
        Heights, as float32 if ``dem`` was float32; None if they were written to files.
    files : list of str
        Paths of the files, in the order of ``time``; empty if no ``folder`` was given.
    cell_size : float, metres
        Side of a cell.
    """

    time: NDArray[np.float64]
    elevation: NDArray[Any] | None
    files: list[str]
    cell_size: float


@named
def evolve(
    dem: Any,
    recipe: Any,
    *,
    save_every: float,
    folder: str | PathLike[str] | None = None,
    store: str | PathLike[str] | None = None,
    cell_size: float | None = None,
    nodata: float | None = None,
    sea_level: float | None = None,
    edges: str | Mapping[str, str] | None = None,
    layers: Mapping[str, Any] | None = None,
    progress: RunProgress = None,
    between: Callable[[Run], object] | None = None,
) -> Any:
    """Run a recipe over a terrain and record the heights at intervals of simulated time.

    Parameters
    ----------
    dem : array, DataArray, Dataset, Terrain or None
        The initial terrain. If it is None, the run begins as the recipe specifies, and only the maps of the last and
        finest level are kept.
    recipe : Recipe, str, path or dict
        The recipe, or any source that :class:`Recipe` accepts. At least one stage must simulate time.
    save_every : float, years
        Simulated time between two maps, above 0. A map is recorded after the first step that reaches or passes a
        multiple of this time, with the time of that step. The initial terrain is recorded as well, if one is given.
    folder : path, optional
        Folder for the maps, which are written as GeoTIFF of float64 instead of being kept in memory.
    store : path, optional
        Path of a new Zarr store, which ends in ``.zarr``. Each map is written to it along ``time`` instead of being
        kept in memory. The store gets its name when it is complete; a run that is stopped earlier leaves no store.
        This needs xarray, zarr and dask.
    cell_size, nodata, sea_level, edges, layers : optional
        See :class:`Run`.
    progress, between : optional
        See :func:`build`.

    Returns
    -------
    xarray.Dataset or Evolution
        A Dataset if ``dem`` is a DataArray or a Dataset, if it is None and xarray is installed, or if a store is
        given; otherwise an :class:`Evolution`. The variable ``elevation`` of the Dataset has the dimensions time, y and
        x, and the coordinate ``time`` in years. With ``store``, dask reads it on demand. With ``folder``, the Dataset
        contains the paths of the files instead, as ``files`` by time.

    Raises
    ------
    ValueError
        If ``save_every`` is not above 0, both ``folder`` and ``store`` are given, the store exists already, no stage
        simulates time, or an argument of :class:`Run` is not valid.
    ImportError
        If ``store`` is given and a package that it requires is not installed.
    KeyboardInterrupt
        On Ctrl-C, after the current step. The attribute ``run`` of the exception is the :class:`Run`, which can be
        continued.

    Examples
    --------
    >>> recipe = {"stage": [{"model": "stream_power", "years": 200_000.0, "step": 20_000.0}]}
    >>> through_time = tw.evolve(dem, recipe, save_every=50_000)
    """
    if not save_every > 0.0:
        raise ValueError(f"save_every = {save_every}: must be a number of years above 0")
    if folder is not None and store is not None:
        raise ValueError("folder and store cannot be combined; give only one of them")
    with contextlib.nullcontext() if store is None else States(store) as states:
        run = Run(recipe, dem, cell_size=cell_size, nodata=nodata, sea_level=sea_level, edges=edges, layers=layers)
        given = run._given
        layout = NUMPY if given is None else given.layout
        home = None if folder is None else Path(fspath(folder))
        if home is not None:
            home.mkdir(parents=True, exist_ok=True)
        narrow = given is not None and given.narrow
        time: list[float] = []
        maps: list[NDArray[Any]] = []
        files: list[str] = []
        due = 0.0
        shape = run._core.map().shape

        def keep(years: float) -> None:
            nonlocal due, shape
            # The margin around the map, which is cut away at the end, is not part of the maps.
            seen = run._core.map()
            if seen.shape != shape:
                # A finer level: the maps of the levels before it have other cells.
                time.clear()
                maps.clear()
                files.clear()
                if states is not None:
                    states.clear()
                shape = seen.shape
            time.append(years)
            if states is not None:
                states.keep(years, seen.height(narrow), lambda: seen, layout)
            elif home is None:
                maps.append(seen.height(narrow))
            else:
                path = home / f"elevation_{round(years):012d}.tif"
                seen.save(str(path), "f64")
                files.append(str(path))
            due = (years // save_every + 1.0) * save_every

        def look(run: Run) -> None:
            if between is not None:
                between(run)
            if run.years is not None and run.years >= due:
                keep(run.years)

        if given is not None:
            keep(0.0)
        drive(run, progress, look)
        if run.years is None:
            raise ValueError("recipe: no stage simulates time, so save_every does not apply; use thalweg.Run instead")
        if states is not None:
            return states.finish()
        terrain = run._core.terrain()
        if layout.is_xarray or (given is None and wants_xarray(None)):
            from .xarray import states_dataset

            return states_dataset(time, maps, files, terrain, layout)
        elevation = np.stack(maps) if maps else None
        return Evolution(time=np.asarray(time), elevation=elevation, files=files, cell_size=terrain.cell_size)


__all__ = ["Evolution", "build", "evolve", "presets"]
