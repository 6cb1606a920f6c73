//! [`Surface`]: a terrain made ready for the GPU, on the CPU and off the window's thread.

use thalweg::pictures::colour::srgb;
use thalweg::pictures::light::{Sun, shadow, sky};
use thalweg::pictures::paint::{MURKY, VEIL};
use thalweg::pictures::relief::Relief;
use thalweg::pictures::sample::{bilinear, quantile};
use thalweg::pictures::water::Water;
use thalweg::process::forest::Forest;
use thalweg::terrain::Terrain;
use thalweg::terrain::field::{Field, Size};
use thalweg::{Error, Result};

use crate::view::camera::{Bounds, Point, Ray};
use crate::view::overlay::{Legend, Overlay};
use crate::view::patches::Pyramid;
use crate::view::rivers;
use crate::view::woods::{self, Plant};

/// A level where no water stands.
pub const DRY: f32 = -1e30;
/// A level where there is no data.
pub const HOLE: f32 = -2e30;
/// Relief over the extent at which a block needs no exaggeration, and the power of what is made up for: as the
/// library's views.
const PROPORTION: f32 = 0.2;
const MADE_UP: f32 = 0.7;
/// Depth of the block under its lowest ground, as a share of its longer side.
const FOOT: f32 = 0.045;
/// Depth in metres from which flowing water has a surface of its own.
const DEEP_FLOW: f32 = 0.5;
/// Thickness in metres of loose ground that shows half of its colour.
const LOOSE: f32 = 3.0;

/// What a surface is made for.
#[derive(Debug, Clone)]
pub struct Wanted<'a> {
    /// Most samples on a side; larger terrains are averaged down. An adapter's largest texture is a limit that must be met.
    pub most: usize,
    /// Least samples on the longer side: smaller terrains are made smooth between their cells. 0 leaves them as they are.
    pub least: usize,
    /// Where the shadows fall from.
    pub sun: Sun,
    /// Factor on heights; what is not above 0 takes [`suggested_exaggeration`].
    pub exaggeration: f32,
    /// Data to be laid over the land.
    pub overlay: Option<Overlay>,
    /// The terrain at the start, for what compares with it.
    pub start: Option<&'a Terrain>,
    /// Heights in metres of the land's first and last colour; `None` takes them from the ground.
    pub range: Option<[f32; 2]>,
    /// Factor on heights for the light at an exaggeration of 1; `None` takes it from the ground. [`Surface::relief_light`]
    /// of an earlier surface keeps the light steady while the land changes.
    pub light: Option<f32>,
}

impl Default for Wanted<'_> {
    fn default() -> Self {
        Self {
            most: 4096,
            least: 0,
            sun: Sun::default(),
            exaggeration: 0.0,
            overlay: None,
            start: None,
            range: None,
            light: None,
        }
    }
}

/// A terrain ready to be drawn: samples from end to end of it, by rows from the north.
#[derive(Debug, Clone)]
pub struct Surface {
    pub(super) heights: Field<f32>,
    /// Level of standing water, [`DRY`] or [`HOLE`].
    pub(super) level: Field<f32>,
    /// Sky that is seen, cast shadow, loose ground, film of flowing water; each 0 to 255.
    pub(super) light: Field<[u8; 4]>,
    /// Cover of streams, light under crowns, cover of ice; the fourth is free.
    pub(super) lines: Field<[u8; 4]>,
    /// Colour (sRGB) and cover of the overlay.
    pub(super) data: Option<Field<[u8; 4]>>,
    pub(super) legend: Option<Legend>,
    pub(super) range: [f32; 2],
    pub(super) sea: Option<f32>,
    /// Depth of the sea's darkest blue in metres.
    pub(super) deepest: f32,
    /// Side of a sample, south and east, in metres.
    pub(super) sides: [f32; 2],
    pub(super) exaggeration: f32,
    pub(super) relief_light: f32,
    pub(super) plants: Vec<Plant>,
    pub(super) pyramid: Pyramid,
    pub(super) holes: bool,
    suggested: f32,
    /// Lowest ground and highest surface in metres.
    extremes: [f32; 2],
    cells: Size,
    cell: f32,
}

