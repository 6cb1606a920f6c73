"""Every model of the library as a function.

Base models create terrain, erosion models change it, and analysis models compute layers of it. The unit ``a`` is a
year. A parameter without a source has a default that was chosen for the library.

Examples
--------
>>> cone = tw.models.volcano(shape=(256, 256), cell_size=30.0)
>>> eroded = tw.models.droplets(cone, cell_size=30.0, density=100.0)
>>> layers = tw.models.drainage(eroded, cell_size=30.0).layers
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from . import _core
from ._arrays import NUMPY, Input
from ._inputs import read_terrain
from ._operations import cite, entry, shorten_range
from ._results import wrap_heights, wrap_terrain
from ._run import Run, drive

#: Parameters of every function besides those of its model: default, type and description.
COMMON: dict[str, tuple[Any, str, str]] = {
    "cell_size": (None, "float, metres", "Side of a square cell; required for an array. By default, that of ``dem``."),
    "nodata": (None, "float", "Value that marks no-data cells, in addition to NaN."),
    "unit": (
        None,
        '"metre"',
        "Reads coordinates and heights as metres, even if the map declares another unit. Coordinates in degrees are "
        "refused in any case; project the map first.",
    ),
    "sea_level": (
        None,
        "float, metres",
        "Elevation of the sea surface; cells at or below it are sea. By default, that of ``dem`` if it is a Terrain or "
        "a Dataset; otherwise there is no sea.",
    ),
    "edges": (
        "open",
        '{"open", "closed", "looped"} or dict',
        "Boundary condition of all sides, or of each side (north, east, south, west). With the default, a Terrain keeps "
        "its own.",
    ),
    "layers": (None, "dict of arrays", "Layers that the model requires or uses, by name; see Notes."),
    "seed": (1, "int", "Seed of the random numbers, 0 or more."),
    "progress": (
        None,
        "bool or callable",
        "If True, show a tqdm progress bar. A callable is called with each :class:`thalweg.Step`.",
    ),
    "full": (False, "bool", "If True, return all results of the run: heights, layers, tables and report."),
}

#: A further parameter of the functions of base models, which create terrain.
SHAPE = (None, "(rows, columns)", "Numbers of rows and columns of the terrain to create, if no ``dem`` is passed.")

__all__: list[str] = []


def _common(page: _core._Page) -> dict[str, str]:
    """Return the entries of ``COMMON`` that a function takes, by the names of its keywords.

    If the model has a parameter of the same name, the common one gets the prefix ``world_``.
    """
    own = {parameter["name"] for parameter in page["parameters"]}
    names = [name for name in COMMON if name != "full" or page["family"] != "analysis"]
    shape = {"shape": "shape"} if page["family"] == "base" else {}
    return shape | {f"world_{name}" if name in own else name: name for name in names}


def _parameters(page: _core._Page) -> dict[str, Any]:
    """Return the names and defaults of a function's keywords, in their order."""
    common = {name: (COMMON | {"shape": SHAPE})[what][0] for name, what in _common(page).items()}
    return {parameter["name"]: parameter["default"] for parameter in page["parameters"]} | common


def _signature(page: _core._Page) -> inspect.Signature:
    types = {"float": float, "int": int, "bool": bool, "str": str}
    kinds = {parameter["name"]: types[parameter["kind"]] for parameter in page["parameters"]}
    default = None if page["family"] == "base" else inspect.Parameter.empty
    dem = inspect.Parameter("dem", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)
    keywords = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kinds.get(name, inspect.Parameter.empty))
        for name, default in _parameters(page).items()
    ]
    return inspect.Signature([dem, *keywords])


def _page(page: _core._Page) -> str:
    """Return the docstring of a function."""
    text = "\n".join(line.removeprefix(" ").rstrip() for line in page["page"].splitlines())
    first, _, notes = text.strip().partition("\n\n")
    lines = [page["summary"], "", first, *_heading("Parameters")]
    kinds = "Terrain or None, optional" if page["family"] == "base" else "Terrain"
    heights = "Heights in metres; rows of an array run from north to south."
    lines += entry(f"dem : array, DataArray, Dataset or {kinds}", heights)
    for one in page["parameters"]:
        source = cite(one["source"])
        meaning = f"{one['meaning']} Source: {source}." if source else one["meaning"]
        lines += entry(f"{one['name']} : {_kind(one)}, default {one['default']!r}", meaning, one["words"])
    for name, what in _common(page).items():
        default, kind, meaning = (COMMON | {"shape": SHAPE})[what]
        lines += entry(f"{name} : {kind}, " + ("optional" if default is None else f"default {default!r}"), meaning)
    lines += _heading("Returns")
    if page["family"] == "analysis":
        result = (
            "A Dataset for a DataArray or a Dataset, otherwise a Terrain: the unchanged heights and the layers that the "
            "model writes."
        )
        lines += entry("xarray.Dataset or Terrain", result)
    else:
        result = (
            "Heights in metres, of the type of ``dem``; a Terrain or a Dataset also contains the layers. With "
            "``full=True``, a Dataset for a DataArray or a Dataset, otherwise a Terrain, with all results."
        )
        lines += entry("array, DataArray, Dataset or Terrain", result)
    lines += _heading("Raises")
    lines += entry("ValueError", "If a value is out of range, or a layer is missing or not valid.")
    lines += entry("TypeError", "If a keyword argument is not known, or no terrain is given.")
    lines += entry("MemoryError", "If the run does not fit into memory.")
    stopped = "On Ctrl-C, after the current step. The attribute ``run`` of the exception is the Run, which can continue."
    lines += entry("KeyboardInterrupt", stopped)
    lines += [*_heading("Notes"), notes] if notes else _heading("Notes")
    for head, specs in (("requires", page["needs"]), ("uses if they exist", page["uses"]), ("writes", page["writes"])):
        if specs:
            lines += ["", f"Layers that the model {head}:", ""]
            lines += [f"- ``{name}`` [{unit}]: {meaning}" for name, unit, meaning in specs]
    if source := cite(page["source"]):
        lines += [*_heading("References"), f"{source}."]
    return "\n".join([*lines, *_heading("Examples"), _example(page)])


