//! A river that builds land into the sea: see [`Delta`].

use crate::error::Result;
use crate::field::Field;
use crate::flow::{self, Directions, Land, hydraulic};
use crate::grid::{Edge, Grid};
use crate::height::{Height, UNITS};
use crate::model::{About, Budget, Family, Model, Reach, Stepper, Tick};
use crate::noise::fractal::{Fractal, Settings};
use crate::params;
use crate::rng::Key;
use crate::slopes::carry_off;
use crate::terrain::{Cells, DISCHARGE, LOOSE, Terrain};

params! {
    /// A river comes into the world and builds a delta: a plain of levees, arms and bays that grows into the sea, lobe by lobe.
    ///
    /// Each step the river takes the lowest way from its inlet to the sea over the ground and a gentle noise of height `wander`
    /// that changes with every avulsion. Its water stands at sea level and rises upstream by `slope`; its bed lies a depth
    /// 0.27·Q^0.4 below, dug or filled, as wide as 7.2·Q^½. Of the `sediment` that it brings, and of what it digs, up to the
    /// share `overbank` settles beside it, the nearer the sooner, towards a levee `levee` above the water that falls away to a
    /// third over `reach`. The rest goes to the mouth: a cone that falls by `front`, twice as long ahead as to the sides,
    /// built as high as the sediment allows, but not above the levees; what is left over then drifts out to sea.
    /// Every `avulsion` years the river breaks out, somewhere along its way: the arm below is plugged with sand.
    ///
    /// Source: after the avulsion models of Mackey & Bridge (1995, doi:10.1306/D42681D5-2B26-11D7-8648000102C1865D) and
    /// Karssenberg & Bridge (2008, doi:10.1111/j.1365-3091.2007.00936.x), and the lobe-building of Sun et al. (2002,
    /// doi:10.1029/2001WR000284); levees as in Jerolmack & Paola (2007, doi:10.1016/j.geomorph.2007.04.022); widths and depths by
    /// Moody & Troutman (2002). We differ: a way is found anew each step, and no water is solved for.
    ///
    /// It needs a sea, and a way to it; without, nothing happens. Sediment is `loose` and is counted as added. It leaves
    /// `discharge`: what the arms carried of late. It breaks where tides or waves shape the coast, and is coarse where the
    /// river is narrower than a cell: it then takes a cell all the same.
    pub struct Delta {
        /// How long the river builds.
        years: f64 = 3000.0, within 0.0..=1e7, unit "a", source "ours; the lobes of the Mississippi took about 1500 each";
        /// Time from one look at the ground to the next.
        step: f64 = 10.0, within 0.01..=1e5, unit "a", source "ours";
        /// Water of the river: wider and deeper arms.
        discharge: f64 = 800.0, within 0.01..=1e6, unit "m³/s", source "ours";
        /// Sediment that it brings: a faster growing delta.
        sediment: f64 = 2e6, within 0.0..=1e10, unit "m³/a", source "ours; the Rhône brings about 4e6";
        /// Where it comes in, from west (0) to east (1).
        inlet_x: f64 = 0.5, within 0.0..=1.0, unit "1", source "ours";
        /// Where it comes in, from north (0) to south (1).
        inlet_y: f64 = 0.0, within 0.0..=1.0, unit "1", source "ours";
        /// Fall of its water on the plain.
        slope: f64 = 2e-4, within 0.0..=0.1, unit "m/m", source "ours; large deltas 1e-5 to 1e-3";
        /// Fall of the delta's front under water.
        front: f64 = 0.015, within 1e-4..=1.0, unit "m/m", source "Orton & Reading 1993, 0.1° to several";
        /// Height of levees over the water.
        levee: f64 = 1.8, within 0.0..=50.0, unit "m", source "ours";
        /// Distance over which levees fall to a third.
        reach: f64 = 500.0, within 0.0..=1e5, unit "m", source "ours";
        /// Greatest share of the sediment that settles beside the river.
        overbank: f64 = 0.5, within 0.0..=1.0, unit "1", source "ours";
        /// Time from one break-out to the next.
        avulsion: f64 = 150.0, within 0.01..=1e7, unit "a", source "ours; 30 to 1500, Jerolmack & Mohrig 2007";
        /// Height of the unevenness that the river goes round.
        wander: f64 = 2.0, within 0.0..=100.0, unit "m", source "ours";
        /// Width of that unevenness: of the river's bends.
        wavelength: f64 = 1200.0, within 1.0..=1e6, unit "m", source "ours; about 11 channel widths";
    }
}

