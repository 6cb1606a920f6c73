//! Classification of the soil at the surface: see [`Soils`].

mod means;

use rayon::prelude::*;

use crate::model::{About, Family, Local, MassBalance, Model, StepReach, Stepper, Tick};
use crate::models::soils::means::average_heights;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{Cells, DISCHARGE, POOL, SEDIMENT, SOIL};
use thalweg_core::{Error, Field, Grid, Height, Result, Terrain, choice, params};
use thalweg_noise::fractal::{Fractal, FractalSettings};
use thalweg_noise::input_tables::soils::number::{CLAY, GRAVEL, LOAM, PEAT, ROCK, SAND};
use thalweg_noise::input_tables::soils::strata::{self, BedOrientation, STRATA_ORIENTATION};
use thalweg_noise::input_tables::soils::{SOIL_KINDS, SOILS, STRATA, read_soil_kinds, read_soil_numbers};

choice! {
    /// The soil of cells to which no other rule applies.
    pub enum Dominant {
        /// Bare rock.
        Rock = "rock",
        /// Gravel.
        Gravel = "gravel",
        /// Sand.
        Sand = "sand",
        /// Loam.
        Loam = "loam",
        /// Clay.
        Clay = "clay",
        /// Peat.
        Peat = "peat",
        /// The first of the recipe's own kinds, or loam if it has none.
        Own = "own",
    }
}

