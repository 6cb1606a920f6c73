//! A continent made of tectonic plates: see [`Plates`].

mod basins;
mod lattice;
mod mainland;
mod motion;

use rayon::prelude::*;

use crate::model::{About, Blend, Family, MassBalance, Model, StepReach, Stepper, Tick};
use crate::models::plates::basins::{Basin, BasinSite, Basins};
use crate::models::plates::motion::{BlendedPlates, PlateMotion};
use crate::process::base::{AMOUNT, STEP_CELLS, add_to_ground, band_count, band_rows};
use crate::process::coarse;
use crate::process::interpolation::interpolate_bilinear;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::terrain::{Cells, ERODIBILITY, UPLIFT};
use thalweg_core::{Error, Extent, Field, Grid, Point, Result, Terrain, params};
use thalweg_noise::fractal::{Fractal, FractalSettings};

params! {
    /// Builds a continent of plates: lowlands, shelf, slope and deep sea, falling towards the mouths of a few great
    /// rivers; and determines where the land rises and how hard it is, for rivers to cut.
    ///
    /// Plates are the cells of points scattered one to each square of side `spacing`, with domain warp by noise
    /// (`warp`). Each plate has a crust, continental or oceanic, a drift and a rock. At a place each plate has the
    /// weight e^(−d²/(`belt`·`spacing`²)), with d the distance to its point. Crust c, drift v and rock are weighted
    /// means, so −∇·v is the rate at which plates converge. Land is where C = 0.3 + c + `rough`·n + 0.12·(−∇·v, 0 to 3)
    /// − r is above 0. Here n is noise, and r grows from the middle of the map to its rim with the distance in an oval
    /// that is drawn for each map, and keeps the rim below the sea. Places at least 1.5 to 4 lattice cells inland are
    /// kept above it.
    ///
    /// The continent drifts in one direction. On the lattice, which has 128 cells along the map's longer side, `mouths`
    /// cells of the coast are chosen, apart from one another and preferably on the trailing side. The path length w of
    /// a cell is the least cost of a path to one of them, divided by the greatest. A path costs more in belts, on the
    /// leading side, near a coast (within `rim`, up to six times as much), and where noise makes it so; each mouth
    /// after the first counts as farther away. A few basins therefore drain the interior, the first one most of it.
    /// Elevation: 45 m a little inland, plus height·w·(1 + w)/2, which is phased in over 0.9 rims from the coast, plus
    /// `hills`; below the sea, 0 to −shelf from C = 0 to −0.22, then down to −depth. Where plates diverge faster than
    /// 1.2, a rift sinks.
    ///
    /// The uplift factors: 0.05 to 0.13 on plains and shields; about 1 in the range along the leading coast and in
    /// belts where plates converge inland, with folds along both; up to 0.3 on rims a little inland of the other
    /// coasts, least where a great river leaves. The erodibility factors: 2^(0.4·rock), half of that on rims, more in
    /// young ranges, and varying in folds of hard and soft rock.
    ///
    /// Source: ours; points and cells after Worley (1996, doi:10.1145/237170.237267); relief that follows from the
    /// convergence of plates, Dewey & Bird (1970, *Mountain belts and the new global tectonics*,
    /// doi:10.1029/JB075i014p02625); plates moved to make worlds: Cortial et al. (2019, *Procedural tectonic planets*,
    /// doi:10.1111/cgf.13614); great rivers that flow from the active side of a continent to the passive one, through
    /// few mouths: Potter (1978, *Significance and origin of big rivers*, Journal of Geology 86); rims of passive
    /// margins: Summerfield (1991, *Global geomorphology*). Deviation: nothing moves; the model gives the uplift at one
    /// time.
    ///
    /// It needs no layers, uses `amount`, and writes the ground, `uplift` and `erodibility`, which `stream_power` uses.
    /// It is a function of world metres for one extent. Limits: maps narrower than two plates have one coast or none;
    /// without further stages there are neither mountains nor rivers. Where rivers cut for tens of millions of years,
    /// drainage divides migrate, and basins with them.
    pub struct Plates {
        /// Mean distance between the centres of plates.
        spacing: f64 = 470_000.0, within 1.0..=1e8, unit "m", scales Size, source "ours";
        /// Square of the distance over which plates blend at their boundaries, divided by the square of the spacing:
        /// more makes broader belts.
        belt: f64 = 0.15, within 0.02..=1.0, unit "1", source "ours";
        /// Displacement of plate boundaries by domain warp, as three standard deviations.
        warp: f64 = 330_000.0, within 0.0..=1e7, unit "m", scales Size, source "ours";
        /// Distance over which the warp varies most.
        warp_wavelength: f64 = 420_000.0, within 1.0..=1e8, unit "m", scales Size, source "ours";
        /// Irregularity of coasts: the standard deviation of the noise n in C.
        rough: f64 = 0.27, within 0.0..=2.0, unit "1", source "ours";
        /// Distance over which coasts vary most.
        rough_wavelength: f64 = 520_000.0, within 1.0..=1e8, unit "m", scales Size, source "ours";
        /// Radius of the land, as a share of half the map's shorter side: more gives more land.
        radius: f64 = 1.0, within 0.05..=2.0, unit "1", source "ours";
        /// Elevation of the lowlands far from the coast, before any uplift.
        height: f64 = 700.0, within 0.0..=8000.0, unit "m", scales Relief, source "ours";
        /// Depth of the shelf's edge.
        shelf: f64 = 170.0, within 0.0..=8000.0, unit "m", scales Relief, source "ours; on Earth about 130 m";
        /// Depth of the open sea.
        depth: f64 = 3800.0, within 0.0..=12_000.0, unit "m", scales Relief, source "Earth's mean: 3 700 m";
        /// Standard deviation of hills and swells on the lowlands, which give the first rivers their bends.
        hills: f64 = 12.0, within 0.0..=8000.0, unit "m", scales Relief, source "ours";
        /// Width of the rims along coasts that separate the interior from the sea.
        rim: f64 = 110_000.0, within 1.0..=1e8, unit "m", scales Size, source "ours";
        /// Number of mouths of great rivers.
        mouths: u32 = 3, within 1..=64, unit "1", source "ours";
        /// Factor on all values of the layer `uplift`.
        uplift: f64 = 1.0, within 0.0..=100.0, unit "1", source "ours";
        /// How the continent's elevations are combined with the existing ground.
        blend: Blend = Blend::Add, within .., unit "1", source "ours";
    }
}

