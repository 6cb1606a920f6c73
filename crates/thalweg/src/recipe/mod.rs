//! [`Recipe`]: the text from which a world is made.
//!
//! ```toml
//! name = "demo"
//! extent = [15000.0, 15000.0]   # width and height in metres; more cells make the same world finer
//! cells = 512                   # on the long side; with `from` instead of an extent those of the elevation model, or so many
//! coarsest = "auto"             # optional: built from fewer cells upwards, see [`crate::plan`]
//! seed = 1
//! edges = "open"                # or "closed", or { north = "open", east = "closed", … }
//! sea_level = 0.0               # optional
//! rock = "granite"              # of which rock the parameters speak; granite when left out
//! ramp = "sand"                 # optional: the colours of its heights in pictures, see [`crate::pictures::ramps`]
//!
//! [[stage]]
//! model = "gradient_noise"
//! amplitude = 800.0
//!
//! [[stage]]
//! model = "droplets"
//! label = "rain"                # keys the stage's random numbers; the model's name when left out
//! layers = { hardness = "rock.tif" }
//! levels = "last"               # optional: on which levels it runs
//! finer = { density = 0.5 }     # optional: factors on parameters with each finer level
//!
//! [[stage]]
//! model = "fluvial"
//! tables = { springs = [{ x = 3000.0, y = 2500.0, rate = 2.0 }] }   # metres from the north-western corner, m³/s
//! strokes = [{ step = 12, tool = "raise", x = 3000.0, y = 2500.0, radius = 200.0, strength = 5.0 }]
//! muted = true                  # kept here, and not run
//! ```

mod levels;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::error::{Error, Result};
use crate::grid::{Edge, Edges, Grid};
use crate::height::Height;
use crate::io::{Sidecar, plain};
use crate::memory;
use crate::model::{Model, give};
use crate::models::Models;
use crate::names;
use crate::params::{Kind, Param, Value, Written};
use crate::pictures::ramps::{RAMPS, Ramp};
use crate::rocks::{self, Rock};
use crate::springs::SPRINGS;
use crate::strokes::{self, Stroke};
use crate::tables::{self, Tables};

pub use levels::{Coarsest, When};

/// The longest recipe that is read: room for as many strokes as a stage may have.
const MAX_BYTES: u64 = 16 << 20;

/// Bytes that a byte of a recipe may take while it is read. Measured: 71, of a list of digits.
const TEXT: u64 = 76;

/// Characters that are said of a broken recipe, which may hold names of any length.
const MESSAGE: usize = 1200;

/// The largest number of stages accepted.
pub(crate) const MAX_STAGES: usize = 1000;

/// Where a stage's input layer comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// A file (relative to the recipe), or a layer that an earlier stage left.
    pub from: From,
    /// Values that become 0 and 1; what lies beyond is clamped. `None`: values as they are.
    pub scale: Option<[f64; 2]>,
}

/// A file or a layer.
#[derive(Debug, Clone, PartialEq)]
pub enum From {
    /// A file's path as written.
    File(PathBuf),
    /// A layer's name.
    Layer(String),
}

/// One model at work, with its parameters and input layers.
#[derive(Clone)]
pub struct Stage {
    /// Keys its random numbers; unique in the recipe.
    pub label: String,
    /// The model.
    pub model: Box<dyn Model>,
    /// Input layers by the name under which the model reads them.
    pub layers: BTreeMap<String, Source>,
    /// Tables that it is given: springs that run while it does, kinds of soil and beds of rock that stay.
    pub tables: Tables,
    /// What is done by hand, in its order.
    pub strokes: Vec<Stroke>,
    /// Whether it is kept and not run.
    pub muted: bool,
    /// On which levels it runs.
    pub when: When,
    /// Factors on its parameters with each finer level that it runs on.
    pub finer: BTreeMap<String, f64>,
}

/// A stage's model as it runs on one of its levels.
pub enum ModelAt<'a> {
    /// As the recipe has it.
    Plain(&'a dyn Model),
    /// With other parameters.
    Changed(Box<dyn Model>),
}

impl<'a> std::ops::Deref for ModelAt<'a> {
    type Target = dyn Model + 'a;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Plain(model) => *model,
            Self::Changed(model) => &**model,
        }
    }
}

