//! The model interface: parameters, a declaration, and a stepper that changes a terrain.

pub mod page;

use std::fmt::Debug;
use std::sync::Arc;

pub use thalweg_core::MassBalance;
use thalweg_core::base::names::title_from_name;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::declare::params::{Parameters, Value, Written};
use thalweg_core::terrain::{LayerSpec, Table};
use thalweg_core::{CellRect, Grid, Result, Terrain, choice};
use thalweg_refine::{RefinementOperator, Rules};

/// The distance from a cell up to which a step reads or writes.
///
/// # Examples
/// ```
/// use thalweg_core::Grid;
/// use thalweg_models::model::{Model, StepReach};
/// use thalweg_models::models::hillslope::Hillslope;
/// use thalweg_models::models::thermal::Thermal;
///
/// let grid = Grid::new([64, 64], 30.0)?;
/// // A step of `thermal` can run on tiles with a halo of two cells; one of `hillslope` needs the whole terrain.
/// assert_eq!(Thermal::default().reach(&grid), StepReach::Cells(2));
/// assert_eq!(Hillslope::default().reach(&grid), StepReach::Whole);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepReach {
    /// At most this many cells of the grid, so the model can run on tiles.
    Cells(usize),
    /// Anywhere in the terrain.
    Whole,
}

/// The group under which a model is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// The model creates ground.
    Base,
    /// The model changes ground.
    Erosion,
    /// The model reads the ground and does not change it.
    Analysis,
}

choice! {
    /// How a base model's values are combined with the existing ground.
    pub enum Blend {
        /// The sum of the ground and the value.
        Add = "add",
        /// The value replaces the ground.
        Replace = "replace",
        /// The ground times a factor of 0 to 1: the position of the value in the model's nominal range.
        Multiply = "multiply",
        /// The higher of the ground and the value.
        Max = "max",
        /// The lower of the ground and the value.
        Min = "min",
    }
}

/// A task for which the program chooses the model itself, because the user asks for a result and not for a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Stores the user's brush strokes if there is no other stage that runs.
    Strokes,
    /// Runs the droplets that a user pours.
    Droplets,
    /// Runs the springs that a user sets, after all other stages.
    Springs,
    /// Runs on an elevation model that is opened without a recipe.
    Water,
}

/// A role that a model plays, and its parameters in that role.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlayedRole {
    /// The role.
    pub role: Role,
    /// The parameters that differ from their defaults in that role: name, and value in the parameter's unit.
    pub with: &'static [(&'static str, f64)],
}

thalweg_core::with_defaults! {
    /// The declaration of a model, in addition to its parameters. Fields that do not apply keep the value of
    /// [`About::default`].
    #[derive(Debug, Clone, Copy)]
    pub struct About {
        /// The model's unique name, used in files, recipes, benchmarks and pages.
        pub name: &'static str = "",
        /// The model's title in user interfaces; if it is empty, [`About::display_title`] makes one from the name.
        pub title: &'static str = "",
        /// What happens to the ground, in one line.
        pub summary: &'static str = "",
        /// Author, year and title of the source.
        pub source: &'static str = "",
        /// What the model does with the ground.
        pub family: Family = Family::Erosion,
        /// Layers without which it does not start.
        pub needs: &'static [LayerSpec] = &[],
        /// Layers that it uses if they exist.
        pub uses: &'static [LayerSpec] = &[],
        /// Layers that it may write.
        pub writes: &'static [LayerSpec] = &[],
        /// Tables that it may write.
        pub tables: &'static [&'static str] = &[],
        /// True if it draws random numbers or reads positions; if false, rotating the input rotates the result.
        pub placed: bool = true,
        /// True if it runs over a world with looped edges as if there were no seam.
        pub loops: bool = false,
    }
}

impl About {
    /// Returns the title in user interfaces: the declared one, or one made from the name.
    ///
    /// # Examples
    /// ```
    /// use thalweg_models::model::About;
    /// use thalweg_models::models::find_model;
    ///
    /// assert_eq!(find_model("shape")?.about().display_title(), "Base shape");
    /// assert_eq!(About { name: "own_model", ..About::default() }.display_title(), "Own model");
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn display_title(&self) -> String {
        if self.title.is_empty() { title_from_name(self.name) } else { self.title.to_string() }
    }
}

