//! [`Claims`]: which line has claimed each cell, and where lines meet something that they must not.

use crate::cell_vertices::visit_stretch_cells;
use crate::course::{CourseEnd, RiverCourse};
use crate::line_cells::{index, remove_corner_cells};
use crate::network::RunSource;
use crate::tree::{NONE, neighbour_cells};
use crate::untangle::{CourseLine, LineDrawingInput};
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Field, Height};

/// The state of the iteration that draws all lines: which point claimed each cell, where lines meet, and how far points
/// are displaced.
pub(super) struct Claims<'a> {
    pub layout: &'a LineDrawingInput<'a>,
    /// The number of each course's first point; points are numbered consecutively, course by course.
    pub first: Vec<u32>,
    /// For each node, its course and its index in that course.
    pub home: Vec<(u32, u32)>,
    /// For each course, the index of its last point at which another course joins it.
    pub joined: Vec<usize>,
    /// For each course, the level of the lake that its water ends in; `None` if it ends elsewhere.
    pub base: Vec<Option<Height>>,
    /// For each point, the share of its target displacement that is applied, from 0 to 1.
    pub share: Vec<f64>,
    /// For each cell, one more than the number of the point from which a line entered it; 0 if no line did.
    pub cells: Field<u32>,
    /// Numbers of the points at which lines meet something that they must not.
    pub conflicts: Vec<u32>,
    /// For each course, the final segments of the lines that have joined it, and the position along the course of
    /// each junction.
    pub joints: Vec<Vec<([Cell<f64>; 2], f64)>>,
    /// The points of all lines drawn so far, in the order of the courses.
    pub drawn_lines: Vec<Vec<(Cell<f64>, f64)>>,
}

/// How a line continues after it enters a cell.
pub(super) enum CellEntry {
    On,
    /// The line has reached the water in which it ends.
    AtEnd,
}

