//! Lines and areas with properties, as GeoJSON and FlatGeobuf; see [`map_coordinates`](super::map_coordinates) for the
//! coordinates.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flatgeobuf::geozero::error::Result as Answer;
use flatgeobuf::geozero::{ColumnValue, GeomProcessor, GeozeroGeometry, PropertyProcessor};
use flatgeobuf::{ColumnType, FgbCrs, FgbWriter, FgbWriterOptions, GeometryType};
use serde_json::{Map, Value, json};

use super::map_coordinates::{MapTransform, warn_unnamed_crs};
use super::{FilePath, write_atomically};
use thalweg_core::terrain::{ChannelReach, Lake};
use thalweg_core::{Cell, Error, Grid, MapPoint, Result};

/// The shape of a feature, in cells from the north-western corner.
#[derive(Debug, Clone, PartialEq)]
pub enum Geometry {
    /// A line through these positions.
    Line(Vec<Cell<f64>>),
    /// A line through these positions, each with its height in metres.
    Profile(Vec<(Cell<f64>, f64)>),
    /// One or more polygons: each is an outer ring followed by the rings of its holes. The last point of a ring is its
    /// first.
    Area(Vec<Vec<Vec<Cell<f64>>>>),
}

/// The value of a property.
#[derive(Debug, Clone, PartialEq)]
pub enum Property {
    /// A whole number of 0 or more; `None` is written as null.
    Count(Option<u32>),
    /// A real number.
    Real(f64),
    /// A text.
    Word(String),
    /// One number for each point of a line; cannot be stored in FlatGeobuf and is omitted there.
    Reals(Vec<f64>),
}

/// A shape with properties.
#[derive(Debug, Clone, PartialEq)]
pub struct Feature {
    /// The shape and its position.
    pub shape: Geometry,
    /// The names and values of the properties; all features of a file have the same properties in the same order.
    pub properties: Vec<(&'static str, Property)>,
}

/// Writes channel reaches, each as a line through the centres of its cells, with the properties `id`, `order`,
/// `magnitude`, `length_m`, `drop_m`, `slope`, `drainage_area_m2` and `downstream` (null at an outlet). The formats and
/// the returned messages are those of [`save_features`].
///
/// # Errors
/// Returns the errors of [`save_features`].
///
/// # Examples
/// A reach of two cells in GeoJSON. Without a CRS the north-western corner is at 0, 0.
///
/// ```
/// use thalweg_core::terrain::ChannelReach;
/// use thalweg_core::{Cell, Grid};
/// use thalweg_io::MemoryFiles;
/// use thalweg_io::features::save_reaches;
///
/// let files = MemoryFiles::default();
/// let reach = ChannelReach { cells: vec![Cell::new(0, 0), Cell::new(1, 1)], ..ChannelReach::default() };
/// save_reaches(files.path("reaches.geojson"), &[reach], &Grid::new([3, 2], 10.0)?)?;
/// let bytes = files.get("reaches.geojson").unwrap();
/// let found: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
/// let line = serde_json::json!([[5.0, -5.0], [15.0, -15.0]]);
/// assert_eq!(found["features"][0]["geometry"]["coordinates"], line);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn save_reaches(path: impl Into<FilePath>, reaches: &[ChannelReach], grid: &Grid) -> Result<Vec<String>> {
    save_all(&path.into(), reaches, reach_feature, grid)
}

