//! The ground as a renderer draws it: a surface through the cell centres, either bilinear between four of them or
//! made of two triangles.
//!
//! Meshes and sampled textures show this surface, and a river must not be below it either.

use crate::network::Network;
use thalweg_core::{Cell, Field, Height, Size};

/// The four cells whose centres surround a point, and their interpolation weights there.
pub(super) struct Stencil {
    /// The cells to the north-west, north-east, south-west and south-east.
    pub cells: [usize; 4],
    bilinear: [f64; 4],
    /// The weights in the two triangles that `Mesh::from_terrain` of `thalweg-render` draws, which share the edge from
    /// south-west to north-east.
    triangles: [f64; 4],
}

impl Stencil {
    /// Computes the stencil of a point (row and column, in cells). Beyond the outermost cell centres the ground is
    /// extended horizontally.
    pub fn from_point([rows, cols]: Size, place: Cell<f64>) -> Self {
        let axis = |x: f64, n: usize| {
            let x = (x - 0.5).clamp(0.0, (n - 1) as f64);
            let low = (x as usize).min(n.saturating_sub(2));
            (low, (low + 1).min(n - 1), x - low as f64)
        };
        let (i, below, a) = axis(place[0], rows);
        let (j, right, b) = axis(place[1], cols);
        let cells = [i * cols + j, i * cols + right, below * cols + j, below * cols + right];
        let bilinear = [(1.0 - a) * (1.0 - b), (1.0 - a) * b, a * (1.0 - b), a * b];
        // The diagonal divides the square into a north-western and a south-eastern triangle.
        let triangles = match a + b {
            sum if sum <= 1.0 => [1.0 - sum, b, a, 0.0],
            sum => [0.0, 1.0 - a, 1.0 - b, sum - 1.0],
        };
        Self { cells, bilinear, triangles }
    }

    /// Returns the cells whose weight is greater than this.
    pub fn cells_heavier_than(&self, share: f64) -> impl Iterator<Item = usize> + use<> {
        let shares = (0..4).map(|n| self.bilinear[n].max(self.triangles[n]));
        let heavy: Vec<usize> = shares.enumerate().filter(|(_, x)| *x > share).map(|(n, _)| self.cells[n]).collect();
        heavy.into_iter()
    }

    /// Returns the higher of the two drawn surfaces. Cells without a height are left out; `None` if no cell has a
    /// height.
    pub fn interpolate_height(&self, of: impl Fn(usize) -> Option<f64>) -> Option<f64> {
        let heights = self.cells.map(of);
        let mean = |shares: &[f64; 4]| {
            let known = heights.iter().zip(shares).filter_map(|(height, share)| Some(((*height)?, share)));
            let (sum, whole) =
                known.fold((0.0, 0.0), |(sum, whole), (height, share)| (sum + height * share, whole + share));
            (whole > 0.0).then(|| sum / whole)
        };
        // Renderers may draw either surface, so the higher one decides whether a line is visible.
        mean(&self.bilinear).into_iter().chain(mean(&self.triangles)).reduce(f64::max)
    }
}

/// Returns the higher of the two drawn surfaces at a point, in units.
pub fn drawn_ground_height(ground: &Field<Height>, place: impl Into<Cell<f64>>) -> f64 {
    let place = place.into();
    Stencil::from_point(ground.size(), place)
        .interpolate_height(|k| Some(f64::from(ground[k].0)))
        .unwrap_or(f64::NEG_INFINITY)
}

/// Least distance of the drawn ground below a line or ribbon, in units; it allows for the rounding of coordinates in
/// files.
// These are 4 mm.
pub const MIN_CLEARANCE_UNITS: i32 = 256;

/// The changes that make hidden points of lines visible above the drawn ground.
#[derive(Default)]
pub(super) struct Hidden {
    /// Cells of rivers, with upper limits for the levels of their water and bed.
    pub caps: Vec<(u32, [Height; 2])>,
    /// Other cells, with the elevation to which they must be lowered.
    pub cuts: Vec<(u32, Height)>,
}

