//! [`DrainJob`]: the drainage of an elevation model, from a file of any size into a store.

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
    /// The file.
    pub source: PathBuf,
    /// A hash of its length and of when it was changed last: one that was changed since is refused.
    pub source_print: u64,
    /// What the file does not say.
    pub load: LoadOptions,
    /// What happens at its sides.
    pub edges: Edges,
    /// Below it there is sea, in metres.
    pub sea_level: Option<f64>,
    /// Catchment in m² from which on there is a stream; `None` as [`SurveyOptions::threshold`].
    pub threshold: Option<f64>,
    /// Cells (row, column) where water leaves.
    pub outlets: Vec<Cell>,
    /// Whether the table of depressions is written.
    #[serde(default, skip_serializing_if = "is_not")]
    pub depressions: bool,
    /// Whether the outlines of lakes are left out.
    #[serde(default, skip_serializing_if = "is_not")]
    pub no_outlines: bool,
}

/// What is not asked for is not written, so that a plan stays what it was before it could be asked for.
fn is_not(asked: &bool) -> bool {
    !*asked
}

impl DrainJob {
    /// The job on a file, with open sides and no sea.
    ///
    /// # Errors
    /// A file that is not there.
    pub fn of(source: &Path, load: LoadOptions) -> Result<Self> {
        let source = std::path::absolute(source).map_err(Error::io(source, "find the place of"))?;
        let source_print = print_of(&source)?;
        Ok(Self { source, source_print, load, ..Self::default() })
    }

    /// Adds outlets in the cells of points that are given in the file's map coordinates.
    ///
    /// # Errors
    /// A file that cannot be read, a point outside.
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

    /// Of the table of lakes, their outlines and the tree of depressions, so many lakes as rough hills have.
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

/// Cells to a lake of rough hills, those of `tests/interop/test_workers.py`: the most lakes of all land that was tried
/// but noise.
const CELLS_A_LAKE: u64 = 23;

/// Bytes that a lake takes there in the table, as an outline, and with the depressions under it.
const LAKE: u64 = 52;
const OUTLINE: u64 = 471;
const TREE: u64 = 250;

/// The second pass: samples as heights.
struct Heights {
    file: Arc<ElevationFile>,
    tiles: TileGrid,
    /// Bytes that reading a tile takes.
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
