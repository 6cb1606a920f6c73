//! `cargo xtask book`: writes the JSON Schema of plans into the documentation.

use xtask::shell::Outcome;

use crate::generated;

const FILE: &str = "docs/plan.schema.json";

/// Writes the schema.
pub fn write_plan_schema() -> Outcome {
    generated::write_generated(FILE, &format_plan_schema())
}

/// Checks that the existing schema is the one that [`write_plan_schema()`] would write.
pub fn check_plan_schema() -> Outcome {
    generated::check_generated(FILE, &format_plan_schema())
}

fn format_plan_schema() -> String {
    format!("{:#}\n", thalweg_store::plan_schema())
}
