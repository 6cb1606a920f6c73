//! The implicit stream-power step: each cell is lowered towards its receiver, which has been lowered before it.

use thalweg_core::{Cell, Height, Topology};
use thalweg_flow::leads_to;
use thalweg_noise::gradient::mix;

/// The flow directions and the incision strength.
pub struct Water<'a> {
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

impl Water<'_> {
    /// Returns F of cell `k`, for height units.
    #[inline(always)]
    pub fn strength(&self, k: usize) -> f64 {
        f64::from(self.strength[k]) * self.scale
    }

    /// Returns the receiver of cell `k`, if it has one.
    #[inline(always)]
    pub fn below(&self, k: usize) -> Option<usize> {
        leads_to(self.topology, k, self.codes[k])
    }

    /// Returns a random number from 0 to 1 for the rounding at cell `k`, so that incision is correct on average,
    /// however small it is.
    #[inline(always)]
    pub fn chance(&self, k: usize) -> f64 {
        let k = if self.origin == Cell::new(0, 0) { k } else { self.in_world(k) };
        f64::from(mix(k as u32 ^ self.salt)) * (1.0 / 4_294_967_296.0)
    }

    /// Returns the index of cell `k` in the map. It differs from `k` if a looped map is viewed from another first
    /// cell.
    fn in_world(&self, k: usize) -> usize {
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
pub fn cut(
    ground: &mut [Height],
    levels: &mut [Height],
    mut loose: Option<&mut [Height]>,
    water: &Water<'_>,
    ease: f64,
) -> i64 {
    let mut sum = 0;
    for &k in water.order.iter().rev() {
        let k = k as usize;
        let Some(below) = water.below(k) else { continue };
        let base = levels[below].0;
        let here = ground[k].0;
        if here <= base {
            levels[k].0 = base;
            continue;
        }
        let height = f64::from(here - base);
        let strength = water.strength(k);
        let cover = loose.as_ref().map_or(0, |loose| loose[k].0);
        let left = if cover > 0 {
            covered(height, f64::from(cover), strength, ease, water.n)
        } else {
            remaining(height, strength, water.n)
        };
        let left = ((left + water.chance(k)) as i32).min(here - base);
        let cut = here - base - left;
        ground[k].0 = base + left;
        levels[k].0 = base + left;
        if let Some(loose) = loose.as_deref_mut() {
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
pub fn remaining(d: f64, f: f64, n: f64) -> f64 {
    if n == 1.0 { d / (1.0 + f) } else { root(d, f, n) }
}

fn root(d: f64, f: f64, n: f64) -> f64 {
    /// The tolerance of the root, in height units.
    const NEAR: f64 = 1e-3;
    let (mut low, mut high) = (0.0, d);
    // Each of the two terms is at most d, which bounds x.
    let mut x = d.min(libm::pow(d / f, 1.0 / n));
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
        if step < NEAR || high - low < NEAR {
            break;
        }
    }
    x
}

/// Returns the same under `cover` units of sediment, which is eroded `ease` times as fast. The share of the step that
/// the cover takes is computed from the height at which the rock is exposed; the rest of the step applies to the
/// rock.
fn covered(d: f64, cover: f64, f: f64, ease: f64, n: f64) -> f64 {
    let loose = remaining(d, f * ease, n);
    if loose >= d - cover {
        return loose;
    }
    let rock = d - cover;
    // Solves F·s·rockⁿ = cover for the share s of the step.
    let share = (cover / (f * ease * if n == 1.0 { rock } else { libm::pow(rock, n) })).min(1.0);
    remaining(rock, f * (1.0 - share), n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::base::rng::Key;
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
        let key = Key::new(1, "root");
        for t in 0..20_000 {
            let key = key.and(t);
            let n = [0.3, 0.5, 0.9, 1.0, 1.0 + 1e-9, 1.5, 2.0, 3.0, 5.0][t as usize % 9];
            let d = libm::exp2(31.0 * key.and(1).unit());
            // F ranges from negligible to cutting almost all of d, on both sides of F·dⁿ = d.
            let f = d.powf(1.0 - n) * libm::exp2(60.0 * key.and(2).unit() - 30.0);
            let (found, exact) = (remaining(d, f, n), bisection(d, f, n));
            // The last step is within 10⁻³ units; Newton's error is then far less, and that of a bisection step no
            // more.
            assert!((found - exact).abs() <= 2e-3 + 1e-12 * d, "n {n} d {d} F {f}: {found} for {exact}");
        }
    }

    #[test]
    fn no_strength_and_any_strength() {
        for n in [0.4, 1.0, 2.5] {
            assert_eq!(remaining(7.0, 0.0, n), 7.0);
            assert!(remaining(7.0, f64::INFINITY, n) < 1e-3);
        }
    }

    #[test]
    fn loose_cover_goes_first_and_rock_takes_what_is_left_of_the_step() {
        for n in [0.5, 1.0, 2.0] {
            let (d, f) = (1e6, 0.2 * 1e6f64.powf(1.0 - n));
            // A thick cover gives the same as sediment alone. Without ease the cover makes no difference. The result
            // is continuous in between.
            assert_eq!(covered(d, 9e5, f, 3.0, n), remaining(d, 3.0 * f, n));
            let whole = remaining(d, f, n);
            assert!(covered(d, 1.0, f, 3.0, n) < whole + 2e-3 && covered(d, 1.0, f, 3.0, n) > whole - 3.0);
            let mut last = whole;
            for cover in (1..=90).map(|c| f64::from(c) * 1e4) {
                let left = covered(d, cover, f, 3.0, n);
                assert!(left <= last + 2e-3 && last - left < 1.1e4, "cover {cover}, n {n}: {left} after {last}");
                last = left;
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
        let water = Water {
            codes: &codes,
            order: order.to_vec(),
            strength: strength.to_vec(),
            scale: 1.0,
            n: 1.0,
            topology: [1, 5].into(),
            origin: Cell::new(0, 0),
            salt: 9,
        };
        let sum = cut(&mut ground, &mut levels, None, &water, 1.0);
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
            let salt = mix(salt + 1);
            let water = Water {
                codes: &codes,
                order: vec![1, 0],
                strength: strength.to_vec(),
                scale: 1.0,
                n: 1.0,
                topology: [1, 2].into(),
                origin: Cell::new(0, 0),
                salt,
            };
            cut(&mut ground, &mut levels, None, &water, 1.0);
        }
        // Each cut is a tenth of a unit: the sum is 99.5 ± 9.5, tested to four standard deviations.
        assert!((60..140).contains(&(10_000 - ground[1].0)), "{}", ground[1].0);
    }
}
