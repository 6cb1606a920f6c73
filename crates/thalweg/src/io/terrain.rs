//! From a file to a [`Terrain`]: metres, cells, nodata; what is unclear is said, what is wrong refused.

use std::path::Path;

use rayon::prelude::*;

use super::layer::place;
pub use super::save::{SaveOptions, save, save_layer, save_layer_as};
use super::units::{self, Problem, Said, Unit};
use super::{Format, Raster, SampleType, Sidecar, deterrace, geokeys, read};
use crate::base::error::{Error, Result};
use crate::terrain::Terrain;
use crate::terrain::field::Field;
use crate::terrain::grid::{Georeference, Grid};
use crate::terrain::height::Height;

/// Heights of the lowest and highest code of an unscaled file of which nothing else is known, in metres.
pub const DEFAULT_HEIGHT: [f64; 2] = [0.0, 1000.0];

/// Side of a cell in metres where nothing else is known: 1000 m of relief then look like mountains on a common size.
pub const DEFAULT_CELL: f64 = 10.0;

/// What a file does not say itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoadOptions {
    /// Metres of the lowest and highest code of whole samples without scale (PNG, R16, u8, u16); of 0 and 1 in a
    /// floating-point file. The file's sidecar says it otherwise.
    pub height: Option<[f64; 2]>,
    /// Side of a cell in metres, in place of what the file says.
    pub cell_size: Option<f64>,
    /// Takes ±infinity for no data; it is an error otherwise.
    pub infinite_is_nodata: bool,
    /// Smooths away the terraces of heights stored in few steps ([`deterrace`]).
    pub deterrace: bool,
    /// The unit of coordinates and heights, in place of what the file says. Degrees stay degrees.
    pub unit: Option<Unit>,
}

/// A terrain from a file, and what is to be said about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The terrain; cells without data stand at its lowest height and are masked.
    pub terrain: Terrain,
    /// What was assumed, left out or looks doubtful.
    pub warnings: Vec<String>,
    /// The file's format.
    pub format: Format,
    /// The type of its samples.
    pub sample: SampleType,
    /// The sample that stood for no data, in the file's own unit, to be written back ([`SaveOptions::nodata`]).
    pub nodata: Option<f64>,
    /// Number of cells without data.
    pub nodata_count: usize,
    /// What the file says of its units that was overridden ([`LoadOptions::unit`]), in words.
    pub overridden: Vec<String>,
}

/// Loads a terrain.
///
/// Floating-point and signed samples are metres (or what GDAL's scale makes of them), and so are unsigned ones whose file says
/// a scale or a unit; the others take their metres from the options, else the sidecar, else [`DEFAULT_HEIGHT`] with a warning; the cell size comes from the options, else
/// the georeference, else the sidecar, else [`DEFAULT_CELL`] with a warning. No data are: what GDAL's mask leaves out, in
/// the file or beside it (`.msk`), the file's nodata value, NaN, ±infinity on
/// request, and the usual stand-ins (−9999, −32768, −32767, ±3.4e38) where they lie far from all other heights.
///
/// # Errors
/// As [`read`]; degrees, feet, Pseudo-Mercator, rotated or oblong cells, a sidecar of another size, infinities, heights outside ±16 000 m
/// (each naming the cell), no data at all, options out of range.
pub fn load(path: impl AsRef<Path>, options: &LoadOptions) -> Result<Loaded> {
    let path = path.as_ref();
    check_options(options)?;
    let raster = read(path)?;
    let sidecar = match needs_sidecar(&raster) {
        true => Sidecar::beside(path)?,
        false => None,
    };
    terrain_of(path, raster, sidecar.as_ref(), options)
}

/// Refuses heights that are none.
fn check_options(options: &LoadOptions) -> Result<()> {
    let Some([low, high]) = options.height else { return Ok(()) };
    let (low_ok, high_ok) = (Height::from_metres(low).is_ok(), Height::from_metres(high).is_ok());
    if !low_ok || !high_ok || low >= high {
        let allowed = "two heights in rising order, -16000 to 16000 m";
        return Err(Error::value("height", format!("{low},{high}"), allowed));
    }
    Ok(())
}

