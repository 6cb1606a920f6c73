//! [`ApplyJob`]: applies a model of finite reach to an elevation file of any size, into a store.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;
use thalweg_core::terrain::TileGrid;
use thalweg_core::terrain::grid::{SIDES, check_edges};
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Error, Grid, Height, Result};
use thalweg_io::{HeightReading, LoadOptions, Samples};
use thalweg_models::model::StepReach;
use thalweg_models::models::{self, Models};
use thalweg_sim::recipe::{LayerOrigin, Recipe};
use thalweg_tiled::layer::NO_HEIGHT;
use thalweg_tiled::{LayerRead, PassedLayer, Product, Summaries, TileInput, TileLayer, TileOutput, TilePass};

use super::input_layer::InputLayer;
use super::model::{MapProperties, Modelled, StepSummary};
use super::nodata_scan::{ExaminePass, first_reading};
use super::{JobSetup, MESSAGE, parse_json, stored_layer_spec, to_json_bytes};
use crate::StoreSpec;
use crate::products::ProductWriter;
use crate::source::{ElevationFile, check_unchanged, fingerprint_source};

/// A model applied to an elevation model. Its result is bit-identical to that of
/// [`Run::from_elevation_file`](thalweg_sim::run::Run::from_elevation_file).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApplyJob {
    /// A recipe of one stage, as TOML: the model, its parameters, layers from files, the seed, edges and sea level.
    pub recipe: String,
    /// The path of the elevation model.
    pub source: PathBuf,
    /// The fingerprint of the source, from its length and modification time: a source that has changed since is
    /// refused.
    pub source_print: u64,
    /// Options for properties that the file does not state.
    pub load: LoadOptions,
    /// The fingerprints of the layers' files, by name of the layer.
    pub layer_prints: BTreeMap<String, u64>,
    /// The number of steps that a stage takes at once; by default the number with the lowest estimated cost. It
    /// affects only time and memory.
    pub steps_at_once: Option<u32>,
    /// The layers that the model leaves in the store, in addition to the ground.
    #[serde(deserialize_with = "super::read_layer_names")]
    pub leaves: Vec<String>,
}

impl ApplyJob {
    /// Makes the job of a one-stage recipe applied to a file.
    ///
    /// # Errors
    /// Returns an error if a file does not exist or cannot be read; if the recipe does not have exactly one stage, or
    /// has more than a model, its parameters, layers from files, a seed, edges and a sea level; if the model reaches
    /// over the whole map, the edges are looped or parameters contradict the map; or if a layer that the model needs
    /// is not given.
    pub fn from_recipe(recipe: &Recipe, source: &Path, load: LoadOptions) -> Result<Self> {
        let recipe = recipe.with_absolute_paths()?;
        let source = std::path::absolute(source).map_err(Error::io(source, "resolve the path"))?;
        let source_print = fingerprint_source(&source)?;
        let layers = list_layer_files(&recipe)?;
        let layer_prints =
            layers.into_iter().map(|(name, path)| Ok((name, fingerprint_source(&path)?))).collect::<Result<_>>()?;
        let (recipe, leaves) = (recipe.to_toml(), Vec::new());
        let mut job = Self { recipe, source, source_print, load, layer_prints, steps_at_once: None, leaves };
        let file = job.open_source()?;
        // The layers of the result are part of the plan, because the store is created before any step runs.
        job.leaves = job.set_up_model(&file)?.find_final_layers()?;
        Ok(job)
    }

    fn parse_recipe(&self) -> Result<Recipe> {
        Recipe::parse_stages(&self.recipe, &Models::default())
    }

    fn open_source(&self) -> Result<ElevationFile> {
        check_unchanged(&self.source, self.source_print)?;
        ElevationFile::open(&self.source, &self.load)
    }

    pub(super) fn warnings(&self) -> Result<Vec<String>> {
        Ok(self.open_source()?.warnings().to_vec())
    }

    pub(super) fn sources(&self) -> Vec<(PathBuf, u64)> {
        let layers = self.parse_recipe().and_then(|recipe| list_layer_files(&recipe)).unwrap_or_default();
        let print = |name: &str| self.layer_prints.get(name).copied().unwrap_or_default();
        let layers = layers.into_iter().map(|(name, path)| (path, print(&name)));
        std::iter::once((self.source.clone(), self.source_print)).chain(layers).collect()
    }

