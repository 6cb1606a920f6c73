//! Rasters that are shaded, measured and summarised row by row, for sources larger than memory.

use std::ops::Range;

use thalweg_core::{CellRect, Field, Grid, Height, Result, Terrain};
use thalweg_io::HeightReading;
use thalweg_io::facts::Facts;
use thalweg_render::pictures::bands::ShadedMap;
use thalweg_render::pictures::shade::ShadeOptions;
use thalweg_render::products::measure::{MeasureOptions, Measures, measure_bytes, measure_rows};
use thalweg_tiled::layer::NO_HEIGHT;

use crate::source::{ElevationFile, ROWS_PER_SCAN};

/// The memory of an idle process and of the threads' stacks and decoding buffers, in bytes.
const PROCESS: u64 = 56 << 20;

/// The memory per sample during its conversion to a height, in bytes: the sample as stored in the file, its mask, and
/// the height.
const SAMPLE: u64 = 20;

/// A raster that is read by rows, as elevations.
pub struct MapRows<'a> {
    file: &'a ElevationFile,
    reading: HeightReading,
    warnings: Vec<String>,
    grid: Grid,
}

/// A summary of a map in a few numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MapSummary {
    /// The lowest and the highest elevation; `None` if no cell has data.
    pub range: Option<[Height; 2]>,
    /// The sum of all elevations, in fixed-point units.
    pub sum: i128,
    /// The number of cells with data, and of those without.
    pub cells: [u64; 2],
}

impl<'a> MapRows<'a> {
    /// Examines the whole source; `sea`, if given, replaces its sea level.
    ///
    /// # Errors
    /// Returns an error if the source cannot be read.
    pub fn from_file(file: &'a ElevationFile, sea: Option<Height>) -> Result<Self> {
        let (reading, warnings) = file.determine_reading()?;
        let mut grid = file.grid().clone();
        grid.sea_level = sea.or(grid.sea_level);
        Ok(Self { file, reading, warnings, grid })
    }

    /// The warnings about the source.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns the properties of the source and where they come from.
    pub fn facts(&self) -> Facts {
        self.file.facts(&self.reading)
    }

    /// The memory of a source while `rows` rows are read at once, in bytes.
    fn source_bytes(file: &ElevationFile, rows: usize) -> u64 {
        let cols = file.grid().cols();
        let [fixed, each] = file.memory([rows, cols]);
        (rows as u64).saturating_mul(cols as u64 * SAMPLE).saturating_add(fixed).saturating_add(each)
    }

    /// The maximum memory of [`MapRows::from_file`] and [`MapRows::summarize`] in bytes.
    pub fn memory_bytes(file: &ElevationFile) -> u64 {
        PROCESS + Self::source_bytes(file, ROWS_PER_SCAN)
    }

    /// The maximum memory of [`MapRows::to_shaded_map`] in bytes, until its last row is drawn.
    pub fn shade_bytes(file: &ElevationFile) -> u64 {
        // `ShadedMap` reads bands of 512 rows with a margin of 96 rows above and below.
        PROCESS + ShadedMap::estimate_bytes(file.grid().size) + Self::source_bytes(file, 704)
    }

    /// The maximum memory of [`MapRows::measure`] in bytes.
    pub fn measure_bytes(file: &ElevationFile, settings: &MeasureOptions) -> u64 {
        let cols = file.grid().cols();
        // `measure_rows` reads bands of 256 rows with a margin of `search` rows above and below.
        PROCESS + measure_bytes(cols, settings) + Self::source_bytes(file, 256 + 2 * settings.search)
    }

    /// Returns the shaded map, which [`thalweg_io::save_shaded`] writes. The picture is the same as that of
    /// [`thalweg_render::pictures::shade::draw_map`].
    ///
    /// # Errors
    /// Returns the errors of [`ShadedMap::new`].
    pub fn to_shaded_map(&self, options: &ShadeOptions) -> Result<ShadedMap<'_>> {
        let read = |rows: Range<usize>| {
            let (heights, size) = self.read_heights(rows)?;
            let metres = |height: &i32| if *height == NO_HEIGHT { f32::NAN } else { Height(*height).metres_f32() };
            Ok(Field::from_vec(size, heights)?.map(metres))
        };
        ShadedMap::new(&self.grid, options, Box::new(read))
    }

    /// Measures everything that can be measured by rows, as [`measure_rows`].
    ///
    /// # Errors
    /// Returns the errors of [`measure_rows`].
    pub fn measure(&self, settings: &MeasureOptions) -> Result<Measures> {
        measure_rows(&self.grid, settings, &mut |rows| self.read_terrain(rows))
    }

    /// Computes the range, the sum and the number of elevations.
    ///
    /// # Errors
    /// Returns an error if the source cannot be read.
    pub fn summarize(&self) -> Result<MapSummary> {
        let mut found = MapSummary::default();
        for first in (0..self.grid.rows()).step_by(ROWS_PER_SCAN) {
            let (heights, _) = self.read_heights(first..(first + ROWS_PER_SCAN).min(self.grid.rows()))?;
            for height in heights {
                if height == NO_HEIGHT {
                    found.cells[1] += 1;
                    continue;
                }
                let here = Height(height);
                found.cells[0] += 1;
                // Heights are summed as integers, so the sum does not depend on how many rows are read at once.
                found.sum += i128::from(height);
                found.range = Some(found.range.map_or([here; 2], |[low, high]| [low.min(here), high.max(here)]));
            }
        }
        Ok(found)
    }

    fn read_heights(&self, rows: Range<usize>) -> Result<(Vec<i32>, [usize; 2])> {
        let size = [rows.len(), self.grid.cols()];
        Ok((self.file.read_heights(CellRect::new([rows.start, 0], size), &self.reading)?, size))
    }

    /// Reads some rows as a terrain of their own.
    fn read_terrain(&self, rows: Range<usize>) -> Result<Terrain> {
        let (heights, size) = self.read_heights(rows)?;
        let void = heights.contains(&NO_HEIGHT).then(|| heights.iter().map(|height| *height == NO_HEIGHT).collect());
        let nodata = void.map(|mask| Field::from_vec(size, mask)).transpose()?;
        // Cells without data are masked, so their height has no effect.
        let stands = |height: i32| Height(if height == NO_HEIGHT { 0 } else { height });
        let ground = Field::from_vec(size, heights.into_iter().map(stands).collect())?;
        let grid = Grid { sea_level: self.grid.sea_level, ..Grid::new(size, self.grid.cell)? };
        Ok(Terrain { nodata, ..Terrain::from_ground(grid, ground)? })
    }
}
