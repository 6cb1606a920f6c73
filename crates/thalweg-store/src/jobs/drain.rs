//! [`DrainJob`]: computes the drainage of an elevation file of any size, into a store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::Error as _;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};
use thalweg_core::declare::operation::{Operation as _, OptionKind, WorkForm, options_for};
use thalweg_core::declare::schema::stored_option_schema;
use thalweg_core::terrain::TileGrid;
use thalweg_core::terrain::grid::Edges;
use thalweg_core::{Error, Grid, Height, Result};
use thalweg_export::survey::DrainOptions;
use thalweg_io::{HeightReading, LoadOptions, Samples};
use thalweg_tiled::layer::NO_HEIGHT;
use thalweg_tiled::{Product, Summaries, TileInput, TileLayer, TileOutput, TilePass, drainage};

use super::nodata_scan::{ExaminePass, first_reading};
use super::{JobSetup, parse_json, stored_layer_spec, to_json_bytes};
use crate::StoreSpec;
use crate::products::ProductWriter;
use crate::source::{ElevationFile, check_unchanged, fingerprint_source};

/// The drainage of an elevation model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DrainJob {
    /// The path of the elevation model.
    pub source: PathBuf,
    /// The fingerprint of the source, from its length and modification time: a source that has changed since is
    /// refused.
    pub source_print: u64,
    /// Options for properties that the file does not state.
    pub load: LoadOptions,
    /// The boundary condition of each side of the map.
    pub edges: Edges,
    /// The sea level in metres; `None` without a sea.
    pub sea_level: Option<f64>,
    /// The options of the operation; those that do not apply to a store have their defaults.
    pub options: DrainOptions,
}

impl DrainJob {
    /// Makes the job for a file, with open sides and no sea.
    ///
    /// # Errors
    /// Returns an error if an option does not apply to a store, if the file does not exist, or if outlets are given as
    /// points and the file cannot be read or does not contain one of them.
    pub fn new(source: &Path, load: LoadOptions, options: DrainOptions) -> Result<Self> {
        options.check_form(WorkForm::Store, |option| option.name.to_string())?;
        let source = std::path::absolute(source).map_err(Error::io(source, "resolve the path"))?;
        let source_print = fingerprint_source(&source)?;
        let mut job = Self { source, source_print, load, options, ..Self::default() };
        if !job.options.outlets_at.is_empty() {
            // A plan names cells, so that its parts need not agree on the file's transform.
            job.options.outlets = job.options.outlet_cells(job.open_source()?.grid())?;
            job.options.outlets_at.clear();
        }
        Ok(job)
    }

    fn open_source(&self) -> Result<ElevationFile> {
        // The plan describes the source as it was; tiles of two versions must not be mixed.
        check_unchanged(&self.source, self.source_print)?;
        ElevationFile::open(&self.source, &self.load)
    }

    pub(super) fn warnings(&self) -> Result<Vec<String>> {
        Ok(self.open_source()?.warnings().to_vec())
    }

    /// Estimates the disk space of the table of lakes, their outlines and the depression tree in bytes, with as many
    /// lakes as rough hills have.
    pub(super) fn sidecar_bytes(&self, size: [usize; 2]) -> u64 {
        let cells = size.map(|n| n as u64).into_iter().fold(1, u64::saturating_mul);
        let outlines = if self.options.skip_lake_outlines { 0 } else { OUTLINE };
        let tree = if self.options.depressions { TREE } else { 0 };
        (cells / CELLS_A_LAKE).saturating_mul(LAKE + outlines + tree)
    }

    pub(super) fn set_up(&self, side: usize) -> Result<JobSetup> {
        let sea_level = self.sea_level.map(Height::from_metres).transpose()?;
        let file = Arc::new(self.open_source()?);
        let grid = Grid { edges: self.edges, sea_level, ..file.grid().clone() };
        let layers = TileLayer::ALL.into_iter().map(stored_layer_spec).collect();
        let spec = StoreSpec {
            georeference: grid.georeference.clone(),
            ..StoreSpec::new(grid.size, side, grid.cell, "", layers)
        };
        let (side, tiles) = (spec.side, spec.tile_grid()?);
        // The passes read the file tile by tile, without a halo.
        let [held_bytes, each] = file.memory([side, side]);
        let mut passes: Vec<Box<dyn TilePass>> = vec![
            Box::new(ExaminePass { files: vec![Arc::clone(&file)], tiles }),
            Box::new(Heights { file, tiles, each }),
        ];
        passes.extend(drainage::tile_passes(&grid, side, &self.options)?);
        let products = ProductWriter { grid, has_outlines: !self.options.skip_lake_outlines };
        let held_bytes = vec![held_bytes; passes.len()];
        Ok(JobSetup { products, spec, passes, held_bytes })
    }
}

/// The options that a plan always contains. The others are left out where they have their default, so that the hash of
/// a plan is the same as before such an option existed; they have the name under which they were introduced.
pub(crate) const REQUIRED_OPTIONS: [&str; 2] = ["threshold", "outlets"];

/// Returns the JSON Schemas of the options that a plan may contain, by the names under which it contains them. A plan
/// has no outlets as points, because [`DrainJob::new`] converts them to cells.
pub(crate) fn stored_option_schemas() -> Vec<(&'static str, Value)> {
    let mut options = options_for(&DrainOptions::default(), WorkForm::Store);
    options.retain(|option| option.name != "outlets_at");
    let schemas = options.iter().map(|option| {
        let mut schema = stored_option_schema(option);
        // A switch that has its default is left out.
        if let (OptionKind::Switch, Some(usual)) = (option.kind, option.default.as_bool()) {
            schema = json!({"const": !usual, "description": schema["description"]});
        }
        (option.alias.unwrap_or(option.name), schema)
    });
    schemas.collect()
}

