//! The contents of the view: its parts, cameras, droplets, paths and the ring of the brush.

use thalweg_core::{Extent, Point};
use thalweg_sim::recipe::strokes::Tool;

use crate::app::state::Studio;
use crate::ui::appearance::Compare;
use crate::ui::scene::{Frame, Part};
use crate::view::camera::Camera;
use crate::view::look::{Dot, Line, Look};

/// The colour of droplets: green, as in the first programs of this kind.
const DROPLET: [f32; 4] = [0.35, 1.0, 0.35, 1.0];
/// The colour of the path of a single droplet.
const PATH: [f32; 4] = [1.0, 0.85, 0.2, 1.0];
/// The colour of the ring of a brush.
const RING: [f32; 4] = [1.0, 1.0, 1.0, 0.9];
/// The maximum number of rows of a table that are drawn.
const MOST_DOTS: usize = 40_000;
/// The number of path points per second of a moving droplet, and the number of points in its tail.
const PACE: f64 = 60.0;
const TAIL: usize = 4;
/// The factor on the camera's distance when two views share the window.
const BESIDE: f32 = 1.8;

impl Studio {
    /// Returns the frame to draw, with the given width and height in pixels.
    pub fn frame(&self, [width, height]: [u32; 2]) -> Frame {
        let mut frame = Frame { size: [width, height], ..Frame::default() };
        let Some(painted) = &self.painted else { return frame };
        let look = Look { exaggeration: self.exaggeration(), ramp: self.recipe.ramp, ..self.settings.look };
        let part = |terrain: usize, area: [u32; 4], clip: Option<[u32; 4]>| Part {
            terrain,
            version: painted.version,
            camera: self.camera(),
            look,
            area,
            clip,
            hole: None,
            air: None,
            marked: terrain == 0,
        };
        let whole = [0, 0, width, height];
        let half = (width / 2).max(1);
        let can_compare = painted.before.is_some();
        frame.parts = match self.settings.compare {
            _ if self.held_before && can_compare => vec![part(1, whole, None)],
            Compare::Swipe if can_compare => {
                let line = ((width as f32 * self.settings.swipe) as u32).clamp(1, width.max(2) - 1);
                let right = width.saturating_sub(line).max(1);
                vec![part(1, whole, Some([0, 0, line, height])), part(0, whole, Some([line, 0, right, height]))]
            }
            Compare::Beside if can_compare && width > 1 => {
                vec![part(1, [0, 0, half, height], None), part(0, [half, 0, width - half, height], None)]
            }
            _ => vec![part(0, whole, None)],
        };
        if !self.held_before {
            frame.dots = self.dots();
            frame.lines = self.lines();
            let (lines, dots) = self.drawn_lines();
            frame.lines.extend(lines);
            frame.dots.extend(dots);
        }
        frame
    }

    /// The active camera.
    pub fn camera(&self) -> Camera {
        let mut camera = if self.map { self.map_camera } else { self.orbit_camera };
        if self.settings.compare == Compare::Beside && !self.held_before {
            // Each half is narrower but has to show the same extent.
            camera.distance *= BESIDE;
        }
        camera
    }

    /// Replaces the active camera.
    pub fn set_camera(&mut self, camera: Camera) {
        *self.camera_mut() = camera;
    }

    pub(super) fn camera_mut(&mut self) -> &mut Camera {
        self.moved = true;
        if self.map { &mut self.map_camera } else { &mut self.orbit_camera }
    }

    /// Lifts a place in world metres to the terrain that is shown; `None` outside it.
    pub(super) fn lifted(&self, point: Point) -> Option<[f32; 3]> {
        let painted = self.painted.as_ref()?;
        let (Extent { width, height }, Point { x: west, y: north }) =
            (painted.terrain.grid.extent(), painted.terrain.grid.corner());
        let at = [(point.x - west - 0.5 * width) as f32, (0.5 * height - (point.y - north)) as f32];
        let z = painted.now.height_at(at)?;
        Some([at[0], at[1], z * self.exaggeration()])
    }

    /// Returns true if moving droplets are shown.
    pub(super) fn is_raining(&self) -> bool {
        self.settings.droplets && (self.snapshot.playing || self.now < self.shower)
    }

    /// Returns the moving droplets and the springs.
    pub(super) fn dots(&self) -> Vec<Dot> {
        let Some(painted) = &self.painted else { return Vec::new() };
        let terrain = &painted.terrain;
        let mut dots = Vec::new();
        let mut add = |table: &str, colour: [f32; 4], pixels: f32| {
            let Some(table) = terrain.tables.get(table) else { return };
            let (Some(rows), Some(columns)) = (table.ints("row"), table.ints("column")) else { return };
            let stride = rows.len().div_ceil(MOST_DOTS).max(1);
            let places = rows
                .iter()
                .zip(columns)
                .step_by(stride)
                .map(|(i, j)| [*j, *i].map(|x| (x as f64 + 0.5) * terrain.grid.cell).into());
            dots.extend(places.filter_map(|place| self.lifted(place)).map(|at| Dot { at, colour, pixels }));
        };
        add(thalweg_noise::given::springs::SPRINGS, [0.2, 0.6, 1.0, 1.0], 7.0);
        // Each droplet runs along its path repeatedly, with a phase of its own.
        let paths = if self.is_raining() { painted.paths.as_slice() } else { &[] };
        for (number, path) in paths.iter().enumerate().filter(|(_, path)| path.len() > 1) {
            let head = (self.now * PACE) as usize + number * 37;
            for back in 0..TAIL {
                let fade = 1.0 - back as f32 / TAIL as f32;
                let at = path[(head + path.len() - back.min(path.len() - 1)) % path.len()];
                if let Some(at) = self.lifted(at) {
                    dots.push(Dot { at, colour: [DROPLET[0], DROPLET[1], DROPLET[2], fade], pixels: 1.5 + 1.5 * fade });
                }
            }
        }
        if let Some(at) = self.snapshot.trace.points.last().and_then(|point| self.lifted(point.place)) {
            dots.push(Dot { at, colour: PATH, pixels: 6.0 });
        }
        dots
    }

    /// Returns the path of the last droplet and the ring of the brush.
    pub(super) fn lines(&self) -> Vec<Line> {
        let path: Vec<_> = self.snapshot.trace.points.iter().filter_map(|point| self.lifted(point.place)).collect();
        let line = |pair: &[[f32; 3]], colour, pixels| Line { from: pair[0], to: pair[1], colour, pixels };
        let mut lines: Vec<Line> = path.windows(2).map(|pair| line(pair, PATH, 2.5)).collect();
        let radius = if self.tools.tool == Some(Tool::Spring) { 0.0 } else { self.tools.radius() };
        if let Some(cursor) = self.cursor.filter(|_| radius > 0.0) {
            let ring = (0..=48).filter_map(|n| {
                let angle = f64::from(n) * std::f64::consts::TAU / 48.0;
                let Point { x, y } = cursor.place;
                self.lifted(Point::new(x + radius * angle.cos(), y + radius * angle.sin()))
            });
            let ring: Vec<_> = ring.collect();
            lines.extend(ring.windows(2).map(|pair| line(pair, RING, 1.5)));
        }
        lines
    }
}
