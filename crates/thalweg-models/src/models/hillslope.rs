//! Hillslope processes without water: see [`Hillslope`].

use rayon::prelude::*;

use crate::model::{About, Family, Local, MassBalance, Model, Stepper, Tick};
use crate::process::slopes::SLOPE_LIMIT;
use crate::process::slopes::diffuse::{MAX_PASS_SPREAD, count_passes};
use crate::process::slopes::{
    Bounds, Guards, book_erosion, diffuse_ground, export_eroded, find_float_layer, limit_slopes, vary_slope_limit,
};
use thalweg_core::base::cast::clamp_share;
use thalweg_core::terrain::{HARDNESS, PROTECT, SEDIMENT};
use thalweg_core::{Cell, Edge, Error, Field, Grid, Height, Result, Terrain, Topology, params};

params! {
    /// Lowers slopes to the steepest stable angle, equally in all directions, and lets soil creep: even flanks and
    /// round crests.
    ///
    /// First the ground is lowered to the highest surface that is nowhere above it and has
    /// |∇z| ≤ tan(angle)·slope_limit·e^(jitter·n), where n is noise of standard deviation 1: half of its variance is
    /// independent from cell to cell, half is fractal noise of `jitter_wavelength` and shorter waves. The eikonal
    /// equation is solved by Godunov's scheme and sweeps. Then the soil creeps: ∂z/∂t = diffusion·∇²z over `years`, in
    /// explicit passes of diffusion·t/dx² ≤ 0.2; each flow is rounded down to the unit. Creep takes sediment first,
    /// then bedrock · (1 − hardness), and what it moves is sediment from then on.
    ///
    /// Source: creep Culling (1960, doi:10.1086/626663); sweeps Zhao (2005, doi:10.1090/S0025-5718-04-01678-3),
    /// restricted here to cells next to which something changes. For the observation that slopes cannot exceed a
    /// threshold, and that rivers at their foot carry off what falls: Burbank et al. (1996, doi:10.1038/379505a0).
    /// Deviations: the threshold is enforced at once, not by a flux that grows without bound towards it.
    ///
    /// Layers: it needs none, uses `slope_limit`, `hardness` (creep only), `protect` and `sediment`, and writes the
    /// ground and `sediment`. The material that the limit removes is carried off by rivers that are not part of this
    /// model: it is exported or, where no edge is open and no data is missing, deposited level on the lowest ground.
    /// Open edges keep their height while soil creeps, as base level: what reaches them is exported, and what they give
    /// is added. Closed edges and missing data are walls; the sea has no effect.
    ///
    /// Limits: failed material does not pile up below; `thermal` does that. Height differences below 1/65 536 m divided
    /// by the share of a pass do not creep. Creep blurs the landscape when √(2·diffusion·years) exceeds several cells,
    /// and takes time with its square.
    pub struct Hillslope {
        /// Duration of the creep.
        years: f64 = 20_000.0, within 0.0..=1e7, unit "a", scales Age, source "ours";
        /// Rate of soil creep, which rounds crests and fills hollows.
        diffusion: f64 = 0.005, within 0.0..=10.0, unit "m²/a", scales Creep,
            source "Fernandes & Dietrich 1997: 0.001 to 0.02";
        /// Steepest stable slope; 90 leaves slopes as steep as they are.
        angle: f64 = 35.0, within 0.0..=90.0, unit "°", scales Slope, source "Burbank 1996: 30 to 37";
        /// Variation of the steepest stable slope: the standard deviation of its logarithm. With 0, flanks are as
        /// smooth as cones.
        jitter: f64 = 0.08, within 0.0..=1.0, unit "1", source "ours";
        /// Longest wavelength of the variation of the steepest stable slope.
        jitter_wavelength: f64 = 1000.0, within 0.01..=1e8, unit "m", scales Size, source "ours";
    }
}

/// Maximum of diffusion·years/dx² in a run: material then spreads by about 450 cells, the standard deviation √(2·10⁵).
const MAX_DIFFUSION_NUMBER: f64 = 1e5;

/// Number of diffusion passes in a step.
const STEP_PASSES: f64 = 8.0;

