//! [`LookOptions`]: the colours and the light of a picture.

use std::ops::RangeFull;
use std::sync::LazyLock;

use serde_json::{Value as Json, json};
use thalweg_core::declare::operation::{OptionKind, OptionType};
use thalweg_core::operation;

use crate::pictures::light::Sun;
use crate::pictures::ramps::{RAMPS, Ramp};

operation! {
    /// Chooses the colours and the light of a picture.
    ///
    /// # Examples
    /// ```
    /// use thalweg_render::pictures::look::LookOptions;
    /// use thalweg_render::pictures::ramps::Ramp;
    ///
    /// let look = LookOptions { ramp: Some(Ramp::find("redrock")?), ..LookOptions::default() };
    /// assert_eq!(look.ramp_or_land().name, "redrock");
    /// assert_eq!(LookOptions::default().ramp_or_land().name, "land");
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub struct LookOptions, "look" {
        /// Colours of the ground by height; by default those of the world's recipe, or else `land`.
        ramp: Option<&'static Ramp> = None, within .., unit "1";
        /// Heights at the ends of the colour ramp; by default the range of the ground without the lowest and the
        /// highest 0.5 % of its cells.
        range: Option<[f64; 2]> = None, within &["low", "high"], unit "m";
        /// Position of the sun: azimuth clockwise from north, -360 to 360, and altitude above the horizon, 1 to 90.
        sun: Sun = Sun::default(), within .., unit "°";
        /// Factor on heights, which exaggerates the relief. By default, it is chosen from the terrain; 1 is true to
        /// scale.
        exaggeration: Option<f64> = None, within 1e-6..=1000.0, unit "1";
    }
}

impl LookOptions {
    /// Returns the ramp, or that for land if none is given.
    pub fn ramp_or_land(&self) -> &'static Ramp {
        self.ramp.unwrap_or(Ramp::land())
    }

    /// Returns the look with this ramp, if it has none. For example, a recipe chooses the ramp of its world, such as
    /// sand for deserts.
    pub fn with_default_ramp(&self, ramp: Option<&'static Ramp>) -> Self {
        Self { ramp: self.ramp.or(ramp), ..self.clone() }
    }

    /// Returns the heights at the ends of the ramp as the painter uses them.
    pub(crate) fn range_f32(&self) -> Option<[f32; 2]> {
        self.range.map(|range| range.map(|height| height as f32))
    }
}

impl OptionType for &'static Ramp {
    type Within = RangeFull;

    fn kind(_: RangeFull) -> OptionKind {
        static WORDS: LazyLock<Vec<(&str, &str)>> =
            LazyLock::new(|| RAMPS.iter().map(|ramp| (ramp.name, ramp.about)).collect());
        OptionKind::Choice(&WORDS)
    }

    fn from_json(value: &Json) -> Option<Self> {
        Ramp::find(value.as_str()?).ok()
    }

    fn to_json(&self) -> Json {
        json!(self.name)
    }
}

impl OptionType for Sun {
    type Within = RangeFull;

    fn kind(_: RangeFull) -> OptionKind {
        OptionKind::Numbers(&["azimuth", "altitude"])
    }

    fn from_json(value: &Json) -> Option<Self> {
        let [azimuth, altitude] = <[f64; 2]>::from_json(value)?;
        Some(Self { azimuth, altitude })
    }

    fn to_json(&self) -> Json {
        json!([self.azimuth, self.altitude])
    }
}
