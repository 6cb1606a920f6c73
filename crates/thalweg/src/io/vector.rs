//! Stream links as lines for GIS: FlatGeobuf and GeoJSON.
//!
//! Coordinates are those of the cells' centres in the terrain's own system, so that lines lie on the rasters written with
//! them; without a georeference metres east and (negative) metres north of the north-west corner, as in our TIFFs.

use std::io::{self, Write};
use std::path::Path;

use flatgeobuf::geozero::error::Result as Answer;
use flatgeobuf::geozero::{ColumnValue, GeomProcessor, GeozeroGeometry, PropertyProcessor};
use flatgeobuf::{ColumnType, FgbCrs, FgbWriter, FgbWriterOptions, GeometryType};
use serde_json::json;

use super::{atomic, geokeys, save};
use crate::base::error::{Error, Result};
use crate::flow::Link;
use crate::terrain::grid::Grid;

/// Writes links, each a line with the properties `id`, `order`, `magnitude`, `length_m`, `drop_m`, `slope`,
/// `catchment_m2` and `downstream` (null at an outlet). The ending picks the format: `.fgb` or `.geojson`.
///
/// FlatGeobuf names the CRS in its header. RFC 7946 would have GeoJSON in WGS 84; we write the terrain's own coordinates,
/// with the `crs` member of the format's first version (2008), which GDAL reads. Returns what could not be kept, in words.
///
/// # Errors
/// Another ending, a file that cannot be written.
pub fn save_links(path: impl AsRef<Path>, links: &[Link], grid: &Grid) -> Result<Vec<String>> {
    let path = path.as_ref();
    let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let write = match ending.as_str() {
        "fgb" => flatgeobuf,
        "geojson" => geojson,
        _ => return Err(Error::file(path, "its ending names no format of lines; known are .fgb, .geojson")),
    };
    let place = Place::of(grid);
    atomic(path, |file| write(file, links, &place).map_err(Error::io(path, "write")))?;
    Ok(unnamed(path, grid))
}

/// Where cells lie.
pub(super) struct Place {
    /// GDAL's, of the terrain's north-western corner.
    pub transform: [f64; 6],
    /// The code of the coordinate reference system.
    pub epsg: Option<u16>,
}

impl Place {
    pub fn of(grid: &Grid) -> Self {
        let georeference = save::placed(grid);
        let local = [0.0, grid.cell, 0.0, 0.0, 0.0, -grid.cell];
        Self { transform: georeference.transform.unwrap_or(local), epsg: georeference.epsg() }
    }

    /// The centre of a cell.
    fn point(&self, cell: [usize; 2]) -> [f64; 2] {
        self.at(cell.map(|n| n as f64 + 0.5))
    }

    /// Coordinates of a place given in rows and columns from the north-west corner.
    pub fn at(&self, [i, j]: [f64; 2]) -> [f64; 2] {
        let t = self.transform;
        [t[0] + j * t[1] + i * t[2], t[3] + j * t[4] + i * t[5]]
    }

    /// Rows and columns of coordinates.
    pub fn back(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let t = self.transform;
        let (x, y, area) = (x - t[0], y - t[3], t[1] * t[5] - t[2] * t[4]);
        [(y * t[1] - x * t[4]) / area, (x * t[5] - y * t[2]) / area]
    }
}

/// What is to be said where the CRS could not be kept.
pub(super) fn unnamed(path: &Path, grid: &Grid) -> Vec<String> {
    let unnamed = grid.georeference.as_ref().is_some_and(geokeys::has_crs) && Place::of(grid).epsg.is_none();
    let warning = "names no coordinate reference system: that of the terrain has no EPSG code; the rasters keep it";
    unnamed.then(|| format!("{} {warning}", path.display())).into_iter().collect()
}

/// The cell that holds the point (x, y) of the terrain's own coordinates; none if it lies outside.
pub fn cell_at(grid: &Grid, point: [f64; 2]) -> Option<[usize; 2]> {
    let [i, j] = Place::of(grid).back(point);
    let inside = |k: f64, n: usize| (k >= 0.0 && k < n as f64).then_some(k as usize);
    Some([inside(i, grid.rows())?, inside(j, grid.cols())?])
}

