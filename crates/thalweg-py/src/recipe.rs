//! [`Recipe`]: recipes from presets, files, TOML and dicts. A recipe is immutable; every change returns a new one.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyList, PyMapping, PyString, PyTuple};
use serde_json::{Map, Value as Json};
use thalweg_core::Error;
use thalweg_core::base::names::to_text;
use thalweg_core::declare::operation::{Operation, OptionSpec, OptionType, WorkForm};
use thalweg_core::declare::params::Written;
use thalweg_core::terrain::grid::{Edges, SIDES};
use thalweg_export::build::BuildOptions;
use thalweg_io::Unit;
use thalweg_models::model::set_parameters;
use thalweg_models::models::{self, Models};
use thalweg_sim::presets;
use thalweg_sim::recipe::Start;

use crate::declared::{PythonValue, value_to_python};
use crate::error::to_python_error;

/// A recipe: an extent or an elevation model, a seed, and stages.
#[pyclass(frozen, module = "thalweg._core")]
pub struct Recipe {
    pub recipe: thalweg_sim::recipe::Recipe,
    /// True if it starts from the elevation model that comes with the presets.
    pub own_model: bool,
    /// The unit in which its elevation model is read; `None` for that of the file.
    pub unit: Option<Unit>,
}

impl Recipe {
    /// Returns the same recipe, changed by these options.
    pub fn change(&self, options: &BuildOptions) -> PyResult<Self> {
        let mut recipe = self.recipe.clone();
        options.apply_to(&mut recipe).map_err(|error| to_option_error(&options.declared(), error))?;
        let own_model = self.own_model && options.from_file.is_none();
        Ok(Self { recipe, own_model, unit: options.unit.or(self.unit) })
    }

    /// Returns the recipe for work by tiles, which reads an elevation model in the unit of its file.
    pub fn for_tiles(&self) -> PyResult<&thalweg_sim::recipe::Recipe> {
        match self.unit {
            None => Ok(&self.recipe),
            Some(_) => Err(to_python_error(Error::conflict("unit", "only applies to worlds that fit in memory"))),
        }
    }
}

/// Converts a Python value to a written value of a parameter.
pub fn to_written_value(value: &Bound<'_, PyAny>) -> PyResult<Written> {
    // Booleans come first: in Python they are also integers. NumPy's type is recognized by its name, which begins with
    // "bool".
    if value.is_instance_of::<PyBool>() || value.get_type().name()?.to_string().starts_with("bool") {
        return Ok(Written::Switch(value.is_truthy()?));
    }
    if let Ok(word) = value.cast::<PyString>() {
        return Ok(Written::Word(word.to_string()));
    }
    // A float is never read as an integer, even if it is whole; NumPy's integers are.
    if !value.is_instance_of::<PyFloat>()
        && let Ok(whole) = value.extract::<i64>()
    {
        return Ok(Written::Whole(whole));
    }
    Ok(value.extract::<f64>().map_or_else(|_| Written::Other(value.to_string()), Written::Number))
}

/// The greatest number of lists in one another in the value of an option.
const MAX_DEPTH: usize = 4;

