//! Pictures of terrains: arrays of pixels, and PNG files.

use std::io::Write as _;
use std::path::PathBuf;

use numpy::{PyArray1, PyArray3, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use thalweg_core::Error;
use thalweg_core::declare::operation::WorkForm;
use thalweg_io::write_atomically;
use thalweg_models::rocks::Rock;
use thalweg_render::pictures::drawn_land::DrawnLand;
use thalweg_render::pictures::perspective::{self, ViewOptions};
use thalweg_render::pictures::picture::Picture;
use thalweg_render::pictures::shade::{self as shading, ShadeOptions};
use thalweg_render::pictures::water::Water;
use thalweg_render::products::textures::{GroundCover, TextureRules};

use crate::land::Terrain;
use crate::pool::run_on_pool;
use crate::recipe::parse_operation;

type Pixels<'py> = Bound<'py, PyArray3<u8>>;

/// Writes a picture to a file if there is a path, and returns its pixels: rows, columns, and red, green and blue.
fn save_picture<'py>(py: Python<'py>, picture: Picture, path: Option<PathBuf>) -> PyResult<Pixels<'py>> {
    let pixels = run_on_pool(py, || {
        if let Some(path) = &path {
            // The file appears under its name only when it is complete.
            let bytes = picture.to_png().map_err(Error::io(path, "encode"))?;
            write_atomically(path, |file| file.write_all(&bytes).map_err(Error::io(path, "write")))?;
        }
        let [rows, cols] = picture.size();
        // The pixels are copied in the pool, without the interpreter lock.
        let flat: Vec<u8> = picture.rgb.as_slice().as_flattened().to_vec();
        Ok((flat, [rows, cols, 3]))
    });
    let (flat, size) = pixels?;
    PyArray1::from_vec(py, flat).reshape(size)
}

/// Draws a terrain in perspective; `options` are those of the operation `view`.
#[pyfunction]
#[pyo3(signature = (terrain, path, options))]
pub fn view<'py>(
    py: Python<'py>,
    terrain: &Terrain,
    path: Option<PathBuf>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Pixels<'py>> {
    let (ground, options) = (&terrain.0, parse_operation::<ViewOptions>(options, WorkForm::Arrays)?);
    let picture = run_on_pool(py, || {
        options.check()?;
        // Natural colours are computed per sample of the view, which may be finer than the cells.
        let cover = || {
            let cover = GroundCover::from_terrain(ground, &TextureRules::default(), Rock::usual())?;
            Ok(cover.resized(options.sample_size(ground.grid.size))?.from_air())
        };
        let natural = options.natural.then(cover).transpose()?;
        let land =
            DrawnLand { water: Water::from_terrain(ground), natural: natural.as_ref(), ..DrawnLand::from(&**ground) };
        perspective::draw_view(land, &options)
    })?;
    save_picture(py, picture, path)
}

/// Draws a terrain as a shaded map; `options` are those of the operation `shade`.
#[pyfunction]
#[pyo3(signature = (terrain, path, options))]
pub fn shade<'py>(
    py: Python<'py>,
    terrain: &Terrain,
    path: Option<PathBuf>,
    options: &Bound<'py, PyDict>,
) -> PyResult<Pixels<'py>> {
    let (ground, options) = (&terrain.0, parse_operation::<ShadeOptions>(options, WorkForm::Arrays)?);
    let land = DrawnLand { water: Water::from_terrain(ground), ..DrawnLand::from(&**ground) };
    let picture = run_on_pool(py, || shading::draw_map(land, &options))?;
    save_picture(py, picture, path)
}
