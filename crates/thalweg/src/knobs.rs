//! [`Knobs`]: age, rain, rock, relief, size and sea, each of which turns many parameters of a recipe at once.
//!
//! Which parameter goes with which knob is declared once, in [`TURNS`]. A parameter becomes itself times the knob's factor to
//! the declared power, within what it allows; an angle does so by its tangent. Zero stays zero, since it stands for "none" or for
//! "left to the rest". Beside parameters, `size` moves whatever has a place in the world (extent, springs, mouths,
//! passes, strokes), and `relief` what is a height (sea level, strokes, masks of the ground's height).

use std::fmt::Write as _;
use std::ops::RangeInclusive;

use crate::error::{Error, Result};
use crate::height::Height;
use crate::levels::When;
use crate::models;
use crate::params::{Kind, Param, Value};
use crate::recipe::{From, Recipe, Stage};
use crate::rivers::wishes::MAX_REACH;
use crate::rocks::{Figure, Rock};
use crate::strokes::{Stroke, Tool};

/// What age and rain may be.
pub const FACTOR: RangeInclusive<f64> = 0.1..=10.0;

/// What relief and size may be.
pub const STRETCH: RangeInclusive<f64> = 0.25..=4.0;

/// Where the knobs stand; those of [`Knobs::default`] change nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Knobs {
    /// Factor on the time that everything works, 0.1 to 10.
    pub age: f64,
    /// Factor on rain, 0.1 to 10.
    pub rain: f64,
    /// Factor on heights, 0.25 to 4: uplift, and what base models lay.
    pub relief: f64,
    /// Factor on widths, 0.25 to 4: the same landform on ground so many times as wide, heights as they were.
    pub size: f64,
    /// Metres by which the sea rises; where there is none, its level.
    pub sea: Option<f64>,
    /// The rock that the land is to be of.
    pub rock: Option<&'static Rock>,
}

impl Default for Knobs {
    fn default() -> Self {
        Self { age: 1.0, rain: 1.0, relief: 1.0, size: 1.0, sea: None, rock: None }
    }
}

/// What a parameter goes with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Time at work.
    Age,
    /// Rain.
    Rain,
    /// Rain to the power of the stage's own `area_exponent`: what K·Aᵐ becomes where area stands for discharge.
    Runoff,
    /// The ratio of the new rock's figure to the old one's.
    Rock(Figure),
    /// Heights.
    Relief,
    /// Widths.
    Size,
}

use By::{Age, Rain, Relief, Runoff, Size};

const ERODIBILITY: By = By::Rock(Figure::Erodibility);
const SLOPE: By = By::Rock(Figure::Slope);
const REPOSE: By = By::Rock(Figure::Repose);
const CREEP: By = By::Rock(Figure::Creep);
const DEBRIS: By = By::Rock(Figure::Debris);

