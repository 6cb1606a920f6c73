//! [`WebTiles`]: a world as web maps ask for it: tiles by zoom, column and row, and the page that shows them.

use serde_json::Value;

use thalweg_core::{Cell, CellRect, Field, Point, Result};
use thalweg_render::web::{
    Encoding, MAP_LAYERS, MOST_ZOOM, MapLand, MapLayer, MapPage, MapPlace, MapTile, PAGE, SIDE, TileHeights, pixel,
};
use thalweg_sim::world::World;

/// Cells of level 0 that a pixel of the coarsest zoom may be wide.
const WIDEST: f64 = 2.0;

/// Types of what is no tile.
const PLAIN: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

/// What is answered to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status: 200, 404 for what there is not, 500 where a tile cannot be made.
    pub status: u16,
    /// The body's media type.
    pub mime: &'static str,
    /// The body: a file, or a sentence that says what is wrong.
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

/// A request, understood.
enum Asked {
    Description,
    Page(usize),
    Tile(MapTile, Encoding, &'static str),
    Nothing,
}

/// A world laid on the plane of Web Mercator (EPSG:3857), its origin at 0° N 0° E, a metre of the world on a metre of the plane. It lies
/// nowhere: the place is invented, and so are its degrees.
#[derive(Clone)]
pub struct WebTiles {
    land: WorldLand,
    name: String,
    zooms: [u32; 2],
}

/// A world's levels.
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
    /// The tiles of a world, shown under that name. The first zoom has pixels no wider than two of level 0's cells; the last is 22, or the
    /// last one that the world's finest level has cells for.
    pub fn new(world: World, name: &str) -> Self {
        let frame = world.frame();
        let level = |zoom: u32| libm::log2(frame.cell / pixel(zoom)).ceil().max(0.0) as u32;
        let is_there = |zoom: &u32| pixel(*zoom) <= WIDEST * frame.cell;
        let first = (0..=MOST_ZOOM).find(is_there).unwrap_or(MOST_ZOOM);
        let last = (first..=MOST_ZOOM).rev().find(|zoom| frame.check(level(*zoom)).is_ok()).unwrap_or(first);
        let finest = level(last);
        Self { land: WorldLand { world, finest }, name: name.to_string(), zooms: [first, last] }
    }

    /// The first and the last zoom.
    pub fn zooms(&self) -> [u32; 2] {
        self.zooms
    }

    /// What a web map must know of the tiles (TileJSON 3), which lie under `base`, an address without its last slash.
    pub fn describe(&self, base: &str) -> Value {
        // As far as the map goes: a world without end has more.
        let (half, width) = (pixel(0) * SIDE as f64 / 2.0, self.land.width(0));
        let corner = |cell: Cell<i64>| {
            let Cell { row: y, col: x } = cell.map(|index| (index as f64 * width).clamp(-half, half));
            MapPlace::plane().lon_lat(Point { x, y })
        };
        let CellRect { start, end } = self.land.cells(0);
        let (north_west, south_east) = (corner(start), corner(end));
        let page = MapPage {
            name: self.name.clone(),
            about: "An invented world: its origin lies at 0° N 0° E, and no degree of it means a place on Earth."
                .to_string(),
            attribution: "invented by thalweg".to_string(),
            zooms: self.zooms,
            bounds: [north_west.longitude, south_east.latitude, south_east.longitude, north_west.latitude]
                .map(f64::to_degrees),
            range: None,
        };
        page.describe(&format!("{base}/"), &MAP_LAYERS)
    }

    /// The answer to a path: `/tiles.json`, [`WebTiles::describe`] with this `base`; `/{layer}/{zoom}/{column}/{row}.{ending}`, a tile of
    /// one of [`MAP_LAYERS`], which without a layer is the first of its ending; `/`, the page. What follows a question mark does not count.
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

    /// Whether a path asks for a tile: that takes work.
    pub fn is_tile(path: &str) -> bool {
        matches!(parse(path), Asked::Tile(..))
    }

    /// A tile as bytes; `None` where there is none: outside the zooms or the world.
    ///
    /// # Errors
    /// As [`World::window`]; when a picture cannot be encoded.
    pub fn tile(&self, tile: MapTile, encoding: Encoding) -> Result<Option<Vec<u8>>> {
        if !(self.zooms[0]..=self.zooms[1]).contains(&tile.zoom) {
            return Ok(None);
        }
        TileHeights::of(&self.land, &MapPlace::plane(), tile)?.map(|heights| heights.bytes(encoding)).transpose()
    }
}

/// Reads what a path asks for.
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
