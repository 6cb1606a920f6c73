//! Draws the line of each course so that no two lines share a cell.
//!
//! Each course starts as the chain of its cells' centres, which never meets another course's. Every point is then
//! displaced towards its smoothed and meandering position. Where the resulting line meets another line, itself, a
//! lake that is not its own, ground that is too high or the edge of the grid, the displacement is reduced nearby and
//! all lines are drawn again. Undisplaced lines do not meet, so the iteration ends at the latest when all
//! displacements are zero.

use crate::Site;
use crate::course::{Course, End, centre};
use crate::lakes::Lakes;
use crate::line_cells::{index, thinned, walk};
use crate::network::Source;
use crate::tree::{NONE, Tree, around};
use crate::way::stretch;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Field, Height, Size};

/// Iterations after which all lines are left undisplaced.
const TRIES: usize = 40;

/// Iterations after which displacements near a remaining conflict are set to zero at once, not merely reduced.
const PATIENCE: usize = 10;

/// Least distance between a line's points and the borders between cells, in cells.
const OFF: f64 = 1.0 / 4096.0;

/// Shares of a displacement below this count as 0: a tiny displacement would make the line pass a cell corner on
/// either side, depending on how a file rounds the coordinates.
const LEAST: f64 = 0.01;

/// A line and the cells that it occupies.
pub(super) struct Line {
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
pub(super) struct Layout<'a> {
    pub site: &'a Site<'a>,
    pub filled: &'a Field<Height>,
    pub tree: &'a Tree,
    pub lakes: &'a Lakes,
    pub courses: &'a [Course],
    /// The target displacement of each node, in rows and columns.
    pub shift: &'a [Cell<f64>],
}

/// Draws the lines of all courses. Also returns the number of points at which lines still meet something that they
/// must not.
pub(super) fn lines(layout: &Layout<'_>) -> (Vec<Line>, u64) {
    let mut claims = Claims::new(layout);
    let mut tries = 0;
    loop {
        let lines: Vec<Line> = (0..layout.courses.len()).map(|course| claims.lay(course)).collect();
        if claims.conflicts.is_empty() || tries == TRIES {
            let mut lines: Vec<Line> = lines.into_iter().enumerate().map(|(k, line)| claims.ended(k, line)).collect();
            claims.rest(&lines);
            for (k, number) in claims.cells.as_slice().iter().enumerate().filter(|(_, number)| **number > 0) {
                lines[claims.owner(*number)].own.push(k as u32);
            }
            return (lines, claims.conflicts.len() as u64);
        }
        claims.yield_ground(tries);
        claims.laid.clear();
        claims.joints.iter_mut().for_each(Vec::clear);
        claims.cells.as_mut_slice().fill(0);
        tries += 1;
    }
}

/// The state of the iteration that draws all lines: which point claimed each cell, where lines meet, and how far points
/// are displaced.
pub(super) struct Claims<'a> {
    pub(super) layout: &'a Layout<'a>,
    /// The number of each course's first point; points are numbered consecutively, course by course.
    pub(super) first: Vec<u32>,
    /// For each node, its course and its index in that course.
    pub(super) home: Vec<(u32, u32)>,
    /// For each course, the index of its last point at which another course joins it.
    pub(super) joined: Vec<usize>,
    /// For each course, the level of the lake that its water ends in; `None` if it ends elsewhere.
    pub(super) base: Vec<Option<Height>>,
    /// For each point, the share of its target displacement that is applied, from 0 to 1.
    pub(super) share: Vec<f64>,
    /// For each cell, one more than the number of the point from which a line entered it; 0 if no line did.
    pub(super) cells: Field<u32>,
    /// Numbers of the points at which lines meet something that they must not.
    pub(super) conflicts: Vec<u32>,
    /// For each course, the final segments of the lines that have joined it, and the position along the course of
    /// each junction.
    pub(super) joints: Vec<Vec<([Cell<f64>; 2], f64)>>,
    /// The points of all lines drawn so far, in the order of the courses.
    pub(super) laid: Vec<Vec<(Cell<f64>, f64)>>,
}

/// How a line continues after it enters a cell.
enum Step {
    On,
    /// The line has reached the water in which it ends.
    AtEnd,
}