/// The exaggeration at which a terrain's relief and extent are in good proportion: that of the library's views.
pub fn suggested_exaggeration(terrain: &Terrain) -> f32 {
    let side = |n: usize| terrain.grid.cell as f32 * (n.max(2) - 1) as f32;
    let long = side(terrain.grid.rows()).max(side(terrain.grid.cols()));
    terrain.range().map_or(1.0, |[low, high]| proportion(long, (high.metres() - low.metres()) as f32))
}

fn proportion(long: f32, relief: f32) -> f32 {
    if relief > 0.0 { (PROPORTION * long / relief).powf(MADE_UP).clamp(0.05, 100.0) } else { 1.0 }
}

impl Surface {
    /// Makes a terrain ready.
    ///
    /// # Errors
    /// When the sun stands nowhere, a layer of water is not of the terrain's size, or the overlay cannot be shown.
    pub fn of(terrain: &Terrain, wanted: &Wanted<'_>) -> Result<Self> {
        wanted.sun.check()?;
        if wanted.most < 2 {
            return Err(Error::value("most samples on a side", wanted.most, "2 or more"));
        }
        let cells = terrain.grid.size;
        let relief = widened(Relief::flooded(terrain, &Water::of(terrain))?);
        let relief = relief.resized(sampled(relief.size(), wanted));
        let size = relief.size();

        let extremes = relief.extremes();
        let extent = |k: usize| relief.cell[k] * (size[k] - 1) as f32;
        let suggested = proportion(extent(0).max(extent(1)), extremes[1] - extremes[0]);
        let exaggeration =
            if wanted.exaggeration > 0.0 && wanted.exaggeration.is_finite() { wanted.exaggeration } else { suggested };
        // At the suggested exaggeration the light is that of the library's pictures.
        let relief_light = wanted.light.unwrap_or_else(|| relief.exaggeration() as f32 / suggested);
        let steep = (relief_light * exaggeration).clamp(1e-3, 1e3);

        let open = sky(&relief.heights, relief.cell, steep);
        let dark = shadow(&relief.heights, relief.cell, wanted.sun, steep);
        let soft = steep / (1.5 * relief.cell[0].max(relief.cell[1]));
        let loose = terrain.loose.as_ref().map(|loose| widened_field(loose.map(|h| h.metres_f32())));
        let step = [0, 1].map(|k| (cells[k].max(2) - 1) as f32 / (size[k] - 1) as f32);
        let light = Field::generate(size, |i, j| {
            let seen = bilinear(&open, (i as f32 - 0.5) / 2.0, (j as f32 - 0.5) / 2.0);
            let loose = loose.as_ref().map_or(0.0, |f| bilinear(f, i as f32 * step[0], j as f32 * step[1]));
            let film = relief.water.as_ref().map_or(0.0, |water| water[(i, j)].max(0.0));
            [seen, dark[(i, j)] * soft, loose / (loose + LOOSE), film / (film + MURKY)].map(byte)
        });
        let level = Field::generate(size, |i, j| level(&relief, i, j));
        let forest = Forest::read(terrain)?;
        let plants = woods::plants(forest.trees(), cells, &relief);
        let under = woods::shadow(&plants, &relief, wanted.sun.direction());
        let streams = rivers::cover(terrain, &relief)?;
        let lines = Field::generate(size, |i, j| {
            let ice = relief.ice(i, j);
            let crowns = under.as_ref().map_or(255, |under| byte(under[(i, j)]));
            [byte(streams[(i, j)]), crowns, byte(ice / (ice + VEIL)), 0]
        });
        let (data, legend) = match &wanted.overlay {
            Some(overlay) => {
                let (data, legend) = data(terrain, overlay, wanted.start, size)?;
                (Some(data), Some(legend))
            }
            None => (None, None),
        };
        let depths = relief.sorted(|i, j| relief.sea.map(|sea| sea - relief.heights[(i, j)]).filter(|d| *d > 0.0));
        let sea = relief.sea;
        let pyramid = Pyramid::of(size, |i, j| {
            (level[(i, j)] > HOLE).then(|| relief.heights[(i, j)].max(level[(i, j)]).max(sea.unwrap_or(DRY)))
        });
        Ok(Self {
            range: wanted.range.filter(|[low, high]| low < high).unwrap_or_else(|| relief.range()),
            deepest: quantile(&depths, 0.995).max(1.0),
            holes: relief.nodata.as_ref().is_some_and(|mask| mask.as_slice().iter().any(|hole| *hole)),
            sides: relief.cell,
            heights: relief.heights,
            level,
            light,
            lines,
            data,
            legend,
            sea,
            exaggeration,
            relief_light,
            plants,
            pyramid,
            suggested,
            extremes,
            cells,
            cell: terrain.grid.cell as f32,
        })
    }

