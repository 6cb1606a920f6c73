//! The properties of each cell on which materials depend: the [`Factor`]s.

use rayon::prelude::*;

use super::materials::{FACTORS, Factor};
use super::rules::TextureRules;
use crate::products::slope::central_gradient;
use crate::products::wetness::{WetnessRules, find_or_route_discharge, wetness_from_discharge};
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::{POOL, TREE_DENSITY};
use thalweg_core::{Cell, Field, Grid, Height, Result, Terrain};
use thalweg_flow::{D8, Neighbourhood, hydraulic};
use thalweg_models::models::glacier::ICE;
use thalweg_noise::fractal::{Fractal, FractalSettings};

/// The amplitude in degrees of the noise on slopes, which keeps the edges of belts irregular.
const SLOPE_RUFFLE: f32 = 2.0;
/// The amplitude in metres of the noise on the tree line.
const TREE_RUFFLE: f32 = 110.0;
/// The height in metres by which the snow line is raised, by noise and on crests.
const SNOW_RUFFLE: f32 = 90.0;
/// The change of the tree line per metre of the snow line's shade.
const TREE_SHADE: f32 = -0.4;
/// The distance in metres after which a third (1/e) of the rockfall remains.
const ROLL: f32 = 130.0;
/// The slopes in degrees above which rock starts to fall, and at which it falls fully.
const CLIFF: [f32; 2] = [35.0, 45.0];
/// The least slope in degrees on which fallen rock moves on.
const ROLLS: f32 = 17.0;
/// The distance in metres over which hollows and crests are measured.
const HOLLOW: f64 = 45.0;
/// The least width of a river in cells for it to be drawn.
const NARROW: f64 = 0.05;
/// The share of its cell that a narrow river covers.
const BED: f32 = 0.7;
/// The height above the sea where there is no sea.
const NO_SEA_HEIGHT_M: f32 = 1e6;
/// Hundredths of 1/m: the unit of hollows.
const HUNDREDTHS: f64 = 100.0;

/// Returns the least discharge in m³/s of a river on cells of `cell` metres ([`TextureRules::river`]).
pub fn min_river_discharge(rules: &TextureRules, cell: f64) -> f32 {
    (rules.river as f32).max(hydraulic::discharge_from_width((NARROW * cell) as f32))
}

/// The properties of a terrain's cells, computed before materials are applied.
pub(super) struct CoverSite<'a> {
    terrain: &'a Terrain,
    rules: &'a TextureRules,
    /// The slope in degrees ([`steepness_degrees`]).
    pub slope: Field<f32>,
    /// See [`Factor::Hollow`].
    pub hollow: Field<f32>,
    /// See [`Factor::Wetness`].
    pub wet: Field<f32>,
    /// See [`Factor::River`].
    pub river: Field<f32>,
    rockfall: Field<f32>,
    /// Noise with a standard deviation of a third: broad, and fine.
    ruffle: [Field<f32>; 2],
}

/// Returns noise over a grid in world metres, with a standard deviation of a third; it is the same for any window of
/// the world.
pub(super) fn generate_noise(grid: &Grid, number: u64, octaves: u32, wavelength: f64) -> Field<f32> {
    let fractal =
        Fractal::new(&FractalSettings::fbm(octaves, wavelength, 0.6), None, RandomKey::ZERO.derive_key(number), grid);
    let mut out = Field::new(grid.size, 0.0);
    out.par_rows_mut().for_each(|(i, row)| fractal.fill_row(grid, i, row));
    out
}

impl<'a> CoverSite<'a> {
    /// Computes the properties of a terrain's cells.
    ///
    /// # Errors
    /// Returns the errors of [`wetness_from_discharge`].
    pub fn from_terrain(terrain: &'a Terrain, rules: &'a TextureRules) -> Result<Self> {
        let grid = &terrain.grid;
        let slope = Field::from_fn(grid.size, |i, j| steepness_degrees(terrain, i, j));
        let discharge = find_or_route_discharge(terrain, rules.runoff);
        let wet = wetness_from_discharge(
            terrain,
            &WetnessRules { runoff: rules.runoff, ..WetnessRules::default() },
            &discharge,
        )?;
        let least = min_river_discharge(rules, grid.cell);
        // The share grows from BED for the narrowest rivers to 1 for those as wide as a cell.
        let river = discharge.map(|q| {
            if *q >= least {
                BED + (1.0 - BED) * (hydraulic::channel_width(*q) / grid.cell as f32).min(1.0)
            } else {
                0.0
            }
        });
        let rockfall = compute_rockfall(terrain, &slope);
        // The keys are fixed, so that the noise does not depend on a world's seed.
        let ruffle = [generate_noise(grid, 101, 4, 900.0), generate_noise(grid, 102, 3, 110.0)];
        Ok(Self { terrain, rules, hollow: compute_hollowness(terrain), slope, wet, river, rockfall, ruffle })
    }

