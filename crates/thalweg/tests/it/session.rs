//! Tests of sessions: whatever is done in one, a new run of its recipe gives the same bits; and no more memory is used
//! for marks than is allowed.

use std::sync::Arc;

use crate::long;
use crate::support::{run_recipe, with_threads};
use proptest::prelude::*;
use thalweg_core::declare::params::Value;
use thalweg_core::{Edge, Point, Terrain};
use thalweg_sim::recipe::strokes::{Stroke, Tool};
use thalweg_sim::recipe::{Recipe, Start};
use thalweg_sim::run::Run;
use thalweg_sim::session::{Position, Session};
use thalweg_sim::sketch::{SketchFeature, SketchFrom, SketchKind};

/// Base terrain, hillslope diffusion, rain and a brook, on two levels of cells or on one.
fn recipe(is_levelled: bool) -> Recipe {
    let coarsest = if is_levelled { "coarsest = 16" } else { "" };
    let text = format!(
        "extent = [320, 240]\ncells = 32\nseed = 3\n{coarsest}\n\
         [[stage]]\nmodel = 'gradient_noise'\nlabel = 'ground'\namplitude = 60\nwavelength = 150\n\
         [[stage]]\nmodel = 'thermal'\nlabel = 'slopes'\ntalus = 25\nsteps = 4\n\
         strokes = [{{ step = 2, tool = 'raise', x = 90.0, y = 80.0, radius = 60.0 }}]\n\
         [[stage]]\nmodel = 'droplets'\nlabel = 'rain'\nerosion = 0.05\ncount = 40\nmax_steps = 8\n\
         [[stage]]\nmodel = 'fluvial'\nlabel = 'brook'\nsoftness = 0.3\nsteps = 4\nlevels = 'last'\n"
    );
    Recipe::parse(&text).unwrap()
}

fn set(recipe: &mut Recipe, stage: usize, parameter: &str, value: f64) {
    let owner = recipe.stages[stage].model.about().name;
    let is_count = matches!(recipe.stages[stage].model.get(parameter), Some(Value::Count(_)));
    let value = if is_count { Value::Count(value as u32) } else { Value::Number(value) };
    // Not every model has every parameter.
    let _ = recipe.stages[stage].model.set(owner, parameter, &value.into());
}

fn stroke(x: f64) -> Stroke {
    let tool = [Tool::Raise, Tool::Smooth, Tool::Droplets, Tool::Hardness, Tool::Lower][x as usize % 5];
    Stroke { radius: 60.0, ..Stroke::new(tool, vec![[x, 0.6 * x].into()]) }
}

fn built(recipe: &Recipe) -> Terrain {
    run_recipe(recipe.clone()).into_terrain()
}

/// Returns the recipe with a change: its kind, its stage and its amount.
fn edited(recipe: &Recipe, (what, at, by): (u8, usize, u32)) -> Recipe {
    let mut recipe = recipe.clone();
    let at = at % recipe.stages.len();
    let name = recipe.free_label("new");
    let stage = &mut recipe.stages[at];
    match what {
        0 => recipe.seed += u64::from(by % 2),
        1 => {
            let (parameter, value) = match stage.model.about().name {
                "gradient_noise" => ("amplitude", 40.0),
                "thermal" => ("talus", 20.0),
                "droplets" => ("erosion", 0.03),
                _ => ("softness", 0.2),
            };
            set(&mut recipe, at, parameter, value * (1.0 + f64::from(by % 3) / 4.0));
        }
        2 => stage.muted = !stage.muted,
        3 => stage.label += "x",
        4 if !stage.strokes.is_empty() => drop(stage.strokes.remove(by as usize % stage.strokes.len())),
        5 => {
            let copy = thalweg_sim::recipe::Stage { label: name, ..stage.clone() };
            recipe.stages.insert(at, copy);
        }
        6 if recipe.stages.len() > 1 => drop(recipe.stages.remove(at)),
        7 if at > 0 => recipe.stages.swap(at - 1, at),
        8 => set(&mut recipe, at, "steps", f64::from(1 + by % 6)),
        _ => recipe.about += "x",
    }
    recipe
}

