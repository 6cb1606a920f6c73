//! [`Recipe`]: the text from which a world is made.
//!
//! ```toml
//! name = "demo"
//! extent = [15000.0, 15000.0]   # width and height in metres; more cells make the same world finer
//! cells = 512                   # on the long side; with `from` instead of an extent, the elevation model is resampled to it
//! coarsest = "auto"             # optional: built from fewer cells upwards, see [`crate::plan`]
//! beyond = "local"              # optional: levels finer than `local_from` are computed cell by cell from the surroundings
//! local_from = 512              # cells on the long side of the last level on which stages run, or the width of a cell, "30 m"
//! margin = 0.06                 # optional: built around the extent, 6 % of its shorter side, and cut away: rivers enter and leave
//! seed = 1
//! edges = "open"                # or "closed", "looped", or { north = "open", east = "closed", … }
//! sea_level = 0.0               # optional
//! continents = { spacing = 2e4 } # optional: an endless world of such continents, see [`Scatter`]
//! rock = "granite"              # the rock for which the parameters are given; the default is granite
//! sketch = "lines.geojson"      # optional: ridges, rivers, coasts and heights that constrain the terrain, see [`crate::sketch`]
//! ramp = "sand"                 # optional: the colour ramp of elevations in pictures, see [`thalweg_render::pictures::ramps`]
//! textures = { snowline = 1500 } # optional: climate and colours of ground cover, see [`thalweg_render::products::textures`]
//!
//! [[stage]]
//! model = "gradient_noise"
//! amplitude = 800.0
//!
//! [[stage]]
//! model = "droplets"
//! label = "rain"                # the key of the stage's random numbers; the default is the model's name
//! layers = { hardness = "rock.tif" }
//! levels = "last"               # optional: the levels on which it runs
//! finer = { density = 0.5 }     # optional: factors on parameters with each finer level
//!
//! [[stage]]
//! model = "fluvial"
//! tables = { springs = [{ x = 3000.0, y = 2500.0, rate = 2.0 }] }   # metres from the north-western corner, m³/s
//! strokes = [{ step = 12, tool = "raise", x = 3000.0, y = 2500.0, radius = 200.0, strength = 5.0 }]
//! muted = true                  # the stage is in the recipe but does not run
//! ```

mod file;
mod forms;
mod levels;
mod link;
mod options;
mod scatter;
mod schema;
mod settings;
mod sketch_edit;
mod source;
mod stage;
mod start;
pub mod strokes;
pub mod tables;
mod text;
mod world_place;

use std::path::PathBuf;

use crate::sketch::SketchFrom;
use thalweg_core::declare::option_types::Setting;
use thalweg_core::declare::params::Written;
use thalweg_core::terrain::grid::Edges;
use thalweg_core::{Error, Result};
use thalweg_io::{FilePath, Sidecar};
use thalweg_models::model::{Local, Model};
use thalweg_models::rocks::Rock;
use thalweg_render::pictures::ramps::Ramp;
use thalweg_render::products::textures::TextureRules;

pub use file::Overrides;
pub use levels::{Coarsest, LocalFrom, RefinementMethod, When};
pub use options::RecipeOptions;
pub use scatter::Scatter;
pub use schema::recipe_schema;
pub use source::{LayerOrigin, LayerSource};
pub use stage::{LevelModel, Stage};
pub use start::{Levels, MapTrim, Start};
pub use text::{RECIPE_FILE, SCHEMA_FILE};
pub use world_place::WorldPlace;

/// The largest number of stages that is accepted.
pub(crate) const MAX_STAGES: usize = 1000;

/// A world's extent, grid, seed and stages; checked.
///
/// # Examples
/// ```
/// use thalweg_sim::recipe::Recipe;
///
/// let mut recipe = Recipe::parse(
///     r#"
///     extent = [640.0, 640.0]
///     cells = 32
///
///     [[stage]]
///     model = "gradient_noise"
///     amplitude = 100.0
///     "#,
/// )?;
/// let (text, hash) = (recipe.to_toml(), recipe.hash());
/// assert_eq!(Recipe::parse(&text)?.hash(), hash);
/// recipe.seed = 2;
/// assert_ne!(recipe.hash(), hash);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Recipe {
    /// Its name.
    pub name: String,
    /// A paragraph about the landform.
    pub about: String,
    /// The terrain from which it starts.
    pub start: Start,
    /// Number of cells on the long side, 1 to 1 048 576; 0 means as many as an elevation model, or the caller's
    /// terrain, has. For example, 1500 cells over an extent of 15 000 × 10 000 m are 10 m wide.
    pub cells: usize,
    /// The world's seed. TOML's numbers are signed: the upper half of the seeds is written and read as negative
    /// numbers.
    pub seed: u64,
    /// The types of its edges, in the order north, east, south, west.
    pub edges: Edges,
    /// Sea level in metres, -16 000 to 16 000; `None` without a sea.
    pub sea_level: Option<f64>,
    /// The rock for which the parameters are set; [`Knobs`](crate::knobs::Knobs) convert them to another.
    pub rock: &'static Rock,
    /// The colours of its elevations in pictures.
    pub ramp: &'static Ramp,
    /// Climate and colours of the ground cover.
    pub textures: TextureRules,
    /// Ridges, rivers, coasts and elevations that constrain the terrain, see [`crate::sketch`].
    pub sketch: Option<SketchFrom>,
    /// The stages in the order in which they run, at most 1000.
    pub stages: Vec<Stage>,
    /// The folder to which paths are relative, on disk or in memory.
    pub folder: FilePath,
}