/// The rules by which local refinement levels continue the land of a recipe. A model's contribution to them is called
/// its local form.
///
/// Levels beyond the global one are computed cell by cell from a bounded neighbourhood (see [`thalweg_refine`]), so a
/// model's effect continues there only as far as these rules describe it.
///
/// # Examples
/// ```
/// use thalweg_models::model::{Local, Model};
/// use thalweg_models::models::thermal::Thermal;
///
/// let mut local = Local::new(30.0);
/// let form = Thermal { talus: 30.0, rock_talus: 30.0, ..Thermal::default() }.define_refinement(&mut local);
/// // Slopes on finer levels are limited to tan 30° = 0.577.
/// assert!(form.is_some() && (local.rules.limit - 0.577).abs() < 0.001);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Local {
    /// The refinement rules.
    pub rules: Rules,
    /// The width of the global level's cells in metres.
    pub cell: f64,
    /// The key of the stage whose model is asked for its local form.
    pub key: RandomKey,
    /// The runoff in m/a: a river's discharge is its drainage area times the runoff.
    pub runoff: f64,
    /// The vegetation that grows on the terrain, if there is any.
    pub growth: Option<Arc<dyn Growth>>,
}

/// Vegetation that grows on finished terrain of any level without changing it. The result at a place does not depend
/// on the tile. For example, the model `trees` grows a forest.
pub trait Growth: Debug + Send + Sync {
    /// Returns the distance in metres up to which the terrain around a place influences what grows there, on cells
    /// `width` metres wide.
    fn influence_radius(&self, width: f64) -> f64;

    /// Returns the name and the table of what grows on the cells `within` of a terrain. The terrain must extend
    /// [`Growth::influence_radius`] metres around these cells, as far as the world does, and has discharges, and pools
    /// where there are lakes. Rows and columns in the table are the world's. Returns `None` if the cells are too wide
    /// or too narrow.
    ///
    /// # Errors
    /// Returns an error if the terrain has a layer that cannot be read.
    fn grow_plants(&self, land: &Terrain, within: CellRect) -> Result<Option<(&'static str, Table)>>;
}

impl Local {
    /// Returns the rules before any model has changed them: the default rules, and the mean runoff of land, 0.3 m/a
    /// (Fekete et al. 2002). `cell` is in metres.
    pub fn new(cell: f64) -> Self {
        Self { rules: Rules::default(), cell, key: RandomKey::ZERO, runoff: 0.3, growth: None }
    }

    /// Adds an operator with bounded reach to the local levels, after those of earlier stages. Its random numbers
    /// must be derived from [`Local::key`], and its `Debug` output must describe everything that it does, because
    /// worlds are distinguished by it.
    pub fn add_refinement_operator(&mut self, join: impl RefinementOperator + 'static) {
        // `with_operator` takes the list by value, so it is taken out and put back.
        self.rules.joins = std::mem::take(&mut self.rules.joins).with_operator(Arc::new(join));
    }

    /// Limits slopes to an angle in degrees from the horizontal, if that is lower than the current limit; 89° and
    /// more has no effect. For example, if the limit is 35°, an angle of 30° lowers it, and one of 40° changes nothing.
    pub fn limit_slope(&mut self, angle: f64) {
        if angle < 89.0 {
            let tan = libm::tan(angle.to_radians()) as f32;
            // The lower bound of 1 % keeps a slope limit of 0° from levelling all ground.
            self.rules.limit = self.rules.limit.min(tan.max(0.01));
        }
    }
}

/// A default that depends on another parameter: if `with` is above 0 and `name` is not given, `name` gets `value`. For
/// example, if a `drop` of water is given to the model `fluvial`, its rain becomes 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DependentDefault {
    /// The parameter that changes the default.
    pub with: &'static str,
    /// The parameter whose default changes.
    pub name: &'static str,
    /// The default in that case, in that parameter's unit.
    pub value: f64,
}

pub use thalweg_core::base::clock::YEAR;

