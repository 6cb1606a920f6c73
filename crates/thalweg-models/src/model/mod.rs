//! What a model is: parameters, a declaration, and a stepper that changes a terrain.

pub mod page;

use std::fmt::Debug;
use std::sync::Arc;

pub use thalweg_core::MassBalance;
use thalweg_core::base::rng::Key;
use thalweg_core::declare::params::{Parameters, Value, Written};
use thalweg_core::terrain::{LayerSpec, Table};
use thalweg_core::{CellRect, Grid, Result, Terrain, choice};
use thalweg_refine::{Join, Rules};

/// How far from a cell a step reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepReach {
    /// At most so many cells of the grid: the model can run by tiles.
    Cells(usize),
    /// Anywhere in the terrain.
    Whole,
}

/// The group a model is listed under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Makes ground.
    Base,
    /// Changes ground.
    Erosion,
    /// Reads ground, and leaves it as it is.
    Analysis,
}

choice! {
    /// How a base model's values meet the ground that is there.
    pub enum Blend {
        /// Ground plus value.
        Add = "add",
        /// The value instead of the ground.
        Replace = "replace",
        /// Ground times a factor of 0 to 1: where the value lies in the model's nominal range.
        Multiply = "multiply",
        /// The higher of ground and value.
        Max = "max",
        /// The lower of ground and value.
        Min = "min",
    }
}

/// A task for which the program chooses the model itself, because a person asks for a thing and not for a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Keeps the strokes that a hand makes when no other stage runs.
    Strokes,
    /// Runs the droplets that a hand pours out.
    Droplets,
    /// Lets the springs that a hand sets run when all other stages are done.
    Springs,
    /// Runs over an elevation model that is opened without a recipe.
    Water,
}

/// What a model says of a role that it plays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlayedRole {
    /// The role.
    pub role: Role,
    /// Parameters that differ from their defaults in that role: name, and value in the parameter's unit.
    pub with: &'static [(&'static str, f64)],
}

thalweg_core::with_defaults! {
    /// A model's declaration beside its parameters. What a model has none of it leaves to [`About::default`].
    #[derive(Debug, Clone, Copy)]
    pub struct About {
        /// Its one name: file, recipe, bench, page.
        pub name: &'static str = "",
        /// What happens to the ground, in a line.
        pub summary: &'static str = "",
        /// Author, year, title.
        pub source: &'static str = "",
        /// What it does with the ground.
        pub family: Family = Family::Erosion,
        /// Layers without which it does not start.
        pub needs: &'static [LayerSpec] = &[],
        /// Layers that it heeds when they are there.
        pub uses: &'static [LayerSpec] = &[],
        /// Layers that it may write.
        pub writes: &'static [LayerSpec] = &[],
        /// Tables that it may keep.
        pub tables: &'static [&'static str] = &[],
        /// Whether it draws random numbers or reads positions; if not, a turned input gives the turned result.
        pub placed: bool = true,
        /// Whether it runs over a world of looped edges as if it had no seam.
        pub loops: bool = false,
    }
}

/// How local levels go on from a recipe's land: its models' part in them is their local form.
///
/// Levels beyond the global one are made cell by cell of what lies around ([`local`](thalweg_refine)). So a model goes on there in as far as
/// those rules speak of what it does.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Local {
    /// How levels are made.
    pub rules: Rules,
    /// Width of the global level's cells in metres.
    pub cell: f64,
    /// The key of the stage that is asked.
    pub key: Key,
    /// Water that runs off, in m/a: a river's discharge is its catchment times it.
    pub runoff: f64,
    /// What grows on the ground, if anything does.
    pub growth: Option<Arc<dyn Growth>>,
}

/// What grows on finished ground of any level and leaves it as it is: for each place the same, whatever the tile.
pub trait Growth: Debug + Send + Sync {
    /// How far around a place what grows there goes by the ground, in metres, on cells `width` metres wide.
    fn reach(&self, width: f64) -> f64;

    /// The table of what grows on the cells `within` of a terrain, which goes on [`Growth::reach`] metres around them as far as the world does, and
    /// its name. Rows and columns are the world's. The terrain has discharges, and pools where lakes are. `None` on cells that are too wide or too
    /// narrow for it.
    ///
    /// # Errors
    /// A terrain that it cannot read.
    fn grow(&self, land: &Terrain, within: CellRect) -> Result<Option<(&'static str, Table)>>;
}

impl Local {
    /// Where no model says anything: usual rules, and the mean runoff of land, 0.3 m/a (Fekete et al. 2002). `cell` is in metres.
    pub fn new(cell: f64) -> Self {
        Self { rules: Rules::default(), cell, key: Key::ZERO, runoff: 0.3, growth: None }
    }

    /// Has an operator of finite reach join local levels, after those of the stages before. What it draws by lot is to come of [`Local::key`]; its
    /// `Debug` is to say all that it does, for worlds are told apart by it.
    pub fn join(&mut self, join: impl Join + 'static) {
        self.rules.joins = std::mem::take(&mut self.rules.joins).with(Arc::new(join));
    }

