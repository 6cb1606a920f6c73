//! Draws the line of each course so that no two lines share a cell.
//!
//! Each course starts as the chain of its cells' centres, which never meets another course's. Every point is then
//! displaced towards its smoothed and meandering position. Where the resulting line meets another line, itself, a
//! lake that is not its own, ground that is too high or the edge of the grid, the displacement is reduced nearby and
//! all lines are drawn again. Undisplaced lines do not meet, so the iteration ends at the latest when all
//! displacements are zero.

use crate::Site;
use crate::claims::Claims;
use crate::course::{CourseEnd, RiverCourse};
use crate::lakes::PlannedLakes;
use crate::tree::RiverTree;
use thalweg_core::{Cell, Field, Height};

/// Iterations after which all lines are left undisplaced.
// In the last two of these iterations all displacements are zero.
const MAX_ITERATIONS: usize = 40;

/// Iterations after which displacements near a remaining conflict are set to zero at once, not merely reduced.
const MAX_GRADUAL_ITERATIONS: usize = 10;

/// Shares of a displacement below this count as 0: a tiny displacement would make the line pass a cell corner on
/// either side, depending on how a file rounds the coordinates.
const MIN_DISPLACEMENT_SHARE: f64 = 0.01;

/// A line and the cells that it occupies.
pub(super) struct CourseLine {
    /// The points of the line and the position of each along the course, in nodes: 2.5 is halfway between nodes 2 and
    /// 3.
    pub places: Vec<(Cell<f64>, f64)>,
    /// The line's cells in downstream order, and the position along the course (in nodes) at which each is entered.
    pub path: Vec<(u32, f64)>,
    /// All cells that belong to the line, sorted in ascending order.
    pub own: Vec<u32>,
    /// The index of the course that this line joins, and the position along that course of the last point; `None` if
    /// it joins none.
    pub joins: Option<(u32, f64)>,
}

/// The input for drawing lines: the land, the courses, and the target displacement of each node.
pub(super) struct LineDrawingInput<'a> {
    pub site: &'a Site<'a>,
    pub filled: &'a Field<Height>,
    pub tree: &'a RiverTree,
    pub lakes: &'a PlannedLakes,
    pub courses: &'a [RiverCourse],
    /// The target displacement of each node, in rows and columns.
    pub shift: &'a [Cell<f64>],
}

/// Draws the lines of all courses. Also returns the number of points at which lines still meet something that they
/// must not.
pub(super) fn draw_lines(layout: &LineDrawingInput<'_>) -> (Vec<CourseLine>, u64) {
    let mut claims = Claims::new(layout);
    let mut tries = 0;
    loop {
        // A course comes after the one that it joins, so the line that it has to reach is drawn already.
        let lines: Vec<CourseLine> = (0..layout.courses.len()).map(|course| claims.draw_line(course)).collect();
        if claims.conflicts.is_empty() || tries == MAX_ITERATIONS {
            let mut lines: Vec<CourseLine> =
                lines.into_iter().enumerate().map(|(k, line)| claims.ensure_two_points(k, line)).collect();
            claims.claim_remaining_cells(&lines);
            for (k, number) in claims.cells.as_slice().iter().enumerate().filter(|(_, number)| **number > 0) {
                lines[claims.owning_course(*number)].own.push(k as u32);
            }
            return (lines, claims.conflicts.len() as u64);
        }
        // Start again with empty cells, because a line that moves may free the way for others.
        claims.reduce_displacements(tries);
        claims.drawn_lines.clear();
        claims.joints.iter_mut().for_each(Vec::clear);
        claims.cells.as_mut_slice().fill(0);
        tries += 1;
    }
}

impl Claims<'_> {
    /// Reduces the displacements around each conflict: by 60 % at the conflict itself, and less with distance.
    fn reduce_displacements(&mut self, tries: usize) {
        // The stretch that is straightened grows from turn to turn, so that a persistent conflict is resolved.
        let reach = 3 + tries as u32;
        if tries + 2 >= MAX_ITERATIONS {
            self.share.fill(0.0);
        }
        for number in std::mem::take(&mut self.conflicts) {
            let course = self.first.partition_point(|first| *first <= number) - 1;
            let (low, high) = (self.first[course], self.first[course + 1]);
            for k in number.saturating_sub(reach).max(low)..(number + reach + 1).min(high) {
                let near = 1.0 - f64::from(k.abs_diff(number)) / f64::from(reach + 1);
                let share = &mut self.share[k as usize];
                let less = *share * (1.0 - 0.6 * near);
                *share = if tries >= MAX_GRADUAL_ITERATIONS || less < MIN_DISPLACEMENT_SHARE { 0.0 } else { less };
            }
            // Near its end a tributary depends on the position of the river that it joins, so straighten that one
            // too.
            if let CourseEnd::Joins(node) = self.layout.courses[course].end
                && high - number <= reach
                && tries >= MAX_GRADUAL_ITERATIONS
            {
                let (other, at) = self.home[node as usize];
                let (low, high) = (self.first[other as usize], self.first[other as usize + 1]);
                let at = low + at;
                for k in at.saturating_sub(reach).max(low)..(at + reach + 1).min(high) {
                    self.share[k as usize] = 0.0;
                }
            }
        }
    }

    /// Ensures that a line has at least two points.
    fn ensure_two_points(&self, course: usize, mut line: CourseLine) -> CourseLine {
        if line.places.len() < 2 {
            let drawn = self.smooth_course(course);
            line.places.extend(drawn.last());
        }
        line
    }
}
