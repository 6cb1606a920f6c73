//! [`ElevationFile`]: an elevation model that is read by windows as heights.

use std::path::{Path, PathBuf};

use thalweg::io::{
    Format, HeightReading, LoadOptions, Placed, Raster as Whole, SampleLook, Samples, Sidecar, TiffWindows,
    needs_sidecar, placed_of,
};
use thalweg::terrain::field::Window;
use thalweg::terrain::grid::Grid;
use thalweg::tiled::layer::NO_HEIGHT;
use thalweg::{Error, Result};

use crate::{Memory, Raster};

/// A file of heights, larger than memory perhaps.
pub struct ElevationFile {
    path: PathBuf,
    raster: Box<dyn Raster>,
    grid: Grid,
    reading: HeightReading,
    warnings: Vec<String>,
    overridden: Vec<String>,
}

impl ElevationFile {
    /// Opens a file. A TIFF is read by windows; a file of another format, which cannot be, is read whole.
    ///
    /// # Errors
    /// As [`thalweg::io::load`], but for what its samples hold.
    pub fn open(path: &Path, options: &LoadOptions) -> Result<Self> {
        if options.deterrace {
            let allowed = "nothing: terraces are smoothed over the whole file; smooth them away first, with `resample`";
            return Err(Error::value("deterrace", "asked for a file that is read by windows", allowed));
        }
        let raster: Box<dyn Raster> = match Format::of(path)? {
            Format::Tiff => Box::new(TiffWindows::open(path)?),
            _ => Box::new(Memory::from(thalweg::io::read(path)?)),
        };
        let mut head = head_of(&*raster)?;
        let sidecar = if needs_sidecar(&head) { Sidecar::beside(path)? } else { None };
        head.nodata = head.nodata.or(sidecar.as_ref().and_then(|sidecar| sidecar.nodata));
        let Placed { grid, warnings, overridden } = placed_of(path, &mut head, sidecar.as_ref(), options)?;
        let reading = HeightReading::of(&head, sidecar.as_ref(), options);
        Ok(Self { path: path.to_path_buf(), raster, grid, reading, warnings, overridden })
    }

    /// Where its cells lie.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// What is to be said of it.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What it says of its units that was overridden.
    pub fn overridden(&self) -> &[String] {
        &self.overridden
    }

    /// How its samples become heights, as far as its head tells.
    pub fn reading(&self) -> &HeightReading {
        &self.reading
    }

    /// What is seen in a window.
    ///
    /// # Errors
    /// A window that cannot be read.
    pub fn look(&self, window: Window) -> Result<SampleLook> {
        Ok(self.reading.look(&self.piece(window)?, window.start))
    }

    /// The heights of a window, read in the way that was settled, in units; [`NO_HEIGHT`] where there is no data.
    ///
    /// # Errors
    /// A window that cannot be read, a height outside ±16 000 m.
    pub fn heights(&self, window: Window, reading: &HeightReading) -> Result<Vec<i32>> {
        let piece = self.piece(window)?;
        reading.check(&piece, window.start).map_err(|problem| self.refuse(problem))?;
        Ok((0..piece.samples.len()).map(|k| reading.height(&piece, k).map_or(NO_HEIGHT, |height| height.0)).collect())
    }

    /// A problem of this file.
    pub fn refuse(&self, problem: String) -> Error {
        Error::file(&self.path, problem)
    }

    fn piece(&self, window: Window) -> Result<Whole> {
        let mask = self.raster.mask(window)?;
        Ok(Whole { mask, ..Whole::new(window.size, self.raster.read(window)?) })
    }
}

/// What a raster says of its samples, without one.
fn head_of(raster: &dyn Raster) -> Result<Whole> {
    let head = raster.head();
    let none = Samples::filled(head.kind, 0, 0.0)?;
    Ok(Whole {
        nodata: head.nodata,
        scale: head.scale,
        scaled: head.scale != [1.0, 0.0] || head.unit.is_some(),
        unit: head.unit.clone(),
        georeference: head.georeference.clone(),
        warnings: head.warnings.clone(),
        ..Whole::new(head.size, none)
    })
}
