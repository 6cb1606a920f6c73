"""Recipe: what is to be done."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from typing import Any, NamedTuple

from . import _core
from ._core import Recipe as Core
from ._keywords import named


class Preset(NamedTuple):
    """A recipe that comes with the library."""

    name: str
    about: str
    #: Width and height in metres; None where it begins with an elevation model.
    extent: tuple[float, float] | None


class Recipe:
    """A recipe: extent, cells, seed, and stages, each a model with its parameters. It does not change: what changes it gives another.

    Parameters
    ----------
    source : str, path, dict or Recipe
        A preset's name (:func:`thalweg.presets`), a path of a TOML file (a text that ends in ``.toml``, or a path), a dict with the keys of
        the TOML, or a recipe.
    cells : int, optional
        Cells on the long side; more make the same world finer.
    seed : int, optional
        The world's seed.
    from_file : path, optional
        The elevation model to begin with, in a recipe that begins with one.
    until : str, optional
        Label of the last stage that is kept.
    preview : bool
        Only the first levels: the same land, coarser.
    age, rain, relief, size : float, optional
        Factors on time, rain, heights and widths: many parameters are turned at once.
    sea : float, optional, metres
        By how much the sea rises.
    rock : str, optional
        The rock that the land is of (:func:`thalweg.rocks`).
    """

    _core: Core

    @named
    def __init__(
        self,
        source: str | PathLike[str] | Mapping[str, Any] | Recipe = "alpine",
        *,
        cells: int | None = None,
        seed: int | None = None,
        from_file: str | PathLike[str] | None = None,
        until: str | None = None,
        preview: bool = False,
        age: float | None = None,
        rain: float | None = None,
        relief: float | None = None,
        size: float | None = None,
        sea: float | None = None,
        rock: str | None = None,
    ) -> None:
        if isinstance(source, Recipe):
            core = source._core
        elif isinstance(source, Mapping):
            core = _core.Recipe.table(dict(source))
        elif isinstance(source, str) and not source.endswith(".toml"):
            core = _core.Recipe.preset(source)
        else:
            core = _core.Recipe.read(fspath(source))
        self._core = core.with_(
            cells=cells,
            seed=seed,
            from_file=from_file,
            until=until,
            preview=preview,
            age=age,
            rain=rain,
            relief=relief,
            size=size,
            sea=sea,
            rock=rock,
        )

    @classmethod
    def _of(cls, core: Core) -> Recipe:
        recipe = cls.__new__(cls)
        recipe._core = core
        return recipe

    @classmethod
    def from_toml(cls, text: str) -> Recipe:
        """The recipe of a text."""
        return cls._of(_core.Recipe.parse(text))

    def set(self, key: str | Mapping[str, Any], value: Any = None) -> Recipe:
        """The same recipe with a parameter set, as ``"label.parameter"``; a dict sets several."""
        core = self._core
        for name, given in (key if isinstance(key, Mapping) else {key: value}).items():
            label, dot, parameter = name.partition(".")
            if not dot:
                raise ValueError(f"{name!r}: a parameter is named as LABEL.PARAMETER")
            core = core.set(label, parameter, given)
        return Recipe._of(core)

    def get(self, key: str) -> Any:
        """The value of a parameter, as ``"label.parameter"``; of a label alone, all parameters of that stage."""
        label, dot, parameter = key.partition(".")
        values = dict(self._core.parameters(label))
        if not dot:
            return values
        if parameter not in values:
            self._core.set(label, parameter, 0)
        return values[parameter]

    @property
    def name(self) -> str:
        """Its name."""
        return self._core.name

    @property
    def about(self) -> str:
        """A paragraph about the landform."""
        return self._core.about

    @property
    def cells(self) -> int:
        """Cells on the long side; 0 where they are those of the elevation model."""
        return self._core.cells

    @property
    def seed(self) -> int:
        """The world's seed."""
        return self._core.seed

    @property
    def extent(self) -> tuple[float, float] | None:
        """Width and height in metres."""
        extent = self._core.extent
        return None if extent is None else (extent[0], extent[1])

    @property
    def sea_level(self) -> float | None:
        """Sea level in metres, if there is a sea."""
        return self._core.sea_level

    @property
    def stages(self) -> list[tuple[str, str]]:
        """Label and model of each stage."""
        return self._core.stages

    def to_toml(self) -> str:
        """The recipe as TOML, every parameter spelt out; :meth:`from_toml` gives the same recipe."""
        return self._core.to_toml()

    def save(self, path: str | PathLike[str]) -> None:
        """Writes it into a file."""
        self._core.save(fspath(path))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Recipe) and self.to_toml() == other.to_toml()

    def __hash__(self) -> int:
        return hash(self._core.hash())

    def __repr__(self) -> str:
        stages = ", ".join(label for label, _ in self.stages)
        return f"<thalweg.Recipe {self.name!r}, {self.cells} cells, seed {self.seed}: {stages}>"

    def __reduce__(self) -> Any:
        core = self._core
        return (_restored, (core.to_toml(), core.folder, core.own_model))


def _restored(text: str, folder: str, own_model: bool) -> Recipe:
    return Recipe._of(_core.Recipe.parse(text, folder, own_model))


def recipe_of(source: Any, **keywords: Any) -> Recipe:
    """A recipe from whatever names one."""
    return Recipe(source, **keywords)
