//! [`WindowedMap`]: a raster that is read in windows, from any storage.

mod mosaic;
mod north_up;
mod vrt;

use std::path::Path;

use super::{Format, LoadOptions, Raster, RasterHead, Samples, TiffWindows, check_window_bounds, read_stored_raster};
pub use mosaic::VrtWindows;
pub use north_up::orient_north_up;
use thalweg_core::{CellRect, Result, Size};

/// A map that is read in windows. Many threads may read it at the same time.
pub trait WindowedMap: Send + Sync {
    /// Returns the metadata: size, type of the samples, nodata value, unit, position.
    fn head(&self) -> &RasterHead;

    /// Returns the samples of a window in row-major order, as stored in the file: neither scaled nor masked.
    ///
    /// # Errors
    /// Returns an error if the window is not inside the map, or if a part of the file cannot be read, decoded or stored
    /// in memory.
    fn read_window(&self, window: CellRect) -> Result<Samples>;

    /// Returns the mask of a window, one value per cell, row by row: true where a mask, in the file or next to it,
    /// marks no data. `None` if there is no mask.
    ///
    /// # Errors
    /// Returns the errors of [`WindowedMap::read_window`].
    fn read_mask(&self, window: CellRect) -> Result<Option<Vec<bool>>> {
        check_window_bounds(self.size(), window).map(|()| None)
    }

    /// Returns the rows and columns of the blocks in which the map is stored; windows aligned with them are read
    /// fastest.
    fn block_size(&self) -> Size {
        self.size()
    }

    /// Returns the bytes of memory that the map uses as long as it is open, and the bytes that it needs, in addition to
    /// the result, to read a window of these rows and columns that is aligned to multiples of its size.
    fn window_memory(&self, window: Size) -> [u64; 2] {
        let _ = window;
        [0; 2]
    }

    /// Returns the rows and columns.
    fn size(&self) -> Size {
        self.head().size
    }

    /// Returns the metadata as a raster without samples.
    ///
    /// # Errors
    /// Returns no error, because no samples are made.
    fn metadata_raster(&self) -> Result<Raster> {
        let head = self.head().clone();
        Ok(Raster {
            nodata: head.nodata,
            scale: head.scale,
            scaled: head.scaled || head.scale != [1.0, 0.0] || head.unit.is_some(),
            unit: head.unit,
            georeference: head.georeference,
            warnings: head.warnings,
            facts: head.facts,
            ..Raster::new(head.size, Samples::filled(head.kind, 0, 0.0)?)
        })
    }

    /// Reads the samples and the mask of a window. The other fields are those of [`Raster::new`];
    /// [`WindowedMap::metadata_raster`] returns the metadata.
    ///
    /// # Errors
    /// Returns the errors of [`WindowedMap::read_window`].
    fn read_piece(&self, window: CellRect) -> Result<Raster> {
        Ok(Raster { mask: self.read_mask(window)?, ..Raster::new(window.size(), self.read_window(window)?) })
    }
}

/// Opens a raster file according to its extension. A file of a format that cannot be read in windows
/// ([`Format::reads_windows`]) is loaded into memory. Row 0 is in the north, as in
/// [`read_raster`](crate::read_raster()).
///
/// # Errors
/// Returns the errors of [`TiffWindows::open`], [`VrtWindows::open`] and [`read_raster`](crate::read_raster()).
///
/// # Examples
/// ```
/// use thalweg_core::{CellRect, Grid, Terrain};
/// use thalweg_io::{Samples, SaveOptions, WindowedMap, open_windows, save_terrain};
///
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("dem.tif");
/// let heights: Vec<f32> = (0..9).map(|k| k as f32).collect();
/// save_terrain(&path, &Terrain::from_metres(Grid::new([3, 3], 10.0)?, &heights)?, &SaveOptions::default())?;
/// let map = open_windows(&path)?;
/// assert_eq!(map.size(), [3, 3]);
/// assert_eq!(map.read_window(CellRect::new([1, 1], [2, 2]))?, Samples::F32(vec![4.0, 5.0, 7.0, 8.0]));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn open_windows(path: impl AsRef<Path>) -> Result<Box<dyn WindowedMap>> {
    open_windows_with(path, &LoadOptions::default())
}

/// Opens a raster file as [`open_windows`] does, with the options of [`read_raster_with`](crate::read_raster_with()).
///
/// # Errors
/// Returns the errors of [`open_windows`] and of [`LoadOptions::check_raw_options`].
pub fn open_windows_with(path: impl AsRef<Path>, options: &LoadOptions) -> Result<Box<dyn WindowedMap>> {
    Ok(orient_north_up(open_stored_windows(path.as_ref(), options)?))
}

/// Opens a raster file as [`open_windows_with`] does, with the rows in the order of the file.
fn open_stored_windows(path: &Path, options: &LoadOptions) -> Result<Box<dyn WindowedMap>> {
    options.check_raw_options(path)?;
    Ok(match Format::from_path(path)? {
        Format::Tiff => Box::new(TiffWindows::open(path)?),
        Format::Vrt => Box::new(VrtWindows::open(path)?),
        _ => Box::new(MapInMemory::from(read_stored_raster(&path.into(), options)?)),
    })
}

/// A map in memory.
///
/// # Examples
/// ```
/// use thalweg_core::CellRect;
/// use thalweg_io::{MapInMemory, Raster, Samples, WindowedMap};
///
/// let map = MapInMemory::from(Raster::new([2, 2], Samples::U8(vec![1, 2, 3, 4])));
/// assert_eq!(map.read_window(CellRect::new([0, 1], [2, 1]))?, Samples::U8(vec![2, 4]));
/// assert!(map.read_window(CellRect::new([1, 1], [2, 2])).is_err(), "not inside the map");
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct MapInMemory {
    head: RasterHead,
    samples: Samples,
    mask: Option<Vec<bool>>,
}

impl From<Raster> for MapInMemory {
    fn from(raster: Raster) -> Self {
        Self { head: raster.head(), samples: raster.samples, mask: raster.mask }
    }
}

impl WindowedMap for MapInMemory {
    fn head(&self) -> &RasterHead {
        &self.head
    }

    fn read_window(&self, window: CellRect) -> Result<Samples> {
        self.samples.copy_window(self.head.size, window)
    }

    fn read_mask(&self, window: CellRect) -> Result<Option<Vec<bool>>> {
        check_window_bounds(self.size(), window)?;
        let row = |i: usize| (window.start[0] + i) * self.head.size[1] + window.start[1];
        let cut = |mask: &Vec<bool>| {
            (0..window.rows()).flat_map(|i| &mask[row(i)..row(i) + window.cols()]).copied().collect()
        };
        Ok(self.mask.as_ref().map(cut))
    }

    fn window_memory(&self, _: Size) -> [u64; 2] {
        // Counts 8 bytes per sample and one for the mask. This is more than most types need, because the reader also
        // had the file's bytes in memory.
        [9 * self.samples.len() as u64, 0]
    }
}
