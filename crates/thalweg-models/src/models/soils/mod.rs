//! What the upper ground is: see [`Soils`].

mod means;

use rayon::prelude::*;

use crate::model::{About, Family, Local, MassBalance, Model, StepReach, Stepper, Tick};
use crate::models::soils::means::means;
use thalweg_core::base::rng::Key;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{Cells, DISCHARGE, LOOSE, POOL, SOIL};
use thalweg_core::{Error, Field, Grid, Height, Result, Terrain, choice, params};
use thalweg_noise::fractal::{Fractal, FractalSettings};
use thalweg_noise::given::soils::number::{CLAY, GRAVEL, LOAM, PEAT, ROCK, SAND};
use thalweg_noise::given::soils::strata::{self, LIE, Lie};
use thalweg_noise::given::soils::{SOIL_KINDS, SOILS, STRATA, kinds, soil};

choice! {
    /// The kind that lies where nothing else is said.
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
        /// The first of the recipe's own kinds; loam if it has none.
        Own = "own",
    }
}

params! {
    /// Says of each cell what the upper ground is: rock where it is steep, gravel under that and in quick rivers, sand on shores
    /// and in patches on level land, clay and peat in hollows, loam elsewhere. The ground's height stays as it is.
    ///
    /// The first of these that holds, z̄ being the mean ground over `scale`, s its slope, z̿ the mean ground over `basin`, n₁ and
    /// n₂ two fields of noise (standard deviation 1/3, `wavelength`), and e = 1 + 3·`amplitude`·n₁:
    ///
    /// - under standing water (sea, layer `pool`): sand to a depth of `shore`, clay below; peat in level pools under 1 m;
    /// - s ≥ tan(`rock_slope`)·e: rock; s ≥ tan(`gravel_slope`)·e: gravel;
    /// - z̄ ≥ `soil_line` + 3·`amplitude`·n₁·200 m: gravel;
    /// - a river, `discharge` ≥ `river`: gravel where it falls more than 1 in 50, else sand;
    /// - on level land, s < tan(`flat_slope`)·e: sand within `shore`·e over the sea; in hollows, z̿ − z̄ ≥ `hollow`·e, peat over
    ///   the part `peat` (by n₂) and clay over the rest; sand over the part `sand` (by n₂);
    /// - all else: the `dominant` kind.
    ///
    /// A map that is there already, given as layer `soil` or left by an earlier stage, is checked and kept instead (see
    /// `anew`). Numbers: rock 0, gravel 1, sand 2, loam 3, clay 4, peat 5, then the recipe's own kinds in the order of its
    /// table `soils`, with as many keys as kinds have properties:
    /// `tables = { soils = [{ name = "chalk", erodibility = 0.4, cohesion = 0.6, talus = 55.0, permeability = 1e-5 }] }`.
    ///
    /// The table `strata` lays beds of rock, the lowest first, which repeat upwards from `strata_base`, lean and are warped:
    /// `tables = { strata = [{ thickness = 40.0, hardness = 0.9, talus = 70.0 }, { thickness = 60.0, hardness = 0.3, talus = 35.0 }] }`.
    /// Both tables stay with the terrain, for later stages to read.
    ///
    /// Source: ours, after what soil surveys find along a slope (Milne 1935, the catena; Conacher & Dalrymple 1977,
    /// doi:10.1016/0016-7061(77)90030-3, its nine units from crest to river); values of the kinds are in the book, *Soils*.
    ///
    /// It needs nothing, heeds `soil`, `pool`, `discharge` and the sea, and leaves `soil` and, with a `depth`, `loose`: the upper
    /// part of the ground then counts as loose, but for rock, thinning out towards `rock_slope`. Lengths are metres and noise
    /// is of the world's metres, so a finer grid has the same pattern. It breaks where soils have a history: no wind lays sand,
    /// no ice lays till, no parent rock shows through; square means leave hollows' outlines a little square.
    pub struct Soils {
        /// The kind that lies where nothing else is said.
        dominant: Dominant = Dominant::Loam, within .., unit "1", source "ours";
        /// Width over which the ground is smoothed before its slope is taken: narrower gullies and steps do not count.
        scale: f64 = 60.0, within 0.0..=1e5, unit "m", scales Size, source "ours";
        /// Slope from which on rock is bare; not under `gravel_slope`.
        rock_slope: f64 = 38.0, within 0.0..=89.0, unit "°", scales Slope, source "ours; soils end at 35 to 45";
        /// Slope from which on gravel and scree lie.
        gravel_slope: f64 = 30.0, within 0.0..=89.0, unit "°", scales Repose, source "ours; scree 30 to 38";
        /// Elevation from which on frost leaves gravel only.
        soil_line: f64 = 2500.0, within -16000.0..=16000.0, unit "m", source "ours; the Alps";
        /// Slope under which land is level: sand, clay and peat lie there.
        flat_slope: f64 = 4.0, within 0.0..=89.0, unit "°", source "ours";
        /// How high over the sea beaches reach, and how deep under water sand does.
        shore: f64 = 6.0, within 0.0..=1000.0, unit "m", source "ours";
        /// Width over which basins are told: level land that lies lower than the mean around it is in one.
        basin: f64 = 1500.0, within 0.0..=1e6, unit "m", scales Size, source "ours";
        /// How far under the mean over `basin` a hollow begins.
        hollow: f64 = 8.0, within 0.0..=10000.0, unit "m", source "ours";
        /// Part of the level hollows that is peat, in patches.
        peat: f64 = 0.35, within 0.0..=1.0, unit "1", source "ours";
        /// Part of other level land that is sand, in patches.
        sand: f64 = 0.12, within 0.0..=1.0, unit "1", source "ours";
        /// Discharge from which on a river washes its bed.
        river: f64 = 1.0, within 0.0..=1e6, unit "m³/s", source "ours";
        /// How much borders waver: standard deviation of slopes and heights at them, as a part of themselves (of 200 m for the soil line).
        amplitude: f64 = 0.12, within 0.0..=0.5, unit "1", source "ours";
        /// Size of patches and of the borders' wavering.
        wavelength: f64 = 500.0, within 1.0..=1e7, unit "m", scales Size, source "ours";
        /// Greatest depth of loose ground laid over the rock within the ground: the mantle that water and slopes take first.
        depth: f64 = 0.0, within 0.0..=100.0, unit "m", source "ours; soils 0.5 to 2";
        /// Whether to lay soils anew where a map of them is there already; else that is checked and kept.
        anew: bool = false, within .., unit "1", source "ours";
        /// Elevation at which the lowest bed of rock begins, in the world's north-western corner.
        strata_base: f64 = 0.0, within -16000.0..=16000.0, unit "m", scales Relief, source "ours";
        /// How steeply beds lean, as fall over run.
        strata_dip: f64 = 0.004, within 0.0..=1.0, unit "m/m", scales Size^-1, source "ours; as stream_power";
        /// Towards where beds fall, clockwise from north.
        strata_direction: f64 = 120.0, within 0.0..=360.0, unit "°", source "ours; as stream_power";
        /// How far beds are warped up and down: three standard deviations.
        strata_warp: f64 = 0.0, within 0.0..=10000.0, unit "m", scales Relief, source "ours";
        /// Distance over which beds are warped up and down.
        strata_wavelength: f64 = 5000.0, within 1.0..=1e7, unit "m", scales Size, source "ours";
    }
}

