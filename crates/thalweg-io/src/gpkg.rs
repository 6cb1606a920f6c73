//! GeoPackage: several layers of points, lines and areas in one file for GIS.
//!
//! Open Geospatial Consortium, 12-128r19, GeoPackage Encoding Standard 1.4 (2024): a SQLite database with tables that
//! describe its content, and shapes as well-known binary with a short header. The layers are converted from GeoJSON as
//! written by [`features`](super::features).

use std::io::Write;
use std::path::Path;

use rusqlite::types::Value as Cell;
use rusqlite::{Connection, params, params_from_iter};
use serde_json::Value;

use super::{FilePath, write_atomically};
use thalweg_core::base::names;
use thalweg_core::{Error, Result};

/// The pragmas that mark the file as a GeoPackage of this version.
// The application id is the text `GPKG` in ASCII, and the user version 10400 is version 1.4.0 of the standard.
const MARKS: &str = "PRAGMA application_id = 1196444487; PRAGMA user_version = 10400;";

/// The tables that every GeoPackage has.
const TABLES: &str = "
CREATE TABLE gpkg_spatial_ref_sys (srs_name TEXT NOT NULL, srs_id INTEGER PRIMARY KEY, organization TEXT NOT NULL,
  organization_coordsys_id INTEGER NOT NULL, definition TEXT NOT NULL, description TEXT);
CREATE TABLE gpkg_contents (table_name TEXT NOT NULL PRIMARY KEY, data_type TEXT NOT NULL, identifier TEXT UNIQUE, description TEXT DEFAULT '',
  last_change DATETIME NOT NULL, min_x DOUBLE, min_y DOUBLE, max_x DOUBLE, max_y DOUBLE, srs_id INTEGER);
CREATE TABLE gpkg_geometry_columns (table_name TEXT NOT NULL, column_name TEXT NOT NULL, geometry_type_name TEXT NOT NULL, srs_id INTEGER NOT NULL,
  z TINYINT NOT NULL, m TINYINT NOT NULL, PRIMARY KEY (table_name, column_name));
INSERT INTO gpkg_spatial_ref_sys VALUES ('undefined Cartesian', -1, 'NONE', -1, 'undefined', NULL), ('undefined geographic', 0, 'NONE', 0, 'undefined', NULL),
  ('WGS 84', 4326, 'EPSG', 4326, 'GEOGCS[\"WGS 84\",DATUM[\"WGS_1984\",SPHEROID[\"WGS 84\",6378137,298.257223563]],PRIMEM[\"Greenwich\",0],\
UNIT[\"degree\",0.0174532925199433]]', NULL);";

/// The time of the last change, a constant, so that the same features make the same bytes.
const CHANGED: &str = "1970-01-01T00:00:00.000Z";

/// A GeoPackage that is being written.
pub struct GeoPackage {
    path: FilePath,
    connection: Connection,
    /// The EPSG code of the coordinate system; −1 for coordinates in metres without a position on Earth.
    system: i64,
}

impl GeoPackage {
    /// Makes a GeoPackage without layers, to be saved at `path`, with the coordinate system of this EPSG code or
    /// without one.
    ///
    /// # Errors
    /// Returns an error of SQLite, for example if there is no memory.
    pub fn new(path: impl Into<FilePath>, epsg: Option<u16>) -> Result<Self> {
        let (path, system) = (path.into(), epsg.map_or(-1, i64::from));
        // The database is built in memory and written at once, so the file appears completely or not at all.
        let begun = || -> rusqlite::Result<Connection> {
            let connection = Connection::open_in_memory()?;
            connection.execute_batch(MARKS)?;
            connection.execute_batch(TABLES)?;
            if let Some(code) = epsg.filter(|code| *code != 4326) {
                // Readers identify a system by its code, so the definition is not filled in.
                let row = params![format!("EPSG:{code}"), code, "EPSG", code, "undefined"];
                connection.execute("INSERT INTO gpkg_spatial_ref_sys VALUES (?, ?, ?, ?, ?, NULL)", row)?;
            }
            Ok(connection)
        };
        let connection = begun().map_err(to_write_error(&path))?;
        Ok(Self { path, connection, system })
    }

