//! Tests of a model defined in another crate: in a recipe with levels, with knobs, copies and a checkpoint, and under
//! the laws.

use std::path::Path;

use crate::support::finish_run;
use serde_json::Value;
use thalweg_core::terrain::{Cells, Hue, LayerOverlay, LayerSpec, Mass, ReadBack};
use thalweg_core::{Field, Grid, Height, Result, Terrain, params};
use thalweg_export::world_folder;
use thalweg_models::model::{About, Family, MassBalance, Model, Stepper, Tick};
use thalweg_models::models::{Models, manual};
use thalweg_render::pictures::ramps::Ramp;
use thalweg_render::products::overlay::{Colours, Overlay};
use thalweg_sim::laws::LAWS;
use thalweg_sim::recipe::{Recipe, recipe_schema};
use thalweg_sim::run::Run;

#[path = "../../examples/own_model.rs"]
#[allow(dead_code, reason = "its `main` is run as an example")]
mod example;

use example::Terraces;

const RECIPE: &str = r#"
extent = [3200.0, 2400.0]
cells = 64
coarsest = 16
seed = 3

[[stage]]
model = "gradient_noise"
amplitude = 300.0

[[stage]]
model = "terraces"
spacing = 80.0
finer = { spacing = 0.5 }

[[stage]]
model = "droplets"
levels = "last"
count = 40000
"#;

fn models() -> Models {
    Models::default().with_model::<Terraces>().expect("its name is free")
}

#[test]
fn the_laws_hold_for_it_and_break_where_it_breaks_them() {
    for law in LAWS {
        law.check(&Terraces::default()).expect(law.says);
    }
}

#[test]
fn a_recipe_knows_it_by_the_list_alone() {
    let problem = Recipe::parse(RECIPE).err().expect("it is none of the library's").to_string();
    assert!(problem.contains("unknown model `terraces`"), "{problem}");
    assert!(Recipe::parse_with(RECIPE, &models()).is_ok());
    let text = recipe_schema(&models()).to_string();
    assert!(text.contains("\"terraces\"") && !recipe_schema(&Models::default()).to_string().contains("\"terraces\""));
}

#[test]
fn a_name_is_taken_once() {
    let problem = models().with_model::<Terraces>().expect_err("twice").to_string();
    assert!(problem.contains("terraces"), "{problem}");
    assert!(Models::default().with_model::<manual::Manual>().is_err());
}

thalweg_core::params! {
    /// A model whose parameter would be lost: every stage has a key of that name.
    pub struct Lost {
        /// Never read.
        muted: bool = false, within .., unit "1", source "ours";
    }
}

impl Model for Lost {
    fn about(&self) -> About {
        About { name: "lost", tables: &[], ..Terraces::default().about() }
    }

    fn start(&self, grid: &Grid) -> Result<Box<dyn Stepper>> {
        Terraces::default().start(grid)
    }
}

#[test]
fn no_parameter_is_lost_behind_a_key_of_the_stage() {
    let models = Models::default().with_model::<Lost>().expect("its name is free");
    let text = "extent = [1, 1]\n[[stage]]\nmodel = \"lost\"\nmuted = true";
    let problem = Recipe::parse_with(text, &models).err().expect("it would be lost").to_string();
    assert!(problem.contains("lost.muted") && problem.contains("key of every stage"), "{problem}");
}

#[test]
fn it_runs_on_every_level_with_what_finer_levels_turn() {
    let mut run = Run::new(Recipe::parse_with(RECIPE, &models()).expect("a recipe")).expect("it begins");
    finish_run(&mut run);
    let spacings: Vec<f64> = run
        .reports()
        .iter()
        .filter(|report| report.model == Terraces::default().about().name)
        .map(|report| report.parameters["spacing"].as_f64().expect("a number"))
        .collect();
    assert_eq!(spacings, [80.0, 40.0, 20.0]);
}

#[test]
fn a_checkpoint_amid_it_goes_on_to_the_same_bits() {
    let recipe = Recipe::parse_with(RECIPE, &models()).expect("a recipe");
    let mut whole = Run::new(recipe.clone()).expect("it begins");
    finish_run(&mut whole);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.thalweg");
    let mut run = Run::new(recipe).expect("it begins");
    for _ in 0..5 {
        run.take_step().expect("it steps").expect("it is not done");
        run.save(&path, &Value::Null).expect("it is saved");
        run = Run::resume_with(&path, &models()).expect("it is taken up").0;
    }
    finish_run(&mut run);
    assert_eq!(run.terrain().fingerprints(), whole.terrain().fingerprints());
    let problem = Run::resume(Path::new(&path)).err().expect("without the list").to_string();
    assert!(problem.contains("unknown model `terraces`"), "{problem}");
}

