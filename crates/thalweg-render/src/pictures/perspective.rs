//! Perspective views: a terrain as a lit block, alone or before next to after.

use rayon::prelude::*;

use crate::pictures::colour::{Linear, mix_colours, to_linear, to_srgb};
use crate::pictures::drawn_land::DrawnLand;
use crate::pictures::furniture::{INK, PAPER};
use crate::pictures::look::LookOptions;
use crate::pictures::natural::{Atmosphere, NaturalGround, lit_ground};
use crate::pictures::paint::Painter;
use crate::pictures::picture::Picture;
use crate::pictures::raster::RasterBand;
use crate::pictures::relief::Relief;
use crate::pictures::scene::{Block, Camera, Projected, ScenePoint};
use crate::pictures::shade::choose_brush;
use crate::pictures::text::{Letters, draw_text};
use crate::pictures::trees::Wood;
use crate::pictures::water::Streams;
use thalweg_core::base::range::check_range;
use thalweg_core::declare::operation::Operation as _;
use thalweg_core::{Error, Point, Result, Size, operation};
use thalweg_models::process::forest::Tree;

/// The number of subpixels along a side of a pixel.
const SUBPIXELS: usize = 2;
/// The number of rows of pixels that are drawn together.
const BAND: usize = 24;
/// The ratio of relief to extent at which a block needs no exaggeration.
const PROPORTION: f32 = 0.2;
/// The exponent with which exaggeration compensates for a lower ratio: with less than 1, lowlands still look lower
/// than mountains.
const EXAGGERATION_EXPONENT: f32 = 0.7;
/// The distance in metres over which air absorbs half of the light, in a view from within the terrain.
const HAZE: f32 = 25_000.0;
/// The colour of the air above the block: at the top of the picture, and at the bottom.
const AIR: [[u8; 3]; 2] = [[214, 225, 235], PAPER];

operation! {
    /// Chooses the size of a view and the camera that sees the terrain from far away.
    pub struct CameraOptions, "camera" {
        /// Size of the view, 16 to 16384 pixels on each side.
        size: Size = [720, 1080], within .., unit "pixels";
        /// Azimuth of the camera as seen from the terrain, clockwise from north; with 180, the camera is in the south.
        azimuth: f64 = 205.0, within -360.0..=360.0, unit "°";
        /// Elevation angle of the camera above the horizon; with 90, it looks straight down.
        elevation: f64 = 34.0, within 5.0..=90.0, unit "°";
        /// Zoom factor; with 1, the whole terrain fits into the picture.
        zoom: f64 = 1.0, within 0.1..=20.0, unit "1";
        /// A line of text at the top of the picture.
        title: Option<String> = None, within .., unit "1";
    }
}

operation! {
    /// Draws two terrains in perspective, side by side: before and after.
    pub struct PairOptions, "pair", command "render pair", with(camera: CameraOptions, look: LookOptions) {
    }
}

impl PairOptions {
    /// Returns the options of the view of each terrain, for [`draw_comparison`].
    pub fn view_options(&self) -> ViewOptions {
        ViewOptions { camera: self.camera.clone(), look: self.look.clone(), ..ViewOptions::default() }
    }
}

operation! {
    /// Draws a terrain in perspective, with the water in its layers.
    pub struct ViewOptions, "view", command "render perspective", with(camera: CameraOptions, look: LookOptions) {
        /// Draws the land in natural colours: rock, scree, grass, woods, snow and water under sun, sky and haze.
        natural: bool = false, within .., unit "1";
        /// Distance over which the air absorbs half of the light. By default, four times the longer side of the
        /// terrain; for a camera at `stand`, 25 km.
        haze: Option<f64> = None, within 0.1..=1e4, unit "km", needs natural;
        /// Places the camera in the terrain instead of far away: metres east and south of the north-western corner, and
        /// metres above the ground or water, 1 to 100000. Heights are then exaggerated only if `exaggeration` is given.
        stand: Option<[f64; 3]> = None, within &["east", "south", "above"], unit "m", needs natural;
        /// Direction of view of the camera at `stand`: azimuth clockwise from north, -360 to 360, and angle above the
        /// horizon, -90 to 60.
        towards: [f64; 2] = [0.0, -10.0], within &["azimuth", "pitch"], unit "°", needs stand;
        /// Horizontal angle of view of the camera at `stand`.
        lens: f64 = 50.0, within 5.0..=120.0, unit "°", needs stand;
    }
}

