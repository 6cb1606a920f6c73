//! Simplification of the triangle mesh of an elevation grid within a given vertical error.
//!
//! The method is that of right-triangulated irregular networks (Evans, Kirkpatrick & Townsend 2001,
//! "Right-triangulated irregular networks", Algorithmica 30, 264–286, doi:10.1007/s00453-001-0006-x): a right
//! triangle is halved from its right angle to the midpoint of its longest side, together with the triangle on the
//! other side of that side, so that no crack opens. Two things differ here: the error of a triangle is measured at
//! all points under it instead of only at the midpoint of its side, so that the bound holds; and it is measured
//! against the surface of the finest triangles, whose diagonals all run from south-west to north-east.

use thalweg_core::{Cell, Size};

/// The elevation grid to triangulate.
pub(super) struct HeightNet<'a> {
    /// The numbers of rows and columns of points, at least two of each.
    pub size: Size,
    /// The elevation of a point in metres.
    pub height: &'a dyn Fn(usize, usize) -> f64,
    /// Returns true if there is a surface between four points, given the row and column of the north-western one.
    pub solid: &'a dyn Fn(usize, usize) -> bool,
}

/// The treatment of the points along the four sides of the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RimPoints {
    /// All are kept, so that an adjacent grid has the same points, however coarse it is.
    Kept,
    /// They are simplified like the interior.
    Free,
}

/// The three points of a triangle, each by its row and column in the grid.
pub(super) type Corners = [Cell; 3];

/// Returns simplified triangles over the grid, counter-clockwise seen from above (rows run southward). No point of them
/// is more than `error` metres above or below the surface of [`list_all_triangles`]; neighbouring triangles share whole
/// sides.
pub(super) fn simplify_triangles(net: &HeightNet<'_>, error: f64, rim: RimPoints) -> Vec<Corners> {
    let [rows, cols] = net.size.map(|n| n - 1);
    // The side of the squares is the smallest power of two that covers the grid's shorter side, because only such
    // squares can be halved down to single quads.
    let side = rows.min(cols).next_power_of_two();
    let squares = [rows.div_ceil(side), cols.div_ceil(side)];
    // A row of `keep` has the points of all squares, also those outside the grid.
    let wide = squares[1] * side + 1;
    let keep = vec![false; (squares[0] * side + 1) * wide];
    let mut work = Halving { net, error, quads: [rows, cols], side, wide, keep };
    // Kept border points are set first; they then force all larger triangles that touch them to be halved.
    if rim == RimPoints::Kept {
        (0..=rows).for_each(|i| [0, cols].iter().for_each(|j| work.keep[i * wide + j] = true));
        (0..=cols).for_each(|j| [0, rows].iter().for_each(|i| work.keep[i * wide + j] = true));
    }
    work.choose_split_points();
    work.collect_triangles(squares)
}

/// Returns all triangles of the grid: two between each four points.
pub(super) fn list_all_triangles(net: &HeightNet<'_>) -> Vec<Corners> {
    let [rows, cols] = net.size.map(|n| n - 1);
    let solid = (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j))).filter(|(i, j)| (net.solid)(*i, *j));
    solid.flat_map(|(i, j)| split_quad(i, j)).collect()
}

/// Returns the two triangles between four points.
fn split_quad(i: usize, j: usize) -> [Corners; 2] {
    let [nw, ne, sw, se] = [[i, j], [i, j + 1], [i + 1, j], [i + 1, j + 1]].map(Cell::from);
    [[nw, sw, ne], [ne, sw, se]]
}

/// The position of a triangle in its square: a half, named after the corner with the right angle, or a quarter, named
/// after the side that is its longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TrianglePosition {
    NorthWest,
    NorthEast,
    SouthWest,
    SouthEast,
    North,
    South,
    West,
    East,
}

use TrianglePosition::{East, North, NorthEast, NorthWest, South, SouthEast, SouthWest, West};

/// A triangle within a square of points.
#[derive(Clone, Copy)]
struct Triangle {
    /// The north-western corner of the square.
    start: Cell,
    /// The side of the square.
    side: usize,
    /// The triangle's position in the square.
    cut: TrianglePosition,
}

