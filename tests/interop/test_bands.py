"""What bands say of themselves, as GDAL reads it: a name, a unit, and whole numbers where they are classes; and that layers stay layers."""

import os
import pathlib
import subprocess

import numpy as np
import pytest
import rasterio
from rasterio.windows import Window

ROOT = pathlib.Path(__file__).resolve().parents[2]
REAL = ROOT / "crates/thalweg-sim/presets/jacksboro.tif"
THALWEG = os.environ["THALWEG"]

UNITS = {
    "height": "m", "loose": "m", "discharge": "m3/s", "accumulation": "m2", "angles": "rad", "filled": "m", "lake_depth": "m",
    "bed": "m", "water_surface": "m", "distance": "m", "pool": "m",
}
CLASSES = {"stream_order", "basin", "basins", "streams", "directions", "rivers", "paths", "lakes", "catchments"}


def run(folder, *words, code=0):
    done = subprocess.run([THALWEG, *map(str, words)], cwd=folder, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == code, done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bands")
    run(folder, "crop", REAL, "-o", "real.tif", "--window", "30,20,150,130")
    run(folder, "build", "rivers", "--cells", "96", "--out", "world", "--quiet")
    run(folder, "build", "alpine", "--cells", "64", "--out", "alpine", "--quiet", "--type", "f64")
    run(folder, "drain", "real.tif", "-o", "drained", "--runoff", "400")
    run(folder, "rivers", "real.tif", "-o", "net", "--quiet")
    return folder


def test_bands_have_names_units_and_types(folders):
    seen = set()
    for name in ["world", "alpine", "drained", "net"]:
        for path in (folders / name).glob("*.tif"):
            with rasterio.open(path) as file:
                assert file.descriptions[0], path
                if path.stem in UNITS:
                    assert file.units[0] == UNITS[path.stem], path
                    seen.add(path.stem)
                if path.stem in CLASSES:
                    assert file.dtypes[0] in ("uint8", "uint32"), (path, file.dtypes)
                    seen.add(path.stem)
    assert {"discharge", "accumulation", "bed", "stream_order", "basin", "streams", "catchments"} <= seen, seen


def test_a_world_reads_its_own_layers(folders):
    """What is written as whole numbers, and with units, is read again."""
    for name, layer in [("world", "discharge"), ("world", "loose")]:
        run(folders, "shade", name, "-o", "layer.png", "--layer", layer)
    run(folders, "view", "world", "-o", "view.png", "--size", "200x150")
    run(folders, "textures", "world", "-o", "cover")


@pytest.mark.parametrize("name", [
    "drained/streams", "drained/basins", "drained/directions", "drained/accumulation", "drained/discharge", "alpine/stream_order", "alpine/basin",
])
def test_a_cropped_layer_is_that_layer(folders, name):
    run(folders, "crop", f"{name}.tif", "-o", "part.tif", "--window", "5,7,31,22")
    window = Window(5, 7, 31, 22)
    with rasterio.open(folders / f"{name}.tif") as whole, rasterio.open(folders / "part.tif") as part:
        assert np.array_equal(part.read(1), whole.read(1, window=window)), name
        assert (part.dtypes, part.units, part.nodata) == (whole.dtypes, whole.units, whole.nodata)
        assert part.transform.almost_equals(whole.window_transform(window), 1e-6)
    error = run(folders, "crop", f"{name}.tif", "-o", "no.tif", "--window", "5,7,3100,22", code=1)
    assert "window" in error and not (folders / "no.tif").exists()


def test_exported_maps_keep_units(folders):
    run(folders, "export", "drained", "--for", "gis", "-o", "gis", "--layers", "accumulation,discharge,streams")
    for layer, unit in [("accumulation", "m2"), ("discharge", "m3/s"), ("streams", None)]:
        with rasterio.open(folders / f"gis/drained_{layer}.tif") as file:
            assert file.units[0] == unit and file.descriptions[0] == layer


def test_layers_of_another_place_are_refused(folders):
    run(folders, "crop", REAL, "-o", "other.tif", "--window", "60,20,150,130")
    error = run(folders, "export", "real.tif", "--for", "gis", "-o", "wrong", "--layers", "other.tif", code=1)
    assert "lies elsewhere" in error and not list((folders / "wrong").glob("*.tif"))


def test_a_refused_range_says_one_that_is_taken(folders):
    error = run(folders, "export", "real.tif", "--for", "unreal", "-o", "ranged", "--range", "0,1", code=1)
    low, high = error.split("all heights, ")[1].split(" m")[0].split(" to ")
    run(folders, "export", "real.tif", "--for", "unreal", "-o", "ranged", f"--range={low},{high}")


def test_a_harmed_file_is_made_anew(folders):
    run(folders, "export", "real.tif", "--for", "bevy", "-o", "bevy", "--tiles", "3")
    files = {path.name: path.read_bytes() for path in (folders / "bevy").iterdir()}
    assert len(files) == 10 and not any(name.startswith(".") for name in files)
    for name, harm in [("real_x0_y0.r16", b""), ("real_x1_y1.r16", files["real_x1_y1.r16"][:-2]), ("real_x2_y0.r16", files["real_x2_y0.r16"][::-1])]:
        (folders / "bevy" / name).write_bytes(harm)
    run(folders, "export", "real.tif", "--for", "bevy", "-o", "bevy", "--tiles", "3")
    assert files == {path.name: path.read_bytes() for path in (folders / "bevy").iterdir()}


def test_textures_leave_what_they_read(folders):
    run(folders, "generate", "gradient_noise", "-o", "albedo.png", "--cells", "30", "--cell-size", "9")
    before = (folders / "albedo.png").read_bytes()
    assert "albedo.png" in run(folders, "textures", "albedo.png", "-o", ".", code=1)
    assert (folders / "albedo.png").read_bytes() == before
    # A map that the next run does not write goes; the manifest names files from its own folder on.
    run(folders, "textures", "real.tif", "-o", "worn", "--start", "real.tif")
    assert (folders / "worn/wear.png").exists()
    run(folders, "textures", "real.tif", "-o", "worn")
    assert not (folders / "worn/wear.png").exists()
    import json

    told = json.loads((folders / "worn/textures.json").read_text(encoding="utf-8"))
    assert "albedo.png" in told["files"] and all((folders / "worn" / file).exists() for file in told["files"])
