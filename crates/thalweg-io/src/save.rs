//! Writes a terrain to a file, with a sidecar if the file format cannot store what the samples mean.

use std::path::Path;

use rayon::prelude::*;

use super::sidecar::{ByteOrder, Engines, RowOrder};
use super::{FilePath, Format, Overviews, Raster, SampleType, Samples, Sidecar, check_sample, geokeys, write_as};
use thalweg_core::terrain::Cells;
use thalweg_core::terrain::grid::PixelIs;
use thalweg_core::{Cell, Error, Field, Georeference, Grid, Height, Result, Terrain};

/// The default values for no data: the first that is not among the heights is used, or NaN if all are. `f32` represents
/// them exactly.
const NODATA: [f64; 4] = [-9999.0, -32_768.0, f32::MIN as f64, f32::MAX as f64];

/// Options for writing a terrain.
///
/// # Examples
/// Samples of 64 bits store heights exactly.
///
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_io::{LoadOptions, MemoryFiles, SampleType, SaveOptions, load_terrain, save_terrain};
///
/// let terrain = Terrain::from_metres(Grid::new([1, 2], 30.0)?, &[1234.5677, 0.1])?;
/// let files = MemoryFiles::default();
/// let options = SaveOptions { sample: Some(SampleType::F64), ..SaveOptions::default() };
/// save_terrain(files.path("exact.tif"), &terrain, &options)?;
/// let loaded = load_terrain(files.path("exact.tif"), &LoadOptions::default())?;
/// assert!(loaded.sample == SampleType::F64 && loaded.terrain.ground == terrain.ground);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SaveOptions {
    /// The type of the samples: `f32`, `f64` (exact), `u16` or `u8` (stretched from the lowest to the highest height,
    /// with a sidecar). `None` uses the format's default type ([`Format::writable_types`]).
    pub sample: Option<SampleType>,
    /// The value for cells without data in floating-point files. If it is `None`, or among the heights as the file
    /// stores them, it is the first of −9999, −32768, −3.4e38 and 3.4e38 (the limits of `f32`) that is not among them,
    /// or NaN.
    pub nodata: Option<f64>,
    /// The world's seed for the sidecar, if it has one.
    pub seed: Option<u64>,
    /// The hash of the recipe for the sidecar, if there is one.
    pub recipe_hash: Option<String>,
}

/// Writes the ground in metres; the path's extension gives the format. Returns warnings about what was lost or had to
/// be changed.
///
/// `f64` stores every height exactly. Integer samples are stretched over the range of heights and a sidecar is written,
/// as for R32, NPY and EXR, which cannot store a cell size. A GeoTIFF without a CRS stores the cell size too.
///
/// # Errors
/// Returns the errors of [`write_raster`](super::write_raster); an error for samples of type `i16`, `i32` or `u32`, in
/// which slopes would be lost, and for a terrain without any data.
pub fn save_terrain(path: impl Into<FilePath>, terrain: &Terrain, options: &SaveOptions) -> Result<Vec<String>> {
    let ground = terrain.ground.as_slice();
    let sheet = RasterValues {
        grid: &terrain.grid,
        mask: terrain.nodata.as_ref(),
        value: &|k| ground[k].metres(),
        name: "height",
        unit: "m",
        range: terrain.elevation_range().map(|range| range.map(Height::metres)),
        heights: true,
    };
    sheet.write_file(&path.into(), options)
}

