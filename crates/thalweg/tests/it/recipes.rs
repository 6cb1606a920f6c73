//! Tests of recipes: errors are named, valid recipes are written and read back unchanged, and no text makes the parser
//! panic.

use std::collections::BTreeSet;

use proptest::prelude::*;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::declare::params::{ParamKind, Value, Written};
use thalweg_core::{Edge, Error};
use thalweg_models::{models, rocks};
use thalweg_render::pictures::ramps::RAMPS;
use thalweg_sim::recipe::strokes::{Stroke, Tool};
use thalweg_sim::recipe::{self, Coarsest, LayerOrigin, LayerSource, Recipe, Start, When};

const GOOD: &str = r#"
name = "island"
about = "Two lines\nand \"quotes\"."
extent = [2000.0, 1000.5]
cells = 64
seed = 7
edges = { north = "closed", west = "open" }
sea_level = -2.5

[[stage]]
model = "gradient_noise"

[[stage]]
model = "droplets"
label = "rain"
inertia = 0.25
count = 10
wear = true
layers = { hardness = "rock.tif", rain = { layer = "visits", scale = [0, 5.5] } }
"#;

/// Returns the message with which a text is refused.
fn refusal(text: &str) -> String {
    match Recipe::parse(text) {
        Ok(_) => panic!("accepted: {text}"),
        Err(error) => error.to_string(),
    }
}

/// Returns [`GOOD`] with one piece replaced.
fn with(old: &str, new: &str) -> String {
    assert!(GOOD.contains(old), "{old}");
    GOOD.replacen(old, new, 1)
}

#[test]
fn every_key_is_read() {
    let recipe = Recipe::parse(GOOD).unwrap();
    assert_eq!((recipe.name.as_str(), recipe.about.as_str()), ("island", "Two lines\nand \"quotes\"."));
    assert_eq!((recipe.extent(), recipe.cells, recipe.seed), (Some([2000.0, 1000.5].into()), 64, 7));
    assert_eq!(recipe.edges, [Edge::Closed, Edge::Open, Edge::Open, Edge::Open]);
    assert_eq!(recipe.sea_level, Some(-2.5));
    let [noise, rain] = recipe.stages.as_slice() else { panic!("two stages") };
    assert_eq!((noise.label.as_str(), rain.label.as_str()), ("gradient_noise", "rain"));
    assert_eq!(rain.model.get("inertia"), Some(Value::Number(0.25)));
    assert_eq!(rain.model.get("wear"), Some(Value::Switch(true)));
    assert_eq!(rain.layers["hardness"], LayerSource { from: LayerOrigin::File("rock.tif".into()), scale: None });
    assert_eq!(rain.layers["rain"], LayerSource { from: LayerOrigin::Layer("visits".into()), scale: Some([0.0, 5.5]) });
    // 2000 m in 64 cells: 31.25 m; 1000.5 m are 32 of them.
    let grid = recipe.last_grid().unwrap();
    assert_eq!((grid.cell, grid.size), (31.25, [32, 64]));
}

