//! [`ResampleOptions`] and [`CropOptions`]: the declared options of the operations that give a terrain other cells, and
//! the functions that carry them out on a terrain or on a file.

use std::ops::RangeFull;
use std::path::Path;

use serde_json::json;

use super::classes::{crop_raster, load_classes, load_layer_map, resample_classes};
use super::file_identity::check_distinct_files;
use super::{
    LoadOptions, Loaded, SampleType, SaveOptions, Sidecar, load_square_terrain, output, save_terrain, write_raster,
    writes_sidecar,
};
use thalweg_core::declare::operation::{Json, Operation as _, OptionKind, OptionType};
use thalweg_core::declare::option_types::ValueForm;
use thalweg_core::{CellRect, Error, Result, Size, Terrain, operation};
use thalweg_render::products::resample::{crop_terrain, resample_terrain};

/// The number of columns of a resampled terrain, and that of its rows if it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellCounts {
    /// The number of columns, 1 or more.
    pub cols: usize,
    /// The number of rows, 1 or more; `None` if it is chosen so that the cells stay square.
    pub rows: Option<usize>,
}

static CELL_COUNTS: ValueForm = ValueForm {
    placeholder: "COLS[xROWS]",
    words: &[],
    allowed: "a number of columns, or [rows, columns], whole numbers of 1 or more",
    allowed_text: "COLSxROWS or COLS, whole numbers of 1 or more",
    parse: |text: &str| {
        let count = |text: &str| text.trim().parse::<usize>().ok().filter(|n| *n > 0);
        // A command line has the columns first, JSON the rows.
        match text.split_once(['x', 'X']) {
            None => count(text).map(|cols| json!(cols)),
            Some((cols, rows)) => Some(json!([count(rows)?, count(cols)?])),
        }
    },
    is_accepted: |value: &Json| read_cell_counts(value).is_some(),
    schema: || {
        let count = json!({"type": "integer", "minimum": 1});
        json!({"anyOf": [count, {"type": "array", "items": count, "minItems": 2, "maxItems": 2}]})
    },
    python: "int | Sequence[int]",
    typescript: "number | [number, number]",
    is_named: false,
};

fn read_cell_counts(value: &Json) -> Option<CellCounts> {
    let count = |value: &Json| value.as_u64().and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0);
    match value.as_array().map(Vec::as_slice) {
        None => Some(CellCounts { cols: count(value)?, rows: None }),
        Some([rows, cols]) => Some(CellCounts { cols: count(cols)?, rows: Some(count(rows)?) }),
        Some(_) => None,
    }
}

impl OptionType for CellCounts {
    type Within = RangeFull;

    fn kind(_: RangeFull) -> OptionKind {
        OptionKind::Form(&CELL_COUNTS)
    }

    fn from_json(value: &Json) -> Option<Self> {
        read_cell_counts(value)
    }

    fn to_json(&self) -> Json {
        match self.rows {
            None => json!(self.cols),
            Some(rows) => json!([rows, self.cols]),
        }
    }
}

operation! {
    /// Resamples a terrain to another number of cells over the same extent.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::{Grid, Terrain};
    /// use thalweg_io::reshape::{CellCounts, ResampleOptions, resample};
    ///
    /// let terrain = Terrain::from_metres(Grid::new([2, 3], 10.0)?, &[0.0, 10.0, 20.0, 0.0, 10.0, 20.0])?;
    /// let cells = Some(CellCounts { cols: 5, rows: None });
    /// let fine = resample(&terrain, &ResampleOptions { cells, ..ResampleOptions::default() })?;
    /// assert_eq!((fine.grid.size, fine.grid.cell), ([3, 5], 5.0));
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub struct ResampleOptions, "resample" {
        /// Numbers of columns and rows of the result; without that of the rows, it is chosen so that cells stay square.
        cells: Option<CellCounts> = None, within .., unit "1", required true;
        /// Treats samples as classes, which are not interpolated: each new sample is the nearest old one. Unsigned
        /// 8-bit or 32-bit integers in a TIFF are always treated so, unless the file specifies that they are heights.
        classes: bool = false, within .., unit "1", only Folder;
        /// Number format of the heights. By default, it is that of the file format.
        sample: Option<SampleType> = None, within .., unit "1", flag "type", placeholder "TYPE", only Folder;
    }
}

