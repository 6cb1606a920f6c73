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
use crate::models::delta::bed::Nearest;
use crate::models::delta::course::{Bends, Lines};
use crate::models::delta::route::{Choice, Ways};
use crate::process::slopes::carry_off;
use thalweg_core::base::rng::Key;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{Cells, DISCHARGE, LOOSE};
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
    /// Layers: it needs a sea, and a path to it from an inlet on land; without these nothing happens. It writes `loose`
    /// (the incoming sediment counts as added), `discharge` (that of its arms) and the table `arms`, from which a later
    /// stage with the same label continues.
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
        /// Where the river enters, from west (0) to east (1).
        inlet_x: f64 = 0.5, within 0.0..=1.0, unit "1", source "ours";
        /// Where the river enters, from north (0) to south (1).
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
        /// Height of the unevenness that makes the river's path wind.
        wander: f64 = 2.0, within 0.0..=100.0, unit "m", source "ours";
        /// Width of that unevenness, and wavelength of the fastest growing meanders.
        wavelength: f64 = 2200.0, within 1.0..=1e6, unit "m", scales Size,
            source "Leopold & Wolman 1960: about 11 channel widths";
        /// Migration rate of a meander whose radius equals the channel width.
        migration: f64 = 2.0, within 0.0..=1e4, unit "m/a", scales Size^2,
            source "Hudson & Kesel 2000: bends of the Mississippi some 0.5 to 60";
    }
}

/// Share of the river below which an arm is removed.
const FORGOTTEN: f64 = 0.02;
/// Cell width of the path search, and distance between the vertices of an arm, in widths of the river.
const WIDTHS: [f64; 2] = [2.0, 0.75];
/// Maximum number of river widths along the longer side of the world: narrower rivers use the resolution that this
/// gives.
const MOST_WIDTHS: f64 = 300.0;
/// Time constants of the growth of new arms and of the silting up of old ones, in multiples of the avulsion interval.
const TIMES: [f64; 2] = [0.35, 2.0];
/// Weight of a new arm at first.
const FIRST: f64 = 0.12;
/// Share of the avulsions after which the old arm stays open.
const STAYS: f64 = 0.45;
/// Position of an avulsion upstream of the mouth, in backwater lengths (or whole river lengths where these are
/// shorter): minimum, and range above it.
const BREAKS: [f64; 2] = [0.12, 0.53];
/// Years of meandering before a river first appears. The second value, for the path of an avulsion, is not used.
const BENT: [f64; 2] = [1500.0, 150.0];
/// Maximum number of steps.
const MAX_STEPS: f64 = 1e6;

impl Delta {
    /// Returns the number of steps.
    fn count(&self) -> u32 {
        (self.years / self.step).ceil().clamp(1.0, MAX_STEPS) as u32
    }

    /// Returns the years of a step.
    fn span(&self) -> f64 {
        self.years / f64::from(self.count())
    }
}

impl Model for Delta {
    fn about(&self) -> About {
        About {
            name: "delta",
            summary: "A river builds land into the sea: levees, arms, bays and lobes.",
            source: "Karssenberg & Bridge (2008), A three-dimensional numerical model of sediment transport and avulsion; Sun et al. (2002)",
            family: Family::Erosion,
            writes: &[LOOSE, DISCHARGE],
            tables: &[ARMS],
            ..About::default()
        }
    }

    fn steps(&self, _grid: &Grid) -> u32 {
        self.count()
    }

    fn years(&self, _grid: &Grid, step: u32) -> Option<f64> {
        Some(f64::from(step) * self.span())
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        // Nearest channel and its distance, requested changes, and discharge.
        24 * grid.len() as u64
    }

    fn start(&self, _grid: &Grid) -> Result<Box<dyn Stepper>> {
        Ok(Box::new(River(self.clone())))
    }
}

struct River(Delta);