const MUD: LayerSpec = LayerSpec::heights("mud", "m", "Thickness of mud in suspension over the cell.")
    .hue(Hue::Sediment)
    .mass(Mass::Solid)
    .in_world_folder(ReadBack::Always);

params! {
    /// Mud: every cell of ground gives some of its height to a layer of mud.
    ///
    /// Source: none; this is a test.
    pub struct Muddy {
        /// Metres that each cell gives.
        depth: f64 = 0.5, within 0.25..=1.0, unit "m", source "ours";
    }
}

impl Model for Muddy {
    fn about(&self) -> About {
        About {
            name: "muddy",
            summary: "Every cell of ground gives some of its height to a layer of mud.",
            source: "ours",
            family: Family::Erosion,
            uses: &[MUD],
            writes: &[MUD],
            placed: false,
            ..About::default()
        }
    }

    fn start(&self, _: &Grid) -> Result<Box<dyn Stepper>> {
        Ok(Box::new(self.clone()))
    }
}

impl Stepper for Muddy {
    fn run_step(&mut self, terrain: &mut Terrain, _: Tick) -> Result<MassBalance> {
        let Cells::Height(mut mud) = terrain.take_layer(&MUD) else { unreachable!("it is declared so") };
        let depth = Height::from_metres(self.depth)?.0;
        for k in 0..mud.len() {
            let ground = terrain.ground.as_slice()[k].0;
            let given = depth.min(ground - Height::MIN.0);
            if terrain.nodata.as_ref().is_none_or(|mask| !mask.as_slice()[k]) {
                terrain.ground.as_mut_slice()[k].0 -= given;
                mud.as_mut_slice()[k].0 += given;
            }
        }
        terrain.insert_layer(&MUD, Cells::Height(mud))?;
        Ok(MassBalance::default())
    }
}

#[test]
fn a_layer_of_its_own_is_treated_as_it_is_declared() {
    LAWS.iter().filter(|law| ["mass", "declaration"].contains(&law.name)).for_each(|law| {
        law.check(&Muddy::default()).expect(law.says);
    });
    let models = Models::default().with_model::<Muddy>().expect("its name is free");
    let stages = ["model = \"gradient_noise\"\namplitude = 300.0", "model = \"muddy\""];
    let text = stages.map(|stage| format!("[[stage]]\n{stage}\n")).concat();
    let recipe = Recipe::parse_with(&format!("extent = [640.0, 480.0]\ncells = 32\n{text}"), &models);
    let mut run = Run::new(recipe.expect("a recipe")).expect("it begins");
    finish_run(&mut run);
    let made = &run.terrain().layers[MUD.name];
    let size = run.terrain().grid.size;
    assert_eq!(made.cells, Cells::Height(Field::new(size, Height::from_metres(0.5).expect("in range"))));

    // The solid mass balance includes it.
    let mut bare = run.terrain().clone();
    bare.layers.clear();
    let mud = 32_768 * (size[0] * size[1]) as i128;
    assert_eq!(run.terrain().sum_solid() - bare.sum_solid(), mud);

    // A world folder and a checkpoint restore it if their reader knows the model.
    let folder = tempfile::tempdir().expect("a folder");
    world_folder::write_world(&run, folder.path()).expect("it is written");
    let (read, _) =
        world_folder::read_world_with_models(folder.path(), &Default::default(), &models).expect("it is read");
    assert_eq!((&read.layers[MUD.name], read.sum_solid()), (made, run.terrain().sum_solid()));
    let path = folder.path().join("run.thalweg");
    run.save(&path, &Value::Null).expect("it is saved");
    let (again, _) = Run::resume_with(&path, &models).expect("it is taken up");
    assert_eq!(&again.terrain().layers[MUD.name], made);

    // It is shown under its name and in the colours of its hue.
    let overlay = Overlay::find(MUD.name, &read).expect("it is shown");
    let legend = overlay
        .build_legend(&read, &overlay.compute_values(&read, None).expect("it has values"))
        .expect("it has colours");
    assert_eq!((legend.ramp, legend.unit.as_str()), (Colours::Ramp(Ramp::sediment()), MUD.unit));
    assert_eq!(Overlay::list_available(&read).iter().filter(|overlay| overlay.name() == MUD.name).count(), 1);

    // With another declaration, it is neither counted nor shown.
    let other = MUD.mass(Mass::None).overlay(LayerOverlay::Dedicated);
    bare.insert_layer(&other, made.cells.clone()).expect("it fits");
    assert_eq!(run.terrain().sum_solid() - bare.sum_solid(), mud);
    assert!(Overlay::find(MUD.name, &bare).is_err());
}
