"""The ledger and the lakes, from the files alone: sums and balances worked out here from their definitions.

    pytest tests/interop/test_water.py

With THALWEG_LONG set, more craters and bowls, and wider ones.
"""

import heapq
import json
import os
import subprocess

import numpy as np
import pytest
import rasterio

UNITS = 65536
LONG = "THALWEG_LONG" in os.environ
STEPS = [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)]


def thalweg(*words):
    done = subprocess.run([os.environ["THALWEG"], *map(str, words)], capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr


def read(path):
    with rasterio.open(path) as file:
        return file.read(1).astype(float)


def settings(values):
    return [word for name, value in values.items() for word in ("--set", f"{name}={value}")]


def budgets(report):
    return [stage["budget"] for stage in json.loads(report.read_text())["stages"]]


# The ledger.

MODELS = {
    "hydrology": {"drops": 0.5},
    "droplets": {},
    "thermal": {},
    "hillslope": {},
    "stream_power": {"years": 200000},
    "fluvial": {},
    "dunes": {"years": 2},
}


@pytest.mark.parametrize("edges", ["open", "closed"])
@pytest.mark.parametrize("model", MODELS)
def test_ground_after_is_ground_before_and_the_ledger(tmp_path, model, edges):
    before, after, report = tmp_path / "before.tif", tmp_path / "after.tif", tmp_path / "report.json"
    thalweg("generate", "gradient_noise", "-o", before, "--cells", "72x56", "--cell-size", 20, "--seed", 3, "--type", "f64",
            "--set", "amplitude=300", "--set", "wavelength=500")
    thalweg("apply", model, before, "-o", after, "--type", "f64", "--edges", edges, "--report", report, "--quiet",
            *settings(MODELS[model]))
    # 64-bit floats hold units of 1/65 536 m exactly.
    change = int((read(after) * UNITS).astype(np.int64).sum() - (read(before) * UNITS).astype(np.int64).sum())
    [budget] = budgets(report)
    assert change == budget["added"] + budget["rounded"] - budget["exported"]
    if budget["added"] == 0:
        assert change == budget["deposited"] - budget["eroded"] + budget["rounded"]


@pytest.mark.parametrize("seed", range(1, 13 if LONG else 4))
@pytest.mark.parametrize("preset, cells", [("rivers", 64), ("forest", 64), ("lakes", 64)])
def test_ground_of_presets_is_as_the_ledger_says(tmp_path, preset, cells, seed):
    folder = tmp_path / "world"
    thalweg("build", preset, "--cells", cells, "--seed", seed, "--out", folder, "--quiet")
    ground = read(folder / "height.tif").astype(np.float32)
    stages = budgets(folder / "report.json")
    said = sum(stage["added"] + stage["rounded"] - stage["exported"] for stage in stages)
    # A world begins as flat ground at 0. A 32-bit float is off by half its spacing at most.
    bound = np.spacing(np.abs(ground)).astype(float).sum() / 2 * UNITS
    assert abs(ground.astype(float).sum() * UNITS - said) <= bound
    for stage in stages:
        if stage["added"] == 0:
            assert stage["eroded"] == stage["deposited"] + stage["exported"], "what was dug was laid or carried out"


# Lakes.


def flood(ground, seeds):
    """The ground with its hollows full, the cell from which the flood reached each, and the order of that."""
    rows, cols = ground.shape
    flat, filled = ground.ravel(), ground.ravel().copy()
    parent = np.full(flat.size, -2)
    parent[seeds] = -1
    heap = [(flat[k], int(k)) for k in seeds]
    heapq.heapify(heap)
    order = []
    while heap:
        level, k = heapq.heappop(heap)
        order.append(k)
        i, j = divmod(k, cols)
        for di, dj in STEPS:
            if 0 <= i + di < rows and 0 <= j + dj < cols and parent[n := (i + di) * cols + j + dj] == -2:
                parent[n] = k
                filled[n] = max(flat[n], level)
                heapq.heappush(heap, (filled[n], n))
    return filled.reshape(ground.shape), parent, order


def downhill(filled, parent):
    """Where water goes from each cell: to the steepest lower of eight, over flats as the flood came."""
    rows, cols = filled.shape
    best, to = np.zeros_like(filled), parent.reshape(filled.shape).copy()
    wide = np.pad(filled, 1, constant_values=np.inf)
    cells = np.arange(filled.size).reshape(filled.shape)
    for di, dj in STEPS:
        fall = (filled - wide[1 + di:1 + di + rows, 1 + dj:1 + dj + cols]) / np.hypot(di, dj)
        steeper = (fall > best) & (parent.reshape(filled.shape) >= 0)
        best[steeper] = fall[steeper]
        to[steeper] = (cells + di * cols + dj)[steeper]
    return to.ravel()


def basin(ground, pit, closed):
    """Whose water comes to the hollow about a pit, and the level at which that runs over."""
    if closed:
        return np.ones(ground.shape, bool), np.inf
    rows, cols = ground.shape
    edge = np.ones(ground.shape, bool)
    edge[1:-1, 1:-1] = False
    filled, parent, order = flood(ground, np.flatnonzero(edge))
    to, spill = downhill(filled, parent), filled[pit]
    into = np.zeros(ground.size, bool)
    stack = [pit[0] * cols + pit[1]]
    into[stack] = True
    while stack:
        i, j = divmod(stack.pop(), cols)
        for di, dj in STEPS:
            if 0 <= i + di < rows and 0 <= j + dj < cols:
                n = (i + di) * cols + j + dj
                if not into[n] and ground.ravel()[n] < spill:
                    into[n] = True
                    stack.append(n)
    for k in order:
        if to[k] >= 0 and into[to[k]]:
            into[k] = True
    return into.reshape(ground.shape), spill


def arriving(ground, lake, lost):
    """Share of the water of each cell that comes to the lake, where `lost` of it evaporates on √2 cells."""
    filled, parent, order = flood(ground, np.flatnonzero(lake))
    to, share, cols = downhill(filled, parent), np.ones(ground.size), ground.shape[1]
    for k in order:
        if to[k] >= 0:
            across = to[k] % cols != k % cols and to[k] // cols != k // cols
            share[k] = share[to[k]] * (1 - lost * (1 if across else np.sqrt(0.5)))
    return share.reshape(ground.shape)


def level_due(heights, spill, inflow, evaporation, years, steps=4000):
    """Level after some years of dV/dt = inflow − evaporation·A(V) from dry ground on, in metres and cells, to the spill at most."""
    heights = np.sort(heights[heights < spill])
    sums = np.concatenate([[0], np.cumsum(heights)])
    # Volumes at which the water stands at each cell's height.
    volumes = np.arange(heights.size) * heights - sums[:-1]
    most = np.inf if np.isinf(spill) else spill * heights.size - sums[-1]
    volume = 0.0
    for _ in range(steps):
        wet = np.searchsorted(volumes, volume, side="right") if volume > 0 else 0
        volume = min(max(volume + (inflow - evaporation * wet) * years / steps, 0.0), most)
    wet = max(np.searchsorted(volumes, volume, side="right"), 1)
    return (volume + sums[wet]) / wet


CLIMATES = [
    {"years": 20},
    {"years": 100, "lake_evaporation": 2, "evaporation": 0},
    {"years": 300, "rain": 0.4, "lake_evaporation": 1.2},
    {"years": 60, "evaporation": 0, "lake_evaporation": 0},
]
CRATER = {"kind": "crater", "height": 60, "depth": 120}
FLAT = {"kind": "crater", "height": 60, "depth": 60}
DEEP = {"kind": "crater"}
BOWL = {"kind": "dome", "height": -70}
CASES = [
    # shape, cells, metres, edges, number of the climate, drops
    (CRATER, 64, 20, "open", 0, 0.25),
    (CRATER, 64, 20, "open", 1, 4),
    (FLAT, 96, 20, "open", 0, 0.25),
    (FLAT, 64, 20, "open", 1, 1),
    (DEEP, 96, 20, "open", 0, 1),
    (BOWL, 96, 20, "closed", 1, 0.25),
    (BOWL, 64, 30, "open", 2, 2),
    (CRATER, 96, 30, "open", 3, 0.5),
]
if LONG:
    CASES += [(shape, cells, 20, "open", climate, drops)
              for shape, cells in ((FLAT, 128), (BOWL, 256), (DEEP, 192)) for climate in range(4) for drops in (0.25, 1, 4)]
    CASES += [(shape, 512, 15, "open", 0, drops) for shape in (CRATER, BOWL) for drops in (0.25, 1)]


@pytest.mark.parametrize("shape, cells, cell, edges, climate, drops", CASES)
def test_a_lake_stands_where_what_comes_is_what_goes(tmp_path, shape, cells, cell, edges, climate, drops):
    climate = CLIMATES[climate]
    before, after, report = tmp_path / "before.tif", tmp_path / "after.tif", tmp_path / "report.json"
    thalweg("generate", "shape", "-o", before, "--cells", cells, "--cell-size", cell, "--type", "f64", *settings(shape))
    thalweg("apply", "hydrology", before, "-o", after, "--type", "f64", "--edges", edges, "--layers", tmp_path, "--report", report,
            "--quiet", *settings(climate | {"drops": drops}))
    ground, depth = read(after), read(tmp_path / "pool.tif")
    middle = np.zeros(ground.shape, bool)
    middle[cells // 4:-cells // 4, cells // 4:-cells // 4] = True
    pit = np.unravel_index(np.where(middle, ground, np.inf).argmin(), ground.shape)
    into, spill = basin(ground, pit, edges == "closed")
    lake = into & (depth > 0)
    assert lake[pit], "its deepest place is under water"
    # Ponds on its shore may have levels of their own: the lake is what most of its cells say. Depths are 32-bit floats.
    levels, counts = np.unique(np.round((ground + depth)[lake], 3), return_counts=True)
    level = levels[counts.argmax()]
    shares = arriving(ground, lake, climate.get("evaporation", 0.001))
    inflow = climate.get("rain", 1) * shares[into].sum()
    due = level_due(ground[into], spill, inflow, climate.get("lake_evaporation", 0.6), climate["years"])
    assert abs(level - due) <= 0.05 * (due - ground[pit]), f"{level} m, {due} m due over {ground[pit]} m"
    # What fell is what evaporated, left, or stands there, to the rounding of depths.
    [budget] = budgets(report)
    stands = depth.sum() * cell**2
    went = budget["evaporated"] + budget["drained"] + budget["infiltrated"]
    assert abs(budget["rained"] + budget["poured"] - went - stands) <= 1e-6 * budget["rained"]
    assert budget["particle_steps"] < 100 * budget["particles"], "drops come to rest"