/// The position and the direction of a camera in the land.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Standpoint {
    /// The position in metres from the north-western corner of the terrain. Outside the terrain, the camera's height
    /// is relative to the nearest cell.
    place: Point,
    /// The height in metres above the ground or water at that position.
    above: f64,
    /// The direction of view in degrees clockwise from north.
    azimuth: f64,
    /// The direction of view in degrees above the horizon. For example, −20 looks down into a valley.
    pitch: f64,
    /// The horizontal angle of view in degrees.
    lens: f64,
}

/// Draws the terrain in perspective.
///
/// # Errors
/// Returns an error if an option is out of range, if the size of the water differs from the terrain's, or if a natural
/// view is requested of a land without a land cover.
///
/// # Examples
/// ```
/// use thalweg_core::{Field, Grid, Height, Terrain};
/// use thalweg_render::pictures::perspective::{CameraOptions, ViewOptions, draw_view};
///
/// let ground = Field::from_fn([32, 48], |i, j| Height::from_metres_clamped(300.0 - (i.abs_diff(16) + j.abs_diff(24)) as f64));
/// let terrain = Terrain::from_ground(Grid::new([32, 48], 30.0)?, ground)?;
/// // Seen from the south-west.
/// let camera = CameraOptions { size: [48, 64], azimuth: 225.0, ..CameraOptions::default() };
/// assert_eq!(draw_view(&terrain, &ViewOptions { camera, ..ViewOptions::default() })?.size(), [48, 64]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn draw_view<'a>(land: impl Into<DrawnLand<'a>>, options: &ViewOptions) -> Result<Picture> {
    options.check()?;
    let mut views = render_views(&[land.into()], options)?;
    let mut picture = views.pop().unwrap_or_else(|| Picture::new(options.camera.size, PAPER));
    if let Some(title) = &options.camera.title {
        draw_caption(&mut picture, title);
    }
    Ok(picture)
}

/// Draws two terrains side by side, each in a view of the camera's size, seen by the same camera at the same scale and
/// in the same colours, with labels.
///
/// # Errors
/// Returns the errors of [`draw_view`].
///
/// # Examples
/// ```
/// use thalweg_core::{Field, Grid, Height, Terrain};
/// use thalweg_render::pictures::perspective::{CameraOptions, ViewOptions, draw_comparison};
///
/// let ground = Field::from_fn([32, 48], |i, j| Height::from_metres_clamped(300.0 - (i.abs_diff(16) + j.abs_diff(24)) as f64));
/// let terrain = Terrain::from_ground(Grid::new([32, 48], 30.0)?, ground)?;
/// let flat = Terrain::new(terrain.grid.clone());
/// let camera = CameraOptions { size: [48, 64], ..CameraOptions::default() };
/// let options = ViewOptions { camera, ..ViewOptions::default() };
/// let picture = draw_comparison((&terrain).into(), (&flat).into(), &options)?;
/// assert_eq!(picture.size(), [48, 2 * 64]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn draw_comparison(before: DrawnLand<'_>, after: DrawnLand<'_>, options: &ViewOptions) -> Result<Picture> {
    options.check()?;
    let mut views = render_views(&[before, after], options)?;
    for (picture, label) in views.iter_mut().zip(["before", "after"]) {
        let left = picture.rgb.cols().saturating_sub(Letters::Large.width(label)) / 2;
        let top = picture.rgb.rows().saturating_sub(Letters::Large.height() + 14);
        draw_text(picture, [top, left], label, Letters::Large, INK);
    }
    let mut picture = Picture::join_side_by_side(&views, 0, PAPER);
    if let Some(title) = &options.camera.title {
        draw_caption(&mut picture, title);
    }
    Ok(picture)
}