/// Cloning through a trait object, for every model that is `Clone`, as [`params!`](thalweg_core::params!) makes it.
pub trait CloneModel {
    /// Returns a clone of the model, with the same parameters.
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
///
/// # Examples
/// A model that raises all ground by the same height:
///
/// ```
/// use thalweg_core::base::rng::RandomKey;
/// use thalweg_core::{Grid, Height, MassBalance, Result, Terrain, params};
/// use thalweg_models::model::{About, Model, Stepper, Tick};
/// use thalweg_models::models::Models;
///
/// params! {
///     /// Raises all ground: z = z + height. Source: ours.
///     pub struct Lift {
///         /// How far the ground rises.
///         height: f64 = 10.0, within 0.0..=100.0, unit "m", source "ours";
///     }
/// }
///
/// impl Model for Lift {
///     fn about(&self) -> About {
///         About { name: "lift", summary: "All ground rises.", source: "ours", ..About::default() }
///     }
///
///     fn start(&self, _: &Grid) -> Result<Box<dyn Stepper>> {
///         Ok(Box::new(self.clone()))
///     }
/// }
///
/// impl Stepper for Lift {
///     fn run_step(&mut self, terrain: &mut Terrain, _: Tick) -> Result<MassBalance> {
///         let (before, height) = (terrain.sum_solid(), self.height);
///         terrain.ground = terrain.ground.map(|ground| Height::from_metres_clamped(ground.metres() + height));
///         Ok(MassBalance { added: terrain.sum_solid() - before, ..MassBalance::default() })
///     }
/// }
///
/// let models = Models::default().with_model::<Lift>()?;
/// let lift = models.find("lift")?;
/// let mut terrain = Terrain::new(Grid::new([2, 2], 30.0)?);
/// lift.start(&terrain.grid)?.run_step(&mut terrain, Tick { key: RandomKey::ZERO, step: 0 })?;
/// assert_eq!(terrain.ground[(0, 0)].metres(), 10.0);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub trait Model: Parameters + CloneModel + Send + Sync {
    /// Returns the model's declaration.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::terrain::SEDIMENT;
    /// use thalweg_models::model::Family;
    /// use thalweg_models::models::find_model;
    ///
    /// let about = find_model("thermal")?.about();
    /// assert_eq!((about.name, about.family, about.loops), ("thermal", Family::Erosion, true));
    /// assert!(about.writes.contains(&SEDIMENT));
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    fn about(&self) -> About;

    /// Returns the defaults that depend on other parameters. They apply where a stage or a call gives parameters,
    /// through [`set_parameters`].
    fn dependent_defaults(&self) -> &'static [DependentDefault] {
        &[]
    }

    /// Returns the roles that the model plays; each role is played by one model.
    fn roles(&self) -> &'static [PlayedRole] {
        &[]
    }

    /// Returns true if the model plays a role, that is, if [`Model::roles`] contains it.
    fn plays_role(&self, role: Role) -> bool {
        self.roles().iter().any(|part| part.role == role)
    }

    /// Returns true if land must stay land when a base model's finer octaves are added to terrain that rivers have
    /// eroded nearly to sea level: away from the coast, the octaves then flood none of it.
    fn keeps_land(&self) -> bool {
        false
    }

    /// Tells the model that its map is at a different place in a larger world, shifted by the given metres eastward
    /// and southward. Values that depend on latitude move accordingly.
    fn shift_map_origin(&mut self, _by: [f64; 2]) {}

    /// Returns how a base model's values are combined with the ground. Only models that add may continue to add on
    /// finer levels after erosion; the values of a model that multiplies are no heights.
    fn blend(&self) -> Blend {
        Blend::Add
    }

    /// Checks what the ranges of single parameters cannot express: parameters against each other and against the
    /// grid.
    ///
    /// # Errors
    /// Returns an error if parameters contradict each other or the grid.
    fn check(&self, _grid: &Grid) -> Result<()> {
        Ok(())
    }

    /// Returns the number of steps of a stage of this model on this grid.
    fn steps(&self, _grid: &Grid) -> u32 {
        1
    }

    /// Returns how far one step reaches on this grid. For example, a model that reads only the eight neighbours returns
    /// `StepReach::Cells(1)`.
    fn reach(&self, _grid: &Grid) -> StepReach {
        StepReach::Whole
    }

    /// Returns the simulated years after this many steps on this grid; `None` if the model has no notion of time. For
    /// example, a model whose steps take 1000 years returns 5000 for 5 steps.
    fn simulated_years(&self, _grid: &Grid, _step: u32) -> Option<f64> {
        None
    }

    /// Returns the bytes of temporary memory that a stepper needs on this grid, in addition to the terrain. For
    /// example, a stepper that stores one `f32` per cell returns four times the number of cells.
    fn scratch(&self, _grid: &Grid) -> u64 {
        0
    }

    /// Defines the model's local form: sets its effect in the rules of local levels, or adds an operator of its own
    /// ([`Local::add_refinement_operator`]), and returns a description in words. Returns `None` if the model has no
    /// local form and ends at the global level.
    fn define_refinement(&self, _local: &mut Local) -> Option<&'static str> {
        None
    }

    /// Creates a stepper for terrains of this grid.
    ///
    /// # Errors
    /// Returns the errors of [`Model::check`].
    fn start(&self, grid: &Grid) -> Result<Box<dyn Stepper>>;
}