/// The octaves of the warp and coast noise, as far as the grid resolves them.
const OCTAVES: u32 = 14;

/// The octaves of hills. Finer ones would affect land that rivers have already cut down almost to sea level, and
/// flood it far inland.
const HILL_OCTAVES: u32 = 3;

/// The width of the cells on which the layers are computed, in widths of the rim.
const STRIDE: f64 = 1.0 / 20.0;

/// The height in metres that the land reaches a little inland. Without it, swells would flood land far from the
/// coast.
const SHORE_HEIGHT_M: f32 = 45.0;

/// The greatest number of lattice squares of plates along a side of the map.
const MAX_SQUARES_PER_SIDE: usize = 512;

/// The least crust inside the land.
const MIN_INLAND_CRUST: f32 = 0.12;

/// The number of lattice cells along the map's longer side on which the basins are derived.
const LATTICE_CELLS: usize = 128;

/// Returns the smoothstep from 0 at `from` to 1 at `to`.
fn smoothstep(from: f32, to: f32, x: f32) -> f32 {
    let t = ((x - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// The plates and coasts, sampled on cells of one width.
struct ContinentShape<'a> {
    model: &'a Plates,
    motion: PlateMotion,
    east: Fractal,
    south: Fractal,
    coast: Fractal,
    swells: Fractal,
    hills: Fractal,
    /// The centre of the map, and half its extent.
    middle: Point,
    half: Extent,
    oval: Oval,
    /// The direction of the continent's drift, and half the oval's width in metres.
    heading: [f64; 2],
    reach: f64,
    spacing: f64,
}

/// The whole continent, sampled on cells of one width.
struct Continent<'a> {
    shape: ContinentShape<'a>,
    basins: &'a Basins,
}

/// The oval that the continent fills.
#[derive(Debug, Clone, Copy)]
struct Oval {
    middle: Point,
    axis: [f64; 2],
    radii: [f64; 2],
}

impl Oval {
    /// Returns the distance from the centre, scaled to 1 on the rim. Its contours approximate |a|^2.6 + |b|^2.6 = 1.
    fn scaled_distance(&self, point: Point) -> f32 {
        let [x, y] = [point.x - self.middle.x, point.y - self.middle.y];
        let along = (x * self.axis[0] + y * self.axis[1]) / self.radii[0];
        let across = (y * self.axis[0] - x * self.axis[1]) / self.radii[1];
        // A blend of the circle (exponent 2) and the rounded square (exponent 4): a weighted mean of their distances.
        let (a, b) = (along * along, across * across);
        (0.6 * (a + b).sqrt() + 0.4 * (a * a + b * b).sqrt().sqrt()) as f32
    }
}

/// The properties of a place, without the basins.
struct PlaceProperties {
    here: BlendedPlates,
    /// The crust; above 0 it is land.
    crust: f32,
    /// Broad noise with standard deviation 1, and hills with standard deviation 1.
    swell: f32,
    hills: f32,
    /// The position relative to the continent's drift: 1 on the leading side, −1 on the trailing side.
    leading: f32,
}

impl<'a> ContinentShape<'a> {
    fn new(model: &'a Plates, grid: &Grid, key: RandomKey) -> Self {
        let Extent { width, height } = grid.extent();
        // On a map that is much wider than a plate, the spacing grows, so that there are at most
        // `MAX_SQUARES_PER_SIDE` plates along a side.
        let spacing = model.spacing.max(width.max(height) / MAX_SQUARES_PER_SIDE as f64);
        let half = Extent { width: 0.5 * width, height: 0.5 * height };
        // The oval is turned, moved by up to 6 % of the half extent and flattened by up to 20 %, so that continents
        // differ.
        let reach = model.radius * half.shorter_side();
        let (sin, cos) = libm::sincos(std::f64::consts::PI * key.derive_key(10).uniform_unit());
        let shift = [11, 12].map(|k| 0.06 * key.derive_key(k).uniform_signed());
        let oval = Oval {
            middle: Point { x: half.width * (1.0 + shift[0]), y: half.height * (1.0 + shift[1]) },
            axis: [cos, sin],
            radii: [reach, reach * (0.8 + 0.2 * key.derive_key(13).uniform_unit())],
        };
        let (south, east) = libm::sincos(std::f64::consts::TAU * key.derive_key(14).uniform_unit());
        // Plates count as inside up to 0.55 of the oval's radius and as outside from 1.15 on.
        let is_far = |x: f64, y: f64| {
            let far = oval.scaled_distance(Point { x: x * spacing, y: y * spacing });
            f64::from(smoothstep(0.55, 1.15, far))
        };
        let squares = (width.max(height) / spacing).ceil() as usize;
        let octaves = |count: u32, wavelength: f64, gain: f64, part: u64| {
            Fractal::new(&FractalSettings::fbm(count, wavelength, gain), None, key.derive_key(part), grid.cell)
        };
        let noise = |wavelength: f64, gain: f64, part: u64| octaves(OCTAVES, wavelength, gain, part);
        Self {
            model,
            motion: PlateMotion::new(squares, model.belt, key.derive_key(0), is_far),
            east: noise(model.warp_wavelength, 0.55, 1),
            south: noise(model.warp_wavelength, 0.55, 2),
            coast: noise(model.rough_wavelength, 0.5, 3),
            swells: noise(model.spacing, 0.45, 4),
            hills: octaves(HILL_OCTAVES, 2.0 * model.rim, 0.5, 5),
            middle: Point { x: half.width, y: half.height },
            half,
            oval,
            heading: [east, south],
            reach,
            spacing,
        }
    }

    /// Calls `each` with the column, the point and the place of every cell of a row.
    fn visit_row(&self, grid: &Grid, i: usize, mut each: impl FnMut(usize, Point, PlaceProperties)) {
        let cols = grid.cols();
        let line = |noise: &Fractal| {
            let mut line = vec![0.0; cols];
            noise.fill_row(grid, i, &mut line);
            line
        };
        let [east, south, coast, swells, hills] =
            [&self.east, &self.south, &self.coast, &self.swells, &self.hills].map(line);
        let y = grid.row_center_y(i);
        for j in 0..cols {
            let x = grid.col_center_x(j);
            let point = Point { x, y };
            let carried =
                Point { x: x + self.model.warp * f64::from(east[j]), y: y + self.model.warp * f64::from(south[j]) };
            // The domain warp moves the place at which plates and oval are looked up, which makes their borders wind.
            let here = self.motion.blend_plates((carried.x / self.spacing) as f32, (carried.y / self.spacing) as f32);
            // The fractal has a standard deviation of 1/3, `noise` one of 1.
            let noise = 3.0 * coast[j];
            let far = smoothstep(0.35, 1.1, self.oval.scaled_distance(carried));
            let rough = self.model.rough as f32 * noise;
            let arcs = 0.12 * here.closing.clamp(0.0, 3.0);
            // This is C of the model's page, before the rim. The 0.3 raises land above the sea where the oval is near
            // its middle.
            let inland = here.crust + rough + 0.3 - 0.9 * far + arcs;
            // The map's rim is kept below the sea, along a line that noise displaces.
            let rim = self.rim_distance(carried).min(self.rim_distance(point)) + 0.02 * noise;
            let rim = smoothstep(0.01, 0.12, rim.min(2.0 * self.rim_distance(point)));
            let crust = inland - 3.0 * (1.0 - rim);
            let dx = (carried.x - self.oval.middle.x) / self.reach;
            let dy = (carried.y - self.oval.middle.y) / self.reach;
            // The 0.15 keeps the quotient finite and smooth near the oval's middle.
            let away = (dx * dx + dy * dy).sqrt();
            let leading = ((dx * self.heading[0] + dy * self.heading[1]) / (away + 0.15)) as f32;
            each(j, point, PlaceProperties { here, crust, swell: 3.0 * swells[j], hills: 3.0 * hills[j], leading });
        }
    }

    /// Returns the distance from the map's rim as a share of the map's width.
    fn rim_distance(&self, point: Point) -> f32 {
        let along = |at: f64, middle: f64, half: f64| 0.5 - 0.5 * (at - middle).abs() / half;
        let east = along(point.x, self.middle.x, self.half.width);
        let south = along(point.y, self.middle.y, self.half.height);
        east.min(south) as f32
    }

    /// Returns the intensity of convergence between plates, from 0 to about 2.
    fn belt_intensity(&self, here: &BlendedPlates) -> f32 {
        let closing = (here.closing - 1.2).max(0.0) / 2.2;
        1.1 * closing / (1.0 + 0.45 * closing)
    }

    /// Returns how far a place belongs to the active margin, where the continent converges with the sea's plate, from
    /// 0 to 1.
    fn active_margin_share(&self, place: &PlaceProperties) -> f32 {
        smoothstep(0.1, 0.7, place.leading + 0.2 * place.swell)
    }
}

/// Derives the basins of a continent on a coarse lattice.
fn derive_basins(model: &Plates, grid: &Grid, key: RandomKey) -> Result<Basins> {
    let Extent { width, height } = grid.extent();
    // The lattice depends on the map's extent alone: basins are the same for all cell widths.
    let cell = height.max(width) / LATTICE_CELLS as f64;
    let size = [height, width].map(|side| ((side / cell).round() as usize).max(1));
    let lattice = Grid::new(size, cell.clamp(1e-3, 1e5))?;
    let shape = ContinentShape::new(model, &lattice, key);
    let hard = Fractal::new(&FractalSettings::fbm(OCTAVES, 0.8 * model.spacing, 0.75), None, key.derive_key(6), cell);
    let nothing = BasinSite { crust: -1.0, leading: 0.0, hard: 1.0 };
    let mut sites = Field::new(lattice.size, nothing);
    for i in 0..lattice.rows() {
        let mut line = vec![0.0; lattice.cols()];
        hard.fill_row(&lattice, i, &mut line);
        shape.visit_row(&lattice, i, |j, _, place| {
            let belt = shape.belt_intensity(&place.here);
            // The cost varies by powers of two with the noise, doubles on the leading side, and rises in belts.
            let hard = thalweg_core::base::power::exp2(0.9 * 3.0 * line[j]) * (1.0 + shape.active_margin_share(&place))
                + 4.0 * belt;
            sites[(i, j)] = BasinSite { crust: place.crust, leading: place.leading, hard };
        });
    }
    Ok(Basins::new(lattice, &sites, model.mouths, model.rim, key.derive_key(7)))
}

impl Continent<'_> {
    /// Calls `each` with the column, the place and the basin of every cell of a row.
    fn visit_row(&self, grid: &Grid, i: usize, mut each: impl FnMut(usize, PlaceProperties, Basin)) {
        self.shape.visit_row(grid, i, |j, at, mut place| {
            let basin = self.basins.interpolate_at(at);
            // The interior stays land: there is no sea far from the coast.
            let inside = smoothstep(1.5, 4.0, basin.coast / self.basins.cell_width());
            // Up to 1.5 lattice cells from the coast the bound is −3.88, which is deep sea; from 4 cells on the land
            // stays above 0.
            place.crust = place.crust.max(MIN_INLAND_CRUST - 4.0 * (1.0 - inside));
            each(j, place, basin);
        });
    }

    /// Returns the elevation in metres.
    fn elevation(&self, place: &PlaceProperties, basin: &Basin) -> f32 {
        let PlaceProperties { here, crust, .. } = place;
        let model = self.shape.model;
        let [height, shelf, depth] = [model.height, model.shelf, model.depth].map(|x| x as f32);
        if *crust > 0.0 {
            let ramp = smoothstep(0.0, 0.9, basin.coast / model.rim as f32) * smoothstep(0.0, 0.2, *crust);
            let land =
                SHORE_HEIGHT_M * smoothstep(0.0, 0.06, *crust) + height * ramp * basin.way * (0.5 + 0.5 * basin.way);
            // A rift sinks by 40 % of the land's height, at most 120 m.
            let rift = smoothstep(1.2, 3.0, -here.closing);
            let land = land - 0.4 * rift * land.min(300.0);
            let hills = model.hills as f32 * place.hills * smoothstep(0.0, 0.25, *crust);
            // Valleys between hills keep 40 % of the land's height, so that hills do not flood it.
            return land + hills.max(-0.6 * land);
        }
        let down = -*crust;
        // Below the shelf the sea floor falls in two parts: the continental slope takes 85 %, and a gentle rise beyond
        // it the rest.
        let deep = 0.85 * smoothstep(0.22, 0.6, down) + 0.15 * smoothstep(0.5, 1.6, down);
        -shelf * (down / 0.22).min(1.0) - (depth - shelf).max(0.0) * deep
    }

    /// Returns the intensity of the range along the leading coast, of the rim along the other coasts, and of mountain
    /// belts inland, followed by that of the folds in them (−1 to 1).
    fn range_intensities(&self, place: &PlaceProperties, basin: &Basin) -> [f32; 4] {
        let (shape, wide) = (&self.shape, self.shape.model.rim as f32);
        let [inland, broad] = [basin.coast, basin.broad].map(|metres| metres / wide);
        let active = shape.active_margin_share(place);
        let range = active * smoothstep(0.0, 0.6, inland) * (1.0 - smoothstep(1.1, 2.3, broad + 0.3 * place.swell));
        let rim =
            (1.0 - active) * smoothstep(0.15, 0.8, inland) * (1.0 - smoothstep(0.9, 1.9, broad)) * (1.0 - basin.open);
        let rim = rim * (0.5 + 0.50 * smoothstep(-0.5, 0.7, place.swell));
        let across = place.here.across * (shape.spacing / shape.model.rim) as f32;
        // Folds follow the coast in the coastal range, and the plates' boundary inland.
        let along = if range > 0.3 { broad } else { across };
        // A fold is 0.4 rims wide; the hills' noise displaces it, so that folds are not parallel lines.
        let fold = libm::sinf(std::f32::consts::TAU * (along / 0.4 + 0.35 * place.hills));
        let fold = fold * (0.6 + 0.4 * place.swell.clamp(-1.0, 1.0));
        [range, rim, shape.belt_intensity(&place.here), fold]
    }

    /// Returns the factor of the uplift.
    fn uplift_factor(&self, place: &PlaceProperties, basin: &Basin) -> f32 {
        let [range, rim, belt, fold] = self.range_intensities(place, basin);
        let sinking = smoothstep(0.6, 2.0, -place.here.closing);
        let shield = smoothstep(0.2, 1.6, place.swell);
        let plain = 0.05 + 0.05 * basin.way + 0.03 * shield;
        let rough = (1.0 + 0.35 * place.hills).clamp(0.3, 1.7);
        let high = (0.9 * range + 0.8 * belt) * (1.0 + 0.35 * fold) + 0.25 * rim;
        self.shape.model.uplift as f32 * (plain * (1.0 - 0.6 * sinking) + high * rough)
    }

    /// Returns the factor of the erodibility.
    fn erodibility_factor(&self, place: &PlaceProperties, basin: &Basin) -> f32 {
        let [range, rim, belt, fold] = self.range_intensities(place, basin);
        let young = (range + belt).min(1.0);
        // The value is a binary logarithm: −1 on a rim halves the erodibility.
        let log = 0.4 * place.here.weakness - 1.0 * rim + young * (0.6 - 0.5 * fold);
        thalweg_core::base::power::exp2(log)
    }
}

