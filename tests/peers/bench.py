"""Thalweg and other programs in turns on the same ground, as tables in Markdown: `cargo xtask bench --peers` runs it.

    python tests/peers/bench.py --thalweg target/release/thalweg --noise target/peers/release/thalweg-peers --cells 1024 4096

All rows of a table take turns, ROUNDS times; the least of the rounds counts, of wall and of the processor each for itself. What a program
needs once is made before: grids, compiled code of Numba's (the first round has it). What took longer than SLOW runs twice; what would, by the
size before and the number of cells, take longer than LONGEST is not run, and the table says so. A program that is not installed has its row.
"""

import argparse
import contextlib
import datetime
import importlib.metadata
import importlib.util
import os
import pathlib
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

import thalweg as tw

ROUNDS = 5
SLOW = 20.0
LONGEST = 120.0
CELL = 30.0
TYPICAL = [1024, 4096]
PACKAGES = ["thalweg", "numpy", "fastscapelib", "py-richdem", "pysheds", "topotoolbox", "landlab", "rasterio"]
CRATES = ["fastnoise-lite", "libnoise", "noise"]
CORES = os.cpu_count() or 1

# One step of rivers alone: thalweg's other parts are off, as the others have none of them.
ERODIBILITY, M, N, UPLIFT, YEARS = 1e-5, 0.45, 1.0, 5e-4, 20_000.0
ALONE = {"uplift_variation": 0.0, "erodibility_variation": 0.0, "grain": 0.0, "area": "d8", "slope_limit": 0.0, "diffusion": 0.0, "planation": 0.0}

# Creep that spreads over a cell: five explicit passes.
DIFFUSION, CREEP_YEARS = 0.01, 90_000.0

# Deflate as thalweg has it; GDAL's own level is 6.
LEVEL = 4
UNSYNCED = "does not wait for the disk: a crash may leave half a file"

# What ours does not do.
FIXED = "heights in whole 65 536ths of a metre, not f64"


@dataclass
class Ground:
    """What all read: heights in whole 64ths of a metre, which f32, f64 and thalweg's fixed point hold alike, and the same in a file."""

    side: int
    folder: pathlib.Path
    land: np.ndarray = field(init=False)

    def __post_init__(self):
        noise = tw.noise.fractal((self.side, self.side), CELL, wavelength=CELL * self.side / 4, seed=5)
        self.land = np.round(noise.astype(np.float64) * 600 * 64) / 64

    @property
    def file(self):
        """GeoTIFF of f32, plain: nobody's own way of packing."""
        path = self.folder / f"{self.side}.tif"
        if not path.exists():
            import rasterio

            place = rasterio.transform.from_origin(432_000, 5_678_000, CELL, CELL)
            profile = {"width": self.side, "height": self.side, "count": 1, "dtype": "float32", "nodata": -9999.0, "crs": "EPSG:32633"}
            with rasterio.open(path, "w", driver="GTiff", transform=place, **profile) as file:
                file.write(self.land.astype(np.float32), 1)
        return path


@dataclass(frozen=True)
class Row:
    """A program in a table. `make` prepares its work, which gives what `told` makes words of; or it raises what is missing."""

    name: str
    lacks: str
    make: Callable[[Ground], Callable[[], object]]
    told: Callable[[object], str]


@dataclass
class Found:
    """Least seconds of wall and of the processor, and what came out; or, in words, why there are none."""

    wall: float = float("inf")
    processor: float = float("inf")
    out: str = ""
    why: str = ""