    /// Sets up the model on the file's cells.
    fn set_up_model(&self, file: &ElevationFile) -> Result<Modelled> {
        let recipe = self.parse_recipe()?;
        file.check_square("`apply`")?;
        let mut grid = Grid { edges: recipe.edges, ..file.grid().clone() };
        grid.sea_level = recipe.sea_level.map(Height::from_metres).transpose()?;
        check_edges("edges", grid.edges)?;
        let files = list_layer_files(&recipe)?;
        let [stage] = recipe.stages.as_slice() else {
            return Err(Error::invalid_value("stages", recipe.stages.len(), "1, because `apply` runs a single model"));
        };
        let model = stage.model.clone();
        let about = model.about();
        let StepReach::Cells(reach) = model.reach(&grid) else {
            let able = models::all_models()
                .filter(|model| model.reach(&grid) != StepReach::Whole)
                .map(|model| model.about().name);
            let able: Vec<&str> = able.collect();
            let problem = format!(
                "cannot run by tiles, because it needs the whole map; use a model that can run by tiles ({}), or a map \
                 that fits in memory with an output other than a store",
                able.join(", ")
            );
            return Err(Error::unsupported(format!("model `{}`", about.name), problem));
        };
        if let Some(axis) = (0..2).find(|axis| grid.is_looped(*axis)) {
            let sides = format!("edges with {} and {} looped", SIDES[axis], SIDES[axis + 2]);
            return Err(Error::unsupported(sides, "are not supported by tiles; use open or closed edges"));
        }
        stage.check(&grid, 0)?;
        let mut given = Vec::new();
        for spec in about.needs.iter().chain(about.uses) {
            let Some((_, path)) = files.iter().find(|(name, _)| name == spec.name) else { continue };
            check_unchanged(path, self.layer_prints.get(spec.name).copied().unwrap_or_default())?;
            given.push(InputLayer::open(*spec, path, grid.size)?);
        }
        if let Some(spec) = about.needs.iter().find(|spec| !files.iter().any(|(name, _)| name == spec.name)) {
            return Err(Error::missing_layer(spec.name, about.name, spec.meaning));
        }
        Ok(Modelled { steps: model.steps(&grid), key: stage.key(recipe.seed), model, grid, reach, given })
    }

    pub(super) fn set_up(&self, side: usize) -> Result<JobSetup> {
        let file = Arc::new(self.open_source()?);
        let modelled = Arc::new(self.set_up_model(&file)?);
        let layers =
            modelled.state_layers().into_iter().filter(|spec| self.leaves.iter().any(|name| name == spec.name));
        let layers = std::iter::once(stored_layer_spec(TileLayer::Height))
            .chain(layers.map(|spec| super::model::stored_layer(&spec)));
        let grid = modelled.grid.clone();
        let mut spec = StoreSpec {
            georeference: grid.georeference.clone(),
            ..StoreSpec::new(grid.size, side, grid.cell, "", layers.collect())
        };
        spec.attributes.insert("model".into(), modelled.model.about().name.into());
        let (side, tiles) = (spec.side, spec.tile_grid()?);
        // Files stay open until the end. Layers are read with a halo, so their windows are not aligned with the
        // chunks of the files; `side + 1` stands for such a window.
        let [own, each] = file.memory([side, side]);
        let held_bytes =
            modelled.given.iter().map(|given| given.memory([side + 1, side + 1])[0]).fold(own, u64::saturating_add);
        let elevations = modelled.given.iter().filter_map(InputLayer::as_elevation_file);
        let files: Vec<_> = std::iter::once(Arc::clone(&file)).chain(elevations).collect();
        // The first pass reads only the elevation files, tile by tile.
        let looked_at: u64 = files.iter().map(|file| file.memory([side, side])[0]).sum();
        let mut passes: Vec<Box<dyn TilePass>> = vec![
            Box::new(ExaminePass { files, tiles }),
            Box::new(HeightPass { file, tiles, ground: modelled.ground_layer(), each }),
        ];
        let at_once = self.steps_at_once.unwrap_or_else(|| modelled.choose_steps_per_stage(side)).max(1);
        // For a model that takes no step, a single stage passes the ground through unchanged.
        let count = modelled.steps.div_ceil(at_once).max(1);
        for number in 0..count {
            let steps = number * at_once..(number + 1).saturating_mul(at_once).min(modelled.steps);
            let name = match steps.len() {
                0 | 1 => format!("step_{}", steps.end),
                _ => format!("steps_{}_{}", steps.start + 1, steps.end),
            };
            // Each step can carry effects one reach farther, so cells within steps × reach of the tile can affect it.
            // No halo is wider than the map.
            let halo = modelled.reach.saturating_mul(steps.len()).min(grid.size[0].max(grid.size[1]));
            // Only the last stage writes to the store; all others pass their layers on.
            let ends = (number + 1 == count).then(|| self.leaves.clone());
            let is_first = number == 0;
            passes.push(Box::new(Steps { modelled: Arc::clone(&modelled), tiles, name, steps, halo, is_first, ends }));
        }
        // The first pass has other files open than the rest.
        let held_bytes = std::iter::once(looked_at).chain(vec![held_bytes; passes.len() - 1]).collect();
        let products = ProductWriter { grid, has_outlines: false };
        Ok(JobSetup { products, spec, passes, held_bytes })
    }
}

