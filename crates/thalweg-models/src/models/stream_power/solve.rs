//! The implicit stream-power step: each cell is lowered towards its receiver, which has been lowered before it.

use thalweg_core::{Cell, Height, Topology};
use thalweg_flow::receiver_index;
use thalweg_noise::gradient::mix_bits;

/// The flow directions and the incision strength.
pub struct IncisionInputs<'a> {
    /// The flow direction of each cell.
    pub codes: &'a [u8],
    /// The cells, each before its receiver.
    pub order: Vec<u32>,
    /// The strength F of each cell, for heights in metres, in the equation d = x + F·xⁿ, where d is the height above
    /// the receiver and x the height that remains.
    pub strength: Vec<f32>,
    /// The factor from F for metres to F for height units.
    pub scale: f64,
    /// The slope exponent.
    pub n: f64,
    /// The topology that defines which cells are neighbours.
    pub topology: Topology,
    /// The position of the grid's first cell, relative to the map's first cell.
    pub origin: Cell,
    /// A salt that makes the rounding of each step independent of the others.
    pub salt: u32,
}

impl IncisionInputs<'_> {
    /// Returns F of cell `k`, for height units.
    #[inline(always)]
    pub fn scaled_strength(&self, k: usize) -> f64 {
        f64::from(self.strength[k]) * self.scale
    }

    /// Returns the receiver of cell `k`, if it has one.
    #[inline(always)]
    pub fn receiver(&self, k: usize) -> Option<usize> {
        receiver_index(self.topology, k, self.codes[k])
    }

    /// Returns a random number from 0 to 1 for the rounding at cell `k`, so that incision is correct on average,
    /// however small it is.
    #[inline(always)]
    pub fn rounding_chance(&self, k: usize) -> f64 {
        // The number belongs to the cell of the map, so that the first cell of the view does not matter. A hash of
        // index and salt costs a few instructions, and every cell needs one in every step.
        let k = if self.origin == Cell::new(0, 0) { k } else { self.world_index(k) };
        f64::from(mix_bits(k as u32 ^ self.salt)) * (1.0 / 4_294_967_296.0)
    }

    /// Returns the index of cell `k` in the map. It differs from `k` if a looped map is viewed from another first
    /// cell.
    fn world_index(&self, k: usize) -> usize {
        let [rows, cols] = self.topology.size;
        let [i, j] = [(k / cols + self.origin.row) % rows, (k % cols + self.origin.col) % cols];
        i * cols + j
    }
}

/// Erodes the ground by one implicit step (Braun & Willett 2013), from base level upstream. Returns the eroded height
/// units.
///
/// `levels` contains the level of the water over each cell and is updated. No cell is cut below the water level of
/// its receiver, so a lake's floor does not change while water stands above it. Cells without a receiver stay at the
/// given level. Sediment, if there is any, is eroded `ease` times as fast as the rock below it.
pub fn incise_ground(
    ground: &mut [Height],
    levels: &mut [Height],
    mut loose: Option<&mut [Height]>,
    water: &IncisionInputs<'_>,
    ease: f64,
) -> i64 {
    let mut sum = 0;
    // The reverse order begins at base level: a receiver has its new height when the cells above it are solved.
    for &k in water.order.iter().rev() {
        let k = k as usize;
        let Some(below) = water.receiver(k) else { continue };
        let base = levels[below].0;
        let here = ground[k].0;
        // This is the floor of a lake, or ground that its receiver's water level has reached.
        if here <= base {
            levels[k].0 = base;
            continue;
        }
        let height = f64::from(here - base);
        let strength = water.scaled_strength(k);
        let cover = loose.as_ref().map_or(0, |loose| loose[k].0);
        let remaining_height = if cover > 0 {
            solve_covered_height(height, f64::from(cover), strength, ease, water.n)
        } else {
            solve_remaining_height(height, strength, water.n)
        };
        // The random part rounds up as often as the fraction of a unit says: a cut below one unit is then right on
        // average.
        let remaining_height = ((remaining_height + water.rounding_chance(k)) as i32).min(here - base);
        let cut = here - base - remaining_height;
        ground[k].0 = base + remaining_height;
        levels[k].0 = base + remaining_height;
        if let Some(loose) = loose.as_deref_mut() {
            // Sediment goes first; a deeper cut has used it up.
            loose[k].0 = (cover - cut).max(0);
        }
        sum += i64::from(cut);
    }
    sum
}

/// Returns the height x that remains of d: the root of x + F·xⁿ = d in 0..d.
///
/// The result is exact for n = 1. Otherwise Newton's method is used within a bracket that it cannot leave, so it
/// converges for any F.
#[inline(always)]
pub fn solve_remaining_height(d: f64, f: f64, n: f64) -> f64 {
    if n == 1.0 { d / (1.0 + f) } else { find_root(d, f, n) }
}

fn find_root(d: f64, f: f64, n: f64) -> f64 {
    /// The tolerance of the root, in height units.
    const ROOT_TOLERANCE: f64 = 1e-3;
    let (mut low, mut high) = (0.0, d);
    // Each of the two terms is at most d, which bounds x.
    let mut x = d.min(libm::pow(d / f, 1.0 / n));
    // Bisection alone would reach the tolerance from 2³¹ units in 41 rounds; Newton's method needs a few.
    for _ in 0..100 {
        let power = f * libm::pow(x, n);
        let over = x + power - d;
        if over > 0.0 {
            high = x;
        } else {
            low = x;
        }
        let slope = 1.0 + n * power / x;
        let newton = x - over / slope;
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        let step = (next - x).abs();
        x = next;
        if step < ROOT_TOLERANCE || high - low < ROOT_TOLERANCE {
            break;
        }
    }
    x
}