def measured(rows, ground, before):
    """What each row took on this ground; `before` has the seconds a cell that it took on a smaller one."""
    found, works = {row.name: Found() for row in rows}, {}
    for row in rows:
        wanted = before[row.name] * ground.side**2 if row.name in before else 0.0
        if wanted > LONGEST:
            found[row.name].why = f"not run: about {wanted:.0f} s"
            continue
        try:
            works[row] = row.make(ground)
        except (ImportError, FileNotFoundError) as missing:
            found[row.name].why = f"not here: {missing}"
    for number in range(ROUNDS):
        for row, work in works.items():
            one = found[row.name]
            if one.why or (number >= 2 and one.wall > SLOW):
                continue
            try:
                print(f"round {number + 1}: {row.name}", file=sys.stderr, flush=True)
                with silence():
                    wall, processor = time.perf_counter(), used()
                    value = work()
                    wall, processor = time.perf_counter() - wall, used() - processor
                one.wall, one.processor, one.out = min(one.wall, wall), min(one.processor, processor), row.told(value)
            except Exception as error:  # a program that fails is a row of the table, not the end of an hour's run
                one.why = f"failed: {type(error).__name__}: {error}".splitlines()[0]
    return found


def used():
    """Seconds of the processor that all threads and all ended processes of ours have had."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def table(title, rows, found):
    """The table of what was found; its keys say on what, and head the columns."""
    columns = (words for on in found for words in (f"{on}wall, processor", "over the first row"))
    head = ["program", *columns, "came out", "what it does not do"]
    lines = [f"### {title}", "", f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for row in rows:
        cells, out = [row.name], ""
        for on in found.values():
            one, first = on[row.name], on[rows[0].name]
            cells.append(one.why or f"{one.wall:.3f} s, {one.processor:.3f} s")
            cells.append("" if one.why or first.why else f"{one.wall / first.wall:.3g}, {one.processor / first.processor:.3g}")
            out = one.out or out
        lines.append(f"| {' | '.join([*cells, out, row.lacks])} |")
    return "\n".join(lines) + "\n"


# Fill, flats, D8 and areas, from an array of f64 to an array of areas.


def ours_flow(threads, ground):
    def work():
        tw.set_threads(threads)
        filled = tw.flow.fill_depressions(ground.land)
        return tw.flow.accumulate_flow(tw.flow.d8(filled, filled=False)) * CELL**2

    return work


def ours_drain(ground):
    def work():
        tw.set_threads(CORES)
        return tw.drain(ground.land, cell_size=CELL).drainage_area

    return work


def fastscapelib_grid(ground):
    import fastscapelib as fs

    return fs, fs.RasterGrid(ground.land.shape, [CELL, CELL], fs.NodeStatus.FIXED_VALUE)


def fastscapelib_flow(resolver, ground):
    fs, grid = fastscapelib_grid(ground)
    resolve = getattr(fs, resolver)()
    # The one fills before it routes, the other mends routes.
    steps = [resolve, fs.SingleFlowRouter()] if resolver == "PFloodSinkResolver" else [fs.SingleFlowRouter(), resolve]
    graph = fs.FlowGraph(grid, steps)

    # Neither a graph nor an eroder holds its grid: work does, or it ends in a segmentation fault.
    def work(_=grid):
        graph.update_routes(ground.land)
        return graph.accumulate(1.0)

    return work


def richdem_flow(ground):
    import richdem as rd

    def work():
        land = rd.rdarray(ground.land, no_data=-9999.0, geotransform=[0, CELL, 0, 0, 0, -CELL])
        return np.asarray(rd.FlowAccumulation(rd.FillDepressions(land, epsilon=True), method="D8")) * CELL**2

    return work


def pysheds_flow(ground):
    if not hasattr(np, "in1d"):
        np.in1d = np.isin  # pysheds 0.5 asks for its former name
    from affine import Affine
    from pysheds.grid import Grid
    from pysheds.view import Raster, ViewFinder

    finder = ViewFinder(affine=Affine(CELL, 0, 0, 0, -CELL, 0), shape=ground.land.shape, nodata=np.float64(-9999.0))

    def work():
        raster = Raster(ground.land, finder)
        grid = Grid.from_raster(raster)
        flat = grid.resolve_flats(grid.fill_depressions(grid.fill_pits(raster)))
        return np.asarray(grid.accumulation(grid.flowdir(flat, routing="d8"), routing="d8")) * CELL**2

    return work


def topotoolbox_flow(ground):
    import topotoolbox as tt

    def work():
        grid = tt.GridObject()
        grid.z, grid.cellsize = ground.land.astype(np.float32), CELL
        return np.asarray(tt.FlowObject(grid).flow_accumulation().z) * CELL**2

    return work


def largest(areas):
    return f"largest {areas.max() / 1e6:.2f} km²"


FLOW = [
    Row("thalweg, `flow.fill_depressions`, `d8`, `accumulate_flow`", FIXED, partial(ours_flow, CORES), largest),
    Row("the same, one thread", FIXED, partial(ours_flow, 1), largest),
    Row("thalweg, `drain`: basins, streams, D∞ as well", FIXED, ours_drain, largest),
    Row("fastscapelib, `PFloodSinkResolver`", "one thread; no flats: fills with ε", partial(fastscapelib_flow, "PFloodSinkResolver"), largest),
    Row("fastscapelib, `MSTSinkResolver`", "one thread; no filled surface, no flats", partial(fastscapelib_flow, "MSTSinkResolver"), largest),
    Row("RichDEM (py-richdem)", "one thread; no flats: fills with ε; goes to the lowest cell, not down the steepest way", richdem_flow, largest),
    Row("pysheds", "one thread, but in some loops", pysheds_flow, largest),
    Row("TopoToolbox, `FlowObject`", "one thread; f32, areas too: counts beyond 2²⁴ cells are not exact", topotoolbox_flow, largest),
]

# The whole command, from file to files.

TOPOTOOLBOX = """
import sys, topotoolbox as tt
source, folder = sys.argv[1:]
land = tt.read_tif(source)
tt.write_tif(land.fillsinks(), folder + "/filled.tif")
tt.write_tif(tt.FlowObject(land).flow_accumulation(), folder + "/area.tif")
"""

RICHDEM = """
import sys, numpy as np, rasterio, richdem as rd
source, folder = sys.argv[1:]
with rasterio.open(source) as file:
    profile, land = file.profile, rd.rdarray(file.read(1), no_data=-9999, geotransform=file.transform.to_gdal())
