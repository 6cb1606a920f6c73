//! [`FrameSeries`] that are being written, one each time the window is drawn.

use std::path::{Path, PathBuf};

use thalweg_core::Error;

use crate::app::paths::find_free_path;

/// A series of frames that is being written, one each time the window is drawn.
pub struct FrameSeries {
    pub(super) folder: PathBuf,
    pub(super) written: u32,
    pub(super) kind: FrameSeriesKind,
}

/// The kind of series.
pub(super) enum FrameSeriesKind {
    /// One turn around the terrain.
    Turntable,
    /// A frame whenever the terrain has changed; with the version that was drawn last.
    TimeLapse(Option<u64>),
}

impl FrameSeries {
    /// Starts a turntable in a new subfolder of `folder`.
    ///
    /// # Errors
    /// Returns an error if the subfolder cannot be created.
    pub fn start_turntable(folder: &Path) -> Result<Self, String> {
        Ok(Self { folder: new_folder(folder, "turntable")?, written: 0, kind: FrameSeriesKind::Turntable })
    }

    /// Starts a time-lapse in a new subfolder of `folder`.
    ///
    /// # Errors
    /// Returns an error if the subfolder cannot be created.
    pub fn start_time_lapse(folder: &Path) -> Result<Self, String> {
        Ok(Self { folder: new_folder(folder, "time-lapse")?, written: 0, kind: FrameSeriesKind::TimeLapse(None) })
    }

    /// Returns true for a turntable, which moves even if the terrain does not change.
    pub fn is_turntable(&self) -> bool {
        matches!(self.kind, FrameSeriesKind::Turntable)
    }
}

/// Creates a folder of that name, with a number appended if it exists already.
fn new_folder(within: &Path, name: &str) -> Result<PathBuf, String> {
    let path = find_free_path(within, name);
    std::fs::create_dir_all(&path).map_err(|error| Error::io(&path, "create the folder")(error).to_string())?;
    Ok(path)
}
