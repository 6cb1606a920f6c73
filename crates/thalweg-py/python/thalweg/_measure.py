"""measure: computes the measures of a terrain that geomorphologists use."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _core
from ._inputs import read_terrain
from ._operations import declared

if TYPE_CHECKING:
    from typing import Unpack

    import pandas

    from ._options import MeasureOptions


class Measure(NamedTuple):
    """A measure of a terrain."""

    name: str
    title: str
    #: The value in `unit`; None if it cannot be computed.
    value: float | None
    #: The unit; "1" for pure numbers.
    unit: str
    #: The usual range in nature, in `unit`; None if it is not known.
    usual: tuple[float, float] | None
    #: True if the value is within the usual range; None if either is not known.
    within: bool | None
    #: The reason why there is no value; None if there is one.
    missing: str | None
    #: The usual values in nature and their reasons, in words.
    nature: str
    #: Author and year of the source.
    source: str


class Measures(Mapping[str, float]):
    """Measures by name: ``m["relief"]`` is a number or NaN; ``m.all`` has units, usual ranges and sources."""

    def __init__(self, found: Mapping[str, Any]) -> None:
        keys = Measure._fields
        measures = (Measure(**{key: one[key] for key in keys}) for one in found["measures"])
        #: The measures, in order.
        self.all = {one.name: one._replace(usual=(one.usual[0], one.usual[1]) if one.usual else None) for one in measures}
        #: The curves from which measures are derived, by name: axes, points and fitted law.
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
        """Unit of each measure, by name; "1" for pure numbers."""
        return {name: one.unit for name, one in self.all.items()}

    def compare(self, other: Measures) -> dict[str, tuple[float, float, float]]:
        """Compare each measure with that of another terrain.

        Returns
        -------
        dict
            By name: this value, the other value, and the distance between them. The distance is in widths of the usual
            range or, if that is not known, relative to the value with the greater magnitude.
        """

        def distance(one: Measure, x: float, y: float) -> float:
            scale = one.usual[1] - one.usual[0] if one.usual else max(abs(x), abs(y))
            return abs(x - y) / scale if scale > 0.0 else 0.0 * (x - y)

        return {
            name: (self[name], other[name], distance(one, self[name], other[name])) for name, one in self.all.items() if name in other
        }

    def to_series(self) -> pandas.Series[float]:
        """Return the measures as a pandas Series, with their units in ``attrs``."""
        try:
            import pandas
        except ImportError as missing:
            raise ImportError("to_series() needs pandas; install it with pip install 'thalweg[xarray]'") from missing
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


@declared("measure")
def measure(
    dem: Any,
    *,
    cell_size: float | None = None,
    nodata: float | None = None,
    unit: str | None = None,
    sea_level: float | None = None,
    **options: Unpack[MeasureOptions],
) -> Measures:
    """{page}

    The figures are those of ``thalweg measure``; docs/measure.md explains each.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    cell_size, nodata, unit, sea_level
        Properties of the map. An array needs a cell size.
    {options}

    Returns
    -------
    Measures
        The measures by name.
    """
    given = read_terrain(dem, cell_size=cell_size, nodata=nodata, unit=unit, sea_level=sea_level)
    return Measures(json.loads(_core.measure(given.core, dict(options))))
