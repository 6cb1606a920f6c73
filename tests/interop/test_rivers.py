"""What `rivers` writes, read by GDAL (rasterio, pyogrio) and followed by NumPy."""

import json
import os
import pathlib
import subprocess

import numpy as np
import pyogrio
import pytest
import rasterio
from test_cli import checked

ROOT = pathlib.Path(__file__).resolve().parents[2]
REAL = ROOT / "crates/thalweg/tests/data/jacksboro.tif"


def run(folder, *words):
    done = subprocess.run([os.environ["THALWEG"], *map(str, words)], cwd=folder, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rivers")
    run(folder, "rivers", REAL, "-o", "out")
    return folder / "out"


def band(path):
    with rasterio.open(path) as file:
        return file.read(1)


def test_the_report_and_the_lines_of_json(network):
    report = checked(json.loads((network / "rivers.json").read_text()), "rivers")
    out = run(network.parent, "rivers", REAL, "-o", "again", "--json")
    events = [checked(json.loads(line), "event") for line in out.splitlines()]
    assert events[-1]["rivers"]["length_m"] == report["length_m"]
    out = run(network.parent, "check-rivers", "again", "--json")
    checks = checked(json.loads(out.splitlines()[-1]), "event")["checks"]
    assert len(checks) == 8 and all(check["good"] == check["count"] for check in checks)


def test_ground_is_cut_and_water_lies_on_it(network):
    before, after = band(REAL), band(network / "height.tif")
    assert (after <= before + 1e-5).all() and (after < before - 0.01).any()
    rivers, lakes = band(network / "rivers.tif"), band(network / "lakes.tif")
    bed, surface = band(network / "bed.tif"), band(network / "water_surface.tif")
    wet = (rivers > 0) | (lakes > 0)
    assert ((bed != -32768) == wet).all() and (bed[wet] == after[wet]).all() and (surface[wet] >= bed[wet]).all()
    for lake in np.unique(lakes[lakes > 0]):
        assert np.ptp(surface[lakes == lake]) == 0
    assert ((band(network / "distance.tif") == 0) == (rivers > 0)).all()
    # Rivers and catchments: the cells that a run's mouth drains are most of its own catchment.
    catchments = band(network / "catchments.tif")
    assert (catchments > 0).mean() > 0.6


def test_vectors_are_the_same_in_both_formats(network):
    for name, kinds in [("rivers", {"LineString Z"}), ("lakes", {"Polygon", "MultiPolygon"}), ("catchments", {"Polygon", "MultiPolygon"})]:
        flat, text = pyogrio.read_info(network / f"{name}.fgb"), pyogrio.read_info(network / f"{name}.geojson")
        assert flat["features"] == text["features"] > 0 and flat["crs"] == text["crs"] == "EPSG:32616"
        assert flat["geometry_type"] in kinds, flat["geometry_type"]
    properties = [feature["properties"] for feature in json.loads((network / "rivers.geojson").read_text())["features"]]
    by_id = {reach["id"]: reach for reach in properties}
    # What comes to a junction leaves it.
    came = {}
    for reach in properties:
        if reach["downstream"] is not None:
            came[reach["downstream"]] = came.get(reach["downstream"], 0) + reach["discharge"]
    for number, flow in came.items():
        if by_id[number]["lake_from"] is None:
            assert flow == pytest.approx(by_id[number]["discharge_from"], rel=1e-9)
    area = sum(lake["properties"]["area_m2"] for lake in json.loads((network / "lakes.geojson").read_text())["features"])
    assert area == (band(network / "lakes.tif") > 0).sum() * 90.0**2
