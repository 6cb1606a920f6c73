"""thalweg: generation, erosion, drainage and analysis of terrain, with NumPy and xarray.

:func:`build` creates a world from a preset or a recipe, :func:`drain` computes the drainage of an elevation model, and
:func:`measure` computes its geomorphological measures. :func:`read` and :func:`write` read and write files.
:mod:`thalweg.models` contains every model as a function; gradient noise and one model of each process are in this
namespace as well. :mod:`thalweg.flow`, :mod:`thalweg.slopes` and :mod:`thalweg.noise` contain functions for single
steps of an analysis. :mod:`thalweg.dask`, which is imported separately, processes maps larger than memory.

A function that takes heights accepts a NumPy array with its cell size, an xarray DataArray, a Dataset with a variable
``height``, or a :class:`Terrain`. Heights are returned as the type that was passed; a DataArray keeps its coordinates.
They are metres within ±16 000, rounded to 1/65 536 m. Rows of arrays run from north to south. Cells are square.

Examples
--------
>>> import thalweg as tw
>>> world = tw.build("hills", cells=128, seed=3)
>>> relaxed = tw.thermal(world.height)
>>> found = tw.drain(relaxed, threshold=1e6)
"""

from __future__ import annotations

import sys as _sys
import typing as _typing

from . import _moved, flow, models, noise, slopes
from ._build import Evolution, build, evolve, presets
from ._core import __version__, rocks, set_threads, threads
from ._drain import ChannelReach, Drainage, drain, reaches
from ._export import export
from ._measure import Measure, Measures, measure
from ._mesh import mesh
from ._methods import METHODS as _METHODS
from ._pictures import shade, view
from ._progress import Progress, Step
from ._read import read
from ._recipe import Preset, Recipe
from ._reshape import crop, resample
from ._rivers import rivers
from ._run import Run
from ._terrain import Terrain
from ._textures import Textures, textures
from ._world import FlowPath, World, WorldRiver
from ._write import write
from .models import (
    coast,
    droplets,
    dunes,
    glacier,
    gradient_noise,
    hillslope,
    hydrology,
    pipes,
    stream_power,
    thermal,
)

__all__ = [
    "ChannelReach",
    "Drainage",
    "Evolution",
    "FlowPath",
    "Measure",
    "Measures",
    "Preset",
    "Progress",
    "Recipe",
    "Run",
    "Step",
    "Terrain",
    "Textures",
    "World",
    "WorldRiver",
    "__version__",
    "build",
    "coast",
    "crop",
    "drain",
    "droplets",
    "dunes",
    "evolve",
    "export",
    "flow",
    "glacier",
    "gradient_noise",
    "hillslope",
    "hydrology",
    "measure",
    "mesh",
    "models",
    "noise",
    "pipes",
    "presets",
    "reaches",
    "read",
    "resample",
    "rivers",
    "rocks",
    "set_threads",
    "shade",
    "slopes",
    "stream_power",
    "textures",
    "thermal",
    "threads",
    "view",
    "write",
]

_functions = {name: getattr(module, name) for module in (slopes, flow, models) for name in module.__all__}
_METHODS.update({name: function for name, function in _functions.items() if not name[0].isupper()})
_METHODS.update(crop=crop, drain=drain, measure=measure, mesh=mesh, reaches=reaches, resample=resample, rivers=rivers)
_METHODS.update(shade=shade, view=view, write=write)

_moved.MOVED.update({f"thalweg.{name}": f"thalweg.models.{name}" for name in set(models.__all__) - set(__all__)})

if "xarray" in _sys.modules:
    from . import xarray as xarray

if not _typing.TYPE_CHECKING:
    # A type checker would take every name for one of the module's.

    def __getattr__(name: str) -> object:
        _moved.refuse(__name__, name)
