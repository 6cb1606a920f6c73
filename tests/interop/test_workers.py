"""Two workers that know of each other by the disk alone, each under a limit of memory, finish a store: the bytes of one process's."""

import json
import os
import pathlib
import resource
import subprocess
import sys
import time

# A worker imports no more than this: all that it takes is the command's.
THALWEG = os.environ.get("THALWEG", "thalweg")
LIMIT = 500 * 2**20
# From 3 km² on: what streams may take at the most goes by it.
STREAMS = ["--threshold", "3000000"]


def model(path, cells):
    """Rough hills with a plain, a band of rows at a time."""
    import numpy as np
    import rasterio

    rng = np.random.default_rng(5)
    at = np.arange(cells)
    profile = {"driver": "GTiff", "width": cells, "height": cells, "count": 1, "dtype": "float32", "crs": "EPSG:32633"}
    place = rasterio.transform.from_origin(432_000, 5_678_000, 30, 30)
    with rasterio.open(path, "w", transform=place, tiled=True, blockxsize=512, blockysize=512, BIGTIFF="YES", **profile) as file:
        for top in range(0, cells, 512):
            rows = at[top : top + 512, None]
            waves = 300 + 120 * np.sin(at / 911) * np.cos(rows / 733) + 20 * np.sin(at / 61 + rows / 83)
            band = np.maximum(waves + 6 * rng.random((len(rows), cells)), 240)
            file.write(band.astype("float32"), 1, window=((top, top + len(rows)), (0, cells)))


def work(plan, number):
    """A worker: tries the parts of each stage in its own order until all are done, a process to a part."""
    told = json.loads(pathlib.Path(plan).read_text())
    tiles = list(range(told["tiles"]))[:: 1 if number == 0 else -1]
    done = 0
    for stage in (stage["name"] for stage in told["stages"]):
        for part in [*map(str, tiles), "solve"]:
            # Both may do a part at once: they write the same bytes.
            while (code := subprocess.run([THALWEG, "job", "run", plan, stage, part, "--memory", "500M", "--quiet"]).returncode) == 3:
                time.sleep(0.05)
            assert code == 0, (stage, part, code)
            done += 1
    # Of the parts alone, which this process has waited for.
    print(done, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)


def test_two_workers_of_500_mib_finish_a_store(tmp_path):
    from helpers import long_or, shard_hashes

    cells, tile = long_or((700, 512), (23_040, 1024))
    model(tmp_path / "a.tif", cells)
    plan = str(tmp_path / "two.json")
    subprocess.run([THALWEG, "job", "plan", "a.tif", "-o", plan, "--memory", "500M", "--tile", str(tile), *STREAMS, "--quiet"], cwd=tmp_path, check=True)

    def lower():
        # Of address space, as `ulimit -v` has it: what a worker starts has no more.
        resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))

    start = time.perf_counter()
    workers = [subprocess.Popen([sys.executable, __file__, plan, str(number)], preexec_fn=lower, stdout=subprocess.PIPE, text=True) for number in (0, 1)]
    said = [worker.communicate()[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0]
    store = tmp_path / "two.zarr"
    size = sum(path.stat().st_size for path in store.rglob("*") if path.is_file())
    used = max(int(line.split()[1]) for line in said)
    print(f"{size / 2**30:.2f} GiB in {time.perf_counter() - start:.0f} s, at most {used / 1024:.0f} MiB to a process")
    assert 0 < used * 1024 < LIMIT
    side = json.loads(pathlib.Path(plan).read_text())["side"]
    alone = str(tmp_path / "one.json")
    subprocess.run([THALWEG, "job", "plan", "a.tif", "-o", alone, "--tile", str(side), *STREAMS, "--quiet"], cwd=tmp_path, check=True)
    subprocess.run([sys.executable, __file__, alone, "0"], check=True, stdout=subprocess.DEVNULL)
    assert shard_hashes(store) == shard_hashes(tmp_path / "one.zarr") != {}


if __name__ == "__main__":
    work(sys.argv[1], int(sys.argv[2]))