impl Stage {
    /// A stage of a model's, with nothing given to it.
    pub fn new(label: impl Into<String>, model: Box<dyn Model>) -> Self {
        Self {
            label: label.into(),
            model,
            layers: BTreeMap::new(),
            tables: Tables::default(),
            strokes: Vec::new(),
            muted: false,
            when: When::default(),
            finer: BTreeMap::new(),
        }
    }

    /// Its model as it runs after so many coarser levels: with the parameters of `finer` that many times multiplied.
    ///
    /// # Errors
    /// When a parameter leaves its range.
    pub fn model_at(&self, pass: u32) -> Result<ModelAt<'_>> {
        if pass == 0 || self.finer.is_empty() {
            return Ok(ModelAt::Plain(&*self.model));
        }
        let mut model = self.model.clone();
        let owner = model.about().name;
        for (name, factor) in &self.finer {
            let factor = libm::pow(*factor, f64::from(pass));
            let value = match (model.get(name), model.declared().iter().find(|param| param.name == *name)) {
                (Some(Value::Number(x)), _) => Value::Number(x * factor),
                (Some(Value::Count(n)), Some(param)) => {
                    let least = if let Kind::Count { min, .. } = param.kind { min } else { 0 };
                    Value::Count(((f64::from(n) * factor).round() as u32).max(least))
                }
                _ => continue,
            };
            model.set(owner, name, &value.into())?;
        }
        Ok(ModelAt::Changed(model))
    }

    /// Number of its steps on this grid after so many coarser levels; a muted stage has none.
    ///
    /// # Errors
    /// As [`Stage::model_at`].
    pub fn steps(&self, grid: &Grid, pass: u32) -> Result<u32> {
        if self.muted { Ok(0) } else { Ok(self.model_at(pass)?.steps(grid)) }
    }

    /// The strokes that are made after so many steps on the level after so many coarser ones.
    pub fn strokes_at(&self, pass: u32, step: u32) -> impl Iterator<Item = &Stroke> {
        self.strokes.iter().filter(move |stroke| [stroke.pass, stroke.step] == [pass, step])
    }

    /// Whether its model reads springs.
    pub fn takes_springs(&self) -> bool {
        self.model.about().tables.contains(&SPRINGS)
    }

    /// Checks what a grid decides: the model's parameters, where the springs lie, and the strokes, of the level after so many
    /// coarser ones. Nothing of a muted stage.
    ///
    /// # Errors
    /// As [`Model::check`], a spring outside the world, a stroke after more steps than there are, as [`Stroke::check`], and as
    /// [`Stage::model_at`].
    pub fn check(&self, grid: &Grid, pass: u32) -> Result<()> {
        if self.muted {
            return Ok(());
        }
        let model = self.model_at(pass)?;
        model.check(grid)?;
        self.tables.check(grid)?;
        let steps = model.steps(grid);
        for (number, stroke) in self.strokes.iter().enumerate().filter(|(_, stroke)| stroke.pass == pass) {
            let name = format!("{}.{}", self.label, strokes::name(number));
            stroke.check(&name, grid, self.takes_springs())?;
            if stroke.step > steps {
                let allowed = format!("0 to {steps} (the stage's steps on this grid)");
                return Err(Error::value(format!("{name}.step"), stroke.step, allowed));
            }
        }
        Ok(())
    }

    /// As it stands in a recipe, with every parameter spelt out; of the strokes only those given.
    pub(crate) fn to_toml<'a>(&self, strokes: impl Iterator<Item = &'a Stroke>) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "[[stage]]\nmodel = {}", quoted(self.model.about().name));
        let _ = writeln!(out, "label = {}", quoted(&self.label));
        if self.muted {
            out.push_str("muted = true\n");
        }
        if let Some(when) = self.when.to_toml() {
            let _ = writeln!(out, "levels = {when}");
        }
        if !self.finer.is_empty() {
            let factors: Vec<_> = self.finer.iter().map(|(name, factor)| format!("{name} = {factor:?}")).collect();
            let _ = writeln!(out, "finer = {{ {} }}", factors.join(", "));
        }
        for param in self.model.declared() {
            if let Some(value) = self.model.get(param.name) {
                let _ = writeln!(out, "{} = {}", param.name, Written::from(value));
            }
        }
        let sources: Vec<_> = self.layers.iter().map(|(name, s)| format!("{name} = {}", s.to_toml())).collect();
        if !sources.is_empty() {
            let _ = writeln!(out, "layers = {{ {} }}", sources.join(", "));
        }
        if let Some(tables) = self.tables.to_toml() {
            let _ = writeln!(out, "tables = {tables}");
        }
        let strokes: Vec<_> = strokes.map(|stroke| format!("    {},\n", stroke.to_toml())).collect();
        if !strokes.is_empty() {
            let _ = writeln!(out, "strokes = [\n{}]", strokes.concat());
        }
        out
    }
}

