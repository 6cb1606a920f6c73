//! [`RiverTree`]: river cells linked downstream, and the stems that they form.

use crate::network::{FLOW, SHARES};
use crate::route::PlanningDrainage;
use crate::{Design, MIN_CATCHMENT_CELLS, Site};
use thalweg_core::base::clock::YEAR;
use thalweg_core::{Cell, Edge, Field, Result};
use thalweg_flow::{Neighbourhood, tie_break_hash};

/// The index that means that there is no node.
pub(super) const NONE: u32 = u32::MAX;

/// Stems with fewer nodes than this and without tributaries are dropped.
const MIN_STEM_NODES: usize = 4;

/// River cells as nodes, in row-major order.
pub(super) struct RiverTree {
    /// Row-major index of each node's cell.
    pub cells: Vec<u32>,
    /// The next node downstream; [`NONE`] if there is none.
    pub down: Vec<u32>,
    /// The node upstream from which most of the water comes; [`NONE`] if there is none.
    pub up: Vec<u32>,
    /// Discharge that enters at the node itself, in parts of 1 m³/s.
    pub inflow: Vec<i64>,
    /// Drainage area that enters at the node itself, in parts of a cell.
    pub ground: Vec<i64>,
    /// Total discharge through each node, in parts of 1 m³/s.
    pub flow: Vec<i64>,
    /// Total drainage area of each node, in parts of a cell.
    pub area: Vec<i64>,
    /// Nodes in topological order: each after those that flow into it.
    pub order: Vec<u32>,
    /// Smallest drainage area of a river, in parts of a cell.
    min_flow: i64,
    /// True for nodes that are rivers because they are downstream of a spring or a pass.
    given: Vec<bool>,
}

/// A river from its head to where it joins a larger one or ends.
pub(super) struct Stem {
    /// Its nodes in downstream order.
    pub nodes: Vec<u32>,
    /// The node of another stem that it joins; `None` if it joins none.
    pub joins: Option<u32>,
}

impl RiverTree {
    /// Finds the rivers of drained land: cells with enough drainage area, and everything downstream of springs and
    /// passes.
    pub fn from_drainage(site: &Site<'_>, design: &Design, drained: &PlanningDrainage) -> Result<Self> {
        let grid = site.land.grid;
        let cols = grid.cols();
        let min_flow = (design.catchment / grid.cell_area()).max(f64::from(MIN_CATCHMENT_CELLS)) * SHARES;
        // The upper limit keeps the conversion within an i64 for any catchment.
        let min_flow = min_flow.ceil().min(i64::MAX as f64 / 2.0) as i64;
        let dry = |k: usize| !site.is_void(k) && !site.is_sea(k);
        let mut is_river = Field::from_fn(grid.size, |i, j| {
            let k = i * cols + j;
            dry(k) && drained.gathered.flow_at(k) >= min_flow
        });
        let places = site.springs.iter().map(|spring| spring.cell).chain(site.passes.iter().map(|pass| pass.cell));
        // Cells downstream of springs and passes are rivers as well, whatever their drainage area.
        let mut given = Vec::new();
        for Cell { row: i, col: j } in places {
            let mut next = Some(i * cols + j);
            while let Some(k) = next.filter(|k| dry(*k) && !is_river[*k]) {
                is_river[k] = true;
                given.push(k);
                next = drained.directions.next(k);
            }
        }
        let cells: Vec<u32> = (0..is_river.len() as u32).filter(|k| is_river[*k as usize]).collect();
        drop(is_river);
        // Cells are in ascending order, so a search replaces a map of the whole grid.
        let node = |k: usize| cells.binary_search(&(k as u32)).map_or(NONE, |n| n as u32);
        let down: Vec<u32> = cells.iter().map(|k| drained.directions.next(*k as usize).map_or(NONE, node)).collect();
        // What enters at a node is its accumulated flow minus the flow of the nodes upstream.
        let mut ground: Vec<i64> = cells.iter().map(|k| drained.gathered.flow_at(*k as usize)).collect();
        for (k, n) in down.iter().enumerate().filter(|(_, n)| **n != NONE) {
            ground[*n as usize] -= drained.gathered.flow_at(cells[k] as usize);
        }
        let yields = design.runoff * grid.cell_area() / YEAR / SHARES * FLOW;
        // The upper limit of 4·10¹⁵ parts is some 58 000 m³/s for one node.
        let to_shares = |flow: f64| flow.round().clamp(0.0, 4e15) as i64;
        let mut inflow: Vec<i64> = ground.iter().map(|shares| to_shares(*shares as f64 * yields)).collect();
        for spring in site.springs {
            let Cell { row: i, col: j } = spring.cell;
            if let Some(inflow) = inflow.get_mut(node(i * cols + j) as usize) {
                *inflow = inflow.saturating_add(to_shares(spring.rate * FLOW));
            }
        }
        let n = cells.len();
        let mut is_given = vec![false; n];
        given.into_iter().for_each(|k| is_given[node(k) as usize] = true);
        let up = vec![NONE; n];
        let (flow, area, order) = (vec![], vec![], vec![]);
        let mut tree = Self { cells, down, up, inflow, ground, flow, area, order, min_flow, given: is_given };
        tree.exit_at_edges(site);
        tree.resolve_crossings(site);
        tree.accumulate_flow(site);
        Ok(tree)
    }