    /// Returns the cell's factors, in the order of [`Factor`].
    pub fn cell_factors(&self, i: usize, j: usize) -> [f32; FACTORS] {
        let Self { terrain, rules, .. } = self;
        let at = (i, j);
        let height = terrain.ground[at].metres_f32();
        let [east, north] = central_gradient(terrain, i, j);
        // The degree to which the slope faces north, −1 to 1: fully from 30° on.
        let shaded = (-2.0 * north / (1.0 + east * east + north * north).sqrt()).clamp(-1.0, 1.0) as f32;
        let shade = rules.shade as f32 * shaded;
        let [broad, fine] = [self.ruffle[0][at], self.ruffle[1][at]];
        let depth = |field: Option<&Field<Height>>| field.map_or(0.0, |field| field[at].metres_f32().max(0.0));
        let treeline = height - rules.treeline as f32 + TREE_RUFFLE * (broad + fine) - TREE_SHADE * shade;
        // Noise and crests only raise the line: below the line there is never snow.
        let crest = (-self.hollow[at]).clamp(0.0, 1.0);
        let raised = SNOW_RUFFLE * (crest + (broad + fine).abs());
        let mut factors = [0.0; FACTORS];
        let mut set = |factor: Factor, value: f32| factors[factor as usize] = value;
        // Noise is limited to three standard deviations, so that a slope changes by no more than SLOPE_RUFFLE degrees.
        set(Factor::Slope, self.slope[at] + SLOPE_RUFFLE * fine.clamp(-1.0, 1.0));
        set(Factor::Loose, depth(terrain.loose.as_ref()));
        set(Factor::Wetness, self.wet[at]);
        set(Factor::River, self.river[at]);
        set(Factor::Lake, depth(terrain.height_layer(&POOL)));
        set(Factor::Shore, terrain.grid.sea_level.map_or(NO_SEA_HEIGHT_M, |sea| height - sea.metres_f32()));
        set(Factor::Treeline, treeline);
        set(Factor::Snowline, height - rules.snowline as f32 + shade - raised);
        set(Factor::Ice, depth(terrain.height_layer(&ICE)));
        set(Factor::Rockfall, self.rockfall[at]);
        set(Factor::Hollow, self.hollow[at]);
        set(Factor::Moisture, rules.moisture as f32);
        set(Factor::Woods, self.tree_cover(at, treeline, broad + 0.8 * fine));
        factors
    }

    /// Returns the tree cover. If the terrain has no trees, it is a pattern of woods with clearings below the tree
    /// line, denser on slopes and in moist hollows than on crests and level valley floors, which are meadows.
    fn tree_cover(&self, at: (usize, usize), treeline: f32, noise: f32) -> f32 {
        if let Some(density) = self.terrain.float_layer(&TREE_DENSITY) {
            // A third of the greatest density counts as closed woods.
            return (3.0 * density[at]).clamp(0.0, 1.0);
        }
        let slope = self.slope[at];
        let inclined = 0.35 * (slope / 14.0).min(1.0);
        // A wetness above 0.9 reduces the cover, by up to 0.5 in saturated soil.
        let soaked = 0.5 * ((self.wet[at] - 0.9) / 0.1).clamp(0.0, 1.0);
        let climate = 0.7 * (self.rules.moisture as f32 - 0.6);
        let sheltered = 0.12 * self.hollow[at].clamp(-1.0, 1.0);
        // The cover increases over 160 m below the tree line.
        let belt = (-treeline / 160.0).clamp(0.0, 1.0);
        (0.32 + inclined + climate + sheltered - soaked + 0.75 * noise).clamp(0.0, 1.0) * belt
    }
}

