//! [`Stroke`]: one act of the hand on a terrain, kept in the recipe with the step at which it was made, so that a build
//! repeats it to the bit.
//!
//! A stroke has a [`Tool`] and places in metres of the world: a click has one, a drag a list of them, which are dabbed one
//! after another. Round a place its effect falls off as (1 − (d/radius)²)², which meets what lies round it without a crease.
//! A cell takes the mean of that over its area, so a hill is of one volume, π·radius²·strength/3, at any resolution.
//!
//! What rises is bedrock, below the loose ground that lies there; what sinks takes loose ground first. Neither hardness
//! nor protection holds a hand back, cells without data do, and so do the accepted elevations.

mod dab;
mod smooth;

use serde_json::{Map, json};

use crate::choice;
use crate::error::{Error, Result};
use crate::grid::Grid;
use crate::model::Budget;
use crate::models::droplets::{Circle, Droplets, pour};
use crate::params::{Kind, Knob, Param, ParamType, Scaling, Value, Written};
use crate::rng::Key;
use crate::springs::{self, MAX_RATE, Spring};
use crate::terrain::{HARDNESS, PROTECT, RAIN, Terrain};

/// The largest number of strokes in a stage.
pub const MAX_STROKES: usize = 100_000;

/// The largest number of points of a stroke.
pub const MAX_POINTS: usize = 100_000;

/// Farthest place from the world's north-western corner, in metres; a stroke may begin beyond the world.
const FARTHEST: f64 = 1e9;

/// How a stroke is written in a recipe.
const WRITTEN: &str =
    "{ step = number, tool = \"word\", x = metres, y = metres, … }, or points = [[x, y], …] for x and y";

choice! {
    /// What a stroke is made with.
    pub enum Tool {
        /// Heaps up a hill of bedrock, below the loose ground that lies there.
        Raise = "raise",
        /// Presses a hollow, loose ground first.
        Lower = "lower",
        /// Draws the ground towards the mean of what lies round it; even slopes, and the world's edges, stay.
        Smooth = "smooth",
        /// Draws the ground towards the elevation at the stroke's first point.
        Flatten = "flatten",
        /// Paints the layer `hardness`: 1 withstands all digging.
        Hardness = "hardness",
        /// Paints the layer `rain`: 0 stays dry.
        Rain = "rain",
        /// Paints the layer `protect`: 1 keeps the ground.
        Protect = "protect",
        /// Lets droplets run, at once and to their end: round a place, or as rain does anywhere.
        Droplets = "droplets",
        /// Lets a spring rise until the stage ends.
        Spring = "spring",
    }
}

/// A setting that is a number of 0 to `max`.
const fn number(name: &'static str, unit: &'static str, max: f64, default: f64, meaning: &'static str) -> Param {
    let (kind, default) = (Kind::Number { min: 0.0, max }, Value::Number(default));
    Param { name, meaning, unit, kind, default, none: None, scales: &[], source: "ours" }
}

const WIDTH: &[Scaling] = &[Scaling::with(Knob::Size)];
const HEIGHT: &[Scaling] = &[Scaling::with(Knob::Relief)];

const RADIUS: Param =
    Param { scales: WIDTH, ..number("radius", "m", 1e8, 100.0, "From the stroke's middle to where its effect ends.") };
const METRES: Param =
    Param { scales: HEIGHT, ..number("strength", "m", 16_000.0, 5.0, "Change at the stroke's middle.") };
const SHARE: Param = number("strength", "1", 1.0, 0.5, "Share of the way that the stroke's middle goes.");
const PAINT: Param = number("value", "1", 1.0, 1.0, "What is painted, 0 to 1.");
const DRY: Param = number("value", "1", 1.0, 0.0, "What is painted, 0 to 1.");
const SPREAD: Param =
    Param { scales: WIDTH, ..number("radius", "m", 1e8, 0.0, "How far from the place droplets start.") };
const RATE: Param = number("rate", "m³/s", MAX_RATE, 1.0, "Water of the spring.");
const COUNT: Param = Param {
    kind: Kind::Count { min: 1, max: 10_000_000 },
    default: Value::Count(1),
    ..number("count", "1", 0.0, 0.0, "Droplets at each place.")
};

impl Tool {
    /// Every tool, in the order of the palette.
    pub fn all() -> impl Iterator<Item = Self> {
        words().iter().filter_map(|(word, _)| Self::named(word))
    }