/// An action that a user interface may take.
#[derive(Debug, Clone)]
enum Act {
    Steps(u32),
    Edit((u8, usize, u32)),
    Stroke(f64, bool),
    Undo,
    Redo,
    GoTo(usize, u32),
    Keep,
    Come,
    Bound(u64),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (1u32..7).prop_map(Act::Steps),
        3 => (0u8..10, 0usize..8, 0u32..60).prop_map(Act::Edit),
        3 => (1f64..300.0, any::<bool>()).prop_map(|(x, part)| Act::Stroke(x.floor(), part)),
        2 => Just(Act::Undo),
        1 => Just(Act::Redo),
        1 => (0usize..10, 0u32..6).prop_map(|(turn, step)| Act::GoTo(turn, step)),
        2 => Just(Act::Keep),
        2 => Just(Act::Come),
        1 => (0u64..60_000).prop_map(Act::Bound),
    ]
}

/// Takes an action; a refused action changes nothing.
fn apply(session: &mut Session, act: &Act) {
    let state =
        |session: &Session| (session.run().recipe().to_toml(), session.position(), session.marks().collect::<Vec<_>>());
    let before = state(session);
    let done = match act {
        Act::Steps(steps) => (0..*steps).try_for_each(|_| session.take_step().map(drop)),
        Act::Edit(edit) => session.edit(edited(session.run().recipe(), *edit)),
        Act::Stroke(x, false) => session.add_stroke(stroke(*x)),
        Act::Stroke(x, true) => session.add_drag_stroke(stroke(*x)),
        Act::Undo => session.undo().map(drop),
        Act::Redo => session.redo().map(drop),
        Act::GoTo(turn, step) => session.return_to_mark(Position { turn: *turn, step: *step }).map(drop),
        Act::Keep => {
            session.record_mark();
            Ok(())
        }
        Act::Come => come(session),
        Act::Bound(bytes) => {
            session.set_memory(*bytes);
            Ok(())
        }
    };
    if let Err(error) = done
        && !matches!(act, Act::Steps(_) | Act::Come | Act::Stroke(..))
    {
        assert_eq!(state(session), before, "{act:?}: {error}");
    }
}

/// Runs the session until it pauses by itself.
fn come(session: &mut Session) -> thalweg_core::base::error::Result<()> {
    while session.is_going() {
        session.take_step()?;
    }
    Ok(())
}

