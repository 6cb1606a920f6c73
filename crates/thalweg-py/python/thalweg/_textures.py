"""textures: computes the ground cover of a terrain."""

from __future__ import annotations

from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._arrays import warn_caller
from ._inputs import read_terrain
from ._operations import declared
from ._recipe import Recipe
from ._terrain import Terrain

if TYPE_CHECKING:
    from typing import Unpack

    import xarray

    from ._options import TexturesOptions

Array = NDArray[Any]

#: Units and meanings of the maps with one value per cell.
_MAPS = {
    "roughness": ("1", "Roughness, 0 smooth to 1 rough."),
    "occlusion": ("1", "Visible share of the sky."),
    "curvature": ("m-1", "Mean curvature, above 0 on crests."),
    "wear": ("m", "Erosion since the start."),
    "deposit": ("m", "Deposition since the start, or the sediment thickness."),
}


class Textures:
    """The ground cover of a terrain as textures: the result of :func:`thalweg.textures`.

    Rows of samples run from north to south. The outermost samples are at the centres of the outermost cells.

    Attributes
    ----------
    materials : tuple of str
        Names of the materials of the ground cover, in the order of the weights.
    weights : array of uint8 or uint16, (rows, columns, materials)
        Weight of each material. In a sample with data they sum to exactly ``full``, in one without data to 0.
    full : int
        Sum of the weights: 255 or 65535.
    albedo : array of float32, (rows, columns, 3)
        Unlit colour: linear red, green and blue, 0 to 1.
    roughness : array of float32, (rows, columns)
        Roughness, from 0 (smooth) to 1 (rough).
    occlusion : array of float32, (rows, columns)
        Share of the sky that is visible, 0 to 1.
    curvature : array of float32, (rows, columns), 1/m
        Mean curvature, above 0 on crests.
    flow : array of float32, (rows, columns, 3)
        Eastward and southward components of the flow direction, a unit vector or zero, and the flow speed in m/s.
    wear : array of float32, (rows, columns), metres, or None
        Erosion since the start, 0 or more; None without ``start``.
    deposit : array of float32, (rows, columns), metres, or None
        Deposition since the start, 0 or more. Without ``start``, the thickness of the sediment, or None if the terrain
        has no sediment.
    cell_size : float, metres
        Distance between two neighbouring samples.
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
        """Numbers of rows and columns."""
        rows, columns = self.roughness.shape
        return (rows, columns)

    def weight(self, material: str) -> Array:
        """Return the weights of one material.

        Parameters
        ----------
        material : str
            Name of the material, one of ``materials``.

        Returns
        -------
        array of uint8 or uint16, (rows, columns)
            Weights, 0 to ``full``.

        Raises
        ------
        ValueError
            If there is no such material.
        """
        if material not in self.materials:
            raise ValueError(f"unknown material `{material}`; the known names are {', '.join(self.materials)}")
        weights: Array = self.weights[..., self.materials.index(material)]
        return weights

    def to_xarray(self) -> xarray.Dataset:
        """Return a Dataset with the terrain's coordinates.

        Returns
        -------
        xarray.Dataset
            The arrays by name, with the dimensions ``y`` and ``x``. In addition, ``weights`` has the dimension
            ``material``, ``albedo`` ``colour``, and ``flow`` ``component``.

        Raises
        ------
        ImportError
            If xarray is not installed.
        """
        try:
            import xarray
        except ImportError as missing:
            raise ImportError("to_xarray() needs xarray; install it with pip install 'thalweg[xarray]'") from missing
        place = ("y", "x")
        maps: dict[str, Any] = {
            "weights": ((*place, "material"), self.weights, {"long_name": "Ground cover.", "full": self.full}),
            "albedo": ((*place, "colour"), self.albedo, {"units": "1", "long_name": "Unlit colour, linear."}),
            "flow": ((*place, "component"), self.flow, {"long_name": "Flow direction, a unit vector, and flow speed in m/s."}),
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


@declared("textures")
def textures(
    source: Any,
    path: str | PathLike[str] | None = None,
    *,
    start: Any = None,
    recipe: Any = None,
    sea_level: float | None = None,
    cell_size: float | None = None,
    nodata: float | None = None,
    **options: Unpack[TexturesOptions],
) -> Textures:
    """{page}

    Parameters
    ----------
    source : path, array, DataArray, Dataset or Terrain
        The terrain: the path of a world's folder or of an elevation model, or heights in memory in metres. Its layers
        of sediment, water and trees are used.
    path : path, optional
        Folder to which the textures are also written as images.
    start : array, DataArray, Dataset or Terrain, optional
        The terrain before erosion, of the same shape, with which the terrain is compared for erosion and deposition.
    recipe : Recipe, or an argument of :class:`Recipe`, optional
        The recipe that specifies the climate, the colours and the rock. By default, that of the folder, otherwise
        the default climate, colours and rock.
    sea_level : float, metres, optional
        Elevation of the sea surface; cells at or below it are sea. It only applies to heights in memory; the recipe of
        a folder specifies its own.
    cell_size : float, metres, optional
        Side of a square cell; required for an array. By default, that of ``source``.
    nodata : float, optional
        Value that marks no-data cells, in addition to NaN.
    {options}

    Returns
    -------
    Textures
        The textures as arrays; :meth:`Textures.to_xarray` converts them to a Dataset.

    Raises
    ------
    ValueError
        If an option is out of range, if ``start`` has another size, or if the folder contains other files.
    OSError
        If a file cannot be read or written.

    Examples
    --------
    >>> cover = tw.textures(world, recipe="hills")
    >>> snow = cover.weight("snow")
    """
    is_path = isinstance(source, (str, PathLike))
    if is_path and (sea_level, cell_size, nodata) != (None, None, None):
        raise ValueError("sea_level, cell_size and nodata only apply to arrays; a file or folder states its own")
    given = fspath(source) if is_path else read_terrain(source, cell_size=cell_size, nodata=nodata, sea_level=sea_level).core
    before = None if start is None else read_terrain(start, what="start", cell_size=cell_size, nodata=nodata).core
    if recipe is not None and not isinstance(recipe, Recipe):
        recipe = Recipe(recipe)
    materials, full, cell, maps, core, warnings = _core.textures(
        given,
        dict(options),
        start=before,
        recipe=None if recipe is None else recipe._core,
        folder=None if path is None else fspath(path),
    )
    for message in warnings:
        warn_caller(message)
    return Textures(materials, full, cell, maps, Terrain._of(core))
