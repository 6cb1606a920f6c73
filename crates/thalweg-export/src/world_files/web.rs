//! [`WebTiles`]: a world as web map tiles by zoom, column and row, with the page that shows them.

use serde_json::Value;

use thalweg_core::{Cell, CellRect, Field, Point, Result};
use thalweg_render::web::{
    Encoding, MAP_LAYERS, MOST_ZOOM, MapLand, MapLayer, MapPage, MapPlace, MapTile, PAGE, SIDE, TileHeights, pixel,
};
use thalweg_sim::world::World;

/// The greatest width of a pixel of the coarsest zoom, in cells of level 0.
const WIDEST: f64 = 2.0;

/// The media types of responses that are not tiles.
const PLAIN: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

/// The response to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status: 200, 404 if there is no such resource, 500 if a tile cannot be made.
    pub status: u16,
    /// The media type of the body.
    pub mime: &'static str,
    /// The body: a file, or a sentence that describes the error.
    pub body: Vec<u8>,
}

impl Answer {
    fn text(status: u16, text: &str) -> Self {
        Self { status, mime: PLAIN, body: format!("{text}\n").into_bytes() }
    }

    fn found(mime: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self { status: 200, mime, body: body.into() }
    }
}

/// A parsed request.
enum Asked {
    Description,
    Page(usize),
    Tile(MapTile, Encoding, &'static str),
    Nothing,
}

/// A world placed on the plane of Web Mercator (EPSG:3857), with its origin at 0° N 0° E, and one metre of the world on
/// one metre of the plane. The world has no position on Earth: the position is invented, and so are its coordinates in
/// degrees.
///
/// # Examples
/// ```
/// use thalweg_export::world_files::WebTiles;
/// use thalweg_sim::recipe::Recipe;
/// use thalweg_sim::world::World;
///
/// let text = "extent = [320.0, 320.0]\ncells = 32\nedges = \"open\"\n[[stage]]\nmodel = \"gradient_noise\"\n";
/// let recipe = Recipe::parse(text)?;
/// let world = World::open(&recipe)?;
/// let tiles = WebTiles::new(world, "plain");
/// let answer = tiles.answer("/tiles.json", "http://localhost:8080");
/// assert_eq!((answer.status, answer.mime), (200, "application/json"));
/// assert_eq!(tiles.answer("/unknown", "http://localhost:8080").status, 404);
/// assert!(WebTiles::is_tile("/terrarium/12/2048/2048.png"));
/// # Ok::<(), thalweg_core::Error>(())
/// ```
#[derive(Clone)]
pub struct WebTiles {
    land: WorldLand,
    name: String,
    zooms: [u32; 2],
}

/// The levels of a world.
#[derive(Clone)]
struct WorldLand {
    world: World,
    finest: u32,
}

impl MapLand for WorldLand {
    fn finest(&self) -> u32 {
        self.finest
    }

    fn width(&self, level: u32) -> f64 {
        self.world.frame().width(level)
    }

    fn cells(&self, level: u32) -> CellRect<i64> {
        self.world.frame().world(level)
    }

    fn heights(&self, level: u32, cells: CellRect<i64>) -> Result<Field<f64>> {
        Ok(self.world.window(level, cells)?.ground.map(|height| height.metres()))
    }
}

impl WebTiles {
    /// Makes the tiles of a world, which is shown under the name `name`. The pixels of the first zoom are at most two
    /// cells of level 0 wide; the last zoom is 22, or the last for which the world has a level.
    pub fn new(world: World, name: &str) -> Self {
        let frame = world.frame();
        let level = |zoom: u32| libm::log2(frame.cell / pixel(zoom)).ceil().max(0.0) as u32;
        let is_there = |zoom: &u32| pixel(*zoom) <= WIDEST * frame.cell;
        let first = (0..=MOST_ZOOM).find(is_there).unwrap_or(MOST_ZOOM);
        let last = (first..=MOST_ZOOM).rev().find(|zoom| frame.check(level(*zoom)).is_ok()).unwrap_or(first);
        let finest = level(last);
        Self { land: WorldLand { world, finest }, name: name.to_string(), zooms: [first, last] }
    }

    /// Returns the first and the last zoom.
    pub fn zooms(&self) -> [u32; 2] {
        self.zooms
    }