#[test]
fn wrong_values_are_named_with_what_is_allowed() {
    // The replaced text, its replacement, and words that the message must contain.
    let cases: &[(&str, &str, &[&str])] = &[
        ("sea_level", "sea_levle", &["sea_levle", "did you mean `sea_level`"]),
        ("inertia", "inertai", &["stage 2", "inertai", "did you mean `inertia`"]),
        ("\"droplets\"", "\"droplet\"", &["model `droplet`", "did you mean `droplets`"]),
        ("north", "nroth", &["did you mean `north`"]),
        ("hardness", "hardnes", &["input layer", "did you mean `hardness`"]),
        ("scale", "scal", &["did you mean `scale`"]),
        ("inertia = 0.25", "inertia = 1.5", &["droplets.inertia = 1.5", "0 to 0.999"]),
        ("inertia = 0.25", "inertia = nan", &["droplets.inertia = nan"]),
        ("inertia = 0.25", "inertia = \"much\"", &["droplets.inertia = \"much\""]),
        ("inertia = 0.25", "inertia = { a = [1, 2026-07-01] }", &["droplets.inertia"]),
        ("count = 10", "count = -1", &["droplets.count = -1", "a whole number from 0 to 4e9"]),
        ("count = 10", "count = 1.5", &["droplets.count = 1.5"]),
        ("wear = true", "wear = 1", &["droplets.wear = 1", "true or false"]),
        ("model = \"gradient_noise\"", "model = \"shape\"\nkind = \"cube\"", &["shape.kind", "one of plane, cone"]),
        ("cells = 64", "cells = 0", &["cells = 0", "1 to 1048576"]),
        ("cells = 64", "cells = 64.0", &["cells = 64.0"]),
        ("seed = 7", "seed = \"7\"", &["seed"]),
        ("-2.5", "-20000.0", &["-20000", "-16000 to 16000 m"]),
        ("-2.5", "inf", &["sea_level = inf"]),
        ("[2000.0, 1000.5]", "[2000.0]", &["extent", "each 0.01 to 100000000"]),
        ("[2000.0, 1000.5]", "[2000.0, -1]", &["extent"]),
        ("\"closed\"", "\"shut\"", &["edges = \"shut\"", "\"closed\""]),
        ("name = \"island\"", "name = 5", &["name = 5", "a string in quotes"]),
        ("[0, 5.5]", "[5.5, 5.5]", &["scale", "two different numbers"]),
        ("\"rock.tif\"", "7", &["layers.hardness = 7"]),
        ("{ layer = \"visits\",", "{ layer = \"visits\", file = \"a.tif\",", &["exactly one of `file` and `layer`"]),
        ("label = \"rain\"", "label = \"gradient_noise\"", &["stage 2", "used twice"]),
        ("model = \"droplets\"", "", &["stage 2", "no `model`"]),
        ("[2000.0, 1000.5]", "[2000.0, 1000.5]\nfrom = \"dem.tif\"", &["either `extent"]),
        ("extent = [2000.0, 1000.5]", "", &["either `extent"]),
        ("seed = 7", "seed = ", &["line 6"]),
        ("seed = 7", "stage = 3\nseed = 7", &[""]),
    ];
    for (old, new, words) in cases {
        let message = refusal(&with(old, new));
        assert!(words.iter().all(|word| message.contains(word)), "{new}: {message}");
    }
    assert!(refusal("extent = [1, 1]\nstage = 3").contains("`stage` must be a list"));
    assert!(refusal("extent = [1, 1]\nstage = [3]").contains("stage 1: it must be a table"));
    assert!(refusal(&format!("extent = [1, 1]\n{} = 1", "x".repeat(1 << 20))).contains("the known names are"));
}

#[test]
fn a_start_has_the_settings_that_apply_to_it() {
    let extent = "extent = [2000.0, 1000.0]";
    let continents = "extent = [2000.0, 1000.0]\nsea_level = 0.0\ncontinents = { spacing = 5000.0 }";
    let place = "place = { crs = \"EPSG:32632\", corner = [0, 0] }";
    // A start, a setting that does not apply to it, and the words that name where it applies or what to do.
    let cases = [
        ("from = \"a.tif\"", "coarsest = \"auto\"", "`coarsest` only applies to a recipe with `extent`"),
        ("from = \"a.tif\"", "beyond = \"local\"", "`beyond` only applies to a recipe with `extent`"),
        ("from = \"a.tif\"", "local_from = 64", "`local_from` only applies with `beyond = \"local\"`"),
        ("from = \"a.tif\"", "margin = 0.1", "nothing is known around an elevation model"),
        ("from = \"a.tif\"", "cut = [1, 0]", "crop the elevation model instead"),
        ("from = \"a.tif\"", place, "the elevation model has its own georeference"),
        ("from = \"a.tif\"", "sea_level = 0.0\ncontinents = { spacing = 5e3 }", "`continents` only applies"),
        (continents, "margin = 0.1", "remove `margin` or `continents`"),
        (continents, "cut = [1, 0]", "remove `cut` or `continents`"),
        (continents, "edges = \"looped\"", "`continents` only applies to a world without looped edges"),
        (extent, "continents = { spacing = 5e3 }", "add `sea_level = 0.0`"),
        (extent, "cut = [1, 0]\nbeyond = \"local\"", "remove `cut` or `beyond"),
        (extent, "cut = [1, 0]\nedges = \"looped\"", "`cut` only applies to a world without looped edges"),
        (extent, "beyond = \"local\"\nedges = \"looped\"", "remove `beyond`, or set `edges` to another value"),
        ("seed = 1", "margin = 0.1", "add `extent = [width, height]`"),
    ];
    for (start, setting, words) in cases {
        let message = refusal(&format!("{start}\n{setting}\n"));
        assert!(message.contains(words) && !message.contains('\n'), "{setting}: {message}");
    }
    // Only a build of such a recipe can be placed on Earth, and the recipe that it writes can be read again.
    let placed = Recipe::parse(&format!("{continents}\n{place}\n")).unwrap();
    assert_eq!(Recipe::parse(&placed.to_toml()).unwrap().world_place(), placed.world_place());
    assert!(placed.world_place().is_some());
    // A setting with its default value is accepted everywhere and left out of the written text.
    let idle = "beyond = \"global\"\nlocal_from = \"auto\"\nmargin = 0.0\ncut = [0, 0]\n";
    for start in ["from = \"a.tif\"", continents, extent] {
        let plain = Recipe::parse(start).unwrap();
        assert_eq!(Recipe::parse(&format!("{start}\n{idle}")).unwrap().to_toml(), plain.to_toml());
    }
}

