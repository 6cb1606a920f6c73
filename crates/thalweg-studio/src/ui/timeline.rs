//! The timeline, a row at the bottom: the turns side by side, the progress of the run, and the positions to which it
//! can return.

use eframe::egui::{self, Align2, Color32, DragValue, FontId, RichText, Sense, Stroke, Ui, pos2, vec2};
use thalweg_models::model::YEAR;

use crate::session::{INITIAL_STEPS_PER_SECOND, SessionSnapshot, WorkerOrder};
use crate::ui::draw_row;

/// The state of the row.
pub struct Timeline {
    /// The number of steps that one press of the button takes.
    steps: u32,
    /// The limit of steps per second; `None` without a limit.
    pace: Option<f64>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self { steps: 1, pace: Some(INITIAL_STEPS_PER_SECOND) }
    }
}

const DONE_COLOUR: Color32 = Color32::from_rgb(74, 110, 138);
const AHEAD_COLOUR: Color32 = Color32::from_rgb(52, 56, 62);
const MARK_COLOUR: Color32 = Color32::from_rgb(230, 200, 120);

impl Timeline {
    /// Draws the row, and returns an order for the worker.
    pub fn show(&mut self, ui: &mut Ui, snapshot: &SessionSnapshot) -> Option<WorkerOrder> {
        let mut order = None;
        draw_row(ui, |ui| {
            if ui.button("Step").on_hover_text("Runs this number of steps, then stops").clicked() {
                order = Some(WorkerOrder::Step(self.steps));
            }
            ui.add(DragValue::new(&mut self.steps).range(1..=100_000)).accessible_name("steps to take");
            if ui.button("From the start").on_hover_text("Runs the recipe again from its start").clicked() {
                order = Some(WorkerOrder::Restart);
            }
            ui.separator();
            let mut is_limited = self.pace.is_some();
            if ui.checkbox(&mut is_limited, "at most").changed() {
                self.pace = is_limited.then_some(INITIAL_STEPS_PER_SECOND);
                order = Some(WorkerOrder::Pace(self.pace));
            }
            let mut pace = self.pace.unwrap_or(INITIAL_STEPS_PER_SECOND);
            let drag = DragValue::new(&mut pace).range(0.1..=1000.0).speed(0.2).suffix(" steps/s");
            if ui.add_enabled(is_limited, drag).accessible_name("steps per second").changed() {
                self.pace = Some(pace);
                order = Some(WorkerOrder::Pace(self.pace));
            }
            ui.separator();
            ui.label(describe_progress(snapshot));
        });
        // A click on the bar takes precedence over the buttons; one order per frame is enough.
        draw_turn_bar(ui, snapshot).or(order)
    }
}

/// Describes the progress of the run in words.
fn describe_progress(snapshot: &SessionSnapshot) -> RichText {
    let mut words = match snapshot.turns.get(snapshot.turn) {
        Some(turn) if !snapshot.done => {
            format!("{} · step {} of {}", turn.title, snapshot.step, snapshot.steps)
        }
        _ => "done".to_string(),
    };
    if let Some(fingerprint) = &snapshot.fingerprint {
        words += &format!(" · fingerprint {fingerprint}");
    }
    if snapshot.turns.last().is_some_and(|turn| turn.level > 0) {
        words += &format!(" · {} cells", snapshot.grid.rows().max(snapshot.grid.cols()));
    }
    if snapshot.playing && snapshot.pace > 0.0 {
        words += &format!(" · {:.1}/s", snapshot.pace);
    }
    if let Some(years) = snapshot.years.filter(|years| *years > 0.0) {
        words += &format!(" · {}", format_years(years));
    }
    if snapshot.particles > 0 {
        words += &format!(" · {} droplets", group_digits(snapshot.particles));
    }
    if let Some(left) = snapshot.seconds_left.filter(|_| !snapshot.done) {
        words += &format!(" · {} left", format_duration(left));
    }
    RichText::new(words)
}

/// The number of seconds in a day.
const SECONDS_PER_DAY: f64 = 86_400.0;

