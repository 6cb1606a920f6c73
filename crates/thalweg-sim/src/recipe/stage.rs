//! [`Stage`]: a model's use in a recipe.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use crate::recipe::levels::{OnLevels, When};
use crate::recipe::source::{LayerSource, LayerSourceForm};
use crate::recipe::strokes::{self, Stroke};
use crate::recipe::tables::{self, Tables};
use thalweg_core::base::rng;
use thalweg_core::declare::keys::{self, ByName, Form, Key, Text, key};
use thalweg_core::declare::params::{Param, ParamKind, Value, Written};
use thalweg_core::terrain::grid::SIDES;
use thalweg_core::{Edge, Error, Grid, Result};
use thalweg_models::model::{Model, Role, set_parameters};
use thalweg_models::models::Models;
use thalweg_noise::input_tables::springs::SPRINGS;

/// The use of a model, with its parameters and input layers.
///
/// # Examples
/// ```
/// use thalweg_core::declare::params::Value;
/// use thalweg_models::models::find_model;
/// use thalweg_sim::recipe::{Recipe, Stage};
///
/// let mut recipe = Recipe::parse("extent = [640.0, 640.0]\ncells = 32\n")?;
/// recipe.stages.push(Stage::new("scree", find_model("thermal")?));
/// recipe.set_parameter("scree", "talus", &30.0.into())?;
/// let again = Recipe::parse(&recipe.to_toml())?;
/// assert_eq!(again.stages[0].model.get("talus"), Some(Value::Number(30.0)));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Stage {
    /// The key of its random numbers; unique in the recipe. For example, a stage that gets another label draws other
    /// random numbers.
    pub label: String,
    /// The model.
    pub model: Box<dyn Model>,
    /// Input layers by the name under which the model reads them.
    pub layers: BTreeMap<String, LayerSource>,
    /// Its input tables: springs exist while the stage runs; kinds of soil and beds of rock stay.
    pub tables: Tables,
    /// User edits in their order, at most [`MAX_STROKES`](strokes::MAX_STROKES).
    pub strokes: Vec<Stroke>,
    /// True if the stage is kept in the recipe but not run.
    pub muted: bool,
    /// The levels on which it runs.
    pub when: When,
    /// Factors on its parameters, by their names, for each finer level on which it runs, 0.001 to 1000. For example,
    /// `density = 0.5` halves that parameter with each finer level.
    pub finer: BTreeMap<String, f64>,
}

/// A stage's model as it runs on one of its levels.
pub enum LevelModel<'a> {
    /// With the recipe's parameters.
    Plain(&'a dyn Model),
    /// With other parameters.
    Changed(Box<dyn Model>),
}

impl<'a> std::ops::Deref for LevelModel<'a> {
    type Target = dyn Model + 'a;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Plain(model) => *model,
            Self::Changed(model) => &**model,
        }
    }
}

impl Stage {
    /// Returns a stage of this model without inputs.
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

    /// Returns its title in user interfaces: that of its model, followed by the label if this is not the model's name.
    ///
    /// # Examples
    /// ```
    /// use thalweg_models::models::find_model;
    /// use thalweg_sim::recipe::Stage;
    ///
    /// let title = |label: &str| Stage::new(label, find_model("stream_power").unwrap()).title();
    /// assert_eq!(["stream_power", "stream_power 2", "uplift"].map(title), ["Rivers", "Rivers 2", "Rivers · uplift"]);
    /// ```
    pub fn title(&self) -> String {
        let about = self.model.about();
        let title = about.display_title();
        match self.label.strip_prefix(about.name) {
            // A label that only adds a number, as `Recipe::free_label` makes it, adds it to the title as well.
            Some(rest) if rest.is_empty() || rest.starts_with(' ') => title + rest,
            _ => format!("{title} · {}", self.label),
        }
    }

    /// Returns the key of its random numbers in a world with this seed.
    pub fn key(&self, seed: u64) -> rng::RandomKey {
        // The seed of user edits in stages without a label of their own. Another word would change every world that
        // has such strokes.
        let is_unlabelled = self.label == self.model.about().name;
        let label = if is_unlabelled && self.model.plays_role(Role::Strokes) { "hands" } else { &self.label };
        rng::RandomKey::new(seed, label)
    }

