"""The same input to other packages: RichDEM, pysheds, TopoToolbox, fastscapelib, landlab. Each is skipped where it is not installed."""

import numpy as np
import pytest

import thalweg as tw

RNG = np.random.default_rng(11)
ROWS, COLUMNS, CELL = 150, 210, 30.0


def rough(step=1 / 64):
    """Ground with many hollows, its heights multiples of `step`: exact here (1/65 536 m) and in f32."""
    y, x = np.mgrid[0:ROWS, 0:COLUMNS]
    smooth = 300 + 120 * np.sin(x / 31) * np.cos(y / 23) + 0.4 * y
    return np.round((smooth + RNG.normal(0, 6, (ROWS, COLUMNS))) / step) * step


LAND = rough()


def no_ties():
    """A mountain without hollows, its ridges and valleys bent: no cell has two steepest neighbours, nor any a flat; no water comes from the rim."""
    y, x = np.mgrid[0:ROWS, 0:COLUMNS]
    away, around = np.hypot(y - 71.3, x - 108.7), np.arctan2(y - 71.3, x - 108.7)
    cone = 1500.0 - 9.0 * away + 25.0 * np.cos(9 * around + away / 25.0) * np.minimum(away / 60.0, 1.0)
    # In steps that f32 holds too.
    return np.round((cone + RNG.random(cone.shape) * 0.5) * 4096) / 4096


STRICT = no_ties()


def inside(directions):
    """Cells through which no water of the rim comes: other packages let none run from there."""
    rim = np.ones(directions.shape)
    rim[1:-1, 1:-1] = 0.0
    return (rim == 0.0) & (tw.flow.accumulate_flow(directions, rim) == 0.0)


def test_fill_is_richdems():
    richdem = pytest.importorskip("richdem")
    theirs = richdem.FillDepressions(richdem.rdarray(LAND.copy(), no_data=-9999.0), epsilon=False)
    assert np.array_equal(tw.flow.fill_depressions(LAND), np.asarray(theirs))


def lowest(land):
    """ESRI's codes of the lowest neighbour, however far it lies."""
    walled = np.pad(land, 1, constant_values=np.inf)
    rows, columns = land.shape
    steps = ((0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1))
    around = np.stack([walled[1 + i : 1 + i + rows, 1 + j : 1 + j + columns] for i, j in steps])
    return np.where(around.min(axis=0) < land, 1 << around.argmin(axis=0), 0).astype(np.uint8)


def test_areas_along_richdems_directions_are_richdems():
    """Its D8 goes to the lowest of the eight, and not down the steepest way: of two equally low ones a diagonal one is farther."""
    richdem = pytest.importorskip("richdem")
    theirs = richdem.FlowAccumulation(richdem.rdarray(STRICT.copy(), no_data=-9999.0), method="D8")
    directions = lowest(STRICT)
    same = inside(directions)
    assert same.sum() > 0.9 * STRICT.size and np.array_equal(tw.flow.accumulate_flow(directions)[same], np.asarray(theirs)[same])
    assert not np.array_equal(directions, tw.flow.d8(STRICT))


def test_fill_and_areas_are_pysheds(monkeypatch):
    # pysheds 0.5 asks NumPy for a function that 2.4 has under its later name alone.
    monkeypatch.setattr(np, "in1d", np.isin, raising=False)
    pytest.importorskip("pysheds")
    from pysheds.grid import Grid
    from pysheds.view import Raster, ViewFinder

    finder = ViewFinder(affine=Affine(), shape=LAND.shape, nodata=np.float64(-9999.0))
    raster = Raster(LAND.copy(), finder)
    grid = Grid.from_raster(raster)
    pits = grid.fill_pits(raster)
    assert np.array_equal(tw.flow.fill_depressions(LAND), np.asarray(grid.fill_depressions(pits)))
    raster = Raster(STRICT.copy(), ViewFinder(affine=Affine(), shape=LAND.shape, nodata=np.float64(-9999.0)))
    codes = grid.flowdir(raster, routing="d8")
    theirs = np.asarray(grid.accumulation(codes, routing="d8"))
    directions = tw.flow.d8(STRICT)
    same = inside(directions)
    assert same.sum() > 0.9 * LAND.size and np.array_equal(tw.flow.accumulate_flow(directions)[same], theirs[same])


