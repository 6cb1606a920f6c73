"""The tree of depressions that `drain --depressions` writes, beside one that is made of the definition alone, with heapq and SciPy's labels.

After Barnes, Callaghan & Wickert (2020), on small grids: as each cell is reached, in the order of heights and then row by row, what lies lower is
labelled anew. Nothing is united and nothing is kept from cell to cell but which sills were met.
"""

import csv
import heapq
import json
import random
import shutil

import numpy as np
import pytest
from helpers import ESRI, long_or, read_band, thalweg
from scipy import ndimage
from test_lake_lines import CELL, NORTH, WEST, ground, save

TOUCH = np.ones((3, 3))
AREA = CELL * CELL


def around(cell, shape):
    near = ((cell[0] + i, cell[1] + j) for i, j in ESRI.values())
    return [at for at in near if 0 <= at[0] < shape[0] and 0 <= at[1] < shape[1]]


def flooded(heights):
    """Priority-flood from all edges and from what lies beside missing data."""
    void = heights == -9999
    rim = ndimage.binary_dilation(void, TOUCH) & ~void
    rim[[0, -1]] |= ~void[[0, -1]]
    rim[:, [0, -1]] |= ~void[:, [0, -1]]
    levels, seen = heights.copy(), rim | void
    queue = [(heights[cell], *cell) for cell in zip(*np.nonzero(rim), strict=True)]
    heapq.heapify(queue)
    while queue:
        level, *cell = heapq.heappop(queue)
        for at in around(cell, heights.shape):
            if not seen[at]:
                seen[at] = True
                levels[at] = max(level, heights[at])
                heapq.heappush(queue, (levels[at], *at))
    return levels


def follow(codes, cell):
    step = ESRI.get(int(codes[cell]))
    return None if step is None else (cell[0] + step[0], cell[1] + step[1])


def sill_of(codes, levels, lakes, cell):
    """The last cell of a level on the way down from a cell, and the lake that water comes to from there."""
    beyond = follow(codes, cell)
    while beyond is not None and levels[beyond] == levels[cell]:
        cell, beyond = beyond, follow(codes, beyond)
    while beyond is not None and lakes[beyond] == 0:
        beyond = follow(codes, beyond)
    return cell, 0 if beyond is None else int(lakes[beyond])


def expected(heights, codes):
    levels = flooded(heights)
    wet = levels > heights
    lakes, count = ndimage.label(wet, TOUCH)
    rows, cols = heights.shape
    index = np.arange(heights.size).reshape(heights.shape)
    order = np.lexsort((index.ravel(), heights.ravel()))
    rank = np.empty(heights.size, int)
    rank[order] = index.ravel()
    rank = rank.reshape(heights.shape)
    sills = np.full(heights.shape, -1)
    table = []

    def row(part, cell, level, lake, parent, into, to_lake):
        inside = part & (heights < level)
        first = order[rank[part].min()]
        met = sills[part].max()
        return {
            "id": 1 + (order[met] if met >= 0 else first), "parent": parent, "lake": lake, "pit": divmod(int(first), cols),
            "pit_m": heights.flat[first], "spill": cell, "spill_m": level, "into": into, "into_lake": to_lake,
            "cells": int(inside.sum()), "volume_m3": float((level - heights[inside]).sum() * AREA),
        }  # fmt: skip

    for lake in range(1, count + 1):
        own = lakes == lake
        for k in order[np.isin(order, index[own])]:
            cell = divmod(int(k), cols)
            parts, _ = ndimage.label(own & (rank < rank[cell]), TOUCH)
            beside = sorted({int(parts[at]) for at in around(cell, heights.shape)} - {0})
            beside = [parts == part for part in beside]
            beside = [part for part in beside if heights[part].min() < heights[cell]]
            if len(beside) > 1:
                beside.sort(key=lambda part: rank[part].min())
                found = [row(part, cell, heights[cell], lake, int(k) + 1, None, lake) for part in beside]
                for n, one in enumerate(found):
                    one["into"] = found[1 if n == 0 else 0]["id"]
                table += found
                sills[cell] = rank[cell]
        level = levels[own].max()
        outs = [sill_of(codes, levels, lakes, tuple(cell)) for cell in np.argwhere(own)]
        sill, to_lake = min(outs, key=lambda out: index[out[0]])
        table.append(row(own, sill, level, lake, 0, 0, to_lake))
    return table