/// Sets all given parameters of a model; the others follow [`Model::dependent_defaults`].
///
/// # Errors
/// Returns the error of [`Parameters::set`], under the model's name; the parameters before the failing one have then
/// been set.
///
/// # Examples
/// If a `drop` of water is given to the model `fluvial`, no rain falls unless it is given too:
///
/// ```
/// use thalweg_core::declare::params::{Value, Written};
/// use thalweg_models::model::set_parameters;
/// use thalweg_models::models::find_model;
///
/// let mut model = find_model("fluvial")?;
/// set_parameters(&mut *model, [("drop", &Written::from(1000.0))])?;
/// assert_eq!(model.get("drop"), Some(Value::Number(1000.0)));
/// assert_eq!(model.get("rain"), Some(Value::Number(0.0)));
/// assert!(set_parameters(&mut *model, [("drop", &Written::from(-1.0))]).is_err());
/// # Ok::<(), thalweg_core::Error>(())
/// ```
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
    for DependentDefault { with, name, value } in model.dependent_defaults() {
        // A parameter that was given keeps its value, even if it equals the usual default.
        let is_on = matches!(model.get(with), Some(Value::Number(x)) if x > 0.0);
        if is_on && !names.contains(name) {
            model.set(owner, name, &(*value).into())?;
        }
    }
    Ok(())
}

/// The stage and step that is being run.
#[derive(Debug, Clone, Copy)]
pub struct Tick {
    /// The key of the stage, derived from the world's seed and the stage's label.
    pub key: RandomKey,
    /// The number of the step, from 0 on.
    pub step: u32,
}

/// A running model. It stores only temporary values: if it is dropped and restarted between any two steps, the result
/// has the same bits.
///
/// # Examples
/// Runs a model without a recipe and checks its mass balance:
///
/// ```
/// use thalweg_core::base::rng::RandomKey;
/// use thalweg_core::{Grid, MassBalance, Terrain};
/// use thalweg_models::model::{Model, Tick};
/// use thalweg_models::models::thermal::Thermal;
///
/// let mut terrain = Terrain::from_metres(Grid::new([1, 2], 10.0)?, &[100.0, 0.0])?;
/// let (model, before) = (Thermal::default(), terrain.sum_solid());
/// let mut stepper = model.start(&terrain.grid)?;
/// let mut total = MassBalance::default();
/// for step in 0..model.steps(&terrain.grid) {
///     total += stepper.run_step(&mut terrain, Tick { key: RandomKey::new(1, "scree"), step })?;
/// }
/// assert!(terrain.ground[(0, 0)].metres() < 100.0);
/// assert_eq!(terrain.sum_solid() - before, total.solid_change());
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub trait Stepper: Send {
    /// Runs one step.
    ///
    /// # Errors
    /// Returns an error if a layer that the model needs is missing, or if a layer or table contains values that the
    /// model cannot work with.
    fn run_step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance>;
}