/// A bound on the memory of the first and the last mark of a run in bytes, which are kept whatever the limit is.
fn ends(session: &Session) -> u64 {
    // Two marks: the terrain with all layers, and some text.
    let layers = session.terrain().layers.len() as u64 + 4;
    2 * (session.terrain().grid.len() as u64 * 4 * layers + (1 << 20))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: long::or(60, 2000), ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_done_a_fresh_run_of_the_recipe_comes_to_the_same_bits(
        levelled in any::<bool>(),
        acts in proptest::collection::vec(act(), 1..14),
    ) {
        let mut session = Session::new(recipe(levelled)).unwrap();
        for act in &acts {
            apply(&mut session, act);
            prop_assert!(session.marks().is_sorted());
            prop_assert_eq!(session.marks().next(), Some(Position { turn: 0, step: 0 }));
        }
        session.play();
        if come(&mut session).is_ok() {
            let fresh = built(session.run().recipe());
            prop_assert_eq!(session.terrain().fingerprints(), fresh.fingerprints());
            // And the written recipe gives the same terrain.
            let again = Recipe::parse(&session.run().recipe().to_toml()).unwrap();
            prop_assert_eq!(built(&again).fingerprints(), fresh.fingerprints());
        }
    }

    #[test]
    fn what_is_undone_has_never_been(
        levelled in any::<bool>(),
        steps in 0u32..18,
        made in proptest::collection::vec(1f64..300.0, 0..3),
        acts in proptest::collection::vec(prop_oneof![
            (1f64..300.0).prop_map(|x| Act::Stroke(x.floor(), false)),
            (0u8..10, 0usize..8, 0u32..60).prop_map(Act::Edit),
        ], 1..4),
        later in 0u32..3,
        memory in prop_oneof![Just(u64::MAX), Just(0u64)],
    ) {
        let mut session = Session::new(recipe(levelled)).unwrap();
        session.set_memory(memory);
        apply(&mut session, &Act::Steps(steps));
        made.iter().for_each(|x| session.add_stroke(stroke(x.floor())).unwrap());
        let (text, place, ground) = (session.run().recipe().to_toml(), session.position(), session.terrain().fingerprints());
        let mut done = 0;
        for act in &acts {
            let count = session.run().recipe().to_toml();
            let refused = match act {
                Act::Stroke(x, _) => session.add_stroke(stroke(*x)).is_err(),
                Act::Edit(edit) => session.edit(edited(session.run().recipe(), *edit)).is_err(),
                _ => unreachable!(),
            };
            prop_assert!(!refused || count == session.run().recipe().to_toml());
            done += usize::from(!refused);
        }
        let after = session.run().recipe().to_toml();
        for _ in 0..done {
            prop_assert!(session.undo().unwrap());
        }
        prop_assert_eq!(session.run().recipe().to_toml(), text.clone());
        come(&mut session).unwrap();
        // An edit with fewer steps may have reached the end, so that the session is beyond that position.
        if session.position() == place {
            prop_assert_eq!(session.terrain().fingerprints(), ground.clone());
        }
        for _ in 0..done {
            prop_assert!(session.redo().unwrap());
        }
        prop_assert!(!session.redo().unwrap());
        prop_assert_eq!(session.run().recipe().to_toml(), after);
        for _ in 0..done {
            prop_assert!(session.undo().unwrap());
        }
        come(&mut session).unwrap();
        apply(&mut session, &Act::Steps(later));
        session.play();
        come(&mut session).unwrap();
        prop_assert_eq!(session.run().recipe().to_toml(), text);
        prop_assert_eq!(session.terrain().fingerprints(), built(session.run().recipe()).fingerprints());
    }
}

#[test]
fn a_stroke_that_is_undone_leaves_the_run_where_it_stood() {
    for levelled in [false, true] {
        let length = { Run::new(recipe(levelled)).unwrap().steps()[1] as u32 };
        for steps in 0..=length {
            let mut session = Session::new(recipe(levelled)).unwrap();
            apply(&mut session, &Act::Steps(steps));
            session.add_stroke(stroke(100.0)).unwrap();
            let (place, ground) = (session.position(), session.terrain().fingerprints());
            let text = session.run().recipe().to_toml();
            session.add_stroke(stroke(210.0)).unwrap();
            session.add_drag_stroke(stroke(215.0)).unwrap();
            assert!(session.terrain().fingerprints() != ground);
            assert!(session.undo().unwrap());
            come(&mut session).unwrap();
            assert_eq!((session.position(), session.run().recipe().to_toml()), (place, text), "after {steps} steps");
            assert_eq!(session.terrain().fingerprints(), ground, "after {steps} steps");
            assert!(session.undo().unwrap() && !session.undo().unwrap());
            assert_eq!(session.run().recipe().to_toml(), recipe(levelled).to_toml());
        }
    }
}

#[test]
fn what_is_undone_on_the_way_back_has_never_been_either() {
    // Before a stroke of the recipe that is due and has not been made yet.
    let mut session = Session::new(recipe(false)).unwrap();
    apply(&mut session, &Act::Steps(3));
    let (place, ground) = (session.position(), session.terrain().fingerprints());
    session.add_stroke(stroke(1.0)).unwrap();
    session.edit(edited(session.run().recipe(), (1, 0, 0))).unwrap();
    assert!(session.undo().unwrap() && session.undo().unwrap());
    come(&mut session).unwrap();
    assert_eq!((session.position(), session.terrain().fingerprints()), (place, ground));
}