/// Writes channel reaches as [`save_reaches`] does, and their hydraulics with them: `discharge_m3_s`, `width_m`,
/// `depth_m` and `velocity_m_s`, 0 where none are known.
///
/// # Errors
/// Returns the errors of [`save_features`].
///
/// # Examples
/// ```
/// use thalweg_core::terrain::{ChannelReach, Hydraulics};
/// use thalweg_core::{Cell, Grid};
/// use thalweg_io::MemoryFiles;
/// use thalweg_io::features::save_streams;
///
/// let files = MemoryFiles::default();
/// let hydraulics = Some(Hydraulics { discharge: 4.0, width: 14.5, ..Hydraulics::default() });
/// let cells = vec![Cell::new(0, 0), Cell::new(1, 1)];
/// let reach = ChannelReach { cells, hydraulics, ..ChannelReach::default() };
/// save_streams(files.path("rivers.geojson"), &[reach], &Grid::new([3, 2], 10.0)?)?;
/// let bytes = files.get("rivers.geojson").unwrap();
/// let found: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
/// assert_eq!(found["features"][0]["properties"]["discharge_m3_s"], 4.0);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn save_streams(path: impl Into<FilePath>, reaches: &[ChannelReach], grid: &Grid) -> Result<Vec<String>> {
    let feature = |reach: &ChannelReach| {
        let mut feature = reach_feature(reach);
        let water = reach.hydraulics.unwrap_or_default();
        feature.properties.extend([
            ("discharge_m3_s", Property::Real(water.discharge)),
            ("width_m", Property::Real(water.width)),
            ("depth_m", Property::Real(water.depth)),
            ("velocity_m_s", Property::Real(water.velocity)),
        ]);
        feature
    };
    save_all(&path.into(), reaches, feature, grid)
}

/// Writes channel reaches one at a time, so that only one is in memory. The file has the same bytes as that of
/// [`save_reaches`].
pub struct ReachFile {
    path: PathBuf,
    grid: Grid,
    rows: Option<FgbRows>,
}

impl ReachFile {
    /// Begins a file of reaches on the cells of `grid`; the path must end in `.fgb`. The file appears at its path when
    /// it is finished.
    ///
    /// # Errors
    /// Returns an error if the path has another extension.
    pub fn new(path: impl Into<PathBuf>, grid: &Grid) -> Result<Self> {
        let path = path.into();
        if !path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("fgb")) {
            return Err(Error::invalid_file(
                &path,
                "must have the extension .fgb, the format that can be written one reach at a time",
            ));
        }
        Ok(Self { path, grid: grid.clone(), rows: None })
    }

    /// Writes the next reach.
    ///
    /// # Errors
    /// Returns an error if writing fails: the reaches are buffered in a temporary file.
    pub fn write_reach(&mut self, reach: &ChannelReach) -> Result<()> {
        let said = Error::io(&self.path, "write");
        let place = MapTransform::from_grid(&self.grid);
        let feature = reach_feature(reach);
        let mut put = || {
            // The header declares the columns and the kind of shape, so the file is begun with the first reach.
            if self.rows.is_none() {
                self.rows =
                    Some(FgbRows::new(&collection_name(&self.path), std::slice::from_ref(&feature), &place, true)?);
            }
            self.rows.as_mut().map_or(Ok(()), |rows| rows.add_feature(&feature, &place))
        };
        put().map_err(said)
    }

    /// Completes the file and moves it to its path. Returns warnings about what could not be stored, as
    /// [`save_features`] does.
    ///
    /// # Errors
    /// Returns the errors of [`write_atomically()`].
    pub fn finish(self) -> Result<Vec<String>> {
        let Self { path, grid, rows } = self;
        write_atomically(&path, |file| {
            let write = || {
                let rows = match rows {
                    Some(rows) => rows,
                    // Without any reach, a default one declares the columns. There is no index, because GDAL reports an
                    // empty one as broken.
                    None => FgbRows::new(
                        &collection_name(&path),
                        &[reach_feature(&ChannelReach::default())],
                        &MapTransform::from_grid(&grid),
                        false,
                    )?,
                };
                rows.write_file(file)
            };
            write().map_err(Error::io(&path, "write"))
        })?;
        Ok(warn_unnamed_crs(&path, &grid))
    }
}

