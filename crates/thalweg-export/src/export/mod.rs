//! Exports a terrain as files for another program: in a size that it accepts, in tiles if requested, with instructions
//! and the numbers to enter there.
//!
//! The requirements of the programs are declared in [`TARGETS`]. An [`Export`] is stepped by its caller: first all
//! samples are examined, to determine one range for all tiles, then the tiles are written one after the other. A file
//! that exists under its name is complete. The manifest is written last, and a second run after an interruption resumes
//! the export.
//!
//! ```
//! use std::sync::Arc;
//! use thalweg_export::export::{Export, ExportOptions, ExportTarget};
//! use thalweg_core::terrain::field::Field;
//! use thalweg_core::terrain::grid::Grid;
//! use thalweg_core::terrain::height::Height;
//! use thalweg_core::terrain::Terrain;
//!
//! let ground = Field::from_fn([100, 100], |i, j| Height::from_metres_clamped((i * j) as f64 / 10.0));
//! let terrain = Terrain::from_ground(Grid::new([100, 100], 10.0)?, ground)?;
//! let folder = tempfile::tempdir().unwrap();
//! let target = ExportTarget::find("unity")?;
//! let mut export = Export::from_terrain(Arc::new(terrain), folder.path(), target, ExportOptions::default())?;
//! while export.advance()?.is_some() {}
//! let done = export.finish()?;
//! assert_eq!(done.manifest["samples"], serde_json::json!([129, 129]));
//! assert!(done.how.contains("Resolution 129"));
//! # Ok::<(), thalweg_core::base::error::Error>(())
//! ```

mod beside;
mod encode;
mod file_plan;
mod instructions;
mod job;
mod layout;
mod levels;
mod manifest;
mod map;
mod options;
mod recipe_size;
mod sampling;
mod sheet_manifest;
mod sheets;
mod sides;
mod source;
mod styles;
mod target;
mod tile_files;

use std::path::PathBuf;

use serde_json::Value;

pub use self::instructions::targets_table;
pub use self::job::Export;
pub use self::layout::{ExportLayout, ExportTiles};
pub use self::manifest::MANIFEST;
pub use self::options::{ExportOptions, TileEdges};
pub use self::recipe_size::fit_recipe;
pub use self::sides::SideRule;
pub use self::target::{ExportTarget, HeightFile, LayerPlace, NameRule, Seams, TARGETS, TileNumbering};

/// The progress of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportProgress {
    /// The current phase: `looking` or `writing`.
    pub doing: &'static str,
    /// The work done and the total. For files: tiles examined and tiles written together, of twice the number of tiles.
    /// For a map's pyramid each phase counts separately: bands of rows examined, then tiles written.
    pub tiles: [u64; 2],
}

/// The result of an export.
#[derive(Debug, Clone, PartialEq)]
pub struct Exported {
    /// The absolute paths of the files, the manifest last.
    pub files: Vec<PathBuf>,
    /// The content of the manifest, as JSON.
    pub manifest: Value,
    /// Instructions for importing the files, with the numbers to enter.
    pub how: String,
    /// Warnings about what was left out or had to be changed; those of [`Export::warnings`] are not repeated.
    pub warnings: Vec<String>,
}
