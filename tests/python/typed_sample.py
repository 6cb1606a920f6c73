"""A program as a user writes it, for mypy's strict mode: it is checked, not run."""

import numpy as np
from numpy.typing import NDArray

import thalweg as tw


def erode(dem: NDArray[np.float64]) -> NDArray[np.float64]:
    return tw.droplets(dem, cell_size=30.0, density=200.0, seed=1, progress=show)


def show(step: tw.Step) -> None:
    print(step.label, step.fraction, step.mass_balance["eroded"])


def ground() -> float:
    made = tw.gradient_noise(shape=(64, 64), cell_size=30.0, amplitude=500.0)
    whole = tw.models.planation(made, cell_size=30.0, full=True)
    return float(whole.height.max())


def drained(dem: NDArray[np.float64]) -> list[float]:
    found = tw.drain(dem, cell_size=30.0, method="dinf")
    return [reach.length for reach in found.reaches]


def filled(dem: NDArray[np.float64]) -> NDArray[np.float64]:
    direction = tw.flow.d8(dem)
    cells = tw.flow.accumulate_flow(direction)
    assert cells.shape == dem.shape
    return tw.flow.fill_depressions(dem, outlets=[(0, 0)])


def built() -> tuple[tw.Recipe, float]:
    recipe = tw.Recipe("hills", cells=64, seed=3, rock="granite", parameters={"uplift.uplift": 1e-3})
    world = tw.build(recipe, age=0.5, until="uplift", xarray=False)
    part = tw.crop(tw.rivers(world, springs=[(10, 12, 0.5)]), window=(0, 0, 32, 32))
    return recipe, float(tw.resample(part, cells=(16, 16)).height.max())


def stepped() -> dict[str, float]:
    recipe = tw.Recipe("hills", cells=64).with_parameters({"uplift.uplift": 1e-3})
    run = tw.Run(recipe)
    for step in run:
        if step.years is not None and step.fraction > 0.5:
            run.checkpoint("half.checkpoint")
    terrain = run.terrain
    measures = tw.measure(terrain)
    return {"relief": measures["relief"], "cell": terrain.cell_size, "years": run.years or 0.0}


def tiles() -> str | None:
    world = tw.World("endless")
    return world.trace_flow_path(2, 1000.0, 1000.0).end
