//! The colours of an overlay and its legend.

use crate::pictures::colour::{Linear, from_oklab};
use crate::pictures::layer::{LayerOptions, choose_value_range};
use crate::pictures::ramps::Ramp;
use crate::pictures::relief::Relief;
use crate::pictures::sample::quantile_of_sorted;
use crate::products::overlay::Overlay;
use crate::products::probe::format_value;
use thalweg_core::terrain::{DISCHARGE, Hue, SEDIMENT, SUSPENDED, WATER};
use thalweg_core::{Error, Field, Result, Terrain};

/// The colour scheme of an overlay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Colours {
    /// A ramp from low to high.
    Ramp(&'static Ramp),
    /// Brown below 0, pale at 0, green-blue above.
    Diverging,
    /// A colour for each whole number; none for 0.
    Kinds,
}

impl Colours {
    /// Returns the colour at `t`, clamped to 0 to 1, from the low end to the high; for kinds, the colour of the
    /// number `t`.
    pub fn colour_at(&self, t: f32) -> Linear {
        match self {
            Self::Ramp(ramp) => ramp.colour_at(t),
            Self::Diverging => diverging_colour(t),
            Self::Kinds => kind_colour(t),
        }
    }
}

/// The legend of an overlay's colours.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct OverlayLegend {
    /// The title of the overlay.
    pub title: String,
    /// The unit of the values; empty if they have none.
    pub unit: String,
    /// The colours.
    pub ramp: Colours,
    /// The value of the first colour, in `unit`.
    pub low: f32,
    /// The value of the last colour, in `unit`.
    pub high: f32,
    /// True if the scale is logarithmic: equal steps of colour are equal factors.
    pub log: bool,
    /// True if the values are whole numbers.
    pub is_whole: bool,
}

impl OverlayLegend {
    /// Returns the title, with the unit in brackets if there is one.
    pub fn heading(&self) -> String {
        if self.unit.is_empty() { self.title.clone() } else { format!("{} [{}]", self.title, self.unit) }
    }

    /// Formats a value without its unit, which the heading states.
    pub fn format_value(&self, value: f32) -> String {
        format_value(value, "", self.is_whole)
    }

    /// Returns the position of a value between the ends, 0 to 1 inside; for kinds, the value itself. NaN for a value
    /// without a logarithm on a logarithmic scale.
    pub fn relative_position(&self, value: f32) -> f32 {
        let ruler = |x: f32| if self.log { log_or_nan(x) } else { x };
        match self.ramp {
            Colours::Kinds => value,
            _ => (ruler(value) - ruler(self.low)) / (ruler(self.high) - ruler(self.low)),
        }
    }

    /// Returns a value's colour and opacity, 0 to 1: small amounts are translucent, and NaN is transparent.
    pub fn colour_and_opacity(&self, value: f32) -> (Linear, f32) {
        let t = self.relative_position(value);
        let cover = match self.ramp {
            // A ramp that begins at 0 is opaque from an eighth of its length on, a diverging scale from 1/24 of it on
            // either side of 0.
            _ if t.is_nan() => 0.0,
            Colours::Kinds => f32::from(u8::from(value > 0.0)),
            Colours::Ramp(_) if self.low >= 0.0 && (self.log || self.low == 0.0) => (8.0 * t).clamp(0.0, 1.0),
            Colours::Diverging => (24.0 * (t - 0.5).abs()).clamp(0.0, 1.0),
            Colours::Ramp(_) => 1.0,
        };
        (if cover > 0.0 { self.ramp.colour_at(t) } else { [0.0; 3] }, cover)
    }
}

impl Overlay {
    /// Returns the hue of the layer that is shown; plain if no layer is shown.
    fn layer_hue(&self, terrain: &Terrain) -> Hue {
        match self {
            Self::WaterDepth => WATER.traits.hue,
            Self::Discharge => DISCHARGE.traits.hue,
            Self::Suspended => SUSPENDED.traits.hue,
            Self::Sediment => SEDIMENT.traits.hue,
            Self::Layer(name) => terrain.layers.get(name).map_or(Hue::Plain, |layer| layer.traits.hue),
            _ => Hue::Plain,
        }
    }

