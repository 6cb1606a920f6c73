//! Textures: the cover of a terrain.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use thalweg_core::Field;
use thalweg_core::declare::operation::WorkForm;
use thalweg_export::world_folder::{list_input_files, read_texture_rules, read_world};
use thalweg_io::file_identity::check_distinct_files;
use thalweg_io::textures::MANIFEST;
use thalweg_io::{LoadOptions, check_textures, draft_textures, output};
use thalweg_models::rocks::Rock;
use thalweg_render::products::normals::PngDepth;
use thalweg_render::products::textures::{MATERIALS, TextureOptions, TextureRules, Textures};

use crate::array::field_to_array;
use crate::export::TerrainSource;
use crate::land::Terrain;
use crate::pool::run_on_pool;
use crate::recipe::{Recipe, parse_operation};

/// Names of materials, sum of the weights, metres between samples, arrays by name, the covered terrain, and warnings.
type Found<'py> = (Vec<&'static str>, u16, f64, Bound<'py, PyDict>, Terrain, Vec<String>);

/// Computes the textures of a terrain or of the file or folder at a path, and writes them to `folder` if there is one.
/// The rules are those of the recipe, otherwise those of the folder's recipe, otherwise the default ones.
#[pyfunction]
#[pyo3(signature = (source, options, *, start=None, recipe=None, folder=None))]
pub fn textures<'py>(
    py: Python<'py>,
    source: TerrainSource<'_>,
    options: &Bound<'py, PyDict>,
    start: Option<&Terrain>,
    recipe: Option<&Recipe>,
    folder: Option<PathBuf>,
) -> PyResult<Found<'py>> {
    let options: TextureOptions = parse_operation(options, WorkForm::Arrays)?;
    let (held, path) = match source {
        TerrainSource::Held(terrain) => (Some(Arc::clone(&terrain.0)), None),
        TerrainSource::Path(path) => (None, Some(path)),
    };
    let start = start.map(|terrain| Arc::clone(&terrain.0));
    let rules = recipe.map(|recipe| (recipe.recipe.textures.clone(), recipe.recipe.rock));
    let (made, terrain, said) = run_on_pool(py, move || {
        let reads = path.as_deref().map(list_input_files).unwrap_or_default();
        if let Some(folder) = &folder {
            // A folder that may not be written to is refused before the computation, which may take long.
            check_textures(folder)?;
            check_distinct_files(&reads, &[folder.join(MANIFEST)])?;
        }
        let (terrain, said, own) = match (held, &path) {
            (Some(terrain), _) => (terrain, Vec::new(), None),
            (None, path) => {
                let path = path.clone().unwrap_or_default();
                let (terrain, said) = read_world(&path, &LoadOptions::default())?;
                (Arc::new(terrain), said, Some(read_texture_rules(&path)?))
            }
        };
        // The given recipe takes precedence over the folder's own.
        let (rules, rock) = rules.or(own).unwrap_or_else(|| (TextureRules::default(), Rock::usual()));
        let made = Textures::from_terrain(&terrain, &rules, rock, &options, start.as_deref())?;
        if let Some(folder) = folder {
            output::make_folder(&folder)?;
            draft_textures(&folder, &made)?.commit(&reads)?;
        }
        Ok((made, terrain, said))
    })?;
    let maps = PyDict::new(py);
    let (full, cell) = (made.full, made.cell);
    match options.bits {
        PngDepth::Eight => {
            // The weights of a cell sum to `full`, which is 255 here, so each fits into 8 bits.
            maps.set_item("weights", stack_elements(py, made.weights.map(|cell| cell.map(|weight| weight as u8)))?)?
        }
        PngDepth::Sixteen => maps.set_item("weights", stack_elements(py, made.weights)?)?,
    }
    maps.set_item("albedo", stack_elements(py, made.albedo)?)?;
    maps.set_item("flow", stack_elements(py, made.flow)?)?;
    for (name, field) in [("roughness", made.roughness), ("occlusion", made.occlusion), ("curvature", made.curvature)] {
        maps.set_item(name, field_to_array(py, field)?)?;
    }
    for (name, field) in [("wear", made.wear), ("deposit", made.deposit)] {
        if let Some(field) = field {
            maps.set_item(name, field_to_array(py, field)?)?;
        }
    }
    Ok((MATERIALS.iter().map(|material| material.name).collect(), full, cell, maps, Terrain(terrain), said))
}

/// Converts a field of arrays to an array with the axes row, column and element.
fn stack_elements<'py, T: Element + Copy, const N: usize>(
    py: Python<'py>,
    field: Field<[T; N]>,
) -> PyResult<Bound<'py, PyAny>> {
    let [rows, cols] = field.size();
    let flat: Vec<T> = field.as_slice().as_flattened().to_vec();
    Ok(PyArray1::from_vec(py, flat).reshape([rows, cols, N])?.into_any())
}
