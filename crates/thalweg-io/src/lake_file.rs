//! [`LakeFile`]: lakes as GeoJSON, written one at a time.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::features::{Collection, FEATURE, collection_name, feature_end, lake_properties};
use super::map_coordinates::MapTransform;
use thalweg_core::terrain::Lake;
use thalweg_core::{Cell, Error, Grid, Result};

/// Writes lakes one at a time, and their outlines in pieces, so that no outline is in memory as a whole. The file has
/// the same bytes as the GeoJSON of [`save_lakes`](super::features::save_lakes).
pub struct LakeFile<'a> {
    collection: Collection<&'a mut dyn Write>,
    path: PathBuf,
    place: MapTransform,
    /// The text that ends the current lake.
    end: Option<String>,
    /// True if the outline has a line, which is still open.
    line: bool,
}

impl<'a> LakeFile<'a> {
    /// Begins the lakes on the cells of `grid`, written to `file`. `path` is the final path, which gives the collection
    /// its name.
    ///
    /// # Errors
    /// Returns an error of writing to `file`.
    pub fn new(file: &'a mut dyn Write, path: &Path, grid: &Grid) -> Result<Self> {
        let place = MapTransform::from_grid(grid);
        let collection = Collection::begin(file, &collection_name(path), &place).map_err(Error::io(path, "write"))?;
        Ok(Self { collection, path: path.to_path_buf(), place, end: None, line: false })
    }

    /// Begins the next lake with its properties. Its outline, if it has one, is then passed to
    /// [`LakeFile::add_shore_points`].
    ///
    /// # Errors
    /// Returns an error of writing to `file`.
    pub fn begin_lake(&mut self, lake: &Lake) -> Result<()> {
        let mut put = || {
            self.end_lake()?;
            write!(self.collection.begin_feature()?, "{FEATURE}[")?;
            self.end = Some(format!("]{}", feature_end("Polygon", &lake_properties(lake))));
            io::Result::Ok(())
        };
        put().map_err(Error::io(&self.path, "write"))
    }

    /// Adds points to the current lake's outline; `begins` is true if these points begin a new line. They are rows and
    /// columns in cells from the north-western corner; a line must end where it began.
    ///
    /// # Errors
    /// Returns an error of writing to `file`.
    pub fn add_shore_points(&mut self, begins: bool, points: &[Cell<f64>]) -> Result<()> {
        let mut put = || {
            // The text before the first point depends on whether a line is open, and whether these points continue it.
            let mut before = match (self.line, begins) {
                (true, true) => "],[",
                (true, false) => ",",
                (false, _) => "[",
            };
            for point in points {
                let file = self.collection.feature_writer();
                file.write_all(before.as_bytes())?;
                serde_json::to_writer(file, &self.place.to_map_point(*point))?;
                (before, self.line) = (",", true);
            }
            io::Result::Ok(())
        };
        put().map_err(Error::io(&self.path, "write"))
    }

    /// Ends the collection.
    ///
    /// # Errors
    /// Returns an error of writing to `file`.
    pub fn finish(mut self) -> Result<()> {
        let closed = self.end_lake();
        closed.and_then(|()| self.collection.end()).map_err(Error::io(&self.path, "write"))
    }

    /// Ends the current lake.
    fn end_lake(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.line) {
            self.collection.feature_writer().write_all(b"]")?;
        }
        self.end.take().map_or(Ok(()), |end| self.collection.feature_writer().write_all(end.as_bytes()))
    }
}
