"""`thalweg.export`: terrains in memory and folders, as the command writes them."""

import numpy as np
import pytest

import thalweg as tw

I, J = np.mgrid[0:65, 0:65]
LAND = 100 + 0.7 * I - 0.4 * J + 9 * np.sin(I / 9)


def test_heights_in_memory_come_back(tmp_path):
    with pytest.warns(UserWarning, match="resampled from 65 × 65 to 64 × 64 samples"):
        told = tw.export(LAND, "unreal", tmp_path / "u", cell_size=10.0)
    assert told["samples"] == [64, 64] and "Scale X 1015.873015873" in told["import"]
    told = tw.export(LAND, "unity", tmp_path / "t", cell_size=10.0, tiles=(2, 2), range=(0, 300), name="hill")
    assert [file["file"] for file in told["files"]] == ["hill_0_1.raw", "hill_1_1.raw", "hill_0_0.raw", "hill_1_0.raw"]
    codes = np.fromfile(tmp_path / "t/hill_0_0.raw", "<u2").reshape(33, 33)
    heights = codes[::-1] / 65536 * 300 * 65536 / 65535
    assert np.abs(heights - LAND[32:, :33]).max() <= 0.5 * 300 / 65535 + 2e-5


def test_layers_of_a_world_and_what_is_refused(tmp_path):
    world = tw.build("hills", cells=64, seed=3)
    told = tw.export(world, "gis", tmp_path / "g", layers=["sediment"] if "sediment" in getattr(world, "layers", world) else [])
    assert told["target"] == "gis" and told["samples"] == [64, 64]
    with pytest.raises(ValueError, match="unknown target `unrael`; did you mean `unreal`"):
        tw.export(LAND, "unrael", tmp_path / "n", cell_size=10.0)
    with pytest.raises(ValueError, match="contains another export, for gis"):
        tw.export(LAND, "bevy", tmp_path / "g", cell_size=10.0)
    with pytest.raises(ValueError, match="edges = none"):
        tw.export(LAND, "bevy", tmp_path / "b", cell_size=10.0, edges="none")
    assert not (tmp_path / "n").exists() and not (tmp_path / "b").exists()
    assert tw.export(LAND, "bevy", tmp_path / "g", cell_size=10.0, fresh=True)["target"] == "bevy"


def test_maps_for_the_web(tmp_path):
    told = tw.export(LAND, "web", tmp_path / "w", cell_size=10.0, origin=(11.5, 47.25), zoom=(12, 14))
    assert told["zooms"] == [12, 14] and (tmp_path / "w/index.html").exists()
    west, south, east, north = told["bounds"]
    assert west < 11.5 < east and south < 47.25 < north
    with pytest.warns(UserWarning, match="0° N 0° E"):
        told = tw.export(LAND, "web", tmp_path / "t", cell_size=10.0, format="terrain")
    assert told["layers"] == ["terrain"] and (tmp_path / "t/layer.json").exists()
    with pytest.raises(ValueError, match="globe"):
        tw.export(LAND, "bevy", tmp_path / "b", cell_size=10.0, origin=(1, 2))
