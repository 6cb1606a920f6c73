//! D∞ flow routing: directions at any angle, with flow to one or two neighbours.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

use crate::d8::uneven_metrics;
use crate::{D8, Directions, Land, VOID, receiver_index};
use thalweg_core::terrain::{CellMetrics, RowMetrics};
use thalweg_core::{Cell, Error, Field, Grid, Result, Topology};

/// The angle of a cell that drains to no neighbour: water leaves or stays there, or there is no data.
pub const NONE: f32 = -1.0;

/// The number of parts that [`split_angle`] divides a cell's water into.
// A power of two turns the division by it into a shift.
pub const WHOLE: u32 = 1 << 24;

/// Multiples of 45° as `f32`: the angles of the neighbours, counter-clockwise from the east.
const MULTIPLES: [f32; 9] = {
    let mut angles = [0.0; 9];
    let mut k = 0;
    while k < 9 {
        angles[k] = (k as f64 * FRAC_PI_4) as f32;
        k += 1;
    }
    angles
};

/// Returns the code of the neighbour at `k` × 45° counter-clockwise from the east; codes are clockwise.
fn to_direction_code(k: usize) -> u8 {
    ((8 - k % 8) % 8) as u8
}

/// Returns the multiple of 45° counter-clockwise from the east at which a neighbour is located: the inverse of
/// [`to_direction_code`].
fn to_angle_multiple(direction: D8) -> usize {
    (8 - direction.index()) % 8
}

/// Computes the direction of steepest descent of each cell in radians counter-clockwise from the east, 0 to less than
/// 2π; [`NONE`] where the cell drains to no neighbour. For example, the angle π/2 is north.
///
/// The method is that of Tarboton (1997, doi:10.1029/96WR03137): the direction is that of the steepest of the eight
/// triangular facets that a cell forms with two adjacent neighbours; ties are broken by [`Land::break_tie`]. Where no
/// facet descends, for example on the flats of a filled surface, the angle is that of the D8 direction. If one
/// neighbour of a facet is outside or has no data, the facet's other edge still counts. If cells are not squares, the facets and the angles are those on the ground, with
/// the distances of the cell's row. `directions` must be those of
/// the same land, which must be one that [`Land::check`] accepts.
///
/// # Examples
/// ```
/// use thalweg_core::{Field, Grid, Height, Terrain};
/// use thalweg_flow::Land;
/// use thalweg_flow::d8::route_d8;
/// use thalweg_flow::infinity::route_d_infinity;
///
/// // A plane that falls 2 m per cell to the east and 1 m per cell to the north.
/// let ground = Field::from_fn([3, 3], |i, j| Height::from_metres_clamped(20.0 + i as f64 - 2.0 * j as f64));
/// let terrain = Terrain::from_ground(Grid::new([3, 3], 10.0)?, ground)?;
/// let land = Land::from_terrain(&terrain);
/// let angles = route_d_infinity(&land, &route_d8(&land));
/// assert!((angles[(1, 1)] - 0.5_f32.atan()).abs() < 1e-6);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn route_d_infinity(land: &Land<'_>, directions: &Directions) -> Field<f32> {
    let Some(metrics) = uneven_metrics(land.grid) else { return route_by_facets(land, directions, |_| &SquareFacets) };
    let rows = RowFacets::from_rows(&metrics, land.grid.rows());
    route_by_facets(land, directions, |i| &rows[i.min(rows.len() - 1)])
}

/// Does the work of [`route_d_infinity`] with the facets that `facets` returns for each row.
fn route_by_facets<'a, T: Facets + 'a>(
    land: &Land<'_>,
    directions: &Directions,
    facets: impl Fn(usize) -> &'a T + Sync,
) -> Field<f32> {
    Field::from_fn(directions.size(), |i, j| {
        let code = directions[(i, j)];
        let Some(direction) = D8::from_code(code) else { return NONE };
        let facets = facets(i);
        find_steepest_angle(land, directions, [i, j], facets)
            .unwrap_or_else(|| facets.angle(to_angle_multiple(direction)) as f32)
    })
}

