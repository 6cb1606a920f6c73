//! [`Recipe`]: recipes from presets, files, TOML and dicts. A recipe does not change: what changes it gives another.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyList, PyString, PyTuple};
use thalweg_core::Error;
use thalweg_core::base::names::to_text;
use thalweg_core::declare::params::Written;
use thalweg_core::terrain::grid::{Edges, SIDES};
use thalweg_io::output::absolute;
use thalweg_models::model::set_parameters;
use thalweg_models::models::{self, Models};
use thalweg_models::rocks::Rock;
use thalweg_sim::knobs::Knobs;
use thalweg_sim::presets;
use thalweg_sim::recipe::Start;

use crate::declared::{Plain, plain};
use crate::error::raised;

/// What is to be done: an extent or an elevation model, a seed, stages.
#[pyclass(frozen, module = "thalweg._core")]
pub struct Recipe {
    pub recipe: thalweg_sim::recipe::Recipe,
    /// Whether it begins with the elevation model that comes with the presets.
    pub own_model: bool,
}

/// A value as somebody wrote it in Python.
pub fn written(value: &Bound<'_, PyAny>) -> PyResult<Written> {
    if value.is_instance_of::<PyBool>() || value.get_type().name()?.to_string().starts_with("bool") {
        return Ok(Written::Switch(value.is_truthy()?));
    }
    if let Ok(word) = value.cast::<PyString>() {
        return Ok(Written::Word(word.to_string()));
    }
    if !value.is_instance_of::<PyFloat>()
        && let Ok(whole) = value.extract::<i64>()
    {
        return Ok(Written::Whole(whole));
    }
    Ok(value.extract::<f64>().map_or_else(|_| Written::Other(value.to_string()), Written::Number))
}

/// A value of a dict as TOML has it.
fn toml_of(value: &Bound<'_, PyAny>) -> PyResult<toml::Value> {
    if let Ok(table) = value.cast::<PyDict>() {
        return Ok(toml::Value::Table(table_of(table)?));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value.try_iter()?.map(|item| toml_of(&item?)).collect::<PyResult<_>>()?;
        return Ok(toml::Value::Array(items));
    }
    Ok(match written(value)? {
        Written::Number(x) => toml::Value::Float(x),
        Written::Whole(n) => toml::Value::Integer(n),
        Written::Switch(b) => toml::Value::Boolean(b),
        Written::Word(word) => toml::Value::String(word),
        Written::Other(text) => {
            // Paths, and what else has a name among files.
            let path: PathBuf = value.extract().map_err(|_| {
                PyTypeError::new_err(format!(
                    "a recipe holds numbers, words, True or False, lists and dicts; {text} is a {}",
                    value.get_type()
                ))
            })?;
            toml::Value::String(to_text(&path))
        }
    })
}

fn table_of(table: &Bound<'_, PyDict>) -> PyResult<toml::Table> {
    let items = table.iter().filter(|(_, value)| !value.is_none());
    items.map(|(key, value)| Ok((key.extract::<String>()?, toml_of(&value)?))).collect()
}

fn text_of(table: &toml::Table) -> PyResult<String> {
    toml::to_string(table).map_err(|error| PyValueError::new_err(format!("recipe: {error}")))
}

/// Edges from a word or a dict of sides, read as a recipe's are.
pub fn edges_of(value: &Bound<'_, PyAny>) -> PyResult<Edges> {
    let mut table = toml::Table::new();
    table.insert("extent".into(), toml::Value::Array(vec![toml::Value::Float(1.0); 2]));
    table.insert("edges".into(), toml_of(value)?);
    Ok(thalweg_sim::recipe::Recipe::parse(&text_of(&table)?).map_err(raised)?.edges)
}

/// Edges by side, as words.
pub fn sides_of(edges: &Edges) -> BTreeMap<&'static str, String> {
    let word = |edge| serde_json::to_value(edge).ok().and_then(|word| Some(word.as_str()?.to_string()));
    SIDES.iter().zip(edges).filter_map(|(side, edge)| Some((*side, word(edge)?))).collect()
}

fn plainly(recipe: thalweg_sim::recipe::Recipe) -> Recipe {
    Recipe { recipe, own_model: false }
}

#[pymethods]
impl Recipe {
    /// A preset.
    #[staticmethod]
    fn preset(name: &str) -> PyResult<Self> {
        let recipe = presets::find_preset(name).map_err(raised)?;
        Ok(Self { own_model: recipe.dem().is_some(), recipe })
    }

    /// The recipe in a file; of an elevation model one in which water is let loose upon it.
    #[staticmethod]
    fn read(path: PathBuf) -> PyResult<Self> {
        thalweg_sim::recipe::Recipe::open(&path).map(plainly).map_err(raised)
    }

    /// The recipe of a text; it may be without a start of its own, for ground that is given.
    #[staticmethod]
    #[pyo3(signature = (text, folder=None, own_model=false))]
    fn parse(text: &str, folder: Option<PathBuf>, own_model: bool) -> PyResult<Self> {
        let mut recipe = thalweg_sim::recipe::Recipe::parse_stages(text, &Models::default()).map_err(raised)?;
        if recipe.start != Start::Given {
            recipe = thalweg_sim::recipe::Recipe::parse(text).map_err(raised)?;
        }
        recipe.folder = folder.unwrap_or_default().into();
        Ok(Self { recipe, own_model })
    }

