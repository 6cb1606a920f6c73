//! A river that builds land into the sea: see [`Delta`].

mod arms;
mod bed;
mod course;
mod mouth;
mod route;
#[cfg(test)]
mod tests;

use crate::model::{About, Family, MassBalance, Model, Stepper, Tick};
use crate::models::delta::arms::{ARMS, Arm, Arms, Segment};
use crate::models::delta::bed::NearestChannel;
use crate::models::delta::course::{Lines, MeanderMigration};
use crate::models::delta::route::{PathParameters, PathSearchMap};
use crate::process::slopes::export_eroded;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{Cells, DISCHARGE, SEDIMENT};
use thalweg_core::{Field, Grid, Height, Point, Result, Terrain, params};
use thalweg_flow::hydraulic;

params! {
    /// A river enters the world and builds a delta lobe by lobe: a plain of levees, arms and bays that advances into
    /// the sea.
    ///
    /// The river is a tree of arms: lines in metres, stored in the table `arms`, which are the same on every
    /// resolution. Its first path is the cheapest one to the open sea over low ground, with an added unevenness of
    /// height `wander` and width `wavelength`, on a grid of two channel widths. Banks erode in proportion to the
    /// curvature at the place and, with more weight, upstream, by at most about `migration` a year; meanders of about
    /// `wavelength` grow and are cut off at their necks, which leaves oxbows. Near the sea, within a backwater length
    /// of depth over slope, meanders migrate less.
    ///
    /// The water surface is at sea level at the mouths and rises upstream by `slope`; the discharge is divided among
    /// the arms of a fork. An arm is 7.2·Q^½ wide and 0.27·Q^0.4 deep; an arm narrower than a cell is drawn wider and
    /// shallower in proportion. The material eroded from the beds and the incoming `sediment` build point bars inside
    /// bends; of the rest, up to the share `overbank` settles next to the arms, towards levees that are `levee` above
    /// the water and fall to a third over `reach`, lower and narrower along small arms. What is left is divided among
    /// the mouths in proportion to their discharge and forms cones that fall by `front` and are twice as long ahead as
    /// to the sides; what finds no place drifts out to sea. A mouth advances over its bar, and forks after several
    /// widths; an enclosed mouth fades. Every `avulsion` years the river breaks out within its backwater if there is a
    /// shorter path to the sea; the old arm then usually silts up, to a third in two such intervals, and otherwise both
    /// arms stay.
    ///
    /// Source: meanders Howard & Knutson (1984, doi:10.1029/WR020i011p01659); avulsions after Mackey & Bridge (1995,
    /// doi:10.1306/D42681D5-2B26-11D7-8648000102C1865D) and Karssenberg & Bridge (2008,
    /// doi:10.1111/j.1365-3091.2007.00936.x), within the backwater as in Chatanantavet et al. (2012,
    /// doi:10.1029/2011GL050197); forks of mouths Edmonds & Slingerland (2007, doi:10.1029/2006JF000574); levees as in
    /// Jerolmack & Paola (2007, doi:10.1016/j.geomorph.2007.04.022); widths and depths by Moody & Troutman (2002).
    /// Deviations: no flow equations are solved; arms divide and never join again.
    ///
    /// Layers: it needs a sea, and a path to it from an inlet on land; without these nothing happens. It writes the
    /// layers `sediment` (the incoming sediment counts as added) and `discharge` (that of its arms) and the table
    /// `arms`, from which a later stage with the same label continues.
    ///
    /// Limits: it fails where tides or waves shape the coast.
    pub struct Delta {
        /// Time for which the river builds its delta.
        years: f64 = 3000.0, within 0.0..=1e7, unit "a", scales Age,
            source "ours; the lobes of the Mississippi took about 1500 each";
        /// Time step, after which beds, bars, levees and arms are updated.
        step: f64 = 10.0, within 0.01..=1e5, unit "a", source "ours";
        /// Discharge of the river: more gives wider and deeper arms.
        discharge: f64 = 800.0, within 0.01..=1e6, unit "m³/s", scales Rain, source "ours";
        /// Sediment that the river supplies: more makes the delta grow faster.
        sediment: f64 = 2e6, within 0.0..=1e10, unit "m³/a", scales Rain Size^2,
            source "ours; the Rhône brings about 4e6";
        /// Position at which the river enters, between west (0) and east (1).
        inlet_x: f64 = 0.5, within 0.0..=1.0, unit "1", source "ours";
        /// Position at which the river enters, between north (0) and south (1).
        inlet_y: f64 = 0.0, within 0.0..=1.0, unit "1", source "ours";
        /// Slope of the water surface on the plain.
        slope: f64 = 2e-4, within 0.0..=0.1, unit "m/m", scales Size^-1, source "ours; large deltas 1e-5 to 1e-3";
        /// Slope of the delta's front under water.
        front: f64 = 0.015, within 1e-4..=1.0, unit "m/m", scales Size^-1,
            source "Orton & Reading 1993, 0.1° to several";
        /// Height of levees above the water.
        levee: f64 = 1.8, within 0.0..=50.0, unit "m", source "ours";
        /// Distance from the bank over which levees fall to a third of their height.
        reach: f64 = 500.0, within 0.0..=1e5, unit "m", scales Size, source "ours";
        /// Largest share of the sediment that settles next to the channels.
        overbank: f64 = 0.5, within 0.0..=1.0, unit "1", source "ours";
        /// Time from one avulsion to the next: shorter times make more lobes.
        avulsion: f64 = 150.0, within 0.01..=1e7, unit "a", source "ours; 30 to 1500, Jerolmack & Mohrig 2007";
        /// Height of the random relief that makes the first path of the river wind.
        wander: f64 = 2.0, within 0.0..=100.0, unit "m", source "ours";
        /// Wavelength of that relief, and of the fastest growing meanders.
        wavelength: f64 = 2200.0, within 1.0..=1e6, unit "m", scales Size,
            source "Leopold & Wolman 1960: about 11 channel widths";
        /// Migration rate of a meander whose radius equals the channel width.
        migration: f64 = 2.0, within 0.0..=1e4, unit "m/a", scales Size^2,
            source "Hudson & Kesel 2000: bends of the Mississippi some 0.5 to 60";
    }
}