/// Moves a point away from the borders of its cell, so that rounding in a file cannot move it into the next cell.
/// Points on the edge of the grid stay there.
pub(super) fn kept_off(place: Cell<f64>, size: Size) -> Cell<f64> {
    Cell::from_axes(|axis| {
        let x = place[axis];
        match x.floor() {
            _ if x <= 0.0 || x >= size[axis] as f64 => x,
            cell => x.clamp(cell + OFF, cell + 1.0 - OFF),
        }
    })
}

impl<'a> Claims<'a> {
    /// Numbers the points of all courses, with all displacements fully applied and no lines drawn.
    fn new(layout: &'a Layout<'a>) -> Self {
        let mut first = vec![0];
        let mut home = vec![(NONE, 0); layout.tree.cells.len()];
        for (number, course) in layout.courses.iter().enumerate() {
            first.push(first[number] + course.len() as u32);
            for (at, node) in course.nodes.iter().enumerate() {
                home[*node as usize] = (number as u32, at as u32);
            }
        }
        let mut joined = vec![0; layout.courses.len()];
        for course in layout.courses {
            if let End::Joins(node) = course.end {
                let (other, at) = home[node as usize];
                joined[other as usize] = joined[other as usize].max(at as usize);
            }
        }
        let mut base: Vec<Option<Height>> = Vec::with_capacity(layout.courses.len());
        for course in layout.courses {
            base.push(match course.end {
                End::Lake(lake) => Some(layout.lakes.lakes[lake as usize].level),
                // A course comes after the one that it joins, so that one's level is known.
                End::Joins(node) => base[home[node as usize].0 as usize],
                _ => None,
            });
        }
        let joints = vec![Vec::new(); layout.courses.len()];
        let share = vec![1.0; first[layout.courses.len()] as usize];
        let cells = Field::new(layout.filled.size(), 0);
        Self { layout, first, home, joined, base, share, cells, conflicts: Vec::new(), joints, laid: Vec::new() }
    }

    /// Returns the current position of point `at` of a course.
    fn place(&self, course: usize, at: usize) -> Cell<f64> {
        let Course { nodes, tail, end, .. } = &self.layout.courses[course];
        match (nodes.get(at), tail, end) {
            (Some(node), _, _) => {
                let share = self.share[self.first[course] as usize + at];
                let (raw, shift) =
                    (centre(self.layout.tree, *node, self.layout.site), self.layout.shift[*node as usize]);
                Cell::from_axes(|k| raw[k] + share * shift[k])
            }
            (None, Some(tail), _) => *tail,
            (None, None, End::Joins(node)) => {
                let (other, at) = self.home[*node as usize];
                self.place(other as usize, at as usize)
            }
            _ => Cell::default(),
        }
    }

    /// Returns the points of a course after one pass of corner cutting (Chaikin 1974,
    /// doi:10.1016/0146-664X(74)90028-8), with their positions along the course.
    fn drawn(&self, course: usize) -> Vec<(Cell<f64>, f64)> {
        let places: Vec<Cell<f64>> = (0..self.layout.courses[course].len()).map(|at| self.place(course, at)).collect();
        let mix = |at: usize, share: f64| {
            let (a, b) = (places[at], places[at + 1]);
            (Cell::from_axes(|k| a[k] + share * (b[k] - a[k])), at as f64 + share)
        };
        let last = places.len() - 1;
        let mut line = vec![(places[0], 0.0)];
        if last == 1 {
            line.push(mix(0, 0.5));
        } else {
            line.extend((0..last).flat_map(|at| [mix(at, 0.25), mix(at, 0.75)]));
        }
        line.push((places[last], last as f64));
        let size = self.cells.size();
        line.into_iter().map(|(place, along)| (kept_off(place, size), along)).collect()
    }