/// Parts of a channel's present discharge below which an arm is forgotten.
const FORGOTTEN: f64 = 0.02;
/// Cells to every side of the mouth that the cone may reach.
const CONE: usize = 400;
/// Length of a plug of sand, in widths of the channel.
const PLUG: f64 = 6.0;
/// Most steps.
const MAX_STEPS: f64 = 1e6;

impl Delta {
    fn count(&self) -> u32 {
        (self.years / self.step).ceil().clamp(1.0, MAX_STEPS) as u32
    }

    /// Years of a step.
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
            needs: &[],
            uses: &[],
            writes: &[LOOSE, DISCHARGE],
            tables: &[],
            placed: true,
        }
    }

    fn steps(&self, _grid: &Grid) -> u32 {
        self.count()
    }

    fn years(&self, _grid: &Grid, step: u32) -> Option<f64> {
        Some(f64::from(step) * self.span())
    }

    fn reach(&self, _grid: &Grid) -> Reach {
        Reach::Whole
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        // The searched and the filled ground, directions and order, distances and nearest cells.
        32 * grid.len() as u64
    }

    fn start(&self, _grid: &Grid) -> Result<Box<dyn Stepper>> {
        Ok(Box::new(River(self.clone())))
    }
}

struct River(Delta);

/// The river's way: cells from the inlet to the sea, each with its distance from there along the way, in metres.
type Way = Vec<(usize, f64)>;

/// What is dug and laid, in units over a cell.
#[derive(Default)]
struct Moved {
    dug: i64,
    laid: i64,
}

impl Stepper for River {
    fn step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<Budget> {
        let model = &self.0;
        let Some(sea) = terrain.grid.sea_level else { return Ok(Budget::default()) };
        if terrain.loose.is_none() {
            terrain.loose = Some(Field::new(terrain.grid.size, Height::ZERO));
        }
        let time = f64::from(tick.step) * model.span();
        let epoch = |time: f64| (time / model.avulsion).floor() as u64;
        let (now, before) = (epoch(time), epoch((time - model.span()).max(0.0)));
        let unit = UNITS / terrain.grid.cell_area();
        let mut load = (model.sediment * model.span() * unit).round() as i64;
        let mut budget = Budget { added: load.into(), ..Budget::default() };
        if now != before {
            // The old way, as the river saw it, is plugged at a place drawn along it.
            if let Some(way) = model.way(terrain, sea, tick.key.and(before)) {
                let sand = model.plug(terrain, sea, &way, tick.key.and(now).and(1));
                budget.added += i128::from(sand);
                budget.deposited += i128::from(sand);
            }
        }
        let Some(way) = model.way(terrain, sea, tick.key.and(now)) else {
            budget.added -= i128::from(load);
            return Ok(budget);
        };
        let channel = model.cells(terrain, sea, &way);
        let moved = model.channel(terrain, sea, &channel, &mut load);
        load += moved.dug;
        let mut laid = moved.laid;
        let beside = model.beside(terrain, sea, &way, load.max(0));
        load -= beside;
        laid += beside;
        let bar = model.mouth(terrain, sea, &way, load.max(0));
        load -= bar;
        laid += bar;
        budget.eroded += i128::from(moved.dug);
        budget.deposited += i128::from(laid);
        // What found no place drifts out to sea, within walls to its deepest ground; what the bed took beyond the load came with the river too.
        let drift = carry_off(terrain, load.max(0))?;
        budget.exported += drift.exported;
        budget.deposited += drift.deposited;
        budget.added += i128::from((-load).max(0));
        model.flow(terrain, &channel)?;
        Ok(budget)
    }
}

