//! Points of a regular grid as text, one `x y z` a line, in any order; points that are missing are cells without data.
//!
//! The text is read twice: first for the grid that its points make, then for their heights. Memory is needed for the
//! distinct coordinates and for the grid, and not for the points.

use std::collections::BTreeSet;

use super::text::{NumberReader, decode_text};
use super::{Raster, Samples, check_size};
use thalweg_core::Georeference;
use thalweg_core::base::names;

/// The greatest number of cells for each point. Points that are fewer do not make a grid.
const MAX_CELLS_PER_POINT: u64 = 256;

/// The number of cells that any file may have, however few its points are.
const MIN_CELL_LIMIT: u64 = 1 << 14;

/// The greatest distance of a point from the grid, in cells.
const TOLERANCE_CELLS: f64 = 0.05;

/// Coordinates that differ by less than this part of the greatest one are the same, written with different roundings.
const SAME_RELATIVE: f64 = 1e-10;

/// The words for the columns of coordinates and heights in a header, in lower case.
const COLUMN_NAMES: [&[&str]; 3] = [
    &["x", "lon", "long", "longitude", "east", "easting", "e"],
    &["y", "lat", "latitude", "north", "northing", "n"],
    &["z", "h", "height", "elev", "elevation", "alt", "altitude", "value"],
];

/// The character between the fields of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Separator {
    Space,
    Comma,
    Semicolon,
}

impl Separator {
    /// Determines the separator of a line.
    fn from_line(line: &str) -> Self {
        if line.contains(';') {
            return Self::Semicolon;
        }
        // Between commas that separate fields there is one number, or one word; commas inside numbers have spaces
        // between the numbers.
        let fields = || line.split(',').map(str::trim);
        let is_separated =
            fields().count() > 1 && fields().all(|field| !field.contains(|c: char| c.is_ascii_whitespace()));
        if is_separated { Self::Comma } else { Self::Space }
    }

    /// Splits a line into its fields.
    fn split(self, line: &str) -> Box<dyn Iterator<Item = &str> + '_> {
        match self {
            Self::Space => Box::new(line.split_ascii_whitespace()),
            Self::Comma => Box::new(line.split(',').map(trim_field)),
            Self::Semicolon => Box::new(line.split(';').map(trim_field)),
        }
    }
}

fn trim_field(field: &str) -> &str {
    let field = field.trim();
    field.strip_prefix('"').and_then(|field| field.strip_suffix('"')).unwrap_or(field)
}

/// The layout of a text.
struct Table<'a> {
    text: &'a str,
    separator: Separator,
    /// The fields of a line that are x, y and z.
    columns: [usize; 3],
    has_header: bool,
}

/// A point and the number of its line, counted from 1.
struct Point {
    line: usize,
    xyz: [f64; 3],
}

impl<'a> Table<'a> {
    /// Determines the layout from the first line that is not a comment.
    fn new(text: &'a str) -> Result<Self, String> {
        let Some((_, first)) = iter_content_lines(text).next() else { return Err("has no points".to_string()) };
        let separator = Separator::from_line(first);
        let fields: Vec<&str> = separator.split(first).take(64).collect();
        let mut reader = NumberReader::default();
        let has_header = fields.iter().take(3).any(|field| reader.parse(field).is_none());
        let mut table = Self { text, separator, columns: [0, 1, 2], has_header };
        if has_header {
            let column = |names: &[&str]| {
                fields.iter().position(|field| names.iter().any(|name| trim_field(field).eq_ignore_ascii_case(name)))
            };
            // The names are used only if all three are known; other names stand for x, y and z in this order.
            if let [Some(x), Some(y), Some(z)] = COLUMN_NAMES.map(column) {
                table.columns = [x, y, z];
            }
            // A header may be separated in another way than the numbers, for example `x, y, z` before spaces.
            if let Some((_, line)) = iter_content_lines(text).nth(1) {
                table.separator = Separator::from_line(line);
            }
        } else if separator == Separator::Comma && fields.len() > 4 && !first.contains('.') {
            return Err(format!(
                "has lines such as `{}`, whose commas may separate numbers or be decimal commas; separate the numbers \
                 by semicolons or spaces",
                names::format_short(first)
            ));
        }
        Ok(table)
    }

