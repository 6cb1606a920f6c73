//! The arguments of the knobs: one value each for `build` and `tile`, lists for `vary`.

use clap::Args;
use thalweg_core::{Error, Result};
use thalweg_models::rocks::Rock;
use thalweg_sim::knobs::Knobs;

/// Knobs that change many parameters of a recipe at once (docs/knobs.md).
#[derive(Args)]
#[command(next_help_heading = "Knobs")]
pub struct KnobArgs {
    /// Factor on the duration of all processes, 0.1 to 10 [default: 1].
    #[arg(long, value_name = "F", value_delimiter = ',', allow_hyphen_values = true)]
    pub age: Vec<f64>,
    /// Factor on the rain, 0.1 to 10 [default: 1].
    #[arg(long, value_name = "F", value_delimiter = ',', allow_hyphen_values = true)]
    pub rain: Vec<f64>,
    /// Rock of the terrain (see `thalweg rocks`) [default: the recipe's].
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub rock: Vec<String>,
    /// Factor on the heights, 0.25 to 4 [default: 1].
    #[arg(long, value_name = "F", value_delimiter = ',', allow_hyphen_values = true)]
    pub relief: Vec<f64>,
    /// Factor on the horizontal extent of the world and its landforms, 0.25 to 4 [default: 1].
    #[arg(long, value_name = "F", value_delimiter = ',', allow_hyphen_values = true)]
    pub size: Vec<f64>,
    /// Rise of the sea level in metres; if the recipe has no sea, the sea level itself.
    #[arg(long, value_name = "M", value_delimiter = ',', allow_hyphen_values = true)]
    pub sea: Vec<f64>,
}

/// A value of one of the knobs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KnobSetting {
    /// Age.
    Age(f64),
    /// Rain.
    Rain(f64),
    /// Rock.
    Rock(&'static Rock),
    /// Relief.
    Relief(f64),
    /// Size.
    Size(f64),
    /// Sea.
    Sea(f64),
}

impl KnobArgs {
    /// Returns the given knobs, each with its values.
    ///
    /// # Errors
    /// Returns an error if a rock is unknown.
    pub fn collect_settings(&self) -> Result<Vec<Vec<KnobSetting>>> {
        let factors =
            |turn: fn(f64) -> KnobSetting, values: &[f64]| values.iter().copied().map(turn).collect::<Vec<_>>();
        let rocks = self.rock.iter().map(|name| Rock::find(name).map(KnobSetting::Rock)).collect::<Result<Vec<_>>>()?;
        let knobs = [
            factors(KnobSetting::Age, &self.age),
            factors(KnobSetting::Rain, &self.rain),
            rocks,
            factors(KnobSetting::Relief, &self.relief),
            factors(KnobSetting::Size, &self.size),
            factors(KnobSetting::Sea, &self.sea),
        ];
        Ok(knobs.into_iter().filter(|turns| !turns.is_empty()).collect())
    }

    /// Returns the knobs of one world.
    ///
    /// # Errors
    /// Returns an error if a rock is unknown, or if a knob has several values.
    pub fn to_single_knobs(&self) -> Result<Knobs> {
        let mut knobs = Knobs::default();
        for turns in self.collect_settings()? {
            // `vary` accepts lists of values with the same options, but a single world has one value per knob.
            if let [first, _, ..] = turns.as_slice() {
                let typed: Vec<String> = turns.iter().map(KnobSetting::format_value).collect();
                let name = format!("--{}", first.name());
                return Err(Error::invalid_value(
                    name,
                    typed.join(","),
                    "one value; use `thalweg vary` for a list of values",
                ));
            }
            turns.iter().for_each(|turn| turn.apply_to(&mut knobs));
        }
        Ok(knobs)
    }
}

impl KnobSetting {
    /// Sets this knob.
    pub fn apply_to(&self, knobs: &mut Knobs) {
        match *self {
            Self::Age(factor) => knobs.age = factor,
            Self::Rain(factor) => knobs.rain = factor,
            Self::Rock(rock) => knobs.rock = Some(rock),
            Self::Relief(factor) => knobs.relief = factor,
            Self::Size(factor) => knobs.size = factor,
            Self::Sea(metres) => knobs.sea = Some(metres),
        }
    }

    /// Returns the name of the knob.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Age(_) => "age",
            Self::Rain(_) => "rain",
            Self::Rock(_) => "rock",
            Self::Relief(_) => "relief",
            Self::Size(_) => "size",
            Self::Sea(_) => "sea",
        }
    }

    /// Returns the unit of the knob's values after a blank; empty if they have none.
    pub fn unit_suffix(&self) -> &'static str {
        match self {
            Self::Sea(_) => " m",
            Self::Age(_) | Self::Rain(_) | Self::Rock(_) | Self::Relief(_) | Self::Size(_) => "",
        }
    }

    /// Returns the value as it was typed.
    pub fn format_value(&self) -> String {
        match self {
            Self::Rock(rock) => rock.name.to_string(),
            Self::Age(x) | Self::Rain(x) | Self::Relief(x) | Self::Size(x) | Self::Sea(x) => x.to_string(),
        }
    }
}
