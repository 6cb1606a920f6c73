//! [`Octave`]: one rotated, shifted and scaled copy of a noise lattice. [`NoisePlane`]: the surface that it covers.

use thalweg_core::Grid;
use thalweg_core::base::rng::RandomKey;

/// The golden angle in radians: small multiples of it are never close to each other, nor to a quarter turn.
const GOLDEN_ANGLE: f64 = 2.399_963_229_728_653;

/// The rotation of the first octave in radians: 34°, away from the grid's axes and diagonals.
const FIRST_ANGLE: f64 = 0.6;

/// The surface that noise covers: its cell size, and the circumference of a looped world.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoisePlane {
    /// The width of a cell in metres.
    pub cell: f64,
    /// The distance in metres, from north to south and from west to east, after which the noise repeats; `None` along
    /// an axis that is not looped.
    pub round: [Option<f64>; 2],
}

impl From<f64> for NoisePlane {
    /// Returns an unbounded plane with cells of `cell` metres.
    fn from(cell: f64) -> Self {
        Self { cell, round: [None; 2] }
    }
}

impl From<&Grid> for NoisePlane {
    fn from(grid: &Grid) -> Self {
        let extent = grid.extent();
        Self {
            cell: grid.cell,
            round: [0, 1].map(|axis| Some(extent.axis_length(axis)).filter(|_| grid.is_looped(axis))),
        }
    }
}

/// The periodicity of a lattice over a looped world: which lattice points are identical because they are whole
/// circumferences apart.
///
/// A circumference is a whole number of steps along either axis of the lattice, so the lattice may be rotated and
/// noise over it still joins without a seam.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Period {
    /// The lattice steps of one circumference southward and eastward. For an axis that is not looped, the entry is
    /// the other axis's, rotated by a right angle. All are integers stored as f64.
    rounds: [[f64; 2]; 2],
    /// The number of lattice points in one period: the determinant of `rounds`.
    points: f64,
    looped: [bool; 2],
}

impl Period {
    /// Returns the representative of all the lattice points that are identical with (i, j).
    #[inline(always)]
    pub fn wrap_point(self, i: i32, j: i32) -> (i32, i32) {
        let [south, east] = self.rounds;
        let (mut u, mut v) = (f64::from(i), f64::from(j));
        // Integers far under 2⁵³: where a quotient is an integer it is exact, and no other quotient rounds up to an
        // integer.
        let counts = [(east[0] * v - east[1] * u) / self.points, (u * south[1] - v * south[0]) / self.points];
        for axis in 0..2 {
            if self.looped[axis] {
                let count = counts[axis].floor();
                u -= count * self.rounds[axis][0];
                v -= count * self.rounds[axis][1];
            }
        }
        // Beyond 2³¹ steps lattice points are no longer distinguished.
        (u as i64 as i32, v as i64 as i32)
    }
}

/// The map from world metres to the lattice coordinates of one octave.
///
/// Each octave is rotated by its own angle, so that the lattice lines of two octaves never coincide with each other
/// or with the grid, and shifted by a keyed offset.
#[derive(Debug, Clone)]
pub struct Octave {
    /// The matrix, by rows, from (x, y) in metres to (u, v) in lattice units.
    pub turn: [[f64; 2]; 2],
    /// The lattice coordinates (u, v) of the world's origin.
    pub shift: [f64; 2],
    /// The seed of the lattice points.
    pub seed: u32,
    /// The weight in the sum.
    pub amplitude: f32,
    /// The share, 0 to 1, of the octave that the grid can resolve: 1 from four cells per wave, 0 below two.
    pub fade: f32,
    /// The factor from a slope of this octave, per lattice unit of its own, to a slope of the sum, per lattice unit
    /// of the first octave. It includes the octave's weight.
    pub steepness: f32,
    /// The periodicity of the lattice over a looped world, if any.
    pub period: Option<Period>,
}

