"""What bands say of themselves, as GDAL reads it: a name, a unit, and whole numbers where they are classes; and that layers stay layers."""

import json
import shutil

import numpy as np
import pytest
import rasterio
from helpers import JACKSBORO, refused, thalweg
from rasterio.windows import Window


UNITS = {
    "height": "m", "sediment": "m", "discharge": "m3/s", "drainage_area": "m2", "angles": "rad", "filled": "m", "lake_depth": "m",
    "bed": "m", "water_surface": "m", "distance": "m", "pool": "m",
}
CLASSES = {"stream_order", "basin", "basins", "streams", "flow_direction", "rivers", "paths", "lakes", "catchments"}


@pytest.fixture(scope="module")
def folders(built_world, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bands")
    thalweg("crop", JACKSBORO, "-o", "real.tif", "--window", "30,20,150,130", cwd=folder)
    shutil.copytree(built_world("rivers", "--cells", 128), folder / "world")
    shutil.copytree(built_world("alpine", "--cells", 128), folder / "alpine")
    thalweg("drain", "real.tif", "-o", "drained", "--runoff", "400", cwd=folder)
    thalweg("rivers", "real.tif", "-o", "net", "--quiet", cwd=folder)
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
    assert {"discharge", "drainage_area", "bed", "stream_order", "basin", "streams", "catchments"} <= seen, seen


def test_a_world_reads_its_own_layers(folders):
    """What is written as whole numbers, and with units, is read again."""
    for name, layer in [("world", "discharge"), ("world", "sediment")]:
        thalweg("render", "map", name, "-o", "layer.png", "--layer", layer, cwd=folders)
    thalweg("render", "perspective", "world", "-o", "view.png", "--size", "200x150", cwd=folders)
    thalweg("textures", "world", "-o", "cover", cwd=folders)


def test_earlier_names_of_layers_are_read(folders):
    thalweg("render", "map", "world", "-o", "layer.png", "--layer", "loose", cwd=folders)
    thalweg("export", "world", "--for", "gis", "-o", "renamed", "--layers", "loose", cwd=folders)
    assert (folders / "renamed/world_sediment.tif").exists()
    # A folder of an earlier version.
    shutil.copytree(folders / "world", folders / "earlier")
    (folders / "earlier/sediment.tif").rename(folders / "earlier/loose.tif")
    thalweg("render", "map", "earlier", "-o", "again.png", "--layer", "sediment", cwd=folders)
    assert (folders / "again.png").read_bytes() == (folders / "layer.png").read_bytes()


@pytest.mark.parametrize("name", [
    "drained/streams", "drained/basins", "drained/flow_direction", "drained/drainage_area", "drained/discharge", "alpine/stream_order", "alpine/basin",
])
def test_a_cropped_layer_is_that_layer(folders, name):
    thalweg("crop", f"{name}.tif", "-o", "part.tif", "--window", "5,7,31,22", cwd=folders)
    window = Window(5, 7, 31, 22)
    with rasterio.open(folders / f"{name}.tif") as whole, rasterio.open(folders / "part.tif") as part:
        assert np.array_equal(part.read(1), whole.read(1, window=window)), name
        assert (part.dtypes, part.units, part.nodata) == (whole.dtypes, whole.units, whole.nodata)
        assert part.transform.almost_equals(whole.window_transform(window), 1e-6)
    error = refused("crop", f"{name}.tif", "-o", "no.tif", "--window", "5,7,3100,22", cwd=folders)
    assert "window" in error and not (folders / "no.tif").exists()


def test_exported_maps_keep_units(folders):
    thalweg("export", "drained", "--for", "gis", "-o", "gis", "--layers", "drainage_area,discharge,streams", cwd=folders)
    for layer, unit in [("drainage_area", "m2"), ("discharge", "m3/s"), ("streams", None)]:
        with rasterio.open(folders / f"gis/drained_{layer}.tif") as file:
            assert file.units[0] == unit and file.descriptions[0] == layer


def test_layers_of_another_place_are_refused(folders):
    thalweg("crop", JACKSBORO, "-o", "other.tif", "--window", "60,20,150,130", cwd=folders)
    error = refused("export", "real.tif", "--for", "gis", "-o", "wrong", "--layers", "other.tif", cwd=folders)
    assert "covers another area" in error and not list((folders / "wrong").glob("*.tif"))


def test_a_refused_range_says_one_that_is_taken(folders):
    error = refused("export", "real.tif", "--for", "unreal", "-o", "ranged", "--range", "0,1", cwd=folders)
    low, high = error.split("all heights, ")[1].split(" m")[0].split(" to ")
    thalweg("export", "real.tif", "--for", "unreal", "-o", "ranged", f"--range={low},{high}", cwd=folders)


def test_a_harmed_file_is_made_anew(folders):
    thalweg("export", "real.tif", "--for", "bevy", "-o", "bevy", "--tiles", "3", cwd=folders)
    files = {path.name: path.read_bytes() for path in (folders / "bevy").iterdir()}
    assert len(files) == 10 and not any(name.startswith(".") for name in files)
    for name, harm in [("real_x0_y0.r16", b""), ("real_x1_y1.r16", files["real_x1_y1.r16"][:-2]), ("real_x2_y0.r16", files["real_x2_y0.r16"][::-1])]:
        (folders / "bevy" / name).write_bytes(harm)
    thalweg("export", "real.tif", "--for", "bevy", "-o", "bevy", "--tiles", "3", cwd=folders)
    assert files == {path.name: path.read_bytes() for path in (folders / "bevy").iterdir()}


def test_textures_leave_what_they_read(folders):
    thalweg("generate", "gradient_noise", "-o", "albedo.png", "--cells", "30", "--cell-size", "9", cwd=folders)
    before = (folders / "albedo.png").read_bytes()
    assert "albedo.png" in refused("textures", "albedo.png", "-o", ".", cwd=folders)
    assert (folders / "albedo.png").read_bytes() == before
    # A map that the next run does not write goes; the manifest names files from its own folder on.
    thalweg("textures", "real.tif", "-o", "worn", "--start", "real.tif", cwd=folders)
    assert (folders / "worn/wear.png").exists()
    thalweg("textures", "real.tif", "-o", "worn", cwd=folders)
    assert not (folders / "worn/wear.png").exists()
    told = json.loads((folders / "worn/textures.json").read_text(encoding="utf-8"))
    assert "albedo.png" in told["files"] and all((folders / "worn" / file).exists() for file in told["files"])