impl ViewOptions {
    /// Returns the rows and columns of samples with which these options draw a terrain of `cells`: about as dense as
    /// the screen's pixels, and denser for a camera within the terrain. A [`NaturalGround`] of this size shows all the
    /// detail that is visible.
    pub fn sample_size(&self, cells: Size) -> Size {
        let pixels = self.camera.size[0].max(self.camera.size[1]);
        let [least, most] =
            // A camera within the terrain sees near ground enlarged, so it needs samples two to three times as dense as
            // pixels.
            if self.stand.is_some() { [2 * pixels, 3 * pixels] } else { [pixels / 2, pixels * 3 / 2] };
        let long = cells[0].max(cells[1]);
        let scale = match long {
            n if n > most => most as f64 / n as f64,
            // A whole number of new intervals in each old one keeps every sample.
            n if n > 1 && n < least => least.div_ceil(n) as f64,
            _ => return cells,
        };
        cells.map(|n| if n > 1 { (((n - 1) as f64 * scale).round() as usize).max(1) + 1 } else { 1 })
    }

    /// Checks that all options are in range.
    ///
    /// # Errors
    /// Returns an error that names the first option that is out of range, with the range.
    pub fn check(&self) -> Result<()> {
        let CameraOptions { size: [rows, cols], .. } = self.camera;
        if ![rows, cols].iter().all(|n| (16..=16_384).contains(n)) {
            let size = format!("{cols} × {rows} pixels (width × height)");
            return Err(Error::invalid_value("size", size, "16 to 16384 each"));
        }
        self.check_ranges()?;
        if let Some(Standpoint { place, above, azimuth, pitch, .. }) = self.standpoint() {
            check_range("metres east of the corner", place.x, -1e8..=1e8)?;
            check_range("metres south of the corner", place.y, -1e8..=1e8)?;
            check_range("metres above the ground", above, 1.0..=1e5)?;
            check_range("azimuth", azimuth, -360.0..=360.0)?;
            check_range("pitch", pitch, -90.0..=60.0)?;
        }
        Ok(())
    }

    /// Returns the position of the camera in the land; `None` if it is far away.
    fn standpoint(&self) -> Option<Standpoint> {
        let [azimuth, pitch] = self.towards;
        let at = |[east, south, above]: [f64; 3]| Standpoint {
            place: Point::new(east, south),
            above,
            azimuth,
            pitch,
            lens: self.lens,
        };
        self.stand.map(at)
    }
}

/// A relief at the screen's resolution, with its streams and trees.
struct Subject<'a> {
    relief: Relief,
    streams: Option<Streams<'a>>,
    trees: &'a [Tree],
    /// The land cover of a natural view.
    ground: Option<&'a NaturalGround>,
    /// The rows and columns of the terrain.
    cells: Size,
}

/// Returns the factor on heights, 0.05 to 100, that gives good proportions to a terrain `long` metres long with
/// `relief` metres between its lowest and highest point; 1 if it is flat.
pub fn choose_exaggeration(long: f32, relief: f32) -> f32 {
    if relief > 0.0 { libm::powf(PROPORTION * long / relief, EXAGGERATION_EXPONENT).clamp(0.05, 100.0) } else { 1.0 }
}

