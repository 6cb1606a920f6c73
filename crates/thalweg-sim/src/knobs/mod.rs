//! [`Knobs`]: age, rain, rock, relief, size and sea, each of which changes many parameters of a recipe at once.
//!
//! Each parameter declares the knobs on which it depends ([`Scaling`]). It is multiplied by the knob's factor to the
//! declared power, and clamped to its range; for an angle this applies to its tangent. Zero stays zero, because it
//! means "none" or "determined by other settings". In addition to parameters, `size` moves everything that has a
//! position in the world (extent, springs, mouths, passes, strokes), and `relief` scales everything that is an
//! elevation (sea level, strokes, masks by elevation).

use std::fmt::Write as _;
use std::ops::RangeInclusive;

use crate::recipe::{LayerOrigin, Recipe, Stage, When};
use thalweg_core::base::range::check_range;
use thalweg_core::declare::params::{Knob, KnobPower, Param, ParamKind, Scaling, Value};
use thalweg_core::terrain::GROUND;
use thalweg_core::{Error, Extent, Height, Point, Result, operation};
use thalweg_models::model::Blend;
use thalweg_models::models;
use thalweg_models::rocks::Rock;

/// Range of age and rain: factors on the recipe's own values, without unit.
pub const FACTOR: RangeInclusive<f64> = 0.1..=10.0;

/// Range of relief and size: factors on the recipe's own values, without unit.
pub const STRETCH: RangeInclusive<f64> = 0.25..=4.0;

operation! {
    /// Changes many parameters of a recipe at once. The default positions of the knobs change nothing.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::declare::params::Value;
    /// use thalweg_sim::knobs::Knobs;
    /// use thalweg_sim::presets::find_preset;
    ///
    /// let mut recipe = find_preset("hills")?;
    /// assert_eq!(recipe.stages[1].model.get("years"), Some(Value::Number(1.5e7)));
    /// Knobs { age: 2.0, size: 2.0, ..Knobs::default() }.apply_to(&mut recipe)?;
    /// assert_eq!(recipe.stages[1].model.get("years"), Some(Value::Number(3e7)));
    /// assert_eq!(recipe.extent().unwrap().width, 30_720.0);
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub struct Knobs, "knobs" {
        /// Factor on the duration of all processes.
        age: f64 = 1.0, within FACTOR, unit "1", placeholder "F";
        /// Factor on the rain.
        rain: f64 = 1.0, within FACTOR, unit "1", placeholder "F";
        /// Rock of the terrain. By default, that of the recipe.
        rock: Option<&'static Rock> = None, within .., unit "1", placeholder "NAME";
        /// Factor on the heights: uplift, and the terrain that base models generate.
        relief: f64 = 1.0, within STRETCH, unit "1", placeholder "F";
        /// Factor on the horizontal extent of the world and its landforms; heights do not change.
        size: f64 = 1.0, within STRETCH, unit "1", placeholder "F";
        /// Rise of the sea level; if the recipe has no sea, the sea level itself. By default, the sea does not change.
        sea: Option<f64> = None, within -32_000.0..=32_000.0, unit "m";
    }
}

impl Knobs {
    /// Applies the knobs to a recipe: its parameters, extent, positions and sea. Knobs at 1, and the recipe's own
    /// rock, change nothing.
    ///
    /// # Errors
    /// Returns the errors of [`Knobs::check`]; also returns an error if the sea level would not be −16 000 to 16 000 m,
    /// or the extent not 0.01 to 10⁸ m. The recipe is then unchanged.
    pub fn apply_to(&self, recipe: &mut Recipe) -> Result<()> {
        self.check(recipe)?;
        let sea_level = self.sea_level(recipe.sea_level)?;
        // All that may fail for the recipe as a whole is computed before the first stage changes.
        let extent = recipe.extent().map(|sides| self.scale_extent(sides)).transpose()?;
        let rocks = [recipe.rock, self.rock.unwrap_or(recipe.rock)];
        for stage in &mut recipe.stages {
            self.turn_parameters(stage, rocks)?;
            self.turn_places(stage);
        }
        (recipe.sea_level, recipe.rock) = (sea_level, rocks[1]);
        extent.map_or(Ok(()), |extent| recipe.set_extent(extent))
    }

