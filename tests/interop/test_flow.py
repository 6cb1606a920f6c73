"""Filled depressions: thalweg against scikit-image and against a priority-flood written here.

    pytest tests/interop/test_flow.py

ELEVATION may name further elevation models, joined by colons.
"""

import heapq
import os
import pathlib

import numpy as np
import pytest
import rasterio
from helpers import JACKSBORO, NEIGHBOURS, run_example
from skimage.morphology import reconstruction

UNITS = 65536
MODELS = [JACKSBORO, *filter(None, os.environ.get("ELEVATION", "").split(":"))]


@pytest.fixture(scope="module", params=MODELS, ids=lambda path: pathlib.Path(path).stem)
def filled(request, tmp_path_factory):
    """Ground and filled surface in units of 1/65 536 m, and where there is no data."""
    output = tmp_path_factory.mktemp("flow") / "filled.tif"
    run_example("INTEROP", "interop", "fill", request.param, output)
    with rasterio.open(request.param) as file:
        # metres, or feet where the model says so, are no matter here: none of the models has feet
        ground, nodata = file.read(1).astype(float), file.read_masks(1) == 0
    with rasterio.open(output) as file:
        surface = file.read(1) * UNITS
        np.testing.assert_array_equal(file.read_masks(1) == 0, nodata)
    units = np.trunc(ground * UNITS + np.copysign(0.5, ground))
    return np.where(nodata, 0, units), np.where(nodata, 0, surface), nodata


def rim(nodata):
    """Where water can leave: the edges, and cells beside missing data."""
    outside = np.pad(nodata, 1, constant_values=True)
    rows, columns = nodata.shape
    beside = np.zeros_like(nodata)
    for i, j in NEIGHBOURS:
        beside |= outside[1 + i:1 + i + rows, 1 + j:1 + j + columns]
    return beside & ~nodata


def test_fill_equals_morphological_reconstruction(filled):
    ground, surface, nodata = filled
    mask = np.where(nodata, ground.min() - 1, ground)
    seed = np.where(rim(nodata) | nodata, mask, ground.max())
    expected = reconstruction(seed, mask, method="erosion", footprint=np.ones((3, 3)))
    assert np.count_nonzero((surface != expected) & ~nodata) == 0
    assert np.count_nonzero((surface != ground) & ~nodata) > 100, "there is something to fill"


def test_fill_equals_priority_flood(filled):
    ground, surface, nodata = filled
    expected = ground.copy()
    seen = nodata | rim(nodata)
    queue = [(ground[cell], cell) for cell in map(tuple, np.argwhere(seen & ~nodata))]
    heapq.heapify(queue)
    rows, columns = ground.shape
    while queue:
        level, (i, j) = heapq.heappop(queue)
        for di, dj in NEIGHBOURS:
            cell = i + di, j + dj
            if 0 <= cell[0] < rows and 0 <= cell[1] < columns and not seen[cell]:
                seen[cell] = True
                expected[cell] = max(level, ground[cell])
                heapq.heappush(queue, (expected[cell], cell))
    assert np.count_nonzero((surface != expected) & ~nodata) == 0