    /// Returns its model as it runs after `pass` coarser levels: with parameters multiplied by the factors of `finer`
    /// that many times.
    ///
    /// # Errors
    /// Returns an error if a factor takes a parameter out of its range.
    pub fn model_for_pass(&self, pass: u32) -> Result<LevelModel<'_>> {
        if pass == 0 || self.finer.is_empty() {
            return Ok(LevelModel::Plain(&*self.model));
        }
        let mut model = self.model.clone();
        let owner = model.about().name;
        for (name, factor) in &self.finer {
            // The power is taken once from the declared value, so no rounding accumulates from level to level.
            let factor = libm::pow(*factor, f64::from(pass));
            let value = match (model.get(name), model.declared().iter().find(|param| param.name == *name)) {
                (Some(Value::Number(x)), _) => Value::Number(x * factor),
                (Some(Value::Count(n)), Some(param)) => {
                    // A count is rounded and may fall to 0, which some parameters do not accept.
                    let least = if let ParamKind::Count { min, .. } = param.kind { min } else { 0 };
                    Value::Count(((f64::from(n) * factor).round() as u32).max(least))
                }
                _ => continue,
            };
            model.set(owner, name, &value.into())?;
        }
        Ok(LevelModel::Changed(model))
    }

    /// Returns the number of its steps on this grid after `pass` coarser levels; a muted stage has none.
    ///
    /// # Errors
    /// Returns the errors of [`Stage::model_for_pass`].
    pub fn steps(&self, grid: &Grid, pass: u32) -> Result<u32> {
        if self.muted { Ok(0) } else { Ok(self.model_for_pass(pass)?.steps(grid)) }
    }

    /// Returns the strokes that are made after `step` steps on the level after `pass` coarser ones.
    pub fn strokes_after(&self, pass: u32, step: u32) -> impl Iterator<Item = &Stroke> {
        self.strokes.iter().filter(move |stroke| [stroke.pass, stroke.step] == [pass, step])
    }

    /// Returns true if its model reads springs.
    pub fn reads_springs(&self) -> bool {
        self.model.about().tables.contains(&SPRINGS)
    }

    /// Checks what depends on the grid: the model's parameters, the places in tables, and the strokes, on the level
    /// after `pass` coarser ones. A muted stage is not checked.
    ///
    /// # Errors
    /// Returns the errors of [`Model::check`], [`Stroke::check`] and [`Stage::model_for_pass`]; for looped edges also those
    /// of [`Grid::check`]. Also returns an error if the edges are looped and the model does not support this, if a
    /// spring, mouth or waypoint is outside the world, or if a stroke is after more steps than there are.
    pub fn check(&self, grid: &Grid, pass: u32) -> Result<()> {
        if self.muted {
            return Ok(());
        }
        let model = self.model_for_pass(pass)?;
        if grid.edges.contains(&Edge::Looped) {
            grid.check()?;
        }
        model.check(grid)?;
        if let Some(axis) = (0..2).find(|axis| grid.is_looped(*axis) && !model.about().loops) {
            let able = Models::default();
            let able: Vec<&str> =
                able.all().map(|model| model.about()).filter(|about| about.loops).map(|about| about.name).collect();
            let sides = [SIDES[axis], SIDES[axis + 2]].join(" and ");
            let problem = format!("does not work with {sides} looped; the models that do are {}", able.join(", "));
            return Err(Error::unsupported(format!("{}.model = {}", self.label, model.about().name), problem));
        }
        self.tables.check(grid)?;
        let steps = model.steps(grid);
        for (number, stroke) in self.strokes.iter().enumerate().filter(|(_, stroke)| stroke.pass == pass) {
            let name = format!("{}.{}", self.label, strokes::stroke_name(number));
            stroke.check(&name, grid, self.reads_springs())?;
            if stroke.step > steps {
                let allowed = format!("0 to {steps} (the stage's steps on this grid)");
                return Err(Error::invalid_value(format!("{name}.step"), stroke.step, allowed));
            }
        }
        Ok(())
    }
}

/// The keys of a stage that are written before its model's parameters in a recipe.
const HEAD: [Key<Stage>; 4] = [
    key!(Stage, label, Text, "The key of the stage's random numbers. The default is the model's name."),
    key!(Stage, muted, (ParamKind::Switch, "1"), "Keeps the stage in the recipe without running it.").omit_default(),
    key!(
        Stage,
        "levels" => when,
        OnLevels,
        "The levels of the world on which the stage runs; widths are those of cells in metres."
    )
    .omit_default(),
    key!(Stage, finer, by Stage::factors_form, "Factors by which parameters are multiplied with each finer level."),
];

