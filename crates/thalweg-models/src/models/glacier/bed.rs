//! The erosion of a glacier's bed.

use rayon::prelude::*;

use crate::models::glacier::Glacier;
use crate::models::glacier::flow::IceFlow;
use crate::models::glacier::land::IceBed;
use crate::models::glacier::lines::blur_by_diffusion;
use thalweg_core::base::power::{exp2, log2};
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Field, Height};

/// Maximum depth that a cell is cut in a step, as a share of its width.
const MAX_CUT_PER_WIDTH: f64 = 0.25;

/// Computes the sliding speed of the ice in m/a, averaged over `coupling` metres; `slide` is Γs.
///
/// The speed is evaluated at each side of a cell. A cell's speed is the mean of those at its opposite sides.
pub fn compute_sliding_speed(
    flow: &mut IceFlow,
    land: IceBed<'_>,
    ice: &Field<Height>,
    slide: f64,
    coupling: f64,
) -> Field<f32> {
    // The first stage computes the speed over each side, from the thickness and the slopes of shallow ice.
    flow.update_surface(land, ice);
    let flow = &*flow;
    let cols = ice.cols();
    let thick = |k: usize| ice[k].metres();
    // The speed over each side counts as positive out of the cell.
    let leaves = |k: usize| {
        let falls = flow.downward_slopes(land, k);
        let (across, along) = (falls[0].max(falls[1]), falls[2].max(falls[3]));
        let (here, around) = (thick(k), land.side_neighbours(k));
        let leaves = |side: usize| {
            // The thickness on a side is the mean of both cells or that of the upper one, whichever is less, as in the
            // flow.
            let mean = around[side].map_or(here, |to| 0.5 * (here + thick(to)));
            let h = mean.min(here);
            (slide * h * h * (across * across + along * along) * falls[side]) as f32
        };
        [leaves(0), leaves(1), leaves(2), leaves(3)]
    };
    let sides = Field::from_fn(ice.size(), |i, j| {
        let k = i * cols + j;
        if ice[(i, j)].0 > 0 && !land.is_void(k) { leaves(k) } else { [0.0; 4] }
    });
    // The second stage computes the speed of each cell, from the flow into it and out of it.
    let mut speed = Field::from_fn(ice.size(), |i, j| {
        let k = i * cols + j;
        if ice[(i, j)].0 == 0 {
            return 0.0;
        }
        let out = sides[k];
        // Ice that enters over a side leaves the neighbour over the opposite one.
        let around = land.side_neighbours(k);
        let comes = |side: usize| around[side].map_or(0.0, |from| sides[from][side ^ 1]);
        let u = 0.5 * ((out[1] + comes(0)) - (out[0] + comes(1)));
        let v = 0.5 * ((out[3] + comes(2)) - (out[2] + comes(3)));
        (u * u + v * v).sqrt()
    });
    // The third stage averages the speed, as stiff ice moves as one over the coupling length.
    blur_by_diffusion(&mut speed, coupling / land.grid.cell);
    speed
}

/// Returns the units by which cell `k` may be cut before its bed rises along the ice by more than `adverse` times the
/// fall of the ice surface. Lower neighbours are weighted by the fall of the surface towards them. In a depression of
/// the surface the result is 0.
fn max_cut_for_adverse_slope(flow: &IceFlow, land: IceBed<'_>, k: usize, adverse: f64) -> i64 {
    let ground = land.ground.as_slice();
    let (falls, around) = (flow.downward_slopes(land, k), land.side_neighbours(k));
    let (mut sum, mut lies) = (0.0, 0.0);
    for (fall, to) in falls.into_iter().zip(around) {
        let Some(to) = to.filter(|_| fall > 0.0) else { continue };
        let over = f64::from(ground[k].0) - f64::from(ground[to].0);
        sum += fall;
        lies += fall * (over + adverse * fall * land.grid.cell * UNITS);
    }
    if sum > 0.0 { (lies / sum).max(0.0) as i64 } else { 0 }
}

/// Maximum factor by which a bump of the bed erodes faster than a level bed.
const MAX_BUMP_EROSION_FACTOR: f64 = 4.0;

/// Minimum ice thickness in metres at the foot of a wall for headwall erosion; a wall under thinner ice counts as bare.
const MIN_FOOT_ICE_M: f64 = 20.0;