/// The triangles that a cell forms with adjacent neighbours.
trait Facets: Sync {
    /// Computes the descent on the facet between the neighbours `k` and `k + 1`, counter-clockwise from the east.
    /// `falls` are the falls to the neighbours, with 0 for missing neighbours, so that nothing drains there.
    fn facet(&self, falls: &[f64; 9], k: usize) -> Facet;

    /// Returns the angle of neighbour `k` in radians.
    fn angle(&self, k: usize) -> f64;

    /// Returns the angle of a facet's descent in radians; it may be below 0.
    #[inline(always)]
    fn descent_angle(&self, facet: Facet) -> f64 {
        self.angle(facet.multiple) + libm::atan(facet.tangent)
    }
}

/// The facets of square cells.
struct SquareFacets;

impl Facets for SquareFacets {
    #[inline(always)]
    fn facet(&self, falls: &[f64; 9], k: usize) -> Facet {
        compute_facet(falls, k)
    }

    #[inline(always)]
    fn angle(&self, k: usize) -> f64 {
        k as f64 * FRAC_PI_4
    }
}

/// The facets of the cells of a row that are not squares: those of a plane in which the straight neighbours have their
/// true distances.
struct RowFacets {
    /// The distances to the neighbours, counter-clockwise from the east; of diagonal ones, in the plane.
    distances: [f64; 8],
    /// The angles of the neighbours in radians.
    angles: [f64; 9],
}

impl RowFacets {
    /// Returns the facets of each row, or one entry if all rows are alike.
    fn from_rows(metrics: &CellMetrics, rows: usize) -> Vec<Self> {
        let count = if metrics.is_uniform() { 1 } else { rows };
        (0..count).map(|i| Self::from_metrics(metrics.row(i))).collect()
    }

    fn from_metrics(row: &RowMetrics) -> Self {
        let [across, north, south] = [row.across, row.north, row.south];
        let diagonal = |height: f64| (across * across + height * height).sqrt();
        let [upper, lower] = [north, south].map(|height| libm::atan2(height, across));
        let [north_diagonal, south_diagonal] = [north, south].map(diagonal);
        Self {
            distances: [across, north_diagonal, north, north_diagonal, across, south_diagonal, south, south_diagonal],
            angles: [0.0, upper, FRAC_PI_2, PI - upper, PI, PI + lower, PI + FRAC_PI_2, 2.0 * PI - lower, 2.0 * PI],
        }
    }
}

impl Facets for RowFacets {
    fn facet(&self, falls: &[f64; 9], k: usize) -> Facet {
        // One neighbour is straight, the other diagonal; the third is the straight one on the other side of that.
        let (ahead, corner) = (k + k % 2, k + 1 - k % 2);
        let along = self.distances[ahead % 8];
        let aside = self.distances[(2 * corner + 8 - ahead) % 8];
        let (s1, s2) = (falls[ahead] / along, (falls[corner] - falls[ahead]) / aside);
        // The cases are those of `compute_facet`.
        if 0.0 < s2 && s2 * along < s1 * aside {
            let tangent = if ahead < corner { s2 / s1 } else { -s2 / s1 };
            Facet { slope: s1 * s1 + s2 * s2, multiple: ahead % 8, tangent }
        } else if s1 > 0.0 && s2 <= 0.0 {
            Facet { slope: s1 * s1, multiple: ahead % 8, tangent: 0.0 }
        } else {
            let slope = falls[corner].max(0.0) / self.distances[corner];
            Facet { slope: slope * slope, multiple: corner, tangent: 0.0 }
        }
    }

    fn angle(&self, k: usize) -> f64 {
        self.angles[k]
    }

