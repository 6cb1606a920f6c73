//! Converts a file to a [`Terrain`]: heights in metres, cells, nodata. Assumptions are reported as warnings; invalid
//! files are rejected.

use std::path::Path;

use rayon::prelude::*;

use super::heights::HeightReading;
pub use super::heights::{DEFAULT_HEIGHT, LoadOptions};
pub use super::save::{SaveOptions, save_layer, save_layer_as, save_terrain};
use super::units::{self, StatedUnit, Unit, UnitProblem};
use super::{FilePath, Format, Raster, SampleType, Sidecar, deterrace, geokeys, read_raster_with};
use thalweg_core::terrain::height::NO_HEIGHT;
use thalweg_core::{Cell, Error, Field, Georeference, Grid, Height, Result, Terrain};

/// The side of a cell in metres if nothing else is known: a relief of 1000 m then looks like mountains on a terrain of
/// common size.
pub const DEFAULT_CELL: f64 = 10.0;

/// A terrain that was loaded from a file, and warnings.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The terrain; cells without data have its lowest height and are masked.
    pub terrain: Terrain,
    /// The assumptions that were made, and what was ignored or looks doubtful. For example, a file without a cell size
    /// gives a warning that 10 m were assumed.
    pub warnings: Vec<String>,
    /// The file's format.
    pub format: Format,
    /// The type of its samples.
    pub sample: SampleType,
    /// The sample that stood for no data, in the file's own unit, for writing it back ([`SaveOptions::nodata`]); `None`
    /// if there was none.
    pub nodata: Option<f64>,
    /// The number of cells without data.
    pub nodata_count: usize,
    /// The file's own units that were overridden ([`LoadOptions::unit`]), in words.
    pub overridden: Vec<String>,
}

/// Loads a terrain.
///
/// Floating-point and signed samples are metres (after GDAL's scale, if there is one), and so are unsigned samples of
/// 32 bits and those whose file specifies a scale or a unit. Other samples take their metres from the options, then
/// from the sidecar, and otherwise from [`DEFAULT_HEIGHT`] with a warning. The cell size comes from the options, then
/// from the georeference, then from the sidecar, and otherwise from [`DEFAULT_CELL`] with a warning.
///
/// The following are no data: cells that GDAL's mask excludes, in the file or next to it (`.msk`), or whose alpha is 0;
/// the file's nodata value and those of [`LoadOptions::nodata`]; NaN, and ±infinity on request; and unless
/// [`LoadOptions::only_declared_nodata`] is set, the usual undeclared values, such as −9999, −32768 and ±3.4e38, if they
/// are far from all heights.
///
/// # Errors
/// Returns the errors of [`read_raster_with`]; an error for coordinates in degrees or feet, for Pseudo-Mercator, for
/// rotated or oblong cells, for a sidecar of another size, for infinities and heights outside ±16 000 m (naming the
/// cell), for a file without data, and for options out of range. For example, a model in degrees (EPSG:4326) must be reprojected
/// to a system in metres first.
pub fn load_terrain(path: impl Into<FilePath>, options: &LoadOptions) -> Result<Loaded> {
    let path = &path.into();
    check_options(options)?;
    let raster = read_raster_with(path, options)?;
    let sidecar = match needs_sidecar(&raster) {
        true => Sidecar::read_for(path)?,
        false => None,
    };
    convert_to_terrain(path, raster, sidecar.as_ref(), options)
}

/// Rejects invalid heights in the options.
fn check_options(options: &LoadOptions) -> Result<()> {
    let Some([low, high]) = options.height else { return Ok(()) };
    let (low_ok, high_ok) = (Height::from_metres(low).is_ok(), Height::from_metres(high).is_ok());
    if !low_ok || !high_ok || low >= high {
        let allowed = "two heights in rising order, -16000 to 16000 m";
        return Err(Error::invalid_value("height", format!("{low},{high}"), allowed));
    }
    Ok(())
}

