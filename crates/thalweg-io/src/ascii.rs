//! ESRI ASCII grid: a header of a few named numbers, then the heights as text, the northern row first.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::{Raster, Samples, check_size};
use thalweg_core::Georeference;
use thalweg_core::base::names;
use thalweg_core::terrain::grid::PixelIs;

const KEYS: [&str; 10] =
    ["ncols", "nrows", "xllcorner", "yllcorner", "xllcenter", "yllcenter", "cellsize", "dx", "dy", "nodata_value"];

/// Reads a grid; the samples are `f64`, which can represent every number of the text.
pub(super) fn read_grid(bytes: &[u8]) -> Result<Raster, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "is not an ESRI ASCII grid: it is not text")?;
    let mut words = text.split_ascii_whitespace().peekable();
    let mut head: BTreeMap<String, f64> = BTreeMap::new();
    // The header ends with the first word that is no key; it is the first number.
    while let Some(key) = words.peek().map(|word| word.to_ascii_lowercase()).filter(|key| KEYS.contains(&key.as_str()))
    {
        words.next();
        let value = words.next().unwrap_or("nothing");
        let number = value
            .parse()
            .map_err(|_| format!("is broken: {key} is `{}`; a number is required", names::format_short(value)))?;
        head.insert(key, number);
    }
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
    for word in words {
        if samples.len() == cells {
            return Err(format!("is broken: more than {cells} numbers (ncols × nrows) follow its header"));
        }
        let number: f64 = word.parse().map_err(|_| {
            let (row, column) = (samples.len() / size[1], samples.len() % size[1]);
            let word = names::format_short(word);
            format!(
                "is broken: `{word}` at row {row}, column {column} is not a number (the decimal separator is a point)"
            )
        })?;
        samples.push(number);
    }
    if samples.len() != cells {
        return Err(format!("is truncated: it has {} of {cells} numbers", samples.len()));
    }
    let mut raster = Raster::new(size, Samples::F64(samples));
    raster.nodata = head.get("nodata_value").copied();
    raster.georeference = parse_georeference(&head, rows)?;
    Ok(raster)
}

/// Returns the georeference of the grid; `None` without a cell size.
fn parse_georeference(head: &BTreeMap<String, f64>, rows: f64) -> Result<Option<Georeference>, String> {
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
    write!(file, "ncols {cols}\nnrows {rows}\nxllcorner {west}\nyllcorner {south}\ncellsize {cell}\n")?;
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
    fn broken_grids_are_refused() {
        for text in [
            "ncols 2 nrows 2 cellsize 1 1 2 3",
            "ncols 2 nrows 2 cellsize 1 1 2 3 4 5",
            "ncols 2 nrows 1 cellsize 1 1,5 2",
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
