"""Processing of data larger than memory on Dask workers: drainage, models and worlds, written to stores.

A plan consists of stages, and a stage of tiles. Each task is a tile of a stage and writes its own shards. Only the
numbers of tiles pass through the scheduler; summaries are on the disk that all workers share. Completed tasks are
recorded there, so a task that is restarted, after its worker was lost or in another session, repeats no completed
work. The results are bit-identical to those of ``thalweg drain`` on one machine.

A scheduler executes any code that it receives: let it listen on this machine only, or use Dask's TLS.
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
    """Execute the remaining tasks of a plan that the command or a function of this module has written.

    Workers must be able to access the plan, its source and its store at the paths that the plan contains.

    Parameters
    ----------
    plan : path
        The plan's file.
    client : distributed.Client, optional
        The client of the workers; by default a new one, with workers on this machine.
    progress : bool or callable, optional
        If True, show a tqdm progress bar. A callable is called with a :class:`thalweg.Progress` after each task.

    Returns
    -------
    dict
        The report.

    Raises
    ------
    ValueError
        If the file is not a valid plan.
    OSError
        If a file cannot be read or written.
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
    """Open a store as a Dataset of dask arrays, which are read on demand.

    Each dask chunk is one shard, the unit in which stores are read and decoded.

    Parameters
    ----------
    store : path
        The store's folder.

    Returns
    -------
    xarray.Dataset
        The layers of the store.

    Raises
    ------
    OSError
        If there is no such store.
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

    The elevation model may be of any size, and the result is written to a store. It is bit-identical to that of
    :func:`thalweg.drain`.

    Parameters
    ----------
    source : path
        A GeoTIFF or COG, which is read by windows; files of other formats are read whole by every worker.
    store : path
        A folder whose name ends in ``.zarr``. Finished tiles of the same work are kept.
    client : distributed.Client, optional
        The client of the workers; by default a new one, with workers on this machine.
    tile : int, default 1024
        Side of a tile in cells.
    cell_size, unit, sea_level
        As in :func:`thalweg.drain`.
    edges : "open" or "closed", default "open"
        Boundary condition of the four sides.
    progress : bool or callable, optional
        If True, show a tqdm progress bar. A callable is called with a :class:`thalweg.Progress` after each task.
    {options}

    Returns
    -------
    xarray.Dataset
        The layers of the store, read on demand: ``height``, ``filled``, ``flow_direction``, ``angle``,
        ``drainage_area``, ``basin``, ``order``, ``lake``, ``depth``. Streams are written next to the store as
        FlatGeobuf, depressions as ``X.depressions.csv``.

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

    The elevation model may be of any size, and the result is written to a store. The model must have a finite reach: a
    step depends only on cells within a fixed distance. The result is bit-identical to that of ``thalweg apply``.

    Parameters
    ----------
    model : str
        Name of the model, one of :mod:`thalweg.models`. Models that depend on the whole map are refused.
    source, store, client, tile
        See :func:`drain`; the source may also be a store.
    cell_size, unit, progress : optional
        See :func:`drain`.
    {options}

    Returns
    -------
    xarray.Dataset
        ``height`` and the layers that the model writes, read on demand.

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

    The world may be of any size, and the result is written to a store. The global levels are solved as a whole; beyond
    them, the world is refined tile by tile.

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
        ``height``, ``flow_direction``, ``drainage_area`` and ``lake``, read on demand.

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