/// What the knobs turn: model, parameter, what it goes with, and to what power.
///
/// Shares that end at 1 (of a load, dug in a step) go with a root of a rock's erodibility; floors' widths with its fourth root,
/// for soft rock has wider valleys. Counts of droplets go with age and with rain: erosion is rain times time. Strides go with
/// size and densities of droplets with its square, downwards, so that they carve the same valleys.
pub const TURNS: &[(&str, &str, By, f64)] = &[
    ("gradient_noise", "amplitude", Relief, 1.0),
    ("gradient_noise", "offset", Relief, 1.0),
    ("gradient_noise", "wavelength", Size, 1.0),
    ("gradient_noise", "warp", Size, 1.0),
    ("gradient_noise", "warp_wavelength", Size, 1.0),
    ("cellular_noise", "amplitude", Relief, 1.0),
    ("cellular_noise", "offset", Relief, 1.0),
    ("cellular_noise", "wavelength", Size, 1.0),
    ("cellular_noise", "warp", Size, 1.0),
    ("cellular_noise", "warp_wavelength", Size, 1.0),
    ("diamond_square", "amplitude", Relief, 1.0),
    ("diamond_square", "corners", Relief, 1.0),
    ("diamond_square", "offset", Relief, 1.0),
    ("midpoint_displacement", "amplitude", Relief, 1.0),
    ("midpoint_displacement", "corners", Relief, 1.0),
    ("midpoint_displacement", "offset", Relief, 1.0),
    ("fourier_synthesis", "amplitude", Relief, 1.0),
    ("fourier_synthesis", "offset", Relief, 1.0),
    ("fault_formation", "step", Relief, 1.0),
    ("fault_formation", "offset", Relief, 1.0),
    ("fault_formation", "width", Size, 1.0),
    ("shape", "height", Relief, 1.0),
    ("shape", "depth", Relief, 1.0),
    ("shape", "offset", Relief, 1.0),
    ("shape", "tilt", Relief, 1.0),
    ("shape", "tilt", Size, -1.0),
    ("shape", "radius", Size, 1.0),
    ("elevation", "scale", Relief, 1.0),
    ("elevation", "offset", Relief, 1.0),
    ("stream_power", "years", Age, 1.0),
    ("stream_power", "erodibility", Runoff, 1.0),
    ("stream_power", "erodibility", ERODIBILITY, 1.0),
    ("stream_power", "loose_ease", DEBRIS, 1.0),
    ("stream_power", "slope_limit", SLOPE, 1.0),
    ("stream_power", "diffusion", CREEP, 1.0),
    ("stream_power", "planation", ERODIBILITY, 0.25),
    ("stream_power", "uplift", Relief, 1.0),
    ("stream_power", "stride", Size, 1.0),
    ("stream_power", "uplift_wavelength", Size, 1.0),
    ("stream_power", "erodibility_wavelength", Size, 1.0),
    ("stream_power", "grain_wavelength", Size, 1.0),
    ("stream_power", "slope_wavelength", Size, 1.0),
    ("stream_power", "planation_area", Size, 2.0),
    ("stream_power", "strata_dip", Size, -1.0),
    ("droplets", "density", Age, 1.0),
    ("droplets", "count", Age, 1.0),
    ("droplets", "density", Rain, 1.0),
    ("droplets", "count", Rain, 1.0),
    ("droplets", "erosion", ERODIBILITY, 0.5),
    ("droplets", "floor", Relief, 1.0),
    ("droplets", "stride", Size, 1.0),
    ("droplets", "density", Size, -2.0),
    ("droplets", "min_slope", Size, -1.0),
    ("thermal", "distance", Age, 1.0),
    ("thermal", "steps", Age, 1.0),
    ("thermal", "talus", REPOSE, 1.0),
    ("thermal", "rock_talus", SLOPE, 1.0),
    ("thermal", "distance", Size, 1.0),
    ("drainage", "runoff", Rain, 1.0),
    ("drainage", "threshold", Size, 2.0),
    ("outlets", "lake", Relief, 1.0),
    ("outlets", "lake_area", Size, 2.0),
    ("glacier", "years", Age, 1.0),
    ("glacier", "accumulation", Rain, 1.0),
    ("glacier", "erosion", ERODIBILITY, 0.5),
    ("glacier", "slope_limit", SLOPE, 1.0),
    ("glacier", "snowline", Relief, 1.0),
    ("glacier", "swing", Relief, 1.0),
    ("glacier", "slope_wavelength", Size, 1.0),
    ("dunes", "years", Age, 1.0),
    ("dunes", "hop", Size, 1.0),
    ("coast", "years", Age, 1.0),
    ("coast", "retreat", ERODIBILITY, 0.5),
    ("coast", "cliff", SLOPE, 1.0),
    ("coast", "fetch", Size, 1.0),
    ("coast", "shelter", Size, 1.0),
    ("coast", "drift", Size, 1.0),
    ("coast", "lagoon", Size, 1.0),
    ("delta", "years", Age, 1.0),
    ("delta", "discharge", Rain, 1.0),
    ("delta", "sediment", Rain, 1.0),
    ("delta", "sediment", Size, 2.0),
    ("delta", "slope", Size, -1.0),
    ("delta", "reach", Size, 1.0),
    ("delta", "wavelength", Size, 1.0),
    ("delta", "migration", Size, 2.0),
    ("delta", "front", Size, -1.0),
    ("soils", "rock_slope", SLOPE, 1.0),
    ("soils", "gravel_slope", REPOSE, 1.0),
    ("soils", "strata_base", Relief, 1.0),
    ("soils", "strata_warp", Relief, 1.0),
    ("soils", "scale", Size, 1.0),
    ("soils", "basin", Size, 1.0),
    ("soils", "wavelength", Size, 1.0),
    ("soils", "strata_wavelength", Size, 1.0),
    ("soils", "strata_dip", Size, -1.0),
    ("hillslope", "years", Age, 1.0),
    ("hillslope", "diffusion", CREEP, 1.0),
    ("hillslope", "angle", SLOPE, 1.0),
    ("hillslope", "jitter_wavelength", Size, 1.0),
    ("planation", "width", ERODIBILITY, 0.25),
    ("planation", "threshold", Size, 2.0),
    ("planation", "widest", Size, 1.0),
    ("fluvial", "duration", Age, 1.0),
    ("fluvial", "steps", Age, 1.0),
    ("fluvial", "rain", Rain, 1.0),
    ("fluvial", "softness", ERODIBILITY, 0.5),
    ("fluvial", "floor", Relief, 1.0),
    ("fluvial", "duration", Size, 1.0),
    ("fluvial", "x", Size, 1.0),
    ("fluvial", "y", Size, 1.0),
    ("pipes", "seconds", Age, 1.0),
    ("pipes", "rain", Rain, 1.0),
    ("pipes", "rock", DEBRIS, -1.0),
    ("pipes", "lake_level", Relief, 1.0),
    ("pipes", "seconds", Size, 1.0),
    ("pipes", "storm_radius", Size, 1.0),
    ("hydrology", "drops", Age, 1.0),
    ("hydrology", "forest", Age, 1.0),
    ("hydrology", "rain", Rain, 1.0),
    ("hydrology", "deposition", ERODIBILITY, 0.25),
    ("hydrology", "talus", REPOSE, 1.0),
    ("hydrology", "wet_talus", REPOSE, 1.0),
    ("hydrology", "floor", Relief, 1.0),
    ("hydrology", "stride", Size, 1.0),
    ("hydrology", "patience", Size, 1.0),
    ("trees", "years", Age, 1.0),
    ("trees", "rain", Rain, 1.0),
    ("river_network", "runoff", Rain, 1.0),
    ("river_network", "bank", REPOSE, 1.0),
    ("river_network", "catchment", Size, 2.0),
    ("river_network", "breach_length", Size, 1.0),
    ("river_network", "spacing", Size, 1.0),
];