/// Octaves of the noise of borders and patches.
const OCTAVES: u32 = 5;

/// What an octave keeps of the one before.
const GAIN: f64 = 0.5;

/// How much the soil line wavers beside slopes' borders, in metres.
const LINE: f64 = 200.0;

/// Depth in metres to which level pools grow over.
const BOG: f64 = 1.0;

/// Fall of rivers that carry gravel.
const QUICK: f64 = 0.02;

impl Soils {
    /// Cells on either side of the squares over which the ground is averaged for slopes and for basins.
    fn radii(&self, grid: &Grid) -> [usize; 2] {
        [self.scale, self.basin].map(|width| ((width / grid.cell - 1.0) / 2.0).round().max(0.0) as usize)
    }
}

impl Model for Soils {
    fn about(&self) -> About {
        About {
            name: "soils",
            summary: "Says what the upper ground is, rock, gravel, sand, loam, clay or peat, and lays beds of rock below.",
            source: "Milne (1935), Some suggested units of classification and mapping, particularly for East African soils",
            family: Family::Analysis,
            uses: &[SOIL, POOL, DISCHARGE],
            writes: &[SOIL, LOOSE],
            tables: &[SOILS, STRATA, LIE],
            ..About::default()
        }
    }

    fn check(&self, _grid: &Grid) -> Result<()> {
        if self.rock_slope < self.gravel_slope {
            let allowed = format!("gravel_slope, {}°, to 89°: rock is steeper than its scree", self.gravel_slope);
            return Err(Error::value("soils.rock_slope", format!("{}°", self.rock_slope), allowed));
        }
        Ok(())
    }

