//! Computes a level from the next coarser one: all operators, in their order.

use crate::active::Active;
use crate::join::{Known, Place};
use crate::ledger::{Ledger, Operator};
use crate::nodes::Maker;
use crate::paths::{Carved, LAKE, RIVER, SEA};
use crate::plane::{LANES, NOWHERE, Part, Plane, WALL, put, take};
use crate::reach::{COARSE, FINE, Margins};
use crate::rock::Rock;
use crate::sand::Cover;
use crate::{
    Frame, LocalWindow, Rules, beds, check_window, creep, cut, deposit, floods, floors, hold, limit, receive, rise,
    sand, smooth, tree, water,
};
use thalweg_core::base::cast;
use thalweg_core::base::power::{exp2, log2};
use thalweg_core::base::rng::Key;
use thalweg_core::terrain::LakeRaster;
use thalweg_core::terrain::height::UNITS_F32;
use thalweg_core::{Cell, CellRect, Error, Field, Height, Result, Size};
use thalweg_flow::OUT;
use thalweg_noise::gradient::mix;

/// Returns the cells of level `level` − 1 from which the cells `wanted` of `level` (1 or more) are computed:
/// [`refine`] needs these and no others. Each rectangle is in world cells of its own level.
///
/// # Examples
/// ```
/// use thalweg_core::{CellRect, Grid};
/// use thalweg_refine::{Frame, Rules, needed_window};
///
/// let frame = Frame::of(&Grid::new([1000, 1000], 10.0)?)?;
/// let wanted = CellRect::new([960_i64, 960], [64, 64]);
/// let needed = needed_window(&frame, &Rules::default(), 1, wanted);
/// // The coarse cells under the wanted ones, and some around them, but not the whole world.
/// assert!(needed.contains(&wanted.coarser()));
/// assert!(needed.rows() < 1000 && needed.cols() < 1000);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn needed_window(frame: &Frame, rules: &Rules, level: u32, wanted: CellRect<i64>) -> CellRect<i64> {
    let margins = Margins::of(rules, level, frame.width(level));
    let blocks = wanted.grown(margins.carved, frame.world(level)).coarser();
    blocks.grown(COARSE, frame.world(level.saturating_sub(1)))
}

/// Computes cells of half the width: the next level's `wanted` cells, in world cells of that level.
///
/// The result is a function of the world's cells alone: a cell has the same bits in whatever window it is computed.
/// `coarse` must contain the cells that [`needed_window`] returns; further cells have no effect. `key` is the
/// world's; the level is mixed in.
///
/// # Errors
/// Returns an error if `wanted` is empty, outside the world or of more than [`MOST_CELLS`](crate::MOST_CELLS), its
/// margins included; if the level is too fine ([`Frame::check`]), or the rules are out of range ([`Rules::check`]);
/// if a joined operator reads farther than [`FARTHEST`](crate::FARTHEST), or does not have 1 to
/// [`MOST_SWEEPS`](crate::MOST_SWEEPS) sweeps; if a layer of `coarse` does not have its rectangle's size, or `coarse`
/// does not contain the needed cells.
///
/// # Examples
/// ```
/// use thalweg_core::{CellRect, Field, Grid, Height, Terrain};
/// use thalweg_refine::{LocalWindow, Rules, refine, refinement_key};
///
/// let ground = Field::generate([16, 16], |i, _| Height::saturating(32.0 - 2.0 * i as f64));
/// let terrain = Terrain::from_ground(Grid::new([16, 16], 10.0)?, ground)?;
/// let (frame, level_0) = LocalWindow::of(&terrain)?;
/// let (rules, key) = (Rules::default(), refinement_key(1));
/// let level_1 = refine(&frame, &rules, key, &level_0, frame.world(1))?;
/// // No receiver is higher than its donor, and drainage areas never decrease downstream.
/// level_1.check(&frame)?;
/// assert_eq!((level_1.level, level_1.size()), (1, [32, 32]));
/// // Cells outside the world are refused.
/// let beyond = CellRect::new([0_i64, 0], [33, 33]);
/// assert!(refine(&frame, &rules, key, &level_0, beyond).is_err());
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn refine(
    frame: &Frame,
    rules: &Rules,
    key: Key,
    coarse: &LocalWindow,
    wanted: CellRect<i64>,
) -> Result<LocalWindow> {
    Ok(Work::new(frame, rules, key, coarse, wanted)?.run())
}