/// Returns the halves of a square. Their diagonal touches the middle of the square of which this square is a quarter.
fn split_square(start: Cell, side: usize) -> [TrianglePosition; 2] {
    if (start.row / side + start.col / side).is_multiple_of(2) {
        [NorthEast, SouthWest]
    } else {
        [NorthWest, SouthEast]
    }
}

struct Halving<'a> {
    net: &'a HeightNet<'a>,
    error: f64,
    quads: Size,
    /// The side of the squares that cover the grid, a power of two.
    side: usize,
    /// The number of points per row of `keep`.
    wide: usize,
    /// True for the points at which triangles are halved.
    keep: Vec<bool>,
}

impl Halving<'_> {
    fn is_kept(&self, point: Cell) -> bool {
        self.keep[point.row * self.wide + point.col]
    }

    fn is_solid(&self, i: usize, j: usize) -> bool {
        i < self.quads[0] && j < self.quads[1] && (self.net.solid)(i, j)
    }

    /// Determines the points at which triangles are halved, from the finest triangles to the coarsest. A triangle is
    /// halved if one of its halves is halved or if its error is too large.
    fn choose_split_points(&mut self) {
        let mut side = 2;
        while side <= self.side {
            let half = side / 2;
            let rows = (0..self.quads[0]).step_by(side);
            let squares: Vec<Cell> =
                rows.flat_map(|i| (0..self.quads[1]).step_by(side).map(move |j| Cell::new(i, j))).collect();
            // Quarters of this size come before halves, because a half is halved if one of its quarters is.
            for start in &squares {
                for cut in [North, South, West, East] {
                    let triangle = Triangle { start: *start, side, cut };
                    let middle = split_point(triangle);
                    // The smallest triangles cannot be halved, so they have no points to look at.
                    let children =
                        split_triangle(triangle).into_iter().any(|part| half > 1 && self.is_kept(split_point(part)));
                    if !self.is_kept(middle) && (children || self.needs_split(triangle)) {
                        self.keep[middle.row * self.wide + middle.col] = true;
                    }
                }
            }
            // The centre of a square is the midpoint of its diagonal, which both halves share.
            for start in &squares {
                let cuts = [North, South, West, East].map(|cut| Triangle { start: *start, side, cut });
                let middle = start.row * self.wide + start.col + half * (self.wide + 1);
                let children = cuts.into_iter().any(|cut| self.is_kept(split_point(cut)));
                let bad = |work: &Self| {
                    let mut halves = split_square(*start, side).into_iter();
                    halves.any(|cut| work.needs_split(Triangle { start: *start, side, cut }))
                };
                if !self.keep[middle] && (children || bad(self)) {
                    self.keep[middle] = true;
                }
            }
            side *= 2;
        }
    }

    /// Returns true if a triangle is partly over a hole, or if it is too far from some point of the surface. It is
    /// enough to check points and the centres of quads, because both surfaces are linear between them.
    fn needs_split(&self, triangle: Triangle) -> bool {
        let Triangle { start: Cell { row: i, col: j }, side, cut } = triangle;
        let (mut solid, mut hole) = (false, false);
        // A triangle that is partly over a hole must be halved until it is not.
        for row in quad_rows(cut, side) {
            for col in quad_columns(cut, side, row) {
                if self.is_solid(i + row, j + col) {
                    solid = true
                } else {
                    hole = true
                }
                if solid && hole {
                    return true;
                }
            }
        }
        // A triangle over a hole alone has no surface to deviate from.
        if hole {
            return false;
        }
        // The plane through the triangle's corners, as its slopes southward and eastward.
        let [a, b, c] = triangle_corners(triangle);
        let at = |point: Cell| (self.net.height)(point.row, point.col);
        let down = [b, c].map(|p| p.row as f64 - a.row as f64);
        let across = [b, c].map(|p| p.col as f64 - a.col as f64);
        let rise = [at(b) - at(a), at(c) - at(a)];
        let area = down[0] * across[1] - down[1] * across[0];
        let south = (rise[0] * across[1] - rise[1] * across[0]) / area;
        let east = (down[0] * rise[1] - down[1] * rise[0]) / area;
        let plane = |y: f64, x: f64| at(a) + south * (y - a.row as f64) + east * (x - a.col as f64);
        let far = |y: f64, x: f64, height: f64| (plane(y, x) - height).abs() > self.error;
        let last = *quad_rows(cut, side).end() + 1;
        // A triangle deviates most at a point or, because the finest quads are bent along their diagonal, at a quad's
        // centre.
        for row in *quad_rows(cut, side).start()..=last {
            for col in point_columns(cut, side, row) {
                if far((i + row) as f64, (j + col) as f64, at(Cell::new(i + row, j + col))) {
                    return true;
                }
            }
            if row == last {
                break;
            }
            for (y, x) in quad_columns(cut, side, row).map(|col| (i + row, j + col)) {
                // The finest diagonal runs from the south-west to the north-east, so the centre is at the mean of these
                // two points.
                let height = 0.5 * (at(Cell::new(y + 1, x)) + at(Cell::new(y, x + 1)));
                if far(y as f64 + 0.5, x as f64 + 0.5, height) {
                    return true;
                }
            }
        }
        false
    }

    fn collect_triangles(&self, squares: Size) -> Vec<Corners> {
        let mut found = Vec::new();
        // A stack of triangles that remain to be visited.
        let mut open: Vec<Triangle> = Vec::new();
        for i in (0..squares[0]).map(|k| k * self.side) {
            for j in (0..squares[1]).map(|k| k * self.side) {
                let start = Cell::new(i, j);
                open.extend(split_square(start, self.side).map(|cut| Triangle { start, side: self.side, cut }));
                while let Some(triangle) = open.pop() {
                    let Triangle { start, side, .. } = triangle;
                    // Squares that begin outside the grid have no surface.
                    if start.row >= self.quads[0] || start.col >= self.quads[1] {
                        continue;
                    }
                    if side == 1 {
                        found.extend(self.half_quad(triangle));
                    } else if self.is_kept(split_point(triangle)) {
                        open.extend(split_triangle(triangle));
                    } else if self.is_over_surface(triangle) {
                        found.push(orient_upward(triangle_corners(triangle)));
                    }
                }
            }
        }
        found
    }

    /// Returns true if a triangle that was not halved is over the surface; then all of it is.
    fn is_over_surface(&self, Triangle { start, side, cut }: Triangle) -> bool {
        let row = *quad_rows(cut, side).start();
        quad_columns(cut, side, row).next().is_some_and(|col| self.is_solid(start.row + row, start.col + col))
    }

    /// Returns half of a quad. If both halves exist they are split along the same diagonal as the finest triangles.
    fn half_quad(&self, triangle: Triangle) -> Option<Corners> {
        let Triangle { start: Cell { row: i, col: j }, cut, .. } = triangle;
        if !self.is_solid(i, j) {
            return None;
        }
        // A half exists if the point at its right angle is kept, because the triangle before was halved there. A quad
        // with both halves uses the diagonal of the finest triangles.
        let both = self.side == 1 || self.is_kept(Cell::new(i, j + 1)) && self.is_kept(Cell::new(i + 1, j));
        Some(match cut {
            NorthEast if both => split_quad(i, j)[1],
            SouthWest if both => split_quad(i, j)[0],
            _ => orient_upward(triangle_corners(triangle)),
        })
    }
}

