"""Recipe: the description of a run."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _core
from ._core import Recipe as Core
from ._operations import declared

if TYPE_CHECKING:
    from typing import Unpack

    from ._options import BuildOptions


class Preset(NamedTuple):
    """A recipe that comes with the library; :func:`thalweg.presets` lists them.

    Attributes
    ----------
    name : str
        Name of the recipe, which :func:`thalweg.build` accepts.
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


@declared("build")
class Recipe:
    """A recipe of a world: extent, number of cells, seed, and stages, each of which is a model with its parameters.

    A recipe is immutable; a change returns a new one. The keyword arguments change the recipe that ``source`` gives.

    Parameters
    ----------
    source : str, path, dict or Recipe, default "alpine"
        The name of a preset (:func:`thalweg.presets`), the path of a TOML file (a path object, or a str that ends in
        ``.toml``), a dict with the keys of the TOML file, or another recipe.
    {options}

    Raises
    ------
    ValueError
        If the recipe is not valid, a value is out of range, a stage or a parameter does not exist, or options exclude
        one another.
    OSError
        If a file cannot be read.

    Examples
    --------
    >>> recipe = tw.Recipe("hills", cells=64, parameters={"uplift.uplift": 1e-3})
    >>> recipe.stages
    """

    _core: Core

    def __init__(
        self, source: str | PathLike[str] | Mapping[str, Any] | Recipe = "alpine", **options: Unpack[BuildOptions]
    ) -> None:
        if isinstance(source, Recipe):
            core = source._core
        elif isinstance(source, Mapping):
            core = _core.Recipe.table(dict(source))
        elif isinstance(source, str) and not source.endswith(".toml"):
            core = _core.Recipe.preset(source)
        else:
            core = _core.Recipe.read(fspath(source))
        self._core = core.with_options(dict(options))

    @classmethod
    def _of(cls, core: Core) -> Recipe:
        recipe = cls.__new__(cls)
        recipe._core = core
        return recipe

    @classmethod
    def from_toml(cls, text: str) -> Recipe:
        """Return the recipe that a text in TOML describes.

        Parameters
        ----------
        text : str
            The recipe in TOML, as :meth:`to_toml` returns it. Paths in it are relative to the working directory.

        Raises
        ------
        ValueError
            If the text is not a valid recipe.

        Examples
        --------
        >>> recipe = tw.Recipe.from_toml(tw.Recipe("hills").to_toml())
        """
        return cls._of(_core.Recipe.parse(text))

    def with_parameters(self, values: Mapping[str, Any]) -> Recipe:
        """Return a copy of the recipe with other values of parameters.

        Parameters
        ----------
        values : dict
            Values by ``"label.parameter"``, where ``label`` is the label of a stage of the recipe.

        Returns
        -------
        Recipe
            The changed recipe.

        Raises
        ------
        ValueError
            If a stage or a parameter does not exist, or a value is out of range.

        Examples
        --------
        >>> recipe = tw.Recipe("hills").with_parameters({"uplift.uplift": 1e-3})
        """
        return Recipe(self, parameters=values)

    def get(self, key: str) -> Any:
        """Return the value of a parameter, or the values of all parameters of a stage.

        Parameters
        ----------
        key : str
            The parameter as ``"label.parameter"``, or the label of a stage.

        Returns
        -------
        float, int, bool, str or dict
            The value in the unit of the parameter; for a stage, a dict of values by the names of the parameters.

        Raises
        ------
        ValueError
            If the stage or the parameter does not exist.

        Examples
        --------
        >>> tw.Recipe("hills").get("uplift.years")
        15000000.0
        """
        label, dot, parameter = key.partition(".")
        values = dict(self._core.parameters(label))
        if not dot:
            return values
        if parameter not in values:
            # Raises the error that names the most similar parameter.
            Recipe(self, parameters={key: 0})
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
        """Number of cells on the longer side; 0 if the recipe keeps the cells of its elevation model."""
        return self._core.cells

    @property
    def seed(self) -> int:
        """Seed of the world."""
        return self._core.seed

    @property
    def extent(self) -> tuple[float, float] | None:
        """Extent in metres from west to east and from north to south; None if an elevation model determines it."""
        extent = self._core.extent
        return None if extent is None else (extent[0], extent[1])

    @property
    def sea_level(self) -> float | None:
        """Sea level in metres; None if there is no sea."""
        return self._core.sea_level

    @property
    def stages(self) -> list[tuple[str, str]]:
        """Label and model of each stage, in the order in which they run."""
        return self._core.stages

    def to_toml(self) -> str:
        """Return the recipe in TOML with the values of all parameters; :meth:`from_toml` reads it."""
        return self._core.to_toml()

    def write(self, path: str | PathLike[str]) -> None:
        """Write the recipe to a file in TOML, as :meth:`to_toml` returns it.

        Parameters
        ----------
        path : path
            The file, whose name should end in ``.toml``.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
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
        return (_restored, (core.to_toml(), core.folder, core.own_model, core.unit))


def _restored(text: str, folder: str, own_model: bool, unit: str | None) -> Recipe:
    core = _core.Recipe.parse(text, folder, own_model)
    return Recipe._of(core if unit is None else core.with_options({"unit": unit}))
