"""Work that is larger than memory, on the workers of Dask: drainage, models and worlds into stores.

A plan is cut into stages, and a stage into tiles; each task is a tile of a stage, and writes its shards by itself. What goes through the
scheduler are the numbers of tiles: summaries lie on the disk that all workers share. What is done is marked there, so a task that is begun
again, after its worker was lost or in another session, makes nothing twice. The bytes are those of ``thalweg drain`` on one machine.

A scheduler runs what it is sent: listen on this machine alone, or use Dask's TLS.
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
from ._recipe import Recipe

if TYPE_CHECKING:
    import xarray as xr

#: How often a task is begun anew when its worker is lost or its disk refuses.
RETRIES = 3

#: Bytes from which on glibc takes memory from the system for a piece alone, and that it keeps: where it comes to by itself unless told otherwise.
_ALONE, _KEPT = 32 << 20, 64 << 20

_works: dict[tuple[int, str], _core.Work] = {}


def _keep_memory() -> None:
    """Lets a worker keep what a tile frees for the next.

    Dask has its workers give back all they can at once, and so every array of a tile's is asked of the system, and zeroed by it, anew: that took
    as long as the tiles themselves.
    """
    if sys.platform == "linux":
        # Other libraries of C than glibc have no such function.
        with contextlib.suppress(OSError, AttributeError):
            libc = ctypes.CDLL(None)
            libc.mallopt(-3, _ALONE)
            libc.mallopt(-1, _KEPT)


def _work(plan: str) -> _core.Work:
    """The plan, opened once in a process."""
    key = (os.getpid(), plan)
    if key not in _works:
        with contextlib.suppress(ValueError):
            # As many threads as Dask gives the worker, and no more.
            _core.set_threads(get_worker().state.nthreads)
        _keep_memory()
        _works.clear()
        _works[key] = _core.Work(plan)
    return _works[key]


def _tile(plan: str, stage: int, tile: int) -> None:
    missing = _work(plan).tile(stage, tile)
    if missing is not None:
        raise RuntimeError(f"tile {tile} of stage {stage} waits: {missing}")


def _solve(plan: str, stage: int) -> None:
    missing = _work(plan).solve(stage)
    if missing is not None:
        raise RuntimeError(f"stage {stage} waits: {missing}")


@contextlib.contextmanager
def _client(client: Client | None) -> Iterator[Client]:
    """The client, or one with workers of its own on this machine."""
    if client is not None:
        yield client
        return
    with Client(dashboard_address=None) as own:
        yield own


def carry_out(plan: str | os.PathLike[str], client: Client | None = None) -> dict[str, Any]:
    """Does what is left of a plan that ``thalweg plan``, :func:`drain` or :func:`build` wrote; returns the report.

    Workers must see the plan, its source and its store under the paths that the plan names.
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
    """A store as a Dataset backed by dask: a chunk is a shard, which is what is read and decoded at once."""
    # Here alone: to import it takes a worker, who has no use for it, as long as two tiles.
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


@named
def drain(
    source: str | os.PathLike[str],
    store: str | os.PathLike[str],
    client: Client | None = None,
    *,
    tile: int = 1024,
    threshold: float | None = None,
    outlets: list[tuple[int, int]] | tuple[()] = (),
    cell_size: float | None = None,
    unit: str | None = None,
    sea_level: float | None = None,
    edges: str = "open",
    depressions: bool = False,
    outlines: bool = True,
) -> xr.Dataset:
    """Works out where water goes on an elevation model of any size, into a store: the same bits as :func:`thalweg.drain`.

    Parameters
    ----------
    source : path
        A GeoTIFF or COG, read by windows; files of other formats are read whole by every worker.
    store : path
        A folder whose name ends in ``.zarr``; what is there of the same work already is kept.
    client : distributed.Client, optional
        The workers; if none is given, some on this machine.
    tile : int
        Cells of a tile's side.
    threshold, outlets, cell_size, unit, sea_level, edges
        As :func:`thalweg.drain` has them; ``edges`` is "open" or "closed".
    depressions : bool
        Whether the tree of depressions is written beside the store as a table, ``X.depressions.csv``.
    outlines : bool
        Whether the outlines of lakes are written beside the store.

    Returns
    -------
    xarray.Dataset
        ``height``, ``filled``, ``direction``, ``angle``, ``area``, ``basin``, ``order``, ``lake``, ``depth``, read when they are asked for. Streams lie
        beside the store as FlatGeobuf.
    """
    if edges not in ("open", "closed"):
        raise ValueError(f"edges = {edges!r}: allowed is one of open, closed")
    if unit not in (None, "metre"):
        raise ValueError(f"unit = {unit!r}: allowed is metre")
    plan = _beside(store, "plan.json")
    _core.plan_drain(
        Path(source).absolute(),
        Path(store).absolute(),
        plan,
        tile,
        threshold=threshold,
        closed=edges == "closed",
        sea_level=sea_level,
        outlets=[(int(row), int(column)) for row, column in outlets],
        cell_size=cell_size,
        metres=unit == "metre",
        depressions=depressions,
        no_outlines=not outlines,
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
    """Runs a model of finite reach over an elevation model of any size, into a store: the bits of ``thalweg apply``.

    Parameters
    ----------
    model : str
        The model's name, one of :mod:`thalweg.models`. One that reaches over the whole map is refused.
    source, store, client, tile
        As :func:`drain` has them; a store is a source, too.
    seed : int
        The seed of the model's random numbers.
    layers : dict of paths
        Files of the layers that the model is to heed or needs, of the map's size.
    cell_size, unit, sea_level, edges
        As :func:`drain` has them.
    **parameters
        The model's own.

    Returns
    -------
    xarray.Dataset
        ``height`` and the layers that the model leaves, read when they are asked for.
    """
    if edges not in ("open", "closed"):
        raise ValueError(f"edges = {edges!r}: allowed is one of open, closed")
    if unit not in (None, "metre"):
        raise ValueError(f"unit = {unit!r}: allowed is metre")
    plan = _beside(store, "plan.json")
    recipe = _core.Recipe.single(model, parameters, seed, sea_level, edges)
    _core.plan_apply(
        recipe,
        Path(source).absolute(),
        Path(store).absolute(),
        plan,
        tile,
        layers={name: Path(path).absolute() for name, path in (layers or {}).items()},
        cell_size=cell_size,
        metres=unit == "metre",
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
    """Builds a recipe's world of any size, or a rectangle of it, into a store: solved whole on its global levels, refined tile by tile beyond.

    Parameters
    ----------
    recipe : Recipe, or what :class:`thalweg.Recipe` takes
        What the world is made of; it must have local levels.
    store, client, tile
        As :func:`drain` has them.
    cells, seed
        Cells on the long side, and the world's seed.
    level : int, optional
        The level that is built: 0 has the recipe's widest cells, each further one cells of half the width. The recipe's last, if not said.
    rect : (west, north, east, south), metres, optional
        This part of the level alone, in the world's metres eastward and southward. A world without end is built so.

    Returns
    -------
    xarray.Dataset
        ``height``, ``direction``, ``area``, ``lake``.
    """
    plan = _beside(store, "plan.json")
    made = Recipe(recipe, cells=cells, seed=seed)
    _core.plan_build(made._core, Path(store).absolute(), plan, tile, level=level, rect=rect)
    return _done(store, plan, client)
