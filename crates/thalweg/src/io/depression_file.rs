//! [`DepressionFile`]: the tree of depressions as a table, written as it comes.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::place::Place;
use crate::base::error::{Error, Result};
use crate::products::nested::NestedDepression;
use crate::terrain::grid::Grid;
use crate::terrain::height::UNITS;

/// The names of the columns, as a line.
const COLUMNS: &str =
    "id,parent,lake,pit_x,pit_y,pit_m,spill_x,spill_y,spill_m,into,into_lake,cells,area_m2,volume_m3,depth_m\n";

/// A table of [`NestedDepression`]s, a line each under a line of names: heights and depth in metres, area in m², volume in m³, places in
/// the coordinates of the map; 0 is no depression and no lake, and what a lake that drains nowhere has no place for is empty.
pub struct DepressionFile<'a> {
    file: &'a mut dyn Write,
    path: PathBuf,
    place: Place,
    cell_area: f64,
}

impl<'a> DepressionFile<'a> {
    /// Begins the table on the cells of `grid`, in `file`, which is to be at `path`: that is said in messages.
    ///
    /// # Errors
    /// What writing to `file` meets.
    pub fn new(file: &'a mut dyn Write, path: &Path, grid: &Grid) -> Result<Self> {
        file.write_all(COLUMNS.as_bytes()).map_err(Error::io(path, "write"))?;
        Ok(Self { file, path: path.to_path_buf(), place: Place::of(grid), cell_area: grid.cell_area() })
    }

    /// Writes the next one's line.
    ///
    /// # Errors
    /// What writing to `file` meets.
    pub fn put(&mut self, one: &NestedDepression) -> Result<()> {
        let at = |cell: [usize; 2]| {
            let [x, y] = self.place.at(cell.map(|k| k as f64 + 0.5));
            format!("{x},{y}")
        };
        let NestedDepression { id, lake, into_lake, cells, .. } = one;
        let [parent, into] = [one.parent, one.into].map(Option::unwrap_or_default);
        let (pit, spill) = (at(one.pit), one.spill.map_or_else(|| ",".to_string(), at));
        // To the unit: 1/65 536 m.
        let [floor, level] = [one.floor, one.level].map(|height| format!("{:.5}", height.metres()));
        let depth = one.level.metres() - one.floor.metres();
        let (area, volume) = (*cells as f64 * self.cell_area, one.volume as f64 / UNITS * self.cell_area);
        let line = format!(
            "{id},{parent},{lake},{pit},{floor},{spill},{level},{into},{into_lake},{cells},{area:.1},{volume:.3},{depth:.5}\n"
        );
        self.file.write_all(line.as_bytes()).map_err(Error::io(&self.path, "write"))
    }
}
