//! thalweg makes terrain and reads it: ground from noise or from an elevation model, erosion by many models over one
//! ground, drainage, measures, and files for game engines and GIS.
//!
//! A finished world in ten lines:
//!
//! ```
//! use thalweg::{Result, Run, io, presets};
//!
//! fn world(file: &str) -> Result<()> {
//!     let mut recipe = presets::find("hills")?;
//!     recipe.seed = 7;
//! #   recipe.cells = 64;
//!     let mut run = Run::new(recipe)?;
//!     while run.step()?.is_some() {}
//!     io::save(file, run.terrain(), &io::SaveOptions::default())?;
//!     Ok(())
//! }
//! # let folder = tempfile::tempdir().unwrap();
//! # world(folder.path().join("world.tif").to_str().unwrap())?;
//! # Ok::<(), thalweg::Error>(())
//! ```
//!
//! # The tour
//!
//! - A [`Recipe`] says what is to be done: the world's extent in metres, its cells, its seed, and [stages](recipe::Stage), each a
//!   model with parameters. It is read from TOML ([`Recipe::read`]), taken from the [`presets`], or made of one model
//!   ([`Recipe::single`]).
//! - A [`Run`] does it, step by step. The loop is yours, so progress, a pause, a stop and a live view are, too. Between any two steps
//!   it can be saved to a file ([`Run::save`]) and taken up again ([`Run::resume`]) with the same bits to come.
//! - A [`Session`] is a run that is watched, changed and gone back in: an edited recipe goes on from where it must, what is done by hand
//!   is undone, memory stays within a bound.
//! - A [`World`] has all levels of a recipe at once: [any tile of any level](World::tile) is made as it is asked for, the same bits in any order,
//!   with [rivers](World::rivers) that all arrive and can be [followed](World::follow).
//! - A [`Terrain`] is what a run works on and leaves: the ground, loose sediment upon it, and layers such as water or hardness, each a
//!   [`Field`] over a [`Grid`]. It comes from numbers of your own ([`Terrain::from_metres`]), from a file ([`io::load`]: GeoTIFF, PNG,
//!   NPY, ESRI ASCII, raw, SRTM) and goes into one ([`io::save`]).
//! - A [`Model`] is what changes ground. The library's are in [`models`], each with its page: what happens, formula,
//!   source. One of your own is a struct declared with [`params!`] and two small traits; with [`Models::with`](models::Models::with)
//!   recipes know it by its name, and [`laws`] try it.
//!   It may use [`noise`] (functions of the place), [`flow`], and [`process`]: digging to the unit, slopes, the scheduler of particles.
//! - [`flow`] says where water goes: depressions, directions, accumulation, basins, streams. [`rivers`] puts rivers into ground that has
//!   none. [`products`] are what is made of a terrain: measures, meshes, normal maps, lakes, other resolutions. [`pictures`] draws it.
//! - A [`Survey`](survey::Survey) is all of that worked out on an elevation model in one call, with a folder of files for GIS. A
//!   [world's folder](world_folder) holds what a finished run leaves: heights, layers, trees, water, map, recipe, report.
//!
//! Programs for each of these are in `examples/`: a preset, an array eroded, a model of one's own, the drainage of a GeoTIFF, a run
//! with progress.
//!
//! # What is promised
//!
//! Heights are metres in fixed point ([`Height`]), so mass closes to the unit: every step returns a ledger
//! ([`Budget`](model::Budget)), and ground after is ground before plus the ledger. A recipe gives the same bits for any number of
//! threads, on any machine. The library prints nothing, asks nothing, owns no loop, and does not panic on input: what is wrong comes
//! back as an [`Error`] that names the thing, its value and what is allowed.

#![deny(clippy::missing_errors_doc, clippy::missing_panics_doc)]

pub use thalweg_core::{Cell, CellRect, Error, Field, Grid, Height, Result, Terrain};
pub use thalweg_core::{base, choice, declare, params, terrain, with_defaults};
pub use thalweg_export::{export, survey, world_files, world_folder};
pub use thalweg_flow as flow;
pub use thalweg_io as io;
pub use thalweg_models::{model, models, process, rocks};
pub use thalweg_noise::{self as noise, given, strata};
pub use thalweg_refine as local;
pub use thalweg_render::{pictures, products, web};
pub use thalweg_rivers as rivers;
pub use thalweg_sim::{knobs, laws, plan, presets, recipe, run, session, sketch, world};
pub use thalweg_tiled as tiled;

/// The programs of the README and of CONTRIBUTING are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
#[doc = include_str!("../../../CONTRIBUTING.md")]
struct Documents;

pub use model::Model;
pub use models::Models;
pub use recipe::Recipe;
pub use run::Run;
pub use session::Session;
pub use world::World;
