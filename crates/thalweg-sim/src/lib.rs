//! Recipes, plans and runs: which models change a terrain, in which order, and on which levels. Also sessions, and
//! endless worlds. For example, a run of the preset `hills` creates noise and then lets rivers incise it.
//!
//! ```
//! use thalweg_sim::{presets, run::Run};
//!
//! let mut recipe = presets::find_preset("hills")?;
//! recipe.cells = 32;
//! let mut run = Run::new(recipe)?;
//! while run.take_step()?.is_some() {}
//! # Ok::<(), thalweg_core::base::error::Error>(())
//! ```

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![deny(clippy::missing_errors_doc, clippy::missing_panics_doc)]

pub mod knobs;
pub mod laws;
pub mod plan;
pub mod presets;
pub mod recipe;
pub mod run;
pub mod session;
pub mod single_model;
pub mod sketch;
pub mod world;
