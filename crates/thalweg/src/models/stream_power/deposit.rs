//! The implicit step with deposition: what is cut upstream settles again on its way.

use crate::flow::downstream;
use crate::height::Height;
use crate::models::stream_power::solve::{Water, remaining};

/// Sweeps at most; with G about 1 some five come to rest.
const SWEEPS: u32 = 20;

/// Sweeps end when no cell moves by more, in units: 2 mm.
const STILL: f64 = 131.0;

/// What a step did, in units.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Cut.
    pub eroded: i64,
    /// Laid, as loose ground.
    pub deposited: i64,
}

/// Cuts and lays by one implicit step of ∂z/∂t = −K·Aᵐ·Sⁿ + G/A·∫(−∂z/∂t) (Yuan et al. 2019; the integral over all that
/// drains through the cell).
///
/// As there by sweeps in turn from base level upwards, with the sediment of the last sweep, and downwards, gathering it. Two
/// things differ. Sediment follows the directions alone, and A in its term is counted along them, so that no cell gets
/// more than there is. And where water stands, all that arrives settles, up to the water's level. A last sweep downwards
/// in whole units lays no more than what really comes: mass closes. `levels` become those of the water over the new ground.
pub fn cut_and_lay(
    ground: &mut [Height],
    levels: &mut [Height],
    loose: &mut [Height],
    water: &Water<'_>,
    ease: f64,
    deposition: f64,
) -> Moved {
    let count = ground.len();
    let below = |k: usize| downstream(k, water.codes[k], water.cols);
    let mut cells = vec![1.0f32; count];
    for &k in water.order {
        if let Some(n) = below(k as usize) {
            cells[n] += cells[k as usize];
        }
    }
    let mut level: Vec<f64> = levels.iter().map(|h| f64::from(h.0)).collect();
    let mut new: Vec<f64> = ground.iter().map(|h| f64::from(h.0)).collect();
    let mut load = vec![0.0f64; count];
    for _ in 0..SWEEPS {
        let mut change = 0.0f64;
        for &k in water.order.iter().rev() {
            let k = k as usize;
            let Some(n) = below(k) else { continue };
            let (here, base) = (f64::from(ground[k].0), level[n]);
            let share = deposition / f64::from(cells[k]);
            // Implicit in the cell's own part of the sediment too.
            let start = here + share / (1.0 + share) * load[k];
            let next = if start <= base {
                here + (base - here).min(load[k])
            } else {
                let soft = if loose[k].0 > 0 { ease } else { 1.0 };
                base + remaining(start - base, soft * water.strength(k) / (1.0 + share), water.n)
            };
            change = change.max((next - new[k]).abs());
            new[k] = next;
            level[k] = next.max(base);
        }
        load.fill(0.0);
        for &k in water.order {
            let k = k as usize;
            if let Some(n) = below(k) {
                load[n] += (load[k] + f64::from(ground[k].0) - new[k]).max(0.0);
            }
        }
        if change < STILL {
            break;
        }
    }
    // Whole units, exact in f64: a load is less than 2⁵³.
    load.fill(0.0);
    let mut moved = Moved::default();
    for &k in water.order {
        let k = k as usize;
        let Some(n) = below(k) else { continue };
        let here = f64::from(ground[k].0);
        let wanted = (new[k] - here + water.chance(k)).floor();
        let change = wanted.min(load[k]) as i32;
        let limit = Height(ground[k].0 + change).clamped();
        let change = limit.0 - ground[k].0;
        ground[k] = limit;
        loose[k].0 = (loose[k].0 + change).max(0);
        moved.eroded += i64::from((-change).max(0));
        moved.deposited += i64::from(change.max(0));
        load[n] += load[k] - f64::from(change);
    }
    for &k in water.order.iter().rev() {
        if let Some(n) = below(k as usize) {
            levels[k as usize] = ground[k as usize].max(levels[n]);
        }
    }
    moved
}
