"""Stores by the workers of Dask: the bytes of one machine's, though workers are killed and shards spoiled."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("xarray")
pytest.importorskip("distributed")
rasterio = pytest.importorskip("rasterio")

from distributed import Client, LocalCluster
from helpers import ROOT, shard_hashes, thalweg

import thalweg as tw
from thalweg import _core
from thalweg import dask as by_dask

LAYERS = ("height", "filled", "flow_direction", "angle", "drainage_area", "basin", "order", "lake", "depth")


def model(path: Path, rows: int, columns: int, seed: int) -> None:
    """Hills in whole metres, so with ties and flats, and a hole without data over borders of tiles."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:rows, :columns]
    heights = 300 + 60 * np.sin(x / 41) * np.cos(y / 33) + 12 * np.sin(x / 9 + y / 13) + rng.random((rows, columns)) * 4
    heights = np.maximum(heights.round(), 270).astype("float32")
    heights[np.hypot(y - rows / 2, x - columns / 2) < 20] = -9999
    transform = rasterio.transform.from_origin(432_100, 5_678_900, 30, 30)
    profile = {"width": columns, "height": rows, "count": 1, "dtype": "float32", "nodata": -9999, "crs": "EPSG:32633"}
    with rasterio.open(path, "w", driver="GTiff", transform=transform, tiled=True, blockxsize=128, blockysize=128, **profile) as file:
        file.write(heights, 1)


def alone(source: Path, store: Path, tile: int) -> None:
    """The same work in this process, part after part."""
    plan = store.with_suffix(".plan.json")
    _core.plan_drain(source, store, plan, tile, {}, {})
    work = _core.Work(plan)
    for stage in range(len(work.stages)):
        for part in reversed(range(work.tiles)):
            assert work.tile(stage, part) is None
        assert work.solve(stage) is None


def count_bytes() -> None:
    """Has a worker count what it receives and sends from now on, of whomever and to whomever."""
    from distributed.comm import tcp

    counts, read, write = [0, 0], tcp.read_bytes_rw, tcp.TCP.write

    async def counted_read(stream: object, n: int) -> object:
        counts[0] += n
        return await read(stream, n)

    async def counted_write(self: object, *args: object, **options: object) -> int:
        sent = await write(self, *args, **options)
        counts[1] += sent
        return sent

    tcp.read_bytes_rw, tcp.TCP.write, tcp.counts = counted_read, counted_write, counts


def counted(dask_worker: object) -> list[int]:
    """What was counted, and by its own account how often something came from another worker."""
    from distributed.comm import tcp

    return [*tcp.counts, dask_worker.state.transfer_incoming_count_total]


