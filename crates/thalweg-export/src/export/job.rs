//! [`Export`]: an export on its way, of files or of a map's pyramid.

use std::path::Path;
use std::sync::Arc;

use super::map::MapExport;
use super::source::Ground;
use super::target::Numbering;
use super::{ExportOptions, ExportProgress, Exported, SheetExport};
use thalweg_core::{Error, Result, Terrain};
use thalweg_io::{FilePath, LoadOptions};
use thalweg_render::web::LonLat;

/// An export on its way.
pub struct Export(Way);

enum Way {
    Sheets(Box<SheetExport>),
    Map(Box<MapExport>),
}

impl Export {
    /// Of a file or of a world's folder, which is opened and not read yet.
    ///
    /// # Errors
    /// An input that cannot be read; a size, tiles, a file ending or another option that the target does not take; a name that it
    /// misreads; a layer that it has no place for, or that is missing, named twice or of another size; a range that does not rise; a
    /// place on Earth that it cannot use; a tile that does not fit into memory; a folder that holds another export or cannot be written.
    pub fn open(input: &Path, load: &LoadOptions, folder: impl Into<FilePath>, options: ExportOptions) -> Result<Self> {
        Self::begin(Ground::open(input, load)?, folder.into(), options)
    }

    /// Of a terrain in memory.
    ///
    /// # Errors
    /// As [`Export::open`].
    pub fn of(terrain: Arc<Terrain>, folder: impl Into<FilePath>, options: ExportOptions) -> Result<Self> {
        Self::begin(Ground::held(terrain), folder.into(), options)
    }

    fn begin(ground: Ground, folder: FilePath, options: ExportOptions) -> Result<Self> {
        if options.target.numbering == Numbering::Pyramid {
            return Ok(Self(Way::Map(Box::new(MapExport::begin(ground, folder, options)?))));
        }
        let refused = |name: &str, value: String| {
            let problem = format!("is not supported by {}: it only applies to maps of the globe", options.target.name);
            Err(Error::unsupported(format!("{name} = {value}"), problem))
        };
        if let Some(LonLat { longitude, latitude }) = options.origin {
            return refused("origin", format!("{longitude},{latitude}"));
        }
        if let Some([first, last]) = options.zooms {
            return refused("zoom", format!("{first}-{last}"));
        }
        Ok(Self(Way::Sheets(Box::new(SheetExport::begin(ground, folder, options)?))))
    }

    /// What is to be said before the work: what was assumed of the input, and which size was chosen.
    pub fn warnings(&self) -> &[String] {
        match &self.0 {
            Way::Sheets(export) => export.warnings(),
            Way::Map(export) => export.warnings(),
        }
    }

    /// Looks at some of the input, or writes some tiles, and says how far it is; `None` once all are written.
    ///
    /// # Errors
    /// An input that cannot be read, no data at all, heights beyond the range that was asked for, a folder that holds another export, a
    /// file that cannot be written. What was written stays; the same export goes on there.
    pub fn step(&mut self) -> Result<Option<ExportProgress>> {
        match &mut self.0 {
            Way::Sheets(export) => export.step(),
            Way::Map(export) => export.step(),
        }
    }

    /// Does the steps that are left, then writes the manifest.
    ///
    /// # Errors
    /// As [`Export::step`], and a manifest, or another file beside the tiles, that cannot be written.
    pub fn finish(self) -> Result<Exported> {
        match self.0 {
            Way::Sheets(export) => export.finish(),
            Way::Map(export) => export.finish(),
        }
    }
}