    /// Holds slopes to an angle in degrees from the horizontal, if that is less than what they are held to; 89 and more holds nothing.
    pub fn hold(&mut self, angle: f64) {
        if angle < 89.0 {
            let tan = libm::tan(angle.to_radians()) as f32;
            self.rules.limit = self.rules.limit.min(tan.max(0.01));
        }
    }
}

/// A default that another parameter changes: where `with` is above 0 and `name` is not given, `name` is `value`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Beside {
    /// The parameter that changes it.
    pub with: &'static str,
    /// The parameter whose default it is.
    pub name: &'static str,
    /// The default there, in that parameter's unit.
    pub value: f64,
}

pub use thalweg_core::base::clock::YEAR;

/// What can be had once more behind a pointer: every model that is `Clone`, as [`params!`](thalweg_core::params!) makes it.
pub trait CloneModel {
    /// The model once more, with the same parameters.
    fn clone_box(&self) -> Box<dyn Model>;
}

impl<M: Model + Clone + 'static> CloneModel for M {
    fn clone_box(&self) -> Box<dyn Model> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Model> {
    fn clone(&self) -> Self {
        (**self).clone_box()
    }
}

/// A model with its parameters set.
pub trait Model: Parameters + CloneModel + Send + Sync {
    /// Its declaration.
    fn about(&self) -> About;

    /// Defaults that other parameters change. They hold where a stage or a call gives parameters, by [`set_parameters`].
    fn beside(&self) -> &'static [Beside] {
        &[]
    }

    /// The roles that it plays; one model plays each.
    fn parts(&self) -> &'static [PlayedRole] {
        &[]
    }

    /// Whether it plays a role: whether [`Model::parts`] has it.
    fn plays(&self, role: Role) -> bool {
        self.parts().iter().any(|part| part.role == role)
    }

    /// Whether land stays land when a base model's finer octaves are laid on what rivers have cut down nearly to the sea's level: away
    /// from the coast they open none of it to the sea.
    fn keeps_land(&self) -> bool {
        false
    }

    /// Tells it that its map lies so many metres eastward and southward of where it was thought to lie in a larger world. What goes by
    /// latitude moves with it.
    fn moved(&mut self, _by: [f64; 2]) {}

    /// How a base model's values meet the ground. Only those that add may go on adding on finer levels after erosion, and what
    /// multiplies is no height.
    fn blend(&self) -> Blend {
        Blend::Add
    }

    /// What the single ranges cannot say: checks between parameters, and against the grid.
    ///
    /// # Errors
    /// When parameters contradict each other or the grid.
    fn check(&self, _grid: &Grid) -> Result<()> {
        Ok(())
    }

    /// Number of steps that a stage of it takes on this grid.
    fn steps(&self, _grid: &Grid) -> u32 {
        1
    }

    /// How far one step reaches on this grid.
    fn reach(&self, _grid: &Grid) -> StepReach {
        StepReach::Whole
    }

    /// Simulated years after so many steps on this grid; `None` where the model knows no time.
    fn years(&self, _grid: &Grid, _step: u32) -> Option<f64> {
        None
    }

    /// Bytes of scratch that a stepper holds on this grid, beyond the terrain.
    fn scratch(&self, _grid: &Grid) -> u64 {
        0
    }

    /// Its local form: sets in the rules of local levels what it does there, or has an operator of its own join ([`Local::join`]), and says in words
    /// what that is. `None`: it has none and ends at the global level.
    fn local(&self, _local: &mut Local) -> Option<&'static str> {
        None
    }

    /// Sets to work on terrains of this grid.
    ///
    /// # Errors
    /// As [`Model::check`].
    fn start(&self, grid: &Grid) -> Result<Box<dyn Stepper>>;
}

/// Gives a model all the parameters that somebody wrote down; those that they leave out follow [`Model::beside`].
///
/// # Errors
/// As [`Parameters::set`], under the model's name; what was given before that parameter has been set.
pub fn set_parameters<'a>(
    model: &mut dyn Model,
    given: impl IntoIterator<Item = (&'a str, &'a Written)>,
) -> Result<()> {
    let owner = model.about().name;
    let mut names = Vec::new();
    for (name, value) in given {
        model.set(owner, name, value)?;
        names.push(name);
    }
    for Beside { with, name, value } in model.beside() {
        let is_on = matches!(model.get(with), Some(Value::Number(x)) if x > 0.0);
        if is_on && !names.contains(name) {
            model.set(owner, name, &(*value).into())?;
        }
    }
    Ok(())
}

/// Which step of which stage is being taken.
#[derive(Debug, Clone, Copy)]
pub struct Tick {
    /// The key of the stage: world seed and stage label.
    pub key: Key,
    /// Number of the step, from 0.
    pub step: u32,
}

/// A model at work. It holds scratch only: dropped and restarted between any two steps it gives the same bits.
pub trait Stepper: Send {
    /// Takes one step.
    ///
    /// # Errors
    /// When a layer that the model needs is missing, or a layer or table holds what the model cannot work with.
    fn step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance>;
}
