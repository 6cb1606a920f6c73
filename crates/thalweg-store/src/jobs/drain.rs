//! [`DrainJob`]: the drainage of an elevation model, from a file of any size into a store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thalweg::io::features::save_links;
use thalweg::io::place::cell_at;
use thalweg::io::{HeightReading, LoadOptions, SampleLook, Samples};
use thalweg::survey::SurveyOptions;
use thalweg::terrain::grid::{Edges, Grid};
use thalweg::terrain::height::Height;
use thalweg::tiled::layer::NO_HEIGHT;
use thalweg::tiled::{Product, Step, TileLayer, Tiling, drainage};
use thalweg::{Error, Result};

use super::{Layout, spec_of};
use crate::StoreSpec;
use crate::source::ElevationFile;
use crate::stage::{Answers, Need, Stage, beside};

/// The drainage of an elevation model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrainJob {
    /// The file.
    pub source: PathBuf,
    /// Its length in bytes: another file of its name is refused.
    pub source_bytes: u64,
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
}

impl DrainJob {
    /// The job on a file, with open sides and no sea.
    ///
    /// # Errors
    /// A file that is not there.
    pub fn of(source: &Path, load: LoadOptions) -> Result<Self> {
        let source = std::path::absolute(source).map_err(Error::io(source, "find the place of"))?;
        let source_bytes = length(&source)?;
        Ok(Self { source, source_bytes, load, ..Self::default() })
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
        let bytes = length(&self.source)?;
        if bytes != self.source_bytes {
            let problem = format!("has {bytes} bytes; when the work was planned it had {}", self.source_bytes);
            return Err(Error::file(&self.source, problem));
        }
        ElevationFile::open(&self.source, &self.load)
    }

    pub(super) fn warnings(&self) -> Result<Vec<String>> {
        Ok(self.file()?.warnings().to_vec())
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
        let options =
            SurveyOptions { threshold: self.threshold, outlets: self.outlets.clone(), ..SurveyOptions::default() };
        let steps = drainage::steps(&layout.grid, side, &options)?;
        let mut stages: Vec<Box<dyn Stage>> = vec![
            Box::new(Looked { file: Arc::clone(&file), tiling }),
            Box::new(Heights { file, tiling, bytes: 40 * (side * side) as u64 }),
        ];
        let drained = |step| Box::new(Drained { step, grid: layout.grid.clone(), side }) as Box<dyn Stage>;
        stages.extend(steps.into_iter().map(drained));
        Ok(stages)
    }
}

fn length(path: &Path) -> Result<u64> {
    std::fs::metadata(path).map(|about| about.len()).map_err(Error::io(path, "read"))
}

/// The first pass: what stands for no data is known only when all samples were looked at.
struct Looked {
    file: Arc<ElevationFile>,
    tiling: Tiling,
}

impl Stage for Looked {
    fn name(&self) -> &str {
        "look"
    }

    fn reads(&self) -> Vec<Need> {
        Vec::new()
    }

    fn writes(&self) -> Vec<String> {
        Vec::new()
    }

    fn bytes(&self) -> u64 {
        16 * (self.tiling.side() * self.tiling.side()) as u64
    }

    fn tile(&self, tile: usize, _: Vec<Samples>, _: &[u8]) -> Result<(Vec<Samples>, Vec<u8>)> {
        let look = self.file.look(self.tiling.window(tile))?;
        Ok((Vec::new(), words(&look)?))
    }

    fn solve(&self, summaries: Vec<Vec<u8>>, _: &Path) -> Result<Answers> {
        let mut whole = SampleLook::default();
        for summary in &summaries {
            whole = whole.merge(read("a summary of `look`", summary)?);
        }
        let (reading, warnings) =
            self.file.reading().clone().settle(&whole).map_err(|problem| self.file.refuse(problem))?;
        let mut answers = Answers { tiles: vec![words(&reading)?; self.tiling.count()], ..Answers::default() };
        answers.found.insert("cells".into(), whole.cells.into());
        answers.found.insert("warnings".into(), json!(warnings));
        if !self.file.overridden().is_empty() {
            answers.found.insert("units_overridden".into(), json!(self.file.overridden()));
        }
        Ok(answers)
    }
}

/// The second: samples as heights.
struct Heights {
    file: Arc<ElevationFile>,
    tiling: Tiling,
    bytes: u64,
}

impl Stage for Heights {
    fn name(&self) -> &str {
        TileLayer::Height.name()
    }

    fn reads(&self) -> Vec<Need> {
        Vec::new()
    }

    fn writes(&self) -> Vec<String> {
        vec![TileLayer::Height.name().to_string()]
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn tile(&self, tile: usize, _: Vec<Samples>, answer: &[u8]) -> Result<(Vec<Samples>, Vec<u8>)> {
        let reading: HeightReading = read("the answer of `look`", answer)?;
        let heights = self.file.heights(self.tiling.window(tile), &reading)?;
        let void = heights.iter().filter(|height| **height == NO_HEIGHT).count() as u64;
        Ok((vec![Samples::I32(heights)], words(&void)?))
    }

    fn solve(&self, summaries: Vec<Vec<u8>>, _: &Path) -> Result<Answers> {
        let mut void = 0;
        for summary in &summaries {
            void += read::<u64>("a summary of `height`", summary)?;
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

    fn bytes(&self) -> u64 {
        BYTES * (self.side * self.side) as u64
    }

    fn tile(&self, tile: usize, inputs: Vec<Samples>, answer: &[u8]) -> Result<(Vec<Samples>, Vec<u8>)> {
        self.step.tile(tile, inputs, answer)
    }

    fn solve(&self, summaries: Vec<Vec<u8>>, store: &Path) -> Result<Answers> {
        let solved = self.step.solve(summaries)?;
        let mut answers = Answers { tiles: solved.answers, ..Answers::default() };
        let mut tell = |name: &str, value: Value| answers.found.insert(name.to_string(), value);
        match solved.product {
            Some(Product::Basins(count)) => {
                tell("basins", count.into());
            }
            Some(Product::Lakes(lakes)) => {
                tell("lakes", lakes.len().into());
            }
            Some(Product::Streams(streams)) => {
                let links = streams.iter().enumerate().map(|(id, path)| path.link(id as u32, self.grid.cell));
                let links: Vec<_> = links.collect();
                save_links(beside(store, "streams.fgb"), &links, &self.grid)?;
                let length: f64 = links.iter().map(|link| link.length).sum();
                let highest = links.iter().map(|link| link.order).max().unwrap_or(0);
                tell("streams", json!({"links": links.len(), "length_m": length, "highest_order": highest}));
            }
            _ => {}
        }
        Ok(answers)
    }
}

/// A small message as JSON.
fn words(value: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|error| Error::value("a message", error.to_string(), "what JSON can say"))
}

fn read<T: for<'a> Deserialize<'a>>(what: &str, bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| Error::value(what, error.to_string(), "what this stage wrote"))
}