/// Converts a reach to a line with its properties.
fn reach_feature(reach: &ChannelReach) -> Feature {
    let count = |n| Property::Count(Some(n));
    let own = [
        ("id", count(reach.id)),
        ("order", count(reach.order)),
        ("magnitude", count(reach.magnitude)),
        ("length_m", Property::Real(reach.length)),
        ("drop_m", Property::Real(reach.drop)),
        ("slope", Property::Real(reach.slope)),
        ("drainage_area_m2", Property::Real(reach.drainage_area)),
        ("downstream", Property::Count(reach.downstream)),
    ];
    // The centre of a cell is half a cell to the south-east of its corner.
    let line = reach.cells.iter().map(|cell| cell.map(|n| n as f64 + 0.5)).collect();
    Feature { shape: Geometry::Line(line), properties: own.into() }
}

/// Writes lakes as polygons with holes for the islands, with the properties `id`, `level_m`, `area_m2`, `volume_m3`,
/// `mean_depth_m`, `max_depth_m`, and the outlet's `outlet_row` and `outlet_column` (null without an outlet). The
/// formats and the returned messages are those of [`save_features`].
///
/// # Errors
/// Returns the errors of [`save_features`].
///
/// # Examples
/// A pool of one cell of 10 m, 2 m deep.
///
/// ```
/// use thalweg_core::{Field, Grid, Height, Terrain};
/// use thalweg_io::MemoryFiles;
/// use thalweg_io::features::save_lakes;
/// use thalweg_render::products::lakes::outline_lakes;
///
/// let depth = |i: usize, j: usize| if (i, j) == (1, 1) { 2.0 } else { 0.0 };
/// let ground = Field::from_fn([4, 4], |i, j| Height::from_metres_clamped(-depth(i, j)));
/// let terrain = Terrain::from_ground(Grid::new([4, 4], 10.0)?, ground)?;
/// let (lakes, _) = outline_lakes(&terrain, &Field::from_fn([4, 4], |i, j| Height::from_metres_clamped(depth(i, j))))?;
///
/// let files = MemoryFiles::default();
/// save_lakes(files.path("lakes.geojson"), &lakes, &terrain.grid)?;
/// let bytes = files.get("lakes.geojson").unwrap();
/// let found: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
/// assert_eq!(found["features"][0]["properties"]["volume_m3"], 200.0);
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn save_lakes(path: impl Into<FilePath>, lakes: &[Lake], grid: &Grid) -> Result<Vec<String>> {
    let feature =
        |lake: &Lake| Feature { shape: Geometry::Area(vec![lake.outline.clone()]), properties: lake_properties(lake) };
    save_all(&path.into(), lakes, feature, grid)
}

/// Returns the properties of a lake.
pub(super) fn lake_properties(lake: &Lake) -> Vec<(&'static str, Property)> {
    let outlet = |k: usize| Property::Count(lake.outlet.map(|outlet| outlet[k] as u32));
    vec![
        ("id", Property::Count(Some(lake.id))),
        ("level_m", Property::Real(lake.level)),
        ("area_m2", Property::Real(lake.area)),
        ("volume_m3", Property::Real(lake.volume)),
        ("mean_depth_m", Property::Real(lake.mean_depth)),
        ("max_depth_m", Property::Real(lake.max_depth)),
        ("outlet_row", outlet(0)),
        ("outlet_column", outlet(1)),
    ]
}

/// Writes features of one kind in the format of the path's extension, `.fgb` or `.geojson`. Returns warnings about what
/// could not be stored, in words.
///
/// FlatGeobuf names the CRS in its header. RFC 7946 requires WGS 84 for GeoJSON; this function writes the terrain's own
/// coordinates, with the `crs` member of the format's first version (2008), which GDAL reads. Without a CRS the file
/// names a local one, in metres.
///
/// # Errors
/// Returns an error for another extension, or if the file cannot be written.
pub fn save_features(path: impl Into<FilePath>, features: &[Feature], grid: &Grid) -> Result<Vec<String>> {
    write_features(&path.into(), features, features, grid)
}

