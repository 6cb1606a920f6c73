//! [`DrainJob`]: the drainage of an elevation model, from a file of any size into a store.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;
use thalweg::io::atomic;
use thalweg::io::depression_file::DepressionFile;
use thalweg::io::features::ReachFile;
use thalweg::io::lake_file::LakeFile;
use thalweg::io::place::cell_at;
use thalweg::io::{HeightReading, LoadOptions, Samples};
use thalweg::products::lakes;
use thalweg::survey::SurveyOptions;
use thalweg::terrain::grid::{Edges, Grid};
use thalweg::terrain::height::Height;
use thalweg::tiled::layer::NO_HEIGHT;
use thalweg::tiled::{Finding, Product, Step, Summaries, TileLayer, Tiling, drainage};
use thalweg::{Error, Result};

use super::look::{Look, first};
use super::{Layout, read, spec_of, words};
use crate::StoreSpec;
use crate::source::{ElevationFile, print_of, unchanged};
use crate::stage::{Answers, Need, Stage, TileInput, beside};

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
    pub outlets: Vec<[usize; 2]>,
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

    /// Takes outlets at points in the file's own coordinates.
    ///
    /// # Errors
    /// A file that cannot be read, a point outside.
    pub fn let_out_at(&mut self, points: &[[f64; 2]]) -> Result<()> {
        let grid = self.file()?.grid().clone();
        for [x, y] in points {
            let cell = cell_at(&grid, [*x, *y]);
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

    pub(super) fn layout(&self, side: usize) -> Result<Layout> {
        let sea_level = self.sea_level.map(Height::from_metres).transpose()?;
        let grid = Grid { edges: self.edges, sea_level, ..self.file()?.grid().clone() };
        let layers = TileLayer::ALL.into_iter().map(spec_of).collect();
        let spec = StoreSpec {
            georeference: grid.georeference.clone(),
            ..StoreSpec::new(grid.size, side, grid.cell, "", layers)
        };
        Ok(Layout { grid, spec })
    }

    pub(super) fn stages(&self, layout: &Layout) -> Result<Vec<Box<dyn Stage>>> {
        let side = layout.spec.side;
        let tiling = Tiling::new(layout.grid.size, side)?;
        let file = Arc::new(self.file()?);
        let [held, each] = file.memory([side, side]);
        let (threshold, outlets, depressions) = (self.threshold, self.outlets.clone(), self.depressions);
        let options = SurveyOptions { threshold, outlets, depressions, ..SurveyOptions::default() };
        let steps = drainage::steps(&layout.grid, side, &options)?;
        let mut stages: Vec<Box<dyn Stage>> = vec![
            Box::new(Look { files: vec![Arc::clone(&file)], tiling }),
            Box::new(Heights { file, tiling, held, bytes: 40 * (side * side) as u64 + each }),
        ];
        let outlines = !self.no_outlines;
        let drained =
            |step| Box::new(Drained { step, grid: layout.grid.clone(), side, held, outlines }) as Box<dyn Stage>;
        stages.extend(steps.into_iter().map(drained));
        Ok(stages)
    }
}

/// Cells to a lake of rough hills, those of `tests/interop/test_workers.py`: the most lakes of all land that was tried but noise.
const CELLS_A_LAKE: u64 = 23;

/// Bytes that a lake takes there in the table, as an outline, and with the depressions under it.
const LAKE: u64 = 52;
const OUTLINE: u64 = 471;
const TREE: u64 = 250;

/// The second: samples as heights.
struct Heights {
    file: Arc<ElevationFile>,
    tiling: Tiling,
    held: u64,
    bytes: u64,
}

impl Stage for Heights {
    fn name(&self) -> &str {
        TileLayer::Height.name()
    }

    fn writes(&self) -> Vec<String> {
        vec![TileLayer::Height.name().to_string()]
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn tile(&self, tile: usize, given: TileInput<'_>) -> Result<(Vec<Samples>, Vec<u8>)> {
        let readings: Vec<HeightReading> = read("the answer of `look`", given.answer)?;
        let heights = self.file.heights(self.tiling.window(tile), first(&readings)?)?;
        let void = heights.iter().filter(|height| **height == NO_HEIGHT).count() as u64;
        Ok((vec![Samples::I32(heights)], words(&void)?))
    }

    fn solve_bytes(&self) -> u64 {
        self.held
    }

    fn solve(&self, summaries: &dyn Summaries, _: &Path) -> Result<Answers> {
        let mut void = 0;
        for tile in 0..summaries.count() {
            void += read::<u64>("a summary of `height`", &summaries.read(tile)?)?;
        }
        let mut answers = Answers::default();
        answers.found.insert("nodata_cells".into(), void.into());
        Ok(answers)
    }
}

/// A step of the drainage.
struct Drained {
    step: Box<dyn Step>,
    grid: Grid,
    side: usize,
    /// Bytes of the file that are held all the time.
    held: u64,
    /// Whether outlines of lakes are written.
    outlines: bool,
}

/// Bytes a cell that a tile of any step takes.
const BYTES: u64 = 64;

impl Stage for Drained {
    fn name(&self) -> &str {
        self.step.name()
    }

    fn reads(&self) -> Vec<Need> {
        self.step.reads().iter().map(|(layer, halo)| Need { layer: layer.name().to_string(), halo: *halo }).collect()
    }

    fn writes(&self) -> Vec<String> {
        self.step.writes().iter().map(|layer| layer.name().to_string()).collect()
    }

    fn files(&self) -> Vec<&'static str> {
        match self.step.finds() {
            Finding::Streams { .. } => vec![STREAMS],
            Finding::Lakes { .. } if self.outlines => vec![LAKES, LAKE_LINES],
            Finding::Lakes { .. } => vec![LAKES],
            Finding::Depressions => vec![DEPRESSIONS],
            _ => Vec::new(),
        }
    }

    fn bytes(&self) -> u64 {
        BYTES * (self.side * self.side) as u64
    }

    fn tile(&self, tile: usize, given: TileInput<'_>) -> Result<(Vec<Samples>, Vec<u8>)> {
        self.step.tile(tile, given.layers, given.answer)
    }

    fn solve_bytes(&self) -> u64 {
        let listed = match self.step.finds() {
            Finding::Streams { at_most } => REACH_BYTES * at_most,
            _ => 0,
        };
        self.held + self.step.solve_bytes() + listed
    }

    fn solve(&self, summaries: &dyn Summaries, store: &Path) -> Result<Answers> {
        match self.step.finds() {
            Finding::Streams { .. } => self.streams(summaries, store),
            Finding::Lakes { .. } if self.outlines => self.lakes(summaries, store),
            Finding::Lakes { .. } => self.lake_table(summaries, store),
            Finding::Depressions => self.nested(summaries, store),
            _ => {
                let mut answers = Answers::default();
                answers.tiles = self.step.solve(summaries, &mut |product| {
                    if let Product::Basins(count) = product {
                        answers.found.insert("basins".into(), count.into());
                    }
                    Ok(())
                })?;
                Ok(answers)
            }
        }
    }
}

/// The files beside the store.
const STREAMS: &str = "streams.fgb";
const LAKES: &str = "lakes.csv";
const LAKE_LINES: &str = "lakes.geojson";
const DEPRESSIONS: &str = "depressions.csv";

/// Bytes that the writer of lines keeps of each: its place, its bounds, and these once more in the index.
const REACH_BYTES: u64 = 150;

impl Drained {
    /// Writes the channel reaches into a file next to the store as they are found.
    fn streams(&self, summaries: &dyn Summaries, store: &Path) -> Result<Answers> {
        let mut file = ReachFile::new(beside(store, STREAMS), &self.grid)?;
        let (mut count, mut length, mut highest) = (0u32, 0.0, 0);
        let tiles = self.step.solve(summaries, &mut |product| {
            let Product::Reach(reach) = product else { return Ok(()) };
            (count, length, highest) = (count + 1, length + reach.length, highest.max(reach.order));
            file.put(&reach)
        })?;
        file.finish()?;
        let mut answers = Answers { tiles, ..Answers::default() };
        let found = json!({"links": count, "length_m": length, "highest_order": highest});
        answers.found.insert("streams".into(), found);
        Ok(answers)
    }

    /// Writes the table of lakes and their outlines beside the store as they are found.
    fn lakes(&self, summaries: &dyn Summaries, store: &Path) -> Result<Answers> {
        let path = beside(store, LAKE_LINES);
        let mut answers = Answers::default();
        atomic(&path, |lines| {
            let mut lines = LakeFile::new(lines, &path, &self.grid)?;
            answers = self.lake_rows(summaries, store, |product| match product {
                Product::Lake(lake) => lines.lake(lake),
                Product::Shore { begins, points } => lines.shore(*begins, points),
                _ => Ok(()),
            })?;
            lines.finish()
        })?;
        Ok(answers)
    }

    /// Writes the table of lakes alone.
    fn lake_table(&self, summaries: &dyn Summaries, store: &Path) -> Result<Answers> {
        self.lake_rows(summaries, store, |_| Ok(()))
    }

    /// Writes the table of lakes beside the store as they are found; `also` is told of all that is found.
    fn lake_rows(
        &self,
        summaries: &dyn Summaries,
        store: &Path,
        mut also: impl FnMut(&Product) -> Result<()>,
    ) -> Result<Answers> {
        let path = beside(store, LAKES);
        let (mut count, mut answers) = (0u64, Answers::default());
        atomic(&path, |table| {
            let mut put = |line: &str| table.write_all(line.as_bytes()).map_err(Error::io(&path, "write"));
            put(lakes::COLUMNS)?;
            answers.tiles = self.step.solve(summaries, &mut |product| {
                if let Product::Lake(lake) = &product {
                    count += 1;
                    put(&lakes::csv_line(lake))?;
                }
                also(&product)
            })?;
            Ok(())
        })?;
        answers.found.insert("lakes".into(), count.into());
        Ok(answers)
    }

    /// Writes the table of depressions beside the store as they are found.
    fn nested(&self, summaries: &dyn Summaries, store: &Path) -> Result<Answers> {
        let path = beside(store, DEPRESSIONS);
        let (mut count, mut answers) = (0u64, Answers::default());
        atomic(&path, |table| {
            let mut table = DepressionFile::new(table, &path, &self.grid)?;
            answers.tiles = self.step.solve(summaries, &mut |product| match product {
                Product::Depression(one) => {
                    count += 1;
                    table.put(&one)
                }
                _ => Ok(()),
            })?;
            table.finish()
        })?;
        answers.found.insert("depressions".into(), count.into());
        Ok(answers)
    }
}
