//! The view in the middle of the window: camera, tools, probe, and what is drawn over it.

use eframe::egui::{
    self, Align2, Color32, CursorIcon, FontId, Key, PointerButton, Rect, Response, Sense, Stroke as Pen, Ui, pos2, vec2,
};
use thalweg::products::slope;
use thalweg::recipe::strokes::Tool;
use thalweg::terrain::field::Field;
use thalweg::terrain::{Cells, Terrain};

use crate::app::Studio;
use crate::look::{self, Compare, short};
use crate::scene::{Frame, Part};
use crate::view::camera::Camera;
use crate::view::look::{Dot, Line, Look};
use crate::worker::Order;

/// Green, as the droplets of the first programs were.
const DROPLET: [f32; 4] = [0.35, 1.0, 0.35, 1.0];
/// The path of a single droplet.
const PATH: [f32; 4] = [1.0, 0.85, 0.2, 1.0];
/// The ring of a brush.
const RING: [f32; 4] = [1.0, 1.0, 1.0, 0.9];
/// Most things of a table that are drawn.
const MOST_DOTS: usize = 40_000;
/// Steps that a moving droplet takes in a second, and how many are behind it in its tail.
const PACE: f64 = 60.0;
const TAIL: usize = 4;
/// How much farther off the land is seen when two views share the window.
const BESIDE: f32 = 1.8;
/// Seconds between two strokes of one drag.
const DABS: f64 = 0.08;

/// What the mouse has begun.
#[derive(Default)]
pub struct Drag {
    /// Points of a brush that were not sent yet, in metres from the north-western corner.
    points: Vec<[f64; 2]>,
    /// When the last were sent.
    sent: f64,
    /// The swipe's line is being moved.
    swiping: bool,
}

/// Where the cursor is on the ground.
#[derive(Debug, Clone, Copy)]
pub struct Cursor {
    /// Metres east and north of the middle, and exaggerated height.
    pub at: [f32; 3],
    /// Metres from the north-western corner.
    pub place: [f64; 2],
    /// Row and column.
    pub cell: [usize; 2],
}

impl Studio {
    /// Draws the view into all that is left of the window.
    pub fn viewport(&mut self, ui: &mut Ui) {
        let rect = ui.available_rect_before_wrap();
        let response = ui.allocate_rect(rect, Sense::click_and_drag());
        if rect.width() < 2.0 || rect.height() < 2.0 {
            return;
        }
        self.mouse(ui, &response);
        let scale = ui.ctx().pixels_per_point();
        let size = [rect.width(), rect.height()].map(|x| ((x * scale).round() as u32).max(1));
        let frame = self.frame(size);
        match self.scene.as_mut().map(|scene| (scene.show(frame), scene.lost())) {
            Some((Some(texture), false)) => {
                let whole = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
                ui.painter().image(texture, rect, whole, Color32::WHITE);
            }
            Some((_, true)) => words(
                ui,
                rect.center(),
                Align2::CENTER_CENTER,
                "The graphics device was lost. Save the recipe (Ctrl+S) and open the studio again.",
            ),
            _ => words(ui, rect.center(), Align2::CENTER_CENTER, "No GPU: the land is computed, but cannot be shown."),
        }
        self.over(ui, rect);
        if self.is_raining() && self.painted.as_ref().is_some_and(|painted| !painted.paths.is_empty()) {
            ui.ctx().request_repaint_after(std::time::Duration::from_millis(30));
        }
    }

    /// The frame to be drawn, so many pixels large.
    pub fn frame(&self, [width, height]: [u32; 2]) -> Frame {
        let mut frame = Frame { size: [width, height], ..Frame::default() };
        let Some(painted) = &self.painted else { return frame };
        let look = Look { exaggeration: self.exaggeration(), ramp: self.recipe.ramp, ..self.settings.look };
        let part = |slot: usize, area: [u32; 4], clip: Option<[u32; 4]>| Part {
            slot,
            version: painted.version,
            camera: self.camera(),
            look,
            area,
            clip,
            marked: slot == 0,
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
        }
        frame
    }

    /// The camera in use.
    pub fn camera(&self) -> Camera {
        let mut camera = if self.map { self.map_camera } else { self.orbit_camera };
        if self.settings.compare == Compare::Beside && !self.held_before {
            // Half as wide a view must hold as much.
            camera.distance *= BESIDE;
        }
        camera
    }

    /// Puts another camera in the place of the one in use.
    pub fn set_camera(&mut self, camera: Camera) {
        *self.camera_mut() = camera;
    }

    fn camera_mut(&mut self) -> &mut Camera {
        self.moved = true;
        if self.map { &mut self.map_camera } else { &mut self.orbit_camera }
    }

