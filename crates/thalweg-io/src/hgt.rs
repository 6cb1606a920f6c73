//! SRTM tiles (`N34W118.hgt`): big-endian i16 metres over one degree of latitude and longitude, whose first and last
//! samples are on the borders; −32768 is no data. A tile has 1201² or 3601² samples, or fewer columns than rows if it
//! is far from the equator. It may be packed by ZIP or gzip.

use std::io::{Cursor, Read};
use std::path::Path;

use super::facts::FactSource;
use super::{MAX_BYTES, Raster, SampleType, Samples, check_size, geokeys};
use thalweg_core::base::names;
use thalweg_core::{MapPoint, Size};

/// From this latitude on, tiles may have fewer columns than rows.
const THIN_FROM_DEGREES: f64 = 50.0;

/// The numbers of rows of the tiles that are in use: 30, 3, 2, 1 and a half arc seconds apart, and fractions of these.
const USUAL_ROWS: [usize; 8] = [3601, 1201, 1801, 601, 7201, 10_801, 21_601, 121];

/// The steps from column to column, as multiples of the step from row to row, in tiles of SRTM, DTED and their
/// successors; each is twice the value.
const USUAL_STEPS_TWICE: [usize; 8] = [2, 4, 6, 8, 12, 3, 10, 20];

/// Reads a tile whose name is `name`, if it is known; the name gives its position and helps to find the number of its
/// columns.
pub(super) fn read_tile(bytes: &[u8], name: Option<&str>) -> Result<Raster, String> {
    let place = name.and_then(parse_tile_name);
    let size = find_size(bytes.len(), place.map(|place| place.y))?;
    check_size(size.map(|n| n as u64), 2, bytes.len(), 1)?;
    let mut raster = Raster::new(size, Samples::from_bytes(SampleType::I16, bytes, true));
    raster.nodata = Some(-32768.0);
    let [down, across] = size.map(|n| 1.0 / (n as f64 - 1.0));
    // Samples are points: the corner of the first pixel is half a step outside.
    let transform = place.map(|MapPoint { x, y }| [x - 0.5 * across, across, 0.0, y + 1.0 + 0.5 * down, 0.0, -down]);
    raster.georeference = Some(geokeys::wgs84_points(transform));
    raster.facts.record_source("transform", FactSource::Name);
    for name in ["nodata", "crs", "pixel", "samples"] {
        raster.facts.record_source(name, FactSource::Default("HGT".to_string()));
    }
    for name in ["columns", "rows"] {
        raster.facts.record_source(name, FactSource::Guess("the number of samples".to_string()));
    }
    if let Some(name) = name.filter(|_| transform.is_none()) {
        raster.warnings.push(format!(
            "has the name `{}`, which does not contain a latitude and longitude, such as `N34W118`; it is read without \
             a position",
            names::format_short(name)
        ));
    }
    Ok(raster)
}

/// Determines the numbers of rows and columns from the number of bytes; `latitude` is that of the southern border.
fn find_size(bytes: usize, latitude: Option<f64>) -> Result<Size, String> {
    let refuse = || {
        format!(
            "has {bytes} bytes; an SRTM tile has 1201 or 3601 rows of 16-bit samples, and as many columns, or fewer \
             from 50° on, such as 1801 to 3601 rows"
        )
    };
    let count = bytes / 2;
    if !bytes.is_multiple_of(2) || count < 4 {
        return Err(refuse());
    }
    // The border of a tile that is nearer to the equator decides.
    let is_far = latitude.is_some_and(|south| south.max(-south - 1.0) >= THIN_FROM_DEGREES);
    for step in USUAL_STEPS_TWICE {
        let with_columns = USUAL_ROWS.map(|rows| (rows, 2 * (rows - 1)));
        for (rows, halves) in with_columns.into_iter().filter(|(_, halves)| halves.is_multiple_of(step)) {
            let cols = halves / step + 1;
            if rows * cols == count {
                return Ok([rows, cols]);
            }
        }
    }
    // Other numbers of rows are those of tests and of tiles that somebody resampled: as many columns, or half as many.
    let side = count.isqrt();
    let square = (side * side == count).then_some([side, side]);
    // With r rows and (r − 1)/2 + 1 columns, the count is r(r + 1)/2.
    let rows = (8 * count as u64 + 1).isqrt().saturating_sub(1) as usize / 2;
    let is_thin = rows > 2 && !rows.is_multiple_of(2) && rows * rows.div_ceil(2) == count;
    let thin = is_thin.then_some([rows, rows.div_ceil(2)]);
    let found = if is_far { thin.or(square) } else { square.or(thin) };
    found.ok_or_else(refuse)
}

