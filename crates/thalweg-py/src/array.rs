//! Conversion from and to NumPy arrays.

use numpy::ndarray::ArrayView2;
use numpy::{Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use rayon::prelude::*;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::terrain::{CellType, Cells, LayerSpec};
use thalweg_core::{Cell, Error, Field, Grid, Height, Size, Terrain};
use thalweg_io::{HeightReading, LoadOptions, Raster, SampleStatistics, Samples};

use crate::error::to_python_error;
use crate::pool::run_on_pool;

/// A type of number that an array may contain.
trait ArrayNumber: Element + Copy + Sync + Send {
    fn to_real(self) -> f64;
}

macro_rules! numbers {
    ($($type:ident $name:ident),*) => {
        $(impl ArrayNumber for $type {
            fn to_real(self) -> f64 {
                self.into()
            }
        })*

        /// A two-dimensional array that is read without a copy. The package's Python converts arrays of other types,
        /// byte orders and alignments to one of these.
        enum ArrayInput<'py> { $($name(PyReadonlyArray2<'py, $type>)),* }

        impl<'py> ArrayInput<'py> {
            // The types are tried in order; each attempt compares only the type and dimensions of the array.
            fn from_python(array: &Bound<'py, PyAny>) -> PyResult<Self> {
                $(if let Ok(array) = array.extract() {
                    return Ok(Self::$name(array));
                })*
                let kind = array.getattr("dtype").map_or_else(|_| array.get_type().to_string(), |dtype| dtype.to_string());
                let problem = format!("an array of {kind} is not supported; give a two-dimensional array of numbers");
                Err(PyTypeError::new_err(problem))
            }

            fn size(&self) -> [usize; 2] {
                match self { $(Self::$name(array) => array.as_array().dim().into()),* }
            }

            /// Calls `what` with a function that writes a row as real numbers.
            fn rows<T: Send>(&self, py: Python<'_>, what: impl FnOnce(&(dyn Fn(usize, &mut [f64]) + Sync)) -> thalweg_core::base::error::Result<T> + Send) -> PyResult<T> {
                match self { $(Self::$name(array) => {
                    let view = array.as_array();
                    run_on_pool(py, move || what(&|i, row: &mut [f64]| fill(&view, i, row)))
                }),* }
            }
        }
    };
}

numbers!(f32 F32, f64 F64, i16 I16, u16 U16, i32 I32, u32 U32, u8 U8, i8 I8);

impl ArrayInput<'_> {
    /// Returns no samples, of the array's type or, for bytes with a sign, of the narrowest type that contains it.
    fn empty_samples(&self) -> Samples {
        match self {
            Self::F32(_) => Samples::F32(Vec::new()),
            Self::F64(_) => Samples::F64(Vec::new()),
            Self::I8(_) | Self::I16(_) => Samples::I16(Vec::new()),
            Self::U16(_) => Samples::U16(Vec::new()),
            Self::I32(_) => Samples::I32(Vec::new()),
            Self::U32(_) => Samples::U32(Vec::new()),
            Self::U8(_) => Samples::U8(Vec::new()),
        }
    }
}

fn fill<T: ArrayNumber>(view: &ArrayView2<'_, T>, i: usize, row: &mut [f64]) {
    let from = view.row(i);
    match from.as_slice() {
        // A contiguous row is a slice, over which the loop is faster than over a strided view.
        Some(from) => row.iter_mut().zip(from).for_each(|(to, from)| *to = from.to_real()),
        None => row.iter_mut().zip(from.iter()).for_each(|(to, from)| *to = from.to_real()),
    }
}

/// Returns the numbers of rows and columns of an array.
pub fn array_size(array: &Bound<'_, PyAny>) -> PyResult<[usize; 2]> {
    Ok(ArrayInput::from_python(array)?.size())
}

