//! [`WindowedMap`]: a raster that is read by windows, wherever it lies.

mod mosaic;
mod vrt;

use std::path::Path;

use super::{Format, Head, Raster, Samples, TiffWindows, inside};
pub use mosaic::VrtWindows;
use thalweg_core::{CellRect, Result, Size};

/// A map that is read by windows. Many threads may read it at once.
pub trait WindowedMap: Send + Sync {
    /// Size, type of the samples, no data, unit, place.
    fn head(&self) -> &Head;

    /// The samples of a window in row-major order, as they stand in the file: neither scaled nor masked.
    ///
    /// # Errors
    /// A window that is not inside the map; a part of the file that cannot be read or decoded, or for which there is no
    /// memory.
    fn read(&self, window: CellRect) -> Result<Samples>;

    /// The mask of a window, one value for each cell, row by row: true where a mask, the file's own or one beside it,
    /// says that there is no data. `None` if there is no mask.
    ///
    /// # Errors
    /// As [`WindowedMap::read`].
    fn mask(&self, window: CellRect) -> Result<Option<Vec<bool>>> {
        inside(self.size(), window).map(|()| None)
    }

    /// Rows and columns along which windows are read fastest.
    fn chunk(&self) -> Size {
        self.size()
    }

    /// Bytes of memory that the map holds as long as it is open, and bytes that it takes beside the result while a
    /// window of so many rows and columns, which begins with a multiple of them, is read.
    fn memory(&self, window: Size) -> [u64; 2] {
        let _ = window;
        [0; 2]
    }

    /// Rows and columns.
    fn size(&self) -> Size {
        self.head().size
    }

    /// The head as a raster without samples.
    ///
    /// # Errors
    /// None: no samples are made.
    fn about(&self) -> Result<Raster> {
        let head = self.head().clone();
        Ok(Raster {
            nodata: head.nodata,
            scale: head.scale,
            scaled: head.scale != [1.0, 0.0] || head.unit.is_some(),
            unit: head.unit,
            georeference: head.georeference,
            warnings: head.warnings,
            ..Raster::new(head.size, Samples::filled(head.kind, 0, 0.0)?)
        })
    }

    /// The samples and the mask of a window. All else is as [`Raster::new`] has it; [`WindowedMap::about`] has the
    /// head.
    ///
    /// # Errors
    /// As [`WindowedMap::read`].
    fn piece(&self, window: CellRect) -> Result<Raster> {
        Ok(Raster { mask: self.mask(window)?, ..Raster::new(window.size(), self.read(window)?) })
    }
}

/// Opens a raster file, in the way that its ending calls for: one of a format that is not read by windows
/// ([`Format::reads_windows`]) is held whole.
///
/// # Errors
/// As [`TiffWindows::open`], [`VrtWindows::open`], [`io::read`](crate::read()).
pub fn open_windows(path: impl AsRef<Path>) -> Result<Box<dyn WindowedMap>> {
    let path = path.as_ref();
    Ok(match Format::of(path)? {
        Format::Tiff => Box::new(TiffWindows::open(path)?),
        Format::Vrt => Box::new(VrtWindows::open(path)?),
        _ => Box::new(MapInMemory::from(super::read(path)?)),
    })
}

/// A map in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct MapInMemory {
    head: Head,
    samples: Samples,
    mask: Option<Vec<bool>>,
}

impl From<Raster> for MapInMemory {
    fn from(raster: Raster) -> Self {
        Self { head: raster.head(), samples: raster.samples, mask: raster.mask }
    }
}

impl WindowedMap for MapInMemory {
    fn head(&self) -> &Head {
        &self.head
    }

    fn read(&self, window: CellRect) -> Result<Samples> {
        self.samples.window(self.head.size, window)
    }

    fn mask(&self, window: CellRect) -> Result<Option<Vec<bool>>> {
        inside(self.size(), window)?;
        let row = |i: usize| (window.start[0] + i) * self.head.size[1] + window.start[1];
        let cut = |mask: &Vec<bool>| {
            (0..window.rows()).flat_map(|i| &mask[row(i)..row(i) + window.cols()]).copied().collect()
        };
        Ok(self.mask.as_ref().map(cut))
    }

    fn memory(&self, _: Size) -> [u64; 2] {
        // As wide as samples are, and a mask: more than most are, for what reads them holds the file's bytes as well.
        [9 * self.samples.len() as u64, 0]
    }
}