    /// The recipe that a dict holds, its keys those of the TOML.
    #[staticmethod]
    #[pyo3(signature = (table, folder=None))]
    fn table(table: &Bound<'_, PyDict>, folder: Option<PathBuf>) -> PyResult<Self> {
        Self::parse(&text_of(&table_of(table)?)?, folder, false)
    }

    /// The recipe of one model over ground of one's own.
    #[staticmethod]
    #[pyo3(signature = (model, parameters, seed, sea_level=None, edges=None))]
    fn single(
        model: &str,
        parameters: &Bound<'_, PyDict>,
        seed: u64,
        sea_level: Option<f64>,
        edges: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let mut model = models::find_model(model).map_err(raised)?;
        let items = parameters.iter();
        let given: Vec<_> =
            items.map(|(name, value)| Ok((name.extract::<String>()?, written(&value)?))).collect::<PyResult<_>>()?;
        set_parameters(&mut *model, given.iter().map(|(name, value)| (name.as_str(), value))).map_err(raised)?;
        let mut recipe = thalweg_sim::recipe::Recipe::single(model, seed);
        recipe.sea_level = sea_level;
        recipe.edges = edges.map(edges_of).transpose()?.unwrap_or(recipe.edges);
        Ok(plainly(recipe))
    }

    /// The same recipe with other cells, seed, elevation model and last stage, and with its knobs turned.
    #[pyo3(signature = (*, cells=None, seed=None, from_file=None, until=None, preview=false, age=None, rain=None, relief=None, size=None, sea=None, rock=None))]
    #[allow(clippy::too_many_arguments)] // keywords of Python
    fn with_(
        &self,
        cells: Option<usize>,
        seed: Option<u64>,
        from_file: Option<PathBuf>,
        until: Option<&str>,
        preview: bool,
        age: Option<f64>,
        rain: Option<f64>,
        relief: Option<f64>,
        size: Option<f64>,
        sea: Option<f64>,
        rock: Option<&str>,
    ) -> PyResult<Self> {
        let (mut recipe, mut own_model) = (self.recipe.clone(), self.own_model);
        let turn = || {
            if let Some(from) = from_file {
                let Some(dem) = recipe.dem_mut() else {
                    let problem = "only applies to a recipe that begins with an elevation model, such as `aged`";
                    return Err(Error::conflict("from_file", problem));
                };
                *dem = absolute(&from)?;
                own_model = false;
            }
            recipe.cells = cells.unwrap_or(recipe.cells);
            recipe.seed = seed.unwrap_or(recipe.seed);
            let one = |factor: Option<f64>| factor.unwrap_or(1.0);
            let rock = rock.map(Rock::find).transpose()?;
            let knobs = Knobs { age: one(age), rain: one(rain), relief: one(relief), size: one(size), sea, rock };
            knobs.turn(&mut recipe)?;
            until.map_or(Ok(()), |label| recipe.end_at(label))?;
            if preview {
                recipe.cells = recipe.preview()?;
            }
            Ok(())
        };
        turn().map_err(raised)?;
        Ok(Self { recipe, own_model })
    }

    /// The same recipe with a parameter of a stage set.
    fn set(&self, label: &str, parameter: &str, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut recipe = self.recipe.clone();
        recipe.set(label, parameter, &written(value)?).map_err(raised)?;
        Ok(Self { recipe, own_model: self.own_model })
    }

    /// The parameters of a stage by name.
    fn parameters(&self, label: &str) -> PyResult<Vec<(&'static str, Plain)>> {
        let model = &self.recipe.stages[self.recipe.stage_of(label).map_err(raised)?].model;
        let one = |name: &'static str| Some((name, plain(model.get(name)?)));
        Ok(model.declared().iter().filter_map(|param| one(param.name)).collect())
    }

    /// Label and model of each stage.
    #[getter]
    fn stages(&self) -> Vec<(String, &'static str)> {
        self.recipe.stages.iter().map(|stage| (stage.label.clone(), stage.model.about().name)).collect()
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.recipe.name
    }

    /// A paragraph about the landform.
    #[getter]
    fn about(&self) -> &str {
        self.recipe.about.trim()
    }

    /// Cells on the long side.
    #[getter]
    fn cells(&self) -> usize {
        self.recipe.cells
    }

    /// The seed.
    #[getter]
    fn seed(&self) -> u64 {
        self.recipe.seed
    }

    /// Width and height in metres.
    #[getter]
    fn extent(&self) -> Option<[f64; 2]> {
        self.recipe.extent().map(Into::into)
    }

    /// Sea level in metres.
    #[getter]
    fn sea_level(&self) -> Option<f64> {
        self.recipe.sea_level
    }

    /// The edges by side.
    #[getter]
    fn edges(&self) -> BTreeMap<&'static str, String> {
        sides_of(&self.recipe.edges)
    }

    /// The folder that its paths are relative to.
    #[getter]
    fn folder(&self) -> PathBuf {
        self.recipe.folder.to_path_buf()
    }

    /// Whether it begins with the elevation model that comes with the presets.
    #[getter]
    fn own_model(&self) -> bool {
        self.own_model
    }

    /// The recipe as TOML, every parameter spelt out.
    fn to_toml(&self) -> String {
        self.recipe.to_toml()
    }

    /// Fingerprint of the resolved recipe.
    fn hash(&self) -> String {
        self.recipe.hash()
    }

    /// Writes it into a file.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        self.recipe.save(&path).map_err(raised)
    }
}
