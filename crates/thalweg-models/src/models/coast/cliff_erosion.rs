//! Erosion by waves: cliffs and shore platforms.

use rayon::prelude::*;

use crate::models::coast::{Coast, SMOOTH, blur, line};
use crate::process::slopes::{Guards, book_erosion, find_float_layer};
use thalweg_core::base::cast::clamp_share;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{HARDNESS, PROTECT};
use thalweg_core::{Field, Height, Result, Terrain};

/// Rate at which rock below water is lowered, as a share of the rate of cliff retreat.
const SUBMARINE_EROSION_SHARE: f64 = 0.05;

/// Distance from the water in metres up to which cliffs collapse.
const COLLAPSE_DISTANCE_M: f64 = 600.0;

/// Distance along the shore in metres over which waves are averaged.
const WAVE_AVERAGING_M: f64 = 100.0;
/// Width in metres of the water in front of the shore whose waves count.
const NEARSHORE_WIDTH_M: f32 = 60.0;

/// Retreat in metres below which the shore is left unchanged.
pub(super) const MIN_RETREAT_M: f64 = 1.0;

/// The result of wave erosion.
pub(super) struct WaveErosion {
    /// Depth of erosion in metres, by cell.
    pub depth: Field<f32>,
    /// Bedrock eroded, in units.
    pub rock: i64,
    /// Sediment eroded, in units.
    pub sand: i64,
}

/// Moves shores back and erodes the sea floor. Returns the erosion, and the distance in metres from the new shore.
pub(super) fn erode_shores(
    model: &Coast,
    terrain: &mut Terrain,
    level: i32,
    exposure: &Field<f32>,
) -> Result<(WaveErosion, Field<f32>)> {
    let before = terrain.ground.clone();
    let inland = line::signed_contour_distance(terrain, |_, _| level.into(), SMOOTH);
    let moved = compute_shore_retreat(model, terrain, &inland, exposure);
    carve_platform_and_cliffs(model, terrain, level, &inland, &moved, exposure);
    // Single cells are left of a ridge that is cut from both sides. The smooth shoreline does not enclose them, so
    // waves remove them too.
    let inland = line::signed_contour_distance(terrain, |_, _| level.into(), SMOOTH);
    let fall = libm::tan(model.platform.to_radians());
    let shoal = 0.25 * fall * terrain.grid.cell;
    let voids = terrain.nodata.as_ref();
    terrain.ground.par_rows_mut().for_each(|(i, row)| {
        for (j, height) in row.iter_mut().enumerate() {
            let void = voids.is_some_and(|mask| mask[(i, j)]);
            if !void && height.0 >= level && inland[(i, j)] <= 0.0 && f64::from(moved[(i, j)]) >= MIN_RETREAT_M {
                let depth = (-fall * f64::from(inland[(i, j)])).clamp(shoal, model.wave_base.max(shoal));
                height.0 = level.saturating_sub((depth * UNITS) as i32 + 1).max(Height::MIN.0);
            }
        }
    });
    let Terrain { grid, ground, loose, layers, .. } = terrain;
    // Last, the cut is booked: sediment goes first, and protected ground is restored.
    let loose = loose.get_or_insert_with(|| Field::new(grid.size, Height::ZERO));
    let thickness = |loose: &Field<Height>| loose.as_slice().iter().map(|h| i64::from(h.0)).sum::<i64>();
    let was = thickness(loose);
    // Hardness has already shortened the retreat, so it must not reduce the cut once more.
    let guards = Guards { protect: find_float_layer(layers, &PROTECT), hardness: None };
    let all = book_erosion(&before, ground, loose, guards)?;
    let sand = was - thickness(loose);
    let depth = Field::from_fn(grid.size, |i, j| before[(i, j)].metres_f32() - ground[(i, j)].metres_f32());
    Ok((WaveErosion { depth, rock: all - sand, sand }, inland))
}

