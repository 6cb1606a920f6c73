//! Converts a file to a [`Terrain`]: heights in metres, cells, nodata. Assumptions are reported as warnings; invalid
//! files are rejected.

use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::facts::{FactSource, Facts};
use super::heights::HeightReading;
pub use super::heights::{DEFAULT_HEIGHT, LoadOptions};
pub use super::save::{SaveOptions, save_layer, save_layer_as, save_terrain};
use super::units::{self, StatedUnit, Unit, UnitProblem};
use super::{FilePath, Format, Raster, SampleType, Sidecar, deterrace, geokeys, read_raster_with};
use thalweg_core::terrain::height::NO_HEIGHT;
use thalweg_core::terrain::{CellShape, GeographicCells};
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
    /// The properties of the file and their sources.
    pub facts: Facts,
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
/// Returns the errors of [`read_raster_with`]; an error for coordinates in feet, for Pseudo-Mercator, for rotated
/// cells, for a sidecar of another size, for infinities and heights outside ±16 000 m (naming the cell), for a file
/// without data, and for options out of range.
///
/// Coordinates in degrees and oblong cells are read: [`Grid::shape`] then has the shape of the cells. Code that needs
/// square cells calls [`Grid::check_square`], or reads with [`load_square_terrain`].
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

/// Loads a terrain with square cells for an operation that needs them; `subject` names the operation in the message.
///
/// # Errors
/// Returns the errors of [`load_terrain`]; an error for coordinates in degrees and for oblong cells, which says how to
/// convert the file. For example, the model `thermal` needs a model in metres.
pub fn load_square_terrain(path: impl Into<FilePath>, options: &LoadOptions, subject: &str) -> Result<Loaded> {
    let path = &path.into();
    let loaded = load_terrain(path, options)?;
    loaded.terrain.grid.check_square(subject).map_err(|error| error.into_file_error(path))?;
    Ok(loaded)
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
    let PlacedGrid { grid, mut warnings, overridden, mut facts } = determine_grid(path, &mut raster, sidecar, options)?;
    // A grid that is read by windows may have more cells than fit in memory; this one must not.
    grid.check()?;
    let reading = HeightReading::from_head(&raster, sidecar, options);
    let look = reading.examine_piece(&raster, Cell::new(0, 0));
    let (reading, said) = reading.resolve_nodata_and_scale(&look).map_err(refuse)?;
    warnings.extend(said);
    facts.record_all(reading.facts(path));
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
    Ok(Loaded { terrain, warnings, format, sample, nodata: reading.nodata(), nodata_count, overridden, facts })
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
    /// The properties of the file and their sources.
    pub facts: Facts,
}

/// Determines the grid of a file from its head, with or without samples. `sidecar` specifies what the file does not,
/// and `path` is used in messages. It is the first half of [`convert_to_terrain`], for files that are read in windows.
/// The reader's warnings are moved from `head` to the result, and the sidecar's value for no data is set in a head that
/// has none.
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
    if let Some(nodata) = sidecar.and_then(|sidecar| sidecar.nodata).filter(|_| head.nodata.is_none()) {
        head.nodata = Some(nodata);
        head.facts.record_source("nodata", FactSource::Sidecar(Sidecar::path_for(path)));
    }
    let mut facts = Facts::default();
    facts.record_head(&head.head());
    let mut overridden = Vec::new();
    let unit = head.unit.as_deref().or(sidecar.map(|sidecar| sidecar.unit.as_str()));
    // A requested unit replaces an unsuitable unit of the file, which is then reported.
    let (heights, source) = match (units::check_vertical(head.georeference.as_ref(), unit), options.unit) {
        (Ok(said @ StatedUnit::Nothing), None) => {
            (said, FactSource::Default("heights are metres unless a unit is stated".to_string()))
        }
        (Ok(said), None) if head.unit.is_some() => (said, facts.source("unit")),
        (Ok(said), None) if unit.is_some() => (said, FactSource::Sidecar(Sidecar::path_for(path))),
        (Ok(said), None) => (said, FactSource::File("vertical coordinate system".to_string())),
        (Ok(_), Some(Unit::Metre)) => (StatedUnit::Metre, FactSource::Option("unit")),
        (Err(problem), Some(Unit::Metre)) => {
            overridden.push(strip_advice(&problem));
            (StatedUnit::Metre, FactSource::Option("unit"))
        }
        (Err(problem), None) => return Err(refuse(problem)),
    };
    facts.record("vertical_unit", "metre", source);
    let notes = [&mut warnings, &mut overridden];
    let (cells, cell_source) =
        find_cells(head.georeference.as_ref(), sidecar, options, heights, notes, &mut facts).map_err(refuse)?;
    warnings.extend(overridden.iter().map(|said| format!("is read as metres, as requested, although it {said}")));
    let georeference = head.georeference.clone();
    let grid = match cells {
        Cells::Squares(cell) => Grid { georeference, ..Grid::new_windowed(head.size, cell)? },
        Cells::Others(shape) => {
            let place = |error| refuse(format!("has cells that are on no map: {error}"));
            Grid { georeference, ..Grid::new_windowed(head.size, 1.0)? }.with_shape(shape).map_err(place)?
        }
    };
    // The sidecar's place is known here only.
    let cell_source = match cell_source {
        Some(FactSource::Sidecar(_)) => Some(FactSource::Sidecar(Sidecar::path_for(path))),
        other => other,
    };
    facts.record_cells(&grid, cell_source);
    Ok(PlacedGrid { grid, warnings, overridden, facts })
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
    let notes = [&mut warnings, &mut overridden];
    let (cells, _) =
        find_cells(Some(georeference), None, options, heights, notes, &mut Facts::default()).map_err(refuse)?;
    let cell = match cells {
        Cells::Squares(cell) => cell,
        Cells::Others(shape) => return Err(refuse(refuse_shape(georeference, &shape))),
    };
    Grid::new_windowed([1, 1], cell)?;
    warnings.extend(overridden.iter().map(|said| format!("is read as metres, as requested, although it {said}")));
    Ok((cell, warnings))
}

