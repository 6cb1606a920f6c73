//! What waves do at the sea: see [`Coast`].

mod beach;
mod blur;
mod cut;
mod fetch;
mod foot;
mod line;
mod reef;

use crate::model::{About, Family, Local, MassBalance, Model, Stepper, Tick};
use crate::models::coast::foot::Foot;
use crate::process::slopes::carry_off;
use thalweg_core::terrain::{HARDNESS, LOOSE, PROTECT};
use thalweg_core::{Field, Grid, Height, Result, Terrain, params};

params! {
    /// Waves cut cliffs and platforms into open coasts, and lay the sand of it as beaches in bays; corals may build a reef.
    ///
    /// A place's exposure E is the mean over 16 directions of √(F/fetch), F the open water that way, `fetch` at most; beyond open
    /// edges the sea goes on. Over land and shoals F falls to a third in each `shelter` metres. Where most waves come from one side,
    /// a direction at the angle α to it counts 1 + swell·cos α times. The shore is a smooth line: teeth and specks under some 40 m
    /// are worn away, and notches closed with sand. In the time t it moves back by W·ln(1 + retreat·E·t·(1 − hardness)/W), for the
    /// wider the platform, the more waves it takes; W is how wide that is when it is as deep as `wave_base`. What lies within that
    /// distance is cut to a platform that falls seaward by `platform` degrees from the cliff's foot at the level of the sea, and up
    /// to 600 m behind it nothing stands steeper than `cliff`. Rock under water wears down too, by a twentieth of retreat·E, the
    /// less the deeper, to `wave_base`.
    ///
    /// Of the rock that is cut `sandy` is sand, loose ground all, which waves carry along the shore by `drift` metres and lay on a profile that falls
    /// by `beach` degrees from `runup` over the sea, up to 140 m out from the shore in bays, where there is land around within
    /// 300 m and few waves: each place takes its part of the sand made about it. The rest, and sand without a place, is lost to the deep.
    ///
    /// With `reef` corals have built a wall up to half a metre under the sea, where the ground lies `foot` deep: there was the shore,
    /// or the shallow water before it, before land sank and the sea rose. It grows by reef·t·min(1, 2.5E), here more
    /// and there less (log-normal, over some 900 m). Behind it lies a flat of coral sand, the wider the stronger the waves, then the
    /// lagoon, filled to some 16 m. Corals keep half of `lagoon` off the land, and grow fully from all of it on. A river of more than
    /// 1.5 km² of land keeps a pass open where its way leads on over the ground of the sea.
    ///
    /// Source: cliffs and platforms Trenhaile (2000, doi:10.1016/S0025-3227(00)00015-1) and, for platforms that take the waves,
    /// Sunamura (1992), *Geomorphology of rocky coasts*; waves that grow with the root of fetch
    /// Bretschneider (1952); reefs on sinking land Darwin (1842), *The structure and distribution of coral reefs*. We differ:
    /// retreat is a rate given, and no energy is counted; waves bend round capes only as far as rays are blurred by the sweep;
    /// one sight of the waves serves for all the years.
    ///
    /// On local levels the shore is as smooth as global cells are wide. There, where the sea lies open, ground within a quarter of a global cell of
    /// it (or as far as half of all waves cut, if that is less) becomes a platform, and behind it stands no steeper than `cliff`;
    /// bays, hardness, sand and corals are known to the global level alone.
    ///
    /// It needs a sea level, without which nothing happens; heeds `hardness`, `protect` and loose ground, which is cut first;
    /// leaves the ground and `loose`. What is lost is exported, or, in a world without a way out, laid on its lowest ground.
    /// It breaks where coasts are finer than some cells; there are no spits, bars nor tides.
    pub struct Coast {
        /// Years of waves.
        years: f64 = 3000.0, within 0.0..=1e6, unit "a", scales Age, source "ours; the sea has stood for 6000";
        /// How fast the most exposed shore of hardness 0 moves back at first; loose ground is no faster.
        retreat: f64 = 0.05, within 0.0..=100.0, unit "m/a", scales Erodibility^0.5,
            source "Young & Carilli 2019: hard rock 0.03, soft 0.2 to 1";
        /// Open water over which waves grow to their full height.
        fetch: f64 = 10_000.0, within 1.0..=1e7, unit "m", scales Size, source "ours";
        /// How much more waves come from one side: 0 from all alike, 1 none from the other side.
        swell: f64 = 0.0, within 0.0..=1.0, unit "1", source "ours";
        /// Where most waves come from, clockwise from north.
        swell_from: f64 = 270.0, within -360.0..=360.0, unit "°", source "ours";
        /// Distance over land and shoals on which the open water that counts for waves falls to a third.
        shelter: f64 = 100.0, within 1.0..=1e5, unit "m", scales Size, source "ours";
        /// Depth to which waves stir the ground.
        wave_base: f64 = 8.0, within 0.0..=1000.0, unit "m", source "Trenhaile 2000, about 10";
        /// Slope of the platform at a cliff's foot.
        platform: f64 = 1.5, within 0.0..=45.0, unit "°", source "Trenhaile 2000, 0.5 to 3";
        /// Steepest slope that a cliff stands at.
        cliff: f64 = 55.0, within 0.0..=90.0, unit "°", scales Slope, source "ours";
        /// Share of what is cut that is sand; the rest is mud and is lost.
        sandy: f64 = 0.4, within 0.0..=1.0, unit "1", source "ours";
        /// How far waves carry sand along the shore.
        drift: f64 = 1500.0, within 0.0..=1e6, unit "m", scales Size, source "ours";
        /// Slope of beaches.
        beach: f64 = 3.0, within 0.1..=45.0, unit "°", source "sand, 2 to 5";
        /// Height over the sea to which waves throw sand.
        runup: f64 = 1.5, within 0.0..=100.0, unit "m", source "ours";
        /// Greatest growth of corals; 0 for a sea without.
        reef: f64 = 0.0, within 0.0..=1.0, unit "m/a", source "Bosscher & Schlager 1992, 0.01 to 0.015";
        /// Depth of the ground on which the outer edge of reefs stands: more where land has sunk while they grew.
        foot: f64 = 30.0, within 1.0..=2000.0, unit "m", source "light for corals to 30; more after Darwin 1842";
        /// Width of the water that corals leave free before the land.
        lagoon: f64 = 250.0, within 0.0..=1e5, unit "m", scales Size, source "ours";
    }
}

