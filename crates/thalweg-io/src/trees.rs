//! Trees as points: CSV tables and GeoJSON.
//!
//! Coordinates are those of the rasters that are written with them (see [`map_coordinates`](super::map_coordinates)). There is one line per
//! tree, written one at a time, so that millions of trees need no memory in addition to their own.

use std::io::{self, Read, Write};
use std::path::Path;

use csv::StringRecord;

use super::features::Collection;
use super::map_coordinates::{MapTransform, warn_unnamed_crs};
use super::{FilePath, plain, write_atomically};
use thalweg_core::base::{memory, names};
use thalweg_core::{Error, Grid, MapPoint, Result, Terrain};
use thalweg_models::process::forest::{self, KINDS, Tree};

/// The columns of a table. The properties of a feature have the same names, without the coordinates.
const HEAD: &str = "id,x,y,z,kind,height_m,crown_m,age_years";

/// The bytes of a tree in memory per byte of its line: for the shortest possible line, while the vector of trees grows.
const TREE_BYTES: u64 = 10;

/// The greatest length of a table's line that is read, in bytes.
const MAX_LINE: usize = 4096;

/// Writes trees, each with its number, position (x, y), elevation of the ground (z) in metres, kind, height and crown
/// width in metres, and age in years. The path's extension gives the format: `.csv` or `.geojson`.
///
/// GeoJSON is in the terrain's own coordinates, as for [streams](super::features::save_reaches). Returns warnings about
/// what could not be stored.
///
/// # Errors
/// Returns an error for another extension, or if the file cannot be written.
///
/// # Examples
/// ```
/// use thalweg_core::{Cell, Grid, Terrain};
/// use thalweg_io::trees::{load_trees, save_trees};
/// use thalweg_models::process::forest::Tree;
///
/// let terrain = Terrain::new(Grid::new([4, 4], 10.0)?);
/// let (cell, part) = (Cell::new(1, 2), Cell::new(32_768, 32_768));
/// let tree = Tree { number: 7, cell, part, kind: 1, size: 0.5, age: 40, patch: 5.0 };
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("trees.csv");
/// save_trees(&path, &[tree], &terrain)?;
/// let (trees, _) = load_trees(&path, &terrain.grid)?;
/// assert_eq!((trees[0].number, trees[0].cell, trees[0].kind), (7, cell, 1));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
pub fn save_trees(path: impl Into<FilePath>, trees: &[Tree], terrain: &Terrain) -> Result<Vec<String>> {
    let path = &path.into();
    let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let write = match ending.as_str() {
        "csv" => write_table,
        "geojson" => write_geojson,
        _ => {
            return Err(Error::invalid_file(
                path,
                "does not have the extension of a format for points; use .csv or .geojson",
            ));
        }
    };
    let sheet = TreeCoordinates::from_terrain(terrain);
    write_atomically(path, |file| write(file, trees, &sheet).map_err(Error::io(path, "write")))?;
    Ok(if ending == "geojson" { warn_unnamed_crs(path, &terrain.grid) } else { Vec::new() })
}

/// The positions of trees, and how their coordinates are written.
struct TreeCoordinates<'a> {
    place: MapTransform,
    terrain: &'a Terrain,
    /// The number of decimals of x and y, which resolve a thousandth of a cell.
    decimals: usize,
}

impl<'a> TreeCoordinates<'a> {
    fn from_terrain(terrain: &'a Terrain) -> Self {
        let place = MapTransform::from_grid(&terrain.grid);
        // The determinant is the area of a cell in map units (metres or degrees), and its root is the side of the cell.
        let t = place.transform;
        let step = (t[1] * t[5] - t[2] * t[4]).abs().sqrt() / 1000.0;
        let mut decimals = 0;
        let mut unit = 1.0;
        // A 64-bit float has about 16 significant digits, so more decimals would have no meaning.
        while unit > step && decimals < 12 {
            decimals += 1;
            unit /= 10.0;
        }
        Self { place, terrain, decimals }
    }

    /// Returns x, y and z of a tree.
    fn tree_position(&self, tree: &Tree) -> [f64; 3] {
        let MapPoint { x, y } = self.place.to_map_point(tree.position());
        [x, y, forest::ground_under(&self.terrain.ground, tree.position())]
    }
}