/// Models that no knob concerns.
pub const UNTURNED: &[&str] = &["hands"];

impl Knobs {
    /// Turns a recipe: its parameters, extent, places and sea. Knobs that stand at 1, and the rock that it is of already, leave it
    /// as it is.
    ///
    /// # Errors
    /// As [`Knobs::check`], and a sea or an extent beyond what a recipe takes; the recipe is then as before.
    pub fn turn(&self, recipe: &mut Recipe) -> Result<()> {
        self.check(recipe)?;
        let sea_level = self.sea_level(recipe.sea_level)?;
        let extent = recipe.extent.map(|sides| self.extent(sides)).transpose()?;
        let rocks = [recipe.rock, self.rock.unwrap_or(recipe.rock)];
        for stage in &mut recipe.stages {
            self.turn_parameters(stage, rocks)?;
            self.turn_places(stage);
        }
        (recipe.sea_level, recipe.extent, recipe.rock) = (sea_level, extent, rocks[1]);
        Ok(())
    }

    /// Checks where the knobs stand, for this recipe.
    ///
    /// # Errors
    /// A factor outside its range, a sea level that is no number; a size or relief where the ground comes from a file.
    pub fn check(&self, recipe: &Recipe) -> Result<()> {
        for (name, value, range) in [
            ("age", self.age, FACTOR),
            ("rain", self.rain, FACTOR),
            ("relief", self.relief, STRETCH),
            ("size", self.size, STRETCH),
        ] {
            if !range.contains(&value) {
                return Err(Error::value(name, value, format!("{} to {}", range.start(), range.end())));
            }
        }
        for (name, value) in [("relief", self.relief), ("size", self.size)] {
            if recipe.extent.is_none() && value != 1.0 {
                let from = recipe.from.as_ref().map_or("a file".into(), |from| from.display().to_string());
                return Err(Error::value(name, value, format!("1, for the ground comes from {from}")));
            }
        }
        Ok(())
    }