impl Delta {
    /// Half the channel's width in metres.
    fn half_width(&self) -> f64 {
        0.5 * f64::from(hydraulic::width(self.discharge as f32))
    }

    /// Level of the water, in units, so many metres from the sea.
    fn level(&self, sea: Height, distance: f64) -> f64 {
        f64::from(sea.0) + self.slope * distance * UNITS
    }

    /// The lowest way from the inlet to the sea, if there is one.
    fn way(&self, terrain: &Terrain, sea: Height, key: Key) -> Option<Way> {
        let grid = Grid { edges: [Edge::Closed; 4], ..terrain.grid.clone() };
        let [rows, cols] = grid.size;
        let noise = Fractal::new(&Settings::fbm(3, self.wavelength, 0.5), None, key, grid.cell);
        let mut ground = terrain.ground.clone();
        let carried = terrain.float(&DISCHARGE);
        let mut line = vec![0.0; cols];
        for i in 0..rows {
            noise.row(&grid, i, &mut line);
            for (j, n) in line.iter().enumerate() {
                let height = ground[(i, j)];
                // The sea stays sea, and land land; a bed below the sea's level is land that an arm has cut.
                if height > sea || carried.is_some_and(|q| q[(i, j)] > 0.0) {
                    let moved = f64::from(height.0) + 3.0 * self.wander * f64::from(*n) * UNITS;
                    ground[(i, j)] = Height(moved.max(f64::from(sea.0 + 1)) as i32).clamped();
                }
            }
        }
        let land = Land { grid: &grid, ground: &ground, nodata: terrain.nodata.as_ref(), outlets: &[] };
        let (_, directions) = flow::drain(&land);
        let at = |share: f64, count: usize| ((share * count as f64) as usize).min(count - 1);
        let way = followed(&directions, at(self.inlet_y, rows) * cols + at(self.inlet_x, cols), grid.cell);
        let (end, _) = *way.last()?;
        let void = terrain.nodata.as_ref().is_some_and(|mask| mask.as_slice()[end]);
        (ground.as_slice()[end] <= sea && !void).then_some(way)
    }

    /// The channel's cells, but for those of the open sea, as [`near`] has them.
    fn cells(&self, terrain: &Terrain, sea: Height, way: &Way) -> Vec<(usize, f64, f64)> {
        let half = self.half_width().max(0.5 * terrain.grid.cell);
        let carried = terrain.float(&DISCHARGE);
        let is_land =
            |k: usize| terrain.ground.as_slice()[k] > sea || carried.is_some_and(|carried| carried.as_slice()[k] > 0.0);
        let inland = way.split_last().map_or(&way[..], |(_, inland)| inland);
        near(&terrain.grid, inland, half).into_iter().filter(|(k, _, _)| is_land(*k)).collect()
    }

    /// Fills the bed below a place drawn along the way up to the levees; returns what that took.
    fn plug(&self, terrain: &mut Terrain, sea: Height, way: &Way, key: Key) -> i64 {
        let length = way.first().map_or(0.0, |(_, distance)| *distance);
        let from = length * (0.15 + 0.75 * key.unit());
        let to = from - PLUG * 2.0 * self.half_width() - 2.0 * terrain.grid.cell;
        let near = near(&terrain.grid, way, self.half_width().max(0.75 * terrain.grid.cell));
        let mut sand = 0;
        for (k, _, distance) in near.into_iter().filter(|(_, _, distance)| (to..=from).contains(distance)) {
            let top = (self.level(sea, distance) + self.levee * UNITS) as i64;
            sand += raise(terrain, k, top - i64::from(terrain.ground.as_slice()[k].0));
        }
        sand
    }