    /// Draws a course's line as far as its end, claims the cells that it passes, and records conflicts.
    fn lay(&mut self, course: usize) -> Line {
        let drawn = self.drawn(course);
        let mut line = Line { places: Vec::new(), path: Vec::new(), own: Vec::new(), joins: None };
        let cell = |place: Cell<f64>| place.map(|x| x.floor() as i64);
        'line: for (n, (place, along)) in drawn.iter().enumerate() {
            let Some((before, start)) = line.places.last().copied() else {
                line.places.push((*place, *along));
                let _ = self.enter(course, cell(*place), *along, &mut line);
                continue;
            };
            let mut passed = Vec::new();
            walk(before, *place, |cell| passed.push(cell));
            let own = line.path.len();
            for at in passed {
                if let Step::AtEnd = self.enter(course, at, start, &mut line) {
                    // A tributary ends on the line of the river that it joins. `meet` draws the last segment through
                    // other cells, so release these.
                    if matches!(self.layout.courses[course].end, End::Joins(_)) {
                        for (k, _) in line.path.drain(own.min(line.path.len())..) {
                            self.cells[k as usize] = 0;
                        }
                    } else {
                        let inside = |k: usize| place[k].clamp(at[k] as f64 + 0.25, at[k] as f64 + 0.75);
                        line.places.push((Cell::from_axes(inside), *along));
                    }
                    break 'line;
                }
            }
            let is_end = n + 1 == drawn.len() && matches!(self.layout.courses[course].end, End::Joins(_));
            if !is_end {
                line.places.push((*place, *along));
            }
        }
        if let End::Joins(node) = self.layout.courses[course].end {
            self.meet(course, node, &mut line);
        }
        self.judge(course, &line.path);
        self.laid.push(line.places.clone());
        line
    }

    /// Claims the free cells that final lines pass but that were not claimed while drawing: cells near ends that were
    /// moved, and cells that own the corner points which a line passes through. Afterwards a lookup at any point on a
    /// line finds the river.
    fn rest(&mut self, lines: &[Line]) {
        let size = self.cells.size();
        for (course, line) in lines.iter().enumerate() {
            for pair in line.places.windows(2) {
                stretch(pair[0].0, pair[1].0, |cell, corner| {
                    for at in [Some(cell), corner].into_iter().flatten() {
                        let Some(k) = index(size, at) else { continue };
                        let layout = self.layout;
                        let wet = layout.lakes.cells[k] > 0 || layout.site.is_sea(k) || layout.site.is_void(k);
                        let kept = at != cell && layout.site.is_barred(k);
                        if self.cells[k] == 0 && !wet && !kept {
                            self.cells[k] = self.first[course] + 1;
                        }
                    }
                });
            }
        }
    }

    /// Returns the course to which the point of this number belongs.
    pub(super) fn owner(&self, number: u32) -> usize {
        self.first.partition_point(|first| *first < number) - 1
    }

    /// Records a conflict at a position along a course.
    pub(super) fn complain(&mut self, course: usize, along: f64) {
        let last = self.first[course + 1] - 1;
        self.conflicts.push((self.first[course] + along as u32).min(last));
    }

    /// Lets the line enter a cell: claims the cell if it is free, and records a conflict if the line must not be
    /// there.
    fn enter(&mut self, course: usize, cell: Cell<i64>, along: f64, line: &mut Line) -> Step {
        let layout = self.layout;
        let Course { end, source, nodes, .. } = &layout.courses[course];
        let left = nodes.len() as f64 - along;
        let Some(k) = index(self.cells.size(), cell) else {
            // A line that ends at the edge of the grid has its last point on the border itself, outside of all cells.
            if *end != End::Edge || left > 2.0 {
                self.complain(course, along);
            }
            return Step::On;
        };
        let lake = layout.lakes.cells[k];
        if layout.site.is_sea(k) || lake > 0 {
            let own = matches!(end, End::Lake(number) if number + 1 == lake) || (lake == 0 && *end == End::Sea);
            if own && left <= 4.0 {
                return Step::AtEnd;
            }
            let from = matches!(source, Source::Lake(number) if number + 1 == lake);
            if !from || along > 0.5 {
                self.complain(course, along);
            }
            return Step::On;
        }
        if layout.site.is_void(k) {
            self.complain(course, along);
            return Step::On;
        }
        match self.cells[k] {
            0 => {}
            number => {
                let other = self.owner(number);
                if other == course {
                    // The line returns to a cell that it has just left: it only cut a corner. Shorten the path
                    // instead of reporting a conflict.
                    let back = line.path.iter().rev().take(5).position(|(cell, _)| *cell as usize == k);
                    match back {
                        Some(steps) => line.path.truncate(line.path.len() - steps),
                        None => self.complain(course, along),
                    }
                    return Step::On;
                }
                if let End::Joins(node) = end
                    && self.home[*node as usize].0 as usize == other
                {
                    let Cell { row: y, col: x } = layout.shift[*node as usize];
                    let near = 4.0 + 1.5 * (y * y + x * x).sqrt();
                    if left <= near && along >= self.joined[course] as f64 {
                        return Step::AtEnd;
                    }
                }
                self.complain(course, along);
                self.conflicts.push(number - 1);
                return Step::On;
            }
        }
        self.cells[k] = self.first[course] + along as u32 + 1;
        line.path.push((k as u32, along));
        Step::On
    }

    /// Records conflicts at cells that are unsuitable for the river: cells that are much higher than the course,
    /// protected cells, and cells next to ground so low that the receiving lake would spill there. A corner cell that
    /// the line merely cuts may be high.
    fn judge(&mut self, course: usize, path: &[(u32, f64)]) {
        let straight = thinned(path, self.cells.cols());
        let mut straight = straight.iter().peekable();
        let filled = self.layout.filled.as_slice();
        let nodes = &self.layout.courses[course].nodes;
        let cell = self.layout.site.land.grid.cell;
        let most = ((3.0 + cell / 3.0) * UNITS).min(1e9) as i64;
        let leaks = |k: usize| {
            let dry = |n: &usize| {
                self.layout.lakes.cells[*n] == 0 && !self.layout.site.is_sea(*n) && !self.layout.site.is_void(*n)
            };
            self.base[course].is_some_and(|base| around(self.cells.size(), k).filter(dry).any(|n| filled[n] < base))
        };
        let (first, wide) = (self.first[course] as usize, self.layout.courses[course].len());
        let mut complaints = Vec::new();
        for (k, along) in path.iter() {
            let at = (*along as usize).min(nodes.len() - 1);
            let node = self.layout.tree.cells[nodes[at] as usize] as usize;
            let corner = straight.next_if(|(cell, _)| cell == k).is_none();
            let high = !corner && i64::from(filled[*k as usize].0) - i64::from(filled[node].0) > most;
            let barred = self.layout.site.is_barred(*k as usize) && !self.layout.site.is_barred(node);
            // The line at this position is drawn from the neighbouring points as well, so their displacements count.
            let near = at.saturating_sub(1)..(at + 3).min(wide);
            let bent = self.share[first..][near].iter().any(|share| *share > 0.0);
            if bent && (high || barred || (leaks(*k as usize) && !leaks(node))) {
                complaints.push(*along);
            }
        }
        complaints.into_iter().for_each(|along| self.complain(course, along));
    }

    /// Reduces the displacements around each conflict: by 60 % at the conflict itself, and less with distance.
    fn yield_ground(&mut self, tries: usize) {
        let reach = 3 + tries as u32;
        if tries + 2 >= TRIES {
            self.share.fill(0.0);
        }
        for number in std::mem::take(&mut self.conflicts) {
            let course = self.first.partition_point(|first| *first <= number) - 1;
            let (low, high) = (self.first[course], self.first[course + 1]);
            for k in number.saturating_sub(reach).max(low)..(number + reach + 1).min(high) {
                let near = 1.0 - f64::from(k.abs_diff(number)) / f64::from(reach + 1);
                let share = &mut self.share[k as usize];
                let less = *share * (1.0 - 0.6 * near);
                *share = if tries >= PATIENCE || less < LEAST { 0.0 } else { less };
            }
            // Near its end a tributary depends on the position of the river that it joins, so straighten that one
            // too.
            if let End::Joins(node) = self.layout.courses[course].end
                && high - number <= reach
                && tries >= PATIENCE
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
    fn ended(&self, course: usize, mut line: Line) -> Line {
        if line.places.len() < 2 {
            let drawn = self.drawn(course);
            line.places.extend(drawn.last());
        }
        line
    }
}
