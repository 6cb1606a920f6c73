"""Run: a recipe at work. The loop is the caller's, or :func:`drive`'s; between two steps Python sees signals, so Ctrl-C ends after a step."""

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
    """Where a run stands after a step."""

    #: The stage's label.
    label: str
    #: Number of the stage in the recipe; None where the ground is made finer.
    stage: int | None
    #: The level, from 0, the coarsest, and how many there are.
    level: int
    levels: int
    #: Steps of this stage on this level: done, and in all.
    step: int
    steps: int
    #: Steps of the run: done, and in all.
    done: int
    all: int
    #: Simulated years so far; None before the first stage that knows time.
    years: float | None
    #: The step's ledger: solids in units of 1/65 536 m over a cell, water in m³.
    budget: Mapping[str, float]

    @property
    def fraction(self) -> float:
        """Share of the steps that is done, 0 to 1."""
        return self.done / self.all if self.all else 1.0


Progress = bool | Callable[[Step], object] | None


class Run:
    """A recipe at work, stepped by who holds it.

    Parameters
    ----------
    recipe : Recipe, or what :class:`Recipe` takes
        What is to be done.
    dem : array, DataArray, Dataset or Terrain, optional
        The ground to begin with, instead of the recipe's own; its cells are kept. Sea and edges are the recipe's, if not said.
    cell_size : float, metres
        Of an array, and of a map whose own is not to be taken.
    layers : dict of arrays, optional
        Layers that the ground begins with.

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
        """A run taken up from its checkpoint, of Python's making or the command's."""
        return cls._of(_core.Run.resume(fspath(path)))

    def step(self) -> Step | None:
        """Takes the next step; None when all is done. After an error the run stands as before the step."""
        taken = self._core.step()
        if taken is None:
            return None
        label, stage, (level, levels), (step, steps), (done, all_), years, budget = taken
        return Step(label, stage, level, levels, step, steps, done, all_, years, json.loads(budget))

    def __iter__(self) -> Iterator[Step]:
        while (step := self.step()) is not None:
            yield step

    def finish(self, progress: Progress = None, between: Callable[[Run], object] | None = None) -> Terrain:
        """Takes all steps that are left, and gives the terrain."""
        drive(self, progress, between)
        return self.terrain

    def set(self, key: str, value: Any) -> None:
        """Sets a parameter of a stage that is not done, as ``"label.parameter"``: it holds from the next step on."""
        label, dot, parameter = key.partition(".")
        if not dot:
            raise ValueError(f"{key!r}: a parameter is named as LABEL.PARAMETER")
        self._core.set(label, parameter, value)

    def checkpoint(self, path: str | PathLike[str]) -> None:
        """Saves the run into a file; :meth:`resume` and ``thalweg resume`` go on with the same bits."""
        self._core.save(fspath(path))

    def __getitem__(self, name: str) -> Array:
        """Heights (``"height"``) or a layer as they stand, copied."""
        return self._core.height() if name == "height" else self._core.layer(name)

    def __setitem__(self, name: str, values: Array) -> None:
        """Puts heights or a layer in. What is changed by hand stands in no ledger."""
        self._core.put(None if name == "height" else name, as_numbers(values, name))

    @property
    def layers(self) -> list[str]:
        """Names of the layers that there are now."""
        return self._core.layers

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the present level."""
        return self._core.shape

    @property
    def done(self) -> bool:
        """Whether all steps are taken."""
        return self._core.is_done

    @property
    def steps(self) -> tuple[int, int]:
        """Steps taken, and in all."""
        done, all_ = self._core.steps
        return done, all_

    @property
    def years(self) -> float | None:
        """Simulated years so far; None before the first stage that knows time."""
        return self._core.years

    @property
    def recipe(self) -> Recipe:
        """The recipe, with what was set since."""
        return Recipe._of(self._core.recipe)

    @property
    def terrain(self) -> Terrain:
        """The terrain as it stands, copied."""
        return Terrain._of(self._core.terrain(), self.report())

    def report(self) -> dict[str, Any]:
        """What was done: of each stage model, parameters, seconds, steps and ledger; the fingerprints of what there is."""
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
    """What is told of each step, and what is done at the end."""
    if not progress:
        return (lambda step: None), (lambda: None)
    if callable(progress):
        return progress, (lambda: None)
    try:
        from tqdm.auto import tqdm
    except ImportError as missing:
        raise ImportError("progress=True needs tqdm: pip install 'thalweg[progress]'; or give a callable") from missing
    bar = tqdm(unit="step")

    def tell(step: Step) -> None:
        bar.total = step.all
        bar.set_description(step.label, refresh=False)
        bar.update(step.done - bar.n)

    return tell, bar.close


def drive(run: Run, progress: Progress = None, between: Callable[[Run], object] | None = None) -> None:
    """Takes all steps that are left. A KeyboardInterrupt has the run, which goes on where it stands, as its ``run``."""
    tell, close = shown(progress)
    try:
        for step in run:
            if between is not None:
                between(run)
            tell(step)
    except KeyboardInterrupt as stop:
        done, all_ = run.steps
        stop.run = run  # type: ignore[attr-defined]
        stop.add_note(f"thalweg stopped after {done} of {all_} steps; `run` of this exception goes on with .finish()")
        raise
    finally:
        close()