    /// Returns the legend for the given values, with its ends chosen as for the library's maps.
    ///
    /// # Errors
    /// Returns an error if the size of the values differs from the terrain's.
    pub fn build_legend(&self, terrain: &Terrain, values: &Field<f32>) -> Result<OverlayLegend> {
        if values.size() != terrain.grid.size {
            return Err(Error::invalid_layer(self.name(), "does not have the terrain's size"));
        }
        let fitting = LayerOptions::from_hue(self.layer_hue(terrain), "");
        let (ramp, log) = match self {
            Self::Height => (Colours::Ramp(Ramp::land()), false),
            Self::DrainageArea => (Colours::Ramp(Ramp::water()), true),
            Self::Deposits => (Colours::Ramp(Ramp::sediment()), false),
            Self::Soil => (Colours::Ramp(Ramp::soil()), false),
            Self::Basins => (Colours::Kinds, false),
            Self::Difference => (Colours::Diverging, false),
            _ => (Colours::Ramp(fitting.ramp), fitting.log),
        };
        let relief = Relief::new(terrain, None)?;
        let [low, high] = match self {
            Self::Height => relief.colour_range(),
            Self::Soil => [0.0, 5.0],
            Self::Basins => {
                let most = values.as_slice().iter().fold(1.0, |most: f32, n| if *n > most { *n } else { most });
                [1.0, most.max(2.0)]
            }
            Self::Difference => {
                let size = |v: f32| Some(v.abs()).filter(|v| v.is_finite());
                // The quantile of 99 % keeps single extreme cells from fading all others; differences below 1 cm remain
                // pale.
                let most = quantile_of_sorted(&relief.sorted_values(|i, j| size(values[(i, j)])), 0.99).max(0.01);
                [-most, most]
            }
            _ => fitting.range.unwrap_or_else(|| choose_value_range(&relief, values, log)),
        };
        let (unit, is_whole) = (self.unit(terrain), self.is_whole(terrain));
        Ok(OverlayLegend { title: self.title(), unit, ramp, low, high, log, is_whole })
    }
}

/// Returns a colour from brown through nearly white to green-blue, by OKLab's lightness and hue; 0.5 is the middle.
fn diverging_colour(t: f32) -> Linear {
    let t = f64::from(if t > 0.0 { t.min(1.0) } else { 0.0 }) * 2.0 - 1.0;
    let (far, end) = (t.abs(), if t < 0.0 { [0.42, 0.06, 0.085] } else { [0.46, -0.075, -0.045] });
    // Lightness decreases linearly, while chroma grows with the square root, so that small changes have a visible
    // colour before they are dark.
    let light = 0.95 + (end[0] - 0.95) * far;
    let strength = far.sqrt() * (1.0 - 0.15 * far);
    from_oklab([light, end[1] * strength, end[2] * strength]).map(|x| x.clamp(0.0, 1.0))
}

/// Returns the colour of a whole number, chosen so that consecutive numbers have very different hues.
fn kind_colour(number: f32) -> Linear {
    // Multiples of the golden ratio's fractional part never come close to earlier ones.
    let turn = f64::from(number) * 0.618_033_988_749_895;
    // The fractional part of √2 changes the lightness in another rhythm than the hue.
    let light = 0.62 + 0.16 * (f64::from(number) * 0.414_213_562_373_095).fract();
    let angle = turn.fract() * std::f64::consts::TAU;
    from_oklab([light, 0.085 * libm::cos(angle), 0.085 * libm::sin(angle)]).map(|x| x.clamp(0.0, 1.0))
}

fn log_or_nan(x: f32) -> f32 {
    if x > 0.0 { libm::logf(x) } else { f32::NAN }
}
