"""Recipes and runs: stepped, changed, saved, pickled, stopped."""

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
import types

import numpy as np
import pytest
from helpers import JACKSBORO

import thalweg as tw

SMALL = {
    "name": "small",
    "extent": [4000.0, 4000.0],
    "cells": 64,
    "seed": 2,
    "stage": [
        {"model": "gradient_noise", "label": "base", "amplitude": 300.0},
        {"model": "stream_power", "label": "rivers", "years": 200_000.0, "step": 20_000.0},
    ],
}


def test_recipes_from_dicts_texts_and_files_are_one(tmp_path):
    recipe = tw.Recipe(SMALL)
    assert recipe.stages == [("base", "gradient_noise"), ("rivers", "stream_power")]
    recipe.write(tmp_path / "small.toml")
    assert recipe == tw.Recipe.from_toml(recipe.to_toml()) == tw.Recipe(tmp_path / "small.toml") == tw.Recipe(recipe)
    changed = recipe.with_parameters({"rivers.uplift": 1e-3})
    assert changed.get("rivers.uplift") == 1e-3 and recipe.get("rivers.uplift") == 5e-4 and changed != recipe
    assert recipe.with_parameters({"rivers.uplift": np.float32(0.5), "base.octaves": np.int64(3)}).get("base.octaves") == 3
    assert pickle.loads(pickle.dumps(changed)) == changed and hash(pickle.loads(pickle.dumps(changed))) == hash(changed)
    assert tw.Recipe(SMALL, cells=32, seed=7).seed == 7


def test_recipes_take_the_options_of_build():
    recipe = tw.Recipe(SMALL, cells=32, seed=9, until="base", parameters={"base.amplitude": 200})
    assert recipe.stages == [("base", "gradient_noise")] and recipe.get("base.amplitude") == 200.0
    assert recipe == tw.Recipe(SMALL | {"cells": 32, "seed": 9, "stage": [SMALL["stage"][0] | {"amplitude": 200.0}]})
    built = tw.build(SMALL, cells=32, seed=9, until="base", parameters=types.MappingProxyType({"base.amplitude": 200}), xarray=False)
    assert built.fingerprints() == tw.build(recipe, xarray=False).fingerprints()
    placed = tw.build(recipe, crs="EPSG:32632", origin=(500_000, 5_000_000), xarray=False)
    assert placed.crs == "EPSG:32632" and (placed.transform[0], placed.transform[3]) == (500_000.0, 5_000_000.0)
    assert np.array_equal(placed.height, built.height)


def test_the_unit_of_an_elevation_model_stays_with_its_recipe():
    recipe = tw.Recipe("aged", from_file=JACKSBORO, cells=48, until="rivers", unit="metre")
    other = pickle.loads(pickle.dumps(tw.Recipe(recipe, seed=recipe.seed)))
    assert other._core.unit == "metre" and tw.Recipe("aged")._core.unit is None
    wanted = tw.build("aged", cells=48, until="rivers", xarray=False)
    assert tw.Run(other).finish().fingerprints() == wanted.fingerprints()
    with pytest.raises(ValueError, match="unit only applies to worlds that fit in memory"):
        tw.World(recipe)
    with pytest.raises(ValueError, match="unit = foot: must be one of metre"):
        tw.Recipe("aged", unit="foot")
    with pytest.raises(FileNotFoundError, match="none.tif"):
        tw.Recipe("aged", from_file="none.tif")


def test_recipes_that_cannot_be_say_why():
    for change, words in [
        ({"stage": [{"model": "stream_powr"}]}, "did you mean `stream_power`"),
        ({"stage": [{"model": "stream_power", "yeers": 3}]}, "did you mean `years`"),
        ({"extend": [1.0, 1.0]}, "did you mean `extent`"),
        ({"extent": [1.0, "wide"]}, "extent = "),
    ]:
        with pytest.raises(ValueError, match=words):
            tw.Recipe(SMALL | change)
    with pytest.raises(TypeError, match="a recipe may contain only numbers"):
        tw.Recipe(SMALL | {"about": object()})


def test_presets_are_listed():
    presets = {preset.name: preset for preset in tw.presets()}
    assert {"alpine", "hills", "endless"} <= set(presets) and presets["hills"].extent and presets["hills"].about


def test_a_run_is_stepped_by_hand():
    run = tw.Run(tw.Recipe(SMALL).with_parameters({"rivers.deposition": 0.5}))
    steps = list(run)
    assert [step.label for step in steps] == ["base"] + ["rivers"] * 10
    assert steps[-1].fraction == 1.0 and steps[-1].years == 200_000.0 and run.is_done and run.step() is None
    assert [step.done for step in steps] == list(range(1, 12)) and steps[0].total == 11
    # The mass balance closes to the unit.
    balances = [step.mass_balance for step in steps]
    before = sum(balance["added"] - balance["exported"] + balance["rounded"] for balance in balances)
    assert round(float(run["height"].astype(np.longdouble).sum()) * 65536) == before
    assert run["sediment"].shape == (64, 64) and "sediment" in run.layers
    with pytest.raises(ValueError, match="unknown layer `sedimnet`; did you mean `sediment`"):
        run["sedimnet"]


