//! ESRI ASCII grid: a header of a few named numbers, then the heights as text, the northern row first.
//!
//! The dialects of other programs are read: a byte-order mark, keys in any case and order, `dx` and `dy` instead of
//! `cellsize`, decimal commas, words for no data.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::text::{NumberReader, decode_text};
use super::{Raster, Samples, check_size};
use thalweg_core::Georeference;
use thalweg_core::base::names;
use thalweg_core::terrain::grid::PixelIs;

const KEYS: [&str; 10] =
    ["ncols", "nrows", "xllcorner", "yllcorner", "xllcenter", "yllcenter", "cellsize", "dx", "dy", "nodata_value"];

/// Other spellings of the keys.
const ALIASES: [(&str, &str); 3] = [("xllcentre", "xllcenter"), ("yllcentre", "yllcenter"), ("nodata", "nodata_value")];

/// The header of a grid.
struct Header<'a> {
    numbers: BTreeMap<&'static str, f64>,
    /// The word for no data, if it is not a number.
    nodata_word: Option<&'a str>,
}

/// Reads a grid; the samples are `f64`, which can represent every number of the text.
pub(super) fn read_grid(bytes: &[u8]) -> Result<Raster, String> {
    let text = decode_text(bytes).map_err(|problem| format!("is not an ESRI ASCII grid: it {problem}"))?;
    let mut reader = NumberReader::default();
    let (Header { numbers: head, nodata_word }, data) = parse_header(text, &mut reader)?;
    let [rows, cols] = ["nrows", "ncols"].map(|key| head.get(key).copied());
    let (Some(rows), Some(cols)) = (rows, cols) else {
        return Err("is not an ESRI ASCII grid: it does not begin with ncols and nrows".to_string());
    };
    if rows.fract() != 0.0 || cols.fract() != 0.0 {
        return Err(format!("is broken: ncols {cols} and nrows {rows} must be whole numbers"));
    }
    // Each number takes at least two bytes: a digit and the space after it (the last one may lack the space).
    let cells = check_size([rows as u64, cols as u64], 2, bytes.len() + 1, 1)?;
    let size = [rows as usize, cols as usize];

    let mut samples = Vec::with_capacity(cells);
    let mut words = data.split_ascii_whitespace();
    for word in words.by_ref().take(cells) {
        let number = match reader.parse(word) {
            Some(number) => number,
            None if nodata_word == Some(word) => f64::NAN,
            None => {
                let (row, column) = (samples.len() / size[1], samples.len() % size[1]);
                let word = names::format_short(word);
                return Err(format!("is broken: `{word}` at row {row}, column {column} is not a number"));
            }
        };
        samples.push(number);
    }
    if samples.len() != cells {
        return Err(format!("is truncated: it has {} of {cells} numbers", samples.len()));
    }
    let more = words.count();
    if more > 0 {
        return Err(format!(
            "is broken: {} numbers follow its header, which states {cols} × {rows} = {cells} (ncols × nrows)",
            cells.saturating_add(more)
        ));
    }
    reader.check_commas()?;
    let mut raster = Raster::new(size, Samples::F64(samples));
    raster.nodata = head.get("nodata_value").copied().or(nodata_word.map(|_| f64::NAN));
    raster.georeference = parse_georeference(&head, rows)?;
    Ok(raster)
}

/// Parses the header; returns it and the text after it.
fn parse_header<'a>(text: &'a str, reader: &mut NumberReader) -> Result<(Header<'a>, &'a str), String> {
    let mut header = Header { numbers: BTreeMap::new(), nodata_word: None };
    let mut rest = text;
    // The header ends with the first word that is no key; it is the first number.
    loop {
        let (word, after) = split_word(rest);
        let lower = word.to_ascii_lowercase();
        let name = ALIASES.iter().find(|(alias, _)| *alias == lower).map_or(lower.as_str(), |(_, name)| name);
        let Some(key) = KEYS.into_iter().find(|key| *key == name) else { return Ok((header, rest)) };
        // A value is on the line of its key; only a value for no data may be missing.
        let line_end = after.find(['\n', '\r']).unwrap_or(after.len());
        let (value, left) = match split_word(&after[..line_end]) {
            ("", _) if key == "nodata_value" => {
                rest = &after[line_end..];
                continue;
            }
            ("", _) => return Err(format!("is broken: {key} has no value; a number is required")),
            (value, left) => (value, &after[line_end - left.len()..]),
        };
        rest = left;
        match reader.parse(value) {
            Some(number) => drop(header.numbers.insert(key, number)),
            None if key == "nodata_value" && !value.contains(|c: char| c.is_ascii_digit()) => {
                header.nodata_word = Some(value);
            }
            None => {
                let value = names::format_short(value);
                return Err(format!("is broken: {key} is `{value}`; a number is required"));
            }
        }
    }
}

