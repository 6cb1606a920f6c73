//! The contents of the view: its parts, droplets, paths and the ring of the brush.

use thalweg_core::{Extent, Point};
use thalweg_sim::recipe::strokes::Tool;

use crate::app::state::Studio;
use crate::ui::appearance::CompareMode;
use crate::ui::scene::{FramePart, ViewFrame};
use crate::view::look::{Appearance, ViewDot, ViewLine};

/// The colour of droplets: green, as in the first programs of this kind.
const DROPLET_COLOUR: [f32; 4] = [0.35, 1.0, 0.35, 1.0];
/// The colour of the path of a single droplet.
const PATH_COLOUR: [f32; 4] = [1.0, 0.85, 0.2, 1.0];
/// The colour of the ring of a brush.
const RING_COLOUR: [f32; 4] = [1.0, 1.0, 1.0, 0.9];
/// The maximum number of rows of a table that are drawn.
// Larger tables are thinned to every n-th row, so that the number of dots in a frame is bounded.
const MAX_DOTS: usize = 40_000;
/// The number of path points per second of a moving droplet, and the number of points in its tail.
const PATH_POINTS_PER_SECOND: f64 = 60.0;
const TAIL_POINTS: usize = 4;

impl Studio {
    /// Returns the frame to draw, with the given width and height in pixels.
    pub fn compose_frame(&self, [width, height]: [u32; 2]) -> ViewFrame {
        let mut frame = ViewFrame { size: [width, height], ..ViewFrame::default() };
        let Some(painted) = &self.painting.latest else { return frame };
        let look = Appearance { exaggeration: self.exaggeration(), ramp: self.world.recipe.ramp, ..self.settings.look };
        let part = |terrain: usize, area: [u32; 4], clip: Option<[u32; 4]>| FramePart {
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
            _ if self.viewport.held_before && can_compare => vec![part(1, whole, None)],
            CompareMode::Swipe if can_compare => {
                let line = ((width as f32 * self.settings.swipe) as u32).clamp(1, width.max(2) - 1);
                // Both sides are drawn with the same camera over the whole view and clipped at the line, so the terrain
                // fits together there.
                let right = width.saturating_sub(line).max(1);
                vec![part(1, whole, Some([0, 0, line, height])), part(0, whole, Some([line, 0, right, height]))]
            }
            CompareMode::Beside if can_compare && width > 1 => {
                vec![part(1, [0, 0, half, height], None), part(0, [half, 0, width - half, height], None)]
            }
            _ => vec![part(0, whole, None)],
        };
        // Droplets, lines and springs belong to the current terrain, so they are not drawn over the one before erosion.
        if !self.viewport.held_before {
            frame.dots = self.collect_dots();
            frame.lines = self.collect_lines();
            let (lines, dots) = self.drawn_lines();
            frame.lines.extend(lines);
            frame.dots.extend(dots);
        }
        frame
    }

    /// Lifts a place in world metres to the terrain that is shown; `None` outside it.
    pub(super) fn lift_point(&self, point: Point) -> Option<[f32; 3]> {
        let painted = self.painting.latest.as_ref()?;
        let (Extent { width, height }, Point { x: west, y: north }) =
            (painted.terrain.grid.extent(), painted.terrain.grid.north_west_corner());
        // World coordinates start at the north-western corner and grow to the south; those of the view start at the
        // centre.
        let at = [(point.x - west - 0.5 * width) as f32, (0.5 * height - (point.y - north)) as f32];
        let z = painted.now.height_at(at)?;
        Some([at[0], at[1], z * self.exaggeration()])
    }

    /// Returns true if moving droplets are shown.
    pub(super) fn is_raining(&self) -> bool {
        self.settings.droplets && (self.snapshot.playing || self.now < self.viewport.shower)
    }

    /// Returns the moving droplets and the springs.
    pub(super) fn collect_dots(&self) -> Vec<ViewDot> {
        let Some(painted) = &self.painting.latest else { return Vec::new() };
        let terrain = &painted.terrain;
        let mut dots = Vec::new();
        let mut add = |table: &str, colour: [f32; 4], pixels: f32| {
            let Some(table) = terrain.tables.get(table) else { return };
            let (Some(rows), Some(columns)) = (table.int_column("row"), table.int_column("column")) else { return };
            let stride = rows.len().div_ceil(MAX_DOTS).max(1);
            let places = rows
                .iter()
                .zip(columns)
                .step_by(stride)
                .map(|(i, j)| [*j, *i].map(|x| (x as f64 + 0.5) * terrain.grid.cell).into());
            dots.extend(places.filter_map(|place| self.lift_point(place)).map(|at| ViewDot { at, colour, pixels }));
        };
        add(thalweg_noise::input_tables::springs::SPRINGS, [0.2, 0.6, 1.0, 1.0], 7.0);
        // Each droplet runs along its path repeatedly, with a phase of its own.
        let paths = if self.is_raining() { painted.paths.as_slice() } else { &[] };
        for (number, path) in paths.iter().enumerate().filter(|(_, path)| path.len() > 1) {
            // The phases differ by 37 points from path to path, so that the droplets do not move in step.
            let head = (self.now * PATH_POINTS_PER_SECOND) as usize + number * 37;
            for back in 0..TAIL_POINTS {
                let fade = 1.0 - back as f32 / TAIL_POINTS as f32;
                let at = path[(head + path.len() - back.min(path.len() - 1)) % path.len()];
                if let Some(at) = self.lift_point(at) {
                    dots.push(ViewDot {
                        at,
                        colour: [DROPLET_COLOUR[0], DROPLET_COLOUR[1], DROPLET_COLOUR[2], fade],
                        pixels: 1.5 + 1.5 * fade,
                    });
                }
            }
        }
        if let Some(at) = self.snapshot.trace.points.last().and_then(|point| self.lift_point(point.place)) {
            dots.push(ViewDot { at, colour: PATH_COLOUR, pixels: 6.0 });
        }
        dots
    }

    /// Returns the path of the last droplet and the ring of the brush.
    pub(super) fn collect_lines(&self) -> Vec<ViewLine> {
        let path: Vec<_> = self.snapshot.trace.points.iter().filter_map(|point| self.lift_point(point.place)).collect();
        let line = |pair: &[[f32; 3]], colour, pixels| ViewLine { from: pair[0], to: pair[1], colour, pixels };
        let mut lines: Vec<ViewLine> = path.windows(2).map(|pair| line(pair, PATH_COLOUR, 2.5)).collect();
        let radius = if self.tools.tool == Some(Tool::Spring) { 0.0 } else { self.tools.radius() };
        if let Some(cursor) = self.pointer.cursor.filter(|_| radius > 0.0) {
            // The ring is a polygon of 48 sides; its last point repeats the first one and closes it.
            let ring = (0..=48).filter_map(|n| {
                let angle = f64::from(n) * std::f64::consts::TAU / 48.0;
                let Point { x, y } = cursor.place;
                self.lift_point(Point::new(x + radius * angle.cos(), y + radius * angle.sin()))
            });
            let ring: Vec<_> = ring.collect();
            lines.extend(ring.windows(2).map(|pair| line(pair, RING_COLOUR, 1.5)));
        }
        lines
    }
}
