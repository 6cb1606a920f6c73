//! Deposition of sand on beaches.

use rayon::prelude::*;

use crate::models::coast::cliff_erosion::WaveErosion;
use crate::models::coast::{Coast, blur, smoothstep};
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Field, Height, Terrain};

/// Radius in metres of the neighbourhood whose share of land distinguishes bays from capes.
const BAY_RADIUS_M: f64 = 300.0;

/// Distance in metres by which a beach advances in the most sheltered bay.
const MAX_BEACH_ADVANCE_M: f64 = 140.0;

/// Depth in metres of water inside the smooth shoreline that sand fills first.
const NOTCH: f64 = 8.0;

/// Deposits the sand of `cut` as beaches. Returns the units deposited. `inland` is the distance from the shore in
/// metres.
pub(super) fn deposit_beaches(
    model: &Coast,
    terrain: &mut Terrain,
    level: i32,
    inland: &Field<f32>,
    exposure: &Field<f32>,
    cut: &WaveErosion,
) -> i64 {
    let Terrain { grid, ground, loose: Some(loose), nodata, .. } = terrain else { return 0 };
    let sand = cut.sand + (cut.rock as f64 * model.sandy) as i64;
    let fall = libm::tan(model.beach.to_radians());
    let land = blur::smooth_normalized(
        &inland.map(|inland| if *inland > 0.0 { 1.0 } else { 0.0 }),
        blur::gaussian_half_width(BAY_RADIUS_M / grid.cell, 1),
    );
    // `room` is the space below the beach's profile, in metres of sand, in bays and where the place is sheltered from
    // waves.
    let room = Field::from_fn(grid.size, |i, j| {
        let inland = f64::from(inland[(i, j)]).clamp(-1e6, 1e6);
        // Behind the beach the ground stays as it was.
        if nodata.as_ref().is_some_and(|mask| mask[(i, j)]) || fall * inland > 2.0 * model.runup {
            return 0.0;
        }
        let over = (f64::from(ground[(i, j)].0) - f64::from(level)) / UNITS;
        let bay = smoothstep((f64::from(land[(i, j)]) - 0.45) / 0.3);
        let calm = 1.0 - smoothstep(1.4 * f64::from(exposure[(i, j)]));
        // Distance from the water's edge, which the beach has moved into the bay.
        let edge = inland + MAX_BEACH_ADVANCE_M * bay * calm;
        let depth = (fall * edge).min(model.runup) - over;
        // Sand on ground below the wave base slides into deep water, unless land encloses it.
        if depth <= 0.0
            || -over > model.wave_base.max(if inland > 0.0 { NOTCH } else { 0.0 })
            || (inland <= 0.0 && bay * calm <= 0.0)
        {
            0.0
        } else {
            depth as f32
        }
    });
    // Each place receives its share of the sand eroded within the drift distance, so that sand stays near its source.
    let sum = |field: &Field<f32>| field.as_slice().iter().map(|x| f64::from(*x)).sum::<f64>();
    let (made, places) = (sum(&cut.depth), sum(&room));
    if sand <= 0 || made <= 0.0 || places <= 0.0 {
        return 0;
    }
    let half = blur::gaussian_half_width(model.drift / grid.cell, 0);
    let [made_about, room_about] = [&cut.depth, &room].map(|field| blur::smooth_zero_padded(field, half));
    let share = (sand as f64 / UNITS / made) as f32;
    let mut due = room;
    due.par_rows_mut().for_each(|(i, row)| {
        for (j, due) in row.iter_mut().enumerate() {
            let over = (f64::from(ground[(i, j)].0) - f64::from(level)) / UNITS;
            let notch = inland[(i, j)] > 0.0 && (-NOTCH..0.0).contains(&over);
            let (made, places) = (made_about[(i, j)] * share, room_about[(i, j)]);
            *due *= if places > made && !notch { made.max(0.0) / places } else { 1.0 };
        }
    });
    // At the limit of the drift distance more sand may be assigned than there is; everything is then scaled down.
    let scale = (sand as f64 / UNITS / sum(&due).max(1e-9)).min(1.0);
    let mut remaining = sand;
    // One thread deposits in row-major order. Amounts are rounded down, and never exceed the sand that is left.
    for (k, due) in due.as_slice().iter().enumerate() {
        let height = &mut ground[k];
        let amount = (f64::from(*due) * scale * UNITS) as i64;
        let amount = amount.min(remaining).min(i64::from(Height::MAX.0) - i64::from(height.0)).max(0) as i32;
        height.0 += amount;
        let loose = &mut loose[k];
        loose.0 = loose.0.saturating_add(amount);
        remaining -= i64::from(amount);
    }
    sand - remaining
}