/// The keys that are written after the parameters.
const TAIL: [Key<Stage>; 3] = [
    key!(Stage, layers, by Stage::input_layers_form, "Input layers, by the names under which the model reads them."),
    Key {
        name: "tables",
        is_rare: false,
        read: |stage, _, value| Tables::parse(value, stage.model.about().tables).map(|tables| stage.tables = tables),
        write: |stage| stage.tables.to_toml(),
        schema: |stage| tables::schema(stage.model.about().tables),
    },
    Key {
        name: "strokes",
        is_rare: false,
        read: |stage, _, value| strokes::parse_strokes(value).map(|strokes| stage.strokes = strokes),
        write: |stage| strokes::to_toml(&stage.strokes),
        schema: |_| Some(json!({"$ref": "#/$defs/strokes"})),
    },
];

impl Stage {
    /// Returns the form of the factors by which its model's numbers may be multiplied with each finer level.
    fn factors_form(&self) -> ByName<(ParamKind, &'static str)> {
        let declared = self.model.declared();
        ByName {
            form: (ParamKind::Number { min: 0.001, max: 1000.0 }, "1"),
            names: declared.iter().filter(|param| param.is_number()).map(|param| param.name).collect(),
            what: "numeric parameter",
            allowed: "a table of parameters and factors",
        }
    }

    /// Returns the form of the layers that its model reads.
    fn input_layers_form(&self) -> ByName<LayerSourceForm> {
        let about = self.model.about();
        let names = about.needs.iter().chain(about.uses).map(|spec| spec.name).collect();
        ByName { form: LayerSourceForm, names, what: "input layer", allowed: "a table of layers" }
    }

    /// Reads a stage from a recipe's value.
    pub(super) fn parse(value: &toml::Value, models: &Models) -> Result<Self> {
        let table = value.as_table().ok_or_else(|| Error::Recipe("it must be a table, [[stage]]".into()))?;
        let name = table.get(MODEL).ok_or_else(|| {
            Error::Recipe("it has no `model`; add `model = \"NAME\"` (`thalweg models` lists the names)".into())
        })?;
        let name = Text.read(MODEL, name)?;
        let model = models.find(&name)?;
        // The model is known first, because it determines the layers, tables and parameters that the stage may have.
        let mut stage = Self::new(model.about().name, model);
        keys::read_keys(&mut stage, "", table, &HEAD)?;
        keys::read_keys(&mut stage, "", table, &TAIL)?;
        // All other keys are parameters.
        let declared = stage.model.declared();
        let own = || [MODEL].into_iter().chain(HEAD.iter().chain(&TAIL).map(|key| key.name));
        let is_own = |key: &str| own().any(|own| own == key);
        // A caller's own model could declare a parameter with the name of a key, which could then not be read.
        if let Some(param) = declared.iter().find(|param| is_own(param.name)) {
            let owner = format!("{}.{}", stage.model.about().name, param.name);
            let allowed = format!("a name that is not a key of every stage ({})", own().collect::<Vec<_>>().join(", "));
            return Err(Error::invalid_value("parameter name", owner, allowed));
        }
        keys::check_known_keys("parameter", table, declared.iter().map(|param| param.name).chain(own()))?;
        let given = table.iter().filter(|(key, _)| !is_own(key));
        let given: Vec<_> = given.map(|(key, value)| (key.as_str(), Written::from_toml(value))).collect();
        set_parameters(&mut *stage.model, given.iter().map(|(name, value)| (*name, value)))?;
        Ok(stage)
    }

    /// Returns its form in a recipe, with every parameter written out.
    pub fn to_toml(&self) -> String {
        let name = self.model.about().name;
        let usual = Self::new(name, self.model.clone());
        let declared = self.model.declared();
        let value = |param: &Param| Some((param.name, Written::from(self.model.get(param.name)?).to_string()));
        let pairs = [(MODEL, keys::quote_toml(name))].into_iter().chain(keys::write_keys(self, &usual, &HEAD));
        let pairs = pairs.chain(declared.iter().filter_map(value)).chain(keys::write_keys(self, &usual, &TAIL));
        format!("[[stage]]\n{}", keys::format_toml_lines(pairs))
    }

    /// Returns the JSON Schema of a model's stages.
    pub(super) fn schema(model: Box<dyn Model>) -> Json {
        let about = model.about();
        let stage = Self::new(about.name, model);
        let mut properties = Map::new();
        properties.insert(MODEL.into(), json!({"const": about.name, "description": about.summary}));
        properties.extend(keys::keys_schema(&stage, &HEAD));
        properties.extend(stage.model.declared().iter().map(|param| (param.name.to_string(), param.json_schema())));
        properties.extend(keys::keys_schema(&stage, &TAIL));
        let mut schema = keys::table_schema(properties);
        schema["title"] = about.name.into();
        schema["required"] = json!([MODEL]);
        schema
    }
}

/// The key that determines which others are allowed.
const MODEL: &str = "model";