/// What is broken in a text, with its line; the line itself only if it can be read at a glance.
fn broken(text: &str, error: &toml::de::Error) -> Error {
    const GLANCE: usize = 500;
    let whole = error.to_string();
    if whole.len() <= GLANCE {
        return Error::Recipe(whole);
    }
    let line = error
        .span()
        .and_then(|span| text.as_bytes().get(..span.start))
        .map(|before| before.iter().filter(|byte| **byte == b'\n').count() + 1);
    let at = line.map_or(String::new(), |line| format!(" at line {line}"));
    Error::Recipe(format!("TOML parse error{at}: {}", plain::clipped(error.message())))
}

/// A world's extent, grid, seed and stages; checked.
#[derive(Clone)]
pub struct Recipe {
    /// Its name.
    pub name: String,
    /// A paragraph about the landform.
    pub about: String,
    /// Width and height in metres; `None` when the terrain comes from a file.
    pub extent: Option<[f64; 2]>,
    /// Cells on the long side; with `from`, 0 stands for as many as the elevation model has.
    pub cells: usize,
    /// Cells on the long side of the level that it is built from; `extent` only.
    pub coarsest: Coarsest,
    /// The world's seed. TOML's numbers are signed: its upper half is written, and read, as negative numbers.
    pub seed: u64,
    /// North, east, south, west.
    pub edges: Edges,
    /// Sea level in metres, if there is a sea.
    pub sea_level: Option<f64>,
    /// The rock of which the parameters speak; [`Knobs`](crate::knobs::Knobs) turn them to another.
    pub rock: &'static Rock,
    /// The colours of its heights in pictures.
    pub ramp: &'static Ramp,
    /// An elevation model to start from instead of flat ground.
    pub from: Option<PathBuf>,
    /// The stages in order.
    pub stages: Vec<Stage>,
    /// The folder that paths are relative to.
    pub folder: PathBuf,
}

const KEYS: [&str; 12] =
    ["name", "about", "extent", "cells", "coarsest", "seed", "edges", "sea_level", "rock", "ramp", "from", "stage"];
const SIDES: [&str; 4] = ["north", "east", "south", "west"];

impl Recipe {
    /// A recipe with one stage over a terrain given by the caller.
    pub fn single(model: Box<dyn Model>, seed: u64) -> Self {
        let name = model.about().name;
        let stage = Stage::new(name, model);
        Self {
            name: name.to_string(),
            about: String::new(),
            extent: None,
            cells: 0,
            coarsest: Coarsest::None,
            seed,
            edges: Edges::default(),
            sea_level: None,
            rock: Rock::usual(),
            ramp: Ramp::land(),
            from: None,
            stages: vec![stage],
            folder: PathBuf::new(),
        }
    }

    /// Reads a recipe from a file; its paths are then relative to that file.
    ///
    /// # Errors
    /// When the file cannot be read or is no recipe.
    pub fn read(path: &Path) -> Result<Self> {
        Self::read_with(path, &Models::default())
    }

    /// As [`Recipe::read`], with a caller's own models.
    ///
    /// # Errors
    /// As [`Recipe::read`].
    pub fn read_with(path: &Path, models: &Models) -> Result<Self> {
        let text = plain::read_text(path, MAX_BYTES)?;
        memory::room(&path.display().to_string(), TEXT.saturating_mul(text.len() as u64))?;
        let mut recipe = Self::parse_with(&text, models)
            .map_err(|error| Error::file(path, plain::clipped_to(&error.to_string(), MESSAGE)))?;
        recipe.folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        Ok(recipe)
    }

    /// Reads a recipe from its text.
    ///
    /// # Errors
    /// Broken TOML, unknown keys, models and parameters, values out of range, labels used twice.
    pub fn parse(text: &str) -> Result<Self> {
        Self::parse_with(text, &Models::default())
    }