params! {
    /// Classifies the soil of each cell: rock where it is steep, gravel below that and in fast rivers, sand on shores
    /// and in patches on level land, clay and peat in depressions, loam elsewhere. The elevation does not change.
    ///
    /// The first of the following rules that applies decides. In them z̄ is the mean elevation over `scale`, s its
    /// slope, z̿ the mean elevation over `basin`, n₁ and n₂ are two fields of noise (standard deviation 1/3,
    /// `wavelength`), and e = 1 + 3·`amplitude`·n₁:
    ///
    /// - under standing water (sea, layer `pool`): sand to a depth of `shore`, clay below; peat in level pools
    ///   shallower than 1 m;
    /// - s ≥ tan(`rock_slope`)·e: rock; s ≥ tan(`gravel_slope`)·e: gravel;
    /// - z̄ ≥ `soil_line` + 3·`amplitude`·n₁·200 m: gravel;
    /// - a river, `discharge` ≥ `river`: gravel where it falls more than 1 in 50, else sand;
    /// - on level land, s < tan(`flat_slope`)·e: sand within `shore`·e above the sea; in hollows, z̿ − z̄ ≥ `hollow`·e,
    ///   peat over the part `peat` (by n₂) and clay over the rest; sand over the part `sand` (by n₂);
    /// - all other cells: the `dominant` kind.
    ///
    /// If a map of soils already exists, given as the layer `soil` or written by an earlier stage, it is checked and
    /// kept instead (see `anew`). The numbers are rock 0, gravel 1, sand 2, loam 3, clay 4, peat 5, then the recipe's
    /// own kinds in the order of its table `soils`, whose keys are the properties of a kind:
    /// `tables = { soils = [{ name = "chalk", erodibility = 0.4, cohesion = 0.6, talus = 55.0, permeability = 1e-5 }] }`.
    ///
    /// The table `strata` defines beds of rock, the lowest first, which repeat upwards from `strata_base`, dip and are
    /// warped:
    /// `tables = { strata = [{ thickness = 40.0, hardness = 0.9, talus = 70.0 }, { thickness = 60.0, hardness = 0.3, talus = 35.0 }] }`.
    /// Both tables are kept with the terrain, for later stages to read.
    ///
    /// Source: ours, after what soil surveys find along a slope (Milne 1935, the catena; Conacher & Dalrymple 1977,
    /// doi:10.1016/0016-7061(77)90030-3, its nine units from crest to river); the properties of the kinds are in the
    /// book, *Soils*.
    ///
    /// It needs no layers, uses `soil`, `pool`, `discharge` and the sea level, and writes `soil` and, with a `depth`,
    /// `sediment`: the upper part of the ground, except for rock, then counts as sediment, whose thickness decreases
    /// towards `rock_slope`. Lengths are in metres and noise is a function of world metres, so a finer grid has the
    /// same pattern. Limits: it fails where soils have a history: no wind deposits sand, no ice deposits till, and no
    /// parent rock influences the soil. Because means are over squares, the outlines of hollows are slightly square.
    pub struct Soils {
        /// The soil of cells to which no other rule applies.
        dominant: Dominant = Dominant::Loam, within .., unit "1", source "ours";
        /// Width over which the ground is averaged before its slope is computed: narrower gullies and steps do not
        /// count.
        scale: f64 = 60.0, within 0.0..=1e5, unit "m", scales Size, source "ours";
        /// Slope from which on rock is bare; at least `gravel_slope`.
        rock_slope: f64 = 38.0, within 0.0..=89.0, unit "°", scales Slope, source "ours; soils end at 35 to 45";
        /// Slope from which on the ground is gravel and scree.
        gravel_slope: f64 = 30.0, within 0.0..=89.0, unit "°", scales Repose, source "ours; scree 30 to 38";
        /// Elevation from which on frost leaves only gravel.
        soil_line: f64 = 2500.0, within -16000.0..=16000.0, unit "m", source "ours; the Alps";
        /// Slope below which land is level: sand, clay and peat occur there.
        flat_slope: f64 = 4.0, within 0.0..=89.0, unit "°", source "ours";
        /// Height above the sea up to which there are beaches, and depth of water down to which the bed is sand.
        shore: f64 = 6.0, within 0.0..=1000.0, unit "m", source "ours";
        /// Width of the mean that defines basins: level land below the mean elevation around it is in a basin.
        basin: f64 = 1500.0, within 0.0..=1e6, unit "m", scales Size, source "ours";
        /// Depth below the mean over `basin` from which on a place is a hollow.
        hollow: f64 = 8.0, within 0.0..=10000.0, unit "m", source "ours";
        /// Part of the level hollows that is peat, in patches.
        peat: f64 = 0.35, within 0.0..=1.0, unit "1", source "ours";
        /// Part of the other level land that is sand, in patches.
        sand: f64 = 0.12, within 0.0..=1.0, unit "1", source "ours";
        /// Discharge from which on a river's bed is washed: gravel or sand.
        river: f64 = 1.0, within 0.0..=1e6, unit "m³/s", source "ours";
        /// Irregularity of the borders between soils: the standard deviation of the slopes and heights that define
        /// them, as a share of these (of 200 m for the soil line).
        amplitude: f64 = 0.12, within 0.0..=0.5, unit "1", source "ours";
        /// Size of the patches and of the irregularities of borders.
        wavelength: f64 = 500.0, within 1.0..=1e7, unit "m", scales Size, source "ours";
        /// Greatest thickness of the upper ground that counts as sediment: the mantle that water and slopes erode
        /// first.
        depth: f64 = 0.0, within 0.0..=100.0, unit "m", source "ours; soils 0.5 to 2";
        /// Classifies soils again where a map of them already exists; otherwise, that map is checked and kept.
        anew: bool = false, within .., unit "1", source "ours";
        /// Elevation of the bottom of the lowest bed of rock at the world's north-western corner.
        strata_base: f64 = 0.0, within -16000.0..=16000.0, unit "m", scales Relief, source "ours";
        /// Dip of the beds, as fall over run.
        strata_dip: f64 = 0.004, within 0.0..=1.0, unit "m/m", scales Size^-1, source "ours; as stream_power";
        /// Direction in which the beds dip, clockwise from north.
        strata_direction: f64 = 120.0, within 0.0..=360.0, unit "°", source "ours; as stream_power";
        /// Vertical warping of the beds, as three standard deviations.
        strata_warp: f64 = 0.0, within 0.0..=10000.0, unit "m", scales Relief, source "ours";
        /// Distance over which the beds are warped up and down.
        strata_wavelength: f64 = 5000.0, within 1.0..=1e7, unit "m", scales Size, source "ours";
    }
}

/// The octaves of the noise of borders and patches.
const OCTAVES: u32 = 5;

