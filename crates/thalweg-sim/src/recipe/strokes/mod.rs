//! [`Stroke`]: one user edit of a terrain, stored in the recipe with the step at which it was made, so that a build
//! repeats it to the bit.
//!
//! A stroke has a [`Tool`] and places in metres of the world: a click has one, a drag a list of them, which are
//! applied one after another. Around a place its effect falls off as (1 − (d/radius)²)², which is smooth at its rim.
//! A cell receives the mean of that over its area, so a hill has the same volume, π·radius²·strength/3, at any
//! resolution. For example, raising by 30 m with a radius of 200 m adds 1.26 million m³.
//!
//! Raising adds bedrock, below the sediment; lowering removes sediment first. Hardness and protection do not restrict
//! strokes; cells without data are not changed, and elevations stay in the accepted range.

mod dab;
mod smooth;
mod text;

use thalweg_core::base::rng::RandomKey;
use thalweg_core::declare::params::{Knob, Param, ParamKind, ParamType, Scaling, Value, Written};
use thalweg_core::terrain::{HARDNESS, PROTECT, RAIN};
use thalweg_core::{Error, Grid, Point, Result, Terrain, choice};
use thalweg_models::model::MassBalance;
use thalweg_models::models::droplets::{Circle, Droplets, pour_droplets};
use thalweg_noise::input_tables::springs::{self, MAX_RATE, Spring};

pub(crate) use text::{build_strokes_schema, parse_strokes, to_toml};

/// The largest number of strokes in a stage.
pub const MAX_STROKES: usize = 100_000;

/// The largest number of points of a stroke.
pub const MAX_POINTS: usize = 100_000;

/// The greatest distance of a place from the world's north-western corner, in metres; a stroke may begin outside the
/// world.
const MAX_DISTANCE_M: f64 = 1e9;

choice! {
    /// The tool with which a stroke is made.
    pub enum Tool {
        /// Raises a hill of bedrock, below the sediment that is there.
        Raise = "raise",
        /// Lowers the ground to a hollow; sediment is removed first.
        Lower = "lower",
        /// Moves the ground towards the mean of its surroundings; even slopes and the world's edges do not change.
        Smooth = "smooth",
        /// Moves the ground towards the elevation at the stroke's first point.
        Flatten = "flatten",
        /// Paints the layer `hardness`: 1 withstands all erosion.
        Hardness = "hardness",
        /// Paints the layer `rain`: 0 stays dry.
        Rain = "rain",
        /// Paints the layer `protect`: 1 protects the ground from change.
        Protect = "protect",
        /// Runs droplets, at once and until they end: around a place, or anywhere, as rain falls.
        Droplets = "droplets",
        /// Adds a spring, which flows until the stage ends.
        Spring = "spring",
    }
}

/// Declares a setting that is a number from 0 to `max`.
const fn declare_number(
    name: &'static str,
    unit: &'static str,
    max: f64,
    default: f64,
    meaning: &'static str,
) -> Param {
    let (kind, default) = (ParamKind::Number { min: 0.0, max }, Value::Number(default));
    Param { name, meaning, unit, kind, default, none: None, scales: &[], source: "ours" }
}

const WIDTH: &[Scaling] = &[Scaling::proportional_to(Knob::Size)];
const HEIGHT: &[Scaling] = &[Scaling::proportional_to(Knob::Relief)];

const RADIUS: Param = Param {
    scales: WIDTH,
    ..declare_number("radius", "m", 1e8, 100.0, "The distance from the stroke's centre at which its effect ends.")
};
const METRES: Param =
    Param { scales: HEIGHT, ..declare_number("strength", "m", 16_000.0, 5.0, "The change at the stroke's centre.") };
