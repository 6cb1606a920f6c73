//! Textures: what covers a terrain.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use thalweg_core::{Error, Field};
use thalweg_export::world_folder::{read_world, reads_of, rules_of};
use thalweg_io::apart::apart;
use thalweg_io::textures::MANIFEST;
use thalweg_io::{LoadOptions, check_textures, draft_textures, output};
use thalweg_models::rocks::Rock;
use thalweg_render::products::normals::Depth;
use thalweg_render::products::textures::{MATERIALS, SeenFrom, TextureOptions, TextureRules, Textures};

use crate::array::array;
use crate::error::raised;
use crate::export::Source;
use crate::land::Terrain;
use crate::pool::work;
use crate::recipe::Recipe;

/// Names of materials, what weights sum to, metres between samples, arrays by name, the terrain that was covered, and what is to be said.
type Found<'py> = (Vec<&'static str>, u16, f64, Bound<'py, PyDict>, Terrain, Vec<String>);

/// Textures of a terrain or of what a path holds; writes them into `folder` where one is given. The rules are the recipe's, else those of
/// the folder's recipe, else the usual ones.
#[pyfunction]
#[pyo3(signature = (source, *, start=None, recipe=None, size=None, bits=8, from_air=false, folder=None))]
#[allow(clippy::too_many_arguments)] // keywords of Python
pub fn textures<'py>(
    py: Python<'py>,
    source: Source<'_>,
    start: Option<&Terrain>,
    recipe: Option<&Recipe>,
    size: Option<usize>,
    bits: u32,
    from_air: bool,
    folder: Option<PathBuf>,
) -> PyResult<Found<'py>> {
    let depth = match bits {
        8 => Depth::Eight,
        16 => Depth::Sixteen,
        _ => return Err(raised(Error::value("bits", bits, "8, 16"))),
    };
    if let Some(size) = size.filter(|size| !(1..=65_536).contains(size)) {
        return Err(raised(Error::value("size", size, "1 to 65536 samples on the longer side")));
    }
    let (held, path) = match source {
        Source::Held(terrain) => (Some(Arc::clone(&terrain.0)), None),
        Source::Path(path) => (None, Some(path)),
    };
    let start = start.map(|terrain| Arc::clone(&terrain.0));
    let rules = recipe.map(|recipe| (recipe.recipe.textures.clone(), recipe.recipe.rock));
    let (made, terrain, said) = work(py, move || {
        let reads = path.as_deref().map(reads_of).unwrap_or_default();
        if let Some(folder) = &folder {
            check_textures(folder)?;
            apart(&reads, &[folder.join(MANIFEST)])?;
        }
        let (terrain, said, own) = match (held, &path) {
            (Some(terrain), _) => (terrain, Vec::new(), None),
            (None, path) => {
                let path = path.clone().unwrap_or_default();
                let (terrain, said) = read_world(&path, &LoadOptions::default())?;
                (Arc::new(terrain), said, Some(rules_of(&path)?))
            }
        };
        let (rules, rock) = rules.or(own).unwrap_or_else(|| (TextureRules::default(), Rock::usual()));
        let seen = if from_air { SeenFrom::Air } else { SeenFrom::Ground };
        let options = TextureOptions { size, depth, seen, start: start.as_deref() };
        let made = Textures::of(&terrain, &rules, rock, &options)?;
        if let Some(folder) = folder {
            output::make_folder(&folder)?;
            draft_textures(&folder, &made)?.commit(&reads)?;
        }
        Ok((made, terrain, said))
    })?;
    let maps = PyDict::new(py);
    let (full, cell) = (made.full, made.cell);
    match depth {
        Depth::Eight => {
            maps.set_item("weights", stacked(py, made.weights.map(|cell| cell.map(|weight| weight as u8)))?)?
        }
        Depth::Sixteen => maps.set_item("weights", stacked(py, made.weights)?)?,
    }
    maps.set_item("albedo", stacked(py, made.albedo)?)?;
    maps.set_item("flow", stacked(py, made.flow)?)?;
    for (name, field) in [("roughness", made.roughness), ("occlusion", made.occlusion), ("curvature", made.curvature)] {
        maps.set_item(name, array(py, field)?)?;
    }
    for (name, field) in [("wear", made.wear), ("deposit", made.deposit)] {
        if let Some(field) = field {
            maps.set_item(name, array(py, field)?)?;
        }
    }
    Ok((MATERIALS.iter().map(|material| material.name).collect(), full, cell, maps, Terrain(terrain), said))
}

/// An array of rows, columns and what stands in each cell.
fn stacked<'py, T: Element + Copy, const N: usize>(
    py: Python<'py>,
    field: Field<[T; N]>,
) -> PyResult<Bound<'py, PyAny>> {
    let [rows, cols] = field.size();
    let flat: Vec<T> = field.as_slice().as_flattened().to_vec();
    Ok(PyArray1::from_vec(py, flat).reshape([rows, cols, N])?.into_any())
}
