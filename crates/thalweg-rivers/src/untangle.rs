//! Lines of courses, each on cells of its own.
//!
//! Every course is bent from its raw places (cells' middles, which never meet another's) to where smoothing and bends would
//! have it. Where a line then meets another line, itself, a lake that is not its own, ground too high for it or the edge, it
//! is bent less there, and all is tried again; unbent lines do not meet.

use crate::Site;
use crate::course::{Course, End, centre};
use crate::lakes::Lakes;
use crate::line_cells::{index, thinned, walk};
use crate::network::Source;
use crate::tree::{NONE, Tree, around};
use crate::way::stretch;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Field, Height, Size};

/// Tries after which all lines are left unbent.
const TRIES: usize = 40;

/// Tries after which lines are left unbent where they still meet.
const PATIENCE: usize = 10;

/// How far places of lines lie from the borders between cells at least, in cells.
const OFF: f64 = 1.0 / 4096.0;

/// Under this share a place is not bent at all: next to nothing would lead past a corner on either side, as a file rounds it.
const LEAST: f64 = 0.01;

/// A line on its cells.
pub(super) struct Line {
    /// Places, and how far along the course's nodes each is.
    pub places: Vec<(Cell<f64>, f64)>,
    /// Its cells downstream, and how far along each is entered.
    pub path: Vec<(u32, f64)>,
    /// All cells that are its own, in rising order.
    pub own: Vec<u32>,
    /// The course that it joins, and how far along that the last place is.
    pub joins: Option<(u32, f64)>,
}

/// What lines are laid by: the land, the courses, and how far each node would be moved.
pub(super) struct Layout<'a> {
    pub site: &'a Site<'a>,
    pub filled: &'a Field<Height>,
    pub tree: &'a Tree,
    pub lakes: &'a Lakes,
    pub courses: &'a [Course],
    /// Rows and columns by which each node would be moved.
    pub shift: &'a [Cell<f64>],
}

/// The lines of all courses, and at how many places they still meet what they must not.
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

pub(super) struct Claims<'a> {
    pub(super) layout: &'a Layout<'a>,
    /// Number of each course's first place, all places being numbered course by course.
    pub(super) first: Vec<u32>,
    /// The course of each node and its place in it.
    pub(super) home: Vec<(u32, u32)>,
    /// The last place of each course at which another joins it.
    pub(super) joined: Vec<usize>,
    /// Level of the lake that each course's water comes to.
    pub(super) base: Vec<Option<Height>>,
    /// Share of the shift of each place that is made.
    pub(super) share: Vec<f64>,
    /// For each cell one more than the number of the place from which a line came to it.
    pub(super) cells: Field<u32>,
    /// Numbers of places where lines meet what they must not.
    pub(super) conflicts: Vec<u32>,
    /// For each course the last stretches of those that have joined it, and how far along.
    pub(super) joints: Vec<Vec<([Cell<f64>; 2], f64)>>,
    /// Lines that are laid, in the order of courses.
    pub(super) laid: Vec<Vec<(Cell<f64>, f64)>>,
}

/// How the line goes on from a cell.
enum Step {
    On,
    /// It has come to where it ends.
    AtEnd,
}

/// A place that is not so near to a border between cells that its rounding in a file could carry it over; on the edge itself it stays.
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
                // What a course joins comes before it.
                End::Joins(node) => base[home[node as usize].0 as usize],
                _ => None,
            });
        }
        let joints = vec![Vec::new(); layout.courses.len()];
        let share = vec![1.0; first[layout.courses.len()] as usize];
        let cells = Field::new(layout.filled.size(), 0);
        Self { layout, first, home, joined, base, share, cells, conflicts: Vec::new(), joints, laid: Vec::new() }
    }

    /// Where place `at` of a course is by now.
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

    /// The places of a course with their corners cut (Chaikin 1974, doi:10.1016/0146-664X(74)90028-8).
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

    /// Lays a course's line as far as to its end, claims its cells, and notes conflicts.
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
                    // Where another river is joined, the line ends on that river's own, and gets there by other cells than these.
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

    /// Claims the free cells that lines pass beside those they claimed in being laid: where their ends were moved, and those to whose
    /// places the corners belong that they go through. Whoever looks anywhere on a line finds the river.
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

    /// The course whose place has a number.
    pub(super) fn owner(&self, number: u32) -> usize {
        self.first.partition_point(|first| *first < number) - 1
    }

    pub(super) fn complain(&mut self, course: usize, along: f64) {
        let last = self.first[course + 1] - 1;
        self.conflicts.push((self.first[course] + along as u32).min(last));
    }

    /// Enters a cell.
    fn enter(&mut self, course: usize, cell: Cell<i64>, along: f64, line: &mut Line) -> Step {
        let layout = self.layout;
        let Course { end, source, nodes, .. } = &layout.courses[course];
        let left = nodes.len() as f64 - along;
        let Some(k) = index(self.cells.size(), cell) else {
            // A line ends on the border itself.
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
                    // Back in a cell that it has just left, the line has only cut a corner.
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

    /// Complains of ground that is not for the river: too high, to be kept off, or beside ground so low that the lake it runs to
    /// would leave there. A corner that is cut may be high.
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
            // The line is drawn from the places on either side as well.
            let near = at.saturating_sub(1)..(at + 3).min(wide);
            let bent = self.share[first..][near].iter().any(|share| *share > 0.0);
            if bent && (high || barred || (leaks(*k as usize) && !leaks(node))) {
                complaints.push(*along);
            }
        }
        complaints.into_iter().for_each(|along| self.complain(course, along));
    }

    /// Bends lines less round their conflicts.
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
            // Near its end a line goes where the other one is.
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

    /// A line that has two places at least.
    fn ended(&self, course: usize, mut line: Line) -> Line {
        if line.places.len() < 2 {
            let drawn = self.drawn(course);
            line.places.extend(drawn.last());
        }
        line
    }
}