const SHARE: Param = declare_number("strength", "1", 1.0, 0.5, "The share of the full change at the stroke's centre.");
const PAINT: Param = declare_number("value", "1", 1.0, 1.0, "The painted value, 0 to 1.");
const DRY: Param = declare_number("value", "1", 1.0, 0.0, "The painted value, 0 to 1.");
const SPREAD: Param = Param {
    scales: WIDTH,
    ..declare_number("radius", "m", 1e8, 0.0, "The greatest distance from the place at which droplets start.")
};
const RATE: Param = declare_number("rate", "m³/s", MAX_RATE, 1.0, "The discharge of the spring.");
const COUNT: Param = Param {
    kind: ParamKind::Count { min: 1, max: 10_000_000 },
    default: Value::Count(1),
    ..declare_number("count", "1", 0.0, 0.0, "The number of droplets at each place.")
};

impl Tool {
    /// Returns every tool, in the order of the palette.
    pub fn all() -> impl Iterator<Item = Self> {
        list_names_and_meanings().iter().filter_map(|(word, _)| Self::from_name(word))
    }

    /// Returns the tool with that name; `None` if there is none.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::parse(&name.into(), &Self::kind(..))
    }

    /// Returns its name in recipes.
    pub fn name(self) -> &'static str {
        self.name_and_meaning().0
    }

    /// Returns its effect, in a line.
    pub fn meaning(self) -> &'static str {
        self.name_and_meaning().1
    }

    fn name_and_meaning(self) -> (&'static str, &'static str) {
        let Value::Choice(name) = self.value() else { return ("", "") };
        list_names_and_meanings().iter().find(|(word, _)| *word == name).copied().unwrap_or((name, ""))
    }

    /// Returns its settings, in addition to its places.
    ///
    /// # Examples
    /// ```
    /// use thalweg_sim::recipe::strokes::Tool;
    ///
    /// let tool = Tool::from_name("raise").unwrap();
    /// assert_eq!(tool, Tool::Raise);
    /// let settings: Vec<&str> = tool.settings().iter().map(|setting| setting.name).collect();
    /// assert_eq!(settings, ["radius", "strength"]);
    /// ```
    pub fn settings(self) -> &'static [Param] {
        match self {
            Self::Raise | Self::Lower => &[RADIUS, METRES],
            Self::Smooth | Self::Flatten => &[RADIUS, SHARE],
            Self::Hardness | Self::Protect => &[RADIUS, SHARE, PAINT],
            Self::Rain => &[RADIUS, SHARE, DRY],
            Self::Droplets => &[COUNT, SPREAD],
            Self::Spring => &[RATE],
        }
    }

    /// Returns true if it needs a place.
    pub fn needs_place(self) -> bool {
        self != Self::Droplets
    }
}

/// Returns the tools' names and meanings.
fn list_names_and_meanings() -> &'static [(&'static str, &'static str)] {
    match Tool::kind(..) {
        ParamKind::Choice(words) => words,
        _ => &[],
    }
}

/// One user edit. Settings that its tool does not have are ignored.
///
/// # Examples
/// ```
/// use thalweg_core::terrain::height::UNITS;
/// use thalweg_sim::recipe::Recipe;
/// use thalweg_sim::recipe::strokes::{Stroke, Tool};
/// use thalweg_sim::run::Run;
///
/// let mut run = Run::new(Recipe::parse("extent = [640.0, 640.0]\ncells = 64\n")?)?;
/// let hill = Stroke { radius: 200.0, strength: 30.0, ..Stroke::new(Tool::Raise, vec![[320.0, 320.0].into()]) };
/// run.add_stroke(hill)?;
/// // The volume of the hill is π · 200² · 30 / 3 m³, to a third of a percent.
/// let volume = run.terrain().sum_solid() as f64 / UNITS * run.terrain().grid.cell_area();
/// assert!((volume / (std::f64::consts::PI * 4e5) - 1.0).abs() < 0.004);
/// // The recipe contains the stroke.
/// assert_eq!(run.recipe().stages[0].strokes.len(), 1);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Stroke {
    /// Number of steps that its stage has taken before. For example, 12 means after the twelfth step.
    pub step: u32,
    /// Number of coarser levels on which its stage has run before. For example, it is 2 on the third level on which the
    /// stage runs.
    pub pass: u32,
    /// Its tool.
    pub tool: Tool,
    /// The places in world metres, one after another.
    pub points: Vec<Point>,
    /// Radius of the effect, 0 to 1e8 m; for droplets, how far from the place they start.
    pub radius: f64,
    /// Effect at the centre: for raise and lower in metres, 0 to 16 000; for other tools a share, 0 to 1. For example,
    /// `raise` with 5 raises the centre by 5 m.
    pub strength: f64,
    /// The painted value, 0 to 1.
    pub value: f64,
    /// Number of droplets at each place, or in total without a place, 1 to 10 000 000.
    pub count: u32,
    /// Discharge of a spring at each place, 0 to [`MAX_RATE`] m³/s.
    pub rate: f64,
}

