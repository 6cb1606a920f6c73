//! Mouse input on the view: turning the camera, moving the sun, and working on the ground.

use eframe::egui::{self, CursorIcon, Key, PointerButton, Rect, Response, Ui};
use thalweg_core::{Extent, Point};

use glam::Vec3;

use crate::app::pointer::Cursor;
use crate::app::state::Studio;
use crate::session::WorkerOrder;
use crate::ui::appearance::CompareMode;

/// The time between two strokes of one drag, in seconds.
const STROKE_INTERVAL_S: f64 = 0.08;

impl Studio {
    /// Returns the part of `rect` that the camera fills, the pointer's position in it from −1 to 1, and its aspect
    /// ratio.
    pub(super) fn locate_in_pane(&self, rect: Rect, pointer: egui::Pos2) -> (Rect, [f32; 2], f32) {
        // Side by side, each half has a picture of its own with its own coordinates.
        let mut pane = rect;
        if self.settings.compare == CompareMode::Beside && !self.viewport.held_before {
            let middle = rect.center().x;
            if pointer.x < middle { pane.set_right(middle) } else { pane.set_left(middle) }
        }
        let x = 2.0 * (pointer.x - pane.left()) / pane.width().max(1.0) - 1.0;
        let y = 1.0 - 2.0 * (pointer.y - pane.top()) / pane.height().max(1.0);
        (pane, [x, y], pane.width().max(1.0) / pane.height().max(1.0))
    }

    /// Returns the place on the ground under a point of the window.
    pub(super) fn ground_at(&self, rect: Rect, pointer: egui::Pos2) -> Option<Cursor> {
        let painted = self.painting.latest.as_ref()?;
        let (_, ndc, aspect) = self.locate_in_pane(rect, pointer);
        let ray = self.camera().ray_through(ndc, aspect);
        let at = painted.now.intersect_ray(&ray, self.exaggeration())?;
        let cell = painted.now.cell_at([at[0], at[1]])?;
        let (Extent { width, height }, Point { x: west, y: north }) =
            (painted.terrain.grid.extent(), painted.terrain.grid.north_west_corner());
        let east = (f64::from(at[0]) + 0.5 * width).clamp(0.0, width);
        let south = (0.5 * height - f64::from(at[1])).clamp(0.0, height);
        let place = Point::new(west + east, north + south);
        Some(Cursor { at, place, cell })
    }

