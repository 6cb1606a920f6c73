//! GeoTIFF tags: conversion from and to a [`Georeference`], and access to the values of their keys (OGC GeoTIFF 1.1,
//! 2019).

use thalweg_core::terrain::grid::PixelIs;
use thalweg_core::{Georeference, Size};

/// The georeferencing tags of a file; empty where a tag is missing.
#[derive(Debug, Default)]
pub struct Tags {
    /// ModelPixelScale (33550): width and height of a pixel, and a vertical scale.
    pub pixel_scale: Vec<f64>,
    /// ModelTiepoint (33922): pixel (column, row, 0) and its coordinates (x, y, z).
    pub tiepoints: Vec<f64>,
    /// ModelTransformation (34264): the 4 × 4 matrix from (column, row, 0, 1) to coordinates.
    pub matrix: Vec<f64>,
    /// GeoKeyDirectory (34735).
    pub keys: Vec<u16>,
    /// GeoDoubleParams (34736).
    pub doubles: Vec<f64>,
    /// GeoAsciiParams (34737).
    pub ascii: String,
}

/// The keys of the directory in tag 34735.
pub mod key {
    /// GTModelTypeGeoKey: projected, geographic or geocentric.
    pub const MODEL_TYPE: u16 = 1024;
    /// GTRasterTypeGeoKey: a pixel is an area or a point.
    pub const RASTER_TYPE: u16 = 1025;
    /// GTCitationGeoKey: the name of the system.
    pub const CITATION: u16 = 1026;
    /// GeodeticCRSGeoKey: EPSG code of the geographic system.
    pub const GEOGRAPHIC: u16 = 2048;
    /// GeogAngularUnitsGeoKey: EPSG code of the unit of angles.
    pub const ANGULAR_UNITS: u16 = 2054;
    /// EllipsoidGeoKey: EPSG code of the ellipsoid.
    pub const ELLIPSOID: u16 = 2056;
    /// EllipsoidSemiMajorAxisGeoKey: the semi-major axis in metres.
    pub const SEMI_MAJOR_AXIS: u16 = 2057;
    /// EllipsoidSemiMinorAxisGeoKey: the semi-minor axis in metres.
    pub const SEMI_MINOR_AXIS: u16 = 2058;
    /// EllipsoidInvFlatteningGeoKey: the inverse of the flattening.
    pub const INVERSE_FLATTENING: u16 = 2059;
    /// ProjectedCRSGeoKey: EPSG code of the projected system.
    pub const PROJECTED: u16 = 3072;
    /// ProjectedCitationGeoKey: the name of the projected system, or its definition.
    pub const PROJECTED_CITATION: u16 = 3073;
    /// ProjMethodGeoKey: the code of the projection's method.
    pub const METHOD: u16 = 3075;
    /// ProjLinearUnitsGeoKey: EPSG code of the unit of length.
    pub const LINEAR_UNITS: u16 = 3076;
    /// ProjLinearUnitSizeGeoKey: metres in a user-defined unit of length.
    pub const LINEAR_SIZE: u16 = 3077;
    /// VerticalGeoKey: EPSG code of the vertical system.
    pub const VERTICAL: u16 = 4096;
    /// VerticalCitationGeoKey: the name of the vertical system.
    pub const VERTICAL_CITATION: u16 = 4097;
    /// VerticalUnitsGeoKey: EPSG code of the unit of heights.
    pub const VERTICAL_UNITS: u16 = 4099;
    /// GeodeticCitationGeoKey: the names of the parts of the geographic system.
    pub const GEOGRAPHIC_CITATION: u16 = 2049;
    /// GeodeticDatumGeoKey: EPSG code of the datum.
    pub const DATUM: u16 = 2050;
    /// The keys about heights.
    pub const HEIGHT_KEYS: std::ops::RangeInclusive<u16> = VERTICAL..=VERTICAL_UNITS;
}

/// The tag that stores the keys' texts.
const ASCII: u16 = 34737;

