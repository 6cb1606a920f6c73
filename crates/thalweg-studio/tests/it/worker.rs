//! Tests of the worker without a window: its orders and its snapshots.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::run_recipe;
use thalweg_core::Terrain;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::declare::params::{ParamKind, Value};
use thalweg_sim::recipe::strokes::{Stroke, Tool};
use thalweg_sim::recipe::{Recipe, Start};
use thalweg_studio::session::{SessionSnapshot, Worker, WorkerOrder};

const WORLD: &str = r#"
extent = [3200.0, 3200.0]
cells = 64
seed = 5

[[stage]]
model = "gradient_noise"
label = "hills"
amplitude = 400.0
wavelength = 1500.0

[[stage]]
model = "stream_power"
label = "rivers"
years = 600000.0
step = 20000.0

[[stage]]
model = "droplets"
label = "rain"
count = 5000
"#;

fn recipe() -> Recipe {
    Recipe::parse(WORLD).unwrap()
}

fn worker(playing: bool) -> Worker {
    let worker = Worker::start(recipe(), playing, || {}).unwrap();
    worker.send_order(WorkerOrder::Pace(None));
    worker
}

/// Waits for a snapshot for which a condition holds.
fn until(worker: &Worker, what: &str, holds: impl Fn(&SessionSnapshot) -> bool) -> Arc<SessionSnapshot> {
    let start = Instant::now();
    loop {
        if let Some(snapshot) = worker.latest_snapshot().filter(|snapshot| holds(snapshot)) {
            return snapshot;
        }
        let last = worker.latest_snapshot().and_then(|snapshot| snapshot.problem.clone());
        assert!(start.elapsed() < Duration::from_secs(180), "waited in vain until {what}; last problem {last:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn built(text: &str) -> Terrain {
    run_recipe(Recipe::parse(text).unwrap()).into_terrain()
}

fn edited(change: impl FnOnce(&mut Recipe)) -> Box<Recipe> {
    let mut recipe = recipe();
    change(&mut recipe);
    Box::new(recipe)
}

fn set(recipe: &mut Recipe, stage: usize, name: &str, value: f64) {
    let owner = recipe.stages[stage].model.about().name;
    recipe.stages[stage].model.set(owner, name, &value.into()).unwrap();
}

#[test]
fn a_run_that_is_only_watched_is_the_build() {
    let worker = worker(true);
    let done = until(&worker, "it is done", |snapshot| snapshot.done);
    assert!(done.terrain.ground == built(WORLD).ground);
    assert!(done.before.ground == built(&WORLD[..WORLD.find("[[stage]]\nmodel = \"stream_power\"").unwrap()]).ground);
    assert_eq!(done.particles, 5000);
    assert_eq!(done.all[0], done.all[1]);
}

#[test]
fn a_change_of_an_earlier_stage_runs_again_from_there_and_comes_to_the_build() {
    let worker = worker(true);
    until(&worker, "it is done", |snapshot| snapshot.done);
    worker.send_order(WorkerOrder::Edit(edited(|recipe| set(recipe, 1, "erodibility", 1e-5)), 1, u64::MAX));
    let done = until(&worker, "it is done again", |snapshot| snapshot.revision == 1 && snapshot.done);
    assert!(done.terrain.ground == built(&done.recipe).ground);
    assert!(done.terrain.ground != built(WORLD).ground);
}

#[test]
fn a_paused_run_comes_back_to_where_it_stood() {
    let worker = worker(false);
    worker.send_order(WorkerOrder::Step(20));
    let here = until(&worker, "20 steps are taken", |snapshot| snapshot.all[0] == 20 && !snapshot.playing);
    worker.send_order(WorkerOrder::Edit(edited(|recipe| set(recipe, 0, "amplitude", 200.0)), 1, u64::MAX));
    let again =
        until(&worker, "it is back", |snapshot| snapshot.revision == 1 && snapshot.all[0] == 20 && !snapshot.playing);
    assert_eq!((again.stage, again.step), (here.stage, here.step));
    assert!(again.terrain.ground != here.terrain.ground);
}

#[test]
fn a_paused_run_comes_back_however_often_it_is_edited_on_the_way() {
    let worker = worker(false);
    worker.send_order(WorkerOrder::Step(20));
    until(&worker, "20 steps are taken", |snapshot| snapshot.all[0] == 20 && !snapshot.playing);
    for (revision, amplitude) in (1..).zip([200.0, 210.0, 220.0, 230.0]) {
        worker.send_order(WorkerOrder::Edit(
            edited(|recipe| set(recipe, 0, "amplitude", amplitude)),
            revision,
            u64::MAX,
        ));
        std::thread::sleep(Duration::from_millis(3));
    }
    until(&worker, "it is back", |snapshot| snapshot.revision == 4 && snapshot.all[0] == 20 && !snapshot.playing);
}

#[test]
fn a_stroke_that_an_edit_did_not_know_of_is_kept() {
    let worker = worker(false);
    worker.send_order(WorkerOrder::Step(10));
    until(&worker, "10 steps are taken", |snapshot| snapshot.all[0] == 10 && !snapshot.playing);
    worker.send_order(WorkerOrder::Stroke(Stroke {
        radius: 400.0,
        ..Stroke::new(Tool::Raise, vec![[1600.0, 1600.0].into()])
    }));
    worker.send_order(WorkerOrder::Edit(edited(|recipe| set(recipe, 2, "erosion", 0.05)), 1, 0));
    let both = until(&worker, "both are in", |snapshot| snapshot.revision == 1);
    assert!(both.recipe.contains("tool = \"raise\"") && both.recipe.contains("erosion = 0.05"), "{}", both.recipe);
    worker.send_order(WorkerOrder::Play(true));
    let done = until(&worker, "it is done", |snapshot| snapshot.done);
    assert!(done.terrain.ground == built(&done.recipe).ground);
}

#[test]
fn a_parameter_of_the_running_stage_acts_at_once() {
    let worker = worker(false);
    worker.send_order(WorkerOrder::Step(15));
    let here = until(&worker, "15 steps are taken", |snapshot| snapshot.all[0] == 15 && !snapshot.playing);
    worker.send_order(WorkerOrder::Edit(edited(|recipe| set(recipe, 1, "erodibility", 1e-5)), 1, u64::MAX));
    let now = until(&worker, "it is known", |snapshot| snapshot.revision == 1);
    assert_eq!((now.stage, now.step), (here.stage, here.step));
    assert!(now.terrain.ground == here.terrain.ground, "only coming steps feel it");
    worker.send_order(WorkerOrder::Step(1));
    let next = until(&worker, "a step is taken", |snapshot| snapshot.all[0] == 16);
    assert!(
        next.recipe.contains("erodibility = 0.00001") || next.recipe.contains("erodibility = 1e-5"),
        "{}",
        next.recipe
    );
}

#[test]
fn strokes_are_kept_in_the_recipe_and_undone() {
    let worker = worker(false);
    worker.send_order(WorkerOrder::Step(10));
    let flat = until(&worker, "10 steps are taken", |snapshot| snapshot.all[0] == 10 && !snapshot.playing);
    let stroke = Stroke { radius: 400.0, strength: 80.0, ..Stroke::new(Tool::Raise, vec![[1600.0, 1600.0].into()]) };
    std::thread::sleep(Duration::from_millis(500));
    worker.send_order(WorkerOrder::Stroke(stroke));
    let hill = until(&worker, "the hill stands", |snapshot| snapshot.version > flat.version);
    let rise = hill.terrain.ground[(32, 32)].metres() - flat.terrain.ground[(32, 32)].metres();
    assert!((rise - 80.0).abs() < 5.0, "{rise}");
    worker.send_order(WorkerOrder::Play(true));
    let done = until(&worker, "it is done", |snapshot| snapshot.done);
    assert!(done.terrain.ground == built(&done.recipe).ground);
    let plain = Recipe::parse(&flat.recipe).unwrap();
    worker.send_order(WorkerOrder::Edit(Box::new(plain), 7, u64::MAX));
    let undone = until(&worker, "it is done without", |snapshot| snapshot.revision == 7 && snapshot.done);
    assert!(undone.terrain.ground == built(WORLD).ground);
}

/// The world with a margin, which is cut away at the end.
fn world_with_margin() -> String {
    WORLD.replace("seed = 5", "seed = 5\nmargin = 0.1")
}

/// Returns the number of stages for user edits in a recipe.
fn count_manual_stages(recipe: &str) -> usize {
    recipe.matches("model = \"manual\"").count()
}

#[test]
fn edits_after_the_end_are_in_one_stage_and_are_undone_one_by_one() {
    for text in [WORLD.to_string(), world_with_margin()] {
        let worker = Worker::start(Recipe::parse(&text).unwrap(), true, || {}).unwrap();
        worker.send_order(WorkerOrder::Pace(None));
        let done = until(&worker, "it is done", |snapshot| snapshot.done);
        let mut states = vec![Arc::clone(&done)];
        for (count, x) in (1..).zip([1000.0, 1600.0, 2200.0]) {
            worker.send_order(WorkerOrder::Drop([x, 1600.0].into()));
            let edited = until(&worker, "the droplet has run", |snapshot| snapshot.strokes == count && snapshot.done);
            assert_eq!(count_manual_stages(&edited.recipe), 1, "{}", edited.recipe);
            assert_eq!((edited.particles, edited.trace.number), (done.particles + count, count));
            assert!(!edited.trace.points.is_empty() && edited.terrain.grid.size == [64, 64]);
            assert!(edited.terrain.ground == built(&edited.recipe).ground);
            states.push(edited);
        }
        // Space makes a shower.
        worker.send_order(WorkerOrder::Stroke(Stroke::shower(500)));
        let wet = until(&worker, "the shower has fallen", |snapshot| snapshot.strokes == 4 && snapshot.done);
        assert_eq!((wet.particles, count_manual_stages(&wet.recipe)), (done.particles + 503, 1));
        assert!(wet.falling.is_some() && wet.terrain.ground == built(&wet.recipe).ground);
        assert!(wet.terrain.ground != states[3].terrain.ground);
        for (revision, state) in (1..).zip(states.iter().rev()) {
            let recipe = Recipe::parse(&state.recipe).unwrap();
            worker.send_order(WorkerOrder::Edit(Box::new(recipe), revision, u64::MAX));
            let undone = until(&worker, "it is undone", |snapshot| snapshot.revision == revision && snapshot.done);
            assert!(undone.terrain.ground == state.terrain.ground, "{}", undone.recipe);
        }
    }
}

#[test]
fn a_recipe_with_several_stages_of_edits_keeps_them() {
    let stage = |label: &str, x: u32| {
        let stroke = format!("{{ tool = \"raise\", x = {x}, y = 1600, radius = 300 }}");
        format!("[[stage]]\nmodel = \"manual\"\nlabel = \"{label}\"\nstrokes = [{stroke}]\n")
    };
    let stages = [stage("manual", 900), stage("manual 2", 1600), stage("manual 3", 2300)].concat();
    let text = format!("{WORLD}{stages}");
    let worker = Worker::start(Recipe::parse(&text).unwrap(), true, || {}).unwrap();
    worker.send_order(WorkerOrder::Pace(None));
    let done = until(&worker, "it is done", |snapshot| snapshot.done);
    assert!(count_manual_stages(&done.recipe) == 3 && done.terrain.ground == built(&text).ground);
    worker.send_order(WorkerOrder::Drop([1600.0, 1600.0].into()));
    let edited = until(&worker, "the droplet has run", |snapshot| snapshot.strokes == 1 && snapshot.done);
    assert_eq!(count_manual_stages(&edited.recipe), 3);
    assert!(edited.terrain.ground == built(&edited.recipe).ground);
}

#[test]
fn the_parts_of_a_drag_share_a_mark_however_long_it_takes() {
    for (text, steps) in [(WORLD.to_string(), Some(10)), (world_with_margin(), None)] {
        let worker = Worker::start(Recipe::parse(&text).unwrap(), steps.is_none(), || {}).unwrap();
        worker.send_order(WorkerOrder::Pace(None));
        if let Some(steps) = steps {
            worker.send_order(WorkerOrder::Step(steps));
        }
        let before = until(&worker, "it rests", |snapshot| {
            snapshot.done || (!snapshot.playing && steps.map(u64::from) == Some(snapshot.all[0]))
        });
        let part = |x: f64| Stroke { radius: 200.0, ..Stroke::new(Tool::Raise, vec![[x, 1600.0].into()]) };
        worker.send_order(WorkerOrder::Stroke(part(1000.0)));
        until(&worker, "the drag has begun", |snapshot| snapshot.strokes == 1);
        for x in [1200.0, 1400.0, 1600.0] {
            std::thread::sleep(Duration::from_millis(450));
            worker.send_order(WorkerOrder::DragStroke(part(x)));
        }
        let drawn = until(&worker, "it has ended", |snapshot| snapshot.strokes == 4);
        let [marks, earlier] = [&drawn, &before].map(|snapshot| snapshot.marks.len());
        assert!(marks <= earlier + 2, "{marks} marks after {earlier}");
        worker.send_order(WorkerOrder::Play(true));
        let done = until(&worker, "it is done", |snapshot| snapshot.done);
        assert!(done.terrain.ground == built(&done.recipe).ground);
    }
}

#[test]
fn going_back_to_a_mark_stops_there() {
    let worker = worker(true);
    let done = until(&worker, "it is done", |snapshot| snapshot.done);
    let mark = *done.marks.iter().find(|mark| (mark.turn, mark.step) == (1, 0)).unwrap();
    worker.send_order(WorkerOrder::Back(mark));
    let back = until(&worker, "it is back", |snapshot| snapshot.stage == 1 && !snapshot.playing);
    assert_eq!(back.step, 0);
    worker.send_order(WorkerOrder::Play(true));
    let again = until(&worker, "it is done again", |snapshot| snapshot.done);
    assert!(again.terrain.ground == done.terrain.ground);
}

#[test]
fn what_cannot_be_is_said_and_the_last_good_recipe_goes_on() {
    let worker = worker(false);
    worker.send_order(WorkerOrder::Step(5));
    let good = until(&worker, "5 steps are taken", |snapshot| snapshot.all[0] == 5 && !snapshot.playing);
    worker.send_order(WorkerOrder::Edit(
        edited(|recipe| recipe.start = Start::FromDem { path: "no such file.tif".into() }),
        2,
        u64::MAX,
    ));
    let bad = until(&worker, "it is refused", |snapshot| snapshot.revision == 2 && snapshot.problem.is_some());
    assert!(bad.problem.as_ref().unwrap().contains("no such file.tif"), "{:?}", bad.problem);
    assert!(bad.terrain.ground == good.terrain.ground);
    worker.send_order(WorkerOrder::Play(true));
    let done = until(&worker, "it is done", |snapshot| snapshot.done);
    assert!(done.terrain.ground == built(WORLD).ground);
    worker.send_order(WorkerOrder::Drop([1e9, 0.0].into()));
    until(&worker, "a droplet outside is refused", |snapshot| {
        snapshot.problem.as_ref().is_some_and(|p| p.contains("1000000000"))
    });
}

#[test]
fn a_click_follows_one_droplet() {
    let worker = worker(true);
    let done = until(&worker, "it is done", |snapshot| snapshot.done);
    worker.send_order(WorkerOrder::Drop([1600.0, 1600.0].into()));
    let followed = until(&worker, "it is followed", |snapshot| snapshot.trace.number == 1 && snapshot.done);
    assert_eq!(followed.trace.points[0].place, [1600.0, 1600.0].into());
    assert_eq!(followed.particles, done.particles + 1);
    assert!(followed.terrain.ground == built(&followed.recipe).ground);
}

#[test]
fn a_spring_after_the_end_runs_in_a_stage_of_its_own() {
    let worker = worker(true);
    let dry = until(&worker, "it is done", |snapshot| snapshot.done);
    worker.send_order(WorkerOrder::Stroke(Stroke {
        rate: 2.0,
        ..Stroke::new(Tool::Spring, vec![[1600.0, 1600.0].into()])
    }));
    // A fast machine may finish all steps before a snapshot of one of them is read, so the condition must remain true
    // afterwards.
    let wet = until(&worker, "water flows", |snapshot| snapshot.all[0] > dry.all[0]);
    assert_eq!(wet.turn, if wet.done { 4 } else { 3 });
    assert!(wet.recipe.contains("label = \"springs\"") && wet.terrain.layers.contains_key("water"));
}

#[test]
fn worlds_of_any_shape_are_stepped_and_shown() {
    for text in [
        "extent = [10.0, 10.0]\ncells = 1\n[[stage]]\nmodel = \"gradient_noise\"\n[[stage]]\nmodel = \"droplets\"\n",
        "extent = [5000.0, 10.0]\ncells = 5000\n[[stage]]\nmodel = \"gradient_noise\"\n",
        "extent = [100.0, 100.0]\ncells = 8\n",
        "extent = [100.0, 100.0]\ncells = 8\n[[stage]]\nmodel = \"gradient_noise\"\nmuted = true\n",
    ] {
        let worker = Worker::start(Recipe::parse(text).unwrap(), true, || {}).unwrap();
        let done = until(&worker, text, |snapshot| snapshot.done);
        assert!(done.terrain.grid.size.iter().all(|n| (1..=4096).contains(n)), "{text}: {:?}", done.terrain.grid.size);
    }
}

/// Returns a pseudo-random value that a declaration allows.
fn some(kind: ParamKind, draw: &mut impl FnMut() -> f64) -> Value {
    match kind {
        ParamKind::Number { min, max } => Value::Number(min + (max - min) * draw().powi(8)),
        ParamKind::Count { min, max } => Value::Count(min + (f64::from(max - min) * draw().powi(12)) as u32),
        ParamKind::Switch => Value::Switch(draw() < 0.5),
        ParamKind::Choice(words) => Value::Choice(words[(draw() * words.len() as f64) as usize % words.len()].0),
    }
}

#[test]
fn parameters_turned_wildly_on_a_running_simulation_never_end_it() {
    let worker = worker(true);
    let key = RandomKey::new(9, "fuzz");
    let mut number = 0;
    let mut draw = move || {
        number += 1;
        key.derive_key(number).uniform_unit()
    };
    let mut recipe = recipe();
    // Hours of droplets would prove no more than seconds.
    for revision in 1..=150 {
        let stage = (draw() * recipe.stages.len() as f64) as usize % recipe.stages.len();
        let owner = recipe.stages[stage].model.about().name;
        let declared = recipe.stages[stage].model.declared();
        let param = declared[(draw() * declared.len() as f64) as usize % declared.len()];
        let long = ["count", "density", "max_steps", "years", "step", "octaves", "radius", "stride"];
        if !long.contains(&param.name) {
            let value = some(param.kind, &mut draw);
            recipe.stages[stage].model.set(owner, param.name, &value.into()).unwrap();
        }
        if draw() < 0.1 {
            recipe.stages[stage].muted = !recipe.stages[stage].muted;
        }
        if draw() < 0.1 {
            worker.send_order(WorkerOrder::Stroke(Stroke::new(
                Tool::Smooth,
                vec![[3200.0 * draw(), 3200.0 * draw()].into()],
            )));
        }
        if draw() < 0.05 {
            worker.send_order(WorkerOrder::Restart);
        }
        worker.send_order(WorkerOrder::Edit(Box::new(recipe.clone()), revision, u64::MAX));
        if draw() < 0.3 {
            std::thread::sleep(Duration::from_millis((20.0 * draw()) as u64));
        }
    }
    worker.send_order(WorkerOrder::Open(Box::new(self::recipe()), 1000));
    worker.send_order(WorkerOrder::Play(true));
    let done = until(&worker, "it is done after all", |snapshot| snapshot.revision == 1000 && snapshot.done);
    assert!(done.terrain.ground == built(WORLD).ground);
}
