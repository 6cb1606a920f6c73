//! The work of waves and corals on coasts: see [`Coast`].

mod beach;
mod blur;
mod cliff_erosion;
mod fetch;
mod foot;
mod line;
mod reef;

use crate::model::{About, Family, Local, MassBalance, Model, Stepper, Tick};
use crate::models::coast::foot::Foot;
use crate::process::slopes::export_eroded;
use thalweg_core::terrain::{HARDNESS, PROTECT, SEDIMENT};
use thalweg_core::{Field, Grid, Height, Result, Terrain, params};

params! {
    /// Waves cut cliffs and platforms into open coasts and deposit the sand as beaches in bays; corals may build a
    /// reef.
    ///
    /// The exposure E of a place is the mean of √(F/fetch) over 16 directions, where F is the open water in that
    /// direction, at most `fetch`; beyond open edges the sea continues. Over land and shoals, F falls to a third in
    /// each `shelter` metres. With `swell`, a direction at the angle α to `swell_from` has the weight 1 + swell·cos α.
    /// The shore is a smooth line: spurs and islets narrower than about 40 m are eroded, and notches are filled with
    /// sand. In the time t the shore retreats by W·ln(1 + retreat·E·t·(1 − hardness)/W), since a wider platform takes
    /// more of the waves; W is the width at which the platform is as deep as `wave_base`. The ground within that
    /// distance is cut to a platform that falls seaward by `platform` degrees from the cliff's foot at sea level, and
    /// up to 600 m behind the foot nothing stands steeper than `cliff`. Rock under water is lowered too, at a twentieth
    /// of retreat·E, less with depth and not below `wave_base`.
    ///
    /// Of the eroded bedrock the share `sandy` becomes sand; eroded sediment is all sand. Waves carry it along the
    /// shore by `drift` metres and deposit it on a profile that falls by `beach` degrees from `runup` above the sea, up
    /// to 140 m out from the shore in bays, where there is land around within 300 m and few waves: each place receives
    /// its share of the sand eroded around it. The rest of the rock, and sand that finds no place, is lost to deep
    /// water.
    ///
    /// With `reef` above 0, corals build a wall up to half a metre below the sea, where the ground is `foot` deep: the
    /// shore was there, or the shallow water in front of it, before the land sank and the sea rose. The wall grows by
    /// reef·t·2.5E, with 2.5E clamped to 0.3..1, times a log-normal factor that varies over about 900 m. Behind it lies
    /// a flat of coral sand, which is wider where waves are stronger, and then the lagoon, filled to a depth of about
    /// 16 m. Corals do not grow within half of `lagoon` from the land, and grow fully from the whole width on. A river
    /// with a drainage area of more than 1.5 km² keeps a pass open along its flow path over the sea floor.
    ///
    /// Source: cliffs and platforms Trenhaile (2000, doi:10.1016/S0025-3227(00)00015-1) and, for platforms that
    /// attenuate waves, Sunamura (1992), *Geomorphology of rocky coasts*; waves that grow with the square root of fetch
    /// Bretschneider (1952); reefs on sinking land Darwin (1842), *The structure and distribution of coral reefs*.
    /// Deviations: the rate of retreat is a parameter, and no wave energy is computed; waves refract around capes only
    /// as far as the sweep blurs their rays; the exposure is computed once and used for all years.
    ///
    /// On refinement levels the shore is as smooth as the cells of the global level are wide. There, on open shores,
    /// the ground within a quarter of a global cell of the sea (or within the retreat under half of the full exposure,
    /// if that is less) becomes a platform, and the ground behind it stands no steeper than `cliff`. Bays, hardness,
    /// sand and corals are known only on the global level.
    ///
    /// Layers: it needs a sea level; without one nothing happens. It uses `hardness`, `protect` and sediment, which is
    /// eroded first, and writes the ground and `sediment`. What is lost is exported or, in a world without an outlet,
    /// deposited on its lowest ground.
    ///
    /// Limits: it fails where coastal forms are finer than a few cells; there are no spits, bars or tides.
    pub struct Coast {
        /// Duration of the wave action.
        years: f64 = 3000.0, within 0.0..=1e6, unit "a", scales Age, source "ours; the sea has stood for 6000";
        /// Initial retreat rate of the most exposed shore of hardness 0; sediment retreats no faster.
        retreat: f64 = 0.05, within 0.0..=100.0, unit "m/a", scales Erodibility^0.5,
            source "Young & Carilli 2019: hard rock 0.03, soft 0.2 to 1";
        /// Length of open water over which waves grow to their full height.
        fetch: f64 = 10_000.0, within 1.0..=1e7, unit "m", scales Size, source "ours";
        /// Dominance of waves from one direction: with 0 all directions have the same weight, with 1 no waves come from
        /// the opposite side.
        swell: f64 = 0.0, within 0.0..=1.0, unit "1", source "ours";
        /// Direction that most waves come from, clockwise from north.
        swell_from: f64 = 270.0, within -360.0..=360.0, unit "°", source "ours";
        /// Distance over land and shoals on which the fetch falls to a third: lower values leave bays calmer.
        shelter: f64 = 100.0, within 1.0..=1e5, unit "m", scales Size, source "ours";
        /// Depth to which waves erode the sea floor.
        wave_base: f64 = 8.0, within 0.0..=1000.0, unit "m", source "Trenhaile 2000, about 10";
        /// Slope of the platform in front of a cliff's foot.
        platform: f64 = 1.5, within 0.0..=45.0, unit "°", source "Trenhaile 2000, 0.5 to 3";
        /// Steepest slope of cliffs.
        cliff: f64 = 55.0, within 0.0..=90.0, unit "°", scales Slope, source "ours";
        /// Share of the eroded bedrock that becomes sand; the rest is mud and is lost.
        sandy: f64 = 0.4, within 0.0..=1.0, unit "1", source "ours";
        /// Distance that waves carry sand along the shore.
        drift: f64 = 1500.0, within 0.0..=1e6, unit "m", scales Size, source "ours";
        /// Slope of beaches.
        beach: f64 = 3.0, within 0.1..=45.0, unit "°", source "sand, 2 to 5";
        /// Height above the sea to which waves deposit sand.
        runup: f64 = 1.5, within 0.0..=100.0, unit "m", source "ours";
        /// Highest growth rate of corals; 0 builds no reef.
        reef: f64 = 0.0, within 0.0..=1.0, unit "m/a", source "Bosscher & Schlager 1992, 0.01 to 0.015";
        /// Depth of the ground on which the outer edge of a reef stands: greater where land sank while corals grew.
        foot: f64 = 30.0, within 1.0..=2000.0, unit "m", source "light for corals to 30; more after Darwin 1842";
        /// Width of the water that corals leave free in front of the land.
        lagoon: f64 = 250.0, within 0.0..=1e5, unit "m", scales Size, source "ours";
    }
}

