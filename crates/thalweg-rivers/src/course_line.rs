//! Draws the line of one course: its displaced and smoothed points, as far as the course's end.

use crate::claims::{CellEntry, Claims};
use crate::course::{CourseEnd, RiverCourse, node_centre};
use crate::line_cells::visit_line_cells;
use crate::untangle::CourseLine;
use thalweg_core::{Cell, Size};

/// Least distance between a line's points and the borders between cells, in cells.
const BORDER_CLEARANCE_CELLS: f64 = 1.0 / 4096.0;

/// Moves a point away from the borders of its cell, so that rounding in a file cannot move it into the next cell.
/// Points on the edge of the grid stay there.
pub(super) fn keep_off_borders(place: Cell<f64>, size: Size) -> Cell<f64> {
    Cell::from_axes(|axis| {
        let x = place[axis];
        match x.floor() {
            _ if x <= 0.0 || x >= size[axis] as f64 => x,
            cell => x.clamp(cell + BORDER_CLEARANCE_CELLS, cell + 1.0 - BORDER_CLEARANCE_CELLS),
        }
    })
}

impl Claims<'_> {
    /// Returns the current position of point `at` of a course.
    fn point_position(&self, course: usize, at: usize) -> Cell<f64> {
        let RiverCourse { nodes, tail, end, .. } = &self.layout.courses[course];
        match (nodes.get(at), tail, end) {
            (Some(node), _, _) => {
                let share = self.share[self.first[course] as usize + at];
                let (raw, shift) =
                    (node_centre(self.layout.tree, *node, self.layout.site), self.layout.shift[*node as usize]);
                Cell::from_axes(|k| raw[k] + share * shift[k])
            }
            (None, Some(tail), _) => *tail,
            (None, None, CourseEnd::Joins(node)) => {
                let (other, at) = self.home[*node as usize];
                self.point_position(other as usize, at as usize)
            }
            _ => Cell::default(),
        }
    }

    /// Returns the points of a course after one pass of corner cutting (Chaikin 1974,
    /// doi:10.1016/0146-664X(74)90028-8), with their positions along the course.
    pub fn smooth_course(&self, course: usize) -> Vec<(Cell<f64>, f64)> {
        let places: Vec<Cell<f64>> =
            (0..self.layout.courses[course].len()).map(|at| self.point_position(course, at)).collect();
        let mix = |at: usize, share: f64| {
            let (a, b) = (places[at], places[at + 1]);
            (Cell::from_axes(|k| a[k] + share * (b[k] - a[k])), at as f64 + share)
        };
        let last = places.len() - 1;
        let mut line = vec![(places[0], 0.0)];
        if last == 1 {
            line.push(mix(0, 0.5));
        } else {
            // The two points at a quarter and three quarters of each segment replace its corners.
            line.extend((0..last).flat_map(|at| [mix(at, 0.25), mix(at, 0.75)]));
        }
        line.push((places[last], last as f64));
        let size = self.cells.size();
        line.into_iter().map(|(place, along)| (keep_off_borders(place, size), along)).collect()
    }

    /// Draws a course's line as far as its end, claims the cells that it passes, and records conflicts.
    pub fn draw_line(&mut self, course: usize) -> CourseLine {
        let drawn = self.smooth_course(course);
        let mut line = CourseLine { places: Vec::new(), path: Vec::new(), own: Vec::new(), joins: None };
        let cell = |place: Cell<f64>| place.map(|x| x.floor() as i64);
        'line: for (n, (place, along)) in drawn.iter().enumerate() {
            let Some((before, start)) = line.places.last().copied() else {
                line.places.push((*place, *along));
                let _ = self.enter_cell(course, cell(*place), *along, &mut line);
                continue;
            };
            let mut passed = Vec::new();
            visit_line_cells(before, *place, |cell| passed.push(cell));
            let own = line.path.len();
            for at in passed {
                if let CellEntry::AtEnd = self.enter_cell(course, at, start, &mut line) {
                    // A tributary ends on the line of the river that it joins. `end_at_junction` draws the last segment
                    // through other cells, so release these.
                    if matches!(self.layout.courses[course].end, CourseEnd::Joins(_)) {
                        for (k, _) in line.path.drain(own.min(line.path.len())..) {
                            self.cells[k as usize] = 0;
                        }
                    } else {
                        // The last point is moved well inside the water's cell, so that rounding in a file cannot leave
                        // it on land.
                        let inside = |k: usize| place[k].clamp(at[k] as f64 + 0.25, at[k] as f64 + 0.75);
                        line.places.push((Cell::from_axes(inside), *along));
                    }
                    break 'line;
                }
            }
            let is_end = n + 1 == drawn.len() && matches!(self.layout.courses[course].end, CourseEnd::Joins(_));
            if !is_end {
                line.places.push((*place, *along));
            }
        }
        if let CourseEnd::Joins(node) = self.layout.courses[course].end {
            self.end_at_junction(course, node, &mut line);
        }
        self.record_unsuitable_cells(course, &line.path);
        self.drawn_lines.push(line.places.clone());
        line
    }
}