/// Draws each terrain with shared camera, exaggeration, colours and base.
pub(crate) fn render_views(lands: &[DrawnLand<'_>], options: &ViewOptions) -> Result<Vec<Picture>> {
    let subjects = lands.iter().map(|DrawnLand { terrain, water, trees, natural, .. }| {
        let ground = natural.filter(|_| options.natural);
        if options.natural && ground.is_none() {
            return Err(Error::missing_input("the land cover", "a natural view needs one; set `natural` of the land"));
        }
        let relief = Relief::with_water(terrain, water)?;
        // Large reliefs are low-pass filtered, small ones interpolated smoothly.
        let relief = relief.resized(options.sample_size(relief.size()));
        Ok(Subject { relief, streams: water.streams, trees, ground, cells: terrain.grid.size })
    });
    let subjects = subjects.collect::<Result<Vec<_>>>()?;
    let reliefs: Vec<&Relief> = subjects.iter().map(|subject| &subject.relief).collect();
    // A property that all views share is combined from those of the single reliefs.
    let joint = |pick: fn(f32, f32) -> f32, values: &dyn Fn(&Relief) -> f32| {
        reliefs.iter().map(|relief| values(relief)).reduce(pick).unwrap_or(0.0)
    };
    // The extent is that of the largest relief, so that a terrain with other cells appears in the same block.
    let extent = [0, 1].map(|k| joint(f32::max, &|r| r.cell[k] * (r.size()[k].max(2) - 1) as f32));
    let long = extent[0].max(extent[1]);
    let low = joint(f32::min, &|r| r.height_extremes()[0]);
    let high = joint(f32::max, &|r| r.height_extremes()[1]);
    // From a standpoint, exaggerated heights would make the ground steeper than a person sees it.
    let standpoint = options.standpoint();
    let (CameraOptions { size, azimuth, elevation, zoom, .. }, look) = (&options.camera, &options.look);
    let chosen = || if standpoint.is_some() { 1.0 } else { choose_exaggeration(long, high - low) };
    let exaggeration = look.exaggeration.map_or_else(chosen, |given| given as f32);
    // The base is 4.5 % of the longer side below the lowest point, so that the block's sides are visible everywhere.
    let base = low * exaggeration - 0.045 * long;
    let range = look
        .range_f32()
        .unwrap_or_else(|| [joint(f32::min, &|r| r.colour_range()[0]), joint(f32::max, &|r| r.colour_range()[1])]);
    // All views use the same light, so that smoothing appears as smoother terrain and not as stronger light: that of
    // the steepest relief, which would be black with shadow in a stronger one.
    let light = reliefs.iter().map(|relief| relief.choose_exaggeration()).reduce(f64::min).unwrap_or(1.0);
    let bounds: [ScenePoint; 2] = [-1.0, 1.0]
        .map(|s| [s * extent[1] / 2.0, s * extent[0] / 2.0, if s < 0.0 { base } else { high * exaggeration }]);
    let screen = size.map(|n| (n * SUBPIXELS) as f32);
    let camera = match (standpoint, reliefs.first()) {
        (Some(standpoint), Some(relief)) => standpoint.place_camera(relief, exaggeration, screen),
        // The factor of 0.92 leaves a margin around the block at a zoom of 1.
        _ => Camera::with_box_in_view(bounds, *azimuth, *elevation, screen, 0.92 * *zoom as f32),
    };
    let usual_haze = if standpoint.is_some() { HAZE } else { 4.0 * long };
    let haze = options.haze.map_or(usual_haze, |kilometres| (1e3 * kilometres) as f32);
    let air = Atmosphere::new(camera.eye(), look.sun, haze, low * exaggeration);
    let draw_one = |Subject { relief, streams, trees, ground, cells }: &Subject<'_>| {
        let sun = look.sun.direction();
        let brush = choose_brush(relief, look.ramp_or_land(), look.sun, Some(light), Some(range))?;
        let streams = streams.map(|streams| streams.cover_samples(relief, *cells));
        let colours = match ground {
            Some(ground) => lit_ground(relief, ground, &air, look.sun, exaggeration, streams.as_ref()),
            None => Painter::new(relief, brush).with_streams(streams).paint(),
        };
        // A camera within the terrain sees the surface only; the sides are part of views from outside.
        let mut block = Block::new(relief, &colours, exaggeration, base, sun);
        if standpoint.is_some() {
            block = block.without_sides();
        }
        if let Some(light) = Wood::light_under_crowns(trees, *cells, relief, sun) {
            block = block.with_shadows(&light);
        }
        let screen = [size[0] * SUBPIXELS, BAND * SUBPIXELS];
        let wood = Wood::new(trees, *cells, relief, exaggeration, &camera, sun, screen);
        let half = [1, 0].map(|k| relief.cell[k] * (relief.size()[k].max(2) - 1) as f32 / 2.0);
        let floor = ShadowPlane { camera, base, half, blur: 0.05 * long, sun };
        let projected = block.project(&camera);
        if ground.is_some() {
            // Only a camera at a standpoint sees the sea up to the horizon; from far away it ends at the block's sides.
            let sea = relief.sea.filter(|_| standpoint.is_some()).map(|sea| sea * exaggeration);
            return Ok(draw_natural_view(&projected, &wood, &camera, &air, sea, *size));
        }
        Ok(rasterise_block(&projected, &wood, &floor, *size))
    };
    subjects.iter().map(draw_one).collect()
}

