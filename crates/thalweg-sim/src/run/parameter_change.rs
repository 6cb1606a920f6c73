//! Changes that a caller makes between two steps: parameters of stages, and springs.

use serde::{Deserialize, Serialize};

use crate::run::Run;
use crate::run::report::collect_parameters;
use crate::run::turns::plan_checked_turns;
use thalweg_core::declare::params::{Value, Written};
use thalweg_core::{Error, Result};
use thalweg_noise::input_tables::springs::{self, SPRINGS, Spring};

/// The change of a parameter between two steps of its stage. For example, a user may lower the rain of a stage after
/// its tenth step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ParameterChange {
    /// Number of steps that the stage had taken before.
    pub(crate) step: u32,
    /// The parameter's name.
    pub parameter: String,
    /// Its value until then.
    pub from: serde_json::Value,
    /// Its value from then on.
    pub to: serde_json::Value,
}

impl Run {
    /// Changes a parameter of a stage that is not done, between two steps. Later steps are those of a run that had
    /// the value from there on; the report lists the change, and a checkpoint preserves it.
    ///
    /// # Errors
    /// Returns an error, and changes nothing, if there is no such stage or parameter, the stage is done, the value is
    /// not allowed, or it would leave the stage no more steps than it has taken.
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
    /// run.take_step()?;
    /// run.set_parameter("thermal", "rate", &0.5.into())?;
    /// assert_eq!(run.reports()[0].changes[0].parameter, "rate");
    /// // One step has been taken, so there must be at least two.
    /// assert!(run.set_parameter("thermal", "steps", &1u32.into()).is_err());
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub fn set_parameter(&mut self, label: &str, parameter: &str, value: &Written) -> Result<()> {
        let labels = self.recipe.stages.iter().map(|stage| stage.label.as_str());
        let number = labels.clone().position(|known| known == label);
        let number = number.ok_or_else(|| Error::unknown_name("stage", label, labels))?;
        if !self.turns.iter().skip(self.turn).any(|turn| turn.stage == Some(number)) {
            return Err(Error::invalid_value("stage", label, "a stage that has not finished yet"));
        }
        let here = self.turns.get(self.turn).copied().filter(|turn| turn.stage == Some(number));
        let Some(stage) = self.recipe.stages.get_mut(number) else { return Ok(()) };
        let owner = stage.model.about().name;
        let before = stage.model.get(parameter);
        stage.model.set(owner, parameter, value)?;
        let after = stage.model.get(parameter);
        let Some(before) = before.filter(|before| Some(*before) != after) else { return Ok(()) };
        let taken = if here.is_some() { self.step } else { 0 };
        // The old value is restored if the plan is invalid with the new one, or if no step would be left.
        let refusal = match plan_checked_turns(&self.recipe, &self.grids) {
            Ok(_) if taken > 0 && here.is_some_and(|turn| self.steps_in_turn(turn) <= taken) => {
                let allowed = format!("a value that gives the stage more than the {taken} steps already taken");
                Some(Error::invalid_value(format!("{owner}.{parameter}"), value, allowed))
            }
            checked => checked.err(),
        };
        let Some(stage) = self.recipe.stages.get_mut(number) else { return Ok(()) };
        if let Some(refusal) = refusal {
            stage.model.set(owner, parameter, &before.into())?;
            return Err(refusal);
        }
        // The running stepper may have copied the parameter.
        if here.is_some() {
            self.stepper = None;
        }
        if let Some((report, turn)) = here.and_then(|turn| Some((self.reports.get_mut(self.turn)?, turn))) {
            let json = |value: Option<Value>| serde_json::to_value(value).unwrap_or_default();
            let change = ParameterChange {
                step: taken,
                parameter: parameter.to_string(),
                from: json(Some(before)),
                to: json(after),
            };
            report.parameters = collect_parameters(&*stage.model_for_pass(turn.pass)?);
            report.changes.push(change);
        }
        Ok(())
    }

    /// Adds a spring that flows from now on, until the running stage ends. A checkpoint preserves it.
    ///
    /// # Errors
    /// Returns an error if the stage's model reads no springs, a number of the spring is out of its range, it is
    /// outside the world, or the terrain's table of springs has other columns. For example, the model `thermal` reads
    /// no springs.
    pub fn add_spring(&mut self, spring: Spring) -> Result<()> {
        match self.stage_for_turn(self.turn) {
            Some(stage) if stage.reads_springs() => springs::add_springs(&mut self.terrain, &[spring]),
            Some(stage) => {
                let model = stage.model.about().name;
                let problem = format!(
                    "cannot be added while `{model}` runs; only models with a table of {SPRINGS} accept springs"
                );
                Err(Error::unsupported("a spring", problem))
            }
            None => Err(Error::unsupported("a spring", "cannot be added after the last stage")),
        }
    }
}