/// Converts a raster to a terrain. `sidecar` specifies what the file does not. `path` is used in messages, and its
/// extension gives the format.
///
/// # Errors
/// Returns the errors of [`load_terrain`].
pub fn convert_to_terrain(
    path: impl AsRef<Path>,
    mut raster: Raster,
    sidecar: Option<&Sidecar>,
    options: &LoadOptions,
) -> Result<Loaded> {
    let path = path.as_ref();
    let format = Format::from_path(path)?;
    let refuse = |problem: String| Error::invalid_file(path, problem);
    raster.nodata = raster.nodata.or(sidecar.and_then(|sidecar| sidecar.nodata));
    let PlacedGrid { grid, mut warnings, overridden } = determine_grid(path, &mut raster, sidecar, options)?;
    Grid::new(grid.size, grid.cell)?;
    let reading = HeightReading::from_head(&raster, sidecar, options);
    let look = reading.examine_piece(&raster, Cell::new(0, 0));
    let (reading, said) = reading.resolve_nodata_and_scale(&look).map_err(refuse)?;
    warnings.extend(said);
    let all = || (0..raster.samples.len()).into_par_iter();
    let mask = all().any(|k| reading.is_missing(&raster, k));
    let mask: Option<Vec<bool>> = mask.then(|| all().map(|k| reading.is_missing(&raster, k)).collect());

    let step = find_terrace_step(&raster, mask.as_deref()).map(|codes| codes * reading.metres_per_code());
    let coarse = match raster.samples.kind() {
        SampleType::U8 => true,
        SampleType::U16 => step.is_some_and(|s| s >= 128.0 * reading.metres_per_code()), // 8 bits stretched to 16
        _ => false,
    };
    if let Some(step) = step.filter(|_| coarse && !options.deterrace) {
        warnings.push(format!(
            "is stored in 8 bits, so its heights form terraces {step:.3} m apart; `deterrace` smooths them"
        ));
    }
    let mut ground = convert_ground(&raster, &reading).map_err(refuse)?;
    let nodata_count = mask.as_ref().map_or(0, |m| m.iter().filter(|m| **m).count());
    let nodata = mask.map(|mask| Field::from_vec(raster.size, mask)).transpose()?;
    if options.deterrace {
        match step {
            Some(step) => deterrace::remove_terraces(&mut ground, nodata.as_ref(), step),
            None => warnings.push("has no terraces, so `deterrace` changes nothing".to_string()),
        }
    }
    let terrain = Terrain { nodata, ..Terrain::from_ground(grid, ground)? };
    let sample = raster.samples.kind();
    Ok(Loaded { terrain, warnings, format, sample, nodata: reading.nodata(), nodata_count, overridden })
}

/// The position of a file's cells, and warnings.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedGrid {
    /// The grid, with open edges and no sea; it may have more cells than a terrain can have.
    pub grid: Grid,
    /// What was assumed, ignored or looks doubtful.
    pub warnings: Vec<String>,
    /// The file's own units that were overridden ([`LoadOptions::unit`]), in words.
    pub overridden: Vec<String>,
}

/// Determines the grid of a file from its head, with or without samples. `sidecar` specifies what the file does not,
/// and `path` is used in messages. It is the first half of [`convert_to_terrain`], for files that are read in windows.
/// The reader's warnings are moved from `head` to the result.
///
/// # Errors
/// Returns the errors of [`load_terrain`], except for those about samples.
pub fn determine_grid(
    path: &Path,
    head: &mut Raster,
    sidecar: Option<&Sidecar>,
    options: &LoadOptions,
) -> Result<PlacedGrid> {
    check_options(options)?;
    let refuse = |problem: String| Error::invalid_file(path, problem);
    let mut warnings = std::mem::take(&mut head.warnings);
    let kind = head.samples.kind();
    if let Some(sidecar) = sidecar
        && ([sidecar.rows, sidecar.columns] != head.size || sidecar.sample != kind)
    {
        let [rows, cols] = head.size;
        return Err(refuse(format!(
            "is {cols} × {rows} {kind} (columns × rows); its sidecar states {} × {} {}, so it describes another file",
            sidecar.columns, sidecar.rows, sidecar.sample
        )));
    }
    let mut overridden = Vec::new();
    let unit = head.unit.as_deref().or(sidecar.map(|sidecar| sidecar.unit.as_str()));
    // A requested unit replaces an unsuitable unit of the file, which is then reported.
    let heights = match (units::check_vertical(head.georeference.as_ref(), unit), options.unit) {
        (Ok(said), None) => said,
        (Ok(_), Some(Unit::Metre)) => StatedUnit::Metre,
        (Err(problem), Some(Unit::Metre)) => {
            overridden.push(strip_advice(&problem));
            StatedUnit::Metre
        }
        (Err(problem), None) => return Err(refuse(problem)),
    };
    let cell = cell_size(head.georeference.as_ref(), sidecar, options, heights, [&mut warnings, &mut overridden])
        .map_err(refuse)?;
    warnings.extend(overridden.iter().map(|said| format!("is read as metres, as requested, although it {said}")));
    let grid = Grid { georeference: head.georeference.clone(), ..Grid::new_windowed(head.size, cell)? };
    Ok(PlacedGrid { grid, warnings, overridden })
}

/// Returns true if a file lacks data that a sidecar specifies: the metres of its codes, or its cell size.
pub fn needs_sidecar(raster: &Raster) -> bool {
    let unscaled = raster.samples.kind().max_code().is_some() && !raster.scaled;
    unscaled || raster.georeference.as_ref().is_none_or(|g| g.transform.is_none())
}

/// Returns the part of a problem that describes the file, without the advice.
fn strip_advice(problem: &str) -> String {
    problem.split_once("; ").map_or(problem, |(said, _)| said).to_string()
}