/// The plane on which the block stands, for its shadow.
struct ShadowPlane {
    camera: Camera,
    base: f32,
    half: [f32; 2],
    blur: f32,
    sun: ScenePoint,
}

impl ShadowPlane {
    /// Returns the share of the light that the block removes at a subpixel: a soft shadow that falls away from the
    /// sun.
    fn shadow_share(&self, at: [f32; 2]) -> f32 {
        let Some([east, north]) = self.camera.intersect_level_plane(at, self.base) else { return 0.0 };
        // The shadow's outline is that of the base, moved away from the sun by the width of its soft edge.
        let beyond = |x: f32, half: f32, sun: f32| ((x + sun * self.blur).abs() - half).max(0.0);
        let (dx, dy) = (beyond(east, self.half[0], self.sun[0]), beyond(north, self.half[1], self.sun[1]));
        let fall = 1.0 + (dx * dx + dy * dy) / (self.blur * self.blur);
        // Below the block half of the light is missing; far away the share decreases with the fourth power of the
        // distance.
        0.5 / (fall * fall)
    }
}

fn rasterise_block(block: &Projected, wood: &Wood, floor: &ShadowPlane, [rows, cols]: Size) -> Picture {
    let mut picture = Picture::new([rows, cols], PAPER);
    let air = AIR.map(to_linear);
    // Strips do not share pixels, so that they can be drawn on any number of threads with the same result.
    let strips = picture.rgb.as_mut_slice().par_chunks_mut(cols * BAND).enumerate();
    strips.for_each(|(n, strip)| {
        let top = n * BAND;
        let mut band = RasterBand::new(top * SUBPIXELS, strip.len() / cols * SUBPIXELS, cols * SUBPIXELS);
        block.draw(&mut band);
        wood.draw_band(n, &floor.camera, &mut band);
        for (k, pixel) in strip.iter_mut().enumerate() {
            let (row, col) = (k / cols, k % cols);
            // Where no triangle covers a subpixel, the paper's gradient and the block's shadow on the plane are
            // visible.
            let behind = || -> Linear {
                let height = (top + row) as f32 / rows as f32;
                let at = [(col * SUBPIXELS + SUBPIXELS / 2) as f32, ((top + row) * SUBPIXELS + SUBPIXELS / 2) as f32];
                let dark = if block.is_empty() { 0.0 } else { floor.shadow_share(at) };
                mix_colours(mix_colours(air[0], air[1], height), [0.0; 3], dark)
            };
            let mut sum = [0.0; 3];
            // Subpixels are averaged in linear light, in which light adds up.
            for sub in 0..SUBPIXELS * SUBPIXELS {
                let seen = band
                    .colour_at(row * SUBPIXELS + sub / SUBPIXELS, col * SUBPIXELS + sub % SUBPIXELS)
                    .unwrap_or_else(behind);
                sum = std::array::from_fn(|c| sum[c] + seen[c]);
            }
            *pixel = to_srgb(sum.map(|x| x / (SUBPIXELS * SUBPIXELS) as f32));
        }
    });
    picture
}

