//! [`Explorer`]: the window of the explorer, frame by frame.

use eframe::egui::{self, CentralPanel, Color32, Context, Key, PointerButton, Rect, Response, Sense, Ui, pos2};
use eframe::egui_wgpu::RenderState;
use glam::Vec3;
use thalweg_core::Point;
use thalweg_render::products::probe::format_number;
use thalweg_sim::world::World;

use crate::explore::loaded_rings::LoadedRings;
use crate::explore::rings::LevelRing;
use crate::explore::streamer::{FailedRing, RingSettings, Streamer};
use crate::explore::viewpoint::{Viewpoint, exaggeration_for_distance, find_finest_level};
use crate::ui::scene::{FramePart, ViewFrame as Picture, WindowScene};
use crate::view::camera::ViewCamera;
use crate::view::look::Appearance;

/// The smallest distance of the eye from its target, in cells of the finest level.
const MIN_EYE_DISTANCE_CELLS: f64 = 40.0;
/// The distance over which haze thickens, as a multiple of the eye's distance.
const HAZE_DISTANCE_FACTOR: f32 = 6.0;

/// A window onto a world.
pub struct Explorer {
    world: World,
    streamer: Streamer,
    scene: Option<WindowScene>,
    shown: LoadedRings,
    stand: Viewpoint,
    look: Appearance,
    version: u64,
    size: [u32; 2],
    /// The visible rings that could not be prepared. They are requested again once they have been out of view.
    failed: Vec<FailedRing>,
    /// The problem with the graphics device, if there is one.
    problem: Option<&'static str>,
}

impl Explorer {
    /// Creates the explorer in a window, or without one for tests. Without a GPU nothing is drawn.
    ///
    /// # Errors
    /// Returns an error if the system provides no thread.
    pub fn new(
        world: World,
        (stand, look): (Viewpoint, Appearance),
        ctx: &Context,
        state: Option<RenderState>,
    ) -> Result<Self, String> {
        ctx.set_theme(egui::Theme::Dark);
        let waker = ctx.clone();
        let streamer = Streamer::start(world.clone(), move || waker.request_repaint())?;
        Ok(Self {
            world,
            streamer,
            scene: state.map(WindowScene::new),
            shown: LoadedRings::default(),
            stand,
            look,
            version: 0,
            size: [1280, 800],
            failed: Vec::new(),
            problem: None,
        })
    }

    /// The viewpoint.
    pub fn viewpoint(&self) -> Viewpoint {
        self.stand
    }

    /// The levels of the rings that are shown, finest first.
    pub fn visible_levels(&self) -> Vec<u32> {
        self.shown.rings().map(|loaded| loaded.ring.level).collect()
    }

    /// Returns true if all required rings are shown.
    pub fn is_settled(&self) -> bool {
        let visible_rings = self.stand.visible_rings(self.world.frame(), self.size[1]);
        self.streamer.is_idle() && visible_rings.iter().all(|ring| self.shown.contains(ring))
    }

    /// Runs one frame: takes the rings that are ready, moves the eye with the mouse, and requests the rings that are
    /// required now.
    pub fn frame_ui(&mut self, ui: &mut Ui) {
        CentralPanel::default().frame(egui::Frame::NONE).show(ui, |ui| {
            let rect = ui.available_rect_before_wrap();
            let response = ui.allocate_rect(rect, Sense::click_and_drag());
            if rect.width() < 2.0 || rect.height() < 2.0 {
                return;
            }
            let scale = ui.ctx().pixels_per_point();
            self.size = [rect.width(), rect.height()].map(|x| ((x * scale).round() as u32).max(1));
            // The order matters: rings that have arrived give the mouse a surface to hit, and the moved eye determines
            // the next requests.
            self.take_rings();
            self.apply_mouse_input(ui, &response);
            self.request_rings();
            let picture = self.compose_frame();
            match self.scene.as_mut().map(|scene| (scene.render_texture(picture), scene.is_lost())) {
                Some((Some(texture), false)) => {
                    self.problem = None;
                    let whole = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
                    ui.painter().image(texture, rect, whole, Color32::WHITE);
                }
                Some((_, true)) => self.problem = Some("the graphics device was lost; open the explorer again"),
                _ => self.problem = Some("no GPU was found, so the land is computed but cannot be shown"),
            }
            let text = self.status_text();
            let galley = ui.painter().layout_no_wrap(text, egui::FontId::proportional(12.0), Color32::from_gray(238));
            let at = rect.left_bottom() + egui::vec2(12.0, -12.0 - galley.size().y);
            ui.painter().rect_filled(
                Rect::from_min_size(at, galley.size()).expand(6.0),
                6.0,
                Color32::from_black_alpha(165),
            );
            ui.painter().galley(at, galley, Color32::WHITE);
        });
    }

