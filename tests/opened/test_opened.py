"""Files opened in the programs that they are for: Blender, Godot and QGIS themselves. Part of `cargo xtask test --long`, which installs them.

tests/interop has a small twin of each, by decoders of our own: test_export.py and test_files.py.
"""

import json
import os
import pathlib

import numpy as np
import pytest
import rasterio
from helpers import JACKSBORO, read_band, run, thalweg

HERE = pathlib.Path(__file__).parent


def run_program(folder, *words):
    # The Python in Blender looks for its packages beside the first `python3` of the path, so that of a virtual or other
    # environment would hide the system's NumPy.
    done = run(words, folder, env={**os.environ, "PATH": os.pathsep.join(["/usr/bin", "/bin", os.environ["PATH"]])})
    assert done.returncode == 0, done.stdout + done.stderr


def export(folder, source, target, *more):
    out = folder / f"{target}-{source.stem}-{'-'.join(more).replace('--', '')}"
    thalweg("export", source, "--for", target, "-o", out, "--quiet", *more, cwd=folder)
    return out, json.loads((out / "manifest.json").read_text(encoding="utf-8"))


def heights(path):
    return read_band(path).astype(float)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("opened")
    thalweg("build", "alpine", "--cells", 1024, "--out", "alpine", "--type", "f64", "--quiet", cwd=folder)
    return folder


@pytest.fixture(params=["alpine", "jacksboro"])
def source(request, folder):
    """A folder of a made world, or a real model's file; and its heights, one to a sample that is exported."""
    path = folder / "alpine" if request.param == "alpine" else JACKSBORO
    return path, heights(path / "height.tif" if path.is_dir() else path)


@pytest.mark.parametrize("ending", ["exr", "png"])
def test_blender_stands_where_the_land_does(folder, source, ending):
    path, expected = source
    out, manifest = export(folder, path, "blender", "--format", ending)
    run_program(folder, "blender", "--background", "--factory-startup", "-noaudio", "--python-exit-code", 3, "--python", HERE / "in_blender.py", "--", out, out / "seen.npy")
    seen = np.load(out / "seen.npy")
    rows, columns = expected.shape
    down, across = manifest["spacing_m"]
    i = np.rint((rows - 1) / 2 - seen[:, 1] / down).astype(int)
    j = np.rint((columns - 1) / 2 + seen[:, 0] / across).astype(int)
    found = np.full(expected.shape, np.nan)
    found[i, j] = seen[:, 2]
    # A step of the codes, and what single precision leaves of metres.
    step = 0 if ending == "exr" else (manifest["maximum"] - manifest["minimum"]) / 65535
    assert np.abs(found - expected).max() <= 0.51 * step + 4e-4
    assert np.abs(seen[:, 0]).max() == pytest.approx((columns - 1) / 2 * across, rel=1e-6)


def test_blender_stands_a_mesh_upright_with_its_water(folder):
    thalweg("build", "lakes", "--cells", 160, "--out", "lakes", "--type", "f64", "--quiet", cwd=folder)
    thalweg("mesh", "lakes", "-o", "lakes.glb", cwd=folder)
    run_program(folder, "blender", "--background", "--factory-startup", "-noaudio", "--python-exit-code", 3, "--python", HERE / "in_blender_mesh.py", "--", "lakes.glb", "seen.json")
    said = json.loads((folder / "seen.json").read_text(encoding="utf-8"))
    ground = heights(folder / "lakes/height.tif")
    with rasterio.open(folder / "lakes/height.tif") as file:
        cell = file.transform.a
    half = 159 / 2 * cell
    land = said["terrain"]
    # Half a centimetre is what the usual steps leave.
    assert land["low"] == pytest.approx([-half, -half, ground.min()], abs=0.02)
    assert land["high"] == pytest.approx([half, half, ground.max()], abs=0.02)
    i, j = np.unravel_index(ground.argmax(), ground.shape)
    assert land["top"][:2] == pytest.approx([j * cell - half, half - i * cell], abs=0.02)
    for name in ("lakes", "rivers"):
        (_, colour), = said[name]["materials"]
        assert colour[2] > 1.5 * colour[0] and colour[2] > colour[1], (name, colour)
        assert said[name]["low"][2] >= ground.min() - 0.02 and said[name]["high"][2] <= ground.max() + 50


