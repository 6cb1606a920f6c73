"""Processing of data larger than memory on Dask workers: drainage, models and worlds, written to Zarr stores.

Each function writes a plan next to the store and executes it. A plan consists of stages, and a stage of one task for
each tile and one task that combines their results. Only numbers of tiles pass through the scheduler: tiles and
summaries are on a disk that all workers must share. Completed tasks are recorded there, so that a call that is
repeated, in the same or in another session, continues the work. The results are bit-identical to those of one machine.

A Dask scheduler executes any code that it receives: let it listen on this machine only, or use Dask's TLS.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distributed import Client, as_completed, get_worker

from . import _core, _moved
from ._operations import declared
from ._progress import CallProgress, Progress, reporting
from ._recipe import Recipe

if TYPE_CHECKING:
    from typing import Unpack

    import xarray as xr

    from ._options import ApplyStoreOptions, BuildStoreOptions, DrainStoreOptions

if not TYPE_CHECKING:
    # A type checker would take every name for one of the module's.

    def __getattr__(name: str) -> object:
        _moved.refuse(__name__, name)


#: Number of retries of a task when its worker is lost or a write to its disk fails.
RETRIES = 3

#: glibc's thresholds in bytes above which it maps an allocation separately, and below which it keeps free memory: the
#: values at which it arrives by itself if they are not set.
_ALONE, _KEPT = 32 << 20, 64 << 20

_works: dict[tuple[int, str], _core.Work] = {}


def _keep_memory() -> None:
    """Let a worker reuse the memory that a tile has freed for the next one.

    Dask configures its workers to return free memory at once, so that the system would have to provide and zero the
    memory of every array of a tile again: this took as long as the tiles themselves.
    """
    if sys.platform == "linux":
        # Only glibc has this function.
        with contextlib.suppress(OSError, AttributeError):
            libc = ctypes.CDLL(None)
            libc.mallopt(-3, _ALONE)
            libc.mallopt(-1, _KEPT)


def _work(plan: str) -> _core.Work:
    """Return the plan, which is opened once per process."""
    key = (os.getpid(), plan)
    if key not in _works:
        with contextlib.suppress(ValueError):
            # The number of threads that Dask assigns to the worker.
            _core.set_threads(get_worker().state.nthreads)
        _keep_memory()
        _works.clear()
        _works[key] = _core.Work(plan)
    return _works[key]


def _tile(plan: str, stage: int, tile: int) -> None:
    missing = _work(plan).tile(stage, tile)
    if missing is not None:
        raise RuntimeError(f"tile {tile} of stage {stage} cannot run yet: {missing}")


def _solve(plan: str, stage: int) -> None:
    missing = _work(plan).solve(stage)
    if missing is not None:
        raise RuntimeError(f"stage {stage} cannot be solved yet: {missing}")


@contextlib.contextmanager
def _client(client: Client | None) -> Iterator[Client]:
    """Yield the client, or a new one with workers on this machine."""
    if client is not None:
        yield client
        return
    with Client(dashboard_address=None) as own:
        yield own


def execute_plan(
    plan: str | os.PathLike[str], client: Client | None = None, *, progress: CallProgress = None
) -> dict[str, Any]:
    """Execute the remaining tasks of a plan that ``thalweg job plan`` or a function of this module has written.

    Workers must be able to access the plan, its source and its store at the paths that the plan contains.

    Parameters
    ----------
    plan : path
        The file of the plan, in JSON.
    client : distributed.Client, optional
        Client of the workers. By default, a new one is created, with workers on this machine.
    progress : bool or callable, optional
        If True, show a tqdm progress bar. A callable is called with a :class:`thalweg.Progress` after each task.

    Returns
    -------
    dict
        The report of the work, with its summary figures.

    Raises
    ------
    ValueError
        If the file is not a valid plan, or its source has changed.
    OSError
        If a file cannot be read or written.

    Examples
    --------
    >>> from thalweg import dask as by_dask
    >>> report = by_dask.execute_plan("big.plan.json", progress=True)
    """
    path = str(Path(plan).absolute())
    work = _core.Work(path)
    # A stage has a task for each tile, and one that solves it.
    total = len(work.stages) * (work.tiles + 1)
    with _client(client) as at, reporting(progress) as report:
        for done, (stage, task) in enumerate(_tasks(at, path, work), start=1):
            task.result()
            if report is not None:
                report(Progress(stage, done, total))
    found: dict[str, Any] = json.loads(work.report())
    return found


def _tasks(client: Client, path: str, work: _core.Work) -> Iterator[tuple[str, Any]]:
    """Yield the name of the stage and the future of each task as it completes; submit a stage after the one before."""
    for stage, name in enumerate(work.stages):
        tiles = [client.submit(_tile, path, stage, tile, pure=False, retries=RETRIES) for tile in range(work.tiles)]
        for task in as_completed(tiles):
            yield name, task
        yield name, client.submit(_solve, path, stage, pure=False, retries=RETRIES)


def read_store(store: str | os.PathLike[str]) -> xr.Dataset:
    """Open a store as a Dataset of Dask arrays, which are read on demand.

    Each Dask chunk is one shard, the unit in which stores are read and decoded.

    Parameters
    ----------
    store : path
        The folder of the store.

    Returns
    -------
    xarray.Dataset
        The layers of the store, with the dimensions ``y`` and ``x``.

    Raises
    ------
    OSError
        If there is no such store.

    Examples
    --------
    >>> from thalweg import dask as by_dask
    >>> area = by_dask.read_store("big.zarr")["drainage_area"]
    """
    # Imported here only, because a worker does not need it and would take as long to import it as for two tiles.
    import xarray as xr

    found = xr.open_zarr(os.fspath(store), chunks=None)
    side = json.loads((Path(store) / "zarr.json").read_text())["attributes"]["thalweg"]["spec"]["side"]
    dataset: xr.Dataset = found.chunk({"y": side, "x": side})
    return dataset


def _beside(store: str | os.PathLike[str], name: str) -> Path:
    path = Path(store).absolute()
    return path.with_name(f"{path.stem}.{name}")


def _execute(
    store: str | os.PathLike[str], plan: Path, client: Client | None, progress: CallProgress
) -> xr.Dataset:
    report = execute_plan(plan, client, progress=progress)
    dataset = read_store(store)
    dataset.attrs.update({name: value for name, value in report.items() if isinstance(value, (int, float, str))})
    return dataset


@declared("drain", in_store=True)
def drain(
    source: str | os.PathLike[str],
    store: str | os.PathLike[str],
    client: Client | None = None,
    *,
    tile: int = 1024,
    cell_size: float | None = None,
    unit: str | None = None,
    sea_level: float | None = None,
    edges: str = "open",
    progress: CallProgress = None,
    **options: Unpack[DrainStoreOptions],
) -> xr.Dataset:
    """{page}

    The elevation model may be of any size, and the result is written to a Zarr store. It is bit-identical to that of
    :func:`thalweg.drain`.

    Parameters
    ----------
    source : path
        The elevation model: a GeoTIFF or COG, which is read in windows, a Zarr store, or a file of another format,
        which every worker reads as a whole.
    store : path
        The store to write: a folder whose name ends in ``.zarr``. Finished tiles of the same work are kept.
    client : distributed.Client, optional
        Client of the workers. By default, a new one is created, with workers on this machine.
    tile : int, default 1024
        Side of a tile in cells.
    cell_size : float, metres, optional
        Side of a square cell. By default, that of the source.
    unit : "metre", optional
        Reads coordinates and heights as metres, even if the source declares another unit. Coordinates in degrees are
        refused in any case; project the map first.
    sea_level : float, metres, optional
        Elevation of the sea surface; cells at or below it are sea. By default, there is no sea.
    edges : {"open", "closed"}, default "open"
        Boundary condition of the four sides: water leaves the map, or it does not.
    progress : bool or callable, optional
        If True, show a tqdm progress bar. A callable is called with a :class:`thalweg.Progress` after each task.
    {options}

    Returns
    -------
    xarray.Dataset
        The layers of the store, read on demand: ``height`` and ``filled`` (m), ``flow_direction`` (D8 as ESRI codes),
        ``angle`` (D∞, rad), ``drainage_area`` (m²), ``basin`` (number of the basin), ``order`` (Strahler order),
        ``lake`` (number of the lake) and ``depth`` (of the lake, m). Streams are written next to the store ``X.zarr``
        as FlatGeobuf and, if requested, depressions as ``X.depressions.csv``.

    Raises
    ------
    ValueError
        If a value is out of range, or the store contains other work.
    OSError
        If a file cannot be read or written.

    Examples
    --------
    >>> from thalweg import dask as by_dask
    >>> found = by_dask.drain("big.tif", "big.zarr", progress=True)
    """
    if edges not in ("open", "closed"):
        raise ValueError(f"edges = {edges!r}: must be one of open, closed")
    plan = _beside(store, "plan.json")
    _core.plan_drain(
        Path(source).absolute(),
        Path(store).absolute(),
        plan,
        tile,
        {"cell_size": cell_size, "unit": unit},
        dict(options),
        closed=edges == "closed",
        sea_level=sea_level,
    )
    return _execute(store, plan, client, progress)


@declared("apply", in_store=True)
def apply(
    model: str,
    source: str | os.PathLike[str],
    store: str | os.PathLike[str],
    client: Client | None = None,
    *,
    tile: int = 1024,
    cell_size: float | None = None,
    unit: str | None = None,
    progress: CallProgress = None,
    **options: Unpack[ApplyStoreOptions],
) -> xr.Dataset:
    """{page}

    The elevation model may be of any size, and the result is written to a Zarr store. The model must have a finite
    reach: in a step, a cell depends only on cells within a fixed distance. The result is bit-identical to that of the
    function in :mod:`thalweg.models`.

    Parameters
    ----------
    model : str
        Name of the model, that of a function in :mod:`thalweg.models`. A model that depends on the whole map is
        refused.
    source, store, client, tile
        See :func:`drain`.
    cell_size, unit, progress : optional
        See :func:`drain`.
    {options}

    Returns
    -------
    xarray.Dataset
        ``height`` in metres and the layers that the model writes, read on demand.

    Raises
    ------
    ValueError
        If the model does not have finite reach, a value is out of range, or the store contains other work.
    OSError
        If a file cannot be read or written.

    Examples
    --------
    >>> from thalweg import dask as by_dask
    >>> found = by_dask.apply("thermal", "big.tif", "big.zarr", parameters={"steps": 20})
    """
    plan = _beside(store, "plan.json")
    _core.plan_apply(
        model,
        Path(source).absolute(),
        Path(store).absolute(),
        plan,
        tile,
        {"cell_size": cell_size, "unit": unit},
        dict(options),
    )
    return _execute(store, plan, client, progress)


@declared("build", in_store=True)
def build(
    recipe: Any,
    store: str | os.PathLike[str],
    client: Client | None = None,
    *,
    tile: int = 1024,
    progress: CallProgress = None,
    **options: Unpack[BuildStoreOptions],
) -> xr.Dataset:
    """{page}

    The world may be of any size, and the result is written to a Zarr store. The global levels are solved as a whole;
    the levels beyond them are computed tile by tile.

    Parameters
    ----------
    recipe : Recipe, str, path or dict
        The recipe, or any source that :class:`thalweg.Recipe` accepts; it must have refinement levels.
    store, client, tile
        See :func:`drain`.
    progress : bool or callable, optional
        See :func:`drain`.
    {options}

    Returns
    -------
    xarray.Dataset
        ``height`` (m), ``flow_direction`` (D8 as ESRI codes), ``drainage_area`` (m²) and ``lake`` (number of the lake),
        read on demand.

    Raises
    ------
    ValueError
        If the recipe has no refinement levels, a value is out of range, options exclude one another, or the store
        contains other work.
    OSError
        If a file cannot be read or written.

    Examples
    --------
    >>> from thalweg import dask as by_dask
    >>> found = by_dask.build("endless", "part.zarr", level=4, rect=(0, 0, 5000, 5000))
    """
    plan = _beside(store, "plan.json")
    _core.plan_build(Recipe(recipe)._core, Path(store).absolute(), plan, tile, dict(options))
    return _execute(store, plan, client, progress)