/// Formats a simulated time in years.
fn format_years(years: f64) -> String {
    match years {
        y if y >= 1e6 => format!("{:.2} Ma", y / 1e6),
        y if y >= 1e4 => format!("{:.1} ka", y / 1e3),
        y if y >= 1.0 => format!("{y:.0} years"),
        y => format!("{:.1} days", y * YEAR / SECONDS_PER_DAY),
    }
}

fn format_duration(seconds: f64) -> String {
    match seconds.round() as u64 {
        s if s >= 3600 => format!("{} h {:02} min", s / 3600, s / 60 % 60),
        s if s >= 60 => format!("{} min {:02} s", s / 60, s % 60),
        s => format!("{s} s"),
    }
}

/// Formats a number in groups of three digits.
pub fn group_digits(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// Draws the bar of turns. All have the same width, because a short one matters as much; saved positions can be
/// clicked.
fn draw_turn_bar(ui: &mut Ui, snapshot: &SessionSnapshot) -> Option<WorkerOrder> {
    let (response, painter) = ui.allocate_painter(vec2(ui.available_width(), 22.0), Sense::click_and_drag());
    let area = response.rect.shrink2(vec2(2.0, 2.0));
    let turns = &snapshot.turns;
    let count = turns.len().max(1) as f32;
    let width = area.width() / count;
    // The position on the bar is the number of the turn plus the completed fraction of its steps.
    let share = |number: usize, step: u32| {
        let steps = turns.get(number).map_or(1, |turn| turn.steps).max(1);
        (number as f32 + (step as f32 / steps as f32).min(1.0)).min(count)
    };
    let x = |share: f32| area.left() + share * width;
    let here = if snapshot.done { count } else { share(snapshot.turn, snapshot.step) };
    painter.rect_filled(area, 3.0, AHEAD_COLOUR);
    painter.rect_filled(egui::Rect::from_min_max(area.min, pos2(x(here), area.bottom())), 3.0, DONE_COLOUR);
    for (number, turn) in turns.iter().enumerate() {
        let left = x(number as f32);
        if number > 0 {
            // The line between turns is wider where a new level begins.
            let line = if turns[number - 1].level < turn.level { 3.0 } else { 1.0 };
            painter
                .line_segment([pos2(left, area.top()), pos2(left, area.bottom())], Stroke::new(line, Color32::BLACK));
        }
        let colour = if turn.muted { Color32::from_gray(110) } else { Color32::from_gray(215) };
        let inner = egui::Rect::from_min_max(pos2(left, area.top()), pos2(left + width, area.bottom()));
        painter.with_clip_rect(inner).text(
            inner.left_center() + vec2(6.0, 0.0),
            Align2::LEFT_CENTER,
            &turn.title,
            FontId::proportional(11.0),
            colour,
        );
    }
    for mark in &snapshot.marks {
        let at = x(share(mark.turn, mark.step));
        painter.line_segment([pos2(at, area.bottom() - 5.0), pos2(at, area.bottom())], Stroke::new(2.0, MARK_COLOUR));
    }
    let response = response.on_hover_text("Click to go back to the nearest mark");
    // Only the end of a drag counts, so that the run does not jump back repeatedly meanwhile.
    let pointer = response.interact_pointer_pos().filter(|_| response.clicked() || response.drag_stopped())?;
    let distance = |mark: &thalweg_sim::session::Position| (x(share(mark.turn, mark.step)) - pointer.x).abs();
    let nearest = snapshot.marks.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
    nearest.map(|mark| WorkerOrder::Back(*mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_times_read_well() {
        assert_eq!(group_digits(0), "0");
        assert_eq!(group_digits(1234), "1 234");
        assert_eq!(group_digits(1_000_000), "1 000 000");
        assert_eq!([format_years(2.5e6), format_years(3.0), format_years(0.5)], ["2.50 Ma", "3 years", "182.6 days"]);
        assert_eq!(format_duration(3725.0), "1 h 02 min");
        assert_eq!(format_duration(59.6), "1 min 00 s");
    }
}