impl Hillslope {
    /// Returns diffusion·years/dx², the dimensionless amount of diffusion of a run.
    fn diffusion_number(&self, grid: &Grid) -> f64 {
        self.diffusion * self.years / grid.cell_area()
    }
}

impl Model for Hillslope {
    fn about(&self) -> About {
        About {
            name: "hillslope",
            title: "Hillslopes",
            summary: "Limits slopes equally in all directions and lets soil creep: even flanks, round crests.",
            source: "Culling (1960), Analytical theory of erosion; Zhao (2005), A fast sweeping method for eikonal equations",
            family: Family::Erosion,
            uses: &[SLOPE_LIMIT, HARDNESS, PROTECT],
            writes: &[SEDIMENT],
            loops: true,
            ..About::default()
        }
    }

    fn check(&self, grid: &Grid) -> Result<()> {
        if self.diffusion_number(grid) > MAX_DIFFUSION_NUMBER {
            let most = MAX_DIFFUSION_NUMBER * grid.cell_area() / self.diffusion;
            let allowed = format!(
                "0 to {most:.0} a for {} m²/a on cells of {} m (with more, soil creeps further than 450 cells)",
                self.diffusion, grid.cell
            );
            return Err(Error::invalid_value("hillslope.years", format!("{} a", self.years), allowed));
        }
        Ok(())
    }

    fn steps(&self, grid: &Grid) -> u32 {
        // Each step has up to `STEP_PASSES` diffusion passes of the greatest spread that is stable.
        (self.diffusion_number(grid) / (MAX_PASS_SPREAD * STEP_PASSES)).ceil().max(1.0) as u32
    }

    fn simulated_years(&self, grid: &Grid, step: u32) -> Option<f64> {
        let steps = self.steps(grid);
        Some(self.years * f64::from(step.min(steps)) / f64::from(steps))
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        // The memory per cell is that of the ground before the cut, the slope limit, and a mask; diffusion needs less.
        (4 + 4 + 1) * grid.len() as u64
    }

    fn define_refinement(&self, local: &mut Local) -> Option<&'static str> {
        local.limit_slope(self.angle);
        // This is the diffusion length in cells of the global level.
        let spread = (self.diffusion * self.years).sqrt() / local.cell;
        local.rules.creep = local.rules.creep.max(spread.min(1.0) as f32);
        Some("the steepest slope, creep")
    }

    fn start(&self, grid: &Grid) -> Result<Box<dyn Stepper>> {
        self.check(grid)?;
        let [rows, cols] = grid.size;
        let [north, east, south, west] = grid.edges.map(|edge| edge == Edge::Open);
        // Without an open edge there is no mask, and diffusion takes its faster path.
        let held = grid.edges.contains(&Edge::Open).then(|| {
            Field::from_fn(grid.size, |i, j| {
                (i == 0 && north) || (j + 1 == cols && east) || (i + 1 == rows && south) || (j == 0 && west)
            })
        });
        let spread = self.diffusion_number(grid) / f64::from(self.steps(grid));
        Ok(Box::new(HillslopeStepper { model: self.clone(), spread, held }))
    }
}

struct HillslopeStepper {
    model: Hillslope,
    /// Dimensionless amount of diffusion of one step.
    spread: f64,
    /// Cells at open edges, which keep their height as base level.
    held: Option<Field<bool>>,
}

impl Stepper for HillslopeStepper {
    fn run_step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        let mut budget = MassBalance::default();
        // Slopes are cut once, in the first step, before soil creeps.
        if tick.step == 0 && self.model.angle < 90.0 {
            let removed = self.cut_steep_slopes(terrain, tick)?;
            budget += export_eroded(terrain, removed)?;
        }
        budget += self.diffuse_soil(terrain)?;
        Ok(budget)
    }
}

