//! [`RiverCourse`]s: stems split at lakes, each a chain of points from cell to cell, and their smoothed shape.

use crate::lakes::PlannedLakes;
use crate::network::{FLOW, RunSource};
use crate::route::PlanningDrainage;
use crate::tree::{NONE, RiverTree, Stem};
use crate::{Design, Site};
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Cell, Edge, Field, Height};

/// The end of a course.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum CourseEnd {
    /// The course joins another one, at this node.
    Joins(u32),
    Lake(u32),
    Sea,
    Edge,
    Outlet,
}

/// A river between its source or a lake and the next lake or its end.
pub(super) struct RiverCourse {
    pub stem: u32,
    pub source: RunSource,
    pub end: CourseEnd,
    pub nodes: Vec<u32>,
    /// A point after the last node; `None` for a course that joins another one, which ends at that one's node.
    pub tail: Option<Cell<f64>>,
}

impl RiverCourse {
    /// Returns the number of points, including the tail.
    pub fn len(&self) -> usize {
        self.nodes.len() + usize::from(self.tail.is_some() || matches!(self.end, CourseEnd::Joins(_)))
    }
}

/// Splits stems at lakes into courses. Each course comes after the one that it joins.
pub(super) fn split_at_lakes(
    site: &Site<'_>,
    drained: &PlanningDrainage,
    tree: &RiverTree,
    stems: &[Stem],
    lakes: &PlannedLakes,
) -> Vec<RiverCourse> {
    let mut courses: Vec<RiverCourse> = Vec::new();
    let mut in_course = vec![false; tree.cells.len()];
    for (number, stem) in stems.iter().enumerate() {
        let mut push = |source, end, nodes: &[u32], tail: Option<Cell<f64>>| {
            let course = RiverCourse { stem: number as u32, source, end, nodes: nodes.to_vec(), tail };
            if course.len() > 1 {
                nodes.iter().for_each(|node| in_course[*node as usize] = true);
                courses.push(course);
            }
        };
        let (mut at, mut source) = (0, RunSource::Head);
        let count = stem.nodes.len();
        let mut open = true;
        for part in &lakes.parts[number] {
            let end = CourseEnd::Lake(part.lake - 1);
            // A run has at least one step on land before it enters the next lake.
            if part.first > at && part.first < count {
                push(source, end, &stem.nodes[at..=part.first], None);
            } else if part.first > at {
                // The lake contains only the node that the stem joins, which belongs to another stem. The line ends at
                // that node's centre.
                push(source, end, &stem.nodes[at..], stem.joins.map(|node| node_centre(tree, node, site)));
            }
            // The next run begins at the last node in the lake.
            (at, source) = (part.last, RunSource::Lake(part.lake - 1));
            open = part.last < count;
        }
        let Some(last) = stem.nodes.last().filter(|_| open) else { continue };
        match stem.joins {
            // If the joined node were in a lake, the stem's last part would have ended there.
            Some(node) => push(source, CourseEnd::Joins(node), &stem.nodes[at..], None),
            None => {
                let (end, tail) = find_course_end(site, drained, tree.cells[*last as usize] as usize);
                push(source, end, &stem.nodes[at..], tail);
            }
        }
    }
    // A course that would join a river too short to be kept ends where that river would have ended.
    for course in &mut courses {
        if let CourseEnd::Joins(node) = course.end
            && !in_course[node as usize]
        {
            let (end, _) = find_course_end(site, drained, tree.cells[node as usize] as usize);
            (course.end, course.tail) = (end, Some(node_centre(tree, node, site)));
        }
    }
    courses
}

/// Returns the centre of a node's cell.
pub(super) fn node_centre(tree: &RiverTree, node: u32, site: &Site<'_>) -> Cell<f64> {
    tree.cell(node, site.land.grid.cols()).map(|x| x as f64 + 0.5)
}

/// Determines how a river that leaves the land at cell `k` ends, and the last point of its line.
fn find_course_end(site: &Site<'_>, drained: &PlanningDrainage, k: usize) -> (CourseEnd, Option<Cell<f64>>) {
    let grid = site.land.grid;
    let [rows, cols] = grid.size;
    let [i, j] = [k / cols, k % cols];
    // If the next cell is in the sea or is an outlet, the line ends there, even if this cell is at the edge.
    if let Some(n) = drained.directions.next(k) {
        let cell = Cell::new(n / cols, n % cols);
        let tail = Some(cell.map(|x| x as f64 + 0.5));
        match () {
            () if site.is_sea(n) => return (CourseEnd::Sea, tail),
            () if site.land.outlets.contains(&cell) => return (CourseEnd::Outlet, tail),
            () => {}
        }
    }
    let (y, x) = (i as f64 + 0.5, j as f64 + 0.5);
    if site.land.outlets.contains(&Cell::new(i, j)) {
        return (CourseEnd::Outlet, None);
    }
    let sides =
        [(i == 0, [0.0, x]), (j + 1 == cols, [y, cols as f64]), (i + 1 == rows, [rows as f64, x]), (j == 0, [y, 0.0])];
    let mut open = sides.iter().zip(grid.edges).filter(|((at, _), edge)| *at && *edge == Edge::Open);
    if let Some(((_, place), _)) = open.next() {
        return (CourseEnd::Edge, Some(Cell::from(*place)));
    }
    let void = |cell: Cell| site.is_void(cell.row * cols + cell.col);
    let beside_void = site.land.neighbours(i, j).any(|(_, cell)| void(cell));
    (if beside_void { CourseEnd::Edge } else { CourseEnd::Outlet }, None)
}

