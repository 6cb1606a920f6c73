"""Every model is a function, made of its declaration."""

import inspect
import re

import numpy as np
import pytest

import thalweg as tw
from thalweg import _core, models
from thalweg._operations import cite

PAGES = {page["name"]: page for page in _core.models()}


@pytest.mark.parametrize("name", PAGES)
def test_a_function_says_all_that_is_declared(name):
    page, function = PAGES[name], getattr(models, name)
    signature = inspect.signature(function)
    # Lines are wrapped.
    text = " ".join(inspect.getdoc(function).split())
    assert text.startswith(page["summary"]) and cite(page["source"]) in text
    for one in page["parameters"]:
        assert signature.parameters[one["name"]].default == one["default"] and signature.parameters[one["name"]].annotation.__name__ == one["kind"]
        for words in (one["meaning"], cite(one["source"]), *(f"``{word}``: {about}" for word, about in one["words"])):
            assert words in text, words
        head = text.split(f" {one['name']} : ")[1].split(one["meaning"])[0]
        assert head.startswith("{" if one["words"] else one["kind"]) and head.endswith(f", default {one['default']!r} ")
        if one["kind"] in ("float", "int"):
            bounds = re.findall(r"[-\d.]+", one["allowed"])
            assert bounds and all(bound in head for bound in bounds), head
            assert one["unit"] == "1" or one["unit"] in head
    for spec in page["needs"] + page["uses"] + page["writes"]:
        assert f"``{spec[0]}`` [{spec[1]}]: {spec[2]}" in text
    for section in ("Parameters", "Returns", "Raises", "Notes", "Examples"):
        assert text.count(f" {section} {'-' * len(section)} ") == 1
    own = {one["name"] for one in page["parameters"]}
    # Where a parameter has the name of what all functions take, that is the world's.
    common = {name: f"world_{name}" if name in own else name for name in models.COMMON}
    assert {name for name in signature.parameters if name not in own} - {"dem", "shape"} <= set(common.values())
    assert "dem" not in own and all(one.isidentifier() for one in own)


def test_a_worlds_seed_has_another_name_where_a_model_has_its_own():
    dem = tw.gradient_noise(shape=(48, 48), cell_size=20.0, amplitude=50.0)
    clashes = [name for name in PAGES if "world_seed" in inspect.signature(getattr(models, name)).parameters]
    for name in clashes:
        assert PAGES[name]["family"] == "analysis", "give it full=True here"
        one, other = (getattr(models, name)(dem, cell_size=20.0, world_seed=seed).fingerprints() for seed in (1, 2))
        assert one != other
    assert clashes, "no model has a parameter of that name any more: this test, and what it tests, may go"


@pytest.mark.parametrize("name", [name for name, page in PAGES.items() if page["family"] == "base"])
def test_base_models_make_ground(name):
    page = PAGES[name]
    if page["needs"]:
        with pytest.raises(ValueError, match=f"is missing: the model `{name}` needs it"):
            getattr(models, name)(shape=(32, 40), cell_size=50.0)
        return
    ground = getattr(models, name)(shape=(32, 40), cell_size=50.0, seed=3)
    assert ground.shape == (32, 40) and ground.dtype == np.float64 and np.isfinite(ground).all()
    with pytest.raises(TypeError, match="needs dem, an elevation model, or shape"):
        getattr(models, name)()
    with pytest.raises(TypeError, match="either dem or shape, not both"):
        getattr(models, name)(ground, shape=(3, 3), cell_size=1.0)


@pytest.mark.parametrize("name", [name for name, page in PAGES.items() if page["family"] != "base" and not page["needs"]])
def test_models_run_over_an_array(name):
    dem = tw.gradient_noise(shape=(48, 48), cell_size=50.0, amplitude=400.0, wavelength=1200.0)
    out = getattr(models, name)(dem, cell_size=50.0)
    if PAGES[name]["family"] == "analysis":
        assert isinstance(out, tw.Terrain) and np.array_equal(out.height, dem) and set(out.layers) <= {spec[0] for spec in PAGES[name]["writes"]}
    else:
        assert isinstance(out, np.ndarray) and out.shape == dem.shape
        whole = getattr(models, name)(dem, cell_size=50.0, full=True)
        assert np.array_equal(whole.height, out) and whole.report["complete"]


def test_a_terrain_goes_through_several_models_with_its_layers():
    land = tw.Terrain(tw.gradient_noise(shape=(48, 48), cell_size=50.0, amplitude=400.0), 50.0, sea_level=-100.0)
    worn = tw.thermal(tw.droplets(land, density=100.0))
    assert isinstance(worn, tw.Terrain) and "sediment" in worn.layers and worn.sea_level == -100.0