/// Distance in metres over which the shoreline is smoothed.
const SMOOTH: f64 = 25.0;

impl Model for Coast {
    fn about(&self) -> About {
        About {
            name: "coast",
            title: "Coast",
            summary: "Waves cut cliffs and platforms and deposit beaches in bays; corals build reefs.",
            source: "Trenhaile (2000), Modeling the development of wave-cut shore platforms",
            family: Family::Erosion,
            uses: &[HARDNESS, PROTECT],
            writes: &[SEDIMENT],
            ..About::default()
        }
    }

    fn steps(&self, _grid: &Grid) -> u32 {
        // Waves take one step, and corals another one.
        if self.reef > 0.0 { 2 } else { 1 }
    }

    fn simulated_years(&self, _grid: &Grid, step: u32) -> Option<f64> {
        Some(if step == 0 { 0.0 } else { self.years })
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        // Exposure and the sweeps in progress, the previous ground, distances with their crossings, and the fields
        // used to distribute sand.
        (4 + 4 * fetch::PARALLEL_SWEEPS as u64 + 8 + 24 + 24) * grid.len() as u64
    }

    fn define_refinement(&self, local: &mut Local) -> Option<&'static str> {
        Foot::new(self, local.cell).map(|foot| {
            local.add_refinement_operator(foot);
            "feet of cliffs, and the platforms before them, as far as they lie over the sea"
        })
    }

    fn start(&self, grid: &Grid) -> Result<Box<dyn Stepper>> {
        self.check(grid)?;
        Ok(Box::new(CoastStepper(self.clone())))
    }
}

impl Coast {
    /// Returns the function that converts the retreat in metres that waves would cause without a platform to the
    /// actual one: a platform attenuates waves as it widens.
    fn limit_retreat_by_platform(&self) -> impl Fn(f64) -> f64 + Sync {
        // Width at which the platform is as deep as the wave base, and attenuates all waves.
        let wide = self.wave_base.max(1e-3) / libm::tan(self.platform.to_radians()).max(1e-9);
        move |due| wide * libm::log1p(due / wide)
    }
}

/// Interpolates smoothly from 0 to 1 for `x` from 0 to 1 (smoothstep).
fn smoothstep(x: f64) -> f64 {
    let x = x.clamp(0.0, 1.0);
    x * x * (3.0 - 2.0 * x)
}

struct CoastStepper(Coast);

impl Stepper for CoastStepper {
    fn run_step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        let model = &self.0;
        let size = terrain.grid.size;
        terrain.loose.get_or_insert_with(|| Field::new(size, Height::ZERO));
        // Without a sea there is no coast, so nothing changes.
        let Some(Height(level)) = terrain.grid.sea_level else { return Ok(MassBalance::default()) };
        let exposure = fetch::compute_wave_exposure(model, terrain, level);
        let mut budget = MassBalance::default();
        if tick.step == 0 {
            let (cut, inland) = cliff_erosion::erode_shores(model, terrain, level, &exposure)?;
            // The eroded material becomes beaches first; what finds no place there is carried off.
            let deposited = beach::deposit_beaches(model, terrain, level, &inland, &exposure, &cut);
            budget.eroded = deposited.into();
            budget.deposited = deposited.into();
            budget += export_eroded(terrain, cut.rock + cut.sand - deposited)?;
        } else {
            let inland = line::signed_contour_distance(terrain, |_, _| level.into(), SMOOTH);
            budget.added = reef::grow_corals(model, terrain, level, &inland, &exposure, tick.key)?;
        }
        Ok(budget)
    }
}

#[cfg(test)]
mod tests;
