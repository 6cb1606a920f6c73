//! Tests of the laws that every model must obey, run over the one list of models: a new model is tested as soon as it
//! is listed.

use std::collections::BTreeMap;

use thalweg_core::declare::params::{ParamKind, ParamType, Value};
use thalweg_core::terrain::{CellType, Coarser, Finer, LAYERS};
use thalweg_core::{CellRect, Field, Grid, Height, Result, Terrain};
use thalweg_models::model::{About, Blend, Family, MassBalance, Model, Role, StepReach, Stepper, Tick};
use thalweg_models::models::{self, Models};
use thalweg_sim::laws::LAWS;

/// Runs a law on each model with every optional layer switched on; models with a stride of their own are also run on a
/// coarser copy of the ground.
fn each(mut law: impl FnMut(&dyn Model)) {
    let mut count = 0;
    for mut model in Models::default().all() {
        let owner = model.about().name;
        for param in model.declared() {
            if param.default == Value::Switch(false) {
                model.set(owner, param.name, &true.into()).expect("a switch switches");
            }
        }
        law(&*model);
        if model.get("stride").is_some() {
            model.set(owner, "stride", &95.0.into()).expect("three cells of the laws' ground");
            law(&*model);
        }
        count += 1;
    }
    assert!(count >= 10, "the list of models is there");
}

/// Checks the law with the given name on every model.
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
        finite += usize::from(model.reach(&grid) != StepReach::Whole);
        unplaced += usize::from(!model.about().placed);
    });
    assert!(finite >= 5 && unplaced >= 1, "laws that concern no model would hold");
}

#[test]
fn turned_input_gives_the_turned_result() {
    holds("turns");
}

#[test]
fn a_looped_world_has_no_seam() {
    holds("loops");
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

thalweg_core::params! {
    /// Says that it is one thing, and is another.
    pub struct Misnamed {
        /// Whether it lifts the ground.
        lifts: bool = false, within .., unit "1", source "ours";
    }
}

impl Model for Misnamed {
    fn about(&self) -> About {
        let family = if self.lifts { Family::Analysis } else { Family::Erosion };
        About { name: "misnamed", family, ..About::default() }
    }

    fn start(&self, _: &Grid) -> Result<Box<dyn Stepper>> {
        Ok(Box::new(self.clone()))
    }
}

impl Stepper for Misnamed {
    fn run_step(&mut self, terrain: &mut Terrain, _: Tick) -> Result<MassBalance> {
        let by = i32::from(self.lifts);
        terrain.ground = terrain.ground.map(|height| Height(height.0 + by));
        Ok(MassBalance::default())
    }
}

#[test]
fn a_model_does_what_its_family_says() {
    holds("family");
    let law = LAWS.iter().find(|law| law.name == "family").expect("a law of that name");
    let broken = |lifts| law.check(&Misnamed { lifts }).expect_err("it is misnamed").to_string();
    assert!(broken(false).contains("does not change the elevation of any terrain"), "{}", broken(false));
    assert!(broken(true).contains("it changes the elevation of hills"), "{}", broken(true));
}

#[test]
fn a_layer_of_one_name_is_declared_alike_by_all() {
    let mut seen = BTreeMap::new();
    for spec in Models::default().layers() {
        let first = *seen.entry(spec.name).or_insert(spec);
        assert_eq!(first, spec);
        assert_eq!(Models::default().layer(spec.name), Some(spec));
        let fits = match spec.cells {
            CellType::Height => spec.traits.coarser == Coarser::Empty,
            CellType::Float => spec.traits.finer != Finer::Level,
            CellType::Count => spec.traits.finer == Finer::Same && spec.traits.coarser == Coarser::Empty,
        };
        assert!(fits, "{spec:?} cannot become that");
    }
    for spec in LAYERS {
        // A world's lakes and those of `river_network` are one layer, which each of them describes in its own words.
        let known = Models::default().declared_layer(spec.name).expect("it is declared");
        assert_eq!((known.unit, known.cells, known.traits), (spec.unit, spec.cells, spec.traits), "{}", spec.name);
    }
    // A discharge through a cell scales with the cell's width.
    let passing: Vec<&str> = seen.values().filter(|spec| spec.unit == "m³/s").map(|spec| spec.name).collect();
    let halved: Vec<&str> =
        seen.values().filter(|spec| spec.traits.finer == Finer::Halved).map(|spec| spec.name).collect();
    assert_eq!(passing, halved);
}

#[test]
fn every_role_is_played_by_one_model_and_blends_are_those_of_base_models() {
    for role in [Role::Strokes, Role::Droplets, Role::Springs, Role::Water] {
        let players: Vec<&str> =
            models::all_models().filter(|model| model.plays_role(role)).map(|model| model.about().name).collect();
        assert_eq!(
            players,
            [models::find_model_for_role(role).expect("its numbers are allowed").about().name],
            "{role:?}"
        );
    }
    each(|model| {
        // A choice parameter that says how a model combines with the ground must equal the declared blend.
        let words = |kind: ParamKind| matches!(kind, ParamKind::Choice(words) if words == blends());
        let named = model.declared().into_iter().find(|param| words(param.kind));
        assert_eq!(named.is_some(), model.about().family == Family::Base, "{}", model.about().name);
        let Some(param) = named else { return assert_eq!(model.blend(), Blend::Add) };
        for (word, _) in blends() {
            let mut other = model.clone_box();
            other.set("it", param.name, &(*word).into()).expect("a blend");
            assert_eq!(other.blend().value(), Value::Choice(word), "{}", model.about().name);
        }
    });
}

/// Returns the words for [`Blend`].
fn blends() -> &'static [(&'static str, &'static str)] {
    match Blend::kind(..) {
        ParamKind::Choice(words) => words,
        _ => &[],
    }
}

#[test]
fn zero_factors_change_nothing() {
    holds("factors");
}

#[test]
fn windows_of_a_terrain_agree_with_it() {
    let grid = Grid::new([30, 40], 30.0).expect("a grid");
    let ground = Field::from_fn(grid.size, |i, j| Height((i * 40 + j) as i32));
    let terrain = Terrain::from_ground(grid, ground).expect("of the grid's size");
    let window = terrain.copy_window(CellRect::new([7, 9], [11, 13]));
    assert_eq!(window.ground[(3, 4)], terrain.ground[(10, 13)]);
    assert_eq!(window.grid.world_cell(3, 4), terrain.grid.world_cell(10, 13));
}