#[test]
fn a_mark_that_is_dropped_where_the_run_is_leaves_the_order_of_the_others() {
    // Two marks have the first position, before and after the stroke. The run returns to the second one, which the
    // limit of memory then removes.
    let mut session = Session::new(recipe(false)).unwrap();
    session.add_stroke(stroke(1.0)).unwrap();
    apply(&mut session, &Act::Steps(6));
    session.record_mark();
    session.return_to_mark(Position { turn: 0, step: 0 }).unwrap();
    assert!(session.marks().len() > 3);
    session.set_memory(13_786);
    session.play();
    while session.is_going() {
        session.take_step().unwrap();
        assert!(session.marks().is_sorted());
    }
    assert_eq!(session.terrain().fingerprints(), built(session.run().recipe()).fingerprints());
}

#[test]
fn a_run_at_rest_comes_back_with_what_was_done_there() {
    let mut session = Session::new(recipe(false)).unwrap();
    apply(&mut session, &Act::Steps(7));
    session.add_stroke(stroke(100.0)).unwrap();
    let (place, ground) = (session.position(), session.terrain().fingerprints());
    let mut other = session.run().recipe().clone();
    set(&mut other, 0, "amplitude", 61.0);
    session.edit(other).unwrap();
    assert!(session.is_going() && session.position() < place);
    // However often it is changed on the way.
    session.take_step().unwrap();
    let mut again = session.run().recipe().clone();
    set(&mut again, 0, "amplitude", 60.0);
    session.edit(again).unwrap();
    come(&mut session).unwrap();
    assert_eq!((session.position(), session.terrain().fingerprints()), (place, ground));
}

#[test]
fn marks_hold_what_they_may_and_are_spread_over_the_run() {
    let text = recipe(false).to_toml().replace("steps = 4", "steps = 200");
    let long = || Recipe::parse(&text).unwrap();
    let mut session = Session::new(long()).unwrap();
    let one = session.mark_bytes();
    assert!(one >= 32 * 24 * 4);
    for (bound, least) in [(u64::MAX, 400), (80 * one, 20), (0, 2)] {
        session.open(long()).unwrap();
        session.set_memory(bound);
        while session.take_step().unwrap().is_some() {
            session.record_mark();
            assert!(session.mark_bytes() <= bound.max(ends(&session)) && session.marks().len() >= 2.min(least));
        }
        let marks: Vec<Position> = session.marks().collect();
        assert!(marks.len() >= least && marks[0] == Position { turn: 0, step: 0 }, "{bound}: {marks:?}");
        let exact = session.mark_bytes();
        if bound > one && bound < u64::MAX {
            assert!(exact <= bound, "{exact} of {bound}");
            // In every quarter of the run there is a mark.
            for quarter in 0..4 {
                let is_in = |turn: usize, mark: &Position| {
                    mark.turn == turn && (50 * quarter..50 * quarter + 50).contains(&mark.step)
                };
                for turn in [1, 3] {
                    assert!(marks.iter().any(|mark| is_in(turn, mark)), "{bound}, {turn}, {quarter}: {marks:?}");
                }
            }
        }
        for mark in marks {
            assert_eq!(session.return_to_mark(mark).unwrap(), mark);
        }
        session.play();
        come(&mut session).unwrap();
        assert_eq!(session.terrain().fingerprints(), built(&long()).fingerprints());
    }
}

