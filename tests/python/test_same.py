"""The same bits as the command: `build`, `apply`, `drain`, `measure`, on any number of threads."""

import json
import os

import numpy as np
import pytest
from helpers import JACKSBORO, fingerprints, thalweg

import thalweg as tw


pytestmark = pytest.mark.skipif("THALWEG" not in os.environ, reason="needs the built command")


def test_build(tmp_path):
    thalweg("build", "hills", "--cells", 64, "--seed", 9, "--set", "uplift.uplift=0.0004", "--relief", 1.5, "--out", "world", cwd=tmp_path)
    options = {"cells": 64, "seed": 9, "relief": 1.5, "parameters": {"uplift.uplift": 4e-4}, "xarray": False}
    world = tw.build("hills", **options)
    assert world.report["fingerprints"] == world.fingerprints() == fingerprints(tmp_path / "world/report.json")
    assert tw.build("hills", **options | {"seed": 10}).fingerprints() != world.fingerprints()
    # Its folder opens with the layers that are shown.
    assert np.array_equal(tw.read(tmp_path / "world", xarray=False).layers["pool"], world.layers["pool"].astype("f4"))


def test_build_begins_with_an_elevation_model(tmp_path):
    thalweg("build", "aged", "--cells", 64, "--out", "world", cwd=tmp_path)
    assert tw.build("aged", cells=64, xarray=False).fingerprints() == fingerprints(tmp_path / "world/report.json")


def test_apply(tmp_path):
    words = ["apply", "droplets", JACKSBORO, "-o", "out.tif", "--type", "f64", "--report", "r.json", "--seed", 5, "--set", "density=60", "--edges", "closed"]
    thalweg(*words, cwd=tmp_path)
    given = {"density": 60, "seed": 5, "edges": "closed", "full": True}
    whole = tw.droplets(tw.read(JACKSBORO, xarray=False), **given)
    assert whole.fingerprints() == fingerprints(tmp_path / "r.json")
    # Another face of the same heights: an array.
    dem = tw.read(JACKSBORO, xarray=False)
    out = tw.droplets(dem.height, cell_size=dem.cell_size, **given | {"full": False})
    assert np.array_equal(out, whole.height) and np.array_equal(out, tw.read(tmp_path / "out.tif", xarray=False).height)


def test_drain(tmp_path):
    thalweg("drain", JACKSBORO, "-o", "out", "--breach", "1e9,1e9", cwd=tmp_path)
    found = tw.drain(tw.read(JACKSBORO, xarray=False), breach=(1e9, 1e9))

    def read(name, **options):
        return tw.read(tmp_path / f"out/{name}.tif", xarray=False, **options).height

    assert np.array_equal(found.filled.astype("f4"), read("filled").astype("f4"))
    assert np.array_equal(found.basin, read("basins"))
    for ours, name in [(found.flow_direction, "flow_direction"), (found.stream_order, "streams")]:
        assert np.array_equal(ours, np.nan_to_num(read(name, height=(0, 255)), nan=0.0)), name
    report = json.loads((tmp_path / "out/drain.json").read_text())
    largest = tw.flow.accumulate_flow(found.flow_direction).max() * 90.0**2
    assert found.drainage_area.max() == report["basins"]["largest_m2"] == largest
    for key in ("lakes", "basins", "streams", "breached", "land_m2", "threshold_m2"):
        assert found.summary[key] == report[key], key


def test_measure(tmp_path):
    told = json.loads(thalweg("measure", JACKSBORO, "--json", cwd=tmp_path))
    found = tw.measure(tw.read(JACKSBORO, xarray=False))
    assert {m["name"]: m["value"] for m in told["measures"]} == {one.name: one.value for one in found.all.values()}
    other = tw.measure(tw.read(JACKSBORO, xarray=False).height * 2.0, cell_size=90.0)
    told = tw.measure(tw.read(JACKSBORO, xarray=False)).compare(other)
    assert told["relief"][1] == pytest.approx(2 * told["relief"][0], rel=1e-6) and all(d >= 0 for *_, d in told.values() if d == d)


def test_threads_do_not_show():
    dem = tw.gradient_noise(shape=(150, 170), cell_size=20.0, amplitude=500.0)
    whole = []
    for count in (1, 2, 5):
        tw.set_threads(count)
        assert tw.threads() == count
        drained = tw.drain(dem, cell_size=20.0, method="mfd")
        whole.append((tw.droplets(dem, cell_size=20.0, density=300.0), drained.drainage_area, drained.basin))
    tw.set_threads()
    assert tw.threads() >= 1
    for other in whole[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(whole[0], other))


def test_the_commands_checkpoint_goes_on_here_and_back(tmp_path):
    run = tw.Run(tw.Recipe("hills", cells=64))
    for _ in range(5):
        run.step()
    run.checkpoint(tmp_path / "hills.checkpoint")
    wanted = run.finish().fingerprints()
    taken = tw.Run.resume(tmp_path / "hills.checkpoint")
    assert taken.steps[0] == 5 and taken.finish().fingerprints() == wanted
