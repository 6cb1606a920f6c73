"""How much land drains, from the files alone: the definition, cell by cell, in NumPy.

A cell drains if steps to the steepest strictly lower of its eight neighbours, or across a flat of equal heights to a cell that has
one, lead to an open edge, the sea or a lake. Heights are the float32 samples of the file. Nothing is filled; nothing is tolerated.

    python tests/interop/drains.py WORLD …    # folders that `thalweg build` wrote
"""

import pathlib
import sys
import tomllib

import numpy as np
import rasterio

STEPS = [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)]


def open_border(shape, edges="open"):
    """True on the outermost cells of each open edge; `edges` as a recipe says them."""
    border = np.zeros(shape, bool)
    sides = {"north": np.s_[0, :], "south": np.s_[-1, :], "west": np.s_[:, 0], "east": np.s_[:, -1]}
    for side, where in sides.items():
        border[where] |= (edges if isinstance(edges, str) else edges.get(side, "open")) == "open"
    return border


def ends(heights, exits):
    """For each cell the index of the cell where its way ends: one of `exits`, or a pit."""
    rows, cols = heights.shape
    assert np.isfinite(heights).all()
    around = np.pad(heights.astype(np.float64), 1, constant_values=np.inf)
    here = around[1:-1, 1:-1]
    index = np.arange(heights.size).reshape(heights.shape)
    to, steepest = index.copy(), np.zeros(heights.shape)
    for down, across in STEPS:
        beside = around[1 + down : 1 + down + rows, 1 + across : 1 + across + cols]
        slope = (here - beside) / np.hypot(down, across)
        lower = (slope > steepest) & ~exits
        steepest[lower] = slope[lower]
        to[lower] = index[lower] + down * cols + across
    to = to.ravel()
    # Across flats: cells beside the way out first, then those beside them.
    flat, wide = heights.ravel(), cols
    waiting = np.flatnonzero((to == index.ravel()) & ~exits.ravel())
    open_ended = np.ones(to.size, bool)
    open_ended[waiting] = False
    while waiting.size:
        found = np.full(waiting.size, -1)
        i, j = np.divmod(waiting, wide)
        for down, across in STEPS:
            r, c = i + down, j + across
            inside = (r >= 0) & (r < rows) & (c >= 0) & (c < cols) & (found < 0)
            beside = np.where(inside, r * wide + c, waiting)
            leads = inside & open_ended[beside] & (flat[beside] == flat[waiting])
            found[leads] = beside[leads]
        led = found >= 0
        if not led.any():
            break
        to[waiting[led]] = found[led]
        open_ended[waiting[led]] = True
        waiting = waiting[~led]
    while True:
        further = to[to]
        if (further == to).all():
            return to
        to = further


def drains(heights, exits, looped=(False, False)):
    """Which cells drain to one of `exits`. Where rows or columns are looped the land lies three times side by side, and the middle one counts."""
    times = [3 if axis else 1 for axis in looped]
    rows, cols = heights.shape
    wide, out = np.tile(heights, times), np.tile(exits, times)
    drained = out.ravel()[ends(wide, out)].reshape(wide.shape)
    top, left = [n if axis else 0 for n, axis in zip(heights.shape, looped)]
    return drained[top : top + rows, left : left + cols]


def loops(folder):
    """Whether a world's rows and columns are looped."""
    edges = tomllib.loads((pathlib.Path(folder) / "recipe.toml").read_text(encoding="utf-8")).get("edges", "open")
    return tuple((edges if isinstance(edges, str) else edges.get(side, "open")) == "looped" for side in ("north", "east"))


def band(path):
    with rasterio.open(path) as file:
        return file.read(1)


def world(folder):
    """Returns heights, lakes, sea and open edge of a world as written; lakes are cells with standing water."""
    folder = pathlib.Path(folder)
    recipe = tomllib.loads((folder / "recipe.toml").read_text(encoding="utf-8"))
    heights = band(folder / "height.tif")
    lakes = np.zeros(heights.shape, bool)
    if (folder / "pool.tif").exists():
        lakes = band(folder / "pool.tif") > 0
    sea = heights <= recipe["sea_level"] if "sea_level" in recipe else np.zeros(heights.shape, bool)
    # With a margin, `edges` are those of what is built; the map itself is cut out of it, and water leaves over its edges.
    edges = "open" if recipe.get("margin", 0.0) > 0.0 else recipe.get("edges", "open")
    return heights, lakes & ~sea, sea, open_border(heights.shape, edges)


def share(folder):
    """Of a world: the share of its land, lakes not counted, that drains; and the share of land under lakes."""
    heights, lakes, sea, edge = world(folder)
    dry = ~lakes & ~sea
    drained = drains(heights, lakes | sea | edge, loops(folder))
    return drained[dry].mean() if dry.any() else 1.0, lakes.sum() / max((~sea).sum(), 1)


if __name__ == "__main__":
    for folder in sys.argv[1:]:
        drained, under = share(folder)
        print(f"{folder}: {100 * drained:.2f} % of the dry land drains; {100 * under:.2f} % of the land is under lakes")
