//! [`ShadedMap`]: the shaded map of a terrain that need not be in memory, drawn band by band with bit-identical
//! results.
//!
//! Properties of the whole map are determined in advance: ranges and slopes from a sample; the filling of holes, and
//! hills that hide the sky, from means of [`COARSE`] by [`COARSE`] cells, which are kept in memory; shadows as the
//! surface that the sun's rays graze, which is passed on from band to band.

use std::collections::VecDeque;
use std::ops::Range;

use rayon::prelude::*;

use crate::pictures::colour::Rgb;
use crate::pictures::furniture::PAPER;
use crate::pictures::light::{build_mean_pyramid, compute_band_shadow, count_halvings, is_from_north, open_sky};
use crate::pictures::paint::{PaintBrush, Painter};
use crate::pictures::picture::{Picture, Reduction, size_within};
use crate::pictures::relief::{Relief, ReliefStatistics, fill_between, fill_holes, known_means};
use crate::pictures::shade::{RowScratch, ShadeOptions, add_furniture, choose_relief_brush, draw_row, stripe_width};
use thalweg_core::{CellRect, Field, Grid, Result, Size};

/// The side, in cells, of the blocks whose means are kept for the whole map.
pub const COARSE: usize = 16;

/// The number of halvings from cells to these means.
const COARSE_HALVINGS: usize = COARSE.ilog2() as usize;

/// The number of rows that are drawn at once, and the number of adjacent rows on which their light and the filling of
/// their holes may depend: filling extends over two coarse cells, and the hidden sky over two and a half, at the
/// three finer levels. Both are whole coarse cells.
const BAND: usize = 512;
const MARGIN: usize = 6 * COARSE;

/// The number of bytes per cell of a band (elevation, data mask, means, light, shadow, pixels); per coarse cell
/// (means, data mask, levels of the sky); and for the rows that are compressed at once, in each of three forms.
const BAND_BYTES: u64 = 32;
const MEAN_BYTES: u64 = 28;
const PNG_BYTES: u64 = 72 << 20;

/// Reads rows from the north, with all their columns: elevations in metres, NaN where there is no data.
pub type ReadRows<'a> = dyn FnMut(Range<usize>) -> Result<Field<f32>> + 'a;

/// A shaded map that is being drawn.
pub struct ShadedMap<'a> {
    ground: RowGround<'a>,
    brush: PaintBrush,
    deepest: f32,
    /// The visible share of the sky over larger hills per coarse cell, including the levels in between.
    open: Option<Field<f32>>,
    /// The grazed surface next to each band, on the side that the rays come from.
    rims: Vec<Vec<f32>>,
    reduction: Reduction,
    map: Size,
    strip: Picture,
    drawn: VecDeque<Vec<Rgb>>,
    next: usize,
}

/// The terrain, with the properties that are kept of it.
struct RowGround<'a> {
    read: Box<ReadRows<'a>>,
    size: Size,
    cell: f32,
    sea: Option<f32>,
    /// The means from which holes are filled; `None` if there are no holes.
    holes: Option<Field<f32>>,
}

/// Rows of the terrain with their margins.
struct ReliefBand {
    relief: Relief,
    /// The map row of the first row here, and the map rows requested.
    first: usize,
    own: Range<usize>,
}