/// Like [`refine`], and also returns what each operator added to and removed from the wanted cells, in units of
/// height × cells.
///
/// # Errors
/// Returns the errors of [`refine`].
pub fn refine_with_ledger(
    frame: &Frame,
    rules: &Rules,
    key: Key,
    coarse: &LocalWindow,
    wanted: CellRect<i64>,
) -> Result<(LocalWindow, Ledger)> {
    let mut work = Work::new(frame, rules, key, coarse, wanted)?;
    work.ledger = Some(Ledger::default());
    let window = work.run();
    Ok((window, work.ledger.unwrap_or_default()))
}

/// Computes a rectangle of any level from level 0: each level's window from the one before, as large as the next one
/// needs. `wanted` is in world cells of `level`.
///
/// # Errors
/// Returns the errors of [`refine`]; also if a window that is needed in between has more than
/// [`MOST_CELLS`](crate::MOST_CELLS), or
/// `whole` is not a whole level 0.
///
/// # Examples
/// ```
/// use thalweg_core::{CellRect, Field, Grid, Height, Terrain};
/// use thalweg_refine::{LocalWindow, Rules, refine, refine_tile, refinement_key};
///
/// let ground = Field::generate([16, 16], |i, _| Height::saturating(32.0 - 2.0 * i as f64));
/// let terrain = Terrain::from_ground(Grid::new([16, 16], 10.0)?, ground)?;
/// let (frame, level_0) = LocalWindow::of(&terrain)?;
/// let (rules, key) = (Rules::default(), refinement_key(1));
/// let tile = CellRect::new([8_i64, 16], [8, 8]);
/// let alone = refine_tile(&frame, &rules, key, &level_0, 1, tile)?;
/// // The tile has the same bits as in the whole level.
/// let whole = refine(&frame, &rules, key, &level_0, frame.world(1))?;
/// assert_eq!(alone.ground, whole.part(tile)?.ground);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn refine_tile(
    frame: &Frame,
    rules: &Rules,
    key: Key,
    whole: &LocalWindow,
    level: u32,
    wanted: CellRect<i64>,
) -> Result<LocalWindow> {
    rules.check()?;
    frame.check(level)?;
    check_window(wanted, frame.world(level))?;
    if whole.level != 0 || whole.rect != frame.world(0) {
        let told = format!("level {} of {} × {} cells", whole.level, whole.size()[0], whole.size()[1]);
        return Err(Error::value("level 0", told, "the whole level 0"));
    }
    let mut windows = vec![wanted];
    for finer in (1..=level).rev() {
        let coarse = needed_window(frame, rules, finer, windows[windows.len() - 1]);
        check_window(coarse, frame.world(finer - 1))?;
        windows.push(coarse);
    }
    let mut now: Option<LocalWindow> = None;
    for window in windows.into_iter().rev().skip(1) {
        now = Some(refine(frame, rules, key, now.as_ref().unwrap_or(whole), window)?);
    }
    now.map_or_else(|| whole.part(wanted), Ok)
}

/// Number of sliding sweeps after which the bed of rock at each cell's present elevation is looked up again.
const BEDS: i64 = 4;

/// The inputs, derived constants and bookkeeping of one refinement.
struct Work<'a> {
    frame: &'a Frame,
    rules: &'a Rules,
    coarse: &'a LocalWindow,
    wanted: CellRect<i64>,
    /// Coarse cells whose blocks are carved (`blocks`), and those for which the planes have fine terrain (`all`).
    blocks: CellRect<i64>,
    all: CellRect<i64>,
    level: u32,
    /// Width of the level's cells in metres.
    width: f32,
    sea: i32,
    /// The least height of land adjacent to a lake above its level, in units.
    clear: i32,
    key: Key,
    seed: u32,
    /// Seed of the meanders, which is the same on all levels.
    meanders: u32,
    /// World cell of the planes' first cell, and the planes' size.
    origin: Cell<i64>,
    size: Size,
    margins: Margins,
    /// True if a river floods its floor on this level.
    is_flooded: bool,
    /// The mass balance, if it was requested, and the wanted cells' elevation when it was last updated.
    ledger: Option<Ledger>,
    seen: Field<Height>,
}