#[test]
fn the_bits_are_the_same_for_any_number_of_threads() {
    let played = || {
        let mut session = Session::new(recipe(true)).unwrap();
        session.set_memory(30_000);
        let acts = [
            Act::Steps(9),
            Act::Stroke(120.0, false),
            Act::Steps(3),
            Act::Keep,
            Act::Stroke(200.0, false),
            Act::Edit((1, 1, 1)),
            Act::Come,
            Act::Undo,
            Act::Steps(2),
            Act::Stroke(57.0, false),
            Act::Steps(40),
        ];
        let mut seen = Vec::new();
        for act in &acts {
            apply(&mut session, act);
            seen.push((session.position(), session.terrain().fingerprints()));
        }
        seen
    };
    let on = |threads| with_threads(threads, played);
    let one = on(1);
    assert_eq!(on(2), one);
    assert_eq!(on(7), one);
}

#[test]
fn parameters_turned_live_act_from_the_coming_step_on_and_an_edit_sets_that_right() {
    let mut session = Session::new(recipe(false)).unwrap();
    apply(&mut session, &Act::Steps(3));
    let (place, ground) = (session.position(), session.terrain().fingerprints());
    let mut turned = session.run().recipe().clone();
    set(&mut turned, 1, "talus", 15.0);
    session.edit_live(turned.clone()).unwrap();
    assert_eq!((session.position(), session.terrain().fingerprints()), (place, ground));
    let mut watched = Run::new(recipe(false)).unwrap();
    (0..3).for_each(|_| drop(watched.take_step().unwrap()));
    watched.set_parameter("slopes", "talus", &15.0.into()).unwrap();
    while watched.take_step().unwrap().is_some() {}
    session.play();
    come(&mut session).unwrap();
    assert_eq!(session.terrain().fingerprints(), watched.terrain().fingerprints());
    let fresh = built(&turned).fingerprints();
    assert!(session.terrain().fingerprints() != fresh);
    // The same recipe, to the bit.
    session.edit(turned).unwrap();
    come(&mut session).unwrap();
    assert_eq!(session.terrain().fingerprints(), fresh);
    // Undone step by step: to the state that was watched, and to the one before any change.
    assert!(session.undo().unwrap() && session.undo().unwrap());
    come(&mut session).unwrap();
    assert_eq!(session.terrain().fingerprints(), built(&recipe(false)).fingerprints());
}

#[test]
fn what_leaves_a_stage_no_steps_is_no_live_change_and_a_bad_one_none_at_all() {
    let mut session = Session::new(recipe(false)).unwrap();
    apply(&mut session, &Act::Steps(4));
    let mut shorter = session.run().recipe().clone();
    set(&mut shorter, 1, "steps", 2.0);
    set(&mut shorter, 1, "talus", 15.0);
    // Its stroke after two steps still fits.
    session.edit_live(shorter.clone()).unwrap();
    come(&mut session).unwrap();
    session.play();
    come(&mut session).unwrap();
    assert_eq!(session.terrain().fingerprints(), built(&shorter).fingerprints());
    let before = (session.position(), session.terrain().fingerprints(), session.run().recipe().to_toml());
    let mut gone = shorter;
    gone.start = Start::FromDem { path: "no such file.tif".into() };
    for said in [session.edit(gone.clone()).unwrap_err(), session.edit_live(gone).unwrap_err()] {
        assert!(said.to_string().contains("no such file.tif"), "{said}");
    }
    assert!(session.add_stroke(Stroke::new(Tool::Raise, Vec::new())).is_err());
    assert_eq!((session.position(), session.terrain().fingerprints(), session.run().recipe().to_toml()), before);
}