impl Serialize for DrainJob {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("source", &self.source)?;
        map.serialize_entry("source_print", &self.source_print)?;
        map.serialize_entry("load", &self.load)?;
        map.serialize_entry("edges", &self.edges)?;
        map.serialize_entry("sea_level", &self.sea_level)?;
        for name in REQUIRED_OPTIONS {
            map.serialize_entry(name, &self.options.get(name))?;
        }
        for (option, value) in
            self.options.changed_options().iter().filter(|(option, _)| !REQUIRED_OPTIONS.contains(&option.name))
        {
            map.serialize_entry(option.alias.unwrap_or(option.name), value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for DrainJob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Stored {
            source: PathBuf,
            source_print: u64,
            load: LoadOptions,
            edges: Edges,
            sea_level: Option<f64>,
            threshold: Value,
            outlets: Value,
            #[serde(flatten)]
            options: Map<String, Value>,
        }
        // The fields that every plan has are named; all others are options by their names or aliases.
        let Stored { source, source_print, load, edges, sea_level, threshold, outlets, options: stored } =
            Stored::deserialize(deserializer)?;
        let mut options = DrainOptions::default();
        for (name, value) in [("threshold", &threshold), ("outlets", &outlets)] {
            options.set(name, value).map_err(D::Error::custom)?;
        }
        options.set_all(&stored).map_err(D::Error::custom)?;
        Ok(Self { source, source_print, load, edges, sea_level, options })
    }
}

/// The number of cells per lake on rough hills, those of `tests/interop/test_workers.py`: they had the most lakes of
/// all terrains that were tried, apart from noise.
const CELLS_A_LAKE: u64 = 23;

/// The size in bytes of one lake of that terrain: in the table, as an outline, and with its depressions in the tree.
const LAKE: u64 = 52;
const OUTLINE: u64 = 471;
const TREE: u64 = 250;

/// The second pass: converts samples to heights.
struct Heights {
    file: Arc<ElevationFile>,
    tiles: TileGrid,
    /// The memory that reading a tile takes, in bytes.
    each: u64,
}

impl TilePass for Heights {
    fn name(&self) -> &str {
        TileLayer::Height.name()
    }

    fn output_layers(&self) -> Vec<String> {
        vec![TileLayer::Height.name().to_string()]
    }

    fn tile_bytes(&self, tiles: &TileGrid) -> u64 {
        40 * (tiles.tile_size() * tiles.tile_size()) as u64 + self.each
    }

    fn run_tile(&self, TileInput { tile, answer, .. }: TileInput<'_>) -> Result<TileOutput> {
        let readings: Vec<HeightReading> = parse_json("answer of `look`", answer)?;
        let heights = self.file.read_heights(self.tiles.tile_window(tile), first_reading(&readings)?)?;
        let void = heights.iter().filter(|height| **height == NO_HEIGHT).count() as u64;
        Ok(TileOutput { layers: vec![Samples::I32(heights)], summary: to_json_bytes(&void)? })
    }

    fn solve(&self, summaries: &dyn Summaries, found: &mut dyn FnMut(Product) -> Result<()>) -> Result<Vec<Vec<u8>>> {
        let mut void = 0;
        for tile in 0..summaries.count() {
            void += parse_json::<u64>("a summary of `height`", &summaries.read(tile)?)?;
        }
        found(Product::Figure("nodata_cells", void.into()))?;
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::Cell;

    #[test]
    fn a_job_is_written_as_before_its_options_were_declared() {
        let job = DrainJob { source: "/a.tif".into(), source_print: 7, ..DrainJob::default() };
        let plain = concat!(
            r#"{"source":"/a.tif","source_print":7,"load":{"height":null,"cell_size":null,"nodata":[],"#,
            r#""only_declared_nodata":false,"infinite_is_nodata":false,"#,
            r#""deterrace":false,"unit":null,"raw_cells":null,"byte_order":null},"#,
            r#""edges":["open","open","open","open"],"sea_level":null,"#,
            r#""threshold":null,"outlets":[]}"#
        );
        assert_eq!(serde_json::to_string(&job).unwrap(), plain);
        let options = DrainOptions {
            threshold: Some(250_000.0),
            outlets: vec![Cell::new(3, 4)],
            depressions: true,
            skip_lake_outlines: true,
            ..DrainOptions::default()
        };
        let job = DrainJob { options, sea_level: Some(1.5), ..job };
        let full = plain.replace(r#""sea_level":null"#, r#""sea_level":1.5"#).replace(
            r#""threshold":null,"outlets":[]}"#,
            r#""threshold":250000.0,"outlets":[[3,4]],"depressions":true,"no_outlines":true}"#,
        );
        assert_eq!(serde_json::to_string(&job).unwrap(), full);
        assert_eq!(serde_json::from_str::<DrainJob>(&full).unwrap(), job);
        for (wrong, word) in [
            (full.replace("depressions", "depresions"), "depresions"),
            (full.replace(r#""outlets":[[3,4]],"#, ""), "outlets"),
            (full.replace("250000.0", "-1"), "threshold"),
        ] {
            let error = serde_json::from_str::<DrainJob>(&wrong).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