/// The tag that stores the keys' floating-point numbers.
const DOUBLES: u16 = 34736;

/// Converts the tags of a file to a georeference; `None` if it has none of them.
///
/// # Errors
/// Returns an error if the file has ground control points instead of a transform, or numbers that are not finite.
pub fn from_tags(tags: &Tags) -> Result<Option<Georeference>, String> {
    let mut georeference = Georeference {
        transform: None,
        pixel: PixelIs::Area,
        keys: tags.keys.clone(),
        doubles: tags.doubles.clone(),
        ascii: tags.ascii.clone(),
    };
    if find_short(&georeference, key::RASTER_TYPE) == Some(2) {
        georeference.pixel = PixelIs::Point;
    }
    // A matrix takes precedence over a pixel size and a tie point.
    let corner = match (&tags.matrix[..], &tags.pixel_scale[..], &tags.tiepoints[..]) {
        ([a, b, _, x, d, e, _, y, ..], _, _) => Some([*x, *a, *b, *y, *d, *e]),
        (_, [width, height, ..], [j, i, _, x, y, _]) => {
            Some([x - j * width, *width, 0.0, y + i * height, 0.0, -height])
        }
        (_, _, points) if points.len() > 6 => {
            return Err("is georeferenced by ground control points; give it a transform with `gdalwarp`".to_string());
        }
        _ => None,
    };
    // The coordinates of the file refer to the pixel's centre if pixels are points. The transform refers to its corner,
    // half a pixel to the north-west.
    georeference.transform = corner.map(|t| shift_transform(t, georeference.pixel, -0.5));
    if georeference.transform.is_some_and(|t| t.iter().any(|x| !x.is_finite())) {
        return Err("is broken: its transform contains numbers that are not finite".to_string());
    }
    Ok((georeference != Georeference::default()).then_some(georeference))
}

