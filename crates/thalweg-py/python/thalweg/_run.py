"""Run: the execution of a recipe, step by step.

The loop is in Python, in the caller's code or in :func:`drive`. Python handles signals between two steps, so Ctrl-C
takes effect after the current step.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from os import PathLike, fspath
from typing import Any, NamedTuple

from numpy.typing import NDArray

from . import _core
from ._arrays import Input, as_numbers, warn_caller
from ._inputs import read_terrain
from ._keywords import named
from ._recipe import Recipe
from ._terrain import Terrain

Array = NDArray[Any]


class Step(NamedTuple):
    """The progress of a run after a step."""

    #: Label of the stage.
    label: str
    #: Index of the stage in the recipe; None while the terrain is refined to the next level.
    stage: int | None
    #: The current level, where 0 is the coarsest, and the number of levels.
    level: int
    levels: int
    #: Steps of this stage on this level: steps done, and their total number.
    step: int
    steps: int
    #: Steps of the run: steps done, and their total number.
    done: int
    all: int
    #: Simulated years so far; None before the first stage that simulates time.
    years: float | None
    #: Mass balance of the step by name: solids in units of 1/65 536 m over one cell, water in m³.
    budget: Mapping[str, float]

    @property
    def fraction(self) -> float:
        """Fraction of the run's steps that are done, 0 to 1."""
        return self.done / self.all if self.all else 1.0


Progress = bool | Callable[[Step], object] | None