/// Writes the table. Numbers and the names of kinds need no quotes, so the `csv` crate is not used: it would first make
/// a string for each of the eight fields of millions of trees.
fn write_table(file: &mut impl Write, trees: &[Tree], sheet: &TreeCoordinates<'_>) -> io::Result<()> {
    writeln!(file, "{HEAD}")?;
    let d = sheet.decimals;
    for tree in trees {
        let ([x, y, z], kind) = (sheet.tree_position(tree), tree.kind().name);
        let (height, crown) = (tree.height(), tree.crown());
        writeln!(file, "{},{x:.d$},{y:.d$},{z:.2},{kind},{height:.3},{crown:.2},{}", tree.number, tree.age)?;
    }
    Ok(())
}

/// Writes the features. They are formatted here and not by [`feature_text`](super::features::feature_text): serde_json
/// cannot limit numbers to significant decimals, and each of millions of trees would need a map of its properties.
fn write_geojson(file: &mut impl Write, trees: &[Tree], sheet: &TreeCoordinates<'_>) -> io::Result<()> {
    let d = sheet.decimals;
    let mut collection = Collection::begin(file, "trees", &sheet.place)?;
    for tree in trees {
        let ([x, y, z], kind) = (sheet.tree_position(tree), tree.kind().name);
        let (id, height, crown, age) = (tree.number, tree.height(), tree.crown(), tree.age);
        write!(
            collection.begin_feature()?,
            "{{\"type\":\"Feature\",\"properties\":{{\"id\":{id},\"kind\":\"{kind}\",\"height_m\":{height:.3},\"crown_m\":{crown:.2},\
             \"age_years\":{age}}},\"geometry\":{{\"type\":\"Point\",\"coordinates\":[{x:.d$},{y:.d$},{z:.2}]}}}}"
        )?;
    }
    collection.end()
}

/// Reads trees from a table as [`save_trees`] writes it: columns `x`, `y`, `kind` and `height_m`, and `id` and
/// `age_years` if they are present; other columns are ignored. Returns the trees in the order of their numbers, and a
/// warning about the number of trees outside the grid, which are left out.
///
/// # Errors
/// Returns an error if the file cannot be read, does not fit into memory, lacks a column, or has a line of more than
/// 4096 bytes; an error with the line number for an invalid number or an unknown kind.
pub fn load_trees(path: impl Into<FilePath>, grid: &Grid) -> Result<(Vec<Tree>, Vec<String>)> {
    let path = &path.into();
    let (file, length) = plain::open_plain_file(path)?;
    memory::check_memory(&path.display().to_string(), length.saturating_mul(TREE_BYTES))?;
    // Data that is appended while the file is read is ignored.
    parse_trees(file.take(length), path, grid)
}

/// Reads trees from the text of a table as [`load_trees`] does; `path` is used in messages.
///
/// # Errors
/// Returns the errors of [`load_trees`].
pub fn parse_trees(reader: impl Read, path: &Path, grid: &Grid) -> Result<(Vec<Tree>, Vec<String>)> {
    // Lines end with a line feed, and a carriage return before it is trimmed. (If a carriage return were a line end
    // too, the reader would count that line only when it reads the next one.)
    let mut table = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .terminator(csv::Terminator::Any(b'\n'))
        .from_reader(reader);
    let mut head = StringRecord::new();
    next(&mut table, &mut head, path)?;
    // Columns are found by name, so their order and further columns do not matter.
    let column = |name: &str| head.iter().position(|known| known == name);
    let needed = |name: &str| {
        let problem = format!(
            "is not a table of trees: its first line has no column `{name}`; x, y, kind and height_m are required"
        );
        column(name).ok_or_else(|| Error::invalid_file(path, problem))
    };
    let (x, y, kind, height) = (needed("x")?, needed("y")?, needed("kind")?, needed("height_m")?);
    let (id, age) = (column("id"), column("age_years"));
    let place = MapTransform::from_grid(grid);
    let (mut trees, mut outside, mut cells) = (Vec::new(), 0u64, StringRecord::new());
    while let Some(count) = next(&mut table, &mut cells, path)? {
        let wrong = |what: &str, at: usize, allowed: &str| {
            let value = names::format_short(cells.get(at).unwrap_or_default());
            Error::invalid_file(path, format!("line {count}: {what} is `{value}`; it must be {allowed}"))
        };
        let number = |what: &str, at: usize| {
            let value = cells.get(at).and_then(|text| text.parse::<f64>().ok()).filter(|value| value.is_finite());
            value.ok_or_else(|| wrong(what, at, "a number"))
        };
        let whole = |what: &str, at: Option<usize>, otherwise: u64| {
            let Some(at) = at else { return Ok(otherwise) };
            let value = cells.get(at).and_then(|text| text.parse::<u64>().ok()).filter(|n| *n < 1 << 62);
            value.ok_or_else(|| wrong(what, at, "a whole number"))
        };
        let known = || format!("one of {}", KINDS.map(|kind| kind.name).join(", "));
        let named = cells.get(kind).and_then(forest::find_kind).ok_or_else(|| wrong("kind", kind, &known()))?;
        let tall = number("height_m", height)?;
        let point = MapPoint::new(number("x", x)?, number("y", y)?);
        // The position is stored as a cell and a 16-bit fraction of it.
        let Some((cell, part)) = Tree::split_position(place.to_cell_position(point), grid.size) else {
            outside += 1;
            continue;
        };
        let age = whole("age_years", age, 0)?.min(u32::MAX.into()) as u32;
        let number = whole("id", id, trees.len() as u64 + outside)?;
        let mut tree = Tree { number, cell, part, kind: named, size: 1.0, age, patch: 1.0 };
        // A tree of size 1 has the full height of its kind and number; the size is the share of that height in the
        // table.
        tree.size = (tall as f32 / tree.height()).clamp(1e-3, 1.0);
        trees.push(tree);
    }
    // The sort is stable, so trees with the same number keep the order of the table.
    trees.sort_by_key(|tree: &Tree| tree.number);
    let said =
        (outside > 0).then(|| format!("{}: {outside} trees are outside the terrain and are left out", path.display()));
    Ok((trees, said.into_iter().collect()))
}

