//! Things with properties for GIS: lines and polygons as GeoJSON and FlatGeobuf. Coordinates as in
//! [`vector`](super::vector).

use std::io::{self, Write};
use std::path::Path;

use flatgeobuf::geozero::error::Result as Answer;
use flatgeobuf::geozero::{ColumnValue, GeomProcessor, GeozeroGeometry, PropertyProcessor};
use flatgeobuf::{ColumnType, FgbCrs, FgbWriter, FgbWriterOptions, GeometryType};
use serde_json::{Map, Value as Json, json};

use super::vector::Place;
use super::{atomic, geokeys};
use crate::error::{Error, Result};
use crate::grid::Grid;
use crate::products::lakes::Lake;
use crate::products::streams::Reach;

/// A property's value.
#[derive(Debug, Clone, Copy)]
enum Value {
    Count(u32),
    Real(f64),
    None,
}

/// What a feature is on the map: a line, or a polygon's outer line and its islands; places in cells from the north-west
/// corner.
type Lines = Vec<Vec<[f64; 2]>>;

/// Features of one kind.
struct Features {
    name: &'static str,
    polygons: bool,
    /// Names of the properties, and whether they are counts.
    columns: &'static [(&'static str, bool)],
    features: Vec<(Lines, Vec<Value>)>,
}

/// Writes streams as lines with the properties of [`save_links`](super::vector::save_links) and `discharge_m3_s`,
/// `width_m`, `depth_m` and `velocity_m_s`. The ending picks the format: `.fgb` or `.geojson`. Returns what could not be
/// kept, in words.
///
/// # Errors
/// Another ending, a file that cannot be written.
pub fn save_reaches(path: impl AsRef<Path>, reaches: &[Reach], grid: &Grid) -> Result<Vec<String>> {
    let feature = |reach: &Reach| {
        let link = &reach.link;
        let line = link.cells.iter().map(|cell| cell.map(|n| n as f64 + 0.5)).collect();
        let values = vec![
            Value::Count(link.id),
            Value::Count(link.order),
            Value::Count(link.magnitude),
            Value::Real(link.length),
            Value::Real(link.drop),
            Value::Real(link.slope),
            Value::Real(link.catchment),
            link.downstream.map_or(Value::None, Value::Count),
            Value::Real(reach.discharge),
            Value::Real(reach.width),
            Value::Real(reach.depth),
            Value::Real(reach.velocity),
        ];
        (vec![line], values)
    };
    let columns = &[
        ("id", true),
        ("order", true),
        ("magnitude", true),
        ("length_m", false),
        ("drop_m", false),
        ("slope", false),
        ("catchment_m2", false),
        ("downstream", true),
        ("discharge_m3_s", false),
        ("width_m", false),
        ("depth_m", false),
        ("velocity_m_s", false),
    ];
    let features = reaches.iter().map(feature).collect();
    save(path.as_ref(), &Features { name: "rivers", polygons: false, columns, features }, grid)
}

/// Writes lakes as polygons, islands left out, with `id`, `level_m`, `area_m2`, `volume_m3`, `mean_depth_m`, `max_depth_m`
/// and the outlet's `outlet_row` and `outlet_column` (null where there is none). Ending and answer as of [`save_reaches`].
///
/// # Errors
/// As [`save_reaches`].
pub fn save_lakes(path: impl AsRef<Path>, lakes: &[Lake], grid: &Grid) -> Result<Vec<String>> {
    let feature = |lake: &Lake| {
        let outlet = |k: usize| lake.outlet.map_or(Value::None, |outlet| Value::Count(outlet[k] as u32));
        let values = vec![
            Value::Count(lake.id),
            Value::Real(lake.level),
            Value::Real(lake.area),
            Value::Real(lake.volume),
            Value::Real(lake.mean_depth),
            Value::Real(lake.max_depth),
            outlet(0),
            outlet(1),
        ];
        (lake.outline.clone(), values)
    };
    let columns = &[
        ("id", true),
        ("level_m", false),
        ("area_m2", false),
        ("volume_m3", false),
        ("mean_depth_m", false),
        ("max_depth_m", false),
        ("outlet_row", true),
        ("outlet_column", true),
    ];
    let features = lakes.iter().map(feature).collect();
    save(path.as_ref(), &Features { name: "lakes", polygons: true, columns, features }, grid)
}

