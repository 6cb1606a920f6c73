//! Rivers as lines on a map, with widths that depend on drainage area.

use crate::pictures::colour::{Linear, mix_colours, to_linear, to_srgb};
use crate::pictures::picture::Picture;
use thalweg_core::terrain::ChannelReach;
use thalweg_core::{Cell, Field, Size};

/// A clear blue that is visible on green, brown and white.
const BLUE: Linear = [0.020, 0.125, 0.400];
/// The widths in pixels of the narrowest and the widest river on a map of [`SIDE`] pixels.
const WIDTH: [f32; 2] = [0.9, 4.2];
/// The longer side of the map to which the widths apply; larger maps have wider rivers, smaller ones narrower rivers
/// down to a limit.
const SIDE: f32 = 900.0;

/// Draws the channel reaches of a terrain of `size` cells over a map of the same extent, except for cells that are
/// `hidden`, such as those of open water. Widths increase with the square root of drainage area, as those of real
/// rivers do (Leopold & Maddock 1953).
pub fn draw_reaches(map: &mut Picture, reaches: &[ChannelReach], size: Size, hidden: impl Fn(Cell) -> bool) {
    let [rows, cols] = map.size();
    let scale = [rows as f32 / size[0] as f32, cols as f32 / size[1] as f32];
    // The limit of 0.7 keeps the narrowest rivers of small maps from becoming too faint.
    let wide = (rows.max(cols) as f32 / SIDE).max(0.7);
    let greatest = reaches.iter().map(|reach| reach.drainage_area).fold(0.0, f64::max);
    // The greatest cover counts, so that the result does not depend on the order of drawing.
    let mut cover = Field::new([rows, cols], 0f32);
    for reach in reaches {
        // The square root of drainage area replaces that of discharge, which is not known here.
        let share = (reach.drainage_area / greatest).sqrt() as f32;
        let half = 0.5 * wide * (WIDTH[0] + (WIDTH[1] - WIDTH[0]) * share);
        for cells in reach.cells.split(|cell| hidden(*cell)) {
            let points = cells.iter().map(|cell| Cell::from_axes(|k| (cell[k] as f32 + 0.5) * scale[k])).collect();
            // Two rounds of corner cutting turn the zigzag of the eight directions into a curve.
            let line = smooth_line(smooth_line(points));
            for pair in line.windows(2) {
                cover_segment(&mut cover, pair[0], pair[1], half);
            }
        }
    }
    paint_cover(map, &cover);
}

/// Draws lines over a map. Each point has a position in pixels from the map's upper left corner and half the line's
/// width in pixels there.
pub fn draw_lines(map: &mut Picture, lines: &[Vec<(Cell<f32>, f32)>]) {
    let mut cover = Field::new(map.size(), 0f32);
    for line in lines {
        for pair in line.windows(2) {
            cover_segment(&mut cover, pair[0].0, pair[1].0, 0.5 * (pair[0].1 + pair[1].1));
        }
    }
    paint_cover(map, &cover);
}

/// Colours the covered pixels.
fn paint_cover(map: &mut Picture, cover: &Field<f32>) {
    for (pixel, cover) in map.rgb.as_mut_slice().iter_mut().zip(cover.as_slice()) {
        if *cover > 0.0 {
            *pixel = to_srgb(mix_colours(to_linear(*pixel), BLUE, *cover));
        }
    }
}

/// Returns the line with its corners cut (Chaikin 1974) and its ends kept.
fn smooth_line(line: Vec<Cell<f32>>) -> Vec<Cell<f32>> {
    let ([first, .., last], true) = (&line[..], line.len() > 2) else { return line };
    let between = |a: Cell<f32>, b: Cell<f32>, t: f32| Cell::from_axes(|k| a[k] + (b[k] - a[k]) * t);
    let cut = line.windows(2).flat_map(|pair| [0.25, 0.75].map(|t| between(pair[0], pair[1], t)));
    [*first].into_iter().chain(cut).chain([*last]).collect()
}

/// Covers the pixels within half a width, `half`, of the line from `a` to `b`, with soft edges.
fn cover_segment(cover: &mut Field<f32>, a: Cell<f32>, b: Cell<f32>, half: f32) {
    let reach = half + 1.0;
    let span = |k: usize, n: usize| {
        let (low, high) = (a[k].min(b[k]) - reach, a[k].max(b[k]) + reach);
        (low.max(0.0) as usize)..(high.ceil().max(0.0) as usize).min(n)
    };
    let along = [b[0] - a[0], b[1] - a[1]];
    let square = along[0] * along[0] + along[1] * along[1];
    for i in span(0, cover.rows()) {
        for j in span(1, cover.cols()) {
            let from = [i as f32 + 0.5 - a[0], j as f32 + 0.5 - a[1]];
            // A segment of no length gives NaN, which becomes 0 in the comparison.
            let t = (from[0] * along[0] + from[1] * along[1]) / square;
            let t = if t > 0.0 { t.min(1.0) } else { 0.0 };
            let off = [from[0] - t * along[0], from[1] - t * along[1]];
            // A line narrower than a pixel never covers more of a pixel than its width.
            let share = (half + 0.5 - (off[0] * off[0] + off[1] * off[1]).sqrt()).clamp(0.0, 1.0).min(2.0 * half);
            cover[(i, j)] = cover[(i, j)].max(share);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(row: usize, drainage_area: f64) -> ChannelReach {
        let cells = (0..60).map(|col| Cell::new(row, col)).collect();
        ChannelReach { cells, drainage_area, ..ChannelReach::default() }
    }

    #[test]
    fn rivers_are_blue_where_they_run_and_wider_with_their_catchments() {
        let rivers = [reach(10, 1.0), reach(40, 100.0)];
        let mut map = Picture::new([60, 60], [200, 190, 150]);
        draw_reaches(&mut map, &rivers, [60, 60], |_| false);
        let changed = |rows: std::ops::Range<usize>| rows.filter(|i| map.rgb[(*i, 30)] != [200, 190, 150]).count();
        let (narrow, wide) = (changed(0..25), changed(25..60));
        assert!((1..=3).contains(&narrow) && wide >= narrow + 2, "{narrow} and {wide} pixels");
        let [r, _, b] = map.rgb[(40, 30)];
        assert!(b > r + 60, "blue");
        // The other order of drawing gives the same picture, and half the pixels half the rows.
        let mut other = Picture::new([60, 60], [200, 190, 150]);
        draw_reaches(&mut other, &[rivers[1].clone(), rivers[0].clone()], [60, 60], |_| false);
        assert_eq!(map, other);
        let mut small = Picture::new([30, 30], [200, 190, 150]);
        draw_reaches(&mut small, &rivers, [60, 60], |cell| cell.col > 40);
        assert!(small.rgb[(20, 15)][0] < 100 && small.rgb[(15, 15)] == [200, 190, 150]);
        assert_eq!(small.rgb[(20, 25)], [200, 190, 150], "hidden");
    }

    #[test]
    fn corners_are_cut_and_ends_kept() {
        let line = smooth_line([[0.0, 0.0], [4.0, 0.0], [4.0, 4.0]].map(Cell::from).to_vec());
        let cut = [[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [4.0, 1.0], [4.0, 3.0], [4.0, 4.0]];
        assert_eq!(line, cut.map(Cell::from));
        assert_eq!(smooth_line([[1.0, 1.0], [2.0, 2.0]].map(Cell::from).to_vec()).len(), 2);
    }
}
