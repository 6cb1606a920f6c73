//! [`Frames`] that are being written, one each time the window is drawn.

use std::path::{Path, PathBuf};

use thalweg_core::Error;

use crate::app::paths::free;

/// Frames that are being written, one each time the window is drawn.
pub struct Frames {
    pub(super) folder: PathBuf,
    pub(super) written: u32,
    pub(super) kind: Kind,
}

/// What the frames are of.
pub(super) enum Kind {
    /// Once round the land.
    Turntable,
    /// The land whenever it has changed; the version drawn last.
    TimeLapse(Option<u64>),
}

impl Frames {
    /// A turntable into a new folder in this one.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn turntable(folder: &Path) -> Result<Self, String> {
        Ok(Self { folder: new_folder(folder, "turntable")?, written: 0, kind: Kind::Turntable })
    }

    /// A time-lapse into a new folder in this one.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn time_lapse(folder: &Path) -> Result<Self, String> {
        Ok(Self { folder: new_folder(folder, "time-lapse")?, written: 0, kind: Kind::TimeLapse(None) })
    }

    /// Whether they are of a turntable, which moves by itself.
    pub fn is_turntable(&self) -> bool {
        matches!(self.kind, Kind::Turntable)
    }
}

/// Makes a folder of that name, or with a number behind it, that was not there.
fn new_folder(within: &Path, name: &str) -> Result<PathBuf, String> {
    let path = free(within, name);
    std::fs::create_dir_all(&path).map_err(|error| Error::io(&path, "make the folder")(error).to_string())?;
    Ok(path)
}