    /// As [`Recipe::parse`], with a caller's own models.
    ///
    /// # Errors
    /// As [`Recipe::parse`].
    pub fn parse_with(text: &str, models: &Models) -> Result<Self> {
        let recipe = Self::parse_stages(text, models)?;
        if recipe.from.is_some() && recipe.coarsest != Coarsest::None {
            return Err(Error::Recipe("`coarsest` goes with `extent`: with `from` the grid is the file's".into()));
        }
        if recipe.extent.is_none() == recipe.from.is_none() {
            return Err(Error::Recipe(
                "give either `extent = [width, height]` in metres or `from = \"FILE\"`, an elevation model".into(),
            ));
        }
        Ok(recipe)
    }

    /// Reads a recipe that may be without a start of its own, as a checkpoint's is: it has its terrain already.
    pub(crate) fn parse_stages(text: &str, models: &Models) -> Result<Self> {
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| broken(text, &e))?;
        known_keys("key", &table, &KEYS)?;
        let extent = table.get("extent").map(self::extent).transpose()?;
        let from = table.get("from").map(|v| text_of("from", v)).transpose()?.as_deref().map(names::from_text);
        let mut recipe = Self {
            name: table.get("name").map_or(Ok("world".into()), |v| text_of("name", v))?,
            about: table.get("about").map_or(Ok(String::new()), |v| text_of("about", v))?,
            extent,
            cells: match table.get("cells") {
                Some(cells) => whole("cells", cells, 1, 1 << 20)? as usize,
                None => {
                    if extent.is_some() {
                        1024
                    } else {
                        0
                    }
                }
            },
            coarsest: table.get("coarsest").map_or(Ok(Coarsest::None), Coarsest::parse)?,
            seed: table.get("seed").map_or(Ok(1), |v| whole("seed", v, i64::MIN, i64::MAX))? as u64,
            edges: table.get("edges").map_or(Ok(Edges::default()), edges)?,
            sea_level: table.get("sea_level").map(sea_level).transpose()?,
            rock: table.get("rock").map_or(Ok(Rock::usual()), |v| Rock::find(&text_of("rock", v)?))?,
            ramp: table.get("ramp").map_or(Ok(Ramp::land()), |v| Ramp::find(&text_of("ramp", v)?))?,
            from,
            stages: Vec::new(),
            folder: PathBuf::new(),
        };
        let stages = match table.get("stage") {
            None => &Vec::new(),
            Some(toml::Value::Array(stages)) if stages.len() <= MAX_STAGES => stages,
            Some(_) => return Err(Error::Recipe(format!("`stage` is a list, [[stage]], of up to {MAX_STAGES}"))),
        };
        for (number, stage) in stages.iter().enumerate() {
            let stage = self::stage(stage, models).map_err(|e| Error::Recipe(format!("stage {}: {e}", number + 1)))?;
            if recipe.stages.iter().any(|s| s.label == stage.label) {
                return Err(Error::Recipe(format!(
                    "stage {}: label `{}` is used twice; give this stage another `label`",
                    number + 1,
                    stage.label
                )));
            }
            recipe.stages.push(stage);
        }
        Ok(recipe)
    }

    /// The recipe as TOML with every parameter spelt out; reading it back gives the same recipe.
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "name = {}", quoted(&self.name));
        if !self.about.is_empty() {
            let _ = writeln!(out, "about = {}", quoted(&self.about));
        }
        if let Some([width, height]) = self.extent {
            let _ = writeln!(out, "extent = [{width:?}, {height:?}]");
            let _ = writeln!(out, "cells = {}", self.cells);
            if let Some(coarsest) = self.coarsest.to_toml() {
                let _ = writeln!(out, "coarsest = {coarsest}");
            }
        }
        if let Some(from) = &self.from {
            let _ = writeln!(out, "from = {}", quoted(&names::to_text(from)));
            if self.cells > 0 {
                let _ = writeln!(out, "cells = {}", self.cells);
            }
        }
        let _ = writeln!(out, "seed = {}", self.seed as i64);
        let word = |edge: Edge| if edge == Edge::Open { "open" } else { "closed" };
        let sides: Vec<_> = SIDES.iter().zip(self.edges).map(|(s, e)| format!("{s} = \"{}\"", word(e))).collect();
        let _ = writeln!(out, "edges = {{ {} }}", sides.join(", "));
        if let Some(level) = self.sea_level {
            let _ = writeln!(out, "sea_level = {level:?}");
        }
        let _ = writeln!(out, "rock = {}", quoted(self.rock.name));
        if self.ramp != Ramp::land() {
            let _ = writeln!(out, "ramp = {}", quoted(self.ramp.name));
        }
        for stage in &self.stages {
            let _ = write!(out, "\n{}", stage.to_toml(stage.strokes.iter()));
        }
        out
    }

    /// The files that its run reads: the terrain that it begins with, layers, and the sidecars beside them.
    pub fn reads(&self) -> Vec<PathBuf> {
        let sources = self.stages.iter().flat_map(|stage| stage.layers.values());
        let layers = sources.filter_map(|source| match &source.from {
            From::File(path) => Some(path),
            From::Layer(_) => None,
        });
        layers.chain(&self.from).flat_map(|path| Sidecar::files(&self.folder.join(path))).collect()
    }

    /// The same recipe with its files named from the root on, so that it may lie in any folder.
    ///
    /// # Errors
    /// When there is no current folder.
    pub fn absolute(&self) -> Result<Self> {
        let mut copy = self.clone();
        let whole = |path: &PathBuf| {
            let path = self.folder.join(path);
            std::path::absolute(&path).map_err(Error::io(&path, "find"))
        };
        copy.from = copy.from.as_ref().map(whole).transpose()?;
        for source in copy.stages.iter_mut().flat_map(|stage| stage.layers.values_mut()) {
            if let From::File(path) = &source.from {
                source.from = From::File(whole(path)?);
            }
        }
        Ok(copy)
    }

    /// The same recipe as it stands in `folder`: files that lie there, or in folders of it, are named from there on, so that
    /// the folder may be moved; all others from the root on.
    ///
    /// # Errors
    /// As [`Recipe::absolute`].
    pub fn within(&self, folder: &Path) -> Result<Self> {
        let mut copy = self.absolute()?;
        let folder = std::path::absolute(folder).map_err(Error::io(folder, "find"))?;
        let shorter = |path: &mut PathBuf| {
            if let Ok(rest) = path.strip_prefix(&folder) {
                *path = rest.to_path_buf();
            }
        };
        copy.from.iter_mut().for_each(shorter);
        for source in copy.stages.iter_mut().flat_map(|stage| stage.layers.values_mut()) {
            if let From::File(path) = &mut source.from {
                shorter(path);
            }
        }
        copy.folder = folder;
        Ok(copy)
    }

    /// Fingerprint of the resolved recipe (XXH3-64, 16 hexadecimal digits).
    pub fn hash(&self) -> String {
        format!("{:016x}", xxhash_rust::xxh3::xxh3_64(self.to_toml().as_bytes()))
    }
}

