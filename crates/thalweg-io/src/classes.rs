//! Rasters of classes: whole numbers that stand for categories and cannot be interpolated.

use std::path::Path;

use super::raster::each_alike;
use super::{
    Format, LoadOptions, Raster, SampleType, Samples, Sidecar, TiffWindows, WindowedMap as _, read_raster,
    read_raster_with,
};
use thalweg_core::terrain::filter::{AxisFilter, Kernel};
use thalweg_core::terrain::{CellType, LayerSpec};
use thalweg_core::{CellRect, Error, Grid, Result, Size};
use thalweg_models::models::Models;
use thalweg_render::products::resample::resample_grid;

/// Reads the raster in a file if its samples are classes. They are if `asked` is true; if they are unsigned whole
/// numbers of 8 or 32 bits in a TIFF, and neither the file, nor a sidecar, nor the options give their meaning in
/// metres; or if the file has the name of a layer of counts. Returns `None` otherwise.
///
/// # Errors
/// Returns the errors of [`read_raster`] and of [`Sidecar::read_for`].
pub fn load_classes(path: impl AsRef<Path>, options: &LoadOptions, asked: bool) -> Result<Option<Raster>> {
    let path = path.as_ref();
    if asked || is_count(path) {
        return read_raster_with(path, options).map(Some);
    }
    if Format::from_path(path)? != Format::Tiff || options.height.is_some() || options.unit.is_some() {
        return Ok(None);
    }
    // A file that cannot be opened here is rejected later by the reader of heights, with its error message.
    let Ok(windows) = TiffWindows::open(path) else { return Ok(None) };
    let head = windows.head();
    let is_said = head.unit.is_some() || head.scale != [1.0, 0.0] || Sidecar::read_for(path)?.is_some();
    // Signed samples, samples of 16 bits and floats are read as heights.
    let is_class = matches!(head.kind, SampleType::U8 | SampleType::U32) && !is_said;
    if is_class { read_raster(path).map(Some) } else { Ok(None) }
}

/// Returns true if a layer of counts is declared under the file's name.
fn is_count(path: &Path) -> bool {
    find_layer_spec(path).is_some_and(|spec| spec.cells == CellType::Count)
}

/// Returns the declaration of the layer that has the file's name. Earlier names of layers do not count, because files
/// of heights may have names such as `area.tif`.
fn find_layer_spec(path: &Path) -> Option<LayerSpec> {
    let name = path.file_stem()?.to_str()?;
    Models::default().declared_layers().into_iter().find(|spec| spec.name == name)
}

/// Reads the raster in a file if it is not a map of heights: if it has classes according to [`load_classes`], or if it
/// is a TIFF with the name of a layer that is declared in another unit than metres. Returns `None` otherwise.
///
/// # Errors
/// Returns the errors of [`load_classes`].
pub fn load_layer_map(path: impl AsRef<Path>, options: &LoadOptions) -> Result<Option<Raster>> {
    let path = path.as_ref();
    let is_other = find_layer_spec(path).is_some_and(|spec| spec.unit != "m");
    if is_other && Format::from_path(path)? == Format::Tiff && options.unit.is_none() {
        return read_raster(path).map(Some);
    }
    load_classes(path, options, false)
}

/// Crops a raster to a window without changing the samples. Type, unit and nodata value stay; the georeference moves to
/// the window's corner.
///
/// # Errors
/// Returns an error if the window is empty or extends beyond the raster.
pub fn crop_raster(raster: &Raster, window: CellRect) -> Result<Raster> {
    let ([rows, cols], [first, left], [height, width]) = (raster.size, window.start.into(), window.size());
    let fits =
        |start: usize, size: usize, all: usize| size > 0 && start.checked_add(size).is_some_and(|end| end <= all);
    if !fits(first, height, rows) || !fits(left, width, cols) {
        let allowed = format!("a window within {cols} × {rows} (columns × rows)");
        return Err(Error::invalid_value("window", format!("{left},{first},{width},{height}"), allowed));
    }
    let from = (first..first + height).flat_map(|i| (left..left + width).map(move |j| i * cols + j));
    let mask = raster.mask.as_ref().map(|mask| from.clone().map(|k| mask[k]).collect());
    let georeference = raster.georeference.clone().map(|mut place| {
        if let Some([x, x_j, x_i, y, y_j, y_i]) = place.transform {
            let (i, j) = (first as f64, left as f64);
            place.transform = Some([x + j * x_j + i * x_i, x_j, x_i, y + j * y_j + i * y_i, y_j, y_i]);
        }
        place
    });
    let samples = raster.samples.copy_window(raster.size, window)?;
    Ok(Raster { size: window.size(), samples, mask, georeference, ..raster.clone() })
}

/// Resamples a raster of classes to `size` samples (rows, columns) over the same extent between the corner samples, by
/// nearest neighbour. Type, unit and nodata value stay.
///
/// # Errors
/// Returns the errors of [`resample_grid`].
pub fn resample_classes(raster: &Raster, size: Size) -> Result<Raster> {
    // Only the proportions of the cells matter here, so their width is set to 1.
    let grid = Grid { georeference: raster.georeference.clone(), ..Grid::new(raster.size, 1.0)? };
    let georeference = resample_grid(&grid, size)?.georeference;
    let [rows, cols] = [0, 1].map(|k| AxisFilter::new(raster.size[k], size[k], Kernel::Convex).nearest);
    let from = rows.iter().flat_map(|i| cols.iter().map(move |j| i * raster.size[1] + j));
    let samples = each_alike!(&raster.samples, v => from.clone().map(|k| v[k]).collect());
    let mask = raster.mask.as_ref().map(|mask| from.clone().map(|k| mask[k]).collect());
    Ok(Raster { size, samples, mask, georeference, ..raster.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::Georeference;

    #[test]
    fn no_class_is_made_up() {
        let samples = Samples::U8((0..300u32).map(|k| [0, 3, 7][(k / 37 % 3) as usize]).collect());
        let transform = Some([500.0, 10.0, 0.0, 900.0, 0.0, -10.0]);
        let georeference = Some(Georeference { transform, ..Georeference::default() });
        let raster = Raster { nodata: Some(7.0), georeference, ..Raster::new([15, 20], samples) };
        for size in [[29, 39], [8, 11], [15, 20]] {
            let out = resample_classes(&raster, size).unwrap();
            assert!((0..out.samples.len()).all(|k| [0.0, 3.0, 7.0].contains(&out.samples.get(k))));
            assert_eq!(
                (out.samples.kind(), out.nodata, out.samples.len()),
                (SampleType::U8, Some(7.0), size[0] * size[1])
            );
            // The corner samples keep their positions, to within half a cell where a side is not a whole number of
            // cells.
            let t = out.georeference.unwrap().transform.unwrap();
            let off = [t[0] + 0.5 * t[1] - 505.0, t[3] + 0.5 * t[5] - 895.0];
            assert!(off.iter().all(|metres| metres.abs() < 0.5 * t[1]), "{t:?}");
        }
        assert_eq!(resample_classes(&raster, [15, 20]).unwrap().samples, raster.samples);
        assert!(resample_classes(&raster, [15, 40]).is_err());
    }
}
