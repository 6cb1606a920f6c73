//! Soil wetness, 0 to 1, as used for the placement of trees and for texture painting.

use std::borrow::Cow;

use crate::products::slope::central_gradient;
use thalweg_core::terrain::{DISCHARGE, POOL};
use thalweg_core::{Error, Field, Result, Terrain};
use thalweg_flow::{D8, FlowGraph, Land};
use thalweg_models::model::YEAR;

/// The parameters of the wetness model. Each must be above 0 and at most 1e9.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WetnessRules {
    /// The soil transmissivity: lateral flow through saturated soil per metre of width and unit of slope, m²/s.
    pub transmissivity: f64,
    /// The distance in metres from open water at which its dampness has fallen to 1/e.
    pub reach: f64,
    /// The height in metres above open water at which its dampness has fallen to half.
    pub rise: f64,
    /// The runoff in metres of water per year, for a terrain without discharge.
    pub runoff: f64,
}

impl Default for WetnessRules {
    fn default() -> Self {
        // Transmissivity: 65 m²/day, Montgomery & Dietrich 1994. The other values are our own choices.
        Self { transmissivity: 7.5e-4, reach: 30.0, rise: 1.5, runoff: 0.3 }
    }
}

/// Returns the wetness of each cell, 0 to 1: the share of its soil that the flow through it saturates, which is
/// discharge over (cell width × transmissivity × sine of the slope). It is 1 in pools, in the sea, and where the
/// discharge exceeds what the soil can carry; 0 without data. Saturated cells also dampen the terrain around them,
/// decreasing with distance and height.
///
/// It increases with area over slope as the topographic index ln(a/tan β) does (Beven & Kirkby 1979,
/// doi:10.1080/02626667909491834), but is an absolute quantity (O'Loughlin 1986, doi:10.1029/WR022i005p00794;
/// Montgomery & Dietrich 1994, doi:10.1029/93WR02979). The terrain's discharge and pools are used; without discharge,
/// the accumulated `runoff`.
///
/// # Errors
/// Returns an error if a parameter is not above 0 and at most 1e9.
///
/// # Examples
/// ```
/// use thalweg_core::{Field, Grid, Height, Terrain};
/// use thalweg_render::products::wetness::{WetnessRules, compute_wetness};
///
/// // A slope to the south: water gathers towards its foot.
/// let ground = Field::from_fn([20, 20], |i, _| Height::from_metres_clamped(100.0 - i as f64));
/// let terrain = Terrain::from_ground(Grid::new([20, 20], 10.0)?, ground)?;
/// let wet = compute_wetness(&terrain, &WetnessRules::default())?;
/// assert!(wet[(19, 9)] > wet[(0, 9)]);
/// assert!(compute_wetness(&terrain, &WetnessRules { reach: 0.0, ..WetnessRules::default() }).is_err());
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn compute_wetness(terrain: &Terrain, rules: &WetnessRules) -> Result<Field<f32>> {
    check_rules(rules)?;
    wetness_from_discharge(terrain, rules, &find_or_route_discharge(terrain, rules.runoff))
}

/// Returns the discharge of each cell in m³/s: the terrain's layer, or the flow accumulation of `runoff` metres of
/// water per year.
pub fn find_or_route_discharge(terrain: &Terrain, runoff: f64) -> Cow<'_, Field<f32>> {
    match terrain.float_layer(&DISCHARGE) {
        Some(discharge) => Cow::Borrowed(discharge),
        None => Cow::Owned(
            FlowGraph::new(&Land::from_terrain(terrain))
                .accumulate_uniform_yield(terrain.grid.cell_area() * runoff / YEAR),
        ),
    }
}

fn check_rules(rules: &WetnessRules) -> Result<()> {
    let named = [
        ("transmissivity", rules.transmissivity),
        ("reach", rules.reach),
        ("rise", rules.rise),
        ("runoff", rules.runoff),
    ];
    if let Some((name, value)) = named.into_iter().find(|(_, value)| !(*value > 0.0 && *value <= 1e9)) {
        return Err(Error::invalid_value(name, value, "above 0 to 1e9"));
    }
    Ok(())
}

