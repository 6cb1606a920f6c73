//! GeoJSON of rivers and lakes, read back for checking, within limits that no valid network exceeds.
//!
//! A check walks along every line and over every width. The extent of the lines and widths is checked first, so that
//! the work stays proportional to the size of the terrain, whatever the file contains.

use std::fmt;
use std::path::Path;

use serde::de::{DeserializeOwned, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::map_coordinates::MapTransform;
use super::plain;
use thalweg_core::base::memory;
use thalweg_core::terrain::Lake;
use thalweg_core::{Cell, Error, Field, Grid, MapPoint, Result, Size};
use thalweg_rivers::line_cells::visit_line_cells;
use thalweg_rivers::network::{ReachEnd, RiverReach};

/// The allowed size of a document in bytes: a constant, and a number per cell of the terrain.
const BYTES: [u64; 2] = [16 << 20, 64];

/// Positions that are read back are rounded to one cell divided by this number.
// Coordinates of up to 10⁷ m have an error of about 10⁻⁹ m in 64 bits, far below a ten-millionth of a cell of 1 m.
const SNAP: f64 = 1e7;

/// The number of cells outside the terrain's sides in which a line may be.
const MARGIN: f64 = 2.0;

/// The greatest number of line segments that may pass through a cell.
const MAX_SEGMENTS_PER_CELL: u16 = 128;

/// The greatest number of given mouths.
const MOUTHS: usize = 10_000;

/// The greatest accepted magnitude of heights and depths of water, in metres.
const LEVELS: f64 = 20_000.0;

/// Returns the greatest size in bytes of a document that is read for a terrain of this grid: 16 MiB plus 64 bytes per
/// cell.
pub fn max_document_bytes(grid: &Grid) -> u64 {
    BYTES[0].saturating_add(BYTES[1].saturating_mul(grid.len() as u64))
}

/// Reads the reaches of a GeoJSON document (the bytes of its text); the error is the problem in words. Name, order,
/// kind, length, drainage area and depth, which no check needs, are not read and have their defaults.
///
/// # Errors
/// Returns an error if the document is not a list of reaches; if a reach has fewer than two points, or not one level
/// and one width per point; if reaches are impossible: more than 2 cells outside the terrain, beyond ±20 000 m, wider
/// than the terrain, or more than it has space for.
pub fn parse_reaches(text: &[u8], grid: &Grid) -> Result<Vec<RiverReach>, String> {
    let document: Document<ReachFeature> =
        parse_json(text, "is not a GeoJSON file of reaches as `thalweg rivers` writes it")?;
    let place = MapTransform::from_grid(grid);
    let written =
        document.features.into_iter().map(|river| river.properties.into_reach(&river.geometry.coordinates, &place));
    let reaches = written.collect::<Result<Vec<_>, _>>()?;
    reaches.iter().try_for_each(|reach| check_plausible(reach, grid))?;
    check_crowding(&reaches, grid)?;
    Ok(reaches)
}

/// Reads the lakes of a GeoJSON document (the bytes of its text); the error is the problem in words.
///
/// # Errors
/// Returns an error if the document is not a list of lakes, or if a level is beyond ±20 000 m.
pub fn parse_lakes(text: &[u8]) -> Result<Vec<Lake>, String> {
    let document: Document<LakeFeature> =
        parse_json(text, "is not a GeoJSON file of lakes as `thalweg rivers` writes it")?;
    let lakes = document.features.into_iter().map(|feature| {
        let LakeProperties { id, level_m: level, runoff } = feature.properties;
        if level.abs() > LEVELS {
            return Err(format!("lake {id} has its level at {level} m; it must be -{LEVELS} to {LEVELS} m"));
        }
        Ok(Lake { id, level, runoff: Some(runoff), ..Lake::default() })
    });
    lakes.collect()
}

/// The data of a network other than its lines.
#[derive(Deserialize)]
#[non_exhaustive]
pub struct NetworkHeader {
    /// The sea level in metres; `None` without a sea.
    pub sea_level: Option<f64>,
    /// The cells (row, column) that were given as mouths.
    #[serde(default)]
    pub mouths: Vec<Cell>,
}

/// Reads the file `network.json` of a network (the bytes of its JSON); the error is the problem in words.
///
/// # Errors
/// Returns an error if the bytes are not such a file, or if there are more than 10 000 mouths.
pub fn parse_about(text: &[u8]) -> Result<NetworkHeader, String> {
    let about: NetworkHeader = parse_json(text, "is not a description of a network as `thalweg rivers` writes it")?;
    if about.mouths.len() > MOUTHS {
        return Err(format!("has {} mouths; at most {MOUTHS} are allowed", about.mouths.len()));
    }
    Ok(about)
}

/// Reads a file of at most [`max_document_bytes`] and parses it with `parse`, which returns the problem in words.
///
/// # Errors
/// Returns an error if the file cannot be read, is too long for this grid or for memory; or the problem that `parse`
/// returns.
pub fn read_as<T>(path: &Path, grid: &Grid, parse: impl FnOnce(&[u8]) -> Result<T, String>) -> Result<T> {
    let text = plain::read_plain_file(path, max_document_bytes(grid))?;
    // A number of two characters becomes eight bytes, in vectors that grow by reallocation.
    memory::check_memory(&path.display().to_string(), (text.len() as u64).saturating_mul(12))?;
    parse(&text).map_err(|problem| Error::invalid_file(path, problem))
}

fn parse_json<T: DeserializeOwned>(text: &[u8], what: &str) -> Result<T, String> {
    serde_json::from_slice(text).map_err(|error| format!("{what}: {}", plain::clip_text(&error.to_string())))
}

#[derive(Deserialize)]
struct Document<F> {
    features: Vec<F>,
}

#[derive(Deserialize)]
struct ReachFeature {
    properties: ReachProperties,
    geometry: LineGeometry,
}

#[derive(Deserialize)]
struct LakeFeature {
    properties: LakeProperties,
}

#[derive(Deserialize)]
struct LineGeometry {
    coordinates: Vec<Coordinates>,
}

/// The first two numbers of a point.
struct Coordinates(MapPoint);

impl<'de> Deserialize<'de> for Coordinates {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct CoordinatesVisitor;
        impl<'de> Visitor<'de> for CoordinatesVisitor {
            type Value = Coordinates;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a point of two or more numbers")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<Coordinates, A::Error> {
                let mut next = |at| {
                    let number = numbers.next_element::<f64>()?;
                    number.ok_or_else(|| serde::de::Error::invalid_length(at, &"a point of two or more numbers"))
                };
                let point = Coordinates(MapPoint::new(next(0)?, next(1)?));
                while numbers.next_element::<IgnoredAny>()?.is_some() {}
                Ok(point)
            }
        }
        from.deserialize_seq(CoordinatesVisitor)
    }
}

