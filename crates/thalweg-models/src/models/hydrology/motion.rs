//! The motion of drops, computed for [`LANES`] drops side by side so that the compiler can vectorize it.

use crate::models::hydrology::RuleSet;
use crate::models::hydrology::rules::HydrologyRules;

/// Number of drops that take their steps in turn.
pub const LANES: usize = 4;

/// The count that a whole drop adds to the sums of a batch.
pub const WHOLE_DROP: f32 = 1024.0;

/// One value per lane.
pub type Lanes<T> = [T; LANES];

/// The quantities that determine each drop's motion.
#[derive(Default)]
pub struct Forces {
    /// The terrain values that the forces were computed from: the fall in units from the northern to the southern
    /// neighbour and from the western to the eastern one, and true if the cell is under water.
    pub read: Lanes<([i32; 2], bool)>,
    /// Slope of the ground southward, as rise over run.
    pub fall_south: Lanes<f32>,
    /// Slope of the ground eastward, as rise over run.
    pub fall_east: Lanes<f32>,
    /// Speed southward.
    pub vy: Lanes<f32>,
    /// Speed eastward.
    pub vx: Lanes<f32>,
    /// Water, in whole drops.
    pub volume: Lanes<f32>,
    /// Stream share σ of the drop's cell.
    pub stream: Lanes<f32>,
    /// Southward pull of the stream's momentum; 0 under water.
    pub my: Lanes<f32>,
    /// Eastward pull of the stream's momentum; 0 under water.
    pub mx: Lanes<f32>,
    /// True if the drop comes over a lake's sill.
    pub spilled: Lanes<bool>,
}

/// The resulting motion of each drop.
#[derive(Default)]
pub struct DropMotion {
    /// New southward speed.
    pub vy: Lanes<f32>,
    /// New eastward speed.
    pub vx: Lanes<f32>,
    /// Displacement southward, in cells.
    pub down: Lanes<f32>,
    /// Displacement eastward, in cells.
    pub across: Lanes<f32>,
    /// Duration of the move, in steps.
    pub time: Lanes<f32>,
    /// Water, in whole drops.
    pub volume: Lanes<f32>,
    /// Southward part of the passing water, in parts of a [`WHOLE_DROP`].
    south: Lanes<f32>,
    /// Eastward part of the passing water, in the same unit.
    east: Lanes<f32>,
}

impl DropMotion {
    /// Returns the passing water of the drop in lane `x`, and its southward and eastward parts, all in parts of a
    /// [`WHOLE_DROP`].
    #[inline(always)]
    pub fn passing_water(&self, x: usize) -> (u32, [i32; 2]) {
        ((self.volume[x] * WHOLE_DROP) as u32, [self.south[x] as i32, self.east[x] as i32])
    }
}

impl Forces {
    /// Computes the drops' next motion; see the model's documentation for the equations.
    #[inline(always)]
    pub fn compute_motion(&self, rules: &HydrologyRules) -> DropMotion {
        let mut motion = DropMotion { volume: self.volume, ..DropMotion::default() };
        match rules.set {
            RuleSet::Stream => self.apply_stream_rules(rules, &mut motion),
            RuleSet::Momentum => self.apply_momentum_rules(rules, &mut motion),
        }
        for x in 0..LANES {
            // A drop on a sill keeps the direction of the overflow: the ground may fall more steeply back under the
            // lake.
            if self.spilled[x] {
                let [vy, vx] = [self.vy[x], self.vx[x]];
                let by = std::f32::consts::SQRT_2 / vector_length(vy, vx);
                (motion.vy[x], motion.vx[x], motion.time[x]) = (vy, vx, 1.0);
                (motion.down[x], motion.across[x]) = (vy * by, vx * by);
            }
        }
        for x in 0..LANES {
            let size = vector_length(motion.down[x], motion.across[x]);
            let amount = self.volume[x] * WHOLE_DROP;
            // A drop that does not move divides 0 by 0 here; its parts are never read, as it rests before its water is
            // recorded.
            motion.south[x] = amount * motion.down[x] / size;
            motion.east[x] = amount * motion.across[x] / size;
        }
        motion
    }

    /// Returns the horizontal part of the ground's normal: southward, eastward.
    #[inline(always)]
    fn downhill_normal(&self, x: usize) -> [f32; 2] {
        let (south, east) = (self.fall_south[x], self.fall_east[x]);
        let up = (1.0 + south * south + east * east).sqrt();
        [south / up, east / up]
    }

    #[inline(always)]
    fn apply_stream_rules(&self, rules: &HydrologyRules, motion: &mut DropMotion) {
        for x in 0..LANES {
            let [south, east] = self.downhill_normal(x);
            let friction = rules.friction * (1.0 - rules.stream_friction * self.stream[x]);
            let push = rules.dt * rules.pull / self.volume[x];
            let (vy, vx) = (self.vy[x] + push * south, self.vx[x] + push * east);
            let size = vector_length(vy, vx);
            // Lengths in cells. A step is limited to √2 cells so that it skips none.
            let (full, max_step) = (rules.dt * size / rules.q, std::f32::consts::SQRT_2);
            // The quotient is infinite where the drop has no speed; the comparison below then selects `dt`.
            let limited_time = rules.dt * max_step / full;
            let time = if full > max_step { limited_time } else { rules.dt };
            let by = time / rules.q;
            let keep = (1.0 - time * friction).max(0.0);
            (motion.vy[x], motion.vx[x]) = (vy * keep, vx * keep);
            (motion.down[x], motion.across[x]) = (vy * by, vx * by);
            motion.time[x] = time * (1.0 / rules.q).min(1.0);
        }
    }