    /// The tool of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::parse(&name.into(), &Self::kind(..))
    }

    /// Its name in recipes.
    pub fn name(self) -> &'static str {
        self.word().0
    }

    /// What it does, in a line.
    pub fn meaning(self) -> &'static str {
        self.word().1
    }

    fn word(self) -> (&'static str, &'static str) {
        let Value::Choice(name) = self.value() else { return ("", "") };
        words().iter().find(|(word, _)| *word == name).copied().unwrap_or((name, ""))
    }

    /// What it is set by, beside its places.
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

    /// Whether it acts at a place only.
    pub fn needs_place(self) -> bool {
        self != Self::Droplets
    }
}

/// The tools' names and meanings.
fn words() -> &'static [(&'static str, &'static str)] {
    match Tool::kind(..) {
        Kind::Choice(words) => words,
        _ => &[],
    }
}

/// One act of the hand. Settings that its tool does not have are not read.
#[derive(Debug, Clone, PartialEq)]
pub struct Stroke {
    /// Steps that its stage has taken before.
    pub step: u32,
    /// On how many coarser levels its stage has run before.
    pub pass: u32,
    /// What it is made with.
    pub tool: Tool,
    /// Where: metres eastward and southward from the world's north-western corner, one after another.
    pub points: Vec<[f64; 2]>,
    /// From the middle to the end of the effect, in metres.
    pub radius: f64,
    /// Metres, or a share, at the middle.
    pub strength: f64,
    /// What is painted.
    pub value: f64,
    /// Droplets at each place.
    pub count: u32,
    /// Water of a spring, in m³/s.
    pub rate: f64,
}

/// What a stroke needs to know of the run that it is made in.
pub struct Hand<'a> {
    /// Settings of the droplets.
    pub droplets: &'a Droplets,
    /// Keys its random numbers: another for every stroke.
    pub key: Key,
}

impl Stroke {
    /// A stroke before the first step with the tool's defaults.
    pub fn new(tool: Tool, points: Vec<[f64; 2]>) -> Self {
        let mut stroke =
            Self { step: 0, pass: 0, tool, points, radius: 0.0, strength: 0.0, value: 0.0, count: 0, rate: 0.0 };
        tool.settings().iter().for_each(|setting| stroke.put(setting.name, setting.default));
        stroke
    }

    /// The value of one of its tool's settings.
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

    fn put(&mut self, name: &str, value: Value) {
        match (name, value) {
            ("radius", Value::Number(x)) => self.radius = x,
            ("strength", Value::Number(x)) => self.strength = x,
            ("value", Value::Number(x)) => self.value = x,
            ("rate", Value::Number(x)) => self.rate = x,
            (_, Value::Count(n)) => self.count = n,
            _ => {}
        }
    }

    /// Sets one of its tool's settings; `owner` is said in messages.
    ///
    /// # Errors
    /// A setting that the tool does not have, a value that is not allowed.
    pub fn set(&mut self, owner: &str, name: &str, value: &Written) -> Result<()> {
        let settings = self.tool.settings();
        let setting = settings.iter().find(|setting| setting.name == name);
        let setting = setting.ok_or_else(|| Error::unknown("setting", name, settings.iter().map(|s| s.name)))?;
        let read = match setting.kind {
            Kind::Count { .. } => u32::parse(value, &setting.kind).map(Value::Count),
            _ => f64::parse(value, &setting.kind).map(Value::Number),
        };
        let read = read.ok_or_else(|| Error::value(format!("{owner}.{name}"), value, setting.kind.to_string()))?;
        self.put(name, read);
        Ok(())
    }

    /// Checks all but its step; `name` is said in messages, `springs` is whether its stage keeps springs.
    ///
    /// # Errors
    /// Settings that are not allowed, places that are missing, too many or no numbers, a spring outside the world or in a
    /// stage that keeps none.
    pub fn check(&self, name: &str, grid: &Grid, springs: bool) -> Result<()> {
        for setting in self.tool.settings() {
            if let Some(value) = self.get(setting.name) {
                self.clone().set(name, setting.name, &value.into())?;
            }
        }
        self.check_points(name)?;
        if self.tool != Tool::Spring {
            return Ok(());
        }
        if !springs {
            let allowed = format!("in stages whose model keeps a table of {}", springs::SPRINGS);
            return Err(Error::value(format!("{name}.tool"), self.tool.name(), allowed));
        }
        self.springs().try_for_each(|spring| spring.cell(name, grid).map(|_| ()))
    }