filled = rd.FillDepressions(land, epsilon=True)
for name, values in (("filled", filled), ("area", rd.FlowAccumulation(filled, method="D8"))):
    with rasterio.open(f"{folder}/{name}.tif", "w", **profile) as file:
        file.write(np.asarray(values, np.float32), 1)
"""


def command(needs, words, out, ground):
    """A program that reads the ground's file and writes `out`, a file or a folder; `needs` are the packages that it loads."""
    lacking(needs)
    if shutil.which(words[0]) is None:
        raise FileNotFoundError(f"no program {pathlib.Path(words[0]).name}")
    place = ground.folder / out
    if not place.suffix:
        place.mkdir(exist_ok=True)
    line = [str({"FILE": ground.file, "OUT": place}.get(word, word)) for word in words]
    return lambda: run(line) and place


def lacking(needs):
    for module in needs:
        if importlib.util.find_spec(module) is None:
            raise ImportError(f"no package {module}")


def run(line):
    return subprocess.run(line, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)


def written(place):
    """How many files, and how large."""
    files = [path for path in place.iterdir() if path.is_file()] if place.is_dir() else [place]
    return f"{len(files)} {'file' if len(files) == 1 else 'files'}, {sum(path.stat().st_size for path in files) / 1e6:.1f} MB"


def drains(thalweg):
    python = [sys.executable, "-c"]
    return [
        Row("`thalweg drain`", FIXED, partial(command, [], [thalweg, "drain", "FILE", "-o", "OUT"], "drained"), written),
        Row(
            "the same, `--threads 1`",
            FIXED,
            partial(command, [], [thalweg, "drain", "FILE", "-o", "OUT", "--threads", "1"], "drained1"),
            written,
        ),
        Row(
            "TopoToolbox, a script",
            "one thread; filled surface and areas alone; files not compressed",
            partial(command, ["topotoolbox"], [*python, TOPOTOOLBOX, "FILE", "OUT"], "topotoolbox"),
            written,
        ),
        Row(
            "RichDEM and rasterio, a script",
            "one thread; filled surface and areas alone; no flats: fills with ε; files not compressed",
            partial(command, ["richdem", "rasterio"], [*python, RICHDEM, "FILE", "OUT"], "richdem"),
            written,
        ),
    ]