operation! {
    /// Cuts a rectangle of cells out of a terrain.
    ///
    /// # Examples
    /// ```
    /// use thalweg_core::{CellRect, Grid, Terrain};
    /// use thalweg_io::reshape::{CropOptions, crop};
    ///
    /// let terrain = Terrain::from_metres(Grid::new([2, 3], 10.0)?, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0])?;
    /// let window = Some(CellRect::new([0, 1], [2, 2]));
    /// let east = crop(&terrain, &CropOptions { window, ..CropOptions::default() })?;
    /// assert_eq!(east.ground_metres().as_slice(), [1.0, 2.0, 4.0, 5.0]);
    /// # Ok::<(), thalweg_core::Error>(())
    /// ```
    pub struct CropOptions, "crop" {
        /// The rectangle: its first cell, counted from 0 in the north-west, and its numbers of columns and rows.
        window: Option<CellRect> = None, within .., unit "1", required true;
        /// Number format of the heights. By default, it is that of the file format.
        sample: Option<SampleType> = None, within .., unit "1", flag "type", placeholder "TYPE", only Folder;
    }
}

impl ResampleOptions {
    /// Returns the numbers of rows and columns of the result for a source of this size.
    ///
    /// # Errors
    /// Returns an error if no number of cells is given.
    pub fn target_size(&self, source: Size) -> Result<Size> {
        let CellCounts { cols, rows } = self.require("cells", self.cells)?;
        // Samples are at the ends of intervals, so the numbers of intervals keep the proportion.
        let [down, across] = source.map(|n| n.saturating_sub(1) as f64);
        let fitting = || (cols.saturating_sub(1) as f64 * down / across.max(1.0)).round() as usize + 1;
        Ok([rows.unwrap_or_else(fitting), cols])
    }
}

/// Resamples a terrain.
///
/// # Errors
/// Returns the errors of [`ResampleOptions::target_size`] and [`resample_terrain`].
pub fn resample(terrain: &Terrain, options: &ResampleOptions) -> Result<Terrain> {
    resample_terrain(terrain, options.target_size(terrain.grid.size)?)
}

/// Cuts a rectangle of cells out of a terrain.
///
/// # Errors
/// Returns an error if no window is given, and the errors of [`crop_terrain`].
pub fn crop(terrain: &Terrain, options: &CropOptions) -> Result<Terrain> {
    crop_terrain(terrain, options.require("window", options.window)?)
}

/// Resamples a file into another file, whose extension determines the format; returns warnings.
///
/// # Errors
/// Returns an error if the input is unusable, if the size does not fit, or if the output cannot be written or is an
/// input.
pub fn resample_file(
    input: &Path,
    output: &Path,
    load: &LoadOptions,
    options: &ResampleOptions,
) -> Result<Vec<String>> {
    match resample_classes_file(input, output, load, options)? {
        Some(warnings) => Ok(warnings),
        None => reshape_file(input, output, load, options.sample, |terrain| resample(terrain, options)),
    }
}

/// Resamples a file of classes, if the samples of the input are classes, and returns warnings; returns `None` for a
/// file of heights.
///
/// # Errors
/// Returns the errors of [`resample_file`].
pub fn resample_classes_file(
    input: &Path,
    output: &Path,
    load: &LoadOptions,
    options: &ResampleOptions,
) -> Result<Option<Vec<String>>> {
    let Some(classes) = load_classes(input, load, options.classes)? else { return Ok(None) };
    check_layer_output(input, output, options.sample)?;
    let size = options.target_size(classes.size)?;
    write_raster(output, &resample_classes(&classes, size)?)?;
    Ok(Some(classes.warnings))
}

