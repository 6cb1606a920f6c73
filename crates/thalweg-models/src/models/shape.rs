//! Geometric shapes: plane, cone, dome, crater, island, ridge, outlet. See [`Shape`].

use std::ops::Range;

use crate::model::{About, Blend, Family, Model};
use crate::process::base::{AMOUNT, Base, laid_in_bands};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::{Grid, choice, params};

choice! {
    /// The shape.
    pub enum ShapeKind {
        /// An inclined plane: `height` at the centre, rising towards `azimuth` with the slope tan(`tilt`).
        Plane = "plane",
        /// A cone: `height` at the centre, 0 from the radius on.
        Cone = "cone",
        /// A dome with a smooth foot: 0 from the radius on.
        Dome = "dome",
        /// A bowl of the given depth, a rim of the given height at the radius, and ejecta outside.
        Crater = "crater",
        /// An island: high in the middle, falling smoothly to `depth` below 0 at the radius and beyond.
        Island = "island",
        /// A straight ridge along the azimuth with a bell-shaped cross-section; at the radius it has fallen to 1/e.
        Ridge = "ridge",
        /// Land that rises from the centre in all directions with the slope tan(`tilt`), with a cone of the given depth
        /// sunk into its middle: all water gathers there.
        Outlet = "outlet",
    }
}

params! {
    /// Adds one simple shape to the ground: a plane, cone, dome, crater, island, ridge or outlet.
    ///
    /// With r the distance from the centre divided by the radius, h the height and d the depth; the offset is added to
    /// all:
    ///
    /// - plane: z = h + tan(tilt)·(distance towards the azimuth);
    /// - cone: z = h·(1 − r), dome: z = h·(1 − r²)², for r < 1, else 0;
    /// - crater: z = −d + (h + d)·r² for r < 1, else h·r⁻³;
    /// - island: z = −d + (h + d)·(1 − s(r)), s(r) = r²(3 − 2r) for r < 1, else 1;
    /// - ridge: z = h·exp(−r²), r measured from the axis;
    /// - outlet: z = h + tan(tilt)·distance − d·(1 − r), without the last term for r > 1.
    ///
    /// Source: geometry; ejecta by McGetchin, Settle & Head (1973, doi:10.1016/0012-821X(73)90162-3), thickness as r⁻³.
    ///
    /// With a `turn`, the shape is elsewhere for every seed: it is turned around the middle of the extent by a random
    /// angle within ±180°·turn. The centre keeps its distance from the middle, measured as the greater of its shares of
    /// the two axes. A shape on the map's rim therefore stays on the rim, in corners too.
    ///
    /// It needs no layers, uses `amount`, and changes the ground only. The shape is a function of world metres for one
    /// extent (the centre is given as shares of the extent, and a radius of 0 is half its shorter side): windows and
    /// resolutions agree. `multiply` maps 0 to height to factors of 0 to 1; for crater, island and outlet, −depth to
    /// height.
    ///
    /// Limits: the shapes are not natural; blend noise over them. Cone and crater have a sharp tip or rim.
    pub struct Shape {
        /// The shape to add.
        kind: ShapeKind = ShapeKind::Island, within .., unit "1", source "ours";
        /// Height of the centre, of a crater's rim, of a ridge's crest, or of an outlet's centre before the cone is
        /// subtracted.
        height: f64 = 900.0, within -16000.0..=16000.0, unit "m", scales Relief, source "ours";
        /// Depth of a crater's floor, of the sea floor around an island, or of an outlet's cone.
        depth: f64 = 200.0, within -16000.0..=16000.0, unit "m", scales Relief, source "ours";
        /// Extent of the shape from its centre or axis; 0 takes half the shorter side of the map.
        radius: f64 = 0.0, within 0.0..=1e7, unit "m", scales Size, source "ours";
        /// Position of the centre between the map's west side (0) and its east side (1); it may be outside the map.
        centre_x: f64 = 0.5, within -10.0..=10.0, unit "1", source "ours";
        /// Position of the centre between the map's north side (0) and its south side (1); it may be outside the map.
        centre_y: f64 = 0.5, within -10.0..=10.0, unit "1", source "ours";
        /// Plane: the direction in which it rises; ridge: the direction in which it runs. Clockwise from north.
        azimuth: f64 = 0.0, within -360.0..=360.0, unit "°", source "ours";
        /// Plane: the angle of its slope; outlet: the angle of the slope of the land around it.
        tilt: f64 = 2.0, within 0.0..=80.0, unit "°", scales Relief Size^-1, source "ours";
        /// Random rotation of the shape around the middle of the extent, by the world's seed: its azimuth turns, and
        /// its centre moves along the sides of a rectangle. 1 allows any direction, 0 none.
        turn: f64 = 0.0, within 0.0..=1.0, unit "1", source "ours";
        /// Height added to the shape everywhere.
        offset: f64 = 0.0, within -16000.0..=16000.0, unit "m", scales Relief, source "ours";
        /// How the shape's values are combined with the existing ground.
        blend: Blend = Blend::Add, within .., unit "1", source "ours";
    }
}

