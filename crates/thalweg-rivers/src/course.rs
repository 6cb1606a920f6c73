//! [`Course`]s: stems split at lakes, each a chain of points from cell to cell, and their smoothed shape.

use crate::lakes::Lakes;
use crate::network::{FLOW, Source};
use crate::route::Drained;
use crate::tree::{NONE, Stem, Tree};
use crate::{Design, Site};
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Edge, Field, Height};

/// The end of a course.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum End {
    /// The course joins another one, at this node.
    Joins(u32),
    Lake(u32),
    Sea,
    Edge,
    Outlet,
}

/// A river between its source or a lake and the next lake or its end.
pub(super) struct Course {
    pub stem: u32,
    pub source: Source,
    pub end: End,
    pub nodes: Vec<u32>,
    /// A point after the last node; `None` for a course that joins another one, which ends at that one's node.
    pub tail: Option<Cell<f64>>,
}

impl Course {
    /// Returns the number of points, including the tail.
    pub fn len(&self) -> usize {
        self.nodes.len() + usize::from(self.tail.is_some() || matches!(self.end, End::Joins(_)))
    }
}

/// Splits stems at lakes into courses. Each course comes after the one that it joins.
pub(super) fn cut(site: &Site<'_>, drained: &Drained, tree: &Tree, stems: &[Stem], lakes: &Lakes) -> Vec<Course> {
    let mut courses: Vec<Course> = Vec::new();
    let mut in_course = vec![false; tree.cells.len()];
    for (number, stem) in stems.iter().enumerate() {
        let mut push = |source, end, nodes: &[u32], tail: Option<Cell<f64>>| {
            let course = Course { stem: number as u32, source, end, nodes: nodes.to_vec(), tail };
            if course.len() > 1 {
                nodes.iter().for_each(|node| in_course[*node as usize] = true);
                courses.push(course);
            }
        };
        let (mut at, mut source) = (0, Source::Head);
        let count = stem.nodes.len();
        let mut open = true;
        for part in &lakes.parts[number] {
            let end = End::Lake(part.lake - 1);
            if part.first > at && part.first < count {
                push(source, end, &stem.nodes[at..=part.first], None);
            } else if part.first > at {
                push(source, end, &stem.nodes[at..], stem.joins.map(|node| centre(tree, node, site)));
            }
            (at, source) = (part.last, Source::Lake(part.lake - 1));
            open = part.last < count;
        }
        let Some(last) = stem.nodes.last().filter(|_| open) else { continue };
        match stem.joins {
            // If the joined node were in a lake, the stem's last part would have ended there.
            Some(node) => push(source, End::Joins(node), &stem.nodes[at..], None),
            None => {
                let (end, tail) = end(site, drained, tree.cells[*last as usize] as usize);
                push(source, end, &stem.nodes[at..], tail);
            }
        }
    }
    // A course that would join a river too short to be kept ends where that river would have ended.
    for course in &mut courses {
        if let End::Joins(node) = course.end
            && !in_course[node as usize]
        {
            let (end, _) = end(site, drained, tree.cells[node as usize] as usize);
            (course.end, course.tail) = (end, Some(centre(tree, node, site)));
        }
    }
    courses
}

/// Returns the centre of a node's cell.
pub(super) fn centre(tree: &Tree, node: u32, site: &Site<'_>) -> Cell<f64> {
    tree.cell(node, site.land.grid.cols()).map(|x| x as f64 + 0.5)
}

/// Determines how a river that leaves the land at cell `k` ends, and the last point of its line.
fn end(site: &Site<'_>, drained: &Drained, k: usize) -> (End, Option<Cell<f64>>) {
    let grid = site.land.grid;
    let [rows, cols] = grid.size;
    let [i, j] = [k / cols, k % cols];
    if let Some(n) = drained.directions.next(k) {
        let cell = Cell::new(n / cols, n % cols);
        let tail = Some(cell.map(|x| x as f64 + 0.5));
        match () {
            () if site.is_sea(n) => return (End::Sea, tail),
            () if site.land.outlets.contains(&cell) => return (End::Outlet, tail),
            () => {}
        }
    }
    let (y, x) = (i as f64 + 0.5, j as f64 + 0.5);
    if site.land.outlets.contains(&Cell::new(i, j)) {
        return (End::Outlet, None);
    }
    let sides =
        [(i == 0, [0.0, x]), (j + 1 == cols, [y, cols as f64]), (i + 1 == rows, [rows as f64, x]), (j == 0, [y, 0.0])];
    let mut open = sides.iter().zip(grid.edges).filter(|((at, _), edge)| *at && *edge == Edge::Open);
    if let Some(((_, place), _)) = open.next() {
        return (End::Edge, Some(Cell::from(*place)));
    }
    let void = |cell: Cell| site.is_void(cell.row * cols + cell.col);
    let beside_void = site.land.around(i, j).any(|(_, cell)| void(cell));
    (if beside_void { End::Edge } else { End::Outlet }, None)
}

