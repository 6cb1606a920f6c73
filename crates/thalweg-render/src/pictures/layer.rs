//! Drawing of a data layer (visits, wear, water and so on) as colours over the grey relief.

use crate::pictures::colour::{mix_colours, to_srgb};
use crate::pictures::furniture::{self, Legend};
use crate::pictures::light::Sun;
use crate::pictures::paint::Painter;
use crate::pictures::picture::Picture;
use crate::pictures::ramps::Ramp;
use crate::pictures::relief::Relief;
use crate::pictures::sample::quantile_of_sorted;
use crate::pictures::shade::{choose_brush, hatch_colour};
use thalweg_core::terrain::Hue;
use thalweg_core::{Error, Field, Result, Terrain};

/// The reflectance, 0 to 1, of the terrain under the data.
pub const GREY: f32 = 0.62;
/// The opacity, 0 to 1, of the data's colour where it is strongest.
pub const COVER: f32 = 0.9;

thalweg_core::with_defaults! {
    /// How to draw a data layer.
    #[derive(Debug, Clone)]
    pub struct LayerOptions<'a> {
        /// The colours of the data.
        pub ramp: &'static Ramp = Ramp::viridis(),
        /// True for a logarithmic scale, on which equal steps of colour are equal factors; only values above 0 are
        /// drawn then.
        pub log: bool = false,
        /// Values at the ramp's ends, the low one first; `None` takes those that [`choose_value_range()`] finds.
        pub range: Option<[f32; 2]> = None,
        /// Unit of the values, for the legend.
        pub unit: &'a str = "",
        /// Name of what is shown, for error messages; it is not drawn.
        pub title: &'a str = "",
        /// True to draw a scale bar below.
        pub scale_bar: bool = false,
        /// True to draw the ramp with its values below.
        pub legend: bool = true,
        /// Greatest length of the map's longer side in pixels; `None` draws one pixel per cell.
        pub max_size: Option<usize> = None,
    }
}

impl<'a> LayerOptions<'a> {
    /// Returns colours and a scale for a layer that is declared with the given hue and unit: powers of ten for
    /// quantities that pass through, blues for water, earth colours for sediment.
    ///
    /// # Examples
    /// A discharge is drawn in blue on a logarithmic scale.
    ///
    /// ```
    /// use thalweg_core::terrain::Hue;
    /// use thalweg_render::pictures::layer::LayerOptions;
    /// use thalweg_render::pictures::ramps::Ramp;
    ///
    /// let options = LayerOptions::from_hue(Hue::Passing, "m³/s");
    /// assert!(options.log && options.ramp == Ramp::water());
    /// ```
    pub fn from_hue(hue: Hue, unit: &'a str) -> Self {
        let (ramp, log, range) = match hue {
            Hue::Passing => (Ramp::water(), true, None),
            Hue::Wet => (Ramp::water(), false, None),
            Hue::WetShare => (Ramp::water(), false, Some([0.0, 1.0])),
            Hue::Sediment => (Ramp::sediment(), false, None),
            Hue::Plain => (Ramp::viridis(), false, None),
        };
        Self { ramp, log, range, unit, ..Self::default() }
    }
}

/// Draws the layer's `values` per cell, coloured over the terrain's grey relief. NaN, and zero in a layer whose range
/// begins there, leave the relief bare; it shows through small values.
///
/// # Errors
/// Returns an error if the size of the values differs from the terrain's, or if the range is empty (or not above 0 with
/// `log`).
///
/// # Examples
/// ```
/// use thalweg_core::{Field, Grid, Terrain};
/// use thalweg_render::pictures::layer::{LayerOptions, draw_values};
///
/// let terrain = Terrain::new(Grid::new([16, 24], 10.0)?);
/// let depth = Field::from_fn([16, 24], |i, _| 0.1 * i as f32);
/// let options = LayerOptions { unit: "m", legend: false, ..LayerOptions::default() };
/// assert_eq!(draw_values(&terrain, &depth, &options)?.size(), [16, 24]);
/// // The values must have the size of the terrain.
/// assert!(draw_values(&terrain, &Field::new([2, 2], 0.0), &options).is_err());
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn draw_values(terrain: &Terrain, values: &Field<f32>, options: &LayerOptions<'_>) -> Result<Picture> {
    if values.size() != terrain.ground.size() {
        let [[rows, cols], [want_rows, want_cols]] = [values.size(), terrain.ground.size()];
        return Err(Error::invalid_layer(
            options.title,
            format!("is {rows} × {cols} cells; the terrain is {want_rows} × {want_cols}"),
        ));
    }
    let relief = Relief::new(terrain, None)?;
    let [low, high] = match options.range {
        Some(range) => range,
        None => choose_value_range(&relief, values, options.log),
    };
    if !(low < high && (high - low).is_finite() && (low > 0.0 || !options.log)) {
        let allowed = if options.log { "two numbers above 0 in rising order" } else { "two numbers in rising order" };
        return Err(Error::invalid_value("range", format!("{low} to {high}"), allowed));
    }
    // The logarithm of a value that is not positive is not finite, and the cell stays bare.
    // The legend of a logarithmic layer has equal factors in equal lengths, so positions are computed from logarithms.
    let ruler = |x: f32| if options.log { libm::logf(x) } else { x };
    let (from, to) = (ruler(low), ruler(high));
    let painter = Painter::new(&relief, choose_brush(&relief, Ramp::land(), Sun::default(), None, None)?);
    let colours = options.ramp.to_table();
    let rgb = Field::from_fn(relief.size(), |i, j| {
        if relief.is_hole(i, j) {
            return hatch_colour(i, j, 4);
        }
        let light = painter.light_cell(i, j);
        let t = (ruler(values[(i, j)]) - from) / (to - from);
        // In a layer without negative values, the relief shows through in the lowest eighth of the range. A layer with
        // negative values is opaque everywhere, because there 0 is not an end of the ramp.
        let cover = match t {
            t if t.is_nan() => 0.0,
            t if low >= 0.0 => COVER * (8.0 * t).clamp(0.0, 1.0),
            _ => COVER,
        };
        let colour = mix_colours([GREY; 3], colours.nearest_colour(t), cover);
        to_srgb(std::array::from_fn(|c| colour[c] * light[c]))
    });
    let map = Picture { rgb };
    let cols = map.rgb.cols();
    let map = map.fit_within(options.max_size.unwrap_or(0));
    let metres_per_pixel = terrain.grid.cell * cols as f64 / map.rgb.cols() as f64;
    let legend =
        Legend { ramp: options.ramp, low: low.into(), high: high.into(), unit: options.unit, log: options.log };
    Ok(furniture::add_scale_and_legend(
        map,
        options.scale_bar.then_some(metres_per_pixel),
        options.legend.then_some(&legend),
    ))
}