#[test]
fn spelt_out_it_is_the_same_recipe() {
    for text in
        [GOOD.to_string(), with("[[stage]]", "[[stage]]\nlabel = \"a\\nb\""), "from = 'a \"b\".tif'".to_string()]
    {
        let once = Recipe::parse(&text).unwrap();
        let twice = Recipe::parse(&once.to_toml()).unwrap();
        assert_eq!((once.to_toml(), once.hash()), (twice.to_toml(), twice.hash()));
    }
    // Writing out a default value changes nothing; any other value changes the hash.
    let hash = |text: &str| Recipe::parse(text).unwrap().hash();
    assert_eq!(hash(GOOD), hash(&with("count = 10", "count = 10\nerosion = 0.03")));
    assert_ne!(hash(GOOD), hash(&with("count = 10", "count = 11")));
    assert_ne!(hash(GOOD), hash(&with("seed = 7", "seed = 8")));
}

#[test]
fn every_model_comes_back_with_every_parameter() {
    for mut model in models::all_models() {
        let name = model.about().name;
        for param in model.declared() {
            let other = match param.kind {
                ParamKind::Number { min, max } => Written::from(min + (max - min) / 3.0),
                ParamKind::Count { min, max } => Written::from(min + (max - min) / 3),
                ParamKind::Switch => Written::from(param.default != Value::Switch(true)),
                ParamKind::Choice(words) => Written::from(words[words.len() - 1].0),
            };
            model.set(name, param.name, &other).unwrap();
        }
        // The upper half of the seeds exceeds TOML's integers.
        for seed in [0, 1, u64::MAX, 1 << 63] {
            let mut recipe = Recipe::with_single_stage(models::find_model(name).unwrap(), seed);
            for param in model.declared() {
                let value = model.get(param.name).unwrap().into();
                recipe.stages[0].model.set(name, param.name, &value).unwrap();
            }
            (recipe.start, recipe.cells) = (Start::from_extent([10.0, 0.1 + 0.2]), 64);
            let back = Recipe::parse(&recipe.to_toml()).unwrap();
            assert_eq!((back.seed, back.hash(), &back.start), (seed, recipe.hash(), &recipe.start), "{name}");
            for param in model.declared() {
                assert_eq!(back.stages[0].model.get(param.name), model.get(param.name), "{name}.{}", param.name);
            }
        }
    }
}