#[derive(Deserialize)]
struct ReachProperties {
    id: u32,
    run: u32,
    lake_from: Option<u32>,
    lake_to: Option<u32>,
    parts_from: Option<u32>,
    downstream: Option<u32>,
    ends: String,
    #[serde(rename = "discharge_from_m3_s")]
    discharge_from: f64,
    #[serde(rename = "discharge_m3_s")]
    discharge: f64,
    surfaces_m: Vec<f64>,
    beds_m: Vec<f64>,
    widths_m: Vec<f64>,
}

#[derive(Deserialize)]
struct LakeProperties {
    id: u32,
    level_m: f64,
    #[serde(rename = "runoff_m3_s")]
    runoff: f64,
}

impl ReachProperties {
    fn into_reach(self, line: &[Coordinates], place: &MapTransform) -> Result<RiverReach, String> {
        let counts = [self.surfaces_m.len(), self.beds_m.len(), self.widths_m.len()];
        if line.len() < 2 || counts != [line.len(); 3] {
            let id = self.id;
            let [surfaces, beds, widths] = counts;
            return Err(format!(
                "reach {id} has {} points, {surfaces} surfaces, {beds} beds and {widths} widths; it must \
                 have two or more points, and one surface, bed and width for each",
                line.len()
            ));
        }
        // Map coordinates are rounded, which must not move a position across the border of its cell.
        let snapped = |place: Cell<f64>| place.map(|x| (x * SNAP).round() / SNAP);
        let end = ReachEnd::from_name(&self.ends).ok_or_else(|| {
            let (id, word) = (self.id, plain::clip_text(&self.ends));
            let known = ReachEnd::ALL.map(ReachEnd::as_str).join(", ");
            format!("reach {id} ends in `{word}`; the end must be one of {known}")
        })?;
        Ok(RiverReach {
            id: self.id,
            run: self.run,
            lake_from: self.lake_from,
            lake_to: self.lake_to,
            parts_from: self.parts_from,
            downstream: self.downstream,
            end,
            discharge: [self.discharge_from, self.discharge],
            places: line.iter().map(|point| snapped(place.to_cell_position(point.0))).collect(),
            surface: self.surfaces_m,
            bed: self.beds_m,
            width: self.widths_m,
            ..RiverReach::default()
        })
    }
}