/// Returns the slope in degrees: that of the gradient, or, on a crest, where opposite sides cancel in the gradient,
/// that of its sides if it is larger.
fn steepness_degrees(terrain: &Terrain, i: usize, j: usize) -> f32 {
    let [east, north] = central_gradient(terrain, i, j);
    let topology = terrain.grid.topology();
    let here = terrain.ground[(i, j)].metres();
    let fall = |step: [isize; 2]| {
        let adjacent = topology.offset_cell([i, j], step).filter(|cell| !terrain.is_nodata(cell.row, cell.col));
        adjacent.map(|Cell { row: r, col: c }| (here - terrain.ground[(r, c)].metres()) / terrain.grid.cell)
    };
    let side = |along: f64, a: [isize; 2], b: [isize; 2]| match (fall(a), fall(b)) {
        // On a crest both sides fall away, so their mean is the slope along this axis.
        (Some(a), Some(b)) if a > 0.0 && b > 0.0 => f64::midpoint(a, b),
        _ => along,
    };
    let (across, down) = (side(east, [0, -1], [0, 1]), side(north, [-1, 0], [1, 0]));
    libm::atan((across * across + down * down).sqrt()).to_degrees() as f32
}

/// Returns the Laplacian over some 45 m, in hundredths of 1/m, positive in hollows; a direction that meets a hole or
/// an edge counts as level.
fn compute_hollowness(terrain: &Terrain) -> Field<f32> {
    let grid = &terrain.grid;
    // On cells wider than HOLLOW the neighbours are used.
    let by = (HOLLOW / grid.cell).round().max(1.0) as isize;
    let topology = grid.topology();
    let span = by as f64 * grid.cell;
    Field::from_fn(grid.size, |i, j| {
        let here = terrain.ground[(i, j)];
        let rise = |step: [isize; 2]| match topology.offset_cell([i, j], step) {
            Some(Cell { row: r, col: c }) if !terrain.is_nodata(r, c) && !terrain.is_nodata(i, j) => {
                terrain.ground[(r, c)].metres() - here.metres()
            }
            _ => 0.0,
        };
        let sum = rise([-by, 0]) + rise([by, 0]) + rise([0, -by]) + rise([0, by]);
        (HUNDREDTHS * sum / (span * span)) as f32
    })
}

/// Returns the intensity of rockfall: 1 on cliffs, elsewhere the largest contribution from above that reaches the
/// cell over slopes on which rock moves on.
fn compute_rockfall(terrain: &Terrain, slope: &Field<f32>) -> Field<f32> {
    let grid = &terrain.grid;
    let (topology, cols) = (grid.topology(), grid.cols());
    let loose = |k: usize| terrain.loose.as_ref().map_or(0.0, |loose| loose.as_slice()[k].metres_f32());
    let cliff = |k: usize| {
        let steep = ((slope.as_slice()[k] - CLIFF[0]) / (CLIFF[1] - CLIFF[0])).clamp(0.0, 1.0);
        // Cliffs with half a metre of sediment or more do not shed rock.
        if loose(k) < 0.5 && !terrain.is_nodata(k / cols, k % cols) { steep } else { 0.0 }
    };
    let mut fall: Vec<f32> = (0..grid.len()).into_par_iter().map(cliff).collect();
    let ground = terrain.ground.as_slice();
    let mut order: Vec<u32> = (0..grid.len() as u32).collect();
    // From the highest cell down, so that each cell is final before it passes rockfall on.
    order.par_sort_unstable_by_key(|k| (std::cmp::Reverse(ground[*k as usize].0), *k));
    // The share that remains after a step depends on its length, which has two values.
    let left = D8::DISTANCES_F32.map(|steps| libm::expf(-steps * grid.cell as f32 / ROLL));
    for k in order {
        let k = k as usize;
        let here = fall[k];
        // Rockfall below 0.02 has no effect on any material, so it is not passed on.
        if here < 0.02 || slope.as_slice()[k] < ROLLS {
            continue;
        }
        for (direction, Cell { row: r, col: c }) in Neighbourhood::new(topology, [k / cols, k % cols]) {
            let n = r * cols + c;
            if ground[n] < ground[k] && !terrain.is_nodata(r, c) {
                // The largest contribution counts, so that the order of equally high cells does not matter.
                fall[n] = fall[n].max(here * left[usize::from(direction.is_diagonal())]);
            }
        }
    }
    Field::from_fn(grid.size, |i, j| fall[i * cols + j])
}