/// The geometry of each node: its position smoothed along the river, the river's direction (unit vector) and slope
/// there, and its width and depth in metres.
pub(super) struct NodeGeometry {
    pub place: Vec<Cell<f64>>,
    pub along: Vec<Cell<f64>>,
    pub slope: Vec<f64>,
    pub width: Vec<f64>,
    pub depth: Vec<f64>,
}

/// Adjacent nodes along the main river; there are none beyond a lake's shore.
struct NodeChain<'a> {
    tree: &'a RiverTree,
    within: &'a [u32],
}

impl NodeChain<'_> {
    fn upstream_node(&self, node: u32) -> u32 {
        if self.within[node as usize] > 0 { NONE } else { self.tree.up[node as usize] }
    }

    fn downstream_node(&self, node: u32) -> u32 {
        if self.within[node as usize] > 0 { NONE } else { self.tree.down[node as usize] }
    }

    /// Returns the mean over up to `reach` nodes upstream and the same number downstream.
    fn average_nearby(&self, values: &[Cell<f64>], node: u32, reach: usize) -> Cell<f64> {
        let (mut sum, mut count) = (values[node as usize], 1.0);
        let [mut above, mut below] = [node; 2];
        for _ in 0..reach {
            (above, below) = (self.upstream_node(above), self.downstream_node(below));
            // Only complete pairs count, so that the mean stays centred on the node near the river's ends.
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
    fn nodes_at_distance(&self, node: u32, reach: usize) -> [u32; 2] {
        let [mut above, mut below] = [node; 2];
        for _ in 0..reach {
            above = Some(self.upstream_node(above)).filter(|node| *node != NONE).unwrap_or(above);
            below = Some(self.downstream_node(below)).filter(|node| *node != NONE).unwrap_or(below);
        }
        [above, below]
    }
}

/// Computes the shape of all nodes.
pub(super) fn compute_node_geometry(
    site: &Site<'_>,
    design: &Design,
    filled: &Field<Height>,
    tree: &RiverTree,
    lakes: &PlannedLakes,
) -> NodeGeometry {
    let cell = site.land.grid.cell;
    let chain = NodeChain { tree, within: &lakes.within };
    let nodes = || 0..tree.cells.len() as u32;
    // No river is wider than a tenth of the map, whatever the discharge.
    let widest = site.land.grid.extent().shorter_side() / 10.0;
    let discharge = |node: u32| tree.flow[node as usize] as f64 / FLOW;
    let width: Vec<f64> = nodes().map(|node| (design.width * discharge(node).sqrt()).min(widest)).collect();
    let depth = nodes().map(|node| (design.depth * libm::pow(discharge(node), 0.4)).min(1000.0)).collect();
    // Smoothing over about a width on either side, at least three nodes, removes the steps from cell to cell.
    let reach = |node: u32| (width[node as usize] / cell).clamp(3.0, 30.0) as usize;
    let mut place: Vec<Cell<f64>> = nodes().map(|node| node_centre(tree, node, site)).collect();
    for _ in 0..2 {
        place = nodes().map(|node| chain.average_nearby(&place, node, reach(node))).collect();
    }
    let along = nodes().map(|node| {
        // The direction is measured between smoothed positions, two nodes up and two nodes down.
        let [a, b] = chain.nodes_at_distance(node, 2).map(|node| place[node as usize]);
        let [y, x] = [b[0] - a[0], b[1] - a[1]];
        let length = (y * y + x * x).sqrt();
        if length > 0.0 { Cell::new(y / length, x / length) } else { Cell::new(0.0, 0.0) }
    });
    let along = along.collect();
    let height = |node: u32| f64::from(filled[tree.cells[node as usize] as usize].0) / UNITS;
    let slope = nodes().map(|node| {
        // Slopes are means over some ten widths and five nodes to either side, so that one step of the ground does not
        // change the kind of the river.
        let [above, below] =
            chain.nodes_at_distance(node, (5.0 + 10.0 * width[node as usize] / cell).min(60.0) as usize);
        let [a, b] = [above, below].map(|node| place[node as usize]);
        let apart = ((b[0] - a[0]) * (b[0] - a[0]) + (b[1] - a[1]) * (b[1] - a[1])).sqrt() * cell;
        if apart > 0.0 { ((height(above) - height(below)) / apart).max(0.0) } else { 0.0 }
    });
    NodeGeometry { slope: slope.collect(), place, along, width, depth }
}