fn save(path: &Path, features: &Features, grid: &Grid) -> Result<Vec<String>> {
    let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let write = match ending.as_str() {
        "fgb" => flatgeobuf,
        "geojson" => geojson,
        _ => return Err(Error::file(path, "its ending names no format of lines; known are .fgb, .geojson")),
    };
    let place = Place::of(grid);
    atomic(path, |file| write(file, features, &place).map_err(Error::io(path, "write")))?;
    let unnamed = grid.georeference.as_ref().is_some_and(geokeys::has_crs) && place.epsg.is_none();
    let warning = "names no coordinate reference system: that of the terrain has no EPSG code; the rasters keep it";
    Ok(unnamed.then(|| format!("{} {warning}", path.display())).into_iter().collect())
}

/// A feature to a line, as text to be read and compared.
fn geojson(file: &mut impl Write, all: &Features, place: &Place) -> io::Result<()> {
    writeln!(file, "{{\"type\": \"FeatureCollection\", \"name\": \"{}\",", all.name)?;
    if let Some(code) = place.epsg {
        let crs = json!({"type": "name", "properties": {"name": format!("urn:ogc:def:crs:EPSG::{code}")}});
        writeln!(file, "\"crs\": {crs},")?;
    }
    writeln!(file, "\"features\": [")?;
    for (number, (lines, values)) in all.features.iter().enumerate() {
        let properties: Map<String, Json> = all
            .columns
            .iter()
            .zip(values)
            .map(|((name, _), value)| {
                let value = match value {
                    Value::Count(n) => json!(n),
                    Value::Real(x) => json!(x),
                    Value::None => Json::Null,
                };
                (name.to_string(), value)
            })
            .collect();
        let lines: Vec<Vec<[f64; 2]>> =
            lines.iter().map(|line| line.iter().map(|at| place.at(*at)).collect()).collect();
        let geometry = match (all.polygons, lines.as_slice()) {
            (false, [line, ..]) => json!({"type": "LineString", "coordinates": line}),
            _ => json!({"type": "Polygon", "coordinates": lines}),
        };
        let feature = json!({"type": "Feature", "properties": properties, "geometry": geometry});
        writeln!(file, "{feature}{}", if number + 1 < all.features.len() { "," } else { "" })?;
    }
    writeln!(file, "]}}")
}

/// Features in the order of the format's spatial index.
fn flatgeobuf(file: &mut impl Write, all: &Features, place: &Place) -> io::Result<()> {
    let other = |error: flatgeobuf::Error| match error {
        flatgeobuf::Error::IO(error) => error,
        error => io::Error::other(error.to_string()),
    };
    let crs = FgbCrs { org: place.epsg.map(|_| "EPSG"), code: place.epsg.unwrap_or(0).into(), ..FgbCrs::default() };
    // GDAL takes an index over nothing for a broken file.
    let options = FgbWriterOptions { crs, write_index: !all.features.is_empty(), ..FgbWriterOptions::default() };
    let kind = if all.polygons { GeometryType::Polygon } else { GeometryType::LineString };
    let mut writer = FgbWriter::create_with_options(all.name, kind, options).map_err(other)?;
    for (name, count) in all.columns {
        writer.add_column(name, if *count { ColumnType::UInt } else { ColumnType::Double }, |_, _| {});
    }
    for (lines, values) in &all.features {
        let mut kept = Ok(());
        let shape = Shape { lines, polygon: all.polygons, place };
        writer
            .add_feature_geom(shape, |feature| {
                for (number, ((name, _), value)) in all.columns.iter().zip(values).enumerate() {
                    let value = match value {
                        Value::Count(n) => ColumnValue::UInt(*n),
                        Value::Real(x) => ColumnValue::Double(*x),
                        Value::None => continue,
                    };
                    if kept.is_ok() {
                        kept = feature.property(number, name, &value).map(drop);
                    }
                }
            })
            .and(kept)
            .map_err(|error| io::Error::other(error.to_string()))?;
    }
    writer.write(file).map_err(other)
}

/// A feature's geometry.
struct Shape<'a> {
    lines: &'a Lines,
    polygon: bool,
    place: &'a Place,
}

