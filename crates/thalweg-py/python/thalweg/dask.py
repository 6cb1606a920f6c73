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
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distributed import Client, as_completed, get_worker

from . import _core
from ._keywords import named
from ._operations import declared
from ._recipe import Recipe

if TYPE_CHECKING:
    from typing import Unpack

    import xarray as xr

    from ._options import DrainStoreOptions

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


def carry_out(plan: str | os.PathLike[str], client: Client | None = None) -> dict[str, Any]:
    """Execute the remaining tasks of a plan that ``thalweg job plan``, :func:`drain` or :func:`build` has written.

    Workers must be able to access the plan, its source and its store at the paths that the plan contains.

    Parameters
    ----------
    plan : path
        The plan's file.
    client : distributed.Client, optional
        The client of the workers; by default a new one, with workers on this machine.

    Returns
    -------
    dict
        The report.
    """
    path = str(Path(plan).absolute())
    work = _core.Work(path)
    with _client(client) as at:
        for stage in range(len(work.stages)):
            futures = [
                at.submit(_tile, path, stage, tile, pure=False, retries=RETRIES) for tile in range(work.tiles)
            ]
            for future in as_completed(futures):
                future.result()
            at.submit(_solve, path, stage, pure=False, retries=RETRIES).result()
    report: dict[str, Any] = json.loads(work.report())
    return report


def open(store: str | os.PathLike[str]) -> xr.Dataset:
    """Open a store as a Dataset of dask arrays.

    Each dask chunk is one shard, the unit in which stores are read and decoded.

    Parameters
    ----------
    store : path
        The store's folder.

    Returns
    -------
    xarray.Dataset
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


def _done(store: str | os.PathLike[str], plan: Path, client: Client | None) -> xr.Dataset:
    report = carry_out(plan, client)
    dataset = open(store)
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
    edges : "open" or "closed"
        Boundary condition of the four sides.
    {options}

    Returns
    -------
    xarray.Dataset
        ``height``, ``filled``, ``direction``, ``angle``, ``area``, ``basin``, ``order``, ``lake``, ``depth``, which are
        read on demand. Streams are written next to the store as FlatGeobuf, depressions as ``X.depressions.csv``.
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
    return _done(store, plan, client)


def apply(
    model: str,
    source: str | os.PathLike[str],
    store: str | os.PathLike[str],
    client: Client | None = None,
    *,
    tile: int = 1024,
    seed: int = 1,
    layers: Mapping[str, str | os.PathLike[str]] | None = None,
    cell_size: float | None = None,
    unit: str | None = None,
    sea_level: float | None = None,
    edges: str = "open",
    **parameters: Any,
) -> xr.Dataset:
    """Run a model of finite reach over an elevation model of any size, and write the result to a store.

    A model has a finite reach if a step depends only on cells within a fixed distance. The result is bit-identical to
    that of ``thalweg apply``.

    Parameters
    ----------
    model : str
        Name of the model, one of :mod:`thalweg.models`. Models that depend on the whole map are refused.
    source, store, client, tile
        See :func:`drain`; the source may also be a store.
    seed : int, default 1
        Seed of the model's random numbers.
    layers : dict of paths, optional
        Files of the layers that the model requires or uses, by name; they must have the size of the map.
    cell_size, unit, sea_level, edges : optional
        See :func:`drain`.
    **parameters
        Parameters of the model.

    Returns
    -------
    xarray.Dataset
        ``height`` and the layers that the model writes, read on demand.

    Raises
    ------
    ValueError
        If the model does not have finite reach, or a value is out of range.
    """
    if edges not in ("open", "closed"):
        raise ValueError(f"edges = {edges!r}: must be one of open, closed")
    plan = _beside(store, "plan.json")
    recipe = _core.Recipe.single(model, parameters, seed, sea_level, edges)
    _core.plan_apply(
        recipe,
        Path(source).absolute(),
        Path(store).absolute(),
        plan,
        tile,
        {"cell_size": cell_size, "unit": unit},
        layers={name: Path(path).absolute() for name, path in (layers or {}).items()},
    )
    return _done(store, plan, client)


@named
def build(
    recipe: Any,
    store: str | os.PathLike[str],
    client: Client | None = None,
    *,
    tile: int = 1024,
    cells: int | None = None,
    seed: int | None = None,
    level: int | None = None,
    rect: tuple[float, float, float, float] | None = None,
) -> xr.Dataset:
    """Build a world of any size from a recipe, or a rectangle of it, and write it to a store.

    The global levels are solved as a whole; beyond them, the world is refined tile by tile.

    Parameters
    ----------
    recipe : Recipe, str, path or dict
        The recipe, or any source that :class:`thalweg.Recipe` accepts; it must have refinement levels.
    store, client, tile
        See :func:`drain`.
    cells : int, optional
        Number of cells on the longer side.
    seed : int, optional
        Seed of the world.
    level : int, optional
        The level to build: 0 has the widest cells, and each further level has cells of half the width. By default, the
        last level of the recipe.
    rect : (west, north, east, south), metres, optional
        Build only this rectangle of the level, in world coordinates eastward and southward. An endless world requires
        it.

    Returns
    -------
    xarray.Dataset
        ``height``, ``direction``, ``area`` and ``lake``, read on demand.
    """
    plan = _beside(store, "plan.json")
    made = Recipe(recipe, cells=cells, seed=seed)
    _core.plan_build(made._core, Path(store).absolute(), plan, tile, level=level, rect=rect)
    return _done(store, plan, client)