    fn descent_angle(&self, Facet { multiple, tangent, .. }: Facet) -> f64 {
        // The limits keep a rounded angle inside its facet, so that water flows to lower neighbours only.
        if tangent < 0.0 {
            let multiple = if multiple == 0 { 8 } else { multiple };
            (self.angles[multiple] + libm::atan(tangent)).max(self.angles[multiple - 1])
        } else if tangent > 0.0 {
            (self.angles[multiple] + libm::atan(tangent)).min(self.angles[multiple + 1])
        } else {
            self.angles[multiple]
        }
    }
}

/// Returns the angle of the steepest facet at cell (i, j); `None` if no facet descends.
fn find_steepest_angle(
    land: &Land<'_>,
    directions: &Directions,
    [i, j]: [usize; 2],
    facets: &impl Facets,
) -> Option<f32> {
    let here = f64::from(land.ground[(i, j)].0);
    let mut falls = [0.0; 9];
    let [rows, cols] = directions.size();
    if (1..rows - 1).contains(&i) && (1..cols - 1).contains(&j) {
        let k = i * cols + j;
        for direction in D8::ALL {
            let [down, across] = direction.offset();
            let to = k.wrapping_add_signed(down * cols as isize + across);
            if directions[to] != VOID {
                falls[to_angle_multiple(direction)] = here - f64::from(land.ground[to].0);
            }
        }
    } else {
        for (direction, Cell { row: r, col: c }) in land.neighbours(i, j) {
            if directions[(r, c)] != VOID {
                falls[to_angle_multiple(direction)] = here - f64::from(land.ground[(r, c)].0);
            }
        }
    }
    // Repeat the first neighbour at the end, so that the last facet needs no wrap-around.
    falls[8] = falls[0];
    // Two facets that both descend along the edge between them are one direction, not a tie.
    let (mut equals, mut count) = ([Facet { slope: 0.0, multiple: 0, tangent: 0.0 }; 8], 0);
    for k in 0..8 {
        let facet = facets.facet(&falls, k);
        if facet.slope > equals[0].slope {
            (equals[0], count) = (facet, 1);
        } else if facet.slope == equals[0].slope && facet.slope > 0.0 && !equals[..count].contains(&facet) {
            equals[count] = facet;
            count += 1;
        }
    }
    if count == 0 {
        return None;
    }
    let facet = equals[if count == 1 { 0 } else { land.break_tie(i, j, count as u32) as usize }];
    let angle = facets.descent_angle(facet);
    // Rounding to `f32` may reach 2π, which is the east again.
    let angle = if angle < 0.0 { angle + 8.0 * FRAC_PI_4 } else { angle } as f32;
    Some(if angle >= MULTIPLES[8] { 0.0 } else { angle })
}

/// The steepest descent on a facet.
#[derive(Clone, Copy, PartialEq)]
struct Facet {
    /// The square of its slope, in units per cell, or per metre if cells are not squares; 0 if it does not descend.
    slope: f64,
    /// The direction of descent is the angle of neighbour `multiple`, `multiple` × 45° for squares, plus the arctangent
    /// of `tangent`.
    multiple: usize,
    tangent: f64,
}

/// Computes the facet between k × 45° and (k + 1) × 45°. `falls` are the falls to the neighbours by multiples of 45°,
/// with 0 for missing neighbours, so that nothing drains there.
fn compute_facet(falls: &[f64; 9], k: usize) -> Facet {
    // One neighbour is straight, the other diagonal.
    let (ahead, corner) = (k + k % 2, k + 1 - k % 2);
    let s1 = falls[ahead];
    let fall = falls[corner];
    let s2 = fall - s1;
    // The steepest descent points into the facet.
    if 0.0 < s2 && s2 < s1 {
        let tangent = if ahead < corner { s2 / s1 } else { -s2 / s1 };
        Facet { slope: s1 * s1 + s2 * s2, multiple: ahead % 8, tangent }
    } else if s1 > 0.0 && s2 <= 0.0 {
        // It points outside, beyond the straight edge, so water follows that edge.
        Facet { slope: s1 * s1, multiple: ahead % 8, tangent: 0.0 }
    } else {
        // It points beyond the diagonal edge, which is √2 cells long, so the squared fall is halved.
        let fall = fall.max(0.0);
        Facet { slope: fall * fall / 2.0, multiple: corner, tangent: 0.0 }
    }
}

