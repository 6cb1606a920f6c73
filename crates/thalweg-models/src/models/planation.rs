//! Valley floors that rivers erode laterally: see [`Planation`].

use crate::model::{About, Family, Local, MassBalance, Model, Stepper, Tick};
use crate::process::floors::{DrainedSurface, Valley, carve_floors};
use crate::process::slopes::{Guards, book_erosion, export_eroded, find_float_layer};
use thalweg_core::terrain::{HARDNESS, PROTECT, SEDIMENT};
use thalweg_core::{Field, Grid, Height, Result, Terrain, params};
use thalweg_flow::{FlowGraph, Land};

params! {
    /// Cuts flat floors along rivers, wider where more water flows: connected valley floors between the feet of slopes.
    ///
    /// Rivers are the cells whose drainage area is above `threshold` (depressions filled, D8). On both sides of them
    /// the ground is cut to z = level + rise·distance within half_width = min(width·√(drainage area),
    /// `widest`)·e^(unevenness·n). Each side has its own noise n of standard deviation 1. Over the outer part `edge`
    /// the cut eases out. Between the threshold and its double, the floor grows from zero to its full width. Distance,
    /// level and drainage area are those of the nearest point (in floor widths) of a smooth line along the river: cell
    /// centres, levels and square roots of drainage areas, averaged along the stream twice over a floor's width to each
    /// side. Where the floors of two streams meet, the lower one counts; a tributary's floor ends at that of its river.
    /// Nothing is raised.
    ///
    /// Source: wandering channels cut wide floors, with widths roughly proportional to the square root of the drainage
    /// area: Leopold & Maddock (1953, USGS Prof. Paper 252), Tomkin et al. (2003, doi:10.1029/2001JG000009); a rate of
    /// lateral erosion in a landscape model: Langston & Tucker (2018, doi:10.5194/esurf-6-1-2018). Deviation: this
    /// model has no rate; it cuts the form itself, along smooth lines.
    ///
    /// It needs no layers, uses `sediment` (which is eroded first), `hardness` and `protect`, and writes the ground.
    /// The river carries the eroded material away: it is exported, or, if no edge is open and no data is missing,
    /// deposited level on the lowest ground.
    ///
    /// Limits: it fails where rivers have no valleys yet; on noise it cuts trenches from depression to depression. It
    /// leaves steep banks, which a slope limit in a later stage makes gentler.
    pub struct Planation {
        /// Drainage area from which on a river cuts a floor.
        threshold: f64 = 2.0, within 0.0..=1e9, unit "km²", scales Size^2, source "ours";
        /// Half the floor's width in metres, divided by the square root of the drainage area in m².
        width: f64 = 0.035, within 0.0..=1.0, unit "1", scales Erodibility^0.25, source "ours";
        /// Greatest half width of a floor, before its unevenness.
        widest: f64 = Valley::DEFAULT_MAX_HALF_WIDTH_M, within 0.0..=1e5, unit "m", scales Size, source "ours";
        /// Slope of the floor away from the river, as rise over run.
        rise: f64 = 0.015, within 0.0..=1.0, unit "1", source "ours";
        /// Outer part of the half width over which the cut eases out; a small value leaves steep banks.
        edge: f64 = Valley::EDGE, within 0.0..=1.0, unit "1", source "ours";
        /// Variation of the width of floors: the standard deviation of its logarithm.
        unevenness: f64 = Valley::UNEVEN, within 0.0..=2.0, unit "1", source "ours";
        /// Distance from one wide place of a floor to the next, in half widths.
        wavelength: f64 = Valley::WAVELENGTH, within 2.0..=1000.0, unit "1", source "ours";
        /// Share of the cut that is made in one step.
        share: f64 = 1.0, within 0.0..=1.0, unit "1", source "ours";
        /// Number of times that rivers are located and floors are cut.
        steps: u32 = 1, within 0..=10_000, unit "1", source "ours";
    }
}

impl Planation {
    fn valley_shape(&self) -> Valley {
        Valley {
            threshold: self.threshold * 1e6,
            width: self.width,
            widest: self.widest,
            rise: self.rise,
            edge: self.edge,
            uneven: self.unevenness,
            wavelength: self.wavelength,
            share: self.share,
            foot: 0.0,
            wander: 0.0,
            bed: 0.0,
            narrowest: 0.0,
            moved: 0.0,
        }
    }
}