/// Splits a text after its first word; the word is empty if there is none.
fn split_word(text: &str) -> (&str, &str) {
    let text = text.trim_ascii_start();
    text.split_at(text.find(|c: char| c.is_ascii_whitespace()).unwrap_or(text.len()))
}

/// Returns the georeference of the grid; `None` without a cell size.
fn parse_georeference(head: &BTreeMap<&str, f64>, rows: f64) -> Result<Option<Georeference>, String> {
    let get = |key: &str| head.get(key).copied();
    let (Some(width), Some(height)) = (get("cellsize").or(get("dx")), get("cellsize").or(get("dy"))) else {
        return Ok(None);
    };
    // The position may be given for the corner or for the centre of the south-western cell.
    let side =
        |corner: &str, centre: &str, cell: f64| get(corner).or(get(centre).map(|c| c - 0.5 * cell)).unwrap_or(0.0);
    let west = side("xllcorner", "xllcenter", width);
    let south = side("yllcorner", "yllcenter", height);
    let transform = [west, width, 0.0, south + rows * height, 0.0, -height];
    if transform.iter().any(|x| !x.is_finite()) || width <= 0.0 || height <= 0.0 {
        return Err(format!(
            "is broken: its cells are {width} × {height} at {west}, {south}; all four must be finite, and the cell's \
             sides above 0"
        ));
    }
    Ok(Some(Georeference { transform: Some(transform), pixel: PixelIs::Area, ..Georeference::default() }))
}