class Run:
    """The execution of a recipe, one step at a time. Iterating over a run takes its remaining steps.

    Parameters
    ----------
    recipe : Recipe, str, path or dict
        The recipe, or any source that :class:`Recipe` accepts.
    dem : array, DataArray, Dataset or Terrain, optional
        The initial terrain, which replaces the recipe's own start; its cells are kept.
    cell_size : float, metres, optional
        Side of a cell; required for an array, and overrides that of a map.
    nodata : float, optional
        A value besides NaN that means no data.
    sea_level : float, metres, optional
        Elevation of the sea surface; by default that of the recipe.
    edges : str or dict, optional
        ``"open"``, ``"closed"`` or ``"looped"``, for all sides or by side; by default those of the recipe.
    layers : dict of arrays, optional
        Initial layers by name.

    Examples
    --------
    >>> run = tw.Run(tw.Recipe("hills", cells=64))
    >>> for step in run:
    ...     print(step.label, step.fraction)
    """

    @named
    def __init__(
        self,
        recipe: Any,
        dem: Any = None,
        *,
        cell_size: float | None = None,
        nodata: float | None = None,
        sea_level: float | None = None,
        edges: str | Mapping[str, str] | None = None,
        layers: Mapping[str, Any] | None = None,
    ) -> None:
        recipe = Recipe(recipe)
        self._given: Input | None = None
        if dem is not None:
            core = recipe._core
            if sea_level is None:
                sea_level = core.sea_level
            if edges is None and set(core.edges.values()) != {"open"}:
                edges = core.edges
            self._given = read_terrain(dem, cell_size=cell_size, nodata=nodata, sea_level=sea_level, edges=edges, layers=layers)
        self._core = _core.Run(recipe._core, None if self._given is None else self._given.core)
        for message in self._core.warnings:
            warn_caller(message)

    @classmethod
    def _of(cls, core: _core.Run) -> Run:
        run = cls.__new__(cls)
        run._core = core
        run._given = None
        return run

    @classmethod
    def resume(cls, path: str | PathLike[str]) -> Run:
        """Return a run that continues from a checkpoint, which Python or the command has written."""
        return cls._of(_core.Run.resume(fspath(path)))

    def step(self) -> Step | None:
        """Take the next step.

        After an error, the run is in the state before the step.

        Returns
        -------
        Step or None
            The progress after the step; None if all steps are done.
        """
        taken = self._core.step()
        if taken is None:
            return None
        label, stage, (level, levels), (step, steps), (done, all_), years, budget = taken
        return Step(label, stage, level, levels, step, steps, done, all_, years, json.loads(budget))

    def __iter__(self) -> Iterator[Step]:
        while (step := self.step()) is not None:
            yield step

    def finish(self, progress: Progress = None, between: Callable[[Run], object] | None = None) -> Terrain:
        """Take all remaining steps and return the terrain.

        Parameters
        ----------
        progress : bool or callable, optional
            If True, show a tqdm progress bar. A callable is called with each :class:`Step`.
        between : callable, optional
            A function that is called with the run after each step.

        Raises
        ------
        KeyboardInterrupt
            On Ctrl-C, after the current step. The exception's ``run`` can be continued.
        """
        drive(self, progress, between)
        return self.terrain

    def set(self, key: str, value: Any) -> None:
        """Set the parameter ``"label.parameter"`` of a stage that is not done; it takes effect at the next step."""
        label, dot, parameter = key.partition(".")
        if not dot:
            raise ValueError(f"{key!r} is not the name of a parameter; give LABEL.PARAMETER, such as rivers.uplift")
        self._core.set(label, parameter, value)

    def checkpoint(self, path: str | PathLike[str]) -> None:
        """Save the run to a file; :meth:`resume` and ``thalweg resume`` continue it with bit-identical results."""
        self._core.save(fspath(path))

    def __getitem__(self, name: str) -> Array:
        """Return a copy of the current heights (``"height"``) or of a layer, by its name."""
        return self._core.height() if name == "height" else self._core.layer(name)

    def __setitem__(self, name: str, values: Array) -> None:
        """Replace the heights (``"height"``) or a layer; such changes are not part of any mass balance."""
        self._core.put(None if name == "height" else name, as_numbers(values, name))

    @property
    def layers(self) -> list[str]:
        """Names of the current layers."""
        return self._core.layers

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the current level."""
        return self._core.shape

    @property
    def done(self) -> bool:
        """True if all steps are done."""
        return self._core.is_done

    @property
    def steps(self) -> tuple[int, int]:
        """Number of steps done, and total number of steps."""
        done, all_ = self._core.steps
        return done, all_

    @property
    def years(self) -> float | None:
        """Simulated years so far; None before the first stage that simulates time."""
        return self._core.years

    @property
    def recipe(self) -> Recipe:
        """The recipe, including parameters that were set since the start."""
        return Recipe._of(self._core.recipe)

    @property
    def terrain(self) -> Terrain:
        """A copy of the current terrain."""
        return Terrain._of(self._core.terrain(), self.report())

    def report(self) -> dict[str, Any]:
        """Return the report of the run so far.

        Returns
        -------
        dict
            Model, parameters, seconds, steps and mass balance of each stage, and fingerprints of the current terrain.
        """
        report: dict[str, Any] = json.loads(self._core.report())
        return report

    def __repr__(self) -> str:
        done, all_ = self.steps
        return f"<thalweg.Run of {self._core.recipe.name!r}: {done} of {all_} steps>"

    def __reduce__(self) -> Any:
        return (_resumed, (self._core.to_bytes(),))


def _resumed(data: bytes) -> Run:
    return Run._of(_core.Run.from_bytes(data))


def shown(progress: Progress) -> tuple[Callable[[Step], object], Callable[[], object]]:
    """Return the function to call with each step, and the function to call at the end."""
    if not progress:
        return (lambda step: None), (lambda: None)
    if callable(progress):
        return progress, (lambda: None)
    try:
        from tqdm.auto import tqdm
    except ImportError as missing:
        raise ImportError("progress=True needs tqdm; install it with pip install 'thalweg[progress]', or pass a callable") from missing
    bar = tqdm(unit="step")

    def tell(step: Step) -> None:
        bar.total = step.all
        bar.set_description(step.label, refresh=False)
        bar.update(step.done - bar.n)

    return tell, bar.close


def drive(run: Run, progress: Progress = None, between: Callable[[Run], object] | None = None) -> None:
    """Take all remaining steps. A KeyboardInterrupt has the run as its attribute ``run``, which can be continued."""
    tell, close = shown(progress)
    try:
        for step in run:
            if between is not None:
                between(run)
            tell(step)
    except KeyboardInterrupt as stop:
        done, all_ = run.steps
        stop.run = run  # type: ignore[attr-defined]
        stop.add_note(f"thalweg stopped after {done} of {all_} steps; continue with `run.finish()` of this exception")
        raise
    finally:
        close()