/// Writes a layer as `f32` (in PNG or R16 stretched, with a sidecar) with the terrain's georeference and nodata mask.
/// Counts are written to a TIFF as integers of 8 bits, or of 32 if necessary, whose highest code stands for no data.
///
/// `name` is used in messages. The unit is that of the terrain's layer of this name; if there is none, heights are in
/// metres and other values have no unit.
///
/// # Errors
/// Returns the errors of [`write_raster`](super::write_raster); an error if the cells have another size than the
/// terrain; an error if no cell has data and a finite value, except for counts in a TIFF; for these, an error if a
/// count is 2³² − 1 and the terrain has cells without data.
///
/// # Examples
/// ```
/// use thalweg_core::terrain::{Cells, RAIN};
/// use thalweg_core::{Field, Grid, Terrain};
/// use thalweg_io::{MemoryFiles, load_layer, save_layer};
///
/// let terrain = Terrain::new(Grid::new([2, 2], 10.0)?);
/// let rain = Cells::Float(Field::from_fn([2, 2], |i, j| 0.5 * (i + j) as f32));
/// let files = MemoryFiles::default();
/// save_layer(files.path("rain.tif"), &terrain, RAIN.name, &rain)?;
/// assert_eq!(load_layer(files.path("rain.tif"), &terrain.grid, &RAIN)?, rain);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn save_layer(path: impl Into<FilePath>, terrain: &Terrain, name: &str, cells: &Cells) -> Result<()> {
    let path = &path.into();
    let sample = Format::from_path(path)?.writable_types().contains(&SampleType::F32).then_some(SampleType::F32);
    save_layer_as(path, terrain, name, cells, sample)
}

/// Writes a layer as [`save_layer`] does, with samples of type `sample`, or of the format's default type. `f64` stores
/// every layer exactly, whether heights, counts or floats. Counts in a TIFF are integers whatever `sample` is.
///
/// # Errors
/// Returns the errors of [`save_layer`], and an error for samples of type `i16`, `i32` or `u32`.
pub fn save_layer_as(
    path: impl Into<FilePath>,
    terrain: &Terrain,
    name: &str,
    cells: &Cells,
    sample: Option<SampleType>,
) -> Result<()> {
    let path = &path.into();
    if cells.size() != terrain.grid.size {
        let ([rows, cols], [want_rows, want_cols]) = (cells.size(), terrain.grid.size);
        let problem = format!("is {cols} × {rows} cells (columns × rows); the terrain is {want_cols} × {want_rows}");
        return Err(Error::invalid_layer(name, problem));
    }
    let value = |k: usize| match cells {
        Cells::Height(field) => field[k].metres(),
        Cells::Float(field) => f64::from(field[k]),
        Cells::Count(field) => f64::from(field[k]),
    };
    let mask = terrain.nodata.as_ref();
    if let (Cells::Count(counts), Format::Tiff) = (cells, Format::from_path(path)?) {
        return save_counts(path, terrain, name, counts);
    }
    let valid = (0..terrain.grid.len()).filter(|k| mask.is_none_or(|m| !m[*k])).map(value);
    let range = valid.filter(|v| v.is_finite()).fold(None, |range: Option<[f64; 2]>, v| match range {
        None => Some([v, v]),
        Some([low, high]) => Some([v.min(low), v.max(high)]),
    });
    let metres = matches!(cells, Cells::Height(_));
    let unit = terrain.layers.get(name).map_or(if metres { "m" } else { "1" }, |layer| layer.unit.as_str());
    let sheet = RasterValues { grid: &terrain.grid, mask, value: &value, name, unit, range, heights: false };
    sheet.write_file(path, &SaveOptions { sample, ..SaveOptions::default() }).map(drop)
}

/// Writes counts as integers with as many bits as they need; the highest code stands for no data.
fn save_counts(path: &FilePath, terrain: &Terrain, name: &str, counts: &Field<u32>) -> Result<()> {
    let mask = terrain.nodata.as_ref();
    let is_missing = |k: usize| mask.is_some_and(|mask| mask[k]);
    let most = (0..counts.len()).filter(|k| !is_missing(*k)).map(|k| counts[k]).max();
    if mask.is_some() && most == Some(u32::MAX) {
        return Err(Error::invalid_layer(
            name,
            format!("contains {}, the value that marks no data in a file", u32::MAX),
        ));
    }
    // The highest code of the type is reserved for no data, so 8 bits suffice for counts below 255.
    let is_small = most.is_none_or(|most| most < u32::from(u8::MAX));
    let none = if is_small { u32::from(u8::MAX) } else { u32::MAX };
    let codes = (0..counts.len()).map(|k| if is_missing(k) { none } else { counts[k] });
    let samples = match is_small {
        true => Samples::U8(codes.map(|code| code as u8).collect()),
        false => Samples::U32(codes.collect()),
    };
    let unit = terrain.layers.get(name).map_or("1", |layer| layer.unit.as_str());
    save_samples(path, &terrain.grid, [name, unit], samples, mask.map(|_| f64::from(none)))
}

