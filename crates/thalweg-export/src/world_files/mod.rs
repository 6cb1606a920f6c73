//! Files made from a [`World`](thalweg_sim::world::World): a single tile with all its data, folders of tiles, and tiles
//! as requested by web maps.

mod folder;
mod tile;
mod web;

pub use folder::{MANIFEST, TileFolder, TileRange, read_folder_recipe};
pub use tile::{TileOptions, WorldOptions, check_folder, draft_tile, terrain_of_window, tile_rect};
pub use web::{TileResponse, WebTiles};