/// The amplitude of an octave relative to the previous one.
const GAIN: f64 = 0.5;

/// The displacement of the soil line in metres, per unit of the relative variation of the borders.
const SOIL_LINE_SHIFT_M: f64 = 200.0;

/// The depth in metres up to which pools on level land are overgrown by peat.
const MAX_BOG_DEPTH_M: f64 = 1.0;

/// The slope (rise over run) from which on rivers carry gravel.
const MIN_GRAVEL_SLOPE: f64 = 0.02;

impl Soils {
    /// Returns the radii in cells of the squares over which elevation is averaged: one for slopes and one for basins.
    fn averaging_radii(&self, grid: &Grid) -> [usize; 2] {
        [self.scale, self.basin].map(|width| ((width / grid.cell - 1.0) / 2.0).round().max(0.0) as usize)
    }
}

impl Model for Soils {
    fn about(&self) -> About {
        About {
            name: "soils",
            title: "Soils",
            summary: "Classifies the ground as rock, gravel, sand, loam, clay or peat, and places beds of rock below.",
            source: "Milne (1935), Some suggested units of classification and mapping, particularly for East African soils",
            family: Family::Analysis,
            uses: &[SOIL, POOL, DISCHARGE],
            writes: &[SOIL, SEDIMENT],
            tables: &[SOILS, STRATA, STRATA_ORIENTATION],
            ..About::default()
        }
    }

    fn check(&self, _grid: &Grid) -> Result<()> {
        if self.rock_slope < self.gravel_slope {
            let allowed =
                format!("{}° (gravel_slope) to 89°, because rock stands steeper than its scree", self.gravel_slope);
            return Err(Error::invalid_value("soils.rock_slope", format!("{}°", self.rock_slope), allowed));
        }
        Ok(())
    }

    fn reach(&self, grid: &Grid) -> StepReach {
        let [near, far] = self.averaging_radii(grid);
        StepReach::Cells(far.max(near + 1))
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        // The sums of heights and of cells with data, two means and two fields of noise.
        32 * grid.len() as u64
    }

    fn define_refinement(&self, _local: &mut Local) -> Option<&'static str> {
        Some("it reads the finished ground of any level of a build; a tile that is made alone has no soils")
    }

    fn start(&self, grid: &Grid) -> Result<Box<dyn Stepper>> {
        self.check(grid)?;
        Ok(Box::new(SoilsStepper(self.clone())))
    }
}

struct SoilsStepper(Soils);

impl Stepper for SoilsStepper {
    fn run_step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        let model = &self.0;
        let count = read_soil_kinds(terrain)?.len();
        let slopes = average_heights(&terrain.ground, terrain.nodata.as_ref(), model.averaging_radii(&terrain.grid)[0]);
        // The numbers of a map that exists are checked as they are read, and kept.
        let given = if model.anew { None } else { read_soil_numbers(terrain)?.cloned() };
        let soil = given.unwrap_or_else(|| classify_soils(model, terrain, &slopes, tick.key, count));
        if model.depth > 0.0 {
            mark_soil_mantle(model, terrain, &slopes, &soil);
        }
        terrain.insert_layer(&SOIL, Cells::Count(soil))?;
        if terrain.tables.contains_key(STRATA) {
            let lie = BedOrientation {
                base: model.strata_base,
                dip: model.strata_dip,
                direction: model.strata_direction,
                warp: model.strata_warp,
                wavelength: model.strata_wavelength,
                seed: tick.key.derive_key(3).random_bits() as i64,
            };
            strata::set_bed_orientation(terrain, &lie)?;
        }
        Ok(MassBalance::default())
    }
}