    /// Returns the description of the tiles for web maps (TileJSON 3); `base` is the address of the tiles without a
    /// final slash.
    pub fn describe(&self, base: &str) -> Value {
        // The bounds are clamped to the map; an unbounded world extends further.
        let (half, width) = (pixel(0) * SIDE as f64 / 2.0, self.land.width(0));
        let corner = |cell: Cell<i64>| {
            let Cell { row: y, col: x } = cell.map(|index| (index as f64 * width).clamp(-half, half));
            MapPlace::plane().lon_lat(Point { x, y })
        };
        let CellRect { start, end } = self.land.cells(0);
        let (north_west, south_east) = (corner(start), corner(end));
        let page = MapPage {
            name: self.name.clone(),
            about: "An invented world: its origin is at 0° N 0° E, and its degrees correspond to no place on Earth."
                .to_string(),
            attribution: "invented by thalweg".to_string(),
            zooms: self.zooms,
            bounds: [north_west.longitude, south_east.latitude, south_east.longitude, north_west.latitude]
                .map(f64::to_degrees),
            range: None,
        };
        page.describe(&format!("{base}/"), &MAP_LAYERS)
    }

    /// Returns the response to a path: `/tiles.json` is [`WebTiles::describe`] with this `base`;
    /// `/{layer}/{zoom}/{column}/{row}.{ending}` is a tile of one of [`MAP_LAYERS`] (without a layer, the first with
    /// this extension); `/` is the page. A query after a question mark is ignored.
    pub fn answer(&self, path: &str, base: &str) -> Answer {
        match parse(path) {
            Asked::Nothing => {
                let known: Vec<String> = MAP_LAYERS
                    .iter()
                    .map(|layer| format!("/{}/{{z}}/{{x}}/{{y}}.{}", layer.name, layer.ending))
                    .collect();
                Answer::text(404, &format!("not found: /, /tiles.json, {}", known.join(", ")))
            }
            Asked::Page(number) => Answer::found(PAGE[number].1, PAGE[number].2),
            Asked::Description => Answer::found(JSON, format!("{:#}\n", self.describe(base))),
            Asked::Tile(tile, encoding, mime) => match self.tile(tile, encoding) {
                Ok(Some(body)) => Answer::found(mime, body),
                Ok(None) => Answer::text(404, "no tile: outside the zooms or the world"),
                Err(error) => Answer::text(500, &error.to_string()),
            },
        }
    }

    /// Returns true if a path requests a tile, which takes time to make.
    pub fn is_tile(path: &str) -> bool {
        matches!(parse(path), Asked::Tile(..))
    }

    /// Returns a tile as bytes; `None` if it is outside the zooms or the world.
    ///
    /// # Errors
    /// Returns the errors of [`World::window`]; an error if an image cannot be encoded.
    pub fn tile(&self, tile: MapTile, encoding: Encoding) -> Result<Option<Vec<u8>>> {
        if !(self.zooms[0]..=self.zooms[1]).contains(&tile.zoom) {
            return Ok(None);
        }
        TileHeights::of(&self.land, &MapPlace::plane(), tile)?.map(|heights| heights.bytes(encoding)).transpose()
    }
}

/// Parses a path.
fn parse(path: &str) -> Asked {
    let path = path.split('?').next().unwrap_or_default();
    let Some(path) = path.strip_prefix('/') else { return Asked::Nothing };
    if path == "tiles.json" {
        return Asked::Description;
    }
    if let Some(page) = PAGE.iter().position(|(name, ..)| *name == path || path.is_empty()) {
        return Asked::Page(page);
    }
    let number = |text: &str| {
        let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if is_plain { text.parse::<u32>().ok() } else { None }
    };
    let parts: Vec<&str> = path.split('/').collect();
    let (layer, zoom, column, file) = match parts[..] {
        [zoom, column, file] => (None, zoom, column, file),
        [layer, zoom, column, file] => (Some(layer), zoom, column, file),
        _ => return Asked::Nothing,
    };
    let Some((row, ending)) = file.split_once('.') else { return Asked::Nothing };
    let known = |of: &&MapLayer| of.ending == ending && layer.is_none_or(|layer| layer == of.name);
    match (number(zoom), number(column), number(row), MAP_LAYERS.iter().find(known)) {
        (Some(zoom), Some(column), Some(row), Some(of)) => {
            Asked::Tile(MapTile { zoom, column, row }, of.encoding, of.mime)
        }
        _ => Asked::Nothing,
    }
}
