//! [`Forest`]: individual plants that germinate, grow, seed and die, and whose roots hold the soil.
//!
//! The rules are those of McDonald (2020, *Procedural Hydrology*), in world units: seeds fall per square kilometre
//! and fly a distance in metres, whatever the cell width. Any model can maintain a forest: it reads the forest from
//! the terrain's table, steps it along with its own steps, uses its density, and writes it back.

mod kinds;
mod roots;
mod site;
mod stand;
mod table;

use rayon::prelude::*;

pub use kinds::{KINDS, PlantForm, PlantKind, find_kind};
pub use site::PlantSite;
pub use stand::{generate_stand, stand_reach};
pub use table::TREES;

use roots::{MAX_CELLS, Roots};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::LayerSpec;
use thalweg_core::{Cell, Error, Field, Grid, Height, Result, Size};

/// The fertility of the soil.
pub const FERTILITY: LayerSpec = LayerSpec::floats("fertility", "1", "Share of seeds that grow on the soil, 0 to 1.");

/// The size of a plant that has just taken root, relative to a full-grown one.
const YOUNG: f32 = 0.5;

/// The greatest number of plants in a forest, which take 64 bytes and more each; also the greatest number of
/// spontaneous seeds in a step.
pub const MAX_TREES: f64 = 5e7;

/// The number of plants that one task steps.
const CHUNK: usize = 1 << 12;

thalweg_core::with_defaults! {
    /// The rules of a forest. The defaults are those of the article, with a patch of 5 m for its cell and a year for
    /// its step.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub struct ForestRules {
        /// Spontaneous seeds that fall on each km² in a step.
        pub spawn: f64 = 20.0,
        /// Share of the missing size that a plant grows in a step.
        pub grow: f32 = 0.05,
        /// Probability that a plant sheds a seed in a step.
        pub seed: f64 = 0.02,
        /// Greatest distance that a seed flies along either axis, in metres.
        pub spread: f64 = 20.0,
        /// Probability that a plant dies in a step.
        pub death: f64 = 0.001,
        /// Discharge in m³/s above which no plant grows in a cell.
        pub stream: f32 = 0.05,
        /// Greatest depth of water in metres, in the layer `water`, in which plants can grow.
        pub water: f32 = 0.05,
        /// Root density (without unit) from which on no more plants take root.
        pub cap: f32 = 1.0,
        /// Side in metres of the square of ground that a plant's roots hold, which corresponds to the article's cell.
        /// Roots extend, more weakly, to one and a half times this distance from the plant.
        pub patch: f64 = 5.0,
        /// Elevation of the tree line above the sea in metres.
        pub tree_line: f32 = 1800.0,
        /// Transmissivity of the soil in m²/s: the seepage that it carries before it is saturated.
        pub transmissivity: f32 = 2e-4,
        /// Weight of each of [`KINDS`] among spontaneous seeds; a kind of weight 0 never takes root.
        pub shares: [f32; KINDS.len()] = [1.0; KINDS.len()],
    }
}

impl ForestRules {
    /// Checks whether the rules suit a grid.
    ///
    /// # Errors
    /// Returns an error if the patch is not a positive length or is too many cells wide, or if there can be more
    /// plants or seeds than [`MAX_TREES`].
    pub fn check(&self, grid: &Grid) -> Result<()> {
        self.check_with_names(["patch", "spawn"], grid)
    }

    /// Works like [`ForestRules::check`], with the caller's names for patch and spawn in messages.
    pub(crate) fn check_with_names(&self, [patch, spawn]: [&str; 2], grid: &Grid) -> Result<()> {
        let max_patch = MAX_CELLS * grid.cell;
        if !(self.patch > 0.0 && self.patch <= max_patch) {
            let allowed = format!("more than 0, at most {max_patch} m ({MAX_CELLS} cells)");
            return Err(Error::invalid_value(patch, format!("{} m", self.patch), allowed));
        }
        let trees = self.estimate_capacity(grid);
        let seeds = self.spawn * compute_area_km2(grid);
        if trees > MAX_TREES || seeds > MAX_TREES {
            let (what, hint) = match trees > MAX_TREES {
                true => ("plants", format!("a wider {patch}")),
                false => ("seeds per step", format!("a smaller {spawn}")),
            };
            return Err(Error::TooLarge {
                what: format!("the forest (use {hint})"),
                need: format!("up to {:.0} {what}", trees.max(seeds)),
                have: format!("{MAX_TREES:.0}"),
            });
        }
        Ok(())
    }