impl HillslopeStepper {
    /// Cuts slopes that are too steep. Returns the units removed.
    fn cut_steep_slopes(&self, terrain: &mut Terrain, tick: Tick) -> Result<i64> {
        let Terrain { grid, ground, loose, nodata, layers, .. } = terrain;
        let Hillslope { angle, jitter, jitter_wavelength, .. } = self.model;
        let mut steepest = vary_slope_limit(grid, libm::tan(angle.to_radians()), jitter, jitter_wavelength, tick.key);
        if let Some(factors) = find_float_layer(layers, &SLOPE_LIMIT) {
            steepest.par_rows_mut().for_each(|(i, row)| {
                for (tan, factor) in row.iter_mut().zip(factors.row(i)) {
                    *tan *= factor;
                }
            });
        }
        let before = ground.clone();
        limit_slopes(
            ground,
            &steepest,
            None,
            grid.cell,
            Bounds { looped: grid.topology().looped, nodata: nodata.as_ref(), held: None },
        )?;
        let loose = loose.get_or_insert_with(|| Field::new(grid.size, Height::ZERO));
        book_erosion(&before, ground, loose, Guards { protect: find_float_layer(layers, &PROTECT), hardness: None })
    }

    /// Applies hillslope diffusion for a step's share of the years.
    fn diffuse_soil(&self, terrain: &mut Terrain) -> Result<MassBalance> {
        let Terrain { grid, ground, loose, nodata, layers, .. } = terrain;
        let loose = loose.get_or_insert_with(|| Field::new(grid.size, Height::ZERO));
        let bounds = Bounds { looped: grid.topology().looped, nodata: nodata.as_ref(), held: self.held.as_ref() };
        let [hardness, protect] = [HARDNESS, PROTECT].map(|spec| find_float_layer(layers, &spec));
        let Some(hardness) = hardness else {
            let share = protect.map(|protect| protect.map(|part| 1.0 - clamp_share(*part)));
            return diffuse_ground(ground, Some(loose), bounds, share.as_ref(), self.spread);
        };
        // The contribution of bedrock depends on the thickness of sediment, which changes from pass to pass.
        let passes = count_passes(self.spread);
        let spread = self.spread / f64::from(passes);
        let mut budget = MassBalance::default();
        for _ in 0..passes {
            let share = Field::from_fn(grid.size, |i, j| {
                // A cell whose sediment does not suffice takes the rest from bedrock, reduced by its hardness.
                let due = spread * sum_downhill_drops(ground, bounds, i, j);
                let there_is = f64::from(loose[(i, j)].0) + due * (1.0 - f64::from(clamp_share(hardness[(i, j)])));
                let part = if there_is < due { (there_is / due) as f32 } else { 1.0 };
                part * (1.0 - protect.map_or(0.0, |protect| clamp_share(protect[(i, j)])))
            });
            budget += diffuse_ground(ground, Some(loose), bounds, Some(&share), spread)?;
        }
        Ok(budget)
    }
}