impl Model for Shape {
    fn about(&self) -> About {
        About {
            name: "shape",
            title: "Base shape",
            summary: "A plane, cone, dome, crater, island, ridge or outlet.",
            source: "geometry",
            family: Family::Base,
            uses: &[AMOUNT],
            ..About::default()
        }
    }

    laid_in_bands!();
}

impl Base for Shape {
    fn value_range(&self) -> [f64; 2] {
        let low = if matches!(self.kind, ShapeKind::Crater | ShapeKind::Island | ShapeKind::Outlet) {
            -self.depth
        } else {
            0.0
        };
        [self.offset + low, self.offset + self.height]
    }

    fn prepare_row_values(&self, grid: &Grid, key: RandomKey, _: Range<usize>) -> impl Fn(usize, &mut [f32]) + Sync {
        let extent = grid.map_extent();
        // With `turn` 1 the shape may face any direction; with 0 the seed has no influence.
        let turned = 180.0 * self.turn * key.uniform_signed();
        let [x, y] = rotate_around_centre([self.centre_x, self.centre_y], turned);
        let centre = [x * extent.width, y * extent.height];
        // With a radius of 0 the shape just fits into the map.
        let radius = if self.radius > 0.0 { self.radius } else { 0.5 * extent.shorter_side() };
        let (sin, cos) = libm::sincos((self.azimuth + turned).to_radians());
        let rise = libm::tan(self.tilt.to_radians());
        move |i, row| {
            let y = grid.row_center_y(i) - centre[1];
            for (j, value) in row.iter_mut().enumerate() {
                let x = grid.col_center_x(j) - centre[0];
                // Rows run southward, while azimuths are measured clockwise from north.
                let [along, across] = [x * sin - y * cos, x * cos + y * sin];
                let metres = match self.kind {
                    ShapeKind::Plane => self.height + rise * along,
                    ShapeKind::Ridge => self.elevation_at_radius(across.abs() / radius),
                    ShapeKind::Outlet => {
                        let distance = (x * x + y * y).sqrt();
                        rise * distance + self.elevation_at_radius(distance / radius)
                    }
                    _ => self.elevation_at_radius((x * x + y * y).sqrt() / radius),
                };
                *value = (self.offset + metres) as f32;
            }
        }
    }
}

/// Rotates a position, given in shares of the extent, clockwise around the centre (0.5, 0.5), along the sides of a
/// square instead of a circle. A shape on the rim of the map therefore stays on the rim.
fn rotate_around_centre(place: [f64; 2], degrees: f64) -> [f64; 2] {
    let greater = |[x, y]: [f64; 2]| x.abs().max(y.abs());
    let [x, y] = place.map(|share| share - 0.5);
    let (sin, cos) = libm::sincos(degrees.to_radians());
    let turned = [x * cos - y * sin, x * sin + y * cos];
    let reach = greater(turned);
    if degrees == 0.0 || reach == 0.0 { place } else { turned.map(|share| 0.5 + share * greater([x, y]) / reach) }
}

