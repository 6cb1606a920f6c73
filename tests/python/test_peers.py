"""The script of `cargo xtask bench --peers` on little ground, without a program but ours: whoever measures for hours is not to find it broken."""

import importlib.util
import os
import pathlib
import re
import sys

import numpy as np
import pytest
from helpers import ROOT

pytest.importorskip("resource", reason="the processor's clock of ended processes is POSIX")
SCRIPT = ROOT / "tests/peers/bench.py"


@pytest.fixture
def bench(monkeypatch):
    spec = importlib.util.spec_from_file_location("peers_bench", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROUNDS", 2)
    return module


def test_what_is_not_installed_has_its_row(bench, monkeypatch, capfd):
    gone = {"fastscapelib", "richdem", "pysheds", "topotoolbox", "landlab"}
    # Other tests may have loaded parts of them, which are found without the whole.
    for name in gone | {name for name in sys.modules if name.split(".")[0] in gone}:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(bench.shutil, "which", lambda name: name if "/" in name and pathlib.Path(name).exists() else None)
    bench.main(["--cells", "64", "--thalweg", os.environ.get("THALWEG", "thalweg")])
    said = capfd.readouterr().out
    rows = {line.split(" | ")[0][2:]: line for line in said.splitlines() if line.startswith("| ")}
    assert said.count("### ") == 8 and "Load average before" in said and "Load average after" in said
    assert "failed" not in said
    for name in ("fastscapelib, `SPLEroder`, `MSTSinkResolver`", "pysheds", "RichDEM (py-richdem)", "`gdaldem hillshade -of PNG`", "libnoise"):
        assert "not here: " in rows[name]
    for name in ("thalweg, `flow.fill_depressions`, `d8`, `accumulate_flow`", "thalweg, `stream_power`, rivers alone", "thalweg, `hillslope`"):
        assert re.search(r"\| \d+\.\d{3} s, \d+\.\d{3} s \| 1, 1 \|", rows[name])


def test_tables_say_why_a_row_is_empty(bench):
    def breaks():
        raise ValueError("no such cell")

    rows = [
        bench.Row("ours", "", lambda ground: lambda: 7, lambda value: f"value {value}"),
        bench.Row("slow", "one thread", lambda ground: lambda: 7, str),
        bench.Row("broken", "", lambda ground: breaks, str),
    ]
    ground = bench.Ground(16, pathlib.Path())
    assert np.array_equal(ground.land, ground.land.astype(np.float32))
    found = bench.measured(rows, ground, {"slow": 1.0})
    assert found["slow"].why == "not run: about 256 s"
    found["ours"].wall = found["ours"].processor = 0.25
    lines = bench.table("A title", rows, {"16²: ": found}).splitlines()
    assert lines[0] == "### A title"
    assert lines[2] == "| program | 16²: wall, processor | over the first row | came out | what it does not do |"
    assert lines[4] == "| ours | 0.250 s, 0.250 s | 1, 1 | value 7 |  |"
    assert lines[5] == "| slow | not run: about 256 s |  |  | one thread |"
    assert lines[6] == "| broken | failed: ValueError: no such cell |  |  |  |"
