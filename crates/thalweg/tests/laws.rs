//! What every model must obey, run over the one list of models: a new model is tested by being listed.

use thalweg::field::{Field, Window};
use thalweg::grid::Grid;
use thalweg::height::Height;
use thalweg::laws::LAWS;
use thalweg::model::{Model, Reach};
use thalweg::models::Models;
use thalweg::params::Value;
use thalweg::terrain::Terrain;

/// Each model, with every optional layer switched on; those with a stride of their own also on a coarser copy of the ground.
fn each(mut law: impl FnMut(&dyn Model)) {
    let mut count = 0;
    for mut model in Models::default().all() {
        let owner = model.about().name;
        for param in model.declared() {
            if param.default == Value::Switch(false) {
                model.set(owner, param.name, &toml::Value::Boolean(true)).expect("a switch switches");
            }
        }
        law(&*model);
        if model.get("stride").is_some() {
            model.set(owner, "stride", &toml::Value::Float(95.0)).expect("three cells of the laws' ground");
            law(&*model);
        }
        count += 1;
    }
    assert!(count >= 10, "the list of models is there");
}

/// Tries the law of that name on every model.
fn holds(name: &str) {
    let law = LAWS.iter().find(|law| law.name == name).expect("a law of that name");
    each(|model| law.check(model).unwrap_or_else(|broken| panic!("{broken}")));
}

#[test]
fn every_law_is_tried() {
    let own = include_str!("laws.rs");
    for law in LAWS {
        assert!(own.contains(&format!("{:?}", law.name)), "no test tries the law `{}`", law.name);
    }
}

#[test]
fn thread_count_determinism() {
    holds("threads");
}

#[test]
fn a_stepper_holds_no_state() {
    holds("state");
}

#[test]
fn tiles_give_the_same_bits() {
    holds("tiles");
    let (mut finite, mut unplaced) = (0, 0);
    each(|model| {
        let grid = Grid::new([50, 660], 30.0).expect("a grid");
        finite += usize::from(model.reach(&grid) != Reach::Whole);
        unplaced += usize::from(!model.about().placed);
    });
    assert!(finite >= 5 && unplaced >= 1, "laws that concern no model would hold");
}

#[test]
fn turned_input_gives_the_turned_result() {
    holds("turns");
}

#[test]
fn solid_mass_closes_to_the_unit() {
    holds("mass");
}

#[test]
fn nothing_panics_whatever_the_parameters_and_the_ground() {
    let law = LAWS.iter().find(|law| law.name == "any ground").expect("a law of that name");
    for model in Models::default().all() {
        law.check(&*model).unwrap_or_else(|broken| panic!("{broken}"));
    }
}

#[test]
fn everything_is_declared() {
    holds("declaration");
}

#[test]
fn zero_factors_change_nothing() {
    holds("factors");
}

#[test]
fn windows_of_a_terrain_agree_with_it() {
    let grid = Grid::new([30, 40], 30.0).expect("a grid");
    let ground = Field::generate(grid.size, |i, j| Height((i * 40 + j) as i32));
    let terrain = Terrain::from_ground(grid, ground).expect("of the grid's size");
    let window = terrain.window(Window { start: [7, 9], size: [11, 13] });
    assert_eq!(window.ground[(3, 4)], terrain.ground[(10, 13)]);
    assert_eq!(window.grid.world_cell(3, 4), terrain.grid.world_cell(10, 13));
}