impl Recipe {
    /// Returns a recipe with one stage for a terrain given by the caller
    /// ([`Run::with_terrain`](crate::run::Run::with_terrain)); `seed` is the world's.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::{Grid, Terrain};
    /// use thalweg_models::models::thermal::Thermal;
    /// use thalweg_sim::recipe::Recipe;
    /// use thalweg_sim::run::Run;
    ///
    /// let terrain = Terrain::from_metres(Grid::new([1, 2], 10.0)?, &[100.0, 0.0])?;
    /// let recipe = Recipe::with_single_stage(Box::new(Thermal { steps: 10, ..Thermal::default() }), 1);
    /// let mut run = Run::with_terrain(recipe, terrain)?;
    /// while run.take_step()?.is_some() {}
    /// assert!(run.terrain().ground[(0, 0)].metres() < 100.0);
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn with_single_stage(model: Box<dyn Model>, seed: u64) -> Self {
        let name = model.about().name;
        Self { name: name.to_string(), seed, stages: vec![Stage::new(name, model)], ..Self::blank() }
    }

    /// Returns the recipe of an empty text: the defaults.
    fn blank() -> Self {
        Self {
            name: "world".into(),
            about: String::new(),
            start: Start::Given,
            cells: 0,
            seed: 1,
            edges: Edges::default(),
            sea_level: None,
            rock: Rock::usual(),
            ramp: Ramp::land(),
            textures: TextureRules::default(),
            sketch: None,
            stages: Vec::new(),
            folder: FilePath::default(),
        }
    }

    /// Returns the combined local forms of its stages, for a global level with cells `cell` metres wide.
    pub fn combine_local_forms(&self, cell: f64) -> Local {
        let mut local = Local::new(cell);
        for (stage, pass) in self.stages.iter().zip(self.last_passes()).filter(|(stage, _)| !stage.muted) {
            local.key = stage.key(self.seed);
            // With the parameters with which it ran on the global level.
            if let Ok(model) = stage.model_for_pass(pass) {
                model.define_refinement(&mut local);
            }
        }
        local
    }

    /// Returns the label and the local form, in words, of each of its stages; `None` for a stage that ends at the
    /// global level.
    pub fn local_forms(&self) -> Vec<(&str, Option<&'static str>)> {
        let grids = self.to_global_recipe().and_then(|recipe| recipe.grids()).unwrap_or_default();
        let mut local = Local::new(grids.last().map_or(1.0, |grid| grid.cell));
        self.stages.iter().map(|stage| (stage.label.as_str(), stage.model.define_refinement(&mut local))).collect()
    }

    /// Returns a label like `wish` that no stage has: `wish` itself, or `wish` with a number appended. For example, if
    /// `droplets` is taken, the result is `droplets 2`.
    pub fn free_label(&self, wish: &str) -> String {
        let is_free = |label: &String| !self.stages.iter().any(|stage| stage.label == *label);
        let labels = std::iter::once(wish.to_string()).chain((2..).map(|n| format!("{wish} {n}")));
        labels.into_iter().find(is_free).unwrap_or_default()
    }

    /// Returns the index of the stage with that label, from 0.
    ///
    /// # Errors
    /// Returns an error if no stage has that label.
    pub fn stage_index(&self, label: &str) -> Result<usize> {
        let labels = || self.stages.iter().map(|stage| stage.label.as_str());
        labels().position(|known| known == label).ok_or_else(|| Error::unknown_name("stage", label, labels()))
    }