/// Computes [`compute_wetness`] for a given discharge.
///
/// # Errors
/// Returns the errors of [`compute_wetness`].
pub(crate) fn wetness_from_discharge(
    terrain: &Terrain,
    rules: &WetnessRules,
    discharge: &Field<f32>,
) -> Result<Field<f32>> {
    check_rules(rules)?;
    let land = Land::from_terrain(terrain);
    let pools = terrain.height_layer(&POOL);
    let width = terrain.grid.cell;
    let mut wet = Field::from_fn(terrain.grid.size, |i, j| {
        if terrain.is_nodata(i, j) {
            return 0.0;
        }
        if !land.is_dry(i, j) || pools.is_some_and(|pools| pools[(i, j)].0 > 0) {
            return 1.0;
        }
        let [east, north] = central_gradient(terrain, i, j);
        let tangent = (east * east + north * north).sqrt();
        // Water stands on level ground. A minimum slope of 1/1000 prevents tiny discharges from saturating nearly
        // level cells.
        let sine = (tangent / (1.0 + tangent * tangent).sqrt()).max(1e-3);
        let share = f64::from(discharge[(i, j)]) / (width * rules.transmissivity * sine);
        // NaN counts as dry.
        if share > 0.0 { share.min(1.0) as f32 } else { 0.0 }
    });
    spread_moisture(terrain, rules, &mut wet);
    Ok(wet)
}