    /// Lets rivers that reach an open edge leave there instead of running along it.
    fn exit_at_edges(&mut self, site: &Site<'_>) {
        let [rows, cols] = site.land.grid.size;
        let open = site.land.grid.edges.map(|edge| edge == Edge::Open);
        let sides = |k: usize| [k < cols, k % cols + 1 == cols, k / cols + 1 == rows, k.is_multiple_of(cols)];
        for n in 0..self.cells.len() {
            if let Some(to) = self.cells.get(self.down[n] as usize) {
                let (here, there) = (sides(self.cells[n] as usize), sides(*to as usize));
                // Both cells are on the same open side, so water would follow the edge.
                if (0..4).any(|side| here[side] && there[side] && open[side]) {
                    self.down[n] = NONE;
                }
            }
        }
    }

    /// Resolves crossings: two diagonal flow paths can cross at the corner of four cells (for example across flats).
    /// One is led into the other.
    fn resolve_crossings(&mut self, site: &Site<'_>) {
        let cols = site.land.grid.cols();
        for n in 0..self.cells.len() {
            let (k, to) = (self.cells[n] as usize, self.down[n]);
            if to == NONE {
                continue;
            }
            let m = self.cells[to as usize] as usize;
            let ([i, j], [r, c]) = ([k / cols, k % cols], [m / cols, m % cols]);
            // Only diagonal steps can cross another path.
            if i == r || j == c {
                continue;
            }
            let [neighbour, other] = [i * cols + c, r * cols + j].map(|k| self.cells.binary_search(&(k as u32)));
            let (Ok(neighbour), Ok(other)) = (neighbour, other) else { continue };
            for (from, into) in [(neighbour, other), (other, neighbour)] {
                if self.down[from] == into as u32 {
                    // Either send the other path to this one's receiver, or, if that would create a cycle, send this
                    // path into the other.
                    if self.is_upstream_of(to, from as u32) { self.down[n] = into as u32 } else { self.down[from] = to }
                }
            }
        }
    }

    /// Returns true if water from one node reaches the other.
    fn is_upstream_of(&self, from: u32, to: u32) -> bool {
        let mut at = from;
        while at != NONE && at != to {
            at = self.down[at as usize];
        }
        at == to
    }

    /// Computes flow accumulation, the topological order, and the main stream at each confluence: the one with the
    /// largest drainage area (then discharge), ties broken by a hash of the cell.
    fn accumulate_flow(&mut self, site: &Site<'_>) {
        let n = self.cells.len();
        // A cell has at most eight donors, but any number of exits of one lake may join the same node.
        let mut donors = vec![0u32; n];
        for down in self.down.iter().filter(|down| **down != NONE) {
            donors[*down as usize] += 1;
        }
        // The list serves as the queue of the traversal: nodes without donors first, and then each node after its last
        // donor.
        self.order = (0..n as u32).filter(|n| donors[*n as usize] == 0).collect();
        (self.flow, self.area) = (self.inflow.clone(), self.ground.clone());
        let mut next = 0;
        while let Some(at) = self.order.get(next).map(|at| *at as usize) {
            next += 1;
            let down = self.down[at] as usize;
            if self.down[at] == NONE {
                continue;
            }
            self.flow[down] = self.flow[down].saturating_add(self.flow[at]);
            self.area[down] = self.area[down].saturating_add(self.area[at]);
            donors[down] -= 1;
            if donors[down] == 0 {
                self.order.push(down as u32);
            }
        }
        // The main tributary of each node has the largest drainage area, then discharge.
        self.up = vec![NONE; n];
        let rank = |k: u32| {
            let cell = self.cells[k as usize] as usize;
            (
                std::cmp::Reverse((self.area[k as usize], self.flow[k as usize])),
                tie_break_hash(site.land.grid, cell),
                cell,
            )
        };
        for k in 0..n as u32 {
            let down = self.down[k as usize];
            if down != NONE {
                let main = self.up[down as usize];
                if main == NONE || rank(k) < rank(main) {
                    self.up[down as usize] = k;
                }
            }
        }
    }