def same(text, table):
    rows = list(csv.DictReader(text.splitlines()))
    assert len(rows) == len(table)
    for found, known in zip(rows, table, strict=True):
        place = lambda cell: (WEST + (cell[1] + 0.5) * CELL, NORTH - (cell[0] + 0.5) * CELL)  # noqa: E731
        assert (float(found["pit_x"]), float(found["pit_y"])) == place(known["pit"]), (found, known)
        assert (float(found["spill_x"]), float(found["spill_y"])) == place(known["spill"]), (found, known)
        for name in ["id", "parent", "lake", "into", "into_lake", "cells"]:
            assert int(found[name]) == known[name], (name, found, known)
        for name in ["pit_m", "spill_m"]:
            # Five digits of what has sixteen binary places.
            assert abs(float(found[name]) - known[name]) < 1e-5
        assert float(found["area_m2"]) == pytest.approx(known["cells"] * AREA, abs=0.051)
        assert float(found["volume_m3"]) == pytest.approx(known["volume_m3"], abs=6e-4)
        assert abs(float(found["depth_m"]) - (known["spill_m"] - known["pit_m"])) < 1e-5


def by_tiles(folder, side):
    thalweg("job", "plan", "a.tif", "-o", "p.json", "--store", f"s{side}.zarr", "--tile", side, "--depressions", "--quiet", cwd=folder)
    for stage in plan_stages(folder):
        for part in [*range(stage[1]), "solve"]:
            thalweg("job", "run", "p.json", stage[0], part, "--quiet", cwd=folder)
    return (folder / f"s{side}.depressions.csv").read_bytes()


def plan_stages(folder):
    plan = json.loads((folder / "p.json").read_text())
    return [(stage["name"], plan["tiles"]) for stage in plan["stages"]]


@pytest.mark.parametrize("kind", ["ties", "rough", "hills"])
def test_the_tree_is_that_of_the_definition(tmp_path, kind):
    for n in range(long_or(3, 40)):
        seed = random.getrandbits(40)
        print(f"seed {seed}")
        rng = np.random.default_rng(seed)
        heights = np.floor(4 * rng.random(rng.integers(8, 34, 2))) if kind == "ties" else ground(rng, kind)[:34, :38]
        heights = np.ascontiguousarray(heights, "float64")
        save(tmp_path / "a.tif", heights)
        thalweg("drain", "a.tif", "-o", f"d{n}", "--depressions", "--quiet", cwd=tmp_path)
        codes = read_band(tmp_path / f"d{n}" / "flow_direction.tif")
        text = (tmp_path / f"d{n}" / "depressions.csv").read_bytes()
        same(text.decode(), expected(heights, codes))
        if n < long_or(1, 10):
            assert by_tiles(tmp_path, 3 + seed % 14) == text
            for left in tmp_path.glob("s*"):
                shutil.rmtree(left) if left.is_dir() else left.unlink()


def test_only_where_it_is_asked_for(tmp_path):
    save(tmp_path / "a.tif", ground(np.random.default_rng(3), "hills"))
    thalweg("drain", "a.tif", "-o", "bare", "--quiet", cwd=tmp_path)
    thalweg("drain", "a.tif", "-o", "bare.zarr", "--quiet", cwd=tmp_path)
    thalweg("drain", "a.tif", "-o", "full.zarr", "--depressions", "--no-outlines", "--quiet", cwd=tmp_path)
    assert not (tmp_path / "bare" / "depressions.csv").exists()
    files = {path.name for path in tmp_path.iterdir()}
    assert {"bare.lakes.geojson", "bare.lakes.csv", "full.lakes.csv", "full.depressions.csv"} <= files
    assert "full.lakes.geojson" not in files and "bare.depressions.csv" not in files
    assert (tmp_path / "bare.lakes.csv").read_bytes() == (tmp_path / "full.lakes.csv").read_bytes()