impl Model for Plates {
    fn about(&self) -> About {
        About {
            name: "plates",
            title: "Plates",
            summary: "A continent of plates: lowlands, shelf, deep sea, and the uplift of the land.",
            source: "ours; Dewey & Bird (1970), Mountain belts and the new global tectonics",
            family: Family::Base,
            needs: &[],
            uses: &[AMOUNT],
            writes: &[UPLIFT, ERODIBILITY],
            tables: &[],
            placed: true,
            loops: false,
        }
    }

    fn blend(&self) -> Blend {
        self.blend
    }

    fn keeps_land(&self) -> bool {
        true
    }

    fn check(&self, grid: &Grid) -> Result<()> {
        let cells = -grid.first[0].min(grid.first[1]);
        if cells == 0 {
            return Ok(());
        }
        // The recipe specifies the margin as a share of the map's shorter side.
        let shorter = grid.map_extent().shorter_side();
        let share = (1e4 * cells as f64 * grid.cell / shorter).round() / 1e4;
        let value = format!("{share} ({cells} cells to each side)");
        Err(Error::invalid_value("margin", value, "0 with plates, because the sea surrounds the whole continent"))
    }

    fn steps(&self, grid: &Grid) -> u32 {
        band_count(grid, BAND) + 1
    }

    fn reach(&self, _: &Grid) -> StepReach {
        StepReach::Whole
    }

