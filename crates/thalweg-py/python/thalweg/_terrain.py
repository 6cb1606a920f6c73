"""Terrain: heights, layers and tables as NumPy arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._inputs import CoreHolder, read_terrain
from ._pictures import shade, view
from ._place import column_coordinates, row_coordinates, transform_of
from ._write import write

if TYPE_CHECKING:
    import xarray

Array = NDArray[Any]


class Layers(Mapping[str, Array]):
    """Layers by name; a layer is converted to an array when it is first read."""

    def __init__(self, core: _core.Terrain) -> None:
        self._core = core
        self._made: dict[str, Array] = {}

    def __getitem__(self, name: str) -> Array:
        if name not in self._core.layers:
            raise KeyError(name)
        if name not in self._made:
            self._made[name] = _fixed(self._core.layer(name))
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._core.layers)

    def __len__(self) -> int:
        return len(self._core.layers)

    def __repr__(self) -> str:
        return f"<layers {', '.join(self)}>"


def _fixed(array: Array) -> Array:
    array.flags.writeable = False
    return array


class Terrain(CoreHolder):
    """A terrain: heights in metres, layers, tables and georeference.

    A terrain is immutable, and its arrays are read-only; change a copy of them instead.

    Parameters
    ----------
    height : array, (rows, columns), metres
        Heights; rows from north to south, columns from west to east. NaN means no data.
    cell_size : float, metres
        Side of a square cell.
    nodata : float, optional
        Value that marks no-data cells, in addition to NaN.
    sea_level : float, metres, optional
        Elevation of the sea surface; cells at or below it are sea. By default, there is no sea.
    edges : str or dict, optional
        Boundary condition of all sides, or of each side (north, east, south, west): ``"open"`` (water leaves the map),
        ``"closed"`` (it does not) or ``"looped"`` (it continues at the opposite side). By default, open.
    layers : dict of arrays, optional
        Further layers of the same shape, by the names that models use, such as ``"hardness"`` or ``"rain"``.

    Attributes
    ----------
    layers : mapping of arrays, (rows, columns)
        Layers by name. Depths and thicknesses are float64, other quantities float32, and counts and codes uint32.
    report : dict or None
        Report of the run: stages, parameters, mass balances, fingerprints; None if the terrain is not the result of a
        run.

    Raises
    ------
    ValueError
        If a height is not within ±16 000 m, a layer is not known, or shapes differ.

    Examples
    --------
    >>> terrain = tw.Terrain(np.zeros((40, 50)), 30.0, layers={"hardness": np.ones((40, 50))})
    """

    def __init__(
        self,
        height: Array,
        cell_size: float,
        *,
        nodata: float | None = None,
        sea_level: float | None = None,
        edges: str | Mapping[str, str] | None = None,
        layers: Mapping[str, Array] | None = None,
    ) -> None:
        given = read_terrain(height, what="height", cell_size=cell_size, nodata=nodata, sea_level=sea_level, edges=edges, layers=layers)
        self._take(given.core, None)

    def _take(self, core: _core.Terrain, report: Mapping[str, Any] | None) -> None:
        self._core = core
        self._height: Array | None = None
        self.layers = Layers(core)
        self.report = report

    @classmethod
    def _of(cls, core: _core.Terrain, report: Mapping[str, Any] | None = None) -> Terrain:
        terrain = cls.__new__(cls)
        terrain._take(core, report)
        return terrain

    @property
    def height(self) -> Array:
        """Heights in metres, float64, rows from north to south; NaN in no-data cells."""
        if self._height is None:
            self._height = _fixed(self._core.height())
        return self._height

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self._core.shape

    @property
    def cell_size(self) -> float:
        """Side of a cell in metres."""
        return self._core.cell_size

    @property
    def sea_level(self) -> float | None:
        """Sea level in metres; None if there is no sea."""
        return self._core.sea_level

    @property
    def units(self) -> dict[str, str]:
        """Units of the layers, by name; "1" for dimensionless values."""
        return {name: self._core.about(name)[0] for name in self.layers}

    @property
    def tables(self) -> dict[str, dict[str, Array]]:
        """Tables of objects that are not cells, such as trees: by name, the columns of each table by name."""
        tables = self._core.tables()
        return {name: {column: values for column, (_, values) in table.items()} for name, table in tables.items()}

    @property
    def crs(self) -> str | None:
        """Coordinate reference system as ``EPSG:code``; None if it has no code or is not known."""
        epsg = self._core.place[1]
        return None if epsg is None else f"EPSG:{epsg}"

    @property
    def transform(self) -> tuple[float, float, float, float, float, float]:
        """Affine transform in GDAL's order: a cell's north-western corner has x = t0 + column·t1, y = t3 + row·t5."""
        return transform_of(self._core)

    @property
    def x(self) -> Array:
        """Eastings of the cells' centres in metres, from west to east."""
        return column_coordinates(self._core)

    @property
    def y(self) -> Array:
        """Northings of the cells' centres in metres, from north to south."""
        return row_coordinates(self._core)

    def to_xarray(self) -> xarray.Dataset:
        """Return a Dataset of heights and layers, with units, coordinates and coordinate reference system.

        Returns
        -------
        xarray.Dataset
            The variable ``height`` and a variable for each layer, with the dimensions ``y`` and ``x``. A column of a
            table is a variable named ``table.column`` with the dimension ``table``.

        Raises
        ------
        ImportError
            If xarray is not installed.
        """
        try:
            from .xarray import as_dataset
        except ImportError as missing:
            raise ImportError("to_xarray() needs xarray; install it with pip install 'thalweg[xarray]'") from missing
        return as_dataset(self._core, self.report, None)

    def view(self, path: str | PathLike[str] | None = None, **options: Any) -> NDArray[np.uint8]:
        """Draw the terrain in perspective; parameters and result are those of :func:`thalweg.view`."""
        return view(self, path, **options)

    def shade(self, path: str | PathLike[str] | None = None, **options: Any) -> NDArray[np.uint8]:
        """Draw the terrain as a shaded map; parameters and result are those of :func:`thalweg.shade`."""
        return shade(self, path, **options)

    def write(self, path: str | PathLike[str], **options: Any) -> None:
        """Write the heights or a layer to a file; the parameters are those of :func:`thalweg.write`."""
        write(self, path, **options)

    def fingerprints(self) -> dict[str, str]:
        """Return hashes of the elevation and of each layer and table, by name.

        Two terrains with the same values have the same fingerprints. They are those in the reports of the command
        ``thalweg``.
        """
        return self._core.fingerprints()

    def __repr__(self) -> str:
        rows, columns = self.shape
        layers = ", ".join(self.layers) or "none"
        return f"<thalweg.Terrain of {rows} × {columns} cells of {self.cell_size:g} m; layers: {layers}>"

    def __reduce__(self) -> Any:
        core = self._core
        layers = {name: np.asarray(values) for name, values in self.layers.items()}
        parts = (self.height, core.cell_size, core.sea_level, core.edges, core.georeference, layers, core.origin, self.report)
        return (_restored, parts)


def _restored(
    height: Array, cell_size: float, sea_level: float | None, edges: Any, place: Any, layers: Any, origin: Any, report: Any
) -> Terrain:
    core = _core.Terrain(
        height, cell_size, sea_level=sea_level, edges=edges, georeference=place, layers=layers, origin=origin
    )
    return Terrain._of(core, report)


if TYPE_CHECKING:
    Dem = TypeVar("Dem", NDArray[Any], xarray.DataArray, xarray.Dataset, Terrain)
