//! [`Export`]: an export in progress, of files or of a map pyramid.

use std::path::Path;
use std::sync::Arc;

use super::map::MapExport;
use super::sheets::SheetExport;
use super::source::ExportSource;
use super::target::TileNumbering;
use super::{ExportOptions, ExportProgress, ExportTarget, Exported};
use thalweg_core::{Error, Result, Terrain};
use thalweg_io::{FilePath, LoadOptions};
use thalweg_render::web::LonLat;

/// An export in progress.
pub struct Export(ExportKind);

enum ExportKind {
    Sheets(Box<SheetExport>),
    Map(Box<MapExport>),
}

impl Export {
    /// Opens an export of a file or of a world's folder. The samples are not read yet.
    ///
    /// # Errors
    /// Returns an error if the input cannot be read; if the target does not accept a size, tiles, a file extension or
    /// another option; if it would misread the name; if it cannot use a layer, or a layer is missing, named twice or of
    /// another size; if a range is not ascending; if it cannot use the position on Earth; if a tile does not fit into
    /// memory; or if the folder contains another export or cannot be written.
    pub fn open(
        input: &Path,
        load: &LoadOptions,
        folder: impl Into<FilePath>,
        target: &'static ExportTarget,
        options: ExportOptions,
    ) -> Result<Self> {
        Self::from_source(ExportSource::open(input, load)?, folder.into(), target, options)
    }

    /// Begins an export of a terrain in memory.
    ///
    /// # Errors
    /// Returns the errors of [`Export::open`].
    pub fn from_terrain(
        terrain: Arc<Terrain>,
        folder: impl Into<FilePath>,
        target: &'static ExportTarget,
        options: ExportOptions,
    ) -> Result<Self> {
        Self::from_source(ExportSource::from_terrain(terrain), folder.into(), target, options)
    }

    fn from_source(
        ground: ExportSource,
        folder: FilePath,
        target: &'static ExportTarget,
        options: ExportOptions,
    ) -> Result<Self> {
        if target.numbering == TileNumbering::Pyramid {
            return Ok(Self(ExportKind::Map(Box::new(MapExport::from_source(ground, folder, target, options)?))));
        }
        let refused = |name: &str, value: String| {
            let problem = format!("is not supported by {}: it only applies to maps of the globe", target.name);
            Err(Error::unsupported(format!("{name} = {value}"), problem))
        };
        if let Some(LonLat { longitude, latitude }) = options.origin {
            return refused("origin", format!("{longitude},{latitude}"));
        }
        if let Some([first, last]) = options.zoom {
            return refused("zoom", format!("{first}-{last}"));
        }
        Ok(Self(ExportKind::Sheets(Box::new(SheetExport::from_source(ground, folder, target, options)?))))
    }

    /// Returns the warnings that are known before the work: what was assumed about the input, and the chosen size.
    pub fn warnings(&self) -> &[String] {
        match &self.0 {
            ExportKind::Sheets(export) => export.warnings(),
            ExportKind::Map(export) => export.warnings(),
        }
    }

    /// Examines some of the input or writes some tiles, and returns the progress; `None` once all tiles are written.
    ///
    /// # Errors
    /// Returns an error if the input cannot be read or has no data, if heights are outside the requested range, if the
    /// folder contains another export, or if a file cannot be written. Files that were written stay, and the same
    /// export can be resumed.
    pub fn advance(&mut self) -> Result<Option<ExportProgress>> {
        match &mut self.0 {
            ExportKind::Sheets(export) => export.advance(),
            ExportKind::Map(export) => export.advance(),
        }
    }

    /// Does the remaining steps, then writes the manifest.
    ///
    /// # Errors
    /// Returns the errors of [`Export::advance`]; an error if the manifest or another file next to the tiles cannot be
    /// written.
    pub fn finish(self) -> Result<Exported> {
        match self.0 {
            ExportKind::Sheets(export) => export.finish(),
            ExportKind::Map(export) => export.finish(),
        }
    }
}