impl<'a> ShadedMap<'a> {
    /// Prepares the map by reading all rows, up to three times. Water, rivers and trees are not drawn.
    ///
    /// # Errors
    /// Returns the errors of [`draw_map`](crate::pictures::shade::draw_map), and those of `read`.
    pub fn new(grid: &Grid, options: &ShadeOptions, read: Box<ReadRows<'a>>) -> Result<Self> {
        let look = &options.look;
        look.sun.check()?;
        let sea = grid.sea_level.map(|level| level.metres_f32());
        let mut ground = RowGround { read, size: grid.size, cell: grid.cell as f32, sea, holes: None };
        ground.find_holes()?;
        let size = ground.size;
        // The sky uses means of 2, 4 and 8 cells from each band, and means of 16 cells and more from the whole map.
        let fine = count_halvings(size).min(COARSE_HALVINGS - 1);
        let mut sampled = ReliefStatistics::default();
        let coarse = size.map(|n| n.div_ceil(COARSE));
        let mut means = Field::new(coarse, 0.0);
        // This pass collects the statistics of the whole map and its coarse means; rows are added from north to south.
        for own in split_into_bands(size[0]) {
            let band = ground.read_band(own.clone())?;
            sampled.add_rows(&band.relief, size, band.first, own.clone());
            if let Some(level) = build_mean_pyramid(&band.relief.heights, COARSE_HALVINGS).last() {
                let rows =
                    CellRect::new([(own.start - band.first) / COARSE, 0], [own.len().div_ceil(COARSE), coarse[1]]);
                means.paste(level, rows, [own.start / COARSE, 0]);
            }
        }
        sampled.sort_samples();
        let brush =
            choose_relief_brush(&sampled, sea, look.ramp_or_land(), look.sun, look.exaggeration, look.range_f32())?;
        let cell = [ground.cell; 2];
        // The first coarse level consists of these means; the further ones are computed from them.
        let mut levels = vec![means];
        levels.extend(build_mean_pyramid(&levels[0], count_halvings(size).saturating_sub(COARSE_HALVINGS)));
        let open =
            if count_halvings(size) > fine { open_sky(&levels, fine, None, cell, brush.exaggeration) } else { None };
        // Rays of a southern sun meet the last band first, so the rims are computed in advance from the last band to
        // the first; under a northern sun, each rim is computed when the band before is drawn.
        let mut rims = vec![Vec::new(); size[0].div_ceil(BAND)];
        if !is_from_north(brush.sun) {
            for (n, own) in split_into_bands(size[0]).enumerate().skip(1).rev() {
                let band = ground.read_band(own)?;
                rims[n - 1] = compute_band_shadow(
                    &band.own_heights(),
                    cell,
                    brush.sun,
                    brush.exaggeration,
                    band.own.start,
                    &rims[n],
                )
                .1;
            }
        }
        let map = size_within(size, options.max_size.unwrap_or(0));
        // The strip is drawn under an empty map of the final width, so that its layout equals that of a map in memory.
        let metres_per_pixel = grid.cell * size[1] as f64 / map[1] as f64;
        let strip = add_furniture(Picture::new([0, map[1]], PAPER), metres_per_pixel, &brush, options);
        let (deepest, reduction) = (sampled.darkest_sea_depth(), Reduction::new(size, map));
        let drawn = VecDeque::new();
        Ok(Self { ground, brush, deepest, open, rims, reduction, map, strip, drawn, next: 0 })
    }

    /// Returns the maximum memory in bytes that it takes for a map of the given size, in addition to that of `read`.
    pub fn estimate_bytes([rows, cols]: Size) -> u64 {
        let (rows, cols) = (rows as u64, cols as u64);
        // The estimate counts a full band with both margins, the coarse means, one rim per band, and the PNG writer's
        // buffers.
        let band = (BAND + 2 * MARGIN) as u64 * cols * BAND_BYTES;
        let means = (rows * cols / (COARSE * COARSE) as u64).saturating_mul(MEAN_BYTES);
        band + means + rows.div_ceil(BAND as u64) * cols * 4 + PNG_BYTES
    }

    /// Returns the rows and columns of the picture, including the strip below the map.
    pub fn size(&self) -> Size {
        let [rows, cols] = self.strip.size();
        [self.map[0] + rows, self.map[1].max(cols)]
    }

    /// Returns the next `count` rows of the picture, one colour per pixel, row by row from the left; fewer at the
    /// end.
    ///
    /// # Errors
    /// Returns the errors of reading.
    pub fn draw_rows(&mut self, count: usize) -> Result<Vec<Rgb>> {
        let cols = self.size()[1];
        while self.drawn.len() < count && self.next * BAND < self.ground.size[0] {
            self.draw_band()?;
            // The strip follows the last row of the map.
            if self.next * BAND >= self.ground.size[0] {
                let strip = self.strip.rgb.as_slice().chunks_exact(self.strip.rgb.cols().max(1));
                self.drawn.extend(strip.map(<[Rgb]>::to_vec));
            }
        }
        let mut out = Vec::with_capacity(count * cols);
        for row in self.drawn.drain(..count.min(self.drawn.len())) {
            // A map that is narrower than the strip is widened with paper on its right.
            out.extend_from_slice(&row);
            out.resize(out.len() + cols - row.len(), PAPER);
        }
        Ok(out)
    }