/// Returns the midpoint of a triangle's longest side.
fn split_point(Triangle { start, side, cut }: Triangle) -> Cell {
    let (Cell { row: i, col: j }, half) = (start, side / 2);
    match cut {
        North => Cell::new(i, j + half),
        South => Cell::new(i + side, j + half),
        West => Cell::new(i + half, j),
        East => Cell::new(i + half, j + side),
        _ => Cell::new(i + half, j + half),
    }
}

/// Returns the two halves of a triangle.
fn split_triangle(Triangle { start, side, cut }: Triangle) -> [Triangle; 2] {
    // Halving keeps the square for the first step and enters a quarter of it for the second.
    let half = side / 2;
    let whole = |cut| Triangle { start, side, cut };
    let quarter = |south: usize, east: usize, cut| {
        let start = Cell::new(start.row + south * half, start.col + east * half);
        Triangle { start, side: half, cut }
    };
    match cut {
        NorthWest => [whole(North), whole(West)],
        NorthEast => [whole(North), whole(East)],
        SouthWest => [whole(South), whole(West)],
        SouthEast => [whole(South), whole(East)],
        North => [quarter(0, 0, NorthEast), quarter(0, 1, NorthWest)],
        South => [quarter(1, 0, SouthEast), quarter(1, 1, SouthWest)],
        West => [quarter(0, 0, SouthWest), quarter(1, 0, NorthWest)],
        East => [quarter(0, 1, SouthEast), quarter(1, 1, NorthEast)],
    }
}