    /// Rows and columns of samples.
    pub fn size(&self) -> Size {
        self.heights.size()
    }

    /// Side of a cell of the terrain in metres.
    pub fn cell(&self) -> f32 {
        self.cell
    }

    /// The box that the block fills, at the surface's exaggeration.
    pub fn bounds(&self) -> Bounds {
        self.bounds_at(self.exaggeration)
    }

    /// The box that the block fills at another exaggeration.
    pub fn bounds_at(&self, exaggeration: f32) -> Bounds {
        let [y, x] = self.half();
        Bounds { low: [-x, -y, self.base(exaggeration)], high: [x, y, self.extremes[1] * exaggeration] }
    }

    /// Height of the block's foot, exaggerated.
    pub(super) fn base(&self, exaggeration: f32) -> f32 {
        let [y, x] = self.half();
        self.extremes[0] * exaggeration - FOOT * 2.0 * x.max(y)
    }

    /// Lowest ground and highest surface in metres.
    pub fn extremes(&self) -> [f32; 2] {
        self.extremes
    }

    /// Half the extent, north and east, in metres.
    pub(super) fn half(&self) -> [f32; 2] {
        [0, 1].map(|k| self.sides[k] * (self.size()[k] - 1) as f32 / 2.0)
    }

    /// The exaggeration that it was made for.
    pub fn exaggeration(&self) -> f32 {
        self.exaggeration
    }

    /// The exaggeration at which relief and extent are in good proportion.
    pub fn suggested_exaggeration(&self) -> f32 {
        self.suggested
    }

    /// Factor on heights for the light at an exaggeration of 1.
    pub fn relief_light(&self) -> f32 {
        self.relief_light
    }

    /// Heights in metres of the land's first and last colour.
    pub fn range(&self) -> [f32; 2] {
        self.range
    }

    /// Level of the terrain's sea in metres.
    pub fn sea_level(&self) -> Option<f32> {
        self.sea
    }

    /// How to read the overlay that was asked for.
    pub fn legend(&self) -> Option<&Legend> {
        self.legend.as_ref()
    }

    /// Number of plants.
    pub fn plants(&self) -> usize {
        self.plants.len()
    }

    /// Height of the ground in metres at a place; `None` beyond the terrain and where there is no data.
    pub fn height_at(&self, place: [f32; 2]) -> Option<f32> {
        let [i, j] = self.sample(place)?;
        Some(bilinear(&self.heights, i, j))
    }

    /// Height in metres of the ground or of the water over it.
    pub fn top_at(&self, place: [f32; 2]) -> Option<f32> {
        let [i, j] = self.sample(place)?;
        Some(self.top(i, j))
    }