/// A feature to a line, so that the file can be read and compared as text.
fn geojson(file: &mut impl Write, links: &[Link], place: &Place) -> io::Result<()> {
    writeln!(file, "{{\"type\": \"FeatureCollection\", \"name\": \"streams\",")?;
    if let Some(code) = place.epsg {
        let crs = json!({"type": "name", "properties": {"name": format!("urn:ogc:def:crs:EPSG::{code}")}});
        writeln!(file, "\"crs\": {crs},")?;
    }
    writeln!(file, "\"features\": [")?;
    for (number, link) in links.iter().enumerate() {
        let points: Vec<[f64; 2]> = link.cells.iter().map(|cell| place.point(*cell)).collect();
        let feature = json!({
            "type": "Feature",
            "properties": {
                "id": link.id,
                "order": link.order,
                "magnitude": link.magnitude,
                "length_m": link.length,
                "drop_m": link.drop,
                "slope": link.slope,
                "catchment_m2": link.catchment,
                "downstream": link.downstream,
            },
            "geometry": {"type": "LineString", "coordinates": points},
        });
        writeln!(file, "{feature}{}", if number + 1 < links.len() { "," } else { "" })?;
    }
    writeln!(file, "]}}")
}

/// The columns, and what a link has in them.
type Column = (&'static str, ColumnType, fn(&Link) -> Option<ColumnValue<'static>>);

const COLUMNS: [Column; 8] = [
    ("id", ColumnType::UInt, |link| Some(ColumnValue::UInt(link.id))),
    ("order", ColumnType::UInt, |link| Some(ColumnValue::UInt(link.order))),
    ("magnitude", ColumnType::UInt, |link| Some(ColumnValue::UInt(link.magnitude))),
    ("length_m", ColumnType::Double, |link| Some(ColumnValue::Double(link.length))),
    ("drop_m", ColumnType::Double, |link| Some(ColumnValue::Double(link.drop))),
    ("slope", ColumnType::Double, |link| Some(ColumnValue::Double(link.slope))),
    ("catchment_m2", ColumnType::Double, |link| Some(ColumnValue::Double(link.catchment))),
    ("downstream", ColumnType::UInt, |link| link.downstream.map(ColumnValue::UInt)),
];

/// Features in the order of the format's spatial index.
fn flatgeobuf(file: &mut impl Write, links: &[Link], place: &Place) -> io::Result<()> {
    let other = |error: flatgeobuf::Error| match error {
        flatgeobuf::Error::IO(error) => error,
        error => io::Error::other(error.to_string()),
    };
    let crs = FgbCrs { org: place.epsg.map(|_| "EPSG"), code: place.epsg.unwrap_or(0).into(), ..FgbCrs::default() };
    // GDAL takes an index over nothing for a broken file.
    let options = FgbWriterOptions { crs, write_index: !links.is_empty(), ..FgbWriterOptions::default() };
    let mut writer = FgbWriter::create_with_options("streams", GeometryType::LineString, options).map_err(other)?;
    for (name, kind, _) in COLUMNS {
        writer.add_column(name, kind, |_, _| {});
    }
    for link in links {
        let mut kept = Ok(());
        let line = Line { link, place };
        writer
            .add_feature_geom(line, |feature| {
                for (number, (name, _, value)) in COLUMNS.iter().enumerate() {
                    if let (Some(value), Ok(())) = (value(link), &kept) {
                        kept = feature.property(number, name, &value).map(drop);
                    }
                }
            })
            .and(kept)
            .map_err(|error| io::Error::other(error.to_string()))?;
    }
    writer.write(file).map_err(other)
}

/// A link as a line.
struct Line<'a> {
    link: &'a Link,
    place: &'a Place,
}