@pytest.mark.parametrize("target, ending", [("terrain3d", "exr"), ("terrain3d", "r16"), ("hterrain", "raw")])
def test_godot_reads_the_heights(folder, source, target, ending):
    path, _ = source
    out, manifest = export(folder, path, target, "--format", ending)
    columns, rows = manifest["tile_samples"]
    file = out / manifest["files"][0]["file"]
    (out / "project.godot").write_text("config_version=4\n")
    run_program(out, "godot3-server", "--path", out, "-s", HERE / "in_godot.gd", ending, file, columns, rows, out / "seen.f32")
    seen = np.fromfile(out / "seen.f32", "<f4").reshape(rows, columns).astype(float)
    low, high = manifest["minimum"], manifest["maximum"]
    if ending == "exr":
        bound = 2.0**-10 * np.abs([low, high]).max()  # Godot 3 keeps halves, and cuts
    else:
        seen, bound = low + seen / 65535 * (high - low), 0.51 * (high - low) / 65535
    height = path / "height.tif" if path.is_dir() else path
    if len(set(manifest["spacing_m"])) > 1:
        # No raster has such cells: the same samples as another program gets them.
        same, other = export(folder, path, "bevy", "--format", "r16", "--size", f"{columns}x{rows}")
        codes = np.fromfile(same / other["files"][0]["file"], "<u2").reshape(rows, columns)
        expected = other["minimum"] + codes / 65535 * (other["maximum"] - other["minimum"])
    else:
        thalweg("resample", height, "-o", out / "same.tif", "--cells", f"{columns}x{rows}", "--type", "f64", cwd=out)
        expected = heights(out / "same.tif")
    assert np.abs(seen - expected).max() <= bound + 1e-4


def asked(folder, *paths):
    paths = [str(path) for path in paths]
    run_program(folder, "/usr/bin/python3", HERE / "in_qgis.py", ",".join(paths), folder / "qgis.json")
    said = json.loads((folder / "qgis.json").read_text(encoding="utf-8"))
    return [said[path] for path in paths]


def test_qgis_reads_maps_where_they_lie(folder, source):
    path, expected = source
    out, manifest = export(folder, path, "gis")
    raster = out / manifest["files"][0]["file"]
    (said,) = asked(folder, raster)
    with rasterio.open(raster) as file:
        bounds, crs = list(file.bounds), file.crs
    assert said["valid"] and said["size"] == list(expected.shape[::-1]) and said["extent"] == pytest.approx(bounds, abs=1e-6)
    assert said["style"] == "singlebandpseudocolor"
    assert said["crs"] == (f"EPSG:{crs.to_epsg()}" if crs else "")
    for i, j, value in said["values"]:
        assert value == pytest.approx(expected[i, j], abs=1e-3)


def test_qgis_takes_metres_for_metres(folder):
    world = folder / "alpine"
    thalweg("drain", JACKSBORO, "-o", "drained", "--quiet", cwd=folder)
    made = [world / f"{name}.{ending}" for name in ("rivers", "lakes") for ending in ("geojson", "fgb")]
    real = [folder / "drained" / f"streams.{ending}" for ending in ("geojson", "fgb")]
    for path, said in zip(made + real, asked(folder, *made, *real)):
        assert said["valid"] and said["count"] > 0 and said["broken"] == 0, (path, said)
        if path in real:
            assert said["crs"] == "EPSG:32616", (path, said)
        else:
            # A GeoJSON that named no system would be in degrees.
            assert said["crs"] == "" and said["unit"] in ("meters", None), (path, said)
            assert path.suffix != ".geojson" or said["unit"] == "meters"
    out, _ = export(folder, world, "gis", "--name", "packed")
    (packed,) = asked(folder, out / "packed.gpkg|layername=rivers")
    assert packed["valid"] and packed["broken"] == 0 and packed["count"] > 0
    rivers = asked(folder, *made[:2])
    assert sorted(rivers[0]["fields"]) == sorted(rivers[1]["fields"])
