//! Maps for the web: land laid on the globe, tiles of Web Mercator, heights as their pixels, and a page that shows them.
//!
//! A [`MapLand`] gives heights by levels, a [`MapPlace`] says where they lie, [`TileHeights`] samples them for a tile, in metres, and makes
//! the bytes of each of [`MAP_LAYERS`]. Exports and servers are faces of this.

mod mesh;
mod page;
mod pixels;
mod place;
mod tiles;
mod transverse;

pub use mesh::{MeshTile, mesh_range, mesh_zoom};
pub use page::{MapPage, PAGE};
pub use pixels::{Encoding, MAP_LAYERS, MapLayer, TileHeights};
pub use place::{KNOWN_CODES, LonLat, MapPlace};
pub use tiles::{LonLatBounds, MOST_ZOOM, MapLand, MapTile, MapTileRange, SIDE, bounds, pixel, scale, tile_range};