    /// Returns an estimate of the number of plants that there is room for, if all are of the kind that grows most
    /// densely.
    pub fn estimate_capacity(&self, grid: &Grid) -> f64 {
        // A plant of strength 1 holds five patches: its own and its eight neighbours, 1 + 4·0.6 + 4·0.4.
        let held = |kind: &PlantKind| f64::from(kind.roots * kind.patch * kind.patch) * 5.0 * self.patch * self.patch;
        let smallest_area = KINDS.iter().zip(self.shares).filter(|(kind, share)| *share > 0.0 && kind.shore.is_none());
        let smallest_area = smallest_area.map(|(kind, _)| held(kind)).fold(f64::INFINITY, f64::min);
        compute_area_km2(grid) * 1e6 * f64::from(self.cap) / smallest_area
    }
}

/// Returns the area of a grid's window in km².
fn compute_area_km2(grid: &Grid) -> f64 {
    grid.len() as f64 * grid.cell_area() / 1e6
}

/// A single plant.
///
/// # Examples
/// ```
/// use thalweg_core::Cell;
/// use thalweg_models::process::forest::Tree;
///
/// let (cell, part) = Tree::split_position(Cell::new(2.5, 7.25), [10, 10]).unwrap();
/// let tree = Tree { number: 0, cell, part, kind: 1, size: 0.5, age: 14, patch: 5.0 };
/// assert_eq!(tree.position(), Cell::new(2.5, 7.25));
/// assert_eq!(tree.kind().name, "broadleaf");
/// // Half grown, it is half as high as the tallest trees of its kind at most.
/// assert!(tree.height() <= 0.5 * 1.2 * tree.kind().height);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tree {
    /// The plant's number, unique among living plants.
    pub number: u64,
    /// The row and column of its cell, in the terrain.
    pub cell: Cell<u32>,
    /// Its position within the cell, southward and eastward, in 1/65536 of the cell width.
    pub part: Cell<u16>,
    /// The index of its kind in [`KINDS`].
    pub kind: u8,
    /// Its size relative to a full-grown plant, above 0 and up to 1.
    pub size: f32,
    /// The number of steps that it has lived.
    pub age: u32,
    /// The side of its patch of roots in metres.
    pub patch: f32,
}

impl Tree {
    /// Returns its position in rows and columns from the terrain's north-western corner.
    pub fn position(&self) -> Cell<f64> {
        Cell::from_axes(|a| f64::from(self.cell[a]) + f64::from(self.part[a]) / 65_536.0)
    }

    /// Converts a position, in rows and columns from the north-western corner of a terrain of `size`, to the values
    /// of [`Tree::cell`] and [`Tree::part`]. Returns `None` outside the terrain.
    pub fn split_position(at: Cell<f64>, size: Size) -> Option<(Cell<u32>, Cell<u16>)> {
        let inside = |a: usize| (0.0..size[a] as f64).contains(&at[a]);
        (inside(0) && inside(1)).then(|| (at.map(|at| at as u32), at.map(fraction_u16)))
    }

    /// Returns the properties of its kind.
    pub fn kind(&self) -> &'static PlantKind {
        &KINDS[usize::from(self.kind).min(KINDS.len() - 1)]
    }

    /// Returns its height in metres. Plants of a kind vary by up to a fifth.
    pub fn height(&self) -> f32 {
        self.kind().height * self.size * self.vigour()
    }

    /// Returns the width of its crown in metres.
    pub fn crown(&self) -> f32 {
        self.kind().crown * self.size * self.vigour()
    }

    /// Returns its individual size factor relative to others of its kind, 0.8 to 1.2.
    pub fn vigour(&self) -> f32 {
        // The factor depends on the number alone, so it need not be stored.
        0.8 + 0.4 * RandomKey::ZERO.derive_key(self.number).uniform_unit() as f32
    }
}

/// Returns the fractional part of a row or column position in 1/65536, as for [`Tree::part`].
fn fraction_u16(at: f64) -> u16 {
    ((at - at.floor()) * 65_536.0) as u16
}

/// Returns the elevation in metres at a position (as [`Tree::position`]), interpolated bilinearly between the cells'
/// centres.
pub fn ground_under(ground: &Field<Height>, at: Cell<f64>) -> f64 {
    let along = |a: usize| {
        let last = ground.size()[a] - 1;
        // Values belong to the centres of cells, half a cell from their corners.
        let x = (at[a] - 0.5).clamp(0.0, last as f64);
        (x as usize, (x as usize + 1).min(last), x.fract())
    };
    let ((north, south, v), (west, east, u)) = (along(0), along(1));
    let row = |i: usize| ground[(i, west)].metres() * (1.0 - u) + ground[(i, east)].metres() * u;
    row(north) * (1.0 - v) + row(south) * v
}

