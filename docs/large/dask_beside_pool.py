"""The drainage of one model by the pool of `thalweg drain` and by workers of Dask, in turns: seconds of wall and of processor, memory.

    python docs/large/dask_beside_pool.py --thalweg target/release/thalweg --source a4.tif --rounds 3

The wheel must be built as for a release (`cargo xtask wheel`). Times of Dask are of a process from its start to its end: the client, the
scheduler and its two workers are in them, and so is what they import.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DASK = """
from distributed import Client, LocalCluster
from thalweg import dask as by_dask
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        by_dask.drain(SOURCE, STORE, client, tile=1024)
"""


def timed(command: list[str]) -> tuple[float, float]:
    """Seconds of wall and of processor, all processes that it starts with it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, sum(after[:2]) - sum(before[:2])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--thalweg", default="thalweg")
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    source = options.source.absolute()
    least: dict[str, tuple[float, float]] = {}
    for turn in range(options.rounds):
        with tempfile.TemporaryDirectory() as place:
            script = Path(place) / "by_dask.py"
            script.write_text(DASK.replace("SOURCE", repr(str(source))).replace("STORE", repr(str(Path(place) / "dask.zarr"))))
            ways = {
                "the pool": [options.thalweg, "drain", str(source), "-o", str(Path(place) / "pool.zarr"), "--quiet"],
                "Dask": [sys.executable, str(script)],
            }
            for name, command in ways.items():
                wall, used = timed(command)
                print(f"{turn}: {name}: {wall:.1f} s wall, {used:.1f} s of processor", flush=True)
                had = least.get(name, (wall, used))
                least[name] = (min(had[0], wall), min(had[1], used))
    print(f"Dask over the pool, least of each: wall {least['Dask'][0] / least['the pool'][0]:.2f}, processor {least['Dask'][1] / least['the pool'][1]:.2f}")


if __name__ == "__main__":
    main()
