"""Every model of the library as a function.

``thalweg.models.volcano(shape=(256, 256), cell_size=30.0)`` creates terrain, ``thalweg.models.droplets(dem)`` changes
it, and ``thalweg.models.drainage(dem)`` computes layers of it. The functions and their docstrings are made from the
library's declarations when this module is imported.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from . import _core
from ._arrays import NUMPY, Input
from ._inputs import read_terrain
from ._results import wrap_heights, wrap_terrain
from ._run import Run, drive

#: Parameters of every function besides those of its model: default, type and description.
COMMON: dict[str, tuple[Any, str, str]] = {
    "cell_size": (None, "float, metres", "Side of a cell; required for an array."),
    "nodata": (None, "float", "A value besides NaN that means no data."),
    "unit": (None, '"metre"', "Treat coordinates as metres, even if the map declares another unit; degrees are refused in any case."),
    "sea_level": (None, "float, metres", "Elevation of the sea surface."),
    "edges": ("open", '"open", "closed", "looped", or a dict of sides', "Boundary conditions of the four sides of the map."),
    "layers": (None, "dict of arrays", "Layers that the model requires or uses, by name."),
    "seed": (1, "int", "Seed of the random numbers."),
    "progress": (None, "bool or callable", "If True, show a tqdm progress bar. A callable is called with each Step."),
    "full": (False, "bool", "If True, return all results of the run: heights, layers, tables, report."),
}

#: A further parameter of the functions of base models, which create terrain.
SHAPE = (None, "(rows, columns)", "Size in cells of the terrain to create, if no dem is passed.")

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
    lines = [page["summary"], ""]
    lines += [line.removeprefix(" ").rstrip() for line in page["page"].splitlines()]
    lines += ["", f"Source: {page['source'].rstrip('.')}.", "", "Parameters", "----------"]
    lines += ["dem : array, DataArray, Dataset or Terrain", "    Heights in metres, rows from north to south."]
    for one in page["parameters"]:
        unit = "" if one["unit"] == "1" else f" {one['unit']}"
        lines.append(f"{one['name']} : {one['kind']}, default {one['default']}{unit}; {one['allowed']}")
        lines.append(f"    {one['meaning']} [{one['source'].rstrip('.')}]")
        lines += [f"    {word}: {meaning}" for word, meaning in one["words"]]
    for name, what in _common(page).items():
        default, kind, meaning = (COMMON | {"shape": SHAPE})[what]
        lines += [f"{name} : {kind}, default {default}", f"    {meaning}"]
    lines += ["", "Returns", "-------"]
    if page["family"] == "analysis":
        lines.append(
            "Dataset or Terrain\n    A Dataset for a DataArray or a Dataset, otherwise a Terrain,"
            "\n    with the unchanged heights and the layers that the model writes."
        )
    else:
        lines.append(
            "array, DataArray, Dataset or Terrain\n    Heights, in the type of dem; with full=True, all results."
        )
    for head, specs in (("Needs", page["needs"]), ("Uses", page["uses"]), ("Writes", page["writes"])):
        if specs:
            lines += ["", head, "-" * len(head)]
            lines += [f"{name} [{unit}]: {meaning}" for name, unit, meaning in specs]
    return "\n".join(lines)


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
