"""States: maps of a run, each written into a store as it comes, and read from there when they are asked for."""

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

#: Cells of a shard's side, and of a chunk's in it, as the command's stores have them.
SHARD, CHUNK = 1024, 256


class States:
    """A Zarr store that grows along ``time``, beside its place until all is written."""

    def __init__(self, path: str | PathLike[str]) -> None:
        try:
            import dask.array  # noqa: F401
            import xarray  # noqa: F401
            import zarr  # noqa: F401
        except ImportError as missing:
            raise ImportError(f"store= needs xarray, zarr and dask, and {missing.name} is missing: pip install 'thalweg[dask]'") from missing
        self.path = Path(fspath(path))
        if self.path.suffix.lower() != ".zarr":
            raise ValueError(f"store = {str(self.path)!r}: allowed is a name that ends in .zarr")
        if os.path.lexists(self.path):
            raise ValueError(f"store = {str(self.path)!r}: is there already; allowed is a path that is free")
        if not self.path.absolute().parent.is_dir():
            raise ValueError(f"store = {str(self.path)!r}: allowed is a path in a folder that is there")
        self._draft = self.path.with_name(f".{self.path.name}.{uuid.uuid4().hex[:12]}.part")
        self._like: xr.DataArray | None = None

    def clear(self) -> None:
        """Forgets all states so far: those that follow have other cells."""
        self._like = None
        shutil.rmtree(self._draft, ignore_errors=True)

    def keep(self, years: float, heights: NDArray[Any], core: Callable[[], _core.Terrain], layout: Layout) -> None:
        """Writes a state; nothing of it is held. ``core`` gives a terrain of its cells."""
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
            # What a file that was given had of chunks and codecs is no concern of this store.
            mapping = variable.encoding.get("grid_mapping")
            variable.encoding = {} if mapping is None else {"grid_mapping": mapping}
        # Not as `encoding=`, which would forget which coordinate says where the cells lie.
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
        """Puts the store in its place, and opens it: a chunk of dask's is a shard."""
        import xarray as xr

        if self._like is None:
            raise ValueError("save_every: no step of the last level reached it, so there is no map to keep")
        os.rename(self._draft, self.path)
        found = xr.open_zarr(self.path, chunks=None, consolidated=False, decode_coords="all")
        sides = zip(found["elevation"].dims, (1, SHARD, SHARD), strict=True)
        dataset: xr.Dataset = found.chunk(dict(sides))
        return dataset

    def __enter__(self) -> States:
        return self

    def __exit__(self, *stopped: object) -> None:
        # Once it is in place there is no draft.
        with contextlib.suppress(OSError):
            shutil.rmtree(self._draft)


__all__ = ["States"]