impl Source {
    /// From a recipe's value: a path, or `{ file | layer = …, scale = [from, to] }`.
    fn parse(name: &str, value: &toml::Value) -> Result<Self> {
        if let Some(path) = value.as_str() {
            return Ok(Self { from: From::File(names::from_text(path)), scale: None });
        }
        let Some(table) = value.as_table() else {
            let allowed = "a file's path, or { file = …, scale = [a, b] }, or { layer = …, scale = [a, b] }";
            return Err(Error::value(format!("layers.{name}"), value, allowed));
        };
        known_keys("key", table, &["file", "layer", "scale"])?;
        let from = match (table.get("file"), table.get("layer")) {
            (Some(file), None) => From::File(names::from_text(&text_of("file", file)?)),
            (None, Some(layer)) => From::Layer(text_of("layer", layer)?),
            _ => return Err(Error::value(format!("layers.{name}"), value, "exactly one of `file` and `layer`")),
        };
        let scale = match table.get("scale") {
            None => None,
            Some(v) => match numbers(v) {
                Some([a, b]) if a != b => Some([a, b]),
                _ => return Err(Error::value("scale", v, "two different numbers: what becomes 0, what becomes 1")),
            },
        };
        Ok(Self { from, scale })
    }

    fn to_toml(&self) -> toml::Value {
        let mut table = toml::Table::new();
        match &self.from {
            From::File(path) => table.insert("file".into(), names::to_text(path).into()),
            From::Layer(name) => table.insert("layer".into(), name.clone().into()),
        };
        if let Some([a, b]) = self.scale {
            table.insert("scale".into(), vec![a, b].into());
        }
        toml::Value::Table(table)
    }
}

