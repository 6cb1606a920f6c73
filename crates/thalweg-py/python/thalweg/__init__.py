"""thalweg: generation, erosion, drainage and analysis of terrain, with NumPy and xarray.

Every model of the library is a function (``help(thalweg.droplets)``). ``build`` creates a world from a preset or a
recipe, ``drain`` computes the drainage of a terrain, and ``measure`` computes its geomorphological measures. Heights
are returned as the type that was passed: an array for an array, a DataArray with its coordinates for a DataArray.
Heights are metres within ±16 000, stored in units of 1/65 536 m.

Examples
--------
>>> import thalweg as tw
>>> world = tw.build("hills", cells=128, seed=3)
>>> out = tw.thermal(world.height, cell_size=50.0)
"""

from __future__ import annotations

import sys as _sys

from . import flow, models, noise, slopes
from ._build import build, evolve, presets
from ._core import __version__, rocks, set_threads, threads
from ._drain import Drainage, River, drain
from ._export import export
from ._measure import Measure, Measures, measure
from ._mesh import mesh
from ._methods import METHODS as _METHODS
from ._open import open
from ._pictures import shade, view
from ._recipe import Preset, Recipe
from ._run import Run, Step
from ._save import save
from ._terrain import Terrain
from ._textures import Textures, textures
from ._world import World
from .models import *

__all__ = [
    "Drainage",
    "Measure",
    "Measures",
    "Preset",
    "Recipe",
    "River",
    "Run",
    "Step",
    "Terrain",
    "Textures",
    "World",
    "__version__",
    "build",
    "drain",
    "evolve",
    "export",
    "flow",
    "measure",
    "mesh",
    "models",
    "noise",
    "open",
    "presets",
    "rocks",
    "save",
    "set_threads",
    "shade",
    "slopes",
    "textures",
    "threads",
    "view",
]
__all__ += models.__all__

_METHODS.update({name: getattr(module, name) for module in (slopes, flow, models) for name in module.__all__})
_METHODS.update(drain=drain, measure=measure, mesh=mesh, save=save, shade=shade, view=view)

if "xarray" in _sys.modules:
    from . import xarray as xarray