impl Stepper for River {
    fn step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        let model = &self.0;
        let Some(sea) = terrain.grid.sea_level else { return Ok(MassBalance::default()) };
        let years = model.span();
        let scale = model.scale(&terrain.grid);
        let river = tick.key.bits() as i64;
        // Every resolution level counts its steps from 0. The cell size in the key gives each level its own random
        // numbers.
        let key = tick.key.and(terrain.grid.cell.to_bits()).and(tick.step.into());
        let mut arms = match Arms::load(terrain, river)? {
            Some(arms) => arms,
            None => match model.begin(terrain, sea, scale, tick.key) {
                Some(arms) => arms,
                None => return Ok(MassBalance::default()),
            },
        };
        if terrain.loose.is_none() {
            terrain.loose = Some(Field::new(terrain.grid.size, Height::ZERO));
        }
        arms.share_out(years, TIMES.map(|times| times * model.avulsion), FORGOTTEN);
        let epoch = |step: u32| (f64::from(step) * years / model.avulsion).floor();
        if tick.step > 0 && epoch(tick.step) > epoch(tick.step - 1) {
            model.break_out(&mut arms, terrain, sea, scale, key.and(1));
        }
        model.wander(&mut arms, terrain, scale, f64::from(tick.step) * years, tick.key);
        let brought = (model.sediment * years * UNITS / terrain.grid.cell_area()).round() as i64;
        let segments = arms.segments(model.discharge, model.slope);
        let near = Nearest::of(&terrain.grid, &segments, model.reach, model.discharge);
        let moved = bed::work(terrain, model, sea, &segments, &near, brought);
        let mut left = brought + moved.dug - moved.laid;
        let mut laid = moved.laid;
        let shares = arms.shares();
        let load = left;
        for k in (0..arms.0.len()).filter(|k| arms.is_mouth(*k)) {
            let bar = model.bar(terrain, sea, &arms.0[k], (load as f64 * shares[k]) as i64);
            left -= bar;
            laid += bar;
        }
        // Sediment that found no place drifts out to sea; in a closed world it settles on the deepest ground.
        let drift = carry_off(terrain, left)?;
        model.mouths(&mut arms, terrain, sea, scale[1], key.and(2));
        model.flow(terrain, &segments, &near)?;
        arms.store(terrain, river, model.discharge)?;
        Ok(MassBalance {
            added: brought.into(),
            eroded: moved.dug.into(),
            deposited: i128::from(laid) + drift.deposited,
            exported: drift.exported,
            ..MassBalance::default()
        })
    }
}

impl Delta {
    /// Returns the cell width of the path search and the distance between the vertices of lines, in metres.
    fn scale(&self, grid: &Grid) -> [f64; 2] {
        let longest = grid.size[0].max(grid.size[1]) as f64 * grid.cell;
        WIDTHS.map(|widths| widths * self.width().max(longest / MOST_WIDTHS))
    }

    /// Returns the length of the backwater, over which the sea affects the river's water level, in metres.
    fn backwater(&self) -> f64 {
        f64::from(hydraulic::channel_depth(self.discharge as f32)) / self.slope.max(1e-9)
    }

    /// Returns the parameters of the path search.
    fn choice(&self) -> Choice {
        let [slope, levee, wander, wavelength] = [self.slope, self.levee, self.wander, self.wavelength];
        Choice { slope, levee, wander, wavelength }
    }

    /// Creates the river as it enters: a single arm with fully developed meanders. Returns `None` if no path to the
    /// sea exists.
    fn begin(&self, terrain: &Terrain, sea: Height, scale: [f64; 2], key: Key) -> Option<Arms> {
        let extent = terrain.grid.size.map(|count| count as f64 * terrain.grid.cell);
        let inlet = Point { x: self.inlet_x * extent[1], y: self.inlet_y * extent[0] };
        let way = Ways::new(terrain, sea, scale[0]).way(inlet, &[], &self.choice(), key)?;
        let line = lined(&way, scale);
        let mut arms = Arms(vec![Arm { parent: None, line, weight: 1.0, goal: 1.0, run: 0.0 }]);
        for round in 0..30 {
            self.bent(
                &mut arms,
                0,
                terrain,
                scale,
                BENT[0] / 30.0,
                self.phase(f64::from(round) * BENT[0] / 30.0 - BENT[0], key),
            );
        }
        Some(arms)
    }

    /// Returns the curvature that enters over the edge, as width over radius. It oscillates in time, as bends enter
    /// one after another.
    fn phase(&self, time: f64, key: Key) -> f64 {
        // Bends migrate downstream by about this many metres per year.
        let pace = 6.0 * self.migration * self.width() / self.wavelength;
        let turns = time * pace / self.wavelength + key.unit();
        0.15 * libm::sin(std::f64::consts::TAU * (turns - turns.floor()))
    }

    /// Lets the meanders of all arms migrate for a step.
    fn wander(&self, arms: &mut Arms, terrain: &Terrain, scale: [f64; 2], time: f64, key: Key) {
        let entry = self.phase(time, key);
        for k in 0..arms.0.len() {
            self.bent(arms, k, terrain, scale, self.span(), if k == 0 { entry } else { 0.0 });
        }
    }

