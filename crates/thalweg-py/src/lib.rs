//! `thalweg._core`: the extension module of the Python package `thalweg`.
//!
//! It only converts between Python's values and the library's; the user's interface is written in `python/thalweg`.

mod array;
mod declared;
mod error;
mod export;
mod flow;
mod ground;
mod land;
mod noise;
mod picture;
mod pool;
mod recipe;
mod reshape;
mod run;
mod store;
mod survey;
mod textures;
mod world;

use pyo3::prelude::*;

/// The core of the package thalweg.
#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::declared::{models, operation, preset_names, rocks, unknown_keyword};
    #[pymodule_export]
    use crate::export::{export, export_targets, mesh};
    #[pymodule_export]
    use crate::flow::{
        accumulate, basins, breach, chi, d8, dinf, fill, hierarchy, ksn, looped, multiple, orders, outlet_distance,
        reaches, upstream_length,
    };
    #[pymodule_export]
    use crate::ground::{gradient, measure, slope_of};
    #[pymodule_export]
    use crate::land::{Terrain, cell_of, load};
    #[pymodule_export]
    use crate::noise::fractal;
    #[pymodule_export]
    use crate::picture::{shade, view};
    #[pymodule_export]
    use crate::pool::{_panic, set_threads, threads};
    #[pymodule_export]
    use crate::recipe::Recipe;
    #[pymodule_export]
    use crate::reshape::{crop, resample};
    #[pymodule_export]
    use crate::run::Run;
    #[pymodule_export]
    use crate::store::{Work, plan_apply, plan_build, plan_drain, verify};
    #[pymodule_export]
    use crate::survey::drain;
    #[pymodule_export]
    use crate::textures::textures;
    #[pymodule_export]
    use crate::world::World;

    #[pymodule_init]
    fn begin(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // The hook is installed before any work can panic.
        crate::pool::note_panics();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