    fn start(&self, _: &Grid) -> Result<Box<dyn Stepper>> {
        Ok(Box::new(PlatesStepper { model: self.clone(), basins: None }))
    }
}

/// The number of cells that one step computes.
const BAND: u64 = STEP_CELLS / 8;

struct PlatesStepper {
    model: Plates,
    /// The basins, and the key and extent of the grid that they were derived for.
    basins: Option<(RandomKey, Extent, Basins)>,
}

impl PlatesStepper {
    fn cached_basins(&mut self, grid: &Grid, key: RandomKey) -> Result<&Basins> {
        // The basins are kept as long as key and extent stay the same: every step needs them.
        let known = self.basins.take().filter(|(of, extent, _)| *of == key && *extent == grid.extent());
        let made = match known {
            Some(known) => known,
            None => (key, grid.extent(), derive_basins(&self.model, grid, key)?),
        };
        Ok(&self.basins.insert(made).2)
    }
}

impl Stepper for PlatesStepper {
    fn run_step(&mut self, terrain: &mut Terrain, tick: Tick) -> Result<MassBalance> {
        let grid = terrain.grid.clone();
        let model = self.model.clone();
        let basins = self.cached_basins(&grid, tick.key)?;
        let continent = |grid: &Grid| Continent { shape: ContinentShape::new(&model, grid, tick.key), basins };
        if tick.step < band_count(&grid, BAND) {
            let continent = continent(&grid);
            let span = [-model.depth, model.height];
            return Ok(add_to_ground(terrain, band_rows(&grid, BAND, tick.step), model.blend, span, |i, row| {
                continent.visit_row(&grid, i, |j, place, basin| row[j] = continent.elevation(&place, &basin));
            }));
        }
        // The last step computes the layers `uplift` and `erodibility` on coarse cells and interpolates them.
        let longest = grid.rows().max(grid.cols());
        let factor = (model.rim * STRIDE / grid.cell).round().clamp(1.0, longest as f64) as usize;
        let small = coarse::coarsen_grid(&grid, factor);
        let continent = continent(&small);
        let mut both = Field::new(small.size, [0.0f32; 2]);
        both.par_rows_mut().for_each(|(i, row)| {
            continent.visit_row(&small, i, |j, place, basin| {
                row[j] = [continent.uplift_factor(&place, &basin), continent.erodibility_factor(&place, &basin)];
            });
        });
        for (spec, part) in [(UPLIFT, 0), (ERODIBILITY, 1)] {
            let values = both.map(|both| both[part]);
            terrain.insert_layer(&spec, Cells::Float(interpolate_bilinear(&values, &small, &grid)))?;
        }
        Ok(MassBalance::default())
    }
}
