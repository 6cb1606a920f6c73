//! D8 flow routing: each cell drains to one of its eight neighbours.

use multiversion::multiversion;
use rayon::prelude::*;

use crate::padded_rows::{BLOCK, Block, HERE, NEIGHBOURS, Near, WALL, read_block, read_heights, round_up_to_blocks};
use crate::{CellRole, Directions, Land, OUT, PIT, VOID, flats};
use thalweg_core::terrain::CellMetrics;
use thalweg_core::{Field, Grid, Topology};

/// Computes the D8 flow direction of each cell: the neighbour of steepest descent (O'Callaghan & Mark 1984,
/// doi:10.1016/S0734-189X(84)80011-0). This is the neighbour with the greatest fall per distance, compared exactly;
/// ties are broken by [`Land::break_tie`]. For example, a diagonal fall of 2 m over 14.1 m is steeper than a straight
/// fall of 1 m over 10 m. If cells are not squares, the distances are those of the cell's row
/// ([`CellMetrics`](thalweg_core::terrain::CellMetrics)), and slopes are compared as rounded `f64` quotients.
///
/// Flat areas drain towards their lower edge (see [`flats`]); on a filled surface every cell drains. Rim cells
/// without a lower neighbour, and sinks, are [`OUT`]. Other cells without a receiver are [`PIT`], and cells without
/// data are [`VOID`]. The land must be one that [`Land::check`] accepts.
///
/// # Examples
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_flow::d8::route_d8;
/// use thalweg_flow::{D8, Land, OUT};
///
/// let heights = [9.0, 9.0, 9.0, 9.0, 5.0, 4.0, 9.0, 9.0, 1.0];
/// let terrain = Terrain::from_metres(Grid::new([3, 3], 10.0)?, &heights)?;
/// let directions = route_d8(&Land::from_terrain(&terrain));
/// // The diagonal fall of 4 m over 14.1 m is steeper than the fall of 1 m over 10 m to the east.
/// assert_eq!(directions[(1, 1)], D8::SouthEast.code());
/// assert_eq!(directions[(2, 2)], OUT);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn route_d8(land: &Land<'_>) -> Directions {
    let mut directions = route_steepest_descent(land, &land.cell_roles());
    flats::route_flats(land, &mut directions);
    directions
}

/// Number of rows that one task processes.
const ROWS: usize = 32;

/// Computes directions of steepest descent only; cells of flat areas stay [`PIT`].
pub fn route_steepest_descent(land: &Land<'_>, roles: &Field<CellRole>) -> Directions {
    let cols = land.grid.cols();
    let mut directions = Directions::new(land.grid.topology(), PIT);
    let metrics = uneven_metrics(land.grid);
    directions.as_mut_slice().par_chunks_mut(ROWS * cols.max(1)).enumerate().for_each(|(band, directions)| {
        let mut descent = SteepestDescent::new(land.grid.topology(), metrics.as_ref());
        for (r, directions) in directions.chunks_mut(cols).enumerate() {
            descent.route_row(land, roles, band * ROWS + r, directions);
        }
    });
    directions
}

/// Returns the measures of the cells of a grid whose cells are not squares; `None` for squares, which need none.
pub(super) fn uneven_metrics(grid: &Grid) -> Option<CellMetrics> {
    (!grid.is_square()).then(|| grid.cell_metrics())
}

/// Computes steepest descent row by row.
pub(super) struct SteepestDescent<'a> {
    /// The distances between cells; `None` for squares.
    metrics: Option<&'a CellMetrics>,
    near: Near<i32>,
    steepest: Vec<u8>,
    /// The row to which `near` can advance without reading all three rows.
    next: usize,
}

impl<'a> SteepestDescent<'a> {
    /// Prepares the work on a grid with these measures, which [`uneven_metrics`] returns.
    pub(super) fn new(topology: Topology, metrics: Option<&'a CellMetrics>) -> Self {
        let steepest = vec![0; round_up_to_blocks(topology.size[1])];
        Self { metrics, near: Near::new(topology, WALL), steepest, next: usize::MAX }
    }

