//! [`ChannelNetwork`] and [`ChannelReach`]: the channels of a terrain, reach by reach.

use crate::terrain::Cell;
use crate::terrain::d8::D8;

/// The number of a reach: its index in [`ChannelNetwork::reaches`].
pub type ReachId = u32;

/// A channel reach: a stretch of a stream without tributaries, from a source or junction down to the next junction or
/// to an outlet.
///
/// # Examples
/// ```
/// use thalweg_core::terrain::{Cell, ChannelReach};
///
/// // Two steps eastward and one to the south-east, where it meets reach 7.
/// let reach = ChannelReach {
///     cells: [[0, 0], [0, 1], [0, 2], [1, 3]].map(Cell::from).to_vec(),
///     downstream: Some(7),
///     ..ChannelReach::default()
/// };
/// // The junction belongs to reach 7.
/// assert_eq!(reach.own_cells().len(), 3);
/// assert!(reach.sinuosity() > 1.0);
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChannelReach {
    /// The number of the reach.
    pub id: ReachId,
    /// The Strahler order, from 1; 0 if none has been assigned.
    pub order: u32,
    /// The Shreve magnitude: the number of sources upstream of its lower end, from 1; 0 if none has been assigned.
    pub magnitude: u32,
    /// The cells from the source or junction down to and including the next junction or the outlet.
    pub cells: Vec<Cell>,
    /// The length along the centres of the cells, in metres.
    pub length: f64,
    /// The drop from the first cell to the last, in metres, of the surface on which the flow was routed.
    pub drop: f64,
    /// The drop divided by the length, in metres per metre.
    pub slope: f64,
    /// The drainage area in m², without that of the tributaries at the junction where the reach ends.
    pub drainage_area: f64,
    /// The reach into which this one flows; `None` at an outlet. For example, two reaches that meet at a junction have
    /// the same reach downstream.
    pub downstream: Option<ReachId>,
    /// The hydraulics of the reach; `None` if no discharge is known.
    pub hydraulics: Option<Hydraulics>,
}

/// The discharge of a channel reach, and the dimensions of a natural stream with this discharge.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Hydraulics {
    /// The greatest discharge of the reach's own cells, in m³/s.
    pub discharge: f64,
    /// The width of the water in metres.
    pub width: f64,
    /// The mean depth in metres.
    pub depth: f64,
    /// The mean velocity in m/s.
    pub velocity: f64,
}

impl ChannelReach {
    /// Returns the cells without the junction at the lower end, which belongs to the reach downstream.
    pub fn own_cells(&self) -> &[Cell] {
        match self.cells.split_last() {
            // A reach that ends at an outlet keeps its last cell, because no other reach has it.
            Some((_, own)) if self.downstream.is_some() => own,
            _ => &self.cells,
        }
    }

    /// Returns the sinuosity: the length along the cells divided by the straight distance between the ends, 1 or more.
    /// In a straight valley, the restriction to eight directions alone makes it up to 1.08. For example, a meandering
    /// reach of 3 km between ends 2 km apart has a sinuosity of 1.5.
    pub fn sinuosity(&self) -> f64 {
        // Where a looped terrain wraps around, the index of the next cell differs by more than 1.
        let step = |from: usize, to: usize| match to as i64 - from as i64 {
            far @ (..-1 | 2..) => -far.signum(),
            near => near,
        };
        let advance = |end: Cell<i64>, pair: &[Cell]| {
            Cell::new(end.row + step(pair[0].row, pair[1].row), end.col + step(pair[0].col, pair[1].col))
        };
        let end = self.cells.windows(2).fold(Cell::default(), advance).map(|cells| cells as f64);
        // A path of a single cell, or one that returns to its start, has no straight distance.
        let straight = (end.row * end.row + end.col * end.col).sqrt();
        if straight > 0.0 { path_length(&self.cells) / straight } else { 1.0 }
    }
}

/// Returns the length of a path of adjacent cells, in cells. Straight and diagonal steps are counted separately, so
/// that no sum of square roots accumulates rounding errors.
pub fn path_length(cells: &[Cell]) -> f64 {
    let diagonal = cells.windows(2).filter(|pair| pair[0].row != pair[1].row && pair[0].col != pair[1].col).count();
    let straight = cells.len().saturating_sub(1) - diagonal;
    straight as f64 + D8::DISTANCES[1] * diagonal as f64
}

/// The channels of a terrain.
///
/// # Examples
/// ```
/// use thalweg_core::terrain::{Cell, ChannelNetwork, ChannelReach};
///
/// let reach = |id, cells: [[usize; 2]; 2], downstream| ChannelReach {
///     id,
///     cells: cells.map(Cell::from).to_vec(),
///     downstream,
///     ..ChannelReach::default()
/// };
/// // Two sources meet at row 1, column 1.
/// let reaches = vec![
///     reach(0, [[0, 0], [1, 1]], Some(2)),
///     reach(1, [[0, 2], [1, 1]], Some(2)),
///     reach(2, [[1, 1], [2, 1]], None),
/// ];
/// let mut network = ChannelNetwork { reaches };
/// network.assign_orders();
/// assert_eq!((network.reaches[2].order, network.reaches[2].magnitude), (2, 2));
/// assert_eq!(network.junctions(), [Cell::new(1, 1)]);
/// assert_eq!(network.tributaries()[2], [0, 1]);
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChannelNetwork {
    /// The reaches; the [`id`](ChannelReach::id) of each is its index.
    pub reaches: Vec<ChannelReach>,
}