/// Writes items as features. If there are none, the file still declares the kind of shape and the columns, taken from
/// the feature of a default item.
fn save_all<T: Default>(
    path: &FilePath,
    things: &[T],
    feature: impl Fn(&T) -> Feature,
    grid: &Grid,
) -> Result<Vec<String>> {
    let features: Vec<Feature> = things.iter().map(&feature).collect();
    let blank = [feature(&T::default())];
    write_features(path, &features, if features.is_empty() { &blank } else { &features }, grid)
}

/// Writes features; the kind of shape and the columns are those of `kinds`.
fn write_features(path: &FilePath, features: &[Feature], kinds: &[Feature], grid: &Grid) -> Result<Vec<String>> {
    let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let name = collection_name(path);
    let place = MapTransform::from_grid(grid);
    let said = Error::io(path, "write");
    match ending.as_str() {
        "fgb" => write_atomically(path, |file| write_flatgeobuf(file, &name, features, kinds, &place).map_err(said))?,
        "geojson" => write_atomically(path, |file| write_geojson(file, &name, features, &place).map_err(said))?,
        _ => {
            return Err(Error::invalid_file(
                path,
                "does not have the extension of a format for features; use .fgb or .geojson",
            ));
        }
    }
    Ok(warn_unnamed_crs(path, grid))
}

