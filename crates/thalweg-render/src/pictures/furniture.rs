//! The strip below a map: scale bar and colour legend.

use crate::pictures::colour::{Rgb, to_srgb};
use crate::pictures::picture::Picture;
use crate::pictures::ramps::Ramp;
use crate::pictures::text::{Letters, draw_text};
use thalweg_core::{Cell, CellRect};

/// The background and text colour of everything that is not terrain.
pub const PAPER: Rgb = [250, 249, 246];
/// See [`PAPER`].
pub const INK: Rgb = [52, 54, 58];

// All lengths here are in pixels: the margin around the parts of the strip, the height of the bar, and the least width
// of the legend.
const MARGIN: usize = 12;
/// The height of the strip with scale bar and legend, in pixels.
pub const HEIGHT: usize = 48;
const BAR: usize = 8;
const LEGEND: usize = 160;

/// A ramp with the values of its ends.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Legend<'a> {
    /// The ramp.
    pub ramp: &'static Ramp,
    /// The value at its start, in `unit`.
    pub low: f64,
    /// The value at its end, in `unit`.
    pub high: f64,
    /// The unit of both.
    pub unit: &'a str,
    /// True if the ramp is logarithmic: equal steps are equal factors (the legend then says so).
    pub log: bool,
}

/// Returns the map with a strip below it that contains a scale bar (`scale`: metres per pixel) on the left and a
/// legend on the right; the map itself if neither is requested. A map too narrow for them is widened with background.
pub fn add_scale_and_legend(map: Picture, scale: Option<f64>, legend: Option<&Legend<'_>>) -> Picture {
    if scale.is_none() && legend.is_none() {
        return map;
    }
    // The legend is at least as wide as the texts at its two ends with a gap between them.
    let right = legend
        .map_or(0, |legend| LEGEND.max(Letters::Small.width(&format_legend_ends(legend).concat()) + MARGIN) + MARGIN);
    let (mut all, at) = add_strip(map, scale, right);
    if let Some(legend) = legend {
        draw_legend(&mut all, at, right - MARGIN, legend);
    }
    all
}

/// Returns the map with a strip below it, with a scale bar on its left if `scale` (metres per pixel) is given; and
/// the pixel in it at which a legend `right` pixels wide, margins included, begins.
pub fn add_strip(map: Picture, scale: Option<f64>, right: usize) -> (Picture, Cell) {
    let [rows, cols] = map.size();
    // The scale bar takes at most a quarter of the map's width, and 60 to 240 pixels.
    let bar = scale.map(|metres| ScaleBar::new(metres, (cols / 4).clamp(60, 240)));
    let left = bar.as_ref().map_or(0, |bar| bar.width() + MARGIN);
    let width = cols.max(left + right + MARGIN);
    let mut all = Picture::new([rows + HEIGHT, width], PAPER);
    all.paste(&map, [0, 0]);
    if let Some(bar) = bar {
        bar.draw(&mut all, Cell::new(rows + MARGIN, MARGIN));
    }
    (all, Cell::new(rows + MARGIN, width - right))
}

/// A scale bar whose length is the largest of 1, 2 or 5 times a power of ten metres that fits into a given number of
/// pixels.
struct ScaleBar {
    pixels: usize,
    label: String,
}

impl ScaleBar {
    fn new(metres_per_pixel: f64, pixels: usize) -> Self {
        let metres = round_down_to_125(metres_per_pixel * pixels as f64);
        let label = match metres {
            m if m >= 1000.0 => format!("{} km", m / 1000.0),
            m if m >= 1.0 => format!("{m} m"),
            m => format!("{} cm", m * 100.0),
        };
        Self { pixels: ((metres / metres_per_pixel).round() as usize).max(1), label }
    }

    fn width(&self) -> usize {
        self.pixels.max(Letters::Small.width(&self.label)) + MARGIN
    }