impl<'a> Work<'a> {
    fn new(
        frame: &'a Frame,
        rules: &'a Rules,
        key: Key,
        coarse: &'a LocalWindow,
        wanted: CellRect<i64>,
    ) -> Result<Self> {
        let level = coarse.level.saturating_add(1);
        rules.check()?;
        coarse.check_sizes()?;
        frame.check(level)?;
        check_window(wanted, frame.world(level))?;
        rules.joins.check(level, frame.width(level))?;
        let needed = needed_window(frame, rules, level, wanted);
        if !coarse.rect.contains(&needed) {
            let [rows, cols] = [0, 1].map(|axis| format!("{} to {}", needed.start[axis], needed.end[axis]));
            let told = format!(
                "rows {} to {}, columns {} to {}",
                coarse.rect.start[0], coarse.rect.end[0], coarse.rect.start[1], coarse.rect.end[1]
            );
            return Err(Error::value("coarse window", told, format!("rows {rows}, columns {cols} or more")));
        }
        let width = frame.width(level) as f32;
        let start = [0, 1].map(|axis| (needed.start[axis] - coarse.rect.start[axis]) as usize);
        let rows = (start[0]..start[0] + needed.size()[0])
            .map(|row| &coarse.area.row(row)[start[1]..start[1] + needed.size()[1]]);
        let is_flooded = rows.flatten().any(|area| floods::lie(rules, width, *area));
        let margins = Margins::with(rules, level, frame.width(level), is_flooded);
        let blocks = wanted.grown(margins.carved, frame.world(level)).coarser();
        let all = blocks.grown(FINE, frame.world(level - 1));
        check_window(all.finer(), frame.world(level))?;
        let fine = all.finer();
        // The largest drainage area of a hill's cell.
        let widest = rules.river as f32 * (frame.width(level - 1) * frame.width(level - 1)) as f32;
        Ok(Self {
            frame,
            rules,
            coarse,
            wanted,
            blocks,
            all,
            level,
            width,
            sea: frame.sea_units(),
            clear: beds::clearance(frame, level, widest),
            key: key.and(level.into()),
            seed: key.and(level.into()).bits() as u32,
            meanders: key.bits() as u32,
            origin: fine.start,
            size: fine.size(),
            margins,
            is_flooded,
            ledger: None,
            seen: Field::new([0, 0], Height::ZERO),
        })
    }

    /// Returns the part of the planes that extends `beyond` cells beyond the wanted ones.
    fn part(&self, beyond: i64) -> Part {
        Part::of(self.wanted.grown(beyond, self.frame.world(self.level)), self.origin)
    }

    fn run(&mut self) -> LocalWindow {
        let width = self.frame.width(self.level);
        let rock = self.rules.strata.as_ref().map(|strata| Rock::new(strata, self.origin, self.size, width));
        let (mut carved, slopes, raw, sand) = self.carved(rock.as_ref());
        let cells = self.part(self.margins.carved);
        self.dig(&mut carved, &cells);
        self.book(Operator::Beds, &carved.ground);
        let (ground, codes) = self.eroded(&carved, slopes, rock.as_ref(), sand.as_ref());
        self.finished(&carved, &raw, ground, codes, sand.as_ref())
    }

