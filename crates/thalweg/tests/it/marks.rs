//! Tests of marks: going back in a run under a recipe that has changed since, and on to the same bits as a fresh
//! build.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::support::finish_run;
use proptest::prelude::*;
use thalweg_sim::recipe::Recipe;
use thalweg_sim::recipe::strokes::{Stroke, Tool};
use thalweg_sim::run::Run;
use thalweg_sim::run::mark::Mark;

/// A stage of the tests' recipes: a model, a parameter's value, and strokes by step and place.
#[derive(Debug, Clone)]
struct Part {
    model: &'static str,
    label: String,
    value: f64,
    muted: bool,
    strokes: Vec<(u32, f64)>,
}

#[derive(Debug, Clone)]
struct Plan {
    about: u32,
    seed: u32,
    parts: Vec<Part>,
}

impl Plan {
    fn new() -> Self {
        let part = |model, value, strokes: &[(u32, f64)]| Part {
            model,
            label: model.to_string(),
            value,
            muted: false,
            strokes: strokes.to_vec(),
        };
        let parts = vec![
            part("gradient_noise", 60.0, &[(1, 100.0)]),
            part("thermal", 25.0, &[(2, 40.0), (0, 120.0), (2, 70.0)]),
            part("droplets", 0.05, &[(1, 90.0), (3, 20.0)]),
            part("fluvial", 0.3, &[]),
        ];
        Self { about: 0, seed: 1, parts }
    }

    fn text(&self) -> String {
        let mut text = format!("about = '{}'\nextent = [240, 200]\ncells = 24\nseed = {}\n", self.about, self.seed);
        for part in &self.parts {
            let (parameter, more) = match part.model {
                "gradient_noise" => ("amplitude", "wavelength = 150"),
                "thermal" => ("talus", "steps = 3"),
                "droplets" => ("erosion", "count = 40\nmax_steps = 8"),
                _ => ("softness", "steps = 4"),
            };
            let _ = writeln!(text, "[[stage]]\nmodel = '{}'\nlabel = '{}'\n{more}", part.model, part.label);
            let _ = writeln!(text, "{parameter} = {:?}\nmuted = {}\nstrokes = [", part.value, part.muted);
            for (step, x) in &part.strokes {
                let tool = ["raise", "smooth", "droplets", "hardness"][(*x as usize) % 4];
                let _ = writeln!(text, "{{ step = {step}, tool = '{tool}', x = {x:?}, y = 90, radius = 60 }},");
            }
            text.push_str("]\n");
        }
        text
    }

    fn run(&self) -> Option<Run> {
        Run::new(Recipe::parse(&self.text()).ok()?).ok()
    }

    /// Applies an edit given by its kind, its place and its amount.
    fn edit(&mut self, (what, at, by): (u8, usize, u32)) {
        let at = at % self.parts.len();
        let part = &mut self.parts[at];
        let stroke = by as usize % part.strokes.len().max(1);
        match what {
            0 => self.seed += by % 2,
            1 => part.value *= 1.0 + f64::from(by % 3) / 10.0,
            2 => part.muted = !part.muted,
            3 => part.label += "x",
            4 | 5 => part.strokes.insert(stroke.min(part.strokes.len()), (by % 4, f64::from(by))),
            6 | 7 if !part.strokes.is_empty() => drop(part.strokes.remove(stroke)),
            8 if !part.strokes.is_empty() => part.strokes[stroke].1 += 1.0,
            9 => {
                let label = format!("new {by}");
                let value = 25.0;
                self.parts.insert(
                    at,
                    Part { model: "thermal", label, value, muted: by.is_multiple_of(2), strokes: Vec::new() },
                );
            }
            10 if self.parts.len() > 1 => drop(self.parts.remove(at)),
            11 if at > 0 => self.parts.swap(at - 1, at),
            _ => self.about += 1,
        }
    }
}