    fn draw(&self, picture: &mut Picture, start: Cell) {
        let Cell { row: top, col: left } = start;
        picture.fill(CellRect::new(start, [BAR, self.pixels]), INK);
        // A pale right half marks the middle.
        let half = self.pixels / 2;
        let size = [BAR - 2, (self.pixels - half).saturating_sub(1)];
        picture.fill(CellRect::new([top + 1, left + half], size), PAPER);
        draw_text(picture, [top + BAR + 2, left], &self.label, Letters::Small, INK);
    }
}

/// Returns the largest of 1, 2, 5 times a power of ten that is not above `x` (positive).
pub fn round_down_to_125(x: f64) -> f64 {
    // Powers are parsed from their decimal text, so that 1000 is exactly 1000 and not 999.9999.
    let power = |n: i32| format!("1e{n}").parse::<f64>().unwrap_or(1.0);
    let mut exponent = libm::floor(libm::log10(x)) as i32;
    // The logarithm of a number just below a power of ten may be rounded up to that power's.
    if power(exponent) > x {
        exponent -= 1;
    }
    // The tolerance accepts a step that exceeds `x` by a rounding error of the product of pixels and scale.
    [5.0, 2.0]
        .map(|step| step * power(exponent))
        .into_iter()
        .find(|r| *r <= x * (1.0 + 1e-12))
        .unwrap_or(power(exponent))
}

/// Returns the texts at a legend's ends.
pub fn format_legend_ends(legend: &Legend<'_>) -> [String; 2] {
    let text = |x: f64| match x.abs() {
        a if a >= 1e6 || (a > 0.0 && a < 1e-3) => format!("{x:.1e}"),
        a if a >= 100.0 || x == libm::round(x) => format!("{x:.0}"),
        a if a >= 1.0 => format!("{x:.1}"),
        _ => format!("{x:.3}"),
    };
    let unit = if legend.unit.is_empty() || legend.unit == "1" { String::new() } else { format!(" {}", legend.unit) };
    let log = if legend.log { " log" } else { "" };
    [text(legend.low), format!("{}{unit}{log}", text(legend.high))]
}

fn draw_legend(picture: &mut Picture, Cell { row: top, col: left }: Cell, width: usize, legend: &Legend<'_>) {
    for j in 0..width {
        let colour = to_srgb(legend.ramp.colour_at(j as f32 / (width.max(2) - 1) as f32));
        picture.fill(CellRect::new([top, left + j], [BAR, 1]), colour);
    }
    let [low, high] = format_legend_ends(legend);
    let line = top + BAR + 2;
    draw_text(picture, [line, left], &low, Letters::Small, INK);
    draw_text(picture, [line, left + width.saturating_sub(Letters::Small.width(&high))], &high, Letters::Small, INK);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_bars_are_round() {
        for (x, r) in [
            (1.0, 1.0),
            (1.99, 1.0),
            (2.0, 2.0),
            (4.9, 2.0),
            (5.0, 5.0),
            (999.9, 500.0),
            (1000.0, 1000.0),
            (0.03, 0.02),
        ] {
            assert!((round_down_to_125(x) - r).abs() < 1e-12 * r, "{x}: {}", round_down_to_125(x));
        }
        let bar = ScaleBar::new(30.0, 128);
        assert_eq!((bar.label.as_str(), bar.pixels), ("2 km", 67));
    }

    #[test]
    fn the_map_stays_and_the_strip_is_drawn_on() {
        let legend = Legend { ramp: Ramp::land(), low: -3.0, high: 1234.5, unit: "m", log: false };
        for cols in [1, 40, 600] {
            let all = add_scale_and_legend(Picture::new([30, cols], [1, 2, 3]), Some(10.0), Some(&legend));
            assert!(all.rgb.cols() >= cols && all.rgb.rows() == 30 + HEIGHT);
            assert_eq!(all.rgb[(29, cols - 1)], [1, 2, 3]);
            let strip = &all.rgb.as_slice()[30 * all.rgb.cols()..];
            assert!(strip.contains(&INK));
            assert!(strip.contains(&legend.ramp.rgb_at(1.0)) && strip.contains(&legend.ramp.rgb_at(0.0)));
        }
        assert_eq!(add_scale_and_legend(Picture::new([2, 2], [0; 3]), None, None).size(), [2, 2]);
    }
}
