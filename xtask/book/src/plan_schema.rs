//! `cargo xtask book`: writes the JSON Schema of plans into the documentation.

use std::path::PathBuf;

use xtask::files;
use xtask::shell::{Outcome, repository_root};

/// Writes the schema.
pub fn write_plan_schema() -> Outcome {
    files::write_file(&schema_path(), format_plan_schema())
}

/// Checks that the existing schema is the one that [`write_plan_schema()`] would write.
pub fn check_plan_schema() -> Outcome {
    // Git on Windows may have converted the line endings.
    let is_current = files::read_text(&schema_path())?.replace("\r\n", "\n") == format_plan_schema();
    if is_current { Ok(()) } else { Err(format!("{} is stale: run `cargo xtask book`", schema_path().display())) }
}

fn schema_path() -> PathBuf {
    repository_root().join("docs/plan.schema.json")
}

fn format_plan_schema() -> String {
    format!("{:#}\n", thalweg_store::plan_schema())
}
