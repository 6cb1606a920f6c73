//! How drops that step in turn move: as many side by side as there are lanes.

use crate::models::hydrology::RuleSet;
use crate::models::hydrology::rules::Rules;

/// Drops that take their steps in turn.
pub const LANES: usize = 4;

/// A whole drop in the sums of a batch.
pub const WHOLE_DROP: f32 = 1024.0;

/// A number for each of them.
pub type Lanes<T> = [T; LANES];

/// What moves each drop.
#[derive(Default)]
pub struct Forces {
    /// What these were worked out of: by how many units the ground falls from the northern to the southern neighbour, and from the western
    /// to the eastern one, and whether it lies under water.
    pub read: Lanes<([i32; 2], bool)>,
    /// Slope of the ground southward and eastward, as rise over run.
    pub fall_south: Lanes<f32>,
    pub fall_east: Lanes<f32>,
    /// Speed southward and eastward.
    pub vy: Lanes<f32>,
    pub vx: Lanes<f32>,
    /// Water, in whole drops.
    pub volume: Lanes<f32>,
    /// Share of a stream that its cell is, and how that stream's momentum pulls; no pull under water.
    pub stream: Lanes<f32>,
    pub my: Lanes<f32>,
    pub mx: Lanes<f32>,
    /// Whether it comes over a sill.
    pub spilled: Lanes<bool>,
}

/// How each drop moves.
#[derive(Default)]
pub struct Motion {
    /// Its new speed.
    pub vy: Lanes<f32>,
    pub vx: Lanes<f32>,
    /// By how many cells it moves southward and eastward.
    pub down: Lanes<f32>,
    pub across: Lanes<f32>,
    /// How long that takes, in steps.
    pub time: Lanes<f32>,
    /// Its water, in whole drops.
    pub volume: Lanes<f32>,
    /// The water that passes southward and eastward, in parts of a [`WHOLE_DROP`].
    south: Lanes<f32>,
    east: Lanes<f32>,
}

impl Motion {
    /// The water of the drop in lane `x` that passes, and its parts southward and eastward, in parts of a [`WHOLE_DROP`].
    #[inline(always)]
    pub fn passing(&self, x: usize) -> (u32, [i32; 2]) {
        ((self.volume[x] * WHOLE_DROP) as u32, [self.south[x] as i32, self.east[x] as i32])
    }
}

impl Forces {
    /// The drops' next motion; see the model's page.
    #[inline(always)]
    pub fn motion(&self, rules: &Rules) -> Motion {
        let mut motion = Motion { volume: self.volume, ..Motion::default() };
        match rules.set {
            RuleSet::Stream => self.by_stream(rules, &mut motion),
            RuleSet::Momentum => self.by_momentum(rules, &mut motion),
        }
        for x in 0..LANES {
            // On a sill the ground may fall more steeply under the lake than where the lake runs over.
            if self.spilled[x] {
                let [vy, vx] = [self.vy[x], self.vx[x]];
                let by = std::f32::consts::SQRT_2 / length(vy, vx);
                (motion.vy[x], motion.vx[x], motion.time[x]) = (vy, vx, 1.0);
                (motion.down[x], motion.across[x]) = (vy * by, vx * by);
            }
        }
        for x in 0..LANES {
            let size = length(motion.down[x], motion.across[x]);
            let amount = self.volume[x] * WHOLE_DROP;
            motion.south[x] = amount * motion.down[x] / size;
            motion.east[x] = amount * motion.across[x] / size;
        }
        motion
    }

    /// Horizontal part of the ground's normal: southward, eastward.
    #[inline(always)]
    fn downhill(&self, x: usize) -> [f32; 2] {
        let (south, east) = (self.fall_south[x], self.fall_east[x]);
        let up = (1.0 + south * south + east * east).sqrt();
        [south / up, east / up]
    }

    #[inline(always)]
    fn by_stream(&self, rules: &Rules, motion: &mut Motion) {
        for x in 0..LANES {
            let [south, east] = self.downhill(x);
            let friction = rules.friction * (1.0 - rules.stream_friction * self.stream[x]);
            let push = rules.dt * rules.pull / self.volume[x];
            let (vy, vx) = (self.vy[x] + push * south, self.vx[x] + push * east);
            let size = length(vy, vx);
            // In cells; no step skips a cell.
            let (full, most) = (rules.dt * size / rules.q, std::f32::consts::SQRT_2);
            let held = rules.dt * most / full;
            let time = if full > most { held } else { rules.dt };
            let by = time / rules.q;
            let keep = (1.0 - time * friction).max(0.0);
            (motion.vy[x], motion.vx[x]) = (vy * keep, vx * keep);
            (motion.down[x], motion.across[x]) = (vy * by, vx * by);
            motion.time[x] = time * (1.0 / rules.q).min(1.0);
        }
    }