    /// Computes the smooth terrain with noise, and carves the flow paths of rivers and hills into it. Returns it with
    /// its slopes and the slopes in balance, the elevation before carving (used for the bed under water), and the
    /// sand.
    fn carved(&mut self, rock: Option<&Rock<'_>>) -> (Carved, [Plane<f32>; 2], Plane<i32>, Option<Cover>) {
        let (world, fine) = (self.frame.world(self.level - 1), self.all.finer());
        let mut ground = Plane::new(self.size, WALL);
        let mut slope = Plane::new(self.size, 0.0);
        let mut balance = slope.clone();
        // The smooth terrain, with the slope that scales the noise, and the slope in balance that scales the uplift.
        let in_balance = smooth::Balance {
            width: self.frame.width(self.level - 1) as f32,
            exponent: self.rules.exponent,
            area: self.rules.balance * self.width * self.width,
            limit: self.rules.limit,
            sea: self.sea,
        };
        let out = smooth::Smooth { ground: &mut ground, slope: &mut slope, balance: &mut balance };
        smooth::smooth(self.coarse, world, self.all, self.origin, &in_balance, out);
        self.begin();
        self.book(Operator::Smooth, &ground);
        let whole = Part::of(fine, self.origin);
        // Sand has no noise: its share reduces the slope to which the amplitude of the noise is proportional.
        let sand = self.rules.sand.zip(self.coarse.loose.as_ref()).map(|(sand, loose)| {
            Cover::of((self.coarse, loose), world, self.all, self.origin, (sand, self.width, &ground))
        });
        if let Some(sand) = &sand {
            sand.lessen(&mut slope, &whole);
        }
        let amplitude = self.rules.roughness * self.width * UNITS_F32;
        for i in whole.rows.clone() {
            let [row, col] = [self.origin[0] + i as i64 - 1, self.origin[1]];
            let seed = mix(self.seed ^ 0x6e6f_6973);
            smooth::roughen(ground.span_mut(i, &whole.cols), slope.span(i, &whole.cols), row, col, amplitude, seed);
        }
        self.book(Operator::Noise, &ground);
        // The elevation before carving becomes the bed under water.
        let (sea, lakes) = (self.frame.sea.is_some(), self.coarse.lakes.is_some());
        let raw = if sea || lakes { ground.clone() } else { Plane::new([0, 0], 0) };
        let maker = Maker::new(
            self.coarse,
            (self.frame, self.rules),
            (&ground, self.origin),
            rock,
            [mix(self.seed ^ 0x6e6f_6465), self.meanders],
        );
        let mut nodes = maker.nodes(self.all);
        let mut carved = Carved {
            origin: self.origin,
            ground,
            flags: Plane::new(self.size, 0),
            receivers: Plane::new(self.size, NOWHERE),
            area: Plane::new(self.size, 0.0),
            clear: self.clear,
            lakes: lakes.then(|| Plane::new(self.size, 0)),
        };
        // Each pass reads what the one before has set in adjacent blocks, so each runs on one ring of blocks less.
        let ring = |by| self.blocks.grown(by, world);
        carved.rivers(&nodes, self.frame, ring(4));
        carved.shores(&nodes, ring(3));
        carved.raise(&nodes, ring(2), &mut Plane::new(self.size, 0));
        carved.find_hollows(&mut nodes, ring(1));
        carved.hollows(&nodes, ring(0));
        self.book(Operator::Ways, &carved.ground);
        (carved, [slope, balance], raw, sand)
    }

    /// Incises rivers' beds, deeper the larger the river, so that no river rises on its way; not below the sea.
    fn dig(&self, carved: &mut Carved, cells: &Part) {
        let least = self.sea.saturating_add(1);
        for i in cells.rows.clone() {
            for j in cells.cols.clone() {
                let area = carved.area.at(i, j);
                if area > 0.0 && carved.flags.at(i, j) & RIVER != 0 {
                    let height = carved.ground.at(i, j);
                    let lower = height.saturating_sub(beds::depth(area, self.width)).max(least.min(height));
                    carved.ground.set(i, j, lower.max(Height::MIN.0));
                }
            }
        }
    }

