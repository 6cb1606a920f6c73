//! What the library declares, for functions, their pages and their checks to be made of.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use thalweg_core::Error;
use thalweg_core::declare::params::{Param, ParamKind, Value};
use thalweg_core::terrain::LayerSpec;
use thalweg_models::model::{Family, Model};
use thalweg_models::rocks::ROCKS;
use thalweg_sim::presets::PRESETS;

/// A value as Python has it.
#[derive(IntoPyObject)]
pub enum Plain {
    Real(f64),
    Whole(u32),
    Switch(bool),
    Word(&'static str),
}

pub fn plain(value: Value) -> Plain {
    match value {
        Value::Number(x) => Plain::Real(x),
        Value::Count(n) => Plain::Whole(n),
        Value::Switch(b) => Plain::Switch(b),
        Value::Choice(word) => Plain::Word(word),
    }
}

/// Name, unit, meaning of a layer.
type Spec = (&'static str, &'static str, &'static str);

/// The declaration of a parameter.
#[derive(IntoPyObject)]
pub struct Declared {
    name: &'static str,
    meaning: &'static str,
    unit: &'static str,
    allowed: String,
    kind: &'static str,
    default: Plain,
    words: Vec<(&'static str, &'static str)>,
    source: &'static str,
}

/// The declaration of a model.
#[derive(IntoPyObject)]
pub struct Page {
    name: &'static str,
    summary: &'static str,
    page: &'static str,
    source: &'static str,
    family: &'static str,
    parameters: Vec<Declared>,
    needs: Vec<Spec>,
    uses: Vec<Spec>,
    writes: Vec<Spec>,
}

fn declared(param: &Param) -> Declared {
    let (kind, words) = match param.kind {
        ParamKind::Number { .. } => ("float", Vec::new()),
        ParamKind::Count { .. } => ("int", Vec::new()),
        ParamKind::Switch => ("bool", Vec::new()),
        ParamKind::Choice(words) => ("str", words.to_vec()),
    };
    Declared {
        name: param.name,
        meaning: param.meaning,
        unit: param.unit,
        allowed: param.kind.to_string(),
        kind,
        default: plain(param.default),
        words,
        source: param.source,
    }
}

fn page(model: &dyn Model) -> Page {
    let about = model.about();
    let specs = |specs: &'static [LayerSpec]| specs.iter().map(|spec| (spec.name, spec.unit, spec.meaning)).collect();
    Page {
        name: about.name,
        summary: about.summary,
        page: model.page(),
        source: about.source,
        family: match about.family {
            Family::Base => "base",
            Family::Erosion => "erosion",
            Family::Analysis => "analysis",
        },
        parameters: model.declared().iter().map(declared).collect(),
        needs: specs(about.needs),
        uses: specs(about.uses),
        writes: specs(about.writes),
    }
}

/// The declarations of all models.
#[pyfunction]
pub fn models() -> Vec<Page> {
    thalweg_models::models::all_models().map(|model| page(&*model)).collect()
}

/// Names of the presets.
#[pyfunction]
pub fn preset_names() -> Vec<&'static str> {
    PRESETS.iter().map(|preset| preset.name).collect()
}

/// Names of the rocks.
#[pyfunction]
pub fn rocks() -> Vec<&'static str> {
    ROCKS.iter().map(|rock| rock.name).collect()
}

/// What is raised where a function of Python is given a keyword that it does not know.
#[pyfunction]
pub fn unknown_keyword(function: &str, name: &str, known: Vec<String>) -> PyErr {
    let error = Error::unknown("keyword", name, known.iter().map(String::as_str));
    PyTypeError::new_err(format!("{function}(): {error}"))
}
