//! [`WebTiles`]: a world as web map tiles by zoom, column and row, with the page that shows them.

use serde_json::Value;

use thalweg_core::{Cell, CellRect, Field, Point, Result};
use thalweg_render::web::{
    Encoding, MAP_LAYERS, MAX_ZOOM, MapLand, MapLayer, MapPage, MapPlace, MapTile, PAGE, SIDE, TileHeights, pixel_size,
};
use thalweg_sim::world::World;

/// The greatest width of a pixel of the coarsest zoom, in cells of level 0.
const MAX_PIXEL_WIDTH_CELLS: f64 = 2.0;

/// The media types of responses that are not tiles.
const PLAIN: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

/// The response to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TileResponse {
    /// The HTTP status: 200, 404 if there is no such resource, 500 if a tile cannot be made. For example, a tile
    /// outside the world has 404.
    pub status: u16,
    /// The media type of the body.
    pub mime: &'static str,
    /// The body: a file, or a sentence that describes the error.
    pub body: Vec<u8>,
}

impl TileResponse {
    fn from_text(status: u16, text: &str) -> Self {
        Self { status, mime: PLAIN, body: format!("{text}\n").into_bytes() }
    }

    fn with_body(mime: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self { status: 200, mime, body: body.into() }
    }
}

/// A parsed request.
enum TileRequest {
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
/// let answer = tiles.respond("/tiles.json", "http://localhost:8080");
/// assert_eq!((answer.status, answer.mime), (200, "application/json"));
/// assert_eq!(tiles.respond("/unknown", "http://localhost:8080").status, 404);
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
    fn finest_level(&self) -> u32 {
        self.finest
    }

    fn cell_width(&self, level: u32) -> f64 {
        self.world.frame().cell_width(level)
    }

    fn cells(&self, level: u32) -> CellRect<i64> {
        self.world.frame().world_rect(level)
    }

    fn read_heights(&self, level: u32, cells: CellRect<i64>) -> Result<Field<f64>> {
        Ok(self.world.window(level, cells)?.ground.map(|height| height.metres()))
    }
}

impl WebTiles {
    /// Makes the tiles of a world, which is shown under the name `name`. The pixels of the first zoom are at most two
    /// cells of level 0 wide; the last zoom is 22, or the last for which the world has a level.
    pub fn new(world: World, name: &str) -> Self {
        let frame = world.frame();
        // The level of a zoom is the first whose cells are no wider than the pixels; each level halves the width.
        let level = |zoom: u32| libm::log2(frame.cell / pixel_size(zoom)).ceil().max(0.0) as u32;
        let is_there = |zoom: &u32| pixel_size(*zoom) <= MAX_PIXEL_WIDTH_CELLS * frame.cell;
        let first = (0..=MAX_ZOOM).find(is_there).unwrap_or(MAX_ZOOM);
        // The search begins with the finest zoom, because the world's levels may end earlier.
        let last = (first..=MAX_ZOOM).rev().find(|zoom| frame.check(level(*zoom)).is_ok()).unwrap_or(first);
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
        let (half, width) = (pixel_size(0) * SIDE as f64 / 2.0, self.land.cell_width(0));
        let corner = |cell: Cell<i64>| {
            let Cell { row: y, col: x } = cell.map(|index| (index as f64 * width).clamp(-half, half));
            MapPlace::web_mercator_plane().lon_lat(Point { x, y })
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
        page.to_tile_json(&format!("{base}/"), &MAP_LAYERS)
    }

    /// Returns the response to a path: `/tiles.json` is [`WebTiles::describe`] with this `base`;
    /// `/{layer}/{zoom}/{column}/{row}.{ending}` is a tile of one of [`MAP_LAYERS`] (without a layer, the first with
    /// this extension); `/` is the page. A query after a question mark is ignored.
    pub fn respond(&self, path: &str, base: &str) -> TileResponse {
        match parse_path(path) {
            TileRequest::Nothing => {
                let known: Vec<String> = MAP_LAYERS
                    .iter()
                    .map(|layer| format!("/{}/{{z}}/{{x}}/{{y}}.{}", layer.name, layer.ending))
                    .collect();
                let known = known.join(", ");
                TileResponse::from_text(404, &format!("not found; the known paths are /, /tiles.json, {known}"))
            }
            TileRequest::Page(number) => TileResponse::with_body(PAGE[number].1, PAGE[number].2),
            TileRequest::Description => TileResponse::with_body(JSON, format!("{:#}\n", self.describe(base))),
            TileRequest::Tile(tile, encoding, mime) => match self.encode_tile(tile, encoding) {
                Ok(Some(body)) => TileResponse::with_body(mime, body),
                Ok(None) => TileResponse::from_text(404, "there is no such tile: it is outside the zooms or the world"),
                Err(error) => TileResponse::from_text(500, &error.to_string()),
            },
        }
    }

    /// Returns true if a path requests a tile, which takes time to make.
    pub fn is_tile(path: &str) -> bool {
        matches!(parse_path(path), TileRequest::Tile(..))
    }

    /// Returns a tile as bytes; `None` if it is outside the zooms or the world.
    ///
    /// # Errors
    /// Returns the errors of [`World::window`]; an error if an image cannot be encoded.
    pub fn encode_tile(&self, tile: MapTile, encoding: Encoding) -> Result<Option<Vec<u8>>> {
        if !(self.zooms[0]..=self.zooms[1]).contains(&tile.zoom) {
            return Ok(None);
        }
        TileHeights::sample_tile(&self.land, &MapPlace::web_mercator_plane(), tile)?
            .map(|heights| heights.encode(encoding))
            .transpose()
    }
}

/// Parses a path.
fn parse_path(path: &str) -> TileRequest {
    let path = path.split('?').next().unwrap_or_default();
    let Some(path) = path.strip_prefix('/') else { return TileRequest::Nothing };
    if path == "tiles.json" {
        return TileRequest::Description;
    }
    if let Some(page) = PAGE.iter().position(|(name, ..)| *name == path || path.is_empty()) {
        return TileRequest::Page(page);
    }
    let number = |text: &str| {
        // `parse` alone would also accept a sign, for example `+3`.
        let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if is_plain { text.parse::<u32>().ok() } else { None }
    };
    let parts: Vec<&str> = path.split('/').collect();
    let (layer, zoom, column, file) = match parts[..] {
        [zoom, column, file] => (None, zoom, column, file),
        [layer, zoom, column, file] => (Some(layer), zoom, column, file),
        _ => return TileRequest::Nothing,
    };
    let Some((row, ending)) = file.split_once('.') else { return TileRequest::Nothing };
    let known = |of: &&MapLayer| of.ending == ending && layer.is_none_or(|layer| layer == of.name);
    match (number(zoom), number(column), number(row), MAP_LAYERS.iter().find(known)) {
        (Some(zoom), Some(column), Some(row), Some(of)) => {
            TileRequest::Tile(MapTile { zoom, column, row }, of.encoding, of.mime)
        }
        _ => TileRequest::Nothing,
    }
}