    fn reach(&self, grid: &Grid) -> StepReach {
        let [near, far] = self.radii(grid);
        StepReach::Cells(far.max(near + 1))
    }

    fn scratch(&self, grid: &Grid) -> u64 {
        // Sums of heights and of cells with data, two means, two fields of noise.
        32 * grid.len() as u64
    }

    fn local(&self, _local: &mut Local) -> Option<&'static str> {
        Some("it reads the finished ground of any level of a build; a tile that is made alone has no soils")
    }

    fn start(&self, grid: &Grid) -> Result<Box<dyn Stepper>> {
        self.check(grid)?;
        Ok(Box::new(Look(self.clone())))
    }
}

struct Look(Soils);

impl Stepper for Look {
    fn step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        let model = &self.0;
        let count = kinds(terrain)?.len();
        let slopes = means(&terrain.ground, terrain.nodata.as_ref(), model.radii(&terrain.grid)[0]);
        let given = if model.anew { None } else { soil(terrain)?.cloned() };
        let soil = given.unwrap_or_else(|| classes(model, terrain, &slopes, tick.key, count));
        if model.depth > 0.0 {
            mantle(model, terrain, &slopes, &soil);
        }
        terrain.insert(&SOIL, Cells::Count(soil))?;
        if terrain.tables.contains_key(STRATA) {
            let lie = Lie {
                base: model.strata_base,
                dip: model.strata_dip,
                direction: model.strata_direction,
                warp: model.strata_warp,
                wavelength: model.strata_wavelength,
                seed: tick.key.and(3).bits() as i64,
            };
            strata::set_strata_lie(terrain, &lie)?;
        }
        Ok(MassBalance::default())
    }
}

/// Square of the slope of smoothed ground at a cell: central differences, one-sided at rims and beside cells without data.
fn steepness(terrain: &Terrain, smooth: &Field<Height>, i: usize, j: usize) -> f64 {
    let [rows, cols] = smooth.size();
    let valid = |r: usize, c: usize| r < rows && c < cols && !terrain.is_nodata(r, c);
    let rise = |before: (usize, usize), after: (usize, usize)| {
        let [before, after] = [before, after].map(|at| if valid(at.0, at.1) { (at, 1) } else { ((i, j), 0) });
        let span = f64::from((before.1 + after.1).max(1)) * terrain.grid.cell * UNITS;
        f64::from(smooth[after.0].0 - smooth[before.0].0) / span
    };
    let [down, across] = [rise((i.wrapping_sub(1), j), (i + 1, j)), rise((i, j.wrapping_sub(1)), (i, j + 1))];
    down * down + across * across
}

/// The limit above which noise of a deviation of one third lies in about the given part of all places: the quantile of the
/// logistic curve that is nearest to the normal one.
fn quantile(part: f64) -> f64 {
    libm::log((1.0 - part) / part) / (3.0 * 1.702)
}