impl Shape {
    /// Returns the elevation at a distance of `r` radii from the centre or the axis.
    fn elevation_at_radius(&self, r: f64) -> f64 {
        let Self { height, depth, .. } = *self;
        let inside = r.min(1.0);
        match self.kind {
            ShapeKind::Plane => height,
            ShapeKind::Cone => height * (1.0 - inside),
            ShapeKind::Dome => height * (1.0 - inside * inside).powi(2),
            // The bowl is a paraboloid, and the ejecta thin with the cube of the distance.
            ShapeKind::Crater if r < 1.0 => -depth + (height + depth) * r * r,
            ShapeKind::Crater => height / (r * r * r),
            ShapeKind::Island => -depth + (height + depth) * (1.0 - inside * inside * (3.0 - 2.0 * inside)),
            ShapeKind::Ridge => height * libm::exp(-r * r),
            ShapeKind::Outlet => height - depth * (1.0 - inside),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::base::testing::{assert_windows_agree, run_to_metres};

    #[test]
    fn profiles_at_centre_half_way_edge_and_beyond() {
        let cases = [
            (ShapeKind::Plane, [800.0, 800.0, 800.0, 800.0]),
            (ShapeKind::Cone, [800.0, 400.0, 0.0, 0.0]),
            (ShapeKind::Dome, [800.0, 450.0, 0.0, 0.0]), // (3/4)² = 9/16
            (ShapeKind::Crater, [-200.0, 50.0, 800.0, 100.0]), // a quarter of 1000 up; 2⁻³
            (ShapeKind::Island, [800.0, 300.0, -200.0, -200.0]),
            (ShapeKind::Outlet, [600.0, 700.0, 800.0, 800.0]), // 800 less 200; the tilt is added separately
        ];
        for (kind, expected) in cases {
            let shape = Shape { kind, height: 800.0, depth: 200.0, ..Default::default() };
            assert_eq!([0.0, 0.5, 1.0, 2.0].map(|r| shape.elevation_at_radius(r)), expected, "{kind:?}");
        }
        let ridge = Shape { kind: ShapeKind::Ridge, height: 1.0, ..Default::default() };
        assert_eq!(ridge.elevation_at_radius(0.0), 1.0);
        assert!((ridge.elevation_at_radius(1.0) - 1.0 / std::f64::consts::E).abs() < 1e-15);
    }

    #[test]
    fn shapes_lie_where_they_are_told() {
        // With 101 cells of 10 m, cell (50, 50) is the centre, and a radius of 250 m ends 25 cells from it.
        let grid = Grid::new([101, 101], 10.0).unwrap();
        let cone = Shape { kind: ShapeKind::Cone, height: 100.0, radius: 250.0, ..Default::default() };
        let ground = run_to_metres(&cone, &grid, 0);
        assert_eq!([ground[(50, 50)], ground[(25, 50)], ground[(50, 80)]], [100.0, 0.0, 0.0]);
        assert!((ground[(50, 60)] - 60.0).abs() < 1e-4);
        // A radius of 0 means half the extent, 505 m; the centre is moved to the north-western corner cell.
        let corner = Shape { radius: 0.0, centre_x: 0.5 / 101.0, centre_y: 0.5 / 101.0, ..cone };
        let ground = run_to_metres(&corner, &grid, 0);
        assert!((ground[(0, 0)] - 100.0).abs() < 1e-4);
        assert!((ground[(0, 10)] - 100.0 * (1.0 - 100.0 / 505.0)).abs() < 1e-4);
    }

    #[test]
    fn planes_rise_and_ridges_run_towards_the_azimuth() {
        // At 45° the plane rises one metre per metre, first eastward, then northward; f32 metres and height units
        // round by less than 10⁻⁴.
        let grid = Grid::new([11, 11], 10.0).unwrap();
        let plane = Shape { kind: ShapeKind::Plane, height: 5.0, tilt: 45.0, azimuth: 90.0, ..Default::default() };
        let east = run_to_metres(&plane, &grid, 0);
        let north = run_to_metres(&Shape { azimuth: 0.0, ..plane }, &grid, 0);
        let outlet = run_to_metres(&Shape { kind: ShapeKind::Outlet, depth: 3.0, radius: 20.0, ..plane }, &grid, 0);
        for (a, b) in [(outlet[(5, 5)], 2.0), (outlet[(4, 5)], 13.5), (outlet[(5, 0)], 55.0)] {
            assert!((a - b).abs() < 1e-4, "{a}, {b}");
        }
        for (a, b) in [(east[(5, 7)], 25.0), (east[(8, 5)], 5.0), (north[(4, 5)], 15.0), (north[(5, 9)], 5.0)] {
            assert!((a - b).abs() < 1e-4, "{a}, {b}");
        }
        let ridge = Shape { kind: ShapeKind::Ridge, height: 50.0, azimuth: 90.0, radius: 20.0, ..Default::default() };
        let ridge = run_to_metres(&ridge, &grid, 0);
        assert!((ridge[(5, 0)] - 50.0).abs() < 1e-4);
        assert!((ridge[(3, 4)] - 50.0 * (-1.0f64).exp()).abs() < 1e-4);
    }

    #[test]
    fn a_turn_moves_a_shape_along_the_rim() {
        // A quarter turn clockwise (rows run southward) moves a place from the southern rim to the western one; an
        // eighth moves it to the corner.
        for (degrees, [x, y]) in [(0.0, [0.5, 1.1]), (90.0, [-0.1, 0.5]), (-90.0, [1.1, 0.5]), (45.0, [-0.1, 1.1])] {
            let place = rotate_around_centre([0.5, 1.1], degrees);
            assert!((place[0] - x).abs() + (place[1] - y).abs() < 1e-12, "{degrees}: {place:?}");
        }
        assert_eq!(rotate_around_centre([0.5; 2], 30.0), [0.5; 2]);
        // Every seed puts the shape at another place, and all directions occur.
        let grid = Grid::new([65, 65], 10.0).unwrap();
        let pit = Shape {
            kind: ShapeKind::Cone,
            height: -100.0,
            radius: 90.0,
            centre_y: 0.95,
            turn: 1.0,
            ..Default::default()
        };
        let sides = (0..40).map(|seed| {
            let ground = run_to_metres(&pit, &grid, seed);
            let lowest = ground.as_slice().iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1)).unwrap().0;
            let [row, col] = [lowest / 65, lowest % 65];
            [row > 60, col < 4, row < 4, col > 60]
        });
        let count = sides.fold([0; 4], |sum, side| std::array::from_fn(|k| sum[k] + u32::from(side[k])));
        assert!(count.iter().all(|n| (3..=20).contains(n)), "{count:?}");
    }

    #[test]
    fn windows_are_cut_from_the_whole() {
        assert_windows_agree(&Shape::default(), &Grid::new([40, 31], 30.0).unwrap());
        assert_windows_agree(&Shape { turn: 1.0, ..Default::default() }, &Grid::new([40, 31], 30.0).unwrap());
    }
}