/// Over how many metres the shore is smooth.
const SMOOTH: f64 = 25.0;

impl Model for Coast {
    fn about(&self) -> About {
        About {
            name: "coast",
            summary: "Waves cut cliffs and platforms, lay beaches in bays, and corals build reefs.",
            source: "Trenhaile (2000), Modeling the development of wave-cut shore platforms",
            family: Family::Erosion,
            uses: &[HARDNESS, PROTECT],
            writes: &[LOOSE],
            ..About::default()
        }
    }

    fn steps(&self, _grid: &Grid) -> u32 {
        // Waves, and corals.
        if self.reef > 0.0 { 2 } else { 1 }
    }

    fn years(&self, _grid: &Grid, step: u32) -> Option<f64> {
        Some(if step == 0 { 0.0 } else { self.years })
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        // Exposure and the sweeps under way, the ground before, distances with their crossings, and fields of sand to share out.
        (4 + 4 * fetch::TOGETHER as u64 + 8 + 24 + 24) * grid.len() as u64
    }

    fn local(&self, local: &mut Local) -> Option<&'static str> {
        Foot::new(self, local.cell).map(|foot| {
            local.join(foot);
            "feet of cliffs, and the platforms before them, as far as they lie over the sea"
        })
    }

    fn start(&self, grid: &Grid) -> Result<Box<dyn Stepper>> {
        self.check(grid)?;
        Ok(Box::new(Waves(self.clone())))
    }
}

impl Coast {
    /// By how many metres waves move back a shore which would move so far if its platform took none of them.
    fn hold_back(&self) -> impl Fn(f64) -> f64 + Sync {
        // A platform as deep as waves reach takes all of them.
        let wide = self.wave_base.max(1e-3) / libm::tan(self.platform.to_radians()).max(1e-9);
        move |due| wide * libm::log1p(due / wide)
    }
}

/// From 0 to 1 without a corner.
fn smooth(x: f64) -> f64 {
    let x = x.clamp(0.0, 1.0);
    x * x * (3.0 - 2.0 * x)
}

struct Waves(Coast);

impl Stepper for Waves {
    fn step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        let model = &self.0;
        let size = terrain.grid.size;
        terrain.loose.get_or_insert_with(|| Field::new(size, Height::ZERO));
        let Some(Height(level)) = terrain.grid.sea_level else { return Ok(MassBalance::default()) };
        let exposure = fetch::exposure(model, terrain, level);
        let mut budget = MassBalance::default();
        if tick.step == 0 {
            let (cut, inland) = cut::cut(model, terrain, level, &exposure)?;
            let laid = beach::lay(model, terrain, level, &inland, &exposure, &cut);
            budget.eroded = laid.into();
            budget.deposited = laid.into();
            budget += carry_off(terrain, cut.rock + cut.sand - laid)?;
        } else {
            let inland = line::distance(terrain, |_, _| level.into(), SMOOTH);
            budget.added = reef::grow(model, terrain, level, &inland, &exposure, tick.key)?;
        }
        Ok(budget)
    }
}

#[cfg(test)]
mod tests;