/// Converts a value of an option to JSON; an infinite number becomes the text `inf`.
fn to_json_value(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Json> {
    if value.is_none() {
        return Ok(Json::Null);
    }
    // The limit excludes endless recursion in a list that contains itself. A string is iterable, but not a list.
    if depth < MAX_DEPTH && !value.is_instance_of::<PyString>() {
        if let Ok(table) = value.cast::<PyMapping>() {
            let items = table.items()?;
            let items = items.iter().map(|item| {
                let (name, value): (String, Bound<'_, PyAny>) = item.extract()?;
                Ok((name, to_json_value(&value, depth + 1)?))
            });
            return items.collect::<PyResult<Map<String, Json>>>().map(Json::Object);
        }
        // Arrays without dimensions have no items, and are numbers.
        if let Ok(items) = value.try_iter() {
            return items.map(|item| to_json_value(&item?, depth + 1)).collect();
        }
    }
    Ok(match to_written_value(value)? {
        Written::Number(x) => OptionType::to_json(&x),
        Written::Whole(n) => n.into(),
        Written::Switch(b) => b.into(),
        Written::Word(word) => word.into(),
        Written::Other(text) => value.extract::<PathBuf>().map_or(text, |path| to_text(&path)).into(),
    })
}

/// Converts keyword arguments to the options of an operation, and checks that each has an effect in this form of it.
/// Options that are None keep their defaults.
pub fn parse_operation<T: Operation + Default>(keywords: &Bound<'_, PyDict>, form: WorkForm) -> PyResult<T> {
    let mut options = T::default();
    let declared = options.declared();
    for (keyword, value) in keywords.iter().filter(|(_, value)| !value.is_none()) {
        let keyword: String = keyword.extract()?;
        let option = declared.iter().find(|option| option.python_name() == keyword);
        let name = option.map_or(keyword.as_str(), |option| option.name);
        options.set(name, &to_json_value(&value, 0)?).map_err(|error| to_option_error(&declared, error))?;
    }
    options.check_form(form, |option| option.python_name().to_string()).map_err(to_python_error)?;
    Ok(options)
}

/// Converts an error about a value of one of these options, which has its name in Python then.
fn to_option_error(options: &[OptionSpec], error: Error) -> PyErr {
    to_python_error(match error {
        Error::Value { name, value, allowed } => {
            let option = options.iter().find(|option| option.name == name);
            Error::Value { name: option.map_or(name, |option| option.python_name().to_string()), value, allowed }
        }
        other => other,
    })
}

/// Converts a value of a dict to TOML.
fn to_toml_value(value: &Bound<'_, PyAny>) -> PyResult<toml::Value> {
    if let Ok(table) = value.cast::<PyDict>() {
        return Ok(toml::Value::Table(to_toml_table(table)?));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value.try_iter()?.map(|item| to_toml_value(&item?)).collect::<PyResult<_>>()?;
        return Ok(toml::Value::Array(items));
    }
    Ok(match to_written_value(value)? {
        Written::Number(x) => toml::Value::Float(x),
        Written::Whole(n) => toml::Value::Integer(n),
        Written::Switch(b) => toml::Value::Boolean(b),
        Written::Word(word) => toml::Value::String(word),
        Written::Other(text) => {
            // Paths, and other objects that have a path.
            let path: PathBuf = value.extract().map_err(|_| {
                PyTypeError::new_err(format!(
                    "{text} has the type {}; a recipe may contain only numbers, strings, booleans, lists and dicts",
                    value.get_type()
                ))
            })?;
            toml::Value::String(to_text(&path))
        }
    })
}

fn to_toml_table(table: &Bound<'_, PyDict>) -> PyResult<toml::Table> {
    let items = table.iter().filter(|(_, value)| !value.is_none());
    items.map(|(key, value)| Ok((key.extract::<String>()?, to_toml_value(&value)?))).collect()
}

fn table_to_text(table: &toml::Table) -> PyResult<String> {
    toml::to_string(table).map_err(|error| PyValueError::new_err(format!("recipe: {error}")))
}

/// Reads edges from a word or a dict of sides, as in a recipe.
pub fn parse_edges(value: &Bound<'_, PyAny>) -> PyResult<Edges> {
    // The recipe's own parser reads the edges, so that the words and the messages are the same.
    let mut table = toml::Table::new();
    table.insert("extent".into(), toml::Value::Array(vec![toml::Value::Float(1.0); 2]));
    table.insert("edges".into(), to_toml_value(value)?);
    Ok(thalweg_sim::recipe::Recipe::parse(&table_to_text(&table)?).map_err(to_python_error)?.edges)
}

/// Returns edges by side, as words.
pub fn edges_to_words(edges: &Edges) -> BTreeMap<&'static str, String> {
    let word = |edge| serde_json::to_value(edge).ok().and_then(|word| Some(word.as_str()?.to_string()));
    SIDES.iter().zip(edges).filter_map(|(side, edge)| Some((*side, word(edge)?))).collect()
}

/// Wraps a recipe that was not changed from Python.
pub fn wrap_recipe(recipe: thalweg_sim::recipe::Recipe) -> Recipe {
    Recipe { recipe, own_model: false, unit: None }
}

#[pymethods]
impl Recipe {
    /// Returns the recipe of a preset.
    #[staticmethod]
    fn preset(name: &str) -> PyResult<Self> {
        let recipe = presets::find_preset(name).map_err(to_python_error)?;
        Ok(Self { own_model: recipe.dem().is_some(), ..wrap_recipe(recipe) })
    }

    /// Reads a recipe from a file; for an elevation model, returns a recipe in which water flows over it.
    #[staticmethod]
    fn read(path: PathBuf) -> PyResult<Self> {
        thalweg_sim::recipe::Recipe::open(&path).map(wrap_recipe).map_err(to_python_error)
    }

    /// Reads a recipe from a text; it may have no start of its own, if it is to run over a given terrain.
    #[staticmethod]
    #[pyo3(signature = (text, folder=None, own_model=false))]
    fn parse(text: &str, folder: Option<PathBuf>, own_model: bool) -> PyResult<Self> {
        let mut recipe =
            thalweg_sim::recipe::Recipe::parse_stages(text, &Models::default()).map_err(to_python_error)?;
        // A recipe with a start is read again by the stricter parser, which also refuses contradictions between
        // settings.
        if recipe.start != Start::Given {
            recipe = thalweg_sim::recipe::Recipe::parse(text).map_err(to_python_error)?;
        }
        recipe.folder = folder.unwrap_or_default().into();
        Ok(Self { own_model, ..wrap_recipe(recipe) })
    }

    /// Reads a recipe from a dict with the keys of the TOML.
    #[staticmethod]
    #[pyo3(signature = (table, folder=None))]
    fn table(table: &Bound<'_, PyDict>, folder: Option<PathBuf>) -> PyResult<Self> {
        Self::parse(&table_to_text(&to_toml_table(table)?)?, folder, false)
    }

    /// Creates a recipe of one model that runs over a given terrain.
    #[staticmethod]
    #[pyo3(signature = (model, parameters, seed, sea_level=None, edges=None))]
    fn single(
        model: &str,
        parameters: &Bound<'_, PyDict>,
        seed: u64,
        sea_level: Option<f64>,
        edges: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let mut model = models::find_model(model).map_err(to_python_error)?;
        let items = parameters.iter();
        let given: Vec<_> = items
            .map(|(name, value)| Ok((name.extract::<String>()?, to_written_value(&value)?)))
            .collect::<PyResult<_>>()?;
        set_parameters(&mut *model, given.iter().map(|(name, value)| (name.as_str(), value)))
            .map_err(to_python_error)?;
        let mut recipe = thalweg_sim::recipe::Recipe::with_single_stage(model, seed);
        recipe.sea_level = sea_level;
        recipe.edges = edges.map(parse_edges).transpose()?.unwrap_or(recipe.edges);
        Ok(wrap_recipe(recipe))
    }

    /// Returns the same recipe, changed by options of the operation `build`.
    fn with_options(&self, options: &Bound<'_, PyDict>) -> PyResult<Self> {
        self.change(&parse_operation(options, WorkForm::Arrays)?)
    }

    /// Returns the parameters of a stage by name.
    fn parameters(&self, label: &str) -> PyResult<Vec<(&'static str, PythonValue)>> {
        let model = &self.recipe.stages[self.recipe.stage_index(label).map_err(to_python_error)?].model;
        let one = |name: &'static str| Some((name, value_to_python(model.get(name)?)));
        Ok(model.declared().iter().filter_map(|param| one(param.name)).collect())
    }

    /// Returns the label and the model of each stage.
    #[getter]
    fn stages(&self) -> Vec<(String, &'static str)> {
        self.recipe.stages.iter().map(|stage| (stage.label.clone(), stage.model.about().name)).collect()
    }

    /// Returns the name of the recipe.
    #[getter]
    fn name(&self) -> &str {
        &self.recipe.name
    }

    /// Returns the description of the landform.
    #[getter]
    fn about(&self) -> &str {
        self.recipe.about.trim()
    }

    /// Returns the number of cells on the longer side.
    #[getter]
    fn cells(&self) -> usize {
        self.recipe.cells
    }

    /// Returns the seed.
    #[getter]
    fn seed(&self) -> u64 {
        self.recipe.seed
    }

    /// Returns the width and height in metres.
    #[getter]
    fn extent(&self) -> Option<[f64; 2]> {
        self.recipe.extent().map(Into::into)
    }

    /// Returns the sea level in metres.
    #[getter]
    fn sea_level(&self) -> Option<f64> {
        self.recipe.sea_level
    }

    /// Returns the edges by side.
    #[getter]
    fn edges(&self) -> BTreeMap<&'static str, String> {
        edges_to_words(&self.recipe.edges)
    }

    /// Returns the folder to which its paths are relative.
    #[getter]
    fn folder(&self) -> PathBuf {
        self.recipe.folder.to_path_buf()
    }

    /// Returns true if it starts from the elevation model that comes with the presets.
    #[getter]
    fn own_model(&self) -> bool {
        self.own_model
    }

    /// Returns the unit in which its elevation model is read.
    #[getter]
    fn unit(&self) -> Option<String> {
        self.unit.and_then(|unit| unit.to_json().as_str().map(String::from))
    }

    /// Returns the recipe as TOML with the values of all parameters.
    fn to_toml(&self) -> String {
        self.recipe.to_toml()
    }

    /// Returns the fingerprint of the resolved recipe.
    fn hash(&self) -> String {
        self.recipe.hash()
    }

    /// Writes the recipe to a file.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        self.recipe.save(&path).map_err(to_python_error)
    }
}
