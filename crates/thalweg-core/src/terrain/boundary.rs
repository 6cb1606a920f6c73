//! [`BoundaryOptions`] and [`SeaLevelOptions`]: options that several operations share and that belong to the grid of a
//! terrain. [`TerrainOptions`] declare the whole grid of a terrain in memory.

use crate::declare::operation::Operation as _;
use crate::declare::option_types::LoopedEdges;
use crate::terrain::grid::Edges;
use crate::{Grid, Height, Result, operation};

operation! {
    /// Sets the boundary conditions of an elevation model, which its file does not specify.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::terrain::BoundaryOptions;
    /// use thalweg_core::{Edge, Grid};
    ///
    /// let mut grid = Grid::new([10, 10], 30.0)?;
    /// let boundary = BoundaryOptions { sea_level: Some(2.5), ..BoundaryOptions::default() };
    /// boundary.apply_to(&mut grid)?;
    /// assert_eq!(grid.sea_level.map(|level| level.metres()), Some(2.5));
    /// assert_eq!(grid.edges, [Edge::Open; 4]);
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub struct BoundaryOptions, "boundary", derive(Copy) {
        /// Boundary condition of the four sides of the terrain. If they are closed, water leaves only into the sea,
        /// into no-data cells, and at outlets or mouths that are given.
        edges: Edges = Edges::default(), within .., unit "1", only Folder Store;
        /// Sea level; ground at or below it is sea. By default, there is no sea.
        sea_level: Option<f64> = None, within -16_000.0..=16_000.0, unit "m", only Folder Store;
    }
}

impl BoundaryOptions {
    /// Sets the edges and the sea level of a grid.
    ///
    /// # Errors
    /// Returns an error if the sea level is not −16 000 to 16 000 m; the grid is unchanged then.
    pub fn apply_to(&self, grid: &mut Grid) -> Result<()> {
        let sea_level = self.sea_level.map(Height::from_metres).transpose()?;
        (grid.edges, grid.sea_level) = (self.edges, sea_level);
        Ok(())
    }
}

operation! {
    /// Sets the sea level of a terrain whose folder or recipe may specify one.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::terrain::SeaLevelOptions;
    /// use thalweg_core::{Grid, Height};
    ///
    /// let mut grid = Grid { sea_level: Some(Height::ZERO), ..Grid::new([10, 10], 30.0)? };
    /// SeaLevelOptions::default().apply_to(&mut grid)?;
    /// assert_eq!(grid.sea_level, Some(Height::ZERO));
    /// SeaLevelOptions { sea_level: Some(2.5) }.apply_to(&mut grid)?;
    /// assert_eq!(grid.sea_level.map(|level| level.metres()), Some(2.5));
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub struct SeaLevelOptions, "sea level", derive(Copy) {
        /// Sea level; ground at or below it is sea. By default, it is that of the folder or the recipe; otherwise,
        /// there is no sea.
        sea_level: Option<f64> = None, within -16_000.0..=16_000.0, unit "m", only Folder Store;
    }
}

impl SeaLevelOptions {
    /// Sets the sea level of a grid, if one is given.
    ///
    /// # Errors
    /// Returns an error if the sea level is not −16 000 to 16 000 m; the grid is unchanged then.
    pub fn apply_to(&self, grid: &mut Grid) -> Result<()> {
        grid.sea_level = self.sea_level.map(Height::from_metres).transpose()?.or(grid.sea_level);
        Ok(())
    }
}

operation! {
    /// Describes the grid of a terrain whose heights are in memory.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::Edge;
    /// use thalweg_core::declare::option_types::LoopedEdges;
    /// use thalweg_core::terrain::TerrainOptions;
    ///
    /// let (rows, cols, edges) = (Some(4), Some(3), LoopedEdges([Edge::Looped; 4]));
    /// let options = TerrainOptions { rows, cols, cell_size: Some(5.0), edges, ..TerrainOptions::default() };
    /// let grid = options.create_grid()?;
    /// assert_eq!((grid.size, grid.cell, grid.edges), ([4, 3], 5.0, [Edge::Looped; 4]));
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub struct TerrainOptions, "terrain", derive(Copy) {
        /// Number of rows.
        rows: Option<u32> = None, within 1..=u32::MAX, unit "1", required true;
        /// Number of columns.
        cols: Option<u32> = None, within 1..=u32::MAX, unit "1", required true;
        /// Side of a cell.
        cell_size: Option<f64> = None, within 0.001..=100_000.0, unit "m", required true;
        /// A height that marks a no-data cell, in addition to NaN.
        nodata: Option<f64> = None, within f64::MIN..=f64::MAX, unit "1";
        /// Sea level; ground at or below it is sea. By default, there is no sea.
        sea_level: Option<f64> = None, within -16_000.0..=16_000.0, unit "m";
        /// Boundary condition for water and sediment at the four sides.
        edges: LoopedEdges = LoopedEdges::default(), within .., unit "1";
    }
}