# A shaded map.


def shades(thalweg):
    gdaldem = ["gdaldem", "hillshade", "-q", "-of", "PNG", "FILE", "OUT"]
    return [
        Row("`thalweg render map`", "", partial(command, [], [thalweg, "render", "map", "FILE", "-o", "OUT"], "shaded.png"), written),
        Row("`gdaldem hillshade -of PNG`", "one thread; grey, one light, no colours by height", partial(command, [], gdaldem, "hill.png"), written),
        Row(
            "the same, `-multidirectional`",
            "one thread; grey, no colours by height",
            partial(command, [], [*gdaldem, "-multidirectional"], "hills.png"),
            written,
        ),
    ]


# A GeoTIFF of f32 from an array of f32: tiles of 512 cells, deflate, floating-point predictor.


def ours_tiff(threads, ground):
    land, path = ground.land.astype(np.float32), ground.folder / "ours.tif"

    def work():
        tw.set_threads(threads)
        tw.write(land, path, cell_size=CELL)
        return path

    return work


def gdal_tiff(driver, threads, level, ground):
    import rasterio

    land, path = ground.land.astype(np.float32), ground.folder / f"{driver}.tif"
    place = rasterio.transform.from_origin(0, 0, CELL, CELL)
    options = {"compress": "deflate", "num_threads": threads}
    if driver == "GTiff":
        options |= {"tiled": True, "blockxsize": 512, "blockysize": 512, "predictor": 3, "zlevel": level}
    else:
        options |= {"blocksize": 512, "predictor": "FLOATING_POINT", "level": level, "overview_resampling": "average"}

    def work():
        profile = {"width": ground.side, "height": ground.side, "count": 1, "dtype": "float32", "transform": place}
        with rasterio.open(path, "w", driver=driver, **profile, **options) as file:
            file.write(land, 1)
        return path

    return work


TIFF = [
    Row("thalweg, `write`: with overviews", FIXED, partial(ours_tiff, CORES), written),
    Row("the same, one thread", FIXED, partial(ours_tiff, 1), written),
    Row(f"GDAL, `COG`, `ALL_CPUS`, level {LEVEL}", UNSYNCED, partial(gdal_tiff, "COG", "ALL_CPUS", LEVEL), written),
    Row(f"GDAL, `COG`, one thread, level {LEVEL}", UNSYNCED, partial(gdal_tiff, "COG", "1", LEVEL), written),
    Row(f"GDAL, `GTiff`, `ALL_CPUS`, level {LEVEL}", f"no overviews; {UNSYNCED}", partial(gdal_tiff, "GTiff", "ALL_CPUS", LEVEL), written),
    Row(f"GDAL, `GTiff`, one thread, level {LEVEL}", f"no overviews; {UNSYNCED}", partial(gdal_tiff, "GTiff", "1", LEVEL), written),
    Row("GDAL, `GTiff`, `ALL_CPUS`, level 6", f"no overviews; {UNSYNCED}", partial(gdal_tiff, "GTiff", "ALL_CPUS", 6), written),
]

# A step of stream power.


def ours_stream_power(threads, parameters, ground):
    same = {"years": YEARS, "step": YEARS, "uplift": UPLIFT, "erodibility": ERODIBILITY, "area_exponent": M, "slope_exponent": N}

    def work():
        tw.set_threads(threads)
        return tw.stream_power(ground.land, cell_size=CELL, **same, **parameters) - ground.land

    return work


