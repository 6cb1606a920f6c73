"""The command's reports and JSON lines against their published schema, and its schema of recipes against its presets."""

import json
import pathlib
import re
import tomllib

import jsonschema
import pytest
from helpers import PRESETS, ROOT, refused, run_thalweg, thalweg, validate_report



def test_a_worlds_report(tmp_path):
    thalweg("build", "hills", "--cells", "48", "--out", "w", "--report", "own.json", cwd=tmp_path)
    report = validate_report(json.loads((tmp_path / "w/report.json").read_text()), "report")
    own = json.loads((tmp_path / "own.json").read_text())
    assert report | {"files": []} == own | {"files": []}
    # Each names the files from its own folder on, so folders may be moved.
    assert sorted(f"w/{file}" for file in report["files"] if not pathlib.Path(file).is_absolute()) == sorted(
        file for file in own["files"] if file != "own.json")
    (tmp_path / "w").rename(tmp_path / "elsewhere")
    assert all((tmp_path / "elsewhere" / file).exists() for file in report["files"])
    # A schema that takes anything would prove nothing.
    with pytest.raises(jsonschema.ValidationError):
        validate_report(report | {"seeds": 1}, "report")
    with pytest.raises(jsonschema.ValidationError):
        validate_report(report | {"fingerprints": {"ground": "?"}}, "report")


def test_a_report_says_what_goes_on_on_local_levels(tmp_path):
    recipe = (PRESETS / "hills.toml").read_text(encoding="utf-8")
    recipe = re.sub(r"(?m)^coarsest = .*$", 'beyond = "local"\nlocal_from = 32', recipe)
    (tmp_path / "local.toml").write_text(recipe, encoding="utf-8")
    thalweg("build", "local.toml", "--cells", "64", "--out", "w", "--quiet", cwd=tmp_path)
    report = validate_report(json.loads((tmp_path / "w/report.json").read_text(encoding="utf-8")), "report")
    forms = {form["model"]: form["form"] for form in report["local_forms"]}
    assert "meanders" in forms["stream_power"] and forms["outlets"] is None
    thalweg("build", "local.toml", "--cells", "32", "--out", "global", "--quiet", cwd=tmp_path)
    assert "local_forms" not in json.loads((tmp_path / "global/report.json").read_text(encoding="utf-8"))


def test_json_lines(tmp_path):
    out = thalweg("generate", "gradient_noise", "-o", "a.tif", "--cells", "50x20", "--cell-size", "9", "--json", cwd=tmp_path)
    events = [validate_report(json.loads(line), "event") for line in out.splitlines()]
    assert events[-1]["event"] == "result" and events[0]["event"] == "progress"
    done = run_thalweg("apply", "shape", "none.tif", "-o", "b.tif", "--json", cwd=tmp_path)
    assert done.returncode == 1 and validate_report(json.loads(done.stdout), "event")["event"] == "error"


def test_the_schema_of_recipes_takes_the_recipes_and_no_others(tmp_path):
    out = thalweg("schema")
    schema = json.loads(out)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    recipes = sorted([*(ROOT / "recipes").rglob("*.toml"), *PRESETS.glob("*.toml")])
    assert recipes
    for path in recipes:
        recipe = tomllib.loads(path.read_text(encoding="utf-8"))
        validator.validate(recipe)
        assert not validator.is_valid(recipe | {"extnt": [1, 1]}), path


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


def test_the_schema_of_an_operation_takes_its_options_and_no_others():
    examples = {
        "drain": ([{"threshold": 5e5, "outlets": [[3, 4]]}, {"breach": True}, {"breach": {"depth": 3, "length": "inf"}}],
                  [{"threshold": -1}, {"outlets": [[3]]}, {"tresholds": 1}, {"method": "d16"}]),
        "export": ([{"tiles": "1009px"}, {"size": 513}, {"zoom": [8, 12]}], [{"tiles": 0}, {"size": [1, 2, 3]}, {"zoom": 99}]),
        "measure": ([{"search": 9}], [{"search": 9.5}]),
        "textures": ([{"bits": 16}, {"size": None}], [{"bits": 12}]),
        "shade": ([{"ramp": "grey", "sun": [10, 20]}, {"ramp": None}], [{"ramp": "gray"}, {"sun": [1, 2, 3]}]),
        "view": ([{"size": [90, 120], "natural": True, "stand": [0, 0, 2]}], [{"zoom": 99}, {"natural": "yes"}]),
        "rivers": ([{"set": {"noise": 0}, "springs": [[2, 8, 0.5]]}, {"set": [["noise", 0]]}, {"edges": {"north": "closed"}}],
                   [{"springs": [[2, 8]]}, {"edges": "looped"}, {"set": {"noise": [1]}}]),
        "resample": ([{"cells": 40}, {"cells": [30, 40], "sample": "f64"}], [{}, {"cells": 0}, {"cells": 40, "sample": "u8"}]),
        "crop": ([{"window": [0, 0, 4, 4]}], [{}, {"window": [0, 0, 4]}]),
        "generate": ([{"cells": 40, "cell_size": 20.0, "layers": {"rain": "rain.tif"}}], [{"cells": 40}]),
        "build": ([{"age": 2, "rock": "shale", "set": {"uplift.years": 1e6}, "rect": [0, 0, 10, 10]}], [{"age": 20}, {"rock": "cheese"}]),
        "vary": ([{"age": [1, 2], "seeds": 3, "set": {"a.b": [1, 2]}}, {"seeds": [3, 5]}], [{"age": 1}, {"seeds": 0}, {"seeds": [3]}]),
        "tile": ([{"at": [100.0, 50.0], "side": 64}, {"within": [0, 0, 9, 9], "size": 2}], [{"side": 8}, {"at": [100.0]}]),
        "sheet": ([{"captions": ["one, two", "three"], "size": 90}], [{"captions": "one"}, {"sheet": True}]),
    }
    for name, (good, bad) in examples.items():
        schema = json.loads(thalweg("schema", name))
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        # Every default is a value that the schema accepts. Required options have none.
        required = {key: good[0][key] for key in schema.get("required", [])}
        defaults = {key: about["default"] for key, about in schema["properties"].items() if "default" in about}
        good = [*good, required, defaults | required]
        for options in good:
            assert validator.is_valid(options), (name, [error.message for error in validator.iter_errors(options)])
        for options in bad:
            assert not validator.is_valid(options), (name, options)
        assert all(about["description"].endswith(".") for about in schema["properties"].values()), name