    fn check_points(&self, name: &str) -> Result<()> {
        let least = usize::from(self.tool.needs_place());
        if !(least..=MAX_POINTS).contains(&self.points.len()) {
            let allowed = format!("{least} to {MAX_POINTS} for `{}`", self.tool.name());
            return Err(Error::value(format!("{name}.points"), format!("{} points", self.points.len()), allowed));
        }
        let far = self.points.iter().flatten().find(|metres| !(-FARTHEST..=FARTHEST).contains(*metres));
        far.map_or(Ok(()), |far| {
            Err(Error::value(format!("{name}: place"), format!("{far} m"), format!("-{FARTHEST} to {FARTHEST} m")))
        })
    }

    /// The springs of a stroke of that tool.
    fn springs(&self) -> impl Iterator<Item = Spring> {
        self.points.iter().map(|[x, y]| Spring { x: *x, y: *y, rate: self.rate })
    }

    /// As it stands in a recipe.
    pub fn to_toml(&self) -> String {
        let mut text = format!("{{ step = {}, tool = \"{}\"", self.step, self.tool.name());
        if self.pass > 0 {
            text += &format!(", pass = {}", self.pass);
        }
        match self.points.as_slice() {
            [] => {}
            [[x, y]] => text += &format!(", x = {x:?}, y = {y:?}"),
            points => {
                let points: Vec<_> = points.iter().map(|[x, y]| format!("[{x:?}, {y:?}]")).collect();
                text += &format!(", points = [{}]", points.join(", "));
            }
        }
        for setting in self.tool.settings() {
            // Anywhere is no circle.
            let is_idle = self.points.is_empty() && setting.name == "radius";
            if let Some(value) = self.get(setting.name).filter(|_| !is_idle) {
                text += &format!(", {} = {}", setting.name, Written::from(value));
            }
        }
        text + " }"
    }

    /// Does it to a terrain; what it did is returned. The same bits for any number of threads.
    ///
    /// # Errors
    /// When a layer that it paints is none of real numbers, and as the model's of droplets or the springs' check. Nothing is
    /// changed then.
    pub fn act(&self, terrain: &mut Terrain, hand: &Hand<'_>) -> Result<Budget> {
        match self.tool {
            Tool::Raise | Tool::Lower | Tool::Smooth | Tool::Flatten => Ok(dab::shape(self, terrain)),
            Tool::Hardness => dab::paint(self, terrain, &HARDNESS, 0.0),
            Tool::Rain => dab::paint(self, terrain, &RAIN, 1.0),
            Tool::Protect => dab::paint(self, terrain, &PROTECT, 0.0),
            Tool::Spring => {
                let springs: Vec<Spring> = self.springs().collect();
                springs::add(terrain, &springs).map(|()| Budget::default())
            }
            Tool::Droplets => {
                let model = Droplets { count: self.count, ..hand.droplets.clone() };
                if self.points.is_empty() {
                    return pour(&model, terrain, hand.key, None);
                }
                let mut budget = Budget::default();
                for ([x, y], number) in self.points.iter().zip(0..) {
                    let circle = Circle { middle: [*y, *x], radius: self.radius };
                    budget += pour(&model, terrain, hand.key.and(number), Some(circle))?;
                }
                Ok(budget)
            }
        }
    }
}

/// How messages call the stroke of that number, counted from 1.
pub fn name(number: usize) -> String {
    format!("strokes[{}]", number + 1)
}

/// The strokes of a recipe's list; what a grid decides is checked later.
///
/// # Errors
/// When it is no list of strokes; unknown tools, keys and settings; values and places that are not allowed.
pub(crate) fn parse(value: &toml::Value) -> Result<Vec<Stroke>> {
    let rows = value.as_array().filter(|rows| rows.len() <= MAX_STROKES);
    let allowed = || format!("a list of up to {MAX_STROKES} of {WRITTEN}");
    let rows = rows.ok_or_else(|| Error::value("strokes", value.type_str(), allowed()))?;
    rows.iter().enumerate().map(|(number, row)| stroke(&name(number), row)).collect()
}