/// Converts a georeference to tags.
pub fn to_tags(georeference: &Georeference) -> Tags {
    let mut tags = Tags {
        keys: georeference.keys.clone(),
        doubles: georeference.doubles.clone(),
        ascii: georeference.ascii.clone(),
        ..Tags::default()
    };
    // A file without keys is taken as area, so keys are needed for points only. GDAL would read keys without a CRS as a
    // local CRS.
    if tags.keys.is_empty() && georeference.pixel == PixelIs::Point {
        tags.keys = vec![1, 1, 0, 1, key::RASTER_TYPE, 0, 1, 2];
    }
    if let Some(t) = georeference.transform {
        let [x, a, b, y, d, e] = shift_transform(t, georeference.pixel, 0.5);
        // For a north-up map, a pixel size and a tie point suffice; other maps need the matrix.
        if b == 0.0 && d == 0.0 && a > 0.0 && e < 0.0 {
            tags.pixel_scale = vec![a, -e, 0.0];
            tags.tiepoints = vec![0.0, 0.0, 0.0, x, y, 0.0];
        } else {
            tags.matrix = vec![a, b, 0.0, x, d, e, 0.0, y, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
        }
    }
    tags
}

/// Converts a transform between pixel corners (used in this library) and the coordinates of the file: if these refer to
/// pixel centres, the origin is shifted by `by` pixels.
fn shift_transform(t: [f64; 6], pixel: PixelIs, by: f64) -> [f64; 6] {
    match pixel {
        PixelIs::Area => t,
        PixelIs::Point => [t[0] + by * (t[1] + t[2]), t[1], t[2], t[3] + by * (t[4] + t[5]), t[4], t[5]],
    }
}

/// Returns the value of a key that is stored in the key directory itself.
pub fn find_short(georeference: &Georeference, key: u16) -> Option<u16> {
    iter_keys(georeference).find(|entry| entry[0] == key && entry[1] == 0).map(|entry| entry[3])
}

/// Returns the number of a key that is stored in GeoDoubleParams.
pub fn find_double(georeference: &Georeference, key: u16) -> Option<f64> {
    let entry = iter_keys(georeference).find(|entry| entry[0] == key && entry[1] == DOUBLES)?;
    georeference.doubles.get(usize::from(entry[3])).copied()
}

/// Returns the texts of the keys selected by `is_selected`, joined by spaces. If no key refers to the texts, all text
/// is returned for the key of the model type.
pub fn join_key_texts(georeference: &Georeference, is_selected: impl Fn(u16) -> bool) -> String {
    let ascii = georeference.ascii.as_str();
    let texts: Vec<_> = iter_keys(georeference).filter(|entry| entry[1] == ASCII).collect();
    // Some files have texts that no key refers to.
    if texts.is_empty() {
        return if is_selected(key::MODEL_TYPE) { ascii.to_string() } else { String::new() };
    }
    let part = |entry: &[u16; 4]| ascii.get(usize::from(entry[3])..usize::from(entry[3]) + usize::from(entry[2]));
    let parts = texts.iter().filter(|entry| is_selected(entry[0])).filter_map(|entry| part(entry));
    // Each text of the tag ends with a vertical bar.
    parts.map(|text| text.trim_end_matches('|')).collect::<Vec<_>>().join(" ")
}

/// Iterates over the keys: key, location (0: in this entry), count, value or position.
fn iter_keys(georeference: &Georeference) -> impl Iterator<Item = &[u16; 4]> {
    // The first four numbers are the version of the directory and the number of keys.
    georeference.keys.as_chunks::<4>().0.iter().skip(1)
}

/// Rejects rows that do not run from north to south, or columns that do not run from west to east, with advice how to
/// convert the file. A skew that shifts the cells of a raster of 100 000 rows and columns by less than a hundredth of a
/// cell is accepted.
///
/// # Errors
/// Returns an error if the cells are rotated or mirrored.
pub fn check_north_up(georeference: &Georeference) -> Result<(), String> {
    let advice = "north-up cells are required: make them with `gdalwarp -tr CELL CELL`";
    let is_skewed = |skew: f64, side: f64| skew.is_nan() || skew.abs() > 1e-5 * MAX_SKEW_CELLS * side.abs();
    match georeference.transform {
        Some([_, a, b, _, d, e]) if is_skewed(b, a) || is_skewed(d, e) => {
            Err(format!("has rotated cells (transform terms {b} and {d}); {advice}"))
        }
        Some([_, a, _, _, _, e]) if a <= 0.0 || e >= 0.0 => {
            Err(format!("has its rows or columns mirrored (cell {a} × {e}); {advice}"))
        }
        _ => Ok(()),
    }
}

/// Returns the side of a square cell in CRS units; `None` without a transform.
///
/// # Errors
/// Returns an error if the cells are not square.
pub fn square_cell_side(georeference: &Georeference) -> Result<Option<f64>, String> {
    match georeference.transform {
        // Some files store the same width twice with different numbers of digits; the tolerance is less than one cell
        // over 10 000 cells.
        Some([_, a, _, _, _, e]) if (a + e).abs() > 1e-4 * a => Err(format!(
            "has cells of {a} × {} that are not square; square cells are required: make them with `gdalwarp -tr CELL \
             CELL`",
            -e
        )),
        transform => Ok(transform.map(|t| t[1])),
    }
}

/// Returns true if there is a CRS.
pub fn has_crs(georeference: &Georeference) -> bool {
    find_short(georeference, key::MODEL_TYPE).is_some()
}

/// Makes a georeference of WGS 84 in degrees with pixels as points, as for an SRTM tile.
pub fn wgs84_points(transform: Option<[f64; 6]>) -> Georeference {
    geographic_points(4326, transform)
}

/// Makes a georeference of a geographic CRS from its EPSG code, in degrees and with pixels as points.
pub fn geographic_points(epsg: u16, transform: Option<[f64; 6]>) -> Georeference {
    // The header (version 1, revision 1.0, three keys) is followed by four numbers for each key: its code, its
    // location, its count, its value.
    let keys = vec![1, 1, 0, 3, key::MODEL_TYPE, 0, 1, 2, key::RASTER_TYPE, 0, 1, 2, key::GEOGRAPHIC, 0, 1, epsg];
    Georeference { transform, pixel: PixelIs::Point, keys, doubles: Vec::new(), ascii: String::new() }
}

/// Makes a georeference of a projected CRS from its EPSG code, with pixels as areas.
///
/// # Examples
/// A terrain in UTM zone 32 N, whose north-western corner is at 500 000 E, 5 100 000 N.
///
/// ```
/// use thalweg_core::{Grid, Terrain};
/// use thalweg_io::geokeys::projected_crs;
/// use thalweg_io::{LoadOptions, MemoryFiles, SaveOptions, load_terrain, save_terrain};
///
/// let place = projected_crs(32_632, [500_000.0, 30.0, 0.0, 5_100_000.0, 0.0, -30.0]);
/// let grid = Grid { georeference: Some(place), ..Grid::new([2, 2], 30.0)? };
/// let files = MemoryFiles::default();
/// save_terrain(files.path("dem.tif"), &Terrain::new(grid), &SaveOptions::default())?;
/// let grid = load_terrain(files.path("dem.tif"), &LoadOptions::default())?.terrain.grid;
/// assert_eq!((grid.georeference.unwrap().epsg(), grid.cell), (Some(32_632), 30.0));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn projected_crs(epsg: u16, transform: [f64; 6]) -> Georeference {
    Georeference { transform: Some(transform), ..georeference_from_epsg(epsg, false) }
}