/// The terrain that a raster means, of which `sidecar` says what it does not say itself; `path` is said in messages, and its ending
/// tells the format.
///
/// # Errors
/// As [`load`].
pub fn terrain_of(
    path: impl AsRef<Path>,
    mut raster: Raster,
    sidecar: Option<&Sidecar>,
    options: &LoadOptions,
) -> Result<Loaded> {
    let path = path.as_ref();
    let format = Format::of(path)?;
    check_options(options)?;
    let refuse = |problem: String| Error::file(path, problem);
    let mut warnings = std::mem::take(&mut raster.warnings);
    if let Some(sidecar) = sidecar {
        if [sidecar.rows, sidecar.columns] != raster.size || sidecar.sample != raster.samples.kind() {
            let [rows, cols] = raster.size;
            return Err(refuse(format!(
                "is {cols} × {rows} {} (columns × rows); the sidecar beside it says {} × {} {}: it describes another file",
                raster.samples.kind(),
                sidecar.columns,
                sidecar.rows,
                sidecar.sample
            )));
        }
        raster.nodata = raster.nodata.or(sidecar.nodata);
    }
    let mut overridden = Vec::new();
    let unit = raster.unit.as_deref().or(sidecar.map(|sidecar| sidecar.unit.as_str()));
    let heights = match (units::check_vertical(raster.georeference.as_ref(), unit), options.unit) {
        (Ok(said), None) => said,
        (Ok(_), Some(Unit::Metre)) => Said::Metre,
        (Err(problem), Some(Unit::Metre)) => {
            overridden.push(said_only(&problem));
            Said::Metre
        }
        (Err(problem), None) => return Err(refuse(problem)),
    };
    let cell = cell_size(raster.georeference.as_ref(), sidecar, options, heights, [&mut warnings, &mut overridden])
        .map_err(refuse)?;
    warnings.extend(overridden.iter().map(|said| format!("is taken as metres, as asked for, though it {said}")));
    let grid = Grid { georeference: raster.georeference.clone(), ..Grid::new(raster.size, cell)? };
    let mask = mask(&mut raster, options, &mut warnings).map_err(refuse)?;
    let [factor, offset] = scale(&raster, mask.as_deref(), sidecar, options, &mut warnings).map_err(refuse)?;

    let step = terrace(&raster, mask.as_deref()).map(|codes| codes * factor.abs());
    let coarse = match raster.samples.kind() {
        SampleType::U8 => true,
        SampleType::U16 => step.is_some_and(|s| s >= 128.0 * factor.abs()), // 8 bits stretched to 16
        _ => false,
    };
    if let Some(step) = step.filter(|_| coarse && !options.deterrace) {
        warnings.push(format!(
            "is stored in 8 bits: its heights are terraces {step:.3} m apart; `deterrace` smooths them away"
        ));
    }
    let mut ground = ground(&raster, mask.as_deref(), [factor, offset]).map_err(refuse)?;
    let nodata_count = mask.as_ref().map_or(0, |m| m.iter().filter(|m| **m).count());
    let nodata = mask.map(|mask| Field::from_vec(raster.size, mask)).transpose()?;
    if options.deterrace {
        match step {
            Some(step) => deterrace::deterrace(&mut ground, nodata.as_ref(), step),
            None => warnings.push("has no terraces to smooth: its heights are not on steps".to_string()),
        }
    }
    let terrain = Terrain { nodata, ..Terrain::from_ground(grid, ground)? };
    let sample = raster.samples.kind();
    Ok(Loaded { terrain, warnings, format, sample, nodata: raster.nodata, nodata_count, overridden })
}

/// Whether a file leaves unsaid what a sidecar says: the metres of its codes, or its cell size.
fn needs_sidecar(raster: &Raster) -> bool {
    let unscaled = raster.samples.kind().full().is_some() && !raster.scaled;
    unscaled || raster.georeference.as_ref().is_none_or(|g| g.transform.is_none())
}

/// What a problem says of the file, without its advice.
fn said_only(problem: &str) -> String {
    problem.split_once("; ").map_or(problem, |(said, _)| said).to_string()
}

/// Side of a cell in metres on a map with this georeference, whose heights' unit is said to be `unit`; and what is to be said about it.
/// It is what [`load`] finds out of a file, for maps that are held in memory; one without transform needs [`LoadOptions::cell_size`].
/// The error is the problem in words.
///
/// # Errors
/// Degrees, feet, Pseudo-Mercator, rotated or oblong cells, no cell size at all.
pub fn cell_of(
    georeference: &Georeference,
    unit: Option<&str>,
    options: &LoadOptions,
) -> Result<(f64, Vec<String>), String> {
    let heights = match (units::check_vertical(Some(georeference), unit), options.unit) {
        (Ok(said), _) => said,
        (Err(_), Some(Unit::Metre)) => Said::Metre,
        (Err(problem), None) => return Err(problem),
    };
    if georeference.transform.is_none() && options.cell_size.is_none() {
        return Err("says no cell size; give it in metres".into());
    }
    let (mut warnings, mut overridden) = (Vec::new(), Vec::new());
    let cell = cell_size(Some(georeference), None, options, heights, [&mut warnings, &mut overridden])?;
    warnings.extend(overridden.iter().map(|said| format!("is taken as metres, as asked for, though it {said}")));
    Ok((cell, warnings))
}

