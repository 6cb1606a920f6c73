//! [`Forest`]: plants as things, which spawn, grow, seed and die beside the water, and whose roots hold the soil.
//!
//! The rules are those of McDonald (2020, *Procedural Hydrology*), in world terms: seeds fall on so many square kilometres
//! and fly so many metres, whatever the cells. Any model may keep a forest: it reads it from the terrain's table, lets
//! it step beside its own steps, heeds its density, and writes it back.

mod kinds;
mod roots;
mod site;
mod stand;
mod table;

use rayon::prelude::*;

pub use kinds::{KINDS, PlantForm, PlantKind, find};
pub use site::PlantSite;
pub use stand::{stand, stand_reach};
pub use table::TREES;

use roots::{MAX_CELLS, Roots};
use thalweg_core::base::rng::Key;
use thalweg_core::terrain::LayerSpec;
use thalweg_core::{Cell, Error, Field, Grid, Height, Result, Size};

/// Where plants may grow.
pub const FERTILITY: LayerSpec = LayerSpec::floats("fertility", "1", "Share of the seeds that the soil bears, 0 to 1.");

/// Size of a plant that has just taken root, of a grown one's.
const YOUNG: f32 = 0.5;

/// Most plants that a forest may come to, 64 bytes and more each; and most seeds from nowhere in a step.
pub const MAX_TREES: f64 = 5e7;

/// Plants stepped together by one thread.
const CHUNK: usize = 1 << 12;

thalweg_core::with_defaults! {
    /// How a forest lives. The defaults are the article's, on a patch of 5 m for its cell and a year for its step.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub struct ForestRules {
        /// Seeds that fall on each km² in a step, from nowhere.
        pub spawn: f64 = 20.0,
        /// Share of what a plant lacks in size that it grows in a step.
        pub grow: f32 = 0.05,
        /// Chance that a plant seeds another in a step.
        pub seed: f64 = 0.02,
        /// How far a seed flies along either axis at most, in metres.
        pub spread: f64 = 20.0,
        /// Chance that a plant dies in a step.
        pub death: f64 = 0.001,
        /// Discharge in m³/s above which no plant stands in a cell.
        pub stream: f32 = 0.05,
        /// Greatest depth of water in metres, of the layer of water, that a plant still stands in.
        pub water: f32 = 0.05,
        /// Density, without unit, from which on no more plants take root.
        pub cap: f32 = 1.0,
        /// Side of the ground in metres that a plant's roots hold, the article's cell; they reach half as far again.
        pub patch: f64 = 5.0,
        /// Elevation of the tree line above the sea in metres.
        pub tree_line: f32 = 1800.0,
        /// Transmissivity of the soil in m²/s: what seeps through it before it is saturated.
        pub transmissivity: f32 = 2e-4,
        /// Weight of each of [`KINDS`] among the seeds from nowhere; a kind of weight 0 takes no root at all.
        pub shares: [f32; KINDS.len()] = [1.0; KINDS.len()],
    }
}

impl ForestRules {
    /// Checks what a grid makes of the rules.
    ///
    /// # Errors
    /// A patch that is no length or too many cells wide, more plants or seeds than [`MAX_TREES`].
    pub fn check(&self, grid: &Grid) -> Result<()> {
        self.check_for(["patch", "spawn"], grid)
    }

    /// As [`ForestRules::check`]; messages call patch and spawn as they are called.
    pub(crate) fn check_for(&self, [patch, spawn]: [&str; 2], grid: &Grid) -> Result<()> {
        let most = MAX_CELLS * grid.cell;
        if !(self.patch > 0.0 && self.patch <= most) {
            let allowed = format!("above 0 to {most} m ({MAX_CELLS} cells)");
            return Err(Error::value(patch, format!("{} m", self.patch), allowed));
        }
        let trees = self.most(grid);
        let seeds = self.spawn * area(grid);
        if trees > MAX_TREES || seeds > MAX_TREES {
            let (what, hint) = match trees > MAX_TREES {
                true => ("plants", format!("a wider {patch}")),
                false => ("seeds a step", format!("a smaller {spawn}")),
            };
            return Err(Error::TooLarge {
                what: "the forest".into(),
                need: format!("up to {:.0} {what}", trees.max(seeds)),
                have: format!("{MAX_TREES:.0}; {hint} makes fewer"),
            });
        }
        Ok(())
    }

    /// About how many plants there is room for: all of the kind that packs closest.
    pub fn most(&self, grid: &Grid) -> f64 {
        let held = |kind: &PlantKind| f64::from(kind.roots * kind.patch * kind.patch) * 5.0 * self.patch * self.patch;
        let least = KINDS.iter().zip(self.shares).filter(|(kind, share)| *share > 0.0 && kind.shore.is_none());
        let least = least.map(|(kind, _)| held(kind)).fold(f64::INFINITY, f64::min);
        area(grid) * 1e6 * f64::from(self.cap) / least
    }
}