/// Share of the river below which an arm is removed.
const MIN_ARM_SHARE: f64 = 0.02;
/// Cell width of the path search, and distance between the vertices of an arm, in widths of the river.
const WIDTHS: [f64; 2] = [2.0, 0.75];
/// Maximum number of river widths along the longer side of the world: narrower rivers use the resolution that this
/// gives.
const MAX_WIDTHS_PER_SIDE: f64 = 300.0;
/// Time constants of the growth of new arms and of the silting up of old ones, in multiples of the avulsion interval.
const ARM_TIME_CONSTANTS: [f64; 2] = [0.35, 2.0];
/// Weight of a new arm at first.
const NEW_ARM_WEIGHT: f64 = 0.12;
/// Share of the avulsions after which the old arm stays open.
const OLD_ARM_OPEN_SHARE: f64 = 0.45;
/// Position of an avulsion upstream of the mouth, in backwater lengths (or whole river lengths where these are
/// shorter): minimum, and range above it.
const AVULSION_POSITION: [f64; 2] = [0.12, 0.53];
/// Years of meandering before a river first appears. The second value, for the path of an avulsion, is not used.
const INITIAL_MEANDER_YEARS: [f64; 2] = [1500.0, 150.0];
/// Maximum number of steps.
const MAX_STEPS: f64 = 1e6;

impl Delta {
    /// Returns the number of steps.
    fn total_steps(&self) -> u32 {
        (self.years / self.step).ceil().clamp(1.0, MAX_STEPS) as u32
    }

    /// Returns the years of a step.
    fn step_years(&self) -> f64 {
        self.years / f64::from(self.total_steps())
    }
}

impl Model for Delta {
    fn about(&self) -> About {
        About {
            name: "delta",
            title: "Delta",
            summary: "A river builds land into the sea: levees, arms, bays and lobes.",
            source: "Karssenberg & Bridge (2008), A three-dimensional numerical model of sediment transport and avulsion; Sun et al. (2002)",
            family: Family::Erosion,
            writes: &[SEDIMENT, DISCHARGE],
            tables: &[ARMS],
            ..About::default()
        }
    }

    fn steps(&self, _grid: &Grid) -> u32 {
        self.total_steps()
    }

    fn simulated_years(&self, _grid: &Grid, step: u32) -> Option<f64> {
        Some(f64::from(step) * self.step_years())
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        // Nearest channel and its distance, requested changes, and discharge.
        24 * grid.len() as u64
    }

