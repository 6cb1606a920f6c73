//! The shaded map: hypsometric tint under a soft sun, with seas, lakes and rivers, scale bar and legend.

use rayon::prelude::*;

use crate::pictures::colour::{Linear, Rgb, to_srgb};
use crate::pictures::drawn_land::DrawnLand;
use crate::pictures::furniture::{self, Legend};
use crate::pictures::light::Sun;
use crate::pictures::look::LookOptions;
use crate::pictures::paint::{LightRow, PaintBrush, Painter};
use crate::pictures::picture::Picture;
use crate::pictures::ramps::Ramp;
use crate::pictures::relief::{Relief, ReliefStatistics};
use crate::pictures::rivers::draw_reaches;
use crate::pictures::trees::draw_trees;
use thalweg_core::{Cell, Error, Field, Result, Size, Terrain, operation};

/// The longer side in pixels of a map that fits on a screen.
pub const SCREEN: usize = 2048;

operation! {
    /// Draws a terrain as a shaded map with north up, with the water in its layers.
    pub struct ShadeOptions, "shade", command "render map", with(look: LookOptions) {
        /// Draws a scale bar below the map.
        scale_bar: bool = false, within .., unit "1", flag "scale";
        /// Draws the colour ramp with its heights below the map.
        legend: bool = false, within .., unit "1";
        /// Maximum length of the longer side of the map. By default, the map has one pixel per cell.
        max_size: Option<usize> = None, within 1..=65_535, unit "pixels";
    }
}

impl ShadeOptions {
    /// Returns the options with the range and exaggeration that would be chosen for this terrain: for pictures that
    /// should match.
    ///
    /// # Errors
    /// Returns the errors of [`draw_map`].
    pub fn resolve_for(self, terrain: &Terrain) -> Result<Self> {
        let relief = Relief::new(terrain, None)?;
        let brush = choose_brush_of(&relief, &self.look)?;
        let (range, exaggeration) = (Some(brush.range.map(f64::from)), Some(f64::from(brush.exaggeration)));
        Ok(Self { look: LookOptions { range, exaggeration, ..self.look }, ..self })
    }
}

/// Draws the terrain as a shaded map, north up, with at most one pixel per cell.
///
/// # Errors
/// Returns an error if the size of the water differs from the terrain's, or if sun, exaggeration or range are out of
/// range.
///
/// # Examples
/// ```
/// use thalweg_core::{Field, Grid, Height, Terrain};
/// use thalweg_render::pictures::look::LookOptions;
/// use thalweg_render::pictures::ramps::Ramp;
/// use thalweg_render::pictures::shade::{ShadeOptions, draw_map};
///
/// let ground = Field::from_fn([32, 48], |i, j| Height::from_metres_clamped(300.0 - (i.abs_diff(16) + j.abs_diff(24)) as f64));
/// let terrain = Terrain::from_ground(Grid::new([32, 48], 30.0)?, ground)?;
/// let look = LookOptions { ramp: Some(Ramp::find("tropical")?), ..LookOptions::default() };
/// let options = ShadeOptions { look, max_size: Some(24), ..ShadeOptions::default() };
/// assert_eq!(draw_map(&terrain, &options)?.size(), [16, 24]);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn draw_map<'a>(land: impl Into<DrawnLand<'a>>, options: &ShadeOptions) -> Result<Picture> {
    let DrawnLand { terrain, water, rivers, trees, .. } = land.into();
    let relief = Relief::with_water(terrain, &water)?;
    let brush = choose_brush_of(&relief, &options.look)?;
    let painter = Painter::new(&relief, brush);
    let stripe = stripe_width(relief.size());
    let mut rgb = Field::new(relief.size(), [0; 3]);
    rgb.par_rows_mut().for_each_init(
        || RowScratch::new(relief.size()[1]),
        |scratch, (i, row)| draw_row(&painter, &relief, i, [i, stripe], scratch, row),
    );
    // Sky and shadow take as much memory as the terrain; release them before streams are drawn.
    drop(painter);
    let map = Picture { rgb };
    let pixels = map.rgb.cols();
    let mut map = map.fit_within(options.max_size.unwrap_or(0));
    if let Some(streams) = water.streams {
        streams.draw_over(&mut map, &relief);
    }
    let [rows, cols] = relief.size();
    // A river is hidden only where its cell and all eight neighbours are wet, so that its line reaches into a lake.
    let wet = |i: usize, j: usize| i < rows && j < cols && relief.water_depth(i, j) > 0.0;
    draw_reaches(&mut map, rivers, [rows, cols], |Cell { row: i, col: j }| {
        (i.saturating_sub(1)..=i + 1).all(|r| (j.saturating_sub(1)..=j + 1).all(|c| wet(r, c)))
    });
    let metres_per_pixel = terrain.grid.cell * pixels as f64 / map.rgb.cols() as f64;
    draw_trees(&mut map, trees, [rows, cols], metres_per_pixel, options.look.sun);
    Ok(add_furniture(map, metres_per_pixel, &brush, options))
}

