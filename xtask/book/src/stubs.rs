//! `cargo xtask book`: generates the types of the Python package's model functions from the models' declarations.

use std::fmt::Write as _;

use thalweg_core::declare::params::{ParamKind, Value};
use thalweg_models::model::{Family, Model};
use thalweg_models::models;

const HEAD: &str = "\
# Generated from the models' declarations by `cargo xtask book`.

from collections.abc import Mapping
from typing import Any, Literal, overload

from numpy.typing import NDArray

from ._progress import RunProgress
from ._terrain import Dem
";

/// The arguments that every function has in addition to its model's parameters: `COMMON` of models.py, with types.
const COMMON: &str = "    cell_size: float | None = None,
    nodata: float | None = None,
    unit: str | None = None,
    sea_level: float | None = None,
    edges: str | Mapping[str, str] = \"open\",
    layers: Mapping[str, Any] | None = None,
    seed: int = 1,
    progress: RunProgress = None,
";

/// The file of the stubs.
pub const FILE: &str = "crates/thalweg-py/python/thalweg/models.pyi";

/// Returns the stubs.
pub fn build_stubs() -> String {
    let mut text = HEAD.to_string();
    let names: Vec<&str> = models::all_models().map(|model| model.about().name).collect();
    text.push_str("\n__all__ = [\n");
    for name in names {
        let _ = writeln!(text, "    {name:?},");
    }
    text.push_str("]\n\nCOMMON: dict[str, tuple[Any, str, str]]\nSHAPE: tuple[None, str, str]\n");
    models::all_models().for_each(|model| text.push_str(&format_function(&*model)));
    text
}

fn format_function(model: &dyn Model) -> String {
    let about = model.about();
    let mut own = String::new();
    for param in model.declared() {
        let kind = match param.kind {
            ParamKind::Number { .. } => "float".to_string(),
            ParamKind::Count { .. } => "int".to_string(),
            ParamKind::Switch => "bool".to_string(),
            ParamKind::Choice(words) => {
                let words: Vec<String> = words.iter().map(|(word, _)| format!("{word:?}")).collect();
                format!("Literal[{}]", words.join(", "))
            }
        };
        let default = match param.default {
            Value::Number(x) => format!("{x:?}"),
            Value::Count(n) => n.to_string(),
            Value::Switch(true) => "True".to_string(),
            Value::Switch(false) => "False".to_string(),
            Value::Choice(word) => format!("{word:?}"),
        };
        let _ = writeln!(own, "    {}: {kind} = {default},", param.name);
    }
    // Parameters of the model take precedence; a common argument of the same name gets the prefix `world_`.
    let mut common = COMMON.to_string();
    for param in model.declared() {
        let own = format!("    {}: ", param.name);
        common = common.replace(&own, &own.replacen("    ", "    world_", 1));
    }
    let one = |mark: &str, dem: &str, shape: &str, full: &str, gives: &str| {
        format!("\n{mark}def {}(\n    dem: {dem},\n    *,\n{own}{shape}{common}{full}) -> {gives}: ...\n", about.name)
    };
    let overload = "@overload\n";
    let plain = "    full: Literal[False] = False,\n";
    let full = "    full: Literal[True],\n";
    let shape = "    shape: None = None,\n";
    // Models that change or make terrain have the argument `full`, and so one overload for each type of result. Base
    // models also take a shape if no terrain is given.
    match about.family {
        Family::Analysis => one("", "Any", "", "", "Any"),
        Family::Erosion => one(overload, "Dem", "", plain, "Dem") + &one(overload, "Any", "", full, "Any"),
        Family::Base => {
            let none = "    shape: tuple[int, int],\n";
            one(overload, "Dem", shape, plain, "Dem")
                + &one(overload, "None = None", none, plain, "NDArray[Any]")
                + &one(overload, "Any = None", "    shape: tuple[int, int] | None = None,\n", full, "Any")
        }
    }
}