    /// The part of `rect` that the camera fills, where the cursor is in it, from −1 to 1, and the aspect.
    fn pane(&self, rect: Rect, pointer: egui::Pos2) -> (Rect, [f32; 2], f32) {
        let mut pane = rect;
        if self.settings.compare == Compare::Beside && !self.held_before {
            let middle = rect.center().x;
            if pointer.x < middle { pane.set_right(middle) } else { pane.set_left(middle) }
        }
        let x = 2.0 * (pointer.x - pane.left()) / pane.width().max(1.0) - 1.0;
        let y = 1.0 - 2.0 * (pointer.y - pane.top()) / pane.height().max(1.0);
        (pane, [x, y], pane.width().max(1.0) / pane.height().max(1.0))
    }

    /// Where a point of the window lies on the ground.
    fn ground_at(&self, rect: Rect, pointer: egui::Pos2) -> Option<Cursor> {
        let painted = self.painted.as_ref()?;
        let (_, ndc, aspect) = self.pane(rect, pointer);
        let ray = self.camera().ray(ndc, aspect);
        let at = painted.now.hit(&ray, self.exaggeration())?;
        let cell = painted.now.cell_at([at[0], at[1]])?;
        let [height, width] = painted.terrain.grid.extent();
        let place =
            [(f64::from(at[0]) + 0.5 * width).clamp(0.0, width), (0.5 * height - f64::from(at[1])).clamp(0.0, height)];
        Some(Cursor { at, place, cell })
    }

    fn mouse(&mut self, ui: &Ui, response: &Response) {
        let rect = response.rect;
        let pointer = response.hover_pos().or(response.interact_pointer_pos());
        self.cursor = pointer.and_then(|pointer| self.ground_at(rect, pointer));
        let delta = response.drag_delta();
        let moved = [delta.x, delta.y];
        let (modifiers, scroll, dt, now) =
            ui.input(|input| (input.modifiers, input.smooth_scroll_delta().y, input.stable_dt, input.time));
        let size = [rect.width(), rect.height()];
        let near_line = |studio: &Self, pointer: egui::Pos2| {
            let line = rect.left() + studio.settings.swipe * rect.width();
            studio.settings.compare == Compare::Swipe && (pointer.x - line).abs() < 8.0
        };
        if response.drag_started_by(PointerButton::Primary) {
            self.drag.swiping = pointer.is_some_and(|pointer| near_line(self, pointer));
        }
        if response.dragged_by(PointerButton::Primary) {
            if self.drag.swiping {
                self.settings.swipe = (self.settings.swipe + delta.x / rect.width()).clamp(0.02, 0.98);
            } else if modifiers.shift {
                let sun = &mut self.settings.look.sun;
                sun.azimuth = (sun.azimuth + 0.5 * f64::from(delta.x)).rem_euclid(360.0);
                sun.altitude = (sun.altitude - 0.3 * f64::from(delta.y)).clamp(5.0, 90.0);
            } else if modifiers.command {
                self.camera_mut().pan(moved, size);
            } else if self.hands.is_brush() {
                self.dab(now);
            } else if self.map {
                self.camera_mut().pan(moved, size);
            } else {
                self.camera_mut().orbit(moved);
            }
        }
        if response.drag_stopped_by(PointerButton::Primary) {
            self.send_dabs(now);
        }
        if response.dragged_by(PointerButton::Middle) {
            self.camera_mut().pan(moved, size);
        }
        if response.dragged_by(PointerButton::Secondary) {
            if self.map {
                self.camera_mut().pan(moved, size);
            } else {
                self.camera_mut().turn(moved);
            }
        }
        if self.is_flying(ui) {
            let speed = self.orbit_camera.distance * if modifiers.shift { 2.0 } else { 0.5 } * dt.min(0.1);
            let axis = |plus: Key, minus: Key| {
                ui.input(|input| f32::from(i8::from(input.key_down(plus)) - i8::from(input.key_down(minus))))
            };
            let step = [axis(Key::D, Key::A), axis(Key::W, Key::S), axis(Key::E, Key::Q)];
            if step != [0.0; 3] {
                self.moved = true;
                self.orbit_camera.fly(step.map(|x| x * speed));
                ui.ctx().request_repaint();
            }
        }
        if response.contains_pointer() && scroll != 0.0 {
            let toward = self.cursor.map(|cursor| cursor.at);
            self.camera_mut().zoom((0.003 * scroll).exp(), toward);
        }
        if response.clicked_by(PointerButton::Primary)
            && let Some(cursor) = self.cursor
        {
            match self.hands.stroke(vec![cursor.place]) {
                None => self.hand(Order::Drop(cursor.place)),
                Some(stroke) => self.hand(Order::Stroke(stroke)),
            }
        }
        if let Some(painted) = &self.painted {
            let exaggeration = self.exaggeration();
            if self.is_flying(ui) {
                self.orbit_camera.lift_above(&painted.now, exaggeration);
            } else {
                self.orbit_camera.keep_above(&painted.now, exaggeration);
            }
        }
        let icon = match self.hands.tool {
            _ if pointer.is_some_and(|pointer| near_line(self, pointer)) => CursorIcon::ResizeHorizontal,
            None => CursorIcon::Default,
            Some(_) => CursorIcon::Crosshair,
        };
        if response.hovered() {
            ui.ctx().set_cursor_icon(icon);
        }
    }