/// Buffers for drawing a row.
pub(crate) struct RowScratch {
    lights: LightRow,
    colours: Vec<Linear>,
}

impl RowScratch {
    /// Creates buffers for rows of `cols` cells.
    pub fn new(cols: usize) -> Self {
        Self { lights: LightRow::new(cols), colours: vec![[0.0; 3]; cols] }
    }
}

/// Draws row `i` of the relief, which is row `at` of the map; holes are hatched with stripes of width `stripe`.
pub(crate) fn draw_row(
    painter: &Painter<'_>,
    relief: &Relief,
    i: usize,
    [at, stripe]: [usize; 2],
    scratch: &mut RowScratch,
    out: &mut [Rgb],
) {
    painter.paint_row(i, &mut scratch.lights, &mut scratch.colours);
    for (j, (pixel, colour)) in out.iter_mut().zip(&scratch.colours).enumerate() {
        *pixel = if relief.is_hole(i, j) { hatch_colour(at, j, stripe) } else { to_srgb(*colour) };
    }
}

/// Returns the map with its scale bar and legend below it.
pub(crate) fn add_furniture(
    map: Picture,
    metres_per_pixel: f64,
    brush: &PaintBrush,
    options: &ShadeOptions,
) -> Picture {
    let legend = Legend {
        ramp: options.look.ramp_or_land(),
        low: f64::from(brush.range[0]),
        high: f64::from(brush.range[1]),
        unit: "m",
        log: false,
    };
    furniture::add_scale_and_legend(
        map,
        options.scale_bar.then_some(metres_per_pixel),
        options.legend.then_some(&legend),
    )
}

/// Returns the width in pixels of the stripes of [`hatch_colour`] on a map of the given size.
pub(crate) fn stripe_width([rows, cols]: Size) -> usize {
    // Stripes are at least 3 pixels wide, and wider on larger maps, which are usually reduced before they are viewed.
    ((rows * cols) as f64).sqrt() as usize / 128 + 3
}

/// Returns a checked brush with this look; parameters that are not given are chosen from the relief.
fn choose_brush_of(relief: &Relief, look: &LookOptions) -> Result<PaintBrush> {
    choose_brush(relief, look.ramp_or_land(), look.sun, look.exaggeration, look.range_f32())
}

/// Returns a checked brush; parameters that are not given are chosen from the relief.
pub(crate) fn choose_brush(
    relief: &Relief,
    ramp: &'static Ramp,
    sun: Sun,
    exaggeration: Option<f64>,
    range: Option<[f32; 2]>,
) -> Result<PaintBrush> {
    choose_relief_brush(&ReliefStatistics::from_relief(relief), relief.sea, ramp, sun, exaggeration, range)
}

/// Does the same with the statistics of a whole relief.
pub(crate) fn choose_relief_brush(
    relief: &ReliefStatistics,
    sea: Option<f32>,
    ramp: &'static Ramp,
    sun: Sun,
    exaggeration: Option<f64>,
    range: Option<[f32; 2]>,
) -> Result<PaintBrush> {
    sun.check()?;
    let exaggeration = exaggeration.unwrap_or_else(|| relief.choose_exaggeration());
    // The comparison is written so that NaN fails it as well.
    if !(exaggeration > 0.0 && exaggeration <= 1000.0) {
        return Err(Error::invalid_value("exaggeration", exaggeration, "above 0 to 1000"));
    }
    let range = range.unwrap_or_else(|| relief.colour_range(sea));
    if !(range[0] < range[1] && (range[1] - range[0]).is_finite()) {
        return Err(Error::invalid_value(
            "range",
            format!("{} to {} m", range[0], range[1]),
            "two heights in rising order",
        ));
    }
    Ok(PaintBrush { ramp, range, sun, exaggeration: exaggeration as f32 })
}