/// Returns the name of a file's collection of features: the file name without its extension.
pub(super) fn collection_name(path: &Path) -> String {
    path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

impl Geometry {
    /// Returns the shape's type in GeoJSON, and its coordinates.
    fn to_geojson(&self, place: &MapTransform) -> (&'static str, Value) {
        match self {
            Self::Line(points) => {
                let points: Vec<MapPoint> = points.iter().map(|at| place.to_map_point(*at)).collect();
                ("LineString", json!(points))
            }
            Self::Profile(points) => {
                let point = |(at, height): &(Cell<f64>, f64)| {
                    let MapPoint { x, y } = place.to_map_point(*at);
                    [x, y, *height]
                };
                ("LineString", json!(points.iter().map(point).collect::<Vec<_>>()))
            }
            Self::Area(parts) => {
                let ring = |ring: &Vec<Cell<f64>>| ring.iter().map(|at| place.to_map_point(*at)).collect::<Vec<_>>();
                let parts: Vec<Vec<_>> = parts.iter().map(|rings| rings.iter().map(ring).collect()).collect();
                match parts.as_slice() {
                    // A shape of one part is a polygon; only several parts need a multipolygon.
                    [rings] => ("Polygon", json!(rings)),
                    parts => ("MultiPolygon", json!(parts)),
                }
            }
        }
    }
}

/// Writes features as a GeoJSON collection.
fn write_geojson(file: &mut impl Write, name: &str, features: &[Feature], place: &MapTransform) -> io::Result<()> {
    let mut collection = Collection::begin(file, name, place)?;
    for Feature { shape, properties } in features {
        let (kind, coordinates) = shape.to_geojson(place);
        write!(collection.begin_feature()?, "{}", feature_text(kind, &coordinates, properties))?;
    }
    collection.end()
}

/// Formats a feature as a JSON object from its shape's type, coordinates and properties.
pub fn feature_text(shape: &str, coordinates: &Value, properties: &[(&'static str, Property)]) -> String {
    format!("{FEATURE}{coordinates}{}", feature_end(shape, properties))
}

/// The text before a feature's coordinates. Keys are in alphabetical order, as in the objects of serde_json.
pub(super) const FEATURE: &str = r#"{"geometry":{"coordinates":"#;

/// Returns the text after a feature's coordinates.
pub(super) fn feature_end(shape: &str, of: &[(&'static str, Property)]) -> String {
    format!(r#","type":"{shape}"}},"properties":{},"type":"Feature"}}"#, properties_to_json(of))
}

/// Converts properties to a JSON object.
fn properties_to_json(of: &[(&'static str, Property)]) -> Value {
    let value = |property: &Property| match property {
        Property::Count(count) => json!(count),
        Property::Real(real) => json!(real),
        Property::Word(word) => json!(word),
        Property::Reals(reals) => json!(reals),
    };
    of.iter().map(|(name, property)| ((*name).to_string(), value(property))).collect::<Map<String, Value>>().into()
}

/// The coordinate system of a terrain without a position on Earth, as WKT 1, which GDAL accepts in place of a name.
/// Without any name, the coordinates would be taken for degrees.
const LOCAL: &str = r#"LOCAL_CS["metres, nowhere on Earth",UNIT["metre",1],AXIS["x",EAST],AXIS["y",NORTH]]"#;

/// A writer of a GeoJSON collection with one feature per line, so that the file can be read and compared as text.
/// Features are written one at a time.
pub(super) struct Collection<W> {
    file: W,
    has_features: bool,
}

impl<W: Write> Collection<W> {
    /// Begins a collection of this name, with the CRS of `place`.
    pub fn begin(mut file: W, name: &str, place: &MapTransform) -> io::Result<Self> {
        writeln!(file, "{{\"type\": \"FeatureCollection\", \"name\": {},", json!(name))?;
        let system = place.epsg.map(|code| format!("urn:ogc:def:crs:EPSG::{code}"));
        if let Some(system) = system.or_else(|| place.is_local.then(|| LOCAL.to_string())) {
            let crs = json!({"type": "name", "properties": {"name": system}});
            writeln!(file, "\"crs\": {crs},")?;
        }
        writeln!(file, "\"features\": [")?;
        Ok(Self { file, has_features: false })
    }

    /// Begins the next feature; its text must be written to the returned writer.
    pub fn begin_feature(&mut self) -> io::Result<&mut W> {
        // The comma is written before each feature except the first, so the last one need not be known in advance.
        if std::mem::replace(&mut self.has_features, true) {
            self.file.write_all(b",\n")?;
        }
        Ok(&mut self.file)
    }

    /// Returns the writer, for more text of the last feature.
    pub fn feature_writer(&mut self) -> &mut W {
        &mut self.file
    }

    /// Ends the collection.
    pub fn end(mut self) -> io::Result<()> {
        if self.has_features {
            writeln!(self.file)?;
        }
        writeln!(self.file, "]}}")
    }
}

/// Writes features to a FlatGeobuf, in the order of the format's spatial index.
fn write_flatgeobuf(
    file: &mut impl Write,
    name: &str,
    features: &[Feature],
    kinds: &[Feature],
    place: &MapTransform,
) -> io::Result<()> {
    // GDAL reports a file with an empty index as broken.
    let mut rows = FgbRows::new(name, kinds, place, !features.is_empty())?;
    features.iter().try_for_each(|feature| rows.add_feature(feature, place))?;
    rows.write_file(file)
}

/// True if FlatGeobuf can be written: the writer needs a temporary file of the operating system, which a browser does
/// not have.
pub const WRITES_FLATGEOBUF: bool = !cfg!(target_family = "wasm");

/// The rows of a FlatGeobuf that is being written, in a temporary file.
struct FgbRows {
    writer: FgbWriter<'static>,
    columns: Vec<(&'static str, ColumnType)>,
    /// True if every area of the file is a single polygon.
    whole: bool,
}

fn to_io_error(error: flatgeobuf::Error) -> io::Error {
    match error {
        flatgeobuf::Error::IO(error) => error,
        error => io::Error::other(error.to_string()),
    }
}

impl FgbRows {
    fn new(name: &str, kinds: &[Feature], place: &MapTransform, write_index: bool) -> io::Result<Self> {
        if !WRITES_FLATGEOBUF {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let crs = FgbCrs {
            org: place.epsg.map(|_| "EPSG"),
            code: place.epsg.unwrap_or(0).into(),
            wkt: place.wkt.as_deref(),
            ..FgbCrs::default()
        };
        // A file has one kind of shape: the most general that its features need.
        let all = |holds: fn(&Geometry) -> bool| kinds.iter().all(|feature| holds(&feature.shape));
        let profiles = all(|shape| matches!(shape, Geometry::Profile(_)));
        let whole = all(|shape| matches!(shape, Geometry::Area(parts) if parts.len() == 1));
        let kind = if all(|shape| !matches!(shape, Geometry::Area(_))) {
            GeometryType::LineString
        } else if whole {
            GeometryType::Polygon
        } else {
            GeometryType::MultiPolygon
        };
        let options = FgbWriterOptions { crs, write_index, has_z: profiles, ..FgbWriterOptions::default() };
        let mut writer = FgbWriter::create_with_options(name, kind, options).map_err(to_io_error)?;
        let columns: Vec<(&str, ColumnType)> = kinds.first().map_or(Vec::new(), |first| {
            // A column stores a single value, so lists are omitted.
            let kind = |property: &Property| match property {
                Property::Count(_) => Some(ColumnType::UInt),
                Property::Real(_) => Some(ColumnType::Double),
                Property::Word(_) => Some(ColumnType::String),
                Property::Reals(_) => None,
            };
            first.properties.iter().filter_map(|(name, property)| Some((*name, kind(property)?))).collect()
        });
        for (name, kind) in &columns {
            writer.add_column(name, *kind, |_, _| {});
        }
        Ok(Self { writer, columns, whole })
    }

    fn add_feature(&mut self, feature: &Feature, place: &MapTransform) -> io::Result<()> {
        let Self { writer, columns, whole } = self;
        // The closure cannot return an error, so the first error is stored until the feature is complete.
        let mut kept = Ok(());
        let shape = PlacedGeometry { shape: &feature.shape, place, whole: *whole };
        let values = feature.properties.iter().filter(|(name, _)| columns.iter().any(|(known, _)| known == name));
        writer
            .add_feature_geom(shape, |row| {
                for (number, (name, property)) in values.enumerate() {
                    let value = match property {
                        Property::Count(count) => count.map(ColumnValue::UInt),
                        Property::Real(real) => Some(ColumnValue::Double(*real)),
                        Property::Word(word) => Some(ColumnValue::String(word)),
                        Property::Reals(_) => None,
                    };
                    if let (Some(value), Ok(())) = (value, &kept) {
                        kept = row.property(number, name, &value).map(drop);
                    }
                }
            })
            .and(kept)
            .map_err(|error| io::Error::other(error.to_string()))
    }

    fn write_file(self, file: &mut impl Write) -> io::Result<()> {
        self.writer.write(file).map_err(to_io_error)
    }
}

/// A shape with the transform to map coordinates.
struct PlacedGeometry<'a> {
    shape: &'a Geometry,
    place: &'a MapTransform,
    /// True if every area of the file is a single polygon.
    whole: bool,
}

impl GeozeroGeometry for PlacedGeometry<'_> {
    fn process_geom<P: GeomProcessor>(&self, processor: &mut P) -> Answer<()> {
        match self.shape {
            Geometry::Line(points) => self.emit_line(processor, points, true, 0),
            Geometry::Profile(points) => {
                processor.linestring_begin(true, points.len(), 0)?;
                for (number, (at, height)) in points.iter().enumerate() {
                    let MapPoint { x, y } = self.place.to_map_point(*at);
                    processor.coordinate(x, y, Some(*height), None, None, None, number)?;
                }
                processor.linestring_end(true, 0)
            }
            Geometry::Area(parts) => {
                if !self.whole {
                    processor.multipolygon_begin(parts.len(), 0)?;
                }
                for (number, rings) in parts.iter().enumerate() {
                    processor.polygon_begin(self.whole, rings.len(), number)?;
                    for (which, ring) in rings.iter().enumerate() {
                        self.emit_line(processor, ring, false, which)?;
                    }
                    processor.polygon_end(self.whole, number)?;
                }
                if !self.whole {
                    processor.multipolygon_end(0)?;
                }
                Ok(())
            }
        }
    }
}

impl PlacedGeometry<'_> {
    fn emit_line<P: GeomProcessor>(&self, to: &mut P, points: &[Cell<f64>], alone: bool, number: usize) -> Answer<()> {
        to.linestring_begin(alone, points.len(), number)?;
        for (k, at) in points.iter().enumerate() {
            let MapPoint { x, y } = self.place.to_map_point(*at);
            to.xy(x, y, k)?;
        }
        to.linestring_end(alone, number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flatgeobuf::{FallibleStreamingIterator, FeatureProperties, FgbReader};
    use thalweg_core::terrain::field::Field;
    use thalweg_core::terrain::grid::Georeference;
    use thalweg_core::terrain::height::Height;
    use thalweg_core::terrain::{Cell, Terrain};
    use thalweg_render::products::{lakes::outline_lakes, streams::trace_streams};

    /// A valley towards the south with a lake that has an island.
    fn world() -> (Terrain, Field<Height>, Field<f32>) {
        let mut terrain = Terrain::new(Grid::new([30, 15], 10.0).unwrap());
        for i in 0..30 {
            for j in 0..15 {
                terrain.ground[(i, j)] = Height::from_metres_clamped(100.0 - i as f64 + 4.0 * j.abs_diff(7) as f64);
            }
        }
        let wet = |i: usize, j: usize| (10..15).contains(&i) && (5..10).contains(&j) && (i, j) != (12, 7);
        for i in 10..15 {
            terrain.ground.row_mut(i)[5..10].fill(Height::from_metres_clamped(85.0));
        }
        terrain.ground[(12, 7)] = Height::from_metres_clamped(95.0);
        let pools = Field::from_fn([30, 15], |i, j| Height::from_metres_clamped(if wet(i, j) { 2.0 } else { 0.0 }));
        let discharge = Field::from_fn([30, 15], |_, j| if j == 7 { 4.0 } else { 0.0 });
        (terrain, pools, discharge)
    }

    #[test]
    fn both_formats_hold_lakes_and_rivers() {
        let folder = tempfile::tempdir().unwrap();
        let (terrain, pools, discharge) = world();
        let (found, _) = outline_lakes(&terrain, &pools).unwrap();
        let rivers = trace_streams(&terrain, &discharge, Some(&pools), 1.0).unwrap().reaches;
        let path = |name: &str| folder.path().join(name);
        for ending in ["geojson", "fgb"] {
            save_lakes(path(&format!("lakes.{ending}")), &found, &terrain.grid).unwrap();
            save_streams(path(&format!("rivers.{ending}")), &rivers, &terrain.grid).unwrap();
            save_lakes(path(&format!("none.{ending}")), &[], &terrain.grid).unwrap();
        }
        let json: serde_json::Value = serde_json::from_slice(&std::fs::read(path("lakes.geojson")).unwrap()).unwrap();
        let lake = &json["features"][0];
        assert_eq!((&lake["properties"]["level_m"], &lake["properties"]["area_m2"]), (&json!(87.0), &json!(2400.0)));
        let rings = lake["geometry"]["coordinates"].as_array().unwrap();
        assert_eq!((lake["geometry"]["type"].as_str(), rings.len()), (Some("Polygon"), 2));
        // The middles of cell sides: half cells east and south of the corner at 0, 0.
        assert!(rings[0].as_array().unwrap().contains(&json!([50.0, -105.0])), "{}", rings[0]);
        let json: serde_json::Value = serde_json::from_slice(&std::fs::read(path("rivers.geojson")).unwrap()).unwrap();
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

    fn two() -> Vec<ChannelReach> {
        let reach = ChannelReach {
            id: 0,
            order: 1,
            magnitude: 1,
            cells: vec![Cell::new(0, 0), Cell::new(1, 1)],
            length: 14.5,
            drop: 3.25,
            slope: 0.125,
            drainage_area: 800.0,
            downstream: Some(1),
            hydraulics: None,
        };
        let below =
            ChannelReach { id: 1, cells: vec![Cell::new(1, 1), Cell::new(2, 1)], downstream: None, ..reach.clone() };
        vec![reach, below]
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
        assert!(save_reaches(&path, &two(), &grid).unwrap().is_empty());
        let found: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(found["crs"]["properties"]["name"], "urn:ogc:def:crs:EPSG::32611");
        let line = &found["features"][0];
        let expected = json!([[500_005.0, 3_999_995.0], [500_015.0, 3_999_985.0]]);
        assert_eq!(line["geometry"], json!({"type": "LineString", "coordinates": expected}));
        assert_eq!((&line["properties"]["downstream"], &line["properties"]["drop_m"]), (&json!(1), &json!(3.25)));
        assert_eq!(found["features"][1]["properties"]["downstream"], json!(null));
        // Without a CRS, the north-western corner is at 0, 0.
        save_reaches(&path, &two(), &Grid::new([3, 2], 10.0).unwrap()).unwrap();
        let found: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(found["features"][0]["geometry"]["coordinates"], json!([[5.0, -5.0], [15.0, -15.0]]));
        assert!(
            found["crs"]["properties"]["name"].as_str().unwrap().starts_with("LOCAL_CS[\"metres, nowhere on Earth\"")
        );
        save_reaches(&path, &[], &grid).unwrap();
        let found: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(found["features"], json!([]));
    }

    #[test]
    fn flatgeobuf_holds_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.fgb");
        let grid = placed(&[1, 1, 0, 2, 1024, 0, 1, 1, 3072, 0, 1, 32611]);
        save_reaches(&path, &two(), &grid).unwrap();
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
        // The bytes are the same each time; a file without reaches is valid too.
        let first = std::fs::read(&path).unwrap();
        save_reaches(&path, &two(), &grid).unwrap();
        assert_eq!(first, std::fs::read(&path).unwrap());
        // The bytes of reaches written one at a time are the same.
        let one_by_one = folder.path().join("b/a.fgb");
        std::fs::create_dir(folder.path().join("b")).unwrap();
        for reaches in [two(), Vec::new()] {
            save_reaches(&path, &reaches, &grid).unwrap();
            let mut file = ReachFile::new(&one_by_one, &grid).unwrap();
            reaches.iter().for_each(|reach| file.write_reach(reach).unwrap());
            file.finish().unwrap();
            assert!(std::fs::read(&path).unwrap() == std::fs::read(&one_by_one).unwrap(), "{}", reaches.len());
        }
        assert!(ReachFile::new(folder.path().join("a.geojson"), &grid).is_err());
    }

    #[test]
    fn a_feature_has_the_text_of_its_object() {
        let properties = [("width", Property::Real(2.0)), ("kind", Property::Word("river \"a\"".into()))];
        let object = json!({
            "type": "Feature",
            "properties": {"kind": "river \"a\"", "width": 2.0},
            "geometry": {"type": "Point", "coordinates": [1.5, -2.0]},
        });
        assert_eq!(feature_text("Point", &json!([1.5, -2.0]), &properties), object.to_string());
    }

    #[test]
    fn a_crs_without_a_code_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let grid = placed(&[1, 1, 0, 2, 1024, 0, 1, 1, 3072, 0, 1, 32767]);
        for ending in ["fgb", "geojson"] {
            let said = save_reaches(folder.path().join(format!("a.{ending}")), &two(), &grid).unwrap();
            assert!(said.len() == 1 && said[0].contains("no EPSG code"), "{said:?}");
        }
        let error = save_reaches(folder.path().join("a.shp"), &two(), &grid).unwrap_err().to_string();
        assert!(error.contains("use .fgb or .geojson"), "{error}");
    }
}