    /// Applies uplift, incision, hillslope diffusion, deposition and sliding. Returns the finished elevation and its
    /// receivers.
    fn eroded(
        &mut self,
        carved: &Carved,
        [slope, balance]: [Plane<f32>; 2],
        rock: Option<&Rock<'_>>,
        sand: Option<&Cover>,
    ) -> (Plane<i32>, Plane<u8>) {
        let margins = self.margins;
        let flags = &carved.flags;
        // The receivers of the carved terrain: the order of the tree that all further sweeps preserve.
        let mut codes = Plane::new(self.size, NOWHERE);
        let draw = |of: u32| (self.origin, mix(self.seed ^ of));
        let kept = (flags, &carved.receivers);
        receive::receivers(&carved.ground, kept, draw(0x7265_6365), &self.part(margins.receivers), &mut codes);
        let mut floor = Plane::new(self.size, i32::MIN);
        carved.floors(&self.part(margins.cut), self.sea, &mut floor);
        let (mut wanted, mut left) = self.find_targets(carved, &balance, &codes, rock);
        if let Some(sand) = sand {
            sand.hold(&carved.ground, &self.part(margins.rise), &mut wanted, &mut left);
        }
        std::mem::drop(balance);
        // The steepest stable fall of each cell, for the slides at the end.
        let mut drop = Plane::new(self.size, 0.0);
        let parts = (&self.part(margins.slide), &self.part(margins.slide + floors::REACH));
        let ground = (&carved.ground, flags, &carved.receivers);
        floors::steepness(self.rules, self.width, ground, (&carved.area, &slope), parts, &mut drop);
        if let Some(sand) = sand {
            sand.rest(&mut drop, &self.part(margins.slide));
        }

        // One step of uplift, and implicit incision against it.
        let mut now = carved.ground.clone();
        let mut next = Plane::new(self.size, WALL);
        for sweep in 1..=i64::from(self.rules.rise_sweeps) {
            rise::sweep(&now, &wanted, &codes, &self.part(margins.rise - sweep), &mut next);
            std::mem::swap(&mut now, &mut next);
        }
        std::mem::drop(wanted);
        self.book(Operator::Uplift, &now);
        let before = now.clone();
        for sweep in 1..=i64::from(self.rules.cut_sweeps) {
            cut::sweep(&now, (&before, &left, &floor), &codes, &self.part(margins.cut - sweep), &mut next);
            std::mem::swap(&mut now, &mut next);
        }
        self.book(Operator::Cuts, &now);
        let mut wanted = Plane::new(self.size, 0);
        // Most of what both did to the means of coarse cells is taken back.
        let world = Part::of(self.all.finer(), self.origin);
        hold::find_targets((&carved.ground, &now), flags, &self.part(margins.hold - hold::REACH), &world, &mut wanted);
        for sweep in 1..=hold::SWEEPS {
            let part = self.part(margins.hold - hold::REACH - sweep);
            rise::sweep(&now, &wanted, &codes, &part, &mut next);
            std::mem::swap(&mut now, &mut next);
        }
        for sweep in 1..=hold::SWEEPS {
            let part = self.part(margins.creep + hold::SWEEPS - sweep);
            creep::lower(&now, (&wanted, &floor), &codes, &part, &mut next);
            std::mem::swap(&mut now, &mut next);
        }
        std::mem::drop(wanted);
        self.book(Operator::Held, &now);
        // Hillslope diffusion in two passes: one only raises and the other only lowers, so each preserves the order
        // of the tree.
        let creep = self.rules.creep_on(self.width);
        if creep > 0.0 {
            creep::fill(&now, flags, &codes, creep, &self.part(margins.creep - 1), &mut next);
            std::mem::swap(&mut now, &mut next);
            creep::wear(&now, (flags, &floor), &codes, creep, &self.part(margins.creep - 2), &mut next);
            std::mem::swap(&mut now, &mut next);
        }
        self.book(Operator::Creep, &now);
        if let Some(sand) = sand {
            let mut wanted = Plane::new(self.size, 0);
            sand.find_targets(&now, (flags, &codes), &self.part(margins.sand), &mut wanted);
            for sweep in 1..=sand::SWEEPS {
                let part = self.part(margins.sand - sweep);
                rise::sweep(&now, &wanted, &codes, &part, &mut next);
                std::mem::swap(&mut now, &mut next);
            }
            for sweep in 1..=sand::SWEEPS {
                let part = self.part(margins.fans + sand::SWEEPS - sweep);
                creep::lower(&now, (&wanted, &floor), &codes, &part, &mut next);
                std::mem::swap(&mut now, &mut next);
            }
        }
        self.book(Operator::Sand, &now);
        // Alluvial fans, then overbank deposits. Both raise `drop` to their own slopes, so that they do not slide
        // again.
        let known = deposit::Known { beds: &carved.ground, flags, receivers: &carved.receivers, area: &carved.area };
        let parts = [0, 1, 2, 3, 4].map(|sweep| self.part(margins.fans - sweep));
        let beyond = self.part(margins.fans + deposit::REACH);
        deposit::fans(self.rules, self.width, &known, &codes, (&parts, &beyond), (&mut now, &mut drop));
        self.book(Operator::Fans, &now);
        if self.is_flooded {
            let parts: Vec<Part> = (0..=floods::SWEEPS).map(|sweep| self.part(margins.floods - sweep)).collect();
            let beyond = self.part(margins.floods + floods::REACH);
            floods::floods(self.rules, self.width, &known, &codes, (&parts, &beyond), (&mut now, &mut drop));
        }
        self.book(Operator::Floods, &now);
        let least = [self.sea.saturating_add(1), self.clear];
        let mut active = Active::new(self.size);
        // Slides. A cell that sinks may reach another bed of rock, so the limits are looked up again every few
        // sweeps.
        let even = rock.map(|_| drop.clone());
        for sweep in 1..=i64::from(self.rules.limit_sweeps) {
            if let (Some(rock), Some(even)) = (rock, even.as_ref().filter(|_| sweep % BEDS == 1)) {
                floors::by_beds(
                    rock,
                    (even, self.width * UNITS_F32 * self.rules.limit),
                    &now,
                    &self.part(margins.slide - sweep),
                    &mut drop,
                );
                active.wake();
            }
            let part = self.part(margins.slide - sweep);
            limit::sweep(&now, (flags, &drop), (&codes, least), &part, &mut active, &mut next);
            std::mem::swap(&mut now, &mut next);
        }
        self.book(Operator::Slides, &now);
        if self.rules.joins.act(self.level, self.frame.width(self.level)) {
            codes = self.join(flags, codes, (&floor, sand), (&mut now, &mut next));
        }
        self.book(Operator::Joined, &now);
        let mut finished = Plane::new(self.size, NOWHERE);
        let draw = (self.origin, mix(self.seed ^ 0x7472_6565));
        receive::receivers(&now, (flags, &codes), draw, &self.part(margins.tree), &mut finished);
        (now, finished)
    }

