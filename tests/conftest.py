"""Fixtures that the tests in Python share."""

import os
import pathlib

import pytest
from helpers import thalweg


@pytest.fixture(scope="session")
def built_world(tmp_path_factory):
    """Returns a function that builds a recipe's world and returns its folder, which tests must not change.

    A world that several tests ask for is built once, also where pytest-xdist spreads the tests over processes.
    """
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        # Every worker has a folder of its own below that of the run.
        place = place.parent
    place = place / "worlds"
    place.mkdir(exist_ok=True)

    def build(recipe, *words):
        folder = place / "_".join([pathlib.Path(recipe).stem, *(str(word).strip("-") for word in words)])
        if not folder.exists():
            draft = tmp_path_factory.mktemp("world") / folder.name
            thalweg("build", recipe, "--out", draft, "--quiet", *words)
            try:
                draft.rename(folder)
            except OSError:
                # Another worker has built the same world in the meantime.
                assert folder.exists()
        return folder

    return build