/// Splits an angle between the two neighbours on either side: returns their codes and their parts of [`WHOLE`], which
/// sum to it; `None` for [`NONE`] and for angles outside 0 to less than 2π. The first neighbour is the next one
/// clockwise. The second's part is the angle from the first divided by 45°, and 0 if the angle points exactly at the
/// first.
#[inline(always)]
pub fn split_angle(angle: f32) -> Option<[(u8, u32); 2]> {
    split_angle_between(angle, &MULTIPLES)
}

/// Does the same as [`split_angle`] for neighbours at these angles, counter-clockwise from the east.
#[inline(always)]
fn split_angle_between(angle: f32, neighbours: &[f32; 9]) -> Option<[(u8, u32); 2]> {
    let k = neighbours.partition_point(|multiple| *multiple <= angle).checked_sub(1).filter(|k| *k < 8)?;
    let [low, high] = [neighbours[k], neighbours[k + 1]].map(f64::from);
    let part = ((f64::from(angle) - low) / (high - low) * f64::from(WHOLE) + 0.5) as u32;
    Some([(to_direction_code(k), WHOLE - part), (to_direction_code(k + 1), part)])
}

/// Returns the cells that cell `k` drains to and the share of `amount` that each receives; the shares sum to `amount`
/// exactly.
fn split_flow(
    k: usize,
    shares: Option<[(u8, u32); 2]>,
    amount: i64,
    topology: Topology,
) -> impl Iterator<Item = (usize, i64)> {
    let shares = shares.unwrap_or_default();
    // The product of an i64 and 2²⁴ needs more than 64 bits. The first neighbour gets the rest, so that nothing is
    // lost.
    let second = ((i128::from(amount) * i128::from(shares[1].1)) >> WHOLE.trailing_zeros()) as i64;
    let parts = [(shares[0], amount - second), (shares[1], second)];
    // A neighbour with no part is not a receiver; it may be higher, or outside.
    let given = parts.into_iter().filter(|((_, part), _)| *part > 0);
    given.filter_map(move |((to, _), amount)| Some((receiver_index(topology, k, to)?, amount)))
}

/// Sums the weights of all cells and parts of cells that drain through each cell along `angles`, including its own; 0
/// where `directions` show that there is no data.
///
/// A cell's sum is split exactly between its two receivers, so the cells without a receiver together hold the sum of
/// all weights. Sums that an i64 cannot hold saturate at its limit.
///
/// The angles that [`route_d_infinity`] returns contain no cycles. A cell on a facet drains only to lower cells:
/// inside the facet both its neighbours are lower, along an edge the one there is, and rounding an angle can only
/// move it onto an edge of its own facet. The other cells follow D8, to cells that are lower or equally high. A cycle
/// would therefore consist of equal heights and of D8 alone, which has no cycles.
///
/// # Errors
/// Returns an error if sizes differ, or if angles from elsewhere lead outside, to a cell without data, or in cycles.
///
/// # Examples
/// ```
/// use thalweg_core::{Field, Grid, Height, Terrain};
/// use thalweg_flow::Land;
/// use thalweg_flow::d8::route_d8;
/// use thalweg_flow::infinity::{NONE, accumulate_d_infinity, route_d_infinity};
///
/// let ground = Field::from_fn([3, 3], |i, j| Height::from_metres_clamped(20.0 + i as f64 - 2.0 * j as f64));
/// let terrain = Terrain::from_ground(Grid::new([3, 3], 10.0)?, ground)?;
/// let land = Land::from_terrain(&terrain);
/// let directions = route_d8(&land);
/// let angles = route_d_infinity(&land, &directions);
/// let sums = accumulate_d_infinity(&directions, &angles, &Field::new([3, 3], 1000))?;
/// // Nothing is lost: the cells where water leaves hold the 1000 parts of each of the nine cells.
/// let ends = sums.as_slice().iter().zip(angles.as_slice()).filter(|(_, angle)| **angle == NONE);
/// assert_eq!(ends.map(|(sum, _)| *sum).sum::<i64>(), 9000);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn accumulate_d_infinity(directions: &Directions, angles: &Field<f32>, weights: &Field<i64>) -> Result<Field<i64>> {
    accumulate_shares(directions, angles, weights, |_, angle| split_angle(angle))
}

