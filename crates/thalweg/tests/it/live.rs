//! Tests of runs under a caller's control: parameters and springs are changed between steps.

use std::path::Path;

use crate::support::finish_run;
use thalweg_core::terrain::{Cells, RAIN};
use thalweg_core::{Field, Result};
use thalweg_noise::input_tables::springs::{SPRINGS, Spring};
use thalweg_sim::recipe::Recipe;
use thalweg_sim::run::Run;

const RECIPE: &str = r#"
extent = [600, 400]
cells = 60
seed = 2
[[stage]]
model = "gradient_noise"
wavelength = 300
amplitude = 60
[[stage]]
model = "fluvial"
label = "brook"
rain = 0
steps = 40
tables = { springs = [{ x = 300, y = 200.5, rate = 2 }, { x = 10, y = 20, rate = 0 }] }
[[stage]]
model = "fluvial"
label = "shower"
steps = 5
"#;

fn run() -> Run {
    Run::new(Recipe::parse(RECIPE).unwrap()).unwrap()
}

fn step(run: &mut Run, times: usize) {
    for _ in 0..times {
        run.take_step().unwrap();
    }
}

fn set(run: &mut Run, label: &str, parameter: &str, value: &str) -> Result<()> {
    run.set_parameter(label, parameter, &thalweg_core::declare::params::parse_value(value))
}

/// Steps until `n` steps of the stage `label` are done.
fn until(run: &mut Run, label: &str, n: u32) {
    while let Some(progress) = run.take_step().unwrap() {
        if progress.label == label && progress.step == n {
            return;
        }
    }
    panic!("{label} takes no {n} steps");
}

#[test]
fn the_same_value_changes_no_bit() {
    let (mut plain, mut touched) = (run(), run());
    finish_run(&mut plain);
    until(&mut touched, "brook", 11);
    set(&mut touched, "brook", "softness", "0.3").unwrap();
    touched.terrain_mut();
    finish_run(&mut touched);
    assert_eq!(touched.terrain().fingerprints(), plain.terrain().fingerprints());
    assert_eq!(touched.recipe().hash(), plain.recipe().hash());
    assert!(touched.reports().iter().all(|report| report.changes.is_empty()));
    assert!(touched.terrain().tables.is_empty(), "a stage's springs go with it");
}

#[test]
fn a_changed_parameter_counts_from_there_on() {
    let (mut plain, mut changed) = (run(), run());
    until(&mut plain, "brook", 11);
    until(&mut changed, "brook", 11);
    set(&mut changed, "brook", "softness", "0.9").unwrap();
    set(&mut changed, "shower", "rain", "77").unwrap();
    assert_eq!(changed.terrain().fingerprints(), plain.terrain().fingerprints());
    step(&mut plain, 1);
    step(&mut changed, 1);
    assert_ne!(changed.terrain().fingerprints()["ground"], plain.terrain().fingerprints()["ground"]);
    finish_run(&mut changed);
    let report = changed.report();
    let brook = &report["stages"][1];
    assert_eq!(brook["parameters"]["softness"], 0.9);
    let want = serde_json::json!([{ "step": 11, "parameter": "softness", "from": 0.3, "to": 0.9 }]);
    assert_eq!(brook["changes"], want);
    // The next stage started with the new value, so it has no changes.
    assert_eq!(report["stages"][2]["parameters"]["rain"], 77.0);
    assert!(report["stages"][2].get("changes").is_none());
}

#[test]
fn what_cannot_be_changed_is_refused_and_nothing_changes() {
    let mut run = run();
    until(&mut run, "brook", 11);
    let hash = run.recipe().hash();
    for (label, parameter, value, words) in [
        ("brok", "softness", "0.5", "did you mean `brook`"),
        ("brook", "sofness", "0.5", "did you mean `softness`"),
        ("brook", "softness", "1.5", "fluvial.softness = 1.5: must be 0 to 1"),
        ("brook", "steps", "11", "more than the 11 steps already taken"),
        ("gradient_noise", "amplitude", "5.0", "not finished yet"),
    ] {
        let message = set(&mut run, label, parameter, value).unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
    }
    // A check that involves several parameters: a drop outside the world.
    set(&mut run, "shower", "x", "5000").unwrap();
    assert!(set(&mut run, "shower", "drop", "3").unwrap_err().to_string().contains("fluvial.x = 5000 m"));
    set(&mut run, "shower", "x", "0").unwrap();
    assert_eq!(run.recipe().hash(), hash);
}