    /// The terrain's cell at a place, row and column; `None` beyond the terrain.
    pub fn cell_at(&self, [x, y]: [f32; 2]) -> Option<[usize; 2]> {
        let [rows, cols] = self.cells;
        let at = |metres: f32, n: usize| {
            let k = f64::from(metres) / f64::from(self.cell) + (n - 1) as f64 / 2.0;
            (k.round() >= 0.0 && k.round() < n as f64).then_some(k.round() as usize)
        };
        Some([at(-y, rows)?, at(x, cols)?])
    }

    /// Where a ray first meets the ground, or the water over it; `None` where it meets nothing, or a side of the block.
    pub fn hit(&self, ray: &Ray, exaggeration: f32) -> Option<Point> {
        let [y, x] = self.half();
        let (low, high) = (self.extremes[0] * exaggeration, self.extremes[1] * exaggeration);
        let slack = 1e-3 * (high - low).abs() + 1e-3;
        let ends = [[-x, x], [-y, y], [low.min(high) - slack, low.max(high) + slack]];
        let (mut from, mut to) = (0f64, f64::MAX);
        for (k, [low, high]) in ends.into_iter().enumerate() {
            let (origin, along) = (f64::from(ray.origin[k]), f64::from(ray.direction[k]));
            if along.abs() < 1e-9 {
                if origin < f64::from(low) || origin > f64::from(high) {
                    return None;
                }
                continue;
            }
            let (a, b) = ((f64::from(low) - origin) / along, (f64::from(high) - origin) / along);
            (from, to) = (from.max(a.min(b)), to.min(a.max(b)));
        }
        if from > to || !to.is_finite() {
            return None;
        }
        let point = |t: f64| [0, 1, 2].map(|k| f64::from(ray.origin[k]) + t * f64::from(ray.direction[k]));
        let above = |t: f64| {
            let [x, y, z] = point(t);
            let [i, j] = self.inside(x, y);
            let there = self.level[(i.round() as usize, j.round() as usize)] > HOLE;
            there.then(|| z - f64::from(self.top(i, j)) * f64::from(exaggeration))
        };
        // Half a sample along the ground at a time, and never more steps than a ray across the terrain needs.
        let flat = f64::from(ray.direction[0]).hypot(f64::from(ray.direction[1]));
        let span = to - from;
        let steps = (span * flat / (0.5 * f64::from(self.sides[0].min(self.sides[1])))).ceil().clamp(8.0, 60_000.0);
        let step = span / steps;
        let mut before = from;
        for n in 0..=steps as usize {
            let t = from + n as f64 * step;
            if above(t).is_some_and(|over| over <= 0.0) {
                if n == 0 && from > 0.0 {
                    return None;
                }
                let (mut over, mut under) = (before, t);
                for _ in 0..40 {
                    let middle = 0.5 * (over + under);
                    if above(middle).is_some_and(|over| over <= 0.0) { under = middle } else { over = middle }
                }
                return Some(point(under).map(|c| c as f32));
            }
            before = t;
        }
        None
    }

    /// Row and column among the samples, with parts; `None` beyond the terrain and where there is no data.
    fn sample(&self, [x, y]: [f32; 2]) -> Option<[f32; 2]> {
        let [half_y, half_x] = self.half();
        let inside = x.abs() <= half_x * 1.000_01 && y.abs() <= half_y * 1.000_01;
        let [i, j] = if inside { self.inside(x.into(), y.into()) } else { return None };
        (self.level[(i.round() as usize, j.round() as usize)] > HOLE).then_some([i, j])
    }

    /// Row and column among the samples, held within them.
    fn inside(&self, x: f64, y: f64) -> [f32; 2] {
        let [rows, cols] = self.size();
        let at = |metres: f64, side: f32, n: usize| {
            (metres / f64::from(side) + (n - 1) as f64 / 2.0).clamp(0.0, (n - 1) as f64) as f32
        };
        [at(-y, self.sides[0], rows), at(x, self.sides[1], cols)]
    }