/// Salts of the random keys derived from a step's key; the plants' own numbers are below them.
const SEEDLING: u64 = 1 << 63;
const SPAWN: u64 = SEEDLING + (1 << 62);

/// The plants of a terrain, in the order of their numbers, and the density of their roots.
///
/// # Examples
/// A forest is stored in the terrain: the plants in the table `trees`, the density of their roots in a layer.
///
/// ```
/// use thalweg_core::{Cell, Grid, Terrain};
/// use thalweg_models::process::forest::{Forest, Tree};
///
/// let mut terrain = Terrain::new(Grid::new([10, 10], 10.0)?);
/// let (cell, part) = (Cell::new(2, 7), Cell::new(0, 0));
/// let tree = Tree { number: 0, cell, part, kind: 1, size: 1.0, age: 80, patch: 5.0 };
/// Forest::from_trees(vec![tree], &terrain.grid)?.write(&mut terrain)?;
/// assert!(terrain.tables.contains_key("trees"));
/// assert_eq!(Forest::read(&terrain)?.trees(), [tree]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Forest {
    trees: Vec<Tree>,
    roots: Roots,
    /// The width of a cell in metres.
    cell: f64,
}

/// A seed that has reached the ground.
struct LandedSeed {
    at: Cell<f64>,
    /// The random key that decides whether it takes root.
    key: RandomKey,
    /// Its kind; `None` lets the ground decide.
    kind: Option<u8>,
}

impl Forest {
    /// Returns the plants, in the order of their numbers.
    pub fn trees(&self) -> &[Tree] {
        &self.trees
    }

    /// Returns the sum of the roots' strengths in each cell; 1 holds the soil completely.
    pub fn root_density(&self) -> &Field<f32> {
        self.roots.density()
    }

    /// Advances the forest by one step on a site of the same grid: plants die of water and of age, grow, and seed;
    /// spontaneous seeds fall too. `key` is the step's random key. Returns how many plants took root and how many
    /// died.
    ///
    /// Afterwards no plant stands in water. The probability that a seed takes root is its kind's chance at that place
    /// times (1 − density/cap), where the density is the mean below the roots that it would have. Finer cells
    /// therefore offer no additional room, a full place accepts no more plants, and the forest's size is bounded.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::base::rng::RandomKey;
    /// use thalweg_core::{Field, Grid, Height};
    /// use thalweg_models::process::forest::{Forest, ForestRules, PlantSite};
    ///
    /// let grid = Grid::new([20, 20], 10.0)?;
    /// let ground = Field::new(grid.size, Height::from_metres_clamped(300.0));
    /// let site = PlantSite {
    ///     grid: &grid,
    ///     ground: &ground,
    ///     nodata: None,
    ///     pool: None,
    ///     water: None,
    ///     discharge: None,
    ///     fertility: None,
    /// };
    /// // 2500 seeds on each km² are 100 on these 4 ha; the first of them finds bare ground.
    /// let rules = ForestRules { spawn: 2500.0, ..ForestRules::default() };
    /// let mut forest = Forest::new(&grid);
    /// let (born, died) = forest.advance_step(&site, &rules, RandomKey::new(1, "year 1"));
    /// assert!(born > 0 && died == 0);
    /// assert_eq!(forest.trees().len() as u64, born);
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn advance_step(&mut self, site: &PlantSite<'_>, rules: &ForestRules, key: RandomKey) -> (u64, u64) {
        let live = |chunk: &mut [Tree]| {
            let (mut dead, mut seeds) = (Vec::new(), Vec::new());
            for tree in chunk {
                self::advance_plant(tree, site, rules, key, &mut dead, &mut seeds);
            }
            (dead, seeds)
        };
        // First, all plants live through the step in parallel; none reads another one.
        let lots: Vec<_> = self.trees.par_chunks_mut(CHUNK).map(live).collect();
        let mut died = 0;
        for tree in lots.iter().flat_map(|(dead, _)| dead) {
            self.roots.remove(tree.position(), f64::from(tree.patch) / self.cell, tree.kind().roots);
            died += 1;
        }
        // Then the dead are removed with their roots, which makes room for seeds of the same step.
        if died > 0 {
            self.trees.retain(|tree| tree.size > 0.0);
        }
        // Last, seeds take root one after another, in the order of plants and then of spontaneous seeds: each one
        // changes the density that the next one finds.
        let mut born = 0;
        let own = lots.into_iter().flat_map(|(_, seeds)| seeds);
        for seed in own.chain(spawn_seeds(site.grid, rules, key)) {
            born += u64::from(self.plant_seed(&seed, site, rules));
        }
        (born, died)
    }