/// Writes samples unchanged, one per cell, with the terrain's georeference. `name` and `unit` describe them (`1` means
/// no unit); `nodata` is the sample that stands for no data.
///
/// # Errors
/// Returns the errors of [`write_raster`](super::write_raster); an error if the number of samples is not that of the
/// grid's cells.
pub fn save_samples(
    path: impl Into<FilePath>,
    grid: &Grid,
    [name, unit]: [&str; 2],
    samples: Samples,
    nodata: Option<f64>,
) -> Result<()> {
    let (unit, overviews) = ((unit != "1").then(|| unit.to_string()), Overviews::from_sample_type(samples.kind()));
    let raster =
        Raster { nodata, unit, georeference: Some(window_georeference(grid)), ..Raster::new(grid.size, samples) };
    write_as(&path.into(), &raster, overviews, Some(name))
}

/// Returns true if [`save_terrain`] writes a sidecar for this path; `sample` is as in [`SaveOptions`].
///
/// # Errors
/// Returns an error for an unknown extension.
pub fn writes_sidecar(path: &Path, sample: Option<SampleType>) -> Result<bool> {
    let format = Format::from_path(path)?;
    Ok(sample.or(format.writable_types().first().copied()).is_some_and(|kind| needs_sidecar(format, kind)))
}

/// Returns true if a file of this format and type cannot store what its samples mean.
fn needs_sidecar(format: Format, kind: SampleType) -> bool {
    kind.max_code().is_some() || matches!(format, Format::R32 | Format::Npy | Format::Exr)
}

/// The values to write, one per cell.
struct RasterValues<'a> {
    grid: &'a Grid,
    mask: Option<&'a Field<bool>>,
    value: &'a (dyn Fn(usize) -> f64 + Sync),
    name: &'a str,
    unit: &'a str,
    /// The lowest and highest value of the cells with data.
    range: Option<[f64; 2]>,
    /// True if the values are elevations.
    heights: bool,
}

