//! Web maps: terrain on the globe, Web Mercator tiles, elevations encoded as pixels, and a page that shows them.
//!
//! A [`MapLand`] provides elevations at several levels, a [`MapPlace`] gives their position on Earth, and
//! [`TileHeights`] samples them for a tile, in metres, and encodes each of the [`MAP_LAYERS`]. Exports and servers
//! are thin wrappers around this module.

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
pub use tiles::{
    LonLatBounds, MAX_ZOOM, MapLand, MapTile, MapTileRange, SIDE, geographic_bounds, ground_scale, pixel_size,
    tile_range,
};
