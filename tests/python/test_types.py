"""Types: mypy's strict mode on the package and on a program that uses it; the stubs of the core against the built module."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest
from helpers import ROOT

pytest.importorskip("mypy")


def mypy(*words, module="mypy"):
    done = subprocess.run([sys.executable, "-m", module, *words], cwd=ROOT / "tests/python", capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_a_program_that_uses_the_package_is_typed(tmp_path):
    code, said = mypy("--strict", "--cache-dir", str(tmp_path), "typed_sample.py")
    assert code == 0, said
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import thalweg as tw\nimport numpy as np\ntw.droplets(np.zeros((3, 3)), cell_size=1.0, density='much')\ntw.droplets(np.zeros((3, 3)), desnity=3.0)\ntw.volcano\ntw.flow.fill\n")
    code, said = mypy("--strict", "--cache-dir", str(tmp_path), str(wrong))
    assert code == 1 and said.count(": error:") >= 4 and said.count("Module has no attribute") == 2, said


def test_stubs_are_what_the_module_is(tmp_path):
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\nplugins =\n")
    code, said = mypy("--mypy-config-file", str(config), "--ignore-disjoint-bases", "thalweg._core", "thalweg.models", module="mypy.stubtest")
    assert code == 0, said


def test_the_package_is_marked_as_typed_and_has_its_stubs():
    folder = pathlib.Path(importlib.util.find_spec("thalweg").origin).parent
    for name in ("py.typed", "_core.pyi", "_options.pyi", "models.pyi"):
        assert (folder / name).is_file(), f"{folder / name} does not exist: run `cargo xtask book` before you build the package"