    /// Lets the meanders of arm `k` migrate for some years: less near the sea, the world's edge and other arms.
    fn bent(&self, arms: &mut Arms, k: usize, terrain: &Terrain, scale: [f64; 2], years: f64, entry: f64) {
        let shares = arms.shares();
        let Some(share) = shares.get(k).copied() else { return };
        let [end, start] = arms.distances(&shares)[k];
        let others = Lines::of((0..arms.0.len()).filter(|n| *n != k).map(|n| &arms.0[n].line[..]));
        let width = self.width() * share.sqrt();
        let extent = terrain.grid.size.map(|count| count as f64 * terrain.grid.cell);
        let within =
            |place: Point| (0..2).map(|a| place.along(a).min(extent[a] - place.along(a))).fold(f64::INFINITY, f64::min);
        let free = |from: Point, to: Point| {
            // Movement slows down within four widths of another arm and stops at two.
            let apart = others.apart(to, 4.0 * self.width()) / self.width();
            let mut free = (apart / 2.0 - 1.0).clamp(0.0, 1.0);
            let edge = within(to);
            if edge < within(from) {
                free *= ((edge / self.width() - 1.0) / 2.0).clamp(0.0, 1.0);
            }
            free
        };
        let tide = ((0.5 * (end + start)) / (0.3 * self.backwater()).max(1e-9)).clamp(0.3, 1.0);
        let bends = Bends {
            by: self.migration * years * share.sqrt() * tide,
            width,
            // Vertices cannot resolve shorter bends.
            wavelength: (self.wavelength * share.sqrt()).max(9.0 * scale[1]),
            entry,
        };
        let mut line = arms.0[k].line.clone();
        course::bend(&mut line, &bends, free);
        if course::cut_off(&mut line, 1.3 * width.max(scale[1])) {
            course::smooth(&mut line, 2);
        }
        arms.0[k].line = course::spaced(&line, scale[1]);
    }

    /// Tries an avulsion: it succeeds where the river then has a shorter path to the sea. Up to six places are tried.
    fn break_out(&self, arms: &mut Arms, terrain: &Terrain, sea: Height, scale: [f64; 2], key: Key) {
        let shares = arms.shares();
        let far = arms.distances(&shares);
        let ways = Ways::new(terrain, sea, scale[0]);
        for attempt in 0..6 {
            let key = key.and(attempt);
            // Choose a mouth with a probability equal to its share of the water, and a place upstream of it.
            let mut chance = key.and(1).unit();
            let mouths = (0..arms.0.len()).filter(|k| arms.is_mouth(*k));
            let mouth = mouths.reduce(|a, b| {
                chance -= shares[a];
                if chance > 0.0 { b } else { a }
            });
            let Some(mut k) = mouth else { return };
            let place = self.backwater().min(far[0][1]) * (BREAKS[0] + BREAKS[1] * key.and(2).unit());
            let mut down = 0.0;
            while let Some(parent) = arms.0[k].parent.filter(|_| down + course::length(&arms.0[k].line) < place) {
                down += course::length(&arms.0[k].line);
                k = parent;
            }
            let line = &arms.0[k].line;
            let mut n = line.len() - 1;
            while n > 1 && down < place {
                n -= 1;
                down += line[n].distance(line[n + 1]);
            }
            if n < 2 || n + 3 > line.len() || shares[k] < 0.25 {
                continue;
            }
            let others: Vec<&[Point]> = arms.0.iter().map(|arm| &arm.line[..]).collect();
            let Some(way) = ways.way(line[n], &others, &self.choice(), key.and(3)) else { continue };
            let line = lined(&way, scale);
            let left = far[k][0] + course::length(&arms.0[k].line[n..]);
            if course::length(&line) > left + scale[0] {
                continue;
            }
            let goal = if key.and(4).unit() < STAYS { 0.5 + 0.5 * key.and(5).unit() } else { 0.0 };
            arms.part(k, n, goal, Arm { parent: None, line, weight: FIRST, goal: 1.0, run: 0.0 });
            return;
        }
    }

    /// Writes the discharge of the arms to its layer.
    fn flow(&self, terrain: &mut Terrain, segments: &[Segment], near: &Nearest) -> Result<()> {
        let flow = Field::generate(terrain.grid.size, |i, j| {
            near.flow(&terrain.grid, segments, i * terrain.grid.size[1] + j) as f32
        });
        terrain.insert(&DISCHARGE, Cells::Float(flow))
    }
}

/// Converts a path of cells to a smooth line of vertices.
fn lined(way: &[Point], [cell, spacing]: [f64; 2]) -> Vec<Point> {
    let mut line = course::spaced(way, spacing);
    let times = (cell / spacing) * (cell / spacing);
    course::smooth(&mut line, (2.0 * times).ceil() as usize);
    course::spaced(&line, spacing)
}
