"""The command's reports and JSON lines against their published schema, and its schema of recipes against its presets."""

import json
import os
import pathlib
import re
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
    own = json.loads((tmp_path / "own.json").read_text())
    assert report | {"files": []} == own | {"files": []}
    # Each names the files from its own folder on, so folders may be moved.
    assert sorted(f"w/{file}" for file in report["files"] if not pathlib.Path(file).is_absolute()) == sorted(
        file for file in own["files"] if file != "own.json")
    (tmp_path / "w").rename(tmp_path / "elsewhere")
    assert all((tmp_path / "elsewhere" / file).exists() for file in report["files"])
    # A schema that takes anything would prove nothing.
    with pytest.raises(jsonschema.ValidationError):
        checked(report | {"seeds": 1}, "report")
    with pytest.raises(jsonschema.ValidationError):
        checked(report | {"fingerprints": {"ground": "?"}}, "report")


def test_a_report_says_what_goes_on_on_local_levels(tmp_path):
    recipe = (ROOT / "crates/thalweg-sim/presets/hills.toml").read_text(encoding="utf-8")
    recipe = re.sub(r"(?m)^coarsest = .*$", 'beyond = "local"\nlocal_from = 32', recipe)
    (tmp_path / "local.toml").write_text(recipe, encoding="utf-8")
    code, _, err = run(tmp_path, "build", "local.toml", "--cells", "64", "--out", "w", "--quiet")
    assert code == 0, err
    report = checked(json.loads((tmp_path / "w/report.json").read_text(encoding="utf-8")), "report")
    forms = {form["model"]: form["form"] for form in report["local_forms"]}
    assert "meanders" in forms["stream_power"] and forms["outlets"] is None
    run(tmp_path, "build", "local.toml", "--cells", "32", "--out", "global", "--quiet")
    assert "local_forms" not in json.loads((tmp_path / "global/report.json").read_text(encoding="utf-8"))


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
    recipes = sorted([*(ROOT / "recipes").rglob("*.toml"), *(ROOT / "crates/thalweg-sim/presets").glob("*.toml")])
    assert recipes
    for path in recipes:
        recipe = tomllib.loads(path.read_text(encoding="utf-8"))
        jsonschema.validate(recipe, schema, cls=jsonschema.Draft202012Validator)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(recipe | {"extnt": [1, 1]}, schema, cls=jsonschema.Draft202012Validator)


WHOLE = """
name = "all"
about = "Every key."
extent = [200, 100]
cells = 16
coarsest = 4
seed = -3
edges = { north = "closed" }
sea_level = -5
rock = "granite"
ramp = "sand"

[[stage]]
model = "gradient_noise"

[[stage]]
model = "droplets"
label = "rain"
count = 20
levels = { finest = 10.0 }
finer = { inertia = 0.5 }
layers = { hardness = { layer = "ground", scale = [0, 100] } }
strokes = [{ tool = "raise", x = 10, y = 10 }, { tool = "droplets", pass = 1 }, { tool = "lower", points = [[1, 2], [3, 4]], radius = 5 }]

[[stage]]
model = "fluvial"
muted = true
tables = { springs = [{ x = 5, y = 5, rate = 0.5 }] }
"""

# What is replaced, and by what that is wrong.
WRONG = [
    ('name = "all"', "name = 5"),
    ('name = "all"', 'nmae = "all"'),
    ("[200, 100]", "[200]"),
    ("[200, 100]", "[200, 0.0]"),
    ("extent = [200, 100]\n", ""),
    ("extent = [200, 100]", 'extent = [200, 100]\nfrom = "a.tif"'),
    ("extent = [200, 100]", 'from = "a.tif"'),
    ("cells = 16", "cells = 0"),
    ("cells = 16", "cells = 2097152"),
    ("cells = 16", "cells = 16.5"),
    ("coarsest = 4", 'coarsest = "some"'),
    ("coarsest = 4", "coarsest = 0"),
    ("seed = -3", 'seed = "3"'),
    ("north", "nroth"),
    ('"closed"', '"shut"'),
    ("sea_level = -5", "sea_level = -20000"),
    ('"granite"', '"chese"'),
    ('"sand"', '"sandy"'),
    ('model = "droplets"', 'model = "droplet"'),
    ('model = "droplets"\n', ""),
    ('label = "rain"', "label = 1"),
    ('label = "rain"', 'labl = "rain"'),
    ("count = 20", "count = -1"),
    ("count = 20", "cuont = 20"),
    ("{ finest = 10.0 }", '"some"'),
    ("{ finest = 10.0 }", "{}"),
    ("{ finest = 10.0 }", "{ finest = -1 }"),
    ("{ finest = 10.0 }", "{ fine = 1 }"),
    ("inertia = 0.5", "inertia = 0"),
    ("inertia = 0.5", "inertai = 0.5"),
    ("hardness =", "hardnes ="),
    ('{ layer = "ground", scale', "{ scale"),
    ('layer = "ground"', 'layer = "ground", file = "a.tif"'),
    ("[0, 100]", "[0]"),
    ('{ layer = "ground", scale = [0, 100] }', "7"),
    ('"raise"', '"rase"'),
    ('tool = "raise", x = 10', 'tool = "raise"'),
    ('tool = "raise", x = 10, y = 10', 'tool = "raise"'),
    ('tool = "raise"', 'tool = "raise", step = -1'),
    ('tool = "raise"', 'tool = "raise", value = 1'),
    ("radius = 5", "radius = -5"),
    ("points = [[1, 2], [3, 4]]", "points = [[1, 2], [3]]"),
    ("muted = true", "muted = 1"),
    ("springs", "sprigns"),
    ("rate = 0.5", "rate = -0.5"),
    (", rate = 0.5", ""),
]