/// Rejects a reach that is outside the terrain, or whose levels or widths are impossible.
fn check_plausible(reach: &RiverReach, grid: &Grid) -> Result<(), String> {
    let id = reach.id;
    for (at, place) in reach.places.iter().enumerate() {
        let inside = |k: usize| (-MARGIN..=grid.size[k] as f64 + MARGIN).contains(&place[k]);
        if !inside(0) || !inside(1) {
            let (Cell { row: i, col: j }, [rows, cols]) = (place, grid.size);
            return Err(format!(
                "reach {id} leaves the terrain at vertex {at} (row {i:.1}, column {j:.1}); the terrain is {rows} × \
                 {cols} cells (rows × columns)"
            ));
        }
    }
    let wrong = |levels: &[f64]| levels.iter().position(|level| level.abs() > LEVELS);
    for (name, levels) in [("surface", &reach.surface), ("bed", &reach.bed)] {
        if let Some(at) = wrong(levels) {
            let level = levels[at];
            return Err(format!(
                "reach {id} has its {name} at {level} m at vertex {at}; it must be -{LEVELS} to {LEVELS} m"
            ));
        }
    }
    // No river is wider than half of the terrain's perimeter.
    let most = (grid.rows() + grid.cols()) as f64 * grid.cell;
    if let Some(at) = reach.width.iter().position(|width| !(0.0..=most).contains(width)) {
        return Err(format!(
            "reach {id} is {} m wide at vertex {at}; the width must be 0 to {most} m on this terrain",
            reach.width[at]
        ));
    }
    Ok(())
}

