//! [`ExportOptions`]: the declared options of the operation `export`.

use super::ExportTiles;
use thalweg_core::{Size, choice, operation};
use thalweg_render::web::{LonLat, MAX_ZOOM};

choice! {
    /// The samples at the common edge of two neighbouring tiles.
    pub enum TileEdges {
        /// Both tiles contain the samples of their common edge.
        Shared = "shared",
        /// Each tile contains its own samples only.
        Adjacent = "adjacent",
    }
}

operation! {
    /// Writes a terrain in the form that another program reads: with a size that it accepts, in tiles if requested, and
    /// with one range of heights.
    ///
    /// The manifest lists the files and the numbers to enter in the program.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use thalweg_core::{Field, Grid, Height, Terrain};
    /// use thalweg_export::export::{Export, ExportOptions, ExportTarget};
    ///
    /// let ground = Field::from_fn([40, 40], |i, j| Height::from_metres_clamped((i + j) as f64));
    /// let terrain = Arc::new(Terrain::from_ground(Grid::new([40, 40], 10.0)?, ground)?);
    /// let name = Some("valley".to_string());
    /// let options = ExportOptions { name, range: Some([-50.0, 500.0]), ..ExportOptions::default() };
    /// let folder = tempfile::tempdir().unwrap();
    /// let done = Export::from_terrain(terrain, folder.path(), ExportTarget::find("unity")?, options)?.finish()?;
    /// let first = done.files[0].file_name().unwrap().to_string_lossy();
    /// assert!(first.starts_with("valley") && done.files.iter().all(|file| file.is_file()));
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub struct ExportOptions, "export" {
        /// The number of tiles in each direction, or the side of a tile in samples. By default, the export is one file.
        tiles: Option<ExportTiles> = None, within .., unit "1";
        /// Determines if adjacent tiles share the samples at their common edge. By default, it depends on the target.
        edges: Option<TileEdges> = None, within .., unit "1";
        /// The size in samples, if the export is a single file. By default, it is the size accepted by the target that
        /// is nearest to the terrain's.
        size: Option<Size> = None, within .., unit "1";
        /// The heights that the lowest and the highest sample value represent; all heights must be within this range.
        /// By default, it is the range of the terrain.
        range: Option<[f64; 2]> = None, within &["min", "max"], unit "m";
        /// The layers to export in addition to the heights: names of layers, or paths of rasters with the same cells.
        layers: Vec<String> = Vec::new(), within .., unit "1";
        /// The prefix of the file names. By default, it is the name of the input.
        name: Option<String> = None, within .., unit "1";
        /// The extension of the files of heights, if the target reads several formats. By default, it depends on the
        /// target.
        format: Option<String> = None, within .., unit "1";
        /// Replaces another export that the folder contains.
        fresh: bool = false, within .., unit "1";
        /// The longitude and latitude in degrees of the centre of a terrain without a position on Earth, for web maps
        /// and globes. By default, both are 0.
        origin: Option<LonLat> = None, within .., unit "1";
        /// The first and the last zoom level of a web map or globe. By default, the last is as fine as the cells of the
        /// terrain, and the first shows the whole terrain.
        zoom: Option<[u32; 2]> = None, within 0..=MAX_ZOOM, unit "1";
    }
}