fn stroke(name: &str, row: &toml::Value) -> Result<Stroke> {
    let table = row.as_table().ok_or_else(|| Error::value(name, row, WRITTEN))?;
    let word = table.get("tool").and_then(toml::Value::as_str).ok_or_else(|| Error::value(name, row, WRITTEN))?;
    let tool = Tool::named(word).ok_or_else(|| Error::unknown("tool", word, words().iter().map(|(word, _)| *word)))?;
    let mut stroke = Stroke { points: points(name, table)?, ..Stroke::new(tool, Vec::new()) };
    for (key, value) in table {
        match key.as_str() {
            "tool" | "x" | "y" | "points" => {}
            "step" | "pass" => {
                let count = value.as_integer().and_then(|n| u32::try_from(n).ok());
                let count = count.ok_or_else(|| Error::value(format!("{name}.{key}"), value, "0 and more, whole"))?;
                *(if key == "step" { &mut stroke.step } else { &mut stroke.pass }) = count;
            }
            "radius" if stroke.points.is_empty() => {
                return Err(Error::value(format!("{name}.radius"), value, "nothing where no place is given"));
            }
            _ => stroke.set(name, key, &Written::of(value))?,
        }
    }
    stroke.check_points(name).map(|()| stroke)
}

/// The places of a stroke: `x` and `y`, or `points`, or none.
fn points(name: &str, table: &toml::Table) -> Result<Vec<[f64; 2]>> {
    let number = |value: &toml::Value| value.as_float().or_else(|| value.as_integer().map(|n| n as f64));
    let point = |value: &toml::Value| match value.as_array()?.as_slice() {
        [x, y] => Some([number(x)?, number(y)?]),
        _ => None,
    };
    let wrong = |key: &str, value: &toml::Value| Error::value(format!("{name}.{key}"), value, WRITTEN);
    match (table.get("x"), table.get("y"), table.get("points")) {
        (None, None, None) => Ok(Vec::new()),
        (Some(x), Some(y), None) => {
            let read = |key: &str, value| number(value).ok_or_else(|| wrong(key, value));
            Ok(vec![[read("x", x)?, read("y", y)?]])
        }
        (None, None, Some(points)) => {
            let rows = points.as_array().ok_or_else(|| wrong("points", points))?;
            rows.iter().map(|row| point(row).ok_or_else(|| wrong("points", row))).collect()
        }
        _ => Err(Error::value(name, toml::Value::Table(table.clone()), WRITTEN)),
    }
}

/// The JSON Schema of a stage's list of strokes.
pub fn schema() -> serde_json::Value {
    let metres =
        |about: &str| json!({"type": "number", "minimum": -FARTHEST, "maximum": FARTHEST, "description": about});
    let point = json!({"type": "array", "items": metres("Metres."), "minItems": 2, "maxItems": 2});
    let strokes: Vec<_> = Tool::all()
        .map(|tool| {
            let mut properties = Map::new();
            properties.insert("tool".into(), json!({"const": tool.name(), "description": tool.meaning()}));
            let step = "Steps that the stage has taken before; before the first if left out.";
            properties.insert("step".into(), json!({"type": "integer", "minimum": 0, "description": step}));
            let pass = "On how many coarser levels the stage has run before.";
            properties.insert("pass".into(), json!({"type": "integer", "minimum": 0, "description": pass}));
            properties.insert("x".into(), metres("Metres eastward from the world's north-western corner."));
            properties.insert("y".into(), metres("Metres southward from there."));
            let about = "Places [x, y], one after another, in place of x and y.";
            let least = usize::from(tool.needs_place());
            let points = json!({"type": "array", "items": point, "minItems": least, "maxItems": MAX_POINTS,
                                "description": about});
            properties.insert("points".into(), points);
            for setting in tool.settings() {
                properties.insert(setting.name.into(), setting.schema());
            }
            let mut places = vec![json!({"required": ["x", "y"]}), json!({"required": ["points"]})];
            if !tool.needs_place() {
                let none = ["x", "y", "points"].map(|key| json!({"required": [key]}));
                places.push(json!({"not": {"anyOf": none}}));
            }
            json!({"type": "object", "title": tool.name(), "properties": properties, "required": ["tool"],
                   "additionalProperties": false, "oneOf": places})
        })
        .collect();
    json!({"type": "array", "maxItems": MAX_STROKES, "items": {"oneOf": strokes},
           "description": "Acts of the hand, in their order."})
}
