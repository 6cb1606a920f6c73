"""The public names: one meaning for each, and none of Python's own."""

import builtins
import collections
import importlib

import pytest
import thalweg as tw
from thalweg import _core, _moved

#: The modules that NumPy alone suffices for.
MODULES = [tw, tw.flow, tw.models, tw.noise, tw.slopes]


def test_every_listed_name_exists_once_in_its_list():
    for module in MODULES:
        assert all(hasattr(module, name) for name in module.__all__)
        assert len(module.__all__) == len(set(module.__all__))
    assert set(tw.models.__all__) == {page["name"] for page in _core.models()}


def test_no_name_is_one_of_pythons():
    assert not [name for module in MODULES for name in module.__all__ if hasattr(builtins, name)]


def test_each_name_has_one_meaning():
    meanings = collections.defaultdict(set)
    for module in MODULES:
        for name in module.__all__:
            meanings[name].add(id(getattr(module, name)))
    assert not [name for name, objects in meanings.items() if len(objects) > 1]


def test_every_public_object_has_a_docstring():
    for module in MODULES:
        assert module.__doc__
        for name in set(module.__all__) - {"__version__"}:
            assert getattr(module, name).__doc__, name


@pytest.mark.parametrize("former", _moved.MOVED)
def test_a_former_name_says_the_present_one(former):
    present = _moved.MOVED[former]
    module, _, name = former.rpartition(".")
    if module == "thalweg.dask":
        pytest.importorskip("distributed")
    with pytest.raises(AttributeError, match=f"^{former} is now {present}$"):
        getattr(importlib.import_module(module), name)
    found = tw
    for part in present.split(".")[1:]:
        found = getattr(found, part)
    assert callable(found)


def test_an_unknown_name_is_an_attribute_error():
    for module in (tw, tw.flow):
        with pytest.raises(AttributeError, match=f"module '{module.__name__}' has no attribute 'nothing'"):
            module.nothing