/// Does the same as [`accumulate_d_infinity`] for the angles of [`route_d_infinity`] on a grid whose cells need not be
/// squares: water is divided between the true directions of the two neighbours.
///
/// # Errors
/// Returns the errors of [`accumulate_d_infinity`]; an error if the directions do not have the grid's size.
pub fn accumulate_d_infinity_on(
    grid: &Grid,
    directions: &Directions,
    angles: &Field<f32>,
    weights: &Field<i64>,
) -> Result<Field<i64>> {
    check_same_size("directions", directions.size(), grid.size)?;
    let Some(metrics) = uneven_metrics(grid) else { return accumulate_d_infinity(directions, angles, weights) };
    let neighbours: Vec<[f32; 9]> = RowFacets::from_rows(&metrics, grid.rows())
        .into_iter()
        .map(|facets| facets.angles.map(|angle| angle as f32))
        .collect();
    let (cols, last) = (grid.cols(), neighbours.len() - 1);
    accumulate_shares(directions, angles, weights, |k, angle| {
        split_angle_between(angle, &neighbours[(k / cols).min(last)])
    })
}

/// Does the work of [`accumulate_d_infinity`]. `split` divides the water of the cell with a row-major index, for its
/// angle, as [`split_angle`] does.
fn accumulate_shares(
    directions: &Directions,
    angles: &Field<f32>,
    weights: &Field<i64>,
    split: impl Fn(usize, f32) -> Option<[(u8, u32); 2]>,
) -> Result<Field<i64>> {
    check_same_size("angles", angles.size(), directions.size())?;
    check_same_size("weights", weights.size(), directions.size())?;
    let cols = directions.cols();
    let codes = directions.as_slice();
    let angles = angles.as_slice();
    let mut sums = weights.clone();
    let mut givers = vec![0u8; codes.len()];
    for k in 0..codes.len() {
        if codes[k] == VOID {
            sums[k] = 0;
            continue;
        }
        // Check all angles before anything is summed, because later code relies on receivers that exist.
        for (to, part) in split(k, angles[k]).into_iter().flatten() {
            let n = find_neighbour(directions, k, to).filter(|n| codes[*n] != VOID);
            match n {
                Some(n) => givers[n] += u8::from(part > 0),
                None if part == 0 => {}
                None => {
                    let value = format!("{} in row {}, column {}", angles[k], k / cols, k % cols);
                    let allowed =
                        "in radians counter-clockwise from the east and point to a neighbouring cell with data";
                    return Err(Error::invalid_value("angle", value, allowed));
                }
            }
        }
    }
    // Process each cell once all its donors are done (Kahn 1962).
    let sums_of = sums.as_mut_slice();
    let mut ready = Vec::new();
    let mut waiting = 0;
    for first in 0..codes.len() {
        waiting += usize::from(codes[first] != VOID);
        if givers[first] == 0 && codes[first] != VOID {
            ready.push(first);
        }
        while let Some(k) = ready.pop() {
            waiting -= 1;
            for (n, amount) in split_flow(k, split(k, angles[k]), sums_of[k], directions.topology()) {
                sums_of[n] = sums_of[n].saturating_add(amount);
                givers[n] -= 1;
                // A later cell is processed when the outer loop reaches it.
                if givers[n] == 0 && n < first {
                    ready.push(n);
                }
            }
        }
    }
    if waiting > 0 {
        return Err(Error::invalid_value(
            "angles",
            format!("{waiting} cells in cycles or downstream of them"),
            "angles without cycles",
        ));
    }
    Ok(sums)
}