/// Returns a triangle's points in either orientation.
fn triangle_corners(Triangle { start, side, cut }: Triangle) -> Corners {
    let at = |south: usize, east: usize| Cell::new(start.row + south, start.col + east);
    let [nw, ne, sw, se] = [at(0, 0), at(0, side), at(side, 0), at(side, side)];
    let middle = at(side / 2, side / 2);
    match cut {
        NorthWest => [nw, sw, ne],
        NorthEast => [ne, nw, se],
        SouthWest => [sw, se, nw],
        SouthEast => [se, ne, sw],
        North => [nw, middle, ne],
        South => [sw, se, middle],
        West => [nw, sw, middle],
        East => [ne, middle, se],
    }
}

/// Returns the triangle counter-clockwise as seen from above.
fn orient_upward([a, b, c]: Corners) -> Corners {
    let from = |p: Cell| [0, 1].map(|k| p[k] as i64 - a[k] as i64);
    let ([y, x], [v, u]) = (from(b), from(c));
    // The sign of the cross product gives the orientation; integers make it exact.
    if y * u - x * v > 0 { [a, b, c] } else { [a, c, b] }
}

/// Returns the rows of quads within its square of which a triangle covers at least one half of a quad.
fn quad_rows(cut: TrianglePosition, side: usize) -> std::ops::RangeInclusive<usize> {
    match cut {
        North => 0..=side / 2 - 1,
        South => side / 2..=side - 1,
        _ => 0..=side - 1,
    }
}

/// Returns the columns of those quads in a row.
fn quad_columns(cut: TrianglePosition, side: usize, row: usize) -> std::ops::Range<usize> {
    match cut {
        NorthWest => 0..side - row,
        NorthEast => row..side,
        SouthWest => 0..row + 1,
        SouthEast => side - row - 1..side,
        North => row..side - row,
        South => side - row - 1..row + 1,
        West => 0..(row + 1).min(side - row),
        East => side - (row + 1).min(side - row)..side,
    }
}