impl RasterValues<'_> {
    fn write_file(&self, path: &FilePath, options: &SaveOptions) -> Result<Vec<String>> {
        let format = Format::from_path(path)?;
        let kind = options.sample.or(format.writable_types().first().copied()).unwrap_or(SampleType::I16);
        check_sample(format, kind)?;
        let Some(range) = self.range else {
            return Err(Error::invalid_file(path, "is not written, because no cell has data"));
        };
        let mut warnings = Vec::new();
        // Floating-point types store the values themselves; unsigned types of 8 and 16 bits store codes, which a
        // sidecar explains.
        let (samples, nodata, [minimum, maximum]) = match kind {
            SampleType::F32 | SampleType::F64 => {
                let nodata = self.nodata_value(kind, range, options.nodata, &mut warnings);
                (self.copy_values(kind, nodata), self.mask.map(|_| nodata), range)
            }
            SampleType::U8 | SampleType::U16 => self.stretch_to_codes(kind, range),
            SampleType::I16 | SampleType::I32 | SampleType::U32 => {
                return Err(Error::invalid_value(
                    "sample type",
                    kind,
                    "f32, f64, u16 or u8, because whole metres lose the slopes",
                ));
            }
        };
        let georeference = window_georeference(self.grid);
        if format != Format::Tiff && self.grid.georeference.as_ref().is_some_and(geokeys::has_crs) {
            warnings.push(format!("{format} cannot store a coordinate reference system; write .tif to keep it"));
        }
        // Codes are not in metres: the sidecar specifies their meaning.
        let unit = (kind.max_code().is_none() && self.unit != "1").then(|| self.unit.to_string());
        // The nodata code needs no tag in a PNG or R16 file: the sidecar specifies it, and no reader looks for a tag.
        let raster = Raster { nodata, unit, georeference: Some(georeference), ..Raster::new(self.grid.size, samples) };
        write_as(path, &raster, Overviews::Means, Some(self.name))?;
        if needs_sidecar(format, kind) {
            let [rows, columns] = self.grid.size;
            let engines = self.heights.then(|| Engines::new(minimum, maximum, self.grid.size, self.grid.cell));
            let sidecar = Sidecar {
                minimum,
                maximum,
                unit: self.unit.to_string(),
                cell_size: self.grid.cell,
                rows,
                columns,
                sample: kind,
                byte_order: if format == Format::Png { ByteOrder::Big } else { ByteOrder::Little },
                row_order: RowOrder::North,
                nodata,
                engines,
                seed: options.seed,
                recipe_hash: options.recipe_hash.clone(),
                thalweg: Some(env!("CARGO_PKG_VERSION").to_string()),
            };
            sidecar.write(path)?;
        }
        Ok(warnings)
    }

    /// Returns the value for no data: the requested one, unless it is among the values of the cells with data as this
    /// sample type stores them.
    fn nodata_value(
        &self,
        kind: SampleType,
        [low, high]: [f64; 2],
        asked: Option<f64>,
        warnings: &mut Vec<String>,
    ) -> f64 {
        // Rounded to 32 bits, a height may become equal to a value that it differed from.
        let rounded = |v: f64| if kind == SampleType::F32 { f64::from(v as f32) } else { v };
        let taken = |v: f64| (rounded(low)..=rounded(high)).contains(&rounded(v));
        let free = NODATA.into_iter().find(|v| !taken(*v)).unwrap_or(f64::NAN);
        match asked {
            Some(value) if !taken(value) => value,
            Some(value) if self.mask.is_some() => {
                warnings.push(format!(
                    "nodata value {value} is within the range of the heights; {free} is written instead"
                ));
                free
            }
            _ => free,
        }
    }

    fn is_masked(&self, k: usize) -> bool {
        self.mask.is_some_and(|m| m[k])
    }

    /// Returns the values unchanged.
    fn copy_values(&self, kind: SampleType, nodata: f64) -> Samples {
        let value = |k| if self.is_masked(k) { nodata } else { (self.value)(k) };
        let cells = (0..self.grid.len()).into_par_iter().map(value);
        match kind {
            SampleType::F32 => Samples::F32(cells.map(|v| v as f32).collect()),
            _ => Samples::F64(cells.collect()),
        }
    }

    /// Stretches the values over the codes. Returns the samples, the nodata code, and the values of code 0 and of the
    /// highest code. If there are cells without data, they have code 0 and data begins at code 1.
    fn stretch_to_codes(&self, kind: SampleType, [low, high]: [f64; 2]) -> (Samples, Option<f64>, [f64; 2]) {
        let full = kind.max_code().unwrap_or(65_535.0);
        let high = if high > low { high } else { low + 1.0 }; // on flat ground any range represents the height
        // With a mask, code 0 is reserved for no data. `zero` is the value that code 0 would have, so that the same
        // linear formula is valid for all codes.
        let first = f64::from(u8::from(self.mask.is_some()));
        let zero = low - first * (high - low) / (full - first);
        let code = |k: usize| {
            let code = first + ((self.value)(k) - low) / (high - low) * (full - first);
            if self.is_masked(k) { 0.0 } else { code.round() }
        };
        let codes = (0..self.grid.len()).into_par_iter().map(code);
        let samples = match kind {
            SampleType::U8 => Samples::U8(codes.map(|c| c as u8).collect()),
            _ => Samples::U16(codes.map(|c| c as u16).collect()),
        };
        (samples, self.mask.map(|_| 0.0), [zero, high])
    }
}

