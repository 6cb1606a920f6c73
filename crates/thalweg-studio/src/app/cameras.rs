//! [`Cameras`]: the cameras of the terrain and of its map, one of which is active.

use crate::app::state::Studio;
use crate::ui::appearance::CompareMode;
use crate::view::camera::ViewCamera;

/// The factor on the camera's distance when two views share the window.
const SPLIT_VIEW_DISTANCE: f32 = 1.8;

/// The cameras of the view.
#[derive(Default)]
pub(crate) struct Cameras {
    pub(crate) orbit: ViewCamera,
    pub(crate) map: ViewCamera,
    /// True if the view shows the map.
    pub(crate) shows_map: bool,
    /// True if the user has moved the camera since the terrain was framed.
    pub(crate) moved: bool,
    /// True if the terrain has been framed since this world was opened.
    pub(crate) framed: bool,
}

impl Studio {
    /// The active camera.
    pub fn camera(&self) -> ViewCamera {
        let mut camera = if self.cameras.shows_map { self.cameras.map } else { self.cameras.orbit };
        if self.settings.compare == CompareMode::Beside && !self.viewport.held_before {
            // Each half is narrower but has to show the same extent.
            camera.distance *= SPLIT_VIEW_DISTANCE;
        }
        camera
    }

    /// Replaces the active camera.
    pub fn set_camera(&mut self, camera: ViewCamera) {
        *self.camera_mut() = camera;
    }

    pub(super) fn camera_mut(&mut self) -> &mut ViewCamera {
        self.cameras.moved = true;
        if self.cameras.shows_map { &mut self.cameras.map } else { &mut self.cameras.orbit }
    }

    pub(crate) fn frame_land(&mut self) {
        if let Some(painted) = &self.painting.latest {
            let aspect = self.viewport.drawn_size[0] as f32 / self.viewport.drawn_size[1].max(1) as f32;
            let bounds = painted.now.bounds_at(self.exaggeration());
            self.cameras.orbit = ViewCamera::new_perspective(&bounds, aspect);
            self.cameras.map = ViewCamera::new_map(&bounds, aspect);
            self.cameras.moved = false;
        }
    }
}