def test_catchments_and_orders_are_pysheds(monkeypatch):
    monkeypatch.setattr(np, "in1d", np.isin, raising=False)
    pytest.importorskip("pysheds")
    from pysheds.grid import Grid
    from pysheds.view import Raster, ViewFinder

    raster = Raster(STRICT.copy(), ViewFinder(affine=Affine(), shape=STRICT.shape, nodata=np.float64(-9999.0)))
    grid = Grid.from_raster(raster)
    codes = grid.flowdir(raster, routing="d8")
    directions = tw.flow.d8(STRICT)
    same, cells = inside(directions), tw.flow.accumulate_flow(directions)
    row, column = (int(index) for index in np.unravel_index(np.where(same, cells, 0).argmax(), cells.shape))
    drained = tw.drain(STRICT, cell_size=CELL, outlets=[(row, column)])
    ours = drained.basin == drained.basin[row, column]
    assert ours.sum() > 300 and np.array_equal(np.asarray(grid.catchment(x=column, y=row, fdir=codes, xytype="index")), ours)
    streams = grid.accumulation(codes, routing="d8") > 20
    orders = np.asarray(grid.stream_order(codes, streams))
    assert orders.max() >= 3 and np.array_equal(tw.flow.stream_order(directions, np.asarray(streams))[same], orders[same])


def Affine():
    from affine import Affine

    return Affine(CELL, 0, 0, 0, -CELL, 0)


def test_fill_is_topotoolboxs():
    topotoolbox = pytest.importorskip("topotoolbox")
    grid = topotoolbox.GridObject()
    grid.z = np.asfortranarray(LAND.astype(np.float32))
    grid.cellsize = CELL
    assert np.array_equal(tw.flow.fill_depressions(LAND.astype(np.float32)), np.asarray(grid.fillsinks().z))


def test_chi_is_topotoolboxs():
    topotoolbox = pytest.importorskip("topotoolbox")
    grid = topotoolbox.GridObject()
    grid.z = np.asfortranarray(STRICT.astype(np.float32))
    grid.cellsize = CELL
    flow = topotoolbox.FlowObject(grid)
    counted = flow.flow_accumulation()
    streams = topotoolbox.StreamObject(flow, threshold=30)
    directions = tw.flow.d8(STRICT)
    # The same ways, or chi is of other rivers.
    assert np.array_equal(tw.flow.accumulate_flow(directions), np.asarray(counted.z))
    theirs = np.asarray(streams.chitransform(counted, a0=1e6, mn=0.45))
    ours = tw.flow.chi(directions, theta=0.45, reference_area=1e6, cell_size=CELL)
    rows, columns = (np.asarray(index) for index in streams.node_indices)
    # They count in f32.
    assert theirs.max() > 1000.0 and np.allclose(ours[rows, columns], theirs, rtol=1e-4, atol=1e-2)


def test_accumulation_is_fastscapelibs():
    fastscape = pytest.importorskip("fastscapelib")
    grid = fastscape.RasterGrid(STRICT.shape, [CELL, CELL], fastscape.NodeStatus.FIXED_VALUE)
    graph = fastscape.FlowGraph(grid, [fastscape.SingleFlowRouter()])
    graph.update_routes(STRICT)
    directions = tw.flow.d8(STRICT)
    same = inside(directions)
    assert np.array_equal(tw.flow.accumulate_flow(directions)[same] * CELL**2, graph.accumulate(1.0)[same])
    weights = RNG.integers(0, 100, STRICT.shape).astype(float)
    theirs = graph.accumulate(weights)
    assert np.allclose(tw.flow.accumulate_flow(directions, weights)[same] * CELL**2, theirs[same], rtol=1e-12)