/// Returns the grid's georeference, moved to its window's corner, as [`save_terrain`] writes it. Without a transform it
/// gets one in metres, with the north-western corner of world cell (0, 0) at 0, 0.
pub fn save_place(grid: &Grid) -> Georeference {
    window_georeference(grid)
}

pub(super) fn window_georeference(grid: &Grid) -> Georeference {
    let Cell { row: i, col: j } = grid.origin.map(|n| n as f64);
    let mut georeference = grid.georeference.clone().unwrap_or_default();
    // Without a transform, the side of a cell in metres gives one, with the rows running to the south.
    let t = georeference.transform.unwrap_or([0.0, grid.cell, 0.0, 0.0, 0.0, -grid.cell]);
    if georeference.transform.is_none() && !geokeys::has_crs(&georeference) {
        georeference.pixel = PixelIs::Area;
    }
    // The grid may be a window of a larger world, so the origin moves by its first row and column.
    georeference.transform = Some([t[0] + j * t[1] + i * t[2], t[1], t[2], t[3] + j * t[4] + i * t[5], t[4], t[5]]);
    georeference
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_raster;

    /// Four cells in a row, the last of them without data.
    fn holed() -> Terrain {
        let terrain = Terrain::new(Grid::new([1, 4], 10.0).unwrap());
        Terrain { nodata: Some(Field::from_fn([1, 4], |_, j| j == 3)), ..terrain }
    }

    #[test]
    fn no_cell_with_data_has_the_value_for_no_data() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.tif");
        let mut land = holed();
        let heights = |metres: [f64; 4]| Field::from_fn([1, 4], |_, j| Height::from_metres_clamped(metres[j]));
        // A height that differs from −9999, and from the requested value, by less than f32 resolves.
        land.ground = heights([-9998.9999, 5.0, 7.0, 5.0]);
        for (sample, nodata) in [(SampleType::F32, -32_768.0), (SampleType::F64, -9999.0)] {
            save_terrain(&path, &land, &SaveOptions { sample: Some(sample), ..SaveOptions::default() }).unwrap();
            assert_eq!(read_raster(&path).unwrap().nodata, Some(nodata));
        }
        land.ground = heights([5000.0001, 5001.0, 5002.0, 5001.0]);
        let said = save_terrain(&path, &land, &SaveOptions { nodata: Some(5000.0), ..SaveOptions::default() }).unwrap();
        assert!(said[0].contains("-9999 is written instead"), "{said:?}");
        // Values of a layer may be anywhere in the range of f32.
        let (low, high) = (f64::from(f32::MIN), f64::from(f32::MAX));
        for (floats, nodata) in [
            ([-40_000.0, -32_768.0, 0.0, 0.0], low),
            ([f32::MIN, -32_768.0, 0.0, 0.0], high),
            ([f32::MIN, f32::MAX, 0.0, 0.0], f64::NAN),
        ] {
            let cells = Cells::Float(Field::from_fn([1, 4], |_, j| floats[j]));
            save_layer(&path, &land, "numbers", &cells).unwrap();
            let raster = read_raster(&path).unwrap();
            let found = raster.nodata.unwrap();
            assert!(found == nodata || (found.is_nan() && nodata.is_nan()), "{found}, not {nodata}");
            assert!((0..3).all(|k| raster.samples.get(k) == f64::from(floats[k])), "{floats:?}");
        }
    }

    #[test]
    fn the_highest_count_stands_for_no_data_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.tif");
        let counts = Cells::Count(Field::from_fn([1, 4], |_, j| if j == 1 { u32::MAX } else { 7 }));
        let said = save_layer(&path, &holed(), "marks", &counts).unwrap_err().to_string();
        assert!(said.contains("contains 4294967295") && !path.exists(), "{said}");
        save_layer(&path, &Terrain { nodata: None, ..holed() }, "marks", &counts).unwrap();
        assert_eq!(read_raster(&path).unwrap().samples.get(1), f64::from(u32::MAX));
    }
}
