//! Cropping and resampling of elevation files by windows, for sources larger than memory.

use std::ops::Range;
use std::path::Path;

use serde_json::json;
use thalweg_core::base::memory;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{CellRect, Error, Field, Grid, Height, Result, Size};
use thalweg_io::{HeightReading, Overviews, RasterHead, SampleType, Samples, save_place, write_cog};
use thalweg_render::products::resample::{Resampling, cropped_grid};
use thalweg_tiled::TileLayer;
use thalweg_tiled::layer::NO_HEIGHT;
use xxhash_rust::xxh3::xxh3_128;

use crate::source::{ElevationFile, ROWS_PER_SCAN, fingerprint_source};
use crate::store::Store;
use crate::{Access, StoreSpec, StoredLayer};

/// The change to a map's cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reshape {
    /// A window of the map, the same as [`thalweg_render::products::resample::crop_terrain`] cuts.
    Crop(CellRect),
    /// The given numbers of rows and columns over the same extent, the same as
    /// [`thalweg_render::products::resample::resample_terrain`] makes.
    Resample(Size),
}

/// The number of rows of the result that are computed at once: those of a COG's tiles.
const ROWS: usize = 512;

/// A map that is being cropped or resampled.
pub struct Reshaped<'a> {
    file: &'a ElevationFile,
    reading: HeightReading,
    method: ReshapeMethod,
    grid: Grid,
    warnings: Vec<String>,
}

enum ReshapeMethod {
    Crop(CellRect),
    Resample(Box<Resampling>),
}

impl<'a> Reshaped<'a> {
    /// Prepares the change. This examines the whole source, because the values that stand for no data are known only
    /// then.
    ///
    /// # Errors
    /// Returns an error if the window or size is invalid, or if the source cannot be read.
    pub fn from_file(file: &'a ElevationFile, how: Reshape) -> Result<Self> {
        let source = file.grid();
        file.check_square("a change of the cells")?;
        let (method, grid) = match how {
            Reshape::Crop(window) => (ReshapeMethod::Crop(window), cropped_grid(source, window)?),
            Reshape::Resample(size) => {
                let resampling = Resampling::new(source, size)?;
                let grid = resampling.grid().clone();
                (ReshapeMethod::Resample(Box::new(resampling)), grid)
            }
        };
        // Bands contain whole rows of the source or of the result, whichever are longer.
        let wide = (source.cols() as u64).max(grid.cols() as u64);
        memory::check_memory("a band of the map", wide.saturating_mul(24 * (ROWS as u64 + ROWS_PER_SCAN as u64)))?;
        let (reading, warnings) = file.determine_reading()?;
        Ok(Self { file, reading, method, grid, warnings })
    }

    /// The grid of the new cells.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The warnings about the source.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Computes the heights of new rows, in fixed-point units; [`NO_HEIGHT`] where there is no data.
    fn compute_rows(&self, rows: Range<usize>) -> Result<Vec<i32>> {
        let resampling = match &self.method {
            ReshapeMethod::Crop(crop) => {
                let window = CellRect::new([crop.start.row + rows.start, crop.start.col], [rows.len(), crop.cols()]);
                return self.file.read_heights(window, &self.reading);
            }
            ReshapeMethod::Resample(resampling) => resampling,
        };
        let cols = self.file.grid().cols();
        let mut out = Vec::with_capacity(rows.len() * self.grid.cols());
        // If the result has fewer rows than the source, few of its rows need many of the source's. The rows are
        // therefore split so that at most `ROWS` source rows, or those of a single new row, are in memory at once.
        let mut first = rows.start;
        while first < rows.end {
            let fits = |last: usize| {
                resampling.needed_rows(first..last).len() <= ROWS.max(resampling.needed_rows(first..first + 1).len())
            };
            let last = (first + 1..=rows.end).take_while(|last| fits(*last)).last().unwrap_or(first + 1);
            let needs = resampling.needed_rows(first..last);
            let size = [needs.len(), cols];
            let heights = self.file.read_heights(CellRect::new([needs.start, 0], size), &self.reading)?;
            let void = heights.iter().map(|height| *height == NO_HEIGHT).collect();
            let ground = Field::from_vec(size, heights.into_iter().map(Height).collect())?;
            let (ground, void) = resampling.resample_rows(first..last, &ground, Some(&Field::from_vec(size, void)?))?;
            let cells = ground.as_slice().iter().enumerate();
            let is_void = |k: usize| void.as_ref().is_some_and(|void| void.as_slice()[k]);
            out.extend(cells.map(|(k, height)| if is_void(k) { NO_HEIGHT } else { height.0 }));
            first = last;
        }
        Ok(out)
    }