    #[inline(always)]
    fn by_momentum(&self, rules: &Rules, motion: &mut Motion) {
        for x in 0..LANES {
            let [south, east] = self.downhill(x);
            let friction = rules.friction * (1.0 - rules.stream_friction * self.stream[x]);
            let push = rules.q * rules.pull / self.volume[x];
            let keep = 1.0 - rules.q.min(1.0) * friction;
            let (vy, vx) = (self.vy[x] * keep + push * south, self.vx[x] * keep + push * east);
            let (my, mx) = (self.my[x], self.mx[x]);
            let sizes = length(vy, vx) * length(my, mx);
            let by = rules.momentum * ((vy * my + vx * mx) / sizes) / (self.volume[x] + self.stream[x]);
            // Nothing pulls nothing.
            let pulls = (length(vy, vx) > 0.0) & (length(my, mx) > 0.0);
            let pulled = [vy + by * my, vx + by * mx];
            let (vy, vx) = (if pulls { pulled[0] } else { vy }, if pulls { pulled[1] } else { vx });
            let size = length(vy, vx);
            let by = std::f32::consts::SQRT_2 / size;
            let by = if size > 1e-6 { by } else { 0.0 };
            (motion.vy[x], motion.vx[x], motion.time[x]) = (vy * by, vx * by, 1.0);
            (motion.down[x], motion.across[x]) = (vy * by, vx * by);
        }
    }
}

#[inline(always)]
fn length(y: f32, x: f32) -> f32 {
    (y * y + x * x).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::hydrology::Hydrology;
    use thalweg_core::Grid;
    use thalweg_core::base::rng::Key;

    /// The same for one drop, as the article has it: speed, way, time.
    fn plain(forces: &Forces, x: usize, rules: &Rules) -> ([f32; 2], [f32; 2], f32) {
        let [down, across] = [forces.fall_south[x], forces.fall_east[x]];
        let up = (1.0 + down * down + across * across).sqrt();
        let [south, east] = [down / up, across / up];
        let (volume, stream) = (forces.volume[x], forces.stream[x]);
        let friction = rules.friction * (1.0 - rules.stream_friction * stream);
        let [vy, vx] = [forces.vy[x], forces.vx[x]];
        match rules.set {
            _ if forces.spilled[x] => {
                let by = std::f32::consts::SQRT_2 / length(vy, vx);
                ([vy, vx], [vy * by, vx * by], 1.0)
            }
            RuleSet::Stream => {
                let push = rules.dt * rules.pull / volume;
                let (vy, vx) = (vy + push * south, vx + push * east);
                let size = length(vy, vx);
                let (full, most) = (rules.dt * size / rules.q, std::f32::consts::SQRT_2);
                let time = if full > most { rules.dt * most / full } else { rules.dt };
                let by = time / rules.q;
                let keep = (1.0 - time * friction).max(0.0);
                ([vy * keep, vx * keep], [vy * by, vx * by], time * (1.0 / rules.q).min(1.0))
            }
            RuleSet::Momentum => {
                let push = rules.q * rules.pull / volume;
                let keep = 1.0 - rules.q.min(1.0) * friction;
                let (mut vy, mut vx) = (vy * keep + push * south, vx * keep + push * east);
                let (my, mx) = (forces.my[x], forces.mx[x]);
                let (size, other) = (length(vy, vx), length(my, mx));
                if size > 0.0 && other > 0.0 {
                    let cos = (vy * my + vx * mx) / (size * other);
                    let by = rules.momentum * cos / (volume + stream);
                    (vy, vx) = (vy + by * my, vx + by * mx);
                }
                let size = length(vy, vx);
                let by = if size > 1e-6 { std::f32::consts::SQRT_2 / size } else { 0.0 };
                ([vy * by, vx * by], [vy * by, vx * by], 1.0)
            }
        }
    }

    #[test]
    fn drops_side_by_side_move_as_each_alone() {
        let grid = Grid::new([64, 64], 30.0).unwrap();
        for set in [RuleSet::Stream, RuleSet::Momentum] {
            let rules = Rules::new(&Hydrology { rules: set, ..Hydrology::default() }, &grid);
            for number in 0..2000u64 {
                let key = Key::new(number, "motion");
                let mut forces = Forces::default();
                for x in 0..LANES {
                    let of = |part: u64, size: f64| {
                        let key = key.and(part).and(x as u64);
                        // Now and then nothing at all.
                        if key.and(1).bits().is_multiple_of(5) { 0.0 } else { (size * key.signed()) as f32 }
                    };
                    (forces.fall_south[x], forces.fall_east[x]) = (of(2, 3.0), of(3, 3.0));
                    (forces.vy[x], forces.vx[x]) = (of(4, 1.5), of(5, 1.5));
                    forces.volume[x] = 0.01 + of(6, 1.0).abs();
                    forces.stream[x] = of(7, 1.0).abs();
                    (forces.my[x], forces.mx[x]) = (of(8, 20.0), of(9, 20.0));
                    forces.spilled[x] = number % 7 == 0 && forces.vy[x] != 0.0;
                }
                let motion = forces.motion(&rules);
                for x in 0..LANES {
                    let ([vy, vx], [down, across], time) = plain(&forces, x, &rules);
                    let bits = |of: [f32; 5]| of.map(f32::to_bits);
                    assert_eq!(
                        bits([motion.vy[x], motion.vx[x], motion.down[x], motion.across[x], motion.time[x]]),
                        bits([vy, vx, down, across, time]),
                        "{set:?} {number} {x}"
                    );
                    if down != 0.0 || across != 0.0 {
                        let amount = forces.volume[x] * WHOLE_DROP;
                        let parts = [down, across].map(|way| (amount * way / length(down, across)) as i32);
                        assert_eq!(motion.passing(x), (amount as u32, parts));
                    }
                }
            }
        }
    }
}