    fn start(&self, _grid: &Grid) -> Result<Box<dyn Stepper>> {
        Ok(Box::new(DeltaStepper(self.clone())))
    }
}

struct DeltaStepper(Delta);

impl Stepper for DeltaStepper {
    fn run_step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        let model = &self.0;
        let Some(sea) = terrain.grid.sea_level else { return Ok(MassBalance::default()) };
        let years = model.step_years();
        let scale = model.path_resolution(&terrain.grid);
        let river = tick.key.random_bits() as i64;
        // Every resolution level counts its steps from 0. The cell size in the key gives each level its own random
        // numbers.
        let key = tick.key.derive_key(terrain.grid.cell.to_bits()).derive_key(tick.step.into());
        let mut arms = match Arms::read_table(terrain, river)? {
            Some(arms) => arms,
            None => match model.create_river(terrain, sea, scale, tick.key) {
                Some(arms) => arms,
                None => return Ok(MassBalance::default()),
            },
        };
        if terrain.loose.is_none() {
            terrain.loose = Some(Field::new(terrain.grid.size, Height::ZERO));
        }
        // The network of arms changes first: shares of the water, then an avulsion when an interval has ended, then
        // meanders.
        arms.adjust_weights(years, ARM_TIME_CONSTANTS.map(|times| times * model.avulsion), MIN_ARM_SHARE);
        // An avulsion is due in the step in which another whole interval has passed, whatever the length of a step.
        let epoch = |step: u32| (f64::from(step) * years / model.avulsion).floor();
        if tick.step > 0 && epoch(tick.step) > epoch(tick.step - 1) {
            model.try_avulsion(&mut arms, terrain, sea, scale, key.derive_key(1));
        }
        model.migrate_all_meanders(&mut arms, terrain, scale, f64::from(tick.step) * years, tick.key);
        // This is the sediment of a step in whole units × cells.
        let brought = (model.sediment * years * UNITS / terrain.grid.cell_area()).round() as i64;
        // Now the arms change the ground: beds, bars and levees take from the load first, and mouths share the rest.
        let segments = arms.to_segments(model.discharge, model.slope);
        let near = NearestChannel::from_segments(&terrain.grid, &segments, model.reach, model.discharge);
        let moved = bed::build_channels_and_levees(terrain, model, sea, &segments, &near, brought);
        let mut remaining = brought + moved.dug - moved.deposited;
        let mut deposited = moved.deposited;
        let shares = arms.discharge_shares();
        // Every mouth gets its share of one and the same load, so that the order of the mouths does not matter for it.
        let load = remaining;
        for k in (0..arms.0.len()).filter(|k| arms.is_mouth(*k)) {
            let bar = model.deposit_mouth_bar(terrain, sea, &arms.0[k], (load as f64 * shares[k]) as i64);
            remaining -= bar;
            deposited += bar;
        }
        // Sediment that found no place drifts out to sea; in a closed world it settles on the deepest ground.
        let drift = export_eroded(terrain, remaining)?;
        // Mouths advance after their bars have grown, on the new ground.
        model.advance_mouths(&mut arms, terrain, sea, scale[1], key.derive_key(2));
        model.write_discharge(terrain, &segments, &near)?;
        arms.write_table(terrain, river, model.discharge)?;
        Ok(MassBalance {
            added: brought.into(),
            eroded: moved.dug.into(),
            deposited: i128::from(deposited) + drift.deposited,
            exported: drift.exported,
            ..MassBalance::default()
        })
    }
}

impl Delta {
    /// Returns the cell width of the path search and the distance between the vertices of lines, in metres.
    fn path_resolution(&self, grid: &Grid) -> [f64; 2] {
        let longest = grid.size[0].max(grid.size[1]) as f64 * grid.cell;
        WIDTHS.map(|widths| widths * self.river_width().max(longest / MAX_WIDTHS_PER_SIDE))
    }

    /// Returns the length of the backwater, over which the sea affects the river's water level, in metres.
    fn backwater_length(&self) -> f64 {
        // On a level plain (slope 0) the backwater is practically endless.
        f64::from(hydraulic::channel_depth(self.discharge as f32)) / self.slope.max(1e-9)
    }

    /// Returns the parameters of the path search.
    fn path_parameters(&self) -> PathParameters {
        let [slope, levee, wander, wavelength] = [self.slope, self.levee, self.wander, self.wavelength];
        PathParameters { slope, levee, wander, wavelength }
    }