/// Returns the colour of a pixel in the pale stripes where there is no data.
pub(crate) fn hatch_colour(i: usize, j: usize, stripe: usize) -> Rgb {
    if ((i + j) / stripe).is_multiple_of(2) { [214; 3] } else { [226; 3] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pictures::water::Water;
    use thalweg_core::terrain::Cells;
    use thalweg_core::{Grid, Height};
    use thalweg_models::models::glacier::ICE;

    /// Returns options with this range of heights.
    fn with_range(low: f64, high: f64) -> ShadeOptions {
        let look = LookOptions { range: Some([low, high]), ..LookOptions::default() };
        ShadeOptions { look, ..ShadeOptions::default() }
    }

    fn terrain(rows: usize, cols: usize, height: impl Fn(usize, usize) -> f64) -> Terrain {
        let mut terrain = Terrain::new(Grid::new([rows, cols], 30.0).unwrap());
        for i in 0..rows {
            for j in 0..cols {
                terrain.ground[(i, j)] = Height::from_metres_clamped(height(i, j));
            }
        }
        terrain
    }

    #[test]
    fn flat_ground_shows_the_ramps_own_colour() {
        let options = with_range(0.0, 100.0);
        for h in [0.0, 24.0, 60.0] {
            let picture = draw_map(&terrain(6, 9, |_, _| h), &options).unwrap();
            let want = Ramp::land().rgb_at(h as f32 / 100.0);
            for pixel in picture.rgb.as_slice() {
                // One code for the table's 1024 steps, and one for rounding.
                assert!((0..3).all(|c| pixel[c].abs_diff(want[c]) <= 2), "{pixel:?} for {want:?}");
            }
        }
    }

    #[test]
    fn slopes_to_the_sun_are_brighter() {
        let roof =
            draw_map(&terrain(40, 40, |i, j| 400.0 - 8.0 * (i + j).abs_diff(39) as f64), &ShadeOptions::default())
                .unwrap();
        let sum = |[r, g, b]: Rgb| u32::from(r) + u32::from(g) + u32::from(b);
        // Equal heights on both sides of the ridge, which runs perpendicular to the sun's direction.
        assert!(sum(roof.rgb[(15, 15)]) > sum(roof.rgb[(24, 24)]) + 60);
    }

    #[test]
    fn sea_and_water_are_blue_and_holes_are_pale() {
        let mut land = terrain(20, 20, |i, _| i as f64 * 10.0 - 100.0);
        land.grid.sea_level = Some(Height::ZERO);
        land.nodata = Some(Field::from_fn([20, 20], |i, j| i == 19 && j == 19));
        let mut water = Field::new([20, 20], 0.0);
        water[(15, 5)] = 3.0;
        let water = Water { depth: Some(&water), ..Water::default() };
        let picture = draw_map(DrawnLand { water, ..(&land).into() }, &ShadeOptions::default()).unwrap();
        let blue = |i: usize, j: usize| picture.rgb[(i, j)][2] > picture.rgb[(i, j)][0] + 15;
        assert!(blue(2, 3) && blue(8, 8) && blue(15, 5) && !blue(15, 8));
        assert!(picture.rgb[(2, 3)][0] < picture.rgb[(8, 3)][0], "deeper is darker");
        assert!(picture.rgb[(19, 19)] == [214; 3] || picture.rgb[(19, 19)] == [226; 3]);
    }

    #[test]
    fn ice_is_white_and_blue_in_the_light_of_its_own_surface() {
        // A valley filled with ice up to a level: that level is visible, not the bed.
        let bed = |j: usize| 30.0 * (j as f64 - 20.0).abs();
        let mut land = terrain(40, 41, |_, j| bed(j));
        let thickness = |j: usize| (300.0 - bed(j)).max(0.0);
        land.insert_layer(
            &ICE,
            Cells::Height(Field::from_fn([40, 41], |_, j| Height::from_metres_clamped(thickness(j)))),
        )
        .unwrap();
        let mut options = with_range(0.0, 600.0);
        options.look.exaggeration = Some(1.0);
        let with_water = |land, water| draw_map(DrawnLand { water, ..DrawnLand::from(land) }, &options);
        let bare = draw_map(&land, &options).unwrap();
        let iced = with_water(&land, Water::from_terrain(&land)).unwrap();
        for j in 13..28 {
            let [r, g, b] = iced.rgb[(20, j)];
            assert!(b >= g && g >= r && r > 190, "{j}: {:?}", iced.rgb[(20, j)]);
            // Level, except for the part of the sky that the walls hide; the valley's sides differ strongly in
            // brightness.
            assert!((0..3).all(|c| iced.rgb[(20, j)][c].abs_diff(iced.rgb[(20, 20)][c]) < 30), "{j}");
        }
        assert!(bare.rgb[(20, 14)][0].abs_diff(bare.rgb[(20, 26)][0]) > 40);
        // Where there is no ice the ground has its own colour.
        assert!((0..3).all(|c| iced.rgb[(20, 1)][c].abs_diff(bare.rgb[(20, 1)][c]) < 12));
        // Ice that breaks over a step is bluer than level ice.
        let mut fall = terrain(40, 40, |i, _| 900.0 - if i < 20 { 0.0 } else { 45.0 * (i.min(30) - 20) as f64 });
        fall.insert_layer(&ICE, Cells::Height(Field::new([40, 40], Height::from_metres_clamped(60.0)))).unwrap();
        let fall = with_water(&fall, Water::from_terrain(&fall)).unwrap();
        let blue = |[r, _, b]: Rgb| f64::from(b) / f64::from(r.max(1));
        assert!(blue(fall.rgb[(25, 20)]) > 1.15 * blue(fall.rgb[(5, 20)]), "{:?}", fall.rgb[(25, 20)]);
        // Ice of thickness 0 is ignored, and ice of another size is rejected.
        let none = Field::new([40, 41], Height::ZERO);
        assert_eq!(with_water(&land, Water { ice: Some(&none), ..Water::default() }).unwrap(), bare);
        let small = Field::new([3, 3], Height::ZERO);
        assert!(with_water(&land, Water { ice: Some(&small), ..Water::default() }).is_err());
    }

    #[test]
    fn settled_options_draw_the_same_and_hold_on_other_ground() {
        let (low, high) = (terrain(20, 20, |i, j| (i * j % 7) as f64), terrain(20, 20, |i, _| 500.0 + 9.0 * i as f64));
        let settled = ShadeOptions::default().resolve_for(&low).unwrap();
        assert_eq!(draw_map(&low, &settled).unwrap(), draw_map(&low, &ShadeOptions::default()).unwrap());
        let other = settled.clone().resolve_for(&high).unwrap();
        assert_eq!(other.look, settled.look);
    }

    #[test]
    fn sizes_threads_and_refusals() {
        for (rows, cols) in [(1, 1), (1, 9), (9, 1), (2, 3)] {
            let land = terrain(rows, cols, |i, j| (i + j) as f64);
            assert_eq!(draw_map(&land, &ShadeOptions::default()).unwrap().size(), [rows, cols]);
            let all = ShadeOptions { scale_bar: true, legend: true, max_size: Some(4), ..ShadeOptions::default() };
            draw_map(&land, &all).unwrap();
        }
        let land = terrain(50, 70, |i, j| ((i * j) % 17) as f64);
        let small = draw_map(&land, &ShadeOptions { max_size: Some(35), ..ShadeOptions::default() }).unwrap();
        assert_eq!(small.size(), [25, 35]);
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| draw_map(&land, &ShadeOptions::default()).unwrap())
        };
        assert_eq!(with(1), with(3));
        for change in [
            |look: &mut LookOptions| look.exaggeration = Some(f64::NAN),
            |look: &mut LookOptions| look.sun.altitude = 0.0,
            |look: &mut LookOptions| look.range = Some([f64::NAN, 1.0]),
        ] {
            let mut bad = ShadeOptions::default();
            change(&mut bad.look);
            assert!(draw_map(&land, &bad).is_err());
        }
        let water = Water { depth: Some(&Field::new([3, 3], 0.0)), ..Water::default() };
        assert!(draw_map(DrawnLand { water, ..(&land).into() }, &ShadeOptions::default()).is_err());
    }
}
