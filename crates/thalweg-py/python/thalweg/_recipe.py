"""Recipe: the description of a run."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from typing import Any, NamedTuple

from . import _core
from ._core import Recipe as Core
from ._keywords import named


class Preset(NamedTuple):
    """A recipe that comes with the library.

    Attributes
    ----------
    name : str
        Name of the recipe.
    about : str
        Description of the landform, in one paragraph.
    extent : (float, float), metres, or None
        Extent from west to east and from north to south; None if the recipe starts from an elevation model.
    """

    name: str
    about: str
    extent: tuple[float, float] | None


def split_key(key: str) -> tuple[str, str]:
    """Split ``"label.parameter"`` into the label of a stage and the name of a parameter."""
    label, dot, parameter = key.partition(".")
    if not dot:
        raise ValueError(f"{key!r} is not the name of a parameter; give LABEL.PARAMETER, such as rivers.uplift")
    return label, parameter


class Recipe:
    """A recipe: extent, number of cells, seed, and stages, each of which is a model with its parameters.

    A recipe is immutable; every change returns a new one.

    Parameters
    ----------
    source : str, path, dict or Recipe, default "alpine"
        The name of a preset (:func:`thalweg.presets`), the path of a TOML file (a path object, or a str that ends in
        ``.toml``), a dict with the keys of the TOML file, or another recipe.
    cells : int, optional
        Number of cells on the longer side. More cells show the same world in finer detail.
    seed : int, optional
        Seed of the world.
    from_file : path, optional
        The initial elevation model, for a recipe that starts from one.
    until : str, optional
        Label of the last stage to keep.
    preview : bool, default False
        If True, keep only the coarse levels: the same terrain at a lower resolution.
    age, rain : float, optional
        Factors on the duration of all processes and on rain, 0.1 to 10. Each changes many parameters at once.
    relief, size : float, optional
        Factors on elevations and on the horizontal extent, 0.25 to 4. Each changes many parameters at once.
    sea : float, metres, optional
        Rise of the sea level; if the recipe has no sea, the sea level itself.
    rock : str, optional
        The rock of the terrain (:func:`thalweg.rocks`).

    Raises
    ------
    ValueError
        If the recipe is not valid, or a value is out of range.
    OSError
        If a file cannot be read.

    Examples
    --------
    >>> recipe = tw.Recipe("hills", cells=64, seed=3)
    >>> recipe.stages
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
        """Return the recipe that a TOML text describes."""
        return cls._of(_core.Recipe.parse(text))

    def with_parameters(self, values: Mapping[str, Any]) -> Recipe:
        """Return the same recipe with other values of parameters.

        Parameters
        ----------
        values : dict
            Values by ``"label.parameter"``, where ``label`` names a stage of the recipe.

        Raises
        ------
        ValueError
            If a stage or a parameter does not exist, or a value is out of range.

        Examples
        --------
        >>> recipe = tw.Recipe("hills").with_parameters({"uplift.uplift": 1e-3})
        """
        core = self._core
        for name, value in values.items():
            core = core.set(*split_key(name), value)
        return Recipe._of(core)

    def get(self, key: str) -> Any:
        """Return the value of the parameter ``"label.parameter"``; for a label, all parameters of that stage.

        Raises
        ------
        ValueError
            If the stage or the parameter does not exist.
        """
        label, dot, parameter = key.partition(".")
        values = dict(self._core.parameters(label))
        if not dot:
            return values
        if parameter not in values:
            # Raises the error that names the most similar parameter.
            self._core.set(label, parameter, 0)
        return values[parameter]

    @property
    def name(self) -> str:
        """Name of the recipe."""
        return self._core.name

    @property
    def about(self) -> str:
        """Description of the landform, in one paragraph."""
        return self._core.about

    @property
    def cells(self) -> int:
        """Number of cells on the longer side; 0 if the cells are those of the elevation model."""
        return self._core.cells

    @property
    def seed(self) -> int:
        """Seed of the world."""
        return self._core.seed

    @property
    def extent(self) -> tuple[float, float] | None:
        """Extent in metres: from west to east, and from north to south; None if an elevation model determines it."""
        extent = self._core.extent
        return None if extent is None else (extent[0], extent[1])

    @property
    def sea_level(self) -> float | None:
        """Sea level in metres; None if there is no sea."""
        return self._core.sea_level

    @property
    def stages(self) -> list[tuple[str, str]]:
        """Label and model of each stage."""
        return self._core.stages

    def to_toml(self) -> str:
        """Return the recipe as TOML with the values of all parameters; :meth:`from_toml` reads it back."""
        return self._core.to_toml()

    def write(self, path: str | PathLike[str]) -> None:
        """Write the recipe to a TOML file."""
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