    /// Lets joined operators change the terrain after the slides. Returns the receivers of the terrain before that
    /// change.
    fn join(
        &self,
        flags: &Plane<u8>,
        codes: Plane<u8>,
        (floor, sand): (&Plane<i32>, Option<&Cover>),
        (now, next): (&mut Plane<i32>, &mut Plane<i32>),
    ) -> Plane<u8> {
        // Slopes that slid are above the cell that limited them, which need not be the cell to which they drained
        // before.
        let mut order = Plane::new(self.size, NOWHERE);
        let draw = (self.origin, mix(self.seed ^ 0x6a6f_696e));
        receive::receivers(now, (flags, &codes), draw, &self.part(self.margins.join - 1), &mut order);
        let place = Place {
            level: self.level,
            width: self.frame.width(self.level),
            sea: self.frame.sea,
            key: self.key,
            world: self.frame.world(self.level),
            wanted: self.wanted,
            origin: self.origin,
        };
        let known = Known { flags, codes: &order, floor, sand: sand.map(|sand| &sand.thick) };
        self.rules.joins.apply(&place, &known, self.margins.tree + 1, now, next);
        order
    }

    /// Computes the elevation to which each cell would rise by uplift, and the share of its height above its receiver
    /// that incision leaves.
    fn find_targets(
        &self,
        carved: &Carved,
        balance: &Plane<f32>,
        codes: &Plane<u8>,
        rock: Option<&Rock<'_>>,
    ) -> (Plane<i32>, Plane<f32>) {
        let (margins, rules) = (self.margins, self.rules);
        let mut shares = [0; 8].map(|_| Plane::new(self.size, 0u8));
        water::shares(&carved.ground, &carved.flags, codes, &self.part(margins.water), &mut shares);
        let mut now = Plane::new(self.size, 1.0f32);
        let mut next = now.clone();
        for sweep in 1..=i64::from(rules.water_sweeps) {
            water::sweep(&now, &shares, &self.part(margins.water - sweep), &mut next);
            std::mem::swap(&mut now, &mut next);
        }
        let mut wanted = carved.ground.clone();
        let mut left = Plane::new(self.size, 1.0f32);
        let part = self.part(margins.rise);
        let time = rules.time_on(self.width);
        let unit = self.width * UNITS_F32;
        let grain = rules.grain * std::f32::consts::LOG2_E * 1.732;
        let mut soft = vec![1.0f32; part.cols.len()];
        for i in part.rows.clone() {
            if let Some(rock) = rock {
                rock.row(&carved.ground, i, &part, &mut soft);
            }
            let row = mix((self.origin[0] + i as i64 - 1) as u32 ^ mix(self.seed ^ 0x726f_636b));
            let ground = carved.ground.span(i, &part.cols);
            let (flags, codes) = (carved.flags.span(i, &part.cols), codes.span(i, &part.cols));
            let (slope, water) = (balance.span(i, &part.cols), now.span(i, &part.cols));
            let wanted = wanted.span_mut(i, &part.cols);
            let left = left.span_mut(i, &part.cols);
            let col = self.origin[1] + part.cols.start as i64 - 1;
            wish(rules, [unit, grain, time], (row, col), (ground, flags, codes), (slope, water, &soft), (wanted, left));
        }
        (wanted, left)
    }

