"""The mass balance and the lakes, from the files alone: sums and balances worked out here from their definitions.

    pytest tests/interop/test_water.py

Craters, bowls and funnels are chosen and drawn. With THALWEG_LONG set, more of them, and wider ones.
"""

import heapq
import json

import numpy as np
import pytest
from helpers import NEIGHBOURS, long_or, read_band, thalweg

UNITS = 65536
LONG = long_or(False, True)


def settings(values):
    return [word for name, value in values.items() for word in ("--set", f"{name}={value}")]


def balances(report):
    return [stage["mass_balance"] for stage in json.loads(report.read_text())["stages"]]


# The mass balance.

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
def test_ground_after_is_ground_before_and_the_mass_balance(tmp_path, model, edges):
    before, after, report = tmp_path / "before.tif", tmp_path / "after.tif", tmp_path / "report.json"
    thalweg("generate", "gradient_noise", "-o", before, "--cells", "72x56", "--cell-size", 20, "--seed", 3, "--type", "f64",
            "--set", "amplitude=300", "--set", "wavelength=500")
    thalweg("apply", model, before, "-o", after, "--type", "f64", "--edges", edges, "--report", report, "--quiet",
            *settings(MODELS[model]))
    # 64-bit floats hold units of 1/65 536 m exactly.
    change = int((read_band(after) * UNITS).astype(np.int64).sum() - (read_band(before) * UNITS).astype(np.int64).sum())
    [balance] = balances(report)
    assert change == balance["added"] + balance["rounded"] - balance["exported"]
    if balance["added"] == 0:
        assert change == balance["deposited"] - balance["eroded"] + balance["rounded"]


@pytest.mark.parametrize("seed", range(1, 13 if LONG else 4))
@pytest.mark.parametrize("preset, cells", [("rivers", 64), ("forest", 64), ("lakes", 64)])
def test_ground_of_presets_is_as_the_mass_balance_says(tmp_path, preset, cells, seed):
    folder = tmp_path / "world"
    thalweg("build", preset, "--cells", cells, "--seed", seed, "--out", folder, "--quiet")
    ground = read_band(folder / "height.tif").astype(np.float32)
    stages = balances(folder / "report.json")
    said = sum(stage["added"] + stage["rounded"] - stage["exported"] for stage in stages)
    # A world begins as flat ground at 0. A 32-bit float is off by half its spacing at most.
    bound = np.spacing(np.abs(ground)).astype(float).sum() / 2 * UNITS
    assert abs(ground.astype(float).sum() * UNITS - said) <= bound
    for stage in stages:
        if stage["added"] == 0:
            assert stage["eroded"] == stage["deposited"] + stage["exported"], "what was dug was laid or carried out"


# Lakes.


def flood(ground, seeds):
    """The ground with its hollows full, the cell from which the flood reached each, and the order of that.

    Over flats it comes from the nearest way down.
    """
    rows, cols = ground.shape
    flat, filled = ground.ravel(), ground.ravel().copy()
    parent = np.full(flat.size, -1)
    best = {int(k): (flat[k], 0) for k in seeds}
    heap = [(*rank, k) for k, rank in best.items()]
    heapq.heapify(heap)
    reached = np.zeros(flat.size, bool)
    order = []
    while heap:
        level, steps, k = heapq.heappop(heap)
        if reached[k]:
            continue
        reached[k], filled[k] = True, level
        order.append(k)
        i, j = divmod(k, cols)
        for di, dj in NEIGHBOURS:
            if 0 <= i + di < rows and 0 <= j + dj < cols and not reached[n := (i + di) * cols + j + dj]:
                there = max(flat[n], level)
                rank = (there, steps + 1 if there == level else 0)
                if n not in best or rank < best[n]:
                    best[n], parent[n] = rank, k
                    heapq.heappush(heap, (*rank, n))
    return filled.reshape(ground.shape), parent, order