    /// Computes the directions of row `i`; fastest when rows are processed from north to south.
    pub(super) fn route_row(&mut self, land: &Land<'_>, roles: &Field<CellRole>, i: usize, directions: &mut [u8]) {
        self.near.advance_to_row(i, i != self.next, |i, row| read_heights(land.ground, roles, i, row));
        self.next = i + 1;
        match self.metrics {
            None => mark_steepest(&self.near.rows, &mut self.steepest),
            Some(metrics) => {
                mark_steepest_by_distance(&self.near.rows, &metrics.row(i).distances(), &mut self.steepest);
            }
        }
        let cells = directions.iter_mut().zip(&self.steepest).zip(roles.row(i));
        for (j, ((direction, steepest), part)) in cells.enumerate() {
            // Most cells are inside and have one steepest neighbour. The table contains their direction.
            *direction = UNIQUE_DIRECTION[usize::from(*steepest)];
            if *direction == TIED || *part != CellRole::Inside {
                *direction = match part {
                    CellRole::Void => VOID,
                    CellRole::Sink => OUT,
                    // A rim cell with a lower neighbour drains to that neighbour. Water leaves here only if there is
                    // none.
                    CellRole::Rim if *steepest == 0 => OUT,
                    _ => land.choose_neighbour(i, j, *steepest),
                };
            }
        }
    }
}

/// The direction for each set of steepest neighbours that contains at most one; [`TIED`] for all others.
const UNIQUE_DIRECTION: [u8; 256] = {
    let mut table = [TIED; 256];
    table[0] = PIT;
    let mut k = 0;
    while k < 8 {
        table[1 << k] = k;
        k += 1;
    }
    table
};

/// Several neighbours are equally steep, so a tie must be broken.
const TIED: u8 = 254;

/// Sets bit k if no neighbour is steeper than neighbour k; no bits if no neighbour is lower.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn mark_steepest(near: &[Vec<i32>; 3], steepest: &mut [u8]) {
    for j in (0..steepest.len()).step_by(BLOCK) {
        let here = read_block(near, HERE, j);
        let (straight, diagonal) =
            (find_lowest_neighbours(near, j, &here, 0), find_lowest_neighbours(near, j, &here, 1));
        for x in 0..BLOCK {
            // Compare squared slopes exactly, in integers: falls of up to 2³² have squares of up to 2⁶⁴. The diagonal
            // fall is divided by √2, so its square is halved. The two are never equal, because √2 is irrational.
            let squared = |low: i32| {
                u64::from(here[x].wrapping_sub(low) as u32).wrapping_mul(u64::from(here[x].wrapping_sub(low) as u32))
            };
            let is_straight = squared(straight.0[x]) > squared(diagonal.0[x]) >> 1;
            steepest[j + x] = if is_straight { straight.1[x] } else { diagonal.1[x] } as u8;
        }
    }
}

/// Does the same as [`mark_steepest`] for neighbours at these distances, by direction code.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn mark_steepest_by_distance(near: &[Vec<i32>; 3], distances: &[f64; 8], steepest: &mut [u8]) {
    for j in (0..steepest.len()).step_by(BLOCK) {
        let here = read_block(near, HERE, j);
        let mut greatest = [0.0; BLOCK];
        let mut bits = [0; BLOCK];
        for k in 0..8 {
            let height = read_block(near, NEIGHBOURS[k], j);
            for x in 0..BLOCK {
                // Falls are exact in `f64`, and a quotient is rounded once, so all machines have the same bits, and
                // equal falls over equal distances are ties. A product with a reciprocal would be rounded twice.
                let slope = (f64::from(here[x]) - f64::from(height[x])) / distances[k];
                let kept = if slope > greatest[x] { 0 } else { bits[x] };
                bits[x] = kept | i32::from(slope > 0.0 && slope >= greatest[x]) << k;
                greatest[x] = if slope > greatest[x] { slope } else { greatest[x] };
            }
        }
        for x in 0..BLOCK {
            steepest[j + x] = bits[x] as u8;
        }
    }
}