/// The context of a stroke in its run.
pub struct StrokeContext<'a> {
    /// Settings of the droplets.
    pub droplets: &'a Droplets,
    /// The key of its random numbers: different for every stroke.
    pub key: RandomKey,
}

impl Stroke {
    /// Returns a stroke before the first step, with the tool's defaults.
    pub fn new(tool: Tool, points: Vec<Point>) -> Self {
        let mut stroke =
            Self { step: 0, pass: 0, tool, points, radius: 0.0, strength: 0.0, value: 0.0, count: 0, rate: 0.0 };
        tool.settings().iter().for_each(|setting| stroke.assign_setting(setting.name, setting.default));
        stroke
    }

    /// Returns one droplet at a place in world metres.
    pub fn droplet(place: impl Into<Point>) -> Self {
        Self { radius: 0.0, count: 1, ..Self::new(Tool::Droplets, vec![place.into()]) }
    }

    /// Returns a shower: `count` droplets that fall anywhere.
    pub fn shower(count: u32) -> Self {
        Self { count, ..Self::new(Tool::Droplets, Vec::new()) }
    }

    /// Returns the value of one of its tool's settings; `None` if the tool has no such setting.
    pub fn get(&self, name: &str) -> Option<Value> {
        self.tool.settings().iter().find(|setting| setting.name == name)?;
        Some(match name {
            "radius" => Value::Number(self.radius),
            "strength" => Value::Number(self.strength),
            "value" => Value::Number(self.value),
            "rate" => Value::Number(self.rate),
            _ => Value::Count(self.count),
        })
    }

    fn assign_setting(&mut self, name: &str, value: Value) {
        match (name, value) {
            ("radius", Value::Number(x)) => self.radius = x,
            ("strength", Value::Number(x)) => self.strength = x,
            ("value", Value::Number(x)) => self.value = x,
            ("rate", Value::Number(x)) => self.rate = x,
            (_, Value::Count(n)) => self.count = n,
            _ => {}
        }
    }

    /// Sets one of its tool's settings; `owner` is used in messages.
    ///
    /// # Errors
    /// Returns an error if the tool does not have the setting, or the value is not allowed.
    pub fn set_parameter(&mut self, owner: &str, name: &str, value: &Written) -> Result<()> {
        let settings = self.tool.settings();
        let setting = settings.iter().find(|setting| setting.name == name);
        let setting = setting.ok_or_else(|| Error::unknown_name("setting", name, settings.iter().map(|s| s.name)))?;
        let read = match setting.kind {
            ParamKind::Count { .. } => u32::parse(value, &setting.kind).map(Value::Count),
            _ => f64::parse(value, &setting.kind).map(Value::Number),
        };
        let read =
            read.ok_or_else(|| Error::invalid_value(format!("{owner}.{name}"), value, setting.kind.to_string()))?;
        self.assign_setting(name, read);
        Ok(())
    }

