//! Conversions between JavaScript's typed arrays and fields, row by row from the north.

use js_sys::{Float32Array, Float64Array, Uint32Array};
use thalweg_core::terrain::Cells;
use thalweg_core::terrain::height::UNITS;
use thalweg_core::{Error, Field, Height};
use wasm_bindgen::{JsCast as _, JsValue};

use crate::error::Result;
use crate::options::format_value;

/// Reads an array with one number per cell.
///
/// # Errors
/// Returns an error if the value is not an array of numbers, or does not have one number per cell.
pub fn read_reals(name: &str, value: &JsValue, [rows, cols]: [usize; 2]) -> Result<Vec<f64>> {
    let allowed = "a Float64Array, Float32Array, or another typed array of numbers";
    // The lengths are compared before anything is copied into the memory of the module.
    let length = |length: u32| match rows.checked_mul(cols) {
        Some(cells) if cells == length as usize => Ok(()),
        _ => Err(Error::invalid_value(name, format!("{length} numbers"), format!("{rows} × {cols} (rows × cols)"))),
    };
    if let Some(array) = value.dyn_ref::<Float64Array>() {
        length(array.length())?;
        return Ok(array.to_vec());
    }
    if let Some(array) = value.dyn_ref::<Float32Array>() {
        length(array.length())?;
        return Ok(array.to_vec().into_iter().map(f64::from).collect());
    }
    // The constructor accepts integers of any width, and plain arrays.
    let is_list = js_sys::Array::is_array(value) || js_sys::ArrayBuffer::is_view(value);
    // A view without a type has no elements, and those of a BigInt64Array are no numbers.
    if !is_list || value.has_type::<js_sys::DataView>() || value.has_type::<js_sys::BigInt64Array>() {
        let said = match () {
            () if value.has_type::<js_sys::DataView>() => "a DataView".to_string(),
            () if is_list => "an array of BigInt".to_string(),
            () => format_value(value),
        };
        return Err(Error::invalid_value(name, said, allowed).into());
    }
    let array = Float64Array::new(value);
    length(array.length())?;
    Ok(array.to_vec())
}

/// Returns a height in metres, or NaN in a no-data cell.
fn to_metres(height: Height, is_there: bool) -> f64 {
    // The unit is a power of two, so the product is exact.
    if is_there { f64::from(height.0) * (1.0 / UNITS) } else { f64::NAN }
}

/// Converts heights to metres exactly.
pub fn heights_to_array(field: &Field<Height>, nodata: Option<&Field<bool>>) -> Float64Array {
    let values: Vec<f64> = (0..field.len()).map(|k| to_metres(field[k], nodata.is_none_or(|mask| !mask[k]))).collect();
    Float64Array::from(&values[..])
}

/// Converts heights to metres, rounded to 24 bits.
pub fn heights_to_f32_array(field: &Field<Height>, nodata: Option<&Field<bool>>) -> Float32Array {
    let one = |k: usize| to_metres(field[k], nodata.is_none_or(|mask| !mask[k])) as f32;
    let values: Vec<f32> = (0..field.len()).map(one).collect();
    Float32Array::from(&values[..])
}

/// Converts the cells of a layer exactly.
pub fn layer_to_array(cells: &Cells) -> JsValue {
    match cells {
        Cells::Height(field) => heights_to_array(field, None).into(),
        Cells::Float(field) => Float32Array::from(field.as_slice()).into(),
        Cells::Count(field) => Uint32Array::from(field.as_slice()).into(),
    }
}