/// Rejects more lines and wider water than the terrain has space for.
fn check_crowding(reaches: &[RiverReach], grid: &Grid) -> Result<(), String> {
    let cells = grid.len() as f64;
    let (mut long, mut wide) = (0.0, 0.0);
    for reach in reaches {
        for pair in reach.places.windows(2) {
            long += (pair[1][0] - pair[0][0]).abs() + (pair[1][1] - pair[0][1]).abs() + 1.0;
        }
        wide += reach.width.iter().map(|width| width / grid.cell + 1.0).sum::<f64>();
    }
    // The limits are proportional to the number of cells; the constants allow for small terrains.
    for (what, found, most) in [
        ("long in all", long, 4.0 * cells + 1e5),
        ("wide in all, summed over their vertices", wide, 16.0 * cells + 1e6),
    ] {
        if found > most {
            return Err(format!(
                "has reaches that are {found:.0} cells {what}; at most {most:.0} are allowed on this terrain"
            ));
        }
    }
    // Counts the line segments that pass through each cell.
    let size: Size = grid.size.map(|n| n + 2 * MARGIN as usize + 2);
    let mut passes = Field::new(size, 0u16);
    for reach in reaches {
        let mut full = None;
        let mut add = |cell: Cell<i64>| {
            let [i, j] = [0, 1].map(|k| (cell[k] + MARGIN as i64).clamp(0, size[k] as i64 - 1) as usize);
            passes[(i, j)] += 1;
            // The count stays at the limit, so 16 bits cannot overflow.
            if passes[(i, j)] > MAX_SEGMENTS_PER_CELL {
                full.get_or_insert(cell);
                passes[(i, j)] = MAX_SEGMENTS_PER_CELL;
            }
        };
        for pair in reach.places.windows(2) {
            add(pair[0].map(|x| x.floor() as i64));
            visit_line_cells(pair[0], pair[1], &mut add);
        }
        if let Some(Cell { row: i, col: j }) = full {
            let id = reach.id;
            return Err(format!(
                "has more than {MAX_SEGMENTS_PER_CELL} segments of reaches in the cell at row {i}, column {j} (reach {id})"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn grid() -> Grid {
        Grid::new([20, 30], 10.0).unwrap()
    }

    /// Makes a reach of two vertices with some of its properties changed.
    fn with(line: Value, change: Value) -> String {
        let mut properties = json!({
            "id": 0, "run": 1, "ends": "edge", "discharge_from_m3_s": 1.0, "discharge_m3_s": 2.0, "lake_from": null,
            "surfaces_m": [2.0, 1.0], "beds_m": [1.5, 0.5], "widths_m": [3, 4.5],
        });
        properties.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let geometry = json!({"type": "LineString", "coordinates": line});
        json!({"type": "FeatureCollection", "features": [{"properties": properties, "geometry": geometry}]}).to_string()
    }

    fn refusal(line: Value, change: Value) -> String {
        parse_reaches(with(line, change).as_bytes(), &grid()).unwrap_err()
    }

    #[test]
    fn a_reach_is_read_as_it_stands() {
        let text = with(json!([[15.0, -25.0, 2.0], [295, -195]]), json!({"downstream": 7, "more": {"a": [1]}}));
        let reaches = parse_reaches(text.as_bytes(), &grid()).unwrap();
        let reach = &reaches[0];
        assert_eq!(
            (reach.places.clone(), reach.width.clone()),
            (vec![Cell::new(2.5, 1.5), Cell::new(19.5, 29.5)], vec![3.0, 4.5])
        );
        assert_eq!((reach.downstream, reach.lake_from, reach.end), (Some(7), None, ReachEnd::Edge));
        let lakes = br#"{"features": [{"properties": {"id": 3, "level_m": 5, "runoff_m3_s": 0.5},
                        "geometry": {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [0, 0]]]}}]}"#;
        assert_eq!(parse_lakes(lakes).unwrap(), [Lake { id: 3, level: 5.0, runoff: Some(0.5), ..Lake::default() }]);
    }

    #[test]
    fn what_would_hang_a_check_is_refused() {
        let good = || json!([[15.0, -25.0], [25.0, -35.0]]);
        for (line, change, words) in [
            (json!([[15.0, -25.0], [1.8e7, -25.0]]), json!({}), "leaves the terrain at vertex 1"),
            (json!([[15.0, -25.0], [1e300, -25.0]]), json!({}), "leaves the terrain"),
            (good(), json!({"widths_m": [3.0, 1e300]}), "m wide at vertex 1"),
            (good(), json!({"widths_m": [-1.0, 1.0]}), "-1 m wide at vertex 0"),
            (good(), json!({"beds_m": [0.0, -1e9]}), "bed at -1000000000 m"),
            (good(), json!({"beds_m": [0.0]}), "1 beds"),
            (good(), json!({"id": 5_000_000_000u64}), "is not a GeoJSON file of reaches"),
            (good(), json!({"ends": 5}), "is not a GeoJSON file of reaches"),
            (good(), json!({"ends": "ditch"}), "ends in `ditch`"),
            (json!([[15.0], [1.0, 2.0]]), json!({}), "is not a GeoJSON file of reaches"),
            (json!([15.0, 2.0]), json!({}), "is not a GeoJSON file of reaches"),
            (json!([]), json!({}), "0 points"),
        ] {
            let message = refusal(line, change);
            assert!(message.contains(words) && message.len() < 500, "{words}: {message}");
        }
        // A line back and forth: it first exceeds the limit of a cell, and on a longer line the limit of the terrain.
        let many = |n: usize, far: f64| {
            let line: Vec<[f64; 2]> = (0..n).map(|k| [5.0 + far * (k % 2) as f64, -5.0]).collect();
            refusal(json!(line), json!({"surfaces_m": vec![1.0; n], "beds_m": vec![0.0; n], "widths_m": vec![1.0; n]}))
        };
        assert!(many(1000, 1.0).contains("more than 128 segments"), "{}", many(1000, 1.0));
        assert!(many(5000, 290.0).contains("cells long in all"), "{}", many(5000, 290.0));
        let message = refusal(good(), json!({"ends": {"x": "y".repeat(9000)}}));
        assert!(message.len() < 500, "{message}");
        for text in ["", "[]", "{\"features\": 5}", "{\"features\": [{}]}", "{\"features\": [{\"geometry\": null}]}"] {
            assert!(
                parse_reaches(text.as_bytes(), &grid()).is_err() && parse_lakes(text.as_bytes()).is_err(),
                "{text}"
            );
        }
        let deep = format!("{{\"features\": [{{\"x\": {}", "[".repeat(1_000_000));
        assert!(parse_reaches(deep.as_bytes(), &grid()).is_err());
    }
}