/// Returns the layers' files of a recipe, and refuses everything that a run by tiles does not support.
fn list_layer_files(recipe: &Recipe) -> Result<Vec<(String, PathBuf)>> {
    let mut files = Vec::new();
    for stage in &recipe.stages {
        let unsupported = [
            (stage.tables.to_toml().is_some(), "tables"),
            (!stage.strokes.is_empty(), "strokes"),
            (stage.muted, "`muted`"),
            (recipe.sketch.is_some(), "a sketch"),
        ];
        if let Some((_, what)) = unsupported.into_iter().find(|(is_there, _)| *is_there) {
            let problem = format!(
                "does not support {what} when it runs by tiles; remove this from the recipe, or write to an output \
                 other than a store"
            );
            return Err(Error::unsupported(format!("stage `{}`", stage.label), problem));
        }
        for (name, source) in &stage.layers {
            match &source.from {
                LayerOrigin::File(path) if source.scale.is_none() => {
                    files.push((name.clone(), recipe.folder.join(path).into()))
                }
                _ => {
                    return Err(Error::unsupported(
                        format!("layer `{name}`"),
                        "cannot be read by tiles; give it as a file without `scale`, or write to an output other than \
                         a store",
                    ));
                }
            }
        }
    }
    Ok(files)
}

/// The second pass: converts samples to heights, and finds the lowest height, which cells without data get.
struct HeightPass {
    file: Arc<ElevationFile>,
    tiles: TileGrid,
    ground: PassedLayer,
    /// The memory that reading a tile takes, in bytes.
    each: u64,
}

/// The summary of a tile of [`HeightPass`].
#[derive(Serialize, Deserialize)]
struct HeightSummary {
    void: u64,
    lowest: Option<i32>,
    solid: i128,
    readings: Vec<HeightReading>,
}

impl TilePass for HeightPass {
    fn name(&self) -> &str {
        TileLayer::Height.name()
    }

    fn temporary_layers(&self) -> Vec<PassedLayer> {
        vec![self.ground.clone()]
    }

    fn tile_bytes(&self, tiles: &TileGrid) -> u64 {
        40 * (tiles.tile_size() * tiles.tile_size()) as u64 + self.each
    }

    fn run_tile(&self, TileInput { tile, answer, .. }: TileInput<'_>) -> Result<TileOutput> {
        let readings: Vec<HeightReading> = parse_json("answer of `look`", answer)?;
        let heights = self.file.read_heights(self.tiles.tile_window(tile), first_reading(&readings)?)?;
        let with_data = || heights.iter().filter(|height| **height != NO_HEIGHT);
        let summary = to_json_bytes(&HeightSummary {
            void: (heights.len() - with_data().count()) as u64,
            // The lowest height and the sum of all heights are needed by every tile of the first step.
            lowest: with_data().min().copied(),
            solid: with_data().map(|height| i128::from(*height)).sum(),
            readings,
        })?;
        Ok(TileOutput { layers: vec![Samples::I32(heights)], summary })
    }

    fn solve_bytes(&self) -> u64 {
        MESSAGE * self.tiles.tile_count() as u64
    }

    fn solve(&self, summaries: &dyn Summaries, found: &mut dyn FnMut(Product) -> Result<()>) -> Result<Vec<Vec<u8>>> {
        let mut all: Option<HeightSummary> = None;
        for tile in 0..summaries.count() {
            let part: HeightSummary = parse_json("summary of `height`", &summaries.read(tile)?)?;
            all = Some(match all {
                None => part,
                Some(all) => HeightSummary {
                    void: all.void + part.void,
                    lowest: all.lowest.into_iter().chain(part.lowest).min(),
                    solid: all.solid + part.solid,
                    // All tiles received the same readings.
                    readings: all.readings,
                },
            });
        }
        let all = all.ok_or_else(|| Error::invalid_value("tiles", 0, "1 or more"))?;
        let known = MapProperties {
            has_void: all.void > 0,
            lowest: all.lowest.unwrap_or_default(),
            solid: all.solid,
            present: Vec::new(),
            readings: all.readings,
        };
        found(Product::Figure("nodata_cells", all.void.into()))?;
        Ok(vec![to_json_bytes(&known)?; summaries.count()])
    }
}