def fastscapelib_stream_power(ground):
    fs, grid = fastscapelib_grid(ground)
    graph = fs.FlowGraph(grid, [fs.SingleFlowRouter(), fs.MSTSinkResolver()])
    eroder = fs.SPLEroder(graph, k_coef=ERODIBILITY, area_exp=M, slope_exp=N, tolerance=1e-3)

    def work(_=grid):
        raised = ground.land.copy()
        raised[1:-1, 1:-1] += UPLIFT * YEARS
        graph.update_routes(raised)
        return raised - eroder.erode(raised, graph.accumulate(1.0), YEARS) - ground.land

    return work


def landlab_grid(ground):
    from landlab import RasterModelGrid

    grid = RasterModelGrid(ground.land.shape, xy_spacing=CELL)
    return grid, grid.add_zeros("topographic__elevation", at="node")


def landlab_stream_power(ground):
    from landlab.components import FastscapeEroder, PriorityFloodFlowRouter

    grid, heights = landlab_grid(ground)
    heights[:] = ground.land.ravel()
    router = PriorityFloodFlowRouter(grid, flow_metric="D8", suppress_out=True)
    eroder = FastscapeEroder(grid, K_sp=ERODIBILITY, m_sp=M, n_sp=N)

    def work():
        heights[:] = ground.land.ravel()
        heights[grid.core_nodes] += UPLIFT * YEARS
        router.run_one_step()
        eroder.run_one_step(YEARS)
        return heights - ground.land.ravel()

    return work


def changed(difference):
    return f"mean change {difference.mean():+.2f} m"


NO_LEDGER = "one thread; no mass ledger"
STREAM_POWER = [
    Row("thalweg, `stream_power`, rivers alone", f"cuts nothing in lakes; {FIXED}", partial(ours_stream_power, CORES, ALONE), changed),
    Row("the same, one thread", f"cuts nothing in lakes; {FIXED}", partial(ours_stream_power, 1, ALONE), changed),
    Row("thalweg, as usual: rock, multiple flow, slopes, creep, floors", FIXED, partial(ours_stream_power, CORES, {}), changed),
    Row("fastscapelib, `SPLEroder`, `MSTSinkResolver`", f"{NO_LEDGER}; cuts in lakes as on land", fastscapelib_stream_power, changed),
    Row("landlab, `FastscapeEroder`, `PriorityFloodFlowRouter`", f"{NO_LEDGER}; cuts in lakes too", landlab_stream_power, changed),
]

# Creep.


def ours_creep(threads, ground):
    def work():
        tw.set_threads(threads)
        out = tw.hillslope(ground.land, cell_size=CELL, years=CREEP_YEARS, diffusion=DIFFUSION, angle=90.0, jitter=0.0)
        return out - ground.land

    return work


def fastscapelib_creep(ground):
    fs, grid = fastscapelib_grid(ground)
    eroder = fs.DiffusionADIEroder(grid, DIFFUSION)

    def work(_=grid):
        return -eroder.erode(ground.land, CREEP_YEARS)

    return work


def landlab_creep(ground):
    from landlab.components import LinearDiffuser

    grid, heights = landlab_grid(ground)
    diffuser = LinearDiffuser(grid, linear_diffusivity=DIFFUSION)

    def work():
        heights[:] = ground.land.ravel()
        diffuser.run_one_step(CREEP_YEARS)
        return heights - ground.land.ravel()

    return work


def moved(difference):
    return f"mean size of change {np.abs(difference).mean():.3f} m"


CREEP = [
    Row("thalweg, `hillslope`", FIXED, partial(ours_creep, CORES), moved),
    Row("the same, one thread", FIXED, partial(ours_creep, 1), moved),
    Row("fastscapelib, `DiffusionADIEroder`", f"{NO_LEDGER}; one implicit step for all the years, less exact", fastscapelib_creep, moved),
    Row("landlab, `LinearDiffuser`", NO_LEDGER, landlab_creep, moved),
]

# Loading.


def load(module, _):
    lacking([module])
    return lambda: run([sys.executable, "-c", f"import {module}"])