/// Returns the index of neighbour `to` of cell `k`; `None` if it is outside.
fn find_neighbour(directions: &Directions, k: usize, to: u8) -> Option<usize> {
    let cols = directions.cols();
    let Cell { row: i, col: j } =
        directions.topology().offset_cell([k / cols, k % cols], D8::OFFSETS[usize::from(to)])?;
    Some(i * cols + j)
}

fn check_same_size(name: &str, size: [usize; 2], expected: [usize; 2]) -> Result<()> {
    let [r, c] = size;
    let allowed = || format!("{} × {} cells", expected[0], expected[1]);
    if size == expected { Ok(()) } else { Err(Error::invalid_value(name, format!("{r} × {c} cells"), allowed())) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{d8, fill};
    use thalweg_core::Height;
    use thalweg_core::base::rng::RandomKey;
    use thalweg_core::terrain::{CellShape, Ellipsoid, GeographicCells};

    /// A reference implementation that compares the eight facets one by one.
    fn plain(land: &Land<'_>, directions: &Directions, [i, j]: [usize; 2]) -> Option<f32> {
        let mut falls = [0.0; 9];
        for (direction, cell) in land.neighbours(i, j) {
            if directions[(cell[0], cell[1])] != VOID {
                falls[to_angle_multiple(direction)] =
                    f64::from(land.ground[(i, j)].0) - f64::from(land.ground[(cell[0], cell[1])].0);
            }
        }
        falls[8] = falls[0];
        let facets: [Facet; 8] = std::array::from_fn(|k| compute_facet(&falls, k));
        let best = facets.iter().map(|facet| facet.slope).fold(0.0, f64::max);
        let mut equals: Vec<Facet> = Vec::new();
        for facet in facets.into_iter().filter(|facet| facet.slope == best && best > 0.0) {
            if !equals.contains(&facet) {
                equals.push(facet);
            }
        }
        let facet = equals.get(land.break_tie(i, j, equals.len().max(1) as u32) as usize)?;
        let angle = facet.multiple as f64 * FRAC_PI_4 + libm::atan(facet.tangent);
        let angle = if angle < 0.0 { angle + 8.0 * FRAC_PI_4 } else { angle } as f32;
        Some(if angle >= MULTIPLES[8] { 0.0 } else { angle })
    }

    #[test]
    fn one_look_at_the_facets_finds_the_steepest_and_its_equals() {
        for number in 0..60u64 {
            let key = RandomKey::new(number, "facets");
            let size = [1, 2, 3, 17, 40].map(|n| n + (key.random_bits() % 3) as usize);
            let size = [size[number as usize % 5], size[number as usize / 5 % 5]];
            let grid = Grid::new(size, 10.0).unwrap();
            let draw =
                |part: u64, i: usize, j: usize| key.derive_key(part).for_cell([i as i64, j as i64]).random_bits() >> 20;
            // Few height levels, so that many facets are tied.
            let levels = [2, 4, 30][number as usize % 3];
            let ground = Field::from_fn(size, |i, j| Height((draw(1, i, j) % levels) as i32));
            let nodata = (number % 4 == 0).then(|| Field::from_fn(size, |i, j| draw(2, i, j) % 9 == 0));
            let land = Land { grid: &grid, ground: &ground, nodata: nodata.as_ref(), outlets: &[] };
            let directions = d8::route_d8(&land);
            for (i, j) in (0..size[0]).flat_map(|i| (0..size[1]).map(move |j| (i, j))) {
                if directions[(i, j)] != VOID {
                    assert_eq!(
                        find_steepest_angle(&land, &directions, [i, j], &SquareFacets),
                        plain(&land, &directions, [i, j]),
                        "{number}: {i}, {j}"
                    );
                }
            }
        }
    }

    fn random_ground(size: [usize; 2], seed: u64) -> Field<Height> {
        let key = RandomKey::new(seed, "uneven facets");
        Field::from_fn(size, |i, j| Height((key.for_cell([i as i64, j as i64]).random_bits() >> 40) as i32))
    }

    #[test]
    fn planes_of_rectangles_drain_along_their_gradient() {
        let (width, height) = (20.0, 45.0);
        let grid = Grid::new([3, 3], 1.0).unwrap();
        let grid = grid.with_shape(CellShape::Rectangular { width, height }).unwrap();
        for step in 0..73 {
            let azimuth = 0.017 + f64::from(step) * PI / 36.5;
            let fall = |i: usize, j: usize| {
                10.0 * (libm::cos(azimuth) * j as f64 * width - libm::sin(azimuth) * i as f64 * height)
            };
            let ground = Field::from_fn([3, 3], |i, j| Height::from_metres_clamped(5000.0 - fall(i, j)));
            let land = Land { grid: &grid, ground: &ground, nodata: None, outlets: &[] };
            let angles = route_d_infinity(&land, &d8::route_d8(&land));
            let apart = (f64::from(angles[(1, 1)]) - azimuth).abs() % (2.0 * PI);
            assert!(apart.min(2.0 * PI - apart) < 1e-5, "{azimuth}: {}", angles[(1, 1)]);
        }
    }

    #[test]
    fn rectangles_with_equal_sides_have_the_angles_of_squares() {
        let squares = Grid::new([50, 40], 10.0).unwrap();
        let shape = CellShape::Rectangular { width: 10.0, height: 10.0 };
        let rectangles = squares.clone().with_shape(shape).unwrap();
        let ground = random_ground([50, 40], 7);
        let [a, b] = [&squares, &rectangles].map(|grid| {
            let land = Land { grid, ground: &ground, nodata: None, outlets: &[] };
            route_d_infinity(&land, &d8::route_d8(&land))
        });
        assert!(a.as_slice().iter().zip(b.as_slice()).all(|(a, b)| (a - b).abs() < 1e-5));
    }

    #[test]
    fn nothing_is_lost_on_cells_that_are_not_squares() {
        let cells = GeographicCells { north_deg: 80.0, d_lat_deg: 0.5, d_lon_deg: 0.8, ellipsoid: Ellipsoid::WGS_84 };
        for (seed, shape) in [
            (1, CellShape::Rectangular { width: 3.0, height: 1.0 }),
            (2, CellShape::Rectangular { width: 1.0, height: 7.0 }),
            (3, CellShape::Geographic(cells)),
        ] {
            let size = [70, 60];
            let grid = Grid::new(size, 1.0).unwrap().with_shape(shape).unwrap();
            let ground = random_ground(size, seed);
            let land = Land { grid: &grid, ground: &ground, nodata: None, outlets: &[] };
            let filled = fill::fill_depressions(&land);
            let land = land.with_ground(&filled);
            let directions = d8::route_d8(&land);
            let angles = route_d_infinity(&land, &directions);
            let weights = Field::from_fn(size, |i, j| 1000 + (i * j) as i64);
            let sums = accumulate_d_infinity_on(&grid, &directions, &angles, &weights).unwrap();
            let ends = sums.as_slice().iter().zip(angles.as_slice()).filter(|(_, angle)| **angle == NONE);
            assert_eq!(ends.map(|(sum, _)| *sum).sum::<i64>(), weights.as_slice().iter().sum::<i64>());
        }
    }
}