/// Lets saturated cells dampen their surroundings, until nothing changes any more; the result does not depend on the
/// order.
fn spread_moisture(terrain: &Terrain, rules: &WetnessRules, wet: &mut Field<f32>) {
    let [rows, cols] = wet.size();
    let metres = |i: usize, j: usize| terrain.ground[(i, j)].metres_f32();
    let rise = rules.rise as f32;
    let fade = |steps: f64| libm::exp(-steps * terrain.grid.cell / rules.reach) as f32;
    // The dampness fades exponentially with the distance along the steps, straight or diagonal.
    let [straight, diagonal] = D8::DISTANCES.map(fade);
    // Only saturated cells are sources; damp cells pass on what they received, so nothing under 1 is a source.
    let mut damp = wet.map(|w| if *w >= 1.0 { 1.0f32 } else { 0.0 });
    let mut changed = true;
    let pull = |damp: &Field<f32>, i: usize, j: usize, near: [(isize, isize, f32); 4]| {
        near.into_iter().fold(damp[(i, j)], |best, (di, dj, fade)| {
            let (r, c) = (i.wrapping_add_signed(di), j.wrapping_add_signed(dj));
            // A neighbour whose share cannot exceed the current value is skipped before its height is read.
            if r >= rows || c >= cols || damp[(r, c)] * fade <= best {
                return best;
            }
            let above = (metres(i, j) - metres(r, c)).max(0.0);
            best.max(damp[(r, c)] * fade * (rise / (rise + above)))
        })
    };
    while changed {
        changed = false;
        // A forward and a backward sweep carry dampness in all directions, as in distance transforms; sweeps are
        // repeated until nothing changes, because heights may require detours.
        for backward in [false, true] {
            let sign = if backward { 1 } else { -1 };
            let near = [(sign, 0, straight), (0, sign, straight), (sign, sign, diagonal), (sign, -sign, diagonal)];
            for n in 0..rows * cols {
                let k = if backward { rows * cols - 1 - n } else { n };
                let (i, j) = (k / cols, k % cols);
                if terrain.is_nodata(i, j) {
                    continue;
                }
                let best = pull(&damp, i, j, near);
                // Increases of nearly dry cells are ignored, because they are not worth another round.
                if best > damp[(i, j)] && best > 1e-3 {
                    damp[(i, j)] = best;
                    changed = true;
                }
            }
        }
    }
    // Dampness never lowers the wetness of a cell's own flow.
    for (wet, damp) in wet.as_mut_slice().iter_mut().zip(damp.as_slice()) {
        *wet = wet.max(*damp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::terrain::Cells;
    use thalweg_core::{Grid, Height};

    /// A plane that falls 1 in 10 to the south, with cells of 10 m.
    fn plane(size: [usize; 2]) -> Terrain {
        let mut terrain = Terrain::new(Grid::new(size, 10.0).unwrap());
        for i in 0..size[0] {
            terrain.ground.row_mut(i).fill(Height::from_metres_clamped(100.0 - i as f64));
        }
        terrain
    }

    #[test]
    fn a_plane_is_as_wet_as_its_soil_is_full() {
        let mut terrain = plane([20, 20]);
        // Half of the soil's capacity: width · transmissivity · sin β / 2.
        let sine = 0.1 / 1.01f64.sqrt();
        let half = (10.0 * 7.5e-4 * sine / 2.0) as f32;
        terrain.insert_layer(&DISCHARGE, Cells::Float(Field::new([20, 20], half))).unwrap();
        let wet = compute_wetness(&terrain, &WetnessRules::default()).unwrap();
        assert!(wet.as_slice().iter().all(|w| (w - 0.5).abs() < 1e-5), "{wet:?}");
        // Without a discharge layer runoff is accumulated: row i has that of i + 1 cells.
        let terrain = plane([20, 20]);
        let wet = compute_wetness(&terrain, &WetnessRules::default()).unwrap();
        let per_row = 100.0 * 0.3 / YEAR / (10.0 * 7.5e-4 * sine);
        for i in 0..20 {
            assert!((f64::from(wet[(i, 9)]) - per_row * (i + 1) as f64).abs() < 1e-5, "{i}");
        }
    }

    #[test]
    fn pools_damp_their_shores_less_far_and_higher_up() {
        let mut terrain = Terrain::new(Grid::new([21, 41], 10.0).unwrap());
        for i in 0..21 {
            for j in 21..41 {
                terrain.ground[(i, j)] = Height::from_metres_clamped(1.5 * (j - 20) as f64);
            }
        }
        let pools = Field::from_fn([21, 41], |_, j| Height::from_metres_clamped(if j == 20 { 2.0 } else { 0.0 }));
        terrain.insert_layer(&POOL, Cells::Height(pools)).unwrap();
        terrain.insert_layer(&DISCHARGE, Cells::Float(Field::new([21, 41], f32::NAN))).unwrap();
        let wet = compute_wetness(&terrain, &WetnessRules::default()).unwrap();
        let fade = libm::expf(-1.0 / 3.0);
        for n in 1..5 {
            let (level, up) = (fade.powi(n as i32), (fade * 0.5).powi(n as i32));
            assert!((wet[(10, 20 - n)] - level).abs() < 1e-5 && (wet[(10, 20 + n)] - up).abs() < 1e-5, "{n}");
        }
        assert_eq!(wet[(3, 20)], 1.0);
    }

    #[test]
    fn sea_is_wet_and_holes_and_bad_rules_are_not_taken() {
        let mut terrain = plane([20, 20]);
        terrain.grid.sea_level = Some(Height::from_metres_clamped(85.0));
        terrain.nodata = Some(Field::from_fn([20, 20], |i, j| i == 18 && j == 4));
        let wet = compute_wetness(&terrain, &WetnessRules::default()).unwrap();
        assert_eq!((wet[(18, 5)], wet[(18, 4)]), (1.0, 0.0));
        assert!(wet.as_slice().iter().all(|w| (0.0..=1.0).contains(w)));
        for bad in [0.0, -1.0, f64::NAN] {
            assert!(compute_wetness(&terrain, &WetnessRules { reach: bad, ..WetnessRules::default() }).is_err());
        }
    }
}