    /// Digs or fills the bed; what that takes is taken from the load.
    fn channel(&self, terrain: &mut Terrain, sea: Height, cells: &[(usize, f64, f64)], load: &mut i64) -> Moved {
        let depth = f64::from(hydraulic::depth(self.discharge as f32)) * UNITS;
        let half = self.half_width().max(0.5 * terrain.grid.cell);
        let mut moved = Moved::default();
        for &(k, off, distance) in cells {
            let height = terrain.ground.as_slice()[k];
            // A parabola across, as deep as the mean depth asks.
            let across = 1.5 * (1.0 - (off / half.max(terrain.grid.cell)).powi(2));
            let bed = (self.level(sea, distance) - depth * across) as i64;
            let by = bed - i64::from(height.0);
            if by < 0 {
                moved.dug += lower(terrain, k, -by);
            } else {
                let part = raise(terrain, k, by);
                moved.laid += part;
                *load -= part;
            }
        }
        moved
    }

    /// Lays sediment beside the channel, at most the share of the load that may settle there; returns how much.
    fn beside(&self, terrain: &mut Terrain, sea: Height, way: &Way, load: i64) -> i64 {
        let half = self.half_width().max(0.5 * terrain.grid.cell);
        let most = (self.overbank * load as f64) as i64;
        // Half of what is missing in a quarter of the time between break-outs.
        let share = 1.0 - libm::exp2(-4.0 * self.span() / self.avulsion);
        let wanted: Vec<(usize, i64)> = near(&terrain.grid, way, half + 3.0 * self.reach)
            .into_iter()
            .filter(|(_, off, _)| *off > half)
            .map(|(k, off, distance)| {
                let levee = self.levee * libm::exp(-(off - half) / self.reach.max(1e-9)) * UNITS;
                let missing = self.level(sea, distance) + levee - f64::from(terrain.ground.as_slice()[k].0);
                // Far off, and where it is deep, the water has dropped its load.
                let near = libm::exp(-(off - half) / self.reach.max(1e-9));
                (k, (missing * share * near) as i64)
            })
            .filter(|(_, missing)| *missing > 0)
            .collect();
        let all: i64 = wanted.iter().map(|(_, missing)| missing).sum();
        let scale = if all > most { most as f64 / all as f64 } else { 1.0 };
        wanted.into_iter().map(|(k, missing)| raise(terrain, k, (missing as f64 * scale) as i64)).sum()
    }

    /// Builds the bar at the mouth from a load; returns how much it took.
    fn mouth(&self, terrain: &mut Terrain, sea: Height, way: &Way, load: i64) -> i64 {
        let grid = terrain.grid.clone();
        let [rows, cols] = grid.size;
        let Some((end, _)) = way.last().copied() else { return 0 };
        let back = way[way.len().saturating_sub(8)].0;
        let place = |k: usize| [(k / cols) as f64, (k % cols) as f64];
        let [[y, x], [from_y, from_x]] = [place(end), place(back)];
        let length = ((y - from_y).powi(2) + (x - from_x).powi(2)).sqrt();
        let ahead = if length > 0.0 { [(y - from_y) / length, (x - from_x) / length] } else { [0.0, 0.0] };
        let top = i64::from(sea.0) + (0.5 * self.levee * UNITS) as i64;
        // Distance from the mouth in metres, half as much ahead.
        let off = |i: usize, j: usize| {
            let [dy, dx] = [i as f64 - y, j as f64 - x];
            let along = dy * ahead[0] + dx * ahead[1];
            let across = dy * dy + dx * dx - along * along;
            let along = if along > 0.0 { 0.5 * along } else { along };
            grid.cell * (along * along + across.max(0.0)).sqrt()
        };
        let [r, c] = [end / cols, end % cols];
        let span = |at: usize, count: usize| at.saturating_sub(CONE)..(at + CONE + 1).min(count);
        let fall = self.front * UNITS;
        let void = |k: usize| terrain.nodata.as_ref().is_some_and(|mask| mask.as_slice()[k]);
        // Cells that the cone could touch, with what they would need for a cone whose tip is at the top.
        let cells: Vec<(usize, i64)> = span(r, rows)
            .flat_map(|i| span(c, cols).map(move |j| (i, j)))
            .filter_map(|(i, j)| {
                let k = i * cols + j;
                let height = terrain.ground.as_slice()[k];
                let need = top - (fall * off(i, j)) as i64 - i64::from(height.0);
                (need > 0 && height <= sea && !void(k)).then_some((k, need))
            })
            .collect();
        // How far below the top its tip can be: the least depth that the load fills.
        let taken = |below: i64| cells.iter().map(|(_, need)| (need - below).max(0)).sum::<i64>();
        let (mut low, mut high) = (0, cells.iter().map(|(_, need)| *need).max().unwrap_or(0));
        while low < high {
            let middle = low + (high - low) / 2;
            if taken(middle) <= load { high = middle } else { low = middle + 1 }
        }
        cells.into_iter().map(|(k, need)| raise(terrain, k, (need - low).max(0))).sum()
    }