/// Area of a grid's window in km².
fn area(grid: &Grid) -> f64 {
    grid.len() as f64 * grid.cell_area() / 1e6
}

/// A plant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tree {
    /// Its number, which no plant alive shares.
    pub number: u64,
    /// Row and column of its cell, in the terrain.
    pub cell: Cell<u32>,
    /// The part of the cell's row and column at which it stands, in 1/65536.
    pub part: Cell<u16>,
    /// Number of its kind in [`KINDS`].
    pub kind: u8,
    /// Size as a share of a grown one's, above 0 to 1.
    pub size: f32,
    /// Steps that it has lived.
    pub age: u32,
    /// Side of its patch of roots in metres.
    pub patch: f32,
}

impl Tree {
    /// Where it stands: rows and columns of cells from the terrain's north-western corner.
    pub fn at(&self) -> Cell<f64> {
        Cell::from_axes(|a| f64::from(self.cell[a]) + f64::from(self.part[a]) / 65_536.0)
    }

    /// A place, in rows and columns from the north-western corner of a terrain of `size`, as [`Tree::cell`] and
    /// [`Tree::part`]; `None` outside.
    pub fn placed(at: Cell<f64>, size: Size) -> Option<(Cell<u32>, Cell<u16>)> {
        let inside = |a: usize| (0.0..size[a] as f64).contains(&at[a]);
        (inside(0) && inside(1)).then(|| (at.map(|at| at as u32), at.map(part_of)))
    }

    /// What is known of its kind.
    pub fn kind(&self) -> &'static PlantKind {
        &KINDS[usize::from(self.kind).min(KINDS.len() - 1)]
    }

    /// Height in metres. No two of a kind grow alike: by up to a fifth.
    pub fn height(&self) -> f32 {
        self.kind().height * self.size * self.vigour()
    }

    /// Width of its crown in metres.
    pub fn crown(&self) -> f32 {
        self.kind().crown * self.size * self.vigour()
    }

    /// How tall it grows beside others of its kind: a factor, 0.8 to 1.2.
    pub fn vigour(&self) -> f32 {
        0.8 + 0.4 * Key::ZERO.and(self.number).unit() as f32
    }
}

/// The part of a row or column at which a position is, in 1/65536, as [`Tree::part`].
fn part_of(at: f64) -> u16 {
    ((at - at.floor()) * 65_536.0) as u16
}

/// Elevation in metres of the ground under a place (as [`Tree::at`]), linear between the cells' centres.
pub fn ground_under(ground: &Field<Height>, at: Cell<f64>) -> f64 {
    let along = |a: usize| {
        let last = ground.size()[a] - 1;
        let x = (at[a] - 0.5).clamp(0.0, last as f64);
        (x as usize, (x as usize + 1).min(last), x.fract())
    };
    let ((north, south, v), (west, east, u)) = (along(0), along(1));
    let row = |i: usize| ground[(i, west)].metres() * (1.0 - u) + ground[(i, east)].metres() * u;
    row(north) * (1.0 - v) + row(south) * v
}

/// What keys are for within a step's; plants' own numbers are below them.
const SEEDLING: u64 = 1 << 63;
const SPAWN: u64 = SEEDLING + (1 << 62);

/// The plants of a terrain, in the order of their numbers, and the density of their roots.
#[derive(Debug, Clone, PartialEq)]
pub struct Forest {
    trees: Vec<Tree>,
    roots: Roots,
    /// Side of a cell in metres.
    cell: f64,
}

/// A seed that lies on the ground.
struct Seed {
    at: Cell<f64>,
    /// What decides whether it takes root.
    key: Key,
    /// Its kind; `None` leaves it to the ground.
    kind: Option<u8>,
}

impl Forest {
    /// The plants, in the order of their numbers.
    pub fn trees(&self) -> &[Tree] {
        &self.trees
    }

    /// Sum of the roots' strengths by cell: 1 holds the ground wholly.
    pub fn density(&self) -> &Field<f32> {
        self.roots.density()
    }