/// Returns the columns of the triangle's points in a row of points.
fn point_columns(cut: TrianglePosition, side: usize, row: usize) -> std::ops::RangeInclusive<usize> {
    match cut {
        NorthWest => 0..=side - row,
        NorthEast => row..=side,
        SouthWest => 0..=row,
        SouthEast => side - row..=side,
        North => row..=side - row,
        South => side - row..=row,
        West => 0..=row.min(side - row),
        East => side - row.min(side - row)..=side,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};
    use thalweg_core::base::rng::RandomKey;

    /// The height of the triangles at a position; `None` where there is no triangle.
    fn on(triangles: &[Corners], height: &dyn Fn(usize, usize) -> f64, [y, x]: [f64; 2]) -> Option<f64> {
        triangles.iter().find_map(|corners| {
            let [a, b, c] = corners.map(|Cell { row: i, col: j }| [i as f64, j as f64, height(i, j)]);
            let area = (b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1]);
            assert!(area > 0.0, "{corners:?} faces down");
            let u = ((y - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (x - a[1])) / area;
            let v = ((b[0] - a[0]) * (x - a[1]) - (y - a[0]) * (b[1] - a[1])) / area;
            (u >= -1e-9 && v >= -1e-9 && u + v <= 1.0 + 1e-9).then(|| a[2] + u * (b[2] - a[2]) + v * (c[2] - a[2]))
        })
    }

    #[test]
    fn no_point_is_farther_from_the_finest_surface_than_is_allowed() {
        for (seed, size) in [[2, 2], [2, 9], [9, 9], [17, 17], [16, 23], [5, 40], [33, 20]].into_iter().enumerate() {
            let key = RandomKey::new(seed as u64, "rtin");
            let noise = |i: usize, j: usize| key.derive_key(i as u64).derive_key(j as u64).uniform_unit();
            let height = |i: usize, j: usize| 0.03 * (i * i) as f64 - 0.2 * j as f64 + noise(i, j);
            let hole = |i: usize, j: usize| {
                seed % 2 == 1
                    && key.derive_key(7).derive_key((i / 3) as u64).derive_key((j / 4) as u64).uniform_unit() < 0.15
            };
            let solid = |i: usize, j: usize| !hole(i, j);
            let net = HeightNet { size, height: &height, solid: &solid };
            let whole = list_all_triangles(&net);
            let mut fewest = usize::MAX;
            for error in [0.0, 0.1, 0.4, 1.5] {
                for rim in [RimPoints::Kept, RimPoints::Free] {
                    let triangles = simplify_triangles(&net, error, rim);
                    // Positions on points, on sides, in the centres of quads, and in between.
                    for y in 0..=4 * (size[0] - 1) {
                        for x in 0..=4 * (size[1] - 1) {
                            let at = [y as f64 / 4.0, x as f64 / 4.0];
                            match (on(&whole, &height, at), on(&triangles, &height, at)) {
                                (Some(a), Some(b)) => {
                                    assert!((a - b).abs() <= error + 1e-9, "{size:?} {error} {at:?}: {a} {b}")
                                }
                                (a, b) => assert_eq!(a.is_some(), b.is_some(), "{size:?} {at:?}"),
                            }
                        }
                    }
                    if rim == RimPoints::Free {
                        assert!(triangles.len() <= fewest, "a greater error takes no more triangles");
                        fewest = triangles.len();
                    }
                }
            }
            assert!(fewest <= whole.len());
        }
    }

    #[test]
    fn triangles_share_whole_sides_and_a_kept_rim_has_all_its_points() {
        let key = RandomKey::new(3, "rtin");
        let size = [30, 41];
        let height = |i: usize, j: usize| {
            (i as f64 * 0.3).sin() * 2.0 + key.derive_key(i as u64).derive_key(j as u64).uniform_unit() * 0.2
        };
        let solid = |i: usize, j: usize| !(i == 7 && (4..9).contains(&j));
        let net = HeightNet { size, height: &height, solid: &solid };
        for rim in [RimPoints::Kept, RimPoints::Free] {
            let triangles = simplify_triangles(&net, 0.3, rim);
            let mut sides = BTreeMap::new();
            for corners in &triangles {
                for k in 0..3 {
                    *sides.entry((corners[k], corners[(k + 1) % 3])).or_insert(0) += 1;
                }
            }
            assert!(sides.values().all(|n| *n == 1));
            let is_rim = |Cell { row: i, col: j }: Cell| i == 0 || j == 0 || i == size[0] - 1 || j == size[1] - 1;
            let by_hole = |Cell { row: i, col: j }: Cell| (7..=8).contains(&i) && (4..=9).contains(&j);
            for (a, b) in sides.keys().filter(|(a, b)| !sides.contains_key(&(*b, *a))) {
                assert!((is_rim(*a) && is_rim(*b)) || (by_hole(*a) && by_hole(*b)), "a crack from {a:?} to {b:?}");
            }
            let met: BTreeSet<Cell> = triangles.iter().flatten().copied().filter(|p| is_rim(*p)).collect();
            let all = 2 * (size[0] + size[1]) - 4;
            assert_eq!(met.len() == all, rim == RimPoints::Kept, "{} of {all}", met.len());
            assert!(triangles.len() < 2 * 29 * 40 * 3 / 4);
        }
    }

    #[test]
    fn level_ground_is_two_triangles_to_a_square() {
        let (height, solid) = (|_: usize, _: usize| 5.0, |_: usize, _: usize| true);
        let net = |size| HeightNet { size, height: &height, solid: &solid };
        assert_eq!(simplify_triangles(&net([17, 17]), 0.0, RimPoints::Free).len(), 2);
        assert_eq!(simplify_triangles(&net([9, 33]), 0.0, RimPoints::Free).len(), 8);
        assert_eq!(list_all_triangles(&net([9, 33])).len(), 2 * 8 * 32);
    }
}
