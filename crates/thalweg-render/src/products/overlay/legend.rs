//! The colours of an overlay, and how they are read.

use crate::pictures::colour::{Linear, from_oklab};
use crate::pictures::layer::{LayerOptions, range};
use crate::pictures::ramps::Ramp;
use crate::pictures::relief::Relief;
use crate::pictures::sample::quantile;
use crate::products::overlay::Overlay;
use thalweg_core::terrain::{DISCHARGE, Hue, LOOSE, SUSPENDED, WATER};
use thalweg_core::{Error, Field, Result, Terrain};

/// The colours of an overlay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Colours {
    /// A ramp from low to high.
    Ramp(&'static Ramp),
    /// Brown below 0, pale at 0, green-blue above.
    Diverging,
    /// A colour to each whole number; none to 0.
    Kinds,
}

impl Colours {
    /// The colour at `t`, held within 0 to 1, from the low end to the high; of kinds, of number `t`.
    pub fn at(&self, t: f32) -> Linear {
        match self {
            Self::Ramp(ramp) => ramp.at(t),
            Self::Diverging => diverging(t),
            Self::Kinds => kind(t),
        }
    }
}

/// How to read an overlay's colours.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct OverlayLegend {
    /// What is shown.
    pub title: String,
    /// Unit of the values; empty where they have none.
    pub unit: String,
    /// The colours.
    pub ramp: Colours,
    /// Value of the first colour, in `unit`.
    pub low: f32,
    /// Value of the last one, in `unit`.
    pub high: f32,
    /// Whether equal steps of colour are equal factors: the scale is logarithmic.
    pub log: bool,
}

impl OverlayLegend {
    /// Where a value stands between the ends, 0 to 1 inside; of kinds, the value itself. NaN where a value without a logarithm needs one.
    pub fn place(&self, value: f32) -> f32 {
        let ruler = |x: f32| if self.log { log(x) } else { x };
        match self.ramp {
            Colours::Kinds => value,
            _ => (ruler(value) - ruler(self.low)) / (ruler(self.high) - ruler(self.low)),
        }
    }

    /// A value's colour, and how much of the land it covers, 0 to 1: small amounts are seen through, and NaN covers nothing.
    pub fn colour(&self, value: f32) -> (Linear, f32) {
        let t = self.place(value);
        let cover = match self.ramp {
            _ if t.is_nan() => 0.0,
            Colours::Kinds => f32::from(u8::from(value > 0.0)),
            Colours::Ramp(_) if self.low >= 0.0 && (self.log || self.low == 0.0) => (8.0 * t).clamp(0.0, 1.0),
            Colours::Diverging => (24.0 * (t - 0.5).abs()).clamp(0.0, 1.0),
            Colours::Ramp(_) => 1.0,
        };
        (if cover > 0.0 { self.ramp.at(t) } else { [0.0; 3] }, cover)
    }
}

impl Overlay {
    /// The colours of the layer that it shows; plain ones where it shows no layer.
    fn hue(&self, terrain: &Terrain) -> Hue {
        match self {
            Self::WaterDepth => WATER.traits.hue,
            Self::Discharge => DISCHARGE.traits.hue,
            Self::Suspended => SUSPENDED.traits.hue,
            Self::Loose => LOOSE.traits.hue,
            Self::Layer(name) => terrain.layers.get(name).map_or(Hue::Plain, |layer| layer.traits.hue),
            _ => Hue::Plain,
        }
    }

    /// The legend of these values, its ends chosen as for the library's maps.
    ///
    /// # Errors
    /// When the values are not of the terrain's size.
    pub fn legend(&self, terrain: &Terrain, values: &Field<f32>) -> Result<OverlayLegend> {
        if values.size() != terrain.grid.size {
            return Err(Error::layer(self.name(), "values are not of the terrain's size"));
        }
        let fitting = LayerOptions::fitting(self.hue(terrain), "");
        let (ramp, log) = match self {
            Self::Height => (Colours::Ramp(Ramp::land()), false),
            Self::Catchment => (Colours::Ramp(Ramp::water()), true),
            Self::Deposits => (Colours::Ramp(Ramp::sediment()), false),
            Self::Soil => (Colours::Ramp(Ramp::soil()), false),
            Self::Basins => (Colours::Kinds, false),
            Self::Difference => (Colours::Diverging, false),
            _ => (Colours::Ramp(fitting.ramp), fitting.log),
        };
        let relief = Relief::new(terrain, None)?;
        let [low, high] = match self {
            Self::Height => relief.range(),
            Self::Soil => [0.0, 5.0],
            Self::Basins => {
                let most = values.as_slice().iter().fold(1.0, |most: f32, n| if *n > most { *n } else { most });
                [1.0, most.max(2.0)]
            }
            Self::Difference => {
                let size = |v: f32| Some(v.abs()).filter(|v| v.is_finite());
                let most = quantile(&relief.sorted(|i, j| size(values[(i, j)])), 0.99).max(0.01);
                [-most, most]
            }
            _ => fitting.range.unwrap_or_else(|| range(&relief, values, log)),
        };
        Ok(OverlayLegend { title: self.title(), unit: self.unit(terrain), ramp, low, high, log })
    }
}

/// Brown over nearly white to green-blue, by OKLab's lightness and hue; 0.5 is the middle.
fn diverging(t: f32) -> Linear {
    let t = f64::from(if t > 0.0 { t.min(1.0) } else { 0.0 }) * 2.0 - 1.0;
    let (far, end) = (t.abs(), if t < 0.0 { [0.42, 0.06, 0.085] } else { [0.46, -0.075, -0.045] });
    // The lightness falls slowly at first, so that small changes have a colour before they are dark.
    let light = 0.95 + (end[0] - 0.95) * far;
    let strength = far.sqrt() * (1.0 - 0.15 * far);
    from_oklab([light, end[1] * strength, end[2] * strength]).map(|x| x.clamp(0.0, 1.0))
}

/// The colour of a whole number: neighbours among the numbers are far apart on the wheel.
fn kind(number: f32) -> Linear {
    // A multiple of the golden ratio's part never comes near where it was before.
    let turn = f64::from(number) * 0.618_033_988_749_895;
    let light = 0.62 + 0.16 * (f64::from(number) * 0.414_213_562_373_095).fract();
    let angle = turn.fract() * std::f64::consts::TAU;
    from_oklab([light, 0.085 * libm::cos(angle), 0.085 * libm::sin(angle)]).map(|x| x.clamp(0.0, 1.0))
}

fn log(x: f32) -> f32 {
    if x > 0.0 { libm::logf(x) } else { f32::NAN }
}