/// Returns the square of the slope of the smoothed elevation at a cell: central differences, one-sided at edges and
/// next to cells without data.
fn compute_squared_slope(terrain: &Terrain, smooth: &Field<Height>, i: usize, j: usize) -> f64 {
    let [rows, cols] = smooth.size();
    let valid = |r: usize, c: usize| r < rows && c < cols && !terrain.is_nodata(r, c);
    let rise = |before: (usize, usize), after: (usize, usize)| {
        // Each missing neighbour is replaced by the cell itself and does not count in the span; a cell without
        // neighbours is level.
        let [before, after] = [before, after].map(|at| if valid(at.0, at.1) { (at, 1) } else { ((i, j), 0) });
        let span = f64::from((before.1 + after.1).max(1)) * terrain.grid.cell * UNITS;
        f64::from(smooth[after.0].0 - smooth[before.0].0) / span
    };
    let [down, across] = [rise((i.wrapping_sub(1), j), (i + 1, j)), rise((i, j.wrapping_sub(1)), (i, j + 1))];
    down * down + across * across
}

/// Returns the limit that noise of standard deviation 1/3 exceeds in about the given share of all places. It uses the
/// quantile of the logistic curve (with the factor 1.702) that best approximates the normal distribution.
fn estimate_noise_quantile(part: f64) -> f64 {
    libm::log((1.0 - part) / part) / (3.0 * 1.702)
}

/// Classifies each cell.
fn classify_soils(
    model: &Soils,
    terrain: &Terrain,
    smooth: &Field<Height>,
    key: RandomKey,
    kinds: usize,
) -> Field<u32> {
    let grid = &terrain.grid;
    // The mean over the wider square identifies hollows: land that is lower than its surroundings.
    let around = average_heights(&terrain.ground, terrain.nodata.as_ref(), model.averaging_radii(grid)[1]);
    let noise =
        |n| Fractal::new(&FractalSettings::fbm(OCTAVES, model.wavelength, GAIN), None, key.derive_key(n), grid.cell);
    let (borders, patches) = (noise(1), noise(2));
    let tan = |degrees: f64| libm::tan(degrees.to_radians());
    let [rock, gravel, flat] = [model.rock_slope, model.gravel_slope, model.flat_slope].map(tan);
    let (peat, sand) = (estimate_noise_quantile(model.peat), estimate_noise_quantile(model.sand));
    let dominant = match model.dominant {
        Dominant::Rock => ROCK,
        Dominant::Gravel => GRAVEL,
        Dominant::Sand => SAND,
        Dominant::Loam => LOAM,
        Dominant::Clay => CLAY,
        Dominant::Peat => PEAT,
        Dominant::Own if kinds > SOIL_KINDS.len() => SOIL_KINDS.len() as u32,
        Dominant::Own => LOAM,
    };
    let sea = grid.sea_level.map(Height::metres);
    let pool = terrain.height_layer(&POOL);
    let discharge = terrain.float_layer(&DISCHARGE);

    let mut soil = Field::new(grid.size, ROCK);
    let lines = || (vec![0.0; grid.cols()], vec![0.0; grid.cols()]);
    soil.par_rows_mut().for_each_init(lines, |(border, patch), (i, row)| {
        borders.fill_row(grid, i, border);
        patches.fill_row(grid, i, patch);
        for (j, kind) in row.iter_mut().enumerate().filter(|(j, _)| !terrain.is_nodata(i, *j)) {
            // The noise has a standard deviation of 1/3, so that `amplitude` is that of the borders.
            let waver = 3.0 * model.amplitude * f64::from(border[j]);
            // Noise can exceed five standard deviations; the lower bound keeps the factor positive.
            let factor = (1.0 + waver).max(0.1);
            let patch = f64::from(patch[j]);
            let steep = compute_squared_slope(terrain, smooth, i, j);
            // Squares of slopes are compared, which saves a root for every cell.
            let above = |limit: f64| steep >= (limit * factor) * (limit * factor);
            let height = smooth[(i, j)].metres();
            let over_sea = sea.map(|sea| terrain.ground[(i, j)].metres() - sea);
            // The first rule that applies decides: water, steep or high land, rivers, inclined land, shores, hollows,
            // and at last random patches.
            let depth = pool.map_or(0.0, |pool| pool[(i, j)].metres()).max(-over_sea.unwrap_or(0.0));
            *kind = if depth > 0.0 {
                let bog = depth < MAX_BOG_DEPTH_M && over_sea.is_none_or(|over| over > 0.0) && !above(flat);
                match depth {
                    _ if bog => PEAT,
                    depth if depth <= model.shore => SAND,
                    _ => CLAY,
                }
            } else if above(rock) {
                ROCK
            } else if above(gravel) || height >= model.soil_line + waver * SOIL_LINE_SHIFT_M {
                GRAVEL
            } else if discharge.is_some_and(|discharge| f64::from(discharge[(i, j)]) >= model.river) {
                if steep >= MIN_GRAVEL_SLOPE * MIN_GRAVEL_SLOPE { GRAVEL } else { SAND }
            } else if above(flat) {
                dominant
            } else if over_sea.is_some_and(|over| over <= model.shore * factor) {
                SAND
            } else if around[(i, j)].metres() - height >= model.hollow * factor {
                if patch > peat { PEAT } else { CLAY }
            } else if patch < -sand {
                SAND
            } else {
                dominant
            };
        }
    });
    soil
}