/// Returns the lowest height among each cell and its straight (`odd` 0) or diagonal (1) neighbours, and bits for the
/// neighbours that have that height, if they are lower than the cell.
#[inline(always)]
fn find_lowest_neighbours(near: &[Vec<i32>; 3], j: usize, here: &Block<i32>, odd: usize) -> (Block<i32>, Block<i32>) {
    let mut low = *here;
    let mut bits = [0; BLOCK];
    for k in [odd, odd + 2, odd + 4, odd + 6] {
        // The first pass finds the lowest height. Masks and minima instead of branches let the compiler vectorise both
        // passes.
        let height = read_block(near, NEIGHBOURS[k], j);
        for x in 0..BLOCK {
            low[x] = low[x].min(height[x]);
        }
    }
    for k in [odd, odd + 2, odd + 4, odd + 6] {
        // The second pass marks every neighbour of that height, because several may tie. A neighbour that is level with
        // the cell is no descent and gets no bit.
        let height = read_block(near, NEIGHBOURS[k], j);
        for x in 0..BLOCK {
            bits[x] |= i32::from(height[x] == low[x] && height[x] < here[x]) << k;
        }
    }
    (low, bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::base::rng::RandomKey;
    use thalweg_core::terrain::{CellShape, D8, Ellipsoid, GeographicCells};
    use thalweg_core::{Cell, CellRect, Height};

    fn random_ground(size: [usize; 2], seed: u64, levels: u64) -> Field<Height> {
        let key = RandomKey::new(seed, "uneven cells");
        Field::from_fn(size, |i, j| Height((key.for_cell([i as i64, j as i64]).random_bits() % levels) as i32))
    }

    fn shapes() -> [CellShape; 3] {
        let ellipsoid = Ellipsoid::WGS_84;
        [
            CellShape::Rectangular { width: 20.0, height: 45.0 },
            CellShape::Rectangular { width: 3.0, height: 1.0 },
            CellShape::Geographic(GeographicCells { north_deg: 71.0, d_lat_deg: 0.05, d_lon_deg: 0.07, ellipsoid }),
        ]
    }

    #[test]
    fn each_cell_drains_down_the_greatest_true_slope() {
        for (seed, shape) in (0..8).flat_map(|seed| shapes().map(|shape| (seed, shape))) {
            let size = [37, 21 + seed as usize];
            let grid = Grid::new(size, 1.0).unwrap().with_shape(shape).unwrap();
            let ground = random_ground(size, seed, [3, 9, 1 << 30][seed as usize % 3]);
            let land = Land { grid: &grid, ground: &ground, nodata: None, outlets: &[] };
            let directions = route_steepest_descent(&land, &land.cell_roles());
            let metrics = grid.cell_metrics();
            for (i, j) in (0..size[0]).flat_map(|i| (0..size[1]).map(move |j| (i, j))) {
                let slopes: Vec<(D8, f64)> = land
                    .neighbours(i, j)
                    .map(|(direction, Cell { row, col })| {
                        let fall = f64::from(ground[(i, j)].0) - f64::from(ground[(row, col)].0);
                        (direction, fall / metrics.row(i).distance(direction))
                    })
                    .collect();
                let greatest = slopes.iter().fold(0.0, |greatest, (_, slope)| slope.max(greatest));
                let equals = slopes.iter().filter(|(_, slope)| *slope == greatest && greatest > 0.0);
                let mut equals: Vec<u8> = equals.map(|(direction, _)| direction.code()).collect();
                equals.sort_unstable();
                match D8::from_code(directions[(i, j)]) {
                    None => assert!(equals.is_empty()),
                    Some(found) => {
                        let chosen = land.break_tie(i, j, equals.len() as u32) as usize;
                        assert_eq!(found.code(), equals[chosen], "{shape:?}: {i}, {j}");
                    }
                }
            }
        }
    }

    #[test]
    fn rectangles_with_equal_sides_drain_like_squares() {
        for seed in 0..12 {
            let size = [40, 33];
            let squares = Grid::new(size, 10.0).unwrap();
            let shape = CellShape::Rectangular { width: 10.0, height: 10.0 };
            let rectangles = squares.clone().with_shape(shape).unwrap();
            let ground = random_ground(size, seed, [2, 7, 300, 1 << 30][seed as usize % 4]);
            let route = |grid: &Grid| route_d8(&Land { grid, ground: &ground, nodata: None, outlets: &[] });
            assert_eq!(route(&squares), route(&rectangles), "{seed}");
        }
    }

    #[test]
    fn a_window_in_degrees_has_the_directions_of_the_whole() {
        let size = [60, 50];
        let [_, _, shape] = shapes();
        let grid = Grid::new(size, 1.0).unwrap().with_shape(shape).unwrap();
        let ground = random_ground(size, 3, 1 << 30);
        let window = CellRect::new([17, 9], [30, 25]);
        let (part, part_ground) = (grid.window(window), ground.copy_window(window));
        let route = |grid: &Grid, ground: &Field<Height>| {
            let land = Land { grid, ground, nodata: None, outlets: &[] };
            route_steepest_descent(&land, &land.cell_roles())
        };
        let (whole, tile) = (route(&grid, &ground), route(&part, &part_ground));
        for (i, j) in (1..29).flat_map(|i| (1..24).map(move |j| (i, j))) {
            assert_eq!(tile[(i, j)], whole[(17 + i, 9 + j)]);
        }
    }
}