/// Draws the block, its trees, and the sky behind them as seen through the air; a `sea` extends to the horizon.
fn draw_natural_view(
    block: &Projected,
    wood: &Wood,
    camera: &Camera,
    air: &Atmosphere,
    sea: Option<f32>,
    [rows, cols]: Size,
) -> Picture {
    let mut picture = Picture::new([rows, cols], PAPER);
    picture.rgb.as_mut_slice().par_chunks_mut(cols * BAND).enumerate().for_each(|(n, strip)| {
        let top = n * BAND;
        let mut band = RasterBand::new(top * SUBPIXELS, strip.len() / cols * SUBPIXELS, cols * SUBPIXELS);
        block.draw(&mut band);
        wood.draw_band(n, camera, &mut band);
        let seen = |row: usize, col: usize| -> Linear {
            let at = [col as f32 + 0.5, (top * SUBPIXELS + row) as f32 + 0.5];
            let ray = camera.ray_through(at);
            // The ray has a forward length of 1, so the point at inverse depth `near` is at 1/near times the ray.
            if let (Some(near), Some(colour)) = (band.inverse_depth_at(row, col), band.colour_at(row, col)) {
                let eye = camera.eye();
                return air.add_haze(colour, std::array::from_fn(|k| eye[k] + ray[k] / near));
            }
            // Where the terrain ends, the plane of the sea continues up to the horizon.
            if let Some((level, [east, north])) =
                sea.and_then(|level| Some((level, camera.intersect_level_plane(at, level)?)))
            {
                return air.sea_light([east, north, level]);
            }
            let length = ray.iter().map(|x| x * x).sum::<f32>().sqrt();
            air.sky_colour(ray.map(|x| x / length))
        };
        for (k, pixel) in strip.iter_mut().enumerate() {
            let (row, col) = (k / cols, k % cols);
            let mut sum = [0.0; 3];
            for sub in 0..SUBPIXELS * SUBPIXELS {
                // Each subpixel is developed before averaging, so that bright edges are smooth in the picture.
                let seen = Atmosphere::apply_film_curve(seen(
                    row * SUBPIXELS + sub / SUBPIXELS,
                    col * SUBPIXELS + sub % SUBPIXELS,
                ));
                sum = std::array::from_fn(|c| sum[c] + seen[c]);
            }
            *pixel = to_srgb(sum.map(|x| x / (SUBPIXELS * SUBPIXELS) as f32));
        }
    });
    picture
}

impl Standpoint {
    /// Returns the camera at this standpoint, on a relief whose heights are multiplied by `exaggeration`.
    fn place_camera(&self, relief: &Relief, exaggeration: f32, screen: [f32; 2]) -> Camera {
        let [rows, cols] = relief.size();
        // Cell centres are half a cell from the corner that positions are measured from.
        let [i, j] = [0, 1].map(|axis| (self.place.axis_coordinate(axis) as f32) / relief.cell[axis] - 0.5);
        let cell = |at: f32, n: usize| (at.round().max(0.0) as usize).min(n - 1);
        let (r, c) = (cell(i, rows), cell(j, cols));
        let ground = (relief.heights[(r, c)] + relief.water_depth(r, c)) * exaggeration;
        let east = (j - (cols - 1) as f32 / 2.0) * relief.cell[1];
        let north = ((rows - 1) as f32 / 2.0 - i) * relief.cell[0];
        Camera::from_eye([east, north, ground + self.above as f32], [self.azimuth, self.pitch], self.lens, screen)
    }
}

