//! Noise, as a function of the position.

use pyo3::prelude::*;
use thalweg_core::base::range::check_range;
use thalweg_core::base::rng::RandomKey;
use thalweg_core::declare::params::{ParamType, Written};
use thalweg_core::{Error, Field, Grid};
use thalweg_noise::fractal::{Fractal, FractalKind, FractalSettings};

use crate::array::field_to_array;
use crate::error::to_python_error;
use crate::pool::run_on_pool;

/// Computes a sum of octaves of gradient noise.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // keywords of Python
pub fn fractal<'py>(
    py: Python<'py>,
    shape: [usize; 2],
    cell_size: f64,
    kind: &str,
    octaves: u32,
    wavelength: f64,
    gain: f64,
    lacunarity: f64,
    seed: u64,
    origin: [i64; 2],
) -> PyResult<Bound<'py, PyAny>> {
    check_range("octaves", f64::from(octaves), 1.0..=24.0).map_err(to_python_error)?;
    check_range("wavelength", wavelength, 1e-2..=1e8).map_err(to_python_error)?;
    check_range("gain", gain, 0.0..=1.0).map_err(to_python_error)?;
    check_range("lacunarity", lacunarity, 1.1..=8.0).map_err(to_python_error)?;
    // Within these bounds the coordinates are exact as floats of 64 bits.
    for n in origin {
        check_range("origin", n as f64, -1e9..=1e9).map_err(to_python_error)?;
    }
    let allowed = FractalKind::kind(..);
    let kind = FractalKind::parse(&Written::from(kind), &allowed)
        .ok_or_else(|| to_python_error(Error::invalid_value("kind", kind, allowed.to_string())))?;
    let mut grid = Grid::new(shape, cell_size).map_err(to_python_error)?;
    grid.origin = origin.into();
    let settings = FractalSettings { kind, lacunarity, ..FractalSettings::fbm(octaves, wavelength, gain) };
    let noise = run_on_pool(py, || {
        let fractal = Fractal::new(&settings, None, RandomKey::new(seed, "noise"), cell_size);
        let mut field = Field::new(shape, 0.0f32);
        use rayon::prelude::*;
        // Each value depends on its position alone, so the rows may be computed in any order.
        field.par_rows_mut().for_each(|(i, row)| fractal.fill_row(&grid, i, row));
        Ok(field)
    })?;
    field_to_array(py, noise)
}
