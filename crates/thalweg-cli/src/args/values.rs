//! Parsers of values that are typed on the command line.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::{
    OsStringValueParser, PossibleValue, PossibleValuesParser, RangedU64ValueParser, StringValueParser, TypedValueParser,
};
use thalweg_core::terrain::grid::Edges;
use thalweg_core::{Cell, Edge, MapPoint, Point};
use thalweg_export::export::TARGETS;
use thalweg_export::export_operations;
use thalweg_io::Unit;
use thalweg_models::models::Models;
use thalweg_sim::presets::PRESETS;

/// Columns, and rows if they were given.
#[derive(Debug, Clone, Copy)]
pub struct CellCounts {
    /// Columns, 1 or more.
    pub cols: usize,
    /// Rows, 1 or more.
    pub rows: Option<usize>,
}

/// A parser that accepts any value and names the known ones. Shells complete to these, and with `hide_possible_values`
/// help stays short.
#[derive(Clone)]
pub struct Completed<P> {
    any: P,
    names: Vec<&'static str>,
}

impl<P: TypedValueParser> TypedValueParser for Completed<P> {
    type Value = P::Value;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Self::Value, clap::Error> {
        self.any.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.names.iter().copied().map(PossibleValue::new)))
    }
}

/// Returns the parser of a recipe file or of the name of a preset.
pub fn recipe_parser() -> Completed<OsStringValueParser> {
    Completed { any: OsStringValueParser::new(), names: PRESETS.iter().map(|preset| preset.name).collect() }
}

/// Returns the parser of the name of a model.
pub fn model_parser() -> Completed<StringValueParser> {
    Completed {
        any: StringValueParser::new(),
        names: thalweg_models::models::all_models().map(|model| model.about().name).collect(),
    }
}

/// Returns the parser of the name of a layer.
pub fn layer_parser() -> Completed<StringValueParser> {
    let mut names: Vec<_> = Models::default().layers().map(|layer| layer.name).collect();
    names.sort_unstable();
    names.dedup();
    Completed { any: StringValueParser::new(), names }
}

/// The number format of written samples.
#[derive(Clone, Copy, ValueEnum)]
pub enum SampleWord {
    /// 32-bit floats, accurate to a millimetre or better.
    F32,
    /// 64-bit floats, which are exact.
    F64,
}

/// The unit in which a file is read.
#[derive(Clone, Copy, ValueEnum)]
pub enum UnitWord {
    /// The metre.
    Metre,
}

impl UnitWord {
    /// Returns the library's unit.
    pub fn to_unit(self) -> Unit {
        match self {
            Self::Metre => Unit::Metre,
        }
    }
}

/// The boundary condition of the sides of the terrain.
#[derive(Clone, Copy, ValueEnum)]
pub enum EdgeWord {
    /// Water and sediment leave through the sides.
    Open,
    /// Nothing leaves through the sides.
    Closed,
}

impl EdgeWord {
    /// Returns this condition for all four sides.
    pub fn to_edges(self) -> Edges {
        match self {
            Self::Open => [Edge::Open; 4],
            Self::Closed => [Edge::Closed; 4],
        }
    }
}

/// Returns the parser of a seed. Recipes store seeds as TOML integers, which end at 2⁶³ − 1.
pub fn seed_parser() -> RangedU64ValueParser<u64> {
    RangedU64ValueParser::new().range(0..=i64::MAX as u64)
}

/// Returns the parser of a number of threads, 1 to [`MAX_THREADS`].
pub fn thread_count_parser() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=MAX_THREADS as u64)
}

/// The maximum number of threads.
pub const MAX_THREADS: usize = 1024;

/// Returns the parser of the name of a declared operation.
pub fn operation_parser() -> PossibleValuesParser {
    export_operations().iter().map(|operation| operation.name()).collect::<Vec<_>>().into()
}

/// Returns the parser of the name of an export target.
pub fn target_parser() -> PossibleValuesParser {
    TARGETS.iter().map(|target| PossibleValue::new(target.name).help(target.about)).collect::<Vec<_>>().into()
}

/// Parses a time in seconds, 0 to 10⁹; returns a message for anything else.
pub fn parse_seconds(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|s| (0.0..=1e9).contains(s)).ok_or_else(|| "must be 0 to 1000000000 seconds".into())
}

/// Parses an area in m², or with the suffix `km2` in km²; returns it in m².
pub fn parse_area(text: &str) -> Result<f64, String> {
    // `km2` also ends in `m2`, so it is tried first.
    let (number, factor) = match (text.strip_suffix("km2"), text.strip_suffix("m2")) {
        (Some(number), _) => (number, 1e6),
        (None, Some(number)) => (number, 1.0),
        (None, None) => (text, 1.0),
    };
    let area = number.trim().parse::<f64>().ok().map(|number| number * factor);
    area.filter(|m2| (0.0..=1e15).contains(m2)).ok_or_else(|| "must be an area of 0 to 1e15 m2, such as 0.5km2".into())
}

/// Parses bytes of memory: a number, which may end in K, M, G or T, each 1024 times the previous one; KiB and so on
/// mean the same.
pub fn parse_byte_count(text: &str) -> Result<u64, String> {
    let wrong = || "must be a number of bytes of at least 1M, such as 524288000, 500M or 2.5G".to_string();
    // The endings K, KB and KiB mean the same.
    let text = text.trim().trim_end_matches("iB").trim_end_matches('B');
    let powers = "KMGT".chars().zip([10, 20, 30, 40]);
    let found = powers.into_iter().find_map(|(unit, power)| Some((text.strip_suffix(unit)?, power)));
    let (number, power) = found.unwrap_or((text, 0));
    let bytes = number.trim().parse::<f64>().map_err(|_| wrong())? * (1u64 << power) as f64;
    if (1048576.0..1e18).contains(&bytes) { Ok(bytes as u64) } else { Err(wrong()) }
}

