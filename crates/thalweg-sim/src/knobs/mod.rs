//! [`Knobs`]: age, rain, rock, relief, size and sea, each of which turns many parameters of a recipe at once.
//!
//! Which parameter goes with which knob is declared on the parameter ([`Scaling`]). It becomes itself times the knob's factor to
//! the declared power, within what it allows; an angle does so by its tangent. Zero stays zero, since it stands for "none" or for
//! "left to the rest". Beside parameters, `size` moves whatever has a place in the world (extent, springs, mouths,
//! passes, strokes), and `relief` what is a height (sea level, strokes, masks of the ground's height).

use std::fmt::Write as _;
use std::ops::RangeInclusive;

use crate::recipe::{From, Recipe, Stage, When};
use thalweg_core::base::range::check_range;
use thalweg_core::declare::params::{Knob, KnobPower, Param, ParamKind, Scaling, Value};
use thalweg_core::terrain::GROUND;
use thalweg_core::{Error, Extent, Height, Point, Result};
use thalweg_models::model::Blend;
use thalweg_models::models;
use thalweg_models::rocks::Rock;

/// What age and rain may be: factors on the recipe's own, without unit.
pub const FACTOR: RangeInclusive<f64> = 0.1..=10.0;

/// What relief and size may be: factors on the recipe's own, without unit.
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
    /// Metres by which the sea rises, or falls below 0; where there is no sea, its level. `None` leaves it.
    pub sea: Option<f64>,
    /// The rock that the land is to be of; `None` leaves it.
    pub rock: Option<&'static Rock>,
}

impl Default for Knobs {
    fn default() -> Self {
        Self { age: 1.0, rain: 1.0, relief: 1.0, size: 1.0, sea: None, rock: None }
    }
}

impl Knobs {
    /// Turns a recipe: its parameters, extent, places and sea. Knobs that stand at 1, and the rock that it is of already, leave it
    /// as it is.
    ///
    /// # Errors
    /// As [`Knobs::check`], a sea level that is not −16 000 to 16 000 m, and an extent that is not 0.01 to 10⁸ m; the recipe is then as
    /// before.
    pub fn turn(&self, recipe: &mut Recipe) -> Result<()> {
        self.check(recipe)?;
        let sea_level = self.sea_level(recipe.sea_level)?;
        let extent = recipe.extent().map(|sides| self.extent(sides)).transpose()?;
        let rocks = [recipe.rock, self.rock.unwrap_or(recipe.rock)];
        for stage in &mut recipe.stages {
            self.turn_parameters(stage, rocks)?;
            self.turn_places(stage);
        }
        (recipe.sea_level, recipe.rock) = (sea_level, rocks[1]);
        extent.map_or(Ok(()), |extent| recipe.set_extent(extent))
    }

