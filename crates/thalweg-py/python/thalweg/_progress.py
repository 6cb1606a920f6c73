"""Progress: the reports of long calls, and the bar or the function that receives them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Progress:
    """The progress of a long call: the argument of a function that is passed as ``progress``.

    Attributes
    ----------
    label : str
        Name of the current task; in a run, the label of the current stage.
    done, total : int
        Number of finished steps, and total number of steps. If a call has several phases, such as an export of maps for
        the web or a world of several continents, each phase counts from 0.

    Examples
    --------
    >>> found = tw.drain(dem, progress=lambda report: print(report.label, report.fraction))
    """

    label: str
    done: int
    total: int

    @property
    def fraction(self) -> float:
        """Fraction of the steps that are finished, 0 to 1."""
        return self.done / self.total if self.total else 1.0


@dataclass(frozen=True)
class Step(Progress):
    """The progress of a run after a step.

    Attributes
    ----------
    label : str
        Label of the stage.
    done, total : int
        Number of finished steps of the run, and total number.
    stage : int or None
        Index of the stage in the recipe; None while the terrain is refined to the next level.
    level, levels : int
        The current level, where 0 is the coarsest, and the number of levels.
    step, steps : int
        Number of finished steps of this stage on this level, and total number.
    years : float or None
        Simulated years so far; None before the first stage that simulates time.
    mass_balance : dict of float
        Mass balance of the step, by name. Solids are counted in units of 1/65 536 m over the area of one cell, water in
        m³.
    """

    stage: int | None
    level: int
    levels: int
    step: int
    steps: int
    years: float | None
    mass_balance: Mapping[str, float]


#: The argument ``progress`` of a call, and that of a call that executes a run.
CallProgress = bool | Callable[[Progress], object] | None
RunProgress = bool | Callable[[Step], object] | None


@contextlib.contextmanager
def reporting(progress: CallProgress | RunProgress) -> Iterator[Callable[[Any], object] | None]:
    """Yield the function that receives the reports, or None if none are requested; close the bar at the end."""
    if not progress:
        yield None
    elif callable(progress):
        yield progress
    else:
        try:
            from tqdm.auto import tqdm
        except ImportError as missing:
            raise ImportError("progress=True needs tqdm; install it with pip install 'thalweg[progress]', or pass a callable") from missing
        with tqdm(unit="step") as bar:

            def show(report: Progress) -> None:
                bar.total = report.total
                bar.set_description(report.label, refresh=False)
                bar.update(report.done - bar.n)

            yield show


@contextlib.contextmanager
def core_reporting(progress: CallProgress, label: str) -> Iterator[Callable[[str, int, int], None] | None]:
    """Yield the function to pass to the core, or None if no reports are requested.

    The core leaves out reports that follow one another quickly. The last report, that all steps are finished, is
    therefore sent here; it has the given label if the core has sent none.
    """
    with reporting(progress) as report:
        if report is None:
            yield None
            return
        last = Progress(label, 0, 1)

        def receive(label: str, done: int, total: int) -> None:
            nonlocal last
            last = Progress(label, done, total)
            report(last)

        yield receive
        if last.done < last.total:
            report(Progress(last.label, last.total, last.total))
