"""Worlds from recipes, and terrain through time."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._arrays import NUMPY
from ._keywords import named
from ._recipe import Preset, Recipe
from ._results import new_terrain, wants_xarray
from ._run import Progress, Run, drive
from ._states import States


def presets() -> list[Preset]:
    """The recipes that come with the library: name, landform, extent."""
    found = []
    for name in _core.preset_names():
        recipe = _core.Recipe.preset(name)
        extent = recipe.extent
        found.append(Preset(name, recipe.about, None if extent is None else (extent[0], extent[1])))
    return found


@named
def build(
    recipe: Any = "alpine",
    *,
    cells: int | None = None,
    seed: int | None = None,
    set: Mapping[str, Any] | None = None,
    from_file: str | PathLike[str] | None = None,
    until: str | None = None,
    preview: bool = False,
    age: float | None = None,
    rain: float | None = None,
    relief: float | None = None,
    size: float | None = None,
    sea: float | None = None,
    rock: str | None = None,
    progress: Progress = None,
    between: Callable[[Run], object] | None = None,
    xarray: bool | None = None,
) -> Any:
    """Builds a world: the bits are those of ``thalweg build``.

    Parameters
    ----------
    recipe : Recipe, or what :class:`Recipe` takes
        A preset's name, a file, a dict, a recipe.
    cells, seed, from_file, until, preview, age, rain, relief, size, sea, rock
        As :class:`Recipe` has them.
    set : dict, optional
        Parameters by ``"label.parameter"``.
    progress : bool or callable, optional
        True shows a bar of tqdm's; a callable is given each :class:`Step`.
    between : callable, optional
        A stage of one's own: it is given the :class:`Run` after each step and may read and put its heights and layers. It is the slow path, for
        arrays are copied, and what it changes stands in no ledger.
    xarray : bool, optional
        Whether a Dataset is given back or a :class:`Terrain`; if not said, a Dataset where xarray is installed.

    Returns
    -------
    xarray.Dataset or Terrain
        ``height`` in metres and the layers that the stages left.

    Raises
    ------
    KeyboardInterrupt
        After the running step; the exception's ``run`` goes on where it stands.
    """
    requested = wants_xarray(xarray)
    recipe = Recipe(
        recipe,
        cells=cells,
        seed=seed,
        from_file=from_file,
        until=None,
        preview=preview,
        age=age,
        rain=rain,
        relief=relief,
        size=size,
        sea=sea,
        rock=rock,
    )
    recipe = recipe.set(set or {})
    if until is not None:
        recipe = Recipe(recipe, until=until)
    run = Run(recipe)
    drive(run, progress, between)
    return new_terrain(run._core.terrain(), requested, run.report())


class Evolution(NamedTuple):
    """Terrain through time, without xarray."""

    #: Years of each map.
    time: NDArray[np.float64]
    #: Heights (time, rows, columns) in metres; None where they went into files.
    elevation: NDArray[Any] | None
    #: The files, where they went into such.
    files: list[str]
    #: Side of a cell in metres.
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
    progress: Progress = None,
    between: Callable[[Run], object] | None = None,
) -> Any:
    """Runs a recipe over a terrain and keeps maps of the heights on the way.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain, or None
        The ground to begin with; None takes the recipe's own, on its last level.
    recipe : Recipe, or what :class:`Recipe` takes
        What is done. A stage at least must know time.
    save_every : float, years
        Time between two maps. A map is kept after the first step that reaches it, so steps are not cut.
    folder : path, optional
        Write the maps there as GeoTIFF (f64), and hold none in memory.
    store : path, optional
        Write the maps into a new Zarr store of this name (``.zarr``) along ``time``, each as it comes, and hold none in memory. It takes its name when
        all maps are in it; a run that is ended before leaves none. Needs xarray, zarr and dask.
    cell_size, nodata, sea_level, edges, layers
        As for :class:`Run`.
    progress, between
        As for :func:`build`.

    Returns
    -------
    xarray.Dataset or Evolution
        ``elevation`` (time, y, x) for xarray's, time in years; of a folder the paths of the files by time; of a store the same maps, read from it by
        dask when they are asked for. Else :class:`Evolution`.
    """
    if not save_every > 0.0:
        raise ValueError(f"save_every = {save_every}: allowed is more than 0 years")
    if folder is not None and store is not None:
        raise ValueError("folder and store are both given: allowed is one of them")
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
            # What is built round the map and cut away in the end is none of it.
            seen = run._core.map()
            if seen.shape != shape:
                # A finer level: maps of the levels before it have other cells.
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
            raise ValueError("recipe: no stage of it knows time, so there are no years to keep maps of")
        if states is not None:
            return states.finish()
        terrain = run._core.terrain()
        if layout.is_xarray or (given is None and wants_xarray(None)):
            from .xarray import states_dataset

            return states_dataset(time, maps, files, terrain, layout)
        elevation = np.stack(maps) if maps else None
        return Evolution(np.asarray(time), elevation, files, terrain.cell_size)


__all__ = ["Evolution", "build", "evolve", "presets"]
