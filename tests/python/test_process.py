"""How the module behaves in a process: panics, threads, forks, the time that it takes to load."""

import concurrent.futures
import multiprocessing
import os
import pathlib
import subprocess
import sys
import threading

import numpy as np
import pytest

import thalweg as tw
from thalweg import _core

SMALL = {
    "name": "small",
    "extent": [4000.0, 4000.0],
    "cells": 64,
    "stage": [{"model": "gradient_noise", "amplitude": 300.0}, {"model": "droplets", "label": "rain", "density": 50.0}],
}


def test_a_panic_is_a_runtime_error(capfd):
    for words in ("the sky falls", "and again"):
        with pytest.raises(RuntimeError, match=rf"because of a bug; please report it: panicked at .*\n{words}"):
            _core._panic(words)
    assert capfd.readouterr() == ("", ""), "nothing is printed"
    assert tw.flow.fill_depressions(np.zeros((5, 5))).shape == (5, 5)


def test_a_panic_in_a_thread_hangs_nothing():
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        all_ = [pool.submit(_core._panic, "ouch") for _ in range(8)] + [pool.submit(tw.flow.fill_depressions, np.zeros((9, 9))) for _ in range(8)]
        failed = [future.exception(timeout=60) for future in all_]
    assert all(isinstance(error, RuntimeError) for error in failed[:8]) and failed[8:] == [None] * 8


def seeded(seed):
    return tw.build(SMALL, seed=seed, xarray=False).fingerprints()["ground"]


def test_worlds_are_built_in_threads():
    alone = [seeded(seed) for seed in range(6)]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        assert list(pool.map(seeded, range(6))) == alone
    assert len(set(alone)) == 6


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_worlds_are_built_after_a_fork():
    alone = [seeded(seed) for seed in range(3)]
    world = tw.World(SMALL, tile=64)
    height = world.height_at(1, 500.0, 500.0)
    global WORLD
    WORLD = world
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
        assert list(pool.map(seeded, range(3), timeout=120)) == alone
        assert pool.submit(asked).result(timeout=120) == height


def asked():
    return WORLD.height_at(1, 500.0, 500.0)


def test_worlds_are_built_in_spawned_processes():
    recipe = tw.Recipe(SMALL).with_parameters({"rain.density": 80.0})
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        far = pool.submit(printed, recipe).result(timeout=120)
    assert far == printed(recipe)


def printed(recipe):
    return tw.build(recipe, xarray=False).fingerprints()


def test_the_interpreter_is_let_go():
    """While a step lasts, other threads of Python run."""
    dem = np.random.default_rng(3).normal(0.0, 100.0, (1500, 1500))
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1

    counter = threading.Thread(target=count)
    counter.start()
    try:
        before = counted[0]
        tw.drain(dem, cell_size=10.0)
        during = counted[0] - before
    finally:
        done.set()
        counter.join()
    assert during > 1000, during


def test_a_run_that_is_stepped_elsewhere_says_so():
    run = tw.Run(SMALL | {"cells": 512, "stage": [SMALL["stage"][0], SMALL["stage"][1] | {"density": 20000.0}]})
    run.step()
    stepping = threading.Thread(target=run.step)
    stepping.start()
    try:
        words = set()
        while stepping.is_alive():
            try:
                run.steps
            except RuntimeError as error:
                words.add(str(error))
    finally:
        stepping.join()
    assert words == {"the run is in use in another thread; wait until it is free, or use one run per thread"}


def test_loading_brings_numpy_and_little_else():
    """What takes time to load is what is loaded: of others NumPy alone, and a handful of the standard library. tests/peers/bench.py has the seconds."""
    program = "import sys, numpy; had = set(sys.modules); import thalweg; print(*sorted(set(sys.modules) - had))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    packages = {name.partition(".")[0] for name in loaded} - {"thalweg", "numpy"}
    assert "thalweg._core" in loaded
    assert packages <= set(sys.stdlib_module_names), packages - set(sys.stdlib_module_names)
    assert len(packages) <= 30, packages


def test_the_module_is_the_built_one():
    assert (pathlib.Path(tw.__file__).parent / "py.typed").is_file() and tw.__version__