impl ChannelNetwork {
    /// Returns, for each reach, the reaches that flow into it, in ascending order.
    pub fn tributaries(&self) -> Vec<Vec<ReachId>> {
        let mut tributaries = vec![Vec::new(); self.reaches.len()];
        for (id, reach) in self.reaches.iter().enumerate() {
            if let Some(downstream) = reach.downstream {
                tributaries[downstream as usize].push(id as ReachId);
            }
        }
        tributaries
    }

    /// Returns the cells in which two or more reaches end, in row-major order. For example, a network of two sources
    /// that meet and flow on as one reach has one junction.
    pub fn junctions(&self) -> Vec<Cell> {
        let mut ends: Vec<Cell> = self.reaches.iter().filter_map(|reach| reach.cells.last().copied()).collect();
        // After sorting, ends in the same cell follow each other.
        ends.sort_unstable();
        let mut junctions: Vec<Cell> = ends.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
        junctions.dedup();
        junctions
    }

    /// Assigns each reach its Strahler order and its Shreve magnitude, from the sources down. Reaches in a cycle, which
    /// cannot occur on a surface, keep their values.
    pub fn assign_orders(&mut self) {
        // Topological order: a reach is ready when all of its tributaries have their values.
        let tributaries = self.tributaries();
        let mut waiting: Vec<usize> = tributaries.iter().map(Vec::len).collect();
        let mut ready: Vec<usize> = (0..self.reaches.len()).filter(|id| waiting[*id] == 0).collect();
        while let Some(id) = ready.pop() {
            let of_tributaries = |value: fn(&ChannelReach) -> u32| -> Vec<u32> {
                tributaries[id].iter().map(|n| value(&self.reaches[*n as usize])).collect()
            };
            // The values follow from the tributaries alone, so it does not matter which of the ready reaches comes
            // first.
            let order = strahler_order(&of_tributaries(|reach| reach.order));
            let magnitude = shreve_magnitude(&of_tributaries(|reach| reach.magnitude));
            (self.reaches[id].order, self.reaches[id].magnitude) = (order, magnitude);
            if let Some(downstream) = self.reaches[id].downstream.map(|n| n as usize) {
                waiting[downstream] -= 1;
                if waiting[downstream] == 0 {
                    ready.push(downstream);
                }
            }
        }
    }
}

/// Returns the Strahler order below tributaries of these orders (Strahler 1957, doi:10.1029/TR038i006p00913): the
/// highest order, plus one if two or more tributaries have it; 1 without tributaries. For example, tributaries of the
/// orders 2, 2 and 1 give order 3.
pub fn strahler_order(tributaries: &[u32]) -> u32 {
    let highest = tributaries.iter().copied().max().unwrap_or(1);
    let count = tributaries.iter().filter(|order| **order == highest).count();
    highest + u32::from(count > 1)
}

/// Returns the Shreve magnitude below tributaries of these magnitudes (Shreve 1966, doi:10.1086/627137): their sum; 1
/// without tributaries.
pub fn shreve_magnitude(tributaries: &[u32]) -> u32 {
    // The sum saturates, because magnitudes may come from a file.
    tributaries.iter().fold(0u32, |sum, n| sum.saturating_add(*n)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach_through(cells: &[[usize; 2]]) -> ChannelReach {
        ChannelReach { cells: cells.iter().map(|cell| Cell::from(*cell)).collect(), ..ChannelReach::default() }
    }

    #[test]
    fn sinuosity_is_length_over_distance() {
        let reach = reach_through(&[[0, 0], [1, 1], [1, 2], [0, 3], [0, 4]]);
        assert_eq!(reach.sinuosity(), (2.0 + 2.0 * std::f64::consts::SQRT_2) / 4.0);
    }

    #[test]
    fn a_reach_across_the_seam_is_as_sinuous_as_elsewhere() {
        let cells = [[2, 0], [2, 1], [1, 2], [1, 3], [0, 4], [15, 5]];
        // Five columns eastward and three rows northward, across the seam of the rows; three of the steps are diagonal.
        let expected = (2.0 + 3.0 * D8::DISTANCES[1]) / 34f64.sqrt();
        for from in 0..16 {
            let reach = reach_through(&cells.map(|[row, col]| [row, (from + col) % 16]));
            assert!((reach.sinuosity() - expected).abs() < 1e-12, "{from}: {}", reach.sinuosity());
        }
    }

    #[test]
    fn reaches_in_a_circle_keep_their_orders() {
        let reach = |id, downstream| ChannelReach { id, downstream: Some(downstream), ..ChannelReach::default() };
        let mut network = ChannelNetwork { reaches: vec![reach(0, 1), reach(1, 0), reach(2, 0)] };
        network.assign_orders();
        assert_eq!(network.reaches.iter().map(|reach| reach.order).collect::<Vec<_>>(), [0, 0, 1]);
    }
}
