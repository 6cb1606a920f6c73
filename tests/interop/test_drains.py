"""Presets drain, as a stranger finds it in their files: see drains.py."""

import json
import re

import drains
import numpy as np
import pytest
from helpers import ESRI, PRESETS, long_or, thalweg

LONG = long_or(False, True)
NAMES = sorted(path.stem for path in PRESETS.glob("*.toml"))
# Dunes lie as the wind lays them: between their crests are hollows without a way out, and no rivers.
WINDY = ["desert"]
# Their grid is a file's.
OWN_SIZE = ["aged"]
# The coarsest level of the recipe, under which it cannot be built.
LEAST = {"river_delta": 256}
LEVELS = [name for name in NAMES if "\ncoarsest" in (PRESETS / f"{name}.toml").read_text(encoding="utf-8")]


def walked(heights, exits):
    """Drained cells, one walk after the other: on, and on level ground to whichever level cell can go on."""
    rows, cols = heights.shape

    def around(cell):
        for step in drains.STEPS:
            beside = cell[0] + step[0], cell[1] + step[1]
            if 0 <= beside[0] < rows and 0 <= beside[1] < cols:
                yield beside, np.hypot(*step)

    def lower(cell):
        slopes = [((heights[cell] - heights[beside]) / far, beside) for beside, far in around(cell)]
        return [beside for slope, beside in slopes if slope > 0 and slope == max(slopes)[0]]

    def ways(cell):
        """The cells that its flat has within it and leaves by."""
        flat, leaves = [cell], set()
        for here in flat:
            if exits[here] or lower(here):
                leaves.add(here)
            else:
                flat += [n for n, _ in around(here) if heights[n] == heights[cell] and n not in flat]
        return leaves

    known = {}

    def drained(cell):
        if cell not in known:
            known[cell] = exits[cell] or any(exits[way] or any(map(drained, lower(way))) for way in ways(cell))
        return known[cell]

    return np.array([[drained((i, j)) for j in range(cols)] for i in range(rows)])


def test_by_hand():
    nowhere = np.zeros((5, 5), bool)
    edge = drains.open_border((5, 5))
    slope = np.add.outer(np.zeros(5), np.arange(5.0))
    assert drains.drains(slope, edge).all() and not drains.drains(slope, nowhere).any()
    pit = slope.copy()
    pit[2, 2] = 0.5
    # The pit, and those beside it that have no steeper way: all but the three to its west.
    assert (~drains.drains(pit, edge)).sum() == 6
    lake = nowhere.copy()
    lake[2, 2] = True
    assert drains.drains(pit, edge | lake).all()
    # A flat with a way out drains over it, one without does not.
    plate = np.full((5, 5), 7.0)
    assert drains.drains(plate, edge).all()
    plate[1:4, 1:4] = 6.0
    assert (~drains.drains(plate, edge)).sum() == 9
    only = drains.open_border((5, 5), {"north": "closed", "east": "closed", "west": "closed"})
    assert only[4].all() and only.sum() == 5


@pytest.mark.parametrize("seed", range(10))
def test_the_measure_is_a_walk_from_every_cell(seed):
    rng = np.random.default_rng(seed)
    heights = rng.integers(0, 10_000, (9, 11)) + 1000.0 * np.arange(11)
    if seed % 2:
        # Flats; wherever several ways are as steep, all or none of the walks must get out for the two to agree.
        heights = np.round(heights / 4000)
    exits = drains.open_border(heights.shape) & (rng.random(heights.shape) < 0.5)
    found, walks = drains.drains(heights, exits), walked(heights, exits)
    if seed % 2:
        assert (walks | ~found).all() and found[exits].all()
    else:
        np.testing.assert_array_equal(found, walks)


def cases():
    """Presets, with their numbers of cells and seeds."""
    for name in NAMES:
        if name in WINDY:
            continue
        if name in OWN_SIZE:
            yield name, None, None
        elif not LONG:
            yield name, LEAST.get(name, 128), None
        else:
            for seed in [None, 11, 12, 13]:
                yield name, 256, seed
            # The size of its recipe, and double that: those of one level are made for one.
            yield name, 1024 if name in LEVELS else 512, None
            if name in LEVELS:
                yield name, 2048, None


@pytest.mark.parametrize("name, cells, seed", list(cases()))
def test_presets_drain(built_world, name, cells, seed):
    words = [word for flag, value in [("--cells", cells), ("--seed", seed)] if value is not None for word in (flag, value)]
    world = built_world(name, *words)
    drained, under = drains.share(world)
    print(f"{name}, {cells} cells, seed {seed}: {100 * drained:.3f} % drains, {100 * under:.2f} % lakes")
    assert drained >= 0.99
    heights, lakes, sea, edge = drains.world(world)
    # The same from the preview, in 16 bits; and with every height rounded up to whole metres. What is sea or lake stays so.
    codes = drains.band(world / "height.png").astype(np.float64)
    whole = np.where(sea, heights, np.ceil(heights))
    for rounded in (codes, whole):
        dry = ~lakes & ~sea
        assert drains.drains(rounded, lakes | sea | edge, drains.loops(world))[dry].mean() >= 0.99