    #[inline(always)]
    fn apply_momentum_rules(&self, rules: &HydrologyRules, motion: &mut DropMotion) {
        for x in 0..LANES {
            let [south, east] = self.downhill_normal(x);
            let friction = rules.friction * (1.0 - rules.stream_friction * self.stream[x]);
            let push = rules.q * rules.pull / self.volume[x];
            let keep = 1.0 - rules.q.min(1.0) * friction;
            let (vy, vx) = (self.vy[x] * keep + push * south, self.vx[x] * keep + push * east);
            let (my, mx) = (self.my[x], self.mx[x]);
            let sizes = vector_length(vy, vx) * vector_length(my, mx);
            // The pull acts by the cosine of the angle between drop and stream: a drop across the stream is not drawn
            // along, and light drops are drawn along more.
            let by = rules.momentum * ((vy * my + vx * mx) / sizes) / (self.volume[x] + self.stream[x]);
            // The cosine is undefined if either vector is zero: there is no pull then.
            let pulls = (vector_length(vy, vx) > 0.0) & (vector_length(my, mx) > 0.0);
            let pulled = [vy + by * my, vx + by * mx];
            let (vy, vx) = (if pulls { pulled[0] } else { vy }, if pulls { pulled[1] } else { vx });
            let size = vector_length(vy, vx);
            let by = std::f32::consts::SQRT_2 / size;
            // A drop on level ground without a pull has no direction: it does not move. Branches that only select
            // values keep the loop vectorizable.
            let by = if size > 1e-6 { by } else { 0.0 };
            (motion.vy[x], motion.vx[x], motion.time[x]) = (vy * by, vx * by, 1.0);
            (motion.down[x], motion.across[x]) = (vy * by, vx * by);
        }
    }
}

#[inline(always)]
fn vector_length(y: f32, x: f32) -> f32 {
    (y * y + x * x).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::hydrology::Hydrology;
    use thalweg_core::Grid;
    use thalweg_core::base::rng::RandomKey;

    /// Computes the same for a single drop, as the article writes it. Returns speed, displacement and time.
    fn plain(forces: &Forces, x: usize, rules: &HydrologyRules) -> ([f32; 2], [f32; 2], f32) {
        let [down, across] = [forces.fall_south[x], forces.fall_east[x]];
        let up = (1.0 + down * down + across * across).sqrt();
        let [south, east] = [down / up, across / up];
        let (volume, stream) = (forces.volume[x], forces.stream[x]);
        let friction = rules.friction * (1.0 - rules.stream_friction * stream);
        let [vy, vx] = [forces.vy[x], forces.vx[x]];
        match rules.set {
            _ if forces.spilled[x] => {
                let by = std::f32::consts::SQRT_2 / vector_length(vy, vx);
                ([vy, vx], [vy * by, vx * by], 1.0)
            }
            RuleSet::Stream => {
                let push = rules.dt * rules.pull / volume;
                let (vy, vx) = (vy + push * south, vx + push * east);
                let size = vector_length(vy, vx);
                let (full, max_step) = (rules.dt * size / rules.q, std::f32::consts::SQRT_2);
                let time = if full > max_step { rules.dt * max_step / full } else { rules.dt };
                let by = time / rules.q;
                let keep = (1.0 - time * friction).max(0.0);
                ([vy * keep, vx * keep], [vy * by, vx * by], time * (1.0 / rules.q).min(1.0))
            }
            RuleSet::Momentum => {
                let push = rules.q * rules.pull / volume;
                let keep = 1.0 - rules.q.min(1.0) * friction;
                let (mut vy, mut vx) = (vy * keep + push * south, vx * keep + push * east);
                let (my, mx) = (forces.my[x], forces.mx[x]);
                let (size, other) = (vector_length(vy, vx), vector_length(my, mx));
                if size > 0.0 && other > 0.0 {
                    let cos = (vy * my + vx * mx) / (size * other);
                    let by = rules.momentum * cos / (volume + stream);
                    (vy, vx) = (vy + by * my, vx + by * mx);
                }
                let size = vector_length(vy, vx);
                let by = if size > 1e-6 { std::f32::consts::SQRT_2 / size } else { 0.0 };
                ([vy * by, vx * by], [vy * by, vx * by], 1.0)
            }
        }
    }

    #[test]
    fn drops_side_by_side_move_as_each_alone() {
        let grid = Grid::new([64, 64], 30.0).unwrap();
        for set in [RuleSet::Stream, RuleSet::Momentum] {
            let rules = HydrologyRules::new(&Hydrology { rules: set, ..Hydrology::default() }, &grid);
            for number in 0..2000u64 {
                let key = RandomKey::new(number, "motion");
                let mut forces = Forces::default();
                for x in 0..LANES {
                    let of = |part: u64, size: f64| {
                        let key = key.derive_key(part).derive_key(x as u64);
                        // Includes zeros, as edge cases.
                        if key.derive_key(1).random_bits().is_multiple_of(5) {
                            0.0
                        } else {
                            (size * key.uniform_signed()) as f32
                        }
                    };
                    (forces.fall_south[x], forces.fall_east[x]) = (of(2, 3.0), of(3, 3.0));
                    (forces.vy[x], forces.vx[x]) = (of(4, 1.5), of(5, 1.5));
                    forces.volume[x] = 0.01 + of(6, 1.0).abs();
                    forces.stream[x] = of(7, 1.0).abs();
                    (forces.my[x], forces.mx[x]) = (of(8, 20.0), of(9, 20.0));
                    forces.spilled[x] = number % 7 == 0 && forces.vy[x] != 0.0;
                }
                let motion = forces.compute_motion(&rules);
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
                        let components =
                            [down, across].map(|component| (amount * component / vector_length(down, across)) as i32);
                        assert_eq!(motion.passing_water(x), (amount as u32, components));
                    }
                }
            }
        }
    }
}
