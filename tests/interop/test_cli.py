"""The command's reports and JSON lines against their published schema, and its schema of recipes against its presets."""

import json
import os
import pathlib
import subprocess
import tomllib

import jsonschema
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
THALWEG = os.environ["THALWEG"]
SCHEMA = json.loads((ROOT / "docs/report.schema.json").read_text(encoding="utf-8"))


def run(folder, *words):
    done = subprocess.run([THALWEG, *words], cwd=folder, capture_output=True, text=True, encoding="utf-8")
    return done.returncode, done.stdout, done.stderr


def checked(document, name):
    schema = {"$schema": SCHEMA["$schema"], "$ref": f"#/$defs/{name}", "$defs": SCHEMA["$defs"]}
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema, cls=jsonschema.Draft202012Validator)
    return document


def test_a_worlds_report(tmp_path):
    code, _, err = run(tmp_path, "build", "hills", "--cells", "48", "--out", "w", "--report", "own.json")
    assert code == 0, err
    report = checked(json.loads((tmp_path / "w/report.json").read_text()), "report")
    assert report == json.loads((tmp_path / "own.json").read_text())
    assert all(pathlib.Path(file).exists() for file in report["files"])
    # A schema that takes anything would prove nothing.
    with pytest.raises(jsonschema.ValidationError):
        checked(report | {"seeds": 1}, "report")
    with pytest.raises(jsonschema.ValidationError):
        checked(report | {"fingerprints": {"ground": "?"}}, "report")


def test_json_lines(tmp_path):
    code, out, err = run(tmp_path, "generate", "gradient_noise", "-o", "a.tif", "--cells", "50x20", "--cell-size", "9", "--json")
    assert code == 0, err
    events = [checked(json.loads(line), "event") for line in out.splitlines()]
    assert events[-1]["event"] == "result" and events[0]["event"] == "progress"
    code, out, _ = run(tmp_path, "apply", "shape", "none.tif", "-o", "b.tif", "--json")
    assert code == 1 and checked(json.loads(out), "event")["event"] == "error"


def test_the_schema_of_recipes_takes_the_recipes_and_no_others(tmp_path):
    code, out, _ = run(tmp_path, "schema")
    assert code == 0
    schema = json.loads(out)
    jsonschema.Draft202012Validator.check_schema(schema)
    recipes = sorted([*(ROOT / "recipes").rglob("*.toml"), *(ROOT / "crates/thalweg/presets").glob("*.toml")])
    assert recipes
    for path in recipes:
        recipe = tomllib.loads(path.read_text(encoding="utf-8"))
        jsonschema.validate(recipe, schema, cls=jsonschema.Draft202012Validator)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(recipe | {"extnt": [1, 1]}, schema, cls=jsonschema.Draft202012Validator)
