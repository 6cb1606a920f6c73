"""measure: computes the measures of a terrain that geomorphologists use."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from . import _core
from ._inputs import read_terrain
from ._operations import declared

if TYPE_CHECKING:
    from typing import Unpack

    import pandas

    from ._options import MeasureOptions


@dataclass(frozen=True)
class Measure:
    """A measure of a terrain.

    Attributes
    ----------
    name : str
        Identifier of the measure, for example "hack_exponent".
    title : str
        Name of the measure in words, for example "Hack's exponent h".
    value : float or None
        Value in ``unit``; None if it cannot be computed.
    unit : str
        Unit of the value; "1" for dimensionless numbers.
    usual : (float, float) or None
        Lower and upper limit of the usual range in nature, in ``unit``; None if it is not known.
    within : bool or None
        True if the value is within the usual range; None if the value or the range is not known.
    missing : str or None
        Reason why there is no value; None if there is one.
    nature : str
        Usual values in nature, and the reasons for them.
    source : str
        Author and year of the source of the usual values.
    """

    name: str
    title: str
    value: float | None
    unit: str
    usual: tuple[float, float] | None
    within: bool | None
    missing: str | None
    nature: str
    source: str


def _measure_of(found: Mapping[str, Any]) -> Measure:
    values = {field.name: found[field.name] for field in fields(Measure)}
    usual = values["usual"]
    return Measure(**values | {"usual": None if usual is None else (usual[0], usual[1])})


class Measures(Mapping[str, float]):
    """The measures of a terrain: a mapping from their names to their values, the result of :func:`thalweg.measure`.

    Values that cannot be computed are NaN.

    Attributes
    ----------
    all : dict of Measure
        The measures by name, with units, usual ranges and sources.
    curves : dict of dict
        The curves from which measures are derived, by name. A curve has the entries ``x`` and ``y`` (quantities of the
        axes, with units), ``scale``, ``points`` (pairs of x and y) and ``law`` (the fitted power law, or None).
    cell_size : float, metres
        Side of a cell.

    Examples
    --------
    >>> found = tw.measure(dem)
    >>> found["hypsometric_integral"], found.all["hypsometric_integral"].usual
    """

    def __init__(self, found: Mapping[str, Any]) -> None:
        self.all = {one["name"]: _measure_of(one) for one in found["measures"]}
        self.curves: dict[str, Mapping[str, Any]] = {curve["name"]: curve for curve in found["curves"]}
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
        """Units of the measures, by name; "1" for dimensionless numbers."""
        return {name: one.unit for name, one in self.all.items()}

    def compare(self, other: Measures) -> dict[str, tuple[float, float, float]]:
        """Compare each measure with that of another terrain.

        Parameters
        ----------
        other : Measures
            The measures of the other terrain.

        Returns
        -------
        dict of (float, float, float)
            By name: the value of this terrain, the value of the other, and the distance between them. The distance is
            the absolute difference divided by the width of the usual range; if that is not known, divided by the
            greater of the two magnitudes. It is NaN if a value is NaN.

        Examples
        --------
        >>> distances = tw.measure(before).compare(tw.measure(after))
        """

        def distance(one: Measure, x: float, y: float) -> float:
            scale = one.usual[1] - one.usual[0] if one.usual else max(abs(x), abs(y))
            return abs(x - y) / scale if scale > 0.0 else 0.0 * (x - y)

        return {
            name: (self[name], other[name], distance(one, self[name], other[name])) for name, one in self.all.items() if name in other
        }

    def to_series(self) -> pandas.Series[float]:
        """Return the measures as a pandas Series, with their units in ``attrs["units"]``.

        Returns
        -------
        pandas.Series of float64
            The values by name; NaN if they cannot be computed.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
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

    The page *Measures* of the documentation explains each measure.

    Parameters
    ----------
    dem : array, DataArray, Dataset or Terrain
        Heights in metres.
    cell_size : float, metres, optional
        Side of a square cell; required for an array. By default, that of ``dem``.
    nodata : float, optional
        Value that marks no-data cells, in addition to NaN.
    unit : "metre", optional
        Reads coordinates and heights as metres, even if the map declares another unit. Coordinates in degrees are
        refused in any case; project the map first.
    sea_level : float, metres, optional
        Elevation of the sea surface; cells at or below it are sea. By default, that of ``dem`` if it is a Terrain or a
        Dataset; otherwise there is no sea.
    {options}

    Returns
    -------
    Measures
        The measures, a mapping from their names to their values.

    Raises
    ------
    ValueError
        If a value is out of range.

    Examples
    --------
    >>> found = tw.measure(dem)
    >>> found["relief"], found.units["relief"]
    """
    given = read_terrain(dem, cell_size=cell_size, nodata=nodata, unit=unit, sea_level=sea_level)
    return Measures(json.loads(_core.measure(given.core, dict(options))))