    /// Creates the river as it enters: a single arm with fully developed meanders. Returns `None` if no path to the
    /// sea exists.
    fn create_river(&self, terrain: &Terrain, sea: Height, scale: [f64; 2], key: RandomKey) -> Option<Arms> {
        let extent = terrain.grid.size.map(|count| count as f64 * terrain.grid.cell);
        let inlet = Point { x: self.inlet_x * extent[1], y: self.inlet_y * extent[0] };
        let path =
            PathSearchMap::new(terrain, sea, scale[0]).find_path_to_sea(inlet, &[], &self.path_parameters(), key)?;
        let line = smooth_path(&path, scale);
        let mut arms = Arms(vec![Arm { parent: None, line, weight: 1.0, goal: 1.0, run: 0.0 }]);
        // Thirty rounds of 50 years are run: the entering bend changes over time, and necks are cut off between rounds.
        for round in 0..30 {
            self.migrate_arm_meanders(
                &mut arms,
                0,
                terrain,
                scale,
                INITIAL_MEANDER_YEARS[0] / 30.0,
                self.entry_curvature(
                    f64::from(round) * INITIAL_MEANDER_YEARS[0] / 30.0 - INITIAL_MEANDER_YEARS[0],
                    key,
                ),
            );
        }
        Some(arms)
    }

    /// Returns the curvature that enters over the edge, as width over radius. It oscillates in time, as bends enter
    /// one after another.
    fn entry_curvature(&self, time: f64, key: RandomKey) -> f64 {
        // Bends migrate downstream by about this many metres per year.
        let pace = 6.0 * self.migration * self.river_width() / self.wavelength;
        // Each river has a random phase. Only the fraction of a turn goes into the sine, which keeps its precision.
        let turns = time * pace / self.wavelength + key.uniform_unit();
        0.15 * libm::sin(std::f64::consts::TAU * (turns - turns.floor()))
    }

    /// Lets the meanders of all arms migrate for a step.
    fn migrate_all_meanders(&self, arms: &mut Arms, terrain: &Terrain, scale: [f64; 2], time: f64, key: RandomKey) {
        let entry = self.entry_curvature(time, key);
        for k in 0..arms.0.len() {
            self.migrate_arm_meanders(arms, k, terrain, scale, self.step_years(), if k == 0 { entry } else { 0.0 });
        }
    }

    /// Lets the meanders of arm `k` migrate for some years: less near the sea, the world's edge and other arms.
    fn migrate_arm_meanders(
        &self,
        arms: &mut Arms,
        k: usize,
        terrain: &Terrain,
        scale: [f64; 2],
        years: f64,
        entry: f64,
    ) {
        let shares = arms.discharge_shares();
        let Some(share) = shares.get(k).copied() else { return };
        let [end, start] = arms.distances_to_sea(&shares)[k];
        let others = Lines::new((0..arms.0.len()).filter(|n| *n != k).map(|n| &arms.0[n].line[..]));
        // Widths grow with the square root of the discharge.
        let width = self.river_width() * share.sqrt();
        let extent = terrain.grid.size.map(|count| count as f64 * terrain.grid.cell);
        let within = |place: Point| {
            (0..2)
                .map(|a| place.axis_coordinate(a).min(extent[a] - place.axis_coordinate(a)))
                .fold(f64::INFINITY, f64::min)
        };
        let free = |from: Point, to: Point| {
            // Movement slows down within four widths of another arm and stops at two.
            let apart = others.distance_to_nearest(to, 4.0 * self.river_width()) / self.river_width();
            let mut free = (apart / 2.0 - 1.0).clamp(0.0, 1.0);
            // Near the world's edge only movement toward it is slowed down: a river may always move away.
            let edge = within(to);
            if edge < within(from) {
                free *= ((edge / self.river_width() - 1.0) / 2.0).clamp(0.0, 1.0);
            }
            free
        };
        // Within 0.3 backwater lengths of the sea the migration falls in proportion to the distance, to 0.3 at least.
        let tide = ((0.5 * (end + start)) / (0.3 * self.backwater_length()).max(1e-9)).clamp(0.3, 1.0);
        let bends = MeanderMigration {
            by: self.migration * years * share.sqrt() * tide,
            width,
            // Vertices cannot resolve shorter bends.
            wavelength: (self.wavelength * share.sqrt()).max(9.0 * scale[1]),
            entry,
        };
        let mut line = arms.0[k].line.clone();
        course::migrate_bends(&mut line, &bends, free);
        // A neck narrower than 1.3 widths is cut through. The new corners are smoothed, as they would be the sharpest
        // bends.
        if course::cut_off_bends(&mut line, 1.3 * width.max(scale[1])) {
            course::smooth_line(&mut line, 2);
        }
        arms.0[k].line = course::resample_line(&line, scale[1]);
    }

