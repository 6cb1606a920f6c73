//! [`SheetLevels`]: a raster of heights, and its means on coarser cells.

use super::encode::ValueStatistics;
use super::sampling::{WindowValues, WindowedRaster};
use thalweg_core::base::memory;
use thalweg_core::{CellRect, Field, Result, Size};
use thalweg_render::web::MapLand;

/// A raster as levels: the finest is read in windows, the others are in memory.
pub(super) struct SheetLevels {
    sheet: Box<dyn WindowedRaster>,
    cell: f64,
    /// The means of 2 × 2 cells of the level before, the finest first; NaN where there is no data.
    means: Vec<Field<f32>>,
    /// The number of rows of the raster that have been read.
    looked: usize,
}

/// The approximate number of cells that are read together.
// These cells take 32 MiB as 64-bit floats.
const BAND: usize = 1 << 22;

impl SheetLevels {
    /// Makes the levels of a raster that has not been read yet.
    ///
    /// # Errors
    /// Returns an error if there is not enough memory for the means.
    pub fn new(sheet: Box<dyn WindowedRaster>, cell: f64) -> Result<Self> {
        let size = sheet.size();
        let count = size[0] as u64 * size[1] as u64;
        // The means have a quarter of the cells, a quarter of these, and so on, with four bytes each; in addition, a
        // band of cells is in memory.
        memory::check_memory("means of heights on coarser cells", count / 3 * 4 + 16 * BAND as u64)?;
        let first = Field::new(halve_size(size), f32::NAN);
        Ok(Self { sheet, cell, means: vec![first], looked: 0 })
    }

    /// Returns the rows and columns of the raster.
    pub fn size(&self) -> Size {
        self.sheet.size()
    }

    fn band_rows(&self) -> usize {
        let [rows, cols] = self.size();
        // The number of rows is even, so no block of 2 × 2 cells is divided between two bands.
        (BAND / cols.max(1)).clamp(2, 512).next_multiple_of(2).min(rows.next_multiple_of(2))
    }

    /// Returns how many times [`SheetLevels::scan_next_rows`] has been called, and how many times it must be called.
    pub fn scan_progress(&self) -> [u64; 2] {
        [self.looked, self.size()[0]].map(|rows| rows.div_ceil(self.band_rows()) as u64)
    }

    /// Reads the next rows and returns their statistics; `None` once all rows have been read.
    ///
    /// # Errors
    /// Returns an error if the raster cannot be read.
    pub fn scan_next_rows(&mut self) -> Result<Option<ValueStatistics>> {
        let [rows, cols] = self.size();
        if self.looked >= rows {
            return Ok(None);
        }
        let count = self.band_rows().min(rows - self.looked);
        let piece = self.sheet.read_window(CellRect::new([self.looked, 0], [count, cols]))?;
        let seen = ValueStatistics::from_window(&piece, false, piece.values.size());
        let part = average_blocks(&mark_missing_as_nan(piece));
        let whole = CellRect::new([0, 0], part.size());
        self.means[0].paste(&part, whole, [self.looked / 2, 0]);
        self.looked += count;
        // The first level of means is complete now. Each further level has a quarter of the cells, down to a single
        // one.
        if self.looked == rows {
            while let Some(last) = self.means.last().filter(|last| last.rows().max(last.cols()) > 1) {
                let next = average_blocks(&last.map(|z| f64::from(*z)));
                self.means.push(next);
            }
        }
        Ok(Some(seen))
    }
}

fn halve_size(size: Size) -> Size {
    size.map(|n| n.div_ceil(2))
}

/// Returns the values, NaN where there is no data.
fn mark_missing_as_nan(piece: WindowValues) -> Field<f64> {
    match piece.missing {
        None => piece.values,
        Some(missing) => {
            Field::from_fn(missing.size(), |i, j| if missing[(i, j)] { f64::NAN } else { piece.values[(i, j)] })
        }
    }
}

/// Returns the means of 2 × 2 cells, of those that have data.
fn average_blocks(fine: &Field<f64>) -> Field<f32> {
    let size = fine.size();
    Field::from_fn(halve_size(size), |i, j| {
        // Cells without data are left out, and a block without data remains without data. On coarser levels each block
        // of means has the same weight, however many of its cells have data.
        let (mut sum, mut count) = (0.0, 0u32);
        for i in 2 * i..(2 * i + 2).min(size[0]) {
            for z in &fine.row(i)[2 * j..(2 * j + 2).min(size[1])] {
                if !z.is_nan() {
                    sum += z;
                    count += 1;
                }
            }
        }
        if count > 0 { (sum / f64::from(count)) as f32 } else { f32::NAN }
    })
}

impl MapLand for SheetLevels {
    fn finest_level(&self) -> u32 {
        self.means.len() as u32
    }

    fn cell_width(&self, level: u32) -> f64 {
        self.cell * libm::exp2(f64::from(self.finest_level() - level))
    }

    fn cells(&self, level: u32) -> CellRect<i64> {
        // Level numbers increase towards finer cells; level 0 is the coarsest.
        let coarser = self.finest_level() - level;
        CellRect::new([0, 0], if coarser == 0 { self.size() } else { self.means[coarser as usize - 1].size() })
    }

    fn read_heights(&self, level: u32, cells: CellRect<i64>) -> Result<Field<f64>> {
        let window = CellRect::new(cells.start.map(|x| x as usize), cells.size());
        Ok(match (self.finest_level() - level) as usize {
            0 => mark_missing_as_nan(self.sheet.read_window(window)?),
            coarser => self.means[coarser - 1].copy_window(window).map(|z| f64::from(*z)),
        })
    }
}