/// Makes a georeference of a geographic or projected CRS from its EPSG code, with pixels as areas and without a
/// transform.
pub fn georeference_from_epsg(epsg: u16, is_geographic: bool) -> Georeference {
    let (model, name) = if is_geographic { (2, key::GEOGRAPHIC) } else { (1, key::PROJECTED) };
    let keys = vec![1, 1, 0, 3, key::MODEL_TYPE, 0, 1, model, key::RASTER_TYPE, 0, 1, 1, name, 0, 1, epsg];
    Georeference { keys, ..Georeference::default() }
}

/// The keys of a coordinate system, collected in any order.
#[derive(Debug, Default)]
pub(super) struct KeyWriter {
    /// The entries of the directory, without its header.
    entries: Vec<[u16; 4]>,
    doubles: Vec<f64>,
    ascii: String,
    /// True if the code of the projected system is that of a compound system.
    is_compound: bool,
}

impl KeyWriter {
    /// Sets a key to a number that is stored in the directory itself.
    pub(super) fn set_short(&mut self, key: u16, value: u16) {
        self.entries.push([key, 0, 1, value]);
    }

    /// States that the code of the projected system is that of a compound system.
    pub(super) fn set_compound(&mut self) {
        self.is_compound = true;
    }

    /// Sets a key to a floating-point number.
    pub(super) fn set_double(&mut self, key: u16, value: f64) {
        self.entries.push([key, DOUBLES, 1, self.doubles.len() as u16]);
        self.doubles.push(value);
    }

    /// Sets a key to a text; characters outside ASCII become `?`. The text is left out if it does not fit into the tag.
    pub(super) fn set_text(&mut self, key: u16, text: &str) {
        let text: String = text.chars().map(|c| if c.is_ascii() && !c.is_control() { c } else { '?' }).collect();
        // Counts and positions have 16 bits; the text ends with a vertical bar.
        if let (Ok(position), Ok(count)) = (u16::try_from(self.ascii.len()), u16::try_from(text.len() + 1)) {
            self.entries.push([key, ASCII, count, position]);
            self.ascii += &text;
            self.ascii.push('|');
        }
    }

