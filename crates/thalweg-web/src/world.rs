//! [`World`]: tiles of worlds of any size.

use js_sys::{Function, Uint8Array};
use serde_json::json;
use thalweg_core::terrain::d8::to_esri_code;
use thalweg_core::terrain::{Cells, DRAINAGE_AREA, FLOW_DIRECTION};
use thalweg_core::{CellRect, Error, Point};
use thalweg_export::world_files::{WebTiles, WorldOptions, terrain_of_window, tile_rect};
use thalweg_render::web::{Encoding, MapTile};
use wasm_bindgen::prelude::*;

use crate::error::{JsException, Result};
use crate::land::Terrain;
use crate::options::{json_to_js, name_options, read_operation};
use crate::progress::Watcher;
use crate::run::find_or_parse_recipe;

/// A world at all its levels.
#[wasm_bindgen(skip_typescript)]
pub struct World {
    world: thalweg_sim::world::World,
    tiles: WebTiles,
    recipe: thalweg_sim::recipe::Recipe,
}

#[wasm_bindgen]
impl World {
    /// Opens the world of a preset or of a recipe.
    #[wasm_bindgen(constructor)]
    pub fn new(recipe: &str, options: JsValue) -> Result<World> {
        let (options, _) = read_operation::<WorldOptions>("World option", options, &[])?;
        let opened = options.open_world(find_or_parse_recipe(recipe)?);
        let (world, recipe) = opened.map_err(name_options::<WorldOptions>)?;
        Ok(Self { tiles: WebTiles::new(world.clone(), &recipe.name), world, recipe })
    }

    /// Returns the side of a level's cells in metres.
    #[wasm_bindgen(js_name = cellSize)]
    pub fn cell_size(&self, level: u32) -> Result<f64> {
        self.world.frame().check(level)?;
        Ok(self.world.frame().cell_width(level))
    }

    /// Returns the same as [`World::cell_size`], whose name this was in earlier versions.
    pub fn width(&self, level: u32) -> Result<f64> {
        self.cell_size(level)
    }

    /// Returns the first row and column of a level, and the row and column after the last.
    pub fn bounds(&self, level: u32) -> Result<Vec<f64>> {
        self.world.frame().check(level)?;
        let CellRect { start, end } = self.world.frame().world_rect(level);
        Ok([start.row, start.col, end.row, end.col].map(|cell| cell as f64).to_vec())
    }

    /// Computes the tile of a level that contains a position: `x` metres to the east and `y` metres to the south.
    pub fn tile(&self, level: u32, x: f64, y: f64, progress: Option<Function>) -> Result<Terrain> {
        let rect = tile_rect(&self.world, level, Point { x, y })?;
        self.compute_window(level, rect, progress.as_ref())
    }

    /// Returns the elevation at a position in metres.
    #[wasm_bindgen(js_name = heightAt)]
    pub fn height_at(&self, level: u32, x: f64, y: f64) -> Result<f64> {
        Ok(self.world.height_at(x, y, level)?)
    }

    /// Returns the first and the last zoom of a web map of the world.
    #[wasm_bindgen(getter)]
    pub fn zooms(&self) -> Vec<u32> {
        self.tiles.zooms().to_vec()
    }

    /// Returns the description of the tiles for web maps (TileJSON 3); `base` is the address of the tiles, without a
    /// final slash.
    pub fn describe(&self, base: &str) -> Result<JsValue> {
        json_to_js(&self.tiles.describe(base))
    }

    /// Returns a tile of the web map as a PNG of elevations or a hillshade; `None` if there is no such tile.
    pub fn png(&self, zoom: u32, column: u32, row: u32, encoding: Option<String>) -> Result<Option<Uint8Array>> {
        let encoding = match encoding.as_deref() {
            None | Some("terrain-rgb") => Encoding::TerrainRgb,
            Some("terrarium") => Encoding::Terrarium,
            Some("hillshade") => Encoding::Hillshade,
            Some(other) => {
                return Err(Error::invalid_value("encoding", other, "one of terrain-rgb, terrarium, hillshade").into());
            }
        };
        let tile = self.tiles.encode_tile(MapTile { zoom, column, row }, encoding)?;
        Ok(tile.map(|bytes| Uint8Array::from(&bytes[..])))
    }
}

impl World {
    fn compute_window(&self, level: u32, rect: CellRect<i64>, progress: Option<&Function>) -> Result<Terrain> {
        let mut watcher = Watcher::new(progress, |report| {
            json_to_js(&json!({
                "label": report.task, "done": report.done, "total": report.total,
                // These are the names of earlier versions.
                "stage": report.task, "of": report.total,
            }))
        });
        // Level 0 is solved first, because this step reports progress and can be stopped.
        let solved = self.world.solve(level, rect, &mut watcher);
        watcher.finish(solved)?;
        let window = self.world.window(level, rect)?;
        let mut land = terrain_of_window(self.world.frame(), &window, self.world.runoff())?;
        // These layers come from the world: drainage derived from the window's heights would lack inflow from outside.
        let codes = window.receivers.map(|code| u32::from(to_esri_code(*code)));
        land.insert_layer(&FLOW_DIRECTION, Cells::Count(codes))?;
        land.insert_layer(&DRAINAGE_AREA, Cells::Float(window.area.clone()))?;
        Ok::<_, JsException>(Terrain { recipe: Some(self.recipe.clone()), ..land.into() })
    }
}