#[test]
fn snapshots_are_of_the_ground_as_it_stands_and_before_is_as_fine() {
    let mut session = Session::new(recipe(true)).unwrap();
    let flat = session.snapshot_terrain();
    assert!(Arc::ptr_eq(&flat, &session.snapshot_terrain()) && session.terrain_before_erosion().is_none());
    session.take_step().unwrap();
    let hills = session.snapshot_terrain();
    assert!(hills.ground == session.terrain().ground && hills.ground != flat.ground);
    while session.take_step().unwrap().is_some() {
        let before = session.terrain_before_erosion().unwrap();
        assert_eq!(before.grid.size, session.terrain().grid.size);
        assert_eq!(session.snapshot_terrain().fingerprints(), session.terrain().fingerprints());
    }
    // On the first level it is the bare terrain, and it is there again after going back.
    let slopes = session.marks().find(|mark| mark.turn == 2).unwrap();
    session.return_to_mark(slopes).unwrap();
    assert!(session.terrain_before_erosion().unwrap().ground == hills.ground);
    session.return_to_mark(Position { turn: 0, step: 0 }).unwrap();
    assert!(session.terrain_before_erosion().is_none());
}

#[test]
fn marks_beyond_a_mark_that_was_gone_back_to_are_of_the_recipe_or_none() {
    let mut session = Session::new(recipe(false)).unwrap();
    session.play();
    come(&mut session).unwrap();
    session.record_mark();
    let all: Vec<Position> = session.marks().collect();
    let start = session.return_to_mark(Position { turn: 0, step: 0 }).unwrap();
    // A change to the last stage keeps the marks before it, to which one can still go.
    let mut other = recipe(false);
    set(&mut other, 3, "softness", 0.2);
    session.edit(other.clone()).unwrap();
    assert_eq!((session.position(), session.marks().len()), (start, all.len() - 1));
    assert_eq!(session.return_to_mark(Position { turn: 3, step: 0 }).unwrap(), all[3]);
    session.return_to_mark(start).unwrap();
    set(&mut other, 0, "amplitude", 50.0);
    session.edit(other.clone()).unwrap();
    assert_eq!(session.return_to_mark(Position { turn: 3, step: 0 }).unwrap(), start);
    session.play();
    come(&mut session).unwrap();
    assert_eq!(session.terrain().fingerprints(), built(&other).fingerprints());
}

#[test]
fn a_session_goes_as_far_as_it_is_told() {
    let mut session = Session::new(recipe(false)).unwrap();
    assert!(!session.is_going());
    session.play_for(3);
    come(&mut session).unwrap();
    assert_eq!(session.run().steps()[0], 3);
    session.play_for(0);
    assert!(!session.is_going());
    session.play_until(Position { turn: 2, step: 1 });
    come(&mut session).unwrap();
    assert!(session.position() >= Position { turn: 2, step: 1 } && !session.is_going());
    session.play_until(Position { turn: 0, step: 0 });
    assert!(!session.is_going());
    session.play();
    session.pause();
    assert!(!session.is_going());
    session.play();
    come(&mut session).unwrap();
    assert!(session.run().is_done() && session.take_step().unwrap().is_none());
    let said = session.return_to_mark(Position { turn: 1, step: 0 }).unwrap();
    assert_eq!(said, Position { turn: 1, step: 0 });
    session.restart().unwrap();
    assert_eq!((session.position(), session.marks().len()), (Position { turn: 0, step: 0 }, 1));
}

#[test]
fn strokes_that_an_editor_did_not_know_of_are_kept() {
    let mut session = Session::new(recipe(false)).unwrap();
    apply(&mut session, &Act::Steps(3));
    let mut theirs = session.run().recipe().clone();
    session.add_stroke(stroke(100.0)).unwrap();
    session.add_stroke(stroke(200.0)).unwrap();
    assert_eq!(session.stroke_count(), 2);
    set(&mut theirs, 2, "erosion", 0.03);
    let both = session.with_strokes_since(0, theirs.clone()).unwrap();
    assert_eq!(both.stages[1].strokes.len(), 3);
    // An editor that knew of the first stroke has removed it.
    assert_eq!(session.with_strokes_since(1, theirs).unwrap().stages[1].strokes.len(), 2);
    session.edit(both).unwrap();
    session.play();
    come(&mut session).unwrap();
    assert_eq!(session.terrain().fingerprints(), built(session.run().recipe()).fingerprints());
}