/// Lowers the ground `out` where ice slides over it and where walls rise from it, for `years`. Returns the number of
/// cells whose cut was limited. The ice surface is the one that [`compute_sliding_speed`] has computed.
pub fn erode_under_ice(
    model: &Glacier,
    land: IceBed<'_>,
    ice: &Field<Height>,
    flow: &IceFlow,
    speed: &Field<f32>,
    years: f64,
    out: &mut Field<Height>,
) -> u64 {
    let cell = land.grid.cell;
    // The bed as stiff ice responds to it, averaged over the coupling length.
    let mean = (model.knob > 0.0).then(|| {
        let mut mean = land.ground.map(|height| height.metres() as f32);
        blur_by_diffusion(&mut mean, model.coupling / cell);
        mean
    });
    let cols = land.grid.cols();
    let per = 1.0 / (cell * UNITS);
    let most = (MAX_CUT_PER_WIDTH * cell * UNITS) as i64;
    let ground = land.ground.as_slice();
    out.par_rows_mut()
        .map(|(i, row)| {
            let mut limited = 0;
            for (j, height) in row.iter_mut().enumerate() {
                let (k, thick) = (i * cols + j, ice[(i, j)].metres());
                if land.is_void(k) || land.is_base_level(k) {
                    continue;
                }
                let here = i64::from(ground[k].0);
                let around = land.side_neighbours(k);
                // Headwall and sliding erosion share this limit, which also keeps the bed within the range of
                // elevations.
                let allowed = most.min(here - i64::from(Height::MIN.0)).max(0);
                if thick < MIN_FOOT_ICE_M && model.headwall > 0.0 {
                    // Headwall erosion follows the steepest descent from the wall to ice at its foot.
                    let foot = |to: &usize| !land.is_void(*to) && ice[*to].metres() >= MIN_FOOT_ICE_M;
                    let falls = around.into_iter().flatten().filter(foot).map(|to| here - i64::from(ground[to].0));
                    let fall = falls.max().unwrap_or(0).max(0) as f64 * per;
                    let cut = (model.headwall * fall * years * UNITS) as i64;
                    limited += u64::from(cut > allowed);
                    height.0 -= cut.clamp(0, allowed) as i32;
                }
                if thick <= 0.0 {
                    continue;
                }
                let fall = |side: usize| match around[side] {
                    Some(to) if !land.is_void(to) => (here - i64::from(ground[to].0)).max(0) as f64 * per,
                    _ => 0.0,
                };
                // Sliding erosion: a power of the speed, reduced under thin ice that is frozen to its bed and
                // increased on steep flanks.
                let (across, along) = (fall(0).max(fall(1)), fall(2).max(fall(3)));
                let aside = model.widening * model.widening * (across * across + along * along);
                // The smallest positive number takes the place of 0, which has no logarithm.
                let power = f64::from(exp2(model.exponent as f32 * log2(speed[(i, j)].max(f32::MIN_POSITIVE))));
                let grip_share = thick * thick / (thick * thick + model.grip * model.grip);
                let stands = mean.as_ref().map_or(0.0, |mean| here as f64 / UNITS - f64::from(mean[(i, j)]));
                let level = model.erosion * power * grip_share * (1.0 + aside).sqrt() * years;
                // Implicit in time, with a mean that falls like a level bed: otherwise long steps would produce
                // ripples.
                let even = if model.knob > 0.0 {
                    (1.0 + stands / (model.knob + level)).clamp(0.0, MAX_BUMP_EROSION_FACTOR)
                } else {
                    1.0
                };
                let cut = (level * even * UNITS) as i64;
                // Basins stop deepening where the bed would rise too steeply along the ice.
                let cut = cut.min(max_cut_for_adverse_slope(flow, land, k, model.adverse));
                let remaining = allowed - (here - i64::from(height.0));
                limited += u64::from(cut > remaining);
                height.0 -= cut.clamp(0, remaining.max(0)) as i32;
            }
            limited
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::Grid;

    #[test]
    fn a_bed_may_be_cut_until_it_rises_as_much_as_told() {
        // From the second cell the surface falls 30 m eastward and 10 m southward, to beds 12 m and 4 m higher; north
        // and west it is higher. Weighted by the fall, the bed rises by (30·12 + 10·4)/40 = 10 m, and the surface
        // falls by (900 + 100)/40 = 25 m.
        let grid = Grid::new([2, 3], 100.0).unwrap();
        let metres = |rows: [[f64; 3]; 2]| Field::from_fn(grid.size, |i, j| Height::from_metres(rows[i][j]).unwrap());
        let ground = metres([[60.0, 50.0, 62.0], [70.0, 54.0, 80.0]]);
        let top = metres([[170.0, 150.0, 120.0], [170.0, 140.0, 110.0]]);
        let ice = Field::from_fn(grid.size, |i, j| Height(top[(i, j)].0 - ground[(i, j)].0));
        let land = IceBed { grid: &grid, ground: &ground, nodata: None };
        let mut flow = IceFlow::new(&grid);
        flow.update_surface(land, &ice);
        let cut = |adverse| max_cut_for_adverse_slope(&flow, land, 1, adverse) as f64 / UNITS;
        assert!((cut(1.0) - 15.0).abs() < 1e-3 && (cut(1.5) - 27.5).abs() < 1e-3, "{} {}", cut(1.0), cut(1.5));
        assert_eq!(cut(0.3), 0.0, "it rises more as it is");
        // In a depression of the surface nothing is cut.
        assert_eq!(max_cut_for_adverse_slope(&flow, land, 5, 1000.0), 0);
    }
}