    fn sea_level(&self, before: Option<f64>) -> Result<Option<f64>> {
        let lifted = before.map(|level| level * self.relief);
        let level = self.sea.map_or(lifted, |sea| Some(lifted.unwrap_or(0.0) + sea));
        let held = level.map(|level| Height::from_metres(level).map(|_| level)).transpose();
        held.map_err(|_| {
            let (name, value) = self.sea.map_or(("relief", self.relief), |sea| ("sea", sea));
            Error::value(name, value, "one that leaves the sea's level at -16000 to 16000 m")
        })
    }

    fn extent(&self, sides: [f64; 2]) -> Result<[f64; 2]> {
        let wider = sides.map(|side| side * self.size);
        match wider.iter().all(|side| (0.01..=1e8).contains(side)) {
            true => Ok(wider),
            false => {
                Err(Error::value("size", self.size, format!("one that leaves {sides:?} m 0.01 to 100000000 m each")))
            }
        }
    }

    fn turn_parameters(&self, stage: &mut Stage, rocks: [&Rock; 2]) -> Result<()> {
        let owner = stage.model.about().name;
        let multiplies = stage.model.get("blend") == Some(Value::Choice("multiply"));
        for param in stage.model.declared() {
            let turns = TURNS.iter().filter(|(model, name, ..)| (*model, *name) == (owner, param.name));
            // What a base model lays as a factor is no height.
            let turns = turns.filter(|(_, _, by, _)| !(multiplies && *by == Relief));
            let factor: f64 = turns.map(|(_, _, by, power)| raised(self.factor(*by, stage, rocks), *power)).product();
            let Some(before) = stage.model.get(param.name).filter(|_| factor != 1.0) else { continue };
            if let Some(after) = times(before, &param, factor) {
                stage.model.set(owner, param.name, &after.to_toml())?;
            }
        }
        Ok(())
    }

    /// What a parameter that goes with `by` is multiplied by.
    fn factor(&self, by: By, stage: &Stage, [before, after]: [&Rock; 2]) -> f64 {
        match by {
            Age => self.age,
            Rain => self.rain,
            Runoff => match stage.model.get("area_exponent") {
                Some(Value::Number(m)) => raised(self.rain, m),
                _ => 1.0,
            },
            By::Rock(figure) => after.figure(figure) / before.figure(figure),
            Relief => self.relief,
            Size => self.size,
        }
    }

    /// Moves what has a place in the world, and scales what is a height beside the parameters.
    fn turn_places(&self, stage: &mut Stage) {
        if let When::Widths(widths) = &mut stage.when {
            *widths = widths.map(|width| (width * self.size).min(1e8));
        }
        let place = |metres: &mut f64| *metres *= self.size;
        stage.tables.springs.iter_mut().flat_map(|spring| [&mut spring.x, &mut spring.y]).for_each(place);
        for wish in stage.tables.mouths.iter_mut().chain(&mut stage.tables.passes) {
            wish.x *= self.size;
            wish.y *= self.size;
            wish.reach = wish.reach.map(|reach| (reach * self.size).min(MAX_REACH));
        }
        for stroke in &mut stage.strokes {
            stroke.points.iter_mut().flatten().for_each(place);
            stroke.radius = setting(stroke, "radius", stroke.radius * self.size);
            if matches!(stroke.tool, Tool::Raise | Tool::Lower) {
                stroke.strength = setting(stroke, "strength", stroke.strength * self.relief);
            }
        }
        for source in stage.layers.values_mut() {
            if source.from == From::Layer("ground".into()) {
                source.scale = source.scale.map(|ends| ends.map(|end| end * self.relief));
            }
        }
    }
}

