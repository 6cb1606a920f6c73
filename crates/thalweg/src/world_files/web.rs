//! [`WebTiles`]: a world as web maps ask for it: square tiles of 256 pixels by zoom, column and row.

use serde_json::{Value, json};

use crate::base::error::{Error, Result};
use crate::local::{LocalWindow, Rect};
use crate::pictures::colour::Rgb;
use crate::pictures::picture::Picture;
use crate::terrain::field::Field;
use crate::world::World;

/// Pixels of a tile's side.
const SIDE: usize = 256;

/// Metres of the whole map's side: the circumference of Web Mercator's sphere.
const MAP: f64 = 2.0 * std::f64::consts::PI * 6_378_137.0;

/// Cells of level 0 that a pixel of the coarsest zoom may be wide.
const WIDEST: f64 = 2.0;

/// How heights stand in a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Metres as 32-bit floats, little endian, row by row from the north; NaN outside the world.
    Raw,
    /// A PNG in Mapbox's encoding: −10 000 m + 0.1 m · (65 536·R + 256·G + B); 0 m outside the world.
    TerrainRgb,
}

/// Endings of tiles, their encodings, and their types.
const ENDINGS: [(&str, Encoding, &str); 2] =
    [("f32", Encoding::Raw, "application/octet-stream"), ("png", Encoding::TerrainRgb, "image/png")];

/// What is answered to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status: 200, 404 for what there is not, 500 where a tile cannot be made.
    pub status: u16,
    /// The body's type.
    pub mime: &'static str,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    fn text(status: u16, text: &str) -> Self {
        Self { status, mime: "text/plain; charset=utf-8", body: format!("{text}\n").into_bytes() }
    }
}

/// A request, understood.
enum Asked {
    Description,
    Tile(u32, u32, u32, usize),
    Nothing,
}

/// A world laid on the plane of Web Mercator (EPSG:3857), its origin at 0° N 0° E, a metre of the world on a metre of the plane. It lies nowhere: the
/// place is invented, and so are its degrees.
#[derive(Clone)]
pub struct WebTiles {
    world: World,
    name: String,
    zooms: [u32; 2],
}

impl WebTiles {
    /// The tiles of a world of that name. The first zoom has pixels of at most two of level 0's cells, the last those of 22 or of the world's finest level.
    pub fn new(world: World, name: &str) -> Self {
        let frame = world.frame();
        let is_there = |zoom: &u32| pixel(*zoom) <= WIDEST * frame.cell;
        let first = (0..=MOST_ZOOM).find(is_there).unwrap_or(MOST_ZOOM);
        let last =
            (first..=MOST_ZOOM).rev().find(|zoom| frame.check(level(frame.cell, *zoom)).is_ok()).unwrap_or(first);
        Self { world, name: name.to_string(), zooms: [first, last] }
    }

    /// The first and the last zoom.
    pub fn zooms(&self) -> [u32; 2] {
        self.zooms
    }

    /// What a web map must know of the tiles (TileJSON 3), which lie under `base`.
    pub fn describe(&self, base: &str) -> Value {
        let urls = |ending: &str| json!([format!("{base}/{{z}}/{{x}}/{{y}}.{ending}")]);
        json!({
            "tilejson": "3.0.0",
            "name": self.name,
            "description": "An invented world: its origin lies at 0° N 0° E, and no degree of it means a place on Earth.",
            "attribution": "invented by thalweg",
            "tiles": urls("png"),
            "raw": urls("f32"),
            "encoding": "mapbox",
            "tileSize": SIDE,
            "minzoom": self.zooms[0],
            "maxzoom": self.zooms[1],
            "scheme": "xyz",
        })
    }

    /// The answer to a path: `/tiles.json`, [`WebTiles::describe`]; `/{zoom}/{column}/{row}.f32` or `.png`, [`WebTiles::tile`]. What follows a question
    /// mark does not count.
    pub fn answer(&self, path: &str, base: &str) -> Answer {
        match asked(path) {
            Asked::Nothing => Answer::text(404, "not found: /tiles.json, /{z}/{x}/{y}.png, /{z}/{x}/{y}.f32"),
            Asked::Description => Answer {
                status: 200,
                mime: "application/json",
                body: format!("{:#}\n", self.describe(base)).into_bytes(),
            },
            Asked::Tile(zoom, column, row, ending) => {
                let (_, encoding, mime) = ENDINGS[ending];
                match self.tile(zoom, column, row, encoding) {
                    Ok(Some(body)) => Answer { status: 200, mime, body },
                    Ok(None) => Answer::text(404, "no tile: outside the zooms or the world"),
                    Err(error) => Answer::text(500, &error.to_string()),
                }
            }
        }
    }

    /// Whether a path asks for a tile: that takes work.
    pub fn is_tile(path: &str) -> bool {
        matches!(asked(path), Asked::Tile(..))
    }

    /// A tile as bytes; `None` where there is none: outside the zooms or the world.
    ///
    /// # Errors
    /// As [`World::window`].
    pub fn tile(&self, zoom: u32, column: u32, row: u32, encoding: Encoding) -> Result<Option<Vec<u8>>> {
        let Some(heights) = self.heights(zoom, column, row)? else { return Ok(None) };
        match encoding {
            Encoding::Raw => Ok(Some(heights.as_slice().iter().flat_map(|z| z.to_le_bytes()).collect())),
            Encoding::TerrainRgb => {
                let picture = Picture { rgb: heights.map(|height| colour(*height)) };
                picture.png().map(Some).map_err(Error::io("a tile", "encode"))
            }
        }
    }