    /// Gives all layers a coordinate system that has no EPSG code, described in WKT.
    ///
    /// # Errors
    /// Returns an error of SQLite.
    pub fn with_wkt(self, wkt: &str) -> Result<Self> {
        // Numbers from 100 000 on are free for systems that no organization numbers.
        const OWN: i64 = 100_000;
        let row = params!["own system", OWN, "NONE", OWN, wkt];
        let insert = "INSERT INTO gpkg_spatial_ref_sys VALUES (?, ?, ?, ?, ?, NULL)";
        self.connection.execute(insert, row).map_err(to_write_error(&self.path))?;
        Ok(Self { system: OWN, ..self })
    }

    /// Adds a layer: the features of a GeoJSON collection, which must be all points, all lines or all areas. Lists
    /// among the properties are omitted.
    ///
    /// # Errors
    /// Returns an error with the layer's name if `collection` is not such a collection, or if there is a layer of this
    /// name already.
    pub fn add_layer(&mut self, name: &str, collection: &Value) -> Result<()> {
        let wrong = |what: &str| Error::invalid_file(&self.path, format!("layer {} {what}", names::format_short(name)));
        let features = collection["features"].as_array().ok_or_else(|| wrong("is not a collection of features"))?;
        let rows: Option<Vec<FeatureRow<'_>>> = features.iter().map(FeatureRow::from_feature).collect();
        let rows = rows.ok_or_else(|| wrong("has a feature that is not a point, line or area"))?;
        if rows.windows(2).any(|two| two[0].shape.kind != two[1].shape.kind) {
            return Err(wrong("has several kinds of shapes"));
        }
        let columns = collect_columns(&rows);
        write_layer(&mut self.connection, name, &rows, &columns, self.system).map_err(to_write_error(&self.path))
    }

    /// Writes the file.
    ///
    /// # Errors
    /// Returns an error of SQLite or of the operating system.
    pub fn save(self) -> Result<()> {
        let Self { path, mut connection, .. } = self;
        let bytes = connection.serialize("main").map_err(to_write_error(&path))?;
        write_atomically(&path, |file| file.write_all(&bytes).map_err(Error::io(&path, "write")))
    }
}

fn to_write_error(path: &Path) -> impl Fn(rusqlite::Error) -> Error {
    move |error| Error::invalid_file(path, format!("cannot be written: {error}"))
}

/// A feature that is being converted to a row of a table.
struct FeatureRow<'a> {
    shape: GpkgShape,
    properties: &'a serde_json::Map<String, Value>,
}

impl<'a> FeatureRow<'a> {
    fn from_feature(feature: &'a Value) -> Option<Self> {
        let shape = GpkgShape::from_geojson(&feature["geometry"])?;
        Some(Self { shape, properties: feature["properties"].as_object()? })
    }
}

/// The type of a shape, with its number in well-known binary. Areas are always multipolygons, so that a table has one
/// type.
#[derive(Clone, Copy, PartialEq)]
enum GeometryKind {
    Point = 1,
    Line = 2,
    Areas = 6,
}

impl GeometryKind {
    fn sql_name(self) -> &'static str {
        match self {
            Self::Point => "POINT",
            Self::Line => "LINESTRING",
            Self::Areas => "MULTIPOLYGON",
        }
    }
}

/// The points of the rings of the parts of a shape.
type Parts<P> = Vec<Vec<Vec<P>>>;

/// The parts of a shape: polygons with their rings, or one line, or one point.
struct GpkgShape {
    kind: GeometryKind,
    /// True if the points have heights.
    has_z: bool,
    /// x, y, and z if the points have heights.
    parts: Parts<[f64; 3]>,
}

