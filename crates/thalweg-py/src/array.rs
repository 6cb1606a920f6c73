//! NumPy's arrays, in and out.

use numpy::ndarray::ArrayView2;
use numpy::{Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use rayon::prelude::*;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{CellType, Cells};
use thalweg_core::{Cell, Error, Field, Grid, Height, Terrain};

use crate::error::raised;
use crate::pool::work;

/// A number that is a height, a weight or the like.
trait Number: Element + Copy + Sync + Send {
    fn real(self) -> f64;
}

macro_rules! numbers {
    ($($type:ident $name:ident),*) => {
        $(impl Number for $type {
            fn real(self) -> f64 {
                self.into()
            }
        })*

        /// Two-dimensional numbers that are read as they lie. Arrays of other types, byte orders and alignments are made into such by the
        /// package's Python.
        enum Given<'py> { $($name(PyReadonlyArray2<'py, $type>)),* }

        impl<'py> Given<'py> {
            fn of(array: &Bound<'py, PyAny>) -> PyResult<Self> {
                $(if let Ok(array) = array.extract() {
                    return Ok(Self::$name(array));
                })*
                let kind = array.getattr("dtype").map_or_else(|_| array.get_type().to_string(), |dtype| dtype.to_string());
                Err(PyTypeError::new_err(format!("an array of {kind}: allowed are two-dimensional arrays of numbers")))
            }

            fn size(&self) -> [usize; 2] {
                match self { $(Self::$name(array) => array.as_array().dim().into()),* }
            }

            /// The numbers as reals.
            fn rows<T: Send>(&self, py: Python<'_>, what: impl FnOnce(&(dyn Fn(usize, &mut [f64]) + Sync)) -> thalweg_core::base::error::Result<T> + Send) -> PyResult<T> {
                match self { $(Self::$name(array) => {
                    let view = array.as_array();
                    work(py, move || what(&|i, row: &mut [f64]| fill(&view, i, row)))
                }),* }
            }
        }
    };
}

numbers!(f32 F32, f64 F64, i16 I16, u16 U16, i32 I32, u32 U32, u8 U8, i8 I8);

fn fill<T: Number>(view: &ArrayView2<'_, T>, i: usize, row: &mut [f64]) {
    let from = view.row(i);
    match from.as_slice() {
        Some(from) => row.iter_mut().zip(from).for_each(|(to, from)| *to = from.real()),
        None => row.iter_mut().zip(from.iter()).for_each(|(to, from)| *to = from.real()),
    }
}

/// Rows and columns of an array.
pub fn size_of(array: &Bound<'_, PyAny>) -> PyResult<[usize; 2]> {
    Ok(Given::of(array)?.size())
}

/// A terrain over an array of heights in metres. NaN is no data, and so is `nodata`.
pub fn terrain_of(array: &Bound<'_, PyAny>, grid: Grid, nodata: Option<f64>) -> PyResult<Terrain> {
    let given = Given::of(array)?;
    let ([rows, cols], [want_rows, want_cols]) = (given.size(), grid.size);
    if given.size() != grid.size {
        let allowed = format!("{want_rows} × {want_cols} (rows × columns)");
        return Err(raised(Error::value("height", format!("{rows} × {cols} cells"), allowed)));
    }
    given.rows(array.py(), move |rows| match nodata {
        None => Terrain::from_rows(grid, rows),
        Some(nodata) => Terrain::from_rows(grid, |i, row| {
            rows(i, row);
            row.iter_mut().filter(|metres| **metres == nodata).for_each(|metres| *metres = f64::NAN);
        }),
    })
}

/// Real numbers of an array.
pub fn reals(array: &Bound<'_, PyAny>) -> PyResult<Field<f64>> {
    let given = Given::of(array)?;
    let size = given.size();
    given.rows(array.py(), move |rows| {
        let mut field = Field::new(size, 0.0);
        field.par_rows_mut().for_each(|(i, row)| rows(i, row));
        Ok(field)
    })
}

/// Bytes of an array, as directions are.
pub fn bytes(array: &Bound<'_, PyAny>) -> PyResult<Field<u8>> {
    let array: PyReadonlyArray2<'_, u8> = array.extract()?;
    let view = array.as_array();
    let (rows, cols) = view.dim();
    Field::from_vec([rows, cols], view.iter().copied().collect()).map_err(raised)
}

/// The cells of a layer of that type from an array. Heights are held within what they may be; NaN is 0.
pub fn cells(array: &Bound<'_, PyAny>, kind: CellType) -> PyResult<Cells> {
    let reals = reals(array)?;
    work(array.py(), move || {
        Ok(match kind {
            CellType::Height => Cells::Height(reals.map(|metres| Height::saturating(*metres))),
            CellType::Float => Cells::Float(reals.map(|x| *x as f32)),
            CellType::Count => Cells::Count(reals.map(|x| *x as u32)),
        })
    })
}

/// An array of what stands in a field's cells.
pub fn array<'py, T: Element>(py: Python<'py>, field: Field<T>) -> PyResult<Bound<'py, PyAny>> {
    let [rows, cols] = field.size();
    Ok(PyArray1::from_vec(py, field.into_vec()).reshape([rows, cols])?.into_any())
}

/// Metres of heights, NaN where the mask says that there is no data; f32 if they are to be narrow, else f64, which is exact.
pub fn metres<'py>(
    py: Python<'py>,
    heights: &Field<Height>,
    nodata: Option<&Field<bool>>,
    narrow: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let one = |k: usize| match nodata {
        Some(mask) if mask[k] => f64::NAN,
        _ => f64::from(heights[k].0) * (1.0 / UNITS),
    };
    if narrow {
        let values = work(py, || Ok((0..heights.len()).into_par_iter().map(|k| one(k) as f32).collect()))?;
        return shaped(py, values, heights.size());
    }
    let values = work(py, || Ok((0..heights.len()).into_par_iter().map(one).collect()))?;
    shaped(py, values, heights.size())
}

fn shaped<'py, T: Element>(py: Python<'py>, values: Vec<T>, size: [usize; 2]) -> PyResult<Bound<'py, PyAny>> {
    Ok(PyArray1::from_vec(py, values).reshape(size)?.into_any())
}

/// The cells of a layer, as exact as they are: heights as f64 in metres, reals as f32, counts as u32.
pub fn layer<'py>(py: Python<'py>, cells: &Cells) -> PyResult<Bound<'py, PyAny>> {
    match cells {
        Cells::Height(field) => metres(py, field, None, false),
        Cells::Float(field) => array(py, field.clone()),
        Cells::Count(field) => array(py, field.clone()),
    }
}

/// Cells from rows and columns, as Python gives them.
pub fn cells_of_pairs(pairs: Vec<[usize; 2]>) -> Vec<Cell> {
    pairs.into_iter().map(Cell::from).collect()
}

/// Cells (row, column) as an array of two columns.
pub fn places<'py>(py: Python<'py>, cells: &[Cell]) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let flat: Vec<i64> = cells.iter().flat_map(|cell| [cell.row as i64, cell.col as i64]).collect();
    PyArray1::from_vec(py, flat).reshape([cells.len(), 2])
}