    /// The text at the bottom of the window.
    pub fn status_text(&self) -> String {
        let Point { x, y } = self.stand.place;
        let cell = self.shown.rings().next().map_or(0.0, |loaded| self.world.frame().cell_width(loaded.ring.level));
        let distance = self.stand.camera.distance;
        let mut text = format!(
            "x {x:.0} m  y {y:.0} m · {} m away · cells of {} m",
            format_number(distance),
            format_number(cell as f32)
        );
        if let Some(ring) = self.streamer.ring_in_progress() {
            text += &format!(" · level {} is loading", ring.level);
        }
        // A finer ring often fails for the same reason as a coarser one, so the reason is shown once.
        for problem in self.failed.first().map(|failed| failed.problem.as_str()).into_iter().chain(self.problem) {
            text += &format!("\n{problem}");
        }
        text
    }

    /// Takes the rings that are ready.
    fn take_rings(&mut self) {
        let mut visible_rings = self.stand.visible_rings(self.world.frame(), self.size[1]);
        // The eye has moved away from the others, so they are tried again when it returns.
        self.failed.retain(|failed| visible_rings.contains(&failed.ring));
        for made in self.streamer.take_results() {
            match made {
                // The eye has moved on since this ring was requested.
                Ok(made) if !visible_rings.contains(&made.ring) => {}
                Err(failed) if !visible_rings.contains(&failed.ring) => {}
                Ok(made) => {
                    // The surface is uploaded only if a renderer's slot was free; without a GPU the rings are still
                    // kept, for tests.
                    if let Some(terrain) = self.shown.insert(made)
                        && let Some(scene) = &mut self.scene
                        && let Some(loaded) = self.shown.rings().find(|loaded| loaded.terrain == terrain)
                    {
                        scene.load_terrain(terrain, &loaded.surface);
                    }
                    self.version += 1;
                }
                Err(failed) => self.failed.push(failed),
            }
        }
        // Old rings remain visible until all of their successors have arrived, so the view has no gaps while the eye
        // moves. A ring that failed does not arrive, and a coarser one is drawn in its place.
        visible_rings.retain(|ring| self.failed.iter().all(|failed| failed.ring != *ring));
        if !visible_rings.is_empty() {
            self.shown.remove_stale(&visible_rings);
        }
    }

    /// Requests the rings that are required and missing, coarsest first, except those that failed.
    fn request_rings(&self) {
        let visible_rings = self.stand.visible_rings(self.world.frame(), self.size[1]);
        let has_failed = |ring: &LevelRing| self.failed.iter().any(|failed| failed.ring == *ring);
        let missing = visible_rings.into_iter().filter(|ring| !self.shown.contains(ring) && !has_failed(ring));
        let manner = RingSettings {
            sun: self.look.sun,
            exaggeration: exaggeration_for_distance(self.stand.camera.distance),
            // The coarsest ring has at most 2048 cells on a side.
            most: self.scene.as_ref().map_or(1024, WindowScene::max_cells).min(2048),
        };
        self.streamer.request_rings(missing, manner);
    }

