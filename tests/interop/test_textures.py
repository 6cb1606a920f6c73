"""Textures, from the files alone: Pillow and rasterio read them, and sums, places and light are worked out here.

    pytest tests/interop/test_textures.py
"""

import json

import numpy as np
import pytest
import rasterio
from helpers import read_band, refused, thalweg
from PIL import Image

NAMES = ["bare_rock", "scree", "soil", "grass", "forest_floor", "sand", "snow", "wet_bed"]


@pytest.fixture(scope="module")
def world(built_world):
    return built_world("alpine", "--cells", 128)


def weights(folder, manifest):
    files = [np.asarray(Image.open(folder / f"weights_{n}.png")).astype(int) for n in range(2)]
    by_name = {}
    for material in manifest["weights"]:
        file = int(material["file"][len("weights_")])
        by_name[material["name"]] = files[file][..., ["red", "green", "blue", "alpha"].index(material["channel"])]
    return by_name


def test_eight_bits_sum_to_255_and_lie_where_they_are_said_to(world, tmp_path):
    out = tmp_path / "textures"
    thalweg("textures", world, "-o", out)
    manifest = json.loads((out / "textures.json").read_text())
    assert [material["name"] for material in manifest["weights"]] == NAMES
    by_name = weights(out, manifest)
    height = read_band(world / "height.tif").astype(float)
    assert (sum(by_name.values()) == 255).all() and height.shape == (manifest["rows"], manifest["columns"])
    for material in manifest["weights"]:
        assert abs(by_name[material["name"]].mean() / 255 - material["share"]) < 1e-6

    cell = manifest["cell_size"]
    south, east = np.gradient(height, cell)
    slope = np.degrees(np.arctan(np.hypot(south, east)))
    sediment = read_band(world / "sediment.tif")
    discharge = read_band(world / "discharge.tif")
    inside = np.zeros(height.shape, bool)
    inside[1:-1, 1:-1] = True
    dry = by_name["wet_bed"] == 0
    steep = inside & (slope > 40) & (sediment < 0.1) & dry
    if steep.sum() > 20:
        assert (by_name["bare_rock"] > 127)[steep].mean() > 0.98
    # 7.2 m wide at 1 m3/s (Moody & Troutman 2002): a twentieth of a cell, and no less than what the rules say.
    rivers = discharge >= max(0.01, (0.05 * cell / 7.2) ** 2)
    assert rivers.sum() > 50 and (by_name["wet_bed"] > 127)[rivers].mean() >= 0.9
    rules = world.joinpath("recipe.toml").read_text()
    snowline, shade = (float(rules.split(f"{name} = ")[1].split(",")[0].split("}")[0]) for name in ("snowline", "shade"))
    assert by_name["snow"].any() and not by_name["snow"][height < snowline - shade - 1].any()


def test_albedo_has_no_light_in_it(world, tmp_path):
    out = tmp_path / "textures"
    # Four samples to a cell: on wide cells alone materials' own grain is too fine to be seen, and few broad waves are left to compare.
    thalweg("textures", world, "-o", out, "--bits", 16, "--size", 509)
    manifest = json.loads((out / "textures.json").read_text())
    assert (manifest["bits"], manifest["full"]) == (16, 65535)
    with rasterio.open(out / "roughness.png") as file:
        assert file.dtypes == ("uint16",)
    with rasterio.open(out / "albedo.png") as file:
        albedo = file.read().astype(float).mean(axis=0)[::4, ::4]
    by_name = {}
    for material in manifest["weights"]:
        with rasterio.open(out / material["file"]) as file:
            by_name[material["name"]] = file.read(1 + ["red", "green", "blue", "alpha"].index(material["channel"])).astype(int)
    assert (sum(by_name.values()) == 65535).all()
    height = read_band(world / "height.tif").astype(float)
    by_name = {name: weight[::4, ::4] for name, weight in by_name.items()}
    south, east = np.gradient(height, 4 * manifest["cell_size"])
    # The cartographers' sun: north-west, 45 degrees.
    light = np.clip((east * 0.5 + south * 0.5 + 2**-0.5) / np.sqrt(1 + east**2 + south**2), 0, 1)
    tried = 0
    for name, weight in by_name.items():
        pure = weight > 64000
        if pure.sum() >= 3000:
            tried += 1
            assert abs(np.corrcoef(albedo[pure], light[pure])[0, 1]) < 0.05, name
    assert tried >= 1


def test_another_size_and_what_was_worn(world, tmp_path):
    out = tmp_path / "textures"
    thalweg("textures", world, "-o", out, "--size", 257, "--start", world)
    manifest = json.loads((out / "textures.json").read_text())
    assert Image.open(out / "albedo.png").size == (257, 257) and (manifest["rows"], manifest["columns"]) == (257, 257)
    assert (sum(weights(out, manifest).values()) == 255).all()
    # The same before and after: nothing was worn.
    assert not np.asarray(Image.open(out / manifest["wear"]["file"])).any()


def test_what_is_wrong_is_named(world, tmp_path):
    assert "--bits" in refused("textures", world, "-o", tmp_path / "a", "--bits", 12, statuses=(1, 2))
    (tmp_path / "file").write_text("x")
    assert "file" in refused("textures", world, "-o", tmp_path / "file", statuses=(1, 2))
    thalweg("build", "hills", "--cells", 32, "--out", tmp_path / "other", "--quiet")
    assert "start" in refused("textures", world, "-o", tmp_path / "b", "--start", tmp_path / "other", statuses=(1, 2))
    assert not (tmp_path / "b").exists()
