//! The erosion and terrain models of thalweg, and the processes that they are made of.
//!
//! A model is a struct of declared parameters that implements [`Model`](model::Model); its [`Stepper`](model::Stepper)
//! changes a terrain step by step and returns the mass balance of each step. [`models`] lists all of them.
//!
//! ```
//! use thalweg_models::models::Models;
//!
//! let thermal = Models::default().find("thermal")?;
//! assert!(thermal.declared().iter().any(|parameter| parameter.name == "talus"));
//! # Ok::<(), thalweg_core::base::error::Error>(())
//! ```

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![deny(clippy::missing_errors_doc, clippy::missing_panics_doc)]

pub mod model;
pub mod models;
pub mod process;
pub mod rocks;