    /// Whether the right button makes W, A, S, D, Q and E fly.
    pub fn is_flying(&self, ui: &Ui) -> bool {
        !self.map && ui.input(|input| input.pointer.secondary_down())
    }

    /// Takes the brush to where the cursor is, and sends what has come together if it is time.
    fn dab(&mut self, now: f64) {
        let Some(cursor) = self.cursor else { return };
        let spacing = 0.25 * self.hands.radius();
        let far = |last: &[f64; 2]| (last[0] - cursor.place[0]).hypot(last[1] - cursor.place[1]) >= spacing;
        if self.drag.points.last().is_none_or(far) || now - self.drag.sent > 4.0 * DABS {
            self.drag.points.push(cursor.place);
        }
        if now - self.drag.sent >= DABS {
            self.send_dabs(now);
        }
    }

    fn send_dabs(&mut self, now: f64) {
        let points = std::mem::take(&mut self.drag.points);
        if points.is_empty() {
            return;
        }
        self.drag.sent = now;
        if let Some(stroke) = self.hands.stroke(points) {
            self.hand(Order::Stroke(stroke));
        }
    }

    /// Lifts a place in metres from the north-western corner to the shown ground.
    fn lifted(&self, place: [f64; 2]) -> Option<[f32; 3]> {
        let painted = self.painted.as_ref()?;
        let [height, width] = painted.terrain.grid.extent();
        let at = [(place[0] - 0.5 * width) as f32, (0.5 * height - place[1]) as f32];
        let z = painted.now.height_at(at)?;
        Some([at[0], at[1], z * self.exaggeration()])
    }

    /// Whether droplets are seen to run.
    fn is_raining(&self) -> bool {
        self.settings.droplets && (self.snapshot.playing || self.now < self.shower)
    }

    /// Moving droplets, and springs.
    fn dots(&self) -> Vec<Dot> {
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
                .map(|(i, j)| [*j, *i].map(|x| (x as f64 + 0.5) * terrain.grid.cell));
            dots.extend(places.filter_map(|place| self.lifted(place)).map(|at| Dot { at, colour, pixels }));
        };
        add(thalweg::given::springs::SPRINGS, [0.2, 0.6, 1.0, 1.0], 7.0);
        // Each runs along its path again and again, none in step with another.
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

    /// The path of the last droplet, and the ring of the brush.
    fn lines(&self) -> Vec<Line> {
        let path: Vec<_> = self.snapshot.trace.points.iter().filter_map(|point| self.lifted(point.place)).collect();
        let line = |pair: &[[f32; 3]], colour, pixels| Line { from: pair[0], to: pair[1], colour, pixels };
        let mut lines: Vec<Line> = path.windows(2).map(|pair| line(pair, PATH, 2.5)).collect();
        let radius = if self.hands.tool == Some(Tool::Spring) { 0.0 } else { self.hands.radius() };
        if let Some(cursor) = self.cursor.filter(|_| radius > 0.0) {
            let ring = (0..=48).filter_map(|n| {
                let angle = f64::from(n) * std::f64::consts::TAU / 48.0;
                self.lifted([cursor.place[0] + radius * angle.cos(), cursor.place[1] + radius * angle.sin()])
            });
            let ring: Vec<_> = ring.collect();
            lines.extend(ring.windows(2).map(|pair| line(pair, RING, 1.5)));
        }
        lines
    }