/// Cuts a rectangle of cells out of a file into another file, whose extension determines the format; returns warnings.
///
/// # Errors
/// Returns an error if the input is unusable, if the window is not inside it, or if the output cannot be written or is
/// an input.
pub fn crop_file(input: &Path, output: &Path, load: &LoadOptions, options: &CropOptions) -> Result<Vec<String>> {
    match crop_layer_file(input, output, load, options)? {
        true => Ok(Vec::new()),
        false => reshape_file(input, output, load, options.sample, |terrain| crop(terrain, options)),
    }
}

/// Cuts a rectangle out of a file of classes or of a layer without changing its samples; returns false for a file of
/// heights, which is left to [`reshape_file`].
///
/// # Errors
/// Returns the errors of [`crop_file`].
pub fn crop_layer_file(input: &Path, output: &Path, load: &LoadOptions, options: &CropOptions) -> Result<bool> {
    let Some(map) = load_layer_map(input, load)? else { return Ok(false) };
    check_layer_output(input, output, options.sample)?;
    write_raster(output, &crop_raster(&map, options.require("window", options.window)?)?)?;
    Ok(true)
}

/// Checks the output for a file of classes or of a layer.
fn check_layer_output(input: &Path, output: &Path, sample: Option<SampleType>) -> Result<()> {
    if sample.is_some() {
        let problem = "does not apply to classes and layers, whose samples keep their number format";
        return Err(Error::conflict("sample", problem));
    }
    output::check_writable(output)?;
    check_distinct_files(&Sidecar::input_files(input), &[output.to_path_buf()])
}