    fn draw_band(&mut self) -> Result<()> {
        let n = self.next;
        let Some(own) = split_into_bands(self.ground.size[0]).nth(n) else { return Ok(()) };
        let band = self.ground.read_band(own.clone())?;
        let ReliefBand { relief, first, .. } = &band;
        let (cell, sun, exaggeration) = (relief.cell, self.brush.sun, self.brush.exaggeration);
        // The shadow is computed on the band's own rows alone, because the rim contains all that the rays met before.
        let (inner, rim) = compute_band_shadow(&band.own_heights(), cell, sun, exaggeration, own.start, &self.rims[n]);
        if is_from_north(sun) && n + 1 < self.rims.len() {
            self.rims[n + 1] = rim;
        }
        // The rim is not needed again; its memory is released.
        self.rims[n] = Vec::new();
        // The margins are not drawn and remain without shadow.
        let mut dark = Field::new(relief.size(), 0.0);
        dark.paste(&inner, CellRect::new([0, 0], inner.size()), [own.start - first, 0]);
        // Means of fewer cells than COARSE come from the band with its margins, those of more from the whole map.
        let levels = build_mean_pyramid(&relief.heights, count_halvings(self.ground.size).min(COARSE_HALVINGS - 1));
        let above =
            self.open.as_ref().map(|open| copy_rows(open, first / COARSE, relief.heights.rows().div_ceil(COARSE)));
        let sky = open_sky(&levels, 0, above, cell, exaggeration).unwrap_or_else(|| Field::new(relief.size(), 1.0));
        let painter = Painter::from_sky_and_shadow(relief, self.brush, self.deepest, sky, dark);
        let stripe = stripe_width(self.ground.size);
        let mut rgb = Field::new(inner.size(), [0; 3]);
        rgb.par_rows_mut().for_each_init(
            || RowScratch::new(inner.size()[1]),
            |scratch, (i, row)| {
                // The stripes of holes are counted in rows of the map, so that they continue across bands.
                let at = i + own.start;
                draw_row(&painter, relief, at - first, [at, stripe], scratch, row);
            },
        );
        for i in 0..rgb.rows() {
            self.drawn.extend(self.reduction.push_row(rgb.row(i)));
        }
        self.next += 1;
        Ok(())
    }
}

impl RowGround<'_> {
    /// Computes the means for the filling of holes, if there are any.
    fn find_holes(&mut self) -> Result<()> {
        let coarse = self.size.map(|n| n.div_ceil(COARSE));
        let (mut means, mut known, mut any) = (Field::new(coarse, 0.0), Field::new(coarse, false), false);
        // Bands begin at multiples of COARSE cells, so that these means are those of the whole map.
        for own in split_into_bands(self.size[0]) {
            let mut values = (self.read)(own.clone())?;
            let mut is_known = values.map(|height| !height.is_nan());
            any |= is_known.as_slice().contains(&false);
            for _ in 0..COARSE_HALVINGS {
                (values, is_known) = known_means(&values, &is_known);
            }
            let (all, to) = (CellRect::new([0, 0], values.size()), [own.start / COARSE, 0]);
            means.paste(&values, all, to);
            known.paste(&is_known, all, to);
        }
        self.holes = any.then(|| fill_holes(means, &known));
        Ok(())
    }

    fn read_band(&mut self, own: Range<usize>) -> Result<ReliefBand> {
        // Margins are cut at the first and the last row, where a map in memory ends as well.
        let first = own.start.saturating_sub(MARGIN);
        let last = (own.end + MARGIN).min(self.size[0]);
        let mut heights = (self.read)(first..last)?;
        let holes = heights.map(|height| height.is_nan());
        let nodata = holes.as_slice().contains(&true).then_some(holes);
        if let (Some(holes), Some(coarse)) = (&nodata, &self.holes) {
            let coarse = copy_rows(coarse, first / COARSE, (last - first).div_ceil(COARSE));
            heights = fill_unknown_cells(heights, &holes.map(|hole| !hole), COARSE_HALVINGS, &coarse);
        }
        let relief =
            Relief { heights, nodata, water: None, pools: None, ice: None, cell: [self.cell; 2], sea: self.sea };
        Ok(ReliefBand { relief, first, own })
    }
}

impl ReliefBand {
    /// Returns the elevations of its own rows.
    fn own_heights(&self) -> Field<f32> {
        copy_rows(&self.relief.heights, self.own.start - self.first, self.own.len())
    }
}

/// Fills unknown cells from known ones and, `halvings` levels coarser, from `coarse`.
fn fill_unknown_cells(mut values: Field<f32>, known: &Field<bool>, halvings: usize, coarse: &Field<f32>) -> Field<f32> {
    if halvings == 0 {
        return coarse.clone();
    }
    // The mean of each block of cells is filled first, then the cells between these means.
    let (means, some) = known_means(&values, known);
    fill_between(&mut values, known, &fill_unknown_cells(means, &some, halvings - 1, coarse));
    values
}

fn copy_rows(field: &Field<f32>, first: usize, rows: usize) -> Field<f32> {
    field.copy_window(CellRect::new([first, 0], [rows, field.cols()]))
}

fn split_into_bands(rows: usize) -> impl ExactSizeIterator<Item = Range<usize>> + DoubleEndedIterator {
    (0..rows.div_ceil(BAND)).map(move |n| n * BAND..rows.min((n + 1) * BAND))
}