/// A stroke's setting, within what it may be.
fn setting(stroke: &Stroke, name: &str, value: f64) -> f64 {
    match stroke.tool.settings().iter().find(|setting| setting.name == name).map(|setting| setting.kind) {
        Some(Kind::Number { min, max }) => value.clamp(min, max),
        _ => value,
    }
}

/// `factor` to the power of `power`; exact for whole powers near 1, so that a knob turned by 2 doubles.
fn raised(factor: f64, power: f64) -> f64 {
    match power {
        1.0 => factor,
        2.0 => factor * factor,
        0.5 => factor.sqrt(),
        -1.0 => 1.0 / factor,
        -2.0 => 1.0 / (factor * factor),
        _ => libm::pow(factor, power),
    }
}

/// A value times a factor, within what the parameter allows; `None` where it stands for "none" and stays.
fn times(value: Value, param: &Param, factor: f64) -> Option<Value> {
    match (value, param.kind) {
        (Value::Number(x), Kind::Number { min, max }) => {
            let angle = matches!(param.unit, "°" | "degree");
            // An angle at its upper end lets nothing slide; a floor at its lower end is none.
            let is_none = x == 0.0 || (angle && x == max) || (param.name == "floor" && x == min);
            let turned = if angle { libm::atan(libm::tan(x.to_radians()) * factor).to_degrees() } else { x * factor };
            (!is_none).then(|| Value::Number(turned.clamp(min, max)))
        }
        (Value::Count(n), Kind::Count { min, max }) if n > 0 => {
            let turned = (f64::from(n) * factor).round();
            Some(Value::Count(turned.clamp(f64::from(min.max(1)), f64::from(max)) as u32))
        }
        _ => None,
    }
}

/// A knob's column: its name, and what goes with it.
type Column = (&'static str, fn(By) -> bool);

/// What the knobs turn, as a table of the book: a row a model, a column a knob.
pub fn table() -> String {
    let columns: [Column; 5] = [
        ("age", |by| by == Age),
        ("rain", |by| matches!(by, Rain | Runoff)),
        ("rock", |by| matches!(by, By::Rock(_))),
        ("relief", |by| by == Relief),
        ("size", |by| by == Size),
    ];
    let mut out = format!("| model | {} |\n|---|---|---|---|---|---|\n", columns.map(|(name, _)| name).join(" | "));
    let names = models::all().map(|model| model.about().name).filter(|name| !UNTURNED.contains(name));
    for model in names {
        let cell = |of: fn(By) -> bool| {
            let turns = TURNS.iter().filter(|(owner, _, by, _)| *owner == model && of(*by));
            turns.map(|(_, name, by, power)| format!("`{name}`{}", suffix(*by, *power))).collect::<Vec<_>>().join(" ")
        };
        let _ = writeln!(out, "| {model} | {} |", columns.map(|(_, of)| cell(of)).join(" | "));
    }
    out
}

/// How a power is written behind a parameter's name.
fn suffix(by: By, power: f64) -> &'static str {
    match (by, power) {
        (Runoff, _) => "ᵐ",
        (_, 2.0) => "²",
        (_, 0.5) => "^½",
        (_, 0.25) => "^¼",
        (_, -1.0) => "⁻¹",
        (_, -2.0) => "⁻²",
        _ => "",
    }
}

#[cfg(test)]
mod tests;
