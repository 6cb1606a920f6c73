//! What is made of a [`World`](thalweg_sim::world::World) as files: one tile with all that is known of it, folders of tiles, and tiles as web maps ask
//! for them.

mod folder;
mod tile;
mod web;

pub use folder::{MANIFEST, TileFolder, TileRange, recipe_of};
pub use tile::{check_folder, draft_tile, terrain_of_window, tile_rect};
pub use web::{Answer, WebTiles};
