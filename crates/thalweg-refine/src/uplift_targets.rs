//! Targets of uplift and incision: the elevation to which each cell rises, and the share of its height above its
//! receiver that incision leaves.

use crate::Rules;
use crate::cell_flags::{RIVER, SEA};
use crate::paths::CarvedPlanes;
use crate::plane::{LANES, PaddedPlane, read_lanes, write_lanes};
use crate::refinement::Refinement;
use crate::rock::RockBeds;
use crate::water;
use thalweg_core::Height;
use thalweg_core::base::cast;
use thalweg_core::base::power::{exp2, log2};
use thalweg_core::terrain::height::UNITS_F32;
use thalweg_flow::OUT;
use thalweg_noise::gradient::mix_bits;

/// The targets of uplift and incision.
pub(super) struct UpliftTargets {
    /// The elevation to which each cell would rise by uplift, in units.
    pub elevations: PaddedPlane<i32>,
    /// The share of each cell's height above its receiver that incision leaves.
    pub remaining_shares: PaddedPlane<f32>,
}

/// The inputs of a row of [`Refinement::find_targets`].
struct TargetRow<'a> {
    /// Width of a cell in units.
    unit: f32,
    /// Spread of the random strength of the rock: the factor of a uniform number from −1 to 1, in the exponent of 2.
    grain: f32,
    /// Time of the level's uplift and incision.
    time: f32,
    /// The hash of the row's world row and the seed, and the world column of its first cell.
    row_hash: u32,
    first_col: i64,
    ground: &'a [i32],
    flags: &'a [u8],
    codes: &'a [u8],
    /// The slope at which uplift and incision balance.
    slope: &'a [f32],
    /// The drainage area over hills in cells, and the softness of the rock.
    water: &'a [f32],
    soft: &'a [f32],
}

impl Refinement<'_> {
    /// Computes the elevation to which each cell would rise by uplift, and the share of its height above its receiver
    /// that incision leaves.
    pub fn find_targets(
        &self,
        carved: &CarvedPlanes,
        balance: &PaddedPlane<f32>,
        codes: &PaddedPlane<u8>,
        rock: Option<&RockBeds<'_>>,
    ) -> UpliftTargets {
        let (margins, rules) = (self.margins, self.rules);
        let mut shares = [0; 8].map(|_| PaddedPlane::new(self.size, 0u8));
        water::compute_flow_shares(
            &carved.ground,
            &carved.flags,
            codes,
            &self.part_with_margin(margins.water),
            &mut shares,
        );
        let mut now = PaddedPlane::new(self.size, 1.0f32);
        let mut next = now.clone();
        // Each sweep carries water one cell further down, so a cell counts the hillslope up to that many cells above
        // it.
        for sweep in 1..=i64::from(rules.water_sweeps) {
            water::sweep_accumulation(&now, &shares, &self.part_with_margin(margins.water - sweep), &mut next);
            std::mem::swap(&mut now, &mut next);
        }
        let mut elevations = carved.ground.clone();
        let mut remaining_shares = PaddedPlane::new(self.size, 1.0f32);
        let part = self.part_with_margin(margins.rise);
        let time = rules.time_ratio(self.width);
        let unit = self.width * UNITS_F32;
        // A uniform number from −1 to 1 has a standard deviation of 1/√3, so it is multiplied by √3.
        let grain = rules.grain * std::f32::consts::LOG2_E * 1.732;
        let mut soft = vec![1.0f32; part.cols.len()];
        for i in part.rows.clone() {
            if let Some(rock) = rock {
                rock.compute_softness_row(&carved.ground, i, &part, &mut soft);
            }
            let row_hash = mix_bits((self.origin[0] + i as i64 - 1) as u32 ^ mix_bits(self.seed ^ 0x726f_636b));
            let row = TargetRow {
                unit,
                grain,
                time,
                row_hash,
                first_col: self.origin[1] + part.cols.start as i64 - 1,
                ground: carved.ground.span(i, &part.cols),
                flags: carved.flags.span(i, &part.cols),
                codes: codes.span(i, &part.cols),
                slope: balance.span(i, &part.cols),
                water: now.span(i, &part.cols),
                soft: &soft,
            };
            compute_target_row(
                rules,
                &row,
                elevations.span_mut(i, &part.cols),
                remaining_shares.span_mut(i, &part.cols),
            );
        }
        UpliftTargets { elevations, remaining_shares }
    }
}

/// Computes a row of [`Refinement::find_targets`].
#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn compute_target_row(rules: &Rules, row: &TargetRow<'_>, elevations: &mut [i32], remaining_shares: &mut [f32]) {
    let TargetRow { unit, grain, time, row_hash, first_col, ground, flags, codes, slope, water, soft } = *row;
    let (uplift, exponent, balance) = (rules.uplift, rules.exponent, 1.0 / rules.balance);
    let (limit, steepest) = (rules.limit, 1.0 / rules.limit);
    for x in (0..elevations.len()).step_by(LANES) {
        let (ground, flags, codes) =
            (read_lanes::<_, LANES>(ground, x), read_lanes::<_, LANES>(flags, x), read_lanes::<_, LANES>(codes, x));
        let (slope, water, soft) =
            (read_lanes::<_, LANES>(slope, x), read_lanes::<_, LANES>(water, x), read_lanes::<_, LANES>(soft, x));
        let (mut rises, mut keeps) = (ground, [1.0f32; LANES]);
        for l in 0..LANES {
            let hash = mix_bits(row_hash ^ (first_col as u32).wrapping_add((x + l) as u32).wrapping_mul(0x85eb_ca77));
            // Uniformly distributed. `grain` includes √3, so that the standard deviation is that of the rules, and
            // log₂ e, for `exp2`.
            let rock = grain * (hash as f32 * (1.0 / 2_147_483_648.0) - 1.0);
            // The nearer a slope is to the angle at which rock slides, the less of it is shaped by rivers.
            let time = time * (1.0 - slope[l] * steepest).max(0.1);
            let strength = time * soft[l] * exp2(exponent * log2(water[l].max(1.0) * balance) + rock);
            let free = flags[l] & (RIVER | SEA) == 0 && codes[l] != OUT;
            // Uplift is limited: where the rock would become steeper than it can be, it would only slide again. 2²⁸
            // units (4096 m) at most are added to a height of less than 2³⁰, so the sum does not overflow.
            let up = cast::floor_to_int((unit * (uplift * time * slope[l]).min(strength * limit)).min(268_435_456.0));
            rises[l] = if free { ground[l].wrapping_add(up).min(Height::MAX.0) } else { ground[l] };
            // An implicit step of the linear stream-power law leaves the share 1/(1 + strength) of the height above the
            // receiver.
            keeps[l] = if free { 1.0 / (1.0 + strength) } else { 1.0 };
        }
        write_lanes(elevations, x, &rises);
        write_lanes(remaining_shares, x, &keeps);
    }
}