/// Draws a line of text in the middle of the top.
fn draw_caption(picture: &mut Picture, text: &str) {
    let left = picture.rgb.cols().saturating_sub(Letters::Large.width(text)) / 2;
    draw_text(picture, [12, left], text, Letters::Large, INK);
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::{Field, Grid, Height, Terrain};

    fn terrain(size: Size, height: impl Fn(usize, usize) -> f64) -> Terrain {
        let mut terrain = Terrain::new(Grid::new(size, 30.0).unwrap());
        for i in 0..size[0] {
            for j in 0..size[1] {
                terrain.ground[(i, j)] = Height::from_metres_clamped(height(i, j));
            }
        }
        terrain
    }

    fn hill(i: usize, j: usize) -> f64 {
        let (y, x) = (i as f64 - 20.0, j as f64 - 20.0);
        400.0 / (1.0 + (x * x + y * y) / 60.0)
    }

    /// The share of pixels that differ clearly from the empty air of the same picture.
    fn drawn(picture: &Picture) -> f64 {
        let blank = |rgb: &[u8; 3]| rgb.iter().all(|c| *c > 200);
        let ink = picture.rgb.as_slice().iter().filter(|p| !blank(p)).count();
        ink as f64 / picture.rgb.len() as f64
    }

    fn small() -> ViewOptions {
        let camera = CameraOptions { size: [120, 200], ..CameraOptions::default() };
        ViewOptions { camera, ..ViewOptions::default() }
    }

    #[test]
    fn every_shape_of_terrain_is_drawn() {
        let hole = |mut t: Terrain, f: fn(usize, usize) -> bool| {
            t.nodata = Some(Field::from_fn(t.grid.size, f));
            t
        };
        let cases = [
            ("flat", terrain([40, 40], |_, _| 12.0)),
            ("one cell", terrain([1, 1], |_, _| 5.0)),
            ("a row", terrain([1, 30], |_, j| j as f64)),
            ("a column", terrain([30, 1], |i, _| i as f64)),
            ("two rows", terrain([2, 3], |i, j| (i * j) as f64)),
            ("hill", terrain([40, 40], hill)),
            ("hole", hole(terrain([40, 40], hill), |i, j| i > 25 && j > 20)),
        ];
        for (name, terrain) in cases {
            let picture = draw_view(&terrain, &small()).unwrap();
            assert_eq!(picture.size(), [120, 200]);
            // A slab seen at 34° that fills nine tenths of one direction covers at least a twentieth of the picture,
            // even if it is a line of 30 cells.
            assert!(drawn(&picture) > 0.02, "{name}: {}", drawn(&picture));
        }
        let nothing = hole(terrain([5, 5], hill), |_, _| true);
        assert_eq!(drawn(&draw_view(&nothing, &small()).unwrap()), 0.0);
    }

    #[test]
    fn comparing_shows_both_alike_or_different() {
        let (a, b) = (terrain([40, 40], hill), terrain([40, 40], |i, j| hill(i, j) * 0.4));
        let halves = |picture: &Picture| {
            let mut pair = [Picture::new([100, 200], [0; 3]), Picture::new([100, 200], [0; 3])];
            for (k, half) in pair.iter_mut().enumerate() {
                // Only above the labels, which differ.
                for i in 0..80 {
                    half.rgb.row_mut(i).copy_from_slice(&picture.rgb.row(i)[k * 200..(k + 1) * 200]);
                }
            }
            pair
        };
        let pair = |a, b| draw_comparison(DrawnLand::from(a), DrawnLand::from(b), &small()).unwrap();
        let same = pair(&a, &a);
        assert_eq!(same.size(), [120, 400]);
        let [left, right] = halves(&same);
        assert_eq!(left, right);
        let [left, right] = halves(&pair(&a, &b));
        let different = left.rgb.as_slice().iter().zip(right.rgb.as_slice()).filter(|(l, r)| l != r).count();
        assert!(different > 1000, "{different}");
    }

    #[test]
    fn threads_change_nothing() {
        let terrain = terrain([40, 40], hill);
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| draw_view(&terrain, &small()).unwrap())
        };
        assert_eq!(with(1), with(3));
    }

    #[test]
    fn options_out_of_range_are_refused() {
        let t = terrain([3, 3], hill);
        let refused = |change: fn(&mut ViewOptions)| {
            let mut options = small();
            change(&mut options);
            draw_view(&t, &options).unwrap_err().to_string()
        };
        assert!(refused(|options| options.camera.size = [0, 100]).starts_with("size = 100 × 0 pixels"));
        assert!(refused(|options| options.camera.elevation = f64::NAN).starts_with("elevation = NaN"));
        assert!(refused(|options| options.camera.zoom = 0.0).starts_with("zoom = 0"));
        assert!(refused(|options| options.look.exaggeration = Some(-1.0)).starts_with("exaggeration = -1"));
        assert!(refused(|options| options.look.range = Some([1.0, 1.0])).starts_with("range = 1 to 1 m"));
        assert!(refused(|options| options.stand = Some([0.0, 0.0, 0.0])).starts_with("metres above the ground = 0"));
        assert!(refused(|options| options.natural = true).starts_with("the land cover is missing"));
    }
}