/// Returns the tile in a packed file, and its own name if the archive states one.
pub(super) fn unpack_tile(bytes: &[u8], path: &Path) -> Result<(Vec<u8>, Option<String>), String> {
    let is_gzip = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gz"));
    if is_gzip {
        return Ok((read_limited(flate2::read::GzDecoder::new(bytes), "gzip")?, None));
    }
    let broken = |error: zip::result::ZipError| format!("is not a ZIP archive, or it is broken: {error}");
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(broken)?;
    let mut found: Option<(usize, String)> = None;
    for index in 0..archive.len() {
        let entry = archive.by_index_raw(index).map_err(broken)?;
        let name = entry.name().map_err(broken)?.into_owned();
        let is_tile = Path::new(&name).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("hgt"));
        // Archives made on macOS contain files of attributes, whose names begin with a point and a line.
        if !is_tile || name.rsplit('/').next().is_some_and(|last| last.starts_with("._")) {
            continue;
        }
        if let Some((_, other)) = found.replace((index, name)) {
            return Err(format!(
                "contains several tiles, among them `{}`; extract the one to be read",
                names::format_short(&other)
            ));
        }
    }
    let Some((index, name)) = found else { return Err("contains no .hgt file".to_string()) };
    let entry = archive.by_index(index).map_err(broken)?;
    let stem = Path::new(&name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    Ok((read_limited(entry, "ZIP")?, stem))
}

/// Reads all bytes of a packed file, up to those of the largest tile.
fn read_limited(packed: impl Read, by: &str) -> Result<Vec<u8>, String> {
    let most = USUAL_ROWS.iter().map(|rows| 2 * (rows * rows) as u64).max().unwrap_or(0).min(MAX_BYTES);
    let mut tile = Vec::new();
    packed.take(most + 1).read_to_end(&mut tile).map_err(|error| format!("cannot be unpacked by {by}: {error}"))?;
    if tile.len() as u64 > most {
        return Err(format!("contains more than {most} bytes, more than a tile has"));
    }
    Ok(tile)
}

/// Returns the name of a tile's file, with its endings.
pub(super) fn find_file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Parses the longitude and latitude of the south-western sample from a name that contains them in either case, such as
/// `N61E010`, `n61_e010` or `NASADEM_HGT_s05w118`.
fn parse_tile_name(name: &str) -> Option<MapPoint> {
    let name = name.to_ascii_uppercase();
    let text = name.as_bytes();
    (0..text.len()).find_map(|start| {
        // A letter before the latitude would make it a part of a word.
        if start > 0 && text[start - 1].is_ascii_alphanumeric() {
            return None;
        }
        let (latitude, rest) = parse_degrees(&text[start..], [b'N', b'S'], 2, 90)?;
        let rest = rest.strip_prefix(b"_").unwrap_or(rest);
        let (longitude, rest) = parse_degrees(rest, [b'E', b'W'], 3, 180)?;
        rest.first().is_none_or(|byte| !byte.is_ascii_digit()).then(|| MapPoint::new(longitude, latitude))
    })
}