/// Returns the distance in metres by which the shore next to each cell moves back.
fn compute_shore_retreat(model: &Coast, terrain: &Terrain, inland: &Field<f32>, exposure: &Field<f32>) -> Field<f32> {
    let waves = compute_shore_waves(model, terrain, inland, exposure);
    let hardness = find_float_layer(&terrain.layers, &HARDNESS);
    let moves = model.limit_retreat_by_platform();
    Field::from_fn(terrain.grid.size, |i, j| {
        let soft = 1.0 - hardness.map_or(0.0, |hardness| f64::from(clamp_share(hardness[(i, j)])));
        // Small islets and spurs outside the smooth shoreline, far from any shore, are exposed to the waves
        // themselves.
        let bare = if inland[(i, j)] <= 0.0 { exposure[(i, j)] } else { 0.0 };
        let due = model.retreat * model.years * f64::from(waves[(i, j)].max(bare)) * soft;
        moves(due) as f32
    })
}

/// Lowers the ground in front of the shore at its new position, and the cliffs behind it.
fn carve_platform_and_cliffs(
    model: &Coast,
    terrain: &mut Terrain,
    level: i32,
    inland: &Field<f32>,
    moved: &Field<f32>,
    exposure: &Field<f32>,
) {
    let Terrain { grid, ground, nodata, layers, .. } = terrain;
    let hardness = find_float_layer(layers, &HARDNESS);
    let fall = libm::tan(model.platform.to_radians());
    let steep = libm::tan(model.cliff.to_radians());
    ground.par_rows_mut().for_each(|(i, row)| {
        for (j, height) in row.iter_mut().enumerate() {
            if nodata.as_ref().is_some_and(|mask| mask[(i, j)]) {
                continue;
            }
            let inland = f64::from(inland[(i, j)]).clamp(-1e6, 1e6);
            let moved = f64::from(moved[(i, j)]);
            // `behind` is the distance in metres behind the new foot of the cliff, negative in front of it.
            let behind = inland - moved;
            let over = (f64::from(height.0) - f64::from(level)) / UNITS;
            let platform = (-fall * behind).clamp(0.0, model.wave_base);
            let remaining_height = if over < 0.0 {
                let soft = 1.0 - hardness.map_or(0.0, |hardness| f64::from(clamp_share(hardness[(i, j)])));
                let worn = SUBMARINE_EROSION_SHARE * model.retreat * model.years * f64::from(exposure[(i, j)]) * soft;
                // Erosion decreases with depth and vanishes at the wave base.
                let rest = libm::exp(-worn / model.wave_base.max(1e-3));
                let depth = model.wave_base - (model.wave_base + over) * rest;
                // Nothing is eroded below corals, nor below the level of the platform of the cliff behind.
                let free = model.reef <= 0.0 || -inland < 0.5 * model.lagoon;
                if free && -over < model.wave_base { over.min(-depth.min(platform)) } else { over }
            } else if moved < MIN_RETREAT_M {
                over
            } else if behind <= 0.0 {
                // The result is at least one unit below the sea level, so that the platform is under water.
                over.min(-platform.max(0.25 * fall * grid.cell) - 1.0 / UNITS)
            } else if behind < COLLAPSE_DISTANCE_M {
                over.min(steep * behind)
            } else {
                over
            };
            if remaining_height < over {
                let cut = ((over - remaining_height) * UNITS).min(f64::from(i32::MAX)) as i32;
                height.0 = height.0.saturating_sub(cut).max(Height::MIN.0);
            }
        }
    });
}

/// Returns the waves at the shore next to each cell, as the mean along the shore over the water in front of it; 0 far
/// from any shore.
fn compute_shore_waves(model: &Coast, terrain: &Terrain, inland: &Field<f32>, exposure: &Field<f32>) -> Field<f32> {
    let cell = terrain.grid.cell;
    // Far enough to include land that the retreat reaches only later.
    let half =
        blur::gaussian_half_width((WAVE_AVERAGING_M.max(0.5 * (model.retreat * model.years).min(4000.0))) / cell, 2);
    let near = -NEARSHORE_WIDTH_M.max(2.5 * cell as f32);
    let water =
        Field::from_fn(terrain.grid.size, |i, j| if (near..=0.0).contains(&inland[(i, j)]) { 1.0 } else { 0.0 });
    let waves = Field::from_fn(terrain.grid.size, |i, j| water[(i, j)] * exposure[(i, j)]);
    let [waves, water] = [waves, water].map(|field| blur::smooth_zero_padded(&field, half));
    Field::from_fn(
        terrain.grid.size,
        |i, j| {
            if water[(i, j)] > 1e-5 { (waves[(i, j)] / water[(i, j)]).min(1.0) } else { 0.0 }
        },
    )
}