/// Reads a terrain from a file, changes it and writes it into another file, whose extension determines the format.
/// `sample` is the number format of the heights; `None` stands for that of the file format. Returns warnings.
///
/// # Errors
/// Returns the errors of `change`; an error if the input is unusable, or if the output cannot be written or is an
/// input.
pub fn reshape_file(
    input: &Path,
    output: &Path,
    load: &LoadOptions,
    sample: Option<SampleType>,
    change: impl FnOnce(&Terrain) -> Result<Terrain>,
) -> Result<Vec<String>> {
    output::check_terrain(output, sample)?;
    let sidecar = writes_sidecar(output, sample)?.then(|| Sidecar::path_for(output));
    let writes: Vec<_> = std::iter::once(output.to_path_buf()).chain(sidecar).collect();
    check_distinct_files(&Sidecar::input_files(input), &writes)?;
    let Loaded { terrain, mut warnings, nodata, .. } = load_square_terrain(input, load, "a change of the cells")?;
    let options = SaveOptions { sample, nodata, ..SaveOptions::default() };
    warnings.extend(save_terrain(output, &change(&terrain)?, &options)?);
    Ok(warnings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Raster, Samples, load_terrain, read_raster};
    use thalweg_core::Grid;
    use thalweg_core::declare::operation::{OptionSpec, WorkForm};

    fn hills() -> Terrain {
        let heights: Vec<f32> = (0..9 * 13).map(|k| ((k * 31) % 47) as f32).collect();
        Terrain::from_metres(Grid::new([9, 13], 20.0).unwrap(), &heights).unwrap()
    }

    #[test]
    fn options_give_the_same_as_the_functions_that_they_wrap() {
        let terrain = hills();
        let mut options = ResampleOptions::default();
        for (cells, size) in [(json!(25), [17, 25]), (json!([5, 7]), [5, 7])] {
            options.set("cells", &cells).unwrap();
            assert_eq!(options.get("cells"), Some(cells));
            assert_eq!(resample(&terrain, &options).unwrap(), resample_terrain(&terrain, size).unwrap());
        }
        let mut options = CropOptions::default();
        options.set("window", &json!([2, 3, 4, 5])).unwrap();
        let window = CellRect::new([2, 3], [4, 5]);
        assert_eq!(options.window, Some(window));
        assert_eq!(crop(&terrain, &options).unwrap(), crop_terrain(&terrain, window).unwrap());
    }

    #[test]
    fn files_give_the_same_as_terrains() {
        let folder = tempfile::tempdir().unwrap();
        let [input, output] = ["dem.tif", "out.tif"].map(|name| folder.path().join(name));
        save_terrain(&input, &hills(), &SaveOptions::default()).unwrap();
        let load = LoadOptions::default();
        let read = |path: &Path| load_terrain(path, &load).unwrap().terrain.ground;
        let options = ResampleOptions { cells: Some(CellCounts { cols: 7, rows: None }), ..Default::default() };
        // Heights of 64 bits are exact.
        let sample = Some(SampleType::F64);
        let options = ResampleOptions { sample, ..options };
        resample_file(&input, &output, &load, &options).unwrap();
        assert!(read(&output) == resample(&hills(), &options).unwrap().ground);
        let options = CropOptions { window: Some(CellRect::new([1, 2], [3, 4])), sample };
        crop_file(&input, &output, &load, &options).unwrap();
        assert!(read(&output) == crop(&hills(), &options).unwrap().ground);
        assert!(crop_file(&input, &input, &load, &options).unwrap_err().to_string().contains("is also an input"));
    }

    #[test]
    fn classes_are_not_interpolated() {
        let folder = tempfile::tempdir().unwrap();
        let [input, output] = ["classes.tif", "out.tif"].map(|name| folder.path().join(name));
        write_raster(&input, &Raster::new([2, 3], Samples::U8(vec![0, 9, 0, 9, 0, 9]))).unwrap();
        let options = ResampleOptions { cells: Some(CellCounts { cols: 5, rows: Some(3) }), ..Default::default() };
        let load = LoadOptions::default();
        assert!(resample_classes_file(&input, &output, &load, &options).unwrap().is_some());
        let samples = read_raster(&output).unwrap().samples;
        assert!(samples.len() == 15 && (0..15).all(|k| [0.0, 9.0].contains(&samples.get(k))));
        let options = ResampleOptions { sample: Some(SampleType::F64), ..options };
        let error = resample_classes_file(&input, &output, &load, &options).unwrap_err().to_string();
        assert!(error.starts_with("sample does not apply to classes and layers"), "{error}");
        let options = CropOptions { window: Some(CellRect::new([0, 1], [2, 1])), ..Default::default() };
        assert!(crop_layer_file(&input, &output, &load, &options).unwrap());
        assert_eq!(read_raster(&output).unwrap().samples, Samples::U8(vec![9, 0]));
    }

    #[test]
    fn sizes_and_windows_are_required_and_typed_with_columns_first() {
        let typed = |option: &OptionSpec| format!("--{}", option.command_flag());
        let message = CropOptions::default().check_form(WorkForm::Folder, typed).unwrap_err().to_string();
        assert!(message.starts_with("--window is missing: give [row, column, rows, columns]"), "{message}");
        assert!(crop(&hills(), &CropOptions::default()).unwrap_err().to_string().starts_with("window is missing"));
        assert!(resample(&hills(), &ResampleOptions::default()).is_err());
        let declared = ResampleOptions::default().declared();
        let parsed = |text: &str| declared[0].parse_text(text);
        assert_eq!((parsed("40x30"), parsed("40")), (Ok(json!([30, 40])), Ok(json!(40))));
        assert_eq!(parsed("0").unwrap_err(), "must be COLSxROWS or COLS, whole numbers of 1 or more");
        assert!(parsed("4x0").is_err() && parsed("x").is_err());
        assert_eq!(declared[0].value_name(), "COLS[xROWS]");
        let sample = ResampleOptions { sample: Some(SampleType::U8), ..ResampleOptions::default() };
        assert!(sample.check_ranges().unwrap_err().to_string().contains("must be one of f32, f64"));
    }
}
