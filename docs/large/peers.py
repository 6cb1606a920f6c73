"""Fill, D8 and accumulation of models of several sizes by several programs, each in a process under a limit of memory.

    python docs/large/peers.py --thalweg target/release/thalweg --cells 4096 8192 --limit 4 20

For each it prints whether it finished, seconds of wall and of processor, and the most memory that was held. The limit is on data
(RLIMIT_DATA): it counts what a program allocates, and leaves alone what its libraries only reserve. pysheds and py-richdem are read
from the packages that are installed.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RICHDEM = """
import numpy as np, rasterio, richdem as rd
heights = rd.rdarray(rasterio.open(SOURCE).read(1), no_data=-9999)
rd.FillDepressions(heights, epsilon=True, in_place=True)
print(float(np.max(rd.FlowAccumulation(heights, method="D8"))))
"""

# pysheds 0.5 names a function that NumPy 2.4 has no more.
PYSHEDS = """
import numpy as np
np.in1d = getattr(np, "in1d", np.isin)
from pysheds.grid import Grid
grid = Grid.from_raster(SOURCE)
heights = grid.fill_depressions(grid.read_raster(SOURCE))
heights = grid.resolve_flats(heights)
print(float(grid.accumulation(grid.flowdir(heights)).max()))
"""


def model(path: Path, cells: int) -> None:
    """Land of octaves of noise, and rough at every cell, a band of rows at a time."""
    import numpy as np
    import rasterio

    rng = np.random.default_rng(cells)
    octaves = [(wide, high, rng.random((cells // wide + 2,) * 2, "float32")) for wide, high in ((1024, 900), (128, 120), (16, 16), (1, 1))
               if wide > 1]
    at = np.arange(cells)
    profile = {"driver": "GTiff", "width": cells, "height": cells, "count": 1, "dtype": "float32", "nodata": -9999, "crs": "EPSG:32633"}
    place = rasterio.transform.from_origin(432_000, 5_678_000, 30, 30)
    with rasterio.open(path, "w", transform=place, tiled=True, blockxsize=512, blockysize=512, BIGTIFF="YES", **profile) as file:
        for top in range(0, cells, 512):
            rows = at[top : top + 512]
            band = rng.random((len(rows), cells), "float32")
            for wide, high, corners in octaves:
                i, j = rows // wide, at // wide
                y, x = (rows % wide / wide).astype("float32")[:, None], (at % wide / wide).astype("float32")
                upper = corners[i][:, j] * (1 - x) + corners[i][:, j + 1] * x
                lower = corners[i + 1][:, j] * (1 - x) + corners[i + 1][:, j + 1] * x
                band += high * (upper * (1 - y) + lower * y)
            file.write(band, 1, window=((top, top + len(rows)), (0, cells)))


def run(command: list[str], limit: float, longest: float) -> tuple[str, float, float, float]:
    """How it ended, seconds of wall and of processor, GiB at the most."""

    def lower() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (int(limit * 2**30),) * 2)

    start = time.perf_counter()
    child = subprocess.Popen(command, preexec_fn=lower, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    peak, end = 0, "finished"
    while child.poll() is None:
        try:
            status = Path(f"/proc/{child.pid}/status").read_text()
            peak = max(peak, *(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")))
        except (OSError, ValueError, TypeError):
            pass
        if time.perf_counter() - start > longest:
            child.kill()
            end = f"ended after {longest:.0f} s"
        time.sleep(0.02)
    wall = time.perf_counter() - start
    before = getattr(run, "used", 0.0)
    used = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    run.used = used  # type: ignore[attr-defined]
    words = (child.stderr.read() if child.stderr else "").strip().splitlines()
    if child.returncode != 0 and end == "finished":
        end = f"failed: {words[-1] if words else f'signal {-child.returncode}'}"
    return end, wall, used - before, peak / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--thalweg", default="thalweg")
    parser.add_argument("--cells", type=int, nargs="+", default=[4096, 8192])
    parser.add_argument("--limit", type=float, nargs="+", default=[4.0, 20.0], help="GiB")
    parser.add_argument("--longest", type=float, default=300.0, help="seconds")
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--only", nargs="+", default=None, help="programs whose name has one of these words")
    options = parser.parse_args()
    python = [sys.executable, "-c"]
    with tempfile.TemporaryDirectory(dir=options.folder) as place:
        for cells in options.cells:
            source = Path(place) / f"{cells}.tif"
            model(source, cells)
            for limit in options.limit:
                store = Path(place) / f"{cells}-{limit}.zarr"
                programs = {
                    "thalweg drain, by tiles": [options.thalweg, "drain", str(source), "-o", str(store), "--memory", f"{limit}G"],
                    "py-richdem": [*python, RICHDEM.replace("SOURCE", repr(str(source)))],
                    "pysheds": [*python, PYSHEDS.replace("SOURCE", repr(str(source)))],
                }
                for name, command in programs.items():
                    if options.only and not any(word in name for word in options.only):
                        continue
                    end, wall, used, peak = run(command, limit, options.longest)
                    print(f"| {name} | {cells}² | {limit:g} GiB | {end} | {wall:.1f} s | {used:.1f} s | {peak:.2f} GiB |", flush=True)
                subprocess.run(["rm", "-rf", str(store), str(store.with_suffix(".work"))], check=True)
            os.remove(source)


if __name__ == "__main__":
    main()