    /// Lets the arms forget, and the present one carry the water.
    fn flow(&self, terrain: &mut Terrain, cells: &[(usize, f64, f64)]) -> Result<()> {
        let Cells::Float(mut carried) = terrain.take(&DISCHARGE) else { return Ok(()) };
        let keep = libm::exp(-self.span() / (3.0 * self.avulsion));
        let least = (FORGOTTEN * self.discharge) as f32;
        for carried in carried.as_mut_slice() {
            *carried = (f64::from(*carried) * keep) as f32;
            if *carried < least {
                *carried = 0.0;
            }
        }
        for (k, _, _) in cells {
            carried.as_mut_slice()[*k] = self.discharge as f32;
        }
        terrain.insert(&DISCHARGE, Cells::Float(carried))
    }
}

/// The cells from `start` on down to where directions end, each with its distance from there in metres.
fn followed(directions: &Directions, start: usize, cell: f64) -> Way {
    let cols = directions.cols();
    let mut way = vec![(start, 0.0)];
    let (mut k, mut length) = (start, 0.0);
    while let Some(next) = flow::downstream(k, directions.as_slice()[k], cols) {
        length +=
            if next / cols == k / cols || next % cols == k % cols { cell } else { cell * std::f64::consts::SQRT_2 };
        way.push((next, length));
        k = next;
    }
    way.into_iter().map(|(k, from)| (k, length - from)).collect()
}

/// Cells within `reach` metres of a way, in order: number, distance from the way, and the way's own distance from the sea.
fn near(grid: &Grid, way: &[(usize, f64)], reach: f64) -> Vec<(usize, f64, f64)> {
    let [rows, cols] = grid.size;
    let radius = (reach / grid.cell).ceil() as usize;
    let mut nearest: std::collections::BTreeMap<usize, (usize, f64)> = std::collections::BTreeMap::new();
    for (k, distance) in way {
        let [i, j] = [k / cols, k % cols];
        for r in i.saturating_sub(radius)..(i + radius + 1).min(rows) {
            for c in j.saturating_sub(radius)..(j + radius + 1).min(cols) {
                let square = r.abs_diff(i).pow(2) + c.abs_diff(j).pow(2);
                let slot = nearest.entry(r * cols + c).or_insert((square, *distance));
                if square < slot.0 {
                    *slot = (square, *distance);
                }
            }
        }
    }
    let cells = nearest.into_iter().map(|(k, (square, along))| (k, (square as f64).sqrt() * grid.cell, along));
    cells.filter(|(_, off, _)| *off <= reach).collect()
}

/// Raises a cell by loose ground, as far as heights go; returns by how much.
fn raise(terrain: &mut Terrain, k: usize, by: i64) -> i64 {
    if by <= 0 || terrain.nodata.as_ref().is_some_and(|mask| mask.as_slice()[k]) {
        return 0;
    }
    let ground = &mut terrain.ground.as_mut_slice()[k];
    let by = by.min(i64::from(Height::MAX.0 - ground.0));
    ground.0 += by as i32;
    if let Some(loose) = &mut terrain.loose {
        let loose = &mut loose.as_mut_slice()[k];
        loose.0 = loose.0.saturating_add(by as i32);
    }
    by
}