/// Creates a terrain from an array of heights in metres, in which NaN means no data.
///
/// With `find_nodata`, the array is read as a file that declares `nodata`: undeclared values that stand for no data are
/// found too, and the second result are warnings about them. Otherwise `nodata` has no effect.
pub fn build_terrain(
    array: &Bound<'_, PyAny>,
    grid: Grid,
    nodata: Option<f64>,
    find_nodata: bool,
) -> PyResult<(Terrain, Vec<String>)> {
    let given = ArrayInput::from_python(array)?;
    let ([rows, cols], [want_rows, want_cols]) = (given.size(), grid.size);
    if given.size() != grid.size {
        let allowed = format!("{want_rows} × {want_cols} (rows × columns)");
        return Err(to_python_error(Error::invalid_value("height", format!("{rows} × {cols} cells"), allowed)));
    }
    // Heights in memory are metres, also those of the types whose samples would be codes in a file.
    let head = Raster { nodata, scaled: true, ..Raster::new(grid.size, given.empty_samples()) };
    given.rows(array.py(), move |rows| {
        if !find_nodata {
            return Ok((Terrain::from_rows(grid, rows)?, Vec::new()));
        }
        let reading = HeightReading::from_head(&head, None, &LoadOptions::default());
        let look = examine_heights(&reading, grid.size, rows);
        if let Some((Cell { row, col }, value)) = look.infinite {
            let name = format!("height at row {row}, column {col}");
            return Err(Error::invalid_value(name, format!("{value} m"), "-16000 to 16000 m"));
        }
        if look.missing == look.cells {
            // Without any data, the conversion refuses.
            return Ok((Terrain::from_rows(grid, |_, row| row.fill(f64::NAN))?, Vec::new()));
        }
        let resolved = reading.resolve_nodata_and_scale(&look);
        let (reading, warnings) = resolved.map_err(|problem| Error::invalid_content("array", problem))?;
        if nodata.is_none() && warnings.is_empty() {
            // Only NaN means no data, which the conversion knows.
            return Ok((Terrain::from_rows(grid, rows)?, warnings));
        }
        let terrain = Terrain::from_rows(grid, |i, row| {
            rows(i, row);
            let piece = Raster::new([1, row.len()], Samples::F64(row.to_vec()));
            let missing = row.iter_mut().enumerate().filter(|(k, _)| reading.is_missing(&piece, *k));
            missing.for_each(|(_, metres)| *metres = f64::NAN);
        })?;
        Ok((terrain, warnings))
    })
}

/// Returns the statistics of heights; `row` writes those of a row.
fn examine_heights(
    reading: &HeightReading,
    [rows, cols]: Size,
    row: &(dyn Fn(usize, &mut [f64]) + Sync),
) -> SampleStatistics {
    /// The number of cells that are copied at a time: few enough for the cache, and enough for one task.
    const BAND_CELLS: usize = 1 << 16;
    let band = (BAND_CELLS / cols.max(1)).max(1);
    let bands = (0..rows.div_ceil(band)).into_par_iter().map(|n| {
        let (start, end) = (n * band, rows.min((n + 1) * band));
        let mut heights = vec![0.0; (end - start) * cols];
        heights.chunks_mut(cols.max(1)).zip(start..).for_each(|(heights, i)| row(i, heights));
        // The pieces are of 64-bit floats, which contain the numbers of all other types; the head has the type.
        reading.examine_piece(&Raster::new([end - start, cols], Samples::F64(heights)), Cell::new(start, 0))
    });
    bands.reduce(SampleStatistics::default, SampleStatistics::merge)
}

/// Reads an array as real numbers.
pub fn read_reals(array: &Bound<'_, PyAny>) -> PyResult<Field<f64>> {
    let given = ArrayInput::from_python(array)?;
    let size = given.size();
    given.rows(array.py(), move |rows| {
        let mut field = Field::new(size, 0.0);
        field.par_rows_mut().for_each(|(i, row)| rows(i, row));
        Ok(field)
    })
}

/// Reads an array of bytes, such as flow directions.
pub fn read_bytes(array: &Bound<'_, PyAny>) -> PyResult<Field<u8>> {
    let array: PyReadonlyArray2<'_, u8> = array.extract()?;
    let view = array.as_array();
    let (rows, cols) = view.dim();
    Field::from_vec([rows, cols], view.iter().copied().collect()).map_err(to_python_error)
}