    /// Lets a seed take root, if it can. Returns true if it did.
    fn plant_seed(&mut self, seed: &LandedSeed, site: &PlantSite<'_>, rules: &ForestRules) -> bool {
        let Some((cell, part)) = Tree::split_position(seed.at, site.grid.size) else { return false };
        let Cell { row: i, col: j } = cell.map(|n| n as usize);
        let chances = site.rooting_chances(i, j, rules);
        let weights: [f32; KINDS.len()] = std::array::from_fn(|k| chances[k] * rules.shares[k]);
        let (kind, chance) = match seed.kind {
            Some(kind) => (kind, if rules.shares[usize::from(kind)] > 0.0 { chances[usize::from(kind)] } else { 0.0 }),
            None => (
                draw_kind(&weights, seed.key.derive_key(1).uniform_unit() as f32),
                chances.iter().zip(weights).filter(|(_, w)| *w > 0.0).map(|(c, _)| *c).fold(0.0, f32::max),
            ),
        };
        let patch = rules.patch as f32 * KINDS[usize::from(kind)].patch;
        let luck = seed.key.derive_key(2).uniform_unit();
        // Test the habitat first, because most seeds fail there and the density is costly.
        if luck >= f64::from(chance) {
            return false;
        }
        let room = 1.0 - self.roots.crowding(seed.at, f64::from(patch) / self.cell) / f64::from(rules.cap);
        if luck >= f64::from(chance) * room {
            return false;
        }
        // Plants are in the order of their numbers, so the last one has the highest.
        let number = self.trees.last().map_or(0, |last| last.number + 1);
        let tree = Tree { number, cell, part, kind, size: YOUNG, age: 0, patch };
        self.roots.add(tree.position(), f64::from(patch) / self.cell, tree.kind().roots);
        self.trees.push(tree);
        true
    }
}

/// Advances one plant by a step. A plant that dies is added to `dead` and gets size 0.
#[inline]
fn advance_plant(
    tree: &mut Tree,
    site: &PlantSite<'_>,
    rules: &ForestRules,
    key: RandomKey,
    dead: &mut Vec<Tree>,
    seeds: &mut Vec<LandedSeed>,
) {
    let [grow, seed, death] = tree.kind().pace;
    let own = key.derive_key(tree.number);
    // The numbers depend on the step's key and the plant's number, so the order of plants has no influence.
    let [fate, fruit] = own.uniform_pair();
    let Cell { row: i, col: j } = tree.cell.map(|n| n as usize);
    if fate < rules.death * f64::from(death) || !site.is_land(i, j, rules) {
        dead.push(*tree);
        tree.size = 0.0;
        return;
    }
    // The missing size shrinks by a constant share, so a plant approaches its full size and never exceeds it.
    tree.size += (rules.grow * grow).min(1.0) * (1.0 - tree.size);
    tree.age = tree.age.saturating_add(1);
    if fruit < rules.seed * f64::from(seed) {
        let key = key.derive_key(SEEDLING | tree.number);
        let reach = rules.spread / site.grid.cell;
        let (from, flight) = (tree.position(), key.uniform_pair());
        let at = Cell::from_axes(|a| from[a] + (2.0 * flight[a] - 1.0) * reach);
        seeds.push(LandedSeed { at, key, kind: Some(tree.kind) });
    }
}

/// Returns the spontaneous seeds of a step, over the whole grid. Their positions scale with the grid's extent and do
/// not depend on the cell width.
fn spawn_seeds(grid: &Grid, rules: &ForestRules, key: RandomKey) -> impl Iterator<Item = LandedSeed> + use<> {
    let key = key.derive_key(SPAWN);
    let (size, expected) = (grid.size, rules.spawn * compute_area_km2(grid));
    // The fractional part of the expected count is the probability of one more seed.
    let count = (expected + key.uniform_unit()) as u64;
    (0..count).map(move |n| {
        let key = key.derive_key(n);
        let [y, x] = key.uniform_pair();
        LandedSeed { at: Cell::new(y * size[0] as f64, x * size[1] as f64), key, kind: None }
    })
}

/// Draws a kind with probabilities proportional to the weights.
fn draw_kind(weights: &[f32; KINDS.len()], unit: f32) -> u8 {
    let mut remaining = unit * weights.iter().sum::<f32>();
    // If rounding leaves a rest after all weights, the last kind with a weight is drawn.
    let mut last = 0;
    for (number, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
        last = number as u8;
        if remaining < *weight {
            break;
        }
        remaining -= weight;
    }
    last
}

#[cfg(test)]
mod tests;