def _heading(title: str) -> list[str]:
    return ["", title, "-" * len(title)]


def _kind(parameter: _core._Parameter) -> str:
    """Return the type of a parameter, with its range and unit."""
    if parameter["words"]:
        words = ", ".join(f'"{word}"' for word, _ in parameter["words"])
        return f"{{{words}}}"
    if parameter["kind"] == "bool":
        return "bool"
    unit = "" if parameter["unit"] == "1" else f" {parameter['unit']}"
    return f"{parameter['kind']}, {shorten_range(parameter['allowed'])}{unit}"


def _example(page: _core._Page) -> str:
    name, layers = page["name"], ", ".join(f'"{name}": {name}' for name, _, _ in page["needs"])
    if layers:
        return f">>> heights = tw.models.{name}(dem, layers={{{layers}}})"
    if page["family"] == "base":
        return f">>> heights = tw.models.{name}(shape=(256, 256), cell_size=30.0)"
    return f">>> {'layers' if page['family'] == 'analysis' else 'heights'} = tw.models.{name}(dem)"


def _function(page: _core._Page) -> Callable[..., Any]:
    name, family = page["name"], page["family"]
    own = {parameter["name"] for parameter in page["parameters"]}
    common = _common(page)
    known = ["dem", *_parameters(page)]

    def model(dem: Any = None, **keywords: Any) -> Any:
        for keyword in keywords:
            if keyword not in known:
                raise _core.unknown_keyword(name, keyword, known)
        parameters = {keyword: value for keyword, value in keywords.items() if keyword in own}
        others = {common[keyword]: value for keyword, value in keywords.items() if keyword not in own}
        return _apply(name, family, dem, parameters, **others)

    model.__name__ = model.__qualname__ = name
    model.__doc__ = _page(page)
    model.__signature__ = _signature(page)  # type: ignore[attr-defined]
    return model


def _apply(
    name: str,
    family: str,
    dem: Any,
    parameters: Mapping[str, Any],
    *,
    shape: tuple[int, int] | None = None,
    cell_size: float | None = None,
    nodata: float | None = None,
    unit: str | None = None,
    sea_level: float | None = None,
    edges: Any = "open",
    layers: Mapping[str, Any] | None = None,
    seed: int = 1,
    progress: Any = None,
    full: bool = False,
) -> Any:
    recipe = _core.Recipe.single(name, dict(parameters), seed, sea_level, edges)
    if dem is None:
        given = _flat(name, family, shape, cell_size, sea_level, edges)
    elif shape is not None:
        raise TypeError(f"{name}() accepts either dem or shape, not both")
    else:
        given = read_terrain(
            dem, cell_size=cell_size, nodata=nodata, unit=unit, sea_level=sea_level, edges=edges if edges != "open" else None, layers=layers
        )
    run = Run._of(_core.Run(recipe, given.core))
    drive(run, progress)
    terrain = run._core.terrain()
    if full or family == "analysis":
        return wrap_terrain(terrain, given, run.report())
    return wrap_heights(terrain, given)


def _flat(name: str, family: str, shape: Any, cell_size: float | None, sea_level: float | None, edges: Any) -> Input:
    if family != "base" or shape is None:
        hint = ", or shape (rows, columns) and cell_size" if family == "base" else ""
        raise TypeError(f"{name}() needs dem, an elevation model{hint}")
    if cell_size is None:
        raise ValueError(f"{name}() needs cell_size, the side of a cell in metres")
    rows, columns = shape
    core = _core.Terrain.flat(int(rows), int(columns), cell_size, sea_level=sea_level, edges=edges)
    return Input(core, NUMPY, False)


for _declared in _core.models():
    _made = _function(_declared)
    _made.__module__ = __name__
    globals()[_made.__name__] = _made
    __all__.append(_made.__name__)