    /// Checks everything except its step; `name` is used in messages, `springs` tells whether its stage keeps
    /// springs.
    ///
    /// # Errors
    /// Returns an error if settings are not allowed; if places are missing, too many or not finite; or if a spring is
    /// outside the world or in a stage that keeps none.
    pub fn check(&self, name: &str, grid: &Grid, springs: bool) -> Result<()> {
        for setting in self.tool.settings() {
            if let Some(value) = self.get(setting.name) {
                // Setting a value to itself in a copy applies the check of the declaration.
                self.clone().set_parameter(name, setting.name, &value.into())?;
            }
        }
        self.check_points(name)?;
        if self.tool != Tool::Spring {
            return Ok(());
        }
        if !springs {
            let problem = format!("only applies to a stage whose model has a table of {}", springs::SPRINGS);
            return Err(Error::conflict(format!("{name}.tool = {}", self.tool.name()), problem));
        }
        self.springs().try_for_each(|spring| spring.cell(name, grid).map(|_| ()))
    }

    fn check_points(&self, name: &str) -> Result<()> {
        let least = usize::from(self.tool.needs_place());
        if !(least..=MAX_POINTS).contains(&self.points.len()) {
            let allowed = format!("{least} to {MAX_POINTS} for `{}`", self.tool.name());
            return Err(Error::invalid_value(
                format!("{name}.points"),
                format!("{} points", self.points.len()),
                allowed,
            ));
        }
        let mut metres = self.points.iter().flat_map(|point| [point.x, point.y]);
        let far = metres.find(|metres| !(-MAX_DISTANCE_M..=MAX_DISTANCE_M).contains(metres));
        far.map_or(Ok(()), |far| {
            Err(Error::invalid_value(
                format!("{name}: place"),
                format!("{far} m"),
                format!("-{MAX_DISTANCE_M} to {MAX_DISTANCE_M} m"),
            ))
        })
    }

    /// Returns the springs of a stroke with that tool.
    fn springs(&self) -> impl Iterator<Item = Spring> {
        self.points.iter().map(|point| Spring { x: point.x, y: point.y, rate: self.rate })
    }

    /// Applies it to a terrain, with the same bits for any number of threads; returns its mass balance.
    ///
    /// # Errors
    /// Returns an error, and changes nothing, if a layer that it paints does not consist of real numbers; also returns
    /// the errors of the droplet model and of the check of springs.
    pub fn apply_to(&self, terrain: &mut Terrain, context: &StrokeContext<'_>) -> Result<MassBalance> {
        match self.tool {
            Tool::Raise | Tool::Lower | Tool::Smooth | Tool::Flatten => Ok(dab::reshape_terrain(self, terrain)),
            Tool::Hardness => dab::paint_layer(self, terrain, &HARDNESS, 0.0),
            Tool::Rain => dab::paint_layer(self, terrain, &RAIN, 1.0),
            Tool::Protect => dab::paint_layer(self, terrain, &PROTECT, 0.0),
            Tool::Spring => {
                let springs: Vec<Spring> = self.springs().collect();
                springs::add_springs(terrain, &springs).map(|()| MassBalance::default())
            }
            Tool::Droplets => {
                let model = Droplets { count: self.count, ..context.droplets.clone() };
                if self.points.is_empty() {
                    return pour_droplets(&model, terrain, context.key, None);
                }
                let mut budget = MassBalance::default();
                for (point, number) in self.points.iter().zip(0..) {
                    let circle = Circle { middle: *point, radius: self.radius };
                    // Each place has a key of its own, so that places do not repeat the same droplets.
                    budget += pour_droplets(&model, terrain, context.key.derive_key(number), Some(circle))?;
                }
                Ok(budget)
            }
        }
    }
}

/// Returns the name of a stroke in messages. Indices are from 0, and messages count from 1.
pub fn stroke_name(number: usize) -> String {
    format!("strokes[{}]", number + 1)
}