    /// Checks the positions of the knobs for this recipe.
    ///
    /// # Errors
    /// Returns an error if a factor is outside its range, if size or relief is not 1 and the terrain comes from a
    /// file, or if size is not 1 and there is a sketch, whose lines are in metres. For example, an age of 20 is outside
    /// 0.1 to 10.
    pub fn check(&self, recipe: &Recipe) -> Result<()> {
        check_range("age", self.age, FACTOR)?;
        check_range("rain", self.rain, FACTOR)?;
        check_range("relief", self.relief, STRETCH)?;
        check_range("size", self.size, STRETCH)?;
        for (name, value) in [("relief", self.relief), ("size", self.size)] {
            if recipe.extent().is_none() && value != 1.0 {
                let from = recipe.dem().map_or("a file".into(), |from| from.display().to_string());
                return Err(Error::invalid_value(name, value, format!("1, because the ground comes from {from}")));
            }
        }
        if let Some(sketch) = recipe.sketch.as_ref().filter(|_| self.size != 1.0) {
            let lines = sketch.path().map_or("the lines".into(), |path| format!("the lines of {}", path.display()));
            let allowed = format!("1, because {lines} are in metres");
            return Err(Error::invalid_value("size", self.size, allowed));
        }
        Ok(())
    }

    fn sea_level(&self, before: Option<f64>) -> Result<Option<f64>> {
        // The sea level is an elevation and scales with the relief; the knob `sea` is added in metres afterwards.
        let lifted = before.map(|level| level * self.relief);
        let level = self.sea.map_or(lifted, |sea| Some(lifted.unwrap_or(0.0) + sea));
        // The conversion only checks the range; the level keeps its precision.
        let checked = level.map(|level| Height::from_metres(level).map(|_| level)).transpose();
        checked.map_err(|_| {
            let (name, value) = self.sea.map_or(("relief", self.relief), |sea| ("sea", sea));
            Error::invalid_value(name, value, "a value that keeps the sea level within -16000 to 16000 m")
        })
    }

    fn scale_extent(&self, extent: Extent) -> Result<Extent> {
        let sides = <[f64; 2]>::from(extent);
        let wider = sides.map(|side| side * self.size);
        match wider.iter().all(|side| (0.01..=1e8).contains(side)) {
            true => Ok(wider.into()),
            false => Err(Error::invalid_value(
                "size",
                self.size,
                format!("a value that keeps each side of the extent ({sides:?} m) within 0.01 to 100000000 m"),
            )),
        }
    }

    fn turn_parameters(&self, stage: &mut Stage, rocks: [&Rock; 2]) -> Result<()> {
        let model = &mut *stage.model;
        let owner = model.about().name;
        // If a base model's result is a factor, it is not an elevation.
        let multiplies = model.blend() == Blend::Multiply;
        for param in model.declared() {
            let factor = |knob: Knob| if multiplies && knob == Knob::Relief { 1.0 } else { self.factor(knob, rocks) };
            if let Some(after) = scale_parameter(&param, |name| model.get(name), factor) {
                model.set(owner, param.name, &after.into())?;
            }
        }
        for stroke in &mut stage.strokes {
            for param in stroke.tool.settings() {
                if let Some(after) = scale_parameter(param, |name| stroke.get(name), |knob| self.factor(knob, rocks)) {
                    stroke.set_parameter(stroke.tool.name(), param.name, &after.into())?;
                }
            }
        }
        Ok(())
    }

    /// Returns the factor of a parameter that depends on a knob, if the rock changes from the first to the second.
    fn factor(&self, knob: Knob, [before, after]: [&Rock; 2]) -> f64 {
        match knob {
            Knob::Age => self.age,
            Knob::Rain => self.rain,
            Knob::Relief => self.relief,
            Knob::Size => self.size,
            Knob::Erodibility | Knob::Slope | Knob::Repose | Knob::Creep | Knob::Debris => {
                after.knob_value(knob) / before.knob_value(knob)
            }
        }
    }

    /// Moves everything that has a position in the world, and scales elevations that are not parameters.
    fn turn_places(&self, stage: &mut Stage) {
        if let When::Widths(widths) = &mut stage.when {
            *widths = widths.map(|width| (width * self.size).min(1e8));
        }
        stage.tables.widen(self.size);
        for point in stage.strokes.iter_mut().flat_map(|stroke| &mut stroke.points) {
            *point = Point::new(point.x * self.size, point.y * self.size);
        }
        for source in stage.layers.values_mut() {
            // The limits of a mask by elevation are metres above the datum, like the elevations themselves.
            if source.from == LayerOrigin::Layer(GROUND.name.into()) {
                source.scale = source.scale.map(|ends| ends.map(|end| end * self.relief));
            }
        }
    }
}