    /// Metres of a tile's pixels; NaN outside the world.
    fn heights(&self, zoom: u32, column: u32, row: u32) -> Result<Option<Field<f32>>> {
        let count = 1u64 << zoom.min(32);
        if !(self.zooms[0]..=self.zooms[1]).contains(&zoom) || u64::from(column.max(row)) >= count {
            return Ok(None);
        }
        let frame = self.world.frame();
        let (pixel, level) = (pixel(zoom), level(frame.cell, zoom));
        let width = frame.width(level);
        let world = frame.world(level);
        // Pixels count from the middle of the map, which is the world's origin.
        let first = [row, column].map(|at| (i64::from(at) - (count / 2) as i64) * SIDE as i64);
        // As many samples a pixel as cells lie along it, bilinear each.
        let parts = (pixel / width).ceil().max(1.0) as usize;
        let cells = [0, 1].map(|axis| {
            let place = |k: usize| {
                let metres = (first[axis] as f64 + (k as f64 + 0.5) / parts as f64) * pixel;
                metres / width - 0.5
            };
            (0..SIDE * parts).map(place).collect::<Vec<f64>>()
        });
        let cell = |place: f64| place.floor() as i64;
        let ends = [0, 1].map(|axis| [cell(cells[axis][0]), cell(cells[axis][SIDE * parts - 1]) + 2]);
        let rect = Rect { start: ends.map(|[from, _]| from), end: ends.map(|[_, to]| to) }.grown(0, world);
        if rect.size().contains(&0) {
            return Ok(None);
        }
        let window = self.world.window(level, rect)?;
        let spots = [0, 1].map(|axis| {
            let inside = |x: &f64| ((world.start[axis] as f64 - 0.5)..(world.end[axis] as f64 - 0.5)).contains(x);
            cells[axis].iter().map(|x| inside(x).then(|| spot(*x, &window, axis))).collect::<Vec<_>>()
        });
        Ok(Some(Field::generate([SIDE; 2], |i, j| {
            let (mut sum, mut count) = (0.0, 0u32);
            for down in &spots[0][i * parts..(i + 1) * parts] {
                for right in &spots[1][j * parts..(j + 1) * parts] {
                    if let (Some(down), Some(right)) = (down, right) {
                        sum += between(&window, *down, *right);
                        count += 1;
                    }
                }
            }
            if count > 0 { (sum / f64::from(count)) as f32 } else { f32::NAN }
        })))
    }
}

/// What a path asks for.
fn asked(path: &str) -> Asked {
    let path = path.split('?').next().unwrap_or_default();
    if path == "/tiles.json" {
        return Asked::Description;
    }
    let number = |text: &str| {
        let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if is_plain { text.parse::<u32>().ok() } else { None }
    };
    let parts: Vec<&str> = path.split('/').collect();
    let ["", zoom, column, file] = parts[..] else { return Asked::Nothing };
    let Some((row, ending)) = file.split_once('.') else { return Asked::Nothing };
    let ending = ENDINGS.iter().position(|(known, ..)| *known == ending);
    match (number(zoom), number(column), number(row), ending) {
        (Some(zoom), Some(column), Some(row), Some(ending)) => Asked::Tile(zoom, column, row, ending),
        _ => Asked::Nothing,
    }
}

/// The last zoom that web maps ask for.
const MOST_ZOOM: u32 = 22;

/// Metres of a zoom's pixel.
fn pixel(zoom: u32) -> f64 {
    MAP / SIDE as f64 / libm::exp2(f64::from(zoom))
}

/// The level whose cells are as wide as a zoom's pixels, or the next finer one.
fn level(cell: f64, zoom: u32) -> u32 {
    libm::log2(cell / pixel(zoom)).ceil().max(0.0) as u32
}

/// The cells of a window before and after a place in cells, and how far on it lies.
fn spot(place: f64, window: &LocalWindow, axis: usize) -> (usize, usize, f64) {
    let last = window.size()[axis] as i64 - 1;
    let first = place.floor() as i64 - window.rect.start[axis];
    let at = |cell: i64| cell.clamp(0, last) as usize;
    (at(first), at(first + 1), place - place.floor())
}

/// Metres between four cells.
fn between(window: &LocalWindow, (north, south, v): (usize, usize, f64), (west, east, u): (usize, usize, f64)) -> f64 {
    let at = |i: usize, j: usize| window.ground[(i, j)].metres();
    let row = |i: usize| at(i, west) + u * (at(i, east) - at(i, west));
    row(north) + v * (row(south) - row(north))
}

/// Mapbox's encoding of metres.
fn colour(height: f32) -> Rgb {
    let height = if height.is_nan() { 0.0 } else { f64::from(height) };
    let tenths = ((height + 10_000.0) * 10.0).round().clamp(0.0, 16_777_215.0) as u32;
    [(tenths >> 16) as u8, (tenths >> 8) as u8, tenths as u8]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_are_in_mapboxs_encoding() {
        // The example of Mapbox's documentation: −10000 + (R·256·256 + G·256 + B)·0.1.
        for (height, rgb) in
            [(0.0, [1, 134, 160]), (-10_000.0, [0, 0, 0]), (8848.9, [2, 224, 73]), (-20_000.0, [0, 0, 0])]
        {
            assert_eq!(colour(height), rgb, "{height}");
        }
    }
}