def test_the_schema_of_recipes_refuses_what_the_command_refuses(tmp_path):
    validator = jsonschema.Draft202012Validator(json.loads(run(tmp_path, "schema")[1]))
    (tmp_path / "r.toml").write_text(WHOLE, encoding="utf-8")
    validator.validate(tomllib.loads(WHOLE))
    code, _, err = run(tmp_path, "build", "r.toml", "--out", "w", "--quiet")
    assert code == 0, err
    # Spelt out it is a recipe, too.
    validator.validate(tomllib.loads((tmp_path / "w/recipe.toml").read_text(encoding="utf-8")))
    for old, new in WRONG:
        assert WHOLE.count(old) >= 1, old
        text = WHOLE.replace(old, new, 1)
        (tmp_path / "r.toml").write_text(text, encoding="utf-8")
        code, _, err = run(tmp_path, "build", "r.toml", "--out", "x", "--quiet")
        assert code == 1 and "r.toml" in err, (new, err)
        assert not validator.is_valid(tomllib.loads(text)), new


def test_plans(tmp_path):
    """Plans that the command wrote are as docs/plan.schema.json says, and others are neither that nor taken."""
    schema = json.loads((ROOT / "docs/plan.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    fits = jsonschema.Draft202012Validator(schema).is_valid
    run(tmp_path, "generate", "gradient_noise", "-o", "dem.tif", "--cells", "90x70", "--cell-size", "30")
    for name, words in [
        ("plain", ["dem.tif"]),
        ("full", ["dem.tif", "--outlet", "3,4", "--threshold", "5000", "--sea-level", "-3.5", "--edges", "closed", "--unit", "metre",
                  "--cell-size", "12.5", "--tile", "64"]),
        ("world", ["hills", "--cells", "2048", "--seed", "4", "--memory", "900M"]),
        ("part", ["hills", "--cells", "2048", "--rect", "0,0,3000,2000"]),
        ("model", ["apply", "thermal", "dem.tif", "--set", "steps=20"]),
    ]:
        code, _, err = run(tmp_path, "plan", *words, "-o", f"{name}.json")
        assert code == 0, err
        plan = json.loads((tmp_path / f"{name}.json").read_text())
        assert fits(plan), [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(plan)]
        for edited, words in [
            (plan | {"tiles": 0}, "was changed after it was written"),
            (plan | {"sides": 3}, "unknown field `sides`"),
            (plan | {"job": {"drown": {}}}, "unknown variant `drown`"),
            (plan | {"plan": 1}, "is a plan of version 1; this program knows version 2"),
            ({key: value for key, value in plan.items() if key != "side"}, "missing field `side`"),
            (plan | {"stages": [plan["stages"][0] | {"tile_bytes": "many"}]}, "invalid type"),
        ]:
            assert not fits(edited)
            (tmp_path / "edited.json").write_text(json.dumps(edited))
            code, _, err = run(tmp_path, "stage", "edited.json", plan["stages"][0]["name"], "0")
            assert code == 1 and words in err and "edited.json" in err, err
        # What keeps to the form may still be no plan: its hash tells.
        (tmp_path / "edited.json").write_text(json.dumps(plan | {"side": 32}))
        code, _, err = run(tmp_path, "stage", "edited.json", plan["stages"][0]["name"], "0")
        assert code == 1 and "was changed after it was written" in err, err


def test_a_recipe_names_the_schema_that_lies_beside_it(tmp_path):
    code, _, err = run(tmp_path, "build", "hills", "--cells", "48", "--out", "w")
    assert code == 0, err
    text = (tmp_path / "w/recipe.toml").read_text(encoding="utf-8")
    first = text.splitlines()[0]
    assert first.startswith("#:schema ./")
    schema = json.loads((tmp_path / "w" / first.removeprefix("#:schema ./")).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    recipe = tomllib.loads(text)
    jsonschema.validate(recipe, schema, cls=jsonschema.Draft202012Validator)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(recipe | {"sede": 1}, schema, cls=jsonschema.Draft202012Validator)
    # It is the one that the command prints.
    code, out, _ = run(tmp_path, "schema")
    assert code == 0 and json.loads(out) == schema