    pub(super) fn apply_mouse_input(&mut self, ui: &Ui, response: &Response) {
        let rect = response.rect;
        let pointer = response.hover_pos().or(response.interact_pointer_pos());
        self.pointer.cursor = pointer.and_then(|pointer| self.ground_at(rect, pointer));
        let delta = response.drag_delta();
        let moved = [delta.x, delta.y];
        let (modifiers, scroll, dt, now) =
            ui.input(|input| (input.modifiers, input.smooth_scroll_delta().y, input.stable_dt, input.time));
        let size = [rect.width(), rect.height()];
        // Two fingers zoom and move, wherever they are; this cancels what the first finger started.
        if let Some(touch) = ui.input(|input| input.multi_touch())
            && rect.contains(touch.center_pos)
        {
            let toward = self.ground_at(rect, touch.center_pos).map(|cursor| cursor.at);
            let [x, y] = [touch.translation_delta.x, touch.translation_delta.y];
            self.camera_mut().zoom(touch.zoom_delta, toward);
            self.camera_mut().pan([x, y], size);
            self.pointer.drag.points.clear();
            self.pointer.drag.begun = false;
            self.pointer.drag.touched = Some(now);
            self.pointer.cursor = None;
            return;
        }
        // After a two-finger gesture, the last finger must not turn the view before it is lifted.
        if self.pointer.drag.touched.is_some_and(|touched| now - touched < 0.3) {
            return;
        }
        // The line of the swipe can be taken within 8 points on either side.
        let near_line = |studio: &Self, pointer: egui::Pos2| {
            let line = rect.left() + studio.settings.swipe * rect.width();
            studio.settings.compare == CompareMode::Swipe && (pointer.x - line).abs() < 8.0
        };
        if response.drag_started_by(PointerButton::Primary) {
            self.pointer.drag.begun = false;
            self.pointer.drag.swiping = pointer.is_some_and(|pointer| near_line(self, pointer));
        }
        if response.dragged_by(PointerButton::Primary) {
            // The order of these branches decides what a drag means: the line of the swipe, modifier keys, pen, brush,
            // then the camera.
            if self.pointer.drag.swiping {
                self.settings.swipe = (self.settings.swipe + delta.x / rect.width()).clamp(0.02, 0.98);
            } else if modifiers.shift {
                let sun = &mut self.settings.look.sun;
                sun.azimuth = (sun.azimuth + 0.5 * f64::from(delta.x)).rem_euclid(360.0);
                // The limits keep the sun above the horizon.
                sun.altitude = (sun.altitude - 0.3 * f64::from(delta.y)).clamp(5.0, 90.0);
            } else if modifiers.command {
                self.camera_mut().pan(moved, size);
            } else if self.tools.pen.sketch_kind().is_some() {
                if let Some(cursor) = self.pointer.cursor {
                    self.pointer.drag.penning = true;
                    self.tools.pen.add_dragged_point(cursor.place);
                }
            } else if self.tools.is_brush() {
                self.extend_stroke(now);
            } else if self.cameras.shows_map {
                self.camera_mut().pan(moved, size);
            } else {
                self.camera_mut().orbit(moved);
            }
        }
        if response.drag_stopped_by(PointerButton::Primary) {
            self.send_stroke_points(now);
            self.pointer.drag.begun = false;
            // A press that was too long for a click only starts a line.
            if std::mem::take(&mut self.pointer.drag.penning) && self.tools.pen.line.len() > 1 {
                self.pen_done();
            }
        }
        if response.dragged_by(PointerButton::Middle) {
            self.camera_mut().pan(moved, size);
        }
        if response.dragged_by(PointerButton::Secondary) {
            if self.cameras.shows_map {
                self.camera_mut().pan(moved, size);
            } else {
                self.camera_mut().look_around(moved);
            }
        }
        if self.is_flying(ui) {
            // The speed is 0.5 of the distance per second, 2 with Shift; a frame counts as 0.1 s at most, so that a
            // pause causes no jump.
            let speed = self.cameras.orbit.distance * if modifiers.shift { 2.0 } else { 0.5 } * dt.min(0.1);
            let axis = |plus: Key, minus: Key| {
                ui.input(|input| f32::from(i8::from(input.key_down(plus)) - i8::from(input.key_down(minus))))
            };
            let step = [axis(Key::D, Key::A), axis(Key::W, Key::S), axis(Key::E, Key::Q)];
            if step != [0.0; 3] {
                self.cameras.moved = true;
                self.cameras.orbit.fly(Vec3::from(step) * speed);
                ui.ctx().request_repaint();
            }
        }
        if response.contains_pointer() && scroll != 0.0 {
            let toward = self.pointer.cursor.map(|cursor| cursor.at);
            // The exponential makes zooming in and out by the same amount of scrolling cancel.
            self.camera_mut().zoom((0.003 * scroll).exp(), toward);
        }
        if response.clicked_by(PointerButton::Primary)
            && let Some(cursor) = self.pointer.cursor
        {
            // Without an active tool a click draws with the pen or drops a droplet.
            match self.tools.make_stroke(vec![cursor.place]) {
                None if self.tools.pen.nib.is_some() => self.pen_click(cursor.place),
                None => self.send_tool_order(WorkerOrder::Drop(cursor.place)),
                Some(stroke) => self.send_tool_order(WorkerOrder::Stroke(stroke)),
            }
        }
        // Flying keeps the direction of the view and lifts the camera; otherwise the camera first orbits upward.
        if let Some(painted) = &self.painting.latest {
            let exaggeration = self.exaggeration();
            if self.is_flying(ui) {
                self.cameras.orbit.lift_above(&painted.now, exaggeration);
            } else {
                self.cameras.orbit.keep_above(&painted.now, exaggeration);
            }
        }
        let icon = match self.tools.tool {
            _ if pointer.is_some_and(|pointer| near_line(self, pointer)) => CursorIcon::ResizeHorizontal,
            None if self.tools.pen.nib.is_none() => CursorIcon::Default,
            _ => CursorIcon::Crosshair,
        };
        if response.hovered() {
            ui.ctx().set_cursor_icon(icon);
        }
    }

    /// Returns true while the right button is down, when W, A, S, D, Q and E fly.
    pub fn is_flying(&self, ui: &Ui) -> bool {
        !self.cameras.shows_map && ui.input(|input| input.pointer.secondary_down())
    }

    /// Moves the brush to the cursor, and sends the collected points if it is time.
    pub(super) fn extend_stroke(&mut self, now: f64) {
        let Some(cursor) = self.pointer.cursor else { return };
        // The points are at least a quarter of the radius apart; a resting cursor adds one when nothing has been sent
        // for 0.32 s.
        let spacing = 0.25 * self.tools.radius();
        let far = |last: &Point| (last.x - cursor.place.x).hypot(last.y - cursor.place.y) >= spacing;
        if self.pointer.drag.points.last().is_none_or(far) || now - self.pointer.drag.sent > 4.0 * STROKE_INTERVAL_S {
            self.pointer.drag.points.push(cursor.place);
        }
        if now - self.pointer.drag.sent >= STROKE_INTERVAL_S {
            self.send_stroke_points(now);
        }
    }

    pub(super) fn send_stroke_points(&mut self, now: f64) {
        let points = std::mem::take(&mut self.pointer.drag.points);
        if points.is_empty() {
            return;
        }
        self.pointer.drag.sent = now;
        if let Some(stroke) = self.tools.make_stroke(points) {
            // A drag is one stroke for undo and for the marks, however long it takes.
            let is_part = std::mem::replace(&mut self.pointer.drag.begun, true);
            self.send_tool_order(if is_part { WorkerOrder::DragStroke(stroke) } else { WorkerOrder::Stroke(stroke) });
        }
    }
}