    /// Returns the lowest and the highest height in metres.
    fn height_range(&self) -> Result<[f64; 2]> {
        let mut range: Option<[i32; 2]> = None;
        for first in (0..self.grid.rows()).step_by(ROWS) {
            let heights = self.compute_rows(first..(first + ROWS).min(self.grid.rows()))?;
            for height in heights.into_iter().filter(|height| *height != NO_HEIGHT) {
                range = Some(range.map_or([height; 2], |[low, high]| [low.min(height), high.max(height)]));
            }
        }
        let range = range.ok_or_else(|| self.file.file_error("has no data in the requested cells".to_string()))?;
        Ok(range.map(|units| f64::from(units) / UNITS))
    }

    /// Writes the map as a COG in metres, with the same samples as [`thalweg_io::save_terrain`]. It needs the memory of
    /// only a few hundred rows.
    ///
    /// # Errors
    /// Returns an error if the sample type is neither f32 nor f64, or if a file cannot be read or written.
    pub fn save_cog(&self, path: &Path, sample: SampleType) -> Result<()> {
        if !matches!(sample, SampleType::F32 | SampleType::F64) {
            return Err(Error::invalid_value(
                "sample type",
                sample,
                "f32 or f64, because the map is processed in parts",
            ));
        }
        // The header names the value for no data, which must differ from all heights, so the whole map is computed once
        // before it is written.
        let nodata = choose_nodata(self.height_range()?, self.reading.nodata());
        let head = RasterHead {
            nodata: Some(nodata),
            georeference: Some(save_place(&self.grid)),
            ..RasterHead::new(self.grid.size, sample)
        };
        write_cog(path, &head, Overviews::Means, |window: CellRect| {
            let rows = self.compute_rows(window.start[0]..window.start[0] + window.size()[0])?;
            let metres =
                rows.into_iter().map(|units| if units == NO_HEIGHT { nodata } else { f64::from(units) / UNITS });
            Ok(match sample {
                SampleType::F64 => Samples::F64(metres.collect()),
                _ => Samples::F32(metres.map(|metres| metres as f32).collect()),
            })
        })
    }

    /// Writes the map into a store, in tiles of about `side` cells. Finished tiles of the same work are kept.
    ///
    /// # Errors
    /// Returns an error if the folder holds a store of other work, or if a file cannot be read or written.
    pub fn save_store(&self, path: &Path, source: &Path, side: usize) -> Result<()> {
        let layer = TileLayer::Height;
        let about = StoredLayer {
            scale: layer.scale(),
            unit: layer.unit().to_string(),
            description: layer.about().to_string(),
            ..StoredLayer::new(layer.name(), layer.kind(), layer.fill_value())
        };
        let what = match &self.method {
            ReshapeMethod::Crop(crop) => json!({"crop": [<[usize; 2]>::from(crop.start), crop.size()]}),
            ReshapeMethod::Resample(_) => json!({"resample": self.grid.size}),
        };
        // The hash of everything that the cells depend on identifies the work, so that a run can be resumed but not
        // mixed with another one.
        let work = json!({"source": fingerprint_source(source)?, "reading": self.reading, "work": what}).to_string();
        let recipe = format!("{:032x}", xxh3_128(work.as_bytes()));
        let spec = StoreSpec {
            georeference: Some(save_place(&self.grid)),
            ..StoreSpec::new(self.grid.size, side, self.grid.cell, &recipe, vec![about])
        };
        let store = Store::create(path, spec, Access::Alone)?;
        let across = store.spec().tile_grid()?.tiles_per_axis()[1];
        let todo = store.unfinished_tiles(layer.name())?;
        // Tiles of one row share their source rows, so a band is computed once for all that are missing.
        for tiles in todo.chunk_by(|a, b| a / across == b / across) {
            let Some(first) = tiles.first() else { continue };
            let window = store.spec().tile_window(*first)?;
            let (start, size) = (window.start, window.size());
            let size = [size[0], self.grid.cols()];
            let band = Samples::I32(self.compute_rows(start[0]..start[0] + size[0])?);
            for tile in tiles {
                let window = store.spec().tile_window(*tile)?;
                let own = CellRect::new([0, window.start[1]], window.size());
                store.write_tile(layer.name(), *tile, &band.copy_window(size, own)?)?;
            }
        }
        Ok(())
    }
}

/// Chooses the value for no data: the source's own, unless an actual height has it.
fn choose_nodata([low, high]: [f64; 2], asked: Option<f64>) -> f64 {
    let taken = |value: f64| (low..=high).contains(&value);
    // A value such as the one that stands for no data in fixed point is of no use in a file in metres, so only values
    // below 1e6 or above 1e30 are accepted.
    let asked = asked.filter(|value| !taken(*value) && (value.abs() < 1e6 || value.abs() > 1e30));
    asked.unwrap_or(if taken(-9999.0) { -32_768.0 } else { -9999.0 })
}