impl<'a> Claims<'a> {
    /// Numbers the points of all courses, with all displacements fully applied and no lines drawn.
    pub fn new(layout: &'a LineDrawingInput<'a>) -> Self {
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
            if let CourseEnd::Joins(node) = course.end {
                let (other, at) = home[node as usize];
                joined[other as usize] = joined[other as usize].max(at as usize);
            }
        }
        let mut base: Vec<Option<Height>> = Vec::with_capacity(layout.courses.len());
        for course in layout.courses {
            base.push(match course.end {
                CourseEnd::Lake(lake) => Some(layout.lakes.lakes[lake as usize].level),
                // A course comes after the one that it joins, so that one's level is known.
                CourseEnd::Joins(node) => base[home[node as usize].0 as usize],
                _ => None,
            });
        }
        let joints = vec![Vec::new(); layout.courses.len()];
        let share = vec![1.0; first[layout.courses.len()] as usize];
        let cells = Field::new(layout.filled.size(), 0);
        Self { layout, first, home, joined, base, share, cells, conflicts: Vec::new(), joints, drawn_lines: Vec::new() }
    }

    /// Returns the course to which the point of this number belongs.
    pub fn owning_course(&self, number: u32) -> usize {
        self.first.partition_point(|first| *first < number) - 1
    }

    /// Records a conflict at a position along a course.
    pub fn record_conflict(&mut self, course: usize, along: f64) {
        let last = self.first[course + 1] - 1;
        self.conflicts.push((self.first[course] + along as u32).min(last));
    }

    /// Lets the line enter a cell: claims the cell if it is free, and records a conflict if the line must not be
    /// there.
    pub fn enter_cell(&mut self, course: usize, cell: Cell<i64>, along: f64, line: &mut CourseLine) -> CellEntry {
        let layout = self.layout;
        let RiverCourse { end, source, nodes, .. } = &layout.courses[course];
        let remaining_nodes = nodes.len() as f64 - along;
        let Some(k) = index(self.cells.size(), cell) else {
            // A line that ends at the edge of the grid has its last point on the border itself, outside of all cells.
            if *end != CourseEnd::Edge || remaining_nodes > 2.0 {
                self.record_conflict(course, along);
            }
            return CellEntry::On;
        };
        let lake = layout.lakes.cells[k];
        if layout.site.is_sea(k) || lake > 0 {
            let own =
                matches!(end, CourseEnd::Lake(number) if number + 1 == lake) || (lake == 0 && *end == CourseEnd::Sea);
            // A line may reach its water at most four nodes early. Any earlier contact is a conflict.
            if own && remaining_nodes <= 4.0 {
                return CellEntry::AtEnd;
            }
            let from = matches!(source, RunSource::Lake(number) if number + 1 == lake);
            if !from || along > 0.5 {
                self.record_conflict(course, along);
            }
            return CellEntry::On;
        }
        if layout.site.is_void(k) {
            self.record_conflict(course, along);
            return CellEntry::On;
        }
        match self.cells[k] {
            0 => {}
            number => {
                let other = self.owning_course(number);
                if other == course {
                    // The line returns to a cell that it has just left: it only cut a corner. Shorten the path
                    // instead of reporting a conflict.
                    let back = line.path.iter().rev().take(5).position(|(cell, _)| *cell as usize == k);
                    match back {
                        Some(steps) => line.path.truncate(line.path.len() - steps),
                        None => self.record_conflict(course, along),
                    }
                    return CellEntry::On;
                }
                if let CourseEnd::Joins(node) = end
                    && self.home[*node as usize].0 as usize == other
                {
                    let Cell { row: y, col: x } = layout.shift[*node as usize];
                    // The joined line may be displaced, so the tributary may meet it that much earlier.
                    let near = 4.0 + 1.5 * (y * y + x * x).sqrt();
                    if remaining_nodes <= near && along >= self.joined[course] as f64 {
                        return CellEntry::AtEnd;
                    }
                }
                self.record_conflict(course, along);
                self.conflicts.push(number - 1);
                return CellEntry::On;
            }
        }
        // The number of the point tells later both the owner of the cell and where its displacement has to be reduced.
        self.cells[k] = self.first[course] + along as u32 + 1;
        line.path.push((k as u32, along));
        CellEntry::On
    }

    /// Records conflicts at cells that are unsuitable for the river: cells that are much higher than the course,
    /// protected cells, and cells next to ground so low that the receiving lake would spill there. A corner cell that
    /// the line merely cuts may be high.
    pub fn record_unsuitable_cells(&mut self, course: usize, path: &[(u32, f64)]) {
        let straight = remove_corner_cells(path, self.cells.cols());
        let mut straight = straight.iter().peekable();
        let filled = self.layout.filled.as_slice();
        let nodes = &self.layout.courses[course].nodes;
        let cell = self.layout.site.land.grid.cell;
        // A line may cross ground that is three metres and a third of a cell's width higher than its course.
        let max_rise = ((3.0 + cell / 3.0) * UNITS).min(1e9) as i64;
        let leaks = |k: usize| {
            let dry = |n: &usize| {
                self.layout.lakes.cells[*n] == 0 && !self.layout.site.is_sea(*n) && !self.layout.site.is_void(*n)
            };
            self.base[course]
                .is_some_and(|base| neighbour_cells(self.cells.size(), k).filter(dry).any(|n| filled[n] < base))
        };
        let (first, wide) = (self.first[course] as usize, self.layout.courses[course].len());
        let mut complaints = Vec::new();
        for (k, along) in path.iter() {
            let at = (*along as usize).min(nodes.len() - 1);
            let node = self.layout.tree.cells[nodes[at] as usize] as usize;
            let corner = straight.next_if(|(cell, _)| cell == k).is_none();
            let high = !corner && i64::from(filled[*k as usize].0) - i64::from(filled[node].0) > max_rise;
            let barred = self.layout.site.is_barred(*k as usize) && !self.layout.site.is_barred(node);
            // The line at this position is drawn from the neighbouring points as well, so their displacements count.
            let near = at.saturating_sub(1)..(at + 3).min(wide);
            let bent = self.share[first..][near].iter().any(|share| *share > 0.0);
            if bent && (high || barred || (leaks(*k as usize) && !leaks(node))) {
                complaints.push(*along);
            }
        }
        complaints.into_iter().for_each(|along| self.record_conflict(course, along));
    }

    /// Claims the free cells that final lines pass but that were not claimed while drawing: cells near ends that were
    /// moved, and cells that own the corner points which a line passes through. Afterwards a lookup at any point on a
    /// line finds the river.
    pub fn claim_remaining_cells(&mut self, lines: &[CourseLine]) {
        let size = self.cells.size();
        for (course, line) in lines.iter().enumerate() {
            for pair in line.places.windows(2) {
                visit_stretch_cells(pair[0].0, pair[1].0, |cell, corner| {
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
}