/// Parses a letter for the sign, of which the second is negative, and 1 to `digits` digits.
fn parse_degrees(text: &[u8], signs: [u8; 2], digits: usize, most: u16) -> Option<(f64, &[u8])> {
    let (first, rest) = text.split_first()?;
    let sign = if *first == signs[0] { 1.0 } else { -1.0 };
    let count = rest.iter().take(digits).take_while(|byte| byte.is_ascii_digit()).count();
    let degrees: u16 = std::str::from_utf8(&rest[..count]).ok()?.parse().ok()?;
    (signs.contains(first) && degrees <= most).then(|| (sign * f64::from(degrees), &rest[count..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_tile_by_hand() {
        let raster = read_tile(&[0, 1, 0x80, 0, 1, 0, 0xff, 0xff], Some("s05w118.hgt")).unwrap();
        assert_eq!(raster.samples, Samples::I16(vec![1, -32768, 256, -1]));
        let transform = raster.georeference.unwrap().transform.unwrap();
        assert_eq!(transform, [-118.5, 1.0, 0.0, -3.5, 0.0, -1.0]);
        for length in [0, 2, 7, 10] {
            assert!(read_tile(&vec![0; length], None).is_err(), "{length}");
        }
        let nameless = read_tile(&[0; 8], Some("tile.hgt")).unwrap();
        assert!(nameless.georeference.unwrap().transform.is_none() && nameless.warnings[0].contains("`tile.hgt`"));
    }

    #[test]
    fn bytes_and_latitude_decide_the_size() {
        let size = |rows: usize, cols: usize, latitude| find_size(2 * rows * cols, latitude).unwrap();
        for latitude in [None, Some(10.0), Some(61.0), Some(-80.0)] {
            for [rows, cols] in [[1201, 1201], [3601, 3601], [3601, 1801], [1201, 601], [3601, 1201], [3601, 601]] {
                assert_eq!(size(rows, cols, latitude), [rows, cols], "{latitude:?}");
            }
        }
        // 35² = 49 · 25: only the name tells which.
        assert_eq!(size(35, 35, None), [35, 35]);
        for (latitude, expected) in [
            (0.0, [35, 35]),
            (49.0, [35, 35]),
            (50.0, [49, 25]),
            (61.0, [49, 25]),
            (-51.0, [49, 25]),
            (-50.0, [35, 35]),
        ] {
            assert_eq!(size(49, 25, Some(latitude)), expected, "{latitude}");
        }
        let raster = read_tile(&[0; 2450], Some("n61e010.hgt")).unwrap();
        assert_eq!(raster.georeference.unwrap().transform.unwrap()[1], 1.0 / 24.0);
        assert!(find_size(2 * 7 * 5, None).unwrap_err().contains("70 bytes"));
    }

    #[test]
    fn names_in_every_form() {
        for name in
            ["N61E010", "n61e010.hgt", "N61E010.SRTMGL1.hgt.zip", "NASADEM_HGT_n61e010", "n61_e010_1arc_v3", "N61E10"]
        {
            assert_eq!(parse_tile_name(name), Some(MapPoint::new(10.0, 61.0)), "{name}");
        }
        assert_eq!(parse_tile_name("S05W118"), Some(MapPoint::new(-118.0, -5.0)));
        for name in ["", "tile", "N61", "N95E010", "N61E200", "N61E0101", "XN61E010", "61N010E", "Né"] {
            assert_eq!(parse_tile_name(name), None, "{name}");
        }
    }

    #[test]
    fn packed_tiles() {
        let tile = [0, 1, 0, 2, 0, 3, 0, 4];
        let zip = |names: &[&str]| {
            let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
            for name in names {
                archive.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
                archive.write_all(&tile).unwrap();
            }
            archive.finish().unwrap().into_inner()
        };
        let unpack = |bytes: &[u8]| unpack_tile(bytes, Path::new("a.hgt.zip"));
        let one = zip(&["read.me", "folder/N61E010.HGT", "__MACOSX/._N61E010.hgt"]);
        assert_eq!(unpack(&one), Ok((tile.to_vec(), Some("N61E010".to_string()))));
        assert!(unpack(&zip(&["a.hgt", "b.hgt"])).unwrap_err().contains("several"));
        assert!(unpack(&zip(&["a.txt"])).unwrap_err().contains("no .hgt"));
        for length in 0..one.len() {
            let _ = unpack(&one[..length]);
        }
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&tile).unwrap();
        let packed = encoder.finish().unwrap();
        assert_eq!(unpack_tile(&packed, Path::new("a.hgt.gz")), Ok((tile.to_vec(), None)));
        assert!(unpack_tile(&packed[..packed.len() - 9], Path::new("a.hgt.gz")).is_err());
    }
}