    /// Sets a parameter of the stage with that label; messages name the label as the parameter's owner.
    ///
    /// # Errors
    /// Returns an error if there is no such stage or parameter, or the parameter does not accept the value.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::declare::params::Value;
    /// use thalweg_sim::presets::find_preset;
    ///
    /// let mut recipe = find_preset("hills")?;
    /// recipe.set_parameter("uplift", "years", &2e6.into())?;
    /// assert_eq!(recipe.stages[1].model.get("years"), Some(Value::Number(2e6)));
    /// assert!(recipe.set_parameter("uplift", "yeers", &2e6.into()).unwrap_err().to_string().contains("did you mean `years`?"));
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn set_parameter(&mut self, label: &str, parameter: &str, value: &Written) -> Result<()> {
        let number = self.stage_index(label)?;
        self.stages[number].model.set(label, parameter, value)
    }

    /// Sets a parameter that is named by the label of its stage, a dot, and its own name, such as `uplift.years`.
    ///
    /// # Errors
    /// Returns an error if the name has no dot; also returns the errors of [`Recipe::set_parameter`].
    pub fn apply_setting(&mut self, setting: &Setting) -> Result<()> {
        match setting.name.split_once('.') {
            Some((label, parameter)) => self.set_parameter(label, parameter, &setting.value),
            None => Err(Error::invalid_value("set", &setting.name, "LABEL.PARAMETER=VALUE")),
        }
    }

    /// Removes the stages after the one with that label. For example, a recipe that ends before its erosion shows the
    /// terrain on which the erosion acts.
    ///
    /// # Errors
    /// Returns an error if there is no such stage.
    pub fn truncate_after(&mut self, label: &str) -> Result<()> {
        let number = self.stage_index(label)?;
        self.stages.truncate(number + 1);
        Ok(())
    }

    /// Returns the files on disk that its run reads: layers, the elevation model from which it starts, their sidecar
    /// files, and the sketch. Paths are joined to [`Recipe::folder`]; there are none if that is in memory. For example,
    /// a build system can build the world again when one of them changes.
    pub fn list_input_files(&self) -> Vec<PathBuf> {
        if self.folder.is_in_memory() {
            return Vec::new();
        }
        let sources = self.stages.iter().flat_map(|stage| stage.layers.values());
        let layers = sources.filter_map(|source| match &source.from {
            LayerOrigin::File(path) => Some(path),
            LayerOrigin::Layer(_) => None,
        });
        let models = layers
            .map(PathBuf::as_path)
            .chain(self.dem())
            .flat_map(|path| Sidecar::input_files(&self.folder.join(path)));
        models
            .chain(self.sketch.iter().filter_map(SketchFrom::path).map(|path| self.folder.join(path).into()))
            .collect()
    }

    /// Returns the recipe with absolute paths to its files, so that it can be written into any folder of the same
    /// store.
    ///
    /// # Errors
    /// Returns an error if there is no current folder.
    pub fn with_absolute_paths(&self) -> Result<Self> {
        let mut copy = self.clone();
        for path in copy.files_mut() {
            *path = self.folder.join(&path).to_absolute()?.into();
        }
        if self.folder.is_in_memory() {
            copy.folder = self.folder.with_path("");
        }
        Ok(copy)
    }

    /// Returns the paths of the files that it names: the elevation model from which it starts, the sketch, and
    /// layers.
    pub fn files_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let dem = if let Start::FromDem { path } = &mut self.start { Some(path) } else { None };
        let sketch = self.sketch.iter_mut().filter_map(|sketch| match sketch {
            SketchFrom::File(path) => Some(path),
            _ => None,
        });
        let sources = self.stages.iter_mut().flat_map(|stage| stage.layers.values_mut());
        let layers = sources.filter_map(|source| match &mut source.from {
            LayerOrigin::File(path) => Some(path),
            LayerOrigin::Layer(_) => None,
        });
        dem.into_iter().chain(sketch).chain(layers)
    }

    /// Returns the recipe for a file in `folder`: files in that folder or its subfolders are named relative to it, so
    /// that the folder can be moved; all others by absolute paths.
    ///
    /// # Errors
    /// Returns the errors of [`Recipe::with_absolute_paths`].
    pub fn with_paths_relative_to(&self, folder: impl Into<FilePath>) -> Result<Self> {
        let mut copy = self.with_absolute_paths()?;
        let folder = folder.into().to_absolute()?;
        for path in copy.files_mut() {
            if let Ok(rest) = path.strip_prefix(&*folder) {
                *path = rest.to_path_buf();
            }
        }
        copy.folder = folder;
        Ok(copy)
    }

    /// Returns the fingerprint of the resolved recipe (XXH3-64, 16 hexadecimal digits).
    pub fn hash(&self) -> String {
        format!("{:016x}", xxhash_rust::xxh3::xxh3_64(self.to_toml().as_bytes()))
    }
}
