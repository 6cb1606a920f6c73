//! [`LakeFile`]: lakes as GeoJSON, written as they come.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::features::{Collection, FEATURE, feature_end, lake_properties, name_of};
use super::place::Place;
use thalweg_core::terrain::Lake;
use thalweg_core::{Cell, Error, Grid, Result};

/// Lakes written as they come, outlines by pieces, so that none is held: the bytes of [`save_lakes`](super::features::save_lakes) in
/// GeoJSON.
pub struct LakeFile<'a> {
    collection: Collection<&'a mut dyn Write>,
    path: PathBuf,
    place: Place,
    /// What ends the lake that is being written.
    end: Option<String>,
    /// Whether a line of its outline is open, and whether the outline has one.
    line: bool,
}

impl<'a> LakeFile<'a> {
    /// Begins on the cells of `grid`, in `file`, which is to be at `path`: that names the collection.
    ///
    /// # Errors
    /// What writing to `file` meets.
    pub fn new(file: &'a mut dyn Write, path: &Path, grid: &Grid) -> Result<Self> {
        let place = Place::of(grid);
        let collection = Collection::begin(file, &name_of(path), &place).map_err(Error::io(path, "write"))?;
        Ok(Self { collection, path: path.to_path_buf(), place, end: None, line: false })
    }

    /// Takes the next lake's figures; its outline, if any is to come, comes by [`LakeFile::shore`].
    ///
    /// # Errors
    /// What writing to `file` meets.
    pub fn lake(&mut self, lake: &Lake) -> Result<()> {
        let mut put = || {
            self.close()?;
            write!(self.collection.feature()?, "{FEATURE}[")?;
            self.end = Some(format!("]{}", feature_end("Polygon", &lake_properties(lake))));
            io::Result::Ok(())
        };
        put().map_err(Error::io(&self.path, "write"))
    }

    /// Takes more of the last lake's outline; `begins` says whether these points begin a line. They are rows and columns in cells from the
    /// north-western corner; a line is to end where it began.
    ///
    /// # Errors
    /// What writing to `file` meets.
    pub fn shore(&mut self, begins: bool, points: &[Cell<f64>]) -> Result<()> {
        let mut put = || {
            let mut before = match (self.line, begins) {
                (true, true) => "],[",
                (true, false) => ",",
                (false, _) => "[",
            };
            for point in points {
                let file = self.collection.text();
                file.write_all(before.as_bytes())?;
                serde_json::to_writer(file, &self.place.at(*point))?;
                (before, self.line) = (",", true);
            }
            io::Result::Ok(())
        };
        put().map_err(Error::io(&self.path, "write"))
    }

    /// Writes what comes after all lakes.
    ///
    /// # Errors
    /// What writing to `file` meets.
    pub fn finish(mut self) -> Result<()> {
        let closed = self.close();
        closed.and_then(|()| self.collection.end()).map_err(Error::io(&self.path, "write"))
    }

    /// Ends the last lake.
    fn close(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.line) {
            self.collection.text().write_all(b"]")?;
        }
        self.end.take().map_or(Ok(()), |end| self.collection.text().write_all(end.as_bytes()))
    }
}