    /// Checks where the knobs stand, for this recipe.
    ///
    /// # Errors
    /// A factor outside its range; a size or relief other than 1 where the ground comes from a file; a size other than 1 beside a sketch,
    /// whose lines lie at metres.
    pub fn check(&self, recipe: &Recipe) -> Result<()> {
        check_range("age", self.age, FACTOR)?;
        check_range("rain", self.rain, FACTOR)?;
        check_range("relief", self.relief, STRETCH)?;
        check_range("size", self.size, STRETCH)?;
        for (name, value) in [("relief", self.relief), ("size", self.size)] {
            if recipe.extent().is_none() && value != 1.0 {
                let from = recipe.dem().map_or("a file".into(), |from| from.display().to_string());
                return Err(Error::value(name, value, format!("1, for the ground comes from {from}")));
            }
        }
        if let Some(sketch) = recipe.sketch.as_ref().filter(|_| self.size != 1.0) {
            let lines = sketch.path().map_or("the lines".into(), |path| format!("the lines of {}", path.display()));
            let allowed = format!("1, for {lines} lie at metres");
            return Err(Error::value("size", self.size, allowed));
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

    fn extent(&self, extent: Extent) -> Result<Extent> {
        let sides = <[f64; 2]>::from(extent);
        let wider = sides.map(|side| side * self.size);
        match wider.iter().all(|side| (0.01..=1e8).contains(side)) {
            true => Ok(wider.into()),
            false => {
                Err(Error::value("size", self.size, format!("one that leaves {sides:?} m 0.01 to 100000000 m each")))
            }
        }
    }

    fn turn_parameters(&self, stage: &mut Stage, rocks: [&Rock; 2]) -> Result<()> {
        let model = &mut *stage.model;
        let owner = model.about().name;
        // What a base model lays as a factor is no height.
        let multiplies = model.blend() == Blend::Multiply;
        for param in model.declared() {
            let factor = |knob: Knob| if multiplies && knob == Knob::Relief { 1.0 } else { self.factor(knob, rocks) };
            if let Some(after) = turned(&param, |name| model.get(name), factor) {
                model.set(owner, param.name, &after.into())?;
            }
        }
        for stroke in &mut stage.strokes {
            for param in stroke.tool.settings() {
                if let Some(after) = turned(param, |name| stroke.get(name), |knob| self.factor(knob, rocks)) {
                    stroke.set(stroke.tool.name(), param.name, &after.into())?;
                }
            }
        }
        Ok(())
    }

    /// What a parameter is multiplied by that goes with a knob, where the rock changes from one to the other.
    fn factor(&self, knob: Knob, [before, after]: [&Rock; 2]) -> f64 {
        match knob {
            Knob::Age => self.age,
            Knob::Rain => self.rain,
            Knob::Relief => self.relief,
            Knob::Size => self.size,
            Knob::Erodibility | Knob::Slope | Knob::Repose | Knob::Creep | Knob::Debris => {
                after.figure(knob) / before.figure(knob)
            }
        }
    }

    /// Moves what has a place in the world, and scales what is a height beside the parameters.
    fn turn_places(&self, stage: &mut Stage) {
        if let When::Widths(widths) = &mut stage.when {
            *widths = widths.map(|width| (width * self.size).min(1e8));
        }
        stage.tables.widen(self.size);
        for point in stage.strokes.iter_mut().flat_map(|stroke| &mut stroke.points) {
            *point = Point::new(point.x * self.size, point.y * self.size);
        }
        for source in stage.layers.values_mut() {
            if source.from == From::Layer(GROUND.name.into()) {
                source.scale = source.scale.map(|ends| ends.map(|end| end * self.relief));
            }
        }
    }
}

/// A parameter's value when knobs have turned it by their factors; `None` where it stays. `get` has it, and others beside it.
fn turned(param: &Param, get: impl Fn(&str) -> Option<Value>, factor: impl Fn(Knob) -> f64) -> Option<Value> {
    let power = |power: KnobPower| match power {
        KnobPower::Number(power) => Some(power),
        KnobPower::Parameter(name) => match get(name)? {
            Value::Number(power) => Some(power),
            _ => None,
        },
    };
    let factors =
        param.scales.iter().filter_map(|Scaling { knob, power: by }| Some(raised(factor(*knob), power(*by)?)));
    let factor: f64 = factors.product();
    times(get(param.name).filter(|_| factor != 1.0)?, param, factor)
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
        (Value::Number(x), ParamKind::Number { min, max }) => {
            let angle = param.unit == "°";
            // An angle at its upper end lets nothing slide.
            let is_none = x == 0.0 || (angle && x == max) || param.none == Some(x);
            let turned = if angle { libm::atan(libm::tan(x.to_radians()) * factor).to_degrees() } else { x * factor };
            (!is_none).then(|| Value::Number(turned.clamp(min, max)))
        }
        (Value::Count(n), ParamKind::Count { min, max }) if n > 0 => {
            let turned = (f64::from(n) * factor).round();
            Some(Value::Count(turned.clamp(f64::from(min.max(1)), f64::from(max)) as u32))
        }
        _ => None,
    }
}

/// What the knobs turn, as a table of the book in Markdown: a row a model, a column a knob.
pub fn table() -> String {
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
            turns.map(|(name, scaling)| format!("`{name}`{}", suffix(scaling.power))).collect::<Vec<_>>().join(" ")
        };
        if declared.iter().any(|param| !param.scales.is_empty()) {
            let _ = writeln!(out, "| {} | {} |", model.about().name, columns.map(cell).join(" | "));
        }
    }
    out
}

/// How a power is written behind a parameter's name.
fn suffix(power: KnobPower) -> String {
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