/// The geometry of each node: its position smoothed along the river, the river's direction (unit vector) and slope
/// there, and its width and depth in metres.
pub(super) struct Shape {
    pub place: Vec<Cell<f64>>,
    pub along: Vec<Cell<f64>>,
    pub slope: Vec<f64>,
    pub width: Vec<f64>,
    pub depth: Vec<f64>,
}

/// Adjacent nodes along the main river; there are none beyond a lake's shore.
struct Chain<'a> {
    tree: &'a Tree,
    within: &'a [u32],
}

impl Chain<'_> {
    fn above(&self, node: u32) -> u32 {
        if self.within[node as usize] > 0 { NONE } else { self.tree.up[node as usize] }
    }

    fn below(&self, node: u32) -> u32 {
        if self.within[node as usize] > 0 { NONE } else { self.tree.down[node as usize] }
    }

    /// Returns the mean over up to `reach` nodes upstream and the same number downstream.
    fn mean(&self, values: &[Cell<f64>], node: u32, reach: usize) -> Cell<f64> {
        let (mut sum, mut count) = (values[node as usize], 1.0);
        let [mut above, mut below] = [node; 2];
        for _ in 0..reach {
            (above, below) = (self.above(above), self.below(below));
            if above == NONE || below == NONE {
                break;
            }
            let (a, b) = (values[above as usize], values[below as usize]);
            sum = Cell::from_axes(|k| sum[k] + (a[k] + b[k]));
            count += 2.0;
        }
        sum.map(|x| x / count)
    }

    /// Returns the nodes `reach` steps upstream and downstream, or the last ones if the river is shorter.
    fn ends(&self, node: u32, reach: usize) -> [u32; 2] {
        let [mut above, mut below] = [node; 2];
        for _ in 0..reach {
            above = Some(self.above(above)).filter(|node| *node != NONE).unwrap_or(above);
            below = Some(self.below(below)).filter(|node| *node != NONE).unwrap_or(below);
        }
        [above, below]
    }
}

/// Computes the shape of all nodes.
pub(super) fn shape(site: &Site<'_>, design: &Design, filled: &Field<Height>, tree: &Tree, lakes: &Lakes) -> Shape {
    let cell = site.land.grid.cell;
    let chain = Chain { tree, within: &lakes.within };
    let nodes = || 0..tree.cells.len() as u32;
    let widest = site.land.grid.extent().shorter() / 10.0;
    let discharge = |node: u32| tree.flow[node as usize] as f64 / FLOW;
    let width: Vec<f64> = nodes().map(|node| (design.width * discharge(node).sqrt()).min(widest)).collect();
    let depth = nodes().map(|node| (design.depth * libm::pow(discharge(node), 0.4)).min(1000.0)).collect();
    let reach = |node: u32| (width[node as usize] / cell).clamp(3.0, 30.0) as usize;
    let mut place: Vec<Cell<f64>> = nodes().map(|node| centre(tree, node, site)).collect();
    for _ in 0..2 {
        place = nodes().map(|node| chain.mean(&place, node, reach(node))).collect();
    }
    let along = nodes().map(|node| {
        let [a, b] = chain.ends(node, 2).map(|node| place[node as usize]);
        let [y, x] = [b[0] - a[0], b[1] - a[1]];
        let length = (y * y + x * x).sqrt();
        if length > 0.0 { Cell::new(y / length, x / length) } else { Cell::new(0.0, 0.0) }
    });
    let along = along.collect();
    let height = |node: u32| f64::from(filled[tree.cells[node as usize] as usize].0) / UNITS;
    let slope = nodes().map(|node| {
        let [above, below] = chain.ends(node, (5.0 + 10.0 * width[node as usize] / cell).min(60.0) as usize);
        let [a, b] = [above, below].map(|node| place[node as usize]);
        let apart = ((b[0] - a[0]) * (b[0] - a[0]) + (b[1] - a[1]) * (b[1] - a[1])).sqrt() * cell;
        if apart > 0.0 { ((height(above) - height(below)) / apart).max(0.0) } else { 0.0 }
    });
    Shape { slope: slope.collect(), place, along, width, depth }
}