def test_parameters_are_set_on_the_way():
    run, other = tw.Run(SMALL), tw.Run(SMALL)
    for _ in range(4):
        run.step(), other.step()
    run.set_parameter("rivers.uplift", 5e-3)
    assert run.finish().height.max() > other.finish().height.max() + 50
    assert run.report()["stages"][1]["changes"][0]["to"] == 5e-3
    with pytest.raises(ValueError, match="a stage that has not finished yet"):
        run.set_parameter("rivers.uplift", 1e-3)


def test_ground_is_put_between_steps():
    run = tw.Run(SMALL)
    run.step()
    mound = run["height"]
    mound[20:30, 20:30] += 500.0
    run["height"] = mound
    assert np.array_equal(run["height"], tw.Terrain(mound, 62.5).height)
    assert run.step().label == "rivers"
    with pytest.raises(ValueError):
        run["height"] = mound[:10]
    calls = []
    tw.build(SMALL, xarray=False, between=lambda run: calls.append(run.steps[0]))
    assert calls == list(range(1, 12))


def test_runs_are_pickled_with_the_bits_to_come():
    run = tw.Run(SMALL)
    for _ in range(6):
        run.step()
    other = pickle.loads(pickle.dumps(run))
    assert other.steps == run.steps == (6, 11)
    assert other.finish().fingerprints() == run.finish().fingerprints()
    broken = bytearray(run.__reduce__()[1][0])
    broken[len(broken) // 2] ^= 1
    with pytest.raises(ValueError, match="damaged or truncated"):
        run.__reduce__()[0](bytes(broken))


def reports_of(call):
    """Returns what a call reports to a callable, and checks the last report."""
    reports = []
    call(reports.append)
    assert reports and all(isinstance(report, tw.Progress) and report.label for report in reports)
    assert reports[-1].done == reports[-1].total and reports[-1].fraction == 1.0
    return reports


def test_long_calls_report_their_progress(tmp_path):
    steps = reports_of(lambda progress: tw.build(SMALL, progress=progress, xarray=False))
    assert [step.done for step in steps] == list(range(1, 12)) and isinstance(steps[0], tw.Step)
    dem = np.random.default_rng(1).normal(0, 100, (20, 20))
    recipe = {"stage": [{"model": "stream_power", "years": 100_000.0, "step": 20_000.0}]}
    steps = reports_of(lambda progress: tw.evolve(dem, recipe, save_every=50_000.0, cell_size=10.0, progress=progress))
    assert [step.years for step in steps] == [20_000.0 * k for k in range(1, 6)]
    reports_of(lambda progress: tw.thermal(dem, cell_size=10.0, progress=progress))
    reports_of(lambda progress: tw.Run(SMALL).finish(progress))
    reports_of(lambda progress: tw.export(dem, "bevy", tmp_path / "bevy", cell_size=10.0, progress=progress))
    # Long enough for the core to report while it computes.
    large = np.random.default_rng(2).normal(0, 100, (1500, 1500))
    reports = reports_of(lambda progress: tw.drain(large, cell_size=10.0, progress=progress))
    assert len(reports) > 1 and {report.total for report in reports} == {4}
    world = tw.World(SMALL | {"cells": 256}, tile=64)
    reports_of(lambda progress: world.tile(0, 1000.0, 1000.0, xarray=False, progress=progress))


def test_an_error_of_the_progress_ends_the_call():
    class Stop(Exception):
        pass

    def stop(step):
        raise Stop

    with pytest.raises(Stop):
        tw.build(SMALL, progress=stop, xarray=False)
    with pytest.raises(Stop):
        tw.drain(np.random.default_rng(2).normal(0, 100, (1500, 1500)), cell_size=10.0, progress=stop)


def test_tqdm_or_an_error_that_names_it(capfd):
    try:
        import tqdm  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match=r"thalweg\[progress\]"):
            tw.build(SMALL, progress=True, xarray=False)
    else:
        tw.build(SMALL, progress=True, xarray=False)
        assert "11/11" in capfd.readouterr().err


def test_evolve_keeps_maps_on_the_way(tmp_path):
    dem = tw.gradient_noise(shape=(40, 50), cell_size=60.0, amplitude=300.0)
    recipe = {"stage": [{"model": "stream_power", "years": 200_000.0, "step": 20_000.0}]}
    kept = tw.evolve(dem, recipe, save_every=50_000.0, cell_size=60.0)
    assert kept.time.tolist() == [0.0, 60_000.0, 100_000.0, 160_000.0, 200_000.0]
    assert kept.elevation.shape == (5, 40, 50) and np.array_equal(kept.elevation[0], tw.Terrain(dem, 60.0).height)
    files = tw.evolve(dem, recipe, save_every=50_000.0, cell_size=60.0, folder=tmp_path / "maps")
    assert files.elevation is None and np.array_equal(tw.read(files.files[-1], xarray=False).height, kept.elevation[-1])
    with pytest.raises(ValueError, match="no stage simulates time"):
        tw.evolve(dem, {"stage": [{"model": "planation"}]}, save_every=1.0, cell_size=60.0)
    with pytest.raises(ValueError, match="save_every = 0"):
        tw.evolve(dem, recipe, save_every=0, cell_size=60.0)


