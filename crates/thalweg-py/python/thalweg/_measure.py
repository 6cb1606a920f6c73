"""measure: what a geomorphologist would print."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _core
from ._inputs import read_terrain
from ._keywords import named

if TYPE_CHECKING:
    import pandas


class Measure(NamedTuple):
    """A measure of a terrain."""

    name: str
    title: str
    #: None where it cannot be had; `missing` says why.
    value: float | None
    unit: str
    #: From and to what is usual in nature.
    usual: tuple[float, float] | None
    within: bool | None
    missing: str | None
    nature: str
    source: str


class Measures(Mapping[str, float]):
    """Measures by name: ``m["relief"]`` is a number, NaN where there is none; ``m.all`` has units, what is usual, sources."""

    def __init__(self, found: Mapping[str, Any]) -> None:
        keys = Measure._fields
        measures = (Measure(**{key: one[key] for key in keys}) for one in found["measures"])
        #: The measures, in order.
        self.all = {one.name: one._replace(usual=(one.usual[0], one.usual[1]) if one.usual else None) for one in measures}
        #: The curves behind them: name, axes, points, law.
        self.curves: dict[str, Mapping[str, Any]] = {curve["name"]: curve for curve in found["curves"]}
        #: Side of a cell in metres.
        self.cell_size: float = found["cell_size_m"]

    def __getitem__(self, name: str) -> float:
        value = self.all[name].value
        return float("nan") if value is None else value

    def __iter__(self) -> Iterator[str]:
        return iter(self.all)

    def __len__(self) -> int:
        return len(self.all)

    @property
    def units(self) -> dict[str, str]:
        """Units by name; "1" of pure numbers."""
        return {name: one.unit for name, one in self.all.items()}

    def compare(self, other: Measures) -> dict[str, tuple[float, float, float]]:
        """This value, the other one, and how far they lie apart: in widths of what is usual; where that is not known, over the greater one."""

        def distance(one: Measure, x: float, y: float) -> float:
            scale = one.usual[1] - one.usual[0] if one.usual else max(abs(x), abs(y))
            return abs(x - y) / scale if scale > 0.0 else 0.0 * (x - y)

        return {
            name: (self[name], other[name], distance(one, self[name], other[name])) for name, one in self.all.items() if name in other
        }

    def to_series(self) -> pandas.Series[float]:
        """A Series of pandas's, its units in ``attrs``."""
        try:
            import pandas
        except ImportError as missing:
            raise ImportError("pandas is needed for this: pip install 'thalweg[xarray]'") from missing
        series = pandas.Series(dict(self), name="value", dtype=float)
        series.attrs["units"] = self.units
        return series

    def __repr__(self) -> str:
        width = max(len(one.title) for one in self.all.values())
        lines = []
        for one in self.all.values():
            usual = f"  usual {one.usual[0]:g} to {one.usual[1]:g}" if one.usual else ""
            value = f"{one.value:.4g}" if one.value is not None else f"none: {one.missing}"
            lines.append(f"{one.title:<{width}}  {value} {one.unit if one.unit != '1' else ''}{usual}".rstrip())
        return "\n".join(lines)


@named
def measure(
    dem: Any,
    *,
    channel_area: float | None = None,
    search: int | None = None,
    flatness: float | None = None,
    cell_size: float | None = None,
    nodata: float | None = None,
    unit: str | None = None,
    sea_level: float | None = None,
) -> Measures:
    """Measures a terrain: slopes, hypsometry, drainage density, concavity, steepness, Hack's and Horton's laws, roughness, traces of the grid.

    The figures are those of ``thalweg measure``; docs/measure.md says what each is.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    channel_area : float, optional, km²
        Catchment from which on a cell is a channel; if not said 0.1 km², but no less than 100 cells.
    search : int, optional, cells
        How far geomorphons look; 20 if not said.
    flatness : float, optional, degrees
        Angle under which geomorphons take ground for level; 1 if not said.
    cell_size, nodata, unit, sea_level
        Of the map.
    """
    given = read_terrain(dem, cell_size=cell_size, nodata=nodata, unit=unit, sea_level=sea_level)
    return Measures(json.loads(_core.measure(given.core, channel_area=channel_area, search=search, flatness=flatness)))