fn stage(value: &toml::Value, models: &Models) -> Result<Stage> {
    let table = value.as_table().ok_or_else(|| Error::Recipe("is not a table".into()))?;
    let name = table.get("model").ok_or_else(|| Error::Recipe("has no `model`".into()))?;
    let mut model = models.find(&text_of("model", name)?)?;
    let about = model.about();
    let label = table.get("label").map_or(Ok(about.name.to_string()), |v| text_of("label", v))?;
    let (mut layers, mut tables, mut strokes, mut muted) = (BTreeMap::new(), Tables::default(), Vec::new(), false);
    let (mut when, mut finer, mut given) = (When::default(), BTreeMap::new(), Vec::new());
    for (key, value) in table {
        match key.as_str() {
            "model" | "label" => {}
            "muted" => muted = value.as_bool().ok_or_else(|| Error::value("muted", value, "true or false"))?,
            "levels" => when = When::parse(value)?,
            "finer" => finer = factors(&*model, value)?,
            "tables" => tables = Tables::parse(value, about.tables)?,
            "strokes" => strokes = strokes::parse(value)?,
            "layers" => {
                let sources = value.as_table().ok_or_else(|| Error::value("layers", value, "a table of layers"))?;
                for (name, source) in sources {
                    let known = || about.needs.iter().chain(about.uses).map(|spec| spec.name);
                    if !known().any(|k| k == name) {
                        return Err(Error::unknown("input layer", name, known()));
                    }
                    layers.insert(name.clone(), Source::parse(name, source)?);
                }
            }
            _ => given.push((key.as_str(), Written::of(value))),
        }
    }
    give(&mut *model, given.iter().map(|(name, value)| (*name, value)))?;
    Ok(Stage { label, model, layers, tables, strokes, muted, when, finer })
}

/// Factors on numbers among a model's parameters.
fn factors(model: &dyn Model, value: &toml::Value) -> Result<BTreeMap<String, f64>> {
    let table = value.as_table().ok_or_else(|| Error::value("finer", value, "a table of parameters and factors"))?;
    let declared = model.declared();
    let numbers = || declared.iter().filter(|param| param.is_number()).map(|param| param.name);
    let factor = |(name, value): (&String, &toml::Value)| {
        if !numbers().any(|known| known == name) {
            return Err(Error::unknown("number among the parameters", name, numbers()));
        }
        let factor = number(value).filter(|factor| (0.001..=1000.0).contains(factor));
        let factor = factor.ok_or_else(|| Error::value(format!("finer.{name}"), value, "0.001 to 1000"))?;
        Ok((name.clone(), factor))
    };
    table.iter().map(factor).collect()
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_string()).to_string()
}

fn known_keys(what: &'static str, table: &toml::Table, known: &[&str]) -> Result<()> {
    match table.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(Error::unknown(what, key, known.iter().copied())),
        None => Ok(()),
    }
}

fn text_of(name: &str, value: &toml::Value) -> Result<String> {
    value.as_str().map(String::from).ok_or_else(|| Error::value(name, value, "text in quotes"))
}

fn whole(name: &str, value: &toml::Value, min: i64, max: i64) -> Result<i64> {
    let n = value.as_integer().filter(|n| (min..=max).contains(n));
    n.ok_or_else(|| Error::value(name, value, format!("{min} to {max}, whole")))
}

pub(crate) fn number(value: &toml::Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|n| n as f64)).filter(|x| x.is_finite())
}

fn numbers(value: &toml::Value) -> Option<[f64; 2]> {
    match value.as_array()?.as_slice() {
        [a, b] => Some([number(a)?, number(b)?]),
        _ => None,
    }
}

fn extent(value: &toml::Value) -> Result<[f64; 2]> {
    numbers(value)
        .filter(|sides| sides.iter().all(|s| (0.01..=1e8).contains(s)))
        .ok_or_else(|| Error::value("extent", value, "[width, height] in metres, each 0.01 to 100000000"))
}

fn sea_level(value: &toml::Value) -> Result<f64> {
    let level = number(value).ok_or_else(|| Error::value("sea_level", value, "-16000 to 16000 (m)"))?;
    Height::from_metres(level).map(|_| level)
}