#[test]
fn a_spring_after_the_end_runs_in_a_stage_of_its_own_and_goes_with_it() {
    let mut session = Session::new(recipe(true)).unwrap();
    session.play();
    come(&mut session).unwrap();
    let (dry, text) = (session.terrain().fingerprints(), session.run().recipe().to_toml());
    let steps = session.run().steps()[1];
    session.add_stroke(Stroke { rate: 2.0, ..Stroke::new(Tool::Spring, vec![[160.0, 120.0].into()]) }).unwrap();
    assert!(session.is_going() && session.run().steps()[1] > steps);
    (0..3).for_each(|_| drop(session.take_step().unwrap()));
    assert!(session.undo().unwrap());
    come(&mut session).unwrap();
    assert_eq!((session.terrain().fingerprints(), session.run().recipe().to_toml()), (dry, text));
    let path = session.trace_droplet([160.0, 120.0]).unwrap();
    assert_eq!(path[0].place, [160.0, 120.0].into());
    assert!(session.trace_droplet([-1.0, 0.0]).is_err());
}

#[test]
fn strokes_after_the_end_are_made_before_the_margin_is_cut_away_and_local_levels() {
    for head in ["cells = 64", "cells = 128\nbeyond = 'local'\nlocal_from = 64"] {
        let text = format!(
            "extent = [2560, 2560]\n{head}\nmargin = 0.1\nseed = 3\n\
             [[stage]]\nmodel = 'gradient_noise'\namplitude = 200\nwavelength = 900\n\
             [[stage]]\nmodel = 'thermal'\ntalus = 25\nsteps = 4\n"
        );
        let recipe = Recipe::parse(&text).unwrap();
        let stroke = |x: f64| Stroke { radius: 300.0, ..stroke(x) };
        // A run alone cannot go back.
        let said = run_recipe(recipe.clone()).add_stroke(stroke(600.0)).unwrap_err().to_string();
        assert!(said.contains("margin"), "{said}");
        let mut session = Session::new(recipe).unwrap();
        apply(&mut session, &Act::Steps(1000));
        assert!(session.run().is_done() && !session.is_going());
        let state = |session: &Session| (session.run().recipe().to_toml(), session.terrain().fingerprints());
        let mut states = vec![state(&session)];
        for x in [600.0, 1202.0, 1801.0] {
            session.add_stroke(stroke(x)).unwrap();
            come(&mut session).unwrap();
            assert!(session.run().is_done() && session.marks().is_sorted());
            assert_eq!(session.terrain().fingerprints(), built(session.run().recipe()).fingerprints());
            assert!(Some(&state(&session)) != states.last());
            states.push(state(&session));
        }
        assert_eq!(session.run().recipe().stages.len(), 3);
        for before in states.iter().rev().skip(1) {
            assert!(session.undo().unwrap());
            come(&mut session).unwrap();
            assert_eq!(state(&session), *before);
        }
        assert!(!session.undo().unwrap());
        for after in &states[1..] {
            assert!(session.redo().unwrap());
            come(&mut session).unwrap();
            assert_eq!(state(&session), *after);
        }
        if session.run().grids().len() > 1 {
            continue;
        }
        // A spring gets a stage of its own there as well.
        session.add_stroke(Stroke { rate: 2.0, ..Stroke::new(Tool::Spring, vec![[1200.0, 900.0].into()]) }).unwrap();
        come(&mut session).unwrap();
        assert_eq!((session.run().is_done(), session.run().recipe().stages.len()), (true, 4));
        assert_eq!(session.terrain().fingerprints(), built(session.run().recipe()).fingerprints());
    }
}