/// Marks the upper ground as loose sediment: the full depth on level land, decreasing with slope, and none on rock.
fn mark_soil_mantle(model: &Soils, terrain: &mut Terrain, smooth: &Field<Height>, soil: &Field<u32>) {
    // The mantle thins out in proportion to the slope and is gone where rock begins.
    let bare = libm::tan(model.rock_slope.to_radians());
    let laid = Field::from_fn(terrain.grid.size, |i, j| {
        if soil[(i, j)] == ROCK || terrain.is_nodata(i, j) {
            return Height::ZERO;
        }
        let share = 1.0 - compute_squared_slope(terrain, smooth, i, j).sqrt() / bare;
        Height::from_metres_clamped(model.depth * share.max(0.0))
    });
    match &mut terrain.loose {
        None => terrain.loose = Some(laid),
        Some(loose) => {
            for (loose, laid) in loose.as_mut_slice().iter_mut().zip(laid.as_slice()) {
                // Sediment that is thicker than the mantle stays as it is.
                *loose = (*loose).max(*laid);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns smooth hills on a coast as a function of position, so that they are the same for any cell width.
    fn coast(cell: f64) -> Terrain {
        let side = (6000.0 / cell) as usize;
        let mut grid = Grid::new([side, side], cell).unwrap();
        grid.sea_level = Some(Height::ZERO);
        let at = grid.clone();
        let ground = Field::from_fn([side, side], |i, j| {
            let (y, x) = (at.row_center_y(i), at.col_center_x(j));
            let hills = 260.0 * libm::sin(x / 700.0) * libm::cos(y / 600.0) + 45.0 * libm::sin((x + 2.0 * y) / 300.0);
            Height::from_metres_clamped(hills + 0.05 * x - 60.0)
        });
        Terrain::from_ground(grid, ground).unwrap()
    }

    fn laid(model: &Soils, mut terrain: Terrain) -> Terrain {
        let tick = Tick { key: RandomKey::new(7, "soils"), step: 0 };
        let before = terrain.ground.clone();
        assert_eq!(model.start(&terrain.grid).unwrap().run_step(&mut terrain, tick).unwrap(), MassBalance::default());
        assert_eq!(terrain.ground, before);
        terrain
    }

    fn kinds_of(terrain: &Terrain) -> &Field<u32> {
        read_soil_numbers(terrain).unwrap().unwrap()
    }

    /// Returns a plain 100 m high, an incline of the given slope that rises southward, and a second plain, without
    /// noise.
    fn incline(degrees: f64) -> Terrain {
        let rise = libm::tan(degrees.to_radians()) * 10.0;
        let ground = Field::from_fn([60, 60], |i, _| {
            Height::from_metres_clamped(100.0 + rise * (i.clamp(20, 40) as f64 - 20.0))
        });
        Terrain::from_ground(Grid::new([60, 60], 10.0).unwrap(), ground).unwrap()
    }

    fn even() -> Soils {
        Soils { amplitude: 0.0, sand: 0.0, peat: 0.0, scale: 0.0, hollow: 10_000.0, ..Soils::default() }
    }

    #[test]
    fn slopes_bear_rock_gravel_and_soil() {
        for (degrees, want) in [(2.0, LOAM), (15.0, LOAM), (29.9, LOAM), (30.1, GRAVEL), (37.9, GRAVEL), (38.1, ROCK)] {
            let terrain = laid(&even(), incline(degrees));
            assert_eq!((kinds_of(&terrain)[(30, 9)], kinds_of(&terrain)[(5, 9)]), (want, LOAM), "{degrees}°");
        }
        // Averaging over three cells rounds the break of slope; the middle of the incline keeps its slope.
        let terrain = laid(&Soils { scale: 30.0, ..even() }, incline(39.0));
        assert_eq!([20, 22, 30].map(|i| kinds_of(&terrain)[(i, 30)]), [LOAM, ROCK, ROCK]);
        let line = laid(&Soils { soil_line: 150.0, ..even() }, incline(15.0));
        assert_eq!([10, 50].map(|i| kinds_of(&line)[(i, 30)]), [LOAM, GRAVEL]);
    }

    #[test]
    fn water_says_what_lies_by_it() {
        let mut terrain = incline(2.0);
        terrain.grid.sea_level = Some(Height::from_metres_clamped(95.0));
        let shore = laid(&even(), terrain.clone());
        assert_eq!([5, 50].map(|i| kinds_of(&shore)[(i, 0)]), [SAND, LOAM]);
        terrain.grid.sea_level = Some(Height::from_metres_clamped(103.0));
        let bay = laid(&even(), terrain.clone());
        assert_eq!([5, 50].map(|i| kinds_of(&bay)[(i, 0)]), [SAND, SAND], "3 m under water, and 4 m over it");
        terrain.grid.sea_level = Some(Height::from_metres_clamped(110.0));
        assert_eq!(kinds_of(&laid(&even(), terrain.clone()))[(5, 0)], CLAY);
        terrain.grid.sea_level = None;
        let depth = |j: usize| Height::from_metres_clamped([0.0, 0.5, 3.0, 20.0][j % 4]);
        terrain.insert_layer(&POOL, Cells::Height(Field::from_fn([60, 60], |_, j| depth(j)))).unwrap();
        let pools = laid(&even(), terrain.clone());
        assert_eq!([0, 1, 2, 3].map(|j| kinds_of(&pools)[(5, j)]), [LOAM, PEAT, SAND, CLAY]);
        terrain.layers.clear();
        terrain.insert_layer(&DISCHARGE, Cells::Float(Field::from_fn([60, 60], |_, j| j as f32 / 10.0))).unwrap();
        let river = laid(&even(), terrain);
        assert_eq!([9, 10].map(|j| kinds_of(&river)[(5, j)]), [LOAM, SAND]);
        assert_eq!([9, 10].map(|j| kinds_of(&river)[(30, j)]), [LOAM, GRAVEL]);
    }

    #[test]
    fn hollows_hold_clay_and_peat_in_their_shares_and_level_land_sand() {
        // A basin 30 m deep and 600 m wide in a plain, with cells of 5 m.
        let ground = Field::from_fn([400, 400], |i, j| {
            let inside = i.abs_diff(200) < 60 && j.abs_diff(200) < 60;
            Height::from_metres_clamped(if inside { 70.0 } else { 100.0 })
        });
        let terrain = Terrain::from_ground(Grid::new([400, 400], 5.0).unwrap(), ground).unwrap();
        let model = Soils { wavelength: 60.0, scale: 0.0, hollow: 5.0, ..Soils::default() };
        let terrain = laid(&model, terrain);
        let share = |kind: u32, inside: bool| {
            // Leaves out the basin's rim, which is steep.
            let from_middle = |(i, j): &(usize, usize)| i.abs_diff(200).max(j.abs_diff(200));
            let cells = (0..400).flat_map(|i| (0..400).map(move |j| (i, j)));
            let of: Vec<_> =
                cells.filter(|at| if inside { from_middle(at) < 59 } else { from_middle(at) > 61 }).collect();
            of.iter().filter(|at| kinds_of(&terrain)[**at] == kind).count() as f64 / of.len() as f64
        };
        let [peat, clay, sand] = [share(PEAT, true), share(CLAY, true), share(SAND, false)];
        // Inside there are some 100 random patches, so the standard deviation is 5 % and the tolerance three of them.
        // Outside there are 1 000, with a standard deviation of 1 %. In addition, the logistic curve is within 1 % of
        // the normal one, and the noise is not exactly normal.
        assert!((peat - 0.35).abs() < 0.15 && (peat + clay - 1.0).abs() < 1e-9, "{peat} {clay}");
        assert!((sand - 0.12).abs() < 0.04, "{sand}");
        assert_eq!(share(CLAY, false), 0.0);
    }

    #[test]
    fn a_finer_grid_has_the_same_kinds_in_the_same_places() {
        let model = Soils { sand: 0.25, ..Soils::default() };
        let (coarse, fine) = (laid(&model, coast(20.0)), laid(&model, coast(20.0 / 3.0)));
        let (coarse, fine) = (kinds_of(&coarse), kinds_of(&fine));
        let [rows, cols] = coarse.size();
        let mut counts = [0; 6];
        let mut same = 0;
        for i in 0..rows {
            for j in 0..cols {
                counts[coarse[(i, j)] as usize] += 1;
                // The middle one of nine finer cells has the same centre.
                same += usize::from(coarse[(i, j)] == fine[(3 * i + 1, 3 * j + 1)]);
            }
        }
        let part = same as f64 / (rows * cols) as f64;
        assert!(part > 0.95, "{part}");
        // The map is not all of one kind.
        let told = counts.iter().filter(|count| **count > rows * cols / 500).count();
        assert!(told >= 5, "{counts:?}");
    }

    #[test]
    fn threads_show_nowhere() {
        let model = Soils { depth: 1.5, ..Soils::default() };
        let print = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| laid(&model, coast(30.0)).fingerprints())
        };
        assert_eq!(print(1), print(5));
    }

    #[test]
    fn a_mantle_is_part_of_the_ground_and_thins_out_on_slopes() {
        let mut terrain = incline(19.0);
        let deep = Height::from_metres_clamped(3.0);
        terrain.loose = Some(Field::from_fn([60, 60], |_, j| if j == 0 { deep } else { Height::ZERO }));
        let solid = terrain.sum_solid();
        let terrain = laid(&Soils { depth: 2.0, ..even() }, terrain);
        assert_eq!(terrain.sum_solid(), solid);
        let loose = terrain.loose.as_ref().unwrap();
        assert_eq!([loose[(5, 0)], loose[(5, 1)]], [deep, Height::from_metres_clamped(2.0)]);
        let share = 1.0 - 19f64.to_radians().tan() / 38f64.to_radians().tan();
        assert!((loose[(30, 1)].metres() - 2.0 * share).abs() < 1e-3);
        assert!(laid(&even(), incline(5.0)).loose.is_none(), "without a depth nothing is said of loose ground");
        let rock = laid(&Soils { depth: 2.0, ..even() }, incline(40.0));
        assert_eq!(rock.loose.unwrap()[(30, 1)], Height::ZERO);
    }

    #[test]
    fn a_map_that_is_there_is_kept_unless_it_is_to_be_laid_anew() {
        let mut terrain = incline(2.0);
        let map = Field::from_fn([60, 60], |i, j| ((i + j) % 6) as u32);
        terrain.insert_layer(&SOIL, Cells::Count(map.clone())).unwrap();
        assert_eq!(kinds_of(&laid(&even(), terrain.clone())), &map);
        let anew = laid(&Soils { anew: true, ..even() }, terrain);
        assert!(kinds_of(&anew).as_slice().iter().all(|kind| *kind == LOAM));
        let own = laid(&Soils { dominant: Dominant::Own, ..even() }, incline(2.0));
        assert_eq!(kinds_of(&own)[(0, 0)], LOAM, "without kinds of one's own");
    }

    #[test]
    fn rock_is_steeper_than_scree() {
        let model = Soils { gravel_slope: 39.0, ..Soils::default() };
        let message = model.check(&Grid::new([2, 2], 1.0).unwrap()).unwrap_err().to_string();
        assert!(message.contains("soils.rock_slope = 38°: must be 39° (gravel_slope)"), "{message}");
    }
}