    /// Leads all water that leaves a lake out of it at one place: the exit with the largest drainage area whose water
    /// does not return to the lake. `within` gives the lake of each node. Nodes that are too small for a river
    /// without that water are removed. Returns true if anything changed.
    pub fn join_outlets(&mut self, site: &Site<'_>, within: &[u32]) -> bool {
        let mut exits: Vec<(u32, u32)> = Vec::new();
        for (node, lake) in within.iter().enumerate().filter(|(_, lake)| **lake > 0) {
            let below = within.get(self.down[node] as usize);
            if below != Some(lake) {
                exits.push((*lake, node as u32));
            }
        }
        // The largest exit of each lake comes first. The node number breaks ties.
        exits.sort_by_key(|(lake, node)| (*lake, std::cmp::Reverse(self.area[*node as usize]), *node));
        let mut changed = false;
        for exits in exits.chunk_by(|a, b| a.0 == b.0).filter(|exits| exits.len() > 1) {
            let comes_back = |node: u32| {
                let mut at = self.down[node as usize];
                while at != NONE && within[at as usize] != exits[0].0 {
                    at = self.down[at as usize];
                }
                at != NONE
            };
            // There is always one, because the flow has no cycles.
            let Some((_, main)) = exits.iter().copied().find(|(_, node)| !comes_back(*node)) else { continue };
            for (_, node) in exits.iter().filter(|(_, node)| *node != main) {
                self.down[*node as usize] = main;
            }
            changed = true;
        }
        if changed {
            self.accumulate_flow(site);
            self.prune_small_nodes(within);
            self.accumulate_flow(site);
        }
        changed
    }

    /// Removes nodes that are too small for a river. Their inflow enters at the next node downstream.
    fn prune_small_nodes(&mut self, within: &[u32]) {
        let n = self.cells.len();
        let mut stays: Vec<bool> =
            (0..n).map(|k| self.area[k] >= self.min_flow || self.given[k] || within[k] > 0).collect();
        // In topological order the inflow of removed nodes is passed on until it reaches a node that stays.
        for k in self.order.iter().map(|k| *k as usize) {
            let down = self.down[k] as usize;
            if stays[k] && self.down[k] != NONE {
                stays[down] = true;
            } else if self.down[k] != NONE {
                self.inflow[down] = self.inflow[down].saturating_add(self.inflow[k]);
                self.ground[down] = self.ground[down].saturating_add(self.ground[k]);
            }
        }
        let mut number = vec![NONE; n];
        (0u32..).zip((0..n).filter(|k| stays[*k])).for_each(|(new, k)| number[k] = new);
        let kept = || (0..n).filter(|k| stays[*k]);
        self.down = kept().map(|k| number.get(self.down[k] as usize).copied().unwrap_or(NONE)).collect();
        self.inflow = kept().map(|k| self.inflow[k]).collect();
        self.ground = kept().map(|k| self.ground[k]).collect();
        self.given = kept().map(|k| self.given[k]).collect();
        self.cells = kept().map(|k| self.cells[k]).collect();
    }

    /// Returns the stems, each after the one that it joins, larger ones first. Short stems without tributaries are
    /// dropped, and their water enters where they joined. Short ones that only cut a corner of the land are dropped
    /// as well.
    pub fn trace_stems(&mut self, site: &Site<'_>) -> Vec<Stem> {
        let n = self.cells.len();
        let mut joined = vec![false; n];
        let is_end = |tree: &Self, k: usize| tree.down[k] == NONE || tree.up[tree.down[k] as usize] != k as u32;
        for k in (0..n).filter(|k| self.down[*k] != NONE && is_end(self, *k)) {
            joined[self.down[k] as usize] = true;
        }
        let mut stems: Vec<Stem> = Vec::new();
        // In reverse topological order, so that a stem comes after the one that it joins.
        let ends: Vec<u32> = self.order.iter().rev().copied().filter(|k| is_end(self, *k as usize)).collect();
        for end in ends {
            let mut nodes = vec![end];
            let mut at = end;
            while self.up[at as usize] != NONE {
                at = self.up[at as usize];
                nodes.push(at);
            }
            // Nodes were collected upstream from the end.
            nodes.reverse();
            let joins = Some(self.down[end as usize]).filter(|node| *node != NONE);
            let alone = !nodes.iter().any(|node| joined[*node as usize]);
            let Cell { row: i, col: j } = self.cell(end, site.land.grid.cols());
            let [rows, cols] = site.land.grid.size;
            let at_side = i == 0 || j == 0 || i + 1 == rows || j + 1 == cols;
            match joins {
                None if nodes.len() < MIN_STEM_NODES && alone && at_side => {}
                Some(node) if nodes.len() < MIN_STEM_NODES && alone => {
                    // All of the stem's water enters at that node, also when the sums are computed again.
                    let node = node as usize;
                    self.inflow[node] = self.inflow[node].saturating_add(self.flow[end as usize]);
                    self.ground[node] = self.ground[node].saturating_add(self.area[end as usize]);
                    for node in nodes {
                        (self.inflow[node as usize], self.ground[node as usize]) = (0, 0);
                    }
                }
                _ => stems.push(Stem { nodes, joins }),
            }
        }
        stems
    }

    /// Returns a node's cell, on a grid of `cols` columns.
    pub fn cell(&self, node: u32, cols: usize) -> Cell {
        let k = self.cells[node as usize] as usize;
        Cell::new(k / cols, k % cols)
    }
}

/// Returns the neighbours of a cell inside a grid.
pub(super) fn neighbour_cells(size: [usize; 2], k: usize) -> impl Iterator<Item = usize> {
    let cols = size[1];
    Neighbourhood::new(size, [k / cols, k % cols]).map(move |(_, Cell { row: r, col: c })| r * cols + c)
}
