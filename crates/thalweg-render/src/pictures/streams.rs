//! Drawing of streams over a map.

use rayon::prelude::*;

use crate::pictures::colour::{Linear, mix_colours, to_linear, to_srgb};
use crate::pictures::picture::Picture;
use crate::pictures::relief::Relief;
use crate::pictures::water::Streams;
use thalweg_core::{Field, Size};
use thalweg_flow::{D8, hydraulic};

/// The light blue of streams, lighter and clearer than any pool.
pub const STREAM: Linear = [0.125, 0.455, 0.870];
/// Half the width in pixels of the thinnest stream.
const THIN: f32 = 0.6;
/// The number of rows of pixels that are drawn together.
const BAND: usize = 32;

/// The position of cell k of an axis among the picture's pixels, whose centres are at whole numbers: `scale`·k +
/// `shift`.
#[derive(Clone, Copy)]
struct PixelAxis {
    scale: f32,
    shift: f32,
}

impl PixelAxis {
    fn to_pixel(self, k: usize) -> f32 {
        self.scale * k as f32 + self.shift
    }
}

impl Streams<'_> {
    /// Draws the streams over a map of the relief with at most one pixel per cell; open water hides them.
    pub fn draw_over(&self, map: &mut Picture, relief: &Relief) {
        let (size, cells) = (map.size(), relief.size());
        let axes = [0, 1].map(|k| {
            let scale = size[k] as f32 / cells[k] as f32;
            // Pixel centres are at whole numbers, so the outer edge of the first pixel is at -0.5.
            PixelAxis { scale, shift: 0.5 * scale - 0.5 }
        });
        let cover = self.rasterise_cover(relief.cell[0], axes, size);
        let cell = |k: usize, at: usize| ((at as f32 - axes[k].shift) / axes[k].scale).round() as usize;
        for i in 0..size[0] {
            for j in 0..size[1] {
                let (r, c) = (cell(0, i).min(cells[0] - 1), cell(1, j).min(cells[1] - 1));
                if cover[(i, j)] > 0.0 && !relief.is_hole(r, c) {
                    let share = cover[(i, j)] * (1.0 - relief.open_water(r, c));
                    let pixel = &mut map.rgb[(i, j)];
                    *pixel = to_srgb(mix_colours(to_linear(*pixel), STREAM, share));
                }
            }
        }
    }

    /// Returns the share, 0 to 1, of each sample of a relief that streams cover, except in open water. The discharge
    /// has `cells` (rows and columns) over the same extent, with the first and last samples coinciding.
    pub fn cover_samples(&self, relief: &Relief, cells: Size) -> Field<f32> {
        let size = relief.size();
        // The first and last samples coincide, as in `Relief::resized`.
        let scale = |k: usize| (size[k] as f32 - 1.0) / (cells[k] as f32 - 1.0).max(1.0);
        let axes = [0, 1].map(|k| PixelAxis { scale: if size[k] > 1 { scale(k) } else { 1.0 }, shift: 0.0 });
        let cover = self.rasterise_cover(relief.cell[0] * axes[0].scale, axes, size);
        Field::from_fn(size, |i, j| {
            let share = cover[(i, j)];
            if share > 0.0 { share * (1.0 - relief.open_water(i, j)) } else { 0.0 }
        })
    }

    /// Returns the cover of each of a picture's pixels, 0 to 1. Every cell is connected to those of its neighbours
    /// that also carry water, by strokes as wide as the stream, so that lines have no gaps. `cell` is in metres.
    fn rasterise_cover(&self, cell: f32, axes: [PixelAxis; 2], size: Size) -> Field<f32> {
        let [rows, cols] = self.discharge.size();
        let opacity = self.compute_opacities(axes[0].scale.min(axes[1].scale));
        let wide = |i: usize, j: usize| {
            let near = (i.saturating_sub(1)..(i + 2).min(rows))
                .flat_map(|r| (j.saturating_sub(1)..(j + 2).min(cols)).map(move |c| (r, c)));
            // A channel that is already wider than a cell is as wide as its cells. It is one if more than five of the 3
            // × 3 cells carry at least half of its discharge.
            let within = near.filter(|at| self.discharge[*at] >= 0.5 * self.discharge[(i, j)]).count() > 5;
            let metres = if within { cell } else { hydraulic::channel_width(self.discharge[(i, j)]) };
            // The limit of 64 pixels bounds the search around a stroke on maps with very large cells in pixels.
            (0.5 * metres / cell * axes[0].scale).clamp(THIN, 64.0)
        };
        // Few cells are shown, so their widths are computed on demand and not stored.
        let widest = (0..rows).into_par_iter().map(|i| {
            let shown = (0..cols).filter(|j| opacity[(i, *j)] > 0.0);
            shown.map(|j| wide(i, j)).fold(0f32, f32::max)
        });
        let widest = widest.reduce(|| 0.0, f32::max);
        // A stroke extends over its half width, its soft edge and the distance to a neighbouring cell.
        let reach = widest + 1.0 + axes[0].scale;
        let mut cover = Field::new(size, 0f32);
        cover.as_mut_slice().par_chunks_mut((size[1] * BAND).max(1)).enumerate().for_each(|(n, band)| {
            let mut band = CoverBand { top: n * BAND, cols: size[1], cover: band };
            // Each band draws all strokes that reach into it, also those that begin outside, so that bands are
            // independent.
            let row = |y: f32| ((y - axes[0].shift) / axes[0].scale).max(0.0) as usize;
            let (from, to) = (row(band.top as f32 - reach), row((band.top + BAND) as f32 + reach) + 2);
            for i in from..to.min(rows) {
                for j in (0..cols).filter(|j| opacity[(i, *j)] > 0.0) {
                    let dot = |i: usize, j: usize| StrokePoint {
                        at: [axes[0].to_pixel(i), axes[1].to_pixel(j)],
                        half: wide(i, j),
                        opacity: opacity[(i, j)],
                    };
                    band.stroke_segment(dot(i, j), dot(i, j));
                    // The other four neighbours draw their strokes to this cell.
                    for [di, dj] in &D8::OFFSETS[..4] {
                        let (r, c) = (i.wrapping_add_signed(*di), j.wrapping_add_signed(*dj));
                        if r >= rows || c >= cols || opacity[(r, c)] <= 0.0 {
                            continue;
                        }
                        // No diagonal stroke if the corner between the two cells carries water itself.
                        let least = 0.5 * opacity[(i, j)].min(opacity[(r, c)]);
                        let corner = opacity[(i, c)].max(opacity[(r, j)]) >= least;
                        if *di == 0 || *dj == 0 || !corner {
                            band.stroke_segment(dot(i, j), dot(r, c));
                        }
                    }
                }
            }
        });
        cover
    }
}

