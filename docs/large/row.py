"""One row of tiles across a world, refined and written by two processes at once: seconds of each stage.

    python docs/large/row.py --thalweg target/release/thalweg --recipe alpine --extent 15360 --cells 98304 --row 40

A process does one tile (`thalweg job run`), as in the queue of a cluster. The files are written into a temporary folder;
--folder selects its disk.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def processor() -> float:
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--thalweg", default="thalweg")
    parser.add_argument("--recipe", default="alpine")
    parser.add_argument("--extent", type=float, default=15_360.0, help="the world's side in metres")
    parser.add_argument("--cells", type=int, default=98_304)
    parser.add_argument("--row", type=int, default=40, help="which row of tiles of 1024 cells")
    parser.add_argument("--folder", default=None)
    options = parser.parse_args()
    tall = options.extent / options.cells * 1024
    # A little within the row, so that no cell beyond is touched.
    edges = (0.0, (options.row + 1e-6) * tall, options.extent, (options.row + 1 - 1e-6) * tall)
    with tempfile.TemporaryDirectory(dir=options.folder) as place:

        def thalweg(*words: str) -> None:
            subprocess.run([str(Path(options.thalweg).absolute()), *words, "--quiet"], cwd=place, check=True)

        rect = "--rect=" + ",".join(map(repr, edges))
        thalweg("job", "plan", "build", options.recipe, "--cells", str(options.cells), rect, "-o", "row.json", "--store", "row.zarr")
        plan = json.loads((Path(place) / "row.json").read_text())
        print(f"{plan['tiles']} tiles")
        for stage in (stage["name"] for stage in plan["stages"]):
            start, before = time.perf_counter(), processor()
            with ThreadPoolExecutor(2) as both:
                # To ask for all of them raises what failed.
                list(both.map(lambda tile: thalweg("job", "run", "row.json", stage, str(tile)), range(plan["tiles"])))
            tiles, solved = time.perf_counter() - start, processor() - before
            thalweg("job", "run", "row.json", stage, "solve")
            wall, used = time.perf_counter() - start, processor() - before
            print(f"| {stage} | {tiles:.1f} s, {solved:.1f} s | {wall - tiles:.2f} s, {used - solved:.2f} s |", flush=True)
        store = sum(path.stat().st_size for path in (Path(place) / "row.zarr").rglob("*") if path.is_file())
        print(f"{store / 1e9:.2f} GB; a process at the most {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
