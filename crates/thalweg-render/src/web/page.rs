//! [`MapPage`]: the description of tiles that a web map needs (TileJSON), and a page that shows them.

use serde_json::{Value, json};

use super::pixels::{Encoding, MAP_LAYERS, MapLayer};
use super::tiles::SIDE;

/// The files of the page: name, media type, text. They request `tiles.json` and the tiles next to them and nothing
/// else.
pub const PAGE: [(&str, &str, &str); 3] = [
    ("index.html", "text/html; charset=utf-8", include_str!("page/index.html")),
    ("viewer.css", "text/css; charset=utf-8", include_str!("page/viewer.css")),
    ("viewer.js", "text/javascript; charset=utf-8", include_str!("page/viewer.js")),
];

/// The description of a pyramid of tiles.
#[derive(Debug, Clone, PartialEq)]
pub struct MapPage {
    /// The name of the map.
    pub name: String,
    /// A description, in a sentence.
    pub about: String,
    /// The attribution.
    pub attribution: String,
    /// The first and the last zoom.
    pub zooms: [u32; 2],
    /// The bounds of the terrain in degrees: west, south, east, north.
    pub bounds: [f64; 4],
    /// The lowest and the highest elevation in metres; `None` if they are not known.
    pub range: Option<[f64; 2]>,
}

impl MapPage {
    /// Returns the document `tiles.json` (TileJSON 3) for tiles under `base`, which is a URL that ends in a slash, or
    /// empty for addresses relative to the document. In addition to the standard's fields it contains `layers`, a URL
    /// template for each of the given layers, and `range`.
    pub fn to_tile_json(&self, base: &str, layers: &[MapLayer]) -> Value {
        let url = |layer: &MapLayer| format!("{base}{}/{{z}}/{{x}}/{{y}}.{}", layer.name, layer.ending);
        let all: serde_json::Map<String, Value> =
            layers.iter().map(|layer| (layer.name.to_string(), url(layer).into())).collect();
        let first: Vec<String> =
            MAP_LAYERS.iter().filter(|layer| layer.encoding == Encoding::TerrainRgb).map(url).collect();
        let [west, south, east, north] = self.bounds;
        let mut settings = json!({
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
            settings["range"] = json!(range);
        }
        settings
    }
}