impl Model for Planation {
    fn about(&self) -> About {
        About {
            name: "planation",
            title: "Valley floors",
            summary: "Rivers erode flat valley floors on both sides, wider where the discharge is larger: connected valleys.",
            source: "Tomkin et al. (2003), Quantitative testing of bedrock incision models; Langston & Tucker (2018)",
            family: Family::Erosion,
            uses: &[HARDNESS, PROTECT],
            writes: &[SEDIMENT],
            ..About::default()
        }
    }

    fn steps(&self, _grid: &Grid) -> u32 {
        self.steps
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        // The filled surface, flow directions and upstream cell counts, and the ground before the erosion.
        (4 + 1 + 4 + 4) * grid.len() as u64
    }

    fn define_refinement(&self, local: &mut Local) -> Option<&'static str> {
        // Foot slopes of finer refinement levels reach beyond a floor, and each level adds its own.
        (local.rules.floor, local.rules.rise) = (0.5 * self.width as f32, self.rise as f32);
        Some("valley floors")
    }

    fn start(&self, grid: &Grid) -> Result<Box<dyn Stepper>> {
        self.check(grid)?;
        Ok(Box::new(PlanationStepper(self.valley_shape())))
    }
}

struct PlanationStepper(Valley);

impl Stepper for PlanationStepper {
    fn run_step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        // Each step routes the water anew, over the floors of the step before.
        let drainage = FlowGraph::new(&Land::from_terrain(terrain));
        let Terrain { grid, ground, loose, nodata, layers, .. } = &mut *terrain;
        let before = ground.clone();
        // The kernel lowers the ground regardless of guards; `book_cut` then restores protected and hard cells.
        carve_floors(
            ground,
            nodata.as_ref(),
            grid,
            DrainedSurface {
                surface: drainage.filled_surface(),
                directions: drainage.directions(),
                cells: drainage.upstream_cells(),
            },
            &self.0,
            tick.key,
            &|_| 1.0,
        );
        let loose = loose.get_or_insert_with(|| Field::new(grid.size, Height::ZERO));
        let guards =
            Guards { protect: find_float_layer(layers, &PROTECT), hardness: find_float_layer(layers, &HARDNESS) };
        let removed = book_erosion(&before, ground, loose, guards)?;
        export_eroded(terrain, removed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::Edge;
    use thalweg_core::base::rng::RandomKey;
    use thalweg_core::terrain::height::UNITS;

    fn run(model: &Planation, terrain: &mut Terrain) -> MassBalance {
        let tick = Tick { key: RandomKey::new(5, "floors"), step: 0 };
        model.start(&terrain.grid).unwrap().run_step(terrain, tick).unwrap()
    }

    /// Builds a V-shaped valley with 10 m cells; `frame` maps a position to metres along and across the river.
    fn vee(size: [usize; 2], frame: impl Fn(f64, f64) -> [f64; 2] + Sync) -> Terrain {
        let ground = Field::from_fn(size, |i, j| {
            let [along, across] = frame(i as f64 * 10.0, j as f64 * 10.0);
            Height::from_metres(500.0 - 0.01 * along + 0.3 * across.abs()).unwrap()
        });
        Terrain::from_ground(Grid::new(size, 10.0).unwrap(), ground).unwrap()
    }

    fn even() -> Planation {
        Planation { threshold: 0.05, width: 0.1, unevenness: 0.0, edge: 0.0, ..Planation::default() }
    }

    #[test]
    fn a_straight_valley_gets_its_floor() {
        // A river along row 40 flows eastward: some (j + 1) · 81 cells drain through column j, except for those at
        // the corners.
        let mut valley = vee([81, 400], |y, x| [x, y - 400.0]);
        let counts = |terrain: &Terrain| FlowGraph::new(&Land::from_terrain(terrain)).take_upstream_cells();
        let (before, cells) = (valley.clone(), counts(&valley));
        let budget = run(&even(), &mut valley);
        for j in [150, 250, 350] {
            let half = 0.1 * (f64::from(cells[(40, j)]) * 100.0).sqrt();
            assert!(half > 60.0, "a floor of several cells");
            for i in 0..81 {
                let away = (i as f64 - 40.0).abs() * 10.0;
                let (was, is) = (before.ground[(i, j)].metres(), valley.ground[(i, j)].metres());
                let floor = before.ground[(40, j)].metres() + 0.015 * away;
                // Level and width are means along the river, of an even slope and of a nearly linear square root, so
                // the width is off by half a metre at most; the river itself is at its own level.
                if away < half - 1.0 {
                    assert!((is - floor.min(was)).abs() < 2.0 / UNITS + 1e-9, "{i}, {j}: {is} {floor}");
                } else if away > half + 1.0 {
                    assert_eq!(is, was, "{i}, {j}");
                }
            }
        }
        assert!(budget.exported > 0 && budget.exported == budget.eroded);
        assert_eq!(before.sum_solid() - valley.sum_solid(), budget.exported);
    }

    #[test]
    fn a_river_across_the_grid_gets_an_even_floor() {
        // The river runs 30 cells east for every 13 south. Its D8 path has steps; the sides of the floor must not
        // show them.
        let length = (30f64 * 30.0 + 13.0 * 13.0).sqrt();
        let [e, s] = [30.0 / length, 13.0 / length];
        let frame = move |y: f64, x: f64| {
            let y = y - 400.0;
            [x * e + y * s, y * e - x * s]
        };
        let mut valley = vee([300, 360], frame);
        let before = valley.clone();
        run(&Planation { widest: 80.0, ..even() }, &mut valley);
        // Measures along lines across the river how far each side is eroded, to a tenth of a cell, from where eroded
        // and uneroded cells meet.
        let mut sides = [Vec::new(), Vec::new()];
        for step in 0..120 {
            let along = 1300.0 + 10.0 * f64::from(step);
            for (side, sign) in [(0, -1.0), (1, 1.0)] {
                let mut reach = 0.0;
                for tenth in 0..200 {
                    let across = sign * f64::from(tenth);
                    let (x, y) = (along * e - across * s, 400.0 + along * s + across * e);
                    let (i, j) = ((y / 10.0).round() as usize, (x / 10.0).round() as usize);
                    if valley.ground[(i, j)] < before.ground[(i, j)] {
                        reach = f64::from(tenth);
                    }
                }
                sides[side].push(reach);
            }
        }
        for reaches in sides {
            // Cells are 10 m: if the edge were only resolved to the nearest cell, it would vary by ±7 m around the
            // true one.
            let mean = reaches.iter().sum::<f64>() / reaches.len() as f64;
            let worst = reaches.iter().map(|reach| (reach - mean).abs()).fold(0.0, f64::max);
            assert!((mean - 80.0).abs() < 8.0 && worst < 12.0, "{mean} {worst}");
        }
    }

    #[test]
    fn nothing_is_raised_and_the_cut_eases_out() {
        let mut valley = vee([81, 400], |y, x| [x, y - 400.0]);
        let before = valley.clone();
        run(&Planation { edge: 1.0, unevenness: 1.0, ..even() }, &mut valley);
        let cut = |i: usize, j: usize| before.ground[(i, j)].0 - valley.ground[(i, j)].0;
        assert!((0..81).all(|i| (0..400).all(|j| cut(i, j) >= 0)));
        // The ground rises everywhere along the valley side: an abrupt edge would leave a bank or a ditch.
        let rises: Vec<f64> = (41..80)
            .map(|i| (valley.ground[(i + 1, 300)].metres() - valley.ground[(i, 300)].metres()) / 10.0)
            .collect();
        assert!(rises.iter().all(|rise| *rise > 0.0 && *rise < 1.2), "{rises:?}");
    }

    #[test]
    fn a_river_steeper_than_its_floor_is_not_dug_from_below() {
        // The river falls by 0.05 and its floor rises by 0.015. The lowest floor within reach belongs to a point
        // further downstream and would cut 0.035 · 100 m and more below the river, in every step. The river's own
        // floor does not. (Near the open edge, streams converge along the edge itself, and their floors do reach
        // back.)
        let mut valley = vee([81, 400], |y, x| [5.0 * x, y - 400.0]);
        let before = valley.clone();
        let cut: Vec<i128> = (0..5).map(|_| run(&even(), &mut valley).eroded).collect();
        for j in 40..350 {
            assert!(before.ground[(40, j)].metres() - valley.ground[(40, j)].metres() < 0.02, "{j}");
        }
        assert!(cut[4] < cut[0] / 10, "{cut:?}");
    }

    #[test]
    fn guards_share_and_walls_are_heeded() {
        let start = vee([81, 200], |y, x| [x, y - 400.0]);
        let full = run(&even(), &mut start.clone()).eroded;
        let half = run(&Planation { share: 0.5, ..even() }, &mut start.clone()).eroded;
        assert!((half - full / 2).abs() <= 81 * 200);
        let mut walled = start.clone();
        walled.grid.edges = [Edge::Closed; 4];
        let budget = run(&even(), &mut walled);
        assert_eq!((budget.exported, budget.deposited, walled.sum_solid()), (0, budget.eroded, start.sum_solid()));
        assert_eq!(run(&Planation { threshold: 1e9, ..even() }, &mut start.clone()).eroded, 0);
    }
}