/// Returns the sum of the height differences from cell (i, j) to its lower neighbours, in units.
fn sum_downhill_drops(ground: &Field<Height>, bounds: Bounds<'_>, i: usize, j: usize) -> f64 {
    let topology = Topology { size: ground.size(), looped: bounds.looped };
    let down = |by: [isize; 2]| match topology.offset_cell([i, j], by) {
        Some(Cell { row: r, col: c }) if bounds.nodata.is_none_or(|mask| !mask[(r, c)]) => {
            (i64::from(ground[(i, j)].0) - i64::from(ground[(r, c)].0)).max(0)
        }
        _ => 0,
    };
    (down([-1, 0]) + down([1, 0]) + down([0, -1]) + down([0, 1])) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::base::rng::RandomKey;
    use thalweg_core::terrain::Cells;
    use thalweg_core::terrain::LayerSpec;
    use thalweg_core::terrain::height::UNITS;

    fn run(model: &Hillslope, terrain: &mut Terrain) -> MassBalance {
        let mut stepper = model.start(&terrain.grid).unwrap();
        let mut budget = MassBalance::default();
        for step in 0..model.steps(&terrain.grid) {
            budget += stepper.run_step(terrain, Tick { key: RandomKey::new(1, "slopes"), step }).unwrap();
        }
        budget
    }

    fn terrain(size: [usize; 2], edge: Edge, z: impl Fn(f64, f64) -> f64 + Sync) -> Terrain {
        let grid = Grid { edges: [edge; 4], ..Grid::new(size, 10.0).unwrap() };
        let ground = Field::from_fn(size, |i, j| Height::from_metres(z(i as f64, j as f64)).unwrap());
        Terrain::from_ground(grid, ground).unwrap()
    }

    #[test]
    fn the_angle_and_its_factor_are_kept() {
        let model = Hillslope { angle: 45.0, jitter: 0.0, years: 0.0, ..Hillslope::default() };
        let mut cliff = terrain([3, 40], Edge::Open, |_, j| if j < 20.0 { 0.0 } else { 90.0 });
        let mut soft = cliff.clone();
        let cut = run(&model, &mut cliff);
        // 10 m per cell at 45°: heights of 10, 20 … 80 m above the foot, then the top.
        for j in 20..40 {
            assert!((cliff.ground[(1, j)].metres() - (10.0 * (j as f64 - 19.0)).min(90.0)).abs() < 40.0 / UNITS);
        }
        assert_eq!((cut.exported, cut.deposited), (cut.eroded, 0));
        soft.insert_layer(&SLOPE_LIMIT, Cells::Float(Field::new([3, 40], 0.5))).unwrap();
        run(&model, &mut soft);
        assert!((soft.ground[(1, 29)].metres() - 50.0).abs() < 40.0 / UNITS);
    }

    #[test]
    fn creep_moves_loose_ground_through_hard_rock_only() {
        let years = Hillslope { angle: 90.0, diffusion: 0.01, years: 20_000.0, ..Hillslope::default() };
        let step = |j: f64| if j < 10.0 { 0.0 } else { 5.0 };
        let mut rock = terrain([3, 20], Edge::Closed, |_, j| step(j));
        rock.insert_layer(&HARDNESS, Cells::Float(Field::new([3, 20], 1.0))).unwrap();
        let before = rock.ground.clone();
        run(&years, &mut rock);
        assert_eq!(rock.ground, before, "the hardest rock stands");
        rock.loose = Some(Field::new([3, 20], Height::from_metres(0.25).unwrap()));
        run(&years, &mut rock);
        let loose = rock.loose.as_ref().unwrap();
        assert!(loose[(1, 9)].metres() > 0.4 && loose[(1, 10)].metres() < 0.2, "its soil goes down the step");
        for (k, before) in before.as_slice().iter().enumerate() {
            // A share is rounded to `f32`, so a pass may remove one unit too many.
            let bedrock = rock.ground[k].0 - loose[k].0;
            assert!((bedrock - before.0 + 16_384).abs() <= count_passes(2.0) as i32, "bedrock stands");
        }
    }

    #[test]
    fn half_hard_rock_gives_half() {
        // One short pass: the amount is linear in the erodible share.
        let model = Hillslope { angle: 90.0, diffusion: 0.01, years: 1000.0, ..Hillslope::default() };
        let gone = |spec: &LayerSpec, factor: f32| {
            let mut slope = terrain([1, 2], Edge::Closed, |_, j| 5.0 * j);
            slope.insert_layer(spec, Cells::Float(Field::new([1, 2], factor))).unwrap();
            run(&model, &mut slope);
            5.0 - slope.ground[(0, 1)].metres()
        };
        for spec in [HARDNESS, PROTECT] {
            for (factor, want) in [(0.0, 0.5), (0.5, 0.25), (1.0, 0.0)] {
                assert!((gone(&spec, factor) - want).abs() < 2.0 / UNITS, "{} {factor}", spec.name);
            }
        }
    }

    #[test]
    fn open_edges_are_base_level() {
        let model = Hillslope { angle: 90.0, ..Hillslope::default() };
        let mut hill = terrain([9, 9], Edge::Open, |i, j| if (i, j) == (4.0, 4.0) { 100.0 } else { 3.0 });
        let before = hill.sum_solid();
        let budget = run(&model, &mut hill);
        assert!(budget.exported > 0 && budget.added >= 0);
        assert_eq!(hill.sum_solid() - before, budget.solid_change());
        assert!((0..9).all(|k| hill.ground[(0, k)].metres() == 3.0 && hill.ground[(k, 8)].metres() == 3.0));
    }

    #[test]
    fn endless_creep_is_refused() {
        let model = Hillslope { diffusion: 10.0, years: 1e7, ..Hillslope::default() };
        let message = model.check(&Grid::new([4, 4], 1.0).unwrap()).unwrap_err().to_string();
        assert!(message.contains("hillslope.years") && message.contains("10000 a"), "{message}");
    }
}