    fn apply_mouse_input(&mut self, ui: &Ui, response: &Response) {
        let rect = response.rect;
        let (modifiers, scroll, dt) =
            ui.input(|input| (input.modifiers, input.smooth_scroll_delta().y, input.stable_dt));
        let delta = response.drag_delta();
        let (moved, size) = ([delta.x, delta.y], [rect.width(), rect.height()]);
        let before = self.stand;
        let camera = &mut self.stand.camera;
        if response.dragged_by(PointerButton::Primary) && modifiers.shift {
            let sun = &mut self.look.sun;
            sun.azimuth = (sun.azimuth + 0.5 * f64::from(delta.x)).rem_euclid(360.0);
        } else if response.dragged_by(PointerButton::Primary) && !modifiers.command {
            camera.orbit(moved);
        } else if response.dragged() {
            camera.pan(moved, size);
        }
        let axis = |plus: Key, minus: Key| {
            ui.input(|input| f32::from(i8::from(input.key_down(plus)) - i8::from(input.key_down(minus))))
        };
        let step = [axis(Key::D, Key::A), axis(Key::W, Key::S), 0.0];
        if step != [0.0; 3] {
            // Flying is horizontal, whatever the angle of the view, because the height follows the ground anyway.
            let flat = ViewCamera { elevation: 0.0, ..*camera };
            let mut flown = flat;
            // The speed is 0.6 of the distance per second; a frame counts as 0.1 s at most, so that a pause causes no
            // jump.
            flown.fly(Vec3::from(step) * camera.distance * 0.6 * dt.min(0.1));
            camera.target += flown.target - flat.target;
            ui.ctx().request_repaint();
        }
        if response.contains_pointer() && scroll != 0.0 {
            let pointer = response.hover_pos().unwrap_or(rect.center());
            // The cursor's position in the picture is −1 to 1, rightward and upward.
            let ndc = [
                2.0 * (pointer.x - rect.left()) / rect.width() - 1.0,
                1.0 - 2.0 * (pointer.y - rect.top()) / rect.height(),
            ];
            let ray = camera.ray_through(ndc, rect.width() / rect.height());
            let scale = exaggeration_for_distance(camera.distance);
            let toward = self.shown.intersect_ray(self.world.frame(), &before, &ray, scale);
            // The exponential makes zooming in and out by the same amount of scrolling cancel.
            self.zoom((0.003 * scroll).exp(), toward);
        }
        self.settle_camera();
    }

    /// Zooms in by a factor, towards a point that is visible.
    pub fn zoom(&mut self, factor: f32, toward: Option<Vec3>) {
        let nearest = MIN_EYE_DISTANCE_CELLS * self.world.frame().cell_width(find_finest_level(self.world.frame()));
        let frame = self.world.frame();
        let farthest = 2.0 * frame.cell * frame.cells[0].max(frame.cells[1]).min(8192) as f64;
        let camera = &mut self.stand.camera;
        // The factor is recomputed from the clamped distance, so that the point under the cursor stays there at the
        // limits too.
        let target_distance = (camera.distance / factor).clamp(nearest as f32, farthest as f32);
        camera.zoom(camera.distance / target_distance, toward);
    }

    /// Makes the camera's target the place that is looked at, on the ground, and keeps the eye above the ground.
    fn settle_camera(&mut self) {
        let frame = self.world.frame();
        let whole = frame.world_rect(0);
        // The target cannot leave the world.
        let within = |metres: f64, axis: usize| {
            metres.clamp(whole.start[axis] as f64 * frame.cell, whole.end[axis] as f64 * frame.cell)
        };
        let target = self.stand.camera.target;
        let Point { x, y } = self.stand.place;
        self.stand.place = Point::new(within(x + f64::from(target.x), 1), within(y - f64::from(target.y), 0));
        // The place is in doubles and the camera stays at the origin: 32-bit floats could not resolve a gully in a
        // large world.
        (self.stand.camera.target.x, self.stand.camera.target.y) = (0.0, 0.0);
        let scale = exaggeration_for_distance(self.stand.camera.distance);
        let stand = self.stand;
        let ground = self.shown.ground_around(frame, &stand);
        if let Some(top) = crate::view::space::GroundSurface::top_height(&ground, glam::Vec2::ZERO) {
            self.stand.camera.target.z = top * scale;
        }
        self.stand.camera.keep_above(&ground, scale);
    }

    /// Returns the picture to draw now.
    fn compose_frame(&self) -> Picture {
        let frame = self.world.frame();
        let look = Appearance { exaggeration: exaggeration_for_distance(self.stand.camera.distance), ..self.look };
        let [width, height] = self.size;
        // All rings share one exaggeration and one haze, so that they fit together.
        let mut finer: Option<LevelRing> = None;
        // The rings come finest first; each coarser one leaves out the area of the finer one before it.
        let parts = self.shown.rings().map(|loaded| {
            let within = finer.replace(loaded.ring);
            FramePart {
                terrain: loaded.terrain,
                version: self.version,
                camera: self.stand.relative_camera(&loaded.ring, frame),
                look: Appearance { sides: Viewpoint::has_sides(frame, &loaded.ring, within.as_ref()), ..look },
                area: [0, 0, width, height],
                clip: None,
                hole: within.map(|finer| Viewpoint::find_covered_area(frame, &loaded.ring, &finer)),
                air: Some(HAZE_DISTANCE_FACTOR * self.stand.camera.distance),
                marked: false,
            }
        });
        Picture { size: self.size, parts: parts.collect(), ..Picture::default() }
    }
}

impl eframe::App for Explorer {
    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        self.frame_ui(ui);
    }

    fn persist_egui_memory(&self) -> bool {
        false
    }
}