/// Runs to the end with a mark at every step and with live strokes after the given steps.
fn marked(mut run: Run, live: &[u32]) -> (Recipe, Vec<Mark>) {
    let mut marks = vec![run.save_mark()];
    let mut turn = 0;
    while run.take_step().unwrap().is_some() {
        marks.push(run.save_mark());
        turn += 1;
        if live.contains(&turn) {
            let mut stroke = Stroke::new(Tool::Raise, vec![[f64::from(turn) * 9.0, 50.0].into()]);
            stroke.radius = 70.0;
            run.add_stroke(stroke).unwrap();
            marks.push(run.save_mark());
        }
    }
    (Recipe::parse(&run.recipe().to_toml()).unwrap(), marks)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn whoever_goes_back_to_a_mark_that_agrees_comes_to_a_fresh_builds_bits(
        edits in proptest::collection::vec((0u8..13, 0usize..8, 0u32..200), 1..4),
    ) {
        let plan = Plan::new();
        let (before, marks) = marked(plan.run().unwrap(), &[]);
        let mut other = plan.clone();
        edits.iter().for_each(|edit| other.edit(*edit));
        let Some(mut fresh) = other.run() else { return Ok(()) };
        let after = Recipe::parse(&other.text()).unwrap();
        let first = marks[0].is_consistent_with(&after);
        prop_assert_eq!(first, other.seed == plan.seed);
        finish_run(&mut fresh);
        let mut last = true;
        for mark in &marks {
            let agrees = mark.is_consistent_with(&after);
            // Once a past differs, it keeps differing.
            prop_assert!(last || !agrees);
            last = agrees;
            // No stroke was made live, so at a mark no stroke of the current step has been applied, except at the end
            // of a stage.
            prop_assert_eq!(agrees, before.leads_to_same_state(&after, mark.turn(), mark.step()));
            prop_assert_eq!(after.leads_to_same_state(&before, mark.turn(), mark.step()), agrees);
            if agrees {
                let mut run = Run::from_mark(Recipe::parse(&other.text()).unwrap(), mark).unwrap();
                prop_assert_eq!(run.steps()[1], fresh.steps()[1]);
                finish_run(&mut run);
                prop_assert_eq!(run.terrain().fingerprints(), fresh.terrain().fingerprints());
                prop_assert_eq!(run.reports().len(), fresh.reports().len());
            }
        }
    }
}

#[test]
fn a_mark_knows_what_decides_it() {
    let plan = Plan::new();
    let (_, marks) = marked(plan.run().unwrap(), &[]);
    let agreeing = |change: &dyn Fn(&mut Plan)| {
        let mut other = plan.clone();
        change(&mut other);
        let recipe = Recipe::parse(&other.text()).unwrap();
        let agree: Vec<_> = marks.iter().filter(|mark| mark.is_consistent_with(&recipe)).collect();
        agree.last().map(|mark| (mark.turn(), mark.step()))
    };
    let end = Some((4, 0));
    assert_eq!(agreeing(&|plan| plan.about = 7), end);
    assert_eq!(agreeing(&|plan| plan.seed = 7), None);
    // A changed parameter: back to the stage's beginning, which has not begun at the mark before it.
    assert_eq!(agreeing(&|plan| plan.parts[1].value = 26.0), Some((1, 0)));
    assert_eq!(agreeing(&|plan| plan.parts[0].value = 26.0), Some((0, 0)));
    // A changed stroke: back to the step at which it is or was made.
    assert_eq!(agreeing(&|plan| plan.parts[1].strokes[0].1 = 41.0), Some((1, 2)));
    assert_eq!(agreeing(&|plan| plan.parts[1].strokes.truncate(1)), Some((1, 0)));
    assert_eq!(agreeing(&|plan| plan.parts[3].strokes.push((3, 5.0))), Some((3, 3)));
    assert_eq!(agreeing(&|plan| plan.parts[2].muted = true), Some((2, 0)));
    // A stroke after the last step belongs to the stage's end.
    assert_eq!(agreeing(&|plan| plan.parts[1].strokes.push((3, 5.0))), Some((1, 2)));
    assert_eq!(agreeing(&|plan| drop(plan.parts.pop())), Some((3, 0)));
}

