//! [`DrainJob`]: computes the drainage of an elevation file of any size, into a store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thalweg_core::terrain::TileGrid;
use thalweg_core::terrain::grid::Edges;
use thalweg_core::{Cell, Error, Grid, Height, MapPoint, Result};
use thalweg_export::survey::SurveyOptions;
use thalweg_io::place::cell_at;
use thalweg_io::{HeightReading, LoadOptions, Samples};
use thalweg_tiled::layer::NO_HEIGHT;
use thalweg_tiled::{Product, Summaries, TileInput, TileLayer, TileOutput, TilePass, drainage};

use super::look::{Look, first};
use super::{JobSetup, read, spec_of, words};
use crate::StoreSpec;
use crate::products::ProductWriter;
use crate::source::{ElevationFile, print_of, unchanged};

/// The drainage of an elevation model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
    /// The drainage area in m² from which on a cell belongs to a stream; `None` for the default of
    /// [`SurveyOptions::threshold`].
    pub threshold: Option<f64>,
    /// The cells (row, column) at which water leaves the map.
    pub outlets: Vec<Cell>,
    /// True if the table of depressions is written.
    #[serde(default, skip_serializing_if = "is_not")]
    pub depressions: bool,
    /// True if the outlines of lakes are left out.
    #[serde(default, skip_serializing_if = "is_not")]
    pub no_outlines: bool,
}

/// Options that are off are not serialized, so that the hash of a plan is the same as before the option existed.
fn is_not(asked: &bool) -> bool {
    !*asked
}

impl DrainJob {
    /// Makes the job for a file, with open sides and no sea.
    ///
    /// # Errors
    /// Returns an error if the file does not exist.
    pub fn of(source: &Path, load: LoadOptions) -> Result<Self> {
        let source = std::path::absolute(source).map_err(Error::io(source, "find the place of"))?;
        let source_print = print_of(&source)?;
        Ok(Self { source, source_print, load, ..Self::default() })
    }

    /// Adds outlets in the cells of points that are given in the file's map coordinates.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or a point is outside it.
    pub fn let_out_at(&mut self, points: &[MapPoint]) -> Result<()> {
        let grid = self.file()?.grid().clone();
        for point in points {
            let (MapPoint { x, y }, cell) = (point, cell_at(&grid, *point));
            let allowed = "a point inside the file, in its coordinates";
            self.outlets.push(cell.ok_or_else(|| Error::value("outlet", format!("{x},{y}"), allowed))?);
        }
        Ok(())
    }

    fn file(&self) -> Result<ElevationFile> {
        unchanged(&self.source, self.source_print)?;
        ElevationFile::open(&self.source, &self.load)
    }

    pub(super) fn warnings(&self) -> Result<Vec<String>> {
        Ok(self.file()?.warnings().to_vec())
    }

    /// Estimates the disk space of the table of lakes, their outlines and the depression tree in bytes, with as many
    /// lakes as rough hills have.
    pub(super) fn beside_bytes(&self, size: [usize; 2]) -> u64 {
        let cells = size.map(|n| n as u64).into_iter().fold(1, u64::saturating_mul);
        let outlines = if self.no_outlines { 0 } else { OUTLINE };
        let tree = if self.depressions { TREE } else { 0 };
        (cells / CELLS_A_LAKE).saturating_mul(LAKE + outlines + tree)
    }

    pub(super) fn set_up(&self, side: usize) -> Result<JobSetup> {
        let sea_level = self.sea_level.map(Height::from_metres).transpose()?;
        let file = Arc::new(self.file()?);
        let grid = Grid { edges: self.edges, sea_level, ..file.grid().clone() };
        let layers = TileLayer::ALL.into_iter().map(spec_of).collect();
        let spec = StoreSpec {
            georeference: grid.georeference.clone(),
            ..StoreSpec::new(grid.size, side, grid.cell, "", layers)
        };
        let (side, tiles) = (spec.side, spec.tile_grid()?);
        let [held_bytes, each] = file.memory([side, side]);
        let (threshold, outlets, depressions) = (self.threshold, self.outlets.clone(), self.depressions);
        let options = SurveyOptions { threshold, outlets, depressions, ..SurveyOptions::default() };
        let mut passes: Vec<Box<dyn TilePass>> =
            vec![Box::new(Look { files: vec![Arc::clone(&file)], tiles }), Box::new(Heights { file, tiles, each })];
        passes.extend(drainage::tile_passes(&grid, side, &options)?);
        let products = ProductWriter { grid, has_outlines: !self.no_outlines };
        let held_bytes = vec![held_bytes; passes.len()];
        Ok(JobSetup { products, spec, passes, held_bytes })
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

    fn writes(&self) -> Vec<String> {
        vec![TileLayer::Height.name().to_string()]
    }

    fn tile_bytes(&self, tiles: &TileGrid) -> u64 {
        40 * (tiles.tile_size() * tiles.tile_size()) as u64 + self.each
    }

    fn run_tile(&self, TileInput { tile, answer, .. }: TileInput<'_>) -> Result<TileOutput> {
        let readings: Vec<HeightReading> = read("the answer of `look`", answer)?;
        let heights = self.file.heights(self.tiles.window(tile), first(&readings)?)?;
        let void = heights.iter().filter(|height| **height == NO_HEIGHT).count() as u64;
        Ok(TileOutput { layers: vec![Samples::I32(heights)], summary: words(&void)? })
    }

    fn solve(&self, summaries: &dyn Summaries, found: &mut dyn FnMut(Product) -> Result<()>) -> Result<Vec<Vec<u8>>> {
        let mut void = 0;
        for tile in 0..summaries.count() {
            void += read::<u64>("a summary of `height`", &summaries.read(tile)?)?;
        }
        found(Product::Figure("nodata_cells", void.into()))?;
        Ok(Vec::new())
    }
}