/// Returns the low and the high end of a range that shows the layer, with `values` per cell of the relief: from 0, or
/// from the 0.5 % quantile if that is below 0, to the 99.5 % quantile. With `log` they are the quantiles of the
/// positive values, and the low end is at least a thousandth of the high one. Returns a range of width 1 if there is
/// nothing to show.
pub fn choose_value_range(relief: &Relief, values: &Field<f32>, log: bool) -> [f32; 2] {
    let sorted = relief.sorted_values(|i, j| Some(values[(i, j)]).filter(|v| v.is_finite() && (*v > 0.0 || !log)));
    // Half a per cent at either end is left out, so that a few extreme cells do not use up the colours.
    let (low, high) = (quantile_of_sorted(&sorted, 0.005), quantile_of_sorted(&sorted, 0.995));
    match (log, low < 0.0) {
        _ if sorted.is_empty() => [1.0, 2.0],
        // Three powers of ten: smaller values are everywhere and would obscure the larger ones.
        (true, _) => [low.max(high * 1e-3), high.max(low * 1.01)],
        (false, true) => [low, high.max(low + 1e-3)],
        (false, false) if high > 0.0 => [0.0, high],
        (false, false) => [0.0, sorted.last().copied().unwrap_or(0.0).max(1.0)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::Grid;

    fn flat() -> Terrain {
        Terrain::new(Grid::new([8, 8], 10.0).unwrap())
    }

    #[test]
    fn zero_and_nan_leave_the_relief_bare() {
        let mut values = Field::new([8, 8], 0.0);
        values[(1, 1)] = f32::NAN;
        values[(2, 2)] = 10.0;
        for log in [false, true] {
            let options = LayerOptions { log, legend: false, range: Some([1e-3, 10.0]), ..LayerOptions::default() };
            let picture = draw_values(&flat(), &values, &options).unwrap();
            let bare = to_srgb([GREY; 3]);
            let near = |a: [u8; 3], b: [u8; 3]| (0..3).all(|c| a[c].abs_diff(b[c]) <= 1);
            assert!(near(picture.rgb[(0, 0)], bare) && near(picture.rgb[(1, 1)], bare));
            let full = to_srgb(mix_colours([GREY; 3], options.ramp.colour_at(1.0), COVER));
            assert!(near(picture.rgb[(2, 2)], full), "{:?} for {full:?}", picture.rgb[(2, 2)]);
        }
    }

    #[test]
    fn a_log_scale_takes_factors_as_steps() {
        // Of 1, 10 and 100, the middle value is halfway along the ramp.
        let values = Field::from_fn([8, 8], |i, _| [1.0, 10.0, 100.0][i % 3]);
        let options = LayerOptions { log: true, legend: false, range: Some([1.0, 100.0]), ..LayerOptions::default() };
        let picture = draw_values(&flat(), &values, &options).unwrap();
        let middle = to_srgb(mix_colours([GREY; 3], options.ramp.colour_at(0.5), COVER));
        for c in 0..3 {
            assert!(picture.rgb[(1, 4)][c].abs_diff(middle[c]) <= 2);
        }
    }

    #[test]
    fn bad_sizes_and_ranges_are_refused() {
        let options = LayerOptions { range: Some([2.0, 2.0]), ..LayerOptions::default() };
        assert!(draw_values(&flat(), &Field::new([8, 8], 1.0), &options).is_err());
        assert!(draw_values(&flat(), &Field::new([8, 7], 1.0), &LayerOptions::default()).is_err());
        let log = LayerOptions { range: Some([0.0, 2.0]), log: true, ..LayerOptions::default() };
        assert!(draw_values(&flat(), &Field::new([8, 8], 1.0), &log).is_err());
        for value in [0.0, f32::NAN, -4.0, 1e30] {
            for log in [false, true] {
                let options = LayerOptions { log, ..LayerOptions::default() };
                draw_values(&flat(), &Field::new([8, 8], value), &options).unwrap();
            }
        }
    }
}