impl TerrainOptions {
    /// Creates the grid.
    ///
    /// # Errors
    /// Returns an error if a required option is missing, if there are too many cells, or if only one of two opposite
    /// sides is looped.
    pub fn create_grid(&self) -> Result<Grid> {
        let [rows, cols] = [self.require("rows", self.rows)?, self.require("cols", self.cols)?];
        let mut grid = Grid::new([rows as usize, cols as usize], self.require("cell_size", self.cell_size)?)?;
        grid.edges = self.edges.0;
        grid.sea_level = self.sea_level.map(Height::from_metres).transpose()?;
        grid.check()?;
        Ok(grid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Edge;
    use crate::declare::operation::WorkForm;
    use serde_json::json;

    #[test]
    fn only_a_terrain_in_memory_may_be_looped() {
        let mut options =
            TerrainOptions { rows: Some(5), cols: Some(4), cell_size: Some(2.0), ..TerrainOptions::default() };
        let by_side = |north: &str| json!({"north": north, "south": "looped", "west": "closed"});
        options.set("edges", &by_side("looped")).unwrap();
        assert_eq!(options.edges.0, [Edge::Looped, Edge::Open, Edge::Looped, Edge::Closed]);
        assert_eq!(options.create_grid().unwrap().edges, options.edges.0);
        let mut again = TerrainOptions::default();
        for (option, value) in options.changed_options() {
            again.set(option.name, &value).unwrap();
        }
        assert_eq!(again, options);
        options.set("edges", &by_side("open")).unwrap();
        assert!(options.create_grid().unwrap_err().to_string().contains("needs north looped as well"));
        let refused = options.set("edges", &json!("wall")).unwrap_err().to_string();
        assert!(refused.starts_with("edges = wall: must be open, closed or looped, or an object"), "{refused}");
        let refused = BoundaryOptions::default().set("edges", &json!("looped")).unwrap_err().to_string();
        assert!(refused.starts_with("edges = looped: must be open or closed, or an object"), "{refused}");
        assert!(options.set("nodata", &json!("inf")).unwrap_err().to_string().ends_with("must be a finite number"));
        let missing = TerrainOptions { cols: None, ..again }.check_form(WorkForm::Browser, |option| option.name.into());
        assert!(missing.unwrap_err().to_string().contains("cols"));
    }

    #[test]
    fn the_edges_and_the_sea_come_back_from_json() {
        let mut boundary = BoundaryOptions::default();
        let declared = boundary.declared();
        let names: Vec<&str> = declared.iter().map(|option| option.name).collect();
        assert_eq!((names, declared[0].default.clone()), (vec!["edges", "sea_level"], json!("open")));
        boundary.set("edges", &json!({"north": "closed", "south": "closed"})).unwrap();
        boundary.set("sea_level", &json!(-3)).unwrap();
        assert_eq!(boundary.edges, [Edge::Closed, Edge::Open, Edge::Closed, Edge::Open]);
        let mut again = BoundaryOptions::default();
        for (option, value) in boundary.changed_options() {
            again.set(option.name, &value).unwrap();
        }
        assert_eq!(again, boundary);
        let mut grid = Grid::new([3, 3], 1.0).unwrap();
        again.apply_to(&mut grid).unwrap();
        assert_eq!((grid.edges, grid.sea_level), (boundary.edges, Some(Height::from_metres(-3.0).unwrap())));
        // An array has its own edges, so the option has no effect there.
        let message = again.check_form(WorkForm::Arrays, |option| option.name.to_string()).unwrap_err().to_string();
        assert!(message.starts_with("edges only applies when the output is a file or a folder"), "{message}");
    }

    #[test]
    fn a_sea_level_beyond_all_heights_is_refused() {
        let mut grid = Grid::new([3, 3], 1.0).unwrap();
        let high = Some(99_999.0);
        assert!(BoundaryOptions { sea_level: high, ..BoundaryOptions::default() }.apply_to(&mut grid).is_err());
        assert!(SeaLevelOptions { sea_level: high }.apply_to(&mut grid).is_err());
        assert_eq!(grid, Grid::new([3, 3], 1.0).unwrap());
        let error = SeaLevelOptions::default().set("sea_level", &json!(99_999)).unwrap_err().to_string();
        assert_eq!(error, "sea_level = 99999 m: must be -16000 to 16000 m");
    }
}