#[test]
fn what_is_drawn_begins_the_run_anew_and_is_undone_saved_and_opened() {
    let mut session = Session::new(recipe(true)).unwrap();
    session.play();
    come(&mut session).unwrap();
    let (bare, text) = (session.terrain().fingerprints(), session.run().recipe().to_toml());
    let line =
        |kind, points: &[[f64; 2]]| SketchFeature::new(kind, points.iter().map(|point| Point::from(*point)).collect());
    let river = line(SketchKind::River, &[[60.0, 40.0], [160.5, 120.0], [200.0, 240.0]]);
    session.draw(river.clone()).unwrap();
    // The run starts from its beginning, and continues by itself to the earlier position.
    assert!(session.is_going() && session.position() == Position { turn: 0, step: 0 });
    come(&mut session).unwrap();
    let (wet, drawn) = (session.terrain().fingerprints(), session.run().recipe().clone());
    assert!(wet != bare && wet == built(&drawn).fingerprints());
    assert_eq!(Recipe::parse(&drawn.to_toml()).unwrap().sketch, drawn.sketch);

    // Invalid features are refused with a message, and change nothing.
    for (feature, words) in [
        (line(SketchKind::Ridge, &[[20.0, 100.0], [220.0, 100.0]]), "runs uphill"),
        (line(SketchKind::River, &[[20.0, 100.0], [220.0, 100.0]]), "two rivers cross"),
        (line(SketchKind::Ridge, &[[20.0, 20.0], [330.0, 20.0]]), "outside the world"),
        (line(SketchKind::Ridge, &[[20.0, 20.0]]), "two or more points"),
        (line(SketchKind::Coast, &[[20.0, 20.0], [300.0, 20.0]]), "sea_level"),
        (line(SketchKind::Height, &[[20.0, 20.0]]), "needs a `height`"),
    ] {
        let problem = session.draw(feature).unwrap_err().to_string();
        assert!(problem.contains(words), "{problem}");
    }
    assert!(session.erase(1).is_err() && session.run().recipe().to_toml() == drawn.to_toml());
    let mut looped = recipe(false);
    looped.edges = [Edge::Looped; 4];
    assert!(looped.draw(river, &session.terrain().grid).unwrap_err().to_string().contains("edges"));

    assert!(session.undo().unwrap());
    come(&mut session).unwrap();
    assert_eq!((session.terrain().fingerprints(), session.run().recipe().to_toml()), (bare.clone(), text));
    assert!(session.redo().unwrap());
    come(&mut session).unwrap();
    assert_eq!(session.terrain().fingerprints(), wet);

    // Saving writes two files, which open as the same world.
    let folder = tempfile::tempdir().unwrap();
    let [path, lines] = ["r.toml", "r.geojson"].map(|name| folder.path().join(name));
    drawn.save(&path).unwrap();
    assert!(lines.exists());
    let opened = Recipe::open(&path).unwrap();
    assert_eq!(opened.sketch, Some(SketchFrom::File("r.geojson".into())));
    assert_eq!(built(&opened).fingerprints(), wet);
    // From then on, it is saved over its own sketch file; another file of that name is not overwritten.
    session.open(opened).unwrap();
    session.draw(line(SketchKind::Ridge, &[[220.0, 30.0], [290.0, 200.0]])).unwrap();
    session.run().recipe().save(&path).unwrap();
    assert!(std::fs::read_to_string(&lines).unwrap().contains("ridge") && !folder.path().join("r-2.geojson").exists());
    std::fs::write(folder.path().join("q.geojson"), "mine").unwrap();
    session.run().recipe().save(&folder.path().join("q.toml")).unwrap();
    assert_eq!(std::fs::read_to_string(folder.path().join("q.geojson")).unwrap(), "mine");
    let sketch = Recipe::open(folder.path().join("q.toml")).unwrap().sketch;
    assert_eq!(sketch, Some(SketchFrom::File("q-2.geojson".into())));
    session.erase(1).unwrap();
    session.erase(0).unwrap();
    come(&mut session).unwrap();
    assert_eq!((session.terrain().fingerprints(), session.run().recipe().sketch.is_none()), (bare, true));
}
