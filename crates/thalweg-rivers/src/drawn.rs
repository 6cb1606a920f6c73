//! The ground as it is drawn: a surface through the middles of cells, bilinear between four of them or of two triangles.
//!
//! A mesh and a sampled texture have this ground, and a river must not lie under it either.

use crate::network::Network;
use thalweg_core::{Cell, Field, Height, Size};

/// The four cells between whose middles a place lies, and their shares of the drawn heights there.
pub(super) struct Stencil {
    /// North-west, north-east, south-west, south-east.
    pub cells: [usize; 4],
    bilinear: [f64; 4],
    /// Of the two triangles of [`Mesh::of`](thalweg_render::products::mesh::Mesh::of), which share the edge from south-west to north-east.
    triangles: [f64; 4],
}

impl Stencil {
    /// That of a place (row and column, in cells); beyond the outermost middles the ground is level.
    pub fn of([rows, cols]: Size, place: Cell<f64>) -> Self {
        let axis = |x: f64, n: usize| {
            let x = (x - 0.5).clamp(0.0, (n - 1) as f64);
            let low = (x as usize).min(n.saturating_sub(2));
            (low, (low + 1).min(n - 1), x - low as f64)
        };
        let (i, below, a) = axis(place[0], rows);
        let (j, right, b) = axis(place[1], cols);
        let cells = [i * cols + j, i * cols + right, below * cols + j, below * cols + right];
        let bilinear = [(1.0 - a) * (1.0 - b), (1.0 - a) * b, a * (1.0 - b), a * b];
        let triangles = match a + b {
            sum if sum <= 1.0 => [1.0 - sum, b, a, 0.0],
            sum => [0.0, 1.0 - a, 1.0 - b, sum - 1.0],
        };
        Self { cells, bilinear, triangles }
    }

    /// The cells with more than this share of the height.
    pub fn heavier(&self, share: f64) -> impl Iterator<Item = usize> + use<> {
        let shares = (0..4).map(|n| self.bilinear[n].max(self.triangles[n]));
        let heavy: Vec<usize> = shares.enumerate().filter(|(_, x)| *x > share).map(|(n, _)| self.cells[n]).collect();
        heavy.into_iter()
    }

    /// The higher of the two drawn surfaces; cells without a height are left out. None where none has one.
    pub fn height(&self, of: impl Fn(usize) -> Option<f64>) -> Option<f64> {
        let heights = self.cells.map(of);
        let mean = |shares: &[f64; 4]| {
            let known = heights.iter().zip(shares).filter_map(|(height, share)| Some(((*height)?, share)));
            let (sum, whole) =
                known.fold((0.0, 0.0), |(sum, whole), (height, share)| (sum + height * share, whole + share));
            (whole > 0.0).then(|| sum / whole)
        };
        mean(&self.bilinear).into_iter().chain(mean(&self.triangles)).reduce(f64::max)
    }
}

/// The higher of the two drawn surfaces at a place, in units.
pub fn height(ground: &Field<Height>, place: impl Into<Cell<f64>>) -> f64 {
    let place = place.into();
    Stencil::of(ground.size(), place).height(|k| Some(f64::from(ground[k].0))).unwrap_or(f64::NEG_INFINITY)
}

/// By how much the drawn ground is to lie under a line and a ribbon at least, in units: places are rounded in files.
pub const CLOSE: i32 = 256;

/// What is to be changed for points of lines to show in the drawn ground.
#[derive(Default)]
pub(super) struct Hidden {
    /// Cells of rivers, and the levels of water and bed that they must not exceed.
    pub caps: Vec<(u32, [Height; 2])>,
    /// Other cells, and how low they are to be cut.
    pub cuts: Vec<(u32, Height)>,
}

impl Hidden {
    pub fn is_empty(&self) -> bool {
        self.caps.is_empty() && self.cuts.is_empty()
    }
}

/// What hides points of lines in the drawn ground. Lakes' floors are lowered to the line, dry ground as far as it needs but not under the
/// line's level there, nor under what it `holds`. In sea and lakes (`open`) lines end.
pub(super) fn hidden(
    network: &Network,
    (river, ground): (&Field<u32>, &Field<Height>),
    open: impl Fn(usize) -> bool,
    holds: impl Fn(usize) -> Height,
) -> Hidden {
    let mut hidden = Hidden::default();
    for vertex in network.rivers.iter().flat_map(|river| &river.vertices) {
        let Cell { row: i, col: j } = vertex.cell(network.size);
        let level = vertex.surface;
        let aim = Height(level.0.saturating_sub(CLOSE)).max(Height::MIN);
        if open(i * network.size[1] + j) || height(ground, vertex.place) <= f64::from(aim.0) {
            continue;
        }
        let stencil = Stencil::of(network.size, vertex.place);
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
            for (k, _) in high() {
                match (river[k], network.lake[k]) {
                    (0, 0) => {
                        let needed = Height((f64::from(ground[k].0) - excess / whole).floor() as i32 - 1);
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
        let ground = Field::generate([2, 2], |i, j| units([[0.0, 4.0], [4.0, 16.0]][i][j]));
        let at = |y: f64, x: f64| height(&ground, [y, x]) / units(1.0).metres() / thalweg_core::terrain::height::UNITS;
        // Between all four: 6 as a mean, 4 on the edge of the triangles.
        assert_eq!(at(1.0, 1.0), 6.0);
        for (place, expected) in
            [([0.5, 0.5], 0.0), ([0.5, 1.0], 2.0), ([1.5, 1.5], 16.0), ([0.0, 0.2], 0.0), ([2.0, 2.0], 16.0)]
        {
            assert_eq!(at(place[0], place[1]), expected, "{place:?}");
        }
        // Near a corner that triangles leave out they are the higher ones.
        let ridge = Field::generate([2, 2], |i, j| units([[0.0, 4.0], [4.0, 0.0]][i][j]));
        assert_eq!(height(&ridge, [1.0, 1.0]) / thalweg_core::terrain::height::UNITS, 4.0);
        assert_eq!(height(&Field::new([1, 1], units(3.0)), [0.3, 0.9]) / thalweg_core::terrain::height::UNITS, 3.0);
    }
}