def test_dask_gives_the_bytes_of_one_process_and_the_values_of_drain(tmp_path: Path) -> None:
    source = tmp_path / "model.tif"
    model(source, 330, 410, 1)
    alone(source, tmp_path / "alone.zarr", 128)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        client.run(count_bytes)
        reports: list[tw.Progress] = []
        found = by_dask.drain(source, tmp_path / "dask.zarr", client, tile=128, progress=reports.append)
        assert [report.done for report in reports] == list(range(1, reports[0].total + 1))
        # What tiles say to one another lies on the disk: with the scheduler workers speak of numbers, with one another not at all.
        counts = list(client.run(counted).values())
        assert sum(map(sum, counts)) < 1000 * 12 * 128 and all(count[:2] > [5000, 5000] for count in counts), counts
        assert all(count[2] == 0 for count in counts), counts
        assert shard_hashes(tmp_path / "dask.zarr") == shard_hashes(tmp_path / "alone.zarr")
        assert found.filled.chunks == ((128, 128, 74), (128, 128, 128, 26))
        whole = tw.drain(tw.read(source))
        void = np.isnan(found.height.values)
        assert void.sum() > 1000
        np.testing.assert_array_equal(found.filled.values[~void], np.asarray(whole.filled)[~void])
        directions = found.flow_direction.values
        np.testing.assert_array_equal(directions, np.where(void, directions, whole.flow_direction))
        np.testing.assert_array_equal(np.nan_to_num(found.drainage_area.values)[~void], np.asarray(whole.drainage_area)[~void])
    assert (tmp_path / "dask.streams.fgb").exists()
    assert (tmp_path / "dask.lakes.csv").read_bytes() == (tmp_path / "alone.lakes.csv").read_bytes()
    # A collection bears the name of its file.
    lines = [(tmp_path / f"{name}.lakes.geojson").read_text() for name in ("dask", "alone")]
    assert lines[0] == lines[1].replace('"alone.lakes"', '"dask.lakes"') and lines[0].count('"Polygon"') > 10
    assert json.loads((tmp_path / "dask.report.json").read_text())["streams"]["reaches"] > 0


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_killed_worker_and_a_client_that_begins_again_change_no_byte(tmp_path: Path) -> None:
    source = tmp_path / "model.tif"
    model(source, 520, 610, 2)
    alone(source, tmp_path / "alone.zarr", 64)
    store = tmp_path / "dask.zarr"
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        killed = threading.Event()

        def kill() -> None:
            marks = store / "marks"
            while len(list(marks.rglob("*.json"))) < 150:
                time.sleep(0.01)
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
            killed.set()

        killer = threading.Thread(target=kill, daemon=True)
        killer.start()
        by_dask.drain(source, store, client, tile=64)
        killer.join(30)
        assert killed.is_set()
    assert shard_hashes(store) == shard_hashes(tmp_path / "alone.zarr")
    # What is done is not made again, by whoever begins.
    before = {path: path.stat().st_mtime_ns for path in store.rglob("*") if "/c/" in path.as_posix() and path.is_file()}
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        by_dask.drain(source, store, client, tile=64)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    # A shard that was altered, and one that is gone, are found and made anew alone.
    spoiled, gone = store / "filled/c/3/4", store / "order/c/2/2"
    spoiled.write_bytes(spoiled.read_bytes()[:-9] + b"123456789")
    gone.unlink()
    assert {(layer, tile) for layer, tile, _ in _core.verify(store)} == {("filled", 34), ("order", 22)}
    assert _core.Work(store.with_suffix(".plan.json")).mend() == 2
    assert shard_hashes(store) == shard_hashes(tmp_path / "alone.zarr")
    assert {path for path in before if path.stat().st_mtime_ns != before[path]} == {spoiled, gone}


