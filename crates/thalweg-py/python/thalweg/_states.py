"""States: maps of a run that are written to a store as they are computed, and read from there on demand."""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from collections.abc import Callable
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._arrays import Layout

if TYPE_CHECKING:
    import xarray as xr

#: Sides of a shard and of a chunk in cells, the same as in the command's stores.
SHARD, CHUNK = 1024, 256


class States:
    """A Zarr store that grows along ``time``; it has a temporary name until it is complete."""

    def __init__(self, path: str | PathLike[str]) -> None:
        try:
            import dask.array  # noqa: F401
            import xarray  # noqa: F401
            import zarr  # noqa: F401
        except ImportError as missing:
            raise ImportError(f"store= needs {missing.name}, which is missing; install it with pip install 'thalweg[dask]'") from missing
        self.path = Path(fspath(path))
        if self.path.suffix.lower() != ".zarr":
            raise ValueError(f"store = {str(self.path)!r}: must be a path that ends in .zarr")
        if os.path.lexists(self.path):
            raise ValueError(f"store = {str(self.path)!r} already exists; remove it, or choose another path")
        if not self.path.absolute().parent.is_dir():
            raise ValueError(f"store = {str(self.path)!r}: must be a path in an existing folder")
        self._draft = self.path.with_name(f".{self.path.name}.{uuid.uuid4().hex[:12]}.part")
        self._like: xr.DataArray | None = None

    def clear(self) -> None:
        """Discard all states so far, because the following ones have other cells."""
        self._like = None
        shutil.rmtree(self._draft, ignore_errors=True)

    def keep(self, years: float, heights: NDArray[Any], core: Callable[[], _core.Terrain], layout: Layout) -> None:
        """Write a state without keeping it in memory; ``core`` returns a terrain with its cells."""
        from .xarray import as_state, state_template

        if self._like is not None:
            one = as_state(years, heights, self._like, layout)
            self._append("elevation", one.values)
            self._append("time", one["time"].values)
            return
        self._like = state_template(core(), layout, heights)
        state = as_state(years, heights, self._like, layout).to_dataset()
        y, x = (str(name) for name in state["elevation"].dims[1:])
        shards = (1, *(min(SHARD, -(-state.sizes[dim] // CHUNK) * CHUNK) for dim in (y, x)))
        for variable in state.variables.values():
            # The chunks and codecs of the input file do not apply to this store.
            mapping = variable.encoding.get("grid_mapping")
            variable.encoding = {} if mapping is None else {"grid_mapping": mapping}
        # Not passed as `encoding=`, which would drop the name of the coordinate with the georeference.
        state.variables["elevation"].encoding |= {"chunks": (1, CHUNK, CHUNK), "shards": shards, "_FillValue": np.nan}
        state.variables["time"].encoding = {"chunks": (SHARD,)}
        state.to_zarr(self._draft, mode="w-", zarr_format=3, consolidated=False)

    def _append(self, name: str, values: NDArray[Any]) -> None:
        import zarr

        array = zarr.open_array(self._draft / name, mode="r+")
        count = array.shape[0]
        array.resize((count + 1, *array.shape[1:]))
        array[count:] = values

    def finish(self) -> xr.Dataset:
        """Rename the complete store to its path and open it with one dask chunk per shard."""
        import xarray as xr

        if self._like is None:
            raise ValueError("no map was recorded, because save_every is longer than the last level simulates; use fewer years")
        os.rename(self._draft, self.path)
        found = xr.open_zarr(self.path, chunks=None, consolidated=False, decode_coords="all")
        sides = zip(found["elevation"].dims, (1, SHARD, SHARD), strict=True)
        dataset: xr.Dataset = found.chunk(dict(sides))
        return dataset

    def __enter__(self) -> States:
        return self

    def __exit__(self, *stopped: object) -> None:
        # After `finish` there is no draft.
        with contextlib.suppress(OSError):
            shutil.rmtree(self._draft)


__all__ = ["States"]
