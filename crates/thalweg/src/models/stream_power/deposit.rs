//! The implicit step with deposition: what is cut upstream settles again on its way.

use crate::models::stream_power::solve::{Water, remaining};
use crate::terrain::height::Height;

/// Sweeps at most; with G about 1 some five come to rest.
const SWEEPS: u32 = 20;

/// Sweeps end when no cell moves by more, in units: 2 mm.
const STILL: f32 = 131.0;

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
///
/// What the sweeps look for is kept as the change of each cell and its load, in f32, and levels in whole units: that is far
/// finer than where they end, and half the memory of heights in f64.
pub fn cut_and_lay(
    ground: &mut [Height],
    levels: &mut [Height],
    loose: &mut [Height],
    water: &Water<'_>,
    ease: f64,
    deposition: f64,
) -> Moved {
    let count = ground.len();
    let below = |k: usize| water.below(k);
    let mut cells = vec![1.0f32; count];
    for &k in water.order {
        if let Some(n) = below(k as usize) {
            cells[n] += cells[k as usize];
        }
    }
    let mut changes = vec![0.0f32; count];
    let mut load = vec![0.0f32; count];
    for _ in 0..SWEEPS {
        let mut most = 0.0f32;
        for &k in water.order.iter().rev() {
            let k = k as usize;
            let Some(n) = below(k) else { continue };
            let arriving = f64::from(load[k]);
            // Height over the water that it drains to.
            let over = f64::from(ground[k].0) - f64::from(levels[n].0);
            let share = deposition / f64::from(cells[k]);
            // Implicit in the cell's own part of the sediment too.
            let start = over + share / (1.0 + share) * arriving;
            let change = if start <= 0.0 {
                (-over).min(arriving)
            } else {
                let soft = if loose[k].0 > 0 { ease } else { 1.0 };
                remaining(start, soft * water.strength(k) / (1.0 + share), water.n) - over
            };
            most = most.max((change as f32 - changes[k]).abs());
            changes[k] = change as f32;
            levels[k] = Height(levels[n].0.saturating_add((over + change).max(0.0).round() as i32));
        }
        load.fill(0.0);
        for &k in water.order {
            let k = k as usize;
            if let Some(n) = below(k) {
                load[n] += (load[k] - changes[k]).max(0.0);
            }
        }
        if most < STILL {
            break;
        }
    }
    drop((cells, load));
    // Whole units, exact in f64: a load is less than 2⁵³.
    let mut load = vec![0.0f64; count];
    let mut moved = Moved::default();
    for &k in water.order {
        let k = k as usize;
        let Some(n) = below(k) else { continue };
        let wanted = (f64::from(changes[k]) + water.chance(k)).floor();
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