def downhill(filled, parent):
    """Where water goes from each cell: to the steepest lower of eight, over flats as the flood came; −1 where that began."""
    rows, cols = filled.shape
    best, to = np.zeros_like(filled), parent.reshape(filled.shape).copy()
    wide = np.pad(filled, 1, constant_values=np.inf)
    cells = np.arange(filled.size).reshape(filled.shape)
    for di, dj in NEIGHBOURS:
        fall = (filled - wide[1 + di:1 + di + rows, 1 + dj:1 + dj + cols]) / np.hypot(di, dj)
        steeper = (fall > best) & (to >= 0)
        best[steeper] = fall[steeper]
        to[steeper] = (cells + di * cols + dj)[steeper]
    return to.ravel()


def patch(mask, first):
    """The cells of a mask that hang together with one of them."""
    rows, cols = mask.shape
    inside = np.zeros(mask.shape, bool)
    inside[first] = True
    stack = [first]
    while stack:
        i, j = stack.pop()
        for n in ((i + di, j + dj) for di, dj in NEIGHBOURS if 0 <= i + di < rows and 0 <= j + dj < cols):
            if mask[n] and not inside[n]:
                inside[n] = True
                stack.append(n)
    return inside


def basin(ground, pit, closed):
    """Whose water comes to the hollow about a pit, and the level at which that runs over."""
    if closed:
        return np.ones(ground.shape, bool), np.inf
    edge = np.ones(ground.shape, bool)
    edge[1:-1, 1:-1] = False
    spill = flood(ground, np.flatnonzero(edge))[0][pit]
    hollow = patch(ground < spill, pit)
    filled, parent, order = flood(ground, np.flatnonzero(hollow | edge))
    to, into = downhill(filled, parent), hollow.ravel()
    for k in order:
        if to[k] >= 0 and into[to[k]]:
            into[k] = True
    return into.reshape(ground.shape), spill


def arriving(ground, lake, into, rain, lost, evaporation, years):
    """Water that comes to the lake in a year, in metres and cells.

    `lost` of it evaporates on √2 cells of its way. Hollows on the way fill once, and all that their surface can evaporates.
    """
    filled, parent, order = flood(ground, np.flatnonzero(lake))
    to, cols = downhill(filled, parent), ground.shape[1]
    hollows = (filled > ground) & into & ~lake
    number, takes = np.full(ground.size, -1), []
    for k in np.flatnonzero(hollows):
        if number[k] < 0:
            one = patch(hollows, divmod(int(k), cols))
            number[one.ravel()] = len(takes)
            takes.append(evaporation * one.sum() + (filled - ground)[one].sum() / years)
    water = np.where(into, rain, 0.0).ravel()
    for k in reversed(order):
        if to[k] >= 0:
            if number[k] >= 0 and number[to[k]] != number[k]:
                taken = min(takes[number[k]], water[k])
                takes[number[k]] -= taken
                water[k] -= taken
            across = to[k] % cols != k % cols and to[k] // cols != k // cols
            water[to[k]] += water[k] * (1 - lost * (1 if across else np.sqrt(0.5)))
    return water[lake.ravel()].sum()


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


