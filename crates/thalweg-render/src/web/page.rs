//! [`MapPage`]: what a web map must know of tiles (TileJSON), and a page that shows them.

use serde_json::{Value, json};

use super::pixels::{Encoding, MAP_LAYERS, MapLayer};
use super::tiles::SIDE;

/// Files of the page: name, media type, text. They ask for `tiles.json` and the tiles beside them and for nothing else.
pub const PAGE: [(&str, &str, &str); 3] = [
    ("index.html", "text/html; charset=utf-8", include_str!("page/index.html")),
    ("viewer.css", "text/css; charset=utf-8", include_str!("page/viewer.css")),
    ("viewer.js", "text/javascript; charset=utf-8", include_str!("page/viewer.js")),
];

/// A pyramid of tiles, described.
#[derive(Debug, Clone, PartialEq)]
pub struct MapPage {
    /// What the map is called.
    pub name: String,
    /// What it is, in a sentence.
    pub about: String,
    /// Whose it is.
    pub attribution: String,
    /// The first and the last zoom.
    pub zooms: [u32; 2],
    /// West, south, east, north in degrees, where the land ends.
    pub bounds: [f64; 4],
    /// The lowest and the highest height in metres; `None` where they are not known.
    pub range: Option<[f64; 2]>,
}

impl MapPage {
    /// The document `tiles.json` (TileJSON 3) of tiles under `base`, an address that ends in a slash, or nothing: then tiles are named from
    /// the document's place. Beside what the standard says it holds `layers`, an address template for each of these, and `range`.
    pub fn describe(&self, base: &str, layers: &[MapLayer]) -> Value {
        let url = |layer: &MapLayer| format!("{base}{}/{{z}}/{{x}}/{{y}}.{}", layer.name, layer.ending);
        let all: serde_json::Map<String, Value> =
            layers.iter().map(|layer| (layer.name.to_string(), url(layer).into())).collect();
        let first: Vec<String> =
            MAP_LAYERS.iter().filter(|layer| layer.encoding == Encoding::TerrainRgb).map(url).collect();
        let [west, south, east, north] = self.bounds;
        let mut told = json!({
            "tilejson": "3.0.0",
            "name": self.name,
            "description": self.about,
            "attribution": self.attribution,
            "tiles": first,
            "encoding": "mapbox",
            "tileSize": SIDE,
            "minzoom": self.zooms[0],
            "maxzoom": self.zooms[1],
            "scheme": "xyz",
            "bounds": self.bounds,
            "center": [(west + east) / 2.0, (south + north) / 2.0, self.zooms[0]],
            "layers": all,
        });
        if let Some(range) = self.range {
            told["range"] = json!(range);
        }
        told
    }
}