CLIENT = """
import sys
from distributed import Client, LocalCluster
from thalweg import dask as by_dask
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        by_dask.drain(sys.argv[1], sys.argv[2], client, tile=64)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_client_that_is_killed_midway_and_begun_again_changes_no_byte(tmp_path: Path) -> None:
    source, store, script = tmp_path / "model.tif", tmp_path / "dask.zarr", tmp_path / "client.py"
    model(source, 400, 500, 7)
    alone(source, tmp_path / "alone.zarr", 64)
    script.write_text(CLIENT)
    # With all that it started: its workers do not outlive it for long, but may meet the next ones.
    client = subprocess.Popen([sys.executable, str(script), str(source), str(store)], start_new_session=True)
    while len(list((store / "marks").rglob("*.json"))) < 120:
        assert client.poll() is None
        time.sleep(0.01)
    os.killpg(client.pid, signal.SIGKILL)
    client.wait()
    before = {path: path.stat().st_mtime_ns for path in (store / "marks").rglob("[0-9]*.json")}
    assert before and len(before) < len(LAYERS) * 7 * 8
    subprocess.run([sys.executable, str(script), str(source), str(store)], check=True)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert shard_hashes(store) == shard_hashes(tmp_path / "alone.zarr")


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_the_example_of_the_page_with_a_worker_killed(tmp_path: Path) -> None:
    """What docs/large.md shows for a cluster, word for word but for where the scheduler and the disk are."""
    page = (ROOT / "docs/large.md").read_text(encoding="utf-8")
    example = next(block for block in page.split("```") if "by_dask.drain(" in block and "tls://" in block).partition("\n")[2]
    here = {'"tls://scheduler:8786", security=security': "cluster", "/shared": str(tmp_path)}
    for there, place in here.items():
        assert there in example
        example = example.replace(there, place)
    model(tmp_path / "big.tif", 2100, 2200, 8)
    alone(tmp_path / "big.tif", tmp_path / "alone.zarr", 1024)
    marks = tmp_path / "big.zarr" / "marks"
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            workers = list(client.run(os.getpid).values())
        killed = threading.Event()

        def kill() -> None:
            while len(list(marks.rglob("*.json"))) < 12:
                time.sleep(0.005)
            os.kill(workers[0], signal.SIGKILL)
            killed.set()

        threading.Thread(target=kill, daemon=True).start()
        names: dict[str, object] = {"cluster": cluster}
        exec(example, names)
        assert killed.is_set()
        names["client"].close()  # type: ignore[attr-defined]
    assert shard_hashes(tmp_path / "big.zarr") == shard_hashes(tmp_path / "alone.zarr")


@pytest.mark.skipif("THALWEG" not in os.environ, reason="no command beside which to set it")
def test_a_world_is_built_as_the_command_builds_it(tmp_path: Path) -> None:
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        found = by_dask.build("hills", tmp_path / "dask.zarr", client, cells=1536, seed=5, age=0.5)
        with pytest.raises(ValueError, match="preview does not apply together with level"):
            by_dask.build("hills", tmp_path / "no.zarr", client, preview=True, level=1)
        with pytest.raises(TypeError, match="unknown keyword `from_file`"):
            by_dask.build("aged", tmp_path / "no.zarr", client, from_file="a.tif")
    assert found.sizes["y"] >= 1536 and np.isfinite(found.height[::7, ::7].values).all()
    words = ["--cells", 1536, "--seed", 5, "--age", 0.5]
    thalweg("build", "hills", *words, "--out", tmp_path / "alone.zarr", "--quiet")
    assert shard_hashes(tmp_path / "dask.zarr") == shard_hashes(tmp_path / "alone.zarr")


def test_a_model_by_tiles_gives_what_it_gives_in_memory_and_what_the_command_gives(tmp_path: Path) -> None:
    source = tmp_path / "model.tif"
    model(source, 200, 240, 6)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        parameters = {"steps": 6, "talus": 4.0, "rock_talus": 4.0}
        found = by_dask.apply("thermal", source, tmp_path / "dask.zarr", client, tile=128, parameters=parameters)
        whole = tw.models.thermal(tw.read(source), **parameters, full=True)
        void = np.isnan(found.height.values)
        assert void.sum() > 1000
        np.testing.assert_array_equal(found.height.values[~void], np.asarray(whole.height)[~void])
        assert float(np.nanmax(found.sediment.values)) > 0.0
        with pytest.raises(ValueError, match="a model that can run by tiles"):
            by_dask.apply("glacier", source, tmp_path / "no.zarr", client)
        with pytest.raises(ValueError, match="unknown parameter `talsu`.*did you mean `talus`"):
            by_dask.apply("thermal", source, tmp_path / "no.zarr", client, parameters={"talsu": 4.0})
        with pytest.raises(ValueError, match="unknown input layer `hardnes`"):
            by_dask.apply("thermal", source, tmp_path / "no.zarr", client, layers={"hardnes": source})
    if "THALWEG" in os.environ:
        words = ["job", "plan", "apply", "thermal", source, "--set", "steps=6", "--set", "talus=4", "--set", "rock_talus=4"]
        plan, store = tmp_path / "alone.json", tmp_path / "alone.zarr"
        thalweg(*words, "--tile", 128, "-o", plan, "--store", store, "--quiet")
        by_dask.execute_plan(plan)
        assert shard_hashes(store) == shard_hashes(tmp_path / "dask.zarr")


def test_what_fails_in_a_task_is_raised_with_its_words(tmp_path: Path) -> None:
    source = tmp_path / "model.tif"
    model(source, 90, 100, 3)
    with rasterio.open(source, "r+") as file:
        file.write(np.full((5, 5), 99_999, "float32"), 1, window=((50, 55), (60, 65)))
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        with pytest.raises(ValueError, match="row 50, column 60"):
            by_dask.drain(source, tmp_path / "a.zarr", client, tile=64)
        with pytest.raises(ValueError, match="must be one of open, closed"):
            by_dask.drain(source, tmp_path / "a.zarr", client, edges="round")