/// Returns a parameter's value after knobs have changed it by their factors; `None` if it stays. `get` returns its
/// value and those of other parameters.
fn scale_parameter(param: &Param, get: impl Fn(&str) -> Option<Value>, factor: impl Fn(Knob) -> f64) -> Option<Value> {
    let power = |power: KnobPower| match power {
        KnobPower::Number(power) => Some(power),
        KnobPower::Parameter(name) => match get(name)? {
            Value::Number(power) => Some(power),
            _ => None,
        },
    };
    let factors =
        param.scales.iter().filter_map(|Scaling { knob, power: by }| Some(raise_to_power(factor(*knob), power(*by)?)));
    let factor: f64 = factors.product();
    scale_value(get(param.name).filter(|_| factor != 1.0)?, param, factor)
}

/// Returns `factor` to the power of `power`; exact for common powers, so that a knob at 2 doubles exactly.
fn raise_to_power(factor: f64, power: f64) -> f64 {
    match power {
        1.0 => factor,
        2.0 => factor * factor,
        0.5 => factor.sqrt(),
        -1.0 => 1.0 / factor,
        -2.0 => 1.0 / (factor * factor),
        _ => libm::pow(factor, power),
    }
}

/// Returns a value times a factor, clamped to the parameter's range; `None` if it means "none" and stays.
fn scale_value(value: Value, param: &Param, factor: f64) -> Option<Value> {
    match (value, param.kind) {
        (Value::Number(x), ParamKind::Number { min, max }) => {
            let angle = param.unit == "°";
            // With an angle at its upper end nothing slides.
            let is_none = x == 0.0 || (angle && x == max) || param.none == Some(x);
            // A slope is the tangent of its angle, so the tangent is scaled.
            let turned = if angle { libm::atan(libm::tan(x.to_radians()) * factor).to_degrees() } else { x * factor };
            (!is_none).then(|| Value::Number(turned.clamp(min, max)))
        }
        (Value::Count(n), ParamKind::Count { min, max }) if n > 0 => {
            let turned = (f64::from(n) * factor).round();
            // A count that is not 0 stays at least 1, because 0 means "none".
            Some(Value::Count(turned.clamp(f64::from(min.max(1)), f64::from(max)) as u32))
        }
        _ => None,
    }
}

/// Returns the parameters that the knobs change, as a table of the book in Markdown: one row for each model, one
/// column for each knob.
pub fn format_markdown_table() -> String {
    let rock = [Knob::Erodibility, Knob::Slope, Knob::Repose, Knob::Creep, Knob::Debris];
    let columns: [(&str, &[Knob]); 5] = [
        ("age", &[Knob::Age]),
        ("rain", &[Knob::Rain]),
        ("rock", &rock),
        ("relief", &[Knob::Relief]),
        ("size", &[Knob::Size]),
    ];
    let mut out = format!("| model | {} |\n|---|---|---|---|---|---|\n", columns.map(|(name, _)| name).join(" | "));
    for model in models::all_models() {
        let declared = model.declared();
        let cell = |(_, knobs): (&str, &[Knob])| {
            let turns = declared.iter().flat_map(|param| param.scales.iter().map(|scaling| (param.name, scaling)));
            let turns = turns.filter(|(_, scaling)| knobs.contains(&scaling.knob));
            turns
                .map(|(name, scaling)| format!("`{name}`{}", format_power(scaling.power)))
                .collect::<Vec<_>>()
                .join(" ")
        };
        if declared.iter().any(|param| !param.scales.is_empty()) {
            let _ = writeln!(out, "| {} | {} |", model.about().name, columns.map(cell).join(" | "));
        }
    }
    out
}

/// Returns how a power is written after a parameter's name.
fn format_power(power: KnobPower) -> String {
    match power {
        KnobPower::Number(1.0) => String::new(),
        KnobPower::Number(2.0) => "²".into(),
        KnobPower::Number(0.5) => "^½".into(),
        KnobPower::Number(0.25) => "^¼".into(),
        KnobPower::Number(-1.0) => "⁻¹".into(),
        KnobPower::Number(-2.0) => "⁻²".into(),
        KnobPower::Number(power) => format!("^{power}"),
        KnobPower::Parameter(name) => format!("^`{name}`"),
    }
}

#[cfg(test)]
mod tests;