/// Parses ROW,COL, both from 0.
pub fn parse_cell(text: &str) -> Result<Cell, String> {
    let numbers: Option<Vec<usize>> = text.split(',').map(|n| n.trim().parse().ok()).collect();
    let numbers = numbers.and_then(|n| <[usize; 2]>::try_from(n).ok());
    numbers.map(Cell::from).ok_or_else(|| "must be ROW,COL, two whole numbers of 0 or more".into())
}

/// Parses ROW,COL,NUMBER, for example a spring with its discharge.
pub fn parse_cell_with_number(text: &str) -> Result<(Cell, f64), String> {
    let wrong = || "must be ROW,COL,NUMBER, where ROW and COL are whole numbers of 0 or more".to_string();
    // The number follows the last comma; the rest is the cell.
    let (place, number) = text.rsplit_once(',').ok_or_else(wrong)?;
    let number = number.trim().parse().ok().filter(|x: &f64| x.is_finite()).ok_or_else(wrong)?;
    Ok((parse_cell(place).map_err(|_| wrong())?, number))
}

/// Parses NAME=VALUE; blanks around both are removed.
pub fn parse_name_and_value(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("must be NAME=VALUE")?;
    Ok((name.trim().to_string(), value.trim().to_string()))
}

/// Returns the parser of NAME=FILE, where the name of the file may consist of any bytes.
pub fn named_file() -> impl TypedValueParser<Value = (String, PathBuf)> {
    OsStringValueParser::new().try_map(|text| {
        // Split the bytes instead of text, because file names need not be valid UTF-8.
        let bytes = text.as_encoded_bytes();
        let at = bytes.iter().position(|byte| *byte == b'=').ok_or("must be NAME=FILE")?;
        let name = std::str::from_utf8(&bytes[..at]).map_err(|_| "must be NAME=FILE")?.trim().to_string();
        // Blanks around a name that is valid text are removed, as in other pairs.
        let file = text.to_str().map(|text| PathBuf::from(text[at + 1..].trim()));
        Ok::<_, &str>((name, file.unwrap_or_else(|| path_after(&text, at + 1))))
    })
}

/// Returns the part of a text that starts at this byte.
fn path_after(text: &OsStr, at: usize) -> PathBuf {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt as _;
        PathBuf::from(OsStr::from_bytes(&text.as_bytes()[at..]))
    }
    #[cfg(not(unix))]
    PathBuf::from(text.to_string_lossy().chars().skip(at).collect::<String>())
}

/// Parses COLSxROWS or COLS, both from 1.
pub fn parse_cell_counts(text: &str) -> Result<CellCounts, String> {
    let number = |text: &str| text.trim().parse().ok().filter(|n| *n > 0);
    let sides = match text.split_once(['x', 'X']) {
        None => number(text).map(|cols| CellCounts { cols, rows: None }),
        Some((cols, rows)) => number(cols).zip(number(rows)).map(|(cols, rows)| CellCounts { cols, rows: Some(rows) }),
    };
    sides.ok_or_else(|| "must be COLSxROWS or COLS, whole numbers of 1 or more".into())
}

/// Parses WIDTHxHEIGHT in pixels; returns rows and columns.
#[cfg(feature = "studio")]
pub fn parse_picture_size(text: &str) -> Result<[usize; 2], String> {
    let CellCounts { cols, rows } = parse_cell_counts(text)?;
    rows.map(|rows| [rows, cols]).ok_or_else(|| "must be WIDTHxHEIGHT in pixels".into())
}

/// Parses a point in world metres.
pub fn parse_point(text: &str) -> Result<Point, String> {
    two_numbers("X,Y")(text).map(Point::from)
}

/// Parses a point in map coordinates.
pub fn map_point(text: &str) -> Result<MapPoint, String> {
    two_numbers("X,Y")(text).map(MapPoint::from)
}

/// Returns the parser of two numbers with a comma between them; `names` names them in the message.
pub fn two_numbers(names: &'static str) -> impl Fn(&str) -> Result<[f64; 2], String> + Clone + Send + Sync {
    move |text| {
        let numbers: Option<Vec<f64>> = text.split(',').map(|n| n.trim().parse().ok()).collect();
        let numbers = numbers.and_then(|n| <[f64; 2]>::try_from(n).ok());
        let finite = numbers.filter(|n| n.iter().all(|x| x.is_finite()));
        finite.ok_or_else(|| format!("must be {names}, two numbers"))
    }
}

/// Parses W,N,E,S, four finite numbers.
pub fn four_numbers(text: &str) -> Result<[f64; 4], String> {
    let numbers: Option<Vec<f64>> = text.split(',').map(|n| n.trim().parse().ok()).collect();
    let numbers = numbers.and_then(|n| <[f64; 4]>::try_from(n).ok()).filter(|n| n.iter().all(|x| x.is_finite()));
    numbers.ok_or_else(|| "must be W,N,E,S, four numbers".into())
}

/// Parses COL,ROW,COLS,ROWS, four whole numbers.
pub fn parse_window(text: &str) -> Result<[usize; 4], String> {
    let numbers: Option<Vec<usize>> = text.split(',').map(|n| n.trim().parse().ok()).collect();
    let numbers = numbers.and_then(|n| <[usize; 4]>::try_from(n).ok());
    numbers.ok_or_else(|| "must be COL,ROW,COLS,ROWS, four whole numbers".into())
}