def water_stands_where_what_comes_is_what_goes(folder, shape, cells, cell, edges, climate, seed=0):
    before, after, report = folder / "before.tif", folder / "after.tif", folder / "report.json"
    thalweg("generate", "shape", "-o", before, "--cells", cells, "--cell-size", cell, "--type", "f64", *settings(shape))
    thalweg("apply", "hydrology", before, "-o", after, "--type", "f64", "--edges", edges, "--layers", folder, "--report", report,
            "--seed", seed, "--quiet", *settings(climate))
    ground, depth = read_band(after), read_band(folder / "pool.tif").astype(float)
    evaporation, years = climate.get("lake_evaporation", 0.6), climate["years"]
    middle = np.zeros(ground.shape, bool)
    middle[cells // 4:-cells // 4, cells // 4:-cells // 4] = True
    pit = np.unravel_index(np.where(middle, ground, np.inf).argmin(), ground.shape)
    into, spill = basin(ground, pit, edges == "closed")
    wet = into & (depth > 0)
    lake = patch(wet, pit)
    weather = climate.get("rain", 1), climate.get("evaporation", 0.001), evaporation, years
    if lake.sum() > 0.7 * wet.sum():
        assert depth[pit] > 0, "its deepest place is under water"
        due = level_due(ground[into], spill, arriving(ground, lake, into, *weather), evaporation, years)
        level = (ground + depth)[pit]
        assert abs(level - due) <= 0.05 * (due - ground[pit]), f"{level} m, {due} m due over {ground[pit]} m"
        assert np.ptp((ground + depth)[lake]) <= 1e-5 * max(1, depth.max()), "level"
    else:
        # Sediment has divided the floor, and each part has a lake.
        inflow, stands, lost = arriving(ground, wet, into, *weather), depth[into].sum(), evaporation * wet.sum()
        if stands <= 0.05 * lost * years:
            # The lakes are old: evaporation equals inflow.
            assert abs((inflow - lost) * years - stands) <= 0.05 * inflow * years, f"{inflow} of inflow, {lost} evaporates"
        else:
            # Young lakes still grow, so less has evaporated than from their present area in all years.
            slack = 0.05 * inflow * years
            assert (inflow - lost) * years - slack <= stands <= inflow * years + slack, f"{stands} of {inflow * years}"
    # What fell is what evaporated, left, or stands there, to the rounding of depths.
    [balance] = balances(report)
    went = balance["evaporated"] + balance["drained"] + balance["infiltrated"]
    assert abs(balance["rained"] + balance["poured"] - went - depth.sum() * cell**2) <= 1e-6 * balance["rained"]
    assert min(balance[name] for name in ("rained", "evaporated", "drained", "infiltrated")) >= 0
    if edges == "closed":
        assert balance["drained"] <= (depth > 0).sum() / UNITS * cell**2, "there is no way out"
    return balance


@pytest.mark.parametrize("shape, cells, cell, edges, climate, drops", CASES)
def test_a_lake_stands_where_what_comes_is_what_goes(tmp_path, shape, cells, cell, edges, climate, drops):
    balance = water_stands_where_what_comes_is_what_goes(tmp_path, shape, cells, cell, edges, CLIMATES[climate] | {"drops": drops})
    assert balance["particle_steps"] < 100 * balance["particles"], "drops come to rest"


def drawn(seed):
    """A crater, bowl or funnel, open or closed, under any climate, young or old."""
    draw = np.random.default_rng(seed)

    def between(low, high):
        return float(np.exp(draw.uniform(np.log(low), np.log(high))).round(2))

    kind = draw.choice(["crater", "dome", "cone"])
    cells = int(draw.choice([64, 128, 256] if LONG and seed >= 60 else [64, 72, 96]))
    cell = between(5, 60)
    half = cells * cell / 2
    deep = round(half * draw.uniform(0.05, 0.5), 1)
    shape = {"kind": kind, "radius": round(half * draw.uniform(0.45, 1), 1)}
    shape |= {"depth": deep, "height": round(deep * draw.uniform(0.1, 0.6), 1)} if kind == "crater" else {"height": -deep}
    climate = {"years": between(5, 500), "rain": between(0.2, 3), "lake_evaporation": float(draw.choice([0, 0.3, 0.6, 1.2, 2.5])),
               "evaporation": float(draw.choice([0, 0.001])), "drops": between(0.25, 4)}
    edges = "closed" if kind != "crater" and draw.random() < 0.4 else "open"
    return {"shape": shape, "cells": cells, "cell": cell, "edges": edges, "climate": climate, "seed": int(draw.integers(1000))}


@pytest.mark.parametrize("seed", range(120 if LONG else 20))
def test_any_lake_stands_where_what_comes_is_what_goes(tmp_path, seed):
    water_stands_where_what_comes_is_what_goes(tmp_path, **drawn(seed))
