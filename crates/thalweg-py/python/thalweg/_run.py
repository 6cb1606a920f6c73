"""Run: the execution of a recipe, step by step.

The loop is in Python, in the caller's code or in :func:`drive`. Python handles signals between two steps, so Ctrl-C
takes effect after the current step.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from os import PathLike, fspath
from typing import Any

from numpy.typing import NDArray

from . import _core
from ._arrays import Input, as_numbers, warn_caller
from ._inputs import read_terrain
from ._keywords import named
from ._progress import RunProgress, Step, reporting
from ._recipe import Recipe, split_key
from ._terrain import Terrain

Array = NDArray[Any]


class Run:
    """The execution of a recipe, step by step. Iterating over a run takes its remaining steps and yields each Step.

    ``run["height"]`` is a copy of the current heights in metres, and ``run[name]`` one of a layer. Assigning to them
    replaces the values; such changes are not part of any mass balance.

    Parameters
    ----------
    recipe : Recipe, str, path or dict
        The recipe, or any source that :class:`Recipe` accepts.
    dem : array, DataArray, Dataset or Terrain, optional
        The initial terrain, which replaces the recipe's own start; its cells are kept.
    cell_size : float, metres, optional
        Side of a square cell; required for an array. By default, that of ``dem``.
    nodata : float, optional
        Value that marks no-data cells, in addition to NaN.
    sea_level : float, metres, optional
        Elevation of the sea surface; cells at or below it are sea. By default, that of the recipe.
    edges : str or dict, optional
        Boundary condition of all sides, or of each side (north, east, south, west): ``"open"``, ``"closed"`` or
        ``"looped"``. By default, that of the recipe.
    layers : dict of arrays, optional
        Initial layers by name, of the shape of ``dem``.

    Raises
    ------
    ValueError
        If the recipe or the terrain is not valid, or a layer that a stage requires is missing.
    MemoryError
        If the run does not fit into memory.

    See Also
    --------
    thalweg.build : Runs a recipe to its end.

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
        """Return a run that continues from a checkpoint.

        Parameters
        ----------
        path : path
            The file that :meth:`checkpoint` or an interrupted ``thalweg build`` has written.

        Returns
        -------
        Run
            The run, in the state in which it was saved.

        Raises
        ------
        ValueError
            If the file is not a checkpoint, or is damaged.
        OSError
            If the file cannot be read.
        """
        return cls._of(_core.Run.resume(fspath(path)))

    def step(self) -> Step | None:
        """Take the next step.

        After an error, the run is in the state before the step.

        Returns
        -------
        Step or None
            The progress after the step; None if all steps had been taken before.
        """
        taken = self._core.step()
        if taken is None:
            return None
        label, stage, (level, levels), (step, steps), (done, total), years, mass_balance = taken
        return Step(
            label=label,
            done=done,
            total=total,
            stage=stage,
            level=level,
            levels=levels,
            step=step,
            steps=steps,
            years=years,
            mass_balance=json.loads(mass_balance),
        )

    def __iter__(self) -> Iterator[Step]:
        while (step := self.step()) is not None:
            yield step

    def finish(self, progress: RunProgress = None, between: Callable[[Run], object] | None = None) -> Terrain:
        """Take all remaining steps and return the terrain.

        Parameters
        ----------
        progress : bool or callable, optional
            If True, show a tqdm progress bar. A callable is called with each :class:`Step`.
        between : callable, optional
            A function that is called with the run after each step and may read and replace heights and layers.

        Returns
        -------
        Terrain
            The terrain at the end, with layers, tables and the report.

        Raises
        ------
        KeyboardInterrupt
            On Ctrl-C, after the current step. The attribute ``run`` of the exception is this run, which can be
            continued.
        """
        drive(self, progress, between)
        return self.terrain

    def set_parameter(self, key: str, value: Any) -> None:
        """Set a parameter of a stage that is not finished; it takes effect at the next step.

        Parameters
        ----------
        key : str
            The parameter as ``"label.parameter"``, where ``label`` is the label of the stage.
        value : float, int, bool or str
            The value in the unit of the parameter.

        Raises
        ------
        ValueError
            If the stage is finished, the stage or the parameter does not exist, or the value is out of range.

        Examples
        --------
        >>> run = tw.Run("hills")
        >>> run.set_parameter("uplift.uplift", 1e-3)
        """
        self._core.set(*split_key(key), value)

    def checkpoint(self, path: str | PathLike[str]) -> None:
        """Save the run to a file, from which :meth:`resume` and ``thalweg resume`` continue it bit-identically.

        Parameters
        ----------
        path : path
            The file.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        self._core.save(fspath(path))

    def __getitem__(self, name: str) -> Array:
        """Return a copy of the current heights in metres (``"height"``), or of a layer by its name."""
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
        """Numbers of rows and columns of the current level."""
        return self._core.shape

    @property
    def is_done(self) -> bool:
        """True if all steps have been taken."""
        return self._core.is_done

    @property
    def steps(self) -> tuple[int, int]:
        """Number of steps that have been taken, and total number of steps."""
        done, total = self._core.steps
        return done, total

    @property
    def years(self) -> float | None:
        """Simulated years so far; None before the first stage that simulates time."""
        return self._core.years

    @property
    def recipe(self) -> Recipe:
        """The recipe, with the parameters that have been set since the start."""
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
            Model, parameters, duration in seconds, number of steps and mass balance of each stage, and fingerprints of
            the current terrain.
        """
        report: dict[str, Any] = json.loads(self._core.report())
        return report

    def __repr__(self) -> str:
        done, total = self.steps
        return f"<thalweg.Run of {self._core.recipe.name!r}: {done} of {total} steps>"

    def __reduce__(self) -> Any:
        return (_resumed, (self._core.to_bytes(),))


def _resumed(data: bytes) -> Run:
    return Run._of(_core.Run.from_bytes(data))


def drive(run: Run, progress: RunProgress = None, between: Callable[[Run], object] | None = None) -> None:
    """Take all remaining steps. A KeyboardInterrupt has the run as its attribute ``run``, which can be continued."""
    try:
        with reporting(progress) as report:
            for step in run:
                if between is not None:
                    between(run)
                if report is not None:
                    report(step)
    except KeyboardInterrupt as stop:
        done, total = run.steps
        stop.run = run  # type: ignore[attr-defined]
        stop.add_note(f"thalweg stopped after {done} of {total} steps; continue with `run.finish()` of this exception")
        raise