    /// Height in metres of the ground, or of the water over it, between samples.
    fn top(&self, i: f32, j: f32) -> f32 {
        let ground = bilinear(&self.heights, i, j);
        let level = self.level[(i.round() as usize, j.round() as usize)];
        ground.max(level).max(self.sea.unwrap_or(DRY))
    }
}

/// A relief with at least two rows and columns: what is one cell wide is as wide as that cell.
fn widened(relief: Relief) -> Relief {
    if !relief.size().contains(&1) {
        return relief;
    }
    let mask = relief.nodata.map(|mask| {
        let [rows, cols] = mask.size();
        Field::generate([rows.max(2), cols.max(2)], |i, j| mask[(i.min(rows - 1), j.min(cols - 1))])
    });
    Relief {
        heights: widened_field(relief.heights),
        nodata: mask,
        water: relief.water.map(widened_field),
        pools: relief.pools.map(widened_field),
        ice: relief.ice.map(widened_field),
        ..relief
    }
}

fn widened_field(field: Field<f32>) -> Field<f32> {
    let [rows, cols] = field.size();
    if rows > 1 && cols > 1 {
        return field;
    }
    Field::generate([rows.max(2), cols.max(2)], |i, j| field[(i.min(rows - 1), j.min(cols - 1))])
}

/// Rows and columns to be drawn of a terrain of `size`, which is 2 or more.
fn sampled(size: Size, wanted: &Wanted<'_>) -> Size {
    let long = size[0].max(size[1]);
    let scale = match long {
        n if n > wanted.most => (wanted.most - 1) as f64 / (n - 1) as f64,
        // A whole number of new intervals in each old one keeps every sample.
        n if n < wanted.least => {
            let most = (wanted.most - 1) / (n - 1);
            (wanted.least.saturating_sub(1)).div_ceil(n - 1).min(most).max(1) as f64
        }
        _ => 1.0,
    };
    size.map(|n| (((n - 1) as f64 * scale).round() as usize).max(1) + 1)
}

/// Level of standing water at a sample.
fn level(relief: &Relief, i: usize, j: usize) -> f32 {
    if relief.is_hole(i, j) {
        return HOLE;
    }
    let pool = relief.pools.as_ref().map_or(f32::NAN, |pools| pools[(i, j)]);
    let flow = relief.water.as_ref().map(|water| water[(i, j)]).filter(|depth| *depth >= DEEP_FLOW);
    // The greater of the two; NaN is no level.
    flow.map_or(DRY, |depth| relief.heights[(i, j)] + depth).max(pool)
}

/// The overlay's colours and cover by sample, and its legend.
fn data(terrain: &Terrain, overlay: &Overlay, start: Option<&Terrain>, size: Size) -> Result<(Field<[u8; 4]>, Legend)> {
    let values = overlay.values(terrain, start)?;
    let legend = overlay.legend(terrain, &values)?;
    let old = terrain.grid.size;
    let step = [0, 1].map(|k| (old[k] - 1) as f32 / (size[k] - 1) as f32);
    let whole = matches!(overlay, Overlay::Basins | Overlay::Soil);
    let colours = Field::generate(size, |i, j| {
        let (y, x) = (i as f32 * step[0], j as f32 * step[1]);
        let nearest = values[((y.round() as usize).min(old[0] - 1), (x.round() as usize).min(old[1] - 1))];
        let between = if whole { nearest } else { bilinear(&values, y, x) };
        let (colour, cover) = legend.colour(if between.is_nan() { nearest } else { between });
        let [r, g, b] = srgb(colour);
        [r, g, b, byte(cover)]
    });
    Ok((colours, legend))
}