STOPPED = """
import threading, _thread, sys, signal, os
import thalweg as tw

recipe = {recipe!r}
recipe["cells"] = 256
recipe["stage"][1]["years"] = 2e7
try:
    print("begun", flush=True)
    tw.build(recipe, xarray=False)
except KeyboardInterrupt as stop:
    run = stop.run
    done, total = run.steps
    assert 0 < done < total, (done, total)
    assert any("stopped after" in note for note in stop.__notes__)
    assert run.step() is not None and run.steps[0] == done + 1
    run.set_parameter("rivers.years", (done + 3) * 20_000.0)
    run.finish()
    print("resumed", flush=True)
"""


def interrupted(text, wait=1.0):
    """What a program says after SIGINT."""
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(text)], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begun\n"
    time.sleep(wait)
    child.send_signal(signal.SIGINT)
    said, _ = child.communicate(timeout=60)
    return child.returncode, said


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
def test_ctrl_c_ends_after_the_step_and_the_run_goes_on():
    assert interrupted(STOPPED.format(recipe=SMALL)) == (0, "resumed\n")


WORLD = """
import thalweg as tw

recipe = {recipe!r}
recipe["cells"] = 256
recipe["stage"][1]["years"] = 2e7
world = tw.World(recipe)
try:
    print("begun", flush=True)
    world.tile(0, 10.0, 10.0, xarray=False)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
def test_ctrl_c_ends_the_solving_of_a_world():
    assert interrupted(WORLD.format(recipe=SMALL)) == (0, "stopped\n")


def test_tiles_of_a_world_agree():
    world = tw.World(SMALL, tile=64)
    tile = world.tile(2, 1000.0, 1000.0, xarray=False)
    assert tile.cell_size == world.cell_size(2) == 62.5 / 4 and tile.shape == (64, 64)
    (top, left), (bottom, right) = world.bounds(2)
    assert (top, left, bottom, right) == (0, 0, 256, 256)
    part = world.window(2, 70, 80, 20, 30, xarray=False)
    whole = world.window(2, 0, 0, 256, 256, xarray=False)
    assert np.array_equal(part.height, whole.height[70:90, 80:110]) and np.array_equal(tile.height, whole.height[64:128, 64:128])
    assert part.y[0] == -(70.5 * 15.625) and part.x[0] == 80.5 * 15.625
    path = world.trace_flow_path(2, 1000.0, 1000.0)
    assert path.end == "rim" and (np.diff(path.points[:, 2]) <= 0).all()
    assert len(world.trace_flow_path(2, 1000.0, 1000.0, max_cells=3).points) == 3
    rivers = world.rivers(2, 0, 0, 256, 256, min_drainage_area=world.cell_size(2) ** 2 * 400)
    assert rivers and all((np.diff(river.vertices[:, 3]) >= 0).all() for river in rivers)
    assert pickle.loads(pickle.dumps(world)).height_at(1, 500.0, 600.0) == world.height_at(1, 500.0, 600.0)
    with pytest.raises(ValueError, match="place = "):
        world.tile(2, -5.0, 10.0)


def test_terrains_are_pickled_whole():
    world = tw.build(SMALL, xarray=False)
    other = pickle.loads(pickle.dumps(world))
    assert other.fingerprints() == world.fingerprints() and other.report == world.report and other.units == world.units
    with pytest.raises(ValueError, match="read-only"):
        world.height[0, 0] = 1.0


def test_evolve_keeps_the_map_without_its_margin(tmp_path):
    stages = [{"model": "gradient_noise", "amplitude": 300.0}, {"model": "stream_power", "years": 100_000.0, "step": 20_000.0}]
    recipe = {"extent": [6000.0, 4800.0], "cells": 50, "margin": 0.1, "stage": stages}
    kept = tw.evolve(None, recipe, save_every=20_000.0)
    maps = kept.elevation.values if hasattr(kept.elevation, "values") else kept.elevation
    assert maps.shape[1:] == (40, 50)
    assert np.array_equal(maps[-1], tw.build(recipe, xarray=False).height)
    files = tw.evolve(None, recipe, save_every=20_000.0, folder=tmp_path / "maps")
    names = sorted(str(path) for path in (tmp_path / "maps").iterdir())
    assert np.array_equal(tw.read(names[-1], xarray=False).height, maps[-1]) and files is not None