/// Converts an array to the cells of a layer. Heights are clamped to their range. NaN and infinity become 0 where the
/// terrain has no data; elsewhere they are refused, as in a file.
pub fn to_layer_cells(array: &Bound<'_, PyAny>, spec: &LayerSpec, nodata: Option<&Field<bool>>) -> PyResult<Cells> {
    let mut reals = read_reals(array)?;
    let spec = *spec;
    run_on_pool(array.py(), move || {
        let cols = reals.cols().max(1);
        let is_void = |k: usize| nodata.is_some_and(|nodata| nodata.as_slice().get(k) == Some(&true));
        let wrong = reals.as_slice().par_iter().enumerate().find_first(|(k, x)| !x.is_finite() && !is_void(*k));
        if let Some((k, x)) = wrong {
            let place = format!("has {x} at row {}, column {}", k / cols, k % cols);
            return Err(Error::invalid_layer(spec.name, format!("{place}; it must be a finite number")));
        }
        reals.as_mut_slice().par_iter_mut().filter(|x| !x.is_finite()).for_each(|x| *x = 0.0);
        Ok(match spec.cells {
            CellType::Height => Cells::Height(reals.map(|metres| Height::from_metres_clamped(*metres))),
            CellType::Float => Cells::Float(reals.map(|x| *x as f32)),
            CellType::Count => Cells::Count(reals.map(|x| *x as u32)),
        })
    })
}

/// Converts a field to an array.
pub fn field_to_array<'py, T: Element>(py: Python<'py>, field: Field<T>) -> PyResult<Bound<'py, PyAny>> {
    let [rows, cols] = field.size();
    Ok(PyArray1::from_vec(py, field.into_vec()).reshape([rows, cols])?.into_any())
}

/// Converts heights to an array of metres, with NaN in no-data cells: f32 if `narrow`, otherwise f64, which is exact.
pub fn heights_to_array<'py>(
    py: Python<'py>,
    heights: &Field<Height>,
    nodata: Option<&Field<bool>>,
    narrow: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let one = |k: usize| match nodata {
        Some(mask) if mask[k] => f64::NAN,
        // The unit is a power of two, so the product is exact in 64 bits.
        _ => f64::from(heights[k].0) * (1.0 / UNITS),
    };
    // Both branches write each value once, in parallel, into the memory that NumPy then takes over without a copy.
    if narrow {
        let values = run_on_pool(py, || Ok((0..heights.len()).into_par_iter().map(|k| one(k) as f32).collect()))?;
        return reshape_values(py, values, heights.size());
    }
    let values = run_on_pool(py, || Ok((0..heights.len()).into_par_iter().map(one).collect()))?;
    reshape_values(py, values, heights.size())
}

fn reshape_values<'py, T: Element>(py: Python<'py>, values: Vec<T>, size: [usize; 2]) -> PyResult<Bound<'py, PyAny>> {
    Ok(PyArray1::from_vec(py, values).reshape(size)?.into_any())
}

/// Converts the cells of a layer to an array without loss: heights to f64 in metres, reals to f32, counts to u32.
pub fn layer_to_array<'py>(py: Python<'py>, cells: &Cells) -> PyResult<Bound<'py, PyAny>> {
    match cells {
        Cells::Height(field) => heights_to_array(py, field, None, false),
        Cells::Float(field) => field_to_array(py, field.clone()),
        Cells::Count(field) => field_to_array(py, field.clone()),
    }
}

/// Converts pairs of row and column to cells.
pub fn cells_of_pairs(pairs: Vec<[usize; 2]>) -> Vec<Cell> {
    pairs.into_iter().map(Cell::from).collect()
}

/// Converts cells to an array with the columns row and column.
pub fn cells_to_array<'py>(py: Python<'py>, cells: &[Cell]) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let flat: Vec<i64> = cells.iter().flat_map(|cell| [cell.row as i64, cell.col as i64]).collect();
    PyArray1::from_vec(py, flat).reshape([cells.len(), 2])
}