/// Reads the next row that is not empty; returns its line number, counted from 1, or `None` at the end.
fn next(table: &mut csv::Reader<impl Read>, row: &mut StringRecord, path: &Path) -> Result<Option<u64>> {
    loop {
        let there = table.read_record(row).map_err(|error| match error.into_kind() {
            csv::ErrorKind::Io(error) => Error::io(path, "read")(error),
            _ => Error::invalid_file(path, "is not UTF-8 text"),
        })?;
        if row.as_slice().len() + row.len() > MAX_LINE {
            return Err(Error::invalid_file(
                path,
                format!("has a line of more than {MAX_LINE} bytes, so it is not a table of trees"),
            ));
        }
        // A line of blanks is a row of one empty cell.
        if !there || row.iter().any(|cell| !cell.is_empty()) {
            return Ok(there.then(|| row.position().map_or(0, csv::Position::line)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use thalweg_core::{Cell, Field, Georeference, Height};

    fn land(georeference: Option<Georeference>) -> Terrain {
        let grid = Grid { georeference, ..Grid::new([30, 40], 10.0).unwrap() };
        Terrain::from_ground(grid, Field::from_fn([30, 40], |i, j| Height::from_metres_clamped((i + 2 * j) as f64)))
            .unwrap()
    }

    fn utm() -> Georeference {
        let keys = vec![1, 1, 0, 2, 1024, 0, 1, 1, 3072, 0, 1, 32611];
        Georeference {
            transform: Some([500_000.0, 10.0, 0.0, 4_000_000.0, 0.0, -10.0]),
            keys,
            ..Georeference::default()
        }
    }

    fn wood() -> Vec<Tree> {
        let tree = |n: u64| Tree {
            number: 3 * n + 1,
            cell: Cell::new((7 * n % 30) as u32, (11 * n % 40) as u32),
            part: Cell::new((n * 9973 % 65_536) as u16, (n * 31_337 % 65_536) as u16),
            kind: (n % KINDS.len() as u64) as u8,
            size: 0.5 + 0.001 * (n % 500) as f32,
            age: (n % 300) as u32,
            patch: 1.0,
        };
        (0..600).map(tree).collect()
    }

    #[test]
    fn tables_are_read_back_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trees.csv");
        for terrain in [land(None), land(Some(utm()))] {
            assert!(save_trees(&path, &wood(), &terrain).unwrap().is_empty());
            let (read, said) = load_trees(&path, &terrain.grid).unwrap();
            assert!(said.is_empty() && read.len() == 600);
            for (a, b) in read.iter().zip(wood()) {
                assert_eq!((a.number, a.kind, a.age), (b.number, b.kind, b.age));
                // The position is written to a centimetre, 1/1000 of the cell of 10 m, and the height to a millimetre.
                assert!((0..2).all(|k| (a.position()[k] - b.position()[k]).abs() < 6e-4), "{a:?} {b:?}");
                assert!((a.height() - b.height()).abs() < 6e-4, "{a:?} {b:?}");
            }
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let first: Vec<&str> = text.lines().nth(1).unwrap().split(',').collect();
        assert_eq!((text.lines().next(), first.len()), (Some(HEAD), 8));
        assert_eq!(&first[..5], ["1", "500000.00", "4000000.00", "0.00", "conifer"]);
        // A smaller terrain contains fewer of them.
        let small = Grid { size: [10, 40], world: [10, 40], ..land(Some(utm())).grid };
        let (read, said) = load_trees(&path, &small).unwrap();
        assert!(read.len() == 200 && said[0].contains("400 trees are outside"), "{said:?}");
    }

    #[test]
    fn geojson_is_points_with_the_crs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trees.geojson");
        let read = || serde_json::from_slice::<serde_json::Value>(&std::fs::read(&path).unwrap()).unwrap();
        save_trees(&path, &wood(), &land(Some(utm()))).unwrap();
        let found = read();
        assert_eq!(found["crs"]["properties"]["name"], "urn:ogc:def:crs:EPSG::32611");
        assert_eq!(found["features"].as_array().unwrap().len(), 600);
        let tree = &found["features"][1];
        assert_eq!((&tree["properties"]["id"], &tree["properties"]["kind"]), (&json!(4), &json!("broadleaf")));
        let at = wood()[1].position();
        let place = &tree["geometry"]["coordinates"];
        assert!((place[0].as_f64().unwrap() - (500_000.0 + 10.0 * at[1])).abs() < 0.006, "{place}");
        assert!((place[1].as_f64().unwrap() - (4_000_000.0 - 10.0 * at[0])).abs() < 0.006, "{place}");
        // The ground rises by 0.1 m per metre towards the south and 0.2 m per metre towards the east, from the centres
        // of the cells on.
        let z = (at[0] - 0.5) + 2.0 * (at[1] - 0.5);
        assert!((place[2].as_f64().unwrap() - z).abs() < 0.006, "{place} {z}");
        save_trees(&path, &[], &land(None)).unwrap();
        assert_eq!(read()["features"], json!([]));
        assert!(save_trees(folder.path().join("a.shp"), &[], &land(None)).unwrap_err().to_string().contains(".csv"));
    }

    #[test]
    fn what_is_no_table_of_trees_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trees.csv");
        let refusal = |text: &str| {
            std::fs::write(&path, text).unwrap();
            load_trees(&path, &land(None).grid).unwrap_err().to_string()
        };
        assert!(refusal("").contains("no column `x`"));
        assert!(refusal("x,y,kind\n").contains("no column `height_m`"));
        assert!(
            refusal("x,y,kind,height_m\n1,-2,palm,3\n")
                .contains("line 2: kind is `palm`; it must be one of conifer, broadleaf")
        );
        assert!(refusal("x,y,kind,height_m\n1,-2,reed,3\n1,b,reed,3\n").contains("line 3: y is `b`"));
        assert!(refusal("x,y,kind,height_m\n1,-2,reed\n").contains("line 2: height_m is ``"));
        assert!(refusal("x,y,kind,height_m\n1,-2,reed,NaN\n").contains("a number"));
        assert!(refusal("id,x,y,kind,height_m\n-1,1,-2,reed,2\n").contains("a whole number"));
        assert!(refusal(&"x,".repeat(5000)).contains("more than 4096 bytes"));
        let long = refusal(&format!("x,y,kind,height_m\n1,-2,{},3\n", "k".repeat(4000)));
        assert!(long.contains("(4000 characters)") && long.len() < 400, "{long}");
        std::fs::write(&path, "height_m,kind,y,x\r\n2.4,reed,-15.5,7\r\n\r\n").unwrap();
        let (trees, _) = load_trees(&path, &land(None).grid).unwrap();
        assert_eq!((trees.len(), trees[0].cell, trees[0].kind().name), (1, Cell::new(1, 0), "reed"));
        assert!(refusal("\r\n \r\nx,y,kind,height_m\r\n\r\n1,-2,palm,3\r\n").contains("line 5: kind is `palm`"));
        // As saved by a spreadsheet: quoted cells and a byte order mark at the beginning.
        let text = "\u{feff}\"x\",\"y\",\"kind\",\"height_m\",\"note\"\r\n7,-15.5,\"reed\",\"2.4\",\"a, b\"\r\n1,-2,palm,3,\r\n";
        assert!(refusal(text).contains("line 3: kind is `palm`"));
        std::fs::write(&path, text.replace("palm", "reed")).unwrap();
        let (trees, _) = load_trees(&path, &land(None).grid).unwrap();
        assert_eq!((trees.len(), trees[0].cell, trees[0].number, trees[1].number), (2, Cell::new(1, 0), 0, 1));
    }
}