    /// Legend, probe, droplet's read-out and the swipe's line over the view.
    fn over(&mut self, ui: &Ui, rect: Rect) {
        let comparing = self.painted.as_ref().is_some_and(|painted| painted.before.is_some());
        match self.settings.compare {
            _ if self.held_before && comparing => {
                words(ui, rect.center_top() + vec2(0.0, 12.0), Align2::CENTER_TOP, "before")
            }
            Compare::Swipe if comparing => {
                let x = rect.left() + self.settings.swipe * rect.width();
                let line = [pos2(x, rect.top()), pos2(x, rect.bottom())];
                ui.painter().line_segment(line, Pen::new(2.0, Color32::WHITE));
                words(ui, pos2(x - 8.0, rect.top() + 12.0), Align2::RIGHT_TOP, "before");
                words(ui, pos2(x + 8.0, rect.top() + 12.0), Align2::LEFT_TOP, "now");
            }
            Compare::Beside if comparing => {
                let line = [pos2(rect.center().x, rect.top()), pos2(rect.center().x, rect.bottom())];
                ui.painter().line_segment(line, Pen::new(1.0, Color32::WHITE));
                words(ui, rect.left_top() + vec2(12.0, 12.0), Align2::LEFT_TOP, "before");
                words(ui, pos2(rect.center().x + 12.0, rect.top() + 12.0), Align2::LEFT_TOP, "now");
            }
            _ => {}
        }
        if let Some(legend) = self.painted.as_ref().and_then(|painted| painted.now.legend()) {
            look::legend(ui, rect, legend);
        }
        if let (Some(cursor), Some(painted)) = (self.cursor, &self.painted) {
            let text = probe(&painted.terrain, cursor, &painted.read);
            boxed(ui, rect.right_bottom() - vec2(12.0, 12.0), Align2::RIGHT_BOTTOM, &text);
        }
        if let Some(text) = self.read_out() {
            boxed(ui, rect.right_top() + vec2(-12.0, 12.0), Align2::RIGHT_TOP, &text);
        }
    }

    /// The followed droplet in numbers, at the point of its path nearest to the cursor.
    pub fn read_out(&self) -> Option<String> {
        let points = &self.snapshot.trace.points;
        let first = points.first()?;
        let near = |p: &&thalweg::models::droplets::TracePoint| {
            self.cursor.map_or(0.0, |c| (p.place[0] - c.place[0]).hypot(p.place[1] - c.place[1]))
        };
        let nearest = points.iter().min_by(|a, b| near(a).total_cmp(&near(b)))?;
        let point = if self.cursor.is_some() { nearest } else { points.last()? };
        let last = points.last()?;
        Some(format!(
            "droplet: {} steps, {:.0} m down\nhere: elevation {:.1} m\nspeed {}  water {}\ncarries {} of {} m³\n{} {} m³",
            points.len() - 1,
            first.elevation - last.elevation,
            point.elevation,
            short(point.speed as f32),
            short(point.water as f32),
            short(point.carried as f32),
            short(point.capacity as f32),
            if point.moved < 0.0 { "lays down" } else { "digs" },
            short(point.moved.abs() as f32)
        ))
    }
}

/// What is known of the ground under the cursor.
fn probe(terrain: &Terrain, cursor: Cursor, read: &[(String, String, Field<f32>)]) -> String {
    let [i, j] = cursor.cell;
    let [dx, dy] = slope::gradient(terrain, i, j);
    let mut text = format!(
        "{:.1} m · slope {:.1}°\nx {:.0} m  y {:.0} m",
        terrain.ground[(i, j)].metres(),
        dx.hypot(dy).atan().to_degrees(),
        cursor.place[0],
        cursor.place[1]
    );
    for (title, unit, values) in read.iter().filter(|(_, _, values)| values[(i, j)].is_finite()) {
        text += &format!("\n{title} {} {unit}", short(values[(i, j)]));
    }
    if let Some(loose) = &terrain.loose {
        text += &format!("\nloose {} m", short(loose[(i, j)].metres_f32()));
    }
    for (name, layer) in terrain.layers.iter().filter(|(_, layer)| layer.cells.size() == terrain.ground.size()) {
        let value = match &layer.cells {
            Cells::Height(field) => field[(i, j)].metres_f32(),
            Cells::Float(field) => field[(i, j)],
            Cells::Count(field) => field[(i, j)] as f32,
        };
        if value.is_finite() {
            let unit = if layer.unit == "1" { "" } else { layer.unit.as_str() };
            text += &format!("\n{name} {} {unit}", short(value));
        }
    }
    text
}

/// A line of words on the view.
fn words(ui: &Ui, at: egui::Pos2, anchor: Align2, text: &str) {
    boxed(ui, at, anchor, text);
}

/// Words in a dark box.
fn boxed(ui: &Ui, at: egui::Pos2, anchor: Align2, text: &str) {
    let galley = ui.painter().layout_no_wrap(text.to_string(), FontId::proportional(12.0), Color32::from_gray(238));
    let rect = anchor.anchor_size(at, galley.size() + vec2(16.0, 10.0));
    ui.painter().rect_filled(rect, 6.0, Color32::from_black_alpha(165));
    ui.painter().galley(rect.min + vec2(8.0, 5.0), galley, Color32::WHITE);
}
