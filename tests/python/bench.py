"""Fill, D8 and areas beside other packages, the crossing of arrays in it: `python tests/python/bench.py [SIDE…]`.

All work on the same ground, in one process on two threads, in turns; the least of the rounds counts. RichDEM, pysheds and fastscapelib are measured
where they are installed, from NumPy's array of f64 to NumPy's array of areas. First stands what it takes to load the package, beside NumPy alone.
"""

import contextlib
import os
import subprocess
import sys
import time

import numpy as np

import thalweg as tw

ROUNDS = 5
SLOW = 20.0


def ground(side):
    """Land of eight octaves, with hollows."""
    noise = tw.noise.fractal((side, side), 30.0, wavelength=30.0 * side / 4, seed=5).astype(np.float64)
    return np.round(noise * 600 * 64) / 64


def ours(land):
    filled = tw.flow.fill(land)
    return tw.flow.accumulate(tw.flow.d8(filled, filled=False)) * 900.0


def ours_at_once(land):
    return tw.drain(land, cell_size=30.0).area


def fastscapelib():
    import fastscapelib as fs

    def work(land):
        grid = fs.RasterGrid(land.shape, [30.0, 30.0], fs.NodeStatus.FIXED_VALUE)
        graph = fs.FlowGraph(grid, [fs.PFloodSinkResolver(), fs.SingleFlowRouter()])
        graph.update_routes(land)
        return graph.accumulate(1.0)

    return work


def richdem():
    import warnings

    import richdem as rd

    warnings.simplefilter("ignore")

    def work(land):
        filled = rd.FillDepressions(rd.rdarray(land, no_data=-9999.0, geotransform=[0, 30, 0, 0, 0, -30]), epsilon=True)
        return np.asarray(rd.FlowAccumulation(filled, method="D8"))

    return work


def pysheds():
    if not hasattr(np, "in1d"):
        np.in1d = np.isin
    from affine import Affine
    from pysheds.grid import Grid
    from pysheds.view import Raster, ViewFinder

    def work(land):
        raster = Raster(land, ViewFinder(affine=Affine(30, 0, 0, 0, -30, 0), shape=land.shape, nodata=np.float64(-9999.0)))
        grid = Grid.from_raster(raster)
        flat = grid.resolve_flats(grid.fill_depressions(grid.fill_pits(raster)))
        return np.asarray(grid.accumulation(grid.flowdir(flat, routing="d8"), routing="d8"))

    return work


def loading(module):
    """The least processor's time of ten processes that load it."""
    program = f"import time; t = time.process_time(); import {module}; print(time.process_time() - t)"
    run = lambda: subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    return min(float(run()) for _ in range(10))


def main(sides):
    for module in ("numpy", "thalweg"):
        print(f"import {module:<10} {loading(module):8.3f} s of a processor", flush=True)
    tw.set_threads(2)
    others = {}
    for make in (fastscapelib, richdem, pysheds):
        try:
            others[make.__name__] = make()
        except ImportError as missing:
            print(f"{make.__name__}: not here ({missing})")
    for side in sides:
        land = ground(side)
        works = {"thalweg": ours, "thalweg.drain": ours_at_once, **others}
        least = dict.fromkeys(works, float("inf"))
        for _ in range(ROUNDS):
            for name, work in works.items():
                if SLOW < least[name] < float("inf"):
                    continue
                with silence():
                    start = time.perf_counter()
                    work(land)
                    least[name] = min(least[name], time.perf_counter() - start)
        for name, seconds in least.items():
            print(f"{side}² {name:<14} {seconds:8.3f} s  {seconds / least['thalweg']:6.1f} ×", flush=True)


@contextlib.contextmanager
def silence():
    """RichDEM talks to both ends."""
    sys.stdout.flush()
    kept = [os.dup(1), os.dup(2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1), os.dup2(nowhere, 2)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept[0], 1), os.dup2(kept[1], 2)
        for end in (nowhere, *kept):
            os.close(end)


if __name__ == "__main__":
    main([int(side) for side in sys.argv[1:]] or [1024, 4096])
