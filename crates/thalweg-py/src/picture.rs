//! Pictures of terrains: arrays of pixels, and PNG files.

use std::io::Write as _;
use std::path::PathBuf;

use numpy::{PyArray1, PyArray3, PyArrayMethods};
use pyo3::prelude::*;
use thalweg_core::Error;
use thalweg_io::write_atomically;
use thalweg_render::pictures::light::Sun;
use thalweg_render::pictures::perspective::{self, ViewOptions};
use thalweg_render::pictures::picture::Picture;
use thalweg_render::pictures::ramps::Ramp;
use thalweg_render::pictures::shade::{self as shading, ShadeOptions};
use thalweg_render::pictures::water::Water;

use crate::error::to_python_error;
use crate::land::Terrain;
use crate::pool::run_on_pool;

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

fn parse_ramp(name: Option<&str>) -> PyResult<&'static Ramp> {
    name.map_or(Ok(Ramp::land()), Ramp::find).map_err(to_python_error)
}

fn parse_sun(sun: Option<[f64; 2]>) -> Sun {
    sun.map_or_else(Sun::default, |[azimuth, altitude]| Sun { azimuth, altitude })
}

/// Draws a terrain in perspective.
#[pyfunction]
#[pyo3(signature = (terrain, path=None, *, size=None, azimuth=None, elevation=None, zoom=None, exaggeration=None, ramp=None, sun=None, title=None))]
#[allow(clippy::too_many_arguments)] // keywords of Python
pub fn view<'py>(
    py: Python<'py>,
    terrain: &Terrain,
    path: Option<PathBuf>,
    size: Option<[usize; 2]>,
    azimuth: Option<f64>,
    elevation: Option<f64>,
    zoom: Option<f64>,
    exaggeration: Option<f64>,
    ramp: Option<&str>,
    sun: Option<[f64; 2]>,
    title: Option<&str>,
) -> PyResult<Pixels<'py>> {
    let ground = &terrain.0;
    let usual = ViewOptions::default();
    let options = ViewOptions {
        size: size.unwrap_or(usual.size),
        azimuth: azimuth.unwrap_or(usual.azimuth),
        elevation: elevation.unwrap_or(usual.elevation),
        zoom: zoom.unwrap_or(usual.zoom),
        exaggeration,
        ramp: parse_ramp(ramp)?,
        sun: parse_sun(sun),
        water: Water::from_terrain(ground),
        title,
        ..usual
    };
    let picture = run_on_pool(py, || perspective::draw_view(ground, &options))?;
    save_picture(py, picture, path)
}

/// Draws a terrain as a shaded map.
#[pyfunction]
#[pyo3(signature = (terrain, path=None, *, max_size=None, exaggeration=None, ramp=None, sun=None, scale_bar=false, legend=false))]
#[allow(clippy::too_many_arguments)] // keywords of Python
pub fn shade<'py>(
    py: Python<'py>,
    terrain: &Terrain,
    path: Option<PathBuf>,
    max_size: Option<usize>,
    exaggeration: Option<f64>,
    ramp: Option<&str>,
    sun: Option<[f64; 2]>,
    scale_bar: bool,
    legend: bool,
) -> PyResult<Pixels<'py>> {
    let ground = &terrain.0;
    let options = ShadeOptions {
        ramp: parse_ramp(ramp)?,
        sun: parse_sun(sun),
        exaggeration,
        water: Water::from_terrain(ground),
        scale_bar,
        legend,
        max_size,
        ..ShadeOptions::default()
    };
    let picture = run_on_pool(py, || shading::draw_map(ground, &options))?;
    save_picture(py, picture, path)
}