# Stream power to its steady state: S = (U/K)^(1/n)·A^(−m/n), whoever solves it.
UPLIFT, ERODIBILITY, M, N = 1e-3, 1e-5, 0.45, 1.0
PLAIN = {
    "uplift": UPLIFT,
    "uplift_variation": 0.0,
    "erodibility": ERODIBILITY,
    "erodibility_variation": 0.0,
    "grain": 0.0,
    "area_exponent": M,
    "slope_exponent": N,
    "area": "d8",
    "slope_limit": 0.0,
    "slope_variation": 0.0,
    "diffusion": 0.0,
    "planation": 0.0,
}


def ours_at_steady_state(ground):
    out = tw.stream_power(ground, cell_size=100.0, years=4e6, step=10_000.0, **PLAIN)
    return tw.flow.ksn(out, theta=M, cell_size=100.0), out


def test_steady_state_is_fastscapelibs_and_theorys():
    fastscape = pytest.importorskip("fastscapelib")
    rows = columns = 51
    ground = RNG.random((rows, columns))
    ksn, out = ours_at_steady_state(ground)
    wanted = (UPLIFT / ERODIBILITY) ** (1 / N)
    inner = (slice(1, -1), slice(1, -1))
    assert np.abs(np.median(ksn[inner]) / wanted - 1) < 0.01
    grid = fastscape.RasterGrid((rows, columns), [100.0, 100.0], fastscape.NodeStatus.FIXED_VALUE)
    graph = fastscape.FlowGraph(grid, [fastscape.SingleFlowRouter(), fastscape.MSTSinkResolver()])
    eroder = fastscape.SPLEroder(graph, k_coef=ERODIBILITY, area_exp=M, slope_exp=N, tolerance=1e-5)
    heights = ground.copy()
    uplift = np.zeros_like(heights)
    uplift[inner] = UPLIFT
    for _ in range(400):
        raised = heights + uplift * 10_000.0
        graph.update_routes(raised)
        area = graph.accumulate(1.0)
        heights = raised - eroder.erode(raised, area, 10_000.0)
    theirs = tw.flow.ksn(heights, theta=M, cell_size=100.0)
    assert np.abs(np.median(theirs[inner]) / wanted - 1) < 0.01, "the same measure on their ground"
    # Which cell drains where is chance in both; relief is not.
    assert out.max() / heights.max() == pytest.approx(1.0, abs=0.15)
    assert out.mean() / heights.mean() == pytest.approx(1.0, abs=0.1)


def test_steady_state_is_landlabs():
    pytest.importorskip("landlab")
    from landlab import RasterModelGrid
    from landlab.components import FlowAccumulator, StreamPowerEroder

    rows = columns = 41
    ground = RNG.random((rows, columns))
    grid = RasterModelGrid((rows, columns), xy_spacing=100.0)
    heights = grid.add_field("topographic__elevation", ground[::-1].ravel().copy(), at="node")
    flow = FlowAccumulator(grid, flow_director="D8", depression_finder="DepressionFinderAndRouter")
    eroder = StreamPowerEroder(grid, K_sp=ERODIBILITY, m_sp=M, n_sp=N)
    for _ in range(200):
        heights[grid.core_nodes] += UPLIFT * 20_000.0
        flow.run_one_step()
        eroder.run_one_step(20_000.0)
    theirs = heights.reshape(rows, columns)[::-1]
    out = tw.stream_power(ground, cell_size=100.0, years=4e6, step=20_000.0, **PLAIN)
    inner = (slice(1, -1), slice(1, -1))
    for land in (theirs, out):
        found = np.median(tw.flow.ksn(land, theta=M, cell_size=100.0)[inner])
        assert found == pytest.approx(UPLIFT / ERODIBILITY, rel=0.02)
    assert out.mean() / theirs.mean() == pytest.approx(1.0, abs=0.1)