/// Side of a cell in metres; what stands behind `heights` is what the file says of their unit.
fn cell_size(
    georeference: Option<&Georeference>,
    sidecar: Option<&Sidecar>,
    options: &LoadOptions,
    heights: Said,
    [warnings, overridden]: [&mut Vec<String>; 2],
) -> Result<f64, String> {
    if let Some(georeference) = georeference {
        geokeys::check_north_up(georeference)?;
        let mut unit = units::check_horizontal(georeference);
        if let (Err(Problem::Linear(problem)), Some(Unit::Metre)) = (&unit, options.unit) {
            overridden.push(said_only(problem));
            unit = Ok(());
        }
        if let (Err(Problem::Linear(problem)), Some(_), Said::Nothing) = (&unit, options.cell_size, heights) {
            // Where coordinates are feet heights are as a rule, and a cell size says nothing of them.
            return Err(format!(
                "{}, and nothing says in which unit its heights are; give them a unit (`gdal_edit.py -a_srs` with a vertical \
                 CRS, or a band unit), or `--unit metre` if they are metres",
                said_only(problem)
            ));
        }
        let square = geokeys::square(georeference);
        match (options.cell_size, unit.map_err(Problem::words), square) {
            (Some(cell), Err(problem), _) | (Some(cell), _, Err(problem)) => {
                let problem = said_only(&problem);
                warnings.push(format!("is taken as square cells of {cell} m, as asked for, though it {problem}"));
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
    warnings.push(format!("says no cell size; {DEFAULT_CELL} m is taken (give the cell size to change it)"));
    Ok(DEFAULT_CELL)
}

/// Factor and offset from sample to metres.
fn scale(
    raster: &Raster,
    mask: Option<&[bool]>,
    sidecar: Option<&Sidecar>,
    options: &LoadOptions,
    warnings: &mut Vec<String>,
) -> Result<[f64; 2], String> {
    let kind = raster.samples.kind();
    if let Some(full) = kind.full().filter(|_| !raster.scaled || options.height.is_some()) {
        if raster.scaled {
            warnings.push(
                "has its codes taken over the heights that were asked for, though it says their metres itself"
                    .to_string(),
            );
        }
        let known = options.height.or(sidecar.map(|s| [s.minimum, s.maximum]));
        let [low, high] = known.unwrap_or(DEFAULT_HEIGHT);
        if known.is_none() {
            warnings.push(format!(
                "says no heights; its codes 0 to {full} are taken as {low} to {high} m (give the height range to change \
                 it: 0,{full} if they are metres)"
            ));
        }
        return Ok([(high - low) / full, low]);
    }
    let Some([low, high]) = options.height else {
        return Ok(raster.scale);
    };
    let is_valid = |k: usize| mask.is_none_or(|m| !m[k]);
    let outside = |k: &usize| is_valid(*k) && !(0.0..=1.0).contains(&raster.samples.get(*k));
    if matches!(kind, SampleType::F32 | SampleType::F64) {
        match (0..raster.samples.len()).into_par_iter().find_first(outside) {
            None => return Ok([high - low, low]),
            Some(k) => {
                return Err(format!(
                    "holds {} at {}: a height range is for codes, or for values of 0 to 1; these are metres already",
                    raster.samples.get(k),
                    place(k, raster.size[1])
                ));
            }
        }
    }
    Err(format!("holds {kind} samples, which are metres already; a height range is for codes, or for values of 0 to 1"))
}

/// True where there is no data; `None` where there is data everywhere. A stand-in that the file does not declare is
/// noticed, and becomes the raster's nodata value.
fn mask(raster: &mut Raster, options: &LoadOptions, warnings: &mut Vec<String>) -> Result<Option<Vec<bool>>, String> {
    let samples = &raster.samples;
    let n = samples.len();
    let declared = raster.nodata;
    let single = samples.kind() == SampleType::F32;
    // A tag in decimal may be a little beside the f32 that it means.
    let same = move |v: f64, nodata: f64| v == nodata || (single && v as f32 == nodata as f32);
    let missing = move |v: f64| v.is_nan() || v.is_infinite() || declared.is_some_and(|nodata| same(v, nodata));
    let masked = |k: usize| raster.is_masked(k);
    if !options.infinite_is_nodata {
        let infinite = |v: f64| v.is_infinite() && !declared.is_some_and(|nodata| same(v, nodata));
        if let Some(k) = (0..n).into_par_iter().find_first(|k| !masked(*k) && infinite(samples.get(*k))) {
            let place = place(k, raster.size[1]);
            return Err(format!("holds {} at {place}; say that infinity is no data if so it is meant", samples.get(k)));
        }
    }
    let mut stand_in = None;
    if samples.kind().full().is_none() {
        const USUAL: [f64; 3] = [-9999.0, -32768.0, -32767.0];
        let huge = |v: f64| v.abs() > 1e38;
        let usual = |v: f64| USUAL.contains(&v) || huge(v);
        // Lowest of the plain values, and the lowest usual stand-in.
        let least = |keep: &(dyn Fn(f64) -> bool + Sync)| {
            let kept = (0..n)
                .into_par_iter()
                .filter(|k| !masked(*k))
                .map(|k| samples.get(k))
                .filter(|v| !missing(*v) && keep(*v));
            kept.min_by(f64::total_cmp)
        };
        if let Some(found) = least(&usual) {
            let plain = least(&|v| !usual(v));
            // Far below all else: no land falls a kilometre at once to just this number.
            if huge(found) || plain.is_none_or(|plain| plain >= found + 1000.0) {
                stand_in = Some(found);
            } else if let Some(found) = least(&huge) {
                stand_in = Some(found);
            }
        }
    }
    let is_stand_in = |v: f64| stand_in.is_some_and(|s| v == s || (s.abs() > 1e38 && v.abs() > 1e38));
    let mask: Vec<bool> = (0..n)
        .into_par_iter()
        .map(|k| {
            let v = samples.get(k);
            masked(k) || missing(v) || is_stand_in(v)
        })
        .collect();
    let count = mask.iter().filter(|m| **m).count();
    if let Some(value) = stand_in {
        let cells = (0..n).filter(|k| !masked(*k) && is_stand_in(samples.get(*k))).count();
        warnings.push(format!("holds {value} in {cells} cells, far from all other heights: taken as no data"));
        raster.nodata = raster.nodata.or(Some(value));
    }
    let left_out = raster.mask.as_ref().map_or(0, |mask| mask.iter().filter(|masked| **masked).count());
    if left_out > 0 {
        warnings.push(format!("has a mask that leaves out {left_out} cells: taken as no data"));
    }
    match count {
        0 => Ok(None),
        _ if count == n => Err("holds no data at all: every cell is nodata".to_string()),
        _ => Ok(Some(mask)),
    }
}

/// The heights; where there is no data, the lowest of the others.
fn ground(raster: &Raster, mask: Option<&[bool]>, [factor, offset]: [f64; 2]) -> Result<Field<Height>, String> {
    let samples = &raster.samples;
    let n = samples.len();
    let metres = |k: usize| samples.get(k) * factor + offset;
    let is_valid = |k: usize| mask.is_none_or(|m| !m[k]);
    let wrong = |k: &usize| is_valid(*k) && Height::from_metres(metres(*k)).is_err();
    if let Some(k) = (0..n).into_par_iter().find_first(wrong) {
        let place = place(k, raster.size[1]);
        return Err(format!("holds {} m at {place}: allowed is -16000 to 16000 m", metres(k)));
    }
    let lowest = (0..n).into_par_iter().filter(|k| is_valid(*k)).map(|k| Height::saturating(metres(k))).min();
    let lowest = lowest.ok_or("holds no data at all")?;
    let heights = (0..n).into_par_iter().map(|k| if is_valid(k) { Height::saturating(metres(k)) } else { lowest });
    Field::from_vec(raster.size, heights.collect()).map_err(|error| error.to_string())
}

/// The greatest step that all valid samples lie on, in samples (1 for any whole numbers, 257 for 8 bits stretched to
/// 16); `None` for samples that are not whole, or all alike.
fn terrace(raster: &Raster, mask: Option<&[bool]>) -> Option<f64> {
    let mut valid = (0..raster.samples.len()).filter(|k| mask.is_none_or(|m| !m[*k])).map(|k| raster.samples.get(k));
    let first = valid.next()?;
    let mut step: u64 = 0;
    for v in valid {
        let difference = (v - first).abs();
        if difference.fract() != 0.0 || difference > 1e9 {
            return None;
        }
        let (mut a, mut b) = (step, difference as u64);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        step = a;
    }
    (step > 0).then_some(step as f64)
}