impl GpkgShape {
    fn from_geojson(geometry: &Value) -> Option<Self> {
        let coordinates = &geometry["coordinates"];
        let ring = |points: &Value| points.as_array()?.iter().map(read_point).collect::<Option<Vec<_>>>();
        let rings = |rings: &Value| rings.as_array()?.iter().map(ring).collect::<Option<Vec<_>>>();
        let (kind, parts) = match geometry["type"].as_str()? {
            "Point" => (GeometryKind::Point, vec![vec![vec![read_point(coordinates)?]]]),
            "LineString" => (GeometryKind::Line, vec![vec![ring(coordinates)?]]),
            "Polygon" => (GeometryKind::Areas, vec![rings(coordinates)?]),
            "MultiPolygon" => (GeometryKind::Areas, coordinates.as_array()?.iter().map(rings).collect::<Option<_>>()?),
            _ => return None,
        };
        let parts: Parts<(bool, [f64; 3])> = parts;
        let has_z = parts.iter().flatten().flatten().any(|(has_z, _)| *has_z);
        let points = |ring: Vec<(bool, [f64; 3])>| ring.into_iter().map(|(_, at)| at).collect();
        let parts = parts.into_iter().map(|rings| rings.into_iter().map(points).collect()).collect();
        Some(Self { kind, has_z, parts })
    }

    /// Returns the bounds: west, south, east, north.
    fn bounds(&self) -> [f64; 4] {
        let none = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
        let points = self.parts.iter().flatten().flatten();
        points.fold(none, |[w, s, e, n], [x, y, _]| [w.min(*x), s.min(*y), e.max(*x), n.max(*y)])
    }

    /// Returns the header of section 2.1.3.1 of the standard, followed by well-known binary.
    fn to_blob(&self, system: i64) -> Vec<u8> {
        let [west, south, east, north] = self.bounds();
        // Flags: little-endian, with an envelope of x and y.
        let mut bytes = vec![b'G', b'P', 0, 0b11];
        bytes.extend((system as i32).to_le_bytes());
        // The envelope lists both limits of x, then both limits of y.
        [west, east, south, north].iter().for_each(|x| bytes.extend(x.to_le_bytes()));
        // ISO's well-known binary adds 1000 to the type of a shape with heights.
        let kind = |kind: u32| kind + if self.has_z { 1000 } else { 0 };
        // Every shape begins with its byte order (1 is little-endian) and its type.
        let head = |bytes: &mut Vec<u8>, of: u32| {
            bytes.push(1);
            bytes.extend(kind(of).to_le_bytes());
        };
        let count = |bytes: &mut Vec<u8>, n: usize| bytes.extend((n as u32).to_le_bytes());
        let width = if self.has_z { 3 } else { 2 };
        fn append_points<'a>(bytes: &mut Vec<u8>, points: impl IntoIterator<Item = &'a [f64; 3]>, width: usize) {
            points.into_iter().flat_map(|at| &at[..width]).for_each(|x| bytes.extend(x.to_le_bytes()));
        }
        let ring = |bytes: &mut Vec<u8>, ring: &[[f64; 3]]| {
            count(bytes, ring.len());
            append_points(bytes, ring, width);
        };
        head(&mut bytes, self.kind as u32);
        match self.kind {
            GeometryKind::Point => append_points(&mut bytes, self.parts.iter().flatten().flatten(), width),
            GeometryKind::Line => self.parts.iter().flatten().for_each(|line| ring(&mut bytes, line)),
            GeometryKind::Areas => {
                count(&mut bytes, self.parts.len());
                for rings in &self.parts {
                    // The number 3 is the type of a polygon, a part of a multipolygon.
                    head(&mut bytes, 3);
                    count(&mut bytes, rings.len());
                    rings.iter().for_each(|points| ring(&mut bytes, points));
                }
            }
        }
        bytes
    }
}

/// Reads a point; true if it has a height.
fn read_point(at: &Value) -> Option<(bool, [f64; 3])> {
    match at.as_array()?.as_slice() {
        [x, y] => Some((false, [x.as_f64()?, y.as_f64()?, 0.0])),
        [x, y, z] => Some((true, [x.as_f64()?, y.as_f64()?, z.as_f64()?])),
        _ => None,
    }
}