/// An end of a stroke: row and column in pixels, half its width, and its opacity.
#[derive(Clone, Copy)]
struct StrokePoint {
    at: [f32; 2],
    half: f32,
    opacity: f32,
}

/// Some rows of the cover.
struct CoverBand<'a> {
    top: usize,
    cols: usize,
    cover: &'a mut [f32],
}

impl CoverBand<'_> {
    /// Covers the pixels around the line from `a` to `b`, with soft edges; the greatest cover counts, so that the
    /// order does not matter.
    fn stroke_segment(&mut self, a: StrokePoint, b: StrokePoint) {
        let reach = a.half.max(b.half) + 0.5;
        let along = [b.at[0] - a.at[0], b.at[1] - a.at[1]];
        let square = along[0] * along[0] + along[1] * along[1];
        let rows = self.cover.len() / self.cols.max(1);
        // Pixel centres outside the stroke's reach are skipped; the casts are safe because both ends are limited first.
        let span = |k: usize, first: usize, n: usize| {
            let (low, high) = (a.at[k].min(b.at[k]) - reach, a.at[k].max(b.at[k]) + reach);
            (low.ceil().max(first as f32) as usize)..((high.floor() + 1.0).max(0.0) as usize).min(first + n)
        };
        for i in span(0, self.top, rows) {
            for j in span(1, 0, self.cols) {
                let from = [i as f32 - a.at[0], j as f32 - a.at[1]];
                // A stroke from a cell to itself has no length; NaN becomes 0 in the comparison.
                let t = (from[0] * along[0] + from[1] * along[1]) / square;
                let t = if t > 0.0 { t.min(1.0) } else { 0.0 };
                let off = [from[0] - t * along[0], from[1] - t * along[1]];
                let half = a.half + (b.half - a.half) * t;
                let share = (half + 0.5 - (off[0] * off[0] + off[1] * off[1]).sqrt()).clamp(0.0, 1.0);
                let cover = share * (a.opacity + (b.opacity - a.opacity) * t);
                let here = &mut self.cover[(i - self.top) * self.cols + j];
                *here = here.max(cover);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pictures::drawn_land::DrawnLand;
    use crate::pictures::look::LookOptions;
    use crate::pictures::relief::compute_pool_levels;
    use crate::pictures::shade::{ShadeOptions, draw_map};
    use crate::pictures::water::Water;
    use thalweg_core::{Grid, Height, Terrain};

    /// A plain at 100 m with cells of 10 m.
    fn plain(size: Size) -> Terrain {
        let mut terrain = Terrain::new(Grid::new(size, 10.0).unwrap());
        terrain.ground.as_mut_slice().fill(Height::from_metres_clamped(100.0));
        terrain
    }

    fn drawn(terrain: &Terrain, water: Water<'_>, max_size: Option<usize>) -> Picture {
        let look = LookOptions { range: Some([0.0, 200.0]), ..LookOptions::default() };
        let options = ShadeOptions { look, max_size, ..ShadeOptions::default() };
        draw_map(DrawnLand { water, ..terrain.into() }, &options).unwrap()
    }

    fn is_blue([r, _, b]: [u8; 3]) -> bool {
        i32::from(b) > i32::from(r) + 25
    }

    #[test]
    fn a_diagonal_stream_is_one_line() {
        let terrain = plain([40, 40]);
        let discharge = Field::from_fn([40, 40], |i, j| if i == j { 0.5 } else { 0.0 });
        let streams = Streams { threshold: Some(0.4), ..Streams::from_discharge(&discharge) };
        let water = Water { streams: Some(streams), ..Water::default() };
        for max_size in [None, Some(25), Some(13)] {
            let map = drawn(&terrain, water, max_size);
            // Wherever the line is crossed from corner to corner of pixels it is visible, next to its cells too.
            let n = map.rgb.rows();
            let faint = |i: usize, j: usize| i32::from(map.rgb[(i, j)][2]) - i32::from(map.rgb[(i, j)][0]);
            let dry = faint(0, n - 1);
            for k in 1..n - 1 {
                assert!(faint(k, k) > dry + 25 && faint(k, k + 1) > dry + 10 && faint(k + 1, k) > dry + 10, "{n}: {k}");
                assert_eq!(faint(k, (k + n / 2) % n), dry);
            }
        }
    }

    #[test]
    fn opacity_rises_with_discharge_and_width_with_its_root() {
        let terrain = plain([60, 60]);
        // Rows of 0.1, 1 and 100 m³/s: the last stream is 72 m wide, 7 cells.
        let discharge = Field::from_fn([60, 60], |i, _| match i {
            10 => 0.1,
            25 => 1.0,
            45 => 100.0,
            _ => 0.0,
        });
        let streams = Streams { range: Some([0.03, 3.0]), ..Streams::from_discharge(&discharge) };
        let map = drawn(&terrain, Water { streams: Some(streams), ..Water::default() }, None);
        let tint = |i: usize| i32::from(map.rgb[(i, 30)][2]) - i32::from(map.rgb[(i, 30)][0]);
        assert!(tint(10) > tint(5) && tint(25) > tint(10) + 20 && tint(45) > tint(25) + 20);
        let wide = (30..60).filter(|i| is_blue(map.rgb[(*i, 30)])).count();
        assert!((7..=8).contains(&wide), "{wide} pixels");
        let far = Streams { threshold: Some(200.0), ..streams };
        let none = drawn(&terrain, Water { streams: Some(far), ..Water::default() }, None);
        assert!(none.rgb.as_slice().iter().all(|pixel| !is_blue(*pixel)));
    }

    #[test]
    fn a_broad_channel_is_not_drawn_broader() {
        let terrain = plain([40, 60]);
        let discharge = Field::from_fn([40, 60], |i, _| if (10..20).contains(&i) { 20.0 } else { 0.0 });
        let streams = Streams { threshold: Some(1.0), ..Streams::from_discharge(&discharge) };
        let map = drawn(&terrain, Water { streams: Some(streams), ..Water::default() }, None);
        let wide = (0..40).filter(|i| is_blue(map.rgb[(*i, 30)])).count();
        assert!((10..=12).contains(&wide), "{wide} pixels");
    }

    #[test]
    fn bounds_are_found_in_every_field() {
        for values in [vec![0.0; 400], vec![3.0; 400], vec![f32::NAN; 400], vec![f32::INFINITY; 400], {
            let mut one = vec![0.0; 400];
            one[7] = 2.0;
            one
        }] {
            let discharge = Field::from_vec([20, 20], values).unwrap();
            let [low, high] = Streams::from_discharge(&discharge).choose_range(1.0);
            assert!(low > 0.0 && low < high && high.is_finite(), "{low} {high}");
            drawn(
                &plain([20, 20]),
                Water { streams: Some(Streams::from_discharge(&discharge)), ..Water::default() },
                None,
            );
        }
    }

    #[test]
    fn pools_are_dark_where_deep_and_end_where_the_ground_rises() {
        // A valley 40 m deep along the middle column, filled to 20 m in its northern half.
        let mut terrain = plain([40, 41]);
        for i in 0..40 {
            for j in 0..41 {
                terrain.ground[(i, j)] = Height::from_metres_clamped(100.0 + 2.0 * j.abs_diff(20) as f64);
            }
        }
        let depth = |i: usize, j: usize| if i < 20 { 20.0 - 2.0 * j.abs_diff(20) as f64 } else { 0.0 };
        let pools = Field::from_fn([40, 41], |i, j| Height::from_metres_clamped(depth(i, j).max(0.0)));
        let map = drawn(&terrain, Water { pools: Some(&pools), ..Water::default() }, None);
        for j in 0..41usize {
            // The shore crosses the tenth cell from the middle.
            let within = j.abs_diff(20) < 10;
            assert!(is_blue(map.rgb[(5, j)]) == within || j.abs_diff(20) == 10, "{j}: {:?}", map.rgb[(5, j)]);
            assert!(!is_blue(map.rgb[(30, j)]), "dry: {j}");
        }
        let light = |j: usize| map.rgb[(5, j)].iter().map(|c| u32::from(*c)).sum::<u32>();
        assert!(light(20) < light(25) && light(25) < light(28));
        let levels = compute_pool_levels(&terrain.ground, &pools);
        assert_eq!((levels[(5, 20)], levels[(5, 30)], levels[(5, 12)]), (120.0, 120.0, 120.0));
        assert!(levels[(5, 35)].is_nan() && levels[(25, 20)].is_nan(), "no level beside what is lower");
    }

    #[test]
    fn pools_hide_streams_and_threads_change_nothing() {
        let terrain = plain([80, 80]);
        let discharge = Field::from_fn([80, 80], |i, j| if j == 40 || i == 3 { 2.0 } else { 0.0 });
        let pools = Field::from_fn([80, 80], |i, _| Height::from_metres_clamped(if i >= 40 { 5.0 } else { 0.0 }));
        let water =
            Water { pools: Some(&pools), streams: Some(Streams::from_discharge(&discharge)), ..Water::default() };
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| drawn(&terrain, water, None))
        };
        let map = with(1);
        assert_eq!(map, with(3));
        let (there, adjacent) = (map.rgb[(60, 40)], map.rgb[(60, 38)]);
        // The light of the sky changes slightly across the water.
        assert!((0..3).all(|c| there[c].abs_diff(adjacent[c]) <= 1), "{there:?} {adjacent:?}");
        assert_ne!(map.rgb[(30, 40)], map.rgb[(30, 30)]);
    }

    #[test]
    fn puddles_in_a_stream_are_the_streams_and_lakes_are_not() {
        let terrain = plain([40, 60]);
        let discharge = Field::from_fn([40, 60], |i, _| if (18..22).contains(&i) { 2.0 } else { 0.0 });
        // Every fifth cell in the stream and a lake of six by six cells are wet, as is a pond of one cell elsewhere.
        let wet = |i: usize, j: usize| {
            i == 20 && j.is_multiple_of(5) || (17..23).contains(&i) && (41..47).contains(&j) || (i, j) == (5, 5)
        };
        let pools = Field::from_fn([40, 60], |i, j| Height::from_metres_clamped(if wet(i, j) { 2.0 } else { 0.0 }));
        let streams = Streams { threshold: Some(1.0), ..Streams::from_discharge(&discharge) };
        let water = Water { pools: Some(&pools), streams: Some(streams), ..Water::default() };
        let lakes = water.drawn_pools().unwrap();
        let drawn_wet = |at| lakes[at] == pools[at];
        assert!(drawn_wet((5, 5)) && drawn_wet((20, 43)) && drawn_wet((17, 41)) && drawn_wet((22, 46)));
        assert_eq!(lakes.as_slice().iter().filter(|depth| depth.0 > 0).count(), 37);
        let map = drawn(&terrain, water, None);
        assert_eq!(map.rgb[(20, 10)], map.rgb[(20, 12)]);
        assert_ne!(map.rgb[(20, 43)], map.rgb[(20, 12)]);
        // Without streams nothing changes.
        assert_eq!(Water { streams: None, ..water }.drawn_pools().unwrap(), pools);
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        let terrain = plain([8, 8]);
        let (small, good) = (Field::new([7, 8], 1.0), Field::new([8, 8], 1.0));
        let pools = Field::new([8, 7], Height::ZERO);
        let streams = |range, threshold| Some(Streams { discharge: &good, range, threshold });
        for water in [
            Water { streams: Some(Streams::from_discharge(&small)), ..Water::default() },
            Water { pools: Some(&pools), ..Water::default() },
            Water { depth: Some(&small), ..Water::default() },
            Water { streams: streams(Some([0.0, 1.0]), None), ..Water::default() },
            Water { streams: streams(Some([2.0, f32::NAN]), None), ..Water::default() },
            Water { streams: streams(None, Some(-1.0)), ..Water::default() },
        ] {
            assert!(water.check(&terrain).is_err());
        }
    }
}
