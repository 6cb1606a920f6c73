//! The library's declarations, from which the package makes functions, docstrings and checks.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use serde_json::Value as Json;
use thalweg_core::Error;
use thalweg_core::declare::operation::{Arity, OptionKind, OptionSpec, WorkForm, options_for};
use thalweg_core::declare::params::{Param, ParamKind, Value};
use thalweg_core::terrain::LayerSpec;
use thalweg_export::find_operation;
use thalweg_models::model::{Family, Model};
use thalweg_models::rocks::ROCKS;
use thalweg_sim::presets::PRESETS;

use crate::error::to_python_error;

/// A value of a parameter, for Python.
#[derive(IntoPyObject)]
pub enum PythonValue {
    Real(f64),
    Whole(u32),
    Switch(bool),
    Word(&'static str),
    Sizes((u64, u64)),
    Pair((f64, f64)),
}

pub fn value_to_python(value: Value) -> PythonValue {
    match value {
        Value::Number(x) => PythonValue::Real(x),
        Value::Count(n) => PythonValue::Whole(n),
        Value::Switch(b) => PythonValue::Switch(b),
        Value::Choice(word) => PythonValue::Word(word),
    }
}

/// The name, unit and meaning of a layer.
type Spec = (&'static str, &'static str, &'static str);

/// The declaration of a parameter.
#[derive(IntoPyObject)]
pub struct ParameterDeclaration {
    name: &'static str,
    meaning: &'static str,
    unit: &'static str,
    allowed: String,
    kind: &'static str,
    default: PythonValue,
    words: Vec<(&'static str, &'static str)>,
    source: &'static str,
}

/// The declaration of a model.
#[derive(IntoPyObject)]
pub struct ModelPage {
    name: &'static str,
    summary: &'static str,
    page: &'static str,
    source: &'static str,
    family: &'static str,
    parameters: Vec<ParameterDeclaration>,
    needs: Vec<Spec>,
    uses: Vec<Spec>,
    writes: Vec<Spec>,
}

fn describe_parameter(param: &Param) -> ParameterDeclaration {
    let (kind, words) = match param.kind {
        ParamKind::Number { .. } => ("float", Vec::new()),
        ParamKind::Count { .. } => ("int", Vec::new()),
        ParamKind::Switch => ("bool", Vec::new()),
        ParamKind::Choice(words) => ("str", words.to_vec()),
    };
    ParameterDeclaration {
        name: param.name,
        meaning: param.meaning,
        unit: param.unit,
        allowed: param.kind.to_string(),
        kind,
        default: value_to_python(param.default),
        words,
        source: param.source,
    }
}

fn describe_model(model: &dyn Model) -> ModelPage {
    let about = model.about();
    let specs = |specs: &'static [LayerSpec]| specs.iter().map(|spec| (spec.name, spec.unit, spec.meaning)).collect();
    ModelPage {
        name: about.name,
        summary: about.summary,
        page: model.page(),
        source: about.source,
        family: match about.family {
            Family::Base => "base",
            Family::Erosion => "erosion",
            Family::Analysis => "analysis",
        },
        parameters: model.declared().iter().map(describe_parameter).collect(),
        needs: specs(about.needs),
        uses: specs(about.uses),
        writes: specs(about.writes),
    }
}

/// Returns the declarations of all models.
#[pyfunction]
pub fn models() -> Vec<ModelPage> {
    thalweg_models::models::all_models().map(|model| describe_model(&*model)).collect()
}

/// The declaration of an option of an operation.
#[derive(IntoPyObject)]
pub struct DeclaredOption {
    name: &'static str,
    meaning: &'static str,
    unit: &'static str,
    allowed: String,
    kind: String,
    default: Option<PythonValue>,
    required: bool,
    words: Vec<(&'static str, &'static str)>,
}

/// The declaration of an operation.
#[derive(IntoPyObject)]
pub struct OperationPage {
    page: &'static str,
    options: Vec<DeclaredOption>,
}

/// Returns the type of an option's values in the words of a docstring.
fn python_type(option: &OptionSpec) -> String {
    let one = match option.kind {
        OptionKind::Switch => "bool".to_string(),
        OptionKind::Number { .. } => "float".to_string(),
        OptionKind::NumberOr { word, .. } => format!("float or \"{word}\""),
        OptionKind::Count { .. } => "int".to_string(),
        OptionKind::OneOf(numbers) => {
            format!("{{{}}}", numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", "))
        }
        OptionKind::Choice(words) => {
            format!("{{{}}}", words.iter().map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>().join(", "))
        }
        OptionKind::Cell => "(row, column)".to_string(),
        OptionKind::Numbers(names) => format!("({})", names.join(", ")),
        OptionKind::Size => "(rows, columns) or one int for both".to_string(),
        OptionKind::Span { min, max } => format!("(first, last) or int, {min} to {max}"),
        OptionKind::Tiles => "int, (rows, columns), or str such as \"1009px\"".to_string(),
        OptionKind::Limits([first, second]) => format!("({first}, {second}) or True"),
        OptionKind::Path => "path".to_string(),
        OptionKind::Text => "str".to_string(),
        OptionKind::Form(form) => form.allowed.to_string(),
    };
    match option.arity {
        Arity::One => one,
        Arity::Optional if option.is_required => one,
        Arity::Optional => format!("{one}, optional"),
        Arity::List if option.is_named() => "dict, or list of (name, value)".to_string(),
        Arity::List => format!("list of {one}"),
    }
}

/// Converts a default to Python; lists are empty, and an optional value is None.
fn convert_default(option: &OptionSpec) -> Option<PythonValue> {
    match (&option.default, option.kind) {
        (Json::Bool(b), _) => Some(PythonValue::Switch(*b)),
        (Json::Number(n), OptionKind::Count { .. } | OptionKind::OneOf(_)) => {
            // JSON has only one type of number; the kind of the option decides whether Python receives an int.
            n.as_u64().and_then(|n| n.try_into().ok()).map(PythonValue::Whole)
        }
        (Json::Number(x), _) => x.as_f64().map(PythonValue::Real),
        (Json::String(default), OptionKind::Choice(words)) => {
            words.iter().find(|(word, _)| word == default).map(|(word, _)| PythonValue::Word(word))
        }
        (Json::String(default), OptionKind::Form(form)) => {
            form.words.iter().find(|(word, _)| word == default).map(|(word, _)| PythonValue::Word(word))
        }
        (Json::Array(numbers), OptionKind::Size) => match numbers.as_slice() {
            [rows, cols] => rows.as_u64().zip(cols.as_u64()).map(PythonValue::Sizes),
            _ => None,
        },
        (Json::Array(numbers), OptionKind::Numbers(_)) => match numbers.as_slice() {
            [first, second] => first.as_f64().zip(second.as_f64()).map(PythonValue::Pair),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the declaration of the operation `name`, with the options that have an effect with arrays, or with a store.
#[pyfunction]
pub fn operation(name: &str, in_store: bool) -> PyResult<OperationPage> {
    let operation = find_operation(name).map_err(to_python_error)?;
    // Some options have no effect on arrays in memory, others none in a store, so each function offers its own.
    let form = if in_store { WorkForm::Store } else { WorkForm::Arrays };
    let options = options_for(&*operation, form).into_iter().map(|option| DeclaredOption {
        name: option.python_name(),
        meaning: option.meaning,
        unit: option.unit,
        allowed: option.describe_allowed(),
        kind: python_type(&option),
        default: convert_default(&option),
        required: option.is_required,
        words: match option.kind {
            OptionKind::Choice(words) => words.to_vec(),
            OptionKind::Form(form) => form.words.to_vec(),
            _ => Vec::new(),
        },
    });
    Ok(OperationPage { page: operation.page(), options: options.collect() })
}

/// Returns the names of the presets.
#[pyfunction]
pub fn preset_names() -> Vec<&'static str> {
    PRESETS.iter().map(|preset| preset.name).collect()
}

/// Returns the names of the rocks that the option `rock` of `build` accepts, as a list of str.
#[pyfunction]
pub fn rocks() -> Vec<&'static str> {
    ROCKS.iter().map(|rock| rock.name).collect()
}

/// Returns the TypeError for an unknown keyword of a Python function; it names the nearest known one.
#[pyfunction]
pub fn unknown_keyword(function: &str, name: &str, known: Vec<String>) -> PyErr {
    let error = Error::unknown_name("keyword", name, known.iter().map(String::as_str));
    PyTypeError::new_err(format!("{function}(): {error}"))
}