/// The kind of each cell.
fn classes(model: &Soils, terrain: &Terrain, smooth: &Field<Height>, key: Key, kinds: usize) -> Field<u32> {
    let grid = &terrain.grid;
    let around = means(&terrain.ground, terrain.nodata.as_ref(), model.radii(grid)[1]);
    let noise = |n| Fractal::new(&FractalSettings::fbm(OCTAVES, model.wavelength, GAIN), None, key.and(n), grid.cell);
    let (borders, patches) = (noise(1), noise(2));
    let tan = |degrees: f64| libm::tan(degrees.to_radians());
    let [rock, gravel, flat] = [model.rock_slope, model.gravel_slope, model.flat_slope].map(tan);
    let (peat, sand) = (quantile(model.peat), quantile(model.sand));
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
    let pool = terrain.heights(&POOL);
    let discharge = terrain.float(&DISCHARGE);

    let mut soil = Field::new(grid.size, ROCK);
    let lines = || (vec![0.0; grid.cols()], vec![0.0; grid.cols()]);
    soil.par_rows_mut().for_each_init(lines, |(border, patch), (i, row)| {
        borders.row(grid, i, border);
        patches.row(grid, i, patch);
        for (j, kind) in row.iter_mut().enumerate().filter(|(j, _)| !terrain.is_nodata(i, *j)) {
            let waver = 3.0 * model.amplitude * f64::from(border[j]);
            // Noise passes five deviations: a border is never turned round.
            let factor = (1.0 + waver).max(0.1);
            let patch = f64::from(patch[j]);
            let steep = steepness(terrain, smooth, i, j);
            let above = |limit: f64| steep >= (limit * factor) * (limit * factor);
            let height = smooth[(i, j)].metres();
            let over_sea = sea.map(|sea| terrain.ground[(i, j)].metres() - sea);
            let depth = pool.map_or(0.0, |pool| pool[(i, j)].metres()).max(-over_sea.unwrap_or(0.0));
            *kind = if depth > 0.0 {
                let bog = depth < BOG && over_sea.is_none_or(|over| over > 0.0) && !above(flat);
                match depth {
                    _ if bog => PEAT,
                    depth if depth <= model.shore => SAND,
                    _ => CLAY,
                }
            } else if above(rock) {
                ROCK
            } else if above(gravel) || height >= model.soil_line + waver * LINE {
                GRAVEL
            } else if discharge.is_some_and(|discharge| f64::from(discharge[(i, j)]) >= model.river) {
                if steep >= QUICK * QUICK { GRAVEL } else { SAND }
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

/// Takes the upper ground for loose: all of the depth where it is level, none on rock.
fn mantle(model: &Soils, terrain: &mut Terrain, smooth: &Field<Height>, soil: &Field<u32>) {
    let bare = libm::tan(model.rock_slope.to_radians());
    let laid = Field::generate(terrain.grid.size, |i, j| {
        if soil[(i, j)] == ROCK || terrain.is_nodata(i, j) {
            return Height::ZERO;
        }
        let share = 1.0 - steepness(terrain, smooth, i, j).sqrt() / bare;
        Height::saturating(model.depth * share.max(0.0))
    });
    match &mut terrain.loose {
        None => terrain.loose = Some(laid),
        Some(loose) => {
            for (loose, laid) in loose.as_mut_slice().iter_mut().zip(laid.as_slice()) {
                *loose = (*loose).max(*laid);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Smooth hills over a coast, by place: the same whatever the cells.
    fn coast(cell: f64) -> Terrain {
        let side = (6000.0 / cell) as usize;
        let mut grid = Grid::new([side, side], cell).unwrap();
        grid.sea_level = Some(Height::ZERO);
        let at = grid.clone();
        let ground = Field::generate([side, side], |i, j| {
            let (y, x) = (at.y(i), at.x(j));
            let hills = 260.0 * libm::sin(x / 700.0) * libm::cos(y / 600.0) + 45.0 * libm::sin((x + 2.0 * y) / 300.0);
            Height::saturating(hills + 0.05 * x - 60.0)
        });
        Terrain::from_ground(grid, ground).unwrap()
    }

    fn laid(model: &Soils, mut terrain: Terrain) -> Terrain {
        let tick = Tick { key: Key::new(7, "soils"), step: 0 };
        let before = terrain.ground.clone();
        assert_eq!(model.start(&terrain.grid).unwrap().step(&mut terrain, tick).unwrap(), MassBalance::default());
        assert_eq!(terrain.ground, before);
        terrain
    }

    fn kinds_of(terrain: &Terrain) -> &Field<u32> {
        soil(terrain).unwrap().unwrap()
    }

    /// A plain 100 m high, an incline of the given slope, and the same plain again, northwards; without noise.
    fn incline(degrees: f64) -> Terrain {
        let rise = libm::tan(degrees.to_radians()) * 10.0;
        let ground =
            Field::generate([60, 60], |i, _| Height::saturating(100.0 + rise * (i.clamp(20, 40) as f64 - 20.0)));
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
        // Over a width of three cells the break of the slope is rounded, and the middle keeps it.
        let terrain = laid(&Soils { scale: 30.0, ..even() }, incline(39.0));
        assert_eq!([20, 22, 30].map(|i| kinds_of(&terrain)[(i, 30)]), [LOAM, ROCK, ROCK]);
        let line = laid(&Soils { soil_line: 150.0, ..even() }, incline(15.0));
        assert_eq!([10, 50].map(|i| kinds_of(&line)[(i, 30)]), [LOAM, GRAVEL]);
    }

    #[test]
    fn water_says_what_lies_by_it() {
        let mut terrain = incline(2.0);
        terrain.grid.sea_level = Some(Height::saturating(95.0));
        let shore = laid(&even(), terrain.clone());
        assert_eq!([5, 50].map(|i| kinds_of(&shore)[(i, 0)]), [SAND, LOAM]);
        terrain.grid.sea_level = Some(Height::saturating(103.0));
        let bay = laid(&even(), terrain.clone());
        assert_eq!([5, 50].map(|i| kinds_of(&bay)[(i, 0)]), [SAND, SAND], "3 m under water, and 4 m over it");
        terrain.grid.sea_level = Some(Height::saturating(110.0));
        assert_eq!(kinds_of(&laid(&even(), terrain.clone()))[(5, 0)], CLAY);
        terrain.grid.sea_level = None;
        let depth = |j: usize| Height::saturating([0.0, 0.5, 3.0, 20.0][j % 4]);
        terrain.insert(&POOL, Cells::Height(Field::generate([60, 60], |_, j| depth(j)))).unwrap();
        let pools = laid(&even(), terrain.clone());
        assert_eq!([0, 1, 2, 3].map(|j| kinds_of(&pools)[(5, j)]), [LOAM, PEAT, SAND, CLAY]);
        terrain.layers.clear();
        terrain.insert(&DISCHARGE, Cells::Float(Field::generate([60, 60], |_, j| j as f32 / 10.0))).unwrap();
        let river = laid(&even(), terrain);
        assert_eq!([9, 10].map(|j| kinds_of(&river)[(5, j)]), [LOAM, SAND]);
        assert_eq!([9, 10].map(|j| kinds_of(&river)[(30, j)]), [LOAM, GRAVEL]);
    }

    #[test]
    fn hollows_hold_clay_and_peat_in_their_shares_and_level_land_sand() {
        // A basin 30 m deep and 600 m across in a plain, cells of 5 m.
        let ground = Field::generate([400, 400], |i, j| {
            let inside = i.abs_diff(200) < 60 && j.abs_diff(200) < 60;
            Height::saturating(if inside { 70.0 } else { 100.0 })
        });
        let terrain = Terrain::from_ground(Grid::new([400, 400], 5.0).unwrap(), ground).unwrap();
        let model = Soils { wavelength: 60.0, scale: 0.0, hollow: 5.0, ..Soils::default() };
        let terrain = laid(&model, terrain);
        let share = |kind: u32, inside: bool| {
            // But for the basin's rim, which is steep.
            let from_middle = |(i, j): &(usize, usize)| i.abs_diff(200).max(j.abs_diff(200));
            let cells = (0..400).flat_map(|i| (0..400).map(move |j| (i, j)));
            let of: Vec<_> =
                cells.filter(|at| if inside { from_middle(at) < 59 } else { from_middle(at) > 61 }).collect();
            of.iter().filter(|at| kinds_of(&terrain)[**at] == kind).count() as f64 / of.len() as f64
        };
        let [peat, clay, sand] = [share(PEAT, true), share(CLAY, true), share(SAND, false)];
        // Inside some 100 patches, each by chance: a deviation of 5 %, three of them. Outside 1 000, of 1 %; and the logistic
        // curve is within 1 % of the normal one, which noise is not quite.
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
                // The middle one of nine finer cells lies in the same place.
                same += usize::from(coarse[(i, j)] == fine[(3 * i + 1, 3 * j + 1)]);
            }
        }
        let part = same as f64 / (rows * cols) as f64;
        assert!(part > 0.95, "{part}");
        // It is not one kind all over.
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
        let deep = Height::saturating(3.0);
        terrain.loose = Some(Field::generate([60, 60], |_, j| if j == 0 { deep } else { Height::ZERO }));
        let solid = terrain.solid();
        let terrain = laid(&Soils { depth: 2.0, ..even() }, terrain);
        assert_eq!(terrain.solid(), solid);
        let loose = terrain.loose.as_ref().unwrap();
        assert_eq!([loose[(5, 0)], loose[(5, 1)]], [deep, Height::saturating(2.0)]);
        let share = 1.0 - 19f64.to_radians().tan() / 38f64.to_radians().tan();
        assert!((loose[(30, 1)].metres() - 2.0 * share).abs() < 1e-3);
        assert!(laid(&even(), incline(5.0)).loose.is_none(), "without a depth nothing is said of loose ground");
        let rock = laid(&Soils { depth: 2.0, ..even() }, incline(40.0));
        assert_eq!(rock.loose.unwrap()[(30, 1)], Height::ZERO);
    }

    #[test]
    fn a_map_that_is_there_is_kept_unless_it_is_to_be_laid_anew() {
        let mut terrain = incline(2.0);
        let map = Field::generate([60, 60], |i, j| ((i + j) % 6) as u32);
        terrain.insert(&SOIL, Cells::Count(map.clone())).unwrap();
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
        assert!(message.contains("soils.rock_slope = 38°: allowed is gravel_slope, 39°"), "{message}");
    }
}
