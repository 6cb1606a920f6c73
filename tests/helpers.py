"""Helpers that the tests in Python share: they run our programs and read what these wrote.

`pyproject.toml` puts this folder on the path of pytest. Tests of the Python package run without rasterio and jsonschema
too, so the functions that need these import them.
"""

import functools
import hashlib
import inspect
import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
PRESETS = ROOT / "crates/thalweg-sim/presets"
#: A real elevation model, with cells of 90 m in EPSG:32616.
JACKSBORO = PRESETS / "jacksboro.tif"

#: Rows and columns to the eight neighbours, clockwise from the east.
NEIGHBOURS = [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)]
#: The same by ESRI's codes of flow directions.
ESRI = {1 << k: step for k, step in enumerate(NEIGHBOURS)}


@functools.cache
def program(variable, built):
    """Path of one of our programs: the environment variable's, else the one that `cargo build` made."""
    path = pathlib.Path(os.environ.get(variable) or ROOT / "target/debug" / (built + (".exe" if os.name == "nt" else ""))).absolute()
    assert path.is_file(), f"{path} does not exist: build it, or let {variable} name a built one"
    return str(path)


def run(command, cwd=None, **options):
    """Runs a command, a list of words, and captures its output as text."""
    return subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, encoding="utf-8", **options)


def run_thalweg(*words, cwd=None, **options):
    """Runs the command; returns the completed process, whatever its exit status."""
    return run([program("THALWEG", "thalweg"), *words], cwd, **options)


def thalweg(*words, cwd=None):
    """Runs the command, which must succeed; returns what it printed on standard output."""
    done = run_thalweg(*words, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(*words, cwd=None, statuses=(1,)):
    """Runs the command, which must refuse with one of these exit statuses; returns its message."""
    done = run_thalweg(*words, cwd=cwd)
    assert done.returncode in statuses and "panicked" not in done.stderr, (done.returncode, done.stderr)
    return done.stderr


def run_example(variable, name, *words):
    """Runs an example of our libraries, which must succeed; returns what it printed."""
    done = run([program(variable, f"examples/{name}"), *words])
    assert done.returncode == 0, done.stderr
    return done.stdout


def read_band(path):
    """The first band of a raster, as GDAL reads it."""
    import rasterio

    with rasterio.open(path) as file:
        return file.read(1)


def write_raster(path, values, transform, crs=None, **profile):
    """Writes an array as a GeoTIFF of one band, by GDAL; `profile` are further options of rasterio's."""
    import rasterio

    rows, columns = values.shape
    with rasterio.open(
        path, "w", driver="GTiff", height=rows, width=columns, count=1, dtype=values.dtype, crs=crs, transform=transform, **profile
    ) as file:
        file.write(values, 1)


@functools.cache
def report_validator(name):
    """A validator of one of the definitions of docs/report.schema.json."""
    import jsonschema

    schema = json.loads((ROOT / "docs/report.schema.json").read_text(encoding="utf-8"))
    schema = {"$schema": schema["$schema"], "$ref": f"#/$defs/{name}", "$defs": schema["$defs"]}
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def validate_report(document, name):
    """Checks a document against one of the definitions of docs/report.schema.json; returns the document."""
    report_validator(name).validate(document)
    return document


def shard_hashes(store):
    """The SHA-256 hash of every chunk's or shard's bytes in a Zarr store, by its path."""
    files = (path for path in sorted(store.rglob("*")) if path.is_file() and "/c/" in path.as_posix())
    return {path.relative_to(store).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def fingerprints(report):
    """The fingerprints in the file of a report."""
    return json.loads(report.read_text(encoding="utf-8"))["fingerprints"]


def long_or(small, large):
    """Returns `large` in the long run (`cargo xtask test --long`), which lists the test, and `small` in every other."""
    if not os.environ.get("THALWEG_LONG"):
        return small
    if path := os.environ.get("THALWEG_LONG_LIST"):
        caller = inspect.stack()[1]
        test = os.environ.get("PYTEST_CURRENT_TEST", caller.function).split("::")[-1].split(" ")[0]
        file = pathlib.Path(caller.filename).resolve().relative_to(ROOT).as_posix()
        with open(path, "a", encoding="utf-8") as list_of_tests:
            list_of_tests.write(f"{file}\t{test}\t{large!r} instead of {small!r}\n")
    return large