    /// Makes the georeference with these keys and without a transform, with pixels as areas.
    pub(super) fn into_georeference(mut self) -> Georeference {
        self.set_short(key::RASTER_TYPE, 1);
        // The keys of a directory are in rising order.
        self.entries.sort_unstable();
        // GDAL ignores vertical systems in directories of revision 1.0.
        let has_heights = self.is_compound || self.entries.iter().any(|entry| key::HEIGHT_KEYS.contains(&entry[0]));
        let header = [1, 1, u16::from(has_heights), self.entries.len() as u16];
        let keys = std::iter::once(header).chain(self.entries).flatten().collect();
        Georeference { keys, doubles: self.doubles, ascii: self.ascii, ..Georeference::default() }
    }
}

/// Sets whether pixels are areas or points, in the keys too. The transform of pixel corners stays the same.
pub(super) fn set_pixel(georeference: &mut Georeference, pixel: PixelIs) {
    georeference.pixel = pixel;
    let value = if pixel == PixelIs::Point { 2 } else { 1 };
    let entries = georeference.keys.as_chunks_mut::<4>().0.iter_mut().skip(1);
    entries.filter(|entry| entry[0] == key::RASTER_TYPE && entry[1] == 0).for_each(|entry| entry[3] = value);
}

/// Removes a skew that moves no cell of a raster of this size by more than [`MAX_SKEW_CELLS`], as rounding errors of
/// other programs leave it.
pub(super) fn remove_tiny_skew(georeference: &mut Georeference, [rows, cols]: Size) {
    if let Some([_, width, across, _, down, height]) = &mut georeference.transform
        && (*across * rows as f64).abs() < MAX_SKEW_CELLS * width.abs()
        && (*down * cols as f64).abs() < MAX_SKEW_CELLS * height.abs()
    {
        (*across, *down) = (0.0, 0.0);
    }
}

/// The greatest shift of a cell, in cells, that is neglected.
const MAX_SKEW_CELLS: f64 = 0.01;

/// Returns the georeference of a raster of this size after the order of its rows has been reversed.
pub(super) fn reverse_row_order(georeference: &Georeference, [rows, _]: Size) -> Georeference {
    // The last row becomes the first, so the corner moves to the other end of the first column.
    let turn = |[x, a, b, y, d, e]: [f64; 6]| [x + b * rows as f64, a, 0.0 - b, y + e * rows as f64, d, -e];
    Georeference { transform: georeference.transform.map(turn), ..georeference.clone() }
}

/// Returns true if the first row of a raster is in the south.
pub(super) fn is_south_up(georeference: &Georeference) -> bool {
    matches!(georeference.transform, Some([_, a, b, _, d, e]) if a > 0.0 && b == 0.0 && d == 0.0 && e > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_square_north_up_cells_pass() {
        let with = |t| Georeference { transform: Some(t), ..Georeference::default() };
        assert_eq!(square_cell_side(&with([5.0, 30.0, 0.0, 7.0, 0.0, -30.0])), Ok(Some(30.0)));
        assert_eq!(square_cell_side(&Georeference::default()), Ok(None));
        assert!(square_cell_side(&with([1.0, 30.0, 0.0, 7.0, 0.0, -29.0])).is_err());
        assert!(check_north_up(&with([5.0, 30.0, 0.0, 7.0, 0.0, -30.0])).is_ok());
        for bad in
            [[1.0, 30.0, 2.0, 7.0, 0.0, -30.0], [1.0, 30.0, 0.0, 7.0, 0.0, 30.0], [1.0, -3.0, 0.0, 7.0, 0.0, -3.0]]
        {
            assert!(check_north_up(&with(bad)).is_err());
        }
    }

    #[test]
    fn a_point_is_half_a_pixel_from_its_corner() {
        let tags = Tags {
            pixel_scale: vec![10.0, 10.0, 0.0],
            tiepoints: vec![0.0, 0.0, 0.0, 500.0, 800.0, 0.0],
            keys: vec![1, 1, 0, 1, 1025, 0, 1, 2],
            ..Tags::default()
        };
        let georeference = from_tags(&tags).unwrap().unwrap();
        assert_eq!(georeference.transform, Some([495.0, 10.0, 0.0, 805.0, 0.0, -10.0]));
        assert_eq!(to_tags(&georeference).tiepoints, tags.tiepoints);
    }
}