    /// Tries an avulsion: it succeeds where the river then has a shorter path to the sea. Up to six places are tried.
    fn try_avulsion(&self, arms: &mut Arms, terrain: &Terrain, sea: Height, scale: [f64; 2], key: RandomKey) {
        let shares = arms.discharge_shares();
        let far = arms.distances_to_sea(&shares);
        let path_map = PathSearchMap::new(terrain, sea, scale[0]);
        for attempt in 0..6 {
            let key = key.derive_key(attempt);
            // Choose a mouth with a probability equal to its share of the water, and a place upstream of it.
            let mut chance = key.derive_key(1).uniform_unit();
            let mouths = (0..arms.0.len()).filter(|k| arms.is_mouth(*k));
            let mouth = mouths.reduce(|a, b| {
                chance -= shares[a];
                if chance > 0.0 { b } else { a }
            });
            let Some(mut k) = mouth else { return };
            // The break is 0.12 to 0.65 backwater lengths above the mouth; a river shorter than that counts with its
            // whole length.
            let place = self.backwater_length().min(far[0][1])
                * (AVULSION_POSITION[0] + AVULSION_POSITION[1] * key.derive_key(2).uniform_unit());
            let mut down = 0.0;
            // Whole arms are passed first, and then the vertices of the arm that contains the place.
            while let Some(parent) = arms.0[k].parent.filter(|_| down + course::line_length(&arms.0[k].line) < place) {
                down += course::line_length(&arms.0[k].line);
                k = parent;
            }
            let line = &arms.0[k].line;
            let mut n = line.len() - 1;
            while n > 1 && down < place {
                n -= 1;
                down += line[n].distance_to(line[n + 1]);
            }
            // An arm needs two vertices on either side of the break. Small arms, with less than a quarter of the water,
            // do not break out.
            if n < 2 || n + 3 > line.len() || shares[k] < 0.25 {
                continue;
            }
            let others: Vec<&[Point]> = arms.0.iter().map(|arm| &arm.line[..]).collect();
            let Some(path) = path_map.find_path_to_sea(line[n], &others, &self.path_parameters(), key.derive_key(3))
            else {
                continue;
            };
            let line = smooth_path(&path, scale);
            // `remaining_length` is the old path from the break to the sea. The new one may be longer by one cell of
            // the search, which is its precision.
            let remaining_length = far[k][0] + course::line_length(&arms.0[k].line[n..]);
            if course::line_length(&line) > remaining_length + scale[0] {
                continue;
            }
            // Either the old arm stays open with half of a new arm's weight or more, or it silts up.
            let goal = if key.derive_key(4).uniform_unit() < OLD_ARM_OPEN_SHARE {
                0.5 + 0.5 * key.derive_key(5).uniform_unit()
            } else {
                0.0
            };
            arms.split_arm(k, n, goal, Arm { parent: None, line, weight: NEW_ARM_WEIGHT, goal: 1.0, run: 0.0 });
            return;
        }
    }

    /// Writes the discharge of the arms to its layer.
    fn write_discharge(&self, terrain: &mut Terrain, segments: &[Segment], near: &NearestChannel) -> Result<()> {
        let flow = Field::from_fn(terrain.grid.size, |i, j| {
            near.discharge_at_cell(&terrain.grid, segments, i * terrain.grid.size[1] + j) as f32
        });
        terrain.insert_layer(&DISCHARGE, Cells::Float(flow))
    }
}

/// Converts a path of cells to a smooth line of vertices.
fn smooth_path(path: &[Point], [cell, spacing]: [f64; 2]) -> Vec<Point> {
    let mut line = course::resample_line(path, spacing);
    // A pass spreads a vertex by √½ spacings, and n passes by √(n/2): the line is smoothed over about one cell.
    let times = (cell / spacing) * (cell / spacing);
    course::smooth_line(&mut line, (2.0 * times).ceil() as usize);
    course::resample_line(&line, spacing)
}