    /// Assembles the wanted cells with their tree.
    fn finished(
        &mut self,
        carved: &Carved,
        raw: &Plane<i32>,
        ground: Plane<i32>,
        mut codes: Plane<u8>,
        sand: Option<&Cover>,
    ) -> LocalWindow {
        // Drainage areas of hills are counted up to that of the coarser level's smallest river: 4 fine cells for each
        // of its N cells.
        let most = (4 * self.rules.river) as u8;
        let mut now = Plane::new(self.size, 1u8);
        let mut next = now.clone();
        for sweep in 1..=self.margins.tree {
            tree::sweep(&now, &codes, most, &self.part(self.margins.tree - sweep), &mut next);
            std::mem::swap(&mut now, &mut next);
        }
        let cell = self.frame.width(self.level) * self.frame.width(self.level);
        let cell = cell as f32;
        let size = self.wanted.size();
        let mut heights = Vec::with_capacity(size[0] * size[1]);
        let mut receivers = Vec::with_capacity(size[0] * size[1]);
        let mut area = Vec::with_capacity(size[0] * size[1]);
        let part = self.part(0);
        for i in part.rows.clone() {
            for (j, code) in part.cols.clone().zip(codes.span_mut(i, &part.cols)) {
                let height = ground.at(i, j);
                let under = carved.flags.at(i, j) & SEA != 0;
                // A lake's bed stays above the sea level, so that it does not count as sea.
                let least = if carved.flags.at(i, j) & LAKE != 0 { self.sea.saturating_add(1) } else { i32::MIN };
                let bed = sand.filter(|sand| sand.thick.at(i, j) > 0).map_or(raw, |sand| &sand.smooth);
                heights.push(Height(if under { bed.at(i, j).min(height).max(least) } else { height }));
                receivers.push(if height <= self.sea { OUT } else { *code });
                let counted = f32::from(now.at(i, j)) * cell;
                area.push(carved.area.at(i, j).max(counted));
            }
        }
        let lakes = carved.lakes.as_ref().and_then(|lakes| self.lakes(lakes, &ground, &part));
        let heights = Field::from_vec(size, heights).unwrap_or_else(|_| Field::new(size, Height::ZERO));
        if let Some(ledger) = &mut self.ledger {
            let rows = heights.as_slice().iter().map(|h| h.0);
            ledger.book(Operator::Seabed, self.seen.as_mut_slice(), rows);
        }
        LocalWindow {
            level: self.level,
            rect: self.wanted,
            ground: heights,
            receivers: Field::from_vec(size, receivers).unwrap_or_else(|_| Field::new(size, OUT)),
            area: Field::from_vec(size, area).unwrap_or_else(|_| Field::new(size, cell)),
            lakes,
            loose: sand.and_then(|sand| Field::from_vec(size, sand.thicknesses(&part)).ok()),
        }
    }