/// Returns the known names in the error with which a text is refused for an unknown name.
fn known(text: &str) -> BTreeSet<String> {
    match Recipe::parse(text).err() {
        Some(Error::Unknown { known, .. }) => known.into_iter().collect(),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn editors_are_told_of_what_is_read() {
    let schema = recipe::recipe_schema(&models::Models::default());
    let keys = |of: &serde_json::Value| -> BTreeSet<String> {
        of["properties"].as_object().expect("a table").keys().cloned().collect()
    };
    assert_eq!(keys(&schema), known("nosuch = 1"));
    let stages = schema["properties"]["stage"]["items"]["oneOf"].as_array().expect("a stage of each model");
    assert_eq!(stages.len(), models::all_models().count());
    for (stage, model) in stages.iter().zip(models::all_models()) {
        let name = model.about().name;
        let refused = refusal(&format!("extent = [1, 1]\n[[stage]]\nmodel = \"{name}\"\nlabl = \"a\""));
        assert!(refused.contains("stage 1: unknown parameter `labl`; did you mean `label`"), "{refused}");
        // A stage that has every key writes no other keys, and the editor's schema has each of them.
        let mut written = Recipe::with_single_stage(model, 1);
        let own = &mut written.stages[0];
        let about = own.model.about();
        let source = || LayerSource { from: LayerOrigin::Layer("ground".into()), scale: Some([0.5, -1e-9]) };
        own.label = "another".into();
        own.muted = true;
        own.when = When::Widths([0.0, 30.5]);
        own.layers = about.needs.iter().chain(about.uses).map(|spec| (spec.name.into(), source())).collect();
        let numbers = own.model.declared().into_iter().filter(|param| param.is_number());
        own.finer = numbers.map(|param| (param.name.to_string(), 0.5)).collect();
        own.strokes = Tool::all().map(|tool| Stroke::new(tool, vec![[0.1, -2.5].into(); 2])).collect();
        (written.start, written.cells) = (Start::from_extent([10.0, 20.0]), 16);
        let text = written.to_toml();
        let back = Recipe::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(back.to_toml(), text);
        let (own, back) = (&written.stages[0], &back.stages[0]);
        assert_eq!((&own.label, own.muted, own.when), (&back.label, back.muted, back.when));
        assert_eq!((&own.layers, &own.finer, &own.strokes), (&back.layers, &back.finer, &back.strokes));
        let table: toml::Table = text.parse().expect("TOML");
        let said: BTreeSet<String> = table["stage"][0].as_table().expect("a table").keys().cloned().collect();
        let told = keys(stage);
        assert!(said.is_subset(&told), "{name}: {said:?} {told:?}");
        let left: Vec<_> =
            told.difference(&said).filter(|key| !["tables", "layers", "finer"].contains(&key.as_str())).collect();
        assert!(left.is_empty(), "{name}: {left:?}");
    }
}

#[test]
fn extents_that_make_no_grid_are_refused() {
    for (extent, cells) in [("[1e8, 1e8]", 1 << 20), ("[1e8, 1e8]", 1), ("[0.01, 0.01]", 1000)] {
        let recipe = Recipe::parse(&format!("extent = {extent}\ncells = {cells}")).unwrap();
        assert!(recipe.last_grid().is_err(), "{extent} in {cells} cells");
    }
    let strip = Recipe::parse("extent = [100000000, 0.01]\ncells = 1048576").unwrap().last_grid().unwrap();
    assert_eq!(strip.size, [1, 1 << 20]);
}

#[test]
fn deep_nesting_is_answered() {
    for (open, close) in [("[", "]"), ("{a=", "}")] {
        let deep = |n: usize| format!("extent = {}1{}", open.repeat(n), close.repeat(n));
        for n in [10, 1000, 100_000] {
            assert!(Recipe::parse(&deep(n)).is_err());
        }
    }
    assert!(Recipe::parse(&format!("extent = [1, 1]\n{}x = 1", "a.".repeat(50_000))).is_err());
}

/// Parses a text; if it is accepted, it must be written and read back unchanged.
fn answer(text: &str) {
    match Recipe::parse(text) {
        Ok(recipe) => {
            let back = Recipe::parse(&recipe.to_toml()).expect("what it writes it reads");
            assert_eq!(back.hash(), recipe.hash());
            if let Ok(grid) = recipe.last_grid() {
                recipe.estimate_memory(&grid);
            }
        }
        Err(error) => drop(error.to_string()),
    }
}

/// Returns pieces of recipes that are combined at random.
fn piece() -> impl Strategy<Value = String> {
    let words = "extent|cells|seed|edges|stage|model|layers|scale|label|inertia|droplets|shape|kind|[[stage]]|=|\n|[|]|{|}|,|\"|'|\
                 '''|1|-1|1e400|nan|-inf|0x7f|1979-05-27|07:32:00|true|\"open\"|.|#|\\u0000|\u{feff}|é|north|file|layer";
    let words: Vec<String> = words.split('|').map(String::from).collect();
    prop_oneof![4 => prop::sample::select(words), 1 => any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_text_is_answered(text in any::<String>()) {
        answer(&text);
    }

    #[test]
    fn random_pieces_are_answered(pieces in prop::collection::vec(piece(), 0..40), space in "[ \n]?") {
        answer(&pieces.join(&space));
    }

    #[test]
    fn changed_recipes_are_answered(
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..12usize, piece()), 1..6),
    ) {
        let mut text: Vec<char> = GOOD.chars().collect();
        for (at, cut, new) in changes {
            let at = at.index(text.len() + 1);
            let end = (at + cut).min(text.len());
            text.splice(at..end, new.chars());
        }
        answer(&text.into_iter().collect::<String>());
    }

    #[test]
    fn what_is_written_is_read(
        words in [any::<String>(), any::<String>(), any::<String>(), "[^\0]{0,20}"],
        sides in [0.01..=1e8f64, 0.01..=1e8],
        [cells, first] in [1..=1usize << 20, 1..=1 << 20],
        seed in any::<u64>(),
        sea in prop::option::of(-16e3..=16e3f64),
        closed in any::<[bool; 4]>(),
        kind in [0..3usize, 0..4, 0..1000, 0..1000],
        finest in 0.0..=1e8f64,
        scale in prop::option::of([any::<i32>(), any::<i32>()]),
    ) {
        let mut recipe = Recipe::with_single_stage(models::find_model("droplets").unwrap(), seed);
        let [name, about, label, path] = words;
        (recipe.name, recipe.about, recipe.stages[0].label) = (name, about, label);
        if kind[2] % 3 == 0 {
            recipe.set_dem(path.clone().into()).unwrap();
            recipe.cells = cells * (kind[3] % 2);
        } else {
            (recipe.start, recipe.cells) = (Start::from_extent(sides), cells);
            recipe.set_coarsest([Coarsest::None, Coarsest::Auto, Coarsest::Cells(first)][kind[0]]).unwrap();
        }
        recipe.sea_level = sea;
        recipe.edges = closed.map(|closed| if closed { Edge::Closed } else { Edge::Open });
        recipe.rock = rocks::ROCKS.iter().cycle().nth(kind[2]).unwrap();
        recipe.ramp = RAMPS[kind[3] % RAMPS.len()];
        let stage = &mut recipe.stages[0];
        stage.when = [When::All, When::First, When::Last, When::Widths([finest, 1e8])][kind[1]];
        let scale = scale.filter(|[a, b]| a != b).map(|ends| ends.map(|end| f64::from(end) / 7.0));
        let from = if seed % 2 == 0 { LayerOrigin::File(path.into()) } else { LayerOrigin::Layer(path) };
        stage.layers.insert("rain".into(), LayerSource { from, scale });
        let text = recipe.to_toml();
        let back = Recipe::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        prop_assert_eq!(back.to_toml(), text);
        prop_assert_eq!((&back.name, &back.about, &back.start), (&recipe.name, &recipe.about, &recipe.start));
        prop_assert_eq!((back.cells, back.seed), (recipe.cells, seed));
        prop_assert_eq!((back.edges, back.sea_level, back.rock.name), (recipe.edges, sea, recipe.rock.name));
        prop_assert_eq!(back.ramp.name, recipe.ramp.name);
        let (back, stage) = (&back.stages[0], &recipe.stages[0]);
        prop_assert_eq!((&back.label, back.when, &back.layers), (&stage.label, stage.when, &stage.layers));
    }

    #[test]
    fn any_value_anywhere_is_answered(key in prop::sample::select(vec![
        "name", "about", "extent", "cells", "seed", "edges", "sea_level", "rock", "from", "stage",
    ]), value in prop::sample::select(vec![
        "1", "-9223372036854775808", "1e308", "nan", "inf", "true", "\"\"", "'\\'", "[]", "[[]]", "{}", "[{}]", "1979-05-27T07:32:00Z",
        "[1, 2]", "[nan, inf]", "[1e8, 1e-2]", "{ north = 1979-05-27 }", "[{ model = [] }]", "[{ model = 'shape', layers = 1 }]",
        "[{ model = 'shape', layers = { amount = {} } }]", "[{ model = 'shape', layers = { amount = { file = 07:32:00 } } }]",
        "[{ model = 'shape', height = 07:32:00.999 }]", "[{ model = 'shape', height = [{ a = { b = 1979-05-27 } }, 1] }]",
    ]), rest in prop::bool::ANY) {
        answer(&format!("{key} = {value}\n{}", if rest && key != "extent" { "extent = [10, 10]" } else { "" }));
    }
}

/// A stage's label seeds its random numbers. The label `manual` keeps the key of its former name `hands`: otherwise
/// worlds with droplets that a user poured would change.
#[test]
fn a_stage_of_strokes_draws_the_numbers_that_it_always_drew() {
    let stage = |label: &str| recipe::Stage::new(label, models::find_model("manual").unwrap());
    assert_eq!(stage("manual").key(7), RandomKey::new(7, "hands"));
    assert_eq!(stage("another").key(7), RandomKey::new(7, "another"));
}