#[test]
fn strokes_that_were_made_count_and_those_to_come_do_not() {
    let plan = Plan::new();
    let (recipe, marks) = marked(plan.run().unwrap(), &[3, 9, 12]);
    let mut fresh = Run::new(Recipe::parse(&recipe.to_toml()).unwrap()).unwrap();
    finish_run(&mut fresh);
    let mut went = 0;
    for mark in &marks {
        assert!(mark.is_consistent_with(&recipe), "nothing has changed since, but for strokes that came after");
        let mut run = Run::from_mark(Recipe::parse(&recipe.to_toml()).unwrap(), mark).unwrap();
        finish_run(&mut run);
        assert_eq!(run.terrain().fingerprints(), fresh.terrain().fingerprints());
        // After an undo, the marks that contain the stroke do not agree; those before it do.
        let undone = plan.run().unwrap();
        if mark.is_consistent_with(undone.recipe()) {
            went += 1;
        }
    }
    assert_eq!(went, 4, "the start, and after each of three steps");
    let bytes = marks[0].bytes();
    assert!((24 * 20 * 4..24 * 20 * 4 + 2000).contains(&bytes), "{bytes}");
    assert!(Arc::ptr_eq(marks[1].terrain(), marks[1].clone().terrain()));
}

#[test]
fn a_mark_without_its_stage_is_refused() {
    let plan = Plan::new();
    let (_, marks) = marked(plan.run().unwrap(), &[]);
    let refused = |change: &dyn Fn(&mut Plan), stage: usize, step: u32| {
        let mut other = plan.clone();
        change(&mut other);
        let mark = marks.iter().find(|mark| (mark.turn(), mark.step()) == (stage, step)).unwrap();
        Run::from_mark(Recipe::parse(&other.text()).unwrap(), mark).err().unwrap().to_string()
    };
    assert!(refused(&|plan| plan.parts.truncate(2), 3, 0).contains("turn = 3: must be 0 to 2"));
    assert!(refused(&|plan| plan.parts.truncate(3), 3, 1).contains("reports = 4"));
    assert!(refused(&|plan| plan.parts[3].muted = true, 3, 2).contains("step = 2: must be 0 to 0"));
}

#[test]
fn years_pass_where_models_know_time() {
    let text = "extent = [900, 900]\ncells = 30\n[[stage]]\nmodel = 'gradient_noise'\n[[stage]]\nmodel = 'stream_power'\nstride = 120\nyears = 40000\n\
                [[stage]]\nmodel = 'hillslope'\nyears = 500\nmuted = true\n[[stage]]\nmodel = 'hydrology'\nyears = 7\ndrops = 0.3\n\
                [[stage]]\nmodel = 'droplets'\n[[stage]]\nmodel = 'pipes'\nseconds = 3000\n[[stage]]\nmodel = 'trees'\nyears = 25\n\
                [[stage]]\nmodel = 'hillslope'\nlabel = 'again'\nyears = 500";
    let mut run = Run::new(Recipe::parse(text).unwrap()).unwrap();
    assert_eq!(run.years(), None);
    let (mut before, mut ends) = (0.0, Vec::new());
    while let Some(progress) = run.take_step().unwrap() {
        let years = run.years();
        assert!(years.is_none() == (progress.turn == 0) && years.unwrap_or(0.0) >= before);
        before = years.unwrap_or(0.0);
        if progress.step == progress.steps {
            ends.push(before);
        }
    }
    // 40 000 years at the widest stride, then a fifth of that at half the stride, and so on.
    let grown = 40_000.0 * (1.0 + 0.2 + 0.04);
    let flood = 3000.0 / 31_557_600.0;
    let want =
        [0.0, grown, grown, grown + 7.0, grown + 7.0, grown + 7.0 + flood, grown + 32.0 + flood, grown + 532.0 + flood];
    assert!(ends.len() == want.len() && ends.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-6), "{ends:?}");
}