/// Returns the same under `cover` units of sediment, which is eroded `ease` times as fast. The share of the step that
/// the cover takes is computed from the height at which the rock is exposed; the rest of the step applies to the
/// rock.
fn solve_covered_height(d: f64, cover: f64, f: f64, ease: f64, n: f64) -> f64 {
    let loose = solve_remaining_height(d, f * ease, n);
    if loose >= d - cover {
        return loose;
    }
    let rock = d - cover;
    // Solves F·s·rockⁿ = cover for the share s of the step.
    let share = (cover / (f * ease * if n == 1.0 { rock } else { libm::pow(rock, n) })).min(1.0);
    solve_remaining_height(rock, f * (1.0 - share), n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::base::rng::RandomKey;
    use thalweg_flow::OUT;

    /// Finds the root by bisection of the logarithm of x, for any n, however steep.
    fn bisection(d: f64, f: f64, n: f64) -> f64 {
        let (mut low, mut high) = (0.0, d);
        for _ in 0..200 {
            let x = 0.5 * (low + high);
            if x + f * x.powf(n) > d { high = x } else { low = x }
        }
        low
    }

    #[test]
    fn the_root_is_that_of_bisection() {
        let key = RandomKey::new(1, "root");
        for t in 0..20_000 {
            let key = key.derive_key(t);
            let n = [0.3, 0.5, 0.9, 1.0, 1.0 + 1e-9, 1.5, 2.0, 3.0, 5.0][t as usize % 9];
            let d = libm::exp2(31.0 * key.derive_key(1).uniform_unit());
            // F ranges from negligible to cutting almost all of d, on both sides of F·dⁿ = d.
            let f = d.powf(1.0 - n) * libm::exp2(60.0 * key.derive_key(2).uniform_unit() - 30.0);
            let (found, exact) = (solve_remaining_height(d, f, n), bisection(d, f, n));
            // The last step is within 10⁻³ units; Newton's error is then far less, and that of a bisection step no
            // more.
            assert!((found - exact).abs() <= 2e-3 + 1e-12 * d, "n {n} d {d} F {f}: {found} for {exact}");
        }
    }

    #[test]
    fn no_strength_and_any_strength() {
        for n in [0.4, 1.0, 2.5] {
            assert_eq!(solve_remaining_height(7.0, 0.0, n), 7.0);
            assert!(solve_remaining_height(7.0, f64::INFINITY, n) < 1e-3);
        }
    }

    #[test]
    fn loose_cover_goes_first_and_rock_takes_what_is_left_of_the_step() {
        for n in [0.5, 1.0, 2.0] {
            let (d, f) = (1e6, 0.2 * 1e6f64.powf(1.0 - n));
            // A thick cover gives the same as sediment alone. Without ease the cover makes no difference. The result
            // is continuous in between.
            assert_eq!(solve_covered_height(d, 9e5, f, 3.0, n), solve_remaining_height(d, 3.0 * f, n));
            let whole = solve_remaining_height(d, f, n);
            assert!(
                solve_covered_height(d, 1.0, f, 3.0, n) < whole + 2e-3
                    && solve_covered_height(d, 1.0, f, 3.0, n) > whole - 3.0
            );
            let mut last = whole;
            for cover in (1..=90).map(|c| f64::from(c) * 1e4) {
                let height = solve_covered_height(d, cover, f, 3.0, n);
                assert!(height <= last + 2e-3 && last - height < 1.1e4, "cover {cover}, n {n}: {height} after {last}");
                last = height;
            }
        }
    }

    #[test]
    fn a_chain_with_a_lake_is_cut_to_the_water_and_not_below() {
        // From west to east: base level at 0, an outlet at 50, a lake of level 50 over floors at 20 and 10, land at
        // 80. All drain west.
        let heights = [0, 50, 20, 10, 80].map(Height);
        let mut levels = [0, 50, 50, 50, 80].map(Height);
        let mut ground = heights;
        let codes = [OUT, 4, 4, 4, 4];
        let strength = [1.0; 5];
        let order = [4, 3, 2, 1, 0];
        let water = IncisionInputs {
            codes: &codes,
            order: order.to_vec(),
            strength: strength.to_vec(),
            scale: 1.0,
            n: 1.0,
            topology: [1, 5].into(),
            origin: Cell::new(0, 0),
            salt: 9,
        };
        let sum = incise_ground(&mut ground, &mut levels, None, &water, 1.0);
        // The outlet keeps half of 50 and the lake falls to that level; the floors below it stay, and the land keeps
        // half of 80 − 25 above it, rounded either way.
        assert_eq!(ground[..4], [0, 25, 20, 10].map(Height));
        assert_eq!(levels[..4], [0, 25, 25, 25].map(Height));
        assert!([52, 53].contains(&ground[4].0));
        assert_eq!(sum, i64::from(25 + 80 - ground[4].0));
    }

    #[test]
    fn cuts_under_a_unit_add_up() {
        let codes = [OUT, 4];
        let strength = [0.0, 1e-5];
        let (mut ground, mut levels) = ([Height(0), Height(10_000)], [Height(0), Height(10_000)]);
        for salt in 0..1000u32 {
            let salt = mix_bits(salt + 1);
            let water = IncisionInputs {
                codes: &codes,
                order: vec![1, 0],
                strength: strength.to_vec(),
                scale: 1.0,
                n: 1.0,
                topology: [1, 2].into(),
                origin: Cell::new(0, 0),
                salt,
            };
            incise_ground(&mut ground, &mut levels, None, &water, 1.0);
        }
        // Each cut is a tenth of a unit: the sum is 99.5 ± 9.5, tested to four standard deviations.
        assert!((60..140).contains(&(10_000 - ground[1].0)), "{}", ground[1].0);
    }
}