impl Octave {
    /// Returns the `count` octaves of a sum, the longest first. The first has `wavelength` metres and a weight of 1;
    /// each further wavelength is the one before divided by `lacunarity`, each weight the one before times `gain`.
    ///
    /// Weights do not depend on the cell size: a grid that is too coarse for an octave omits it, and nothing else
    /// changes. On a looped world, angles and wavelengths are changed to the nearest ones with which the octave joins
    /// without a seam, so no wave is longer than the world.
    pub fn series(
        count: u32,
        wavelength: f64,
        lacunarity: f64,
        gain: f64,
        key: RandomKey,
        plane: impl Into<NoisePlane>,
    ) -> Vec<Self> {
        let plane = plane.into();
        let (mut length, mut amplitude) = (wavelength, 1.0);
        let octave = |n| {
            let here = Self::new(n, length, amplitude, key, plane);
            // With many octaves and a large gain the factor grows without limit. The bound keeps the square of a slope
            // finite in f32.
            let steepness = (amplitude * wavelength / length).min(1e6) as f32;
            length /= lacunarity;
            amplitude *= gain;
            Self { steepness, ..here }
        };
        (0..count).map(octave).collect()
    }

    fn new(n: u32, wavelength: f64, amplitude: f64, key: RandomKey, NoisePlane { cell, round }: NoisePlane) -> Self {
        let key = key.derive_key(n.into());
        let (sin, cos) = libm::sincos(FIRST_ANGLE + f64::from(n) * GOLDEN_ANGLE);
        let [east, south] = key.uniform_pair();
        let turn = [[cos / wavelength, -sin / wavelength], [sin / wavelength, cos / wavelength]];
        // A looped world may change angle and wavelength; the fade below still follows from the nominal wavelength.
        let (turn, period) = fit_seamless_turn(turn, round);
        Self {
            turn,
            period,
            // Noise is 0 at lattice points. The keyed shift keeps octaves from sharing such a point at the world's
            // origin.
            shift: [1024.0 * east, 1024.0 * south],
            seed: key.derive_key(1).random_bits() as u32,
            amplitude: amplitude as f32,
            // Four cells per wave give 1; two cells per wave, the Nyquist limit, give 0.
            fade: (wavelength / (2.0 * cell) - 1.0).clamp(0.0, 1.0) as f32,
            steepness: 1.0,
        }
    }

    /// Stretches the octave along a direction (a unit vector east and south): waves keep their length across it and
    /// become `times` as long along it. An octave with a period on a looped world is returned unchanged, because
    /// stretching would break its seam.
    pub fn with_stretch(mut self, [east, south]: [f64; 2], times: f64) -> Self {
        if self.period.is_none() {
            let less = 1.0 - 1.0 / times;
            // The part of each row along the direction is divided by `times`; the part across it is kept.
            self.turn = self.turn.map(|[u, v]| {
                let along = less * (u * east + v * south);
                [u - along * east, v - along * south]
            });
        }
        self
    }

    /// Returns the lattice coordinates u and v of a point in world metres, each as the lattice line below it and the
    /// fraction in 0..1.
    #[inline(always)]
    pub fn to_lattice(&self, x: f64, y: f64) -> [(i32, f64); 2] {
        [0, 1].map(|axis| {
            // The parentheses fix the order of rounding; another order would change the bits of every world.
            let u = self.turn[axis][0] * x + (self.turn[axis][1] * y + self.shift[axis]);
            let line = u.floor();
            // Lattice lines are distinguished modulo 2³², which is enough for any grid.
            (line as i64 as i32, u - line)
        })
    }
}