/// Returns the reason why a map whose cells are not squares has no cell size.
fn refuse_shape(georeference: &Georeference, shape: &CellShape) -> String {
    match (units::check_horizontal(georeference), geokeys::square_cell_side(georeference)) {
        (Err(problem), _) => problem.into_message(),
        (_, Err(problem)) => problem,
        (Ok(()), Ok(_)) => format!("has cells of {}", shape.describe(0.0)),
    }
}

/// The cells of a file.
enum Cells {
    /// Squares, whose side is this number of metres.
    Squares(f64),
    /// Cells of another shape.
    Others(CellShape),
}

/// Determines the shape and the size of the cells; `heights` is what the file specifies about the unit of its heights.
/// Returns them with the source of the size; `None` if that is the transform. Records the unit of the coordinates.
fn find_cells(
    georeference: Option<&Georeference>,
    sidecar: Option<&Sidecar>,
    options: &LoadOptions,
    heights: StatedUnit,
    [warnings, overridden]: [&mut Vec<String>; 2],
    facts: &mut Facts,
) -> Result<(Cells, Option<FactSource>), String> {
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
        if options.cell_size.is_none()
            && let (Some(degrees), Some(transform)) = (units::detect_degrees(georeference), georeference.transform)
        {
            let (ellipsoid, warning) = units::find_ellipsoid(georeference)?;
            let source = match degrees {
                units::Degrees::Stated => facts.source("crs"),
                units::Degrees::Guessed(_) => FactSource::Guess(degrees.describe()),
            };
            facts.record("coordinate_unit", "degree", source);
            match degrees {
                units::Degrees::Stated => warnings.extend(warning),
                // The assumption about the unit is the graver one; it contains that about the ellipsoid.
                units::Degrees::Guessed(_) => {
                    warnings.push(format!("{} without a CRS, and is read as WGS 84", degrees.describe()));
                }
            }
            let [_, width, _, north, _, height] = transform;
            let cells = GeographicCells { north_deg: north, d_lat_deg: -height, d_lon_deg: width, ellipsoid };
            return Ok((Cells::Others(CellShape::Geographic(cells)), None));
        }
        if unit.is_ok() {
            facts.record(
                "coordinate_unit",
                "metre",
                match options.unit {
                    Some(Unit::Metre) => FactSource::Option("unit"),
                    None if geokeys::has_crs(georeference) => facts.source("crs"),
                    None => {
                        FactSource::Default("coordinates are metres unless a coordinate system is stated".to_string())
                    }
                },
            );
        }
        let square = geokeys::square_cell_side(georeference);
        match (options.cell_size, unit.map_err(UnitProblem::into_message), square) {
            (Some(cell), Err(problem), _) | (Some(cell), _, Err(problem)) => {
                let problem = strip_advice(&problem);
                warnings.push(format!("is read with square cells of {cell} m, as requested, although it {problem}"));
                return Ok((Cells::Squares(cell), Some(FactSource::Option("cell_size"))));
            }
            (None, Err(problem), _) => return Err(problem),
            (None, Ok(()), Err(_)) => {
                let [_, width, _, _, _, height] = georeference.transform.unwrap_or_default();
                return Ok((Cells::Others(CellShape::Rectangular { width, height: -height }), None));
            }
            (None, Ok(()), Ok(Some(cell))) => return Ok((Cells::Squares(cell), None)),
            (_, Ok(()), Ok(_)) => {}
        }
    }
    if let Some(cell) = options.cell_size {
        return Ok((Cells::Squares(cell), Some(FactSource::Option("cell_size"))));
    }
    if let Some(sidecar) = sidecar {
        return Ok((Cells::Squares(sidecar.cell_size), Some(FactSource::Sidecar(PathBuf::new()))));
    }
    warnings.push(format!(
        "does not state a cell size; {DEFAULT_CELL} m is used (to change it, give --cell-size, or cell_size in Python)"
    ));
    Ok((Cells::Squares(DEFAULT_CELL), Some(FactSource::Default("no cell size is stated".to_string()))))
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