/// Lowers a cell, loose ground first; returns by how much.
fn lower(terrain: &mut Terrain, k: usize, by: i64) -> i64 {
    if by <= 0 || terrain.nodata.as_ref().is_some_and(|mask| mask.as_slice()[k]) {
        return 0;
    }
    let ground = &mut terrain.ground.as_mut_slice()[k];
    let by = by.min(i64::from(ground.0 - Height::MIN.0));
    ground.0 -= by as i32;
    if let Some(loose) = &mut terrain.loose {
        let loose = &mut loose.as_mut_slice()[k];
        loose.0 = (i64::from(loose.0) - by).max(0) as i32;
    }
    by
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plain that falls gently to a sea in the south, whose floor falls by `fall` metres a cell.
    fn coast(cells: usize, fall: f64) -> Terrain {
        let mut grid = Grid::new([cells, cells], 100.0).unwrap();
        grid.sea_level = Some(Height::ZERO);
        let ground = Field::generate([cells, cells], |i, _| {
            let north = 0.4 * cells as f64 - i as f64;
            Height::saturating(if north > 0.0 { 0.05 * north + 0.2 } else { fall * north - 0.2 })
        });
        Terrain::from_ground(grid, ground).unwrap()
    }

    fn built(terrain: &mut Terrain, model: &Delta) -> Budget {
        let mut budget = Budget::default();
        let mut stepper = model.start(&terrain.grid).unwrap();
        for step in 0..model.steps(&terrain.grid) {
            let before = terrain.solid();
            let done = stepper.step(terrain, Tick { key: Key::new(6, "delta"), step }).unwrap();
            assert_eq!(terrain.solid() - before, done.solid_change(), "step {step}");
            assert_eq!(done.added + done.eroded, done.deposited + done.exported);
            budget += done;
        }
        budget
    }

    fn land(terrain: &Terrain) -> usize {
        terrain.ground.as_slice().iter().filter(|height| height.0 > 0).count()
    }

    #[test]
    fn the_coast_advances_by_what_the_river_brings() {
        // Steeper than the delta's front: it takes whatever comes.
        let mut terrain = coast(80, 2.0);
        let (before, solid) = (land(&terrain), terrain.solid());
        let model = Delta { years: 600.0, step: 20.0, ..Delta::default() };
        let budget = built(&mut terrain, &model);
        // 600 years of 2e6 m³; what a young bar has no room for has drifted out, most has stayed.
        let brought = model.sediment * model.years / terrain.grid.cell_area() * UNITS;
        let kept = (terrain.solid() - solid) as f64;
        assert!((0.6 * brought..=1.01 * brought).contains(&kept), "{budget:?}");
        assert!(land(&terrain) > before + 20, "{} and {before}", land(&terrain));
        // Arms lie below the plain beside them, and the river's water reaches the sea.
        let flow = terrain.float(&DISCHARGE).unwrap();
        assert!(flow.as_slice().iter().filter(|q| **q >= 800.0).count() > 30);
        assert!(terrain.ground.as_slice().iter().all(|height| height.metres() < 40.0));
    }

    #[test]
    fn break_outs_make_arms() {
        let lobes = |avulsion: f64| {
            let mut terrain = coast(80, 0.4);
            built(&mut terrain, &Delta { years: 1500.0, step: 15.0, avulsion, ..Delta::default() });
            // Where it is shallow land grows quickly. Cells that carry water, of the present arm and of older ones.
            terrain.float(&DISCHARGE).unwrap().as_slice().iter().filter(|q| **q > 0.0).count()
        };
        assert!(lobes(150.0) > lobes(1e6) * 5 / 4, "{} and {}", lobes(150.0), lobes(1e6));
    }

    #[test]
    fn without_a_sea_nothing_happens() {
        let mut terrain = coast(20, 0.4);
        terrain.grid.sea_level = None;
        let ground = terrain.ground.clone();
        assert_eq!(built(&mut terrain, &Delta { years: 50.0, ..Delta::default() }), Budget::default());
        assert_eq!(terrain.ground, ground);
    }
}