/// Returns the names of the columns in the order of their first appearance, each with the SQLite type that can store
/// all its values.
fn collect_columns(rows: &[FeatureRow<'_>]) -> Vec<(String, &'static str)> {
    // A feature may lack properties, and a property may be null or a whole number in some features only. The columns
    // are therefore collected from all features.
    let mut columns: Vec<(String, &'static str)> = Vec::new();
    for (name, value) in rows.iter().flat_map(|row| row.properties) {
        let kind = match value {
            Value::Array(_) | Value::Object(_) => continue,
            Value::Null => "",
            Value::Bool(_) => "BOOLEAN",
            Value::String(_) => "TEXT",
            Value::Number(number) if number.is_f64() => "DOUBLE",
            Value::Number(_) => "INTEGER",
        };
        match columns.iter_mut().find(|(known, _)| known == name) {
            None => columns.push((name.clone(), kind)),
            Some((_, known)) => *known = unify_types(known, kind),
        }
    }
    // The type of a column without any value is unknown; optional values are usually numbers of items.
    columns.into_iter().map(|(name, kind)| (name, if kind.is_empty() { "INTEGER" } else { kind })).collect()
}

/// Returns the type that can store the values of both types.
fn unify_types(a: &'static str, b: &'static str) -> &'static str {
    match (a, b) {
        (a, b) if a == b || b.is_empty() => a,
        ("", b) => b,
        ("INTEGER" | "DOUBLE", "INTEGER" | "DOUBLE") => "DOUBLE",
        _ => "TEXT",
    }
}

/// Quotes a name for SQL.
fn quote_identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn write_layer(
    connection: &mut Connection,
    name: &str,
    rows: &[FeatureRow<'_>],
    columns: &[(String, &'static str)],
    system: i64,
) -> rusqlite::Result<()> {
    let kind = rows.first().map_or("GEOMETRY", |row| row.shape.kind.sql_name());
    let has_z = rows.iter().any(|row| row.shape.has_z);
    // The property `id` is a column like the others; the primary key of the table has a name that no property has.
    let own: String = columns.iter().map(|(name, kind)| format!(", {} {kind}", quote_identifier(name))).collect();
    // All rows are inserted in one transaction, because SQLite would otherwise commit each of them.
    let transaction = connection.transaction()?;
    transaction.execute_batch(&format!(
        "CREATE TABLE {} (fid INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, geom {kind}{own})",
        quote_identifier(name)
    ))?;
    {
        let places = ", ?".repeat(columns.len());
        let mut insert =
            transaction.prepare(&format!("INSERT INTO {} VALUES (?, ?{places})", quote_identifier(name)))?;
        for (number, row) in rows.iter().enumerate() {
            let cells = columns.iter().map(|(name, kind)| to_sql_value(row.properties.get(name), kind));
            let first = [Cell::Integer(number as i64 + 1), Cell::Blob(row.shape.to_blob(system))];
            insert.execute(params_from_iter(first.into_iter().chain(cells)))?;
        }
    }
    let bounds = rows.iter().map(|row| row.shape.bounds());
    // A layer without features has no bounds, and its bounds are null.
    let bounds = bounds.reduce(|a, b| [a[0].min(b[0]), a[1].min(b[1]), a[2].max(b[2]), a[3].max(b[3])]);
    let [west, south, east, north] = bounds.map_or([None; 4], |bounds| bounds.map(Some));
    transaction.execute(
        "INSERT INTO gpkg_contents VALUES (?, 'features', ?, '', ?, ?, ?, ?, ?, ?)",
        params![name, name, CHANGED, west, south, east, north, system],
    )?;
    let geometry = params![name, kind, system, i64::from(has_z)];
    transaction.execute("INSERT INTO gpkg_geometry_columns VALUES (?, 'geom', ?, ?, ?, 0)", geometry)?;
    transaction.commit()
}

/// Converts a property to the value that its column stores.
fn to_sql_value(value: Option<&Value>, kind: &str) -> Cell {
    match value {
        Some(Value::Bool(truth)) => Cell::Integer(i64::from(*truth)),
        Some(Value::String(text)) => Cell::Text(text.clone()),
        Some(Value::Number(number)) if kind == "TEXT" => Cell::Text(number.to_string()),
        Some(Value::Number(number)) => match number.as_i64() {
            Some(whole) if kind == "INTEGER" => Cell::Integer(whole),
            _ => Cell::Real(number.as_f64().unwrap_or(f64::NAN)),
        },
        _ => Cell::Null,
    }
}