/// Determines the side of a cell in metres on a map with this georeference, and returns it with warnings. `unit` is the
/// unit of the heights according to the map. It does what [`load_terrain`] does for a file, for maps in memory; a map
/// without a transform needs [`LoadOptions::cell_size`].
///
/// # Errors
/// Returns [`Error::Content`] for coordinates in degrees or feet, for Pseudo-Mercator, for rotated or oblong cells, or
/// without a cell size; an error for a cell size that is not 0.001 to 100 000 m.
pub fn determine_cell_size(
    georeference: &Georeference,
    unit: Option<&str>,
    options: &LoadOptions,
) -> Result<(f64, Vec<String>)> {
    let refuse = |problem: String| Error::invalid_content("map", problem);
    let heights = match (units::check_vertical(Some(georeference), unit), options.unit) {
        (Ok(said), _) => said,
        (Err(_), Some(Unit::Metre)) => StatedUnit::Metre,
        (Err(problem), None) => return Err(refuse(problem)),
    };
    if georeference.transform.is_none() && options.cell_size.is_none() {
        return Err(refuse(
            "does not state a cell size; give it in metres (--cell-size, or cell_size in Python)".into(),
        ));
    }
    let (mut warnings, mut overridden) = (Vec::new(), Vec::new());
    let cell =
        cell_size(Some(georeference), None, options, heights, [&mut warnings, &mut overridden]).map_err(refuse)?;
    Grid::new_windowed([1, 1], cell)?;
    warnings.extend(overridden.iter().map(|said| format!("is read as metres, as requested, although it {said}")));
    Ok((cell, warnings))
}

/// Determines the side of a cell in metres; `heights` is what the file specifies about the unit of its heights.
fn cell_size(
    georeference: Option<&Georeference>,
    sidecar: Option<&Sidecar>,
    options: &LoadOptions,
    heights: StatedUnit,
    [warnings, overridden]: [&mut Vec<String>; 2],
) -> Result<f64, String> {
    if let Some(georeference) = georeference {
        geokeys::check_north_up(georeference)?;
        let mut unit = units::check_horizontal(georeference);
        if let (Err(UnitProblem::Linear(problem)), Some(Unit::Metre)) = (&unit, options.unit) {
            overridden.push(strip_advice(problem));
            unit = Ok(());
        }
        if let (Err(UnitProblem::Linear(problem)), Some(_), StatedUnit::Nothing) = (&unit, options.cell_size, heights) {
            // If coordinates are in feet, heights usually are too, and a given cell size does not say anything about
            // them.
            return Err(format!(
                "{} and does not state the unit of its heights; give them a unit (`gdal_edit.py -a_srs` with a \
                 vertical CRS, or a band unit), or `--unit metre` if they are metres",
                strip_advice(problem)
            ));
        }
        let square = geokeys::square_cell_side(georeference);
        match (options.cell_size, unit.map_err(UnitProblem::into_message), square) {
            (Some(cell), Err(problem), _) | (Some(cell), _, Err(problem)) => {
                let problem = strip_advice(&problem);
                warnings.push(format!("is read with square cells of {cell} m, as requested, although it {problem}"));
                return Ok(cell);
            }
            (None, Err(problem), _) | (None, _, Err(problem)) => return Err(problem),
            (None, Ok(()), Ok(Some(cell))) => return Ok(cell),
            (_, Ok(()), Ok(_)) => {}
        }
    }
    if let Some(cell) = options.cell_size.or(sidecar.map(|s| s.cell_size)) {
        return Ok(cell);
    }
    warnings.push(format!(
        "does not state a cell size; {DEFAULT_CELL} m is used (to change it, give --cell-size, or cell_size in Python)"
    ));
    Ok(DEFAULT_CELL)
}

/// Returns the heights; cells without data get the lowest of the others.
fn convert_ground(raster: &Raster, reading: &HeightReading) -> Result<Field<Height>, String> {
    let mut heights = reading.convert_piece(raster, Cell::new(0, 0))?;
    // Cells without data need some height for calculations that ignore the mask; the lowest makes no new peak.
    let known = heights.par_iter().filter(|height| height.0 != NO_HEIGHT);
    let lowest = known.min().copied().ok_or("has no data")?;
    heights.par_iter_mut().filter(|height| height.0 == NO_HEIGHT).for_each(|height| *height = lowest);
    Field::from_vec(raster.size, heights).map_err(|error| error.to_string())
}

/// Returns the greatest step of which all differences of valid samples are multiples (1 for arbitrary whole numbers,
/// 257 for 8 bits stretched to 16); `None` if the samples are not whole numbers, or all equal.
fn find_terrace_step(raster: &Raster, mask: Option<&[bool]>) -> Option<f64> {
    let mut valid = (0..raster.samples.len()).filter(|k| mask.is_none_or(|m| !m[*k])).map(|k| raster.samples.get(k));
    let first = valid.next()?;
    let mut step: u64 = 0;
    for v in valid {
        let difference = (v - first).abs();
        // Fractions mean that the heights are not rounded to whole steps.
        if difference.fract() != 0.0 || difference > 1e9 {
            return None;
        }
        // Euclid's algorithm computes the greatest common divisor of the differences so far.
        let (mut a, mut b) = (step, difference as u64);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        step = a;
    }
    (step > 0).then_some(step as f64)
}
