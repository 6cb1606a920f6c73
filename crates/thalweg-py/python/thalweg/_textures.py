"""Textures: what covers a terrain, as arrays."""

from __future__ import annotations

from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._arrays import warn_caller
from ._inputs import read_terrain
from ._keywords import named
from ._recipe import Recipe
from ._terrain import Terrain

if TYPE_CHECKING:
    import xarray

Array = NDArray[Any]

#: Units of maps and what they mean; those of one value a cell.
_MAPS = {
    "roughness": ("1", "Roughness, 0 smooth to 1 rough."),
    "occlusion": ("1", "Share of the sky that the ground sees."),
    "curvature": ("m-1", "Mean curvature, above 0 on crests."),
    "wear": ("m", "Ground worn away since the start."),
    "deposit": ("m", "Ground laid down since the start, or loose ground."),
}


class Textures:
    """Textures of a terrain, rows from the north; the first and the last sample lie on the middles of the outermost cells.

    Attributes
    ----------
    materials : tuple of str
        What ground is covered with, in the order of the weights.
    weights : array of uint8 or uint16, (rows, columns, materials)
        How much of each; they sum to exactly ``full`` in a cell with data, and to 0 in one without.
    full : int
        255 or 65535.
    albedo : array of float32, (rows, columns, 3)
        Colour without light: red, green, blue, linear, 0 to 1.
    roughness, occlusion, curvature : arrays of float32
        0 smooth to 1 rough; the share of the sky that is seen; 1/m, above 0 on crests.
    flow : array of float32, (rows, columns, 3)
        Where water goes: eastward and southward parts of a unit vector, and its speed in m/s.
    wear, deposit : arrays of float32, metres, or None
        What was worn away and laid down since the start; without a start ``deposit`` is loose ground, where the terrain knows of it.
    cell_size : float
        Metres between two samples.
    """

    def __init__(self, materials: list[str], full: int, cell_size: float, maps: dict[str, Array], terrain: Terrain) -> None:
        self.materials = tuple(materials)
        self.full = full
        self.cell_size = cell_size
        self.weights: Array = maps["weights"]
        self.albedo: NDArray[np.float32] = maps["albedo"]
        self.flow: NDArray[np.float32] = maps["flow"]
        self.roughness: NDArray[np.float32] = maps["roughness"]
        self.occlusion: NDArray[np.float32] = maps["occlusion"]
        self.curvature: NDArray[np.float32] = maps["curvature"]
        self.wear: NDArray[np.float32] | None = maps.get("wear")
        self.deposit: NDArray[np.float32] | None = maps.get("deposit")
        self._ends = [(float(axis[0]), float(axis[-1])) for axis in (terrain.y, terrain.x)]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns = self.roughness.shape
        return (rows, columns)

    def weight(self, material: str) -> Array:
        """The weights of one material."""
        if material not in self.materials:
            raise ValueError(f"material = {material}: allowed is {', '.join(self.materials)}")
        weights: Array = self.weights[..., self.materials.index(material)]
        return weights

    def to_xarray(self) -> xarray.Dataset:
        """A Dataset on the terrain's coordinates, with dimensions ``y``, ``x``, and ``material``, ``colour`` or ``component``."""
        try:
            import xarray
        except ImportError as missing:
            raise ImportError("xarray is needed for this: pip install 'thalweg[xarray]'") from missing
        place = ("y", "x")
        maps: dict[str, Any] = {
            "weights": ((*place, "material"), self.weights, {"long_name": "Cover of the ground.", "full": self.full}),
            "albedo": ((*place, "colour"), self.albedo, {"units": "1", "long_name": "Colour without light, linear."}),
            "flow": ((*place, "component"), self.flow, {"long_name": "Way of water, a unit vector, and its speed in m/s."}),
        }
        for name, (units, meaning) in _MAPS.items():
            values = getattr(self, name)
            if values is not None:
                maps[name] = (place, values, {"units": units, "long_name": meaning})
        coords: dict[str, Any] = {
            axis: (axis, np.linspace(*ends, count), {"units": "m"}) for axis, ends, count in zip(place, self._ends, self.shape, strict=True)
        }
        coords["material"] = list(self.materials)
        coords["colour"] = ["red", "green", "blue"]
        coords["component"] = ["east", "south", "speed"]
        return xarray.Dataset(maps, coords=coords)

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"<thalweg.Textures of {rows} × {columns} samples, {self.cell_size:g} m apart; {', '.join(self.materials)}>"


@named
def textures(
    source: Any,
    path: str | PathLike[str] | None = None,
    *,
    size: int | None = None,
    bits: int = 8,
    from_air: bool = False,
    start: Any = None,
    recipe: Any = None,
    sea_level: float | None = None,
    cell_size: float | None = None,
    nodata: float | None = None,
) -> Textures:
    """Says what covers a terrain: weights of materials, albedo without light, and maps that shaders ask for.

    Parameters
    ----------
    source : path, array, DataArray, Dataset or Terrain
        The terrain: the folder of a world, a file of heights, or heights in memory. Layers that it holds (loose ground, water, trees) count.
    path : path, optional
        A folder to write the files of ``thalweg textures`` into.
    size : int, 1 to 65536, optional
        Samples on the longer side; a sample to each cell if not said.
    bits : 8 or 16
        Of a weight.
    from_air : bool
        Shows forests' crowns in place of their floor.
    start : array, DataArray, Dataset or Terrain, optional
        The terrain before it was worn, of the same size: then what was worn and laid down is known.
    recipe : Recipe, or what :class:`Recipe` takes, optional
        Whose climate, colours and rock it has; those of a folder's own recipe, or the usual ones, if not said.
    sea_level : float, metres, optional
        Below it there is sea; not with a path, whose recipe says so.
    cell_size, nodata
        Of an array.

    Returns
    -------
    Textures
        Arrays, and with ``to_xarray()`` a Dataset.

    Raises
    ------
    ValueError
        A size or bits that there are not, a start of another size, a folder that holds another work's files.
    OSError
        What cannot be read or written.
    """
    is_path = isinstance(source, (str, PathLike))
    if is_path and (sea_level, cell_size, nodata) != (None, None, None):
        raise ValueError("sea_level, cell_size and nodata go with an array: what lies at a path says so itself")
    given = fspath(source) if is_path else read_terrain(source, cell_size=cell_size, nodata=nodata, sea_level=sea_level).core
    before = None if start is None else read_terrain(start, what="start", cell_size=cell_size, nodata=nodata).core
    if recipe is not None and not isinstance(recipe, Recipe):
        recipe = Recipe(recipe)
    materials, full, cell, maps, core, said = _core.textures(
        given,
        start=before,
        recipe=None if recipe is None else recipe._core,
        size=size,
        bits=bits,
        from_air=from_air,
        folder=None if path is None else fspath(path),
    )
    for message in said:
        warn_caller(message)
    return Textures(materials, full, cell, maps, Terrain._of(core))