impl GeozeroGeometry for Line<'_> {
    fn process_geom<P: GeomProcessor>(&self, processor: &mut P) -> Answer<()> {
        processor.linestring_begin(true, self.link.cells.len(), 0)?;
        for (number, cell) in self.link.cells.iter().enumerate() {
            let [x, y] = self.place.point(*cell);
            processor.xy(x, y, number)?;
        }
        processor.linestring_end(true, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terrain::grid::Georeference;
    use flatgeobuf::{FallibleStreamingIterator, FeatureProperties, FgbReader};

    fn two() -> Vec<Link> {
        let link = Link {
            id: 0,
            order: 1,
            magnitude: 1,
            cells: vec![[0, 0], [1, 1]],
            length: 14.5,
            drop: 3.25,
            slope: 0.125,
            catchment: 800.0,
            downstream: Some(1),
        };
        let below = Link { id: 1, cells: vec![[1, 1], [2, 1]], downstream: None, ..link.clone() };
        vec![link, below]
    }

    fn placed(keys: &[u16]) -> Grid {
        let transform = Some([500_000.0, 10.0, 0.0, 4_000_000.0, 0.0, -10.0]);
        let georeference = Georeference { transform, keys: keys.to_vec(), ..Georeference::default() };
        Grid { georeference: Some(georeference), ..Grid::new([3, 2], 10.0).unwrap() }
    }

    #[test]
    fn geojson_holds_lines_properties_and_crs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.geojson");
        let grid = placed(&[1, 1, 0, 2, 1024, 0, 1, 1, 3072, 0, 1, 32611]);
        assert!(save_links(&path, &two(), &grid).unwrap().is_empty());
        let found: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(found["crs"]["properties"]["name"], "urn:ogc:def:crs:EPSG::32611");
        let line = &found["features"][0];
        let expected = json!([[500_005.0, 3_999_995.0], [500_015.0, 3_999_985.0]]);
        assert_eq!(line["geometry"], json!({"type": "LineString", "coordinates": expected}));
        assert_eq!((&line["properties"]["downstream"], &line["properties"]["drop_m"]), (&json!(1), &json!(3.25)));
        assert_eq!(found["features"][1]["properties"]["downstream"], json!(null));
        // Without a system of its own the north-west corner is at 0, 0.
        save_links(&path, &two(), &Grid::new([3, 2], 10.0).unwrap()).unwrap();
        let found: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(found["features"][0]["geometry"]["coordinates"], json!([[5.0, -5.0], [15.0, -15.0]]));
        assert!(found.get("crs").is_none());
        save_links(&path, &[], &grid).unwrap();
        let found: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(found["features"], json!([]));
    }

    #[test]
    fn flatgeobuf_holds_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.fgb");
        let grid = placed(&[1, 1, 0, 2, 1024, 0, 1, 1, 3072, 0, 1, 32611]);
        save_links(&path, &two(), &grid).unwrap();
        let mut file = io::BufReader::new(std::fs::File::open(&path).unwrap());
        let reader = FgbReader::open(&mut file).unwrap();
        assert_eq!(reader.header().crs().unwrap().code(), 32611);
        let mut lines = reader.select_all().unwrap();
        let mut seen = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            seen.push((line.property::<u32>("id").unwrap(), line.properties().unwrap().get("downstream").cloned()));
        }
        seen.sort();
        assert_eq!(seen, [(0, Some("1".to_string())), (1, None)]);
        // The same bytes each time, and none is a file too.
        let first = std::fs::read(&path).unwrap();
        save_links(&path, &two(), &grid).unwrap();
        assert_eq!(first, std::fs::read(&path).unwrap());
        save_links(&path, &[], &grid).unwrap();
    }

    #[test]
    fn a_crs_without_a_code_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let grid = placed(&[1, 1, 0, 2, 1024, 0, 1, 1, 3072, 0, 1, 32767]);
        for ending in ["fgb", "geojson"] {
            let said = save_links(folder.path().join(format!("a.{ending}")), &two(), &grid).unwrap();
            assert!(said.len() == 1 && said[0].contains("no EPSG code"), "{said:?}");
        }
        let error = save_links(folder.path().join("a.shp"), &two(), &grid).unwrap_err().to_string();
        assert!(error.contains(".fgb, .geojson"), "{error}");
    }
}