LOADING = [
    Row(module, lacks, partial(load, module), lambda _: "")
    for module, lacks in [
        ("thalweg", ""),
        ("numpy", "arrays alone; all others load it"),
        *((other, "") for other in ("fastscapelib", "richdem", "pysheds.grid", "topotoolbox", "landlab")),
    ]
]

# Noise, measured by a program in Rust.

NOISE = [
    Row("thalweg", "f32", None, None),
    *(Row(name, f"asked cell by cell; {samples}", None, None) for name, samples in zip(CRATES, ("f32", "f64", "f64"), strict=True)),
]


def noises(program, side):
    """As `measured`: the program takes the turns itself."""
    if shutil.which(program) is None:
        return {row.name: Found(why="not here: no program thalweg-peers") for row in NOISE}
    lines = subprocess.run([program, str(side), str(ROUNDS)], capture_output=True, text=True, check=True).stdout.splitlines()
    split = [line.split("\t") for line in lines]
    return {name: Found(float(wall), float(processor), f"deviation {float(out):.3f}") for name, wall, processor, out in split}


def head():
    """The machine, and the versions of all programs."""
    here = pathlib.Path(__file__).parent
    info = pathlib.Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    try:
        system = platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        system = platform.system()
    versions = []
    for name in PACKAGES:
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"{name} not here")
    with contextlib.suppress(ImportError):
        import rasterio

        versions.append(f"GDAL of rasterio {rasterio.__gdal_version__}")
    gdal = shutil.which("gdaldem") and subprocess.run(["gdaldem", "--version"], capture_output=True, text=True).stdout
    versions.append(gdal.split(",")[0].replace("GDAL", "GDAL of gdaldem") if gdal else "gdaldem not here")
    crates = tomllib.loads((here / "noise/Cargo.lock").read_text())["package"]
    versions += [f"{crate['name']} {crate['version']}" for crate in crates if crate["name"] in CRATES]
    return f"{datetime.date.today()}; {model}, {CORES} cores; {system}, Python {platform.python_version()}; {', '.join(versions)}."


def load_average():
    return ", ".join(f"{load:.2f}" for load in os.getloadavg())


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--thalweg", default="thalweg", help="the command")
    parser.add_argument("--noise", default="thalweg-peers", help="the program of tests/peers/noise")
    parser.add_argument("--cells", type=int, nargs="+", default=TYPICAL, help="sides of the ground")
    options = parser.parse_args(words)
    sides = sorted(options.cells)
    warnings.simplefilter("ignore")
    print(head())
    print(f"Rounds: {ROUNDS}, in turns, the least of them. Sides: {', '.join(map(str, sides))}. Load average before: {load_average()}.\n", flush=True)
    for title, rows in [
        ("From an array of f64 to areas: fill, flats, D8, accumulation", FLOW),
        ("From a GeoTIFF to files: the whole command", drains(options.thalweg)),
        ("From a GeoTIFF to a shaded map: the whole command", shades(options.thalweg)),
        ("From an array of f32 to a GeoTIFF: tiles of 512, deflate, floating-point predictor", TIFF),
        (f"A step of stream power, {YEARS:.0f} years, K = {ERODIBILITY:g}, m = {M:g}, n = {N:g}, from array to array", STREAM_POWER),
        (f"Creep, {CREEP_YEARS:.0f} years, {DIFFUSION:g} m²/a, from array to array", CREEP),
    ]:
        found, before = {}, {}
        for side in sides:
            with tempfile.TemporaryDirectory() as folder:
                now = measured(rows, Ground(side, pathlib.Path(folder)), before)
            found[f"{side}²: "] = now
            before |= {name: one.wall / side**2 for name, one in now.items() if one.wall < float("inf")}
        print(table(title, rows, found), flush=True)
    print(table("Gradient noise of eight octaves, one thread", NOISE, {f"{side}²: ": noises(options.noise, side) for side in sides}))
    print(table("Loading the package: a whole process of Python", LOADING, {"": measured(LOADING, None, {})}))
    print(f"Load average after: {load_average()}.")


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
    main()