/// Writes the grid. Each number has as many digits as are needed to read the same value back.
pub(super) fn write_grid(file: &mut impl Write, raster: &Raster) -> io::Result<()> {
    let [rows, cols] = raster.size;
    let [west, cell, _, north, _, height] =
        raster.georeference.as_ref().and_then(|g| g.transform).unwrap_or([0.0, 1.0, 0.0, rows as f64, 0.0, -1.0]);
    let south = north + rows as f64 * height;
    write!(file, "ncols {cols}\nnrows {rows}\nxllcorner {west}\nyllcorner {south}\n")?;
    if (cell + height).abs() > 1e-9 * cell {
        write!(file, "dx {cell}\ndy {}\n", -height)?;
    } else {
        writeln!(file, "cellsize {cell}")?;
    }
    if let Some(nodata) = raster.nodata {
        writeln!(file, "NODATA_value {nodata}")?;
    }
    for i in 0..rows {
        for k in i * cols..(i + 1) * cols {
            let space = if k == i * cols { "" } else { " " };
            match &raster.samples {
                // A 32-bit float is formatted as such; as a 64-bit float it would have more digits.
                Samples::F32(v) => write!(file, "{space}{}", v[k])?,
                other => write!(file, "{space}{}", other.get(k))?,
            }
        }
        writeln!(file)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_and_centres_by_hand() {
        let corner =
            b"NCOLS 2\nNROWS 2\nXLLCORNER 100\nYLLCORNER 200\nCELLSIZE 10\nNODATA_value -9999\n1 2\n-9999 4.5\n";
        let raster = read_grid(corner).unwrap();
        assert_eq!(raster.samples, Samples::F64(vec![1.0, 2.0, -9999.0, 4.5]));
        assert_eq!(raster.nodata, Some(-9999.0));
        assert_eq!(raster.georeference.unwrap().transform, Some([100.0, 10.0, 0.0, 220.0, 0.0, -10.0]));
        let centre = b"ncols 2 nrows 1 xllcenter 105 yllcenter 205 cellsize 10 7 8";
        let raster = read_grid(centre).unwrap();
        assert_eq!(raster.georeference.unwrap().transform, Some([100.0, 10.0, 0.0, 210.0, 0.0, -10.0]));
    }

    #[test]
    fn dialects_of_other_programs() {
        let values = |text: &str| match read_grid(text.as_bytes()) {
            Ok(Raster { samples: Samples::F64(values), nodata, .. }) => (values, nodata),
            other => panic!("{text}: {other:?}"),
        };
        for text in [
            "\u{feff}ncols 2\nnrows 1\ncellsize 1\n1.5 2\n",
            "ncols 2\r\nnrows 1\r\ncellsize 1\r\n1.5 2\r\n",
            "NRows\t1\rNCOLS\t2\rdy 1\rdx\t1\r1.5\t2\r",
            "cellsize 1\nnodata_value\nnrows 1\nncols 2\n1.5\n\n2",
            "ncols 2\nnrows 1\ncellsize 1,00\n1,5 2",
            "ncols 2\nnrows 1\nNODATA_value null\n1.5e0 2.0D+0",
        ] {
            let (values, nodata) = values(text);
            assert_eq!(values, [1.5, 2.0], "{text}");
            assert_eq!(nodata.is_some(), text.contains("null"), "{text}");
        }
        // Words for no data; the number of the header, if there is one, stays.
        for (head, word, nodata) in [
            ("-9999", "1.#QNAN", Some(-9999.0)),
            ("null", "null", None),
            ("nan", "-nan", None),
            ("NA", "NA", None),
            ("*", "*", None),
            ("-9999,0", "nan", Some(-9999.0)),
        ] {
            let (values, found) = values(&format!("ncols 2\nnrows 1\nNODATA_value {head}\n7 {word}\n"));
            let is_right = values[0] == 7.0 && values[1].is_nan() && found.filter(|found| !found.is_nan()) == nodata;
            assert!(is_right && found.is_some(), "{word}: {values:?} {found:?}");
        }
        let oblong = read_grid(b"ncols 1 nrows 2 xllcorner 10 yllcorner 20 dx 3 dy 4 7 8").unwrap();
        assert_eq!(oblong.georeference.as_ref().unwrap().transform, Some([10.0, 3.0, 0.0, 28.0, 0.0, -4.0]));
        let mut written = Vec::new();
        write_grid(&mut written, &oblong).unwrap();
        assert_eq!(read_grid(&written).unwrap(), oblong);
    }

    #[test]
    fn counts_are_told() {
        let problem = |text: &str| read_grid(text.as_bytes()).unwrap_err();
        assert!(problem("ncols 2 nrows 2 1 2 3").contains("3 of 4 numbers"));
        let more = problem("ncols 2 nrows 2 1 2 3 4 5 6");
        assert!(more.contains("6 numbers") && more.contains("2 × 2 = 4"), "{more}");
        // Values with commas between them are fewer words than the header states.
        assert!(problem("ncols 2 nrows 2 1,2 3,4").contains("2 of 4 numbers"));
        assert!(read_grid(b"\xff\xfen\0").unwrap_err().contains("UTF-16"));
    }

    #[test]
    fn broken_grids_are_refused() {
        for text in [
            "ncols 2 nrows 2 cellsize 1 1 2 3",
            "ncols 2 nrows 2 cellsize 1 1 2 3 4 5",
            "ncols 2 nrows 1 cellsize 1 1,5,2 2",
            "ncols 2 nrows 1 cellsize 1.5 1,5 2",
            "ncols 2 nrows 1 cellsize 1 1,500 2,250",
            "ncols 2 nrows 1 cellsize 1 x 2",
            "ncols 2 nrows 1 cellsize\n1 1 2",
            "ncols 2 nrows 1 nodata_value -99x9\n1 2",
            "ncols 999999 nrows 999999 cellsize 1 1",
            "ncols -2 nrows 2 cellsize 1 1 2 3 4",
            "ncols 1.5 nrows 2 cellsize 1 1 2 3",
            "ncols nan nrows 2 cellsize 1 1 2 3",
            "ncols 1 nrows 1 cellsize 0 1",
            "ncols 1 nrows 1 cellsize inf 1",
            "ncols",
            "hello",
        ] {
            assert!(read_grid(text.as_bytes()).is_err(), "{text}");
        }
        let long = "ŏ".repeat(5000);
        for text in [format!("ncols {long}"), format!("ncols 2 nrows 1 1 {long}")] {
            let problem = read_grid(text.as_bytes()).unwrap_err();
            assert!(problem.len() < 600, "a message of {} bytes", problem.len());
        }
    }
}
