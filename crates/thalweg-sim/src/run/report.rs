//! [`StageReport`]: the report of one turn, and the report of the whole run as JSON.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::recipe::Stage;
use crate::run::{ParameterChange, Run};
use thalweg_models::model::{MassBalance, Model};

/// The report of one turn: a stage on one level, or a step from level to level.
///
/// # Examples
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_models::models::thermal::Thermal;
/// use thalweg_sim::recipe::Recipe;
/// use thalweg_sim::run::Run;
///
/// let terrain = Terrain::from_metres(Grid::new([1, 2], 10.0)?, &[100.0, 0.0])?;
/// let recipe = Recipe::with_single_stage(Box::new(Thermal { steps: 4, ..Thermal::default() }), 1);
/// let mut run = Run::with_terrain(recipe, terrain)?;
/// while run.take_step()?.is_some() {}
/// let report = &run.reports()[0];
/// assert_eq!((report.label.as_str(), report.steps, report.cells), ("thermal", 4, 2));
/// assert_eq!(report.parameters["steps"], 4);
/// // Nothing has left the map.
/// assert_eq!(report.mass_balance.solid_change(), 0);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StageReport {
    /// The stage's label; for a turn without a stage, that of [`Run::label`].
    pub label: String,
    /// Name of its model; for a turn without a stage `finer`, `local` or `trim`.
    pub model: String,
    /// Its parameters: an object of their values by name; empty without a stage.
    pub parameters: serde_json::Value,
    /// Wall-clock seconds spent in its steps and strokes.
    pub seconds: f64,
    /// Number of cells of its level's grid.
    pub cells: u64,
    /// Number of steps taken.
    pub steps: u32,
    /// Its mass balance, including that of its strokes. Checkpoints contain it under its first name.
    #[serde(rename = "budget")]
    pub mass_balance: MassBalance,
    /// The level on which it ran, from 0, the coarsest.
    pub level: usize,
    /// True if the stage was skipped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub muted: bool,
    /// Parameters that were changed while it ran; `parameters` has their last values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ParameterChange>,
}

impl StageReport {
    pub(super) fn empty(level: usize, cells: u64) -> Self {
        Self {
            label: String::new(),
            model: String::new(),
            parameters: json!({}),
            seconds: 0.0,
            cells,
            steps: 0,
            mass_balance: MassBalance::default(),
            level,
            muted: false,
            changes: Vec::new(),
        }
    }
}

impl Run {
    /// Returns the reports of the turns so far, one for each that has begun, in order.
    pub fn reports(&self) -> &[StageReport] {
        &self.reports
    }

    /// Returns the report of the run so far (its JSON Schema is in the documentation): for each stage its model,
    /// parameters, seconds, steps and mass balance; then the fingerprint of every layer and table. If there are local
    /// levels, also the local form of each stage.
    pub fn report(&self) -> serde_json::Value {
        let grid = &self.terrain.grid;
        // The conversion goes through text: a sum beyond 64 bits then becomes a floating-point number instead of a
        // failure.
        let stages = serde_json::to_vec(&self.reports).and_then(|text| serde_json::from_slice(&text));
        let mut stages: serde_json::Value = stages.unwrap_or_default();
        for stage in stages.as_array_mut().into_iter().flatten().filter_map(serde_json::Value::as_object_mut) {
            if let Some(balance) = stage.remove("budget") {
                stage.insert("mass_balance".to_string(), balance);
            }
        }
        let mut report = json!({
            "thalweg": env!("CARGO_PKG_VERSION"),
            "recipe": self.recipe.name,
            "recipe_hash": self.recipe.hash(),
            "seed": self.recipe.seed,
            "rows": grid.rows(),
            "columns": grid.cols(),
            "cell_size": grid.cell,
            "nodata_cells": self.terrain.nodata_count(),
            "complete": self.is_done(),
            "stages": stages,
            "idle": self.idle_stages(),
            "fingerprints": self.terrain.fingerprints(),
        });
        if self.recipe.local_levels().is_ok_and(|levels| levels > 0) {
            let forms = self.recipe.stages.iter().zip(self.recipe.local_forms());
            let form = |(stage, (label, form)): (&Stage, (&str, Option<&str>))| {
                let form = form.filter(|_| !stage.muted);
                json!({"label": label, "model": stage.model.about().name, "form": form})
            };
            report["local_forms"] = forms.map(form).collect();
        }
        report
    }
}

/// Returns the parameters of a model, by name.
pub(super) fn collect_parameters(model: &dyn Model) -> serde_json::Value {
    let value = |name: &str| serde_json::to_value(model.get(name)?).ok();
    let declared = model.declared();
    declared.iter().filter_map(|p| Some((p.name.to_string(), value(p.name)?))).collect()
}
