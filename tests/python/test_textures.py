"""`thalweg.textures`: arrays of what the command writes as pictures."""

import json

import numpy as np
import pytest
from helpers import thalweg

import thalweg as tw

Image = pytest.importorskip("PIL.Image")


@pytest.fixture(scope="module")
def world(built_world):
    return built_world("alpine", "--cells", 96)


def pixels(path):
    with Image.open(path) as picture:
        return np.asarray(picture).astype(float)


def srgb(linear):
    # IEC 61966-2-1.
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * np.maximum(linear, 1e-9) ** (1 / 2.4) - 0.055)


@pytest.mark.parametrize("words, options", [
    ((), {}), (("--size", "150"), {"size": 150}), (("--from-air",), {"from_air": True}),
])
def test_arrays_are_the_commands_files(world, tmp_path, words, options):
    folder = tmp_path / "command"
    thalweg("textures", world, "-o", folder, *words)
    found = tw.textures(world, **options)
    manifest = json.loads((folder / "textures.json").read_text())
    assert found.shape == (manifest["rows"], manifest["columns"]) and found.cell_size == manifest["cell_size"]
    assert found.full == manifest["full"] == 255
    assert list(found.materials) == [weight["name"] for weight in manifest["weights"]]
    files = np.concatenate([pixels(folder / f"weights_{k}.png") for k in range(2)], axis=2)[..., : len(found.materials)]
    assert np.array_equal(found.weights, files) and found.weights.dtype == np.uint8
    assert (found.weights.sum(axis=2, dtype=int) == 255).all()
    # Codes of 8 bits: half a step, and what powers of 32 bits leave.
    near = lambda values, name: np.abs(np.clip(values, 0, 1) * 255 - pixels(folder / f"{name}.png")).max() <= 0.5 + 1e-3
    assert near(srgb(found.albedo.astype(float)), "albedo")
    assert near(found.roughness, "roughness") and near(found.occlusion, "occlusion")
    most = manifest["curvature"]["white"]
    assert near(0.5 + 0.5 * found.curvature / most, "curvature")
    speed = manifest["flow"]["blue_full"]
    east, south, fast = (found.flow[..., k] for k in range(3))
    assert near(np.stack([0.5 + 0.5 * east, 0.5 + 0.5 * south, fast / speed], axis=2), "flow")
    assert near(found.deposit / manifest["deposit"]["white"], "deposit")


def test_files_are_the_commands_bytes(world, tmp_path):
    folder = tmp_path / "command"
    thalweg("textures", world, "-o", folder, "--bits", 16)
    found = tw.textures(world, tmp_path / "out", bits=16)
    names = sorted(path.name for path in folder.iterdir())
    assert names == sorted(path.name for path in (tmp_path / "out").iterdir())
    both = [(folder / name, tmp_path / "out" / name) for name in names]
    assert all(one.read_bytes() == other.read_bytes() for one, other in both if one.suffix == ".png")
    # The manifest names its files from where it was called.
    told = [json.loads((of / "textures.json").read_text()) for of in (folder, tmp_path / "out")]
    assert len({len(manifest.pop("files")) for manifest in told}) == 1 and told[0] == told[1]
    assert found.weights.dtype == np.uint16 and (found.weights.sum(axis=2, dtype=int) == 65535).all()


def test_memory_gives_what_a_folder_gives(world):
    """A terrain of arrays with its recipe is covered as the folder is, layers and all."""
    from_file = tw.textures(world)
    terrain = tw.build("alpine", cells=96, xarray=False)
    held = tw.textures(terrain, recipe=tw.Recipe("alpine", cells=96))
    same = (held.weights == from_file.weights).mean()
    # The folder's heights are floats of 32 bits: a unit of height more or less moves a weight by a step here and there.
    assert same > 0.95 and set(held.materials) == set(from_file.materials)
    # Another climate is another cover.
    bare = tw.textures(terrain.height, cell_size=terrain.cell_size)
    assert (bare.weights == held.weights).mean() < same


def test_start_tells_what_was_worn():
    i, j = np.mgrid[0:40, 0:50]
    before = 100.0 + i + 0.5 * j
    after = before - np.where(i < 20, 3.0, -2.0)
    found = tw.textures(after, start=before, cell_size=10.0)
    assert np.allclose(found.wear, np.where(i < 20, 3.0, 0.0), atol=1e-4)
    assert np.allclose(found.deposit, np.where(i < 20, 0.0, 2.0), atol=1e-4)
    with pytest.raises(ValueError, match="start"):
        tw.textures(after, start=before[1:], cell_size=10.0)


def test_nodata_has_no_weight_and_xarray_has_places():
    land = 50.0 + np.add.outer(np.arange(30.0), np.arange(20.0))
    land[3:6, 4:9] = np.nan
    found = tw.textures(land, cell_size=5.0, size=59)
    assert found.shape == (59, 39)
    found = tw.textures(land, cell_size=5.0)
    sums = found.weights.sum(axis=2, dtype=int)
    assert np.array_equal(sums == 0, np.isnan(land)) and set(np.unique(sums)) == {0, 255}
    made = found.to_xarray()
    assert made.weights.dims == ("y", "x", "material") and made.sizes["material"] == len(found.materials)
    assert made.x.values[0] == 2.5 and made.y.values[0] == -2.5 and made.y.values[-1] == -147.5
    assert np.array_equal(made.weights.sel(material="snow"), found.weight("snow"))


def test_what_is_refused(tmp_path):
    land = np.zeros((8, 8))
    with pytest.raises(ValueError, match="bits = 12: must be one of 8, 16"):
        tw.textures(land, cell_size=1.0, bits=12)
    with pytest.raises(ValueError, match="size = 0"):
        tw.textures(land, cell_size=1.0, size=0)
    with pytest.raises(ValueError, match="unknown material `mud`; the known names are "):
        tw.textures(land, cell_size=1.0).weight("mud")
    with pytest.raises(ValueError, match="states its own"):
        tw.textures(tmp_path, cell_size=1.0)