def strict_pits(heights, taken):
    """Cells within the rim, not `taken`, that are lower than all eight around them."""
    rows, cols = heights.shape
    around = [heights[1 + i : rows - 1 + i, 1 + j : cols - 1 + j] for i, j in drains.STEPS]
    inner = heights[1:-1, 1:-1]
    return int(np.sum(np.all([inner < beside for beside in around], axis=0) & ~taken[1:-1, 1:-1]))


def test_strict_pits_by_hand():
    plate = np.full((5, 5), 7.0)
    plate[2, 2] = plate[0, 0] = 6.0
    assert strict_pits(plate, np.zeros((5, 5), bool)) == 1
    assert strict_pits(plate, plate == 6.0) == 0
    plate[2, 3] = 6.0
    assert strict_pits(plate, np.zeros((5, 5), bool)) == 0


def local_recipe(name, cells, global_cells):
    """A preset whose levels beyond the global one are local."""
    text = (PRESETS / f"{name}.toml").read_text(encoding="utf-8")
    text = re.sub(r"(?m)^coarsest = .*\n", "", text)
    # A stage that goes down to cells of some width must have them, so the map is a part of the preset's.
    if finest := [float(width) for width in re.findall(r"finest = ([0-9.]+)", text) if float(width) > 0.1]:
        side = 1.02 * global_cells * min(finest)
        text = re.sub(r"(?m)^extent = .*$", f"extent = [{side}, {side}]", text)
    return re.sub(r"(?m)^cells = .*$", f'cells = {cells}\nbeyond = "local"\nlocal_from = {global_cells}', text)


@pytest.mark.parametrize("name", ["hills", "alpine", *(["badlands", "canyon", "lakes", "forest", "volcanic_island"] if LONG else [])])
def test_local_builds_and_tiles_drain(tmp_path, name):
    cells, level = long_or((256, 2), (2048, 3))
    (tmp_path / "local.toml").write_text(local_recipe(name, cells, long_or(64, 256)))
    thalweg("build", "local.toml", "--out", "w", "--quiet", cwd=tmp_path)
    drained, under = drains.share(tmp_path / "w")
    heights, lakes, sea, edge = drains.world(tmp_path / "w")
    pits = strict_pits(heights, lakes | sea)
    print(f"{name} by local levels: {100 * drained:.3f} % drains, {100 * under:.2f} % lakes, {pits} pits")
    assert drained >= 0.99 and heights.shape == (cells, cells)
    assert pits == 0
    # One tile, of another size, in the middle: what comes to its rim leaves it.
    middle = float(json.loads((tmp_path / "w/report.json").read_text())["cell_size"]) * cells / 2 + 1
    thalweg("tile", "local.toml", "--level", level + 1, "--at", f"{middle},{middle}", "--side", 200, "-o", "t", "-q", cwd=tmp_path)
    report = json.loads((tmp_path / "t/report.json").read_text())
    z, codes = [drains.band(tmp_path / f"t/{layer}.tif") for layer in ("height", "flow_direction")]
    assert z.shape == (report["rows"], report["columns"]) == (200, 200) and report["level"] == level + 1
    assert report["cells_that_drain"] == (codes > 0).sum()
    sea = z <= report["sea_level_m"] if report["sea_level_m"] is not None else np.zeros(z.shape, bool)
    # A tile's files do not say where lakes are: under one a way over its bed goes up. Such cells and those about are left out.
    i, j = np.indices(z.shape)
    down = np.array([ESRI.get(code, (0, 0)) for code in range(256)])[codes]
    up = z[(i + down[..., 0]).clip(0, 199), (j + down[..., 1]).clip(0, 199)] > z
    rim = drains.open_border(z.shape)
    if not (up & ~rim).any():
        out = sea | rim
        assert drains.drains(z, out)[~out].mean() >= 0.99
        assert strict_pits(z, sea) == 0
    else:
        assert name == "lakes", f"{name}: a river of a tile goes uphill"


def test_the_measure_of_local_builds_finds_a_pit(tmp_path):
    """The same build with a hole in it is not let through."""
    (tmp_path / "local.toml").write_text(local_recipe("hills", 128, 64))
    thalweg("build", "local.toml", "--out", "w", "--quiet", cwd=tmp_path)
    heights, lakes, sea, edge = drains.world(tmp_path / "w")
    inner = np.argwhere(~(lakes | sea)[20:-20, 20:-20])
    i, j = inner[len(inner) // 2] + 20
    heights[i, j] -= 500
    assert strict_pits(heights, lakes | sea) >= 1
    dry = ~lakes & ~sea
    assert not drains.drains(heights, lakes | sea | edge)[i, j] and drains.drains(heights, lakes | sea | edge)[dry].mean() < 1