/// Returns the nearest transform with which a lattice joins without a seam after each circumference of the world, and
/// the resulting period.
fn fit_seamless_turn(turn: [[f64; 2]; 2], round: [Option<f64>; 2]) -> ([[f64; 2]; 2], Option<Period>) {
    // The lattice steps of one circumference, rounded to whole steps, at least one.
    let steps = |axis: usize, metres: f64| {
        let [u, v] = turn.map(|row| row[1 - axis] * metres);
        match [u.round(), v.round()] {
            [0.0, 0.0] if u.abs() >= v.abs() => [1f64.copysign(u), 0.0],
            [0.0, 0.0] => [0.0, 1f64.copysign(v)],
            whole => whole,
        }
    };
    let (south, east, metres) = match round {
        [None, None] => return (turn, None),
        // The axis that is not looped uses the other's steps, rotated by a right angle, and the other's
        // circumference.
        [None, Some(west_east)] => {
            let east = steps(1, west_east);
            ([-east[1], east[0]], east, [west_east; 2])
        }
        [Some(north_south), None] => {
            let south = steps(0, north_south);
            (south, [south[1], -south[0]], [north_south; 2])
        }
        [Some(north_south), Some(west_east)] => (steps(0, north_south), steps(1, west_east), [north_south, west_east]),
    };
    let turn = [0, 1].map(|row| [east[row] / metres[1], south[row] / metres[0]]);
    let points = east[0] * south[1] - east[1] * south[0];
    let period = Period { rounds: [south, east], points, looped: round.map(|metres| metres.is_some()) };
    (turn, Some(period))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_octave_returns_after_each_round_and_keeps_about_its_wavelength() {
        for (number, round) in
            [[None, Some(900.0)], [Some(700.0), None], [Some(700.0), Some(900.0)], [Some(9e4), Some(1.0)]]
                .into_iter()
                .enumerate()
        {
            for n in 0..12u32 {
                let wavelength = 1200.0 / f64::from(1u32 << n);
                let plane = NoisePlane { cell: 1.0, round };
                let octave = &Octave::series(1, wavelength, 2.0, 0.5, RandomKey::new(n.into(), "octave"), plane)[0];
                let period = octave.period.unwrap();
                let place = |x: f64, y: f64| {
                    let [(i, u), (j, v)] = octave.to_lattice(x, y);
                    (period.wrap_point(i, j), period.wrap_point(i + 1, j), [u, v])
                };
                for (axis, metres) in round.iter().enumerate().filter_map(|(axis, metres)| Some((axis, (*metres)?))) {
                    for (x, y) in [(3.25, 4.5), (-77.0, 130.125)] {
                        let far = if axis == 0 { (x, y - 3.0 * metres) } else { (x + metres, y) };
                        let ((here, beside, [u, v]), (there, there_beside, [p, q])) =
                            (place(x, y), place(far.0, far.1));
                        // A position close to a lattice line may fall on either side.
                        if [u, v, p, q].iter().all(|rest| (1e-6..1.0 - 1e-6).contains(rest)) {
                            assert_eq!((here, beside), (there, there_beside), "case {number}, octave {n}");
                            assert!((u - p).abs() < 1e-6 && (v - q).abs() < 1e-6, "case {number}, octave {n}");
                        }
                    }
                    // Steps are rounded by up to a half in either direction; no wave is longer than a circumference.
                    let length = octave.turn.map(|row| row[1 - axis]).iter().map(|t| t * t).sum::<f64>().sqrt().recip();
                    let steps = metres / wavelength;
                    assert!(length <= metres * 1.000001);
                    if steps > 2.0 {
                        assert!((length / wavelength - 1.0).abs() < 1.0 / steps, "case {number}, octave {n}: {length}");
                    }
                }
            }
        }
    }

    #[test]
    fn points_are_one_only_by_whole_rounds() {
        let plane = NoisePlane { cell: 1.0, round: [Some(50.0), Some(70.0)] };
        let octave = &Octave::series(1, 9.0, 2.0, 0.5, RandomKey::ZERO, plane)[0];
        let period = octave.period.unwrap();
        let mut all: Vec<_> = (-40..40).flat_map(|i| (-40..40).map(move |j| period.wrap_point(i, j))).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len() as f64, period.points.abs());
    }
}