    /// Returns the points; a point without a height has NaN.
    fn points<'t>(&'t self, reader: &'t mut NumberReader) -> impl Iterator<Item = Result<Point, String>> + 't {
        iter_content_lines(self.text).skip(usize::from(self.has_header)).map(move |(line, content)| {
            let last = self.columns.into_iter().max().unwrap_or(2);
            let fields: Vec<&str> = self.separator.split(content).take(last + 1).collect();
            let mut xyz = [0.0; 3];
            for (axis, (value, column)) in xyz.iter_mut().zip(self.columns).enumerate() {
                let field = fields
                    .get(column)
                    .ok_or_else(|| format!("has {} fields in line {line}; x, y and z are required", fields.len()))?;
                *value = match reader.parse(trim_field(field)) {
                    Some(number) if axis == 2 || number.is_finite() => number,
                    None if axis == 2 && field.is_empty() => f64::NAN,
                    _ => {
                        let field = names::format_short(field);
                        return Err(format!("has `{field}` in line {line}, where a number is required"));
                    }
                };
            }
            Ok(Point { line, xyz })
        })
    }
}

/// Returns the lines that are neither empty nor comments, with their numbers from 1.
fn iter_content_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    // A text of an old Macintosh has no line feeds.
    let end = if text.contains('\n') { '\n' } else { '\r' };
    let lines = text.split(end).enumerate().map(|(k, line)| (k + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// Equal steps along an axis.
#[derive(Debug, Clone, Copy)]
struct Steps {
    first: f64,
    step: f64,
    count: u64,
}

impl Steps {
    /// Returns the index of the nearest step.
    fn index(self, value: f64) -> usize {
        ((value - self.first) / self.step).round() as usize
    }

    /// Returns true if a value is between two steps.
    fn is_off(self, value: f64) -> bool {
        let index = (value - self.first) / self.step;
        (index - index.round()).abs() > TOLERANCE_CELLS
    }
}

/// Determines the steps of sorted coordinates; `Ok(None)` if there is only one. The error is the steps that most of the
/// coordinates have.
fn find_steps(sorted: &[f64]) -> Result<Option<Steps>, Steps> {
    let greatest = sorted.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let mut line: Vec<f64> = Vec::new();
    for x in sorted {
        if line.last().is_none_or(|last| x - last > SAME_RELATIVE * greatest) {
            line.push(*x);
        }
    }
    let mut gaps: Vec<f64> = line.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let Some(mut step) = gaps.iter().copied().min_by(f64::total_cmp) else { return Ok(None) };
    let (first, mut count) = (line[0], 0.0);
    let mut is_even = true;
    for pair in line.windows(2) {
        let gap = (pair[1] - pair[0]) / step;
        is_even &= (gap - gap.round()).abs() <= 2.0 * TOLERANCE_CELLS;
        count += gap.round();
        // The step over the whole line is more precise than a single one, whose ends are rounded.
        step = (pair[1] - first) / count;
    }
    let steps = Steps { first, step, count: count as u64 + 1 };
    // Rounding errors must not have added up.
    if is_even && !line.iter().any(|x| steps.is_off(*x)) {
        return Ok(Some(steps));
    }
    gaps.sort_by(f64::total_cmp);
    let usual = gaps[gaps.len() / 2];
    let anchored = [0, line.len() / 2, line.len() - 1].map(|k| Steps { first: line[k], step: usual, count: 0 });
    let off = |steps: &Steps| line.iter().filter(|x| steps.is_off(**x)).count();
    Err(anchored.into_iter().min_by_key(off).unwrap_or(steps))
}

/// A number that is ordered by its value.
#[derive(Clone, Copy, PartialEq)]
struct Ordered(f64);

impl Eq for Ordered {}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Reads the points of a grid.
pub(super) fn read_points(bytes: &[u8]) -> Result<Raster, String> {
    let text = decode_text(bytes)?;
    let table = Table::new(text)?;
    let mut reader = NumberReader::default();
    let mut distinct = [BTreeSet::new(), BTreeSet::new()];
    let mut count = 0u64;
    for point in table.points(&mut reader) {
        let point = point?;
        count += 1;
        for (axis, seen) in distinct.iter_mut().enumerate() {
            // Adding 0 turns −0 into 0.
            seen.insert(Ordered(point.xyz[axis] + 0.0));
        }
        // Points off a grid have about as many distinct coordinates as there are points, each of at least 6 bytes.
        let [across, down] = [0, 1].map(|axis| distinct[axis].len() as u64);
        if across.saturating_mul(down) > limit_cells(bytes.len() as u64 / 6) {
            return Err(refuse_irregular(format!(
                "has {across} different x and {down} different y in its first {count} points (up to line {}), so they \
                 are not on a grid",
                point.line
            )));
        }
    }
    reader.check_commas()?;
    let lines = distinct.map(|seen| seen.into_iter().map(|value| value.0).collect::<Vec<f64>>());
    let mut steps = [None; 2];
    for (axis, line) in lines.iter().enumerate() {
        steps[axis] = find_steps(line).map_err(|usual| describe_off_point(&table, axis, usual))?;
    }
    let [across, down] = match steps {
        [Some(across), Some(down)] => [across, down],
        // A single row or column has the cells of the other axis.
        [Some(across), None] => [across, Steps { first: lines[1][0], step: across.step, count: 1 }],
        [None, Some(down)] => [Steps { first: lines[0][0], step: down.step, count: 1 }, down],
        [None, None] => return Err("has points at one place only; a grid has at least two".to_string()),
    };
    let cells = down.count.saturating_mul(across.count);
    if cells > limit_cells(count) {
        return Err(refuse_irregular(format!(
            "has {count} points in a grid of {} × {} cells (columns × rows) of {} × {}, so few that they are not on a \
             grid",
            across.count, down.count, across.step, down.step
        )));
    }
    check_size([down.count, across.count], 8, bytes.len(), u64::MAX)?;
    let size = [down.count as usize, across.count as usize];
    fill_grid(&table, size, across, down)
}

/// Returns the greatest number of cells of a grid with this many points.
fn limit_cells(points: u64) -> u64 {
    points.saturating_mul(MAX_CELLS_PER_POINT).max(MIN_CELL_LIMIT)
}

/// Places the heights into the grid.
fn fill_grid(table: &Table<'_>, size: [usize; 2], across: Steps, down: Steps) -> Result<Raster, String> {
    let cells = size[0] * size[1];
    let (mut samples, mut seen) = (vec![f64::NAN; cells], vec![false; cells]);
    let mut reader = NumberReader::default();
    for point in table.points(&mut reader) {
        let Point { line, xyz: [x, y, z] } = point?;
        // The northern row comes first.
        let row = size[0] - 1 - down.index(y).min(size[0] - 1);
        let k = row * size[1] + across.index(x).min(size[1] - 1);
        if std::mem::replace(&mut seen[k], true) {
            return Err(format!("has the point {x}, {y} a second time in line {line}; remove one of the two"));
        }
        samples[k] = z;
    }
    let north = down.first + (down.count as f64 - 0.5) * down.step;
    let transform = [across.first - 0.5 * across.step, across.step, 0.0, north, 0.0, -down.step];
    if transform.iter().any(|x| !x.is_finite()) {
        return Err("has coordinates that are too large".to_string());
    }
    let mut raster = Raster::new(size, Samples::F64(samples));
    raster.georeference = Some(Georeference { transform: Some(transform), ..Georeference::default() });
    Ok(raster)
}

/// Names the first point of the file whose coordinate is off the steps that the others have.
fn describe_off_point(table: &Table<'_>, axis: usize, usual: Steps) -> String {
    let mut reader = NumberReader::default();
    let found = table.points(&mut reader).flatten().find(|point| usual.is_off(point.xyz[axis]));
    let Some(Point { line, xyz: [x, y, _] }) = found else {
        return refuse_irregular("has points with unequal steps".to_string());
    };
    refuse_irregular(format!(
        "has the point {x}, {y} in line {line}, which is off the grid of the others, whose steps are {}",
        usual.step
    ))
}

fn refuse_irregular(problem: String) -> String {
    format!(
        "{problem}; interpolate scattered points first, for example a CSV with the header x,y,z by `gdal_grid -a \
         linear -zfield z -oo X_POSSIBLE_NAMES=x -oo Y_POSSIBLE_NAMES=y IN.csv OUT.tif`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::base::rng::RandomKey;

    /// Returns the points of a grid of 3 × 4 cells of 10 × 5, with the heights 0 to 11 from the north-west on.
    fn points() -> Vec<[f64; 3]> {
        (0..12).map(|k| [100.0 + 10.0 * (k % 4) as f64, 50.0 - 5.0 * (k / 4) as f64, k as f64]).collect()
    }

    fn write(points: &[[f64; 3]], separator: &str) -> String {
        points.iter().map(|[x, y, z]| format!("{x}{separator}{y}{separator}{z}\n")).collect()
    }

    fn check(text: &str) {
        let raster = read_points(text.as_bytes()).unwrap_or_else(|problem| panic!("{problem}\n{text}"));
        assert_eq!(raster.size, [3, 4]);
        assert_eq!(raster.samples, Samples::F64((0..12).map(f64::from).collect()), "{text}");
        assert_eq!(raster.georeference.unwrap().transform, Some([95.0, 10.0, 0.0, 52.5, 0.0, -5.0]));
    }

    #[test]
    fn every_order_separator_and_header() {
        let key = RandomKey::new(3, "points");
        for turn in 0..20u64 {
            let mut points = points();
            for k in (1..points.len()).rev() {
                let other = (key.derive_key(turn).derive_key(k as u64).uniform_unit() * (k + 1) as f64) as usize;
                points.swap(k, other.min(k));
            }
            for separator in [" ", "\t", ",", ";", ", ", "   ", " ; "] {
                check(&write(&points, separator));
            }
        }
        let body = write(&points(), ",");
        for head in ["x,y,z", "X, Y, Z", "\"lon\",\"lat\",\"elevation\"", "a,b,c", "# comment\n\nx y z", "\u{feff}# x"]
        {
            check(&format!("{head}\n{body}"));
        }
        check(&body.replace('\n', "\r\n"));
        check(&body.replace('\n', "\r"));
        // Columns in another order, and one more.
        let turned: String = points().iter().map(|[x, y, z]| format!("{z};7;{y};{x}\n")).collect();
        check(&format!("Height;class;Northing;Easting\n{turned}"));
        let decimal: String =
            points().iter().map(|[x, y, z]| format!("{x:.1} {y:.1} {z:.1}\n").replace('.', ",")).collect();
        check(&decimal);
        check(&decimal.replace(' ', ";"));
    }

    #[test]
    fn missing_points_are_missing_cells() {
        let mut points = points();
        points.retain(|[.., z]| *z != 5.0);
        points[0][2] = f64::NAN;
        let raster = read_points(write(&points, " ").as_bytes()).unwrap();
        let Samples::F64(samples) = raster.samples else { unreachable!() };
        for (k, sample) in samples.into_iter().enumerate() {
            assert!(if [0, 5].contains(&k) { sample.is_nan() } else { sample == k as f64 }, "{k}: {sample}");
        }
        // Coordinates with few digits: a third, written as 0.333 and 0.667.
        let thirds: String = (0..400).map(|k| format!("{:.3} 1 {k}\n", f64::from(k) / 3.0)).collect();
        let raster = read_points(thirds.as_bytes()).unwrap();
        assert_eq!(raster.size, [1, 400]);
        let transform = raster.georeference.unwrap().transform.unwrap();
        assert!((transform[1] - 1.0 / 3.0).abs() < 1e-5, "{transform:?}");
    }

    #[test]
    fn what_is_no_grid_is_named() {
        let problem = |text: &str| read_points(text.as_bytes()).unwrap_err();
        let twice = problem(&format!("{}100 50 3\n", write(&points(), " ")));
        assert!(twice.contains("100, 50") && twice.contains("line 13"), "{twice}");
        let off = problem(&format!("{}113 50 3\n", write(&points(), " ")));
        assert!(off.contains("113, 50 in line 13") && off.contains("gdal_grid"), "{off}");
        let first = problem(&format!("-3 50 3\n{}", write(&points(), " ")));
        assert!(first.contains("-3, 50 in line 1,"), "{first}");
        assert!(problem("1 1 1\n2 x 1\n").contains("`x` in line 2"));
        assert!(problem("1 1 1\n2 1\n").contains("2 fields in line 2"));
        assert!(problem("1 1 1\n").contains("one place"));
        assert!(problem("1,5,2,5,3,5\n").contains("decimal commas"));
        assert!(problem("1 inf 1\n").contains("`inf`"));
        for text in ["", "# only\n", "x y z\n", "\n\n"] {
            assert!(read_points(text.as_bytes()).is_err(), "{text}");
        }
        // Three points do not make a grid of 10¹⁶ cells.
        let few = problem("0 0 1\n1 1 1\n100000000 100000000 1\n");
        assert!(few.contains("3 points") && few.contains("gdal_grid"), "{few}");
        assert!(read_points(b"1e308 0 1\n-1e308 0 1\n0 1 1\n").is_err());
        // Scattered points.
        let key = RandomKey::new(4, "scattered");
        let draw = |k: u64| key.derive_key(k).uniform_unit();
        let scattered: String = (0..2000).map(|k| format!("{} {} 1\n", draw(2 * k), draw(2 * k + 1))).collect();
        assert!(problem(&scattered).contains("gdal_grid"), "{}", problem(&scattered));
    }
}