/// 0 to 1 as 0 to 255; what is beyond is held, NaN is 0.
fn byte(x: f32) -> u8 {
    (x * 255.0 + 0.5) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::camera::Camera;
    use thalweg::terrain::grid::Grid;
    use thalweg::terrain::height::Height;
    use thalweg::terrain::{Cells, DISCHARGE, POOL};

    fn terrain(size: Size, height: impl Fn(usize, usize) -> f64) -> Terrain {
        let mut terrain = Terrain::new(Grid::new(size, 10.0).unwrap());
        for i in 0..size[0] {
            for j in 0..size[1] {
                terrain.ground[(i, j)] = Height::saturating(height(i, j));
            }
        }
        terrain
    }

    #[test]
    fn places_cells_and_heights_agree() {
        let land = terrain([31, 41], |i, j| 3.0 * i as f64 + j as f64);
        let surface = Surface::of(&land, &Wanted { exaggeration: 2.0, ..Wanted::default() }).unwrap();
        // The middle cell is at the origin, row 0 in the north.
        assert_eq!((surface.cell_at([0.0, 0.0]), surface.height_at([0.0, 0.0])), (Some([15, 20]), Some(65.0)));
        assert_eq!((surface.cell_at([-200.0, 150.0]), surface.height_at([-200.0, 150.0])), (Some([0, 0]), Some(0.0)));
        assert_eq!(surface.cell_at([196.0, -154.0]), Some([30, 40]));
        assert_eq!((surface.cell_at([206.0, 0.0]), surface.height_at([206.0, 0.0])), (None, None));
        let bounds = surface.bounds();
        assert_eq!((bounds.low[0], bounds.low[1]), (-200.0, -150.0));
        assert_eq!((bounds.high, surface.extremes()), ([200.0, 150.0, 260.0], [0.0, 130.0]));
    }

    #[test]
    fn what_a_ray_meets_lies_on_the_surface_and_on_the_ray() {
        let hill = |i: usize, j: usize| 300.0 / (1.0 + ((i as f64 - 40.0).powi(2) + (j as f64 - 30.0).powi(2)) / 200.0);
        let surface =
            Surface::of(&terrain([80, 100], hill), &Wanted { exaggeration: 1.5, ..Wanted::default() }).unwrap();
        let mut met = 0;
        for map in [false, true] {
            for azimuth in [0.0, 100.0, 205.0] {
                let camera = Camera { azimuth, map, ..Camera::default() }.framed(&surface.bounds(), 1.4);
                for n in 0..400 {
                    let at = [(n % 20) as f32 / 10.0 - 0.95, (n / 20) as f32 / 10.0 - 0.95];
                    let Some(hit) = surface.hit(&camera.ray(at, 1.4), 1.5) else { continue };
                    met += 1;
                    let top = surface.top_at([hit[0], hit[1]]).unwrap() * 1.5;
                    assert!((hit[2] - top).abs() < 0.05, "{hit:?} {top}");
                    let seen = camera.project(hit, 1.4).unwrap();
                    assert!((0..2).all(|k| (seen[k] - at[k]).abs() < 2e-3), "{seen:?} {at:?}");
                }
            }
        }
        assert!(met > 800, "{met}");
        let up = Ray { origin: [0.0, 0.0, 900.0], direction: [0.0, 0.0, 1.0] };
        assert_eq!(surface.hit(&up, 1.5), None);
    }

    #[test]
    fn the_nearest_of_two_hills_is_met() {
        let ridges = |_: usize, j: usize| if j == 20 || j == 60 { 100.0 } else { 0.0 };
        let surface =
            Surface::of(&terrain([50, 81], ridges), &Wanted { exaggeration: 1.0, ..Wanted::default() }).unwrap();
        let level = Ray { origin: [-900.0, 0.0, 50.0], direction: [1.0, 0.0, 0.0] };
        let hit = surface.hit(&level, 1.0).unwrap();
        assert!((hit[0] + 205.0).abs() < 0.1, "{hit:?}");
    }

    #[test]
    fn the_sea_and_pools_lie_over_the_ground() {
        let mut land = terrain([20, 20], |i, _| i as f64 * 10.0);
        land.grid.sea_level = Some(Height::saturating(35.0));
        let pool = Field::generate([20, 20], |i, _| if i == 15 { Height::saturating(4.0) } else { Height::ZERO });
        land.insert(&POOL, Cells::Height(pool)).unwrap();
        let surface = Surface::of(&land, &Wanted::default()).unwrap();
        let top = |i: usize| surface.top_at([5.0, (9.5 - i as f32) * 10.0]).unwrap();
        assert_eq!([top(0), top(3), top(4), top(15)], [35.0, 35.0, 40.0, 154.0]);
        assert_eq!(surface.extremes()[0], 0.0);
    }

    #[test]
    fn streams_are_there_from_the_start_and_follow_the_discharge() {
        // A valley along the middle column, falling to the south.
        let mut land = terrain([64, 65], |i, j| 200.0 - i as f64 + 4.0 * j.abs_diff(32) as f64);
        let cover = |land: &Terrain| {
            let surface = Surface::of(land, &Wanted::default()).unwrap();
            [surface.lines[(60, 32)][0], surface.lines[(60, 10)][0]]
        };
        let [middle, side] = cover(&land);
        assert!(middle > 200 && side < 60, "{middle} {side}");
        let other = Field::generate([64, 65], |_, j| if j == 10 { 5.0 } else { 0.0 });
        land.insert(&DISCHARGE, Cells::Float(other)).unwrap();
        let [middle, side] = cover(&land);
        assert!(middle == 0 && side > 200, "{middle} {side}");
        // A layer in which nothing runs yet hides no streams.
        land.insert(&DISCHARGE, Cells::Float(Field::new([64, 65], 0.0))).unwrap();
        assert!(cover(&land)[0] > 200);
    }

    #[test]
    fn every_shape_and_height_is_made_ready() {
        for size in [[1, 1], [1, 9], [9, 1], [2, 2], [3, 3], [3000, 7]] {
            for height in [0.0, -11_000.0, 9_000.0] {
                let land = terrain(size, |i, _| height + if i % 2 == 0 { 0.0 } else { height / 9.0 });
                for wanted in [Wanted { most: 64, ..Wanted::default() }, Wanted { least: 50, ..Wanted::default() }] {
                    let surface = Surface::of(&land, &wanted).unwrap();
                    assert!(surface.size().iter().all(|n| (2..=3000).contains(n)), "{size:?} {:?}", surface.size());
                    assert!(wanted.most > 64 || surface.size().iter().all(|n| *n <= 64));
                    let Bounds { low, high } = surface.bounds();
                    assert!((0..3).all(|k| low[k] < high[k] && (high[k] - low[k]).is_finite()), "{size:?} {height}");
                    assert!(surface.height_at([0.0, 0.0]).is_some());
                }
            }
        }
        assert!(Surface::of(&terrain([4, 4], |_, _| 0.0), &Wanted { most: 1, ..Wanted::default() }).is_err());
    }

    #[test]
    fn holes_are_no_ground() {
        let mut land = terrain([40, 40], |_, _| 100.0);
        land.nodata = Some(Field::generate([40, 40], |i, _| i < 20));
        let surface = Surface::of(&land, &Wanted::default()).unwrap();
        assert_eq!((surface.height_at([0.0, 100.0]), surface.height_at([0.0, -100.0])), (None, Some(100.0)));
        let down = |y: f32| Ray { origin: [0.0, y, 5000.0], direction: [0.0, 0.0, -1.0] };
        assert!(surface.hit(&down(100.0), 1.0).is_none() && surface.hit(&down(-100.0), 1.0).is_some());
        land.nodata = Some(Field::new([40, 40], true));
        let none = Surface::of(&land, &Wanted::default()).unwrap();
        assert!(none.hit(&down(0.0), 1.0).is_none());
    }
}
