"""Memory stays flat over many calls."""

import subprocess
import sys
from pathlib import Path

import pytest
from helpers import JACKSBORO

#: The growth that is allowed, in MiB. A leak of one map of 100 × 100 cells in each call would be 23 MiB.
ALLOWED = 6

PROGRAM = """
import gc, resource, sys
import numpy as np
import thalweg as tw

tw.set_threads(2)
land = np.random.default_rng(1).normal(300.0, 40.0, (100, 100))
hidden = np.ma.masked_less(land, 250.0)
stood_in = np.where(land < 250.0, -9999.0, land)
path = sys.argv[1]


def resident():
    gc.collect()
    pages = int(open("/proc/self/statm").read().split()[1])
    return pages * resource.getpagesize() / 2**20


def call(k):
    if k % 3 == 0:
        tw.drain(hidden, cell_size=10.0)
        tw.drain(stood_in, cell_size=10.0, nodata=-9999)
    elif k % 3 == 1:
        tw.thermal(land, cell_size=10.0, steps=2)
        tw.flow.accumulate_flow(tw.flow.d8(land))
    else:
        terrain = tw.read(path, xarray=False)
        tw.crop(terrain, window=(0, 0, 100, 100)).height
    for wrong in (np.full((3, 3), 20_000.0), np.full((2, 2), np.nan)):
        try:
            tw.drain(wrong, cell_size=10.0)
        except ValueError:
            pass


for k in range(60):
    call(k)
before = resident()
for k in range(300):
    call(k)
print(resident() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the memory of a process on Linux")
def test_memory_is_flat_over_300_calls():
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(JACKSBORO)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < ALLOWED