    /// Returns the wanted cells' lakes; `None` if there are none.
    fn lakes(&self, numbers: &Plane<u32>, ground: &Plane<i32>, part: &Part) -> Option<LakeRaster> {
        let at = |i: usize, j: usize| (part.rows.start + i, part.cols.start + j);
        let size = self.wanted.size();
        let id = Field::generate(size, |i, j| numbers.at(at(i, j).0, at(i, j).1));
        let level = |i: usize, j: usize| if id[(i, j)] == 0 { 0 } else { ground.at(at(i, j).0, at(i, j).1) };
        let level = Field::generate(size, |i, j| Height(level(i, j)));
        id.as_slice().iter().any(|id| *id != 0).then_some(LakeRaster { id, level })
    }

    /// Starts the mass balance: each wanted cell is as high as the coarse cell of which it is a part.
    fn begin(&mut self) {
        let Some(ledger) = &mut self.ledger else { return };
        let size = self.wanted.size();
        self.seen = Field::generate(size, |i, j| {
            let world = [self.wanted.start[0] + i as i64, self.wanted.start[1] + j as i64];
            let [r, c] = [0, 1].map(|axis| (world[axis].div_euclid(2) - self.coarse.rect.start[axis]) as usize);
            self.coarse.ground[(r, c)]
        });
        ledger.before = self.seen.as_slice().iter().map(|h| i128::from(h.0)).sum();
    }

    /// Records an operator's change to the wanted cells.
    fn book(&mut self, operator: Operator, ground: &Plane<i32>) {
        let part = self.part(0);
        let Some(ledger) = &mut self.ledger else { return };
        for (i, row) in part.rows.clone().enumerate() {
            ledger.book(operator, self.seen.row_mut(i), ground.span(row, &part.cols).iter().copied());
        }
    }
}

/// Computes a row of [`Work::find_targets`].
#[multiversion::multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl", "x86_64+avx2"))]
fn wish(
    rules: &Rules,
    [unit, grain, time]: [f32; 3],
    (row, col): (u32, i64),
    (ground, flags, codes): (&[i32], &[u8], &[u8]),
    (slope, water, soft): (&[f32], &[f32], &[f32]),
    (wanted, left): (&mut [i32], &mut [f32]),
) {
    let (uplift, exponent, balance) = (rules.uplift, rules.exponent, 1.0 / rules.balance);
    let (limit, steepest) = (rules.limit, 1.0 / rules.limit);
    for x in (0..wanted.len()).step_by(LANES) {
        let (ground, flags, codes) =
            (take::<_, LANES>(ground, x), take::<_, LANES>(flags, x), take::<_, LANES>(codes, x));
        let (slope, water, soft) = (take::<_, LANES>(slope, x), take::<_, LANES>(water, x), take::<_, LANES>(soft, x));
        let (mut rises, mut keeps) = (ground, [1.0f32; LANES]);
        for l in 0..LANES {
            let hash = mix(row ^ (col as u32).wrapping_add((x + l) as u32).wrapping_mul(0x85eb_ca77));
            // Uniformly distributed. `grain` includes √3, so that the standard deviation is that of the rules, and
            // log₂ e, for `exp2`.
            let rock = grain * (hash as f32 * (1.0 / 2_147_483_648.0) - 1.0);
            // The nearer a slope is to the angle at which rock slides, the less of it is shaped by rivers.
            let time = time * (1.0 - slope[l] * steepest).max(0.1);
            let strength = time * soft[l] * exp2(exponent * log2(water[l].max(1.0) * balance) + rock);
            let free = flags[l] & (RIVER | SEA) == 0 && codes[l] != OUT;
            // Uplift is limited: where the rock would become steeper than it can be, it would only slide again.
            let up = cast::floor((unit * (uplift * time * slope[l]).min(strength * limit)).min(268_435_456.0));
            rises[l] = if free { ground[l].wrapping_add(up).min(Height::MAX.0) } else { ground[l] };
            keeps[l] = if free { 1.0 / (1.0 + strength) } else { 1.0 };
        }
        put(wanted, x, &rises);
        put(left, x, &keeps);
    }
}