impl Hidden {
    pub fn is_empty(&self) -> bool {
        self.caps.is_empty() && self.cuts.is_empty()
    }
}

/// Finds the cells that hide points of lines under the drawn ground. Lake beds are lowered to the line. Dry ground is
/// lowered as far as needed, but not below the line's level there nor below the level up to which it `holds` back
/// water. In sea and lakes (`open`) lines end.
pub(super) fn find_hidden_points(
    network: &Network,
    (river, ground): (&Field<u32>, &Field<Height>),
    open: impl Fn(usize) -> bool,
    holds: impl Fn(usize) -> Height,
) -> Hidden {
    let mut hidden = Hidden::default();
    for vertex in network.rivers.iter().flat_map(|river| &river.vertices) {
        let Cell { row: i, col: j } = vertex.cell(network.size);
        let level = vertex.surface;
        let aim = Height(level.0.saturating_sub(MIN_CLEARANCE_UNITS)).max(Height::MIN);
        if open(i * network.size[1] + j) || drawn_ground_height(ground, vertex.place) <= f64::from(aim.0) {
            continue;
        }
        let stencil = Stencil::from_point(network.size, vertex.place);
        for shares in [stencil.bilinear, stencil.triangles] {
            let cells = || stencil.cells.iter().copied().zip(shares);
            let over = |k: usize| f64::from(ground[k].0) - f64::from(aim.0);
            let excess = cells().map(|(k, share)| over(k) * share).sum::<f64>();
            let high = || cells().filter(|(k, share)| over(*k) > 0.0 && *share > 0.0);
            if excess <= 0.0 {
                continue;
            }
            let dry = |k: usize| river[k] == 0 && network.lake[k] == 0;
            let whole: f64 = high().filter(|(k, _)| dry(*k)).map(|(_, share)| share).sum();
            // Lower all dry cells above the target by the same amount, such that the interpolated excess vanishes.
            for (k, _) in high() {
                match (river[k], network.lake[k]) {
                    (0, 0) => {
                        // Rounding down and one unit more make up for the rounding of the interpolated height.
                        let needed = Height((f64::from(ground[k].0) - excess / whole).floor() as i32 - 1);
                        // A dry cell is not cut below the line's level, where the river's water would cover it.
                        let cut = needed.max(level).max(holds(k));
                        hidden.cuts.extend((cut < ground[k]).then_some((k as u32, cut)));
                    }
                    (0, _) => hidden.cuts.push((k as u32, aim)),
                    _ => hidden.caps.push((k as u32, [aim, Height::MAX])),
                }
            }
        }
    }
    hidden
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_heights_are_those_between_the_middles_of_cells() {
        let units = |m: f64| Height::from_metres(m).unwrap();
        let ground = Field::from_fn([2, 2], |i, j| units([[0.0, 4.0], [4.0, 16.0]][i][j]));
        let at = |y: f64, x: f64| {
            drawn_ground_height(&ground, [y, x]) / units(1.0).metres() / thalweg_core::terrain::height::UNITS
        };
        // At the centre of all four cells: the bilinear mean is 6, and the triangles' shared edge is at 4.
        assert_eq!(at(1.0, 1.0), 6.0);
        for (place, expected) in
            [([0.5, 0.5], 0.0), ([0.5, 1.0], 2.0), ([1.5, 1.5], 16.0), ([0.0, 0.2], 0.0), ([2.0, 2.0], 16.0)]
        {
            assert_eq!(at(place[0], place[1]), expected, "{place:?}");
        }
        // Near a corner that the triangles leave out, the triangles are higher.
        let ridge = Field::from_fn([2, 2], |i, j| units([[0.0, 4.0], [4.0, 0.0]][i][j]));
        assert_eq!(drawn_ground_height(&ridge, [1.0, 1.0]) / thalweg_core::terrain::height::UNITS, 4.0);
        assert_eq!(
            drawn_ground_height(&Field::new([1, 1], units(3.0)), [0.3, 0.9]) / thalweg_core::terrain::height::UNITS,
            3.0
        );
    }
}