def test_the_schema_of_an_operation_names_its_command():
    commands = {"shade": "render map", "view": "render perspective", "sheet": "render sheet", "pair": "render pair"}
    for name, words in commands.items():
        schema = json.loads(thalweg("schema", name))
        assert schema["command"] == words and schema == json.loads(thalweg("schema", *words.split())), name
        jsonschema.Draft202012Validator.check_schema(schema)
    assert "command" not in json.loads(thalweg("schema", "drain"))
    assert json.loads(thalweg("schema", "resample"))["properties"]["cells"]["description"].count("[rows, columns]") == 1
    assert "did you mean `render map`" in refused("schema", "render", "mpa")


def test_the_schema_of_recipes_refuses_what_the_command_refuses(tmp_path):
    validator = jsonschema.Draft202012Validator(json.loads(thalweg("schema")))
    (tmp_path / "r.toml").write_text(WHOLE, encoding="utf-8")
    validator.validate(tomllib.loads(WHOLE))
    thalweg("build", "r.toml", "--out", "w", "--quiet", cwd=tmp_path)
    # Spelt out it is a recipe, too.
    validator.validate(tomllib.loads((tmp_path / "w/recipe.toml").read_text(encoding="utf-8")))
    for old, new in WRONG:
        assert WHOLE.count(old) >= 1, old
        text = WHOLE.replace(old, new, 1)
        (tmp_path / "r.toml").write_text(text, encoding="utf-8")
        err = refused("build", "r.toml", "--out", "x", "--quiet", cwd=tmp_path)
        assert "r.toml" in err, (new, err)
        assert not validator.is_valid(tomllib.loads(text)), new


def test_plans(tmp_path):
    """Plans that the command wrote are as docs/plan.schema.json says, and others are neither that nor taken."""
    schema = json.loads((ROOT / "docs/plan.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    fits = jsonschema.Draft202012Validator(schema).is_valid
    thalweg("generate", "gradient_noise", "-o", "dem.tif", "--cells", "90x70", "--cell-size", "30", cwd=tmp_path)
    for name, words in [
        ("plain", ["dem.tif"]),
        ("full", ["dem.tif", "--outlet", "3,4", "--threshold", "5000", "--sea-level", "-3.5", "--edges", "closed", "--unit", "metre",
                  "--cell-size", "12.5", "--tile", "64"]),
        ("world", ["hills", "--cells", "2048", "--seed", "4", "--memory", "900M"]),
        ("part", ["hills", "--cells", "2048", "--rect", "0,0,3000,2000"]),
        ("model", ["apply", "thermal", "dem.tif", "--set", "steps=20"]),
    ]:
        thalweg("job", "plan", *words, "-o", f"{name}.json", cwd=tmp_path)
        plan = json.loads((tmp_path / f"{name}.json").read_text())
        assert fits(plan), [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(plan)]
        for edited, words in [
            (plan | {"tiles": 0}, "was changed after it was written"),
            (plan | {"sides": 3}, "unknown field `sides`"),
            (plan | {"job": {"drown": {}}}, "unknown variant `drown`"),
            (plan | {"plan": 1}, "is a plan of version 1; this program supports version 2"),
            ({key: value for key, value in plan.items() if key != "side"}, "missing field `side`"),
            (plan | {"stages": [plan["stages"][0] | {"tile_bytes": "many"}]}, "invalid type"),
        ]:
            assert not fits(edited)
            (tmp_path / "edited.json").write_text(json.dumps(edited))
            err = refused("job", "run", "edited.json", plan["stages"][0]["name"], "0", cwd=tmp_path)
            assert words in err and "edited.json" in err, err
        # What keeps to the form may still be no plan: its hash tells.
        (tmp_path / "edited.json").write_text(json.dumps(plan | {"side": 32}))
        err = refused("job", "run", "edited.json", plan["stages"][0]["name"], "0", cwd=tmp_path)
        assert "was changed after it was written" in err, err


def test_a_recipe_names_the_schema_that_lies_beside_it(tmp_path):
    thalweg("build", "hills", "--cells", "48", "--out", "w", cwd=tmp_path)
    text = (tmp_path / "w/recipe.toml").read_text(encoding="utf-8")
    first = text.splitlines()[0]
    assert first.startswith("#:schema ./")
    schema = json.loads((tmp_path / "w" / first.removeprefix("#:schema ./")).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    recipe = tomllib.loads(text)
    validator.validate(recipe)
    assert not validator.is_valid(recipe | {"sede": 1})
    # It is the one that the command prints.
    assert json.loads(thalweg("schema")) == schema
