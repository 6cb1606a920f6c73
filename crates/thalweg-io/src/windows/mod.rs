//! [`FileWindows`]: any raster file by windows, or whole where its format is not read so.

mod mosaic;
mod vrt;

use std::path::Path;

use super::{Format, Raster, Samples, TiffWindows};
pub use mosaic::VrtWindows;
use thalweg_core::base::error::Result;
use thalweg_core::terrain::CellRect;
use thalweg_core::terrain::field::Size;

/// A raster file that is read by windows; one of a format that is not ([`Format::reads_windows`]) is held whole.
#[derive(Debug)]
pub enum FileWindows {
    /// A TIFF.
    Tiff(Box<TiffWindows>),
    /// A virtual raster.
    Vrt(Box<VrtWindows>),
    /// Any other, held.
    Whole(Box<Raster>),
}

impl FileWindows {
    /// Opens a file, in the way that its ending calls for.
    ///
    /// # Errors
    /// As [`TiffWindows::open`], [`VrtWindows::open`], [`io::read`](crate::read()).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Ok(match Format::of(path)? {
            Format::Tiff => Self::Tiff(Box::new(TiffWindows::open(path)?)),
            Format::Vrt => Self::Vrt(Box::new(VrtWindows::open(path)?)),
            _ => Self::Whole(Box::new(super::read(path)?)),
        })
    }

    /// Keeps strips and tiles of a TIFF of up to `bytes` bytes ([`TiffWindows::keep`]); others stay as they are.
    #[must_use]
    pub fn keep(self, bytes: u64) -> Self {
        match self {
            Self::Tiff(windows) => Self::Tiff(Box::new(windows.keep(bytes))),
            other => other,
        }
    }

    /// Rows and columns.
    pub fn size(&self) -> Size {
        match self {
            Self::Tiff(windows) => windows.head().size,
            Self::Vrt(windows) => windows.head().size,
            Self::Whole(raster) => raster.size,
        }
    }

    /// Rows and columns along which windows are read fastest.
    pub fn chunk(&self) -> Size {
        match self {
            Self::Tiff(windows) => windows.chunk(),
            Self::Vrt(windows) => windows.chunk(),
            Self::Whole(raster) => raster.size,
        }
    }

    /// Bytes of samples that are held as long as it is open: all of a [`FileWindows::Whole`], 0 of others.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Whole(raster) => (raster.samples.len() * raster.samples.kind().bytes()) as u64,
            _ => 0,
        }
    }

    /// What it says of itself, without samples.
    ///
    /// # Errors
    /// None: no samples are made.
    pub fn about(&self) -> Result<Raster> {
        let head = match self {
            Self::Tiff(windows) => windows.head().clone(),
            Self::Vrt(windows) => windows.head().clone(),
            Self::Whole(raster) => raster.head(),
        };
        let scaled = match self {
            Self::Whole(raster) => raster.scaled,
            _ => head.scale != [1.0, 0.0] || head.unit.is_some(),
        };
        Ok(Raster {
            nodata: head.nodata,
            scale: head.scale,
            scaled,
            unit: head.unit,
            georeference: head.georeference,
            warnings: head.warnings,
            ..Raster::new(head.size, Samples::filled(head.kind, 0, 0.0)?)
        })
    }

    /// The samples of a window in row-major order, as they stand in the file.
    ///
    /// # Errors
    /// As [`TiffWindows::read`] and [`VrtWindows::read`]; of a file held whole a window that does not lie inside.
    pub fn read(&self, window: CellRect) -> Result<Samples> {
        match self {
            Self::Tiff(windows) => windows.read(window),
            Self::Vrt(windows) => windows.read(window),
            Self::Whole(raster) => raster.samples.window(raster.size, window),
        }
    }

    /// One a cell of the window, row by row: true where a mask says that there is no data; `None` if there is no mask.
    ///
    /// # Errors
    /// As [`FileWindows::read`].
    pub fn mask(&self, window: CellRect) -> Result<Option<Vec<bool>>> {
        match self {
            Self::Tiff(windows) => windows.mask(window),
            Self::Vrt(windows) => windows.mask(window),
            Self::Whole(raster) => {
                super::inside(raster.size, window)?;
                let row = |i: usize| (window.start[0] + i) * raster.size[1] + window.start[1];
                let cut = |mask: &Vec<bool>| {
                    (0..window.size()[0]).flat_map(|i| &mask[row(i)..row(i) + window.size()[1]]).copied().collect()
                };
                Ok(raster.mask.as_ref().map(cut))
            }
        }
    }

    /// Samples and mask of a window; all else is as of [`Raster::new`], and [`FileWindows::about`] has it.
    ///
    /// # Errors
    /// As [`FileWindows::read`] and [`FileWindows::mask`].
    pub fn piece(&self, window: CellRect) -> Result<Raster> {
        Ok(Raster { mask: self.mask(window)?, ..Raster::new(window.size(), self.read(window)?) })
    }
}