fn edges(value: &toml::Value) -> Result<Edges> {
    let edge = |value: &toml::Value| match value.as_str() {
        Some("open") => Ok(Edge::Open),
        Some("closed") => Ok(Edge::Closed),
        _ => Err(Error::value("edges", value, "\"open\", \"closed\", or a table of north, east, south, west")),
    };
    let Some(table) = value.as_table() else { return Ok([edge(value)?; 4]) };
    known_keys("side", table, &SIDES)?;
    let mut edges = Edges::default();
    for (side, slot) in SIDES.iter().zip(&mut edges) {
        if let Some(value) = table.get(*side) {
            *slot = edge(value)?;
        }
    }
    Ok(edges)
}

/// The JSON Schema of recipes (draft 2020-12) of these models, from their declarations; editors complete and check by it.
pub fn schema(models: &Models) -> serde_json::Value {
    let source = json!({"anyOf": [
        {"type": "string", "description": "Path of a file, relative to the recipe."},
        {"type": "object", "additionalProperties": false, "properties": {
            "file": {"type": "string"}, "layer": {"type": "string"},
            "scale": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2,
                      "description": "Values that become 0 and 1."}}}]});
    let stages: Vec<_> = models
        .all()
        .map(|model| {
            let about = model.about();
            let mut properties = serde_json::Map::new();
            properties.insert("model".into(), json!({"const": about.name, "description": about.summary}));
            properties
                .insert("label".into(), json!({"type": "string", "description": "Keys the stage's random numbers."}));
            let muted = json!({"type": "boolean", "default": false, "description": "Kept here, and not run."});
            properties.insert("muted".into(), muted);
            properties.insert("levels".into(), When::schema());
            let factor = json!({"type": "number", "minimum": 0.001, "maximum": 1000});
            let numbers = model.declared().into_iter().filter(Param::is_number);
            let factors: serde_json::Map<_, _> =
                numbers.map(|param| (param.name.to_string(), factor.clone())).collect();
            let finer = json!({"type": "object", "additionalProperties": false, "properties": factors,
                               "description": "Factors on parameters with each finer level."});
            properties.insert("finer".into(), finer);
            properties.insert("strokes".into(), json!({"$ref": "#/$defs/strokes"}));
            for param in model.declared() {
                properties.insert(param.name.into(), param.schema());
            }
            let inputs: serde_json::Map<_, _> =
                about.needs.iter().chain(about.uses).map(|spec| (spec.name.to_string(), source.clone())).collect();
            let layers = json!({"type": "object", "properties": inputs, "additionalProperties": false});
            properties.insert("layers".into(), layers);
            if let Some(tables) = tables::schema(about.tables) {
                properties.insert("tables".into(), tables);
            }
            json!({"type": "object", "title": about.name, "properties": properties,
                   "required": ["model"], "additionalProperties": false})
        })
        .collect();
    let edge = json!({"enum": ["open", "closed"]});
    let sides: serde_json::Map<_, _> = SIDES.iter().map(|side| (side.to_string(), edge.clone())).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "thalweg recipe",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "name": {"type": "string"},
            "about": {"type": "string"},
            "extent": {"type": "array", "items": {"type": "number", "minimum": 0.01, "maximum": 1e8},
                       "minItems": 2, "maxItems": 2, "description": "Width and height in metres."},
            "cells": {"type": "integer", "minimum": 1, "default": 1024, "description": "Cells on the long side."},
            "coarsest": {"anyOf": [{"const": "auto"}, {"type": "integer", "minimum": 1, "maximum": 1 << 20}],
                         "description": "Cells on the long side of the first of the levels that it is built on; each doubles the one before."},
            "seed": {"type": "integer", "default": 1},
            "edges": {"anyOf": [edge, {"type": "object", "properties": sides, "additionalProperties": false}]},
            "sea_level": {"type": "number", "minimum": -16000, "maximum": 16000},
            "rock": {"enum": rocks::names().collect::<Vec<_>>(), "default": Rock::usual().name,
                     "description": "Of which rock the parameters speak."},
            "ramp": {"enum": RAMPS.map(|ramp| ramp.name), "default": Ramp::land().name,
                     "description": "The colours of its heights in pictures."},
            "from": {"type": "string", "description": "An elevation model to start from, instead of extent."},
            "stage": {"type": "array", "items": {"oneOf": stages}},
        },
        "$defs": {"strokes": strokes::schema()},
    })
}