/// A pass that takes some steps of the model.
struct Steps {
    modelled: Arc<Modelled>,
    tiles: TileGrid,
    name: String,
    steps: Range<u32>,
    halo: usize,
    is_first: bool,
    /// For the last stage, the names of the layers that stay in the store; `None` for the others.
    ends: Option<Vec<String>>,
}

impl Steps {
    fn has_tables(&self) -> bool {
        !self.modelled.model.about().tables.is_empty()
    }
}

impl TilePass for Steps {
    fn name(&self) -> &str {
        &self.name
    }

    fn input_layers(&self) -> Vec<LayerRead> {
        // Before the first step no state exists, except for layers from files, which are read directly.
        let ground = std::iter::once(self.modelled.ground_layer().name);
        let state =
            self.modelled.state_layers().into_iter().filter(|_| !self.is_first).map(|spec| spec.name.to_string());
        ground.chain(state).map(|layer| LayerRead { layer, halo: self.halo }).collect()
    }

    fn output_layers(&self) -> Vec<String> {
        let Some(layers) = &self.ends else { return Vec::new() };
        std::iter::once(TileLayer::Height.name().to_string()).chain(layers.iter().cloned()).collect()
    }

    fn temporary_layers(&self) -> Vec<PassedLayer> {
        if self.ends.is_some() {
            return Vec::new();
        }
        let state = self.modelled.state_layers();
        std::iter::once(self.modelled.ground_layer()).chain(state.iter().map(super::model::passed_layer)).collect()
    }

    fn summary_halo(&self) -> Option<usize> {
        // Tables are in the summaries, so a model with tables needs those of the tiles within its halo.
        (self.has_tables() && !self.is_first).then_some(self.halo)
    }

    fn tile_bytes(&self, tiles: &TileGrid) -> u64 {
        self.modelled.tile_bytes(tiles.tile_size(), self.halo)
    }

    fn run_tile(&self, TileInput { tile, layers, answer, summaries }: TileInput<'_>) -> Result<TileOutput> {
        let known: MapProperties = parse_json("answer of the previous stage", answer)?;
        let around = self.tiles.window_with_halo(tile, self.halo);
        // Run the steps on the tile with its halo, whose outer cells become wrong step by step, and keep the tile
        // alone.
        let mut part = self.modelled.assemble_part(around, &layers, &known, &summaries)?;
        self.modelled.run_steps(&mut part, self.steps.clone())?;
        let window = self.tiles.tile_window(tile);
        let core = self.modelled.cut_tile(&part, window)?;
        let said = StepSummary::from_tile(&core, &known)?;
        let layers = match &self.ends {
            Some(layers) => self.modelled.final_samples(&core, layers),
            None => self.modelled.samples_for_next_stage(&core),
        };
        Ok(TileOutput { layers, summary: said.to_bytes()? })
    }

    fn solve_bytes(&self) -> u64 {
        // One summary at a time, with the tables that it contains; and an answer for each tile.
        self.modelled.tile_bytes(self.tiles.tile_size(), 0) + 2 * MESSAGE * self.tiles.tile_count() as u64
    }

    fn solve(&self, summaries: &dyn Summaries, found: &mut dyn FnMut(Product) -> Result<()>) -> Result<Vec<Vec<u8>>> {
        let known = StepSummary::combine(summaries)?;
        // Stages before the last one only pass the properties of the map on.
        if self.ends.is_none() {
            return Ok(vec![to_json_bytes(&known.known)?; summaries.count()]);
        }
        let (before, after) = (known.before, known.known.solid);
        let cubic = |units: i128| units as f64 / UNITS * self.modelled.grid.cell_area();
        // As text, because 64 bits may not suffice for these integers.
        let words = |units: i128| units.to_string();
        let mass_balance = json!({
            "unit": "1/65536 m over a cell",
            "solid_before": words(before),
            "solid_after": words(after),
            "solid_change": words(after - before),
            "solid_change_m3": cubic(after - before),
        });
        found(Product::Figure("model", self.modelled.model.about().name.into()))?;
        found(Product::Figure("steps", self.modelled.steps.into()))?;
        found(Product::Figure("reach", self.modelled.reach.into()))?;
        found(Product::Figure("mass_balance", mass_balance))?;
        Ok(Vec::new())
    }
}