impl GeozeroGeometry for Shape<'_> {
    fn process_geom<P: GeomProcessor>(&self, processor: &mut P) -> Answer<()> {
        if self.polygon {
            processor.polygon_begin(true, self.lines.len(), 0)?;
        }
        for (n, line) in self.lines.iter().enumerate() {
            processor.linestring_begin(!self.polygon, line.len(), n)?;
            for (number, at) in line.iter().enumerate() {
                let [x, y] = self.place.at(*at);
                processor.xy(x, y, number)?;
            }
            processor.linestring_end(!self.polygon, n)?;
        }
        if self.polygon {
            processor.polygon_end(true, 0)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Field;
    use crate::height::Height;
    use crate::products::{lakes::lakes, streams::reaches};
    use crate::terrain::Terrain;
    use flatgeobuf::{FallibleStreamingIterator, FeatureProperties, FgbReader};

    /// A valley to the south with a lake that has an island.
    fn world() -> (Terrain, Field<Height>, Field<f32>) {
        let mut terrain = Terrain::new(Grid::new([30, 15], 10.0).unwrap());
        for i in 0..30 {
            for j in 0..15 {
                terrain.ground[(i, j)] = Height::saturating(100.0 - i as f64 + 4.0 * j.abs_diff(7) as f64);
            }
        }
        let wet = |i: usize, j: usize| (10..15).contains(&i) && (5..10).contains(&j) && (i, j) != (12, 7);
        for i in 10..15 {
            terrain.ground.row_mut(i)[5..10].fill(Height::saturating(85.0));
        }
        terrain.ground[(12, 7)] = Height::saturating(95.0);
        let pools = Field::generate([30, 15], |i, j| Height::saturating(if wet(i, j) { 2.0 } else { 0.0 }));
        let discharge = Field::generate([30, 15], |_, j| if j == 7 { 4.0 } else { 0.0 });
        (terrain, pools, discharge)
    }

    #[test]
    fn both_formats_hold_lakes_and_rivers() {
        let folder = tempfile::tempdir().unwrap();
        let (terrain, pools, discharge) = world();
        let (found, _) = lakes(&terrain, &pools).unwrap();
        let rivers = reaches(&terrain, &discharge, Some(&pools), 1.0).unwrap();
        let path = |name: &str| folder.path().join(name);
        for ending in ["geojson", "fgb"] {
            save_lakes(path(&format!("lakes.{ending}")), &found, &terrain.grid).unwrap();
            save_reaches(path(&format!("rivers.{ending}")), &rivers, &terrain.grid).unwrap();
            save_lakes(path(&format!("none.{ending}")), &[], &terrain.grid).unwrap();
        }
        let json: Json = serde_json::from_slice(&std::fs::read(path("lakes.geojson")).unwrap()).unwrap();
        let lake = &json["features"][0];
        assert_eq!((&lake["properties"]["level_m"], &lake["properties"]["area_m2"]), (&json!(87.0), &json!(2400.0)));
        let rings = lake["geometry"]["coordinates"].as_array().unwrap();
        assert_eq!((lake["geometry"]["type"].as_str(), rings.len()), (Some("Polygon"), 2));
        // Middles of sides: half cells east and south of the corner at 0, 0.
        assert!(rings[0].as_array().unwrap().contains(&json!([50.0, -105.0])), "{}", rings[0]);
        let json: Json = serde_json::from_slice(&std::fs::read(path("rivers.geojson")).unwrap()).unwrap();
        let river = &json["features"][0]["properties"];
        assert_eq!((river["discharge_m3_s"].as_f64(), river["downstream"].is_null()), (Some(4.0), true));
        assert!((river["width_m"].as_f64().unwrap() - 14.4).abs() < 1e-4);
        let mut file = io::BufReader::new(std::fs::File::open(path("lakes.fgb")).unwrap());
        let reader = FgbReader::open(&mut file).unwrap();
        assert_eq!(reader.header().geometry_type(), GeometryType::Polygon);
        let mut features = reader.select_all().unwrap();
        let lake = features.next().unwrap().unwrap();
        assert_eq!(lake.property::<f64>("volume_m3").unwrap(), 4800.0);
        assert!(save_lakes(path("lakes.shp"), &found, &terrain.grid).is_err());
    }
}