#[test]
fn springs_and_rain_are_added_between_steps_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state");
    let mut plain = run();
    finish_run(&mut plain);
    let mut live = run();
    let spring = Spring { x: 500.0, y: 100.0, rate: 3.0 };
    assert!(live.add_spring(spring).unwrap_err().to_string().contains("gradient_noise"), "no springs in noise");
    until(&mut live, "brook", 11);
    assert!(live.add_spring(Spring { x: 601.0, ..spring }).unwrap_err().to_string().contains("601 m"));
    live.add_spring(spring).unwrap();
    assert_eq!(live.terrain().tables[SPRINGS].len(), 3);
    let size = live.terrain().grid.size;
    let mask = Field::from_fn(size, |i, _| if i < 5 { 1.0 } else { 0.0 });
    live.terrain_mut().insert_layer(&RAIN, Cells::Float(mask)).unwrap();
    set(&mut live, "brook", "rain", "50").unwrap();
    step(&mut live, 3);
    live.save(&file, &serde_json::Value::Null).unwrap();
    finish_run(&mut live);
    let [before, after] = [&plain, &live].map(|run| run.reports()[1].mass_balance);
    // 29 steps of 10 s with an additional 3 m³/s, to the unit over 100 m² in each step.
    assert!((after.poured - before.poured - 870.0).abs() < 0.1, "{}", after.poured);
    assert!(after.rained > 0.0 && before.rained == 0.0);
    let (mut resumed, _) = Run::resume(Path::new(&file)).unwrap();
    finish_run(&mut resumed);
    assert_eq!(resumed.terrain().fingerprints(), live.terrain().fingerprints());
    assert_eq!(resumed.report()["stages"][1]["changes"], live.report()["stages"][1]["changes"]);
}

#[test]
fn springs_of_a_recipe_are_checked_and_written_back() {
    let recipe = Recipe::parse(RECIPE).unwrap();
    let again = Recipe::parse(&recipe.to_toml()).unwrap();
    assert_eq!(again.hash(), recipe.hash());
    assert_eq!(again.stages[1].tables.springs, recipe.stages[1].tables.springs);
    assert_eq!(recipe.stages[1].tables.springs[0], Spring { x: 300.0, y: 200.5, rate: 2.0 });
    for (new, words) in [
        ("{ x = 601, y = 0, rate = 1 }", "springs[1].x = 601 m: must be 0 to 600 m (the world's width)"),
        ("{ x = 0, y = 400.5, rate = 1 }", "springs[1].y = 400.5 m: must be 0 to 400 m (the world's height)"),
        ("{ x = 0, y = 0, rate = -1 }", "springs[1].rate = -1 m³/s: must be 0 to"),
        ("{ x = 0, y = nan, rate = 1 }", "springs[1].y"),
        ("{ x = 0, y = 0 }", "springs[1].rate is missing: give a number"),
        ("{ x = 0, y = 0, rat = 1 }", "did you mean `rate`"),
        ("3", "springs[1] = 3"),
    ] {
        let text = RECIPE.replace("{ x = 300, y = 200.5, rate = 2 }", new);
        let refused = Recipe::parse(&text).and_then(Run::new).err().unwrap_or_else(|| panic!("accepted: {new}"));
        assert!(refused.to_string().contains(words), "{refused}");
    }
    let other = |old: &str, new: &str| Recipe::parse(&RECIPE.replace(old, new)).err().unwrap().to_string();
    assert!(other("tables = { springs", "tables = { spring").contains("did you mean `springs`"));
    assert!(other("label = \"shower\"", "label = \"s\"\ntables = 3").contains("a table of tables"));
    let thermal = "model = \"thermal\"\ntables = { springs = [] }";
    assert!(other("model = \"fluvial\"\nlabel = \"shower\"\nsteps = 5", thermal).contains("there are none"));
}