    /// Lets the forest live a step on a site of its own grid: plants die of water and of age, grow, and seed; seeds from
    /// nowhere fall too. `key` is the step's own. Returns how many took root and how many died.
    ///
    /// Afterwards none stands in water. A seed takes root with the chance that its kind has there times 1 − density/cap,
    /// the density being the mean under the roots that it would have: so finer cells do not find more room, a place that is full
    /// bears no more, and the forest's size is bounded.
    pub fn step(&mut self, site: &PlantSite<'_>, rules: &ForestRules, key: Key) -> (u64, u64) {
        let live = |chunk: &mut [Tree]| {
            let (mut dead, mut seeds) = (Vec::new(), Vec::new());
            for tree in chunk {
                self::live(tree, site, rules, key, &mut dead, &mut seeds);
            }
            (dead, seeds)
        };
        let lots: Vec<_> = self.trees.par_chunks_mut(CHUNK).map(live).collect();
        let mut died = 0;
        for tree in lots.iter().flat_map(|(dead, _)| dead) {
            self.roots.remove(tree.at(), f64::from(tree.patch) / self.cell, tree.kind().roots);
            died += 1;
        }
        if died > 0 {
            self.trees.retain(|tree| tree.size > 0.0);
        }
        let mut born = 0;
        let own = lots.into_iter().flat_map(|(_, seeds)| seeds);
        for seed in own.chain(spawned(site.grid, rules, key)) {
            born += u64::from(self.sprout(&seed, site, rules));
        }
        (born, died)
    }

    /// Lets a seed take root, if it can.
    fn sprout(&mut self, seed: &Seed, site: &PlantSite<'_>, rules: &ForestRules) -> bool {
        let Some((cell, part)) = Tree::placed(seed.at, site.grid.size) else { return false };
        let Cell { row: i, col: j } = cell.map(|n| n as usize);
        let chances = site.bears(i, j, rules);
        let weights: [f32; KINDS.len()] = std::array::from_fn(|k| chances[k] * rules.shares[k]);
        let (kind, chance) = match seed.kind {
            Some(kind) => (kind, if rules.shares[usize::from(kind)] > 0.0 { chances[usize::from(kind)] } else { 0.0 }),
            None => (
                draw(&weights, seed.key.and(1).unit() as f32),
                chances.iter().zip(weights).filter(|(_, w)| *w > 0.0).map(|(c, _)| *c).fold(0.0, f32::max),
            ),
        };
        let patch = rules.patch as f32 * KINDS[usize::from(kind)].patch;
        let luck = seed.key.and(2).unit();
        // Most fail for the ground alone.
        if luck >= f64::from(chance) {
            return false;
        }
        let room = 1.0 - self.roots.crowding(seed.at, f64::from(patch) / self.cell) / f64::from(rules.cap);
        if luck >= f64::from(chance) * room {
            return false;
        }
        let number = self.trees.last().map_or(0, |last| last.number + 1);
        let tree = Tree { number, cell, part, kind, size: YOUNG, age: 0, patch };
        self.roots.add(tree.at(), f64::from(patch) / self.cell, tree.kind().roots);
        self.trees.push(tree);
        true
    }
}

/// A step of one plant's life. One that dies is left without size.
#[inline]
fn live(
    tree: &mut Tree,
    site: &PlantSite<'_>,
    rules: &ForestRules,
    key: Key,
    dead: &mut Vec<Tree>,
    seeds: &mut Vec<Seed>,
) {
    let [grow, seed, death] = tree.kind().pace;
    let own = key.and(tree.number);
    let [fate, fruit] = own.pair();
    let Cell { row: i, col: j } = tree.cell.map(|n| n as usize);
    if fate < rules.death * f64::from(death) || !site.is_land(i, j, rules) {
        dead.push(*tree);
        tree.size = 0.0;
        return;
    }
    tree.size += (rules.grow * grow).min(1.0) * (1.0 - tree.size);
    tree.age = tree.age.saturating_add(1);
    if fruit < rules.seed * f64::from(seed) {
        let key = key.and(SEEDLING | tree.number);
        let reach = rules.spread / site.grid.cell;
        let (from, flight) = (tree.at(), key.pair());
        let at = Cell::from_axes(|a| from[a] + (2.0 * flight[a] - 1.0) * reach);
        seeds.push(Seed { at, key, kind: Some(tree.kind) });
    }
}

/// The seeds from nowhere of a step, over the whole grid; their places are metres, so that cells do not show.
fn spawned(grid: &Grid, rules: &ForestRules, key: Key) -> impl Iterator<Item = Seed> + use<> {
    let key = key.and(SPAWN);
    let (size, expected) = (grid.size, rules.spawn * area(grid));
    // A part of a seed is a chance of one.
    let count = (expected + key.unit()) as u64;
    (0..count).map(move |n| {
        let key = key.and(n);
        let [y, x] = key.pair();
        Seed { at: Cell::new(y * size[0] as f64, x * size[1] as f64), key, kind: None }
    })
}

/// One of the kinds, by their weights.
fn draw(weights: &[f32; KINDS.len()], unit: f32) -> u8 {
    let mut left = unit * weights.iter().sum::<f32>();
    let mut last = 0;
    for (number, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
        last = number as u8;
        if left < *weight {
            break;
        }
        left -= weight;
    }
    last
}

#[cfg(test)]
mod tests;
